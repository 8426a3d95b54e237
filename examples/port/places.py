"""Where tide, stream and wind are observed. The files of the day may move a gauge or a station, or add stations.

Invariant: the positions are those of the files in `data/`; a test compares them.
"""

from __future__ import annotations

from typing import Final, TypeAlias

Position: TypeAlias = tuple[float, float]
"""Latitude and longitude, in degrees north and east."""

GAUGES: Final[dict[str, Position]] = {
    "8518750": (40.70055, -74.01417),  # The Battery
    "8519483": (40.63911, -74.14631),  # Bayonne Bridge
    "8531680": (40.4669, -74.0094),  # Sandy Hook
}
"""The tide gauges that berths are referred to. Port Elizabeth (8530882) is left out: see `RULES.md`."""

STATIONS: Final[dict[str, Position]] = {
    "n03020": (40.6064, -74.038),  # The Narrows
    "n06010": (40.64358, -74.13889),  # Kill van Kull, LB 14
    "n02010": (40.6417, -74.1433),  # Bayonne Bridge
    "n07010": (40.64708, -74.1555),  # Newark Bay entrance, LB 18
    "NYH1915": (40.6552, -74.0507),  # Robbins Reef Light
    "NYH1918": (40.6723, -74.0239),  # Red Hook Channel
    "n05010": (40.6721, -74.0399),  # Gowanus Flats, LBB 32
}
"""The stations of the tidal stream."""

AIRPORTS: Final[dict[str, Position]] = {
    "EWR": (40.6925, -74.1687),
    "JFK": (40.6398, -73.7789),
    "LGA": (40.7772, -73.8726),
}
"""The airports where wind is observed; the wind's file does not say where they are."""
