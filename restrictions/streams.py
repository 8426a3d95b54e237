"""Stream operators: each a correlation under restrictions, with the completion that a ReactiveX user expects.

Source: ICFP 2018, doi:10.1145/3236762, Figures 1 and 2; SEMANTICS 1.11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Restriction, correlate, forward, handles, memory
from cartesius.errors import InvalidArgument
from cartesius.expressions import Part, Tuple
from cartesius.families import completes
from cartesius.reactives import Reactive, check_reactive
from restrictions.alignment import aligning
from restrictions.consumption import affinely
from restrictions.recency import most_recently

if TYPE_CHECKING:
    from cartesius import Slots
    from cartesius.restriction_base import Composition

# The annotation is read when the class is made.
if not TYPE_CHECKING:
    from cartesius import Slots


def cartesian(*reactives: Reactive, restrict: Composition | Restriction | None = None) -> Reactive:
    """Combine every event of each reactive with every event of the others: the product that restrictions restrict.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian
    >>> left, right = Reactive("left"), Reactive("right")
    >>> [event.value for event in run(cartesian(left, right), [(left, 1), (right, "x"), (left, 2), (right, "y")])]
    [(1, 'x'), (2, 'x'), (2, 'y'), (1, 'y')]

    Args:
        *reactives: One or more; each is a slot of its own name, and values are tuples in that order.
        restrict: Restrictions; by default what `restricting` injects.

    Completes when all inputs have. Memory is unbounded without a restriction.

    Source:
        ICFP 2018, doi:10.1145/3236762, Figure 1.
    """
    return _product("cartesian", reactives, restrict)


def combine_latest(*reactives: Reactive) -> Reactive:
    """Combine the latest events: a result whenever one comes, once all have one.

    >>> from cartesius import Reactive, run
    >>> from restrictions import combine_latest
    >>> left, right = Reactive("left"), Reactive("right")
    >>> [event.value for event in run(combine_latest(left, right), [(left, 1), (right, "x"), (left, 2), (right, "y")])]
    [(1, 'x'), (2, 'x'), (2, 'y')]

    Args:
        *reactives: One or more; values are tuples in that order.

    Completes as in RxPY: when all inputs have, or when an event comes while some input has no value and all others than
    the one that it came on have ended.

    Source:
        ICFP 2018, doi:10.1145/3236762, Figure 2.
    """
    slots = _names("combine_latest", reactives)
    return _product("combine_latest", reactives, most_recently(*slots) | _completing_without_value(*slots))


def zip_(*reactives: Reactive) -> Reactive:
    """Combine the first events of all, then the second, and so on; memory holds one row, gates what waits.

    >>> from cartesius import Reactive, run
    >>> from restrictions import zip_
    >>> left, right = Reactive("left"), Reactive("right")
    >>> [event.value for event in run(zip_(left, right), [(left, 1), (left, 2), (right, "x"), (right, "y")])]
    [(1, 'x'), (2, 'y')]

    Args:
        *reactives: One or more; values are tuples in that order.

    Completes as soon as an input has ended with nothing waiting.

    Source:
        ICFP 2018, doi:10.1145/3236762, Figure 2.
    """
    slots = _names("zip_", reactives)
    lock_step = most_recently(*slots) | aligning(*slots) if len(slots) > 1 else most_recently(*slots)
    return _product("zip_", reactives, lock_step)


def affine_latest(*reactives: Reactive) -> Reactive:
    """Combine the latest events, each event of the *first* reactive in at most one result.

    >>> from cartesius import Reactive, run
    >>> from restrictions import affine_latest
    >>> left, right = Reactive("left"), Reactive("right")
    >>> [event.value for event in run(affine_latest(left, right), [(left, 1), (right, "x"), (left, 2), (right, "y")])]
    [(1, 'x'), (2, 'x')]

    Args:
        *reactives: One or more; values are tuples in that order.

    Completes when all inputs have.

    Source:
        ICFP 2018, doi:10.1145/3236762, Figure 2.
    """
    slots = _names("affine_latest", reactives)
    return _product("affine_latest", reactives, affinely(slots[0]) | most_recently(*slots))


class _completing_without_value(Restriction):
    """RxPY's rule: no result can come any more once an input has ended without a value, seen when an event comes."""

    slots: Slots

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Compare what has ended with what came."""
        return bool(forward(arrived)) or any(
            any(slot.ended and not memory(slot) for slot in self.slots)
            and all(slot.ended for slot in self.slots if slot.index != index)
            for index in arrived
        )


def _names(call: str, reactives: tuple[Reactive, ...]) -> list[str]:
    if not reactives:
        message = f"{call}: expected one or more reactives but got none; write {call}(left, right)"
        raise InvalidArgument(message)
    names: list[str] = []
    for place, reactive in enumerate(reactives):
        name = check_reactive(reactive, call, f"argument {place}").name
        number = 1
        while name in names:
            number += 1
            name = f"{reactive.name}_{number}"
        names.append(name)
    return names


def _product(call: str, reactives: tuple[Reactive, ...], restrict: Composition | Restriction | None) -> Reactive:
    slots = dict(zip(_names(call, reactives), reactives, strict=True))
    name = f"{call}({', '.join(reactive.name for reactive in reactives)})"
    parts = tuple(Part(slot) for slot in slots)
    single_table = len(parts) == 1 and reactives[0].table
    result = correlate(slots=slots, yields=parts[0] if single_table else Tuple(parts), restrict=restrict, name=name)
    assert isinstance(result, Reactive)
    return result
