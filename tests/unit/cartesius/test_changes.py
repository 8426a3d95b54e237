"""What has come since a mark: done again behind a snapshot it leads to the same state, and nothing else is accepted."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta, tzinfo

import numpy as np
import pyarrow as pa
import pytest

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.data.codec import decode, encode
from cartesius.data.events import EPOCH
from cartesius.errors import EngineBroken, InvalidArgument, NotStorable, SnapshotMismatch, WrongThread
from restrictions import key_by, most_recently, optionally, take, within, zip_
from restrictions.streams import interval_join, map_
from restrictions.tables import filter_table, inner_join

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
        {"value": [{}, {}]},
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
    with pytest.raises(InvalidArgument, match=r"there is none, or an output was added or removed: take a snaps"):
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
    with pytest.raises(SnapshotMismatch, match=r"call 1 of 1, push into 'a', to succeed as it did before, but Zero"):
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
    with pytest.raises(NotStorable, match="expected plain data but got <object") as told:
        engine.changes_since(mark)
    assert told.value.__notes__ == [
        "in changes_since: push into 'a'; take a snapshot(), if it is not held, and a mark()"
    ]


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


def test_what_is_overdue_is_decided_by_a_clock_that_stays():
    third = Reactive("c")
    pairs = correlate(x=A, y=B, yields=lambda x, y: (x, y), name="pairs")
    alone = correlate(p=pairs, c=third, yields=lambda p, c: (p, c), restrict=within(2, "p", "c") | optionally("p", "c"))
    engine, blob, mark = marked(alone)
    engine.push(A, 1, at=1)
    engine.advance(10)
    engine.push(B, 2, at=10)  # the pair has ended long ago
    assert [event.value for event in engine.advance(10)] == [((1, 2), None)]
    again = restored(engine, blob, [engine.changes_since(mark)])
    assert is_same(engine, again)
    assert again.advance(11) == engine.advance(11) == []


def test_a_clock_that_is_told_a_datetime_that_is_over_has_learnt_nothing():
    engine, blob, mark = marked(LATEST, lateness=0)
    engine.push(A, ROW)
    engine.advance(EPOCH + timedelta(microseconds=1))
    again = restored(engine, blob, [engine.changes_since(mark)], lateness=0)
    assert again.clock == engine.clock == 1
    assert engine.push(A, ROW, at=2) == again.push(A, ROW, at=2)


@pytest.mark.parametrize("at", [5, EPOCH])
def test_a_batch_that_fails_at_its_first_row_is_no_change_and_neither_is_that_row(at):
    engine, blob, mark = marked(correlate(x=A, yields=lambda x: 1 / x))
    engine.push(A, 1)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            engine.push_many({A: {"value": [0], "at": [at]}})
    assert is_same(engine, restored(engine, blob, [engine.changes_since(mark)]))


class Opaque:
    """What no column holds."""


def test_a_batch_of_which_the_results_are_no_columns_stands_again():
    made = correlate(x=A, yields=lambda x: globals()["Opaque"](), restrict=take(100, "x"))
    engine, blob, mark = marked(LATEST, made)
    with pytest.raises(NotStorable):
        engine.push_many({A: {"k": [1, 2, 3], "v": [4, 5, 6]}})
    assert engine.stats.events == 3
    assert is_same(engine, restored(engine, blob, [engine.changes_since(mark)]))


def test_of_a_batch_that_stops_the_inputs_that_it_did_not_come_to_are_left_out():
    table = Reactive("t", table=True)
    above = filter_table(table, lambda value: value > 1)
    inverse = correlate(x=A, yields=lambda x: divmod(12, x.v)[0], restrict=take(100, "x"))
    engine, blob, mark = marked(inverse, above)
    with pytest.raises(ZeroDivisionError):
        engine.push_many(
            {
                A: {"v": [1, 2, 0, 4], "order": [0, 1, 2, 3]},
                table: {"key": [1, 2], "deleted": [True, True], "order": [4, 5]},
            }
        )
    assert restored(engine, blob, [engine.changes_since(mark)]).stats == engine.stats
    assert engine.stats.events == 2


class Day(datetime):
    """A datetime of somebody's own type, as pandas has one."""


class Zone(tzinfo):
    """A zone of somebody's own type."""

    def utcoffset(self, _: object) -> timedelta:
        return timedelta(hours=1)

    def dst(self, _: object) -> None:
        return None

    def tzname(self, _: object) -> str:
        return "one's own"


@pytest.mark.parametrize("at", [Day(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=Zone())])
def test_times_of_other_types_are_noted_as_the_moments_that_they_are(at):
    engine, blob, mark = marked(LATEST, durable=True)
    engine.push(A, ROW, at=at)
    engine.push(A, ROW, at=(at, at + timedelta(hours=1)))
    engine.advance(at)
    assert is_same(engine, restored(engine, blob, [engine.changes_since(mark)], durable=True))


def test_changes_of_an_engine_that_has_come_as_far_are_told_from_its_own():
    engine, blob, mark = marked(LATEST)
    other, _, its = marked(LATEST)
    blobs = []
    for one, begin in (engine, mark), (other, its):
        one.push(A, ROW, at=1)
        first, middle = one.changes_since(begin), one.mark()
        one.push(A, ROW, at=2)
        blobs.append([first, one.changes_since(middle)])
    (mine, more), (_, foreign) = blobs
    assert is_same(engine, restored(engine, blob, [mine, more]))
    with pytest.raises(SnapshotMismatch, match=r"or are of another engine; give all changes") as told:
        restored(engine, blob, [mine, foreign])
    assert told.value.__notes__ == ["in changes[1]"]


def test_a_restored_engine_goes_on_from_the_changes_that_it_was_made_of():
    engine, blob, mark = marked(LATEST)
    engine.push(A, ROW, at=1)
    changes = [engine.changes_since(mark)]
    assert changes == [engine.changes_since(mark)]
    for time in (2, 3):
        engine = restored(engine, blob, changes)
        mark = engine.mark()
        engine.push(A, ROW, at=time)
        changes.append(engine.changes_since(mark))
    assert is_same(engine, restored(engine, blob, changes))


def test_who_saves_in_the_middle_of_a_call_as_a_signal_may_loses_nothing():
    engine, blob, mark = marked(zip_(A, B))
    changes, do = [], engine._do

    def interrupted(work):
        changes.append(engine.changes_since(mark))
        engine.mark()
        return do(work)

    engine._do = interrupted
    engine.push(A, 1, at=1)
    changes.append(engine.changes_since(engine._mark))
    assert is_same(engine, restored(engine, blob, changes))


def test_calls_that_change_nothing_are_not_held():
    engine, _, mark = marked(correlate(x=A, yields=lambda x: 1 / x))
    for _ in range(10):
        engine.take_late()
        engine.advance(-5)
        with pytest.raises(ZeroDivisionError):
            engine.push(A, 0)
    assert repr(mark) == "<mark after event 0, 2 calls since>"


@pytest.mark.parametrize("wrong", [None, 5, b"changes", "changes"])
def test_changes_are_given_in_a_list(wrong):
    with pytest.raises(InvalidArgument, match=r"what changes_since\(\) has returned, in a list, but got changes="):
        restored(Engine(LATEST), Engine(LATEST).snapshot(), wrong)


def test_an_engine_without_a_mark_has_no_changes():
    with pytest.raises(InvalidArgument, match="but got None; there is none, or an output"):
        Engine(LATEST).changes_since(None)  # type: ignore[arg-type]  # a wrong mark


def test_a_wrong_input_is_told_as_without_a_mark():
    engine = Engine(LATEST)
    told = []
    for _ in range(2):
        with pytest.raises(InvalidArgument) as error:
            engine.push([], 1)  # type: ignore[call-overload]  # a wrong input
        told.append(str(error.value))
        engine.mark()
    assert told[0] == told[1]


@pytest.mark.parametrize("options", [{}, {"trace": True}, {"tier": "in_place"}, {"tier": "reference"}])
def test_a_batch_that_is_late_has_been_seen_in_every_tier(options):
    a = Reactive("a", fields=("n",))
    output = map_(a, lambda row: row.n)
    engine = Engine(output, lateness=5)
    blob, mark = engine.snapshot(), engine.mark()
    engine.advance(8)
    engine.push_many({a: {"n": [5], "at": [4]}})
    assert [event.start for event, _, _ in engine.late] == [4]
    restored = Engine.restore(blob, output, changes=[engine.changes_since(mark)], lateness=5, **options)
    assert [repr(event) for event in restored.push(a, {"n": 1})] == [repr(event) for event in engine.push(a, {"n": 1})]


def test_an_advance_that_lets_go_what_came_overdue_is_a_change():
    engine, blob, mark = marked(interval_join(A, B, 3, 4), lateness=0)
    engine.push_many({B: {"n": [1], "at": [5]}})  # the clock is past all that it could meet
    engine.advance(5)
    assert is_same(engine, restored(engine, blob, [engine.changes_since(mark)], lateness=0))
