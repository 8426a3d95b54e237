"""The file of rules on disk, for the page that edits it: loaded, compared with a draft, and saved.

It is replaced in one step, its last content is kept beside it, and a file that changed meanwhile is not touched; what
two people changed can be compared. A page has lines that end in LF; a file that ends most of them in CRLF has that.

Source: issue 6, "Rules as text".
"""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import contextmanager, suppress
from difflib import SequenceMatcher
from itertools import takewhile
from secrets import token_hex
from typing import TYPE_CHECKING, Final, final

import attrs

from cartesius.errors import CartesiusError, InvalidArgument
from cartesius.locks import alone_in
from dsl.editor.outline import Outline
from dsl.refusals.errors import refusal
from dsl.text.rule_files import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dsl.editor.outline import Json

BACKUP: Final = ".bak"
"""What is added to a file's name for its last content."""
AROUND: Final = 2
"""How many unchanged lines are shown beside one that changed."""


class FileChanged(CartesiusError, RuntimeError):
    """The file is not what was loaded: somebody else saved it meanwhile. Nobody's fault; `File.compare` shows what.

    >>> from dsl.editor.file_on_disk import FileChanged
    >>> issubclass(FileChanged, RuntimeError)
    True
    """


@final
@attrs.frozen
class File:
    """A file of rules."""

    path: Path

    def load(self) -> Json:
        """Return the text, and a version by which `save` knows whether the file is still this one.

        Raises:
            InvalidArgument: It cannot be read, or is no text in UTF-8.
        """
        with self._in_words("be read"):
            content = self.path.read_bytes()
        return {"text": _lines(text_of(content, self.path)), "version": _version(content), "file": self.path.name}

    def compare(self, version: str, base: str, text: str) -> Json:
        """Return what two people changed: somebody else in the file, and you in the draft.

        Args:
            version: That of the text that was loaded.
            base: The text that was loaded.
            text: The draft.

        Returns:
            ``changed``: whether the file is no longer as it was loaded. If so, also ``version``, its own, None where it
            is gone; ``text``; ``at``, when it was last written, in milliseconds since the epoch; ``theirs`` and
            ``mine``: lines as pairs of a sign and a text. ``-`` is gone, ``+`` is new, a blank is unchanged, ``…`` are
            left out.

        Raises:
            InvalidArgument: It cannot be read.
        """
        content = at = None
        with self._in_words("be read"), suppress(FileNotFoundError):
            content, at = self.path.read_bytes(), round(self.path.stat().st_mtime * 1000)
        found = None if content is None else _version(content)
        if found == version:
            return {"changed": False}
        now = "" if content is None else _lines(content.decode("utf-8", "replace"))
        theirs = [] if content is None else _difference(base, now)
        mine = _difference(base, text)
        return {"changed": True, "version": found, "at": at, "text": now, "theirs": theirs, "mine": mine}

    def save(self, text: str, version: str | None) -> Json:
        """Replace the file by ``text``, in one step, and keep what it held in a file beside it.

        Args:
            text: The new text.
            version: What the file must still be: that of a `load` or `compare`; None: not there.

        Raises:
            FileChanged: The file is no longer the one that was loaded as ``version``.
            InvalidArgument: It is marked as not to be written, or somebody else's, or its folder does not take it.
            InvalidRule: The text does not read as a pack; nor would it when it is opened again.
            DimensionMismatch: Likewise.
            UnknownField: Likewise.
        """
        Outline(text, self.path.name)
        target = self.path.resolve()
        backup = target.with_name(target.name + BACKUP)
        with self._in_words(f"be replaced, and kept in {backup.name}"), alone_in(target.parent):
            held = self._held(version)
            if held is not None and not (target.stat().st_mode & 0o222 and os.access(target, os.W_OK)):
                got = "it is read-only; allow it, or copy the file"
                message = f"{self.path.name}: expected a file that may be written but {got}"
                raise InvalidArgument(message)
            ended = "\r\n" if held is not None and held.count(b"\r\n") * 2 > held.count(b"\n") else "\n"
            content = _lines(text).replace("\n", ended).encode("utf-8")
            with _beside(target, content) as new, _beside(target, held or b"") as old:
                self._held(version)  # an editor that takes no lock may have come meanwhile
                if held is not None:
                    os.replace(old, backup)
                os.replace(new, target)
        return {"version": _version(content), "backup": None if held is None else backup.name}

    @contextmanager
    def _in_words(self, expected: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            place = error.filename2 or self.path.resolve().parent
            got = f"{error.strerror}: {place}; mend that, and try again"
            message = f"{self.path.name}: expected a file that can {expected} but got {got}"
            raise InvalidArgument(message) from None

    def _held(self, version: str | None) -> bytes | None:
        held = self.path.read_bytes() if self.path.exists() else None
        if (None if held is None else _version(held)) != version:
            fix = [("fix", "compare the two texts, and choose one")]
            raise FileChanged(refusal(f"{self.path.name}: expected the file as it was loaded but it changed", fix, ""))
        return held


@contextmanager
def _beside(target: Path, content: bytes) -> Iterator[Path]:
    """Give a file with a content, and the mode of ``target``, which may replace another; if it does not, it goes."""
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666  # less what the umask takes
    new = target.with_name(f".{target.name}.{token_hex(8)}")
    try:
        with open(new, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as written:
            written.write(content)
            written.flush()
            os.fsync(written.fileno())
        if target.exists():
            shutil.copymode(target, new)
        yield new
    finally:
        new.unlink(missing_ok=True)


def _difference(before: str, after: str) -> list[tuple[str, str]]:
    """The lines that changed, with those around them."""
    old, new = before.splitlines(), after.splitlines()
    above = max(_alike(old, new) - AROUND, 0)
    old, new = old[above:], new[above:]
    below = max(_alike(old[::-1], new[::-1]) - AROUND, 0)
    old, new = old[: len(old) - below], new[: len(new) - below]
    found: list[tuple[str, str]] = []
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(AROUND):
        found += [("…", "")] if found else []
        for kind, first, last, start, end in group:
            if kind == "equal":
                found += [(" ", line) for line in old[first:last]]
            else:
                found += [("-", line) for line in old[first:last]] + [("+", line) for line in new[start:end]]
    return found


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
