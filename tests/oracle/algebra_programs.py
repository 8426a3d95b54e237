"""The programs of the algebra of keyed tables, as trees, and the functions that they pass (SOURCES B7; SEMANTICS 2).

Of each function there is the text, for a database, and what it computes. Written without reading the implementation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from cartesius import Delete, Update, storable

if TYPE_CHECKING:
    from collections.abc import Callable


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
