"""What a checkpoint has noted of its query is what the next one must be."""

from __future__ import annotations

from typing import Any

from spark_bridge.checkpoints import objection

NOTE: dict[str, Any] = {
    "buckets": 3,
    "waits": True,
    "program": "p",
    "about": {"program": {}, "keys": {"ship": "mmsi"}, "inputs": {}},
}


def test_the_same_query_goes_on():
    assert objection(NOTE, NOTE, {}) == ""


def test_rows_are_spread_by_the_same_columns_for_ever():
    """Otherwise rows of a key would go to a bucket that has not its memory."""
    now = {**NOTE, "about": {**NOTE["about"], "keys": {"ship": "imo"}}}
    assert objection(NOTE, now, {}) == (
        "its rows were spread over the buckets by {'ship': 'mmsi'}, and not by {'ship': 'imo'};"
        " write partition_by={'ship': 'mmsi'}"
    )
