"""What has been drawn: of each export, and of each two families, how many programs have given results."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

from tests.laws import catalogue_lines
from tests.laws.catalogue import EXPORTS

if TYPE_CHECKING:
    import random

    from tests.laws.catalogue import Program

assert catalogue_lines.REGISTRIES, "without them there is nothing to count"
FAMILIES = sorted({export.family for export in EXPORTS.values()})
PAIRS = list(combinations(FAMILIES, 2))
AT_ONCE = 5
"""How many exports are asked of a program."""


class Counts:
    """The programs that have given results, and what to draw next.

    Args:
        each: How many programs each export has to be in.
        pair: How many each two families have to be in together.
    """

    def __init__(self, each: int, pair: int) -> None:
        self.each, self.pair = each, pair
        self.exports: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.buckets: Counter[int] = Counter()
        self.programs = 0

    def add(self, program: Program, buckets: int | None = None) -> None:
        """Count a program that has given results."""
        self.programs += 1
        if buckets is not None:
            self.buckets[buckets] += 1
        self.exports.update(program.exports)
        families = sorted({EXPORTS[name].family for name in program.exports})
        self.pairs.update(combinations(families, 2))

    @property
    def is_enough(self) -> bool:
        """Whether all exports and all pairs of families have had their programs."""
        return not self._missing() and not self._missing_pairs()

    def _missing(self) -> list[str]:
        return [name for name in EXPORTS if self.exports[name] < self.each]

    def _missing_pairs(self) -> list[tuple[str, str]]:
        return [pair for pair in PAIRS if self.pairs[pair] < self.pair]

    def focus(self, draw: random.Random) -> list[str]:
        """What the next program shall have: what is missed most, and of two families that have not met."""
        missing = self._missing() or list(EXPORTS)
        draw.shuffle(missing)
        missing.sort(key=lambda name: self.exports[name])
        found = missing[: AT_ONCE - 1]
        if pairs := self._missing_pairs():
            for family in draw.choice(pairs):
                members = [name for name, export in EXPORTS.items() if export.family == family]
                if not any(name in found for name in members):
                    found.append(draw.choice(members))
        draw.shuffle(found)
        return found

    def table(self) -> str:
        """Both counts as text."""
        rows = [f"{self.programs} programs gave results; in how many each export was:"]
        for family in FAMILIES:
            members = [name for name, export in EXPORTS.items() if export.family == family]
            rows.append(f"  {family:14} {', '.join(f'{name} {self.exports[name]}' for name in members)}")
        told = ", ".join(f"{number} in {buckets} buckets" for buckets, number in sorted(self.buckets.items()))
        rows.append(f"on the bridge (0: declined): {told}")
        rows.append("in how many two families were together:")
        rows.append(f"  {'':14} " + " ".join(f"{family[:6]:>6}" for family in FAMILIES))
        for one in FAMILIES:
            met = [self.pairs[min(one, other), max(one, other)] for other in FAMILIES]
            rows.append(f"  {one:14} " + " ".join(f"{number or '.':>6}" for number in met))
        return "\n".join(rows)
