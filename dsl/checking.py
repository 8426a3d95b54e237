"""Dimensions are checked here, when the rule is written: builds well-typed terms, or refuses and shows the fix.

Operands of + and - and of comparisons must have one dimension; * and / take any quantities; logic takes conditions;
texts, truth values and positions mix with nothing else. Where two units of one dimension meet, the right operand is
converted to the unit of the left, and a constant always to the unit of the other side.

Source: thesis, section 2.2 (one dimension for sums and comparisons, any pair for products).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NoReturn

from dsl.dimensions import NUMBER, POSITION, TEXT, TRUTH, Measure, Sort, alike, described, named
from dsl.errors import DimensionMismatch, InvalidRule, NoTruthValue, refusal
from dsl.excerpts import excerpt, is_reading
from dsl.spellings import spelling
from dsl.terms import Arithmetic, Comparison, Constant, Junction, Not, Sign, is_constant
from dsl.texts import constant as shown_constant
from dsl.texts import text

if TYPE_CHECKING:
    from dsl.terms import Term

ORDERED = ("<", "<=", ">", ">=")


def arithmetic(operator: Literal["+", "-", "*", "/"], left: Term, right: Term) -> Arithmetic:
    """Build a sum, difference, product or quotient.

    >>> from dsl.dimensions import NUMBER
    >>> arithmetic("*", Constant(2, NUMBER), Constant(3, NUMBER)).kind == NUMBER
    True

    Raises:
        DimensionMismatch: The operands are no quantities, or of two dimensions under + or -.
        InvalidRule: The divisor is zero as it is written.
    """
    whole = f"{_part(left)} {operator} {_part(right)}"
    if not (isinstance(left.kind, Measure) and isinstance(right.kind, Measure)):
        _mismatch(whole, "two quantities", left, right, _only_measured(left, right))
    if operator in "+-":
        if not alike(left.kind, right.kind):
            _mismatch(whole, "two operands of one dimension", left, right, _fix(left, right))
        return Arithmetic(operator, left, right, common(left, right))
    if operator == "/" and is_constant(right) and exact(right) == 0:
        fix = [("fix", "divide by something else")]
        raise InvalidRule(refusal(f"{whole}: expected a divisor other than zero", fix))
    return Arithmetic(operator, left, right, left.kind.times(right.kind, 1 if operator == "*" else -1))


def sign(operator: Literal["-", "abs"], operand: Term) -> Sign:
    """Build a negation or an absolute value.

    Raises:
        DimensionMismatch: The operand is no quantity.
    """
    if not isinstance(operand.kind, Measure):
        is_condition = operand.kind == TRUTH
        fix = "use not_(…) for its opposite" if is_condition else "only quantities have a sign and an absolute value"
        shown = f"{operator}{'' if operator == '-' else ' of '}{text(operand)}"
        notes = [("got", _is(operand)), ("fix", fix)]
        raise DimensionMismatch(refusal(f"{shown}: expected a quantity but got {named(operand.kind)}", notes))
    return Sign(operator, operand)


def comparison(operator: Literal["==", "!=", "<", "<=", ">", ">="], left: Term, right: Term) -> Comparison:
    """Build a comparison.

    Raises:
        DimensionMismatch: The operands are of two dimensions or types, or have no order but are ordered.
    """
    whole = f"{_part(left)} {operator} {_part(right)}"
    if not alike(left.kind, right.kind):
        expected = "two operands of one dimension" if _measured(left, right) else "two operands of one type"
        _mismatch(whole, expected, left, right, _fix(left, right))
    if left.kind == POSITION:
        _mismatch(whole, "quantities, texts or truth values", left, right, "find the closest place with nearest(…)")
    if operator in ORDERED and isinstance(left.kind, Sort):
        _mismatch(whole, "quantities to order", left, right, f"a {left.kind} has no order here; use == or !=")
    return Comparison(operator, left, right)


def junction(operator: Literal["and", "or"], left: Term, right: Term) -> Junction:
    """Build a conjunction or disjunction.

    Raises:
        DimensionMismatch: An operand is no condition; mostly a comparison lacks its parentheses.
    """
    if left.kind != TRUTH or right.kind != TRUTH:
        symbol = "&" if operator == "and" else "|"
        fix = f"{symbol} binds tighter than a comparison: write (a >= b) {symbol} (c >= d)"
        _mismatch(f"{_part(left)} {symbol} {_part(right)}", "two conditions", left, right, fix)
    return Junction(operator, left, right)


def opposite(operand: Term) -> Not:
    """Build the opposite of a condition.

    Raises:
        DimensionMismatch: The operand is no condition.
    """
    return Not(condition("not_", operand))


def condition(call: str, term: Term) -> Term:
    """Return ``term``, which must be a condition: the argument of ``call``.

    Raises:
        DimensionMismatch: It is a quantity, a text or a position.
    """
    if term.kind != TRUTH:
        example = Constant("…" if term.kind == TEXT else 15, term.kind)
        shown = f'{text(term)} == "…"' if term.kind == TEXT else f"{text(term)} >= {spelled(example)}"
        notes = [("got", _is(term)), ("fix", f"say what must hold of it, such as {shown}")]
        raise DimensionMismatch(refusal(f"{call}: expected a condition but got {named(term.kind)}", notes))
    return term


def common(left: Term, right: Term) -> Measure:
    """Return the measure in which two quantities meet: the left one's, unless only the right is observed."""
    chosen = right if is_constant(left) and not is_constant(right) else left
    assert isinstance(chosen.kind, Measure)
    return chosen.kind


def exact(term: Term) -> Fraction:
    """Return the magnitude of a constant quantity in its own unit, exactly; a float counts as the decimal it shows.

    >>> from dsl.units import centimetres, metres
    >>> exact((1 * metres + 10 * centimetres).term)
    Fraction(11, 10)
    """
    match term:
        case Constant(value):
            return Fraction(str(value))
        case Sign(operator, operand):
            return -exact(operand) if operator == "-" else abs(exact(operand))
        case Arithmetic("*", left, right):
            return exact(left) * exact(right)
        case Arithmetic("/", left, right):
            return exact(left) / exact(right)
        case Arithmetic(operator, left, right, kind):
            assert isinstance(kind, Measure)
            first, second = exact_in(left, kind), exact_in(right, kind)
            return first + second if operator == "+" else first - second
    message = f"{term!r} is no constant quantity"
    raise AssertionError(message)


def exact_in(term: Term, measure: Measure) -> Fraction:
    """Return the magnitude of a constant quantity in ``measure``, exactly.

    >>> from dsl.units import centimetres, metres
    >>> exact_in((50 * centimetres).term, metres.measure)
    Fraction(1, 2)
    """
    assert isinstance(term.kind, Measure)
    return exact(term) * term.kind.ratio(measure)


def no_truth_value(term: Term, collection: bool = False) -> NoTruthValue:
    """Return the error for Python asking ``term`` for a truth value or its elements while the rule is written."""
    span, construct, fix = spelling(collection)
    wanted = "elements" if collection else "a truth value"
    summary = f"{construct}: expected {wanted} but got the term {text(term)}, which has none until events are judged"
    return NoTruthValue(refusal(summary, [("fix", fix)], place=excerpt(span)))


def _mismatch(whole: str, expected: str, left: Term, right: Term, fix: str) -> NoReturn:
    notes = [("left", _is(left)), ("right", _is(right)), ("fix", fix)]
    raise DimensionMismatch(
        refusal(f"{whole}: expected {expected} but got {named(left.kind)} and {named(right.kind)}", notes)
    )


def _is(term: Term) -> str:
    return f"{text(term)} is {described(term.kind)}"


def _part(term: Term) -> str:
    return f"({text(term)})" if isinstance(term, Comparison | Junction | Not) else text(term)


def _measured(*terms: Term) -> bool:
    return all(isinstance(term.kind, Measure) for term in terms)


def _only_measured(left: Term, right: Term) -> str:
    wrong = next(term for term in (left, right) if not isinstance(term.kind, Measure))
    return f"calculate with quantities and numbers only; {text(wrong)} is neither"


def _fix(left: Term, right: Term) -> str:
    """Say what to write instead of an operand that does not fit; a constant is the likelier slip."""
    wrong, other = (left, right) if is_constant(left) and not is_constant(right) else (right, left)
    if not is_constant(wrong):
        return f"compare and add like with like: {text(other)} needs {described(other.kind)}"
    if isinstance(other.kind, Measure):
        if isinstance(wrong, Constant) and isinstance(wrong.kind, Measure):
            return f"write {spelled(Constant(wrong.value, other.kind))} if {named(other.kind)} is meant"
        return f"{text(other)} needs {named(other.kind)}, such as {spelled(Constant(15, other.kind))}"
    examples = {TEXT: 'a text in quotes, such as "tanker"', TRUTH: "a condition, True or False"}
    return f"{text(other)} needs {examples.get(other.kind, named(other.kind))}"


def spelled(constant: Constant) -> str:
    """Return the Python that writes ``constant`` in a rule; while a text is read, what the text says.

    >>> from dsl.units import metres, seconds
    >>> spelled((15 * (metres / seconds)).term)
    '15 * (metres / seconds)'
    """
    assert isinstance(constant.kind, Measure) or constant.kind == TRUTH
    if is_reading():
        return shown_constant(constant.value, constant.kind)
    if not isinstance(constant.kind, Measure) or constant.kind == NUMBER:
        return repr(constant.value)
    unit = constant.kind.spelling
    return f"{constant.value!r} * {unit if len(constant.kind.parts) == 1 else f'({unit})'}"
