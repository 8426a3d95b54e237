"""How long is an order good? As long as it says itself.

State in a stream processor expires by one time for all of it. Orders, offers, permits and quotations say themselves
until when they hold. `good_until` asks for a deadline for each event (`notify_at`) and, when one is due (`tick`),
lets go what is past its time.

It relies on the clock: `advance`, or `Engine(lateness=…)`. An event may still be matched at the time that it names,
and leaves once the clock is past it. What leaves is displaced: its results stand, or are taken back beside
`retracting`. State: a deadline for each event.

>>> from cartesius import Engine, Reactive, correlate
>>> from examples.restrictions import good_until
>>> from restrictions import affinely
>>> buy, sell = Reactive("buy"), Reactive("sell")
>>> deals = correlate(
...     buy=buy,
...     sell=sell,
...     where=lambda buy, sell: buy.limit >= sell.price,
...     yields=lambda buy, sell: (buy.by, sell.price),
...     restrict=affinely("buy", "sell") | good_until("buy"),
... )
>>> engine = Engine(deals, lateness=0)
>>> _ = engine.push(buy, {"by": "Ann", "limit": 8, "until": 20}, at=1)
>>> _ = engine.push(buy, {"by": "Bob", "limit": 9, "until": 5}, at=2)
>>> [event.value for event in engine.push(sell, {"price": 9}, at=6)]
[]
>>> [event.value for event in engine.push(sell, {"price": 7}, at=20)]
[('Ann', 7)]
"""

# ruff: noqa: D102 - the class says it, and so do the names of its clauses

from typing import Any

from cartesius import Reactive, Restriction, Slot, correlate, displace, forward, handles, memory, notify_at, push, tick
from restrictions import affinely, key_by


class good_until(Restriction):
    """Let an event of `slot` leave once the clock is past the time in its own field `until`."""

    slot: Slot

    @handles(push, "slot")
    def ask(self, slot: Slot, entry: Any) -> None:
        notify_at(entry.value.until)
        forward(slot, entry)

    @handles(tick)
    def let_go(self, now: int) -> None:
        for expired in [entry for entry in memory(self.slot) if entry.value.until < now]:
            displace(self.slot, expired)


def example() -> tuple[Reactive, list[tuple[Reactive, Any, int]]]:
    """Return the deals of two shares, and a trace: Bob's order is good for a short time, Ann's for a long one."""
    buy, sell = Reactive("buy"), Reactive("sell")
    deals = correlate(
        buy=buy,
        sell=sell,
        where=lambda buy, sell: buy.limit >= sell.price,
        yields=lambda buy, sell: f"{buy.by} buys {buy.share} at {sell.price}",
        restrict=key_by(buy="share", sell="share") | affinely("buy", "sell") | good_until("buy"),
        name="deals",
    )
    return deals, [
        (buy, {"by": "Ann", "share": "X", "limit": 9, "until": 20}, 1),
        (buy, {"by": "Bob", "share": "X", "limit": 9, "until": 5}, 2),
        (buy, {"by": "Cid", "share": "Y", "limit": 9, "until": 5}, 3),
        (sell, {"share": "Y", "price": 8}, 5),
        (sell, {"share": "X", "price": 8}, 7),
        (sell, {"share": "X", "price": 7}, 8),
    ]
