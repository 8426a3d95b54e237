"""What a batch gives of a key does not depend on how many other keys are in it: more than 16 bits can number, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import affinely, aligning, at_most, in_sequence, key_by, most_recently, within
from restrictions.tables import inner_join
from restrictions.windows import on_close, tumbling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

A, B = Reactive("a"), Reactive("b")
LEFT, RIGHT = Reactive("left", table=True), Reactive("right", table=True)
KEYS = 66_000
SOME = range(7, KEYS, 1_301)
"""The keys under which something meets."""
STACKS: dict[str, Callable[[], Any]] = {
    "sequence, any": lambda: in_sequence("x", "y", contiguity="any") | within(9, "x", "y"),
    "sequence, relaxed": lambda: in_sequence("x", "y", contiguity="relaxed") | within(9, "x", "y"),
    "sequence, strict": lambda: in_sequence("x", "y", contiguity="strict") | within(9, "x", "y"),
    "near": lambda: within(6, "x", "y"),
    "latest": lambda: most_recently("x", "y"),
    "latest, near": lambda: most_recently("x", "y") | within(6, "x", "y"),
    "used once": lambda: affinely("x", "y"),
    "used twice, in windows": lambda: tumbling(8) | at_most(2, "x", "y"),
    "in lock-step": lambda: aligning("x", "y") | most_recently("x", "y"),
    "in windows": lambda: tumbling(8),
    "in windows that wait": lambda: tumbling(8, report=on_close),
}


def columns(keys: Sequence[int], at: int) -> dict[str, list[int]]:
    order = range(at * KEYS, at * KEYS + len(keys))
    return {"id": [*keys], "v": [key + at for key in keys], "at": [at] * len(keys), "order": [*order]}


def exactly(events: Any) -> list[str]:
    return sorted(map(repr, events))


@pytest.mark.parametrize("name", STACKS)
def test_what_meets_under_a_key_meets_whatever_comes_under_others(name):
    def near() -> Reactive:
        stack = key_by(x="id", y="id") | STACKS[name]()
        return correlate(x=A, y=B, yields=lambda x, y: (x.id, x.v, y.v), restrict=stack)

    many, alone = Engine(near(), lateness=2), Engine(near(), lateness=2, tier="in_place")
    batches = (
        {A: columns(range(KEYS), 1), B: columns(SOME, 2)},
        {B: columns(SOME, 3), A: columns(SOME, 4)},
        {A: columns(SOME, 30)},  # so windows are over
    )
    found = [event for batch in batches for event in events_of(many.push_many(batch))]
    assert many._why_row_by_row == ""
    expected = []
    for source, at in ((A, 1), (B, 2), (B, 3), (A, 4), (A, 30)):
        for key in SOME:
            expected += alone.push(source, {"id": key, "v": key + at}, at=at)
    assert exactly(found) == exactly(expected)
    assert len(found) >= len(SOME)


def test_rows_of_tables_meet_likewise():
    engine = Engine(inner_join(LEFT, RIGHT))
    engine.push_many({LEFT: {"key": [*range(KEYS)], "value": [*range(KEYS)]}})
    found = events_of(engine.push_many({RIGHT: {"key": [*SOME], "value": [0] * len(SOME)}}))
    assert [event.value.key for event in found] == [*SOME]
