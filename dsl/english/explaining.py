"""Explaining a pack: how rows are found, what each rule depends on, and what an event of each source costs.

All of it follows from the rules and the links; nothing has to run. The engine's own account of the correlations ends
the text.
"""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from cartesius import Engine
from dsl.judgements.dependencies import leaves
from dsl.meaning.shared_terms import Slots
from dsl.terms.related_rows import equalities, pairings, tallyings
from dsl.terms.statements import EVERY_PAIR, Against, Located, Requirement, conditions, walked
from dsl.terms.terms import Comparison, Observation, Prediction, Total, parts, sources
from dsl.terms.texts import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius import Reactive
    from dsl.terms.links import Link
    from dsl.terms.statements import Statement
    from dsl.terms.terms import Declaration, Term

_CLOCK = "now"


class Plan:
    """What a pack does with each source."""

    def __init__(
        self,
        name: str,
        sources: Sequence[Declaration],
        links: Sequence[Link],
        statements: tuple[Statement, ...],
        only: Term | None,
    ) -> None:
        """Collect what depends on what.

        Args:
            name: The pack's name.
            sources: Its sources, the subject first.
            links: How the rows of the others are found.
            statements: Its rules.
            only: Which subjects are considered.
        """
        self._name, self._sources, self._links, self._statements, self._only = name, sources, links, statements, only
        self._subject = sources[0]
        self._by_source = {link.source.name: link for link in links}
        self._rules = [(len(around), statement) for around, statement in walked(statements)]

    def text(self, table: Reactive) -> str:
        """Return the explanation; ``table`` is the pack's table of verdicts."""
        shared = Slots({}, conditions(self._statements)).shared.values()
        sections = [
            ("sources", self._of_sources()),
            ("relations", [*self._of_pairs(), *self._of_totals()]),
            ("rules, with what each reads", self._of_rules()),
            ("shared expressions, computed once a judgement", [text(term) for term in shared]),
            ("cost of an event", self._of_costs()),
            ("engine", _of_engine(table)),
        ]
        n_requirements = sum(isinstance(statement, Requirement) for _, statement in self._rules)
        n_conditions = len(self._rules) - n_requirements
        considered = "" if self._only is None else f"\n  considered unless false: {text(self._only)}"
        head = (
            f"{self._name}: judges each {self._subject.name} by {_count(n_requirements, 'requirement')}"
            f" under {_count(n_conditions, 'condition')}{considered}"
        )
        shown = (f"{title}\n{indent(chr(10).join(lines), '  ')}" for title, lines in sections if lines)
        return "\n\n".join((head, *shown))

    def _of_sources(self) -> list[str]:
        lines = []
        for source in self._sources:
            if source is self._subject:
                how = f"the subject, by {source.key}"
            elif source.key is None:
                how = "one row for all"
            else:
                link = self._by_source[source.name]
                how = f"the row whose {source.key} is {text(link.value)}, by index"
            used = [
                field for field, _ in source.fields if any(_mentions(leaf, source, field) for leaf in self._leaves())
            ]
            held = "the newest predictions" if source.forecast else "one row"
            memory = f"{held} in memory" if source.key is None else f"{held} in memory for each {source.key}"
            lines.append(f"{source.name}: {how}; {memory}; rules read {', '.join(used) or 'nothing of it'}")
        return lines

    def _of_pairs(self) -> list[str]:
        """How the other subjects are found, and how many pairs a change is judged by."""
        lines, name = [], self._subject.name
        for pairing in pairings(self._statements):
            links = equalities(pairing)
            by = ", ".join(text(Comparison("==", *link)) for link in links)
            found = f"each other {name}, by index: {by}" if links else f"every other {name}"
            met = f"those with equal values, or an unknown one, of n {name}s" if links else f"all n {name}s"
            lines.append(
                f"{pairing.other.name}: {found}; a change of one is judged against {met}: at most 2(n - 1) pairs of"
                f" {_count(len(pairing.requirements), 'requirement')}"
            )
        return lines

    def _of_totals(self) -> list[str]:
        """Which totals share a table, and how the group is found."""
        lines = []
        for tallying in tallyings(self._statements):
            by = "" if tallying.key is None else f" by {text(tallying.key)}"
            found = "" if tallying.group is None else f", found by index from {text(tallying.group)}"
            names = ", ".join(map(text, tallying.totals))
            lines.append(f"rows of {tallying.source.name} totalled{by} in one table{found}: {names}")
        return lines

    def _of_rules(self) -> list[str]:
        lines = []
        for depth, statement in self._rules:
            condition = statement.condition
            if isinstance(statement, Requirement):
                named = "" if statement.name == text(condition) else f"{statement.name}: "
                shown = f"{named}{text(condition)}"
            elif isinstance(statement, Against):
                where = "" if statement.condition == EVERY_PAIR else f" where {text(condition)}"
                shown = f"against each {statement.other.name}{where}"
            elif isinstance(statement, Located):
                shown = f"at {statement.place!r}"
            else:
                shown = f"when {text(condition)}"
            read = ", ".join(map(text, leaves(condition))) or "nothing"
            lines.append(f"{'  ' * depth}{shown}  <- {read}")
        return lines

    def _of_costs(self) -> list[str]:
        lines = []
        for source in self._sources:
            lines.append(f"{source.name}: {self._subjects(source)}")
            touched = False
            for field, _ in source.fields:
                effects = self._effects(source, field)
                if effects:
                    touched = True
                    lines.append(f"  if {field} changes: {'; '.join(effects)}")
            if source is self._subject and any(isinstance(statement, Against) for _, statement in self._rules):
                lines.append(f"  and each {source.name} that is paired with it, by what is found about the pair")
            lines.append(f"  if {'another field' if touched else 'any field'} changes: no rule is evaluated")
        lines += self._cost_of_totals()
        if any(text(leaf) == _CLOCK for _, statement in self._rules for leaf in leaves(statement.condition)):
            clocked = f"as time passes: each {self._subject.name} when a comparison of its fields with now changes"
            lines.append(f"{clocked}: {self._evaluated([leaf for leaf in self._leaves() if text(leaf) == _CLOCK])}")
        return lines

    def _cost_of_totals(self) -> list[str]:
        totals: dict[str, list[Total]] = {}
        for leaf in self._leaves():
            if isinstance(leaf, Total):
                totals.setdefault(leaf.source.name, []).append(leaf)
        lines = []
        for source, read in totals.items():
            lines.append(f"a row of {source}: each {self._subject.name} that reads a total which it changes")
            lines += [f"  if {text(total)} changes: {self._evaluated([total])}" for total in read]
        return lines

    def _leaves(self) -> tuple[Term, ...]:
        return tuple(dict.fromkeys(leaf for _, statement in self._rules for leaf in leaves(statement.condition)))

    def _subjects(self, source: Declaration) -> str:
        """How many subjects a row of ``source`` concerns, and how they are found."""
        subject = self._subject.name
        if source is self._subject:
            return f"one {subject}, its own"
        if source.key is None:
            return f"every {subject}"
        way = []
        while source.name in self._by_source:
            link = self._by_source[source.name]
            way.append(f"{link.source.name}.{link.source.key} == {text(link.value)}")
            if not (linked := [each for each in self._sources if each in sources(link.value)]):
                return f"every {subject}, if its key is {text(link.value)}"
            source = linked[0]
        return f"each {subject} linked to it, by {_count(len(way), 'index', 'indexes')}: {', '.join(way)}"

    def _effects(self, source: Declaration, field: str) -> list[str]:
        """What a change of a field leads to."""
        touching = [leaf for leaf in self._leaves() if _mentions(leaf, source, field)]
        effects = [self._evaluated(touching)] if touching else []
        is_key = field == source.key  # which a row keeps
        followed = [each.source.name for each in self._links if not is_key and _mentions(each.value, source, field)]
        if followed:
            effects.append(f"another row of {' and of '.join(followed)} is found, by index")
        if self._only is not None and _mentions(self._only, source, field):
            effects.append("it may be considered or not")
        return effects

    def _evaluated(self, touching: Sequence[Term]) -> str:
        """Which conditions and requirements read one of the leaves."""
        reading = [statement for _, statement in self._rules if set(touching) & set(leaves(statement.condition))]
        names = [statement.name for statement in reading if isinstance(statement, Requirement)]
        n_conditions = len(reading) - len(names)
        counts = [_count(n_conditions, "condition")] if n_conditions else []
        if names:
            counts.append(f"{_count(len(names), 'requirement')} ({', '.join(names)})")
        inside = " and, where it turns out otherwise, what is inside" if n_conditions else ""
        return f"{' and '.join(counts)}{inside}"


def _mentions(term: Term, source: Declaration, field: str) -> bool:
    observed = [part for part in parts(term) if isinstance(part, Observation | Prediction)]
    return any((part.source.name, part.field) == (source.name, field) for part in observed)


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _of_engine(table: Reactive) -> list[str]:
    """The engine's account, without representations of declarations and rules: they are above."""
    lines = Engine(table).explain().splitlines()
    return [line for line in lines if line.strip() and not line.startswith("  yields") and "Declaration(" not in line]
