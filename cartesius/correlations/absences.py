"""Absences at work: which events of absent slots bear on a row, when a row is decided, and when they are forgotten.

An event of an absent slot is kept until no event that comes can need it (`Restriction.due`), and as long as an event
that is in memory, in a gate, or part of an undecided row does (`Restriction.needs`). So it is looked at again when its
time is up, and whenever such an event leaves. What has been forgotten is known by its last end (`Slot.forgotten`): who
comes so late that this may matter is refused by the restriction, never decided on what is left.

Source: SEMANTICS 3.3; SASE's negation at the end of a pattern, Flink's `notFollowedBy` with a bound in time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from cartesius.data.entries import GONE
from cartesius.data.events import EARLIEST, LATEST
from cartesius.effects.operations import forward
from cartesius.errors import InvalidArgument, add_place
from cartesius.expressions.expressions import evaluator, slots_of
from cartesius.expressions.nulls import all_hold
from cartesius.language.clauses import of_clause
from cartesius.language.families import push
from cartesius.plan import facts
from cartesius.rows.enumeration import step_to, visit
from cartesius.storage.conservation import Fate
from cartesius.storage.memories import hashable
from cartesius.storage.stored import entries_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cartesius.batching.batches import Batch
    from cartesius.batching.bindings import Bindings
    from cartesius.correlations.installations import Installed
    from cartesius.data.entries import Candidate, Entry
    from cartesius.data.events import Time
    from cartesius.language.families import Slot
    from cartesius.language.matches import Match
    from cartesius.language.patterns import Pattern
    from cartesius.rows.enumeration import Step


_FEW: Final = 8
"""Of fewer events all are looked at in no time."""


class Absences:
    """The absent slots of one correlation, and who watches them."""

    def __init__(self, pattern: Pattern, bindings: Bindings, batch: Batch, installed: Iterable[Installed]) -> None:
        self.batch = batch
        self.installed = tuple(installed)
        self.slots = [slot for slot in bindings.slots if slot.name in pattern.absent.names]
        self.present = [slot for slot in bindings.slots if slot.name not in pattern.absent.names]
        self._doubtful: list[tuple[Slot, Entry]] = []
        self._overdue: dict[int, set[int]] = {slot.index: set() for slot in self.slots}  # numbers; needed all the same
        self._memories = [slot.memory for slot in bindings.slots]
        self._watchers = {slot.index: [one for one in self.installed if slot in one.absent] for slot in self.slots}
        self._check_present()
        places = {slot.name: slot.index for slot in bindings.slots}
        indexes = [slot.index for slot in self.present]
        self._steps: dict[tuple[int, int | None], Step] = {}
        self._conditions = {}
        for slot in self.slots:
            mine = [condition for condition in pattern.conditions if slot.name in slots_of(condition)]
            self._conditions[slot.index] = [evaluator(condition, places) for condition in mine]
            self._steps[slot.index, None] = step_to(slot.index, indexes, bindings.links)
            for index in indexes:
                self._steps[slot.index, index] = step_to(slot.index, [index], bindings.links)
                self._steps[index, slot.index] = step_to(index, [slot.index], bindings.links)
        for step in self._steps.values():
            self._memories[step.slot].index(step.positions)

    def _check_present(self) -> None:
        for one in self.installed:
            needed = one.named if one.absent else facts.in_order(one)
            wrong = [slot.name for slot in needed if slot not in (*one.absent, *self.present)]
            if wrong:
                message = (
                    f"{one.restriction!r}: expected a slot that has a part in each row but {wrong[0]!r} is absent"
                    " itself, by another restriction; name one that is there"
                )
                raise InvalidArgument(message)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def has(
        self, slot: Slot, parts: Candidate, counts: Callable[[Entry], bool], last: Callable[[], Time] = lambda: LATEST
    ) -> bool:
        """Whether an event of an absent slot that ``counts`` fits a row: by its keys, and the conditions on it.

        Those behind the first that ends after ``last`` need not be looked at, which is asked where there are many.
        """
        row = list(parts)
        found = visit(self._steps[slot.index, None], self._memories, row)
        end = last() if len(found) > _FEW else LATEST
        for entry in found:
            if entry.end > end:
                return False
            row[slot.index] = entry
            try:
                if entry.state != GONE and counts(entry) and all_hold(self._conditions[slot.index], row):
                    return True
            except Exception as error:
                add_place(error, f"in the body of {self.batch.name}")
                raise
        return False

    def passes(self, slot: Slot) -> bool:
        """Whether an event of ``slot`` is of no use once its batch is over: no other can meet it, or take its place."""
        others = [one for one in self.installed if not one.absent]
        return len(self.present) == 1 and not any(
            slot in one.slots_of(fields) for one in others for _, family, fields, _ in one.marks if family is push
        )

    def withdraw(self, slot: Slot, identity: Any) -> None:
        """Note that the source of an event takes it back: a row of it that waits does not come."""
        for one in self.installed:
            for held in one.held() if one.absent else ():
                if held.identity == identity and held.slot == slot.name and not held.withdrawn:
                    self.batch.world.journal.append(partial(held.note, withdrawn=False))
                    held.note(withdrawn=True)

    def may_complete(self, arrived: Any) -> bool:
        """Ask whether the output has completed, but not while rows wait for the clock."""
        waits = any(True for one in self.installed if one.absent for _ in one.held())
        return not waits and bool(forward(arrived))

    # -- memory --------------------------------------------------------------------------------------------------------

    def look_again(self, slot: Slot, entry: Entry) -> None:
        """Note that events may be forgotten: an absent one whose time is up, or what a part that left has needed."""
        self._doubtful.append((slot, entry))

    def settle(self) -> None:
        """Forget, at the end of a batch, what nothing needs any more."""
        doubtful, self._doubtful = self._doubtful, []
        for slot, entry in doubtful:
            if slot in self.slots:
                self._forget(slot, entry)
                continue
            for absent in self.slots:
                if overdue := self._overdue[absent.index]:
                    for other in [one for one in self._met(absent, slot, entry) if one.number in overdue]:
                        self._forget(absent, other)

    def _met(self, slot: Slot, by: Slot, entry: Entry) -> Iterable[Entry]:
        """Return the entries of ``slot`` that may be in a row with an entry of another."""
        row: Candidate = [None] * len(self._memories)
        row[by.index] = entry
        return visit(self._steps[slot.index, by.index], self._memories, row)

    def _forget(self, slot: Slot, entry: Entry) -> None:
        overdue, journal = self._overdue[slot.index], self.batch.world.journal
        if not slot.memory.holds(entry):  # it has left otherwise
            overdue.discard(entry.number)
            return
        waiting = self._waiting(slot, entry)
        for one, due in waiting:  # some floors that matter are not past it yet
            if due is not None and one.floor_slots and not one.is_inside:  # what is inside windows goes with them
                one.notify_at(int(due), one.key_of(slot, entry))
        if waiting:
            return
        if any(self._is_needed(one, slot, entry) for one in self._watchers[slot.index]):
            overdue.add(entry.number)
            return
        if entry.number in overdue:
            journal.append(partial(overdue.add, entry.number))
            overdue.remove(entry.number)
        slot.memory.remove(entry)
        self.batch.count_left(slot, entry, Fate.EXPIRED)
        journal.append(partial(setattr, slot, "forgotten", slot.forgotten))
        slot.forgotten = {**slot.forgotten, self._window(entry): max(self.forgotten(slot, entry), entry.end)}

    def _window(self, entry: Entry) -> tuple[Any, ...]:
        windows = self.batch.windows
        return () if windows is None or not windows.contains(entry) else windows.key([entry])

    def forgotten(self, slot: Slot, entry: Entry) -> Time:
        """Return the last end of what has been forgotten of an absent slot, in the window of ``entry``, if any."""
        window = self._window(entry)
        if window or self.batch.windows is None:
            return slot.forgotten.get(window, EARLIEST)
        return max(slot.forgotten.values(), default=EARLIEST)  # a row of a table is in all

    def close(self, window: tuple[Any, ...]) -> None:
        """Let a window go: nothing comes that would need what has been forgotten in it."""
        for slot in self.slots:
            if window in slot.forgotten:
                self.batch.world.journal.append(partial(setattr, slot, "forgotten", slot.forgotten))
                slot.forgotten = {other: end for other, end in slot.forgotten.items() if other != window}

    def _waiting(self, slot: Slot, entry: Entry) -> list[tuple[Installed, Time | None]]:
        """Return up to when an entry may still be needed by events that come in time; None: for ever."""
        dues = [(one, one.stateless.due(slot, entry)) for one in self._watchers[slot.index]]
        return [(one, due) for one, due in dues if due is None or not one.join.floors.let_decide(one, due)]

    def _is_needed(self, watcher: Installed, slot: Slot, entry: Entry) -> bool:
        needs = watcher.stateless.needs
        return any(
            any(needs(one, entry) for one in self._met(other, slot, entry))
            or any(
                needs(one, entry) and self._may_meet(other, one, slot, entry)
                for one in self._held(other, slot, entry, watcher)
            )
            for other in watcher.anchors
        )

    def _may_meet(self, other: Slot, one: Entry, slot: Slot, entry: Entry) -> bool:
        """Whether an event that is in no memory yet, or any more, has what links it to an entry of ``slot``."""
        step = self._steps[other.index, slot.index]
        try:
            found = [hashable(other.memory.probes[position](one)) for position in step.positions]
        except Exception:  # its value may have another form before all gates have seen it
            return True
        return found == [hashable(slot.memory.probes[position](entry)) for _, position, _ in step.sources]

    def _held(self, other: Slot, slot: Slot, entry: Entry, watcher: Installed) -> Iterator[Entry]:
        """Iterate over the events of another slot that wait: at its door, in gates, or in undecided rows."""
        yield from entries_in(other.door.queue)
        for one in self.installed:
            if one is watcher and facts.decides_by_due(one) and not one.floor_slots:  # else it may just have come
                continue
            if one.prefix and slot in one.named:
                found = [one.copies[key]] if (key := one.key_of(slot, entry)) in one.copies else []
            else:
                found = list(one.copies.values())
            states = (getattr(copy, name) for copy in found for name in one.restriction._states)
            yield from (held for state in states for held in entries_in(state) if held.slot == other.name)

    def clear(self) -> None:
        """Forget a batch that failed, or what was before a restore; see anew what is kept although its time is over."""
        self._doubtful.clear()
        for slot in self.slots:
            self._overdue[slot.index] = {entry.number for entry in slot.memory.all() if not self._waiting(slot, entry)}


def is_among(slot: Slot, parts: Candidate, counts: Callable[[Entry], bool]) -> bool:
    """Whether an event of the absent ``slot`` that ``counts`` fits a row. Only in a clause of a restriction."""
    installed, _ = of_clause("is_among", slot)
    return bool(installed.join.batch.absences.has(slot, parts, counts))


def passes(slot: Slot) -> bool:
    """Whether nothing can make use of an event of ``slot`` after its batch. Only in a clause of a restriction."""
    installed, _ = of_clause("passes", slot)
    return bool(installed.join.batch.absences.passes(slot))


def forgotten(slot: Slot, entry: Entry) -> Time:
    """Return the last end of what has been forgotten of the absent ``slot``, where ``entry`` is. Only in a clause."""
    installed, _ = of_clause("forgotten", slot)
    end: Time = installed.join.batch.absences.forgotten(slot, entry)
    return end


def look_again(slot: Slot, entry: Entry) -> None:
    """Say that events may be forgotten, as ``entry`` needs, or is needed, no more. Only in a restriction's clause."""
    installed, _ = of_clause("look_again", slot)
    installed.join.batch.absences.look_again(slot, entry)


def in_order(rows: Iterable[tuple[Candidate, int]]) -> Iterator[Match]:
    """Return rows that have been matched before as matches, in the order of candidates; of each its first n values.

    What has a part that its source has taken back is left out. Only in a clause of a restriction.
    """
    installed, _ = of_clause("in_order")
    batch = installed.join.batch
    for parts, count in sorted(rows, key=lambda row: batch.rank(row[0])):
        if any(part is not None and part.withdrawn for part in parts):
            continue
        match = batch.body.again(list(parts))
        match.values = match.values[:count]
        yield match


def is_over() -> bool:
    """Whether the slots that are present have ended, and nothing of them waits. Only in a clause of a restriction."""
    installed, _ = of_clause("is_over")
    join = installed.join
    held = any(entry.number < 0 for slot in join.batch.absences.present for entry in join.held(slot))
    has_ended = all(slot.ended and not slot.door.queue for slot in join.batch.absences.present)
    return has_ended and not held
