"""Rules on wind, gusts and visibility. Each function writes into the pack that is open.

Source: RULES.md. Figures of the Beaufort scale are its lower limits in knots; fog is what the World Meteorological
Organization calls so.
"""

from __future__ import annotations

from typing import Final

from dsl import between, known, require, when
from dsl.units import degrees, kilometres, knots, metres, nautical_miles
from examples.port.observations import for_newark_bay, for_port_jersey, gust, is_yacht, vessel, wind

BEAUFORT: Final = "WMO Beaufort scale"
SMALL_CRAFT: Final = "US National Weather Service, small craft advisory, Eastern Region"
FOG: Final = "WMO International Cloud Atlas: fog"
RESTRICTED_VISIBILITY: Final = "COLREGs, Rules 6 and 19"


def wind_rules() -> None:
    """Write the rules on wind."""
    require(wind.velocity <= 45 * knots, name="wind limit", because="no ship moves or lies safely above 45 kn")
    with when(vessel.length >= 200 * metres):
        require(wind.velocity <= 35 * knots, name="wind limit from 200 m", because="her side catches the wind")
    with when(vessel.length >= 300 * metres):
        require(wind.velocity <= 30 * knots, name="wind limit from 300 m", because="tugs cannot hold her above it")
    with when(is_yacht & (vessel.length < 20 * metres)):
        require(
            wind.velocity < 25 * knots,
            name="small craft",
            because="small craft are warned from this wind on",
            severity="minor",
            reference=f"{SMALL_CRAFT}: from 25 kn",
        )

    from_east = between(wind.direction, 60 * degrees, 120 * degrees)
    from_west = between(wind.direction, 240 * degrees, 300 * degrees)
    with when(vessel.length >= 250 * metres), when(from_east | from_west), when(for_newark_bay):
        require(
            wind.velocity <= 25 * knots,
            name="wind across Newark Bay",
            because="long ships turn there with the wind abeam",
        )
    with when(between(wind.direction, 110 * degrees, 170 * degrees)), when(for_port_jersey):
        require(wind.velocity <= 30 * knots, name="swell at Port Jersey", because="it is open to the Narrows")
    with when(between(wind.direction, 330 * degrees, 30 * degrees)), when(vessel.destination == "constable-hook"):
        require(
            wind.velocity <= 30 * knots,
            name="wind off Constable Hook",
            because="a wind from the north holds her off the berth",
        )


def gust_rules() -> None:
    """Write the rules on gusts."""
    require(
        gust < 48 * knots,
        name="gusts of a storm",
        because="lines part and ships drag their anchors",
        severity="critical",
        reference=f"{BEAUFORT}: force 10 from 48 kn",
    )
    with when((vessel.vessel_type == "cargo") & (vessel.length >= 200 * metres)):
        require(
            gust < 41 * knots,
            name="gusts on high sides",
            because="stacked containers and closed decks are a sail",
            reference=f"{BEAUFORT}: force 9 from 41 kn",
        )
    with when((vessel.vessel_type == "tanker") & (vessel.direction == "moored")):
        require(
            gust < 34 * knots,
            name="gusts at the loading arms",
            because="the arms are drained and taken off before a gale",
            severity="critical",
            reference=f"{BEAUFORT}: force 8 from 34 kn",
        )
    with when(known(vessel.hazard)):
        require(
            gust < 34 * knots,
            name="gusts, dangerous cargo",
            because="dangerous cargo is not handled in a gale",
            severity="critical",
            reference=f"{BEAUFORT}: force 8 from 34 kn",
        )


def visibility_rules() -> None:
    """Write the rules on visibility."""
    with when(vessel.direction == "inbound"):
        require(
            wind.visibility >= 1 * kilometres,
            name="fog",
            because="no ship comes in that cannot see her berth",
            severity="critical",
            reference=f"{FOG} is visibility below 1 km",
        )
        with when(vessel.draught >= 12 * metres):
            require(
                wind.visibility >= 1 * nautical_miles,
                name="visibility, deep draught",
                because="she cannot leave the channel for another ship",
            )
        with when(vessel.vessel_type == "tanker"):
            require(
                wind.visibility >= 2 * nautical_miles,
                name="visibility, tankers",
                because="a collision may spill",
            )
        with when(vessel.length >= 300 * metres):
            require(
                wind.visibility >= 2 * nautical_miles,
                name="visibility from 300 m",
                because="her pilot must see the turn",
            )
        with when(known(vessel.hazard)):
            require(
                wind.visibility >= 2 * nautical_miles,
                name="visibility, dangerous cargo",
                because="a collision may set it free",
            )
    with when(vessel.direction != "moored"), when(wind.visibility < 1 * nautical_miles):
        require(
            vessel.speed <= 10 * knots,
            name="safe speed in restricted visibility",
            because="she must be able to stop in half of what she sees; the figure is for demonstration",
            reference=RESTRICTED_VISIBILITY,
        )
