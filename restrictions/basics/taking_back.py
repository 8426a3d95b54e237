"""Results: what becomes of the results of an event that is displaced, and results as the rows of a table.

Source: SEMANTICS 1.9, 1.14, 2.2; incremental view maintenance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Restriction, displace, forward, handles
from cartesius.errors import InvalidArgument
from cartesius.language.families import retract, row_key
from cartesius.plan.nodes import AsTable, TakeBack
from restrictions.basics.checks import refuse_consumption

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from cartesius import Slot
    from cartesius.data.entries import Entry
    from cartesius.language.restriction_base import TableComposition
    from cartesius.plan.nodes import Node


class retracting(Restriction):
    """Take back the results of every displaced event: relational semantics. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import combine_latest, most_recently, cartesian, retracting
    >>> left, right = Reactive("left"), Reactive("right")
    >>> view = cartesian(left, right, restrict=most_recently("left", "right") | retracting())
    >>> [(event.value, event.weight) for event in run(view, [(left, 1), (right, "x"), (left, 2)])]
    [((1, 'x'), 1), ((1, 'x'), -1), ((2, 'x'), 1)]

    State: none. Relies on no order. Commutes with the restrictions of memory (`most_recently`, `earliest`,
    `momentarily`).

    Raises:
        InvalidArgument: When a correlation is built: together with one that uses events up or leaves matches out.

    Law:
        Idempotent. What is left of its results is what a from-scratch evaluation of the memory gives.

    Source:
        SEMANTICS 1.14.
    """

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse consumption beside it."""
        refuse_consumption(self, others)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (TakeBack(),)

    @handles(displace)
    def take_back(self, slot: Slot, entry: Entry) -> None:
        """Take the results back, then let the entry go."""
        retract(slot, entry)
        forward(slot, entry)


class as_table(Restriction):
    """Make the results rows of a table: `Update` and `Delete` by key, at the end of each step. Never suspends.

    >>> from cartesius import Reactive, Update, run
    >>> from restrictions import as_table, cartesian, retracting
    >>> ship = Reactive("ship", table=True)
    >>> copy = cartesian(ship, restrict=retracting() | as_table("ship"))
    >>> [
    ...     event.value
    ...     for event in run(copy, [(ship, Update("EVA", 9)), (ship, Update("EVA", 9)), (ship, Update("EVA", 8))])
    ... ]
    [Update(key='EVA', value=9), Update(key='EVA', value=8)]

    Args:
        key: A slot's name (that slot's key), a tuple of them (the key of the first that is present), or a function of
            the yielded value.

    State: none where the key is a slot's and results are taken back, as the rows follow from memory; otherwise the
    live rows of each key. Relies on arrival order, unless beside `retracting`. Commutes with the
    restrictions of memory (`most_recently`, `earliest`, `momentarily`).

    Raises:
        InvalidArgument: The key is neither; when a correlation is built: a row may lack all the slots named.

    Law:
        To apply its changes to an empty dict gives the table that a from-scratch evaluation gives (beside
        `retracting`); each changed key once a step. Tested in ``tests/oracle/test_core_tables.py``.

    Source:
        SEMANTICS 2.2.
    """

    key: Any

    if TYPE_CHECKING:

        @property
        def makes_table(self) -> Literal[True]:
            """That it makes the results rows of a table."""
            ...

        def __or__(self, inner: object) -> TableComposition:  # type: ignore[override]  # as that of `Restriction`
            """Compose."""
            ...

    def validate(self) -> None:
        """Check the key."""
        is_slots = isinstance(self.key, tuple) and self.key and all(isinstance(slot, str) for slot in self.key)
        if not isinstance(self.key, str) and not is_slots and not callable(self.key):
            message = (
                "as_table: expected a slot's name, a tuple of them, or a function of the value but got"
                f" key={self.key!r}"
            )
            raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (AsTable(self.configuration["key"]),)

    @handles(row_key)
    def keyed(self) -> Any:
        """Answer the key."""
        return self.key
