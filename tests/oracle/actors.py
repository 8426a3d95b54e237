"""A minimal actor system, and the algebra of streams and tables on it (SOURCES B11).

Three primitives: `create` an actor, `send` it a message, `become` another behaviour for the next message; and `skip`.
An actor has no other state: tables are persistent, and go from message to message through `become`. An actor that
does not become anything is finished. Between two actors messages keep their order; otherwise any order may happen.

The behaviours are the thesis's, its slips repaired: `merge` sends on what it gets; each branch becomes something; an
outer join's deletes are the right way round; a foreign join looks up the left *value*; a fold is complete.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from cartesius import Delete, Update
from tests.oracle.algebra_oracle import exact
from tests.oracle.algebra_programs import (
    FOLDING,
    GROUPS,
    Filtered,
    Folded,
    Foreign,
    Joined,
    Mapped,
    Merged,
    Node,
    Reduced,
    Relogged,
    Source,
    foreign_key,
    group_key,
    map_function,
    predicate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

# ------------------------------------------------------------------------------------------------------ the language


@dataclass(frozen=True)
class Address:
    """Where an actor gets its messages."""

    number: int


Behaviour: TypeAlias = Callable[["Acting", Any], None]
"""What an actor does with one message."""

OUTSIDE = Address(0)
"""Who sends what comes from outside."""


class System:
    """Actors, and the messages under way: a queue for each two of them."""

    def __init__(self) -> None:
        self._behaviours: dict[Address, Behaviour | None] = {OUTSIDE: None}
        self._channels: dict[tuple[Address, Address], deque[Any]] = {}
        self.outside = Acting(self, OUTSIDE)

    def run(self, random: Random) -> None:
        """Deliver, in a random order, until nothing is under way."""
        while self._channels:
            self._deliver(*random.choice(list(self._channels)))

    def external(self) -> tuple[Address, list[Any]]:
        """An actor outside of the system, and what it receives."""
        received: list[Any] = []

        def receive(act: Acting, message: Any) -> None:
            received.append(message)
            act.become(receive)

        return self.outside.create(receive), received

    def _deliver(self, sender: Address, receiver: Address) -> None:
        channel = self._channels[sender, receiver]
        message = channel.popleft()
        if not channel:
            del self._channels[sender, receiver]
        behave = self._behaviours[receiver]
        assert behave is not None, f"{receiver} is finished"
        self._behaviours[receiver] = None
        behave(Acting(self, receiver), message)


class Acting:
    """The primitives, as one actor has them while it takes a message."""

    def __init__(self, system: System, me: Address) -> None:
        self._system = system
        self._me = me

    def create(self, behaviour: Behaviour) -> Address:
        """Make an actor."""
        address = Address(len(self._system._behaviours))
        self._system._behaviours[address] = behaviour
        return address

    def send(self, to: Address, message: Any) -> None:
        """Send a message; it arrives some time, after those that this actor sent there before."""
        self._system._channels.setdefault((self._me, to), deque()).append(message)

    def become(self, behaviour: Behaviour) -> None:
        """Take the next message so."""
        self._system._behaviours[self._me] = behaviour

    def skip(self) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Rows:
    """A persistent table: a change gives another one."""

    rows: tuple[tuple[Any, Any], ...] = ()

    def update(self, key: Any, value: Any) -> Rows:
        """The table with this row."""
        return Rows((*self.delete(key).rows, (key, value)))

    def delete(self, key: Any) -> Rows:
        """The table without the row of this key."""
        return Rows(tuple(row for row in self.rows if row[0] != key))

    def contains(self, key: Any) -> bool:
        """Whether the key has a row."""
        return any(row[0] == key for row in self.rows)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key's row."""
        return next((row[1] for row in self.rows if row[0] == key), default)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(self.rows)


EMPTY = Rows()


class Tagged(NamedTuple):
    """A change, and the side of a join that it comes from."""

    side: str
    change: Update | Delete


# ------------------------------------------------------------------------------------------------ behaviours: streams


def sink(act: Acting, message: Any) -> None:
    """fix(λs. λm. become(s))."""
    act.become(sink)


def counter(count: int) -> Behaviour:
    """Replies with the number of messages before this one, which is an address to reply to."""

    def behave(act: Acting, message: Address) -> None:
        act.become(counter(count + 1))
        act.send(message, count)

    return behave


def concatenating(f: Callable[[Any], Iterable[Any]], out: Address) -> Behaviour:
    """MapConcat; Map and Filter are special cases of it."""

    def behave(act: Acting, message: Any) -> None:
        act.become(behave)
        for each in f(message):
            act.send(out, each)

    return behave


def mapping(f: Callable[[Any], Any], out: Address) -> Behaviour:
    """Map."""

    def behave(act: Acting, message: Any) -> None:
        act.become(behave)
        act.send(out, f(message))

    return behave


def filtering(p: Callable[[Any], Any], out: Address) -> Behaviour:
    """Filter."""

    def behave(act: Acting, message: Any) -> None:
        act.become(behave)
        if p(message):
            act.send(out, message)
        else:
            act.skip()

    return behave


def telling(*outs: Address) -> Behaviour:
    """Sends on what it gets: Merge; or a receptionist, to all that read its input."""

    def behave(act: Acting, message: Any) -> None:
        act.become(behave)
        for out in outs:
            act.send(out, message)

    return behave


# ------------------------------------------------------------------------------------------------- behaviours: tables


def filtering_rows(p: Callable[[Any], Any], out: Address, table: Rows = EMPTY) -> Behaviour:
    """FilterTable."""

    def behave(act: Acting, message: Update | Delete) -> None:
        key = message.key
        if isinstance(message, Update) and p(message.value):
            act.send(out, message)
            act.become(filtering_rows(p, out, table.update(key, message.value)))
        elif table.contains(key):
            act.send(out, Delete(key))
            act.become(filtering_rows(p, out, table.delete(key)))
        else:
            act.become(behave)

    return behave


def reducing(group: str, out: Address, total: Any, table: Rows = EMPTY) -> Behaviour:
    """Reduce: a stream of totals."""
    empty, combine, inverse, weigh, show = GROUPS[group]

    def behave(act: Acting, message: Update | Delete) -> None:
        key = message.key
        if isinstance(message, Delete) and not table.contains(key):
            act.become(behave)
            return
        rest = combine(total, inverse(weigh(table.get(key)) if table.contains(key) else empty))
        if isinstance(message, Update):
            new = combine(rest, weigh(message.value))
            act.become(reducing(group, out, new, table.update(key, message.value)))
        else:
            new = rest
            act.become(reducing(group, out, new, table.delete(key)))
        act.send(out, show(new))

    return behave


def reducing_groups(
    group: str, by: Callable[[Any], Any], out: Address, table: Rows = EMPTY, totals: Rows = EMPTY
) -> Behaviour:
    """Reduce for each group, its total beside its number of rows; of a group that it stays in, a row is replaced."""
    empty, combine, inverse, weigh, show = GROUPS[group]

    def added(to: Rows, key: Any, value: Any, count: int) -> Rows:
        total, rows = to.get(key, (empty, 0))
        return to.update(key, (combine(total, value), rows + count)) if rows + count else to.delete(key)

    def behave(act: Acting, message: Update | Delete) -> None:
        key, touched, now, rows = message.key, [], totals, table.delete(message.key)
        if table.contains(key):
            old = table.get(key)
            touched.append(by(old))
            now = added(now, by(old), inverse(weigh(old)), -1)
        if isinstance(message, Update):
            rows = table.update(key, message.value)
            touched.append(by(message.value))
            now = added(now, by(message.value), weigh(message.value), 1)
        act.become(reducing_groups(group, by, out, rows, now))
        for each in dict.fromkeys(touched):
            act.send(out, Update(each, show(now.get(each)[0])) if now.contains(each) else Delete(each))

    return behave


def folding(initial: Any, f: Callable[[Any, Any], Any], out: Address, table: Rows = EMPTY) -> Behaviour:
    """CombineUpdates."""

    def behave(act: Acting, message: Update | Delete) -> None:
        key = message.key
        if isinstance(message, Update):
            folded = f(table.get(key, initial), message.value)
            act.send(out, Update(key, folded))
            act.become(folding(initial, f, out, table.update(key, folded)))
        elif table.contains(key):
            act.send(out, message)
            act.become(folding(initial, f, out, table.delete(key)))
        else:
            act.become(behave)

    return behave


def settling(out: Address, table: Rows = EMPTY) -> Behaviour:
    """Not the thesis's: sends on real changes alone, as our operators do at the end of a step."""

    def behave(act: Acting, message: Update | Delete) -> None:
        key = message.key
        if isinstance(message, Delete):
            is_change, after = table.contains(key), table.delete(key)
        else:
            is_change = not table.contains(key) or exact(table.get(key)) != exact(message.value)
            after = table.update(key, message.value)
        act.become(settling(out, after))
        if is_change:
            act.send(out, message)

    return behave


# -------------------------------------------------------------------------------------------------- behaviours: joins


def tagging(side: str, join: Address) -> Behaviour:
    """Stands before a join, so that it knows where a message comes from."""
    return mapping(lambda change: Tagged(side, change), join)


def joining(how: str, out: Address, lefts: Rows = EMPTY, rights: Rows = EMPTY) -> Behaviour:
    """InnerJoin, OuterJoin, and the left join, which is between them."""
    kept = {"inner": (), "left": ("left",), "outer": ("left", "right")}[how]

    def behave(act: Acting, message: Tagged) -> None:
        side, change = message
        key = change.key
        mine, others = (lefts, rights) if side == "left" else (rights, lefts)
        other_side = "right" if side == "left" else "left"
        if isinstance(change, Update):
            mine_now = mine.update(key, change.value)
            if others.contains(key) or side in kept:
                pair = (change.value, others.get(key)) if side == "left" else (others.get(key), change.value)
                act.send(out, Update(key, pair))
        else:
            mine_now = mine.delete(key)
            if mine.contains(key):
                if others.contains(key) and other_side in kept:
                    pair = (None, others.get(key)) if side == "left" else (others.get(key), None)
                    act.send(out, Update(key, pair))
                elif others.contains(key) or side in kept:
                    act.send(out, Delete(key))
        act.become(joining(how, out, *((mine_now, others) if side == "left" else (others, mine_now))))

    return behave


def foreign_joining(
    on: Callable[[Any], Any], how: str, out: Address, lefts: Rows = EMPTY, rights: Rows = EMPTY
) -> Behaviour:
    """ForeignJoin."""

    def has_row(value: Any) -> bool:
        return how == "left" or rights.contains(on(value))

    def take_left(act: Acting, change: Update | Delete) -> None:
        key = change.key
        had_row = lefts.contains(key) and has_row(lefts.get(key))
        if isinstance(change, Update) and has_row(change.value):
            act.send(out, Update(key, (change.value, rights.get(on(change.value)))))
        elif had_row:
            act.send(out, Delete(key))
        after = lefts.update(key, change.value) if isinstance(change, Update) else lefts.delete(key)
        act.become(foreign_joining(on, how, out, after, rights))

    def take_right(act: Acting, change: Update | Delete) -> None:
        pointing = [(key, value) for key, value in lefts if on(value) == change.key]
        if isinstance(change, Update):
            for key, value in pointing:
                act.send(out, Update(key, (value, change.value)))
            after = rights.update(change.key, change.value)
        else:
            for key, value in pointing if rights.contains(change.key) else []:
                act.send(out, Update(key, (value, None)) if how == "left" else Delete(key))
            after = rights.delete(change.key)
        act.become(foreign_joining(on, how, out, lefts, after))

    def behave(act: Acting, message: Tagged) -> None:
        (take_left if message.side == "left" else take_right)(act, message.change)

    return behave


# ---------------------------------------------------------------------------------------------------- the translation


@dataclass(frozen=True)
class Never:
    """Emits nothing."""


@dataclass(frozen=True)
class Now:
    """Emits a value once."""

    value: Any


@dataclass(frozen=True)
class Map:
    """Maps a stream."""

    f: Callable[[Any], Any]
    xs: Term


@dataclass(frozen=True)
class Filter:
    """Filters a stream."""

    p: Callable[[Any], Any]
    xs: Term


@dataclass(frozen=True)
class MapConcat:
    """Maps a stream to lists, and emits their elements."""

    f: Callable[[Any], Iterable[Any]]
    xs: Term


@dataclass(frozen=True)
class Merge:
    """Two streams at once."""

    xs: Term
    ys: Term


@dataclass(frozen=True)
class Changelog:
    """The changes of a table."""

    of: Node


@dataclass(frozen=True)
class Totals:
    """`reduce` without `by`."""

    of: Node
    group: str


Term: TypeAlias = Never | Now | Map | Filter | MapConcat | Merge | Changelog | Totals | Node


class Translation:
    """A term as actors: ⟦term, out⟧ creates them from the output back to the inputs."""

    def __init__(self, system: System, term: Term, out: Address) -> None:
        self._act = system.outside
        self._readers: dict[int, list[Address]] = {}
        self._translate(term, out)
        self.receptionists = {n: self._act.create(telling(*readers)) for n, readers in self._readers.items()}

    def _translate(self, term: Term, out: Address) -> None:
        create = self._act.create
        match term:
            case Never():
                self._act.skip()
            case Now():
                self._act.send(out, term.value)
            case Map():
                self._translate(term.xs, create(mapping(term.f, out)))
            case Filter():
                self._translate(term.xs, create(filtering(term.p, out)))
            case MapConcat():
                self._translate(term.xs, create(concatenating(term.f, out)))
            case Merge():
                merge = create(telling(out))
                self._translate(term.xs, merge)
                self._translate(term.ys, merge)
            case Changelog():
                self._settled(term.of, out)
            case Totals():
                self._settled(term.of, create(reducing(term.group, out, GROUPS[term.group].empty)))
            case Source():
                self._readers.setdefault(term.number, []).append(out)
            case _:
                self._translate_operator(term, create(settling(out)))

    def _settled(self, node: Node, out: Address) -> None:
        """As a changelog: of an external table, too, it has real changes alone."""
        self._translate(node, self._act.create(settling(out)) if isinstance(node, Source) else out)

    def _translate_operator(self, node: Node, out: Address) -> None:
        create = self._act.create
        match node:
            case Mapped():
                self._translate(node.of, create(mapping(_on_values(map_function(node)), out)))
            case Filtered():
                self._translate(node.of, create(filtering_rows(predicate(node), out)))
            case Reduced():
                self._translate(node.of, create(reducing_groups(node.group, group_key(node), out)))
            case Folded():
                self._translate(node.of, create(folding(*FOLDING[node.kind], out)))
            case Relogged():
                self._translate(node.of, out)
            case Merged():
                merge = create(telling(out))
                self._settled(node.left, merge)
                self._settled(node.right, merge)
            case Joined():
                self._translate_join(node, create(joining(node.how, out)))
            case Foreign():
                self._translate_join(node, create(foreign_joining(foreign_key(node), node.how, out)))
            case _:
                raise AssertionError(node)

    def _translate_join(self, node: Joined | Foreign, join: Address) -> None:
        self._translate(node.left, self._act.create(tagging("left", join)))
        self._translate(node.right, self._act.create(tagging("right", join)))


def _on_values(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda change: Update(change.key, f(change.value)) if isinstance(change, Update) else change


class Running:
    """A term at work: its actors, and what its output has received."""

    def __init__(self, term: Term, random: Random) -> None:
        self._system = System()
        self._random = random
        out, self.received = self._system.external()
        self._receptionists = Translation(self._system, term, out).receptionists

    def send(self, source: int, message: Any) -> None:
        """Put a message of an input under way."""
        self._system.outside.send(self._receptionists[source], message)

    def deliver(self) -> list[Any]:
        """Deliver all that is under way; return all that was received."""
        self._system.run(self._random)
        return self.received


# --------------------------------------------------------------------------------------- what the order cannot change


def is_sequential(node: Node) -> bool:
    """Whether each push takes one way, so that its changes come in an order that delivery cannot alter.

    A row that moves between groups makes two changes; what reduces these again sees a state between them.
    """
    n_reduced = 0
    while not isinstance(node, Source):
        if isinstance(node, Joined | Foreign | Merged):
            return False
        n_reduced += isinstance(node, Reduced)
        node = node.of
    return n_reduced <= 1


def is_confluent(nodes: Iterable[Node]) -> bool:
    """Whether a program of these nodes ends in one table under every order: what keeps a history must see one."""
    return all(not isinstance(node, Merged) and (not isinstance(node, Folded) or is_sequential(node)) for node in nodes)
