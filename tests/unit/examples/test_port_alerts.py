"""The office tells of ships: of verdicts in its store, of what is foreseen, once, however often it is started."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import chain, combinations
from math import inf
from threading import Event

import attrs
import pytest
from click.testing import CliRunner

from dsl import RulePack
from dsl.alerts import Outbox, Subscriptions
from examples.port.__main__ import main
from examples.port.inputs import read_day
from examples.port.office.alerting import LOOK, WORDS, Alerting
from examples.port.office.alerts_command import alerting_beside, by_rules_in_force, dry_run
from examples.port.office.databases import StoreLost, UnusableStore
from examples.port.office.foreseen import OTHER_SHIPS, Foresight, Next, _told
from examples.port.office.records import GONE, Batch, Change, Failed, Missing, Seen, noted
from examples.port.office.store import Store
from examples.port.programs import rule_pack
from tests.documents import PAGES, of_language

START = (datetime(2020, 6, 30, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
MINUTE = 60_000_000
TARGET = '[target.log]\nfile = "alerts.jsonl"\n'
TIDES = RulePack.from_text(
    "pack: p\nsubject: vessel\nsource vessel by mmsi:\n    mmsi: number\nsource tide:\n    height: metres\n"
    "tide height must be at least 2 m\n    name: A\ntide height must be at least 3 m\n    name: B\n"
)
SHALLOW = Failed("clearance", "she must stay afloat", "clearance 42 cm", "50 cm", "-8 cm")
ASKED = ('berth = "red-hook"', 'berth = "bayonne"', 'ship = "ANNA"', "ship = 8", 'becomes = ["allowed", "gone"]')


def subscribed(path, *tables):
    text = TARGET + "".join(f'[[subscription]]\nname = "{n}"\nto = ["log"]\n{each}\n' for n, each in enumerate(tables))
    path.write_text(text)
    return Subscriptions.from_file(path, {}, WORDS)


def ship(minute, mmsi, berth="red-hook", name="ANNA"):
    return Seen("vessel", str(mmsi), START + minute * MINUTE, {"mmsi": mmsi, "name": name, "destination": berth})


def change(minute, mmsi, status, *failed, name="ANNA", berth="red-hook", missing=()):
    read = {"vessel": (str(mmsi), START), "berth": (berth, START)}
    return Change(START + minute * MINUTE, mmsi, name, status, failed, missing, "0123456789ab", read)


def written(store, number, until, changes=(), readings=()):
    assert store.apply(Batch("replay", number, START + until * MINUTE, changes, readings))


def nothing(ship, now):
    return None


def lines(store, subscriptions, next_change=nothing):
    store.close()
    return dry_run(store.where, subscriptions, next_change)


@pytest.fixture
def store(tmp_path):
    store = Store(str(tmp_path / "office.db"))
    yield store
    store.close()


def test_a_ship_a_berth_and_a_rule_are_told_with_values_limit_margin_and_version(tmp_path, store):
    wanted = subscribed(
        tmp_path / "alerts.toml",
        "ship = 7",
        'ship = "eva"',
        'berth = "red-hook"',
        'rule = "clearance"',
        'rule = "wind"',
    )
    written(store, 1, 10, [change(5, 7, "restricted", SHALLOW)])

    with closing(Outbox(tmp_path / "outbox.db")) as outbox:
        assert Alerting(store, wanted, outbox, nothing).step() == 3
        told = [json.loads(each.message.body) for each in outbox.due("log", now=float("inf"))]
    assert [each["subscription"] for each in told] == ["0", "2", "3"]
    assert told[0]["why"] == ["clearance: clearance 42 cm, limit 50 cm, margin -8 cm, because she must stay afloat"]
    assert (told[0]["place"], told[0]["pack"], told[0]["time"]) == (
        *("red-hook", "0123456789ab"),
        "2020-06-30T00:05:00+00:00",
    )


def test_what_is_unknown_is_told_with_what_is_missing(tmp_path, store):
    wanted = subscribed(tmp_path / "alerts.toml", 'becomes = ["unknown"]')
    written(store, 1, 10, [change(5, 7, "unknown", missing=[Missing("clearance", ("vessel.draught",))])])

    assert lines(store, wanted) == ["to log: ANNA (7) is unknown since 2020-06-30 00:05 UTC: vessel.draught"]


def test_a_ship_that_has_gone_is_told_to_who_wants_to_know(tmp_path, store):
    wanted = subscribed(tmp_path / "alerts.toml", 'becomes = ["gone"]')
    written(store, 1, 10, [change(5, 7, "allowed"), change(6, 7, GONE)], [ship(4, 7)])

    assert lines(store, wanted) == ["to log: ANNA (7) is gone since 2020-06-30 00:06 UTC"]


def test_started_again_it_goes_on_and_tells_nothing_twice(tmp_path, store):
    wanted = subscribed(tmp_path / "alerts.toml", "")
    written(store, 1, 10, [change(5, 7, "restricted", SHALLOW)])
    counts = []
    for number, more in enumerate([[], [change(12, 8, "restricted", SHALLOW)], [change(13, 7, "allowed")]], 2):
        written(store, number, 10 + number, more)
        with closing(Outbox(tmp_path / "outbox.db")) as outbox:
            alerting = Alerting(store, wanted, outbox, nothing)
            counts.append((alerting.step(), alerting.step()))

    assert counts == [(1, 0), (1, 0), (0, 0)]


def test_a_ship_that_comes_to_a_berth_or_gets_her_name_while_restricted_is_told_to_who_asks_for_them(tmp_path, store):
    """Changes of verdicts alone were looked at, and hers does not change by that."""
    wanted = subscribed(tmp_path / "alerts.toml", 'berth = "red-hook"', 'ship = "ANNA"', "ship = 7")
    reports = [ship(minute, 7, berth, name) for minute, berth, name in (
        (1, "elsewhere", "MMSI 7"), (5, "elsewhere", "ANNA"), (9, "red-hook", "ANNA"), (12, "red-hook", "ANNA"),
    )]  # fmt: skip
    day = [change(1, 7, "restricted", SHALLOW, name="MMSI 7", berth="elsewhere")]
    written(store, 1, 20, day, reports)

    assert lines(store, wanted) == [
        "to log: MMSI 7 (7) is restricted since 2020-06-30 00:01 UTC: clearance",
        "to log: ANNA (7) is restricted since 2020-06-30 00:05 UTC: clearance",
        "to log: ANNA (7) is restricted since 2020-06-30 00:09 UTC: clearance",
    ]


def test_a_ship_that_comes_to_a_berth_and_is_allowed_by_that_is_not_told(tmp_path, store):
    wanted = subscribed(tmp_path / "alerts.toml", 'berth = "red-hook"')
    day = [change(1, 7, "restricted", SHALLOW, berth="bayonne"), change(5, 7, "allowed")]
    written(store, 1, 20, day, [ship(1, 7, "bayonne"), ship(5, 7)])

    assert lines(store, wanted) == []


def day_of_two():
    """The batches of a day on which ANNA gets her name and goes from berth to berth, and EVA's berth is not judged."""
    eva = attrs.evolve(change(12, 8, "restricted", SHALLOW, name="EVA"), read={})
    return [
        (1, [change(1, 7, "restricted", SHALLOW, name="MMSI 7", berth="elsewhere")], [ship(1, 7, "elsewhere", "")]),
        (4, [], [ship(4, 7, "elsewhere")]),
        (9, [], [ship(9, 7)]),
        (12, [eva], [ship(12, 7, "bayonne"), ship(12, 8, "bayonne", "EVA")]),
        (16, [change(16, 7, "allowed", berth="bayonne")], [ship(16, 8, "red-hook", "EVA")]),
        (20, [change(20, 7, GONE, berth="bayonne"), change(20, 8, "allowed", name="EVA")], []),
    ]


class Losing(Store):
    """A store that is lost at one of the questions that it is asked."""

    left = inf

    def _asked(self, statement, values=()):
        self.left -= 1
        if not self.left:
            raise StoreLost("the server restarts")
        return super()._asked(statement, values)


def told_of_two(wanted, *, off=(), lost=inf, within=None):
    """What is queued of the day by alerts that end before some batches and are started again after them."""
    with closing(Losing(":memory:")) as store, closing(Outbox(":memory:")) as outbox:

        def foreseen(report, now):
            assert store.newest_pack() == 0
            return None if within is None else Next(now + within, "restricted", "wind", "50 kn", ("wind",))

        store.left, alerting = lost, None
        for number, batch in enumerate([*day_of_two(), (21, [], [])], 1):
            written(store, number, *batch)
            is_told = number in off
            while not is_told:
                try:
                    alerting = alerting or Alerting(store, wanted, outbox, foreseen)
                    alerting.step()
                    is_told = True
                except StoreLost:
                    alerting = None
            if number in off:
                alerting = None
        return [each.message.body for each in outbox.due("log", now=inf)], store.left


def test_started_again_it_knows_no_report_of_a_ship_from_before_she_went(tmp_path, store):
    """Her next report seemed to give her another name and another berth, which one that goes on did not tell."""
    wanted = subscribed(tmp_path / "alerts.toml", 'berth = "red-hook"', 'ship = "ANNA"')
    lives = [
        ([change(5, 7, "allowed", name="BEA", berth="x")], [ship(5, 7, "x", "BEA")]),
        ([change(7, 7, GONE, name="BEA", berth="x")], []),
        ([change(9, 7, "restricted", SHALLOW, name="BEA", berth="x")], []),
        ([], [ship(10, 7)]),
    ]
    with closing(Outbox(tmp_path / "one.db")) as one, closing(Outbox(tmp_path / "each.db")) as each:
        going_on, told = Alerting(store, wanted, one, nothing), []
        for number, (changes, readings) in enumerate(lives):
            written(store, number, 11 + number, changes, readings)
            told.append((going_on.step(), Alerting(store, wanted, each, nothing).step()))
    assert all(goes_on == again for goes_on, again in told)


def test_whenever_alerts_end_and_are_started_again_they_send_all_that_happened_meanwhile(tmp_path):
    """Ships that came to a berth or got their name meanwhile were not told, and others with a later berth."""
    wanted = subscribed(tmp_path / "alerts.toml", *ASKED)
    due, _ = told_of_two(wanted)

    assert [(one["subscription"], one["name"], one["place"]) for one in map(json.loads, due)] == [
        ("2", "ANNA", "elsewhere"),
        ("0", "ANNA", "red-hook"),
        ("1", "ANNA", "bayonne"),
        ("1", "EVA", "bayonne"),
        ("3", "EVA", "bayonne"),
        ("0", "EVA", "red-hook"),
        ("4", "ANNA", "bayonne"),
        ("4", "ANNA", "bayonne"),
        ("4", "EVA", "red-hook"),
    ]
    later = range(2, 7)
    for off in chain.from_iterable(combinations(later, number) for number in range(1, 6)):
        assert told_of_two(wanted, off=off)[0] == due, off


def test_whenever_the_store_is_lost_alerts_are_those_of_a_day_on_which_it_is_not(tmp_path):
    """Lost after the readings had been read, or within a look ahead, it took alerts with it."""
    wanted = subscribed(tmp_path / "alerts.toml", *ASKED, 'within = "2 h"')
    due, left = told_of_two(wanted, within=30 * MINUTE)

    assert any("wind" in each for each in due)
    for lost in range(1, 200):
        told, left = told_of_two(wanted, lost=lost, within=30 * MINUTE)
        if left > 0:
            break
        assert told == due, lost
    assert 30 < lost < 199


def test_what_comes_while_alerts_are_started_for_the_first_time_is_told(tmp_path, store, monkeypatch):
    """It counted as read, and not as how things stand."""
    wanted = subscribed(tmp_path / "alerts.toml", "")
    written(store, 1, 1, [change(1, 7, "restricted", SHALLOW)])
    newest = Store.newest_ids
    late = iter([(2, 2, [change(2, 8, "restricted", SHALLOW, name="EVA")], [ship(2, 8, name="EVA")])])

    def newest_ids(asked):
        for batch in late:
            written(store, *batch)
        return newest(asked)

    monkeypatch.setattr(Store, "newest_ids", newest_ids)
    with closing(Outbox(tmp_path / "outbox.db")) as outbox:
        alerting = Alerting(store, wanted, outbox, nothing)
        assert alerting.step() + alerting.step() == 2


def test_a_store_that_is_made_anew_in_the_place_of_another_is_told_of_from_its_beginning(tmp_path):
    """How far the one before had been read counted for it: its first alerts never came."""
    wanted = subscribed(tmp_path / "alerts.toml", "")
    counts = []
    for minute in (1, 5):
        with closing(Store(str(tmp_path / "office.db"))) as store, closing(Outbox(tmp_path / "outbox.db")) as outbox:
            alerting = Alerting(store, wanted, outbox, nothing)
            for number in (1, 2):
                written(store, number, minute, [change(minute, number, "restricted", SHALLOW)])
                counts.append(alerting.step())
            assert Alerting(store, wanted, outbox, nothing).step() == 0
        for path in tmp_path.glob("office.db*"):
            path.unlink()

    assert counts == [1, 1, 1, 1]


def test_it_begins_with_how_things_stand_and_not_with_the_whole_day(tmp_path, store):
    wanted = subscribed(tmp_path / "alerts.toml", "")
    day = [change(1, 7, "restricted", SHALLOW), change(2, 7, "allowed"), change(3, 8, "restricted", SHALLOW)]
    written(store, 1, 10, day)

    with closing(Outbox(tmp_path / "outbox.db")) as outbox:
        assert Alerting(store, wanted, outbox, nothing).step() == 1
    assert len(lines(store, wanted)) == 2


def test_what_is_foreseen_within_two_hours_is_told_once_and_again_when_it_was_over(tmp_path, store):
    wanted = subscribed(tmp_path / "alerts.toml", 'within = "2 h"')
    looked = []

    def low_water(ship, now):
        looked.append((now - START) // MINUTE)
        coming = [each for each in (180, 600) if START + each * MINUTE > now]
        return Next(START + coming[0] * MINUTE, "restricted", "clearance", "42 cm", ("clearance",)) if coming else None

    reports = [ship(minute, 7) for minute in range(0, 720, 30)]
    verdicts = [change(0, 7, "allowed"), change(180, 7, "restricted", SHALLOW), change(240, 7, "allowed")]
    written(store, 1, 720, verdicts, reports)

    assert lines(store, wanted, low_water) == [
        "to log: ANNA (7) is foreseen to become restricted at 2020-06-30 03:00 UTC: clearance",
        "to log: ANNA (7) is restricted since 2020-06-30 03:00 UTC: clearance",
        "to log: ANNA (7) is foreseen to become restricted at 2020-06-30 10:00 UTC: clearance",
    ]
    assert sorted(set(looked)) == list(range(0, 721, LOOK // MINUTE))


def test_what_is_foreseen_of_a_ship_that_is_restricted_already_is_told_of_the_rule_alone(tmp_path, store):
    wanted = subscribed(tmp_path / "alerts.toml", 'within = "2 h"\nrule = "wind"', 'within = "2 h"')
    written(store, 1, 60, [change(0, 7, "restricted", SHALLOW)], [ship(0, 7)])

    def windy(ship, now):
        return Next(START + 90 * MINUTE, "restricted", "wind", "50 kn", ("wind",))

    assert lines(store, wanted, windy) == [
        "to log: ANNA (7) is restricted since 2020-06-30 00:00 UTC: clearance",
        "to log: ANNA (7) is foreseen to become restricted at 2020-06-30 01:30 UTC: wind",
    ]


def test_a_rule_that_is_foreseen_to_hold_again_is_not_told_as_one_that_fails(tmp_path, store):
    wanted = subscribed(
        tmp_path / "alerts.toml",
        'within = "2 h"\nrule = "A"',
        'within = "2 h"\nbecomes = ["allowed"]',
    )
    low, higher, high = (TIDES.check({"vessel": {"mmsi": 7}, "tide": {"height": height}}) for height in (1, 2, 3))
    written(
        store, 1, 10, [change(0, 7, "restricted", *(Failed(each, "", "", "", None) for each in "AB"))], [ship(0, 7)]
    )

    def rising(after):
        return lambda ship, now: _told(START + 60 * MINUTE, low, after)

    now = "to log: ANNA (7) is restricted since 2020-06-30 00:00 UTC: A, B"
    assert lines(store, wanted, rising(higher)) == [now]
    assert lines(store, wanted, rising(high)) == [
        now,
        "to log: ANNA (7) is foreseen to become allowed at 2020-06-30 01:00 UTC",
    ]


def test_of_two_rules_that_are_foreseen_to_fail_at_once_both_are_told(tmp_path, store):
    wanted = subscribed(tmp_path / "alerts.toml", 'within = "2 h"\nrule = "A"', 'within = "2 h"\nrule = "B"')
    written(store, 1, 10, [change(0, 7, "allowed")], [ship(0, 7)])
    high, low = (TIDES.check({"vessel": {"mmsi": 7}, "tide": {"height": height}}) for height in (3, 1))

    told = lines(store, wanted, lambda ship, now: _told(START + 60 * MINUTE, high, low))
    assert told == ["to log: ANNA (7) is foreseen to become restricted at 2020-06-30 01:00 UTC: A, B"] * 2


def test_forecasts_are_looked_at_for_those_alone_whom_somebody_asks_about(tmp_path, store):
    wanted = subscribed(tmp_path / "alerts.toml", 'within = "2 h"\nberth = "red-hook"')
    written(store, 1, 4, [change(0, 7, "allowed"), change(0, 8, "allowed")], [ship(0, 7), ship(0, 8, "bayonne")])
    looked = []

    def look(ship, now):
        looked.append(ship.row["mmsi"])

    lines(store, wanted, look)

    assert set(looked) == {7}


def test_a_failure_of_looking_ahead_is_told_once_and_verdicts_are_told_all_the_same(tmp_path, store):
    wanted = subscribed(tmp_path / "alerts.toml", 'within = "2 h"')
    day = [change(5, 7, "restricted", SHALLOW), change(5, 8, "restricted", SHALLOW)]
    written(store, 1, 10, day, [ship(4, 7), ship(4, 8)])
    said = []

    def broken(ship, now):
        raise ValueError("no forecast")

    with closing(Outbox(tmp_path / "outbox.db")) as outbox:
        assert Alerting(store, wanted, outbox, broken, tell=said.append).step() == 2
    assert said == ["cannot look ahead: ValueError: no forecast"]


def test_beside_a_board_alerts_are_queued_and_sent(tmp_path, store, capsys):
    wanted = subscribed(tmp_path / "alerts.toml", "")
    written(store, 1, 10, [change(5, 7, "restricted", SHALLOW, name="EVA\r\n\x1b[2J")])
    queued = tmp_path / "office.alerts.db"

    with alerting_beside(store.where, wanted, queued, nothing, Event()):
        pass
    with alerting_beside(store.where, wanted, queued, nothing, Event()):
        pass

    (line,) = (tmp_path / "alerts.jsonl").read_text().splitlines()
    assert json.loads(line)["name"] == r"EVA\r\n\x1b[2J"


def test_an_outbox_that_cannot_be_written_for_a_while_loses_no_alert(tmp_path, store, monkeypatch, capsys):
    """The thread that queues them ended."""
    wanted = subscribed(tmp_path / "alerts.toml", "")
    written(store, 1, 10, [change(5, 7, "restricted", SHALLOW)])
    queued, notice, tried = tmp_path / "office.alerts.db", Outbox.notice, Event()

    def failing(*arguments, **named):
        if tried.is_set():
            return notice(*arguments, **named)
        tried.set()
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Outbox, "notice", failing)
    with alerting_beside(store.where, wanted, queued, nothing, Event()):
        assert tried.wait(20)

    assert len((tmp_path / "alerts.jsonl").read_text().splitlines()) == 1
    assert "alerts: database or disk is full; tried again in 1 s" in capsys.readouterr().err


def test_a_store_that_is_lost_for_a_while_loses_no_alert(tmp_path, store, monkeypatch, capsys):
    """The thread that queues them ended."""
    wanted = subscribed(tmp_path / "alerts.toml", "")
    written(store, 1, 10, [change(5, 7, "restricted", SHALLOW)])
    progress, tried = Store.progress, Event()

    def failing(asked):
        if tried.is_set():
            return progress(asked)
        tried.set()
        raise StoreLost("the server closed the connection")

    def failing_to_wait(asked, timeout):
        raise StoreLost("the server closed the connection")

    monkeypatch.setattr(Store, "progress", failing)
    monkeypatch.setattr(Store, "wait", failing_to_wait)
    with alerting_beside(store.where, wanted, tmp_path / "office.alerts.db", nothing, Event()):
        assert tried.wait(20)

    assert len((tmp_path / "alerts.jsonl").read_text().splitlines()) == 1
    assert "alerts: the server closed the connection; tried again in 1 s" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyError("destination"), UnusableStore("no such table: readings")], ids=repr)
def test_an_error_that_does_not_pass_ends_what_alerts_run_beside(error, tmp_path, store, monkeypatch):
    """The thread ended, or tried for ever, and the board went on without alerts and said nothing."""

    def failing(_):
        raise error

    monkeypatch.setattr(Alerting, "step", failing)
    wanted, stop = subscribed(tmp_path / "alerts.toml", ""), Event()
    with pytest.raises(type(error)), alerting_beside(store.where, wanted, tmp_path / "a.db", nothing, stop):
        assert stop.wait(20)


def test_an_outbox_that_is_no_database_is_refused(tmp_path, store):
    (tmp_path / "a.db").write_text("<!doctype html>" * 100)
    wanted = subscribed(tmp_path / "alerts.toml", "")
    with (
        pytest.raises(UnusableStore, match=r"outbox: expected a database, .* but got .*a\.db'"),
        alerting_beside(store.where, wanted, tmp_path / "a.db", nothing, Event()),
    ):
        pass


def test_an_error_of_another_database_is_none_of_the_outbox(tmp_path, store):
    """Whatever stood in the block: it was told as an outbox that is no database."""
    wanted, stop = subscribed(tmp_path / "alerts.toml", ""), Event()
    with (
        pytest.raises(sqlite3.OperationalError, match="no such table: ships"),
        alerting_beside(store.where, wanted, tmp_path / "a.db", nothing, stop),
    ):
        raise sqlite3.OperationalError("no such table: ships")
    assert stop.is_set()


def test_what_cannot_be_foreseen_under_the_rules_is_said_once_and_verdicts_are_told_all_the_same(tmp_path, store):
    wanted = subscribed(tmp_path / "alerts.toml", 'within = "2 h"')
    day = [change(5, 7, "restricted", SHALLOW), change(5, 8, "restricted", SHALLOW)]
    written(store, 1, 10, day, [ship(4, 7), ship(4, 8)])
    said = []

    with closing(Outbox(tmp_path / "outbox.db")) as outbox:
        assert Alerting(store, wanted, outbox, lambda *_: OTHER_SHIPS, tell=said.append).step() == 2
    assert said == [f"what lies ahead is not told: {OTHER_SHIPS.why}"]


def test_alerts_look_ahead_by_the_rules_that_are_in_force_at_the_time(tmp_path, store):
    asked = []

    class Looking(Foresight):
        def __init__(self):
            pass

        def next_change(self, report, now, pack):
            asked.append((now, pack.who))

    with by_rules_in_force(store.where, Looking()) as next_change:
        report = ship(0, 7)
        next_change(report, 3)
        for at, who in ((0, "eva"), (5, "ida")):
            store.change_rules(noted(TIDES, at, at, who, number=at))
            next_change(report, 3)
            next_change(report, 5)
    assert asked == [(3, "eva"), (5, "eva"), (3, "eva"), (5, "ida")]


def test_the_command_prints_what_would_have_been_sent_and_sends_nothing(tmp_path, store, few):
    subscribed(tmp_path / "alerts.toml", "")
    written(store, 1, 10, [change(5, 7, "restricted", SHALLOW, name="EVA\x1b[2J")])
    store.close()
    before = sorted(path.name for path in tmp_path.iterdir())
    options = ["alerts", str(tmp_path / "alerts.toml"), "--store", store.where, "--data", str(few.path), "--dry-run"]

    found = CliRunner().invoke(main, options)

    assert (found.exit_code, found.output) == (
        0,
        "to log: EVA\\x1b[2J (7) is restricted since 2020-06-30 00:05 UTC: clearance\n",
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_the_command_says_what_no_rule_and_no_berth_is_called_and_that_there_is_nothing(tmp_path, store, few):
    subscribed(tmp_path / "alerts.toml", 'rule = "clearence"', 'berth = "nowhere"')
    day = read_day(few.path)
    store.begin("replay", rule_pack("port", day.berths, day.gauges, day.stations), start=0, end=9)
    store.close()
    options = ["alerts", str(tmp_path / "alerts.toml"), "--store", store.where, "--data", str(few.path), "--dry-run"]

    found = CliRunner().invoke(main, options)

    assert (found.exit_code, found.stdout) == (0, "nothing so far that anybody wants to know\n")
    assert "there is no rule 'clearence'" in found.stderr
    assert "there is no berth 'nowhere'" in found.stderr


def test_the_command_refuses_what_it_cannot_use_and_says_what_to_do(tmp_path):
    def refused(*arguments):
        found = CliRunner().invoke(main, ["alerts", *arguments])
        assert found.exit_code == 2
        return found.output

    assert "expected a file of subscriptions" in refused(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_text(TARGET + 'token = "s3cret"\n[[subscription]]\nname = "a"\nto = ["log"]')
    told = refused(str(tmp_path / "bad.toml"))
    assert "expected no secret in the file but there is 'token'" in told
    assert "s3cret" not in told
    subscribed(tmp_path / "alerts.toml", "")
    assert "start the board first" in refused(
        str(tmp_path / "alerts.toml"), "--store", str(tmp_path / "x.db"), "--dry-run"
    )


def test_the_files_that_the_pages_show_are_files_of_subscriptions(tmp_path):
    shown = [block.code for page in PAGES for block in of_language("toml", page)]
    environment = {"OFFICE_TOKEN": "a", "MAIL_PASSWORD": "b"}

    assert shown
    for text in shown:
        assert Subscriptions.from_text(text, tmp_path / "alerts.toml", environment, WORDS).wanted
