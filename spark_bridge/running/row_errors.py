"""Raising: what becomes of a row on which the program raises, and what is said of it at the driver.

A policy chooses. ``fail``: the query fails, with an error that names output, bucket, row, time and rule. A restart from
the same checkpoint meets the row again: with the rule mended (`migration`), or under another policy, it goes on.
``dead_letter``: the push of the row is undone, and the row is a dead letter with the same words for its reason; all
others are used as if it had never come. ``unknown``: rules of packs answer that they do not know
(`lenience`); what raises elsewhere fails.

What a deadline raises, or the end of the sources, has no row that could be set aside, and would come again with every
move of the clock: it fails under each policy. What a push refuses before the program runs is a dead letter under each.

A batch of columns is all or nothing. If the program raises on one row of many, halves of the batch are tried: what
comes before the row is used as columns, and so few rows are left that they are used one by one, in order, each once.

Invariant: the policy is no part of a state, so that a query can go on from its checkpoint under another one.

Source: issue 8 (a rule that raises); SEMANTICS 1.12.
"""

from __future__ import annotations

from traceback import format_exception
from typing import TYPE_CHECKING, Final

from cartesius.errors import CartesiusError, RuleRaised, shortened
from cartesius.programs.failures import place_of, told
from spark_bridge.columns.row_texts import moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cartesius.batching.world import Failure

_FRAMES: Final = 5
"""How many of the innermost calls are shown."""
_MEND: Final = (
    "mend the row, or the rule (spark_bridge.migrate goes on with the state), and start again; or say"
    ' on_error="dead_letter", which sets such rows aside, or, of packs of rules, on_error="unknown"'
)


def failed_on_row(error: Exception, failure: Failure, bucket: int, source: str, time: int, row: str) -> RuleRaised:
    """Return the error of a query that fails on a row, given as JSON."""
    return _failed(
        error,
        failure,
        f"on the row of {source!r} at {moment(time)} in bucket {bucket}: {shortened(row)}; {_MEND}",
    )


def failed_without_row(error: Exception, failure: Failure, bucket: int) -> RuleRaised:
    """Return the error of a query that fails on a deadline, or on the end of the sources."""
    due = "as the sources ended"
    if failure.deadline is not None:
        due = f"on what was due at {moment(failure.deadline)}"
    mend = "mend the rule, and go on with the state by spark_bridge.migrate"
    return _failed(error, failure, f"{due} in bucket {bucket}, so that no row can be set aside; {mend}")


def failed_on_change(error: Exception, outputs: Iterable[str], bucket: int) -> RuleRaised:
    """Return the error of a query that fails on a change of its program, which other buckets may have gone on with."""
    return RuleRaised(
        f"the query of {', '.join(map(repr, outputs))}: expected changed rules that can be computed on what is there"
        f' but {told(error)}, in bucket {bucket}; start again with on_error="unknown", by which rules of packs are'
        " undecided where they raise, or begin a new checkpoint"
    )


def refused_change(error: Exception) -> str:
    """Return the reason of a change that a query does not go on with."""
    return str(error) if isinstance(error, CartesiusError) else told(error)


def _failed(error: Exception, failure: Failure, what: str) -> RuleRaised:
    of = ", ".join(map(repr, failure.outputs))
    found = RuleRaised(
        f"the query of {of}: expected rules that can be computed but {told(error)}{place_of(error, failure)}; {what}"
    )
    # Spark drops causes on the way to the driver, and leaves notes.
    found.add_note(f"It was raised here:\n{''.join(format_exception(error, limit=-_FRAMES)).rstrip()}")
    return found


def narrowed(use: Callable[[int, int], int], first: int, last: int, few: int) -> int:
    """Use rows by halves; return from where on a row that cannot be used is among the next ``few``.

    >>> used = []
    >>> def until_five(begin: int, end: int) -> int:
    ...     if begin <= 5 < end:
    ...         return begin
    ...     used.extend(range(begin, end))
    ...     return end
    >>> narrowed(until_five, 0, 9, few=2), used
    (4, [0, 1, 2, 3])

    Args:
        use: Uses the rows from one place up to another as far as that can be done in one go, and returns how far.
        first: The first row.
        last: Before which row to end; those before it cannot all be used.
        few: How many rows may be left in doubt.
    """
    while last - first > few:
        middle = (first + last) // 2
        done = use(first, middle)
        first, last = done, last if done == middle else middle
    return first
