"""What a push costs beside a plain class that was written for that one join: the figures that the redesign goes by.

Sides alternate, in processor time, with the garbage collector on, as users have it; medians are shown. Before anything
is timed both sides are given one trace, and what they make must be the same.

This module is over 300 lines because the cases, and how each is given to both sides, are one table.
"""

from __future__ import annotations

import gc
import random
import re
import time
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import attrs
import pyarrow as pa

from bench import by_hand
from bench.sheets import Sheet, verdict
from bench.timing import Disagreement
from cartesius import (
    Delete,
    Engine,
    Reactive,
    Restriction,
    Slots,
    Update,
    correlate,
    displace,
    forward,
    handles,
    memory,
    push,
)
from cartesius.columns.results import events_of
from cartesius.plan import Newest, Node
from restrictions import in_sequence, key_by, most_recently, optionally, sliding, tumbling, within, without
from restrictions.tables import aggregate, foreign_join, sum_

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

KEYS: Final = 1_000
A, B, C = (Reactive(name, fields=("k", "v")) for name in ("a", "b", "c"))
T, U = (Reactive(name, table=True, key="id") for name in ("t", "u"))
Trace = list[tuple[Reactive, Any, int]]


class newest(Restriction):
    """The newest event of each slot, as a user would write it: no fast way knows of it."""

    slots: Slots

    @handles(push, "slots")
    def keep(self, slot: Any, entry: Any) -> None:
        """Drop those before."""
        forward(slot, entry)
        for older in memory(slot)[1:]:
            displace(slot, older)


class newest_as_said(newest):
    """The same, and it says what it means."""

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Newest(self.slots, 1),)


@attrs.frozen
class Case:
    """One program, and what it is measured against.

    Args:
        name: What the figure is called.
        program: Makes it; with whole rows, or the one field that is read.
        other: Makes the side by hand, or the other program.
        inputs: What comes, by turns.
        at_least: What share of the other's rate is wanted, and with whole rows.
        aim: What would be well.
        step: Events come so many units of time apart.
        batch: What share is wanted of a batch of columns, and the aim; None: it is not measured.
    """

    name: str
    program: Callable[[bool], Reactive]
    other: Callable[[bool], Any]
    inputs: tuple[Reactive, ...]
    at_least: tuple[float, float]
    aim: float
    step: int = 1
    batch: tuple[float, float] | None = None

    def trace(self, events: int, seed: int) -> Trace:
        """Return events in order of time."""
        draw = random.Random(seed)
        if self.inputs[0].table:
            return [self._change(draw, number) for number in range(events)]
        return [
            (draw.choice(self.inputs), {"k": draw.randrange(KEYS), "v": number, "more": "x"}, number * self.step)
            for number in range(events)
        ]

    def _change(self, draw: random.Random, number: int) -> tuple[Reactive, Any, int]:
        table = draw.choice(self.inputs)
        row = {"id": draw.randrange(KEYS), "k": draw.randrange(KEYS), "v": number}
        change = Delete(row["id"]) if draw.random() < 0.1 else Update(row["id"], row)
        return table, change, number * self.step


def _pair(whole: bool) -> Callable[..., Any]:
    return (lambda x, y: (x, y)) if whole else (lambda x, y: (x.v, y.v))


def _latest(kept: Callable[..., Any], *, whole: bool) -> Any:
    return correlate(x=A, y=B, yields=_pair(whole), restrict=key_by(x="k", y="k") | kept("x", "y"))


def _band(whole: bool) -> Any:
    return correlate(x=A, y=B, where=lambda x, y: x.k == y.k, yields=_pair(whole), restrict=within(10_000, "x", "y"))


def _left_band(whole: bool) -> Any:
    stack = key_by(x="k", y="k") | optionally("y") | within(10_000, "x", "y")
    return correlate(x=A, y=B, yields=_pair(whole), restrict=stack)


def _sequence(whole: bool, where: Any = None) -> Any:
    yields = (lambda x, y, z: (x, y, z)) if whole else (lambda x, y, z: (x.v, y.v, z.v))
    stack = key_by(x="k", y="k", z="k") | in_sequence("x", "y", "z") | within(60_000, "x", "y", "z")
    return correlate(x=A, y=B, z=C, where=where, yields=yields, restrict=stack)


def _without(whole: bool) -> Any:
    stack = key_by(x="k", b="k") | without(B, after="x", within=30_000)
    return correlate(x=A, yields=(lambda x: x) if whole else (lambda x: x.v), restrict=stack)


CASES: Final = (
    Case("keyed latest", lambda whole: _latest(most_recently, whole=whole),
         lambda whole: by_hand.Latest(A, B, whole=whole), (A, B), (0.5, 0.4), 0.8),
    Case("band of 10 s", _band, lambda whole: by_hand.Band(A, B, 10_000, whole=whole), (A, B), (0.4, 0.4), 0.7, 5),
    Case("A → B → C within 60 s", _sequence, lambda whole: by_hand.Sequence(A, B, 60_000, whole=whole),
         (A, B, C), (0.4, 0.4), 0.7, 20, (5, 10)),
    Case("A → B → C within 60 s, rising", lambda whole: _sequence(whole, lambda x, y, z: (x.v < y.v) & (y.v < z.v)),
         lambda whole: by_hand.Rising(A, B, 60_000, whole=whole), (A, B, C), (0.4, 0.4), 0.7, 20),
    Case("A without B within 30 s", _without, lambda whole: by_hand.Without(A, 30_000, whole=whole),
         (A, B), (0.4, 0.4), 0.7, 20, (5, 10)),
    Case("left join of 10 s", _left_band, lambda whole: by_hand.LeftBand(A, 10_000, whole=whole),
         (A, B), (0.4, 0.4), 0.7, 5),
    Case("tumbling sum", lambda whole: aggregate(A, sum_.of("v"), by="k", restrict=tumbling(60_000)),
         lambda whole: by_hand.Sums(60_000, 60_000), (A,), (0.4, 0.4), 0.7, 20),
    Case("sliding sum", lambda whole: aggregate(A, sum_.of("v"), by="k", restrict=sliding(60_000, 20_000)),
         lambda whole: by_hand.Sums(60_000, 20_000), (A,), (0.4, 0.4), 0.7, 20),
    Case("foreign-key join of tables", lambda whole: foreign_join(T, U, on="k"), lambda whole: by_hand.Foreign(T),
         (T, U), (0.4, 0.4), 0.7),
    Case("a user's copy of most_recently, against ours", lambda whole: _latest(newest, whole=whole),
         lambda whole: Engine(_latest(most_recently, whole=whole), lateness=0), (A, B), (0.4, 0.4), 0.6),
    Case("the same with a plan, against ours", lambda whole: _latest(newest_as_said, whole=whole),
         lambda whole: Engine(_latest(most_recently, whole=whole), lateness=0), (A, B), (0.9, 0.9), 1.0),
)  # fmt: skip
WHOLE: Final = {"keyed latest", "band of 10 s", "A → B → C within 60 s", "A without B within 30 s"}
"""Where whole rows make a difference."""


@attrs.frozen
class Figure:
    """The rate of one program beside another's, in events a second of processor time."""

    name: str
    ours: float
    theirs: float
    at_least: float
    aim: float

    @property
    def ratio(self) -> float:
        """What share it is."""
        return self.ours / self.theirs


def shown(event: Any) -> str:
    """Return what both sides must agree on: the value, and where it is a change, what of."""
    value = event.value
    if isinstance(value, Update) and isinstance(value.key, tuple):  # a total: by key and window
        value = value.key[0], value.key[1].start, value.value
    return re.sub(r"Record\((\{.*?\})\)", r"\1", repr(value))


def agree(case: Case, events: int, seed: int, *, whole: bool) -> int:
    """Return how many results both sides give for a trace.

    Raises:
        Disagreement: They are others.
    """
    engine, other = Engine(case.program(whole), lateness=0), case.other(whole)
    count = 0
    for number, (reactive, payload, at) in enumerate(case.trace(events, seed)):
        ours = sorted(shown(one) for one in engine.push(reactive, payload, at=at))
        theirs = sorted(shown(one) for one in other.push(reactive, payload, at))
        if ours != theirs:
            message = f"{case.name}: event {number} gives {ours} and, by hand, {theirs}"
            raise Disagreement(message)
        count += len(ours)
    return count


def seconds(take: Callable[[Reactive, Any, int], object], trace: Trace) -> float:
    """Return the processor time that a trace takes."""
    gc.collect()
    begun = time.process_time()
    for reactive, payload, at in trace:
        take(reactive, payload, at)
    return time.process_time() - begun


def measure_all(events: int, before: int, repetitions: int, seed: int, tell: Callable[[str], None]) -> Iterator[Figure]:
    """Measure each case by push and as a batch, and whether a push costs more after ``before`` events."""
    yield from measure(events, repetitions, seed, tell)
    yield from measure_batches(15 * events, repetitions, seed, tell)
    yield growth(before, seed, tell)


def measure(events: int, repetitions: int, seed: int, tell: Callable[[str], None]) -> Iterator[Figure]:
    """Measure each case, with the field that is read and with whole rows."""
    for case in CASES:
        for whole in (False, True) if case.name in WHOLE else (False,):
            name = f"{case.name}, whole rows" if whole else case.name
            tell(f"pushes: {name}")
            agree(case, min(events, 3_000), seed, whole=whole)
            trace, ours, theirs = case.trace(events, seed), [], []
            for _ in range(repetitions):
                engine, other = Engine(case.program(whole), lateness=0), case.other(whole)
                ours.append(events / seconds(engine.push, trace))
                theirs.append(events / seconds(other.push, trace))
            yield Figure(name, median(ours), median(theirs), case.at_least[whole], case.aim)


def as_batch(case: Case, trace: Trace) -> dict[Reactive, pa.Table]:
    """Return the events as a table an input, with the order of their arrival."""
    return {
        reactive: pa.table(
            {
                "k": [payload["k"] for source, payload, _ in trace if source is reactive],
                "v": [payload["v"] for source, payload, _ in trace if source is reactive],
                "at": [at for source, _, at in trace if source is reactive],
                "order": [number for number, (source, _, _) in enumerate(trace) if source is reactive],
            }
        )
        for reactive in case.inputs
    }


def measure_batches(events: int, repetitions: int, seed: int, tell: Callable[[str], None]) -> Iterator[Figure]:
    """Measure the cases of which a batch is computed by columns, as one batch, beside pushing by hand."""
    for case in CASES:
        if case.batch is None:
            continue
        tell(f"pushes: {case.name}, as a batch")
        trace, ours, theirs = case.trace(events, seed), [], []
        batch = as_batch(case, trace)
        for number in range(repetitions + 1):
            engine, other = Engine(case.program(False), lateness=0), case.other(False)
            gc.collect()
            begun = time.process_time()
            table, took = engine.push_many(batch), time.process_time() - begun
            if not number:  # to warm up, and to compare
                _agree_on(case, table, trace)
                continue
            ours.append(events / took)
            theirs.append(events / seconds(other.push, trace))
        yield Figure(f"{case.name}, push_many", median(ours), median(theirs), *case.batch)


def _agree_on(case: Case, table: pa.Table, trace: Trace) -> None:
    other = case.other(False)
    theirs = sorted(repr(one.value) for item in trace for one in other.push(*item))
    ours = sorted(repr(event.value) for event in events_of(table))
    if ours != theirs:
        message = f"{case.name}: a batch gives {len(ours)} results and, by hand, {len(theirs)}, or others"
        raise Disagreement(message)


def growth(events: int, seed: int, tell: Callable[[str], None]) -> Figure:
    """Measure what a push of the sequence costs after few events, and after a hundred times as many."""
    case, tail = CASES[2], max(events // 100, 30)
    tell(f"pushes: the sequence after {events:,} events")
    costs: list[float] = []
    for before in (tail, events):
        engine = Engine(case.program(False), lateness=0)
        trace = case.trace(before + tail, seed)
        seconds(engine.push, trace[:before])
        costs.append(tail / seconds(engine.push, trace[before:]))
    return Figure(f"the sequence after {events:,} events, against after {tail:,}", costs[1], costs[0], 1 / 1.2, 1.0)


def as_sheet(figures: Sequence[Figure], events: int, repetitions: int) -> Sheet:
    """Return the table of the figures."""
    title = f"events/s of processor time by push, {events:,} events, medians of {repetitions}, collector on"
    rows = [
        (
            one.name,
            f"{one.ours:,.0f}",
            f"{one.theirs:,.0f}",
            f"{one.ratio:.3f}",
            f"{one.at_least:.2f}",
            verdict(one.ratio >= one.at_least),
            f"{one.aim:.1f}",
        )
        for one in figures
    ]
    return Sheet(title, ("push", "ours", "by hand", "ratio", "at least", "ok?", "aim"), tuple(rows))
