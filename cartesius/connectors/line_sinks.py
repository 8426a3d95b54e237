"""Line sinks: results as lines of JSON in a file, each once, whatever happened in between.

Lines are appended whole, and what was written behind the last checkpoint is cut off when it is gone on from.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from cartesius.connectors.row_items import result_line
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.data.events import Event


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
        path: The file; it is appended to.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def committed(self) -> None:
        """Know nothing of checkpoints: it is cut back to them."""

    def seek(self, position: int) -> None:
        """Cut the file to how long it was.

        Raises:
            InvalidArgument: It is shorter than that: somebody else has changed it.
        """
        length = os.fstat(self._file).st_size
        if length < position:
            message = (
                f"JsonLinesSink: expected {str(self.path)!r} to have the {position} bytes that were written but it has"
                f" {length}; bring it back, or begin anew, with another file and another folder of checkpoints"
            )
            raise InvalidArgument(message)
        os.ftruncate(self._file, position)

    def write(self, events: Sequence[Event]) -> None:
        """Append results, all at once."""
        rest = memoryview(b"".join(result_line(event) + b"\n" for event in events))
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def prepare(self, number: int) -> int:
        """Let the disk have it; return how long the file is."""
        os.fsync(self._file)
        return os.fstat(self._file).st_size

    def commit(self, number: int) -> None:
        """Do nothing: the lines are there."""

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
