"""Bounds as numbers against counters at run time: never more is held or done than is said, and some traces reach it.

The counters look from outside: they compare what memories and restrictions hold before and after each push, and count
the combinations that reach the body, and the results that are taken back.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume
from hypothesis import given as for_all
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate, one_or_more, repeated, select
from cartesius.analysis.bounds import bounds_of
from cartesius.automata.transitions import Steps
from cartesius.data.queues import Queue
from cartesius.errors import InvalidArgument
from restrictions import (
    affinely,
    aligning,
    at_most,
    earliest,
    every_nth,
    fifo,
    first_match,
    in_sequence,
    key_by,
    momentarily,
    most_recently,
    only,
    optionally,
    ordered_by,
    retracting,
    separately,
    take,
    tumbling,
    within,
)
from restrictions.gates.folding import accumulating, buffering, distinctly, skipping
from restrictions.gates.signals import sampling

a, b, c = Reactive("a"), Reactive("b"), Reactive("c")
table = Reactive("table", table=True)

# ---------------------------------------------------------------------------------------------------------- counters


def own(join):
    """What restrictions hold: the events of queues one by one, and other values that are not as in the beginning."""
    found: dict[Any, Any] = {}
    for place, one in enumerate(join.installed):
        for key, copy in one.copies.items():
            for field, initial in one.restriction._states.items():
                value = getattr(copy, field)
                parts = value.items() if isinstance(value, dict) else [((), value)] if value != initial else []
                for part, held in parts:
                    if isinstance(held, Queue):
                        found |= {(place, key, field, part, id(event)): event for event in held}
                    else:
                        found[place, key, field, part] = held
    return found


class Meter:
    """An engine whose pushes are measured."""

    def __init__(self, output):
        self.engine = Engine(output, tier="reference")
        (self.join,) = self.engine._program.joins
        self.bounds = bounds_of(self.join, {slot.name: "" for slot in self.join.slots})
        least: dict[str, int] = {}
        for one in self.join.installed:
            if isinstance(one.restriction, at_most):
                for slot in one.named:
                    least[slot.name] = min(least.get(slot.name, one.restriction.n), one.restriction.n)
        self.limited = {name for name, n in least.items() if n > 1}  # one use is no variable beside the place

    def places(self):
        return {slot.name: {entry.number: entry.uses for entry in slot.memory.all()} for slot in self.join.slots}

    def variables(self):
        places = self.places()
        return sum(len(held) * (1 + (name in self.limited)) for name, held in places.items()) + len(own(self.join))

    def push(self, source, value, at=None):
        """Push, and return how many steps that was, by kind."""
        before, tried, mine = self.places(), self.engine.stats.tuples, own(self.join)
        taken = [event.weight for event in self.engine.push(source, value, at=at)].count(-1)
        after, now = self.places(), own(self.join)
        moved = sum(
            max(len(after[name].keys() - held.keys()), len(held.keys() - after[name].keys()))
            for name, held in before.items()
        )
        used = sum(
            held[number] != after[name][number]
            for name, held in before.items()
            for number in held.keys() & after[name].keys()
        )
        changed = len({what for what in mine.keys() | now.keys() if mine.get(what) != now.get(what)})
        return {
            "own": changed,
            "places": moved,
            "taken": taken,
            "tried": self.engine.stats.tuples - tried,
            "used": used,
        }

    def check(self, trace, keys):
        """Push all; return the most that was done for an event of each input, and held."""
        most: dict[str, int] = {}
        held = 0
        is_in_turn = any(
            isinstance(one.restriction, at_most) or any(family is select for _, family, _, _ in one.marks)
            for one in self.join.installed
        )
        for source, value, at in trace:
            if source not in self.engine.inputs.values():
                continue
            found = self.push(source, value, at)
            said = self.bounds.steps[source.name]
            if isinstance(said, str):
                continue  # affinely and aligning, beside a condition: what fails it stays
            assert sum(found.values()) <= said.total, (found, said)
            assert found["own"] <= said.total
            if not is_in_turn:  # then what is tried needs nothing of each other
                assert found["tried"] <= said.parallel, (found, said)
                assert bool(found["own"]) + bool(found["places"] + found["taken"]) + bool(found["tried"]) <= said.levels
            else:
                assert found["tried"] <= said.levels, (found, said)
            most[source.name] = max(most.get(source.name, 0), sum(found.values()))
            held = max(held, self.variables())
            if not self.bounds.unbounded:
                assert self.variables() <= self.bounds.everywhere + self.bounds.for_each_key * keys
        return most, held


# -------------------------------------------------------------------------------------------------------- never more

CONDITIONS: list[Any] = [None, None, lambda time_a, time_b: (time_a.start + time_b.start) * 7 >= 40]


def size(one):
    return len(one) if isinstance(one, list) else one.n


@st.composite
def programs(draw):
    """Correlations whose memory is bounded, by all that bounds it."""
    names = draw(st.sampled_from(["a", "ab", "ab", "abc"]))
    inputs = dict(zip("abc", draw(st.sampled_from([(a, b, c), (a, b, c), (a, a, b)])), strict=True))
    slots = {name: inputs[name] for name in names}
    keeping: list[Any] = [
        most_recently,
        lambda name: most_recently(name, n=2),
        lambda name: earliest(name, n=2),
        momentarily,
    ]
    if draw(st.integers(0, 3)) == 0 and len(names) > 1:
        restrict: Any = affinely(*names)
        is_aligned = True
    else:
        restrict = draw(st.sampled_from(keeping))(names[0])
        for name in names[1:]:
            restrict |= draw(st.sampled_from(keeping))(name)
        is_aligned = len(names) > 1 and draw(st.integers(0, 2)) == 0
    if is_aligned:
        overflow = draw(st.sampled_from(["drop_oldest", "drop_newest"]))
        restrict |= aligning(*names, limit=draw(st.integers(1, 2)), overflow=overflow)
    some = draw(st.sampled_from(names))
    more = [
        at_most(2, some),
        affinely(*names),
        accumulating(some, lambda _, one: one),
        buffering(some, 2),
        distinctly(some, key=size),
        skipping(some, lambda one: size(one) == 0),
        take(3, *names),
        every_nth(2, some),
        take(2),
        first_match(),
        fifo() | ordered_by(lambda match: match.end),
        only(some, lambda one: size(one) > 0),
        within(4, *names),
        retracting(),
        *([in_sequence(*names, contiguity="any")] if len(names) > 1 else [separately()]),
    ]
    for one in draw(st.lists(st.sampled_from(more), max_size=2, unique_by=id)):
        restrict = restrict | one if draw(st.booleans()) else one | restrict
    if draw(st.booleans()):
        restrict = key_by(**dict.fromkeys(names, "key")) | restrict
    where = draw(st.sampled_from(CONDITIONS)) if len(names) > 1 else None
    try:
        return correlate(slots=slots, where=where, yields=lambda: 1, restrict=restrict)
    except InvalidArgument:  # they do not go together
        assume(False)


@for_all(
    programs(),
    st.lists(
        st.tuples(
            st.sampled_from([a, b, c]),
            st.builds(lambda n, key: {"n": n, "key": key}, st.integers(0, 2), st.sampled_from([1, 1, 2])),
            st.integers(0, 9),
        ),
        max_size=14,
    ),
)
def test_never_more_is_held_or_done_than_is_said(output, trace):
    Meter(output).check(trace, keys=2)


# ------------------------------------------------------------------------------------------------------ as much as that


def pairs(restrict, where=None, **slots):
    return correlate(slots=slots or {"a": a, "b": b}, where=where, yields=lambda: 1, restrict=restrict)


ONE = {"a": (2, 2, 1), "b": (2, 2, 1)}
# A program, events that come one after another (or when), its variables (in all, for each key), what an event costs.
TIGHT: list[Any] = [
    (lambda: pairs(most_recently("a", "b")), "abab", (2, 0), ONE),
    (
        lambda: pairs(most_recently("a", n=3) | earliest("b", n=2)),
        "aaabba", (5, 0), {"a": (3, 2, 2), "b": (4, 2, 3)},
    ),
    (lambda: pairs(most_recently("a") | momentarily("b")), "ab", (1, 0), {"a": (1, 1, 1), "b": (1, 1, 1)}),
    (lambda: pairs(key_by(a="key", b="key") | most_recently("a", "b")), "aba", (0, 2), ONE),
    (
        lambda: pairs(most_recently("a", n=2) | most_recently("b") | retracting()),
        "aabab", (3, 0), {"a": (3, 2, 2), "b": (5, 2, 3)},
    ),
    (
        lambda: pairs(most_recently("a", "b") | aligning("a", "b", limit=3)),
        "abaaabbbbaaa", (5, 0), {"a": (4, 3, 2), "b": (4, 3, 2)},
    ),
    (lambda: pairs(affinely("a", "b") | aligning("a", "b", limit=2)), "aabbba", (2, 0), ONE),
    (  # what is let go comes to the gates behind, whichever event lets it go
        lambda: pairs(distinctly("a", key=size) | most_recently("a", "b") | aligning("a", "b", limit=1)),
        "abbaa", (4, 0), {"a": (5, 4, 2), "b": (5, 4, 2)},
    ),
    (
        lambda: pairs(most_recently("a", n=2) | at_most(2, "a") | momentarily("b")),
        "aab", (4, 0), {"a": (1, 1, 1), "b": (4, 3, 2)},
    ),
    (  # of several limits the least holds, and one use is no variable beside the place
        lambda: pairs(affinely("a") | at_most(2, "a") | most_recently("a", n=2) | momentarily("b")),
        "aab", (2, 0), {"a": (1, 1, 1), "b": (4, 3, 2)},
    ),
    (
        lambda: pairs(accumulating("a", lambda _, one: one) | most_recently("a", "b")),
        "bab", (3, 0), {"a": (3, 3, 1), "b": (2, 2, 1)},
    ),
    (
        lambda: pairs(buffering("a", 4) | most_recently("a", "b")),
        "baaaaaaab", (5, 0), {"a": (5, 3, 3), "b": (2, 2, 1)},
    ),
    (lambda: pairs(most_recently("x", "y", n=2), x=a, y=a), "aaa", (4, 0), {"a": (5, 2, 3)}),
    (
        lambda: pairs(most_recently("a", n=4) | momentarily("b"), a=repeated(a, 2), b=b),
        "aaaab", (4, 0), {"a": (1, 1, 1), "b": (6, 1, 6)},
    ),
    (  # what is used beside the event that has just come has been there
        lambda: pairs(most_recently("a", n=2) | at_most(3, "a"), a=repeated(a, 2)),
        "aa", (4, 0), {"a": (3, 3, 1)},
    ),
    (  # a result uses up all of a list
        lambda: pairs(most_recently("a", n=2) | at_most(1, "a") | momentarily("b"), a=repeated(a, 2), b=b),
        "aab", (2, 0), {"a": (1, 1, 1), "b": (3, 2, 2)},
    ),
    (lambda: pairs(most_recently("r", "b"), r=one_or_more(a), b=b), "aba", (2, 0), ONE),
    (
        lambda: pairs(most_recently("a", "b") | in_sequence("a", "b", contiguity="strict")),
        [("a", 1), ("b", 5), ("a", 3), ("b", 7)], (2, 0), ONE,
    ),
    (
        lambda: pairs(take(2, "a", "b") | most_recently("a", "b")),
        "bab", (4, 0), {"a": (3, 3, 1), "b": (3, 3, 1)},
    ),
    (lambda: pairs(affinely("a"), a=a), "aa", (0, 0), {"a": (1, 1, 1)}),
    (lambda: pairs(separately() | momentarily("a", "b")), "ab", (0, 0), {"a": (1, 1, 1), "b": (1, 1, 1)}),
    (
        lambda: pairs(take(2) | most_recently("a", "b")),
        "aba", (3, 0), {"a": (3, 3, 1), "b": (3, 3, 1)},
    ),
    (
        lambda: pairs(most_recently("a", "b", "c", n=2), a=a, b=b, c=c),
        "aabbccab", (6, 0), {"a": (5, 2, 4), "b": (5, 2, 4), "c": (5, 2, 4)},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("make", "trace", "variables", "steps"), TIGHT, ids=range(len(TIGHT)))
def test_some_trace_reaches_what_is_said(make, trace, variables, steps):
    meter = Meter(make())
    assert (meter.bounds.everywhere, meter.bounds.for_each_key) == variables
    assert meter.bounds.steps == {name: Steps(*said) for name, said in steps.items()}
    assert meter.bounds.unbounded == {}
    timed = [step if isinstance(step, tuple) else (step, place) for place, step in enumerate(trace)]
    inputs = {"a": a, "b": b, "c": c}
    most, held = meter.check([(inputs[name], {"n": at, "key": 1}, at) for name, at in timed], keys=1)
    assert most == {name: total for name, (total, _, _) in steps.items()}
    assert held == sum(variables)


def both(reason):
    return dict.fromkeys("ab", reason)


UNBOUNDED: list[Any] = [
    (lambda: pairs(most_recently("b")), {"a"}, {"a": "", "b": "it meets all events of 'a'"}),
    (lambda: pairs(affinely("a", "b")), {"a", "b"}, {"a": "all events of 'b'", "b": "'a', which has no bound"}),
    (
        lambda: pairs(affinely("a", "b") | aligning("a", "b", limit=1), CONDITIONS[-1]),
        {"a", "b"}, both("it meets all events"),  # what fails the condition stays
    ),
    (
        lambda: pairs(skipping("a", bool) | affinely("a", "b") | aligning("a", "b", limit=1)),
        {"a", "b"}, both("it meets all events"),  # what the gate drops leaves its row
    ),
    (
        lambda: pairs(key_by(a="key", b="key") | affinely("a", "b") | aligning("a", "b", limit=1)),
        {"a", "b"}, both("it meets all events"),  # a null key meets nothing, and stays
    ),
    (lambda: pairs(most_recently("a", "b") | aligning("a", "b")), {"aligning('a', 'b')"}, {"a": "", "b": ""}),
    (lambda: pairs(key_by(a="key") | most_recently("a", "b")), set(), {"a": "", "b": "it meets events of 'a' under"}),
    (  # each event comes to both, and meets, as 'a', what has been 'b' before
        lambda: pairs(key_by(b="key") | most_recently("a", "b"), a=a, b=a),
        set(), {"a": "it meets events of 'b' under every key"},
    ),
    (lambda: pairs(most_recently("a", "b") | tumbling(5)), {"a", "b", "tumbling(5)"}, both("all windows")),
    (lambda: pairs(most_recently("a", "b") | sampling("a", "b")), {"sampling('a', 'b')"}, both("does not say")),
    (
        lambda: pairs(most_recently("a", "b") | in_sequence("a", "b", after_match="past_last")),
        {"in_sequence('a', 'b', after_match='past_last')"}, both("does not say in numbers"),
    ),
    (lambda: pairs(most_recently("a"), b=table, a=a), {"b"}, {"a": "'b' is joined with", "table": "a change"}),
    (lambda: pairs(optionally("b") | retracting() | most_recently("a", "b")), set(), both("miss a part")),
]  # fmt: skip


@pytest.mark.parametrize(("make", "unbounded", "steps"), UNBOUNDED, ids=range(len(UNBOUNDED)))
def test_what_has_no_bound_is_named_with_the_reason(make, unbounded, steps):
    found = Meter(make()).bounds
    assert set(found.unbounded) == unbounded
    assert {name: said if isinstance(said, str) else "" for name, said in found.steps.items()}.keys() == steps.keys()
    for name, part in steps.items():
        said = found.steps[name]
        assert (part in said and part != "") if isinstance(said, str) else part == ""


def test_explain_says_it_and_how_a_bounded_sequence_is_a_transducer():
    strict = pairs(key_by(a="key", b="key") | in_sequence("a", "b", contiguity="strict"))
    assert Engine(strict).explain(bounds=True).splitlines()[-8:] == [
        "  variables     0, and what has no bound",
        "  unbounded     a: no restriction bounds it (key_by alone does not)",
        "  unbounded     b: no restriction bounds it (key_by alone does not)",
        "  steps         a: no bound: it meets all events of 'b', which has no bound",
        "  steps         b: no bound: it meets all events of 'a', which has no bound",
        "  transducer    3 variables for each key, as nothing lies between",
        "  its steps     a: 2 at most, on 1 level, 2 at once",
        "  its steps     b: 2 at most, on 1 level, 2 at once",
    ]
    assert "variables" not in Engine(strict).explain()
