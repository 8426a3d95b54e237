"""What `aligning` lets go in one step follows each other by slot, in whatever order it names them (SEMANTICS 3.11)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import aligning, as_table, in_sequence, key_by, most_recently, retracting

INPUTS = {"a": Reactive("in_a"), "b": Reactive("in_b"), "c": Reactive("in_c")}
ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1)), max_size=20)
STACKS: dict[str, Any] = {
    "alone": lambda gate: gate,
    "the latest": lambda gate: most_recently("a", "b", "c") | gate,
    "by key": lambda gate: key_by(a="k", b="k", c="k") | most_recently("a", "b", "c") | gate,
    "a table": lambda gate: as_table(lambda row: row[0] % 3) | retracting() | most_recently("a", "b", "c") | gate,
    "a sequence": lambda gate: in_sequence("a", "b", "c") | gate,
}


@pytest.mark.parametrize("stack", STACKS)
@given(rows=ROWS)
def test_the_order_in_which_slots_are_named_does_not_matter(stack, rows):
    found = []
    tier: Any
    for names, tier in itertools.product(
        (("a", "b", "c"), ("c", "a", "b"), ("b", "a", "c")), ("reference", None, "many")
    ):
        program = correlate(
            slots=INPUTS, yields=lambda a, b, c: (a.n, b.n, c.n), restrict=STACKS[stack](aligning(*names))
        )
        engine = Engine(program, tier=None if tier == "many" else tier)
        if tier == "many":
            events = events_of(engine.push_many(batch(rows))) if rows else []
        else:
            events = [
                event for n, (name, k) in enumerate(rows) for event in engine.push(INPUTS[name], {"n": n, "k": k}, at=7)
            ]
        found.append(([(event.value, event.start, event.end) for event in events], engine.stats))
    assert all(one == found[0] for one in found), found
    if stack == "a sequence" and all(any(name == one for name, _ in rows) for one in "abc"):
        assert found[0][0], "of one time, let go in one step: they follow each other by slot"


def batch(rows: list[tuple[str, int]]) -> dict[Any, dict[str, list[int]]]:
    """Rows of one time as columns."""
    columns: dict[Any, dict[str, list[int]]] = {}
    for order, (name, k) in enumerate(rows):
        for column, value in {"n": order, "k": k, "at": 7, "order": order}.items():
            columns.setdefault(INPUTS[name], {}).setdefault(column, []).append(value)
    return columns
