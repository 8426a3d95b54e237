"""Growing files: rows that others append, as they come; JSON, an object a line, or CSV with a header.

Only whole lines are read, so half a line waits for its end. A rotated file (renamed, and begun anew) is read to its end
before the new one; one that was cut is read from its start. A rotated file is told by its name, that of the file
with a number or a date behind, as logrotate and Python's handlers of logs give them; any other, such as a backup or
what was compressed, is somebody else's.

This module is over 300 lines because a position, and the file that it is in, go by how rows are read.

Invariant: the position tells a file by how it begins, as a file system gives the number of one that is gone to others.
"""

from __future__ import annotations

import asyncio
import filecmp
import hashlib
import logging
import os
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache, partial
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal

from cartesius.connectors.csv_rows import texts_of, whole_rows
from cartesius.connectors.endpoints import checked_position
from cartesius.connectors.row_items import Unreadable, item_of, row_of
from cartesius.errors import InvalidArgument, near, shortened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

_CHUNK: Final = 1 << 16
_HEAD: Final = 1024
"""How many bytes, at most, tell a file from others."""
_LOOKS: Final = 100
"""How often a file is looked for that is being renamed."""
_MANY: Final = 256
"""After how many rows other tasks have their turn."""
_LOG: Final = logging.getLogger(__name__)
_LONGEST_NUMBER: Final = len(".9999")
_BEHIND: Final = re.compile(r"(?:[.-][0-9]+(?:[-_T][0-9]+)*)?")
"""What is behind the name: .1, -20260301, -20260301-12, .2026-03-01, .2026-03-01_12-30-00; or nothing."""


async def _pause() -> bool:
    await asyncio.sleep(0.2)
    return True


async def _stop() -> bool:
    return False


class FileSource:
    r"""The rows of a file, also those that are yet to be appended: ``async for item in FileSource("orders.jsonl")``.

    >>> import asyncio, pathlib, tempfile
    >>> from cartesius.connectors import FileSource
    >>> async def rows(source):
    ...     return [item async for item in source]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "orders.jsonl")
    ...     _ = path.write_text('{"id": 7, "time": 3}\n{"id": 8, "ti')
    ...     asyncio.run(rows(FileSource(path, at="time", follow=False)))
    [Event(value={'id': 7}, start=3, end=3, weight=1, reactive='')]

    Args:
        path: The file. It need not be there yet, if it is followed.
        kind: ``"jsonl"``, an object of JSON a line, or ``"csv"``, with a line of names above; by default by the name.
        at: The field that says when, which is taken out of the row: ints of time units, or texts of ISO 8601 with zone,
            which are microseconds. None: a row brings no time.
        types: Of CSV, what makes values of the texts, by field, as in ``{"draught": float}``; an empty text is None.
            If it raises, the line is no row.
        follow: Whether to wait for more at the end; False: the iteration ends there.
        idle: Awaited when nothing more is there; it returns whether to look again. By default it sleeps 0.2 seconds.
        unreadable: Called with each line that is no row, and why; by default it is logged, and passed over. Of CSV,
            so is one with a quotation that is not closed by the end of a file that is rotated, or not followed, or
            within 512 KiB; the lines after it are rows again.

    Raises:
        InvalidArgument: The name does not say of which kind the file is, or ``types`` has not what makes values.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        kind: Literal["jsonl", "csv"] | None = None,
        at: str | None = None,
        types: Mapping[str, Callable[[str], Any]] | None = None,
        follow: bool = True,
        idle: Callable[[], Awaitable[bool]] = _pause,
        unreadable: Callable[[str, str], object] | None = None,
    ) -> None:
        self.path = Path(path)
        known = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}
        self.kind = kind or known.get(self.path.suffix)
        if self.kind not in ("jsonl", "csv"):
            message = (
                f"FileSource: expected a name in .jsonl or .csv but got {str(path)!r}, {kind=!r}; say kind='jsonl'"
            )
            raise InvalidArgument(message)
        if types is not None and not (isinstance(types, Mapping) and all(map(callable, types.values()))):
            message = f"FileSource: expected what makes values by field, as in {{'draught': float}}, but got {types=!r}"
            raise InvalidArgument(message)
        self.at = at
        self.types = dict(types or {})
        self._follows = follow
        self._idle = idle if follow else _stop
        self._unreadable = unreadable or self._warn
        self._offset = 0
        self._head = b""
        self._number = 0
        self._told: dict[str, Any] | None = None  # where to go on, of a file that is still to be found
        self._before: list[int] | None = None  # the numbers of the rotated files that were there before there was one
        self._names: list[str] | None = None  # of CSV

    @property
    def position(self) -> dict[str, Any]:
        """Where to go on: how many bytes were read, a digest of how the file begins, and its number.

        Where there is no file yet, the numbers of the rotated ones that are there, which are none of it.
        """
        if self._told is not None:
            return self._told
        if not self._number and self._before is None:
            try:  # nothing is read yet: it begins with the file that is there now, also if that is rotated
                self._number = self.path.stat().st_ino
            except FileNotFoundError:
                self._before = [*with_rotated(self.path).values()]
        found = {"offset": self._offset, "head": _digest(self._head), "file": self._number}
        return found if self._number else {**found, "before": self._before}

    def seek(self, position: dict[str, Any]) -> None:
        """Go on at a position; of a file that was rotated since, too, as long as it is in the same folder.

        Rotated are those of its name with a number or a date behind, as ``orders.jsonl.1``, ``orders.jsonl-20260301``.

        Raises:
            InvalidArgument: It is another source's.
        """
        self._told = checked_position(position, "FileSource", "offset", "head", "file")

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Iterate over the rows.

        Raises:
            InvalidArgument: The file in which to go on is gone, or it is not there and not followed; or the names of
                CSV's columns cannot be read, two of them are the same, or ``types`` names another one.
        """
        told, self._told = self.position, None
        files, read = _looked(lambda: self._found(told)), set[int]()
        while True:
            if not files and self._before is not None:
                every = _looked(lambda: without_copies(with_rotated(self.path), self.path))
                files = {path: number for path, number in every.items() if number not in self._before}
            if not files:
                files = {path: number for path, number in with_rotated(self.path).items() if path == self.path}
                if not files:
                    if not self._follows or (self.path.exists() and not self.path.is_file()):
                        message = (
                            f"FileSource: expected a file at {str(self.path)!r} but there is none; see its name, or let"
                            " it be followed until it is there: follow=True"
                        )
                        raise InvalidArgument(message)
                    if not await self._idle():
                        return
                    continue
            self._before = None
            path, number = next(iter(files.items()))
            del files[path]
            with self._opened(path, number) as file:
                self._number, self._head = os.fstat(file.fileno()).st_ino, file.read(min(self._offset, _HEAD))
                read.add(self._number)
                is_moved = False
                while True:
                    # Asked before the rows, so that they are all of it; who renames a file may write into it a while.
                    was_moved, is_moved = is_moved, self._is_moved(file)
                    is_over = bool(files) or self._is_cut(file) or (is_moved and (was_moved or not self._follows))
                    for place, row in enumerate(self._rows(file, is_over=is_over)):
                        yield row
                        if place % _MANY == _MANY - 1:
                            await asyncio.sleep(0)
                    if is_over:
                        break
                    if not await self._idle() and not is_moved:
                        return
                files = _looked(partial(self._after, file, read))  # anew: they may have been rotated meanwhile
            self._offset, self._head, self._number, self._names = 0, b"", 0, None

    def _opened(self, path: Path, number: int) -> BinaryIO:
        """Open the file of a number, also if it was renamed since it was found.

        Raises:
            InvalidArgument: It was removed.
        """
        for _ in range(_LOOKS):  # it may be renamed while the folder is looked at, too
            with suppress(FileNotFoundError):
                file = path.open("rb")
                if os.fstat(file.fileno()).st_ino == number:
                    return file
                file.close()
            path = next((path for path, other in with_rotated(self.path).items() if other == number), path)
        message = (
            f"FileSource: expected {str(path)!r}, which was to be read next, but it was removed before it was read; let"
            " the rotation keep more files, or begin anew, without the position"
        )
        raise InvalidArgument(message)

    def _found(self, told: dict[str, Any]) -> dict[Path, int]:
        """Return the file in which to go on, and those that have come after it, if it is there."""
        if not (told["file"] or told["offset"]):
            self._before = told["before"]
            return {}
        every = with_rotated(self.path)
        alike = [path for path in every if path.stat().st_size >= told["offset"] and _begins(path, told)]
        mine = [path for path in alike if every[path] == told["file"]]
        if not mine and not told["offset"]:
            _LOG.warning("%s: the file of which nothing was read yet is gone; another is read", self.path)
            return {}
        for path in mine or alike[-1:]:
            self._offset = told["offset"]
            return without_copies(dict([*every.items()][[*every].index(path) :]), self.path)
        message = (
            f"FileSource: expected {str(self.path)!r}, or a rotated file beside it, of which {told['offset']} bytes"
            " were read, but none begins like it; bring it back, or begin anew, without the position"
        )
        raise InvalidArgument(message)

    def _after(self, file: BinaryIO, read: set[int]) -> dict[Path, int]:
        """Return the files that have come after one that is replaced: it may have been rotated more than once.

        Copies of it, and of the others that were read, are none of them.
        """
        mine, every = os.fstat(file.fileno()), with_rotated(self.path)
        places = [place for place, number in enumerate(every.values()) if number == mine.st_ino]
        if places and [*every][places[0]] == self.path:
            return {self.path: mine.st_ino}  # it was cut
        later = {
            path
            for place, path in enumerate(every)
            if path == self.path or (place > places[0] if places else path.stat().st_mtime_ns > mine.st_mtime_ns)
        }
        known = {path: number for path, number in every.items() if path not in later and number in read}
        found = without_copies(known | {path: every[path] for path in every if path in later}, self.path)
        return {path: number for path, number in found.items() if path in later}

    def _is_moved(self, file: BinaryIO) -> bool:
        """Whether the path leads to another file now."""
        try:
            now = self.path.stat()
        except FileNotFoundError:
            return False  # it is being rotated
        mine = os.fstat(file.fileno())
        return (now.st_dev, now.st_ino) != (mine.st_dev, mine.st_ino)

    def _is_cut(self, file: BinaryIO) -> bool:
        return os.fstat(file.fileno()).st_size < self._offset

    def _rows(self, file: BinaryIO, *, is_over: bool) -> Iterator[Any]:
        """Iterate over the rows from the offset up to the end; the position moves before each is given."""
        if self.kind == "csv" and self._names is None:
            file.seek(0)
            for header, is_whole in self._pieces(file, is_over=is_over):
                self._names = self._header(header, is_whole=is_whole)
                if not self._offset:
                    self._pass(header)
                break
        file.seek(self._offset)
        for line, is_whole in self._pieces(file, is_over=is_over):
            self._pass(line)
            try:
                if line.rstrip(b"\r\n"):
                    yield item_of(self._row(line, is_whole=is_whole), self.at)
            except (Unreadable, UnicodeDecodeError) as error:
                self._unreadable(line.decode(errors="replace"), str(error))

    def _pieces(self, file: BinaryIO, *, is_over: bool) -> Iterator[tuple[bytes, bool]]:
        """Iterate over the lines of each row from here on, and whether they may be one."""
        lines = _lines(file, is_over=is_over)
        if self.kind == "csv":
            return whole_rows(lines, is_last=is_over or not (self._follows or _has_half_a_line(file)))
        return ((line, True) for line in lines)

    def _pass(self, line: bytes) -> None:
        self._offset += len(line)
        if len(self._head) < _HEAD:
            self._head = (self._head + line)[:_HEAD]

    def _header(self, line: bytes, *, is_whole: bool) -> list[str]:
        expected = f"FileSource: expected {str(self.path)!r} to begin with the names of columns"
        try:
            names = texts_of(line, is_whole=is_whole)
        except Unreadable as error:
            message = f"{expected} but got {line[:100]!r}: {error}; mend it"
            raise InvalidArgument(message) from None
        for name, n in Counter(names).items():
            if n > 1 and name:  # columns without a name are nobody's, as a table has them whose lines end in commas
                message = f"{expected}, each another, but got {n} columns {name!r}; rename them"
                raise InvalidArgument(message)
        for name in self.types:
            if name not in names:
                message = f"{expected} that types= has but there is no {name!r}{near(name, names)}"
                raise InvalidArgument(message)
        return names

    def _row(self, line: bytes, *, is_whole: bool) -> dict[str, Any]:
        if self._names is None:
            return row_of(line.decode("utf-8-sig" if self._offset == len(line) else "utf-8").rstrip("\r\n"))
        texts = texts_of(line, is_whole=is_whole)
        if len(texts) != len(self._names):
            reason = f"{len(self._names)} fields were expected ({', '.join(self._names)}), but there are {len(texts)}"
            raise Unreadable(reason)
        return {name: self._value(name, text) for name, text in zip(self._names, texts, strict=True)}

    def _value(self, name: str, text: str) -> Any:
        make = self.types.get(name, int if name == self.at and text.lstrip("-").isdigit() else None)
        if make is None:
            return text
        try:
            return make(text) if text else None
        except Exception as error:  # whatever a function of the user's raises: other rows go on
            reason = f"{name}: {type(error).__name__}: {error}"
            raise Unreadable(reason) from None

    def _warn(self, line: str, reason: str) -> None:
        _LOG.warning("%s: a line is passed over: %s: %s", self.path, reason, shortened(line.rstrip(), 200))


def _lines(file: BinaryIO, *, is_over: bool) -> Iterator[bytes]:
    """Iterate over the whole lines from here on; what is behind the last end of line is one if nothing follows."""
    rest: list[bytes] = []  # of a line that goes over several chunks
    while chunk := file.read(_CHUNK):
        *lines, last = chunk.split(b"\n")
        for line in lines:
            yield b"".join([*rest, line, b"\n"])
            rest = []
        rest.append(last)
    if is_over and (line := b"".join(rest)):
        yield line


def _has_half_a_line(file: BinaryIO) -> bool:
    """Whether the last line of a file has no end yet."""
    length = os.fstat(file.fileno()).st_size
    return length > 0 and os.pread(file.fileno(), 1, length - 1) != b"\n"


def _begins(path: Path, told: dict[str, Any]) -> bool:
    """Whether a file begins like the one that a position tells of."""
    with path.open("rb") as file:
        return _digest(file.read(min(told["offset"], _HEAD))) == str(told["head"])


def _digest(head: bytes) -> str:
    return hashlib.blake2b(head, digest_size=16).hexdigest()


def _looked(look: Callable[[], dict[Path, int]]) -> dict[Path, int]:
    """Return what a look finds; anew where a file was renamed while it was looked at."""
    while True:
        with suppress(FileNotFoundError):
            return look()


def with_rotated(path: Path) -> dict[Path, int]:
    """Return the numbers of the rotated files of a path, in the order in which they were last written, and its own."""
    every: dict[Path, tuple[Any, ...]] = {}
    for other in path.parent.glob(f"{escape(path.name)}*"):
        if _BEHIND.fullmatch(other.name, len(path.name)) and other.is_file():
            with suppress(FileNotFoundError):  # it is being rotated
                now = other.stat()
                every[other] = (other == path, now.st_mtime_ns, _age_of(other.name[len(path.name) :]), now.st_ino)
    return {other: every[other][-1] for other in sorted(every, key=every.__getitem__)}


def _age_of(behind: str) -> tuple[int, ...]:
    """Return the place of a rotated file among those that were last written at one time: .2 is older than .1."""
    numbers = [int(digits) for digits in re.findall("[0-9]+", behind)]
    is_date = len(behind) > _LONGEST_NUMBER
    return tuple(numbers) if is_date else tuple(-number for number in numbers)


def without_copies(files: Mapping[Path, int], growing: Path) -> dict[Path, int]:
    """Return files without those of the same content as one before, which is logged; the one that grows stays."""
    found: dict[Path, int] = {}
    alike: dict[Any, list[Path]] = {}  # only these are compared: there may be hundreds of files, of one size
    for path, number in files.items():
        others = [] if path == growing else alike.setdefault(_sight_of(path), [])
        like = next((other for other in others if filecmp.cmp(path, other, shallow=False)), None)
        if like is None:
            found[path] = number
            others.append(path)
        else:
            _LOG.warning("%s has what %s has, and is taken for a copy of it: it is not read", path, like)
    return found


def _sight_of(path: Path) -> tuple[int, str]:
    """Return what copies have in common, and most others do not: their length, and how they begin."""
    now = path.stat()
    return now.st_size, _beginning(path, now.st_ino, now.st_size, now.st_mtime_ns)


@lru_cache(maxsize=4096)  # all are looked at after each file
def _beginning(path: Path, *_: int) -> str:
    """Return a digest of how a file begins, which is read anew once it is another or has changed."""
    with path.open("rb") as file:
        return _digest(file.read(_HEAD))
