"""Keys: every key its own memory.

`key_by` opens a *key space*. Each event of its slots gets its key at the door, and carries it. Slots keyed in the same
`key_by` meet only under equal keys; a restriction to its right has one copy a key, one to its left is common to all.
A null key (None or NaN) matches nothing: the event is set aside, unless a side of an outer join wants it unmatched.

Source: SEMANTICS 1.13 and 1.18.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never

from cartesius import Restriction
from cartesius.data.value_texts import shown
from cartesius.errors import InvalidArgument
from cartesius.language.lenience import lenient
from cartesius.plan.nodes import KeyBy, Require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius.plan.nodes import Node


class _keyed(Restriction):
    """Base: a key for each slot, a field's name or a function of the value."""

    keys: Mapping[str, Any]

    def __init__(self, *others: Never, **keys: str | Callable[[Any], Any]) -> None:
        if others:
            call = type(self).__name__
            message = (
                f"{call}: expected a key for each slot, by its name, but got {others[0]!r}; write {call}(slot='field')"
            )
            raise InvalidArgument(message)
        super().__init__(keys)

    def validate(self) -> None:
        """Check the keys."""
        call = type(self).__name__
        if not self.keys:
            message = f"{call}: expected a key for at least one slot but got none; write {call}(slot='field')"
            raise InvalidArgument(message)
        for slot, key in self.keys.items():
            if not callable(key) and not (isinstance(key, str) and key):
                message = (
                    f"{call}: expected a field's name or a function of the value but got {slot}={key!r}"
                    f" (type={type(key).__name__})"
                )
                raise InvalidArgument(message)

    def __repr__(self) -> str:
        """Show the keys as written, functions by their names."""
        return f"{type(self).__name__}({', '.join(f'{slot}={shown(key)}' for slot, key in self.keys.items())})"


class key_by(_keyed):
    """Give the slots keys: a field's name, or a function of the value.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, key_by, most_recently
    >>> ship, tide = Reactive("ship"), Reactive("tide")
    >>> known = cartesian(ship, tide, restrict=key_by(ship="name") | most_recently("ship", "tide"))
    >>> trace = [(ship, {"name": "EVA"}), (ship, {"name": "ORCA"}), (tide, 2.5)]
    >>> [(s.name, height) for s, height in (event.value for event in run(known, trace))]
    [('ORCA', 2.5), ('EVA', 2.5)]

    Args:
        **keys: For each slot a field's name, or a function of the value.

    An event whose key is null (None, NaN, or a tuple with one of them) comes out of ``engine.late``, with the reason.
    Only if all that it could meet by the key may be missing, by `optionally`, or must not come, by `without`, it goes
    on, and comes out unmatched.

    State: none; the keys travel with the events. Relies on no order. Does not commute: what is to its right has a
    copy a key, what is to its left is common.

    Raises:
        InvalidArgument: No slot, or a key that is neither a name nor a function.

    Law:
        Where all events have one key it is the identity.

    Source:
        SEMANTICS 1.13.
    """

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (KeyBy(self.keys),)


class having_key(_keyed):
    """Set events aside that have no key: None, a number that is none, or a tuple with a null part. Never suspends.

    >>> from cartesius import Engine, Reactive, correlate
    >>> from restrictions.basics.keys import having_key
    >>> ship = Reactive("ship")
    >>> engine = Engine(correlate(x=ship, yields=lambda x: x.mmsi, restrict=having_key(x="mmsi")))
    >>> [event.value for mmsi in (7, None) for event in engine.push(ship, {"mmsi": mmsi})]
    [7]
    >>> [(slot, reason) for _, slot, reason in engine.late]
    [('x', "its key is null, by having_key(x='mmsi')")]

    Operators have it where they match, or group, by a key and open no key space for it.

    Args:
        **keys: For each slot a field's name, or a function of the value.

    State: none. Relies on no order. Commutes with every other restriction: it is at the door, before all gates.

    Raises:
        InvalidArgument: As `key_by`.

    Law:
        Where no key is null it is the identity.

    Source:
        SEMANTICS 1.18.
    """

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Require(self.keys),)

    def leniently(self) -> Restriction:
        """Return the restriction with functions that are unknown where they raise."""
        return having_key(**{slot: lenient(key) for slot, key in self.keys.items()})
