"""What commands have in common, whatever they do: how they print and end, and that they look where they shall write."""

from __future__ import annotations

import os
import sys
import tempfile
import unicodedata
from io import TextIOWrapper
from typing import TYPE_CHECKING, Final, NoReturn

from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TextIO

INTERRUPTED: Final = 130
"""What a command returns that Ctrl-C has ended."""
UNREAD: Final = 141
"""What a command returns whose reader has gone; either is what a shell says of the signal."""
FAILED: Final = 70
"""What a command returns that ends in a way that nobody foresaw, so that it is no answer: EX_SOFTWARE of sysexits.h."""

_ESCAPED: Final = frozenset({"Cc", "Cf", "Cs"})
_KEPT: Final = "\n\u200c\u200d"


def printable(text: str) -> str:
    r"""Return a text with its control and formatting characters, new lines and joiners of letters apart, as escapes.

    >>> print(printable("EVA\x1b[2J\u202e"))
    EVA\x1b[2J\u202e
    """
    return "".join(
        each.encode("unicode_escape").decode() if unicodedata.category(each) in _ESCAPED and each not in _KEPT else each
        for each in text
    )


def run(command: Callable[[], int | None]) -> NoReturn:
    """Run a command, and end the process with what it returns; without a traceback for what is nobody's mistake.

    That is Ctrl-C, a reader that goes, as `head` does, an encoding that lacks a character, which is escaped, and what
    the system refuses, such as a full disk, of which a line says what. After any other exception its traceback is
    shown. Either ends with `FAILED`: to Python it would be 1, by which a command may mean something else.
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
        _leave_unwritten(sys.stdout)
        status = UNREAD
    except OSError as error:
        _leave_unwritten(sys.stdout)
        place = "" if error.filename is None else f": {error.filename}"
        said = printable(f"error: {error.strerror or error}{place}")
        _tell(lambda: print(said, file=sys.stderr))
        status = FAILED
    except Exception:
        found = sys.exc_info()
        _tell(lambda: sys.excepthook(*found))
        status = FAILED
    raise SystemExit(status)


def _tell(say: Callable[[], object]) -> None:
    """Say why a command ends, if that can be written: standard error may be on the same full disk."""
    try:
        say()
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        _leave_unwritten(sys.stderr)


def _leave_unwritten(stream: TextIO | None) -> None:
    """Let what was not written go nowhere: Python flushes it once more."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


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
