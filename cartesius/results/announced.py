"""What has been announced of a table with versions: at which times each row was said to change.

Who reads the changes by their times alone takes a row to hold from its time until the next that was announced. So a
change that holds until some time is followed by one that says what holds then, if that was not announced already; and
what was announced in between is said anew.

Invariant: to replay all changes in order of arrival, by time, gives the versions of the table.

Source: Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155, definition 4.4.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.data.events import EARLIEST, LATEST, Delete, Event, Update
from cartesius.data.journals import put
from cartesius.data.validity import covers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from cartesius.data.events import Time
    from cartesius.data.journals import Journal
    from cartesius.data.validity import Interval
    from cartesius.language.matches import Match
    from cartesius.results.outputs import Span

Row: TypeAlias = tuple[Any, ...]
"""The row of a key in a tuple, or the empty tuple."""


class Announced:
    """The times that were announced, by key."""

    def __init__(self, journal: Journal, horizon: Callable[[], Time]) -> None:
        self.journal = journal
        self.horizon = horizon  # the time from which on the versions are all there
        self.times: dict[Any, list[Time]] = {}  # in order
        self.lingering: set[Any] = set()  # rows that may be gone, with times that have not passed yet

    def changes(
        self, key: Any, changed: Sequence[tuple[Interval, Row]], after: Callable[[Time], Row]
    ) -> Iterator[tuple[Interval, Row]]:
        """Yield what to announce, in order of time.

        Args:
            key: The key.
            changed: When the row has another value than before, and which, in order of time.
            after: Returns the row at a time at which a change ends.
        """
        known = self.times.get(key, [])
        added: list[Time] = []
        for place, ((since, until), row) in enumerate(changed):
            between = known[bisect_right(known, since) : bisect_left(known, until)]
            starts = [since, *between]
            for start, end in zip(starts, [*between, until], strict=True):
                yield (start, end), row
            added.append(since)
            is_followed = place + 1 < len(changed) and changed[place + 1][0][0] == until
            if until != LATEST and not is_followed and until not in known:
                yield (until, until), after(until)
                added.append(until)
        if added:
            put(self.times, key, self._kept(sorted({*known, *added})), self.journal)

    def _kept(self, times: list[Time]) -> list[Time]:
        return times[max(bisect_right(times, self.horizon()) - 1, 0) :]

    def forget(self, keys: Iterable[Any], is_kept: Callable[[Any], bool]) -> None:
        """Forget what was announced for times that are forgotten: of a row that is gone all, once all have passed."""
        horizon = self.horizon()
        self.journal.append(partial(setattr, self, "lingering", set(self.lingering)))
        for key in {*keys, *self.lingering}:
            known = self.times.get(key, [])
            is_gone = not is_kept(key)
            self.lingering.discard(key)
            if is_gone and known and known[-1] > horizon:
                self.lingering.add(key)
            elif known:
                put(self.times, key, [] if is_gone else self._kept(known), self.journal)

    def load(self, times: Mapping[Any, list[Time]]) -> None:
        """Bring back what a snapshot has saved."""
        self.times = dict(times)
        self.lingering = set(self.times)


def change_of(
    name: str, key: Any, row: Row, before: Row, span: Interval, cause: Span, match: Match | None = None
) -> Event:
    """Return the change that says which row a key has in a span: its time is when that begins."""
    start, end = times_of(span, cause)
    if match is not None:
        start = min(start, match.start)
    value = Update(key, row[0]) if row else Delete(key)
    return Event(value, start, end, 1, name, (name, key), span, before)


def times_of(span: Interval, cause: Span) -> Span:
    """Return start and end of a change that holds in a span: its time is when that begins."""
    return cause if span[0] == EARLIEST else (min(cause[0], span[0]), span[0])


def what_at(batch: Iterable[tuple[Interval, Any, Row]], time: Time) -> tuple[Any, Row]:
    """Return what is now at a time, and what was before; nothing where it has not changed."""
    return next(((now, before) for span, now, before in batch if covers((span,), time)), (None, ()))


def parted(changed: Iterable[tuple[Interval, Any, Row]]) -> Iterator[list[tuple[Interval, Any, Row]]]:
    """Part what several batches of one step have changed: in each, time goes on."""
    batch: list[tuple[Interval, Any, Row]] = []
    for one in changed:
        if batch and one[0][0] < batch[-1][0][1]:
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch
