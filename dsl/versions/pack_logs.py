"""The log of packs: which rules were in force when, who changed them, and when: an append-only file, a JSON line each.

A line stands from its event time (``at``) on, until a later line says otherwise: of all lines whose event time is not
after a moment, the last of the file was in force at it. A last line that was cut off, as its process was killed, never
was: a warning tells of it, and the next `add` takes it out. One that only lacks its end of line counts.

Invariant: no whole line in the file is ever changed; a line is on the disk when `add` returns. Several processes may
add to one file, except on Windows.
"""

from __future__ import annotations

import getpass
import json
import os
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, final

import attrs

from cartesius.errors import InvalidArgument
from cartesius.locks import alone_with
from dsl.rule_packs import RulePack
from dsl.versions.pack_changes import PackChanges, changes

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIELDS = ("version", "at", "changed", "who", "text")
_BEGINNING = b'{"version": "'


@final
@attrs.frozen
class LoggedPack:
    """A pack as it is logged."""

    version: str
    """`RulePack.version` of the text, as the program that logged it had it."""
    at: datetime
    """From which event time on it holds; in UTC."""
    changed: datetime
    """When it was logged, by the wall clock; in UTC."""
    who: str
    """Who changed the rules."""
    text: str
    """The whole text of the rules."""

    @property
    def line(self) -> str:
        """It as a line of a log: a JSON object."""
        fields = (self.version, self.at.isoformat(), self.changed.isoformat(), self.who, self.text)
        return json.dumps(dict(zip(_FIELDS, fields, strict=True)), ensure_ascii=False)

    def pack(self) -> RulePack:
        """Return the rules."""
        return RulePack.from_text(self.text, f"version {self.version}")


@final
class PackLog:
    r"""A log of packs in a file, which need not be there yet.

    >>> from datetime import datetime, timezone
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from dsl.versions import PackLog
    >>> head = "pack: port\nsubject: vessel\nsource vessel by mmsi:\n    mmsi: number\n    draught: metres\n"
    >>> noon = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
    >>> with TemporaryDirectory() as folder:
    ...     log = PackLog(Path(folder, "packs.jsonl"))
    ...     added = log.add(head + "draught must be at most 15 m", at=noon, who="eva")
    ...     log.in_force(noon) == added, log.in_force(noon.replace(hour=11))
    (True, None)

    Args:
        path: The file.
    """

    def __init__(self, path: str | Path) -> None:
        """Use the log at ``path``."""
        self.path = Path(path)

    def add(
        self, pack: RulePack | str, *, at: datetime, who: str | None = None, changed: datetime | None = None
    ) -> LoggedPack:
        """Append a pack, and return what was logged.

        Args:
            pack: The pack, or its text.
            at: The event time from which on it holds; with a time zone.
            who: Who changed the rules; None: the user of this process.
            changed: When; None: now.

        Raises:
            InvalidRule: The text is none of rules, or the pack has no text.
            InvalidArgument: A time has no time zone, or the file is no log.
            OSError: The file cannot be written.
        """
        found = logged(pack, at=at, who=who, changed=datetime.now(UTC) if changed is None else changed)
        self._append(found.line)
        return found

    def _append(self, line: str) -> None:
        added = line.encode() + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file, alone_with(file):  # another process may be adding, too
            file.seek(0)
            content = file.read()
            whole = self._whole(content)
            if whole:
                self._logged(1, whole.partition(b"\n")[0])  # it is a log, then, and no file of rules
            if len(whole) < len(content):
                file.truncate(len(whole))
            end = b"\n" if whole and not whole.endswith(b"\n") else b""
            file.write(end + added)
            file.flush()
            os.fsync(file.fileno())

    def packs(self) -> tuple[LoggedPack, ...]:
        """Return all that was logged, in order.

        Raises:
            InvalidArgument: A line is none of a log.
        """
        return tuple(self._read())

    def _whole(self, content: bytes) -> bytes:
        """Return what is in the file, without a last line that was cut off: tell of it.

        Raises:
            InvalidArgument: Its only line is not the beginning of one of a log.
        """
        last = content[content.rfind(b"\n") + 1 :]
        try:
            json.loads(last or b"{}")  # of an object only all of it is JSON
        except ValueError:
            if last == content and not content.startswith(_BEGINNING[: len(content)]):
                self._logged(1, content)  # refuses it: the file is something else, which shall stay
            message = (
                f"{self.path}: expected a whole last line but got {last[:80]!r}, which was cut off; it never counted"
            )
            warnings.warn(message, RuntimeWarning, stacklevel=4)
            return content.removesuffix(last)
        except RecursionError:
            pass
        return content

    def _read(self) -> Iterator[LoggedPack]:
        try:
            whole = self._whole(self.path.read_bytes())
        except FileNotFoundError:
            return
        for number, line in enumerate(whole.removesuffix(b"\n").split(b"\n") if whole else (), 1):
            yield self._logged(number, line)

    def _logged(self, number: int, line: bytes) -> LoggedPack:
        try:
            return _logged(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            message = (
                f"{self.path}:{number}: expected a JSON object with {', '.join(_FIELDS)} but got {line[:80]!r};"
                f" {_fix(number, line)}"
            )
            raise InvalidArgument(message) from error

    def in_force(self, at: datetime) -> LoggedPack | None:
        """Return the pack that was in force at an event time; None: nothing was yet.

        Raises:
            InvalidArgument: As for `packs`, or ``at`` has no time zone.
        """
        moment = _utc("at", at)
        return next((each for each in reversed(self.packs()) if each.at <= moment), None)

    def changes(self) -> tuple[tuple[LoggedPack, PackChanges], ...]:
        """Return each logged pack with what changed in it since the one before it, in order.

        Raises:
            InvalidArgument: As for `packs`.
            InvalidRule: This version of the library does not read one of the texts.
        """
        found, before = [], None
        for logged in self.packs():
            pack = logged.pack()
            found.append((logged, changes(before, pack)))
            before = pack
        return tuple(found)


def _logged(line: dict[str, str]) -> LoggedPack:
    """Return the pack that a line holds; raise one of several errors where it holds none."""
    version, at, changed, who, text = map(line.__getitem__, _FIELDS)
    "".join((version, who, text))  # they are texts
    times = [_utc(name, datetime.fromisoformat(each)) for name, each in (("at", at), ("changed", changed))]
    return LoggedPack(version, times[0], times[1], who, text)


def _fix(number: int, line: bytes) -> str:
    if number == 1 and not line.lstrip().startswith(b"{"):
        return "a file of rules is given with --rules"
    return "take a copy of the file, and leave this line out"


def logged(pack: RulePack | str, *, at: datetime, who: str | None, changed: datetime) -> LoggedPack:
    """Return a pack, or its text, as what is logged; arguments and errors are those of `PackLog.add`."""
    text = pack.to_text() if isinstance(pack, RulePack) else pack
    version = RulePack.from_text(text).version
    return LoggedPack(version, _utc("at", at), _utc("changed", changed), _user() if who is None else who, text)


def _utc(name: str, time: datetime) -> datetime:
    if not isinstance(time, datetime) or time.tzinfo is None:
        message = f"PackLog: expected a datetime with a time zone but got {name}={time!r} (type={type(time).__name__})"
        raise InvalidArgument(message)
    return time.astimezone(UTC)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())
