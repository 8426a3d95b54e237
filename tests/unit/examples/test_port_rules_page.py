"""The tables of rules in `RULES.md`."""

from __future__ import annotations

from dsl import RulePack, Source, location, require, when
from dsl.units import metres
from examples.port.rules_page import PAGE, packs, rewritten, rule_rows, rules_table


def test_the_page_says_what_the_packs_say():
    page = PAGE.read_text(encoding="utf-8")
    assert rewritten(page) == page, "run `python -m examples.port.rules_page`"


def test_there_are_at_least_40_rules_however_many_berths_there_are():
    names = {row.name for pack in packs().values() for row in rule_rows(pack.statements)}
    assert len(names) >= 40


def test_every_rule_that_cites_nothing_is_said_to_be_for_demonstration():
    assert "every figure without a reference, is ours, for demonstration" in PAGE.read_text(encoding="utf-8")


def test_rules_of_berths_are_one_row_with_the_figures_that_differ():
    vessel = Source("vessel", key="mmsi", mmsi=int, length=metres, beam=metres, destination=str)
    pack = RulePack("p", subject=vessel, location=vessel.destination)
    with pack:
        for berth, longest in (("a1", 100), ("b2", 100), ("c3", 80)):
            with location(berth), when((vessel.beam > 9 * metres) | (vessel.beam < 2 * metres)):
                require(vessel.length <= longest * metres, name=f"length at {berth}", because="x", reference="y")
    assert rules_table(pack).splitlines()[2:] == [
        '| length at ID | vessel.destination == "ID" and (vessel.beam > 9 m or vessel.beam < 2 m) |'
        " vessel.length <= 100 m; vessel.length <= 80 m at c3 | major | x | y |"
    ]
