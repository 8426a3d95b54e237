"""Packs, verdicts and findings as a notebook shows them, and as text."""

from __future__ import annotations

import pytest

from cartesius import Event, Update
from cartesius.data.event_tables import events_html
from cartesius.drawing.markup import visible
from dsl import RulePack, Source, require, when
from dsl.units import centimetres, knots, metres
from tests.shown_html import HOSTILE, shown

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, destination=str)
berth = Source("berth", key="id", id=str, depth=metres)
wind = Source("wind", key=None, velocity=knots)


def harbour(because: str = "she must stay afloat", name: str = "clearance") -> RulePack:
    port = RulePack("port", subject=vessel, links=[berth.id == vessel.destination])
    with port:
        require(berth.depth - vessel.draught >= 50 * centimetres, name=name, because=because, severity="critical")
        require(wind.velocity <= 45 * knots, name="wind")
    return port


SHIP = {"mmsi": 7, "draught": 14.8, "destination": "A"}
SHALLOW, DEEP = {"id": "A", "depth": 15.0}, {"id": "A", "depth": 16.0}


def test_a_verdict_is_shown_with_every_reason_its_values_and_its_margin():
    verdict = harbour().check({"vessel": SHIP, "berth": SHALLOW, "wind": None})
    assert str(verdict) == "restricted (clearance; not decided: wind)"
    assert shown(verdict) == (
        "✗ 7: restricted requirement condition values margin severity because"
        " clearance fails berth.depth - vessel.draught >= 50 cm berth.depth is 15 m, vessel.draught is 14.8 m,"
        " berth.depth - vessel.draught is 20 cm, 50 cm -30 cm critical she must stay afloat"
        " wind not known: wind wind.velocity <= 45 kn wind.velocity is missing, 45 kn major"
    )


def test_the_status_has_a_sign_and_a_word():
    port = harbour()
    allowed = port.check({"vessel": SHIP, "berth": DEEP, "wind": {"velocity": 3}})
    unknown = port.check({"vessel": SHIP, "berth": DEEP, "wind": None})
    assert (str(allowed), shown(allowed)) == ("allowed", "✓ 7: allowed")
    assert (str(unknown), shown(unknown)[:10]) == ("unknown (not decided: wind)", "? 7: unkno")


def test_in_a_table_a_verdict_is_its_text():
    verdict = harbour().check({"vessel": SHIP, "berth": SHALLOW, "wind": {"velocity": 3}})
    assert shown(events_html([Event(Update(7, verdict), 3, 3)])) == "time key value 3 7 restricted (clearance)"


def test_a_pack_is_shown_as_its_sentences():
    port = harbour()
    text = shown(port)
    assert text.startswith(
        'The rules "port" for each vessel Everywhere 1. For every vessel: berth depth - draught must'
    )
    assert "Where the figures come from vessel: one row each, by mmsi" in text
    assert "table of verdicts" not in text


def test_descriptions_and_plans_print_as_before_and_are_shown_with_headings():
    port = harbour()
    for said in (port.describe(), port.explain()):
        assert isinstance(said, str)
        assert shown(said) == " ".join(said.split())
    assert port.describe().splitlines()[0] == 'The rules "port" for each vessel'


def test_a_finding_is_shown_as_it_prints():
    port = RulePack("port", subject=vessel)
    with port, when(vessel.draught >= 15 * metres):
        require(vessel.draught <= 12 * metres, name="shallow")
    (finding,) = port.lint()
    assert shown(finding) == " ".join(str(finding).split())


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_reasons_and_names_stay_text(text: str):
    port = harbour(because=text, name=text)
    verdict = port.check({"vessel": SHIP, "berth": SHALLOW, "wind": None})
    for value in (verdict, port, port.describe()):
        assert " ".join(visible(text).split()).rstrip(".") in shown(value)
    shown(port.explain())
