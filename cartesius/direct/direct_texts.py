"""Direct texts: what the functions of all pushes have in common.

A function finds out first what follows from a push, which may fail, and changes the state last, which may not. If
something fails it returns None, having changed nothing, and the push is done as written, which fails in the same way,
with notes.

Source: DESIGN 4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from cartesius.data.calendars import is_dated
from cartesius.data.code_lines import Lines
from cartesius.data.entries import ABSENT, LIVE, Entry
from cartesius.data.events import Event, EventDraft, Interval
from cartesius.data.generated import Constants, commented, define
from cartesius.data.queues import Queue
from cartesius.data.records import PLAIN, Record, wrap
from cartesius.direct.direct_clock import TIMES, coming
from cartesius.expressions.expression_texts import Texts
from cartesius.programs.doors import checked_times
from cartesius.programs.give_ups import LeftToClauses
from cartesius.storage.memories import NOWHERE, checked_key, hashable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.programs.steps import Steps

FAILING = "return steps.given_up.failed(error)  # as written it fails again, and says where"


class DirectText(ABC):
    """The function of one slot, and its text.

    Args:
        join: The correlation.
        slot: Where an event comes.
        steps: What runs the steps as written.
        lateness: That of the engine.
        scope: What the names mean that functions of its kind share.
        meets: Whether the function meets what is due before the event.
    """

    name: ClassVar[str] = "push"
    identity: ClassVar[str] = "(source, ordinal)"

    def __init__(
        self,
        join: Join,
        slot: Slot,
        steps: Steps,
        lateness: int | None,
        scope: Mapping[str, Any],
        *,
        meets: bool = False,
    ) -> None:
        self._join = join
        self._slot = slot
        self._lateness = lateness
        self._clock, self._come = coming(lateness, meets=meets)
        self._constants = Constants()
        self._texts = Texts({one.name: one.index for one in join.slots}, self._constants)
        self._lines = Lines()
        world = join.world
        self._scope = {**scope, "world": world, "journal": world.journal, "fates": world.fates, "steps": steps}
        self._scope |= {"lateness": lateness, "output": join.name, "source": slot.source}

    def _define(self, bound: Mapping[str, Any]) -> Callable[..., Any]:
        """Return the function, given what the names mean that its kind does not share."""
        return define(self.name, self._lines.text, {**self._scope, **bound, **self._constants.bound})

    def shown(self) -> str:
        """Return the text, with the pattern that it came from, and what the bound names in it are."""
        restrict = " | ".join(map(repr, self._join.pattern.restrictions)) or "nothing: the whole product"
        head = [f"{self._join.name}, when an event comes to {self._slot.name!r}", f"restricted by {restrict}"]
        head += [f"{name} = {value!r}" for name, value in self._constants.bound.items()]
        return "".join(f"# {commented(line)}\n" for line in head) + self._lines.text

    def _write(self) -> None:
        """Write the function."""
        add = self._lines.add
        with self._lines.under("def push(value, at):"):
            add(TIMES)
            add(self._clock)
            add("""
                ordinal = world.events + 1
                out = []
            """)
            self._prepare()
            add("steps.is_running = True")
            with self._lines.under("try:"):
                self._find_out()
            self._fail()
            add("""
                finally:
                    steps.is_running = False
            """)
            add(self._come)
            self._change()
            add("return out")

    @abstractmethod
    def _prepare(self) -> None:
        """Write what comes first, and calls nothing of the user's."""

    @abstractmethod
    def _find_out(self) -> None:
        """Write what finds out all that follows, and may fail."""

    def _keys(self, but: int | None = None) -> None:
        """Write what reads the keys of the event, ``but`` the window that it is yet to come into."""
        for space, by in enumerate(self._join.bindings.spaces):
            if self._slot.index not in by:
                continue
            if space == but:
                self._lines.add(f"key{space} = ABSENT")
                continue
            extract = by[self._slot.index]
            field = str(extract.__reduce__()[1][0]) if isinstance(extract, attrgetter) else ""
            if field and "." not in field:
                read = self._texts.field("value", field)
            else:
                read = f"{self._constants.name(extract)}(value)"
            self._lines.add(f"""
                key{space} = {read}
                if type(key{space}) is not int and type(key{space}) is not str:
                    key{space} = there(key{space})
            """)

    def _entry(self, more: str = "None") -> None:
        """Write what makes an entry of the event, whose keys are known."""
        own = self._slot.index
        spaces = self._join.bindings.spaces
        keys = "".join(f"key{space}, " if own in by else "ABSENT, " for space, by in enumerate(spaces))
        self._lines.add(f"""
            part{own} = new(Entry)
            part{own}.value = value
            part{own}.start = start
            part{own}.end = end
            part{own}._identity = {self.identity}
            part{own}.keys = ({keys})
            part{own}.row_key = ABSENT
            part{own}.slot = slot{own}
            part{own}.state = LIVE
            part{own}.more = {more}
        """)

    def _fail(self) -> None:
        """Write what becomes of a failure."""
        self._lines.add(f"except Exception as error:\n    {FAILING}")

    @abstractmethod
    def _change(self) -> None:
        """Write what changes the state, none of which can fail."""


def event_text(value: str, times: tuple[str, str], identity: str, before: str = "()") -> str:
    """Return the text that makes an event, and lets it out."""
    return f"""
        event = new(EventDraft)
        event.value = {value}
        event.start = {times[0]}
        event.end = {times[1]}
        event.weight = 1
        event.reactive = output
        event.identity = {identity}
        event.span = None
        event.before = {before}
        event.__class__ = Event
        out.append(event)
    """


def there(key: Any) -> Any:
    """Return a key at the door; raise `LeftToClauses` if it is null: then the event is set aside."""
    if checked_key(key, "key_by") is None:
        reason = "a key is null"
        raise LeftToClauses(reason)
    return key


STREAM_SCOPE: dict[str, Any] = {
    "plain": PLAIN, "wrap": wrap, "checked_times": checked_times, "is_dated": is_dated, "there": there,
    "hashable": hashable,
    "NOWHERE": NOWHERE, "ABSENT": ABSENT, "LIVE": LIVE, "Entry": Entry, "Event": Event, "EventDraft": EventDraft,
    "LeftToClauses": LeftToClauses, "new": object.__new__, "Record": Record, "Interval": Interval, "Queue": Queue,
}  # fmt: skip
"""What the names mean that functions of pushes into streams share."""
