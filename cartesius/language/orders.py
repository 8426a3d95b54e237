"""Orders: the type of a reactive, which says of which of its events it is determined who comes first.

A data-trace type is an alphabet with a *dependence*: adjacent events may change places unless they depend on each
other, and what becomes equal by that is one input. Here two events of a reactive depend on each other if they agree in
all ``keys``: in none of them, ``ordered()``, every two do; under ``ordered("id")`` those of one id; of what is
`unordered` no two. The markers are the moves of the clock: what is ``marked`` comes on its side of them.

Restrictions declare, as a `Reliance`, of which events the order matters to their results, and what they `Give`.

Source: SOURCES E1 (data-trace types: Kallas et al., doi:10.1145/3314221.3314580); SOURCES E7 (one condition an edge).
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from cartesius.errors import InvalidArgument

ROW: Final = "its row"
"""In place of a field's name: the key of a table's row. No field is called so."""


@attrs.frozen
class Order:
    """The declared order of a reactive; made by `ordered` and `unordered`."""

    keys: tuple[str, ...] | None
    marked: bool = True
    distinct: tuple[str, ...] | None = None
    among: Any = None  # events of reactives with an equal one are ordered among each other; None: the reactive itself
    corrected: bool = False  # what is given may be taken back: what stands between two moves of the clock is determined

    def __str__(self) -> str:
        """Say it in words."""
        if self.keys is None:
            order = "unordered"
        else:
            order = f"ordered per {' and '.join(self.keys)}" if self.keys else "ordered"
        among = f" among {self.among}" if isinstance(self.among, str) else ""
        times = ""
        if self.distinct is not None:
            times = f", at distinct times{' per ' * bool(self.distinct)}{' and '.join(self.distinct)}"
        corrected = ", corrected" * self.corrected
        return f"{order}{among}{times}{corrected}{'' if self.marked else ', without markers'}"


def ordered(
    *keys: str,
    per_row: bool = False,
    among: str | None = None,
    distinct: tuple[str, ...] | None = None,
    marked: bool = True,
) -> Order:
    """Declare that events come in an order that means something: all of them, or those that agree in ``keys``.

    >>> from cartesius import Reactive, ordered
    >>> ship = Reactive("ship", order=ordered("mmsi"))
    >>> print(ship.order)
    ordered per mmsi

    Args:
        *keys: The fields in which they agree; none: every two events.
        per_row: Whether they agree in the key of the row, too, that they change, of a table.
        among: A name, the same for reactives whose events are ordered among each other: one log, one topic. Then the
            keys mean the same, one by one, whatever they are called. None: nothing is said of other reactives.
        distinct: As for `unordered`.
        marked: As for `unordered`.

    Raises:
        InvalidArgument: A key or a name that is no string.

    Source:
        SOURCES E1: ``Ord(K, V)``, and sequences.
    """
    _check_names("ordered", keys)
    _check_names("ordered", () if distinct is None else distinct)
    if among is not None:
        _check_names("ordered", (among,))
    return Order((*keys, *((ROW,) if per_row else ())), marked, distinct, among)


def unordered(*, distinct: tuple[str, ...] | None = None, marked: bool = True) -> Order:
    """Declare that the order in which events come means nothing: another run may bring them in another.

    >>> from cartesius import Reactive, unordered
    >>> print(Reactive("report", order=unordered(distinct=("mmsi",))).order)
    unordered, at distinct times per mmsi

    Args:
        distinct: Fields: no two events that agree in them, in all of them, have one time; ``()``: no two events.
        marked: Whether events keep to their side of the moves of the clock; then no event is late. Otherwise the clock
            says nothing about this reactive.

    Raises:
        InvalidArgument: A name of a field that is no string.

    Source:
        SOURCES E1: ``Unord(K, V)``, and bags.
    """
    _check_names("unordered", () if distinct is None else distinct)
    return Order(None, marked, distinct)


def checked_order(order: object) -> Order | None:
    """Return what is an order, or None; raise `InvalidArgument` for anything else."""
    if order is None or isinstance(order, Order):
        return order
    message = f"Reactive: expected ordered(…) or unordered(…) but got order={order!r} (type={type(order).__name__})"
    raise InvalidArgument(message)


def _check_names(call: str, names: object) -> None:
    if not isinstance(names, tuple):
        message = f"{call}: expected a tuple of names of fields but got {names!r} (type={type(names).__name__})"
        raise InvalidArgument(message)
    for name in names:
        if not (isinstance(name, str) and name):
            message = (
                f"{call}: expected names of fields, in a tuple if there are several, but got {name!r}"
                f" (type={type(name).__name__})"
            )
            raise InvalidArgument(message)
