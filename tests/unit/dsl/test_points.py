"""Points and differences: instants and degrees of temperature, against exact arithmetic on their scales."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsl import DimensionMismatch, Source, instant, known_or, named, now, optional
from dsl.meaning.evaluation import Situation, compiled
from dsl.terms.dimensions import INSTANT, KELVIN, MICROSECONDS, described
from dsl.terms.instants import instant_of, moment_of
from dsl.terms.terms import sources
from dsl.units import celsius, days, hours, kelvin, knots, metres, microseconds, minutes, seconds, unit

fahrenheit = unit("degree_Fahrenheit")
air = Source("air", key=None, c=celsius, c2=celsius, f=fahrenheit, k=kelvin, t=hours, spare=optional(celsius))
ship = Source("ship", key=None, eta=instant, etd=instant, late=minutes)


def value(expression: Any, now: Any = None, **row: Any) -> Any:
    names = [source.name for source in sources(expression.term)]
    rows = [dict.fromkeys(("c", "c2", "f", "k", "t", "eta", "etd", "late")) | row for _ in names]
    return compiled(expression.term, {name: n for n, name in enumerate(names)})(Situation(rows, now))


# ------------------------------------------------------------------------------------------------------ temperatures

tenths = st.integers(-2000, 10000).map(lambda n: Fraction(n, 10))


def in_kelvin(temperature: Fraction, scale: str) -> Fraction:
    """By the definitions of the scales."""
    if scale == "f":
        return (temperature + Fraction("459.67")) * 5 / 9
    return temperature + Fraction("273.15") if scale == "c" else temperature


@given(tenths, tenths, st.sampled_from("cfk"), st.sampled_from("cfk"))
def test_absolute_temperatures_compare_in_any_two_units(first, second, own, other):
    units = {"c": celsius, "f": fahrenheit, "k": kelvin}
    difference = in_kelvin(first, own) - in_kelvin(second, other)
    if abs(difference) > Fraction(1, 10**6) or own == other:
        assert value(air[own] > float(second) * units[other], **{own: float(first)}) is (difference > 0)
        assert value(float(second) * units[other] < air[own], **{own: float(first)}) is (difference > 0)
        if own != other:
            assert value(air[own] > air[other], **{own: float(first), other: float(second)}) is (difference > 0)


@given(tenths, tenths)
def test_the_difference_of_two_temperatures_is_in_kelvin(first, second):
    assert (air.c - air.c2).term.kind == KELVIN
    assert value(air.c - air.c2, c=float(first), c2=float(second)) == float(first) - float(second)
    expected = float(in_kelvin(first, "f") - in_kelvin(second, "c"))
    assert value(air.f - air.c, f=float(first), c=float(second)) == pytest.approx(expected, abs=1e-9)
    same_unit = value(air.f - float(second) * fahrenheit, f=float(first))
    assert same_unit == pytest.approx(float((first - second) * 5 / 9), abs=1e-9)


def test_a_temperature_and_a_difference_make_a_temperature():
    assert (air.c + 5 * kelvin).term.kind == celsius.measure
    assert value(air.c + 5 * kelvin, c=20.0) == 25.0
    assert value(5 * kelvin + air.c, c=20.0) == 25.0
    assert value(air.c - 5 * kelvin, c=20.0) == 15.0
    assert value(air.f + 5 * kelvin, f=50.0) == pytest.approx(59.0)
    assert value(air.c + (air.c2 - 10 * celsius), c=20.0, c2=12.0) == 22.0
    assert value(air.c + 2 * (air.c2 - 10 * celsius), c=20.0, c2=12.0) == 24.0
    assert value(air.c - (20 * celsius - 15 * celsius) >= 15 * celsius, c=20.0) is True
    assert value(20 * celsius + 5 * kelvin <= air.c, c=25.0) is True
    assert value(named("dew", air.c - air.c2) <= 5 * kelvin, c=20.0, c2=15.0) is True


def test_constants_convert_exactly():
    assert value(air.k >= 20 * celsius, k=293.15) is True
    assert value(air.c >= 273.15 * kelvin, c=0.0) is True
    assert value(air.c >= 68 * fahrenheit, c=20.0) is True
    assert repr((-5) * celsius) == "-5 °C"
    assert described((20 * celsius).term.kind) == "a temperature, in °C"


def test_what_is_in_kelvin_may_be_multiplied():
    assert value((air.c - air.c2) / air.t <= 2 * kelvin / (1 * hours), c=20.0, c2=16.0, t=2.0) is True
    assert value(2 * air.k, k=100.0) == 200.0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: air.c + air.c2,
        lambda: 20 * celsius + air.c,
        lambda: 2 * air.c,
        lambda: air.c * air.c2,
        lambda: air.c / 2,
        lambda: 1 / air.c,
        lambda: metres * air.c,
        lambda: (5 * metres) * celsius,
        lambda: air.k * celsius,
        lambda: -air.c,
        lambda: abs(air.c),
        lambda: -(5 * celsius),
        lambda: 5 * kelvin - air.c,
        lambda: air.k - air.c,
        lambda: air.c - air.k,
        lambda: air.c + air.k,
        lambda: air.c + 5,
        lambda: air.c + 5 * metres,
        lambda: air.c >= 5,
        lambda: air.c >= 5 * knots,
        lambda: air.c - air.c2 >= 5 * celsius,
        lambda: 5 * celsius <= air.c - air.c2,
        lambda: air.c >= air.c2 - air.c,
        lambda: air.k - 5 * kelvin - air.k <= 5 * celsius,
        lambda: known_or(air.spare, air.c - air.c2),
    ],
)
def test_what_makes_no_sense_on_a_scale_is_refused(wrong):
    with pytest.raises(DimensionMismatch) as refused:
        wrong()
    assert "fix:" in str(refused.value)


def test_an_absolute_temperature_in_kelvin_stays_one():
    assert value(air.k - 5 * kelvin >= 20 * celsius, k=300.0) is True
    assert value(named("outside", air.k) >= 30 * celsius, k=300.0) is False


# ---------------------------------------------------------------------------------------------------------- instants

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
instants = st.integers(-(9 * 10**15), 9 * 10**15)  # whole microseconds are floats up to 2**53: to the year 2255


@given(st.datetimes(timezones=st.sampled_from([UTC])))
def test_a_datetime_is_an_instant(moment):
    assert moment_of(instant_of(moment) or 0) == moment
    assert value(ship.eta - now, now=0, eta=moment) == (moment - EPOCH) // timedelta(microseconds=1)


@given(instants, instants, st.integers(-(10**6), 10**6))
def test_instants_and_times(first, second, late):
    assert value(ship.eta - ship.etd, eta=first, etd=second) == first - second
    assert value(ship.eta + late * minutes, eta=first) == first + late * 60_000_000
    assert value(late * minutes + ship.eta, eta=first) == first + late * 60_000_000
    assert value(ship.eta - ship.late, eta=first, late=late) == first - late * 60_000_000
    assert value(ship.eta - ship.etd <= late * seconds, eta=first, etd=second) is (first - second <= late * 10**6)
    assert value(ship.eta >= ship.etd, eta=first, etd=second) is (first >= second)
    assert value(ship.eta >= now, now=second, eta=first) is (first >= second)
    assert value(ship.eta == EPOCH, eta=first) is (first == 0)


def test_their_kinds():
    assert (ship.eta - now).term.kind == MICROSECONDS == microseconds.measure
    assert (now + 2 * hours).term.kind == INSTANT
    assert type(value(ship.eta + 0.5 * microseconds, eta=7)) is int
    assert value(datetime(2026, 2, 1, tzinfo=UTC) - EPOCH_TERM <= 30_000 * days, now=3) is True


EPOCH_TERM = named("the epoch", now - now + EPOCH)


def test_within_24_hours():
    soon = (ship.eta - now <= 24 * hours) & (ship.eta >= now)
    hour = 3_600_000_000
    assert [value(soon, now=0, eta=each * hour) for each in (-1, 0, 24, 25)] == [False, True, True, False]
    assert value(soon, eta=3) is None
    assert value(soon, now=3) is None


def test_a_datetime_without_a_zone_in_a_row_is_missing():
    assert value(ship.eta >= now, now=0, eta=datetime(2026, 1, 1)) is None


def test_what_cannot_be_computed_is_missing():
    assert value(ship.eta + ship.late, eta=0, late=float("inf")) is None


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (datetime(2026, 1, 31, 12, tzinfo=UTC), "2026-01-31 12:00Z"),
        (datetime(2026, 1, 31, 12, 30, 5, tzinfo=UTC), "2026-01-31 12:30:05Z"),
    ],
)
def test_an_instant_in_a_rule_reads_as_a_date(written, shown):
    assert repr(ship.eta >= written) == f"ship.eta >= {shown}"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ship.eta + ship.etd,
        lambda: ship.eta * 2,
        lambda: -ship.eta,
        lambda: abs(now),
        lambda: 2 * hours - ship.eta,
        lambda: ship.eta + 2,
        lambda: ship.eta + 2 * metres,
        lambda: ship.eta <= 24 * hours,
        lambda: ship.eta <= 24,
        lambda: ship.eta - now <= 24,
        lambda: ship.eta == "tomorrow",
    ],
)
def test_what_makes_no_sense_of_instants_is_refused(wrong):
    with pytest.raises(DimensionMismatch, match="fix: "):
        wrong()
