"""What is known of a step: what was given in it, and where events stay from one step to another.

What is in a memory, at a door or in the hand of a gate is a *stay*: an event in a place, from one step to another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import attrs

if TYPE_CHECKING:
    from cartesius.data.entries import Entry
    from cartesius.data.events import Event, Time
    from cartesius.results.recorded_calls import Call


class Place(NamedTuple):
    """Where an event may be.

    Args:
        correlation: The name of the correlation.
        slot: The name of the slot.
        kind: In its memory, in the queue at its door, or in the hand of a gate.
        gate: Which gate.
    """

    correlation: str
    slot: str
    kind: Literal["memory", "door", "gate"]
    gate: str = ""

    def __str__(self) -> str:
        """Say it as `Engine.why` does."""
        if self.kind == "memory":
            return f"in the memory of {self.slot}"
        return f"waiting at the door of {self.slot}" if self.kind == "door" else f"held by {self.gate}"


@attrs.define(eq=False)
class Stay:
    """An event in one place.

    Args:
        place: Where.
        entry: The event.
        key: The key of its record.
        keys: The keys it has there, as text.
        since: The step in which it came.
        until: The step in which it left, or None.
        is_before_memory: Whether it had not been stored when it came there.
    """

    place: Place
    entry: Entry
    key: Any
    keys: str
    since: int
    until: int | None = None
    is_before_memory: bool = False

    def holds(self, step: int) -> bool:
        """Whether the event is there after a step."""
        return self.since <= step and (self.until is None or step < self.until)


@attrs.frozen
class Given:
    """What an output gave in a step.

    Args:
        output: Which output, by its place.
        key: The key of its record.
        event: The event.
    """

    output: int
    key: Any
    event: Event


@attrs.frozen
class Step:
    """What a call did.

    Args:
        number: From 1; 0 is before the first.
        call: The call.
        given: What the outputs gave.
        late: What was set aside: its key, where, and why.
        dropped: The slots and gates that did not let an event through.
        clock: The engine's clock after it.
        deadline: When something is due next, in time units, or None.
    """

    number: int
    call: Call | None
    given: tuple[Given, ...]
    late: tuple[tuple[Any, str, str], ...]
    dropped: tuple[Place, ...]
    clock: Time
    deadline: int | None
