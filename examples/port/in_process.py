"""Running a pack in this process: an `Engine`, one push a reading."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from cartesius import Engine, Update
from examples.port.slices import slice_of
from examples.port.verdict_changes import ChangeLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsl import RulePack
    from examples.port.inputs import Day


def run_in_process(
    day: Day, pack: RulePack, *, slice_minutes: int = 60, progress: Callable[[int], None] = lambda _: None
) -> ChangeLog:
    """Judge the ships of ``day`` by ``pack``.

    Args:
        day: The readings.
        pack: The rules.
        slice_minutes: How often ``progress`` is called, in minutes of event time.
        progress: Called with the number of each slice of event time when it is done.
    """
    log = ChangeLog(day)
    engine = Engine(pack.table())
    inputs = pack.sources
    for number, readings in groupby(day.readings, lambda reading: slice_of(day, reading, slice_minutes)):
        for reading in readings:
            if reading.source in inputs:
                for event in engine.push(inputs[reading.source], reading.values, at=reading.time):
                    if isinstance(event.value, Update):
                        log.add_verdict(int(event.end), event.value.value)
                    else:
                        log.drop(event.value.key)
        progress(number)
    return log
