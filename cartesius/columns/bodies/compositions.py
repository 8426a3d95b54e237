"""Compositions: a function of a result as an expression, as far as it is known what it does.

So what a group totals, or a table is keyed by, is code over columns like a body.
"""

from __future__ import annotations

from functools import reduce
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from cartesius.data.records import Record, path_of
from cartesius.expressions.expressions import Apply, Expression, Field, Tuple
from cartesius.expressions.tracing import parameters_of, trace

if TYPE_CHECKING:
    from collections.abc import Callable


def applied(function: Callable[[Any], Any], argument: Expression) -> Expression:
    """Return what a function makes of what an expression gives.

    >>> from cartesius.expressions.expressions import Part, Tuple, show
    >>> show(applied(itemgetter(0), Tuple((Part("x"), Part("y"))))), show(applied(lambda x: x.speed, Part("x")))
    ('x', 'x.speed')

    Args:
        function: A pure function of one argument.
        argument: What it is applied to.
    """
    if isinstance(function, itemgetter) and isinstance(argument, Tuple):
        places: Any = function.__reduce__()[1]
        if len(places) == 1 and isinstance(places[0], int) and places[0] < len(argument.items):
            return argument.items[places[0]]
    path = path_of(function)
    if path is not None and not any(hasattr(Record, name) for name in path):
        return reduce(Field, path, argument)
    parameters = parameters_of(function)
    traced = trace(function, [(parameters[0], argument)]).expression if parameters and len(parameters) == 1 else None
    return Apply(function, (argument,), getattr(function, "__name__", "function")) if traced is None else traced
