"""The command: ``python -m examples.equivalence`` runs five reducers twice, and says which came out differently."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from cartesius.testing import none_depend, streams_equivalent
from examples.equivalence.input_rows import bad_rows, good_rows, shuffled
from examples.equivalence.reducers import REDUCERS, Reducer, reduced

COLUMNS = ("reducer", "any rows", "rows under which it is right", "any rows, what is determined")


@click.command(context_settings={"max_content_width": 110})
@click.option("--windows", default=5, show_default=True, type=click.IntRange(1), help="How many windows of rows.")
@click.option("--rows", default=20, show_default=True, type=click.IntRange(1), help="How many rows in each of them.")
@click.option("--seed", default=1, show_default=True, help="What rows and orders are drawn by.")
def main(windows: int, rows: int, seed: int) -> None:
    """Run five reducers on rows and on the same rows in another order, and compare what comes out as streams."""
    bad, good = bad_rows(windows, rows, seed=seed), good_rows(windows, rows, seed=seed)
    table = Table(*COLUMNS)
    reasons = []
    for name, reducer in REDUCERS.items():
        plain, right = compared(reducer, bad, seed), compared(reducer, good, seed)
        table.add_row(name, said(plain), said(right), said(compared(reducer, bad, seed, whole=False)))
        reasons += [f"{name}: {plain}"] if plain else []
    console = Console(highlight=False)
    console.print(table)
    for reason in reasons:
        console.print(reason, markup=False, soft_wrap=True)


def compared(reducer: Reducer, rows: list[tuple[int, tuple[int, int, int]]], seed: int, *, whole: bool = True) -> str:
    """Return why what a reducer gives differs when its rows are shuffled; nothing if it does not.

    Args:
        reducer: The reducer.
        rows: Its input.
        seed: What the other order is drawn by.
        whole: Whether values are compared as they are, or what is determined of them.
    """
    one, other = reduced(reducer, rows), reduced(reducer, shuffled(rows, seed=seed))
    equal = None if whole else reducer.on_what_is_determined
    return streams_equivalent(one, other, none_depend(), equal).reason


def said(reason: str) -> str:
    """Return a reason in a word."""
    return "differs" if reason else "the same"


if __name__ == "__main__":
    main(prog_name="python -m examples.equivalence")
