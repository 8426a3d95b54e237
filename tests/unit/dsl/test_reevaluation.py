"""What is evaluated again when something changes: counted; and that memory makes no difference, as a law.

The expected counts are worked out by hand from what each requirement observes; that a verdict is the same is checked
against a judge that never saw the subject before.
"""

from __future__ import annotations

import gc
import pickle
from datetime import UTC, datetime
from itertools import zip_longest
from typing import TYPE_CHECKING, Any
from unittest import mock
from zoneinfo import ZoneInfo

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Update
from cartesius.data.events import Delete
from cartesius.data.records import Record
from dsl import RulePack, Source, instant, location, not_, otherwise, require, when
from dsl.judgements.judges import Judge
from dsl.judgements.remembering import Memory
from dsl.terms.statements import Requirement, Statement
from dsl.terms.terms import Comparison, Constant, Now
from dsl.units import knots, metres
from tests.unit.dsl.harbour import berth, tide, vessel, wind
from tests.unit.dsl.test_judges import compiled, packs, situations, values
from tests.unit.dsl.test_thesis import EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable


def spent(made: RulePack, act: Callable[[], object]) -> tuple[int, int]:
    """The requirements and the conditions that are evaluated meanwhile."""
    before = made.stats
    act()
    after = made.stats
    return after.requirements - before.requirements, after.conditions - before.conditions


# ------------------------------------------------------------------------------------------------------ Figure 2.3


def listing_11() -> RulePack:
    links = [berth.id == vessel.destination, tide.sensor == berth.id]
    made = RulePack("port", subject=vessel, location=vessel.destination, links=links)
    with made, location("A"):
        require(wind.velocity <= 45 * knots, name="wind")
        with when(vessel.draught >= 15 * metres):
            require(berth.depth + tide.height - vessel.draught >= 0.5 * metres, name="clearance")
    return made


EVALUATED = [
    (0, 0),  # a berth, the wind and the tide, and no ship yet
    (0, 0),
    (0, 0),
    (1, 2),  # A comes: its location, the wind, and whether it is deep, which it is not
    (1, 0),  # the wind again, for A alone
    (0, 0),  # the tide: the clearance of A does not matter
    (2, 2),  # B comes, which is deep
    (2, 0),  # the wind, for A and for B
    (1, 0),  # the tide, for B alone
    (2, 0),  # the wind, for A and for B
]


def test_the_timeline_of_figure_2_3_evaluates_only_what_changed():
    port = listing_11()
    engine = Engine(port.table(), port.warnings())
    counted = [
        spent(port, lambda: engine.push(port.sources[source], row, at=at))  # noqa: B023 - called at once
        for at, source, row in EVENTS
    ]
    assert counted == EVALUATED


# ------------------------------------------------------------------------------------------- forty rules, 300 ships

FIELDS = [f"f{number}" for number in range(40)]
ship = Source("ship", key="id", id=int, fields=dict.fromkeys(FIELDS, metres))
gale = Source("gale", key=None, force=int)


def forty_rules() -> RulePack:
    made = RulePack("forty", subject=ship)
    with made:
        for field in FIELDS:
            require(ship[field] <= 10 * metres, name=field)
    return made


def row(number: int, **changed: float) -> dict[str, Any]:
    return {"id": number, **dict.fromkeys(FIELDS, 1.0), **changed}


def test_a_ship_of_which_five_fields_change_costs_five_evaluations_of_forty():
    made = forty_rules()
    engine = Engine(made.table())
    ships = made.sources["ship"]
    filling = spent(made, lambda: [engine.push(ships, row(number)) for number in range(300)])
    assert filling == (300 * 40, 0)
    changed = {"f3": 2.0, "f5": 2.0, "f8": 20.0, "f13": 2.0, "f21": 2.0}
    assert spent(made, lambda: engine.push(ships, row(7, **changed))) == (5, 0)
    assert spent(made, lambda: engine.push(ships, row(7, **changed))) == (0, 0)
    assert spent(made, lambda: engine.push(ships, row(7))) == (5, 0)
    assert made.stats.requirements == 300 * 40 + 10


# ------------------------------------------------------------------------------------------- what depends on what


def air(velocity: float | None, direction: float | None = 0.0) -> Any:
    return Record({"velocity": velocity, "direction": direction})


def guarded() -> RulePack:
    made = RulePack("guarded", subject=vessel)
    with made:
        with when(vessel.length >= 200 * metres):
            require(wind.velocity <= 35 * knots, "wind")
            with when(vessel.has_pilot):
                require(vessel.beam <= 30 * metres, "beam")
        with otherwise():
            require(vessel.draught <= 10 * metres, "draught")
    return made


def record(**fields: Any) -> Any:
    names = [name for name, _ in attrs.asdict(guarded()._judgement().sources[0], recurse=False)["fields"]]
    return Record({**dict.fromkeys(names), "mmsi": 1, **fields})


LARGE = {"length": 250.0, "beam": 20.0, "draught": 9.0, "has_pilot": True}


@pytest.mark.parametrize(
    ("changed", "evaluated"),
    [
        ({}, (0, 0)),
        ({"name": "EVA"}, (0, 0)),  # no rule observes it
        ({"beam": 31.0}, (1, 0)),
        ({"draught": 20.0}, (0, 0)),  # inside a condition that is false
        ({"length": 260.0}, (0, 2)),  # both conditions turn out as before
        ({"length": 100.0}, (1, 2)),  # the otherwise is entered
        ({"length": None}, (3, 3)),  # all is undecided
        ({"has_pilot": False}, (0, 1)),
        ({"has_pilot": None}, (1, 1)),
        ({"beam": 20}, (1, 0)),  # 20 and 20.0 read differently
    ],
)
def test_a_change_evaluates_what_depends_on_it(changed, evaluated):
    made = guarded()
    judge, blow = made._judgement(), air(20.0)
    before, now = record(**LARGE), record(**{**LARGE, **changed})
    judge(before, blow)
    assert spent(made, lambda: judge(now, blow)) == evaluated
    assert judge(now, blow) == guarded()._judgement()(now, blow)


def test_an_unknown_condition_that_changes_shows_what_is_missing_now():
    made = RulePack("p", subject=vessel)
    with made, when((vessel.length > 1 * metres) & (vessel.beam > 1 * metres)):
        require(vessel.draught < 1 * metres)
    judge = made._judgement()
    ships = [record(draught=5.0, length=length, beam=beam) for length, beam in ((None, 5.0), (5.0, None))]
    missing = [judge(each).because[0].missing for each in ships]
    assert missing == [("vessel.length",), ("vessel.beam",)]


def test_a_row_that_comes_or_goes_is_a_change_even_if_its_fields_are_unknown():
    made = guarded()
    judge, large, unknown = made._judgement(), record(**LARGE), air(None, None)
    assert judge(large, None).because[0].missing == ("wind",)
    assert judge(large, unknown).because[0].missing == ("wind.velocity",)
    assert judge(large, None).because[0].missing == ("wind",)


def test_the_clock_is_a_leaf():
    due = Comparison("<=", Now(), Constant(10, Now().kind))
    judge = Judge((*guarded()._judgement().sources,), (Requirement(due, "due", None),))
    large = record(**LARGE)
    assert judge(large, None, now=10).status == "allowed"
    assert judge(large, None, now=11).status == "restricted"
    assert judge(large, None, now=11).status == "restricted"
    assert judge(large, None, now=None).status == "unknown"
    assert (judge.evaluations.requirements, judge.evaluations.remembered) == (3, 1)


# --------------------------------------------------------------------------------------------- shared expressions


def test_a_shared_expression_is_computed_once_a_judgement():
    made = RulePack("p", subject=vessel)
    with made:
        area = vessel.length * vessel.beam
        for limit in (300, 200, 100):
            require(area <= limit * (metres * metres))
        with when(area > 50 * (metres * metres)):
            require(vessel.draught <= 5 * metres)
    rows = {"vessel": {"mmsi": 1, "length": 15.0, "beam": 10.0, "draught": 1.0}}
    [reason] = made.check(rows).because
    assert reason.values[2] == ("vessel.length * vessel.beam", 150.0, "m²")
    assert made.stats.expressions == 1


def test_equal_terms_whose_values_read_differently_are_not_shared():
    made = RulePack("p", subject=vessel)
    with made:
        require(vessel.has_pilot & (vessel.length * 1 < 1 * metres), "whole")
        require(vessel.has_pilot & (vessel.length * 1.0 < 1 * metres), "decimal")
    whole, decimal = made.check({"vessel": {"mmsi": 1, "has_pilot": True, "length": 5}}).because
    assert (repr(whole.values[2][1]), repr(decimal.values[2][1])) == ("5", "5.0")


# ------------------------------------------------------------------------------------------------------- the memory


def test_the_very_same_rows_are_answered_from_memory():
    made = guarded()
    judge, large = made._judgement(), record(**LARGE)
    calm, storm = air(5.0), air(50.0)
    asked = [judge(large, wind_row).status for wind_row in (calm, storm, calm, storm, calm)]
    assert asked == ["allowed", "restricted"] * 2 + ["allowed"]
    assert (made.stats.judgements, made.stats.remembered) == (5, 3)


def test_what_is_remembered_of_a_ship_goes_with_it():
    made = forty_rules()
    engine = Engine(made.table())
    ships, memory = made.sources["ship"], made._judgement().memory
    for number in range(10):
        engine.push(ships, row(number))
        engine.push(ships, row(number, f1=20.0))
    assert len(memory) == 10
    for number in range(9):
        engine.push(ships, Delete(number))
    gc.collect()
    assert len(memory) == 1
    engine.push(ships, Update(9, row(9)))
    assert len(memory) == 1
    del engine
    gc.collect()
    assert len(memory) == 0


def test_a_plain_mapping_is_judged_anew_because_it_may_have_changed():
    made = guarded()
    judge, large = made._judgement(), {**record(**LARGE)}
    assert judge(large, None).status == "unknown"
    large["length"], large["draught"] = 100.0, 20.0
    assert judge(large, None).status == "restricted"
    assert len(judge.memory) == 0


def test_memory_is_no_part_of_equality_representation_or_pickles():
    fresh, used = guarded()._judgement(), guarded()._judgement()
    large = record(**LARGE)
    used(large, None)
    assert used == fresh
    assert hash(used) == hash(fresh)
    assert repr(used) == repr(fresh)
    copy = pickle.loads(pickle.dumps(used))  # our own bytes
    assert (copy, len(copy.memory), copy.evaluations.judgements) == (used, 0, 0)


# ------------------------------------------------------------------------------------------------------------ the law


def records(rows: Any) -> list[Any]:
    return [None if rows[source] is None else Record(rows[source]) for source in ("a", "b", "c")]


def fingerprint(verdict: Any) -> str:
    return repr(attrs.astuple(verdict))


def forgetful(judge: Judge) -> Callable[[list[Any]], Any]:
    """The same judge without a memory: of plain mappings nothing is remembered."""
    anew = Judge(judge.sources, judge.statements, version=judge.version)
    return lambda rows: anew(*(None if row is None else dict(row) for row in rows))


@settings(max_examples=settings().max_examples // 3)
@given(packs, situations, st.lists(st.tuples(st.sampled_from("abc"), situations), max_size=8))
def test_judging_with_a_memory_is_judging_from_scratch(program, rows, changes):
    """Rows are replaced one by one, as an engine would; the old ones are asked for again, too."""
    made = compiled(program)
    sources, judge = list(made.sources), made._judgement()
    order = ["abc".index(name) for name in sources]
    now = records(rows)
    history = [list(now)]
    for source, other in changes:
        now["abc".index(source)] = records(other)["abc".index(source)]
        history.append(list(now))
    history = [[each[number] for number in order] for each in history]
    anew = forgetful(judge)
    expected = [fingerprint(anew(each)) for each in history]
    for number in range(len(history)):
        for step in (number - 1, number, number - 1, number) if number else (0,):
            assert fingerprint(judge(*history[step])) == expected[step]


@settings(max_examples=settings().max_examples // 3)
@given(packs, situations, st.lists(st.fixed_dictionaries({"x": values, "y": values}), max_size=6))
def test_it_is_so_for_changes_of_single_fields(program, rows, changes):
    made = compiled(program)
    judge, order = made._judgement(), ["abc".index(name) for name in made.sources]
    now, anew = records(rows), forgetful(judge)
    for changed in changes:
        now[0] = Record({**now[0], **changed})
        given_rows = [now[number] for number in order]
        assert fingerprint(judge(*given_rows)) == fingerprint(anew(given_rows))


def requirements(statements: tuple[Statement, ...]) -> int:
    return sum(1 if isinstance(each, Requirement) else requirements(each.body) for each in statements)


@settings(max_examples=settings().max_examples // 3)
@given(packs, situations)
def test_no_requirement_is_evaluated_twice_and_none_if_nothing_changed(program, rows):
    made = compiled(program)
    judge, order = made._judgement(), ["abc".index(name) for name in made.sources]
    first, same = ([records(rows)[number] for number in order] for _ in range(2))
    judge(*first)
    assert judge.evaluations.requirements <= requirements(made.statements)
    before = attrs.evolve(judge.evaluations)
    judge(*same)
    has_nan = any(
        value != value  # noqa: PLR0124 - NaN is never the same
        for each in rows.values()
        for value in (each or {}).values()
    )
    if not has_nan:
        assert (judge.evaluations.requirements, judge.evaluations.conditions) == (
            before.requirements,
            before.conditions,
        )


def test_two_engines_of_one_pack_do_not_disturb_each_other():
    """Both judge a ship 1 by one judge: each has its own rows."""
    made = forty_rules()
    engines = [Engine(made.table()), Engine(made.table())]
    for step in range(4):
        for number, engine in enumerate(engines):
            engine.push(made.sources["ship"], row(1, f1=20.0 if (step + number) % 2 else 2.0))
        statuses = [engine.query(made.table())[1].status for engine in engines]
        assert statuses == (["restricted", "allowed"] if step % 2 else ["allowed", "restricted"])


def test_zeros_have_signs():
    made = RulePack("p", subject=ship)
    with made:
        require(not_(ship.f1 <= 0 * metres))
    judge = made._judgement()
    ships: list[Any] = [Record(row(1, f1=zero)) for zero in (0.0, -0.0, 0.0)]
    assert [repr(judge(each).because[0].values[0][1]) for each in ships] == ["0.0", "-0.0", "0.0"]


def test_an_hour_that_comes_twice_is_told_apart():
    """Of the two half past two, when the clocks are put back, the second is an hour later, and equal by ``==``."""
    caller = Source("caller", key="id", id=int, eta=instant)
    made = RulePack("p", subject=caller)
    with made:
        require(caller.eta <= datetime(2026, 10, 25, 1, tzinfo=UTC))
    at_half_past_two = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Amsterdam"))
    first, second = at_half_past_two, at_half_past_two.replace(fold=1)
    assert first == second
    engine = Engine(made.table())
    found = [engine.push(made.sources["caller"], {"id": 1, "eta": eta}) for eta in (first, second, first, first)]
    assert [[event.value.value.status for event in events] for events in found] == [
        ["allowed"], ["restricted"], ["allowed"], []
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------- what grows too old

AGEING = """pack: p
subject: vessel

source vessel by mmsi, stale after 7 µs:
    mmsi: number
    kind: text, optional
    draught: m, optional
    eta: instant, optional

source wind, stale after 11 µs:
    velocity: kn, optional

source tide, forecast:
    height: m, optional

source other is another vessel

number of vessel must be at most 2
    name: crowd

(number of vessel where vessel kind is "tug") must be at least 1
    name: tugs

when kind is "tanker":
    tide height predicted for (eta) must be at least 1 m
    tide height must be at least 1 m throughout eta to eta + 2 µs
    wind velocity must be at most 10 kn
    for every other where other kind is kind:
        draught must be at most other draught
"""
STEPS = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.one_of(
            st.tuples(
                st.just("vessel"),
                st.integers(1, 3),
                st.fixed_dictionaries(
                    {
                        "kind": st.sampled_from(["tanker", "tug", None]),
                        "draught": st.sampled_from([1.0, 2.0, None]),
                        "eta": st.sampled_from([15, 40, None]),
                    }
                ),
            ),
            st.tuples(
                st.just("wind"), st.none(), st.fixed_dictionaries({"velocity": st.sampled_from([5.0, 15.0, None])})
            ),
            st.tuples(st.just("tide"), st.none(), st.fixed_dictionaries({"height": st.sampled_from([0.5, 2.0, None])})),
            st.tuples(st.just("wind"), st.none(), st.none()),
        ),
    ),
    max_size=10,
)


def changes_of(made: RulePack, steps: Any, beside: Any = ()) -> list[str]:
    """What an engine gives of some steps, if another engine of the same rules sees others meanwhile."""
    engines, found, now = [Engine(made.table()), Engine(made.table())], [], [0, 0]
    for pair in zip_longest(steps, beside):
        for number, step in enumerate(pair):
            if step is None:
                continue
            passed, (source, key, row) = step
            now[number] += passed
            out = engines[number].advance(now[number])
            if source == "tide":
                change: Any = {**row, "issued": now[number], "start": now[number], "end": 45 + now[number]}
            else:
                change = Delete(key) if row is None else Update(key, {**row, "mmsi": key} if key else row)
            out += engines[number].push(made.sources[source], change, at=now[number])
            found += out if number == 0 else []
    return [repr((event.end, event.value)) for event in found + engines[0].advance(now[0] + 100)]


@given(STEPS, STEPS)
def test_what_is_missing_or_too_old_is_what_a_judge_without_memory_says(steps, beside):
    with mock.patch.object(Memory, "remember"):
        expected = changes_of(RulePack.from_text(AGEING), steps)
    assert changes_of(RulePack.from_text(AGEING), steps, beside) == expected
