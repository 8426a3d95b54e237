"""Terms as phrases of a text of rules, as `text_expressions` reads them: `berth depth - draught is at least 0.5 m`.

Parentheses appear where reading would otherwise make another tree, and where `and` meets `or`.

Invariant: a phrase is read back as the very term, by the same names.
"""

from __future__ import annotations

import json
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final, final

import attrs

from dsl.refusals.errors import InvalidRule, refusal
from dsl.terms.dimensions import INSTANT, Measure
from dsl.terms.instants import moment_of
from dsl.terms.negations import conjuncts
from dsl.terms.terms import (
    Arithmetic,
    Between,
    Coalesce,
    Comparison,
    Constant,
    Distance,
    Junction,
    Known,
    Named,
    Nearest,
    Not,
    Now,
    Observation,
    Prediction,
    Sign,
    Throughout,
    Total,
)
from dsl.text.unit_names import unit_words
from dsl.text.vocabulary import LARGEST, identifier, title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsl.terms.terms import Term
    from dsl.text.vocabulary import Vocabulary

_CONDITION, _NEGATION, _COMPARISON, _SUM, _PRODUCT, _SIGNED, _ATOM = range(7)
_PHRASES: Final = {"==": "", "!=": "not ", "<": "below ", "<=": "at most ", ">": "above ", ">=": "at least "}


_TOTALS: Final = {"sum": "sum", "mean": "mean", "min": "least", "max": "greatest"}


@final
@attrs.frozen
class Phrasing:
    """How one text says things: its names, and those of its tables of places."""

    vocabulary: Vocabulary
    places: Mapping[tuple[tuple[str | int, float, float], ...], str] = attrs.field(factory=dict)

    def term(self, term: Term, level: int = _CONDITION) -> str:
        """Return an expression, in parentheses where it stands among others that bind as strongly as ``level``.

        Raises:
            InvalidRule: It cannot be written.
        """
        written, own = self._rendered(term)
        return written if own >= level else f"({written})"

    def requirement(self, condition: Term) -> str:
        """Return the sentence that requires a condition.

        Raises:
            InvalidRule: It cannot be written.
        """
        match condition:
            case Comparison(operator, left, right):
                must = "must not be" if operator == "!=" else "must be"
                phrase = "" if operator == "!=" else _PHRASES[operator]
                return f"{self.term(left, _SUM)} {must} {phrase}{self.term(right, _SUM)}"
            case Between(operand, low, high):
                return f"{self.term(operand, _SUM)} must be between {self.term(low, _SUM)} and {self.term(high, _SUM)}"
            case Known(operand):
                return f"{self.term(operand)} must be known"
            case Throughout(first, last, Comparison() | Between() | Known() as inner):
                return f"{self.requirement(inner)} throughout {self._span(first, last)}"
        return f"it must hold that {self.term(condition)}"

    def _total(self, total: Total) -> str:
        source = identifier(total.source.name)
        of = (
            f"number of {source}"
            if total.value is None
            else f"{_TOTALS[total.operation]} of {self.term(total.value, _ATOM)}"
        )
        where: list[Term] = []
        if total.key is not None and total.group is not None:
            where.append(Comparison("==", total.key, total.group))
        if total.condition is not None:
            where += conjuncts(total.condition)
        return f"({of} where {self.term(reduce(partial(Junction, 'and'), where))})" if where else of

    def _span(self, first: Term, last: Term) -> str:
        return f"{self.term(first, _SUM)} to {self.term(last, _SUM)}"

    def _rendered(self, term: Term) -> tuple[str, int]:
        match term:
            case Observation() | Named():
                return self.vocabulary.written(term), _ATOM
            case Constant():
                return _constant(term), _ATOM
            case Arithmetic(operator, left, right):
                level = _SUM if operator in "+-" else _PRODUCT
                return f"{self.term(left, level)} {operator} {self.term(right, level + 1)}", level
            case Sign("abs", operand):
                return f"absolute value of {self.term(operand, _ATOM)}", _ATOM
            case Sign(_, operand):
                inner = self.term(operand, _ATOM)
                return f"-({inner})" if isinstance(operand, Constant) else f"-{inner}", _SIGNED
            case Comparison(operator, left, right):
                return f"{self.term(left, _SUM)} is {_PHRASES[operator]}{self.term(right, _SUM)}", _COMPARISON
            case Junction(operator, left, right):
                same = isinstance(left, Junction) and left.operator == operator
                first = self.term(left, _CONDITION if same else _NEGATION)
                return f"{first} {operator} {self.term(right, _NEGATION)}", _CONDITION
            case Not(operand):
                return f"not {self.term(operand, _NEGATION)}", _NEGATION
            case Between(operand, low, high):
                first = self.term(operand, _SUM)
                return f"{first} is between {self.term(low, _SUM)} and {self.term(high, _SUM)}", _COMPARISON
            case Known(operand):
                return f"{self.term(operand)} is known", _COMPARISON
            case Coalesce(operand, default):
                return f"({self.term(operand)} if known else {self.term(default, _SUM)})", _ATOM
            case Distance(left, right):
                return f"distance from {self.term(left, _ATOM)} to {self.term(right, _ATOM)}", _ATOM
            case Now():
                return "now", _ATOM
            case Prediction(source, field, at):
                observed = self.vocabulary.written(Observation(source, field))
                return f"{observed} predicted for {self.term(at, _ATOM)}", _ATOM
            case Throughout(first, last, condition):
                return f"{self.term(condition, _COMPARISON)} throughout {self._span(first, last)}", _NEGATION
            case Total():
                return self._total(term), _ATOM
            case Nearest(places, position):
                return f"nearest {title(self.places[places])} to {self.term(position, _ATOM)}", _ATOM


def literal(value: Any) -> str:
    """Return a text in quotes, a number, or a truth value.

    >>> literal("oil"), literal(7), literal(True)
    ('"oil"', '7', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _constant(constant: Constant) -> str:
    if constant.kind == INSTANT:
        return _instant(constant.value)
    if not isinstance(constant.kind, Measure):
        return literal(constant.value)
    if isinstance(constant.value, int | float) and not abs(constant.value) < LARGEST:
        fix = [("fix", "write a smaller one")]
        raise InvalidRule(refusal(f"to_text: expected numbers of a reasonable size but got {constant.value!r}", fix))
    words = unit_words(constant.kind)
    return f"{constant.value!r}{'' if words in {'', '°', '%'} else ' '}{words}"


def _instant(value: Any) -> str:
    try:
        written = moment_of(value).replace(tzinfo=None).isoformat(" ", "microseconds")  # %Y has no zeros before it
    except (OverflowError, ValueError):
        fix = [("fix", "write an instant between the years 1 and 9999")]
        raise InvalidRule(refusal(f"to_text: expected instants with a date but got {value!r}", fix)) from None
    return written.removesuffix(".000000").removesuffix(":00") + "Z"
