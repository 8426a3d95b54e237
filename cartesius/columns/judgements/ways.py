"""Ways: how the rows that a row is linked to are found, by keys; and keys as codes.

Invariant: the ways of a correlation come after those that they start from; the first slot is where all begin.

Source: DESIGN 4 (foreign keys and chains).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columns.bodies.phasing import seen_phases
from cartesius.columns.stages.held import collected
from cartesius.columns.vectors.arithmetic import apply
from cartesius.columns.vectors.conversions import repeated
from cartesius.columns.vectors.key_codes import encoded
from cartesius.columns.vectors.lanes import vector_of
from cartesius.columns.vectors.vectors import NotColumnar, Struct
from cartesius.expressions.expressions import Apply, Constant, Field, KeyOf, Part, equality, show

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.expressions.expressions import Expression
    from cartesius.language.families import Slot


@attrs.frozen
class Way:
    """How the row of a slot is found: its key equals a value of the row of another; None: it is the only one."""

    slot: int
    origin: int
    value: Expression | None


def ways_of(join: Join, conditions: Sequence[Expression], lone: Collection[str] = ()) -> list[Way] | str:
    """Return how each slot but the first is found, each after its origin, or why they are not found so.

    Args:
        join: The correlation.
        conditions: What finds them.
        lone: The slots of which there is one row.
    """
    index = {slot.name: slot.index for slot in join.slots}
    links: dict[int, tuple[int, Expression]] = {}
    for condition in conditions:
        both = equality(condition)
        if both is None:
            return f"{show(condition)} is no link by a key"
        sides = [(index[slot], side) for slot, side in both]
        ends = [(one, other) for one, other in (sides, sides[::-1]) if _is_key(join, *one) and one[0] not in links]
        end = next((end for end in ends if end[0][0] != 0), None)
        if end is None:
            return f"{show(condition)} leads to no key"
        (slot, _), (origin, value) = end
        links[slot] = (origin, value)
    ways: list[Way] = []
    reached = {0}
    waiting = [slot.index for slot in join.slots[1:]]
    while waiting:
        found = next((one for one in waiting if one not in links or links[one][0] in reached), None)
        if found is None:
            return "its links form no tree"
        if found not in links:
            if key_of(join.slots[found]) is not None and join.slots[found].name not in lone:
                return f"no link leads to {join.slots[found].name!r}"
            ways.append(Way(found, 0, None))
        else:
            ways.append(Way(found, *links[found]))
        reached.add(found)
        waiting.remove(found)
    return ways


def key_of(slot: Slot) -> object:
    """Return the field that has the key of the rows of a slot, None if there is one row."""
    found = seen_phases(slot) or collected(slot)
    return slot.reactive.key if found is None else found.key


def _is_key(join: Join, slot: int, side: Expression) -> bool:
    """Whether a side of an equality is the key of the rows of a slot."""
    key = key_of(join.slots[slot])
    return isinstance(side, KeyOf) or (isinstance(side, Field) and isinstance(side.target, Part) and side.name == key)


@attrs.frozen(eq=False)
class Codes:
    """The keys of tables as codes, and what leads to them.

    Args:
        own: Of each table the codes of its rows' keys.
        counts: Of each table, below what they are.
        sought: Of each slot but the first the codes that the rows of its origin lead to.
    """

    own: list[Indices]
    counts: list[int]
    sought: dict[int, Indices]


def codes_of(ways: Sequence[Way], tables: Sequence[Rows | None]) -> Codes:
    """Return the keys of tables, of which the first is the subject's, as codes."""
    none = np.zeros(0, np.int64)
    own: list[Indices] = [none] * len(tables)
    counts = [1] * len(tables)
    sought: dict[int, Indices] = {}
    way_to = {way.slot: way for way in ways}
    for slot, table in enumerate(tables):
        way = way_to.get(slot)
        origin = None if way is None else tables[way.origin]
        if table is None or table.key is None:
            if way is not None and isinstance(way.value, Apply) and origin is not None:
                value_of(way.value, origin)  # which may raise, also where there is nothing to be found
            sought[slot] = none
        elif way is None:
            (own[slot],), counts[slot] = encoded([[table.key]], skips_null=False)
        elif way.value is None:
            own[slot] = np.zeros(len(table), np.int64)
            sought[slot] = np.zeros(0 if origin is None else len(origin), np.int64)
        elif origin is None:
            (own[slot],), counts[slot] = encoded([[table.key]], skips_null=True)
            sought[slot] = none
        else:
            value = value_of(way.value, origin)
            (own[slot], sought[slot]), counts[slot] = encoded([[table.key], [value]], skips_null=True)
    return Codes(own, counts, sought)


def value_of(expression: Expression, rows: Rows) -> Vector:
    """Return what rows lead to by the value of a way."""
    match expression:
        case KeyOf():
            assert rows.key is not None  # Invariant: it is a table
            return rows.key
        case Field(target=Part(), name=name):
            item = rows.payload.item(name) if isinstance(rows.payload, Struct) else None
            if item is None:
                raise NotColumnar(f"rows have no field {name!r}")
            return item
        case Part():
            return rows.payload
        case Constant(value=value):
            return repeated(value, len(rows))
        case Apply(function=function, arguments=arguments):
            return vector_of(apply(function, *[value_of(one, rows) for one in arguments]), len(rows))
    raise NotColumnar(f"a link to {show(expression)}")
