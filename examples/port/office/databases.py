"""The two databases of a store: SQLite, of Python, and PostgreSQL, of psycopg.

What they differ in: how a column counts rows, how writers take turns, and how one learns that another has written.
Whoever waits at SQLite looks for the number of the last commit, every `LOOK_S` seconds; PostgreSQL tells.

A database may be lost for a while: a server restarts, a connection is cut, another process locks a file, a disk is
full. Then `StoreLost` is raised, and whoever asks again is answered once it is there: a connection is made anew. Of a
transaction it is not known whether it was committed: all of it is done again, and must not be in the tables twice.
After any other error it is `UnusableStore`.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from cartesius.errors import CartesiusError
from cartesius.installation import needing
from dsl.alerts.outbox import exclusive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import psycopg

LOOK_S: Final = 0.01
_OPENING_S: Final = 30.0
"""How long a file that another process has locked is waited for until it can be opened, in seconds."""
_BUSY_S: Final = 1.0
"""The same until it counts as lost."""
_LOST: Final = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN
}  # fmt: skip
"""What may pass, of SQLite's errors."""
_CHANNEL: Final = "office"
_ALONE: Final = "SELECT pg_try_advisory_lock(hashtext('cartesius office feed'))"
_NOTICED: Final = {
    "connect_timeout": 10, "keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}  # fmt: skip
"""Within half a minute a connection that nobody answers at is noticed, also where nothing says that it is gone."""


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
    """A store cannot be used: the file is no database, there is no server, a table is gone, nothing may be written."""


class StoreLost(UnusableStore):
    """A store cannot be reached now, or another process keeps it to itself; what was asked may be asked again."""


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
        self._connection = sqlite3.connect(path, timeout=_OPENING_S, isolation_level=None, check_same_thread=False)
        with _told_as_lost():
            self._connection.execute("PRAGMA journal_mode = WAL")  # readers and the writer do not wait for each other
            self._connection.execute("PRAGMA synchronous = NORMAL")  # of a WAL: what is committed outlives a kill
            self._connection.execute(f"PRAGMA busy_timeout = {1000 * _BUSY_S:.0f}")
        self._waiting = threading.local()  # a thread's connection, and the last commit that it has seen
        self._watching: list[sqlite3.Connection] = []

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        with _told_as_lost():
            return self._connection.execute(statement, values).fetchall()

    def execute_many(self, statement: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each."""
        with _told_as_lost():
            self._connection.executemany(statement, values)

    def begin(self) -> None:
        """Begin a transaction, when no other writer is in one."""
        self.execute("BEGIN IMMEDIATE")

    def end(self, commit: bool) -> None:
        """End it."""
        if commit:
            self.execute("COMMIT")
        elif self._connection.in_transaction:  # some errors have ended it already
            self.execute("ROLLBACK")

    def wait(self, timeout: float) -> None:
        """Return when somebody has committed, here or elsewhere, or after some seconds."""
        if self._path == ":memory:":
            time.sleep(min(timeout, LOOK_S))  # there is no other connection that could tell
            return
        mine = self._waiting
        end = time.monotonic() + timeout
        with _told_as_lost():
            if not hasattr(mine, "connection"):  # one of its own: none is told of what it has written itself
                where = f"{Path(self._path).absolute().as_uri()}?mode=ro"
                mine.connection = sqlite3.connect(where, uri=True, check_same_thread=False)
                mine.seen = None
                self._watching.append(mine.connection)
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


@contextmanager
def _told_as_lost() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of it says how it came about
        raise (StoreLost if code in _LOST else UnusableStore)(str(error)) from error


class PostgreSQL:
    """A server; one lock of it lets writers take turns."""

    id: Final = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"

    def __init__(self, url: str) -> None:
        with needing("store", "cartesius-joins[postgresql]"):
            import psycopg  # noqa: PLC0415 - only where it is wanted
            from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - as above

        def connect() -> psycopg.Connection[tuple[Any, ...]]:
            return psycopg.connect(**{**_NOTICED, **conninfo_to_dict(url)}, autocommit=True)  # type: ignore[arg-type]  # options of libpq

        self._connect, self._error, self._errors = connect, psycopg.OperationalError, psycopg.Error
        self._is_within = self._has_alone = False
        try:
            self._connection = connect()
        except psycopg.Error as error:
            raise OSError(str(error).strip()) from error
        self._waiting = threading.local()  # a thread's connection that listens
        self._listening: list[psycopg.Connection[tuple[Any, ...]]] = []

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        try:
            return self._executed(statement, values)
        except StoreLost:
            if self._is_within:
                raise
            return self._executed(statement, values)  # by another connection

    def _executed(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._told_as_lost():
            if self._connection.closed and not self._is_within:
                self._connection = self._connect()
                if self._has_alone and self._connection.execute(_ALONE).fetchone() != (True,):
                    self._connection.close()
                    message = "another process judges into it, or the server has not noticed that this one was cut off"
                    raise StoreLost(message)
            try:
                found = self._connection.execute(_numbered(statement), values)
                return found.fetchall() if found.description else []
            except self._error:
                self._connection.close()  # whatever it was, another one begins afresh
                raise

    @contextmanager
    def _told_as_lost(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise (StoreLost if isinstance(error, self._error) else UnusableStore)(str(error).strip()) from error

    def execute_many(self, statement: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each."""
        with self._told_as_lost(), self._connection.cursor() as cursor:
            cursor.executemany(_numbered(statement), values)

    def begin(self) -> None:
        """Begin a transaction, when no other writer is in one."""
        self.execute("BEGIN")
        self._is_within = True
        self.execute("SELECT pg_advisory_xact_lock(hashtext('cartesius office'))")

    def end(self, commit: bool) -> None:
        """End it."""
        try:
            if commit:
                self.execute(f"NOTIFY {_CHANNEL}")
                self.execute("COMMIT")
            elif not self._connection.closed:
                self.execute("ROLLBACK")
        finally:
            self._is_within = False

    def wait(self, timeout: float) -> None:
        """Return when somebody has committed, here or elsewhere, or after some seconds."""
        mine = self._waiting
        if not hasattr(mine, "connection") or mine.connection.closed:
            with self._told_as_lost():
                mine.connection = self._connect()
                mine.connection.execute(f"LISTEN {_CHANNEL}")
            self._listening.append(mine.connection)
            return  # what was committed before it listened is not told
        try:
            for _ in mine.connection.notifies(timeout=timeout, stop_after=1):
                pass
        except self._error:  # nor is what was committed since; whoever asks the store learns whether it is lost
            mine.connection.close()
            self._listening.remove(mine.connection)

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Give the block whether nobody else has it; a process that ends lets go.

        The connection that writes has it, and another one in its place gets it first: so nobody judges into a store
        that somebody else has taken meanwhile.
        """
        self._has_alone = self.execute(_ALONE) == [(True,)]
        try:
            yield self._has_alone
        finally:
            self._has_alone = False
            with suppress(StoreLost):
                self.execute("SELECT pg_advisory_unlock_all()")

    def close(self) -> None:
        """Close it."""
        for each in (*self._listening, self._connection):
            with suppress(OSError):
                each.close()


def _numbered(statement: str) -> str:
    return statement.replace("?", "%s")
