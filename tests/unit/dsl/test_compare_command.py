"""The command `python -m dsl compare`: what it prints and writes, and its exit status for CI."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from dsl import RulePack
from dsl.__main__ import main
from dsl.comparison import compare_command
from dsl.comparison.compare_command import CHANGED, REFUSED, SAME
from dsl.comparison.comparing import compare

OLD = """pack: port
subject: vessel

source vessel by mmsi:
    mmsi: number
    name: text
    draught: metres

draught must be at most 12 m
    name: draught
"""
NEW = OLD.replace("12 m", "10 m")
WORDS = OLD.replace("name: draught", "name: depth")
FLAWED = OLD + "\ndraught must be at most 15 m\n    name: again\n"
HOSTILE = "EVA\x1b[2J[red]"
ROWS = ["time,mmsi,name,draught", f"2020-06-30T00:00Z,1,{HOSTILE},13", "2020-06-30T02:00Z,1,EVA,11",
        f"2020-06-30T06:30Z,1,{HOSTILE},9"]  # fmt: skip


@pytest.fixture
def compared(tmp_path, capsys, monkeypatch):
    """Compares two texts over the rows; gives the exit status and what was printed."""
    monkeypatch.setenv("COLUMNS", "100")
    folder = tmp_path / "history"
    folder.mkdir()

    def done(old, new, *more, rows=ROWS):
        (folder / "vessel.csv").write_text("\n".join(rows) + "\n")
        for name, text in (("old", old), ("new", new)):
            (tmp_path / f"{name}.rules").write_text(text)
        paths = [str(tmp_path / f"{name}.rules") for name in ("old", "new")]
        status = main(["compare", *paths, "--data", str(folder), *more])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return done


def test_what_changes_is_printed_and_written_and_the_status_is_one(compared, tmp_path):
    status, printed, _ = compared(OLD, NEW, "--out", str(tmp_path / "out"))
    assert status == CHANGED
    assert "✓ allowed → ✗ restricted" in printed
    assert "Restricted: 2.0 vessel-hours before, 6.5 after (+4.5)" in printed
    assert "2020-06-30 02:00" in printed
    assert "+ draught" in printed
    assert r"EVA\x1b[2J[red]" in printed
    assert "\x1b[2J" not in printed
    table = pq.read_table(tmp_path / "out" / "differences.parquet")
    assert table.num_rows == 1
    assert {len(table.schema.metadata[side]) for side in (b"pack_before", b"pack_after")} == {12}
    assert (tmp_path / "out" / "comparison.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", ["restricted", "status", "reasons"])
def test_what_differs_with_the_last_rows_alone_is_told_and_fails(compared, tmp_path, kind):
    """A snapshot is a history of one moment; whatever changed, nothing did."""
    rows = [*ROWS[:1], "2020-06-30T00:00Z,1,EVA,13"]
    old, new = (OLD, WORDS) if kind == "reasons" else (OLD.replace("12 m", "14 m"), OLD)
    status, printed, _ = compared(old, new, "--fail-on", kind, "--out", str(tmp_path / "out"), rows=rows)
    assert status == CHANGED
    assert "1 of the differences begin with the last rows, and have no hours" in printed
    assert "the end" in printed
    assert "0 → 1" in printed
    table = pq.read_table(tmp_path / "out" / "differences.parquet")
    assert table.column("start") == table.column("end")


@pytest.mark.parametrize(
    ("end", "shown"),
    [
        ("2020-06-30T06:30Z", "2020-06-30 00:00   06:30 "),
        ("2020-07-01T06:30Z", "2020-06-30 00:00   2020-07-01 06:30 "),
        ("2021-06-30T06:30Z", "2020-06-30 00:00   2021-06-30 06:30 "),
    ],
)
def test_a_difference_that_ends_on_another_day_says_of_which_year(compared, end, shown):
    rows = [*ROWS[:1], "2020-06-30T00:00Z,1,EVA,11", f"{end},1,EVA,9"]
    assert shown in compared(OLD, NEW, rows=rows)[1]


def test_a_name_in_a_script_that_the_font_of_the_picture_lacks_is_told_without_a_warning(compared, tmp_path):
    """Each missing character was a warning, with a line of the program."""
    old, new = (text.replace("name: draught", "name: 喫水 🚢") for text in (OLD, NEW))
    status, printed, _ = compared(old, new, "--out", str(tmp_path / "out"))
    assert status == CHANGED
    assert "喫水 🚢" in printed


def test_any_number_of_differences_may_be_asked_for(compared):
    status, printed, _ = compared(OLD, NEW, "--rows", "9" * 30)
    assert status == CHANGED
    assert "When it differs" in printed


def test_how_far_it_is_is_a_line_a_tenth_where_nobody_looks_at_a_terminal(compared):
    _, _, aside = compared(OLD, NEW)
    rows = 2 * (len(ROWS) - 1)  # by either pack
    done = [int(line.removesuffix(f" of {rows} rows judged")) for line in aside.splitlines()]
    assert done == sorted({*done})
    assert done[-1] == rows
    assert 1 < len(done) <= 10


def test_nothing_changes_for_other_words_of_the_same_rules(compared):
    status, printed, _ = compared(OLD, f"# a remark\n{OLD}")
    assert status == SAME
    assert "✓ Nothing changes" in printed


BAD_ROW = [*ROWS[:-1], "2020-06-30T06:30Z,1,EVA,deep"]


@pytest.mark.parametrize(
    ("new", "rows", "kind"),
    [
        (NEW, ROWS, "restricted"),
        (NEW, ROWS, "status"),
        (WORDS, ROWS, "reasons"),
        (FLAWED, ROWS, "findings"),
        (OLD, BAD_ROW, "unread"),
    ],
)
def test_a_change_fails_where_it_is_asked_for_and_not_for_another(compared, new, rows, kind):
    assert compared(OLD, new, "--fail-on", kind, rows=rows)[0] == CHANGED
    others = {"restricted", "status", "reasons", "findings", "unread"} - {kind}
    if kind in {"restricted", "status"}:
        others -= {"restricted", "status"}
    asked = [part for other in sorted(others) for part in ("--fail-on", other)]
    assert compared(OLD, new, *asked, rows=rows)[0] == SAME
    assert compared(OLD, new, rows=rows)[0] == CHANGED


def test_rows_that_cannot_be_read_are_counted_and_named(compared):
    printed = compared(OLD, NEW, rows=BAD_ROW)[1]
    assert "1 rows cannot be read, and were not used:" in printed
    assert "vessel.csv, row 4: draught: expected numbers but got 'deep'" in printed


def test_rows_that_one_of_the_packs_cannot_read_are_named_for_either(tmp_path):
    length = OLD.replace("draught: metres", "length: metres").replace("draught must", "length must")
    (tmp_path / "vessel.csv").write_text(
        "time,mmsi,name,draught,length\n2020-06-30T00:00Z,1,EVA,9,90\n2020-06-30T01:00Z,1,EVA,deep,90\n"
        "2020-06-30T02:00Z,1,EVA,9,long\n2020-06-30T03:00Z,1,EVA,9,long\n"
    )
    found = compare(RulePack.from_text(OLD), RulePack.from_text(length), tmp_path)
    assert found.number_unread == 3
    assert sorted((each.row, each.why.partition(":")[0]) for each in found.unread) == [
        (3, "draught"), (4, "length"), (5, "length")
    ]  # fmt: skip


def test_hours_in_which_two_rules_of_one_name_restrict_count_once(tmp_path):
    unnamed = OLD.replace("    name: draught\n", "")
    twice = unnamed + "\nwhen draught is above 1 m:\n    draught must be at most 12 m\n"
    (tmp_path / "vessel.csv").write_text(
        "time,mmsi,name,draught\n2020-06-30T00:00Z,1,EVA,13\n2020-06-30T02:00Z,1,EVA,9\n"
    )
    (rule,) = compare(RulePack.from_text(unnamed), RulePack.from_text(twice), tmp_path).rules
    assert (rule.before, rule.after) == (2, 2)


@pytest.mark.parametrize(
    ("new", "more", "rows", "said"),
    [
        (OLD.replace("draught must", "draft must"), (), ROWS, "new.rules"),
        (OLD.replace("draught: metres", "depth: metres").replace("draught must", "depth must"), (), ROWS, "'depth'"),
        (OLD.replace("by mmsi", "by name"), (), ROWS, "expected two packs of one subject"),
        (OLD, ("--fail-on", "statuss"), ROWS, "did you mean 'status'?"),
        (OLD, (), ROWS[:1], "expected a history with rows"),
        (OLD, (), ["time,mmsi", "x"], "expected the column 'name'"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_two(compared, new, more, rows, said):
    status, printed, refused = compared(OLD, new, *more, rows=rows)
    assert (status, printed) == (REFUSED, "")
    assert said in refused
    assert "Traceback" not in refused
    assert refused.count("compare: ") == 1


def test_a_file_of_rules_that_is_not_there_or_is_no_text_is_refused(compared, tmp_path, capsys):
    compared(OLD, NEW)
    there, wrong = str(tmp_path / "old.rules"), tmp_path / "wrong.rules"
    for said in ("No such file or directory; name a file of rules", "is no text in UTF-8; save it as plain text"):
        for pair in ([there, str(wrong)], [str(wrong), there]):
            assert main(["compare", *pair, "--data", str(tmp_path / "history")]) == REFUSED
            assert f"compare: {wrong}: {said}" in capsys.readouterr().err
        wrong.write_bytes(b"\xff")


@pytest.mark.parametrize("below", ["", "below"])
def test_where_nothing_can_be_written_nothing_is_judged(compared, tmp_path, below):
    file = tmp_path / "file"
    file.write_text("kept")
    status, printed, refused = compared(OLD, NEW, "--out", str(file / below))
    assert (status, printed) == (REFUSED, "")
    assert f"compare: cannot write to {file / below}: " in refused
    assert "rows judged" not in refused
    assert file.read_text() == "kept"


def test_a_folder_in_place_of_a_picture_is_refused_before(compared, tmp_path):
    (tmp_path / "out" / "comparison.png").mkdir(parents=True)
    status, printed, refused = compared(OLD, NEW, "--out", str(tmp_path / "out"))
    assert (status, printed) == (REFUSED, "")
    assert "comparison.png: Is a directory; choose another --out" in refused


def test_what_cannot_be_written_after_all_is_no_change(compared, tmp_path, monkeypatch):
    """A disk may be full; 1 would be read as: something changes."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compare_command, "draw", full)
    status, _, refused = compared(OLD, NEW, "--out", str(tmp_path / "out"))
    assert status == REFUSED
    assert "compare: [Errno 28] No space left on device" in refused


def test_a_file_that_is_not_there_is_refused(compared, tmp_path):
    status, _, refused = compared(OLD, OLD, "--data", str(tmp_path / "nowhere"))
    assert status == REFUSED
    assert "expected a folder with a file for each source" in refused
