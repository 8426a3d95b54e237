"""Rule packs as workloads: the thesis's programs A to D at growing tables, and packs of rules over ships and berths.

The programs and their rows are those of the experiments, `examples.experiments.program_rows`.

The packs over ships and berths have a rule a field; an event changes the five fields of one of 300 ships that five of
the rules read, each ship at one of ten berths.

Source: T. Smith, A Stateful Streaming Rule Language for the Maritime Sector, TU Delft 2020, chapter 8.
"""

from __future__ import annotations

from itertools import accumulate, repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from bench.workloads import Workload
from dsl import RulePack, Source, require
from dsl.units import metres
from examples.experiments.program_rows import ProgramRows, program

if TYPE_CHECKING:
    from numpy.typing import NDArray


RULES, SHIPS, BERTHS, TOUCHED = 40, 300, 10, 5
FIELDS: Final = [f"f{number}" for number in range(RULES)]
STEPS: Final = (0, 7, 13, 22)
"""Apart by these are the other four fields that an event changes."""

ship = Source("ship", key="id", id=int, berth=int, fields=dict.fromkeys(FIELDS, metres))
berth = Source("berth", key="id", id=int, depth=metres)


def program_workload(name: str, n: int, updates: int, seed: int) -> tuple[RulePack, Workload]:
    """Return a program over ``n`` rows a table, and ``updates`` of them."""
    pack = program(name)
    rows = ProgramRows(pack, n, seed)
    before = rows.filling()
    return pack, Workload("programs", f"program {name}", pack.table, rows.updates(updates), before)


def rule_pack(number: int) -> RulePack:
    """Return a pack of ``number`` rules over ships and berths."""
    pack = RulePack(f"{number} rules", subject=ship, links=[berth.id == ship.berth])
    with pack:
        for field in FIELDS[:number]:
            require(berth.depth - ship[field] >= 1 * metres, name=field)
    return pack


def pack_workload(number: int, n: int, seed: int, ships: int = SHIPS) -> tuple[RulePack, Workload]:
    """Return a pack of ``number`` rules, and ``n`` events of ships."""
    draw = np.random.default_rng(seed)
    of = draw.integers(0, ships, n)
    first = draw.integers(0, RULES - 1, n)
    # The first is the field of the pack of one rule, so that it has something to do as well.
    touched = {0: np.ones(n, bool)}
    for field in range(1, RULES):
        touched[field] = np.isin((field - 1 - first) % (RULES - 1), STEPS)
    values = np.array(list(accumulate(repeat(None, n), lambda value, _: (value + 4.5) % 19 + 0.5, initial=9.0)))
    filled = {
        field: values[_times_before(of, touched[number]) + touched[number]] for number, field in enumerate(FIELDS)
    }
    start = BERTHS + ships
    before = {
        "berth": _table(np.arange(BERTHS), 0, {"id": np.arange(BERTHS), "depth": np.full(BERTHS, 15.0)}),
        "ship": _table(
            np.arange(ships) + BERTHS,
            0,
            {
                "id": np.arange(ships),
                "berth": np.arange(ships) % BERTHS,
                **{field: np.full(ships, 9.0) for field in FIELDS},
            },
        ),
    }
    batch = {"ship": _table(np.arange(n), start, {"id": of, "berth": of % BERTHS, **filled})}
    pack = rule_pack(number)
    return pack, Workload("pack", f"pack of {number} rules", pack.table, batch, before)


def _times_before(of: NDArray[np.int64], marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many earlier events of the same ship are marked."""
    by_ship = np.argsort(of, kind="stable")
    counted: NDArray[np.int64] = np.cumsum(marked[by_ship]) - marked[by_ship]
    is_first = np.ones(len(of), bool)
    is_first[1:] = of[by_ship][1:] != of[by_ship][:-1]
    base = np.maximum.accumulate(np.where(is_first, counted, 0))
    found = np.empty(len(of), np.int64)
    found[by_ship] = counted - base
    return found


def _table(order: NDArray[np.int64], start: int, payload: dict[str, Any]) -> pa.Table:
    return pa.table({"order": order, "at": order + start + 1, **payload})
