"""Totals of the rows of a source: what they mean by hand, what is missing of them, and what an engine does."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine
from cartesius.errors import InvalidArgument
from dsl import (
    Expression,
    RulePack,
    Source,
    Verdict,
    another,
    greatest_of,
    instant,
    least_of,
    mean_of,
    now,
    number_of,
    require,
    sum_of,
    when,
)
from dsl.judgements.contributions import Contribution
from dsl.judgements.tallies import Contributing
from dsl.terms.related_rows import tallyings, totals
from dsl.terms.texts import text
from dsl.units import hours, kilograms, metres, minutes, tonnes
from restrictions.table_operators.groups import Sum

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, vessel_type=str, draught=metres, berth=str)
other = another(vessel, "other")
berth = Source("berth", key="id", id=str, basin=str)
tug = Source("tug", key="id", id=int, available=bool, pull=tonnes, zone=str)

available = number_of(tug, where=tug.available)


def pack(*conditions: Expression) -> RulePack:
    made = RulePack("port", subject=vessel, links=[berth.id == vessel.berth])
    with made:
        for number, condition in enumerate(conditions):
            require(condition, name=f"r{number}")
    return made


def boat(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": number, "available": True, "pull": 30.0, "zone": "east", **fields}


def ship(mmsi: int, **fields: Any) -> dict[str, Any]:
    return {"mmsi": mmsi, "basin": "east", "vessel_type": "tanker", "draught": 5.0, "berth": "A", **fields}


def value(total: Expression, limit: Any = 0, **tables: Any) -> Any:
    """What a total comes to, as a verdict shows it; or what is missing."""
    rows = {"vessel": ship(1), "berth": {"id": "A", "basin": "east"}, **tables}
    [reason] = pack((total < limit) & (total > limit)).check(rows).because
    return reason.missing or dict((name, shown) for name, shown, _ in reason.values)[text(total.term)]


TUGS = [boat(1), boat(2, pull=50.0, available=False), boat(3, pull=20.0, zone="west")]
EAST = tug.zone == vessel.basin


@pytest.mark.parametrize(
    ("total", "limit", "result"),
    [
        (number_of(tug), 0, 3),
        (available, 0, 2),
        (number_of(tug, where=EAST), 0, 2),
        (number_of(tug, where=EAST & tug.available), 0, 1),
        (number_of(tug, where=tug.available & EAST), 0, 1),
        (number_of(tug, where=berth.basin == tug.zone), 0, 2),
        (number_of(tug, where=2 * metres < 1 * metres), 0, 0),
        (number_of(tug, where=(2 * metres < 1 * metres) & tug.available), 0, 0),
        (number_of(tug, where=(1 * metres < 2 * metres) & tug.available), 0, 2),
        (sum_of(tug.pull), 0 * tonnes, 100.0),
        (sum_of(tug.pull, where=tug.available), 0 * tonnes, 50.0),
        (sum_of(tug.pull * 2, where=EAST), 0 * tonnes, 160.0),
        (mean_of(tug.pull), 0 * tonnes, 100 / 3),
        (least_of(tug.pull), 0 * tonnes, 20.0),
        (greatest_of(tug.pull, where=tug.available), 0 * tonnes, 30.0),
        (greatest_of(tug.pull), 0 * kilograms, 50_000.0),
    ],
    ids=lambda each: text(each.term) if isinstance(each, Expression) else "",
)
def test_what_a_total_comes_to(total, limit, result):
    assert value(total, limit, tug=TUGS) == pytest.approx(result, rel=1e-15)


def test_the_total_of_nothing():
    assert value(number_of(tug), tug=[]) == 0
    assert value(sum_of(tug.pull), 0 * tonnes, tug=[]) == 0
    for total in (mean_of(tug.pull), least_of(tug.pull), greatest_of(tug.pull)):
        written = f"{text(total.term)} < 0 t and {text(total.term)} > 0 t"
        missing = value(total, 0 * tonnes, tug=[])
        assert set(missing) <= {written, f"{text(total.term)} < 0 t", f"{text(total.term)} > 0 t"}
        assert missing


def test_a_count_of_another_leaves_the_subject_out_and_one_of_its_own_source_does_not():
    here = number_of(other, where=other.basin == vessel.basin)
    fleet = [ship(2), ship(3, basin="west")]
    assert value(here, other=fleet) == 1
    assert value(number_of(other), other=fleet) == 2
    assert value(number_of(vessel), vessel=[ship(1), *fleet]) == 3
    assert value(number_of(vessel, where=vessel.berth == berth.id), vessel=[ship(1), *fleet]) == 3
    both = number_of(vessel) + number_of(other)
    [reason] = pack((both < 0) & (both > 0)).check({"vessel": ship(1), "berth": {"id": "A"}, "other": fleet}).because
    assert ("count(vessel) + count(other)", 5, "") in reason.values


# ------------------------------------------------------------------------------------------------------ what is missing


@pytest.mark.parametrize(
    ("total", "rows", "missing"),
    [
        (available, [boat(1), boat(2, available=None)], ("tug.available",)),
        (number_of(tug, where=tug.available & (tug.pull >= 40 * tonnes)), [boat(1, available=None)], 0),
        (number_of(tug, where=EAST), [boat(1, zone=None)], ("tug.zone",)),
        (number_of(tug, where=EAST & tug.available), [boat(1, zone=None, available=False)], 0),
        (number_of(tug, where=EAST & tug.available), [boat(1, zone="west", available=None)], 0),
        (sum_of(tug.pull), [boat(1), boat(2, pull=None)], ("tug.pull",)),
        (sum_of(tug.pull, where=tug.available), [boat(1), boat(2, pull=None, available=False)], 30.0),
        (least_of(tug.pull, where=tug.available), [boat(1, available=None, pull=None)], ("tug.available",)),
        (sum_of(tug.pull), [boat(1), boat(2, pull=math.nan)], ("tug.pull",)),
        (available, None, ("tug",)),
        (number_of(other, where=other.basin == vessel.basin), None, ("other",)),
    ],
)
def test_a_row_in_doubt_leaves_the_total_unknown_not_smaller(total, rows, missing):
    is_pull = total.term.operation != "count"
    found = value(total, 0 * tonnes if is_pull else 0, **{total.term.source.name: rows})
    assert found == missing


def test_an_unknown_group_is_what_is_missing():
    verdict = pack(number_of(tug, where=EAST) >= 1).check({"vessel": ship(1, basin=None), "tug": TUGS})
    assert [reason.missing for reason in verdict.because] == [("vessel.basin",)]
    verdict = pack(number_of(tug, where=tug.zone == berth.basin) >= 1).check({"vessel": ship(1), "tug": TUGS})
    assert [reason.missing for reason in verdict.because] == [("berth",)]


def test_a_row_that_becomes_known_decides():
    made = pack(available >= 2)
    engine = Engine(made.table())
    for row in (boat(1), boat(2, available=None)):
        engine.push(made.sources["tug"], row)
    engine.push(made.sources["vessel"], ship(1))
    assert status(engine, made) == ("unknown", ("tug.available",))
    engine.push(made.sources["tug"], boat(2))
    assert status(engine, made) == ("allowed", ())


def test_what_is_missing_may_change_where_the_total_does_not():
    made = pack(number_of(tug, where=EAST & tug.available) >= 2)
    engine = Engine(made.table())
    engine.push(made.sources["vessel"], ship(1))
    engine.push(made.sources["tug"], boat(1, zone=None))
    assert status(engine, made) == ("unknown", ("tug.zone",))
    engine.push(made.sources["tug"], boat(1, available=None))
    assert status(engine, made) == ("unknown", ("tug.available",))


def test_a_stale_row_leaves_the_total_in_doubt():
    aging = Source("tug", key="id", id=int, available=bool, stale_after=10 * minutes)
    made = RulePack("port", subject=vessel)
    with made:
        require(number_of(aging, where=aging.available) <= 3, name="r0")
    engine = Engine(made.table())
    engine.push(made.sources["vessel"], ship(1), at=0)
    engine.push(made.sources["tug"], {"id": 1, "available": True}, at=0)
    assert status(engine, made) == ("allowed", ())
    engine.advance(600_000_000)
    assert status(engine, made) == ("unknown", ("tug",))
    engine.push(made.sources["tug"], {"id": 1, "available": True}, at=600_000_001)
    assert status(engine, made) == ("allowed", ())


def test_a_stale_subject_is_never_counted_among_the_others():
    """Not for a moment, though the tally of all rows and its own row grow old one after the other."""
    aging = Source("vessel", key="mmsi", mmsi=int, eta=instant, stale_after=60 * minutes)
    made = RulePack("port", subject=aging, only=aging.eta - now <= 24 * hours)
    with made:
        require(number_of(another(aging, "other")) <= 1, name="r0")
    engine = Engine(made.table())
    for mmsi in (1, 2):
        engine.push(made.sources["vessel"], {"mmsi": mmsi, "eta": 0}, at=0)
    changes = engine.advance(3_600_000_000)
    told = [(event.value.key, event.value.value.status, event.value.value.because[0].missing) for event in changes]
    assert sorted(told[:2]) == [(1, "unknown", ("other",)), (2, "unknown", ("other",))]
    assert sorted(told[2:]) == [(1, "unknown", ("vessel",)), (2, "unknown", ("vessel",))]
    [reason] = engine.query(made.table())[1].because
    assert (reason.missing, reason.stale) == (("vessel",), ("vessel",))


def status(engine: Engine, made: RulePack, mmsi: int = 1) -> tuple[str, tuple[str, ...]]:
    verdict: Verdict = engine.query(made.table())[mmsi]
    return verdict.status, tuple(name for reason in verdict.because for name in reason.missing)


# -------------------------------------------------------------------------------------------------------------- writing


def test_totals_read_as_they_are_written():
    assert text(available.term) == "count(tug where tug.available)"
    assert repr(number_of(tug) >= 2) == "count(tug) >= 2"
    assert repr(sum_of(tug.pull, where=vessel.basin == tug.zone)) == "sum(tug.pull where tug.zone == vessel.basin)"
    either = number_of(tug, where=EAST & ((tug.pull >= 40 * tonnes) | tug.available))
    assert repr(either) == "count(tug where tug.zone == vessel.basin and (tug.pull >= 40 t or tug.available))"
    assert repr(2 * available - 1) == "2 * count(tug where tug.available) - 1"


def test_totals_keep_their_measure():
    assert sum_of(tug.pull).term.kind == tonnes.measure
    assert repr(least_of(tug.pull) / greatest_of(tug.pull) <= 0.5) == "min(tug.pull) / max(tug.pull) <= 0.5"
    assert repr(mean_of(tug.pull) >= 1000 * kilograms) == "mean(tug.pull) >= 1000 kg"


def test_totals_stand_in_conditions_too():
    made = RulePack("port", subject=vessel)
    with made, when(available <= 1):
        require(vessel.draught <= 4 * metres, name="few tugs")
    assert made.check({"vessel": ship(1), "tug": TUGS}).status == "allowed"
    assert made.check({"vessel": ship(1), "tug": TUGS[1:]}).status == "restricted"


def test_a_counted_source_is_an_input_but_another_is_not():
    made = pack(available >= 2, number_of(other) <= 5)
    assert list(made.sources) == ["vessel", "berth", "tug"]


def test_a_source_that_is_linked_and_counted_is_given_as_a_list():
    made = pack((number_of(berth) >= 2) & (berth.basin == "east"))
    berths = [{"id": "B", "basin": "west"}, {"id": "A", "basin": "east"}]
    assert made.check({"vessel": ship(1), "berth": berths}).status == "allowed"
    assert made.check({"vessel": ship(1, berth="B"), "berth": berths}).status == "restricted"
    assert made.check({"vessel": ship(1, berth="C"), "berth": berths}).because[0].missing == ("berth",)
    [reason] = made.check({"vessel": ship(1), "berth": berths[1]}).because  # one row, and it is unknown which others
    assert reason.missing == ("berth",)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"tug": boat(1)}, "expected a list of rows of 'tug' but got one row"),
        ({"tugs": [boat(1)]}, "did you mean 'tug'"),
        ({"tug": [{"strength": 5}]}, "expected fields of 'tug'"),
    ],
)
def test_rows_that_are_no_situation_are_refused(rows, said):
    with pytest.raises(InvalidArgument, match=said):
        pack(available >= 2).check({"vessel": ship(1), **rows})


# --------------------------------------------------------------------------------------------------------------- engine


def test_totals_over_one_source_and_one_grouping_share_one_correlation():
    here = tug.zone == vessel.basin
    made = pack(
        number_of(tug, where=here) >= 1,
        sum_of(tug.pull, where=here & tug.available) >= 1 * tonnes,
        mean_of(tug.pull, where=tug.available & here) >= 1 * tonnes,
        (available >= 1) & (number_of(tug) <= 9),
        number_of(tug, where=tug.zone == berth.basin) >= 1,
    )
    assert [len(tallying.totals) for tallying in tallyings(made.statements)] == [3, 2, 1]
    plan = [line for line in Engine(made.table()).explain().splitlines() if line and not line.startswith(" ")]
    # By the vessel's basin, of all tugs, and by the berth's basin; and of the tugs whose zone is unknown, for two.
    assert plan == [*(f"reduce(tug){each} (table)" for each in ("", "#2", "#3", "#4", "#5")), "port (table)"]


def test_explain_says_which_totals_share_a_table():
    made = pack(number_of(tug, where=EAST) >= 1, greatest_of(tug.pull, where=EAST) >= 1 * tonnes, available >= 1)
    said = made.explain()
    assert (
        "rows of tug totalled by tug.zone in one table, found by index from vessel.basin:"
        " count(tug where tug.zone == vessel.basin), max(tug.pull where tug.zone == vessel.basin)"
    ) in said
    assert "rows of tug totalled in one table: count(tug where tug.available)" in said


def test_an_event_rejudges_the_ships_of_its_group_only():
    made = pack(number_of(tug, where=EAST & tug.available) >= 1)
    engine = Engine(made.table())
    for mmsi in range(20):
        engine.push(made.sources["vessel"], ship(mmsi, basin="east" if mmsi < 2 else "west"))
    engine.push(made.sources["tug"], boat(1, zone="west"))
    before = made.stats
    changed = engine.push(made.sources["tug"], boat(2))
    after = made.stats
    assert {event.value.key for event in changed} == {0, 1}
    assert (after.judgements - after.remembered) - (before.judgements - before.remembered) == 2
    assert engine.push(made.sources["tug"], boat(3)) == []
    gone = engine.push(made.sources["tug"], Delete(2))
    assert gone == []
    assert {event.value.key for event in engine.push(made.sources["tug"], Delete(3))} == {0, 1}


def test_a_ship_that_moves_takes_its_count_along():
    made = pack(number_of(other, where=other.basin == vessel.basin) <= 0)
    engine = Engine(made.table())
    for mmsi in (1, 2):
        engine.push(made.sources["vessel"], ship(mmsi))
    assert status(engine, made) == ("restricted", ())
    engine.push(made.sources["vessel"], ship(2, basin="west"))
    assert [status(engine, made, mmsi)[0] for mmsi in (1, 2)] == ["allowed", "allowed"]
    engine.push(made.sources["vessel"], ship(1, basin="west"))
    assert [status(engine, made, mmsi)[0] for mmsi in (1, 2)] == ["restricted", "restricted"]
    engine = Engine.restore(engine.snapshot(), made.table())
    engine.push(made.sources["vessel"], Delete(2))
    assert status(engine, made) == ("allowed", ())


def test_sums_are_exact_whatever_comes_and_goes():
    made = pack(sum_of(tug.pull) <= 0.3 * tonnes)
    engine = Engine(made.table())
    engine.push(made.sources["vessel"], ship(1))
    for number, pull in enumerate((0.1, 1e16, 0.2)):
        engine.push(made.sources["tug"], boat(number, pull=pull))
    engine.push(made.sources["tug"], Delete(1))
    [reason] = engine.query(made.table())[1].because  # 0.1 + 0.2, rounded once, is a little more than 0.3
    assert ("sum(tug.pull)", 0.1 + 0.2, "t") in reason.values


# ----------------------------------------------------------------------------------------------------------------- data

rows = st.fixed_dictionaries(
    {
        "id": st.integers(1, 9),
        "available": st.sampled_from([None, True, False]),
        "pull": st.sampled_from([None, 10, 2.5, math.inf]),
        "zone": st.sampled_from([None, "east", "west"]),
    }
)


@given(st.lists(rows, max_size=6), st.data())
def test_contributions_form_a_group(drawn, data):
    made = pack(
        (number_of(tug, where=EAST & tug.available) >= 1)
        & (sum_of(tug.pull, where=EAST) >= greatest_of(tug.pull, where=EAST & tug.available))
    )
    [tallying] = tallyings(made.statements)
    contributing = Contributing(tallying)
    elements = [contribution for row in drawn for contribution in contributing(row)]
    nothing = Contribution()
    for left in elements:
        assert left + nothing == left
        assert left + -left == nothing
    shuffled = data.draw(st.permutations(elements))
    assert sum(elements, nothing) == sum(shuffled, nothing)


def test_programs_pickle_and_are_described_alike():
    made = pack(available >= 2, sum_of(tug.pull, where=EAST) >= 1 * tonnes)
    for tallying in tallyings(made.statements):
        contributing = Contributing(tallying)
        assert pickle.loads(pickle.dumps(contributing)) == contributing
        assert repr(pickle.loads(pickle.dumps(contributing))) == repr(contributing)
    assert pickle.loads(pickle.dumps(made.statements)) == made.statements
    assert [len(totals(statement.condition)) for statement in made.statements] == [1, 1]


def test_saved_state_of_another_condition_is_refused():
    engine = Engine(pack(available >= 2).table())
    with pytest.raises(ValueError, match="program"):
        Engine.restore(engine.snapshot(), pack(number_of(tug) >= 2).table())


def test_a_contribution_says_what_it_comes_to():
    contribution = Contribution(2, Sum.of(3) + Sum.of(4), ((3, 1), (4, 1)))
    results = [contribution.result(operation) for operation in ("count", "sum", "mean", "min", "max")]
    assert results == [(2, ()), (7, ()), (3.5, ()), (3, ()), (4, ())]
    endless = Contribution(2, Sum.of(math.inf) + Sum.of(-math.inf), ((-math.inf, 1), (math.inf, 1)))
    assert [endless.result(operation)[0] for operation in ("sum", "mean", "max")] == [None, None, math.inf]
