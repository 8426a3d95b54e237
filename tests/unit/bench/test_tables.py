"""The benchmark of tables measures what it says: both sides hold and emit the same, also where rows are deleted."""

from __future__ import annotations

import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial

import pytest
from click.testing import CliRunner

from bench import memory, rules
from bench.__main__ import main
from bench.table_cases import CASES, GROUP, Rows
from bench.tables import Filled, measure, theirs
from cartesius import Delete, Engine, Reactive, Update

KEYS = range(6)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_dict_join_gives_the_same_changes_as_ours(case):
    draw = random.Random(7)
    rows = Rows(len(KEYS), 7, case.berths)
    tables = [Reactive(f"table {number}", table=True) for number in range(case.inputs)]
    output = case.ours(*tables)
    engine, plain = Engine(output), case.theirs()
    some = rows.first(case.inputs)
    for _ in range(100):
        number, update = draw.choice(some)
        change = update if draw.random() < 0.7 else Delete(update.key)
        ours = [event.value for event in engine.push(tables[number], change)]
        theirs = (plain.left, plain.right)[number](change)
        assert sorted(map(repr, ours)) == sorted(map(repr, theirs))
        some += rows.updates(2, range(case.inputs))
        if output.table:
            assert engine.query(output) == plain.result()


def test_the_figures_are_counted_at_every_size_and_both_sides_agree():
    told = []
    figures = list(measure((10, 30), updates=8, repetitions=2, seed=1, tell=told.append))
    assert [figure.name for figure in figures] == [case.name + name for case in CASES for name in case.timed]
    for figure in figures:
        assert figure.is_complete
        assert figure.visits_the_same
        assert len(figure.visits) == len(figure.ratios) == 2
        assert figure.is_flat == (figure.ratio >= 0.8)
        assert all(at.events == 16 and len(at.ours) == len(at.theirs) == 2 for at in figure.at.values())
    assert "reduce: filling with 30 rows a table" in told


def test_a_size_that_cannot_be_filled_in_time_is_left_out_and_misses_its_bounds():
    figure = next(measure((10, 30_000), updates=2, repetitions=1, seed=1, patience=0.01))
    assert list(figure.at) == [10]
    assert not figure.is_complete
    assert not figure.is_flat
    assert not figure.visits_the_same


def test_updates_leave_every_row_one_partner_and_groups_their_size():
    for berths, names in (("one each", list(range(20))), ("by group", [key // GROUP for key in range(20)])):
        rows = Rows(20, 1, berths)
        table = dict((change.key, change.value) for number, change in rows.first(1))
        for number, change in rows.updates(50, [0]):
            assert number == 0
            assert table[change.key].berth != change.value.berth
            table[change.key] = change.value
        assert sorted(row.berth for row in table.values()) == names


def test_the_updates_of_each_row_concern_each_row_once():
    updates = Rows(10, 1, "none").update_of_each(2)
    assert sorted((number, update.key) for number, update in updates) == [(i, k) for i in range(2) for k in range(10)]
    assert all(isinstance(update, Update) for _, update in updates)


def test_memory_is_measured_beyond_what_was_pushed():
    both = memory.hold("inner_join", 40, 1, 60, updates=True)
    assert both.filled is not None
    assert both.updated is not None
    assert 50 < both.filled < both.updated + 50 < 1000
    assert both.is_within == (both.filled <= 250)
    assert not memory.Held("inner_join", 40, None).is_within


def test_a_worker_that_the_system_kills_ends_the_measurement_of_memory(monkeypatch):
    """Neither it nor the others are left behind."""
    kept = multiprocessing.active_children()
    monkeypatch.setattr(ProcessPoolExecutor, "submit", killing(ProcessPoolExecutor.submit))
    with pytest.raises(BrokenProcessPool):
        list(memory.measure(10, 10, 1, workers=2))
    assert multiprocessing.active_children() == kept


def killing(submit):
    """Kills all workers once both are there: while it starts others, a pool cannot always end."""
    kept = {*multiprocessing.active_children()}

    def then_kill(*asked, **options):
        found = submit(*asked, **options)
        workers = {*multiprocessing.active_children()} - kept
        for worker in workers if len(workers) > 1 else ():
            worker.kill()
        return found

    return then_kill


def test_the_command_prints_figures_and_verdicts(monkeypatch):
    monkeypatch.setattr(memory, "HOLDINGS", {"combine_updates": memory.HOLDINGS["combine_updates"]})
    for name in ("growing", "programs"):
        monkeypatch.setattr(rules, name, partial(getattr(rules, name), ships=5))
    small = ["--only", "tables", "--only", "memory", "--only", "rules", "--sizes", "10,20", "--repetitions", "2"]
    small += ["--updates", "4", "--workers", "1", "--memory-rows", "10", "--updated-rows", "10", "--rule-events", "5"]
    run = CliRunner().invoke(main, small, env={"COLUMNS": "200"})
    assert run.exit_code == 0, run.output
    for shown in ("one rule", "foreign_join, left", "foreign_join, right", "reduce by", "combine_updates", "yes"):
        assert shown in run.output


@pytest.mark.parametrize("sizes", ["ten", "1,10", "10,", f"10,{10**30}"])
def test_sizes_that_are_none_are_refused(sizes):
    run = CliRunner().invoke(main, ["--sizes", sizes])
    assert run.exit_code == 2
    assert "Invalid value for '--sizes'" in run.output


def test_a_total_is_compared_also_when_the_last_updates_give_nothing():
    (case,) = (case for case in CASES if case.name == "reduce")
    both = Filled(case, 10, 1, 60)
    both.check()  # before any update
    pushes = both.rows.updates(4, (0,))
    for _ in range(2):  # the second time nothing changes
        _, changes = both.ours(pushes)
        assert changes == theirs(both.plain, pushes)[1]
        both.check()
    assert changes == 0
