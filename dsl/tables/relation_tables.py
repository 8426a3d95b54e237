"""The tables of relations: correlations that a pack's own correlation joins by the subject's key, or by a group.

Pairs are a correlation of the subject's table with itself, folded by subject. The equalities of `where` are its links,
so a row meets only those that can fit; where a side is unknown it may fit anything, and two correlations more, of
the rows of that kind alone, are usually empty. Without an equality it is the full product: a change of one of n
subjects costs 2·(n - 1) judgements of pairs. A total is a `reduce` of its source's table by group.

Invariant: each pair of two different subjects is in exactly one of the tables of a pairing, or its `where` is false.

Source: SEMANTICS 2.6 and 2.7; issue 6.
"""

from __future__ import annotations

import operator
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, final

import attrs

from cartesius import Reactive, correlate
from cartesius.expressions.expressions import Apply, Constant, KeyOf, Part, Tuple
from cartesius.language.restriction_base import Composition
from dsl.judgements.considering import rows_by_the_clock
from dsl.judgements.pairs import GROUP, PairJudge, form_of_pairs
from dsl.judgements.presence import Presence
from dsl.judgements.tallies import ASTRAY, Contributing, GroupOf, IsAstray, Keyed, group
from dsl.meaning.evaluation import Situation, compiled
from dsl.meaning.raising import Compiled, hashed, undeclared
from dsl.tables.lowering import conjunction, equality, reactive
from dsl.terms import terms
from dsl.terms.dimensions import Measure
from dsl.terms.related_rows import Pairing, Tallying, equalities
from dsl.terms.statements import conditions
from dsl.terms.texts import text
from dsl.writing.checking import common
from restrictions import as_table, only, optionally, retracting
from restrictions.table_operators.aggregation import totalling_by
from restrictions.tables import reduce

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius import Restriction
    from cartesius.expressions.expressions import Expression
    from cartesius.expressions.missing_values import Form
    from dsl.judgements.related import Related
    from dsl.meaning.evaluation import Evaluate, Row
    from dsl.terms.links import Link
    from dsl.terms.terms import Declaration, Term


class Table(NamedTuple):
    """A table of a relation: the slot that it gets, the table, and how its row is found."""

    slot: str
    table: Reactive
    link: Expression


@final
@attrs.frozen
class Sides(Compiled):
    """One side of equalities, as a function of rows: their values, or something else if one of them is unknown."""

    terms: tuple[tuple[Term, Measure | None], ...]
    sources: tuple[Declaration, ...]
    otherwise: tuple[()] | None
    _evaluate: tuple[Evaluate, ...] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Compile the terms."""
        slots = {source.name: number for number, source in enumerate(self.sources)}
        sides = (hashed(compiled(term, slots, measure)) for term, measure in self.terms)
        object.__setattr__(self, "_evaluate", tuple(map(self.compilation.value, sides)))

    def __call__(self, rows: Sequence[Row]) -> tuple[Any, ...] | None:
        """Compute the values."""
        situation = Situation(rows)
        try:
            values = tuple([evaluate(situation) for evaluate in self._evaluate])
        except KeyError as error:
            raise undeclared(error) from error
        return self.otherwise if None in values else values

    def __repr__(self) -> str:
        return ", ".join(text(term) for term, _ in self.terms)


@final
@attrs.frozen
class Knows(Compiled):
    """Whether a side of equalities is known of a value, or whether it is not: of one row, or of a tuple of rows."""

    sides: Sides
    is_known: bool
    is_row: bool

    def __repr__(self) -> str:
        return f"<{self.sides!r} {'known' if self.is_known else 'unknown'}>"

    def __call__(self, value: Any) -> bool:
        """Look."""
        return bool(self.sides((value,) if self.is_row else value)) == self.is_known


@final
@attrs.frozen
class Finds(Compiled):
    """Whether anything is found of a pair; no other pair has a result."""

    judge: PairJudge

    def __repr__(self) -> str:
        return f"{len(self.judge.pairing.requirements)} requirements"

    def __call__(self, rows: Sequence[Row], other: Row) -> bool:
        """Look."""
        return self.judge.finds(rows, other)

    def in_columns(self) -> Form | str:
        """Return what it computes as an expression."""
        return form_of_pairs(self.judge)


def tables(name: str, related: Related, links: Sequence[Link], rows: Mapping[str, Reactive]) -> list[Table]:
    """Return the tables of a pack's relations, in the order in which its judgement takes them.

    Args:
        name: The pack's name.
        related: Its judgement.
        links: How the rows of its sources are found.
        rows: The tables of its sources, by name, as the clock shows them.
    """
    found = []
    for number, pairing in enumerate(related.pairings, 1):
        found += _pair_tables(f"{name}.pairs-{number}", pairing, related.sources, links, rows)
    for number, tallying in enumerate(related.tallyings, 1):
        found += _tally_tables(f"{name}.totals-{number}", tallying, related.sources)
    return found


def _pair_tables(
    name: str,
    pairing: Pairing,
    sources: tuple[Declaration, ...],
    links: Sequence[Link],
    tables_of: Mapping[str, Reactive],
) -> list[Table]:
    subject, *others = sources
    conditions_of_pairs = (pairing.where, *conditions(pairing.requirements))
    observed = {source for term in conditions_of_pairs for source in terms.sources(term)}
    seen = (subject, *(source for source in others if source in observed))
    view, is_row = _view(name, seen, links, tables_of), len(seen) == 1
    rows: Expression = Tuple((Part(subject.name),)) if is_row else Part(subject.name)
    other = pairing.other.name
    judge = PairJudge(seen, pairing)
    judged = Apply(judge, (rows, Part(other)), "judge")
    found = Apply(operator.eq, (Apply(Finds(judge), (rows, Part(other)), "finds"), Constant(True)), "==")
    mine, theirs = _sides(pairing, seen)
    same = Apply(operator.eq, (Apply(mine, (rows,), "subject"), Apply(theirs, (Tuple((Part(other),)),), "other")), "==")
    unlinked = only(other, Knows(theirs, is_known=False, is_row=True))
    linked = only(other, Knows(theirs, is_known=True, is_row=True))
    unplaced = only(subject.name, Knows(mine, is_known=False, is_row=is_row))
    cases: list[tuple[str, list[Expression], tuple[Restriction, ...]]] = [("", [], ())]
    if mine.terms:
        cases = [
            ("", [same], ()),
            ("-other-unknown", [], (unlinked,)),
            ("-subject-unknown", [], (linked, unplaced)),
        ]
    folded = totalling_by(GROUP.of(itemgetter(1)), itemgetter(0))
    return [
        _joined(
            subject,
            correlate(
                slots={subject.name: view, other: _everyone(subject)},
                where=conjunction([*where, found]),
                yields=Tuple((KeyOf(subject.name), judged)),
                restrict=Composition((retracting(), *restrict, folded)),
                name=name + case,
            ),
        )
        for case, where, restrict in cases
    ]


def _everyone(source: Declaration) -> Reactive:
    """Return the table of all rows of a source; a subject that is not considered is still there for the others."""
    return rows_by_the_clock(Presence(source), reactive(source))


def _joined(subject: Declaration, table: Reactive) -> Table:
    return Table(table.name, table, Apply(operator.eq, (KeyOf(table.name), KeyOf(subject.name)), "=="))


def _view(
    name: str, seen: tuple[Declaration, ...], links: Sequence[Link], tables_of: Mapping[str, Reactive]
) -> Reactive:
    """Return the table of the subject's rows, in tuples with those of the other sources that pairs are judged by."""
    subject, *others = seen
    if not others:
        return tables_of[subject.name]
    needed = {source.name: source for source in others}
    for link in reversed(links):
        if link.source.name in needed:
            needed.update({source.name: source for source in terms.sources(link.value) if source != subject})
    slots = {source.name: tables_of[source.name] for source in (subject, *needed.values())}
    view: Reactive = correlate(
        slots=slots,
        where=conjunction([equality(link) for link in links if link.source.name in needed]),
        yields=Tuple(tuple(Part(source.name) for source in seen)),
        restrict=optionally(*needed) | retracting() | as_table(subject.name),
        name=f"{name}-view",
    )
    return view


def _sides(pairing: Pairing, seen: tuple[Declaration, ...]) -> tuple[Sides, Sides]:
    """Return the subject's and the other's side of the equalities of a pairing."""
    mine, theirs = [], []
    for their, my in equalities(pairing):
        measure = common(their, my) if isinstance(their.kind, Measure) else None
        mine.append((my, measure))
        theirs.append((their, measure))
    return Sides(tuple(mine), seen, None), Sides(tuple(theirs), (pairing.other,), ())


def _astray(name: str, table: Reactive) -> Table:
    slot = f"{name}-astray"
    return Table(slot, table, Apply(operator.eq, (KeyOf(slot), Constant(ASTRAY)), "=="))


def _tally_tables(name: str, tallying: Tallying, sources: tuple[Declaration, ...]) -> list[Table]:
    counted = sources[0] if tallying.source.another_of else tallying.source
    rows, keyed = _everyone(counted), Keyed(Contributing(tallying))
    table = reduce(rows, group(tallying), by=keyed)
    if tallying.group is None:
        return [_astray(name, table)]
    # In a table of their own, so that what changes in a group concerns nobody else.
    astray = reduce(rows, group(tallying), by=keyed, restrict=only("x", IsAstray(keyed)))
    linked = tuple(source for source in sources if source in terms.sources(tallying.group))
    wanted = Apply(GroupOf(tallying, linked), tuple(Part(source.name) for source in linked), text(tallying.group))
    return [Table(name, table, Apply(operator.eq, (KeyOf(name), wanted), "==")), _astray(name, astray)]
