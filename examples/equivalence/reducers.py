"""Five reducers that may depend on the order of their input, as totals by key and window.

Each is a `Monoid` whose combination is associative, as `aggregate` needs it, but does not commute; so what comes out
depends on the order in which the rows of one key and window come, unless something about the rows makes up for it:

    single_item        keeps the last x                              unless the key determines x
    index_value_pair   maps x to y, the last one wins                unless key and x determine y
    max_row            the row of the largest x, the first on ties   unless key and x determine y, or one row has it
    first_n            the first five rows, as a set                 unless there are at most five rows
    str_concat         the x's in order, joined by @                 unless the consumer ignores their order

A dependence relation says which *items of the output* may be swapped. It cannot say that two different values are as
good as each other. An equality can, if what matters is a part of the value (`determined`): of `str_concat` all of it
but the order, of `single_item` and `index_value_pair` nothing but the keys. Where any row may be the answer, as for
`max_row` and `first_n`, no equality says all that matters, because whether a row may be the answer depends on the
input. There compare the part that is determined, and check against the input that what is left is one of the answers
(`is_possible`).

Source: DiffStream's case study of MapReduce programs (SOURCES E5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius import Reactive, Update, run
from cartesius.testing import equal_by
from examples.equivalence.input_rows import WIDTH, Row
from restrictions import tumbling
from restrictions.tables import Monoid, aggregate
from restrictions.windows import on_close

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cartesius.equivalence.equalities import Equality

FIRST: Final = 5


@attrs.frozen
class Reducer:
    """A reducer, what of its value any order gives, and which values some order gives.

    >>> from examples.equivalence import REDUCERS
    >>> REDUCERS["max_row"].determined((2, 7)), REDUCERS["max_row"].is_possible((2, 7), [(1, 2, 8), (1, 2, 9)])
    (2, False)

    Args:
        total: The reducer.
        determined: The part of a value that does not depend on the order of the rows.
        is_possible: Whether a value is that of some order of these rows, all of one key and window.
    """

    total: Monoid
    determined: Callable[[Any], Any]
    is_possible: Callable[[Any, Sequence[Row]], bool]

    @property
    def on_what_is_determined(self) -> Equality:
        """The equality of changes of rows whose values agree in what is determined."""
        return equal_by(lambda change: (change.key, self.determined(change.value)))


def reduced(reducer: Reducer, rows: Iterable[tuple[int, Row]]) -> list[Update]:
    """Return what a reducer gives: a change for each key and window, when all windows are closed.

    >>> from examples.equivalence import REDUCERS, reduced
    >>> for change in reduced(REDUCERS["str_concat"], [(1, (7, 2, 0)), (2, (7, 1, 0)), (12, (7, 2, 0))]):
    ...     print(change.key[0], change.key[1].start, change.value)
    7 0 2@1
    7 10 2

    Args:
        reducer: The reducer.
        rows: Times, in any order, and rows (key, x, y), in the order in which they come.
    """
    row = Reactive("row")
    totals = aggregate(row, reducer.total, by=lambda row: row[0], restrict=tumbling(WIDTH, report=on_close))
    return [event.value for event in run(totals, [(row, value, at) for at, value in rows], close=True)]


def _greater(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return other if other[0] > one[0] else one


REDUCERS: Final = {
    "single_item": Reducer(
        Monoid(None, lambda one, other: one if other is None else other, lift=lambda row: row[1], name="single_item"),
        determined=lambda x: None,
        is_possible=lambda x, rows: x in [row[1] for row in rows],
    ),
    "index_value_pair": Reducer(
        Monoid({}, lambda one, other: {**one, **other}, lift=lambda row: {row[1]: row[2]}, name="index_value_pair"),
        determined=set,
        is_possible=lambda found, rows: (
            found.keys() == {row[1] for row in rows} and found.items() <= {(row[1], row[2]) for row in rows}
        ),
    ),
    "max_row": Reducer(
        Monoid(None, _greater, lift=lambda row: (row[1], row[2]), name="max_row"),
        determined=lambda found: found[0],
        is_possible=lambda found, rows: found in [row[1:] for row in rows] and found[0] == max(row[1] for row in rows),
    ),
    "first_n": Reducer(
        Monoid(
            (),
            lambda one, other: (one + other)[:FIRST],
            lift=lambda row: (row[1:],),
            finish=lambda rows: (len(rows), frozenset(rows)),
            name="first_n",
        ),
        determined=lambda found: found if found[0] < FIRST else FIRST,
        is_possible=lambda found, rows: found[0] == min(len(rows), FIRST) and found[1] <= {row[1:] for row in rows},
    ),
    "str_concat": Reducer(
        Monoid("", lambda a, b: f"{a}@{b}" if a and b else a or b, lift=lambda row: str(row[1]), name="str_concat"),
        determined=lambda text: sorted(text.split("@")),
        is_possible=lambda text, rows: sorted(text.split("@")) == sorted(str(row[1]) for row in rows),
    ),
}
