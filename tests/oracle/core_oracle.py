"""A naive reference of the core, from SEMANTICS 1.1 to 1.13, and random programs and traces for it.

`outcomes` replays a trace with nested loops over plain lists: no index, no handler, no engine. It was written without
reading the implementation; where the two differ, SEMANTICS decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate, restricting
from restrictions import affinely, aligning, at_most, key_by, most_recently

SLOTS = ("x", "y", "z")
UNLIMITED = float("inf")


# ------------------------------------------------------------------------------------------------ programs and traces


@dataclass(frozen=True)
class Layer:
    """One restriction: its kind, the indices of its slots, and its number or the fields that are keys."""

    kind: str
    slots: tuple[int, ...]
    n: int = 1
    keys: tuple[str, ...] = ()
    by_reactive: bool = False


@dataclass(frozen=True)
class Program:
    """A correlation: the input of each slot, restrictions outermost first, conditions as (traced, plain) texts."""

    sources: tuple[int, ...]
    layers: tuple[Layer, ...]
    conditions: tuple[tuple[str, str], ...]
    is_double: bool = False  # yields twice; direct style only

    @property
    def names(self) -> tuple[str, ...]:
        return SLOTS[: len(self.sources)]

    def where(self, rows: tuple[Any, ...], times: tuple[Any, ...]) -> bool:
        """All conditions, evaluated as plain Python."""
        scope = {name: SimpleNamespace(**row) for name, row in zip(self.names, rows, strict=True)}
        scope |= {f"time_{name}": time for name, time in zip(self.names, times, strict=True)}
        return all(eval(plain, {}, scope) for _, plain in self.conditions)


@dataclass(frozen=True)
class Push:
    """One push: which input, the value, and its interval."""

    source: int
    value: dict[str, Any]
    start: int
    end: int


CONDITIONS = [  # of two slots a, b: as it traces, and as plain Python
    ("{a}.k == {b}.k", "{a}.k == {b}.k"),
    ("{a}.k == {b}.j", "{a}.k == {b}.j"),
    ("{a}.k + 1 == {b}.j * 2", "{a}.k + 1 == {b}.j * 2"),
    ("{a}.n % 2 == {b}.n % 2", "{a}.n % 2 == {b}.n % 2"),
    ("{a}.k != {b}.k", "{a}.k != {b}.k"),
    ("{a}.k < {b}.j", "{a}.k < {b}.j"),
    ("{a}.k - {b}.k <= 1", "{a}.k - {b}.k <= 1"),
    ("{a}.k == 1", "{a}.k == 1"),
    ("time_{a}.end <= time_{b}.start", "time_{a}.end <= time_{b}.start"),
    ("({a}.k == {b}.k) | ({a}.j == {b}.j)", "{a}.k == {b}.k or {a}.j == {b}.j"),
    ("1 - {a}.k > {b}.j - 1", "1 - {a}.k > {b}.j - 1"),
]
EQUALITIES = CONDITIONS[:4]


@st.composite
def layers(draw: st.DrawFn, sources: tuple[int, ...]) -> tuple[Layer, ...]:
    """Restrictions in any order of composition; `aligning` only where SEMANTICS 1.7 and 1.13 allow it."""
    count = len(sources)
    some = st.sets(st.integers(0, count - 1), min_size=1).map(lambda chosen: tuple(sorted(chosen)))
    out: list[Layer] = []
    aligned: set[int] = set()
    for kind in draw(st.lists(st.sampled_from(["recent", "recent", "limit", "align", "keys"]), max_size=4)):
        slots = draw(some)
        if kind == "align":
            slots = tuple(slot for slot in slots if slot not in aligned)
            shares = all(len(set(slots) & set(layer.slots)) in (0, len(slots)) for layer in out if layer.kind == "keys")
            if len(slots) < 2 or not shares:
                continue
            aligned |= set(slots)
            out.append(Layer(kind, slots, by_reactive=draw(st.booleans())))
        elif kind == "keys":
            names = draw(st.lists(st.sampled_from(["k", "j", "sum"]), min_size=len(slots), max_size=len(slots)))
            out.append(Layer(kind, slots, keys=tuple(names)))
        else:
            out.append(Layer(kind, slots, n=draw(st.integers(1, 2)), by_reactive=draw(st.booleans())))
    return tuple(out)


@st.composite
def programs(draw: st.DrawFn, *, max_slots: int = 3, is_direct: bool = False) -> Program:
    """Programs of two or three slots; self-joins are among them."""
    count = draw(st.integers(2, max_slots))
    sources = tuple(draw(st.lists(st.integers(0, count - 1), min_size=count, max_size=count)))
    conditions = []
    for traced, plain in draw(st.lists(st.sampled_from(CONDITIONS), max_size=draw(st.sampled_from([0, 1, 1, 2])))):
        a, b = draw(st.permutations(SLOTS[:count]))[:2]
        conditions.append((traced.format(a=a, b=b), plain.format(a=a, b=b)))
    return Program(sources, draw(layers(sources)), tuple(conditions), is_direct and draw(st.booleans()))


@st.composite
def traces(draw: st.DrawFn, program: Program, *, max_size: int = 14) -> list[Push]:
    """Pushes on the program's inputs: small domains, ties, intervals, any order in time."""
    sources = sorted(set(program.sources))
    small = st.sampled_from([0, 1] if draw(st.booleans()) else [0, 1, 2, True, 1.0])
    length = draw(st.integers(0, max_size))
    step = st.tuples(st.sampled_from(sources), small, small, st.integers(0, 5))
    steps = draw(st.lists(step, min_size=length, max_size=length))
    lengths = draw(st.lists(st.sampled_from([0, 0, 0, 2]), min_size=len(steps), max_size=len(steps)))
    return [
        Push(source, {"n": n, "k": k, "j": j}, start, start + length)
        for n, ((source, k, j, start), length) in enumerate(zip(steps, lengths, strict=True))
    ]


# ---------------------------------------------------------------------------------------------------- the reference


@dataclass(eq=False)
class Item:
    """An event in a slot: its value and time, its key in each space (by the index of the layer), the uses left."""

    push: Push
    keys: dict[int, Any]
    uses: float = UNLIMITED


@dataclass
class Outcome:
    """What one push gives: results as (value, start, end), retained and waiting by slot, and two counts."""

    results: list[tuple[Any, int, int]] = field(default_factory=list)
    retained: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    tuples: int = 0  # candidates that keys allow and whose parts have a use left
    equal_tuples: int = 0  # those of them that also satisfy the equalities of two slots


def key_of(name: str, value: dict[str, Any]) -> Any:
    return value["k"] + value["j"] if name == "sum" else value[name]


def outcomes(program: Program, trace: list[Push]) -> list[Outcome]:
    """Replay the trace from nothing; return the outcome of each push."""
    count = len(program.sources)
    memory: list[list[Item]] = [[] for _ in range(count)]  # newest first
    gates: dict[tuple[int, Any], dict[int, list[Item]]] = {}  # (layer, key) -> slot -> held, oldest first
    out = []
    for push in trace:
        outcome = Outcome()
        batch: list[tuple[int, Item]] = []
        for slot in range(count):
            if program.sources[slot] == push.source:
                _arrive(program, gates, slot, push, batch)
        batch.sort(key=lambda part: part[0])
        for slot, item in batch:
            memory[slot].insert(0, item)
            _restrict(program, memory, slot, item)
        new = {id(item) for slot, item in batch if any(item is stored for stored in memory[slot])}
        for parts in product(*memory):
            _consider(program, parts, new, outcome)
        for slot in range(count):
            memory[slot] = [item for item in memory[slot] if item.uses > 0]
        outcome.retained = [len(items) for items in memory]
        outcome.waiting = [sum(len(held.get(slot, ())) for held in gates.values()) for slot in range(count)]
        out.append(outcome)
    return out


def _arrive(program: Program, gates: Any, slot: int, push: Push, batch: list[tuple[int, Item]]) -> None:
    keys = {
        number: key_of(layer.keys[layer.slots.index(slot)], push.value)
        for number, layer in enumerate(program.layers)
        if layer.kind == "keys" and slot in layer.slots
    }
    item = Item(push, keys)
    for number, layer in enumerate(program.layers):
        if layer.kind == "align" and slot in layer.slots:
            held = gates.setdefault((number, _scope(item, number)), {aligned: [] for aligned in layer.slots})
            held[slot].append(item)
            if all(held.values()):
                batch += [(aligned, held[aligned].pop(0)) for aligned in layer.slots]
            return
    batch.append((slot, item))


def _scope(item: Item, number: int) -> tuple[Any, ...]:
    """The key of the copy of layer ``number``: the keys of the spaces to its left."""
    return tuple(key for space, key in sorted(item.keys.items()) if space < number)


def _restrict(program: Program, memory: list[list[Item]], slot: int, item: Item) -> None:
    for number, layer in reversed(list(enumerate(program.layers))):  # the right-most sees it first
        if slot not in layer.slots:
            continue
        if layer.kind == "limit":
            item.uses = min(item.uses, layer.n)
        elif layer.kind == "recent":
            same = [other for other in memory[slot] if _scope(other, number) == _scope(item, number)]
            dropped = {id(other) for other in same[layer.n :]}
            memory[slot] = [other for other in memory[slot] if id(other) not in dropped]


def _consider(program: Program, parts: tuple[Item, ...], new: set[int], outcome: Outcome) -> None:
    if not any(id(part) in new for part in parts) or not all(part.uses > 0 for part in parts):
        return
    spaces = {space for part in parts for space in part.keys}
    for space in spaces:
        keys = [part.keys[space] for part in parts if space in part.keys]
        if any(key != keys[0] for key in keys):
            return
    rows = tuple(part.push.value for part in parts)
    times = tuple(SimpleNamespace(start=part.push.start, end=part.push.end) for part in parts)
    outcome.tuples += 1
    scope = {name: SimpleNamespace(**row) for name, row in zip(program.names, rows, strict=True)}
    equalities = [plain for _, plain in program.conditions if is_equality_of_two_slots(plain)]
    if all(eval(plain, {}, scope) for plain in equalities):
        outcome.equal_tuples += 1
    if not program.where(rows, times):
        return
    start, end = min(time.start for time in times), max(time.end for time in times)
    value = tuple(row["n"] for row in rows)
    outcome.results.append((value, start, end))
    if program.is_double:
        outcome.results.append((("again", *value), start, end))
    for part in parts:
        part.uses -= 1


def is_equality_of_two_slots(plain: str) -> bool:
    """Whether a condition is one that gives an index."""
    return any(plain == text.format(a=a, b=b) for _, text in EQUALITIES for a in SLOTS for b in SLOTS if a != b)


# --------------------------------------------------------------------------------------------- the same, as programs


def bomb() -> bool:
    """True, or an exception when the test has armed it for this call."""
    if ARMED:
        ARMED[0] -= 1
        if ARMED[0] < 0:
            message = "boom"
            raise RuntimeError(message)
    return True


ARMED: list[int] = []
SPELLINGS = ("traced", "plain", "direct")


def build(program: Program, spelling: str, *, has_bomb: bool = False, is_injected: bool = False) -> Any:
    """Return the inputs and the output of a program in one of its spellings."""
    inputs = [Reactive(f"in{source}") for source in range(len(program.sources))]
    slots = {name: inputs[source] for name, source in zip(program.names, program.sources, strict=True)}
    parameters = f"{', '.join(program.names)}, *, {', '.join(f'time_{name}' for name in program.names)}"
    value = f"({', '.join(f'{name}.n' for name in program.names)})"
    scope: dict[str, Any] = {"bomb": bomb}
    conditions = [*["bomb()"] * has_bomb, *(f"({plain})" for _, plain in program.conditions)]
    plain = f"bool({' and '.join(conditions)})" if conditions else "True"  # a call: it runs as written
    if spelling == "direct":
        again = f"\n        yield ('again', {value[1:]}" if program.is_double else ""
        exec(f"def body({parameters}):\n    if {plain}:\n        yield {value}{again}\n", scope)
        make: Any = lambda restrict: correlate(slots=slots, restrict=restrict, name="out")(scope["body"])  # noqa: E731 - one of two ways, chosen by `spelling`
    else:
        traced = " & ".join(f"({traced})" for traced, _ in program.conditions)
        text = traced if spelling == "traced" else plain
        where = eval(f"lambda {parameters}: {text}", scope) if text and (program.conditions or has_bomb) else None
        yields = eval(f"lambda {', '.join(program.names)}: {value}", scope)
        make = lambda restrict: correlate(slots=slots, where=where, yields=yields, restrict=restrict, name="out")  # noqa: E731 - one of two ways, chosen by `spelling`
    restrict = restriction_of(program, inputs)
    if is_injected and restrict is not None:
        with restricting(restrict):
            return inputs, make(None)
    return inputs, make(restrict)


def restriction_of(program: Program, inputs: list[Reactive]) -> Any:
    """Return the composed restrictions, or None."""
    restrict: Any = None
    for layer in program.layers:
        one = _one(program, layer, inputs)
        restrict = one if restrict is None else restrict | one
    return restrict


def _one(program: Program, layer: Layer, inputs: list[Reactive]) -> Any:
    names: list[Any] = [SLOTS[slot] for slot in layer.slots]
    if layer.by_reactive:  # where the layer covers all slots of an input, that input may be named instead
        for source in sorted({program.sources[slot] for slot in layer.slots}):
            bound = [SLOTS[slot] for slot, other in enumerate(program.sources) if other == source]
            if set(bound) <= set(names):
                names = [name for name in names if name not in bound] + [inputs[source]]
    if layer.kind == "keys":
        functions: dict[str, Any] = {"k": "k", "j": lambda value: value.j, "sum": lambda value: value.k + value.j}
        return key_by(**{SLOTS[slot]: functions[key] for slot, key in zip(layer.slots, layer.keys, strict=True)})
    if layer.kind == "align":
        return aligning(*names)
    if layer.kind == "recent":
        return most_recently(*names) if layer.n == 1 else most_recently(*names, n=layer.n)
    return affinely(*names) if layer.n == 1 else at_most(layer.n, *names)


def plain_results(events: Any) -> list[tuple[Any, int, int]]:
    """Return emitted events as the reference gives them."""
    assert all(event.weight == 1 and event.reactive == "out" for event in events)
    return [(event.value, event.start, event.end) for event in events]


def held(engine: Engine, program: Program) -> tuple[list[int], list[int]]:
    """Return retained and waiting by slot."""
    pairs = [engine.stats.slots["out", name] for name in program.names]
    return [retained for retained, _ in pairs], [waiting for _, waiting in pairs]
