"""A failure puts the rows of a table back, whatever their keys are: keys need no order."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.data.entries import GONE, Entry
from cartesius.data.journals import Journal
from cartesius.storage.row_memories import RowMemory
from restrictions import as_table, retracting
from restrictions.tables import map_table

TABLE = Reactive("table", table=True)


def picky(t):
    if t == "bad":
        raise ValueError(t)
    return t


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
def test_rows_with_keys_that_have_no_order_are_put_back(tier):
    rows = correlate(t=TABLE, yields=lambda t: t, restrict=retracting() | as_table("t"))
    seen = map_table(rows, picky)  # it fails when the memory of the first has let the old row go already
    engine = Engine(rows, seen, tier=tier)
    before = {("a", 1): 1, "k": 2, 3: 3, None: 4}
    for key, value in before.items():
        engine.push(TABLE, Update(key, value))
    for key in before:
        with pytest.raises(ValueError, match="bad"):
            engine.push(TABLE, Update(key, "bad"))
        assert engine.query(rows) == before
    assert [event.value for event in engine.push(TABLE, Delete("k"))] == [Delete("k"), Delete("k")]
    engine._check_invariants()


CHANGES = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["update", "delete", "read"])), max_size=6)


@given(pushes=st.lists(st.tuples(CHANGES, st.sampled_from(["early", "late", ""])), max_size=6))
def test_rows_are_in_the_order_of_their_arrival_however_many_pushes_fail(pushes):
    journal = Journal()
    memory, number, expected = RowMemory(journal), 0, []
    for changes, fails in [([(key, "update") for key in range(3)], ""), *pushes]:
        gone, rows = [], list(expected)
        for key, change in changes:
            before = memory.row(key)
            if change == "read":
                numbers = [entry.number for entry in memory.all()]
                assert numbers == sorted(numbers)
                continue
            if before is not None:
                gone.append(before)  # it is gone at once, and leaves at the end of its batch
                journal.change(partial(setattr, before, "state", GONE), partial(setattr, before, "state", before.state))
                rows = [row for row in rows if row is not before]
            if change == "update":
                number += 1
                fresh = Entry(number, 0, 0, "table")
                fresh.row_key, fresh.number = key, number
                memory.store(fresh)
                rows.append(fresh)
            elif before is not None:
                memory.remove(gone.pop())
        if fails != "early":
            for entry in gone:  # what has a successor goes at the end of its batch
                memory.remove(entry)
        if fails:
            journal.roll_back()
            memory.restore_order()
        else:
            journal.clear()
            memory.settle(rows)
            expected = rows
        assert list(memory.all()) == expected
        memory.check_invariants()
