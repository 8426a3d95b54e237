"""Correlations in windows, and what they must give: one engine without windows for each window and key.

The engines of the reference know nothing of windows; which events belong to which is computed here, from scratch. What
happens inside one is said by the tests of each restriction, so this says that a window changes nothing of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any, NamedTuple, TypeAlias

from cartesius import Engine, Reactive, correlate, each, one_or_more, repeated
from restrictions import (
    affinely,
    at_most,
    chronicle,
    continuous,
    cumulative,
    fifo,
    first_match,
    fixed,
    in_sequence,
    key_by,
    most_recently,
    optionally,
    recent,
    retracting,
    sliding,
    take,
    tumbling,
    within,
    without,
)
from restrictions.windows import final, on_close

INPUTS = ("A", "B", "C")


class Broken(Exception):
    """What a body raises when it is told to."""


BREAKS: list[bool] = []
"""Whether the next body fails."""


class Push(NamedTuple):
    """An event of an input."""

    source: str
    number: int
    key: int
    size: int
    start: int
    end: int

    @property
    def row(self) -> dict[str, int]:
        return {"n": self.number, "k": self.key, "v": self.size}


class Advance(NamedTuple):
    """A move of the clock."""

    time: float


Step = Push | Advance
CLOSE = Advance(math.inf)

# ------------------------------------------------------------------------------------------------------------ programs


def windows_of(kind: str, size: int, other: int, **options: Any) -> Any:
    if kind == "tumbling":
        return tumbling(size, offset=other, **options)
    if kind == "sliding":
        return sliding(size, other, **options)
    return fixed(other, other + size, **options)


def spans_of(kind: str, size: int, other: int, push: Push) -> list[tuple[int, int]]:
    """The windows that wholly contain an event, by trying all of them."""
    if kind == "fixed":
        starts = [other]
    else:
        period, offset = (size, other) if kind == "tumbling" else (other, 0)
        starts = [start for start in range(-100, 200) if (start - offset) % period == 0]
    return [(start, start + size) for start in starts if start <= push.start and push.end < start + size]


Inputs = dict[str, Reactive]
Enclosed: TypeAlias = dict[str, Callable[[Inputs], Any]]
SEQUENCES: Enclosed = {
    "relaxed": lambda _: in_sequence("a", "b"),
    "strict": lambda _: in_sequence("a", "b", contiguity="strict"),
    "any": lambda _: in_sequence("a", "b", contiguity="any"),
    "backwards": lambda _: in_sequence("b", "a"),
    "three": lambda _: in_sequence("a", "b", "c"),
    "three strict": lambda _: in_sequence("a", "b", "c", contiguity="strict"),
    "past last": lambda _: in_sequence("a", "b", after_match="past_last"),
    "any past last": lambda _: in_sequence("a", "b", contiguity="any", after_match="past_last"),
    "strict past last": lambda _: in_sequence("a", "b", contiguity="strict", after_match="past_last"),
    "three past last": lambda _: in_sequence("a", "b", "c", after_match="past_last"),
    "to next": lambda _: in_sequence("a", "b", contiguity="any", after_match="to_next"),
    "to first": lambda _: in_sequence("a", "b", contiguity="any", after_match=("to_first", "b")),
    "to last": lambda _: in_sequence("a", "b", after_match=("to_last", "b")),
}
ABSENCES: Enclosed = {
    "no c after": lambda _: without("c", after="a", within=3),
    "no c long after": lambda _: without("c", after="b", within=30),
    "no c before": lambda _: without("c", before="b", within=3),
    "no c between": lambda _: without("c", between=("a", "b")),
    "no C after": lambda inputs: without(inputs["C"], after="a", within=3),
    "no C before": lambda inputs: without(inputs["C"], before="a", within=2),
    "no C between": lambda inputs: without(inputs["C"], between=("a", "b")),
    "no A after": lambda inputs: without(inputs["A"], after="a", within=2),
    "no B before": lambda inputs: without(inputs["B"], before="b", within=2),
}
OTHERS: Enclosed = {
    "within": lambda _: within(4, "a", "b"),
    "optionally": lambda _: optionally("b") | retracting(),
    "optionally within": lambda _: within(4, "a", "b") | optionally("b"),
    "recently": lambda _: most_recently("a"),
    "both recently": lambda _: most_recently("a", "b"),
    "affinely": lambda _: affinely("a", "b"),
    "affinely a": lambda _: affinely("a"),
    "at most": lambda _: at_most(2, "b"),
    "first match": lambda _: first_match(),
    "take": lambda _: take(2),
    "take a": lambda _: take(2, "a"),
    "fifo": lambda _: fifo(),
    "recent": lambda _: recent("a", "b"),
    "chronicle": lambda _: chronicle("a", "b"),
    "continuous": lambda _: continuous("a", "b"),
    "cumulative": lambda _: cumulative("a", "b"),
    "retracting": lambda _: most_recently("a") | retracting(),
}
ENCLOSED = {**SEQUENCES, **ABSENCES, **OTHERS}
BOUND: dict[str, Callable[[Reactive], Any]] = {
    "plain": lambda source: source,
    "pairs": lambda source: repeated(source, 2),
    "runs": lambda source: one_or_more(source, where=lambda run: len(run) == 1 or run[-1].v >= run[-2].v),
    "strict runs": lambda source: one_or_more(source, contiguity="strict"),
    "short runs": lambda source: one_or_more(source, within=3),
}


def sizes(part: Any) -> list[int]:
    return [size for one in part for size in sizes(one)] if isinstance(part, list) else [part.v]


def odd(a: Any, b: Any) -> bool:
    if BREAKS:
        BREAKS.clear()
        raise Broken
    return b is None or (sum(sizes(a)) + sum(sizes(b))) % 2 == 1


def never_broken(a: Any, b: Any) -> bool:
    return odd(a, b) or True


WHERE: dict[str, Any] = {
    "none": None,
    "ordered": lambda a, b: each(a, lambda one: one.v <= b.v),
    "one ordered": lambda a, b: a.v <= b.v,
    "about c": lambda b, c: b.v == c.v,
    "odd": odd,
    "breakable": never_broken,
}


def numbers(part: Any) -> Any:
    if part is None:
        return None
    return tuple(map(numbers, part)) if isinstance(part, list) else part.n


def yields_of(names: tuple[str, ...], *, has_windows: bool) -> Any:
    if has_windows and "c" in names:
        return lambda a, b, c, window: (numbers(a), numbers(b), numbers(c), *window)
    if has_windows:
        return lambda a, b, window: (numbers(a), numbers(b), *window)
    if "c" in names:
        return lambda a, b, c: (numbers(a), numbers(b), numbers(c))
    return lambda a, b: (numbers(a), numbers(b))


@dataclass(frozen=True)
class Program:
    """A correlation in windows."""

    kind: str
    size: int
    other: int
    enclosed: tuple[str, ...]
    sources: tuple[str, ...] = ("A", "B")  # of a, b, and maybe c
    bound: str = "plain"  # how a is
    where: str = "none"
    keys: str = "none"
    report: str = "at once"
    lateness: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        return ("a", "b", "c")[: len(self.sources)]

    @property
    def has_list(self) -> bool:
        return self.bound != "plain" or "cumulative" in self.enclosed

    def _correlate(self, *, has_windows: bool) -> tuple[Inputs, Reactive]:
        inputs = {name: Reactive(name) for name in INPUTS}
        slots: dict[str, Any] = {name: inputs[source] for name, source in zip(self.names, self.sources, strict=True)}
        slots["a"] = BOUND[self.bound](slots["a"])
        absent = [name.split()[1] for name in self.enclosed if name.startswith("no ")]
        hidden = [source for source in absent if source in INPUTS and (source != "C" or "c" not in self.names)]
        keys = [key_by(**dict.fromkeys([*self.names, *hidden], "k"))]
        restrictions = [ENCLOSED[name](inputs) for name in self.enclosed]
        if has_windows:
            report = {"at once": {}, "on close": {"report": on_close}, "final": {"report": final}}[self.report]
            windows = windows_of(self.kind, self.size, self.other, lateness=self.lateness, **report)
            restrictions.insert(0, windows)
        if self.keys == "right":
            restrictions.insert(1 if has_windows else 0, keys[0])
        if self.keys == "left" and has_windows:
            restrictions.insert(0, keys[0])
        output = correlate(
            name="out",
            slots=slots,
            where=WHERE["one ordered" if self.where == "ordered" and not self.has_list else self.where],
            yields=yields_of(self.names, has_windows=has_windows),
            restrict=reduce(or_, restrictions) if restrictions else None,
        )
        return inputs, output

    def build(self) -> tuple[Inputs, Reactive]:
        return self._correlate(has_windows=True)

    def build_without(self) -> tuple[Inputs, Reactive]:
        return self._correlate(has_windows=False)


# ----------------------------------------------------------------------------------------------------------- reference


@dataclass(eq=False)
class Instance:
    """One window: an engine without windows, and what waits to be reported to it."""

    span: tuple[int, int]
    inputs: Inputs
    engine: Engine
    held: list[Push] = field(default_factory=list)

    def named(self, events: Any) -> list[tuple[Any, int]]:
        return [((*event.value, *self.span), event.weight) for event in events]

    def push(self, push: Push) -> list[tuple[Any, int]]:
        if push.source not in self.engine.inputs:
            return []
        return self.named(self.engine.push(self.inputs[push.source], push.row, at=(push.start, push.end)))

    def show(self) -> list[tuple[Any, int]]:
        held, self.held = self.held, []
        return [result for push in held for result in self.push(push)]


@dataclass
class Reference:
    """All windows that are not freed."""

    program: Program
    moves_clock: bool = True  # whether the engines of the windows see it before their windows are freed
    clock: float = -math.inf
    windows: dict[tuple[Any, tuple[int, int]], Instance] = field(default_factory=dict)

    def step(self, step: Step) -> list[tuple[Any, int]]:
        return self.push(step) if isinstance(step, Push) else self.advance(step.time)

    def push(self, push: Push) -> list[tuple[Any, int]]:
        program = self.program
        out = []
        key = push.key if program.keys == "left" else None
        for span in spans_of(program.kind, program.size, program.other, push):
            if self.clock >= span[1] + program.lateness:
                continue
            if (key, span) not in self.windows:
                inputs, output = program.build_without()
                self.windows[key, span] = Instance(span, inputs, Engine(output))
                if self.moves_clock and self.clock > -math.inf and program.report == "at once":
                    self.windows[key, span].engine.advance(self.clock)
            instance = self.windows[key, span]
            if self.is_visible(span, self.clock):
                out += instance.push(push)
            else:
                instance.held.append(push)
        return out

    def is_visible(self, span: tuple[int, int], clock: float) -> bool:
        report = self.program.report
        if report == "at once":
            return True
        return clock >= span[1] + (self.program.lateness if report == "final" else 0)

    def advance(self, time: float) -> list[tuple[Any, int]]:
        self.clock = max(self.clock, time)
        out = []
        for (key, span), instance in sorted(self.windows.items(), key=lambda item: (item[0][1], str(item[0][0]))):
            if self.is_visible(span, self.clock):
                out += instance.show()
            freed_at = span[1] + self.program.lateness
            if self.moves_clock and (self.program.report == "at once" or self.is_visible(span, self.clock)):
                out += instance.named(instance.engine.advance(min(self.clock, freed_at)))
            if self.clock >= freed_at:
                out += instance.named(instance.engine.close())
                del self.windows[key, span]
        return out


def standing(results: list[tuple[Any, int]]) -> Counter[Any]:
    """Results as a multiset with weights."""
    found: Counter[Any] = Counter()
    for value, weight in results:
        found[value] += weight
    return found
