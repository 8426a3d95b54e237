"""Batches: what one step does to the memories, and the results that follow from it.

During a batch the memories hold the old *and* the new memory: an entry stored in it is fresh, one displaced in it gone.
`Batch.commit` retracts what contains something gone (and retracted), yields what contains something fresh, spends uses,
and collects garbage, in this order.

Invariant: between batches no entry is fresh or gone; in a memory that slots share, between steps.

This module is over 300 lines because the marks of a batch are made and read by all of it; what is particular to missing
parts, versions, windows, sequences and absence is in modules of their own.

Source: ICFP 2018, doi:10.1145/3236762, Figure 10 (trigger, reify); SEMANTICS 1.2 to 1.5.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from cartesius.batching.bodies import Body
from cartesius.batching.version_batches import Versions
from cartesius.batching.window_batches import WindowBatch
from cartesius.data.entries import FRESH, GONE, LIVE, UNLIMITED, Entry, is_spent, singly
from cartesius.data.events import EARLIEST
from cartesius.data.records import wrap
from cartesius.effects.evidence import Layer
from cartesius.effects.operations import Operation
from cartesius.errors import InvalidArgument
from cartesius.language.families import displace, optional, push, retract, row_key, select
from cartesius.results.outputs import hull
from cartesius.storage.conservation import Fate
from cartesius.storage.stored import check_storable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from cartesius.batching.bindings import Bindings
    from cartesius.batching.null_keys import NullKeys
    from cartesius.batching.partial_batches import PartialBatch
    from cartesius.batching.relative_batches import RelativeBatch
    from cartesius.batching.world import World
    from cartesius.data.entries import Candidate
    from cartesius.data.events import Time
    from cartesius.data.window_spans import WindowRows
    from cartesius.language.families import Slot
    from cartesius.language.matches import Match
    from cartesius.results.outputs import Events, Result, Rows, Span
    from cartesius.results.relations import Relations
    from cartesius.results.totals import Totals
    from cartesius.results.version_outputs import VersionTotals
    from cartesius.results.views import View
    from cartesius.rows.enumeration import Product, Rank
    from cartesius.rows.lone_events import Alone


class Watching(Protocol):
    """Who watches that something did not come, as a batch tells it what happens."""

    def withdraw(self, slot: Slot, identity: Any) -> None:
        """Note that an event is taken back."""

    def look_again(self, slot: Slot, entry: Entry) -> None:
        """Look again at what an event decided."""

    def settle(self) -> None:
        """End the batch."""

    def close(self, window: tuple[Any, ...]) -> None:
        """Forget a window."""

    def clear(self) -> None:
        """Forget a batch that failed."""

    def passes(self, slot: Slot) -> bool:
        """Whether an event of ``slot`` is of no use once its batch is over."""
        ...

    def may_complete(self, arrived: Any) -> bool:
        """Whether the output may have completed: no row waits for the clock."""
        ...


class Noting(Protocol):
    """Who notes results that leave with their parts."""

    @property
    def rows(self) -> WindowRows:
        """The results, by when they leave."""
        ...

    def note(self, parts: Candidate, key: Any, identity: Any) -> None:
        """Note a result."""


class Batch:
    """The present batch of one correlation, and how its results are computed."""

    def __init__(self, bindings: Bindings, name: str, number: int, world: World) -> None:
        self.name = name
        self.bindings = bindings
        self.slots = bindings.slots
        self.operations = bindings.operations
        self.number = number
        self.world = world
        self.yielded: Operation[..., Any] = Operation("yield_")
        self.retracted: Operation[..., Any] = Operation("retract_")
        self.trigger: Operation[..., Any] = Operation("trigger")
        self.body = Body(bindings.pattern, self)
        self.cause: Span = (0, 0)
        self._fresh: list[list[Entry]] = [[] for _ in self.slots]
        self._gone: list[list[Entry]] = [[] for _ in self.slots]
        self._taken: list[list[Entry]] = [[] for _ in self.slots]
        self.leaving: list[tuple[Slot, Entry]] = []
        self.recalled: set[int] = set()  # the numbers of the rows that are brought back, which are no deliveries
        self.taken_back: set[int] = set()  # the numbers of what is displaced since its source takes it back
        self.portion = self._fresh  # what selectors choose from
        # What follows is chosen when the correlation is built, once its restrictions have been asked.
        self.product: Product | Alone
        self.partial: PartialBatch | None = None  # where parts may be missing
        self.absences: Watching | None = None  # where some must be
        self.output: Events | Rows | View | Totals | VersionTotals | Relations
        self.row_key: Callable[[Candidate, Any], Any]
        self.rank: Rank
        self.relative: RelativeBatch | None = None  # where results depend on what else is there, and are taken back
        self.is_reconsidered = False  # a copy of a restriction wants to choose, whether matches come or not
        self.is_behind = False  # windows give what they have held back: until all is there, the clock decides nothing
        self.is_pure = False  # results are taken back, which consumption would make wrong (SEMANTICS 1.14)
        self.tells_steps = False  # what has one identity may come several times, and what is made of it stays
        self.held: Callable[[Slot], Iterable[Entry]]
        self.freed: Noting | None = None  # of windows: what goes with its parts
        self.null_keys: NullKeys
        self.versions = None if bindings.moment is None else Versions(self, bindings.moment)
        self.is_read_only = False  # its rows are looked up when they are asked, and its changes interest nobody
        self.spent: dict[tuple[str, Any], None] = {}  # of an alternative: (source, identity) of what it has used up
        space = bindings.window_space
        self.windows = None if space is None else WindowBatch(self, space)

    @property
    def now(self) -> Time:
        """The clock, as it is inside windows."""
        return EARLIEST if self.is_behind else self.world.clock

    # -- handlers ------------------------------------------------------------------------------------------------------

    def collect(self) -> Layer:
        """The outermost layer: what yields and retractions become."""
        return Layer("collect", {self.yielded: (False, self._add), self.retracted: (False, self._take_back)})

    def defaults(self) -> Mapping[Operation[..., Any], tuple[bool, Callable[..., Any]]]:
        """The clauses of the outer families where no restriction has one."""
        clauses: dict[Operation[..., Any], tuple[bool, Callable[..., Any]]] = {
            self.operations[select]: (False, self._select),
            self.operations[row_key]: (False, lambda: None),
        }
        for slot in self.slots:
            clauses[slot.operations[displace]] = (False, self._displace)
            clauses[slot.operations[retract]] = (False, self._mark_retracted)
            clauses[slot.operations[optional]] = (False, lambda _: False)
        return clauses

    def store(self, slot: Slot, entry: Entry) -> None:
        """Store an event as a fresh entry, or delete a row; what it replaces is displaced."""
        if entry.withdrawn:
            return
        if slot.ledger.hands:
            slot.ledger.give(-1)
        deletes = entry.deletes
        if deletes:
            slot.ledger.count(Fate.EXPIRED)
        self.cause = entry.cause  # of what a gate has let go its own, not that of what was pushed
        if self.versions is not None:
            self.versions.store(slot, entry)
            return
        memory = slot.memory
        before = memory.row(entry.row_key) if slot.is_table else None
        if self.world.durable:
            check_storable(entry, slot.as_durable)
        if not deletes:
            if entry.number >= 0:  # a gate lets it through once more: that is another event
                entry = entry.again()
            self.world.journal.append(partial(setattr, entry, "number", -1))  # a gate may hold it again
            entry.number = self.world.next_number()
            memory.store(entry)
            self._fresh[slot.index].append(entry)
            if self.world.provenance is not None:
                self.world.provenance.stored(entry, slot)
        if before is not None:
            if self.world.provenance is not None:
                self.world.provenance.departures.lets(before, "the next change of its row")
            displace(slot, before)
        if not deletes:
            self.push(slot, entry)
            if self.partial is not None and self.null_keys.leaves(slot, entry) and slot.memory.holds(entry):
                if not self.is_pure:
                    self.partial.finalise(slot, entry)
                self.expire(slot, entry)

    def push(self, slot: Slot, entry: Entry) -> None:
        """Let the restrictions of memory see a stored entry."""
        slot.operations[push](slot, entry)
        if self.is_pure and entry.uses != UNLIMITED:
            message = (
                f"{self.name}: expected no restriction that spends beside retracting or optionally but the uses of"
                f" an event of {slot.name!r} have become {entry.uses}; leave one out, and let a restriction that"
                " limits uses say consumes = True"
            )
            raise InvalidArgument(message)

    def recall(self, slot: Slot, entry: Entry) -> None:
        """Store the row that a change replaces, if there is one, as if it had been there all the time."""
        for value in entry.noted("before", ()):
            before = entry.as_row(entry.row_key, wrap(value))
            before.keys = self.bindings.keys_of(slot, before)
            if self.null_keys.missing(slot, before):
                continue  # it was none
            before.number = self.world.next_number()
            self.recalled.add(before.number)
            slot.memory.store(before)
            slot.memory.settle((before,))

    def withdraw(self, slot: Slot, entry: Entry) -> None:
        """Displace the entry that its source takes back, if it is there; if a gate holds it, it will not come."""
        if self.absences is not None:
            self.absences.withdraw(slot, entry.identity)
        present = slot.memory.find(entry.identity)
        if present is not None:
            self.taken_back.add(present.number)
            displace(slot, present)
            return
        for held in self.held(slot):
            if held.identity == entry.identity and held.number < 0 and not held.withdrawn:
                self.world.journal.append(partial(held.note, withdrawn=False))
                held.note(withdrawn=True)

    def share(self, slot: Slot) -> None:
        """Tell the other slots of a shared memory what has been done to it, or take over what another one has done."""
        shared = slot.shared
        if shared is None:
            return
        if shared.leader is slot:
            shared.note(self._fresh[slot.index], self._gone[slot.index])
            return
        for entry, reason in shared.aside:
            self.null_keys.set_aside(slot, entry, reason)
        self._fresh[slot.index].extend(shared.fresh)
        for entry in shared.gone:
            entry.state, self.cause = LIVE, entry.cause  # what displacement means is said by the handlers here
            displace(slot, entry)
            assert entry.state == GONE  # Invariant: restrictions that share forward what is displaced

    def expire(self, slot: Slot, entry: Entry) -> None:
        """Let an entry leave at the end of the batch; its results stand."""
        self.leaving.append((slot, entry))

    def _displace(self, slot: Slot, entry: Entry) -> None:
        if self.versions is not None:
            self.versions.displace(slot, entry)
            return
        if not slot.memory.holds(entry):
            return  # it has left already
        if entry.state == FRESH:
            self._fresh[slot.index].remove(entry)
            slot.memory.remove(entry)
            self._count_gone(slot, entry)
        elif entry.state == LIVE:
            more = entry.more
            self.world.journal.append(partial(_live_again, entry, more))
            entry.state = GONE
            entry.more = {"cause": self.cause} if more is None else {**more, "cause": self.cause}
            self._gone[slot.index].append(entry)
            self._count_gone(slot, entry)

    def _count_gone(self, slot: Slot, entry: Entry) -> None:
        is_first = slot.shared is None or slot.shared.leader is slot  # otherwise the first slot has counted it
        if is_first and not (self.recalled and entry.number in self.recalled):
            self.count_left(slot, entry, self.fate_of(entry) if self.taken_back else Fate.DISPLACED)

    def count_left(self, slot: Slot, entry: Entry, fate: Fate) -> None:
        """Count what has become of an entry that leaves memory."""
        self.world.fates[slot.ledger.base + fate] += 1
        if self.world.provenance is not None:
            self.world.provenance.left(entry, slot, fate)

    def fate_of(self, entry: Entry) -> Fate:
        """Return why an entry that was displaced is gone."""
        return Fate.WITHDRAWN if entry.number in self.taken_back else Fate.DISPLACED

    def _mark_retracted(self, slot: Slot, entry: Entry) -> None:
        taken = self._taken[slot.index]
        if entry.state == LIVE and not (taken and taken[-1] is entry):  # who says it twice says it once
            taken.append(entry)

    def _select(self, matches: Iterable[Match]) -> None:
        for match in matches:
            if is_spent(match.parts):  # since a selector has listed it
                continue
            self._spend(match)
            self.yielded(match, self.cause_of(match.parts, FRESH))

    def _spend(self, match: Match) -> None:
        for slot, parts in zip(self.slots, match.parts, strict=True):
            if type(parts) is Entry and parts.more is None:
                continue  # nothing limits its uses
            for part in singly(parts):
                if part.uses != UNLIMITED:
                    self.world.journal.append(partial(setattr, part, "uses", part.uses))
                    part.uses -= 1
                    if part.uses == 0:
                        self.expire(slot, part)
                        if self.bindings.pattern.alternative is not None:
                            self.spent[slot.source, part.identity] = None

    def _add(self, match: Match, cause: Span) -> None:
        for key, result, identity in self._results(match):
            self.output.add(key, result, identity, cause)
            if self.windows is not None:
                self.windows.note(match.parts, key)
            if self.freed is not None:
                self.freed.note(match.parts, key, identity)
            if self.world.provenance is not None:
                self.world.provenance.made(self.name, identity, result, zip(self.slots, match.parts, strict=True))

    def _take_back(self, match: Match, cause: Span) -> None:
        for key, result, identity in self._results(match):
            self.output.take_back(key, result, identity, cause)

    def _results(self, match: Match) -> Iterator[tuple[Any, Any, Any]]:
        if self.output.is_ranked:
            for place, value in enumerate(match.values):
                identity, result = self.described(match, place)
                yield self.row_key(match.parts, value), result, identity
            return
        parts = tuple([None if part is None else part.identity for part in match.parts])
        told: tuple[Any, ...] = (self.number, parts)
        if self.tells_steps:  # and versions of a row that have waited for one deadline are told by their numbers
            told = (*told, self.world.steps, tuple([None if part is None else part.number for part in match.parts]))
        for place, value in enumerate(match.values):
            yield self.row_key(match.parts, value), ((), value, match.start, match.end), (*told, place)

    def described(self, match: Match, place: int = 0) -> tuple[Any, Result]:
        """Return the identity of a result, and what it is."""
        parts = tuple([None if part is None else part.identity for part in match.parts])
        rank = (*self.rank(match.parts), place)
        return (self.number, parts, place), (rank, match.values[place], match.start, match.end)

    # -- the end of a batch --------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Retract what contains something gone, yield what contains something fresh, collect garbage."""
        fresh, gone, taken = self._fresh, self._gone, self._taken
        self.body.noted.clear()
        if self.versions is not None:
            self.versions.commit()
            self._collect_garbage()
        elif self.is_read_only:
            self._collect_garbage()
        elif self.is_reconsidered or any(fresh) or any(gone) or (self.partial is not None and self.partial.has_finals):
            if self.partial is not None:
                self.partial.commit(fresh, gone)
            elif self.relative is not None and self.relative.concerns(fresh, gone):
                self.relative.commit()
            else:
                if any(taken):
                    for parts in self.product.candidates(taken, GONE):
                        self.take_back(parts, self.cause_of(parts, GONE))
                for portion in [fresh] if self.windows is None else self.windows.portions(fresh):
                    self.portion = portion
                    self.operations[select](self._matches(portion))
            self.output.look()
            self._collect_garbage()
        self.let_leave()
        self.taken_back.clear()
        self.recalled.clear()
        self.is_reconsidered = False
        if self.absences is not None:
            self.absences.settle()

    def let_leave(self) -> None:
        """Let what leaves at the end of the batch go."""
        for slot, entry in self.leaving:
            if slot.memory.holds(entry):
                if self.partial is not None and self.versions is None:  # what was valid before is no partner now
                    self.partial.let_go(slot, entry)
                self.count_left(slot, entry, Fate.USED_UP if entry.uses == 0 else Fate.EXPIRED)
                self._remove(slot, entry)
        self.leaving.clear()

    def marked(self, slot: Slot) -> tuple[list[Entry], list[Entry], list[Entry]]:
        """Return the lists of what is fresh, gone, and taken back in a slot: the same as long as it lives."""
        return self._fresh[slot.index], self._gone[slot.index], self._taken[slot.index]

    def _remove(self, slot: Slot, entry: Entry) -> None:
        slot.memory.remove(entry)
        if self.absences is not None:
            self.absences.look_again(slot, entry)

    def _collect_garbage(self) -> None:
        for slot, arrived, left, taken in zip(self.slots, self._fresh, self._gone, self._taken, strict=True):
            if not arrived and not left and not taken:
                continue
            if slot.shared is None:  # else once all its slots have run
                for entry in left:
                    self._remove(slot, entry)
                slot.memory.settle(arrived)
            arrived.clear()
            left.clear()
            taken.clear()

    def begin(self) -> None:
        """Yield the one candidate that the product of no inputs has."""
        if (match := self.trigger([])) is not None:
            self.operations[select](iter([match]))
            self.output.look()

    def clear(self) -> None:
        """Forget a batch that failed; the journal has undone what it did."""
        for entries in (*self._fresh, *self._gone, *self._taken):
            entries.clear()
        self.leaving.clear()
        self.taken_back.clear()
        self.recalled.clear()
        self.is_reconsidered = self.is_behind = False
        self.spent.clear()
        self.output.clear()
        for part in (self.partial, self.versions, self.absences, *[slot.shared for slot in self.slots]):
            if part is not None:
                part.clear()

    def choose(self, rows: Sequence[Candidate]) -> None:
        """Let the selectors choose among the results of ``rows``, and give those."""
        self.operations[select](match for parts in rows if (match := self._tried(parts)) is not None)

    def take_back(self, parts: Candidate, cause: Span) -> None:
        """Take the results of a row back, as the old memories gave them."""
        with self.body.looking(FRESH):
            match = self.trigger(parts)
        if match is not None:
            self.retracted(match, cause)

    def _matches(self, fresh: Sequence[list[Entry]]) -> Iterator[Match]:
        for parts in self.product.candidates(fresh, FRESH):
            if is_spent(parts):
                continue
            if (match := self._tried(parts)) is not None:
                yield match

    def _tried(self, parts: Candidate) -> Match | None:
        """Return what a candidate gives, and count it; of a sequence only what is complete, and so reaches the body."""
        before = self.body.admitted
        match: Match | None = self.trigger(parts)
        self.world.candidates += self.body.admitted - before if self.body.is_relative else 1
        return match

    def cause_of(self, parts: Candidate, state: int, default: Span | None = None) -> Span:
        """Return the time of what made, or took away, a candidate: the hull of its entries in ``state``."""
        spans = []
        for part in parts:
            if type(part) is Entry:
                if part.state == state:
                    spans.append((part.start, part.end) if state == FRESH else part.cause)
            else:
                found = [one for one in singly(part) if one.state == state]
                spans += [(one.start, one.end) if state == FRESH else one.cause for one in found]
        if len(spans) == 1:
            return spans[0]
        return hull(spans) if spans else default or self.cause


def _live_again(entry: Entry, more: dict[str, Any] | None) -> None:
    entry.state, entry.more = LIVE, more
