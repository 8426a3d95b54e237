"""The kernel of judgements that are no expressions: a function is asked of the rows of each spell that begins.

So packs of rules are judged that look at other rows than those linked: what they look at comes as rows of tables, of
objects (`pairing`, `group_totals`), of which several may change in one step.

Invariant: of several tables, rows that come in one step have the times of that step.

Source: DESIGN 4 and 6; SEMANTICS 2.2 and 2.6.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columns.judgements.judging import Judging
from cartesius.columns.judgements.ways import codes_of, value_of, ways_of
from cartesius.columns.stages.rows import BEFORE, Rows
from cartesius.columns.stages.stages import times_of
from cartesius.columns.stages.stored_rows import load_bare
from cartesius.columns.vectors.key_codes import NEVER
from cartesius.columns.vectors.objects import Objects
from cartesius.columns.vectors.vectors import MISSING, NotColumnar
from cartesius.data.generated import commented
from cartesius.expressions.expressions import Apply, Constant, KeyOf, show
from cartesius.expressions.missing_values import Asked, Form, form_of
from cartesius.plan.nodes import Aggregate
from cartesius.results.unchanged_values import is_unchanged

if TYPE_CHECKING:
    from cartesius.columns.judgements.ways import Codes, Way
    from cartesius.columns.lifetimes.link_changes import Changes, Spells
    from cartesius.columns.stages.rows import Flow
    from cartesius.columns.stages.stages import Moment, Stage
    from cartesius.columns.vectors.vectors import Indices
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot


class RowJudging(Judging):
    """A table of values of a function that is asked, by the key of its first slot."""

    def __init__(self, join: Join, ways: list[Way]) -> None:
        super().__init__(join, ways, Form((), Constant(None)))
        assert isinstance(join.pattern.yields, Apply)  # Invariant: that is how this one was chosen
        self.function = join.pattern.yields.function

    def source(self) -> str:
        """Return the steps: there is no generated code."""
        conditions = " & ".join(map(show, self.join.pattern.conditions))
        head = f"# {commented(self.join.name)}\n# where {commented(conditions)}\n"
        steps = "# Changes.of each table, Spells.linked along each link, then row by row:\n"
        return f"{head}{steps}# {commented(repr(self.function))}\n"

    def _load(self, slot: Slot, like: Rows | None) -> Rows | None:
        return _load_objects(slot) if has_objects(slot) else super()._load(slot, like)

    def check_steps(self, tables: list[Rows | None], *, has_deadlines: bool) -> None:
        """Check nothing: what changes in one step has its times."""

    def codes_of(self, tables: list[Rows | None]) -> Codes:
        """Return the keys of tables as codes; those that are objects by their hashes."""
        of_objects = [one is not None and isinstance(one.key, Objects) for one in tables]
        plain = [None if is_object else one for one, is_object in zip(tables, of_objects, strict=True)]
        codes = codes_of(self.ways, plain)
        for way in self.ways:
            table, origin = tables[way.slot], tables[way.origin]
            if table is None or not of_objects[way.slot] or table.key is None:
                continue
            numbers: dict[Any, int] = {}
            own = [numbers.setdefault(key, len(numbers)) for key in table.key.to_list()]
            codes.own[way.slot], codes.counts[way.slot] = np.array(own, np.int64), max(1, len(numbers))
            if origin is None:
                codes.sought[way.slot] = np.zeros(0, np.int64)
            elif way.value is None:  # there is one row
                codes.sought[way.slot] = np.zeros(len(origin), np.int64)
            else:
                found = value_of(way.value, origin).to_list()
                codes.sought[way.slot] = np.array([numbers.get(value, NEVER) for value in found], np.int64)
        return codes

    def judged(
        self, spells: Spells, tables: list[Rows | None], subject: Rows, changes: Changes, moment: Moment
    ) -> tuple[Flow, int]:
        """Ask the function of each spell that begins in the batch, and of what is there before it."""
        before, is_new = spells.before(), spells.since != BEFORE
        is_asked = is_new.copy()
        is_asked[before[is_new & (before != MISSING)]] = True
        places = np.flatnonzero(is_asked)
        columns = [_objects_at(table, rows, places) for table, rows in zip(tables, spells.rows, strict=True)]
        try:
            values = [self.function(*row) for row in zip(*columns, strict=True)]
        except Exception as error:
            raise NotColumnar(f"a judgement raises {type(error).__name__}") from error
        found = dict(zip(places.tolist(), values, strict=True))
        given = [
            place
            for place in np.flatnonzero(is_new).tolist()
            if before[place] == MISSING or not is_unchanged(found[int(before[place])], found[place])
        ]
        chosen = np.array(given, np.int64)
        value = Objects([found[place] for place in given])
        flow = self.flow(spells.take(chosen), before[chosen], spells, value, tables, changes, moment)
        return flow, int(np.count_nonzero(is_new))

    def causes(
        self, given: Spells, subject: Rows, tables: list[Rows | None], moment: Moment
    ) -> tuple[Indices, Indices]:
        """Return the times of the steps in which spells begin."""
        if len(tables) == 1:
            return super().causes(given, subject, tables, moment)
        coming = {}
        for slot, one in enumerate(tables):
            if one is not None:
                coming[slot] = one.take(np.flatnonzero(one.position != BEFORE))
        start, end = times_of(coming, moment)
        return start[given.since], end[given.since]


def _objects_at(table: Rows | None, rows: Indices | None, places: Indices) -> list[Any]:
    """Return the objects of the rows at some places, None where there is none."""
    if table is None or rows is None:
        return [None] * len(places)
    used, which = np.unique(rows[places], return_inverse=True)
    there = used[used != MISSING]
    objects = [None] * (len(used) - len(there)) + table.payload.take(there).to_list()
    return [objects[one] for one in which.tolist()]


def _load_objects(slot: Slot) -> Rows | None:
    """Return the rows in the memory of a slot, their values and keys as they are."""
    rows, values = load_bare(slot)
    if rows is None:
        return None
    key = Objects([entry.row_key for entry in slot.memory.all()]) if _is_total(slot) else rows.key
    return attrs.evolve(rows, payload=Objects(values), key=key)


def has_objects(slot: Slot) -> bool:
    """Whether the rows of a slot are objects that come from another kernel."""
    pattern = slot.reactive.pattern
    yields = None if pattern is None else pattern.yields
    return _is_total(slot) or (isinstance(yields, Apply) and isinstance(form_of(yields.function), Asked))


def _is_total(slot: Slot) -> bool:
    pattern = slot.reactive.pattern
    return pattern is not None and any(
        isinstance(node, Aggregate) for one in pattern.restrictions for node in one.nodes
    )


def row_judging_stage(join: Join) -> Stage | str:
    """Return the stage of judgements that are asked row by row, or why there is none."""
    linking, lone = [], []
    for condition in join.pattern.conditions:
        match condition:
            # A total of everything has one row, so that its key finds nothing that is not there.
            case Apply(function=operator.eq, arguments=(KeyOf(slot=name), Constant(value=()))) if any(
                slot.name == name and _is_total(slot) for slot in join.slots
            ):
                lone.append(name)
            case _:
                linking.append(condition)
    ways = ways_of(join, linking, lone)
    return ways if isinstance(ways, str) else RowJudging(join, ways)
