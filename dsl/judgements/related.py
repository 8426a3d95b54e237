"""Related: what the relations of a pack come to for one subject, given what their tables hold.

After one row a source come the rows of the tables of each relation: of pairs, what was found with the others whose
rows fit by equality, with those of which that is unknown, and because it is unknown of the subject; of totals, the
tally of the subject's group and that of the rows whose group is unknown. `relation_tables` makes these tables in an
engine; `Related.from_rows` makes them of lists of rows, for one situation.

Source: issue 6; DESIGN.md, section 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, final

import attrs

from dsl.judgements.pairs import PairJudge, findings_of, fold, shown
from dsl.judgements.tallies import ASTRAY, Contributing, GroupOf, Tallied, unknown
from dsl.meaning.raising import Compiled
from dsl.terms.related_rows import Pairing, Tallying, equalities, pairings, tallyings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsl.meaning.evaluation import Row
    from dsl.terms.statements import Statement
    from dsl.terms.terms import Declaration

Rows: TypeAlias = "Sequence[Row] | None"
"""All rows of a table; None: it is not known what they are."""


@final
@attrs.frozen
class Related(Compiled):
    """What the relations of a pack come to, as a function of one row a source and then of one a table of a relation.

    One row comes out for each requirement about pairs, with what was found, and one for each total: in the order of the
    slots that a judge has for them (`related_rows.slots`).

    Args:
        sources: Those of the judge, the subject's first.
        statements: The rules.
    """

    sources: tuple[Declaration, ...]
    statements: tuple[Statement, ...]
    pairings: tuple[Pairing, ...] = attrs.field(init=False, eq=False, repr=False)
    tallyings: tuple[Tallying, ...] = attrs.field(init=False, eq=False, repr=False)
    _tallied: tuple[Tallied, ...] = attrs.field(init=False, eq=False, repr=False)
    _n_tables: tuple[int, ...] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Gather the relations."""
        object.__setattr__(self, "pairings", pairings(self.statements))
        object.__setattr__(self, "tallyings", tallyings(self.statements))
        tallied = tuple(Tallied(each, self.sources, self.compilation) for each in self.tallyings)
        object.__setattr__(self, "_tallied", tallied)
        object.__setattr__(self, "_n_tables", tuple(map(tables_of, self.pairings)))

    @property
    def has_any(self) -> bool:
        """Whether there are any relations."""
        return bool(self.pairings or self.tallyings)

    @property
    def tables(self) -> tuple[Declaration, ...]:
        """The sources of whose rows the relations tell, each once: what is counted, and the other subjects."""
        return tuple(dict.fromkeys([each.other for each in self.pairings] + [each.source for each in self.tallyings]))

    def __call__(self, given: Sequence[Any]) -> tuple[Row, ...]:
        """Say what the relations come to."""
        width = len(self.sources)
        rows, tables = given[:width], iter(given[width:])
        found: list[Row] = []
        for pairing, number in zip(self.pairings, self._n_tables, strict=True):
            findings = findings_of(pairing, [next(tables) for _ in range(number)])
            found += [{"findings": each} for each in findings]
        for tallying, tallied in zip(self.tallyings, self._tallied, strict=True):
            grouped = None if tallying.group is None else next(tables)
            found += tallied(rows, grouped, next(tables))
        return tuple(found)

    def from_rows(self, rows: Sequence[Row], tables: Mapping[str, Rows], now: int | None) -> tuple[Any, ...]:
        """Return what the tables of the relations hold for a subject, from scratch.

        Args:
            rows: Those of the sources, the subject's first.
            tables: The rows of what is counted and of the other subjects, by name; what is left out is not known.
            now: When it is judged.
        """
        given: list[Any] = []
        for pairing, number in zip(self.pairings, self._n_tables, strict=True):
            judge = PairJudge(self.sources, pairing, compilation=self.compilation)
            others = tables.get(pairing.other.name)
            pairs = [judge(rows, other, now) for other in ([None] if others is None else others)]
            given += [shown(fold(pairs)), *[None] * (number - 1)]
        for tallying in self.tallyings:
            given += self._tallies(tallying, rows, tables.get(tallying.source.name))
        return tuple(given)

    def _tallies(self, tallying: Tallying, rows: Sequence[Row], counted: Rows) -> list[Any]:
        is_grouped = tallying.group is not None
        if counted is None:
            return [*[None] * is_grouped, unknown(tallying)]
        own = [rows[0]] if tallying.source.another_of is not None else []  # taken out again
        tally = Contributing(tallying, compilation=self.compilation).tally([*counted, *own])
        if not is_grouped:
            return [tally.get(ASTRAY)]
        group = GroupOf(tallying, self.sources, compilation=self.compilation)
        return [tally.get(group(*rows)), tally.get(ASTRAY)]


def tables_of(pairing: Pairing) -> int:
    """Return how many tables of pairs there are: more than one where an equality can be unknown.

    >>> from dsl.terms.statements import EVERY_PAIR
    >>> from dsl.terms.terms import Declaration
    >>> tables_of(Pairing(Declaration("other", "mmsi", ()), EVERY_PAIR, ()))
    1
    """
    return 3 if equalities(pairing) else 1
