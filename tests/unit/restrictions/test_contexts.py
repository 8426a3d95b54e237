"""Snoop's consumption contexts, against a direct simulation of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate, run, storable
from cartesius.errors import InvalidArgument
from restrictions import cartesian, chronicle, continuous, cumulative, key_by, most_recently, recent, retracting
from restrictions.sequencing.contexts import collecting
from restrictions.streams import either, map_

if TYPE_CHECKING:
    from collections.abc import Callable

a, b = Reactive("a"), Reactive("b")
CONTEXTS: dict[str, Callable[..., Any]] = {
    "recent": recent,
    "chronicle": chronicle,
    "continuous": continuous,
    "cumulative": cumulative,
}
TABLE = {  # the sequence A ; B on a1 a2 b1 b2
    "recent": [("a2", "b1"), ("a2", "b2")],
    "chronicle": [("a1", "b1"), ("a2", "b2")],
    "continuous": [("a1", "b1"), ("a2", "b1")],
    "cumulative": [(["a1", "a2"], "b1")],
}


def sequence(context, *, keyed=False, name=None):
    restrict = CONTEXTS[context]("x", "y")
    restrict = key_by(x="key", y="key") | restrict if keyed else restrict
    return correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=restrict, name=name)


def values(events):
    return [event.value for event in events]


@pytest.mark.parametrize("context", TABLE)
def test_the_table_of_the_contexts(context):
    trace = [(a, "a1"), (a, "a2"), (b, "b1"), (b, "b2")]
    assert values(run(sequence(context), trace)) == TABLE[context]


@pytest.mark.parametrize("context", TABLE)
def test_the_example_with_times_and_the_times_of_its_results(context):
    """e11@0 e12@1 e21@2 e22@3: a composite spans from the start of its initiator to the end of its terminator."""
    events = run(sequence(context), [(a, "a1", 0), (a, "a2", 1), (b, "b1", 2), (b, "b2", 3)])
    assert values(events) == TABLE[context]
    spans = {
        "recent": [(1, 2), (1, 3)],
        "chronicle": [(0, 2), (1, 3)],
        "continuous": [(0, 2), (1, 2)],
        "cumulative": [(0, 2)],
    }
    assert [(event.start, event.end) for event in events] == spans[context]


def test_a_conjunction_in_the_recent_context_is_combine_latest():
    """Of AND either side can initiate: e22@3 then e13@4 gives (e13, e22)."""
    both = cartesian(a, b, restrict=most_recently("a", "b"))
    trace = [(a, "e11", 0), (a, "e12", 1), (b, "e21", 2), (b, "e22", 3), (a, "e13", 4)]
    assert values(run(both, trace)) == [("e12", "e21"), ("e12", "e22"), ("e13", "e22")]


@pytest.mark.parametrize("context", TABLE)
def test_a_terminator_that_finds_nothing_is_ignored(context):
    assert run(sequence(context), [(b, "b1", 1), (a, "a1", 2)]) == []


@pytest.mark.parametrize("context", TABLE)
def test_an_initiator_must_have_ended_before_the_terminator_starts(context):
    assert run(sequence(context), [(a, "a1", (1, 5)), (b, "b1", (5, 7)), (b, "b2", (3, 9))]) == []
    assert len(run(sequence(context), [(a, "a1", (1, 5)), (b, "b1", (5, 7)), (b, "b2", (6, 9))])) == 1


# ------------------------------------------------------------------------------------------------- the simulation


@storable
class Happening(NamedTuple):
    number: int
    key: int
    start: int
    end: int


def _precedes(earlier: Happening, later: Happening) -> bool:
    """Whether what was used earlier is before: of one time both must be points."""
    return earlier.end < later.start or earlier.start == earlier.end == later.start == later.end


def simulate(context: str, trace: list[tuple[Any, Happening]], *, keyed: bool) -> list[list[Any]]:
    """Return what each event causes: one list of open initiators a key, and what the context says of it."""
    opened: dict[int, list[Happening]] = {}
    out: list[list[Any]] = []
    for reactive, event in trace:
        mine = opened.setdefault(event.key if keyed else 0, [])
        if reactive is a:
            if context == "recent":
                mine.clear()
            mine.append(event)
            out.append([])
            continue
        met = [initiator for initiator in mine if _precedes(initiator, event)]
        if context == "chronicle":
            met = met[:1]
        if context != "recent":
            mine[:] = [initiator for initiator in mine if initiator not in met]
        if context == "cumulative":
            out.append([(met, event)] if met else [])
        else:
            out.append([(initiator, event) for initiator in met])
    return out


STEPS = st.lists(
    st.tuples(st.sampled_from([a, a, b]), st.integers(0, 1), st.integers(-2, 2), st.integers(0, 2)), max_size=12
)


def happenings(steps):
    """Times that mostly go on, and sometimes back; intervals that sometimes overlap."""
    trace = []
    for number, (reactive, key, shift, length) in enumerate(steps):
        start = number + shift
        trace.append((reactive, Happening(number, key, start, start + length)))
    return trace


@given(STEPS, st.sampled_from(sorted(TABLE)), st.booleans(), st.integers(0, 12))
def test_each_context_is_what_its_simulation_says(steps, context, keyed, restored_at):
    output = sequence(context, keyed=keyed)
    engine = Engine(output, durable=True)
    trace = happenings(steps)
    out = []
    for number, (reactive, event) in enumerate(trace):
        if number == restored_at:
            engine = Engine.restore(engine.snapshot(), output, durable=True)
        out.append(values(engine.push(reactive, event, at=(event.start, event.end))))
        engine._check_invariants()
    assert out == simulate(context, trace, keyed=keyed)


@given(STEPS)
def test_only_recent_and_no_other_uses_an_initiator_twice(steps):
    for context in ("chronicle", "continuous", "cumulative"):
        emitted = [
            event.value[0] for event in run(sequence(context), [(r, e, (e.start, e.end)) for r, e in happenings(steps)])
        ]
        used = [one for first in emitted for one in (first if isinstance(first, list) else [first])]
        assert len(used) == len(set(used))


@pytest.mark.parametrize(
    ("context", "retained", "waiting"), [("recent", 1, 0), ("chronicle", 3, 0), ("cumulative", 0, 3)]
)
def test_what_is_kept_while_no_terminator_comes(context, retained, waiting):
    engine = Engine(sequence(context))
    for number in range(3):
        engine.push(a, number)
    assert (engine.stats.retained, engine.stats.waiting) == (retained, waiting)
    engine.push(b, "b")
    assert engine.stats.waiting == 0


def test_contexts_compete_as_alternatives():
    """What the pattern written first uses up is gone for the other."""
    c = Reactive("c")
    ended = sequence("continuous")
    cancelled = correlate(x=a, z=c, yields=lambda x, z: (x, z), restrict=chronicle("x", "z"))
    trace = [(a, "a1"), (a, "a2"), (c, "c1"), (b, "b1"), (c, "c2")]
    assert values(run(either(ended, cancelled), trace)) == [("a1", "c1"), ("a2", "b1")]


# ------------------------------------------------------------------------------------------------------ collecting


def test_what_its_source_takes_back_is_not_collected():
    table = Reactive("table", table=True)
    rows = correlate(t=table, yields=lambda t: t, restrict=retracting())
    lists = correlate(x=rows, y=b, yields=lambda x, y: (x, y), restrict=cumulative("x", "y"))
    trace = [(table, Update("k", 1)), (table, Update("l", 2)), (table, Delete("k")), (b, "b1")]
    assert values(run(lists, trace)) == [([2], "b1")]


def test_an_event_used_up_by_another_alternative_is_not_collected():
    c = Reactive("c")
    first = correlate(x=a, z=c, yields=lambda x, z: (x, z), restrict=chronicle("x", "z"))
    trace = [(a, "a1"), (a, "a2"), (c, "c1"), (b, "b1")]
    assert values(run(either(first, sequence("cumulative")), trace)) == [("a1", "c1"), (["a2"], "b1")]


@pytest.mark.parametrize("ended", [a, b])
def test_it_completes_when_nothing_can_come_any_more(ended):
    engine = Engine(sequence("cumulative"))
    engine.push(a, 1)
    engine.push(b, 2)
    engine.end(ended)
    assert engine.done


def test_what_waits_can_still_come():
    engine = Engine(sequence("cumulative"))
    engine.push(a, 1)
    engine.end(a)
    assert not engine.done
    assert values(engine.push(b, 2)) == [([1], 2)]


def test_a_body_that_fails_leaves_what_was_collected():
    failing = correlate(x=a, y=b, yields=lambda x, y: sum(x) // y, restrict=cumulative("x", "y"))
    engine = Engine(failing)
    engine.push(a, 1)
    engine.push(a, 5)
    before = engine.snapshot()
    with pytest.raises(ZeroDivisionError):
        engine.push(b, 0)
    assert engine.snapshot() == before
    assert values(engine.push(b, 2)) == [3]


def test_tables_are_refused():
    table = Reactive("table", table=True)
    with pytest.raises(InvalidArgument) as caught:
        cartesian(table, b, restrict=collecting("table", "b"))
    assert str(caught.value).startswith(
        "collecting('table', 'b'): expected streams but 'table' is bound to a table, 'table', whose rows replace each"
    )


def test_explain_says_what_is_kept():
    assert "queue unbounded, held by collecting('x', 'y')" in Engine(sequence("cumulative")).explain()
    assert "slot x         a: memory O(1)" in Engine(sequence("recent")).explain()


def test_a_derived_stream_can_be_an_initiator():
    doubled = map_(a, lambda x: 2 * x)
    pairs = cartesian(doubled, b, restrict=chronicle(doubled, "b"))
    assert values(run(pairs, [(a, 1), (a, 2), (b, "b1"), (b, "b2"), (b, "b3")])) == [(2, "b1"), (4, "b2")]
