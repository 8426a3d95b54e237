"""Made-up events of the Nexmark benchmark: persons register, open auctions, and bid, in the ratio 1 : 3 : 46.

Source: SOURCES F2; the Nexmark benchmark as published with Apache Beam.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

from cartesius import Reactive
from examples.experiments.workloads import Arrival

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

person: Final = Reactive("person")
auction: Final = Reactive("auction")
bid: Final = Reactive("bid")
STATES: Final = ("OR", "ID", "CA", "WA", "NY", "TX")
CATEGORIES: Final = (10, 11, 12, 13, 14)
STEP: Final = 10
"""Milliseconds from one event to the next."""
_ROUND: Final = 50
_PERSONS: Final = (0,)
_AUCTIONS: Final = (1, 2, 3)


def events(size: int, seed: int) -> list[Arrival]:
    """Return ``size`` events in order of time; an id is that of the event's place."""
    draw = random.Random(seed)
    persons: list[int] = []
    auctions: list[int] = []
    found = []
    for n in range(size):
        at = n * STEP
        if n % _ROUND in _PERSONS:
            persons.append(n)
            row: dict[str, Any] = {"id": n, "name": f"person {n}", "state": draw.choice(STATES)}
            found.append(Arrival(person, row, at))
        elif n % _ROUND in _AUCTIONS:
            auctions.append(n)
            row = {"id": n, "seller": draw.choice(persons[-20:]), "category": draw.choice(CATEGORIES), "opened": at,
                   "expires": at + draw.randint(1, 40) * 100, "reserve": draw.randint(1, 500)}  # fmt: skip
            found.append(Arrival(auction, row, at))
        else:
            recent = auctions[-12:]
            row = {"id": n, "auction": recent[min(draw.randrange(12), draw.randrange(12)) % len(recent)],
                   "bidder": draw.choice(persons[-20:]), "price": draw.randint(1, 1_000), "at": at}  # fmt: skip
            found.append(Arrival(bid, row, at))
    return found


def tables(trace: Sequence[Arrival]) -> dict[str, pa.Table]:
    """Return the events as tables of a database, for who answers the queries in another way."""
    import pyarrow as pa  # noqa: PLC0415 - only who compares needs columns

    rows: dict[str, list[dict[str, Any]]] = {}
    for reactive, value, at in trace:
        rows.setdefault(reactive.name, []).append({**value, "at": at})
    return {name: pa.Table.from_pylist(mine) for name, mine in rows.items()}
