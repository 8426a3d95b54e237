"""Rules that are published: a folder of changes, a file each, as a query on Spark reads it as a stream.

A file has one line, that of a log of packs (`pack_logs`), with the columns that `correlate_frames` wants of
``changes=``: ``at`` and ``text``. So who changed what, and when, stays with the change.

Invariant: a file is there whole or not at all, and is never changed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dsl.versions.pack_logs import LoggedPack, logged

if TYPE_CHECKING:
    from dsl.rule_packs import RulePack

CHANGE_COLUMNS: Final = "at timestamp, version string, changed timestamp, who string, text string"
"""The columns of the files, as Spark writes a schema: ``spark.readStream.schema(CHANGE_COLUMNS).json(folder)``."""


def publish(
    pack: RulePack | str, folder: str | Path, *, at: datetime | None = None, who: str | None = None
) -> LoggedPack:
    r"""Write a pack into a folder of changes, and return what was written.

    >>> from tempfile import TemporaryDirectory
    >>> from dsl.versions import publish
    >>> head = "pack: port\nsubject: vessel\nsource vessel by mmsi:\n    mmsi: number\n    draught: metres\n"
    >>> with TemporaryDirectory() as folder:
    ...     publish(head + "draught must be at most 15 m", folder, who="eva").who
    'eva'

    Args:
        pack: The pack, or its text.
        folder: The folder; it is made if it is not there.
        at: When it was changed, with a time zone: of two changes that one micro-batch finds the later one is used last.
            None: now.
        who: Who changed the rules; None: the user of this process.

    Raises:
        InvalidRule: The text is none of rules, or the pack has no text.
        InvalidArgument: A time has no time zone.
        OSError: The file cannot be written.
    """
    now = datetime.now(UTC)
    found = logged(pack, at=now if at is None else at, who=who, changed=now)
    there = Path(folder)
    there.mkdir(parents=True, exist_ok=True)
    file = there / f"{found.changed:%Y%m%dT%H%M%S.%f}-{found.version}.json"
    unfinished = there / f".{file.name}"  # Spark does not read what begins like this
    unfinished.write_text(found.line + "\n", encoding="utf-8")
    unfinished.rename(file)
    return found
