"""Tallies: totals over the rows of a source, kept up by adding what comes and subtracting what goes.

A row adds a `Contribution` to each total: nothing where the condition of the total does not hold of it, and what is
missing where that is unknown. So a total knows whether it is known: it is missing as long as one row is in doubt, and
says which of its fields are. A row whose group is unknown may belong to any: the rows of that kind are tallied apart,
under `ASTRAY`, and put every group in doubt. The subject does not count among the other subjects: contributions form a
group, so its own is taken out again.

Source: thesis, L23 (Group: empty, combine, inverse); DESIGN.md, section 6 (missing data never reads as safe).
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, final

import attrs

from dsl.judgements.contributions import Contribution, Part, nothing_missing
from dsl.meaning.evaluation import Situation, compiled
from dsl.meaning.raising import Compilation, Compiled, hashed, undeclared
from dsl.meaning.term_expressions import STALE
from dsl.terms.dimensions import Measure
from dsl.terms.texts import text
from dsl.writing.checking import common
from restrictions.table_operators.groups import Group

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsl.meaning.evaluation import Evaluate, Row
    from dsl.meaning.reevaluation import Doubt
    from dsl.terms.related_rows import Tallying
    from dsl.terms.terms import Declaration

ASTRAY = ()
"""The key of the rows whose group is unknown; where nothing is grouped, of all rows."""


@final
@attrs.frozen
class Contributing(Compiled):
    """What a row adds to each total of a tallying. Its `repr` is deterministic."""

    tallying: Tallying
    _key: Evaluate | None = attrs.field(init=False, eq=False, repr=False)
    _key_doubt: Doubt = attrs.field(init=False, eq=False, repr=False)
    _parts: tuple[Part, ...] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Compile the terms."""
        here, slots = self.tallying, {self.tallying.source.name: 0}
        key: Evaluate | None = None
        doubt: Doubt = nothing_missing
        if here.key is not None:
            as_written = hashed(compiled(here.key, slots, _measure(here)))
            key, doubt = self.compilation.value(as_written), self.compilation.why(here.key, as_written, slots)
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_key_doubt", doubt)
        object.__setattr__(self, "_parts", tuple(Part(total, slots, self.compilation) for total in here.totals))

    def __call__(self, row: Row) -> tuple[Contribution, ...]:
        """Return one contribution a total."""
        situation = Situation((row,))
        if row is not None and STALE in row:
            return (Contribution(missing=((self.tallying.source.name, 1),)),) * len(self._parts)
        try:
            is_astray = self._key is not None and self._key(situation) is None
            missing = self._key_doubt(situation) if is_astray else ()
            return tuple([part.contribution(situation, missing) for part in self._parts])
        except KeyError as error:
            raise undeclared(error) from error

    def key(self, row: Row) -> Any:
        """Return the key of the tally that the row belongs to."""
        try:
            value = None if self._key is None else self._key(Situation((row,)))
        except KeyError as error:
            raise undeclared(error) from error
        return ASTRAY if value is None else value

    def tally(self, rows: Iterable[Row]) -> dict[Any, tuple[Contribution, ...]]:
        """Tally rows from scratch: what the table of a tallying holds."""
        found: dict[Any, tuple[Contribution, ...]] = {}
        for row in rows:
            key = self.key(row)
            found[key] = add(found.get(key, nothing(self.tallying)), self(row))
        return found


@final
@attrs.frozen
class Keyed(Compiled):
    """The key of a row's tally, as a function of the row."""

    contributing: Contributing

    def __repr__(self) -> str:
        key = self.contributing.tallying.key
        return "<all>" if key is None else f"<{text(key)}>"

    def __call__(self, row: Row) -> Any:
        """Compute it."""
        return self.contributing.key(row)


@final
@attrs.frozen
class IsAstray(Compiled):
    """Whether the group of a row is unknown."""

    keyed: Keyed

    def __repr__(self) -> str:
        return f"{self.keyed!r} unknown"

    def __call__(self, row: Row) -> bool:
        """Look."""
        return bool(self.keyed(row) == ASTRAY)


@final
@attrs.frozen
class GroupOf(Compiled):
    """The group whose totals are meant, as a function of the rows of sources: None where it is unknown."""

    tallying: Tallying
    sources: tuple[Declaration, ...]
    _evaluate: Evaluate = attrs.field(init=False, eq=False, repr=False)
    _raised: Doubt = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Compile the term."""
        assert self.tallying.group is not None
        slots = {source.name: number for number, source in enumerate(self.sources)}
        evaluate = hashed(compiled(self.tallying.group, slots, _measure(self.tallying)))
        object.__setattr__(self, "_evaluate", self.compilation.value(evaluate))
        object.__setattr__(self, "_raised", self.compilation.raised(evaluate, text(self.tallying.group)))

    def __call__(self, *rows: Row) -> Any:
        """Compute it."""
        return self._evaluate(Situation(rows))

    def raised(self, rows: Sequence[Row]) -> tuple[str, ...]:
        """Return what it raised, if that is why it is unknown."""
        return self._raised(Situation(rows))

    def __repr__(self) -> str:
        return "" if self.tallying.group is None else text(self.tallying.group)


@final
class Tallied:
    """What the totals of a tallying come to for one subject.

    Args:
        tallying: The totals.
        sources: Those of the judge, the subject's first.
        compilation: How its terms are compiled.
    """

    def __init__(self, tallying: Tallying, sources: tuple[Declaration, ...], compilation: Compilation) -> None:
        """Compile the terms."""
        self._tallying = tallying
        self._contributing = Contributing(tallying, compilation=compilation)
        self._group = None if tallying.group is None else GroupOf(tallying, sources, compilation=compilation)
        self._excludes = tallying.source.another_of is not None

    def __call__(
        self, rows: Sequence[Row], grouped: tuple[Contribution, ...] | None, astray: tuple[Contribution, ...] | None
    ) -> tuple[dict[str, Any], ...]:
        """Return one row a total: its value, and what is missing.

        Args:
            rows: Those of the sources.
            grouped: The tally of the subject's group; None: no row is in it.
            astray: The tally of the rows whose group is unknown; where nothing is grouped, of all rows.
        """
        group = None if self._group is None else self._group(*rows)
        if self._group is not None and group is None:
            raised = self._group.raised(rows)
            return tuple({"value": None, "missing": raised} for _ in self._tallying.totals)
        subject = rows[0]
        if self._excludes and subject is not None and STALE in subject:
            # What it adds is no longer what it added, until the tally knows that it is stale.
            missing = (self._tallying.source.another_of,)
            return tuple({"value": None, "missing": missing} for _ in self._tallying.totals)
        tally = add(grouped or nothing(self._tallying), astray or nothing(self._tallying))
        if self._excludes:
            own = self._contributing.key(subject)
            if own in (ASTRAY, group):
                tally = add(tally, negated(self._contributing(subject)))
        results = (part.result(total.operation) for part, total in zip(tally, self._tallying.totals, strict=True))
        return tuple({"value": value, "missing": missing} for value, missing in results)


def group(tallying: Tallying) -> Group:
    """Return the group over which the rows of a table are totalled."""
    return Group(nothing(tallying), add, negated, lift=Contributing(tallying), name="tally")


def nothing(tallying: Tallying) -> tuple[Contribution, ...]:
    """Return the tally of no rows."""
    return (Contribution(),) * len(tallying.totals)


def unknown(tallying: Tallying) -> tuple[Contribution, ...]:
    """Return the tally of rows of which nothing is known, not even how many there are."""
    return (Contribution(missing=((tallying.source.name, 1),)),) * len(tallying.totals)


def add(left: tuple[Contribution, ...], right: tuple[Contribution, ...]) -> tuple[Contribution, ...]:
    """Add two tallies."""
    return tuple(map(operator.add, left, right))


def negated(tally: tuple[Contribution, ...]) -> tuple[Contribution, ...]:
    """Return what takes a tally back."""
    return tuple(map(operator.neg, tally))


def _measure(tallying: Tallying) -> Measure | None:
    """The measure in which the keys of a grouping are compared, if they are quantities."""
    if tallying.key is None or tallying.group is None or not isinstance(tallying.key.kind, Measure):
        return None
    return common(tallying.key, tallying.group)
