"""What an office keeps: changes of verdicts, readings, versions of the rules, and how far each feed is.

In SQLite by default, or in PostgreSQL. A batch is one transaction that also notes its number: one that comes again is
passed over, so a feed may repeat its last batch after a failure. Nothing is ever overwritten, so the office can be seen
as it was at any moment.

It is over 300 lines because all that is asked of the tables stands in one place.

Invariant: writers take turns, so that the ids of what is committed rise in the order of the commits: whoever has seen
all up to an id misses nothing by asking for what is after it.

A store that is lost for a while (`databases`) is waited for by who writes, so that nothing is lost of what was judged,
and an error for who reads.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import wraps
from secrets import token_hex
from threading import RLock
from time import sleep, time_ns
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar, cast

import attrs
import click

from dsl.alerts.messages import plain
from dsl.versions import PackChanges, RuleChange
from examples.port.office.databases import StoreLost, UnusableStore, opened
from examples.port.office.records import Batch, Change, Failed, Missing, Pack, Seen, noted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dsl import RulePack
    from examples.port.office.databases import Database

Given = ParamSpec("Given")
Result = TypeVar("Result")
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS packs (id {id}, version TEXT NOT NULL, at BIGINT NOT NULL, changed BIGINT NOT NULL,"
    " who TEXT NOT NULL, rules TEXT NOT NULL, number BIGINT NOT NULL, whole TEXT NOT NULL,"
    " differs TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS batches (feed TEXT PRIMARY KEY, number BIGINT NOT NULL, until BIGINT NOT NULL,"
    " written BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS changes (id {id}, time BIGINT NOT NULL, mmsi BIGINT NOT NULL, name TEXT NOT NULL,"
    " status TEXT NOT NULL, failed TEXT NOT NULL, missing TEXT NOT NULL, pack TEXT NOT NULL,"
    " what_was_read TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS readings (id {id}, source TEXT NOT NULL, key TEXT NOT NULL, time BIGINT NOT NULL,"
    " fields TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS known (source TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (source, key))",
    "CREATE INDEX IF NOT EXISTS changes_of_a_ship ON changes (mmsi, time, id)",
    "CREATE INDEX IF NOT EXISTS readings_of_a_row ON readings (source, key, time, id)",
)
_CHANGE: Final = "id, time, mmsi, name, status, failed, missing, pack, what_was_read"
_SEEN: Final = "id, source, key, time, fields"
RETRY_S: Final = 1.0
"""Between two tries to write into a store that is lost, in seconds."""
_ANY: Final = 2**63 - 1
"""No time and no id is greater."""
AT_ONCE: Final = 1_000
"""How many rows are asked for at a time by who follows."""


def _transaction(method: Callable[Concatenate[Store, Given], Result]) -> Callable[Concatenate[Store, Given], Result]:
    """Make a method one transaction: it may run more than once, and must change nothing that it has written before."""

    @wraps(method)
    def run(store: Store, /, *given: Given.args, **named: Given.kwargs) -> Result:
        return store._write(lambda: method(store, *given, **named))

    return run


@attrs.frozen
class Progress:
    """How far a feed is: the number of its last batch, until when it has judged, and when that was written."""

    feed: str
    number: int
    until: int
    written: int


class Store:
    """A store, for several threads.

    >>> store = Store(":memory:")
    >>> store.apply(Batch("replay", 1, 5, [Change(5, 244660000, "ANNA", "allowed")]))
    True
    >>> store.apply(Batch("replay", 1, 5, [Change(5, 244660000, "ANNA", "allowed")]))
    False
    >>> [(each.id, each.status) for each in store.changes_after(0)]
    [(1, 'allowed')]
    >>> store.close()

    Args:
        where: A file for SQLite, made if it is not there; ``:memory:``; or how to connect to PostgreSQL: a URL that
            begins with ``postgresql:``.

    Raises:
        NotInstalled: It is a URL, and there is no psycopg.
        UnusableStore: The file is no database, or the server cannot be reached.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._lock = RLock()
        self._database: Database = opened(where)
        self._make()

    @_transaction
    def _make(self) -> None:
        for statement in _TABLES:
            self._database.execute(statement.format(id=self._database.id))
        self._database.execute(
            "INSERT INTO facts VALUES ('identity', ?) ON CONFLICT (name) DO NOTHING", (json.dumps(token_hex(8)),)
        )

    def close(self) -> None:
        """Close it."""
        with self._lock:
            self._database.close()

    def _write(self, statements: Callable[[], Result]) -> Result:
        """Run statements as one transaction, and again, where the store was lost, until they are in it.

        The second try comes at once: where a connection was cut, another is made, and that is all.
        """
        tries = 0
        while True:
            try:
                with self._lock:
                    return self._written(statements)
            except StoreLost as error:
                tries += 1
                if tries == 2:
                    click.echo(f"store: {plain(str(error))}; it is waited for", err=True)
                if tries > 1:
                    sleep(RETRY_S)

    def _written(self, statements: Callable[[], Result]) -> Result:
        try:
            self._database.begin()
            found = statements()
            self._database.end(commit=True)
        except BaseException:
            self._database.end(commit=False)
            raise
        return found

    def _asked(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.execute(statement, values)

    # ------------------------------------------------------------------------------------------------- written

    @contextmanager
    def feeding(self) -> Iterator[None]:
        """Let no other process judge into this store meanwhile; a process that ends, however it does, lets go.

        Raises:
            UnusableStore: One does.
        """
        with self._database.alone() as is_alone:
            if not is_alone:
                message = (
                    f"store: expected to be the only one who judges into {self.where!r} but another process does; end"
                    " that, or show what it writes with --feed none"
                )
                raise UnusableStore(message)
            yield

    @_transaction
    def apply(self, batch: Batch) -> bool:
        """Write a batch; return False, and write nothing, if it or a later one of its feed is there.

        One that has the number of the last, and neither changes nor readings, says that the feed is at work: how far
        it is, and when that was, is noted.
        """
        last = self._database.execute("SELECT number FROM batches WHERE feed = ?", (batch.feed,))
        if last and last[0][0] >= batch.number:
            if last[0][0] == batch.number and not batch.changes and not batch.readings:
                self._database.execute(
                    "UPDATE batches SET until = ?, written = ? WHERE feed = ? AND until <= ?",
                    (batch.until, time_ns() // 1000, batch.feed, batch.until),
                )
            return False
        self._database.execute(
            "INSERT INTO batches VALUES (?, ?, ?, ?) ON CONFLICT (feed) DO UPDATE"
            " SET number = excluded.number, until = excluded.until, written = excluded.written",
            (batch.feed, batch.number, batch.until, time_ns() // 1000),
        )
        self._database.execute_many(
            "INSERT INTO known VALUES (?, ?) ON CONFLICT DO NOTHING",
            sorted({(each.source, each.key) for each in batch.readings}),
        )
        self._database.execute_many(
            "INSERT INTO readings (source, key, time, fields) VALUES (?, ?, ?, ?)",
            [(each.source, each.key, each.time, json.dumps(each.row)) for each in batch.readings],
        )
        self._add_changes(batch.changes)
        return True

    @_transaction
    def change_rules(self, pack: Pack, changes: Sequence[Change] = (), *, proposal: int | None = None) -> None:
        """Write that other rules are in force, and the verdicts that are others by that.

        Args:
            pack: The rules.
            changes: The verdicts.
            proposal: The number of the proposal, if it has one: all up to it are done with.
        """
        last = self._database.execute("SELECT number, version, changed FROM packs ORDER BY id DESC LIMIT 1")
        if last == [(pack.number, pack.version, pack.changed)]:
            return
        self._database.execute(
            "INSERT INTO packs (version, at, changed, who, rules, number, whole, differs)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            _pack_columns(pack),
        )
        self._add_changes(changes)
        self._note({"refused": None} | ({} if proposal is None else {"proposals": proposal}))

    @_transaction
    def refuse(self, why: str, who: str, *, proposal: int | None = None) -> None:
        """Note why the rules that somebody wants are not in force; "": those that are wanted are.

        Args:
            why: The reason.
            who: Who wants them.
            proposal: As for `change_rules`.
        """
        told = {"why": why, "who": who, "changed": time_ns() // 1000} if why else None
        self._note({"refused": told} | ({} if proposal is None else {"proposals": proposal}))

    def _note(self, facts: dict[str, Any]) -> None:
        self._database.execute_many(
            "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [(name, json.dumps(value)) for name, value in facts.items()],
        )

    def _add_changes(self, changes: Sequence[Change]) -> None:
        self._database.execute_many(
            "INSERT INTO known VALUES (?, ?) ON CONFLICT DO NOTHING",
            sorted({("ship", str(each.mmsi)) for each in changes}),
        )
        self._database.execute_many(
            "INSERT INTO changes (time, mmsi, name, status, failed, missing, pack, what_was_read)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [_columns(each) for each in changes],
        )

    def begin(self, feed: str, pack: RulePack, *, start: int, end: int, speed: float | None = None) -> Progress | None:
        """Say that a feed begins, or goes on; return how far it is, None where it begins.

        Args:
            feed: Which one.
            pack: The rules by which it judges, if no others are in force yet.
            start: The first moment that it tells of.
            end: The moment after the last.
            speed: How many times real time; None: as its sources do.

        Raises:
            UnusableStore: Another feed has written into this store: what it says would be mixed with that.
        """
        others = [each.feed for each in self.progress() if each.feed != feed]
        if others:
            message = (
                f"store: expected the feed {others[0]!r}, whose verdicts are in {self.where!r}, but got {feed!r};"
                " name another store"
            )
            raise UnusableStore(message)
        facts = {"feed": feed, "start": start, "end": end, "speed": speed}
        self._write(lambda: self._note(facts))
        if not self.packs():
            self.change_rules(noted(pack, start, time_ns() // 1000, feed))
        return next((each for each in self.progress() if each.feed == feed), None)

    # ---------------------------------------------------------------------------------------------------- read

    def facts(self) -> dict[str, Any]:
        """Return what its feed has noted; nothing before it begins."""
        found = self._asked("SELECT name, value FROM facts WHERE name <> 'identity'")
        return {name: json.loads(value) for name, value in found}

    def identity(self) -> str:
        """Return what tells it from others, also from one that is made anew in its place."""
        ((found,),) = self._asked("SELECT value FROM facts WHERE name = 'identity'")
        return str(json.loads(found))

    def packs(self) -> list[Pack]:
        """Return the versions of the rules, in the order in which they came."""
        rows = self._asked("SELECT version, at, changed, who, rules, number, whole, differs FROM packs ORDER BY id")
        return [_pack(row) for row in rows]

    def refused(self) -> dict[str, Any] | None:
        """Return why the rules that were wanted last are not in force, who wanted them, and when; None: they are."""
        found = self._asked("SELECT value FROM facts WHERE name = 'refused'")
        return json.loads(found[0][0]) if found else None

    def newest_pack(self) -> int:
        """Return the greatest id of a pack; 0: there is none."""
        ((newest,),) = self._asked("SELECT coalesce(max(id), 0) FROM packs")
        return int(newest)

    def progress(self) -> list[Progress]:
        """Return how far each feed is."""
        return [Progress(*row) for row in self._asked("SELECT feed, number, until, written FROM batches ORDER BY feed")]

    def changes_after(self, after: int, most: int = AT_ONCE) -> list[Change]:
        """Return the changes whose ids are greater than ``after``, in order, at most ``most``."""
        rows = self._asked(f"SELECT {_CHANGE} FROM changes WHERE id > ? ORDER BY id LIMIT ?", (after, most))
        return [_change(row) for row in rows]

    def wait_for_changes(self, after: int, timeout: float, most: int = AT_ONCE) -> list[Change]:
        """Return the changes after an id as soon as there are some; none after ``timeout`` seconds."""
        end = time_ns() + int(timeout * 1e9)
        while True:
            found = self.changes_after(after, most)
            left = (end - time_ns()) / 1e9
            if found or left <= 0:
                return found
            self.wait(left)

    def readings_after(self, after: int, most: int = AT_ONCE) -> list[tuple[int, Seen]]:
        """Return the readings whose ids are greater than ``after``, in order, each behind its id."""
        rows = self._asked(f"SELECT {_SEEN} FROM readings WHERE id > ? ORDER BY id LIMIT ?", (after, most))
        return [(row[0], _seen(row)) for row in rows]

    def newest_ids(self) -> tuple[int, int]:
        """Return the greatest id of a change, and of a reading; 0: there is none."""
        ((changes, readings),) = self._asked(
            "SELECT (SELECT coalesce(max(id), 0) FROM changes), (SELECT coalesce(max(id), 0) FROM readings)"
        )
        return changes, readings

    def wait(self, timeout: float) -> None:
        """Return when somebody may have written, in this process or another, or after some seconds."""
        self._database.wait(timeout)

    def ships_at(self, time: int = _ANY, *, newest: int = _ANY) -> list[Change]:
        """Return, for each ship that is judged at a moment, the last change of her verdict until then.

        With ``newest`` it is as if no change had a greater id.
        """
        rows = self._asked(
            f"SELECT {_CHANGE} FROM changes WHERE id IN (SELECT (SELECT c.id FROM changes c"
            " WHERE c.mmsi = CAST(k.key AS BIGINT) AND c.time <= ? AND c.id <= ?"
            " ORDER BY c.time DESC, c.id DESC LIMIT 1) FROM known k WHERE k.source = 'ship') AND status <> 'gone'"
            " ORDER BY mmsi",
            (time, newest),
        )
        return [_change(row) for row in rows]

    def gone_at(self, *, newest: int) -> dict[int, int]:
        """Return when each ship went last that ever has; ``newest`` as for `ships_at`."""
        asked = "SELECT mmsi, MAX(time) FROM changes WHERE status = 'gone' AND id <= ? GROUP BY mmsi"
        return dict(self._asked(asked, (newest,)))

    def all_since(self, time: int) -> dict[int, int]:
        """Return, for each ship ever judged until a moment, from when on she has had the status that she has then."""
        rows = self._asked("SELECT mmsi, time, status FROM changes WHERE time <= ? ORDER BY time, id", (time,))
        last: dict[int, tuple[str, int]] = {}
        for mmsi, when, status in rows:
            if mmsi not in last or last[mmsi][0] != status:
                last[mmsi] = status, when
        return {mmsi: when for mmsi, (_, when) in last.items()}

    def rows_at(self, time: int = _ANY, *, newest: int = _ANY) -> list[Seen]:
        """Return the newest reading of each row of each source at a moment; ``newest`` as for `ships_at`."""
        rows = self._asked(
            f"SELECT {_SEEN} FROM readings WHERE id IN (SELECT (SELECT r.id FROM readings r WHERE r.source = k.source"
            " AND r.key = k.key AND r.time <= ? AND r.id <= ? ORDER BY r.time DESC, r.id DESC LIMIT 1) FROM known k)"
            " ORDER BY id",
            (time, newest),
        )
        return [_seen(row) for row in rows]

    def changes_of(self, mmsi: int, until: int) -> list[Change]:
        """Return the changes of a ship's verdict until a moment, in order."""
        rows = self._asked(
            f"SELECT {_CHANGE} FROM changes WHERE mmsi = ? AND time <= ? ORDER BY time, id", (mmsi, until)
        )
        return [_change(row) for row in rows]


def _columns(change: Change) -> tuple[object, ...]:
    failed = json.dumps([attrs.astuple(each) for each in change.failed])
    missing = json.dumps([[each.rule, each.what] for each in change.missing])
    row = (change.time, change.mmsi, change.name, change.status, failed, missing, change.pack)
    return (*row, json.dumps(dict(change.read)))


def _change(row: tuple[Any, ...]) -> Change:
    id_, time, mmsi, name, status, failed, missing, pack, read = row
    return Change(
        time, mmsi, name, status,
        tuple(Failed(*each) for each in json.loads(failed)),
        tuple(Missing(rule, tuple(what)) for rule, what in json.loads(missing)),
        pack,
        {source: (str(key), int(at)) for source, (key, at) in json.loads(read).items()},
        id_,
    )  # fmt: skip


def _pack_columns(pack: Pack) -> tuple[object, ...]:
    differs = None if pack.differs is None else attrs.asdict(pack.differs)
    about = (pack.version, pack.at, pack.changed, pack.who, json.dumps(pack.rules))
    return (*about, pack.number, pack.text, json.dumps(differs))


def _pack(row: tuple[Any, ...]) -> Pack:
    version, at, changed, who, rules, number, text, differs = row
    named = tuple((name, sentence) for name, sentence in json.loads(rules))
    return Pack(version, at, changed, who, named, number, text, _differences(json.loads(differs)))


def _differences(told: dict[str, Any] | None) -> PackChanges | None:
    if told is None:
        return None
    added, removed, changed = (
        tuple(RuleChange(**each) for each in told[kind]) for kind in ("rules_added", "rules_removed", "rules_changed")
    )
    return PackChanges(added, removed, changed, tuple(told["declarations"]))


def _seen(row: tuple[Any, ...]) -> Seen:
    _, source, key, time, fields = row
    return Seen(source, key, time, cast("dict[str, Any]", json.loads(fields)))
