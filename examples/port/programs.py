"""The four programs that the thesis measures, as packs of their own, over the sources of the harbour.

They are loads, not port rules: most ships fail most of D. What the data lack is derived as `RULES.md` says: a ship is
inbound if she heads for a berth, low water is the lowest height predicted for the gauge that day.

Source: T. Smith, A Stateful Streaming Rule Language for the Maritime Sector, TU Delft 2020, chapter 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dsl import RulePack, require, when
from dsl.units import centimetres, degrees, knots, metres
from examples.port.observations import links, tide, vessel, wind
from examples.port.observations import stream as tidal_stream
from examples.port.places import GAUGES, STATIONS
from examples.port.rules import port_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from examples.port.places import Position

PACKS: Final = ("port", "A", "B", "C", "D")
"""The packs that there are: the harbour's rules, and the thesis's programs."""

_OBSERVED: Final = {"A": (), "B": ("berth", "tide"), "C": ("stream",), "D": ("berth", "tide", "stream", "wind")}


def rule_pack(
    name: str,
    berths: Iterable[str],
    gauges: Mapping[str, Position] = GAUGES,
    stations: Mapping[str, Position] = STATIONS,
) -> RulePack:
    """Return the pack called ``name``: one of `PACKS`.

    >>> rule_pack("B", ["red-hook"]).sources.keys()
    dict_keys(['vessel', 'berth', 'tide'])
    """
    if name == "port":
        return port_rules(berths, gauges, stations)
    by_source = links(gauges, stations)
    pack = RulePack(name, subject=vessel, links=[by_source[source] for source in _OBSERVED[name]])
    with pack:
        _WRITE[name]()
    return pack


def program_a() -> None:
    """One source."""
    require(vessel.length <= 100 * metres)


def program_b() -> None:
    """Two sources, found through a third."""
    require(vessel.draught - tide.height <= 10 * metres)


def program_c() -> None:
    """A real rule: deep ships come in with a weak stream, or none against them."""
    with when(vessel.direction == "inbound"):
        with when(vessel.draught >= 14.3 * metres):  # noqa: SIM117 - nested as in the thesis
            with when(tidal_stream.direction >= 180 * degrees):
                require(tidal_stream.rate <= 1 * knots)
        with when(vessel.draught >= 19 * metres):
            require(tidal_stream.direction < 180 * degrees)


def program_d() -> None:
    """Many independent requirements; nearly all fail, on purpose."""
    require(tidal_stream.rate <= 1 * knots)
    require(tidal_stream.direction < 0 * degrees)
    require(vessel.length <= 10 * centimetres)
    require(vessel.beam < 10 * centimetres)
    require(wind.direction < 180 * degrees)
    require(wind.velocity < 30 * knots)
    require(tide.height < 3 * metres)
    require(tide.low_water > 0 * metres)


_WRITE: Final = {"A": program_a, "B": program_b, "C": program_c, "D": program_d}
