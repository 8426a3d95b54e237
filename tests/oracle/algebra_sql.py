"""The algebra of keyed tables, asked of a database: `duckdb_rows` (SOURCES B7).

Written without reading the implementation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.oracle.algebra_programs import Filtered, Foreign, Item, Joined, Mapped, Node, Source, Table, shape, sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

# ---------------------------------------------------------------------------------------------------------- DuckDB


# A row is its key and, for each part that is no pair, three columns: whether it is there (p), its k and its n.

Leaves: TypeAlias = tuple[str, ...]


def sql(node: Node) -> tuple[str, Leaves]:
    """A node as a query, and the kinds of its parts, from left to right."""
    match node:
        case Source():
            return f"SELECT * FROM s{node.number}", ("item",)
        case Filtered():
            query, leaves = sql(node.of)
            k, n = sql_k(leaves), sql_n(leaves)
            # To the database NaN is greater than every number.
            condition = {
                "odd": f"{n} % 2 = 1",
                "positive": f"{n} > 0 AND NOT isnan({n})",
                "has key": f"{k} IS NOT NULL",
            }
            return f"SELECT * FROM ({query}) AS v WHERE {condition[node.kind]}", leaves
        case Mapped():
            query, leaves = sql(node.of)
            k, n = sql_k(leaves), sql_n(leaves)
            columns = {
                "item": (k, n),
                "shifted": (f"({k} + 1) % 4", n),
                "number": ("NULL", n),
                "parity": ("NULL", f"{n} % 2"),
                "one": ("NULL", "1"),
            }[node.kind]
            made = f"SELECT key, TRUE AS p0, ({columns[0]})::DOUBLE AS k0, ({columns[1]})::DOUBLE AS n0"
            return f"{made} FROM ({query}) AS v", ("item" if node.kind in {"item", "shifted"} else "number",)
        case Joined() | Foreign():
            (left, one), (right, other) = sql(node.left), sql(node.right)
            columns_of = [f"l.{c}{place}" for place in range(len(one)) for c in "pkn"]
            columns_of += [f"r.{c}{place} AS {c}{place + len(one)}" for place in range(len(other)) for c in "pkn"]
            how = {"inner": "INNER", "left": "LEFT", "outer": "FULL OUTER"}[node.how]
            on, key = ("l.key", "coalesce(l.key, r.key)") if isinstance(node, Joined) else (sql_k(one, "l."), "l.key")
            text = f"SELECT {key} AS key, {', '.join(columns_of)} FROM ({left}) AS l {how} JOIN ({right}) AS r"
            return f"{text} ON {on} = r.key", (*one, *other)
    raise AssertionError(node)


def sql_k(leaves: Leaves, of: str = "") -> str:
    """`k_of` in SQL."""
    cases = (f"WHEN {of}p{place} THEN {of}{'k' if leaf == 'item' else 'n'}{place}" for place, leaf in enumerate(leaves))
    return f"CASE {' '.join(cases)} END"


def sql_n(leaves: Leaves) -> str:
    """`n_of` in SQL."""
    return f"({' + '.join(f'coalesce(n{place}, 0)' for place in range(len(leaves)))})"


def literal(value: Any) -> str:
    """A number in SQL."""
    if value is None:
        return "NULL"
    return "'nan'::DOUBLE" if math.isnan(value) else str(float(value))


def duckdb_rows(connection: DuckDBPyConnection, program: Node, present: dict[int, Table]) -> Table:
    """The rows of a program of joins, filters and maps as a database finds them; its numbers are floats."""
    tables = []
    for number in sources(program):
        rows = [
            f"({key}, TRUE, {literal(value.k)}, {literal(value.n)})"
            for key, value in (present[number] or {0: Item(0, 0)}).items()
        ]
        cast = "SELECT key::INTEGER AS key, p0, k0::DOUBLE AS k0, n0::DOUBLE AS n0"
        values = f"(VALUES {', '.join(rows)}) AS v(key, p0, k0, n0)"
        tables.append(f"s{number} AS ({cast} FROM {values} WHERE {bool(present[number])})")
    query, _ = sql(program)
    found = connection.execute(f"WITH {', '.join(tables)} {query}").fetchall()
    table = {key: _value(program, iter(columns)) for key, *columns in found}
    assert len(table) == len(found)
    return table


def _value(node: Node, columns: Iterator[Any]) -> Any:
    """The value of a row, of the columns of its parts."""
    match node:
        case Joined() | Foreign():
            pair = (_value(node.left, columns), _value(node.right, columns))
            return None if pair == (None, None) else pair
        case Filtered():
            return _value(node.of, columns)
    is_there, k, n = next(columns), next(columns), next(columns)
    if not is_there:
        return None
    return n if shape(node) == "number" else Item(k, n)


def as_floats(value: Any) -> Any:
    """A value as the database would give it, and so that NaN equals itself."""
    if isinstance(value, Item):
        return Item(*map(as_floats, value))
    if isinstance(value, tuple):
        return tuple(map(as_floats, value))
    return value if value is None else repr(float(value))
