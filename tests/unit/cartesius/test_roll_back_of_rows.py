"""A failure puts the rows of a table back, whatever their keys are: keys need no order."""

import pytest

from cartesius import Delete, Engine, Reactive, Update, correlate
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
