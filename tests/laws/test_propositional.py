"""A pack is a formula of propositional logic (thesis, Table 2.2): four accounts of it agree.

The engine runs the compiled pack; `RulePack.check` judges the situation at once; `kleene` below reads the statement
tree from its meaning alone, as `require(a) = a`, `when(a){…} = a ⇒ ⋀…`, `otherwise` with ¬a, `location(l){…} =
(place = l) ⇒ ⋀…`; and sympy evaluates the formula, whose atoms are the comparisons.

Propositional logic has two values, ours three. So where nothing is missing they are the same. Where something is, let
F be the formula with the known atoms replaced by their truth values:

- allowed (Kleene: true) implies that F is a tautology, restricted (false) that it is a contradiction: whatever the
  missing atoms turn out to be, F is true, or false;
- so if F can be both, the verdict is unknown; the converse fails only because of atoms that occur twice: of `a or not
  a` with a missing, Kleene's logic knows nothing. Where each missing atom occurs once in the pack, unknown means that F
  can be both.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from sympy import And, Implies, Not, Or, Symbol, false, preorder_traversal, true  # type: ignore[import-untyped]  # it ships no types

from cartesius import Engine
from tests.unit.dsl.test_judges import OPERATORS, Formula, compiled, packs, situations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sympy.logic.boolalg import Boolean  # type: ignore[import-untyped]  # it ships no types

    from dsl import RulePack

HALF = Fraction(1, 2)
STATUS = {Fraction(0): "restricted", HALF: "unknown", Fraction(1): "allowed"}
PLACE = ("a", "place")
COMPLETED = 5
"""Of how many missing atoms all truth values are tried."""


# ------------------------------------------------------------------------------------------------- from the meaning


def atom(formula: Formula, rows: Any) -> Fraction:
    """The truth value of a comparison; ½ if a side is missing."""
    sides = []
    for side in formula.operands:
        value = (rows[side[0]] or {}).get(side[1]) if isinstance(side, tuple) else side
        if value is None or value != value:  # noqa: PLR0124 - NaN
            return HALF
        sides.append(value)
    return Fraction(OPERATORS[formula.operator](*sides))


def kleene_of(formula: Formula, rows: Any) -> Fraction:
    match formula:
        case Formula("and", parts):
            return min(kleene_of(part, rows) for part in parts)
        case Formula("or", parts):
            return max(kleene_of(part, rows) for part in parts)
        case Formula("not", (part,)):
            return 1 - kleene_of(part, rows)
    return atom(formula, rows)


def kleene(program: Any, rows: Any) -> Fraction:
    """The truth value of a pack: the least of its statements'."""

    def of(statement: Any) -> Fraction:
        kind, argument, body = statement
        if kind == "require":
            return kleene_of(argument, rows)
        guard = atom(Formula("==", (PLACE, argument)), rows) if kind == "location" else kleene_of(argument, rows)
        if kind == "else":
            return min(max(1 - guard, kleene(body[0], rows)), max(guard, kleene(body[1], rows)))
        return max(1 - guard, kleene(body, rows))

    return min((of(statement) for statement in program), default=Fraction(1))


# -------------------------------------------------------------------------------------------------- propositional logic


class Atoms:
    """The comparisons of a pack as symbols."""

    def __init__(self) -> None:
        self.symbols: dict[Formula, Symbol] = {}

    def __getitem__(self, comparison: Formula) -> Symbol:
        return self.symbols.setdefault(comparison, Symbol(f"p{len(self.symbols)}"))

    def of(self, formula: Formula) -> Boolean:
        match formula:
            case Formula("and", parts):
                return And(*map(self.of, parts), evaluate=False)
            case Formula("or", parts):
                return Or(*map(self.of, parts), evaluate=False)
            case Formula("not", (part,)):
                return Not(self.of(part), evaluate=False)
        return self[formula]

    def pack(self, program: Any) -> Boolean:
        """Table 2.2."""
        return And(*map(self.statement, program), evaluate=False) if program else true

    def statement(self, statement: Any) -> Boolean:
        kind, argument, body = statement
        if kind == "require":
            return self.of(argument)
        guard = self[Formula("==", (PLACE, argument))] if kind == "location" else self.of(argument)
        if kind == "else":
            rest = Implies(Not(guard, evaluate=False), self.pack(body[1]), evaluate=False)
            return And(Implies(guard, self.pack(body[0]), evaluate=False), rest, evaluate=False)
        return Implies(guard, self.pack(body), evaluate=False)

    def completions(self, rows: Any) -> Iterator[dict[Symbol, Boolean]]:
        """What to put for the atoms: the truth values that are known, with any of those that are missing; some 64."""
        values = {symbol: atom(comparison, rows) for comparison, symbol in self.symbols.items()}
        known = {symbol: true if value else false for symbol, value in values.items() if value != HALF}
        missing = [symbol for symbol, value in values.items() if value == HALF]
        varied, constant = missing[:COMPLETED], missing[COMPLETED:]
        for rest in (true, false) if constant else (true,):
            for choice in product((true, false), repeat=len(varied)):
                yield known | dict.fromkeys(constant, rest) | dict(zip(varied, choice, strict=True))


def run(pack: RulePack, rows: Any) -> str:
    """The status that the engine's table shows in the end."""
    engine = Engine(pack.table())
    for name in ("c", "b", "a"):
        if name in pack.sources and rows[name] is not None:
            engine.push(pack.sources[name], rows[name])
    [verdict] = engine.query(pack.table()).values()
    return str(verdict.status)


def completed(rows: Any) -> Any:
    """The same with nothing missing: a zero, or the place A, for what is."""
    whole: dict[str, dict[str, Any]] = {
        "a": {"place": "A", "x": 0.0, "y": 0.0},
        "b": {"id": 1, "x": 0.0},
        "c": {"x": 0.0},
    }
    for source, fields in whole.items():
        row = rows[source] or {}
        known = {name: value for name, value in row.items() if value is not None and value == value}  # noqa: PLR0124 - NaN
        fields.update(known)
    return whole


def checked(pack: Any, rows: Any) -> str:
    return str(pack.check({name: rows[name] for name in pack.sources}).status)


@settings(max_examples=settings().max_examples // 3)
@given(packs, situations)
def test_where_nothing_is_missing_a_pack_is_its_formula(program, some):
    rows, atoms = completed(some), Atoms()
    formula, pack = atoms.pack(program), compiled(program)
    holds = bool(formula.xreplace(next(atoms.completions(rows))))
    expected = "allowed" if holds else "restricted"
    assert (
        run(pack, rows),
        checked(pack, rows),
        STATUS[kleene(program, rows)],
    ) == (expected,) * 3


@settings(max_examples=settings().max_examples // 2)
@given(packs, situations)
def test_where_something_is_missing_it_knows_no_more_than_its_formula(program, rows):
    atoms = Atoms()
    formula, pack = atoms.pack(program), compiled(program)
    status = run(pack, rows)
    assert (status, checked(pack, rows)) == (STATUS[kleene(program, rows)],) * 2
    possible = {bool(formula.xreplace(completion)) for completion in atoms.completions(rows)}
    if status != "unknown":
        assert possible == {status == "allowed"}
    occurrences = Counter(part for part in preorder_traversal(formula) if isinstance(part, Symbol))
    missing = [symbol for comparison, symbol in atoms.symbols.items() if atom(comparison, rows) == HALF]
    if status == "unknown" and len(missing) <= COMPLETED and all(occurrences[symbol] == 1 for symbol in missing):
        assert possible == {True, False}


def test_kleenes_logic_knows_less_where_a_missing_atom_occurs_twice():
    is_deep = Formula("<", (("a", "x"), 0))
    program = [("require", Formula("or", (is_deep, Formula("not", (is_deep,)))), ())]
    rows = {"a": {"x": None}, "b": None, "c": None}
    atoms = Atoms()
    formula = atoms.pack(program)
    assert all(bool(formula.xreplace(completion)) for completion in atoms.completions(rows))
    assert STATUS[kleene(program, rows)] == "unknown"
