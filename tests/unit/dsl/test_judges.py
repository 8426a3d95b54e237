"""The meaning of a pack: Kleene's logic over what is missing, checked against an independent evaluation of its formula.

The oracle knows nothing of the library. It evaluates formulas of its own over the numbers 0, ½ and 1 (and is min, or is
max, not x is 1 - x), as Table 2.2 reads a pack: each requirement is (guards ⇒ condition), the pack their conjunction.
"""

from __future__ import annotations

import math
import operator
import pickle
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsl import Reason, RulePack, Source, Verdict, location, not_, otherwise, require, when
from dsl.units import metres
from tests.unit.dsl.harbour import berth, judged, status, tide, tugs, vessel, wind

# ------------------------------------------------------------------------------------------- programs and situations

HALF = Fraction(1, 2)
OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
FIELDS = [("a", "x"), ("a", "y"), ("b", "x"), ("c", "x")]
SOURCES = {
    "a": Source("a", key="id", id=int, x=metres, y=metres, b=int, place=str),
    "b": Source("b", key="id", id=int, x=metres),
    "c": Source("c", key=None, x=metres),
}


class Formula(NamedTuple):
    """A formula of the oracle: an operator and its operands; of a comparison, (field, field or number)."""

    operator: str
    operands: tuple[Any, ...]


class Rule(NamedTuple):
    """A statement of the oracle."""

    kind: str  # require, when, else or location
    argument: Any
    body: tuple[Any, ...]


numbers = st.integers(-2, 2)
comparisons = st.builds(
    lambda symbol, field, other: Formula(symbol, (field, other)),
    st.sampled_from(sorted(OPERATORS)),
    st.sampled_from(FIELDS),
    st.one_of(numbers, st.sampled_from(FIELDS)),
)
formulas = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds(lambda *parts: Formula("and", parts), inner, inner),
        st.builds(lambda *parts: Formula("or", parts), inner, inner),
        st.builds(lambda part: Formula("not", (part,)), inner),
    ),
    max_leaves=5,
)
rules = st.recursive(
    st.builds(lambda formula: Rule("require", formula, ()), formulas),
    lambda inner: st.one_of(
        st.builds(lambda formula, body: Rule("when", formula, tuple(body)), formulas, st.lists(inner, max_size=3)),
        st.builds(
            lambda formula, body, other: Rule("else", formula, (tuple(body), tuple(other))),
            formulas,
            st.lists(inner, max_size=2),
            st.lists(inner, max_size=2),
        ),
        st.builds(
            lambda place, body: Rule("location", place, tuple(body)), st.sampled_from("AB"), st.lists(inner, max_size=3)
        ),
    ),
    max_leaves=8,
)
packs = st.lists(rules, max_size=4)
values = st.one_of(st.none(), st.just(math.nan), numbers.map(float))
situations = st.fixed_dictionaries(
    {
        "a": st.fixed_dictionaries(
            {
                "id": st.just(1),
                "x": values,
                "y": values,
                "b": st.just(1),
                "place": st.one_of(st.none(), st.sampled_from("ABC")),
            }
        ),
        "b": st.one_of(st.none(), st.fixed_dictionaries({"id": st.just(1), "x": values})),
        "c": st.one_of(st.none(), st.fixed_dictionaries({"x": values})),
    }
)

# ------------------------------------------------------------------------------------------------------- the library


def expression(formula: Formula) -> Any:
    match formula:
        case Formula("and", (left, right)):
            return expression(left) & expression(right)
        case Formula("or", (left, right)):
            return expression(left) | expression(right)
        case Formula("not", (part,)):
            return not_(expression(part))
    (source, field), other = formula.operands
    right = SOURCES[other[0]][other[1]] if isinstance(other, tuple) else other * metres
    return OPERATORS[formula.operator](SOURCES[source][field], right)


def write(rule: Rule, names: list[str]) -> None:
    match rule:
        case Rule("require", formula, _):
            names.append(f"r{len(names)}")
            require(expression(formula), name=names[-1])
        case Rule("when", formula, body):
            with when(expression(formula)):
                for each in body:
                    write(each, names)
        case Rule("else", formula, (body, other)):
            with when(expression(formula)):
                for each in body:
                    write(each, names)
            with otherwise():
                for each in other:
                    write(each, names)
        case Rule(_, place, body):
            with location(place):
                for each in body:
                    write(each, names)


def compiled(program: list[Rule]) -> RulePack:
    made = RulePack("p", subject=SOURCES["a"], location=SOURCES["a"].place, links=[SOURCES["b"].id == SOURCES["a"].b])
    names: list[str] = []
    with made:
        for rule in program:
            write(rule, names)
    return made


def used(made: RulePack, rows: Any) -> Any:
    """The rows of the sources that the drawn rules observe; `check` refuses others."""
    return {name: rows[name] for name in made.sources}


# -------------------------------------------------------------------------------------------------------- the oracle


def look(rows: Any, observation: Any) -> tuple[Any, set[str]]:
    source, field = observation
    if rows[source] is None:
        return None, {source}
    value = rows[source][field]
    is_missing = value is None or value != value  # noqa: PLR0124 - NaN
    return (None, {f"{source}.{field}"}) if is_missing else (value, set())


def truth(formula: Formula, rows: Any) -> tuple[Fraction, set[str]]:
    """The truth value, and what is missing where it is ½."""
    if formula.operator in OPERATORS:
        left, absent = look(rows, formula.operands[0])
        other = formula.operands[1]
        right, absent_too = look(rows, other) if isinstance(other, tuple) else (other, set())
        if absent or absent_too:
            return HALF, absent | absent_too
        return Fraction(OPERATORS[formula.operator](left, right)), set()
    known = [truth(part, rows) for part in formula.operands]
    missing = {name for value, names in known if value == HALF for name in names}
    match formula.operator:
        case "and":
            value = min(value for value, _ in known)
        case "or":
            value = max(value for value, _ in known)
        case _:
            value = 1 - known[0][0]
    return value, missing if value == HALF else set()


def requirements(program: Any, guards: tuple[Formula, ...] = ()) -> list[tuple[tuple[Formula, ...], Formula]]:
    """The pack as a list of implications, in the order written."""
    found = []
    for kind, argument, body in program:
        if kind == "require":
            found.append((guards, argument))
        elif kind == "when":
            found += requirements(body, (*guards, argument))
        elif kind == "else":
            found += requirements(body[0], (*guards, argument))
            found += requirements(body[1], (*guards, Formula("not", (argument,))))
        else:
            found += requirements(body, (*guards, Formula("==", (("a", "place"), argument))))
    return found


def expected(program: list[Rule], rows: Any) -> tuple[str, list[tuple[str, set[str]]]]:
    failed, undecided = [], []
    for number, (guards, condition) in enumerate(requirements(program)):
        known = [truth(guard, rows) for guard in guards]
        value, missing = truth(condition, rows)
        implication = max([value, *(1 - guard for guard, _ in known)])
        if implication == 0:
            failed.append((f"r{number}", set[str]()))
        elif implication == HALF:
            undecided.append((f"r{number}", missing.union(*(names for guard, names in known if guard == HALF))))
    return ("restricted" if failed else "unknown" if undecided else "allowed"), failed + undecided


@given(packs, situations)
def test_a_pack_means_its_formula_in_kleenes_logic(program, rows):
    made = compiled(program)
    verdict = made.check(used(made, rows))
    assert (verdict.status, [(reason.name, set(reason.missing)) for reason in verdict.because]) == expected(
        program, rows
    )


@given(packs, situations, situations)
def test_what_becomes_known_never_overturns_a_verdict(program, rows, more):
    """Failed stays failed and allowed stays allowed, whatever the missing values turn out to be."""
    complete = {
        name: {
            field: (known if known is not None and known == known else None)  # noqa: PLR0124 - NaN
            if (known := (rows[name] or {}).get(field)) is not None and known == known  # noqa: PLR0124 - NaN
            else (more[name] or {}).get(field)
            for field in fields
        }
        for name, fields in (("a", ["id", "x", "y", "b", "place"]), ("b", ["id", "x"]), ("c", ["x"]))
    }
    made = compiled(program)
    before, after = made.check(used(made, rows)), made.check(used(made, complete))
    assert {reason.name for reason in before.failed} <= {reason.name for reason in after.failed}
    if before.status != "unknown":
        assert after.status == before.status
    assert {reason.name for reason in after.because} <= {reason.name for reason in before.because}


@given(packs, situations)
def test_judging_is_deterministic_and_survives_pickling(program, rows):
    made, again = compiled(program), compiled(program)
    rows = used(made, rows)
    assert made.check(rows) == again.check(rows)
    judge = made._judgement()
    assert repr(judge) == repr(again._judgement())
    twin = pickle.loads(pickle.dumps(judge))
    assert twin == judge
    ordered = [rows[source.name] for source in judge.sources]
    assert twin(*ordered) == made.check(rows)


# ---------------------------------------------------------------------------------------------- correspondence, by hand

T, F, U = 15.0, 5.0, None  # a draught that is deep, shallow, or unknown
KLEENE_AND = {(T, T): T, (T, F): F, (T, U): U, (F, T): F, (F, F): F, (F, U): F, (U, T): U, (U, F): F, (U, U): U}
STATUS = {T: "allowed", F: "restricted", U: "unknown"}


@pytest.mark.parametrize(("pair", "value"), KLEENE_AND.items())
def test_kleenes_tables(pair, value):
    """Also by De Morgan for `|`, and with each operand in either place."""
    ship = {"draught": pair[0], "length": pair[1]}
    first, second = vessel.draught > 10 * metres, vessel.length > 10 * metres
    assert status(lambda: require(first & second), vessel=ship) == STATUS[value]
    assert status(lambda: require(not_(not_(first) | not_(second))), vessel=ship) == STATUS[value]


# --------------------------------------------------------------------------------------------------------- reasons


def clearance() -> None:
    with location("A"), when(vessel.draught >= 15 * metres):
        require(berth.depth + tide.height - vessel.draught >= 0.5 * metres, "clearance", because="the bottom is rock")


DEEP = {"destination": "A", "draught": 15.5}
BERTH = {"id": "A", "depth": 15.0}
TIDE = {"sensor": "A", "height": -0.5}


def test_a_failed_requirement_says_what_failed_it():
    verdict = judged(clearance, vessel=DEEP, berth=BERTH, tide=TIDE)
    assert verdict.status == "restricted"
    [reason] = verdict.because
    text = "berth.depth + tide.height - vessel.draught"
    assert attrs.astuple(reason, recurse=False) == (
        "clearance",
        f"{text} >= 0.5 m",
        "A",
        "the bottom is rock",
        (),
        (
            ("berth.depth", 15.0, "m"),
            ("tide.height", -0.5, "m"),
            ("vessel.draught", 15.5, "m"),
            (text, -1.0, "m"),
            ("0.5 m", 0.5, "m"),
        ),
        "major",
        None,
        (-1.5, "m"),
        (),
        (),
    )


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        ({"berth": BERTH}, ("tide",)),
        ({"tide": TIDE}, ("berth",)),
        ({}, ("berth", "tide")),
        ({"berth": BERTH, "tide": {"sensor": "A", "height": None}}, ("tide.height",)),
        ({"berth": BERTH, "tide": {"sensor": "A", "height": math.nan}}, ("tide.height",)),
        ({"berth": BERTH, "tide": {"sensor": "A"}}, ("tide.height",)),
        ({"berth": {"id": "A"}}, ("berth.depth", "tide")),
    ],
)
def test_an_undecided_requirement_says_what_is_missing(rows, missing):
    verdict = judged(clearance, vessel=DEEP, **rows)
    assert (verdict.status, verdict.because[0].missing) == ("unknown", missing)


def test_a_missing_tide_never_reads_as_safe_nor_does_a_missing_draught():
    assert status(clearance, vessel={"destination": "A", "draught": None}, berth=BERTH, tide=TIDE) == "unknown"
    assert status(clearance, vessel={"destination": None, "draught": 15.5}, berth=BERTH, tide=TIDE) == "unknown"
    assert status(clearance, vessel={"destination": "A", "draught": 9.0}) == "allowed"
    assert status(clearance, vessel={"destination": "B", "draught": None}) == "allowed"


def test_a_requirement_that_fails_regardless_of_what_is_missing_restricts():
    def rule() -> None:
        require((wind.velocity <= 0 * wind.velocity) | (vessel.length < 10 * metres), "either")
        require((tugs.available >= 2) & (vessel.length < 10 * metres), "both")

    verdict = judged(rule, vessel={"length": 100.0})
    assert verdict.status == "restricted"
    assert [(reason.name, reason.missing) for reason in verdict.because] == [("both", ()), ("either", ("wind",))]
    assert [reason.name for reason in verdict.failed] == ["both"]
    assert [reason.name for reason in verdict.undecided] == ["either"]


def test_a_junction_blames_only_what_leaves_it_open():
    def rule() -> None:
        require((tugs.available >= 2) & (vessel.length < 10 * metres) | (wind.velocity <= 0 * wind.velocity))

    [reason] = judged(rule, vessel={"length": 100.0}).because
    assert reason.missing == ("wind",)
    [reason] = judged(rule, vessel={"length": 5.0}).because
    assert reason.missing == ("tugs", "wind")


def test_an_undecided_guard_is_blamed_and_a_decided_one_is_not():
    def rule() -> None:
        with when(tugs.available >= 2), when(vessel.length > 10 * metres), when(vessel.has_pilot):
            require(wind.velocity <= 0 * wind.velocity)

    ship = {"length": 100.0, "has_pilot": None}
    [reason] = judged(rule, vessel=ship, wind={"velocity": 20.0}).because
    assert reason.missing == ("tugs", "vessel.has_pilot")
    [reason] = judged(rule, vessel=ship).because
    assert reason.missing == ("tugs", "vessel.has_pilot", "wind")
    assert status(rule, vessel={"length": 5.0}) == "allowed"


@pytest.mark.parametrize(("beam", "length"), [(0.0, 5.0), (1e-320, 1e300), (math.inf, math.inf)])
def test_what_cannot_be_computed_is_unknown_not_safe(beam, length):
    def rule() -> None:
        with when(vessel.length / vessel.beam - vessel.length / vessel.beam != 0):
            require(vessel.draught < 1 * metres)

    verdict = judged(rule, vessel={"beam": beam, "length": length, "draught": 5.0})
    assert verdict.status == "unknown"
    assert verdict.because[0].missing == ("vessel.length / vessel.beam - vessel.length / vessel.beam != 0",)


def test_the_innermost_location_is_named():
    def rule() -> None:
        require(vessel.draught < 1 * metres, "everywhere")
        with location("A"):
            require(vessel.draught < 1 * metres, "outer")
            with when(vessel.draught > 0 * metres):
                require(vessel.draught < 1 * metres, "inner")

    verdict = judged(rule, vessel={"draught": 5.0, "destination": "A"})
    assert [(reason.name, reason.location) for reason in verdict.because] == [
        ("everywhere", None),
        ("outer", "A"),
        ("inner", "A"),
    ]


def test_both_sides_of_every_comparison_are_shown_once():
    def rule() -> None:
        require((vessel.draught < vessel.length) & (vessel.beam * 2 < 300 * vessel.length / 3) & (tugs.available > 3))

    [reason] = judged(rule, vessel={"draught": 5.0, "length": 1.0, "beam": 20.0}, tugs={"available": 1}).because
    assert [name for name, _, _ in reason.values] == [
        "vessel.draught",
        "vessel.length",
        "vessel.beam",
        "tugs.available",
        "vessel.beam * 2",
        "300 * vessel.length / 3",
        "3",
    ]
    assert reason.values[-1] == ("3", 3, "")


# -------------------------------------------------------------------------------------------------------- verdicts


def test_values_make_no_difference_to_a_verdict():
    deep, deeper = ({"destination": "A", "draught": draught} for draught in (15.5, 15.6))
    first, second = (judged(clearance, vessel=ship, berth=BERTH, tide=TIDE) for ship in (deep, deeper))
    assert first == second
    assert hash(first) == hash(second)
    assert first.because[0].values != second.because[0].values


def test_status_subject_and_missing_sources_make_a_difference():
    reason = Reason("r", "t", None, None, ("tide",))
    verdict = Verdict(1, "unknown", (reason,))
    assert verdict != Verdict(2, "unknown", (reason,))
    assert verdict != Verdict(1, "restricted", (reason,))
    assert verdict != Verdict(1, "unknown", (attrs.evolve(reason, missing=("wind",)),))
    assert verdict == Verdict(1, "unknown", (attrs.evolve(reason, name="s"),))  # the same is missing


def test_a_verdict_can_be_part_of_a_snapshot():
    from cartesius.data.codec import decode, encode

    verdict = judged(clearance, vessel=DEEP, berth=BERTH)
    restored = decode(encode(verdict))
    assert restored == verdict
    assert restored.because[0].values == verdict.because[0].values


def test_a_verdict_is_frozen():
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Verdict(1, "allowed").status = "restricted"  # type: ignore[misc]  # it is frozen
