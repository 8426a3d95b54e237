"""What tests of windows share: the inputs, and small programs over them."""

from __future__ import annotations

from cartesius import Engine, Reactive, correlate

left, right, level = Reactive("left"), Reactive("right"), Reactive("level")


def seen_in(restrict, *sources):
    """Each event with the window that it is seen in: (value, start, end)."""
    return correlate(x=level, yields=lambda x, window: (x, window.start, window.end), restrict=restrict)


def pairs_in(restrict):
    return correlate(x=left, y=right, yields=lambda x, y, window: (x, y, window.start), restrict=restrict)


def values(events):
    return [event.value for event in events]


def follow(output, *steps):
    """Push (input, value, at), and advance to a time; return the values of each step."""
    engine = Engine(output)
    return [values(do(engine, step)) for step in steps]


def do(engine, step):
    if isinstance(step, int):
        return engine.advance(step)
    source, value, at = step
    return engine.push(source, value, at=at)


def of(user, n, at):
    return (left, {"user": user, "n": n}, at)


NUMBERS = [(level, n, at) for n, at in ((3, 1), (5, 2), (4, 3), (2, 4), (9, 11), (8, 12))]
