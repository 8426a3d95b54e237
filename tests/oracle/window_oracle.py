"""A naive reference of windows: per window one engine of its own, without windows, that is given just its events.

Written from SEMANTICS 1.9, 3.1, 3.2, 3.4, 3.9 and the docstrings of `restrictions.windows`, not from their code. The
law: what a correlation in windows gives is what the correlation without them gives for the events of each window, in
arrival order. Which windows there are is found by trying every start; what is visible when, by looking at every window
at every step.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st

from cartesius import Engine, Reactive, Window, correlate
from restrictions import (
    affinely,
    aligning,
    at_most,
    earliest,
    every_nth,
    fifo,
    first_match,
    fixed,
    key_by,
    most_recently,
    only,
    ordered_by,
    retracting,
    session,
    sliding,
    take,
    tumbling,
    windowed,
)
from restrictions.streams import map_concat
from restrictions.windows import (
    dstream,
    filtered,
    final,
    first,
    istream,
    last,
    non_empty,
    on_close,
    on_content_change,
    periodic,
    rstream,
)
from tests.oracle.restriction_oracle import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cartesius import Restriction
    from cartesius.language.restriction_base import Composition

SLOTS = ("x", "y", "z")
REACH = 40  # no window that is drawn starts further than this from 0
LOG_IN, LOG_OUT = 1, 2  # in the field j

Span = tuple[float, float]


# ------------------------------------------------------------------------------------------------ programs and traces


class Push(NamedTuple):
    """An event of an input."""

    source: int
    row: Row
    start: int
    end: int


class Advance(NamedTuple):
    time: int


Step = Push | Advance


@dataclass(frozen=True)
class Kind:
    """Which windows there are."""

    name: str
    size: int = 0
    period: int = 0
    offset: int = 0
    t0: int | None = None

    def restriction(self, **options: Any) -> Restriction:
        match self.name:
            case "tumbling":
                return tumbling(self.size, offset=self.offset, **options)
            case "sliding" if self.t0 is None:
                return sliding(self.size, self.period, offset=self.offset, **options)
            case "sliding":
                return sliding(self.size, self.period, t0=self.t0, **options)
            case "fixed":
                return fixed(self.offset, self.offset + self.size, **options)
            case "session":
                return session(self.size, **options)
        return windowed({"by value": by_value, "by time": by_time, "logged in": while_logged_in}[self.name], **options)

    def spans(self, push: Push, present: list[Span]) -> list[Span]:
        """Return the windows of an event, in order: each span there is that wholly contains it."""
        starts: Iterable[int] = range(-REACH, REACH)
        length = self.size
        match self.name:
            case "tumbling":
                starts = [start for start in starts if (start - self.offset) % self.size == 0]
            case "sliding" if self.t0 is None:
                starts = [start for start in starts if (start - self.offset) % self.period == 0]
            case "sliding":
                starts = [
                    start for start in starts if start >= (self.t0 or 0) and (start - (self.t0 or 0)) % self.period == 0
                ]
            case "fixed":
                starts = [self.offset]
            case "by time":
                starts, length = [start for start in starts if start % 6 == 0], 8
            case "by value":
                return sorted({(push.start - push.row.k, push.end + 1), (push.start - 2, push.end + 4)})
            case "logged in" if push.row.j == LOG_IN:
                return [(push.start, math.inf)]
            case "logged in" if push.row.j == LOG_OUT:
                return sorted({(start, push.end + 1) for start, _ in present})  # of two that began together one
            case "logged in":
                return present
        return [(start, start + length) for start in starts if start <= push.start and push.end < start + length]


def by_time(event):
    """Windows of 8 every 6, as `sliding` has them, by a function."""
    last = event.start // 6 * 6
    return [Window(start, start + 8) for start in (last - 6, last) if event.end < start + 8]


def by_value(event):
    """Windows that depend on the value as well, as pairs; for k = 2 both start together."""
    return [(event.start - event.value.k, event.end + 1), (event.start - 2, event.end + 4)]


def while_logged_in(event, present):
    if event.value.j == LOG_IN:
        return [Window(event.start)]
    if event.value.j == LOG_OUT:
        return [Window(window.start, event.end + 1) for window in present]
    return present


ENCLOSED: dict[str, Callable[[tuple[str, ...]], Restriction | Composition | None]] = {
    "none": lambda names: None,
    "recent one": lambda names: most_recently(names[0]),
    "recent all": lambda names: most_recently(*names),
    "recent two": lambda names: most_recently(names[-1], n=2),
    "earliest": lambda names: earliest(names[-1]),
    "affine one": lambda names: affinely(names[0]),
    "affine all": lambda names: affinely(*names),
    "at most": lambda names: at_most(2, names[0]),
    "zip": lambda names: most_recently(*names) | aligning(*names),
    "aligned": lambda names: aligning(*names),
    "first match": lambda names: first_match(),
    "take results": lambda names: take(2),
    "take events": lambda names: take(2, names[0]),
    "every second": lambda names: every_nth(2, names[0]),
    "only": lambda names: only(names[0], lambda row: row.k != 1),
    "fifo": lambda names: fifo(),
    "fifo affine": lambda names: fifo() | affinely(*names),
    "retracting": lambda names: retracting() | most_recently(names[0]),
    "retracting earlier": lambda names: most_recently(*names) | retracting(),
    "taken back": lambda names: retracting(),
    "ordered": lambda names: ordered_by(lambda match: match.value[0]),
}


class Broken(Exception):
    """What a body raises in the tests."""


BREAKS: list[bool] = []  # whether bodies fail that ask


def breakable(x, y):
    if BREAKS:
        raise Broken
    return x.k == y.k


WHERE: dict[str, Callable[..., Any] | None] = {
    "none": None,
    "equal": lambda x, y: x.k == y.k,
    "cross": lambda x, y: x.k == y.j,
    "unlike": lambda x, y: x.k != y.k,
    "breakable": breakable,
}

YIELDS: dict[int, tuple[Callable[..., Any], Callable[..., Any]]] = {  # without windows, and in windows
    1: (lambda x: (x.n,), lambda x, window: (x.n, window.start, window.end)),
    2: (lambda x, y: (x.n, y.n), lambda x, y, window: (x.n, y.n, window.start, window.end)),
    3: (lambda x, y, z: (x.n, y.n, z.n), lambda x, y, z, window: (x.n, y.n, z.n, window.start, window.end)),
}

RELATIONS = {"istream": istream, "dstream": dstream, "rstream": rstream}

REPORTS: dict[str, Any] = {
    "on_content_change": on_content_change,
    "on_close": on_close,
    "final": final,
    "on_close & non_empty": on_close & non_empty,
}


@dataclass(frozen=True)
class Program:
    """A correlation in windows; `left` and `right` are the slots of a `key_by` left and right of them."""

    kind: Kind
    sources: tuple[int, ...] = (0, 1)
    enclosed: tuple[str, ...] = ("none",)
    where: str = "none"
    left: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    lateness: int = 0
    report: str = "on_content_change"
    period: int | None = None  # then the report is periodic
    content: tuple[str, int] | None = None
    relation: str | None = None
    tick: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return SLOTS[: len(self.sources)]

    def keys(self, slots: tuple[int, ...]) -> list[Restriction | Composition]:
        return [key_by(**{self.names[slot]: "k" for slot in slots})] if slots else []

    def inside(self) -> list[Restriction | Composition]:
        drawn = [ENCLOSED[name](self.names) for name in self.enclosed]
        return [restriction for restriction in drawn if restriction is not None]

    def build(self) -> tuple[list[Reactive], Reactive]:
        """Return the inputs and the correlation in windows."""
        options: dict[str, Any] = {"lateness": self.lateness}
        if self.period is not None:
            options["report"] = periodic(self.period)
        elif self.report != "on_content_change":
            options["report"] = REPORTS[self.report]
        if self.content is not None:
            options["content"] = content_of(*self.content)
        if self.tick is not None:
            options["tick"] = self.tick
        windows = self.kind.restriction(**options)
        relation = [RELATIONS[self.relation]()] if self.relation else []
        restrict = reduce(or_, [*self.keys(self.left), windows, *self.keys(self.right), *self.inside(), *relation])
        inputs = [Reactive(f"in{source}") for source in range(max(self.sources) + 1)]
        slots = {name: inputs[source] for name, source in zip(self.names, self.sources, strict=True)}
        yields = YIELDS[len(slots)][self.relation is None]
        return inputs, correlate(name="out", slots=slots, where=WHERE[self.where], yields=yields, restrict=restrict)

    def build_without(self) -> tuple[list[Reactive], Reactive]:
        """Return the inputs, or the one of batches of (source, row), and the correlation without windows."""
        restrictions = [*self.keys(self.left), *self.keys(self.right), *self.inside()]
        if self.content is not None and self.content[0] == "last":
            restrictions.insert(len(restrictions) - len(self.inside()), most_recently(*self.names, n=self.content[1]))
        inputs = [Reactive(f"in{source}") for source in range(max(self.sources) + 1)]
        pushed = inputs
        if self.tick is not None:
            pushed = [Reactive("batch")]
            inputs = [map_concat(pushed[0], partial(rows_of, source)) for source in range(len(inputs))]
        slots = {name: inputs[source] for name, source in zip(self.names, self.sources, strict=True)}
        restrict = reduce(or_, restrictions) if restrictions else None
        yields = YIELDS[len(slots)][0]
        return pushed, correlate(name="out", slots=slots, where=WHERE[self.where], yields=yields, restrict=restrict)


def rows_of(source, batch):
    return [row for at, row in batch if at == source]


def content_of(name, n):
    return {"first": lambda: first(n), "last": lambda: last(n), "filtered": lambda: filtered(is_wanted)}[name]()


def is_wanted(row):
    return row.k != 1


# ------------------------------------------------------------------------------------------------------ the reference

Result = tuple[tuple[Any, ...], int]  # the value, with the window, and the weight


@dataclass(eq=False)
class Instance:
    """One window: its span, an engine without windows, what it was given, and what waits to be reported."""

    span: Span
    key: Any
    engine: Engine
    inputs: list[Reactive]
    is_batched: bool
    given: list[Push] = field(default_factory=list)
    held: list[Push] = field(default_factory=list)
    results: Counter[Any] = field(default_factory=Counter)  # those that stand

    @property
    def end(self) -> float:
        return self.span[1]

    def show(self, pushes: list[Push]) -> list[Result]:
        """Let the engine have some that waited, one after the other or as one batch; return the results."""
        for push in pushes:
            self.held.remove(push)
            self.given.append(push)
        if self.is_batched:
            emitted = self.engine.push(self.inputs[0], tuple((push.source, push.row) for push in pushes))
        else:
            emitted = [
                event
                for push in pushes
                for event in self.engine.push(self.inputs[push.source], push.row, at=(push.start, push.end))
            ]
        out = [((*event.value, *self.span), event.weight) for event in emitted]
        for value, weight in out:
            self.results[value] += weight
        return out


@dataclass
class Reference:
    """All windows that were ever there."""

    program: Program
    clock: float = -math.inf
    windows: list[Instance] = field(default_factory=list)  # those that are not freed
    without: Any = None  # the inputs and the correlation without windows
    tuples: int = 0  # of those that are
    late: list[tuple[int, str]] = field(default_factory=list)
    withdrawn: Counter[Any] = field(default_factory=Counter)  # in the last step: results of sessions that changed
    evaluations: list[tuple[Any, Counter[Any]]] = field(default_factory=list)  # in the last step: (key, results)
    batch: list[tuple[Instance, Push]] = field(default_factory=list)  # of those that are to be several events

    def __post_init__(self) -> None:
        self.without = self.program.build_without()

    def step(self, step: Step) -> list[Result]:
        """Return what a step gives, in order: window by window."""
        self.withdrawn, self.evaluations = Counter(), []
        return self.push(step) if isinstance(step, Push) else self.advance(step.time)

    # -- which windows ---------------------------------------------------------------------------------------------

    def closed_at(self, span: Span) -> float:
        """A session ends with its gap included: it is closed one instant later."""
        return span[1] + (self.program.kind.name == "session")

    def freed_at(self, span: Span) -> float:
        return self.closed_at(span) + self.program.lateness

    def key(self, push: Push) -> Any:
        return push.row.k if len(self.program.left) == len(self.program.sources) else None

    def instance(self, span: Span, key: Any) -> Instance:
        """Return the window, made if it is not there; if all slots are keyed to its left there is one for each key."""
        for window in self.windows:
            if window.span == span and window.key == key:
                return window
        inputs, output = self.without
        self.windows.append(Instance(span, key, Engine(output), inputs, self.program.tick is not None))
        return self.windows[-1]

    def present(self, push: Push) -> list[Span]:
        """Return the windows that have an event under the same key and wholly contain this one."""
        return sorted(
            window.span
            for window in self.windows
            if window.span[0] <= push.start and push.end < window.end and window.key == self.key(push)
        )

    def ended(self, spans: list[Span], key: Any) -> None:
        """Let what is in an open window go on in the one of the same start that has an end, if that is new."""
        for span in spans:
            if any(window.span == span and window.key == key for window in self.windows):
                continue  # it ended before: another one has been opened since
            for window in self.windows:
                if window.span == (span[0], math.inf) and window.key == key and span[1] < math.inf:
                    window.span = span

    def merge(self, push: Push) -> Instance | None:
        """Return the session of an event, all that touch it taken into it; None if it is freed already."""
        start, end = push.start, push.end + self.program.kind.size
        touching = [
            window
            for window in self.windows
            if window.key == self.key(push) and window.span[0] <= end and start <= window.end
        ]
        span = (min([start, *(w.span[0] for w in touching)]), max([end, *(w.end for w in touching)]))
        if self.freed_at(span) <= self.clock:
            return None
        for window in touching:
            self.windows.remove(window)
            self.tuples += window.engine.stats.tuples
            self.withdrawn.update(window.results)
        merged = self.instance(span, self.key(push))
        merged.held = sorted((p for w in touching for p in w.given + w.held), key=lambda p: p.row.n)
        return merged

    # -- what is visible when --------------------------------------------------------------------------------------

    def is_kept(self, window: Instance, push: Push) -> bool:
        match self.program.content:
            case ("filtered", _):
                return is_wanted(push.row)
            case ("first", n):
                return sum(other.source == push.source for other in window.given + window.held) < n
        return True

    def visible(self, window: Instance) -> list[Push]:
        """Return what waits in a window and is to be seen at the clock."""
        if self.program.period is not None:
            past = self.multiples(window)
            return [push for push in window.held if any(push.end < time for time in past if time == self.clock)]
        match self.program.report:
            case "final":
                is_due = self.freed_at(window.span) <= self.clock
            case "on_content_change":
                is_due = window.end < math.inf or self.clock == math.inf
            case _:
                is_due = self.closed_at(window.span) <= self.clock
        return list(window.held) if is_due else []

    def multiples(self, window: Instance) -> list[float]:
        period = self.program.period or 0
        start, end = window.span
        return [time for time in range(-REACH, REACH) if start < time <= end and time % period == 0]

    def push(self, push: Push) -> list[Result]:
        out: list[Result] = []
        if self.program.kind.name == "session":
            session = self.merge(push)
            chosen = [session] if session else []
            is_late = session is None
        else:
            spans = self.program.kind.spans(push, self.present(push))
            alive = [span for span in spans if self.freed_at(span) > self.clock]
            is_late = bool(spans) and not alive
            self.ended(alive, self.key(push))
            chosen = [self.instance(span, self.key(push)) for span in alive]
        if is_late:
            self.late += [(push.row.n, name) for name, at in self.slots() if at == push.source]
        for window in sorted(chosen, key=lambda window: window.span):
            if self.is_kept(window, push):
                window.held.append(push)
                self.batch.append((window, push))
            if self.program.period is None and self.program.tick is None:
                out += self.show(window)
        if self.program.tick and len({push for _, push in self.batch}) == self.program.tick:
            out += self.end_batch()
        return out

    def show(self, window: Instance) -> list[Result]:
        """Let a window show what is due, one event after the other."""
        due = self.visible(window)
        out = window.show(due)
        if due:
            results = Counter({value[:-2]: count for value, count in window.results.items()})
            self.evaluations.append((window.key, results))
        return out

    def end_batch(self) -> list[Result]:
        """Let each window have its part of the batch."""
        pushes: dict[int, list[Push]] = {}
        for window, push in self.batch:
            pushes.setdefault(id(window), []).append(push)
        self.batch = []
        ordered = sorted((window for window in self.windows if id(window) in pushes), key=lambda window: window.span)
        return [result for window in ordered for result in window.show(pushes[id(window)])]

    def slots(self) -> Iterator[tuple[str, int]]:
        return zip(self.program.names, self.program.sources, strict=True)

    def advance(self, time: float) -> list[Result]:
        out: list[Result] = []
        moments = {moment for window in self.windows for moment in self.moments(window) if moment <= time}
        for moment in sorted(moments):
            self.clock = moment
            for window in sorted(self.windows, key=lambda window: window.span):
                is_over = self.freed_at(window.span) <= self.clock
                if self.program.tick is None:
                    out += self.show(window)
                elif is_over and any(other is window for other, _ in self.batch):
                    out += self.end_batch()
                if is_over:
                    self.windows.remove(window)
                    self.tuples += window.engine.stats.tuples
        self.clock = max(self.clock, time)
        return out

    def moments(self, window: Instance) -> list[float]:
        """Return when something becomes visible in a window, or it is freed: times after the clock."""
        times = [self.freed_at(window.span)]
        if self.program.period is not None:
            times += self.multiples(window)
        elif self.program.report.startswith("on_close"):
            times.append(self.closed_at(window.span))
        return [time for time in times if time > self.clock]

    # -- what there is ---------------------------------------------------------------------------------------------

    @property
    def retained(self) -> int:
        return sum(kept for window in self.windows for kept, _ in window.engine.stats.slots.values())

    @property
    def waiting(self) -> int:
        """Held back by a gate, or until a report; the latter once in each slot, in however many windows it waits."""
        held = {push for window in self.windows for push in window.held}
        gates = sum(window.engine.stats.waiting for window in self.windows)
        return gates + sum(self.program.sources.count(push.source) for push in held)

    @property
    def contained(self) -> int:
        """How many events the windows that are not freed contain: in each slot, one a window."""
        pushes = [push for window in self.windows for push in window.given + window.held]
        return sum(self.program.sources.count(push.source) for push in pushes)

    @property
    def all_tuples(self) -> int:
        return self.tuples + sum(window.engine.stats.tuples for window in self.windows)

    @property
    def next_deadline(self) -> float | None:
        times = [time for window in self.windows for time in self.moments(window) if time < math.inf]
        return min(times, default=None)


# -------------------------------------------------------------------------------------------------------------- drawing


RETRACTING = {"retracting", "retracting earlier", "taken back"}


def is_retracting_or_itself(name):
    """At most one of what has retracting() in it: two take everything back twice."""
    return "retracting" if name in RETRACTING else name


ORDINARY = ("tumbling", "sliding", "fixed", "by value", "by time")


@st.composite
def kinds(draw: st.DrawFn, names: tuple[str, ...] = ORDINARY) -> Kind:
    name = draw(st.sampled_from(names))
    size, period = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    match name:
        case "tumbling":
            return Kind(name, size, offset=draw(st.integers(-9, 9)))
        case "sliding" if draw(st.booleans()):
            return Kind(name, size, period, t0=draw(st.integers(-3, 6)))
        case "sliding":
            return Kind(name, size, period, offset=draw(st.integers(-9, 9)))
        case "fixed":
            return Kind(name, size + 3, offset=draw(st.integers(-3, 6)))
    return Kind(name, draw(st.integers(1, 4)))


@st.composite
def programs(draw: st.DrawFn, names: tuple[str, ...] = ORDINARY) -> Program:
    """One to three slots, some of them bound to one input; keys left and right of the windows, or neither."""
    kind = draw(kinds(names))
    sources = draw(st.sampled_from([(0,), (0, 1), (0, 1), (0, 1), (0, 0), (0, 0, 1), (0, 1, 2)]))
    everywhere = tuple(range(len(sources)))
    is_one_a_key = kind.name in ("session", "logged in")
    left = draw(st.sampled_from([(), (), everywhere, *([] if is_one_a_key else [(0,)])]))
    right = () if left else draw(st.sampled_from([(), (), everywhere, (0,)]))
    reports = ["on_close", "final"] if kind.name == "session" else sorted(REPORTS)
    report = draw(st.sampled_from([*reports, *(["periodic"] if kind.name in ORDINARY else [])]))
    return Program(
        kind,
        sources,
        tuple(draw(st.lists(st.sampled_from(sorted(ENCLOSED)), max_size=2, unique_by=is_retracting_or_itself))),
        draw(st.sampled_from(sorted(WHERE))) if len(sources) == 2 else "none",
        left,
        right,
        0 if report == "periodic" else draw(st.sampled_from([0, 0, 3, 7])),  # no word on what is late after the end
        report,
        draw(st.integers(1, 5)) if report == "periodic" else None,
    )


@st.composite
def traces(draw: st.DrawFn, program: Program, *, max_size: int = 14, is_in_order: bool = False) -> list[Step]:
    """Events in any order in time, some of them late, points and intervals; and advances."""
    steps: list[Step] = []
    time, number = draw(st.integers(-6, 2)), 0
    for _ in range(draw(st.integers(0, max_size))):
        time += draw(st.sampled_from([0, 1, 1, 2, 4]))
        if draw(st.integers(0, 3)) == 0:
            steps.append(Advance(time))
            continue
        start = time - (0 if is_in_order else draw(st.sampled_from([0, 0, 1, 3, 8])))
        end = start + draw(st.sampled_from([0, 0, 0, 1, 3]))
        row = Row(number, draw(st.integers(0, 2)), draw(st.integers(0, 2)))
        steps.append(Push(draw(st.sampled_from(program.sources)), row, start, end))
        number += 1
    return steps
