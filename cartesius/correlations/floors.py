"""Floors: of each reactive, how far it is promised that nothing with an earlier end comes any more.

The floor of an input is the clock. A gate lowers the floor of what stands behind it to what it holds, and may raise it
to a clock of its own; a correlation gives nothing below the floors of its slots, and what it holds back. So what lets
entries leave, or decides, asks whether a time is below the floors of the slots that matter (`Restriction.floors_of`),
and an event that is late for nobody finds its partners, however long gates have held it.

Where no gate stands in the way the floors are the clock, and a deadline is met by that (`Installed.floor_slots` is
empty). Elsewhere deadlines wait in `Deadlines` until the floors have passed them.

Right of a `key_by` a gate holds key by key, and what it holds of another key meets nothing of this one. So what decides
under the same keys looks at the gate's copy for its key alone: a quiet key keeps no other waiting, and the number of
buckets does not matter. All else it waits for under all keys: what correlations before hold, gates under other keys.
What must not come is kept until the floors of all keys have passed, as what is forgotten of it is not noted by key.
`analysis/waiting.py` refuses to split where that shows.

Invariant: once a time is below the floor of a slot, every event that comes to its memory has a later end.

Source: SEMANTICS 3.12; the low watermark of MillWheel (Akidau et al., VLDB 2013, doi:10.14778/2536222.2536229).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cartesius.batching.floored_deadlines import longest_of
from cartesius.correlations.continuations import held_by
from cartesius.correlations.placements import holds_back
from cartesius.data.events import EARLIEST
from cartesius.data.window_spans import window_of
from cartesius.plan import facts
from cartesius.results.outputs import Events
from cartesius.storage.stored import entries_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.language.families import Slot


NOBODY: Final = (object(),)
"""The key of no copy."""


class Floors:
    """The floors of the slots of one correlation, and of what it gives."""

    def __init__(self, join: Join) -> None:
        self._join = join
        self._sources: Sequence[Join | None] = [None for _ in join.slots]
        # Windows see an event when it has been through all others; they hold it until its batch is complete.
        openers = [one for one in join.installed if one.opens_windows and facts.comes_in_batches(one)]
        self._gates = [
            [one for one in reversed(join.installed) if _holds(one, slot)] + (openers if slot.has_windows else [])
            for slot in join.slots
        ]

    def begin(self, sources: Sequence[Join | None]) -> None:
        """Take note of what the slots come from, by slot, and of the restrictions that cannot go by the clock alone."""
        self._sources = sources
        for one in self._join.installed:
            if one.opens_windows:
                self._let_wait_for_common_gates(one)
                continue
            awaited = facts.floors(one)
            if awaited is None:
                continue
            slots = tuple([slot for slot in awaited or self._join.slots if self._matters(slot, one)])
            if all(self._is_clock(slot, one) for slot in slots):
                continue
            one.floor_slots = slots
            self._note_keyed_gates(one, {gate for slot in slots for gate in self._gates_before(slot, one)})
            self._join.world.deadlines.add_floored(one)

    def _let_wait_for_common_gates(self, opener: Installed) -> None:
        """Let a window stay while a gate that all windows have in common holds an event of it: it may find partners."""
        opener.floor_slots = tuple([slot for slot in self._join.slots if self._common_gates(slot)])
        if opener.floor_slots:
            self._note_keyed_gates(opener, {gate for slot in opener.floor_slots for gate in self._common_gates(slot)})
            self._join.world.deadlines.add_floored(opener)

    def _note_keyed_gates(self, one: Installed, gates: set[Installed]) -> None:
        prefix = self.held_under(one, one.prefix)
        one.keyed_gates = frozenset([gate for gate in gates if prefix and gate.prefix == prefix and not gate.suspends])

    def held_under(self, one: Installed, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the key under which gates hold what matters to a copy: its own, without the window."""
        window = self._join.bindings.window_space
        return tuple([part for space, part in zip(one.prefix, key, strict=False) if space != window])

    def _common_gates(self, slot: Slot) -> list[Installed]:
        space = self._join.bindings.window_space
        found = self._gates[slot.index] if slot.has_windows else []
        return [gate for gate in found if space not in gate.prefixes[slot.index] and not gate.opens_windows]

    def _matters(self, slot: Slot, one: Installed) -> bool:
        """Whether a slot may bring a partner: what must not come does for its own restriction alone."""
        return slot in one.named or slot.name not in self._join.pattern.absent.names

    # -- what is known before anything runs ----------------------------------------------------------------------------

    def _is_clock(self, slot: Slot, asking: Installed | None = None) -> bool:
        """Whether the floor of what comes to a memory, or to a gate that asks, is the clock."""
        source = self._sources[slot.index]
        may_pause = any(slot in one.pausing for one in self._join.installed)
        is_held = may_pause or any(one is not asking for one in self._gates_before(slot, asking))
        return not is_held and not _own_lag(slot) and (source is None or source.floors._gives_by_clock)

    @property
    def _gives_by_clock(self) -> bool:
        join = self._join
        is_plain = not any(one.restriction._states or one.suspends for one in join.installed)
        return is_plain and not self._gives_what_was and all(map(self._is_clock, self._present))

    @property
    def _gives_what_was(self) -> bool:
        """Whether results may be of nothing but what has long been in memory."""
        batch = self._join.batch
        waits = batch.partial is not None or batch.windows is not None or batch.relative is not None
        return waits and isinstance(batch.output, Events)  # a change of a table has the time of its cause, too

    def lags_of(self, one: Installed) -> dict[Slot, int | None]:
        """Return how far the floors that matter stay behind the clock where nothing is held; None: they never move."""
        known: dict[Join, int | None] = {}
        return {} if one.opens_windows else {slot: self._lag(slot, known) for slot in one.floor_slots}

    def _lag(self, slot: Slot, known: dict[Join, int | None]) -> int | None:
        source, own = self._sources[slot.index], _own_lag(slot)
        if slot.ended:
            return 0
        before = 0 if source is None else source.floors._given_lag(known)
        return None if own is None or before is None else own + before

    def _given_lag(self, known: dict[Join, int | None]) -> int | None:
        if self._join not in known:
            known[self._join] = longest_of([self._reach, *[self._lag(slot, known) for slot in self._present]])
        return known[self._join]

    @property
    def _reach(self) -> int | None:
        """Return how far back windows that are not freed take events, at most; None: any time."""
        openers = [one for one in self._join.installed if one.opens_windows]
        return openers[0].stateless.reach() if openers else 0

    @property
    def _present(self) -> list[Slot]:
        return [slot for slot in self._join.slots if slot.name not in self._join.pattern.absent.names]

    def _gates_before(self, slot: Slot, asking: Installed | None) -> list[Installed]:
        """Return the gates of a slot in the order in which they see an event; of one that asks, those before it."""
        gates = self._gates[slot.index]
        return gates[: gates.index(asking)] if asking in gates else gates

    # -- what is so at the moment --------------------------------------------------------------------------------------

    def let_decide(self, one: Installed, time: Time, key: tuple[Any, ...] = (), slots: Iterable[Slot] = ()) -> bool:
        """Whether nothing comes any more, to some slots or all that matter, by which ``time`` would be too soon.

        Args:
            one: Who asks.
            time: The time.
            key: That of the copy that asks; the empty tuple: of all keys.
            slots: Those of the slots that matter; none: all.
        """
        batch = self._join.batch
        if one.opens_windows:
            return self._join.world.is_past(time) and self.let_close(one, time, key)
        if not one.floor_slots:
            return time < batch.now
        under = () if one.absent and not slots else self.held_under(one, key)
        return not batch.is_behind and self._have_passed(slots or one.floor_slots, time, one, under)

    def let_tick(self, one: Installed, time: int, key: tuple[Any, ...]) -> bool:
        """Whether the deadline of a copy may be met."""
        copy = one.copies.get(key, one.stateless)
        return self.let_decide(one, time, key, copy.waits_for(time))

    def let_none(self, one: Installed, time: int) -> bool:
        """Whether a deadline at ``time`` or later may be met under no key, as it waits for what all have in common."""
        if one.opens_windows:
            return not self._join.world.is_past(time)
        if not one.keyed_gates and not one.absent:
            return True
        return not self._have_passed(one.absent or one.floor_slots, time, one, NOBODY)

    def keys_let_go(self, one: Installed, keys: Collection[tuple[Any, ...]]) -> Iterable[tuple[Any, ...]]:
        """Return of some keys those of which a gate that matters has done something in this push."""
        if all(slot.ended for slot in self._join.slots):
            return keys
        changed = {key for gate, key in self._join.world.touched if gate in one.keyed_gates}
        if not one.is_inside:
            return changed.intersection(keys)
        return [key for key in keys if self.held_under(one, key) in changed]

    def let_some(self, one: Installed, time: int) -> bool:
        """Whether a deadline at ``time`` may be met though no gate has done anything under its key.

        That is so once all that is held of any key is later, for what waits for that, and once gates of all keys take
        nothing so early from those of a key that come before them.
        """
        if one.absent and self._have_passed(one.floor_slots, time, one):
            return True
        found: list[Time] = []
        for slot in one.floor_slots:
            gates = self._gates_before(slot, one)
            first = next((place for place, gate in enumerate(gates) if gate in one.keyed_gates), None)
            if first is not None:
                found.append(max(map(_clock_of, gates[first:])))
        return time < min(found, default=EARLIEST)

    def let_close(self, opener: Installed, time: Time, key: tuple[Any, ...]) -> bool:
        """Whether no gate that windows have in common holds an event of one that is closed, or freed, at ``time``."""
        if not opener.floor_slots:
            return True
        under = self.held_under(opener, key)
        common = {gate for slot in opener.floor_slots for gate in self._common_gates(slot)}
        if all(slot.ended for slot in self._join.slots) and not any(_is_due(gate, opener, under) for gate in common):
            return True  # what they hold they will never let go
        held = (entry for gate in common for entry in _held_of(gate, opener, under))
        windows = [window for entry in held if (window := window_of(entry)) is not None]  # a table's row is in none
        return not any(time in opener.stateless.times_of(window) for window in windows)

    def _have_passed(
        self, slots: Iterable[Slot], time: Time, asking: Installed | None = None, under: tuple[Any, ...] = ()
    ) -> bool:
        """Whether nothing with an end at ``time`` or earlier comes to some slots any more."""
        return all(self._has_passed(slot, time, asking, under) for slot in slots)

    def _has_passed(self, slot: Slot, time: Time, asking: Installed | None, under: tuple[Any, ...]) -> bool:
        if self._is_over(asking, under):
            return True
        lag, source = _own_lag(slot), self._sources[slot.index]
        if slot.ended:
            is_past = True
        elif lag is None:
            is_past = False
        else:
            is_past = time + lag < self._join.world.clock if source is None else source.floors._gives_past(time + lag)
        is_past = is_past and not any(entry.end <= time for entry in entries_in(slot.door.queue))
        for gate in self._gates_before(slot, asking):
            is_held = any(entry.slot == slot.name and entry.end <= time for entry in _held_of(gate, asking, under)) or (
                gate.suspends and any(True for _ in held_by(gate))
            )  # what a continuation holds is not known
            is_past = (is_past or _clock_of(gate) > time) and not is_held
        return is_past

    def _gives_past(self, time: Time) -> bool:
        """Whether no result with an end at ``time`` or earlier comes any more."""
        join, reach = self._join, self._reach
        if join.is_done:
            return True
        if reach is None or not self._have_passed(self._present, time + reach):
            return False
        kept = [entry for one in join.installed for entry in one.held() if entry.slot not in join.pattern.absent.names]
        if self._gives_what_was:
            kept += [entry for slot in self._present for entry in slot.memory.all()]
        return not any((entry.end if not reach else entry.start - reach) <= time for entry in kept)

    def _is_over(self, asking: Installed | None, under: tuple[Any, ...]) -> bool:
        """Whether all has ended, and no deadline is left by which a gate could let go what it holds."""
        if not all(slot.ended for slot in self._join.slots):
            return False  # then gates that wait for floors do not wait for each other: of them the earliest goes first
        gates = (one for some in self._gates for one in some if not (one.floor_slots and asking in some))
        return not any(_is_due(one, asking, under) for one in gates)


def _held_of(gate: Installed, asking: Installed | None, under: tuple[Any, ...]) -> Iterable[Entry]:
    """Iterate over what a gate holds that matters to who asks, under a key; the empty tuple: under all."""
    copies = [*gate.copies.values()]
    if under and asking is not None and gate in asking.keyed_gates:
        copies = [gate.copies[under]] if under in gate.copies else []
    return [entry for copy in copies for entry in copy.yet_to_come()] if gate.opens_windows else gate.held(copies)


def _is_due(gate: Installed, asking: Installed | None, under: tuple[Any, ...]) -> bool:
    """Whether a copy of a gate that matters to who asks waits for a deadline."""
    if not under or asking is None or gate not in asking.keyed_gates:
        return bool(gate.due)
    return under in gate.due


def _holds(one: Installed, slot: Slot) -> bool:
    """Whether a restriction may hold events of a slot back; where others are absent, it holds rows of what has come."""
    return slot in one.gated and not one.absent and holds_back(one.restriction)


def _clock_of(gate: Installed) -> Time:
    """Return the time before which a gate lets nothing through any more, whatever comes to it."""
    copy = None if gate.prefix else gate.copies.get(())
    return EARLIEST if copy is None else copy.own_floor()


def _own_lag(slot: Slot) -> int | None:
    """Return how far behind the clock an event may be that a slot still takes; None: any number."""
    return slot.retention if slot.keeps_late and not slot.has_windows else 0
