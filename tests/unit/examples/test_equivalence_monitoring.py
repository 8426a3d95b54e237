"""The example that watches a running query: its second implementation, and what is printed.

The whole run is in tests/spark/test_equivalence.py.
"""

from __future__ import annotations

from cartesius.records import Record
from cartesius.testing import Monitor, same_key
from examples.equivalence import monitoring

ROWS = monitoring.drawn(1_200, 4)
BATCHES = [ROWS[start : start + 400] for start in range(0, 1_200, 400)]


def by_hand(rows):
    """The latest of the one side with the latest of the other, for each key, as plain code."""
    latest = {}
    for side, k, n in rows:
        latest[side, k] = n
        if all((name, k) in latest for name in monitoring.SIDES):
            yield {"k": k, "l": latest["left", k], "r": latest["right", k]}


def watched(*, mistake):
    monitor = Monitor(same_key("k"), monitoring.SAME_PAIR)
    until = 1_200 - 100  # what is within a second, a hundred rows, of the last one is held back
    monitor.take(1, map(Record, by_hand(ROWS[:until])))  # as rows of a frame come
    monitoring.run_second(BATCHES, monitor, mistake=mistake)
    return monitor


def test_the_second_implementation_does_what_it_says():
    assert watched(mistake=False).finish()
    answer = watched(mistake=True).finish()
    assert not answer
    assert 0 in (answer.item["l"], answer.item["r"])


def test_a_line_is_printed_for_each_batch(capsys):
    progress = [{"batchDuration": 2_000, "numInputRows": 400}] * 3
    monitoring.show(watched(mistake=False), progress, progress)
    lines = capsys.readouterr().out.splitlines()
    assert sum("│" in line for line in lines) == 4
    assert lines[-3:] == [
        "alone: 2.00 s a micro-batch, 200 rows/s",
        "watched: 2.00 s a micro-batch, 200 rows/s",
        "the streams are equivalent",
    ]
