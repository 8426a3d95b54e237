"""How much a process grows as a program runs in it: `python -m tests.laws.memory_process EVENTS [all | drawn SEED …]`.

Each program has a process of its own, forked once everything is imported. Keys are ever new, and long, so that what is
kept of them is seen beside what an allocator gives back; and the clock moves. Or programs are drawn, one a seed: of the
restriction that the seed is called, or of two or three; of these the keys are short.
"""

from __future__ import annotations

import gc
import os
import random
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import restrictions as r
from cartesius import Delete, Engine, Reactive, Update, correlate
from restrictions import streams, tables
from tests.laws import catalogue_lines
from tests.laws.catalogue import EXPORTS
from tests.laws.memory_soak import Soak, drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

assert catalogue_lines.REGISTRIES, "without them nothing is drawn"

A, B = Reactive("a", fields=("k", "n")), Reactive("b", fields=("k", "n"))
T = Reactive("t", table=True, key="k", fields=("k", "n"))


def _pair(restrict: Any, a: Reactive = A, b: Reactive = B, *, where: bool = True) -> Reactive:
    body: dict[str, Any] = {"where": lambda a, b: a.k == b.k} if where else {}
    return correlate(a=a, b=b, yields=lambda a, b: (a.n, b.n), restrict=restrict, **body)


def _versions() -> Reactive:
    restrict = r.versioned("b", retention=20) | r.within(20, "a", "b") | r.retracting()
    return correlate(a=A, b=T, where=lambda a, b: a.k == b.k, yields=lambda a, b: (a.n, b.n), restrict=restrict)


PROGRAMS: dict[str, Callable[[], Reactive]] = {
    "within": lambda: _pair(r.within(10, "a", "b")),
    "within a key": lambda: _pair(r.key_by(a="k", b="k") | r.within(10, "a", "b"), where=False),
    "the latest of a key, for a time": lambda: _pair(
        r.within(10, "a", "b") | r.key_by(a="k", b="k") | r.most_recently("a", "b"), where=False
    ),
    "tumbling totals": lambda: tables.aggregate(A, tables.sum_.of("n"), by="k", restrict=r.tumbling(10)),
    "joined totals": lambda: tables.inner_join(
        tables.aggregate(A, tables.sum_.of("n"), by="k", restrict=r.tumbling(10)),
        tables.aggregate(B, tables.count, by="k", restrict=r.tumbling(10)),
    ),
    "sessions": lambda: tables.aggregate(A, tables.count, by="k", restrict=r.session(5)),
    "behind a gate": lambda: _pair(r.within(10, "a", "b") | r.in_event_time(3)),
    "an interval join": lambda: streams.interval_join(A, B, -3, 5, key="k", how="full"),
    "zipped": lambda: _pair(r.key_by(a="k", b="k") | r.affinely("a", "b") | r.aligning("a", "b"), where=False),
    "versions": _versions,
    "with a table": lambda: streams.stream_table_join(A, T, on="k", how="left"),
    "a sequence": lambda: _pair(r.in_sequence("a", "b") | r.within(10, "a", "b")),
    "absence": lambda: correlate(a=A, yields=lambda a: a.n, restrict=r.without(B, after="a", within=5)),
}
GROWING = {"the whole product of a key": lambda: _pair(None)}
"""What `explain` says is bounded by nothing: the measure has to show it."""
FIRST, BATCH = 2_000, 500


class Run:
    """A program that is fed by rows or by batches."""

    def __init__(self, output: Reactive, *, in_batches: bool) -> None:
        # Of one that goes by the clock of its gate nobody else moves one: what is under a gate is freed by that.
        has_gate = output.pattern is not None and any(
            isinstance(one, r.in_event_time) for one in output.pattern.restrictions
        )
        self.engine = Engine(output, lateness=None if has_gate else 3)
        self.inputs = [one for one in (A, B, T) if one in self.engine.inputs.values()]
        self.in_batches, self.number = in_batches, 0

    def feed(self, events: int) -> None:
        """Let so many events come."""
        end = self.number + events
        while self.number < end:
            if self.in_batches:
                self._batch(self.number, min(self.number + BATCH, end))
                self.number = min(self.number + BATCH, end)
            else:
                self._one(self.number)
                self.number += 1
        self.engine.take_late()

    def _one(self, number: int) -> None:
        source, key, is_deletion = self._row(number)
        if source.table:
            self.engine.push(source, Delete(key) if is_deletion else Update(key, {"k": key, "n": number}), at=number)
        else:
            self.engine.push(source, {"k": key, "n": number}, at=number)

    def _row(self, number: int) -> tuple[Reactive, str, bool]:
        turn, place = divmod(number, len(self.inputs))
        source = self.inputs[place]
        if source.table and turn % 2:
            return source, f"key {turn // 2 * 2 - 10:0200}", True  # what is added is deleted later
        return source, f"key {turn // 2 * 2 if source.table or T in self.inputs else turn:0200}", False

    def _batch(self, start: int, end: int) -> None:
        columns: dict[Reactive, dict[str, list[Any]]] = {}
        for number in range(start, end):
            source, key, is_deletion = self._row(number)
            row = {"k": key, "n": number, "at": number, "order": number}
            if source.table:
                row["deleted"] = is_deletion
            for name, value in row.items():
                columns.setdefault(source, {}).setdefault(name, []).append(value)
        self.engine.push_many(columns)


def growth(feed: Callable[[int], None], events: int) -> int:
    """By how many bytes a process of its own grows in the last half of so many events."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            feed(FIRST + events // 2)
            before = _resident()
            feed(events - events // 2)
            os.write(writing, str(_resident() - before).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        found = told.read()
    os.waitpid(child, 0)
    return int(found)


def _resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main(events: int, *, is_all: bool) -> None:
    """Run all, by rows and by batches, or else by turns; tell of each by how much it grew."""
    for number, (name, make) in enumerate({**PROGRAMS, **GROWING}.items()):
        for in_batches in (False, True) if is_all else (number % 2 == 1,):
            grown = growth(Run(make(), in_batches=in_batches).feed, events)
            print(f"{name}{', in batches' * in_batches}\t{grown}", flush=True)


def run_drawn(events: int, seeds: Sequence[str]) -> None:
    """Run programs that are drawn, and are said to be bounded; tell of each by how much it grew, and what it is."""
    names = [name for name, export in EXPORTS.items() if export.is_restriction]
    for seed in seeds:
        name, _, number = seed.partition(" ")
        draw = random.Random(seed)
        program = drawn(draw.sample(names, draw.choice([2, 2, 3])) if number else [name], seed)
        soak = program and Soak(program, is_new=True)
        if program and soak and soak.is_bounded and soak.is_cheap():
            grown = growth(soak.feed, events)
            print(f"{seed}: {' '.join(program.text.split())}\t{grown}", flush=True)


if __name__ == "__main__":
    if sys.argv[2:3] == ["drawn"]:
        run_drawn(int(sys.argv[1]), sys.argv[3:])
    else:
        main(int(sys.argv[1]), is_all=sys.argv[2:] == ["all"])
