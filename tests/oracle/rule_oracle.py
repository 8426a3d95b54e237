"""What a pack of rules means, evaluated from scratch: Kleene's logic over plain tuples and everything that was pushed.

Nothing of `dsl` is used. Expressions, conditions and statements are tuples, the tag first; a `World` holds the rows,
the predictions and the clock; `judged` looks at all of them for each subject: all predictions for a lookup, each whole
instant of a span, all other subjects for a pair, all rows for a total.

Source: docs/how_to/rules.md, docs/how_to/forecasts.md, docs/how_to/relations.md; thesis, Table 2.2.
"""

from __future__ import annotations

import math
import operator as py
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Row = dict[str, Any]
Expr = tuple[Any, ...]
Truth = bool | None
SUBJECT = "vessel"
COMPARISONS = {"==": py.eq, "!=": py.ne, "<": py.lt, "<=": py.le, ">": py.gt, ">=": py.ge}


@dataclass(frozen=True)
class Program:
    """A pack: links as (source, expression), the condition of being considered, and the statements."""

    links: tuple[tuple[str, Expr], ...]
    only: Expr | None
    body: tuple[Expr, ...]
    location: Expr = ("field", SUBJECT, "dest")


@dataclass
class World:
    """All that was pushed: the row and its time by source and key, predictions by source and key, and the clock."""

    keys: dict[str, str | None]
    stale_after: dict[str, int]
    choices: Mapping[tuple[str, str], tuple[str, ...]]
    rows: dict[str, dict[Any, tuple[Row, int]]] = field(default_factory=dict)
    predictions: dict[str, dict[Any, dict[tuple[int, int], Row]]] = field(default_factory=dict)
    clock: int | None = None

    def is_stale(self, source: str, time: int) -> bool:
        """Whether a row of that time counts as missing."""
        return source in self.stale_after and self.clock is not None and self.clock - time >= self.stale_after[source]

    def fresh(self, source: str, key: Any) -> Row | None:
        """The row, unless it is stale."""
        found = self.rows.get(source, {}).get(key)
        return None if found is None or self.is_stale(source, found[1]) else found[0]

    def all_of(self, source: str) -> list[tuple[Any, Row | None]]:
        """Each row that there is by its key; None if it is stale."""
        return [(key, self.fresh(source, key)) for key in self.rows.get(source, {})]


@dataclass(frozen=True)
class Sight:
    """What an expression is evaluated in: the rows of one subject, an instant of a span, and another subject."""

    world: World
    subject: Any
    rows: dict[str, Row | None]
    keys: dict[str, Any]
    stale: frozenset[str]
    now: int | None
    moment: int | None = None


@dataclass(frozen=True)
class Judgement:
    """A verdict: requirements as (name, location, others); the missing are None where names are not compared."""

    status: str
    failed: frozenset[tuple[str, Any, tuple[Any, ...]]] = frozenset()
    undecided: frozenset[tuple[str, Any, tuple[Any, ...]]] = frozenset()
    missing: frozenset[str] | None = frozenset()
    stale: frozenset[str] | None = frozenset()


def negation(value: Truth) -> Truth:
    return None if value is None else not value


def conjunction(values: list[Truth]) -> Truth:
    return False if False in values else None if None in values else True


def disjunction(values: list[Truth]) -> Truth:
    return negation(conjunction([negation(each) for each in values]))


def sight(program: Program, world: World, key: Any) -> Sight:
    """The rows that are linked to a subject."""
    row, time = world.rows[SUBJECT][key]
    clocks = [each for each in (world.clock, time) if each is not None]
    bare: dict[str, Row | None] = {SUBJECT: row}  # with the key alone where a row is stale
    keys: dict[str, Any] = {SUBJECT: key}
    stale: set[str] = set()
    for source, name in world.keys.items():
        if name is None:
            keys[source] = None
            bare[source] = world.rows.get(source, {}).get(None, (None, 0))[0]
    here = Sight(world, key, bare, keys, frozenset(), max(clocks))

    def age(source: str) -> None:
        found = world.rows.get(source, {}).get(keys[source])
        if found is not None and world.is_stale(source, found[1]):
            name = world.keys[source]
            bare[source] = {} if name is None else {name: keys[source]}
            stale.add(source)

    for source in list(keys):
        age(source)
    for source, expression in program.links:
        keys[source] = value(expression, here)
        found = None if keys[source] is None else world.rows.get(source, {}).get(keys[source])
        bare[source] = None if found is None else found[0]
        age(source)
    rows = {source: None if source in stale else each for source, each in bare.items()}
    return replace(here, rows=rows, stale=frozenset(stale))


def read(world: World, source: str, name: str, row: Row | None) -> Any:
    found = None if row is None else row.get(name)
    if isinstance(found, float) and math.isnan(found):
        return None
    members = world.choices.get((SUBJECT if source == "other" else source, name))
    return None if members is not None and found not in members else found


def predicted(here: Sight, source: str, instant: int | None) -> Row | None:
    if instant is None or (here.keys[source] is None and here.world.keys[source] is not None):
        return None
    known = here.world.predictions.get(source, {}).get(here.keys[source], {}).values()
    valid = [each for each in known if each["start"] <= instant < each["end"]]
    return max(valid, key=lambda each: (each["issued"], each["start"]), default=None)


def value(expression: Expr, here: Sight) -> Any:
    """The value of an expression; None: missing."""
    match expression:
        case ("const", constant):
            return constant
        case ("field", source, name) if source in here.world.predictions:
            return read(here.world, source, name, predicted(here, source, here.moment))
        case ("field", source, name):
            return read(here.world, source, name, here.rows.get(source))
        case ("at", source, name, instant):
            return read(here.world, source, name, predicted(here, source, value(instant, here)))
        case ("now",):
            return here.now
        case ("named", _, inner):
            return value(inner, here)
        case ("coalesce", ("field", source, _) as first, default):
            if here.rows.get(source) is None:
                return None  # nobody knows whether there is a value
            found = value(first, here)
            return value(default, here) if found is None else found
        case ("nearest", places, at):
            spot = value(at, here)
            return None if spot is None else min(places, key=lambda name: (_far(places[name], spot), name))
        case ("distance", left, right):
            ends = value(left, here), value(right, here)
            return None if None in ends else _far(*ends)
        case ("total", kind, source, summed, where):
            return _total(kind, source, summed, where, here)
        case (("+" | "-") as sign, left, right):
            operands = value(left, here), value(right, here)
            if None in operands:
                return None
            return operands[0] + operands[1] if sign == "+" else operands[0] - operands[1]
        case ("abs", inner):
            found = value(inner, here)
            return None if found is None else abs(found)
    raise AssertionError(expression)


def _far(left: tuple[float, float], right: tuple[float, float]) -> float:
    a, b, c, d = map(math.radians, (*left, *right))
    cosine = math.sin(a) * math.sin(c) + math.cos(a) * math.cos(c) * math.cos(b - d)
    return 6_371_000 * math.acos(max(-1.0, min(1.0, cosine)))


def _total(kind: str, source: str, summed: str | None, where: Expr | None, here: Sight) -> Any:
    table = SUBJECT if source == "other" else source
    counted: list[Any] = []
    if any(value(group, here) is None for group in _groups(where, source)):
        return None  # whose total it is, is unknown, even if there are no rows
    for key, row in here.world.all_of(table):
        if source == "other" and key == here.subject:
            continue
        if row is None:
            return None  # a row that is stale may be there no more
        there = replace(here, rows={**here.rows, source: row})
        counts = True if where is None else truth(where, there)
        if counts is None:
            return None
        if counts:
            counted.append(1 if summed is None else read(here.world, table, summed, row))
    if None in counted:
        return None
    if kind in ("count", "sum"):
        return sum(counted)
    if not counted:
        return None
    return {"mean": sum(counted) / len(counted), "min": min(counted), "max": max(counted)}[kind]


def _groups(where: Expr | None, source: str) -> list[Expr]:
    match where:
        case ("and", left, right):
            return [*_groups(left, source), *_groups(right, source)]
        case ("cmp", "==", ("field", name, _), ("field", subject, _) as group) if name == source != subject:
            return [group]
    return []


def truth(condition: Expr, here: Sight) -> Truth:
    """Whether a condition holds; None: unknown."""
    match condition:
        case ("cmp", operator, left, right):
            a, b = value(left, here), value(right, here)
            if a is None or b is None:
                return None
            return bool(COMPARISONS[operator](a, b))
        case ("between", inner, low, high):
            found, least, most = (value(each, here) for each in (inner, low, high))
            above = None if None in (found, least) else found >= least
            below = None if None in (found, most) else found <= most
            return conjunction([above, below])
        case ("turning", inner, low, high):
            found, least, most = (value(each, here) for each in (inner, low, high))
            return None if None in (found, least, most) else (found - least) % 360 <= (most - least) % 360
        case ("known", ("field", source, name)):
            row = here.rows.get(source)
            return None if row is None else read(here.world, source, name, row) is not None
        case ("holds", inner):
            found = value(inner, here)
            return None if found is None else bool(found)
        case ("not", inner):
            return negation(truth(inner, here))
        case ("and", left, right):
            return conjunction([truth(left, here), truth(right, here)])
        case ("or", left, right):
            return disjunction([truth(left, here), truth(right, here)])
        case ("throughout", first, last, inner):
            start, end = value(first, here), value(last, here)
            if start is None or end is None:
                return None
            return conjunction([truth(inner, replace(here, moment=each)) for each in range(start, end + 1)])
    raise AssertionError(condition)


def names(condition: Expr, here: Sight) -> set[str] | None:
    """The rows and fields for want of which a condition is unknown; None where they are not compared."""
    match condition:
        case (("not") | ("and") | ("or"), *inner):
            found: set[str] = set()
            for each in inner:
                if truth(each, here) is None:
                    more = names(each, here)
                    if more is None:
                        return None
                    found |= more
            return found
    return _absent(condition, here)


def _absent(part: Any, here: Sight) -> set[str] | None:
    match part:
        case ("field", source, name):
            row = here.rows.get(source)
            if source in here.world.predictions:
                return None
            if row is None:
                return {source}
            return {f"{source}.{name}"} if read(here.world, source, name, row) is None else set()
        case ("at" | "total" | "throughout" | "now", *_):
            return None
        case ("coalesce", *_) if value(part, here) is not None:
            return set()
        case ("known", *_) if truth(part, here) is not None:
            return set()
        case ("const", _):
            return set()
        case tuple():
            found: set[str] = set()
            for each in part:
                if isinstance(each, tuple):
                    more = _absent(each, here)
                    if more is None:
                        return None
                    found |= more
            return found
    return set()


@dataclass
class _Findings:
    failed: set[tuple[str, Any, tuple[Any, ...]]] = field(default_factory=set)
    undecided: set[tuple[str, Any, tuple[Any, ...]]] = field(default_factory=set)
    missing: list[set[str] | None] = field(default_factory=list)
    stale: set[str] = field(default_factory=set)


def judged(program: Program, world: World, key: Any) -> Judgement | None:
    """The judgement of a subject; None if it is not considered."""
    here = sight(program, world, key)
    if program.only is not None and truth(program.only, here) is False:
        return None
    found = _Findings()
    _visit(program.body, program, here, [], None, found)
    status = "restricted" if found.failed else "unknown" if found.undecided else "allowed"
    missing = None if None in found.missing else frozenset(name for each in found.missing for name in each or ())
    stale = None if missing is None else frozenset(found.stale)
    return Judgement(status, frozenset(found.failed), frozenset(found.undecided), missing, stale)


def verdicts(program: Program, world: World) -> dict[Any, Judgement]:
    """The judgement of each subject that is considered."""
    found = {key: judged(program, world, key) for key in world.rows.get(SUBJECT, {})}
    return {key: each for key, each in found.items() if each is not None}


def _visit(
    body: tuple[Expr, ...], program: Program, here: Sight, guards: list[Expr], place: Any, found: _Findings
) -> None:
    for statement in body:
        match statement:
            case ("require", condition, name):
                _require(condition, name, here, guards, place, found)
            case ("when", condition, inner, otherwise):
                _visit(inner, program, here, [*guards, condition], place, found)
                _visit(otherwise, program, here, [*guards, ("not", condition)], place, found)
            case ("location", there, inner):
                is_there = ("cmp", "==", program.location, ("const", there))
                _visit(inner, program, here, [*guards, is_there], there, found)
            case ("against", where, inner):
                for requirement in _alone(inner, [] if where is None else [where], place):
                    _pairs(requirement, here, guards, found)


def _require(condition: Expr, name: str, here: Sight, guards: list[Expr], place: Any, found: _Findings) -> None:
    answers = [truth(each, here) for each in guards]
    holds = truth(condition, here)
    if False in answers or holds:
        return
    if holds is False and None not in answers:
        found.failed.add((name, place, ()))
        return
    found.undecided.add((name, place, ()))
    unknown = [each for each, answer in zip(guards, answers, strict=True) if answer is None]
    _doubt([*unknown, *([condition] if holds is None else [])], here, found)


def _doubt(conditions: list[Expr], here: Sight, found: _Findings) -> None:
    for each in conditions:
        missing = names(each, here)
        found.missing.append(missing)
        found.stale |= here.stale & (missing or set())


def _alone(body: tuple[Expr, ...], guards: list[Expr], place: Any) -> list[tuple[list[Expr], Expr, str, Any]]:
    found = []
    for statement in body:
        match statement:
            case ("require", condition, name):
                found.append((guards, condition, name, place))
            case ("when", condition, inner, otherwise):
                found += _alone(inner, [*guards, condition], place)
                found += _alone(otherwise, [*guards, ("not", condition)], place)
            case ("location", there, inner):
                is_there = ("cmp", "==", ("field", SUBJECT, "dest"), ("const", there))
                found += _alone(inner, [*guards, is_there], there)
    return found


def _pairs(requirement: tuple[list[Expr], Expr, str, Any], here: Sight, outer: list[Expr], found: _Findings) -> None:
    guards, condition, name, place = requirement
    around = [truth(each, here) for each in outer]
    if False in around:
        return
    answers = {}
    for key, row in here.world.all_of(SUBJECT):
        if key != here.subject:
            there = replace(here, rows={**here.rows, "other": row})
            answers[key] = disjunction([*(negation(truth(each, there)) for each in guards), truth(condition, there)])
    failing = tuple(sorted(key for key, answer in answers.items() if answer is False))
    open_ = tuple(sorted(key for key, answer in answers.items() if answer is None))
    if None not in around and failing:
        found.failed.add((name, place, failing))
    elif failing or open_:
        found.undecided.add((name, place, tuple(sorted((*failing, *open_)))))
        found.missing.append(None)
