"""What an office keeps: each batch once, in order, of any moment, whoever writes and however it is killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from math import inf
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from examples.port.inputs import read_day
from examples.port.office import databases
from examples.port.office import store as store_of_office
from examples.port.office.databases import PostgreSQL, SQLite, StoreLost, UnusableStore
from examples.port.office.records import GONE, Batch, Change, Failed, Missing, Seen, noted
from examples.port.office.replay import ONE_DAY, Replay
from examples.port.office.store import Store
from examples.port.programs import rule_pack
from tests.brokers.servers import postgresql_server
from tests.unit.examples.conftest import DATA

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[3]
ANNA, BETTY = 244660000, 338531000
CLEARANCE = Failed("clearance", "she must stay afloat", "43 cm", "50 cm", "-7 cm")


def change(at, status, *, mmsi=ANNA, failed=(), missing=()):
    return Change(at, mmsi, "ANNA", status, failed, missing, "0123456789ab", {"tide": ("8519483", at - 5)})


def seen(at, height):
    return Seen("tide", "8519483", at, {"sensor": "8519483", "height": height})


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def where(request, tmp_path):
    if request.param == "sqlite":
        yield str(tmp_path / "office.db")
        return
    pytest.importorskip("psycopg", reason="the extra postgresql is not installed")
    with postgresql_server() as connection:
        said = dict(part.split("=", 1) for part in connection.split())
        yield f"postgresql://{said.pop('user', '')}@/{said.pop('dbname')}?" + "&".join(
            f"{k}={v}" for k, v in said.items()
        )


@pytest.fixture
def store(where):
    opened = Store(where)
    yield opened
    opened.close()


def test_one_process_at_a_time_judges_into_a_store(where):
    one, other = Store(where), Store(where)
    with one.feeding(), pytest.raises(UnusableStore, match="another process does"), other.feeding():
        pass
    with other.feeding():
        pass
    one.close()
    other.close()


def test_what_is_written_is_read_again_whole(store):
    given = [
        change(10, "restricted", failed=(CLEARANCE,)),
        change(20, "unknown", missing=(Missing("clearance", ("vessel.draught", "tide")),)),
    ]
    assert store.apply(Batch("replay", 1, 30, given, [seen(10, 0.5)]))
    assert store.changes_after(0) == [attrs.evolve(each, id=number) for number, each in enumerate(given, 1)]
    assert store.readings_after(0) == [(1, seen(10, 0.5))]
    assert store.newest_ids() == (2, 1)


def test_a_batch_that_comes_again_changes_nothing(store):
    first, second = Batch("spark", 0, 10, [change(5, "allowed")]), Batch("spark", 1, 20, [change(15, "unknown")])
    assert [store.apply(each) for each in (first, first, second, first, second)] == [True, False, True, False, False]
    assert [each.status for each in store.changes_after(0)] == ["allowed", "unknown"]
    (progress,) = store.progress()
    assert (progress.number, progress.until) == (1, 20)


def test_a_batch_of_nothing_says_that_the_feed_is_at_work(store):
    store.apply(Batch("replay", 1, 10, [change(5, "allowed")]))
    assert not store.apply(Batch("replay", 1, 40))
    assert [(each.number, each.until) for each in store.progress()] == [(1, 40)]


def test_a_batch_that_fails_leaves_nothing(store):
    with pytest.raises(TypeError, match="not JSON serializable"):
        store.apply(Batch("replay", 1, 10, [change(5, "allowed")], [Seen("tide", "a", 1, {"height": object()})]))
    assert store.newest_ids() == (0, 0)
    assert store.progress() == []
    assert store.apply(Batch("replay", 1, 10, [change(5, "allowed")]))


def test_any_moment_can_be_asked(store):
    other = [change(12, "allowed", mmsi=BETTY), change(40, GONE, mmsi=BETTY)]
    mine = [change(10, "allowed"), change(20, "restricted", failed=(CLEARANCE,)), change(30, "restricted")]
    store.apply(Batch("replay", 1, 50, [mine[0], other[0], *mine[1:], other[1]], [seen(8, 0.1), seen(25, 0.2)]))
    at = {time: {each.mmsi: each.status for each in store.ships_at(time)} for time in (9, 10, 12, 25, 40)}
    assert at == {
        9: {},
        10: {ANNA: "allowed"},
        12: {ANNA: "allowed", BETTY: "allowed"},
        25: {ANNA: "restricted", BETTY: "allowed"},
        40: {ANNA: "restricted"},
    }
    assert [store.all_since(time).get(ANNA) for time in (9, 15, 35)] == [None, 10, 20]
    assert [[each.row["height"] for each in store.rows_at(time)] for time in (7, 8, 30)] == [[], [0.1], [0.2]]
    assert [each.time for each in store.changes_of(ANNA, 20)] == [10, 20]


def test_two_feeds_do_not_mix(store):
    pack = rule_pack("A", [])
    assert store.begin("replay", pack, start=0, end=9) is None
    store.apply(Batch("replay", 3, 5))
    progress = store.begin("replay", pack, start=0, end=9)
    assert progress is not None
    assert progress.number == 3
    with pytest.raises(UnusableStore, match=r"expected the feed 'replay', .* but got 'kafka'; name another store"):
        store.begin("kafka", pack, start=0, end=9)
    assert [each.version for each in store.packs()] == [pack.version]


def test_who_waits_is_told_of_what_another_writes(where, store):
    store.wait(0.0)
    other = Store(where)
    writer = Thread(target=lambda: other.apply(Batch("replay", 1, 10, [change(5, "allowed")])))
    writer.start()
    assert [each.status for each in store.wait_for_changes(0, timeout=30.0)] == ["allowed"]
    writer.join()
    other.close()
    assert store.wait_for_changes(1, timeout=0.0) == []


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("<!doctype html>" * 100)
    with pytest.raises(UnusableStore, match=r"expected a database, or a place for a new one, but got .*page\.html"):
        Store(str(path))


@pytest.mark.parametrize("name", ["office#1.db", "office?mode=memory.db", "50%20.db", "a b.db"])
def test_who_waits_at_a_file_is_told_whatever_its_name_is(name, tmp_path, monkeypatch):
    """It waited at another file, or there was none."""
    store, other = Store(str(tmp_path / name)), Store(str(tmp_path / name))
    store.wait(0.0)
    other.apply(Batch("replay", 1, 10, [change(5, "allowed")]))
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it is not told"))
    store.wait(30.0)
    assert {path.name for path in tmp_path.iterdir()} == {name, f"{name}-wal", f"{name}-shm"}
    store.close()
    other.close()


def test_an_error_that_does_not_pass_is_that_of_an_unusable_store_and_nobody_waits(store):
    """It was one of the database's own, which no command expected: it ended with a traceback."""
    store._database.execute("DROP TABLE readings")
    for fails in (
        lambda: store.readings_after(0),
        lambda: store.apply(Batch("replay", 1, 10, [], [seen(5, 0.1)])),
        lambda: store._database.execute_many("INSERT INTO readings VALUES (?)", [(1,)]),
    ):
        with pytest.raises(UnusableStore, match="readings") as found:
            fails()
        assert not isinstance(found.value, StoreLost)
    assert store.changes_after(0) == []


def test_a_file_that_may_not_be_written_is_an_unusable_store(tmp_path):
    store = Store(str(tmp_path / "office.db"))
    store._database.execute("PRAGMA query_only = ON")
    with pytest.raises(UnusableStore, match="readonly"):
        store.apply(Batch("replay", 1, 10, [change(5, "allowed")]))
    store.close()


# ------------------------------------------------------------------------------------------------- one that is lost


class Failing(SQLite):
    """A database that is lost at one of its operations, before or after it: what was not committed is undone."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.left: float = inf
        self.is_done = False

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        self.left -= 1
        if self.left:
            return super().execute(statement, values)
        if self.is_done:
            super().execute(statement, values)
        if self._connection.in_transaction:
            self._connection.rollback()
        raise StoreLost("the server closed the connection")


def written(store):
    pack = noted(rule_pack("A", []), 7, 8, "eva", number=2)
    store.apply(Batch("replay", 1, 10, [change(5, "allowed")], [seen(5, 0.1)]))
    store.change_rules(pack, [change(7, "restricted", failed=(CLEARANCE,))], proposal=3)
    store.refuse("no rules", "ida", proposal=4)
    store.change_rules(attrs.evolve(pack, version="other"))
    store.change_rules(attrs.evolve(pack, changed=9))  # once more the same, later
    store.apply(Batch("replay", 2, 20, [change(15, "unknown")], [seen(15, 0.2)]))
    told = {**store.facts(), "refused": None}
    return store.changes_after(0), store.readings_after(0), [each.version for each in store.packs()], told


@pytest.mark.parametrize("is_done", [False, True])
def test_whenever_a_store_is_lost_what_is_written_is_in_it_once(is_done, monkeypatch):
    """The feed ended, and with it all that it would have judged."""
    monkeypatch.setattr(store_of_office, "RETRY_S", 0)
    due = written(Store(":memory:"))
    lost = 0
    for number in range(1, 100):
        store = Store(":memory:")
        store._database = failing = Failing(":memory:")
        store._make()
        failing.left, failing.is_done = number, is_done
        try:
            assert written(store) == due
        except StoreLost:  # who reads is told
            assert store.progress()[0].number == 2
        lost += failing.left <= 0
        store.close()
    assert 20 < lost < 99


def test_who_writes_waits_for_a_file_that_another_process_keeps_to_itself(tmp_path, monkeypatch):
    """After 30 seconds a replay ended for good."""
    monkeypatch.setattr(databases, "_BUSY_S", 0.01)
    monkeypatch.setattr(store_of_office, "RETRY_S", 0.01)
    told: SimpleQueue[str] = SimpleQueue()
    monkeypatch.setattr("click.echo", lambda line, err: told.put(line))
    store = Store(str(tmp_path / "office.db"))
    other = sqlite3.connect(store.where, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(store.apply, Batch("replay", 1, 10, [change(5, "allowed")]))
        assert told.get(timeout=30) == "store: database is locked; it is waited for"
        assert store.changes_after(0) == []  # who reads does not wait for who writes
        other.execute("ROLLBACK")
        assert writing.result(30)
    assert [each.status for each in store.changes_after(0)] == ["allowed"]
    store.close()


@pytest.mark.slow
def test_connections_to_a_server_that_are_cut_are_made_anew(monkeypatch):
    """A cut ended the feed, the board's news and the alerts."""
    psycopg = pytest.importorskip("psycopg", reason="the extra postgresql is not installed")
    monkeypatch.setattr(store_of_office, "RETRY_S", 0.01)
    with postgresql_server() as connection:
        host = connection.split()[0].removeprefix("host=")
        where = f"postgresql://postgres@/postgres?host={host}"

        def cut():
            with psycopg.connect(connection, autocommit=True) as database:
                database.execute(
                    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
                )

        ending = ExitStack()
        store, other = (ending.enter_context(closing(Store(where))) for _ in range(2))
        with ending, store.feeding():
            for number in range(1, 4):
                store.wait(0.0)
                cut()
                assert store.apply(Batch("replay", number, number, [change(number, "allowed")]))
                with pytest.raises(UnusableStore, match="another process does"), other.feeding():
                    pass
                cut()
                assert len(store.changes_after(0)) == number
                cut()
                assert store.wait_for_changes(0, timeout=0.0)
            execute, failures = PostgreSQL.execute, iter([True])

            def cut_within(database, statement, values=()):
                if statement.startswith("INSERT INTO batches") and next(failures, False):
                    cut()
                return execute(database, statement, values)

            monkeypatch.setattr(PostgreSQL, "execute", cut_within)
            assert store.apply(Batch("replay", 9, 9, [change(9, "allowed")]))
            assert [each.time for each in store.changes_after(0)] == [1, 2, 3, 9]


# ---------------------------------------------------------------------------------------------------------- the replay


@attrs.define
class Hands:
    """A clock that a test moves."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def contents(store):
    """What a store says of a day, whatever the batches were."""
    return [attrs.evolve(each, id=0) for each in store.changes_after(0, 10**6)], [
        each for _, each in store.readings_after(0, 10**6)
    ]


def replayed(day, rules, store, times, speed=3600.0):
    hands = Hands()
    replay = Replay(day, rules, store, begin=day.start, speed=speed, clock=hands)
    for hands.now in times:
        replay.step()
    return replay


@pytest.fixture(scope="module")
def day_and_rules():
    day = read_day(DATA)
    early = tuple(each for each in day.readings if (each.time or 0) < day.start + 400_000_000)
    day = attrs.evolve(day, readings=early)
    return day, rule_pack("port", day.berths, day.gauges, day.stations)


def test_where_batches_are_cut_makes_no_difference_and_neither_does_a_stop(day_and_rules):
    day, rules = day_and_rules
    whole, parts = Store(":memory:"), Store(":memory:")
    replayed(day, rules, whole, [24.0])
    replayed(day, rules, parts, [0.01, 0.05, 0.051, 0.1])
    middle = contents(parts)
    assert 0 < len(middle[0]) < len(contents(whole)[0])
    replay = replayed(day, rules, parts, [0.0])  # another process: its clock begins anew, and the day goes on
    assert contents(parts) == middle
    assert parts.progress()[0].until == day.start + round(0.1 * 3600e6)
    assert not replay.is_over
    replayed(day, rules, parts, [0.15, 30.0])
    assert contents(parts) == contents(whole)
    assert replayed(day, rules, parts, [1.0]).is_over
    assert whole.progress()[0].until == day.start + ONE_DAY


def test_a_replay_that_is_killed_goes_on_as_if_it_had_not_been(day_and_rules, tmp_path):
    day, rules = day_and_rules
    undisturbed = Store(":memory:")
    replayed(day, rules, undisturbed, [24.0])
    path = tmp_path / "office.db"
    program = textwrap.dedent(f"""
        import attrs
        from pathlib import Path
        from examples.port.inputs import read_day
        from examples.port.office.replay import Replay
        from examples.port.office.store import Store
        from examples.port.programs import rule_pack
        day = read_day(Path({str(DATA)!r}))
        rules = rule_pack("port", day.berths, day.gauges, day.stations)
        day = attrs.evolve(day, readings=tuple(r for r in day.readings if (r.time or 0) < day.start + 400_000_000))
        now = [0.0]
        replay = Replay(day, rules, Store({str(path)!r}), begin=day.start, speed=1.0, clock=lambda: now[0])
        while replay.step():
            now[0] += 1.0
            if now[0] == 150.0:
                print("well begun", flush=True)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"well begun\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    store = Store(str(path))
    changes, readings = contents(store)
    assert changes == contents(undisturbed)[0][: len(changes)]
    assert len(readings) > 0
    before = store.progress()[0].until
    replayed(day, rules, store, [0.0])
    assert (contents(store), store.progress()[0].until) == ((changes, readings), before)
    replayed(day, rules, store, [24.0])
    assert contents(store) == contents(undisturbed)
