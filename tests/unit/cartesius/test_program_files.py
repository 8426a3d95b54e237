"""A user's program is run as Python runs it, its engines record, and what cannot be shown says what to do."""

from __future__ import annotations

import gc
import json
import py_compile
import sys
import textwrap
from datetime import timedelta
from pathlib import Path
from zipfile import ZipFile

import pytest
import uvicorn
from starlette.testclient import TestClient

from cartesius import Engine
from cartesius.__main__ import main
from cartesius.core.engine_core import EngineCore
from cartesius.errors import InvalidArgument
from cartesius.show.program_files import ProgramFailed, fed, located, ran, recordings_of
from cartesius.show.recordings import recording_of
from cartesius.show.replays import Replay
from cartesius.show.show_answers import Answers
from cartesius.show.showing import page_of

GOODS = """
    import sys
    from cartesius import Engine, Reactive, correlate, run
    from restrictions import affinely, cartesian

    order, stock = Reactive("order"), Reactive("stock")
    goods = cartesian(order, stock, restrict=affinely("stock"))

    def told(*values):
        engine = Engine(goods)
        for value in values:
            engine.push(order, value)
        return engine

    if __name__ == "__main__":
        first = told(*sys.argv[1:])
        second = told(1, 2)
        for n in range(3):
            run(goods, [(stock, n)])
        empty = Engine(goods)
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="program.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return str(path)

    return write


def values(recording):
    return [call.event.value for call in recording.calls]


def test_each_engine_that_took_something_is_shown_and_the_last_first(write):
    program, name = ran(write(GOODS), ["x", "y"])
    recordings, chosen = recordings_of(program, name)
    assert [values(one) for one in recordings] == [["x", "y"], [1, 2], [2]]
    assert chosen == 2
    assert [one.title for one in recordings] == [
        "line 16: first = told(*sys.argv[1:])",
        "line 17: second = told(1, 2)",
        "line 19: run(goods, [(stock, n)])",
    ]


BUILT = """
    from cartesius import Engine, Reactive
    from restrictions import cartesian
    a = Reactive("a")
    both = cartesian(a, Reactive("b"))

    def build(n):
        engine = Engine(both)
        engine.push(a, n)
        return engine

    def main():
        first = build(1)
        second = build(2)
        third = Engine(both)
        third.push(a, 3)

    if __name__ == "__main__":
        main()
"""


def test_engines_built_one_after_the_other_are_all_kept(write):
    engines = "".join(f"e{n} = Engine(both)\ne{n}.push(a, {n})\n" for n in range(3))
    text = textwrap.dedent(BUILT).partition("def main")[0] + engines
    recordings, _ = recordings_of(ran(write(text), [])[0], "")
    assert [values(one) for one in recordings] == [[0], [1], [2]]


def test_engines_are_called_by_a_line_of_their_own_and_numbered_where_there_is_none(write):
    recordings, _ = recordings_of(ran(write(BUILT), [])[0], "")
    assert [(values(one), one.title) for one in recordings] == [
        ([1], "line 13: first = build(1)"),
        ([2], "line 14: second = build(2)"),
        ([3], "line 15: third = Engine(both)"),
    ]
    alone = textwrap.dedent(BUILT).partition("    second")[0]
    recordings, _ = recordings_of(ran(write(f"{alone}main()\n"), [])[0], "")
    assert [one.title for one in recordings] == ["line 8: engine = Engine(both)"]
    text = textwrap.dedent(BUILT) + "    main()\n    Engine(both).push(a, 4)"
    recordings, _ = recordings_of(ran(write(text, "again.py"), [])[0], "")
    assert [(values(one), one.title) for one in recordings] == [
        ([1], "line 8: engine = Engine(both)"),
        ([2], "line 8: engine = Engine(both) (2)"),
        ([3], "line 15: third = Engine(both)"),
        ([1], "line 8: engine = Engine(both) (3)"),
        ([2], "line 8: engine = Engine(both) (4)"),
        ([3], "line 15: third = Engine(both) (2)"),
        ([4], "line 21: Engine(both).push(a, 4)"),
    ]


HELPED = """
    import os
    import sys
    from cartesius import Engine, Reactive
    from restrictions import cartesian
    a = Reactive("a")
    engine = Engine(cartesian(a, Reactive("b")))
    engine.push(a, (__name__, sys.argv[1:]))
"""


def made(kind, write, folder):
    """Return how a program is called, of a kind that Python runs."""
    path = Path(write(HELPED, "some_program.py"))
    if kind == "zip":
        with ZipFile(folder / "app.pyz", "w") as file:
            file.writestr("__main__.py", f"import beside_main{path.read_text()}")
            file.writestr("beside_main.py", "")
        return str(folder / "app.pyz")
    if kind == "compiled":
        return py_compile.compile(str(path), str(folder / "program.pyc"), doraise=True)
    if kind == "zipped module":
        with ZipFile(folder / "library.zip", "w") as file:
            file.write(path, "zipped_program.py")
        sys.path.insert(0, str(folder / "library.zip"))
        return "zipped_program"
    return str(path.rename(folder / "without_suffix"))


@pytest.mark.parametrize("kind", ["zip", "compiled", "zipped module", "without a suffix"])
def test_whatever_python_runs_is_run(write, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(sys, "path", [*sys.path])
    program, name = ran(f"{made(kind, write, tmp_path)}:engine", ["x"])
    recordings, chosen = recordings_of(program, name)
    assert values(recordings[chosen]) == [("__main__", ["x"])]
    assert recordings[chosen].title.startswith("line 7: ")


def test_a_module_finds_its_package_and_what_is_beside_a_file_comes_first(write, tmp_path, monkeypatch):
    folder = tmp_path / "its_package"
    folder.mkdir()
    (folder / "helper_of_program.py").write_text("word = 'inside'")
    (folder / "__main__.py").write_text("from .helper_of_program import word\nfrom . import helper_of_program\n")
    monkeypatch.syspath_prepend(tmp_path)
    program, _ = ran("its_package", [])
    assert program.main.word == "inside"
    assert program.main.__spec__ is not None
    assert (program.main.__spec__.name, program.main.__package__) == ("its_package.__main__", "its_package")
    monkeypatch.syspath_prepend(folder)  # it has a helper of the same name
    write("word = 'beside'", "helper_of_program.py")
    program, _ = ran(write("from helper_of_program import word"), [])
    sys.modules.pop("helper_of_program")
    assert program.main.word == "beside"


def test_a_program_may_go_elsewhere(write, tmp_path, monkeypatch):
    write("word = 'beside'", "helper_of_program.py")
    write("import os\nos.mkdir('other')\nos.chdir('other')\n")
    monkeypatch.chdir(tmp_path)
    program, _ = ran("program.py", [])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with program.in_place():
        assert __import__("helper_of_program").word == "beside"
    sys.modules.pop("helper_of_program")
    assert Path(program.path) == tmp_path / "program.py"


PICKLED = """
    from __future__ import annotations

    import pickle
    import sys
    from dataclasses import dataclass
    from typing import get_type_hints
    from cartesius import Engine, Reactive, correlate

    @dataclass
    class Ship:
        crew: Crew

    @dataclass
    class Crew:
        size: int

    def body(a, b):
        get_type_hints(Ship)
        return pickle.loads(pickle.dumps(a)), b, sys.argv[1]

    a, b = Reactive("a"), Reactive("b")
    engine = Engine(correlate(a=a, b=b, yields=body, name="both"))
    engine.push(a, Ship(Crew(7)), at=1)
    engine.push(b, 2, at=2)
"""


def test_while_it_is_made_again_python_finds_the_program_as_when_it_ran(write):
    main, argv, path = sys.modules["__main__"], sys.argv, list(sys.path)
    program, name = ran(write(PICKLED), ["x"])
    recordings, chosen = recordings_of(program, name)
    with program.in_place():
        opened = Answers(recordings, chosen, "test").open({"run": 0})
    assert (opened["failure"], opened["steps"]) == ("", 2)
    page = page_of(recordings, chosen, "test", program.in_place)
    assert page.answers["open"]({"run": 0}) == opened
    assert (sys.modules["__main__"], sys.argv, sys.path) == (main, argv, path)


def test_the_names_of_a_program_that_was_ended_are_known(write):
    program, name = ran(f"{write(textwrap.dedent(GOODS) + '    raise KeyboardInterrupt')}:second", [])
    recordings, chosen = recordings_of(program, name)
    assert values(recordings[chosen]) == [1, 2]


@pytest.mark.parametrize(("name", "expected"), [("first", []), ("second", [1, 2]), ("goods", [2]), ("empty", [])])
def test_a_name_says_which(write, name, expected):
    program, given = ran(f"{write(GOODS)}:{name}", [])
    recordings, chosen = recordings_of(program, given)
    assert values(recordings[chosen]) == expected


def test_the_program_sees_what_python_shows_it_and_leaves_nothing_behind(write, capsys):
    write("word = 'beside'", "helper_of_program.py")
    path = write(
        """
        import sys
        import helper_of_program
        print(__name__, sys.argv[1:], helper_of_program.word, __file__ == sys.argv[0])
        sys.exit("enough")
        """
    )
    before = list(sys.argv), list(sys.path)
    ran(path, ["-x", "1"])
    out, err = capsys.readouterr()
    assert out == "__main__ ['-x', '1'] beside True\n"
    assert err == f"{path} ended itself: enough\n"
    assert (sys.argv, sys.path) == before
    assert EngineCore.watch is None
    assert sorted(one.name for one in Path(path).parent.glob("**/*.pyc"))[1:] == []  # that of the helper alone
    sys.modules.pop("helper_of_program")


def test_ctrl_c_ends_a_program_that_would_go_on_and_what_came_is_shown(write):
    path = write(textwrap.dedent(GOODS).replace("second = told(1, 2)", "raise KeyboardInterrupt"))
    recordings, chosen = recordings_of(ran(path, ["x"])[0], "")
    assert values(recordings[chosen]) == ["x"]


def test_an_exception_of_the_program_is_told_from_its_own_first_line_on(write):
    path = write("def f():\n    return 1 / 0\n\nf()\n")
    try:
        raise LookupError("of whoever calls")
    except LookupError:
        with pytest.raises(ProgramFailed) as raised:
            ran(path, [])
    lines = [line for line in str(raised.value).splitlines() if line.strip("~^ ")]  # Python 3.13 marks all calls
    assert lines[:4] == [
        "Traceback (most recent call last):",
        f'  File "{path}", line 4, in <module>',
        "    f()",
        f'  File "{path}", line 2, in f',
    ]
    assert str(raised.value).endswith("ZeroDivisionError: division by zero")
    with pytest.raises(ProgramFailed, match=r"line 1\n    if\n.*\nSyntaxError: invalid syntax$"):
        ran(write("if\n"), [])


def test_a_program_that_is_not_there_is_named_by_what_is_near(write, tmp_path):
    write("", "orders.py")
    with pytest.raises(InvalidArgument, match=r"no file, and no module, '.*/order.py'; did you mean .*/orders.py\?"):
        located(str(tmp_path / "order.py"))
    with pytest.raises(InvalidArgument, match=r"no module, 'no_such.module'; name a file of Python, or a module"):
        located("no_such.module")


def test_a_file_whose_name_has_a_colon_is_that_file(write):
    path = write(GOODS, "goods:second")
    program, name = ran(path, [])
    assert (program.title, program.path, name) == ("goods:second", path, "")
    assert ran(f"{path}:first", [])[1] == "first"


@pytest.mark.parametrize("program", ["x" * 300, f"{'x' * 300}/goods.py", "goods\0.py"], ids=["long", "folder", "zero"])
def test_what_can_be_no_file_is_no_program(program, capsys):
    """The command said that it could not listen on a port."""
    assert main(["show", program]) == 1
    assert capsys.readouterr().err.startswith("show: expected a program but there is no file")


def test_a_module_is_found_by_its_name():
    path, spec, name = located("examples.restrictions:engine")
    assert path.parts[-3:] == ("examples", "restrictions", "__main__.py")
    assert (spec and spec.name, name) == ("examples.restrictions.__main__", "engine")


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("x = 1", "", "but .* builds none; push what comes into one, or name a reactive"),
        (GOODS, "secnd", "expected the name of an engine or a reactive of .* but got 'secnd'; did you mean second?"),
        ("x = 1", "y", "there are none"),
        (GOODS + "    other = cartesian(order)\n", "other", "expected 'other' to be what an engine .* --events"),
        (
            "from cartesius import *\na = Reactive('a')\ne = Engine(correlate(x=a, yields=lambda x: x))\ne.push(a, 1)\n"
            "e = Engine.restore(e.snapshot(), *e.outputs)\n",
            "e",
            "but this one was restored from a snapshot",
        ),
    ],
)
def test_what_cannot_be_shown_says_what_to_do(write, text, name, message):
    program, _ = ran(write(text), [])
    with pytest.raises(InvalidArgument, match=message):
        recordings_of(program, name)


EVENTS = """
{"input": "order", "value": {"item": "tea"}, "at": 3}

{"input": "ship", "key": 7, "value": {"name": "EVA"}}
{"input": "ship", "key": 7, "deleted": true, "at": [5, 6]}
{"advance": 9}
{"end": "order"}
{"close": true}
"""
SHIPS = """
    from cartesius import Reactive, correlate
    order, ship = Reactive("order"), Reactive("ship", table=True)
    both = correlate(o=order, s=ship, yields=lambda o, s: (o.item, s.name))
    print("loaded")
"""


def test_events_of_a_file_are_fed_to_a_reactive_of_a_program_that_pushes_none(write, tmp_path):
    program, name = ran(write(SHIPS), [])
    (tmp_path / "events.jsonl").write_text(EVENTS)
    recording = fed(program, name, tmp_path / "events.jsonl", Engine)
    assert recording.title == "correlate(order, ship) over events.jsonl"
    assert [call.kind for call in recording.calls] == ["push", "push", "push", "advance", "end", "close"]
    times = [(call.event.start, call.event.end) for call in recording.calls if call.event]
    assert times == [(3, 3), (4, 4), (5, 6)]


def test_to_an_engine_that_is_named_events_come_as_to_that_engine(write, tmp_path):
    options = "unit=timedelta(hours=1), lateness=5, tier='reference', pulled=[more]"
    text = f"{SHIPS}    from cartesius import Engine\n    from restrictions import as_table, cartesian\n"
    text += "    more = cartesian(order, restrict=as_table(lambda value: 1))\n"
    text += f"    from datetime import timedelta\n    engine = Engine(both, {options})\n"
    program, name = ran(f"{write(text)}:engine", [])
    events = [{"input": "order", "value": {"item": "tea"}, "at": at} for at in (30, 1)]
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
    recording = fed(program, name, tmp_path / "events.jsonl", Engine)
    assert recording.options == recording_of(program.main.engine, "test").options
    assert recording.options["unit"] == timedelta(hours=1)
    assert recording.title == "correlate(order, ship), cartesian(order) over events.jsonl"
    replay = Replay(recording, (*recording.outputs, *recording.options["pulled"]), 10)
    assert [len(step.late) for step in replay.steps] == [0, 0, 1]  # it is late, as it is to that engine


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85"])
@pytest.mark.parametrize("begin", ["", "\ufeff"])
def test_what_json_takes_for_no_end_of_a_line_ends_none(write, tmp_path, sign, begin):
    program, name = ran(write(SHIPS), [])
    text = json.dumps({"input": "order", "value": f"a{sign}b"}, ensure_ascii=False)
    (tmp_path / "events.jsonl").write_bytes(f"{begin}{text}\r\n{text}\n".encode())
    assert values(fed(program, name, tmp_path / "events.jsonl", Engine)) == [f"a{sign}b"] * 2


@pytest.fixture
def without_collection():
    """Where the stack is full, finalizers of what other tests have left would fail, and warn of it."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[", r"events.jsonl:2: Expecting value"),
        ("[1]", r":2: expected {\"input\": …"),
        (
            '{"input": "ordr", "value": 1}',
            r":2: expected an input, .* but got 'ordr'; did you mean order\?",
        ),
        ('{"input": "order", "value": 1, "at": "x"}', r":2: push: expected a time, .* got at='x'"),
        ('{"input": "ship", "value": 1}', r":2: expected a row of the table 'ship' with its key: "),
        ('{"input": "order", "key": 1, "value": 1}', r":2: expected an event of 'order' without a key"),
        ('{"input": "order", "deleted": true, "value": 1}', r":2: expected {\"input\": …"),
        ('{"input": "order", "value": 1, "att": 3}', r":2: expected {\"input\": …"),
        ('{"advance": 3, "at": 3}', r":2: expected {\"input\": …"),
        pytest.param("[" * 100_000, r":2: it is nested too deep", id="nested"),
        (
            '{"input": "ship", "key": 1, "value": {"name": "EVA"}}\n{"input": "order", "value": {"itm": "tea"}}',
            r":3: there is no field 'item'",
        ),
    ],
)
def test_a_line_that_is_no_event_is_named(write, tmp_path, line, message, without_collection):
    program, _ = ran(write(SHIPS), [])
    (tmp_path / "events.jsonl").write_text("\n" + line)
    with pytest.raises(InvalidArgument, match=message):
        fed(program, "both", tmp_path / "events.jsonl", Engine)


def test_of_several_reactives_one_has_to_be_named(write, tmp_path):
    program, _ = ran(write(SHIPS + "    more = correlate(x=both, y=order, yields=lambda x: x)\n"), [])
    with pytest.raises(InvalidArgument, match=r"nothing.jsonl cannot be read"):
        fed(program, "", tmp_path / "nothing.jsonl", Engine)  # `more` it is: `both` is a part of it
    program, _ = ran(write(SHIPS + "    more = correlate(y=order, yields=lambda y: y)\n"), [])
    with pytest.raises(InvalidArgument, match=r"expected one reactive .* has both, more; name one: .*:more"):
        fed(program, "", tmp_path / "nothing.jsonl", Engine)


def test_the_command_says_what_is_wrong_and_no_more(write, capsys):
    assert main(["show", write("1 / 0")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("Traceback") == 1
    assert "cartesius" not in err
    assert main(["show", "no_such_program.py"]) == 1
    assert capsys.readouterr().err.startswith("show: expected a program but there is no file")
    with pytest.raises(SystemExit):
        main(["show", "--port", "70000", "x.py"])
    assert "--port" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--no-browser"], ["--port", "0"]])
@pytest.mark.parametrize("is_behind", [True, False])
def test_the_programs_own_arguments_stand_behind_two_dashes(write, capsys, options, is_behind):
    path = write("import sys; print(sys.argv[1:]); raise SystemExit")
    main(["show", *([path, *options] if is_behind else [*options, path]), "--", "--port", "a"])
    assert "['--port', 'a']" in capsys.readouterr().out


def test_without_its_extra_the_command_says_what_to_install(write, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "cartesius.pages.local_pages", raising=False)
    assert main(["show", write(GOODS)]) == 1
    said = "python -m cartesius show: expected the package uvicorn but it is not installed"
    assert capsys.readouterr().err == f'{said}; pip install "cartesius-joins[edit]"\n'


@pytest.mark.parametrize("options", [[], ["--events"]])
def test_the_server_does_not_find_what_is_beside_the_program_and_its_answers_do(write, monkeypatch, capsys, options):
    found = []

    def run(self, sockets):
        found.append((list(sys.path), sys.modules["__main__"]))
        client = TestClient(self.config.app, base_url="http://127.0.0.1:8000")
        token = {"X-Token": capsys.readouterr().out.partition("#")[2].split()[0]}
        opened = client.post("/api/open", json={"run": 0}, headers=token).json()
        found.append((opened["failure"], opened["steps"]))

    monkeypatch.setattr(uvicorn.Server, "run", run)
    before = list(sys.path), sys.modules["__main__"]
    events = "".join(json.dumps({"input": name, "value": 1}) + "\n" for name in "ab")
    options = [*options, *(write(events, "events.jsonl") for _ in options)]
    assert main(["show", f"{write(PICKLED)}:engine", "--no-browser", *options, "--", "x"]) == 0
    assert found == [before, ("", 2)]
