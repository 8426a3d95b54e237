"""Functions of one value, as restrictions are given them: what traces means what it means in a body.

Source: SEMANTICS 1.15 and 1.18.
"""

from __future__ import annotations

from functools import cached_property
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.data.generated import Constants, define
from cartesius.data.records import reader
from cartesius.expressions.expression_texts import Texts
from cartesius.expressions.expressions import Every, Expression, Part, children, evaluator
from cartesius.expressions.tracing import of_payload

if TYPE_CHECKING:
    from collections.abc import Callable

_VALUE = Part("value")


def of_value(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of one value so that null in it is SQL's, if it traces; as it is if not.

    >>> of_value(lambda n: n > 9)(None) is None, of_value(lambda n: n > 9)(10)
    (True, True)
    """
    expression = of_payload(function, _VALUE.slot)
    if expression is None:
        return function
    if _depth(expression) > _DEEP or _has_every(expression):
        evaluate = evaluator(expression, {_VALUE.slot: 0})
        return _noted(lambda value: evaluate((SimpleNamespace(value=value),)), function)
    constants = Constants()
    text = f"def of_value(value):\n    return {_Texts(constants).of(expression)}\n"
    return _noted(define("of_value", text, constants.bound), function)


def as_held(value: Any) -> Any:
    """Return an argument of a restriction as that holds it: a plain function with null as `of_value` has it."""
    return of_value(value) if isinstance(value, FunctionType) else value


@attrs.frozen(slots=False, repr=False)
class Chained:
    """A function of what another makes of a value; the inner one as `of_value` has it, kept as it is written.

    >>> Chained(str, lambda n: n + 1)(3), Chained(str, lambda n: n + 1)(None)
    ('4', 'None')

    Args:
        outer: What is called last.
        inner: What is called first.
    """

    outer: Callable[[Any], Any]
    inner: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        """Call both."""
        return self.outer(self._inner(value))

    @cached_property
    def _inner(self) -> Callable[[Any], Any]:
        return of_value(self.inner)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out what is generated: it is made anew in another process."""
        return Chained, (self.outer, self.inner)


_WRITTEN = "_as_written"


def _noted(made: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    setattr(made, _WRITTEN, function)
    made.__qualname__ = getattr(function, "__qualname__", made.__qualname__)  # what Python calls it in its messages
    return made


def as_written(function: Any) -> Any:
    """Return the function that `of_value` was given, which traces; any other as it is.

    >>> key = lambda ship: ship.mmsi
    >>> as_written(of_value(key)) is key, as_written(key) is key
    (True, True)
    """
    return getattr(function, _WRITTEN, function)


_DEEP = 40
"""How deep an expression may be for its text to be nested as deep as Python takes it."""


class _Texts(Texts):
    """Writes expressions over the name ``value``."""

    def __init__(self, constants: Constants) -> None:
        super().__init__({_VALUE.slot: 0}, constants)

    def of(self, expression: Expression) -> str:
        return "value" if expression == _VALUE else super().of(expression)

    def field(self, target: str, name: str) -> str:
        return f"{self._constants.name(reader(name))}({target})"


def _depth(expression: Expression) -> int:
    return 1 + max(map(_depth, children(expression)), default=0)


def _has_every(expression: Expression) -> bool:
    return isinstance(expression, Every) or any(map(_has_every, children(expression)))
