"""Links form a tree rooted at the subject; every other shape is refused with its reason."""

from __future__ import annotations

import pytest

from dsl import InvalidRule, RulePack, Source, nearest, position, require
from dsl.declarations.sources import declaration
from dsl.terms.links import oriented
from dsl.units import metres

ship = Source("ship", key="id", id=str, berth=str, draught=metres)
quay = Source("quay", key="id", id=str, position=position, master=int, depth=metres)
gauge = Source("gauge", key="sensor", sensor=str, height=metres)
person = Source("person", key="number", number=int, mood=str)
wind = Source("wind", key=None, station=str, velocity=int)

SENSORS = {"b": (0.0, 1.0), "a": (0.0, -1.0)}


def order(*links):
    return [link.source.name for link in oriented(declaration(ship), [link.term for link in links])]


def test_links_are_ordered_from_the_subject_however_they_are_written():
    first, second, third = quay.id == ship.berth, gauge.sensor == quay.id, person.number == quay.master
    assert order(first, second, third) == ["quay", "gauge", "person"]
    assert order(third, second, first) == ["quay", "person", "gauge"]


def test_the_sides_of_a_link_may_be_exchanged():
    assert order(ship.berth == quay.id, quay.id == gauge.sensor) == ["quay", "gauge"]


def test_a_link_may_be_computed_or_constant():
    assert order(quay.id == ship.berth, gauge.sensor == nearest(SENSORS, quay.position)) == ["quay", "gauge"]
    assert order(gauge.sensor == "battery") == ["gauge"]


def test_the_subjects_own_key_may_be_the_link():
    assert order(quay.id == ship.id) == ["quay"]


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ([quay.id == ship.berth, quay.id == ship.id], "leads to 'quay' again"),
        ([quay.id == ship.berth, gauge.sensor == ship.id, gauge.sensor == quay.id], "again"),
        ([gauge.sensor == quay.id], "found none to gauge.sensor == quay.id"),
        ([ship.id == ship.berth], "expected <source>.<key> =="),
        ([quay.depth == ship.draught], "expected <source>.<key> =="),
        ([quay.id != ship.berth], "expected <source>.<key> =="),
        ([(quay.id == ship.berth) & (gauge.sensor == quay.id)], "expected <source>.<key> =="),
        ([quay.id == "x", gauge.sensor == ship.berth, quay.id == gauge.sensor], "again"),
        ([wind.station == ship.berth], "expected <source>.<key> =="),
        ([person.number == quay.master + wind.velocity], "expected <source>.<key> =="),
        (["quay.id == ship.berth"], "expected an expression"),
    ],
)
def test_other_shapes_are_refused(links, said):
    with pytest.raises(InvalidRule) as refused:
        RulePack("port", subject=ship, links=links)
    assert said in str(refused.value)


def test_a_rule_over_an_unlinked_source_is_refused_where_it_is_written():
    pack = RulePack("port", subject=ship, links=[quay.id == ship.berth])
    with pytest.raises(InvalidRule, match="expected sources that pack 'port' links but got 'gauge'") as refused, pack:  # noqa: PT012 - the error names the line
        require(quay.depth > 3 * metres)
        require(quay.depth + gauge.height > 3 * metres)
    assert "require(quay.depth + gauge.height > 3 * metres)" in str(refused.value)
    assert pack.statements == ()


def test_two_sources_of_one_name_are_refused():
    other = Source("quay", key="id", id=str, height=metres)
    pack = RulePack("port", subject=ship, links=[quay.id == ship.berth])
    with pytest.raises(InvalidRule, match="but got another"), pack:
        require(other.height > 3 * metres)


def test_a_source_without_a_key_needs_no_link():
    pack = RulePack("port", subject=ship)
    with pack:
        require(wind.velocity < 30)
    assert pack.check({"ship": {"id": "x"}, "wind": {"velocity": 20}}).status == "allowed"


@pytest.mark.parametrize("subject", [wind, None, ship.berth])
def test_the_subject_has_a_key(subject):
    with pytest.raises(InvalidRule, match="expected a source with a key"):
        RulePack("port", subject=subject)


def test_the_location_is_of_a_linked_source():
    with pytest.raises(InvalidRule, match="links"):
        RulePack("port", subject=ship, location=quay.id)
