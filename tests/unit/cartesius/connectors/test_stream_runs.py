"""Running between sources and a sink: killed anywhere and started anew, the results are those of one run."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from inspect import iscoroutinefunction
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

from cartesius import CartesiusError, Delete, Engine, Event, Reactive, correlate, locks
from cartesius.connectors import FileSource, JsonLinesSink, StreamSink, StreamSource, kept_runs, run_stream
from cartesius.connectors.kept_runs import Keeping, alone_in, load, numbered
from cartesius.core.marks import Mark
from cartesius.data.codec import decode, encode
from cartesius.errors import InvalidArgument, ShutOut, SnapshotMismatch
from dsl import RulePack, Source, require
from dsl.units import metres
from restrictions import as_table, key_by, most_recently, retracting, within, without
from restrictions.streams import map_
from restrictions.tables import map_table

order, payment = Reactive("order"), Reactive("payment")
paid = correlate(
    order=order,
    payment=payment,
    yields=lambda order, payment: (order.id, payment.amount),
    restrict=key_by(order="id", payment="order") | within(30, "order", "payment"),
    name="paid",
)
ORDERS = [{"id": n, "time": 10 * n} for n in range(6)]
PAYMENTS = [{"order": n, "amount": 5 * n, "time": 10 * n + 7} for n in (0, 1, 3, 4, 5)]


class Killed(BaseException):
    """As if the process had died there."""


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def start(folder, program=paid, sink=None, **options):
    sources = {name: FileSource(folder / f"{name}.jsonl", at="time", follow=False) for name in ("order", "payment")}
    own = JsonLinesSink(folder / "results.jsonl") if sink is None else sink
    try:
        given = {
            "checkpoint": folder / "state",
            "every": timedelta(0),
            "lateness": 5,
            "patience": timedelta(seconds=60),
        }
        asyncio.run(run_stream(program, sources, own, **(given | options)))
    finally:
        own.close()


def results(folder):
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "order.jsonl", ORDERS)
    write(tmp_path / "payment.jsonl", PAYMENTS)
    return tmp_path


@pytest.fixture
def expected(tmp_path_factory):
    other = tmp_path_factory.mktemp("undisturbed")
    write(other / "order.jsonl", ORDERS)
    write(other / "payment.jsonl", PAYMENTS)
    start(other)
    found = results(other)
    assert [line["value"] for line in found] == [[n, 5 * n] for n in (0, 1, 3, 4, 5)]
    return found


def dying(done, calls, *, is_done):
    """What does as ``done``, and dies in the n-th call, before or after it is done."""
    rest = iter(range(calls - 1, -1, -1))

    def die_if_last(place, *, after):
        if place == 0 and after == is_done:
            raise Killed

    def called(*arguments):
        place = next(rest, -1)
        die_if_last(place, after=False)
        found = done(*arguments)
        die_if_last(place, after=True)
        return found

    async def awaited(*arguments):
        place = next(rest, -1)
        die_if_last(place, after=False)
        found = await done(*arguments)
        die_if_last(place, after=True)
        return found

    return awaited if iscoroutinefunction(done) else called


class Dying(JsonLinesSink):
    """A sink that dies in the n-th call of a method, before or after it is done."""

    def __init__(self, path, method, calls, *, is_done):
        super().__init__(path)
        setattr(self, method, dying(getattr(self, method), calls, is_done=is_done))


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("method", ["write", "prepare", "commit"])
def test_wherever_it_is_killed_it_goes_on_and_neither_loses_nor_repeats(folder, expected, method, is_done):
    for calls in (1, 2, 4):
        with pytest.raises(Killed):
            start(folder, sink=Dying(folder / "results.jsonl", method, calls, is_done=is_done))
    start(folder)
    assert results(folder) == expected


def test_it_goes_on_with_what_was_appended_since(folder, expected):
    write(folder / "order.jsonl", ORDERS[:3])
    write(folder / "payment.jsonl", PAYMENTS[:2])
    start(folder, every=timedelta(days=1), clock=lambda: 0.0)
    assert [line["value"] for line in results(folder)] == [[0, 0], [1, 5]]
    write(folder / "order.jsonl", ORDERS)
    write(folder / "payment.jsonl", PAYMENTS)
    start(folder, every=timedelta(days=1), clock=lambda: 0.0)
    assert results(folder) == expected
    assert [number for number, _ in numbered(folder / "state")] == [2, 3]  # the first is that of the start


def test_rows_that_were_rotated_away_before_any_was_read_are_read(folder, expected):
    for name in "order", "payment":
        write(folder / f"{name}.jsonl", [])
    start(folder)
    for name, rows in ("order", ORDERS), ("payment", PAYMENTS):
        write(folder / f"{name}.jsonl", rows[:4])
        (folder / f"{name}.jsonl").rename(folder / f"{name}.jsonl.1")
        write(folder / f"{name}.jsonl", rows[4:])
    start(folder)
    assert results(folder) == expected


def test_a_row_that_is_nested_as_deep_as_a_row_may_be_is_kept_in_checkpoints(folder, expected):
    deep: list[object] = []
    for _ in range(198):
        deep = [deep]
    write(folder / "order.jsonl", [row | {"deep": deep} for row in ORDERS])
    write(folder / "payment.jsonl", [])
    start(folder, lateness=1000)
    write(folder / "payment.jsonl", PAYMENTS)
    start(folder, lateness=1000)
    assert results(folder) == expected


all_pairs = correlate(
    order=order, payment=payment, yields=lambda order, payment: (order.id, payment.order), name="all_pairs"
)  # which keeps whatever comes


def test_a_checkpoint_has_what_has_come_if_that_is_less_than_what_is_held(folder, monkeypatch):
    snapshots = []
    snapshot = Engine.snapshot
    monkeypatch.setattr(Engine, "snapshot", lambda engine: snapshots.append(engine.stats.retained) or snapshot(engine))
    start(folder, all_pairs)
    assert snapshots == [0, 1]
    files = numbered(folder / "state")
    assert [number for number, _ in files] == list(range(2, 2 + len(ORDERS) + len(PAYMENTS)))
    one, *more = [load(folder / "state", number)[-1] for number, _ in files[-2:]]
    assert [one.base, *(other.base for other in more)] == [2, 2]


def test_it_goes_on_from_a_snapshot_and_what_has_come_since(folder):
    start(folder, all_pairs)
    expected = results(folder)
    for name in ("results.jsonl", *(f"state/{path.name}" for _, path in numbered(folder / "state"))):
        (folder / name).unlink()
    deaths = 0
    for method, is_done in cycle([("write", True), ("prepare", False), ("commit", True), ("commit", False)]):
        try:
            start(folder, all_pairs, sink=Dying(folder / "results.jsonl", method, 4, is_done=is_done))
            break
        except Killed:
            deaths += 1
    assert deaths >= 3
    assert results(folder) == expected
    assert len(expected) == len(ORDERS) * len(PAYMENTS)


def test_a_second_run_on_the_same_checkpoints_is_refused_until_the_first_has_ended(folder, expected):
    """It would write the checkpoints of the other, and results that the other writes, too."""
    other = JsonLinesSink(folder / "others.jsonl")

    async def idle():
        with pytest.raises(InvalidArgument, match=r"no other run has but one is going on from '.*/state'; end"):
            await run_stream(paid, sources, other, checkpoint=folder / "state")
        return False

    sources = {
        "order": FileSource(folder / "order.jsonl", at="time", idle=idle),
        "payment": FileSource(folder / "payment.jsonl", at="time", follow=False),
    }
    sink = JsonLinesSink(folder / "results.jsonl")
    asyncio.run(run_stream(paid, sources, sink, checkpoint=folder / "state", lateness=5))
    sink.close()
    assert results(folder) == expected
    assert (folder / "others.jsonl").read_text() == ""
    other.close()
    start(folder)
    assert results(folder) == expected


@pytest.mark.parametrize("has_half", [False, True])
@pytest.mark.parametrize("ahead", range(3))
def test_a_run_that_was_believed_to_be_dead_replaces_no_checkpoint_of_its_successor(tmp_path, ahead, has_half):
    """Where no lock keeps them apart. Else the successor's results would be repeated from the older checkpoint."""
    first = Keeping(tmp_path, Engine(paid), [])
    first.save(1, {"order": 1}, None)
    if has_half:  # it was stopped while it wrote the next one
        (tmp_path / "000000000002.its.half").write_bytes(b"half")
    engine = Engine(paid)
    second = Keeping(tmp_path, engine, load(tmp_path, None))
    for number in range(2, 3 + ahead):
        second.save(number, {"order": 10 * number}, None)
        engine.push(order, {"id": number}, at=number)
    with pytest.raises(ShutOut, match=r"expected no checkpoint 2 in .* but another run has written one"):
        first.save(2, {"order": 2}, None)
    assert [one.sources for one in load(tmp_path, None)][-1] == {"order": 10 * (2 + ahead)}
    assert not [*tmp_path.glob("*.half")]


def test_a_checkpoint_whose_results_were_not_committed_is_removed_at_the_next_start(tmp_path):
    first = Keeping(tmp_path, Engine(paid), [])
    for number in (1, 2):
        first.save(number, {}, None)
    Keeping(tmp_path, Engine(paid), load(tmp_path, 1)).save(2, {"order": 5}, None)
    assert load(tmp_path, 2)[-1].sources == {"order": 5}
    Keeping(tmp_path, Engine(paid), load(tmp_path, 2))
    assert [number for number, _ in numbered(tmp_path)] == [1, 2]


def test_a_file_of_results_has_one_sink_at_a_time(folder):
    first = JsonLinesSink(folder / "results.jsonl")
    with pytest.raises(InvalidArgument, match=r"another sink has '.*results.jsonl', here or in another process; close"):
        JsonLinesSink(folder / "results.jsonl")
    first.close()
    JsonLinesSink(folder / "results.jsonl").close()


def forked(file):
    """A process that is forked off has what is open open as well, as this descriptor of the same opening."""
    here = (int(each.name) for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
    return os.dup(next(each for each in here if os.readlink(f"/proc/self/fd/{each}") == str(file)))


def test_what_is_forked_off_keeps_no_lock_of_a_sink_or_a_run_that_has_ended(tmp_path):
    path, others = tmp_path / "results.jsonl", []
    for _ in range(2):
        sink = JsonLinesSink(path)
        others.append(forked(path))
        sink.close()
        with alone_in(tmp_path):
            others.append(forked(tmp_path / "run.lock"))
    for other in others:
        os.close(other)


def test_a_sink_that_nobody_has_any_more_has_no_file(tmp_path):
    for _ in range(2):
        JsonLinesSink(tmp_path / "results.jsonl").write([])
        gc.collect()


def test_file_systems_without_locks_and_links_have_checkpoints(folder, monkeypatch):
    def refusing(number):
        def refuse(*_):
            raise OSError(number, os.strerror(number))

        return refuse

    monkeypatch.setattr(locks, "flock", refusing(errno.ENOLCK))
    monkeypatch.setattr(os, "link", refusing(errno.EPERM))
    start(folder, all_pairs)
    assert load(folder / "state", None)[-1].number == 12
    monkeypatch.setattr(os, "link", refusing(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        Keeping(folder / "state", Engine(paid), []).save(1, {}, None)
    monkeypatch.setattr(os, "link", refusing(errno.ENOENT))  # a successor has taken the half away
    with pytest.raises(ShutOut):
        Keeping(folder / "state", Engine(paid), []).save(1, {}, None)


def test_not_too_many_checkpoints_go_on_from_one_another(folder, monkeypatch):
    monkeypatch.setattr(kept_runs, "_MOST", 3)
    start(folder, all_pairs)
    files = numbered(folder / "state")
    assert len(files) <= 4
    assert len(load(folder / "state", files[-1][0])) <= 3


def test_a_checkpoint_that_another_one_goes_on_from_is_missed(folder):
    start(folder, all_pairs)
    (_, first), *_ = numbered(folder / "state")
    first.unlink()
    with pytest.raises(SnapshotMismatch, match=r"expected checkpoint 2 in .* as 12 goes on from it, but it is not"):
        start(folder, all_pairs)


class Numbering(StreamSource):
    """Gives numbers of numpy's, which no snapshot holds."""

    position = 0

    def seek(self, position):
        self.position = position

    async def __aiter__(self):
        for n in range(self.position, 20):
            self.position = n + 1
            yield {"order": np.int64(n)}


def test_what_comes_may_be_what_no_checkpoint_holds_if_it_is_not_held(folder):
    numbers = map_(payment, lambda payment: int(payment.order))
    kept = correlate(order=order, yields=lambda order: order.id, restrict=most_recently("order"))
    sink = JsonLinesSink(folder / "results.jsonl")
    sources = {"order": FileSource(folder / "order.jsonl", follow=False), "payment": Numbering()}
    asyncio.run(
        run_stream(
            [numbers, kept], sources, sink, checkpoint=folder / "state", every=timedelta(0), patience=timedelta(0)
        )
    )
    sink.close()
    assert len(results(folder)) == 20 + len(ORDERS)


def test_no_more_of_what_comes_is_held_than_is_held_anyway(folder, monkeypatch):
    monkeypatch.setattr(kept_runs, "_LOOK", 4)
    noted = []
    note = Mark.note

    def noting(mark, *arguments):
        note(mark, *arguments)
        noted.append(len(mark._noted))

    monkeypatch.setattr(Mark, "note", noting)
    write(folder / "order.jsonl", [{"id": n, "time": n} for n in range(100)])
    program = [map_(order, lambda order: order.id), map_(payment, lambda payment: payment.order)]
    start(folder, program, every=timedelta(days=1), clock=lambda: 0.0)
    assert max(noted) <= 4
    assert len(results(folder)) == 100 + len(PAYMENTS)


@pytest.mark.parametrize(
    "wrong", [{"base": None}, {"base": "x"}, {"base": 0}, {"base": 99}, {"number": 4}, {"number": "x"}]
)
def test_checkpoints_that_say_odd_things_are_refused(folder, wrong):
    start(folder, all_pairs)
    number, path = numbered(folder / "state")[-1]
    path.write_bytes(encode(decode(path.read_bytes()) | wrong))
    with pytest.raises(SnapshotMismatch):
        load(folder / "state", number)


def test_lines_that_were_there_before_the_first_start_stay(folder, expected):
    write(folder / "results.jsonl", [{"of": "somebody else"}])
    with pytest.raises(Killed):
        start(folder, sink=Dying(folder / "results.jsonl", "write", 1, is_done=True))
    start(folder)
    assert results(folder) == [{"of": "somebody else"}, *expected]


def test_sources_are_merged_by_time_so_that_none_makes_another_late(folder):
    late = []
    start(folder, lateness=0, late=lambda event, reason: late.append(reason))
    assert late == []


def test_what_is_late_is_told(folder, caplog):
    write(folder / "order.jsonl", [*ORDERS, {"id": 9, "time": 0}])
    late = []
    start(folder, late=lambda event, reason: late.append((event.value.id, reason)))
    assert late == [(9, "its end 0 is before the clock 45")]
    start(folder, checkpoint=None)
    assert "an event is set aside: its end 0 is before the clock 45" in caplog.text


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"other": 1}, r"push: expected a row with the key 'id' for the table 'order'; .*"),
        ({"id": None}, r"push: expected a row of 'order' with a value for its key 'id' but got None; .*"),
        ({"id": [1]}, r"push: expected a key that can be hashed .*"),
        ({"id": 7, "__class__": "x"}, r".*'__class__'.*"),
    ],
)
def test_a_row_that_its_input_does_not_take_is_told_and_the_others_go_on(folder, row, why):
    """Else it would end the run, and end it again whenever it is started anew."""
    orders = Reactive("order", table=True, key="id")
    both = [map_table(orders, lambda row: row.id), map_(payment, lambda payment: payment.order)]
    write(folder / "order.jsonl", [{**row, "time": 5}, *ORDERS])
    told = []
    for _ in range(2):
        start(folder, both, late=lambda event, reason: told.append((event.value, event.end, event.reactive, reason)))
    [(value, end, name, reason)] = told
    assert (value, end, name) == (row, 5, "order")
    assert re.fullmatch(why, reason)
    assert len(results(folder)) == len(ORDERS) + len(PAYMENTS)


def test_a_deletion_from_what_is_no_table_is_told_and_the_others_go_on(folder):
    """A record of Kafka without a value: it ended the run with an error of the body, at every start."""

    class Deleting(Numbering):
        async def __aiter__(self):
            for place, item in enumerate([Event({"id": 1}, 5, 5), Event(Delete(1), 6, 6), {"id": 2}][self.position :]):
                self.position = place + 1
                yield item

    told = []
    sink = JsonLinesSink(folder / "results.jsonl")
    running = run_stream(
        map_(order, lambda order: order.id),
        {"order": Deleting()},
        sink,
        checkpoint=folder / "state",
        late=lambda event, reason: told.append((event, reason)),
    )
    asyncio.run(running)
    sink.close()
    [(event, reason)] = told
    assert event == Event(Delete(1), 6, 6, 1, "order")
    assert "expected rows of 'order', which is no table, but got Delete(key=1); make it a table" in reason
    assert [line["value"] for line in results(folder)] == [1, 2]


SENT = [*ORDERS[:4], {"name": "no id", "time": 33}, *ORDERS[4:]]


def test_an_event_on_which_the_program_raises_ends_the_run_and_is_named(folder):
    write(folder / "order.jsonl", SENT)
    for _ in range(2):  # it is met again
        with pytest.raises(AttributeError, match="there is no field 'id'") as caught:
            start(folder)
        assert (
            "while using an event of 'order': Event(value={'name': 'no id'}, start=33, " in caught.value.__notes__[-1]
        )


def test_an_error_of_a_frozen_class_ends_the_run_as_it_is(folder):
    @dataclass(frozen=True)
    class Refused(Exception):
        order: int

    def refused(order):
        raise Refused(order.id)

    other = map_(payment, lambda payment: payment.order)
    with pytest.raises(Refused) as caught:
        start(folder, [map_(order, refused), other])
    assert "while using an event of 'order': " in "".join(caught.value.__notes__)
    assert not results(folder)


def test_an_event_on_which_the_program_raises_is_set_aside_and_the_others_go_on(folder, expected):
    write(folder / "order.jsonl", SENT)
    told = []
    for _ in range(2):
        start(folder, on_error="dead_letter", late=lambda event, reason: told.append((event, reason)))
    [(event, reason)] = told
    assert event == Event({"name": "no id"}, 33, 33, 1, "order")
    assert reason.startswith("the program raised AttributeError: there is no field 'id'; the fields are name (")
    assert results(folder) == expected


def test_what_raises_when_it_is_due_ends_the_run_whatever_was_chosen(folder):
    """No event is to blame: it would come again with every move of the clock, and take each event with it."""
    unpaid = correlate(
        order=order,
        yields=lambda order: order.id,
        restrict=key_by(order="id", payment="order") | without(payment, after="order", within=10),
    )
    inverse = map_(unpaid, lambda number: 1 / (number - 2))
    told = []
    with pytest.raises(ZeroDivisionError) as caught:
        start(folder, inverse, on_error="dead_letter", late=lambda event, reason: told.append(event))
    assert "was due, at 30" in str(caught.value.__notes__)
    assert told == []


def test_rules_that_raise_are_undecided_where_that_is_chosen(tmp_path):
    depths = Source("depths", key="id", id=int, depth=metres)
    pack = RulePack("strict", subject=depths)
    with pack:
        require(depths.depth >= 9 * metres, name="deep enough")
    write(tmp_path / "depths.jsonl", [{"id": 1, "depth": "deep"}, {"id": 2, "depth": 12}])
    sink = JsonLinesSink(tmp_path / "verdicts.jsonl")
    source = FileSource(tmp_path / "depths.jsonl", follow=False)
    asyncio.run(run_stream(pack.table(), {"depths": source}, sink, on_error="unknown"))
    sink.close()
    lines = map(json.loads, (tmp_path / "verdicts.jsonl").read_text().splitlines())
    assert [line["value"] for line in lines] == ["unknown (not decided: deep enough)", "allowed"]


def test_a_policy_that_is_none_is_refused(folder):
    with pytest.raises(InvalidArgument, match=r"expected on_error= to be one of .* but got on_error='skip'"):
        start(folder, on_error="skip")
    with pytest.raises(InvalidArgument, match="run_stream: expected tables of packs of rules"):
        start(folder, on_error="unknown")


def test_at_the_end_of_all_absence_is_certain(folder):
    unpaid = correlate(
        order=order,
        payment=payment,
        where=lambda order, payment: order.id == payment.order,
        yields=lambda order: order.id,
        restrict=without("payment", after="order", within=30),
    )
    write(folder / "order.jsonl", [*ORDERS, {"id": 7, "time": 60}])
    start(folder, unpaid, close=True)
    assert [line["value"] for line in results(folder)] == [2, 7]


def test_a_source_that_has_nothing_is_passed_over_until_it_has(folder):
    """The payments pause until the orders are all used."""
    seen = asyncio.Event()

    async def idle():
        await seen.wait()
        return False

    write(folder / "payment.jsonl", [])
    sources = {
        "order": FileSource(folder / "order.jsonl", at="time", follow=False),
        "payment": FileSource(folder / "payment.jsonl", at="time", idle=idle),
    }
    sink = JsonLinesSink(folder / "results.jsonl")

    async def run():
        running = asyncio.ensure_future(
            run_stream(map_both, sources, sink, checkpoint=folder / "state", every=timedelta(0), patience=timedelta(0))
        )
        while len(results(folder)) < len(ORDERS):
            await asyncio.sleep(0)
        seen.set()
        await running

    map_both = [map_(order, lambda order: order.id), map_(payment, lambda payment: payment.order)]
    asyncio.run(run())
    sink.close()
    assert [line["value"] for line in results(folder)] == [0, 1, 2, 3, 4, 5]


def test_results_of_tables_have_keys_and_odd_values_are_written(folder):
    table = correlate(
        order=order,
        payment=payment,
        yields=lambda order, payment: {"amount": payment.amount, "of": {1, 2}, "order": order},
        restrict=key_by(order="id", payment="order")
        | most_recently("order", "payment")
        | retracting()
        | as_table("order"),
        name="table",
    )
    start(folder, table)
    assert results(folder)[1] == {
        "output": "table", "change": "update", "key": 1, "start": 10, "end": 17,
        "value": {"amount": 5, "of": [1, 2], "order": {"id": 1}},
    }  # fmt: skip


def test_checkpoints_of_another_sink_or_program_are_refused(folder):
    class Knowing(JsonLinesSink):
        def committed(self):
            return 3

    start(folder)
    with pytest.raises(
        CartesiusError,
        match=r"but it has committed 3; it is the sink of another run, .* and, of a KafkaSink, another transac",
    ):
        start(folder, sink=Knowing(folder / "results.jsonl"))
    with pytest.raises(CartesiusError, match="belongs to another one"):
        start(folder, lateness=6)
    (folder / "results.jsonl").write_text("")
    with pytest.raises(CartesiusError, match="bytes that were written but it has 0; bring it back"):
        start(folder)


@pytest.mark.parametrize(
    "content",
    [
        None,
        [1],
        {"a": 1},
        {"number": 1, "engine": b"", "sources": {}},
        {"number": 1, "engine": "", "sources": {}, "sink": 0},
        {"number": 1, "engine": b"", "sources": [], "sink": 0},
        {"number": 1, "engine": b"", "sources": {}, "sink": 0},
    ],
)
def test_what_is_no_checkpoint_is_refused(folder, content):
    start(folder)
    _, path = numbered(folder / "state")[-1]
    path.write_bytes(encode(content))
    with pytest.raises(SnapshotMismatch, match="restore: "):
        start(folder)


@pytest.mark.parametrize("name", ["order.jsonl", "order.jsonl/state"])
def test_a_file_in_the_place_of_the_folder_of_checkpoints_is_refused(folder, name):
    with pytest.raises(InvalidArgument, match=rf"a folder but got checkpoint='.*/{name}', where there is a file; name"):
        start(folder, checkpoint=folder / name)


def test_sources_and_sinks_that_are_none_are_refused(folder):
    sink = JsonLinesSink(folder / "results.jsonl")
    source = FileSource(folder / "order.jsonl")
    assert isinstance(source, StreamSource)
    assert isinstance(sink, StreamSink)
    wrong = [
        ({"orders": source}, sink, "but got one of 'orders'; did you mean 'order'?"),
        ({"order": source}, sink, "there is none for payment; add it"),
        (
            {"order": source, "payment": []},
            sink,
            r"expected a source for 'payment', with position and seek, but got \[\]",
        ),
        ({"order": source, "payment": source}, [], "expected a sink but got"),
    ]
    for sources, where, said in wrong:
        with pytest.raises(CartesiusError, match=said):
            asyncio.run(run_stream(paid, sources, where))  # type: ignore[arg-type]  # they are wrong on purpose
    sink.close()
    setattr(sink, "commit", lambda number: None)  # noqa: B010 - it is to be awaited
    with pytest.raises(CartesiusError, match="expected a sink whose prepare and commit are awaited"):
        asyncio.run(run_stream(paid, {"order": source, "payment": source}, sink))


@pytest.mark.parametrize("wrong", [{"every": 0.3}, {"patience": 1}, {"every": timedelta(seconds=-1)}], ids=str)
def test_what_is_no_duration_is_refused_before_anything_is_touched(tmp_path, wrong):
    orders = Reactive("orders")
    kept = tmp_path / "kept"
    going = run_stream(
        map_(orders, lambda order: order), {}, JsonLinesSink(tmp_path / "out.jsonl"), checkpoint=kept, **wrong
    )
    with pytest.raises(InvalidArgument, match="run_stream: expected every= and patience= as a timedelta"):
        asyncio.run(going)
    assert not kept.exists()


def test_results_of_dated_events_are_written_with_their_times(folder):
    noon = datetime(2024, 6, 30, 12, tzinfo=UTC)

    class Dated(Numbering):
        async def __aiter__(self):
            yield Event({"id": 1}, noon, noon)

    sink = JsonLinesSink(folder / "results.jsonl")
    asyncio.run(run_stream(map_(order, lambda order: order.id), {"order": Dated()}, sink))
    assert [(line["start"], line["value"]) for line in results(folder)] == [(noon.isoformat(), 1)]


def test_a_sink_cuts_no_file_but_its_own_and_writes_to_none_when_closed(folder):
    sink = JsonLinesSink(folder / "results.jsonl")
    sink.write([Event({"id": n}, n, n, 1, "paid") for n in range(9)])
    position = asyncio.run(sink.prepare(1))
    other = folder / "other.txt"
    other.write_text("precious " * 1000)
    with pytest.raises(InvalidArgument, match=r"to have the .* bytes that were written but it has others"):
        JsonLinesSink(other).seek(position)
    assert len(other.read_text()) == 9000
    sink.close()
    with other.open("a"), pytest.raises(InvalidArgument, match="expected a sink that is open but that of"):
        sink.write([Event({"id": 9}, 9, 9, 1, "paid")])
    assert len(other.read_text()) == 9000


@pytest.mark.parametrize("sources", [None, [Numbering], {"order": FileSource}])
def test_what_is_no_mapping_to_sources_is_refused(folder, sources):
    with pytest.raises(InvalidArgument, match=r"run_stream: expected a (mapping from the name|source for .order.)"):
        asyncio.run(run_stream(map_(order, lambda order: order), sources, JsonLinesSink(folder / "results.jsonl")))
