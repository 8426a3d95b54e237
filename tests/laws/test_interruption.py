"""The law of interruption: an exception of any kind at any line of a call, in any tier, and the engine is whole.

Afterwards it equals the one before, also in what it does next; or the one after, and the exception carries the results;
or it says that it is broken, at every later call (SEMANTICS 1.12).
"""

from __future__ import annotations

import gc
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import settings

from cartesius import Engine, Reactive, Update, correlate
from cartesius.batching.world import World
from cartesius.columns.batches import slicing
from cartesius.columns.batches.slicing import SLICE
from cartesius.columns.results import events_of
from cartesius.core import direct_pushes, engine_core
from cartesius.data.journals import Journal
from cartesius.errors import CartesiusError, EngineBroken
from cartesius.programs import steps as steps_module
from cartesius.programs.doors import check_usable
from restrictions import (
    affinely,
    aligning,
    in_event_time,
    key_by,
    most_recently,
    only,
    optionally,
    session,
    sliding,
    tumbling,
    within,
    without,
)
from restrictions.streams import buffer, interval_join, map_
from restrictions.tables import aggregate, count, inner_join, map_table, sum_, table_of_latest, to_table
from restrictions.windows import on_close
from tests.laws import catalogue_operators, catalogue_restrictions, catalogue_windows  # noqa: F401 - they enter exports
from tests.laws.catalogue import EXPORTS, Program, program_of
from tests.laws.catalogue_rows import fruitful_rows
from tests.laws.catalogue_tiers import _batch, often_by_key, told
from tests.laws.interruption import KINDS, Alarm, Lines, Scene, Stop, check, lines_of
from tests.oracle.test_in_place import a_value
from tests.oracle.test_in_place_clauses import OWN, a_program, newest
from tests.oracle.tier_programs import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tests.laws.interruption import Place


TIERS = ("reference", "in_place", None)
SCENES = min(12, max(3, settings().max_examples // 50))
LINES = max(5, settings().max_examples // 10)
"""How many of the calls are interrupted, and at how many lines of each; at all, if there are no more."""
LONGEST = 100_000
INTERRUPTED: set[Place] = set()


@pytest.fixture(autouse=True)
def _conserving() -> None:
    """The law looks itself after each call: what looks within one would be interrupted, too."""


def sliced(length: int, rows: Sequence[Row], engine: Engine) -> Any:
    """Push rows as a batch that is computed in slices of some length; the later ones touch the rows of their keys."""
    with mock.patch.object(slicing, "SLICE", length), often_by_key():
        return engine.push_many(_batch(rows))


def pushed(row: Row, engine: Engine) -> Any:
    """Push a row, as a batch of its own if columns own the state."""
    with often_by_key():
        return engine.push(row.reactive, row.pushed, row.at)


def scenes(export: str, seed: str) -> Iterator[Scene]:
    """Calls into engines of a program that has an export."""
    for attempt in range(20):
        program = program_of([export], f"{seed}/{attempt}")
        found = None if program is None else fruitful_rows(program, f"{seed}/{attempt}")
        if program is not None and found:
            break
    else:
        return
    draw = random.Random(seed)
    rows = tuple(found[:12])
    at = draw.randrange(len(rows))
    row, time = rows[at], max(row.at[1] for row in rows[: at + 1])
    (output,) = program.outputs
    streams = [one for one in program.inputs if not one.table]
    more = [wrapped(output), *(interval_join(one, streams[-1], 0, program.unit) for one in streams)]
    other = draw.choice(more)
    calls: dict[str, Any] = {
        "push": partial(pushed, row),
        "advance": lambda engine: engine.advance(time),
        "close": lambda engine: engine.close(),
        "push_many": partial(sliced, draw.choice([1, 2, SLICE]), rows[at : at + 4]),
        "add": lambda engine: engine.add(other),
        "remove": lambda engine: engine.remove(other) or [],
    }
    for tier in TIERS:
        for name, call in calls.items():
            after = rows[at + 1 :] if name == "push" else () if name in ("close", "push_many") else rows[at:]
            there = replace(program, outputs=(output, other)) if name == "remove" else program
            yield Scene(there, tier, rows[:at], name, call, after, rows[at : at + 4])


def wrapped(output: Reactive) -> Reactive:
    """What is made of an output's values, or rows, one by one."""
    return (map_table if output.table else map_)(output, lambda value: (value,))


@pytest.mark.parametrize("export", sorted(EXPORTS))
def test_a_call_is_done_or_undone_or_says_that_the_engine_is_broken(export, pytestconfig):
    seed = f"interruption/{pytestconfig.getoption('--hypothesis-seed') or 0}/{export}"
    draw, outcomes = random.Random(seed), Counter()
    for scene in sampled(scenes(export, seed), SCENES, draw):
        lines = lines_of(scene)
        if len(lines) > LONGEST:
            continue  # the same lines again and again
        for at in chosen(lines, draw):
            kind = draw.choice(KINDS)
            try:
                outcomes[check(scene, kind, at, *later(draw))] += 1
            except AssertionError as error:
                error.add_note(f"{scene.program.text}\n{scene.tier}, after {scene.before}")
                raise
    print(outcomes)


def later(draw: random.Random) -> list[int]:
    """Choose how many lines later a call is interrupted once more, and how many after that, if at all."""
    return [draw.randint(1, draw.choice([3, 60])) for _ in range(draw.randrange(3))]


def chosen(lines: list[Place], draw: random.Random) -> list[int]:
    """Choose lines of a call: first those that have not been interrupted in this process."""
    order = draw.sample(range(len(lines)), len(lines))
    fresh = {lines[at]: at for at in order if lines[at] not in INTERRUPTED}
    found = [*fresh.values()][:LINES]
    found += order[: LINES - len(found)]
    INTERRUPTED.update(lines[at] for at in found)
    return found


@pytest.mark.slow  # some minutes: every line once
def test_every_line_of_all_calls_is_interrupted(pytestconfig):
    seed = f"every line/{pytestconfig.getoption('--hypothesis-seed') or 0}"
    draw, interrupted, outcomes = random.Random(seed), set(), Counter()
    for export in sorted(EXPORTS):
        for scene in sampled(scenes(export, f"{seed}/{export}"), 10, draw):
            lines = lines_of(scene)
            for at in draw.sample(range(len(lines)), len(lines)):
                if lines[at] not in interrupted and len(lines) <= LONGEST:
                    interrupted.add(lines[at])
                    outcomes[check(scene, draw.choice(KINDS), at)] += 1
    print(f"{len(interrupted)} lines: {outcomes}")
    assert outcomes["broken"] < outcomes.total() / 10


@pytest.mark.parametrize("name", OWN)
def test_a_push_that_calls_clauses_is_done_or_undone(name, pytestconfig, monkeypatch):
    """Of restrictions as users write them, in the middle of a function."""
    monkeypatch.setattr(direct_pushes, "PUSHES_BEFORE", 0)
    start, outcomes, number = pytestconfig.getoption("--hypothesis-seed") or 0, Counter(), 0
    while outcomes.total() < 3 * LINES:
        number += 1
        draw = random.Random(f"{start}/{name}/{number}")
        drawn = a_program(draw, name)
        if drawn is None:
            continue
        inputs, output = drawn
        program = Program((str(output.pattern),), tuple(inputs), (output,), frozenset(), {"lateness": 1}, 1, False)
        rows = tuple(Row(draw.choice(inputs), a_value(draw), (at, at)) for at in range(14))
        scene = Scene(program, "in_place", rows[:8], "push", partial(pushed, rows[8]), rows[9:])
        lines = lines_of(scene)
        if not any(place.startswith("<generated push") for place, _ in lines):
            continue
        for at in chosen(lines, draw):
            again = later(draw)
            outcomes[check(scene, draw.choice(KINDS), at, *again), bool(again)] += 1
    print(outcomes)
    assert outcomes["broken", False] < outcomes.total() / 2, outcomes


OF_FUNCTIONS = ("<generated push", "direct/", "effects/evidence")
"""Where the lines are that functions of pushes run, and those that put handlers into force for them."""


def of_several(name: str) -> tuple[list[Reactive], list[Reactive]]:
    """Inputs, and outputs of which some call clauses within the function of the first input."""
    a, b = Reactive("a"), Reactive("b")
    in_windows = correlate(x=b, y=b, yields=lambda x, y: (x.n, y.n), restrict=tumbling(2, report=on_close))
    left_join = interval_join(a, b, 0, 2, key="k", how="left")
    programs = {
        "a follower gives up": [buffer(a, 2), to_table(a, key="k")],  # where the key is null
        "windows of others close": [in_windows, map_(a, lambda value: value.n)],
        "rows that come at deadlines go on": [map_(left_join, lambda pair: (pair,))],
        "all call clauses, and a gate lets go": [
            correlate(x=a, y=b, yields=lambda x, y: (x.n, y.n), restrict=within(3, "x", "y") | in_event_time(1)),
            buffer(a, 2),
        ],
        "two slots of one": [
            correlate(x=a, y=a, where=lambda x, y: x.n < y.n, yields=lambda x, y: x.n, restrict=within(3, "x", "y")),
            map_(a, lambda value: value.n),
        ],
    }
    return [a, b], programs[name]


@pytest.mark.parametrize(
    "name",
    [
        "a follower gives up",
        "windows of others close",
        "rows that come at deadlines go on",
        "all call clauses, and a gate lets go",
        "two slots of one",
    ],
)
def test_a_push_in_which_some_call_clauses_is_done_or_undone(name, monkeypatch):
    """At lines of the function, in the middle of which clauses have changed the state."""
    monkeypatch.setattr(direct_pushes, "PUSHES_BEFORE", 0)
    (a, b), outputs = of_several(name)
    program = Program((name,), (a, b), tuple(outputs), frozenset(), {"lateness": 0}, 1, False)
    said = [(a, 0, 0), (b, 0, 0), (b, 1, 1), (a, 1, 1), (a, 0, 2), (b, 1, 3), (a, 1, 3), (a, None, 9), (b, 1, 12)]
    said.append((a, 1, 20))
    rows = tuple([Row(one, {"k": k, "n": n}, (at, at)) for n, (one, k, at) in enumerate(said)])
    draw, outcomes = random.Random(name), Counter()
    for place in (6, 7, 9):
        scene = Scene(program, "in_place", rows[:place], "push", partial(pushed, rows[place]), rows[place + 1 :])
        steps = [at for at, (where, _) in enumerate(lines_of(scene)) if any(one in where for one in OF_FUNCTIONS)]
        some = draw.sample(steps, min(len(steps), settings().max_examples))
        outcomes += Counter(check(scene, draw.choice([Alarm, KeyboardInterrupt]), at) for at in some)
    assert outcomes["undone"] > 20, outcomes


def test_what_is_due_before_an_event_that_is_dropped_is_met_or_not():
    """At each line of the function: the entries that leave before a filter drops the event do not come back alone."""
    left, right = Reactive("left"), Reactive("right")
    stack = key_by(x="k", y="k") | within(5, "x", "y") | only("x", lambda value: value["n"] < 100)
    output = correlate(x=left, y=right, yields=lambda x, y: (x.n, y.n), restrict=stack)
    program = Program((str(output.pattern),), (left, right), (output,), frozenset(), {"lateness": 0}, 1, False)
    before = tuple(Row((left, right)[n % 2], {"k": 1, "n": n}, (n, n)) for n in range(6))
    dropped = Row(left, {"k": 1, "n": 200}, (30, 30))
    after = tuple(Row(one, {"k": 1, "n": n}, (n, n)) for n, one in enumerate((left, right, left), 31))
    scene = Scene(program, "in_place", before, "push", partial(pushed, dropped), after)
    lines = [at for at, (place, _) in enumerate(lines_of(scene)) if place.startswith("<generated push")]
    assert len(lines) > 8
    outcomes = Counter(check(scene, kind, at) for at in lines for kind in KINDS[:2])
    assert outcomes["undone"], outcomes


def test_what_a_gate_holds_up_by_key_is_held_up_afterwards_as_before():
    """At each line of what keeps deadlines by key: of one key they are held up, of another they are met."""
    left, right = Reactive("left"), Reactive("right")
    stack = key_by(x="k", y="k") | within(3, "x", "y") | optionally("y") | aligning("x", "y")
    output = correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=stack)
    program = Program((str(output.pattern),), (left, right), (output,), frozenset(), {"lateness": 0}, 1, False)
    said = [
        (left, 0, 0),
        (left, 0, 0),
        (left, 1, 1),
        (left, 1, 1),
        (right, 0, 2),
        (right, 1, 2),
        (right, 1, 9),
        (right, 0, 12),
    ]
    rows = tuple([Row(one, {"k": k, "n": n}, (at, at)) for n, (one, k, at) in enumerate(said)])
    outcomes = Counter()
    for place in (5, 6, 7):
        scene = Scene(program, "in_place", rows[:place], "push", partial(pushed, rows[place]), rows[place + 1 :])
        lines = [at for at, (where, _) in enumerate(lines_of(scene)) if "floored_deadlines" in where]
        outcomes += Counter(check(scene, kind, at) for at in lines for kind in KINDS[:1])
    assert outcomes["undone"] > 25, outcomes


def test_a_clock_that_columns_move_has_moved_or_not():
    """At each line of a move that is known to decide nothing, to where the clock stands already and beyond."""
    stream = Reactive("stream")
    output = table_of_latest(stream)
    program = Program((str(output.pattern),), (stream,), (output,), frozenset(), {"lateness": 0}, 1, False)
    rows = tuple([Row(stream, {"k": 0, "n": n}, (at, at)) for n, at in enumerate([3, 6, 8, 9])])
    outcomes = Counter()
    for until in (6, 7):
        scene = Scene(program, None, rows[:2], "advance", partial(Engine.advance, time=until), rows[2:])
        lines = [at for at, (where, _) in enumerate(lines_of(scene)) if "engine.py" in where or "batch_times" in where]
        outcomes += Counter(check(scene, KeyboardInterrupt, at) for at in lines)
    assert outcomes["undone"] > 20, outcomes


WHERE_COLUMNS_DECIDE = ("engines/engine.py", "batches/running", "batches/keyed_state", "batches/fates")


@pytest.mark.parametrize(
    "make",
    [
        lambda a, b: aggregate(a, sum_.of("n"), by="k", restrict=tumbling(3, report=on_close)),
        lambda a, b: correlate(x=a, yields=lambda x: x.n, restrict=without(b, after="x", within=3)),
    ],
    ids=["windows", "absence"],
)
def test_what_columns_decide_as_the_clock_moves_is_decided_or_not(make):
    """At each line of a move that they answer: what comes of it is given, or nothing has happened, or it is broken."""
    a, b = Reactive("a", fields=("k", "n")), Reactive("b", fields=("k", "n"))
    output = make(a, b)
    inputs = tuple([one for one in (a, b) if one in Engine(output).inputs.values()])
    program = Program((str(output.pattern),), inputs, (output,), frozenset(), {"lateness": 9}, 1, False)
    rows = tuple([Row(inputs[-1 if n == 5 else 0], {"k": n % 2, "n": n}, (n, n)) for n in range(8)])
    scene = Scene(program, None, rows[:7], "advance", partial(Engine.advance, time=7), rows[7:])
    with often_by_key():
        engine: Any = scene.engine()
        assert engine.advance(7)
        assert engine._compiled.states is not None  # columns have answered
        places = lines_of(scene)
        lines = [at for at, (where, _) in enumerate(places) if any(one in where for one in WHERE_COLUMNS_DECIDE)]
        few = random.Random(0).sample(lines, min(len(lines), settings().max_examples))
        outcomes = Counter(check(scene, KeyboardInterrupt, at) for at in few)
    assert outcomes["undone"] > len(few) / 3, outcomes
    assert outcomes["broken"], outcomes  # once they have moved it, what comes of it is not told


def test_rows_without_a_partner_come_or_not_and_partners_know_or_not():
    """At each line that lets them out: one leaves alone, one after its partner, and one with its partner."""
    left, right = Reactive("left"), Reactive("right")
    output = interval_join(left, right, 0, 3, key="k", how="full")
    program = Program((str(output.pattern),), (left, right), (output,), frozenset(), {"lateness": 0}, 1, False)
    said = [(left, 0, 0), (right, 1, 0), (left, 2, 0), (left, 1, 1), (right, 2, 3), (right, 1, 9), (left, 2, 30)]
    rows = tuple([Row(one, {"k": k, "n": n}, (at, at)) for n, (one, k, at) in enumerate(said)])
    outcomes = Counter()
    for place in (5, 6):
        scene = Scene(program, "in_place", rows[:place], "push", partial(pushed, rows[place]), rows[place + 1 :])
        lines = [at for at, (where, _) in enumerate(lines_of(scene)) if "direct/leaving" in where]
        outcomes += Counter(check(scene, kind, at) for at in lines for kind in (Alarm, KeyboardInterrupt))
    assert outcomes["done"] + outcomes["undone"] > 40, outcomes
    assert sum(outcomes.values()) > 100


@pytest.mark.parametrize(
    "make",
    [
        lambda stream: aggregate(stream, sum_.of("n"), by="k", restrict=session(3)),
        lambda stream: aggregate(stream, sum_.of("n"), by="k", restrict=tumbling(3, report=on_close)),
        lambda stream: correlate(
            x=stream, yields=lambda x: x.n, restrict=key_by(x="k") | tumbling(3) | most_recently("x")
        ),
        lambda stream: correlate(
            x=stream, yields=lambda x: x.n, restrict=key_by(x="k") | tumbling(3, report=on_close) | most_recently("x")
        ),
        lambda stream: correlate(x=stream, yields=lambda x: x.n, restrict=key_by(x="k") | session(3)),
    ],
)
def test_windows_that_close_are_given_and_gone_or_neither(make):
    """At each line that lets totals out, and of the function: two close, and one goes on, or begins."""
    stream = Reactive("stream")
    output = make(stream)
    program = Program((str(output.pattern),), (stream,), (output,), frozenset(), {"lateness": 0}, 1, False)
    said = [(0, 0), (1, 0), (0, 1), (2, 2), (0, 3), (2, 6), (0, 10), (1, 30)]
    rows = tuple([Row(stream, {"k": k, "n": n}, (at, at)) for n, (k, at) in enumerate(said)])
    outcomes = Counter()
    for place in (5, 6, 7):
        scene = Scene(program, "in_place", rows[:place], "push", partial(pushed, rows[place]), rows[place + 1 :])
        steps = [(at, where) for at, (where, _) in enumerate(lines_of(scene)) if "direct/" in where or "<gen" in where]
        assert any("closing" in where for _, where in steps)
        outcomes += Counter(check(scene, KeyboardInterrupt, at) for at, _ in steps)
    assert outcomes["undone"] > 100, outcomes


@pytest.mark.parametrize("again", [(), (1,), (1, 1)])
def test_subscribers_hear_of_what_comes_later(again):
    """At lines of a call that tells them, interrupted up to three times: they are not taken to be told still."""
    stream = Reactive("stream")
    output = map_(stream, lambda value: value)

    def engine() -> tuple[Engine, list[Any]]:
        made, heard = Engine(output), []
        made.subscribe(output, heard.extend)
        made.push(stream, 1)
        return made, heard

    lines = Lines()
    lines.run(partial(engine()[0].push, stream, 2))
    for at in [at for at, (where, _) in enumerate(lines.places) if "core/outlets" in where]:
        one, heard = engine()
        with suppress(Stop):
            Lines(Stop, at, *again).run(partial(one.push, stream, 2))
        with suppress(EngineBroken):
            assert one.push(stream, 3) == heard[-1:], lines.places[at]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("tick", ["time", 2])
@pytest.mark.parametrize(
    "windows", [tumbling, partial(sliding, period=2), session], ids=["tumbling", "sliding", "session"]
)
def test_what_waits_for_its_batch_in_windows_comes_or_not(windows, tick, tier):
    """At lines of the windows: an event waits, ends a batch, or comes as a window closes."""
    left, right = Reactive("left"), Reactive("right")
    stack = key_by(x="k", y="k") | windows(4, tick=tick, report=on_close)
    output = correlate(x=left, y=right, yields=lambda x, y: (x.n, y.n), restrict=stack)
    program = Program((f"{windows} {tick}",), (left, right), (output,), frozenset(), {"lateness": 1}, 1, False)
    said = [(0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 0, 1), (0, 0, 3), (1, 1, 3), (1, 1, 5), (0, 0, 20), (1, 0, 21)]
    rows = tuple([Row((left, right)[one], {"k": k, "n": n}, (at, at)) for n, (one, k, at) in enumerate(said)])
    draw, outcomes = random.Random(f"{windows} {tick} {tier}"), Counter()
    for place in (1, 4, 7):
        scene = Scene(program, tier, rows[:place], "push", partial(pushed, rows[place]), rows[place + 1 :])
        steps = [at for at, (where, _) in enumerate(lines_of(scene)) if "restrictions/windowing" in where]
        some = draw.sample(steps, min(len(steps), LINES))
        outcomes += Counter(check(scene, draw.choice([Alarm, KeyboardInterrupt]), at) for at in some)
    assert outcomes["undone"] > LINES, outcomes


def sampled(every: Iterable[Scene], most: int, draw: random.Random) -> list[Scene]:
    """Choose some, all if there are no more."""
    found = list(every)
    return draw.sample(found, min(most, len(found)))


MISTAKES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "nothing is undone": lambda patch: patch.setattr(Journal, "roll_back", Journal.clear),
    "the clock and the numbers are not undone": lambda patch: patch.setattr(
        World, "roll_back", lambda world, _: world.journal.roll_back()
    ),
    "results of what stands are lost": lambda patch: patch.setattr(engine_core, "carried", lambda *_: True),
    "a torn engine goes on": lambda patch: patch.setattr(
        steps_module, "check_usable", lambda call, **known: check_usable(call, **known | {"is_torn": False})
    ),
    "several tables change, and none says so": lambda patch: patch.setattr(Journal, "change", _changed),
}


def _changed(journal: Journal, do: Callable[[], object], undo: Callable[[], object]) -> None:
    do()
    journal.append(undo)


def calls() -> Iterator[tuple[Scene, int]]:
    """Calls of some programs, row by row, and lines at which they are interrupted."""
    for number, export in enumerate(["most_recently", "affinely", "inner_join", "within"] * 9):
        for scene in scenes(export, f"planted/{number}"):
            if (
                scene.tier is not None
                and scene.name not in ("add", "remove")
                and (n := len(lines_of(scene))) <= LONGEST
            ):
                yield from ((scene, at) for at in random.Random(number).sample(range(n), min(10, n)))


@pytest.mark.parametrize("name", MISTAKES)
def test_a_planted_mistake_is_found(name, monkeypatch):
    """A torn journal does not go unseen: the law fails at a line of some call."""
    MISTAKES[name](monkeypatch)
    tried = 0
    for tried, (scene, at) in enumerate(calls(), 1):
        try:
            check(scene, KeyboardInterrupt, at)
        except (AssertionError, CartesiusError) as found:  # the law fails by any of them
            print(f"{name}: {type(found).__name__} in call {tried}: {str(found).splitlines()[0]}")
            return
    pytest.fail(f"{name}: not found in {tried} calls")


def test_what_follows_a_try_is_not_interrupted_as_if_it_were_before():
    """Nor after a comprehension, which is a part of its function from Python 3.12 on, with handlers of its own."""
    found: dict[str, Any] = {}
    body = "is_open.append(1)\n  rows = [n for n in list(range(3))]\n"
    text = f"def work(is_open):\n try:\n  {body} finally:\n  is_open.clear()\n return rows"
    exec(compile(text, "<generated>", "exec"), found)
    lines = Lines()
    lines.run(lambda: found["work"]([]))
    for at in range(lines.seen):
        is_open: list[int] = []
        with suppress(Stop):
            Lines(Stop, at).run(partial(found["work"], is_open))
        assert not is_open, at


def test_a_call_is_interrupted_as_often_as_is_said():
    """Else the law holds of what is interrupted once; what is left to do after that may come to an end before."""
    raised = Counter()
    for scene, at in islice(calls(), 30):
        engine, lines = scene.engine(), Lines(KeyboardInterrupt, at, 1, 1)
        with suppress(KeyboardInterrupt, EngineBroken):
            lines.run(partial(scene.call, engine))
        raised[lines.raised] += 1
    assert raised[2] + raised[3] > 20, raised
    assert raised[3] > 10, raised


def test_few_interruptions_break_an_engine():
    """As there is a way back from nearly all lines."""
    outcomes = Counter(check(scene, KeyboardInterrupt, at) for scene, at in islice(calls(), 400))
    print(outcomes)
    assert 0 < outcomes["broken"] < outcomes.total() / 10


left, right = Reactive("left"), Reactive("right")
depth, draught = Reactive("depth", table=True), Reactive("draught", table=True)
SIGNALLED: dict[str, tuple[tuple[Reactive, ...], Callable[[], Reactive], dict[str, Any]]] = {
    "latest": ((left, right), lambda: keyed(most_recently("x", "y")), {}),
    "once": ((left, right), lambda: keyed(affinely("x", "y")), {}),
    "within": ((left, right), lambda: keyed(within(3, "x", "y")), {"lateness": 2}),
    "tables": ((depth, draught), lambda: inner_join(depth, draught), {}),
    "totals": ((left,), lambda: aggregate(left, count, by="k", restrict=tumbling(9)), {"lateness": 1}),
    "one's own": ((left, right), lambda: keyed(newest("x", "y")), {"lateness": 1}),
}
"""Programs of which a push is one generated function; of the last it calls clauses."""


def keyed(restriction: Any) -> Reactive:
    """A join of two streams."""
    return correlate(
        x=left, y=right, yields=lambda x, y: (x.n, y.n), restrict=key_by(x="k", y="k") | restriction, name="out"
    )


SWALLOWED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""Python tells, and goes on, where a signal's handler raises as it destroys an object, such as a continuation."""


@SWALLOWED
@pytest.mark.parametrize("name", sorted(SIGNALLED))
@pytest.mark.parametrize(("tier", "as_batch"), [*((tier, False) for tier in TIERS), (None, True)])
def test_a_real_signal_leaves_a_whole_engine_or_one_that_says_it_is_broken(name, tier, as_batch):
    """Ctrl-C by a timer, at any instant of a loop that pushes."""
    inputs, made, options = SIGNALLED[name]
    options = {"tier": tier, **options}
    program, outcomes = made(), Counter()
    draw = random.Random(name)
    records = [{"n": n, "k": draw.randrange(5)} for n in range(100 if tier == "reference" else 400)]
    rows = [(draw.choice(inputs), one) for one in records]
    pushes = [(one, Update(row["k"], row) if one.table else row) for one, row in rows]
    plain = Engine(program, **options)
    expected = [told(plain.push(*one)) for one in pushes]
    Engine(program, **options).push_many({one: columns(rows, one) for one in inputs})  # what is imported late is there
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    gc.disable()
    gc.freeze()  # what is there is looked at no more
    try:
        for _ in range(max(15, settings().max_examples)):
            engine, emitted = Engine(program, **options), []  # `+=` follows the call at once: no signal between
            for reactive, value in pushes[:20]:
                emitted += engine.push(reactive, value)
            batch = {one: columns(rows[20:], one) for one in inputs}
            gc.collect()  # Python swallows what is raised while it finalizes objects
            tables: dict[str, Any] = {}

            def call(engine: Engine = engine, batch: Any = batch, tables: Any = tables, out: Any = emitted) -> None:
                if as_batch:
                    tables["given"] = engine.push_many(batch)  # likewise
                else:
                    for reactive, value in pushes[20:]:
                        out += engine.push(reactive, value)

            error = signalled(call, draw.uniform(1e-5, 3e-3))
            carried = [] if error is None else vars(error).get("emitted", [])
            try:
                done = engine.stats.events
            except EngineBroken:
                outcomes["broken"] += 1
                continue
            given = [carried, *tables.values()]
            found = [*emitted, *(event for one in given for event in (one if type(one) is list else events_of(one)))]
            assert told(found) == [event for events in expected[:done] for event in events]
            assert [told(engine.push(*one)) for one in pushes[done:]] == expected[done:]
            outcomes["whole"] += 1
    finally:
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert outcomes["whole"], outcomes
    print(outcomes)


@SWALLOWED
@pytest.mark.parametrize("tier", TIERS)
def test_a_real_signal_within_a_move_of_the_clock_likewise(tier):
    """A gate lets go of all that it holds, each in a step of its own: all of that stands, or nothing."""
    program = keyed(within(3, "x", "y") | in_event_time(500))
    draw, outcomes = random.Random("advance"), Counter()
    pushes = [(draw.choice((left, right)), {"n": n, "k": draw.randrange(5)}, n // 2) for n in range(200)]

    def full() -> Engine:
        engine = Engine(program, tier=tier)
        for push in pushes:
            engine.push(*push)
        return engine

    plain = full()
    began = time.perf_counter()
    expected = told(plain.advance(10**6))
    longest = 2 * (time.perf_counter() - began)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    gc.disable()  # as above
    gc.freeze()
    try:
        for _ in range(max(15, settings().max_examples)):
            engine, emitted = full(), []
            gc.collect()

            def call(engine: Engine = engine, out: Any = emitted) -> None:
                out += engine.advance(10**6)

            error = signalled(call, draw.uniform(1e-5, longest))
            emitted += [] if error is None else vars(error).get("emitted", [])
            try:
                _ = engine.stats  # says so if it is broken
            except EngineBroken:
                outcomes["broken"] += 1
                continue
            done = engine.clock == 10**6
            assert told(emitted) == (expected if done else [])
            assert told(engine.advance(10**6)) == ([] if done else expected)
            assert engine.stats.fates == plain.stats.fates
            outcomes["done" if done else "undone"] += 1
    finally:
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert outcomes["done"] + outcomes["undone"], outcomes
    print(outcomes)


def test_an_engine_whose_function_was_left_without_its_handlers_says_that_it_is_broken() -> None:
    """Since Python 3.12 none of them need see a signal that comes where a loop jumps back."""
    left, right = Reactive("left"), Reactive("right")
    pairs = correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=most_recently("x", "y"))
    engine = Engine(pairs)
    engine.push(left, 1)

    def unseen(value: Any, at: Any) -> None:
        engine._steps.is_running = True
        raise KeyboardInterrupt

    with mock.patch.dict(engine._direct, {left: unseen}), pytest.raises(KeyboardInterrupt):
        engine.push(left, 2)
    with pytest.raises(EngineBroken):
        engine.push(right, 3)


def signalled(call: Callable[[], object], seconds: float) -> KeyboardInterrupt | None:
    """Do ``call``, interrupted after some time, unless it is done by then."""
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for _ in range(3):  # at the end of a round Python handles a signal that came just before
            pass
    except KeyboardInterrupt as error:
        return error
    return None


def columns(rows: list[tuple[Reactive, dict[str, int]]], reactive: Reactive) -> dict[str, list[int]]:
    """Rows of one input as columns."""
    mine = [(order, row) for order, (one, row) in enumerate(rows) if one is reactive]
    found = {name: [row[name] for _, row in mine] for name in ("n", "k")} | {"order": [order for order, _ in mine]}
    return found | ({"key": found["k"]} if reactive.table else {})
