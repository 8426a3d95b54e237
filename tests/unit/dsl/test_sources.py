"""Sources: declared fields win over everything, and slips are refused with a hint."""

from __future__ import annotations

import copy
import pickle

import pytest

from dsl import InvalidRule, Source, UnknownField, position, require
from dsl.declarations.sources import declaration
from dsl.terms.dimensions import NUMBER, POSITION, TEXT, TRUTH
from dsl.units import dimensionless, metres
from tests.unit.dsl.harbour import pack, vessel


def test_every_field_wins_attribute_access():
    hostile = ["name", "key", "fields", "_declaration", "kind", "term", "items", "declaration"]
    source = Source("odd", key="key", fields=dict.fromkeys(hostile, str))
    for field in hostile:
        assert repr(getattr(source, field)) == f"odd.{field}"
    assert declaration(source).name == "odd"
    assert declaration(source).key == "key"


def test_a_field_called_name_needs_no_detour():
    assert repr(Source("ship", key="name", name=str).name) == "ship.name"


def test_a_field_called_like_a_keyword_is_an_item():
    assert repr(Source("ship", key=None, fields={"class": str})["class"]) == "ship.class"


def test_the_kinds_of_fields():
    every = Source("every", key=None, a=str, b=int, c=float, d=bool, e=metres, f=position, g=dimensionless)
    kinds = [kind for _, kind in declaration(every).fields]
    assert kinds == [TEXT, NUMBER, NUMBER, TRUTH, metres.measure, POSITION, NUMBER]


def test_a_source_copies_and_pickles_by_declaration():
    for twin in (copy.copy(vessel), copy.deepcopy(vessel), pickle.loads(pickle.dumps(vessel))):
        assert declaration(twin) == declaration(vessel)
        assert repr(twin.draught) == "vessel.draught"


def test_an_equal_declaration_is_the_same_source():
    twin = pickle.loads(pickle.dumps(vessel))
    pack(lambda: require(twin.draught <= 5 * metres))


@pytest.mark.parametrize("wrong", ["drauht", "Draught", "nonsense", "_repr_html_"])
def test_an_unknown_field_is_an_attribute_error(wrong):
    with pytest.raises(UnknownField, match="expected a field of the source 'vessel'") as refused:
        getattr(vessel, wrong)
    assert isinstance(refused.value, AttributeError)
    assert not hasattr(vessel, wrong)


def test_a_close_field_is_suggested():
    with pytest.raises(UnknownField, match=r"did you mean vessel\.draught\?"):
        _ = vessel.drauht


def test_a_source_is_a_declaration_not_a_row():
    with pytest.raises(InvalidRule, match="assign"):
        vessel.draught = 3
    with pytest.raises(TypeError):
        list(vessel)  # type: ignore[call-overload]  # wrong on purpose
    assert repr(Source("tugs", key=None, available=int)) == "<source tugs by None: available>"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Source("two words", key=None),
        lambda: Source("", key=None),
        lambda: Source(7, key=None),  # type: ignore[arg-type]  # wrong on purpose
        lambda: Source("x", key="id"),
        lambda: Source("x", key="id", ident=str),
        lambda: Source("x", key="depth", depth=metres),
        lambda: Source("x", key="flag", flag=bool),
        lambda: Source("x", key=None, a="metres"),  # type: ignore[arg-type]  # wrong on purpose
        lambda: Source("x", key=None, a=list),  # type: ignore[arg-type]  # wrong on purpose
        lambda: Source("x", key=None, a=[]),  # type: ignore[arg-type]  # wrong on purpose
        lambda: Source("x", key=None, a=15 * metres),  # type: ignore[arg-type]  # wrong on purpose
        lambda: Source("x", key=None, fields={"two words": str}),
        lambda: Source("x", key=None, fields={"__class__": str}),
        lambda: Source("x", key=None, a=str, fields={"a": str}),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InvalidRule, match=r"^Source"):
        wrong()
