"""The law of memory: it is what `explain` says, with ever new keys and a moving clock.

Each restriction, and stacks of them, run on a trace that repeats itself but for its times and keys. What is retained
and what waits stays within the class that is printed; where nothing is said to grow, no container grows that an engine
reaches: indexes, deadlines, copies of restrictions, queues. And a process does not grow.
"""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import settings

from cartesius import Engine, Reactive, correlate
from cartesius.batching import deadlines, floored_deadlines
from cartesius.engines.explanations import UNBOUNDED
from restrictions import (
    affinely,
    aligning,
    as_table,
    every_nth,
    first_match,
    in_event_time,
    key_by,
    most_recently,
    optionally,
    retracting,
    sliding,
    take,
    tumbling,
    versioned,
    within,
)
from restrictions.gates.folding import buffering
from restrictions.tables import aggregate, count, min_, reduce, to_table
from restrictions.time.duration import lasting
from restrictions.windows import istream, rstream, session, windowed
from tests.conftest import ROOT
from tests.laws import catalogue_lines
from tests.laws.catalogue import EXPORTS, program_of
from tests.laws.memory_process import GROWING, PROGRAMS
from tests.laws.memory_soak import PERIOD, Facts, Soak, allowed, drawn, rows_of, said_of, weigh

assert catalogue_lines.REGISTRIES, "without them nothing is drawn"
IS_LONG = settings().max_examples > 50
EVENTS = 200_000 if IS_LONG else 2_000
"""Half of them with ever new keys, half with the same few."""
UNJUDGED = 4 * PERIOD
SHARDS, STACKS = 20, 5
MOST = 2_000_000
"""By how many bytes a process may grow."""
RESTRICTIONS = [name for name, export in EXPORTS.items() if export.is_restriction]


def soak(focus, seed, events=EVENTS, tier=None):
    """Run a program that has what is asked for; return whether it is said to be bounded, or None if there is none."""
    program = drawn(focus, seed)
    if program is None:
        return None
    bounded = False
    for is_new in (True, False):
        one = Soak(program, is_new=is_new, tier=tier)
        if is_new and not one.is_bounded:
            events = min(events, UNJUDGED)  # of what nothing bounds little can be asserted
        try:
            one.run(events // 2)
        except Exception as error:  # of any kind: it is told with the program
            error.add_note(f"{seed}\n{program.text}\n{one.engine.explain()}")
            raise
        bounded = bounded or one.is_bounded
    return bounded


@pytest.mark.parametrize("name", RESTRICTIONS)
def test_each_restriction_holds_what_is_said(name, pytestconfig):
    start = pytestconfig.getoption("--hypothesis-seed") or 0
    assert soak([name], f"memory {start}/{name}") is not None


@pytest.mark.parametrize("name", RESTRICTIONS[::4])
def test_in_the_reference_as_well(name):
    soak([name], f"memory of the reference {name}", events=400, tier="reference")


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_stack_holds_what_is_said(shard, pytestconfig):
    seed = f"memory {pytestconfig.getoption('--hypothesis-seed') or 0}, stacks {shard}"
    draw, found, number = random.Random(seed), [], 0
    while len(found) < STACKS:
        number += 1
        one = soak(draw.sample(RESTRICTIONS, draw.choice([2, 2, 3])), f"{seed}/{number}")
        if one is not None:
            found.append(one)
        assert number < 40 * STACKS
    print(f"{sum(found)} of {len(found)} are bounded")


def test_a_process_does_not_grow():
    """By rows and by batches; what nothing bounds shows that growth is seen."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.laws.memory_process", "100000" if IS_LONG else "7000", *(["all"] * IS_LONG)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    grown = {name: int(by) for name, by in (line.split("\t") for line in run.stdout.splitlines())}
    assert grown.keys() >= PROGRAMS.keys() | GROWING.keys() if IS_LONG else len(grown) == len(PROGRAMS) + len(GROWING)
    for name, by in grown.items():
        assert (by > MOST) == (name.partition(", in batches")[0] in GROWING), (name, by)


def grown_of(seeds):
    run = subprocess.run(
        [sys.executable, "-m", "tests.laws.memory_process", "200000" if IS_LONG else "5000", "drawn", *seeds],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name: int(by) for name, by in (line.split("\t") for line in run.stdout.splitlines())}


@pytest.mark.slow
@pytest.mark.parametrize("name", RESTRICTIONS)
def test_a_process_of_each_restriction_does_not_grow(name):
    """Of what is said to be bounded, with ever new keys; of the others nothing can be asserted."""
    for program, by in grown_of([name]).items():
        assert by <= MOST, program


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_process_of_a_stack_does_not_grow(shard, pytestconfig):
    seed = pytestconfig.getoption("--hypothesis-seed") or 0
    for program, by in grown_of([f"stack {seed}/{shard}/{number}" for number in range(STACKS)]).items():
        assert by <= MOST, program


# ----------------------------------------------------------------------------------------------- what the law has found

a, b = Reactive("a"), Reactive("b")


def of_any_time(event):
    return [(event.start, event.end + 5)]


def test_what_may_meet_events_of_any_time_is_bounded_by_nothing_and_that_is_said():
    """What windows of one's own making give may be of any time: so nothing lets go what waits for it."""
    far = correlate(a=a, b=b, yields=lambda a, b: a, restrict=windowed(of_any_time), name="far")
    engine = Engine(correlate(x=far, y=b, yields=lambda x, y: x, restrict=within(3, "x", "y")), lateness=0)
    for at in range(200):
        engine.push(b, at, at=at)
    (left,) = [one for one in said_of(engine, engine.explain()) if one.slot == "y"]
    assert left.memory == UNBOUNDED
    assert engine.stats.slots[left.correlation, "y"][0] > 190


def test_a_gate_that_names_no_slot_and_rows_that_are_not_decided_are_told_of():
    gated = Engine(correlate(a=a, yields=lambda a: a, restrict=in_event_time(3) | most_recently("a")))
    assert [one.queues for one in said_of(gated, gated.explain())] == [("O(window)",)]


def test_rows_that_outlive_their_parts_are_told_of():
    stack = within(3, "a", "b") | retracting() | as_table(lambda row: "one")
    engine = Engine(correlate(a=a, b=b, yields=lambda a, b: (a, b), restrict=stack), lateness=0)
    assert rows_of(engine, engine.explain()) == [UNBOUNDED]


@pytest.mark.parametrize("lateness", [None, 0, 5])
@pytest.mark.parametrize("is_outside", [True, False])
def test_memory_under_a_gate_is_freed_also_where_nobody_moves_the_clock(lateness, is_outside):
    """SEMANTICS 3.12, with the gate left and right of `key_by`."""
    keys, gate = key_by(a="k", b="k"), in_event_time(3)
    stack = within(10, "a", "b") | (gate | keys if is_outside else keys | gate)
    engine = Engine(correlate(a=a, b=b, yields=lambda a, b: (a.n, b.n), restrict=stack), lateness=lateness)
    most = 0
    for at in range(600):
        engine.push((a, b)[at % 2], {"k": at // 2, "n": at}, at=at)
        most = max(most, engine.stats.retained + engine.stats.waiting)
    assert most <= 10 + 3 + 5 + 3


LEAVING = {
    "displaced": lambda: key_by(a="k", b="k") | most_recently("a", "b") | within(10, "a", "b"),
    "displaced, for all keys": lambda: most_recently("a", "b", n=2) | within(10, "a", "b"),
    "taken back": lambda: (
        key_by(a="k", b="k") | most_recently("a", "b") | optionally("b") | retracting() | within(10, "a", "b")
    ),
    "displaced, without a row": lambda: (
        key_by(a="k", b="k") | most_recently("a", "b") | optionally("b") | within(10, "a", "b")
    ),
    "displaced, for all keys, without a row": lambda: (
        most_recently("a", "b", n=2) | optionally("a", "b") | within(10, "a", "b")
    ),
    "used up": lambda: key_by(a="k", b="k") | affinely("a", "b") | within(10, "a", "b"),
    "only the first": lambda: key_by(a="k", b="k") | first_match() | affinely("a", "b") | within(10, "a", "b"),
    "let go by another": lambda: most_recently("a", "b") | within(10, "a", "b") | lasting("a", 3) | lasting("b", 3),
    "let in together": lambda: (
        key_by(a="k", b="k") | most_recently("a", "b") | within(10, "a", "b") | aligning("a", "b")
    ),
    "found by loops": lambda: key_by(a="k", b="k") | most_recently("a") | affinely("b") | within(10, "a", "b"),
}


@pytest.mark.parametrize("stack", LEAVING.values(), ids=LEAVING)
@pytest.mark.parametrize("lateness", [None, 2_000])
def test_nothing_waits_for_what_has_left_though_the_clock_stands(stack, lateness, monkeypatch):
    """Events leave as others come, or are used up: what asked when they may be forgotten goes with them."""
    for module in (deadlines, floored_deadlines):
        monkeypatch.setattr(module, "FEW", 20)

    def engine_of(tier):
        near = correlate(a=a, b=b, yields=lambda a, b: (a.n, b), restrict=stack())
        return Engine(near, lateness=lateness, tier=tier)

    reference, in_place, batched, looked_at = map(engine_of, ("reference", "in_place", None, "in_place"))
    every, weights, size = [reference, in_place, batched, looked_at], list[int](), 0
    for at in range(0, 480, 4):
        rows = [((a, b)[one % 2], {"k": one // 2 % 3, "n": one}, one) for one in range(at, at + 4)]
        batch = {one: {"value": [], "at": [], "order": []} for one in (a, b)}
        for reactive, value, one in rows:
            for engine in (reference, in_place, looked_at):
                engine.push(reactive, value, at=one)
            for name, column in {"value": value, "at": one, "order": one}.items():
                batch[reactive][name].append(column)
        batched.push_many(batch)
        assert looked_at.next_deadline == reference.next_deadline == batched.next_deadline
        if at == 240:
            weights, size = [weigh(engine) for engine in every], len(reference.snapshot())
    assert in_place.next_deadline == reference.next_deadline
    for engine, before in zip(every, weights, strict=True):
        assert engine.stats.retained < 30
        assert weigh(engine) <= before + 40
        assert len(engine.snapshot()) <= size + 100


@pytest.mark.parametrize("keys", [False, True])
def test_what_counts_beside_a_gate_in_windows_does_not_keep_what_the_gate_lets_go(keys):
    """`take` holds nothing back: so the gate lets go by the clock, before its window is freed."""
    inside = sliding(4, 2) | in_event_time(0) | take(5, "a")
    stack = key_by(a="k", b="k") | inside if keys else inside
    engine = Engine(correlate(a=a, b=b, yields=lambda a, b: (a.n, b.n), restrict=stack), lateness=2)
    for at in range(600):
        engine.push((a, b)[at % 2], {"k": 0, "n": at}, at=at)
        assert engine.stats.retained + engine.stats.waiting <= 20


def test_a_session_a_key_is_forgotten():
    engine = Engine(aggregate(a, count, by="k", restrict=session(3)), lateness=0)
    for at in range(600):
        engine.push(a, {"k": at // 2}, at=at)
        assert engine.stats.retained + engine.stats.waiting <= 6


@pytest.mark.parametrize(
    ("bound", "most"), [("O(0)", 0), ("O(1)", 5), ("at most 3", 3), ("O(keys)", 35), (UNBOUNDED, float("inf"))]
)
def test_a_class_is_a_number(bound, most):
    assert allowed(bound, Facts(keys=7, before=0)) == most


@pytest.mark.parametrize("name", EXPORTS)
def test_what_is_explained_is_as_people_write_it(name):
    programs = [program_of([name], f"explained {name}/{number}") for number in range(4)]
    assert any(programs)
    assert not [program.text for program in programs if program and " at 0x" in Engine(*program.outputs).explain()]


def keyed(*restrictions):
    """One stream, by a key that is ever new, in a time that goes on."""
    stack = key_by(a="k")
    for one in restrictions:
        stack |= one
    return Engine(correlate(a=a, yields=lambda a: a.n, restrict=stack), lateness=0)


REMEMBERING = {
    "counts": (lambda: keyed(within(5, "a"), take(2, "a")), "state         O(keys), what take(2, 'a') remembers"),
    "every other": (
        lambda: keyed(within(5, "a"), every_nth(2, "a")),
        "state         O(keys), what every_nth(2, 'a') r",
    ),
    "reports": (lambda: keyed(tumbling(5), istream()), "rows          O(keys), the last report of each key"),
    "versions": (lambda: keyed(versioned("a", retention=5)), "memory O(keys) + O(versions)"),
    "partners": (lambda: keyed(within(5, "a"), buffering("a", 2)), "queue O(keys), held by buffering('a', 2) per key"),
    "totals": (lambda: Engine(reduce(to_table(a, key="k"), count, by="k")), "rows          O(keys), one total a key"),
    "elements": (lambda: Engine(reduce(to_table(a, key="k"), min_.of("n"), by="k")), "cannot subtract"),
}


@pytest.mark.parametrize("what", REMEMBERING)
def test_what_is_remembered_of_each_key_is_told_of(what):
    make, told = REMEMBERING[what]
    engine, before = make(), 0
    for at in range(600):
        engine.push(a, {"k": at, "n": 0}, at=at)
        before = weigh(engine) if at == 300 else before
    assert weigh(engine) > before + 250
    assert told in engine.explain()


@pytest.mark.parametrize(
    "restrictions",
    [(tumbling(5), rstream()), (tumbling(5), take(2, "a")), (within(5, "a"),), (in_event_time(2), within(5, "a"))],
)
def test_what_goes_with_its_window_or_time_is_not_remembered(restrictions):
    engine, weights = keyed(*restrictions), []
    for at in range(600):
        engine.push(a, {"k": at, "n": 0}, at=at)
        if at >= 200:
            weights.append(weigh(engine))
    assert max(weights[200:]) <= max(weights[:200])
    assert "O(keys)" not in engine.explain()


def test_what_comes_between_two_windows_waits_for_none():
    engine = keyed(sliding(3, 4, tick=3))
    for at in range(600):
        engine.push(a, {"k": at, "n": 0}, at=at)
        assert engine.stats.waiting <= 3
