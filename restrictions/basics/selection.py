"""Selection: which of the possible matches, and which of the events, in which order.

A selector sees the matches of one batch (of one key, if it names slots keyed by a `key_by` to its left), lazily, before
anything is spent. A selector to the right chooses first. What cuts matches consumes, in the sense of SEMANTICS 1.14: it
is refused together with `retracting` and `optionally`. `take` and `every_nth` are in `counting`.

Source: ICFP 2018, doi:10.1145/3236762, Table 1 (FIFO, LIFO, nondeterministic, custom); SEMANTICS 1.3, 1.14.
"""

from __future__ import annotations

import random
from itertools import islice
from typing import TYPE_CHECKING, Any

from cartesius import Restriction, forward, handles, select, state
from cartesius.data.null_values import null_last
from cartesius.errors import InvalidArgument
from cartesius.language.families import first_is_oldest
from cartesius.plan.nodes import Choose, Visit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cartesius.language.matches import Match
    from cartesius.plan.nodes import Node


class fifo(Restriction):
    """Visit every memory oldest first: results come in order of arrival, and who came first is used first.

    >>> from cartesius import Reactive, run
    >>> from restrictions import affinely, cartesian, fifo
    >>> left, right = Reactive("left"), Reactive("right")
    >>> pairs = cartesian(left, right, restrict=affinely("left", "right") | fifo())
    >>> [event.value for event in run(pairs, [(left, 1), (left, 2), (right, "x"), (right, "y")])]
    [(1, 'x'), (2, 'y')]

    State: none. Relies on arrival order.

    Law:
        Without consumption and selectors it changes the order of results alone; it commutes with everything but `lifo`,
        of which the one to the right wins.

    Source:
        SEMANTICS 1.3.
    """

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Visit(oldest_first=True),)

    @handles(first_is_oldest)
    def oldest_first(self) -> bool:
        """Say so."""
        return True


class lifo(Restriction):
    """Visit every memory newest first, as is the default: the newest event is matched first.

    >>> from cartesius import Reactive, run
    >>> from restrictions import affinely, cartesian, lifo
    >>> left, right = Reactive("left"), Reactive("right")
    >>> pairs = cartesian(left, right, restrict=affinely("left", "right") | lifo())
    >>> [event.value for event in run(pairs, [(left, 1), (left, 2), (right, "x"), (right, "y")])]
    [(2, 'x'), (1, 'y')]

    State: none. Relies on arrival order. Commutes with everything but `fifo`.

    Law:
        ``lifo()`` is the identity, except to the right of `fifo`, which it undoes.

    Source:
        SEMANTICS 1.3.
    """

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Visit(oldest_first=False),)

    @handles(first_is_oldest)
    def newest_first(self) -> bool:
        """Say so."""
        return False


class first_match(Restriction):
    """Of the matches of one batch, take the first in the order of enumeration; nothing of the others is spent.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, first_match
    >>> left, right = Reactive("left"), Reactive("right")
    >>> newest = cartesian(left, right, restrict=first_match())
    >>> [event.value for event in run(newest, [(left, 1), (left, 2), (right, "x"), (left, 3)])]
    [(2, 'x'), (3, 'x')]

    A match is a combination: if a body yields several values for it, all of them come. A batch has one first match,
    whatever its keys are; right of windows each window has one.

    State: none. Relies on arrival order.

    Law:
        ``first_match() | first_match() == first_match()``. It does not commute with other selectors: to the left of
        `ordered_by` it takes the first in that order.

    Source:
        ICFP 2018, doi:10.1145/3236762, Table 1.
    """

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Choose(leaves_out=True, first=True),)

    @handles(select)
    def take_first(self, matches: Iterator[Match]) -> None:
        """Let one through."""
        forward(islice(matches, 1))


class randomly(Restriction):
    """Of the matches of one batch, choose one, each as likely as the others. The same seed gives the same choices.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, randomly
    >>> left, right = Reactive("left"), Reactive("right")
    >>> trace = [(left, number) for number in range(5)] + [(right, "x"), (right, "y")]
    >>> [event.value for event in run(cartesian(left, right, restrict=randomly(7)), trace)]
    [(4, 'x'), (2, 'y')]

    Args:
        seed: An int.

    State: how often it has chosen; the generator is seeded with that, so a restored engine goes on alike. Relies on
    arrival order.

    Raises:
        InvalidArgument: ``seed`` is not an int.

    Law:
        Each of m matches is chosen with probability 1/m. It does not commute with other selectors.

    Source:
        ICFP 2018, doi:10.1145/3236762, Table 1 (nondeterministic).
    """

    seed: int
    chosen: int = state(0)

    def validate(self) -> None:
        """Check the seed."""
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            message = f"randomly: expected an int but got seed={self.seed!r} (type={type(self.seed).__name__})"
            raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Choose(leaves_out=True, counts=1),)

    @handles(select)
    def choose(self, matches: Iterator[Match]) -> None:
        """Draw one."""
        found = list(matches)
        if found:
            self.chosen += 1
            found = [random.Random(f"{self.seed} {self.chosen}").choice(found)]
        forward(iter(found))


class ordered_by(Restriction):
    """Take the matches of one batch in ascending order of ``key``, null last; equal ones stay as they are enumerated.

    >>> from cartesius import Reactive, run
    >>> from restrictions import affinely, cartesian, first_match, ordered_by
    >>> offer, wish = Reactive("offer"), Reactive("wish")
    >>> cheapest = affinely("offer", "wish") | first_match() | ordered_by(lambda match: match.value[0])
    >>> trace = [(offer, 30), (offer, 20), (offer, 25), (wish, "A"), (wish, "B")]
    >>> [event.value for event in run(cartesian(offer, wish, restrict=cheapest), trace)]
    [(20, 'A'), (25, 'B')]

    Args:
        key: A function of a match: of its ``value``, ``start``, ``end``, or ``parts`` (events, in slot order). None
            comes last, a NaN before that; so do parts of a tuple.

    Of several values that a body yields for a match ``value`` is the first, and they stay together. What is used up by
    the time that it is reached, beside `affinely`, is left out. Beside `retracting` what is taken back comes as
    it is enumerated.

    State: none. Relies on no order of its own. Commutes with no other selector.

    Raises:
        InvalidArgument: ``key`` is not a function.

    Law:
        Idempotent. Without consumption it changes the order of results alone.

    Source:
        ICFP 2018, doi:10.1145/3236762, Table 2 (custom order).
    """

    key: Callable[[Match], Any]

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Choose(leaves_out=False),)

    @handles(select)
    def sort(self, matches: Iterator[Match]) -> None:
        """Put them in order."""
        forward(iter(sorted(matches, key=lambda match: null_last(self.key(match)))))
