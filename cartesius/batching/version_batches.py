"""Batches of a correlation with versions: what holds at each time, and how a batch changes that.

A version that comes is valid until the next of its key; the one before is narrowed: the part that it loses is
displaced, and the rest stays. The results of a batch follow moment by moment: between two times at which something
begins or ends to hold, everything is as in a correlation without versions.

Invariant: between batches no version was valid at other times than it is.

Source: Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155; SEMANTICS 3.6 to 3.9.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from cartesius.data.entries import FRESH, GONE, LIVE
from cartesius.data.events import EARLIEST, LATEST
from cartesius.data.validity import ALWAYS, NEVER, difference, intersection, union
from cartesius.language.families import displace
from cartesius.results.outputs import Events, hull
from cartesius.results.version_outputs import VersionTotals, VersionView
from cartesius.storage.conservation import Fate
from cartesius.storage.stored import check_storable
from cartesius.storage.version_memories import ARRIVAL, Kind, Version, VersionMemory, ends
from cartesius.storage.versions_in_order import Moment, latest_before, time_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.batching.batches import Batch
    from cartesius.data.entries import Candidate, Entry
    from cartesius.data.events import Time
    from cartesius.data.validity import Interval, Validity
    from cartesius.language.families import Slot
    from cartesius.results.outputs import Span


class Versions:
    """The present batch of one correlation with versions."""

    def __init__(self, batch: Batch, moment: Moment) -> None:
        self.batch = batch
        self.moment = moment
        self.notify_at: Callable[[int], None]  # asks for a tick of the restriction that keeps versions
        self._touched: dict[int, tuple[Slot, Version]] = {}
        self._causes: list[Span] = []
        self._due: list[tuple[Time, int, int, Version]] = []  # a heap: when versions are not needed any more

    # -- changing ------------------------------------------------------------------------------------------------------

    def store(self, slot: Slot, entry: Entry) -> None:
        """Store an event as a version, or end the row that it deletes; what it replaces is displaced."""
        memory = slot.memory
        assert isinstance(memory, VersionMemory)
        found = self._span(memory, entry)
        if found is None:
            if not entry.deletes:
                slot.ledger.count(Fate.DISPLACED)  # by its rival
            return
        span, history = found
        version = Version(entry, (span,))
        version.was = NEVER
        version.number = self.batch.world.next_number()
        if version.more is not None:  # what it was for is done
            version.more = {name: what for name, what in version.more.items() if name != "span"} or None
        if memory.kind is not Kind.POINTS:
            for other in memory.holding(history, version.end):
                lost = intersection(other.validity, (span,))
                if lost and other.deletes:
                    memory.change(other, difference(other.validity, lost))
                elif lost:
                    displace(slot, other.piece(lost))
            if memory.kind is Kind.VERSIONS or not version.deletes:
                memory.remember(version)
        self._causes.append((entry.start, entry.end))
        if not version.deletes:
            if self.batch.world.durable:
                check_storable(version, slot.as_durable)
            memory.store(version)
            self._touch(slot, version)
            self.batch.push(slot, version)
        else:
            version.was = version.validity
        self._watch(slot, version)

    def _span(self, memory: VersionMemory, entry: Entry) -> tuple[Interval, list[Version]] | None:
        """Return when an event is valid, and the versions of its key; None if another one of its time wins."""
        at = entry.end
        if memory.kind is Kind.POINTS:
            return ((at, at + 1) if at not in (EARLIEST, LATEST) else ALWAYS[0]), []
        history = memory.history(entry)
        if memory.kind is Kind.ALWAYS:
            return ALWAYS[0], history
        given: Interval | None = entry.noted("span")
        if given is not None:
            memory.is_in_order = False
            return given, history
        place = latest_before(history, at)
        until = history[place].end if place < len(history) else LATEST
        alike = history[bisect_left(history, at, hi=place, key=time_of) : place]
        rival = next((other for other in alike if other.validity), None)
        ties = memory.ties
        if rival is not None and ties != ARRIVAL and rival.order(ties) >= Version(entry, NEVER).order(ties):
            return None
        return (at, until), history

    def displace(self, slot: Slot, entry: Entry) -> None:
        """Take away when a version, or the one that it is a piece of, is valid."""
        assert isinstance(entry, Version)
        version = entry.noted("of", entry)
        memory = slot.memory
        assert isinstance(memory, VersionMemory)
        self._touch(slot, version)
        memory.change(version, difference(version.validity, entry.validity))
        self._watch(slot, version)

    def _touch(self, slot: Slot, version: Version) -> None:
        self._touched[id(version)] = (slot, version)

    def _watch(self, slot: Slot, version: Version) -> None:
        """Ask for the time when nothing that may come can need a version any more."""
        keeps, end = _memory(slot).keeps, ends(version)
        if keeps is None or end in (EARLIEST, LATEST):
            return
        due = end + keeps
        item = (due, self.batch.world.next_number(), slot.index, version)
        self.batch.world.journal.append(lambda: self._unwatch(item))
        heapq.heappush(self._due, item)
        self.notify_at(int(due) - 1)

    def _unwatch(self, item: tuple[Time, int, int, Version]) -> None:
        self._due = [one for one in self._due if one is not item]
        heapq.heapify(self._due)

    def _watch_again(self, item: tuple[Time, int, int, Version]) -> None:
        self._unwatch(item)  # it may be there still
        heapq.heappush(self._due, item)

    def watch_all(self) -> None:
        """Watch what a snapshot has brought back; its deadlines have come with it."""
        self._due.clear()
        for slot in self.batch.slots:
            memory = slot.memory
            assert isinstance(memory, VersionMemory)
            found = {id(v): v for history in memory.histories.values() for v in history}
            found |= {id(v): v for v in memory}  # type: ignore[misc]  # all are versions
            for version in found.values():
                if memory.keeps is not None and ends(version) not in (EARLIEST, LATEST):
                    self._due.append((ends(version) + memory.keeps, version.number, slot.index, version))
        heapq.heapify(self._due)

    def forget(self, now: Time) -> None:
        """Let go of what nothing that may come can need any more."""
        keys = []
        while self._due and self._due[0][0] <= now:
            self.batch.world.journal.append(partial(self._watch_again, self._due[0]))
            item = heapq.heappop(self._due)
            due, _, index, version = item
            slot = self.batch.slots[index]
            if ends(version) + (_memory(slot).keeps or 0) == due:  # otherwise it has changed since
                _memory(slot).forget(version)
                if not version.deletes:
                    self.batch.expire(slot, version)
                keys.append(version.own_key())
        if isinstance(self.batch.output, VersionView):
            self.batch.output.forget(keys)
        if isinstance(self.batch.output, VersionTotals):
            self.batch.output.forget(self.horizon)

    # -- reading -------------------------------------------------------------------------------------------------------

    def looking_at(self, time: Time, read: Callable[[], Any]) -> Any:
        """Read what holds at ``time``, between batches."""
        before, self.moment.at = self.moment.at, time
        try:
            return read()
        finally:
            self.moment.at = before

    def times(self) -> list[Time]:
        """Return the times at which something begins or ends to hold."""
        return sorted(
            {
                bound
                for slot in self.batch.slots
                for version in slot.memory.all()
                for interval in version.validity  # type: ignore[attr-defined]  # all are versions
                for bound in interval
            }
            - {LATEST}
        )

    # -- the end of a batch --------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Retract and yield, moment by moment; collect garbage."""
        touched = list(self._touched.values())
        if not touched:
            self._causes.clear()  # what touched nothing is the cause of nothing that comes later
            return
        self.batch.cause = hull(self._causes) if self._causes else self.batch.cause
        changed = union(
            interval
            for _, version in touched
            for interval in (*difference(version.was, version.validity), *difference(version.validity, version.was))
        )
        lost: dict[tuple[float, ...], Candidate] = {}
        gained: dict[tuple[float, ...], Candidate] = {}
        for since, until in changed:
            at = since
            while at < until:
                self.moment.at, self.moment.next = at, until
                try:
                    self._look(touched, lost, gained)
                    at = self.moment.next
                finally:
                    self.moment.at = None
        if isinstance(self.batch.output, Events):
            self._give(lost, gained)
        for slot, version in touched:
            if not version.validity:
                _memory(slot).forget(version)
                if slot.memory.holds(version):
                    self.batch.count_left(slot, version, self.batch.fate_of(version))
                    slot.memory.remove(version)
            slot.memory.settle((version,))
        self._touched.clear()
        self._causes.clear()

    def _look(
        self,
        touched: Sequence[tuple[Slot, Version]],
        lost: dict[tuple[float, ...], Candidate],
        gained: dict[tuple[float, ...], Candidate],
    ) -> None:
        """Find what is lost and gained at the moment; if rows are kept by time, let the output see it."""
        batch = self.batch
        fresh: list[list[Entry]] = [[] for _ in batch.slots]
        gone: list[list[Entry]] = [[] for _ in batch.slots]
        for slot, version in touched:
            if self.moment.see(version) and version.state in (FRESH, GONE):
                (fresh if version.state == FRESH else gone)[slot.index].append(version)
        if not any(fresh) and not any(gone):
            return
        if batch.partial is not None:
            old, new = batch.partial.rows.changes(fresh, gone)
        else:
            old = list(batch.product.candidates(gone, GONE))
            new = list(batch.product.candidates(fresh, FRESH))
        if isinstance(batch.output, Events):
            lost.update((batch.rank(parts), parts) for parts in old)
            gained.update((batch.rank(parts), parts) for parts in new)
            return
        for parts in old:
            batch.take_back(parts, batch.cause)
        batch.choose(new)
        batch.output.look(self.moment)

    def _give(self, lost: dict[tuple[float, ...], Candidate], gained: dict[tuple[float, ...], Candidate]) -> None:
        """Take back the results that hold at no time any more, and give those that held at none before."""
        if self.batch.is_pure:
            for rank in sorted(lost):
                if not self._holds(lost[rank], lambda version: version.validity):
                    self.batch.take_back(lost[rank], self.batch.cause)
        self.batch.choose([gained[rank] for rank in sorted(gained) if not self._holds(gained[rank], lambda v: v.was)])

    def _holds(self, parts: Candidate, when: Callable[[Version], Validity]) -> bool:
        """Whether a result holds at some time; one with a missing part has a point, which was seen to change."""
        if any(part is None for part in parts):
            return False
        return bool(reduce(intersection, (when(part) for part in parts), ALWAYS))  # type: ignore[arg-type]  # none is missing

    @property
    def horizon(self) -> Time:
        """The time from which on the versions are all there."""
        keeps = _memory(self.batch.slots[0]).keeps
        return EARLIEST if keeps is None else self.batch.world.clock - keeps

    def clear(self) -> None:
        """Forget a batch that failed; the journal has undone what it did."""
        for _, version in self._touched.values():
            version.was = version.validity
            version.state = LIVE
        self._touched.clear()
        self._causes.clear()
        self.moment.at = None


def _memory(slot: Slot) -> VersionMemory:
    assert isinstance(slot.memory, VersionMemory)  # Invariant: beside versions all slots have one
    return slot.memory
