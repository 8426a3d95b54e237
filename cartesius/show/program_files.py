"""A user's program, run as Python runs it, while every engine that it builds records.

An engine is known by the lines of the program on the way to where it is built: of several that are built on the same
way, as in a loop, the last one counts. It is called by the innermost of these lines that is on the way to no other; if
there is none, by the innermost, with a number.

This module is over 300 lines because to run a program, and to say what of it is meant, is one idea.
"""

from __future__ import annotations

import difflib
import inspect
import json
import linecache
import os
import sys
import traceback
from collections import Counter
from contextlib import suppress
from importlib.machinery import SourcelessFileLoader
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from pkgutil import get_importer
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from cartesius.core.engine_core import EngineCore
from cartesius.data.events import Delete, Update
from cartesius.errors import CartesiusError, InvalidArgument, block, shortened
from cartesius.language.reactives import UNDECLARED, Reactive
from cartesius.show.recordings import options_of, recording_of

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from importlib.machinery import ModuleSpec

    from cartesius.show.recordings import Recording


class ProgramFailed(CartesiusError, RuntimeError):
    """The user's program raised: its traceback, from its own first line on, is the message. The program's fault."""


class Program(NamedTuple):
    """A program that has run.

    Args:
        title: What it is called.
        path: Its file, which stays the same wherever the program goes.
        folder: Where Python looks for modules first.
        arguments: Its own arguments.
        main: Its module.
        engines: What it built, in order, each with what it is called.
    """

    title: str
    path: str
    folder: str
    arguments: Sequence[str]
    main: ModuleType
    engines: list[tuple[str, EngineCore]]

    @block
    def in_place(self) -> Generator[None]:
        """Let Python find the program as the one that runs, as its bodies need: they pickle, import, and read types."""
        main, argv = sys.modules["__main__"], sys.argv
        sys.modules["__main__"], sys.argv = self.main, [self.path, *self.arguments]
        sys.path.insert(0, self.folder)
        try:
            yield
        finally:
            sys.modules["__main__"], sys.argv = main, argv
            with suppress(ValueError):
                sys.path.remove(self.folder)


def located(program: str) -> tuple[Path, ModuleSpec | None, str]:
    """Return the file of a program, how Python finds it if it is a module or a zip, and the name that is meant, or "".

    Args:
        program: ``FILE.py``, another file that Python runs, ``package.module``, or one of these with ``:NAME``.

    Raises:
        InvalidArgument: There is no such file or module.
    """
    place, _, name = program.rpartition(":")
    if not place or not name.isidentifier() or os.path.isfile(program):
        place, name = program, ""
    path = Path(place).absolute()
    if os.path.isfile(path):  # which is no file, too, where it cannot be: its name is too long, or its folder closed
        importer = get_importer(str(path))  # of a zip
        return path, None if importer is None else importer.find_spec("__main__"), name
    if path.suffix != ".py" and os.sep not in place:
        found = _spec(place)
        if found is not None and found.origin is not None and found.origin.endswith((".py", ".pyc")):
            return Path(found.origin), found, name
    folder = Path(place).parent if os.path.isdir(path.parent) else Path()
    near = difflib.get_close_matches(path.name, [one.name for one in folder.glob("*.py")], n=1)
    hint = f"did you mean {folder / near[0]}?" if near else "name a file of Python, or a module"
    message = f"show: expected a program but there is no file, and no module, {place!r}; {hint}"
    raise InvalidArgument(message)


def _spec(module: str) -> ModuleSpec | None:
    """Return where a module is, of a package what runs of it, or None."""
    try:
        found = find_spec(module)
        return found if found is None or found.submodule_search_locations is None else find_spec(f"{module}.__main__")
    except (ImportError, ValueError):
        return None


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
    path, spec, name = located(program)
    source = str(path) if spec is None or spec.origin is None else spec.origin
    folder = path.parent if spec is None else Path.cwd() if source == str(path) else path
    main = ModuleType("__main__") if spec is None else module_from_spec(spec)
    main.__name__, main.__file__ = "__main__", source
    found = Program(Path(program.removesuffix(f":{name}")).name, str(path), str(folder), arguments, main, [])
    engines: dict[tuple[int, ...], EngineCore] = {}

    def note(engine: EngineCore) -> None:
        frames = traceback.walk_stack(inspect.currentframe())
        way = tuple([line for frame, line in frames if frame.f_code.co_filename == source])
        engines.pop(way, None)
        engines[way] = engine

    handled = sys.exception()  # by whoever calls: nothing of the program's
    try:
        with found.in_place(), _recording(note):
            code: Any  # how `runpy` makes it, which keeps no module
            if spec is not None:
                code = spec.loader.get_code(spec.name)  # type: ignore[union-attr]  # those of files and zips have it
            elif path.suffix == ".pyc":
                code = SourcelessFileLoader("__main__", source).get_code("__main__")
            else:
                code = compile(path.read_bytes(), source, "exec", dont_inherit=True)
            source = code.co_filename
            exec(code, vars(main))
    except KeyboardInterrupt:
        print("interrupted: what came until then is shown", file=sys.stderr)
    except SystemExit as error:
        if error.code not in (None, 0):
            print(f"{path} ended itself: {error.code}", file=sys.stderr)
    except BaseException as error:
        raise ProgramFailed(_own_traceback(error, source, handled)) from None
    shared, numbers = Counter(line for way in engines for line in {*way}), Counter[int]()
    for way, engine in engines.items():
        line = next((line for line in way if shared[line] == 1), way[0] if way else 0)
        text = linecache.getline(source, line, vars(main)).strip()
        numbers[line] += 1
        number = f" ({numbers[line]})" * (numbers[line] > 1)
        title = f"line {line}: {text[:80]}{'…' * (len(text) > 80)}{number}" if way else "built elsewhere"
        found.engines.append((title, engine))
    return found, name


@block
def _recording(note: Any) -> Generator[None]:
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
    BaseException.__setattr__(last, "__context__", None)  # its class may be frozen
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
    chosen, refused, refusal = None, None, None  # of any, and of what is meant
    for title, engine in used:
        is_meant = meant is engine or (isinstance(meant, Reactive) and meant in (*engine.outputs, *engine.pulled))
        try:
            recording = recording_of(engine, "show", title)
        except InvalidArgument as error:
            refused, refusal = refused or error, error if is_meant else refusal
            continue
        if is_meant:
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
        raise refusal or InvalidArgument(message)
    return found, len(found) - 1 if chosen is None else chosen


def fed(program: Program, name: str, events: Path, make: type[EngineCore]) -> Recording:
    """Return the recording of a new engine that computes a reactive of a program and takes the events of a file.

    Args:
        program: The program.
        name: That of an engine, whose outputs and options are taken, or of a reactive, for which times are in
            microseconds; "": the reactive that no other is made of.
        events: A file of JSON lines.
        make: Makes an engine.

    Raises:
        InvalidArgument: No such reactive; or a line that is no event, or that the engine refuses.
    """
    meant = _named(program, name) if name else _derived(program)
    outputs, options = (meant.outputs, options_of(meant)) if isinstance(meant, EngineCore) else ((meant,), {})
    engine: Any = make(*outputs, trace=True, **options)
    try:
        lines = events.read_text(encoding="utf-8-sig").split("\n")  # others that end lines may stand in JSON's texts
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
    told = ", ".join(one.name for one in (*engine.outputs, *engine.pulled))
    return recording_of(engine, "show", f"{told} over {events.name}")


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
    found = vars(program.main).get(name)
    if not isinstance(found, EngineCore | Reactive):
        known = [one for one, value in vars(program.main).items() if isinstance(value, EngineCore | Reactive)]
        hint = _near(name, known) or f"; there are {', '.join(known) or 'none'}"
        message = f"show: expected the name of an engine or a reactive of {program.path} but got {name!r}{hint}"
        raise InvalidArgument(message)
    return found


def _derived(program: Program) -> Reactive:
    """Return the reactive that others are made of, and that none is made of."""
    known = vars(program.main)
    derived = {id(one): one for one in known.values() if isinstance(one, Reactive) and one.pattern is not None}
    sources = {id(source) for one in derived.values() if one.pattern for source in one.pattern.slots.values()}
    last = [one for one in derived.values() if id(one) not in sources]
    if len(last) != 1:
        names = [name for name, value in known.items() if any(value is one for one in last)]
        message = (
            f"show: expected one reactive to feed but {program.path} has {', '.join(names) or 'none'}; name one:"
            f" {program.path}:{names[-1] if names else 'NAME'}"
        )
        raise InvalidArgument(message)
    return last[0]


def _near(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
