"""What is reported, and that it matters: of each kind of report, two sequences of one input whose outputs differ."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from operator import add
from typing import Any

import pytest

from cartesius import Delete, Engine, Reactive, Update, correlate, ordered, repeated, unordered
from cartesius.errors import OrderMismatch
from cartesius.testing import streams_equivalent
from restrictions import (
    affinely,
    aligning,
    as_table,
    by_arrival,
    cartesian,
    in_event_time,
    key_by,
    momentarily,
    most_recently,
    retracting,
    session,
    tumbling,
    versioned,
    without,
)
from restrictions.gates.folding import accumulating
from restrictions.gates.row_gates import announcing
from restrictions.streams import (
    combine_latest,
    either,
    filter_,
    group_by,
    interval_join,
    map_,
    merge,
    stream_table_join,
    zip_,
)
from restrictions.table_operators.aggregation import totalling
from restrictions.tables import aggregate, count, foreign_join, inner_join, map_table, sum_
from restrictions.windows import istream, on_close, rstream
from tests.laws.order_programs import depend

x, y, z = Reactive("x", order=unordered()), Reactive("y", order=ordered()), Reactive("z", order=ordered())
timed = Reactive("timed", order=unordered(distinct=("k",)))
distinct = Reactive("distinct", order=unordered(distinct=()))
late = Reactive("late", order=unordered(marked=False))
keyed = Reactive("keyed", order=ordered("k", among="log"))
beside = Reactive("beside", order=ordered("id", among="log"))
t = Reactive("t", table=True, key="k", order=ordered(per_row=True))
u = Reactive("u", table=True, key="k", order=ordered("k"))
free = Reactive("free", table=True, key="k", order=unordered())
apart = Reactive("apart", table=True, key="k", order=unordered(distinct=()))

A, B, C = {"k": 0, "v": 1}, {"k": 0, "v": 2}, {"k": 1, "v": 4}


def one(a, *restrictions, yields=lambda a: a):
    return correlate(a=a, yields=yields, restrict=composed(restrictions))


def two(a, b, *restrictions):
    return correlate(a=a, b=b, yields=lambda a, b: (a, b), restrict=composed(restrictions))


def composed(restrictions):
    found, *rest = restrictions
    for restriction in rest:
        found = found | restriction
    return found


# A kind of report: what it says of whom, the correlation under more restrictions, and two sequences of one input.
REPORTS: dict[str, tuple[str, Any, list[Any], list[Any]]] = {
    "two events of a slot": (
        "a is unordered; not implied is an order of a, relied on by most_recently('a')",
        lambda *more: two(x, x, most_recently("a"), *more),
        [(x, A, 1), (x, B, 2)],
        [(x, B, 2), (x, A, 1)],
    ),
    "two events of a slot, in a gate": (
        "a is unordered; not implied is an order of a per k, relied on by accumulating('a', ",
        lambda *more: one(
            x, key_by(a="k"), accumulating("a", lambda before, new: {"k": new.k, "v": 2 * before.v + new.v}), *more
        ),
        [(x, A, 1), (x, B, 2)],
        [(x, B, 2), (x, A, 1)],
    ),
    "an event of one slot and one of another": (
        "a is ordered and b is ordered; not implied is an order among a and b, relied on by most_recently('a', 'b')",
        lambda *more: two(y, z, most_recently("a", "b"), *more),
        [(y, A, 1), (z, B, 2), (y, C, 3)],
        [(y, A, 1), (y, C, 3), (z, B, 2)],
    ),
    "two events of another slot": (
        "b is unordered; not implied is an order of b, relied on by affinely('a')",
        lambda *more: two(y, x, affinely("a"), *more),
        [(y, A, 1), (x, B, 2), (x, C, 3)],
        [(y, A, 1), (x, C, 3), (x, B, 2)],
    ),
    "a stream and the table that it looks up": (
        "b is ordered per its row; not implied is an order among a and b, relied on by momentarily('a')",
        lambda *more: two(y, t, momentarily("a"), *more),
        [(y, A, 1), (t, Update(0, B), 2)],
        [(t, Update(0, B), 2), (y, A, 1)],
    ),
    "events of one time": (
        "a is unordered through in_event_time(9); not implied is an order of a, relied on by most_recently('a')",
        lambda *more: two(x, x, most_recently("a"), in_event_time(9), *more),
        [(x, A, 1), (x, B, 1)],
        [(x, B, 1), (x, A, 1)],
    ),
    "what follows what of one stream, at one time": (
        "a is unordered and b is unordered through in_event_time(9); not implied is an order among a and b, relied on",
        lambda *more: two(x, x, without("b", after="a", within=3), in_event_time(9), *more),
        [(x, A, 1), (x, B, 1)],
        [(x, B, 1), (x, A, 1)],
    ),
    "a session of what comes behind the clock": (
        "a is unordered; not implied is an order of a, relied on by session(3)",
        lambda *more: one(one(distinct, tumbling(5, report=on_close)), session(3), *more),
        [(distinct, A, 5), (distinct, B, 7)],
        [(distinct, B, 7), (distinct, A, 5)],
    ),
    "lists": (
        "a is unordered; not implied is an order of a, relied on by the lists of a, which are in order of arrival",
        lambda *more: one(repeated(x, 2), *(more or [retracting()])),
        [(x, A, 1), (x, B, 2)],
        [(x, B, 2), (x, A, 1)],
    ),
    "rows": (
        "a is unordered; not implied is an order of a per its row, relied on by the rows of a, which replace ",
        lambda *more: one(free, retracting(), as_table("a"), *more),
        [(free, Update(0, A), 1), (free, Update(0, B), 2)],
        [(free, Update(0, B), 2), (free, Update(0, A), 1)],
    ),
    "deletions of rows under keys, before a gate": (
        "a is unordered, at distinct times; not implied is an order of a per its row, relied on by the keys of a, as a",
        lambda *more: one(apart, retracting(), as_table("a"), key_by(a="v"), in_event_time(9), *more),
        [(apart, Update(0, A), 1), (apart, Delete(0), 2)],
        [(apart, Delete(0), 2), (apart, Update(0, A), 1)],
    ),
    "several rows of a key": (
        "a is unordered; not implied is an order of a, relied on by as_table(",
        lambda *more: one(x, retracting(), as_table(lambda value: 0), *more),
        [(x, A, 1), (x, B, 2)],
        [(x, B, 2), (x, A, 1)],
    ),
    "each total": (
        "a is ordered per its row; not implied is an order of a, relied on by totalling(sum_.of('v'))",
        lambda *more: one(t, retracting(), totalling(sum_.of("v")), *more),
        [(t, Update(0, A), 1), (t, Update(1, C), 2)],
        [(t, Update(1, C), 2), (t, Update(0, A), 1)],
    ),
    "each relation of a window": (
        "a is unordered; not implied is an order of a, relied on by rstream()",
        lambda *more: one(x, tumbling(9), rstream(), *more),
        [(x, A, 1), (x, B, 2)],
        [(x, B, 2), (x, A, 1)],
    ),
    "each relation of a window, whatever gates are in it": (
        "a is unordered, at distinct times; not implied is an order of a, relied on by istream()",
        lambda *more: one(distinct, tumbling(5), istream(), in_event_time(2), *more),
        [(distinct, A, 0), (distinct, B, 1), (distinct, C, 3)],
        [(distinct, A, 0), (distinct, C, 3), (distinct, B, 1)],
    ),
    "what a closed window has that the one before it had not": (
        "a is unordered, at distinct times; not implied is an order of a, relied on by istream()",
        lambda *more: one(distinct, tumbling(5, report=on_close), istream(), *more, yields=lambda a: a.v),
        [(distinct, A, 0), (distinct, A, 5), (distinct, A, 6)],
        [(distinct, A, 0), (distinct, A, 6), (distinct, A, 5)],
    ),
    "versions whose corrections are ignored": (
        "a is unordered, at distinct times per k; not implied is an order of a per k, relied on by versioned('a'",
        lambda *more: two(timed, y, key_by(a="k"), versioned("a", retention=9), *more),
        [(timed, A, 1), (y, C, 3), (timed, B, 2)],
        [(timed, B, 2), (y, C, 3), (timed, A, 1)],
    ),
    "what may be taken back": (
        "a is ordered per its row, corrected, so what it gives may be taken back, and nothing here takes results back",
        lambda *more: one(inner_join(t, u), momentarily("a"), announcing("a"), *more),
        [(t, Update(0, A), 1), (u, Update(0, C), 2), (t, Update(0, B), 3)],
        [(t, Update(0, A), 1), (t, Update(0, B), 3), (u, Update(0, C), 2)],
    ),
    "the clock": (
        "a is unordered, without markers, and tumbling(9, report=on_close) acts on the clock",
        lambda *more: one(late, tumbling(9, report=on_close), *more),
        [(late, A, 1), 9],
        [9, (late, A, 1)],
    ),
}  # fmt: skip


def standing(output, items):
    """What stands in the end: rows, or results and how often."""
    engine = Engine(output)
    events = []
    for item in items:
        events += engine.advance(item) if isinstance(item, int) else engine.push(item[0], item[1], at=item[2])
    events += engine.close()
    if not output.table:
        total = Counter()
        for event in events:
            total[repr(event.value), event.start, event.end] += event.weight
        return +total
    rows = {}
    for event in events:
        rows[event.value.key] = repr(getattr(event.value, "value", None))
    return rows


@pytest.mark.parametrize("kind", REPORTS)
def test_what_relies_on_an_order_that_is_not_declared_is_reported_with_three_ways_out(kind):
    said, make, _, _ = REPORTS[kind]
    with pytest.raises(OrderMismatch) as caught:
        make()
    assert said in str(caught.value)
    ways = str(caught.value).splitlines()[1:]
    assert [way.split()[1].strip(":,") for way in ways] in (["order", "version", "accept"], ["order", "take", "accept"])


@pytest.mark.parametrize("kind", REPORTS)
def test_what_is_reported_matters(kind):
    _, make, items, others = REPORTS[kind]
    assert streams_equivalent(items, others, dependent=depend)
    slots = ["a", "b"] if any(word in kind for word in ("another", "looks up", "ignored")) else ["a"]
    slots += ["b"] if make.__code__.co_names[0] == "two" and "b" not in slots else []
    accepted = make(by_arrival(*slots))
    assert standing(accepted, items) != standing(accepted, others)
    assert accepted.order is not None


def test_windows_that_are_looked_at_after_so_many_events_rely_on_which_these_are():
    with pytest.raises(OrderMismatch, match=r"not implied is an order of a, relied on by tumbling\(9, tick=2\)"):
        one(distinct, tumbling(9, tick=2))
    accepted, items = one(distinct, by_arrival("a"), tumbling(9, tick=2)), [(A, 1), (B, 2), (C, 3)]
    found = []
    for trace in (items, items[::-1]):
        engine = Engine(accepted)
        found.append(sorted(event.end for value, time in trace for event in engine.push(distinct, value, at=time)))
    assert found == [[1, 2], [2, 3]]


ACCEPTED: dict[str, tuple[Any, str]] = {
    "the whole product": (lambda: cartesian(x, y), "unordered"),
    "a map": (lambda: map_(x, lambda value: value), "unordered"),
    "a map of what is ordered": (lambda: map_(y, lambda value: value.v), "ordered"),
    "a filter keeps keys": (lambda: filter_(keyed, lambda value: value.v), "ordered per k among log"),
    "a filter keeps distinct times": (lambda: filter_(timed, lambda v: v.v), "unordered, at distinct times per k"),
    "a map that drops the key": (lambda: map_(keyed, lambda value: value.v), "unordered"),
    "channels in lock-step": (lambda: zip_(y, z), "ordered"),
    "latest of a log with itself": (lambda: combine_latest(y, map_(y, lambda value: value.v)), "ordered"),
    "latest per key of one log": (
        lambda: correlate(
            a=keyed,
            b=beside,
            yields=lambda a, b: {"k": a.k, "w": b.w},
            restrict=key_by(a="k", b="id") | most_recently("a", "b"),
        ),
        "ordered per k among log",
    ),
    "ordered by time": (
        lambda: one(timed, key_by(a="k"), most_recently("a"), in_event_time(9)),
        "ordered per k",
    ),
    "versions, corrected": (
        lambda: one(timed, retracting(), as_table("a"), key_by(a="k"), versioned("a", retention=9)),
        "ordered per its row, corrected",
    ),
    "a key of a part that never comes": (
        lambda: correlate(
            a=keyed,
            b=keyed,
            yields=lambda a, b: {"v": a.v, "k": b.k},
            restrict=key_by(a="k", b="k") | without("b", after="a", within=3),
        ),
        "unordered",
    ),
    "tables joined by key": (lambda: inner_join(t, u), "ordered per its row, corrected"),
    "tables joined by a foreign key": (lambda: foreign_join(t, u, on="v"), "ordered per its row, corrected"),
    "a map of a corrected table": (
        lambda: map_table(inner_join(t, u), lambda pair: pair[0]),
        "ordered per its row, corrected",
    ),
    "windows that report when they close": (lambda: one(x, tumbling(9, report=on_close)), "unordered"),
    "a union": (lambda: merge(x, y), "unordered"),
    "a fold per key": (lambda: group_by(keyed, "k"), "ordered per its row, corrected"),
    "nothing declared": (lambda: combine_latest(Reactive("p"), Reactive("q")), "None"),
    "something not declared": (lambda: stream_table_join(Reactive("p"), t, on="k"), "None"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_implied_is_accepted_and_gives_an_order(name):
    make, gives = ACCEPTED[name]
    assert str(make().order) == gives


def test_an_edge_is_reported_although_another_input_declares_nothing():
    with pytest.raises(OrderMismatch, match="x is unordered; not implied is an order of x"):
        combine_latest(x, Reactive("p"))


def test_each_checked_edge_prints_its_condition():
    gate = key_by(timed="k") | most_recently("timed") | in_event_time(9)
    text = Engine(cartesian(timed, restrict=gate)).explain()
    assert "order         arrival order, relied on by most_recently('timed')\n" in text
    implied = (
        "  edge timed    timed is unordered, at distinct times per k through in_event_time(9); implied is an order of"
        " timed per k, relied on by most_recently('timed')\n"
    )
    assert implied in text
    markers = "timed is unordered, at distinct times per k, with markers, relied on by in_event_time(9)"
    assert f"  edge timed    {markers}\n" in text


def test_an_edge_that_is_not_checked_says_so():
    text = Engine(correlate(a=y, b=Reactive("p"), yields=lambda a, b: a, restrict=most_recently("a"))).explain()
    said = "  edge a, b     a is ordered and b is of no declared order; not checked: an order among a and b"
    assert said in text


def test_where_nothing_is_declared_nothing_is_printed():
    assert "edge" not in Engine(combine_latest(Reactive("p"), Reactive("q"))).explain()


def test_the_other_edges_that_do_not_hold_are_named_besides():
    with pytest.raises(OrderMismatch) as caught:
        combine_latest(x, z)
    assert "besides, x is unordered and z is ordered; not implied is an order among x and z" in str(caught.value)


def test_a_gate_left_of_the_one_that_orders_sees_its_order_and_one_right_of_it_does_not():
    fold = accumulating("a", lambda before, value: value)
    assert one(timed, key_by(a="k"), fold, in_event_time(9)).order is not None
    with pytest.raises(OrderMismatch, match="relied on by accumulating"):
        one(timed, key_by(a="k"), in_event_time(9), fold)


def test_a_held_row_is_in_step_only_with_those_that_are_aligned_with_it():
    aligned = aligning("a", "b") | most_recently("a", "b", "c")
    with pytest.raises(OrderMismatch, match="an order among a and c"):
        correlate(a=y, b=z, c=Reactive("w", order=ordered()), yields=lambda a, b, c: a, restrict=aligned)


def test_a_total_of_a_table_by_group_is_accepted_as_it_is_corrected():
    from restrictions.tables import reduce

    made = reduce(t, count, by=lambda value: value.v)
    assert str(made.order) == "ordered per its row, corrected"
    assert standing(made, [(t, Update(0, A), 1), (t, Delete(0), 2)]) == {1: "None"}


def test_alternatives_that_consume_need_their_inputs_in_one_order():
    log = [Reactive(name, order=ordered(among="log")) for name in "pqr"]
    done = two(log[0], log[1], affinely("a", "b"))
    assert str(either(done, two(log[0], log[2], affinely("a", "b"))).order) == "ordered among log"
    other = Reactive("other", order=ordered())
    with pytest.raises(OrderMismatch, match=r"consumes what comes first, but p is ordered among log and other is"):
        either(done, one(other, affinely("a")))


def test_alternatives_may_be_accepted_by_arrival():
    w, f, t = (Reactive(name, order=ordered()) for name in "wft")
    accepted = [two(w, source, affinely("a", "b"), by_arrival("a", "b")) for source in (f, t)]
    output = either(*accepted)
    assert str(output.order) == "ordered among arrival"
    trace = [(w, A, 1), (f, B, 2), (t, C, 3)]
    assert standing(output, trace) != standing(output, [trace[0], trace[2], trace[1]])


STANDING = {
    "what lets results through": lambda a: map_(a, lambda pair: pair[0]),
    "what keeps a state": lambda a: correlate(a=a, yields=lambda a: a, restrict=retracting() | accumulating("a", add)),
    "what keeps nothing": lambda a: correlate(a=a, yields=lambda a: a, restrict=retracting() | momentarily("a")),
    "what takes its own back": lambda a: correlate(a=a, yields=lambda a: a[0], restrict=retracting()),
    "totals": lambda a: aggregate(a, count, restrict=tumbling(10)),
}


@pytest.mark.parametrize("name", STANDING)
def test_results_that_stay_when_what_they_are_made_of_is_taken_back_are_said_to_rely_on_arrival(name):
    p, q = Reactive("p"), Reactive("q")
    eager = interval_join(p, q, 0, 5, how="full", eager=True)
    program = STANDING[name](eager)

    def standing(*sources):
        engine, found = Engine(program), Counter()
        for event in (event for source in sources for event in engine.push(source, source.name, at=3)):
            found[repr(event.value)] += event.weight
        return found if not program.table else engine.query(program)

    depends = standing(p, q) != standing(q, p)
    *_, order = (line for line in Engine(program).explain().splitlines() if line.startswith("  order "))
    assert ("that are taken back" in order) is depends
    p, q = (Reactive(name, order=unordered()) for name in "pq")
    with pytest.raises(OrderMismatch) if depends else nullcontext():
        STANDING[name](interval_join(p, q, 0, 5, how="full", eager=True))
    assert depends is (name not in ("what takes its own back", "totals"))
