"""A release that fails holds its events again, and they are as before: what is held has not been in memory."""

import pytest

from cartesius import Engine, Reactive, correlate
from restrictions import aligning, most_recently

LEFT, RIGHT = Reactive("left"), Reactive("right")


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
def test_a_release_that_failed_once_leaves_the_memory_in_order(tier):
    output = correlate(
        x=LEFT, y=RIGHT, where=lambda x, y: x <= y, yields=lambda x, y: (x, y),
        restrict=most_recently("x", "y") | aligning("x", "y"),
    )  # fmt: skip
    engine = Engine(output, tier=tier)
    engine.push(LEFT, "a")
    with pytest.raises(TypeError):
        engine.push(RIGHT, 1)
    engine.push(LEFT, "c")  # from now on events are pushed directly again
    assert [event.value for event in engine.push(RIGHT, "b")] == [("a", "b")]
    engine._check_invariants()
    assert [event.value for event in engine.push(RIGHT, "d")] == [("c", "d")]
    assert engine.stats.retained == 2
