"""The pack `traffic`: rules on two ships at once, and on what others leave over: berths and tugs.

Source: RULES.md, "Traffic".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dsl import RulePack, Source, against, another, distance, known, nearest, not_, number_of, require, sum_of, when
from dsl.units import knots, metres
from examples.port.derive import ELSEWHERE
from examples.port.observations import vessel, wind
from examples.port.places import AIRPORTS

if TYPE_CHECKING:
    from dsl import Expression

SHIP_M: Final = 80
"""From which length on a ship is judged, in metres."""
SAFE_DISTANCE: Final = "COLREGs, Rule 8(d)"
NARROW_CHANNEL: Final = "COLREGs, Rule 9(b)"

other = another(vessel, "other")
tug = Source("tug", key="mmsi", mmsi=int, available=bool)


def traffic_rules() -> RulePack:
    """Return the rules about a ship and the others.

    >>> traffic_rules()
    <rule pack traffic over vessel, 4 statements>
    """
    traffic = RulePack(
        "traffic",
        subject=vessel,
        links=[wind.station == nearest(AIRPORTS, vessel.position)],
        only=vessel.length >= SHIP_M * metres,
    )
    with traffic:
        with when(vessel.destination != ELSEWHERE):
            _berth_rules()
        with when((vessel.length >= 200 * metres) & (vessel.direction != "still")):
            _tug_rules()
        with when(_is_under_way(vessel)), against(other, where=_is_under_way(other)):
            with when(other.length >= SHIP_M * metres):
                require(
                    distance(vessel.position, other.position) >= 300 * metres,
                    name="passing distance",
                    because="ships draw each other in; the figure is for demonstration",
                    severity="critical",
                    reference=SAFE_DISTANCE,
                )
            with when((vessel.length >= 200 * metres) & (other.length < 20 * metres)):
                require(
                    distance(vessel.position, other.position) >= 200 * metres,
                    name="small craft in her way",
                    because="in a channel she cannot give way to them; the figure is for demonstration",
                    reference=NARROW_CHANNEL,
                )
        with when(known(vessel.hazard)), against(other, where=other.vessel_type == "passenger"):
            require(
                distance(vessel.position, other.position) >= 500 * metres,
                name="passengers and dangerous cargo",
                because="people are near",
                severity="critical",
            )
    return traffic


def _berth_rules() -> None:
    is_here = other.destination == vessel.destination
    with when(vessel.direction == "moored"), against(other, where=is_here & (other.direction == "moored")):
        require(
            not_((vessel.vessel_type == "tanker") & (other.vessel_type == "tanker")),
            name="no two tankers at one berth",
            because="what burns on one would burn on both",
            severity="critical",
        )
    with when(vessel.direction == "inbound"):
        require(
            number_of(other, where=is_here & (other.direction == "inbound")) == 0,
            name="one at a time",
            because="there is room for one ship and her tugs",
        )
    with when(vessel.direction == "moored"):
        at_quay = is_here & (other.direction == "moored") & (other.vessel_type == "cargo")
        require(
            sum_of(other.length, where=at_quay) + vessel.length <= 700 * metres,
            name="room at the quay",
            because="the quays are no longer",
        )


def _tug_rules() -> None:
    tugs = number_of(tug, where=tug.available)
    require(tugs >= 2, name="tugs from 200 m", because="she turns with a tug at either end")
    with when(vessel.length >= 300 * metres):
        require(tugs >= 3, name="tugs from 300 m", because="her side is long")
        with when(wind.velocity > 20 * knots):
            require(tugs >= 4, name="tugs from 300 m in a wind", because="the wind leans on it")


def _is_under_way(ship: Source) -> Expression:
    return ship.speed >= 1 * knots
