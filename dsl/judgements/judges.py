"""Judging: a pack's statements compiled to one function from rows to a verdict.

The statement tree is walked as it is written: a condition that is false skips its whole block, one that is unknown
makes what would fail inside it undecided. So a requirement r under conditions a, b means (a ∧ b) ⇒ r in Kleene's
logic, and a requirement that fails regardless of what is missing restricts. Reasons are made only for what failed or
is undecided.

A judge remembers what it last made of each subject (`remembering`), and evaluates again only what depends on a
leaf that changed (`dependencies`, `reevaluation`). Whether a condition holds is evaluated from its simplified
form (`simplifying`); what a reason says, from the condition as written.

Invariant: a judgement is what it would be without any memory, to the values shown and their order.

Source: thesis, Table 2.2; DESIGN.md, section 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import attrs

from cartesius.expressions.missing_values import Asked, Form
from dsl.columns.judgement_forms import form_of_pack
from dsl.columns.simplifying import simplified
from dsl.judgements.dependencies import Leaves
from dsl.judgements.presence import comparable, situated, time_of
from dsl.judgements.remembering import Judged, Memory
from dsl.judgements.requirement_checks import paired, required
from dsl.meaning.raising import LENIENT, Compilation, Compiled, called, links_raised, undeclared
from dsl.meaning.reevaluation import EVERYTHING, Guarded, Required, Run
from dsl.meaning.shared_terms import Slots
from dsl.terms.related_rows import each_alone, pair_slots, slot_of
from dsl.terms.related_rows import slots as slots_of
from dsl.terms.statements import Against, Located, Requirement, Statement, conditions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dsl.judgements.related import Related
    from dsl.meaning.evaluation import Row
    from dsl.meaning.reevaluation import Check
    from dsl.meaning.verdicts import Verdict
    from dsl.terms.links import Link
    from dsl.terms.terms import Declaration


@attrs.define
class Evaluations:
    """What a judge has done since it was made: how many judgements, and what they took.

    >>> from dsl import RulePack, Source, require
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, crew=int)
    >>> port = RulePack("port", subject=vessel)
    >>> with port:
    ...     require(vessel.crew >= 3)
    >>> verdict = port.check({"vessel": {"mmsi": 7, "crew": 5}})
    >>> port.stats
    Evaluations(judgements=1, remembered=0, requirements=1, conditions=0, expressions=0)
    """

    judgements: int = 0
    """How often the judge was asked."""
    remembered: int = 0
    """How many of these were of the very same rows as one of the last two of that subject."""
    requirements: int = 0
    """Requirements evaluated."""
    conditions: int = 0
    """Conditions of `when`, `otherwise` and `location` evaluated."""
    expressions: int = 0
    """Shared expressions computed."""

    def add(self, run: Run) -> None:
        """Count what ``run`` evaluated."""
        self.requirements += run.requirements
        self.conditions += run.conditions
        self.expressions += len(run.situation.cells)


@final
@attrs.frozen
class Judge(Compiled):
    """The judgement of a pack, as a function of one row a source, the subject's first; None where there is no row.

    After them come the rows of the tables of its relations (`related_rows`), if it has any; ``related`` makes of all
    these what the relations come to.

    Its `repr` is deterministic and says all that it depends on: it is part of the fingerprint of a saved state. What it
    remembers is no part of that, nor of its equality, and is not pickled.

    >>> from dsl import Source
    >>> from dsl.declarations.sources import declaration
    >>> vessel = declaration(Source("vessel", key="mmsi", mmsi=int))
    >>> Judge((vessel,), ())({"mmsi": 7})
    Verdict(subject=7, status='allowed', because=())
    """

    sources: tuple[Declaration, ...]
    statements: tuple[Statement, ...]
    related: Related | None = attrs.field(default=None, eq=False, repr=False)
    links: tuple[Link, ...] = attrs.field(default=(), eq=False, repr=False)
    version: str = attrs.field(default="", eq=False, repr=False)
    """That of the pack, which its verdicts carry."""
    evaluations: Evaluations = attrs.field(init=False, eq=False, repr=False, factory=Evaluations)
    memory: Memory = attrs.field(init=False, eq=False, repr=False, factory=Memory)
    leaves: Leaves = attrs.field(init=False, eq=False, repr=False)
    _checks: tuple[Guarded | Required, ...] = attrs.field(init=False, eq=False, repr=False)
    _sizes: tuple[int, int] = attrs.field(init=False, eq=False, repr=False)
    _links_raised: Callable[[Sequence[Row]], Mapping[str, str]] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Compile the statements."""
        positions, own = slots_of(self.sources, self.statements), tuple(conditions(self.statements, of_pairs=False))
        slots = Slots(positions, own)
        leaves = Leaves(own, positions, [positions[name] for name in pair_slots(self.statements)])
        compiler = _Compiler(slots, leaves, self.compilation)
        object.__setattr__(self, "leaves", leaves)
        object.__setattr__(self, "_checks", compiler.checks(self.statements, None))
        object.__setattr__(self, "_sizes", (compiler.guards, compiler.requirements))
        object.__setattr__(self, "_links_raised", links_raised(self.links, positions, self.compilation))

    def __call__(self, *rows: Mapping[str, Any] | None, now: int | None = None) -> Verdict:
        """Judge one combination of rows, at an instant."""
        self.evaluations.judgements += 1
        try:
            return self._judged(rows, now)
        except KeyError as error:
            raise undeclared(error) from error

    def in_columns(self) -> Form | Asked | str:
        """Return what it computes as expressions, or why it is judged row by row."""
        told = self.links if self.compilation is LENIENT else ()
        form = form_of_pack(self.sources, self.statements, self.version, told)
        has_forecasts = any(source.forecast for source in self.sources)
        return form if isinstance(form, Form) or self.related is None or has_forecasts else Asked(form)

    def leniently(self) -> Judge:
        """Return the judge for whom what raises is unknown; both count what they do together."""
        found = super().leniently()
        object.__setattr__(found, "evaluations", self.evaluations)
        return found

    def _judged(self, rows: tuple[Mapping[str, Any] | None, ...], now: int | None) -> Verdict:
        subject = rows[0][self.sources[0].key]  # type: ignore[index]  # the subject is there
        now = time_of(rows[0]) if now is None else now
        known = self.memory.of(subject)
        for judged in known:
            if judged.is_of(rows) and (judged.now == now or not judged.readings):
                self.evaluations.remembered += 1
                return judged.verdict
        width = len(self.sources)
        derived = () if self.related is None else self.related(rows)
        situation = situated(self.sources, rows[:width], now, derived)
        situation.raised = self._links_raised(rows)
        readings = self.leaves.read(situation)
        last = known[0] if known else None
        before = None if last is None else last.rows()
        if last is None or before is None:
            run = Run(situation, EVERYTHING, [None] * self._sizes[0], [None] * self._sizes[1])
        else:
            then, here = (*before[:width], *last.derived), (*rows[:width], *derived)
            changed = self.leaves.changed(comparable(self.sources, then), comparable(self.sources, here))
            changed |= self.leaves.changed_readings(last.readings, readings)
            if self._links_raised(before) != situation.raised:
                changed = EVERYTHING
            run = Run(situation, changed, [*last.answers], [*last.reasons])
        run.visit(self._checks, (), run.changed == EVERYTHING)
        self.evaluations.add(run)
        references = self.memory.references(subject, rows[:width], rows[width:])
        verdict = run.verdict(subject, self.version)
        if references is not None:
            judged = Judged(references, derived, now, readings, run.answers, run.reasons, verdict)
            self.memory.remember(subject, judged, last)
        return verdict


@final
class _Compiler:
    """Numbers the conditions and requirements in the order written, and compiles them."""

    def __init__(self, slots: Slots, leaves: Leaves, compilation: Compilation) -> None:
        self.slots, self.leaves, self.compilation = slots, leaves, compilation
        self.guards = self.requirements = 0

    def checks(self, statements: Iterable[Statement], place: str | int | None) -> tuple[Guarded | Required, ...]:
        return tuple(check for statement in statements for check in self.check(statement, place))

    def check(self, statement: Statement, place: str | int | None) -> Iterator[Guarded | Required]:
        if isinstance(statement, Against):
            for requirement in each_alone(statement):
                slot = self.slots[slot_of(statement, requirement)]
                yield self.required(self.leaves.mask_of(slot), paired(slot, place), called(requirement))
            return
        mask = self.leaves.mask(statement.condition)
        if isinstance(statement, Requirement):
            yield self.required(mask, required(statement, self.slots, place, self.compilation), called(statement))
            return
        number, first = self.guards, self.requirements
        self.guards += 1
        inner = statement.place if isinstance(statement, Located) else place
        body = self.checks(statement.body, inner)
        reach = mask
        for each in body:
            reach |= each.reach
        holds = self.compilation.condition(simplified(statement.condition), self.slots)
        doubt = self.compilation.doubt(statement.condition, self.slots)
        inside = (first, self.requirements)
        yield Guarded(number, mask, reach, holds, doubt, body, inside, called(statement))

    def required(self, reach: int, check: Check, shown: str) -> Required:
        self.requirements += 1
        return Required(self.requirements - 1, reach, check, shown)
