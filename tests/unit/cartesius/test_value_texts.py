"""Durations and functions are printed as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cartesius import Engine, Reactive, correlate
from cartesius.data.value_texts import shown
from restrictions import key_by, only, retracting, versioned, within


def named(row):
    return row


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(minutes=1, seconds=5), "timedelta(seconds=65)"),
        (named, "named"),
        (len, "len"),
        (lambda row: row.k % 2, "lambda row: row.k % 2"),
        (lambda: "é", "lambda: 'é'"),
        (eval("lambda x: x"), "<lambda>"),
        ("field", "'field'"),
        (None, "None"),
    ],
)
def test_a_value_is_shown_as_it_is_written(value, text):
    assert shown(value).replace('"', "'") == text


def test_a_retention_is_shown_as_it_is_written_for_other_slots_too():
    left, right = Reactive("left"), Reactive("right", table=True)
    looked_up = correlate(
        a=left,
        b=right,
        where=lambda a, key_b: a.k == key_b,
        yields=lambda a, b: (a, b),
        restrict=versioned("b", retention=timedelta(seconds=600)) | retracting(),
    )
    text = Engine(looked_up).explain()
    assert "600000000" not in text
    assert "timedelta(seconds=600)" in text


def test_explain_prints_them_so_and_memory_stands_before_the_handlers():
    left, right = Reactive("left"), Reactive("right")
    near = correlate(
        a=left,
        b=right,
        where=lambda a, b: [a.x] == [b.x],
        yields=lambda a, b: (a.x, b.x),
        restrict=key_by(a=lambda row: row.k % 2, b="k")
        | within(timedelta(seconds=5), "a", "b")
        | only("a", lambda a: a.n > 0),
    )
    text = Engine(near).explain()
    assert "within(timedelta(seconds=5), 'a', 'b')" in text
    assert "key_by(a=lambda row: row.k % 2, b='k')" in text
    assert "only('a', lambda a: a.n > 0)" in text
    assert "<lambda>" not in text
    assert "<function" not in text
    assert text.index("slot a") < text.index("handlers")
    assert "None == None holds" in text, "where runs as written: a null is Python's there"
