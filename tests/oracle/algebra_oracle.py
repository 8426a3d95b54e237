"""The algebra of keyed tables, three times over, without the library (SOURCES B7, B8, B10; SEMANTICS 2).

`DictProgram` is the thesis's operators as plain dict code, message by message; `FromScratch` evaluates the present
inputs by comprehension; `duckdb_rows` asks a database. `build` makes the library's program of the same tree. Written
without reading the implementation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from hypothesis import strategies as st

from cartesius import Delete, Reactive, Update, storable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from duckdb import DuckDBPyConnection

Change: TypeAlias = Update | Delete
Table: TypeAlias = dict[Any, Any]
Push: TypeAlias = tuple[int, Change]


@storable
class Item(NamedTuple):
    """A row of a source: a foreign key, perhaps None, and a number."""

    k: Any
    n: Any


# --------------------------------------------------------------------------------------------------------- programs


@dataclass(frozen=True)
class Source:
    """An external table."""

    number: int


@dataclass(frozen=True)
class Mapped:
    """`map_table`."""

    of: Node
    kind: str


@dataclass(frozen=True)
class Filtered:
    """`filter_table`."""

    of: Node
    kind: str


@dataclass(frozen=True)
class Joined:
    """`inner_join`, `left_join` or `outer_join`."""

    left: Node
    right: Node
    how: str


@dataclass(frozen=True)
class Foreign:
    """`foreign_join` on the left value's `k`."""

    left: Node
    right: Node
    how: str


@dataclass(frozen=True)
class Reduced:
    """`reduce` with `by`; its rows are whole numbers, or items of such, as sums must be exact."""

    of: Node
    group: str
    by: str


@dataclass(frozen=True)
class Folded:
    """`combine_updates`."""

    of: Node
    kind: str


@dataclass(frozen=True)
class Relogged:
    """`to_table` of the `changelog`: nothing."""

    of: Node


@dataclass(frozen=True)
class Merged:
    """`to_table` of the two changelogs merged; no source reaches both."""

    left: Node
    right: Node


Node: TypeAlias = Source | Mapped | Filtered | Joined | Foreign | Reduced | Folded | Relogged | Merged


def children(node: Node) -> tuple[Node, ...]:
    """The inputs of an operator, the left one first."""
    match node:
        case Source():
            return ()
        case Joined() | Foreign() | Merged():
            return (node.left, node.right)
    return (node.of,)


def in_order(program: Node) -> list[Node]:
    """Each different node once, inputs before what is made of them."""
    found: dict[Node, None] = {}
    for child in children(program):
        found |= dict.fromkeys(in_order(child))
    return [*found, program]


def sources(program: Node) -> list[int]:
    """The numbers of the external tables that a program reads."""
    return sorted({node.number for node in in_order(program) if isinstance(node, Source)})


# -------------------------------------------------------------------- the functions that programs pass to operators

# An operator may be given any other's rows, so its function is made for their shape: as text that traces where every
# part is surely there, else as one of the following, which look at what they are given and so do not trace.

Shape: TypeAlias = Any
"""`item`, `number`, a pair of shapes, or None: parts may be missing, or it is a list."""


def k_of(value: Any) -> Any:
    """The foreign key of a row: of the leftmost part that is there; a number is its own."""
    if isinstance(value, Item):
        return value.k
    if isinstance(value, tuple):
        return next(k_of(part) for part in value if part is not None)
    return value


def n_of(value: Any) -> Any:
    """The number of a row: the sum of its parts'."""
    if value is None:
        return 0
    if isinstance(value, Item):
        return value.n
    return sum(map(n_of, value)) if isinstance(value, tuple) else value


def as_item(value: Any) -> Item:
    """A row made flat again."""
    return Item(k_of(value), n_of(value))


def shifted(value: Any) -> Item:
    """A row made flat, that points elsewhere."""
    k = k_of(value)
    return Item(None if k is None else (k + 1) % 4, n_of(value))


def whole(value: Any) -> int:
    """The number of a row as an int, whatever it is."""
    n = n_of(value)
    return 0 if math.isnan(n) else int(n)


def as_ints(value: Any) -> Item:
    """A row made flat, of ints alone."""
    k = k_of(value)
    return Item(-1 if k is None or math.isnan(k) else int(k), whole(value))


def has_key(value: Any) -> bool:
    """Whether a row points anywhere."""
    return k_of(value) is not None


def shape(node: Node) -> Shape:
    """What the rows of a node look like."""
    match node:
        case Source():
            return "item"
        case Mapped():
            return "item" if node.kind in {"item", "shifted", "ints"} else "number"
        case Joined(how="inner") | Foreign(how="inner"):
            return (shape(node.left), shape(node.right))
        case Reduced():
            return "item" if node.group == "items" else "number"
        case Folded():
            return None if node.kind == "latest" else "number"
        case Filtered() | Relogged():
            return shape(node.of)
        case Merged():
            return shape(node.left) if shape(node.left) == shape(node.right) else None
    return None


def k_text(of: Shape, v: str = "v") -> str | None:
    """`k_of` as an expression of `v`."""
    match of:
        case None:
            return None
        case "item":
            return f"{v}.k"
        case "number":
            return v
    return k_text(of[0], f"{v}[0]")


def n_text(of: Shape, v: str = "v") -> str | None:
    """`n_of` as an expression of `v`."""
    match of:
        case None:
            return None
        case "item":
            return f"{v}.n"
        case "number":
            return v
    left, right = n_text(of[0], f"{v}[0]"), n_text(of[1], f"{v}[1]")
    return None if left is None or right is None else f"({left} + {right})"


@cache
def function(text: str) -> Callable[[Any], Any]:
    """A function of a row, of its text; the same one for the same text."""
    made: Callable[[Any], Any] = eval(f"lambda v: {text}", globals())
    return made


MAPS = ("item", "shifted", "number", "parity", "one")
FILTERS = ("odd", "positive", "has key")
FOLDS = ("sum", "count", "max", "latest")


def map_function(node: Mapped) -> Callable[[Any], Any]:
    """The function of a `Mapped`."""
    n = n_text(shape(node.of)) or "n_of(v)"
    texts = {"number": n, "parity": f"{n} % 2", "one": "1"}
    made = {"item": as_item, "shifted": shifted, "ints": as_ints, "whole": whole}
    return made[node.kind] if node.kind in made else function(texts[node.kind])


def predicate(node: Filtered) -> Callable[[Any], Any]:
    """The predicate of a `Filtered`."""
    n = n_text(shape(node.of)) or "n_of(v)"
    return has_key if node.kind == "has key" else function({"odd": f"{n} % 2 == 1", "positive": f"{n} > 0"}[node.kind])


def foreign_key(node: Foreign) -> Callable[[Any], Any]:
    """What a `Foreign` joins on."""
    return function(k_text(shape(node.left)) or "k_of(v)")


def group_key(node: Reduced) -> Callable[[Any], Any]:
    """What a `Reduced` groups by."""
    return function({"k": "v.k", "k % 2": "v.k % 2", "n % 2": "v.n % 2", "v % 2": "v % 2"}[node.by])


def plus(one: Item, other: Item) -> Item:
    """The group of items."""
    return Item(one.k + other.k, one.n + other.n)


def minus(one: Item) -> Item:
    """Its inverse."""
    return Item(-one.k, -one.n)


def append(folded: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    """The two latest values."""
    return (*folded, value)[-2:]


FOLDING: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "sum": (0, lambda folded, value: folded + n_of(value)),
    "count": (0, lambda folded, value: folded + 1),
    "max": (0, lambda folded, value: max(folded, n_of(value))),
    "latest": ((), append),
}


class PlainGroup(NamedTuple):
    """A group, what a row weighs in it, and what is shown of a total."""

    empty: Any
    combine: Callable[[Any, Any], Any]
    inverse: Callable[[Any], Any]
    weigh: Callable[[Any], Any]
    show: Callable[[Any], Any] = lambda total: total


GROUPS = {
    "items": PlainGroup(Item(0, 0), plus, minus, lambda v: v),
    "count": PlainGroup(0, lambda one, other: one + other, lambda one: -one, lambda v: 1),
    "sum": PlainGroup(0, lambda one, other: one + other, lambda one: -one, lambda v: v),
    "mean": PlainGroup(
        Item(0, 0), plus, minus, lambda v: Item(1, v), lambda total: total.n / total.k if total.k else None
    ),
}


# ------------------------------------------------------------------------------------------------- what a change is


def exact(value: Any) -> str:
    """A text that is equal exactly for type-exactly equal plain values, NaN equal to itself."""
    return repr(value)


def is_same(one: Table, other: Table) -> bool:
    """Whether two tables have type-exactly equal rows."""
    return one.keys() == other.keys() and all(exact(one[key]) == exact(other[key]) for key in one)


def apply(table: Table, change: Change) -> None:
    """Make a change; to delete what is not there is none."""
    if isinstance(change, Delete):
        table.pop(change.key, None)
    else:
        table[change.key] = change.value


def difference(before: Table, after: Table) -> list[Change]:
    """The changes that lead from one table to the other, one a key."""
    gone: list[Change] = [Delete(key) for key in before if key not in after]
    fresh = [key for key in after if key not in before or exact(before[key]) != exact(after[key])]
    return [*gone, *(Update(key, after[key]) for key in fresh)]


def settle(table: Table, emitted: Iterable[Change]) -> list[Change]:
    """Apply what an operator emitted in one step to its table; return the step's real changes, one a key.

    This is all that our semantics adds to the thesis's operators: a step is a batch, so what comes and goes within
    it was never there; and a change changes something.
    """
    before: dict[Any, tuple[bool, Any]] = {}  # in order of first mention
    for change in emitted:
        before.setdefault(change.key, (change.key in table, table.get(change.key)))
        apply(table, change)
    changes: list[Change] = []
    for key, (was_there, old) in before.items():
        if key not in table:
            changes += [Delete(key)] * was_there
        elif not was_there or exact(old) != exact(table[key]):
            changes.append(Update(key, table[key]))
    return changes


# ------------------------------------------------------------------------------- the thesis's operators (SOURCES B10)


class Operator:
    """What takes the messages of its inputs, one by one, and emits others."""

    def left(self, change: Change) -> Iterator[Change]:
        """Take a message."""
        raise NotImplementedError

    def right(self, change: Change) -> Iterator[Change]:
        """Take a message of the other input; for most operators there is none."""
        raise NotImplementedError


class Passing(Operator):
    """`changelog`, `to_table`, `merge`: nothing."""

    def left(self, change: Change) -> Iterator[Change]:
        yield change

    def right(self, change: Change) -> Iterator[Change]:
        yield change


class Mapping(Operator):
    """L18: no state."""

    def __init__(self, f: Callable[[Any], Any]) -> None:
        self.f = f

    def left(self, change: Change) -> Iterator[Change]:
        yield Update(change.key, self.f(change.value)) if isinstance(change, Update) else change


class Filtering(Operator):
    """L37."""

    def __init__(self, p: Callable[[Any], Any]) -> None:
        self.p = p
        self.table: Table = {}

    def left(self, change: Change) -> Iterator[Change]:
        if isinstance(change, Update) and self.p(change.value):
            self.table[change.key] = change.value
            yield change
        elif change.key in self.table:
            del self.table[change.key]
            yield Delete(change.key)


class Joining(Operator):
    """L38 and L39; a left join is an outer join without the right one's rows."""

    def __init__(self, how: str) -> None:
        self.keeps_left = how != "inner"
        self.keeps_right = how == "outer"
        self.lefts: Table = {}
        self.rights: Table = {}

    def left(self, change: Change) -> Iterator[Change]:
        key = change.key
        if isinstance(change, Update):
            self.lefts[key] = change.value
            if key in self.rights:
                yield Update(key, (change.value, self.rights[key]))
            elif self.keeps_left:
                yield Update(key, (change.value, None))
        elif key in self.lefts:  # slip 2: what never existed is not deleted
            del self.lefts[key]
            if key in self.rights and self.keeps_right:
                yield Update(key, (None, self.rights[key]))
            elif key in self.rights or self.keeps_left:
                yield Delete(key)

    def right(self, change: Change) -> Iterator[Change]:
        key = change.key
        if isinstance(change, Update):
            self.rights[key] = change.value
            if key in self.lefts:
                yield Update(key, (self.lefts[key], change.value))
            elif self.keeps_right:
                yield Update(key, (None, change.value))
        elif key in self.rights:
            del self.rights[key]
            if key in self.lefts and self.keeps_left:
                yield Update(key, (self.lefts[key], None))
            elif key in self.lefts or self.keeps_right:
                yield Delete(key)


class ForeignJoining(Operator):
    """L40; rows are pairs, and the foreign key is a function of the left value."""

    def __init__(self, on: Callable[[Any], Any], how: str) -> None:
        self.on = on
        self.is_left = how == "left"
        self.lefts: Table = {}
        self.rights: Table = {}

    def left(self, change: Change) -> Iterator[Change]:
        had_row = change.key in self.lefts and self._has_row(self.lefts[change.key])
        if isinstance(change, Update):
            self.lefts[change.key] = change.value
            if self._has_row(change.value):
                yield Update(change.key, (change.value, self.rights.get(self.on(change.value))))
            elif had_row:  # slip 1: the row that was joined is not left as it was
                yield Delete(change.key)
        elif change.key in self.lefts:  # slip 3
            del self.lefts[change.key]
            if had_row:
                yield Delete(change.key)

    def right(self, change: Change) -> Iterator[Change]:
        if isinstance(change, Delete) and change.key not in self.rights:
            return
        apply(self.rights, change)
        for key, value in self.lefts.items():
            if self.on(value) == change.key:
                if isinstance(change, Update):
                    yield Update(key, (value, change.value))
                else:
                    yield Update(key, (value, None)) if self.is_left else Delete(key)

    def _has_row(self, value: Any) -> bool:
        return self.is_left or self.on(value) in self.rights


class Reducing(Operator):
    """L41 for each group, with a count of its rows."""

    def __init__(self, by: Callable[[Any], Any], group: str) -> None:
        self.by = by
        self.empty, self.combine, self.inverse, self.weigh, self.show = GROUPS[group]
        self.table: Table = {}
        self.totals: Table = {}
        self.counts: Table = {}

    def left(self, change: Change) -> Iterator[Change]:
        if change.key in self.table:
            old = self.table.pop(change.key)
            yield self._add(self.by(old), self.inverse(self.weigh(old)), -1)
        if isinstance(change, Update):
            self.table[change.key] = change.value
            yield self._add(self.by(change.value), self.weigh(change.value), 1)

    def _add(self, group: Any, value: Any, count: int) -> Change:
        self.totals[group] = self.combine(self.totals.get(group, self.empty), value)
        self.counts[group] = self.counts.get(group, 0) + count
        if self.counts[group]:
            return Update(group, self.show(self.totals[group]))
        del self.totals[group], self.counts[group]
        return Delete(group)


class Folding(Operator):
    """L43."""

    def __init__(self, initial: Any, f: Callable[[Any, Any], Any]) -> None:
        self.initial, self.f = initial, f
        self.table: Table = {}

    def left(self, change: Change) -> Iterator[Change]:
        if isinstance(change, Update):
            self.table[change.key] = self.f(self.table.get(change.key, self.initial), change.value)
            yield Update(change.key, self.table[change.key])
        elif change.key in self.table:
            del self.table[change.key]
            yield change


class Totalling:
    """L41 as it is: a stream of totals, one a message. `DictTotals` makes it one a step."""

    def __init__(self, group: str) -> None:
        self.empty, self.combine, self.inverse, self.weigh, self.show = GROUPS[group]
        self.total = self.empty
        self.table: Table = {}

    def left(self, change: Change) -> Iterator[Any]:
        """Take a message."""
        if isinstance(change, Update):
            old = self.weigh(self.table[change.key]) if change.key in self.table else self.empty
            self.total = self.combine(self.combine(self.total, self.inverse(old)), self.weigh(change.value))
            self.table[change.key] = change.value
            yield self.show(self.total)
        elif change.key in self.table:
            self.total = self.combine(self.total, self.inverse(self.weigh(self.table.pop(change.key))))
            yield self.show(self.total)


def operator(node: Node) -> Operator:
    """The thesis's operator for a node."""
    match node:
        case Mapped():
            return Mapping(map_function(node))
        case Filtered():
            return Filtering(predicate(node))
        case Joined():
            return Joining(node.how)
        case Foreign():
            return ForeignJoining(foreign_key(node), node.how)
        case Reduced():
            return Reducing(group_key(node), node.group)
        case Folded():
            return Folding(*FOLDING[node.kind])
    return Passing()


class DictProgram:
    """A program of the thesis's operators."""

    def __init__(self, program: Node) -> None:
        self.program = program
        self.order = in_order(program)
        self.operators = {node: operator(node) for node in self.order}
        self.tables: dict[Node, Table] = {node: {} for node in self.order}

    @property
    def table(self) -> Table:
        """The present rows."""
        return self.tables[self.program]

    def push(self, source: int, change: Change) -> list[Change]:
        """One step: every operator takes all that its inputs changed, the left one's first; return the changes."""
        changes: dict[Node, list[Change]] = {}
        for node in self.order:
            taker, emitted = self.operators[node], [change] if node == Source(source) else []
            for take, child in zip((taker.left, taker.right), children(node), strict=False):
                # What is pushed goes in as it is, were it no change: to fold an equal value again is one (B10). Only
                # what is merged has gone through a changelog, which has settled it.
                is_raw = child == Source(source) and not isinstance(node, Merged)
                for message in [change] if is_raw else changes[child]:
                    emitted += take(message)
            changes[node] = settle(self.tables[node], emitted)
        return changes[self.program]


class DictTotals:
    """The totals of a program's table: one a step in which it changed."""

    def __init__(self, program: Node, group: str) -> None:
        self.rows = DictProgram(program)
        self.operator = Totalling(group)

    def push(self, source: int, change: Change) -> list[Any]:
        """One step."""
        totals = [total for made in self.rows.push(source, change) for total in self.operator.left(made)]
        return totals[-1:]


# ---------------------------------------------------------------------------------------------------- from scratch


def from_scratch(node: Node, tables: dict[Node, Table]) -> Table:
    """The table of an operator that has no history, by comprehension from the tables of its inputs."""
    t, *others = (tables[child] for child in children(node))
    match node:
        case Mapped():
            return {key: map_function(node)(value) for key, value in t.items()}
        case Filtered():
            return {key: value for key, value in t.items() if predicate(node)(value)}
        case Joined():
            (u,) = others
            keys = {"inner": t.keys() & u.keys(), "left": t.keys(), "outer": t.keys() | u.keys()}[node.how]
            return {key: (t.get(key), u.get(key)) for key in keys}
        case Foreign():
            (u,) = others
            on = foreign_key(node)
            joined = {key: (left, right) for key, left in t.items() for k, right in u.items() if on(left) == k}
            return {key: (left, None) for key, left in t.items()} | joined if node.how == "left" else joined
        case Reduced():
            groups = {group_key(node)(value) for value in t.values()}
            members = {g: [value for value in t.values() if group_key(node)(value) == g] for g in groups}
            return {g: total_of(node.group, rows) for g, rows in members.items()}
        case Relogged():
            return dict(t)
    raise AssertionError(node)


def total_of(group: str, rows: Iterable[Any]) -> Any:
    """The total of a group that has rows, without its inverse."""
    rows = list(rows)
    if group == "items":
        return Item(sum(row.k for row in rows), sum(row.n for row in rows))
    if group == "count":
        return len(rows)
    return sum(rows) / len(rows) if group == "mean" else sum(rows)


class FromScratch:
    """Every table of a program evaluated anew at each step; folds alone have a memory, of the tables below them."""

    def __init__(self, program: Node) -> None:
        self.program = program
        self.tables: dict[Node, Table] = {node: {} for node in in_order(program)}

    def push(self, source: int, change: Change) -> Table:
        """One step; return the table of the program."""
        before, self.tables = self.tables, {}
        for node, old in before.items():  # inputs first
            new = dict(old)
            match node:
                case Source():
                    if node.number == source:
                        apply(new, change)
                case Folded():
                    is_pushed = node.of == Source(source)
                    changes = [change] if is_pushed else difference(before[node.of], self.tables[node.of])
                    initial, f = FOLDING[node.kind]
                    for each in changes:
                        if isinstance(each, Update):
                            each = Update(each.key, f(old.get(each.key, initial), each.value))  # noqa: PLW2901 - what is folded takes the place of what came
                        apply(new, each)
                case Merged():
                    for child in children(node):
                        for each in difference(before[child], self.tables[child]):
                            apply(new, each)
                case _:
                    new = from_scratch(node, self.tables)
            self.tables[node] = new
        return self.tables[self.program]


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


# ------------------------------------------------------------------------------------------------- random programs

JOINS = ("inner", "left", "outer", "foreign")
EVERY = (*JOINS, *JOINS, "map", "filter", "reduce", "fold", "relog", "merge")
IN_SQL = (*JOINS, *JOINS, "map", "filter")
OF_ONE = ("map", "filter", "reduce", "fold", "relog")

NUMBERS = st.sampled_from([0, 1, 2, 3, True, 1.0, math.nan, -math.nan])
POINTERS = st.sampled_from([0, 1, 2, 3, None, True, 1.0, math.nan])
KEYS = st.integers(0, 3)


@st.composite
def programs(draw: st.DrawFn, *, kinds: tuple[str, ...] = EVERY, n_sources: int = 3) -> Node:
    """One to four operators, each mostly of the one before; an input may well be used twice."""
    pool: list[Node] = [Source(number) for number in range(n_sources)]
    for number in range(draw(st.integers(1, 4))):
        latest = pool[-1] if number and draw(st.integers(0, 5)) else draw(st.sampled_from(pool))
        other = draw(st.sampled_from(pool))
        pool.append(draw(_nodes(draw(st.sampled_from(kinds)), latest, other)))
    return pool[-1]


@st.composite
def _nodes(draw: st.DrawFn, kind: str, one: Node, other: Node) -> Node:
    left, right = (one, other) if draw(st.booleans()) else (other, one)
    match kind:
        case "map":
            return Mapped(one, draw(st.sampled_from(MAPS)))
        case "filter":
            return Filtered(one, draw(st.sampled_from(FILTERS)))
        case "foreign":
            return Foreign(left, right, draw(st.sampled_from(["inner", "left"])))
        case "reduce" if draw(st.booleans()):
            return Reduced(Mapped(one, "whole"), draw(st.sampled_from(["sum", "count", "mean"])), "v % 2")
        case "reduce":
            by = draw(st.sampled_from(["k", "k % 2", "n % 2"]))
            return Reduced(Mapped(one, "ints"), draw(st.sampled_from(["items", "count"])), by)
        case "fold":
            return Folded(one, draw(st.sampled_from(FOLDS)))
        case "merge" if not set(sources(left)) & set(sources(right)):
            return Merged(left, right)
        case "relog" | "merge":
            return Relogged(one)
    return Joined(left, right, kind)


@st.composite
def traces(draw: st.DrawFn, program: Node, *, max_size: int = 16) -> list[Push]:
    """Pushes as (source, change): new rows, rows pushed again, deletes, also of what is not there."""
    present: dict[int, Table] = {number: {} for number in sources(program)}
    pushes: list[Push] = []
    for _ in range(draw(st.integers(0, max_size))):
        source, key = draw(st.sampled_from(sorted(present))), draw(KEYS)
        choice = draw(st.integers(0, 7))
        change: Change = Update(key, Item(draw(POINTERS), draw(NUMBERS)))
        if choice < 2:
            change = Delete(key)
        elif choice == 2 and key in present[source]:
            change = Update(key, Item(*present[source][key]))
        apply(present[source], change)
        pushes.append((source, change))
    return pushes


@st.composite
def cases(draw: st.DrawFn, /, **options: Any) -> tuple[Node, list[Push]]:
    """A program and a trace for it."""
    program = draw(programs(**options))
    return program, draw(traces(program))


# ------------------------------------------------------------------------------------------ the same, as the library's


def build(program: Node) -> tuple[dict[int, Reactive], Reactive]:
    """The inputs and the output."""
    built = build_each(program)
    return {number: built[Source(number)] for number in sources(program)}, built[program]


def build_each(program: Node) -> dict[Node, Reactive]:
    """The reactive of each node; a node that is used twice is built once."""
    built: dict[Node, Reactive] = {}
    for node in in_order(program):
        if isinstance(node, Source):
            built[node] = Reactive(f"s{node.number}", table=True)
        else:
            built[node] = _build(node, *(built[child] for child in children(node)))
    return built


def library_group(group: str) -> Any:
    """The library's group of a kind."""
    from restrictions import tables

    if group == "items":
        return tables.Group(Item(0, 0), plus, minus)
    return {"count": tables.count, "sum": tables.sum_, "mean": tables.mean}[group]


def _build(node: Node, t: Reactive, *others: Reactive) -> Reactive:
    from restrictions import streams, tables

    match node:
        case Mapped():
            made = tables.map_table(t, map_function(node))
        case Filtered():
            made = tables.filter_table(t, predicate(node))
        case Joined():
            join = {"inner": tables.inner_join, "left": tables.left_join, "outer": tables.outer_join}[node.how]
            made = join(t, *others)
        case Foreign():
            made = tables.foreign_join(t, *others, on=foreign_key(node), how=node.how)
        case Reduced():
            made = tables.reduce(t, library_group(node.group), by=group_key(node))
        case Folded():
            made = tables.combine_updates(t, *FOLDING[node.kind])
        case Relogged():
            made = tables.to_table(tables.changelog(t))
        case Merged():
            made = tables.to_table(streams.merge(*map(tables.changelog, (t, *others))))
        case _:
            raise AssertionError(node)
    result: Reactive = made
    return result
