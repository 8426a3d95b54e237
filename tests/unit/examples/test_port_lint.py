"""The port's own packs have no flaw that lint can prove; and lint finds one that is planted among them."""

from __future__ import annotations

import pytest

from dsl import location, require
from dsl.units import knots, metres
from examples.port.arrival_rules import arrival_rules
from examples.port.observations import vessel, wind
from examples.port.rotterdam import rotterdam_rules
from examples.port.rules import port_rules


@pytest.mark.parametrize("make", [lambda: port_rules(["red-hook"]), arrival_rules, rotterdam_rules])
def test_the_rules_of_a_port_have_no_flaws(make):
    assert make().lint() == ()


def test_a_flaw_planted_among_forty_rules_is_found():
    port = port_rules(["red-hook"])
    with port:
        require(wind.velocity <= 50 * knots, "needless")
        with location("red-hok"):
            require(vessel.length <= 100 * metres, "nowhere")
    found = port.lint(["red-hook"])
    assert [(each.kind, each.concerns) for each in found] == [
        ("subsumed", ("needless", "wind limit")),
        ("unknown location", ("nowhere",)),
    ]
