"""Direct texts: the one writer of all pushes, which has the steps that they share.

A function finds out first what follows from a push, which may fail, and changes the state last, which may not. If
something fails it returns None, having changed nothing, and the push is done as written, which fails in the same way,
with notes. What is late, or what more is due before than it can do, is left to the handlers as well.

Each kind of correlation says what is found out, and what changes. The door and the clock, what sees an event first, its
keys and its entry, what is due before, failures, deadlines, counters and the end are written here, for all of them.

This module is over 300 lines because what is shared has one place.

Source: DESIGN 4; SEMANTICS 3.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Required, TypeAlias, TypedDict, Unpack

from cartesius.batching.deadlines import BY_ROWS, MANY
from cartesius.correlations.placements import gates_of
from cartesius.data.calendars import is_dated
from cartesius.data.entries import ABSENT, LIVE, Entry
from cartesius.data.events import EARLIEST, LATEST, Delete, Event, EventDraft, Interval, Update
from cartesius.data.generated import Constants, Lines, commented, define
from cartesius.data.null_values import is_null
from cartesius.data.queues import Queue
from cartesius.data.records import PLAIN, Record, path_of, wrap
from cartesius.data.window_spans import INSIDE
from cartesius.direct.direct_places import names_of, take_from
from cartesius.effects.evidence import put_back
from cartesius.expressions.expression_texts import Texts
from cartesius.expressions.value_functions import of_value
from cartesius.plan import facts
from cartesius.plan.nodes import KeyBy, Let, May, Transduce
from cartesius.programs.doors import checked_times, checked_value
from cartesius.programs.give_ups import LeftToClauses
from cartesius.results.unchanged_values import is_unchanged
from cartesius.storage.conservation import Fate
from cartesius.storage.memories import NOWHERE, checked_key, hashable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.direct.direct_clauses import AsWritten
    from cartesius.direct.leaving import Due, Leaving
    from cartesius.language.families import Slot
    from cartesius.programs.steps import Steps
    from cartesius.storage.kept_rows import KeptRows

    Make = Callable[..., "DirectText"]
    """Makes a function, of how it is linked (`Link`)."""
    Filters = Sequence[tuple[int, Installed]]
    Linked: TypeAlias = "DirectText | AsWritten"
    """One correlation of those that a push comes to."""

SEVERAL: Final = "several results go on as one batch to "
"""Why a push is left to the clauses: a correlation, which is named then, needs them for that."""
MORE: Final = "more follows than functions know of from the clauses of "
"""Likewise: all that comes in the push needs them for that."""
TIMES: Final = """
    if steps.is_running or journal.is_open:
        return None  # it is refused
    latest, clock = world.latest, world.clock
    if at is None:
        start = end = latest + 1
    elif type(at) is int:
        start = end = at
    elif is_dated(at):
        return None  # the engine turns datetimes into ints, once it has been given one
    else:
        start, end = checked_times(at, latest, clock)
    if end > latest:
        latest = end
"""
_CLEAN: Final = """
    if len(asks) > deadlines.most:
        deadlines.clean()
"""
_STANDS: Final = """
    if end < clock:
        return steps.given_up.leave("the event is late")
"""
PASSED: Final = """
    passed = latest - lateness
    if passed < clock:
        passed = clock
    if end < passed:
        return steps.given_up.leave("the event is late")
"""
_MOVE_CLOCK: Final = """
    handlers, over = put_back(), steps.over
    begun = world.begin()
    world.events, world.latest = ordinal, latest
    early += steps.move_clock(passed)
    if steps.over != over:
        raise LeftToClauses("something completes")
"""
FINISH: Final = """
    if met is not None:
        met.finish()
"""
_FINISH_ALL: Final = f"""
    {FINISH.strip()}
    if begun is not None:
        world.finish()
"""
_COME: Final = """
    journal.is_open = True  # who has called it closes it when it has what comes out
    world.events, world.latest = ordinal, latest
    world.steps += N_STEPS
"""
WRAP: Final = """
    if type(value) not in plain:
        value = wrap(value)
"""
_BEGIN: Final = """
    if begun is None:
        if met is not None:
            journal.is_open = False  # it can be taken back
        HANDLERS
        begun = world.begin()
    world.events, world.latest, world.steps, world.clock = ordinal, latest, step, PASSED
"""
_FINISH_STEPS: Final = """
    told = TOLD
    if deadlines.soon or deadlines.floored or PLAYED:
        over = steps.over
        told = steps.finished(told)
        if steps.over != over:
            raise LeftToClauses("something completes")
"""
_KEEP_STATE: Final = """
    if copy{gate} is None and not is_initial{gate}:
        copy{gate} = transducer{gate}.make(under{gate})
    if copy{gate} is not None:
        copy{gate}.__dict__["{name}"] = next{gate}
        if is_initial{gate}:
            transducer{gate}.forget(under{gate}, copy{gate})
"""
FAILING: Final = "return steps.given_up.failed(error)  # as written it fails again, and says where"
_FAIL: Final = f"""
    is_torn, journal.is_open, steps.is_running = journal.is_open, True, False
    if handlers is not None:
        handlers()
    if begun is not None and not is_torn:
        steps.undo(begun)
    if met is not None and world.events < ordinal:
        is_torn, journal.is_open = False, True
        met.undo()
    journal.is_open = is_torn
    if isinstance(error, Exception) and not is_torn:
        {FAILING}
    raise
"""


class After(NamedTuple):
    """What comes after others in a push."""

    sources: tuple[int, ...]
    """Whose results come to it: the numbers of what comes before, in order; 0 is the first."""
    make: Callable[..., Linked]


class Link(TypedDict, total=False):
    """How a function is linked with its engine, and with others, of other correlations, that run in the same push."""

    steps: Required[Steps]
    """What runs the steps as written."""
    lateness: Required[int | None]
    """That of the engine; None: its clock stands."""
    leaving: Leaving
    """What meets the deadlines, of the first one."""
    follows: bool
    """Whether it is a generator that follows the first."""
    of_results: bool
    """Whether what comes to it are results of another correlation, not what is pushed."""
    part_of: DirectText
    """What writes one text with it."""
    reads: bool
    """Whether another one before it stores what comes to both, as they share a memory."""
    after: Sequence[After]
    """What follows, of the first one: each after all that comes to it."""
    told: Sequence[int]
    """Whose results are told, of the first one: their numbers, in order."""
    kept: KeptRows | None
    """The rows of a table that are kept once for all who read them, of the first one."""
    log: list[Any]
    """Where it notes how to take back what it changes, as others of the same push may fail later."""


class DirectText(ABC):
    """The function of one slot, and its text.

    One that follows the first is a generator: it gives what comes out of it, and changes the state when it is asked to
    go on. So each finds out what follows from the results that are one batch for it, and the state is changed once all
    have; where several could meet each other, the push is done as written. They run in the order of the program, and
    entries are numbered on the way: each is told the last ``number``, and tells its own.

    Args:
        join: The correlation.
        slot: Where an event comes.
        **link: How it is linked with others; by itself it is all that a push does.
    """

    identity: str = "(source, ordinal)"
    row_key: ClassVar[str] = "ABSENT"
    why: str = ""
    """Why it calls clauses, if it does."""

    def __init__(self, join: Join, slot: Slot, **link: Unpack[Link]) -> None:
        steps, self._lateness = link["steps"], link["lateness"]
        self.join = join
        self._slot = slot
        self._own = slot.index
        self._others = [one.index for one in join.slots if one is not slot]
        self._part = f"part{slot.index}"
        self._follows = link.get("follows", False)
        self._log = link.get("log")
        self._is_let_go = self._log is not None and not self._follows  # by a gate: it is called with what that held
        if (self._follows or self._is_let_go) and self.identity == DirectText.identity:
            self.identity = "identity"
        self._is_released = False  # by a window, into memories of its own
        self._of_results = link.get("of_results", False)
        self._reads = link.get("reads", False)
        self._kept = link.get("kept")
        self._meets = self._lateness is not None  # what is due before the event
        self._is_final = steps.program.may_hold_strands  # whether what clauses have done cannot be undone
        self._strands_deadlines = any(map(_strands_deadlines, steps.program.joins))
        self._tells_steps = join.batch.tells_steps  # whether results have the number of their step
        self._n_steps = "1 + (0 if met is None else met.n_ticks)" if self._meets else "1"
        come = _COME.replace("N_STEPS", self._n_steps)
        self._come = "" if self._is_let_go else f"{come}    world.clock = passed" if self._meets else come
        self._count = slot.ledger.text
        whole: DirectText = link.get("part_of", self)
        self._constants: Constants = Constants() if whole is self else whole._constants
        self._texts = Texts({one.name: one.index for one in join.slots}, self._constants)
        self._lines: Lines = Lines() if whole is self else whole._lines
        self._asked: list[Installed] = [] if whole is self else whole._asked
        self._leaving: list[tuple[str, ...]] = []  # what is done with an event that nothing more happens to
        self._states: list[str] = []  # what keeps those of the transducers that have seen the event
        self._windows: Installed | None = None  # what opens those that an event comes into at once
        world, body = join.world, join.batch.body
        self._scope: dict[str, Any] = {} if whole is self else whole._scope
        self._scope |= {**SCOPE, **names_of(join.slots), "world": world, "journal": world.journal, "fates": world.fates}
        self._scope |= {"steps": steps, "lateness": self._lateness, "leaving": link.get("leaving")}
        self._scope |= {"output": join.name, "source": slot.source}
        self._scope |= {
            "deadlines": world.deadlines,
            "asks": world.deadlines.asked,
            "correlation": join.number,
            "reactive": slot.reactive,
        }
        self._scope |= {"where": body.where, "yields": body.yields}
        behind: Link = {"steps": steps, "lateness": None, "follows": True}
        if self._log is not None:
            behind["log"] = self._scope["log"] = self._log
        self._after = [(one, one.make(**behind)) for one in link.get("after", ())]
        self._scope.setdefault("joins", [link.join for link in self.links])  # which may let events go on at their doors
        self._told = [_results(number) for number in link.get("told", (0,))]

    @cached_property
    def dues(self) -> Mapping[Installed, Due]:
        """What the deadlines of its restrictions do, as far as that is known."""
        return {}

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function, which is written when somebody asks for it."""
        self._write()
        bound = self._scope | {f"follow{place}": code.function for place, (_, code) in enumerate(self._after, 1)}
        name = "follow" if self._follows else "release" if self._is_let_go else "push"
        return define(name, self._lines.text, bound | self._constants.bound)

    @property
    def _is_numbered(self) -> bool:
        """Whether the number of the last entry is known to what is found out."""
        return self._follows or bool(self._after) or self._tells_steps

    @property
    def links(self) -> list[Linked]:
        """This, and those that follow it, in order."""
        return [self, *[code for _, code in self._after]]

    @property
    def _calls(self) -> bool:
        """Whether something that follows runs clauses, which change the state as they go."""
        return any(code.why for _, code in self._after)

    @property
    def _finishes(self) -> bool:
        """Whether all that follows runs clauses: then all can be undone, and further steps may follow."""
        return self._calls and all(code.why for _, code in self._after)

    @property
    def _is_guarded(self) -> bool:
        """Whether something changes the state before all is found out."""
        return self._meets or self._calls

    @property
    def _passed(self) -> str:
        """The name of where the clock will be."""
        return "clock" if self._lateness is None else "passed"

    def shown(self) -> str:
        """Return the text, with the pattern that it came from, and what the bound names in it are."""
        assert self.function is not None  # Invariant: whoever asks for it writes the text
        head = [*self._head(), *[f"{name} = {value!r}" for name, value in self._constants.bound.items()]]
        text = "".join(f"# {commented(line)}\n" for line in head) + self._lines.text
        return "\n".join([text, *[code.shown() for _, code in self._after]])

    def _head(self) -> list[str]:
        """Return what stands above the text."""
        restrict = " | ".join(map(repr, self.join.pattern.restrictions)) or "nothing: the whole product"
        return [f"{self.join.name}, when an event comes to {self._slot.name!r}", f"restricted by {restrict}"]

    def _write(self) -> None:
        """Write the function."""
        if self._follows or self._is_let_go:
            self._write_following() if self._follows else self._write_release()
            return
        add = self._lines.add
        with self._lines.under("def push(value, at):"):
            self._door()
            add("ordinal = world.events + 1")
            add("out, early = [], []" if self._after else "out = early = []")  # what deadlines give
            add("met = begun = handlers = None" if self._is_guarded else "")
            add("steps.is_running = True")
            with self._lines.under("try:"):
                self._meet_deadlines()
                add("number = world.number" if self._is_numbered else "")
                self._prepare()
                if self._after or self._calls or self._tells_steps:
                    add(f"step = world.steps + {self._n_steps}")
                if self._calls:
                    handlers = "handlers = put_back()" if self._after else ""
                    add(_BEGIN.replace("PASSED", self._passed).replace("HANDLERS", handlers))
                self._find_out()
                self._pass_on()
                if self._finishes:
                    self._let_follow()
                    played = "any([one.has_played for one in joins])" if self._after else "joins[0].has_played"
                    add(_FINISH_STEPS.replace("TOLD", self._all_told).replace("PLAYED", played))
                if self._is_guarded:
                    add("if begun is not None:\n    journal.is_open = True")
                    add("steps.is_running = False")
            self._fail()
            if not self._finishes:
                add("world.number = number" if self._calls else self._come)
                self._change()
                self._let_follow()
            add(_FINISH_ALL if self._is_guarded else "")
            add(f"return {'told' if self._finishes else self._all_told}")

    def _write_release(self) -> None:
        """Write the function of what a gate lets go, in a step of its own."""
        add = self._lines.add
        with self._lines.under("def release(held, step, clock):"):
            add("value, start, end, identity = held.value, held.start, held.end, held._identity")
            add("out, early = [], []" if self._after else "out = early = []")
            add("number = world.number" if self._is_numbered else "")
            self._find_out()
            self._pass_on()
            add("journal.is_open = True")
            self._change()
            self._let_follow()
            add(f"journal.is_open = False\nreturn {self._all_told}")

    def _note(self, function: str, *arguments: str) -> None:
        """Write what notes how to take back what comes next."""
        if self._log is not None:
            self._lines.add(f"log.append(({', '.join((function, *arguments))},))")

    @property
    def _all_told(self) -> str:
        if not self._after:
            return "out"
        if len(self._told) == 1:
            return f"[*early, *{self._told[0]}] if early else {self._told[0]}"
        return f"[{', '.join(f'*{name}' for name in ('early', *self._told))}]"

    def _write_following(self) -> None:
        """Write the generator of one that follows another."""
        known = f"({', '.join(self._found_out())},)"
        with self._lines.under("def follow(results, number, step, passed):"):
            self._lines.add("out, every, dropped = [], [], []")
            self._before_all()
            with self._lines.under("for result in results:"):
                self._lines.add("""
                    value, start, end = result.value, result.start, result.end
                    identity, before = result.identity, result.before
                """)
                self._prepare()
                self._find_out()
                self._lines.add(f"every.append({known})")
            self._after_all()
            self._lines.add("yield out, number")
            for place, texts in enumerate(self._leaving):
                if not texts and self._windows is None:
                    continue
                with self._lines.under(f"for _ in range(dropped.count({place})):"):
                    for text in texts:
                        self._lines.add(text)
                    self._touch_windows()  # those of the one event there is
            with self._lines.under(f"for {known} in every:"):
                self._change()

    def _before_all(self) -> None:
        """Write what comes before the results of one batch are looked at, of one that follows."""
        reason = f"{SEVERAL}{self.join.name}"
        self._lines.add(f"if len(results) > 1:\n    raise LeftToClauses({reason!r})")

    def _after_all(self) -> None:
        """Write what puts what they give into order, if it is not that in which they have come."""
        self._lines.add("")

    def _found_out(self) -> list[str]:
        """Return the names of what is found out of one result, as far as what changes the state needs them."""
        raise NotImplementedError  # who may follow says

    def _pass_on(self) -> None:
        """Write what lets results go on to the slots that are bound to them."""
        self._lines.add("last = number" if self._after else "")
        for place, (one, _) in enumerate(self._after, 1):
            given = [_results(source) for source in one.sources]
            come = given[0] if len(given) == 1 else f"({', '.join(given)})"
            self._lines.add(f"""
                chain{place}, {_results(place)} = None, []
                if {" or ".join(given)}:
                    chain{place} = follow{place}({come}, last, step, {self._passed})
                    {_results(place)}, last = next(chain{place})
            """)

    def _let_follow(self) -> None:
        for place in range(1, len(self._after) + 1):
            self._lines.add(f"if chain{place} is not None:\n    next(chain{place}, None)")

    def _door(self) -> None:
        """Write what reads the times, refuses what comes in the middle of another push, and leaves what is late."""
        self._lines.add(TIMES)
        self._lines.add(_CLEAN if self._strands_deadlines else "")
        self._lines.add(_STANDS if self._lateness is None else PASSED)

    def _meet_deadlines(self) -> None:
        """Write what meets what is due before, by clauses if functions know too little of it."""
        if not self._meets:
            return
        if self.join.world.deadlines.floored:  # which floors pass is found out by clauses
            self._lines.add(_MOVE_CLOCK)
            return
        is_due = "(heap := deadlines.entered) and heap[0][0] < passed"
        with self._lines.under(f"if asks and asks[0][0] < passed or {is_due}:"):
            self._lines.add("met = leaving.meet(passed, early)")
            with self._lines.under("if met is None:"):
                self._foresee()
                reason = 'raise LeftToClauses("something is due before")'
                self._lines.add(reason if self._is_final else _MOVE_CLOCK)

    def _foresee(self) -> None:
        """Write what is left to the clauses whatever they do before: else that were done, undone and done again."""
        self._lines.add("")

    def _prepare(self) -> None:
        """Write what comes first, of each event or result."""
        self._lines.add(WRAP)

    @abstractmethod
    def _find_out(self) -> None:
        """Write what finds out all that follows, and may fail."""

    @abstractmethod
    def _change(self) -> None:
        """Write what changes the state, none of which can fail."""

    def _fail(self) -> None:
        """Write what becomes of a failure: what has been met or done is taken back, unless the event has come."""
        if not self._is_guarded:
            self._lines.add(f"""
                except Exception as error:
                    {FAILING}
                finally:
                    steps.is_running = False
            """)
            return
        with self._lines.under("except BaseException as error:"):
            self._put_back()
            self._lines.add(_FAIL)

    def _put_back(self) -> None:
        """Write what a failure puts back besides, of what is not in the journal."""
        self._lines.add("")

    # -- what sees an event first --------------------------------------------------------------------------------------

    def _leave_if(self, condition: str, *also: str) -> None:
        """Write that an event has come, and nothing more happens."""
        with self._lines.under(f"if {condition}:"):
            if self._is_released:
                for text in (*also, "continue"):
                    self._lines.add(text)
                return
            if self._follows:
                self._lines.add(f"dropped.append({len(self._leaving)})\ncontinue")
                self._leaving.append((*also, *self._states))
                return
            for text in (self._come, *also, *self._states):
                self._lines.add(text)
            self._touch_windows()
            if self._is_guarded:
                self._lines.add("steps.is_running = False")
                self._lines.add(_FINISH_ALL)
            self._lines.add("return early")

    def _leave_windowless(self) -> None:
        """Write that nothing happens to an event that is in no window, unless something may see it before."""
        if any(isinstance(one.node, Let) for one in self.join.installed):
            self._lines.add('if not windows:\n    raise LeftToClauses("it is in no window")')
        else:
            self._leave_if("not windows")

    def _touch_windows(self) -> None:
        """Write what asks for the times of the windows that the event comes into, and opens them."""
        if self._windows is not None:
            with self._lines.under("for window in windows:"):
                self._lines.add("due = window.end + delay")
                self._ask(self._windows, "due", again=True)
                self._lines.add("opener.copies[under].contents.setdefault(window, no_events)")

    def _filter(self, filters: Filters, many: str = "1") -> None:
        """Write which events are dropped, or go on with another value: each gate, and its place among those there."""
        for gate, one in filters:
            counts = () if self._reads else (self._count(Fate.DELIVERED, many), self._count(None, many, gate=gate))
            if isinstance(one.node, Let):
                predicate = of_value(one.node.predicate)
                self._leave_if(f"not {self._constants.name(predicate)}(value)", *counts)
            elif isinstance(one.node, Transduce):
                self._transduce(gate, one, one.node)
                self._leave_if("not goes", *counts)
                self._lines.add("(value,) = goes")

    def _transduce(self, gate: int, one: Installed, node: Transduce) -> None:
        """Write what the state of a transducer is next, and what goes on."""
        self._scope |= {f"transducer{gate}": one, f"initial{gate}": one.restriction._states[node.variable]}
        self._lines.add(f"""
            under{gate} = ({"".join(f"key{space}, " for space in one.prefixes[self._own])})
            copy{gate} = transducer{gate}.copies.get(under{gate})
            state{gate} = initial{gate} if copy{gate} is None else copy{gate}.{node.variable}
            next{gate}, goes = {self._constants.name(node.step)}(state{gate}, value)
            is_initial{gate} = bool(next{gate} == initial{gate})
        """)
        self._states.append(_KEEP_STATE.format(gate=gate, name=node.variable))

    def _keep_states(self) -> None:
        """Write what keeps the states of transducers."""
        for text in self._states:
            self._lines.add(text)

    def _keys(self, but: int | None = None) -> None:
        """Write what reads the keys of the event, ``but`` the window that it is yet to come into."""
        for space, by in enumerate(self.join.bindings.spaces):
            if self._own not in by:
                continue
            if space == but:
                self._lines.add(f"key{space} = ABSENT")
                continue
            extract = by[self._own]
            self._lines.add(f"""
                key{space} = {self._read(extract)}
                if type(key{space}) is not int and type(key{space}) is not str:
                    key{space} = there(key{space})
            """)

    def _read(self, extract: Any) -> str:
        """Return the text of what is made of the value."""
        path = path_of(extract) or ()
        return self._texts.field("value", path[0]) if len(path) == 1 else f"{self._constants.name(extract)}(value)"

    @property
    def _known_keys(self) -> list[str]:
        """The names of the keys of the event."""
        return [f"key{space}" for space, by in enumerate(self.join.bindings.spaces) if self._own in by]

    def _leave_without_keys(self, reason: str, known: Callable[[Any], str | None] = lambda _: None) -> None:
        """Write that an event is set aside by the clauses if it has not all keys; some texts of them are ``known``."""
        for needed in self.join.bindings.needed[self._own]:
            found = known(needed.compute) or self._read(needed.compute)
            self._lines.add(f'if is_null({found}):\n    raise LeftToClauses("{reason}")')

    def _entry(self, more: str = "None") -> None:
        """Write what makes an entry of the event, whose keys are known."""
        spaces, part = self.join.bindings.spaces, self._part
        keys = "".join(f"key{space}, " if self._own in by else "ABSENT, " for space, by in enumerate(spaces))
        self._lines.add(f"""
            {part} = new(Entry)
            {part}.value = value
            {part}.start = start
            {part}.end = end
            {part}._identity = {self.identity}
            {part}.keys = ({keys})
            {part}.row_key = {self.row_key}
            {part}.slot = slot{self._own}
            {part}.state = LIVE
            {part}.more = {more}
        """)

    def _begin(self) -> None:
        """Write that nothing has been looked at yet."""
        for other in self._others:
            self._lines.add(f"visited{other} = 0")

    def _count_visits(self) -> None:
        """Write what counts the entries looked at, now that nothing can fail: else the push as written counts them."""
        for other in self._others:
            self._lines.add(f"memory{other}.visited += visited{other}")

    # -- what is due later -------------------------------------------------------------------------

    def _ask(self, one: Installed, due: str, *, again: bool = False) -> None:
        """Write what asks for the time, by its name, when something is due of the copy for the keys of the event.

        Who asks ``again`` and again for one time, and needs the copy, has it in the heap at once.
        """
        number = len(self._asked)
        self._asked.append(one)
        self._scope |= {f"asking{number}": one, f"place{number}": one.place}
        self._lines.add(f"under = ({''.join(f'key{space}, ' for space in one.prefix)})")
        with self._lines.under(f"if {due} not in asking{number}.due.get(under, ()):" if again else ""):
            self._lines.add("deadlines.number = asked = deadlines.number + 1")
            asked = f"stored << {BY_ROWS} | asked" if one.gives_rows else "asked"
            item = f"({due}, place{number}, {asked}, asking{number}, under)"
            if one.floor_slots:
                self._lines.add(f"""
                    item = {item}
                    if deadlines.enter(item):
                        log.append((deadlines.forget_floored, item))
                """)
                return
            if again:
                self._lines.add(f"deadlines.enter({item})")
                return
            is_tied = f"{due} == asks[-1][0] and place{number} >= asks[-1][1] and len(asks) < {MANY}"
            self._lines.add(f"""
                if {due} > asking{number}.until and (not asks or {due} > asks[-1][0] or ({is_tied})):
                    asks.append({item})
                else:
                    deadlines.enter({item})
            """)


class DirectFork(DirectText):
    """The function of an input that comes to slots of several correlations, all of which follow."""

    @property
    def links(self) -> list[Linked]:
        """Those that follow it, in order."""
        return [code for _, code in self._after]

    def _head(self) -> list[str]:
        some = [f"{place} {code.join.name}" for place, (_, code) in enumerate(self._after, 1)]
        return [
            f"an event of {self._slot.source}, which comes to several correlations, and what follows: {', '.join(some)}"
        ]

    def _prepare(self) -> None:
        if not self._slot.reactive.table:
            super()._prepare()

    def _find_out(self) -> None:
        is_change = self._calls and self._slot.reactive.table
        self._lines.add("value = checked_value(reactive, value)" if is_change else "")
        self._lines.add(event_text("value", ("start", "end"), self.identity))
        if self._finishes and self._kept is not None:  # those that have functions keep them themselves
            self._scope["kept"] = self._kept
            self._lines.add("out[0] = kept.change(event)")

    def _change(self) -> None:
        self._lines.add("")  # of its own it has nothing


def _results(place: int) -> str:
    """The name of the results of what follows at a place in order, 0 of the first."""
    return f"given{place}" if place else "out"


def filters_of(join: Join, slot: Slot) -> Filters:
    """Return what drops events of a slot, or changes their values, in the order in which it sees them."""
    gates = gates_of(join.installed, slot)
    found = [one for one in reversed(join.installed) if isinstance(one.node, Let | Transduce) and slot in one.named]
    return [(gates.index(one), one) for one in found]


def event_text(value: str, times: tuple[str, str], identity: str, before: str = "()", weight: int = 1) -> str:
    """Return the text that makes an event, and lets it out."""
    return f"""
        event = new(EventDraft)
        event.value = {value}
        event.start = {times[0]}
        event.end = {times[1]}
        event.weight = {weight}
        event.reactive = output
        event.identity = {identity}
        event.span = None
        event.before = {before}
        event.__class__ = Event
        out.append(event)
    """


def _strands_deadlines(join: Join) -> bool:
    """Whether entries may leave whose deadlines nobody wants then."""
    is_taken_back = any(slot.memory.finds for slot in join.slots)
    others = [one for one in join.installed if not (isinstance(one.node, KeyBy | May) or facts.is_pointwise(one))]
    return any(one.lets_go_alone for one in join.installed) and (is_taken_back or bool(others))


def widen(lines: Lines, others: Iterable[str], *, may_miss: bool = False) -> None:
    """Write what widens the time of the event to the hull of other parts."""
    for other in others:
        with lines.under(f"if {other} is not None:" if may_miss else ""):
            lines.add(f"""
                if {other}.start < since:
                    since = {other}.start
                if {other}.end > until:
                    until = {other}.end
            """)


def there(key: Any) -> Any:
    """Return a key at the door; raise `LeftToClauses` if it is null: then the event is set aside."""
    if checked_key(key, "key_by") is None:
        raise LeftToClauses("a key is null")
    return key


class Taken(Exception):
    """The first match has been taken: what leaves the loops in which it was found."""


SCOPE: dict[str, Any] = {
    "plain": PLAIN, "wrap": wrap, "checked_times": checked_times, "is_dated": is_dated, "there": there,
    "hashable": hashable, "is_null": is_null, "is_unchanged": is_unchanged,
    "NOWHERE": NOWHERE, "ABSENT": ABSENT, "LIVE": LIVE, "NEVER": EARLIEST, "EVER": LATEST, "nothing": object(),
    "Entry": Entry, "Event": Event, "EventDraft": EventDraft, "Update": Update, "Delete": Delete, "Queue": Queue,
    "LeftToClauses": LeftToClauses, "INSIDE": INSIDE, "new": object.__new__, "Record": Record, "Interval": Interval,
    "Taken": Taken, "put_back": put_back, "chain": chain,
    "checked_value": checked_value, "take_from": take_from,
}  # fmt: skip
"""What the names mean that all functions share."""
