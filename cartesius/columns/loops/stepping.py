"""The kernel of steps: any stack of restrictions of streams, by a loop that is written for it.

Gates and filters come first, column by column; then the loop of `stepping_texts`, over row numbers and steps; then the
values of what it has found, all at once. It is the most general kernel of streams, and comes after those that do
without a loop.

This module is over 300 lines because what the loop is given, and what is made of what it gives, go by one state.

Invariant: of the state, `Rest` is what is noted beside the rows in memory, which are in order of arrival.

Source: SEMANTICS 1.2 to 1.7, 1.13, 1.14, 2.6 and 3.8.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.bodies.computed import linking, of_predicates
from cartesius.columns.bodies.scalars import asking
from cartesius.columns.bodies.vectorising import ColumnarBody, heading
from cartesius.columns.lifetimes.table_results import TableResults, causes_of, grouped, in_steps
from cartesius.columns.loops.indexing import contents_of, drop, index_of, own_codes
from cartesius.columns.loops.missing_parts import Missing
from cartesius.columns.loops.stepping_events import events_of
from cartesius.columns.loops.stepping_shapes import Shape, read
from cartesius.columns.loops.stepping_texts import written
from cartesius.columns.stages.aligned_rows import load_held, store_held
from cartesius.columns.stages.candidates import Parts, hull
from cartesius.columns.stages.rows import Flow, Rows, joined, no_rows, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State, left_of
from cartesius.columns.stages.stored_rows import check_noted, load_uses, rows_of, store_uses
from cartesius.columns.streams.gate_columns import through
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import MISSING, Leaf, NotColumnar, Struct
from cartesius.data.generated import define
from cartesius.results.outputs import Rows as Table
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.bodies.computed import Column
    from cartesius.columns.lifetimes.table_results import Shown
    from cartesius.columns.stages.spans import Spans
    from cartesius.columns.stages.stages import Counts, Moment
    from cartesius.columns.vectors.vectors import Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot

    Ints = NDArray[np.int64]


def noted(rows: Rows | None, uses: Ints | None, met: bytes) -> Rows | None:
    """Return rows with their uses left (0 if they are not limited), and whether they have met a partner that left."""
    if rows is None:
        return None
    left = np.zeros(len(rows), np.int64) if uses is None else uses
    notes = [Leaf(pa.array(column)) for column in (left, np.frombuffer(met, np.uint8))]
    return attrs.evolve(rows, payload=Struct("", ("payload", "uses", "met"), [rows.payload, *notes], len(rows)))


def plain(rows: Rows | None) -> tuple[Rows | None, Ints, bytes]:
    """Return what `noted` was given."""
    if rows is None:
        return None, np.zeros(0, np.int64), b""
    assert isinstance(rows.payload, Struct)  # Invariant: it is as `noted` has made it
    payload, uses, met = rows.payload.items
    assert isinstance(uses, Leaf)
    assert isinstance(met, Leaf)
    return attrs.evolve(rows, payload=payload), uses.numbers, met.numbers.tobytes()


@attrs.frozen(eq=False)
class Rest:
    """What is kept beside the memories.

    Args:
        held: Of each gate: what it holds, by slot.
        uses: The uses left of the retained rows of each slot; None where they are not limited.
        met: Which retained rows of each slot have had a partner that the clock let leave.
        shown: What the table that it makes holds; None if it makes none.
    """

    held: tuple[dict[int, Rows | None], ...]
    uses: tuple[Ints | None, ...]
    met: tuple[bytes, ...]
    shown: Shown | None


class Stepping(Stage):
    """A product of streams, step by step."""

    keeps_time = True
    costs = 8

    def __init__(self, join: Join, shape: Shape) -> None:
        super().__init__(join)
        self.shape, self.plan = shape, shape.plan
        self.gives_turns = self.plan.is_final
        self.body = ColumnarBody(join, linking(join))
        self.keys = [shape.keys.own(slot.index) for slot in join.slots]
        spans, is_table = shape.expiring.spans, isinstance(join.batch.output, Table)
        self.table = TableResults(join, shape.keys, 0 if spans is None else spans.lateness) if is_table else None
        names = [f"a{slot}" for slot in self._held_of]
        names += [f"u{slot}" for slot, uses in enumerate(self.plan.uses) if uses is not None]
        if shape.expiring.all:
            names += [f"{name}{slot}" for slot in self.plan.slots for name in "se"]
        names += ["ask"] if shape.scalars is None else shape.scalars.names
        names.append("met")
        self.text, self.needs = written(self.plan, "step", names)
        bound = {**shape.bound, "drop": drop, "MISSING": MISSING}
        if self.plan.is_partial:
            may_miss, is_oldest_first = self.plan.may_miss, self.plan.is_oldest_first
            bound["Missing"] = partial(Missing, may_miss=may_miss, is_oldest_first=is_oldest_first)
        self.function = define("step", self.text, bound)

    def source(self) -> str:
        """Return the loop, and the code of what is yielded."""
        codes = self.body.codes[-1:] if self.body.codes else []
        return heading(self.join, "step") + self.text + "".join(f"\n{code.text}" for code in codes)

    # -- state ---------------------------------------------------------------------------------------------------------

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return the memories with what is noted of them, what gates hold, and what deadlines are due."""
        retained, uses, met = [], [], []
        for slot, limit in zip(self.join.slots, self.plan.uses, strict=True):
            entries = list(slot.memory.all())
            check_noted(entries, {"uses"} if limit is not None else {"met"} if self.plan.is_partial else set())
            retained.append(rows_of(slot, entries, arriving.get(slot.index)))
            uses.append(load_uses(entries, limit))
            met.append(bytes([bool(entry.noted("met")) for entry in entries]))
        held = tuple([load_held(one, arriving) for one, _ in self.shape.gates])
        shown = None if self.table is None else self.table.load()
        return _state(retained, Rest(held, tuple(uses), tuple(met), shown))

    def store(self, state: State, stored: set[int]) -> None:
        """Store the memories with what is noted of them, what gates hold, and ask for deadlines."""
        super().store(state, stored)
        rest: Rest = state.more
        store_uses(self.join.slots, rest.uses)
        for slot, met in zip(self.join.slots, rest.met, strict=True):
            for entry in (one for one, has_met in zip(slot.memory.all(), met, strict=True) if has_met):
                entry.note(met=(1 - slot.index,))  # of two slots the other one
        for (one, _), held in zip(self.shape.gates, rest.held, strict=True):
            store_held(self.join, one, held)
        self.shape.expiring.store(state)
        if self.table is not None and rest.shown is not None:
            self.table.store(rest.shown)

    def counts(self, state: State) -> Counts | None:
        """Return how many events are in memory; None if gates hold some."""
        return None if self.shape.gates else self.in_memory(state)

    def deadline(self, state: State) -> int | None:
        """Return when the first row leaves."""
        return self.shape.expiring.deadline(state)

    def tells(self, slot: Slot) -> frozenset[Fate | None]:
        """Tell what results have used up."""
        return frozenset() if self.plan.uses[slot.index] is None else frozenset({Fate.USED_UP})

    # -- state by key --------------------------------------------------------------------------------------------------

    @cached_property
    def _apart(self) -> Mapping[int, Column] | None:
        """The key under which alone rows meet and are counted, by slot; None if none is, or more is held than rows.

        In windows it is not the window: rows that come are in none yet.
        """
        shape, expiring = self.shape, self.shape.expiring
        in_windows = expiring.spans is not None
        if self.table is not None or expiring.frees_in_turn or ((shape.gates or in_windows) and expiring.all):
            return None
        window = self.join.bindings.window_space
        spaces = [(f"b{number}", one) for number, bundle in enumerate(shape.bundles) for one in bundle.equalities]
        for bundled, one in spaces:
            is_key = one.space is not None and one.space != window and len(one.columns) == len(self.join.slots)
            counts = {bundled, f"s{one.space}"}
            is_counted = all(counts & {*rule.atoms} for rules in self.plan.rules for rule in rules)
            if is_key and is_counted and all(gate.spaces == (one.space,) for _, gate in shape.gates):
                return one.columns
        return None

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return the keys of rows, as they come or are held, or with what is noted of them."""
        if self._apart is None:
            return None
        n = len(self.join.slots)
        column = self._apart[(*range(n), *range(n), *self._held_of)[slot]]
        there = plain(rows)[0] if n <= slot < 2 * n else rows
        assert there is not None  # Invariant: rows of rows are some
        try:
            return column(there)
        except NotColumnar:  # of an event that is not let in
            return None

    def dues(self, slot: int, rows: Rows) -> Ints | None:
        """Return when rows leave."""
        n = len(self.join.slots)
        return self.shape.expiring.due(slot - n, rows) if n <= slot < 2 * n else None

    @property
    def _held_of(self) -> list[int]:
        """Of what is held by gates, one gate after the other: the slots."""
        return [slot for _, gate in self.shape.gates for slot in gate.slots]

    def as_rows(self, state: State) -> State | None:
        """Return the state with what is noted of rows beside them, and what gates hold, as rows of further slots."""
        rest: Rest = state.more
        if not all(rows is None or type(rows.payload) in {Leaf, Struct} for rows in state.retained):
            return None
        rows = [noted(*each) for each in zip(state.retained, rest.uses, rest.met, strict=True)]
        held = [
            one.get(slot) for (_, gate), one in zip(self.shape.gates, rest.held, strict=True) for slot in gate.slots
        ]
        return State((*[None] * len(rows), *rows, *held), attrs.evolve(rest, held=(), uses=(), met=()))

    def of_rows(self, state: State) -> State:
        """Return the state of rows."""
        n = len(self.join.slots)
        found, waiting = [plain(rows) for rows in state.retained[n : 2 * n]], iter(state.retained[2 * n :])
        uses = [None if limit is None else left for limit, (_, left, _) in zip(self.plan.uses, found, strict=True)]
        held = tuple([{slot: next(waiting) for slot in gate.slots} for _, gate in self.shape.gates])
        rest = attrs.evolve(state.more, held=held, uses=tuple(uses), met=tuple([met for _, _, met in found]))
        return _state([rows for rows, _, _ in found], rest)

    def without(self, state: State, are_gone: Callable[[Rows], NDArray[np.bool_]]) -> State:
        """Return the state without some rows, and what is noted of them."""
        rest: Rest = state.more
        left = [left_of(rows, are_gone) for rows in state.retained]
        uses = [None if one is None else one[stays] for one, (_, stays) in zip(rest.uses, left, strict=True)]
        met = [np.frombuffer(one, np.uint8)[stays].tobytes() for one, (_, stays) in zip(rest.met, left, strict=True)]
        return _state([rows for rows, _ in left], attrs.evolve(rest, uses=tuple(uses), met=tuple(met)))

    def passed(self, state: State, clock: int) -> State | None:
        """Return the same state where no time is waited for."""
        return super().passed(state, clock) if self._apart is None or self.shape.expiring.all else state

    # -- a batch -------------------------------------------------------------------------------------------------------

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Let rows through the gates, run the loop, and gather what it has found."""
        if not moment.steps:
            return Outcome(nothing(), state, 0)
        rest: Rest = state.more
        coming, held = self._come(rest, arriving, moment)
        rows: list[Rows | None] = []
        for before, mine in zip(state.retained, coming, strict=True):
            parts = [one for one in (before, mine) if one is not None]
            rows.append(joined(parts) if parts else None)
        first = [0 if one is None else len(one) for one in state.retained]
        codes = self._codes(rows)
        indexes = self._indexes(first, codes)
        uses, met, asked = self._uses(rows, rest), self._met(rows, rest), list[Any]()
        given = self._columns(rows, asked) | {"met": met}
        given |= {f"k{slot}_{atom}": code.tolist() for (slot, atom), code in codes.items()}
        given |= {f"m{slot}_{n}": index for slot, mine in enumerate(indexes) for n, index in enumerate(mine)}
        given |= {f"u{slot}": left for slot, left in enumerate(uses) if left is not None}
        events = events_of(self.shape, rows, first, moment)
        given |= {f"a{slot}": places for slot, places in events.released.items()}
        try:
            tuples, out = self.function(events.kinds, events.steps, events.numbers, **given)
        except Exception as error:
            reason = f"a condition raises {type(error).__name__}"
            raise NotColumnar(reason) from error
        expiring = self.shape.expiring
        kept = [expiring.kept(one, contents_of(mine[0]), moment) for one, mine in zip(rows, indexes, strict=True)]
        retained = [None if one is None else one.take(k).as_retained() for one, k in zip(rows, kept, strict=True)]
        left = [None if one is None else np.array(one, np.int64)[k] for one, k in zip(uses, kept, strict=True)]
        marks = [np.frombuffer(one, np.uint8)[k].tobytes() for one, k in zip(met, kept, strict=True)]
        found = np.array(out, np.int64).reshape(-1, len(rows) + 1)
        flow, shown = nothing(), rest.shown
        if len(found):
            flow, shown = self._flow(rows, found, asked, arriving, shown, moment)
        if self.table is not None and shown is not None:
            shown = self.table.at_end(shown, moment.clock)
        rest = Rest(held, tuple(left), tuple(marks), shown)
        spent: dict[int, dict[Fate | None, int]] = {
            slot: {Fate.USED_UP: one.count(0)} for slot, one in enumerate(uses) if one is not None
        }
        return Outcome(flow, _state(retained, rest), tuples, fates=spent)

    def _come(
        self, rest: Rest, arriving: Mapping[int, Rows], moment: Moment
    ) -> tuple[list[Rows | None], tuple[dict[int, Rows | None], ...]]:
        """Return what comes to the memories, and what gates hold."""
        coming: list[Rows | None] = []
        for slot, keeping in enumerate(self.shape.slots):
            mine = arriving.get(slot)
            if mine is not None:
                self.shape.keys.check(slot, mine)
            coming.append(_passed(keeping.before, mine))
        base = next((int(one.number[0] - one.position[0]) for one in arriving.values() if len(one)), 0)
        gates = zip(self.shape.gates, rest.held, strict=True)
        held = [through(gate, waiting, coming, base, moment.steps) for (_, gate), waiting in gates]
        coming = [_passed(one.behind, mine) for one, mine in zip(self.shape.slots, coming, strict=True)]
        return coming, tuple([self.shape.expiring.held(one, moment) for one in held])

    def _uses(self, rows: Sequence[Rows | None], rest: Rest) -> list[list[int] | None]:
        found: list[list[int] | None] = []
        for mine, left, uses in zip(rows, rest.uses, self.plan.uses, strict=True):
            if uses is None:
                found.append(None)
                continue
            before = [] if left is None else left.tolist()
            found.append(before + [uses] * ((0 if mine is None else len(mine)) - len(before)))
        return found

    def _met(self, rows: Sequence[Rows | None], rest: Rest) -> list[bytearray]:
        found = [bytearray(0 if one is None else len(one)) for one in rows]
        for marks, before in zip(found, rest.met, strict=True):
            marks[: len(before)] = before
        return found

    def _columns(self, rows: Sequence[Rows | None], asked: list[Any]) -> dict[str, Any]:
        """Return what conditions need; what a generator yields is put into ``asked``."""
        given: dict[str, Any] = {}
        for slot, one in enumerate(rows if self.shape.expiring.all else ()):
            given[f"s{slot}"] = [] if one is None else one.start.tolist()
            given[f"e{slot}"] = [] if one is None else one.end.tolist()
        if self.shape.scalars is None:
            return given | {"ask": asking(self.join, rows, asked)}
        return given | dict(zip(self.shape.scalars.names, self.shape.scalars.columns(rows), strict=True))

    def _codes(self, rows: Sequence[Rows | None]) -> dict[tuple[int, str], Ints]:
        """Return the codes that the loop needs, by slot and name."""
        found: dict[tuple[int, str], Ints] = {}
        for number, bundle in enumerate(self.shape.bundles):  # also if nobody needs them: an error in them is one
            found.update({(slot, f"b{number}"): codes for slot, codes in bundle.codes(rows).items()})
        for slot, atom in self.needs.codes:
            if atom.startswith("s"):
                found[slot, atom] = own_codes(self.shape.keys, int(atom[1:]), slot, rows[slot])
        return {need: found[need] for need in self.needs.codes}

    def _indexes(self, first: Sequence[int], codes: Mapping[tuple[int, str], Ints]) -> list[list[Any]]:
        """Return the indexes of each slot, with what was there before."""
        found: list[list[Any]] = []
        for slot, n in enumerate(first):
            mine: list[Any] = []
            for atoms in self.needs.indexes[slot]:
                columns = [codes[slot, atom][:n].tolist() for atom in atoms]
                index = index_of(columns, n)
                limit = min([rule.n for rule in self.plan.rules[slot] if rule.atoms == atoms], default=None)
                groups = index.values() if isinstance(index, dict) else [index]
                if (limit is not None and any(len(one) > limit for one in groups)) or (self.plan.leaves[slot] and n):
                    reason = "more is retained than would be"
                    raise NotColumnar(reason)
                mine.append(index)
            found.append(mine)
        return found

    def _flow(
        self,
        rows: Sequence[Rows | None],
        found: Ints,
        asked: list[Any],
        arriving: Mapping[int, Rows],
        shown: Shown | None,
        moment: Moment,
    ) -> tuple[Flow, Shown | None]:
        """Return what the candidates found give, and what the table holds after it."""
        parts = []
        for slot, (mine, key) in enumerate(zip(rows, self.keys, strict=True)):
            there = no_rows() if mine is None else mine
            own = None if key is None or mine is None else key(mine)
            parts.append(Parts(there, found[:, slot].copy(), may_miss=self.plan.may_miss[slot], key=own))
        start, end = hull(parts)
        at = found[:, -1]
        position = np.where(at < 0, ~at, at)
        if asked:
            value = of_values([one for values in asked for one in values])
            counts: Ints | None = np.array([len(values) for values in asked], np.int64)
        else:
            value, counts = self.body.values(parts)
        if self.table is not None and shown is not None:
            values = grouped(value.to_list(), counts)
            times = list(zip(start.tolist(), end.tolist(), strict=True))
            causes = causes_of(rows, found, arriving, has_gates=bool(self.shape.gates))
            return self.table.run(shown, rows, in_steps(found, moment.event, values, times, causes), moment.clock)
        weight = np.where(at < 0, -1, 1).astype(np.int8) if self.plan.takes_back else None
        if self.plan.is_final:
            turn, order = self.shape.expiring.turns(self.shape.keys, rows, found)
            return Flow(position[order], value.take(order), start[order], end[order], turn=turn[order]), None
        if counts is not None:
            position, start, end = (np.repeat(one, counts) for one in (position, start, end))
            weight = None if weight is None else np.repeat(weight, counts)
        return Flow(position, value, start, end, weight), None


def _state(retained: Sequence[Rows | None], rest: Rest) -> State:
    """Return a state with what it holds besides, of which gates hold rows as well."""
    held = [rows for one in rest.held for rows in one.values() if rows is not None]
    return State(tuple(retained), rest, sum(map(len, held)))


def _passed(predicates: Sequence[Column], rows: Rows | None) -> Rows | None:
    holds = None if rows is None else of_predicates(predicates, rows)
    return rows if rows is None or holds is None else rows.take(np.flatnonzero(holds))


def stepping_stage(join: Join, spans: Spans | None = None) -> Stage | str | None:
    """Return the stage of a product of streams under any stack of restrictions, or why it has none."""
    shape = read(join, spans)
    return Stepping(join, shape) if isinstance(shape, Shape) else shape
