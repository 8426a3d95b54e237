"""The command `python -m dsl`, and that no text, however wrong or hostile, does anything but be refused."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dsl import DimensionMismatch, InvalidRule, RulePack, UnknownField
from dsl.__main__ import main
from dsl.declarations.admission import DEEPEST_NAMED, LARGEST
from dsl.text.parsing import DEEPEST, LONGEST, LONGEST_LINE
from dsl.text.vocabulary import RESERVED
from tests.unit.dsl.test_edit_texts import HARBOUR_RULES
from tests.unit.dsl.test_rules_as_text import HARBOUR

if TYPE_CHECKING:
    from pathlib import Path

# ---------------------------------------------------------------------------------------------------------- the command


def test_check_says_that_a_file_is_in_order(capsys: pytest.CaptureFixture[str]):
    assert main(["check", str(HARBOUR_RULES)]) == 0
    assert capsys.readouterr().out == f"{HARBOUR_RULES}: <rule pack harbour over vessel, 7 statements>\n"


def test_describe_prints_the_rules_in_plain_english(capsys: pytest.CaptureFixture[str]):
    assert main(["describe", str(HARBOUR_RULES)]) == 0
    printed = capsys.readouterr().out
    assert printed.strip() == RulePack.from_text(HARBOUR_RULES.read_text(encoding="utf-8")).describe().strip()
    assert "under-keel clearance" in printed


def test_check_shows_what_is_wrong_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "wrong.rules"
    path.write_text(HARBOUR + "draught must be at most 15 kn\n", encoding="utf-8")
    assert main(["check", str(path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert (
        f'  File "{path}", line {HARBOUR.count(chr(10)) + 1}\n    draught must be at most 15 kn\n    ^^^^'
        in printed.err
    )
    assert "fix:" in printed.err


@pytest.mark.parametrize(("written", "meant"), [("kt", "kn"), ("kts", "kn"), ("NM", "nautical miles")])
def test_check_tells_a_unit_that_is_written_otherwise_elsewhere(
    written: str, meant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "elsewhere.rules"
    path.write_text(HARBOUR_RULES.read_text(encoding="utf-8").replace("45 kn", f"45 {written}"), encoding="utf-8")
    assert main(["check", str(path)]) == 1
    assert f"fix: did you mean: {meant}?" in capsys.readouterr().err


def test_what_can_be_no_history_and_no_number_of_rows_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["edit", str(HARBOUR_RULES), "--data", "nowhere"]) == 1
    assert "expected a folder with a history but there is none at nowhere" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["compare", str(HARBOUR_RULES), str(HARBOUR_RULES), "--data", ".", "--rows", "-3"])
    assert "expected a number ≥ 0 but got '-3'" in capsys.readouterr().err


def test_check_shows_rules_that_contradict_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "flawed.rules"
    text = HARBOUR_RULES.read_text(encoding="utf-8")
    path.write_text(text + "draught must be above 9 m\ndraught must be below 3 m\n", encoding="utf-8")
    assert main(["check", str(path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"{path}:{text.count(chr(10)) + 1}: contradiction: vessel.draught > 9 m\n")


@pytest.mark.parametrize("command", ["check", "describe", "edit"])
def test_a_file_that_cannot_be_read_is_an_error_in_words(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main([command, str(tmp_path / "none.rules")]) == 1
    assert "No such file or directory; name a file of rules" in capsys.readouterr().err
    assert main([command, str(tmp_path)]) == 1
    assert "Is a directory" in capsys.readouterr().err
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert main([command, str(tmp_path / "binary")]) == 1
    assert "is no text in UTF-8; save it as plain text" in capsys.readouterr().err


def test_a_file_of_a_windows_editor_reads_as_any_other(tmp_path: Path):
    path = tmp_path / "windows.rules"
    text = HARBOUR_RULES.read_text(encoding="utf-8")
    path.write_text("\ufeff" + text, encoding="utf-8", newline="\r\n")  # byte order mark, line ends
    read = RulePack.from_text(path.read_bytes().decode("utf-8"))
    assert read.statements == RulePack.from_text(text).statements
    assert main(["check", str(path)]) == 0


def test_a_port_in_use_is_an_error_in_words(capsys: pytest.CaptureFixture[str]):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["edit", str(HARBOUR_RULES), "--no-browser", "--port", port]) == 1
    assert f"cannot listen on port {port}" in capsys.readouterr().err


def test_edit_without_its_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "cartesius.pages.local_pages", raising=False)
    assert main(["edit", str(HARBOUR_RULES), "--no-browser"]) == 1
    said = "python -m dsl edit: expected the package uvicorn but it is not installed"
    assert capsys.readouterr().err == f'{said}; pip install "cartesius-joins[edit]"\n'


@pytest.mark.parametrize("arguments", [[], ["check"], ["explode", "x"], ["edit", "x", "--port", "99999"]])
def test_a_wrong_call_shows_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: python -m dsl" in capsys.readouterr().err


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert all(command in printed for command in ("check", "describe", "edit"))


def test_edit_prints_where_the_page_is_and_ends_with_an_interrupt():
    command = [sys.executable, "-m", "dsl", "edit", str(HARBOUR_RULES), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        said = running.stdout.readline()
        address = said.split(" at ")[1].split()[0]
        with urlopen(address) as page:
            assert "<title>Rules</title>" in page.read().decode()
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=30) == 0
        assert running.stderr is not None
        assert running.stderr.read() == ""
    assert address.startswith("http://127.0.0.1:")


# -------------------------------------------------------------------------------------------------------- hostile texts

WORDS = [
    *sorted(RESERVED), "draught", "vessel type", "wind velocity", "eta", "has pilot", "under-keel clearance",
    "must be", "at least", "it must hold that", "if known else", "absolute value of", "distance from", "stale after",
    "one of", "optional", "number", "text", "15 m", "3", "-2.5e3", "1e999", '"tanker"', '"', "`", "`vessel.eta`",
    "`m", "(", ")", "+", "-", "*", "/", ",", ":", "\n", "\n    ", "\n        ", "\r\n", "\t", "#", "pack:",
    "subject:", "location:", "links:", "only:", "name: x", "because:", "severity: minor", "2026-05-01 14:30Z",
    "km/h²", "°", "\\", "\0", "é", "𐍈", "__class__", "import os", "{}", "%s",
]  # fmt: skip
scraps = st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join)


@given(st.one_of(st.text(max_size=60), scraps), st.sampled_from(["", HARBOUR]))
@example("__import__('os').system('true')", HARBOUR)
@example("9" * 1900 + " m must be 1 m", HARBOUR)
@example("draught must be at most 1e400 m", HARBOUR)
@example("draught must be at most 3 `metres ** 9 * furlong ** -9 * metres ** 9`", HARBOUR)
@example("draught must be at most 3 `__import__`", HARBOUR)
@example("\ufeffpack: x", "")
@example("a" * 1900, "")
@example("draught must be\u2028 at most 3 m", HARBOUR)
def test_any_text_is_a_pack_or_is_refused(text: str, before: str):
    try:
        pack = RulePack.from_text(before + text)
    except (InvalidRule, DimensionMismatch, UnknownField):
        return
    assert RulePack.from_text(pack.to_text()).statements == pack.statements


def _doubling(times: int) -> str:
    """Definitions of which each is twice the one before: their expressions would have 2 ** times parts."""
    lines = (f"define x{number}: x{number - 1} + x{number - 1}\n" for number in range(1, times + 1))
    return "define x0: draught\n" + "".join(lines)


def _adding(times: int) -> str:
    lines = (f"define x{number}: x{number - 1} + 1 m\n" for number in range(1, times + 1))
    return "define x0: draught\n" + "".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x" * (LONGEST_LINE + 1), f"expected at most {LONGEST} characters, {LONGEST_LINE} in a line"),
        ("\n" * (LONGEST + 1), f"expected at most {LONGEST} characters"),
        ("(" * 500 + "draught" + ")" * 500 + " must be 1 m", f"expected at most {DEEPEST} parts in one another"),
        ("it must hold that " + "not " * 400 + "has pilot", f"expected at most {DEEPEST} parts in one another"),
        ("1 m" + " + 1 m" * 200 + " must be 1 m", f"expected at most {DEEPEST} parts in one another"),
        (
            "\n".join("    " * depth + "when has pilot:" for depth in range(90)),
            f"at most {DEEPEST} parts|indented lines",
        ),
        ("when has pilot, " * 99 + "when has pilot: draught must be 1 m", f"expected at most {DEEPEST} parts"),
        ("it must hold that has pilot" + " and has pilot" * 99, f"expected at most {DEEPEST} parts"),
        (_doubling(60) + "x60 must be 1 m", f"expected at most {LARGEST} parts"),
        (_adding(101) + "x101 must be 1 m", f"{DEEPEST_NAMED} in one another"),
    ],
    ids=[
        "a long line",
        "a long text",
        "parentheses",
        "not not not",
        "a long sum",
        "deep blocks",
        "many conditions",
        "a long conjunction",
        "names that double",
        "names of names",
    ],
)
def test_an_absurd_text_is_refused_in_words(text: str, message: str):
    with pytest.raises(InvalidRule, match=message):
        RulePack.from_text(HARBOUR + text)


def test_what_is_as_deep_as_allowed_is_read():
    whole = "1 m" + " + 1 m" * (DEEPEST - 4)
    assert len(RulePack.from_text(f"{HARBOUR}{whole} must be at most draught").statements) == 1


def test_a_pack_that_no_text_can_hold_is_refused_by_to_text():
    pack = RulePack.from_text(HARBOUR + "draught must be at most 9 m\n    name: " + "x" * 1900 + "\n")
    assert RulePack.from_text(pack.to_text()).statements == pack.statements
    pack = RulePack.from_text(HARBOUR + 'draught must be at most 9 m\n    name: "' + "\\u0001" * 330 + '"\n')
    with pytest.raises(InvalidRule, match="to_text of port: expected at most"):
        RulePack.from_text(HARBOUR + 'it must hold that has pilot\n    name: "' + "\x01" * 400 + '"').to_text()
    assert RulePack.from_text(pack.to_text()).statements == pack.statements


def test_texts_are_read_in_several_threads_at_once():
    text = HARBOUR + "when has pilot:\n    draught must be at most 9 m\n" * 20
    expected = RulePack.from_text(text).statements
    found: list[object] = []

    def read():
        for _ in range(5):
            try:
                found.append(RulePack.from_text(text).statements == expected)
            except InvalidRule as error:
                found.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert found == [True] * 20
