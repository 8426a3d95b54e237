"""Alternatives: correlations that share what they consume, as patterns that compete for the same messages.

An event whose last use is spent in one alternative is gone for the others: it leaves their memories, gates and doors,
and where it comes in the same step, it does not come to those that are written later. In windows, all this is so
window by window. `as_alternatives` makes copies of
the patterns, so the originals go on as before; only the union of the copies sees them, and it runs after them all.

Invariant: between calls nothing that one alternative has used up is in another one of its group.

Source: Conchon, Le Fessant, JoCaml, ASA/MA 1999 (``or`` of join patterns); SOURCES A11.4; SEMANTICS 1.5.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from cartesius.data.entries import Entry
from cartesius.errors import InvalidArgument
from cartesius.language.families import optional, push
from cartesius.language.patterns import Alternative, Group, Pattern
from cartesius.language.reactives import Reactive, check_reactive
from cartesius.language.restriction_base import slot_families
from cartesius.order.order_edges import check_one_order
from cartesius.plan import facts
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Event
    from cartesius.language.families import Slot
    from cartesius.language.restriction_base import Restriction


def as_alternatives(call: str, reactives: Iterable[Reactive]) -> tuple[Reactive, ...]:
    """Return copies of derived streams that share what they consume; of a union of such copies, what it was made of.

    Raises:
        InvalidArgument: No streams made by `correlate`; or what is consumed would have to be taken back.
        OrderMismatch: Something is consumed, and the inputs of all do not declare one order.
    """
    flat = [found for one in reactives for found in _flattened(call, one)]
    consuming = [pattern.name for _, pattern in flat if any(map(_spends, pattern.restrictions))]
    if consuming:
        for _, pattern in flat:
            _check(call, pattern, consuming[0])
            if _has_windows(pattern) != _has_windows(flat[0][1]):
                message = (
                    f"{call}: expected alternatives that all have windows, or none, as {consuming[0]!r} consumes, but"
                    f" {pattern.name!r} and {flat[0][1].name!r} differ: uses are counted in each window"
                )
                raise InvalidArgument(message)
        check_one_order(call, [pattern for _, pattern in flat], consuming[0])
    group = Group(len(flat))
    made = []
    for place, (reactive, pattern) in enumerate(flat):
        alternative = copy(pattern)
        alternative.alternative = Alternative(group, place)
        options: dict[str, Any] = {"type": reactive.type, "fields": reactive.fields, "order": reactive.order}
        made.append(Reactive(reactive.name, pattern=alternative, **options))
    return tuple(made)


def _flattened(call: str, reactive: Reactive) -> Iterator[tuple[Reactive, Pattern]]:
    pattern = check_reactive(reactive, call, "pattern").pattern
    if pattern is None or reactive.table:
        what = "a table" if reactive.table else "an input"
        message = (
            f"{call}: expected streams made by correlate but {reactive.name!r} is {what}; correlate it, or use merge"
        )
        raise InvalidArgument(message)
    inner = [(source, source.pattern) for source in pattern.slots.values()]
    alternatives_in = [(source, one) for source, one in inner if one is not None and one.alternative is not None]
    yield from alternatives_in or [(reactive, pattern)]  # only a union has alternatives as inputs


def _has_windows(pattern: Pattern) -> bool:
    return any(facts.opens_windows(restriction) for restriction in pattern.restrictions)


def _spends(restriction: Restriction) -> bool:
    """Whether it limits the uses of events."""
    return facts.consumes(restriction) and any(family is push for _, family, _, _ in slot_families(restriction))


def _check(call: str, pattern: Pattern, consuming: str) -> None:
    for restriction in pattern.restrictions:
        looks_back = facts.takes_back(restriction) or bool(facts.versions(restriction))
        if looks_back or any(family is optional for _, family, _, _ in slot_families(restriction)):
            message = (
                f"{call}: expected alternatives that take nothing back, as {consuming!r} consumes, but {pattern.name!r}"
                f" is restricted by {restriction!r}; leave one out, or use merge"
            )
            raise InvalidArgument(message)
        if not _spends(restriction):
            continue
        named = [n for f, kind in restriction._fields.items() if kind == "slots" for n in restriction.configuration[f]]
        for slot, reactive in pattern.slots.items():
            if reactive.table and any(n in (slot, reactive, reactive.name) for n in named):
                message = (
                    f"{call}: expected streams where events are consumed but {slot!r} of {pattern.name!r} is bound to"
                    f" the table {reactive.name!r}, whose rows stay until they are replaced; leave it out of"
                    f" {restriction!r}"
                )
                raise InvalidArgument(message)


class Sharing:
    """What the alternatives of a program have consumed in the present step."""

    def __init__(self, groups: Mapping[Group, list[Join]]) -> None:
        self.groups = groups
        self.gone: dict[Group, set[tuple[str, Any]]] = {}  # of each group: (source, identity)

    def left(self, join: Join, slot: Slot, events: Sequence[Event]) -> Sequence[Event]:
        """Return what no earlier alternative has consumed in this step."""
        alternative = join.pattern.alternative
        gone = None if alternative is None else self.gone.get(alternative.group)
        return [event for event in events if (slot.source, event.identity) not in gone] if gone else events

    def settle(self, join: Join) -> Iterator[tuple[Join, list[Event]]]:
        """Let the other alternatives lose what ``join`` has consumed; yield what comes out of them by that."""
        alternative = join.pattern.alternative
        if alternative is None:
            return
        waiting = [join]
        while waiting:
            one = waiting.pop()
            spent, one.batch.spent = one.batch.spent, {}
            if not spent:
                continue
            self.gone.setdefault(alternative.group, set()).update(spent)
            for other in self.groups[alternative.group]:
                if other is one:
                    continue
                if other.batch.windows is not None:
                    other.batch.windows.lose(spent)
                if found := _found(other, spent):
                    yield other, other._step(partial(_lose, other, found))
                    waiting.append(other)  # what it held back may have followed, and consumed in turn


def _found(join: Join, spent: Iterable[tuple[str, Any]]) -> list[tuple[Slot, Any]]:
    """Return what is there of the events consumed, by slot and identity."""
    return [
        (slot, identity)
        for slot in join.slots
        for source, identity in spent
        if source == slot.source
        and (
            slot.memory.find(identity) is not None
            or any(waiting.identity == identity for waiting in slot.door.queue)
            or any(True for _ in _held(join, slot, identity))
            or any(True for _ in _in_rows(join, slot, identity))
        )
    ]


def _held(join: Join, slot: Slot, identity: Any) -> Iterator[Entry]:
    for entry in join.held(slot):
        if entry.identity == identity and entry.number < 0 and not entry.withdrawn:
            yield entry


def _in_rows(join: Join, slot: Slot, identity: Any) -> Iterator[Entry]:
    """Iterate over an event where it is part of a row that a restriction holds back."""
    for entry in join.held(slot):
        if entry.identity == identity and entry.number >= 0 and entry.uses:
            yield entry


def _lose(join: Join, found: list[tuple[Slot, Any]]) -> None:
    for slot, identity in found:
        while (entry := slot.memory.find(identity)) is not None:
            slot.memory.remove(entry)  # consumption is not displacement: its results stand
            join.batch.count_left(slot, entry, Fate.USED_UP)
        slot.ledger.count(Fate.USED_UP, slot.door.drop(identity))
        for part in _in_rows(join, slot, identity):
            join.world.journal.append(partial(setattr, part, "uses", part.uses))
            part.uses = 0
        for held in list(_held(join, slot, identity)):
            taken = Entry(held.value, held.start, held.end, identity, weight=-1)
            taken.keys, taken.slot = held.keys, slot.name
            join.runner.spawn(partial(join.take_back, slot, taken, Fate.USED_UP))
