"""`Tracker` against the reference tier: what a bounded sequence gives by its transducer is what the memory gives.

Programs are drawn of every kind that is bounded; events come one after another, of each key, with ties, gaps and
intervals.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given as for_all
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate, each, one_or_more
from cartesius.transducers import CONFLICT, Tracker
from restrictions import fifo, in_sequence, key_by, momentarily, most_recently, only, within

WHERE: dict[tuple[str, int], Any] = {
    ("none", 2): None,
    ("none", 3): None,
    ("neighbours", 2): lambda a, b: a.size <= b.size,
    ("neighbours", 3): lambda a, b, c: (a.size <= b.size) & (b.size <= c.size),
    ("ends", 2): lambda a, b: a.size != b.size,
    ("ends", 3): lambda a, c: a.size != c.size,
    ("alone", 2): lambda a, b: (a.size <= 1) & (b.size >= 1),
    ("alone", 3): lambda a, b, c: (a.size <= 1) & (b.size >= 1) & (c.size != 0),
    ("opaque", 2): lambda a, b: sum([a.size, b.size]) % 2 == 1,
    ("opaque", 3): lambda a, b, c: sum([a.size, b.size, c.size]) % 2 == 1,
}


def yields_two(a, b):
    return a.size, b.size


def yields_three(a, b, c):
    return a.size, b.size, c.size


def directly_two(a, b, *, time_b):
    if (a.size + b.size) % 2 == 1:
        yield a.size, b.size
        yield time_b.end


def directly_three(a, b, c, *, time_b):
    if (a.size + b.size + c.size) % 2 == 1:
        yield a.size, b.size, c.size
        yield time_b.end


def rising(run):
    return len(run) == 1 or run[-1].size > run[-2].size


def small_first(run):
    return run[0].size <= 1 and len(run) <= 3


RUN_WHERE: dict[str, Any] = {
    "none": None,
    "traced": lambda a, r: each(r, lambda one: one.size >= 1) & (a.size <= 1),
    "opaque": lambda a, r: sum([a.size, *[one.size for one in r]]) % 2 == 1,
    "of the run": lambda r: len(r) >= 2,
}


def restricted(draw, restrict, names, last):
    """Add what leaves a sequence bounded."""
    if draw(st.booleans()):
        restrict |= within(draw(st.integers(0, 12)), *draw(st.sampled_from([names, (names[0], last)])))
    if draw(st.integers(0, 3)) == 0:
        restrict |= fifo()
    return restrict


@st.composite
def plain(draw):
    """Sequences of events: strict, recent, or of one run at a time."""
    kind = draw(st.sampled_from(["strict", "recent", "single"]))
    names = "abc"[: draw(st.sampled_from([2, 3]))]
    count = len(names)
    is_shared = draw(st.integers(0, 2)) == 0
    inputs = [Reactive(f"source{number}") for number in range(count)]
    slots = {name: inputs[draw(st.integers(0, place)) if is_shared else place] for place, name in enumerate(names)}
    order = tuple(draw(st.permutations(names)))
    which = draw(
        st.sampled_from(
            ["none", "alone"] if kind == "single" else ["direct", "none", "neighbours", "ends", "alone", "opaque"]
        )
    )
    if kind == "strict":
        restrict: Any = in_sequence(*order, contiguity="strict")
        if not is_shared and draw(st.booleans()):
            restrict = in_sequence(
                *order, contiguity="strict", after_match=draw(st.sampled_from(["past_last", "to_next"]))
            )
    elif kind == "single":
        restrict = in_sequence(*order, after_match="past_last")
    else:
        restrict = in_sequence(*order, contiguity=draw(st.sampled_from(["any", "relaxed", "strict"])))
        ends = draw(st.sampled_from(["kept", "newest", "momentary"]))
        restrict |= most_recently(*order[:-1], *order[-1:] if ends == "newest" else ())
        if ends == "momentary":
            restrict |= momentarily(order[-1])
    if kind != "single":
        restrict = restricted(draw, restrict, order, order[-1])
    if draw(st.integers(0, 2)) == 0:
        restrict |= only(draw(st.sampled_from(names)), lambda one: one.size != 2)
    is_keyed = draw(st.booleans())
    if is_keyed:
        restrict = key_by(**dict.fromkeys(names, "key")) | restrict
    if which == "direct":
        body = directly_two if count == 2 else directly_three
        return inputs, is_keyed, correlate(slots=slots, restrict=restrict)(body)
    yields = yields_two if count == 2 else yields_three
    return inputs, is_keyed, correlate(slots=slots, where=WHERE[which, count], yields=yields, restrict=restrict)


@st.composite
def growing(draw):
    """Sequences with runs, and runs alone."""
    inputs = [Reactive("source0"), Reactive("source1"), Reactive("source2")]
    is_recent = draw(st.booleans())
    run_where = draw(st.sampled_from([None, rising, small_first]))
    contiguity = draw(st.sampled_from(["relaxed", "strict"])) if is_recent or run_where is None else "strict"
    run = one_or_more(inputs[1], where=run_where, contiguity=contiguity, within=draw(st.sampled_from([None, None, 4])))
    is_keyed = draw(st.booleans())
    names = draw(st.sampled_from([("r",), ("a", "r"), ("a", "r"), ("a", "r", "c")]))
    bound: dict[str, Any] = {"a": inputs[0], "r": run, "c": inputs[2]}
    slots = {name: bound[name] for name in names}
    if names == ("r",):
        restrict: Any = most_recently("r") if is_recent else fifo()
        where = RUN_WHERE[draw(st.sampled_from(["none", "of the run"]))]
        yields: Any = lambda r: [one.size for one in r]  # noqa: E731 - the body of one kind
    else:
        order = tuple(draw(st.permutations(names)))
        how = draw(st.sampled_from(["any", "relaxed", "strict"])) if is_recent else "strict"
        restrict = in_sequence(*order, contiguity=how)
        if is_recent:
            restrict |= most_recently(*dict.fromkeys((*order[:-1], "r", *draw(st.sampled_from([(), order[-1:]])))))
        restrict = restricted(draw, restrict, order, order[-1])
        where = RUN_WHERE[draw(st.sampled_from(list(RUN_WHERE)))]
        yields = lambda a, r: (a.size, [one.size for one in r])  # noqa: E731 - likewise
    if is_keyed:
        restrict = key_by(**dict.fromkeys(names, "key")) | restrict
    return inputs, is_keyed, correlate(slots=slots, where=where, yields=yields, restrict=restrict)


@st.composite
def cases(draw, programs):
    """A program and a trace; events of one key never overlap, but points may be of one time; those of two keys may."""
    inputs, is_keyed, output = draw(programs)
    ends, trace, were_points = {1: 0, 2: 0}, [], {1: True, 2: True}
    items = st.tuples(st.sampled_from(inputs), st.integers(0, 3), st.sampled_from([1, 1, 2, None]), st.integers(0, 5))
    for source, size, key, draws in draw(st.lists(items, min_size=2, max_size=12)):
        group = (key or 1) if is_keyed else 1
        is_tied, were_points[group] = were_points[group] and draws in (2, 3), draws != 4
        start = ends[group] + (not is_tied) + (draws == 5) * 3
        ends[group] = start + (draws == 4) * 2
        trace.append((source, {"size": size, "key": key}, (start, ends[group])))
    return output, trace


def shown(events):
    return [(event.value, event.start, event.end, event.weight, event.reactive) for event in events]


def check(output, trace):
    """Run both ways; return how much came out."""
    engine, tracker, given = Engine(output, tier="reference"), Tracker(output), 0
    for source, value, at in trace:
        if source not in engine.inputs.values():
            continue
        expected = shown(engine.push(source, value, at=at))
        assert shown(tracker.push(source, value, at=at)) == expected, output.pattern.restrictions
        given += len(expected)
        for running in tracker._runs.values():
            assert CONFLICT not in running.registers.values()
            most = [tracker.transducer.steps(tag) for tag in tracker.transducer.tags]
            assert running.counts.latest.total <= max(steps.total for steps in most)
            assert running.counts.latest.levels <= max(steps.levels for steps in most)
            assert running.counts.latest.parallel <= max(steps.parallel for steps in most)
            assert len(running.registers) == len(tracker.transducer.states)
    return given


@for_all(cases(plain()))
def test_sequences_of_events_give_what_the_memory_gives(case):
    check(*case)


@for_all(cases(growing()))
def test_runs_that_grow_give_what_the_memory_gives(case):
    check(*case)


def test_what_has_no_key_is_in_no_run():
    level = Reactive("level")
    runs = correlate(
        xs=one_or_more(level),
        yields=lambda xs: [x.n for x in xs],
        restrict=key_by(xs="key") | most_recently("xs"),
        name="runs",
    )
    check(runs, [(level, {"n": n, "key": key}, (n, n)) for n, key in enumerate([1, None, 1, None])])
