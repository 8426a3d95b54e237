"""Keys: every key its own memory.

`key_by` opens a *key space*. Each event of its slots gets its key at the door, and carries it. Slots keyed in the same
`key_by` meet only under equal keys; a restriction to its right has one copy a key, one to its left is common to all.
A null key (None or NaN) matches nothing.

Source: SEMANTICS 1.13.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from cartesius import Restriction
from cartesius.errors import InvalidArgument
from cartesius.meanings import Meaning
from cartesius.orders import Reliance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius import Reactive


class key_by(Restriction):
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

    State: none; the keys travel with the events. Relies on no order. Does not commute: what is to its right has a
    copy a key, what is to its left is common.

    Raises:
        InvalidArgument: No slot, or a key that is neither a name nor a function.

    Law:
        Where all events have one key it is the identity.

    Source:
        SEMANTICS 1.13.
    """

    meaning: ClassVar[Meaning | None] = Meaning.KEYS

    shares: ClassVar[bool] = True
    relies_on_order: ClassVar[Reliance] = Reliance.NONE

    keys: Mapping[str, Any]

    def __init__(self, **keys: str | Callable[[Any], Any]) -> None:
        super().__init__(keys)

    def validate(self) -> None:
        """Check the keys."""
        if not self.keys:
            message = "key_by: expected a key for at least one slot but got none; write key_by(slot='field')"
            raise InvalidArgument(message)
        for slot, key in self.keys.items():
            if not callable(key) and not (isinstance(key, str) and key):
                message = (
                    f"key_by: expected a field's name or a function of the value but got {slot}={key!r}"
                    f" (type={type(key).__name__})"
                )
                raise InvalidArgument(message)

    def key_space(self) -> Mapping[str | Reactive, Any]:
        """Return how each slot's key is computed."""
        return {slot: attrgetter(key) if isinstance(key, str) else key for slot, key in self.keys.items()}

    def __repr__(self) -> str:
        """Show the keys as written."""
        shown = (
            f"{slot}={key!r}" if isinstance(key, str) else f"{slot}={key.__qualname__}"
            for slot, key in self.keys.items()
        )
        return f"key_by({', '.join(shown)})"
