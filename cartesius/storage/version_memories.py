"""Versions: a memory that is a history by event time.

Every entry has a *validity*, when it holds. At a *moment*, memory holds what is valid then, so that enumeration at a
moment is as ever. While a batch lasts, a version also knows when it was valid before: at a moment it is fresh, gone,
or neither.

    versions  of a row, or of a key: each is valid until the next, in whatever order they come
    points    an event of a stream: it is there at its own time
    always    a row that has no versions: it holds while it is there

Source: Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155; SEMANTICS 3.6 and 3.7.
"""

from __future__ import annotations

import enum
import sys
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final

from cartesius.data.codec import text_of
from cartesius.data.entries import ABSENT, LIVE, Entry
from cartesius.data.events import EARLIEST
from cartesius.data.validity import Validity, covers
from cartesius.errors import NotStorable
from cartesius.storage.memories import Memory
from cartesius.storage.versions_in_order import (
    LEAST,
    Timeline,
    bring,
    drop,
    is_in_order,
    is_there,
    latest_before,
    number_of,
    standing,
    turn_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from cartesius.data.events import Time
    from cartesius.data.journals import Journal
    from cartesius.storage.memories import Places
    from cartesius.storage.versions_in_order import Moment

    Ties: TypeAlias = "Callable[[Any], Any] | Literal['arrival'] | None"

NEWEST: Final = sys.float_info.max
"""A time after all that happens: what holds then is the newest version."""
ARRIVAL: Final = "arrival"
"""In place of what decides between versions of one time: the later one holds."""


class Kind(enum.Enum):
    """How the entries of a slot are valid."""

    VERSIONS = "versions"
    POINTS = "points"
    ALWAYS = "always"


@final
class Version(Entry):
    """An entry with its validity, and with what that was before the batch."""

    __slots__ = ("validity", "was")

    def __init__(self, entry: Entry, validity: Validity) -> None:
        super().__init__(entry.value, entry.start, entry.end, entry._identity)
        self.keys, self.row_key, self.slot = entry.keys, entry.row_key, entry.slot
        self.number, self.more = entry.number, entry.more
        self.validity = validity
        self.was = validity

    @property
    def identity(self) -> Any:
        """What tells it from all other events: the versions of a row differ in their time."""
        found = super().identity
        return (*found, self.end) if type(self._identity) is str else found

    @property
    def event_identity(self) -> Any:
        """What tells the event that it is from others: of a row, its table and its key."""
        return super().identity

    def piece(self, validity: Validity) -> Version:
        """Return a part of it, by time: what a newer version displaces."""
        piece = Version(self, validity)
        piece.note(of=self)
        return piece

    def order(self, ties: Callable[[Any], Any] | None) -> tuple[Any, ...]:
        """Return what decides which of two versions of a time holds: not which came first.

        First what ``ties`` says of the value, or of the row that a deletion came with; what it does not say is least.
        Of what is alike in all, results have other times where one began earlier.
        """
        row = self.noted("row") if self.deletes else self.value
        tie = None if ties is None or row is None else ties(row)
        is_said = tie is not None and tie == tie  # noqa: PLR0124 - NaN
        try:
            content = "" if self.deletes else text_of(self.value)
        except NotStorable:
            content = ""
        return (is_said, tie if is_said else 0, not self.deletes, content, self.start)


@final
class VersionMemory(Memory):
    """The entries of one slot of a correlation with versions."""

    __slots__ = ("_timelines", "histories", "is_in_order", "keeps", "kind", "moment", "retention", "ties")

    def __init__(
        self,
        journal: Journal,
        moment: Moment,
        kind: Kind,
        *,
        retention: int | None,
        keeps: int | None,
        finds: bool = False,
    ) -> None:
        super().__init__(journal, finds=finds)
        self.moment = moment
        self.kind = kind
        self.retention = retention  # how far behind the clock events still count, in time units; None: all do
        self.ties: Ties = None
        self.keeps = keeps  # for how long what is over is kept: what comes late to another slot may meet it
        self.histories: dict[Any, list[Version]] = {}  # versions by key, in order of time, with deletions
        self.is_in_order = kind is not Kind.ALWAYS  # whether all that has come holds from its time to the next
        self._timelines: dict[tuple[int, Any], Timeline] = {}  # by index, and the key in it, of those that are long

    def history(self, entry: Entry) -> list[Version]:
        """Return the versions of the key of ``entry``."""
        return self.histories.get(self._key(entry), [])

    def remember(self, version: Version) -> None:
        """Put a version, or a deletion, into the history of its key."""
        number = version.number

        def undo() -> None:
            version.number = number  # by which it is found; if it was stored, that has been undone before
            self._drop(version)

        self.journal.append(undo)
        self._bring(version)
        self._look_at(version)

    def forget(self, version: Version) -> None:
        """Take a version, or a deletion, out of the history of its key, if it is there."""
        if is_there(self.history(version), version):
            self.journal.append(partial(self._bring, version))
            self._drop(version)

    def _bring(self, version: Version) -> None:
        bring(self.histories.setdefault(self._key(version), []), version)

    def _drop(self, version: Version) -> None:
        history = self.history(version)
        drop(history, version)
        if not history:
            self.histories.pop(self._key(version), None)

    def holding(self, history: list[Version], time: Time) -> list[Version]:
        """Return those of the versions of a key that may hold at a time, or until the next of them."""
        if not self.is_in_order:
            return history
        places = range(latest_before(history, time) - 1, -1, -1)
        return next(([history[place]] for place in places if history[place].validity), [])

    def load_histories(self, others: Iterable[Entry]) -> None:
        """Bring the histories back, of the entries that are there and of ``others``: deletions, and what is used up."""
        if self.kind is Kind.POINTS:
            return
        for version in (*super().all(), *others):
            assert isinstance(version, Version)
            self.histories.setdefault(self._key(version), []).append(version)
        for history in self.histories.values():
            history.sort(key=turn_of)
            for version in history:
                self._look_at(version)

    def _key(self, entry: Entry) -> Any:
        return (entry.row_key,) if entry.row_key is not ABSENT else entry.keys

    def change(self, version: Version, validity: Validity) -> None:
        """Change when a version is valid."""
        before = version.validity, version.was, version.state  # a step of the call may have ended in between

        def undo() -> None:
            version.validity, version.was, version.state = before

        self.journal.append(undo)
        version.validity = validity
        self._look_at(version)

    def _look_at(self, version: Version) -> None:
        self.is_in_order = self.is_in_order and is_in_order(version)

    def _enter(self, entry: Entry, places: Places) -> None:
        super()._enter(entry, places)
        assert isinstance(entry, Version)
        self._look_at(entry)
        for at, _ in self._timed(places):
            self._timelines[at].add(entry)

    def _leave(self, entry: Entry, places: Places) -> None:
        super()._leave(entry, places)
        assert isinstance(entry, Version)
        for at, index in self._timed(places):
            drop(self._timelines[at].versions, entry)
            if not index or (index is not self._entries and at[1] not in index):
                del self._timelines[at]

    def _timed(self, places: Places) -> list[tuple[tuple[int, Any], dict[Any, Any]]]:
        """Return the timelines that an entry is in, by their keys, each with its index."""
        if not self.is_in_order:
            self._timelines.clear()  # nobody asks for them any more
        if not self._timelines:
            return []
        indexes = ((self._entries, None), *places)
        return [(at, index) for index, key in indexes if (at := (id(index), key)) in self._timelines]

    def settle(self, entries: Iterable[Entry]) -> None:
        """End a batch for ``entries``."""
        for entry in entries:
            entry.state = LIVE
            assert isinstance(entry, Version)
            entry.was = entry.validity

    def all(self) -> Collection[Entry]:
        """Return the entries of the moment, oldest first, gone ones included."""
        return self._seen(super().all(), self._entries, None)

    def lookup(self, positions: tuple[int, ...], key: Any) -> Collection[Entry]:
        """Return the entries of the moment found by ``key``, oldest first, gone ones included."""
        return self._seen(super().lookup(positions, key), self._indexes[positions], key) if positions else self.all()

    def rows_of(self, key: Any) -> Collection[Entry]:
        """Return the entries of the moment of one row, oldest first, gone ones included."""
        history = self.histories.get((key,), [])
        if self.is_in_order and self.moment.at is not None and len(history) >= LEAST:
            return [version for version in standing(history, self.moment) if not version.deletes]
        found = [version for version in history if not version.deletes]
        return self._asked(sorted(found, key=number_of))

    def _seen(self, found: Collection[Entry], index: dict[Any, Any], key: Any) -> Collection[Entry]:
        """Return what is there at the moment of what an index has by a key."""
        if self.moment.at is None or len(found) < LEAST or not self.is_in_order:
            return self._asked(found)
        timeline = self._timelines.get((id(index), key))
        if timeline is None:
            key_of = _time_alone if self.kind is Kind.POINTS else self._key
            timeline = self._timelines[(id(index), key)] = Timeline(found, key_of)  # type: ignore[arg-type]  # all are versions
        return self._asked(found) if timeline.is_mixed else standing(timeline.versions, self.moment)

    def _asked(self, found: Collection[Entry]) -> Collection[Entry]:
        if self.moment.at is None:
            return found
        return [entry for entry in found if self.moment.see(entry)]  # type: ignore[arg-type]  # all are versions

    def row_at(self, entry: Entry) -> Entry | None:
        """Return the version of the same row that holds at the time of ``entry``."""
        found = self.holding(self.history(entry), entry.end)
        return next((v for v in found if not v.deletes and covers(v.validity, entry.end)), None)

    def row(self, key: Any) -> Entry | None:
        """Return the newest version of a row, by its key; none if it has been deleted."""
        history = self.histories.get((key,))
        return None if not history or history[-1].deletes else history[-1]


def ends(version: Version) -> Time:
    """Return when a version is over: it is not needed for what comes later. Of a deletion its beginning."""
    if version.deletes:
        return version.end
    return max((until for _, until in version.validity), default=EARLIEST)


def _time_alone(version: Entry) -> None:
    """Events that are there at their own time alone have nothing else in common."""


def ties_of(configured: Any) -> Ties:
    """Return what a restriction says of versions of one time, whose ``ties`` may name a field."""
    return attrgetter(configured) if isinstance(configured, str) and configured != ARRIVAL else configured
