"""Lowering: a pack becomes one correlation of its sources' tables, and its verdicts a table.

One slot a source, the subject's first; the links become equalities between a key and an expression, which the engine
turns into indexes; every slot but the subject's is optional, because a missing row makes a verdict unknown, not
absent; results are retracted when a row is replaced; and the table shows one verdict a subject, changed only when its
meaning does.

Source: thesis, chapter 5 (there: one join per operator); DESIGN.md, sections 3 and 6.
"""

from __future__ import annotations

import operator
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, TypeAlias, final

import attrs

from cartesius import Reactive, correlate
from cartesius.expressions.expressions import Apply, Constant, Field, Part
from cartesius.expressions.missing_values import Form
from dsl.columns.judgement_forms import form_of_status
from dsl.judgements.considering import Considered, considered, presence, rows_by_the_clock, schedules
from dsl.judgements.passing import Passage, Passing
from dsl.judgements.presence import Presence
from dsl.meaning.evaluation import Situation, compiled
from dsl.meaning.raising import Compiled
from dsl.meaning.term_expressions import InexpressibleError, expressed
from dsl.meaning.verdicts import Verdict
from dsl.terms.dimensions import Choice
from dsl.terms.negations import conjuncts
from dsl.terms.terms import Constant as Written
from dsl.terms.terms import Declaration, Observation, Term, observations
from dsl.terms.texts import text
from restrictions import as_table, optionally, retracting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.columns.vectors.vectors import Vector
    from cartesius.expressions.expressions import Expression
    from dsl.judgements.accounts import Gathered
    from dsl.judgements.judges import Judge
    from dsl.meaning.evaluation import Evaluate
    from dsl.tables.relation_tables import Table
    from dsl.terms.links import Link

    Relations: TypeAlias = Callable[[Mapping[str, Reactive]], Sequence[Table]]


@cache
def reactive(source: Declaration) -> Reactive:
    """Return the input of ``source``: a table of mappings; of a forecast, a stream of them.

    Equal declarations share one, so packs can share inputs.

    >>> reactive(Declaration("tugs", None, ())) is reactive(Declaration("tugs", None, ()))
    True
    """
    fields = tuple(name for name, _ in source.fields)
    if source.forecast:
        return Reactive(source.name, fields=fields)
    return Reactive(source.name, table=True, key=source.key, fields=fields)


@cache
def rows(source: Declaration) -> Reactive:
    """Return the table of the rows of ``source``: its input, or, of a forecast, one schedule a key."""
    return schedules(source, reactive(source)) if source.forecast else reactive(source)


def table(
    name: str,
    judge: Judge | Passing | Gathered,
    links: Sequence[Link],
    only: Term | None = None,
    relations: Relations | None = None,
) -> Reactive:
    """Return the table of verdicts, or of passages, by subject.

    Args:
        name: The table's name.
        judge: The judgement of the pack, of one row a source, and then of one a table of its relations; or what makes
            passages of them.
        links: How the rows of the others are found.
        only: Which subjects are considered: those for which it is not false. What it says of the subject and the clock
            alone is decided before anything is linked.
        relations: The tables of its relations, as a function of the tables of its sources, by name.
    """
    parts = () if only is None else conjuncts(only)
    alone = presence(judge, parts)
    linked = tuple(part for part in parts if part not in alone.only)
    slots = {
        source.name: rows_by_the_clock(alone if source == alone.source else Presence(source), rows(source))
        for source in judge.sources
    }
    related = () if relations is None else relations(slots)
    slots.update({each.slot: each.table for each in related})
    where = conjunction([*map(equality, links), *(each.link for each in related)])
    if linked:
        everything = _results(f"{name} of all", slots, where, Considered(judge, linked), None)
        return considered(name, everything, _type(judge))
    return _results(name, slots, where, judge, _type(judge))


def _type(judge: Judge | Passing | Gathered) -> type:
    return Passage if isinstance(judge, Passing) else Verdict


def _results(
    name: str,
    slots: Mapping[str, Reactive],
    where: Expression | None,
    result: Judge | Passing | Gathered | Considered,
    type_: type | None,
) -> Reactive:
    subject, *others = slots
    restrict = retracting() | as_table(subject)
    if others:
        restrict = optionally(*others) | restrict
    results: Reactive = correlate(
        slots=slots,
        where=where,
        yields=Apply(result, tuple(map(Part, slots)), "judge"),
        restrict=restrict,
        name=name,
        type=type_,
    )
    return results


def equality(link: Link) -> Expression:
    """Return the condition under which a row is the one that is linked."""
    key = link.key
    found = Apply(operator.eq, (_read(key), _expression(link.value)), "==")
    if not isinstance(key.kind, Choice):
        return found
    members = [Apply(operator.eq, (_read(key), Constant(member)), "==") for member in key.kind.members]
    is_one = reduce(lambda one, other: Apply(operator.or_, (one, other), "|"), members)
    return Apply(operator.and_, (found, is_one), "&")


def conjunction(conditions: Sequence[Expression]) -> Expression | None:
    """Return the conjunction of conditions, None of none."""
    return reduce(lambda left, right: Apply(operator.and_, (left, right), "&"), conditions) if conditions else None


def warnings(name: str, version: str, verdicts: Reactive) -> Reactive:
    """Return the status changes of a table of verdicts: verdicts without reasons, one a transition.

    Args:
        name: The pack's name.
        version: Its version.
        verdicts: Its table.
    """
    changes: Reactive = correlate(
        slots={"verdict": verdicts},
        yields=Apply(StatusOnly(version), (Part("verdict"),), "status_only"),
        restrict=retracting() | as_table("verdict"),
        name=f"{name}.warnings",
        type=Verdict,
    )
    return changes


@final
@attrs.frozen
class StatusOnly:
    """A verdict without its reasons, so that it changes only with its status.

    >>> StatusOnly("3f2a9c01be77")(Verdict(1, "restricted", ()))
    Verdict(subject=1, status='restricted', because=())
    """

    version: str = attrs.field(eq=False, repr=False)
    """That of the pack whose verdicts they are."""

    def __call__(self, verdict: Verdict) -> Verdict:
        """Leave the reasons out."""
        return Verdict(verdict.subject, verdict.status, pack=self.version)

    def in_columns(self) -> Form:
        """Return what it computes as expressions."""
        return form_of_status(self.version)


@final
@attrs.frozen
class Computed(Compiled):
    """A term of a link as a function of its observations' values, in the order of their first mention.

    >>> from dsl import Source
    >>> berth = Source("berth", key="id", id=int, number=int)
    >>> Computed((berth.number * 10 + berth.id).term)(2, 7)
    27
    """

    term: Term
    _fields: tuple[str, ...] = attrs.field(init=False, eq=False, repr=False)
    _evaluate: Evaluate = attrs.field(init=False, eq=False, repr=False)
    _form: Form | None = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Compile the term, which observes at most one source."""
        seen = observations(self.term)
        object.__setattr__(self, "_fields", tuple(each.field for each in seen))
        evaluate = compiled(self.term, {each.source.name: 0 for each in seen})
        object.__setattr__(self, "_evaluate", self.compilation.value(evaluate))
        object.__setattr__(self, "_form", _form(self.term))

    def __call__(self, *values: Any) -> Any:
        """Compute the value; None where it is missing."""
        return self._evaluate(Situation([dict(zip(self._fields, values, strict=True))]))

    def of_vectors(self, *columns: Vector) -> Vector | None:
        """Compute the values of many rows at once, if columns can."""
        from cartesius.columns.bodies.vectorising import column_of  # noqa: PLC0415 - with Arrow, which rules do without

        return None if self._form is None else column_of(self._form, self._fields, columns)


def _form(term: Term) -> Form | None:
    """Return what a term that observes one source computes, None if that cannot be said."""
    try:
        value = expressed(term)
    except InexpressibleError:
        return None
    return Form((), value) if len({each.source for each in observations(term)}) == 1 else None


def _expression(value: Term) -> Expression:
    """The expression for the value that a key must equal."""
    match value:
        case Observation() if not isinstance(value.kind, Choice):  # of which a value that is no member is missing
            return _read(value)
        case Written(constant, _):
            return Constant(constant)
    return Apply(Computed(value), tuple(map(_read, observations(value))), text(value))


def _read(field: Observation) -> Expression:
    return Field(Part(field.source.name), field.field)
