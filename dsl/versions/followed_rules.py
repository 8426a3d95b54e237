"""A file of rules that is followed while a program runs: looked at by content, before each push or micro-batch.

What is wrong with a new content is told once; the rules before it go on.

Source: rules as a stream, as in the broadcast state of Flink.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from cartesius.errors import CartesiusError
from dsl.rule_packs import RulePack
from dsl.text.rule_files import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

SETTLED_S: Final = 0.5
"""How long a file that is written in place has to be left alone until it is followed, in seconds."""


@final
class FollowedRules:
    r"""The rules of a file, as they are now.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from dsl.versions import FollowedRules
    >>> head = "pack: port\nsubject: vessel\nsource vessel by mmsi:\n    mmsi: number\n    draught: metres\n"
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "port.rules")
    ...     _ = file.write_text(head + "draught must be at most 15 m")
    ...     rules = FollowedRules(file)
    ...     _ = Path(folder, "new").write_text(head + "draught must be at most 14 m")
    ...     _ = Path(folder, "new").replace(file)
    ...     changed = rules.changed()
    ...     changed is rules.pack, rules.changed(), rules.refused
    (True, None, '')

    Args:
        path: The file.
        before: The rules that are in force already: the file is then looked at by `changed` alone, and what is wrong
            with it is in ``refused``. None: those of the file.
        clock: Gives the seconds since the epoch, with which the time of the file's last change is compared.

    Raises:
        InvalidRule: It holds no rules, and there are none before.
        InvalidArgument: It is no text in UTF-8, likewise.
        OSError: It cannot be read, and there are none before.
    """

    def __init__(
        self, path: str | Path, before: RulePack | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        """Read the file, unless there are rules before it."""
        self.path = Path(path)
        self._clock = clock
        self._number = -1  # by which the file system knows the file that was read last
        self._content = b"" if before is not None else self._read_settled() or b""
        self.pack = self._read(self._content) if before is None else before
        """The rules that were read last, and not refused."""
        self._followed = self.pack
        self.refused = ""
        """Why the present content of the file is not followed; empty if it is."""

    def changed(self) -> RulePack | None:
        """Return the new rules if the file has other ones since it was read last; None if not, or if it is wrong.

        A file that is not there at the moment, as an editor is about to put a new one in its place, has not changed;
        nor has one that is written in place until it is left alone for a while: half of it may be rules, too.
        """
        try:
            content = self._read_settled()
        except OSError as error:
            self._content, self.refused = b"", f"{self.path}: {error.strerror}"
            return None
        if content is None or content == self._content:
            return None
        self._content = content
        try:
            pack = self._read(content)
        except CartesiusError as error:
            self.refused = str(error)
            return None
        self.refused = ""
        if pack.version == self.pack.version:
            return None
        self._followed, self.pack = self.pack, pack
        return pack

    def refuse(self, why: str) -> None:
        """Say that the rules that `changed` has returned are not followed: those before them are in force."""
        self.pack, self.refused = self._followed, why

    def look_again(self) -> None:
        """Let `changed` return the same rules once more: what has to be done before they are followed has failed."""
        self.pack, self._content = self._followed, b""

    def _read_settled(self) -> bytes | None:
        """Return the content; None if it was just written into the file that was read before."""
        with self.path.open("rb") as file:
            content, found = file.read(), os.fstat(file.fileno())
        if found.st_ino == self._number and 0 <= self._clock() - found.st_mtime < SETTLED_S:
            return None
        self._number = found.st_ino
        return content

    def _read(self, content: bytes) -> RulePack:
        return RulePack.from_text(text_of(content, self.path), str(self.path))
