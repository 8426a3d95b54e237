"""Rotterdam, for raw AIS messages: its basins, how its name is typed, and a small pack of rules.

Positions of the basins are approximate and their depths are **assumed**: figures of ours, below the lowest astronomical
tide, no chart. So are all limits. The messages come without weather and water, so the rules ask of the tide alone, and
only where the depth below the lowest tide is not enough: such a verdict is unknown as long as no tide is known.

Source: RULES.md, "Rotterdam".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dsl import RulePack, Source, choice, instant, known, now, optional, require, when
from dsl.units import centimetres, hours, knots, metres
from examples.port.derive import ELSEWHERE
from examples.port.observations import kinds
from examples.port.water_rules import CHANNELS

if TYPE_CHECKING:
    from examples.port.input_files import Values
    from examples.port.places import Position

PORT: Final = "rotterdam"
"""The destination of a ship that does not say which basin."""

BASINS: Final[dict[str, tuple[Position, float, float]]] = {
    "maasvlakte": ((51.957, 4.030), 19.65, 400.0),
    "europoort": ((51.957, 4.100), 22.65, 400.0),
    "botlek": ((51.905, 4.240), 15.00, 300.0),
    "pernis": ((51.886, 4.370), 13.50, 250.0),
    "waalhaven": ((51.885, 4.440), 11.50, 250.0),
}
"""The basins: (latitude, longitude), depth in metres (assumed), greatest length of a ship in metres (assumed)."""

AIS_2010: Final = "IMO Resolution A.917(22), shipborne AIS"
APPROACH_DEPTH_M: Final = 23.0
"""The assumed depth of the dredged approach from sea, in metres."""

AHEAD_H: Final = 24
"""How many hours ahead of her arrival a ship is judged; one that states none, or lies here, always."""

NAMES: Final[dict[str, str]] = {
    **dict.fromkeys(("ROTTERDAM", "ROTTERDAMNL", "NLROTTERDAM", "RTM", "NLRTM", "RTDM", "RDAM", "ROTT", "NLROT"), PORT),
    **dict.fromkeys(("MAASCENTER", "MAASCENTRE", "MAASPILOT", "MAASPILOTS", "HOOKOFHOLLAND", "HOEKVANHOLLAND"), PORT),
    **dict.fromkeys(("EUROPOORT", "EUROPORT", "NLEUR", "ROTTERDAMEUROPOORT", "ROTTERDAMEUROPORT"), "europoort"),
    **dict.fromkeys(("MAASVLAKTE", "NLMSV", "ROTTERDAMMAASVLAKTE"), "maasvlakte"),
    **dict.fromkeys(("BOTLEK", "NLBOT", "ROTTERDAMBOTLEK"), "botlek"),
    **dict.fromkeys(("PERNIS", "NLPER", "ROTTERDAMPERNIS"), "pernis"),
    **dict.fromkeys(("WAALHAVEN", "ROTTERDAMWAALHAVEN"), "waalhaven"),
}
"""How crews type the port and its basins: in capital letters and figures alone."""

vessel = Source(
    "vessel", key="mmsi",
    mmsi=int, name=str, vessel_type=kinds, length=metres, beam=metres, draught=metres, speed=knots,
    destination=str, direction=choice("inbound", "outbound", "moored"), eta=optional(instant),
)  # fmt: skip
basin = Source("berth", key="id", id=str, depth=metres, length_limit=metres)
tide = Source("tide", key=None, height=metres)


def basin_rows() -> list[Values]:
    """Return the rows of the basins; that of the port as a whole has no depth, for nobody knows which is meant.

    >>> [row["id"] for row in basin_rows()][-2:]
    ['waalhaven', 'rotterdam']
    """
    rows = [{"id": id_, "depth": depth, "length_limit": limit} for id_, (_, depth, limit) in BASINS.items()]
    return [*rows, {"id": PORT, "depth": None, "length_limit": None}]


def rotterdam_rules() -> RulePack:
    """Return the rules of Rotterdam.

    >>> rotterdam_rules()
    <rule pack rotterdam over vessel, 5 statements>
    """
    is_planned = (vessel.direction == "moored") | (vessel.eta - now <= AHEAD_H * hours)
    port = RulePack(
        "rotterdam",
        subject=vessel,
        location=vessel.destination,
        links=[basin.id == vessel.destination],
        only=(vessel.destination != ELSEWHERE) & is_planned,
    )
    at_lowest_tide = basin.depth - vessel.draught
    at_sea = APPROACH_DEPTH_M * metres - vessel.draught
    with port:
        with when(vessel.draught >= 9 * metres):
            require(
                (at_lowest_tide >= 50 * centimetres) | (at_lowest_tide + tide.height >= 50 * centimetres),
                name="clearance in the basin",
                because="she must stay afloat, at any tide or at this one",
                severity="critical",
            )
            with when(vessel.vessel_type == "tanker"):
                require(
                    (at_lowest_tide >= 1 * metres) | (at_lowest_tide + tide.height >= 1 * metres),
                    name="clearance of tankers in the basin",
                    because="a tanker aground may spill",
                    severity="critical",
                )
        with when((vessel.direction == "inbound") & (vessel.draught >= 14.3 * metres)):
            require(
                (at_sea >= 0.2 * vessel.draught) | (at_sea + tide.height >= 0.2 * vessel.draught),
                name="clearance in the approach",
                because="she pitches and squats in the swell; a fifth of her draught is for demonstration",
                severity="critical",
                reference=CHANNELS,
            )
        with when(vessel.length >= 250 * metres):
            require(vessel.length <= basin.length_limit, name="length in the basin", because="she must be able to turn")
        with when(vessel.destination == "waalhaven"):
            require(vessel.vessel_type != "tanker", name="no tankers in the Waalhaven", because="homes are too near")
        with when(vessel.direction == "inbound"):
            require(
                known(vessel.eta),
                name="time of arrival",
                because="berth, pilot and tugs wait for her",
                severity="minor",
                reference=AIS_2010,
            )
            with when(known(vessel.eta)):
                require(
                    vessel.eta - now >= -AHEAD_H * hours,
                    name="time of arrival kept up",
                    because="what was typed for the last voyage is of no use; the figure is for demonstration",
                    severity="minor",
                    reference=AIS_2010,
                )
    return port
