"""Batches through programs of which columns compute a part: as if every row were pushed, wherever they stop."""

from __future__ import annotations

import random
from collections import Counter
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import settings

from cartesius import (
    Delete,
    Engine,
    Reactive,
    Restriction,
    Slot,
    Update,
    arrive,
    correlate,
    forward,
    handles,
    notify_at,
    push,
    set_aside,
    tick,
)
from cartesius.columns.batches.plans import plan
from cartesius.columns.batches.running import Compiled
from cartesius.columns.batches.written_part import WrittenPart
from cartesius.columns.results import events_of
from cartesius.errors import EngineBroken, NotStorable
from restrictions import first_match, in_sequence, key_by, lifo, most_recently, take, within
from restrictions.streams import map_
from restrictions.tables import (
    Monoid,
    changelog,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    reduce,
    sum_,
    to_table,
    update_stream,
)
from tests.laws import catalogue_operators, catalogue_restrictions, catalogue_windows  # noqa: F401 - they enter exports
from tests.laws.catalogue import EXPORTS, Program, program_of
from tests.laws.catalogue_law import check
from tests.laws.catalogue_rows import fruitful_rows
from tests.laws.interruption import KINDS, Scene, lines_of
from tests.laws.interruption import check as check_interrupted
from tests.laws.test_interruption import sliced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAMS = settings().max_examples
X, Y, Z = (Reactive(name) for name in "xyz")
T, U = Reactive("t", table=True), Reactive("u", table=True)


def programs(start: str) -> Iterator[tuple[str, Program]]:
    """Programs of which columns compute a part, and the seeds of each."""
    number = 0
    while True:
        number += 1
        seed = f"{start}/{number}"
        program = program_of(random.Random(seed).sample(sorted(EXPORTS), 5), seed)
        if program is not None and plan(Engine(*program.outputs, **program.options)).written:
            yield seed, program


def test_all_ways_of_running_such_a_program_agree(pytestconfig):
    found = programs(f"part {pytestconfig.getoption('--hypothesis-seed') or 0}")
    outcomes: Counter[str] = Counter()

    def run(part: WrittenPart, *batch: Any) -> Any:
        given = ran(part, *batch)
        outcomes["stopped" if given.stopped_by is not None else "gave results" if given.emitted else "gave none"] += 1
        return given

    ran = WrittenPart.run
    with mock.patch.object(WrittenPart, "run", run):
        for _ in range(PROGRAMS):
            seed, program = next(found)
            check(program, seed)
    print(outcomes)
    assert outcomes["gave results"] >= PROGRAMS // 5, outcomes


def test_a_batch_that_is_interrupted_has_done_its_first_rows_or_says_that_the_engine_is_broken(pytestconfig):
    draw = random.Random(pytestconfig.getoption("--hypothesis-seed") or 0)
    outcomes: Counter[str] = Counter()
    for seed, program in programs(f"interrupted {draw.random()}"):
        rows = tuple((fruitful_rows(program, seed) or [])[:12])
        if not rows:
            continue
        at = draw.randrange(len(rows))
        batch = rows[at : at + 4]
        scene = Scene(
            program, None, rows[:at], "push_many", partial(sliced, draw.choice([1, 2, 100]), batch), (), batch
        )
        n = len(lines_of(scene))
        for line in draw.sample(range(n), min(n, 8)):
            outcomes[check_interrupted(scene, draw.choice(KINDS), line)] += 1
        if outcomes.total() >= 3 * PROGRAMS:
            break
    print(outcomes)
    assert outcomes["in part"] >= PROGRAMS // 5
    assert outcomes["broken"] < outcomes.total() / 4


READING: dict[str, Callable[[], Reactive]] = {
    "total": lambda: reduce(T, sum_.of("v"), by="k"),
    "mapped": lambda: map_table(T, lambda t: t.v + 1),
    "filtered": lambda: filter_table(T, lambda t: t.v > 1),
    "changes": lambda: changelog(T),
    "mapped and joined": lambda: inner_join(map_table(T, lambda t: t.v), U),
}
"""Of tables, what looks up the row that a change replaces: columns compute it."""
BESIDE: dict[str, Callable[[], Reactive]] = {
    "changes joined": lambda: inner_join(to_table(changelog(U)), T),
    "changes joined from the left": lambda: left_join(T, to_table(changelog(U))),
    "by a foreign key": lambda: foreign_join(T, to_table(changelog(U)), on="k"),
    "chosen": lambda: correlate(a=T, b=X, yields=lambda a, b: (a.v, b), restrict=take(5, "b")),
}
"""What reads the same table, as written, and remembers its rows by itself."""


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("reading", READING)
def test_rows_that_both_parts_read_are_kept_for_both(reading, beside, pytestconfig):
    draw = random.Random(f"both {pytestconfig.getoption('--hypothesis-seed') or 0}/{reading}/{beside}")
    outputs = READING[reading](), BESIDE[beside]()
    for _ in range(-(-PROGRAMS // 10)):
        by_row, by_batch = Engine(*outputs, tier="reference"), Engine(*outputs)
        for step in range(12):
            key = draw.choice([1, 2, 3])
            row = {"k": draw.choice([1, 2]), "v": draw.choice([0, 2, 3])}
            change = Delete(key) if draw.random() < 0.3 else Update(key, row)
            source, value = draw.choice([(T, change), (T, change), (U, change), (X, step)])
            if source not in by_row.inputs.values():
                continue
            expected = by_row.push(source, value, at=step)
            if draw.random() < 0.7:
                column = {"start": [step], "end": [step]}
                named = {"key": [key], "deleted": [value == Delete(key)], "value": [row]}
                batch = {**column, **({"value": [value]} if source is X else named)}
                found = events_of(by_batch.push_many({source: batch}))
            else:
                found = by_batch.push(source, value, at=step)
            assert [repr(one) for one in found] == [repr(one) for one in expected]
            if draw.random() < 0.2:
                by_batch = Engine.restore(by_batch.snapshot(), *outputs)
            assert by_batch.query(T) == by_row.query(T)


# ------------------------------------------------------------------------ what the laws have found, each by itself


BODIES: dict[tuple[str, ...], Any] = {
    ("a",): lambda a: (a,),
    ("a", "b"): lambda a, b: (a, b),
    ("a", "z"): lambda a, z: (a, z),
    ("b", "z"): lambda b, z: (b, z),
}


def pairs(restrict: Any, **slots: Reactive) -> Reactive:
    variables: dict[str, Any] = {**slots}
    return correlate(yields=BODIES[tuple(slots)], restrict=restrict, name="pairs", **variables)


def pushed(output: Reactive, rows: list[tuple[Reactive, Any, int]], **options: Any) -> list[Any]:
    engine = Engine(output, tier="reference", **options)
    return [(one.value, one.start, one.end) for row in rows for one in engine.push(*row)]


def batched(engine: Engine, rows: list[tuple[Reactive, Any, int]]) -> list[Any]:
    columns: dict[Reactive, dict[str, list[Any]]] = {}
    for order, (reactive, row, at) in enumerate(rows):
        mine = columns.setdefault(reactive, {})
        for name, value in {"order": order, "at": at, **row}.items():
            mine.setdefault(name, []).append(value)
    found = engine.push_many(columns)
    assert isinstance(engine._compiled, Compiled)
    assert engine._compiled.part is not None
    return [(one.value, one.start, one.end) for one in events_of(found)]


def latest(body: Any = lambda x, y: {"k": x.k, "v": x.v - y.v}) -> Reactive:
    return correlate(x=X, y=Y, yields=body, restrict=key_by(x="k", y="k") | most_recently("x", "y"), name="latest")


ROWS = [(reactive, {"k": k % 3, "v": v}, v) for v, (reactive, k) in enumerate([(X, 0), (Y, 0), (Z, 0), (X, 1)] * 6)]


@pytest.mark.parametrize("options", [{}, {"lateness": 2}], ids=str)
def test_behind_a_kernel_a_correlation_runs_as_written(options):
    output = pairs(key_by(a="k", z="k") | within(4, "a", "z") | first_match(), a=latest(), z=Z)
    engine = Engine(output, **options)
    kernels = [line for line in engine.explain().splitlines() if line.startswith("  push_many")]
    assert kernels == [
        "  push_many     compiled: the kernel of versions",
        "  push_many     row by row, as first_match() is run as written",
    ]
    found = [one for start in range(0, len(ROWS), 5) for one in batched(engine, ROWS[start : start + 5])]
    assert found == pushed(output, ROWS, **options) != []
    assert "# pairs is run row by row: first_match() is run as written" in engine.source()


def test_what_comes_behind_what_is_written_is_written():
    middle = map_(pairs(take(9, "a"), a=latest()), lambda row: row[0])
    engine = Engine(pairs(key_by(b="k", z="k") | most_recently("b", "z"), b=middle, z=Z))
    assert [*map(str, plan(engine).written.values())] == [
        "take(9, 'a') is run as written",
        "'row' comes row by row",
        "'b' comes row by row",
    ]
    assert len(plan(engine).stages) == 1


def test_where_a_body_raises_the_rows_before_stand_in_columns_and_objects():
    def body(a, z):
        return a.v // (z.v - 10)

    output = correlate(
        a=latest(), z=Z, yields=body, restrict=key_by(a="k", z="k") | within(9, "a", "z") | first_match(), name="ratio"
    )
    engine, reference = Engine(output), Engine(output, tier="reference")
    expected = [one.value for row in ROWS[:10] for one in reference.push(*row)]
    with pytest.raises(ZeroDivisionError) as told:
        batched(engine, ROWS)
    assert [one.value for one in events_of(vars(told.value)["emitted"])] == expected != []
    assert any("at row 10 of 24" in note for note in told.value.__notes__)
    assert engine.stats.events == 10
    rest = [one.value for row in ROWS[11:] for one in reference.push(*row)]
    assert [one[0] for one in batched(engine, ROWS[11:])] == rest != []


def test_what_is_no_plain_data_is_lost_with_an_error_that_says_so():
    output = correlate(a=latest(), yields=lambda a: {a.k: object()}, restrict=take(2, "a"), name="odd")
    engine = Engine(output)
    with pytest.raises(NotStorable, match="object") as told:
        batched(engine, [row for row in ROWS if row[0] is not Z])
    assert "all rows were pushed, but what they gave is nothing columns hold" in str(told.value.__notes__)
    assert engine.stats.events == 18


def test_an_error_says_where_what_the_rows_before_gave_is_no_table():
    def body(x):
        return {1: object()} if x.v else 1 // x.v

    engine = Engine(correlate(x=X, yields=body, restrict=take(9, "x"), name="odd"))
    rows = [(X, {"k": 1, "v": v}, at) for at, v in enumerate((1, 1, 0))]
    with pytest.raises(ZeroDivisionError) as told:
        batched(engine, rows)
    assert "at row 2 of 3" in (notes := str(told.value.__notes__))
    assert "what they gave is nothing columns hold" in notes
    assert "emitted" not in notes + str(vars(told.value))


def test_a_small_batch_does_not_take_over_what_many_rows_have_left():
    """Each call between two batches gives it back: so much costs as many rows that are pushed, and no more."""
    output = pairs(key_by(a="k", z="k") | within(4, "a", "z") | first_match(), a=latest(), z=Z)
    engine, reference = Engine(output), Engine(output, tier="reference")
    for at in range(100):
        for one in (engine, reference):
            one.push(X, {"k": at, "v": 1}, at)
    for length, why in [(10, "it is small beside what is held"), (13, ""), (1, ""), (5, "")]:
        start = engine.stats.events if length == 10 else engine._world.events
        rows = [([X, Y, Z][at % 3], {"k": at % 5, "v": at}, at) for at in range(start, start + length)]
        assert batched(engine, rows) == [
            (one.value, one.start, one.end) for row in rows for one in reference.push(*row)
        ]
        assert engine._why_row_by_row == why
    assert engine.stats.events == reference.stats.events


def test_an_event_of_two_names_is_one_event():
    """Two calls of `map_` with one function are one correlation; strict contiguity tells events by their identity."""

    def key(change: Any) -> Any:
        return change.key

    one, other = (map_(changelog(T), key) for _ in range(2))
    output = pairs(in_sequence("a", "b", contiguity="strict") | lifo(), a=one, b=other)
    reference = Engine(output, tier="reference")
    events = [one for at in (1, 3, 5) for one in reference.push(T, Update(at, {"n": at}), (at, at + 1))]
    assert [one.value for one in events] == [(1, 3), (3, 5)]
    batch = {"key": [1, 3, 5], "n": [1, 3, 5], "start": [1, 3, 5], "end": [2, 4, 6]}
    assert [one.value for one in events_of(Engine(output).push_many({T: batch}))] == [(1, 3), (3, 5)]


def test_rows_that_both_parts_read_are_kept_once_for_both():
    """A batch that stops is computed once more, from the rows that were there before it."""
    seen = update_stream(T)
    longest = reduce(T, Monoid("", max, lambda row: str(row.n)), by="k")  # of which no kernel knows what it totals
    joined = changelog(inner_join(to_table(pairs(take(3, "a"), a=seen), key=lambda row: row[0].k), longest))
    output = correlate(a=map_(joined, lambda change: change.key), b=seen, yields=lambda a, b: (a, b.n))
    rows = [(T, {"key": 0, "k": k, "n": n}, n) for n, k in enumerate([1, None, 2, 1, 1, 2])]
    updates = [(T, Update(row["key"], {"k": row["k"], "n": row["n"]}), at) for _, row, at in rows]
    engine = Engine(output)
    assert batched(engine, rows) == pushed(output, updates)
    reference = Engine(output, tier="reference")
    for row in updates:
        reference.push(*row)
    assert engine.push(T, Delete(0), 9) == reference.push(T, Delete(0), 9)
    assert engine.stats.fates == reference.stats.fates


_coming, _computed, _run = WrittenPart._coming, Compiled._computed, WrittenPart.run


def _numbered_by_name(part: WrittenPart, rows: Any, flows: Any, number: int) -> Any:
    return _coming(part, rows, {name: copy(flow) for name, flow in flows.items()}, number)


def _loaded_anew(compiled: Compiled, engine: Engine, feed: Any, before: Any = ()) -> Any:
    return _computed(compiled, engine, feed)


def _computed_whole(part: WrittenPart, rows: Any, flows: Any, moment: Any, number: int) -> Any:
    given = _run(part, rows, flows, moment, number)
    given.done = moment.steps
    return given


MISTAKES = {
    "each name of a correlation numbers its results": (
        (WrittenPart, "_coming", _numbered_by_name),
        test_an_event_of_two_names_is_one_event,
    ),
    "what was there is loaded after the written part": (
        (Compiled, "_computed", _loaded_anew),
        test_rows_that_both_parts_read_are_kept_once_for_both,
    ),
    "columns go on where the written part has stopped": (
        (WrittenPart, "run", _computed_whole),
        test_where_a_body_raises_the_rows_before_stand_in_columns_and_objects,
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_planted_mistake_is_found(name):
    mistake, test = MISTAKES[name]
    with mock.patch.object(*mistake), pytest.raises((AssertionError, pytest.fail.Exception)):
        test()


@pytest.mark.parametrize("is_first", [True, False])
def test_what_is_set_aside_in_a_step_is_told_in_the_order_of_correlations(is_first):
    written = correlate(a=X, yields=lambda a: a.v, restrict=key_by(a="k") | take(2, "a"), name="written")
    band = correlate(
        x=X, y=Y, yields=lambda x, y: (x.v, y.v), restrict=key_by(x="k", y="k") | within(3, "x", "y"), name="band"
    )
    outputs = (written, band) if is_first else (band, written)
    rows = [{"k": k, "v": v} for v, k in enumerate([None, 1, None])]
    reference, batches = Engine(*outputs, tier="reference"), Engine(*outputs)
    assert len(plan(batches).written) == 1
    for at, row in enumerate(rows, 1):
        reference.push(X, row, at)
    batches.push_many({X: {"k": [None, 1, None], "v": [0, 1, 2], "at": [1, 2, 3]}})
    assert [(one.value.v, slot) for one, slot, _ in reference.late] == [
        (v, slot) for v in (0, 2) for slot in ("ax" if is_first else "xa")
    ]
    assert list(map(repr, batches.late)) == list(map(repr, reference.late))


class refusing(Restriction):
    """It sets some events aside as they come, and others when they are due."""

    slot: Slot
    bit: int

    @handles(arrive, "slot")
    def refuse(self, slot, event):
        if event.value.v & self.bit:
            set_aside(slot, event, f"refused by {self.bit}")
        else:
            forward(slot, event)

    @handles(push, "slot")
    def ask(self, slot, entry):
        notify_at(entry.end + self.bit)
        forward(slot, entry)

    @handles(tick)
    def regret(self, now):
        for entry in self.slot.memory:
            if entry.end + self.bit == now - 1:
                set_aside(self.slot, entry, f"regretted by {self.bit}")


@pytest.mark.parametrize("lateness", [None, 0])
def test_what_both_parts_set_aside_in_one_step_is_told_in_the_order_of_correlations(lateness, pytestconfig):
    """Also where several of either part call their slot alike, and some set aside at deadlines before the event."""
    draw = random.Random(f"aside {pytestconfig.getoption('--hypothesis-seed') or 0}/{lateness}")
    of_columns = [
        correlate(a=X, yields=lambda a: a.v, restrict=key_by(a=key) | most_recently("a"), name=f"by {key}")
        for key in ("k", "v")
    ]
    written = [correlate(a=X, yields=lambda a: a.v, restrict=refusing("a", bit), name=f"bit {bit}") for bit in (1, 2)]
    both = 0
    for _ in range(6):
        outputs = draw.sample([*of_columns, *written], 4)
        reference, batches = Engine(*outputs, tier="reference", lateness=lateness), Engine(*outputs, lateness=lateness)
        assert len(plan(batches).written) == 2
        rows = [{"k": draw.choice([None, 1]), "v": draw.randrange(4)} for _ in range(12)]
        times = sorted(draw.randrange(9) for _ in rows)
        for row, at in zip(rows, times, strict=True):
            reference.push(X, row, at)
        batches.push_many({X: {"k": [row["k"] for row in rows], "v": [row["v"] for row in rows], "at": times}})
        assert batches._why_row_by_row == ""
        assert list(map(repr, batches.late)) == list(map(repr, reference.late))
        both += len(batches.late)
    assert both > 60


def test_a_batch_whose_function_was_left_without_its_handlers_says_that_the_engine_is_broken():
    """As `Engine.push` does: since Python 3.12 none of them need see a signal that comes where a loop jumps back."""
    engine = Engine(pairs(key_by(a="k", z="k") | within(9, "a", "z") | first_match(), a=latest(), z=Z))
    batched(engine, ROWS)
    assert isinstance(engine._compiled, Compiled)
    part = engine._compiled.part
    assert part is not None

    def unseen(value, at):
        part._steps.is_running = True
        raise KeyboardInterrupt

    with mock.patch.object(part._pushes, "ready", return_value={Z: unseen}), pytest.raises(KeyboardInterrupt):
        batched(engine, ROWS)
    with pytest.raises(EngineBroken):
        engine.push(X, {"k": 0, "v": 0})
