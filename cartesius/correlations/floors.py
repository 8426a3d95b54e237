"""Floors: of each reactive, how far it is promised that nothing with an earlier end comes any more.

The floor of an input is the clock. A gate lowers the floor of what stands behind it to what it holds, and may raise it
to a clock of its own; a correlation gives nothing below the floors of its slots, and what it holds back. So what lets
entries leave, or decides, asks whether a time is below the floors of the slots that matter (`Restriction.floors_of`),
and an event that is late for nobody finds its partners, however long gates have held it.

Where no gate stands in the way the floors are the clock, and a deadline is met by that (`Installed.floor_slots` is
empty). Elsewhere deadlines wait in `Deadlines` until the floors have passed them.

Right of a `key_by` a slot has a floor a key (`held_events`): that decides. Only what must not come is kept until the
floors of all keys have passed, as what is forgotten of it is not noted by key. Where what decides is not of one key,
`analysis/waiting.py` refuses to split.

Invariant: once a time is below the floor of a slot, every event that comes to its memory has a later end.

Source: SEMANTICS 3.12; the low watermark of MillWheel (Akidau et al., VLDB 2013, doi:10.14778/2536222.2536229).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from cartesius.correlations.held_events import Held
from cartesius.data.events import EARLIEST
from cartesius.data.window_spans import window_of
from cartesius.plan import facts
from cartesius.results.outputs import Events
from cartesius.storage.stored import entries_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Time
    from cartesius.language.families import Slot


class Floors:
    """The floors of the slots of one correlation, and of what it gives."""

    def __init__(self, join: Join) -> None:
        self._join = join
        self._sources: Sequence[Join | None] = [None for _ in join.slots]
        self._carried: Callable[[Slot, Join], Mapping[int, int]] = lambda _, __: {}
        self._gates = [[one for one in reversed(join.installed) if _holds(one, slot)] for slot in join.slots]

    def begin(self, sources: Sequence[Join | None], carried: Callable[[Join, Slot, Join], Mapping[int, int]]) -> None:
        """Take note of what the slots come from, and of the restrictions that cannot go by the clock alone.

        Args:
            sources: By slot the correlation that it comes from, if it comes from one.
            carried: Of this correlation, a slot and where that comes from: by key space, the one there that has the
                same keys. Asked when somebody waits.
        """
        self._sources = sources
        self._carried = cache(lambda slot, source: carried(self._join, slot, source))
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
            lags = [self._lag(slot) for slot in slots]
            one.floor_slots = slots
            one.lag = None if None in lags else max([lag for lag in lags if lag is not None])
            self._join.world.deadlines.add_floored(one)

    def _let_wait_for_common_gates(self, opener: Installed) -> None:
        """Let a window stay while a gate that all windows have in common holds an event of it: it may find partners."""
        opener.floor_slots = tuple([slot for slot in self._join.slots if self._common_gates(slot)])
        if opener.floor_slots:
            self._join.world.deadlines.add_floored(opener)

    def _common_gates(self, slot: Slot) -> list[Installed]:
        space = self._join.bindings.window_space
        return [gate for gate in self._gates[slot.index] if slot.has_windows and space not in gate.prefixes[slot.index]]

    def _matters(self, slot: Slot, one: Installed) -> bool:
        """Whether a slot may bring a partner: what must not come does for its own restriction alone."""
        return slot in one.named or slot.name not in self._join.pattern.absent.names

    # -- what is known before anything runs ----------------------------------------------------------------------------

    def _is_clock(self, slot: Slot, asking: Installed | None = None) -> bool:
        """Whether the floor of what comes to a memory, or to a gate that asks, is the clock."""
        source = self._sources[slot.index]
        is_held = self._may_pause(slot) or any(one is not asking for one in self._gates_before(slot, asking))
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

    def _lag(self, slot: Slot) -> int | None:
        """Return by how much a floor stays behind the clock where nothing is held; None if it never moves."""
        source, own = self._sources[slot.index], _own_lag(slot)
        before = 0 if source is None else source.floors._given_lag
        return None if own is None or before is None else own + before

    @property
    def _given_lag(self) -> int | None:
        lags = [self._reach, *map(self._lag, self._present)]
        return None if None in lags else max([lag for lag in lags if lag is not None])

    @property
    def _reach(self) -> int | None:
        """Return how far back windows that are not freed take events, at most; None: any time."""
        openers = [one for one in self._join.installed if one.opens_windows]
        return openers[0].stateless.reach() if openers else 0

    @property
    def _present(self) -> list[Slot]:
        return [slot for slot in self._join.slots if slot.name not in self._join.pattern.absent.names]

    def _may_pause(self, slot: Slot) -> bool:
        return any(slot in one.pausing for one in self._join.installed)

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
        held = self._held(one, () if one.absent and not slots else key)
        return not batch.is_behind and self._have_passed(slots or one.floor_slots, time, held)

    def _held(self, one: Installed, key: tuple[Any, ...]) -> Held:
        """Return what matters to a copy of that which is held."""
        window = self._join.bindings.window_space  # what is held outside is in no window
        parts = {space: part for space, part in zip(one.prefix, key, strict=False) if space != window}
        return Held(self._join, parts, one)

    def let_tick(self, one: Installed, time: int, key: tuple[Any, ...]) -> bool:
        """Whether the deadline of a copy may be met."""
        copy = one.copies.get(key, one.stateless)
        return self.let_decide(one, time, key, copy.waits_for(time))

    def may_let_others(self, one: Installed, time: int) -> bool:
        """Whether a deadline after one at ``time`` may be met before it: it waits for what is held of its key alone."""
        if one.opens_windows:
            return self._join.world.is_past(time)
        return bool(one.absent) or self._have_passed(one.floor_slots, time, Held(self._join, {}, one, counts=False))

    def let_close(self, opener: Installed, time: Time, key: tuple[Any, ...]) -> bool:
        """Whether no gate that windows have in common holds an event of one that is closed, or freed, at ``time``."""
        if not opener.floor_slots:
            return True
        held = self._held(opener, key)
        common = {gate for slot in opener.floor_slots for gate in self._common_gates(slot)}
        if all(slot.ended for slot in self._join.slots) and not any(map(held.is_due, common)):
            return True  # what they hold they will never let go
        return not any(
            time in opener.stateless.times_of(window_of(entry)) for gate in common for entry in held.by(gate)
        )

    def _have_passed(self, slots: Iterable[Slot], time: Time, held: Held) -> bool:
        """Whether nothing with an end at ``time`` or earlier comes to some slots any more."""
        return all(self._has_passed(slot, time, held) for slot in slots)

    def _has_passed(self, slot: Slot, time: Time, held: Held) -> bool:
        if self._is_over(held):
            return True
        lag = _own_lag(slot)
        if slot.ended:
            is_past = True
        elif lag is None:
            is_past = False
        else:
            is_past = self._comes_past(slot, time + lag, held)
        is_past = is_past and not any(entry.end <= time for entry in held.among(entries_in(slot.door.queue)))
        for gate in self._gates_before(slot, held.asking):
            is_past = (is_past or _clock_of(gate) > time) and not held.keeps(gate, slot, time)
        return is_past

    def _comes_past(self, slot: Slot, time: Time, held: Held) -> bool:
        """Whether nothing with an end at ``time`` or earlier comes to the door of a slot any more."""
        source = self._sources[slot.index]
        if source is None:
            return time < self._join.world.clock
        return source.floors._gives_past(time, held.of_source(source, self._carried(slot, source)))

    def _gives_past(self, time: Time, held: Held) -> bool:
        """Whether no result with an end at ``time`` or earlier comes any more."""
        join, reach = self._join, self._reach
        if join.is_done:
            return True
        if reach is None or not self._have_passed(self._present, time + reach, held):
            return False
        kept = [
            entry for one in join.installed for entry in held.by(one) if entry.slot not in join.pattern.absent.names
        ]
        if self._gives_what_was:
            kept += [entry for slot in self._present for entry in held.among(slot.memory.all())]
        return not any((entry.end if not reach else entry.start - reach) <= time for entry in kept)

    def _is_over(self, held: Held) -> bool:
        """Whether all has ended, and no deadline is left by which a gate could let go what it holds."""
        return all(slot.ended for slot in self._join.slots) and not any(
            held.is_due(one) for gates in self._gates for one in gates if not one.floor_slots
        )


def _holds(one: Installed, slot: Slot) -> bool:
    """Whether a restriction may hold events of a slot back: it sees them come, has where to put them, and may do so."""
    if slot not in one.gated or one.absent:  # where others are absent, it holds rows of what has come already
        return False
    return one.suspends or (bool(one.restriction._states) and (facts.may_hold(one) or facts.held(one) is not None))


def _clock_of(gate: Installed) -> Time:
    """Return the time before which a gate lets nothing through any more, whatever comes to it."""
    copy = None if gate.prefix else gate.copies.get(())
    return EARLIEST if copy is None else copy.own_floor()


def _own_lag(slot: Slot) -> int | None:
    """Return how far behind the clock an event may be that a slot still takes; None: any number."""
    return slot.retention if slot.keeps_late and not slot.has_windows else 0
