"""Joins of three tables and more in place against the reference tier: the same changes, the same state, failures alike.

The traces are those of `test_in_place_tables`: rows that come, change, name another partner and go; keys that are equal
without being the same, or equal nothing; rows that no body can make anything of.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from restrictions import as_table, optionally, retracting
from tests.oracle.test_in_place import Both
from tests.oracle.test_in_place_tables import KEYS, a_change, a_time

NAMES = ("x", "y", "z", "w")
LINKS = ["{a}.k == key_{b}", "{a}.j == key_{b}", "{a}.k == {b}.n", "key_{a} == key_{b}", "{b}.k == key_{a}"]
TABLES = [Reactive(name, table=True) for name in "tuvs"]


def shown(*parts: Any) -> Any:
    """A body that nobody can see through, and that fails now and then."""
    if parts[0].n % 11 == 10:
        return parts[0].missing
    return [None if part is None else part.j if part.n % 3 else part for part in parts]


def joined(links: list[tuple[int, int, str]], missing: set[int], *, is_traced: bool = False) -> Reactive:
    """A join of as many tables as there are links, and one: each link is of a slot and one before it."""
    names = NAMES[: len(links) + 1]
    parameters = ", ".join([*names, *[f"key_{name}" for name in names]])
    conditions = " & ".join(f"({link.format(a=NAMES[a], b=NAMES[b])})" for a, b, link in links)
    restrict: Any = retracting() | as_table("x")
    if missing:
        restrict = optionally(*[NAMES[slot] for slot in sorted(missing)]) | restrict
    body = f"lambda {', '.join(names)}: ({', '.join(names)})"
    return correlate(
        slots=dict(zip(names, TABLES, strict=False)),
        where=eval(f"lambda {parameters}: {conditions}"),
        yields=eval(body if is_traced else body.replace(": (", ": shown("), {"shown": shown}),
        restrict=restrict,
        name="out",
    )


TREES: dict[str, Reactive] = {
    "a star": joined([(0, 1, LINKS[0]), (0, 2, LINKS[1])], {1, 2}),
    "a star, of which one must be": joined([(0, 1, LINKS[0]), (0, 2, LINKS[1])], {2}, is_traced=True),
    "a star, of which all must be": joined([(0, 1, LINKS[0]), (0, 2, LINKS[1])], set()),
    "four": joined([(0, 1, LINKS[0]), (0, 2, LINKS[0]), (0, 3, LINKS[1])], {1, 2, 3}, is_traced=True),
    "a chain": joined([(0, 1, LINKS[0]), (1, 2, LINKS[0])], {1, 2}),
    "a chain, whose middle may not be alone": joined([(0, 1, LINKS[0]), (1, 2, LINKS[0])], {1}),
    "as a pack": joined([(0, 1, LINKS[0]), (1, 2, LINKS[0]), (0, 3, LINKS[1])], {1, 2, 3}),
    "three in a row": joined([(0, 1, LINKS[0]), (1, 2, LINKS[1]), (2, 3, LINKS[0])], {1, 2, 3}),
    "by values": joined([(0, 1, LINKS[2]), (1, 2, LINKS[2])], {1, 2}),
    "by keys": joined([(0, 1, LINKS[3]), (0, 2, LINKS[3]), (2, 3, LINKS[0])], {1, 2, 3}),
    "by what names the root": joined([(0, 1, LINKS[4]), (0, 2, LINKS[0])], {1, 2}),
}


def compare(both: Both, draw: random.Random, length: int) -> None:
    inputs = list(both.engines[0].inputs.values())
    for place in range(length):
        table = draw.choice(inputs)
        call = draw.choice(["push"] * 24 + ["swap", "advance"])
        if call == "swap":
            both.swap()
        elif call == "advance":
            both.call(call, place // 3)
        else:
            both.call("push", table, a_change(draw, table), a_time(draw, place))
    both.check()
    found = [repr(engine.query(both.outputs[0])) for engine in both.engines]
    assert found[0] == found[1]


@pytest.mark.parametrize("lateness", [None, 4])
@pytest.mark.parametrize("name", TREES)
def test_joins_of_several_tables_agree(name: str, lateness: int | None) -> None:
    both = Both(TREES[name], lateness=lateness)
    compare(both, random.Random(f"{name} {lateness}"), 60)
    assert "in place: a push is one function of its own" in both.engines[1].explain()


@example(3, 61)  # a row in the middle that finds nothing yet
@given(st.integers(2, 3), st.integers(0, 2**32))
def test_trees_drawn_at_random_agree(count: int, seed: int) -> None:
    draw = random.Random(seed)
    links = [(draw.randrange(slot), slot, draw.choice(LINKS)) for slot in range(1, count + 1)]
    missing = set(draw.sample(range(1, count + 1), draw.randint(0, count)))
    compare(Both(joined(links, missing), lateness=draw.choice([None, 2])), draw, 20)


@pytest.mark.parametrize("name", sorted(TREES.keys() - {"by what names the root", "by values"}))
def test_a_push_is_one_function(name: str) -> None:
    """What a trace without null keys and errors asks of an engine is done by the functions alone."""
    draw, engine = random.Random(name), Engine(TREES[name])
    for table in engine.inputs.values():
        engine.push(table, Update(1, {"n": 1, "k": 2, "j": 0}))
    for _ in range(40):
        table, row = draw.choice(list(engine.inputs.values())), {"n": draw.randrange(9), "k": draw.choice(KEYS[:4])}
        change = Delete(row["n"]) if draw.random() < 0.2 else Update(row["n"], row | {"j": draw.randrange(4)})
        assert engine._direct[table](change, None) is not None
        engine._journal.is_open = False  # as Engine.push does
    assert "in place: a push is one function of its own" in engine.explain()
