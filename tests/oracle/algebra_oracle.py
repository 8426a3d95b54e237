"""The algebra of keyed tables, twice over, without the library (SOURCES B7, B8, B10; SEMANTICS 2).

`DictProgram` is the thesis's operators as plain dict code, message by message; `FromScratch` evaluates the present
inputs by comprehension. Written without reading the implementation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Delete, Update
from tests.oracle.algebra_programs import (
    FOLDING,
    GROUPS,
    Change,
    Filtered,
    Folded,
    Foreign,
    Item,
    Joined,
    Mapped,
    Merged,
    Node,
    Reduced,
    Relogged,
    Source,
    Table,
    children,
    foreign_key,
    group_key,
    in_order,
    map_function,
    predicate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


# ------------------------------------------------------------------------------------------------- what a change is


def exact(value: Any) -> str:
    """A text that is equal exactly for type-exactly equal plain values, NaN equal to itself."""
    return repr(value)


def is_same(one: Table, other: Table) -> bool:
    """Whether two tables have type-exactly equal rows."""
    return one.keys() == other.keys() and all(exact(one[key]) == exact(other[key]) for key in one)


def apply(table: Table, change: Change) -> None:
    """Make a change; to delete what is not there is none."""
    if isinstance(change, Delete):
        table.pop(change.key, None)
    else:
        table[change.key] = change.value


def difference(before: Table, after: Table) -> list[Change]:
    """The changes that lead from one table to the other, one a key."""
    gone: list[Change] = [Delete(key) for key in before if key not in after]
    fresh = [key for key in after if key not in before or exact(before[key]) != exact(after[key])]
    return [*gone, *(Update(key, after[key]) for key in fresh)]


def settle(table: Table, emitted: Iterable[Change]) -> list[Change]:
    """Apply what an operator emitted in one step to its table; return the step's real changes, one a key.

    This is all that our semantics adds to the thesis's operators: a step is a batch, so what comes and goes within
    it was never there; and a change changes something.
    """
    before: dict[Any, tuple[bool, Any]] = {}  # in order of first mention
    for change in emitted:
        before.setdefault(change.key, (change.key in table, table.get(change.key)))
        apply(table, change)
    changes: list[Change] = []
    for key, (was_there, old) in before.items():
        if key not in table:
            changes += [Delete(key)] * was_there
        elif not was_there or exact(old) != exact(table[key]):
            changes.append(Update(key, table[key]))
    return changes


# ------------------------------------------------------------------------------- the thesis's operators (SOURCES B10)


class Operator:
    """What takes the messages of its inputs, one by one, and emits others."""

    def left(self, change: Change) -> Iterator[Change]:
        """Take a message."""
        raise NotImplementedError  # each subclass says, where it has such an input

    def right(self, change: Change) -> Iterator[Change]:
        """Take a message of the other input; for most operators there is none."""
        raise NotImplementedError  # each subclass says, where it has such an input


class Passing(Operator):
    """`changelog`, `to_table`, `merge`: nothing."""

    def left(self, change: Change) -> Iterator[Change]:
        yield change

    def right(self, change: Change) -> Iterator[Change]:
        yield change


class Mapping(Operator):
    """L18: no state."""

    def __init__(self, f: Callable[[Any], Any]) -> None:
        self.f = f

    def left(self, change: Change) -> Iterator[Change]:
        yield Update(change.key, self.f(change.value)) if isinstance(change, Update) else change


class Filtering(Operator):
    """L37."""

    def __init__(self, p: Callable[[Any], Any]) -> None:
        self.p = p
        self.table: Table = {}

    def left(self, change: Change) -> Iterator[Change]:
        if isinstance(change, Update) and self.p(change.value):
            self.table[change.key] = change.value
            yield change
        elif change.key in self.table:
            del self.table[change.key]
            yield Delete(change.key)


class Joining(Operator):
    """L38 and L39; a left join is an outer join without the right one's rows."""

    def __init__(self, how: str) -> None:
        self.keeps_left = how != "inner"
        self.keeps_right = how == "outer"
        self.lefts: Table = {}
        self.rights: Table = {}

    def left(self, change: Change) -> Iterator[Change]:
        key = change.key
        if isinstance(change, Update):
            self.lefts[key] = change.value
            if key in self.rights:
                yield Update(key, (change.value, self.rights[key]))
            elif self.keeps_left:
                yield Update(key, (change.value, None))
        elif key in self.lefts:  # slip 2: what never existed is not deleted
            del self.lefts[key]
            if key in self.rights and self.keeps_right:
                yield Update(key, (None, self.rights[key]))
            elif key in self.rights or self.keeps_left:
                yield Delete(key)

    def right(self, change: Change) -> Iterator[Change]:
        key = change.key
        if isinstance(change, Update):
            self.rights[key] = change.value
            if key in self.lefts:
                yield Update(key, (self.lefts[key], change.value))
            elif self.keeps_right:
                yield Update(key, (None, change.value))
        elif key in self.rights:
            del self.rights[key]
            if key in self.lefts and self.keeps_left:
                yield Update(key, (self.lefts[key], None))
            elif key in self.lefts or self.keeps_right:
                yield Delete(key)


class ForeignJoining(Operator):
    """L40; rows are pairs, and the foreign key is a function of the left value."""

    def __init__(self, on: Callable[[Any], Any], how: str) -> None:
        self.on = on
        self.is_left = how == "left"
        self.lefts: Table = {}
        self.rights: Table = {}

    def left(self, change: Change) -> Iterator[Change]:
        had_row = change.key in self.lefts and self._has_row(self.lefts[change.key])
        if isinstance(change, Update):
            self.lefts[change.key] = change.value
            if self._has_row(change.value):
                yield Update(change.key, (change.value, self.rights.get(self.on(change.value))))
            elif had_row:  # slip 1: the row that was joined is not left as it was
                yield Delete(change.key)
        elif change.key in self.lefts:  # slip 3
            del self.lefts[change.key]
            if had_row:
                yield Delete(change.key)

    def right(self, change: Change) -> Iterator[Change]:
        if isinstance(change, Delete) and change.key not in self.rights:
            return
        apply(self.rights, change)
        for key, value in self.lefts.items():
            if self.on(value) == change.key:
                if isinstance(change, Update):
                    yield Update(key, (value, change.value))
                else:
                    yield Update(key, (value, None)) if self.is_left else Delete(key)

    def _has_row(self, value: Any) -> bool:
        return self.is_left or self.on(value) in self.rights


class Reducing(Operator):
    """L41 for each group, with a count of its rows."""

    def __init__(self, by: Callable[[Any], Any], group: str) -> None:
        self.by = by
        self.empty, self.combine, self.inverse, self.weigh, self.show = GROUPS[group]
        self.table: Table = {}
        self.totals: Table = {}
        self.counts: Table = {}

    def left(self, change: Change) -> Iterator[Change]:
        if change.key in self.table:
            old = self.table.pop(change.key)
            yield self._add(self.by(old), self.inverse(self.weigh(old)), -1)
        if isinstance(change, Update):
            self.table[change.key] = change.value
            yield self._add(self.by(change.value), self.weigh(change.value), 1)

    def _add(self, group: Any, value: Any, count: int) -> Change:
        self.totals[group] = self.combine(self.totals.get(group, self.empty), value)
        self.counts[group] = self.counts.get(group, 0) + count
        if self.counts[group]:
            return Update(group, self.show(self.totals[group]))
        del self.totals[group], self.counts[group]
        return Delete(group)


class Folding(Operator):
    """L43."""

    def __init__(self, initial: Any, f: Callable[[Any, Any], Any]) -> None:
        self.initial, self.f = initial, f
        self.table: Table = {}

    def left(self, change: Change) -> Iterator[Change]:
        if isinstance(change, Update):
            self.table[change.key] = self.f(self.table.get(change.key, self.initial), change.value)
            yield Update(change.key, self.table[change.key])
        elif change.key in self.table:
            del self.table[change.key]
            yield change


class Totalling:
    """L41 as it is, but for a sum over none, which is null (SEMANTICS 1.18): a stream of totals, one a message.

    `DictTotals` makes it one a step.
    """

    def __init__(self, group: str) -> None:
        self.group = group
        self.empty, self.combine, self.inverse, self.weigh, self.show = GROUPS[group]
        self.total = self.empty
        self.table: Table = {}

    def left(self, change: Change) -> Iterator[Any]:
        """Take a message."""
        if isinstance(change, Update):
            old = self.weigh(self.table[change.key]) if change.key in self.table else self.empty
            self.total = self.combine(self.combine(self.total, self.inverse(old)), self.weigh(change.value))
            self.table[change.key] = change.value
            yield self.show(self.total)
        elif change.key in self.table:
            self.total = self.combine(self.total, self.inverse(self.weigh(self.table.pop(change.key))))
            yield None if self.group == "sum" and not self.table else self.show(self.total)


def operator(node: Node) -> Operator:
    """The thesis's operator for a node."""
    match node:
        case Mapped():
            return Mapping(map_function(node))
        case Filtered():
            return Filtering(predicate(node))
        case Joined():
            return Joining(node.how)
        case Foreign():
            return ForeignJoining(foreign_key(node), node.how)
        case Reduced():
            return Reducing(group_key(node), node.group)
        case Folded():
            return Folding(*FOLDING[node.kind])
    return Passing()


class DictProgram:
    """A program of the thesis's operators."""

    def __init__(self, program: Node) -> None:
        self.program = program
        self.order = in_order(program)
        self.operators = {node: operator(node) for node in self.order}
        self.tables: dict[Node, Table] = {node: {} for node in self.order}

    @property
    def table(self) -> Table:
        """The present rows."""
        return self.tables[self.program]

    def push(self, source: int, change: Change) -> list[Change]:
        """One step: every operator takes all that its inputs changed, the left one's first; return the changes."""
        changes: dict[Node, list[Change]] = {}
        for node in self.order:
            taker, emitted = self.operators[node], [change] if node == Source(source) else []
            for take, child in zip((taker.left, taker.right), children(node), strict=False):
                # What is pushed goes in as it is, were it no change: to fold an equal value again is one (B10). Only
                # what is merged has gone through a changelog, which has settled it.
                is_raw = child == Source(source) and not isinstance(node, Merged)
                for message in [change] if is_raw else changes[child]:
                    emitted += take(message)
            changes[node] = settle(self.tables[node], emitted)
        return changes[self.program]


class DictTotals:
    """The totals of a program's table: one a step in which it changed."""

    def __init__(self, program: Node, group: str) -> None:
        self.rows = DictProgram(program)
        self.operator = Totalling(group)

    def push(self, source: int, change: Change) -> list[Any]:
        """One step."""
        totals = [total for made in self.rows.push(source, change) for total in self.operator.left(made)]
        return totals[-1:]


# ---------------------------------------------------------------------------------------------------- from scratch


def from_scratch(node: Node, tables: dict[Node, Table]) -> Table:
    """The table of an operator that has no history, by comprehension from the tables of its inputs."""
    t, *others = (tables[child] for child in children(node))
    match node:
        case Mapped():
            return {key: map_function(node)(value) for key, value in t.items()}
        case Filtered():
            return {key: value for key, value in t.items() if predicate(node)(value)}
        case Joined():
            (u,) = others
            keys = {"inner": t.keys() & u.keys(), "left": t.keys(), "outer": t.keys() | u.keys()}[node.how]
            return {key: (t.get(key), u.get(key)) for key in keys}
        case Foreign():
            (u,) = others
            on = foreign_key(node)
            joined = {key: (left, right) for key, left in t.items() for k, right in u.items() if on(left) == k}
            return {key: (left, None) for key, left in t.items()} | joined if node.how == "left" else joined
        case Reduced():
            groups = {group_key(node)(value) for value in t.values()}
            members = {g: [value for value in t.values() if group_key(node)(value) == g] for g in groups}
            return {g: total_of(node.group, rows) for g, rows in members.items()}
        case Relogged():
            return dict(t)
    raise AssertionError(node)


def total_of(group: str, rows: Iterable[Any]) -> Any:
    """The total of a group that has rows, without its inverse."""
    rows = list(rows)
    if group == "items":
        return Item(sum(row.k for row in rows), sum(row.n for row in rows))
    if group == "count":
        return len(rows)
    return sum(rows) / len(rows) if group == "mean" else sum(rows)


class FromScratch:
    """Every table of a program evaluated anew at each step; folds alone have a memory, of the tables below them."""

    def __init__(self, program: Node) -> None:
        self.program = program
        self.tables: dict[Node, Table] = {node: {} for node in in_order(program)}

    def push(self, source: int, change: Change) -> Table:
        """One step; return the table of the program."""
        before, self.tables = self.tables, {}
        for node, old in before.items():  # inputs first
            new = dict(old)
            match node:
                case Source():
                    if node.number == source:
                        apply(new, change)
                case Folded():
                    is_pushed = node.of == Source(source)
                    changes = [change] if is_pushed else difference(before[node.of], self.tables[node.of])
                    initial, f = FOLDING[node.kind]
                    for each in changes:
                        if isinstance(each, Update):
                            each = Update(each.key, f(old.get(each.key, initial), each.value))  # noqa: PLW2901 - what is folded takes the place of what came
                        apply(new, each)
                case Merged():
                    for child in children(node):
                        for each in difference(before[child], self.tables[child]):
                            apply(new, each)
                case _:
                    new = from_scratch(node, self.tables)
            self.tables[node] = new
        return self.tables[self.program]
