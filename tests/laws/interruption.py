"""Calls that are interrupted: an exception at the n-th line that a call executes, and what the engine is afterwards."""

from __future__ import annotations

import dis
import sys
import weakref
from ctypes import py_object, pythonapi
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from unittest import mock

import attrs
import pytest

import cartesius
from cartesius import Engine
from cartesius.columns.batches import slicing
from cartesius.columns.results import events_of
from cartesius.data.codec import decode
from cartesius.effects.resumptions import running
from cartesius.errors import EngineBroken
from cartesius.programs.measures import Stats
from tests import conservation
from tests.laws.catalogue_tiers import _batch, often_by_key, told

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType, FrameType

    from tests.laws.catalogue import Program
    from tests.oracle.tier_programs import Row

ROOT = str(Path(cartesius.__file__).resolve().parent.parent)
OURS = tuple(f"{ROOT}/{name}/" for name in ("cartesius", "restrictions", "dsl", "tests/laws/catalogue"))
GENERATED = "<"
Place: TypeAlias = tuple[str, int]
"""A file, and the number of a line in it."""


class Alarm(Exception):
    """What a signal's handler may raise."""


class Stop(BaseException):
    """What stops a program, and is no error."""


KINDS = (Alarm, KeyboardInterrupt, SystemExit, MemoryError, LookupError, GeneratorExit, Stop)


class Lines:
    """Counts the lines of the library before which a call can be interrupted, and raises at some of them.

    Python handles a signal as a function begins, after a call, and as it jumps back: so not before a line that follows
    one which does nothing of that, nor before the first one of a handler, or of what comes after a ``try``.

    What `sys.settrace` is given is dropped as soon as it has raised. So the interpreter is given a function of its own,
    which compares this object with a frame: the number of an operator is that of an event. One that raises is kept.

    Args:
        kind: What is raised.
        at: Before which line, from 0; None: at none.
        again: How many lines later once more, and so on, as somebody who presses Ctrl-C several times.
    """

    def __init__(self, kind: type[BaseException] = Alarm, at: int | None = None, *again: int) -> None:
        self.kind, self.at = kind, at
        self.lines = set() if at is None else {*accumulate((at, *again))}
        self.seen = 0
        self.raised = 0
        """How often something was raised."""
        self._quiet: set[FrameType] = set()  # who has called nothing since Python could handle a signal, or has raised
        self._within: dict[
            FrameType, tuple[int, int | None]
        ] = {}  # the line before; where who runs goes on if it raises
        self.where = ""
        self.places: list[Place] = []
        """Where each line is, if none is interrupted."""

    def run(self, call: Callable[[], Any]) -> Any:
        """Do ``call``."""
        sys._getframe().f_trace_lines = False
        pythonapi.PyEval_SetTrace(pythonapi.PyObject_RichCompareBool, py_object(self))
        try:
            return call()
        finally:
            sys.settrace(None)

    def __lt__(self, frame: FrameType) -> bool:
        """A function begins (`PyTrace_CALL`, 0)."""
        is_checked = _is_ours(frame.f_code.co_filename) and not conservation.is_at_work
        frame.f_trace_lines = is_checked and not _is_destroying(frame)
        return False

    def __le__(self, frame: FrameType) -> bool:
        """An exception comes out of what a function does (1)."""
        self._quiet.add(frame)
        return False

    def __eq__(self, frame: object) -> bool:
        """A line (2)."""
        self._step(cast("FrameType", frame))
        return False

    def __ne__(self, frame: object) -> bool:
        """The end of a function (3)."""
        self._quiet.discard(cast("FrameType", frame))
        self._within.pop(cast("FrameType", frame), None)
        return False

    __hash__ = None  # type: ignore[assignment]  # that of an object is a function

    def _step(self, frame: FrameType) -> None:
        handler = _handler(frame.f_code, frame.f_lasti)
        line, before = self._within.setdefault(frame, (frame.f_lineno, handler))
        is_quiet = frame in self._quiet or before != handler
        if frame.f_lineno != line:  # else it comes back from an inlined comprehension, where nothing can raise
            self._within[frame] = frame.f_lineno, handler
        (self._quiet.discard if frame.f_lineno in _calling(frame.f_code) else self._quiet.add)(frame)
        if is_quiet:
            return
        self.seen += 1
        if self.at is None:
            self.places.append((frame.f_code.co_filename, frame.f_lineno))
        elif self.seen - 1 in self.lines:
            self.raised += 1
            self.where += f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name} "
            raise self.kind(self.where)


@cache
def _handler(code: CodeType, at: int) -> int | None:
    """Return where a function goes on if it raises at a place in its code; None: nowhere."""
    return next((to for start, end, to in _handlers(code) if start <= at < end), None)


@cache
def _handlers(code: CodeType) -> list[tuple[int, int, int]]:
    return [(one.start, one.end, one.target) for one in dis._parse_exception_table(code)]  # type: ignore[attr-defined]  # no stub


@cache
def _calling(code: CodeType) -> frozenset[int]:
    """Return the lines of a function after which Python may handle a signal, or in the midst of which."""
    steps = ("CALL", "JUMP_BACKWARD", "YIELD", "SEND", "WITH")
    found, line = set[int](), code.co_firstlineno
    for step in dis.get_instructions(code):
        line = line if step.positions is None else step.positions.lineno or line
        if any(one in step.opname for one in steps):
            found.add(line)
    return frozenset(found)


@cache
def _is_ours(file: str) -> bool:
    return file.startswith((*OURS, GENERATED))


def _is_destroying(frame: FrameType) -> bool:
    """Whether Python swallows what is raised here, as it destroys an object.

    What is traced is not in the middle of that: so nobody looks behind the next caller that is.
    """
    at: FrameType | None = frame
    while at is not None and at.f_code is not _RUN and (at is frame or not at.f_trace_lines):
        if at.f_code.co_name == "__del__" or at.f_code is _FINALIZE:
            return True
        at = at.f_back
    return False


_RUN, _FINALIZE = Lines.run.__code__, weakref.finalize.__call__.__code__


@dataclass(frozen=True)
class Scene:
    """An engine that has seen some rows, a call, and what comes after it.

    Args:
        program: What runs.
        tier: How.
        before: The rows that have been pushed.
        call: What is interrupted: its name, and what does it, and gives events.
        after: The rows that follow.
        rows: Of a batch, what it pushes.
    """

    program: Program
    tier: Any
    before: tuple[Row, ...]
    name: str
    call: Callable[[Engine], Any]
    after: tuple[Row, ...]
    rows: tuple[Row, ...] = ()

    def engine(self) -> Engine:
        """A new engine that has seen what came before, and has noted it."""
        engine = Engine(*self.program.outputs, tier=self.tier, **self.program.options)
        engine.mark()
        if self.before and self.tier is None:  # columns own the state then, by key if they can
            with mock.patch.object(slicing, "SLICE", 2), often_by_key():
                _ignoring(lambda: engine.push_many(_batch(self.before)))
        else:
            self.follow(engine, self.before)
        return engine

    @cached_property
    def held_before(self) -> Any:
        """The state before the call."""
        engine = self.engine()
        _ = engine.stats  # as in `undisturbed`
        return _held(engine)

    def again(self, engine: Engine) -> Engine | None:
        """A new engine that is made of what another one has noted; None: that has another program now."""
        if engine._mark is None:
            return None
        program, changes = self.program, [engine.changes_since(engine._mark)]
        return Engine.restore(self._nothing, *program.outputs, changes=changes, tier=self.tier, **program.options)

    @cached_property
    def _nothing(self) -> bytes:
        """What an engine saves that has seen nothing."""
        return Engine(*self.program.outputs, tier=self.tier, **self.program.options).snapshot()

    def follow(self, engine: Engine, rows: Sequence[Row]) -> list[str]:
        """Push rows; return what comes of them, results and errors."""
        out: list[str] = []
        for row in rows:
            try:
                out += told(engine.push(row.reactive, row.pushed, row.at))
            except EngineBroken:
                raise
            except Exception as error:  # of a body
                out.append(repr(error))
        return out

    @cached_property
    def _undisturbed(self) -> dict[Any, tuple[list[str], list[Any]]]:
        return {}

    def undisturbed(self, *, is_saved: bool) -> tuple[list[str], list[Any]]:
        """What the call gives where nothing interrupts it, and how its engine ends; found once for all lines."""
        if is_saved not in self._undisturbed:
            engine = self.engine()
            _ = engine.stats  # likewise asked: the objects own the state from then on
            self._undisturbed[is_saved] = self.did(engine), self.ends(engine, is_saved=is_saved)
        return self._undisturbed[is_saved]

    def did(self, engine: Engine, call: Callable[[Engine], Any] | None = None) -> list[str]:
        """Do the call, or another one; return what comes of it."""
        try:
            return told(_events((call or self.call)(engine)))
        except EngineBroken:
            raise
        except Exception as error:  # of a body
            return [*_carried(error), f"{type(error).__name__}: {error}"]

    def ends(self, engine: Engine, *, is_saved: bool = False) -> list[Any]:
        """What an engine says, and what it goes on to do.

        Args:
            engine: The engine.
            is_saved: Whether it is asked for its snapshot first; columns give their state to the objects for that.
        """
        found: list[Any] = [engine.snapshot()] if is_saved else []
        found += [engine.stats, engine.clock, engine.next_deadline, engine.done, list(map(repr, engine.late))]
        found += [self.follow(engine, self.after), engine.stats, self.did(engine, Engine.close)]
        conservation.check(engine)
        return found if self.tier is None else [*found, engine.stats.fates]  # columns may not tell all of them


def _held(engine: Engine) -> Any:
    """The state of an engine, whatever the order in which it lists its keys and windows.

    What the same call does next overwrites what an undone one has left behind; so that is looked at before.
    """
    return _unordered(decode(engine.snapshot()))


def _unordered(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _unordered(value) for key, value in state.items()}
    return sorted(map(repr, map(_unordered, state))) if isinstance(state, list | tuple) else state


def _ignoring(call: Callable[[], Any]) -> None:
    try:
        call()
    except Exception:  # of a body: what stands, stands
        return


def _events(found: Any) -> list[Any]:
    return found if isinstance(found, list) else events_of(found)


def _carried(error: BaseException) -> list[str]:
    emitted = vars(error).get("emitted")
    return [] if emitted is None else told(_events(emitted))


def lines_of(scene: Scene) -> list[Place]:
    """Return the lines that the call executes, one after the other."""
    lines = Lines()
    engine = scene.engine()
    lines.run(lambda: scene.did(engine))
    return lines.places


def check(scene: Scene, kind: type[BaseException], at: int, *again: int) -> str:
    """Interrupt the call at lines; return what the engine is then, raise AssertionError if it is torn."""
    engine, lines = scene.engine(), Lines(kind, at, *again)
    in_force = _in_force()
    emitted: list[str] | None = None
    try:
        emitted = told(_events(lines.run(lambda: scene.call(engine))))
        outcome = "went on"  # somebody took it for an error of a body, and did what there was to do as written
    except EngineBroken:
        outcome = "broken"
    except BaseException as error:  # of any kind
        outcome = "raised"
        if "emitted" in vars(error):
            emitted = _carried(error)
    if lines.at is None or lines.seen <= at:
        return "not reached"
    where = f"{kind.__name__} at {lines.where}, {scene.name}: {outcome}"
    assert _in_force() == in_force, f"{where}: other handlers are in force"
    try:
        _ = engine.stats
    except EngineBroken:
        for use in (engine.snapshot, engine.close, lambda: engine.advance(1), engine.take_late):
            with pytest.raises(EngineBroken):
                use()
        return "broken"
    conservation.check(engine)
    if outcome == "raised" and emitted is None and at % 4 == 1 and scene.name != "push_many":
        assert _held(engine) == scene.held_before, f"{where}: the state is not the one before"
    if scene.name == "push_many":
        return _check_part(scene, engine, emitted, where)
    is_saved = at % 2 == 0 and outcome == "raised" and (emitted is None or scene.tier is not None)
    # else what a batch has done is numbered otherwise
    expected, wanted = scene.undisturbed(is_saved=is_saved)
    if emitted is not None:
        assert emitted == expected, f"{where}: {emitted} instead of {expected}"
    else:
        assert scene.did(engine) == expected, f"{where}: the call gives something else"
    made = scene.again(engine) if at % 3 == 0 else None
    _same(scene.ends(engine, is_saved=is_saved), wanted, f"{where}: it is not as it would be")
    if made is not None:
        _same(scene.ends(made), wanted[is_saved:], f"{where}: it is not what has come")
    return "undone" if emitted is None else "done"


def _in_force() -> dict[str, Any]:
    """What this thread has of handlers, and clauses at work."""
    return {name: one for name, one in vars(running()).items() if one is not None}


def _check_part(scene: Scene, engine: Engine, emitted: list[str] | None, where: str) -> str:
    """Of a batch the first rows stand, and the error carries what they gave."""
    other = scene.engine()
    done = engine.stats.events - other.stats.events
    expected = scene.follow(other, scene.rows[:done])
    assert (emitted or []) == expected, f"{where}, after {done} rows: {emitted} instead of {expected}"
    rest = Scene(scene.program, scene.tier, (), "rest", scene.call, scene.rows[done:])
    made, wanted = scene.again(engine), rest.ends(other)
    _same(rest.ends(engine), wanted, f"{where}: it is not as if {done} rows had been pushed")
    if made is not None:
        _same(rest.ends(made), wanted, f"{where}: it is not what has come")
    return "done" if done == len(scene.rows) else "in part" if done else "undone"


def _same(found: list[Any], expected: list[Any], where: str) -> None:
    went_on = ": went on" in where  # then a condition that was taken to hold has let one candidate more through
    for one, other in zip(found, expected, strict=True):
        wanted = attrs.evolve(other, tuples=one.tuples) if went_on and isinstance(one, Stats) else other
        assert one == wanted, f"{where}: {one} instead of {wanted}"
