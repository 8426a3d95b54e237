"""The questions of the office's page, now and at any moment, its stream, and the page itself in a real browser."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import Future
from contextlib import closing
from functools import partialmethod
from itertools import count
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from cartesius.connectors import kafka
from cartesius.pages import local_pages
from cartesius.pages.local_pages import application, listening
from dsl import RulePack
from examples.port.__main__ import main
from examples.port.inputs import read_day
from examples.port.office import alerts_command
from examples.port.office.board import Board, NotUnderstood, page_of
from examples.port.office.databases import StoreLost, UnusableStore
from examples.port.office.figures import Figures
from examples.port.office.following import QUIET_S, Following
from examples.port.office.foreseen import OTHER_SHIPS, Foresight, Next
from examples.port.office.judging import Links, seen_of
from examples.port.office.records import GONE, KEYS, Batch, Change, Seen, change_of, noted
from examples.port.office.replay import ONE_DAY, Replay
from examples.port.office.store import Store
from examples.port.office.views import iso
from examples.port.programs import rule_pack
from tests.browsers import served
from tests.unit.examples.conftest import AIS, DATA

if TYPE_CHECKING:
    from playwright.sync_api import Browser

GUNVOR = 220413000
HOSTILE = "</script><img src=x onerror=boom()><b onclick=boom()>EVA\u202e&lt;"
HOUR = 3_600_000_000
RULES = (Path(__file__).resolve().parents[3] / "examples/rules/new_york.rules").read_text(encoding="utf-8")
PAIRS_TOTALS_AND_STALE_ROWS = (
    RULES.replace("places tide", "source other is another vessel\n\nplaces tide").replace(
        "source wind by station:", "source wind by station, stale after 30 min:"
    )
    + "for every other where other mmsi is 211839000: distance from position to other position must be at least 99 km\n"
    + "greatest of tide height must be at most 0.1 m\n"
    + "it must hold that wind velocity is at least 0 kn and tide height is at most 0.1 m\n"
)


@pytest.fixture(scope="module")
def day_and_rules():
    day = read_day(DATA)
    some = {GUNVOR, 338531000, 219947000, 636016796, 211839000}
    day = attrs.evolve(day, readings=tuple(each for each in day.readings if each.values.get("mmsi") in {None, *some}))
    return day, rule_pack("port", day.berths, day.gauges, day.stations)


class Hands:
    """Clocks that a test moves: of the replay in seconds, of the wall in microseconds."""

    now = 0.0
    wall = 0

    def __call__(self) -> float:
        return self.now


class Office:
    """A store, its replay, and who follows it, all in one thread."""

    def __init__(self, day: Any, rules: Any, begin: int) -> None:
        self.day, self.rules, self.hands = day, rules, Hands()
        self.store = Store(":memory:")
        self.replay = Replay(day, rules, self.store, begin=day.start + begin, speed=3600.0, clock=self.hands)
        self.replay.step()
        self.following = Following(self.store, day, lambda: self.hands.wall)
        self.foresight = Foresight(day)
        self.board = Board(self.store, self.following, day, self.foresight)

    def to(self, hours: float) -> None:
        self.hands.now = hours - (self.replay._now - self.day.start) / HOUR + self.hands.now
        self.replay.step()
        self.following.look()


@pytest.fixture
def office(day_and_rules):
    day, rules = day_and_rules
    return Office(day, rules, begin=3 * HOUR)


@pytest.fixture(scope="module")
def still_office(day_and_rules):
    """The same for all who move no clock of it, and write nothing."""
    day, rules = day_and_rules
    return Office(day, rules, begin=3 * HOUR)


def by_mmsi(answer):
    return {each["mmsi"]: each for each in answer["ships"]}


def test_the_board_says_of_each_ship_what_is_judged_why_and_how_old_it_is(still_office):
    answer = still_office.board.board({"at": None})
    gunvor = by_mmsi(answer)[GUNVOR]
    assert (gunvor["status"], gunvor["berth"], gunvor["heads_for"]) == ("restricted", "elizabeth-east", None)
    (failed,) = gunvor["failed"]
    assert failed["rule"] == "clearance at elizabeth-east"
    assert failed["limit"] == "50 cm"
    assert float(failed["value"].removesuffix(" cm")) - 50 == pytest.approx(
        float(failed["margin"].removesuffix(" cm")), abs=0.1
    )
    assert gunvor["since"] == "2020-06-30T01:54:00Z"
    assert gunvor["age_s"] > 2 * 3600  # ships report in the first hour alone, and it is said
    assert {each["source"]: each["stale"] for each in answer["sources"]} == {
        "berth": False, "stream": False, "tide": False, "vessel": True, "wind": False,
    }  # fmt: skip
    berth = next(each for each in answer["berths"] if each["id"] == "elizabeth-east")
    assert GUNVOR in berth["lies"]
    assert [each["ships"] for each in answer["rules"] if each["name"] == "clearance at elizabeth-east"] == [[GUNVOR]]
    assert answer["pack"]["version"] == gunvor["pack"] == still_office.following.packs()[0].version


def test_any_moment_before_has_its_verdicts_and_reasons(still_office):
    before = still_office.board.board({"at": "2020-06-30T01:53:59Z"})
    assert by_mmsi(before)[GUNVOR]["status"] == "allowed"
    assert by_mmsi(before)[GUNVOR]["failed"] == []
    assert (before["clock"]["now"], before["clock"]["live"]) == ("2020-06-30T01:53:59Z", False)
    assert by_mmsi(still_office.board.board({"at": "2020-06-30T01:54:00Z"}))[GUNVOR]["status"] == "restricted"
    now = still_office.board.board({"at": None})
    again = still_office.board.board({"at": now["clock"]["now"]})
    same = ("status", "since", "failed", "missing", "seen", "age_s", "berth", "lon", "pack")
    assert [[each[name] for name in same] for each in now["ships"]] == [
        [each[name] for name in same] for each in again["ships"]
    ]


def accounted(day, rules, mmsi, at):
    """The verdict by which `why` answers, and the newest readings that it is made from."""
    newest = {
        (each.source, str(each.values[KEYS[each.source]])): each for each in day.readings if (each.time or 0) <= at
    }
    readings = [each for each in newest.values() if each.source in rules.sources]
    rows = [(rules.sources[each.source], each.values, each.time or day.start) for each in readings]
    verdict = rules.account(sorted(rows, key=lambda row: row[2]), mmsi, at).verdict
    store = Store(":memory:")
    store.apply(Batch("made", 1, at, (), [seen_of(each) for each in newest.values()]))
    return change_of(at, "", verdict, {}), {(each.source, each.key): each for each in store.rows_at(at)}


def test_value_and_margin_are_those_of_the_moment_shown_as_why_has_them(office):
    """They were those of the last change, and too good: since then the tide had gone on falling."""
    values = set()
    for hours in (3.1, 3.3):
        office.to(hours)
        (change, _), at = accounted(office.day, office.rules, GUNVOR, office.following.now), office.following.now
        (expected,) = map(attrs.asdict, change.failed)
        told = [json.loads(each.data) for each in office.following.after(None) if each.event == "ship"]
        (live,) = [each for each in told if each["mmsi"] == GUNVOR]
        past = by_mmsi(office.board.board({"at": iso(at)}))[GUNVOR]
        story = office.board.ship({"mmsi": GUNVOR, "at": iso(at)})["ship"]
        for shown in (live, past, story, by_mmsi(office.board.board({"at": None}))[GUNVOR]):
            assert shown["failed"] == [expected]
        values.add(expected["value"])
    assert len(values) == 2
    assert len(office.store.changes_of(GUNVOR, at)) == 2  # her verdict has changed at 01:54 last


def test_figures_are_those_of_why_also_of_pairs_totals_and_rows_that_are_too_old(day_and_rules):
    day, rules = day_and_rules[0], RulePack.from_text(PAIRS_TOTALS_AND_STALE_ROWS)
    figures, pack = Figures(day), noted(rules, day.start, 0, "eva")
    for at in (day.start + 5 * HOUR // 2, day.start + 3 * HOUR):
        change, rows = accounted(day, rules, GUNVOR, at)
        assert len(change.failed) == 4
        assert ("wind velocity not known" in change.failed[-1].value) == (at < day.start + 3 * HOUR)
        before = tuple(attrs.evolve(each, value="before", margin="before") for each in change.failed)
        assert figures.failed(attrs.evolve(change, failed=before), rows, pack, at) == change.failed


def shown_and_due(office):
    """What the board shows of a ship that fails, now and of the same moment as one that is past, and what is due."""
    at = office.following.now
    shown = [by_mmsi(office.board.board({"at": each}))[GUNVOR]["failed"] for each in (None, iso(at))]
    due = [attrs.asdict(each) for each in accounted(office.day, office.rules, GUNVOR, at)[0].failed]
    assert due
    return shown, [due, due]


def test_what_counts_for_a_ship_is_nearest_of_the_places_that_the_rules_list(day_and_rules):
    """A rules file may leave out a broken gauge, or an airport; the board went on with its rows."""
    day, left_out = day_and_rules[0], ('    "8519483": 40.63911, -74.14631\n', '    "EWR": 40.6925, -74.1687\n')
    rules = RulePack.from_text(RULES.replace(left_out[0], "").replace(left_out[1], ""))
    office: Any = Office(day, rules, begin=3 * HOUR)
    shown, due = shown_and_due(office)
    assert shown == due
    told = office.board.ship({"mmsi": GUNVOR, "at": None})
    read = office.store.changes_of(GUNVOR, office.following.now)[-1].read
    assert (read["tide"][0], read["wind"][0]) == ("8518750", "LGA")
    after = (office.following.now - day.start) / HOUR
    while office.store.changes_of(GUNVOR, office.following.now)[-1].time < office.following.now:
        office.to(after := after + 0.1)  # tides are foretold for every sixth minute
    assert told["next"]["at"] == iso(office.following.now)
    windy = RulePack.from_text(rules.to_text() + "wind velocity must be at most 1 kn\n")
    at, figures, pack = day.start + 5 * HOUR, Figures(day), noted(windy, day.start, 0, "eva")
    change, rows = accounted(day, windy, 211839000, at)
    assert "wind" in change.failed[-1].rule
    before = tuple(attrs.evolve(each, value="before", margin="before") for each in change.failed)
    assert figures.failed(attrs.evolve(change, failed=before), rows, pack, at) == change.failed


def test_a_reading_that_comes_after_a_newer_one_of_its_row_changes_no_figure(office):
    shown, due = shown_and_due(office)
    assert shown == due
    at = office.following.now
    older = [seen_of(each) for each in office.day.readings if (each.time or 0) < at - HOUR // 2]
    office.store.apply(Batch("replay", 10**6, at, (), older))
    office.following.look()
    assert shown_and_due(office) == (shown, due)


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("source wind by station:", "now - 2020-06-30 00:00Z must be at most 5 min"),
        (
            "source wind by station, stale after 31 min:",
            "it must hold that wind velocity is at least 0 kn and tide height is at most 0.1 m",
        ),
    ],
)
def test_figures_go_on_with_the_time_where_rules_read_it_or_rows_grow_too_old(source, rule, day_and_rules):
    """They stood still until a row came that counts for the ship."""
    rules = RulePack.from_text(RULES.replace("source wind by station:", source) + rule)
    office = Office(day_and_rules[0], rules, begin=int(2.51 * HOUR))
    shown, before = shown_and_due(office)
    assert shown == before
    office.to(2.53)  # the last tide is of 02:30, the wind of 02:00
    shown, due = shown_and_due(office)
    assert shown == due != before
    assert office.following.look() is False


def test_a_ship_has_her_verdicts_so_far_her_day_and_the_next_change_that_is_foreseen(office):
    answer = office.board.ship({"mmsi": GUNVOR, "at": None})
    assert [(each["time"][11:16], each["status"]) for each in answer["changes"]][-1] == ("01:54", "restricted")
    read = {each["source"]: each["age_s"] for each in answer["changes"][-1]["read"]}
    assert read["tide"] == 0
    assert read["vessel"] > 3000
    assert answer["next"] == {
        "at": "2020-06-30T03:36:00Z", "status": "allowed", "rule": "clearance at elizabeth-east",
        "why": "holds from then on",
    }  # fmt: skip
    assert answer["day"]["berth"] == "elizabeth-east"
    assert len(answer["day"]["times"]) == len(answer["day"]["clearance"]) == 240
    assert answer["day"]["windows"]
    office.to(3.7)
    assert by_mmsi(office.board.board({"at": None}))[GUNVOR]["status"] == "allowed"  # what was foreseen has come
    assert office.store.changes_of(GUNVOR, office.day.start + ONE_DAY)[-1].time == office.day.start + 216 * 60_000_000


def test_a_restriction_that_is_foreseen_says_the_value_and_the_limit(still_office):
    answer = still_office.board.ship({"mmsi": GUNVOR, "at": "2020-06-30T01:30:00Z"})
    assert (answer["next"]["at"], answer["next"]["status"]) == ("2020-06-30T01:54:00Z", "restricted")
    assert answer["next"]["rule"] == "clearance at elizabeth-east"
    assert answer["next"]["why"].endswith("limit 50 cm: she must stay afloat")


def test_what_is_foreseen_of_a_ship_near_her_berth_is_not_what_was_of_her_further_off(day_and_rules):
    """What lies ahead was kept by all but her position, so that her first report spoke for all later ones."""
    day, rules = day_and_rules
    berth = next(each.values for each in day.readings if each.values.get("id") == "constable-hook")
    ship = {
        "mmsi": 1, "name": "EVA", "vessel_type": "tanker", "hazard": None, "length": 209.0, "beam": 24.0,
        "draught": 10.8, "speed": 8.0, "course": 82.8, "destination": berth["id"], "direction": "inbound",
        "position": berth["position"],
    }  # fmt: skip
    far = {**ship, "position": (berth["position"][0] - 0.005, berth["position"][1] - 0.006)}
    foresight, pack = Foresight(day), noted(rules, day.start, 0, "eva")
    told: list[Any] = [
        foresight.next_change(Seen("vessel", "1", day.start, each), day.start + 10 * HOUR // 3, pack)
        for each in (far, ship)
    ]
    assert [each and (iso(each.at)[11:16], each.status) for each in told] == [
        ("03:48", "allowed"),
        ("03:48", "restricted"),
    ]


def test_what_is_foreseen_goes_by_the_speed_that_a_ship_has(day_and_rules):
    """It went by whole knots: 10.3 were 10, and a limit of 10 in the fog to come was not foreseen to stop her."""
    day, rules = day_and_rules
    ship = {
        "mmsi": 1, "name": "EVA", "vessel_type": "tug", "hazard": None, "length": 30.0, "beam": 9.0, "draught": 4.0,
        "speed": 10.3, "course": 0.0, "destination": "elsewhere", "direction": "outbound", "position": (40.6, -73.8),
    }  # fmt: skip
    report, pack = Seen("vessel", "1", day.start, ship), noted(rules, day.start, 0, "eva")
    told = Foresight(day).next_change(report, day.start + 9 * HOUR, pack)
    assert isinstance(told, Next)
    assert (told.status, told.rule) == ("restricted", "safe speed in restricted visibility")


HEAD = RULES[: RULES.index("\nwind velocity must")]
"""What is declared and defined, without any rule."""


def at_her_berth(rule):
    return f"{HEAD}\nat elizabeth-east:\n    {rule}\n        name: clearance at elizabeth-east\n"


CLEARANCE = at_her_berth("under-keel clearance must be at least 50 cm")


class Ruled:
    """An office at 04:30 with some rules in force since then; nothing is judged."""

    def __init__(self, day: Any, rules: Any) -> None:
        self.now = day.start + 9 * HOUR // 2
        self.store, self.foresight = Store(":memory:"), Foresight(day)
        seen = [seen_of(each) for each in day.readings if (each.time or 0) <= self.now]
        self.store.apply(Batch("made", 1, self.now, (), seen))
        self.store.change_rules(noted(rules, day.start, 0, "made"))
        self.following = Following(self.store, day, lambda: 0)
        self.board = Board(self.store, self.following, day, self.foresight)

    def by(self, text: str) -> None:
        self.store.change_rules(noted(RulePack.from_text(text), self.now, len(self.store.packs()), "eva"))
        self.following.look()

    def __call__(self, text: str, at: str | None = None) -> Any:
        self.by(text)
        return self.board.ship({"mmsi": GUNVOR, "at": at})


@pytest.fixture(scope="module")
def ruled(day_and_rules):
    return Ruled(*day_and_rules)


@pytest.mark.parametrize(
    ("rule", "limit"),
    [
        ("under-keel clearance must be at least 50 cm", 0.5),
        ("under-keel clearance must be at least 300 cm", 3.0),
        ("under-keel clearance must be at least 3 ft", 0.914),
        ("under-keel clearance must be at least 0.05 * draught", 0.75),
        ("under-keel clearance / draught must be at least 0.05", 0.75),
        ("2 * under-keel clearance must be at least 1.8 m", 0.9),
        ("tide height must be at least 1 m", 15.24 + 1 - 15),
        ("tide height must be at most 9 m", None),
        ('when direction is "inbound": under-keel clearance must be at least 300 cm', None),
        ("length must be at most 401 m", None),
    ],
)
def test_limit_and_windows_of_the_day_are_those_of_the_rules_in_force(rule, limit, ruled):
    """They were those of built-in rules: 0.5 m beside a verdict that was restricted by 3 m."""
    day = ruled(at_her_berth(rule))["day"]
    assert day["limit"] == (None if limit is None else pytest.approx(limit, abs=0.001))
    assert day["windows"] or limit > 2
    for time, clearance in zip(day["times"], day["clearance"], strict=True):
        if time >= "2020-06-30T04:30:00Z" and time != day["times"][-1]:
            is_allowed = any(start <= time < end for start, end in day["windows"])
            assert is_allowed == (limit is None or clearance >= day["limit"]), time


def test_the_day_s_water_is_that_of_the_gauge_that_the_rules_read(ruled):
    """It was that of a gauge that they left out, beside a limit that they set for another."""
    whole = ruled(CLEARANCE)["day"]
    other = ruled(CLEARANCE.replace('    "8519483": 40.63911, -74.14631\n', ""))["day"]
    assert whole["clearance"] != other["clearance"]
    assert other["limit"] == 0.5


def test_of_a_moment_that_is_past_what_was_foreseen_by_the_rules_of_then_is_shown(ruled):
    """It was foreseen by those of today."""
    before = ruled(CLEARANCE, "2020-06-30T04:00:00Z")
    after = ruled(at_her_berth("under-keel clearance must be at least 300 cm"), "2020-06-30T04:00:00Z")
    assert after == before
    assert before["next"]["rule"] == "clearance at elizabeth-east"


def test_a_moment_that_has_not_come_is_refused_in_words(ruled):
    for question in (ruled.board.board, ruled.board.ship):
        with pytest.raises(NotUnderstood, match=r"a moment that has come .* it is 2020-06-30T04:30:00Z"):
            question({"at": "2020-06-30T04:30:00.000001Z", "mmsi": GUNVOR})
        assert question({"at": "2020-06-30T04:30:00Z", "mmsi": GUNVOR})


BY_WIND = CLEARANCE + "\nwind velocity must be at most 5 kn\n    name: calm\n"
STALE = BY_WIND.replace("source vessel by mmsi:", "source vessel by mmsi, stale after 8 h:").replace(
    "source wind by station:", "source wind by station, stale after 31 min:"
)
TOTALS_AND_NOW = (
    CLEARANCE
    + "\ngreatest of wind velocity must be at most 12 kn\n    name: windy somewhere\n"
    + "\nnow must be below 2020-06-30 10:00Z\n    name: closed\n"
)
ASKED_ABOUT = BY_WIND.replace(
    "location: destination", "location: destination\nonly: speed is below 9 kn and now is below 2020-06-30 11:00Z"
)
COUNTED = CLEARANCE + "\nnumber of vessel must be at most 1\n    name: crowded\n"
PAIRED = CLEARANCE.replace("places tide", "source other is another vessel\n\nplaces tide", 1) + (
    "\nfor every other: distance from position to other position must be at least 1 km\n    name: too near\n"
)


@pytest.mark.parametrize("text", [STALE, TOTALS_AND_NOW, ASKED_ABOUT], ids=["stale", "totals and now", "only"])
def test_what_is_foreseen_is_what_comes_also_of_rows_that_grow_too_old_of_totals_and_of_now(text, day_and_rules):
    """Of these nothing was taken into account, or they were taken as missing."""
    day = day_and_rules[0]
    readings = tuple(each for each in day.readings if each.values.get("mmsi") in {None, GUNVOR})
    day = attrs.evolve(day, readings=readings)
    store, foresight = Store(":memory:"), Foresight(day)
    Replay(day, RulePack.from_text(text), store, begin=day.start + ONE_DAY - 1, speed=1.0, clock=lambda: 0.0).step()
    (pack,), found = store.packs(), set()
    for now in range(day.start + HOUR, day.start + ONE_DAY, HOUR // 3):
        (report,) = [each for each in store.rows_at(now) if each.source == "vessel"]
        told: Any = foresight.next_change(report, now, pack)
        later = [each for each in store.changes_of(GUNVOR, day.start + ONE_DAY) if each.time > now]
        first = [(each.time, each.status) for each in later if each.time == later[0].time][-1:]
        assert ([] if told is None else [(told.at, told.status)]) == first
        found |= set(first)
    assert found


@pytest.mark.parametrize("text", [COUNTED, PAIRED], ids=["a total over ships", "pairs"])
def test_under_rules_about_other_ships_nothing_is_said_to_be_foreseen_nor_that_nothing_changes(text, ruled):
    told = ruled(text)
    assert told["next"] is None
    assert told["ship"]["foreseen"] == "the rules ask about other ships, and nobody knows where those will be"
    assert (told["day"]["windows"], told["day"]["limit"]) == (None, 0.5)


def test_what_was_foreseen_by_the_rules_before_is_not_shown_beside_the_verdicts_of_others(ruled):
    ruled.by(CLEARANCE)
    before, report = ruled.following.packs()[-1], ruled.following.reports()[GUNVOR]
    told = ruled.foresight.next_change(report, ruled.now, before)

    def shown(foreseen, pack):
        ruled.following.foresee(GUNVOR, foreseen, pack)
        return by_mmsi(ruled.board.board({"at": None}))[GUNVOR]

    assert shown(told, before)["next"]["status"] == "restricted"
    ruled.by(COUNTED)
    assert by_mmsi(ruled.board.board({"at": None}))[GUNVOR]["next"] is None
    late = shown(told, before)  # it was being worked out when they changed
    assert (late["foreseen"], late["next"]) == (False, None)
    assert shown(OTHER_SHIPS, ruled.following.packs()[-1])["foreseen"] == OTHER_SHIPS.why


def test_a_ship_without_a_verdict_is_unknown_never_allowed(day_and_rules):
    store = Store(":memory:")
    row = {"mmsi": 1, "name": "EVA", "position": [40.6, -74.0], "destination": "elsewhere", "direction": "still"}
    store.apply(Batch("spark", 0, 10, (), [Seen("vessel", "1", 5, row)]))
    _, _, (ship,), *_ = Following(store, day_and_rules[0]).seen()
    assert ship.change is None
    following = Following(store, day_and_rules[0])
    (told,) = [json.loads(each.data) for each in following.after(None) if each.event == "ship"]
    assert (told["status"], told["missing"]) == ("unknown", [{"rule": "not judged yet", "what": ["verdict"]}])


def test_what_is_asked_wrongly_is_refused_with_what_is_right(still_office):
    client = TestClient(
        application(page_of(still_office.board, still_office.following), "secret"), base_url="http://127.0.0.1"
    )
    for question, draft, said in (
        ("board", {"at": "yesterday"}, "expected a time in ISO 8601"),
        ("ship", {"mmsi": "1; DROP TABLE changes", "at": None}, "expected an MMSI"),
        ("ship", {"mmsi": 7, "at": None}, "expected one that is known"),
        *(("ship", {"mmsi": each}, "expected an MMSI") for each in (10**30, -1, 2.0, None, [], 10**4000)),
        *(
            (question, {"mmsi": GUNVOR, "at": each}, "expected a time in ISO 8601")
            for question in ("board", "ship")
            for each in ("9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", 10**30, {}, "", "2020-13-01")
        ),
    ):
        answer = client.post(f"/api/{question}", json=draft, headers={"X-Token": "secret"})
        assert answer.status_code == 400
        assert said in answer.json()["error"]
    with pytest.raises(NotUnderstood):
        still_office.board.board({"at": []})


def test_the_stream_tells_each_ship_once_in_her_newest_state_from_where_a_reader_was(office):
    last = office.board.board({"at": None})["last"]
    assert office.following.after(last) == []
    office.to(3.2)
    office.to(3.7)
    told = office.following.after(last)
    ships = [json.loads(each.data) for each in told if each.event == "ship"]
    assert [each["mmsi"] for each in ships].count(GUNVOR) == 1
    assert {each["status"] for each in ships if each["mmsi"] == GUNVOR} == {"allowed"}
    assert office.following.after(told[-1].id) == []
    assert len({each.id for each in told}) == len(told)
    everything = office.following.after("of-another-process")
    assert {json.loads(each.data)["mmsi"] for each in everything if each.event == "ship"} == set(
        by_mmsi(office.board.board({"at": None}))
    )


def test_a_reader_that_never_reads_costs_one_state_a_ship(day_and_rules):
    store = Store(":memory:")
    following = Following(store, day_and_rules[0])
    for number in range(300):
        change = Change(number, 1 + number % 3, "EVA", "allowed" if number % 2 else "unknown")
        store.apply(Batch("load", number + 1, number, [change]))
        following.look()
    assert len(following.after(None)) == 3


def test_a_ship_that_is_no_longer_judged_goes(office):
    gone = Change(office.day.start + 4 * HOUR, GUNVOR, "GUNVOR MAERSK", GONE)
    last = office.board.board({"at": None})["last"]
    office.store.apply(Batch("replay", 10**6, office.day.start + 4 * HOUR, [gone]))
    office.following.look()
    assert [(each.event, json.loads(each.data)) for each in office.following.after(last)] == [
        ("gone", {"mmsi": GUNVOR})
    ]
    assert GUNVOR not in by_mmsi(office.board.board({"at": None}))
    assert GUNVOR not in by_mmsi(office.board.board({"at": iso(office.day.start + 4 * HOUR)}))
    assert GUNVOR in by_mmsi(office.board.board({"at": iso(office.day.start + 3 * HOUR)}))


@pytest.mark.parametrize("at_once", [1, 1000])
def test_a_ship_is_there_or_gone_however_often_the_store_was_looked_at(day_and_rules, monkeypatch, at_once):
    """A board that was started after she had gone had her reports, and said that she was unknown."""
    for name in ("changes_after", "readings_after"):
        monkeypatch.setattr(Store, name, partialmethod(getattr(Store, name), most=at_once))
    store = Store(":memory:")
    looking = Following(store, day_and_rules[0])
    seen, lives = [], [(4, "allowed"), (6, GONE), (8, "restricted"), (9, GONE)]
    for number, (time, status) in enumerate(lives):
        row = {"mmsi": 1, "name": "EVA", "position": [40.6, -74.0], "destination": "elsewhere", "direction": "still"}
        readings = [] if status == GONE else [Seen("vessel", "1", time, row), Seen("tide", "battery", time, {})]
        store.apply(Batch("made", number + 1, time + 1, [Change(time, 1, "EVA", status)], readings))
        looking.look()
        _, _, ships, rows, *_ = looking.seen()
        seen.append([(each.report and each.report.time, each.change and each.change.status) for each in ships])
        _, _, again, rows_again, *_ = Following(store, day_and_rules[0]).seen()
        assert again == ships
        assert {(each.source, each.time) for each in rows} == {(each.source, each.time) for each in rows_again}
    assert seen == [[(4, "allowed")], [], [(8, "restricted")], []]


def test_a_report_that_comes_after_her_end_but_is_older_is_not_hers_any_more(day_and_rules):
    store = Store(":memory:")
    following = Following(store, day_and_rules[0])
    row = {"mmsi": 1, "name": "EVA", "position": [40.6, -74.0], "destination": "elsewhere", "direction": "still"}
    for number, (changes, readings) in enumerate([
        ([Change(4, 1, "EVA", "allowed"), Change(9, 1, "EVA", GONE)], [Seen("vessel", "1", 4, row)]),
        ([Change(7, 1, "EVA", "unknown")], [Seen("vessel", "1", 8, row)]),
    ]):  # fmt: skip
        store.apply(Batch("made", number + 1, 10, changes, readings))
        following.look()
        assert following.seen()[2] == []


def test_the_clock_says_when_the_feed_has_stopped_and_when_the_day_is_over(office):
    office.hands.wall = office.store.progress()[0].written + 1_000_000
    office.following.look()
    assert office.following.clock()["live"]
    office.hands.wall += int(QUIET_S * 1e6)
    office.following.look()
    assert not office.following.clock()["live"]
    office.hands.wall = 0
    office.to(25)
    assert not office.following.clock()["live"]
    assert office.following.clock()["now"] == office.following.clock()["end"]


def test_while_the_store_is_lost_the_board_says_so_and_then_tells_what_it_has_missed(day_and_rules, monkeypatch):
    """It went on to say that it was live, and told nothing any more."""
    store, said, stop = Store(":memory:"), [], Stopping(looks=6)
    following = Following(store, day_and_rules[0], count(0, 1_000_000).__next__)

    def beaten():
        said.append((following.clock()["live"], following.clock()["lost"]))
        if len(said) == 1:
            monkeypatch.setattr(Store, "readings_after", lost)  # changes have been read then
            store.apply(Batch("made", 1, 10, [Change(5, 7, "EVA", "restricted")]))
        if len(said) == 3:
            monkeypatch.setattr(Store, "readings_after", readings_after)
            monkeypatch.setattr(Store, "progress", lost)  # and then readings, too
        if len(said) == 4:
            monkeypatch.setattr(Store, "progress", progress)

    def lost(*_):
        raise StoreLost("the server closed the connection")

    readings_after, progress = Store.readings_after, Store.progress
    monkeypatch.setattr(following, "beat", beaten)
    monkeypatch.setattr(store, "wait", lambda _: None)
    following.run(stop)
    gone = (False, "the server closed the connection")
    assert said == [(False, None), gone, gone, gone, (True, None), (True, None)]
    (told,) = [json.loads(each.data) for each in following.after(None) if each.event == "ship"]
    assert (told["mmsi"], told["status"]) == (7, "restricted")


class Stopping(Event):
    """Is set when it has been looked at often enough; nobody waits for it."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    def is_set(self) -> bool:
        self.looks -= 1
        return self.looks < 0

    def wait(self, timeout: float | None = None) -> bool:
        return False


def test_the_rows_that_count_are_those_that_the_rules_read(day_and_rules):
    """What a verdict shows of tide and stream is in the rows that are said to have been read."""
    day, rules = day_and_rules
    links = Links(day)
    for each in day.readings[-200:]:
        if each.source == "vessel":
            assert set(links.keys(each.values, rules)) <= set(rules.sources)
    store = Store(":memory:")
    Replay(day, rules, store, begin=day.start + 3 * HOUR, speed=1.0, clock=lambda: 0.0).step()
    heights = {
        (each.key, each.time): each.row["height"] for _, each in store.readings_after(0, 10**6) if each.source == "tide"
    }
    depth = next(each.values for each in day.readings if each.values.get("id") == "elizabeth-east")["depth"]
    (change,) = [each for each in store.changes_of(GUNVOR, day.start + 3 * HOUR) if each.failed]
    report = [each for _, each in store.readings_after(0, 10**6) if each.key == str(GUNVOR)][-1]
    water = depth + heights[change.read["tide"]] - report.row["draught"]
    assert change.failed[0].value == f"{100 * water:.4g} cm"


def test_the_command_says_what_it_cannot_use(tmp_path):
    (tmp_path / "office.db").write_text("no database, " * 200)
    refused = CliRunner().invoke(main, ["board", "--no-browser", "--store", str(tmp_path / "office.db")])
    assert refused.exit_code == 2
    assert "board: store: expected a database" in refused.output
    assert CliRunner().invoke(main, ["board", "--feed", "kafka"]).exit_code == 2
    assert [CliRunner().invoke(main, ["board", "--speed", speed]).exit_code for speed in ("nan", "inf")] == [2, 2]
    (tmp_path / "wrong.rules").write_text("pack: port\nmust\n")
    command = [
        "board",
        "--no-browser",
        "--store",
        str(tmp_path / "new/office.db"),
        "--rules",
        str(tmp_path / "wrong.rules"),
    ]
    refused = CliRunner().invoke(main, command)
    assert (refused.exit_code, "wrong.rules" in refused.output) == (2, True)
    assert not (tmp_path / "new").exists()
    refused = CliRunner().invoke(main, [*command[:4], "--feed", "none"])
    assert (refused.exit_code, "there is no store" in refused.output) == (2, True)
    assert not (tmp_path / "new").exists()
    with listening(0) as taken:
        refused = CliRunner().invoke(main, [*command[:4], "--port", str(taken.getsockname()[1])])
    assert (refused.exit_code, "in use" in refused.output) == (2, True)
    assert not (tmp_path / "new").exists()
    refused = CliRunner().invoke(main, [*command[:4], "--alerts", str(tmp_path / "nobody.toml")])
    assert (refused.exit_code, "nobody.toml" in refused.output) == (2, True)
    assert not (tmp_path / "new").exists()


def test_the_command_refuses_a_store_that_another_process_judges_into(tmp_path):
    store = Store(str(tmp_path / "office.db"))
    with store.feeding():
        refused = CliRunner().invoke(main, ["board", "--no-browser", "--store", store.where])
    store.close()
    assert (refused.exit_code, "another process does" in refused.output) == (2, True)


def test_the_command_ends_well_by_ctrl_c_as_it_says(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(local_pages, "serve", interrupted)
    for follower in (Following, Board):  # whose threads would go on beside the next test
        monkeypatch.setattr(follower, "start", lambda *_: Future())
    Store(str(tmp_path / "office.db")).close()
    command = ["board", "--no-browser", "--feed", "none", "--store", str(tmp_path / "office.db")]
    ended = CliRunner().invoke(main, command)
    assert (ended.exit_code, ended.output) == (0, "")


def test_the_command_ends_where_its_feed_from_kafka_does_and_says_why(tmp_path, monkeypatch):
    """A wrong broker, or wrong topics: the page went on, and showed what was."""
    monkeypatch.setattr(kafka, "_FIRST", 0.01)
    for follower in (Following, Board):
        monkeypatch.setattr(follower, "start", lambda *_: Future())
    command = ["board", "--no-browser", "--feed", "kafka", "--topics", "none", "--kafka", "127.0.0.1:1"]
    ended = CliRunner().invoke(main, [*command, "--store", str(tmp_path / "office.db")])
    assert ended.exit_code == 2, ended.output
    assert "board: KafkaSource: expected Kafka at '127.0.0.1:1', for the topic 'none." in ended.output


@pytest.mark.parametrize(
    ("where", "method"),
    [(Replay, "run"), (Following, "run"), (Board, "look_ahead"), (alerts_command, "Outbox")],
    ids=str,
)
def test_the_command_ends_where_a_thread_of_it_does_and_says_why(where, method, tmp_path, monkeypatch, few):
    """The page went on, and showed what was."""

    def failing(*_):
        raise UnusableStore("the disk is gone")

    for follower, name in ((Following, "run"), (Board, "look_ahead")):
        monkeypatch.setattr(follower, name, lambda *_: None)
    monkeypatch.setattr(where, method, failing)
    monkeypatch.setattr(local_pages, "serve", lambda *given: given[-1].__self__.wait(30))
    few.keep(AIS, lambda row: row["time_utc"] < "2020-06-30T00:01")
    nobody = '[target.log]\nfile = "a"\n[[subscription]]\nname = "nobody"\nship = 1\nto = ["log"]'
    (tmp_path / "alerts.toml").write_text(nobody)
    command = ["board", "--no-browser", "--data", str(few.path), "--store", str(tmp_path / "office.db")]
    ended = CliRunner().invoke(main, [*command, "--alerts", str(tmp_path / "alerts.toml")])
    assert (ended.exit_code, ended.output) == (2, "board: the disk is gone\n")


def test_the_command_ends_where_its_store_is_no_longer_one_and_says_why(tmp_path, monkeypatch, few):
    """It ended with a traceback."""
    where = str(tmp_path / "office.db")
    Store(where).close()

    def serve(*given):
        with closing(sqlite3.connect(where)) as other:
            other.execute("DROP TABLE readings")
        given[-1].__self__.wait(30)

    monkeypatch.setattr(local_pages, "serve", serve)
    monkeypatch.setattr(Board, "look_ahead", lambda *_: None)
    command = ["board", "--no-browser", "--feed", "none", "--data", str(few.path), "--store", where]
    ended = CliRunner().invoke(main, command)
    assert (ended.exit_code, ended.output) == (2, "board: no such table: readings\n")


def test_in_a_browser_the_page_shows_what_the_server_says_and_hostile_names_do_nothing(browser: Browser, day_and_rules):
    day, rules = day_and_rules
    hostile = tuple(
        attrs.evolve(each, values={**each.values, "name": HOSTILE}) if each.values.get("mmsi") == 338531000 else each
        for each in day.readings
    )
    office = Office(attrs.evolve(day, readings=hostile), rules, begin=3 * HOUR)
    office.hands.wall = office.store.progress()[0].written
    office.following.look()
    office.following.beat()
    with served(application(page_of(office.board, office.following), "secret"), "secret") as address:
        page = browser.new_page()
        page.add_init_script(
            "window.broken = []; window.boom = () => broken.push('boom');"
            "document.addEventListener('securitypolicyviolation', (one) => broken.push(one.violatedDirective));"
        )
        with page.expect_request("**/live"):
            page.goto(address)
        office.following.beat()
        page.locator("#mode", has_text="live").wait_for()
        gunvor = page.locator("#rows tr", has_text="GUNVOR MAERSK")
        assert "restricted" in gunvor.inner_text()
        assert HOSTILE[:20] in page.locator("#rows").inner_text()
        office.to(3.7)
        office.following.beat()
        page.locator("#rows tr", has_text="GUNVOR MAERSK").filter(has_text="allowed").wait_for()
        office.hands.wall += int(2 * QUIET_S * 1e6)
        office.following.look()
        office.following.beat()
        page.locator("#mode", has_text="stopped").wait_for()
        assert page.evaluate("broken") == []
        page.close()
