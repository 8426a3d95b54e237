"""The thesis's programs A to D at tables of any size: rows of which every one matches exactly one of every other table.

So the joins are the largest possible: n ships with berths of their own, and at each berth a tide, a stream and a wind.
An event is a new row, of a source chosen uniformly, for a key chosen uniformly.

Source: T. Smith, A Stateful Streaming Rule Language for the Maritime Sector, TU Delft 2020, chapter 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from dsl import RulePack
from examples.port.observations import stream, tide, vessel, wind
from examples.port.programs import program_a, program_b, program_c, program_d

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

PROGRAMS: Final[dict[str, Callable[[], None]]] = {"A": program_a, "B": program_b, "C": program_c, "D": program_d}
OBSERVED: Final = {"A": (), "B": ("tide",), "C": ("stream",), "D": ("tide", "stream", "wind")}
LINKS: Final = {"tide": tide.sensor, "stream": stream.station, "wind": wind.station}


def program(name: str) -> RulePack:
    """Return a program of the thesis, in which all is found by the ship's berth."""
    links = [LINKS[source] == vessel.destination for source in OBSERVED[name]]
    pack = RulePack(f"program {name}", subject=vessel, links=links)
    with pack:
        PROGRAMS[name]()
    return pack


class ProgramRows:
    """The rows of the tables of a program, from a seed.

    Args:
        pack: The program.
        n: Rows a table.
        seed: Seed of the values.
    """

    def __init__(self, pack: RulePack, n: int, seed: int) -> None:
        self.names = list(pack.sources)
        self.n = n
        self.draw = np.random.default_rng(seed)
        self.latest = 0  # the time of the last row

    def filling(self) -> dict[str, pa.Table]:
        """Return what fills the tables."""
        rows = np.arange(self.n)
        return self._batch(np.repeat(np.arange(len(self.names)), self.n), np.tile(rows, len(self.names)))

    def updates(self, n: int) -> dict[str, pa.Table]:
        """Return ``n`` new rows."""
        return self._batch(self.draw.integers(0, len(self.names), n), self.draw.integers(0, self.n, n))

    def _batch(self, which: NDArray[np.int64], row: NDArray[np.int64]) -> dict[str, pa.Table]:
        found = {}
        for number, name in enumerate(self.names):
            order = np.flatnonzero(which == number)
            times = {"order": order, "at": order + self.latest + 1}
            found[name] = pa.table({**times, **self._fields(name, row[order])})
        self.latest += len(which)
        return found

    def _fields(self, name: str, row: NDArray[np.int64]) -> dict[str, Any]:
        draw, n = self.draw, len(row)
        places = [f"berth {number}" for number in row.tolist()]
        match name:
            case "vessel":
                directions = np.where(draw.random(n) < 0.5, "inbound", "outbound").tolist()
                found = {"mmsi": row, "destination": places, "direction": directions}
                sizes = {"length": (20, 300), "beam": (5, 50), "draught": (3, 22)}
            case "tide":
                found, sizes = {"sensor": places}, {"height": (-1, 4), "low_water": (-1, 1)}
            case "stream":
                found, sizes = {"station": places}, {"rate": (0, 3), "direction": (0, 360)}
            case _:
                found, sizes = {"station": places}, {"velocity": (0, 50), "direction": (0, 360)}
        strings = {key: each if key == "mmsi" else pa.array(each, pa.string()) for key, each in found.items()}
        return {**strings, **{key: draw.uniform(low, high, n) for key, (low, high) in sizes.items()}}
