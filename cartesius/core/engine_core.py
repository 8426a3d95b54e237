"""The core of an engine: what it is made of, and how a call runs, all or nothing.

What users read as a whole is `Engine`; this is what batches of columns, outlets and saved states know of it.

This module is over 300 lines because each call, whatever it does, goes this one way.

Invariant: between calls every strand is parked, and the state is plain data.

Source: SEMANTICS 1.1, 1.11, 1.12 and 3.1.
"""

from __future__ import annotations

import threading
import weakref
from datetime import timedelta
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, overload

from cartesius.batching.world import World
from cartesius.core.direct_pushes import DirectPushes
from cartesius.core.marks import Position, as_noted
from cartesius.core.outlets import Outlets, checked_outputs
from cartesius.core.pulling import Prefixes, value_and_time
from cartesius.data.events import Event
from cartesius.errors import InvalidArgument, WrongThread, add_note, as_text, carried, shortened, unloaded
from cartesius.language.lenience import checked_on_error
from cartesius.language.reactives import Reactive
from cartesius.programs.doors import (
    check_input,
    check_storable,
    checked_lateness,
    checked_tier,
    checked_times,
    checked_value,
)
from cartesius.programs.programs import Program
from cartesius.programs.steps import Steps
from cartesius.results.recorded_calls import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from typing_extensions import TypeVar as WithDefault

    from cartesius.core.direct_pushes import Direct
    from cartesius.core.marks import Mark, Stand
    from cartesius.core.pulling import Feed, Iteration
    from cartesius.data.events import Delete, Time, Update
    from cartesius.language.lenience import OnError
    from cartesius.programs.doors import At, Tier

    Result = WithDefault("Result", default=Any)
else:
    Result = TypeVar("Result")

Carried = TypeVar("Carried")
Row = TypeVar("Row")
MICROSECOND = timedelta(microseconds=1)


class Columns(Protocol):
    """The program of an engine as kernels over columns, which may own the state."""

    program: Program
    reason: str
    """Why the program is pushed row by row, if it is."""
    states: Any
    """Of each stage what it holds, while columns own the state; else None."""
    kept: Any
    """The rows of input tables that have come meanwhile."""

    @property
    def n_retained(self) -> int:
        """How many rows they hold."""
        ...

    def source(self) -> str:
        """Show the generated code."""
        ...

    def settle(self) -> None:
        """Bring the objects up to date."""
        ...

    def lend(self) -> None:
        """Bring the objects up to date, to be read alone."""
        ...

    def show(self, table: Reactive, key: Any) -> None:
        """Let the objects have what the newest row of a key of a table is read from."""
        ...

    def counts(self) -> Mapping[int, Mapping[int, tuple[int, int]]] | None:
        """Return how many events are in memory and wait, by correlation and slot, where columns own these, or None."""

    def push(self, engine: Any, reactive: Reactive, value: Any, start: Time, end: Time) -> list[Event] | None:
        """Push one event, if columns own the state and that is the cheaper way; None: nothing has changed."""

    def advance(self, engine: Any, clock: int) -> list[Event] | None:
        """Move the clock, if columns can; return what is decided by that, or None: nothing has changed.

        The journal is open if it was moved: who has called it closes it.
        """
        ...

    def next_deadline(self) -> tuple[int | None] | None:
        """Return the earliest clock at which something is due, in a tuple; None: they do not know."""
        ...


class EngineCore(Generic[Result]):
    """What an engine is made of, and how a call runs."""

    watch: ClassVar[Callable[[EngineCore], object] | None] = None
    """Who is told of each engine that is built, which records then; None: nobody."""

    def __init__(
        self,
        *outputs: Reactive,
        pulled: Iterable[Reactive] = (),
        unit: timedelta = MICROSECOND,
        lateness: int | timedelta | None = None,
        durable: bool = False,
        trace: bool = False,
        tier: Tier | None = None,
        on_error: OnError = "fail",
        _layout: Mapping[str, Any] | None = None,  # of a saved one, whose names and numbers it is to have
    ) -> None:
        pushed, views = checked_outputs(outputs, pulled)
        if not isinstance(unit, timedelta) or unit <= timedelta(0):
            message = f"Engine: expected what one unit of time means, a timedelta > 0, but got unit={unit!r}"
            raise InvalidArgument(message)
        for option, given in (("durable", durable), ("trace", trace)):
            if not isinstance(given, bool):
                message = f"Engine: expected {option} to be True or False but got {option}={given!r}"
                raise InvalidArgument(message)
        self._thread = threading.current_thread()
        self._thread_number = get_ident()
        self._tier = checked_tier(tier)
        trace = trace or EngineCore.watch is not None
        is_lenient = checked_on_error(on_error, "Engine") == "unknown"
        self._world = World(unit, durable=durable, trace=trace, is_reference=tier == "reference", is_lenient=is_lenient)
        self._journal = self._world.journal
        self._lateness = checked_lateness(lateness, self._world)
        self._durable = durable
        self._program = Program(pushed, self._world, pulled=views, saved=_layout)
        self._steps = Steps(self._program, self._world)
        weakref.finalize(self, self._steps.drop).atexit = False
        self._outlets = Outlets()
        self._has_begun = False  # whether constants have been given, and what the inputs have already is eaten
        self._is_touched = False  # whether anything was done, here or before a snapshot
        self._prefixes = Prefixes(self.inputs)
        self.fed: set[Reactive] = set()  # the inputs that an iteration over `events` feeds
        self.feeds: list[Feed] = []  # who does
        self.hearing: list[Iteration] = []  # those that are at work
        self._listeners: list[Callable[[list[Event]], None]] = []
        self._carried: list[Event] | None = None  # what the error of the last call carries, if that has emitted
        self._pushes = self._direct_pushes()
        self._direct: Direct = {}  # what pushes into some inputs directly, while nothing stands in the way
        self._mark: Mark | None = None  # the last one, which is told of all calls
        self._restored: tuple[Position | None, str] = (None, "")  # where changes have led to, and the name of that
        self._compiled: Columns | None = None  # its program as kernels, once `push_many` was called
        self._why_row_by_row = ""  # why the last batch was pushed row by row, if it was
        if EngineCore.watch is not None:
            EngineCore.watch(self)

    def _direct_pushes(self) -> DirectPushes:
        objections = (
            (self._world.is_reference, "the tier is pinned"),
            (self._durable, "each value is checked, in a durable engine"),
            (self._world.provenance is not None, "what saw an event is recorded, by trace=True"),
        )
        objection = next((reason for is_so, reason in objections if is_so), "")
        return DirectPushes(self._program, self._steps, objection, self._lateness)

    @property
    def outputs(self) -> tuple[Reactive, ...]:
        """What is emitted, in order."""
        return self._program.outputs

    @property
    def pulled(self) -> tuple[Reactive, ...]:
        """What is only asked for."""
        return self._program.pulled

    @property
    def inputs(self) -> dict[str, Reactive]:
        """What can be pushed into, by name."""
        return self._program.inputs

    @overload
    def push(self, reactive: Reactive[Any, Carried], value: Carried, at: At = None) -> list[Event[Result]]: ...

    @overload
    def push(self, reactive: Reactive[Row, Update[Row] | Delete], value: Row, at: At = None) -> list[Event[Result]]: ...

    def push(self, reactive: Reactive, value: Any, at: At = None) -> list[Event]:
        """Push an event; return what the outputs emit because of it.

        Args:
            reactive: An input of the engine.
            value: The payload. On a table an `Update` or a `Delete`, or a bare row if the reactive declares its key.
            at: When, in time units or as an aware `datetime`, or an interval (start, end) of such; by default one unit
                after the latest time seen. An engine takes ints or datetimes, not both, and shows times as they came.

        Raises:
            InvalidArgument: An unknown or ended input, a wrong time (a datetime without a zone, or of no whole unit),
                or no change of a table.
            NotStorable: In a durable engine, a value that no snapshot can hold.
            WrongThread: Called by another thread than the one that built the engine.
            EngineBroken: An earlier call was interrupted while it changed the state; every call says so then.
            BaseException: What a body raises, or interrupts the call (Ctrl-C, a signal's handler): nothing of it has
                happened, and the event may be pushed again; all of it, if the error has the attribute ``emitted``, the
                list of what would have been returned; or the engine is broken, as above. ``emitted`` is of this engine:
                what another has emitted, into which a subscriber or a body pushes, is not in it.
        """
        if self._mark is not None:
            self._check_own_thread("push")
            name = check_input(self._program.names, reactive, "push")
            units, dated = self._units(at, "push")
            value = as_noted(value)
            self._note("push", name, value, self._world.calendar.plain(units, dated=dated))
        if reactive.__class__ is Reactive and get_ident() == self._thread_number:
            direct = self._direct.get(reactive)
            if direct is not None:
                try:
                    emitted = direct(value, at)
                except BaseException:
                    if self._steps.is_running:  # since Python 3.12 no handler need see a signal where a loop jumps back
                        self._journal.is_open, self._steps.is_running = True, False
                    raise
                if emitted is not None:
                    self._journal.is_open = False
                    return emitted
        else:
            direct = None
        # What was noted of a push that was interrupted as it was left to the clauses says nothing of this one.
        left_by, failed_by = ("", None) if direct is None else self._steps.given_up.taken()
        self._check_own_thread("push")
        self._check_goes_on(reactive, "push")
        units, dated = self._units(at, "push")
        start, end = checked_times(units, self._world.latest, self._world.clock, at)
        value = checked_value(reactive, value)
        if self._durable:
            check_storable(reactive, value)
        emitted = None
        try:
            if self._compiled is not None:
                emitted = self._compiled.push(self, reactive, value, start, end)
                if emitted is not None:
                    self._world.calendar.is_dated = self._world.calendar.is_dated if dated is None else dated
                    return self._world.calendar.shown(emitted)
            self._settle()
            self._pushes.learn(reactive, left_by)
            emitted = self._do(lambda: self._take(reactive, value, at))
            self._steps.given_up.count(reactive, left_by or self._pushes.why_not(reactive), failed_by)
            return emitted
        except BaseException as error:
            is_torn, self._journal.is_open = self._journal.is_open, True
            is_torn |= emitted is not None and not carried(error, emitted)
            self._journal.is_open = is_torn
            raise

    def _units(self, at: At, call: str) -> tuple[Any, bool | None]:
        """Return a time in time units, and whether it was given by datetimes (None: it was not given)."""
        world = self._world
        # Without times each event takes one unit; functions of inputs, which are told no datetimes, may have had more.
        return world.calendar.units(at, call, has_ints=world.latest > world.events)

    def _functions(self) -> Direct:
        """Return what pushes directly now; of an engine that was given datetimes, by them."""
        ready = self._pushes.ready(self._is_watched, self._world.latest)
        calendar = self._world.calendar
        if not calendar.is_dated:
            return ready

        def by_datetimes(function: Callable[[Any, Any], list[Event] | None]) -> Callable[[Any, Any], Any]:
            def push(value: Any, at: Any) -> list[Event] | None:
                emitted = function(value, calendar.units(at, "push")[0])
                return emitted and calendar.shown(emitted)

            return push

        return {reactive: by_datetimes(function) for reactive, function in ready.items()}

    def _settle(self) -> None:
        """Bring the objects up to date, if columns own the state."""
        if self._compiled is not None:
            self._compiled.settle()

    def _lend(self) -> None:
        """Likewise, to be read alone."""
        if self._compiled is not None:
            self._compiled.lend()

    def _is_watched(self) -> bool:
        """Whether something must happen between the rows of a batch."""
        must_begin = not self._has_begun and self._must_begin
        has_ended = any(slot.ended and not join.is_done for join in self._program.joins for slot in join.slots)
        return bool(self._listeners or self._world.ended or has_ended or must_begin or self._outlets.are_heard)

    @property
    def _must_begin(self) -> bool:
        return bool(self._prefixes.of) or not all(join.is_begun for join in self._program.joins)

    def _check_goes_on(self, reactive: Reactive, call: str) -> None:
        """Raise `InvalidArgument` if something is no input, or has ended."""
        name = check_input(self._program.names, reactive, call)
        if reactive in self._world.ended:
            message = f"{call}: expected an input that goes on but {name!r} has ended; push before end() or close()"
            raise InvalidArgument(message)

    def _do(self, work: Callable[[], list[Event]]) -> list[Event]:
        """Eat what the inputs have already, and then do ``work``, all or nothing; tell who listens."""
        self._direct = {}
        out = self._carried = None
        try:
            out = self._steps.atomically(work if self._has_begun else lambda: self._begin() + work())
            self._prefixes.settle(succeeded=True)
            self._has_begun = self._is_touched = True
            out = self._world.calendar.shown(out)
            self._journal.is_open = False
            for listener in list(self._listeners):
                listener(out)
            self._outlets.tell(out)
            self._direct = self._functions()
            return out
        except BaseException as error:
            is_torn, self._journal.is_open = self._journal.is_open, True
            if out is None:  # of a call before, or of another engine that a body uses
                unloaded(error)
            else:
                is_carried = carried(error, out, self._carried)
                is_torn |= not is_carried
                self._carried = getattr(error, "emitted", None) if is_carried else None
            self._journal.is_open = is_torn
            raise

    def _begin(self) -> list[Event]:
        self._journal.append(partial(self._prefixes.settle, succeeded=False))
        out = self._steps.begin()
        for reactive, item in self._prefixes:
            value, at = value_and_time(item)
            out += self._take(reactive, checked_value(reactive, value), at)
        return out

    def _take(self, reactive: Reactive, value: Any, at: At) -> list[Event]:
        name = self._program.names[reactive]
        units, dated = self._units(at, "push")
        start, end = checked_times(units, self._world.latest, self._world.clock, at)
        if dated is not None:
            self._world.calendar.is_dated = dated
        event = Event(value, start, end, 1, name, (name, self._world.events + 1))
        try:
            self._world.events += 1
            self._world.latest = max(self._world.latest, end)
            self._record(Call("push", event))
            out: list[Event] = []
            if self._lateness is not None:
                out += self._steps.move_clock(max(self._world.clock, self._world.latest - self._lateness))
            without = self._steps.set_aside_late(reactive, event) if end < self._world.clock else frozenset()
            if without is None:
                return out
            return out + self._steps.propagate({reactive: [event]}, set(), without)
        except BaseException as error:
            slots = ", ".join(
                f"slot {join.slots[index].name!r} of {join.name}"
                for join, index in self._program.bound.get(reactive, ())
            )
            times = self._world.calendar.text(start, end)
            add_note(error, f"while pushing {shortened(as_text(value))} at {times} into {name!r} ({slots})")
            raise

    def pull(self) -> list[Event[Result]]:
        """Eat what the inputs have already (see `Reactive.of`), in slot order; return what is emitted by it."""
        self._check_thread("pull")
        self._note("pull")
        return self._do(list)

    def end(self, reactive: Reactive) -> list[Event[Result]]:
        """Declare that an input has ended: nothing comes on it any more."""
        self._check_thread("end")
        name = check_input(self._program.names, reactive, "end")
        self._note("end", name)

        def end() -> list[Event]:
            self._record(Call("end", ended=name))
            return self._end([reactive])

        return self._do(end)

    def _position(self) -> Position:
        """Return how far the engine has come."""
        world = self._world
        return Position(world.events, world.latest, world.clock, len(world.late), len(world.ended), self._is_touched)

    def _stand(self) -> Stand:
        """Return where the engine stands, which is elsewhere after each call that has changed something."""
        return self._position(), self._world.steps

    def _note(self, call: str, *given: Any) -> None:
        """Note a call that begins, if that is wanted since a mark."""
        if self._mark is not None:
            self._mark.note(self._stand(), call, given)

    def _record(self, call: Call) -> None:
        """Record, where that is wanted, what is being done."""
        if self._world.provenance is not None:
            self._world.provenance.called(call)

    def _end(self, reactives: Iterable[Reactive]) -> list[Event]:
        self._world.ended = self._world.ended | set(reactives)
        return self._steps.propagate({}, set(self._world.ended))

    @property
    def done(self) -> bool:
        """Whether the outputs have completed: they emit nothing any more."""
        return all(
            output in self._world.ended or (output in self._program.join_of and self._program.join_of[output].is_done)
            for output in (*self.outputs, *self.pulled)
        )

    @property
    def has_finished(self) -> bool:
        """Whether nothing more can be emitted: the outputs have completed, or all inputs have ended."""
        return self.done or self._world.ended >= set(self.inputs.values())

    def _check_thread(self, call: str) -> None:
        """Check who calls, and let the objects own the state: what every call but `push_many` begins with."""
        self._check_own_thread(call)
        self._settle()

    def _check_own_thread(self, call: str) -> None:
        caller = threading.current_thread()
        if caller is not self._thread:
            message = (
                f"Engine: expected to be used by the thread that built it, {self._thread.name!r}, but was called by"
                f" {caller.name!r}; give each thread its own engine"
            )
            raise WrongThread(message)
        self._steps.check_idle(call)
        self._world.deadlines.settle()
