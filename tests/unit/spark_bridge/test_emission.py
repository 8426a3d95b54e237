"""What a bucket gives becomes rows with the columns that are asked for, and each sink gets its share of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import types as t

from cartesius import Delete, Event, Update
from cartesius.data.events import EARLIEST
from spark_bridge.columns.schemas import ResultSchema
from spark_bridge.running.queries import Share, log_warnings
from spark_bridge.transport.emission import LETTER, LETTERS, PART, Emission, Layout
from spark_bridge.transport.wire import written

ROW = t.StructType([t.StructField("n", t.LongType())])
LAYOUT = Layout(
    {"rates": ResultSchema(ROW, t.LongType()), "alarms": ResultSchema(ROW, t.StringType())},
    (t.LongType(),),
    ROW,
)


def parts_of(emission: Emission, bucket: int) -> pa.RecordBatch:
    """Return the parts as Spark hands them over."""
    found = emission.parts()
    columns = [
        [bucket] * len(found),
        [output for output, _ in found],
        [part.num_rows for _, part in found],
        [written(part) for _, part in found],
    ]
    return pa.RecordBatch.from_pydict(dict(zip(PART.names, columns, strict=True)))


def rows_of(batches, schema):
    return [row for batch in LAYOUT.rows(batches, schema) for row in batch.to_pylist()]


@pytest.fixture
def emission():
    emission = Emission(LAYOUT, frozenset())
    emission.add([Event(Update(7, {"n": 1}), 3, 4, reactive="rates"), Event(Delete(7), 5, 5, reactive="rates")])
    emission.add([Event({"n": 2}, 6, 6, reactive="alarms")])
    emission.letter("late", "gauge", "too late", 2, "{}")
    emission.letter("dead", "gauge", "no good", None, "[]")
    return emission


def test_what_has_always_been_so_has_no_start():
    emission = Emission(LAYOUT, frozenset())
    emission.add([Event({"n": n}, EARLIEST, end, reactive="alarms") for n, end in enumerate([EARLIEST, 5])])
    found = rows_of([parts_of(emission, 0)], LAYOUT.result_schema)
    microsecond = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=5)
    assert [(row["value_0"], row["start"], row["end"]) for row in found] == [(0, None, None), (1, None, microsecond)]


def test_results_and_letters_have_only_columns_of_their_own(emission):
    batch = parts_of(emission, 4)
    is_result = pa.array([output >= 0 for output in batch.column("output").to_pylist()])
    results = rows_of([batch.filter(is_result)], LAYOUT.result_schema)
    told = [(row["output"], row["change"], row["key_0"], row["value_0"]) for row in results]
    assert told == [(0, 2, 7, 1), (0, 3, 7, None), (1, 0, None, 2)]
    assert set(results[0]) == {"output", "change", "key_0", "start", "end", "value_0"}
    letters = rows_of([batch.filter(pa.array([output < 0 for output in batch.column("output").to_pylist()]))], LETTER)
    assert sorted((row["output"], row["bucket"], row["reason"]) for row in letters) == [
        (LETTERS["late"], 4, "too late"),
        (LETTERS["dead"], 4, "no good"),
    ]
    assert set(letters[0]) == set(LETTER.names)


def test_the_one_frame_has_the_columns_of_both(emission):
    rows = rows_of([parts_of(emission, 4)], LAYOUT.schema)
    assert sorted(row["output"] for row in rows) == [-2, -1, 0, 0, 1]
    assert [row["reason"] for row in rows if row["output"] >= 0] == [None] * 3
    assert [row["value_0"] for row in rows if row["output"] < 0] == [None] * 2


def test_a_part_says_how_many_rows_it_has(emission):
    batch = parts_of(emission, 0)
    assert batch.column("rows").to_pylist() == [2, 1, 1, 1]


def test_one_output_that_is_no_table_needs_neither_its_name_nor_a_key():
    layout = attrs.evolve(LAYOUT, schemas={"alarms": LAYOUT.schemas["alarms"]}, keys=())
    assert layout.result_schema.names == ["change", "start", "end", "value_0"]


@attrs.frozen
class Parts:
    """Stands for the frame of the parts of a micro-batch."""

    most: int | None = None

    def limit(self, most: int) -> Parts:
        return Parts(most)


PARTS: Any = Parts()


@pytest.mark.parametrize("there", [{"dead"}, {"result"}, set()])
def test_a_sink_of_the_callers_gets_every_micro_batch_and_a_log_only_what_there_is(there):
    found: list[Any] = []
    share = Share(lambda rows, number: found.append((rows, number)), ("dead", "late"), lambda parts: parts)
    share.hand_over(PARTS, there, 5)
    assert found == [(Parts(None if "dead" in there else 0), 5)]


def test_nothing_is_computed_for_a_log_without_rows():
    def view(_):
        pytest.fail("it was asked for rows")

    Share(None, ("dead",), view).hand_over(PARTS, {"result"}, 1)
    Share(log_warnings, ("warning",), view).hand_over(PARTS, set(), 1)
