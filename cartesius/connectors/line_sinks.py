"""Line sinks: results as lines of JSON in a file, each once, whatever happened in between.

Lines are appended whole, and what was written behind the last checkpoint is cut off when it is gone on from.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import finalize

from cartesius.connectors.row_items import result_line
from cartesius.errors import InvalidArgument
from cartesius.locks import locked, unlocked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.data.events import Event

_END: Final = 1024
"""How many bytes before a place of the file tell it from others."""


class JsonLinesSink:
    """Appends results to a file: an object a line, with ``output``, ``change``, ``key``, ``start``, ``end``, ``value``.

    ``change`` is ``event`` or ``retract``, of a table, which alone has a ``key``, ``update`` or ``delete``. What JSON
    lacks is a text: dates as of ISO 8601, numbers that are none as ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``.

    >>> import pathlib, tempfile
    >>> from cartesius import Event
    >>> from cartesius.connectors import JsonLinesSink
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sink = JsonLinesSink(pathlib.Path(folder, "paid.jsonl"))
    ...     sink.write([Event({"id": 7}, 3, 5, 1, "paid")])
    ...     pathlib.Path(folder, "paid.jsonl").read_text().rstrip()
    '{"output":"paid","change":"event","start":3,"end":5,"value":{"id":7}}'

    Args:
        path: The file; it is appended to, and nobody else may do so meanwhile.

    Raises:
        InvalidArgument: Another sink has the file, and is not closed. On Windows that is not noticed.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._open: int | None = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._closing = finalize(self, _closed, self._open)  # also where nobody has it any more
        if not locked(self._open, waits=False):
            self._closing()
            message = (
                f"JsonLinesSink: expected a file that nobody else writes but another sink has {str(path)!r}, here or in"
                " another process; close that one first, or name another file"
            )
            raise InvalidArgument(message)

    @property
    def _file(self) -> int:
        if self._open is None:  # its number may be that of another file by now
            message = (
                f"JsonLinesSink: expected a sink that is open but that of {str(self.path)!r} was closed; make another"
            )
            raise InvalidArgument(message)
        return self._open

    def committed(self) -> None:
        """Know nothing of checkpoints: it is cut back to them."""

    def seek(self, position: tuple[int, str]) -> None:
        """Cut the file to how long it was.

        Raises:
            InvalidArgument: It is shorter than that, or another one: somebody else has changed it.
        """
        length, end = position
        found = os.fstat(self._file).st_size
        got = str(found) if found < length else "others" if self._end(length) != end else ""
        if got:
            message = (
                f"JsonLinesSink: expected {str(self.path)!r} to have the {length} bytes that were written but it has"
                f" {got}; bring it back, or begin anew, with another file and another folder of checkpoints"
            )
            raise InvalidArgument(message)
        os.ftruncate(self._file, length)

    def _end(self, length: int) -> str:
        """Return a digest of what is before a place of the file."""
        first = max(0, length - _END)
        return hashlib.blake2b(os.pread(self._file, length - first, first), digest_size=16).hexdigest()

    def write(self, events: Sequence[Event]) -> None:
        """Append results, all at once."""
        rest = memoryview(b"".join(result_line(event) + b"\n" for event in events))
        while rest:
            rest = rest[os.write(self._file, rest) :]

    async def prepare(self, number: int) -> tuple[int, str]:
        """Let the disk have it; return how long the file is, and a digest of its end."""
        os.fsync(self._file)
        length = os.fstat(self._file).st_size
        return length, self._end(length)

    async def commit(self, number: int) -> None:
        """Do nothing: the lines are there."""

    def close(self) -> None:
        """Close the file."""
        _, self._open = self._file, None
        self._closing()


def _closed(file: int) -> None:
    unlocked(file)
    os.close(file)
