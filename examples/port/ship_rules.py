"""Rules on size, speed, and who has business where. Each function writes into the pack that is open.

Source: RULES.md.
"""

from __future__ import annotations

from typing import Final

from dsl import distance, not_, require, when
from dsl.units import knots, metres
from examples.port.observations import berth, for_newark_bay, for_tanker_berths, is_yacht, vessel

AIS: Final = "IMO Resolution A.1106(29), shipborne AIS"
WATERFRONT: Final = "33 CFR 165.169(a)(3), zones around waterfront facilities"


def size_rules() -> None:
    """Write the rules on size that hold at any berth."""
    with when(vessel.direction == "inbound"):
        require(vessel.beam <= 60 * metres, name="beam", because="the channels are dredged for no more")
        with when(for_newark_bay):
            require(
                vessel.length * vessel.beam <= 22_000 * metres * metres,
                name="turning basin",
                because="she must turn with tugs on both sides",
            )
    with when(vessel.length >= 80 * metres):
        require(
            vessel.length / vessel.beam >= 3,
            name="proportions",
            because="length and beam are entered by hand, and she is broader than ships are",
            severity="minor",
            reference=AIS,
        )


def business_rules() -> None:
    """Write the rules on who has business where."""
    with when(vessel.direction == "moored"):
        with when(for_tanker_berths):
            require(
                vessel.vessel_type != "passenger",
                name="no passengers at tanker berths",
                because="passengers do not wait where oil is pumped",
                severity="critical",
            )
        with when(for_newark_bay | for_tanker_berths):
            require(
                not_(is_yacht),
                name="no pleasure craft at terminals",
                because="they have no business within the zone around a facility",
                reference=WATERFRONT,
            )


def speed_rules() -> None:
    """Write the rules on speed."""
    with when(vessel.direction == "inbound"):
        with when(vessel.draught >= 12 * metres):
            require(vessel.speed <= 12 * knots, name="squat", because="the faster she is, the deeper she sits")
        with when(distance(vessel.position, berth.position) <= 500 * metres):
            require(vessel.speed <= 6 * knots, name="wash at the berths", because="her wash breaks others' lines")
