"""Snoop's consumption contexts: which initiator a terminator meets, and what it uses up, in a sequence of two slots.

Each is a composition of restrictions that are there anyway, so it goes with `key_by` and the others. A terminator is
there when it comes, and not later: one that finds no initiator is ignored, as in Snoop. An initiator counts if it has
ended before the terminator starts; "newest" and "oldest" are by arrival.

Source: Chakravarthy, Mishra, Snoop, Data & Knowledge Engineering 14 (1994); Chakravarthy et al., VLDB 1994; on the
strict order, Adaikkalavan, Chakravarthy, SnoopIB, DKE 59 (2006).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Restriction, Slot, arrive, forward, handles, state
from cartesius.language.clauses import is_drained
from cartesius.language.families import completes, withdraw
from cartesius.plan.nodes import Opaque
from restrictions.basics.checks import refuse_tables
from restrictions.basics.recency import most_recently
from restrictions.basics.selection import fifo
from restrictions.basics.separation import momentarily
from restrictions.basics.uses import affinely
from restrictions.sequencing.sequences import in_sequence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius import Reactive
    from cartesius.data.entries import Entry
    from cartesius.language.restriction_base import Composition
    from cartesius.plan.nodes import Node


def recent(initiator: str | Reactive, terminator: str | Reactive) -> Composition:
    """Let each event of ``terminator`` meet the newest of ``initiator``, which stays until a newer one comes.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, recent
    >>> a, b = Reactive("a"), Reactive("b")
    >>> trace = [(a, "a1"), (a, "a2"), (b, "b1"), (b, "b2")]
    >>> [event.value for event in run(cartesian(a, b, restrict=recent("a", "b")), trace)]
    [('a2', 'b1'), ('a2', 'b2')]

    Args:
        initiator: A slot, by variable name or reactive: the first event.
        terminator: Another one: the second event.

    Source:
        Chakravarthy, Mishra, DKE 14 (1994): the recent context.
    """
    return most_recently(initiator) | momentarily(terminator) | in_sequence(initiator, terminator, contiguity="any")


def chronicle(initiator: str | Reactive, terminator: str | Reactive) -> Composition:
    """Let each event of ``terminator`` meet the oldest of ``initiator`` that is left; both are used up.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, chronicle
    >>> a, b = Reactive("a"), Reactive("b")
    >>> trace = [(a, "a1"), (a, "a2"), (b, "b1"), (b, "b2")]
    >>> [event.value for event in run(cartesian(a, b, restrict=chronicle("a", "b")), trace)]
    [('a1', 'b1'), ('a2', 'b2')]

    Args:
        initiator: A slot, by variable name or reactive: the first event.
        terminator: Another one: the second event.

    Results come oldest first, in the whole correlation (`fifo`).

    Source:
        Chakravarthy, Mishra, DKE 14 (1994): the chronicle context.
    """
    consumed = affinely(initiator, terminator)
    return fifo() | consumed | momentarily(terminator) | in_sequence(initiator, terminator, contiguity="any")


def continuous(initiator: str | Reactive, terminator: str | Reactive) -> Composition:
    """Let each event of ``terminator`` meet every one of ``initiator`` that is left, one by one; it uses these up.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, continuous
    >>> a, b = Reactive("a"), Reactive("b")
    >>> trace = [(a, "a1"), (a, "a2"), (b, "b1"), (b, "b2")]
    >>> [event.value for event in run(cartesian(a, b, restrict=continuous("a", "b")), trace)]
    [('a1', 'b1'), ('a2', 'b1')]

    Args:
        initiator: A slot, by variable name or reactive: the first event.
        terminator: Another one: the second event.

    Results come oldest first, in the whole correlation (`fifo`).

    Source:
        Chakravarthy, Mishra, DKE 14 (1994): the continuous context.
    """
    return fifo() | affinely(initiator) | momentarily(terminator) | in_sequence(initiator, terminator, contiguity="any")


def cumulative(initiator: str | Reactive, terminator: str | Reactive) -> Composition:
    """Let each event of ``terminator`` meet all of ``initiator`` that are left, as one list; it uses them up.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, cumulative
    >>> a, b = Reactive("a"), Reactive("b")
    >>> trace = [(a, "a1"), (a, "a2"), (b, "b1"), (b, "b2")]
    >>> [event.value for event in run(cartesian(a, b, restrict=cumulative("a", "b")), trace)]
    [(['a1', 'a2'], 'b1')]

    Args:
        initiator: A slot, by variable name or reactive: the first events; the variable is a list.
        terminator: Another one: the second event.

    Source:
        Chakravarthy, Mishra, DKE 14 (1994): the cumulative context.
    """
    return momentarily(initiator, terminator) | collecting(initiator, terminator)


class collecting(Restriction):
    """Hold the events of ``initiator``; let all that ended before one of ``terminator`` starts through with it, as one.

    Their values are a list, oldest first, and the time is their hull. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian
    >>> from restrictions.sequencing.contexts import collecting
    >>> a, b = Reactive("a"), Reactive("b")
    >>> trace = [(a, 1, 1), (a, 2, (2, 9)), (b, "x", 5), (a, 3, 6), (b, "y", 10)]
    >>> [event.value for event in run(cartesian(a, b, restrict=collecting("a", "b")), trace)]
    [([1], 'x'), ([2, 3], 'y'), ([2, 3], 'x'), ([1], 'y')]

    Args:
        initiator: The slot whose events are collected.
        terminator: The slot whose events let them through. It goes on by itself if there are none.

    State: what is held. Relies on arrival order. Commutes with `most_recently`, `earliest`, `at_most`, `affinely` and
    `momentarily`.

    Completes when one of them has ended and nothing of it waits.

    Raises:
        InvalidArgument: When a correlation is built: a table.

    Law:
        Each event is let through at most once; tested in ``tests/unit/restrictions/test_contexts.py``.

    Source:
        Chakravarthy, Mishra, DKE 14 (1994): the cumulative context.
    """

    initiator: Slot
    terminator: Slot
    held: tuple[Entry, ...] = state(())

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse tables."""
        refuse_tables(self, (*slots["initiator"], *slots["terminator"]))

    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        return (Opaque(held="unbounded"),)

    @handles(arrive, "initiator")
    def hold(self, slot: Slot, event: Entry) -> None:
        """Hold it back."""
        self.held = (*self.held, event)

    @handles(arrive, "terminator")
    def let_through(self, slot: Slot, event: Entry) -> None:
        """Let all that came before through, as one, and then the terminator."""
        before = [one for one in self.held if _precedes(one, event)]
        mine = [one for one in before if not one.withdrawn]
        if mine:
            self.held = tuple(one for one in self.held if one not in before)
            start, end = min(one.start for one in mine), max(one.end for one in mine)
            arrive(self.initiator, mine[-1].with_value([one.value for one in mine], start, end))
        forward(slot, event)

    @handles(withdraw, "initiator")
    def let_go(self, slot: Slot, event: Entry) -> None:
        """Drop what its source takes back."""
        self.held = tuple(one for one in self.held if one.identity != event.identity)
        forward(slot, event)

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Nothing can be let through any more."""
        return is_drained(self.initiator) or is_drained(self.terminator) or bool(forward(arrived))


def _precedes(held: Entry, event: Entry) -> bool:
    """Whether what is held, and so came first, is before ``event``: of one time both must be points, and be two."""
    if held.end != event.start:
        return bool(held.end < event.start)
    return held.start == held.end == event.end and held.identity != event.identity
