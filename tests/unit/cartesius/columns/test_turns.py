"""Turns: what deadlines give to several outputs comes in a batch in the order in which it does by push.

The oracle is the reference tier, event by event; of deadlines at one time those of the first correlation come first,
and two outputs that are one correlation take turns.
"""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import key_by, session, sliding, tumbling, within, without
from restrictions.streams import interval_join
from restrictions.tables import aggregate, count, sum_
from restrictions.windows import final, on_close

A, B = (Reactive(name, fields=("k", "v")) for name in "ab")
_SPAN = st.integers(1, 6)
_BY = st.sampled_from([None, "k", "v"])


def absence(span, by):
    stack = without(B, after="x", within=span)
    return correlate(x=A, yields=lambda x: (x.k, x.v), restrict=stack if by is None else key_by(x=by, b=by) | stack)


def sessions(gap, by):
    return aggregate(A, sum_.of("v"), by=by, restrict=session(gap))


def windows(size, by):
    return aggregate(A, count, by=by, restrict=tumbling(size, report=on_close))


def at_the_end(size, by):
    return aggregate(B, count, by=by, restrict=sliding(2 * size, size, lateness=1, report=final))


def left(span, by):
    return interval_join(A, B, 0, span, key=by or "k", how="left")


def pairs(span, by):
    by = by or "k"
    return correlate(x=A, y=B, yields=lambda x, y: (x.v, y.v), restrict=key_by(x=by, y=by) | within(span, "x", "y"))


OUTPUTS = st.one_of(
    st.tuples(st.just(absence), _SPAN, _BY),
    st.tuples(st.just(sessions), _SPAN, _BY),
    st.tuples(st.just(windows), _SPAN, _BY),
    st.tuples(st.just(at_the_end), _SPAN, _BY),
    st.tuples(st.just(left), _SPAN, _BY),
    st.tuples(st.just(pairs), _SPAN, _BY),
)
EVENTS = st.lists(
    st.tuples(st.sampled_from([A, A, B]), st.integers(0, 2), st.integers(0, 2), st.sampled_from([0, 0, 1, 1, 2, 5])),
    min_size=1, max_size=14,
)  # fmt: skip


@given(st.lists(OUTPUTS, min_size=1, max_size=3), st.booleans(), EVENTS, st.lists(st.integers(1, 6), max_size=4))
def test_what_deadlines_give_comes_in_the_order_of_pushes(outputs, is_twice, events, cuts):
    twins = outputs[:1] if is_twice else []  # one correlation, which gives to two outputs
    check([make(span, by) for make, span, by in [*outputs, *twins]], events, cuts)


def check(outputs, events, cuts):
    reference, engine = Engine(*outputs, lateness=0, tier="reference"), Engine(*outputs, lateness=0)
    now, rows = 0, []
    for source, key, value, step in events:
        now += step
        rows.append((source, {"k": key, "v": value}, now))
    rows = [row for row in rows if row[0] in reference.inputs.values()]
    while rows:
        n = cuts[0] if cuts else len(rows)
        few, rows, cuts = rows[:n], rows[n:], cuts[1:]
        expected = [event for source, value, at in few for event in reference.push(source, value, at=at)]
        assert shown(events_of(engine.push_many(batch_of(few)))) == shown(expected)
        assert engine.clock == reference.clock
    assert shown(engine.close()) == shown(reference.close())


def batch_of(rows):
    batch = {}
    for source in dict.fromkeys(source for source, *_ in rows):
        mine = [(order, value, at) for order, (of, value, at) in enumerate(rows) if of is source]
        batch[source] = pa.table({
            "k": [value["k"] for _, value, _ in mine], "v": [value["v"] for _, value, _ in mine],
            "at": [at for *_, at in mine], "order": [order for order, *_ in mine],
        })  # fmt: skip
    return batch


def shown(events):
    return [(repr(one.value), one.start, one.end, one.weight, one.reactive) for one in events]
