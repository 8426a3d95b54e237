"""Dead letters: what could not be used, where it stands, and why. Nothing is lost in silence."""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING, Final

import attrs

from examples.port.outside import no_formula

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_GOT: Final = " but got "


@attrs.frozen
class DeadLetter:
    """A row, or what is left of a file, that could not be used.

    >>> letter = DeadLetter("wind", "wind.csv", 7, "wind_kn: expected at most 200 kn but got 911.0", "EWR,911.0")
    >>> letter.problem
    'wind_kn: expected at most 200 kn'
    """

    source: str
    file: str
    line: int
    reason: str
    row: str

    @property
    def problem(self) -> str:
        """The reason without the value that it happened to."""
        return self.reason.partition(_GOT)[0]


def reason(column: str, expected: str, got: object) -> str:
    """Return the reason for a dead letter.

    >>> reason("draught_m", "0 or more", "-3")
    'draught_m: expected 0 or more but got -3'
    """
    return f"{column}: expected {expected}{_GOT}{got}"


def problems(letters: Iterable[DeadLetter]) -> list[tuple[str, str, int]]:
    """Return (source, problem, number of dead letters), the most frequent first.

    >>> problems([DeadLetter("tide", "t.csv", 2, "time_utc: expected a time but got nothing", "")] * 2)
    [('tide', 'time_utc: expected a time', 2)]
    """
    counts = Counter((letter.source, letter.problem) for letter in letters)
    return [(source, problem, number) for (source, problem), number in counts.most_common()]


def write_dead_letters(letters: Iterable[DeadLetter], path: Path) -> None:
    """Write dead letters as CSV, with a header also if there are none; no cell is a formula."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in attrs.fields(DeadLetter)])
        for letter in letters:
            texts = (no_formula(each) if isinstance(each, str) else each for each in attrs.astuple(letter))
            writer.writerow(texts)
