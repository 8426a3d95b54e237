"""A progress bar, on a terminal: how many runs of how many are done, and which is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from types import TracebackType


class Bar:
    """A progress bar on the terminal of stderr; elsewhere nothing. It leaves no trace.

    >>> from examples.experiments.bars import Bar
    >>> with Bar() as bar:
    ...     bar.plan(2)
    ...     for run in ("first", "second"):
    ...         bar.tell(run)
    """

    def __init__(self) -> None:
        console = Console(stderr=True)
        columns = (
            BarColumn(20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task("", total=0)
        self._begun = False

    def __enter__(self) -> Self:
        """Show it."""
        self._progress.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Take it away."""
        self._progress.stop()

    def plan(self, runs: int) -> None:
        """Begin anew: so many runs are to come."""
        self._progress.reset(self._task, total=runs)
        self._begun = False

    def tell(self, line: str) -> None:
        """Say which run begins, and so that the one before it is done."""
        self._progress.update(self._task, advance=int(self._begun), description=line)
        self._begun = True
