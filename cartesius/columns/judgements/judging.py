"""The kernel of judgements: a table of what a function says of each row of a table and of the rows it is linked to.

The function says what it computes (`missing_values`). What makes two of its values differ is computed for
each spell of a subject (`link_changes`), the value only where that changed: so a table of verdicts is as cheap as its
changes. Packs of rules are such tables, and so are their warnings.

Source: DESIGN 4 and 6; SEMANTICS 2.2 and 2.6.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.bodies.column_texts import code_of
from cartesius.columns.bodies.linked import Linked
from cartesius.columns.bodies.phasing import load_seen
from cartesius.columns.judgements.ways import codes_of, value_of
from cartesius.columns.lifetimes.link_changes import Changes, Spells, check_apart
from cartesius.columns.stages.rows import BEFORE, Flow, Rows, all_of, no_rows, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State
from cartesius.columns.stages.turns import numbered
from cartesius.columns.vectors.arithmetic import apply
from cartesius.columns.vectors.lanes import Truth, truth, vector_of
from cartesius.columns.vectors.ordering import ascends
from cartesius.columns.vectors.vectors import MISSING, Leaf, NotColumnar
from cartesius.data.generated import commented
from cartesius.expressions.expressions import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cartesius.columns.bodies.column_texts import FormCode
    from cartesius.columns.judgements.ways import Codes, Way
    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.vectors.lanes import Given
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.expressions.missing_values import Form
    from cartesius.language.families import Slot


class Judging(Stage):
    """A table of values of a function, by the key of its first slot."""

    takes_turns = True

    def __init__(self, join: Join, ways: list[Way], form: Form) -> None:
        super().__init__(join)
        self.ways = ways
        self.form = form
        self.links = [(way.origin, way.slot) for way in ways]

    @property
    def code(self) -> FormCode:
        """The code of the function, made when it is first asked for."""
        return code_of(self.form, tuple([slot.name for slot in self.join.slots]))

    def source(self) -> str:
        """Return the generated code."""
        conditions = " & ".join(map(show, self.join.pattern.conditions))
        where = f"# where {commented(conditions)}\n" if conditions else ""
        steps = "# Changes.of each table, Spells.linked along each link, meaning of all, value of what differs\n"
        return f"# {commented(self.join.name)}\n{where}{steps}{self.code.text}"

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return the keys of the rows; of a table of one row, which all rows are linked to, always the same."""
        return _the_same(rows) if any(way.slot == slot and way.value is None for way in self.ways) else rows.key

    def named(self, link: int, rows: Rows) -> Vector:
        """Return what rows are linked to."""
        value = self.ways[link].value
        return _the_same(rows) if value is None else value_of(value, rows)

    def _load(self, slot: Slot, like: Rows | None) -> Rows | None:
        return load_seen(slot, like)  # also rows that the clock has marked

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Find the spells of all subjects, and judge those that begin in the batch."""
        arriving, moment, steps = numbered(arriving, moment)
        outcome = self._run(state, arriving, moment, has_deadlines=steps is not None)
        return outcome if steps is None else attrs.evolve(outcome, flow=steps.given_back(outcome.flow))

    def _run(self, state: State, arriving: Mapping[int, Rows], moment: Moment, *, has_deadlines: bool) -> Outcome:
        tables: list[Rows | None] = []
        for slot, before in zip(self.join.slots, state.retained, strict=True):
            tables.append(all_of(before, arriving.get(slot.index)))
        self.check_steps(tables, has_deadlines=has_deadlines)
        subject = tables[0]
        codes = self.codes_of(tables)
        changes = [
            None if one is None else Changes.of(one, code, count, moment.steps)
            for one, code, count in zip(tables, codes.own, codes.counts, strict=True)
        ]
        retained = tuple(
            [
                None if one is None or change is None else one.take(change.last).as_retained()
                for one, change in zip(tables, changes, strict=True)
            ]
        )
        if subject is None or changes[0] is None:
            return Outcome(nothing(), State(retained), 0)
        spells = Spells.of(changes[0], len(tables))
        for way in self.ways:
            looked_for = spells.codes_of(way.origin, codes.sought[way.slot])
            spells = spells.linked(way.slot, looked_for, changes[way.slot], moment.steps)
        flow, tuples = self.judged(spells, tables, subject, changes[0], moment)
        return Outcome(flow, State(retained), tuples)

    def check_steps(self, tables: list[Rows | None], *, has_deadlines: bool) -> None:
        """Raise `NotColumnar` if more changes in one step than is told apart."""
        if len(tables) > 1 and any(slot.reactive.pattern is not None for slot in self.join.slots):
            check_apart(tables, has_deadlines=has_deadlines)

    def codes_of(self, tables: list[Rows | None]) -> Codes:
        """Return the keys of tables as codes."""
        return codes_of(self.ways, tables)

    def judged(
        self, spells: Spells, tables: list[Rows | None], subject: Rows, changes: Changes, moment: Moment
    ) -> tuple[Flow, int]:
        """Return what spells that begin in the batch give, and how many there are."""
        before, order = spells.before(), _order(spells, subject, changes)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        before = before[order]
        before = np.where(before == MISSING, MISSING, place[before])
        spells = spells.take(order)
        n = len(order)
        parts = [_linked(table, rows, n) for table, rows in zip(tables, spells.rows, strict=True)]
        is_new = spells.since != BEFORE
        is_first = before == MISSING
        is_changed = is_first.copy()
        compared = np.where(is_first, 0, before)
        for found in self.code.meaning(n, *parts):
            is_changed |= _differs(found, n, compared)
        is_changed &= is_new
        given = np.flatnonzero(is_changed)
        chosen = parts if len(given) == n else [part.chosen(given) for part in parts]
        value = vector_of(self.code.value(len(given), *chosen), len(given))
        flow = self.flow(spells.take(given), before[given], spells, value, tables, changes, moment)
        return flow, int(np.count_nonzero(is_new))

    def flow(
        self,
        given: Spells,
        before: Indices,
        spells: Spells,
        value: Vector,
        tables: list[Rows | None],
        changes: Changes,
        moment: Moment,
    ) -> Flow:
        """Return the changes of the table, in order: in a step, rows that were there come first, the newest first."""
        subject = tables[0]
        assert subject is not None  # Invariant: there are spells
        rows, since = given.rows[0], given.since
        assert rows is not None  # Invariant: each spell has a row of the subject
        assert spells.rows[0] is not None
        start, end = self.causes(given, subject, tables, moment)
        for table, mine in zip(tables, given.rows, strict=True):
            if table is not None and mine is not None and len(table):
                there = mine != MISSING
                start = np.where(there, np.minimum(start, table.start[mine]), start)
                end = np.where(there, np.maximum(end, table.end[mine]), end)
        was = np.where(before == MISSING, MISSING, spells.rows[0][before])
        gone = np.flatnonzero(~changes.is_there)
        deletes: NDArray[np.bool_] | None = None
        if len(gone):
            deleted = changes.row[gone]
            deletes = np.concatenate([np.zeros(len(rows), np.bool_), np.ones(len(gone), np.bool_)])
            rows, since = np.concatenate([rows, deleted]), np.concatenate([since, changes.position[gone]])
            start = np.concatenate([start, subject.start[deleted]])
            end = np.concatenate([end, subject.end[deleted]])
            was = np.concatenate([was, changes.row[gone - 1]])
            value = value.take(
                np.concatenate([np.arange(len(value)), np.full(len(gone), MISSING, np.int64)]), may_miss=True
            )
        assert subject.key is not None  # Invariant: it is a table
        flow = Flow(since, value, start, end, None, subject.key.take(rows), deletes)
        if ascends(since, strictly=True):
            return flow
        is_new = was == MISSING
        number = subject.number[np.where(is_new, rows, was)]
        return flow.take(np.lexsort((-number, is_new, since)))

    def causes(
        self, given: Spells, subject: Rows, tables: list[Rows | None], moment: Moment
    ) -> tuple[Indices, Indices]:
        """Return the times of what made each spell begin: a row of the subject, or of what it is linked to."""
        rows, since = given.rows[0], given.since
        assert rows is not None  # Invariant: each spell has a row of the subject
        start, end = subject.start[rows], subject.end[rows]
        linked = [one for one in tables[1:] if one is not None]
        if (subject.position[rows] == since).all() or not linked:
            return start, end
        starts, ends = np.zeros(moment.steps, np.int64), np.zeros(moment.steps, np.int64)
        for one in linked:
            here = one.position != BEFORE
            starts[one.position[here]], ends[one.position[here]] = one.start[here], one.end[here]
        own = subject.position[rows] == since
        start, end = np.where(own, start, starts[since]), np.where(own, end, ends[since])
        for table, mine in zip(tables[1:], given.rows[1:], strict=True):
            if table is not None and mine is not None and len(table):  # of a deadline, several rows come in one step
                comes = ~own & (mine != MISSING) & (table.position[mine] == since)
                start, end = np.where(comes, table.start[mine], start), np.where(comes, table.end[mine], end)
        return start, end


def _the_same(rows: Rows) -> Vector:
    return Leaf(pa.array(np.zeros(len(rows), np.int64)))


def _order(spells: Spells, subject: Rows, changes: Changes) -> Indices:
    """Return an order of the spells by position in which rows of the subject are read one after the other."""
    rows = spells.rows[0]
    assert rows is not None  # Invariant: each spell has a row of the subject
    if len(rows) > np.count_nonzero(changes.is_there):  # some are cut
        return np.lexsort((rows, spells.since))
    order = np.full(len(subject), MISSING, np.int64)
    order[rows] = np.arange(len(rows))
    found: Indices = order[order != MISSING]
    return found


def _linked(table: Rows | None, rows: Indices | None, n: int) -> Linked:
    """Return the rows of a table in ``n`` combinations."""
    if rows is None or table is None:
        return Linked(no_rows(), np.full(n, MISSING))
    is_all = len(rows) == len(table) and bool((rows == np.arange(len(rows))).all())
    return Linked(table, None if is_all else rows)


def _differs(found: Given, n: int, before: Indices) -> NDArray[np.bool_]:
    """Return which rows differ in one respect from those ``before`` them, which are there."""
    if isinstance(found, Truth):
        if found.true.shape != (n,):
            return np.zeros(n, np.bool_)
        different: NDArray[np.bool_] = found.true != found.true[before]
        return different
    vector = vector_of(found, n)
    if not n:
        return np.zeros(0, np.bool_)
    if not isinstance(vector, Leaf) or vector.kind or vector.valid is not None:
        raise NotColumnar("what makes values differ is no plain column")
    return truth(apply(operator.ne, vector, vector.take(before))).true
