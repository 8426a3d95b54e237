"""What commands have in common, whatever they do: how they end, and that they look first where they shall write."""

from __future__ import annotations

import os
import sys
import tempfile
from io import TextIOWrapper
from typing import TYPE_CHECKING, Final, NoReturn

from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INTERRUPTED: Final = 130
"""What a command returns that Ctrl-C has ended."""
UNREAD: Final = 141
"""What a command returns whose reader has gone; either is what a shell says of the signal."""


def run(command: Callable[[], int | None]) -> NoReturn:
    """Run a command, and end the process with what it returns; without a traceback for what is nobody's mistake.

    That is Ctrl-C, a reader that goes, as `head` does, and an encoding that lacks a character, which is escaped.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            status = command()
        finally:
            if sys.stdout is not None:  # it is, where it was closed before
                sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more
        status = UNREAD
    raise SystemExit(status)


def check_writable(option: str, folder: Path, *names: str) -> None:
    """Make a folder, and find out whether files can be written there, before anything takes its time.

    Args:
        option: What names the folder on the command line.
        folder: Where it is written.
        names: The files; those that are there must be files that can be written.

    Raises:
        InvalidArgument: It cannot be written there.
    """
    place = folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = [path for name in names if (path := folder / name).exists()]
        if not names or len(there) < len(names):
            with tempfile.TemporaryFile(dir=folder):
                pass
        for place in there:
            place.open("ab").close()
    except OSError as error:
        message = f"cannot write to {place}: {error.strerror}; choose another {option}"
        raise InvalidArgument(message) from None
