"""Checks that several restrictions share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from cartesius import Restriction


def check_count(restriction: Restriction, n: Any) -> None:
    """Raise `InvalidArgument` unless ``n`` is an int ≥ 1."""
    if isinstance(n, int) and not isinstance(n, bool) and n >= 1:
        return
    message = f"{type(restriction).__name__}: expected an int ≥ 1 but got n={n!r} (type={type(n).__name__})"
    raise InvalidArgument(message)


def refuse_consumption(restriction: Restriction, others: tuple[Restriction, ...]) -> None:
    """Raise `InvalidArgument` if one of ``others`` spends uses or cuts results, which retraction cannot take back."""
    for other in others:
        if other.consumes:
            message = (
                f"{restriction!r}: expected no restriction that spends or cuts but got {other!r}; retraction evaluates"
                " the body again on the old combinations, which is exact only if all that satisfy it were yielded:"
                " leave one out"
            )
            raise InvalidArgument(message)
