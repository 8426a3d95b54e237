"""Totals of windows that are under keys, against sums over all that came: what one key frees, another may add to."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, Update, Window
from cartesius.columns.results import events_of
from restrictions import key_by, most_recently, session, tumbling
from restrictions.tables import aggregate, count, max_, sum_
from restrictions.windows import final, on_close, on_content_change

x = Reactive("x")
REPORTS = {"final": final, "on_close": on_close, "on_content_change": on_content_change}
TOTALS: dict[str, Any] = {"count": (count, len), "sum": (sum_.of("n"), sum), "max": (max_.of("n"), max)}
BY = {"window": None, "another": "kind", "its own": "user"}
events = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("st"), st.integers(0, 3), st.integers(0, 6)), max_size=30
)


def rows(trace):
    time = 0
    for user, kind, n, later in trace:
        time += later
        yield {"user": user, "kind": kind, "n": n}, time


def windows_of(trace, width, *, are_sessions):
    """Each event with its window: of its user, if windows are sessions."""
    if not are_sessions:
        return [(row, Window(time // width * width, time // width * width + width)) for row, time in rows(trace)]
    found, open_ = [], {}
    for row, time in rows(trace):
        sessions = open_.setdefault(row["user"], [])
        if sessions and time <= sessions[-1][1] + width:
            sessions[-1][1] = time
        else:
            sessions.append([time, time])
        found.append((row, sessions[-1]))
    return [(row, Window(start, end + width)) for row, (start, end) in found]


def expected(trace, width, by, total, *, are_sessions, is_newest):
    came = windows_of(trace, width, are_sessions=are_sessions)
    if is_newest:
        came = list({(row["user"], window): (row, window) for row, window in came}.values())
    values = defaultdict(list)
    for row, window in came:
        values[window if by is None else (row[by], window)].append(row["n"])
    return {key: total(found) for key, found in values.items()}


@pytest.mark.parametrize("tier", ["reference", "in_place", "columns"])
@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("windows", [*REPORTS, "session", "newest"])
@given(trace=events, name=st.sampled_from([*TOTALS]), data=st.data())
def test_what_is_totalled_is_all_that_came_whoever_was_freed_first(trace, windows, by, tier, name, data):
    """Found were totals that began anew as each key reported what it had at the end of the window."""
    made, total = TOTALS[name]
    if windows == "session":
        inside: Any = session(5)
    else:
        inside = tumbling(10, report=REPORTS.get(windows, final))
        inside = inside | most_recently("x") if windows == "newest" else inside
    program = aggregate(x, made, by=BY[by], restrict=key_by(x="user") | inside)
    engine = Engine(program, lateness=0, tier=None if tier == "columns" else tier)
    coming, results = list(rows(trace)), []
    while coming:
        cut = data.draw(st.integers(1, len(coming)))
        batch, coming = coming[:cut], coming[cut:]
        if tier == "columns":
            fields = {field: [row[field] for row, _ in batch] for field in ("user", "kind", "n")}
            results += events_of(engine.push_many({x: fields | {"at": [time for _, time in batch]}}))
        else:
            results += [event for row, time in batch for event in engine.push(x, row, at=time)]
        if data.draw(st.booleans()):
            engine = Engine.restore(engine.snapshot(), program, lateness=0)
    results += engine.close()
    last = {event.value.key: event.value.value for event in results if isinstance(event.value, Update)}
    of = {"are_sessions": windows == "session", "is_newest": windows == "newest"}
    assert last == expected(trace, 5 if windows == "session" else 10, BY[by], total, **of)
    assert engine.query(program) == {}  # what is freed is forgotten
