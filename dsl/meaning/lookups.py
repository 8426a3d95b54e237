"""Lookups: spans of predictions as closures over a situation; `evaluation` makes them of terms.

A condition that must hold throughout a span changes only where another prediction becomes valid, so it is evaluated at
the first instant of the span and at each of those. There the row of a forecast is the prediction that is valid then,
or, in a gap, a row without values; lookups at other instants still find the schedule in it.

Invariant: what holds at the instants that are looked at holds at every instant of the span, and so for what fails.

Source: DESIGN.md, section 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, final

from dsl.meaning.schedules import SCHEDULE, extended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dsl.meaning.evaluation import Situation
    from dsl.terms.terms import Declaration

    Evaluate: TypeAlias = Callable[[Situation], Any]


class Moment(NamedTuple):
    """An instant of a span, and the situation there."""

    instant: int
    situation: Situation


class Witness(NamedTuple):
    """What a condition is throughout a span, and where it first is so: nowhere, if it holds or the span is unknown."""

    truth: bool | None
    moment: Moment | None


@final
class Span:
    """A condition over a span of instants, as functions of the situation.

    Args:
        first: The first instant.
        last: The last one, included; before the first: the span is empty, and what holds throughout it is everything.
        condition: The condition, over a situation in which the rows of forecasts are predictions.
        forecasts: The forecasts that it observes, and the positions of their rows.
    """

    def __init__(
        self,
        first: Evaluate,
        last: Evaluate,
        condition: Evaluate,
        forecasts: Mapping[int, Declaration],
    ) -> None:
        self._first, self._last, self._condition = first, last, condition
        self._gaps = {slot: dict.fromkeys(name for name, _ in known.fields) for slot, known in forecasts.items()}

    @property
    def slots(self) -> tuple[int, ...]:
        """The positions of the rows of the forecasts."""
        return tuple(self._gaps)

    def holds(self, situation: Situation) -> bool | None:
        """Return whether the condition holds at every instant; None where that is unknown."""
        return self.witness(situation).truth

    def witness(self, situation: Situation) -> Witness:
        """Return that, and the first moment that shows it, if it does not hold."""
        undecided = None
        moments = self._moments(situation)
        if moments is None:
            return Witness(None, None)
        for moment in moments:
            answer = self._condition(moment.situation)
            if answer is None:
                undecided = undecided or moment
            elif not answer:
                return Witness(False, moment)
        return Witness(None if undecided else True, undecided)

    def _moments(self, situation: Situation) -> Iterator[Moment] | None:
        first, last = self._first(situation), self._last(situation)
        if first is None or last is None:
            return None
        schedules = {slot: row[SCHEDULE] for slot in self._gaps if (row := situation.rows[slot]) is not None}
        changes = {instant for schedule in schedules.values() for instant in schedule.changes(first, last)}
        instants = sorted({first, *changes}) if first <= last else []
        return (Moment(instant, self._at(situation, schedules, instant)) for instant in instants)

    def _at(self, situation: Situation, schedules: Mapping[int, Any], instant: int) -> Situation:
        rows = list(situation.rows)
        for slot, schedule in schedules.items():
            rows[slot] = extended(schedule.at(instant) or self._gaps[slot], {SCHEDULE: schedule})
        return type(situation)(rows, situation.now, situation.stale)
