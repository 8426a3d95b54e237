"""Functions that columns do not know, called row by row, or all at once if they can be asked for many rows.

Source: DESIGN 4; SEMANTICS 1.18; `missing_values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.lanes import Lane, all_valid, lane, placed, spread
from cartesius.columns.vectors.vectors import MISSING, NotColumnar, Vector

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def at_once(function: Callable[..., Any], arguments: Sequence[Vector]) -> Vector | None:
    """Return what ``function`` gives for all rows, if its ``of_vectors`` can be asked for that, and takes these."""
    ask: Callable[..., Vector | None] | None = getattr(function, "of_vectors", None)
    if ask is None:
        return None
    try:
        return ask(*arguments)
    except NotColumnar:
        raise
    except Exception as error:
        raise raises(function, type(error)) from error


def raises(function: Callable[..., Any], error: type[Exception]) -> NotColumnar:
    """Return the signal that a function raises, which pushing the rows one by one does again."""
    name = getattr(function, "__name__", "a function")
    return NotColumnar(f"{name} raises {error.__name__}")


def value_by_value(function: Callable[..., Any], *arguments: Vector) -> Vector:
    """Call ``function`` for each row; what it raises is raised when the rows are pushed one by one."""
    if (found := at_once(function, arguments)) is not None:
        return found
    try:
        return of_values([function(*values) for values in zip(*[one.to_list() for one in arguments], strict=True)])
    except Exception as error:
        raise raises(function, type(error)) from error


def leniently(function: Callable[..., Any], keeps_nan: bool, columns: Sequence[Vector]) -> Vector:
    """Call ``function`` for each row; what it cannot compute is missing."""
    if (at_one_go := at_once(function, columns)) is not None:
        return at_one_go
    found: list[Any] = []
    is_given = len(columns) == 1  # whether it gives back what it is asked about, where that is something
    for values in zip(*[one.to_list() for one in columns], strict=True):
        try:
            value = function(*values)
        except ArithmeticError:
            value = None
        except Exception as error:
            raise raises(function, type(error)) from error
        found.append(value if keeps_nan or value == value else None)  # noqa: PLR0124 - NaN
        is_given = is_given and (value is values[0] or value is None)
    if is_given:
        places = [MISSING if value is None else place for place, value in enumerate(found)]
        return columns[0].take(np.array(places, np.int64), may_miss=True)
    return of_values(found)


def called(call: Callable[..., Vector], lanes: Sequence[Lane], *, skips_null: bool) -> Lane:
    """Return what a function of vectors gives of all rows, or of those only in which nothing is null."""
    n = next((size for one in lanes if (size := one.size) is not None), None)
    if n is None:  # the same for any number of rows
        (value,) = call(*[one.vector(1) for one in lanes]).to_list()
        return Lane(value)
    valid = all_valid(*lanes) if skips_null else None
    vectors = [one.vector(n) for one in lanes]
    if valid is None:
        return lane(call(*vectors))
    there = np.flatnonzero(spread(valid, n))
    return lane(placed(call(*[one.take(there) for one in vectors]), there, n))
