"""Packs: judging one situation, and when they may be changed."""

from __future__ import annotations

from functools import reduce
from operator import add, and_, or_

import pytest

from cartesius import Reactive
from cartesius.errors import CartesiusError, InvalidArgument
from dsl import InvalidRule, RulePack, Source, instant, named, number_of, require, throughout
from dsl.declarations.admission import DEEPEST_NAMED
from dsl.units import hours, knots, metres
from tests.unit.dsl.harbour import pack, vessel, wind


def strong_wind() -> None:
    require(wind.velocity <= 45 * knots)


def test_a_situation_names_sources_and_bare_values():
    made = pack(strong_wind)
    assert made.check({"vessel": {"mmsi": 7}, "wind": {"velocity": 46}}).status == "restricted"
    assert made.check({"vessel": {"mmsi": 7}, "wind": {"velocity": 45}}).subject == 7


def test_a_source_that_is_left_out_is_none():
    made = pack(strong_wind)
    assert made.check({"vessel": {"mmsi": 7}}) == made.check({"vessel": {"mmsi": 7}, "wind": None})


@pytest.mark.parametrize("rows", [{}, {"vessel": None}, {"wind": {"velocity": 3}}])
def test_the_subject_must_be_there(rows):
    with pytest.raises(InvalidArgument, match="expected a row of the subject 'vessel'"):
        pack(strong_wind).check(rows)


def test_a_pack_may_be_opened_again_until_its_table_is_made():
    made = pack(strong_wind)
    assert made.check({"vessel": {"mmsi": 7, "length": 9.0}, "wind": {"velocity": 3}}).status == "allowed"
    with made:
        require(vessel.length < 9 * metres)
    assert made.check({"vessel": {"mmsi": 7, "length": 9.0}, "wind": {"velocity": 3}}).status == "restricted"
    made.table()
    with pytest.raises(InvalidRule, match="table is not made yet"), made:
        pass


def test_the_table_and_the_warnings_are_the_same_every_time():
    made = pack(strong_wind)
    assert made.table() is made.table()
    assert made.warnings() is made.warnings()
    assert isinstance(made.table(), Reactive)
    assert (made.table().name, made.warnings().name) == ("port", "port.warnings")
    assert made.table().table
    assert made.warnings().table


def test_a_pack_without_rules_allows_everything():
    assert RulePack("empty", subject=vessel).check({"vessel": {"mmsi": 7}}).status == "allowed"


@pytest.mark.parametrize("name", ["", None, 7])
def test_a_pack_has_a_name(name):
    with pytest.raises(InvalidRule, match="RulePack: expected a name"):
        RulePack(name, subject=vessel)


def test_a_pack_shows_what_it_is():
    assert repr(pack(strong_wind)) == "<rule pack port over vessel, 1 statement>"


def test_every_refusal_is_a_cartesius_error():
    with pytest.raises(CartesiusError):
        require(vessel.length < 9 * metres)


@pytest.mark.parametrize(
    "endless",
    [
        lambda limit, times: reduce(and_, [limit] * times),
        lambda limit, times: reduce(or_, [limit] * times),
        lambda limit, times: reduce(lambda inner, _: ~(limit & inner), range(times // 2), limit),
        lambda _, times: reduce(add, [vessel.draught] * times) <= 10 * metres,
    ],
    ids=["a conjunction", "a disjunction", "a nest", "a sum"],
)
def test_an_expression_that_is_nested_too_deep_is_refused_where_it_is_required(endless):
    limit = vessel.draught <= 10 * metres
    deep = RulePack("deep", subject=vessel)
    with deep:
        require(endless(limit, DEEPEST_NAMED // 2 - 10))
        with pytest.raises(InvalidRule, match=f"expected at most 5000 parts, {DEEPEST_NAMED} in one"):
            require(endless(limit, 400))
    assert len(deep.statements) == 1
    assert isinstance(deep.table(), Reactive)


def test_what_is_asked_of_others_of_a_span_and_of_links_is_bounded_likewise():
    boat = Source("boat", key="id", id=int, depth=metres, eta=instant)
    tug = Source("tug", key="id", id=int, berth=str)
    water = Source("water", key=None, height=metres, forecast=True)
    quay = Source("quay", key="id", id=int)
    high = throughout(boat.eta, boat.eta + 1 * hours)(reduce(and_, [water.height > 1 * metres] * 400))
    many = number_of(tug, where=reduce(or_, [tug.berth == "A"] * 400)) >= 1
    names = reduce(lambda inner, n: named(f"x{n}", inner), range(250), boat.depth) <= 9 * metres
    told = f"{DEEPEST_NAMED} in one another"
    with RulePack("deep", subject=boat):
        for condition in (high, many, names):
            with pytest.raises(InvalidRule, match=told):
                require(condition)
    with pytest.raises(InvalidRule, match=told):
        RulePack("linked", subject=boat, links=[quay.id == reduce(add, [boat.id] * 400)])


def test_an_expression_of_too_many_parts_is_refused_where_it_is_required():
    twice = reduce(lambda inner, _: inner + inner, range(13), vessel.draught)
    with RulePack("vast", subject=vessel), pytest.raises(InvalidRule, match="at most 5000 parts"):
        require(twice <= 10 * metres)


def test_names_in_names_are_as_deep_as_a_text_may_have_them():
    with pack() as rules:
        require(reduce(lambda inner, n: named(f"x{n}", inner + 1 * metres), range(95), vessel.draught) <= 99 * metres)
    assert isinstance(rules.table(), Reactive)


def test_a_text_that_was_written_before_is_not_that_of_other_rules_or_sources():
    """It is kept: to write it reads it back."""
    ship = Source("ship", key="mmsi", mmsi=int, length=metres)
    pack = RulePack("port", subject=ship)
    empty = pack.to_text()
    with pack:
        require(ship.length <= 100 * metres)
    written = pack.to_text()
    assert "100" in written
    assert "100" not in empty
    more = RulePack.from_text(written.replace("source ship", "source weather:\n    wind: knots\nsource ship"))
    assert "source weather" not in more.to_text()
    assert "source weather" in more.over(more.kept).to_text()
    assert "source weather" not in more.to_text()
