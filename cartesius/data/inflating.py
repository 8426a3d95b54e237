"""Inflating: reading what was stored, in bounded memory, so that what is damaged or hostile raises one kind of error.

Law: `inflated` of what `deflated` has made is the same text; of any other bytes it raises, in memory that is at most a
constant times their length.

Source: SEMANTICS 1.16.
"""

from __future__ import annotations

import gc
import zlib
from typing import TYPE_CHECKING, Final, TypeVar

from cartesius.errors import CartesiusError, SnapshotMismatch, shortened

if TYPE_CHECKING:
    from collections.abc import Callable

Loaded = TypeVar("Loaded")

_MOST_INFLATED: Final = 64  # how often its own length a text may have; what is denser is not compressed
_SMALL: Final = 4 << 20  # bytes that any text may have


def deflated(text: bytes, level: int) -> bytes:
    """Compress a text, unless it is so dense then that `inflated` would refuse it."""
    packed = zlib.compress(text, level)
    return packed if len(text) <= _most(packed) else zlib.compress(text, 0)


def inflated(packed: bytes) -> bytes:
    """Return what `deflated` has compressed; its memory is bounded by the length of ``packed``.

    Raises:
        SnapshotMismatch: It is no such text, cut off, or is longer than what is ever written.
    """
    stream = zlib.decompressobj()
    most = _most(packed)
    try:
        text = stream.decompress(packed, most)
    except zlib.error as error:
        message = f"restore: expected compressed text but the bytes are damaged ({error}); use an earlier snapshot"
        raise SnapshotMismatch(message) from error
    if not stream.eof or stream.unused_data:
        rest = f"more than {most} bytes" if stream.unconsumed_tail else "another end"
        message = (
            f"restore: expected {len(packed)} bytes of compressed text but they have {rest}, as no snapshot has; they"
            " are damaged, or made to fill the memory: use an earlier snapshot"
        )
        raise SnapshotMismatch(message)
    return text


def _most(packed: bytes) -> int:
    return max(_SMALL, _MOST_INFLATED * len(packed))


def loading(load: Callable[[], Loaded]) -> Loaded:
    """Return what ``load`` makes of stored data.

    Raises:
        SnapshotMismatch: They are damaged, though their checksum is right: what reads them raised an error of its own.
    """
    try:
        return undisturbed(load)
    except CartesiusError:
        raise
    except Exception as error:  # whatever constructors raise of which the arguments are wrong
        message = (
            f"restore: the snapshot is damaged, though its checksum is right ({type(error).__name__}:"
            f" {shortened(str(error), 200)}); use an earlier one"
        )
        raise SnapshotMismatch(message) from error


def undisturbed(make: Callable[[], Loaded]) -> Loaded:
    """Return what ``make`` makes; Python's collector does not look through it meanwhile, as it is much and stays."""
    is_on = gc.isenabled()
    try:
        gc.disable()
        return make()
    finally:
        if is_on:
            gc.enable()
