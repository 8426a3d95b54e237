"""The example that watches a running query: its second implementation, and what is printed.

The whole run is in tests/spark/test_equivalence.py.
"""

from __future__ import annotations

import subprocess
import sys

from click.testing import CliRunner
from matplotlib.image import imread

from cartesius.data.records import Record
from cartesius.testing import Monitor, same_key
from examples.equivalence import monitoring
from examples.equivalence.picture import draw_watching

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
    slower = [{**each, "batchDuration": 2_200} for each in progress]
    monitoring.show(watched(mistake=False), [progress, progress], [slower, progress])
    lines = capsys.readouterr().out.splitlines()
    assert sum("│" in line for line in lines) == 4
    assert lines[-5:-2] == [
        "alone: 2.00 s a micro-batch, 200 rows/s",
        "watched: 2.10 s a micro-batch, 190 rows/s",
        "watched takes, of the time alone, pair by pair: 1.10, 1.00",
    ]
    assert lines[-2].startswith("matching takes 0.")
    assert lines[-1] == "the streams are equivalent"


def test_what_a_monitor_had_is_drawn_over_time(tmp_path):
    progress = [{"batchDuration": 2_000, "numInputRows": 400}] * 3
    monitor = watched(mistake=False)
    draw_watching(monitor.samples, [progress], [progress, progress], tmp_path / "drawn.png")
    axes = imread(tmp_path / "drawn.png")
    assert axes.shape[:2] == (704, 1_100)
    assert len({tuple(pixel) for row in axes[::8] for pixel in row[::8]}) > 3  # it is not blank


def test_where_no_picture_can_be_written_that_is_said_before_anything_runs(tmp_path):
    result = CliRunner().invoke(monitoring.main, ["--picture", str(tmp_path / "none" / "drawn.png")])
    assert result.exit_code == 1
    assert result.output.startswith("Error: cannot write to")


def test_the_bridge_does_not_need_what_draws():
    code = "import sys, spark_bridge.testing; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
