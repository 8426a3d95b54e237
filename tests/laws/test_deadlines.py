"""`next_deadline` is when something may be decided: never before, and who advances by it has all, in the same order."""

from __future__ import annotations

import random

import pytest

from cartesius import Engine, Reactive, correlate
from restrictions import session, sliding, tumbling, within, without
from restrictions.streams import interval_join, merge, take_until
from restrictions.windows import on_close
from tests.laws.catalogue import program_of
from tests.laws.catalogue_lines import REGISTRIES
from tests.laws.catalogue_rows import TooMany, bounded, rows_of
from tests.laws.catalogue_tiers import Rows, Way

assert REGISTRIES  # Invariant: they have registered what programs are drawn from
DECIDING = ("tumbling", "sliding", "session", "in_event_time", "group_join", "interval_join", "optionally", "within")
PROGRAMS = 60


def programs(seed):
    """Programs in which what must not come stands before or behind what holds or closes."""
    for number in range(PROGRAMS):
        draw = random.Random(f"{seed}/{number}")
        program = program_of(draw.sample(["without", draw.choice(DECIDING)], 2), f"deadlines {seed}/{number}")
        if program is not None:
            yield program, f"{seed}/{number}", draw


@pytest.mark.parametrize("seed", range(8))
def test_who_advances_by_deadlines_has_all_in_the_same_order(seed):
    decided = 0
    for program, name, draw in programs(seed):
        try:
            with bounded():
                decided += run(program, name, draw)
        except TooMany:
            continue
    assert decided > 5, seed


def run(program, name, draw):
    """Run a program twice; return how often the clock has decided something."""
    rows, at, decided = rows_of(program, name), 0, 0
    at_once, by_deadlines = Way(program, "reference"), Way(program, "reference")
    while at < len(rows):
        many = draw.randint(1, 4)
        step = Rows(tuple(rows[at : at + many]))
        assert at_once.take(step) == by_deadlines.take(step), (name, program.text, step)
        at += many
        if at < len(rows):
            time = rows[at].at[1] - draw.choice([0, 0, 1])
            found = at_once.advance(time)  # which raises if that was not foreseen
            assert found == by_deadlines.advance_by_deadlines(time), (name, program.text, time)
            decided += bool(found[0])
    return decided


WINDOWS = [tumbling(50), tumbling(50, lateness=20), sliding(50, 10), session(20)]


@pytest.mark.parametrize("how", ["after", "before", "between"])
@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_what_must_not_come_is_over_by_the_clock_whatever_windows_are_before(window, how):
    """A row that waits for an input alone does not wait for the windows that its other parts come from."""
    x, y, c = Reactive("x"), Reactive("y"), Reactive("c")
    seen = correlate(x=x, yields=lambda x: x, restrict=window, name="seen")
    if how == "between":
        joined = without(c, between=("seen", "y")) | within(60, "seen", "y")
        found = correlate(seen=seen, y=y, yields=lambda seen, y: (seen, y), restrict=joined)
    else:
        restrict = without(c, after="seen", within=10) if how == "after" else without(c, before="seen", within=10)
        found = correlate(seen=seen, yields=lambda seen: seen, restrict=restrict)
    draw = random.Random(f"{window} {how}")
    for tier in ("reference", "in_place", None):
        engine, decided = Engine(found, tier=tier), 0
        for n, time in enumerate(sorted(draw.sample(range(500), 60))):
            reactive = draw.choice([one for one in (x, y, c) if one.name in engine.inputs])
            engine.push(reactive, n, at=time)
            for clock in range(time, time + draw.choice([1, 4, 15])):
                deadline = engine.next_deadline
                events = engine.advance(clock)
                decided += len(events)
                assert not events or (deadline is not None and deadline <= clock), (tier, clock, deadline, events)
        assert decided, tier


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize("is_merged", [False, True])
@pytest.mark.parametrize("is_restored", [False, True])
def test_what_has_ended_puts_nothing_off(tier, is_merged, is_restored):
    """Windows would give what was long ago; once their output has ended, by `take_until`, a row waits for the clock."""
    a, b, c, d = (Reactive(name) for name in "abcd")
    closed = correlate(c=c, yields=lambda c: c, restrict=tumbling(12, report=on_close), name="closed")
    ended = take_until(closed, b)
    output = interval_join(merge(ended, d) if is_merged else ended, a, -3, -1, key="k", how="full", lateness=3)
    engine = Engine(output, tier=tier)
    engine.push(a, {"k": 0}, at=3)
    assert engine.next_deadline == 22
    engine.push(b, {"k": 1}, at=9)
    if is_restored:
        engine = Engine.restore(engine.snapshot(), output, tier=tier)
    assert engine.next_deadline == 10
    assert not engine.advance(9)
    assert [event.value for event in engine.advance(10)] == [(None, {"k": 0})]
