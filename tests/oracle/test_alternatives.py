"""`either` against a brute force: patterns tried in the order written over one pool of messages.

The reference knows nothing of engines: a message has a number and a key. A pattern has a list of messages for each of
its slots, each with the uses left to it there; a message that has no use left in some slot of a pattern is gone from
that slot, and from all slots of all *other* patterns. Patterns in lock-step keep a queue for each slot (and key).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate, storable
from restrictions import affinely, aligning, at_most, key_by, momentarily
from restrictions.streams import either

if TYPE_CHECKING:
    from collections.abc import Iterator

CHANNELS = ("a", "b", "c")
SLOTS = ("x", "y", "z")
UNLIMITED = 10**9
WHERE: dict[str, Any] = {
    "everything": None,
    "equal": lambda x, y: x.key == y.key,
    "ordered": lambda x, y: x.key <= y.key,
}


@storable
class Message(NamedTuple):
    number: int
    key: int


class Shape(NamedTuple):
    """What a pattern is: a channel and a limit of uses for each slot (0: none)."""

    channels: tuple[str, ...]
    limits: tuple[int, ...]
    where: str
    is_keyed: bool
    is_aligned: bool


@dataclass
class Pattern:
    """The state of one pattern of the reference."""

    shape: Shape
    memory: list[list[list[Any]]] = field(default_factory=list)  # of each slot: [message, uses left], oldest first
    queues: list[list[Message]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.memory = [[] for _ in self.shape.channels]
        self.queues = [[] for _ in self.shape.channels]

    def receive(self, channel: str, message: Message) -> list[list[list[Any]]]:
        """Take a message in; return what is new in memory, by slot, in one batch."""
        new: list[list[list[Any]]] = [[] for _ in self.memory]
        indexes = [index for index, name in enumerate(self.shape.channels) if name == channel]
        for index in indexes:
            if not self.shape.is_aligned:
                new[index].append([message, self.shape.limits[index] or UNLIMITED])
                continue
            self.queues[index].append(message)
            heads = [self._head(queue, message) for queue in self.queues]
            if None in heads:
                continue
            for other, head in enumerate(heads):
                self.queues[other].remove(head)  # type: ignore[arg-type]  # none of them is None
                new[other].append([head, self.shape.limits[other] or UNLIMITED])
        for index, entries in enumerate(new):
            self.memory[index] += entries
        return new

    def _head(self, queue: list[Message], message: Message) -> Message | None:
        return next((m for m in queue if not self.shape.is_keyed or m.key == message.key), None)

    def fire(self, new: list[list[list[Any]]]) -> Iterator[tuple[Message, ...]]:
        """Yield the results of a batch, spending as it goes."""
        for row in product(*(reversed(entries) for entries in self.memory)):
            is_new = any(entry is other for entry, entries in zip(row, new, strict=True) for other in entries)
            messages = tuple(entry[0] for entry in row)
            if not is_new or any(entry[1] <= 0 for entry in row) or not self.admits(messages):
                continue
            for entry in row:
                entry[1] -= 1
            yield messages

    def admits(self, messages: tuple[Message, ...]) -> bool:
        where = WHERE[self.shape.where]
        are_alike = not self.shape.is_keyed or len({message.key for message in messages}) == 1
        return are_alike and (where is None or bool(where(*messages[:2])))

    def drop_spent(self) -> set[int]:
        """Drop, in each slot, what has no use left, and in lock-step everything; return the numbers of the former."""
        spent = {message.number for entries in self.memory for message, uses in entries if uses <= 0}
        self.memory = [
            [] if self.shape.is_aligned else [entry for entry in entries if entry[1] > 0] for entries in self.memory
        ]
        return spent

    def lose(self, gone: set[int]) -> None:
        self.memory = [[entry for entry in entries if entry[0].number not in gone] for entries in self.memory]
        self.queues = [[message for message in queue if message.number not in gone] for queue in self.queues]


def reference(shapes: list[Shape], trace: list[tuple[str, int]]) -> list[list[Any]]:
    """Return what each message causes."""
    patterns = [Pattern(shape) for shape in shapes]
    out = []
    for number, (channel, key) in enumerate(trace):
        message, emitted, gone = Message(number, key), [], set[int]()
        for pattern in patterns:
            if number in gone:
                break
            new = pattern.receive(channel, message)
            emitted += list(pattern.fire(new))
            spent = pattern.drop_spent()
            gone |= spent
            for other in patterns:
                if other is not pattern:
                    other.lose(spent)
        out.append(emitted)
    return out


def pattern_of(shape: Shape, inputs: dict[str, Reactive]) -> Reactive:
    slots = dict(zip(SLOTS, shape.channels, strict=False))
    restrict: Any = momentarily(*slots) | aligning(*slots) if shape.is_aligned else unrestricted(slots)
    for slot, limit in zip(slots, shape.limits, strict=True):
        if limit:
            restrict = (affinely(slot) if limit == 1 else at_most(limit, slot)) | restrict
    if shape.is_keyed:
        restrict = key_by(**dict.fromkeys(slots, "key")) | restrict
    bound = {slot: inputs[channel] for slot, channel in slots.items()}
    yields: Any = (lambda x, y: (x, y)) if len(slots) == 2 else (lambda x, y, z: (x, y, z))
    return correlate(slots=bound, where=WHERE[shape.where], yields=yields, restrict=restrict)


def unrestricted(slots: dict[str, str]) -> Any:
    return at_most(UNLIMITED, *slots)  # restricts nothing


@st.composite
def shapes(draw: Any) -> Shape:
    size = draw(st.sampled_from([2, 2, 3]))
    is_aligned = draw(st.sampled_from([False, False, True]))
    return Shape(
        tuple(draw(st.sampled_from(CHANNELS)) for _ in range(size)),
        tuple(draw(st.sampled_from([1, 1, 2, 0])) for _ in range(size)),
        draw(st.sampled_from(sorted(WHERE))),
        draw(st.booleans()),
        is_aligned,
    )


PROGRAMS = st.lists(shapes(), min_size=1, max_size=3)
TRACES = st.lists(st.tuples(st.sampled_from(CHANNELS), st.integers(0, 2)), max_size=9)


@given(PROGRAMS, TRACES, st.integers(0, 9))
def test_alternatives_share_one_pool_of_messages(program, trace, restored_at):
    inputs = {channel: Reactive(channel) for channel in CHANNELS}
    output = either(*(pattern_of(shape, inputs) for shape in program))
    engine = Engine(output, durable=True)
    emitted: list[Any] = []
    for number, (channel, key) in enumerate(trace):
        if number == restored_at:
            engine = Engine.restore(engine.snapshot(), output, durable=True)
        known = inputs[channel] in engine.inputs.values()
        events = engine.push(inputs[channel], Message(number, key)) if known else []
        emitted.append([event.value for event in events])
        engine._check_invariants()
    assert emitted == reference(program, trace)
