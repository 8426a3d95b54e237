"""What has come since a mark: done again behind a snapshot it leads to the same state, and nothing else is accepted."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.data.codec import decode, encode
from cartesius.errors import EngineBroken, InvalidArgument, NotStorable, SnapshotMismatch, WrongThread
from restrictions import key_by, most_recently, within, zip_
from restrictions.tables import inner_join

A, B = Reactive("a"), Reactive("b")
SAME = key_by(x="k", y="k")
LATEST = correlate(x=A, y=B, yields=lambda x, y: (x.v, y.v), restrict=SAME | most_recently("x", "y"))
ROW = {"k": 1, "v": 2}


def restored(engine, blob, changes, **options):
    return Engine.restore(blob, *engine.outputs, changes=changes, **options)


def is_same(engine, other):
    return (other.snapshot(), other.stats, other.late) == (engine.snapshot(), engine.stats, engine.late)


def marked(*outputs, **options):
    engine = Engine(*outputs, **options)
    return engine, engine.snapshot(), engine.mark()


def test_all_kinds_of_calls_are_done_again():
    pairs = zip_(A, B)
    options = {"lateness": 2}
    engine, blob, mark = marked(LATEST, pairs, Reactive.of([1, 2, 3], name="c"), **options)
    engine.pull()
    engine.push(A, ROW, at=1)
    engine.push(B, ROW, at=(2, 7))
    engine.push_many({A: {"k": [1, 2], "v": [3, 4], "at": [8, 9], "order": [0, 2]}, B: {**ROW_OF_2, "order": [1]}})
    engine.push(A, ROW, at=0)  # too late
    assert engine.take_late()
    engine.push(A, ROW, at=1)  # likewise, and not taken
    engine.advance(20)
    engine.end(A)
    first = engine.changes_since(mark)
    assert is_same(engine, restored(engine, blob, [first], **options))
    mark = engine.mark()
    engine.push(B, ROW, at=21)
    engine.close()
    assert is_same(engine, restored(engine, blob, [first, engine.changes_since(mark)], **options))


ROW_OF_2 = {"k": [2], "v": [5], "at": [8]}


def test_what_was_undone_is_no_change_and_neither_is_what_changes_nothing():
    inverse = correlate(x=A, yields=lambda x: 1 / x, name="inverse")
    engine, blob, mark = marked(inverse)
    engine.push(A, 1, at=3)
    engine.advance(2)
    for _ in range(3):
        engine.advance(2)
        engine.take_late()
        with pytest.raises(ZeroDivisionError):
            engine.push(A, 0, at=4)
        with pytest.raises(InvalidArgument):
            engine.push(B, 0)
    engine.push(A, 2, at=4)
    calls = decode(engine.changes_since(mark))["calls"]
    assert [call for call, *_ in calls] == ["push", "advance", "push"]
    assert is_same(engine, restored(engine, blob, [engine.changes_since(mark)]))


def test_of_a_batch_that_fails_the_first_rows_are_done_again():
    engine, blob, mark = marked(correlate(x=A, yields=lambda x: 12 // x.v))
    with pytest.raises(ZeroDivisionError):
        engine.push_many({A: {"v": [1, 2, 0, 4]}})
    engine.push_many({A: {"v": [3, 6]}})
    assert engine.stats.events == 4
    assert is_same(engine, restored(engine, blob, [engine.changes_since(mark)]))


def test_a_push_by_who_hears_of_another_comes_after_it():
    engine, blob, mark = marked(correlate(x=A, yields=lambda x: x), zip_(A, B))
    engine.subscribe(engine.outputs[0], lambda events: engine.push(B, events[0].value, at=9))
    engine.push(A, 1, at=1)
    assert is_same(engine, restored(engine, blob, [engine.changes_since(mark)]))


def test_what_came_is_noted_as_it_was():
    engine, blob, mark = marked(LATEST)
    row, keys = dict(ROW), np.array([1, 2, 3])
    engine.push(A, row, at=1)
    engine.push_many({A: {"k": keys, "v": keys, "at": np.array([2, 3, 4])}})
    row["k"] = 7
    keys[:] = 7
    found = restored(engine, blob, [engine.changes_since(mark)])
    assert [found.push(B, {"k": k, "v": 0}, at=5)[0].value for k in (1, 2, 3)] == [(1, 0), (2, 0), (3, 0)]


def test_rows_of_tables_with_keys_of_all_kinds():
    given, declared = Reactive("g", table=True), Reactive("d", key="k", table=True)
    single = Reactive("s", key=None, table=True)
    both = inner_join(given, declared)
    engine, blob, mark = marked(both, pulled=[single])
    engine.push(given, Update(1, {"v": 5}), at=1)
    engine.push(declared, {"k": 1, "v": 7}, at=2)
    engine.push(single, {"v": 1}, at=3)
    engine.push_many(
        {
            given: {"key": [(1, "x"), 2], "value": [4, None], "deleted": [False, True], "order": [0, 4]},
            declared: {"k": [2, 3], "v": [1, 1], "order": [1, 3]},
            single: {"v": [2], "order": [2]},
        }
    )
    engine.push(given, Delete(1), at=9)
    assert is_same(engine, restored(engine, blob, [engine.changes_since(mark)], pulled=[single]))


def test_datetimes_are_noted_as_such():
    options = {"unit": timedelta(seconds=1), "lateness": timedelta(minutes=1)}
    within_minutes = correlate(
        x=A, y=B, yields=lambda x, y: (x.v, y.v), restrict=SAME | within(timedelta(minutes=5), "x", "y")
    )
    engine, blob, mark = marked(within_minutes, **options)
    begin = datetime(2026, 11, 28, tzinfo=UTC)
    engine.push(A, ROW, at=begin)
    engine.push_many({B: {"k": [3, 4], "v": [1, 2], "at": [begin + timedelta(minutes=n) for n in (1, 2)]}})
    engine.advance(begin + timedelta(minutes=3))
    again = restored(engine, blob, [engine.changes_since(mark)], **options)
    assert is_same(engine, again)
    assert again.clock == begin + timedelta(minutes=3)
    assert again.push(A, {"k": 4, "v": 9}, at=begin + timedelta(minutes=4))[0].end == begin + timedelta(minutes=4)


@pytest.mark.parametrize(
    "columns",
    [
        {"value": [1, "one", None, 2**70]},
        {"value": [{"at": 1}, {"order": 2}]},
        {"a": pa.array([1.5, None], pa.float32()), "b": pa.array([b"x", None])},
        {"a": [[1, 2], []], "b": [{"c": 1}, {"c": 2}]},
        {"value": pa.array([{"key": 1}, None])},
    ],
)
def test_columns_of_all_kinds_are_noted(columns):
    kept = correlate(x=A, y=B, yields=lambda x, y: (x, y), restrict=most_recently("x", "y"))
    engine, blob, mark = marked(kept)
    engine.push_many({A: columns})
    assert is_same(engine, restored(engine, blob, [engine.changes_since(mark)]))


def test_who_changes_outputs_takes_a_snapshot():
    pairs = zip_(A, B)
    engine, _, mark = marked(LATEST)
    engine.add(pairs)
    with pytest.raises(InvalidArgument, match=r"an output was added or removed: take a snapshot\(\) and a mark\(\)"):
        engine.changes_since(mark)
    mark = engine.mark()
    engine.remove(pairs)
    with pytest.raises(InvalidArgument, match="expected the last mark"):
        engine.changes_since(mark)


def test_an_addition_that_fails_keeps_the_mark():
    kept = correlate(x=A, restrict=most_recently("x"), yields=lambda x: x, name="kept")
    engine, blob, mark = marked(kept)
    engine.push(A, 1)
    with pytest.raises(InvalidArgument):
        engine.add(kept)
    assert is_same(engine, restored(engine, blob, [engine.changes_since(mark)]))


def test_only_the_last_mark_of_the_engine_itself_is_known():
    engine, _, mark = marked(LATEST)
    other = Engine(LATEST).mark()
    engine.push(A, ROW)
    assert repr(mark) == "<mark after event 0, 1 call since>"
    for wrong in (other, None, "mark"):
        with pytest.raises(InvalidArgument, match="expected the last mark of this engine but got"):
            engine.changes_since(wrong)
    engine.mark()
    with pytest.raises(InvalidArgument, match="expected the last mark of this engine but got <mark after event 0"):
        engine.changes_since(mark)


def test_changes_go_on_where_the_snapshot_ends():
    engine, blob, mark = marked(LATEST)
    engine.push(A, ROW, at=1)
    first, mark = engine.changes_since(mark), engine.mark()
    engine.push(A, ROW, at=2)
    second = engine.changes_since(mark)
    assert is_same(engine, restored(engine, blob, [first, second]))
    for wrong in ([second], [first, first], [second, first]):
        with pytest.raises(SnapshotMismatch, match="give all changes since the snapshot, in order"):
            restored(engine, blob, wrong)
    with pytest.raises(SnapshotMismatch, match=r"where the state is \(event 2, time 2, clock -inf\) but they begin"):
        restored(engine, engine.snapshot(), [second])


def test_changes_of_another_program_are_refused():
    engine, _, mark = marked(zip_(A, B))
    with pytest.raises(SnapshotMismatch, match="changes of this program but they belong to another one"):
        restored(Engine(LATEST), Engine(LATEST).snapshot(), [engine.changes_since(mark)])


FACTOR = 1


def test_a_function_that_gives_something_else_now_is_found_if_it_raises(monkeypatch):
    engine, blob, mark = marked(correlate(x=A, yields=lambda x: x // globals()["FACTOR"]))
    engine.push(A, 1)
    changes = engine.changes_since(mark)
    monkeypatch.setitem(globals(), "FACTOR", 0)
    with pytest.raises(SnapshotMismatch, match=r"expected calls that succeed, as they did before, but ZeroDivisionErr"):
        restored(engine, blob, [changes])


def test_an_input_that_has_more_by_now_is_found():
    items = [1, 2]
    source = Reactive.of(items, name="items")
    engine, blob, mark = marked(correlate(x=source, yields=lambda x: x))
    engine.pull()
    changes = engine.changes_since(mark)
    items.append(3)
    with pytest.raises(SnapshotMismatch, match=r"come to where the changes end \(event 2.*what an input has already"):
        restored(engine, blob, [changes])


def test_bytes_that_are_no_changes_are_refused():
    engine, blob, mark = marked(LATEST)
    engine.push(A, ROW, at=1)
    good = engine.changes_since(mark)
    with pytest.raises(SnapshotMismatch, match=r"what changes_since\(\) has returned in changes= but got a snapshot"):
        restored(engine, blob, [blob])
    with pytest.raises(SnapshotMismatch, match="expected a snapshot but got changes; give the snapshot before them"):
        restored(engine, good, [])
    with pytest.raises(SnapshotMismatch, match="damaged"):
        restored(engine, blob, [good[:-1] + b"?"])
    with pytest.raises(InvalidArgument, match="expected the bytes"):
        restored(engine, blob, ["changes"])
    found = decode(good)
    for wrong in (
        [1],
        found | {"calls": None},
        found | {"begin": [1]},
        found | {"calls": [["push"]]},
        found | {"calls": [["explode", [], 0]]},
        found | {"calls": [["push", ["nowhere", 1, 2], 1]]},
        found | {"calls": [["push_many", [{"a": {"order": 3}}], 1]]},
        found | {"calls": [5]},
        found | {"end": found["begin"]},
    ):
        with pytest.raises(SnapshotMismatch):
            restored(engine, blob, [encode(wrong)])


def test_what_is_no_plain_data_is_told():
    engine, _, mark = marked(correlate(x=A, yields=lambda x: x))
    engine.push(A, object())
    with pytest.raises(NotStorable, match="expected plain data but got <object"):
        engine.changes_since(mark)


def test_other_threads_and_bodies_may_not_mark():
    engine, _, mark = marked(LATEST)
    refused = []

    def ask():
        for call in (engine.mark, lambda: engine.changes_since(mark), lambda: engine.push(A, ROW)):
            with pytest.raises(WrongThread) as told:
                call()
            refused.append(told)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert len(refused) == 3
    asking: Engine = Engine(correlate(x=A, yields=lambda x: asking.mark()))
    with pytest.raises(InvalidArgument, match="a body that is pure"):
        asking.push(A, 1)


def test_a_body_that_pushes_is_refused_and_changes_nothing(monkeypatch):
    engine, blob, mark = marked(correlate(x=A, yields=lambda x: x or globals()["INNER"].push(A, 1)))
    monkeypatch.setitem(globals(), "INNER", engine)
    for _ in range(3):
        engine.push(A, 1)
    with pytest.raises(InvalidArgument, match="a body that is pure"):
        engine.push(A, 0)
    engine.push(A, 2)
    assert is_same(engine, restored(engine, blob, [engine.changes_since(mark)]))


def test_a_broken_engine_says_so():
    engine, _, mark = marked(LATEST)
    engine._journal.is_open = True
    for call in (engine.mark, lambda: engine.changes_since(mark)):
        with pytest.raises(EngineBroken):
            call()


def test_they_cost_what_has_come_however_much_is_held():
    sizes = []
    for held in (10, 10_000):
        engine = Engine(LATEST)
        engine.push_many({A: {"k": range(held), "v": range(held), "at": range(held)}})
        mark = engine.mark()
        engine.push(B, {"k": 3, "v": 4}, at=10_000)
        sizes.append(len(engine.changes_since(mark)))
    assert sizes[1] < sizes[0] + 20
