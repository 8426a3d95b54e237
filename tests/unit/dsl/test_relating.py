"""Rules over two ships: what they mean by hand, whom a reason names, and what an engine does with them."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from cartesius import Delete, Engine, Update
from cartesius.errors import InvalidArgument
from dsl import (
    RulePack,
    Source,
    Verdict,
    against,
    another,
    distance,
    instant,
    location,
    not_,
    now,
    otherwise,
    position,
    require,
    when,
)  # fmt: skip
from dsl.judgements.pairs import PairJudge, add, fold, lift, negated
from dsl.terms.related_rows import pairings
from dsl.units import hours, knots, metres, minutes

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, vessel_type=str, place=position, draught=metres, berth=str)
other = another(vessel, "other")
berth = Source("berth", key="id", id=str, depth=metres)
wind = Source("wind", key=None, velocity=knots)


def pack(*rules: Any, **options: Any) -> RulePack:
    made = RulePack("port", subject=vessel, location=vessel.berth, links=[berth.id == vessel.berth], **options)
    with made:
        for rule in rules:
            rule()
    return made


def tankers() -> None:
    with against(other, where=other.basin == vessel.basin):
        require(
            not_((vessel.vessel_type == "tanker") & (other.vessel_type == "tanker")),
            name="no two tankers in one basin",
            because="a fire would spread",
            severity="critical",
            reference="Port Regulations 3.1",
        )


def passing() -> None:
    with against(other):
        require(distance(vessel.place, other.place) >= 500 * metres, name="passing distance")


def ship(mmsi: int, **fields: Any) -> dict[str, Any]:
    known = {"basin": "east", "vessel_type": "tanker", "place": (51.9, 4.0 + mmsi / 10), "draught": 5.0, "berth": "A"}
    return {"mmsi": mmsi, **known, **fields}


def reasons(verdict: Verdict) -> list[tuple[str, tuple[Any, ...], tuple[str, ...]]]:
    return [(reason.name, reason.others, reason.missing) for reason in verdict.because]


# ------------------------------------------------------------------------------------------------------------ meaning


def test_a_reason_names_all_the_others_with_which_it_failed():
    others = [ship(5), ship(3), ship(4, basin="west"), ship(2, vessel_type="ferry")]
    verdict = pack(tankers).check({"vessel": ship(1), "other": others})
    [reason] = verdict.because
    assert (verdict.status, reason.others) == ("restricted", (3, 5))
    assert (reason.name, reason.because, reason.severity) == (
        "no two tankers in one basin",
        "a fire would spread",
        "critical",
    )
    assert reason.reference == "Port Regulations 3.1"


def test_the_values_shown_are_those_of_the_first_of_them():
    near, nearer = ship(3, place=(51.9, 4.104)), ship(2, place=(51.9, 4.1001))
    [reason] = pack(passing).check({"vessel": ship(1), "other": [near, nearer]}).because
    assert reason.others == (2, 3)
    assert dict((name, value) for name, value, _ in reason.values)["other.place"] == (51.9, 4.1001)
    assert reason.margin is not None
    assert reason.margin[0] == pytest.approx(-493, abs=1)


def test_which_others_they_are_is_part_of_what_a_verdict_means():
    made = pack(tankers)
    two, three = (made.check({"vessel": ship(1), "other": [ship(mmsi)]}) for mmsi in (2, 3))
    assert two != three
    unknown_two, unknown_three = (made.check({"vessel": ship(1), "other": [ship(mmsi, basin=None)]}) for mmsi in (2, 3))
    assert unknown_two.status == "unknown"
    assert unknown_two != unknown_three


def test_without_others_it_holds():
    assert pack(tankers, passing).check({"vessel": ship(1), "other": []}).status == "allowed"


@pytest.mark.parametrize("rows", [{}, {"other": None}])
def test_others_that_are_not_given_are_not_known(rows):
    verdict = pack(tankers).check({"vessel": ship(1), **rows})
    assert (verdict.status, reasons(verdict)) == ("unknown", [("no two tankers in one basin", (), ("other",))])
    ferry = pack(tankers).check({"vessel": ship(1, vessel_type="ferry"), **rows})
    assert ferry.status == "allowed"  # whoever they are


@pytest.mark.parametrize(
    ("mine", "theirs", "status", "others", "missing"),
    [
        ({"basin": None}, {}, "unknown", (2,), ("vessel.basin",)),
        ({}, {"basin": None}, "unknown", (2,), ("other.basin",)),
        ({}, {"basin": None, "vessel_type": "ferry"}, "allowed", (), ()),
        ({}, {"basin": "west", "vessel_type": None}, "allowed", (), ()),
        ({}, {"vessel_type": None}, "unknown", (2,), ("other.vessel_type",)),
        ({"basin": None}, {"basin": None}, "unknown", (2,), ("other.basin", "vessel.basin")),
    ],
)
def test_a_pair_of_which_it_is_unknown_whether_where_holds_is_undecided_if_it_would_fail(
    mine, theirs, status, others, missing
):
    made = pack(tankers)
    verdict = made.check({"vessel": ship(1, **mine), "other": [ship(2, **theirs)]})
    assert verdict.status == status
    assert [(reason.others, reason.missing) for reason in verdict.because] == ([(others, missing)] if others else [])
    engine = Engine(made.table())
    for row in (ship(1, **mine), ship(2, **theirs)):
        engine.push(made.sources["vessel"], row)
    assert engine.query(made.table())[1] == verdict


def test_what_fails_with_one_restricts_whatever_is_missing_of_others():
    verdict = pack(tankers).check({"vessel": ship(1), "other": [ship(2, basin=None), ship(3)]})
    assert (verdict.status, reasons(verdict)) == ("restricted", [("no two tankers in one basin", (3,), ())])


def test_a_condition_around_that_is_unknown_leaves_all_of_them_undecided():
    def windy() -> None:
        with when(wind.velocity > 20 * knots):
            tankers()

    made = pack(windy)
    rows: dict[str, Any] = {"vessel": ship(1), "other": [ship(2), ship(3), ship(4, basin=None)]}
    assert reasons(made.check(rows)) == [("no two tankers in one basin", (2, 3, 4), ("wind", "other.basin"))]
    assert made.check({**rows, "wind": {"velocity": 10.0}}).status == "allowed"
    assert reasons(made.check({**rows, "wind": {"velocity": 30.0}})) == [("no two tankers in one basin", (2, 3), ())]


def test_against_nests_with_when_otherwise_and_location():
    def rule() -> None:
        with location("A"):
            with against(other, where=other.berth == vessel.berth), when(other.draught > 10 * metres), location("A"):
                require(vessel.draught <= 6 * metres, name="deep")
            with against(other):
                with when(other.vessel_type == "ferry"):
                    require(vessel.vessel_type != "tanker", name="ferry")
                with otherwise():
                    require(vessel.draught <= 20 * metres, name="no ferry")

    made = pack(rule)
    deep, ferry = ship(2, draught=11.0), ship(3, vessel_type="ferry", berth="B")
    verdict = made.check({"vessel": ship(1, draught=7.0), "other": [deep, ferry]})
    assert [(reason.name, reason.others, reason.location) for reason in verdict.because] == [
        ("deep", (2,), "A"),
        ("ferry", (3,), "A"),
    ]
    verdict = made.check({"vessel": ship(1, draught=21.0, berth="B"), "other": [deep, ferry]})
    assert verdict.status == "allowed"
    verdict = made.check({"vessel": ship(1, draught=21.0), "other": [deep]})
    assert reasons(verdict) == [("deep", (2,), ()), ("no ferry", (2,), ())]


def test_the_same_requirement_under_two_conditions_is_two_requirements():
    def rule() -> None:
        with against(other):
            for kind in ("tanker", "ferry"):
                with when(other.vessel_type == kind):
                    require(other.draught <= 6 * metres, name="shallow")

    others = [ship(2, draught=7.0), ship(3, draught=7.0, vessel_type="ferry"), ship(4)]
    assert reasons(pack(rule).check({"vessel": ship(1), "other": others})) == [
        ("shallow", (2,), ()),
        ("shallow", (3,), ()),
    ]


# ------------------------------------------------------------------------------------------------------- check's rows


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"vessel": ship(1), "other": [ship(1)]}, "mmsi of its own but got mmsi=1 twice"),
        ({"vessel": ship(1), "other": [ship(2), ship(2)]}, "mmsi of its own but got mmsi=2 twice"),
        ({"vessel": ship(1), "other": [{"basin": "east"}]}, "mmsi of its own but got a row without it"),
        ({"vessel": ship(1), "other": ship(2)}, "expected a list of rows of 'other' but got one row"),
        ({"vessel": [ship(1)], "other": [ship(2)]}, "expected the other subjects once"),
        ({"vessel": ship(1), "other": [7]}, "expected a row of 'other'"),
        ({"vessel": ship(1), "others": [ship(2)]}, "did you mean 'other'"),
        ({"vessel": []}, "expected a row of the subject 'vessel'"),
        ({"vessel": ship(1), "berth": [{"id": "A"}]}, "expected a row of 'berth'"),
    ],
)
def test_rows_that_are_no_situation_are_refused(rows, said):
    with pytest.raises(InvalidArgument, match=said):
        pack(tankers).check(rows)


def test_the_others_may_come_in_one_list_with_the_subject_in_front():
    made, rows = pack(tankers), [ship(1), ship(2), ship(3, basin="west")]
    assert made.check({"vessel": rows}) == made.check({"vessel": rows[0], "other": rows[1:]})


def test_values_of_others_may_be_quantities():
    def rule() -> None:
        with against(other):
            require(other.draught <= 6 * metres)

    assert pack(rule).check({"vessel": {"mmsi": 1}, "other": [{"mmsi": 2, "draught": 700 * metres / 100}]}).because


# ------------------------------------------------------------------------------------------------------------- engine


class Judging:
    """An engine of a pack that counts which pairs are judged."""

    def __init__(self, made: RulePack, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pack, self.engine = made, Engine(made.table())
        self.pairs: list[tuple[int, int]] = []
        finds = PairJudge.finds

        def counted(one: PairJudge, rows: Any, theirs: Any) -> bool:
            if rows[0]["mmsi"] != theirs["mmsi"]:
                self.pairs.append((rows[0]["mmsi"], theirs["mmsi"]))
            return finds(one, rows, theirs)

        monkeypatch.setattr(PairJudge, "finds", counted)

    def push(self, change: Any, source: str = "vessel") -> dict[int, Any]:
        self.pairs.clear()
        before = self.pack.stats
        events = self.engine.push(self.pack.sources[source], change)
        after = self.pack.stats
        self.anew = (after.judgements - before.judgements) - (after.remembered - before.remembered)
        return {
            event.value.key: None if isinstance(event.value, Delete) else event.value.value.status for event in events
        }


def test_a_new_ship_in_the_basin_rejudges_exactly_the_ships_of_that_basin(monkeypatch):
    made = pack(tankers)
    judging = Judging(made, monkeypatch)
    for mmsi in range(1, 31):
        judging.push(ship(mmsi, basin="east" if mmsi <= 3 else "west", vessel_type="ferry"))
    judging.push(ship(2))
    assert judging.engine.query(made.table())[1].status == "allowed"
    changed = judging.push(ship(40))
    assert changed == {2: "restricted", 40: "restricted"}
    assert set(judging.pairs) == {(40, mmsi) for mmsi in (1, 2, 3)} | {(mmsi, 40) for mmsi in (1, 2, 3)}
    # For ships 1 and 3 nothing is found, so that only ships 2 and 40 are judged anew.
    assert judging.anew == 2
    everyone = {mmsi: judging.engine.query(made.table())[mmsi] for mmsi in range(1, 31)}
    assert [mmsi for mmsi, verdict in everyone.items() if verdict.status == "restricted"] == [2]
    assert judging.push(Delete(40)) == {40: None, 2: "allowed"}
    assert {mmsi for pair in judging.pairs for mmsi in pair} == {1, 2, 3, 40}


def test_a_ship_that_departs_lifts_the_restriction_of_the_other(monkeypatch):
    judging = Judging(pack(tankers), monkeypatch)
    assert judging.push(ship(1)) == {1: "allowed"}
    assert judging.push(ship(2)) == {2: "restricted", 1: "restricted"}
    assert judging.push(ship(2, basin="west")) == {2: "allowed", 1: "allowed"}
    assert judging.push(ship(2)) == {2: "restricted", 1: "restricted"}
    assert judging.push(Delete(1)) == {1: None, 2: "allowed"}


def test_a_change_that_no_rule_about_pairs_looks_at_changes_no_verdict_of_others(monkeypatch):
    judging = Judging(pack(tankers), monkeypatch)
    judging.push(ship(1))
    judging.push(ship(2))
    assert judging.push(ship(2, draught=9.0)) == {}


def test_a_change_of_who_it_is_is_a_change_of_the_table(monkeypatch):
    judging = Judging(pack(tankers), monkeypatch)
    for mmsi in (1, 2):
        judging.push(ship(mmsi))
    assert judging.push(ship(3)) == {1: "restricted", 2: "restricted", 3: "restricted"}
    assert judging.engine.query(judging.pack.table())[1].because[0].others == (2, 3)


def test_values_shown_follow_the_ships_though_the_table_does_not_change(monkeypatch):
    judging = Judging(pack(passing), monkeypatch)
    judging.push(ship(1, place=(51.9, 4.1)))
    judging.push(ship(2, place=(51.9, 4.101)))
    assert judging.push(ship(2, place=(51.9, 4.1001))) == {}
    [reason] = judging.engine.query(judging.pack.table())[1].because
    assert dict((name, value) for name, value, _ in reason.values)["other.place"] == (51.9, 4.1001)


def test_a_rule_about_pairs_may_observe_linked_sources_and_those_of_the_port(monkeypatch):
    def rule() -> None:
        with against(other, where=other.berth == berth.id):
            require((other.draught <= berth.depth) | (wind.velocity <= 10 * knots), name="deep")

    judging = Judging(pack(rule), monkeypatch)
    judging.push({"id": "A", "depth": 4.0}, "berth")
    judging.push({"velocity": 20.0}, "wind")
    judging.push(ship(1))
    assert judging.push(ship(2)) == {2: "restricted", 1: "restricted"}
    assert judging.push({"velocity": 5.0}, "wind") == {1: "allowed", 2: "allowed"}
    assert judging.push({"velocity": None}, "wind") == {1: "unknown", 2: "unknown"}
    assert judging.push({"id": "A", "depth": 6.0}, "berth") == {1: "allowed", 2: "allowed"}
    assert judging.push(ship(2, berth="B")) == {2: "unknown"}  # of berth B nothing is known
    assert reasons(judging.engine.query(judging.pack.table())[2]) == [("deep", (1,), ("berth", "wind.velocity"))]


def test_blocks_with_one_where_share_their_correlation():
    def rule() -> None:
        tankers()
        with when(wind.velocity > 10 * knots), against(other, where=other.basin == vessel.basin):
            require(other.draught <= 10 * metres)
        passing()

    made = pack(rule)
    assert [len(pairing.requirements) for pairing in pairings(made.statements)] == [2, 1]


def test_explain_says_how_the_others_are_found():
    said = pack(tankers, passing).explain()
    assert "other: each other vessel, by index: other.basin == vessel.basin; a change of one is judged against" in said
    assert "other: every other vessel; a change of one is judged against all n vessels: at most 2(n - 1) pairs" in said
    assert "  against each other where other.basin == vessel.basin  <- other.basin, vessel.basin" in said
    assert "index         vessel and other by subject[vessel.basin]((vessel,)) == other[other.basin]((other,))" in said


def test_lint_proves_nothing_of_pairs():
    """Of two rules that cannot both hold one may be about pairs, of which there may be none."""

    def rule() -> None:
        require(vessel.draught >= 6 * metres)
        with against(other):
            require(vessel.draught <= 5 * metres)

    made = RulePack("port", subject=vessel)
    with made:
        rule()
    assert made.lint() == ()


def test_a_full_product_meets_every_other_ship(monkeypatch):
    judging = Judging(pack(passing), monkeypatch)
    for mmsi in range(1, 11):
        judging.push(ship(mmsi))
    judging.push(ship(4, place=(51.8, 4.4)))
    assert set(judging.pairs) == {(4, mmsi) for mmsi in range(1, 11) if mmsi != 4} | {
        (mmsi, 4) for mmsi in range(1, 11) if mmsi != 4
    }


# ---------------------------------------------------------------------------------------------------------- the clock

planned = Source("vessel", key="mmsi", mmsi=int, basin=str, eta=instant, stale_after=60 * minutes)
rival = another(planned, "rival")
HOUR = 3_600_000_000


def test_a_rule_about_pairs_may_depend_on_the_clock():
    made = RulePack("port", subject=planned)
    with made, against(rival, where=rival.basin == planned.basin), when(planned.eta - now <= 1 * hours):
        require(rival.eta >= planned.eta, name="first come")
    engine = Engine(made.table())
    rows = [{"mmsi": 1, "basin": "east", "eta": 3 * HOUR // 2}, {"mmsi": 2, "basin": "east", "eta": HOUR}]
    for row in rows:
        engine.push(made.sources["vessel"], row, at=0)
    assert engine.query(made.table())[1].status == "allowed"
    [event] = [each for each in engine.advance(HOUR * 3 // 4) if each.value.key == 1]
    assert event.value.value.because[0].others == (2,)
    assert made.check({"vessel": rows[0], "rival": rows[1:]}, now=HOUR * 3 // 4).status == "restricted"


def test_a_stale_row_of_another_ship_leaves_the_pair_in_doubt():
    made = RulePack("port", subject=planned)
    with made, against(rival, where=rival.basin == planned.basin):
        require(rival.eta >= planned.eta, name="first come")
    engine = Engine(made.table())
    engine.push(made.sources["vessel"], {"mmsi": 2, "basin": "west", "eta": 1}, at=0)
    engine.push(made.sources["vessel"], {"mmsi": 1, "basin": "east", "eta": HOUR}, at=HOUR // 2)
    assert engine.query(made.table())[1].status == "allowed"
    engine.advance(HOUR)
    [reason] = engine.query(made.table())[1].because
    assert (reason.others, reason.missing, reason.stale) == ((2,), ("rival",), ("rival",))


def test_a_ship_that_is_not_considered_is_still_there_for_the_others():
    made = pack(tankers, only=vessel.draught >= 10 * metres)
    engine = Engine(made.table())
    for row in (ship(1, draught=12.0), ship(2)):
        engine.push(made.sources["vessel"], row)
    assert {mmsi: verdict.because[0].others for mmsi, verdict in engine.query(made.table()).items()} == {1: (2,)}


# --------------------------------------------------------------------------------------------------------------- data


def test_programs_pickle_and_are_described_alike():
    made, again = pack(tankers, passing), pack(tankers, passing)
    judge = PairJudge((made._judgement().sources[0],), pairings(made.statements)[0])
    twin = pickle.loads(pickle.dumps(judge))
    assert twin == judge
    assert repr(judge) == repr(twin)
    assert pickle.loads(pickle.dumps(another(vessel, "other"))).mmsi.term == other.mmsi.term
    assert made.statements == again.statements
    assert pickle.loads(pickle.dumps(made._judgement())) == made._judgement()


def test_saved_state_of_another_where_is_refused():
    def elsewhere() -> None:
        with against(other, where=other.berth == vessel.berth):
            require(other.vessel_type != "tanker")

    engine = Engine(pack(tankers).table())
    with pytest.raises(ValueError, match="program"):
        Engine.restore(engine.snapshot(), pack(elsewhere).table())


def test_findings_form_a_group():
    judge = PairJudge((pack(tankers)._judgement().sources[0],), pairings(pack(tankers).statements)[0])
    pairs = [judge((ship(1),), ship(2)), judge((ship(1),), ship(3, basin=None)), judge((ship(1),), ship(4, basin="w"))]
    elements = [lift(pair) for pair in pairs]
    assert elements[2] == {}
    for left in elements:
        assert add(left, negated(left)) == {}
        for right in elements:
            assert add(left, right) == add(right, left)
    assert add(fold(pairs), negated(elements[0])) == fold(pairs[1:])


def test_one_row_that_is_pushed_again_and_again_leaves_nothing_behind():
    made = pack(tankers)
    engine = Engine(made.table())
    for number in range(50):
        engine.push(made.sources["vessel"], Update(number % 5, ship(number % 5, draught=float(number))))
    retained = engine.stats.retained
    for number in range(50):
        engine.push(made.sources["vessel"], Update(number % 5, ship(number % 5, draught=float(number))))
    assert engine.stats.retained == retained
    for mmsi in range(5):
        engine.push(made.sources["vessel"], Delete(mmsi))
    assert engine.stats.retained == 0


def test_a_rule_about_pairs_may_look_a_forecast_up():
    boat = Source("boat", key="id", id=int, eta=instant, length=metres)
    mate = another(boat, "mate")
    breeze = Source("breeze", key=None, velocity=knots, forecast=True)
    made = RulePack("convoy", subject=boat)
    with made, against(mate, where=mate.length >= boat.length):
        require(breeze.at(boat.eta).velocity <= 20 * knots, name="calm for two")
    engine, table = Engine(made.table()), made.table()
    for number in (1, 2):
        engine.push(made.sources["boat"], {"id": number, "eta": 5 * number, "length": 100.0 * number}, at=1)
    assert {key: each.status for key, each in engine.query(table).items()} == {1: "unknown", 2: "allowed"}
    engine.push(made.sources["breeze"], {"issued": 0, "start": 5, "end": 6, "velocity": 30}, at=1)
    assert engine.query(table)[1].because[0].others == (2,)
    assert engine.query(table)[1].status == "restricted"
