"""Rules on depth, tide and tidal stream. Each function writes into the pack that is open.

Source: RULES.md; "tidal stream" and "tidal stream, deep draught" have the nested shape of the thesis's program C.
"""

from __future__ import annotations

from typing import Final

from dsl import between, not_, require, when
from dsl.units import centimetres, degrees, knots, metres
from examples.port.observations import berth, clearance, for_port_jersey, is_outward, stream, tide, vessel

CHANNELS: Final = "PIANC Report 121-2014, Harbour Approach Channels Design Guidelines"
PROGRAM_C: Final = "T. Smith, A Stateful Streaming Rule Language for the Maritime Sector, 2020, program C"


def clearance_rules() -> None:
    """Write the rules on the water beneath a ship's keel, and on the tide, that hold at any berth."""
    with when(vessel.direction == "inbound"):
        require(
            clearance >= 0.1 * vessel.draught,
            name="clearance under way",
            because="a ship that moves sits deeper; a tenth of her draught is for demonstration",
            reference=CHANNELS,
        )
    with when(vessel.direction == "moored"):
        with when(vessel.draught >= 12 * metres):
            require(
                berth.depth + tide.low_water - vessel.draught >= 20 * centimetres,
                name="afloat at low water",
                because="she must not take the ground at the day's lowest tide",
                severity="critical",
            )
        require(tide.highest <= 2.5 * metres, name="quay awash", because="lines lead downwards and the quay floods")


def stream_rules() -> None:
    """Write the rules on the tidal stream."""
    with when(vessel.direction == "inbound"):
        with when(vessel.draught >= 12 * metres), when(is_outward):
            require(
                stream.rate <= 1 * knots,
                name="tidal stream",
                because="she must be able to stop and turn",
                reference=PROGRAM_C,
            )
        with when(vessel.draught >= 15 * metres):
            require(
                not_(is_outward),
                name="tidal stream, deep draught",
                because="the deepest ships come in on the flood alone",
                reference=PROGRAM_C,
            )
        with when(vessel.vessel_type == "tanker"):
            require(
                stream.rate <= 1.5 * knots,
                name="tidal stream, tankers",
                because="the bends of the Kill van Kull are tight",
            )
        across = between(stream.direction, 300 * degrees, 60 * degrees) | between(
            stream.next_direction, 300 * degrees, 60 * degrees
        )
        with when((vessel.draught >= 10 * metres) & across), when(for_port_jersey):
            require(
                stream.rate <= 1.5 * knots,
                name="flood off Port Jersey",
                because="she turns across the stream to enter",
            )
    with when((vessel.direction == "moored") & (vessel.length >= 200 * metres)):
        require(stream.rate <= 4 * knots, name="stream on the moorings", because="her lines may part")
