"""The queries of Nexmark in SQL, for DuckDB: what the correlations are checked against, over all events at once.

Invariant: nothing of the correlations is used but their windows' sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from examples.experiments.nexmark_events import tables
from examples.experiments.nexmark_queries import SLIDING, TUMBLING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from examples.experiments.workloads import Arrival

SIZE, PERIOD = SLIDING
_WINNERS: Final = """
    select a.id as auction, a.category, b.price, b.id as bid
    from auction a join bid b on a.id = b.auction
    where b.at between a.opened and a.expires and b.price >= a.reserve
    qualify row_number() over (partition by a.id order by b.price desc, b.id) = 1
"""
_COUNTS: Final = f"""
    select b.auction, w.start, count(*) as n
    from bid b, lateral (
        select unnest(range(({PERIOD} * (floor((b.at - {SIZE}) / {PERIOD}) + 1))::bigint, b.at + 1, {PERIOD})) as start
    ) w
    group by all
"""
SQL: Final = {
    "query 3": """
        select a.id, p.name, p.state, a.id from auction a join person p on a.seller = p.id
        where a.category = 10 and p.state in ('OR', 'ID', 'CA')
    """,
    "query 4": f"select category, avg(price) from ({_WINNERS}) group by all",
    "query 5": f"select auction, start, n from ({_COUNTS}) qualify n = max(n) over (partition by start)",
    "query 7": f"""
        select b.at // {TUMBLING} * {TUMBLING} as start, price, -id from bid b
        qualify row_number() over (partition by start order by price desc, id) = 1
    """,
    "query 8": f"""
        select distinct p.id, p.at // {TUMBLING} * {TUMBLING}, p.name from person p join auction a on a.seller = p.id
        where p.at // {TUMBLING} = a.at // {TUMBLING}
    """,
    "query 9": f"select auction, price, -bid, category from ({_WINNERS})",
}
"""Each gives a row for each row of the table that the correlation is; `row` says how those read."""


def row(query: str, key: Any, value: Any) -> tuple[Any, ...]:
    """Return a row of the table of a correlation as the SQL gives it."""
    match query:
        case "query 3":
            return (key, *value)
        case "query 5":
            return (key[0], key[1].start, value)
        case "query 7":
            return (key.start, *value)
        case "query 8":
            return (*value,)
        case "query 9":
            return (key, *value)
        case _:
            return (key, value)


def answers(trace: Sequence[Arrival]) -> Mapping[str, set[tuple[Any, ...]]]:
    """Return what DuckDB answers to each query.

    Raises:
        ImportError: DuckDB is not installed.
    """
    import duckdb  # noqa: PLC0415 - of the extras for developers

    with duckdb.connect() as database:
        for name, table in tables(trace).items():
            database.register(name, table)
        return {query: set(database.execute(sql).fetchall()) for query, sql in SQL.items()}
