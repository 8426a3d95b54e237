"""What bodies may ask of null: the first value that is not, and whether a row is missing.

Source: SEMANTICS 1.18.
"""

from __future__ import annotations

from typing import Any

from cartesius.expressions.expressions import Apply, IsMissing, Part
from cartesius.expressions.nulls import first_there, is_null
from cartesius.expressions.tracing import Symbol, node_of, traceable


@traceable
def coalesce(*values: Any) -> Any:
    """Return the first of ``values`` that is not null; null if all are. In what traces, those behind it are not asked.

    >>> from cartesius import Reactive, coalesce, correlate, run
    >>> report = Reactive("report")
    >>> names = correlate(r=report, yields=lambda r: coalesce(r.name, r.mmsi, "?"))
    >>> trace = [(report, {"name": None, "mmsi": None}), (report, {"name": "EVA", "mmsi": 1})]
    >>> [event.value for event in run(names, trace)]
    ['?', 'EVA']

    Args:
        *values: What is asked, in this order.

    Law:
        ``coalesce(a, b) == (a if a is not None else b)``.

    Source:
        SQL:2016, 6.12.
    """
    if any(isinstance(value, Symbol) for value in values):
        return Symbol(Apply(first_there, tuple(map(node_of, values)), "coalesce"))
    return first_there(*values)


@traceable
def is_missing(side: Any) -> Any:
    """Whether a variable of `correlate` has no event, or row, in a result, as beside `optionally`.

    Where it is traced it tells a missing row from one of value None, which is there. Of anything else than a variable,
    and where it is not traced, it asks whether it is null.

    >>> from cartesius import Reactive, correlate, is_missing, run
    >>> from restrictions import key_by, optionally, retracting
    >>> ship, pilot = Reactive("ship"), Reactive("pilot")
    >>> served = correlate(
    ...     ship=ship,
    ...     pilot=pilot,
    ...     yields=lambda ship, pilot: (ship.name, is_missing(pilot)),
    ...     restrict=optionally("pilot") | retracting() | key_by(ship="name", pilot="ship"),
    ... )
    >>> trace = [(ship, {"name": "EVA"}), (pilot, {"ship": "EVA"})]
    >>> [(event.weight, event.value) for event in run(served, trace)]
    [(1, ('EVA', True)), (-1, ('EVA', True)), (1, ('EVA', False))]

    Args:
        side: A variable.

    Source:
        SEMANTICS 1.18.
    """
    if not isinstance(side, Symbol):
        return is_null(side)
    node = node_of(side)
    return Symbol(IsMissing(node.slot) if isinstance(node, Part) else Apply(is_null, (node,), "is_null"))
