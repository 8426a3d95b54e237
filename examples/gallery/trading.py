"""Trading: what each trade paid above the quote of its time, corrected when that quote comes late or is corrected."""

from __future__ import annotations

from datetime import timedelta

from cartesius import Reactive, correlate
from examples.gallery.exhibits import Exhibit, on
from restrictions import retracting, versioned

trades, quotes = Reactive("trade"), Reactive("quote", table=True, key="symbol")
hour = timedelta(hours=1)
slippage = correlate(
    trade=trades,
    quote=quotes,
    where=lambda trade, key_quote: trade.symbol == key_quote,
    yields=lambda trade, quote: {"trade": trade.id, "paid": trade.cents, "above": trade.cents - quote.ask},
    restrict=retracting() | versioned("quote", retention=hour, ties="revision"),
    name="slippage",
)

EXHIBIT = Exhibit(
    task="Compare each trade with the quote of its symbol that was valid when it was made; where a quote comes late, or"
    " a revision of it, within an hour, take back what it makes wrong and tell what is right.",
    outputs=(slippage,),
    lateness=timedelta(minutes=1),
    arrivals=on(
        "2026-03-02",
        ("09:30:00", quotes, {"symbol": "ACME", "ask": 1000, "revision": 0}),
        ("09:30:00", quotes, {"symbol": "BOLT", "ask": 250, "revision": 0}),
        ("09:30:02", trades, {"id": 1, "symbol": "ACME", "cents": 1001}),
        ("09:30:05", trades, {"id": 2, "symbol": "ACME", "cents": 1004}),
        ("09:30:04", quotes, {"symbol": "ACME", "ask": 1004, "revision": 0}),  # comes after the trade of :05
        ("09:30:06", trades, {"id": 3, "symbol": "BOLT", "cents": 265}),
        ("09:30:00", quotes, {"symbol": "BOLT", "ask": 260, "revision": 1}),  # the first one was wrong
        ("09:30:03", trades, {"id": 4, "symbol": "ACME", "cents": 1002}),  # a late trade: the quote of then
        ("09:30:06", trades, {"id": 5, "symbol": "ZINC", "cents": 80}),  # of which there is no quote
    ),
)
