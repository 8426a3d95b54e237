"""Locks: a file that one process has at a time. Where a system has none, as Windows, nobody is kept out."""

from __future__ import annotations

import errno
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import IO, Any

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

_HAS_NONE = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)


def locked(file: int | IO[Any], *, waits: bool = True) -> bool:
    """Lock an open file, or folder, until it is closed; return whether it is: it may be locked, and nobody waits.

    A process that was forked off meanwhile has it open as well: who may have some calls `unlocked` before.

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
