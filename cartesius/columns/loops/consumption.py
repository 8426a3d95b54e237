"""The kernel of consumption: a product of streams whose candidates a generated loop finds, greedily.

Gates and filters come first, column by column; then the loop of `loops`, over row numbers; then the values of what it
has found, all at once. Memories that restrictions limit, under a key or not, are its lists.

Invariant: of the state, `more` is what gates hold, gate by gate and slot by slot, and the uses left of what is
retained; no retained row has none.

Source: ICFP 2018, doi:10.1145/3236762, section 4.4.1; SEMANTICS 1.2 to 1.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np

from cartesius.columns.bodies.code_headings import heading
from cartesius.columns.bodies.coding import check_keyed, codes_under
from cartesius.columns.bodies.computed import linking
from cartesius.columns.bodies.scalars import Scalars, asking
from cartesius.columns.bodies.vectorising import ColumnarBody
from cartesius.columns.loops.loop_texts import Plan
from cartesius.columns.loops.loops import loop
from cartesius.columns.stages.aligned_rows import load_held, store_held
from cartesius.columns.stages.candidates import Parts, hull
from cartesius.columns.stages.rows import BEFORE, Flow, Rows, joined, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State, left_of
from cartesius.columns.stages.stored_rows import check_noted, load_uses, rows_of, store_uses
from cartesius.columns.streams.gate_columns import Gate, filtered, through
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.key_codes import NEVER
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.data.generated import define
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.streams.shapes import Shape
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot

NOTHING: Final = 255
"""The kind of a step in which nothing comes."""


@attrs.frozen(eq=False)
class Rest:
    """What is kept beside the memories.

    Args:
        held: Of each gate: what it holds, by slot.
        uses: The uses left of the retained rows of each slot; None where they are not limited.
    """

    held: tuple[dict[int, Rows | None], ...]
    uses: tuple[NDArray[np.int64] | None, ...]


class Consuming(Stage):
    """A product of streams under `at_most`, `aligning` and what else limits memories."""

    def __init__(self, join: Join, shape: Shape) -> None:
        super().__init__(join)
        self.shape = shape
        self.keys = [shape.keys.own(slot.index) for slot in join.slots]
        keeps = bool(shape.aligned) or any(one.newest is not None or one.oldest is not None for one in shape.slots)
        divides = [one for one in shape.components if not keeps or one.space in shape.spaces]
        self.needs_key = keeps and len(shape.spaces) > 1  # what has none is one key, but not with that of others
        self.under, self.guards = divides, [one for one in shape.components if one not in divides]
        self.body = ColumnarBody(join, linking(join))
        self.gates = [gate for gate, _ in shape.aligned]
        together = [slots for _, slots in shape.aligned]
        self.aligned = [Gate(slots, shape.keys, shape.spaces) for slots in together]
        alone = [(slot.index,) for slot in join.slots if not any(slot.index in slots for slots in together)]
        self.kinds = (*alone, *together)
        self.scalars = self._scalars()
        self.plan = Plan(
            tuple([one.newest for one in shape.slots]),
            tuple([one.oldest for one in shape.slots]),
            tuple([one.uses for one in shape.slots]),
            tuple([one.leaves for one in shape.slots]),
            self.kinds,
            bool(self.under),
            bool(self.guards),
            shape.is_oldest_first,
            self._condition(),
        )
        self.text = loop(self.plan, "consume", self.scalars.names if self.scalars else ["ask"])
        self.function = define("consume", self.text, self.scalars.bound if self.scalars else {})

    def _scalars(self) -> Scalars | None:
        """Return the residual conditions as text; None if the body must be asked."""
        pattern = self.join.pattern
        if pattern.is_generator or not pattern.is_where_traced:
            return None
        known = linking(self.join)
        try:
            return Scalars(self.join, self.shape.keys, [one for one in pattern.conditions() if one not in known])
        except NotColumnar:
            return None

    def _condition(self) -> str:
        if self.scalars is not None:
            return self.scalars.text()
        return f"ask({', '.join(f'{{{slot.index}}}' for slot in self.join.slots)})"

    def source(self) -> str:
        """Return the loop, and the code of what is yielded."""
        codes = self.body.codes[-1:] if self.body.codes else []
        return heading(self.join, "consume") + self.text + "".join(f"\n{code.text}" for code in codes)

    # -- state ---------------------------------------------------------------------------------------------------------

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return the memories with the uses left, and what gates hold."""
        retained, uses = [], []
        for slot, keeping in zip(self.join.slots, self.shape.slots, strict=True):
            entries = list(slot.memory.all())
            check_noted(entries, set() if keeping.uses is None else {"uses"})
            retained.append(rows_of(slot, entries, arriving.get(slot.index)))
            uses.append(load_uses(entries, keeping.uses))
        held = tuple([load_held(gate, arriving) for gate in self.gates])
        return State(tuple(retained), Rest(held, tuple(uses)))

    def store(self, state: State, stored: set[int]) -> None:
        """Store the memories with the uses left, and what gates hold."""
        super().store(state, stored)
        rest: Rest = state.more
        store_uses(self.join.slots, rest.uses)
        for gate, held in zip(self.gates, rest.held, strict=True):
            store_held(self.join, gate, held)

    def without(self, state: State, are_gone: Callable[[Rows], NDArray[np.bool_]]) -> State:
        """Return the state without some rows."""
        rest: Rest = state.more
        held = [{slot: left_of(rows, are_gone)[0] for slot, rows in gate.items()} for gate in rest.held]
        found = [left_of(rows, are_gone) for rows in state.retained]
        uses = [None if left is None else left[stays] for left, (_, stays) in zip(rest.uses, found, strict=True)]
        return State(tuple([rows for rows, _ in found]), Rest(tuple(held), tuple(uses)))

    def tells(self, slot: Slot) -> frozenset[Fate | None]:
        """Tell what results have used up."""
        return frozenset() if self.plan.uses[slot.index] is None else frozenset({Fate.USED_UP})

    # -- a batch -------------------------------------------------------------------------------------------------------

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Let rows through the gates, run the loop, and gather what it has found."""
        if not any(map(len, arriving.values())):
            return Outcome(nothing(), state, 0)
        rest: Rest = state.more
        coming = [filtered(self.shape, slot, arriving.get(slot.index)) for slot in self.join.slots]
        base = next(int(one.number[0] - one.position[0]) for one in arriving.values() if len(one))
        held = []
        for gate, waiting in zip(self.aligned, rest.held, strict=True):
            held.append(through(gate, waiting, coming, base, moment.steps))
        both = [[one for one in pair if one is not None] for pair in zip(state.retained, coming, strict=True)]
        rows = [joined(parts) if parts else None for parts in both]
        if all(one is None for one in rows):
            return Outcome(nothing(), State(state.retained, Rest(tuple(held), rest.uses)), 0)
        return self.find(state, rows, tuple(held), moment.steps)

    def find(
        self, state: State, rows: list[Rows | None], held: tuple[dict[int, Rows | None], ...], steps: int
    ) -> Outcome:
        """Run the loop over what has come through the gates."""
        n = len(rows)
        before = [0 if one is None else len(one) for one in state.retained]
        codes, count = self.codes(self.under, rows)
        if self.needs_key:
            check_keyed(codes, count)
        guards, most = self.codes(self.guards, rows)
        guards = [np.where(one == most - 1, NEVER, one).tolist() for one in guards]
        uses = self._uses(state, rows)
        memories = [self._memory(slot, before[slot], codes, count) for slot in range(n)]
        kinds, numbers, keys = self._coming(rows, before, codes, steps)
        left = [None if mine is None else mine.tolist() for mine in uses]
        asked: list[Any] = []
        more = self.scalars.columns(rows) if self.scalars is not None else [asking(self.join, rows, asked)]
        each = [one for s in range(n) for one in (memories[s], left[s], guards[s], before[s])]
        try:
            tuples, out, kept = self.function(kinds, numbers, keys, count - 1, *each, *more)
        except Exception as error:
            reason = f"a condition raises {type(error).__name__}"
            raise NotColumnar(reason) from error
        found = np.array(out, np.int64).reshape(-1, n)
        retained, remaining, fates = [], [], dict[int, dict[Fate | None, int]]()
        for slot in range(n):
            mine, chosen = rows[slot], self._rows_of(slot, kept[slot])
            retained.append(None if mine is None else mine.take(chosen).as_retained())
            limited = left[slot]
            remaining.append(None if limited is None else np.array(limited, np.int64)[chosen])
            if limited is not None:
                spent = np.bincount(found[:, slot], minlength=len(limited))
                fates[slot] = {Fate.USED_UP: int(np.count_nonzero(spent == uses[slot]))}
        flow = self.flow(rows, found, asked) if len(found) else nothing()
        return Outcome(flow, State(tuple(retained), Rest(held, tuple(remaining))), tuples, fates=fates)

    def codes(self, components: list[Any], rows: list[Rows | None]) -> tuple[list[NDArray[np.int64]], int]:
        """Return the codes of the key that components are, and how many there are."""
        if not components:
            return [np.zeros(0, np.int64)] * len(rows), 0
        return codes_under(components, rows)

    def _uses(self, state: State, rows: list[Rows | None]) -> list[NDArray[np.int64] | None]:
        found: list[NDArray[np.int64] | None] = []
        for mine, left, uses in zip(rows, state.more.uses, self.plan.uses, strict=True):
            if uses is None:
                found.append(None)
                continue
            every = np.full(0 if mine is None else len(mine), uses, np.int64)
            if left is not None:
                every[: len(left)] = left
            found.append(every)
        return found

    def _memory(self, slot: int, n: int, codes: list[NDArray[np.int64]], count: int) -> Any:
        """Return what the loop keeps of a slot, given that its first ``n`` rows are there."""
        keeps_one = self.plan.keeps_one(slot)
        if not self.plan.is_keyed:
            return (n - 1) if keeps_one else list(range(n))
        mine = codes[slot][:n].tolist()
        if keeps_one:
            one = [-1] * count
            for row, code in enumerate(mine):
                one[code] = row
            return one
        lists: dict[int, list[int]] = {}
        for row, code in enumerate(mine):
            lists.setdefault(code, []).append(row)
        return lists

    def _rows_of(self, slot: int, kept: Any) -> NDArray[np.int64]:
        """Return the rows that the loop has kept of a slot, the oldest first."""
        if not self.plan.is_keyed:
            kept = [kept] if self.plan.keeps_one(slot) else kept
        elif not self.plan.keeps_one(slot):
            kept = [row for rows in kept.values() for row in rows]
        found = np.array(kept, np.int64)
        return np.sort(found[found >= 0])

    def _coming(
        self, rows: list[Rows | None], before: list[int], codes: list[NDArray[np.int64]], steps: int
    ) -> tuple[bytes, list[int], list[int]]:
        """Return the kind, the row and the key of what comes, step by step."""
        kind = np.full(steps, NOTHING, np.uint8)
        number = np.zeros(steps, np.int64)
        key = np.zeros(steps, np.int64)
        for place, (slot, *others) in enumerate(self.kinds):
            mine = rows[slot]
            if mine is None:
                continue
            at = mine.position[before[slot] :]
            kind[at] = place
            number[at] = np.arange(len(at)) + (0 if others else before[slot])
            if self.under:
                key[at] = codes[slot][before[slot] :]
        if (kind == NOTHING).any():
            there = kind != NOTHING
            kind, number, key = kind[there], number[there], key[there]
        return kind.tobytes(), number.tolist(), key.tolist() if self.under else []

    def flow(self, rows: list[Rows | None], found: NDArray[np.int64], asked: list[Any]) -> Flow:
        """Return what the candidates found give."""
        parts = []
        position = np.full(len(found), BEFORE, np.int64)
        for slot, (mine, key) in enumerate(zip(rows, self.keys, strict=True)):
            assert mine is not None  # Invariant: what is in a candidate is there
            parts.append(Parts(mine, found[:, slot].copy(), key=None if key is None else key(mine)))
            np.maximum(position, mine.position[found[:, slot]], out=position)
        start, end = hull(parts)
        if not asked:
            value, _ = self.body.values(parts)
            return Flow(position, value, start, end)
        counts = np.array([len(values) for values in asked], np.int64)
        value = of_values([one for values in asked for one in values])
        return Flow(np.repeat(position, counts), value, np.repeat(start, counts), np.repeat(end, counts))
