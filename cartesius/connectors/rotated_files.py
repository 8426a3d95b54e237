"""Rotated files: which of those beside a file are what it was before, in order.

One is told by its name, which is that of the file with a number or a date behind, as logrotate and Python's handlers of
logs give them. Any other, such as a backup or what was compressed, is somebody else's.
"""

from __future__ import annotations

import filecmp
import logging
import re
from glob import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_LOG: Final = logging.getLogger(__name__)
_BEHIND: Final = re.compile(r"(?:[.-][0-9]+(?:[-_T][0-9]+)*)?")
"""What is behind the name: .1, -20260301, -20260301-12, .2026-03-01, .2026-03-01_12-30-00; or nothing."""


def with_rotated(path: Path) -> list[Path]:
    """Return the rotated files of a path that are there, as they were last written, and at last itself."""
    every = [
        other
        for other in path.parent.glob(f"{escape(path.name)}*")
        if _BEHIND.fullmatch(other.name, len(path.name)) and other.is_file()
    ]
    return sorted(every, key=lambda other: (other == path, other.stat().st_mtime_ns))


def without_copies(paths: Sequence[Path], growing: Path) -> list[Path]:
    """Return files without those of the same content as one before, which is logged; the one that grows stays."""
    found: list[Path] = []
    for path in paths:
        like = next((other for other in found if path != growing and filecmp.cmp(path, other, shallow=False)), None)
        if like is None:
            found.append(path)
        else:
            _LOG.warning("%s has what %s has, and is taken for a copy of it: it is not read", path, like)
    return found
