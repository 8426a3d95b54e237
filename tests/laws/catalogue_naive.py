"""Plain programs and what they must give, from scratch: what is wrong alike in all tiers, no tier can tell.

Six forms: correlations under keys, `most_recently`, `within`, a sequence and a gate in front; totals of sessions; joins
of totals of windows; a table behind a gate; rows with versions of one time; a batch with a condition that raises.
Nothing is kept here but the rows; each row is tried with all before it. The module is long, as a form is read whole.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, NamedTuple

from cartesius import Delete, Engine, Update
from cartesius.columns.results import events_of
from tests.laws.catalogue import TABLES, Sketch, declared
from tests.laws.catalogue_scope import scope

if TYPE_CHECKING:
    from collections.abc import Callable

UNIT, DISORDER = 10, 3
NAN = float("nan")
Truth = bool | None


class Item(NamedTuple):
    """A row."""

    source: str
    number: int
    start: int
    end: int
    k: Any
    j: Any

    @property
    def row(self) -> dict[str, Any]:
        """What is pushed."""
        return {"n": self.number, "k": self.k, "j": self.j, "v": self.number}


def is_null(value: Any) -> bool:
    """Whether a key matches nothing: None, or NaN."""
    return value is None or value != value  # noqa: PLR0124 - NaN


def compared(one: Any, other: Any, holds: Callable[[Any, Any], bool]) -> Truth:
    """A comparison, unknown of a null."""
    return None if one is None or other is None else holds(one, other)


def both(one: Truth, other: Callable[[], Truth]) -> Truth:
    """Kleene's conjunction, which only false stops."""
    if one is False:
        return False
    second = other()
    return False if second is False else None if one is None or second is None else True


def either(one: Truth, other: Callable[[], Truth]) -> Truth:
    """Kleene's disjunction, which only true stops."""
    if one is True:
        return True
    second = other()
    return True if second is True else None if one is None or second is None else False


def _same(one: Any, other: Any) -> Truth:
    return compared(one, other, lambda a, b: a == b)


def _ratio(a: Item, b: Item) -> Truth:
    return None if a.k is None or b.j is None else a.k / b.j >= 1


WHERE: list[tuple[str, Callable[[Item, Item], Truth]]] = [
    ("", lambda a, b: True),
    ("a.k == b.k", lambda a, b: _same(a.k, b.k)),
    (
        "(a.k == b.k) & (a.j <= b.j)",
        lambda a, b: both(_same(a.k, b.k), lambda: compared(a.j, b.j, lambda x, y: x <= y)),
    ),
    ("a.k < b.j", lambda a, b: compared(a.k, b.j, lambda x, y: x < y)),
    ("(b.j != 0) & (a.k / b.j >= 1)", lambda a, b: both(compared(b.j, 0, lambda x, y: x != y), lambda: _ratio(a, b))),
    ("(a.k == b.k) | (a.j == b.j)", lambda a, b: either(_same(a.k, b.k), lambda: _same(a.j, b.j))),
    ("a.k == None", lambda a, b: a.k is None),
]


def used_before(one: Item, other: Item, order: list[Item]) -> bool:
    """Whether one comes before another in a sequence."""
    is_point = one.start == one.end == other.start == other.end
    return one.end < other.start or (is_point and order.index(one) < order.index(other))


@dataclass(frozen=True)
class Plain:
    """A correlation that can be judged from scratch."""

    sources: tuple[str, ...]
    where: int
    is_keyed: bool
    recent: int | None
    within: int | None
    contiguity: str | None
    has_gate: bool
    lateness: int | None

    @property
    def text(self) -> str:
        """The program."""
        names = "abc"[: len(self.sources)]
        slots = ", ".join(f"{name}={source}" for name, source in zip(names, self.sources, strict=True))
        quoted = ", ".join(map(repr, names))
        stack = [
            *([f"key_by({', '.join(f'{name}={chr(39)}k{chr(39)}' for name in names)})"] if self.is_keyed else []),
            *([f"most_recently({quoted}, n={self.recent})"] if self.recent else []),
            *([f"within({self.within}, {quoted})"] if self.within is not None else []),
            *([f"in_sequence({quoted}, contiguity={self.contiguity!r})"] if self.contiguity else []),
            *([f"in_event_time({DISORDER * UNIT})"] if self.has_gate else []),
        ]
        where = f", where=lambda a, b: {WHERE[self.where][0]}" if self.where else ""
        where = where.replace("lambda a, b:", "lambda a:") if "b." not in where else where
        value = ", ".join(f"{name}.n" for name in names)
        restrict = f", restrict={' | '.join(stack)}" if stack else ""
        return f"correlate({slots}{where}, yields=lambda {', '.join(names)}: ({value},){restrict})"

    def floor(self, items: list[Item]) -> float:
        """The time before which a gate has let go all rows so far; none is null."""
        seen = max((item.end for item in items if item.source in self.sources), default=0)
        return seen - DISORDER * UNIT if self.has_gate else math.inf

    def expected(self, items: list[Item], floor: float = math.inf) -> Counter[Any]:
        """What comes, each row before ``floor`` tried with all that are there."""
        used = [item for item in items if item.source in self.sources and not (self.is_keyed and is_null(item.k))]
        used = [item for item in used if item.end < floor]
        if self.has_gate:
            used.sort(key=lambda item: (item.end, self.sources.index(item.source), item.number))
        memories: list[list[Item]] = [[] for _ in self.sources]
        found: Counter[Any] = Counter()
        for item in used:
            for place, source in enumerate(self.sources):
                if source == item.source:
                    memories[place].append(item)
                    self._forget(memories[place], item)
            for parts in product(*memories):
                if item in parts and self._is_match(parts, memories, used):
                    found[repr(tuple(part.number for part in parts))] += 1
        return found

    def _forget(self, memory: list[Item], new: Item) -> None:
        if self.recent is not None:
            mine = [one for one in memory if not self.is_keyed or one.k == new.k]
            for one in mine[: -self.recent]:
                memory.remove(one)

    def _is_match(self, parts: tuple[Item, ...], memories: list[list[Item]], used: list[Item]) -> bool:
        if self.is_keyed and any(one.k != other.k for one, other in pairwise(parts)):
            return False
        if self.within is not None and max(p.end for p in parts) - min(p.start for p in parts) > self.within:
            return False
        if self.contiguity and not all(used_before(one, other, used) for one, other in pairwise(parts)):
            return False
        if self.contiguity == "strict":
            there = [
                z for z in {one for memory in memories for one in memory} if not self.is_keyed or z.k == parts[0].k
            ]
            for one, other in pairwise(parts):
                between = [z for z in there if used_before(one, z, used) and z is not other]
                if any((z.end, used.index(z)) < (other.end, used.index(other)) for z in between):
                    return False
        return WHERE[self.where][1](parts[0], parts[1]) is True


def plain_of(draw: random.Random) -> Plain:
    """A correlation."""
    has_gate = draw.random() < 0.4
    sources: tuple[str, ...] = draw.choice([("in0", "in1"), ("in0", "in1"), ("in0", "in1", "in2")])
    if not has_gate and draw.random() < 0.2:
        sources = ("in0", "in0")
    return Plain(
        sources,
        draw.randrange(len(WHERE)),
        draw.random() < 0.5,
        draw.choice([0, 0, 1, 2]) or None,
        draw.choice([0, 2 * UNIT, 4 * UNIT]) or None,
        draw.choice(["", "", "any", "strict"]) or None,
        has_gate,
        draw.choice([0, DISORDER * UNIT]) or None,
    )


NUMBERS: list[list[Any]] = [
    [0, 1, 1, 2],
    [0, 1, None, 1],
    [0.0, 1.0, NAN, -0.0],
    [None, None, 1, 1],
    [2**70, 1, 0, 1],
]


def items_of(draw: random.Random) -> list[Item]:
    """Rows with ties and nulls, of which none is late by more than the disorder that engines and gates allow."""
    numbers: list[Any] = draw.choice(NUMBERS)
    drawn, now = [], 0
    for _ in range(draw.randint(6, 16)):
        now += draw.choice([0, 0, 1, 1, 2]) * UNIT
        late = draw.choice([0, 0, 0, DISORDER]) * UNIT
        length = draw.choice([0, 0, 0, 1]) * UNIT
        drawn.append((now + late, draw.choice(("in0", "in1", "in2")), now - length, now))
    drawn.sort(key=lambda one: one[0])
    return [
        Item(source, number, start, end, draw.choice(numbers), draw.choice(numbers))
        for number, (_, source, start, end) in enumerate(drawn)
    ]


def results(text: str, items: list[Item], lateness: int | None, tier: Any = None, *, closes: bool = True) -> list[Any]:
    """What an engine gives for the program of a text."""
    made = Sketch(random.Random(0))
    inputs = {one.name: one for one in declared(made, ())}
    output = eval(text, scope() | inputs)
    engine = Engine(output, lateness=lateness, tier=tier)
    there = engine.inputs
    events = [
        event
        for item in items
        if item.source in there
        for event in engine.push(inputs[item.source], item.row, at=(item.start, item.end))
    ]
    return [*events, *(engine.close() if closes else ())]


def table(events: list[Any]) -> dict[Any, Any]:
    """What changes come to."""
    found: dict[str, Any] = {}
    for event in events:
        if isinstance(event.value, Update):
            found[event.value.key] = event.value.value
        elif isinstance(event.value, Delete):
            found.pop(event.value.key, None)
    return found


class Wrong(AssertionError):
    """A program gives something else than what it means."""


def check_plain(seed: str) -> None:
    """Judge one program of each form from scratch."""
    draw = random.Random(f"plain {seed}")
    items, plain = items_of(draw), plain_of(draw)
    tier = draw.choice(["reference", "in_place"])
    found = Counter(repr(event.value) for event in results(plain.text, items, plain.lateness, tier))
    _compare(plain.text, items, dict(found), dict(plain.expected(items)))
    if plain.has_gate and not any(is_null(item.k) for item in items):
        early = items[: draw.randint(0, len(items))]
        shown = results(plain.text, early, plain.lateness, tier, closes=False)
        expected = plain.expected(early, plain.floor(early))
        _compare(
            f"{plain.text}, not closed", early, dict(Counter(repr(event.value) for event in shown)), dict(expected)
        )
    _check_sessions(draw, items)
    _check_totals(draw, items)
    _check_released(draw, items)
    _check_versions(draw, items)
    _check_batch(draw, items)


def _check_sessions(draw: random.Random, items: list[Item]) -> None:
    gap, is_keyed = draw.choice([1, 2]) * UNIT, draw.random() < 0.5
    by = ", by='k'" if is_keyed else ""
    text = f"aggregate(in0, count{by}, restrict=session({gap}))"
    expected: Counter[Any] = Counter()
    of_key: dict[Any, list[Item]] = {}
    for item in items:
        if item.source == "in0" and not (is_keyed and is_null(item.k)):
            of_key.setdefault(item.k if is_keyed else None, []).append(item)
    for mine in of_key.values():
        mine.sort(key=lambda item: item.start)
        end, held = mine[0].end, 0
        for item in mine:
            if item.start > end + gap:
                expected[held] += 1
                held = 0
            end, held = max(end, item.end), held + 1
        expected[held] += 1
    found = Counter(table(results(text, items, DISORDER * UNIT)).values())
    _compare(text, items, dict(found), dict(expected))


def _check_totals(draw: random.Random, items: list[Item]) -> None:
    size = draw.choice([2, 4]) * UNIT
    sides = [f"aggregate({source}, count, by='k', restrict=tumbling({size}))" for source in ("in0", "in1")]
    text = f"inner_join({', '.join(sides)})"
    counts: list[Counter[Any]] = [Counter(), Counter()]
    for item in items:
        start = item.start // size * size
        if item.source in ("in0", "in1") and not is_null(item.k) and item.end < start + size:
            counts[item.source == "in1"][item.k, start] += 1
    expected = Counter((counts[0][key], counts[1][key]) for key in counts[0] if key in counts[1])
    found = Counter(table(results(text, items, DISORDER * UNIT)).values())
    _compare(text, items, dict(found), dict(expected))


def _check_released(draw: random.Random, items: list[Item]) -> None:
    """A change of a table has the time of what the gate let go for it, a deletion as well."""
    gate = "as_table(lambda row: 'one') | retracting() | most_recently('a', 'b') | aligning('a', 'b')"
    text = f"correlate(a=in0, b=in1, where=lambda a, b: a.j <= b.j, yields=lambda a, b: (a.n, b.n), restrict={gate})"
    sides = [[item for item in items if item.source == source] for source in ("in0", "in1")]
    expected, is_there = [], False
    for a, b in zip(*sides, strict=False):
        holds = compared(a.j, b.j, lambda x, y: x <= y) is True
        change = Update("one", (a.number, b.number)) if holds else Delete("one") if is_there else None
        if change is not None:
            expected.append((repr(change), min(a.start, b.start), max(a.end, b.end)))
        is_there = holds
    tier = draw.choice(["reference", "in_place"])
    found = [(repr(event.value), event.start, event.end) for event in results(text, items, None, tier)]
    _compare(text, items, dict(Counter(found)), dict(Counter(expected)))


def _check_versions(draw: random.Random, items: list[Item]) -> None:
    """Of changes of a row at one time that holds which is greatest in ``ties``, an update or a deletion."""
    inputs = {one.name: one for one in declared(Sketch(random.Random(0)), ())}
    ask, row = inputs["in0"], inputs[TABLES[0]]
    text = (
        f"correlate(a=in0, b={row.name}, where=lambda a, b, key_b: key_b == 1, yields=lambda a, b: (a.n, b.n),"
        f" restrict=versioned('b', ties='n') | retracting())"
    )
    engine = Engine(eval(text, scope() | inputs), tier=draw.choice([None, "reference"]))
    offsets = random.Random(draw.random()).sample(range(len(items)), len(items))
    changes, asked, found = list[tuple[int, int, bool]](), list[Item](), Counter[Any]()
    for item, offset in zip(items, offsets, strict=True):
        value = {"id": 1, **item.row, "n": offset}
        is_asked, is_deletion = item.source == "in0", item.source == "in2"
        given = item.row if is_asked else Delete(1, value) if is_deletion else Update(1, value)
        for event in engine.push(ask if is_asked else row, given, at=item.end):
            found[repr(event.value)] += event.weight
        if is_asked:
            asked.append(item)
        else:
            changes.append((item.end, offset, is_deletion))
    expected: Counter[Any] = Counter()
    for item in asked:
        holds = max((change for change in changes if change[0] <= item.end), default=None)
        if holds is not None and not holds[2]:
            expected[repr((item.number, holds[1]))] += 1
    _compare(f"{text}\noffsets {offsets}", items, {one: n for one, n in found.items() if n}, dict(expected))


def _check_batch(draw: random.Random, items: list[Item]) -> None:
    """A batch raises where a push does: what is unknown stops nothing behind it."""
    used = [item for item in items if item.source in ("in0", "in1")]
    zero = draw.choice([item.number for item in items])
    text = (
        f"correlate(a=in0, b=in1, where=lambda a, b: (a.k < b.j) & (a.n / (b.n - {zero}) >= 0),"
        " yields=lambda a, b: (a.n, b.n), restrict=at_most(99, 'a', 'b'))"
    )
    inputs = {one.name: one for one in declared(Sketch(random.Random(0)), ())}
    engine = Engine(eval(text, scope() | inputs))
    found, expected = Counter[Any](), Counter[Any]()
    batch = {
        inputs[source]: {
            **{name: [item.row[name] for item in used if item.source == source] for name in ("n", "k", "j", "v")},
            **{name: [getattr(item, name) for item in used if item.source == source] for name in ("start", "end")},
            "order": [item.number for item in used if item.source == source],
        }
        for source in ("in0", "in1")
    }
    try:
        given = engine.push_many(batch)
    except ZeroDivisionError as error:
        given = vars(error)["emitted"]
        found["raises"] = 1
    found.update(repr(event.value) for event in events_of(given))
    for place, new in enumerate(used):
        before = [item for item in used[:place] if item.source != new.source]
        pairs = [(new, other) if new.source == "in0" else (other, new) for other in before]
        asked = [(a, b, holds) for a, b in pairs if (holds := compared(a.k, b.j, lambda x, y: x < y)) is not False]
        if any(b.number == zero for _, b, _ in asked):
            expected["raises"] = 1
            break
        expected.update(
            repr((a.number, b.number)) for a, b, holds in asked if holds and a.number / (b.number - zero) >= 0
        )
    _compare(f"{text}, in one batch", items, dict(found), dict(expected))


def _compare(text: str, items: list[Item], found: dict[Any, int], expected: dict[Any, int]) -> None:
    if found != expected:
        rows = "\n".join(map(str, items))
        message = f"{text}\n{rows}\nfound    {found}\nexpected {expected}"
        raise Wrong(message)
