"""Operators that cannot depend on an order that their input does not have: three base restrictions to fill in.

Whoever writes an operator by hand must see to it that inputs which are one by their type give outputs which are one by
theirs. Who fills in one of these need not: `per_item` sees one item at a time; `in_order_per_key` keeps the key, and so
needs an order per key and gives one; `unordered_per_key` sees what came between two markers only as a value of a
commutative monoid. Items are `Keyed`. Markers are the multiples of ``every``: marker m comes when the clock reaches m,
if an item came (of the key) that ends in the ``every`` before m.

Invariant: what a hook is not given, it cannot know, and what it does not return, it cannot change.

Source: SOURCES E2 (Mamouras et al., PLDI 2019: OpStateless, OpKeyedOrdered, OpKeyedUnordered).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from cartesius import Reliance, Slot, arrive, handles, state, tick
from cartesius.errors import InvalidArgument
from cartesius.language.restriction_base import of_subclasses_too
from cartesius.plan.nodes import Opaque
from cartesius.plan.reliance import Give
from restrictions.typed_operators.template_base import Keyed, template, template_of_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius.data.entries import Entry
    from cartesius.plan.nodes import Node


class per_item(template):
    """Base of operators that look at one item at a time: override ``on_item``, and maybe ``on_marker``.

    >>> from cartesius import Reactive, run, unordered
    >>> from restrictions.operators import Keyed, operate, per_item
    >>> class doubled(per_item):
    ...     def on_item(self, key, value):
    ...         yield Keyed(key, 2 * value)
    >>> level = Reactive("level", order=unordered())
    >>> [event.value for event in run(operate(level, doubled("x")), [(level, Keyed("N", 3))])]
    [Keyed(key='N', value=6)]

    Without ``on_marker`` it is `map_concat`, of items.

    Args:
        slot: The slot.
        every: The span between two markers; None: there are none.

    State: the last item, until its marker has come. Relies on no order. Does not commute with other gates of the slot.

    Raises:
        InvalidArgument: A span that is none; when a correlation is built: a table; when an event comes: a hook gives
            something else than `Keyed`.

    Law:
        However items are shuffled between markers, the same items come out between markers.

    Source:
        SOURCES E2: OpStateless.
    """

    waiting: Mapping[int, Entry] = state({})

    @of_subclasses_too
    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        return (Opaque(relies=Reliance.NONE, held="", pointwise=True),)

    def on_item(self, key: Any, value: Any) -> Iterable[Keyed]:
        """Return the items that one item gives."""
        raise NotImplementedError  # each subclass says

    def on_marker(self, marker: int) -> Iterable[Keyed]:
        """Return the items that a marker gives, if items came before it."""
        return ()

    @handles(arrive, "slot")
    def take(self, slot: Slot, event: Entry) -> None:
        """Let go what is made of the item."""
        if self.every is not None:
            self.waiting = {**self.waiting, self.marker_after(event): event}
        self.let_go(event, self.on_item(event.value.key, event.value.value))

    @handles(tick)
    def mark(self, now: int) -> None:
        """Let go what is made of the markers that have come."""
        for marker in sorted(due := {marker for marker in self.waiting if marker <= now}):
            self.let_go(self.waiting[marker], self.on_marker(marker), marker)
        self.waiting = {marker: event for marker, event in self.waiting.items() if marker not in due}


class in_order_per_key(template_of_key):
    """Base of operators that fold the items of a key, in their order: override ``initial``, ``on_item``, ``on_marker``.

    The hooks return the new state, and the *values* that come out: their key is that of the item.

    >>> from cartesius import Reactive, ordered, run
    >>> from restrictions.operators import Keyed, in_order_per_key, operate
    >>> class differences(in_order_per_key):
    ...     def on_item(self, state, key, value):
    ...         return value, [] if state is None else [value - state]
    >>> level = Reactive("level", order=ordered("key"))
    >>> trace = [(level, Keyed("N", 3)), (level, Keyed("S", 9)), (level, Keyed("N", 5))]
    >>> [event.value for event in run(operate(level, differences("x")), trace)]
    [Keyed(key='N', value=2)]

    Args:
        slot: The slot.
        every: The span between two markers; None: there are none.

    State: that of the hooks, of each key. Relies on arrival order, of each key. Does not commute with other gates of
    the slot.

    Raises:
        InvalidArgument: As `per_item`; when an event comes: items of several keys, without `key_by`.

    Law:
        However items of different keys are shuffled between markers, each key's items come out in the same order.

    Source:
        SOURCES E2: OpKeyedOrdered.
    """

    kept: tuple[Any, ...] = state(())  # the key and the hooks' state, once an item has come
    waiting: Mapping[int, Entry] = state({})

    @of_subclasses_too
    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        return (Opaque(fields=("key",), relies=Reliance.WITHIN, held=""),)

    def initial(self) -> Any:
        """Return the state before the first item of a key."""
        return None

    def on_item(self, state: Any, key: Any, value: Any) -> tuple[Any, Iterable[Any]]:
        """Return the new state, and the values that come out for an item."""
        raise NotImplementedError  # each subclass says

    def on_marker(self, state: Any, key: Any, marker: int) -> tuple[Any, Iterable[Any]]:
        """Return the new state, and the values that come out for a marker before which an item of the key came."""
        return state, ()

    @handles(arrive, "slot")
    def take(self, slot: Slot, event: Entry) -> None:
        """Fold the item."""
        key = event.value.key
        self.check_key(self.kept, key)
        if self.every is not None:
            self.waiting = {**self.waiting, self.marker_after(event): event}
        after, values = self.on_item(self.kept[1] if self.kept else self.initial(), key, event.value.value)
        self.kept = (key, after)
        self.let_go(event, [Keyed(key, value) for value in values])

    @handles(tick)
    def mark(self, now: int) -> None:
        """Fold the markers that have come."""
        for marker in sorted(due := {marker for marker in self.waiting if marker <= now}):
            key, before = self.kept
            after, values = self.on_marker(before, key, marker)
            self.kept = (key, after)
            self.let_go(self.waiting[marker], [Keyed(key, value) for value in values], marker)
        self.waiting = {marker: event for marker, event in self.waiting.items() if marker not in due}


class unordered_per_key(template_of_key):
    """Base of operators on the items of a key between two markers, as a bag: override ``update`` and ``on_marker``.

    The items are lifted into a commutative ``monoid`` and combined; at the marker ``update`` makes the new state of the
    old one and of that total, and ``on_marker`` gives the items of it. ``on_item`` may give something at once, of
    the state of the last marker; it cannot change it. All hooks give *values*, whose key is that of the items.

    >>> from cartesius import Engine, Reactive, unordered
    >>> from restrictions.tables import count
    >>> from restrictions.operators import Keyed, operate, unordered_per_key
    >>> class counted(unordered_per_key):
    ...     monoid = count
    ...
    ...     def update(self, state, total):
    ...         return state + total
    ...
    ...     def on_marker(self, state, key, marker):
    ...         yield state
    ...
    ...     def initial(self):
    ...         return 0
    >>> level = Reactive("level", order=unordered())
    >>> engine = Engine(operate(level, counted("x", every=10)))
    >>> _ = [engine.push(level, Keyed("N", 3), at=at) for at in (4, 2, 11)]
    >>> [(event.value, event.end) for event in engine.advance(30)]
    [(Keyed(key='N', value=2), 9), (Keyed(key='N', value=3), 19)]

    Args:
        slot: The slot.
        every: The span between two markers.

    State: that of the hooks, and the totals of the spans that are not over, of each key. Relies on no order. Does not
    commute with other gates of the slot.

    Raises:
        InvalidArgument: No ``every``, or no monoid; otherwise as `in_order_per_key`.

    Law:
        However items are shuffled between markers, the same items come out at markers, each key's in one order.

    Source:
        SOURCES E2: OpKeyedUnordered.
    """

    monoid: ClassVar[Any] = None  # a `Monoid` or a `Group`

    kept: tuple[Any, ...] = state(())
    totals: Mapping[int, tuple[Any, Entry]] = state({})  # by marker: the total before it, and an item of it

    @of_subclasses_too
    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say: items that come out at once do so in the order in which they came in."""
        is_at_once = type(self).on_item is not unordered_per_key.on_item
        gives = Give.AS_THEY_COME if is_at_once else Give.OF_ITS_OWN
        return (Opaque(fields=("key",), relies=Reliance.NONE, gives=gives, held="O(1)"),)

    def validate(self) -> None:
        """Check the monoid and the span."""
        super().validate()
        if not (hasattr(self.monoid, "combine") and hasattr(self.monoid, "lift")):
            message = f"{type(self).__name__}: expected a Monoid, or a Group, but got monoid={self.monoid!r}"
            raise InvalidArgument(message)
        if self.every is None:
            message = f"{type(self).__name__}: expected the span between two markers but got none; write every="
            raise InvalidArgument(message)

    def initial(self) -> Any:
        """Return the state before the first marker of a key."""
        return None

    def update(self, state: Any, total: Any) -> Any:
        """Return the new state, of the old one and of the total of what came before a marker."""
        return total

    def on_item(self, state: Any, key: Any, value: Any) -> Iterable[Any]:
        """Return the values that come out for an item, by the state of the last marker."""
        return ()

    def on_marker(self, state: Any, key: Any, marker: int) -> Iterable[Any]:
        """Return the values that come out for a marker, by the new state."""
        return ()

    @handles(arrive, "slot")
    def take(self, slot: Slot, event: Entry) -> None:
        """Combine the item with what came before it."""
        key, value = event.value.key, event.value.value
        self.check_key(self.kept, key)
        self.kept = self.kept or (key, self.initial())
        marker, lifted = self.marker_after(event), self.monoid.lift(value)
        total = self.monoid.combine(self.totals[marker][0], lifted) if marker in self.totals else lifted
        self.totals = {**self.totals, marker: (total, event)}
        self.let_go(event, [Keyed(key, made) for made in self.on_item(self.kept[1], key, value)])

    @handles(tick)
    def mark(self, now: int) -> None:
        """Update the state, marker by marker, and let the items go."""
        for marker in sorted(marker for marker in self.totals if marker <= now):
            (total, event), rest = self.totals[marker], {m: t for m, t in self.totals.items() if m != marker}
            key, before = self.kept
            after = self.update(before, total)
            self.totals, self.kept = rest, (key, after)
            self.let_go(event, [Keyed(key, value) for value in self.on_marker(after, key, marker)], marker)
