"""Aggregation: results that come to one total, or to one a group.

Source: thesis, L23; SEMANTICS 2.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Restriction, handles
from cartesius.errors import InvalidArgument
from cartesius.language.families import row_key, totals
from cartesius.plan import facts
from cartesius.plan.nodes import Aggregate
from restrictions.table_operators.groups import Group, Monoid, check_group

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius import Slot
    from cartesius.plan.nodes import Node


class totalling(Restriction):
    """Make the results one total over a group, kept up as they come and are taken back; given once a step.

    >>> from cartesius import Reactive, Update, correlate, run
    >>> from restrictions import retracting
    >>> from restrictions.table_operators.aggregation import totalling
    >>> from restrictions.tables import sum_
    >>> wind = Reactive("wind", table=True)
    >>> total = correlate(x=wind, yields=lambda x: x, restrict=retracting() | totalling(sum_))
    >>> [event.value for event in run(total, [(wind, Update("N", 9)), (wind, Update("S", 8)), (wind, Update("N", 1))])]
    [9, 17, 9]

    Args:
        group: What the values are lifted into and combined by.

    State: none of its own; the total is the output's. Relies on no order. Commutes with `retracting`.

    Raises:
        InvalidArgument: No group; when a correlation is built: without `retracting`.

    Law:
        The total is that of the results that stand.

    Source:
        Thesis, L23.
    """

    group: Any

    def validate(self) -> None:
        """Check the group."""
        check_group(type(self).__name__, self.group)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse facts: what is displaced must be subtracted."""
        if not any(facts.takes_back(other) for other in others):
            message = f"{self!r}: expected retracting() beside it, so that what is displaced is subtracted"
            raise InvalidArgument(message)
        if isinstance(self.group, Monoid) and any(facts.versions(other) for other in others):
            message = (
                f"{self!r}: expected a Group beside versioned, as totals of all times are kept up by subtraction, but"
                f" {self.group!r} is a Monoid; aggregate the newest rows, or in windows"
            )
            raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Aggregate(self.group),)

    @handles(totals)
    def over(self) -> Group | Monoid:
        """Answer the group."""
        group: Group | Monoid = self.group
        return group


class totalling_by(totalling):
    """Make the results a table of totals, by a function of the result: as `totalling`, and a row a key.

    A row whose last result leaves is deleted.

    Args:
        group: What the values are lifted into and combined by.
        by: A pure function of the result: the key of its row.

    State: none of its own; the totals are the output's. Relies on no order. Commutes with `retracting`.

    Raises:
        InvalidArgument: As `totalling`.

    Law:
        Each total is that of the results that stand under its key.

    Source:
        SEMANTICS 2.7.
    """

    by: Callable[[Any], Any]

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Aggregate(self.group, self.configuration["by"]),)

    @handles(row_key)
    def keyed(self) -> Any:
        """Answer the key."""
        return self.by
