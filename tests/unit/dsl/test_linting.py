"""What lint finds, as examples; and that each finding is true: no situation refutes it, in a hunt by brute force.

The hunt knows nothing of intervals or tableaux: it tries all combinations of a few values around the limits of the
rules, with the evaluator of `test_judging`.
"""

from __future__ import annotations

from contextlib import ExitStack
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius.errors import InvalidArgument
from dsl import RulePack, Source, absolute, against, another, between, choice, location, not_, otherwise, require, when
from dsl.proofs.formulas import All, Literal, Some
from dsl.proofs.proving import Opened, cannot_hold
from dsl.terms.intervals import Choices, Numbers
from dsl.terms.texts import text
from dsl.units import celsius, feet, kilometres_per_hour, knots, metres
from tests.unit.dsl.harbour import berth, pack, tide, tugs, vessel, wind
from tests.unit.dsl.test_judges import OPERATORS, Formula, Rule, compiled, expression, truth

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsl.proofs.findings import Finding


def found(rule: Callable[[], None]) -> list[tuple[str, str]]:
    return [(each.kind, each.rule) for each in pack(rule).lint() if each.kind != "unused source"]


def deep() -> None:
    with when(vessel.draught > 15 * metres), when(vessel.draught < 10 * metres):
        require(tugs.available >= 2)


def deep_in_feet() -> None:
    with when(vessel.draught > 15 * metres), when(vessel.draught < 49 * feet):
        require(tugs.available >= 2)


def two_types() -> None:
    with when((vessel.vessel_type == "tanker") & (vessel.vessel_type == "barge")):
        require(tugs.available >= 2)


def two_places() -> None:
    with location("A"), when(vessel.length > 5 * metres), location("B"):
        require(tugs.available >= 2)


def over_sums() -> None:
    ukc = berth.depth + tide.height - vessel.draught
    with when(ukc > 2 * metres):
        with when(vessel.draught - tide.height - berth.depth >= -1 * metres):
            require(tugs.available >= 2)
        with when(2 * ukc >= 3 * metres):
            require(tugs.available >= 3)


def branches() -> None:
    with when(vessel.length >= 200 * metres):
        require(wind.velocity <= 30 * knots)
    with otherwise(), when(vessel.length > 250 * metres):
        require(wind.velocity <= 20 * knots)


def negative() -> None:
    require(absolute(tide.height) >= -1 * metres, "height")
    with when(absolute(tide.height) < 0 * metres):
        require(tugs.available >= 2)


def in_a_span() -> None:
    with when(between(vessel.draught, 5 * metres, 10 * metres)):
        require(vessel.draught <= 12 * metres, "draught")


def decided_by_cases() -> None:
    with when((vessel.draught < 5 * metres) | (vessel.draught > 9 * metres)), when(vessel.draught >= 5 * metres):
        require(vessel.draught > 8 * metres, "deep")


def pilots() -> None:
    with when(vessel.has_pilot), when(not_(vessel.has_pilot)):
        require(tugs.available >= 2)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (deep, [("never applies", "when(vessel.draught < 10 m)")]),
        (deep_in_feet, [("never applies", "when(vessel.draught < 49 ft)")]),
        (two_types, [("never applies", 'when(vessel.vessel_type == "tanker" and vessel.vessel_type == "barge")')]),
        (two_places, [("never applies", "location('B')")]),
        (
            over_sums,
            [
                ("never applies", "when(vessel.draught - tide.height - berth.depth >= -1 m)"),
                ("always applies", "when(2 * (berth.depth + tide.height - vessel.draught) >= 3 m)"),
            ],
        ),
        (branches, [("never applies", "when(vessel.length > 250 m)")]),
        (negative, [("never fails", "height"), ("never applies", "when(abs(tide.height) < 0 m)")]),
        (in_a_span, [("never fails", "draught")]),
        (decided_by_cases, [("never fails", "deep")]),
        (pilots, [("never applies", "when(not vessel.has_pilot)")]),
    ],
)
def test_dead_rules(rule, expected):
    assert found(rule) == expected


def test_a_choice_has_its_members_only():
    ship = Source("ship", key="id", id=int, cargo=choice("oil", "gas"), kind=str)
    port = RulePack("port", subject=ship)
    with port:
        require((ship.cargo == "oil") | (ship.cargo == "gas"), "cargo")
        require((ship.kind == "oil") | (ship.kind == "gas"), "kind")
    assert [(each.kind, each.rule) for each in port.lint()] == [("never fails", "cargo")]


def test_temperatures_compare_whatever_their_zero():
    hold = Source("hold", key="id", id=int, temperature=celsius)
    port = RulePack("port", subject=hold)
    with port, when(hold.temperature > 20 * celsius), when(hold.temperature < 19 * celsius):
        require(hold.id > 0)
    assert [each.kind for each in port.lint()] == ["never applies"]


# --------------------------------------------------------------------------------------------------- two requirements


def winds(one: Any, other: Any) -> list[Finding]:
    def rule() -> None:
        for number, (guard, condition) in enumerate((one, other)):
            if guard is None:
                require(condition, f"r{number}")
            else:
                with when(guard):
                    require(condition, f"r{number}")

    return [each for each in pack(rule).lint() if each.kind != "unused source"]


CALM, BREEZE = wind.velocity <= 35 * knots, wind.velocity <= 45 * knots
LONG, VERY_LONG = vessel.length >= 200 * metres, vessel.length >= 300 * metres


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((None, BREEZE), (None, CALM), [("subsumed", ("r0", "r1"))]),
        ((None, CALM), (None, BREEZE), [("subsumed", ("r1", "r0"))]),
        ((LONG, CALM), (LONG, BREEZE), [("subsumed", ("r1", "r0"))]),
        ((LONG, CALM), (VERY_LONG, BREEZE), [("subsumed", ("r1", "r0"))]),  # the same under a weaker condition
        ((VERY_LONG, CALM), (LONG, BREEZE), []),
        ((LONG, CALM), (None, BREEZE), []),  # Listing 2
        ((None, CALM), (LONG, wind.velocity < 60 * kilometres_per_hour), []),
        ((None, wind.velocity < 60 * kilometres_per_hour), (LONG, CALM), [("subsumed", ("r1", "r0"))]),
        ((None, CALM), (None, CALM), [("subsumed", ("r1", "r0"))]),
        ((None, CALM), (None, wind.velocity > 35 * knots), [("contradiction", ("r0", "r1"))]),
        ((None, CALM), (LONG, wind.velocity > 40 * knots), [("contradiction", ("r0", "r1"))]),
        ((LONG, CALM), (vessel.length < 200 * metres, wind.velocity > 40 * knots), []),  # never together
        ((None, CALM), (None, wind.velocity >= 35 * knots), []),  # at 35 knots both hold
        ((None, CALM), (None, vessel.draught > 3 * metres), []),
    ],
)
def test_two_requirements(one, other, expected):
    assert [(each.kind, each.concerns) for each in winds(one, other)] == expected


def test_a_contradiction_comes_with_an_example():
    [finding] = winds((None, CALM), (LONG & (vessel.vessel_type == "tanker"), wind.velocity > 40 * knots))
    assert 'such as vessel.length = 200 m, vessel.vessel_type = "tanker"' in finding.text


def test_a_requirement_that_nothing_satisfies():
    def rule() -> None:
        with when(vessel.draught > 15 * metres):
            require(vessel.draught <= 49 * feet, "draught")

    [finding] = [each for each in pack(rule).lint() if each.kind != "unused source"]
    assert (finding.kind, finding.rule) == ("always fails", "draught")
    assert "such as vessel.draught = 16 m" in finding.text


other = another(vessel, "other")


def test_a_pair_fails_only_where_there_is_another():
    """So nothing that a pair's rule says makes a rule about one ship needless, or contradicts it."""

    def rule() -> None:
        require(vessel.length <= 300 * metres, "alone")
        with against(other):
            require(vessel.length <= 200 * metres, "beside another")
            require(vessel.length <= 400 * metres, "needless")
            require(vessel.length > 350 * metres, "too long")

    findings = [each for each in pack(rule).lint() if each.kind != "unused source"]
    assert [(each.kind, each.concerns) for each in findings] == [
        ("subsumed", ("needless", "alone")),
        ("contradiction", ("beside another", "too long")),
    ]
    assert findings[1].text.endswith("each such pair fails")


def test_what_cannot_hold_of_a_pair():
    def rule() -> None:
        with against(other, where=other.destination == vessel.destination), when(vessel.beam < 9 * metres):
            with when(vessel.beam > 10 * metres):
                require(other.beam < 9 * metres, "dead")
            with when(other.beam > 10 * metres):
                require(other.length < 9 * metres, "alive")

    [finding] = [each for each in pack(rule).lint() if each.kind != "unused source"]
    assert (finding.kind, finding.concerns) == ("never applies", ("dead",))


def test_one_name_for_two_requirements_at_one_place():
    def rule() -> None:
        require(wind.velocity <= 45 * knots, "limit")
        require(tugs.available >= 1, "limit")
        with location("A"):
            require(vessel.draught <= 9 * metres, "limit")
            require(vessel.draught <= 9 * metres, "limit")

    assert found(rule) == [("subsumed", "limit"), ("duplicate name", "limit")]


# -------------------------------------------------------------------------------------------- locations and sources


def places() -> None:
    with location("A"):
        require(tugs.available >= 1, "one")
    with location("Z"), when(vessel.length > 9 * metres):
        require(tugs.available >= 2, "two")


@pytest.mark.parametrize("given_rows", [["A", "B"], {"A", "B"}, {"berth": [{"id": "A"}, {"id": "B", "depth": 3.0}]}])
def test_a_location_that_no_berth_has(given_rows):
    [finding] = [each for each in pack(places).lint(given_rows) if each.kind == "unknown location"]
    assert (finding.rule, finding.concerns) == ("location('Z')", ("two",))
    assert finding.fix.endswith("known: 'A', 'B'")


@pytest.mark.parametrize(
    ("given_rows", "message"),
    [
        ({"tide": []}, "lint: expected rows of the source linked to vessel.destination ('berth') but got rows of"),
        ({"berth": [{"depth": 3}]}, "lint: expected rows of 'berth' with their key 'id' but got {'depth': 3}"),
        (7, "lint: expected a list of places, or the rows of their source, but got 7"),
        ("berth A", "lint: expected a list of places, or the rows of their source, but got 'berth A'"),
    ],
)
def test_rows_of_something_else_are_refused(given_rows, message):
    with pytest.raises(InvalidArgument) as refused:
        pack(places).lint(given_rows)
    assert str(refused.value).startswith(message)


def test_a_source_that_no_rule_observes():
    kinds = [each.rule for each in pack(places).lint() if each.kind == "unused source"]
    assert kinds == ["berth", "tide", "tidal_stream"]

    def tidal() -> None:
        require(tide.height > 1 * metres)  # by way of the berth

    assert [each.rule for each in pack(tidal).lint()] == ["tidal_stream"]


def test_a_pack_that_requires_nothing():
    nothing = RulePack("idle", subject=vessel)
    assert [(each.kind, each.rule) for each in nothing.lint()] == [("no requirement", "idle")]
    assert "no requirement" not in {each.kind for each in pack(places).lint()}


def test_findings_say_where_the_rule_is_and_what_to_do():
    [finding] = [each for each in pack(deep).lint() if each.kind == "never applies"]
    assert finding.written is not None
    file, line = finding.written
    assert file == __file__
    assert line == deep.__code__.co_firstlineno + 1
    assert str(finding).splitlines() == [
        f"{file}:{line}: never applies: when(vessel.draught < 10 m)",
        "  vessel.draught < 10 m cannot hold where vessel.draught > 15 m",
        "  fix: leave it out with all that is inside, or correct the condition",
    ]


def test_a_finding_in_a_text_shows_the_line_of_the_text():
    rules = [
        "pack: p", "subject: vessel", "", "source vessel by mmsi:", "    mmsi: number", "    draught: metres", "",
        "draught must be at most 10 m", "draught must be at most 12 m",
    ]  # fmt: skip
    [finding] = RulePack.from_text("\n".join(rules)).lint()
    assert finding.written is not None
    assert finding.written[1] == len(rules)


def test_where_a_rule_is_written_is_no_part_of_what_it_means():
    def rule() -> None:
        require(tugs.available >= 1)

    def same() -> None:
        require(tugs.available >= 1)

    assert pack(rule).statements == pack(same).statements
    assert repr(pack(rule).statements) == repr(pack(same).statements)


# --------------------------------------------------------------------------------------------------------- the hunt

AROUND = [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2]  # the limits of the rules, and what is between and beyond them

limits = st.builds(
    lambda symbol, field, number: Formula(symbol, (field, number)),
    st.sampled_from(sorted(OPERATORS)),
    st.sampled_from([("a", "x"), ("a", "y")]),
    st.integers(-1, 1),
)
conditions = st.recursive(
    limits,
    lambda inner: st.one_of(
        st.builds(lambda *parts: Formula("and", parts), inner, inner),
        st.builds(lambda *parts: Formula("or", parts), inner, inner),
        st.builds(lambda part: Formula("not", (part,)), inner),
    ),
    max_leaves=3,
)
statements = st.recursive(
    st.builds(lambda condition: Rule("require", condition, ()), conditions),
    lambda inner: st.one_of(
        st.builds(
            lambda condition, body: Rule("when", condition, tuple(body)), conditions, st.lists(inner, max_size=2)
        ),
        st.builds(lambda place, body: Rule("location", place, tuple(body)), st.sampled_from("AB"), st.lists(inner)),
    ),
    max_leaves=5,
)
SITUATIONS = [{"a": {"x": x, "y": y, "place": place}} for x, y, place in product(AROUND, AROUND, "AB")]


def walked(program: Any, guards: tuple[Formula, ...] = ()) -> list[tuple[bool, Formula, tuple[Formula, ...]]]:
    """Each statement: whether it is a requirement, its condition, and the conditions around it."""
    steps = []
    for kind, argument, body in program:
        condition = Formula("==", (("a", "place"), argument)) if kind == "location" else argument
        steps.append((kind == "require", condition, guards))
        steps += walked(body, (*guards, condition))
    return steps


def holding(formulas: tuple[Formula, ...]) -> set[int]:
    """The situations in which all of them hold."""
    return {
        number for number, rows in enumerate(SITUATIONS) if all(truth(formula, rows)[0] == 1 for formula in formulas)
    }


def shown(formula: Formula) -> str:
    if formula.operands[0] == ("a", "place"):
        return f"location({formula.operands[1]!r})"
    return f"when({text(expression(formula).term)})"


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(statements, max_size=4))
def test_no_situation_refutes_a_finding_and_each_flaw_of_one_rule_is_found(program):
    """Limits on single fields are complete: what no situation around them shows is impossible."""
    steps, expected = walked(program), []
    requirements, dead = {}, set()
    for is_requirement, condition, guards in steps:
        outer, inner = holding(guards), holding((*guards, condition))
        is_dead = any(guards[:number] in dead for number in range(1, len(guards) + 1))
        if is_requirement:
            requirements[f"r{len(requirements)}"] = (guards, condition, outer, inner)
            name = list(requirements)[-1]
            if not is_dead and inner == outer:
                expected.append(("never fails", name))
            elif not is_dead and not inner:
                expected.append(("always fails", name))
        elif not is_dead and not inner:
            expected.append(("never applies", shown(condition)))
        elif not is_dead and inner == outer:
            expected.append(("always applies", shown(condition)))
        if not is_requirement and not inner:
            dead.add((*guards, condition))
    findings = compiled(program).lint()
    alone = [(each.kind, each.rule) for each in findings if each.kind.startswith(("never", "always"))]
    assert sorted(alone) == sorted(expected)
    for finding in findings:
        if finding.kind == "subsumed":
            (_, _, outer, inner), (_, _, other_outer, other_inner) = (requirements[name] for name in finding.concerns)
            assert outer - inner <= other_outer - other_inner
        if finding.kind == "contradiction":
            (_, _, outer, inner), (_, _, other_outer, other_inner) = (requirements[name] for name in finding.concerns)
            assert outer & other_outer
            assert not inner & other_inner


# --------------------------------------------------------------------------------------------------------- links

KEYS = ("A", "B", "C")
AT = st.sampled_from(KEYS)
ship = Source("ship", key="id", id=int, basin=str, depth=metres)
dock = Source("dock", key="id", id=str, crane=str)
crane = Source("crane", key="id", id=str, load=metres)
KEYED = st.one_of(
    st.tuples(st.sampled_from([ship.basin, dock.id, dock.crane, crane.id]), st.sampled_from(["==", "!="]), AT),
    st.tuples(st.sampled_from([ship.depth, crane.load]), st.sampled_from(["<", ">="]), st.integers(0, 1)),
)


def keyed(part: tuple[Any, str, Any]) -> Any:
    field, symbol, value = part
    return OPERATORS[symbol](field, value if isinstance(value, str) else value * metres)


def linked(basin: str, depth: int, at: str | None, load: int | None) -> dict[str, Any]:
    """A ship, the dock of its basin, and the crane there: as far as there are rows."""
    return {
        "ship": {"id": 1, "basin": basin, "depth": depth},
        "dock": None if at is None else {"id": basin, "crane": at},
        "crane": None if at is None or load is None else {"id": at, "load": load},
    }


LINKED = [linked(*each) for each in product(KEYS, (-1, 0, 1), (*KEYS, None), (-1, 0, 1, None))]


def so(part: tuple[Any, str, Any], situation: dict[str, Any]) -> bool | None:
    """Whether a condition holds; None where nobody knows, as there is no row."""
    field, symbol, value = part
    row = situation[field.term.source.name]
    return None if row is None else bool(OPERATORS[symbol](row[field.term.field], value))


@settings(max_examples=150)
@given(
    blocks=st.lists(st.tuples(st.lists(KEYED, max_size=2), KEYED), min_size=1, max_size=3),
    only=st.none() | KEYED,
)
def test_what_is_found_is_so_of_linked_rows_that_may_be_missing(blocks, only):
    """A subject in basin A at dock B was an example of a contradiction; it is linked to the dock of its basin.

    Then, that it must be at dock A made it needless that it be in basin A; but nothing is restricted by a dock that is
    missing.
    """
    links = [dock.id == ship.basin, crane.id == dock.crane]
    made = RulePack("port", subject=ship, links=links, only=None if only is None else keyed(only))
    with made:
        for number, (guards, part) in enumerate(blocks):
            with ExitStack() as stack:
                for guard in guards:
                    stack.enter_context(when(keyed(guard)))
                require(keyed(part), str(number))
    judged = [each for each in LINKED if only is None or so(only, each) is not False]

    def applies(number: int, situation: dict[str, Any]) -> bool:
        return all(so(guard, situation) for guard in blocks[number][0])

    def verdict(number: int, situation: dict[str, Any]) -> bool | None:
        guards = [so(guard, situation) for guard in blocks[number][0]]
        holds = so(blocks[number][1], situation)
        if holds or False in guards:
            return True
        return None if holds is None or None in guards else False

    for finding in made.lint():
        if finding.kind in ("unused source", "duplicate name"):
            continue
        numbers = [int(name) for name in finding.concerns]
        met = [each for each in judged if all(applies(number, each) for number in numbers)]
        holds = [[so(blocks[number][1], each) for number in numbers] for each in met]
        match finding.kind:
            case "never applies":
                assert not met
            case "never fails":
                assert all(map(all, holds))
            case "always applies":
                guards = blocks[numbers[0]][0]
                titles = [f"when({text(keyed(each).term)})" for each in guards]
                places = [place for place, title in enumerate(titles) if title == finding.rule]
                assert any(
                    all(so(guards[place], each) for each in judged if all(so(guard, each) for guard in guards[:place]))
                    for place in places
                )
            case "subsumed":
                weak, strong = numbers
                assert all(verdict(strong, each) is not True for each in judged if verdict(weak, each) is None)
                assert all(verdict(strong, each) is False for each in judged if verdict(weak, each) is False)
            case "always fails" | "contradiction":
                assert met
                assert not any(map(all, holds))


def test_what_a_missing_row_leaves_undecided_is_not_called_needless():
    """Without a row of the dock one of these is undecided: neither makes the other needless."""
    made = RulePack("port", subject=ship, links=[dock.id == ship.basin])
    with made:
        require(dock.id == "A", "dock")
        require(ship.basin == "A", "basin")
    assert [each.kind for each in made.lint()] == []
    made = RulePack("port", subject=ship, links=[dock.id == ship.basin], only=dock.id == "A")
    with made:
        require(ship.basin == "A", "basin")
        with when(ship.basin == "B"):
            require(ship.depth >= 5 * metres, "deep")
    assert made.check({"ship": {"id": 1, "basin": "B", "depth": 1}, "dock": None}).status == "restricted"
    assert made.lint() == ()


def test_the_links_that_a_finding_needs_are_named_through_a_chain_of_them():
    chained = Source("crane", key="id", id=str)
    made = RulePack("port", subject=ship, links=[dock.id == ship.basin, chained.id == dock.id])
    with made:
        with when(ship.basin == "A"), when(chained.id == "B"):
            require(ship.depth <= 1 * metres, "dead")
        require(chained.id == "A", "crane")
        require(ship.basin == "B", "basin")
    never, both = made.lint()
    links = "dock.id == ship.basin and crane.id == dock.id"
    assert never.text == f'crane.id == "B" cannot hold where ship.basin == "A" and {links}'
    assert both.text == f'crane.id == "A" and ship.basin == "B" cannot both hold where {links}: each such subject fails'


def test_a_block_that_no_linked_row_can_be_in_never_applies():
    made = RulePack("port", subject=ship, links=[dock.id == ship.basin, crane.id == dock.crane], location=ship.basin)
    with made, location("A"):
        with when(dock.id == "B"):
            require(ship.depth > 12 * metres, "y")
        require(ship.depth <= 10 * metres, "x")
        with when(crane.id == "B"):
            require(ship.depth > 12 * metres, "z")
    never, against_x = (each for each in made.lint() if each.kind != "unused source")
    assert (never.kind, never.text) == (
        "never applies", 'dock.id == "B" cannot hold where ship.basin == "A" and dock.id == ship.basin'
    )  # fmt: skip
    assert against_x.kind == "contradiction"
    assert 'such as ship.basin = "A", dock.crane = "B"' in against_x.text


LITERALS = st.builds(
    Literal,
    st.sampled_from("xy"),
    st.builds(Numbers.that, st.sampled_from(sorted(OPERATORS)), st.integers(0, 2).map(Fraction)),
    st.just(()),
) | st.builds(
    Literal, st.just("d"), st.builds(Choices, st.frozensets(st.sampled_from("abc")), st.booleans()), st.just(())
)
FORMULAS = st.recursive(
    LITERALS,
    lambda inner: st.builds(lambda kind, parts: kind(tuple(parts)), st.sampled_from([All, Some]), st.lists(inner)),
    max_leaves=8,
)


@given(FORMULAS, FORMULAS)
def test_formulas_whose_branches_are_kept_exclude_each_other_as_without(one, other):
    assert Opened.of(one).excludes(Opened.of(other)) == cannot_hold(one, other)


def test_a_formula_that_has_too_many_branches_to_follow_excludes_what_closes_most_of_them():
    """Two lists of forty that have one text in common: by itself the formula is given up."""
    first, last = (
        Some(tuple(Literal("d", Choices(frozenset({str(each)})), ()) for each in numbers))
        for numbers in (range(50), range(49, 99))
    )
    both, another = All((first, last)), Literal("d", Choices(frozenset({"50"})), ())
    assert cannot_hold(both, another)
    assert Opened.of(both).excludes(Opened.of(another))
    assert not Opened.of(both).excludes(Opened.of(Literal("d", Choices(frozenset({"49"})), ())))


@pytest.mark.parametrize("guard", ["at B{}", 'when berth is "B{}"'])
def test_for_rules_that_never_meet_no_situation_is_sought_and_of_places_each_is_looked_at_by_itself(monkeypatch, guard):
    """A situation was sought for each pair of 800 rules at 800 berths, for a minute."""
    compared = []

    def excludes(*formulas, meant=Opened.excludes):
        compared.append(formulas)
        return meant(*formulas)

    monkeypatch.setattr(Opened, "excludes", excludes)
    monkeypatch.setattr("dsl.proofs.linting.witness", None)  # it is not called
    head = (
        "pack: p\nsubject: ship\nlocation: berth\nsource ship by id:\n    id: number\n    berth: text\n    x: metres\n"
    )
    numbers = []
    for number in (10, 20):
        compared.clear()
        rules = [
            f"{guard.format(each)}, when x is at least {each} m: x must be below {limit} m\n    name: {each} {limit}\n"
            for each in range(number)
            for limit in (200, 100 - each)
        ]
        assert (
            len(RulePack.from_text(head + "".join(rules)).lint()) == number
        )  # at each berth the greater limit is idle
        numbers.append(len(compared))
    assert numbers[1] == 2 * numbers[0] or "when" in guard
