"""A naive reference of the restrictions on streams, and random compositions and traces for it.

Written from SEMANTICS 1.1 to 1.13, 1.18 on null keys, and the docstrings of `restrictions`, not from their code: plain
lists, nested loops and a comprehension over all that is in memory; no index, no handler, no engine. An event that has a
null key is set aside at the door. A batch goes right to left through the gates, then each of its events, in slot order,
is stored and right to left restricted; then the candidates come newest first, slot 0 outermost, through `where` and,
right-most first, the selectors; what these let through spends its uses, and is skipped if a part has none left.

A selector of the library names no slots, so it is common to all keys. What `randomly` chooses is read off the engine.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st

from cartesius import Reactive, correlate, storable
from restrictions import (
    affinely,
    aligning,
    at_most,
    earliest,
    every_nth,
    fifo,
    first_match,
    key_by,
    lifo,
    momentarily,
    most_recently,
    only,
    ordered_by,
    randomly,
    separately,
    take,
)
from restrictions.streams import map_concat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SLOTS = ("x", "y", "z")
UNLIMITED = float("inf")


@storable
class Row(NamedTuple):
    """A value: its number in the trace, and two small fields."""

    n: int
    k: int
    j: int


# ------------------------------------------------------------------------------------------------ programs and traces


@dataclass(frozen=True)
class Layer:
    """One restriction: its kind, the indices of its slots, and its argument."""

    kind: str
    slots: tuple[int, ...] = ()
    n: int = 1
    names: tuple[str, ...] = ()  # of functions in KEYS or PREDICATES, or of a field; or the overflow of `align`


@dataclass(frozen=True)
class Program:
    """A correlation of as many slots as it has sources; layers outermost first."""

    sources: tuple[int, ...]
    layers: tuple[Layer, ...]
    where: str | None = None  # a name in WHERE[count]
    spelling: str = "traced"  # or plain, or direct
    is_double: bool = False  # direct style only: yields twice
    is_batched: bool = False  # each push of an input brings a list of rows

    @property
    def names(self) -> tuple[str, ...]:
        return SLOTS[: len(self.sources)]

    @property
    def is_separate(self) -> bool:
        return any(layer.kind == "separately" for layer in self.layers)


class Push(NamedTuple):
    """One push: the input, the rows that it brings (one, unless the program is batched), and its interval."""

    source: int
    rows: tuple[Row, ...]
    start: int
    end: int


KEYS: dict[str, Any] = {"k": "k", "j": "j", "sum": lambda row: (row.k + row.j) % 2, "null": lambda row: row.k or None}
PREDICATES: dict[str, Callable[[Row], Any]] = {
    "k": lambda row: row.k != 1,
    "j": lambda row: row.j > 0,
    "sum": lambda row: (row.k + row.j) % 2 == 0,
}
ORDERS: dict[str, Callable[[Any], Any]] = {  # of a value, a tuple of (n, k, j) or None a slot
    "k": lambda value: [part and part[1] for part in value if part],
    "j": lambda value: [-part[2] for part in value if part],
    "sum": lambda value: sum(part[1] + part[2] for part in value if part),
    "constant": lambda value: 0,
}
WHERE: dict[int, dict[str, tuple[Callable[..., Any], Callable[..., Any]]]] = {  # name -> as it traces, as it does not
    1: {
        "filter": (lambda x: x.k != 1, lambda x: x.k != 1 or False),
        "none": (lambda x: (x.k > 5) & (x.j > 5), lambda x: x.k > 5 and x.j > 5),
    },
    2: {
        "equal": (lambda x, y: x.k == y.k, lambda x, y: x.k == y.k or False),
        "cross": (lambda x, y: x.k == y.j, lambda x, y: x.k == y.j or False),
        "less": (lambda x, y: x.k <= y.j, lambda x, y: x.k <= y.j or False),
        "both": (lambda x, y: (x.k == y.k) & (x.j != y.j), lambda x, y: x.k == y.k and x.j != y.j),
    },
    3: {
        "equal": (lambda x, y, z: (x.k == y.k) & (y.k == z.k), lambda x, y, z: x.k == y.k and y.k == z.k),
        "chain": (lambda x, y, z: (x.k == y.j) & (y.k == z.j), lambda x, y, z: x.k == y.j and y.k == z.j),
        "pair": (lambda x, y, z: x.k == z.k, lambda x, y, z: x.k == z.k or False),
        "less": (lambda x, y, z: (x.k <= y.k) & (y.k < z.k), lambda x, y, z: x.k <= y.k < z.k),
    },
}
YIELDS: dict[int, Callable[..., Any]] = {
    1: lambda x: (x and (x.n, x.k, x.j),),
    2: lambda x, y: (x and (x.n, x.k, x.j), y and (y.n, y.k, y.j)),
    3: lambda x, y, z: (x and (x.n, x.k, x.j), y and (y.n, y.k, y.j), z and (z.n, z.k, z.j)),
}
TRACED_YIELDS: dict[int, Callable[..., Any]] = {
    1: lambda x: ((x.n, x.k, x.j),),
    2: lambda x, y: ((x.n, x.k, x.j), (y.n, y.k, y.j)),
    3: lambda x, y, z: ((x.n, x.k, x.j), (y.n, y.k, y.j), (z.n, z.k, z.j)),
}

MEMORY = ("recent", "recent", "earliest", "limit", "limit", "momentarily")
GATES = ("align", "bounded", "take_events", "nth_events", "only")
SELECTORS = ("first_match", "take_results", "nth_results", "ordered_by", "randomly")
OTHERS = ("fifo", "fifo", "lifo", "separately", "keys", "keys")
KINDS = MEMORY + GATES + SELECTORS + OTHERS
OVERFLOWS = ("drop_oldest", "drop_newest")


@st.composite
def layers(draw: st.DrawFn, count: int, kinds: tuple[str, ...]) -> tuple[Layer, ...]:
    """One to four restrictions in any order; some compositions will be refused."""
    some = st.sets(st.integers(0, count - 1), min_size=1).map(lambda chosen: tuple(sorted(chosen)))
    out = []
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4)):
        if kind in ("fifo", "lifo", "separately", "first_match"):
            out.append(Layer(kind))
        elif kind in ("take_results", "nth_results", "randomly"):
            out.append(Layer(kind, n=draw(st.integers(1, 4))))
        elif kind == "ordered_by":
            out.append(Layer(kind, names=(draw(st.sampled_from(sorted(ORDERS))),)))
        elif kind in ("align", "bounded"):
            overflow = (draw(st.sampled_from(OVERFLOWS)),) if kind == "bounded" else ()
            slots = draw(some.filter(lambda chosen: len(chosen) > 1)) if count > 1 else (0,)
            out.append(Layer("align", slots, draw(st.integers(1, 2)), overflow))
        elif kind == "keys":
            slots = draw(some)
            names = draw(st.lists(st.sampled_from(sorted(KEYS)), min_size=len(slots), max_size=len(slots)))
            out.append(Layer(kind, slots, names=tuple(names)))
        elif kind == "only":
            out.append(Layer(kind, draw(some)[:1], names=(draw(st.sampled_from(sorted(PREDICATES))),)))
        else:
            out.append(Layer(kind, draw(some), draw(st.integers(1, 3))))
    chosen = [place for place, layer in enumerate(out) if layer.kind == "randomly"]
    selectors = [place for place, layer in enumerate(out) if layer.kind in SELECTORS]
    if chosen and chosen != selectors[:1]:  # what it chose must show: one of it, and no other selector to its left
        out = [layer for layer in out if layer.kind != "randomly"]
        place = min((place for place, layer in enumerate(out) if layer.kind in SELECTORS), default=0)
        out.insert(place, Layer("randomly", n=draw(st.integers(0, 4))))
    return tuple(out)


@st.composite
def programs(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS, *, is_batched: bool = False) -> Program:
    """Programs of one to three slots, a few of them self-joins."""
    count = draw(st.sampled_from([1, 2, 2, 2, 3]))
    sources = tuple(range(count))
    if draw(st.integers(0, 5)) == 0:
        sources = tuple(draw(st.lists(st.integers(0, count - 1), min_size=count, max_size=count)))
    chosen = draw(layers(count, kinds))
    drawn = {layer.kind for layer in chosen}
    where = None if "separately" in drawn else draw(st.none() | st.sampled_from(sorted(WHERE[count])))
    spelling = draw(st.sampled_from(["traced", "plain", "direct"]))
    is_double = spelling == "direct" and not drawn & {"ordered_by", "randomly"} and draw(st.booleans())
    return Program(sources, chosen, where, spelling, is_double, is_batched)


@st.composite
def traces(draw: st.DrawFn, program: Program, *, max_size: int = 14) -> list[Push]:
    """Pushes on the program's inputs: small domains, intervals, any order in time."""
    small = st.integers(0, 2)
    rows = st.lists(st.tuples(small, small), min_size=0, max_size=4) if program.is_batched else None
    push = st.tuples(
        st.sampled_from(sorted(set(program.sources))),
        rows if rows is not None else st.tuples(st.tuples(small, small)),
        st.integers(0, 5),
        st.sampled_from([0, 0, 2]),
    )
    out, number = [], 0
    for source, brought, start, length in draw(st.lists(push, max_size=max_size)):
        out.append(
            Push(source, tuple(Row(number + i, k, j) for i, (k, j) in enumerate(brought)), start, start + length)
        )
        number += len(brought)
    return out


# ---------------------------------------------------------------------------------------------------- the reference


@dataclass(eq=False)
class Item:
    """An event in a slot: its row and time, its key in each space (by the index of the layer), the uses left."""

    row: Row
    slot: int
    start: int
    end: int
    keys: dict[int, Any]
    uses: float = UNLIMITED
    is_momentary: bool = False


class Match(NamedTuple):
    """A candidate that satisfied `where`, and what it yields."""

    parts: tuple[Item | None, ...]
    values: tuple[Any, ...]


@dataclass
class Reference:
    """All that a correlation remembers, as plain lists; memory in order of arrival."""

    program: Program
    memory: list[list[Item]] = field(default_factory=list)
    held: dict[tuple[int, Any], dict[int, list[Item]]] = field(default_factory=dict)  # (layer, key) -> slot -> items
    counts: Counter[Any] = field(default_factory=Counter)
    dropped: list[int] = field(default_factory=list)  # numbers of the rows that `aligning` had no room for
    aside: list[int] = field(default_factory=list)  # numbers of the rows that have a null key, once for each slot
    rows: int = 0  # how many `aligning` has released
    is_done: bool = False

    def __post_init__(self) -> None:
        self.memory = [[] for _ in self.program.sources]

    @property
    def retained(self) -> list[int]:
        return [len(items) for items in self.memory]

    @property
    def waiting(self) -> list[int]:
        return [sum(len(queues.get(slot, ())) for queues in self.held.values()) for slot in range(len(self.memory))]

    def push(self, push: Push, emitted: list[Any]) -> list[tuple[Any, int, int]]:
        """Return what the push gives; of ``emitted``, what the engine gave, only the choices of `randomly` are used."""
        if self.is_done:
            return []
        batches: list[list[Item]] = [[]]
        before = self.rows
        for slot, source in enumerate(self.program.sources):
            for row in push.rows if source == push.source else ():
                already = self.rows
                item = self._at_the_door(row, slot, push)
                if (
                    None in item.keys.values()
                ):  # it equals nothing, so it meets nobody; no layer keeps a side of its own
                    self.aside.append(row.n)
                    continue
                passed = self._through_gates(item, len(self.program.layers))
                if (
                    before < already < self.rows
                ):  # each row that `aligning` releases is a batch: the second, the third, …
                    batches.append(passed)
                else:
                    batches[0] += passed
        out = [result for batch in batches for result in self._combine(batch, emitted)]
        self.is_done = any(
            self.counts[number] >= layer.n for number, layer in self._layers() if layer.kind == "take_results"
        )
        return out

    def _combine(self, batch: list[Item], emitted: list[Any]) -> list[tuple[Any, int, int]]:
        """Store and restrict all of a batch, yield, spend, and collect garbage."""
        batch.sort(key=lambda item: item.slot)
        for item in batch:
            self.memory[item.slot].append(item)
            self._restrict(item)
        out = []
        for match in self._selected(self._matches(batch), emitted):
            parts = [part for part in match.parts if part is not None]
            if all(part.uses > 0 for part in parts):
                start, end = min(part.start for part in parts), max(part.end for part in parts)
                out += [(value, start, end) for value in match.values]
                for part in parts:
                    part.uses -= 1
        for slot, items in enumerate(self.memory):
            self.memory[slot] = [item for item in items if item.uses > 0 and not item.is_momentary]
        return out

    def _layers(self) -> list[tuple[int, Layer]]:
        """Right-most first."""
        return list(enumerate(self.program.layers))[::-1]

    def _at_the_door(self, row: Row, slot: int, push: Push) -> Item:
        keys = {}
        for number, layer in self._layers():
            if layer.kind == "keys" and slot in layer.slots:
                key = KEYS[layer.names[layer.slots.index(slot)]]
                keys[number] = getattr(row, key) if isinstance(key, str) else key(row)
        return Item(row, slot, push.start, push.end, keys)

    def _through_gates(self, item: Item, place: int) -> list[Item]:
        """Send an event through the gates left of ``place``; return what reaches memory."""
        for number, layer in self._layers():
            if number >= place or item.slot not in layer.slots:
                continue
            count = (number, item.slot, scope(item, number))
            if layer.kind == "only" and not PREDICATES[layer.names[0]](item.row):
                return []
            if layer.kind in ("take_events", "nth_events"):
                self.counts[count] += 1
                if self.counts[count] > layer.n if layer.kind == "take_events" else self.counts[count] % layer.n:
                    return []
            if layer.kind == "align":
                return self._hold(item, number, layer)
        return [item]

    def _hold(self, item: Item, number: int, layer: Layer) -> list[Item]:
        queues = self.held.setdefault((number, scope(item, number)), {slot: [] for slot in layer.slots})
        queue = queues[item.slot]
        queue.append(item)
        if all(queues.values()):
            self.rows += 1
            row = [queues[slot].pop(0) for slot in layer.slots]
            return [passed for part in row for passed in self._through_gates(part, number)]
        if layer.names and len(queue) > layer.n:
            self.dropped.append(queue.pop(0 if layer.names[0] == "drop_oldest" else -1).row.n)
        return []

    def _restrict(self, item: Item) -> None:
        for number, layer in self._layers():
            if item.slot not in layer.slots:
                continue
            if layer.kind == "limit":
                item.uses = min(item.uses, layer.n)
            elif layer.kind == "momentarily":
                item.is_momentary = True
            elif layer.kind in ("recent", "earliest"):
                items = self.memory[item.slot]
                same = [other for other in items if scope(other, number) == scope(item, number)]
                kept = same[-layer.n :] if layer.kind == "recent" else same[: layer.n]
                self.memory[item.slot] = [other for other in items if other not in same or other in kept]

    def _matches(self, batch: list[Item]) -> Iterator[Match]:
        """Lazily: the uses that an earlier match has spent are gone."""
        program = self.program
        order = next((layer.kind for _, layer in self._layers() if layer.kind in ("fifo", "lifo")), "lifo")
        memories = [items if order == "fifo" else items[::-1] for items in self.memory]
        candidates: list[tuple[Item | None, ...]] = list(product(*memories))
        if program.is_separate:
            width = range(len(memories))
            candidates = [
                tuple(item if slot == own else None for slot in width) for own in width for item in memories[own]
            ]
        for parts in candidates:
            present = [part for part in parts if part is not None]
            if not any(part in batch for part in present) or not all(part.uses > 0 for part in present):
                continue
            if not all(may_meet([p.keys[space] for p in present if space in p.keys]) for space, _ in self._layers()):
                continue
            rows = [part and part.row for part in parts]
            if program.where is None or WHERE[len(rows)][program.where][1](*rows):
                value = YIELDS[len(rows)](*rows)
                yield Match(parts, (value, ("again", *value)) if program.is_double else (value,))

    def _selected(self, matches: Iterator[Match], emitted: list[Any]) -> Iterator[Match]:
        for number, layer in self._layers():
            if layer.kind in SELECTORS:
                matches = getattr(self, f"_{layer.kind}")(unspent(matches), number, layer, emitted)
        return matches

    def _first_match(self, matches: Iterator[Match], *_: Any) -> Iterator[Match]:
        yield from [match for match in [next(matches, None)] if match is not None]

    def _take_results(self, matches: Iterator[Match], number: int, layer: Layer, _: Any) -> Iterator[Match]:
        while self.counts[number] < layer.n and (match := next(matches, None)) is not None:
            values = match.values[: layer.n - self.counts[number]]
            self.counts[number] += len(values)
            yield Match(match.parts, values)

    def _nth_results(self, matches: Iterator[Match], number: int, layer: Layer, _: Any) -> Iterator[Match]:
        for match in matches:
            values = []
            for value in match.values:
                self.counts[number] += 1
                if self.counts[number] % layer.n == 0:
                    values.append(value)
            if values:
                yield Match(match.parts, tuple(values))

    def _ordered_by(self, matches: Iterator[Match], _: int, layer: Layer, *__: Any) -> Iterator[Match]:
        yield from sorted(matches, key=lambda match: ORDERS[layer.names[0]](match.values[0]))

    def _randomly(self, matches: Iterator[Match], _: int, __: Layer, emitted: list[Any]) -> Iterator[Match]:
        possible = list(matches)
        chosen = [match for match in possible if match.values[0] in emitted]
        assert len(chosen) == min(1, len(possible))
        yield from chosen


def unspent(matches: Iterator[Match]) -> Iterator[Match]:
    """Skip, when it is reached, what has lost a part to another match since a selector to the right has listed it."""
    yield from (match for match in matches if all(part.uses > 0 for part in match.parts if part is not None))


def may_meet(keys: list[Any]) -> bool:
    """Whether parts with these keys of one space meet: all are equal."""
    return len(set(keys)) < 2


def scope(item: Item, number: int) -> tuple[Any, ...]:
    """The key of the copy of layer ``number``: the keys in the spaces to its left."""
    return tuple(key for space, key in sorted(item.keys.items()) if space < number)


# --------------------------------------------------------------------------------------------- the same, as programs


def build(program: Program) -> tuple[list[Reactive], Reactive]:
    """Return the inputs and the output; InvalidArgument if the composition is refused."""
    count = len(program.sources)
    inputs = [Reactive(f"in{source}") for source in range(count)]
    streams = [map_concat(one, lambda rows: rows) for one in inputs] if program.is_batched else inputs
    slots = {name: streams[source] for name, source in zip(program.names, program.sources, strict=True)}
    traced, plain = WHERE[count][program.where] if program.where else (None, None)
    restrict = restriction_of(program.layers)
    if program.spelling == "direct":
        body = direct(count, plain, is_double=program.is_double)
        return inputs, correlate(slots=slots, restrict=restrict, name="out")(body)
    is_traced = program.spelling == "traced" and not program.is_separate
    yields = (TRACED_YIELDS if is_traced else YIELDS)[count]
    where = traced if is_traced else plain
    return inputs, correlate(slots=slots, where=where, yields=yields, restrict=restrict, name="out")


def direct(count: int, where: Callable[..., Any] | None, *, is_double: bool) -> Callable[..., Iterator[Any]]:
    """Return a body in direct style."""
    yields = YIELDS[count]

    def body(*rows: Row) -> Iterator[Any]:
        if where is None or where(*rows):
            yield yields(*rows)
            if is_double:
                yield ("again", *yields(*rows))

    def body_of_one(x: Row) -> Iterator[Any]:
        yield from body(x)

    def body_of_two(x: Row, y: Row) -> Iterator[Any]:
        yield from body(x, y)

    def body_of_three(x: Row, y: Row, z: Row) -> Iterator[Any]:
        yield from body(x, y, z)

    bodies: list[Callable[..., Iterator[Any]]] = [body_of_one, body_of_two, body_of_three]
    return bodies[count - 1]


def restriction_of(layers: tuple[Layer, ...]) -> Any:
    """Return the composed restrictions."""
    out: Any = None
    for layer in layers:
        one = restriction(layer)
        out = one if out is None else out | one
    return out


def restriction(layer: Layer) -> Any:
    """Return one restriction."""
    names = [SLOTS[slot] for slot in layer.slots]
    match layer.kind:
        case "recent":
            return most_recently(*names, n=layer.n)
        case "earliest":
            return earliest(*names, n=layer.n)
        case "limit":
            return affinely(*names) if layer.n == 1 else at_most(layer.n, *names)
        case "momentarily":
            return momentarily(*names)
        case "align":
            return aligning(*names, limit=layer.n, overflow=layer.names[0]) if layer.names else aligning(*names)
        case "take_events" | "take_results":
            return take(layer.n, *names)
        case "nth_events" | "nth_results":
            return every_nth(layer.n, *names)
        case "only":
            return only(names[0], PREDICATES[layer.names[0]])
        case "ordered_by":
            return ordered_by(ORDERS_OF_MATCHES[layer.names[0]])
        case "randomly":
            return randomly(layer.n)
        case "keys":
            return key_by(**{name: KEYS[key] for name, key in zip(names, layer.names, strict=True)})
    return {"fifo": fifo, "lifo": lifo, "first_match": first_match, "separately": separately}[layer.kind]()


ORDERS_OF_MATCHES: dict[str, Callable[[Any], Any]] = {
    "k": lambda match: ORDERS["k"](match.value),
    "j": lambda match: ORDERS["j"](match.value),
    "sum": lambda match: ORDERS["sum"](match.value),
    "constant": lambda match: 0,
}
