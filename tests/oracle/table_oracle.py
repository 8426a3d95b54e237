"""A naive reference of tables, outer rows and retraction (SEMANTICS 1.2, 1.10, 1.14, 2.1, 2.2, 2.6, 2.8).

After each step the present inputs are evaluated from scratch, by brute force over all partial combinations; the
changes of a step are the difference. Written without reading the implementation.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any, NamedTuple

from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate, storable
from restrictions import as_table, key_by, most_recently, optionally, retracting

SLOTS = ("x", "y", "z")


@storable
class Row(NamedTuple):
    """A row, or a payload of a stream."""

    k: int
    j: Any


@dataclass(frozen=True)
class Condition:
    """A conjunct: the slots that it mentions, and its text, which traces and is plain Python at once."""

    slots: frozenset[str]
    text: str


@dataclass(frozen=True)
class TableProgram:
    """A correlation of tables and streams, its results retracted or not, kept as a table or not."""

    sources: tuple[int, ...]
    tables: frozenset[int]  # the inputs that are tables
    conditions: tuple[Condition, ...] = ()
    optional: frozenset[str] = frozenset()
    recent: tuple[tuple[str, int], ...] = ()  # stream slots under most_recently, with n
    keyed: frozenset[str] = frozenset()  # slots of one key_by, by k
    retracts: bool = True
    key: str | None = None  # a slot, "function k", "function all", "function one"; None: no table

    @property
    def names(self) -> tuple[str, ...]:
        return SLOTS[: len(self.sources)]

    def is_table(self, name: str) -> bool:
        return self.sources[SLOTS.index(name)] in self.tables


# ---------------------------------------------------------------------------------------------------- the reference


@dataclass(eq=False)
class Entry:
    """What a slot holds: the row's key (of a table), its value, its time."""

    key: Any
    value: Any
    start: float
    end: float


Part = Entry | None
Parts = tuple[Part, ...]
Result = tuple[Any, float, float, int]


def exact(value: Any) -> str:
    """A text that is equal exactly for type-exactly equal plain values, NaN equal to itself."""
    return repr(value)


def key_function(kind: str) -> Any:
    """The key function of a kind, on the yielded tuple of parts."""
    if kind == "function k":
        return lambda value: next(part.k for part in value if part is not None)
    if kind == "function all":
        return lambda value: tuple(None if part is None else part.k for part in value)
    return lambda value: 0


class Reference:
    """The present inputs of a program, and what follows from them."""

    def __init__(self, program: TableProgram) -> None:
        self.program = program
        self.memory: dict[str, list[Entry]] = {name: [] for name in program.names}  # newest first
        self.table: dict[Any, Any] = {}

    def step(self, batch: list[tuple[int, Any, float, float]]) -> list[Result]:
        """Take the events of one step as (input, value or change, start, end); return (value, start, end, weight)."""
        before = self.rows()
        old = {key: exact(self.value(self.shown(before, key))) for key in self.keys(before)}
        for name, source in zip(self.program.names, self.program.sources, strict=True):
            for event in batch:
                if event[0] == source:
                    self._store(name, *event[1:])
        after = self.rows()
        gone = [row for row in before if not _holds(after, row)]
        fresh = [row for row in after if not _holds(before, row)]
        if not self.program.retracts:
            gone = []
        if self.program.key is None:
            return [self._result(row, -1) for row in gone] + [self._result(row, 1) for row in fresh]
        cause = (min(event[2] for event in batch), max(event[3] for event in batch))
        out: list[Result] = []
        for key in dict.fromkeys(self.key_of(row) for row in gone + fresh):
            rows = after if self.program.retracts else fresh
            shown = self.shown(rows, key) if key in self.keys(rows) else None
            value = None if shown is None else exact(self.value(shown))
            previous = old.get(key) if self.program.retracts else self.table.get(key)
            if value == previous:
                continue
            if shown is None:
                self.table.pop(key, None)
                out.append((Delete(key), *cause, 1))
            else:
                self.table[key] = value
                _, start, end, _ = self._result(shown, 1)
                out.append((Update(key, self.value(shown)), min(start, cause[0]), max(end, cause[1]), 1))
        return out

    def rows(self) -> list[Parts]:
        """The maximal (partial) rows of the present memory, in order: slot 0 outermost, newest first, None last."""
        choices = [
            [*self.memory[name], *([None] if name in self.program.optional else [])] for name in self.program.names
        ]
        return [row for row in product(*choices) if self.is_valid(row) and self.is_maximal(row)]

    def is_valid(self, row: Parts) -> bool:
        present = {name: part for name, part in zip(self.program.names, row, strict=True) if part is not None}
        if not present:
            return False
        scope: dict[str, Any] = {name: part.value for name, part in present.items()}
        scope |= {f"key_{name}": part.key for name, part in present.items()}
        scope |= {f"time_{name}": SimpleNamespace(start=p.start, end=p.end) for name, p in present.items()}
        keys = [part.value.k for name, part in present.items() if name in self.program.keyed]
        if any(key != keys[0] for key in keys):
            return False
        among = [condition for condition in self.program.conditions if condition.slots <= set(present)]
        if not all(eval(condition.text, {}, scope) for condition in among):
            return False
        # The present slots hang together as far as the whole `where` lets them.
        whole = _components(set(self.program.names), [c.slots for c in self.program.conditions])
        here = _components(set(present), [c.slots for c in among])
        return all(sum(bool(part & component) for part in here) <= 1 for component in whole)

    def is_maximal(self, row: Parts) -> bool:
        for place, part in enumerate(row):
            if part is None:
                for entry in self.memory[self.program.names[place]]:
                    if self.is_valid((*row[:place], entry, *row[place + 1 :])):
                        return False
        return True

    def value(self, row: Parts) -> Any:
        return tuple(None if part is None else part.value for part in row)

    def key_of(self, row: Parts) -> Any:
        kind = self.program.key
        assert kind is not None
        if kind in SLOTS:
            part = row[SLOTS.index(kind)]
            assert part is not None
            return part.key
        return key_function(kind)(self.value(row))

    def keys(self, rows: list[Parts]) -> list[Any]:
        return [] if self.program.key is None else list(dict.fromkeys(map(self.key_of, rows)))

    def shown(self, rows: list[Parts], key: Any) -> Parts:
        return next(row for row in rows if self.key_of(row) == key)

    def current(self) -> dict[Any, Any]:
        """The table, from scratch."""
        rows = self.rows()
        return {key: self.value(self.shown(rows, key)) for key in self.keys(rows)}

    def _result(self, row: Parts, weight: int) -> Result:
        present = [part for part in row if part is not None]
        start, end = min(part.start for part in present), max(part.end for part in present)
        return self.value(row), start, end, weight

    def _store(self, name: str, value: Any, start: float, end: float) -> None:
        memory = self.memory[name]
        if self.program.is_table(name):
            memory[:] = [entry for entry in memory if entry.key != value.key]
            if isinstance(value, Update):
                memory.insert(0, Entry(value.key, value.value, start, end))
            return
        memory.insert(0, Entry(None, value, start, end))
        for slot, n in self.program.recent:
            if slot == name:
                same = [e for e in memory if name not in self.program.keyed or e.value.k == value.k]
                memory[:] = [e for e in memory if not any(e is dropped for dropped in same[n:])]


def _holds(rows: list[Parts], row: Parts) -> bool:
    return any(all(a is b for a, b in zip(other, row, strict=True)) for other in rows)


def _components(nodes: set[str], edges: list[frozenset[str]]) -> list[set[str]]:
    parts = [{node} for node in sorted(nodes)]
    for edge in edges:
        touched = [part for part in parts if part & edge]
        if len(touched) > 1:
            parts = [part for part in parts if not part & edge] + [set().union(*touched)]
    return parts


# ------------------------------------------------------------------------------------------------- random programs


@st.composite
def table_programs(draw: st.DrawFn, *, is_table: bool = True, has_optional: bool = False) -> TableProgram:
    """Tables and streams of two or three slots; tree-shaped conditions where parts may be missing."""
    count = draw(st.integers(2, 3))
    names = SLOTS[:count]
    sources = tuple(draw(st.permutations(range(count)))) if draw(st.integers(0, 4)) else (0,) * count
    tables = frozenset(draw(st.sets(st.sampled_from(sorted(set(sources))), min_size=draw(st.integers(0, 1)))))
    table_slots = [name for name, source in zip(names, sources, strict=True) if source in tables]
    conditions = _conditions(draw, names, table_slots, is_tree=has_optional)
    optional = frozenset(draw(st.sets(st.sampled_from(names), min_size=1))) if has_optional else frozenset()
    recent = [(name, draw(st.integers(1, 2))) for name in names if name not in table_slots and draw(st.booleans())]
    keyed = (
        frozenset(draw(st.sets(st.sampled_from(names)))) if not has_optional and draw(st.booleans()) else frozenset()
    )
    retracts = has_optional or draw(st.sampled_from([True, True, False]))
    keys = ["function k", "function all", "function one", *(name for name in table_slots if name not in optional)]
    return TableProgram(
        sources,
        tables,
        conditions,
        optional,
        tuple(recent),
        keyed,
        retracts,
        draw(st.sampled_from(keys)) if is_table else None,
    )


def _conditions(draw: st.DrawFn, names: tuple[str, ...], tables: list[str], *, is_tree: bool) -> tuple[Condition, ...]:
    order = draw(st.permutations(names))
    pairs = [(order[draw(st.integers(0, place - 1))], order[place]) for place in range(1, len(order))]
    if not is_tree and draw(st.booleans()):
        pairs += [(order[0], order[-1])]
    out = []
    for a, b in pairs:
        first, second = draw(st.permutations((a, b)))
        texts = [f"{first}.k == {second}.k", f"{first}.j == {second}.k", f"{first}.k <= {second}.k"]
        texts += [f"{first}.k == key_{second}"] * 2 if second in tables else []
        for text in draw(
            st.lists(st.sampled_from(texts), max_size=draw(st.sampled_from([0, 1, 1, 1, 2])), unique=True)
        ):
            out.append(Condition(frozenset({a, b}), text))
    if draw(st.integers(0, 2)) == 0:
        alone = draw(st.sampled_from(names))
        out.append(Condition(frozenset({alone}), draw(st.sampled_from([f"{alone}.k > 0", f"{alone}.j != 1"]))))
    return tuple(out)


@st.composite
def table_traces(draw: st.DrawFn, program: TableProgram, *, max_size: int = 20) -> list[tuple[int, Any, int, int]]:
    """Pushes as (input, value or change, start, end)."""
    value = st.builds(Row, st.integers(0, draw(st.integers(0, 2))), st.sampled_from([0, 1, True, 1.0, float("nan")]))
    update = st.builds(Update, st.integers(0, 2), value)
    change = st.one_of(update, update, update, st.builds(Delete, st.integers(0, 2)))
    out = []
    most = int(1_000 ** (1 / len(program.names)))  # as the reference takes the square of all combinations
    length = draw(st.integers(0, min(max_size, most)))
    used = st.sampled_from(sorted(set(program.sources)))
    for source in draw(st.lists(used, min_size=length, max_size=length)):
        start = draw(st.integers(0, 5))
        out.append(
            (source, draw(change if source in program.tables else value), start, start + draw(st.integers(0, 1)))
        )
    return out


# --------------------------------------------------------------------------------------------- the same, as programs


def build(program: TableProgram, *, inputs: list[Reactive] | None = None, name: str = "out") -> Any:
    """Return the inputs and the output."""
    if inputs is None:
        inputs = [Reactive(f"in{s}", table=s in program.tables) for s in range(max(program.sources) + 1)]
    tables = [name for name in program.names if program.is_table(name)]
    parameters = (
        f"{', '.join(program.names)}, *, {', '.join(f'key_{name}' for name in tables)}"
        if tables
        else ", ".join(program.names)
    )
    text = " & ".join(f"({condition.text})" for condition in program.conditions)
    layers: list[Any] = []
    if program.key is not None:
        layers.append(as_table(program.key if program.key in SLOTS else key_function(program.key)))
    if program.retracts:
        layers.append(retracting())
    if program.optional:
        layers.append(optionally(*sorted(program.optional)))
    if program.keyed:
        layers.append(key_by(**dict.fromkeys(sorted(program.keyed), "k")))
    layers += [most_recently(slot, n=n) for slot, n in program.recent]
    restrict = None
    for layer in layers:
        restrict = layer if restrict is None else restrict | layer
    output = correlate(
        slots={name: inputs[source] for name, source in zip(program.names, program.sources, strict=True)},
        where=eval(f"lambda {parameters}: {text}") if text else None,
        yields=eval(f"lambda {', '.join(program.names)}: ({', '.join(program.names)},)"),
        restrict=restrict,
        name=name,
    )
    return inputs, output


def shown(events: Any) -> list[tuple[str, float, float, int]]:
    """Return emitted events so that equality is type-exact."""
    return [(exact(event.value), event.start, event.end, event.weight) for event in events]


def as_shown(results: list[Result]) -> list[tuple[str, float, float, int]]:
    """Return the reference's results in the form of `shown`."""
    return [(exact(value), start, end, weight) for value, start, end, weight in results]


def push(engine: Engine, inputs: list[Reactive], event: tuple[int, Any, int, int]) -> Any:
    """Push one event of a trace."""
    source, value, start, end = event
    emitted = engine.push(inputs[source], value, at=(start, end))
    engine._check_invariants()
    return emitted
