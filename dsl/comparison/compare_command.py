"""The command `python -m dsl compare`: two files of rules over one history, for people and for CI.

Exit statuses: 0, nothing changes of what `--fail-on` names; 1, something does; 2, it was refused: a file of rules that
is wrong, a folder that is no history or cannot be written to, no Spark. A fault
that nobody foresaw ends with `FAILED` of commands, as it is no answer.
"""

from __future__ import annotations

from contextlib import nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment

from cartesius.errors import CartesiusError, InvalidArgument, near
from dsl.command_lines import check_writable, printable
from dsl.comparison.comparing import CHANGES, compare
from dsl.comparison.comparison_picture import draw
from dsl.comparison.comparison_report import report
from dsl.rule_packs import RulePack
from dsl.text.rule_files import rule_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from rich.console import ConsoleOptions, RenderableType

    from dsl.comparison.comparing import Comparison

SAME, CHANGED, REFUSED = 0, 1, 2
WRITTEN: Final = ("differences.parquet", "comparison.png")
"""What is written into ``--out``."""


class _Console(Console):
    """It escapes what a terminal would obey, and says that its reader has gone, where others would end the process."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return what is written, all texts printable."""
        for each in super().render(renderable, options):
            yield each if each.control else Segment(printable(each.text), each.style)

    def on_broken_pipe(self) -> None:
        """Say so."""
        raise BrokenPipeError


def run(chosen: argparse.Namespace) -> int:
    """Compare, print and write; return the exit status.

    Args:
        chosen: ``old``, ``new``, ``data`` and ``out``, paths; ``spark``; ``rows``; ``fail_on``, of `CHANGES`.
    """
    console, aside = (_Console(stderr=each, highlight=False, markup=False, emoji=False) for each in (False, True))
    try:
        for each in chosen.fail_on:
            if each not in CHANGES:
                message = f"expected --fail-on to be one of {', '.join(CHANGES)} but got {each!r}{near(each, CHANGES)}"
                raise InvalidArgument(message)
        packs = [RulePack.from_text(rule_text(path), str(path)) for path in (chosen.old, chosen.new)]
        if chosen.out is not None:
            check_writable("--out", chosen.out, *WRITTEN)
        started = perf_counter()
        found = _compared(packs, chosen, aside)
        seconds = perf_counter() - started
        console.print(f"{chosen.old.name} ({found.old.version}) → {chosen.new.name} ({found.new.version})")
        report(console, found, chosen.rows)
        if chosen.out is not None:
            versions = {"pack_before": found.old.version, "pack_after": found.new.version}
            pq.write_table(found.differences.replace_schema_metadata(versions), chosen.out / WRITTEN[0])
            draw(found, chosen.out / WRITTEN[1])
            console.print(f"Written to {chosen.out}: {', '.join(WRITTEN)}")
    except BrokenPipeError:
        raise  # whoever reads it has gone, as `run` of commands says
    except (CartesiusError, OSError, UnicodeError) as error:
        said = str(error).removeprefix("compare: ")  # the function says its name, too
        aside.print(f"compare: {said}", soft_wrap=True)
        return REFUSED
    where = "on Spark" if chosen.spark else "in this process"
    judged = 2 * found.rows  # by either pack
    said = f"{judged:,} rows judged {where} in {seconds:,.1f} s: {judged / seconds:,.0f} rows a second"
    console.print(said, style="dim")
    return CHANGED if set(found.changed) & set(chosen.fail_on or CHANGES) else SAME


def _compared(packs: list[RulePack], chosen: Any, console: Console) -> Comparison:
    with (
        _spark() if chosen.spark else nullcontext() as spark,
        Progress(
            TextColumn("judging"),
            BarColumn(bar_width=40),
            TextColumn("{task.completed:,} of {task.total:,} rows"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        ) as bar,
    ):
        task, tenth = bar.add_task("judging", total=1), 0

        def tell(done: int, rows: int) -> None:
            nonlocal tenth
            bar.update(task, completed=done, total=rows)
            if bar.disable and rows and tenth < 10 * done // rows:  # into a file, a line for each tenth
                tenth = 10 * done // rows
                console.print(f"{done:,} of {rows:,} rows judged")

        return compare(packs[0], packs[1], chosen.data, spark=spark, progress=tell)


def _spark() -> AbstractContextManager[Any]:
    from dsl.comparison.judging_on_spark import local_spark  # noqa: PLC0415 - with Spark, where it is wanted

    return local_spark()
