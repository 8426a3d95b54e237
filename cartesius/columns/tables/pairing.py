"""The kernel of pairs: a table with another one, or with itself, of which few pairs give anything, totalled by group.

Each row that comes meets those of the other table that are there, by equality where there is one. Whether a pair gives
anything is computed for many pairs at once, by a condition that says what it computes (`missing_values`);
what it gives, for those alone. So the work for a pair is that of a few numbers.

Source: DESIGN 4 and 6; SEMANTICS 2.6 and 2.7.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np

from cartesius.columns.bodies.column_texts import code_of
from cartesius.columns.bodies.linked import Linked
from cartesius.columns.bodies.phasing import load_seen
from cartesius.columns.lifetimes.link_changes import Changes
from cartesius.columns.lifetimes.meetings import Meetings, Side, met
from cartesius.columns.stages.candidates import Parts
from cartesius.columns.stages.rows import BEFORE, nothing
from cartesius.columns.stages.stages import Outcome, State, times_of
from cartesius.columns.tables.table_stages import TableStage
from cartesius.columns.vectors.key_codes import encoded
from cartesius.columns.vectors.lanes import holds
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.expressions.expressions import Apply, Constant, Part, Tuple, evaluator
from cartesius.expressions.missing_values import Asked, Form, form_of
from cartesius.language.lists import equality_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment, Stage
    from cartesius.columns.tables.group_totals import ToGroups
    from cartesius.columns.tables.table_rows import Versions
    from cartesius.correlations.join_shape import Join
    from cartesius.expressions.expressions import Expression
    from cartesius.language.families import Slot

_CHUNK: Final = 1 << 16
"""How many pairs are judged at once."""
_MOST: Final = 1 << 24
"""More pairs than this that give something are too many for one batch."""


@attrs.frozen
class _Cell:
    """A row, as expressions look at it."""

    value: Any


class Pairing(TableStage):
    """Pairs of rows, totalled.

    Args:
        join: The correlation.
        output: What becomes of the results.
        form: Whether a pair gives anything.
    """

    how = "meet the rows of the other table that are there"
    output: ToGroups

    def __init__(self, join: Join, output: ToGroups, form: Form) -> None:
        super().__init__(join, output, [False, False])
        self.code = code_of(form, tuple([slot.name for slot in join.slots]))
        self.sides = [
            [evaluator(side, {name: 0}) for pair in join.pattern.equalities for name, side in pair if name == slot.name]
            for slot in join.slots
        ]

    def source(self) -> str:
        """Return the generated code."""
        return f"{super().source()}{self.code.text}"

    def _load(self, slot: Slot, like: Rows | None) -> Rows | None:
        return load_seen(slot, like) if slot.kept is None else super()._load(slot, like)

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Find the pairs that are there, and total what they give."""
        times = times_of(arriving, moment)
        them = self.versions(state, arriving)
        both: list[Side] = []
        retained: list[Rows | None] = []
        values: dict[Any, int] = {}
        for slot, one in enumerate(them):
            if not len(one):
                retained.append(None)
                both.append(Side.empty())
                continue
            (codes,), count = encoded([[one.key]], skips_null=False)
            retained.append(one.live(codes, count))
            changes = Changes.of(one.rows, codes, count, moment.steps)
            both.append(Side.of(changes, self._equated(slot, one, values), one.position))
        parts: list[Meetings] = []
        tuples = 0
        for some in met(both[0], both[1], _CHUNK):
            tuples += int(np.count_nonzero(some.since != BEFORE))
            parts.append(some.chosen(self._finds(some, them)))
        found = Meetings.together(parts) if parts else None
        if found is None or not len(found.left):
            return Outcome(nothing(), State(tuple(retained), state.more), tuples)
        if len(found.left) > _MOST:
            raise NotColumnar("too many pairs in one batch")
        given = [Parts(one.rows, rows) for one, rows in zip(them, (found.left, found.right), strict=True)]
        entries = found.entries(both, moment.steps)
        flow, more = self.output.folded(
            ((step, is_given, place, (int(times[0][step]), int(times[1][step]))) for step, is_given, place in entries),
            [value for (value,) in self.body.objects(given)],
            state.more,
        )
        return Outcome(flow, State(tuple(retained), more), tuples)

    def _equated(self, slot: int, one: Versions, values: dict[Any, int]) -> list[int]:
        """Return a code for what must be equal, of each row; -1 where it equals nothing."""
        sides = self.sides[slot]
        if not sides:
            return [0] * len(one)
        (side,) = sides
        try:
            found = [side((_Cell(value),)) for value in one.rows.payload.to_list()]
            return [-1 if value is None else values.setdefault(value, len(values)) for value in found]
        except Exception as error:
            raise NotColumnar(f"an equality raises {type(error).__name__}") from error

    def _finds(self, some: Meetings, them: Sequence[Versions]) -> Any:
        linked = [Linked(one.rows, rows) for one, rows in zip(them, (some.left, some.right), strict=True)]
        (found,) = self.code.meaning(len(some.left), *linked)
        return np.flatnonzero(holds(found, len(some.left)))


def pairing_stage(join: Join, output: ToGroups) -> Stage | str:
    """Return the stage of pairs, or why there is none."""
    if len(join.slots) != 2:
        return "of more tables than two each pair would be met"
    asked = [one for one in join.pattern.conditions if equality_of(one, join.pattern.lists) is None]
    form = _form(asked[0], [slot.name for slot in join.slots]) if len(asked) == 1 else None
    if form is None or len(join.pattern.equalities) > 1:
        return "its rows have several candidates"
    return Pairing(join, output, form) if isinstance(form, Form) else form


def _form(condition: Expression, slots: Sequence[str]) -> Form | str | None:
    """Return what a condition says that it computes."""
    match condition:
        case Apply(function=operator.eq, arguments=(Apply(function=function, arguments=given), Constant(value=True))):
            if given == (Tuple((Part(slots[0]),)), Part(slots[1])):
                form = form_of(function)
                return None if isinstance(form, Asked) else form
            return "pairs are judged by rows that are linked" if form_of(function) is not None else None
    return None
