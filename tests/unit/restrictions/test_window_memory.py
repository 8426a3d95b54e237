"""What windows hold: no more than the events of those that are not freed, at every step, and no garbage over time.

The bound is computed from scratch, from the whole trace and the clock.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections import deque

import pytest

from cartesius import Engine, Reactive, correlate
from restrictions import key_by, most_recently, session, sliding, tumbling
from restrictions.windows import accumulated, first, on_close

EACH = 10  # events a window, in tumbling(100)
SIZE, PERIOD = 100, 50

left, right = Reactive("left"), Reactive("right")


def pairs(restrict):
    return correlate(x=left, y=right, where=lambda x, y: x == y, yields=lambda x, y: x, restrict=restrict)


class Contents:
    """How many events the windows contain that are not freed: each event once for each of its windows."""

    def __init__(self, size, period, lateness):
        self.size, self.period, self.lateness = size, period, lateness
        self.ends = deque()  # (end of a window, 1) of every delivery, in order

    def add(self, time):
        first_start = (time - self.size) // self.period + 1
        for start in range(first_start * self.period, time + 1, self.period):
            if start <= time < start + self.size:
                self.ends.append(start + self.size)

    def at(self, clock):
        self.ends = deque(end for end in self.ends if end + self.lateness > clock)
        return len(self.ends)


def steps_of(count):
    """Events of both inputs, every 10 time units, ten a window; each meets one of the other."""
    for n in range(count):
        yield (left, right)[n % 2], n // 2, n * SIZE // EACH


@pytest.mark.parametrize(
    ("restrict", "period", "lateness"),
    [
        (tumbling(SIZE), SIZE, 0),
        (tumbling(SIZE, report=on_close), SIZE, 0),
        (tumbling(SIZE, lateness=70), SIZE, 70),
        (tumbling(SIZE, lateness=70, report=on_close), SIZE, 70),
        (tumbling(SIZE, tick=4), SIZE, 0),
        (tumbling(SIZE, content=first(2)), SIZE, 0),
        (tumbling(SIZE) | most_recently("x", "y"), SIZE, 0),
        (key_by(x=lambda x: x, y=lambda y: y) | tumbling(SIZE), SIZE, 0),
        (sliding(SIZE, PERIOD), PERIOD, 0),
        (sliding(SIZE, PERIOD, report=on_close, lateness=30), PERIOD, 30),
    ],
    ids=repr,
)
def test_at_every_step_no_more_is_held_than_the_windows_contain_that_are_not_freed(restrict, period, lateness):
    engine, contents = Engine(pairs(restrict)), Contents(SIZE, period, lateness)
    for source, value, time in steps_of(500):
        engine.advance(time)
        engine.push(source, value, at=time)
        contents.add(time)
        assert engine.stats.retained + engine.stats.waiting <= 1.1 * contents.at(time)
    engine.advance(time + 10 * SIZE)
    assert engine.stats.retained + engine.stats.waiting == contents.at(time + 10 * SIZE) == 0


@pytest.mark.parametrize("lateness", [0, 70])
def test_a_session_holds_its_events_once(lateness):
    engine, held, time = Engine(pairs(session(25, lateness=lateness))), [], 0
    for n in range(400):
        time += 100 if n % 8 == 0 else 10
        for clock in (time - 60, time - 3, time):
            engine.advance(clock)
            ends = {group: max(at for at, of in held if of == group) + 25 for _, group in held}
            held = [(at, group) for at, group in held if ends[group] + lateness > clock]
            assert engine.stats.retained + engine.stats.waiting <= 1.1 * len(held)
        engine.push((left, right)[n % 2], n, at=time)
        held.append((time, n // 8))


def test_what_is_accumulated_is_one_value_a_slot_and_window():
    restrict = tumbling(SIZE, content=accumulated(0, lambda total, n: total + n))
    engine = Engine(correlate(x=left, yields=lambda x: x, restrict=restrict))
    for _, value, time in steps_of(500):
        engine.advance(time)
        engine.push(left, value, at=time)
        assert engine.stats.retained + engine.stats.waiting == 1


def held_at(restrict, count):
    """Bytes that are held at eight places of a trace, each at the same place in its window."""
    engine, held = Engine(pairs(restrict)), []
    tracemalloc.start()  # from the start: what is let go of has to count as well
    try:
        for n, (source, value, time) in enumerate(steps_of(count), start=1):
            engine.advance(time)
            engine.push(source, value, at=time)
            if n % (count // 8) == 0:
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
        return held
    finally:
        tracemalloc.stop()


BOUNDED = [
    tumbling(20 * SIZE),
    sliding(20 * SIZE, 10 * SIZE) | most_recently("x"),
]


def assert_does_not_grow(held):
    """Dicts grow and shrink by leaps, so a leak is what even the least of the second half has over the first half."""
    assert min(held[4:]) <= 1.1 * max(held[:4]), held


@pytest.mark.parametrize("restrict", BOUNDED, ids=repr)
def test_memory_does_not_grow_with_the_windows_that_there_have_been(restrict):
    assert_does_not_grow(held_at(restrict, 1_600))


@pytest.mark.slow
@pytest.mark.parametrize("restrict", BOUNDED[:1], ids=repr)
def test_memory_does_not_grow_over_a_million_events(restrict):
    assert_does_not_grow(held_at(restrict, 1_000_000))
