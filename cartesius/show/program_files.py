"""A user's program, run as Python runs it, while every engine that it builds records.

An engine is known by the lines of the program on the way to where it is built; of several that are built on the same
way, as in a loop, the last one counts.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import linecache
import os
import runpy
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cartesius.core.engine_core import EngineCore
from cartesius.data.events import Delete, Update
from cartesius.errors import CartesiusError, InvalidArgument, shortened
from cartesius.language.reactives import UNDECLARED, Reactive
from cartesius.show.recordings import recording_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cartesius.show.recordings import Recording


class ProgramFailed(CartesiusError, RuntimeError):
    """The user's program raised: its traceback, from its own first line on, is the message. The program's fault."""


class Program(NamedTuple):
    """A program that has run.

    Args:
        title: What it is called.
        path: Its file.
        names: Its global names.
        engines: What it built, in order, each with what it is called.
    """

    title: str
    path: str
    names: Mapping[str, Any]
    engines: list[tuple[str, EngineCore]]


def located(program: str) -> tuple[str, str, str]:
    """Return the file of a program, its module if it is one, and the name in it that is meant, if one is.

    Args:
        program: ``FILE.py``, ``package.module``, or one of these with ``:NAME``.

    Raises:
        InvalidArgument: There is no such file or module.
    """
    place, _, name = program.rpartition(":")
    if not place or not name.isidentifier():
        place, name = program, ""
    path = Path(place)
    if path.is_file():
        return str(path), "", name
    if path.suffix != ".py" and os.sep not in place:
        try:
            found = importlib.util.find_spec(place)
            if found is not None and found.submodule_search_locations is not None:
                found = importlib.util.find_spec(f"{place}.__main__")
        except (ImportError, ValueError):
            found = None
        if found is not None and found.origin is not None and found.origin.endswith(".py"):
            return found.origin, place, name
    folder = path.parent if path.parent.is_dir() else Path()
    near = difflib.get_close_matches(path.name, [one.name for one in folder.iterdir() if one.suffix == ".py"], n=1)
    hint = f"did you mean {folder / near[0]}?" if near else "name a file of Python, or a module"
    message = f"show: expected a program but there is no file, and no module, {place!r}; {hint}"
    raise InvalidArgument(message)


def ran(program: str, arguments: Sequence[str]) -> tuple[Program, str]:
    """Run a program as Python runs it; return what it built, and the name in it that is meant, if one is.

    Ctrl-C ends it, and so does `sys.exit`: what it has built until then counts.

    Args:
        program: As `located` takes it.
        arguments: Its own arguments.

    Raises:
        InvalidArgument: There is no such program.
        ProgramFailed: It raised.
    """
    path, module, name = located(program)
    engines: dict[tuple[int, ...], tuple[str, EngineCore]] = {}
    names: Mapping[str, Any] = {}

    def note(engine: EngineCore) -> None:
        lines = [line for frame, line in traceback.walk_stack(None) if frame.f_code.co_filename == path]
        text = linecache.getline(path, lines[-1]).strip() if lines else ""
        title = f"line {lines[-1]}: {text[:80]}{'…' * (len(text) > 80)}" if lines else "built elsewhere"
        engines.pop(tuple(lines), None)
        engines[tuple(lines)] = title, engine

    handled = sys.exception()  # by whoever calls: nothing of the program's
    argv, folder = sys.argv, str(Path(path).parent.absolute())
    sys.argv = [path, *arguments]
    sys.path.insert(0, folder)
    try:
        with _recording(note):
            if module:
                names = runpy.run_module(module, run_name="__main__", alter_sys=True)
            else:
                names = runpy.run_path(path, run_name="__main__")
    except KeyboardInterrupt:
        print("interrupted: what came until then is shown", file=sys.stderr)
    except SystemExit as error:
        if error.code not in (None, 0):
            print(f"{path} ended itself: {error.code}", file=sys.stderr)
    except BaseException as error:
        raise ProgramFailed(_own_traceback(error, path, handled)) from None
    finally:
        sys.argv = argv
        sys.path.remove(folder)
    return Program(module or Path(path).name, path, names, list(engines.values())), name


@contextmanager
def _recording(note: Any) -> Iterator[None]:
    """Let every engine that is built record, and be noted."""
    before, EngineCore.watch = EngineCore.watch, note
    try:
        yield
    finally:
        EngineCore.watch = before


def _own_traceback(error: BaseException, path: str, handled: BaseException | None) -> str:
    """Return the traceback of an error, from the first line of the program on, without what was handled before."""
    last = error
    while last.__context__ is not None and last.__context__ is not handled:
        last = last.__context__
    last.__context__ = None
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename != path:
        frame = frame.tb_next
    return "".join(traceback.format_exception(type(error), error, frame)).rstrip()


def recordings_of(program: Program, name: str) -> tuple[list[Recording], int]:
    """Return the recordings of a program's engines, and which one is meant: the named, or the last.

    Raises:
        InvalidArgument: There is none, or the name is none of an engine, or of what one computes.
    """
    engines = [one for one in program.engines if one[1]._world.provenance is not None]
    used = [one for one in engines if one[1]._world.events] or engines
    meant = _named(program, name) if name else None
    if isinstance(meant, EngineCore) and all(meant is not engine for _, engine in used):
        used = [(name, meant), *used]  # it has taken nothing yet, or is not the last of its kind
    found: list[Recording] = []
    chosen, refused = None, None
    for title, engine in used:
        try:
            recording = recording_of(engine, "show", title)
        except InvalidArgument as error:
            refused = refused or error
            continue
        if meant is engine or (isinstance(meant, Reactive) and meant in (*engine.outputs, *engine.pulled)):
            chosen = len(found)
        found.append(recording)
    if not found:
        message = (
            f"show: expected a program that builds an Engine and pushes into it but {program.path} builds none; push"
            " what comes into one, or name a reactive and say what comes: FILE:NAME --events FILE.jsonl"
        )
        raise refused or InvalidArgument(message)
    if meant is not None and chosen is None:
        message = (
            f"show: expected {name!r} to be what an engine of {program.path} computes but none does; say what comes to"
            " it: --events FILE.jsonl"
        )
        raise InvalidArgument(message)
    return found, len(found) - 1 if chosen is None else chosen


def fed(program: Program, name: str, events: Path, make: type[EngineCore]) -> Recording:
    """Return the recording of a new engine that computes a reactive of a program and takes the events of a file.

    Args:
        program: The program.
        name: That of a reactive, or of an engine, whose outputs are taken; "": the one that no other is made of.
        events: A file of JSON lines.
        make: Makes an engine.

    Raises:
        InvalidArgument: No such reactive; or a line that is no event, or that the engine refuses.
    """
    meant = _named(program, name) if name else _derived(program)
    outputs = meant.outputs if isinstance(meant, EngineCore) else (meant,)
    engine: Any = make(*outputs, trace=True)
    try:
        lines = events.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        message = f"show: expected a file of JSON lines but {events} cannot be read: {error}"
        raise InvalidArgument(message) from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                _take(engine, json.loads(line))
            except RecursionError:
                message = f"show: {events}:{number}: it is nested too deep; in {shortened(line, 120)}"
                raise InvalidArgument(message) from None
            except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
                message = f"show: {events}:{number}: {error}; in {shortened(line, 120)}"
                raise InvalidArgument(message) from None
    return recording_of(engine, "show", f"{', '.join(one.name for one in outputs)} over {events.name}")


def _take(engine: Any, said: Any) -> None:
    match said:
        case {"advance": int(time), **other} if not other:
            engine.advance(time)
        case {"close": True, **other} if not other:
            engine.close()
        case {"end": str(name), **other} if not other:
            engine.end(_input(engine, name))
        case {"input": str(name), "value": value, **other} if other.keys() <= {"at"}:
            reactive = _input(engine, name)
            if reactive.table and reactive.key is UNDECLARED:
                message = f'expected a row of the table {name!r} with its key: {{"input": …, "key": …, "value": …}}'
                raise InvalidArgument(message)
            engine.push(reactive, value, at=_time(other))
        case {"input": str(name), "key": key, "value": value, **other} if other.keys() <= {"at"}:
            reactive = _input(engine, name)
            if not reactive.table:
                message = f"expected an event of {name!r} without a key, as it is no table"
                raise InvalidArgument(message)
            engine.push(reactive, Update(key, value), at=_time(other))
        case {"input": str(name), "key": key, "deleted": True, **other} if other.keys() <= {"at"}:
            engine.push(_input(engine, name), Delete(key), at=_time(other))
        case _:
            message = (
                'expected {"input": …, "value": …, "at": …}, of a table with "key" or "deleted", or {"advance": time},'
                ' {"end": input} or {"close": true}'
            )
            raise InvalidArgument(message)


def _time(said: Mapping[Any, Any]) -> Any:
    at = said.get("at")
    return tuple(at) if isinstance(at, list) else at


def _input(engine: Any, name: str) -> Reactive:
    found: Reactive | None = engine.inputs.get(name)
    if found is None:
        message = f"expected an input, of {', '.join(engine.inputs)}, but got {name!r}{_near(name, engine.inputs)}"
        raise InvalidArgument(message)
    return found


def _named(program: Program, name: str) -> Any:
    found = program.names.get(name)
    if not isinstance(found, EngineCore | Reactive):
        known = [one for one, value in program.names.items() if isinstance(value, EngineCore | Reactive)]
        hint = _near(name, known) or f"; there are {', '.join(known) or 'none'}"
        message = f"show: expected the name of an engine or a reactive of {program.path} but got {name!r}{hint}"
        raise InvalidArgument(message)
    return found


def _derived(program: Program) -> Reactive:
    """Return the reactive that others are made of, and that none is made of."""
    derived = {id(one): one for one in program.names.values() if isinstance(one, Reactive) and one.pattern is not None}
    sources = {id(source) for one in derived.values() if one.pattern for source in one.pattern.slots.values()}
    last = [one for one in derived.values() if id(one) not in sources]
    if len(last) != 1:
        names = [name for name, value in program.names.items() if any(value is one for one in last)]
        message = (
            f"show: expected one reactive to feed but {program.path} has {', '.join(names) or 'none'}; name one:"
            f" {program.path}:{names[-1] if names else 'NAME'}"
        )
        raise InvalidArgument(message)
    return last[0]


def _near(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
