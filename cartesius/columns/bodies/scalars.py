"""Conditions on candidates, one by one, as text: what concerns one slot is computed for all its rows beforehand.

Source: SEMANTICS 1.4 (enumeration is lazy), 1.15.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.columns.bodies.computed import of_expression
from cartesius.columns.stages.stored_rows import entries_of
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.data.generated import Constants
from cartesius.expressions.expression_texts import Operations
from cartesius.expressions.expressions import Apply, Constant, Expression, Tuple, slots_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.columns.bodies.computed import Column, Keys
    from cartesius.columns.stages.rows import Rows
    from cartesius.correlations.join_shape import Join


class Scalars:
    """Conditions as the text of one, in which ``{0}`` stands for the row of slot 0.

    Args:
        join: The correlation.
        keys: Its key spaces.
        conditions: What must hold.

    Raises:
        NotColumnar: There is no text for one of them.
    """

    def __init__(self, join: Join, keys: Keys, conditions: Sequence[Expression]) -> None:
        self._slots = {slot.name: slot for slot in join.slots}
        self._keys = keys
        self._constants = Constants()
        self._operations = Operations(self._constants)
        self._columns: list[tuple[int, Column]] = []
        self._texts = list(map(self._text, conditions))

    def text(self, chosen: Sequence[int] | None = None) -> str:
        """Return the text of all conditions, or of those at some places; empty if there are none."""
        texts = self._texts if chosen is None else [self._texts[place] for place in chosen]
        return self._operations.all_of(texts) if texts else ""

    @property
    def bound(self) -> dict[str, Any]:
        """What the names of constants mean."""
        return self._constants.bound

    @property
    def names(self) -> list[str]:
        """The names of the columns that the text needs."""
        return [f"v{number}" for number in range(len(self._columns))]

    def columns(self, rows: Sequence[Rows | None]) -> list[list[Any]]:
        """Return what these names mean, given the rows of each slot."""
        return [[] if (mine := rows[slot]) is None else column(mine).to_list() for slot, column in self._columns]

    def _text(self, expression: Expression) -> str:
        names = slots_of(expression)
        if len(names) == 1:
            (name,) = names
            slot = self._slots[name]
            self._columns.append((slot.index, of_expression(expression, slot, self._keys.own(slot.index))))
            return f"v{len(self._columns) - 1}[{{{slot.index}}}]"
        match expression:
            case Constant(value=value):
                return self._constants.name(value)
            case Apply(function=function, arguments=arguments):
                return self._operations.of(function, arguments, self._text)
            case Tuple(items=items):
                return f"({', '.join(map(self._text, items))},)"
        raise NotColumnar(type(expression).__name__)


def asking(join: Join, rows: Sequence[Rows | None], given: list[Any]) -> Callable[..., bool]:
    """Return what asks the body of one candidate; what a generator yields is put into ``given``."""
    entries = [
        [] if mine is None else entries_of(join, slot, mine) for slot, mine in zip(join.slots, rows, strict=True)
    ]
    body, is_generator = join.batch.body, join.pattern.is_generator

    def ask(*parts: int) -> bool:
        row: Any = [mine[part] for mine, part in zip(entries, parts, strict=True)]
        if body.where is not None and not body.where(row):
            return False
        if not is_generator:
            return True
        values = body.yields(row)
        if values:
            given.append(values)
        return bool(values)

    return ask
