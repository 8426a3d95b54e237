"""The operators that `bench.tables` measures, with what is done by hand instead, and the rows that they are given."""

from __future__ import annotations

import random
from itertools import cycle
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import attrs

from bench.dict_joins import DictJoin, Filter, ForeignJoin, InnerJoin, OuterJoin, Total, TotalBy
from cartesius import Reactive, Update
from restrictions.tables import filter_table, foreign_join, inner_join, outer_join, reduce, sum_

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GROUP = 5  # rows a group
Pushes: TypeAlias = list[tuple[int, Update]]
"""The number of the input, and the change."""


class Ship(NamedTuple):
    """A row that names another one, or a group."""

    berth: int
    draught: int


class Rows:
    """What the rows are, and what they become.

    Args:
        n: Rows a table.
        seed: Seed of the values.
        berths: What the left rows name: ``"one each"``, ``"by group"``, or ``"none"``: then they are numbers.
    """

    def __init__(self, n: int, seed: int, berths: str) -> None:
        self.draw = random.Random(seed)
        self.keys = list(range(n))
        self.berths: list[int] | None = None
        if berths == "one each":
            self.berths = self.draw.sample(self.keys, n)
        elif berths == "by group":
            self.berths = [key // GROUP for key in self.keys]

    def first(self, inputs: int) -> Pushes:
        """Return what fills the tables."""
        return [(number, Update(key, self._value(number, key))) for key in self.keys for number in range(inputs)]

    def updates(self, n: int, inputs: Sequence[int]) -> Pushes:
        """Return ``n`` updates of rows that are there, in turn over the inputs, an even number."""
        if self.berths is not None and 0 in inputs:
            return [update for _ in range(n // 2) for update in self._swapped(self.berths)]
        chosen = zip(cycle(inputs), self.draw.choices(self.keys, k=n // 2 * 2), strict=False)
        return [(number, Update(key, self._value(number, key))) for number, key in chosen]

    def update_of_each(self, inputs: int) -> Pushes:
        """Return an update of every row, in random order."""
        if self.berths is not None:
            self.draw.shuffle(self.berths)
        shuffled = self.draw.sample(self.keys, len(self.keys))
        return [(number, Update(key, self._value(number, key))) for key in shuffled for number in range(inputs)]

    def _swapped(self, berths: list[int]) -> Pushes:
        one = other = self.draw.choice(self.keys)
        while berths[one] == berths[other]:
            other = self.draw.choice(self.keys)
        berths[one], berths[other] = berths[other], berths[one]
        return [(0, Update(key, self._value(0, key))) for key in (one, other)]

    def _value(self, number: int, key: int) -> Any:
        drawn = self.draw.getrandbits(40)
        return Ship(self.berths[key], drawn) if self.berths is not None and number == 0 else drawn


@attrs.frozen
class Case:
    """An operator, by us and by hand; ``timed`` says for each figure which inputs are updated."""

    name: str
    ours: Callable[..., Reactive]
    theirs: Callable[[], DictJoin]
    timed: dict[str, tuple[int, ...]]
    inputs: int = 2
    berths: str = "none"

    def rows(self, n: int, seed: int) -> Rows:
        """Return what fills the tables."""
        return Rows(n, seed, self.berths)


def is_odd(value: int) -> bool:
    """Whether a row is kept by the filter."""
    return value % 2 == 1


CASES = (
    Case("inner_join", inner_join, InnerJoin, {"": (0, 1)}),
    Case("outer_join", outer_join, OuterJoin, {"": (0, 1)}),
    Case(
        "foreign_join",
        lambda left, right: foreign_join(left, right, on="berth"),
        lambda: ForeignJoin(attrgetter("berth")),
        {", left": (0,), ", right": (1,)},
        berths="one each",
    ),
    Case("filter_table", lambda table: filter_table(table, is_odd), lambda: Filter(is_odd), {"": (0,)}, inputs=1),
    Case("reduce", lambda table: reduce(table, sum_), Total, {"": (0,)}, inputs=1),
    Case(
        "reduce by",
        lambda table: reduce(table, sum_.of("draught"), by="berth"),
        lambda: TotalBy(attrgetter("berth"), attrgetter("draught")),
        {"": (0,)},
        inputs=1,
        berths="by group",
    ),
)
