"""Which subjects are considered: the part of `only=` that observes linked sources, decided beside the judgement.

The part that the subject's row and the clock decide alone stands in front of all links (`presence`); a subject is
considered unless one of the two is false, as in Kleene's conjunction.

Source: DESIGN.md, section 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import attrs

from cartesius import Reactive, correlate
from cartesius.expressions.expressions import Apply, Part
from cartesius.expressions.made_values import Sole
from cartesius.expressions.missing_values import Asked, Form, form_of, is_there
from dsl.columns.judgement_forms import form_of_considered
from dsl.judgements.clocks import comparisons_with_now
from dsl.judgements.presence import Presence, situated, time_of
from dsl.meaning.raising import Compiled
from dsl.meaning.schedules import Forecasting
from dsl.terms.statements import conditions
from dsl.terms.terms import sources
from restrictions import as_table, retracting
from restrictions.gates.life_stages import ageing, collating

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsl.judgements.accounts import Gathered
    from dsl.judgements.judges import Judge
    from dsl.judgements.passing import Passage, Passing
    from dsl.meaning.evaluation import Evaluate, Row
    from dsl.meaning.verdicts import Verdict
    from dsl.terms.terms import Declaration, Term


def presence(judge: Judge | Passing | Gathered, only: tuple[Term, ...]) -> Presence:
    """Return what the clock makes of the subject's rows, where ``only`` are the conditions on them and the clock."""
    subject = judge.sources[0]
    terms = (*conditions(judge.statements), *only)
    found = dict.fromkeys(each for term in terms for each in comparisons_with_now(term, subject))
    return Presence(subject, tuple(found), tuple(term for term in only if set(sources(term)) <= {subject}))


def rows_by_the_clock(presence: Presence, rows: Reactive) -> Reactive:
    """Return the table of ``rows`` as the clock shows them; the same table if it makes no difference."""
    if presence == Presence(presence.source) and presence.source.stale_after is None:
        return rows
    shown: Reactive = correlate(
        slots={"row": rows},
        where=Apply(is_there, (Part("row"),), "is_there"),
        yields=Part("row"),
        restrict=retracting() | as_table("row") | ageing("row", presence),
        name=f"{rows.name} by the clock",
    )
    return shown


def schedules(source: Declaration, predictions: Reactive) -> Reactive:
    """Return the table of the schedules of a forecast, made from the stream of its predictions."""
    table: Reactive = correlate(
        slots={"prediction": predictions},
        yields=Part("prediction"),
        restrict=retracting() | as_table("prediction") | collating("prediction", Forecasting(source)),
        name=f"schedules of {source.name}",
    )
    return table


@final
@attrs.frozen
class Considered(Compiled):
    """A judgement of the subjects that are considered, in a tuple: None for one for which a condition is false."""

    judge: Judge | Passing | Gathered
    only: tuple[Term, ...]
    _only: tuple[Evaluate, ...] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Compile the conditions."""
        slots = {source.name: number for number, source in enumerate(self.judge.sources)}
        object.__setattr__(self, "_only", tuple(self.compilation.condition(each, slots) for each in self.only))

    def __call__(self, *rows: Mapping[str, Any] | None) -> tuple[Verdict | Passage | tuple[Row, ...] | None] | None:
        """Judge one combination of rows, and of tables of relations, unless it is out of consideration."""
        here = situated(self.judge.sources, rows[: len(self.judge.sources)], time_of(rows[0]))
        answers = (holds(here) for holds in self._only)
        is_out = any(answer is not None and not answer for answer in answers)
        return None if is_out else (self.judge(*rows),)

    def in_columns(self) -> Form | str | None:
        """Return what it computes as expressions, or why it is judged row by row."""
        form = form_of(self.judge)
        if isinstance(form, Asked):
            return form.why
        return form_of_considered(form, self.only) if isinstance(form, Form) else form


def considered(name: str, results: Reactive, type_: type) -> Reactive:
    """Return the table of what `Considered` makes of the subjects that are considered."""
    shown: Reactive = correlate(
        slots={"result": results},
        where=Apply(is_there, (Part("result"),), "is_considered"),
        yields=Apply(Sole(), (Part("result"),), "the result"),
        restrict=retracting() | as_table("result"),
        name=name,
        type=type_,
    )
    return shown
