"""The kernel of versions: streams of which each slot keeps its newest events, or its oldest, of a key or of all.

What is in memory is a version, and a result lives as long as its parts do: the temporal overlap join. Where all slots
keep one event of one common key it is a merge (`carrying`), otherwise one slot is joined after the other (`chaining`).

Source: DESIGN 4; SEMANTICS 1.2, 1.3, 1.6, 1.9, 1.13 and 2.6.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columns.bodies.coding import codes_of
from cartesius.columns.bodies.computed import linking
from cartesius.columns.bodies.vectorising import ColumnarBody, heading
from cartesius.columns.lifetimes.carrying import Rule, find, places_of
from cartesius.columns.lifetimes.chaining import Joining
from cartesius.columns.lifetimes.emitting import Emissions, as_changes, as_events, causes, in_order
from cartesius.columns.lifetimes.overlap import FOREVER, TooMany
from cartesius.columns.stages.candidates import Parts, first_there, whole
from cartesius.columns.stages.rows import Flow, Rows, has_several_steps, no_rows, nothing, one_after_the_other
from cartesius.columns.stages.stages import Moment, Outcome, Stage, State
from cartesius.columns.streams.version_plans import OF_VERSIONS, Plan, plan_of
from cartesius.columns.vectors.key_codes import NEVER, encoded
from cartesius.columns.vectors.lanes import holds
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.expressions.expressions import Expression, KeyOf, children
from cartesius.plan.nodes import Now

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final

    from numpy.typing import NDArray

    from cartesius.columns.lifetimes.chaining import Combinations
    from cartesius.columns.lifetimes.lifetimes import Lifetimes
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.plan.nodes import Node

MOST: Final = 1 << 24
"""How many combinations are made at a time, unless one step has more; a batch that has more is cut."""


class VersionJoin(Stage):
    """A correlation of streams with memories."""

    def __init__(self, join: Join, plan: Plan) -> None:
        super().__init__(join)
        self.plan = plan
        self.body = ColumnarBody(join, linking(join))
        yields = [join.pattern.yields] if isinstance(join.pattern.yields, Expression) else []
        asked = frozenset().union(*map(_keys_in, [*join.pattern.conditions, *yields]))
        self.own_keys = [
            plan.keys.own(slot.index) if slot.name in asked or slot.index in plan.shown else None for slot in join.slots
        ]

    def source(self) -> str:
        """Return the code of the body, below the functions that find its candidates."""
        codes = [*(code for turn in self.plan.turns for code in turn.conditions), *self.body.codes]
        return heading(self.join, self.plan.functions) + "".join(f"\n{code.text}" for code in codes)

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return the keys of a space of all slots, under which all that is kept is kept; what comes has no window."""
        memories, bindings = self.plan.memories, self.join.bindings
        for space, of_slots in enumerate(bindings.spaces):
            keeps = all(one.kind in (None, Now) or space in one.spaces for one in memories)
            if keeps and space != bindings.window_space and {*of_slots} == {one.slot.index for one in memories}:
                return self.plan.keys.in_space(space, slot, rows)
        return None

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Join the versions."""
        plan = self.plan
        if not any(map(len, arriving.values())):
            return Outcome(nothing(), state, 0)
        found = [
            memory.rows(plan.keys, before, arriving.get(memory.slot.index))
            for memory, before in zip(plan.memories, state.retained, strict=True)
        ]
        rows = [mine for mine in found if mine is not None]
        if len(rows) < len(found) and (not plan.is_partial or not rows):
            plan.keys.try_out(arriving)
            return Outcome(nothing(), State(self._retained(found), state.more), 0)
        if len(rows) < len(found):
            rows = [no_rows() if mine is None else mine for mine in found]
        if not any(len(mine) and mine.position[-1] >= 0 for mine in rows):
            return Outcome(nothing(), state, 0)
        try:
            flow, more, tuples = self.given(rows, state.more, moment)
        except TooMany:
            return self._in_two(state, arriving, moment)
        return Outcome(flow, State(self._retained(found), more), tuples)

    def given(self, rows: list[Rows], more: Any, moment: Moment) -> tuple[Flow, Any, int]:
        """Return what rows give, what is held besides after them, and how many candidates there were."""
        emissions, tuples = self._carried(rows, moment) if self.plan.is_carried else (None, 0)
        if emissions is None:
            emissions, tuples = self._chained(rows, moment)
        return self._flow(emissions), more, tuples

    # -- state ---------------------------------------------------------------------------------------------------------

    def _retained(self, found: Sequence[Rows | None]) -> tuple[Rows | None, ...]:
        """Return what stays."""
        return tuple(
            [
                None if mine is None else memory.retained(self.plan.keys, mine)
                for memory, mine in zip(self.plan.memories, found, strict=True)
            ]
        )

    def _in_two(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Run the batch as two, one after the other."""
        positions = [mine.position for mine in arriving.values() if len(mine)]
        middle = (int(min(one[0] for one in positions)) + int(max(one[-1] for one in positions))) // 2 + 1
        flows, tuples = [], 0
        for is_late in (False, True):
            half = {
                index: mine.take(np.flatnonzero((mine.position >= middle) == is_late))
                for index, mine in arriving.items()
            }
            outcome = self.run(state, half, moment)
            state, tuples = outcome.state, tuples + outcome.tuples
            flows.append(outcome.flow)
        return Outcome(one_after_the_other(flows), state, tuples)

    # -- candidates ----------------------------------------------------------------------------------------------------

    def parts(self, rows: Sequence[Rows], indices: Sequence[Indices]) -> list[Parts]:
        """Return the parts of candidates, given the row of each slot."""
        return [self._part(rows, slot, mine) for slot, mine in enumerate(indices)]

    def _part(self, rows: Sequence[Rows], slot: int, indices: Indices) -> Parts:
        key = self.own_keys[slot]
        mine = rows[slot]
        return Parts(mine, indices, may_miss=self.plan.may_miss[slot], key=None if key is None else key(mine))

    def _visible(self, rows: Sequence[Rows]) -> list[NDArray[np.bool_] | None]:
        """Return, where parts may be missing, which rows satisfy the conditions on their slot alone."""
        found: list[NDArray[np.bool_] | None] = [None] * len(rows)
        for slot, code in self.plan.alone:
            if not len(rows[slot]):
                continue
            key = self.own_keys[slot]
            part = whole(rows[slot], None if key is None else key(rows[slot]))
            mine = holds(code.function(len(part), part), len(part))
            before = found[slot]
            found[slot] = mine if before is None else before & mine
        return found

    def _carried(self, rows: list[Rows], moment: Moment) -> tuple[Emissions | None, int]:
        plan = self.plan
        places = places_of(rows, moment.steps, is_distinct=plan.is_distinct)
        if places is None:
            return None, 0
        codes, count, nobody = self._codes(rows)
        if plan.is_partial and nobody is not None:  # each is alone
            codes = [np.where(mine == nobody, nobody + slot, mine) for slot, mine in enumerate(codes)]
            count, nobody = count + len(rows), None

        def holds(chosen: list[Indices]) -> tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None]:
            if plan.is_partial:
                return None, None
            meet = self._meet(rows, chosen)
            chosen = chosen if meet is None else [mine[meet] for mine in chosen]
            is_asked = self.body.has_condition and len(chosen[0])
            return meet, self.body.holds(self.parts(rows, chosen)) if is_asked else None

        rule = Rule(plan.mandatory, plan.momentary, plan.takes_back)
        found = find(places, codes, count, rule, nobody, holds, self._visible(rows))
        emissions = Emissions(self.parts(rows, found.rows), places.position[found.place], found.weight)
        if plan.shown:
            start, end = (np.empty(len(places), np.int64) for _ in range(2))
            for place, mine in zip(places.of_slot, rows, strict=True):
                start[place], end[place] = mine.start, mine.end
            emissions = attrs.evolve(emissions, since=start[found.place], until=end[found.place])
        return emissions, found.tuples

    def _codes(self, rows: Sequence[Rows]) -> tuple[list[NDArray[np.int64]], int, int | None]:
        """Return the codes of the common key, how many there are, and that of what has none."""
        space = self.plan.space
        if space is None:
            return [np.zeros(len(mine), np.int64) for mine in rows], 1, None
        codes, nobody = codes_of([self.plan.keys.in_space(space, slot, mine) for slot, mine in enumerate(rows)])
        has_nobody = any((mine == nobody).any() for mine in codes)
        is_alone = len(rows) == 1  # so that what has no key needs to meet nothing
        return codes, nobody + has_nobody, nobody if has_nobody and not is_alone else None

    def _meet(self, rows: Sequence[Rows], chosen: Sequence[Indices]) -> NDArray[np.bool_] | None:
        """Return which combinations satisfy the equalities beside the common key; None: all."""
        meet: NDArray[np.bool_] | None = None
        for edge in self.plan.others:
            left, right = rows[edge.left], rows[edge.right]
            (one, other), _ = encoded([[edge.of_left(left)], [edge.of_right(right)]], skips_null=edge.skips_null)
            mine, its = one[chosen[edge.left]], other[chosen[edge.right]]
            holds = (mine == its) & (mine != NEVER)
            meet = holds if meet is None else meet & holds
        return meet

    def combinations(self, rows: list[Rows]) -> tuple[Combinations, list[Lifetimes]]:
        """Return the combinations of rows, and when those live, slot by slot."""
        plan = self.plan
        lifetimes = [memory.lifetimes(plan.keys, mine) for memory, mine in zip(plan.memories, rows, strict=True)]
        if not plan.turns:
            reason = "several events come in one step, and parts may be missing of slots that no condition connects"
            raise NotColumnar(reason)
        joining = Joining(
            rows,
            lifetimes,
            lambda slot, indices: self._part(rows, slot, indices),
            self._visible(rows),
            MOST if has_several_steps(rows) else None,
        )
        found = (
            joining.both(plan.turns[1], plan.turns[0].slot)
            if plan.is_full
            else joining.joined(plan.turns, only_new=not plan.takes_back)
        )
        return found, lifetimes

    def _chained(self, rows: list[Rows], moment: Moment) -> tuple[Emissions, int]:
        plan = self.plan
        found, lifetimes = self.combinations(rows)
        if plan.takes_back and not plan.shown:
            found = found.take(np.flatnonzero((found.born >= 0) | (found.died != FOREVER)))
        tuples = int(np.count_nonzero(found.born >= 0))
        found = self.those_that_hold(rows, found)
        if plan.shown:
            self._check_one_at_a_time(rows, found)
        chosen, position, weight = in_order(
            found, [len(mine) for mine in rows], oldest_first=plan.is_oldest_first, takes_back=plan.takes_back
        )
        parts = self.parts(rows, chosen)
        emissions = Emissions(parts, position, weight)
        if plan.shown:
            since, until = causes(rows, lifetimes, parts, position, weight, moment.steps)
            emissions = attrs.evolve(emissions, since=since, until=until)
        return emissions, tuples

    def those_that_hold(self, rows: Sequence[Rows], found: Combinations) -> Combinations:
        """Return the combinations that satisfy the condition; where parts may be missing all of them do."""
        if not self.body.has_condition or self.plan.is_partial or not len(found):
            return found
        holds = self.body.holds(self.parts(rows, [found.rows[slot] for slot in range(len(rows))]))
        return found.take(np.flatnonzero(holds))

    def _check_one_at_a_time(self, rows: Sequence[Rows], found: Combinations) -> None:
        """Raise `NotColumnar` if two rows of the table have one key at a time."""
        if not len(found):
            return
        key = self._shown_key(self.parts(rows, [found.rows[slot] for slot in range(len(rows))]))
        (codes,), _ = encoded([[key]], skips_null=False)
        order = np.lexsort((found.born, codes))
        is_same = codes[order][1:] == codes[order][:-1]
        if (is_same & (found.born[order][1:] < found.died[order][:-1])).any():
            raise NotColumnar("several results have one key at a time")

    # -- results -------------------------------------------------------------------------------------------------------

    def _flow(self, emissions: Emissions) -> Flow:
        if not len(emissions):
            return nothing()
        if not self.plan.shown:
            return as_events(emissions, self.body)
        return as_changes(emissions, self.body, self._shown_key(emissions.parts))

    def _shown_key(self, parts: Sequence[Parts]) -> Vector:
        """Return the key of the first slot that has a part, of those that the table is keyed by."""
        return first_there([parts[slot] for slot in self.plan.shown], attrgetter("key"))


def _keys_in(expression: Expression) -> frozenset[str]:
    """Return the slots whose keys an expression mentions."""
    if isinstance(expression, KeyOf):
        return frozenset((expression.slot,))
    return frozenset().union(*map(_keys_in, children(expression)))


def version_stage(join: Join, known: frozenset[type[Node]] = OF_VERSIONS) -> Stage | str | None:
    """Return the stage of a correlation of streams with memories, or why it has none."""
    plan = plan_of(join, known)
    if isinstance(plan, Plan):
        return VersionJoin(join, plan) if plan.by is None else None  # those are another kernel's
    return plan
