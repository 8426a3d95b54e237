"""The joins and windows of Nexmark as correlations: queries 3, 4, 5, 7, 8 and 9, each a table.

Query 3 joins two tables by a foreign key; 8 joins two streams inside windows; 9 takes the best of many matches, and 4
totals that; 5 counts in windows that overlap and takes the most of each; 7 takes the highest of each window.

Source: SOURCES F2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cartesius import correlate
from examples.experiments.nexmark_events import auction, bid, person
from restrictions import as_table, momentarily, retracting, sliding, tumbling
from restrictions.tables import aggregate, count, max_, mean, reduce, to_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Reactive

SLIDING: Final = (10_000, 5_000)
"""The windows of query 5: their size and period, in milliseconds."""
TUMBLING: Final = 10_000
"""Those of queries 7 and 8."""


def query_3() -> Reactive:
    """Return the auctions of category 10 whose sellers live in Oregon, Idaho or California: {auction: row}."""
    found: Reactive = correlate(
        auction=to_table(auction, key="id"),
        person=to_table(person, key="id"),
        where=lambda auction, person, *, key_person: (
            (auction.seller == key_person)
            & (auction.category == 10)
            & ((person.state == "OR") | (person.state == "ID") | (person.state == "CA"))
        ),
        yields=lambda auction, person: (person.name, person.state, auction.id),
        restrict=retracting() | as_table("auction"),
        name="query 3",
    )
    return found


def query_4() -> Reactive:
    """Return the mean of the winning prices by category: {category: price}."""
    return reduce(query_9(), mean.of(lambda winner: winner[0]), by=lambda winner: winner[2])


def query_5() -> Reactive:
    """Return the auctions with the most bids in each window: {(auction, window): bids}."""
    counts = aggregate(bid, count, by="auction", restrict=sliding(*SLIDING))
    rows = correlate(
        n=counts, yields=lambda n, *, key_n: (key_n[1], n), restrict=retracting() | as_table("n"), name="counts"
    )
    most = reduce(rows, max_.of(lambda row: row[1]), by=lambda row: row[0])
    found: Reactive = correlate(
        row=rows,
        most=most,
        where=lambda row, most, *, key_most: (row[0] == key_most) & (row[1] == most),
        yields=lambda row, most: most,
        restrict=retracting() | as_table("row"),
        name="query 5",
    )
    return found


def query_7() -> Reactive:
    """Return the highest bid of each window, of equal ones the first: {window: (price, -id)}."""
    return aggregate(bid, max_.of(lambda bid: (bid.price, -bid.id)), restrict=tumbling(TUMBLING))


def query_8() -> Reactive:
    """Return who registered and opened an auction in one window: {(person, start of the window): name}."""
    seen = correlate(
        person=person,
        auction=auction,
        where=lambda person, auction: person.id == auction.seller,
        yields=lambda person, auction, window: (person.id, window.start, person.name),
        restrict=tumbling(TUMBLING),
        name="sellers",
    )
    return to_table(seen, key=lambda row: (row[0], row[1]))


def query_9() -> Reactive:
    """Return the winning bid of each auction: the highest while it was open, of equal ones the first."""
    offers = correlate(
        auction=to_table(auction, key="id"),
        bid=bid,
        where=lambda auction, bid, *, key_auction: (
            (bid.auction == key_auction)
            & (bid.at >= auction.opened)
            & (bid.at <= auction.expires)
            & (bid.price >= auction.reserve)
        ),
        yields=lambda auction, bid: (auction.id, auction.category, bid.price, -bid.id),
        restrict=momentarily("bid"),
        name="offers",
    )
    bids = to_table(offers, key=lambda offer: offer[3])
    return reduce(bids, max_.of(lambda offer: (offer[2], offer[3], offer[1])), by=lambda offer: offer[0])


QUERIES: Final[dict[str, Callable[[], Reactive]]] = {
    "query 3": query_3, "query 4": query_4, "query 5": query_5, "query 7": query_7, "query 8": query_8,
    "query 9": query_9,
}  # fmt: skip
