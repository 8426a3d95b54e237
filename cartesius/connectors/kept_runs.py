"""Checkpoints: the state of an engine and the positions that belong to it, in one file each, written as a whole.

Two are kept: a sink that commits by itself may not have come to the last one.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs.validators import instance_of

from cartesius.data.codec import decode, encode
from cartesius.data.inflating import loading
from cartesius.errors import SnapshotMismatch

if TYPE_CHECKING:
    from pathlib import Path

_NAME: Final = re.compile(r"([0-9]{12})\.checkpoint")
_KEPT: Final = 2


@attrs.frozen
class Checkpoint:
    """What is gone on from.

    Args:
        number: From 1.
        engine: The snapshot of the engine.
        sources: The position of each source, by the name of its input.
        sink: The position of the sink.
    """

    number: int
    engine: bytes = attrs.field(validator=instance_of(bytes))
    sources: dict[str, Any] = attrs.field(validator=instance_of(dict))
    sink: Any


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all, and remove those that nobody goes on from any more."""
    path = folder / f"{checkpoint.number:012}.checkpoint"
    half = path.with_suffix(".half")
    with half.open("wb") as file:
        file.write(encode(attrs.asdict(checkpoint, recurse=False)))
        file.flush()
        os.fsync(file.fileno())
    half.replace(path)
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    for number, old in numbered(folder):
        if number <= checkpoint.number - _KEPT:
            old.unlink()


def numbered(folder: Path) -> list[tuple[int, Path]]:
    """Return the checkpoints of a folder, with their numbers, in order."""
    found = [(int(match[1]), path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    return sorted(found)


def load(folder: Path, committed: int | None) -> Checkpoint | None:
    """Return the checkpoint to go on from; None: none was committed.

    Args:
        folder: Where they are.
        committed: The number of the last one whose results stand; None: the last one that is there.

    Raises:
        SnapshotMismatch: It is none of this folder's, or damaged.
    """
    found = dict(numbered(folder))
    last = max(found, default=0)
    number = last if committed is None else committed
    if number not in (last, last - 1):  # one is kept only when that before it is committed
        message = (
            f"run_stream: expected a sink that has committed checkpoint {last}, the last in {str(folder)!r}, or the one"
            f" before, but it has committed {number}; it is the sink of another run, or has forgotten (Kafka forgets"
            " the offsets of a group that is away for offsets.retention.minutes): begin anew, with another folder"
        )
        raise SnapshotMismatch(message)
    if number == 0:
        return None
    said = decode(found[number].read_bytes())
    return loading(lambda: Checkpoint(**said))
