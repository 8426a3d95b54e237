"""Restrictions that users write: the five of `examples.restrictions`, and those of DESIGN section 3 as printed.

Each is compared with an oracle written from its docstring, keyed with one engine a key, and a run with one that is
restored from a snapshot between any two pushes.
"""

from __future__ import annotations

import ast
import doctest
import inspect
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, reduce
from itertools import accumulate
from operator import or_
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import cartesius
import restrictions
from cartesius import (
    Duration,
    Engine,
    Reactive,
    Restriction,
    Slot,
    Slots,
    arrive,
    correlate,
    displace,
    forward,
    handles,
    memory,
    notify_at,
    push,
    select,
    state,
    tick,
)
from examples.restrictions import __main__ as command
from examples.restrictions import episodes, failing_over, good_until, latching, spreading
from restrictions import affinely, at_most, key_by, most_recently

if TYPE_CHECKING:
    from collections.abc import Callable

# --------------------------------------------------------------------------- as printed in section 3 of the design


class debouncing(Restriction):
    """Let an event of `slot` through once `quiet` has passed without another."""

    slot: Slot
    quiet: Duration
    latest = state(None)

    @handles(arrive, "slot")
    def hold(self, slot, event):
        self.latest = event
        notify_at(event.end + self.quiet)

    @handles(tick)
    def let_through(self, now):
        if self.latest and self.latest.end + self.quiet < now:
            event, self.latest = self.latest, None
            arrive(self.slot, event)  # on to the next gate


class nearest(Restriction):
    """Of the matches of one push, keep the one whose parts are closest in time."""

    slots: Slots

    @handles(select)
    def closest(self, matches):  # lazy; nothing is spent before it is chosen
        best = min(matches, key=lambda match: match.end - match.start, default=None)
        return forward([best] if best else [])


class top(Restriction):
    """Keep the `n` entries of `slots` that rank highest."""

    slots: Slots
    n: int
    by: Callable

    @handles(push, "slots")
    def rank(self, slot, entry):
        for loser in sorted(memory(slot), key=lambda e: self.by(e.value), reverse=True)[self.n :]:
            displace(slot, loser)
        forward(slot, entry)


# ------------------------------------------------------------------------------------------------------------- oracles


@dataclass(frozen=True)
class Happening:
    """A step of a trace: an event of `left` or `right`, that time passes ("clock"), or nothing."""

    side: str
    k: int
    m: int
    at: int
    n: int  # its place in the trace

    @property
    def until(self):
        return self.at + self.m


def product(trace, is_there):
    """For each step the pairs with its event, of what is there then; left outermost, newest first."""
    for now in trace:
        there = [
            one for one in reversed(trace[: now.n + 1]) if one.side in ("left", "right") and is_there(one, now, trace)
        ]
        yield [
            (left, right)
            for left in there
            for right in there
            if left.side == "left" and right.side == "right" and now in (left, right)
        ]


def since(one, now, trace):
    """What came on the same side after `one`, up to now."""
    return [other for other in trace[one.n + 1 : now.n + 1] if other.side == one.side]


def let_through(one, now, trace):
    """Preferred events (m ≥ 5) of left; others only after more than 3 without one."""
    preferred = [other for other in trace[: one.n] if other.side == "left" and other.m >= 5]
    return one.side == "right" or one.m >= 5 or all(one.at > other.at + 3 for other in preferred)


def of_this_episode(one, now, trace):
    """Nothing that begins an episode (m = 0) has come after it, on either side."""
    return not any(other.m == 0 for other in trace[one.n + 1 : now.n + 1] if other.side != "clock")


def latest_or_latched(one, now, trace):
    """The latest of left, and alarms (m ≥ 7) after which nothing cleared (m = 0)."""
    later = since(one, now, trace)
    return one.side == "right" or not later or (one.m >= 7 and not any(other.m == 0 for other in later))


def among_the_best(one, now, trace):
    """One of the two of left with the highest m; of equals the newest."""
    rivals = [other for other in trace[: now.n + 1] if other.side == one.side]
    return one.side == "right" or one in sorted(rivals, key=lambda other: (other.m, other.n))[-2:]


def spread(trace):
    """Left takes part in two results, right in one; the left with the most uses left goes first, then the newest."""
    uses = {}
    for now in trace:
        uses[now] = {"left": 2, "right": 1, "clock": 0}[now.side]
        pairs = []
        while able := [pair for pair in _with(now, uses) if all(uses[part] for part in pair)]:
            most = max(uses[left] for left, _ in able)
            pairs.append(next(pair for pair in able if uses[pair[0]] == most))
            for part in pairs[-1]:
                uses[part] -= 1
        yield pairs


def within_their_time(trace):
    """Each event in one result, newest first, where left.m ≥ right.m; a left is gone once the clock is past `until`."""
    uses = {}
    for now in trace:
        uses = {one: 1 for one in uses if one.side == "right" or one.until >= now.at}
        uses[now] = 1
        yield _spend(now, uses, [pair for pair in _with(now, uses) if pair[0].m >= pair[1].m][:1])


def closest_in_time(trace):
    """Each event in one result: of what a new event makes possible the pair that is closest in time, then newest."""
    uses = {}
    for now in trace:
        uses[now] = 1
        pairs = sorted(_with(now, uses), key=lambda pair: abs(pair[0].at - pair[1].at))
        yield _spend(now, uses, pairs[:1])


def _with(now, present):
    """The pairs with `now` among what is present, left outermost, newest first."""
    there = sorted(present, key=lambda one: -one.n)
    lefts, rights = ([one for one in there if one.side == side] for side in ("left", "right"))
    return [(left, right) for left in lefts for right in rights if now in (left, right)]


def _spend(now, uses, pairs):
    for pair in pairs:
        for part in pair:
            del uses[part]
    return pairs


def after_quiet(trace):
    """A left comes once the clock is more than 3 past it, unless another left came before that; first what is due."""
    there = []
    for now in trace:
        pairs = []
        for one in trace[: now.n]:
            following = next((other for other in trace[one.n + 1 :] if other.side == "left"), None)
            is_last = following is None or following.at > one.at + 3
            if one.side == "left" and is_last and one not in there and now.at > one.at + 3:
                pairs += [(one, right) for right in reversed(there) if right.side == "right"]
                there.append(one)
        if now.side == "right":
            pairs += [(left, now) for left in reversed(there) if left.side == "left"]
            there.append(now)
        yield pairs


# ----------------------------------------------------------------------------------------------------------- the cases


@dataclass(frozen=True)
class Case:
    """A restriction, what it should do, and a trace by hand with its results (left, right) for each step."""

    restriction: Any
    oracle: Callable
    by_hand: str
    results: dict
    beside: Any = None
    """Other restrictions, left of it."""
    where: Any = None
    in_order: bool = True
    """Whether events come in the order of their times, which move the clock."""

    @property
    def engine(self):
        return {"lateness": 0} if self.in_order else {}


def defined(is_there):
    return lambda trace: product(trace, is_there)


# A trace by hand: side and m, "@" and the time, for each step; "-" is the clock alone.
CASES = {
    "failing_over": Case(
        failing_over("left", 3, lambda value: value.m >= 5),
        defined(let_through),
        "r1@0 l1@1 l9@2 l2@5 l3@6 l4@6 l8@7 l4@9",
        {1: [(1, 0)], 2: [(2, 0)], 4: [(4, 0)], 5: [(5, 0)], 6: [(6, 0)]},
    ),
    "episodes": Case(
        episodes("left", "right", begins=lambda value: value.m == 0),
        defined(of_this_episode),
        "l1@0 r2@1 l0@2 r3@3 l4@4 r0@5 l1@6",
        {1: [(0, 1)], 3: [(2, 3)], 4: [(4, 3)], 6: [(6, 5)]},
    ),
    "latching": Case(
        latching("left", alarms=lambda value: value.m >= 7, clears=lambda value: value.m == 0),
        defined(latest_or_latched),
        "l9@0 l8@1 l3@2 l2@3 r1@4 l0@5 r1@6",
        {4: [(3, 4), (1, 4), (0, 4)], 5: [(5, 4)], 6: [(5, 6)]},
        beside=most_recently("left"),
    ),
    "spreading": Case(
        spreading("left"),
        spread,
        "l1@0 l2@1 r1@2 r2@3 r3@4 r4@5 r5@6 r6@7 l3@8",
        {2: [(1, 2)], 3: [(0, 3)], 4: [(1, 4)], 5: [(0, 5)], 8: [(8, 7), (8, 6)]},
        beside=at_most(2, "left") | affinely("right"),
    ),
    "good_until": Case(
        good_until("left"),
        within_their_time,
        "l9@0 l3@1 r2@4 l2@5 r1@8 l0@10 l1@10 r1@11 -0@12 r1@12",
        {2: [(1, 2)], 4: [(0, 4)], 7: [(6, 7)]},
        beside=affinely("left", "right"),
        where=lambda left, right: left.m >= right.m,
    ),
    "debouncing": Case(
        debouncing("left", 3),
        after_quiet,
        "r1@0 l1@1 l2@3 l3@6 r4@9 -0@9 -0@10 l5@11 l6@20",
        {6: [(3, 4), (3, 0)], 8: [(7, 4), (7, 0)]},
    ),
    "nearest": Case(
        nearest("left", "right"),
        closest_in_time,
        "l1@0 l2@4 l3@8 r1@5 r2@5 r3@5 r4@6 r5@2 l4@5",
        {3: [(1, 3)], 4: [(2, 4)], 5: [(0, 5)], 8: [(8, 6)]},
        beside=affinely("left", "right"),
        in_order=False,
    ),
    "top": Case(
        top("left", n=2, by=lambda value: value.m),
        defined(among_the_best),
        "l5@0 l3@1 r1@2 l3@3 l2@4 l9@5 r1@6",
        {2: [(1, 2), (0, 2)], 3: [(3, 2)], 5: [(5, 2)], 6: [(5, 6), (0, 6)]},
    ),
}
LEFT, RIGHT = Reactive("left"), Reactive("right")


@cache
def program(name, *, keyed):
    """One correlation for all examples: an engine does not change it."""
    case = CASES[name]
    return correlate(
        left=LEFT,
        right=RIGHT,
        where=case.where,
        yields=lambda left, right: (left.k, left.n, right.n),
        restrict=composed(key_by(left="k", right="k") if keyed else None, case.beside, case.restriction),
        name="out",
    )


def composed(*layers):
    """The restrictions side by side, apart from those that are None."""
    return reduce(or_, [layer for layer in layers if layer is not None])


def started(name, *, keyed):
    return Engine(program(name, keyed=keyed), **CASES[name].engine)


def step(engine, one):
    """Let one thing happen; return what comes out, with its times."""
    if one.side == "clock":
        events = engine.advance(one.at)
    elif one.side == "nothing":
        events = []
    else:
        value = {"k": one.k, "n": one.n, "m": one.m, "until": one.until}
        events = engine.push({"left": LEFT, "right": RIGHT}[one.side], value, at=one.at)
    engine._check_invariants()
    return [(event.value, event.start, event.end, event.weight) for event in events]


def emitted(name, trace, *, keyed):
    engine = started(name, keyed=keyed)
    return [step(engine, one) for one in trace]


def expected(name, trace):
    """What the oracle says, as events: the hull of the two times."""
    return [
        [((left.k, left.n, right.n), *sorted((left.at, right.at)), 1) for left, right in pairs]
        for pairs in CASES[name].oracle(trace)
    ]


def seen_by(name, key, trace):
    """The trace as the key sees it: what concerns another key lets time pass, if events move the clock at all."""
    other = "clock" if CASES[name].in_order else "nothing"
    return [one if one.k == key else Happening(other, key, 0, one.at, one.n) for one in trace]


def of_key(key, steps):
    return [[event for event in events if event[0][0] == key] for events in steps]


@st.composite
def traces(draw, *, in_order):
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from(("left", "right", "left", "right", "clock")),
                st.integers(0, 1),
                st.integers(0, 9),
                st.integers(0, 4),
            ),
            max_size=14,
        )
    )
    times = list(accumulate(gap for *_, gap in rows))
    if not in_order:
        rows = [row for row in rows if row[0] != "clock"]
        times = [time * 7 % 11 for time in times[: len(rows)]]
    return [Happening(side, k, m, at, n) for n, ((side, k, m, _), at) in enumerate(zip(rows, times, strict=True))]


def by_hand(text):
    sides = {"l": "left", "r": "right", "-": "clock"}
    return [
        Happening(sides[word[0]], 0, int(word[1]), int(word[3:]), n)
        for n, word in enumerate(text.split())
        if word[2] == "@"
    ]


every_case = pytest.mark.parametrize("name", CASES)
keyed_or_not = pytest.mark.parametrize("keyed", [False, True], ids=["unkeyed", "keyed"])


# ----------------------------------------------------------------------------------------------------------- the tests


@every_case
@keyed_or_not
def test_a_trace_by_hand(name, keyed):
    trace = by_hand(CASES[name].by_hand)
    got = {
        n: [value[1:] for value, *_ in events] for n, events in enumerate(emitted(name, trace, keyed=keyed)) if events
    }
    assert got == CASES[name].results
    assert expected(name, trace) == emitted(name, trace, keyed=keyed)  # so the oracle is not wrong in the same way


@every_case
@given(data=st.data())
def test_it_does_what_its_docstring_says(name, data):
    trace = data.draw(traces(in_order=CASES[name].in_order))
    assert emitted(name, trace, keyed=False) == expected(name, trace)


@every_case
@given(data=st.data())
def test_under_keys_each_key_is_on_its_own(name, data):
    trace = data.draw(traces(in_order=CASES[name].in_order))
    got = emitted(name, trace, keyed=True)
    for key in (0, 1):
        alone = seen_by(name, key, trace)
        assert of_key(key, got) == expected(name, alone)
        assert of_key(key, got) == emitted(name, alone, keyed=False)
    assert {value[0] for events in got for value, *_ in events} <= {0, 1}


@every_case
@keyed_or_not
@settings(max_examples=settings().max_examples // 4)  # each of them is some ten restores
@given(data=st.data())
def test_a_snapshot_between_any_two_steps_changes_nothing(name, keyed, data):
    trace = data.draw(traces(in_order=CASES[name].in_order))
    output = program(name, keyed=keyed)
    straight = restored = started(name, keyed=keyed)
    for one in trace:
        restored = Engine.restore(restored.snapshot(), output, **CASES[name].engine)
        assert restored.stats == straight.stats
        assert restored.next_deadline == straight.next_deadline
        straight_gives = step(straight, one)
        assert step(restored, one) == straight_gives


@every_case
def test_without_the_restriction_the_trace_by_hand_gives_something_else(name):
    """Else the comparisons above could not fail."""
    case = CASES[name]
    output = correlate(
        left=LEFT,
        right=RIGHT,
        where=case.where,
        yields=lambda left, right: (left.k, left.n, right.n),
        restrict=case.beside,
        name="out",
    )
    engine = Engine(output, **case.engine)
    got = {n: [value[1:] for value, *_ in step(engine, one)] for n, one in enumerate(by_hand(case.by_hand))}
    assert {n: pairs for n, pairs in got.items() if pairs} != case.results


# --------------------------------------------------------------------------------------------------------- the examples

MODULES = {name: module for name, (module, _) in command.SHOWN.items()}
every_module = pytest.mark.parametrize("name", MODULES)


@every_module
def test_it_is_a_class_of_fewer_than_15_lines(name):
    kind = command.SHOWN[name][1]
    lines, _ = inspect.getsourcelines(kind)
    said = inspect.getsource(kind.plan) if "plan" in vars(kind) else ""  # what it is, besides what it does
    assert 5 < len(lines) - said.count("\n") < 15
    assert lines[0] == f"class {name}(Restriction):\n"


@every_module
def test_it_needs_public_names_alone(name):
    public = {
        "cartesius": cartesius.__all__,
        "restrictions": restrictions.__all__,
        "cartesius.plan": dir(cartesius.plan),
    }
    imports = [node for node in ast.parse(inspect.getsource(MODULES[name])).body if isinstance(node, ast.ImportFrom)]
    found = {str(node.module): {alias.name for alias in node.names} for node in imports}
    assert found.keys() - {"typing", "collections.abc", "cartesius.plan"} == {"cartesius", "restrictions"}
    for module, names in public.items():
        assert found.get(module, set()) <= set(names)


@every_module
def test_its_doctest_runs(name):
    outcome = doctest.testmod(MODULES[name])
    assert outcome.attempted > 3
    assert outcome.failed == 0


@every_module
def test_its_example_survives_snapshots(name):
    output, trace = MODULES[name].example()
    straight = restored = Engine(output, lateness=0)
    results = 0
    for reactive, value, at in trace:
        restored = Engine.restore(restored.snapshot(), output, lateness=0)
        events = straight.push(reactive, value, at=at)
        assert restored.push(reactive, value, at=at) == events
        results += len(events)
    assert results


def test_a_duration_may_be_a_timedelta():
    results = []
    for silence in (10, timedelta(microseconds=10)):
        fixes = correlate(
            x=LEFT, yields=lambda x: x.at, restrict=failing_over("x", silence, lambda x: x.by == "gps"), name="fixes"
        )
        engine = Engine(fixes)
        reports = [("gps", 0), ("radar", 10), ("radar", 11)]
        results.append([e.value for by, at in reports for e in engine.push(LEFT, {"by": by, "at": at}, at=at)])
    assert results == [[0, 11], [0, 11]]


def test_the_command_shows_all_five():
    outcome = CliRunner().invoke(command.main, [])
    assert outcome.exit_code == 0
    for name, module in MODULES.items():
        assert f"class {name}(Restriction):" in outcome.output
        output, trace = module.example()
        engine = Engine(output, lateness=0)
        results = [event.value for one in trace for event in engine.push(*one)]
        assert results
        for value in results:
            assert set(value.split()) <= set(outcome.output.split())


def test_the_command_shows_what_is_asked_for():
    outcome = CliRunner().invoke(command.main, ["spreading", "--no-source"])
    assert outcome.exit_code == 0
    assert "Cid takes 4" in outcome.output
    assert "class " not in outcome.output
    assert "episodes" not in outcome.output


def test_the_command_refuses_what_there_is_not():
    outcome = CliRunner().invoke(command.main, ["zip"])
    assert outcome.exit_code == 2
    assert "'latching'" in outcome.output
