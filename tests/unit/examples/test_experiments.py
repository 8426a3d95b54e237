"""The experiments: what they count is what the paper, SQL and a search over all pairs say; and what they write."""

import doctest
import random
import re
from collections import Counter
from functools import partial
from itertools import count, product
from types import SimpleNamespace

import attrs
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine
from cartesius.errors import InvalidArgument
from dsl.command_lines import INTERRUPTED
from examples import experiments
from examples.experiments import (
    Workload,
    bars,
    compare,
    comparing,
    figure8,
    late_settings,
    late_strategies,
    measuring,
    nexmark,
    pairing,
    save,
    sheets,
    ships_and_tides,
    strategies,
    summary,
    table3,
)
from examples.experiments.__main__ import main
from examples.experiments.comparing import SCHEMA
from examples.experiments.efforts import Effort
from examples.experiments.figure8 import in_order, measure, scanning
from examples.experiments.figures import new_figure
from examples.experiments.nexmark_events import events
from examples.experiments.nexmark_queries import QUERIES
from examples.experiments.nexmark_sql import answers
from examples.experiments.program_rows import ProgramRows, program
from examples.experiments.settings_workloads import LATEST, reading
from restrictions import at_most, key_by


@pytest.mark.parametrize("module", [experiments, bars, sheets], ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_run(module):
    assert doctest.testmod(module).failed == 0


# -- Table 3 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize(
    ("join", "tuples", "memory"),
    [
        ("cartesian", lambda n: n**3, lambda n: 0.55 * 3 * n),
        ("mostRecently", lambda n: 3 * n - 2, lambda n: 3),
        ("affinely", lambda n: n, lambda n: 0),
        ("zip", lambda n: n, lambda n: 0),
    ],
)
def test_table_3_has_the_counts_of_the_paper_at_any_size(join, tuples, memory, shuffled):
    n = 20 if join == "cartesian" else 600
    found = table3.measure(join, n, min(3 * n, 60), 3 * n, seed=3, shuffled=shuffled)
    if shuffled and join == "mostRecently":
        assert tuples(n) - 20 < found.tuples <= tuples(n)  # until each has come once
    else:
        assert found.tuples == tuples(n)
    if not shuffled:
        assert found.memory == pytest.approx(memory(n))
        # after each push of a round: of the product all that has come; 0, 1 or 2 of what is used once
        means = {"cartesian": (3 * n + 1) / 2, "mostRecently": 3 - 3 / (3 * n), "affinely": 1, "zip": 1}
        assert found.held == pytest.approx(means[join])
        assert found.held_most == {"cartesian": 3 * n, "mostRecently": 3}.get(join, 2)
    assert (found.held or 0) >= 1


def test_what_is_not_looked_at_has_no_mean():
    found = table3.measure("zip", 10, 10, 0, seed=3, shuffled=False)
    assert (found.held, found.held_most) == (None, None)


def test_the_formulas_give_the_figures_of_the_paper_at_its_sizes():
    paper = table3.PAPER
    assert paper["cartesian"].tuples == paper["cartesian"].events ** 3
    assert paper["cartesian"].memory == pytest.approx(0.55 * 3 * paper["cartesian"].events)
    assert paper["mostRecently"].tuples == 3 * paper["mostRecently"].events - 2
    assert {paper[one].tuples - paper[one].events for one in ("affinely", "zip")} == {0}
    assert all(table3.size_of(join, Effort.normal) == one.events for join, one in paper.items())


# -- Strategies --------------------------------------------------------------------------------------------------------


def pairs_of(trace):
    """Each reading with the setting of its key that nothing replaced before its time: a search over all pairs."""
    readings = [(value, at) for reactive, value, at in trace if reactive is reading]
    others = [(value, at) for reactive, value, at in trace if reactive is not reading]
    found = []
    for mine, at in readings:
        before = [(since, value["n"]) for value, since in others if value["key"] == mine["key"] and since <= at]
        if before:
            found.append((mine["n"], max(before)[1]))
    return found


@pytest.mark.parametrize("workload", [late_settings, ships_and_tides], ids=lambda workload: workload.name)
def test_the_truth_is_what_a_search_over_all_pairs_finds(workload):
    trace = workload.trace(300, 5)
    assert Counter(workload.truth(trace)) == Counter(pairs_of(trace))
    assert len(pairs_of(trace)) > 100


@settings(max_examples=10)
@given(st.integers(0, 2**20))
def test_nothing_is_later_than_it_is_said_to_be_and_something_is_late(seed):
    trace = late_settings.trace(400, seed)
    newest, behind = 0, []
    for _, _, at in trace:
        newest = max(newest, at)
        behind.append(newest - at)
    assert LATEST / 2 < max(behind) <= LATEST
    assert sorted(value["n"] for _, value, _ in trace) == list(range(400))


@pytest.mark.parametrize("workload", [late_settings, ships_and_tides], ids=lambda workload: workload.name)
def test_two_strategies_are_right_about_everything_and_what_the_others_give_has_its_definition(workload):
    span = 90
    table = compare(strategies(span), [workload], [200], repetitions=1, seed=11)
    rows = {row["strategy"]: row for row in table.to_pylist()}
    trace = workload.trace(200, 11)
    truth = pairs_of(trace)
    readings = [(value, at) for reactive, value, at in trace if reactive is reading]
    others = [(value, at) for reactive, value, at in trace if reactive is not reading]
    pairs = [(one, other) for one in readings for other in others if one[0]["key"] == other[0]["key"]]
    for name in ("reordered", "versioned"):
        assert (rows[name]["right"], rows[name]["missed"], rows[name]["wrong"]) == (len(truth), 0, 0)
    assert rows["cartesian"]["results"] == len(pairs)
    assert rows["band"]["results"] == sum(abs(one[1] - other[1]) <= span for one, other in pairs)
    assert rows["windowed"]["results"] == sum(one[1] // span == other[1] // span for one, other in pairs)
    keys = [Counter(value["key"] for value, _ in side) for side in (readings, others)]
    assert rows["zip"]["results"] == rows["affine"]["results"] == (keys[0] & keys[1]).total()
    assert rows["reordered"]["delay_mean"] > rows["versioned"]["delay_mean"]
    assert all(row["right"] + row["missed"] == len(truth) for row in rows.values())
    assert {row["late"] for row in rows.values()} == {0}


def test_what_is_held_at_most_was_held_at_one_time():
    reordered = strategies(90)["reordered"]
    (row,) = compare({"reordered": reordered}, [ships_and_tides], [200], repetitions=1, seed=1).to_pylist()
    engine, most = Engine(reordered(*ships_and_tides.inputs), **ships_and_tides.options), 0
    for reactive, value, at in ships_and_tides.trace(200, 1):
        engine.push(reactive, value, at=at)
        most = max(most, engine.stats.retained + engine.stats.waiting)
    assert row["held_max"] == most < row["retained_max"] + row["waiting_max"]


# -- The framework -----------------------------------------------------------------------------------------------------


def test_a_run_is_found_again_from_its_row():
    mine = {"twice": pairing(key_by(reading="key", setting="key") | at_most(2, "setting"))}
    told = []
    first = compare(mine, [late_settings], [40, 60], repetitions=2, seed=8, told=told.append)
    assert first.schema == SCHEMA
    assert first.num_rows == 4
    assert told == ["late settings, 40 events: twice"] * 2 + ["late settings, 60 events: twice"] * 2
    for row in first.to_pylist():
        (again,) = compare(mine, [late_settings], [row["size"]], repetitions=1, seed=row["seed"]).to_pylist()
        timed = {"repetition", "seconds", "events_per_second"}
        assert {k: v for k, v in again.items() if k not in timed} == {k: v for k, v in row.items() if k not in timed}
    lines = summary(first)
    assert [(line["strategy"], line["size"]) for line in lines] == [("twice", 40), ("twice", 60)]
    assert all(line["slowest"] <= line["events_per_second"] <= line["fastest"] for line in lines)


def test_right_and_missed_are_all_true_pairs_whatever_the_strategy():
    table = compare({name: strategies(60)[name] for name in ("lookup", "affine")}, [late_settings], [60], repetitions=3)
    lookup, affine = summary(table)
    assert lookup["right"] + lookup["missed"] == pytest.approx(affine["right"] + affine["missed"])
    assert sum(run["right"] for run in table.to_pylist()[::2]) == pytest.approx(3 * lookup["right"])


@pytest.mark.parametrize(("sizes", "repetitions"), [([0], 1), ([5], 0)])
def test_what_cannot_be_measured_is_refused(sizes, repetitions):
    with pytest.raises(InvalidArgument, match="sizes of at least 1, and at least 1 repetition"):
        compare({"all": pairing(None)}, [late_settings], sizes, repetitions=repetitions)
    with pytest.raises(InvalidArgument, match="needs a strategy"):
        compare({}, [late_settings], [1])


def test_each_run_is_there_as_soon_as_it_is_made():
    found = []
    told = compare({"all": pairing(None)}, [late_settings], [20], repetitions=2, told=lambda _: None, found=found)
    assert found == told.to_pylist()


def test_a_comparison_is_saved_with_a_picture_of_each_workload(tmp_path):
    unknown = Workload("nobody knows", late_settings.inputs, late_settings.trace)
    table = compare({"all": pairing(None)}, [late_settings, unknown], [20], repetitions=1)
    files = save(table, tmp_path / "new" / "mine")
    pictures = [f"mine-{name}-20.png" for name in ("late-settings", "nobody-knows")]
    assert [file.name for file in files] == ["mine.csv", "mine.parquet", *pictures]
    assert pq.read_table(files[1]).equals(table)
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files[2:])


# -- Figure 8.1 and Nexmark --------------------------------------------------------------------------------------------


def test_the_join_that_scans_gives_what_program_b_means_and_looks_at_every_row():
    rows = ProgramRows(program("B"), 12, seed=2)
    trace = in_order(rows.filling()) + in_order(rows.updates(30))
    ships, tides = {}, {}
    for source, row, _ in trace:
        (ships if source == "vessel" else tides)[row["mmsi" if source == "vessel" else "sensor"]] = row
    engine = Engine(scanning())
    before = engine.stats.visited
    for source, row, at in trace:
        engine.push(engine.inputs[source], row, at=at)
    met = {mmsi: tides[ship["destination"]] for mmsi, ship in ships.items() if ship["destination"] in tides}
    expected = {mmsi: (mmsi, ships[mmsi]["draught"] - tide["height"] <= 10) for mmsi, tide in met.items()}
    assert engine.query(next(iter(engine.outputs))) == expected
    assert engine.stats.visited - before >= 30 * 12


def test_a_speed_has_its_least_and_its_greatest():
    speed = measure("A", program("A").table(), 5, updates=4, measurements=3, seed=1)
    assert 0 < speed.least <= speed.mean <= speed.most


@pytest.mark.parametrize("seed", [1, 2])
def test_the_queries_of_nexmark_answer_what_duckdb_answers(seed):
    trace = events(1_000, seed)
    known = answers(trace)
    for query in QUERIES:
        _, rows, pushed, _ = nexmark.answered(query, trace)
        assert rows == known[query], query
        assert rows
        assert pushed


def test_a_query_is_timed_over_the_second_half_of_its_events_and_a_small_trace_more_than_once():
    for query, times in (("query 3", 62), ("query 7", 5)):
        ticks = count()
        _, _, pushed, speed = nexmark.answered(query, events(100, 1), partial(next, ticks))
        assert speed == pushed - pushed // 2  # a tick each time
        assert next(ticks) == 2 * times


# -- What the reports say ----------------------------------------------------------------------------------------------


def reported(experiment, monkeypatch, folder, seed):
    """Return the report of an experiment that has measured what is drawn."""
    draw = random.Random(seed)

    def some():
        return draw.randrange(2, 1_000)

    def compared(made, workloads, sizes, *, found, **_):
        names = [name for name in SCHEMA.names if name not in ("strategy", "workload", "size")]
        for workload, size, strategy in product(workloads, sizes, made):
            drawn = {name: some() for name in names}
            found.append({"strategy": strategy, "workload": workload.name, "size": size, **drawn})

    def answered(*_):
        return SimpleNamespace(stats=SimpleNamespace(tuples=some(), retained=some())), set(), some(), some()

    def unknown(_):
        raise ImportError

    monkeypatch.setattr(
        table3, "measure", lambda *_, **__: table3.Measured(*(some() for _ in attrs.fields(table3.Measured)))
    )
    monkeypatch.setattr(figure8, "measure", lambda name, _, rows, *__: figure8.Speed(name, rows, some(), 1, 2_000))
    monkeypatch.setattr(late_strategies, "compare", compared)
    monkeypatch.setattr(nexmark, "answered", answered)
    monkeypatch.setattr(nexmark, "answers", unknown)
    monkeypatch.setattr(sheets, "save_figure", lambda figure, path: None)
    sheet = sheets.Sheet("trial", folder, lambda _: None, lambda _: None, lambda: 0.0)
    experiment.run(sheet, Effort.quick, seed=1, repetitions=1)
    return sheet


@pytest.mark.parametrize("experiment", [table3, figure8, late_strategies, nexmark], ids=lambda each: each.__name__)
def test_what_a_report_concludes_follows_from_its_figures(experiment, monkeypatch, tmp_path):
    first, second = (reported(experiment, monkeypatch, tmp_path, seed).markdown for seed in (1, 2))
    for concluding in (r"^!\[.*\n\n\*(.*)\*$", r"^- (.*(?:\n  .*)*)", r"^(What is used once .*(?:\n.+)*)"):
        pairs = list(zip(re.findall(concluding, first, re.M), re.findall(concluding, second, re.M), strict=True))
        assert pairs or not concluding.startswith("^!")
        for one, other in pairs:
            assert one != other


def test_the_loss_of_a_join_that_scans_stands_beside_that_in_proportion_to_the_rows(monkeypatch, tmp_path):
    text = reported(figure8, monkeypatch, tmp_path, 1).markdown
    speeds = [float(line.split("|")[3]) for line in text.splitlines() if line.startswith(f"| {figure8.SCANNING} |")]
    assert f"keeps {speeds[1] / speeds[0]:.2g} from 10 to 100 rows. Who loses in proportion" in text
    assert "keeps 0.1: the dotted line" in text


def test_only_those_that_forget_nothing_are_said_to_have_no_bound(monkeypatch, tmp_path):
    text = " ".join(reported(late_strategies, monkeypatch, tmp_path, 1).markdown.split())
    said = text[text.index("- What is held tells") : text.index(": these three have no bound")]
    assert re.findall(r"\*(\w+)\*", said) == ["Cartesian", "affine", "zip"]
    assert "Right about everything, in all runs: none." in text


def test_the_fastest_and_the_slowest_query_are_those_of_the_figures(monkeypatch, tmp_path):
    text = reported(nexmark, monkeypatch, tmp_path, 1).markdown
    rows = [
        line.strip("| ").split(" | ")
        for line in text.splitlines()
        if line.startswith("| query ") and "no duckdb" in line
    ]
    rows.sort(key=lambda row: float(row[-1]))
    assert f"The fastest, {rows[-1][0]}, took {rows[-1][1]} events" in text
    assert f"the slowest, {rows[0][0]}, took {rows[0][1]} events" in text


# -- The command -------------------------------------------------------------------------------------------------------


def test_the_command_writes_a_report_with_its_tables_pictures_and_data(tmp_path):
    args = ["strategies", "--effort", "quick", "--clock", "cpu", "--repetitions", "1", "--out", str(tmp_path / "here")]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "here/report.html").read_text()
    for piece in (
        "<em>Left: a bar without",
        "<table>",
        'src="strategies-late-settings.png"',
        "versioned",
        "<h2>Strategies",
    ):
        assert piece in page
    assert "| versioned |" in (tmp_path / "here/report.md").read_text()
    table = pq.read_table(tmp_path / "here/strategies-ships-and-tides.parquet")
    assert table.schema == SCHEMA
    assert table.num_rows == 2 * 9
    assert (tmp_path / "here/strategies-ships-and-tides.csv").read_text().count("\n") == 1 + 2 * 9


@pytest.mark.slow
def test_all_experiments_run(tmp_path):
    result = CliRunner().invoke(main, ["--effort", "quick", "--repetitions", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "report.md").read_text()
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Table 3: what a restriction saves",
        "## Figure 8.1: does a rule get slower as tables grow?",
        "## Strategies: one join, nine restrictions, late events",
        "## Nexmark: queries that others are measured by",
    ]
    assert "| ours: the best of |" in text
    assert "| NO |" not in text
    assert "Wrong" not in text
    for name in ("table3-runs", "figure8-runs", "strategies-late-settings", "nexmark-runs"):
        assert pq.read_table(tmp_path / f"{name}.parquet").num_rows > 0


def test_what_is_wrong_is_said_in_a_line(tmp_path):
    unknown = CliRunner().invoke(main, ["table4"])
    assert unknown.exit_code == 2
    assert "'table4' is not one of 'table3', 'figure8', 'strategies', 'nexmark'" in unknown.output
    (tmp_path / "file").write_text("")
    blocked = CliRunner().invoke(main, ["nexmark", "--out", str(tmp_path / "file/below")])
    assert blocked.exit_code == 1
    assert blocked.output.startswith("Error: cannot write to")
    wrong = CliRunner().invoke(main, ["--effort", "mad"])
    assert wrong.exit_code == 2
    assert "'mad' is not one of 'quick', 'normal', 'full'" in wrong.output


def test_what_was_measured_before_it_is_interrupted_is_kept(tmp_path, monkeypatch):
    calls = []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return measuring.seconds(*args)

    monkeypatch.setattr(comparing, "seconds", interrupted)
    monkeypatch.setitem(nexmark.SIZE, Effort.quick, 100)
    args = ["nexmark", "strategies", "table3", "--effort", "quick", "--repetitions", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == INTERRUPTED
    assert "interrupted; what was measured until then is in" in result.output
    text = (tmp_path / "report.md").read_text()
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Nexmark: queries that others are measured by",
        "## Strategies: one join, nine restrictions, late events",
    ]
    assert "**Interrupted here.**" in text
    assert pq.read_table(tmp_path / "strategies-late-settings.parquet")["strategy"].to_pylist() == [
        "cartesian", "latest", "lookup"
    ]  # fmt: skip


def test_an_answer_that_is_not_the_databases_fails_the_command(tmp_path, monkeypatch):
    monkeypatch.setitem(nexmark.SIZE, Effort.quick, 200)
    monkeypatch.setattr(nexmark, "answers", lambda trace: {**answers(trace), "query 8": set()})
    result = CliRunner().invoke(main, ["nexmark", "--effort", "quick", "--repetitions", "1", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "Error: nexmark: query 8 does not answer what DuckDB does" in result.output
    assert "**Wrong: query 8" in (tmp_path / "report.md").read_text()


def test_a_sheet_is_shown_in_a_notebook_with_its_pictures_and_escapes_what_it_says(tmp_path):
    sheet = sheets.Sheet("trial", tmp_path, lambda _: None, lambda _: None, lambda: 0.0)
    sheet.say("## What <script>alert(1)</script> costs")
    sheet.table([["<b>", 1234567]], "strategy", "events")
    sheet.picture("speed", new_figure(1, 1), "nothing to see", "An *empty* picture")
    html = sheet._repr_html_()
    assert "<h2>What &lt;script&gt;alert(1)&lt;/script&gt; costs</h2>" in html
    assert '<td>&lt;b&gt;</td>\n<td style="text-align:right">1,234,567</td>' in html
    assert 'src="data:image/png;base64,iVBOR' in html
    assert "trial-speed.png" not in html
