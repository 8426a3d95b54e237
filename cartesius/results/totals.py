"""Totals: what the live results of each group come to, kept up by adding what comes and subtracting what goes.

A group is what has an empty element, a combination and an inverse; each value is lifted into it, and the total made
presentable at the end. A group whose last result leaves is deleted: its results are counted.

Source: thesis, L23 and L25; SEMANTICS 2.7.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Final, Protocol

from cartesius.data.codec import text_of
from cartesius.data.events import Delete, Event, Update
from cartesius.errors import NotStorable
from cartesius.plan.known_totals import Total
from cartesius.results.outputs import Output, hull
from cartesius.results.unchanged_values import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cartesius.data.journals import Journal
    from cartesius.results.outputs import Result, Span


FOR_GOOD: Final = "for good"
"""The identity under which stands what the elements come to that nobody takes back any more."""


class Aggregate(Protocol):
    """What totals need of a group; of a monoid, that has no inverse, the elements are kept to sum up what is left."""

    empty: Any
    combine: Callable[[Any, Any], Any]
    inverse: Callable[[Any], Any] | None
    lift: Callable[[Any], Any]
    finish: Callable[[Any], Any]


def check_element(total: Any, name: str) -> None:
    """Raise `NotStorable` if no snapshot could hold a total."""
    try:
        text_of(total)
    except NotStorable as error:
        error.add_note(f"in the totals of {name}, in a durable engine; nothing was changed")
        raise


class Totals(Output):
    """The totals of a correlation's results, by group: a table, or a stream of the one total."""

    def __init__(
        self,
        name: str,
        journal: Journal,
        group: Aggregate,
        *,
        is_table: bool,
        is_durable: bool,
        step: Callable[[], int],
        may_lose: bool = True,
    ) -> None:
        self.name = name
        self._step = step  # the number of the present one, by which the events of a stream of totals are told
        self.keeps_elements = group.inverse is None and may_lose  # to sum up what is left when some are taken back
        self.is_durable = is_durable
        self.journal = journal
        self.group = group
        known = getattr(group, "known", None) if group.inverse is None else None
        self._is_one_of_them = known is not None and known[0] in {Total.LEAST, Total.GREATEST}
        self.is_table = is_table
        self.totals: dict[Any, tuple[Any, int]] = {}  # and how many results they are of
        self.elements: dict[Any, dict[Any, Any]] = {}  # by group and identity, where there is no inverse
        self._mentioned: dict[Any, Span] = {}
        self._before: dict[Any, tuple[Any, int] | None] = {}
        self._closed: list[Any] = []

    def add(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Add a result to the total of its group."""
        element = self.group.lift(result[1])
        if self.keeps_elements:
            self._keep(key, identity, element)
        self._change(key, lambda total: self.group.combine(total, element), 1, cause)

    def take_back(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Subtract a result from the total of its group."""
        if self.group.inverse is None:
            gone = self._drop(key, identity)
            if self._is_one_of_them and not is_unchanged(self.totals[key][0], gone):
                self._change(key, lambda total: total, -1, cause)
            else:
                self._change(key, lambda _: reduce(self.group.combine, self._left(key), self.group.empty), -1, cause)
        else:
            gone = self.group.inverse(self.group.lift(result[1]))
            self._change(key, lambda total: self.group.combine(total, gone), -1, cause)

    def _left(self, key: Any) -> Iterable[Any]:
        return self.elements.get(key, {}).values()

    def _keep(self, key: Any, identity: Any, element: Any) -> None:
        self.journal.append(lambda: self._unkeep(key, identity))
        self.elements.setdefault(key, {})[identity] = element

    def _drop(self, key: Any, identity: Any) -> Any:
        element = self.elements[key][identity]
        self.journal.append(lambda: self.elements.setdefault(key, {}).__setitem__(identity, element))
        self._unkeep(key, identity)
        return element

    def _unkeep(self, key: Any, identity: Any) -> None:
        elements = self.elements.get(key, {})
        elements.pop(identity, None)
        if not elements:
            self.elements.pop(key, None)

    def _change(self, key: Any, change: Callable[[Any], Any], count: int, cause: Span) -> None:
        before = self.totals.get(key)
        if key not in self._mentioned:
            self._mentioned[key] = cause
            self._before[key] = before
            self.journal.append(lambda: self._restore(key, before))
        self._mentioned[key] = hull((self._mentioned[key], cause))
        total, number = before or (self.group.empty, 0)
        self.totals[key] = (change(total), number + count)
        if self.is_durable:
            check_element(self.totals[key][0], self.name)

    def _restore(self, key: Any, before: tuple[Any, int] | None) -> None:
        if before is None:
            self.totals.pop(key, None)
        else:
            self.totals[key] = before

    def settle(self) -> list[Event]:
        """End the step: return one change for each total that changed, in order of first mention."""
        events: list[Event] = []
        for key, (start, end) in self._mentioned.items():
            total, number = self.totals[key]
            before = self._before[key]
            old: tuple[Any, ...] = () if before is None else (self.group.finish(before[0]),)
            identity = (self.name, key)
            if self.is_table and number == 0:
                del self.totals[key]
                if before is not None:
                    events.append(Event(Delete(key), start, end, 1, self.name, identity, before=old))
                continue
            value = self.group.finish(total)
            if not self.is_table:
                events.append(Event(value, start, end, 1, self.name, (*identity, self._step())))
            elif before is None or not is_unchanged(old[0], value):
                events.append(Event(Update(key, value), start, end, 1, self.name, identity, before=old))
        for key in self._closed:
            self._forget(key)
        self.clear()
        return events

    def clear(self) -> None:
        """Forget a step that failed; the journal has undone what it did."""
        self._mentioned.clear()
        self._before.clear()
        self._closed.clear()

    def forget(self, key: Any) -> None:
        """Forget the total of a group in a closed window, after this step: it stands, and nobody knows it any more."""
        self._closed.append(key)

    def let_go(self, key: Any, identity: Any) -> None:
        """Keep a result in the total for good: its parts leave, so that nobody takes it back."""
        elements = self.elements.get(key, {})
        if identity in elements:
            rest = [elements[one] for one in (FOR_GOOD, identity) if one in elements]
            for one in (FOR_GOOD, identity):
                if one in elements:
                    self._drop(key, one)
            self._keep(key, FOR_GOOD, reduce(self.group.combine, rest))

    def _forget(self, key: Any) -> None:
        before, elements = self.totals.get(key), self.elements.get(key)
        if before is not None:
            self.journal.append(lambda: self._restore(key, before))
            del self.totals[key]
        if elements is not None:
            self.journal.append(lambda: self.elements.__setitem__(key, elements))
            del self.elements[key]

    def row(self, key: Any) -> tuple[Any, ...]:
        """Return the present total of a group in a tuple, or the empty tuple."""
        return (self.group.finish(self.totals[key][0]),) if key in self.totals else ()

    def rows(self) -> dict[Any, Any]:
        """Return the present totals."""
        return {key: self.group.finish(total) for key, (total, _) in self.totals.items()}
