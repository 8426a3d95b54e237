"""The catalogue: how programs are drawn of everything that is exported, each written as text that a reader can run.

`EXPORTS` names every export once, with its family and with how it is drawn: a restriction into the stack of a
correlation (tests/laws/catalogue_restrictions.py), an operator on top of what there is already
(tests/laws/catalogue_operators.py). A `Sketch` is a program in the making; each line uses the one before it, so that
all exports of a program have to do with each other. A draw that the library refuses is drawn again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius import Reactive, ordered, unordered
from cartesius.errors import CartesiusError
from tests.laws.catalogue_scope import FIELDS, scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NAMES = ("a", "b", "c", "d")
START = 1_700_000_000_000_000
LINES = 4
"""How many lines a program has at most."""
STREAMS, TABLES = ("in0", "in1", "in2"), ("t", "u")


Draw: TypeAlias = "Callable[[Sketch], Any]"
Entering: TypeAlias = "Callable[[Draw], Draw]"


@dataclass(frozen=True)
class Export:
    """Something public, and how programs are drawn of it."""

    name: str
    family: str
    draw: Draw
    """Of a restriction: its text in a stack. Of an operator: the text of a reactive, and its kind."""
    is_restriction: bool = False
    is_first: bool = False
    """Whether a restriction is written left of all others, as windows are: what is right of it, it encloses."""


EXPORTS: dict[str, Export] = {}
"""Every export by the name that programs write it with."""


def restriction(name: str, family: str, *, is_first: bool = False) -> Entering:
    """Enter how a restriction is drawn for a correlation."""
    return _enter(name, family, is_restriction=True, is_first=is_first)


def operator(name: str, family: str) -> Entering:
    """Enter how an operator is drawn on top of what there is."""
    return _enter(name, family)


def _enter(name: str, family: str, **how: bool) -> Entering:
    def entered(draw: Draw) -> Draw:
        assert name not in EXPORTS, name
        EXPORTS[name] = Export(name, family, draw, **how)
        return draw

    return entered


@dataclass(frozen=True)
class Program:
    """A program: its inputs, its lines, and how an engine runs it."""

    lines: tuple[str, ...]
    inputs: tuple[Reactive, ...]
    outputs: tuple[Reactive, ...]
    exports: frozenset[str]
    options: dict[str, Any]
    unit: int
    is_typed: bool
    """Whether all rows have columns of one type, as the bridge wants them."""

    @property
    def text(self) -> str:
        """The program as one can read it."""
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        outputs = ", ".join(output.name for output in self.outputs)
        return "\n".join([*self.lines, f"Engine({outputs}{options})"])


@dataclass
class Sketch:
    """A program in the making.

    Args:
        draw: What decides.
        unit: How long a time unit is.
    """

    draw: random.Random
    unit: int = 1
    nodes: list[tuple[str, str]] = field(default_factory=list)
    """What there is: name, and kind: `stream` or `table` (of records), `values` or `rows` (of anything)."""
    lines: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    slots: list[str] = field(default_factory=list)
    """The variables of the correlation that is drawn right now."""
    sources: list[str] = field(default_factory=list)
    """What these are bound to, as text."""
    is_keyed: bool = False
    """Whether all that meets has one ``k``, which is passed on: so that the bridge may split it."""
    fresh: str | None = None
    """The node that the next line has to use."""
    base: int = 0
    """The time at which all begins."""
    conditions: list[str] = field(default_factory=list)
    """What the correlation asks, beside what is drawn for all."""
    lists: set[str] = field(default_factory=set)
    """The variables that are bound to lists."""
    maybe: set[str] = field(default_factory=set)
    """The variables whose parts may be missing."""
    odd: set[str] = field(default_factory=set)
    """The variables that are bound to something that is no record."""
    tells: list[str] = field(default_factory=list)
    """What its results say, if its restrictions say so."""
    kind: str = ""
    """What the correlation makes, if its restrictions say so."""
    report: str = ""
    content: str = ""
    """That of the last line."""

    def begin(self, slots: Sequence[str]) -> None:
        """Begin a correlation."""
        self.slots = list(slots)
        self.sources = []
        self.conditions, self.tells = [], []
        self.lists, self.maybe, self.odd = set(), set(), set()
        self.kind = self.report = self.content = ""

    # ------------------------------------------------------------------------------------------------ small decisions

    def of(self, *options: Any) -> Any:
        """One of the options."""
        return self.draw.choice(options)

    def chance(self, share: float) -> bool:
        """True for a share of all draws."""
        return self.draw.random() < share

    def time(self, *lengths: int) -> int:
        """A length of time."""
        length: int = self.draw.choice(lengths)
        return length * self.unit

    def write(self, export: str) -> str:
        """The name of an export; from now on the program has it."""
        self.used.add(export)
        return export

    # ---------------------------------------------------------------------------------------------------------- slots

    def some(self, least: int = 1) -> str:
        """Some of the slots, quoted."""
        chosen = [slot for slot in self.slots if self.chance(0.7)]
        return self.quoted(chosen if len(chosen) >= least else self.slots)

    def all(self) -> str:
        """All slots, quoted."""
        return self.quoted(self.slots)

    def one(self) -> str:
        """One slot, quoted."""
        return repr(self.draw.choice(self.slots))

    def quoted(self, slots: Sequence[str]) -> str:
        """Slots as arguments."""
        return ", ".join(map(repr, slots))

    # -------------------------------------------------------------------------------------------------------- sources

    def stream(self) -> str:
        """A stream of records."""
        return self._source("stream", {"values": "map_({}, record)", "table": "map_(changelog({}), record)"})

    def table(self) -> str:
        """A table of records."""
        key = f"to_table({{}}, key={self.of('k', 'k', 'j', 'n')!r})"
        return self._source("table", {"rows": "map_table({}, record)", "stream": key, "values": key})

    def _source(self, kind: str, conversions: dict[str, str]) -> str:
        name, has = self.fresh, ""
        if name is not None:
            self.fresh = None
            has = dict(self.nodes)[name]
        else:
            fitting = [one for one, its in self.nodes if its == kind]
            name = self.draw.choice(fitting)
            has = kind
        if has == kind:
            return name
        if has == "rows" and kind == "stream":
            made = "map_(changelog({}), record)"
        elif has == "values" and kind == "table":
            made = conversions["stream"].format("map_({}, record)")
        else:
            made = conversions[has]
        for export in ("map_table", "to_table", "changelog", "map_"):
            if f"{export}(" in made:
                self.write(export)
        return made.format(name)

    def any_stream(self) -> str:
        """A stream, of whatever values."""
        if self.fresh is not None and dict(self.nodes)[self.fresh] == "values":
            name, self.fresh = self.fresh, None
            return name
        return self.stream()

    def any_table(self) -> str:
        """A table, of whatever rows."""
        if self.fresh is not None and dict(self.nodes)[self.fresh] == "rows":
            name, self.fresh = self.fresh, None
            return name
        return self.table()

    def add(self, line: str, kind: str, name: str) -> None:
        """Add a line; the next one uses it."""
        self.lines.append(line)
        self.nodes.append((name, kind))
        self.fresh = name


class Refused(Exception):
    """What was drawn is no program."""


def program_of(focus: Sequence[str], seed: str, *, is_keyed: bool = False) -> Program | None:
    """A program that has all of ``focus``, or None where the library refuses what was drawn.

    If ``is_keyed``, it is of one line, and such that the bridge is likely to split it.
    """
    from tests.laws.catalogue_lines import add_line  # it draws by the registry, which is here

    draw = random.Random(seed)
    is_typed = is_keyed or draw.random() < 0.5
    unit = draw.choice([1_000, 1_000_000, 700]) if is_typed else 1
    made = Sketch(draw, unit, base=START if is_typed else 0, is_keyed=is_keyed)
    made.nodes += [(name, "stream") for name in STREAMS] + [(name, "table") for name in TABLES]
    inputs = declared(made, focus)
    wanted = [name for name in focus if name not in made.used]
    bound = scope() | {one.name: one for one in inputs}
    options: dict[str, Any] = {"lateness": draw.choice([0, 2, 5]) * unit} if draw.random() < 0.5 else {}
    try:
        add_line(made, wanted, bound)
        while (wanted or made.chance(0.2)) and len(made.lines) < (1 if is_keyed else LINES):
            add_line(made, wanted, bound)
    except (CartesiusError, Refused):
        return None
    output = bound[made.nodes[-1][0]]
    there = inputs_of(output, set())
    used = tuple(one for one in inputs if one in there)
    if not used:
        return None
    return Program(tuple(made.lines), used, (output,), frozenset(made.used), options, unit, is_typed)


def inputs_of(reactive: Reactive, seen: set[Reactive]) -> set[Reactive]:
    """Add what a reactive is made of to what has been ``seen``; return that, the inputs among it."""
    if reactive not in seen:
        seen.add(reactive)
        for source in () if reactive.pattern is None else reactive.pattern.slots.values():
            inputs_of(source, seen)
    return seen


def declared(made: Sketch, focus: Sequence[str]) -> list[Reactive]:
    """The inputs of a program, in some order or in none."""
    order = next((name for name in ("ordered", "unordered") if name in focus), None)
    orders = {None: None, "ordered": ordered(), "unordered": unordered()}
    if order is not None:
        made.write(order)
    return [
        *(Reactive(name, fields=FIELDS, order=orders[order] if name == "in0" else None) for name in STREAMS),
        *(Reactive(name, table=True, key="id", fields=("id", *FIELDS)) for name in TABLES),
    ]
