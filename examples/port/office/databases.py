"""The two databases of a store: SQLite, of Python, and PostgreSQL, of psycopg.

What they differ in: how a column counts rows, how writers take turns, and how one learns that another has written.
Whoever waits at SQLite looks for the number of the last commit, every `LOOK_S` seconds; PostgreSQL tells.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from cartesius.errors import CartesiusError
from cartesius.installation import needing
from dsl.alerts.outbox import exclusive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import psycopg

LOOK_S: Final = 0.01
_BUSY_S: Final = 30.0
_CHANNEL: Final = "office"


class Database(Protocol):
    """A connection; statements have ``?`` for values."""

    @property
    def id(self) -> str:
        """How a column is declared that counts rows."""
        ...

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        ...

    def execute_many(self, statement: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each."""
        ...

    def begin(self) -> None:
        """Begin a transaction, when no other writer is in one."""
        ...

    def end(self, commit: bool) -> None:
        """End it."""
        ...

    def wait(self, timeout: float) -> None:
        """Return when somebody has committed, here or elsewhere, or after some seconds."""
        ...

    def alone(self) -> AbstractContextManager[bool]:
        """Give the block whether nobody else has it; a process that ends lets go."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class UnusableStore(CartesiusError, OSError):
    """A store cannot be opened: the file is no database, or there is no server."""


def is_url(where: str) -> bool:
    """Return whether a store is on a server.

    >>> is_url("postgresql://me@there/port"), is_url("out/2020-06-30T00:00/office.db")
    (True, False)
    """
    return where.startswith(("postgresql:", "postgres:"))


def opened(where: str) -> Database:
    """Open a database: a file, or a URL that begins with ``postgresql:``."""
    try:
        return PostgreSQL(where) if is_url(where) else SQLite(where)
    except (sqlite3.Error, OSError) as error:
        message = f"store: expected a database, or a place for a new one, but got {where!r}: {error}"
        raise UnusableStore(message) from error


class SQLite:
    """A file, of which several processes may have connections."""

    id: Final = "INTEGER PRIMARY KEY AUTOINCREMENT"

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")  # readers and the writer do not wait for each other
        self._connection.execute("PRAGMA synchronous = NORMAL")  # of a WAL: what is committed outlives a kill
        self._waiting = threading.local()  # a thread's connection, and the last commit that it has seen
        self._watching: list[sqlite3.Connection] = []

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        return self._connection.execute(statement, values).fetchall()

    def execute_many(self, statement: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each."""
        self._connection.executemany(statement, values)

    def begin(self) -> None:
        """Begin a transaction, when no other writer is in one."""
        self._connection.execute("BEGIN IMMEDIATE")

    def end(self, commit: bool) -> None:
        """End it."""
        self._connection.execute("COMMIT" if commit else "ROLLBACK")

    def wait(self, timeout: float) -> None:
        """Return when somebody has committed, here or elsewhere, or after some seconds."""
        if self._path == ":memory:":
            time.sleep(min(timeout, LOOK_S))  # there is no other connection that could tell
            return
        mine = self._waiting
        if not hasattr(mine, "connection"):  # one of its own: a connection is not told of what it has written itself
            mine.connection = sqlite3.connect(f"file:{self._path}?mode=ro", uri=True, check_same_thread=False)
            mine.seen = None
            self._watching.append(mine.connection)
        end = time.monotonic() + timeout
        while (now := mine.connection.execute("PRAGMA data_version").fetchone()) == mine.seen:
            if time.monotonic() >= end:
                return
            time.sleep(LOOK_S)
        mine.seen = now

    def alone(self) -> AbstractContextManager[bool]:
        """Give the block whether nobody else has it; a process that ends lets go."""
        return nullcontext(True) if self._path == ":memory:" else exclusive(self._path)

    def close(self) -> None:
        """Close it."""
        for each in (*self._watching, self._connection):
            each.close()


class PostgreSQL:
    """A server; one lock of it lets writers take turns."""

    id: Final = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"

    def __init__(self, url: str) -> None:
        with needing("store", "cartesius-joins[postgresql]"):
            import psycopg  # noqa: PLC0415 - only where it is wanted

        def connect() -> psycopg.Connection[tuple[Any, ...]]:
            return psycopg.connect(url, autocommit=True)

        self._connect = connect
        try:
            self._connection = connect()
        except psycopg.Error as error:
            raise OSError(str(error).strip()) from error
        self._waiting = threading.local()  # a thread's connection that listens
        self._listening: list[psycopg.Connection[tuple[Any, ...]]] = []

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        found = self._connection.execute(_numbered(statement), values)
        return found.fetchall() if found.description else []

    def execute_many(self, statement: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_numbered(statement), values)

    def begin(self) -> None:
        """Begin a transaction, when no other writer is in one."""
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT pg_advisory_xact_lock(hashtext('cartesius office'))")

    def end(self, commit: bool) -> None:
        """End it."""
        if commit:
            self._connection.execute(f"NOTIFY {_CHANNEL}")
        self._connection.execute("COMMIT" if commit else "ROLLBACK")

    def wait(self, timeout: float) -> None:
        """Return when somebody has committed, here or elsewhere, or after some seconds."""
        mine = self._waiting
        if not hasattr(mine, "connection"):
            mine.connection = self._connect()
            mine.connection.execute(f"LISTEN {_CHANNEL}")
            self._listening.append(mine.connection)
            return  # what was committed before it listened is not told
        for _ in mine.connection.notifies(timeout=timeout, stop_after=1):
            pass

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Give the block whether nobody else has it; a process that ends lets go."""
        with self._connect() as connection:
            found = connection.execute("SELECT pg_try_advisory_lock(hashtext('cartesius office feed'))").fetchone()
            yield bool(found and found[0])

    def close(self) -> None:
        """Close it."""
        for each in (*self._listening, self._connection):
            with suppress(OSError):
                each.close()


def _numbered(statement: str) -> str:
    return statement.replace("?", "%s")
