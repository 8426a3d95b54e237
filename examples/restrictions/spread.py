"""Who takes the next job? The one with the most room left.

A join tells who *could* take the job; then somebody has to choose, once, and remember the choice for the next job.
Stream processors leave that to a service behind them. `spreading` chooses among the matches of one step (`select`):
with `at_most(n, …)` on the workers and `affinely` on the jobs, the uses that an event has left are the room that it
has left, so nothing else needs to be counted.

It relies on `at_most` or `affinely`, on any side of it, for the uses; they are spent between two of its choices. Ties
go to the match that comes first in the order of the product: the newest. State: none but the uses, which belong to
the events in memory.

>>> from cartesius import Engine, Reactive, correlate
>>> from examples.restrictions import spreading
>>> from restrictions import affinely, at_most
>>> courier, parcel = Reactive("courier"), Reactive("parcel")
>>> rounds = correlate(
...     courier=courier,
...     parcel=parcel,
...     yields=lambda courier, parcel: (courier, parcel),
...     restrict=at_most(2, "courier") | affinely("parcel") | spreading("courier"),
... )
>>> engine = Engine(rounds)
>>> arrivals = [(courier, "Ann"), (courier, "Bob"), *((parcel, number) for number in (1, 2, 3, 4, 5))]
>>> for reactive, value in arrivals:
...     print(value, [event.value for event in engine.push(reactive, value)])
Ann []
Bob []
1 [('Bob', 1)]
2 [('Ann', 2)]
3 [('Bob', 3)]
4 [('Ann', 4)]
5 []
"""

# ruff: noqa: D102 - the class says it, and so do the names of its clauses

from collections.abc import Iterable
from typing import Any

from cartesius import Reactive, Restriction, Slot, correlate, forward, handles, select
from restrictions import affinely, at_most, key_by


class spreading(Restriction):
    """Take the matches of a step one by one, the one whose part in `slot` has the most uses left first."""

    slot: Slot

    @handles(select)
    def choose(self, matches: Iterable[Any]) -> None:
        left = list(matches)
        while left := [match for match in left if all(part.uses > 0 for part in match.parts)]:
            best = max(left, key=lambda match: match.parts[self.slot.index].uses)
            left = [match for match in left if match is not best]
            forward([best])


def example() -> tuple[Reactive, list[tuple[Reactive, Any, int]]]:
    """Return which courier takes which parcel of the same zone, and a trace: parcels wait until Cid comes."""
    courier, parcel = Reactive("courier"), Reactive("parcel")
    rounds = correlate(
        courier=courier,
        parcel=parcel,
        yields=lambda courier, parcel: f"{courier.name} takes {parcel.id}",
        restrict=key_by(courier="zone", parcel="zone")
        | at_most(2, "courier")
        | affinely("parcel")
        | spreading("courier"),
        name="rounds",
    )
    couriers = {"Ann": "east", "Bob": "east", "Cid": "west"}
    zones = {1: "east", 2: "west", 3: "west", 4: "west", 5: "east", 6: "east"}
    arrivals: list[str | int] = ["Ann", "Bob", 1, 2, 3, 4, "Cid", 5, 6]
    return rounds, [
        (courier, {"name": one, "zone": couriers[one]}, at)
        if isinstance(one, str)
        else (parcel, {"id": one, "zone": zones[one]}, at)
        for at, one in enumerate(arrivals)
    ]
