"""Checkpoints: the state of an engine and the positions that belong to it, in one file each, written as a whole.

A file has a snapshot, or what has come since the file before; so a checkpoint costs what has come, however much is
held. Two checkpoints are kept, with the files that they go on from: a sink that commits by itself may not have come to
the last one.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import attrs
from attrs.validators import ge, instance_of

from cartesius.data.codec import decode, encode
from cartesius.data.inflating import loading
from cartesius.errors import InvalidArgument, NotStorable, ShutOut, SnapshotMismatch, block
from cartesius.locks import alone_with

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    from cartesius.engines.engine import Engine

_MOST: Final = 1_000
"""How many checkpoints are no snapshots, one after the other, at most."""
_LOOK: Final = 1_000
"""After so many events it is looked at how much has come."""
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP)
"""What a file system says that has no hard links: there the lock alone keeps other runs out."""
_NAME: Final = re.compile(r"([0-9]{12})\.checkpoint")


@attrs.frozen
class Checkpoint:
    """What a file has.

    Args:
        number: From 1.
        base: The number of the last one that has a snapshot, this or one before.
        engine: The snapshot of the engine, or what has come since the one before (`Engine.changes_since`).
        sources: The position of each source, by the name of its input.
        sink: The position of the sink.
    """

    number: int = attrs.field(validator=instance_of(int))
    base: int = attrs.field(validator=[instance_of(int), ge(1)])
    engine: bytes = attrs.field(validator=instance_of(bytes))
    sources: dict[str, Any] = attrs.field(validator=instance_of(dict))
    sink: Any


@block
def alone_in(folder: Path) -> Generator[None]:
    """Keep other runs out of a folder of checkpoints. Windows has no such lock.

    Raises:
        InvalidArgument: Another run is in it.
    """
    with (folder / "run.lock").open("a") as file, alone_with(file, waits=False) as is_alone:
        if not is_alone:
            message = (
                f"run_stream: expected checkpoints that no other run has but one is going on from {str(folder)!r}; end"
                " that one first, also where it has been stopped, or name another folder"
            )
            raise InvalidArgument(message)
        yield


class Keeping:
    """Writes the checkpoints of a run.

    Args:
        folder: Where they are.
        engine: The engine.
        before: The checkpoint that it goes on from, behind those that this one goes on from. What is behind it is
            removed: the results that belong to it were never committed.
    """

    def __init__(self, folder: Path, engine: Engine, before: Sequence[Checkpoint]) -> None:
        self._folder = folder
        self._engine = engine
        self._base = before[-1].base if before else 0
        self._taken = 0  # how many events had come at the last snapshot
        last = before[-1].number if before else 0
        for path in (*(path for number, path in numbered(folder) if number > last), *folder.glob("*.half")):
            path.unlink()

    def save(self, number: int, sources: dict[str, Any], sink: Any) -> None:
        """Write a checkpoint, whole or not at all, and remove those that nobody goes on from any more.

        Raises:
            ShutOut: There is one of this number, or behind it: of a run that has taken over.
        """
        first, blob = self._base or number, self._blob(number)
        there = numbered(self._folder)
        path = self._folder / f"{number:012}.checkpoint"
        half = path.with_suffix(f".{uuid4().hex}.half")  # no other run writes into it
        try:
            if there and there[-1][0] >= number:
                raise FileExistsError
            with half.open("xb") as file:
                file.write(encode(attrs.asdict(Checkpoint(number, self._base, blob, sources, sink), recurse=False)))
                file.flush()
                os.fsync(file.fileno())
            _link(half, path)
        except FileExistsError:
            message = (
                f"run_stream: expected no checkpoint {number} in {str(self._folder)!r} yet but another run has written"
                " one, and gone on from where this one began; leave it to that run"
            )
            raise ShutOut(message) from None
        finally:
            half.unlink(missing_ok=True)
        directory = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
        for one, old in there:
            if one < first:
                old.unlink()
        self._engine.mark()

    def _blob(self, number: int) -> bytes:
        """Return what has come since the last checkpoint; or the state, if more has come than is held."""
        self._limit()
        if self._engine._mark is not None and number - self._base < _MOST:
            with suppress(NotStorable):  # what has come may be no plain data, though what is held is
                return self._engine.changes_since(self._engine._mark)
        self._base, self._taken = number, self._engine._world.events
        return self._engine.snapshot()

    def has_come(self) -> None:
        """Take note that an event has come."""
        if self._engine._mark is not None and self._engine._world.events % _LOOK == 0:
            self._limit()

    def _limit(self) -> None:
        """Hold no more of what has come than of what is held: then the next checkpoint is a snapshot."""
        if self._engine._world.events - self._taken >= self._engine.stats.retained:
            self._engine._mark = None


def _link(half: Path, path: Path) -> None:
    """Give a file its name, which replaces nothing, as a renaming would.

    Raises:
        FileExistsError: There is one of that name, or another run has taken this one away.
    """
    try:
        os.link(half, path)
    except FileNotFoundError:
        raise FileExistsError from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        half.rename(path)


def numbered(folder: Path) -> list[tuple[int, Path]]:
    """Return the checkpoints of a folder, with their numbers, in order."""
    found = [(int(match[1]), path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    return sorted(found)


def load(folder: Path, committed: int | None) -> list[Checkpoint]:
    """Return the checkpoint to go on from, behind those that it goes on from itself; empty: none was committed.

    Args:
        folder: Where they are.
        committed: The number of the last one whose results stand; None: the last one that is there.

    Raises:
        SnapshotMismatch: It is none of this folder's, or damaged, or a file that it goes on from is not there.
    """
    found = dict(numbered(folder))
    last = max(found, default=0)
    number = last if committed is None else committed
    if number not in (last, last - 1):  # one is kept only when that before it is committed
        message = (
            f"run_stream: expected a sink that has committed checkpoint {last}, the last in {str(folder)!r}, or the one"
            f" before, but it has committed {number}; it is the sink of another run, or has forgotten (Kafka forgets"
            " the offsets of a group that is away for offsets.retention.minutes): begin anew, with another folder"
            " and, of a KafkaSink, another transaction="
        )
        raise SnapshotMismatch(message)
    if number == 0:
        return []
    read = [_read(found, number)]
    for one in range(number - 1, read[0].base - 1, -1):
        if one not in found:
            message = (
                f"run_stream: expected checkpoint {one} in {str(folder)!r}, as {number} goes on from it, but it is not"
                " there; bring it back, or begin anew, with another folder"
            )
            raise SnapshotMismatch(message)
        read.append(_read(found, one))
    return read[::-1]


def _read(found: Mapping[int, Path], number: int) -> Checkpoint:
    said = decode(found[number].read_bytes())
    read = loading(lambda: Checkpoint(**said))
    if read.number != number or read.base > number:
        message = (
            f"run_stream: expected checkpoint {number} in {str(found[number])!r} but got {read.number}; bring it back"
        )
        raise SnapshotMismatch(message)
    return read
