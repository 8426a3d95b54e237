"""Rules change while the office is at work: from then on it says what it would have said by them all the time."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import closing
from functools import cache
from pathlib import Path
from threading import Event

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cartesius import Event as Item
from dsl import InvalidRule, RulePack
from dsl.versions import FollowedRules
from examples.port.office.following import Following
from examples.port.office.foreseen import Foresight, Next
from examples.port.office.judging import seen_of
from examples.port.office.kafka_feed import KafkaFeed, follow
from examples.port.office.proposals import Proposal, TopicProposals, file_proposals, opened
from examples.port.office.records import noted
from examples.port.office.replay import ONE_DAY, Replay
from examples.port.office.spark_feed import SparkFeed
from examples.port.office.store import Store
from examples.port.rule_changes import RuleChanges
from examples.port.running import Telling, judged_on_spark
from tests.unit.dsl.harbour import save
from tests.unit.examples.test_office_feeds import day_and_rules, told, topics

__all__ = ["day_and_rules"]  # a fixture

TEXT = (Path(__file__).resolve().parents[3] / "examples/rules/new_york.rules").read_text(encoding="utf-8")
HOUR = 3_600_000_000


def wind(most):
    return TEXT.replace("wind velocity must be at most 45 kn", f"wind velocity must be at most {most} kn")


GOOD = [TEXT, wind(1), wind(7), TEXT + "\nlength must be at most 250 m\n    name: too long\n"]
BAD = [
    TEXT + "\nmust\n",
    TEXT.replace("pack: port", "pack: quay"),
    TEXT.replace("depth: metres", "depth: feet"),
    TEXT.replace(
        "wind station is nearest wind station to position", "wind station is nearest wind station to berth position"
    ),
]


@cache
def version(text):
    return RulePack.from_text(text).version


class Office:
    """A replay of a day on a store, by a clock that stands, and a file of rules."""

    def __init__(self, day, file, start=0.0):
        self.day, self.file, self.hours, self.start = day, file, 0.0, start
        self.store = Store(":memory:")
        self.begin()

    def begin(self):
        """Begin, or begin anew: what was known but for the store and the file is lost."""
        packs = self.store.packs()
        rules = FollowedRules(self.file, RulePack.from_text(packs[-1].text) if packs else None)
        self.replay = Replay(
            self.day, rules.pack, self.store, begin=self.day.start + int(self.start * HOUR), speed=3600.0,
            clock=lambda: self.hours, proposals=file_proposals(rules),
        )  # fmt: skip

    def until(self, hour):
        self.hours = hour
        self.replay.step()


def judged(store, time):
    """What is said of each ship; the values are those of when it was first said, which differ."""
    return {each.mmsi: (each.status, [one.rule for one in each.failed], each.missing) for each in store.ships_at(time)}


def check_versions(store):
    """Each verdict is by the rules that were in force at its time; at that of a change, by those before or after it."""
    packs = store.packs()
    for each in store.changes_after(0, 10**6):
        *_, last = [pack.version for pack in packs if pack.at < each.time] or [packs[0].version]
        assert each.pack in {last, *(pack.version for pack in packs if pack.at == each.time)}, each


@pytest.fixture(scope="module")
def fresh(day_and_rules):
    """What the office says at a time if it has had these rules since the beginning."""
    stores = {}

    def found(number, time):
        if number not in stores:
            stores[number] = Store(":memory:")
            day = day_and_rules[0]
            pack = RulePack.from_text(GOOD[number])
            Replay(day, pack, stores[number], begin=day.start + ONE_DAY - 1, speed=1.0, clock=lambda: 0.0).step()
        return judged(stores[number], time)

    return found


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file of rules: always the same, as what is read is kept under its name, too (`_reading_once`)."""
    return tmp_path_factory.mktemp("rules") / "port.rules"


@pytest.fixture(scope="module")
def the_day(day_and_rules):
    """The day behind a call, as hypothesis would print it where it reports a failure."""
    return lambda: day_and_rules[0]


STEPS = st.lists(
    st.tuples(st.floats(0.1, 6), st.sampled_from(["", "", *range(len(GOOD)), "bad"]), st.booleans()),
    min_size=1,
    max_size=4,
)


@example(start=7.0, is_early=True, steps=[(1.0, "", False)])  # what was before 07:00 is judged, not late
@given(start=st.sampled_from([0.0, 7.0]), is_early=st.booleans(), steps=STEPS)
@settings(max_examples=max(2, settings().max_examples // 20))
def test_rules_that_change_at_any_moment_say_what_they_would_have_said(start, is_early, steps, the_day, fresh, file):
    day = the_day()
    save(file, GOOD[0])
    office, in_force, hour, bad = Office(day, file, start), 0, 0.0, 0
    if is_early:  # killed before its first batch, and the file changed
        save(file, GOOD[1])
        in_force = 1
        office.begin()
        office.until(0.0)
    office.until(0.0)
    for hours, change, is_killed in steps:
        if isinstance(change, int):
            save(file, GOOD[change])
            in_force = change
        elif change == "bad":
            bad += 1
            save(file, BAD[bad % len(BAD)])
        hour += hours
        office.until(hour)
        now = day.start + int(min(start + hour, 24) * HOUR)
        assert judged(office.store, now) == fresh(in_force, now)
        assert office.store.packs()[-1].version == version(GOOD[in_force])
        assert (office.store.refused() is None) == (file.read_text() in GOOD)
        if is_killed:
            office.begin()
    check_versions(office.store)
    packs = office.store.packs()
    for each in range(25):
        now = day.start + each * HOUR
        if now <= day.start + (start + hour) * HOUR:
            last = [pack.version for pack in packs if pack.at <= now][-1]
            assert judged(office.store, now) == fresh([version(text) for text in GOOD].index(last), now)


def test_a_change_while_the_office_was_closed_holds_when_it_opens(day_and_rules, fresh, file):
    day = day_and_rules[0]
    save(file, GOOD[0])
    office = Office(day, file)
    office.until(7.0)
    office.until(8.0)
    before = told(office.store)
    save(file, GOOD[1])
    office.begin()
    office.until(8.0)
    changes, readings = told(office.store)
    assert readings == before[1]
    assert {each.pack for each in changes if each not in before[0]} == {version(GOOD[1])}
    assert judged(office.store, day.start + 8 * HOUR) == fresh(1, day.start + 8 * HOUR)


def test_rules_that_are_refused_lose_no_change_that_time_alone_has_made(day_and_rules, file):
    """Readings grow too old without a new one; to try other rules moves the clock, refused or not."""
    day = day_and_rules[0]
    stale = TEXT.replace("source wind by station:", "source wind by station, stale after 20 minutes:")
    offices = []
    for is_tried in (False, True):
        save(file, stale)
        office = Office(day, file)
        for hour in (0.5, 2.35, 2.5, 4.0, 24.0):  # at 02:20 the wind is too old, and at 02:24 the next reading comes
            office.until(hour)
            save(file, stale.replace("pack: port", "pack: quay") if is_tried and hour == 2.35 else stale)
        offices.append(office)
    plain, tried = (told(office.store) for office in offices)
    assert {each.status for each in plain[0]} >= {"allowed", "unknown"}
    assert tried == plain


def test_the_stream_tells_who_changed_what_and_why_something_is_refused(day_and_rules, file):
    day = day_and_rules[0]
    save(file, GOOD[0])
    office = Office(day, file)
    office.until(1.0)
    following = Following(office.store, day)

    def news():
        last = following.after(None)[-1].id
        office.until(office.hours)
        following.look()
        return [json.loads(each.data) for each in following.after(last) if each.event == "pack"]

    save(file, BAD[0])
    (said,) = news()
    assert (len(said["changes"]), said["refused"]["who"]) == (1, file.owner())
    assert "port.rules" in said["refused"]["why"]
    assert news() == []
    save(file, GOOD[3])
    (said,) = news()
    assert said["refused"] is None
    assert (said["version"], said["who"]) == (version(GOOD[3]), file.owner())
    assert said["changes"][1]["rules_added"] == ["too long"]


def test_a_file_about_another_harbour_begins_no_office_and_changes_none(day_and_rules, tmp_path):
    file, rules = tmp_path / "port.rules", day_and_rules[1]
    head = "pack: port\nsubject: crane\nsource crane by id:\n    id: text\n    reach: metres\n"
    save(file, head + "reach must be at most 90 m\n")
    with pytest.raises(InvalidRule, match=r"port.rules: expected rules over vessel, .* but got 'crane'"):
        opened(file, rules)
    assert opened(file, rules, [noted(rules, 0, 0, "eva")]).pack.version == rules.version


# ----------------------------------------------------------------------------------------------------------- a topic


class Records:
    """A topic of rules, which never ends."""

    def __init__(self, *rows):
        self.rows = rows

    async def __aiter__(self):
        for row in self.rows:
            yield Item(row, 0, 0)
        await asyncio.Event().wait()


def test_a_topic_of_rules_changes_them_once(day_and_rules, fresh):
    day, rules = day_and_rules
    store = Store(":memory:")
    rows = [
        {"who": "eva", "text": GOOD[1]},
        {"who": "mallory", "text": BAD[2]},
        "no object",
        {"who": "ida", "text": GOOD[2]},
    ]

    def run(*rows, until=ONE_DAY):
        """Follow the topics from their beginnings, as a process does that begins."""
        proposals = TopicProposals(store.facts().get("proposals", 0))
        packs = store.packs()
        feed = KafkaFeed(store, day, RulePack.from_text(packs[-1].text) if packs else rules, proposals)
        asyncio.run(follow(feed, topics(day, feed.sources, until), Event(), (proposals, Records(*rows))))

    run(*rows[:2], until=ONE_DAY // 3)
    assert [(each.version, each.who) for each in store.packs()] == [(rules.version, "kafka"), (version(GOOD[1]), "eva")]
    assert (store.refused() or {})["who"] == "mallory"
    run(*rows)
    assert [each.who for each in store.packs()] == ["kafka", "eva", "ida"]
    assert store.refused() is None
    assert judged(store, day.start + ONE_DAY) == fresh(2, day.start + ONE_DAY)
    check_versions(store)
    before = told(store), store.packs()
    run(*rows)
    assert (told(store), store.packs()) == before


def test_rules_that_read_less_lose_no_reading_and_can_be_taken_back(day_and_rules):
    day, rules = day_and_rules
    head = re.sub(r"places wind station:\n(    .*\n)+|    wind station is .*\n", "", TEXT.split("define gust")[0])
    less = head + "length must be at most 250 m\n"
    assert "wind" not in RulePack.from_text(less).sources

    def run(store, *rows, until=ONE_DAY):
        proposals = TopicProposals(store.facts().get("proposals", 0))
        packs = store.packs()
        feed = KafkaFeed(store, day, RulePack.from_text(packs[-1].text) if packs else rules, proposals)
        asyncio.run(follow(feed, topics(day, feed.sources, until), Event(), (proposals, Records(*rows))))

    store, undisturbed = Store(":memory:"), Store(":memory:")
    run(store, {"text": less}, until=ONE_DAY // 3)
    assert store.packs()[-1].version == version(less)
    run(store, {"text": less})
    run(undisturbed)
    assert told(store)[1] == told(undisturbed)[1]
    run(store, {"text": less}, {"text": TEXT})
    assert (store.packs()[-1].version, store.refused()) == (version(TEXT), None)


PLACES = ['    "8519483": 40.63911, -74.14631\n', '    "EWR": 40.6925, -74.1687\n', '    "n03020": 40.6064, -74.038\n']


def test_places_that_the_first_rules_of_a_store_leave_out_come_back(day_and_rules, fresh, file):
    """They were refused, and the store with them: what is of the harbour went by those rules, not by the harbour."""
    day, fewer = day_and_rules[0], TEXT
    for each in PLACES:
        assert each in fewer
        fewer = fewer.replace(each, "")
    save(file, fewer)
    office = Office(day, file)
    office.until(1.0)
    assert office.store.packs()[0].version == version(fewer)
    save(file, TEXT)
    office.until(1.0)
    assert (office.store.packs()[-1].version, office.store.refused()) == (version(TEXT), None)
    assert judged(office.store, day.start + HOUR) == fresh(0, day.start + HOUR)
    save(file, TEXT.replace(PLACES[0], '    "8519483": 41.0, -74.0\n'))
    office.until(office.hours)
    assert "the links and places of the harbour" in (office.store.refused() or {})["why"]


def test_places_that_the_first_rules_of_a_run_on_spark_leave_out_come_back(day_and_rules, tmp_path):
    file = tmp_path / "port.rules"
    save(file, TEXT.replace(PLACES[0], ""))
    changes = RuleChanges(FollowedRules(file), tmp_path / "changes", lambda _: None, day_and_rules[1])
    save(file, TEXT)
    changes.look(1)
    (change,) = (tmp_path / "changes").glob("*.json")
    assert json.loads(change.read_text())["version"] == version(TEXT)


def test_what_is_wrong_with_a_record_is_said():
    topic = TopicProposals()
    topic.take([1])
    topic.take({"text": "pack: port"})
    first, second = topic()
    assert first == Proposal(None, "the topic of rules", "expected an object with the rules as its text but got [1]", 1)
    assert "rules of the topic" in second.wrong


# ------------------------------------------------------------------------------------------------------------- Spark


def test_a_run_on_spark_without_a_file_does_not_mix_its_rules_with_those_of_a_store(day_and_rules, tmp_path, capsys):
    day, rules = day_and_rules
    where = str(tmp_path / "office.db")
    with closing(Store(where)) as store:
        SparkFeed(store, day, RulePack.from_text(GOOD[1]), 60)
    telling = Telling(print, print, print)
    with pytest.raises(SystemExit):
        judged_on_spark(day, rules, tmp_path, 60, 2, telling, where)
    said = " ".join(capsys.readouterr().err.split())
    assert f"expected the rules {version(GOOD[1])}, which are in force there, but got {rules.version}" in said


def test_a_run_on_spark_that_begins_anew_has_the_same_rules_in_the_same_micro_batches(day_and_rules, file, tmp_path):
    day, store, lines = day_and_rules[0], Store(":memory:"), []
    save(file, GOOD[0])

    def begin(folder):
        rules = FollowedRules(file)
        office = SparkFeed(store, day, rules.pack, 60)
        return office, RuleChanges(rules, tmp_path / folder, lines.append, day_and_rules[1], office)

    def published(folder):
        return [json.loads(each.read_text())["version"] for each in sorted((tmp_path / folder).glob("*.json"))]

    office, changes = begin("first")
    office.write([], 0)
    changes.look(1)
    save(file, GOOD[1])
    office.write([], 1)
    changes.look(2)
    save(file, BAD[1])
    office.write([], 2)
    changes.look(3)
    assert published("first") == [version(GOOD[1])]
    assert "the outputs were 'port' and are 'quay'" in (store.refused() or {})["why"]
    assert [(each.version, each.number, each.at) for each in store.packs()] == [
        (version(GOOD[0]), 0, day.start), (version(GOOD[1]), 2, day.start + 2 * HOUR),
    ]  # fmt: skip
    save(file, GOOD[2])
    office, changes = begin("second")  # the driver died
    assert changes.pack.version == version(GOOD[0])
    seen = []
    for number in range(4):
        office.write([], number)
        changes.look(number + 1)
        seen.append(len(published("second")))
    assert published("second") == [version(GOOD[1]), version(GOOD[2])]
    assert seen == [0, 1, 2, 2]  # that of the file at the first micro-batch that is new
    assert store.packs()[-1].number == 3


def test_rules_that_read_less_than_the_harbour_s_are_looked_ahead_by(day_and_rules):
    """A field or a source that they did not declare ended all alerts, and the board's looking ahead."""
    day, _ = day_and_rules
    head = TEXT.partition("define a yacht")[0].replace("    course: degrees\n", "")
    less = re.sub(r"(source stream by|places stream station:).*?\n\n", "", head, flags=re.DOTALL)
    less = less.replace("    stream station is nearest stream station to position\n", "")
    pack = RulePack.from_text(less + "wind velocity must be at most 5 kn\n    name: calm\n")
    ship = next(seen_of(each) for each in day.readings if each.source == "vessel")
    told = Foresight(day).next_change(ship, ship.time, noted(pack, day.start, 0, "eva"))
    assert isinstance(told, Next)
    assert told.rule == "calm"
