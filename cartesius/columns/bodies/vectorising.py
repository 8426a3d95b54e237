"""Bodies as functions of columns: traced ones as generated code over vectors, all others candidate by candidate.

The code is one expression in the tokens of this module; what comes from the pattern is a bound name in it, apart from
the names of fields that are plain identifiers. Above it stands, as a comment, the pattern that it came from.

Source: DESIGN 4; SEMANTICS 1.15.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cartesius.columns.bodies.guards import indices_of, lazily
from cartesius.columns.stages.candidates import window
from cartesius.columns.stages.stored_rows import entries_of
from cartesius.columns.vectors.arithmetic import apply, truth
from cartesius.columns.vectors.conversions import of_values, repeated
from cartesius.columns.vectors.vectors import DICT, TUPLE, Leaf, NotColumnar, Struct, Vector
from cartesius.data.generated import Constants, commented, define
from cartesius.expressions.expressions import (
    Apply,
    Constant,
    Expression,
    Field,
    Fields,
    IsMissing,
    KeyOf,
    Part,
    TimeOf,
    Tuple,
    WindowOf,
    show,
)
from cartesius.expressions.nulls import LOGICAL, first_there, is_not_null, is_null

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.candidates import Parts
    from cartesius.correlations.join_shape import Join

_NAMES = {
    operator.eq: "eq", operator.ne: "ne", operator.lt: "lt", operator.le: "le", operator.gt: "gt", operator.ge: "ge",
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "truediv",
    operator.floordiv: "floordiv", operator.mod: "mod", operator.neg: "neg", operator.invert: "invert",
    operator.xor: "xor",
}  # fmt: skip


def field(vector: Vector, name: str) -> Vector:
    """Return a field of records, or of times; of null it is null."""
    if isinstance(vector, Struct) and vector.kind in ("record", "interval", "window"):
        item = vector.item(name)
        if item is not None:
            return item if vector.valid is None else item.take(indices_of(vector.valid), may_miss=True)
    if isinstance(vector, Leaf) and vector.type == pa.null():
        return vector
    reason = f"not every value has a field {name!r}"
    raise NotColumnar(reason)


def several(kind: str, names: Sequence[str], n: int, *items: Vector) -> Struct:
    """Return tuples, or dicts, of vectors."""
    return Struct(kind, names, items, n)


def of_null(vector: Vector, is_null: bool) -> Leaf:
    """Return whether each value is null, or whether it is not."""
    if isinstance(vector, Leaf):
        return Leaf(vector.array.is_null() if is_null else vector.array.is_valid())
    valid = np.ones(len(vector), np.bool_) if vector.valid is None else vector.valid
    return Leaf(pa.array(~valid if is_null else valid))


def _operation(function: Any) -> Callable[..., Vector]:
    return lambda *arguments: apply(function, *arguments)


_SCOPE: dict[str, Any] = {
    **{name: _operation(function) for function, name in _NAMES.items()},
    "call": apply,
    "constant": repeated,
    "field": field,
    "several": several,
    "is_null": lambda vector: of_null(vector, is_null=True),
    "is_not_null": lambda vector: of_null(vector, is_null=False),
    "lazily": lazily,
    "window": window,
}


class Code:
    """The text of an expression as a function ``name(n, p0, p1, …)`` of parts, and the function."""

    def __init__(self, name: str, expression: Expression, slots: Mapping[str, int]) -> None:
        self._constants = Constants()
        self._slots = slots
        self._parameters = [f"p{index}" for index in sorted(slots.values())]
        parameters = ", ".join(self._parameters)
        bound = ", ".join(f"p{index}: {commented(slot)}" for slot, index in slots.items())
        self.text = (
            f"def {name}(n, {parameters}):  # {bound}\n"
            f"    # {commented(show(expression))}\n"
            f"    return {self._code(expression)}\n"
        )
        bound_names = "".join(f"# {one} = {commented(_shown(value))}\n" for one, value in self._constants.bound.items())
        self.function = define(name, self.text, {**_SCOPE, **self._constants.bound})
        self.text = bound_names + self.text

    def _code(self, expression: Expression) -> str:
        match expression:
            case Constant(value=value):
                return f"constant({self._constants.name(value)}, n)"
            case Part(slot=slot):
                return f"{self._part(slot)}.value"
            case TimeOf(slot=slot):
                return f"{self._part(slot)}.time"
            case KeyOf(slot=slot):
                return f"{self._part(slot)}.key"
            case WindowOf():
                parts = ", ".join(f"p{index}" for index in sorted(self._slots.values()))
                return f"window({parts})"
            case Field(target=Part(slot=slot), name=name):
                return f"{self._part(slot)}.field({self._constants.quoted(name)})"
            case Field(target=TimeOf(slot=slot), name="start" | "end" as name):
                return f"{self._part(slot)}.instants({name!r})"
            case IsMissing(slot=slot):
                return f"{self._part(slot)}.is_missing"
            case Field(target=target, name=name):
                return f"field({self._code(target)}, {self._constants.quoted(name)})"
            case Apply(function=function, arguments=arguments):
                if function in LOGICAL or function is first_there:
                    return self._lazily(function, arguments)
                inner = ", ".join(map(self._code, arguments))
                if function in (is_null, is_not_null):
                    return f"{function.__name__}({inner})"
                if function in _NAMES:
                    return f"{_NAMES[function]}({inner})"
                return f"call({self._constants.name(function)}, {inner})"
            case Tuple(items=items):
                names = tuple(map(str, range(len(items))))
                return f"several({TUPLE!r}, {names!r}, n, {', '.join(map(self._code, items))})"
            case Fields(names=names, items=items) if all(isinstance(name, str) for name in names):
                inner = ", ".join(map(self._code, items))
                return f"several({DICT!r}, {self._constants.name(names)}, n, {inner})"
        raise NotColumnar(type(expression).__name__)

    def _lazily(self, function: Any, arguments: Sequence[Expression]) -> str:
        """Return the code of what asks its arguments from left to right, and the later ones only where it must."""
        parameters = ", ".join(self._parameters)
        asked = ", ".join(f"lambda n, {parameters}: {self._code(one)}" for one in arguments)
        return f"lazily({self._constants.name(function)}, n, ({parameters},), {asked})"

    def _part(self, slot: str) -> str:
        return f"p{self._slots[slot]}"


def _shown(value: Any) -> str:
    return getattr(value, "__qualname__", None) or repr(value)


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
                asked = [one for one in pattern.conditions() if one not in without]
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
            return truth(lazily(operator.and_, n, parts, *[code.function for code in self._conditions]))
        return np.array([bool(value) for value in self._one_by_one(self._where, parts)], np.bool_)

    def values(self, parts: Sequence[Parts]) -> tuple[Vector, NDArray[np.int64] | None]:
        """Return what candidates yield, and how many values each; None: one each."""
        if self._produce is not None:
            return self._produce.function(len(parts[0]), *parts), None
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
            reason = f"a body raises {type(error).__name__}"
            raise NotColumnar(reason) from error


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
    lines += [f"where {show(condition)}" for condition in pattern.conditions()]
    if not pattern.is_where_traced and not pattern.has_traced_where:
        lines.append("the body is asked candidate by candidate")
    elif isinstance(pattern.yields, Expression):
        lines.append(f"yields {show(pattern.yields)}")
    lines.append(f"kernel {functions}")
    return "".join(f"# {commented(line)}\n" for line in lines)
