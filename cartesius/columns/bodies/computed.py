"""Computed columns: the keys of events, the sides of equalities, and predicates, of all rows of a slot at once.

A key that is null, or a number that is none, is one key of its own, under which restrictions have a copy as under any
other, but under which nothing meets.

Invariant: codes are equal where the values are equal in Python's sense.

Source: SEMANTICS 1.4 and 1.13.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from cartesius.columns.bodies.column_texts import Code
from cartesius.columns.stages.candidates import whole
from cartesius.columns.vectors.calling import value_by_value
from cartesius.columns.vectors.key_codes import any_nan
from cartesius.columns.vectors.lanes import holds
from cartesius.columns.vectors.vectors import TUPLE, Leaf, NotColumnar, Struct
from cartesius.expressions.expressions import KeyOf, children
from cartesius.expressions.tracing import of_payload
from cartesius.language.lists import equality_of
from cartesius.plan.nodes import KeyBy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.expressions.expressions import Expression
    from cartesius.language.families import Slot

    Column: TypeAlias = "Callable[[Rows], Vector]"
    _Node: TypeAlias = "tuple[int, int]"  # a slot, and the position of a value of it


def of_expression(expression: Expression, slot: Slot, key: Column | None = None) -> Column:
    """Return what computes an expression of one slot; `NotColumnar` if there is no code for it."""
    code = Code("computed", expression, {slot.name: 0})
    needs_key = _mentions_key(expression) and key is not None

    def column(rows: Rows) -> Vector:
        if not len(rows):  # of which no fields are known
            return Leaf(pa.nulls(0))
        return code.values(len(rows), whole(rows, key(rows) if needs_key and key is not None else None))

    return column


def of_function(function: str | Callable[[Any], Any], slot: Slot) -> Column:
    """Return what computes a function of the payload, or a field of it."""
    call: Callable[[Any], Any] = attrgetter(function) if isinstance(function, str) else function
    expression = of_payload(function, slot.name)
    if expression is not None:
        try:
            return of_expression(expression, slot)
        except NotColumnar:
            pass
    return lambda rows: once(call, rows.payload)


def once(function: Callable[[Any], Any], payload: Vector) -> Vector:
    """Call a function for each row, once however often that is asked: what it gives is noted with the values."""
    noted = _noted(payload)
    if id(function) not in noted:
        noted[id(function)] = function, value_by_value(function, payload)
    return noted[id(function)][1]


def _noted(payload: Vector) -> dict[int, tuple[Callable[[Any], Any], Vector]]:
    """Return what functions gave for values, by the identity of each, which is its own as long as it is here."""
    found: dict[int, tuple[Callable[[Any], Any], Vector]] = vars(payload).setdefault("noted", {})
    return found


def taken(rows: Rows, places: Indices) -> Rows:
    """Return the rows at some places, with what functions gave for them."""
    found, noted = rows.take(places), _noted(rows.payload)
    _noted(found.payload).update({key: (function, one.take(places)) for key, (function, one) in noted.items()})
    return found


def of_predicates(predicates: Sequence[Column], rows: Rows) -> NDArray[np.bool_] | None:
    """Return which rows satisfy all predicates; None if there are no predicates."""
    found: NDArray[np.bool_] | None = None
    for predicate in predicates:
        mine = holds(predicate(rows), len(rows))
        found = mine if found is None else found & mine
    return found


def _mentions_key(expression: Expression) -> bool:
    return isinstance(expression, KeyOf) or any(map(_mentions_key, children(expression)))


@attrs.frozen(eq=False)
class Equals:
    """Values of some slots that are equal in each candidate.

    Args:
        columns: What computes the value, by slot.
        space: The key space that it is; None: it is said by ``where``.
        skips_null: Whether None equals nothing.
    """

    columns: Mapping[int, Column]
    space: int | None
    skips_null: bool


class Keys:
    """The key spaces of a correlation, and the equalities between its slots."""

    def __init__(self, join: Join) -> None:
        self.join = join
        opened = iter([node.keys for one in join.installed for node in one.nodes if isinstance(node, KeyBy)])
        self.spaces: list[dict[int, Column]] = []
        for number, space in enumerate(join.bindings.spaces):
            if number == join.bindings.window_space:  # it comes with the event
                self.spaces.append(dict.fromkeys(space, _when))
                continue
            by_slot: dict[int, Column] = {}
            for name, key in next(opened).items():
                for slot in join.slots:
                    if slot.index in space and name in (slot.name, slot.reactive, slot.reactive.name):
                        by_slot.setdefault(slot.index, of_function(key, slot))
            self.spaces.append(by_slot)

    def in_space(self, space: int, slot: int, rows: Rows) -> Vector:
        """Return the keys of rows in a key space; what is no key is None."""
        return _without_nan(self.spaces[space][slot](rows))

    def column(self, space: int, slot: int) -> Column:
        """Return what computes the keys of rows of a slot in a key space."""
        return lambda rows: self.in_space(space, slot, rows)

    def in_spaces(self, spaces: Sequence[int], slot: int, rows: Rows) -> Vector:
        """Return the keys of rows in some key spaces together."""
        if len(spaces) == 1:
            return self.in_space(spaces[0], slot, rows)
        keys = [self.in_space(space, slot, rows) for space in spaces]
        if any(key.valid is not None for key in keys):
            raise NotColumnar("an event in a window has no key")
        return Struct(TUPLE, tuple(map(str, range(len(keys)))), keys, len(rows))

    def own(self, slot: int) -> Column | None:
        """Return what computes the key of an event of a slot, as a body sees it; None: it has none."""
        spaces = [number for number, by_slot in enumerate(self.spaces) if slot in by_slot]
        if not spaces:
            return None
        space = next((number for number in spaces if number != self.join.bindings.window_space), None)
        return _window if space is None else self.column(space, slot)

    def check(self, slot: int, rows: Rows) -> None:
        """Compute the keys of rows that go no further, as an error of theirs would be raised at the door."""
        for by_slot in self.spaces:
            if slot in by_slot:
                by_slot[slot](rows)

    def try_out(self, rows: Mapping[int, Rows]) -> None:
        """Compute what is equated of rows that meet nothing: an error in it is one whoever is there."""
        for (slot, _), column in self._columns()[0].items():
            if slot in rows:
                column(rows[slot])

    def components(self) -> list[Equals] | str:
        """Return the equalities, all of which all slots are in, or why they are not all of that kind."""
        found = self.equalities()
        if any(len(one.columns) < len(self.join.slots) for one in found):
            return "its equalities do not give all slots one key"
        return found

    def equalities(self) -> list[Equals]:
        """Return the equalities, those of one value taken together; of two slots, or of one with itself, each alone."""
        columns, same = self._columns()
        links = [
            (same[link.left, link.left_position], same[link.right, link.right_position], link.skips_null)
            for link in self.join.bindings.links
        ]
        alone = [sorted((left, right)) for left, right, _ in links]
        together = alone if len(self.join.slots) == 2 else _classes([(left, right) for left, right, _ in links])
        if any(len({slot for slot, _ in nodes}) < len(nodes) for nodes in together):
            together = alone
        skipping = {node for left, right, skips in links for node in (left, right) if skips}
        return [
            Equals(
                {node[0]: columns[node] for node in nodes},
                nodes[0][1] if nodes[0][1] < len(self.spaces) else None,
                any(node in skipping for node in nodes),
            )
            for nodes in together
        ]

    def _columns(self) -> tuple[dict[_Node, Column], dict[_Node, _Node]]:
        """Return what computes each value that a link compares, by slot and position; and which are the same."""
        found: dict[_Node, Column] = {}
        for number, by_slot in enumerate(self.spaces):
            found.update({(slot, number): self.column(number, slot) for slot in by_slot})
        same = {node: node for node in found}
        slots = {slot.name: slot for slot in self.join.slots}
        seen: dict[int, list[Expression]] = {slot.index: [] for slot in self.join.slots}
        for pair in self.join.pattern.equalities:
            for name, side in pair:
                slot = slots[name]
                sides = seen[slot.index]
                node = (slot.index, len(self.spaces) + len(sides))
                same[node] = (slot.index, len(self.spaces) + (sides.index(side) if side in sides else len(sides)))
                found[node] = of_expression(side, slot, self.own(slot.index))
                sides.append(side)
        return found, same


def _classes(links: Sequence[tuple[_Node, _Node]]) -> list[list[_Node]]:
    """Return what is linked, directly or by others, in classes."""
    classes: list[list[_Node]] = []
    for link in links:
        touched = [one for one in classes if any(node in one for node in link)]
        classes = [one for one in classes if one not in touched]
        classes.append(sorted({*link, *[node for one in touched for node in one]}))
    return classes


def _window(rows: Rows) -> Vector:
    return Leaf(pa.nulls(0)) if rows.window is None else rows.window


def _when(rows: Rows) -> Vector:
    """Return when the window of each row begins, which tells it from all others."""
    start = None if rows.window is None else rows.window.item("start")
    return Leaf(pa.nulls(0)) if start is None else start


def linking(join: Join) -> list[Expression]:
    """Return the conditions of a traced ``where`` that hold of all candidates by their links."""
    pattern = join.pattern
    return [one for one in pattern.conditions if equality_of(one, pattern.lists) is not None]


def _without_nan(vector: Vector) -> Vector:
    """Return keys with None for what is no number: it is no key either."""
    if isinstance(vector, Leaf) and any_nan(vector):
        array = vector.array
        return Leaf(pc.if_else(pc.fill_null(pc.is_nan(array), fill_value=False), pa.scalar(None, array.type), array))
    return vector
