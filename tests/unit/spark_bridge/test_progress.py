"""The line of a micro-batch, from what Spark reports of it; a real query is in tests/spark/test_progress.py."""

from __future__ import annotations

import pytest
from pyspark.sql.streaming.listener import QueryProgressEvent, StreamingQueryProgress

from cartesius.errors import InvalidArgument
from spark_bridge.progress import ProgressLines, progress_line

REPORT = {
    "batchId": 12,
    "batchDuration": 2500,
    "numInputRows": 10_000,
    "name": None,
    "eventTime": {"watermark": "2020-06-30T01:00:00.000Z"},
    "stateOperators": [
        {"numRowsTotal": 4, "memoryUsedBytes": 1_200_000},
        {"numRowsTotal": 1_002, "memoryUsedBytes": 300_000},
    ],
    "observedMetrics": {"cartesius": {"results": 431, "late": 1_000, "dead": 2}},
}


def test_a_line_says_what_came_what_went_and_what_is_kept():
    assert progress_line(REPORT) == (
        "micro-batch 12: 10,000 rows (4,000 a second), 431 results, 1,000 late, 2 dead; state 1,006 rows, 2 MB;"
        " watermark 2020-06-30T01:00:00.000Z; 2.50 s"
    )


def test_a_query_with_a_name_is_named_and_no_watermark_is_none_yet():
    report = {**REPORT, "name": "port", "eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}
    assert (progress_line(report) or "").startswith("port: micro-batch 12: ")
    assert "; no watermark; " in (progress_line(report) or "")
    assert "; no watermark; " in (progress_line({**REPORT, "eventTime": {}}) or "")


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1 KB"), (44_400_000, "44 MB"), (5_000_000_000_000, "5,000 GB")],
)
def test_the_size_of_the_state_is_in_units_that_fit(size, shown):
    report = {**REPORT, "stateOperators": [{"numRowsTotal": 1, "memoryUsedBytes": size}]}
    assert f"state 1 rows, {shown};" in (progress_line(report) or "")


def test_a_micro_batch_without_rows_or_time_divides_by_nothing():
    line = progress_line({**REPORT, "batchDuration": 0, "numInputRows": 0}) or ""
    assert line.startswith("micro-batch 12: 0 rows (0 a second)")


def test_queries_of_others_have_no_line():
    lines: list[str] = []
    listener = ProgressLines(lines.append)
    assert progress_line({**REPORT, "observedMetrics": {"mine": {"n": 1}}}) is None
    for metrics in ({}, REPORT["observedMetrics"]):
        progress = StreamingQueryProgress.__new__(StreamingQueryProgress)
        dict.update(progress, {**REPORT, "observedMetrics": metrics})
        listener.onQueryProgress(QueryProgressEvent(progress))
    assert lines == [progress_line(REPORT)]


def test_what_cannot_be_called_is_refused():
    with pytest.raises(InvalidArgument, match=r"expected a function of a line but got write=3 \(type=int\)"):
        ProgressLines(3)  # type: ignore[arg-type]  # that is the point
