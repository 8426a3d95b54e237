"""Rules as text: what each form of sentence and declaration means."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from typing import Any

import pytest

from dsl import (
    InvalidRule,
    RulePack,
    Source,
    against,
    another,
    between,
    choice,
    distance,
    greatest_of,
    instant,
    known,
    known_or,
    least_of,
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
    units,
    when,
)
from dsl.units import centimetres, degrees, hours, knots, metres

HARBOUR = """
# What is observed
pack: port
subject: vessel
location: destination

source vessel by mmsi:
    mmsi: number
    draught: metres
    vessel type: one of "tanker", "container"
    destination: text
    eta: instant, optional
    position: position
    has pilot: yes or no

source berth by id:
    id: text
    depth: metres
    position: position

source tide by sensor:
    sensor: text
    height: cm

source wind:
    velocity: knots
    direction: degrees
    gust: knots, optional

source tug by id:
    id: number
    basin: text
    available: yes or no
    pull: t

source other is another vessel

source swell, forecast, kept for 2 h:
    height: metres

places gauge:
    "north": 51.9, 4.1
    "south": 51.8, 4.2

links:
    berth id is destination
    tide sensor is nearest gauge to berth position

define under-keel clearance: berth depth + tide height - draught
"""

vessel = Source(
    "vessel",
    key="mmsi",
    mmsi=int,
    draught=metres,
    vessel_type=choice("tanker", "container"),
    destination=str,
    eta=optional(instant),
    position=position,
    has_pilot=bool,
)
berth = Source("berth", key="id", id=str, depth=metres, position=position)
tide = Source("tide", key="sensor", sensor=str, height=centimetres)
wind = Source("wind", key=None, velocity=knots, direction=degrees, gust=optional(knots))
tug = Source("tug", key="id", id=int, basin=str, available=bool, pull=units.tonnes)
other = another(vessel, "other")
swell = Source("swell", key=None, height=metres, forecast=True, retention=2 * hours)
ukc = named("under-keel clearance", berth.depth + tide.height - vessel.draught)
GAUGES = {"north": (51.9, 4.1), "south": (51.8, 4.2)}


def empty_pack(name: str = "port") -> RulePack:
    links = [berth.id == vessel.destination, tide.sensor == nearest(GAUGES, berth.position)]
    return RulePack(name, subject=vessel, location=vessel.destination, links=links)


def read(rules: str) -> Any:
    return RulePack.from_text(HARBOUR + rules, "harbour.rules")


def parts_of(pack: RulePack) -> tuple[Any, ...]:
    """All that makes a pack what it is."""
    return pack.name, pack._subject, pack._place, pack._only, pack._links, pack._used, pack.statements


# ------------------------------------------------------------------------------------ what the sentences of a text mean

SENTENCES = [
    ("draught must be at least 15 m", lambda: vessel.draught >= 15 * metres),
    ("draught must be at most 15.5 metres", lambda: vessel.draught <= 15.5 * metres),
    ("draught must be above 150 cm", lambda: vessel.draught > 150 * centimetres),
    ("vessel draught must be below 1 nautical mile", lambda: vessel.draught < 1 * units.nautical_miles),
    ("vessel type must be \"tanker\"", lambda: vessel.vessel_type == "tanker"),
    ("vessel type must not be \"tanker\"", lambda: vessel.vessel_type != "tanker"),
    ("has pilot must be true", lambda: vessel.has_pilot == True),  # noqa: E712 - as a rule may be written
    ("wind direction must be between 340° and 20°", lambda: between(wind.direction, 340 * degrees, 20 * degrees)),
    ("eta must be known", lambda: known(vessel.eta)),
    ("eta - now must be at most 2 hours", lambda: vessel.eta - now <= 2 * hours),
    ("eta must be below 2026-05-01 14:30Z", lambda: vessel.eta < datetime(2026, 5, 1, 14, 30, tzinfo=UTC)),
    ("(wind gust if known else wind velocity) must be at most 40 kn",
     lambda: known_or(wind.gust, wind.velocity) <= 40 * knots),
    ("it must hold that has pilot", lambda: vessel.has_pilot),
    ("it must hold that not has pilot", lambda: not_(vessel.has_pilot)),
    ("it must hold that has pilot and draught is below 9 m and wind velocity is not 3 kn",
     lambda: vessel.has_pilot & (vessel.draught < 9 * metres) & (wind.velocity != 3 * knots)),
    ("it must hold that has pilot or (draught is below 9 m and not has pilot)",
     lambda: vessel.has_pilot | ((vessel.draught < 9 * metres) & not_(vessel.has_pilot))),
    ("distance from position to berth position must be at most 5 km",
     lambda: distance(vessel.position, berth.position) <= 5 * units.kilometres),
    ("absolute value of (tide height - 2 m) must be below 30 cm",
     lambda: abs(tide.height - 2 * metres) < 30 * centimetres),
    ("under-keel clearance must be at least 0.5 m", lambda: ukc >= 0.5 * metres),
    ("swell height predicted for eta must be below 2 m", lambda: swell.at(vessel.eta).height < 2 * metres),
    ("swell height must be below 2 m throughout eta to eta + 3 h",
     lambda: throughout(vessel.eta, vessel.eta + 3 * hours)(swell.height < 2 * metres)),
    ("it must hold that has pilot or (swell height is below 2 m and has pilot) throughout eta to eta + 3 h",
     lambda: vessel.has_pilot
     | throughout(vessel.eta, vessel.eta + 3 * hours)((swell.height < 2 * metres) & vessel.has_pilot)),
    ("number of tug must be at least 2", lambda: number_of(tug) >= 2),
    ("(number of tug where tug basin is destination and tug available and tug pull is above 30 t) must be at least 2",
     lambda: number_of(
         tug, where=(tug.basin == vessel.destination) & tug.available & (tug.pull > 30 * units.tonnes)) >= 2),
    ("sum of tug pull + (greatest of tug pull where tug available) must be at least 90 t",
     lambda: sum_of(tug.pull) + greatest_of(tug.pull, where=tug.available) >= 90 * units.tonnes),
    ("least of tug pull must be below mean of (2 * tug pull)", lambda: least_of(tug.pull) < mean_of(2 * tug.pull)),
    ("(number of other where other vessel type is \"tanker\") must be 0",
     lambda: number_of(other, where=other.vessel_type == "tanker") == 0),
    ("2 * draught / 3 - -1 m must be at least -(5 m)", lambda: 2 * vessel.draught / 3 - -1 * metres >= -(5 * metres)),
    ("draught / 2 h must be below 3 m/s",
     lambda: vessel.draught / (2 * hours) < 3 * units.metres_per_second),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "condition"), SENTENCES, ids=[sentence for sentence, _ in SENTENCES])
def test_a_sentence_requires_what_it_says(sentence: str, condition: Any):
    pack = empty_pack()
    with pack:
        require(condition())
    assert read(sentence).statements == pack.statements


@pytest.mark.parametrize(("sentence", "_"), SENTENCES, ids=[sentence for sentence, _ in SENTENCES])
def test_a_sentence_is_printed_so_that_it_means_the_same(sentence: str, _: Any):
    pack = read(sentence)
    again = RulePack.from_text(pack.to_text())
    assert parts_of(again) == parts_of(pack)
    assert again.to_text() == pack.to_text()


def test_the_sentence_of_the_issue():
    sentence = "at berth A, when draught is at least 15 m: berth depth + tide height - draught must be at least 0.5 m"
    pack = empty_pack()
    with pack, location("berth A"), when(vessel.draught >= 15 * metres):
        require(berth.depth + tide.height - vessel.draught >= 0.5 * metres)
    assert read(sentence).statements == pack.statements
    assert pack.to_text().splitlines()[-1] == sentence


def test_a_requirement_has_a_name_a_reason_a_severity_and_a_reference():
    pack = empty_pack()
    with pack:
        require(
            vessel.draught <= 15 * metres,
            "deep: too deep # for us",
            "the sill is at 15.5 m",
            severity="critical",
            reference="Port Regulations 4.2",
        )
    text = """
draught must be at most 15 m
    name: deep: too deep # for us
    because: the sill is at 15.5 m
    severity: critical
    reference: Port Regulations 4.2
"""
    assert read(text).statements == pack.statements
    assert text in pack.to_text()


def test_blocks_nest_and_otherwise_is_the_opposite():
    pack = empty_pack()
    with pack:
        with location("A"):
            with when(vessel.has_pilot):
                require(vessel.draught <= 15 * metres)
                require(vessel.draught >= 1 * metres)
            with otherwise(), when(vessel.vessel_type == "tanker"):
                require(vessel.draught <= 9 * metres)
            require(vessel.draught <= 20 * metres)
        with location("berth 7"):
            pass
    text = """
at A:
    when has pilot:
        draught must be at most 15 m
        draught must be at least 1 m
    otherwise, when vessel type is "tanker": draught must be at most 9 m
    draught must be at most 20 m

at "berth 7": nothing
"""
    assert read(text).statements == pack.statements
    assert pack.to_text().endswith(text)


def test_rules_about_pairs_nest_with_conditions():
    pack = empty_pack()
    with pack:
        with against(other, where=other.destination == vessel.destination), when(vessel.has_pilot):
            require(distance(vessel.position, other.position) >= 500 * metres, name="passing distance")
        with against(other):
            require(vessel.draught <= 9 * metres)
            require(other.draught <= 9 * metres)
    text = """
for every other where other destination is destination, when has pilot: distance from position to other position \\
must be at least 500 m
    name: passing distance

for every other:
    draught must be at most 9 m
    other draught must be at most 9 m
""".replace("\\\n", "")
    assert read(text).statements == pack.statements
    assert pack.to_text().endswith(text)
    assert parts_of(RulePack.from_text(pack.to_text())) == parts_of(pack)


def test_comments_and_blank_lines_are_of_no_account():
    text = """
when has pilot:   # aboard
# not indented

        # indented
    draught must be at most 15 m   # deep

      # more
    draught must be at least 1 m
"""
    assert len(read(text).statements[0].body) == 2


def test_windows_line_ends_are_line_ends():
    assert read("draught must be at most 15 m\n    name: deep\n".replace("\n", "\r\n")).statements[0].name == "deep"


def test_a_pack_from_text_judges_like_one_in_python():
    pack = read("at A, when draught is at least 15 m: under-keel clearance must be at least 0.5 m")
    rows: dict[str, Any] = {
        "vessel": {"mmsi": 1, "draught": 15.5, "destination": "A"},
        "berth": {"depth": 15},
        "tide": {"height": 80},
    }
    assert pack.check(rows).status == "restricted"
    assert pack.check({**rows, "tide": {"height": 100}}).status == "allowed"
    assert pack.check({**rows, "tide": None}).status == "unknown"


def test_declarations_in_any_order_say_the_same():
    lines = HARBOUR.strip().split("\n\n")
    shuffled = "\n\n".join([lines[-1], lines[-2], *reversed(lines[:-2])]) + "\n"
    rule = "under-keel clearance must be at least 1 m\n"
    first, second = RulePack.from_text(HARBOUR + rule), RulePack.from_text(rule + shuffled)
    assert parts_of(first) == parts_of(second)


def test_an_ambiguous_name_is_refused_and_backticks_say_which():
    text = """
pack: p
subject: ship
source ship by id:
    id: number
    wind speed: knots
source wind:
    speed: knots
{} must be below 3 kn
"""
    with pytest.raises(InvalidRule, match=r"wind speed: expected a name with one meaning but it has 2"):
        RulePack.from_text(text.format("wind speed"))
    pack = RulePack.from_text(text.format("`wind.speed`"))
    assert "\n`wind.speed` must be below 3 kn" in pack.to_text()
    both = text.format("ship wind speed") + "`wind.speed` must be below 3 kn\n"
    lines = RulePack.from_text(both).to_text().splitlines()
    assert lines[-2:] == ["ship wind speed must be below 3 kn", "`wind.speed` must be below 3 kn"]


BLANKS = ("\u00a0", "\u202f", "\u3000", "\u200b", "\u2060", "\u00ad", "\u000b")


@pytest.mark.parametrize("sentence", ["draught must be at most 15{}m", "{}draught must be at{}most 15 m", "gust{}"])
@pytest.mark.parametrize("blank", BLANKS, ids=ascii)
def test_a_character_that_cannot_be_seen_is_called_by_its_name(sentence: str, blank: str):
    """As word processors write them; what cannot be seen stood in quotes, and another fault was supposed."""
    with pytest.raises(InvalidRule) as refused:
        read(sentence.replace("{}", blank))
    said = str(refused.value)
    assert said.split(" but got ")[1].splitlines()[0] == unicodedata.name(blank, ascii(blank)).lower()
    assert said.endswith("fix: write a plain space, or nothing, for this character, which cannot be seen")


@pytest.mark.parametrize(
    ("sentence", "fix"),
    [
        *((f"eta must be at most 2026-05-01{end}", "write an instant as 2026-05-01 14:30Z, in UTC")
          for end in (" 14:30", "T14:30Z", " 14:30+02:00", " 14:30 UTC", "T14:30:00.5+02:00", "  14 h")),
        *((f"{rule}.{end}", "leave out the full stop: the end of the line ends a sentence") for end in ("", " # so")
          for rule in ("draught must be at most 15 m", "when has pilot: has pilot must be true")),
    ],
)  # fmt: skip
def test_what_is_written_so_elsewhere_is_told_how_it_is_written_here(sentence: str, fix: str):
    with pytest.raises(InvalidRule) as refused:
        read(sentence)
    assert str(refused.value).endswith(f"fix: {fix}")


@pytest.mark.parametrize("name", ["class", "None", "is", "x", "söüß"])
def test_a_field_declared_in_backticks_is_found_in_backticks(name):
    """Alone where it is the subject's; of another source, behind the source's name and a dot."""
    text = f"pack: p\nsubject: v\nsource v by id:\n    id: number\n    `{name}`: m\n`{name}` must be at least 5 m\n"
    pack = RulePack.from_text(text)
    assert pack.check({"v": {"id": 1, name: 4.0}}).status == "restricted"
    assert RulePack.from_text(text.replace(f"`{name}` must", f"`v.{name}` must")).statements == pack.statements
    assert RulePack.from_text(pack.to_text()).statements == pack.statements


ODD_PLACES = (
    "Ä 7", "7 Ä", "北岸 1", "हिन्दी घाट", "ไทย ท่า", "A\u0308 O\u0308", "Quai de l'Île", "A\\B", "Pier (old)", "“Ä Ö”",
    "'Ä Ö'", "`Ä Ö`", 'the "Ä Ö"', "Ä.Ö", "🚢", "٣ x", "A/B",
)  # fmt: skip


@pytest.mark.parametrize("written", ODD_PLACES)
@pytest.mark.parametrize("sentence", ["at {}: {}", "when draught is above 1 m, at {}: {}"])
def test_a_place_that_is_no_plain_words_is_told_how_it_is_written_and_is_judged_then(written: str, sentence: str):
    """Scripts whose letters carry signs, and what some systems make of an umlaut, are no words of the grammar."""
    with pytest.raises(InvalidRule) as refused:
        read(sentence.format(written, "draught must be at most 5 m"))
    right = str(refused.value).partition("fix: write a place that is no plain words in quotes: at ")[2]
    pack = read(sentence.format(right, "draught must be at most 5 m"))
    assert RulePack.from_text(pack.to_text()).to_text() == pack.to_text()
    place = "".join(each for each in written if each not in '“”`"').strip("'")
    for destination, status in ((place, "restricted"), (f"{place}x", "allowed")):
        row = {"mmsi": 1, "draught": 9.0, "destination": destination}
        assert pack.check({"vessel": row}).status == status


def test_a_name_with_a_sign_that_words_have_not_is_sent_into_backticks():
    with pytest.raises(InvalidRule, match=r"fix: write a name with this sign in backticks$"):
        read("गहराई must be at most 5 m")


@pytest.mark.parametrize("sentence", ["at A when draught is above 1 m: nothing", "at A", "at A and B: nothing", "at :"])
def test_a_place_is_not_blamed_for_what_comes_after_it(sentence: str):
    with pytest.raises(InvalidRule) as refused:
        read(sentence)
    assert "in quotes: at" not in str(refused.value)
