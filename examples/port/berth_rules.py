"""Rules tied to a berth: the depth over it, its length, and what may not lie there.

Source: RULES.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dsl import known, location, not_, require, when
from dsl.units import centimetres, metres
from examples.port.observations import clearance, vessel

if TYPE_CHECKING:
    from collections.abc import Iterable

NO_TANKERS: Final = ("red-hook", "brooklyn-navy-yard")
"""The berths where tankers and dangerous cargo may not lie: homes are near."""
LENGTHS_M: Final = {
    "newark-north": 250, "port-jersey-cars": 300, "constable-hook": 230, "tremley-point": 230, "red-hook": 230,
    "brooklyn-navy-yard": 200,
}  # fmt: skip
"""The assumed greatest length of a ship at a berth, in metres."""
LONGEST_M: Final = 400
"""The same at all other berths."""


def berth_rules(berths: Iterable[str]) -> None:
    """Write the rules of each berth into the pack that is open.

    Args:
        berths: The ids of the berths, in the order of their table.
    """
    for each in berths:
        with location(each):
            require(
                clearance >= 50 * centimetres,
                name=f"clearance at {each}",
                because="she must stay afloat",
                severity="critical",
            )
            with when(vessel.vessel_type == "tanker"):
                require(
                    clearance >= 100 * centimetres,
                    name=f"tanker clearance at {each}",
                    because="a tanker aground may spill",
                    severity="critical",
                )
            if each in NO_TANKERS:
                require(vessel.vessel_type != "tanker", name=f"no tankers at {each}", because="homes are too near")
                require(
                    not_(known(vessel.hazard)),
                    name=f"no dangerous cargo at {each}",
                    because="homes are too near",
                    severity="critical",
                )
            require(
                vessel.length <= LENGTHS_M.get(each, LONGEST_M) * metres,
                name=f"length at {each}",
                because="she must not overhang her berth",
            )
