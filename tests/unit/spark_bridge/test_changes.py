"""Programs that change while a query runs: what is refused before it runs, and what a change meets in a bucket."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import types as t

from cartesius import CartesiusError, Reactive, correlate
from cartesius.errors import InvalidArgument, SnapshotMismatch
from restrictions import as_table, retracting
from spark_bridge import LiveProgram
from spark_bridge.state.checkpoints import objection
from spark_bridge.transport.packing import BEFORE_ALL
from tests.laws.spark_model import Frame, MicroBatches, Row, plan_of, planned

AT, TEXT = t.StructField("at", t.TimestampType()), t.StructField("text", t.StringType())
SHIPS = {"ship": t.StructType([AT, t.StructField("mmsi", t.LongType()), t.StructField("draught", t.DoubleType())])}
CHANGES = Frame(t.StructType([AT, TEXT]))
MICROSECONDS = 1_600_000_000_000_000


def deep(text, first):
    """Ships deeper than a number; with a word before it, something else of them."""
    what, _, least = text.rpartition(" ")
    ship = Reactive("ship", table=True, key="mmsi")
    by = float(least)
    yields = {
        "": lambda ship: {"draught": ship.draught},
        "inverse": lambda ship: {"draught": 1 / (ship.draught - by)},
        "named": lambda ship: {"draft": ship.draught},
        "wide": lambda ship: {"draught": ship.mmsi},
        "unknown": lambda ship: {"draught": ship.draft},
        "other": lambda ship: {"draught": ship.draught},
    }[what]
    where, name = lambda ship: ship.draught >= by, "other" if what == "other" else "deep"
    return [correlate(ship=ship, where=where, yields=yields, restrict=retracting() | as_table("ship"), name=name)]


def plan(text="5"):
    live = LiveProgram(text, deep)
    return planned(live, SHIPS, is_streaming=True, buckets=2, order="arrival", changes=CHANGES)


class Query:
    def __init__(self):
        self.model = MicroBatches(plan(), random.Random(1))
        self.at = MICROSECONDS

    def run(self, *texts, **ships):
        rows = [Row("changes", BEFORE_ALL, {"at": n, "text": text}, BEFORE_ALL) for n, text in enumerate(texts)]
        for name, draught in ships.items():
            self.at += 1_000_000
            rows.append(Row("ship", self.at, {"mmsi": int(name[1:]), "draught": draught}))
        before, letters = len(self.model.results), len(self.model.letters)
        self.model.run(rows)
        said = [(one["change"], one["key"], one["value"]) for one in self.model.results[before:]]
        return sorted(said, key=repr), [one["reason"] for one in self.model.letters[letters:]]


def test_a_text_holds_from_its_micro_batch_on_before_the_rows_of_it():
    query = Query()
    assert query.run(s1=6.0, s2=8.0)[0] == [("update", 1, {"draught": 6.0}), ("update", 2, {"draught": 8.0})]
    assert query.run("7")[0] == [("delete", 1, None)]
    assert query.run("5", s3=6.5)[0] == [("update", 1, {"draught": 6.0}), ("update", 3, {"draught": 6.5})]
    assert query.run("9", "7")[0] == [  # of two texts the second holds in the end
        ("delete", 1, None), ("delete", 2, None), ("delete", 3, None), ("update", 2, {"draught": 8.0}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no number", "ValueError: could not convert string to float"),
        ("named 5", "results of the same types"),
        ("wide 5", "results of the same types"),
        ("unknown 5", "the column 'draft'"),
        ("other 5", "the outputs were 'deep' and are 'other'"),
    ],
)
def test_what_cannot_follow_is_one_letter_with_the_reason_and_the_program_goes_on(text, why):
    query = Query()
    query.run(s1=6.0)
    said, reasons = query.run(text, s2=8.0)
    assert said == [("update", 2, {"draught": 8.0})]
    assert len(reasons) == 1
    assert why in reasons[0]


def test_what_the_new_program_raises_on_what_is_there_fails_the_query_and_nothing_is_committed():
    query = Query()
    query.run(s1=6.0, s2=8.0)
    with pytest.raises(CartesiusError, match=r"expected changed rules .* but ZeroDivisionError: .*, in bucket \d"):
        query.run("inverse 6")
    assert query.run(s3=9.0)[0] == [("update", 3, {"draught": 9.0})]


def test_a_checkpoint_says_with_which_text_the_query_began():
    one, other = (plan(text).runner.states.note(waits=False, has_watermark=False) for text in ("5", "6"))
    assert (one["text"], other["text"]) == ("5", "6")
    assert "belongs to another program" in objection(one, other, {})


def test_a_query_without_changes_does_not_go_on_from_one_that_had_them():
    query = Query()
    query.run(s1=6.0)
    plain = planned(list(deep("5", "5")), SHIPS, is_streaming=True, buckets=2, order="arrival")
    query.model.restart(plain)
    with pytest.raises(SnapshotMismatch, match="its program had changes=, and has not now; give it as it was"):
        query.run(s1=7.0)


def test_what_would_hold_back_or_has_no_rows_to_come_is_refused():
    marked = t.StructType([t.StructField("at", t.TimestampType(), metadata={"spark.watermarkDelayMs": 0}), TEXT])
    for is_streaming, changes, why in (
        (True, Frame(marked, jdf=plan_of("EventTimeWatermark")), "expected changes= without a watermark"),
        (False, CHANGES, "expected streams beside changes= but all frames are batch"),
    ):
        with pytest.raises(InvalidArgument, match=why):
            planned(LiveProgram("5", deep), SHIPS, is_streaming=is_streaming, buckets=2, changes=changes)


@pytest.mark.parametrize(
    ("program", "changes", "why"),
    [
        (LiveProgram("5", deep), None, "a LiveProgram without changes="),
        (deep("5", "5"), CHANGES, "changes= for a program that cannot change"),
        (LiveProgram("5", deep), "rules", "a streaming DataFrame of texts but got changes='rules'"),
        (LiveProgram("5", deep), Frame(CHANGES.schema, isStreaming=False), "a streaming DataFrame of texts"),
        (LiveProgram("5", deep), Frame(t.StructType([TEXT])), "a column 'at' of type timestamp but it has none"),
        (
            LiveProgram("5", deep),
            Frame(t.StructType([AT, t.StructField("texts", t.StringType())])),
            "a column 'text' of type string but it has none; did you mean 'texts'",
        ),
        (
            LiveProgram("5", deep),
            Frame(t.StructType([AT, t.StructField("text", t.LongType())])),
            "a column 'text' of type string but it is bigint",
        ),
    ],
)
def test_what_is_no_stream_of_changes_is_refused_at_once(program, changes, why):
    with pytest.raises(InvalidArgument, match=why):
        planned(program, SHIPS, is_streaming=True, buckets=2, order="arrival", changes=changes)
