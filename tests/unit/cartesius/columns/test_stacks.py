"""What is used once, found without a loop, against a loop over stacks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive
from cartesius.columns.loops.stacking import used_once
from restrictions import affinely, cartesian

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=40)


@given(rows=ROWS, is_oldest_first=st.booleans())
def test_what_is_used_once_is_what_stacks_give(rows: list[tuple[int, int]], is_oldest_first: bool) -> None:
    rows.sort(key=lambda row: row[0])
    stacks: dict[int, list[list[int]]] = {}
    by, parts = [], []
    for number, (key, slot) in enumerate(rows):
        mine = stacks.setdefault(key, [[], [], []])
        mine[slot].append(number)
        if all(mine):
            by.append(number)
            parts.append([stack.pop(0 if is_oldest_first else -1) for stack in mine])
    keys, slots = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    found = used_once(slots, keys, 3, is_oldest_first=is_oldest_first)
    assert found.by.tolist() == by
    assert [list(row) for row in zip(*[one.tolist() for one in found.parts], strict=True)] == parts
    left = [sorted(row for one in stacks.values() for row in one[slot]) for slot in range(3)]
    assert [one.tolist() for one in found.left] == left


def test_the_source_names_what_finds_the_candidates() -> None:
    left, right = Reactive("left"), Reactive("right")
    engine = Engine(cartesian(left, right, restrict=affinely("left", "right")))
    engine.push_many({"left": {"value": [1]}})
    assert engine._compiled is not None
    assert "kernel stacks.used_once" in engine._compiled.source()
