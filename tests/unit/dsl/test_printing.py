"""What commands print and draw of names from outside: it does nothing to a terminal, and is no formula in a picture."""

from __future__ import annotations

import errno
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from cartesius.errors import CartesiusError
from dsl import RulePack
from dsl.__main__ import main
from dsl.command_lines import FAILED, run
from dsl.comparison import compare_command
from dsl.comparison.compare_command import CHANGED, REFUSED

HOSTILE = "\x1b[2J\u202e$x_{$\\frac[/red]\u200b"  # of what the text of rules may have in a line
QUOTED = "\\u001b[2J\\u202e$x_{$[/red]\\u200b"
RULES = f"""pack: {HOSTILE}
subject: vessel
source vessel by mmsi:
	mmsi: number
	name: text
	draught: metres

draught must be at most 12 m
	name: "{QUOTED}"
	because: {HOSTILE}
	reference: {HOSTILE}
"""
PLAIN = """pack: p
subject: vessel
source vessel by mmsi:
    mmsi: number
    name: text
    draught: metres

"""
FLAWED = RULES + f"\ndraught must be at most 15 m\n\tname: again {HOSTILE}\n"
WRONG = RULES + f"\ndraught\t{HOSTILE} must be at most 15 m\n"


@pytest.fixture
def files(tmp_path):
    """The files of rules and the folder of a history, all of them called oddly."""
    folder = tmp_path / "day\x1b[2J\u202e$x_{$"
    folder.mkdir()
    rows = [f"2020-06-30T0{hour}:00Z,1,EVA {HOSTILE},{hour}" for hour in (3, 5, 9)]
    rows = ["time,mmsi,name,draught", *rows, f'2020-06-30T09:00Z,"{HOSTILE}",EVA,1']
    (folder / "vessel.csv").write_text("\n".join(rows) + "\n")
    for name, text in (("good", RULES), ("low", RULES.replace("12 m", "4 m")), ("flawed", FLAWED), ("wrong", WRONG)):
        (folder / f"{name}\x1b]0;x\x07.rules").write_text(text)
    return {name: str(folder / f"{name}\x1b]0;x\x07.rules") for name in ("good", "low", "flawed", "wrong", "none")} | {
        "data": str(folder), "out": str(folder / "out\x1b[2J"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("check good", 0),
        ("check flawed", 1),
        ("check wrong", 1),
        ("check none", 1),
        ("describe good", 0),
        ("describe wrong", 1),
        ("edit none", 1),
        ("compare good low --data data --out out", CHANGED),
        ("compare good flawed --data data", CHANGED),
        ("compare good wrong --data data", REFUSED),
        ("compare good low --data none", REFUSED),
        ("why --rules good --subject 1 --at 2020-06-30T09:30Z --all --data data", 0),
        ("why --rules good --subject 1 --at 2020-06-30T09:30Z --json --data data", 0),
        ("why --rules good --subject none --at 2020-06-30T09:30Z --data data", 2),
        ("why --rules wrong --subject 1 --at 2020-06-30T09:30Z --data data", 2),
        ("why --packs none --subject 1 --at 2020-06-30T09:30Z --data data", 2),
    ],
)
def test_nothing_that_a_command_prints_does_anything_to_a_terminal(files, capsys, command, status):
    assert main([files.get(each, each) for each in command.split()]) == status
    printed = "".join(capsys.readouterr())
    assert printed
    assert [each for each in printed if not each.isprintable() and each != "\n"] == []
    assert Path(files["out"], "comparison.png").exists() == ("--out" in command)  # in which no name is a formula


@pytest.mark.parametrize("error", [RuntimeError("a fault"), OSError(errno.ENOSPC, "No space left on device", "x\x1b")])
def test_a_command_that_fails_does_not_end_with_a_status_that_is_an_answer(files, capsys, monkeypatch, error):
    """Python would end with 1: something changes."""

    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(compare_command, "report" if isinstance(error, RuntimeError) else "rule_text", failing)
    command = ["compare", files["good"], files["low"], "--data", files["data"]]
    with pytest.raises(SystemExit) as ended:
        run(lambda: main(command))
    said = capsys.readouterr().err
    assert ended.value.code == (FAILED if isinstance(error, RuntimeError) else REFUSED)
    assert ("Traceback" in said) == isinstance(error, RuntimeError)
    assert "\x1b" not in said
    assert FAILED not in (0, 1, 2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full, which not every system has")
@pytest.mark.parametrize("command", ["describe good", "compare good good --data data"])
def test_where_nothing_can_be_said_the_status_is_no_answer_either(command, files, monkeypatch):
    """As with a log that has both streams, on a disk that is full."""
    arguments = [files.get(each, each) for each in command.split()]
    with open("/dev/full", "w", encoding="utf-8") as out, open("/dev/full", "w", encoding="utf-8") as err:
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit, match=f"^{FAILED}$"):
            run(lambda: main(arguments))
        monkeypatch.undo()


def test_what_is_escaped_moves_no_caret():
    with pytest.raises(CartesiusError) as wrong:
        RulePack.from_text(f'{PLAIN}when name is "\u200b\u202e":\tdraught must be at most 3 kn\n')
    line, caret = next(pair for pair in pairwise(str(wrong.value).splitlines()) if set(pair[1]) == {" ", "^"})
    assert line.isprintable()
    assert "draught must be at most 3 kn".find(line[caret.index("^") : caret.rindex("^") + 1]) >= 0


def test_a_full_disk_is_told_in_a_line(files, capsys, monkeypatch):
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit, match=f"^{FAILED}$"):
            run(lambda: main(["describe", files["good"]]))
        monkeypatch.undo()
    assert capsys.readouterr().err == "error: No space left on device\n"
