"""`within` against brute force: a time band, its unmatched rows late and once or early and corrected, and its memory.

The reference keeps every event for ever. A result stands if its parts are in the band; a row is unmatched if no event
has ever been there that fits. Written without reading the implementation (SEMANTICS 3.3, 3.8, 2.6, 1.14).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import optionally, retracting, within
from tests.oracle.version_oracle import Item

# For what another property of this file looks at, too.
fewer = settings(max_examples=settings().max_examples // 2)

NAMES = ("x", "y", "z")
FORMS: dict[str, tuple[str, ...]] = {"inner": (), "left": ("y",), "right": ("x",), "full": ("x", "y")}


class Push(NamedTuple):
    """An event of a slot."""

    slot: int
    start: int
    end: int
    value: Item


class Advance(NamedTuple):
    time: int


@dataclass(frozen=True)
class Program:
    """A join in a time band; `slots` is how many there are, `banded` those that the band is about."""

    duration: int
    form: str = "inner"
    is_eager: bool = False
    is_keyed: bool = True
    slots: int = 2
    banded: tuple[int, ...] = (0, 1)

    @property
    def is_closed(self) -> bool:
        """Whether the band is about all slots; a pair in it meets the events of any other slot for ever."""
        return len(self.banded) == self.slots

    @property
    def optional(self) -> tuple[str, ...]:
        return FORMS[self.form]


# ------------------------------------------------------------------------------------------------------ the reference


@dataclass
class Reference:
    """All events that were ever there."""

    program: Program
    events: list[list[Push]] = field(default_factory=list)
    clock: float = -math.inf
    reported: set[tuple[int | None, ...]] = field(default_factory=set)

    def __post_init__(self):
        self.events = [[] for _ in range(self.program.slots)]

    def fits(self, parts):
        if self.program.is_keyed and len({part.value.k for part in parts}) > 1:
            return False
        banded = [parts[slot] for slot in self.program.banded]
        return max(part.end for part in banded) - min(part.start for part in banded) <= self.program.duration

    def matches(self):
        return {tuple(part.value.n for part in parts) for parts in product(*self.events) if self.fits(parts)}

    def unmatched(self):
        """Rows of one event, where the other part may be missing and never was there: number by number, by slot."""
        out = {}
        for slot, name in enumerate(NAMES[: self.program.slots]):
            others = set(NAMES[: self.program.slots]) - {name}
            if others <= set(self.program.optional):
                matched = {row[slot] for row in self.matches()}
                for event in self.events[slot]:
                    if event.value.n not in matched:
                        out[tuple(event.value.n if at == slot else None for at in range(self.program.slots))] = event
        return out

    def step(self, step):
        """Return what is taken back and what comes, the latter as rows."""
        before, alone = self.matches(), self.unmatched()
        if isinstance(step, Advance):
            self.clock = max(self.clock, step.time)
        else:
            self.events[step.slot].append(step)
        come = self.matches() - before
        after = self.unmatched()
        if self.program.is_eager:
            return set(alone) - set(after), come | (set(after) - set(alone))
        due = {row for row, event in after.items() if self.clock > event.start + self.program.duration}
        come |= due - self.reported
        self.reported |= due
        return set(), come

    def retained(self):
        """How many events of each slot something can still match: no event with an end before the clock comes."""
        first = self.clock - self.program.duration
        return [sum(event.start >= first for event in events) for events in self.events]

    def end_of(self, row):
        return max(
            event.end
            for events, number in zip(self.events, row, strict=True)
            for event in events
            if event.value.n == number
        )


def test_the_reference_knows_the_band_and_when_a_row_is_final():
    reference = Reference(Program(2, "full"))
    assert reference.step(Push(0, 1, 1, Item(0, 0, 1))) == (set(), set())
    assert reference.step(Push(1, 3, 3, Item(0, 0, 2))) == (set(), {(1, 2)})
    assert reference.step(Push(1, 4, 4, Item(0, 0, 3))) == (set(), set())
    assert reference.step(Advance(6)) == (set(), set())
    assert reference.retained() == [0, 1]
    assert reference.step(Advance(7)) == (set(), {(None, 3)})
    assert reference.step(Advance(8)) == (set(), set())
    assert reference.retained() == [0, 0]


def test_the_reference_takes_an_early_row_back():
    reference = Reference(Program(2, "left", is_eager=True))
    assert reference.step(Push(0, 1, 1, Item(0, 0, 1))) == (set(), {(1, None)})
    assert reference.step(Push(1, 3, 3, Item(0, 0, 2))) == ({(1, None)}, {(1, 2)})
    assert reference.step(Push(1, 3, 3, Item(0, 0, 3))) == (set(), {(1, 3)})


# ------------------------------------------------------------------------------------------------- programs and traces


def number_of(part):
    return None if part is None else part.n


def build(program, *, duration=None):
    inputs = [Reactive(name) for name in NAMES[: program.slots]]
    names = NAMES[: program.slots]
    restrict: Any = within(program.duration if duration is None else duration, *(names[s] for s in program.banded))
    if program.optional:
        restrict |= optionally(*program.optional)
    if program.is_eager:
        restrict |= retracting()
    wheres: dict[int, Any] = {
        2: lambda x, y: x.k == y.k,
        3: lambda x, y, z: (x.k == y.k) & (y.k == z.k),
    }
    yields: dict[int, Any] = {
        2: lambda x, y: (number_of(x), number_of(y)),
        3: lambda x, y, z: (number_of(x), number_of(y), number_of(z)),
    }
    output = correlate(
        slots=dict(zip(names, inputs, strict=True)),
        where=wheres[program.slots] if program.is_keyed else None,
        yields=yields[program.slots],
        restrict=restrict,
        name="out",
    )
    return inputs, output


@st.composite
def traces(draw, program, /, *, max_size=14, has_intervals=False):
    """Events in any order, none before the clock; an interval is no longer than the band."""
    out: list[Push | Advance] = []
    clock = 0
    for number in range(draw(st.integers(0, max_size))):
        if draw(st.integers(0, 3)) == 0:
            clock += draw(st.integers(0, 4))
            out.append(Advance(clock))
        end = clock + draw(st.integers(0, 5))
        length = draw(st.integers(0, program.duration)) if has_intervals else 0
        slot = draw(st.integers(0, program.slots - 1))
        out.append(Push(slot, end - length, end, Item(draw(st.integers(0, 1)), 0, number)))
    return out


@st.composite
def cases(draw, /, *, forms=("inner",), is_eager=None, slots=(2,), has_intervals=False):
    size = draw(st.sampled_from(slots))
    banded = (0, 1) if size == 2 else draw(st.sampled_from([(0, 1), (0, 2), (1, 2), (0, 1, 2)]))
    program = Program(
        draw(st.integers(0, 4)),
        draw(st.sampled_from(forms)),
        draw(st.booleans()) if is_eager is None else is_eager,
        draw(st.booleans()) if forms == ("inner",) else True,
        size,
        banded,
    )
    return program, draw(traces(program, has_intervals=has_intervals))


def check(case, restored=frozenset()):
    program, trace = case
    inputs, output = build(program)
    engine, reference = Engine(output), Reference(program)
    for place, step in enumerate(trace):
        if place in restored:
            blob = engine.snapshot()
            engine = Engine.restore(blob, output)
            assert engine.snapshot() == blob
        check_step(engine, inputs, reference, step)
    # In the end nothing is left, and each unmatched row was there exactly once.
    check_step(engine, inputs, reference, Advance(1_000))
    if program.is_closed:
        assert engine.stats.retained == 0
    assert list(engine.late) == []


def check_step(engine, inputs, reference, step):
    if isinstance(step, Advance):
        emitted = engine.advance(step.time)
    else:
        emitted = engine.push(inputs[step.slot], step.value, at=(step.start, step.end))
    engine._check_invariants()
    back, come = reference.step(step)
    weights = [event.weight for event in emitted]
    assert weights == sorted(weights)
    assert Counter(event.value for event in emitted if event.weight < 0) == Counter(back)
    assert Counter(event.value for event in emitted if event.weight > 0) == Counter(come)
    assert all(event.end == reference.end_of(event.value) for event in emitted)
    if isinstance(step, Advance):  # in order of their deadlines
        starts = [event.start for event in emitted]
        assert starts == sorted(starts)
    if reference.program.is_closed:
        names = NAMES[: reference.program.slots]
        assert [engine.stats.slots["out", name] for name in names] == [(count, 0) for count in reference.retained()]


# ---------------------------------------------------------------------------------------------------------- brute force


@fewer
@given(case=cases(slots=(2, 3), is_eager=False))
def test_the_band_is_inclusive_and_memory_empties_with_the_clock(case):
    check(case)


@given(case=cases(slots=(2, 3), is_eager=False, has_intervals=True))
def test_the_band_reaches_from_the_first_start_to_the_last_end(case):
    check(case)


@given(case=cases(forms=("left", "right", "full"), is_eager=False, has_intervals=True))
def test_an_unmatched_row_comes_once_when_nothing_can_match_it_any_more(case):
    check(case)


@given(case=cases(forms=("inner", "left", "right", "full"), is_eager=True, has_intervals=True))
def test_with_retracting_an_unmatched_row_comes_at_once_and_is_corrected(case):
    check(case)


@fewer
@given(case=cases(forms=("inner", "left", "right", "full")), restored=st.sets(st.integers(0, 16), max_size=3))
def test_a_restored_band_goes_on_as_if_nothing_had_happened(case, restored):
    check(case, restored)


@fewer
@given(case=cases(forms=("left", "right", "full"), is_eager=False), data=st.data())
def test_late_and_early_rows_end_in_the_same_results(case, data):
    """Whatever stands in the end does so in both ways, in any order of arrival that the clock lets through."""
    program, trace = case
    pushes = data.draw(st.permutations([step for step in trace if isinstance(step, Push)]))
    standing = []
    for is_eager in (False, True):
        inputs, output = build(Program(program.duration, program.form, is_eager))
        engine, ends = Engine(output), Counter()
        for step in trace if is_eager else pushes:
            if isinstance(step, Push):
                emitted = engine.push(inputs[step.slot], step.value, at=(step.start, step.end))
            else:
                emitted = engine.advance(step.time)
            ends.update({event.value: event.weight for event in emitted})
        for event in engine.advance(1_000):
            ends[event.value] += event.weight
        standing.append(+ends)
    assert standing[0] == standing[1]


# -------------------------------------------------------------------------------------------------------------- by name


def push(engine, source, time, number, key=0):
    return [(event.value, event.weight) for event in engine.push(source, Item(key, 0, number), at=time)]


def advance(engine, time):
    return [(event.value, event.weight) for event in engine.advance(time)]


@pytest.mark.parametrize("duration", [3, timedelta(microseconds=3)], ids=["units", "timedelta"])
def test_a_duration_may_be_in_units_or_a_timedelta(duration):
    (x, y), output = build(Program(3), duration=duration)
    engine = Engine(output)
    push(engine, x, 10, 1)
    assert push(engine, y, 14, 2) == []
    assert push(engine, y, 13, 3) == [((1, 3), 1)]
    assert push(engine, y, 7, 4) == [((1, 4), 1)]
    assert push(engine, y, 6, 5) == []


def test_an_event_before_the_clock_is_late_and_matches_nothing():
    (x, y), output = build(Program(3))
    engine = Engine(output)
    push(engine, x, 10, 1)
    engine.advance(11)
    assert push(engine, y, 10, 2) == []
    assert [(event.value.n, event.end, bool(reason)) for event, _, reason in engine.late] == [(2, 10, True)]
    assert push(engine, y, 11, 3) == [((1, 3), 1)]


def test_one_match_is_enough_for_both_ends_of_it():
    (x, y), output = build(Program(3, "full"))
    engine = Engine(output)
    push(engine, x, 1, 1)
    assert push(engine, y, 2, 2) == [((1, 2), 1)]
    assert push(engine, x, 4, 3) == [((3, 2), 1)]
    assert advance(engine, 100) == []


def test_the_expiry_of_a_partner_leaves_its_row_matched():
    (x, y), output = build(Program(3, "left", is_eager=True))
    engine = Engine(output)
    push(engine, y, 1, 1)
    assert push(engine, x, 4, 2) == [((2, 1), 1)]
    assert advance(engine, 6) == []
    assert engine.stats.slots["out", "y"] == (0, 0)
    assert engine.stats.slots["out", "x"] == (1, 0)
    assert advance(engine, 100) == []


def test_the_expiry_of_an_early_row_leaves_it_standing():
    (x, _), output = build(Program(3, "left", is_eager=True))
    engine = Engine(output)
    assert push(engine, x, 4, 2) == [((2, None), 1)]
    assert advance(engine, 100) == []
    assert engine.stats.retained == 0


@pytest.mark.parametrize("is_eager", [True, False])
def test_an_event_longer_than_the_band_stays_alone_and_comes_once(is_eager):
    (x, y), output = build(Program(3, "full", is_eager))
    engine = Engine(output)
    emitted = engine.push(x, Item(0, 0, 1), at=(5, 10))
    emitted += engine.push(y, Item(0, 0, 2), at=7)
    for time in (9, 10, 100):
        emitted += engine.advance(time)
    assert Counter((event.value, event.weight) for event in emitted) == {((1, None), 1): 1, ((None, 2), 1): 1}
    assert engine.stats.retained == 0


def test_the_next_deadline_is_one_after_the_band():
    (x, _), output = build(Program(3, "left"))
    engine = Engine(output)
    push(engine, x, 4, 2)
    assert engine.next_deadline == 8
    assert advance(engine, 7) == []
    assert advance(engine, 8) == [((2, None), 1)]
    assert engine.next_deadline is None


def test_closing_shows_what_is_still_unmatched():
    (x, y), output = build(Program(3, "full"))
    engine = Engine(output)
    push(engine, x, 4, 1)
    push(engine, y, 4, 2, key=1)
    assert Counter((event.value, event.weight) for event in engine.close()) == {((1, None), 1): 1, ((None, 2), 1): 1}


def test_a_clock_that_follows_the_events_releases_before_the_event_that_moves_it():
    (x, y), output = build(Program(3, "left"))
    engine = Engine(output, lateness=0)
    push(engine, x, 4, 1)
    assert push(engine, x, 7, 2) == []
    assert push(engine, y, 8, 3) == [((1, None), 1), ((2, 3), 1)]


def test_a_stream_joined_with_itself_meets_itself():
    x = Reactive("x")
    output = correlate(x=x, y=x, yields=lambda x, y: (x.n, y.n), restrict=within(1, "x", "y"))
    engine = Engine(output)
    assert push(engine, x, 1, 1) == [((1, 1), 1)]
    assert Counter(push(engine, x, 2, 2)) == {((2, 2), 1): 1, ((1, 2), 1): 1, ((2, 1), 1): 1}
    assert push(engine, x, 4, 3) == [((3, 3), 1)]


def test_a_long_run_holds_only_the_band():
    (x, y), output = build(Program(5, "full"))
    engine = Engine(output)
    for time in range(500):
        push(engine, x, time, time, key=time % 3)
        push(engine, y, time, time, key=time % 4)
        engine.advance(time)
        assert engine.stats.retained <= 2 * (5 + 1)
    engine.advance(1_000)
    assert engine.stats.retained == 0
