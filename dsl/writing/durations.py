"""Durations: constant quantities of time as whole microseconds, the time units of an engine by default.

Source: DESIGN.md, section 3 (events and time).
"""

from __future__ import annotations

from dsl.refusals.errors import DimensionMismatch, InvalidRule, refusal
from dsl.terms.dimensions import MICROSECONDS, alike, described
from dsl.terms.terms import is_constant
from dsl.terms.texts import text
from dsl.writing.checking import exact_in
from dsl.writing.fluent import Expression


def duration(argument: str, given: object) -> int:
    """Return a constant quantity of time in whole microseconds.

    >>> from dsl.units import minutes
    >>> duration("stale_after", 30 * minutes)
    1800000000

    Raises:
        DimensionMismatch: It is no constant, or no time.
        InvalidRule: It is not positive, or not whole in microseconds.
    """
    term = given.term if isinstance(given, Expression) else None
    if term is None or not is_constant(term) or not alike(term.kind, MICROSECONDS):
        got = f"{given!r} (type={type(given).__name__})" if term is None else f"{text(term)}, {described(term.kind)}"
        fix = [("fix", f"write a quantity of time, such as {argument}=30 * minutes")]
        raise DimensionMismatch(refusal(f"{argument}: expected a time but got {got}", fix))
    length = exact_in(term, MICROSECONDS)
    if length <= 0 or length.denominator != 1:
        fix = [("fix", "a microsecond is the least")]
        raise InvalidRule(refusal(f"{argument}: expected whole microseconds, at least one, but got {text(term)}", fix))
    return int(length)


def duration_text(microseconds: int) -> str:
    """Return a duration in the largest unit that it is a whole number of.

    >>> duration_text(5_400_000_000), duration_text(86_400_000_000)
    ('90 min', '1 d')
    """
    units = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1, "µs"))
    size, symbol = next(each for each in units if microseconds % each[0] == 0)
    return f"{microseconds // size} {symbol}"
