"""The right spelling of Python's own logic, found in the user's own line."""

from __future__ import annotations

import pytest

from dsl import NoTruthValue, not_
from dsl.units import metres
from tests.unit.dsl.harbour import tugs, vessel

deep, long, wide = vessel.draught > 9 * metres, vessel.length > 99 * metres, vessel.beam > 30 * metres
TANKERS = ("oil", "gas")
ALL, SIZES = [deep, long], [vessel.draught, vessel.beam]
NUMBER = "name the observation itself: it is compared, in its unit, when events come"


def fix_of(wrong) -> str:
    with pytest.raises(NoTruthValue) as refused:
        wrong()
    return str(refused.value).rpartition("fix: ")[2]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (lambda: deep and long, "deep & long"),
        (lambda: deep or long, "deep | long"),
        (lambda: not deep, "not_(deep)"),
        (lambda: deep and long and wide, "deep & long & wide"),
        (lambda: deep and (long or wide), "deep & (long | wide)"),
        (lambda: not (deep and long), "not_(deep & long)"),
        (lambda: not deep or long, "not_(deep) | long"),
        (
            lambda: 3 * metres < vessel.draught < 9 * metres,
            "(3 * metres < vessel.draught) & (vessel.draught < 9 * metres)",
        ),
        (
            lambda: 3 < tugs.available < 9 and deep,
            "(3 < tugs.available) & (tugs.available < 9) & deep",
        ),
        (
            lambda: vessel.vessel_type in ("oil", "gas"),
            "(vessel.vessel_type == 'oil') | (vessel.vessel_type == 'gas')",
        ),
        (
            lambda: vessel.vessel_type not in ["oil", "gas"],
            "not_((vessel.vessel_type == 'oil') | (vessel.vessel_type == 'gas'))",
        ),
        (
            lambda: vessel.vessel_type in TANKERS,
            "spell the choices out: (vessel.vessel_type == …) | (vessel.vessel_type == …)",
        ),
        (lambda: 1 if deep else 2, "with when(deep): … with otherwise(): …"),
        (lambda: 1 if deep and long else 2, "with when(deep & long): … with otherwise(): …"),
        (lambda: bool(deep), "combine conditions with &, | and not_(…), and use `with when(…):` for if"),
        (lambda: all([deep, long]), "deep & long"),
        (lambda: any((deep, not_(long))), "deep | not_(long)"),
        (
            lambda: all(each for each in (deep, long)),
            "functools.reduce(operator.and_, [each for each in (deep, long)])",
        ),
        (lambda: any(ALL), "functools.reduce(operator.or_, ALL)"),
        (lambda: max(vessel.draught, vessel.beam), "say it of each: (vessel.draught <= …) & (vessel.beam <= …)"),
        (lambda: min([vessel.draught, vessel.beam]), "say it of each: (vessel.draught <= …) & (vessel.beam <= …)"),
        (lambda: sorted(SIZES), "say it of each: (… <= …)"),
        (
            lambda: [n for n in (3, 4) if vessel.draught > n * metres],
            "for n in (3, 4): … with when(vessel.draught > n * metres): …",
        ),
        (lambda: {n for n in (3, 4) if deep and n}, "for n in (3, 4): … with when(deep & n): …"),
        (lambda: {n: n for n in (3, 4) if n if not deep}, "for n in (3, 4): … with when(not_(deep)): …"),
        (lambda: f"{'deep' if deep else 'shallow'}", "with when(deep): … with otherwise(): …"),
        (lambda: float(vessel.draught), NUMBER),
        (lambda: int(vessel.draught), NUMBER),
        (lambda: round(vessel.draught, 1), NUMBER),
        (lambda: f"{vessel.draught:.1f}", NUMBER),
    ],
)
def test_the_right_spelling_is_shown(wrong, right):
    assert fix_of(wrong) == right


def test_a_statement_asks_too():
    def wrong_if():
        if deep and not long:
            pass

    def wrong_while():
        while deep:
            pass

    def wrong_assert():
        assert deep

    assert fix_of(wrong_if) == "with when(deep & not_(long)):"
    assert fix_of(wrong_while) == "with when(deep):"
    assert fix_of(wrong_assert) == "require(deep)"


def test_a_match_asks_for_each_case():
    def wrong_match():
        match vessel.vessel_type:
            case "oil" | "gas":
                pass

    def wrong_guard():
        match 1:
            case 1 if deep and long:
                pass

    assert fix_of(wrong_match) == "with when((vessel.vessel_type == 'oil') | (vessel.vessel_type == 'gas')): …"
    assert fix_of(wrong_guard) == "with when(deep & long): …"


def test_the_text_of_an_observation_is_its_name():
    assert f"{vessel.draught} <= 15 m" == "vessel.draught <= 15 m"


@pytest.mark.parametrize(
    "wrong", [lambda: list(vessel.draught), lambda: [x for x in vessel.draught], lambda: len(deep), lambda: "x" in deep]
)
def test_there_is_nothing_to_loop_over(wrong):
    with pytest.raises(NoTruthValue, match="expected elements but got the term"):
        wrong()
