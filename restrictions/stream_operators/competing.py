"""Alternatives: patterns that compete for the same events.

Source: Conchon, Le Fessant, JoCaml, ASA/MA 1999 (``or`` of join patterns); SEMANTICS 1.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.errors import InvalidArgument
from cartesius.programs.alternatives import as_alternatives
from restrictions.stream_operators.combining import union

if TYPE_CHECKING:
    from cartesius.language.reactives import Reactive


def either(*patterns: Reactive) -> Reactive:
    """Let the results of all ``patterns`` through; an event used up by one of them is gone for the others.

    A `wait` is answered by the first of two patterns that can: neither sees one that the other has answered.

    >>> from cartesius import Reactive, correlate, run
    >>> from restrictions import affinely
    >>> from restrictions.streams import either
    >>> wait, finished, timeout = Reactive("wait"), Reactive("finished"), Reactive("timeout")
    >>> done = correlate(w=wait, f=finished, yields=lambda w, f: (w, f), restrict=affinely("w", "f"))
    >>> late = correlate(w=wait, t=timeout, yields=lambda w, t: (w, None), restrict=affinely("w", "t"))
    >>> trace = [(wait, "W1"), (timeout, "T1"), (finished, "F1"), (wait, "W2")]
    >>> [event.value for event in run(either(done, late), trace)]
    [('W1', None), ('W2', 'F1')]

    In each step the patterns are tried in the order in which they are written, and what one uses up is gone at once:
    it leaves the memories, the gates and the doors of the others, and does not come to those that are still to be
    tried. Each pattern counts the uses that it leaves to an event by itself; the event is gone for all when one of
    them has spent the last (`affinely`, `at_most`). Without such a restriction it is `merge`. In windows this is so in
    each window by itself; if windows are reported later, that is one step, so the first pattern sees all of one first.

    Args:
        *patterns: One or more streams made by `correlate`. The alternatives are copies of them: what a pattern does
            elsewhere in the engine takes nothing from them. An `either` among them stands for its own alternatives.

    Completes when all alternatives have. Results of one step come in the order of the arguments. A gate that keeps a
    value computed from events (`buffering`) keeps it although one of them is used up elsewhere.

    Raises:
        InvalidArgument: None, an input, or a table. If one of them consumes: one that takes results back
            (`retracting`, `optionally`, `versioned`), or that consumes the rows of a table; or windows in some only.
        OrderMismatch: If one of them consumes: inputs that do not declare to come in one order.

    Law:
        ``either(p, either(q, r)) == either(p, q, r)``; ``either(p) == p``; if nothing is consumed,
        ``either(p, q) == merge(p, q)``. Tested in ``tests/unit/restrictions/test_competing.py``.

    Source:
        Conchon, Le Fessant, JoCaml, ASA/MA 1999.
    """
    if not patterns:
        message = "either: expected one or more patterns but got none; write either(first, second)"
        raise InvalidArgument(message)
    return union("either", as_alternatives("either", patterns))
