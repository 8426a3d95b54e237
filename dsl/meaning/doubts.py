"""Doubts: what keeps a condition undecided, where it is: the names that a reason gives as missing.

Source: DESIGN.md, section 6 (for unknown the missing sources).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dsl.meaning import foreseen
from dsl.meaning.evaluation import compiled
from dsl.terms.related_rows import totals
from dsl.terms.terms import Coalesce, Junction, Known, Now, Observation, operands, parts
from dsl.terms.texts import label, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dsl.meaning.evaluation import Evaluate, Situation
    from dsl.meaning.reevaluation import Doubt
    from dsl.terms.terms import Term


def doubt_of(term: Term, slots: Mapping[str, int]) -> Doubt:
    """Return the function that says what keeps ``term`` undecided, where it is: rows, fields, or a text."""
    holds, written = compiled(term, slots), (text(term),)
    if any(isinstance(part, Junction) for part in parts(term)):
        # A junction is undecided because of those of its parts that are.
        inner = tuple((compiled(part, slots), doubt_of(part, slots)) for part in operands(term))

        def doubt(situation: Situation) -> tuple[str, ...]:
            undecided = (why(situation) for holds, why in inner if holds(situation) is None)
            return tuple(dict.fromkeys(name for names in undecided for name in names))

        return doubt
    absences = tuple(_absences(term, slots))
    tallies = tuple(slots[repr(total)] for total in totals(term))

    def absent(situation: Situation) -> tuple[str, ...]:
        names = [name for absence in absences if (name := absence(situation)) is not None]
        names += [name for slot in tallies for name in (situation.rows[slot] or {})["missing"]]
        found = tuple(dict.fromkeys(names))
        return found or (written if holds(situation) is None else ())

    return absent


def _absences(term: Term, slots: Mapping[str, int]) -> Iterator[Callable[[Situation], str | None]]:
    """Yield, for each observation in ``term``, the function that names it where its absence matters."""
    if isinstance(term, Observation):
        yield _absence(term, slots)
    if isinstance(term, Now):
        yield lambda situation: "now" if situation.now is None else None
    yield from foreseen.absences(term, slots)
    for operand in operands(term):
        yield from _absences_under(term, operand, slots)


def _absences_under(
    whole: Term, operand: Term, slots: Mapping[str, int]
) -> Iterator[Callable[[Situation], str | None]]:
    if not isinstance(whole, Coalesce | Known):
        yield from _absences(operand, slots)
        return
    holds = compiled(whole, slots)
    for absence in _absences(operand, slots):
        # What a coalesce does without, and what is known to be absent, is not what is missing.
        yield partial(_absence_in_doubt, holds, absence)


def _absence_in_doubt(holds: Evaluate, absence: Callable[[Situation], str | None], situation: Situation) -> str | None:
    return absence(situation) if holds(situation) is None else None


def _absence(observation: Observation, slots: Mapping[str, int]) -> Callable[[Situation], str | None]:
    slot, source, field = slots[observation.source.name], observation.source.name, label(observation)
    value = compiled(observation, slots)
    return lambda situation: source if situation.rows[slot] is None else field if value(situation) is None else None
