"""A persistent queue tells what has changed since an earlier version, or that it does not know."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cartesius.data.queues import Queue


@given(st.lists(st.sampled_from(["append", "rest"]), max_size=30), st.integers(0, 30))
def test_what_was_dropped_and_appended_makes_the_one_of_the_other(steps, place):
    versions = [Queue("ab")]
    for number, step in enumerate(steps):
        queue = versions[-1]
        versions.append(queue.append(number) if step == "append" or not queue else queue.rest())
    before, now = versions[min(place, len(versions) - 1)], versions[-1]
    changed = now.since(before)
    if changed is not None:  # else it has begun a list of its own
        dropped, appended = changed
        assert [*before][: len(dropped)] == dropped
        assert [*before][len(dropped) :] + appended == [*now]
    assert changed is not None or len(steps) > 16


def test_of_another_queue_or_a_later_version_nothing_is_known():
    queue = Queue("ab")
    longer = queue.append("c")
    assert longer.since(queue) == ([], ["c"])
    assert queue.since(longer) is None
    assert Queue("ab").since(queue) is None
    assert queue.rest().append("d").since(queue.append("c")) is None
