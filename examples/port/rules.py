"""The rules of the harbour, as a port officer reads them: the packs, put together from the themes.

Most figures are for demonstration; a rule whose figure or subject is published says where in its reference.

Source: RULES.md; "tidal stream" and "tidal stream, deep draught" have the nested shape of the thesis's program C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsl import RulePack
from examples.port.berth_rules import berth_rules
from examples.port.observations import links, vessel
from examples.port.places import GAUGES, STATIONS
from examples.port.ship_rules import business_rules, size_rules, speed_rules
from examples.port.water_rules import clearance_rules, stream_rules
from examples.port.weather_rules import gust_rules, visibility_rules, wind_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from examples.port.places import Position


def port_rules(
    berths: Iterable[str],
    gauges: Mapping[str, Position] = GAUGES,
    stations: Mapping[str, Position] = STATIONS,
) -> RulePack:
    """Return the rules that ask of one ship, her berth, the water and the wind.

    >>> port_rules(["red-hook"])
    <rule pack port over vessel, 22 statements>

    Args:
        berths: The ids of the berths, in the order of their table.
        gauges: The tide gauges that berths are referred to, and where they are.
        stations: The stations of the tidal stream, and where they are.
    """
    by_source = links(gauges, stations)
    port = RulePack("port", subject=vessel, location=vessel.destination, links=by_source.values())
    with port:
        wind_rules()
        berth_rules(berths)
        stream_rules()
        gust_rules()
        visibility_rules()
        clearance_rules()
        size_rules()
        speed_rules()
        business_rules()
    return port
