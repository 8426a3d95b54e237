"""The results of a run: all replace those of the last run, or none does; and how a run over damaged input ends."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from examples.port.marks import COLOURS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

DAMAGED: Final = 3
"""The exit status where input was damaged: what there is of it was judged."""


@contextmanager
def results(console: Console, out: Path, names: Sequence[str]) -> Iterator[Path]:
    """Give a folder to write results into; they replace those in ``out`` when all are there, and not before.

    Args:
        console: Where it is said what was written.
        out: The folder that they are for.
        names: The files that there may be; one that this run did not write is not left there from the last.
    """
    with TemporaryDirectory(prefix=".new-", dir=out) as made:
        yield Path(made)
        written = [name for name in names if (Path(made) / name).exists()]
        for name in names:
            if name in written:
                (Path(made) / name).replace(out / name)
            else:
                (out / name).unlink(missing_ok=True)
    console.print(f"Written to {out}: {', '.join(written)}")


def warn(console: Console, damaged: Sequence[str]) -> None:
    """Say what is wrong with the input, a line each, before anything else."""
    for each in damaged:
        console.print(f"DAMAGED INPUT: {each}", style=f"bold {COLOURS['restricted']}", soft_wrap=True)


def end(damaged: Sequence[str]) -> None:
    """End with a status of its own where input was damaged."""
    if damaged:
        sys.exit(DAMAGED)
