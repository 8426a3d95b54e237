"""Sequences: events one after another by time, what may lie between them, and where the next match may start.

Source: ICFP 2018, doi:10.1145/3236762, Table 1 (sequence, partial orders).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from restrictions.after_match import pruning
from restrictions.contiguity import sequencing

if TYPE_CHECKING:
    from cartesius import Reactive, Restriction

sequencing.__name__ = pruning.__name__ = "in_sequence"  # as it is written, in messages and explanations


def in_sequence(
    *slots: str | Reactive, contiguity: str = "relaxed", after_match: str | tuple[str, str] = "no_skip"
) -> Restriction:
    """Let events of ``slots`` match only one after another: each ends before the next one starts.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, in_sequence
    >>> a, b = Reactive("a"), Reactive("b")
    >>> trace = [(a, "a1"), (a, "a2"), (b, "b1"), (b, "b2")]
    >>> def found(**options):
    ...     return [
    ...         " ".join(event.value)
    ...         for event in run(cartesian(a, b, restrict=in_sequence("a", "b", **options)), trace)
    ...     ]
    >>> found()
    ['a2 b1', 'a1 b1']
    >>> found(contiguity="strict")
    ['a2 b1']
    >>> found(contiguity="any")
    ['a2 b1', 'a1 b1', 'a2 b2', 'a1 b2']
    >>> found(contiguity="any", after_match="past_last")
    ['a1 b1']
    """
    if after_match == "no_skip":
        return sequencing(*slots, contiguity=contiguity)
    return pruning(*slots, contiguity=contiguity, after_match=after_match)
