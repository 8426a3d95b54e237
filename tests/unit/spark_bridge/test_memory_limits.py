"""Unbounded memory is refused by name unless it is allowed; a large state warns, and not at every call."""

from __future__ import annotations

import pytest

from cartesius import Reactive, correlate
from cartesius.errors import InvalidArgument
from restrictions import key_by, most_recently, tumbling, within
from restrictions.tables import aggregate, count, foreign_join, inner_join, to_table
from spark_bridge.reading.demands import described
from spark_bridge.state.memory_limits import check_bounded, checked_limit, unbounded_slots, warning

left, right = Reactive("left"), Reactive("right")
table = Reactive("table", table=True, key="id")


def check(output):
    check_bounded(described((output,)))


def unbounded(output):
    return unbounded_slots(described((output,)))


@pytest.mark.parametrize(
    "restrict", [most_recently("x", "y"), within(10, "x", "y"), key_by(x="k", y="k") | most_recently("x", "y")]
)
def test_bounded_programs_pass(restrict):
    check(correlate(x=left, y=right, restrict=restrict, yields=lambda x, y: (x, y), name="pairs"))


def test_tables_have_a_row_a_key():
    check(correlate(x=table, y=left, restrict=most_recently("y"), yields=lambda x, y: (x, y)))


def test_a_key_alone_bounds_nothing():
    pairs = correlate(x=left, y=right, restrict=key_by(x="k", y="k"), yields=lambda x, y: (x, y), name="pairs")
    assert unbounded(pairs) == [
        ("pairs", "x", "no restriction bounds it (key_by alone does not)"),
        ("pairs", "y", "no restriction bounds it (key_by alone does not)"),
    ]


def test_a_correlation_further_inside_is_named():
    inner = correlate(left=left, right=right, yields=lambda left, right: (left, right), name="inner")
    outer = correlate(x=inner, y=table, restrict=most_recently("x"), yields=lambda x, y: y, name="outer")
    with pytest.raises(InvalidArgument) as caught:
        check(outer)
    assert str(caught.value) == (
        "correlate_frames: expected a program whose memory is bounded, as a stream does not end, but it would grow for"
        " ever (left of inner: no restriction bounds it; right of inner: no restriction bounds it); in inner"
        ' write restrict=… | most_recently("left", "right"), or give it within, at_most or a window, or allow it:'
        " unbounded=True"
    )


def test_it_warns_at_the_limit_and_each_time_it_has_doubled():
    sizes = [10, 90, 99, 100, 120, 199, 150, 200, 399, 390, 400, 3000, 100, 40, 101]
    warned = [now for before, now in zip([0, *sizes], sizes, strict=False) if warning(before, now, 100)]
    assert warned == [100, 200, 400, 3000, 101]
    assert not any(warning(before, now, None) for before, now in zip([0, *sizes], sizes, strict=False))


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "64 MB"])
def test_the_limit_is_a_number_of_bytes(limit):
    with pytest.raises(InvalidArgument, match="soft_limit="):
        checked_limit(limit)


def test_or_none():
    assert checked_limit(None) is None
    assert checked_limit(2**26) == 2**26


def totals_and(join):
    read, sold = Reactive("read"), Reactive("sold")
    totals = aggregate(read, count, by="k", restrict=tumbling(10))
    return join(totals, aggregate(sold, count, by="k", restrict=tumbling(10))), join(totals, to_table(sold, key="k"))


def test_windowed_totals_are_bounded_beside_others_and_beside_rows_of_no_window_by_a_retention_alone():
    beside, alone = totals_and(inner_join)
    assert unbounded(beside) == []
    ((name, slot, reason),) = unbounded(alone)
    assert (name, slot) == ("inner_join(aggregate(read), to_table(sold))", "left")
    assert reason.startswith("a row a window stays when that is")
    with pytest.raises(InvalidArgument, match="retention= bounds it, of aggregate or of the join"):
        check(alone)
    check(totals_and(lambda a, b: inner_join(a, b, retention=60))[1])


def test_a_retention_of_the_totals_themselves_bounds_them_too():
    read, names = Reactive("read"), Reactive("names", table=True)
    totals = aggregate(read, count, by="k", restrict=tumbling(10), retention=60)
    assert unbounded(foreign_join(totals, names, on=lambda n: n)) == []
    with pytest.raises(InvalidArgument, match="expected a table of windows, such as aggregate gives, but got none"):
        inner_join(names, names, retention=60)
    with pytest.raises(InvalidArgument, match="expected a duration ≥ 0 but got retention=-1"):
        aggregate(read, count, restrict=tumbling(10), retention=-1)
