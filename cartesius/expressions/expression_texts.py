"""Expressions as Python text: what a traced body means, as an expression over the parts of a candidate.

Operators become Python's own where no argument is null, so that they mean, and raise, what they mean there. Constants
and functions are bound names (`generated.Constants`), never text.

Source: DESIGN 4; SEMANTICS 1.15 and 1.18.
"""

from __future__ import annotations

import operator
from itertools import count
from typing import TYPE_CHECKING, Any

from cartesius.data.records import reader
from cartesius.expressions.expressions import (
    Apply,
    Constant,
    Expression,
    Field,
    Fields,
    IsMissing,
    Part,
    TimeOf,
    Tuple,
    evaluator,
    is_boolean,
)
from cartesius.expressions.nulls import (
    LOGICAL,
    PROPAGATING,
    both,
    either,
    first_there,
    is_not_null,
    is_null,
    null_aware,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.data.generated import Constants

OPERATORS = {
    operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=",
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.xor: "^",
}  # fmt: skip
"""The operators that have a sign, of two values of Python, of which the result is null if one is."""


class Operations:
    """Writes what an operation gives, of the texts of its arguments; those are computed once, from left to right.

    Args:
        constants: Where functions and values get names.
    """

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self._numbers = count()

    def all_of(self, texts: Sequence[str]) -> str:
        """Return the text that is true if all conditions are; only one that is false stops those behind it."""
        *first, last = texts
        if not first:
            return last
        names = [self._name() for _ in first]
        asked = [f"(({name} := {text}) or {name} is None)" for name, text in zip(names, first, strict=True)]
        return " and ".join((*asked, last, *names))

    def of(self, function: Callable[..., Any], given: Sequence[Expression], write: Callable[[Expression], str]) -> str:
        """Return the text of a function of what is ``given``, each of which ``write`` writes."""
        if function in LOGICAL:
            return self._logical(function, given, [write(one) for one in given])
        texts = [write(one) for one in given]
        if function in (is_null, is_not_null):
            return f"({texts[0]} {'is' if function is is_null else 'is not'} None)"
        if function is first_there:
            return self._first_there(texts)
        if function not in PROPAGATING:
            return f"{self.constants.name(null_aware(function))}({', '.join(texts)})"
        names = [None if _is_there(one) else self._name() for one in given]
        values = [text if name is None else name for text, name in zip(texts, names, strict=True)]
        found = (
            f"{values[0]} {OPERATORS[function]} {values[1]}"
            if function in OPERATORS
            else f"{self.constants.name(function)}({', '.join(values)})"
        )
        nulls = [f"({name} := {text}) is None" for name, text in zip(names, texts, strict=True) if name is not None]
        if not nulls:
            return f"({found})"
        unknown = nulls[0] if len(nulls) == 1 else " | ".join(f"({one})" for one in nulls)  # `or` would leave one out
        return f"(None if {unknown} else {found})"

    def _logical(self, function: Callable[..., Any], given: Sequence[Expression], texts: Sequence[str]) -> str:
        if not all(map(is_boolean, given)):  # of ints, for example, it is bit by bit
            meaning = self.constants.name(both if function is operator.and_ else either)
            return f"{meaning}({texts[0]}, lambda: {texts[1]})"
        one, other = self._name(), self._name()
        first, second = f"({one} := {texts[0]})", f"({other} := {texts[1]})"
        unknown = f"None if {one} is None or {other} is None else"
        if function is operator.or_:
            return f"(True if {first} or {second} else {unknown} False)"
        stops = f"not {first} and {one} is not None or not {second} and {other} is not None"
        return f"(False if {stops} else {unknown} True)"

    def _first_there(self, texts: Sequence[str]) -> str:
        names = [self._name() for _ in texts]
        asked = [f"{name} if ({name} := {text}) is not None else" for name, text in zip(names, texts, strict=True)]
        return f"({' '.join(asked)} None)"

    def _name(self) -> str:
        return f"n{next(self._numbers)}"


def _is_there(expression: Expression) -> bool:
    """Whether a value is never null, and never raises."""
    if isinstance(expression, Constant):
        return expression.value is not None
    return isinstance(expression, Field) and isinstance(expression.target, TimeOf)


class Texts:
    """Writes expressions over parts that are called ``part0``, ``part1``, … by slot index; none of them is missing.

    The names ``Record`` and ``Interval`` must be bound in the text.

    Args:
        slots: The index of each slot.
        constants: What the text names.
        called: How parts are called that have another name, by slot index.
    """

    def __init__(self, slots: Mapping[str, int], constants: Constants, called: Mapping[int, str] | None = None) -> None:
        self._slots = slots
        self._constants = constants
        self._called = called or {}
        self._operations = Operations(constants)

    def of_all(self, conditions: Sequence[Expression], known: Mapping[int, str] | None = None) -> str:
        """Return the text of whether all conditions are true; of some, by place, when that is ``known`` already."""
        texts = [self.of(one) for one in conditions]
        for place, text in (known or {}).items():
            texts[place] = f"({text} or {texts[place]})"
        return self._operations.all_of(texts)

    def of(self, expression: Expression) -> str:
        """Return the text of ``expression``."""
        match expression:
            case Constant(value=value):
                return self._constants.name(value)
            case Part(slot=slot):
                return f"{self._part(slot)}.value"
            case IsMissing():
                return "False"
            case Field(target=TimeOf(slot=slot), name="start" | "end" as name):
                return f"{self._part(slot)}.{name}"
            case Field(target=Part() as part, name=name):
                return self.field(self.of(part), name)
            case Field(target=target, name=name):
                return f"{self._constants.name(reader(name))}({self.of(target)})"
            case TimeOf(slot=slot):
                return f"Interval({self._part(slot)}.start, {self._part(slot)}.end)"
            case Apply(function=function, arguments=arguments):
                return self._operations.of(function, arguments, self.of)
            case Tuple(items=items):
                return f"({''.join(f'{self.of(item)}, ' for item in items)})"
            case Fields(names=names, items=items):
                pairs = zip(map(self._constants.quoted, names), map(self.of, items), strict=True)
                return f"{{{', '.join(f'{name}: {item}' for name, item in pairs)}}}"
        row = "".join(f"{self._name(index)}, " for index in sorted(self._slots.values()))
        return f"{self._constants.name(evaluator(expression, self._slots))}(({row}))"

    def field(self, target: str, name: str) -> str:
        """Return the text that reads a field of ``target``, which has no effect: directly, if it is a record."""
        if name.startswith("_"):  # a record has attributes of its own that are called so
            return f"{self._constants.name(reader(name))}({target})"
        quoted = self._constants.quoted(name)
        other = f"None if {target} is None else getattr({target}, {quoted})"
        return f"({target}._fields[{quoted}] if type({target}) is Record else {other})"

    def _part(self, slot: str) -> str:
        return self._name(self._slots[slot])

    def _name(self, index: int) -> str:
        return self._called.get(index, f"part{index}")
