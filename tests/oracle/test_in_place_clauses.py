"""Stacks with restrictions that only clauses know, in place, against the reference tier.

The restrictions are such as users write, one for each thing that clauses may do: gates that drop, change, double,
hold and set aside; memories that displace, spend, let expire and count; choices; conditions; and some that fail.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import (
    Engine,
    Reactive,
    Restriction,
    Slot,
    Slots,
    arrive,
    correlate,
    displace,
    ended,
    expire,
    forward,
    handles,
    memory,
    notify_at,
    pause,
    play,
    push,
    select,
    set_aside,
    start,
    state,
    tick,
)
from cartesius.core import direct_pushes
from cartesius.direct.direct_clauses import DirectClauseCode
from cartesius.language.families import admit
from cartesius.plan import Opaque
from restrictions import (
    affinely,
    earliest,
    fifo,
    first_match,
    in_sequence,
    key_by,
    most_recently,
    only,
    retracting,
    take,
    within,
)
from tests.oracle.test_in_place import BODIES, Both, a_value

if TYPE_CHECKING:
    from collections.abc import Iterator


class newest(Restriction):
    """Displace what came before; in another order than `most_recently` says it."""

    slots: Slots

    @handles(push, "slots")
    def keep(self, slot: Any, entry: Any) -> None:
        forward(slot, entry)
        for older in memory(slot)[1:]:
            displace(slot, older)


class emptying(Restriction):
    """An event of ``slot`` empties the memory of ``other``, and every fifth its own."""

    slot: Slot
    other: Slot
    seen = state(0)

    @handles(push, "slot")
    def empty(self, slot: Any, entry: Any) -> None:
        self.seen += 1
        for entry_ in memory(self.other):
            displace(self.other, entry_)
        forward(slot, entry)
        if self.seen % 5 == 0:
            for entry_ in memory(slot):
                displace(slot, entry_)


class passing(Restriction):
    """Let what has an odd ``n`` leave at the end of its batch."""

    slots: Slots

    def plan(self) -> Any:
        return (Opaque(expires=True),)

    @handles(push, "slots")
    def pass_(self, slot: Any, entry: Any) -> None:
        if entry.value.n % 2:
            expire(slot, entry)
        forward(slot, entry)


class limited(Restriction):
    """Give an event with an even ``n`` two uses."""

    slots: Slots

    @handles(push, "slots")
    def limit(self, slot: Any, entry: Any) -> None:
        if entry.value.n % 2 == 0:
            entry.uses = 2
        forward(slot, entry)


class rising(Restriction):
    """Let through what has more than the one before, a key, and set the rest aside."""

    slots: Slots
    latest = state(-1)

    @handles(arrive, "slots")
    def compare(self, slot: Any, event: Any) -> None:
        if event.value.n <= self.latest:
            set_aside(slot, event, "not rising")
            return
        self.latest = event.value.n
        forward(slot, event)


class changed(Restriction):
    """Make an event another one, with other times; of every third none, of every fourth two."""

    slot: Slot

    @handles(arrive, "slot")
    def change(self, slot: Any, event: Any) -> None:
        n = event.value.n
        if n % 3 == 0:
            return
        value = {"n": n + 1, "k": event.value.k, "j": 1 - event.value.j}
        if n % 4 == 0:
            forward(slot, event.nth(0, value, event.start, event.end))
            forward(slot, event.nth(1, value, event.start - 1, event.end))
        else:
            forward(slot, event.with_value(value, event.start - 1, event.end))


class delaying(Restriction):
    """Hold an event until the clock is two past it."""

    slot: Slot
    held = state(())

    @handles(arrive, "slot")
    def hold(self, slot: Any, event: Any) -> None:
        self.held = (*self.held, event)
        notify_at(event.end + 2)

    @handles(tick)
    def let_go(self, now: int) -> None:
        due, self.held = [e for e in self.held if e.end + 2 < now], tuple(e for e in self.held if e.end + 2 >= now)
        for event in due:
            arrive(self.slot, event)

    @handles(ended, "slot")
    def let_all_go(self, slot: Any) -> None:
        held, self.held = self.held, ()
        for event in held:
            arrive(slot, event)


class paired(Restriction):
    """Hold every other event, and let two go together."""

    slot: Slot
    held = state(None)

    @handles(arrive, "slot")
    def pair(self, slot: Any, event: Any) -> None:
        first, self.held = self.held, event
        if first is not None:
            self.held = None
            arrive(slot, first)
            arrive(slot, event)


class gated(Restriction):
    """Let events of ``slot`` wait at the door until one of ``signal`` comes."""

    slot: Slot
    signal: Slot

    def plan(self) -> Any:
        return (Opaque(pauses=(self.slot,)),)

    @handles(start)
    def close(self) -> None:
        pause(self.slot)

    @handles(arrive, "signal")
    def open(self, slot: Any, event: Any) -> None:
        play(self.slot)
        forward(slot, event)


class largest(Restriction):
    """Choose the match that starts last."""

    @handles(select)
    def choose(self, matches: Any) -> None:
        best = max(matches, key=lambda match: (match.start, match.end), default=None)
        forward([best] if best else [])


class apart(Restriction):
    """Admit combinations of events that have not the same ``j``."""

    slots: Slots

    @handles(admit)
    def ask(self, parts: Any) -> bool:
        js = {parts[slot.index].value.j for slot in self.slots}
        return len(js) > 1 and bool(forward(parts))


class announcing(Restriction):
    """Count what is displaced."""

    lost = state(0)

    @handles(displace)
    def say(self, slot: Any, entry: Any) -> None:
        self.lost += 1
        forward(slot, entry)


class keeping_some(Restriction):
    """Do not let events with ``j`` be displaced."""

    @handles(displace)
    def ask(self, slot: Any, entry: Any) -> None:
        if not entry.value.j:
            forward(slot, entry)


class fragile(Restriction):
    """Fail now and then, when something has been done already."""

    slots: Slots
    seen = state(0)

    @handles(push, "slots")
    def fail(self, slot: Any, entry: Any) -> None:
        self.seen += 1
        for older in memory(slot)[3:]:
            displace(slot, older)
        forward(slot, entry)
        if entry.value.n % 7 == 3:
            raise RuntimeError("fragile")


OWN: dict[str, Any] = {
    "newest": newest("x", "y"),
    "newest of one": newest("x"),
    "emptying": emptying("x", "y"),
    "passing": passing("x", "z"),
    "limited": limited("y", "z"),
    "rising": rising("x", "y"),
    "changed": changed("x"),
    "delaying": delaying("y"),
    "paired": paired("x"),
    "gated": gated("x", "y"),
    "largest": largest(),
    "apart": apart("x", "y"),
    "announcing": announcing(),
    "keeping some": keeping_some(),
    "fragile": fragile("x", "y"),
    "some results": take(6),
    "some events": take(4, "x"),
}
OURS: list[Any] = [
    most_recently("x", "y"), most_recently("z", n=2), earliest("y"), affinely("x"), within(5, "x", "y"),
    only("x", lambda value: value.j == 0), in_sequence("x", "y"), first_match(), fifo(), retracting(),
    key_by(x="k", y="k", z="k"), key_by(x="j", y="j"), key_by(z="k"),
]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _at_once() -> Iterator[None]:
    """Functions that call clauses are made for the first push."""
    with mock.patch.object(direct_pushes, "PUSHES_BEFORE", 0):
        yield


def a_program(draw: random.Random, name: str) -> tuple[list[Reactive], Reactive] | None:
    stack = [
        OWN[name],
        *draw.sample(OURS, draw.choice([0, 1, 1, 2])),
        *draw.sample([*OWN.values()], draw.choice([0, 0, 1])),
    ]
    draw.shuffle(stack)
    if draw.random() < 0.5:
        stack.insert(0, key_by(x="k", y="k", z="k"))
    restrict = stack[0]
    for one in stack[1:]:
        restrict = restrict | one
    inputs = [Reactive(one) for one in "abc"]
    body = BODIES[draw.choice(sorted(BODIES))]
    try:
        output = correlate(slots=dict(zip("xyz", inputs, strict=True)), restrict=restrict, name="out", **body)
        Engine(output)
    except ValueError:
        return None
    return inputs, output


def run(draw: random.Random, name: str, length: int = 24) -> bool:
    """Run one program in both tiers; return whether most pushes were done by a function that calls clauses."""
    program = a_program(draw, name)
    if program is None:
        return False
    inputs, output = program
    both = Both(output, lateness=draw.choice([None, 0, 3]))
    now, stride = 0, draw.choice([0, 1, 2])
    for place in range(length):
        now += draw.randrange(stride + 1)
        at = draw.choice([None, now, now, now + draw.randrange(-3, 3), (now, now + draw.randrange(4))])
        both.call("push", draw.choice(inputs), a_value(draw) if draw.random() < 0.97 else "text", at)
        if draw.random() < 0.05:
            both.call("advance", now + draw.randrange(-2, 4))
        if draw.random() < 0.02:
            both.call("end", draw.choice(inputs))
        if place == length // 2:
            both.swap()
    both.check()
    pushes = both.engines[1]._pushes
    return any(isinstance(pushes.of(one), DirectClauseCode) for one in pushes._functions)


@pytest.mark.parametrize("name", OWN)
@given(st.integers(0, 2**32))
def test_what_clauses_do_agrees_whatever_comes(name: str, seed: int) -> None:
    run(random.Random(seed), name)


@pytest.mark.parametrize("name", OWN)
def test_a_push_is_a_function_that_calls_the_clauses(name: str) -> None:
    assert sum(run(random.Random(f"{seed}"), name, 8) for seed in range(8)) > 1


@pytest.mark.parametrize("tier", ["reference", None])
def test_what_python_cannot_nest_is_left_to_the_end_of_a_batch(tier: Any) -> None:
    """Of 23 inputs there would be 22 loops."""
    inputs = [Reactive(f"in{place}") for place in range(23)]
    restrict = newest(*[one.name for one in inputs])
    joined = correlate(slots={one.name: one for one in inputs}, yields=lambda in0: in0, restrict=restrict)
    engine = Engine(joined, tier=tier)
    out = [event for n in range(46) for event in engine.push(inputs[n % 23], n)]
    assert [event.value for event in out] == [0] + [23] * 23
    assert engine.source().count("batch.commit()") == (0 if tier else 23)


def test_it_is_made_once_it_is_worth_it() -> None:
    left, right = Reactive("left"), Reactive("right")
    pairs = correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=newest("x", "y"))
    with mock.patch.object(direct_pushes, "PUSHES_BEFORE", 5):
        engine = Engine(pairs)
        for n in range(20):
            engine.push(left, n)
    assert engine.stats.given_up == {"of those that call clauses the first 5 are done as written": 5, THE_FIRST: 1}


THE_FIRST = "it was the first, somebody is told of results, or an input has ended"
