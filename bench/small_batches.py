"""What a small batch costs where much is held, beside the same where little is.

It is measured alone, with a push after each, with the clock moved after each (`Engine.advance`), and with what has come
since the last one saved (`Engine.changes_since`).
"""

from __future__ import annotations

import gc
import time
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np

from bench.sheets import Sheet, verdict
from cartesius import Engine, Reactive, Update, correlate
from restrictions import affinely, aligning, key_by, most_recently, optionally, session, tumbling, within, without
from restrictions.tables import aggregate, foreign_join, inner_join, mean, sum_

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

A, B, F = Reactive("a"), Reactive("b"), Reactive("f")
T, U = Reactive("t", table=True), Reactive("u", table=True)
SAME: Final = key_by(x="k", y="k")
PROGRAMS: Final[dict[str, tuple[Callable[[], Any], Reactive, Reactive]]] = {
    "keyed latest": (
        lambda: correlate(x=A, y=B, yields=lambda x, y: (x.v, y.v), restrict=SAME | most_recently("x", "y")), A, B,
    ),
    "band": (
        lambda: correlate(x=A, y=B, yields=lambda x, y: (x.v, y.v), restrict=SAME | within(10**12, "x", "y")), A, B,
    ),
    "left join of a band": (
        lambda: correlate(
            x=A, y=B, yields=lambda x, y: (x.v, y and y.v), restrict=SAME | optionally("y") | within(10**12, "x", "y")
        ), A, B,
    ),
    "A without B": (
        lambda: correlate(
            x=A, yields=lambda x: x.v, restrict=key_by(x="k", b="k") | without(B, after="x", within=10**12)
        ), A, B,
    ),
    "latest by key in windows": (
        lambda: correlate(
            x=A, y=B, yields=lambda x, y: (x.v, y.v), restrict=SAME | tumbling(10**12) | most_recently("x", "y")
        ), A, B,
    ),
    "latest by key, used once": (
        lambda: correlate(
            x=A, y=B, yields=lambda x, y: (x.v, y.v), restrict=SAME | most_recently("x", "y") | affinely("x", "y")
        ), A, B,
    ),
    "in lock-step by key": (
        lambda: correlate(
            x=A, y=B, yields=lambda x, y: (x.v, y.v), restrict=SAME | aligning("x", "y") | most_recently("x", "y")
        ), A, B,
    ),
    "join of tables by key": (lambda: inner_join(T, U), T, U),
    "totals in windows by key": (lambda: aggregate(A, sum_.of("v"), by="k", restrict=tumbling(10**12)), A, A),
    "means of floats in windows by key": (
        lambda: aggregate(F, mean.of("v"), by="k", restrict=tumbling(10**12)), F, F,
    ),
    "totals in sessions by key": (lambda: aggregate(A, sum_.of("v"), by="k", restrict=session(10**12)), A, A),
    "foreign-key join of tables": (lambda: foreign_join(U, T, on=lambda value: value % 10_000), T, U),
}  # fmt: skip
MOST: Final = 2.0
KINDS: Final = (("", 1_000), (" and a push", 100), (" and the clock", 100), (", and saved", 1_000))
"""What follows each batch, and how many rows that has."""


@attrs.frozen
class Cost:
    """Milliseconds of processor time of a batch, and what follows it."""

    name: str
    few: float
    many: float

    @property
    def ratio(self) -> float:
        """How many times as much."""
        return self.many / self.few


def batch(source: Reactive, keys: Any, first: int) -> dict[Any, Any]:
    """Return rows of some keys, in the order of time."""
    at = np.arange(first, first + len(keys))
    value = at / 7 if source is F else at
    return {source: {"key": keys, "value": at, "at": at} if source.table else {"k": keys, "v": value, "at": at}}


def milliseconds(name: str, held: int, rows: int, times: int, draw: Any, then: str) -> float:
    """Return what a batch costs on average, after those that find where the keys are."""
    make, left, right = PROGRAMS[name]
    engine, now = Engine(make()), held
    engine.push_many(batch(left, np.arange(held), 0))
    mark = engine.mark() if "saved" in then else None
    costs = []
    for _ in range(times + 3):
        given = batch(right, draw.integers(0, held, rows), now)
        now += rows + 1
        value: Any = (
            Update(int(draw.integers(held)), now)
            if right.table
            else {"k": int(draw.integers(held)), "v": now / 7 if right is F else now}
        )
        gc.collect(0)
        begun = time.process_time()
        engine.push_many(given)
        if "push" in then:
            engine.push(right, value, at=now)
        if "clock" in then:
            engine.advance(now)
        if mark is not None:
            engine.changes_since(mark)
            mark = engine.mark()
        costs.append(time.process_time() - begun)
    return 1000 * sum(costs[3:]) / times


def measure(
    held: tuple[int, int], times: int, repetitions: int, seed: int, tell: Callable[[str], None]
) -> Iterator[Cost]:
    """Measure each program against few and against many held keys, one after the other in each repetition."""
    for then, rows in KINDS:
        for name in PROGRAMS:
            what = f"{name}, {rows:,} rows{then}"
            tell(f"small batches: {what}")
            few: list[float] = []
            many: list[float] = []
            for number in range(repetitions):
                for side, n in zip((few, many), held, strict=True):
                    draw = np.random.default_rng(seed + number)
                    side.append(milliseconds(name, n, rows, times, draw, then))
            yield Cost(what, median(few), median(many))


def as_sheet(costs: list[Cost], held: tuple[int, int], times: int, repetitions: int) -> Sheet:
    """Return the table of the costs."""
    few, many = (f"{n:,} held" for n in held)
    title = f"milliseconds of processor time of a small batch, means of {times}, medians of {repetitions}"
    rows = [
        (one.name, f"{one.few:.2f}", f"{one.many:.2f}", f"{one.ratio:.2f}", f"{MOST:.0f}", verdict(one.ratio <= MOST))
        for one in costs
    ]
    return Sheet(title, ("batch", few, many, "ratio", "at most", "ok?"), tuple(rows))
