"""Expressions as Python text: what a traced body means, as an expression over the parts of a candidate.

Operators become Python's own, so that they mean, and raise, what they mean there. Constants and functions are bound
names (`generated.Constants`), never text.

Source: DESIGN 4; SEMANTICS 1.15.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from cartesius.expressions import Apply, Constant, Expression, Field, Fields, Part, TimeOf, Tuple, evaluator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.generated import Constants

OPERATORS = {
    operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=",
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.and_: "&", operator.or_: "|", operator.xor: "^",
}  # fmt: skip
"""The operators that have a sign, of two values of Python."""


class Texts:
    """Writes expressions over parts that are called ``part0``, ``part1``, … by slot index.

    The names ``Record`` and ``Interval`` must be bound in the text.
    """

    def __init__(self, slots: Mapping[str, int], constants: Constants) -> None:
        self._slots = slots
        self._constants = constants

    def of(self, expression: Expression) -> str:
        """Return the text of ``expression``."""
        match expression:
            case Constant(value=value):
                return self._constants.name(value)
            case Part(slot=slot):
                return f"{self._part(slot)}.value"
            case Field(target=TimeOf(slot=slot), name="start" | "end" as name):
                return f"{self._part(slot)}.{name}"
            case Field(target=Part() as part, name=name):
                return self.field(self.of(part), name)
            case Field(target=target, name=name):
                return f"getattr({self.of(target)}, {self._constants.quoted(name)})"
            case TimeOf(slot=slot):
                return f"Interval({self._part(slot)}.start, {self._part(slot)}.end)"
            case Apply(function=function, arguments=(one, two)) if function in OPERATORS:
                return f"({self.of(one)} {OPERATORS[function]} {self.of(two)})"
            case Apply(function=function, arguments=arguments):
                return f"{self._constants.name(function)}({', '.join(map(self.of, arguments))})"
            case Tuple(items=items):
                return f"({''.join(f'{self.of(item)}, ' for item in items)})"
            case Fields(names=names, items=items):
                pairs = zip(map(self._constants.quoted, names), map(self.of, items), strict=True)
                return f"{{{', '.join(f'{name}: {item}' for name, item in pairs)}}}"
        row = "".join(f"part{index}, " for index in sorted(self._slots.values()))
        return f"{self._constants.name(evaluator(expression, self._slots))}(({row}))"

    def field(self, target: str, name: str) -> str:
        """Return the text that reads a field of ``target``, which has no effect: directly, if it is a record."""
        quoted = self._constants.quoted(name)
        if name.startswith("_"):  # a record has attributes of its own that are called so
            return f"getattr({target}, {quoted})"
        return f"({target}._fields[{quoted}] if type({target}) is Record else getattr({target}, {quoted}))"

    def _part(self, slot: str) -> str:
        return f"part{self._slots[slot]}"
