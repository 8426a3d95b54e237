"""Times at the ends of 64 bits and beyond them: as from push, whose ints have no end."""

from __future__ import annotations

import pytest

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import affinely, combine_latest, most_recently, sliding, within, zip_
from restrictions.tables import aggregate, sum_

A, B = Reactive("a"), Reactive("b")
MOST = 2**63 - 1

OUTPUTS = {
    "latest": combine_latest(A, B),
    "zip": zip_(A, B),
    "band": correlate(a=A, b=B, yields=lambda a, b: (a, b), restrict=within(5, "a", "b")),
    "consumption": correlate(a=A, b=B, yields=lambda a, b: (a, b), restrict=affinely("a", "b")),
    "times": correlate(
        a=A, b=B, yields=lambda time_a, time_b: time_a.end - time_b.start, restrict=most_recently("a", "b")
    ),
    "windows": aggregate(correlate(a=A, b=B, yields=lambda a, b: a, restrict=most_recently("a", "b")), sum_,
                         restrict=sliding(6, 2)),
}  # fmt: skip


def columns(rows):
    found = {}
    for order, (reactive, value, at) in enumerate(rows):
        batch = found.setdefault(reactive, {"value": [], "order": []})
        batch["value"].append(value)
        batch["order"].append(order)
        if at is not None:
            batch.setdefault("at", []).append(at)
    return found


def told(output, before, batches, lateness, *, as_columns):
    engine = Engine(output, lateness=lateness, tier=None if as_columns else "reference")
    before(engine)
    found = []
    for rows in batches:
        if as_columns:
            found += events_of(engine.push_many(columns(rows)))
        else:
            found += [event for row in rows for event in engine.push(*row)]
    return [repr(event) for event in found], engine.stats, engine.clock, engine.late


BEFORE = {
    "nothing": lambda engine: None,
    "an event at the end": lambda engine: engine.push(A, 0, MOST),
    "an event beyond the end": lambda engine: engine.push(A, 0, 2**70),
    "an event before the beginning": lambda engine: engine.push(A, 0, -(2**70)),
    "the clock beyond the end": lambda engine: engine.advance(2**70),
    "the clock before the beginning": lambda engine: engine.advance(-(2**70)),
}
UNTIMED = [(A, 1, None), (B, 2, None), (A, 3, None), (B, 4, None)]
ENDS = [(A, 1, -(2**63)), (B, 2, MOST), (A, 3, MOST), (B, 4, -(2**63)), (A, 5, 0)]


@pytest.mark.parametrize("lateness", [None, 5, MOST, 2**70])
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("output", OUTPUTS)
def test_times_at_the_ends_of_64_bits_are_exact(output, before, lateness):
    for batches in ([UNTIMED, UNTIMED], [ENDS, UNTIMED], [UNTIMED, ENDS]):
        given = (OUTPUTS[output], BEFORE[before], batches, lateness)
        assert told(*given, as_columns=True) == told(*given, as_columns=False), batches
