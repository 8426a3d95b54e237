"""Bodies as functions of columns: traced ones as generated code over vectors, all others candidate by candidate.

So are forms of one row, computed for many at once: what a link by a computed value leads to.

Source: DESIGN 4; SEMANTICS 1.15; `missing_values`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from cartesius.columns.bodies.column_texts import Code, code_of
from cartesius.columns.bodies.guards import lazily
from cartesius.columns.bodies.linked import Linked
from cartesius.columns.stages.rows import Rows
from cartesius.columns.stages.stored_rows import entries_of
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.lanes import holds, vector_of
from cartesius.columns.vectors.vectors import RECORD, NotColumnar, Struct
from cartesius.data.generated import commented
from cartesius.expressions.expressions import Expression, show, slots_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.candidates import Parts
    from cartesius.columns.vectors.vectors import Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.expressions.missing_values import Form


class ColumnarBody:
    """Where and yields of a correlation as functions of the parts of many candidates.

    Args:
        join: The correlation; its ``where`` counts the equalities that links are as well.
        without: Conditions of a traced ``where`` that hold of all candidates anyway.
    """

    def __init__(self, join: Join, without: Sequence[Expression] = ()) -> None:
        pattern = join.pattern
        self.join = join
        self.slots = {slot.name: slot.index for slot in join.slots}
        self._where, self._yields = join.batch.body.where, join.batch.body.yields
        self.codes: list[Code] = []
        self._conditions: list[Code] | None = None
        self._produce: Code | None = None
        if join.bindings.shown is not None:
            return
        try:
            if pattern.is_where_traced or pattern.has_traced_where:
                asked = [one for one in pattern.conditions if one not in without]
                self._conditions = [Code(f"condition_{n}", one, self.slots) for n, one in enumerate(asked)]
        except NotColumnar:
            self._conditions = None
        try:
            if isinstance(pattern.yields, Expression):
                self._produce = Code("yields", pattern.yields, self.slots)
        except NotColumnar:
            self._produce = None
        self.codes = [*(self._conditions or ()), *([self._produce] if self._produce else [])]

    @property
    def has_condition(self) -> bool:
        """Whether some candidates may fail."""
        return self._where is not None and self._conditions != []

    def holds(self, parts: Sequence[Parts]) -> NDArray[np.bool_]:
        """Return which candidates satisfy the condition."""
        n = len(parts[0])
        if self._where is None or self._conditions == []:
            return np.ones(n, np.bool_)
        if self._conditions is not None:
            return holds(lazily(operator.and_, n, parts, *[code.function for code in self._conditions]), n)
        return np.array([bool(value) for value in self._one_by_one(self._where, parts)], np.bool_)

    def values(self, parts: Sequence[Parts]) -> tuple[Vector, NDArray[np.int64] | None]:
        """Return what candidates yield, and how many values each; None: one each."""
        if self._produce is not None:
            return self._produce.values(len(parts[0]), *parts), None
        yielded = self._one_by_one(self._yields, parts)
        counts = np.array([len(values) for values in yielded], np.int64)
        vector = of_values([value for values in yielded for value in values])
        return vector, None if (counts == 1).all() else counts

    def objects(self, parts: Sequence[Parts]) -> list[Any]:
        """Return the list of the values that each candidate yields, which may be of any kind."""
        return self._one_by_one(self._yields, parts)

    def _one_by_one(self, function: Callable[[Any], Any], parts: Sequence[Parts]) -> list[Any]:
        columns = []
        for slot, part in zip(self.join.slots, parts, strict=True):
            used, places = np.unique(part.indices, return_inverse=True)
            is_missing = len(used) > 0 and used[0] < 0
            entries: list[Any] = entries_of(self.join, slot, part.rows.take(used[1:] if is_missing else used))
            entries = [None, *entries] if is_missing else entries
            columns.append([entries[place] for place in places.tolist()])
        try:
            return [function(list(row)) for row in zip(*columns, strict=True)]
        except Exception as error:
            raise NotColumnar(f"a body raises {type(error).__name__}") from error


def heading(join: Join, functions: str) -> str:
    """Return the pattern of a correlation as a comment.

    Args:
        join: The correlation.
        functions: The functions that its kernel runs, in their order.
    """
    pattern = join.pattern
    slots = ", ".join(f"{slot.name}={slot.reactive.name}" for slot in join.slots)
    restrictions = " | ".join(repr(one.restriction) for one in join.installed)
    lines = [f"{join.name}: {slots}", f"restrict {restrictions}" if restrictions else "unrestricted"]
    lines += [f"where {show(condition)}" for condition in pattern.conditions]
    if not pattern.is_where_traced and not pattern.has_traced_where:
        lines.append("the body is asked candidate by candidate")
    elif isinstance(pattern.yields, Expression):
        lines.append(f"yields {show(pattern.yields)}")
    lines.append(f"kernel {functions}")
    return "".join(f"# {commented(line)}\n" for line in lines)


def column_of(form: Form, fields: Sequence[str], columns: Sequence[Vector]) -> Vector | None:
    """Return the values of a form of rows that have these fields, None if columns cannot compute them.

    Args:
        form: What is computed, of the rows of one slot; the same object for the same form.
        fields: The names of the fields.
        columns: Their values, at least one.
    """
    n = len(columns[0])
    never = np.zeros(n, np.int64)
    rows = Rows(Struct(RECORD, fields, columns, n), never, never, never, never, never)
    try:
        return vector_of(code_of(form, tuple(slots_of(form.value))).value(n, Linked(rows)), n)
    except NotColumnar:
        return None
