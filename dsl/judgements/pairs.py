"""Pairs: requirements about a subject and another one, judged pair by pair and folded into what they mean for one.

A pair is judged as any situation is, with the other's row in a slot of its own. A requirement about pairs holds if it
holds of every pair; it fails if it fails for one, and is undecided if it is for one and fails for none. What is folded
are the *findings*: of each other subject the requirements that do not hold, and why. They form a group (by the other's
key, with multiplicities), so that one that changes is taken out and put in again without the rest being looked at.

Source: issue 6 (relations between subjects, as a self-correlation); thesis, L23 (Group).
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias, final

import attrs

from cartesius.expressions.expressions import Apply, Constant, Part
from cartesius.expressions.missing_values import Form, Lifted, Observed, both, is_true, opposite
from dsl.columns.simplifying import simplified
from dsl.judgements.judges import Judge
from dsl.judgements.presence import situated, time_of
from dsl.meaning.raising import Compiled, undeclared
from dsl.meaning.term_expressions import InexpressibleError, expressed
from dsl.terms.statements import Conditional, Requirement
from dsl.terms.terms import Junction, Not
from restrictions.table_operators.groups import Group

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsl.meaning.evaluation import Evaluate, Row
    from dsl.meaning.verdicts import Reason
    from dsl.terms.related_rows import Pairing
    from dsl.terms.statements import Statement
    from dsl.terms.terms import Declaration, Term

    Finding: TypeAlias = tuple[int, Reason, tuple[Any, ...]]
    Key: TypeAlias = str | int | None
    Findings: TypeAlias = tuple[Finding, ...]
    Folded: TypeAlias = dict[Key, tuple[tuple[Findings, int], ...]]
    Shown: TypeAlias = tuple[tuple[Key, Finding], ...]


@final
@attrs.frozen
class PairJudge(Compiled):
    """The judgement of one pair, as a function of the rows of the subject and its links, and of the other's row.

    A finding is the number of a requirement that does not hold, the reason, and the values that it shows, which make no
    difference to a reason. An unknown row of another, None, gives what is so whatever it is.

    Args:
        sources: Those whose rows are given, the subject's first.
        pairing: The requirements.
    """

    sources: tuple[Declaration, ...]
    pairing: Pairing
    _judges: tuple[tuple[Evaluate, Judge], ...] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Compile a judge a requirement."""
        sources = (*self.sources, self.pairing.other)
        slots = {source.name: number for number, source in enumerate(sources)}
        rules = [Conditional(self.pairing.where, (each,)) for each in self.pairing.requirements]
        judges = (
            (self.compilation.condition(formula(rule), slots), Judge(sources, (rule,), compilation=self.compilation))
            for rule in rules
        )
        object.__setattr__(self, "_judges", tuple(judges))

    def __call__(self, rows: Sequence[Row], other: Row, now: int | None = None) -> tuple[Key, Findings]:
        """Judge a pair: the other's key, and what is found."""
        found = []
        for number, (_, judge) in enumerate(self._judges):
            for reason in judge(*rows, other, now=now).because:
                found.append((number, reason, reason.values))
        return (None if other is None else other[self.pairing.other.key or ""]), tuple(found)

    def finds(self, rows: Sequence[Row], other: Row) -> bool:
        """Whether anything is found of two different subjects: of most pairs nothing is, and no reason is made."""
        key, subject = self.pairing.other.key or "", rows[0]
        if subject is None or other is None or subject[key] == other[key]:
            return False
        situation = situated((*self.sources, self.pairing.other), (*rows, other), time_of(rows[0]))
        try:
            return not all(holds(situation) for holds, _ in self._judges)
        except KeyError as error:
            raise undeclared(error) from error


def formula(rule: Statement) -> Term:
    """Return the condition that a requirement and the conditions around it come to.

    >>> from dsl.terms.statements import EVERY_PAIR, Requirement
    >>> from dsl.terms.texts import text
    >>> text(formula(Conditional(EVERY_PAIR, (Requirement(EVERY_PAIR, "", None),))))
    'not True or True'
    """
    if isinstance(rule, Requirement):
        return rule.condition
    [inner] = rule.body
    return Junction("or", Not(rule.condition), formula(inner))


def form_of_pairs(judge: PairJudge) -> Form | str:
    """Return whether anything is found of a pair as an expression, or why there is none."""
    subject, key = judge.sources[0], judge.pairing.other.key or ""
    rules = [Conditional(judge.pairing.where, (each,)) for each in judge.pairing.requirements]
    try:
        holds = [Apply(is_true, (expressed(simplified(formula(rule))),), "holds") for rule in rules]
    except InexpressibleError as error:
        return str(error)
    mine, theirs = (Apply(Observed(key), (Part(one.name),), "key") for one in (subject, judge.pairing.other))
    all_hold = reduce(lambda left, right: Apply(both, (left, right), "and"), holds)
    are_two = Apply(Lifted(operator.ne), (mine, theirs), "!=")
    finds = Apply(both, (are_two, Apply(opposite, (all_hold,), "not")), "finds")
    return Form((finds,), Constant(None))


def fold(pairs: Iterable[tuple[Key, Findings]]) -> Folded:
    """Fold the findings of pairs from scratch."""
    total: Folded = {}
    for pair in pairs:
        total = add(total, lift(pair))
    return total


def lift(pair: tuple[Key, Findings]) -> Folded:
    """Return the fold of one pair; one of which all holds adds nothing.

    >>> lift((7, ()))
    {}
    """
    key, findings = pair
    return {key: ((findings, 1),)} if findings else {}


def add(left: Folded, right: Folded) -> Folded:
    """Add the findings of two folds."""
    total = dict(left)
    for key, findings in right.items():
        counted = list(total.pop(key, ()))
        for each, number in findings:
            same = next((place for place, (known, _) in enumerate(counted) if known == each), None)
            if same is None:
                counted.append((each, number))
            elif counted[same][1] + number:
                counted[same] = (each, counted[same][1] + number)
            else:
                del counted[same]
        if counted:
            total[key] = tuple(counted)
    return total


def negated(folded: Folded) -> Folded:
    """Return what takes a fold back."""
    return {key: tuple((each, -number) for each, number in findings) for key, findings in folded.items()}


def shown(folded: Folded) -> Shown:
    """Return a fold as the row of a table: each finding under the other's key.

    >>> shown({})
    ()
    """
    return tuple((key, finding) for key, counted in folded.items() for found, _ in counted for finding in found)


def findings_of(pairing: Pairing, tables: Iterable[Shown | None]) -> tuple[tuple[tuple[Key, Reason], ...], ...]:
    """Return, for each requirement, with which others it does not hold and why, in ascending order of their keys.

    Args:
        pairing: The requirements.
        tables: The rows of the pairing's tables; None: there are no others of that kind.
    """
    found: list[list[tuple[Key, Reason]]] = [[] for _ in pairing.requirements]
    for table in tables:
        for key, (number, reason, _) in table or ():
            found[number].append((key, reason))
    return tuple(tuple(sorted(each, key=_key)) for each in found)


def _key(finding: tuple[Key, Reason]) -> Any:
    key = finding[0]  # which may not be of the declared type
    return "number" if isinstance(key, int | float) else type(key).__name__, key


GROUP = Group({}, add, negated, lift=lift, finish=shown, name="findings")
"""The group over which the pairs of a subject are folded."""
