"""Locks: a file that one process has at a time. Where a system has none, as Windows, nobody is kept out."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from cartesius.errors import block

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path
    from typing import IO, Any

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

_HAS_NONE = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)


@block
def alone_with(file: int | IO[Any], *, waits: bool = True) -> Generator[bool]:
    """Have an open file, or folder, locked, and unlock it at the end; give whether it is, as `locked` returns it."""
    has = locked(file, waits=waits)
    try:
        yield has
    finally:
        unlocked(file)


@block
def alone_in(folder: Path) -> Generator[None]:
    """Have a folder locked, and wait until nobody else has it. Nobody is kept out of it on Windows.

    >>> from pathlib import Path
    >>> with alone_in(Path()):
    ...     pass  # what only one process is to do at a time
    """
    if sys.platform == "win32":  # there a folder cannot be opened
        yield
    else:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            with alone_with(descriptor):
                yield
        finally:
            os.close(descriptor)


def locked(file: int | IO[Any], *, waits: bool = True) -> bool:
    """Lock an open file, or folder, until it is closed; return whether it is: it may be locked, and nobody waits.

    A process that was forked off meanwhile has it open as well, so it is `unlocked` before it is closed.

    >>> from tempfile import TemporaryFile
    >>> with TemporaryFile() as file:
    ...     locked(file)
    True

    Args:
        file: The file, or its descriptor. Opened anew it is another one to a lock, also in the same process.
        waits: Whether to wait until nobody else has it.
    """
    if sys.platform != "win32":
        try:
            flock(file, LOCK_EX if waits else LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _HAS_NONE:  # as some file systems of a network
                raise
    return True


def unlocked(file: int | IO[Any]) -> None:
    """Unlock a file that is locked, whoever else has it open."""
    if sys.platform != "win32":
        with suppress(OSError):  # of a file system that has no locks
            flock(file, LOCK_UN)
