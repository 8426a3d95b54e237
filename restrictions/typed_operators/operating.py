"""Operators over streams of items, made from the templates; and bags, the monoid that forgets nothing but the order.

Source: SOURCES E2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius import correlate
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Part
from restrictions.basics.keys import key_by
from restrictions.basics.selection import fifo
from restrictions.basics.separation import momentarily
from restrictions.stream_operators.combining import check_stream
from restrictions.table_operators.groups import Monoid
from restrictions.typed_operators.template_base import template, template_of_key

if TYPE_CHECKING:
    from cartesius import Reactive, Restriction

BAG = Monoid((), lambda a, b: tuple(sorted((*a, *b))), lambda value: (value,), name="BAG")
"""Bags of values that can be sorted, as sorted tuples."""


def operate(stream: Reactive, operator: Restriction, *, name: str | None = None) -> Reactive:
    """Let an operator made from a template run over a stream of `Keyed` items. Completes with the stream.

    >>> from cartesius import Reactive, ordered, unordered
    >>> from cartesius.errors import OrderMismatch
    >>> from restrictions.operators import Keyed, in_order_per_key, operate
    >>> class folded(in_order_per_key):
    ...     def on_item(self, state, key, value):
    ...         return value, [state]
    >>> print(operate(Reactive("level", order=ordered("key")), folded("x")).order)
    ordered per key
    >>> try:
    ...     operate(Reactive("level", order=unordered()), folded("x"))
    ... except OrderMismatch as error:
    ...     print(str(error).splitlines()[0][59:-8])
    x is unordered; not implied is an order of x per key, relied on by folded('x')

    Args:
        stream: A stream, whose values have the fields ``key`` and ``value``.
        operator: A restriction of the slot ``x`` whose class is derived from one of the templates.
        name: The name of the output.

    Raises:
        InvalidArgument: No stream, or no operator.
        OrderMismatch: The operator relies on an order that the stream does not declare.

    Source:
        SOURCES E2.
    """
    check_stream(stream, "operate", "stream")
    if not isinstance(operator, template):
        message = (
            f"operate: expected an operator made from a template but got {operator!r} (type={type(operator).__name__})"
        )
        raise InvalidArgument(message)
    restrict = momentarily("x") | fifo() | operator
    if isinstance(operator, template_of_key):
        restrict = key_by(x="key") | restrict
    made = correlate(x=stream, yields=Part("x"), restrict=restrict, name=name or f"operate({stream.name})")
    return made
