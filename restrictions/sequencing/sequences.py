"""Sequences: events one after another by time, what may lie between them, and where the next match may start.

A sequence is a restriction like any other: of the combinations of a correlation it admits those whose parts follow each
other. How closely they do is their contiguity (`contiguity`); whether matches may overlap is said by what happens after
a match (`after_match`).

Source: ICFP 2018, doi:10.1145/3236762, Table 1 (sequence, partial orders).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from restrictions.sequencing.after_match import pruning
from restrictions.sequencing.contiguity import sequencing

if TYPE_CHECKING:
    from cartesius import Reactive, Restriction

sequencing.__name__ = pruning.__name__ = "in_sequence"  # as it is written, in messages and explanations


def in_sequence(
    *slots: str | Reactive, contiguity: str = "relaxed", after_match: str | tuple[str, str] = "no_skip"
) -> Restriction:
    """Let events of ``slots`` match only one after another: each ends before the next one starts. Never suspends.

    Of two points of one time the one that was used first comes before the other: in an earlier step, or earlier by slot
    and arrival in the same one. Intervals that overlap never follow each other.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, in_sequence
    >>> a, b = Reactive("a"), Reactive("b")
    >>> def found(**options):
    ...     pairs = cartesian(a, b, restrict=in_sequence("a", "b", **options))
    ...     return [event.value for event in run(pairs, [(a, 1), (a, 2), (b, 3), (b, 4)])]
    >>> found()
    [(2, 3), (1, 3)]
    >>> found(contiguity="strict")
    [(2, 3)]
    >>> found(contiguity="any")
    [(2, 3), (1, 3), (2, 4), (1, 4)]
    >>> found(contiguity="any", after_match="past_last")
    [(1, 3)]

    Events are ordered by their ends, then by arrival. What overlaps the part before does not follow it. Slots may be
    bound to one reactive; an event never follows itself. Slots that are not named are free, so that some of the slots
    may be in sequence, or several sequences hold side by side. Right of a `key_by` all is meant under equal keys: the
    very next event is that of the key.

    What is next is judged by what is in memory when a combination is tried. Where events come out of order, results are
    facts all the same: put a gate in front that brings them into order. Beside `retracting` results follow the memory:
    they are taken back when something comes between their parts, and come when what lay between has been displaced.
    What has left memory, as something newer displaced it or it is used up, lies between nothing any more; what `within`
    lets go matters to no sequence.

    Args:
        *slots: The slots in their order, at least two.
        contiguity: How closely parts follow each other.

            - ``"relaxed"``: each is the first of its slot that fits: that satisfies the conditions of ``where`` on it
              and on what is bound by then (the parts before it, and those that are not in the sequence), under the
              same keys. A ``where`` that runs as written, or a body in direct style, is asked of whole combinations
              alone: there the last part is the first that fits, and the others the first of their slots.
            - ``"strict"``: no event of the sequence's slots lies between.
            - ``"any"``: every combination in order.
        after_match: Which matches a match rules out, of those taken after it: matches are taken in the order of their
            first events, those of one first event as they are complete, then in the order of the other events.

            - ``"no_skip"``: none.
            - ``"to_next"``: those with the same first event.
            - ``"past_last"``: those that start up to its last event.
            - ``("to_first", variable)``, ``("to_last", variable)``: those that start before its first, or last, event
              of that variable; of one event they mean the same. A pair, as what configures a restriction is plain data,
              so that a saved state can be told from that of another program.

            A match waits only as long as something that began earlier may still rule it out: until that is complete,
            a bound such as `within` says that its time is over, or (strict) something has come between.

    State: none; with a strategy other than ``"no_skip"``, the matches that wait. Relies on the order of arrival, of
    events of one time, and where that is not the order of time. Memory is unbounded by itself; `within` on all slots
    bounds it. With a strategy, events that may not start a match any more leave it. Commutes with `within`, and with
    what restricts memory.

    Completes when all inputs have; what waits comes before that.

    Raises:
        InvalidArgument: An unknown contiguity or strategy; when a correlation is built: fewer than two slots, a
            variable that is not in the sequence; beside it `separately` or `optionally`; unless contiguity is
            ``"any"``, `versioned`, or `momentarily` and `retracting` together; with a strategy other than
            ``"no_skip"``, which leaves matches out, `retracting`, `versioned`, `repeated`, or slots that are keyed
            differently.

    Law:
        With contiguity ``"any"``, ``in_sequence(a, b) | in_sequence(b, c) == in_sequence(a, b, c)``. Matches under
        ``"strict"`` and ``"relaxed"`` are among those under ``"any"``, and those under a strategy among those under
        ``"no_skip"``.

    Source:
        Snoop (SEQ: end before start); SASE+ (strict contiguity, skip till next match, skip till any match); Flink CEP
        (contiguity, after-match skip strategies), which withholds a match behind everything that began earlier.
    """
    if after_match == "no_skip":
        return sequencing(*slots, contiguity=contiguity)
    return pruning(*slots, contiguity=contiguity, after_match=after_match)
