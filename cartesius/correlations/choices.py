"""Choices that restrictions make for a whole correlation, asked once, when it is built.

What may be missing, in which order memories are visited, whether events come alone, and whether results are rows of a
table: each is an operation, so that the right-most restriction with an opinion decides.

This module is over 300 lines because what cannot be chosen is refused beside what can.

Source: SEMANTICS 1.3, 2.2 and 2.6.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from cartesius.batching.partial_batches import PartialBatch
from cartesius.batching.relative_batches import RelativeBatch
from cartesius.correlations.absences import Absences
from cartesius.correlations.freed_windows import FreedResults
from cartesius.correlations.refused_choices import check_missing, check_versions, refuse_versions
from cartesius.data.entries import GONE, Entry
from cartesius.data.events import EARLIEST
from cartesius.data.records import wrap
from cartesius.effects.handlers import handle
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import evaluator, show, slots_of
from cartesius.expressions.nulls import all_hold
from cartesius.language.families import alone, first_is_oldest, optional, relation, row_key, totals
from cartesius.language.patterns import may_come_again
from cartesius.plan import facts
from cartesius.plan.nodes import Now
from cartesius.results.outputs import Events, Rows
from cartesius.results.relations import Relations
from cartesius.results.totals import Totals
from cartesius.results.version_outputs import VersionTotals, VersionView
from cartesius.results.views import View
from cartesius.rows.asked_rows import AskedRows
from cartesius.rows.enumeration import Product, Rank
from cartesius.rows.list_products import ListProduct
from cartesius.rows.lone_events import Alone
from cartesius.rows.partial_rows import MAX_SLOTS, PartialRows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from cartesius.batching.batches import Batch
    from cartesius.batching.bindings import Bindings
    from cartesius.correlations.installations import Installed
    from cartesius.data.entries import Candidate
    from cartesius.effects.handlers import Handler
    from cartesius.language.families import Slot
    from cartesius.language.matches import Match
    from cartesius.language.patterns import Pattern
    from cartesius.rows.asked_rows import MaximalRows


class _Chosen(NamedTuple):
    is_oldest_first: bool
    row_key: Any
    totals: Any
    relation: str | None
    is_alone: bool
    missing: list[bool]


def _asked(bindings: Bindings) -> _Chosen:
    operations = bindings.operations
    return _Chosen(
        bool(operations[first_is_oldest]()),
        operations[row_key](),
        operations[totals](),
        operations[relation](),
        bool(operations[alone]()),
        [bool(optional(slot)) for slot in bindings.slots],
    )


def choose(pattern: Pattern, bindings: Bindings, batch: Batch, installed: Sequence[Installed], outer: Handler) -> None:
    """Ask the restrictions, under the ``outer`` handlers, and set up ``batch`` accordingly."""
    chosen = handle(outer, partial(_asked, bindings))
    has_lists = any(slot.n is not None for slot in bindings.slots)
    batch.rank = Rank(chosen.is_oldest_first, bindings.window_space, has_lists)
    key, group = chosen.row_key, chosen.totals
    batch.output = Events(batch.name)
    if group is not None:
        batch.output = _totals(batch, group, installed, is_table=key is not None)
    elif key is not None:
        keeps_all = any(facts.takes_back(one) for one in installed)
        batch.output = Rows(batch.name, batch.world.journal, batch.world.provenance, keeps_all=keeps_all)
    batch.row_key = bindings.row_keys(key)
    _choose_relations(batch, chosen.relation, installed)
    batch.is_pure = any(facts.takes_back(one) for one in installed)
    comes_again = any(may_come_again(slot.reactive) for slot in bindings.slots)
    batch.tells_steps = comes_again and not batch.is_pure and isinstance(batch.output, Events)
    batch.body.is_filtered = any(one.admits for one in installed)
    batch.body.is_relative = any(facts.is_relative(one) for one in installed)
    _check_recalling(bindings, installed)
    memories = [slot.memory for slot in bindings.slots]
    _check_lists(batch)
    if pattern.absent.names:
        batch.absences = Absences(pattern, bindings, batch, installed)
    absent = frozenset(slot.index for slot in bindings.slots if slot.name in pattern.absent.names)
    if chosen.is_alone:
        refuse_versions(batch, installed)
        _refuse_lists(batch, "parts that meet, as those of a list do,", "separately keeps them apart")
        batch.product = Alone(batch.rank, absent)
        if pattern.is_where_traced and batch.body.where is not None:
            batch.body.where = _where_alone(pattern)
        return
    sequences = [[slot.index for slot in found] for one in installed if (found := facts.in_order(one))]
    if bindings.lists:
        batch.product = ListProduct(memories, bindings.links, batch.rank, bindings.lists, sequences, absent)
    else:
        batch.product = Product(memories, bindings.links, batch.rank, sequences, absent)
    if batch.is_pure and any(facts.is_relative(one) for one in installed):
        batch.relative = RelativeBatch(batch, batch.product)
    missing = chosen.missing
    if any(missing):
        _check_optional(batch, key, missing, absent)
        settling = [one for one in installed if facts.settles(one)]
        check_missing(batch, settling, installed)
        batch.partial = PartialBatch(batch, _partial_rows(pattern, bindings, batch, missing, installed))
    if (
        isinstance(key, str | tuple)
        and group is None
        and batch.is_pure
        and not any(facts.expires(one) for one in installed)
    ):
        batch.output = _view(bindings, batch, key)
    if batch.versions is not None:
        check_versions(batch, missing, installed)
    leaving = [one for one in installed if facts.forgets(one)]
    if leaving and isinstance(batch.output, Rows | Totals):
        batch.freed = FreedResults(batch.output, leaving, batch.world.journal)


def _check_optional(batch: Batch, key: Any, missing: Sequence[bool], absent: Collection[int]) -> None:
    """Refuse lists of what may be missing, and rows without a key: all parts that give one may be missing."""
    _refuse_lists(batch, "parts of which none may be missing", "optionally lets some be")
    bindings = batch.bindings
    keyed = bindings.keyed_slots(key) if isinstance(key, str | tuple) else []
    others = [slot.name for slot in bindings.slots if slot not in keyed and slot.index not in absent]
    if keyed and others and all(missing[slot.index] for slot in keyed):
        names = tuple([slot.name for slot in keyed] + others)
        message = (
            f"as_table({key!r}): expected a slot that is never missing but optionally lets each of them be, and a row"
            f" without them would have no key; write as_table({names!r}), whose first that is present gives it"
        )
        raise InvalidArgument(message)


def _check_lists(batch: Batch) -> None:
    """Refuse lists of what is not a plain stream."""
    if batch.versions is not None:
        _refuse_lists(batch, "events that are there or not", "versioned gives them a time")
    if batch.bindings.shown is not None:
        _refuse_lists(batch, "events as they are", "the content of the windows shows them otherwise")
    if any(slot.n is not None and slot.name in batch.bindings.pattern.absent.names for slot in batch.slots):
        _refuse_lists(batch, "parts that are there", "without says that they are not")
    rows = next((slot for slot in batch.slots if slot.n is not None and slot.is_table), None)
    if rows is not None:
        message = f"repeated: expected a stream but a restriction makes rows of the events of {rows.name!r}"
        raise InvalidArgument(message)


def _refuse_lists(batch: Batch, expected: str, got: str) -> None:
    listed = next((slot for slot in batch.slots if slot.n is not None), None)
    if listed is not None:
        message = f"repeated: expected {expected} beside {listed.name!r} but {got}; leave one out"
        raise InvalidArgument(message)


def _choose_relations(batch: Batch, kind: str | None, installed: Sequence[Installed]) -> None:
    if kind is None:
        return
    asking = next(one.restriction for one in installed if any(family is relation for _, family, _, _ in one.marks))
    if batch.windows is None:
        message = (
            f"{asking!r}: expected windows beside it, whose reports say when there is a relation, but there are none;"
            " add tumbling(…)"
        )
        raise InvalidArgument(message)
    if not isinstance(batch.output, Events):
        message = (
            f"{asking!r}: expected results that are events but they are rows of a table, which tell their changes"
            " themselves; leave one out"
        )
        raise InvalidArgument(message)
    windows = batch.windows
    batch.output = Relations(batch.name, batch.world.journal, kind)
    batch.row_key = lambda parts, value: windows.key(parts)


def _totals(batch: Batch, group: Any, installed: Sequence[Installed], *, is_table: bool) -> Totals | VersionTotals:
    rest: dict[str, Any] = {"is_table": is_table, "is_durable": batch.world.durable, "step": lambda: batch.world.steps}
    versions = batch.versions
    if versions is None:
        may_lose = not all(_is_for_good(batch, slot, installed) for slot in batch.slots)
        return Totals(batch.name, batch.world.journal, group, may_lose=may_lose, **rest)
    rest |= {"moment": versions.moment, "horizon": lambda: versions.horizon}
    return VersionTotals(batch.name, batch.world.journal, group, **rest)


def _is_for_good(batch: Batch, slot: Slot, installed: Sequence[Installed]) -> bool:
    """Whether nobody takes back what has come to a slot: it is gone after its batch, and its source does not."""
    is_momentary = any(isinstance(one.node, Now) and slot in one.named for one in installed)
    may_lose = may_come_again(slot.reactive) or batch.bindings.pattern.alternative is not None
    return is_momentary and not may_lose


def _check_recalling(bindings: Bindings, installed: Sequence[Installed]) -> None:
    recalling = [one.restriction for one in installed if facts.recalled(one)]
    if recalling and len(bindings.slots) > 1:
        message = (
            f"{recalling[0]!r}: expected a correlation of one table but there are other slots, which would find no row"
            " of it; leave it out"
        )
        raise InvalidArgument(message)


def _view(bindings: Bindings, batch: Batch, key: str | tuple[str, ...]) -> View:
    """Return the table whose rows follow from the memory: none is kept whose parts have left it."""
    slots = bindings.keyed_slots(key)
    slots = slots if batch.partial is not None else slots[:1]  # without parts that may be missing, the first suffices
    rows = batch.product if batch.partial is None else batch.partial.rows
    assert not isinstance(rows, Alone)  # Invariant: parts that never meet are never taken back

    def under(key: Any, skip: int) -> Iterator[Candidate]:
        for place, slot in enumerate(slots):
            missing: dict[int, Entry | None] = {other.index: None for other in slots[:place]}
            found = bindings.of_key(slot, key)
            for entry in found if batch.rank.is_oldest_first else reversed(found):  # type: ignore[call-overload]  # all that memories return can be reversed
                if entry.state != skip:
                    yield from rows.containing({**missing, slot.index: entry}, skip)

    def first(key: Any, skip: int) -> Match | None:
        candidates = under(key, skip)
        if len(slots) > 1:
            candidates = iter(sorted(candidates, key=batch.rank))
        if not batch.body.is_relative:
            return next((match for parts in candidates if (match := batch.trigger(parts)) is not None), None)
        with batch.body.looking(skip):
            return next((match for parts in candidates if (match := batch.trigger(parts)) is not None), None)

    def present(key: Any) -> Match | None:
        if slots[0].kept is None:
            return first(key, GONE)
        entry = Entry(None, EARLIEST, EARLIEST, slots[0].source)
        entry.row_key = key
        for value in slots[0].kept.row(key):
            entry.value = wrap(value)
            return batch.trigger([entry])  # type: ignore[no-any-return]  # an operation may return anything
        return None

    def keys() -> Iterable[Any]:
        if slots[0].kept is not None:
            return slots[0].kept.rows()
        return dict.fromkeys([entry.own_key() for slot in slots for entry in slot.memory.all()])

    def is_kept(key: Any) -> bool:
        return any(bindings.keeps(slot, key) for slot in slots)

    rest = (batch.name, first, present, keys, is_kept, batch.described, batch.world.provenance)
    return View(*rest) if batch.versions is None else VersionView(batch.versions, batch.world.journal, *rest)


def _where_alone(pattern: Pattern) -> Callable[[Candidate], bool]:
    """Return the condition where no parts meet: of each part its own; a condition on several is refused."""
    index = {name: place for place, name in enumerate(pattern.slots)}
    checks: dict[int | None, list[Callable[[Candidate], Any]]] = {}
    for condition in pattern.conditions:
        slots = slots_of(condition)
        if len(slots) > 1:
            message = (
                f"separately: expected conditions on one slot but got {show(condition)}, whose parts never meet;"
                " leave it out"
            )
            raise InvalidArgument(message)
        checks.setdefault(index[min(slots)] if slots else None, []).append(evaluator(condition, index))

    def holds(parts: Candidate) -> bool:
        place = next(place for place, part in enumerate(parts) if part is not None)
        return all_hold((*checks.get(place, ()), *checks.get(None, ())), parts)

    return holds


def _partial_rows(
    pattern: Pattern, bindings: Bindings, batch: Batch, missing: list[bool], installed: Sequence[Installed]
) -> MaximalRows:
    memories = [slot.memory for slot in bindings.slots]
    if pattern.is_direct:
        keys = [link for link in bindings.links if link.is_key]
        body = batch.body
        return AskedRows(memories, keys, missing, lambda row: body.admits(row) and bool(body.yields(row)), batch.rank)
    if not pattern.is_where_traced:
        message = (
            "optionally: expected a where that traces, so that a condition on a missing part can be left out,"
            f" but {pattern.untraced[0]}"
        )
        raise InvalidArgument(message)
    links = [link for link in bindings.links if not link.is_key or bindings.is_spoke(link, missing)]
    names = [slot.name for slot in bindings.slots]
    together = [one.named for one in installed if facts.settles(one)]
    asked = [
        (one.restriction, one.named or (*batch.slots,)) for one in installed if one.admits and not facts.settles(one)
    ]
    for restriction, slots in asked:
        if len(slots) > MAX_SLOTS:
            message = (
                f"optionally: expected clauses for admit that speak of one or two slots but that of {restriction!r}"
                f" speaks of {len(slots)}, so that nothing says which part is missing; split it"
            )
            raise InvalidArgument(message)
    # What admits two parts connects them, as a condition does, also if it is of a user's own.
    together += [slots for _, slots in asked]
    alone = {slot for _, slots in asked for slot in slots}
    admits = batch.body.admits
    return PartialRows(names, memories, links, pattern.conditions, missing, batch.rank, admits, together, alone)
