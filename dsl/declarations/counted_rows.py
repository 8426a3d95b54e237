"""Totals as observations: `number_of`, `sum_of`, `mean_of`, `least_of`, `greatest_of` of the rows of a source.

`where` is a conjunction of conditions over a row of that source, and of at most one equality of a term over the row
with a term over one source of the pack: whose total it is, such as the subject's basin. A count of `another(…)` leaves
the subject itself out; one of the subject's own source includes it.

A row of which it is unknown whether it counts, or whose value is missing, makes the total unknown, so that missing data
never reads as allowed. Of no rows the count and the sum are 0; the mean, the least and the greatest are missing.

Source: thesis, Table 2.1 (availableTugs) and L23 (reduce); issue 6.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NoReturn

from dsl.declarations.sources import Source, declaration
from dsl.judgements.clocks import refuse_clock
from dsl.refusals.errors import DimensionMismatch, InvalidRule, refusal
from dsl.terms.dimensions import NUMBER, Measure, described, named
from dsl.terms.negations import conjuncts
from dsl.terms.related_rows import sides_of, totals
from dsl.terms.terms import Declaration, Operation, Term, Total, sources
from dsl.terms.texts import text
from dsl.writing.checking import condition, junction
from dsl.writing.fluent import Expression

if TYPE_CHECKING:
    from dsl.terms.dimensions import Kind


def number_of(source: Source, where: Expression | None = None) -> Expression:
    """Return how many rows of ``source`` there are: a plain number.

    >>> from dsl import RulePack, Source, require
    >>> vessel = Source("vessel", key="mmsi", mmsi=int)
    >>> tug = Source("tug", key="id", id=int, available=bool)
    >>> port = RulePack("port", subject=vessel)
    >>> with port:
    ...     require(number_of(tug, where=tug.available) >= 2, name="tugs")
    >>> port.check({"vessel": {"mmsi": 1}, "tug": [{"id": 1, "available": True}, {"id": 2, "available": False}]}).status
    'restricted'

    Args:
        source: Whose rows are counted; it needs no link. `another(…)`: the other subjects.
        where: Which rows count; by default all do.

    Raises:
        InvalidRule: No source, or a ``where`` that is more than conditions over a row and one equality.
        DimensionMismatch: ``where`` is no condition.
    """
    if not isinstance(source, Source):
        shown = text(source.term) if isinstance(source, Expression) else repr(source)
        observed = sources(source.term) if isinstance(source, Expression) else ()
        name = observed[0].name if observed else "tug"
        fix = [("fix", f"number_of({name}, where={shown if observed else '…'})")]
        raise InvalidRule(refusal(f"number_of: expected a source but got {shown}", fix))
    return _total("count", declaration(source), None, where, NUMBER)


def sum_of(value: Expression, where: Expression | None = None) -> Expression:
    """Return the sum of ``value`` over the rows of the source that it observes, in its unit; 0 of no rows.

    >>> from dsl import Source
    >>> from dsl.units import tonnes
    >>> tug = Source("tug", key="id", id=int, available=bool, bollard_pull=tonnes)
    >>> sum_of(tug.bollard_pull, where=tug.available) >= 90 * tonnes
    sum(tug.bollard_pull where tug.available) >= 90 t

    Args:
        value: A quantity over one source.
        where: Which of its rows count; by default all do.

    Raises:
        InvalidRule: ``value`` observes no source or several, or a ``where`` as `number_of` refuses.
        DimensionMismatch: ``value`` is no quantity, or ``where`` no condition.
    """
    return _of("sum", value, where)


def mean_of(value: Expression, where: Expression | None = None) -> Expression:
    """Return the mean of ``value`` over the rows of the source that it observes, in its unit; missing of no rows.

    >>> from dsl import Source
    >>> from dsl.units import knots
    >>> gauge = Source("gauge", key="id", id=int, speed=knots)
    >>> mean_of(gauge.speed) <= 30 * knots
    mean(gauge.speed) <= 30 kn

    Args:
        value: As for `sum_of`, and so is where.
        where: Which rows count.

    Raises:
        InvalidRule: As for `sum_of`, and so is DimensionMismatch.
    """
    return _of("mean", value, where)


def least_of(value: Expression, where: Expression | None = None) -> Expression:
    """Return the least ``value`` over the rows of the source that it observes, in its unit; missing of no rows.

    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> sounding = Source("sounding", key="id", id=int, basin=str, depth=metres)
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres)
    >>> least_of(sounding.depth, where=sounding.basin == vessel.basin) >= vessel.draught
    min(sounding.depth where sounding.basin == vessel.basin) >= vessel.draught

    Args:
        value: As for `sum_of`, and so is where.
        where: Which rows count.

    Raises:
        InvalidRule: As for `sum_of`, and so is DimensionMismatch.
    """
    return _of("min", value, where)


def greatest_of(value: Expression, where: Expression | None = None) -> Expression:
    """Return the greatest ``value`` over the rows of the source that it observes, in its unit; missing of no rows.

    >>> from dsl import Source
    >>> from dsl.units import metres_per_second
    >>> gauge = Source("gauge", key="id", id=int, gust=metres_per_second)
    >>> greatest_of(gauge.gust) <= 20 * metres_per_second
    max(gauge.gust) <= 20 m/s

    Args:
        value: As for `sum_of`, and so is where.
        where: Which rows count.

    Raises:
        InvalidRule: As for `sum_of`, and so is DimensionMismatch.
    """
    return _of("max", value, where)


def _of(operation: Operation, value: Expression, where: Expression | None) -> Expression:
    call = _CALLS[operation]
    if not isinstance(value, Expression):
        got = f"{value!r} (type={type(value).__name__})"
        raise InvalidRule(refusal(f"{call}: expected a quantity over the rows of a source but got {got}", [_EXAMPLE]))
    term = value.term
    if not isinstance(term.kind, Measure):
        notes = [
            ("got", f"{text(term)} is {described(term.kind)}"),
            ("fix", "number_of(…, where=…) says how many rows there are"),
        ]
        raise DimensionMismatch(refusal(f"{call}: expected a quantity but got {named(term.kind)}", notes))
    observed = sources(term)
    if len(observed) != 1 or totals(term):
        names = " and ".join(each.name for each in observed) or "none"
        got = f"{text(term)}, which observes {names}"
        raise InvalidRule(refusal(f"{call}: expected a quantity over the rows of one source but got {got}", [_EXAMPLE]))
    return _total(operation, observed[0], term, where, term.kind)


_CALLS: dict[Operation, str] = {
    "count": "number_of", "sum": "sum_of", "mean": "mean_of", "min": "least_of", "max": "greatest_of"
}  # fmt: skip
_EXAMPLE = ("fix", "name a field of the rows, as in sum_of(tug.bollard_pull, where=tug.available)")


def _total(
    operation: Operation, source: Declaration, value: Term | None, where: Expression | None, kind: Kind
) -> Expression:
    call = _CALLS[operation]
    if source.forecast:
        fix = [("fix", f"look one up: {source.name}.at(…).<field>; or total what was observed, in a source of its own")]
        raise InvalidRule(refusal(f"{call}: expected rows that are there now but {source.name!r} predicts", fix))
    key: Term | None = None
    group: Term | None = None
    conditions: list[Term] = []
    if value is not None:
        refuse_clock(call, value)
    for part in [] if where is None else conjuncts(_where(call, where)):
        refuse_clock(f"{call}: where", part)
        others = [each for each in sources(part) if each != source]
        if totals(part):
            _refuse(call, source, part, "it is a total itself, which no single row has")
        elif not others:
            conditions.append(part)
        elif (sides := sides_of(part, source)) is None or len(others) > 1:
            _refuse(call, source, part, "only an equality can say whose total it is, as rows are tallied by it")
        elif key is not None:
            _refuse(call, source, part, "there is an equality with another source already")
        else:
            key, group = sides
    condition_ = reduce(lambda left, right: junction("and", left, right), conditions) if conditions else None
    return Expression(Total(operation, source, value, key, group, condition_, kind))


def _where(call: str, where: object) -> Term:
    if not isinstance(where, Expression):
        got = f"{where!r} (type={type(where).__name__})"
        fix = [("fix", "where= says which rows count, as in where=tug.available")]
        raise InvalidRule(refusal(f"{call}: expected where to be a condition over the rows but got {got}", fix))
    return condition(f"{call}: where", where.term)


def _refuse(call: str, source: Declaration, part: Term, reason: str) -> NoReturn:
    name = source.name
    summary = (
        f"{call}: expected conditions over a row of {name!r}, and at most one equality with a term over one other"
        f" source, but got {text(part)}"
    )
    fix = f"where=({name}.<field> == <term over one source of the pack>) & (<condition over {name}>)"
    raise InvalidRule(refusal(summary, [("reason", reason), ("fix", fix)]))
