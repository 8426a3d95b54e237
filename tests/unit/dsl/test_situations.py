"""Situations: bare values and quantities mean the same; a slip in a name, type or dimension is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine
from cartesius.errors import InvalidArgument
from dsl import DimensionMismatch, RulePack, Source, choice, instant, now, optional, position, require
from dsl.declarations.sources import declaration
from dsl.tables.situations import complete
from dsl.units import celsius, centimetres, degrees, feet, kelvin, knots, metres, metres_per_second, radians


class Cargo(Enum):
    """What a ship carries."""

    OIL = "oil"
    GRAIN = "grain"


every = Source(
    "every", key="id",
    id=int, length=metres, angle=degrees, warmth=celsius, name=str, flag=bool, count=int, cargo=choice(Cargo),
    eta=optional(instant), place=position,
)  # fmt: skip


def bare(field, value):
    [row] = complete("port", [declaration(every)], {"every": {field: value}})
    assert row is not None
    assert list(row) == [name for name, _ in declaration(every).fields]
    assert [name for name, given in row.items() if given is not None] == ([] if value is None else [field])
    return row[field]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("length", 15, 15),
        ("length", 15 * metres, 15),
        ("length", 57 * centimetres, 0.57),
        ("length", 100 * feet, 30.48),
        ("length", 1 * metres + 57 * centimetres, 1.57),
        ("length", numpy.float64(1.5), 1.5),
        ("length", Fraction(1, 2), Fraction(1, 2)),
        ("angle", 180 * degrees, 180),
        ("warmth", 20 * celsius, 20),
        ("warmth", 293.15 * kelvin, 20.0),
        ("name", "EVA", "EVA"),
        ("flag", False, False),
        ("count", 3, 3),
        ("cargo", "oil", "oil"),
        ("cargo", Cargo.GRAIN, "grain"),
        ("eta", 7, 7),
        ("eta", datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        ("eta", datetime(2026, 1, 31, 12, tzinfo=UTC), 1_769_860_800_000_000),
        ("place", (51.9, 4.1), (51.9, 4.1)),
        ("length", None, None),
    ],
)
def test_a_value_is_bare_or_a_quantity(field, value, expected):
    assert bare(field, value) == expected


def test_an_angle_in_radians():
    assert bare("angle", float(numpy.pi) * radians) == pytest.approx(180)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("length", 15 * knots), ("length", "15"), ("length", True), ("length", 5 * metres**2), ("length", [15]),
        ("angle", 90 * metres), ("warmth", 5 * metres), ("name", 7), ("name", 5 * metres), ("flag", 1), ("flag", "yes"),
        ("count", 3 * metres), ("cargo", "Oil"), ("cargo", 1), ("eta", 1.5), ("eta", True), ("eta", "tomorrow"),
        ("eta", datetime(2026, 1, 31, 12)), ("place", (91.0, 0.0)), ("place", (0.0, 181.0)), ("place", "here"),
        ("place", (1.0, 2.0, 3.0)), ("length", metres),
    ],
)  # fmt: skip
def test_what_does_not_fit_its_field_is_refused(field, value):
    with pytest.raises(DimensionMismatch, match=rf"for every\.{field} but got"):
        bare(field, value)


@given(st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_the_unit_of_a_value_makes_no_difference(length, limit):
    port = RulePack("port", subject=every)
    with port:
        require(every.length <= limit * centimetres)
    expected = "allowed" if length <= limit else "restricted"
    for value in (length * centimetres, Fraction(length, 100) * metres, length / 100):
        assert port.check({"every": {"id": 1, "length": value}}).status == expected


gusts = Source("gusts", key=None, speed=knots)
ship = Source("ship", key="id", id=int, length=metres, eta=instant)


@pytest.fixture
def port() -> RulePack:
    made = RulePack("port", subject=ship)
    with made:
        require(gusts.speed <= 45 * knots)
    return made


@pytest.mark.parametrize(
    ("rows", "message", "fix"),
    [
        ({"ship": {}, "guts": {}}, "(ship, gusts) but got 'guts'", "did you mean 'gusts'?"),
        ({"ship": {}, "tides": {}}, "but got 'tides'", "leave it out: no rule of this pack observes it"),
        ({"ship": {}, 7: {}}, "but got 7", "leave it out: no rule of this pack observes it"),
        ({"ship": {"lenght": 3}}, "fields of 'ship' (id, length, eta) but got 'lenght'", "did you mean 'length'?"),
        ({"ship": {"cargo": 3}}, "but got 'cargo'", "declare it in Source('ship', …), or leave it out"),
        ({"ship": {}, "gusts": 50}, "a row of 'gusts', by field, but got 50", '"gusts": {"speed": 50}'),
        ({"ship": {}, "gusts": 9 * metres_per_second}, "got 9 * metres_per_second", '"speed": 9 * metres_per_second}'),
        ({"ship": 120.0}, "a row of 'ship', by field, but got 120.0", '"ship": {"length": 120.0}'),
        ({"ship": "x"}, "but got 'x'", '"ship": {"…": \'x\'}'),
        ({"gusts": {"speed": 3}}, "a row of the subject 'ship' but got none", 'port.check({"ship": {"eta": datetime'),
        ({"ship": None}, "a row of the subject 'ship' but got none", 'port.check({"ship": {"eta": datetime'),
        (None, "rows by source but got None", 'port.check({"ship": {"eta": datetime'),
        ({"ship": {"length": ship.length}}, "the observation ship.length", "such as 15 * metres, or 15 for short"),
    ],
)  # fmt: skip
def test_a_slip_in_a_situation_is_refused_with_the_fix(port, rows, message, fix):
    with pytest.raises(InvalidArgument) as refused:
        port.check(rows)
    summary, *_, last = str(refused.value).splitlines()
    assert message in summary
    assert last.startswith("  fix: ")
    assert fix in last
    assert "port.check(rows)" in str(refused.value)


def test_a_source_or_field_that_is_left_out_is_missing(port):
    assert port.check({"ship": {}}) == port.check({"ship": {"length": None}, "gusts": None})
    assert port.check({"ship": {"id": 1}}).because[0].missing == ("gusts",)
    assert port.check({"ship": {"id": 1}, "gusts": {}}).because[0].missing == ("gusts.speed",)


def test_the_time_of_judging_is_an_instant_or_a_datetime():
    made = RulePack("port", subject=ship)
    with made:
        require(ship.eta >= now)
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    for at in (noon, 1_769_860_800_000_000):
        statuses = [
            made.check({"ship": {"id": 1, "eta": noon + timedelta(seconds=late)}}, now=at).status for late in (-1, 0)
        ]
        assert statuses == ["restricted", "allowed"]
    verdict = made.check({"ship": {"id": 1, "eta": noon}})
    assert (verdict.status, verdict.because[0].missing) == ("unknown", ("now",))
    with pytest.raises(DimensionMismatch, match=r"port\.check: expected an instant for now but got 1\.5"):
        made.check({"ship": {"id": 1}}, now=1.5)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("on_error", ["fail", "unknown"])
def test_an_instant_of_pandas_that_is_none_is_missing(on_error):
    ship = Source("ship", key="id", id=int, eta=instant)
    made = RulePack("p", subject=ship)
    with made:
        require(ship.eta <= datetime(2026, 3, 1, tzinfo=UTC))
    assert made.check({"ship": {"id": 1, "eta": pd.NaT}}, on_error=on_error).status == "unknown"


@pytest.mark.parametrize("depth", [Decimal("9.5"), numpy.float32(9.5), Fraction(19, 2), 9.5])
def test_check_takes_what_an_engine_takes_for_numbers_and_truth_values(depth):
    berth = Source("berth", key="id", id=int, depth=metres, is_free=bool)
    made = RulePack("p", subject=berth)
    with made:
        require((berth.depth == 9.5 * metres) & berth.is_free)
    row = {"id": 1, "depth": depth, "is_free": numpy.bool_(True)}
    engine = Engine(made.table())
    (event,) = engine.push(made.sources["berth"], row)
    assert event.value.value.status == made.check({"berth": row}).status == "allowed"
