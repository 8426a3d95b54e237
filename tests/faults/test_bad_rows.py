"""A million rows, of which one in a hundred is bad, of every kind: those land in the dead letters, the others are used.

Slow; `make test-faults` runs it.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cartesius import Reactive, correlate
from restrictions import key_by, most_recently

pytestmark = pytest.mark.slow
ROWS = 1_000_000
BAD_ONE_IN = 100
START = datetime(2024, 6, 30, tzinfo=UTC)
FAR, LONG_AGO = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)
RAISING, UNMAKEABLE = -1.0, -2.0  # depths


@attrs.frozen
class Ship:
    """What a row becomes; its maker refuses what cannot be."""

    mmsi: int
    depth: float
    note: str

    def __attrs_post_init__(self) -> None:
        if self.depth == UNMAKEABLE:
            message = f"a depth of {self.depth}"
            raise ValueError(message)


ship = Reactive("ship", type=Ship)


def judged(ship):
    if ship.depth == RAISING:
        message = "this depth cannot be judged"
        raise ArithmeticError(message)
    return {"deep": bool(ship.depth > 10)}


deep = correlate(ship=ship, yields=judged, restrict=key_by(ship="mmsi") | most_recently("ship"), name="deep")
KINDS = {
    "no time": "its event time is null",
    "far": "is absurdly late",
    "long ago": "is absurdly early",
    "no key": "its key is null, by key_by(ship='mmsi')",
    "raises": "the program raised ArithmeticError: this depth cannot be judged",
    "unmakeable": "its payload cannot be read: a depth of -2.0",
}


def table():
    """Return the rows, and what is wrong with each, or None."""
    numbers = np.arange(ROWS)
    kinds = list(KINDS)
    wrong = [kinds[n // BAD_ONE_IN % len(kinds)] if n % BAD_ONE_IN == 0 else None for n in range(ROWS)]
    at: list[datetime | None] = [START + timedelta(milliseconds=n) for n in range(ROWS)]
    mmsi: list[int | None] = list(map(int, numbers % 5_000))
    depth = (numbers % 20).astype(float).tolist()
    for n in range(0, ROWS, BAD_ONE_IN):
        match wrong[n]:
            case "no time":
                at[n] = None
            case "far":
                at[n] = FAR
            case "long ago":
                at[n] = LONG_AGO
            case "no key":
                mmsi[n] = None
            case "raises":
                depth[n] = RAISING
            case "unmakeable":
                depth[n] = UNMAKEABLE
    columns = {
        "at": pa.array(at, pa.timestamp("us", "UTC")),
        "mmsi": pa.array(mmsi, pa.int64()),
        "depth": pa.array(depth, pa.float64()),
        "note": pa.array([f"row {n} \u2603" for n in range(ROWS)]),
    }
    return pa.table(columns), wrong


def test_bad_rows_of_every_kind_are_dead_letters_and_the_others_are_used(spark, tmp_path):
    from spark_bridge import correlate_frames

    rows, wrong = table()
    pq.write_table(rows, tmp_path / "rows.parquet")
    frames = correlate_frames(
        deep,
        {"ship": spark.read.parquet(str(tmp_path / "rows.parquet"))},
        event_time="at",
        partition_by="mmsi",
        buckets=8,
        plausible=(START - timedelta(days=1), START + timedelta(days=1)),
        schema="deep boolean",
        on_error="dead_letter",
    )
    everything = frames.all.select("kind", "reason", "payload").persist()
    try:
        counts = {row["kind"]: row["count"] for row in everything.groupBy("kind").count().collect()}
        assert counts == {"result": ROWS - ROWS // BAD_ONE_IN, "dead": ROWS // BAD_ONE_IN}
        letters = everything.where("kind = 'dead'").collect()
    finally:
        everything.unpersist()
    found = Counter()
    given = rows.select(["mmsi", "depth", "note"])
    for letter in letters:
        payload = json.loads(letter.payload)
        number = int(payload["note"].split()[1])
        kind = wrong[number]
        assert kind is not None, letter
        assert KINDS[kind] in letter.reason, letter
        original = {
            name: column[0].as_py() for name, column in zip(given.column_names, given.slice(number, 1), strict=True)
        }
        assert {"mmsi": None, **payload} == original
        found[kind] += 1
    assert found == Counter(kind for kind in wrong if kind is not None)
