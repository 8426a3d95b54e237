"""Programs and traces that all tiers must agree on, decoded from bytes: cheap to draw, and they shrink.

What a program means is not computed here: it is what the reference tier gives when every row is pushed. What the
reference gives is held against naive oracles by the other tests of this folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from cartesius import Delete, Reactive, Update, correlate
from cartesius.errors import CartesiusError
from restrictions import (
    affinely,
    aligning,
    as_table,
    at_most,
    combine_latest,
    earliest,
    fifo,
    key_by,
    momentarily,
    most_recently,
    only,
    optionally,
    retracting,
    sliding,
    take,
    tumbling,
    within,
    zip_,
)
from restrictions.streams import filter_, map_, merge
from restrictions.tables import (
    aggregate,
    changelog,
    combine_updates,
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    max_,
    mean,
    min_,
    outer_join,
    reduce,
    sum_,
    to_table,
    update_stream,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")
NAMES = ("a", "b", "c", "d")
NAN = float("nan")


class Choices:
    """Choices read off bytes; the first option once they are used up.

    Args:
        data: The bytes.
        unit: How long a time unit is.
        table: What a table declares that has no other key.
        made: The inputs that there are already, by name.
    """

    def __init__(
        self,
        data: bytes,
        unit: int = 1,
        table: Mapping[str, Any] | None = None,
        made: dict[str, Reactive] | None = None,
    ) -> None:
        self.data = data
        self.at = 0
        self.unit = unit
        self.table = table or {}
        self.made = {} if made is None else made

    def input(self, name: str, **options: Any) -> Reactive:
        """An input, the same one for the same name."""
        if name not in self.made:
            self.made[name] = Reactive(name, **options)
        return self.made[name]

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    @property
    def is_over(self) -> bool:
        return self.at >= len(self.data)

    def of(self, options: Sequence[Any]) -> Any:  # options differ in type
        return options[self.byte() % len(options)]

    def often(self) -> bool:
        return self.byte() % 4 != 3

    def rarely(self) -> bool:
        return self.byte() % 8 == 7

    def some(self, options: Sequence[T], least: int = 1) -> list[T]:
        """Some of the options, in their order."""
        mask = self.byte()
        chosen = [one for place, one in enumerate(options) if mask >> place & 1]
        return chosen if len(chosen) >= least else list(options)


@dataclass(frozen=True)
class Case:
    """A program: its inputs, its outputs, and how it is run."""

    kind: str
    inputs: tuple[Reactive, ...]
    outputs: tuple[Reactive, ...]
    options: dict[str, Any] = field(default_factory=dict)
    rows: str = "records"  # what payloads look like


# ---------------------------------------------------------------------------------------------- what bodies are made of


def touchy(value: Any) -> bool:
    """True; an exception for one value. Not traced."""
    if value.k == 7:
        message = f"touched {value.k!r}"
        raise RuntimeError(message)
    return True


def size(value: Any) -> int:
    """An int, whatever the value is. Not traced."""
    if value is None:
        return -1
    if isinstance(value, tuple):
        return sum(map(size, value)) + len(value)
    if isinstance(value, int | float):
        return int(value) if value == value else 99  # noqa: PLR0124 - NaN
    return int(value.n) if hasattr(value, "n") else len(str(value))


SCOPE = {"touchy": touchy, "size": size}

PAIR_CONDITIONS = [
    "{a}.k == {b}.k",
    "{a}.k == {b}.j",
    "({a}.k == {b}.k) & ({a}.j <= {b}.j)",
    "{a}.k + 1 == {b}.j * 2",
    "{a}.n % 2 == {b}.n % 2",
    "({a}.k == {b}.k) & ({a}.j == {b}.j)",
    "{a}.k <= {b}.j",
    "{a}.k != {b}.k",
    "(time_{a}.end <= time_{b}.start) & ({a}.k == {b}.k)",
    "bool(touchy({a}) and {a}.k == {b}.k)",
    "bool({a}.j <= {b}.j)",
]
YIELDS = [
    "({all_n})",
    "{{'first': {a}, 'n': {z}.n}}",
    "{a}",
    "({a}.k + {z}.j, {a}.n * 2 - {z}.n)",
    "{a}.n",
    "({a}.k / 2, {a}.k < {z}.j, -{z}.k)",
    "(time_{a}.start, time_{z}.end, {a}.v)",
    "({a}.k // 2, {a}.n % 3, 'text')",
    "(size({a}), {z})",
    "('nested', ({a}.n, {{'z': {z}.v}}))",
]
OPTIONAL_YIELDS = ["({all})", "(size({a}), size({z}))", "{{'x': {a}, 'y': {z}}}"]


def function(text: str, names: Sequence[str]) -> Any:
    """A body as a function of the slots it mentions."""
    times = [f"time_{name}" for name in names if f"time_{name}" in text]
    return eval(f"lambda {', '.join([*names, *times])}: {text}", dict(SCOPE))


def body(text: str, names: Sequence[str]) -> Any:
    filled = text.format(
        a=names[0], z=names[-1], all=", ".join(names) + ",", all_n=", ".join(f"{name}.n" for name in names) + ","
    )
    return function(filled, names)


def condition(choices: Choices, names: Sequence[str]) -> Any:
    """No condition, one, or one for each two slots that follow each other."""
    if len(names) < 2 or choices.rarely():
        return None
    amount = choices.of([1, 0, 2])
    pairs = list(pairwise(names))[:amount]
    texts = [choices.of(PAIR_CONDITIONS).format(a=a, b=b) for a, b in pairs]
    if not texts:
        return None
    if any("bool(" in text for text in texts):
        return function(" and ".join(f"bool({text})" for text in texts), names)
    return function(" & ".join(f"({text})" for text in texts), names)


def together(restrictions: Sequence[Any]) -> Any:
    out: Any = None
    for one in restrictions:
        out = one if out is None else out | one
    return out


# ------------------------------------------------------------------------------------------------- joins of streams


def keys(choices: Choices, names: Sequence[str]) -> list[Any]:
    if not choices.often():
        return []
    kinds = [choices.of(["k", "k", "k", "j"]) for _ in names]
    return [key_by(**dict(zip(names, kinds, strict=True)))]


def latest(choices: Choices, names: list[str]) -> list[Any]:
    n = choices.of([1, 1, 1, 2, 3])
    slots = choices.some(names) if choices.rarely() else names
    return [*keys(choices, names), most_recently(*slots) if n == 1 else most_recently(*slots, n=n)]


def outer(choices: Choices, names: list[str]) -> list[Any]:
    missing = choices.some(names[1:] if choices.often() else names)
    return [*keys(choices, names), most_recently(*names), optionally(*missing), retracting()]


def retracted(choices: Choices, names: list[str]) -> list[Any]:
    return [*latest(choices, names), retracting()]


def rows(choices: Choices, names: list[str]) -> list[Any]:
    key = choices.of([lambda row: size(row) % 3, lambda row: "one"])
    return [*latest(choices, names), *([retracting()] if choices.often() else []), as_table(key)]


def consumed(choices: Choices, names: list[str]) -> list[Any]:
    limit = choices.of([affinely(*choices.some(names)), affinely(*names), at_most(2, *choices.some(names))])
    more = choices.of([[], [fifo()], [most_recently(*choices.some(names))], [earliest(*choices.some(names))]])
    found = [*keys(choices, names), *more, limit]
    return found[::-1] if choices.rarely() else found


def used_once(choices: Choices, names: list[str]) -> list[Any]:
    return [*keys(choices, names), *choices.of([[], [fifo()]]), affinely(*names)]


def zipped(choices: Choices, names: list[str]) -> list[Any]:
    found = [*keys(choices, names), most_recently(*names), aligning(*names)]
    return choices.of([found, [found[-1], *found[:-1]], [*found[:-2], found[-1]]])


def banded(choices: Choices, names: list[str]) -> list[Any]:
    found: list[Any] = [*keys(choices, names), within(choices.of([2, 0, 5]) * choices.unit, *names)]
    if choices.rarely():
        found.append(choices.of([optionally(names[-1]), affinely(*names), most_recently(*names), retracting()]))
    return found


def plain(choices: Choices, names: list[str]) -> list[Any]:
    return [*keys(choices, names), *choices.of([[], [fifo()], [earliest(*names)], [take(3)], [momentarily(names[0])]])]


STACKS: dict[str, Callable[[Choices, list[str]], list[Any]]] = {
    "latest": latest, "outer": outer, "retracted": retracted, "rows": rows, "consumed": consumed, "zipped": zipped,
    "banded": banded, "plain": plain, "used once": used_once,
}  # fmt: skip


def stream_join(choices: Choices, sources: Sequence[Reactive], name: str = "out") -> Reactive:
    """A correlation of streams under one of the stacks."""
    kind = choices.of(sorted(STACKS))
    n = choices.of([2, 2, 2, 3, 3, 4, 1])
    names = list(NAMES[:n])
    restrictions = STACKS[kind](choices, names)
    if choices.rarely():
        restrictions.insert(0, only(names[0], lambda value: value.k <= 1))
    has_optional = kind == "outer" or any(isinstance(one, optionally) for one in restrictions)
    has_selfs = choices.rarely()
    bound = [choices.of(sources) if has_selfs else sources[place % len(sources)] for place in range(n)]
    yields = choices.of(OPTIONAL_YIELDS if has_optional else YIELDS)
    return correlate(
        slots=dict(zip(names, bound, strict=True)),
        where=condition(choices, names),
        yields=body(yields, names),
        restrict=together(restrictions),
        name=name,
    )


def joins(choices: Choices) -> Case:
    """One join of streams."""
    sources = tuple(choices.input(f"in{place}") for place in range(4))
    out = stream_join(choices, sources)
    return Case("join", sources, (out,), options_of(choices))


def nested(choices: Choices) -> Case:
    """Joins of joins, several outputs, streams in between."""
    sources = tuple(choices.input(f"in{place}") for place in range(3))
    nodes: list[Reactive] = list(sources)
    for place in range(choices.of([2, 3])):
        some = choices.some(nodes[-3:], 2)
        nodes.append(
            choices.of(
                [
                    lambda some=some, place=place: stream_join(choices, some, f"out{place}"),
                    lambda some=some: combine_latest(*some),
                    lambda some=some: zip_(*some),
                    lambda some=some: merge(*some),
                    lambda some=some: filter_(some[0], lambda value: size(value) % 2 == 0),
                    lambda some=some: map_(some[0], lambda value: {"n": size(value), "k": 1, "j": 0, "v": value}),
                ]
            )()
        )
    derived = nodes[3:]
    outputs = derived[-1:] if choices.often() else derived
    return Case("nested", sources, tuple(dict.fromkeys(outputs)), options_of(choices))


def options_of(choices: Choices) -> dict[str, Any]:
    return {"lateness": choices.of([0, 2, 5])} if choices.rarely() else {}


# ----------------------------------------------------------------------------------------------------------- tables


def records_of(table: Reactive, choices: Choices) -> Reactive:
    """A table of records, of one of records."""
    return choices.of(
        [
            lambda: table,
            lambda: filter_table(table, lambda row: row.k > 0),
            lambda: filter_table(table, lambda row: row.k != row.j),
            lambda: map_table(table, lambda row: {"k": row.j, "j": row.k + 1, "n": row.n, "v": row.v}),
            lambda: filter_table(table, lambda row: bool(touchy(row))),
        ]
    )()


def tables(choices: Choices) -> Case:
    """The algebra in chains and diamonds."""
    declared = [
        choices.input("t", table=True, **choices.table), choices.input("u", table=True, **choices.table),
        choices.input("w", table=True, key="k"), choices.input("s"),
    ]  # fmt: skip
    records = [*declared[:3], to_table(declared[3], key=choices.of(["k", "j"]))]
    if choices.rarely():
        records[2] = to_table(changelog(declared[0]))
    records = [records_of(one, choices) for one in records]
    first, second = choices.of(records), choices.of(records)
    joined = choices.of(
        [
            lambda: inner_join(first, second),
            lambda: left_join(first, second),
            lambda: outer_join(first, second),
            lambda: foreign_join(first, second, on="j", how=choices.of(["inner", "left"])),
            lambda: map_table(first, lambda row: (row.k, row.v)),
            lambda: first,
        ]
    )()
    more = choices.of(
        [
            lambda: joined,
            lambda: map_table(joined, lambda row: size(row) % 5),
            lambda: filter_table(joined, lambda row: size(row) % 3 != 0),
            lambda: reduce(joined, count, by=lambda row: size(row) % 2),
            lambda: reduce(first, sum_.of("k"), by="j"),
            lambda: reduce(first, mean.of("k")),
            lambda: reduce(first, choices.of([max_.of("k"), min_.of("n")]), by="j"),
            lambda: changelog(joined),
            lambda: update_stream(joined),
            lambda: combine_updates(joined, 0, lambda total, row: total + size(row)),
            lambda: outer_join(joined, first),
            lambda: left_join(choices.of(records), joined),
            lambda: foreign_join(first, inner_join(second, second), on="j"),
            lambda: three(first, second, choices.of(records), choices),
        ]
    )()
    outputs = [one for one in ([more, joined] if choices.rarely() else [more]) if one.pattern is not None]
    outputs = outputs or [map_table(first, lambda row: row)]
    return Case("table", tuple(declared), tuple(dict.fromkeys(outputs)))


def three(a: Reactive, b: Reactive, c: Reactive, choices: Choices) -> Reactive:
    """Three tables in one pattern."""
    where = choices.of(
        [
            lambda a, key_b, key_c: (a.j == key_b) & (a.k == key_c),
            lambda a, b, key_b, key_c: (a.j == key_b) & (b.j == key_c),
            lambda key_a, key_b, key_c: (key_a == key_b) & (key_b == key_c),
        ]
    )
    may_miss = choices.of([[], [optionally("c")], [optionally("b", "c")]])
    return correlate(
        a=a, b=b, c=c, where=where, yields=lambda a, b, c: (size(a), b, c),
        restrict=together([*may_miss, retracting(), as_table("a")]), name="three",
    )  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- windows


MORE: list[list[Any]] = [
    [], [most_recently("a", "b")], [affinely("a", "b")], [most_recently("a", "b"), retracting()],
    [only("a", lambda row: row.k <= 1), at_most(2, "b")], [most_recently("a", "b", n=2), retracting()],
]  # fmt: skip


def windows(choices: Choices) -> Case:
    """Aggregates and joins in windows."""
    sources = (choices.input("in0"), choices.input("in1"))
    unit = choices.unit
    lateness = choices.of([0, 3]) * unit
    span = choices.of(
        [
            lambda: tumbling(4 * unit, lateness=lateness),
            lambda: sliding(4 * unit, 2 * unit, lateness=lateness),
            lambda: tumbling(3 * unit, offset=unit),
        ]
    )()
    group = choices.of([count, sum_.of("k"), mean.of("j"), sum_.of("v")])
    out = choices.of(
        [
            lambda: aggregate(sources[0], group, by="k", restrict=span),
            lambda: aggregate(sources[0], group, by=lambda row: row.j % 2, restrict=span),
            lambda: aggregate(sources[0], group, restrict=span),
            lambda: in_windows(sources, span, choices.of(MORE)),
            lambda: aggregate(sources[0], group, by="k", restrict=span | only("x", lambda row: row.n % 2 == 0)),
        ]
    )()  # fmt: skip
    options = {"lateness": choices.of([0, 1, 3])} if choices.often() else {}
    return Case("window", sources, (out,), options)


def in_windows(sources: Sequence[Reactive], span: Any, more: list[Any]) -> Reactive:
    """A join of two streams in windows."""
    a, b = sources
    restrict = together([span, *more])
    return correlate(
        a=a, b=b, where=lambda a, b: a.k == b.k, yields=lambda a, b: (a.n, b.n), restrict=restrict, name="out"
    )


FAMILIES: dict[str, Callable[[Choices], Case]] = {
    "joins": joins,
    "nested": nested,
    "tables": tables,
    "windows": windows,
}


def case_of(family: str, data: bytes, **about: Any) -> Case | None:
    """The program that bytes stand for, and what else `Choices` takes; None if its restrictions refuse each other."""
    try:
        return FAMILIES[family](Choices(data, **about))
    except CartesiusError:
        return None


# ------------------------------------------------------------------------------------------------------------ traces


@dataclass(frozen=True)
class Row:
    """One push."""

    reactive: Reactive
    value: Any  # the payload; of a deletion the row that it comes with, or None
    at: tuple[int, int]
    key: Any = None
    is_deletion: bool = False

    @property
    def pushed(self) -> Any:
        """What is pushed."""
        if not self.reactive.table:
            return self.value
        return Delete(self.key, self.value) if self.is_deletion else Update(self.key, self.value)


NUMBERS: dict[str, list[Any]] = {
    "ints": [0, 1, 2, 1],
    "mixed": [0, 1, 1.0, 0.5],
    "floats": [0.0, 1.0, -0.0, NAN],
    "nulls": [0, 1, None, 1],
    "few": [0, 1, 0, 1],
    "wide": [0, 1, 2**53 + 1, 2**63 - 1],
    "bools": [True, False, True, True],
}
VALUES = [None, "x", 1.5, NAN, 3, (1, "y"), True, ""]
MARKS = ["x", "y", "ä", "z"]


def trace_of(case: Case, data: bytes) -> list[Row]:
    """The pushes that bytes stand for, four bytes each."""
    choices = Choices(data)
    domain = NUMBERS[choices.of(["ints", "ints", "few", "mixed", "floats", "nulls", "wide", "bools"])]
    if case.kind == "window":  # a group of NaN is found by the identity of the object alone, which a snapshot ends
        domain = [0.5 if number != number else number for number in domain]  # noqa: PLR0124 - NaN
    values = choices.of([MARKS, MARKS, VALUES, [2, 3, 5, 7], [0.5, 1.5, 2.5, NAN]])
    is_bomb = choices.rarely()
    is_ordered = choices.often()
    inputs = used_inputs(case)
    now, found = 1, []
    for n in range(max(0, len(data) - 4) // 4):
        source, numbers, time, more = choices.byte(), choices.byte(), choices.byte(), choices.byte()
        reactive = inputs[source % len(inputs)]
        now = now + time % 3 if is_ordered else 1 + time % 12
        start = max(0, now - (time >> 4) % 4) if time >> 3 & 1 else now
        k, j = domain[numbers % 4], domain[(numbers >> 2) % 4]
        k = 7 if is_bomb and more % 16 == 15 else k
        value = {"n": n, "k": fresh(k), "j": fresh(j), "v": fresh(values[(numbers >> 4) % len(values)])}
        if reactive.table:
            key = k if reactive.key == "k" else [0, 1, 2, "x"][more % 4] if more & 16 else more % 3
            if reactive.key == "k" and (key is None or key != key):  # noqa: PLR0124 - NaN
                key = value["k"] = 1
            found.append(Row(reactive, value, (start, now), key, more % 4 == 3))
        else:
            found.append(Row(reactive, value, (start, now)))
    return found


def fresh(value: Any) -> Any:
    """A NaN of its own for each event, as each has in a column: a dict takes the same object for the same key."""
    return float("nan") if value != value else value  # noqa: PLR0124 - NaN


def used_inputs(case: Case) -> list[Reactive]:
    """The inputs that the outputs are made of, in the order in which they were declared."""
    seen: set[Reactive] = set()

    def look(reactive: Reactive) -> None:
        seen.add(reactive)
        if reactive.pattern is not None:
            for source in reactive.pattern.slots.values():
                look(source)

    for output in case.outputs:
        look(output)
    return [one for one in case.inputs if one in seen]


def columns_of(rows: Sequence[Row], orders: Sequence[int], *, as_value: bool) -> dict[str, list[Any]]:
    """The rows of one input as the columns of a batch."""
    reactive = rows[0].reactive
    values = [row.value for row in rows]
    columns: dict[str, list[Any]] = {"value": values}
    if not as_value:
        columns = {name: [value[name] for value in values] for name in values[0]}
    columns |= {"start": [row.at[0] for row in rows], "end": [row.at[1] for row in rows], "order": list(orders)}
    if reactive.table:
        columns["deleted"] = [row.is_deletion for row in rows]
        if reactive.key != "k":
            columns["key"] = [row.key for row in rows]
    return columns


def batch_of(rows: Sequence[Row], *, as_value: bool) -> dict[Reactive | str, Any]:
    """Rows as a batch."""
    found: dict[Reactive | str, Any] = {}
    for reactive in dict.fromkeys(row.reactive for row in rows):
        mine = [(row, order) for order, row in enumerate(rows) if row.reactive is reactive]
        name: Any = reactive.name if as_value else reactive
        found[name] = columns_of([row for row, _ in mine], [order for _, order in mine], as_value=as_value)
    return found
