"""Terms as English: "the draught is at least 15 m", "the under-keel clearance must be at least 0.5 m".

A condition is first brought to a form without negations inside (De Morgan, and the opposite comparison: both hold in
Kleene's logic), then said clause by clause; what is said of one thing is said together ("is at least 3 m and below
9 m", "is neither a tanker nor a barge"). What has no words of its own is shown as `texts` writes it.

Invariant: a phrase has the truth of its term: only equivalences of Kleene's logic are used.

Source: DESIGN.md, section 6; the style of port regulations: subject, condition, "must".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from dsl.english.naming import ARTICLES, Names, called
from dsl.terms.dimensions import INSTANT, TRUTH, Measure, turn
from dsl.terms.negations import conjuncts, operands_of, positive
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
    limit_last,
)
from dsl.terms.texts import constant, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsl.terms.terms import Declaration, Term

Form: TypeAlias = Literal["is", "must"]

_SUM, _PRODUCT, _ATOM = range(3)
_TOTALS = {"sum": "total", "mean": "mean", "min": "least", "max": "greatest"}
_WORDS = {">=": "at least", ">": "above", "<=": "at most", "<": "below", "==": "", "!=": ""}
_TIMES = {">=": "at or after", ">": "after", "<=": "at or before", "<": "before", "==": "", "!=": ""}


@attrs.frozen
class Phrase:
    """Something said of one thing: "the draught" · is · not · "at least 15 m"; or a whole sentence, without a thing."""

    thing: str | None
    said: str
    negative: bool = False
    own: Observation | None = None
    """The field that it is said of, if it is a field."""
    holds: bool = False
    """Whether the thing is a condition: it holds, where others are something."""
    joined_by: str = ""
    """What joins the parts of what is said: "and", "or" or "nor"; empty if it is one."""

    def text(self, form: Form) -> str:
        """Return the clause, as a statement or as a demand.

        >>> Phrase("the draught", "at least 15 m").text("must")
        'the draught must be at least 15 m'
        """
        return self.said if self.thing is None else f"{self.thing} {self.predicate(form)}"

    def predicate(self, form: Form) -> str:
        """Return the clause without its thing.

        >>> Phrase("the type", "oil", negative=True).predicate("is")
        'is not oil'
        """
        opposite = "not " if self.negative else ""
        if self.holds:
            return f"must {opposite}hold" if form == "must" else "does not hold" if self.negative else "holds"
        return f"is {opposite}{self.said}" if form == "is" else f"must {opposite}be {self.said}"


def phrase(condition: Term, form: Form, names: Names) -> Phrase:
    """Return what ``condition`` says.

    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
    >>> phrase((vessel.draught >= 15 * metres).term, "must", Names("vessel")).text("must")
    'the draught must be at least 15 m'

    Args:
        condition: A term that is true or false.
        form: How it is said, where it takes several clauses.
        names: How fields and named terms are called.
    """
    return _phrase(positive(condition), form, names)


def noun(term: Term, names: Names, article: bool = True) -> str:
    """Return the words for a value: "the berth depth", "15 m", "berth depth + tide height - draught".

    >>> from dsl import Source
    >>> wind = Source("wind", key=None, velocity=float)
    >>> noun(wind.velocity.term, Names("vessel"))
    'the wind velocity'
    """
    the = "the " if article else ""
    match term:
        case Observation() if term in names.alike:
            return text(term)
        case Observation(source, field):
            own = field.replace("_", " ")
            if source.another_of is not None:
                return f"the {source.name.replace('_', ' ')}'s {own}"
            return the + (own if source.name == names.subject else f"{source.name.replace('_', ' ')} {own}")
        case Constant(value, kind):
            return constant(value, kind)
        case Named(name, operand):
            said = called(name, in_quotes=term in names.alike)
            if term in names.several:
                said += f" ({noun(operand, names, article=False)})"
            return said if said.lower().startswith(ARTICLES) else the + said
        case Arithmetic(operator, left, right):
            level = _SUM if operator in "+-" else _PRODUCT
            sign = "×" if operator == "*" else operator  # noqa: RUF001 - the sign of multiplication is meant
            return f"{_within_level(left, level, names)} {sign} {_within_level(right, level + 1, names)}"
        case Sign("abs", operand):
            return f"{the}absolute value of {_within_level(operand, _ATOM, names)}"
        case Sign(_, operand):
            return f"-{_within_level(operand, _ATOM, names)}"
        case Coalesce(operand, default):
            return f"{noun(operand, names, article)} (or {noun(default, names)} where that is unknown)"
        case Distance(left, right):
            return f"{the}distance from {noun(left, names)} to {noun(right, names)}"
        case Nearest(places, position, _):
            return f"{the}nearest of {len(places)} places to {noun(position, names)}"
        case Now():
            return "now"
        case Total():
            return the + _total(term, names)
        case Prediction(source, field, at):
            return f"{noun(Observation(source, field), names, article)} predicted for {noun(at, names)}"
    return text(term)


def _phrase(condition: Term, form: Form, names: Names) -> Phrase:
    match condition:
        case Comparison() if condition.left.kind != TRUTH:
            found = limit_last(condition)
            operator, left, right = found.operator, found.left, found.right
            words = (_TIMES if left.kind == INSTANT else _WORDS)[operator]
            limit = f"{words} {noun(right, names)}".strip()
            return Phrase(noun(left, names), limit, operator == "!=", _field(left))
        case Comparison(operator, Constant(value), other) | Comparison(operator, other, Constant(value)):
            return phrase(other if (operator == "==") == value else Not(other), form, names)
        case Between(operand, low, high):
            return _within(operand, low, high, names)
        case Not(Between(operand, low, high)):
            return attrs.evolve(_within(operand, low, high, names), negative=True)
        case Known(operand):
            return Phrase(noun(operand, names), "known", own=operand)
        case Not(Known(operand)):
            return Phrase(noun(operand, names), "known", negative=True, own=operand)
        case Not(Observation() | Named() as operand):
            return attrs.evolve(_phrase(operand, "is", names), negative=True)
        case Observation() | Named():
            said = noun(condition, names, article=False)
            return Phrase(said if said.startswith('"') else f'"{said}"', "", own=_field(condition), holds=True)
        case Throughout(first, last, inner):
            span = f"throughout the time from {noun(first, names)} to {noun(last, names)}"
            return Phrase(None, f"{span}, {_phrase(positive(inner), form, names).text(form)}")
        case Not(operand):
            said = "must not be so" if form == "must" else "is not so"
            return Phrase(None, f"it {said} that {_phrase(operand, 'is', names).text('is')}")
        case Junction():
            return _joined(condition, form, names)
    return Phrase(None, f"it {'must be' if form == 'must' else 'is'} true that {text(condition)}")


def _within(operand: Term, low: Term, high: Term, names: Names) -> Phrase:
    bounds = noun(low, names), noun(high, names)
    is_angle = isinstance(operand.kind, Measure) and turn(operand.kind) is not None
    said = "from {} clockwise to {}" if is_angle else "between {} and {}"
    return Phrase(noun(operand, names), said.format(*bounds), own=_field(operand))


def _joined(condition: Junction, form: Form, names: Names) -> Phrase:
    """Say a junction: together what is said of one thing, and otherwise clause by clause."""
    word = condition.operator
    said = together([_phrase(each, form, names) for each in operands_of(word, condition)], word)
    if len(said) == 1:
        return said[0]
    parts = clauses(said, form)
    return Phrase(None, f"either {listed(parts, 'or')}" if word == "or" else listed(parts, ", and"))


def clauses(said: Sequence[Phrase], form: Form) -> list[str]:
    """Return what is said, clause by clause; of several a whole sentence is in parentheses, so that its end is seen.

    >>> clauses([Phrase("the draught", "known"), Phrase(None, "it is not so that a, and b")], "is")
    ['the draught is known', '(it is not so that a, and b)']
    """
    return [f"({each.said})" if each.thing is None and len(said) > 1 else each.text(form) for each in said]


def together(said: Sequence[Phrase], word: str) -> list[Phrase]:
    """Say together what is said of one thing: "at least 3 m and below 9 m", "neither oil nor gas".

    >>> together([Phrase("the type", "oil", negative=True), Phrase("the type", "gas", negative=True)], "and")[0].said
    'neither oil nor gas'
    """
    groups: dict[object, list[Phrase]] = {}
    for number, each in enumerate(said):
        mixes = each.thing is None or (each.negative and word == "or")
        groups.setdefault(number if mixes else (each.thing, each.negative, each.holds), []).append(each)
    return [_one(group, word) for group in groups.values()]


def _one(group: list[Phrase], word: str) -> Phrase:
    first, said = group[0], {each.said: each.joined_by for each in group}
    if len(said) == 1:  # said once is enough
        return first
    if first.negative:
        return attrs.evolve(first, said=f"neither {' nor '.join(said)}", negative=False, joined_by="nor")
    parts = [f"({one})" if joined_by not in ("", word) else one for one, joined_by in said.items()]
    return attrs.evolve(first, said=listed(parts, word), joined_by=word)


def listed(parts: list[str], word: str) -> str:
    """Return an enumeration: "a, b and c"; with ``", and"`` what has commas or "and" of its own stays apart.

    >>> listed(["a", "b", "c"], "or")
    'a, b or c'
    """
    word = word if word.startswith(",") else f" {word}"
    return f"{word} ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])}{word} {parts[-1]}"


def _field(term: Term) -> Observation | None:
    return term if isinstance(term, Observation) else None


def _total(total: Total, names: Names) -> str:
    """Return the words for a total, without article: "number of tugs whose power is at least 5 kW"."""
    name = total.source.name
    which = [] if total.key is None or total.group is None else [Comparison("==", total.key, total.group)]
    terms = [*which, *([] if total.condition is None else conjuncts(positive(total.condition)))]
    said = [_phrase(term, "is", attrs.evolve(names, subject="")) for term in terms]
    possessive = " " if total.source.another_of is None else "'s "
    start = f"the {name.replace('_', ' ')}{possessive}"
    whose = [
        f"whose {each.thing.removeprefix(start)} {each.predicate('is')}"
        if each.thing is not None and each.thing.startswith(start)
        else f"for which {each.text('is')}"
        for each in said
    ]
    rows = " ".join([_rows(total.source), *([listed(whose, "and")] if whose else [])])
    if total.value is None:
        return f"number of {rows}"
    value = noun(total.value, attrs.evolve(names, subject=name), article=False)
    return f"{_TOTALS[total.operation]} {value} of the {rows}"


def _rows(source: Declaration) -> str:
    return plural(source.name) if source.another_of is None else f"other {plural(source.another_of)}"


def plural(name: str) -> str:
    """Return the plural of a source's name.

    >>> plural("fishing_boat"), plural("tugs")
    ('fishing boats', 'tugs')
    """
    words = name.replace("_", " ")
    return words if words.endswith("s") else f"{words}s"


def _within_level(term: Term, level: int, names: Names) -> str:
    """Return the words for an operand, in parentheses where it binds less tightly than what it stands in."""
    said = noun(term, names, article=False)
    if isinstance(term, Arithmetic):
        is_open = (_SUM if term.operator in "+-" else _PRODUCT) < level
    else:
        is_open = isinstance(term, Total | Prediction | Distance | Nearest)  # what follows would seem to be of its end
    return f"({said})" if is_open else said
