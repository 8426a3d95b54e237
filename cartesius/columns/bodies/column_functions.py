"""What the functions in expressions mean over columns: the one table of it, and what else texts over columns name.

A prediction is what is valid at an instant, of held rows that have timelines: objects with `segments`, that is
instants, in order, and what is valid from each on, or None. Each prediction that is found is in the pool once.

A verdict has a place for each reason there could be, of which most are nowhere given: they are absent structs, None
many times, with fields whose types are known, and no memory until somebody looks at them.

Source: DESIGN 4 and 6; `missing_values`, `made_values`, `nulls`.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from cartesius.columns.bodies.guards import lazily
from cartesius.columns.bodies.linked import Linked
from cartesius.columns.stages.candidates import window
from cartesius.columns.stages.held import Held
from cartesius.columns.stages.rows import no_rows
from cartesius.columns.vectors import lanes, making
from cartesius.columns.vectors.arithmetic import apply, lifted
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.lanes import Lane, holds, lane, placed, vector_of
from cartesius.columns.vectors.vectors import MISSING, Leaf, NotColumnar, Struct
from cartesius.expressions import made_values as mk
from cartesius.expressions import missing_values as mv
from cartesius.expressions.nulls import COMPARISONS, is_not_null, is_null

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from cartesius.columns.vectors.lanes import Given
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.expressions.missing_values import Observed


class Absent(Struct):
    """Nothing, in the fields and types of another struct.

    Args:
        like: That struct.
        length: How many times.
    """

    def __init__(self, like: Struct, length: int) -> None:
        self.kind = like.kind
        self.names = like.names
        self.length = length
        self.valid = np.zeros(length, np.bool_)
        self._like = like

    def __getattr__(self, name: str) -> Any:
        """Return the items, which are made when they are first asked for."""
        if name != "items":
            raise AttributeError(name)
        self.items = tuple([_nothing(item, self.length) for item in self._like.items])
        return self.items

    @property
    def is_absent(self) -> bool:
        """Yes."""
        return True

    def take(self, indices: Indices, *, may_miss: bool = False) -> Self:
        """Return as many as there are ``indices``."""
        del may_miss
        return type(self)(self._like, len(indices))

    def slice(self, first: int, last: int) -> Self:
        """Return those from ``first`` up to ``last``."""
        return type(self)(self._like, last - first)


def _nothing(vector: Vector, n: int) -> Vector:
    """Return ``n`` times nothing, in the fields and types of ``vector``."""
    return Leaf(_nulls(vector.type, n), vector.kind) if isinstance(vector, Leaf) else Absent(vector, n)


def _nulls(kind: pa.DataType, n: int) -> pa.Array:
    """Return nulls in memory that is not written to, where the type has one width."""
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return pa.nulls(n, kind)
    nothing = pa.py_buffer(np.zeros(n * kind.bit_width // 8, np.uint8))
    return pa.Array.from_buffers(kind, n, [nothing, nothing], null_count=n)


class Predicted(Linked):
    """The predictions that are valid in each of many combinations, out of a pool."""

    def __init__(self, pool: list[Any], indices: Indices) -> None:
        super().__init__(no_rows(), indices)
        self.pool = pool

    def chosen(self, places: Indices | NDArray[np.bool_]) -> Predicted:
        """Return those of some combinations."""
        return Predicted(self.pool, self.indices[places])

    def item(self, function: Observed) -> Vector | None:
        """Return the values of a field."""
        field = function.field
        if not self.pool or (function.is_optional and not any(field in one for one in self.pool)):
            return None
        if not function.is_optional and any(field not in one for one in self.pool):
            raise NotColumnar(f"predictions have no field {field!r}")
        values = of_values([one.get(field, None) for one in self.pool])
        return values.take(self.indices, may_miss=True)


def valid_at(part: Linked, field: str, given: Lane) -> Predicted:
    """Return what is valid at the instants that are ``given``, in the timelines in a field of held rows."""
    found = np.full(len(part), MISSING, np.int64)
    if not len(part.rows) or given.values is None:
        return Predicted([], found)
    payload = part.rows.payload
    if not isinstance(payload, Held) or given.whole is not None or np.asarray(given.values).dtype.kind != "i":
        raise NotColumnar("what is looked up is no instant, or has no timeline")
    indices, there = part.indices, part.indices != MISSING
    if given.valid is not None:
        there &= given.valid
    places = np.flatnonzero(there)
    places = places[np.argsort(indices[places], kind="stable")]
    instants, rows = np.broadcast_to(given.values, (len(part),))[places], indices[places]
    pool: list[Any] = []
    if not len(places):
        return Predicted(pool, found)
    known: dict[int, int] = {}
    begins = np.flatnonzero(np.diff(rows, prepend=MISSING))
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(rows)], strict=True):
        times, valid = payload.values[rows[begin]][field].segments
        if not times:
            continue
        numbers = np.array([_number(one, pool, known) for one in valid] + [MISSING], np.int64)  # the last: before all
        segment = np.searchsorted(np.array(times, np.int64), instants[begin:end], side="right") - 1
        found[places[begin:end]] = numbers[segment]
    return Predicted(pool, found)


def _number(one: Any, pool: list[Any], known: dict[int, int]) -> int:
    if one is None:
        return MISSING
    number = known.setdefault(id(one), len(pool))  # the timelines keep them all, so that identities are not used again
    if number == len(pool):
        pool.append(one)
    return number


FUNCTIONS: Final[dict[Any, Callable[..., Any]]] = {
    **{
        one: partial(apply, one)
        for one in (
            *COMPARISONS, operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
            operator.neg, operator.invert, operator.xor,
        )
    },
    mv.both: lanes.both, mv.either: lanes.either, mv.opposite: lanes.opposite, mv.is_true: lanes.is_true,
    mv.is_missing: lanes.is_missing, mv.is_there: lanes.is_there, mv.first_known: lanes.first_known,
    is_null: lanes.is_missing, is_not_null: lanes.is_there,
}  # fmt: skip
"""What functions of values mean, of columns; any other is called row by row."""


def _made(function: Any, n: int, *items: Given) -> Struct:
    return making.made(function, n, [vector_of(item, n) for item in items])


def _first_case(function: mk.FirstCase, n: int, *conditions: Given) -> Vector:
    """Return the text of the first condition that holds, the last where none does."""
    codes = np.full(n, len(function.values) - 1, np.int8)
    for place in reversed(range(len(function.values) - 1)):
        codes[holds(conditions[place], n)] = place
    return Leaf(pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(function.values)).dictionary_decode())


def _noted(function: mk.Noted, n: int, given: Given) -> Leaf:
    leaf = vector_of(given, n)
    assert isinstance(leaf, Leaf)  # Invariant: notes are of numbers
    return making.noted(function, leaf)


MAKERS: Final[dict[type, Callable[..., Any]]] = {
    **dict.fromkeys((mk.Made, mk.Present, mk.Chained, mk.Labelled), _made),
    mk.Names: lambda function, n, *masks: making.named(function, n, [holds(mask, n) for mask in masks]),
    mk.FirstCase: _first_case,
    mk.Noted: _noted,
}
"""What makes values of a kind, of what is made, of how many rows there are, and of columns."""


def _field(given: Given, name: str) -> Given:
    """Return a field of records, or of times; of null it is null."""
    one = lane(given)
    if one.values is None:
        return one
    if isinstance(one.values, Struct) and one.values.kind in ("record", "interval", "window"):
        item = one.values.item(name)
        if item is not None:
            there = one.valid
            return item if there is None else item.take(np.where(there, np.arange(len(there)), MISSING), may_miss=True)
    raise NotColumnar(f"not every value has a field {name!r}")


def scope() -> dict[str, Any]:
    """Return what names mean in a text over columns: functions by their own names, and those that texts need."""
    return {**_SCOPE, "only_if": _MadeWhere()}


_FEW: Final = 8
"""What is made in less than one row of this many is made for those alone."""


class _MadeWhere:
    """Makes values where a condition holds; remembers how they look, for where it never does."""

    def __init__(self) -> None:
        self._seen: dict[Callable[..., Vector], Struct] = {}

    def __call__(self, condition: Given, make: Callable[..., Vector], n: int, *parts: Any) -> Vector:
        """Return what ``make`` gives for ``n`` rows of ``parts``, None where the condition does not hold."""
        mask = holds(condition, n)
        count = int(np.count_nonzero(mask))
        if not count and make in self._seen:
            return Absent(self._seen[make], n)
        if not n or count * _FEW > n:
            vector = self._made(make, n, parts)
            return Struct(vector.kind, vector.names, vector.items, n, None if count == n else mask)
        there = np.flatnonzero(mask) if count else np.zeros(1, np.int64)
        vector = self._made(make, len(there), [part.chosen(there) for part in parts])
        return placed(vector, there, n) if count else Absent(vector, n)

    def _made(self, make: Callable[..., Vector], n: int, parts: Sequence[Any]) -> Struct:
        vector = make(n, *parts)
        assert isinstance(vector, Struct)  # Invariant: what is made has fields
        if make not in self._seen:
            self._seen[make] = vector.slice(0, 0)
        return vector


_SCOPE: Final[dict[str, Any]] = {
    **{one.__name__: meaning for one, meaning in (*FUNCTIONS.items(), *MAKERS.items())},
    "Lane": Lane,
    "call": apply,
    "constant": making.constant,
    "field": _field,
    "lazily": lazily,
    "lifted": lifted,
    "several": lambda kind, names, n, *items: Struct(kind, names, [vector_of(item, n) for item in items], n),
    "valid_at": lambda part, name, at: valid_at(part, name, lane(at)),
    "where_there": lanes.where_there,
    "window": window,
}
