"""The reader's half of the Kafka sink, and what names no place; the rest is tested with Spark and at real brokers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius.errors import InvalidArgument
from spark_bridge.sinks import Repeats, to_kafka, to_parquet


def headers(batch, number, query=b"q"):
    return [("query", query), ("batch", str(batch).encode()), ("id", f"{batch}-{number}".encode()), ("other", b"")]


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=5), st.data())
def test_whatever_a_crash_repeats_a_reader_has_each_record_once_and_in_order(batches, data):
    """A micro-batch is written in part, any number of times, and then as a whole; each partition is on its own."""
    repeats, whole, got = Repeats(), [], []
    for batch, keys in enumerate(batches):
        records = [(key % 2, str(key).encode(), headers(batch, keys[:n].count(key))) for n, key in enumerate(keys)]
        whole += records
        for length in [*data.draw(st.lists(st.integers(0, len(records)), max_size=3)), len(records)]:
            got += [record for record in records[:length] if not repeats.is_repeat(*record)]
    for partition in (0, 1):
        assert [r for r in got if r[0] == partition] == [r for r in whole if r[0] == partition]


def test_a_task_that_was_given_up_may_still_write_records_of_an_earlier_micro_batch():
    repeats = Repeats()
    assert [repeats.is_repeat(0, b"k", headers(batch, 0)) for batch in (6, 7, 6, 7, 8)] == [
        False,
        False,
        True,
        True,
        False,
    ]


def test_each_query_has_numbers_of_its_own():
    """One that is begun anew, and a second one that writes to the topic: their records were dropped as repeats."""
    repeats = Repeats()
    sent = [(query, batch) for query in (b"old", b"new") for batch in range(3)] + [
        (b"old", 3),
        (b"old", 3),
        (b"new", 2),
    ]
    got = [each for each in sent if not repeats.is_repeat(0, b"k", headers(each[1], 1, each[0]))]
    assert got == sent[:7]


def test_records_of_others_are_refused():
    with pytest.raises(InvalidArgument, match=r"expected the headers query, batch and id but got \['trace'\]"):
        Repeats().is_repeat(0, b"k", [("trace", b"1")])


@pytest.mark.parametrize(
    ("make", "arguments", "said"),
    [
        (to_parquet, (3,), "to_parquet: expected a text for path= but got 3"),
        (to_parquet, ("",), "to_parquet: expected a text for path= but got ''"),
        (to_kafka, (3, "topic"), "to_kafka: expected a text for servers= but got 3"),
        (to_kafka, ("localhost:9092", None), "to_kafka: expected a text for topic= but got None"),
    ],
)
def test_what_names_no_place_is_refused_when_the_sink_is_made(make, arguments, said):
    with pytest.raises(InvalidArgument, match=f"^{re.escape(said)}$"):
        make(*arguments)


def test_sinks_of_one_folder_are_equal():
    assert to_parquet(Path("out/dead")) == to_parquet("out/dead/") != to_parquet("out/results")
