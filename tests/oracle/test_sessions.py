"""Sessions of a key against a from-scratch oracle, in all tiers, with any cuts of batches, and any moves of the clock.

Written from SEMANTICS 3.2: a gap is included, each key has sessions of its own, what is late merges what is not freed;
a session is closed once the clock is past its last end and the gap, and freed the lateness later.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, Update, Window
from cartesius.columns.results import events_of
from cartesius.plan.nodes import Sessions
from restrictions import key_by, session, tumbling
from restrictions.tables import Monoid, aggregate, count, sum_
from restrictions.windows import final, on_close

CLICK = Reactive("click")


class Click(NamedTuple):
    key: str
    n: int
    start: int
    end: int


class Oracle:
    """All clicks of sessions that are not freed; the sessions are found anew from them at each step."""

    def __init__(self, gap, lateness, *, is_final):
        self.gap, self.lateness, self.is_final = gap, lateness, is_final
        self.clock = -math.inf
        self.clicks = []
        self.late = []

    def sessions(self, clicks):
        """Return (key, Window, clicks) of each session: runs of clicks that are at most a gap apart."""
        found = []
        for click in sorted(clicks, key=lambda one: (one.key, one.start, one.end)):
            if found and found[-1][0] == click.key and click.start <= found[-1][1].end:
                key, before, inside = found.pop()
                found.append((key, Window(before.start, max(before.end, click.end + self.gap)), [*inside, click]))
            else:
                found.append((click.key, Window(click.start, click.end + self.gap), [click]))
        return found

    def is_freed(self, window):
        return self.clock > window.end + self.lateness

    def move(self, clock):
        self.clock = max(self.clock, clock)
        for _, window, inside in self.sessions(self.clicks):
            if self.is_freed(window):
                self.clicks = [click for click in self.clicks if click not in inside]

    def push(self, click):
        mine = next(window for _, window, inside in self.sessions([*self.clicks, click]) if click in inside)
        if self.is_freed(mine):
            self.late.append(click.n)
        else:
            self.clicks.append(click)

    def visible(self):
        """Return the rows that are there: the totals of the sessions that are closed, and not freed."""
        return {
            (key, window): sum(click.n for click in inside)
            for key, window, inside in self.sessions(self.clicks)
            if not self.is_final and self.clock > window.end
        }


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("ab"), st.sampled_from([0, 1, 2, 3, 4, 5, 9, -4]), st.sampled_from([0, 0, 2])),
        st.integers(0, 7),
    ),
    max_size=14,
)


def steps_of(drawn):
    """Make clicks, each with a number of its own, and clocks, of what was drawn: each is so much later than before."""
    now = 0
    steps: list[Any] = []
    for place, step in enumerate(drawn):
        now += step if isinstance(step, int) else max(step[1], 0)
        if isinstance(step, int):
            steps.append(now)
        else:
            key, shift, length = step
            end = now + min(shift, 0)
            steps.append(Click(key, 2**place, end - length, end))
    return steps


def feed(engine, steps, *, in_batches):
    """Let an engine have steps; clicks one after the other, or in one batch."""
    clicks, out = [], []
    for step in [*steps, None]:
        if isinstance(step, Click):
            clicks.append(step)
            continue
        if in_batches and clicks:
            columns = {name: [getattr(one, name) for one in clicks] for name in Click._fields}
            out += events_of(engine.push_many({CLICK: columns}))
        elif clicks:
            for one in clicks:
                value = {"key": one.key, "n": one.n}
                out += engine.push(CLICK, value, at=(one.start, one.end))
        clicks = []
        out += [] if step is None else engine.advance(step)
    return out


def apply(rows, events):
    for event in events:
        if isinstance(event.value, Update):
            assert rows.get(event.value.key) != event.value.value  # no change without a change
            rows[event.value.key] = event.value.value
        else:
            del rows[event.value.key]


def totals(gap, lateness, *, is_final, is_keyed_by_hand):
    windows = session(gap, lateness=lateness, report=final if is_final else on_close)
    restrict = key_by(x="key") | windows if is_keyed_by_hand else windows
    return aggregate(CLICK, sum_.of("n"), by="key", restrict=restrict)


@given(
    drawn=STEPS,
    gap=st.integers(1, 5),
    lateness=st.sampled_from([0, 0, 1, 4]),
    behind=st.sampled_from([None, None, 0, 3]),
    is_final=st.booleans(),
    is_keyed_by_hand=st.booleans(),
    cuts=st.sets(st.integers(1, 13)),
)
def test_sessions_are_what_the_clicks_of_a_key_say(drawn, gap, lateness, behind, is_final, is_keyed_by_hand, cuts):
    table = totals(gap, lateness, is_final=is_final, is_keyed_by_hand=is_keyed_by_hand)
    oracle = Oracle(gap, lateness, is_final=is_final)
    tiers: tuple[Any, ...] = ("reference", None, None)
    engines = [Engine(table, lateness=behind, tier=tier) for tier in tiers]
    replayed, latest, steps, fed = {}, -math.inf, steps_of(drawn), 0
    for place, step in enumerate(steps, 1):
        if isinstance(step, Click):
            latest = max(latest, step.end)
            if behind is not None:
                oracle.move(latest - behind)
            oracle.push(step)
        else:
            oracle.move(step)
        events = feed(engines[0], [step], in_batches=False)
        assert events == feed(engines[1], [step], in_batches=False)
        apply(replayed, events)
        assert engines[0].query(table) == engines[1].query(table) == oracle.visible()
        assert oracle.visible().items() <= replayed.items()
        assert [event.value.n for event, _, _ in engines[0].late] == oracle.late
        if place in cuts or place == len(steps):
            feed(engines[2], steps[fed:place], in_batches=True)
            fed = place
            assert engines[2].query(table) == oracle.visible()
            assert engines[2].stats == engines[1].stats
            blobs = [engine.snapshot() for engine in engines]
            engines = [
                Engine.restore(blob, table, lateness=behind, tier=tier) for blob, tier in zip(blobs, tiers, strict=True)
            ]
    for engine in engines:
        events = engine.close()
        assert engine.stats.retained == engine.stats.waiting == 0
    apply(replayed, events)
    assert sum(replayed.values()) == sum(one.n for one in steps if isinstance(one, Click)) - sum(oracle.late)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), max_size=10), st.integers(1, 6), st.randoms())
def test_in_whatever_order_they_come_and_however_the_clock_is_moved_they_come_to_the_same(clicks, gap, random):
    table = totals(gap, 0, is_final=False, is_keyed_by_hand=False)
    expected = Oracle(gap, 0, is_final=False)
    for place, (key, at) in enumerate(clicks):
        expected.push(Click(key, 2**place, at, at))
    steps = [Click(key, 2**place, at, at) for place, (key, at) in enumerate(clicks)]
    random.shuffle(steps)
    for clocks in ([40], range(41)):
        replayed = {}
        apply(replayed, feed(Engine(table), [*steps, *clocks], in_batches=False))
        assert replayed == {
            (key, window): sum(one.n for one in inside) for key, window, inside in expected.sessions(expected.clicks)
        }


@pytest.mark.parametrize("tier", ["reference", None])
def test_a_session_that_has_asked_for_the_end_of_its_first_event_alone_is_closed_as_well(tier):
    """Snapshots of earlier versions have such: a session that grew was looked at when it would have ended."""
    engine = Engine(aggregate(CLICK, count, by="user", restrict=session(10)), lateness=0, tier=tier)
    for at in (0, 5):
        engine.push(CLICK, {"user": "a"}, at=at)
    (opener,) = [one for one in engine._program.joins[0].installed if isinstance(one.node, Sessions)]
    engine._world.deadlines.add(10, opener, ("a",))
    engine._world.deadlines.cancel(15, opener, ("a",))
    engine._world.deadlines.clean()
    engine._journal.clear()
    for before in ((12,), (6, 12), (6, 7, 12, 13)):  # what was asked for is met by the clauses, or by a function
        restored = Engine.restore(engine.snapshot(), *engine.outputs, lateness=0, tier=tier)
        assert not [event for at in before for event in restored.push(CLICK, {"user": "b"}, at=at)]
        assert [event.value.key[1] for event in restored.push(CLICK, {"user": "b"}, at=16)] == [Window(0, 15)]


@pytest.mark.parametrize("tier", ["reference", None])
@pytest.mark.parametrize("windows", [session(3), tumbling(4, report=on_close)], ids=repr)
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_what_totals_raise_as_windows_close_undoes_the_push(kind, windows, tier):
    is_raised = []

    def combine(one, other):
        if is_raised:
            raise is_raised[0]
        return one + other

    engine = Engine(aggregate(CLICK, Monoid(0, combine).of("n"), by="k", restrict=windows), lateness=0, tier=tier)
    for at in range(3):
        engine.push(CLICK, {"n": at, "k": 0}, at=at)
    is_raised.append(kind())
    with pytest.raises(kind):
        engine.push(CLICK, {"n": 9, "k": 0}, at=20)
    is_raised.clear()
    assert engine.stats.events == 3
    assert [event.value.value for event in engine.push(CLICK, {"n": 9, "k": 0}, at=20)] == [3]
