"""Schedules: the predictions of one key of a forecast, and which of them is valid when.

A prediction is a row with the instant at which it was `issued` and its validity, from `start` until just before `end`.
What identifies it is the key, the issue and the start. Of several that are valid at an instant the newest issue counts,
and of one issue the later start. A schedule is one immutable row, so that a forecast takes one slot in a
correlation, and a lookup is a bisection at the time of judging.

Predictions come as a stream of mappings; ``Delete((key, issued, start))`` withdraws one (of a source without a key
``Delete((issued, start))``). What ended longer ago than the source's `retention`, by the clock, is forgotten.

Invariant: the predictions of a schedule are in the order of (start, issued), and each is valid at some instant.

Source: DESIGN.md, section 6; R. T. Snodgrass, Developing Time-Oriented Database Applications in SQL, 1999 (validity).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import datetime
from functools import cached_property
from heapq import heappop, heappush
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, final

import attrs

from cartesius import Delete, storable
from cartesius.data.records import Record
from cartesius.errors import InvalidArgument
from cartesius.expressions.phases import Collected
from dsl.terms.instants import instant_of
from restrictions.gates.life_stages import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius.data.events import Time
    from dsl.terms.terms import Declaration

SCHEDULE: Final = "@schedule"
"""Where a row of a forecast has its schedule; no field can be called so."""
START: Final = "start"
VALIDITY: Final = ("issued", START, "end")
"""The fields that each prediction has, all of them instants."""


@final
@storable
@attrs.frozen(slots=False)
class Schedule:
    """Predictions, and which is valid when.

    >>> first = Record({"issued": 0, "start": 0, "end": 20, "height": 1.0})
    >>> newer = Record({"issued": 5, "start": 10, "end": 15, "height": 2.0})
    >>> schedule = Schedule.of([first, newer])
    >>> [schedule.at(instant) and schedule.at(instant).height for instant in (9, 10, 14, 15, 20)]
    [1.0, 2.0, 2.0, 1.0, None]
    """

    predictions: tuple[Record, ...]

    @classmethod
    def of(cls, predictions: Iterable[Record]) -> Schedule:
        """Return the schedule of predictions as they came; of those of one issue and start the last counts."""
        latest = {_place(prediction): prediction for prediction in predictions}
        return cls(tuple(latest[place] for place in sorted(latest)))

    def including(self, prediction: Record) -> Schedule:
        """Return the schedule with one more prediction, which replaces one of its issue and start."""
        rest = self.excluding(prediction.issued, prediction.start).predictions
        place = bisect_left(rest, _place(prediction), key=_place)
        return Schedule((*rest[:place], prediction, *rest[place:]))

    def excluding(self, issued: object, start: object) -> Schedule:
        """Return the schedule without the prediction of that issue and start, if there is one."""
        place = bisect_left(self.predictions, (start, issued), key=_place)
        if place == len(self.predictions) or _place(self.predictions[place]) != (start, issued):
            return self
        return Schedule(self.predictions[:place] + self.predictions[place + 1 :])

    def after(self, time: Time) -> Schedule:
        """Return the schedule of what ends after ``time``."""
        left = tuple(prediction for prediction in self.predictions if prediction.end > time)
        return self if len(left) == len(self.predictions) else Schedule(left)

    def at(self, instant: int) -> Record | None:
        """Return the prediction that is valid at ``instant``, or None."""
        times, valid = self.segments
        place = bisect_right(times, instant) - 1
        return valid[place] if place >= 0 else None

    @property
    def bounds(self) -> list[int]:
        """The instants at which another prediction becomes valid, or none, in order."""
        return self.segments[0]

    def changes(self, first: int, last: int) -> list[int]:
        """Return the instants after ``first``, up to ``last``, at which another prediction becomes valid, or none."""
        times, _ = self.segments
        return times[bisect_right(times, first) : bisect_right(times, last)]

    @cached_property
    def segments(self) -> tuple[list[int], list[Record | None]]:
        """From which instant on which prediction is valid."""
        times: list[int] = []
        valid: list[Record | None] = []
        open_: list[tuple[int, int, int, int]] = []  # those that have begun, the one that counts first
        waiting = 0
        for instant in sorted({bound for each in self.predictions for bound in (each.start, each.end)}):
            while waiting < len(self.predictions) and self.predictions[waiting].start <= instant:
                begun = self.predictions[waiting]
                heappush(open_, (-begun.issued, -begun.start, begun.end, waiting))
                waiting += 1
            while open_ and open_[0][2] <= instant:
                heappop(open_)
            now = self.predictions[open_[0][3]] if open_ else None
            if not valid or now is not valid[-1]:
                times.append(instant)
                valid.append(now)
        return times, valid


def _instant(value: object) -> int | None:
    if isinstance(value, datetime):
        return instant_of(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _place(prediction: Record) -> tuple[int, int]:
    return prediction.start, prediction.issued


@final
@attrs.frozen
class Forecasting:
    """What becomes of the predictions of a forecast: a life, for `life_stages.collating`.

    >>> from dsl import Source
    >>> from dsl.declarations.sources import declaration
    >>> tide = declaration(Source("tide", key="sensor", sensor=str, height=float, forecast=True))
    >>> row = Record({"sensor": "N", "issued": 0, "start": 0, "end": 9, "height": 1.0})
    >>> stage = Forecasting(tide).come(None, row, 0, 0)
    >>> stage.value[SCHEDULE].at(4).height, stage.until == 9 + tide.retention
    (1.0, True)
    """

    source: Declaration

    def key(self, value: Any) -> Any:
        """Return the key of the schedule that a prediction, or a withdrawal of one, belongs to."""
        if self.source.key is None:
            return ()
        return value.key[0] if isinstance(value, Delete) else value[self.source.key]

    def objection(self, value: Any) -> str | None:
        """Return why a value is no prediction; None if it is one.

        Raises:
            InvalidArgument: It lacks a declared field.
        """
        if isinstance(value, Delete):
            parts = len(VALIDITY) - 1 + (self.source.key is not None)
            is_identity = isinstance(value.key, tuple) and len(value.key) == parts
            return None if is_identity else f"it withdraws {value.key!r}, which is no (key, issued, start)"
        for field, _ in self.source.fields:
            if field not in value and field not in self.source.optional:
                message = f"{self.source.name}: expected a prediction with all declared fields but it has no {field!r}"
                raise InvalidArgument(message)
        bounds = [_instant(value[name]) for name in VALIDITY]
        if None in bounds:
            return f"its {VALIDITY[bounds.index(None)]!r} is no instant"
        if self.source.key is not None and value[self.source.key] is None:
            return "its key is null"
        return "it ends before it starts" if bounds[1] >= bounds[2] else None  # type: ignore[operator]  # no None

    def come(self, before: Any, value: Any, time: Time, now: Time) -> Stage | None:
        """Return the schedule with what has come."""
        schedule = Schedule(()) if before is None else before[SCHEDULE]
        if isinstance(value, Delete):
            issued, start = value.key[-2:]
            return self._stage(self.key(value), schedule.excluding(_instant(issued), _instant(start)), now)
        return self._stage(self.key(value), schedule.including(normal(value)), now)

    def go_on(self, keeps: Any, time: Time, now: int) -> Stage | None:
        """Return the schedule without what is over."""
        return self._stage(None if self.source.key is None else keeps[self.source.key], keeps[SCHEDULE], now)

    def in_columns(self) -> Collected:
        """Say what is collected: schedules, by key."""
        return Collected(self.source.key)

    def _stage(self, key: Any, schedule: Schedule, now: Time) -> Stage | None:
        left = schedule.after(now - self.source.retention) if isfinite(now) else schedule
        if not left.predictions:
            return None
        until = min(prediction.end for prediction in left.predictions) + self.source.retention
        return Stage(scheduled(self.source, key, left), None, until)


def normal(prediction: Mapping[str, Any]) -> Record:
    """Return a prediction with whole numbers for its instants."""
    return Record(extended(prediction, {name: _instant(prediction[name]) for name in VALIDITY}))


def scheduled(source: Declaration, key: Any, schedule: Schedule) -> Record:
    """Return the row of a forecast: its key, and its schedule."""
    return Record({SCHEDULE: schedule} if source.key is None else {source.key: key, SCHEDULE: schedule})


def extended(row: Mapping[str, Any] | Record, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``row``, with those given beside or instead of them.

    >>> extended({"keys": 3, "eta": 5}, {"eta": 6})
    {'keys': 3, 'eta': 6}
    """
    found = {name: row[name] for name in row}  # not `**row`, as a record may have a field called keys
    found.update(fields)
    return found
