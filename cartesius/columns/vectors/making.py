"""Made values: objects of registered classes, and the tuples in them, as structs whose fields can be read as columns.

A constant takes no room: it is a column of nulls whose metadata say what it stands for. The kind of a struct, or leaf,
says in its metadata how its values are made again.

Invariant: a vector made here stands for what its function of `made_values` gives.

Source: DESIGN 4; Arrow's columnar format (nested layouts, metadata of fields).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cartesius.columns.vectors.vectors import Leaf, Struct
from cartesius.data.codec import registered_name, text_of
from cartesius.expressions.made_values import Labelled, Made, Present

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Vector
    from cartesius.expressions.made_values import Chained, Names, Noted


def constant_kind(value: Any) -> str:
    """Return the kind of a column of nulls that stands for one value of plain data."""
    return "constant " + text_of(value)


def constant(kind: str, n: int) -> Leaf:
    """Return a vector of one value, ``n`` times; of `constant_kind`."""
    return Leaf(pa.nulls(n), kind)


def made(function: Made | Present | Chained | Labelled, n: int, items: Sequence[Vector]) -> Struct:
    """Return objects, or tuples, of their parts."""
    match function:
        case Made(kind=kind):
            return Struct("made " + registered_name(kind), function.names, items, n)
        case Labelled(labels=labels):
            names, notes = [label for label, _ in labels], [note for _, note in labels]
            return Struct("labelled " + json.dumps(notes), names, items, n)
    return Struct("present" if isinstance(function, Present) else "chained", function.names, items, n)


def named(function: Names, n: int, masks: Sequence[NDArray[Any]]) -> Struct:
    """Return tuples of the names of what holds."""
    fields = [name if name not in function.names[:n] else f"{name} ({n + 1})" for n, name in enumerate(function.names)]
    items = [Leaf(pa.array(mask)) for mask in masks]
    return Struct("names " + json.dumps(function.names), fields, items, n)


def noted(function: Noted, leaf: Leaf) -> Leaf:
    """Return values with a note."""
    return Leaf(leaf.array, "noted " + json.dumps(function.note))
