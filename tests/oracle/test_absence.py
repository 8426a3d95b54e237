"""`without` against brute force over all events and clock times: when a row is decided, and whether it may come.

The reference keeps every event for ever. It makes the rows when their last part arrives, from plain lists, and asks of
each, once the clock is past its last time, whether any event that was ever pushed forbids it. Written from SEMANTICS
3.1, 3.3, 3.11 and 1.5 and the docstring of `without`, without reading the implementation.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import product
from operator import or_
from typing import Any, NamedTuple

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import affinely, key_by, most_recently, without
from tests.oracle.version_oracle import Item

# For what another property of this file looks at, too.
fewer = settings(max_examples=settings().max_examples // 2)

SLOTS = ("a", "b")


class Push(NamedTuple):
    """An event of a slot, or of ``c``."""

    slot: str
    start: int
    end: int
    value: Item


class Advance(NamedTuple):
    time: int


class Absent(NamedTuple):
    """One `without`: how, and its duration."""

    how: str
    within: int = 0


@dataclass(frozen=True)
class Program:
    """Rows of the slots, of which ``c`` must not come."""

    absences: tuple[Absent, ...]
    slots: tuple[str, ...] = ("a",)
    keys: str = "none"  # by which parts and absent events belong together: none, key_by, where
    is_bound: bool = False  # whether c is a variable
    latest: bool = False  # of a
    once: bool = False  # each event of the slots


# ------------------------------------------------------------------------------------------------------ the reference


class Row(NamedTuple):
    parts: tuple[Push, ...]
    places: tuple[int, ...]  # in the order of arrival
    last: float  # once the clock is past it, the row is decided

    @property
    def names(self):
        return tuple(part.value.n for part in self.parts)

    @property
    def rank(self):
        return tuple(-place for place in self.places)


@dataclass
class Reference:
    """All events that were ever there, and the rows that they made."""

    program: Program
    clock: float = -math.inf
    arrived: int = 0
    memory: dict[str, list[tuple[int, Push]]] = field(default_factory=lambda: {slot: [] for slot in SLOTS})
    absent: list[Push] = field(default_factory=list)
    held: list[Row] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    late: list[Push] = field(default_factory=list)

    def belong(self, *parts):
        return self.program.keys == "none" or len({part.value.k for part in parts}) == 1

    def last(self, parts):
        a, b = parts[0], parts[-1]
        times = {
            "after": lambda d: a.end + d,
            "before": lambda _: a.start - 1,
            "between": lambda _: b.end,
        }
        return max(times[how](within) for how, within in self.program.absences)

    def forbidden(self, parts):
        a, b = parts[0], parts[-1]

        def are_tied(x, y):
            return x.start == x.end == y.start == y.end

        def precedes(x, y):
            return x.end < y.start or (are_tied(x, y) and x.value.n < y.value.n)

        between = {
            "after": lambda c, d: precedes(a, c) if are_tied(a, c) else a.end < c.end <= a.end + d,
            "before": lambda c, d: precedes(c, a) if are_tied(a, c) else a.start - d <= c.end < a.start,
            "between": lambda c, _: precedes(a, c) and precedes(c, b),
        }
        mine = [c for c in self.absent if self.belong(c, *parts)]
        return any(between[how](c, within) for how, within in self.program.absences for c in mine)

    def let_through(self, rows):
        """Rows that are decided, in order: those that nothing forbids, and whose parts have a use left."""
        out = []
        for row in rows:
            if self.forbidden(row.parts) or (self.program.once and self.used & set(row.places)):
                continue
            self.used |= set(row.places)
            out.append(row)
        return out

    def step(self, step):
        """Return the rows that come, in order."""
        if isinstance(step, Advance):
            self.clock = max(self.clock, step.time)
            due = [row for row in self.held if row.last < self.clock]
            self.held = [row for row in self.held if row.last >= self.clock]
            return self.let_through(sorted(due, key=lambda row: (row.last, row.rank)))
        if step.end < self.clock:
            self.late.append(step)
            return []
        if step.slot == "c":
            self.absent.append(step)
            return []
        self.arrived += 1
        mine = self.memory[step.slot]
        if self.program.latest and step.slot == "a":
            is_keyed = self.program.keys == "key_by"
            mine[:] = [(n, other) for n, other in mine if is_keyed and not self.belong(other, step)]
        mine.append((self.arrived, step))
        rows = []
        for chosen in product(*(self.memory[slot] for slot in self.program.slots)):
            places, parts = zip(*chosen, strict=True)
            spent = self.program.once and self.used & set(places)
            if self.arrived in places and self.belong(*parts) and not spent:
                rows.append(Row(parts, places, self.last(parts)))
        rows.sort(key=lambda row: row.rank)
        self.held += [row for row in rows if row.last >= self.clock]
        return self.let_through([row for row in rows if row.last < self.clock])


def test_the_reference_knows_the_bounds():
    reference = Reference(Program((Absent("after", 5),)))
    for push in (Push("a", 1, 1, Item(0, 0, 1)), Push("a", 2, 2, Item(0, 0, 2)), Push("c", 6, 6, Item(0, 0, 3))):
        assert reference.step(push) == []
    assert reference.step(Advance(7)) == []
    assert reference.step(Advance(8)) == []
    reference = Reference(Program((Absent("after", 5),)))
    reference.step(Push("c", 1, 1, Item(0, 0, 1)))  # of one time, but before it
    reference.step(Push("a", 1, 1, Item(0, 0, 2)))
    reference.step(Push("c", 7, 7, Item(0, 0, 3)))
    assert reference.step(Advance(6)) == []
    assert [row.names for row in reference.step(Advance(7))] == [(2,)]
    reference = Reference(Program((Absent("after", 5),)))
    reference.step(Push("a", 1, 1, Item(0, 0, 1)))
    reference.step(Push("c", 1, 1, Item(0, 0, 2)))  # of one time, and after it
    assert reference.step(Advance(7)) == []


# ------------------------------------------------------------------------------------------------- programs and traces


def build(program):
    a, b, c = Reactive("a"), Reactive("b"), Reactive("c")
    inputs = {"a": a, "b": b, "c": c}
    forms: dict[str, dict[str, Any]] = {"after": {"after": "a"}, "before": {"before": "a"}}
    restrict = [
        without("c" if program.is_bound else c, between=SLOTS)
        if how == "between"
        else without("c" if program.is_bound else c, within=within, **forms[how])
        for how, within in program.absences
    ]
    if program.once:
        restrict.append(affinely(*program.slots))
    if program.latest:
        restrict.append(most_recently("a"))
    if program.keys == "key_by":
        restrict.insert(0, key_by(**dict.fromkeys((*program.slots, "c"), "k")))
    variables = {slot: inputs[slot] for slot in (*program.slots, *("c" * program.is_bound))}
    wheres: dict[tuple[str, ...], Any] = {
        ("a",): None,
        ("a", "c"): lambda a, c: a.k == c.k,
        ("a", "b"): lambda a, b: a.k == b.k,
        ("a", "b", "c"): lambda a, b, c: (a.k == b.k) & (b.k == c.k),
    }
    yields: dict[tuple[str, ...], Any] = {("a",): lambda a: (a.n,), ("a", "b"): lambda a, b: (a.n, b.n)}
    output = correlate(
        slots=variables,
        where=wheres[tuple(variables)] if program.keys == "where" else None,
        yields=yields[program.slots],
        restrict=reduce(or_, restrict),
        name="out",
    )
    return inputs, output


DURATION = st.integers(0, 4)
TIMED = st.builds(Absent, st.sampled_from(["after", "before"]), DURATION)


@st.composite
def programs(draw, /, *, several=False, may_consume=True):
    slots = draw(st.sampled_from([("a",), ("a", "b")]))
    one = TIMED if slots == ("a",) else st.one_of(TIMED, st.just(Absent("between")))
    absences = draw(st.lists(one, min_size=2, max_size=3)) if several else [draw(one)]
    is_bound = draw(st.booleans())
    keys = draw(st.sampled_from(["none", "key_by", *(["where"] * is_bound)]))
    once = may_consume and draw(st.booleans())
    return Program(tuple(absences), slots, keys, is_bound, latest=may_consume and draw(st.booleans()), once=once)


@st.composite
def traces(draw, program, /, *, max_size=12, has_late=False):
    """Events in any order; an interval begins after the clock, so that what comes before it is known."""
    out: list[Push | Advance] = []
    clock = 0
    for number in range(draw(st.integers(0, max_size))):
        if draw(st.integers(0, 3)) == 0:
            clock += draw(st.integers(0, 4))
            out.append(Advance(clock))
        end = clock + draw(st.integers(-2 if has_late else 0, 5))
        start = max(min(clock, end), end - draw(st.integers(0, 2)))
        slot = draw(st.sampled_from([*program.slots, "c"]))
        out.append(Push(slot, start, end, Item(draw(st.integers(0, 1)), 0, number)))
    return out


@st.composite
def cases(draw, /, *, several=False, may_consume=True, has_late=False):
    program = draw(programs(several=several, may_consume=may_consume))
    return program, draw(traces(program, has_late=has_late))


def check(case, restored=frozenset()):
    program, trace = case
    inputs, output = build(program)
    engine, reference = Engine(output), Reference(program)
    for place, step in enumerate([*trace, Advance(1_000)]):
        if place in restored:
            blob = engine.snapshot()
            engine = Engine.restore(blob, output)
            assert engine.snapshot() == blob
        check_step(engine, inputs, reference, step)
    assert [(event.value.n, event.end) for event, _, _ in engine.late] == [(e.value.n, e.end) for e in reference.late]
    assert engine.stats.waiting == 0
    assert engine.next_deadline is None
    if program.slots == ("a",) and not (program.latest or program.once):
        assert engine.stats.retained == 0


def check_step(engine, inputs, reference, step):
    if isinstance(step, Advance):
        emitted = engine.advance(step.time)
    else:
        emitted = engine.push(inputs[step.slot], step.value, at=(step.start, step.end))
    engine._check_invariants()
    come = reference.step(step)
    assert Counter(event.value for event in emitted) == Counter(row.names for row in come)
    hulls = {row.names: (min(p.start for p in row.parts), max(p.end for p in row.parts)) for row in come}
    assert all((event.start, event.end) == hulls[event.value] for event in emitted)
    if len(reference.program.absences) == 1:  # of several, one may forbid a row before another has decided
        check_order_and_memory(engine, reference, emitted, come)


def check_order_and_memory(engine, reference, emitted, come):
    program = reference.program
    key_of = {row.names: row.parts[0].value.k if program.keys == "key_by" else 0 for row in come}
    for key in set(key_of.values()):  # each key has a step of its own
        mine = [event.value for event in emitted if key_of[event.value] == key]
        assert mine == [row.names for row in come if key_of[row.names] == key]
    if reference.held:
        assert engine.next_deadline is not None
        assert engine.next_deadline <= min(row.last for row in reference.held) + 1
    if program.slots == ("a",) and not (program.latest or program.once):
        assert engine.stats.slots["out", "a"] == (0, len(reference.held))
        ((_, within),) = program.absences
        needed = [event for event in reference.absent if event.end + within >= reference.clock]
        assert engine.stats.slots["out", "c"] == (len(needed), 0)


# ---------------------------------------------------------------------------------------------------------- brute force


@fewer
@given(case=cases(may_consume=False))
def test_a_row_comes_when_the_clock_has_decided_that_nothing_forbids_it(case):
    check(case)


@given(case=cases(has_late=True))
def test_uses_are_spent_by_what_comes_and_late_events_change_nothing(case):
    check(case)


@fewer
@given(case=cases(several=True, may_consume=False))
def test_a_row_must_pass_several(case):
    check(case)


@fewer
@given(case=cases(has_late=True), restored=st.sets(st.integers(0, 16), max_size=3))
def test_a_restored_engine_goes_on_as_if_nothing_had_happened(case, restored):
    check(case, restored)


@fewer
@given(case=cases(may_consume=False, has_late=True), data=st.data())
def test_what_the_clock_decides_does_not_depend_on_the_order_of_arrival_of_different_times(case, data):
    program, trace = case
    points = Counter(step.end for step in trace if isinstance(step, Push) and step.start == step.end)
    assume(max(points.values(), default=0) <= 1)
    found = []
    for is_permuted in (False, True):
        inputs, output = build(program)
        engine = Engine(output)
        out: list[Counter[Any]] = [Counter()]
        pushes: list[Push] = []
        for step in [*trace, Advance(1_000)]:
            if isinstance(step, Push):
                pushes.append(step)
                continue
            for push in data.draw(st.permutations(pushes)) if is_permuted else pushes:
                out[-1].update(event.value for event in engine.push(inputs[push.slot], push.value, at=push[1:3]))
            pushes = []
            out.append(Counter(event.value for event in engine.advance(step.time)))
        found.append(out)
    assert found[0] == found[1]


@fewer
@given(case=cases(may_consume=False), lateness=st.integers(0, 3))
def test_an_engine_with_a_lateness_moves_the_clock_itself(case, lateness):
    program, trace = case
    inputs, output = build(program)
    engine, reference = Engine(output, lateness=lateness), Reference(program)
    latest = -1_000
    for push in trace:
        if isinstance(push, Push):
            latest = max(latest, push.end)
            point = push._replace(start=push.end) if "before" in {a.how for a in program.absences} else push
            come = reference.step(Advance(latest - lateness)) + reference.step(point)
            emitted = engine.push(inputs[push.slot], push.value, at=(point.start, point.end))
            assert Counter(event.value for event in emitted) == Counter(row.names for row in come)
    come = reference.step(Advance(1_000))
    assert Counter(event.value for event in engine.close()) == Counter(row.names for row in come)


@fewer
@given(case=cases(may_consume=False))
def test_two_of_one_kind_are_the_longer_of_them(case):
    """The law; it does not state the order of several keys that are decided at one time."""
    program, trace = case
    (how, within), shorter = program.absences[0], max(0, program.absences[0].within - 1)
    one, other = Absent(how, within), Absent(how, shorter)
    found = [values(replace(program, absences=absences), trace) for absences in ((one,), (one, other), (other, one))]
    assert found[0] == found[1] == found[2]


def values(program, trace):
    inputs, output = build(program)
    engine = Engine(output)
    out = []
    for step in [*trace, Advance(1_000)]:
        if isinstance(step, Advance):
            emitted = [event.value for event in engine.advance(step.time)]
        else:
            emitted = [event.value for event in engine.push(inputs[step.slot], step.value, at=(step.start, step.end))]
        out.append(sorted(emitted) if program.keys == "key_by" else emitted)
    return out
