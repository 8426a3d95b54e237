"""The join shape: one correlation at work, as layers of handlers around strands.

    collect        what results become                       yield_, retract_
      trigger      the body: where, yields                   trigger
        outer      selectors, retracting, …, as written; then the defaults
                                                             select, displace_i, retract_i, optional_i, row_key,
                                                             completes
          product  enumerate the batch, spend uses           push_i
            strands: the rest is installed on every one
              memory     restrictions that see push_i
                remember store the event                     arrive_i, withdraw_i
                  gates  restrictions that see arrive_i, withdraw_i, tick
                    strand i: await_ → keys → arrive_i(event);   clock strand: await_ → tick

Invariant: between steps every strand is parked at its inbox, no entry is fresh or gone, and all that matters is in the
memories, the restrictions' copies, the output rows and the shared `World`: plain data.

Source: ICFP 2018, doi:10.1145/3236762, Figures 10 to 14, as SEMANTICS 1.1 to 1.12 corrects them. This module is over
    300
lines because the layers are read together.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.asked_rows import AskedRows
from cartesius.enumeration import Link, Product, rank
from cartesius.errors import InvalidArgument
from cartesius.expressions import evaluator
from cartesius.families import (
    FAMILIES,
    Slot,
    arrive,
    completes,
    displace,
    optional,
    push,
    retract,
    row_key,
    select,
    withdraw,
)
from cartesius.handlers import handle
from cartesius.installations import Installed, Layer
from cartesius.memories import ABSENT, FRESH, GONE, LIVE, UNLIMITED, Entry, Memory
from cartesius.operations import Operation
from cartesius.outputs import Events, Rows
from cartesius.partial_rows import PartialRows
from cartesius.strands import Future, Strands, await_

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from cartesius.enumeration import Candidate
    from cartesius.events import Event, Time
    from cartesius.handlers import Handler
    from cartesius.outputs import Span
    from cartesius.patterns import Pattern
    from cartesius.reactives import Reactive
    from cartesius.restriction_base import Restriction
    from cartesius.world import World


@attrs.define(slots=True)
class Match:
    """A candidate that satisfied the body: its parts, their hull, and what the body yielded."""

    parts: Candidate
    start: Time
    end: Time
    values: list[Any]

    @property
    def rank(self) -> tuple[float, ...]:
        """Its place in the order of enumeration."""
        return rank(self.parts)


class Join:
    """One correlation in one engine."""

    def __init__(self, pattern: Pattern, name: str, number: int, world: World) -> None:
        self.pattern = pattern
        self.name = name
        self.number = number
        self.world = world
        self.is_done = False
        self.strands = Strands()
        self.operations: dict[Any, Operation[..., Any]] = {
            family: Operation(family.name) for family in FAMILIES if not family.of_slot
        }
        self.yielded: Operation[..., Any] = Operation("yield_")
        self.retracted: Operation[..., Any] = Operation("retract_")
        self.trigger: Operation[..., Any] = Operation("trigger")
        self.slots = [
            Slot(
                slot,
                index,
                reactive,
                Memory(world.journal, finds=reactive.pattern is not None and not reactive.table),
                {family: Operation(f"{family.name}_{slot}") for family in FAMILIES if family.of_slot},
            )
            for index, (slot, reactive) in enumerate(pattern.slots.items())
        ]
        self._prepare_keys()
        self.installed = self._install()
        self.links = self._links()
        self._prepare_body()
        self._fresh: list[list[Entry]] = [[] for _ in self.slots]
        self._gone: list[list[Entry]] = [[] for _ in self.slots]
        self._retract: list[list[Entry]] = [[] for _ in self.slots]
        self._spent: list[tuple[Slot, Entry]] = []
        self._cause: Span = (0, 0)
        outer = self._layer("outer")
        self.is_table = False
        self.outer: Handler = self._base()
        for layer in outer:
            self.outer = self.outer | layer
        self._choose_output()
        trigger = Layer("trigger", {self.trigger: (False, self._trigger)})
        self.outer = self._collect() | trigger | self.outer | self._product()
        self.inner = self._inner()
        self._build_strands()
        for one in self.installed:
            if one.starts and not any(one.prefixes.values()):
                self._under_all(partial(one.copy, ()))

    # -- building ------------------------------------------------------------------------------------------------------

    def find_slots(self, name: str | Reactive, restriction: Restriction) -> list[Slot]:
        """Return the slots that a variable name or a reactive means; raise `InvalidArgument` if there is none."""
        found = [slot for slot in self.slots if name in (slot.name, slot.reactive)]
        if not found:
            found = [slot for slot in self.slots if slot.reactive.name == name]
        if not found:
            raise InvalidArgument(self.pattern.unknown_slot(name, f"{restriction!r}"))
        return found

    def _prepare_keys(self) -> None:
        self.spaces: list[dict[int, Callable[[Any], Any]]] = []
        self._left: dict[int, list[int]] = {slot.index: [] for slot in self.slots}
        self._prefixes: list[dict[int, tuple[int, ...]]] = []
        for restriction in self.pattern.restrictions:
            self._prefixes.append({index: tuple(spaces) for index, spaces in self._left.items()})
            space = restriction.key_space()
            if not space:
                continue
            by_slot = {
                slot.index: extract for name, extract in space.items() for slot in self.find_slots(name, restriction)
            }
            for index in by_slot:
                self._left[index].append(len(self.spaces))
            self.spaces.append(by_slot)
        for slot in self.slots:
            slot.memory.probes.extend(_key_probe(space) for space in range(len(self.spaces)))

    def _install(self) -> list[Installed]:
        installed = [
            Installed(restriction, self, number, self._prefixes[number])
            for number, restriction in enumerate(self.pattern.restrictions)
        ]
        for one in installed:
            others = tuple(other.restriction for other in installed if other is not one)
            one.restriction.check(one.slots, others)
        return installed

    def _links(self) -> list[Link]:
        links = []
        for position, space in enumerate(self.spaces):
            concerned = sorted(space)
            links += [Link(a, position, b, position, True) for i, a in enumerate(concerned) for b in concerned[i + 1 :]]
        index = {slot.name: slot.index for slot in self.slots}
        for (left_slot, left), (right_slot, right) in self.pattern.equalities:
            ends = []
            for name, side in ((left_slot, left), (right_slot, right)):
                probes = self.slots[index[name]].memory.probes
                probes.append(_value_probe(evaluator(side, {name: 0})))
                ends += [index[name], len(probes) - 1]
            links.append(Link(ends[0], ends[1], ends[2], ends[3], False))
        return links

    def _prepare_body(self) -> None:
        memories = [slot.memory for slot in self.slots]
        self._where, self._yields = self.pattern.body({slot.name: slot.index for slot in self.slots})
        self.product = Product(memories, self.links)
        self.partial_rows: PartialRows | AskedRows | None = None

    def _layer(self, name: str) -> list[Layer]:
        return [layer for one in self.installed if (layer := one.layer(name)) is not None]

    def _choose_output(self) -> None:
        """Ask the outer restrictions, once, what may be missing and whether results are rows of a table."""
        missing = [bool(handle(self.outer, partial(optional, slot))) for slot in self.slots]
        self.key = handle(self.outer, self.operations[row_key])
        self.is_table = self.key is not None
        self.output: Events | Rows = Events(self.name)
        if self.is_table:
            keeps_all = any(one.restriction.retracts for one in self.installed)
            self.output = Rows(self.name, self.world.journal, keeps_all=keeps_all)
        self._row_key = self._row_keys()
        self._finds_rows = isinstance(self.key, str) and not self.pattern.is_generator
        if any(missing):
            self.partial_rows = self._partial(missing)

    def _partial(self, missing: list[bool]) -> PartialRows | AskedRows:
        memories = [slot.memory for slot in self.slots]
        if self.pattern.is_direct:
            links = [link for link in self.links if link.is_key]
            return AskedRows(memories, links, missing, lambda row: bool(self._yields(row)))
        if not self.pattern.is_where_traced:
            message = (
                "optionally: expected a where that traces, so that a condition on a missing part can be left out,"
                f" but {self.pattern.untraced[0]}"
            )
            raise InvalidArgument(message)
        links = [link for link in self.links if not link.is_key or self._is_spoke(link, missing)]
        names = [slot.name for slot in self.slots]
        return PartialRows(names, memories, links, self.pattern.conditions(), missing)

    def _row_keys(self) -> Callable[[Candidate, Any], Any]:
        """Return how the table key of a result is computed from its parts and its value."""
        if self.key is None:
            return lambda parts, value: None
        if callable(self.key):
            by: Callable[[Any], Any] = self.key
            return lambda parts, value: by(value)
        restriction = next(r for r in self.pattern.restrictions if r.makes_table)
        (slot, *_) = self.find_slots(self.key, restriction)
        if not slot.reactive.table and not self._left[slot.index]:
            message = (
                f"{restriction!r}: expected a slot with a key (of a table, or keyed by key_by) but {slot.name!r}"
                " has none; use a function of the yielded value"
            )
            raise InvalidArgument(message)

        def key(parts: Candidate, value: Any) -> Any:
            part = parts[slot.index]
            return None if part is None else part.own_key()

        return key

    def _is_spoke(self, link: Link, missing: list[bool]) -> bool:
        """Whether a link of a key space leads from its first mandatory slot: that is always there, so those suffice."""
        concerned = sorted(self.spaces[link.left_position])
        hub = next((slot for slot in concerned if not missing[slot]), None)
        if hub is None and len(concerned) > 2:
            names = ", ".join(self.slots[slot].name for slot in concerned)
            message = f"optionally: expected a slot that may not be missing among those of one key_by but got {names}"
            raise InvalidArgument(message)
        return hub is None or hub in (link.left, link.right)

    def _collect(self) -> Layer:
        return Layer("collect", {self.yielded: (False, self._add), self.retracted: (False, self._take_back)})

    def _base(self) -> Layer:
        clauses: dict[Operation[..., Any], tuple[bool, Callable[..., Any]]] = {
            self.operations[select]: (False, self._select),
            self.operations[row_key]: (False, lambda: None),
            self.operations[completes]: (False, lambda _: all(slot.ended for slot in self.slots)),
        }
        for slot in self.slots:
            clauses[slot.operations[displace]] = (False, self._displace)
            clauses[slot.operations[retract]] = (False, self._mark_retracted)
            clauses[slot.operations[optional]] = (False, lambda _: False)
        return Layer("defaults", clauses)

    def _product(self) -> Layer:
        return Layer("product", {slot.operations[push]: (False, lambda _, entry: None) for slot in self.slots})

    def _inner(self) -> list[Handler]:
        remember = {slot.operations[arrive]: (False, self._remember) for slot in self.slots}
        remember |= {slot.operations[withdraw]: (False, self._withdraw) for slot in self.slots}
        return [*self._layer("memory"), Layer("remember", remember), *self._layer("gates")]

    def _build_strands(self) -> None:
        self.strands.drop()
        self.strands = Strands()
        self.inboxes: list[Future[Any]] = [Future() for _ in self.slots]
        self.alarm: Future[Any] = Future()
        handlers = self._composed_inner()
        for slot in self.slots:
            if not slot.ended:
                self.strands.spawn(partial(handle, handlers, partial(self._strand, slot)))
        self.strands.spawn(partial(handle, handlers, self._clock_strand))
        handle(self.outer, self.strands.run)

    def _composed_inner(self) -> Handler:
        handlers = self.inner[0]
        for handler in self.inner[1:]:
            handlers = handlers | handler
        return handlers

    def _under_all(self, thunk: Callable[[], object]) -> None:
        handle(self.outer, lambda: handle(self._composed_inner(), thunk))

    # -- strands -------------------------------------------------------------------------------------------------------

    def _strand(self, slot: Slot) -> None:
        while (batch := await_(self.inboxes[slot.index])) is not None:
            self.inboxes[slot.index] = Future()
            for entry in batch:
                self._cause = (entry.start, entry.end)
                self._add_keys(slot, entry)
                (withdraw if entry.weight < 0 else arrive)(slot, entry)

    def _clock_strand(self) -> None:
        while True:
            installed, key, now = await_(self.alarm)
            self.alarm = Future()
            self._cause = (now, now)
            installed.ticking(key, now)

    def _add_keys(self, slot: Slot, entry: Entry) -> None:
        if not self.spaces:
            return
        if entry.weight < 0 or entry.deletes:
            present = slot.memory.rows.get(entry.row_key) if entry.deletes else slot.memory.find(entry.identity)
            if present is not None:
                entry.keys = present.keys
                return
        entry.keys = tuple(
            [
                _checked_key(space[slot.index](entry.value), slot)
                if slot.index in space and not entry.deletes
                else ABSENT
                for space in self.spaces
            ]
        )

    def _remember(self, slot: Slot, entry: Entry) -> None:
        memory = slot.memory
        before = memory.rows.get(entry.row_key) if entry.row_key is not ABSENT else None
        if entry.deletes:
            if before is not None:
                memory.replace_row(None, entry.row_key)
                displace(slot, before)
            return
        entry.number = self.world.next_number()
        if before is not None:
            memory.replace_row(None, entry.row_key)
        memory.store(entry)
        self._fresh[slot.index].append(entry)
        if before is not None:
            displace(slot, before)
        push(slot, entry)

    def _withdraw(self, slot: Slot, entry: Entry) -> None:
        present = slot.memory.find(entry.identity)
        if present is not None:
            displace(slot, present)

    # -- the outer handlers --------------------------------------------------------------------------------------------

    def _displace(self, slot: Slot, entry: Entry) -> None:
        if entry.state == FRESH:
            self._fresh[slot.index].remove(entry)
            slot.memory.remove(entry)
        elif entry.state == LIVE:
            entry.state = GONE
            entry.cause = self._cause
            self._gone[slot.index].append(entry)
            self.world.journal.append(lambda: setattr(entry, "state", LIVE))

    def _mark_retracted(self, slot: Slot, entry: Entry) -> None:
        if entry.state == LIVE:
            self._retract[slot.index].append(entry)

    def _trigger(self, parts: Candidate) -> Match | None:
        present = [part for part in parts if part is not None]
        if self.partial_rows is None and self._where is not None and not self._where(parts):
            return None
        values = self._yields(parts)
        if not values:
            return None
        return Match(parts, min(part.start for part in present), max(part.end for part in present), values)

    def _select(self, matches: Iterable[Match]) -> None:
        for match in matches:
            self._spend(match)
            self.yielded(match, self._cause_of(match.parts, FRESH))

    def _spend(self, match: Match) -> None:
        for slot, part in zip(self.slots, match.parts, strict=True):
            if part is not None and part.uses != UNLIMITED:
                part.uses -= 1
                self._spent.append((slot, part))
                self.world.journal.append(_one_more_use(part))

    def _add(self, match: Match, cause: Span) -> None:
        for key, result, identity in self._results(match):
            self.output.add(key, result, identity, cause)

    def _take_back(self, match: Match, cause: Span) -> None:
        for key, result, identity in self._results(match):
            self.output.take_back(key, result, identity, cause)

    def _results(self, match: Match) -> Iterator[tuple[Any, Any, Any]]:
        order = match.rank
        parts = tuple([None if part is None else part.identity for part in match.parts])
        for place, value in enumerate(match.values):
            key = self._row_key(match.parts, value)
            yield key, ((*order, place), value, match.start, match.end), (self.number, parts, place)

    # -- the product ---------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """End the batch: retract what contains something gone, yield what contains something fresh, collect garbage."""
        for one in self.installed:
            one.released.clear()
        fresh, gone, taken = self._fresh, self._gone, self._retract
        if not any(fresh) and not any(gone):
            return
        if self.partial_rows is not None:
            self._commit_partial(self.partial_rows, fresh, gone)
        else:
            for parts in self.product.candidates(_newest_first(taken), GONE):
                self._retract_results(parts, self._cause_of(parts, GONE))
            self.operations[select](self._matches(fresh))
        for slot, arrived, left in zip(self.slots, fresh, gone, strict=True):
            for entry in left:
                slot.memory.remove(entry)
            slot.memory.settle(arrived)
            arrived.clear()
            left.clear()
            taken[slot.index].clear()
        for slot, entry in self._spent:
            if entry.uses == 0 and entry.number in slot.memory.entries:
                slot.memory.remove(entry)
        self._spent.clear()

    def _commit_partial(
        self, rows: PartialRows | AskedRows, fresh: Sequence[list[Entry]], gone: Sequence[list[Entry]]
    ) -> None:
        old, new = rows.changes(fresh, gone)
        touched = [e for entries in (*fresh, *gone) for e in entries]
        default = _hull([e.cause or (e.start, e.end) if e.state == GONE else (e.start, e.end) for e in touched])
        for parts in old:
            self._retract_results(parts, self._cause_of(parts, GONE, default))
        self.world.candidates += len(new)
        for parts in new:
            match = self.trigger(parts)
            if match is not None:
                self.yielded(match, self._cause_of(parts, FRESH, default))

    def _retract_results(self, parts: Candidate, cause: Span) -> None:
        # A row of a table is found by its identity, so where the key is a slot's there is no need to know the value.
        match = Match(parts, 0, 0, [None]) if self._finds_rows else self.trigger(parts)
        if match is not None:
            self.retracted(match, cause)

    def _matches(self, fresh: Sequence[list[Entry]]) -> Iterator[Match]:
        for parts in self.product.candidates(_newest_first(fresh), FRESH):
            if any([part.uses <= 0 for part in parts]):  # type: ignore[union-attr]
                continue
            self.world.candidates += 1
            match = self.trigger(parts)
            if match is not None:
                yield match

    def _cause_of(self, parts: Candidate, state: int, default: Span | None = None) -> Span:
        spans = [
            (part.start, part.end) if state == FRESH or part.cause is None else part.cause
            for part in parts
            if part is not None and part.state == state
        ]
        return _hull(spans) if spans else default or self._cause

    # -- steps ---------------------------------------------------------------------------------------------------------

    def deliver(self, batches: Mapping[int, list[Entry]]) -> list[Event]:
        """Run one step with the events of each slot; return what comes out, and set `is_done` if that was the last."""
        if self.is_done:
            return []

        def run() -> None:
            for index, batch in batches.items():
                if not self.slots[index].ended:
                    self.inboxes[index].resolve(batch)
            self._run(frozenset(batches))

        handle(self.outer, run)
        return self.output.settle()

    def end(self, ended: Iterable[int]) -> None:
        """Let slots end: nothing comes on them any more; set `is_done` if the output has completed by that."""

        def run() -> None:
            for index in ended:
                slot = self.slots[index]
                if not slot.ended:
                    slot.ended = True
                    self.world.journal.append(partial(setattr, slot, "ended", False))
                    self.inboxes[index].resolve(None)
            self._run(frozenset())

        handle(self.outer, run)

    def tick(self, installed: Installed, key: tuple[Any, ...], now: int) -> list[Event]:
        """Run one step for a deadline of one copy."""
        if self.is_done:
            return []

        def run() -> None:
            self.alarm.resolve((installed, key, now))
            self._run(frozenset())

        handle(self.outer, run)
        return self.output.settle()

    def _run(self, arrived: frozenset[int]) -> None:
        self.strands.run()
        self.commit()
        if any(slot.ended for slot in self.slots) and not self.is_done and self.operations[completes](arrived):
            self.is_done = True
            self.world.journal.append(lambda: setattr(self, "is_done", False))

    def rebuild(self) -> None:
        """Make the strands anew from the state, after a failure or a restore."""
        for entries in (*self._fresh, *self._gone, *self._retract):
            entries.clear()
        self._spent.clear()
        self.output.settle()
        self._build_strands()


def _checked_key(key: Any, slot: Slot) -> Any:
    try:
        hash(key)
    except TypeError:
        message = (
            f"key_by: expected a key that can be hashed for slot {slot.name!r} but got {key!r}"
            f" (type={type(key).__name__}); turn it into a tuple or a string"
        )
        raise InvalidArgument(message) from None
    return None if key is None or key != key else key  # noqa: PLR0124 - NaN is no key


def _key_probe(space: int) -> Callable[[Entry], Any]:
    return lambda entry: entry.keys[space]


def _value_probe(evaluate: Callable[[Any], Any]) -> Callable[[Entry], Any]:
    return lambda entry: evaluate((entry,))


def _newest_first(entries: Sequence[list[Entry]]) -> list[list[Entry]]:
    return [found[::-1] for found in entries]


def _hull(spans: Sequence[Span]) -> Span:
    return min(start for start, _ in spans), max(end for _, end in spans)


def _one_more_use(entry: Entry) -> Callable[[], None]:
    uses = entry.uses + 1
    return lambda: setattr(entry, "uses", uses)
