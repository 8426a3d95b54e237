"""Relations: the results of each window as a relation, and the streams that its reports make of it.

A report of a window evaluates: its results are those that stand. `istream` gives those that the evaluation before had
not, `dstream` those that it had and this one has not, `rstream` all. They are compared as bags, by value.

Source: Arasu, Babu, Widom, VLDB Journal 2006 (CQL); Dindar et al., VLDB Journal 2013; SEMANTICS 3.4.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from cartesius.data.events import Event
from cartesius.data.window_spans import REPORTED
from cartesius.results.outputs import Output
from cartesius.results.unchanged_values import bucket_of, is_equal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cartesius.data.journals import Journal
    from cartesius.results.outputs import Result, Span


class Relations(Output):
    """The relations of one correlation's windows."""

    is_ranked: ClassVar[bool] = True

    def __init__(self, name: str, journal: Journal, kind: str) -> None:
        self.name = name
        self.journal = journal
        self.kind = kind
        self.live: dict[tuple[Any, ...], dict[Any, Result]] = {}
        self.previous: dict[tuple[Any, ...], list[tuple[Any, Result]]] = {}  # the last evaluation, by key
        self.number = 0
        self._reported: dict[tuple[Any, ...], Callable[[], bool] | None] = {}
        self._given: list[Event] = []

    def add(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Take a result of the window ``key``."""
        results = self.live.get(key)
        if results is None:
            self.journal.append(lambda: self.live.pop(key, None))
            results = self.live[key] = {}
        self.journal.append(lambda: results.pop(identity, None))
        results[identity] = result

    def take_back(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Take a result of the window ``key`` away."""
        results = self.live.get(key, {})
        if identity in results:
            before = dict(results)

            def undo() -> None:
                results.clear()
                results.update(before)

            self.journal.append(undo)
            del results[identity]

    def report(self, window: tuple[Any, ...], is_empty: Callable[[], bool] | None) -> None:
        """Evaluate a window when the step is over, unless it is empty by then."""
        self._reported[window] = is_empty

    def settle(self) -> list[Event]:
        """End the step: return what the reports of it give, in order."""
        for window in list(self._reported):
            self._give(window)
        events, self._given = self._given, []
        return events

    def _give(self, window: tuple[Any, ...]) -> None:
        is_empty = self._reported.pop(window)
        if is_empty is None or not is_empty():
            self._given += self._evaluate(window)

    def _evaluate(self, window: tuple[Any, ...]) -> list[Event]:
        *rest, _ = window
        key = tuple(rest)
        before = self.previous.get(key, [])
        now = sorted(self.live.get(window, {}).items(), key=lambda item: item[1][0])
        if self.kind != "rstream":  # which is compared with nothing
            self._set(key, now)
        given = {"rstream": lambda: now, "istream": lambda: minus(now, before), "dstream": lambda: minus(before, now)}
        self.journal.append(partial(setattr, self, "number", self.number))
        self.number += 1
        return [
            Event(value, start, end, 1, self.name, (REPORTED, self.number, identity))
            for identity, (_, value, start, end) in given[self.kind]()
        ]

    def _set(self, key: tuple[Any, ...], now: list[tuple[Any, Result]]) -> None:
        had, before = key in self.previous, self.previous.get(key, [])

        def undo() -> None:
            self.previous.pop(key, None)
            if had:
                self.previous[key] = before

        self.journal.append(undo)
        self.previous[key] = now

    def close(self, window: tuple[Any, ...]) -> None:
        """Forget the results of a window, once they have been reported."""
        if window in self._reported:
            self._give(window)
        results = self.live.get(window)
        if results is not None:
            self.journal.append(lambda: self.live.__setitem__(window, results))
            del self.live[window]

    def clear(self) -> None:
        """Forget a step that failed; the journal has undone what it did."""
        self._reported.clear()
        self._given.clear()

    def save(self) -> Any:
        """Return the state as plain data."""
        live = [(window, list(results.items())) for window, results in self.live.items()]
        return live, list(self.previous.items()), self.number

    def load(self, state: Any) -> None:
        """Bring the state back."""
        live, previous, self.number = state
        self.live = {window: dict(results) for window, results in live}
        self.previous = {key: list(results) for key, results in previous}


def minus(these: Iterable[tuple[Any, Result]], those: Iterable[tuple[Any, Result]]) -> list[tuple[Any, Result]]:
    """Return the bag difference by value: one of ``those`` takes one equal of ``these`` away, the first."""
    rest: dict[Any, list[Any]] = {}
    for _, (_, value, *_times) in those:
        rest.setdefault(bucket_of(value), []).append(value)
    left = []
    for identity, result in these:
        bucket = rest.get(bucket_of(result[1]), [])
        place = next((place for place, value in enumerate(bucket) if is_equal(value, result[1])), None)
        if place is None:
            left.append((identity, result))
        else:
            del bucket[place]
    return left
