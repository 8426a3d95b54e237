"""The faster tiers read nodes: a node that says something else than its clauses is found by comparing the tiers.

A mutated plan is planted. The reference tier runs the clauses, and gives what it gave; a push in place, or a batch of
columns, runs the node, and must differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import pytest

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from cartesius.errors import CartesiusError
from cartesius.plan import Newest, Oldest
from restrictions import aligning, at_most, earliest, momentarily, most_recently, only, tumbling, within
from restrictions.gates.row_gates import updating, upserting
from restrictions.table_operators.aggregation import totalling_by
from restrictions.tables import aggregate, combine_updates, count, reduce, sum_, to_table
from restrictions.time.duration import apart, lasting

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Restriction
    from cartesius.plan import Node

    Case = tuple[Callable[[], Reactive], type[Restriction], Callable[[Any], Node]]

LEFT, RIGHT = INPUTS = Reactive("left"), Reactive("right")
PUSHES = [
    (LEFT, {"k": 1, "n": 1}, 0),
    (LEFT, {"k": 1, "n": 2}, 1),
    (RIGHT, {"k": 1, "n": 3}, 2),
    (RIGHT, {"k": 2, "n": 4}, 3),
    (LEFT, {"k": 2, "n": 5}, 4),
    (LEFT, {"k": 2, "n": 6}, 5),
    (RIGHT, {"k": 2, "n": 7}, 8),
    (RIGHT, {"k": 1, "n": 8}, 11),
    (LEFT, {"k": 1, "n": 9}, 12),
    (RIGHT, {"k": 1, "n": 10}, 14),
]


def pairs(restrict: Any) -> Reactive:
    """Pairs of the numbers of both inputs."""
    return correlate(x=LEFT, y=RIGHT, yields=lambda x, y: (x.n, y.n), restrict=restrict)


def odd(value: Any) -> Any:
    return value.n % 2 == 1


def even(value: Any) -> Any:
    return value.n % 2 == 0


def more(field: str) -> Callable[[Any], Node]:
    """Return what adds one to a field of a node."""
    return lambda node: attrs.evolve(node, **{field: getattr(node, field) + 1})


def with_(**fields: Any) -> Callable[[Any], Node]:
    """Return what changes fields of a node."""
    return lambda node: attrs.evolve(node, **fields)


def newest(node: Any) -> Node:
    return Newest(node.slots, 1)


CASES: dict[str, Case] = {
    "one more of the newest": (lambda: pairs(most_recently("x", "y")), most_recently, more("n")),
    "the oldest": (lambda: pairs(most_recently("x", "y")), most_recently, lambda node: Oldest(node.slots, 1)),
    "the newest": (lambda: pairs(earliest("x", "y")), earliest, newest),
    "one more use": (lambda: pairs(at_most(1, "x", "y")), at_most, more("n")),
    "uses are a memory": (lambda: pairs(at_most(1, "x", "y")), at_most, newest),
    "what leaves stays": (lambda: pairs(most_recently("x") | momentarily("y")), momentarily, newest),
    "another filter": (lambda: pairs(most_recently("x", "y") | only("x", odd)), only, with_(predicate=even)),
    "a longer band": (lambda: pairs(within(3, "x", "y")), within, more("duration")),
    "a longer while": (lambda: pairs(lasting("x", 3)), lasting, more("duration")),
    "further apart": (lambda: pairs(apart("x", "y", lower=-1, upper=2)), apart, more("upper")),
    "lock-step is a memory": (lambda: pairs(most_recently("x", "y") | aligning("x", "y")), aligning, newest),
    "rows by another key": (lambda: to_table(LEFT, key="k"), upserting, with_(key="n")),
    "another fold": (
        lambda: combine_updates(to_table(LEFT, key="k"), 0, lambda total, row: total + row.n),
        updating,
        with_(combine=lambda total, row: total - row.n),
    ),
    "another total": (
        lambda: reduce(to_table(LEFT, key="n"), sum_.of("n"), by="k"),
        totalling_by,
        with_(group=count),
    ),
    "longer windows": (
        lambda: aggregate(LEFT, sum_.of("n"), restrict=tumbling(5)),
        tumbling,
        lambda node: attrs.evolve(node, size=6, period=6),
    ),
}


def pushed(make: Callable[[], Reactive], tier: Any = None) -> list[Any]:
    """What pushes give, one after another."""
    engine = Engine(make(), lateness=0, tier=tier)
    known = [push for push in PUSHES if push[0].name in engine.inputs]
    return [*(event for source, value, at in known for event in engine.push(source, value, at=at)), *engine.close()]


def batched(make: Callable[[], Reactive]) -> list[Any]:
    """What one batch of columns gives."""
    engine = Engine(make(), lateness=0)
    columns: dict[Any, dict[str, list[Any]]] = {
        one: {"k": [], "n": [], "at": [], "order": []} for one in engine.inputs.values()
    }
    for order, (source, value, at) in enumerate(PUSHES):
        if source in columns:
            for name, one in {**value, "at": at, "order": order}.items():
                columns[source][name].append(one)
    return [*events_of(engine.push_many(columns)), *engine.close()]


def plain(events: list[Any]) -> list[Any]:
    return [(event.value, event.start, event.end, event.weight) for event in events]


def differs(run: Callable[..., list[Any]], make: Callable[[], Reactive], truth: list[Any]) -> bool:
    """Whether other results come, or none: what clauses and nodes say may also be more than one engine can do."""
    try:
        return plain(run(make)) != truth
    except (AssertionError, CartesiusError):
        return True


@pytest.mark.parametrize("name", CASES)
def test_a_mutated_node_is_found(name, monkeypatch):
    make, kind, mutated = CASES[name]
    truth = plain(pushed(make, "reference"))
    assert truth == plain(pushed(make)) == plain(batched(make))
    assert truth
    plan: Any = kind.plan
    monkeypatch.setattr(kind, "plan", lambda self: tuple(map(mutated, plan(self))))
    assert plain(pushed(make, "reference")) == truth, "the reference tier runs the clauses"
    found = [tier for tier, run in (("push", pushed), ("push_many", batched)) if differs(run, make, truth)]
    print(f"{name}: found by {' and '.join(found)}")
    assert found
