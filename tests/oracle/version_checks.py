"""What tests of versioned tables share: engines fed, and what holds of all their versions after every push."""

from __future__ import annotations

from collections import Counter
from typing import Any

from cartesius import Delete, Reactive, Update, correlate
from restrictions import as_table, retracting, versioned
from restrictions.streams import stream_table_join
from restrictions.tables import (
    inner_join,
    left_join,
    outer_join,
)
from tests.oracle.table_oracle import exact

FIGURE_5: dict[str, dict[int, Any]] = {
    "inner": {2: ("A1", "B2"), 3: ("A1", "B3"), 5: ("A5", "B3"), 6: ("A6", "B6")},
    "left": {1: ("A1", None), 2: ("A1", "B2"), 3: ("A1", "B3"), 5: ("A5", "B3"), 6: ("A6", "B6")},
    "outer": {1: ("A1", None), 2: ("A1", "B2"), 3: ("A1", "B3"), 5: ("A5", "B3"), 6: ("A6", "B6")},
}
FIGURE_5_INPUTS = ([(1, 0, "A1"), (5, 0, "A5"), (6, 0, "A6")], [(2, 0, "B2"), (3, 0, "B3"), (6, 0, "B6")])


def table(name="table"):
    return Reactive(name, table=True)


def kept(source, **options):
    """The table as it is, with versions."""
    return correlate(
        x=source, yields=lambda x: x, restrict=versioned("x", **options) | retracting() | as_table("x"), name="kept"
    )


def change_of(key, value):
    return Delete(key) if value is None else Update(key, value)


def feed(engine, source, *arrivals):
    """Push arrivals (time, key, value) of a table; return the changes emitted, as (time, key, value)."""
    out = []
    for time, key, value in arrivals:
        out += engine.push(source, change_of(key, value), at=time)
    return as_changes(out)


def as_changes(emitted):
    assert all(event.weight == 1 for event in emitted)
    return [
        (event.end, event.value.key, None if isinstance(event.value, Delete) else event.value.value)
        for event in emitted
    ]


def as_results(emitted):
    """Each with its end, the record's time; the start is that of the hull."""
    return [(event.value, event.end, event.weight) for event in emitted]


def check_late(late, step, is_used):
    """What is not used is late, with a reason; what is used is not."""
    assert bool(late) == (not is_used)
    for event, where, reason in late:
        assert exact(event.value) == exact(step.change)
        assert event.end == step.time
        assert where
        assert reason


def overlapping(a, b, **options):
    return correlate(
        a=a, b=b, yields=lambda a, b: (a, b), restrict=versioned("a", "b", **options) | retracting(), name="overlapping"
    )


def equivalent(one, other):
    """Definition 4.2: equal as multisets of (timestamp, value)."""
    return Counter(one) == Counter(other)


def joined(kind, a, b, **options):
    if kind == "composed":
        return correlate(
            a=a,
            b=b,
            where=lambda *, key_a, key_b: key_a == key_b,
            yields=lambda a, b: (a, b),
            restrict=versioned("a", "b", **options) | retracting() | as_table("a"),
        )
    operator = {"inner": inner_join, "left": left_join, "outer": outer_join}[kind]
    return operator(a, b, restrict=versioned("left", "right", **options))


def lookup(how="inner", retention=100):
    stream, rows = Reactive("stream"), table()
    return stream, rows, stream_table_join(stream, rows, on="k", how=how, retention=retention)
