"""The outbox: alerts that are still to be sent, and the ids of all that ever were, in a file of SQLite.

What is noticed of a feed, and how far the feed has been read, are noted in one transaction: whoever is killed goes on
from there, and queues nothing twice and misses nothing. An alert whose target has said yes keeps its id and loses its
text.

A subscription is told when its condition *begins* to hold of a subject: what it was told last of each is kept too, for
a condition of the same name and words.

Invariant: an id is in it before the message is sent, and "sent" only after the target has said yes.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

import attrs

from cartesius.errors import CartesiusError, block
from dsl.alerts.messages import Message

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from pathlib import Path

    from dsl.alerts.messages import Occasion
    from dsl.alerts.subscriptions import Subscription, Subscriptions

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS alerts (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, target TEXT NOT NULL, line TEXT, body TEXT,
    attempts INTEGER NOT NULL DEFAULT 0, due REAL NOT NULL, sent REAL);
CREATE INDEX IF NOT EXISTS waiting ON alerts (target, due) WHERE sent IS NULL;
CREATE TABLE IF NOT EXISTS told (
    subscription TEXT NOT NULL, subject TEXT NOT NULL, foreseen INTEGER NOT NULL, status TEXT NOT NULL,
    PRIMARY KEY (subscription, subject, foreseen));
CREATE TABLE IF NOT EXISTS positions (
    feed TEXT NOT NULL, part INTEGER NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (feed, part));
"""
_BUSY_S: Final = 30.0


class OutboxInUse(CartesiusError, RuntimeError):
    """Another process sends what is in this outbox; two would send it twice."""


@attrs.frozen
class Waiting:
    """A message that is due, and how often it was tried."""

    message: Message
    attempts: int


@block
def exclusive(path: Path | str) -> Generator[bool]:
    """Give the block whether nobody else has it for that path; a process that ends, however it does, lets go."""
    lock = sqlite3.connect(f"{path}.lock", timeout=0, isolation_level=None)
    try:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            yield False
        else:
            yield True
    finally:
        lock.close()


class Outbox:
    r"""A file of alerts, for one thread; each thread opens its own.

    >>> from datetime import UTC, datetime
    >>> from pathlib import Path
    >>> from dsl.alerts import Occasion, Outbox, Subscriptions
    >>> file = '[target.log]\nfile = "log.jsonl"\n[[subscription]]\nname = "all"\nto = ["log"]'
    >>> wanted = Subscriptions.from_text(file, Path("alerts.toml"), {})
    >>> windy = Occasion(7, "EVA", datetime(2020, 6, 30, 12, tzinfo=UTC), "restricted", ("wind",))
    >>> outbox = Outbox(":memory:")
    >>> outbox.notice(wanted, [windy], "replay", (1,), now=0), outbox.notice(wanted, [windy], "replay", (2,), now=5)
    (1, 0)
    >>> outbox.position("replay"), len(outbox.due("log", now=0))
    ((2,), 1)

    Args:
        path: The file, made if it is not there.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.executescript(_TABLES)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close it."""
        self._connection.close()

    @block
    def alone(self) -> Generator[None]:
        """Let nobody else send from it meanwhile; a process that ends, however it does, lets go.

        Raises:
            OutboxInUse: Somebody does.
        """
        with exclusive(self._path) as is_alone:
            if not is_alone:
                message = (
                    f"{self._path}: expected to be the only one who sends from it but another process does; end that"
                )
                raise OutboxInUse(message)
            yield

    def begin(self, feed: str) -> None:
        """Say which feed is read from now on: where it is another than before, nothing of it has been read or told."""
        with self._transaction():
            self._connection.execute("DELETE FROM positions WHERE feed <> ?", (feed,))
            if not self.position(feed):
                self._connection.execute("DELETE FROM told")

    def position(self, feed: str) -> tuple[int, ...]:
        """Return how far each part of a feed has been read, as it was noted; nothing at first."""
        found = self._connection.execute("SELECT position FROM positions WHERE feed = ? ORDER BY part", (feed,))
        return tuple(int(each) for (each,) in found)

    def notice(
        self,
        subscriptions: Subscriptions,
        occasions: Iterable[Occasion],
        feed: str,
        position: Sequence[int],
        *,
        now: float,
    ) -> int:
        """Queue what is to be told of occasions, and note how far their feed has been read; return how much is new.

        Args:
            subscriptions: Who wants what.
            occasions: In order.
            feed: Whose they are.
            position: How far each part of it has been read with them.
            now: From when on it is due, in seconds.
        """
        number = 0
        with self._transaction():
            for occasion in occasions:
                for subscription in subscriptions.wanted:
                    if self._begins(subscription, occasion):
                        for target in subscription.to:
                            number += self._queue(Message.about(occasion, subscription.name, target), target, now)
            read = [(feed, part, each) for part, each in enumerate(position)]
            self._connection.execute("DELETE FROM positions WHERE feed = ?", (feed,))
            self._connection.executemany("INSERT INTO positions VALUES (?, ?, ?)", read)
        return number

    def due(self, target: str, *, now: float, most: int = 100) -> list[Waiting]:
        """Return the messages for a target that are due, the oldest first."""
        found = self._connection.execute(
            "SELECT id, line, body, attempts FROM alerts WHERE target = ? AND sent IS NULL AND due <= ?"
            " ORDER BY number LIMIT ?",
            (target, now, most),
        )
        return [Waiting(Message(id_, line, body), attempts) for id_, line, body, attempts in found]

    def waiting(self) -> dict[str, int]:
        """Return how many messages wait for each target."""
        counted = "SELECT target, count(*) FROM alerts WHERE sent IS NULL GROUP BY target ORDER BY target"
        return {target: int(number) for target, number in self._connection.execute(counted)}

    def said_yes(self, message: Message, *, now: float) -> None:
        """Note that a target has a message."""
        done = "UPDATE alerts SET sent = ?, line = NULL, body = NULL WHERE id = ?"
        self._connection.execute(done, (now, message.id))

    def said_no(self, message: Message, *, due: float) -> None:
        """Note that a message was tried in vain, and when it is tried again."""
        again = "UPDATE alerts SET attempts = attempts + 1, due = ? WHERE id = ?"
        self._connection.execute(again, (due, message.id))

    def _queue(self, message: Message, target: str, now: float) -> int:
        added = "INSERT OR IGNORE INTO alerts (id, target, line, body, due) VALUES (?, ?, ?, ?, ?)"
        return self._connection.execute(added, (message.id, target, message.line, message.body, now)).rowcount

    def _begins(self, subscription: Subscription, occasion: Occasion) -> bool:
        """Return whether a subscription is to be told: its condition holds, and was not told last of the subject."""
        row = (subscription.condition, str(occasion.subject), occasion.foreseen is not None or occasion.nothing_ahead)
        if not subscription.wants(occasion):
            self._connection.execute("DELETE FROM told WHERE (subscription, subject, foreseen) = (?, ?, ?)", row)
            return False
        last = "SELECT status FROM told WHERE (subscription, subject, foreseen) = (?, ?, ?)"
        found = self._connection.execute(last, row).fetchone()
        if found is not None and found[0] == occasion.status:
            return False
        self._connection.execute("INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?)", (*row, occasion.status))
        return True

    @block
    def _transaction(self) -> Generator[None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # some errors, as of a full disk, have ended it
                self._connection.execute("ROLLBACK")
            raise
