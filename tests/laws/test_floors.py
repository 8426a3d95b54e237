"""The law of floors: nothing leaves memory, and nothing is decided, while a gate holds what matters to it.

Stacks of gates, ours and some as users write them, in the correlation or in those before it, beside what frees memory
by the clock. The oracle is the same program in which nothing is ever freed, or a comprehension over what the gates let
through; so it knows nothing of floors (SEMANTICS 3.12, 3.8, 3.5, 3.3).
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import (
    Delete,
    Duration,
    Engine,
    Reactive,
    Restriction,
    Slot,
    Slots,
    arrive,
    correlate,
    forward,
    handles,
    notify_at,
    state,
    tick,
)
from cartesius.columns.results import events_of
from cartesius.errors import InvalidArgument
from cartesius.language.families import admit
from restrictions import (
    aligning,
    as_table,
    in_event_time,
    key_by,
    most_recently,
    optionally,
    retracting,
    session,
    sliding,
    take,
    tumbling,
    within,
    without,
)
from restrictions.basics.completion import at_end
from restrictions.streams import group_join, interval_join
from restrictions.windows import final, on_close, periodic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NAMES = ("left", "right")
THROUGH = ("lefts", "rights")


# -- gates, as users write them ----------------------------------------------------------------------------------------


class debouncing(Restriction):
    """Let an event through once `quiet` has passed without another."""

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
            arrive(self.slot, event)


class delaying(Restriction):
    """Hold each event for some time."""

    slot: Slot
    time: Duration
    held = state(())

    @handles(arrive, "slot")
    def hold(self, slot, event):
        self.held = (*self.held, event)
        notify_at(event.end + self.time)

    @handles(tick)
    def let_through(self, now):
        due = [event for event in self.held if event.end + self.time < now]
        self.held = tuple(event for event in self.held if event not in due)
        for event in due:
            arrive(self.slot, event)


class in_threes(Restriction):
    """Hold events until there are three, whatever the time."""

    slot: Slot
    held = state(())

    @handles(arrive, "slot")
    def hold(self, slot, event):
        held = (*self.held, event)
        self.held = () if len(held) == 3 else held
        for one in held if len(held) == 3 else ():
            arrive(self.slot, one)


class near(Restriction):
    """What `within` admits; nothing is ever freed."""

    slots: Slots
    duration: Duration = 0

    @handles(admit)
    def are_near(self, parts):
        mine = [part for slot in self.slots if (part := parts[slot.index]) is not None]
        return max(p.end for p in mine) - min(p.start for p in mine) <= self.duration and bool(forward(parts))


GATES: tuple[Callable[[str, int], Restriction], ...] = (
    debouncing,
    delaying,
    lambda name, time: in_threes(name),
    lambda name, time: in_event_time(time),
)


# -- what is drawn -----------------------------------------------------------------------------------------------------


class Push(NamedTuple):
    """An event of a slot."""

    slot: int
    value: int
    end: int


@attrs.frozen
class Gated:
    """Gates, by slot: those of the correlation, from left to right, and those of a correlation before."""

    inside: tuple[Restriction, ...]
    before: tuple[tuple[Restriction, ...], ...]
    keyed: int | None  # the place of a key_by among those inside, if there is one
    lateness: int | None

    def restriction(self, frees: Any) -> Any:
        """Return the composition: what frees stands left of the gates, and right of a key_by that is left of all."""
        parts = [frees, *self.inside]
        if self.keyed is not None:
            parts.insert(self.keyed, key_by(left=parity, right=parity))
        return reduce(or_, parts)

    def sources(self, inputs: Sequence[Reactive]) -> list[Reactive]:
        """Return what the slots are bound to."""
        return [_through(one, gates) for one, gates in zip(inputs, self.before, strict=True)]


def parity(value: Any) -> int:
    """Return a key."""
    return int(value) % 2


def _through(source: Reactive, gates: Sequence[Restriction]) -> Reactive:
    for gate in gates:
        source = correlate(left=source, yields=lambda left: left, restrict=gate, name="through")
    return source


def _named(source: Reactive, name: str) -> Reactive:
    return correlate(left=source, yields=lambda left: left, name=name)


def gates(name: str, kinds: Sequence[Callable[[str, int], Restriction]] = GATES) -> st.SearchStrategy[Restriction]:
    """Draw a gate of a slot."""
    return st.builds(lambda make, time: make(name, time), st.sampled_from(kinds), st.integers(1, 12))


def keeping_gates(name: str) -> st.SearchStrategy[Restriction]:
    """Draw a gate that lets all through some time: what `debouncing` drops depends on when a window ends."""
    return gates(name, GATES[1:])


@st.composite
def gated(draw: st.DrawFn) -> Gated:
    """Draw gates, some of them in correlations before."""
    inside = draw(st.lists(st.sampled_from(NAMES).flatmap(gates), max_size=2))
    if draw(st.integers(0, 3)) == 0:
        inside.append(aligning(*NAMES))
    before = tuple(tuple(draw(st.lists(gates("left"), max_size=2))) for _ in NAMES)
    keyed = draw(st.none() | st.integers(0, len(inside) + 1))
    lateness = draw(st.sampled_from((None, 0, 0, 4)))
    return Gated(tuple(inside), before, keyed, lateness)


pushes = st.lists(st.builds(Push, st.integers(0, 1), st.integers(0, 9), st.integers(-4, 4)), max_size=30).map(
    lambda drawn: [push._replace(end=max(0, 2 * place + push.end)) for place, push in enumerate(drawn)]
)


cuts = st.integers(0, 30)

# -- runs --------------------------------------------------------------------------------------------------------------


def shown(events: Sequence[Any]) -> list[Any]:
    return [(event.reactive, event.value, event.start, event.end, event.weight) for event in events]


def run(
    outputs: Sequence[Reactive],
    inputs: Sequence[Reactive],
    trace: Sequence[Push],
    lateness: int | None,
    tier: str = "",
    cut: int | None = None,
) -> tuple[list[Any], list[Any]]:
    """Return what each push gives, the last one closing the engine, and what is late."""
    engine = Engine(*outputs, lateness=lateness, tier="reference" if tier == "reference" else None)
    found: list[Any] = []
    for place, push in enumerate(trace):
        if place == cut:
            engine = Engine.restore(engine.snapshot(), *outputs, lateness=lateness)
        if tier == "batches":
            batch = {inputs[push.slot]: {"value": [push.value], "at": [push.end]}}
            found.append(shown(events_of(engine.push_many(batch))))
        else:
            found.append(shown(engine.push(inputs[push.slot], push.value, at=push.end)))
    found.append(shown(engine.close()))
    return found, [(event.value, event.end, slot, reason) for event, slot, reason in engine.late]


def inputs() -> list[Reactive]:
    return [Reactive(name) for name in NAMES]


def joined(sources: Sequence[Reactive], restrict: Any) -> Reactive:
    left, right = sources
    return correlate(left=left, right=right, yields=lambda left, right: (left, right), restrict=restrict, name="pairs")


def values_of(found: Sequence[Any], name: str) -> list[tuple[Any, int]]:
    """Return what an output gave, with its ends, in order."""
    return [(value, end) for events in found for reactive, value, _, end, _ in events if reactive == name]


def alike(
    outputs: Sequence[Reactive], inputs: Sequence[Reactive], trace: Sequence[Push], lateness: int | None, cut: int
) -> list[Any]:
    """Return what an engine gives, which is the same in all tiers, and with a snapshot anywhere."""
    found = run(outputs, inputs, trace, lateness)
    for tier in ("reference", "batches"):
        assert run(outputs, inputs, trace, lateness, tier) == found
    assert run(outputs, inputs, trace, lateness, cut=cut) == found
    return found[0]


# -- laws --------------------------------------------------------------------------------------------------------------


@given(gated(), pushes, st.integers(0, 8), cuts)
def test_what_is_held_finds_the_partners_that_it_would_find_if_nothing_was_ever_freed(
    program: Gated, trace: list[Push], duration: int, cut: int
) -> None:
    given_ = inputs()
    sources = program.sources(given_)
    freed = joined(sources, program.restriction(within(duration, *NAMES)))
    kept = joined(sources, program.restriction(near(*NAMES, duration=duration)))
    expected = run([kept], given_, trace, program.lateness)
    assert run([freed], given_, trace, program.lateness) == expected
    alike([freed], given_, trace, program.lateness, cut)


def test_what_is_near_stays_until_a_gate_that_waits_for_others_has_let_all_go():
    left, right = given_ = inputs()
    gates_ = in_threes("right") | in_event_time(1) | aligning(*NAMES)
    pushes_ = [
        Push(0, 0, 0),
        Push(0, 0, 3),
        Push(0, 0, 4),
        Push(1, 0, 3),
        Push(0, 0, 8),
        Push(1, 0, 10),
        Push(1, 0, 12),
    ]
    found = alike([joined([left, right], within(0, *NAMES) | gates_)], given_, pushes_, None, 3)
    assert found == [[]] * 7 + [[("pairs", (0, 0), 3, 3, 1)]]  # the third of the right slot comes at the end


@given(gated(), pushes, st.integers(-3, 3), st.integers(0, 6), st.sampled_from(("left", "right", "full")), cuts)
def test_a_row_without_a_partner_is_one_of_which_none_ever_came_through(
    program: Gated, trace: list[Push], lower: int, width: int, how: str, cut: int
) -> None:
    given_ = inputs()
    sources = program.sources(given_)
    outer = interval_join(sources[0], sources[1], lower, lower + width, how=how)
    through = [_named(source, name) for source, name in zip(sources, THROUGH, strict=True)]
    found = alike([outer, *through], given_, trace, program.lateness, cut)
    lefts, rights = [values_of(found, name) for name in THROUGH]
    pairs = [(x, y) for x in lefts for y in rights if lower <= y[1] - x[1] <= lower + width]
    alone = [
        *((x, None) for x in lefts if how != "right" and not any(x is pair[0] for pair in pairs)),
        *((None, y) for y in rights if how != "left" and not any(y is pair[1] for pair in pairs)),
    ]
    expected = [tuple(None if part is None else part[0] for part in row) for row in (*pairs, *alone)]
    assert Counter(value for value, _ in values_of(found, outer.name)) == Counter(expected)


MISSING = st.sampled_from((("left",), ("right",), NAMES))


@given(gated(), pushes, st.integers(0, 8), MISSING)
def test_a_row_is_final_once_no_gate_lets_a_partner_through(
    program: Gated, trace: list[Push], duration: int, missing: tuple[str, ...]
) -> None:
    """Rows that come once are those that are left where all come at once, are taken back, and nothing is freed."""
    given_ = inputs()
    sources = program.sources(given_)
    once = joined(sources, program.restriction(within(duration, *NAMES) | optionally(*missing)))
    kept = near(*NAMES, duration=duration) | optionally(*missing) | retracting()
    found, _ = run([once], given_, trace, program.lateness)
    left = Counter[Any]()
    for _, value, _, _, weight in itertools.chain(
        *run([joined(sources, program.restriction(kept))], given_, trace, program.lateness)[0]
    ):
        left[value] += weight
    assert Counter(value for value, _ in values_of(found, "pairs")) == +left


HOLDING = (lambda: in_threes("left"), lambda: in_threes("right"), lambda: aligning(*NAMES))


@st.composite
def gated_by_key(draw: st.DrawFn) -> Gated:
    """Draw gates of which one holds key by key, before one of all keys that takes nothing any more that is early."""
    holding = draw(st.sampled_from(HOLDING))()
    inside = (in_event_time(draw(st.integers(1, 6))), holding, *draw(st.lists(gates("left"), max_size=1)))
    return Gated(inside, ((), ()), 0, draw(st.sampled_from((None, 0, 0, 4))))


def long(seed: int) -> list[Push]:
    """Events of two keys, more than are drawn one by one."""
    draw = random.Random(seed)
    ends = itertools.accumulate(draw.choices((0, 1, 2, 5), k=40))
    return [Push(draw.randrange(2), draw.randrange(10), max(0, end - draw.choice((0, 0, 0, 2)))) for end in ends]


@given(
    gated() | gated_by_key(), st.integers(0, 2**32).map(long), st.integers(0, 8), MISSING, st.booleans(), st.booleans()
)
def test_gates_hold_up_nothing_longer_than_in_an_engine_that_has_just_been_restored(
    program: Gated, trace: list[Push], duration: int, missing: tuple[str, ...], displaces: bool, is_before: bool
) -> None:
    """That has noted nothing of what it waits for: it looks at all."""
    given_ = inputs()
    frees = [optionally(*missing), *([most_recently("left")] if displaces else [])]
    if is_before:  # what waits for the clock sees an event before the gates do
        program = attrs.evolve(program, inside=(*program.inside, within(duration, *NAMES)))
    else:
        frees.append(within(duration, *NAMES))
    output = joined(program.sources(given_), program.restriction(reduce(or_, frees)))
    first = restored = Engine(output, lateness=program.lateness)
    for push in trace:
        assert shown(first.push(given_[push.slot], push.value, at=push.end)) == shown(
            restored.push(given_[push.slot], push.value, at=push.end)
        )
        assert first.stats.slots == restored.stats.slots
        assert first.next_deadline == restored.next_deadline
        restored = Engine.restore(restored.snapshot(), output, lateness=program.lateness)
    assert shown(first.close()) == shown(restored.close())
    assert first.done == restored.done


@given(gated(), pushes, st.integers(0, 6), st.sampled_from(("after", "before")), cuts)
def test_what_must_not_come_is_waited_for_as_long_as_a_gate_holds_it(
    program: Gated, trace: list[Push], duration: int, how: str, cut: int
) -> None:
    trace = [push._replace(end=2 * push.end + push.slot) for push in trace]  # no ties: those are for the order of use
    given_ = inputs()
    left, right = program.sources(given_)
    after = how == "after"
    absence = without(right, after="left", within=duration) if after else without(right, before="left", within=duration)
    alone = correlate(left=left, yields=lambda left: left, restrict=absence, name="alone")
    through = [_named(source, name) for source, name in zip((left, right), THROUGH, strict=True)]
    found = alike([alone, *through], given_, trace, program.lateness, cut)
    lefts, rights = [values_of(found, name) for name in THROUGH]
    low, high = (1, duration) if after else (-duration, -1)
    expected = [x for x in lefts if not any(low <= y[1] - x[1] <= high for y in rights)]
    assert Counter(values_of(found, "alone")) == Counter(expected)


@given(gated(), pushes, st.integers(0, 6), st.integers(0, 6), cuts)
def test_a_group_has_all_that_ever_came_through_for_it(
    program: Gated, trace: list[Push], left_duration: int, right_duration: int, cut: int
) -> None:
    given_ = inputs()
    sources = program.sources(given_)
    groups = group_join(sources[0], sources[1], left_duration, right_duration)
    through = [_named(source, name) for source, name in zip(sources, THROUGH, strict=True)]
    found = alike([groups, *through], given_, trace, program.lateness, cut)
    lefts, rights = [values_of(found, name) for name in THROUGH]
    expected = [
        (x, sorted(y for y, time in rights if end - right_duration <= time <= end + left_duration)) for x, end in lefts
    ]
    shown = [(x, sorted(ys)) for (x, ys), _ in values_of(found, groups.name)]
    assert sorted(shown) == sorted(expected)


@given(pushes, st.booleans())
def test_a_row_leaves_at_the_time_of_what_a_gate_has_let_go(trace: list[Push], is_aligned: bool) -> None:
    gate: Restriction = aligning(*NAMES) if is_aligned else in_event_time(1000)
    left, right = inputs()
    rows = correlate(
        left=left,
        right=right,
        yields=lambda left, right: (left, right),
        restrict=retracting() | as_table(lambda row: row[0]) | most_recently(*NAMES) | gate,
        name="rows",
    )
    found = alike([rows], (left, right), trace, None, 0)
    gone = [(start, end) for events in found for _, value, start, end, _ in events if isinstance(value, Delete)]
    coming = [[push for push in trace if push.slot == slot] for slot in (0, 1)]
    shown: list[Any] = []
    expected: list[tuple[int, int]] = []
    if is_aligned:
        for x, y in zip(*coming, strict=False):
            expected += [(min(x.end, y.end), max(x.end, y.end)) for value in shown if value != x.value]
            shown = [x.value]
    else:
        latest: dict[int, int] = {}
        for push in sorted(trace, key=lambda push: (push.end, push.slot)):
            latest[push.slot] = push.value
            if len(latest) == 2:
                expected += [(push.end, push.end) for value in shown if value != latest[0]]
                shown = [latest[0]]
    assert gone == expected


@given(gated(), pushes, st.integers(0, 8))
def test_once_the_clock_has_passed_all_and_nothing_waits_nothing_is_retained(
    program: Gated, trace: list[Push], duration: int
) -> None:
    given_ = inputs()
    pairs = joined(program.sources(given_), program.restriction(within(duration, *NAMES)))
    engine = Engine(pairs, lateness=program.lateness)
    for push in trace:
        engine.push(given_[push.slot], push.value, at=push.end)
    engine.advance(10_000)
    retained = sum(engine.stats.slots["pairs", name][0] for name in NAMES)
    assert engine.stats.waiting or not retained
    assert engine.stats.waiting or engine.next_deadline is None


@given(
    st.lists(st.sampled_from(NAMES).flatmap(keeping_gates), min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
    st.integers(0, 4),
    st.integers(0, 3),
    pushes,
    cuts,
)
def test_a_window_stays_while_a_gate_holds_an_event_of_it(
    inside: list[Restriction], is_aligned: bool, counts: bool, place: int, late: int, trace: list[Push], cut: int
) -> None:
    """Windows that are freed give what those give that never are, and then keep nothing.

    They may give more: what waits in a window comes at its end, in time for a gate that it would be too late for.
    """
    given_, trace = inputs(), sorted(trace, key=lambda push: push.end)
    gates_ = [*inside, *([aligning(*NAMES)] if is_aligned else []), *([take(99, "left")] if counts else [])]

    def windowed_pairs(lateness: int) -> Reactive:
        return joined(given_, reduce(or_, [*gates_[:place], tumbling(4, lateness=lateness), *gates_[place:]]))

    freed = windowed_pairs(late)
    found = alike([freed], given_, trace, 0, cut)
    expected, _ = run([windowed_pairs(10**6)], given_, trace, 0)
    lost = Counter(values_of(expected, "pairs")) - Counter(values_of(found, "pairs"))
    assert not lost
    if not any(isinstance(gate, in_event_time) for gate in gates_):
        assert Counter(values_of(found, "pairs")) == Counter(values_of(expected, "pairs"))
    engine = Engine(freed, lateness=0)
    for push in trace:
        engine.push(given_[push.slot], push.value, at=push.end)
    engine.close()
    assert not sum(engine.stats.slots["pairs", name][0] for name in NAMES)


def test_what_the_end_lets_go_may_be_held_once_more() -> None:
    """As all has ended `in_event_time` waits for `aligning` no longer; then the one to its left has a deadline, too."""
    left, right = inputs()
    held = delaying("right", 1) | in_event_time(1) | aligning(*NAMES)
    for tier in ("in_place", "reference", None):
        engine = Engine(joined([left, right], held), lateness=0, tier=tier)
        for source, value, time in ((left, 1, 0), (left, 2, 2), (right, 3, 4)):
            engine.push(source, value, at=time)
        assert [event.value for event in engine.close()] == [(1, 3)]


def test_what_waits_in_a_window_goes_on_in_the_order_of_time_at_its_end() -> None:
    """The first that is let go has its next deadline before the second is: none takes its place."""
    left, right = inputs()
    engine = Engine(joined([left, right], tumbling(4) | debouncing("right", 1) | delaying("right", 2)), lateness=0)
    for source, value, time in ((left, 0, 0), (right, 1, 2), (right, 2, 3)):
        engine.push(source, value, at=time)
    assert [event.value for event in engine.close()] == [(0, 1), (0, 2)]


@pytest.mark.parametrize("is_gate_left", [True, False])
def test_a_gate_frees_memory_by_its_own_clock(is_gate_left: bool) -> None:
    left, right = inputs()
    keys, gate = key_by(left=parity, right=parity), in_event_time(5)
    restrict = gate | keys | within(3, *NAMES) if is_gate_left else keys | within(3, *NAMES) | gate
    engine = Engine(joined((left, right), restrict))
    for time in range(500):
        engine.push((left, right)[time % 2], time, at=time)
        assert engine.stats.retained + engine.stats.waiting <= 20


@pytest.mark.parametrize("report", [on_close, final, periodic(3)])
def test_a_gate_in_windows_that_hold_events_until_they_are_reported_is_refused(report):
    """Windows that overlap, and those of each key, are reported one after the other: what comes later would be late."""
    left, right = Reactive("x"), Reactive("y")
    stack = sliding(10, 5, report=report) | in_event_time(3)
    with pytest.raises(InvalidArgument, match=r"in_event_time\(3\): expected windows that let events in as they come"):
        correlate(a=left, b=right, yields=lambda a, b: (a, b), restrict=stack)


@pytest.mark.parametrize("opener", [session(3), tumbling(4, report=on_close), tumbling(4, report=final, lateness=3)])
@pytest.mark.parametrize("tier", ["reference", None])
def test_a_gate_is_told_of_the_end_when_all_windows_have_let_go(opener, tier):
    """What a gate left of windows holds keeps those of other keys from closing: so the end closes them, before it."""
    x = Reactive("x")
    lasts = correlate(a=x, yields=lambda a: (a.k, a.n), restrict=key_by(a="k") | at_end("a") | opener)
    for ends in itertools.permutations([4, 5, 5]):
        engine = Engine(lasts, tier=tier)
        for key, at in enumerate(ends):
            for n in range(2):
                assert engine.push(x, {"k": key, "n": n}, at=at) == []
        assert sorted(event.value for event in engine.close()) == [(0, 1), (1, 1), (2, 1)]
