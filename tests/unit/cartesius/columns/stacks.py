"""Stacks of the restrictions that the compiled tier is about, and programs of two or three streams under them.

``python -m tests.unit.cartesius.columns.stacks`` writes into docs/how_to/columns.md how many of them are compiled.
"""

from __future__ import annotations

from functools import reduce
from itertools import permutations
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cartesius import Engine, Reactive, correlate
from cartesius.columns.batches.plans import stage_of
from cartesius.errors import CartesiusError
from restrictions import (
    affinely,
    aligning,
    as_table,
    at_most,
    earliest,
    fifo,
    key_by,
    momentarily,
    most_recently,
    only,
    optionally,
    retracting,
    sliding,
    tumbling,
    within,
)
from restrictions.time.duration import apart, lasting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PAGE = Path(__file__).parents[4] / "docs" / "how_to" / "columns.md"
BEGIN, END = "<!-- stacks: written by `python -m tests.unit.cartesius.columns.stacks` -->", "<!-- end of stacks -->"
X, Y, Z = INPUTS = Reactive("x"), Reactive("y"), Reactive("z")

ISSUE: dict[str, Callable[[], Any]] = {
    "key_by": lambda: key_by(x="id", y="id"),
    "most_recently": lambda: most_recently("x", "y"),
    "most_recently of one, n": lambda: most_recently("x", n=2),
    "earliest": lambda: earliest("x", n=2),
    "affinely": lambda: affinely("x", "y"),
    "at_most": lambda: at_most(2, "x"),
    "aligning": lambda: aligning("x", "y"),
    "only": lambda: only("x", lambda value: value.v > 1),
    "within": lambda: within(5, "x", "y"),
    "optionally": lambda: optionally("y"),
    "retracting": retracting,
    "as_table": lambda: as_table(lambda row: row[0]),
    "tumbling": lambda: tumbling(5),
    "sliding": lambda: sliding(6, 2),
}
"""The restrictions of issue 7, each as it is written most often."""


def spread(row: tuple[Any, ...]) -> int:
    """Return one of three keys of a row of values, records or missing parts."""
    return sum(part if isinstance(part, int) else 0 if part is None else part.v for part in row) % 3


TWO: dict[str, Callable[[], Any]] = {
    **{name: make for name, make in ISSUE.items() if name not in ("tumbling", "sliding")},
    "as_table": lambda: as_table(spread),
    "key_by of one": lambda: key_by(x="id"),
    "key_by another": lambda: key_by(x="v", y="v"),
    "earliest of the other": lambda: earliest("y"),
    "affinely one": lambda: affinely("y"),
    "aligning, with a limit": lambda: aligning("x", "y", limit=50),
    "only the other": lambda: only("y", lambda value: value.v < 3),
    "lasting": lambda: lasting("x", 4),
    "apart": lambda: apart("x", "y", -2, 3),
    "optionally the other": lambda: optionally("x"),
    "fifo": fifo,
    "momentarily": lambda: momentarily("x"),
}
THREE: dict[str, Callable[[], Any]] = {
    **TWO,
    "key_by of all": lambda: key_by(x="id", y="id", z="id"),
    "aligning all": lambda: aligning("x", "y", "z"),
    "aligning the outer ones": lambda: aligning("x", "z"),
    "most_recently of all": lambda: most_recently("x", "y", "z"),
    "most_recently of the third": lambda: most_recently("z", n=2),
    "affinely the outer ones": lambda: affinely("x", "z"),
    "within, all": lambda: within(6, "x", "y", "z"),
}

WHERE_TWO: list[Any] = [
    None,
    lambda x, y: x.id == y.id,
    lambda x, y: (x.id == y.id) & (x.v <= y.v),
    lambda x, y: (x.v > 0) & (x.v + y.v != 4) & (y.v < 4),
    lambda x, y: 1 if abs(x.v - y.v) < 2 else 0,  # a jump: it does not trace
]
WHERE_THREE: list[Any] = [
    None,
    lambda x, y, z: (x.id == y.id) & (y.id == z.id),
    lambda x, y, z: (x.id == y.id) & (y.v == z.v),
    lambda x, y, z: (x.id == z.id) & (z.v == y.v),
    lambda x, y, z: (x.id == z.id) & (x.v + y.v > z.v),
]


def program(makers: dict[str, Callable[[], Any]], names: Sequence[str], where: Any, slots: int) -> Reactive | None:
    """Return the product of two or three streams under a stack; None if it is refused."""
    yields: Any = (lambda x, y, z: (x.v, y, z.v)) if slots == len(INPUTS) else (lambda x, y: (x.v, y.v))
    if any(name.startswith("optionally") for name in names):
        yields = (lambda x, y, z: (x, y, z)) if slots == len(INPUTS) else (lambda x, y: (x, y))
    try:
        restrict = reduce(or_, [makers[name]() for name in names])
        bound = dict(zip("xyz", INPUTS[:slots], strict=False))
        found: Reactive = correlate(slots=bound, where=where, yields=yields, restrict=restrict)
    except CartesiusError:
        return None
    return found


def stacks(most: int) -> Iterator[tuple[str, ...]]:
    """Iterate over the names of all stacks of up to so many of the issue's restrictions, in every order."""
    for n in range(1, most + 1):
        yield from permutations(ISSUE, n)


def ways() -> dict[tuple[str, ...], str]:
    """Return for each stack of up to three that is not refused why it is pushed row by row; "" if it is compiled."""
    found = {}
    for names in stacks(3):
        output = program(ISSUE, names, lambda x, y: x.id == y.id, 2)
        if output is not None:
            engine = Engine(output)
            stage = stage_of(engine._program.joins[0])
            found[names] = stage if isinstance(stage, str) else ""
    return found


def as_table_of(found: dict[tuple[str, ...], str]) -> str:
    """Return, as a table in Markdown, how many stacks are compiled, and why the others are not."""
    reasons: dict[str, list[tuple[str, ...]]] = {}
    for names, reason in found.items():
        reasons.setdefault(reason, []).append(names)
    compiled = len(reasons.pop("", []))
    known = ", ".join(f"`{name}`" for name in sorted({*map(plain, ISSUE)}))
    lines = [
        f"Of {len(found)} stacks over two streams of one to three of {known}, each in every order, {compiled} are",
        "compiled; refused ones do not count.",
        "",
        "| stacks | such as | pushed row by row, as |",
        "|--:|---|---|",
    ]
    for reason, stacked in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        _, shortest = min((len(names), names) for names in stacked)
        example = " \\| ".join(map(plain, shortest))
        lines.append(f"| {len(stacked)} | `{example}` | {reason} |")
    return "\n".join(lines)


def plain(name: str) -> str:
    """Return the name of a restriction, without what tells it from another of the same kind."""
    return name.partition(" ")[0]


def replaced(page: str, table: str) -> str:
    """Return a page with the table in its place."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), as_table_of(ways())), encoding="utf-8")
