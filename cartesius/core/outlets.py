"""Outlets: which outputs an engine has, while it runs, and who is told what they emit.

An output that comes finds what the engine computes already, and the present rows of the tables that it is made from; it
knows nothing of what streams have brought before. One that goes takes with it what no other needs.

Invariant: between calls the program follows from the outputs alone, so that a snapshot can be restored from them.

Source: Tommasini et al., RSP4J, ESWC 2021 (tasks with and without an output stream; lazy time-varying relations).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, final

from cartesius.core.pulling import Prefixes
from cartesius.data.events import EARLIEST, LATEST, Event, Update
from cartesius.errors import InvalidArgument, add_note
from cartesius.language.reactives import Reactive, check_reactive
from cartesius.programs.programs import Program
from cartesius.programs.table_reading import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.core.engine_core import EngineCore
    from cartesius.data.events import Time

Listener: TypeAlias = "Callable[[list[Event]], object]"


@final
class Subscription:
    """That somebody is told what an output emits; made by `Engine.subscribe`."""

    def __init__(self, outlets: Outlets, output: Reactive, name: str, function: Listener) -> None:
        self.output = output
        self._outlets = outlets
        self._name = name
        self._function = function

    def cancel(self) -> None:
        """Tell no more. What has been cancelled already stays so."""
        self._outlets.forget(self)

    def hear(self, events: list[Event]) -> None:
        """Tell what concerns this output, if there is anything."""
        mine = [event for event in events if event.reactive == self._name]
        if mine:
            self._function(mine)

    def __repr__(self) -> str:
        """Show the output."""
        return f"<subscription to {self._name}>"


class Outlets:
    """The subscriptions of one engine."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []
        self._untold: deque[list[Event]] = deque()  # what calls made by subscribers have emitted comes after
        self._is_telling = False

    def subscribe(self, program: Program, output: Reactive, function: Listener) -> Subscription:
        """Tell ``function`` what an output emits from now on."""
        check_reactive(output, "subscribe", "output")
        if output not in program.outputs:
            names = ", ".join(program.names[one] for one in program.outputs) or "none"
            message = f"subscribe: expected an output that is pushed but got {output!r}; those are {names}"
            if output in program.pulled:
                message += "; add it without pulled=True"
            raise InvalidArgument(message)
        if not callable(function):
            message = f"subscribe: expected a function but got function={function!r} (type={type(function).__name__})"
            raise InvalidArgument(message)
        subscription = Subscription(self, output, program.names[output], function)
        self._subscriptions.append(subscription)
        return subscription

    @property
    def are_heard(self) -> bool:
        """Whether anybody is told."""
        return bool(self._subscriptions)

    def forget(self, subscription: Subscription) -> None:
        """End a subscription, if it has not ended yet."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def forget_all(self, output: Reactive) -> None:
        """End the subscriptions to an output."""
        self._subscriptions = [one for one in self._subscriptions if one.output is not output]

    def tell(self, events: list[Event]) -> None:
        """Tell all what has been emitted, in order; raise what they raise when all have been told."""
        self._untold.append(events)
        if self._is_telling:
            return
        self._is_telling = True
        errors: list[Exception] = []
        try:
            while self._untold:
                told = self._untold.popleft()
                for subscription in list(self._subscriptions):
                    if subscription in self._subscriptions:  # nobody before it has cancelled it
                        errors += _failures(subscription, told)
        finally:
            self._is_telling = False  # first: who interrupts this, too, would leave subscribers deaf
            self._untold.clear()
        if len(errors) == 1:
            raise errors[0]
        if errors:
            message = "several subscribers failed; what they were told of is done and stands"
            raise ExceptionGroup(message, errors)


def _failures(subscription: Subscription, events: list[Event]) -> list[Exception]:
    try:
        subscription.hear(events)
    except Exception as error:  # it is raised when all have been told
        add_note(error, f"in a {subscription!r}; the call that it was told of is done and stands: do not repeat it")
        return [error]
    return []


def checked_outputs(outputs: Iterable[Any], pulled: Iterable[Any]) -> tuple[tuple[Reactive, ...], tuple[Reactive, ...]]:
    """Return the outputs of an engine, each once, and those that are only pulled."""
    if not isinstance(pulled, Iterable):
        message = f"Engine: expected tables in a list but got pulled={pulled!r} (type={type(pulled).__name__})"
        raise InvalidArgument(message)
    pushed = tuple(dict.fromkeys(check_reactive(output, "Engine", "output") for output in outputs))
    views = tuple(dict.fromkeys(_checked_view(view, "Engine") for view in pulled))
    if not pushed and not views:
        message = "Engine: expected one or more reactives to compute but got none; write Engine(reactive)"
        raise InvalidArgument(message)
    for view in views:
        if view in pushed:
            message = f"Engine: expected outputs that are pushed or pulled but {view!r} is given as both; leave one out"
            raise InvalidArgument(message)
    return pushed, views


def _checked_view(view: object, call: str) -> Reactive:
    reactive = check_reactive(view, call, "pulled")
    if not reactive.table:
        message = (
            f"{call}: expected a table to be pulled but {reactive!r} is a stream, of which nothing is there to ask for;"
            " push it, or put as_table between"
        )
        raise InvalidArgument(message)
    return reactive


def add_output(engine: EngineCore, output: Reactive, *, is_pulled: bool) -> list[Event]:
    """Let an engine compute one more output; return what it has already."""
    reactive = _checked_view(output, "add") if is_pulled else check_reactive(output, "add", "output")
    before = engine._program
    pushed = [one for one in before.outputs if one is not reactive]
    views = [one for one in before.pulled if one is not reactive]
    if reactive in (before.pulled if is_pulled else before.outputs):
        message = f"add: expected an output that is not {_kind(is_pulled)} already but got {reactive!r}; leave it out"
        raise InvalidArgument(message)
    (views if is_pulled else pushed).append(reactive)
    program = Program(pushed, engine._world, pulled=views, before=before)
    joins = [join for join in program.joins if join not in before.joins]  # in the order in which they run
    name = program.names[reactive]
    join, rows = program.join_of.get(reactive), list[Event]()
    try:
        if reactive.table and not is_pulled and (reactive in before.names if join is None else join not in joins):
            rows = _present(engine, before if join is None else program, reactive, name)  # a body of it may fail
        _follow(engine, program)
        engine._journal.is_open = False
        emitted = engine._steps.atomically(lambda: _begin(engine, before, joins) if engine._is_touched else [])
    except BaseException:
        was_undone, engine._journal.is_open = not engine._journal.is_open, True
        if was_undone:
            _follow(engine, before)
            before.discard(joins)
            engine._journal.is_open = False
        raise
    engine._mark = None
    if is_pulled:
        engine._outlets.forget_all(reactive)
        return []
    return rows or [event for event in emitted if event.reactive == name]


def remove_output(engine: EngineCore, output: Reactive) -> None:
    """Let an engine compute an output no longer."""
    before = engine._program
    if output not in (*before.outputs, *before.pulled):
        names = ", ".join(before.names[one] for one in (*before.outputs, *before.pulled))
        message = f"remove: expected an output of this engine but got {output!r}; the outputs are {names}"
        raise InvalidArgument(message)
    pushed = [one for one in before.outputs if one is not output]
    views = [one for one in before.pulled if one is not output]
    if not pushed and not views:
        message = f"remove: expected an engine that keeps an output but {output!r} is the last; add another one first"
        raise InvalidArgument(message)
    program = Program(pushed, engine._world, pulled=views, before=before)
    _follow(engine, program)
    engine._outlets.forget_all(output)
    program.discard([join for join in before.joins if join not in program.joins])
    engine._mark = None
    engine._journal.is_open = False


def _kind(is_pulled: bool) -> str:
    return "pulled" if is_pulled else "pushed"


def _follow(engine: EngineCore, program: Program) -> None:
    """Let an engine run another program; the journal is open until the caller has done what belongs to it."""
    before = engine._program
    engine._journal.is_open = True
    for table, kept in program.kept.items():
        if table not in before.kept and table in before.names:
            kept.present.update(Table(before, table, "add").rows())
    program.mark_read()
    engine._program = engine._steps.program = program
    engine._pushes, engine._direct = engine._direct_pushes(), {}
    engine._world.ended = frozenset(
        one for one in engine._world.ended if program.inputs.get(before.names.get(one, "")) is one
    )
    engine._prefixes = Prefixes(program.inputs, engine._prefixes)
    if engine._prefixes.has_more:
        engine._has_begun = False


def _begin(engine: EngineCore, before: Program, joins: list[Any]) -> list[Event]:
    """Run the first step of new correlations, with the rows that the tables they are made from have already."""
    program = engine._program
    ended = {*engine._world.ended, *(reactive for join in before.joins if join.is_done for reactive in join.reactives)}
    events: dict[Reactive, list[Event]] = {}
    for join in joins:
        for slot in join.slots:
            table = slot.reactive
            is_there = table in before.names if table.pattern is None else program.join_of[table] in before.joins
            if table.table and is_there and table not in events:
                known = before if table.pattern is None else program  # where no new memory is taken for its rows
                events[table] = _present(engine, known, table, slot.source)
    return engine._steps.begin_anew(joins, events, ended)


def _present(engine: EngineCore, program: Program, reactive: Reactive, name: str) -> list[Event]:
    """Return the rows of a table as updates at the latest time seen."""
    table = Table(program, reactive, "add")
    clock = engine._world.clock
    time: Time = max(engine._world.latest, EARLIEST if clock == LATEST else clock)
    span = None if table.versions is None else (time, LATEST)
    return [
        Event(Update(key, value), time, time, 1, name, (name, key), span=span) for key, value in table.rows().items()
    ]
