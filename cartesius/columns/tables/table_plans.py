"""Which correlations of tables have a kernel: those of which a row has one candidate at a time.

That is so where the parts have equal keys, or each is named, by its key, by one that is bound before it: from the slot
that gives the row its key, a tree of foreign keys.

Source: SEMANTICS 2.5 and 2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cartesius.columns.tables.foreign_keys import ForeignKeys, Naming
from cartesius.columns.tables.group_totals import ToGroups
from cartesius.columns.tables.pairing import pairing_stage
from cartesius.columns.tables.same_key import SameKey
from cartesius.columns.tables.table_extremes import ToExtremes
from cartesius.columns.tables.table_stages import has_known_keys
from cartesius.columns.tables.table_totals import ToTotals
from cartesius.columns.tables.timelines import ToRows
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.expressions.expressions import KeyOf
from cartesius.plan import facts
from cartesius.plan.known_totals import Total
from cartesius.plan.nodes import OF_JOINS, Aggregate, AsTable, Complete, Fold, Let, May, Recall, TakeOrder, Upsert
from cartesius.results.totals import Totals
from cartesius.results.views import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.stages.stages import Stage
    from cartesius.columns.tables.table_stages import Output
    from cartesius.correlations.join_shape import Join

_KNOWN: Final = OF_JOINS | {
    Upsert,
    Recall,
    Aggregate,
    Complete,
    TakeOrder,
    Let,
    Fold,
}


def table_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation of tables that gives a table."""
    meanings = {type(one.node) for one in join.installed}
    if not meanings <= _KNOWN or not any(slot.is_table for slot in join.slots):
        return None
    if not all(slot.is_table for slot in join.slots):
        return "a slot has no rows"
    if any(slot.memory.finds for slot in join.slots):
        return "rows are made of events that may be taken back"
    if not has_known_keys(join):
        return "its events are changes"
    if join.bindings.spaces or join.batch.versions is not None or join.batch.absences is not None:
        return "its rows are versions, or have keys besides their own"
    if Let in meanings and meanings & {Upsert, Recall, Fold}:
        return "what a filter stops is no row yet, is kept elsewhere, or is folded"
    missing = _missing(join)
    output = _output(join)
    if isinstance(output, str):
        return output
    if isinstance(output, ToGroups) and len(join.slots) > 1:
        return pairing_stage(join, output)
    if _has_one_key(join):
        return _same_key(join, output, missing)
    return _foreign_keys(join, output, missing)


def _missing(join: Join) -> list[bool]:
    named = {slot for one in join.installed if isinstance(one.node, May) for slot in one.named}
    return [slot in named for slot in join.slots]


def _output(join: Join) -> Output | str:
    if isinstance(join.batch.output, View):
        return ToRows(keyed(join))
    if isinstance(join.batch.output, Totals):
        return _totals(join)
    return "its results are no rows by the key of a slot"


def _totals(join: Join) -> Output | str:
    (node,) = (one.node for one in join.installed if isinstance(one.node, Aggregate))
    group, by = node.group, node.by
    known = getattr(group, "known", None)
    if known is None:
        if by is None or group.inverse is None:
            return f"of {group!r} it is not known what it totals"
        return ToGroups(group, by)
    if known[0] not in (Total.LEAST, Total.GREATEST):
        return ToTotals(group, by)
    if len(join.slots) > 1:
        return "the least, or the greatest, is of several tables"
    return ToExtremes(group, by)


def keyed(join: Join) -> list[int]:
    """Return the slots of which the first that is present gives a row its key."""
    (rows,) = (one for one in join.installed if isinstance(one.node, AsTable))
    key = facts.table_key(rows)
    return [join.bindings.find(name, rows.restriction)[0].index for name in ((key,) if isinstance(key, str) else key)]


def _has_one_key(join: Join) -> bool:
    """Whether all slots are linked by the keys of their rows, and by nothing else."""
    equalities = join.pattern.equalities
    if not all(isinstance(left, KeyOf) and isinstance(right, KeyOf) for (_, left), (_, right) in equalities):
        return False
    met = {join.slots[0].name}
    pairs = [{left, right} for (left, _), (right, _) in equalities]
    for _ in pairs:
        met |= {name for pair in pairs if pair & met for name in pair}
    return len(met) == len(join.slots) == len(pairs) + 1


def _same_key(join: Join, output: Output, missing: Sequence[bool]) -> Stage | str:
    if any(missing) and (len(join.slots) != 2 or len(join.pattern.conditions) != 1):
        return _foreign_keys(join, output, missing)
    return SameKey(join, output, missing)


def _foreign_keys(join: Join, output: Output, missing: Sequence[bool]) -> Stage | str:
    roots = output.keyed[:1] if isinstance(output, ToRows) else [slot.index for slot in join.slots]
    found = next(((root, names) for root in roots if (names := _names(join, root)) is not None), None)
    if found is None:
        return "its rows have several candidates"
    root, names = found
    if missing[root] or any(missing[one.of] and not missing[one.slot] for one in names):
        return "parts may be missing that name others"
    if any(missing) and len(join.pattern.conditions) != len(names):
        return "parts may be missing by more than the keys of tables"
    try:
        return ForeignKeys(join, output, missing, root, names)
    except NotColumnar as why:
        return f"a key that names a row has no code: {why}"


def _names(join: Join, root: int) -> list[Naming] | None:
    """Return which slots name which, from the first one on; None if that is not all that links them."""
    index = {slot.name: slot.index for slot in join.slots}
    left = list(join.pattern.equalities)
    names: list[Naming] = []
    met = {root}
    while True:
        further = [
            (pair, Naming(index[there], index[here], by))
            for pair in left
            for (here, by), (there, key) in (pair, pair[::-1])
            if index[here] in met and index[there] not in met and isinstance(key, KeyOf)
        ]
        if not further:
            break
        pair, naming = further[0]
        left.remove(pair)
        names.append(naming)
        met.add(naming.slot)
    return names if not left and len(met) == len(join.slots) else None
