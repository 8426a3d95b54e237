"""A naive reference of versioned tables (SEMANTICS 3.6 to 3.9; Sax et al., SOURCES C1 to C6).

The table at a time is what a plain operator gives for the snapshot of its inputs at that time; everything is evaluated
from scratch, by brute force, after every step. Written without reading the implementation.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from hypothesis import strategies as st

from cartesius import Delete, Reactive, Update, correlate, storable
from restrictions import as_table, key_by, optionally, retracting, versioned
from restrictions.streams import stream_table_join
from restrictions.tables import (
    Group,
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    mean,
    outer_join,
    reduce,
    sum_,
    to_table,
)
from tests.oracle.table_oracle import Condition, Entry, TableProgram, exact
from tests.oracle.table_oracle import Reference as Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Rows: TypeAlias = dict[Any, Any]
Versions: TypeAlias = dict[float, Rows]
Change: TypeAlias = Update | Delete
Choice: TypeAlias = "Callable[[Any, Any], Any]"


@storable
class Item(NamedTuple):
    """A row, or a payload of a stream: two attributes, and a number that tells apart what is else equal."""

    k: int
    j: int
    n: int = 0


class Push(NamedTuple):
    """A change of an input at a time; of a stream of plain values, the value."""

    source: int
    time: int
    change: Any


class Advance(NamedTuple):
    """The clock moves."""

    time: int


Step: TypeAlias = Push | Advance


# -------------------------------------------------------------------------------------------------------- histories


def no_choice(one: Any, other: Any) -> Any:
    """Which of two different rows of one key and time wins, where a test has no such ties."""
    msg = f"{one!r} and {other!r} have the same key and time"
    raise AssertionError(msg)


@dataclass
class History:
    """What an input has said of each key at each time; of several changes of a key at a time, the one that wins."""

    choose: Choice = no_choice
    changes: dict[Any, dict[float, Change]] = field(default_factory=dict)

    def add(self, time: float, change: Change) -> None:
        """Take a change, in any order."""
        changes = self.changes.setdefault(change.key, {})
        changes[time] = self._winner(changes[time], change) if time in changes else change

    def _winner(self, one: Change, other: Change) -> Change:
        if isinstance(one, Delete):
            return other
        if isinstance(other, Delete) or exact(one) == exact(other):
            return one
        return Update(one.key, self.choose(one.value, other.value))

    def at(self, time: float) -> Rows:
        """The snapshot: of each key the version with the largest time that is not later."""
        rows = {}
        for key, changes in self.changes.items():
            valid = max((version for version in changes if version <= time), default=None)
            change = None if valid is None else changes[valid]
            if isinstance(change, Update):
                rows[key] = change.value
        return rows

    def times(self) -> set[float]:
        return {time for changes in self.changes.values() for time in changes}


def history(changes: Iterable[tuple[float, Change]], choose: Choice = no_choice) -> History:
    """Return the history of a table from its changes, each with its time."""
    out = History(choose)
    for time, change in changes:
        out.add(time, change)
    return out


def with_ties(changes: list[tuple[float, Change]], told: Callable[[Any], Any] | None) -> dict[float, Rows]:
    """The rows at each time at which some change: of changes of one key and time the last holds, by ``told``.

    It is told a row, which a deletion has come with, or not; what it does not say is least. None: as they came.
    """

    def rank(place: int) -> Any:
        time, change = changes[place]
        row = change.row if isinstance(change, Delete) else change.value
        said = None if told is None or row is None else told(row)
        return (time, place if told is None else 0, said is not None, said if said is not None else 0)

    found: dict[float, Rows] = {}
    rows: Rows = {}
    for place in sorted(range(len(changes)), key=rank):
        time, change = changes[place]
        rows = {key: value for key, value in rows.items() if key != change.key}
        if isinstance(change, Update):
            rows[change.key] = change.value
        found[time] = rows
    return found


def snapshot(inputs: Iterable[History], time: float) -> list[Rows]:
    """The rows of each input at a time."""
    return [each.at(time) for each in inputs]


def shown(rows: Rows) -> dict[str, str]:
    """Rows, so that equality is type-exact."""
    return {exact(key): exact(value) for key, value in rows.items()}


def versions(at: Callable[[float], Rows], times: Iterable[float]) -> Versions:
    """What a table is at each time at which it changes."""
    out: Versions = {}
    before: Rows = {}
    for time in sorted(set(times)):
        rows = at(time)
        if shown(rows) != shown(before):
            out[time] = before = rows
    return out


def content(of: Versions, time: float) -> Rows:
    """The version that is valid at a time."""
    valid = max((version for version in of if version <= time), default=None)
    return {} if valid is None else of[valid]


def since(of: Versions, horizon: float) -> list[tuple[float, dict[str, str]]]:
    """What the versions say of the times from `horizon` on; older ones need not be there any more."""
    later = [(time, shown(rows)) for time, rows in of.items() if time > horizon]
    return [(horizon, shown(content(of, horizon))), *later]


def replayed(emitted: Iterable[tuple[float, Change]]) -> Versions:
    """The table that a changelog says: of each key and time the last change counts."""
    out = History()
    for time, change in emitted:
        out.changes.setdefault(change.key, {})[time] = change
    return versions(out.at, out.times())


# ---------------------------------------------------------------------------------------------------------- programs


def weight(value: Any) -> int:
    """A number of any value: rows, pairs of rows, totals. It does not trace."""
    if isinstance(value, tuple):
        return sum(map(weight, value))
    return 0 if value is None else int(value)


# The first of each trace and suit items alone; the others suit any value.
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "k": lambda row: row.k,
    "j": lambda row: row.j,
    "weight": lambda value: weight(value) % 3,
}
PREDICATES: dict[str, Callable[[Any], Any]] = {
    "k": lambda row: row.k != 1,
    "j": lambda row: row.j < 2,
    "weight": lambda value: weight(value) % 2 == 0,
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "k": lambda row: row.k,
    "j": lambda row: (row.j, row.k),
    "weight": lambda value: weight(value) // 2,
}


def average(values: list[int]) -> float:
    return sum(values) / len(values)


GROUPS: dict[str, tuple[Group, Callable[[list[Any]], Any]]] = {
    "count": (count, len),
    "sum": (sum_.of(weight), lambda values: sum(map(weight, values))),
    "mean": (mean.of(weight), lambda values: average(list(map(weight, values)))),
}

ONE = ("copy", "filter", "map", "reduce")
TWO = ("inner", "left", "outer", "foreign inner", "foreign left", "composed inner", "composed left")


@dataclass(frozen=True)
class Leaf:
    """An input."""

    source: int


@dataclass(frozen=True)
class One:
    """An operator on one table; `by` names its function."""

    kind: str
    by: str
    of: Node
    group: str = ""


@dataclass(frozen=True)
class Two:
    """A join; `by` names the attribute that a foreign join looks at."""

    kind: str
    left: Node
    right: Node
    by: str = ""


Node: TypeAlias = Leaf | One | Two


def evaluate(node: Node, inputs: list[Rows]) -> Rows:
    """The rows of a table at one time: the plain operators, on the rows of the inputs at that time."""
    if isinstance(node, Leaf):
        return inputs[node.source]
    if isinstance(node, One):
        rows = evaluate(node.of, inputs)
        if node.kind == "copy":
            return rows
        if node.kind == "filter":
            return {key: value for key, value in rows.items() if PREDICATES[node.by](value)}
        if node.kind == "map":
            return {key: FUNCTIONS[node.by](value) for key, value in rows.items()}
        groups: dict[Any, list[Any]] = {}
        for value in rows.values():
            groups.setdefault(ATTRIBUTES[node.by](value), []).append(value)
        return {key: GROUPS[node.group][1](values) for key, values in groups.items()}
    left, right = evaluate(node.left, inputs), evaluate(node.right, inputs)
    kind = node.kind.removeprefix("composed ")
    if kind == "inner":
        return {key: (left[key], right[key]) for key in left if key in right}
    if kind == "left":
        return {key: (left[key], right.get(key)) for key in left}
    if kind == "outer":
        return {key: (left.get(key), right.get(key)) for key in {**left, **right}}
    attribute = ATTRIBUTES[node.by]
    return {
        key: (value, right.get(attribute(value)))
        for key, value in left.items()
        if kind == "foreign left" or attribute(value) in right
    }


def leaves(node: Node) -> set[int]:
    """The inputs that a node reads."""
    if isinstance(node, Leaf):
        return {node.source}
    if isinstance(node, One):
        return leaves(node.of)
    return leaves(node.left) | leaves(node.right)


def has_items(node: Node) -> bool:
    """Whether the rows of a node are items."""
    return isinstance(node, Leaf) or (isinstance(node, One) and node.kind in {"copy", "filter"} and has_items(node.of))


@dataclass(frozen=True)
class Program:
    """A table, of inputs that are tables, streams of changes, or streams of values with a key."""

    node: Node
    kinds: tuple[str, ...] = ("table",) * 3
    retention: int | None = None

    @property
    def used(self) -> list[int]:
        return sorted(leaves(self.node))


class Reference:
    """A program's table, and which changes are used or late."""

    def __init__(self, program: Program, choose: Choice = no_choice) -> None:
        self.program = program
        self.inputs = [History(choose) for _ in program.kinds]
        self.clock = -math.inf

    @property
    def horizon(self) -> float:
        """What has an earlier end is late; from here on all versions are exact."""
        return -math.inf if self.program.retention is None else self.clock - self.program.retention

    def push(self, step: Push) -> bool:
        """Take a change, and return whether it is used, not late."""
        if step.time < self.horizon:
            return False
        change = step.change
        if self.program.kinds[step.source] == "values":
            change = Update(change.k, change)
        self.inputs[step.source].add(step.time, change)
        return True

    def advance(self, time: float) -> None:
        self.clock = max(self.clock, time)

    def at(self, time: float) -> Rows:
        return evaluate(self.program.node, snapshot(self.inputs, time))

    def times(self) -> set[float]:
        return set().union(*(each.times() for each in self.inputs))

    def versions(self) -> Versions:
        return versions(self.at, self.times())

    def input_versions(self, source: int) -> Versions:
        return versions(self.inputs[source].at, self.inputs[source].times())


# ----------------------------------------------------------------------------------------------------- stream-table


class Lookups:
    """Each record of a stream with the row of a table that is valid at the record's time."""

    def __init__(self, table: Reference, how: str) -> None:
        self.table = table
        self.how = how
        self.records: list[tuple[int, Item]] = []

    def push(self, time: int, record: Item) -> bool:
        """Take a record, and return whether it is used, not late."""
        if time < self.table.horizon:
            return False
        self.records.append((time, record))
        return True

    def current(self) -> Counter[tuple[int, str]]:
        """The results that stand, each with its time: of a left join exactly one a record."""
        out: Counter[tuple[int, str]] = Counter()
        for time, record in self.records:
            rows = self.table.at(time)
            if record.k in rows or self.how == "left":
                out[time, exact((record, rows.get(record.k)))] += 1
        return out


# ------------------------------------------------------------------------------------------------------------ facts


@dataclass(frozen=True)
class FactProgram:
    """A correlation with versions whose results are events, retracted where no parts overlap any more.

    A slot is a versioned "table", a versioned stream that is "keyed" by k or "plain" (one history), or a "point":
    a stream without versions, whose events are there at their own time only. Beside a "point" parts may be missing.
    """

    kinds: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    retention: int | None = None
    optional: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        return ("x", "y", "z")[: len(self.kinds)]


class Part(NamedTuple):
    """A version, or an event at a point in time: valid from `start` on, before `stop`."""

    start: float
    stop: float
    key: Any
    value: Item


class Facts:
    """The results of a fact program that stand, by the numbers of their parts."""

    def __init__(self, program: FactProgram) -> None:
        self.program = program
        self.clock = -math.inf
        self.inputs: list[History] = [History() for _ in program.kinds]
        self.points: list[list[tuple[int, Item]]] = [[] for _ in program.kinds]

    @property
    def horizon(self) -> float:
        return -math.inf if self.program.retention is None else self.clock - self.program.retention

    def push(self, step: Push) -> bool:
        if step.time < self.horizon:
            return False
        kind, change = self.program.kinds[step.source], step.change
        if kind == "point":
            self.points[step.source].append((step.time, change))
        else:
            keys = {"table": lambda: change, "keyed": lambda: Update(change.k, change)}
            self.inputs[step.source].add(step.time, keys.get(kind, lambda: Update(None, change))())
        return True

    def advance(self, time: float) -> None:
        self.clock = max(self.clock, time)

    def parts(self, source: int) -> list[Part]:
        out = [Part(time, time + 0.5, None, value) for time, value in self.points[source]]
        for key, changes in self.inputs[source].changes.items():
            times = [*sorted(changes), math.inf]
            for start, stop in pairwise(times):
                change = changes[start]
                if isinstance(change, Update):
                    out.append(Part(start, stop, key, change.value))
        return out

    def current(self) -> set[tuple[int | None, ...]]:
        """What some moment has: the rows of the snapshot at each time at which something begins or ends."""
        parts = [self.parts(source) for source in range(len(self.program.kinds))]
        times = {time for each in parts for part in each for time in (part.start, part.stop)}
        out: set[tuple[int | None, ...]] = set()
        for time in times:
            out |= self._rows([[part for part in each if part.start <= time < part.stop] for each in parts])
        return out

    def _rows(self, present: list[list[Part]]) -> set[tuple[int | None, ...]]:
        names = self.program.names
        unversioned = Snapshot(
            TableProgram(tuple(range(len(names))), frozenset(), self.program.conditions, self.program.optional)
        )
        unversioned.memory = {
            name: [Entry(part.key, part.value, part.start, part.start) for part in parts]
            for name, parts in zip(names, present, strict=True)
        }
        return {tuple(None if part is None else part.value.n for part in row) for row in unversioned.rows()}


# ------------------------------------------------------------------------------------------- random programs, traces


@st.composite
def nodes(draw: st.DrawFn, operators: int) -> Node:
    """A table of `operators` operators, over three inputs."""
    if operators == 0:
        return Leaf(draw(st.integers(0, 2)))
    kind = draw(st.sampled_from(ONE + TWO))
    if kind in ONE:
        of = draw(nodes(operators - 1))
        group = draw(st.sampled_from(sorted(GROUPS))) if kind == "reduce" else ""
        return One(kind, _function(draw, of), of, group)
    before = draw(st.integers(0, operators - 1))
    left, right = draw(nodes(before)), draw(nodes(operators - 1 - before))
    by = _function(draw, left) if kind in {"foreign inner", "foreign left"} else ""
    return Two(kind, left, right, by)


def _function(draw: st.DrawFn, of: Node) -> str:
    return draw(st.sampled_from(["k", "j", "weight"] if has_items(of) else ["weight"]))


@st.composite
def programs(
    draw: st.DrawFn,
    *,
    operators: int = 2,
    kinds: tuple[str, ...] = ("table", "table", "table", "changes", "values"),
    retentions: tuple[int | None, ...] = (None,),
) -> Program:
    """Tables of up to `operators` operators."""
    return Program(
        draw(nodes(draw(st.integers(1, operators)))),
        tuple(draw(st.lists(st.sampled_from(kinds), min_size=3, max_size=3))),
        draw(st.sampled_from(retentions)),
    )


@st.composite
def traces(
    draw: st.DrawFn, program: Program, *, max_size: int = 16, has_ties: bool = False, has_advances: bool = False
) -> list[Step]:
    """Changes in any order of time, and the clock between them; without ties no key changes twice at a time."""
    value = st.builds(Item, st.integers(0, 2), st.integers(0, 2))
    update = st.builds(Update, st.integers(0, 2), value)
    change = st.one_of(update, update, update, st.builds(Delete, st.integers(0, 2)))
    time = st.integers(0, draw(st.integers(1, 9)))
    size = draw(st.integers(0, max_size))
    out: list[Step] = []
    taken = set()
    for source in draw(st.lists(st.sampled_from(program.used), min_size=size, max_size=size)):
        is_value = program.kinds[source] == "values"
        step = Push(source, draw(time), draw(value if is_value else change))
        place = (source, step.time, step.change.k if is_value else step.change.key)
        if has_ties or place not in taken:
            taken.add(place)
            out.append(step)
        if has_advances and draw(st.integers(0, 2)) == 0:
            out.append(Advance(draw(st.integers(0, 11))))
    return out


@st.composite
def lookup_traces(
    draw: st.DrawFn, program: Program, *, stream: int = 3, max_size: int = 12, has_ties: bool = False
) -> list[Step]:
    """A trace of the program's inputs, with records of a stream between."""
    number = 0
    out: list[Step] = []
    for step in draw(traces(program, max_size=max_size, has_ties=has_ties, has_advances=True)):
        out.append(step)
        for _ in range(draw(st.integers(0, 2))):
            number += 1
            out.append(Push(stream, draw(st.integers(2, 9)), Item(draw(st.integers(0, 1)), 0, number)))
    return out


@st.composite
def fact_cases(
    draw: st.DrawFn,
    *,
    kinds: tuple[str, ...],
    has_optional: bool = False,
    has_advances: bool = False,
    max_size: int = 16,
) -> tuple[FactProgram, list[Step]]:
    """Two or three slots with versions, every value with a number of its own; no ties but among points."""
    size = draw(st.sampled_from((2, 2, 3)))
    chosen = tuple(draw(st.lists(st.sampled_from(kinds), min_size=size, max_size=size)))
    if all(kind == "point" for kind in chosen):
        chosen = ("table", *chosen[1:])
    if has_optional and "point" not in chosen:
        chosen = (*chosen[:-1], "point")
    names = [name for name, kind in zip("xyz", chosen, strict=False) if kind != "point"]
    optional = draw(st.sets(st.sampled_from(names), min_size=1)) if has_optional else ()
    retention = draw(st.sampled_from((0, 2, 5))) if has_advances else None
    program = FactProgram(chosen, _conditions(draw, chosen), retention, frozenset(optional))
    out: list[Step] = []
    taken = set()
    for number in range(draw(st.integers(0, max_size))):
        source, key, time = draw(st.integers(0, size - 1)), draw(st.integers(0, 1)), draw(st.integers(0, 9))
        item = Item(key, draw(st.integers(0, 1)), number)
        kind = chosen[source]
        place = (source, time, key if kind != "plain" else None)
        if kind == "point" or place not in taken:
            taken.add(place)
            is_delete = kind == "table" and draw(st.integers(0, 3)) == 0
            change = (Delete(key) if is_delete else Update(key, item)) if kind == "table" else item
            out.append(Push(source, time, change))
        if has_advances and draw(st.integers(0, 2)) == 0:
            out.append(Advance(draw(st.integers(0, 11))))
    return program, out


def _conditions(draw: st.DrawFn, kinds: tuple[str, ...]) -> tuple[Condition, ...]:
    names = ("x", "y", "z")[: len(kinds)]
    out = []
    for one, other in pairwise(names):
        texts = [f"{one}.k == {other}.k", f"{one}.j == {other}.k", f"{one}.j <= {other}.j"]
        if kinds[names.index(other)] == "table":
            texts.append(f"{one}.k == key_{other}")
        if draw(st.booleans()):
            out.append(Condition(frozenset({one, other}), draw(st.sampled_from(texts))))
    return tuple(out)


# --------------------------------------------------------------------------------------------- the same, as programs


class Built(NamedTuple):
    """The inputs, and the output."""

    inputs: list[Reactive]
    output: Any


def build(program: Program) -> Built:
    """Return the library's program."""
    inputs = [Reactive(f"in{number}", table=kind == "table") for number, kind in enumerate(program.kinds)]
    return Built(inputs, build_table(program, inputs))


def build_table(program: Program, inputs: list[Reactive]) -> Any:
    """Return the table of a program over given inputs."""

    def over(*slots: str) -> Any:
        return versioned(*slots, retention=program.retention)

    def made(node: Node) -> Any:
        if isinstance(node, Leaf):
            kind, reactive = program.kinds[node.source], inputs[node.source]
            if kind == "table":
                return reactive
            return to_table(reactive, restrict=over("x"), **({"key": "k"} if kind == "values" else {}))
        if isinstance(node, One):
            of = made(node.of)
            if node.kind == "copy":
                return correlate(x=of, yields=lambda x: x, restrict=over("x") | retracting() | as_table("x"))
            if node.kind == "filter":
                return filter_table(of, PREDICATES[node.by], restrict=over("x"))
            if node.kind == "map":
                return map_table(of, FUNCTIONS[node.by], restrict=over("x"))
            return reduce(of, GROUPS[node.group][0], by=ATTRIBUTES[node.by], restrict=over("x"))
        left, right = made(node.left), made(node.right)
        joins = {"inner": inner_join, "left": left_join, "outer": outer_join}
        if node.kind in joins:
            return joins[node.kind](left, right, restrict=over("left", "right"))
        if node.kind.startswith("foreign"):
            how = node.kind.removeprefix("foreign ")
            return foreign_join(left, right, on=ATTRIBUTES[node.by], how=how, restrict=over("left", "right"))
        restrict = over("a", "b") | retracting() | as_table("a")
        return correlate(
            a=left,
            b=right,
            where=lambda *, key_a, key_b: key_a == key_b,
            yields=lambda a, b: (a, b),
            restrict=restrict | optionally("b") if node.kind == "composed left" else restrict,
        )

    return made(program.node)


def build_lookup(program: Program, how: str) -> Built:
    """Return the stream-table join with a program's table; its stream is the last input."""
    inputs = [Reactive(f"in{number}", table=kind == "table") for number, kind in enumerate(program.kinds)]
    stream = Reactive("stream")
    output = stream_table_join(
        stream, build_table(program, inputs), on="k", how=how, retention=1000 if (r := program.retention) is None else r
    )
    return Built([*inputs, stream], output)


def number_of(item: Item | None) -> int | None:
    return None if item is None else item.n


def build_facts(program: FactProgram) -> Built:
    """Return the library's fact program; its results are the numbers of the parts."""
    inputs = [Reactive(f"in{number}", table=kind == "table") for number, kind in enumerate(program.kinds)]
    names = program.names
    restrict: Any = retracting()
    if program.optional:
        restrict |= optionally(*sorted(program.optional))
    for name, kind in zip(names, program.kinds, strict=True):
        if kind == "keyed":
            restrict |= key_by(**{name: "k"})
        if kind != "point":
            restrict |= versioned(name, retention=program.retention)
    keys = [f"key_{name}" for name, kind in zip(names, program.kinds, strict=True) if kind == "table"]
    parameters = ", ".join([*names, *(["*", *keys] if keys else [])])
    text = " & ".join(f"({condition.text})" for condition in program.conditions)
    output = correlate(
        slots=dict(zip(names, inputs, strict=True)),
        where=eval(f"lambda {parameters}: {text}") if text else None,
        yields=eval(
            f"lambda {', '.join(names)}: ({', '.join(f'number_of({name})' for name in names)},)",
            {"number_of": number_of},
        ),
        restrict=restrict,
        name="facts",
    )
    return Built(inputs, output)
