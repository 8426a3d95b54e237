"""The outbox queues what begins to hold, once, and a feed that is read again queues nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from dsl.alerts import Occasion, Outbox, Subscriptions
from tests.laws.interruption import Lines

NOON = datetime(2020, 6, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def wanted(more: str = "") -> Subscriptions:
    text = f'[target.log]\nfile = "log.jsonl"\n[[subscription]]\nname = "all"\nto = ["log"]\n{more}'
    return Subscriptions.from_text(text, Path("alerts.toml"), {})


def queued(subscriptions: Subscriptions, *occasions: Occasion) -> list[int]:
    """How many alerts each occasion queues, one after the other."""
    with closing(Outbox(":memory:")) as outbox:
        return [outbox.notice(subscriptions, [each], "feed", (n,), now=0) for n, each in enumerate(occasions)]


def at(hours: int, status: str, *failed: str) -> Occasion:
    return Occasion(7, "EVA", NOON + hours * HOUR, status, failed)


def ahead(hours: float, foreseen: float, status: str = "restricted") -> Occasion:
    return Occasion(7, "EVA", NOON + hours * HOUR, status, ("clearance",), foreseen=NOON + foreseen * HOUR)


def nothing_ahead(hours: float) -> Occasion:
    return Occasion(7, "EVA", NOON + hours * HOUR, "allowed", nothing_ahead=True)


def test_a_subject_is_told_when_it_becomes_restricted_and_not_for_each_other_reason() -> None:
    day = [at(0, "allowed"), at(1, "restricted", "wind"), at(2, "restricted", "wind", "gust"), at(3, "allowed")]

    assert queued(wanted(), *day, at(4, "restricted", "wind")) == [0, 1, 0, 0, 1]


def test_of_two_statuses_each_is_told() -> None:
    both = wanted('becomes = ["restricted", "allowed"]')

    assert queued(both, at(0, "allowed"), at(1, "restricted"), at(2, "allowed")) == [1, 1, 1]


def test_a_rule_is_told_when_it_begins_to_fail() -> None:
    gusts = wanted('rule = "gust"')

    assert queued(
        gusts, at(1, "restricted", "wind"), at(2, "restricted", "wind", "gust"), at(3, "restricted", "wind")
    ) == [*(0, 1, 0)]


def test_a_subscription_that_was_edited_is_told_what_it_asks_for_now() -> None:
    """What it had been told before, of another rule, kept it from being told."""
    with closing(Outbox(":memory:")) as outbox:
        clearance, gust = wanted('rule = "clearance"'), wanted('rule = "gust"')
        assert outbox.notice(clearance, [at(1, "restricted", "clearance")], "feed", (1,), now=0) == 1
        assert outbox.notice(gust, [at(2, "restricted", "clearance", "gust")], "feed", (2,), now=0) == 1
        assert outbox.notice(gust, [at(3, "restricted", "gust")], "feed", (3,), now=0) == 0


def test_what_is_foreseen_is_told_once_it_is_near_and_once_until_it_is_over() -> None:
    soon = wanted('within = "2 h"')
    day = [ahead(0, 3), ahead(1, 3), ahead(1.5, 3), ahead(2, 3.1), nothing_ahead(2.5), ahead(3, 4)]

    assert queued(soon, *day) == [0, 1, 0, 0, 0, 1]


def test_what_is_foreseen_and_what_is_are_told_apart() -> None:
    assert queued(wanted('within = "2 h"'), ahead(1, 2), at(2, "restricted", "clearance")) == [1, 1]


def test_a_feed_that_is_read_again_from_its_beginning_queues_nothing() -> None:
    day = [at(1, "restricted", "wind"), at(3, "allowed"), at(4, "restricted", "wind")]
    with closing(Outbox(":memory:")) as outbox:
        assert outbox.notice(wanted(), day, "feed", (3,), now=0) == 2
        assert outbox.notice(wanted(), day, "feed", (3,), now=9) == 0


def test_another_feed_begins_anew() -> None:
    with closing(Outbox(":memory:")) as outbox:
        for feed, hours in (("monday", 1), ("monday", 2), ("tuesday", 3)):
            outbox.begin(feed)
            new = outbox.notice(wanted(), [at(hours, "restricted")], feed, (hours,), now=0)
            assert new == (hours != 2)
        assert (outbox.position("monday"), outbox.position("tuesday")) == ((), (3,))


def test_what_was_noticed_and_how_far_the_feed_is_are_noted_together_or_not_at_all(tmp_path: Path) -> None:
    def broken() -> object:
        yield at(1, "restricted")
        raise RuntimeError("torn")

    with closing(Outbox(tmp_path / "outbox.db")) as outbox:
        with pytest.raises(RuntimeError, match="torn"):
            outbox.notice(wanted(), broken(), "feed", (7, 9), now=0)  # type: ignore[arg-type]  # a generator is iterable

        assert (outbox.position("feed"), outbox.waiting()) == ((), {})
        assert outbox.notice(wanted(), [at(1, "restricted")], "feed", (7, 9), now=0) == 1
        assert (outbox.position("feed"), outbox.waiting()) == ((7, 9), {"log": 1})


def test_a_full_disk_is_told_as_it_is_and_leaves_all_as_it_was() -> None:
    """SQLite has ended the transaction by itself, and that there was none to take back was told instead."""
    with closing(Outbox(":memory:")) as outbox:
        (pages,) = outbox._connection.execute("PRAGMA page_count").fetchone()
        outbox._connection.execute(f"PRAGMA max_page_count = {pages + 4}")
        many = [Occasion(ship, "EVA", NOON, "restricted", ("wind",)) for ship in range(1000)]
        with pytest.raises(sqlite3.OperationalError, match="full"):
            outbox.notice(wanted(), many, "feed", (1000,), now=0)
        assert (outbox.position("feed"), outbox.waiting()) == ((), {})
        assert outbox.notice(wanted(), many[:1], "feed", (1,), now=0) == 1


def test_who_is_interrupted_anywhere_has_noted_all_or_nothing_and_may_go_on() -> None:
    for line in count():
        interrupted = Lines(KeyboardInterrupt, line)
        with closing(Outbox(":memory:")) as outbox:
            with suppress(KeyboardInterrupt):
                interrupted.run(partial(outbox.notice, wanted(), [at(1, "allowed")], "feed", (7,), now=0))
            assert not outbox._connection.in_transaction, interrupted.where
            assert outbox.notice(wanted(), [at(2, "restricted")], "feed", (9,), now=0) == 1
        if not interrupted.raised:
            break
    assert line > 10


def test_a_feed_of_fewer_parts_than_before_is_as_far_as_it_was_noted_last() -> None:
    with closing(Outbox(":memory:")) as outbox:
        for position in ((5, 6, 7), (8,), (), (2, 3)):
            outbox.notice(wanted(), [], "feed", position, now=0)
            assert outbox.position("feed") == position


def test_where_nothing_of_a_feed_was_read_nothing_was_told_of_it() -> None:
    """What an outbox has told of a feed whose position is lost kept another feed from being told."""
    with closing(Outbox(":memory:")) as outbox:
        outbox.notice(wanted(), [at(1, "restricted")], "monday", (1,), now=0)
        outbox._connection.execute("DELETE FROM positions")
        outbox.begin("tuesday")
        assert outbox.notice(wanted(), [at(2, "restricted")], "tuesday", (1,), now=0) == 1


def test_the_text_of_what_was_sent_is_forgotten_and_its_id_is_not() -> None:
    with closing(Outbox(":memory:")) as outbox:
        outbox.notice(wanted(), [at(1, "restricted")], "feed", (1,), now=0)
        (waiting,) = outbox.due("log", now=0)
        outbox.said_yes(waiting.message, now=1)

        assert outbox.due("log", now=9) == []
        assert outbox.notice(wanted(), [at(0, "allowed"), at(1, "restricted")], "feed", (2,), now=0) == 0
