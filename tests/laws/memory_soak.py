"""Soaks: a program under ever new keys and a moving clock, and what `explain` said of its memory as a number.

The trace has a period: each time the same events come, but later, and with keys that nobody has seen, or with the same
few. So what is bounded is, in its last half, what it was in its first.
"""

from __future__ import annotations

import gc
import threading
import types
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, NamedTuple

from cartesius import Delete, Engine, Entry, Event, Update, Window
from cartesius.engines.explanations import UNBOUNDED, memory_bound, rows_bound, states_bounds, waiting_bounds
from cartesius.plan import facts
from tests.laws.catalogue import START, program_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cartesius import Reactive
    from tests.laws.catalogue import Program

PERIOD = 48
"""After how many events a trace begins anew; after each the drawn programs have had a whole number of their windows."""
PER_UNIT = 1
"""How many events come in a unit of time: windows of twelve units hold twelve of them."""
LATEST_KEPT = 5
"""How many events of a key a drawn restriction keeps at most."""
WORK = 8
"""How many entries or combinations an event may cost, on average, before a soak is too dear to go on."""

TOLERATED = (AttributeError, KeyError, RuntimeError, TypeError, ZeroDivisionError)
"""What drawn conditions raise of some values: the catalogue law looks at that. Python 3.12 can hash a slice, so that
of a record a slice is a field that is not there, where 3.11 raises a TypeError."""


class Said(NamedTuple):
    """What `explain` says of one slot."""

    correlation: str
    slot: str
    source: str
    memory: str
    queues: tuple[str, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of its memory and of what waits for it."""
        return tuple(part for bound in (self.memory, *self.queues) for part in bound.split(" + "))


def said_of(engine: Engine, text: str) -> list[Said]:
    """What `explain` prints of each slot; each word is looked up in its text."""
    found = []
    assert " at 0x" not in text, "people write no addresses"
    for join in engine._program.joins:
        for slot in join.slots:
            bound, by = memory_bound(join, slot)
            waiting = waiting_bounds(join, slot)
            assert bound in text
            assert by in text
            assert all(held in text and holder in text for held, holder in waiting)
            queues = tuple(held for held, _ in waiting)
            found.append(Said(join.name, slot.name, slot.source, bound, queues))
    return found


def rows_of(engine: Engine, text: str) -> list[str]:
    """What bounds the rows that each correlation keeps, and what its restrictions remember; the text says it."""
    joins = engine._program.joins
    rows, states = map(rows_bound, joins), [said for join in joins for said in states_bounds(join)]
    found = [*(("rows", said) for said in rows), *(("state", said) for said in states)]
    assert all(f"  {label:<13} {bound}, {by}" in text for label, (bound, by) in found if bound != "O(0)")
    return [bound for _, (bound, _) in found]


class Facts(NamedTuple):
    """What a class is measured against, of one slot of one run."""

    keys: float
    """How many keys are there, of all that came."""
    before: int
    """The most that there was in the first half."""


def allowed(bound: str, facts: Facts) -> float:
    """What a class that `explain` prints allows, as a number for this run: the one reading of its words."""
    if " + " in bound:
        return sum(allowed(part, facts) for part in bound.split(" + "))
    if bound in (UNBOUNDED, "unknown"):
        return float("inf")
    if bound == "O(0)":
        return 0
    if bound == "O(1)":
        return LATEST_KEPT
    if bound.startswith("at most "):
        return int(bound.removeprefix("at most "))
    if bound == "O(keys)":
        return LATEST_KEPT * facts.keys
    # the windows, and what comes in one, are always the same; functions give each an end
    assert bound in ("O(window)", "O(window) if each window is given an end", "O(versions)"), bound
    return facts.before + facts.before // 4 + 8


class Trace:
    """Events for the inputs of a program, one by one.

    Args:
        program: The program.
        is_new: Whether keys are ever new, or the same three.
    """

    def __init__(self, program: Program, *, is_new: bool) -> None:
        self.program, self.is_new = program, is_new
        self.number, self.now = 0, 0
        self.keys: dict[str, set[Any]] = {one.name: set() for one in program.inputs}
        self._rows: dict[str, list[Any]] = {one.name: [] for one in program.inputs if one.table}
        self._base = START if program.is_typed else 0

    def next(self) -> tuple[Reactive, Any, tuple[int, int]]:
        """The next event: its input, its value, and when; each period ends with a time in which nothing comes."""
        n, turn = self.number, self.number % PERIOD
        self.number += 1
        source = self.program.inputs[n % len(self.program.inputs)]
        self.now = self._base + (n // PERIOD * 2 * PERIOD + turn // PER_UNIT) * self.program.unit
        end = self.now - (3 if turn % 16 == 9 and not source.table else 0) * self.program.unit  # no deletion is lost
        start = end if self.program.is_typed else end - turn % 3 * self.program.unit
        key = None if turn % 12 == 7 else n // 4 if self.is_new else n // 2 % 3
        row = {"n": turn, "k": key, "j": turn % 3, "v": "x"}
        if source.table:
            return source, self._change(source.name, n, row), (start, end)
        self.keys[source.name].add(key)
        return source, row, (start, end)

    def _change(self, name: str, n: int, row: dict[str, Any]) -> Update | Delete:
        rows = self._rows[name]
        if len(rows) > 3:
            self.keys[name].discard(rows[0])
            return Delete(rows.pop(0))
        key = n if self.is_new else n % 5
        if key not in rows:
            rows.append(key)
        self.keys[name].add(key)
        return Update(key, {"id": key, **row})


class Soak:
    """A program that runs on a trace, and is looked at.

    Args:
        program: The program.
        is_new: Whether keys are ever new.
        tier: The tier.
    """

    def __init__(self, program: Program, *, is_new: bool, tier: Any = None) -> None:
        self.program, self.is_new = program, is_new
        self.trace = Trace(program, is_new=is_new)
        self.engine = Engine(*program.outputs, tier=tier, **program.options)
        text = self.engine.explain()
        self.said = said_of(self.engine, text)
        self.rows = rows_of(self.engine, text)
        self.is_too_dear = False
        self.failures = 0

    @property
    def is_bounded(self) -> bool:
        """Whether nothing grows for ever, with these keys."""
        return all(self._is_steady(one) for one in self.said) and self._growing.isdisjoint(self.rows)

    @property
    def _growing(self) -> set[str]:
        return {UNBOUNDED, "unknown"} | ({"O(keys)"} if self.is_new else set())

    def _is_steady(self, one: Said) -> bool:
        if self._is_never_closed(one):
            return False
        return self._growing.isdisjoint(one.classes)

    def _is_never_closed(self, one: Said) -> bool:
        """Whether windows may stay open for as long as events come, as what a correlation gives has no pauses."""
        join = next(join for join in self.engine._program.joins if join.name == one.correlation)
        is_open = any(
            part.closed_at(Window(0, 1)) > 1 for part in join.pattern.restrictions if facts.opens_windows(part)
        )
        is_derived = one.source not in self.trace.keys
        return (is_open and is_derived) or any("opened(" in line for line in self.program.lines)

    def _judged(self) -> list[Said]:
        """The slots that get as many events in each period: nothing that they come from grows."""
        inputs = {one.name for one in self.program.inputs}
        steady = set(inputs)
        for join in self.engine._program.joins:  # each after what it comes from
            mine = [one for one in self.said if one.correlation == join.name]
            if all(one.source in steady and self._is_steady(one) for one in mine):
                steady.add(join.name)
        return [one for one in self.said if one.source in steady and not self._is_never_closed(one)]

    def run(self, events: int) -> None:
        """Let so many events come, and compare."""
        judged, whole = self._judged(), events // PERIOD // 2 * PERIOD
        assert whole, f"a soak of {events} events is less than a period in each half, and shows nothing"
        first: Counter[tuple[str, str, str]] = Counter()
        weight = 0
        for half in range(2):
            for place in range(whole):
                self._step()
                if place % PERIOD == PERIOD - 1 and (
                    self._work() > WORK * self.trace.number or self.failures > self.trace.number // 4
                ):
                    self.is_too_dear = True
                    return
                if place % 7 == 0 or place % PERIOD == PERIOD - 1:
                    self._look(judged, first, is_first=half == 0)
            if half == 0:
                weight = weigh(self.engine)
        if self.is_bounded and not self._gathers():
            grown = weigh(self.engine) - weight
            assert grown <= 8 + weight // 50, f"what the engine holds grew by {grown}, from {weight}"

    def _work(self) -> int:
        stats = self.engine.stats
        return max(stats.visited, stats.tuples)

    def is_cheap(self) -> bool:
        """Whether an event costs little, and nothing fails, so that many can come; to be asked before it runs."""
        for _ in range(2 * PERIOD):
            self._step()
        return self._work() <= WORK * PERIOD and self.failures < PERIOD // 4

    def feed(self, events: int) -> None:
        """Let so many events come, and look at nothing, nor note the keys: these would be what grows."""
        for _ in range(events):
            self._step()
            for keys in self.trace.keys.values():
                keys.clear()

    def _gathers(self) -> bool:
        """Whether a row has all values of its key: that it is one row a key says nothing of how long the row is."""
        return any("group_by(" in line and "combine=" not in line for line in self.program.lines)

    def _step(self) -> None:
        reactive, value, at = self.trace.next()
        unit, number = self.program.unit, self.trace.number
        try:
            self.engine.push(reactive, value, at)
            if self.program.options.get("lateness") is None and number % 4 == 0:
                self.engine.advance(self.trace.now - 2 * unit)
        except TOLERATED:
            self.failures += 1  # nothing of the call has happened
        self.engine.take_late()

    def _look(self, judged: list[Said], first: Counter[tuple[str, str, str]], *, is_first: bool) -> None:
        slots = self.engine.stats.slots
        for one in judged:
            retained, waiting = slots[one.correlation, one.slot]
            for what, count, classes in (("retained", retained, [one.memory]), ("waiting", waiting, one.queues)):
                place = (one.correlation, one.slot, what)
                if is_first:
                    first[place] = max(first[place], count)
                most = sum(allowed(bound, self._facts(one, first[place])) for bound in classes)
                assert count <= most, f"{count} {what} of {one}, of {most}, after {self.trace.number} events"

    def _facts(self, one: Said, before: int) -> Facts:
        keys = self.trace.keys.get(one.source)
        if keys is not None and self.is_new:
            return Facts(len(keys), before)
        return Facts(float("inf") if self.is_new else before + 3, before)


def weigh(engine: Engine) -> int:
    """How many things are in all the containers that an engine reaches, whatever they are for.

    What is in an entry is not looked at: how many there are is compared with what is said, and it may be one or none.
    """
    seen: set[int] = set()
    pending: list[Any] = [engine]
    found = 0
    while pending:
        one = pending.pop()
        if id(one) in seen or isinstance(one, _NO_STATE):
            continue
        seen.add(id(one))
        found += len(one) if isinstance(one, dict | list | set | deque) else 0
        pending += _referents(one)
    return found


_NO_STATE = (
    Entry,
    Event,
    type,
    types.ModuleType,
    types.CodeType,
    types.FrameType,
    types.BuiltinFunctionType,
    threading.Thread,
)


def _referents(one: Any) -> Iterator[Any]:
    if isinstance(one, types.FunctionType):  # not its globals: they are a module's
        yield from (*(one.__closure__ or ()), *(one.__defaults__ or ()), vars(one))
    else:
        yield from gc.get_referents(one)


def drawn(focus: Sequence[str], seed: str, tries: int = 12) -> Program | None:
    """A short program that has what is asked for: the first that is bounded and cheap, or else the first of all."""
    found = None
    for number in range(tries):
        program = program_of(focus, f"{seed}/{number}")
        if program is None or len(program.lines) > 1:
            continue
        probe = Soak(program, is_new=True)
        if probe.is_bounded and probe.is_cheap():
            return program
        found = found or program
    return found
