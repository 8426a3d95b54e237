"""The thesis's benchmark programs A to D (SOURCES B12), written as packs and judged around their limits."""

from __future__ import annotations

import pytest

from dsl import require, when
from dsl.units import centimetres, degrees, knots, metres
from tests.unit.dsl.harbour import judged, pack, status, tidal_stream, tide, vessel, wind


def program_a() -> None:
    require(vessel.length <= 100 * metres)


def program_b() -> None:
    require(vessel.draught - tide.height <= 10 * metres)


def program_c() -> None:
    with when(vessel.direction == "inbound"):
        with when(vessel.draught >= 14.3 * metres):  # noqa: SIM117 - nested as the thesis nests it
            with when(tidal_stream.direction >= 180 * degrees):
                require(tidal_stream.rate <= 1 * knots)
        with when(vessel.draught >= 19 * metres):
            require(tidal_stream.direction < 180 * degrees)


def program_d() -> None:
    require(tidal_stream.rate <= 1 * knots)
    require(tidal_stream.direction < 0 * degrees)
    require(vessel.length <= 10 * centimetres)
    require(vessel.beam < 10 * centimetres)
    require(wind.direction < 180 * degrees)
    require(wind.velocity < 30 * knots)
    require(tide.height < 3 * metres)
    require(tide.low_water > 0 * metres)


@pytest.mark.parametrize(("length", "expected"), [(100.0, "allowed"), (100.1, "restricted"), (None, "unknown")])
def test_program_a(length, expected):
    assert status(program_a, vessel={"length": length}) == expected


@pytest.mark.parametrize(
    ("draught", "height", "expected"),
    [
        (11.0, 1.0, "allowed"),
        (11.0, 0.5, "restricted"),
        (None, 0.5, "unknown"),
        (11.0, None, "unknown"),
    ],
)
def test_program_b(draught, height, expected):
    assert status(program_b, vessel={"draught": draught}, tide={"height": height}) == expected


@pytest.mark.parametrize(
    ("direction", "draught", "stream", "rate", "failed"),
    [
        ("outbound", 20.0, 270.0, 3.0, 0),
        ("inbound", 14.2, 270.0, 3.0, 0),
        ("inbound", 14.3, 179.9, 3.0, 0),
        ("inbound", 14.3, 180.0, 1.0, 0),
        ("inbound", 14.3, 180.0, 1.1, 1),
        ("inbound", 19.0, 180.0, 1.0, 1),
        ("inbound", 19.0, 180.0, 1.1, 2),
        ("inbound", 19.0, 90.0, 1.1, 0),
    ],
)
def test_program_c(direction, draught, stream, rate, failed):
    ship = {"direction": direction, "draught": draught}
    verdict = judged(program_c, vessel=ship, tidal_stream={"direction": stream, "rate": rate})
    assert len(verdict.failed) == failed
    assert verdict.status == ("restricted" if failed else "allowed")


def test_program_c_without_a_stream():
    assert status(program_c, vessel={"direction": "outbound", "draught": 20.0}) == "allowed"
    assert status(program_c, vessel={"direction": "inbound", "draught": 20.0}) == "unknown"


def test_program_d_fails_nearly_everywhere_by_design():
    verdict = judged(
        program_d,
        vessel={"length": 0.1, "beam": 0.1},
        tidal_stream={"rate": 1.0, "direction": 0.0},
        wind={"direction": 179.0, "velocity": 30.0},
        tide={"height": 2.9, "low_water": -0.1},
    )
    assert [reason.name for reason in verdict.failed] == [
        "tidal_stream.direction < 0°",
        "vessel.beam < 10 cm",
        "wind.velocity < 30 kn",
        "tide.low_water > 0 m",
    ]


def test_all_four_can_be_one_pack():
    made = pack(program_a, program_b, program_c, program_d)
    assert len(made.statements) == 1 + 1 + 1 + 8
    assert list(made.sources) == ["vessel", "berth", "tide", "tidal_stream", "wind"]
