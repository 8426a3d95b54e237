"""What becomes of each delivery: one small program for every fate, in the tiers that push one by one and in columns."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from cartesius import Delete, Engine, Reactive, Restriction, Slot, Update, arrive, correlate, forward, handles, pause
from cartesius.plan import Node, Opaque
from cartesius.programs.measures import unaccounted
from restrictions import (
    affinely,
    aligning,
    as_table,
    at_most,
    cartesian,
    combine_latest,
    key_by,
    momentarily,
    most_recently,
    retracting,
    take,
    tumbling,
    within,
    zip_,
)
from restrictions.basics.filters import only
from restrictions.stream_operators.competing import either
from restrictions.tables import changelog, combine_updates, count, filter_table, inner_join, map_table, min_, reduce
from tests.conservation import check

TIERS: Any = pytest.mark.parametrize("tier", ["reference", "in_place"])
a, b = Reactive("a"), Reactive("b")


def fates(engine: Engine, slot: str, of: str | None = None) -> dict[str, Any]:
    """What has become of what came to a slot, as far as it is not 0, once all is accounted for."""
    told = engine.stats.fates
    engine._check_invariants()
    (found,) = [one for (join, name), one in told.items() if name == slot and of in (None, join)]
    return {name: n for name, n in attrs.asdict(found).items() if n}


def run(engine: Engine, *pushes: tuple[Any, ...]) -> Engine:
    for reactive, value, *at in pushes:
        engine.push(reactive, value, *at)
    return engine


@TIERS
def test_what_the_next_one_replaces_is_displaced(tier):
    engine = run(Engine(combine_latest(a, b), tier=tier), (a, 1), (a, 2), (b, 3), (a, 4))
    assert fates(engine, "a") == {"delivered": 3, "retained": 1, "displaced": 2}
    assert fates(engine, "b") == {"delivered": 1, "retained": 1}


@TIERS
def test_what_has_no_use_left_is_used_up(tier):
    engine = run(Engine(cartesian(a, b, restrict=affinely("a")), tier=tier), (a, 1), (b, 2), (b, 3), (a, 4))
    assert fates(engine, "a") == {"delivered": 2, "used_up": 2}
    assert fates(engine, "b") == {"delivered": 2, "retained": 2}


@TIERS
def test_what_is_too_old_to_meet_anything_expires_and_what_comes_then_is_late(tier):
    engine = Engine(cartesian(a, b, restrict=within(5, "a", "b")), lateness=0, tier=tier)
    run(engine, (a, 1, 0), (a, 2, 3), (b, 3, 20), (a, 4, 4))
    assert fates(engine, "a") == {"delivered": 3, "expired": 2, "late": 1}


@TIERS
def test_what_a_gate_holds_waits(tier):
    engine = run(Engine(zip_(a, b), tier=tier), (a, 1), (a, 2), (a, 3), (b, 4), (b, 5))
    assert fates(engine, "a") == {"delivered": 3, "waiting": 1, "retained": 1, "displaced": 1}


@TIERS
def test_what_a_gate_does_not_let_through_is_dropped_by_its_name(tier):
    pairs = cartesian(a, b, restrict=take(2, "a") | only("a", lambda n: n % 2 == 0))
    engine = run(Engine(pairs, tier=tier), *[(a, n) for n in range(8)])
    found = fates(engine, "a")
    dropped = found.pop("dropped")
    assert found == {"delivered": 8, "retained": 2}
    assert [n for _, n in sorted(dropped.items(), key=lambda item: "take" in item[0])] == [4, 2]


class _closing(Restriction):
    """Let one through, and hold the others back at the door."""

    slot: Slot

    def plan(self) -> tuple[Node, ...]:
        return (Opaque(pauses=(self.slot,)),)

    @handles(arrive, "slot")
    def close_behind(self, slot, event):
        pause(slot)
        forward(slot, event)


@TIERS
def test_what_is_paused_waits(tier):
    engine = run(Engine(cartesian(a, restrict=_closing("a")), tier=tier), (a, 1), (a, 2), (a, 3))
    assert fates(engine, "a") == {"delivered": 3, "retained": 1, "waiting": 2}


@TIERS
def test_what_has_no_key_and_what_finds_a_full_queue_is_set_aside(tier):
    keyed = cartesian(a, b, restrict=most_recently("a", "b") | key_by(a="k", b="k"))
    engine = run(Engine(keyed, tier=tier), (a, {"k": 1}), (a, {"k": None}), (a, {"k": 1}))
    assert fates(engine, "a") == {"delivered": 3, "retained": 1, "displaced": 1, "set_aside": 1}
    bounded = cartesian(a, b, restrict=aligning("a", "b", limit=1, overflow="drop_oldest"))
    engine = run(Engine(bounded, tier=tier), (a, 1), (a, 2))
    assert fates(engine, "a") == {"delivered": 2, "waiting": 1, "set_aside": 1}


@TIERS
def test_a_row_is_displaced_by_its_change_and_a_deletion_expires_as_it_comes(tier):
    table = Reactive("t", table=True)
    rows = correlate(t=table, yields=lambda t: t, restrict=as_table("t"))
    engine = Engine(rows, tier=tier)
    run(engine, (table, Update(1, "x")), (table, Update(1, "y")), (table, Delete(1)), (table, Delete(2)))
    assert fates(engine, "t") == {"delivered": 4, "displaced": 2, "expired": 2}


@TIERS
@pytest.mark.parametrize("holds", [False, True])
def test_what_a_source_takes_back_is_withdrawn_from_memory_and_from_gates(tier, holds):
    latest = cartesian(a, b, restrict=most_recently("a", "b") | retracting())
    followed = zip_(latest, Reactive("c")) if holds else cartesian(latest)
    engine = run(Engine(followed, tier=tier), (a, 1), (b, 2), (a, 3))
    place = {"waiting": 1} if holds else {"retained": 1}
    slot = next(name for _, name in engine.stats.fates if name not in ("a", "b", "c"))
    assert fates(engine, slot) == {"delivered": 2, "withdrawn": 1} | place


@TIERS
def test_an_alternative_that_loses_an_event_counts_it_as_used_up(tier):
    first = correlate(a=a, yields=lambda a: a, restrict=affinely("a"), name="first")
    second = correlate(a=a, b=b, yields=lambda a, b: a, restrict=affinely("a"), name="second")
    engine = Engine(either(second, first), tier=tier)
    run(engine, (a, 1), (a, 2))
    assert not unaccounted(engine._program.joins)
    assert fates(engine, "a", "first") == {"delivered": 2, "used_up": 2}
    assert fates(engine, "a", "second") == {"delivered": 2, "used_up": 2}


@TIERS
def test_in_windows_an_event_is_one_delivery_a_window(tier):
    engine = Engine(cartesian(a, restrict=tumbling(10)), lateness=0, tier=tier)
    run(engine, (a, 1, 1), (a, 2, 2), (a, 3, 30), (a, 4, 5))
    assert fates(engine, "a") == {"delivered": 4, "retained": 1, "expired": 2, "set_aside": 1}


@TIERS
def test_what_stays_for_its_batch_alone_expires(tier):
    engine = run(Engine(cartesian(a, b, restrict=momentarily("a")), tier=tier), (a, 1), (a, 2))
    assert fates(engine, "a") == {"delivered": 2, "expired": 2}


@TIERS
def test_a_call_that_fails_has_counted_nothing_and_a_snapshot_goes_on_counting(tier):
    inverse = correlate(a=a, b=b, yields=lambda a, b: a / b, restrict=most_recently("a", "b"))
    engine = run(Engine(inverse, tier=tier), (a, 1), (a, 2), (b, 1))
    before = engine.stats.fates
    with pytest.raises(ZeroDivisionError):
        engine.push(b, 0)
    assert engine.stats.fates == before
    restored = Engine.restore(engine.snapshot(), inverse, tier=tier)
    assert restored.stats.fates == before
    assert fates(run(restored, (a, 5)), "a") == {"delivered": 3, "retained": 1, "displaced": 2}


def test_slots_that_share_a_memory_count_once_and_each_has_all():
    one = correlate(a=a, b=b, yields=lambda a, b: b, restrict=most_recently("a", "b"), name="one")
    two = correlate(a=a, b=b, yields=lambda a, b: a, restrict=most_recently("a", "b"), name="two")
    engine = run(Engine(one, two), (a, 1), (a, 2))
    for name in ("one", "two"):
        assert fates(engine, "a", name) == {"delivered": 2, "retained": 1, "displaced": 1}


@pytest.mark.parametrize(
    ("restrict", "options"),
    [
        (most_recently("a", "b"), {}),
        (affinely("a", "b"), {}),
        (most_recently("a") | affinely("a"), {}),
        (most_recently("a", n=2) | at_most(2, "a", "b"), {}),
        (momentarily("a") | affinely("a", "b"), {}),
        (affinely("a") | within(3, "a", "b"), {"lateness": 0}),
        (aligning("a", "b") | most_recently("a", "b"), {}),
        (within(3, "a", "b"), {"lateness": 0}),
        (tumbling(4), {"lateness": 0}),
    ],
    ids=repr,
)
def test_a_batch_of_columns_tells_what_pushes_tell(restrict, options):
    pairs = cartesian(a, b, restrict=restrict)
    compiled, pushed = Engine(pairs, **options), Engine(pairs, tier="reference", **options)
    for at in (0, 10, 12, 30):
        compiled.push_many({a: {"value": [1, 2], "at": [at, at + 1], "order": [0, 1]},
                            b: {"value": [3], "at": [at + 1], "order": [2]}})  # fmt: skip
        run(pushed, (a, 1, at), (a, 2, at + 1), (b, 3, at + 1))
    assert compiled._compiled is not None
    assert not compiled._compiled.reason
    assert not compiled._why_row_by_row
    assert compiled.stats.fates == pushed.stats.fates


def test_slots_of_one_correlation_that_share_a_memory_count_once_in_a_batch_too():
    engine = Engine(correlate(x=a, y=a, yields=lambda x, y: (x, y), restrict=most_recently("x", "y")))
    engine.push_many({a: {"value": [1, 2]}})
    run(engine, (a, 3))
    for name in ("x", "y"):
        assert fates(engine, name) == {"delivered": 3, "retained": 1, "displaced": 2}


def test_where_columns_do_not_tell_why_events_left_the_sum_is_right():
    pairs = cartesian(a, b, restrict=most_recently("a", n=2) | within(3, "a", "b"))
    compiled, pushed = Engine(pairs, lateness=0), Engine(pairs, lateness=0, tier="reference")
    compiled.push_many({a: {"value": [1, 2, 3, 4], "at": [0, 1, 1, 9]}})
    run(pushed, (a, 1, 0), (a, 2, 1), (a, 3, 1), (a, 4, 9))
    assert fates(pushed, "a") == {"delivered": 4, "retained": 1, "displaced": 1, "expired": 2}
    assert fates(compiled, "a") == {"delivered": 4, "retained": 1, "untold": 3}


def test_what_is_held_for_a_window_that_is_freed_has_not_expired():
    """Its gate has dropped it; columns do not tell that from what has left memory."""
    pairs = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=tumbling(5) | aligning("x", "y"))
    compiled, pushed = Engine(pairs, lateness=0), Engine(pairs, lateness=0, tier="reference")
    compiled.push_many({a: {"value": [1, 2], "at": [0, 9]}})
    run(pushed, (a, 1, 0), (a, 2, 9))
    assert compiled._why_row_by_row == ""
    (dropped,) = pushed.stats.fates[pairs.name, "x"].dropped.values()
    assert dropped == 1
    assert fates(compiled, "x") == {"delivered": 2, "waiting": 1, "untold": 1}


T, U = Reactive("t", table=True, key="id"), Reactive("u", table=True, key="id")


@pytest.mark.parametrize(
    "made",
    [
        filter_table(T, lambda row: row.n > 0),
        inner_join(filter_table(T, lambda row: row.n > 0), U),
        changelog(T),
        map_table(T, lambda row: row.n),
        reduce(T, count),
        combine_updates(T, 0, lambda total, row: total + row.n),
        correlate(x=T, yields=lambda x: x.n, restrict=retracting() | as_table("x") | only("x", lambda row: row.n > 0)),
        inner_join(T, U, restrict=only(T, lambda row: row.n > 0)),
    ],
    ids=["filter", "join of a filter", "changes", "map", "reduce", "fold", "filtered", "join of filtered rows"],
)  # fmt: skip
def test_columns_tell_what_has_become_of_the_changes_of_a_table(made):
    """Deletions of what is there and of what is not, rows that a filter stops, and updates that change nothing."""
    rows = [(1, 1, True), (2, 1, False), (2, 1, False), (2, 0, False), (3, 0, False), (3, 2, False), (3, 2, True)]
    for pulled in ((), (made,)) if made.table else ((),):
        outputs = () if pulled else (made,)
        compiled, pushed = Engine(*outputs, pulled=pulled), Engine(*outputs, pulled=pulled, tier="reference")
        for part in (rows, rows[::-1], rows):
            ids, values, gone = ([row[place] for row in part] for place in range(3))
            compiled.push_many({T: {"id": ids, "n": values, "deleted": gone}})
            run(
                pushed, *[(T, Delete(key) if is_gone else Update(key, {"id": key, "n": n})) for key, n, is_gone in part]
            )
        assert compiled._compiled is not None
        assert not compiled._compiled.reason
        assert compiled.stats.fates == pushed.stats.fates
        assert not any(one.untold for one in compiled.stats.fates.values())


def test_columns_tell_what_is_used_up_also_where_a_null_key_is_set_aside():
    keeping = most_recently("x", n=3) | key_by(x="j") | affinely("x")
    told = []
    for tier in "reference", None:
        engine = Engine(correlate(x=a, yields=lambda x: x.n, restrict=keeping), tier=tier)
        engine.push_many({a: {"n": [1, 2], "j": [None, 0], "at": [1, 2]}})
        told.append(fates(engine, "x"))
    assert told == [{"delivered": 2, "used_up": 1, "set_aside": 1}] * 2


@pytest.mark.parametrize("ks", [[None, None], [1, None], [None, 1]])
def test_columns_do_not_tell_that_a_deletion_was_in_vain_where_its_row_was_set_aside(ks):
    ships = Reactive("t", table=True, key="id", fields=("id", "n", "k"))
    batch = {ships: {"id": [0, 0, 0], "n": [1, 2, 3], "k": [*ks, None], "deleted": [False, False, True]}}
    told = []
    for tier in "reference", None:
        engine = Engine(reduce(ships, min_.of("n"), by="k"), tier=tier)
        engine.push_many(batch)
        told.append(fates(engine, "x"))
    by_push, by_columns = told
    aside = {name: by_push[name] for name in ("delivered", "set_aside")}
    assert by_columns == {**aside, "untold": aside["delivered"] - aside["set_aside"]}


def test_what_vanishes_and_what_is_in_two_places_is_noticed():
    engine = run(Engine(cartesian(a, b)), (a, 1), (a, 2), (b, 3))
    (join,) = engine._program.joins
    slot = join.slots[0]
    entry = next(iter(slot.memory))
    slot.memory.remove(entry)
    assert unaccounted([join]) == {("cartesian(a, b)", "a"): 1}
    with pytest.raises(AssertionError, match="nowhere, or in two places"):
        check(engine)
    slot.memory.put_back(entry)
    check(engine)
    slot.door.holds_back(entry)
    slot.door.pause((), ())
    slot.door.holds_back(entry)
    assert unaccounted([join]) == {("cartesian(a, b)", "a"): -1}
