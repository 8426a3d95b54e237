"""The question why, and its answer: a verdict at a moment, made again from what is stored.

What is stored is a history, and the rules: a file, or the log of packs, of which those count that were in force. From
the newest rows of each key until the moment the pack makes its judgement, by the same joins as an engine that runs: so
the answer is what was said then, and is the same whenever it is asked.

Invariant: nothing in an answer depends on when, where or by whom it is asked.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.data.events import EPOCH
from cartesius.drawing.markup import visible
from cartesius.errors import InvalidArgument
from dsl.audit.answer_data import iso, requirement_data, shown_data
from dsl.audit.subjects import named
from dsl.histories import History
from dsl.histories.history_folders import in_order
from dsl.histories.newest_rows import newest
from dsl.meaning.term_expressions import STALE
from dsl.rule_packs import RulePack
from dsl.terms.dimensions import INSTANT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from dsl.english.naming import Names
    from dsl.histories.newest_rows import Newest
    from dsl.judgements.accounts import Account
    from dsl.meaning.verdicts import Shown, Verdict
    from dsl.terms.terms import Declaration


@attrs.frozen
class ReadRow:
    """A row that was looked at.

    Args:
        source: Whose.
        key: Its key; None where all share one row, or there was none.
        time: When it was observed, in microseconds since the epoch; None: there was no row.
        values: Its fields, with their units: what they were.
        is_stale: Whether it was too old to count.
        count: Of a forecast or of what is totalled: how many rows; else 1, or 0 for none.
    """

    source: str
    key: Any
    time: int | None
    values: tuple[Shown, ...] = ()
    is_stale: bool = False
    count: int = 1


@attrs.frozen
class Answer:
    """Why a verdict was given.

    Args:
        subject: The subject's key.
        kind: What the subject is: the name of its source.
        name: What it was called; None where its source has no such field.
        at: The moment, in microseconds since the epoch.
        pack: The version of the rules.
        pack_name: What they are called.
        since: From when on these rules were in force, and who put them there; None: they are from a file.
        account: The verdict and all that led to it; None: there was none, as the subject was not considered.
        rows: The rows that were looked at.
        unread: How many rows of the history, as far as it was read for this, could not be read, and so did not count.
        names: How the fields of the pack are called.
    """

    subject: Any
    kind: str
    name: str | None
    at: int
    pack: str
    pack_name: str
    since: tuple[datetime, str] | None
    account: Account | None
    rows: tuple[ReadRow, ...]
    unread: int
    names: Names

    @property
    def verdict(self) -> Verdict | None:
        """The verdict; None where there was none."""
        return None if self.account is None else self.account.verdict

    def data(self) -> dict[str, Any]:
        """Return the answer as plain data, for JSON."""
        since = None
        if self.since is not None:
            since = {"at": self.since[0].isoformat(), "who": self.since[1]}
        accounted = () if self.account is None else self.account.requirements
        return {
            "subject": self.subject,
            "kind": self.kind,
            "name": self.name,
            "at": iso(self.at),
            "status": None if self.verdict is None else self.verdict.status,
            "pack": {"name": self.pack_name, "version": self.pack, "since": since},
            "requirements": [requirement_data(each, self.names) for each in accounted],
            "rows": [self._row(each) for each in self.rows],
            "unread": self.unread,
        }

    def _row(self, row: ReadRow) -> dict[str, Any]:
        return {
            "source": row.source,
            "key": row.key,
            "time": None if row.time is None else iso(row.time),
            "age_s": None if row.time is None else (self.at - row.time) / 1_000_000,
            "stale": row.is_stale,
            "rows": row.count,
            "values": [shown_data(each) for each in row.values],
        }


def why(rules: RulePack | Path, data: Path | str, subject: str, at: datetime) -> Answer:
    """Say why the verdict about a subject was what it was.

    Args:
        rules: The pack; or the log of packs, of which the one is taken that was in force.
        data: The folder of the history.
        subject: The subject's key, or its name.
        at: The moment; what was observed at it counts.

    Raises:
        InvalidArgument: No such subject then, a time before the history or before any rules, or the history or the log
            cannot be read.
        InvalidRule: The logged rules cannot be read.
    """
    if isinstance(rules, RulePack):
        pack, version, since = rules, rules.version, None
    else:
        pack, version, since = _in_force(rules, at)
    moment = (at - EPOCH) // timedelta(microseconds=1)
    history = History(data, pack)
    declared = pack.declarations
    kind = next(iter(declared.values()))
    there = newest(history, moment)
    unread = history.number_unread
    key = _subject(history, there, kind, subject, at, moment)
    rows = {name: there.rows(name) for name in declared}
    own = next(row for row, _ in rows[kind.name] if row[kind.key or ""] == key)
    account = pack.account(in_order(pack.sources, rows), key, moment)
    read = _read(declared, rows, key, account)
    name = own.get("name")
    called = name if isinstance(name, str) else None
    return Answer(key, kind.name, called, moment, version, pack.name, since, account, tuple(read), unread, pack.names)


def _in_force(path: Path, at: datetime) -> tuple[RulePack, str, tuple[datetime, str]]:
    """Return the pack that was in force, its version as it was logged, since when, and who put it there."""
    from dsl.versions import PackLog  # noqa: PLC0415 - who names a file of rules has no log

    if not path.is_file():
        message = f"{path}: expected a log of packs but there is none; name one with --packs, or a file with --rules"
        raise InvalidArgument(message)
    log = PackLog(path)
    found = log.in_force(at)
    if found is None:
        first = min((each.at for each in log.packs()), default=None)
        begins = (
            "it has none yet; log one with PackLog.add, or name a file with --rules"
            if first is None
            else f"its first is in force from {first.isoformat()} on; ask for a later time"
        )
        message = f"{path}: expected rules that were in force at {at.isoformat()} but {begins}"
        raise InvalidArgument(message)
    return found.pack(), found.version, (found.at, found.who)


def _subject(history: History, there: Newest, kind: Declaration, subject: str, at: datetime, moment: int) -> Any:
    if there.first is None or moment < there.first:
        begins = "has no rows" if there.first is None else f"begins at {iso(there.first)}"
        message = f"why: expected a time within the history but got {at.isoformat()}, and {history.folder} {begins}"
        msg = f"{message}; ask for a later time{_unread(history)}"
        raise InvalidArgument(msg)
    when = f"at {iso(moment)}"
    rows = [row for row, _ in there.rows(kind.name)]
    try:
        return named(kind, rows, subject, when)
    except InvalidArgument as error:
        first = _first_seen(history, kind, subject)
        if first is None:
            message = f"{error}{_unread(history)}"
            raise InvalidArgument(message) from None
        if first <= moment:
            raise
        message = f"why: {visible(subject)} is not known {when}: the first row of it is of {iso(first)}"
        msg = f"{message}; ask for that time or later"
        raise InvalidArgument(msg) from None


def _unread(history: History) -> str:
    """Return what a refusal says of rows that could not be read, as what is asked for may be in them."""
    number = history.number_unread
    return f"; rows of the history that could not be read: {number}, the first {history.unread[0]}" if number else ""


def _first_seen(history: History, kind: Declaration, subject: str) -> int | None:
    """Return when a subject is in a history first, by key or name."""
    for input_, row, time in history.pushes():
        if input_.name == kind.name:
            name = row.get("name")
            is_called = isinstance(name, str) and name.strip().casefold() == subject.strip().casefold()
            if is_called or str(row[kind.key or ""]) == subject:
                return time
    return None


def _read(
    declared: Mapping[str, Declaration],
    rows: Mapping[str, Sequence[tuple[dict[str, Any], int]]],
    subject: Any,
    account: Account | None,
) -> Iterator[ReadRow]:
    """Yield the rows that were looked at, the subject's first, with when they were observed."""
    kind = next(iter(declared))
    others = set() if account is None else {key for each in account.requirements for key in each.reason.others}
    for name, source in declared.items():
        seen = {row[source.key] if source.key else None: (row, time) for row, time in rows[name]}
        if account is not None and name in account.rows:
            found = account.rows[name]
            if found is None:
                yield ReadRow(name, None, None, count=0)
                continue
            key = found[source.key] if source.key else None
            if source.forecast:
                mine = [time for row, time in rows[name] if source.key is None or row[source.key] == key]
                yield ReadRow(name, key, max(mine), count=len(mine))
            else:
                yield _row(source, key, *seen[key], is_stale=STALE in found)
        elif account is None and name == kind:
            yield _row(source, subject, *seen[subject])
        elif account is not None and rows[name]:
            yield ReadRow(name, None, max(time for _, time in rows[name]), count=len(rows[name]))
        if name == kind:
            yield from (_row(source, key, *seen[key]) for key in sorted(others, key=str) if key in seen)


def _row(source: Declaration, key: Any, row: Mapping[str, Any], time: int, is_stale: bool = False) -> ReadRow:
    values = tuple(
        (
            name,
            iso(row[name]) if kind == INSTANT and isinstance(row[name], int) else row[name],
            kind.symbol,
        )
        for name, kind in source.fields
    )
    return ReadRow(source.name, key, time, values, is_stale)
