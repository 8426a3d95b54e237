"""A monitor says when two running programs differ, what it keeps meanwhile, and what that costs."""

from __future__ import annotations

import gc
import random
import threading
import weakref

import pytest

from cartesius import Engine, Event, Reactive, Update, correlate
from cartesius.data.records import Record
from cartesius.errors import InvalidArgument
from cartesius.testing import Monitor, all_depend, none_depend
from restrictions import key_by, most_recently


def test_each_batch_has_a_sample_of_what_is_unmatched_what_it_takes_and_how_long():
    monitor = Monitor(none_depend())
    assert monitor.take(1, "abc")
    assert monitor.take(2, iter("cx"))
    assert monitor.take(2, [])
    assert [(s.stream, s.items, s.unmatched) for s in monitor.samples] == [
        (1, 3, (3, 0)),
        (2, 2, (2, 1)),
        (2, 0, (2, 1)),
    ]
    assert [s.at for s in monitor.samples] == sorted(s.at for s in monitor.samples)
    assert all(s.seconds >= 0 for s in monitor.samples)
    assert monitor.unmatched == (2, 1)
    assert monitor.answer  # so far
    assert monitor.finish().reason == "item 0 of stream 1 ('a') has no equal left in stream 2"
    assert monitor.take(2, "ab")
    assert monitor.take(1, "x")
    assert monitor.finish()


@pytest.mark.parametrize("wrap", [str, lambda text: Event({"a": text}, 1, 1), lambda text: Record({"a": [text]})])
def test_the_size_is_that_of_what_is_unmatched(wrap):
    items = [wrap(f"{number:01000}") for number in range(300)]
    monitor = Monitor(none_depend())
    for batch in (items[:10], items[10:]):
        monitor.take(1, batch)
    monitor.take(2, items)
    few, many, none = (sample.size for sample in monitor.samples)
    assert 10 * 1_000 < few < 10 * 3_000
    assert 29 * few < many < 31 * few
    assert none == 0


def test_a_difference_is_told_once_and_then_nothing_is_kept():
    told = []
    monitor = Monitor(all_depend(), on_difference=told.append)
    monitor.take(1, "abc")
    assert told == []
    answer = monitor.take(2, "acb")
    assert answer.reason == "item 1 of stream 2 ('c') depends on item 1 of stream 1 ('b'), which has no equal before it"
    assert monitor.unmatched == (2, 0)
    assert monitor.take(1, ["d"] * 10) is monitor.answer is monitor.finish() is answer
    assert told == [answer]
    assert len(monitor.samples) == 2


def test_after_a_difference_the_items_are_let_go():
    class Item:
        pass

    kept, other = Item(), Item()
    gone = weakref.ref(kept)
    monitor = Monitor(all_depend())
    monitor.take(1, [Item(), kept])
    del kept
    gc.collect()
    assert gone() is not None
    monitor.take(2, [other])
    gc.collect()
    assert gone() is None


def test_it_gives_up_when_one_stream_is_too_far_behind():
    told = []
    monitor = Monitor(none_depend(), limit=3, on_difference=told.append)
    assert monitor.take(1, range(3))
    answer = monitor.take(1, [3, 4])
    assert told == [answer]
    assert (answer.stream, answer.index, answer.item) == (1, 0, 0)
    assert answer.reason == (
        "item 0 of stream 1 (0) and 4 after it have no equal yet; monitoring has been given up, as stream 2 is that far"
        " behind"
    )
    assert monitor.finish() is answer


def test_a_relation_that_raises_ends_the_watching_and_not_what_is_watched():
    told = []
    monitor = Monitor(lambda a, b: a["k"] == b["k"], on_difference=told.append)
    assert monitor.take(1, [{"k": 1}, {"k": 2}])
    answer = monitor.take(2, [{"k": 2}, {"key": 1}])
    assert told == [answer]
    assert answer.reason == (
        "item 1 of stream 2 ({'key': 1}) could not be compared: KeyError: 'k'; monitoring has been given up"
    )
    assert monitor.take(1, [{"k": 3}]) is answer

    def broken():
        yield {"k": 1}
        message = "the source is gone"
        raise ConnectionError(message)

    with pytest.raises(ConnectionError):  # it is the caller's
        Monitor().take(1, broken())


def test_what_is_looked_at_is_the_batch_and_not_the_way_there():
    monitor = Monitor(none_depend(), limit=3)
    monitor.take(1, range(3))
    assert monitor.take(2, range(6))  # three are left of it
    assert not monitor.take(2, [9])


def test_only_the_newest_samples_are_kept():
    monitor = Monitor(samples=2)
    for count in range(4):
        monitor.take(1, range(count))
    assert [sample.items for sample in monitor.samples] == [2, 3]


def test_two_threads_may_hand_over_at_once():
    monitor = Monitor(all_depend(), limit=10**6)

    def hand_over(stream, size):
        for start in range(0, 600, size):
            monitor.take(stream, range(start, start + size))

    threads = [threading.Thread(target=hand_over, args=(stream, 5 * stream)) for stream in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert monitor.finish()
    assert [sum(s.items for s in monitor.samples if s.stream == stream) for stream in (1, 2)] == [600, 600]


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 1.5}, {"samples": 0}])
def test_what_is_no_count_is_refused(wrong):
    with pytest.raises(InvalidArgument, match=f"Monitor: expected {next(iter(wrong))}, an int >= 1, but got"):
        Monitor(**wrong)
    with pytest.raises(InvalidArgument, match="expected stream 1 or 2"):
        Monitor().take(3, "a")


def test_an_engine_is_watched_against_a_second_implementation():
    """A keyed latest join against plain dicts, a batch of each in turn; then one with a mistake."""
    left, right = Reactive("left"), Reactive("right")
    latest = correlate(
        left=left,
        right=right,
        yields=lambda left, right: (left.k, left.n, right.n),
        restrict=key_by(left="k", right="k") | most_recently("left", "right"),
    )

    def by_hand(rows, forgets):
        seen = {}
        for side, row in rows:
            if not (forgets and row["n"] == 77):
                seen[side, row["k"]] = row["n"]
            both = [seen.get((name, row["k"])) for name in ("left", "right")]
            if None not in both:
                yield row["k"], *both

    draw = random.Random(1)
    rows = [(draw.choice(["left", "right"]), {"k": draw.randrange(3), "n": number}) for number in range(100)]
    for forgets in (False, True):
        engine, monitor = Engine(latest), Monitor(lambda a, b: a[0] == b[0])
        second = list(by_hand(rows, forgets))
        for start in range(0, 100, 10):
            pushed = rows[start : start + 10]
            batch = [event.value for side, row in pushed for event in engine.push(engine.inputs[side], row)]
            monitor.take(1, batch)
            monitor.take(2, second[: len(batch)])
            second = second[len(batch) :]
        assert bool(monitor.finish()) is not forgets
        if forgets:
            assert "(1, 70, 77)" in monitor.answer.reason


def test_changes_of_a_table_are_watched_by_row():
    monitor = Monitor()
    monitor.take(1, [Update("E", 1), Update("F", 1), Update("E", 2)])
    assert monitor.take(2, [Update("F", 1), Update("E", 1)])
    assert not monitor.take(2, [Update("E", 3)])
