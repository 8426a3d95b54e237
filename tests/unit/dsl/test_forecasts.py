"""Forecasts: lookups at an instant and conditions over a span, against plain Python over every integer instant."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine
from cartesius.data.records import Record
from cartesius.errors import InvalidArgument
from dsl import (
    DimensionMismatch,
    InvalidRule,
    RulePack,
    Source,
    UnknownField,
    instant,
    known,
    known_or,
    not_,
    now,
    optional,
    require,
    throughout,
    when,
)
from dsl.meaning.schedules import Schedule
from dsl.units import hours, knots, metres, microseconds

if TYPE_CHECKING:
    from collections.abc import Callable

vessel = Source("vessel", key="mmsi", mmsi=int, station=str, eta=instant, etd=instant, draught=metres)
wind = Source(
    "wind", key="station", station=str, velocity=knots, gust=optional(knots), forecast=True, retention=5 * microseconds
)
FEWER = settings(max_examples=settings().max_examples // 4)

# ----------------------------------------------------------------------------------------------------------- the oracle


def valid(predictions: list[dict[str, Any]], time: int) -> dict[str, Any] | None:
    """The newest issue that is valid, then the later start."""
    found = [each for each in predictions if each["start"] <= time < each["end"]]
    return max(found, key=lambda each: (each["issued"], each["start"]), default=None)


def merged(predictions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of one issue and start the last that came."""
    return list({(each["issued"], each["start"]): each for each in predictions}.values())


def kleene(values: list[bool | None]) -> bool | None:
    return False if False in values else None if None in values else True


def either(one: bool | None, other: bool | None) -> bool | None:
    return True if one or other else None if None in (one, other) else False


predictions = st.builds(
    lambda station, issued, start, length, velocity, gust: {
        "station": station,
        "issued": issued,
        "start": start,
        "end": start + length,
        "velocity": velocity,
        "gust": gust,
    },
    st.sampled_from("AB"),
    st.integers(0, 3),
    st.integers(0, 10),
    st.integers(1, 6),
    st.one_of(st.none(), st.integers(1, 3)),
    st.one_of(st.none(), st.integers(1, 3)),
)
instants = st.one_of(st.none(), st.integers(-1, 14))

# ---------------------------------------------------------------------------------------------------------- schedules


@given(st.lists(predictions, max_size=8))
def test_a_schedule_has_the_prediction_that_is_valid_at_each_instant(rows):
    schedule = Schedule(())
    for row in rows:
        schedule = schedule.including(Record(row))
    assert schedule == Schedule.of(map(Record, rows))
    found = [schedule.at(time) for time in range(-1, 18)]
    assert found == [valid(merged(rows), time) for time in range(-1, 18)]
    changes = [time for time in range(18) if found[time + 1] is not found[time]]
    assert schedule.changes(-1, 16) == changes
    for row in rows:
        schedule = schedule.excluding(row["issued"], row["start"])
    assert schedule.predictions == ()
    assert schedule.excluding(0, 0) is schedule


# ------------------------------------------------------------------------------------------- a situation, and the table


def arrivals() -> RulePack:
    pack = RulePack("arrivals", subject=vessel, links=[wind.station == vessel.station])
    with pack:
        require(wind.at(vessel.eta).velocity <= 2 * knots, "at")
        require(
            throughout(vessel.eta, vessel.etd)((wind.velocity <= 2 * knots) | (vessel.draught < 5 * metres)), "span"
        )
        with when(not_(wind.at(vessel.etd - 1 * microseconds).velocity == 3 * knots)):
            require(vessel.draught < 9 * metres, "when")
        require(throughout(vessel.eta, vessel.etd)(known_or(wind.gust, 0 * knots) <= 2 * knots), "default")
        require(throughout(vessel.eta, vessel.etd)(not_(known(wind.gust))), "known")
    return pack


def expected(ship: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, bool | None]:
    eta, etd, draught = ship["eta"], ship["etd"], ship["draught"]

    def velocity(time: int | None) -> int | None:
        found = None if time is None else valid(rows, time)
        return None if found is None else found["velocity"]

    def at_most_two(time: int | None) -> bool | None:
        known = velocity(time)
        return None if known is None else known <= 2

    def throughout_it(holds: Callable[[int], bool | None]) -> bool | None:
        return None if eta is None or etd is None else kleene([holds(time) for time in range(eta, etd + 1)])

    def of_gust(holds: Callable[[int | None], bool]) -> bool | None:  # in a gap there is no row, and nothing is known
        return throughout_it(lambda time: None if (found := valid(rows, time)) is None else holds(found["gust"]))

    is_light = None if draught is None else draught < 5
    span = throughout_it(lambda time: either(is_light, at_most_two(time)))
    before = velocity(None if etd is None else etd - 1)
    guard = None if before is None else before != 3
    low = None if draught is None else draught < 9
    implied = True if guard is False or low is True else False if guard is True and low is False else None
    default, known = of_gust(lambda gust: gust is None or gust <= 2), of_gust(lambda gust: gust is None)
    return {"at": at_most_two(eta), "span": span, "when": implied, "default": default, "known": known}


def agree(verdict: Any, wanted: dict[str, bool | None]) -> None:
    assert {reason.name for reason in verdict.failed} == {name for name, holds in wanted.items() if holds is False}
    assert {reason.name for reason in verdict.undecided} == {name for name, holds in wanted.items() if holds is None}


ships = st.fixed_dictionaries(
    {
        "mmsi": st.integers(1, 2),
        "station": st.sampled_from("AB"),
        "eta": instants,
        "etd": instants,
        "draught": st.sampled_from([None, 4.0, 8.0, 10.0]),
    }
)


@given(ships, st.lists(predictions, max_size=6))
def test_a_situation_is_what_holds_at_every_instant(ship, rows):
    agree(arrivals().check({"vessel": ship, "wind": rows}), expected(ship, merged(rows)))


events = st.one_of(
    st.tuples(st.just("vessel"), ships),
    st.tuples(st.just("wind"), predictions),
    st.tuples(st.just("withdrawn"), st.tuples(st.sampled_from("AB"), st.integers(0, 3), st.integers(0, 10))),
)


@FEWER
@given(st.lists(events, max_size=12), st.booleans())
def test_the_table_is_what_holds_at_every_instant_by_the_present_predictions(trace, restoring):
    pack = arrivals()
    table = pack.table()
    engine = Engine(table)
    fleet: dict[int, dict[str, Any]] = {}
    known: dict[Any, dict[str, Any]] = {}
    for what, row in trace:
        if what == "vessel":
            fleet[row["mmsi"]] = row
            engine.push(pack.sources["vessel"], row, at=0)
        elif what == "wind":
            known[row["station"], row["issued"], row["start"]] = row
            engine.push(pack.sources["wind"], row, at=0)
        else:
            known.pop(row, None)
            engine.push(pack.sources["wind"], Delete(row), at=0)
        shown = engine.query(table)
        assert shown.keys() == fleet.keys()
        for mmsi, ship in fleet.items():
            here = [each for each in known.values() if each["station"] == ship["station"]]
            agree(shown[mmsi], expected(ship, here))
        if restoring:
            engine = Engine.restore(engine.snapshot(), table)


# ----------------------------------------------------------------------------------------------- the thesis, section B1

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def at(hour: float) -> datetime:
    return DAY + timedelta(hours=hour)


def harbour() -> RulePack:
    ship = Source("ship", key="mmsi", mmsi=int, eta=instant)
    breeze = Source("breeze", key=None, velocity=knots, forecast=True)
    pack = RulePack("harbour", subject=ship)
    with pack:
        require(breeze.at(ship.eta).velocity <= 45 * knots, "wind on arrival")
    return pack


def predict(issued: float, start: float, end: float, velocity: float) -> dict[str, Any]:
    return {"issued": at(issued), "start": at(start), "end": at(end), "velocity": velocity}


def test_planned_at_a_time_when_the_wind_is_predicted_to_exceed_45_knots():
    pack = harbour()
    ship, breeze = pack.sources["ship"], pack.sources["breeze"]
    engine = Engine(pack.table())

    def told(source: Any, row: Any) -> list[Any]:
        return [(event.value.key, event.value.value.status) for event in engine.push(source, row, at=0)]

    assert told(ship, {"mmsi": 1, "eta": at(14)}) == [(1, "unknown")]
    assert told(breeze, predict(0, 6, 12, 20)) == [(1, "unknown")]  # there is a forecast now, but not for then
    assert engine.query(pack.table())[1].because[0].missing == ("breeze at ship.eta",)
    assert told(breeze, predict(0, 12, 18, 50)) == [(1, "restricted")]
    assert told(ship, {"mmsi": 2, "eta": at(9)}) == [(2, "allowed")]
    assert told(breeze, predict(6, 13, 15, 30)) == [(1, "allowed")]  # a newer forecast lifts it
    assert told(breeze, predict(3, 14, 15, 60)) == []  # an older one says nothing new
    assert told(ship, {"mmsi": 1, "eta": at(16)}) == [(1, "restricted")]  # it is delayed
    assert told(breeze, Delete((at(0), at(12)))) == [(1, "unknown")]  # that forecast is withdrawn


def test_a_new_forecast_or_a_changed_eta_re_evaluates_exactly_the_ships_concerned():
    pack = harbour()
    engine = Engine(pack.table())
    engine.push(pack.sources["breeze"], predict(0, 0, 24, 20), at=0)
    for mmsi in range(20):
        engine.push(pack.sources["ship"], {"mmsi": mmsi, "eta": at(mmsi)}, at=0)
    before = pack.stats.requirements
    engine.push(pack.sources["breeze"], predict(1, 3, 6, 50), at=0)
    assert pack.stats.requirements - before == 3
    engine.push(pack.sources["ship"], {"mmsi": 7, "eta": at(4)}, at=0)
    assert pack.stats.requirements - before == 4
    assert {key for key, verdict in engine.query(pack.table()).items() if verdict.status != "allowed"} == {3, 4, 5, 7}


# ------------------------------------------------------------------------------------------------- what a reason says


def tidal(**options: Any) -> RulePack:
    ship = Source("ship", key="mmsi", mmsi=int, eta=instant, draught=metres)
    tide = Source("tide", key="sensor", sensor=str, height=metres, forecast=True)
    pack = RulePack("tidal", subject=ship, links=[tide.sensor == "N"])
    with pack:
        over = throughout(ship.eta, ship.eta + 4 * microseconds)
        require(over(10 * metres + tide.height - ship.draught >= 1 * metres), "clearance")
    return pack


def rows_of_tide(*heights: float | None) -> list[dict[str, Any]]:
    return [
        {"sensor": "N", "issued": 0, "start": 3 * n, "end": 3 * n + 3, "height": height}
        for n, height in enumerate(heights)
    ]


def test_a_reason_shows_the_first_instant_at_which_the_condition_fails_and_what_is_predicted_then():
    ship = {"mmsi": 1, "eta": 1, "draught": 10.0}
    [reason] = tidal().check({"ship": ship, "tide": rows_of_tide(2.0, 0.5, 0.0)}).because
    assert reason.text == "throughout(ship.eta, ship.eta + 4 µs)(10 m + tide.height - ship.draught >= 1 m)"
    assert reason.values == (
        ("ship.draught", 10.0, "m"),
        ("ship.eta", 1, ""),
        ("first at", 3, ""),
        ("10 m + tide.height - ship.draught", 0.5, "m"),
        ("1 m", 1, "m"),
        ("tide.height", 0.5, "m"),
    )
    assert reason.missing == ()


@pytest.mark.parametrize(
    ("heights", "draught", "missing"),
    [
        ((2.0,), 10.0, ("tide from ship.eta to ship.eta + 4 µs",)),  # a gap
        ((2.0, None), 10.0, ("tide from ship.eta to ship.eta + 4 µs",)),  # a prediction without a value
        ((2.0, 2.0), None, ("ship.draught",)),
        (None, 10.0, ("tide",)),
        ((), 10.0, ("tide from ship.eta to ship.eta + 4 µs",)),
    ],
)
def test_a_reason_says_what_is_missing_in_a_span(heights, draught, missing):
    rows = None if heights is None else rows_of_tide(*heights)
    verdict = tidal().check({"ship": {"mmsi": 1, "eta": 1, "draught": draught}, "tide": rows})
    assert verdict.status == "unknown"
    assert verdict.because[0].missing == missing


def test_a_missing_instant_is_blamed_not_the_forecast():
    [reason] = harbour().check({"ship": {"mmsi": 1}, "breeze": [predict(0, 0, 24, 50)]}).because
    assert reason.missing == ("ship.eta",)


def test_an_empty_span_holds_and_a_gap_is_no_excuse_for_what_fails():
    pack = arrivals()
    backwards = {"mmsi": 1, "station": "A", "eta": 9, "etd": 3, "draught": 8.0}
    names = {reason.name for reason in pack.check({"vessel": backwards, "wind": []}).because}
    assert "span" not in names
    there = {"mmsi": 1, "station": "A", "eta": 3, "etd": 9, "draught": 8.0}
    row = {"station": "A", "issued": 0, "start": 5, "end": 6, "velocity": 3}
    assert "span" in {reason.name for reason in pack.check({"vessel": there, "wind": row}).failed}


def test_fields_that_every_prediction_has_can_be_asked_for():
    ship = Source("ship", key="mmsi", mmsi=int, eta=instant)
    breeze = Source("breeze", key=None, velocity=knots, forecast=True)
    pack = RulePack("harbour", subject=ship)
    with pack:
        require(ship.eta - breeze.at(ship.eta).issued <= 12 * hours, "not too old")
    for issued, status in ((1, "restricted"), (2, "allowed")):
        verdict = pack.check({"ship": {"mmsi": 1, "eta": at(14)}, "breeze": [predict(issued, 0, 24, 50)]})
        assert verdict.status == status


def test_a_lookup_inside_a_span_is_at_its_own_instant():
    ship = Source("ship", key="mmsi", mmsi=int, eta=instant)
    breeze = Source("breeze", key=None, velocity=knots, forecast=True)
    pack = RulePack("harbour", subject=ship)
    with pack:
        over = throughout(ship.eta, ship.eta + 4 * hours)
        require(over(breeze.velocity <= breeze.at(ship.eta).velocity), "never more than on arrival")
    rows = [predict(0, 0, 2, 20), predict(0, 2, 8, 30)]
    assert pack.check({"ship": {"mmsi": 1, "eta": at(1)}, "breeze": rows}).status == "restricted"
    assert pack.check({"ship": {"mmsi": 1, "eta": at(3)}, "breeze": rows}).status == "allowed"


# ------------------------------------------------------------------------------------------------------ what is kept


def test_what_ended_long_ago_is_forgotten_by_the_clock():
    pack = arrivals()
    engine = Engine(pack.table())
    source = pack.sources["wind"]
    for start in (0, 4, 8):
        engine.push(
            source, {"station": "A", "issued": 0, "start": start, "end": start + 4, "velocity": 1, "gust": None}, at=0
        )
    row = {"mmsi": 1, "station": "A", "eta": 2, "etd": 2, "draught": 1.0}
    assert engine.push(pack.sources["vessel"], row, at=0)[0].value.value.status == "allowed"
    assert engine.next_deadline == 4 + 5
    assert engine.advance(8) == []
    [event] = engine.advance(9)
    assert (event.end, event.value.value.status) == (9, "unknown")
    assert engine.next_deadline == 8 + 5
    engine.advance(17)
    assert engine.next_deadline is None
    assert engine.stats.slots["schedules of wind", "prediction"] == (0, 0)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"station": "A", "issued": None, "start": 0, "end": 4}, "its 'issued' is no instant"),
        ({"station": "A", "issued": 0, "start": datetime(2026, 3, 1), "end": 4}, "its 'start' is no instant"),
        ({"station": "A", "issued": 0, "start": 4, "end": 4}, "it ends before it starts"),
        ({"station": None, "issued": 0, "start": 0, "end": 4}, "its key is null"),
        (Delete("A"), "it withdraws 'A', which is no (key, issued, start)"),
    ],
)
def test_what_is_no_prediction_is_set_aside_with_the_reason(row, reason):
    pack = arrivals()
    engine = Engine(pack.table())
    given_ = row if isinstance(row, Delete) else {"velocity": 1, "gust": 2, **row}
    assert engine.push(pack.sources["wind"], given_, at=0) == []
    assert [why for _, _, why in engine.late] == [reason]


def test_a_prediction_that_lacks_a_declared_field_is_refused():
    pack = arrivals()
    with pytest.raises(InvalidArgument, match="it has no 'velocity'"):
        Engine(pack.table()).push(pack.sources["wind"], {"station": "A", "issued": 0, "start": 0, "end": 4}, at=0)


def test_a_program_with_forecasts_pickles_and_means_the_same():
    pack = arrivals()
    judge = pack._judgement()
    twin = pickle.loads(pickle.dumps(judge))
    assert (twin, repr(twin)) == (judge, repr(judge))


# ------------------------------------------------------------------------------------------------------ what is refused


def refused(make: Any) -> str:
    with pytest.raises((InvalidRule, DimensionMismatch, UnknownField)) as error:
        make()
    return str(error.value).splitlines()[0]


def test_a_field_of_a_forecast_without_an_instant_is_refused():
    pack = RulePack("p", subject=vessel, links=[wind.station == vessel.station])
    message = "wind.velocity: expected an instant, as 'wind' is a forecast, but got none"
    with pack:
        assert refused(lambda: require(wind.velocity <= 2 * knots)) == message
        assert refused(lambda: when(wind.velocity <= 2 * knots)) == message
    tide = Source("tide", key="code", code=int)
    links = [wind.station == vessel.station, tide.code == wind.velocity / (1 * knots)]
    assert refused(lambda: RulePack("p", subject=vessel, links=links)) == message
    assert refused(lambda: wind.at(wind.start)) == message.replace("velocity", "start")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: wind.at(3),  # type: ignore[arg-type]  # wrong on purpose
            "at: expected an instant but got 3 (type=int)",
        ),
        (lambda: wind.at(vessel.draught), "at: expected an instant but got vessel.draught, a length, in m"),
        (lambda: wind.at(now), "at: expected what the clock does not change but got now"),
        (
            lambda: wind.at(vessel.eta).velocty,
            "wind.at(…).velocty: expected a field of the source 'wind' (station, velocity, gust, issued, start, end);"
            " did you mean velocity?",
        ),
        (
            lambda: throughout(vessel.eta, vessel.eta - 1 * hours),
            "throughout(vessel.eta, vessel.eta - 1 h): expected the first instant first",
        ),
        (
            lambda: throughout(vessel.eta, vessel.etd)(vessel.draught <= 3 * metres),
            "throughout(vessel.eta, vessel.etd)(…): expected a condition over a forecast but got vessel.draught <= 3 m",
        ),
        (
            lambda: throughout(vessel.eta, vessel.etd)(wind.velocity),
            "throughout(vessel.eta, vessel.etd)(…): expected a condition but got a speed",
        ),
        (
            lambda: throughout(vessel.eta, vessel.etd)(True),  # type: ignore[arg-type]  # wrong on purpose
            "throughout(vessel.eta, vessel.etd)(…): expected a condition over a forecast but got True (type=bool)",
        ),
        (
            lambda: throughout(vessel.eta, vessel.etd)((wind.velocity > 1 * knots) & (vessel.eta > now)),
            "throughout(vessel.eta, vessel.etd)(…): expected what the clock does not change but got"
            " wind.velocity > 1 kn and vessel.eta > now",
        ),
        (
            lambda: Source("w", key=None, issued=instant, forecast=True),
            "Source 'w': expected other fields of a forecast than 'issued'",
        ),
        (
            lambda: Source("w", key=None, at=int, forecast=True),
            "Source 'w': expected other fields of a forecast than 'at'",
        ),
        (
            lambda: Source("w", key=None, forecast=True, stale_after=1 * hours),
            "Source 'w': expected a forecast without stale_after",
        ),
        (lambda: Source("w", key=None, retention=1 * hours), "Source 'w': expected retention= of a forecast only"),
        (lambda: vessel.at, "vessel.at: expected a field of the source 'vessel' (mmsi, station, eta, etd, draught)"),
    ],
)
def test_what_is_refused(make, message):
    assert refused(make).startswith(message)


def test_a_situation_with_half_a_prediction_is_refused():
    with pytest.raises(InvalidArgument, match="expected predictions of 'breeze' but its 'start' is no instant"):
        harbour().check({"ship": {"mmsi": 1}, "breeze": {"velocity": 5, "issued": 1}})


def test_any_source_may_have_a_field_called_at():
    ship = Source("ship", key="mmsi", mmsi=int, at=instant)
    assert repr(ship["at"] > now) == "ship.at > now"


def test_what_is_looked_up_shows_itself():
    assert repr(wind.at(vessel.eta)) == "<wind at vessel.eta>"
    assert repr(wind.at(vessel.eta)["velocity"]) == "wind.at(vessel.eta).velocity"
    assert repr(throughout(vessel.eta, vessel.etd)) == "throughout(vessel.eta, vessel.etd)(…)"
