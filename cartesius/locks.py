"""Locks: a file that one process has at a time. Windows has none of this kind: there, nobody is kept out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import IO, Any

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, flock


def locked(file: int | IO[Any], *, waits: bool = True) -> bool:
    """Lock an open file, or folder, until it is closed; return whether it is: it may be locked, and nobody waits.

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
    return True
