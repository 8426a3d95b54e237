"""Statements are written inside a pack, in blocks that are entered where they stand; anything else is refused."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from dsl import DimensionMismatch, InvalidRule, NoTruthValue, RulePack, location, otherwise, require, when
from dsl.terms.statements import Conditional, Located, Requirement
from dsl.terms.terms import Not
from dsl.units import metres
from tests.unit.dsl.harbour import pack, vessel

deep = vessel.draught > 10 * metres
long = vessel.length > 100 * metres


def ignore(_: object) -> None:
    """Turn an expression into a statement."""


@pytest.mark.parametrize("statement", [lambda: require(deep), lambda: when(deep), otherwise, lambda: location("A")])
def test_outside_a_pack_nothing_can_be_written(statement):
    with pytest.raises(InvalidRule, match="inside `with <pack>:`"):
        statement()


def test_blocks_nest_freely():
    def rule() -> None:
        with location("A"), when(deep):
            with when(long):
                require(deep)
            with otherwise():
                require(long)

    [at] = pack(rule).statements
    assert isinstance(at, Located)
    [when_deep] = at.body
    assert isinstance(when_deep, Conditional)
    when_long, not_long = when_deep.body
    assert isinstance(when_long, Conditional)
    assert isinstance(not_long, Conditional)
    assert not_long.condition == Not(when_long.condition)


def test_an_empty_block_means_nothing():
    def rule() -> None:
        with when(deep):
            pass

    assert pack(rule).check({"vessel": {"mmsi": 1, "draught": 15.0}}).status == "allowed"
    assert pack(rule).check({"vessel": {"mmsi": 1}}).status == "allowed"
    assert pack().check({"vessel": {"mmsi": 1}}).status == "allowed"


def test_a_requirement_is_called_by_its_text_unless_named():
    def rule() -> None:
        require(deep)
        require(deep, "named")
        require(deep, name="", because="of the keel")

    statements = pack(rule).statements
    assert all(isinstance(each, Requirement) for each in statements)
    assert [each.name for each in statements if isinstance(each, Requirement)] == [
        "vessel.draught > 10 m",
        "named",
        "",
    ]


def write_otherwise_first() -> None:
    with otherwise():
        pass


def write_otherwise_after_a_requirement() -> None:
    with when(deep):
        pass
    require(long)
    with otherwise():
        pass


def write_otherwise_twice() -> None:
    with when(deep):
        pass
    with otherwise():
        pass
    with otherwise():
        pass


def write_otherwise_inside() -> None:
    with when(deep), otherwise():
        pass


def write_otherwise_after_a_location() -> None:
    with location("A"):
        pass
    with otherwise():
        pass


@pytest.mark.parametrize(
    "rule",
    [
        write_otherwise_first,
        write_otherwise_after_a_requirement,
        write_otherwise_twice,
        write_otherwise_inside,
        write_otherwise_after_a_location,
    ],
)
def test_otherwise_stands_right_after_a_when(rule):
    with pytest.raises(InvalidRule, match="expected a `when` directly before it"):
        pack(rule)


def forget_with_before_a_statement() -> None:
    when(deep)
    require(long)


def forget_with_at_the_end() -> None:
    when(deep)


def forget_with_at_the_end_of_a_block() -> None:
    with when(long):
        location("A")


@pytest.mark.parametrize(
    "rule", [forget_with_before_a_statement, forget_with_at_the_end, forget_with_at_the_end_of_a_block]
)
def test_a_clause_without_with_is_noticed(rule):
    with pytest.raises(InvalidRule, match="expected to be entered with `with`"):
        pack(rule)


def test_a_clause_is_entered_once_where_it_is_written():
    def later() -> None:
        clause = when(deep)
        with clause:
            pass
        with clause:
            pass

    with pytest.raises(InvalidRule, match="where it is written, once"):
        pack(later)


@pytest.mark.parametrize("condition", [True, False, None, "deep", 15, vessel])
def test_a_condition_is_over_observations(condition: Any):
    with pytest.raises(InvalidRule, match="expected a condition over observations"):
        pack(lambda: require(condition))


@pytest.mark.parametrize("condition", [vessel.draught, vessel.vessel_type, 15 * metres])
def test_a_quantity_or_a_text_is_no_condition(condition: Any):
    with pytest.raises(DimensionMismatch, match="require: expected a condition but got"):
        pack(lambda: require(condition))
    with pytest.raises(DimensionMismatch, match="when: expected a condition but got"):
        pack(lambda: ignore(when(condition)))


@pytest.mark.parametrize("texts", [{"name": 3}, {"because": ["so"]}])
def test_names_and_reasons_are_texts(texts: Any):
    with pytest.raises(InvalidRule, match="expected a text"):
        pack(lambda: require(deep, **texts))


@pytest.mark.parametrize("place", [3, 3.5, True, vessel.destination])
def test_a_location_is_of_the_type_of_the_packs_location(place: Any):
    with pytest.raises(DimensionMismatch, match=r"expected an id of vessel\.destination"):
        pack(lambda: ignore(location(place)))


def test_a_location_needs_a_pack_that_has_one():
    bare = RulePack("bare", subject=vessel)
    with pytest.raises(InvalidRule, match="expected a pack with a location but 'bare' has none"), bare, location("A"):
        pass


def test_packs_do_not_nest():
    outer, inner = RulePack("outer", subject=vessel), RulePack("inner", subject=vessel)
    with pytest.raises(InvalidRule, match="but 'outer' is open"), outer, inner:
        pass
    with pytest.raises(InvalidRule, match="but 'outer' is open"), outer, outer:
        pass
    with outer:
        require(deep)
    assert len(outer.statements) == 1


def test_what_an_exception_leaves_is_not_part_of_the_pack():
    made = RulePack("port", subject=vessel)
    with made:
        require(deep)
    with pytest.raises(NoTruthValue), made:  # noqa: PT012 - what stands before the error is the point
        require(long)
        with when(long):
            require(deep and long)
    assert len(made.statements) == 1
    with made:
        require(long)
    assert len(made.statements) == 2


def test_an_exception_caught_inside_leaves_the_block_out():
    def rule() -> None:
        try:
            with when(deep):
                require(long)
                raise KeyError
        except KeyError:
            require(long)

    assert [type(each) for each in pack(rule).statements] == [Requirement]


def test_two_threads_write_two_packs():
    inner = RulePack("inner", subject=vessel)

    def other() -> None:
        with inner:
            require(deep)

    outer = RulePack("outer", subject=vessel)
    with outer:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        require(long)
    assert (len(inner.statements), len(outer.statements)) == (1, 1)
