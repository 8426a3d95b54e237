"""Checks that several restrictions share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.errors import InvalidArgument
from cartesius.plan import facts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius import Restriction, Slot


def check_count(call: str, n: Any, argument: str = "n") -> None:
    """Raise `InvalidArgument` unless ``n`` is an int ≥ 1."""
    if isinstance(n, int) and not isinstance(n, bool) and n >= 1:
        return
    message = f"{call}: expected an int ≥ 1 but got {argument}={n!r} (type={type(n).__name__})"
    raise InvalidArgument(message)


def check_function(restriction: Restriction, function: Any, argument: str) -> None:
    """Raise `InvalidArgument` unless ``function`` can be called."""
    if not callable(function):
        message = (
            f"{type(restriction).__name__}: expected a function but got {argument}={function!r}"
            f" (type={type(function).__name__})"
        )
        raise InvalidArgument(message)


def refuse_tables(restriction: Restriction, slots: Iterable[Slot]) -> None:
    """Raise `InvalidArgument` if one of ``slots`` is bound to a table."""
    for slot in slots:
        if slot.reactive.table:
            message = (
                f"{restriction!r}: expected streams but {slot.name!r} is bound to a table, {slot.reactive.name!r},"
                " whose rows replace each other; restrict the stream that the table is made from"
            )
            raise InvalidArgument(message)


def refuse_streams(restriction: Restriction, slots: Iterable[Slot]) -> None:
    """Raise `InvalidArgument` if one of ``slots`` is bound to a stream."""
    for slot in slots:
        if not slot.reactive.table:
            message = (
                f"{restriction!r}: expected a table but {slot.name!r} is bound to a stream, {slot.reactive.name!r}"
            )
            raise InvalidArgument(message)


def refuse_versions(restriction: Restriction, others: tuple[Restriction, ...], why: str) -> None:
    """Raise `InvalidArgument` if one of ``others`` keeps versions, and say ``why`` it may not."""
    for other in others:
        if facts.versions(other):
            message = f"{restriction!r}: expected no versions, {why}, but got {other!r}"
            raise InvalidArgument(message)


def refuse_consumption(restriction: Restriction, others: tuple[Restriction, ...]) -> None:
    """Raise `InvalidArgument` if one of ``others`` spends uses or cuts results, which retraction cannot take back."""
    for other in others:
        if facts.consumes(other):
            message = (
                f"{restriction!r}: expected no restriction that uses events up or leaves matches out but got {other!r};"
                " to take results back, where and yields are evaluated again on the old combinations, which is exact"
                " only if every match became a result: leave one of the two restrictions out"
            )
            raise InvalidArgument(message)
