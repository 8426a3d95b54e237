"""Raising: what a rule is called where it raises, and how rules are compiled that are undecided where they raise.

What keeps a condition undecided are the names that a reason gives as missing (`doubt_of`).

What cannot be computed, such as a division by zero, is missing (`evaluation`). What raises is something else: a
value of the wrong type, such as a text where a number was declared. By default it is an error; where the caller says so
(``on_error="unknown"``) the smallest condition that raises is unknown, in Kleene's logic as if it were missing, and
what it raised is named among what is missing.

Invariant: where nothing raises, both ways of compiling give the same.

Source: DESIGN.md, section 6 (missing data must never read as safe); issue 8 (a rule that raises).
"""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

import attrs

from cartesius.errors import InvalidArgument, places_of, shortened
from cartesius.expressions.missing_values import both, either, opposite
from cartesius.language.lenience import lenient
from dsl.meaning import foreseen
from dsl.meaning.evaluation import Situation, as_it_is, compiled
from dsl.terms.related_rows import totals
from dsl.terms.statements import Requirement
from dsl.terms.terms import Coalesce, Junction, Known, Named, Not, Now, Observation, operands, parts
from dsl.terms.texts import label, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dsl.meaning.evaluation import Evaluate, Row
    from dsl.meaning.reevaluation import Doubt
    from dsl.terms.links import Link
    from dsl.terms.statements import Statement
    from dsl.terms.terms import Term


def doubt_of(term: Term, slots: Mapping[str, int]) -> Doubt:
    """Return the function that says what keeps ``term`` undecided, where it is: rows, fields, or a text."""
    holds, written = compiled(term, slots), (text(term),)
    if any(isinstance(part, Junction) for part in parts(term)):
        return _of_parts([(compiled(part, slots), doubt_of(part, slots)) for part in operands(term)])
    absences = tuple(_absences(term, slots))
    tallies = tuple(slots[repr(total)] for total in totals(term))

    def absent(situation: Situation) -> tuple[str, ...]:
        names = [name for absence in absences if (name := absence(situation)) is not None]
        names += [name for slot in tallies for name in (situation.rows[slot] or {})["missing"]]
        found = tuple(dict.fromkeys(names))
        return found or (written if holds(situation) is None else ())

    return absent


def _of_parts(inner: Sequence[tuple[Evaluate, Doubt]]) -> Doubt:
    """A junction is undecided because of those of its parts that are."""

    def doubt(situation: Situation) -> tuple[str, ...]:
        undecided = (why(situation) for holds, why in inner if holds(situation) is None)
        return tuple(dict.fromkeys(name for names in undecided for name in names))

    return doubt


def _absences(term: Term, slots: Mapping[str, int]) -> Iterator[Callable[[Situation], str | None]]:
    """Yield, for each observation in ``term``, the function that names it where its absence matters."""
    if isinstance(term, Observation):
        yield _absence(term, slots)
    if isinstance(term, Now):
        yield lambda situation: "now" if situation.now is None else None
    yield from foreseen.absences(term, slots)
    inner = (absence for operand in operands(term) for absence in _absences(operand, slots))
    if isinstance(term, Coalesce | Known):
        # What a coalesce does without, and what is known to be absent, is not what is missing.
        inner = (partial(_absence_in_doubt, compiled(term, slots), absence) for absence in inner)
    yield from inner


def _absence_in_doubt(holds: Evaluate, absence: Callable[[Situation], str | None], situation: Situation) -> str | None:
    return absence(situation) if holds(situation) is None else None


def _absence(observation: Observation, slots: Mapping[str, int]) -> Callable[[Situation], str | None]:
    value = as_it_is(observation, slots)
    return foreseen.absence(observation.source, label(observation), slots, lambda each: value(each) is None)


def undeclared(error: KeyError) -> InvalidArgument:
    """Return what is said of a row that has not all fields, to be raised from the error of whoever looked for one.

    >>> str(undeclared(KeyError("draught")))
    "judge: expected rows with all declared fields but one has no 'draught'; give None if unknown"
    """
    message = f"judge: expected rows with all declared fields but one has no {error}; give None if unknown"
    found = InvalidArgument(message)
    for place in places_of(error):
        found.add_note(place)
    return found


def called(statement: Statement) -> str:
    """Return what a rule is called in the notes of an error: its name and text, or, of a block, its condition.

    >>> from dsl.terms.statements import EVERY_PAIR
    >>> called(Requirement(EVERY_PAIR, "always", None))
    "requirement 'always': True"
    """
    written = text(statement.condition)
    if isinstance(statement, Requirement):
        return f"requirement {statement.name!r}" + (f": {written}" if written != statement.name else "")
    return f"condition {written!r}"


@attrs.frozen
class Compilation:
    """How rules are compiled."""

    condition: Callable[[Term, Mapping[str, int]], Evaluate]
    """To whether a condition holds."""
    doubt: Callable[[Term, Mapping[str, int]], Doubt]
    """To what keeps it undecided, where it is."""
    shown: Callable[[Evaluate], Evaluate]
    """To a value that a reason shows."""
    value: Callable[[Evaluate], Evaluate]
    """To any other value: what is summed up, what links, when something changes."""
    raised: Callable[[Evaluate, str], Doubt]
    """To what an evaluation raised, of which it is given what was written, if this keeps it undecided."""

    def why(self, term: Term, evaluate: Evaluate, slots: Mapping[str, int]) -> Doubt:
        """Return what keeps the value of ``term`` unknown, where it is, if ``evaluate`` computes it."""
        written, known = text(term), doubt_of(term, slots)
        # What is missing may be undecided beside it, and raise: an evaluation ends at the first that is missing.
        raised, beside = self.raised(evaluate, written), self.raised(known, written)
        return lambda situation: raised(situation) or beside(situation) or known(situation)


def _holding(term: Term, slots: Mapping[str, int]) -> Evaluate:
    match term:
        case Junction(operator, left, right):
            function = both if operator == "and" else either
            first, second = _holding(left, slots), _holding(right, slots)
            return lambda situation: function(first(situation), second(situation))
        case Not(operand):
            inner = _holding(operand, slots)
            return lambda situation: opposite(inner(situation))
        case Named(_, operand):
            return _holding(operand, slots)
    return _guarded(compiled(term, slots))


def _doubting(term: Term, slots: Mapping[str, int]) -> Doubt:
    if any(isinstance(part, Junction) for part in parts(term)):
        return _of_parts([(_holding(part, slots), _doubting(part, slots)) for part in operands(term)])
    return LENIENT.why(term, compiled(term, slots), slots)


def _raised(evaluate: Evaluate, written: str) -> Doubt:
    def raised(situation: Situation) -> tuple[str, ...]:
        try:
            evaluate(situation)
        except Exception as error:
            return (f"{written} raised {type(error).__name__}: {shortened(str(error))}",)
        return ()

    return raised


def _guarded(evaluate: Evaluate) -> Evaluate:
    def found(situation: Situation) -> Any:
        try:
            return evaluate(situation)
        except Exception:
            return None

    return found


def _showing(evaluate: Evaluate) -> Evaluate:
    known = _guarded(evaluate)

    def show(situation: Situation) -> Any:
        # What makes a rule raise may be nothing that a reason can hold, such as bytes.
        value = known(situation)
        return value if value is None or isinstance(value, str | int | float | Decimal | tuple) else str(value)

    return show


def hashed(evaluate: Evaluate) -> Evaluate:
    """Return a function whose values can be keys: it raises where a value cannot be hashed.

    >>> hashed(lambda situation: "A")(None)
    'A'
    """

    def key(situation: Situation) -> Any:
        value = evaluate(situation)
        hash(value)
        return value

    return key


def _itself(evaluate: Evaluate) -> Evaluate:
    return evaluate


def _nothing(evaluate: Evaluate, written: str) -> Doubt:
    return lambda situation: ()


AS_WRITTEN: Final = Compilation(compiled, doubt_of, _itself, _itself, _nothing)
"""What raises, raises."""
LENIENT: Final = Compilation(_holding, _doubting, _showing, _guarded, _raised)
"""What raises is unknown."""


@attrs.frozen
class Compiled:
    """A function that is made of terms, and so can be made anew: leniently, or in another process."""

    compilation: Compilation = attrs.field(default=AS_WRITTEN, eq=False, repr=False, kw_only=True)

    def leniently(self) -> Self:
        """Return the function for which what raises is unknown, in it and in what it is made of."""
        made = {name: LENIENT if name == "compilation" else lenient(value) for name, value in self._made_of().items()}
        return attrs.evolve(self, **made)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what it was made from; closures are compiled anew."""
        made = self._made_of()
        compilation = made.pop("compilation")
        assert compilation is AS_WRITTEN  # Invariant: what an engine makes of it stays in the engine
        return type(self), tuple(made.values())

    def _made_of(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in attrs.fields(type(self)) if field.init}


def links_raised(
    links: Iterable[Link], slots: Mapping[str, int], compilation: Compilation
) -> Callable[[Sequence[Row]], Mapping[str, str]]:
    """Return the function from rows to what links raised: source → what is said of it instead of that it is missing.

    >>> links_raised((), {}, LENIENT)([])
    {}
    """
    asked = []
    for link in links if compilation is LENIENT else ():
        written = f"{link.source.name}.{link.source.key} == {text(link.value)}"
        asked.append((link.source.name, compilation.raised(compiled(link.value, slots), written)))

    def raised(rows: Sequence[Row]) -> Mapping[str, str]:
        here = Situation(rows)
        told = ((name, why(here)) for name, why in asked if rows[slots[name]] is None)
        return {name: names[0] for name, names in told if names}

    return raised
