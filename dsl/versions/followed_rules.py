"""A file of rules that is followed while a program runs: looked at by content, before each push or micro-batch.

What is wrong with a new content is told once; the rules before it go on.

Source: rules as a stream, as in the broadcast state of Flink.
"""

from __future__ import annotations

from pathlib import Path
from typing import final

from cartesius.errors import CartesiusError
from dsl.rule_packs import RulePack
from dsl.text.rule_files import text_of


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
    ...     _ = file.write_text(head + "draught must be at most 14 m")
    ...     changed = rules.changed()
    ...     changed is rules.pack, rules.changed(), rules.refused
    (True, None, '')

    Args:
        path: The file.
        before: The rules that are in force already: the file is then looked at by `changed` alone, and what is wrong
            with it is in ``refused``. None: those of the file.

    Raises:
        InvalidRule: It holds no rules, and there are none before.
        InvalidArgument: It is no text in UTF-8, likewise.
        OSError: It cannot be read, and there are none before.
    """

    def __init__(self, path: str | Path, before: RulePack | None = None) -> None:
        """Read the file, unless there are rules before it."""
        self.path = Path(path)
        self._content = b"" if before is not None else self.path.read_bytes()
        self.pack = self._read(self._content) if before is None else before
        """The rules that were read last, and not refused."""
        self._followed = self.pack
        self.refused = ""
        """Why the present content of the file is not followed; empty if it is."""

    def changed(self) -> RulePack | None:
        """Return the new rules if the file has other ones since it was read last; None if not, or if it is wrong.

        A file that is not there at the moment, as an editor is about to put a new one in its place, has not changed.
        """
        try:
            content = self.path.read_bytes()
        except OSError as error:
            self._content, self.refused = b"", f"{self.path}: {error.strerror}"
            return None
        if content == self._content:
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

    def _read(self, content: bytes) -> RulePack:
        return RulePack.from_text(text_of(content, self.path), str(self.path))
