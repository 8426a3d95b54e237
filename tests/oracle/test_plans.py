"""Clauses and nodes say the same: the reference tier runs the clauses, `plan_oracle` reads the nodes of the same stack.

Stacks of one to four restrictions over two or three slots, self-joins among them, with ties of time and intervals.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import settings

from cartesius import Engine, Reactive, correlate
from cartesius.data.records import Record
from cartesius.errors import CartesiusError
from cartesius.language.restriction_base import Composition
from cartesius.plan import (
    Apart,
    Choose,
    InSequence,
    KeyBy,
    Lasting,
    Let,
    Lockstep,
    Newest,
    Node,
    Now,
    Oldest,
    TakeBack,
    Transduce,
    Uses,
    Visit,
    Within,
)
from restrictions import (
    aligning,
    at_most,
    by_arrival,
    earliest,
    fifo,
    first_match,
    in_sequence,
    key_by,
    lifo,
    momentarily,
    most_recently,
    only,
    retracting,
    within,
)
from restrictions.gates.folding import accumulating, distinctly, skipping
from restrictions.time.duration import apart, lasting
from tests.oracle.plan_oracle import Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Restriction

NAMES = ("x", "y", "z")
INPUTS = [Reactive(name) for name in ("a", "b", "c")]
ENOUGH = 8
"""In how many stacks that gave results each kind of node has to be."""


def odd(value: Any) -> bool:
    """Whether the number is odd, of an event or of a plain row."""
    return bool((value["n"] if isinstance(value, dict) else value.n) % 2)


def sixth(value: Any) -> int:
    """Which part of the trace an event is of."""
    return int(value["n"] // 6)


def added(total: Any, value: Any) -> Record:
    """The sum of the numbers so far, as a row."""
    return Record({"n": total["n"] + value["n"], "k": value["k"]})


@dataclass(frozen=True)
class Program:
    """A stack over slots, with or without a condition, and a trace."""

    slots: dict[str, Reactive]
    stack: tuple[Restriction, ...]
    is_joined: bool
    trace: list[tuple[Reactive, dict[str, int], tuple[int, int]]]

    @property
    def nodes(self) -> list[Node]:
        """All nodes, outermost first."""
        return [node for one in self.stack for node in one.nodes]

    def output(self) -> Reactive:
        """The correlation."""
        first, *rest = self.slots
        where = f"lambda {', '.join(self.slots)}: " + " & ".join(f"({first}.k == {one}.k)" for one in rest)
        yields = f"lambda {', '.join(self.slots)}: ({', '.join(f'{slot}.n' for slot in self.slots)},)"
        return correlate(
            slots=self.slots,
            where=eval(where) if self.is_joined else None,
            yields=eval(yields),
            restrict=Composition(self.stack),
        )

    def by_clauses(self) -> list[Counter[Any] | list[Any]]:
        """What each push gives in the reference tier."""
        engine = Engine(self.output(), tier="reference")
        found = [engine.push(source, row, at=at) for source, row, at in self.trace]
        return [self._compared([(one.value, one.start, one.end, one.weight) for one in out]) for out in found]

    def by_nodes(self, nodes: list[Node]) -> list[Counter[Any] | list[Any]]:
        """What each push gives by the nodes."""
        sources = {slot: source.name for slot, source in self.slots.items()}

        def where(rows: dict[str, dict[str, int]]) -> bool:
            return not self.is_joined or len({row["k"] for row in rows.values()}) == 1

        states = {name: value for one in self.stack for name, value in one._states.items()}
        reading = Reading(sources, nodes, where, states)
        pushes = [(source.name, row, *at, number) for number, (source, row, at) in enumerate(self.trace)]
        return [self._compared(reading.push(*push)) for push in pushes]

    def _compared(self, results: list[Any]) -> Counter[Any] | list[Any]:
        """In their order; as a set where some are taken back, which the nodes give no order of."""
        return Counter(results) if any(isinstance(node, TakeBack) for node in self.nodes) else results


def drawn(seed: str) -> Program:
    """A program; the library may refuse it."""
    draw = random.Random(seed)
    count = draw.choice([2, 2, 3])
    sources = [draw.choice(INPUTS[:count]) if draw.random() < 0.3 else INPUTS[place] for place in range(count)]
    slots = dict(zip(NAMES, sources, strict=False))
    some = lambda: draw.sample([*slots], draw.randint(1, count))  # noqa: E731 - each draws anew
    kinds: list[Callable[[], Restriction]] = [
        lambda: most_recently(*some(), n=draw.randint(1, 2)),
        lambda: most_recently(*slots),
        lambda: earliest(*some(), n=draw.randint(1, 2)),
        lambda: at_most(draw.randint(1, 2), *some()),
        lambda: momentarily(draw.choice([*slots])),
        lambda: key_by(**dict.fromkeys(some(), "k")),
        lambda: only(draw.choice([*slots]), odd),
        lambda: within(draw.randint(0, 6), *slots),
        lambda: lasting(draw.choice([*slots]), draw.randint(0, 4)),
        lambda: apart(*draw.sample([*slots], 2), lower=draw.randint(-3, 0), upper=draw.randint(0, 3)),
        lambda: aligning(*draw.sample([*slots], 2)),
        lambda: in_sequence(*slots, contiguity="any"),
        draw.choice([fifo, lifo]),
        retracting,
        lambda: by_arrival(draw.choice([*slots])),
        first_match,
        lambda: accumulating(draw.choice([*slots]), added),
        lambda: distinctly(draw.choice([*slots]), key=sixth),
        lambda: skipping(draw.choice([*slots]), lambda value: not sixth(value)),
    ]
    stack = tuple(kind() for kind in draw.sample(kinds, draw.randint(1, 4)))
    trace = []
    for number in range(draw.randint(6, 14)):
        start = draw.randint(0, 6)
        trace.append(
            (draw.choice(sources), {"n": number, "k": draw.randint(0, 1)}, (start, start + draw.choice([0, 0, 2])))
        )
    return Program(slots, stack, draw.random() < 0.3, trace)


def is_read(program: Program) -> bool:
    """Whether nodes say all: of what is released in one step, they do not say what came first."""
    kinds = {type(node) for node in program.nodes}
    return not {InSequence, Lockstep} <= kinds


def accepted(seed: str) -> tuple[Program, list[Any]] | None:
    """A program that the library accepts, and what its clauses give."""
    program = drawn(seed)
    if not is_read(program):
        return None
    try:
        return program, program.by_clauses()
    except CartesiusError:
        return None


def test_clauses_and_nodes_say_the_same(pytestconfig):
    start = pytestconfig.getoption("--hypothesis-seed") or 0
    kinds: Counter[str] = Counter()
    programs = 0
    for number in range(12 * settings().max_examples):
        found = accepted(f"{start}/{number}")
        if found is None:
            continue
        program, results = found
        assert program.by_nodes(program.nodes) == results, (start, number, program)
        programs += 1
        if any(results):
            kinds.update({type(node).__name__ for node in program.nodes})
    print(f"{programs} programs; with results, by kind: {dict(sorted(kinds.items()))}")
    wanted: tuple[type[Node], ...]
    wanted = (Newest, Oldest, Uses, Now, KeyBy, Let, Within, Lasting, Apart, Lockstep, InSequence, Visit, TakeBack)
    wanted += (Choose, Transduce)
    assert {kind.__name__: kinds[kind.__name__] for kind in wanted if kinds[kind.__name__] < ENOUGH} == {}


def forgetful(step: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Let a transducer forget what has come."""
    return lambda before, value: (before, step(before, value)[1])


MUTATED: dict[str, tuple[type, Callable[[Any], list[Node]]]] = {
    "one more of the newest": (Newest, lambda node: [attrs.evolve(node, n=node.n + 1)]),
    "the oldest": (Newest, lambda node: [Oldest(node.slots, node.n)]),
    "the newest": (Oldest, lambda node: [Newest(node.slots, node.n)]),
    "of one slot fewer": (Newest, lambda node: [attrs.evolve(node, slots=node.slots[1:])]),
    "one more use": (Uses, lambda node: [attrs.evolve(node, n=node.n + 1)]),
    "what leaves stays": (Now, lambda node: []),
    "no key": (KeyBy, lambda node: []),
    "no filter": (Let, lambda node: []),
    "a longer band": (Within, lambda node: [attrs.evolve(node, duration=node.duration + 1)]),
    "a longer while": (Lasting, lambda node: [attrs.evolve(node, duration=node.duration + 1)]),
    "another side": (Apart, lambda node: [attrs.evolve(node, left=node.right, right=node.left)]),
    "no lock-step": (Lockstep, lambda node: []),
    "no sequence": (InSequence, lambda node: []),
    "the other way round": (InSequence, lambda node: [attrs.evolve(node, slots=node.slots[::-1])]),
    "another order": (Visit, lambda node: [Visit(oldest_first=not node.oldest_first)]),
    "nothing is taken back": (TakeBack, lambda node: []),
    "all matches": (Choose, lambda node: []),
    "no transducer": (Transduce, lambda node: []),
    "a state that stays": (Transduce, lambda node: [attrs.evolve(node, step=forgetful(node.step))]),
}


@pytest.mark.parametrize("name", MUTATED)
def test_a_mutated_node_is_found(name):
    kind, mutated = MUTATED[name]
    for number in range(2_000):
        program = drawn(f"mutated {number}")
        if not any(isinstance(node, kind) for node in program.nodes):
            continue
        found = accepted(f"mutated {number}")
        if found is None:
            continue
        program, results = found
        nodes = [other for node in program.nodes for other in (mutated(node) if isinstance(node, kind) else [node])]
        if program.by_nodes(nodes) != results:
            print(f"{name}: found by program {number}")
            return
    pytest.fail(f"{name}: not found")
