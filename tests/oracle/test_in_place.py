"""In place against the reference tier: the same results, the same state, and pushes that fail alike.

The snapshots of two engines of one program, one in each tier, must be the same bytes: so memories, uses, keys, held
events, counters and the clock agree, and each tier goes on from the other's state.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from restrictions import (
    affinely,
    aligning,
    at_most,
    combine_latest,
    earliest,
    fifo,
    in_event_time,
    key_by,
    momentarily,
    most_recently,
    only,
    optionally,
    retracting,
    tumbling,
    within,
    without,
    zip_,
)
from restrictions.streams import either, map_, merge, sample, stream_table_join, take_until, with_latest_from
from restrictions.tables import filter_table, foreign_join, inner_join, left_join, outer_join
from tests.oracle.core_oracle import ARMED, SPELLINGS, build, programs, traces


def told(events: list[Any]) -> list[Any]:
    """What is told of events: written out, so that equal values of different types differ, and NaN is itself."""
    return [(repr(event), event.identity) for event in events]


def attempt(engine: Engine, call: str, *arguments: Any) -> Any:
    """What a call tells, or how it fails, notes included."""
    try:
        return told(getattr(engine, call)(*arguments))
    except Exception as error:  # whatever it is, the other tier must fail so, too
        return type(error), str(error), getattr(error, "__notes__", [])


class Both:
    """One program in both tiers."""

    def __init__(self, *outputs: Reactive, **options: Any) -> None:
        self.outputs = outputs
        self.options = options
        self.calls = 0
        self.tiers: list[Any] = ["reference", "in_place"]
        self.engines = [Engine(*outputs, tier=tier, **options) for tier in self.tiers]

    def call(self, name: str, *arguments: Any) -> None:
        """Call both, and compare."""
        first, second = [attempt(engine, name, *arguments) for engine in self.engines]
        assert second == first
        self.calls += 1
        if self.calls % 8 == 0:
            self.check()

    def check(self) -> None:
        """Compare all that can be seen, and all that a snapshot holds."""
        one, other = self.engines
        assert one.stats == other.stats
        assert one.next_deadline == other.next_deadline
        assert one.snapshot() == other.snapshot()
        assert repr((one.clock, one.late, one.done)) == repr((other.clock, other.late, other.done))
        for engine in self.engines:
            engine._check_invariants()

    def swap(self) -> None:
        """Let each tier go on from the snapshot of the other."""
        self.check()
        blobs = [engine.snapshot() for engine in reversed(self.engines)]
        pairs = zip(blobs, self.tiers, strict=True)
        self.engines = [Engine.restore(blob, *self.outputs, tier=tier, **self.options) for blob, tier in pairs]


@st.composite
def cases(draw: st.DrawFn) -> Any:
    program = draw(programs(is_direct=True))
    trace = draw(traces(program))
    return program, trace, draw(st.sampled_from(SPELLINGS)) if not program.is_double else "direct"


@given(cases(), st.sets(st.integers(0, 13), max_size=2))
def test_programs_of_the_core_agree(case: Any, swaps: set[int]) -> None:
    program, trace, spelling = case
    inputs, output = build(program, spelling)
    both = Both(output)
    for place, push in enumerate(trace):
        both.call("push", inputs[push.source], push.value, (push.start, push.end))
        if place in swaps:
            both.swap()
    both.check()


X, Y, Z = "x", "y", "z"
KEYED = key_by(x="k", y="k", z="k")
RESTRICTIONS: dict[str, Any] = {
    "latest": most_recently(X, Y, Z),
    "latest per key": KEYED | most_recently(X, Y, Z),
    "latest of all, keyed": most_recently(X, Y, Z) | KEYED,
    "two latest per key": KEYED | most_recently(X, Y, Z, n=2),
    "earliest": earliest(X, Y, Z),
    "two earliest per key": KEYED | earliest(X, Y, n=2),
    "earliest per key": KEYED | earliest(X, Y, Z),
    "once": affinely(X, Y, Z),
    "once, latest": affinely(X) | most_recently(X, Y, Z),
    "twice per key": KEYED | at_most(2, X, Z) | most_recently(Y),
    "once, earliest": affinely(X, Y) | earliest(X, Y, Z),
    "oldest first": affinely(X, Y, Z) | fifo(),
    "aligned": most_recently(X, Y, Z) | aligning(X, Y, Z),
    "aligned per key": KEYED | aligning(X, Y, Z) | most_recently(X, Y, Z),
    "aligned, two at most": KEYED | most_recently(X, Y, Z) | aligning(X, Y, Z, limit=2, overflow="drop_oldest"),
    "aligned, one at most": most_recently(X, Y, Z) | aligning(X, Y, Z, limit=1),
    "aligned, one by key": aligning(X, Y, Z) | key_by(x="k") | most_recently(X, Y, Z),
    "looked up": momentarily(X) | fifo() | most_recently(Y, Z),
    "filtered": most_recently(X, Y, Z) | only(X, lambda value: value.k != 1) | only(X, lambda value: value.j),
    "aligned and filtered": most_recently(X, Y, Z) | aligning(X, Y, Z) | only(X, lambda value: value.k),
    "keys by function": key_by(x=lambda value: value.k + value.j, y="k") | most_recently(X, Y),
    "near": within(4, X, Y, Z),
    "near per key": KEYED | within(6, X, Y, Z) | within(3, X, Z) | most_recently(Y, n=2),
    "near, once": affinely(X, Y) | within(5, X, Y, Z) | fifo(),
    "taken back": retracting() | KEYED | most_recently(X, Y, Z),
    "taken back, the newest of all": most_recently(X, Z) | retracting(),
    "taken back, of two": key_by(x="j", z="j") | most_recently(X, Y, Z, n=2) | retracting() | fifo(),
    "taken back, near": KEYED | within(6, X, Y, Z) | retracting() | most_recently(X, Y),
    "all": None,
}
BODIES: dict[str, dict[str, Any]] = {
    "parts": {"yields": lambda x, y, z: (x, y, z)},
    "traced": {
        "where": lambda x, y, z: (x.k <= y.k) & (y.j != z.j),
        "yields": lambda x, y, z, time_x, time_z: {"a": x.k + y.k, "b": (x.n, -z.n), "c": time_x, "d": time_z.end},
    },
    "links": {"where": lambda x, y, z: (x.k == y.k) & (y.j == z.j), "yields": lambda x, y, z: (x.n, y.n, z.n)},
    "untraced": {"where": lambda x, y, z: bool(x.k or y.k), "yields": lambda x, y, z: [x.n, y.n, z.n]},
    "failing": {"where": lambda x, y, z: x.k / y.k >= 0, "yields": lambda x, y, z: (x.n, y.missing)},
}
KEYS = [0, 1, 2, 1, 0, True, 1.0, None, "a", float("nan")]


def a_value(draw: random.Random) -> dict[str, Any]:
    return {"n": draw.randrange(99), "k": draw.choice(KEYS), "j": draw.randrange(2)}


def output_of(restrict: str, body: str) -> tuple[list[Reactive], Reactive]:
    inputs = [Reactive(name) for name in "abc"]
    slots = dict(zip("xyz", inputs, strict=True))
    return inputs, correlate(slots=slots, restrict=RESTRICTIONS[restrict], name="out", **BODIES[body])


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("restrict", RESTRICTIONS)
def test_restrictions_of_known_meaning_agree(restrict: str, body: str) -> None:
    draw = random.Random(f"{restrict} {body}")
    inputs, output = output_of(restrict, body)
    both = Both(output, lateness=draw.choice([None, 5]))
    for place in range(32):
        at = draw.choice([None, None, place // 3 + draw.randrange(9), (place // 3, place // 3 + draw.randrange(9))])
        both.call("push", draw.choice(inputs), a_value(draw), at)
        if place == 16:
            both.swap()
    both.check()
    is_as_written = restrict == "aligned, one by key" or ("aligned" in restrict and body == "links")
    assert is_as_written or inputs[0] in both.engines[1]._pushes._functions  # those were compared


def listener(heard: list[Any]) -> Any:
    return lambda events: heard.extend(told(events))


CALLS = ["push"] * 16 + ["swap", "advance", "text", "wrong time", "subscribe", "cancel", "end"]


@given(st.sampled_from(sorted(RESTRICTIONS)), st.sampled_from(sorted(BODIES)), st.randoms(use_true_random=False))
def test_whatever_comes_between_the_pushes(restrict: str, body: str, draw: random.Random) -> None:
    inputs, output = output_of(restrict, body)
    both, subscriptions = Both(output), []
    heard: list[list[Any]] = [[], []]
    for _ in range(20):
        call, input_ = draw.choice(CALLS), draw.choice(inputs)
        if call == "swap":
            both.swap()
        elif call == "advance":
            both.call(call, draw.randrange(9))
        elif call == "subscribe":
            for engine, mine in zip(both.engines, heard, strict=True):
                subscriptions.append(engine.subscribe(output, listener(mine)))
        elif call == "cancel":
            while subscriptions:
                subscriptions.pop().cancel()
        elif call == "end":
            both.call(call, input_)
        else:
            value = "text" if call == "text" else a_value(draw)
            both.call("push", input_, value, "now" if call == "wrong time" else draw.choice([None, draw.randrange(9)]))
    assert heard[0] == heard[1]
    both.check()


@given(cases(), st.lists(st.integers(0, 6), min_size=14, max_size=14))
def test_a_body_that_fails_leaves_everything_as_it_was(case: Any, bombs: list[int]) -> None:
    program, trace, _ = case
    inputs, output = build(program, "direct" if program.is_double else "plain", has_bomb=True)
    both = Both(output)
    for push, bomb in zip(trace, bombs, strict=False):
        outcomes = []
        for engine in both.engines:
            ARMED[:] = [bomb]
            outcomes.append(attempt(engine, "push", inputs[push.source], push.value, (push.start, push.end)))
        ARMED.clear()
        assert outcomes[0] == outcomes[1]
        both.check()


def streams_and_tables() -> tuple[Any, ...]:
    return Reactive("a"), Reactive("b"), Reactive("t", table=True), Reactive("u", table=True)


A, B, T, U = streams_and_tables()


def pairs(restrict: Any = None, where: Any = None, right: Reactive = B) -> Reactive:
    made: Reactive = correlate(x=A, y=right, where=where, yields=lambda x, y: (x, y), restrict=restrict)
    return made


def alike(x: Any, y: Any) -> Any:
    return x.k == y.k


OTHERS: dict[str, tuple[Reactive, ...]] = {
    "tables joined": (inner_join(T, U), left_join(T, U)),
    "foreign key": (foreign_join(T, U, on="k"),),
    "full join of filtered rows": (outer_join(filter_table(T, lambda row: row.k != 1), U),),
    "windows": (pairs(tumbling(4) | most_recently("x", "y")),),
    "within": (pairs(within(3, "x", "y"), alike),),
    "outer, taken back": (pairs(retracting() | optionally("y") | key_by(x="j") | most_recently("x"), alike),),
    "absent": (correlate(x=A, yields=lambda x: x.n, restrict=without(B, after="x", within=2)),),
    "event time": (pairs(most_recently("x", "y") | in_event_time(2)),),
    "shared memories": (combine_latest(A, B), pairs(most_recently("x", "y"))),
    "nested": (zip_(combine_latest(A, B), A), sample(A, B)),
    "alternatives": (either(zip_(A, B), correlate(x=A, yields=lambda x: x.n, restrict=affinely("x"))),),
    "self-join": (pairs(most_recently("x", n=2), right=A),),
    "merged": (merge(A, B), map_(A, lambda value: value.n)),
    "table joined with a stream": (stream_table_join(A, T, on="k", how="left"),),
}


@pytest.mark.parametrize("lateness", [None, 2])
@pytest.mark.parametrize("name", OTHERS)
def test_all_else_agrees(name: str, lateness: int | None) -> None:
    draw = random.Random(name)
    both = Both(*OTHERS[name], lateness=lateness)
    inputs = list(both.engines[0].inputs.values())
    for place in range(32):
        input_, value = draw.choice(inputs), {"n": place, "k": draw.choice([0, 1, 2]), "j": draw.randrange(2)}
        change = Delete(value["k"]) if draw.random() < 0.2 else Update(draw.choice([0, 1, 2]), value)
        at = draw.choice([None, None, place // 3, (place // 3, place // 3 + 2)])
        both.call("push", input_, change if input_.table else value, at)
        if draw.random() < 0.1:
            both.call("advance", place // 3)
        if draw.random() < 0.05:
            both.swap()
    both.call("close")
    both.check()


COMPLETED = take_until(A, B)
C = Reactive("c")
OVER: dict[str, Reactive] = {
    "latest": with_latest_from(COMPLETED, C),
    "combined": combine_latest(COMPLETED, C),
    "latest, below": map_(with_latest_from(COMPLETED, map_(C, lambda value: value)), lambda pair: pair),
    "near": correlate(x=COMPLETED, y=C, where=alike, yields=lambda x, y: (x, y), restrict=within(9, "x", "y")),
    "joined with a table": stream_table_join(COMPLETED, T, on="k", how="left"),
}


@pytest.mark.parametrize("name", OVER)
def test_what_is_over_keeps_nothing_of_what_comes_after(name: str) -> None:
    # the other input has a function by then, made for a correlation that was not over
    both = Both(OVER[name], lateness=2)
    other = T if name == "joined with a table" else C
    for place in range(12):
        value = {"n": place, "k": place % 3}
        both.call("push", other, Update(place % 3, value) if other.table else value, place)
        both.check()
        if place < 4 or place == 8:
            both.call("push", A, value, place)
        if place == 4:
            both.call("push", B, value, place)
        both.check()
