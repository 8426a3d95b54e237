"""The speed figures: their arithmetic, what is timed against what, and the command that prints them."""

from __future__ import annotations

import json

import attrs
import pyarrow as pa
import pytest
from click.testing import CliRunner

from bench import growth, ours, speed
from bench.__main__ import main, scaled
from bench.arrow_rows import n_events, push_all, pushes, rows
from bench.figures import BOUNDS, BY_HAND, COMPILED, IN_PLACE, Bound, Figure, as_data, figure_of, figures
from bench.figures import growth as growth_of
from bench.orientation import Fact
from bench.program_cases import FIELDS, pack_workload
from bench.sheets import BEGIN, END, Sheet, write
from bench.speed_shown import Report
from bench.table_loops import ProgramB
from bench.timing import Disagreement, Runs, Side, race
from bench.workloads import stream_workloads
from cartesius import Engine
from examples.experiments.program_rows import PROGRAMS, ProgramRows, program

SMALL = attrs.evolve(
    scaled(speed.QUICK, 0.001), rows=(10, 20), program_batch=20, program_pushed=10, pack=12, pack_pushed=6
)


def runs_of(name, n, *seconds):
    return Runs(name, n, list(seconds))


# -- arithmetic --------------------------------------------------------------------------------------------------------


def test_a_figure_is_the_ratio_of_the_median_rates_and_has_one_ratio_a_repetition():
    bound = Bound("ours against theirs", 2.0, "ours", "theirs", ("w",), aim=4)
    ours_, theirs = runs_of("ours", 100, 1.0, 2.0, 4.0), runs_of("theirs", 10, 1.0, 0.5, 0.25)
    figure = figure_of(bound, "w", ours_, theirs)
    assert figure.ratio == (100 / 2) / (10 / 0.5)
    assert figure.ratios == (10.0, 2.5, 0.625)
    assert figure.spread == (0.625, 10.0)
    assert figure.is_kept
    assert not attrs.evolve(figure, least=2.6).is_kept
    assert as_data(figure)["median_of_ratios"] == 2.5
    assert as_data(figure)["is_kept"]


def test_growth_divides_what_size_costs_us_by_what_it_costs_by_hand():
    small = {"ours": runs_of("ours", 10, 1.0, 1.0, 2.0), "theirs": runs_of("theirs", 10, 1.0, 1.0, 1.0)}
    large = {"ours": runs_of("ours", 10, 2.0, 4.0, 4.0), "theirs": runs_of("theirs", 10, 2.0, 2.0, 4.0)}
    figure = growth_of(small, large, "ours", "theirs", (10, 1_000))
    assert figure.ratio == (1 / 4) / (1 / 2)
    assert figure.ratios == (1.0, 0.5, 2.0)
    assert not figure.is_kept
    assert "1,000 rows against 10 rows" in figure.figure


def test_every_row_of_the_table_of_the_issue_is_measured_where_it_is_asked_for():
    labels = {label for bound in BOUNDS for label in bound.labels}
    assert labels <= set(speed.NAME_OF)
    assert len(BOUNDS) + 1 == 10  # and program B
    assert {bound.least for bound in BOUNDS} == {0.5, 5, 25, 2.5, 0.7, 0.4, 0.6, 10}


def test_figures_are_given_of_what_was_measured_only():
    measured = {"keyed latest": {COMPILED: runs_of(COMPILED, 9, 1.0), BY_HAND: runs_of(BY_HAND, 9, 3.0)}}
    (figure,) = figures(measured)
    assert (figure.least, figure.aim, figure.ratio, figure.workload) == (2.5, 6, 3.0, "keyed latest")


# -- timing ------------------------------------------------------------------------------------------------------------


def test_sides_alternate_and_are_prepared_anew():
    log = []

    def side(name):
        def prepare():
            log.append(f"prepare {name}")
            return lambda: log.append(f"run {name}") or 3

        return Side(name, 5, prepare)

    found = race([side("a"), side("b")], 2)
    assert log == ["prepare a", "run a", "prepare b", "run b"] * 3  # once to warm up
    assert found["a"].results == 3
    assert len(found["b"].rates) == 2


def test_sides_that_disagree_are_found_out():
    def side(name, result):
        return Side(name, 5, lambda: lambda: result)

    with pytest.raises(Disagreement, match="3 results of b, 2 of a"):
        race([side("a", 2), side("b", 3)], 1)

    def table(value, start):
        return pa.table({"value": pa.array([value]), "start": [start], "end": [9]})

    with pytest.raises(Disagreement, match="the results of b and a differ"):
        race([side("a", table(1, 2)), side("b", table(2, 2))], 1)
    with pytest.raises(Disagreement, match="the times of the results of b and a differ"):
        race([side("a", table(1, 2)), side("b", table("allowed", 3))], 1)
    race([side("a", table(1, 2)), side("b", table("allowed", 2))], 1)


def test_what_would_take_too_long_event_by_event_gets_fewer_events(monkeypatch):
    monkeypatch.setattr(ours, "SAMPLE", 20)
    workload = stream_workloads(300, 10, 5, seed=1)["zip, round robin"]()
    assert ours.fitting_pushes(workload, "in_place", 200, patience=60).n == 200
    assert ours.fitting_pushes(workload, "in_place", 500, patience=60).n == 300
    assert ours.fitting_pushes(workload, "in_place", 300, patience=1e-9).n == 20


# -- what is timed -----------------------------------------------------------------------------------------------------


def test_program_b_by_hand_gives_the_statuses_of_ours_row_by_row_and_in_batches():
    pack = program("B")
    made = ProgramRows(pack, 12, seed=5)
    before, batch = made.filling(), made.updates(150)
    engine = Engine(pack.table(), tier="reference")
    join = ProgramB()
    found = 0
    for each in (before, batch):
        ours_ = [
            (event.value.key, event.value.value.status, event.start, event.end)
            for event in push_all(engine, pushes(each, engine.inputs))
        ]
        theirs = join.take(each)
        assert [(key, value, start, end) for key, _, value, start, end in rows(theirs)] == ours_
        found += len(ours_)
    assert found > 30
    assert {status for status in join.shown.values()} == {"allowed", "restricted"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_row_of_a_program_matches_one_row_of_every_other_table(name):
    pack = program(name)
    made = ProgramRows(pack, 10, seed=2)
    engine = Engine(pack.table())
    push_all(engine, pushes(made.filling(), engine.inputs))
    assert engine.stats.retained == 10 * len(pack.sources)
    assert not [verdict for verdict in engine.query(pack.table()).values() if verdict.status == "unknown"]
    assert n_events(made.updates(25)) == 25


def test_an_event_of_the_pack_changes_five_fields_of_one_ship():
    _, workload = pack_workload(40, 60, seed=3, ships=4)
    known = {row["id"]: row for row in (workload.before or {})["ship"].to_pylist()}
    for row in workload.batch["ship"].to_pylist():
        before = known[row["id"]]
        changed = [field for field in FIELDS if row[field] != before[field]]
        assert len(changed) == 5
        assert "f0" in changed
        assert all(row[field] == (before[field] + 4.5) % 19 + 0.5 for field in changed)
        known[row["id"]] = row


def test_all_workloads_are_raced_and_all_sides_of_one_agree():
    told = []
    found = list(speed.measure(SMALL, 1, seed=2, tell=told.append))
    assert [one.workload for one in found] == list(speed.NAME_OF)
    assert {bound.figure for bound in BOUNDS} == {
        figure.figure for figure in figures({one.workload: one.runs for one in found})
    }
    assert any("keyed latest" in line for line in told)
    only = list(speed.measure(SMALL, 1, seed=2, only=frozenset({"zip"})))
    assert [one.workload for one in only] == ["zip, round robin", "zip, random"]


def test_programs_are_measured_at_each_size_and_b_beside_its_join_by_hand():
    a, b = growth.measure(SMALL, 2, seed=1, programs="AB")
    assert list(a.at) == list(b.at) == [10, 20]
    assert set(a.at[10]) == {COMPILED, IN_PLACE}
    assert a.figures == []
    assert [figure.ours for figure in b.figures] == [IN_PLACE, COMPILED]
    assert all(len(figure.ratios) == 2 for figure in b.figures)


def test_sizes_that_cannot_be_filled_in_time_are_left_out():
    told = []
    (b,) = growth.measure(attrs.evolve(SMALL, patience=0), 1, seed=1, programs="B", tell=told.append)
    assert (b.at, b.figures) == ({}, [])
    assert "given up" in told[-2]


def test_a_profile_says_where_the_time_goes():
    missed = Figure("in place", "zip, random", 5, None, 1.0, (1.0,), IN_PLACE)
    (found,) = speed.profiles([missed, missed], SMALL, seed=1)
    assert (found.workload, found.side) == ("zip, random", IN_PLACE)
    assert 3 < len(found.spent) <= 10
    assert all(0 < one.own <= one.inside <= 1.01 and one.calls for one in found.spent)
    assert any(one.function.startswith("cartesius/") for one in found.spent)


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_prints_the_table_and_writes_it_as_data_and_into_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(speed, "QUICK", SMALL)
    page, data = tmp_path / "page.md", tmp_path / "figures.json"
    page.write_text(f"before\n{BEGIN}\nWHAT WAS\n{END}\nafter\n")
    options = ["--quick", "--only", "keyed", "--only", "orientation", "--repetitions", "1", "--sizes", "10,20"]
    run = CliRunner().invoke(main, [*options, "--json", str(data), "--markdown", str(page)], env={"COLUMNS": "200"})
    assert run.exit_code == 0, run.output
    for shown in ("share of the numpy floor", "keyed latest", "push, reference", "bytes per retained event", "pint"):
        assert shown in run.stdout
    found = json.loads(data.read_text())
    assert {each["workload"] for each in found["figures"]} == {"keyed latest"}
    assert found["speed"][0]["runs"]["numpy"]["n"] == found["speed"][0]["runs"]["by hand"]["n"]
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "WHAT WAS" not in text
    assert "| figure | on | at least | measured | spread | ok? |" in text


def test_what_was_measured_is_printed_when_the_run_is_interrupted(monkeypatch, tmp_path):
    measured = speed.Measured(
        "band", "compiled", {COMPILED: runs_of(COMPILED, 9, 1.0), BY_HAND: runs_of(BY_HAND, 9, 8.0)}
    )

    def interrupted(*_, **__):
        yield measured
        raise KeyboardInterrupt

    monkeypatch.setattr(speed, "measure", interrupted)
    page = tmp_path / "page.md"
    run = CliRunner().invoke(main, ["--only", "speed", "--markdown", str(page)], env={"COLUMNS": "200"})
    assert run.exit_code == 130
    assert "interrupted" in run.stderr
    assert "8.00" in run.stdout
    assert not page.exists()  # a page keeps its figures


def test_the_command_says_what_it_takes():
    run = CliRunner().invoke(main, ["--help"], env={"COLUMNS": "200"})
    assert run.exit_code == 0
    for option in ("--only", "--quick", "--scale", "--json", "--markdown", "--repetitions"):
        assert option in run.output
    for name in ("speed", "keyed", "programs", "tables", "memory", "rules"):
        assert name in run.output


@pytest.mark.parametrize(
    "options", [["--only", "nothing"], ["--repetitions", "0"], ["--scale", "2"], ["--scale", "0"], ["--clock", "sun"]]
)
def test_options_that_are_none_are_refused(options):
    run = CliRunner().invoke(main, options)
    assert run.exit_code == 2
    assert "Error" in run.output


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing")
    run = CliRunner().invoke(main, ["--only", "speed", "--markdown", str(page)])
    assert run.exit_code == 2
    assert "expected the lines" in run.output
    run = CliRunner().invoke(main, ["--only", "rules", "--markdown", str(tmp_path / "new.md")])
    assert run.exit_code == 2
    assert "--only speed" in run.output


def test_data_that_cannot_be_written_are_refused_before_anything_is_measured(tmp_path):
    (tmp_path / "file").touch()
    run = CliRunner().invoke(main, ["--only", "speed", "--json", str(tmp_path / "file" / "data.json")])
    assert run.exit_code == 2
    assert "File exists; choose another --json" in run.output


def test_a_page_without_marks_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(ValueError, match="expected the lines"):
        write(page, "figures")
    assert page.read_text() == "nothing"
    write(tmp_path / "new.md", "figures")
    write(tmp_path / "new.md", "others")
    assert (tmp_path / "new.md").read_text() == f"{BEGIN}\n\nothers\n\n{END}\n"


def test_a_bar_in_a_cell_is_no_column():
    assert Sheet("t", ("a", "b"), (("x|y", "1"),)).as_markdown().splitlines()[2:] == [
        "| a | b |",
        "| --- | --: |",
        "| x\\|y | 1 |",
    ]


def test_a_fact_keeps_its_bound_if_it_is_that_at_most():
    assert Fact("bytes", 64, "B", 64).is_kept
    assert not Fact("bytes", 65, "B", 64).is_kept
    assert Fact("time", 65, "ms").is_kept
    (sheet,) = Report(5, "wall", facts=[Fact("bytes", 65, "B", 64, "a note")]).sheets()
    assert sheet.rows == (("bytes", "65 B", "≤ 64", "NO", "a note"),)
