"""Alignment: slots in lock-step.

`aligning` is a gate: a held event is invisible to everyone. When every aligned slot holds one, the row is released
as one batch, also if ``where`` then fails. ``most_recently(l, r) | aligning(l, r)`` is zip, in any order of
composition.

Source: ICFP 2018, doi:10.1145/3236762, Figure 14, as SEMANTICS 1.7 corrects it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Restriction, Slots, arrive, forward, handles, state
from cartesius.data.queues import Queue
from cartesius.errors import InvalidArgument, QueueFull
from cartesius.language.clauses import is_drained, set_aside
from cartesius.language.families import completes, withdraw
from cartesius.plan.nodes import Lockstep
from restrictions.basics.checks import check_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius import Reactive, Slot
    from cartesius.data.entries import Entry
    from cartesius.plan.nodes import Node


class aligning(Restriction):
    """Hold events back until every one of ``slots`` has one; then let one of each through. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import aligning, cartesian
    >>> left, right = Reactive("left"), Reactive("right")
    >>> steps = cartesian(left, right, restrict=aligning("left", "right"))
    >>> [event.value for event in run(steps, [(left, 1), (left, 2), (right, "x"), (right, "y")])]
    [(1, 'x'), (2, 'y'), (2, 'x'), (1, 'y')]

    Args:
        *slots: Two or more slots, by variable name or reactive.
        limit: How many events of a slot (and key) are held at most, an int ≥ 1; None: any number.
        overflow: What happens to one more: ``"fail"``, its push raises `QueueFull` and nothing has changed;
            ``"drop_oldest"`` or ``"drop_newest"``, that one goes to ``engine.late`` with the reason.

    State: a queue a slot (and key). Relies on arrival order within each slot, on none among them.

    Raises:
        InvalidArgument: The limit is not an int ≥ 1, or the overflow none of the three. When a correlation is built:
            fewer than two slots, a table, or sets that overlap another `aligning`.
        QueueFull: At a push, if the queue is full and ``overflow="fail"``.

    Law:
        ``most_recently(l, r) | aligning(l, r)`` is zip, in any order; it commutes with all that handles what is stored
        (`most_recently`, `earliest`, `at_most`, `affinely`, `momentarily`).

    Source:
        ICFP 2018, doi:10.1145/3236762, Figure 14.
    """

    slots: Slots
    limit: int | None = None
    overflow: str = "fail"
    held: Mapping[str, Queue] = state({})

    def validate(self) -> None:
        """Check limit and overflow."""
        if self.limit is not None:
            check_count(type(self).__name__, self.limit, "limit")
        if self.overflow not in OVERFLOWS:
            message = (
                f"aligning: expected overflow to be {', '.join(map(repr, OVERFLOWS[:-1]))} or {OVERFLOWS[-1]!r} but got"
                f" overflow={self.overflow!r}"
            )
            raise InvalidArgument(message)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse a single slot, and overlapping sets."""
        mine = slots["slots"]
        if len(mine) < 2:
            message = f"{self!r}: expected two or more slots to align but got {mine[0].name}; name the others"
            raise InvalidArgument(message)
        for slot in mine:
            if slot.reactive.table:
                message = (
                    f"{self!r}: expected streams but {slot.name!r} is bound to a table, {slot.reactive.name!r}:"
                    " its rows replace each other, so there is no next one to wait for; align the streams before it"
                )
                raise InvalidArgument(message)
        for other in others:
            if isinstance(other, aligning):
                common = [slot.name for slot in mine if _names(slot, other.slots)]
                if common:
                    message = (
                        f"{self!r}: expected sets of slots that do not overlap but {common[0]} is in {other!r} as well;"
                        " align them in one set"
                    )
                    raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Lockstep(self.slots, self.limit, self.overflow),)

    @handles(arrive, "slots")
    def hold(self, slot: Slot, event: Entry) -> None:
        """Queue the event; release a row if it was the last one missing."""
        queue = self.held.get(slot.name, Queue())
        if self.limit is not None and len(queue) == self.limit:
            if self.overflow == "drop_newest":
                set_aside(slot, event, f"the queue of {self!r} is full: {self.limit} of {slot.name!r} are held")
                return
            queue = self._make_room(slot, queue)
        held = {**self.held, slot.name: queue.append(event)}
        if len(held) < len(self.slots):
            self.held = held
            return
        row = [(aligned, held[aligned.name].head) for aligned in self.slots]
        rests = ((name, queue.rest()) for name, queue in held.items())
        self.held = {name: rest for name, rest in rests if rest}
        for aligned, head in sorted(row, key=lambda one: one[0].index):  # of one step: in the order of the slots
            arrive(aligned, head)

    def _make_room(self, slot: Slot, queue: Queue) -> Queue:
        if self.overflow == "fail":
            message = (
                f"{self!r}: expected room for one more event of {slot.name!r} but {self.limit} are held already;"
                " push the others first, raise the limit, or choose overflow='drop_oldest' or 'drop_newest'"
            )
            raise QueueFull(message)
        set_aside(slot, queue.head, f"the queue of {self!r} is full: a newer event of {slot.name!r} took its place")
        return queue.rest()

    @handles(withdraw, "slots")
    def let_go(self, slot: Slot, event: Entry) -> None:
        """Drop a held event that its source takes back."""
        queue = self.held.get(slot.name, Queue())
        rest = queue.without(event.identity)
        if len(rest) == len(queue):
            forward(slot, event)
            return
        held = {**self.held, slot.name: rest}
        self.held = {name: queue for name, queue in held.items() if queue}

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """No row can be released once an aligned input has ended with nothing held."""
        return any(map(is_drained, self.slots)) or bool(forward(arrived))


OVERFLOWS = ("fail", "drop_oldest", "drop_newest")


def _names(slot: Slot, named: tuple[str | Reactive | Slot, ...]) -> bool:
    """Whether a restriction that names these slots concerns ``slot``: by its variable first, as `aligning` is bound."""
    return slot.name in named or slot.reactive in named or slot.reactive.name in named
