"""What the clock makes of rows: too old to count, or of a subject that is not considered now.

A row that is older than its source's `stale_after` counts as missing: it is *stale*. Its fields are missing then, its
key is not, so what is linked by the key alone stays linked. It is stale from its event time plus that duration on, and
until the next row comes.

Which subjects are considered is the condition `only=`: where it is false, there is no row, and nothing is linked; where
it is unknown, there is one, since missing data must not hide a subject. What is kept of a subject that is not
considered is its row, as long as the clock alone can bring it back; else nothing.

A row that the clock matters to carries two marks, which no field can be called: ``@stale``, and, of a subject whose
rules mention the clock, ``@now``: the time of its last row, or of the last change of a comparison with the clock.

Invariant: between two deadlines nothing that a rule says of the clock changes, so that the mark may lag behind.

Source: DESIGN.md, section 6 (missing data must never read as safe).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, final

import attrs

from cartesius.data.records import Record
from cartesius.expressions.phases import Phases
from dsl.judgements.clocks import Crossings
from dsl.meaning.evaluation import Situation
from dsl.meaning.raising import Compiled, undeclared
from dsl.meaning.schedules import extended
from dsl.meaning.term_expressions import NOW, STALE, InexpressibleError, expressed
from restrictions.gates.life_stages import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.data.events import Time
    from dsl.meaning.evaluation import Evaluate, Row
    from dsl.terms.terms import Comparison, Declaration, Term

_AGED: Final[Any] = Record({})


@final
@attrs.frozen
class Presence(Compiled):
    """What becomes of the rows of a source by the clock: a life, for `life_stages`.

    >>> from dsl import Source
    >>> from dsl.declarations.sources import declaration
    >>> from dsl.units import minutes
    >>> wind = declaration(Source("wind", key=None, velocity=int, stale_after=30 * minutes))
    >>> stage = Presence(wind).come(None, {"velocity": 9}, 0, 0)
    >>> stage.until, Presence(wind).go_on(stage.keeps, 0, stage.until).value
    (1800000000, Record({'velocity': None, '@stale': True}))
    """

    source: Declaration
    comparisons: tuple[Comparison, ...] = ()
    """What depends on the clock, in the rules and in `only`."""
    only: tuple[Term, ...] = ()
    """Conditions on the row and the clock: the row is seen unless one is false."""
    _crossings: Crossings = attrs.field(init=False, eq=False, repr=False)
    _only: tuple[Evaluate, ...] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Compile the terms."""
        slots = {self.source.name: 0}
        object.__setattr__(self, "_crossings", Crossings(self.comparisons, self.source, self.compilation))
        object.__setattr__(self, "_only", tuple(self.compilation.condition(each, slots) for each in self.only))

    @property
    def is_last(self) -> bool:
        """Whether its subject is judged anew as the clock moves: after rows have gone that are too old by then."""
        return bool(self.comparisons)

    def come(self, before: Any, value: Any, time: Time, now: Time) -> Stage | None:
        """Return what the row that has come is at first."""
        return self.go_on(value, time, now)

    def go_on(self, keeps: Any, time: Time, now: Time) -> Stage | None:
        """Return what the row is from ``now`` on."""
        try:
            return self._stage(keeps, time, now)
        except KeyError as error:
            raise undeclared(error) from error

    def in_columns(self) -> Phases | None:
        """Return what it does in expressions; None if there is none for a condition."""
        try:
            only = tuple(map(expressed, self.only))
        except InexpressibleError:
            return None
        name, lasts = self.source.name, self.source.stale_after
        return Phases(name, self.source.key, only, self._crossings.in_columns(), lasts, NOW, STALE)

    def _stage(self, row: Any, time: Time, now: Time) -> Stage | None:
        present = int(now) if math.isfinite(now) else None
        lasts = self.source.stale_after
        if lasts is not None and now - time >= lasts:
            key = self.source.key
            aged = Record({**{name: row[name] if name == key else None for name in row}, STALE: True})
            return Stage(self._marked(aged, present), row, None)
        answers = (holds(Situation((row,), present)) for holds in self._only)
        is_seen = not any(answer is not None and not answer for answer in answers)
        until = self._until(row, time, present)
        if is_seen:
            return Stage(self._marked(row, present), row, until)
        return None if until is None else Stage(None, row, until)

    def _marked(self, row: Any, now: int | None) -> Any:
        return Record(extended(row, {NOW: now})) if self.comparisons else row

    def _until(self, row: Any, time: Time, now: int | None) -> int | None:
        changes = [] if now is None else [self._crossings.after(row, now)]
        if self.source.stale_after is not None and math.isfinite(time):
            changes.append(int(time) + self.source.stale_after)
        return min((change for change in changes if change is not None), default=None)


def situated(
    sources: Sequence[Declaration], rows: Sequence[Row], now: int | None, derived: Sequence[Row] = ()
) -> Situation:
    """Return what is judged at ``now``: the rows without those that are marked as stale, and what is derived of them.

    >>> from dsl import Source
    >>> from dsl.declarations.sources import declaration
    >>> from dsl.units import minutes
    >>> wind = declaration(Source("wind", key=None, velocity=int, stale_after=30 * minutes))
    >>> situated([wind], [{"velocity": None, STALE: True}], None).rows
    (None,)
    """
    stale = {
        source.name
        for source, row in zip(sources, rows, strict=True)
        if source.stale_after is not None and row is not None and STALE in row
    }
    if stale:
        rows = tuple(None if source.name in stale else row for source, row in zip(sources, rows, strict=True))
    return Situation((*rows, *derived), now, stale)


def comparable(sources: Sequence[Declaration], rows: Sequence[Row]) -> Sequence[Row]:
    """Return rows of which those that are stale have no fields, the key included: what is compared with other rows.

    >>> from dsl import Source
    >>> from dsl.declarations.sources import declaration
    >>> from dsl.units import minutes
    >>> wind = declaration(Source("wind", key="id", id=str, stale_after=30 * minutes))
    >>> comparable([wind, wind], [{"id": "N", STALE: True}, None])
    [Record({}), None]
    """
    if all(source.stale_after is None for source in sources):
        return rows
    return [_AGED if row is not None and STALE in row else row for row in rows]


def time_of(row: Row) -> int | None:
    """Return the time that a subject's row is marked with; None if it is not."""
    return row[NOW] if row is not None and NOW in row else None
