"""What a verdict says of predictions: their values, and what is missing of them.

A prediction that is missing is called by the source and the instant that was asked for, "wind at vessel.eta"; of a
condition that must hold throughout a span the reason shows the first instant at which it does not.

Source: DESIGN.md, section 6.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dsl.meaning.evaluation import as_it_is, compiled, span
from dsl.meaning.margins import compared
from dsl.terms.terms import Observation, Prediction, Throughout, parts
from dsl.terms.texts import label, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dsl.meaning.evaluation import Evaluate, Situation
    from dsl.meaning.lookups import Span
    from dsl.terms.terms import Declaration, Term

    Absence = Callable[[Situation], str | None]

FIRST = "first at"
"""What the instant is called at which a condition over a span first does not hold."""


def shown(condition: Term, slots: Mapping[str, int]) -> dict[str, tuple[Evaluate, str]]:
    """Return what a reason shows of the predictions in ``condition``: label → value, and symbol of the unit."""
    found: dict[str, tuple[Evaluate, str]] = {}
    for part in parts(condition):
        if isinstance(part, Prediction):
            found[text(part)] = (as_it_is(part, slots), part.kind.symbol)
        elif isinstance(part, Throughout):
            found.update(_shown_of_span(part, slots))
    return found


def _shown_of_span(term: Throughout, slots: Mapping[str, int]) -> Iterator[tuple[str, tuple[Evaluate, str]]]:
    over = span(term, slots)
    yield FIRST, (lambda situation: None if (moment := over.witness(situation).moment) is None else moment.instant, "")
    for part in parts(term.condition):
        if isinstance(part, Observation) and part.source.forecast:
            yield label(part), (_there(over, as_it_is(part, slots)), part.kind.symbol)
        for side, measure, symbol in compared(part):
            yield text(side), (_there(over, compiled(side, slots, measure)), symbol)


def _there(over: Span, evaluate: Evaluate) -> Evaluate:
    """The value at the first moment that shows that the condition does not hold."""

    def look(situation: Situation) -> Any:
        moment = over.witness(situation).moment
        return None if moment is None else evaluate(moment.situation)

    return look


def absences(term: Term, slots: Mapping[str, int]) -> Iterator[Absence]:
    """Yield the functions that say what is missing for ``term``, a prediction or a span; none for other terms."""
    if isinstance(term, Prediction):
        yield _absence(term, slots)
    elif isinstance(term, Throughout):
        yield from _absences_in_span(term, slots)


def absence(
    source: Declaration, name: str, slots: Mapping[str, int], is_missing: Callable[[Situation], bool]
) -> Absence:
    """Return the function that names a source which has no row; where it has one, ``name`` if that is missing."""
    slot = slots[source.name]
    return lambda situation: source.name if situation.rows[slot] is None else name if is_missing(situation) else None


def _absence(term: Prediction, slots: Mapping[str, int]) -> Absence:
    at, value, name = compiled(term.at, slots), as_it_is(term, slots), f"{term.source.name} at {text(term.at)}"
    return absence(term.source, name, slots, lambda each: at(each) is not None and value(each) is None)


def _absences_in_span(term: Throughout, slots: Mapping[str, int]) -> Iterator[Absence]:
    over, where = span(term, slots), f"from {text(term.first)} to {text(term.last)}"
    for part in dict.fromkeys(parts(term.condition)):
        if isinstance(part, Prediction):
            yield _absence(part, slots)
        elif isinstance(part, Observation):
            name = f"{part.source.name} {where}" if part.source.forecast else label(part)
            yield absence(part.source, name, slots, partial(_is_undecided, over, as_it_is(part, slots)))


def _is_undecided(over: Span, value: Evaluate, situation: Situation) -> bool:
    moment = over.witness(situation).moment
    return moment is not None and value(moment.situation) is None


def reading(leaf: Term, slots: Mapping[str, int]) -> Evaluate:
    """Return what is compared of a leaf: its value; what is missing of it; of a span also where it first fails.

    What it raises is compared as well: it counts where a rule reads the leaf, and comes of that.
    """
    value = as_it_is(leaf, slots) if isinstance(leaf, Prediction) else compiled(leaf, slots)
    if not isinstance(leaf, Prediction | Throughout):
        return value
    beside = [*absences(leaf, slots), *(evaluate for evaluate, _ in shown(leaf, slots).values())]

    def read(situation: Situation) -> Any:
        try:
            return (value(situation), *(evaluate(situation) for evaluate in beside))
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    return read
