"""Descriptions: one sentence a requirement, complete in itself; every phrase has the truth of its term."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsl import (
    Reason,
    RulePack,
    Source,
    Verdict,
    against,
    another,
    between,
    choice,
    distance,
    instant,
    known,
    known_or,
    location,
    mean_of,
    named,
    nearest,
    not_,
    now,
    number_of,
    optional,
    otherwise,
    position,
    require,
    sum_of,
    throughout,
    when,
)  # fmt: skip
from dsl.english.naming import Names
from dsl.english.phrases import phrase
from dsl.english.sentences import COLUMNS, ENTRIES
from dsl.meaning.evaluation import Situation, compiled
from dsl.terms.negations import conjuncts, positive
from dsl.terms.statements import requirement_names
from dsl.units import centimetres, degrees, hours, knots, metres, minutes
from examples.port.rules import port_rules
from tests.unit.dsl.test_judges import compiled as compiled_pack
from tests.unit.dsl.test_judges import packs

vessel = Source(
    "vessel", key="mmsi",
    mmsi=int, draught=metres, length=metres, beam=metres, vessel_type=choice("tanker", "gas", "barge"), destination=str,
    eta=optional(instant), has_pilot=bool, position=position,
)  # fmt: skip
berth = Source("berth", key="id", id=str, depth=metres, position=position)
tide = Source("tide", key="sensor", sensor=str, height=metres)
wind = Source("wind", key=None, velocity=knots, gust=optional(knots), direction=degrees)
tugs = Source("tugs", key=None, available=int)
ukc = named("under-keel clearance", berth.depth + tide.height - vessel.draught)
GAUGES = {"a": (51.9, 4.1), "b": (51.95, 4.2)}


def pack(**options: Any) -> RulePack:
    links = [berth.id == vessel.destination, tide.sensor == nearest(GAUGES, berth.position)]
    return RulePack("harbour", subject=vessel, location=vessel.destination, links=links, **options)


def sentences(made: RulePack) -> list[str]:
    return re.findall(r"^  \d+\. (.*)$", made.describe(), re.MULTILINE)


def sentence_of(condition: Any) -> str:
    made = pack()
    with made:
        require(condition)
    [said] = sentences(made)
    return said.removeprefix("For every vessel: ").removesuffix(". (major)")


EXAMPLE = """\
The rules "harbour" for each vessel

Everywhere
  1. For every vessel: the wind velocity must be at most 45 kn. (wind; major; Port Regulations 4.1)
  2. For vessels whose length is at least 200 m: the wind velocity must be at most 35 kn. (minor)
  3. For vessels whose length is below 200 m, when the tugs available is below 2: the wind gust (or the wind velocity \
where that is unknown) must be at most 50 kn. (major)

Berth A
  4. For vessels bound for berth A whose draught is at least 15 m: the under-keel clearance must be at least 0.5 m, \
because the bottom is rock. (clearance at A; critical; Port Regulations 4.2)

What the names mean
  under-keel clearance: berth depth + tide height - draught

Where the figures come from
  vessel: one row each, by mmsi; draught (in m), length (in m), destination (text)
  berth: the row whose id is the destination; depth (in m), position (latitude and longitude)
  tide: the row whose sensor is the nearest of 2 places to the berth position; height (in m)
  wind: one row for every vessel; velocity (in kn), gust (in kn, optional)
  tugs: one row for every vessel; available (a number)

The columns of the table of verdicts
  subject: the key of the vessel that the verdict is about
"""


def test_a_whole_description():
    made = pack()
    with made:
        require(wind.velocity <= 45 * knots, "wind", reference="Port Regulations 4.1")
        with when(vessel.length >= 200 * metres):
            require(wind.velocity <= 35 * knots, severity="minor")
        with otherwise(), when(tugs.available < 2):
            require(known_or(wind.gust, wind.velocity) <= 50 * knots)
        with location("A"), when(vessel.draught >= 15 * metres):
            require(
                ukc >= 0.5 * metres,
                "clearance at A",
                because="the bottom is rock.",
                severity="critical",
                reference="Port Regulations 4.2",
            )
    assert made.describe().startswith(EXAMPLE)


def test_the_columns_are_those_of_a_verdict():
    described = pack().describe()
    assert {name for name, _ in COLUMNS} == {field.name for field in attrs.fields(Verdict)}
    assert {name for name, _ in ENTRIES} == {field.name for field in attrs.fields(Reason)}
    for name, _ in (*COLUMNS, *ENTRIES):
        assert f"  {name}: " in described


def test_a_pack_without_rules_says_so():
    assert "There are no requirements: every vessel is allowed." in pack().describe()


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (vessel.draught > 3 * metres, "the draught must be above 3 m"),
        (3 * metres > vessel.draught, "the draught must be below 3 m"),
        (vessel.draught <= berth.depth, "the draught must be at most the berth depth"),
        (vessel.draught != 3 * metres, "the draught must not be 3 m"),
        (not_(vessel.draught >= 3 * metres), "the draught must be below 3 m"),
        (vessel.vessel_type == "tanker", 'the vessel type must be "tanker"'),
        (not_(vessel.vessel_type == "tanker"), 'the vessel type must not be "tanker"'),
        ((vessel.vessel_type == "gas") | (vessel.vessel_type == "barge"), 'the vessel type must be "gas" or "barge"'),
        (
            not_((vessel.vessel_type == "gas") | (vessel.vessel_type == "barge")),
            'the vessel type must be neither "gas" nor "barge"',
        ),
        (
            (vessel.draught >= 3 * metres) & (vessel.draught < 9 * metres),
            "the draught must be at least 3 m and below 9 m",
        ),
        (
            (vessel.draught >= 3 * metres) & (vessel.length < 9 * metres),
            "the draught must be at least 3 m, and the length must be below 9 m",
        ),
        (
            not_((vessel.draught >= 3 * metres) & (vessel.length < 9 * metres)),
            "either the draught must be below 3 m or the length must be at least 9 m",
        ),
        (
            ((vessel.draught > 3 * metres) & vessel.has_pilot) | (vessel.length < 9 * metres) | known(vessel.eta),
            'either (the draught must be above 3 m, and "has pilot" must hold), the length must be below 9 m or '
            "the eta must be known",
        ),
        (between(wind.direction, 340 * degrees, 20 * degrees), "the wind direction must be from 340° clockwise to 20°"),
        (not_(between(vessel.draught, 3 * metres, 5 * metres)), "the draught must not be between 3 m and 5 m"),
        (known(vessel.eta), "the eta must be known"),
        (not_(known(vessel.eta)), "the eta must not be known"),
        (vessel.eta > now, "the eta must be after now"),
        (vessel.eta - now <= 24 * hours, "eta - now must be at most 24 h"),
        (vessel.has_pilot, '"has pilot" must hold'),
        (not_(vessel.has_pilot), '"has pilot" must not hold'),
        (
            distance(vessel.position, berth.position) <= 5 * metres,
            "the distance from the position to the berth position must be at most 5 m",
        ),
        (vessel.length * vessel.beam <= 5 * metres**2, "length \N{MULTIPLICATION SIGN} beam must be at most 5 m²"),
        (
            2 * (vessel.length - vessel.beam) - (berth.depth - tide.height) / 3 <= 9 * metres,
            "2 \N{MULTIPLICATION SIGN} (length - beam) - (berth depth - tide height) / 3 must be at most 9 m",
        ),
        (
            berth.depth - (tide.height - vessel.draught) <= 9 * metres,
            "berth depth - (tide height - draught) must be at most 9 m",
        ),
        (abs(tide.height - 1 * metres) <= 1 * metres, "the absolute value of (tide height - 1 m) must be at most 1 m"),
        (-tide.height <= 1 * metres, "-tide height must be at most 1 m"),
        (ukc >= 20 * centimetres, "the under-keel clearance must be at least 20 cm"),
        (named("the limit", 2 * vessel.beam) >= 20 * centimetres, "the limit must be at least 20 cm"),
        (
            vessel.has_pilot == (vessel.length > 3 * metres),
            "it must be true that vessel.has_pilot == (vessel.length > 3 m)",
        ),
    ],
)  # fmt: skip
def test_what_must_be_so(condition, said):
    assert sentence_of(condition) == said


def test_a_named_condition_holds_or_not():
    yacht = named("a yacht", vessel.length < 24 * metres)
    made = pack()
    with made:
        with when(yacht):
            require(not_(yacht) | vessel.has_pilot)
        with otherwise():
            require(yacht)
    assert sentences(made) == [
        'For every vessel, when "a yacht" holds: either "a yacht" must not hold or "has pilot" must hold. (major)',
        'For every vessel, when "a yacht" does not hold: "a yacht" must hold. (major)',
    ]
    assert "  a yacht: length is below 24 m" in made.describe()


def test_conditions_are_repeated_in_every_sentence():
    made = pack()
    with made, location("A"), when((vessel.draught >= 3 * metres) & (vessel.draught < 9 * metres)):
        with when(vessel.vessel_type != "barge"), when((tide.height > 1 * metres) | vessel.has_pilot):
            require(known(vessel.eta), "eta")
        require(vessel.length <= 90 * metres, "length")
    assert sentences(made) == [
        "For vessels bound for berth A whose draught is at least 3 m and below 9 m and whose vessel type is not "
        '"barge", when either the tide height is above 1 m or "has pilot" holds: the eta must be known. (eta; major)',
        "For vessels bound for berth A whose draught is at least 3 m and below 9 m: the length must be at most 90 m. "
        "(length; major)",
    ]


def test_who_is_considered_and_what_is_too_old():
    gauge = Source("gauge", key=None, height=metres, stale_after=90 * minutes)
    made = pack(only=known(vessel.eta) & (vessel.eta - now <= 24 * hours))
    with made:
        require(gauge.height >= 1 * metres)
    assert (
        "A vessel is considered unless it is known to be otherwise: the eta is known, and eta - now is at most 24 h."
    ) in made.describe()
    assert "  gauge: one row for every vessel, missing when older than 90 min; height (in m)" in made.describe()
    assert "eta (instant, optional)" in made.describe()


@pytest.mark.parametrize(
    ("field", "place", "said"),
    [
        ("destination", "north", "bound for north"),
        ("berth", "north", "at north"),
        ("home_basin", "north", "whose home basin is north"),
    ],
)
def test_a_location_is_called_by_the_field_that_says_it(field, place, said):
    boat = Source("fishing_boat", key="id", fields={"id": int, field: str, "length": metres})
    made = RulePack("p", subject=boat, location=boat[field])
    with made, location(place):
        require(boat.length <= 9 * metres)
    assert sentences(made) == [f"For fishing boats {said}: the length must be at most 9 m. (major)"]
    assert "\nNorth\n  1. " in made.describe()


def test_a_location_that_names_its_kind_is_not_named_twice():
    made = pack()
    with made, location("berth Z"):
        require(vessel.length <= 9 * metres)
    assert sentences(made) == ["For vessels bound for berth Z: the length must be at most 9 m. (major)"]
    assert "\nBerth Z\n" in made.describe()


def test_the_pack_of_new_york_reads_well():
    described = port_rules(["red-hook"]).describe()
    assert described.splitlines()[2:6] == [
        "Everywhere",
        "  1. For every vessel: the wind velocity must be at most 45 kn, because no ship moves or lies safely above "
        "45 kn. (wind limit; major)",
        "  2. For vessels whose length is at least 200 m: the wind velocity must be at most 35 kn, because her side "
        "catches the wind. (wind limit from 200 m; major)",
        "  3. For vessels whose length is at least 300 m: the wind velocity must be at most 30 kn, because tugs cannot "
        "hold her above it. (wind limit from 300 m; major)",
    ]


# ------------------------------------------------------------------------------------------ phrases tell the truth

values = st.one_of(st.none(), st.integers(-2, 2))
atoms = st.one_of(
    st.builds(
        lambda symbol, field, limit: getattr(vessel[field], symbol)(limit * metres),
        st.sampled_from(["__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"]),
        st.sampled_from(["draught", "length"]),
        st.integers(-2, 2),
    ),
    st.just(vessel.has_pilot),
    st.just(known(vessel.eta)),
    st.builds(lambda low: between(vessel.beam, low * metres, 2 * metres), st.integers(-2, 2)),
)
conditions = st.recursive(
    atoms, lambda inner: st.one_of(inner.map(not_), st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
                                   st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1])), max_leaves=6
)  # fmt: skip
rows = st.fixed_dictionaries(
    {
        "draught": values,
        "length": values,
        "beam": values,
        "eta": values,
        "has_pilot": st.sampled_from([None, True, False]),
    }
)


@given(conditions, rows)
def test_bringing_negations_inside_changes_no_truth(condition, row):
    def truth(term: Any) -> Any:
        answer = compiled(term, {"vessel": 0})(Situation([row]))
        return None if answer is None else bool(answer)

    expected = truth(condition.term)
    assert truth(positive(condition.term)) is expected
    parts = [truth(part) for part in conjuncts(condition.term)]
    assert (False if False in parts else None if None in parts else True) is expected


tug = Source("tug", key="id", id=int, power=int)
outlook = Source("outlook", key=None, level=int, forecast=True)
draught, kind = vessel.draught, vessel.vessel_type
OPEN = {
    "the draught must be (at least 3 m or at most 1 m) and at most 5 m": (
        ((draught >= 3 * metres) | (draught <= 1 * metres)) & (draught <= 5 * metres)
    ),
    'the vessel type must be (neither "gas" nor "barge") or "gas"': (
        ((kind != "gas") & (kind != "barge")) | (kind == "gas")
    ),
    "(number of tugs whose power is at least 5) + 2 must be at most 9": number_of(tug, where=tug.power >= 5) + 2 <= 9,
    "2 × ((number of tugs) + 2) must be at most 9": 2 * (number_of(tug) + 2) <= 9,  # noqa: RUF001 - as it is said
    "(outlook level predicted for the eta) + 2 must be at most 9": outlook.at(vessel.eta).level + 2 <= 9,
    "the draught must be at most 15 m": 15 * metres >= draught,
}  # fmt: skip


@pytest.mark.parametrize("said", OPEN)
def test_what_belongs_together_stands_in_parentheses(said):
    """Without them "and" and "or" on one level could be read either way, and so could what is added to a total."""
    assert phrase(OPEN[said].term, "must", Names("vessel")).text("must") == said


def test_fields_that_would_have_one_name_have_two():
    ship = Source("ship", key="mmsi", mmsi=int, wind_velocity=knots)
    made = RulePack("port", subject=ship)
    with made:
        require((ship.wind_velocity >= 3 * knots) & (wind.velocity <= 5 * knots), "wind")
    (said,) = sentences(made)
    assert "the ship wind velocity must be at least 3 kn, and the wind velocity must be at most 5 kn" in said


def test_a_condition_ends_where_its_sentence_does():
    """The depth was read as part of what holds throughout, or is not so; the two rules judge otherwise."""
    outlook = Source("outlook", key=None, height=metres, forecast=True)
    over = throughout(vessel.eta, vessel.eta + 2 * hours)
    high, deep = outlook.height >= 1 * metres, berth.depth >= 1 * metres
    said = []
    for guards in ([not_(over(high & deep))], [not_(over(high)), deep], [over(high & deep)], [over(high), deep]):
        made = pack()
        with made, ExitStack() as stack:
            for guard in guards:
                stack.enter_context(when(guard))
            require(vessel.length >= 3 * metres, "length")
        said += sentences(made)
    assert len({*said}) == len(said)
    assert "when (it is not so that throughout" in said[1]
    assert "at least 1 m), and the berth depth is at least 1 m: " in said[1]


def test_fields_and_names_that_mean_different_things_are_told_apart():
    gauge, tide_gauge = Source("tide", key=None, gauge_height=metres), Source("tide_gauge", key=None, height=metres)
    heavy = named("the draught", vessel.draught + 1 * metres)
    made = RulePack("port", subject=vessel)
    with made:
        require((gauge.gauge_height >= 3 * metres) & (tide_gauge.height >= 5 * metres), "two gauges")
        require((gauge.gauge_height >= 3 * metres) & (tide_gauge.height >= 3 * metres), "of one height")
        require((heavy <= 9 * metres) & (vessel.draught <= 8 * metres) & (vessel.length <= 8 * metres), "name")
        require(named("beam", vessel.beam) <= vessel.beam, "the same")
    assert [each.removeprefix("For every vessel: ").partition(". (")[0] for each in sentences(made)] == [
        "tide.gauge_height must be at least 3 m, and tide_gauge.height must be at least 5 m",
        "tide.gauge_height must be at least 3 m, and tide_gauge.height must be at least 3 m",
        'the "the draught" must be at most 9 m, vessel.draught must be at most 8 m, and the length must be at most 8 m',
        "the beam must be at most the beam",
    ]


tide_outlook = Source("tide", key=None, gauge_level=int, forecast=True).at(vessel.eta)
gauge_outlook = Source("tide_gauge", key=None, level=int, forecast=True).at(vessel.eta)
power, fleet = named("power", 2 * tug.power), named("number of Tugs", number_of(tug) + 1)
ALIKE = {
    "the value of a total": (sum_of(tug.power), sum_of(power)),
    "a field in a condition of a total": (
        number_of(tug, where=tug.power >= 5), number_of(tug, where=named("tug power", tug.power + 1) >= 5),
    ),
    "a total": (number_of(tug), fleet),
    "a prediction": (
        outlook.at(vessel.eta).level, named("outlook level predicted for the eta", 2 * outlook.at(vessel.eta).level),
    ),
    "another prediction": (tide_outlook.gauge_level, gauge_outlook.level),
    "a field": (vessel.draught, named("The Draught", vessel.draught * 2)),
    "another of the same name": (named("limit", vessel.draught), named("limit", vessel.length)),
    "a sum": (vessel.draught + vessel.length + vessel.beam, vessel.draught + named("length + beam", vessel.beam)),
    "a quantity": (vessel.draught + 15 * metres, vessel.draught + named("15 m", vessel.beam)),
}  # fmt: skip


@pytest.mark.parametrize("what", ALIKE)
def test_a_name_is_not_taken_for(what):
    """Packs that differ in which of two terms is limited are described differently, though both mention both."""

    def described(chosen):
        made = RulePack("port", subject=vessel)
        with made:
            for number, each in enumerate((*ALIKE[what], chosen)):
                require(each >= each * 0, str(number))
        return made.describe()

    assert described(ALIKE[what][0]) != described(ALIKE[what][1])
    assert what != "a field" or 'the "The Draught" must' in described(vessel.draught)  # capitals tell nobody apart


def test_every_name_is_explained_wherever_it_stands():
    outlook = Source("outlook", key=None, height=metres, forecast=True)
    crane = Source("crane", key="id", id=str, load=metres)
    vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, eta=instant, stop=optional(str))
    place = named("place of call", known_or(vessel.stop, "A"))
    made = RulePack(
        "port",
        subject=vessel,
        only=named("laden", vessel.draught >= 3 * metres),
        links=[crane.id == named("crane", place)],
    )
    with made:
        require(throughout(vessel.eta, named("soon", vessel.eta + 1 * hours))(
            named("above the keel", outlook.height - vessel.draught) >= 1 * metres
        ))  # fmt: skip
        require(sum_of(named("heft", 2 * berth.depth), where=named("deep", berth.depth >= 1 * metres)) >= 1 * metres)
        require(crane.load >= 1 * metres)
    explained = made.describe().partition("What the names mean\n")[2].partition("\n\n")[0]
    assert explained.splitlines() == [
        "  above the keel: outlook height - draught",
        "  soon: eta + 1 h",
        "  heft: 2 × berth depth",  # noqa: RUF001 - as it is said
        "  deep: berth depth is at least 1 m",
        "  crane: place of call",
        '  place of call: stop (or "A" where that is unknown)',
        "  laden: draught is at least 3 m",
    ]


@pytest.mark.parametrize("value", [True, False])
def test_a_truth_value_that_is_compared_is_said_as_the_field_itself(value):
    assert sentence_of(vessel.has_pilot == value) == sentence_of(vessel.has_pilot if value else not_(vessel.has_pilot))
    assert sentence_of(vessel.has_pilot != value) == sentence_of(not_(vessel.has_pilot) if value else vessel.has_pilot)


def test_a_reason_is_no_line_of_its_own():
    made = pack()
    with made:
        require(
            vessel.draught <= 3 * metres,
            "a\nb",
            because="it is deep.\n  2. For every vessel: nothing",
            reference="4\n1",
        )
    assert sentences(made) == [
        "For every vessel: the draught must be at most 3 m, because it is deep. 2. For every vessel: nothing. "
        "(a b; major; 4 1)"
    ]


def test_no_text_of_somebody_else_makes_a_line_and_a_blank_one_says_nothing():
    """A name, and the id of a place, could look like a rule of their own; a blank reason was said to be one."""

    def described(break_: str) -> str:
        made = RulePack(f"port{break_}all", subject=vessel, location=vessel.destination)
        deep = named(f"deep{break_}  9. For every vessel: nothing", vessel.draught * 2)
        with made, location(f"A{break_}  9. For every vessel: nothing"):
            require(deep >= 1 * metres, "a", because=" \n ", reference=" ")
            require(vessel.draught >= 1 * metres, " ")
        return made.describe()

    plain = described(" ").splitlines()
    assert plain[3].endswith("at least 1 m. (a; major)")
    assert plain[4].endswith("at least 1 m. (major)")
    for break_ in ("\n", "\r\n", "\u2028", "\x85"):
        assert len(described(break_).splitlines()) == len(plain), repr(break_)


@given(conditions)
def test_every_condition_has_words(condition):
    for form in ("is", "must"):
        said = phrase(condition.term, form, Names("vessel")).text(form)
        assert (" must " in said) == (form == "must")
        assert "vessel." not in said


# ---------------------------------------------------------------------------------------------------- forecasts


def test_predictions_and_spans_have_words():
    outlook = Source("outlook", key=None, velocity=knots, height=metres, forecast=True)
    made = pack()
    with made:
        require(outlook.at(vessel.eta).velocity <= 45 * knots)
        with when(not_(throughout(vessel.eta, vessel.eta + 2 * hours)(outlook.height >= 1 * metres))):
            require(throughout(vessel.eta, vessel.eta + 2 * hours)(not_(outlook.height < 1 * metres)))
    assert sentences(made) == [
        "For every vessel: the outlook velocity predicted for the eta must be at most 45 kn. (major)",
        "For every vessel, when it is not so that throughout the time from the eta to eta + 2 h, the outlook height is "
        "at least 1 m: throughout the time from the eta to eta + 2 h, the outlook height must be at least 1 m. (major)",
    ]
    assert "  outlook: one row for every vessel; velocity (in kn), height (in m)" in made.describe()


def test_totals_and_pairs_have_words():
    tug = Source("tug", key="id", id=int, power=metres, basin=str, free=bool)
    ship = Source("ship", key="id", id=int, basin=str, oily=bool, position=position)
    other = another(ship, "other")
    made = RulePack("basins", subject=ship)
    with made:
        require(number_of(tug) >= 3)
        require(number_of(tug, where=(tug.basin == ship.basin) & (tug.power >= 5 * metres) & tug.free) >= 2)
        require(sum_of(tug.power) >= mean_of(tug.power))
        require(number_of(other, where=other.basin == ship.basin) <= 3)
        with when(ship.basin != "north"), against(other, where=other.basin == ship.basin):
            require(not_(other.oily), "one")
        with against(other):
            require(distance(ship.position, other.position) >= 50 * metres)
    assert sentences(made) == [
        "For every ship: the number of tugs must be at least 3. (major)",
        "For every ship: the number of tugs whose basin is the ship basin, whose power is at least 5 m and for which "
        '"tug free" holds must be at least 2. (major)',
        "For every ship: the total power of the tugs must be at least the mean power of the tugs. (major)",
        "For every ship: the number of other ships whose basin is the ship basin must be at most 3. (major)",
        'For ships whose basin is not "north", and each other one (the other), when the other\'s basin is the basin: '
        '"the other\'s oily" must not hold. (one; major)',
        "For every ship and each other one (the other): the distance from the position to the other's position must be "
        "at least 50 m. (major)",
    ]
    assert "  tug: all rows; power (in m), basin (text), free (yes or no)" in made.describe()
    assert "  ship: one row each, by id; basin (text), oily (yes or no), position (latitude" in made.describe()


def test_a_location_may_be_computed():
    boat = Source("boat", key="id", id=int, length=metres, position=position)
    made = RulePack("p", subject=boat, location=nearest(GAUGES, boat.position))
    with made, location("a"):
        require(boat.length <= 9 * metres)
    assert sentences(made) == [
        "For boats for which the nearest of 2 places to the position is a: the length must be at most 9 m. (major)"
    ]


@given(packs)
def test_one_sentence_for_each_requirement(program):
    made = compiled_pack(program)
    names = requirement_names(made.statements)
    said = sentences(made)
    assert sorted(re.search(r"\((r\d+); major\)$", each)[1] for each in said) == sorted(names)  # type: ignore[index]  # each sentence ends so
    assert all(re.match(r"For (every a|as)\b", each) for each in said)
