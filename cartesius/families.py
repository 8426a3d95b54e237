"""Families of operations: what restrictions handle and may do.

Each slot of a correlation owns one operation of each slot family, and each correlation one of each common family
(generativity): two joins never see each other's. A restriction's clause names a family; calling a family with a
slot performs that slot's operation.

    select    choose among the matches of a batch          displace   an entry leaves because it has a successor
    push      an entry was stored                          arrive     an event comes to the gates
    withdraw  an event is taken back by its source         retract    take back the results of an entry
    tick      a deadline of this copy is due               start      a copy for a key was made
    optional  may the part of this slot be missing?        row_key    which row of the output table is a result?
    completes has the output completed?

Source: ICFP 2018, doi:10.1145/3236762, Figures 10 to 14 and section 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, final

import attrs

from cartesius.errors import InvalidArgument
from cartesius.resumptions import running

if TYPE_CHECKING:
    from datetime import timedelta

    from cartesius.memories import Entry, Memory
    from cartesius.operations import Operation
    from cartesius.reactives import Reactive


@final
class Family:
    """A family of operations. ``family(slot, …)`` performs the slot's operation, ``family(…)`` the correlation's."""

    __slots__ = ("layer", "name", "of_slot")

    def __init__(self, name: str, *, layer: str, of_slot: bool) -> None:
        self.name = name
        self.layer = layer
        self.of_slot = of_slot

    def __call__(self, slot: Slot, *arguments: object) -> Any:
        """Perform the operation of ``slot``."""
        if not isinstance(slot, Slot):
            message = (
                f"{self.name}: expected the slot first, as a clause receives it, but got {slot!r}"
                f" (type={type(slot).__name__})"
            )
            raise InvalidArgument(message)
        return slot.operations[self](slot, *arguments)

    def __repr__(self) -> str:
        """Show the name."""
        return f"<family {self.name}>"


arrive = Family("arrive", layer="gates", of_slot=True)
"""``arrive(slot, event)``: an event comes to the gates. A clause of a gate holds it, or lets it go on by `forward`."""
withdraw = Family("withdraw", layer="gates", of_slot=True)
tick = Family("tick", layer="gates", of_slot=False)
"""``tick(now)``: a deadline that this copy asked for by `notify_at` is due; ``now`` is one past it."""
start = Family("start", layer="gates", of_slot=False)
"""``start()``: the copy of the restriction for a key has been made."""
push = Family("push", layer="memory", of_slot=True)
"""``push(slot, entry)``: an entry was stored. A clause restricts the memory, and goes on by `forward`."""
displace = Family("displace", layer="outer", of_slot=True)
"""``displace(slot, entry)``: an entry leaves for its successor. What that means is a handler's choice."""
retract = Family("retract", layer="outer", of_slot=True)
select = Family("select", layer="outer", of_slot=False)
"""``select(matches)``: choose among a batch's matches (a lazy iterator) and `forward` them. Nothing is spent before."""
optional = Family("optional", layer="outer", of_slot=True)
row_key = Family("row_key", layer="outer", of_slot=False)
completes = Family("completes", layer="outer", of_slot=False)
FAMILIES = (arrive, withdraw, tick, start, push, displace, retract, select, optional, row_key, completes)


@final
@attrs.define(eq=False, slots=True)
class Slot:
    """One input of one correlation, as clauses receive it. As an annotation of a restriction: a field names a slot."""

    name: str
    index: int
    reactive: Reactive
    memory: Memory
    operations: dict[Family, Operation[..., Any]]
    ended: bool = False

    def __repr__(self) -> str:
        """Show the name."""
        return f"<slot {self.name}>"


Slots: TypeAlias = tuple[Slot, ...]
"""As an annotation of a restriction: the field takes the positional arguments, each naming a slot."""
Duration: TypeAlias = "int | timedelta"
"""As an annotation of a restriction: the field takes time units or a `timedelta`; clauses read time units."""


def memory(slot: Slot) -> list[Entry]:
    """Return what is stored in ``slot`` now, newest first. Never suspends.

    Right of a `key_by` only what has the copy's key. Only in a clause of a restriction.
    """
    installed, key = _copy("memory")
    return slot.memory.under(installed.prefixes[slot.index], key)


def notify_at(time: int) -> None:
    """Ask for a `tick` of this copy once the clock is past ``time`` (time units). Only in a restriction's clause."""
    installed, key = _copy("notify_at")
    installed.notify_at(time, key)


def copies() -> list[Any]:
    """Return all copies of this restriction, one a key. Only in a clause of a restriction."""
    installed, _ = _copy("copies")
    return list(installed.copies.values())


def separate() -> None:
    """Say, before a gate releases, that releases are batches of their own: a second one in a step ends the batch."""
    installed, key = _copy("separate")
    installed.separate(key)


def _copy(call: str) -> tuple[Any, Any]:
    copy = running().__dict__.get("copy")
    if copy is None:
        message = f"{call}: expected to be called in a clause of a restriction; there is no restriction at work here"
        raise InvalidArgument(message)
    return copy  # type: ignore[no-any-return]
