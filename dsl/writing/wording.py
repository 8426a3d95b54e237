"""How refusals about operands are worded: what each operand is, and what to write instead.

Python may also ask of a rule too early: a truth value, elements, a number. A rule has them when events are judged. The
errors point at what asks, in the user's own line, and show the spelling that does not ask (`spellings`).

Source: STYLE.md, section 2.4.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, NoReturn

from dsl.refusals.errors import DimensionMismatch, NoTruthValue, refusal
from dsl.refusals.excerpts import excerpt, is_reading
from dsl.refusals.spellings import number_asked, spelling
from dsl.terms.dimensions import (
    INSTANT,
    MICROSECONDS,
    NUMBER,
    POSITION,
    TEXT,
    TRUTH,
    Choice,
    Measure,
    alike,
    described,
    named,
)
from dsl.terms.points import is_point
from dsl.terms.terms import Comparison, Constant, Junction, Not, is_constant
from dsl.terms.texts import text

if TYPE_CHECKING:
    from dsl.terms.dimensions import Kind
    from dsl.terms.terms import Term

NO_ZERO = "degrees have no natural zero: 20 °C is not twice 10 °C"
"""Why degrees of temperature neither add nor multiply."""

_EXAMPLES: dict[Kind, str] = {
    TEXT: '"tanker"', TRUTH: "True", POSITION: "(51.95, 4.14)", INSTANT: "datetime(2026, 1, 31, 12, tzinfo=UTC)",
}  # fmt: skip


def mismatch(whole: str, expected: str, left: Term, right: Term, fix: str, why: str | None = None) -> NoReturn:
    """Refuse two operands that do not fit each other, with what each of them is."""
    notes = [("left", stated(left)), ("right", stated(right)), *([("why", why)] if why else []), ("fix", fix)]
    raise DimensionMismatch(
        refusal(f"{whole}: expected {expected} but got {named(left.kind)} and {named(right.kind)}", notes)
    )


def stated(term: Term) -> str:
    """Say what a term is, and in which unit."""
    return f"{text(term)} is {described(term.kind)}"


def operand_text(term: Term) -> str:
    """Return the text of an operand, in parentheses where it is a condition."""
    return f"({text(term)})" if isinstance(term, Comparison | Junction | Not) else text(term)


def only_measured(left: Term, right: Term) -> str:
    """Say which operand is no quantity."""
    wrong = next(term for term in (left, right) if not isinstance(term.kind, Measure))
    return f"calculate with quantities and numbers only; {text(wrong)} is neither"


def fix_for(left: Term, right: Term) -> str:
    """Say what to write instead of an operand that does not fit; a constant is the likelier slip."""
    wrong, other = (left, right) if is_constant(left) and not is_constant(right) else (right, left)
    for instant, time in ((left, right), (right, left)):
        if instant.kind == INSTANT and alike(time.kind, MICROSECONDS):
            return f"compare the time that is left, {text(instant)} - now, or the instant now + {text(time)}"
    if not is_constant(wrong):
        return f"compare and add like with like: {text(other)} needs {described(other.kind)}"
    if isinstance(other.kind, Measure):
        if isinstance(wrong, Constant) and isinstance(wrong.kind, Measure):
            return f"write {spelled(Constant(wrong.value, other.kind))} if {named(other.kind)} is meant"
        return f"{text(other)} needs {named(other.kind)}, such as {spelled(Constant(15, other.kind))}"
    if other.kind == POSITION:
        return f"compare a distance: distance({text(other)}, …) <= 5 * nautical_miles"
    examples = {
        TEXT: "a text in quotes, such as ",
        TRUTH: "a condition, True or False",
        INSTANT: "an instant, such as ",
    }
    before = examples.get(other.kind, f"{named(other.kind)}, such as ")
    return f"{text(other)} needs {before}{'' if other.kind == TRUTH else example(other.kind)}"


def expected_of_points(operator: str, left: Term, right: Term) -> tuple[str, Term, Term, str, str | None]:
    """Say what was expected of operands of which one is a point, the fix, and why: the arguments of `mismatch`."""
    if INSTANT in {left.kind, right.kind}:
        expected = "an instant and a time, or the difference of two instants"
        return expected, left, right, "write vessel.eta + 2 * hours, or vessel.eta - now", None
    expected = "a temperature and a difference, or the difference of two temperatures"
    if operator in "*/":
        fix = "subtract another temperature first; a difference is in kelvin, and multiplies"
        return expected, left, right, fix, NO_ZERO
    if is_point(left.kind) and is_point(right.kind):
        fix = "take their difference; add a difference in kelvin, which is as large as a degree Celsius: 5 * kelvin"
        return expected, left, right, fix, NO_ZERO
    if not alike(left.kind, right.kind):
        return expected, left, right, fix_for(left, right), None
    fix = "declare both fields in celsius, or both in kelvin"
    return expected, left, right, fix, "kelvin may be a temperature or a difference, and here nothing says which"


def example(kind: Kind) -> str:
    """Return the Python of some value of ``kind``.

    >>> example(TEXT), example(NUMBER)
    ('"tanker"', '15')
    """
    if isinstance(kind, Choice):
        return json.dumps(kind.members[0], ensure_ascii=False)
    return spelled(Constant(15, kind)) if isinstance(kind, Measure) else _EXAMPLES[kind]


def spelled(constant: Constant, sign: Literal[1, -1] = 1) -> str:
    """Return the Python that writes ``constant`` in a rule, or its opposite; while a text is read, what the text says.

    >>> from dsl.units import metres, seconds
    >>> spelled((15 * (metres / seconds)).term)
    '15 * (metres / seconds)'
    """
    value = constant.value if sign == 1 or isinstance(constant.value, str) else -constant.value
    if not isinstance(constant.kind, Measure):
        return repr(value) if constant.kind == TRUTH else text(constant)
    if constant.kind == NUMBER or is_reading():
        return text(Constant(value, constant.kind))
    unit = constant.kind.spelling
    return f"{value!r} * {unit if len(constant.kind.parts) == 1 else f'({unit})'}"


def no_truth_value(term: Term, collection: bool = False) -> NoTruthValue:
    """Return the error for Python asking ``term`` for a truth value or its elements while the rule is written."""
    span, construct, fix = spelling(collection)
    wanted = "elements" if collection else "a truth value"
    summary = f"{construct}: expected {wanted} but got the term {text(term)}, which has none until events are judged"
    return NoTruthValue(refusal(summary, [("fix", fix)], place=excerpt(span)))


def no_number(term: Term) -> NoTruthValue:
    """Return the error for Python asking ``term`` for a number while the rule is written."""
    span, construct, fix = number_asked()
    summary = f"{construct}: expected a number but got the term {text(term)}, which has none until events are judged"
    return NoTruthValue(refusal(summary, [("fix", fix)], place=excerpt(span)))
