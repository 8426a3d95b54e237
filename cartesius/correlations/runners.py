"""Runners: how what comes to the slots of a correlation gets through its handlers.

`OnStrands` is as the paper has it: a strand a slot, and one for the clock, each a coroutine that waits for its mail.
`InPlace` calls instead: the same handlers in the same order, but put together once (`evidence`). It is enough where no
restriction has a ctl clause, as then no strand is ever suspended but at its inbox.

Invariant: between steps nothing is in the mail, and every strand is parked at its inbox, unless a ctl clause holds it.

Source: ICFP 2018, doi:10.1145/3236762, sections 3.4 and 4.4.2; DESIGN 4.
"""

from __future__ import annotations

import weakref
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from cartesius.effects.evidence import Evidence
from cartesius.effects.handlers import Composed, handle
from cartesius.effects.strands import Future, Strands, await_
from cartesius.language.families import Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cartesius.correlations.continuations import Continuation
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.effects.handlers import Handler

_FINISHED = object()
Answer = TypeVar("Answer")


class InPlace:
    """By direct calls."""

    def __init__(self, join: Join, outer: Handler, inner: Handler) -> None:
        self._join = join
        self.evidence = Evidence(outer, inner)
        self._work: deque[Callable[[], object]] = deque()
        self.under_outer = self.evidence.outside

    def build(self) -> None:
        """Forget what a failed step has left."""
        self._work.clear()

    def post(self, index: int, mail: Iterable[Entry | None]) -> None:
        """Leave mail for a slot: events, or None for its end."""
        slot = self._join.slots[index]
        self._work.extend([partial(self._join.come, slot, entry) for entry in mail])

    def ring(self, installed: Installed, key: tuple[Any, ...], now: Time) -> None:
        """Leave word that a deadline of one copy is due."""
        self._work.append(partial(self._join.meet, installed, key, now))

    def spawn(self, work: Callable[[], object]) -> None:
        """Leave work to be done under the handlers of a slot."""
        self._work.append(work)

    def run(self) -> None:
        """Do all that was left, in order."""
        if self._work:
            self.evidence.inside(self._do_all)

    def _do_all(self) -> None:
        while self._work:
            self._work.popleft()()

    def drop(self) -> None:
        """Nothing is suspended."""


class OnStrands:
    """On coroutines."""

    def __init__(
        self,
        join: Join,
        outer: Handler,
        inner: Handler,
        outside: Mapping[tuple[Installed, str], tuple[Handler, ...]],
    ) -> None:
        self._join = join
        self._outer = outer
        self._inner = inner
        self._outside = outside
        self._strands = Strands()
        self._continuations: dict[int, list[weakref.ref[Continuation]]] = {}

    def build(self) -> None:
        """Make the strands."""
        self.drop()
        self._strands = Strands()
        self._mail: list[deque[Entry | None]] = [deque() for _ in self._join.slots]
        self._inboxes: list[Future[Any]] = [Future(slot.name) for slot in self._join.slots]
        self._alarm: Future[Any] = Future("the clock")
        for slot in self._join.slots:
            if not slot.ended:
                self._strands.spawn(partial(self._keep_strand, slot))
        self.spawn(self._clock_strand)
        self.under_outer(self._strands.run)

    def under_outer(self, thunk: Callable[[], Answer]) -> Answer:
        """Run ``thunk`` under the handlers around the slots."""
        answer: Answer = handle(self._outer, thunk)
        return answer

    def post(self, index: int, mail: Iterable[Entry | None]) -> None:
        """Leave mail for a strand, which may be suspended elsewhere by a ctl clause: then it finds it later."""
        self._mail[index].extend(mail)
        if not self._inboxes[index].is_resolved:
            self._inboxes[index].resolve(None)

    def ring(self, installed: Installed, key: tuple[Any, ...], now: Time) -> None:
        """Leave word for the clock strand."""
        self._alarm.resolve((installed, key, now))

    def spawn(self, work: Callable[[], object]) -> None:
        """Let ``work`` be done on a strand of its own."""
        self._strands.spawn(partial(handle, self._inner, work))

    def run(self) -> None:
        """Run the strands until all wait."""
        self._strands.run()

    def drop(self) -> None:
        """Unwind all strands: what they suspend refers to itself, and would never be collected."""
        self._strands.drop()

    def _keep_strand(self, slot: Slot) -> None:
        """Run the strand of a slot; begin it anew when a ctl clause has abandoned it, and with it the one event."""
        while handle(self._inner, partial(self._strand, slot)) is not _FINISHED:
            if self._held_of(slot.index):
                return  # a continuation is held: the rest of the strand is its

    def _strand(self, slot: Slot) -> object:
        while (entry := self._next_mail(slot)) is not None:
            self._join.come(slot, entry)
        self._join.come(slot, None)
        return _FINISHED

    def _next_mail(self, slot: Slot) -> Entry | None:
        """Suspend until there is mail for ``slot``: an event, or None for its end."""
        while not self._mail[slot.index]:
            await_(self._inboxes[slot.index])
            self._inboxes[slot.index] = Future(slot.name)
        return self._mail[slot.index].popleft()

    def _clock_strand(self) -> None:
        while True:
            installed, key, now = await_(self._alarm)
            self._alarm = Future("the clock")
            self._join.meet(installed, key, now)

    # -- continuations -------------------------------------------------------------------------------------------------

    def note_continuation(self, continuation: Continuation, of: object) -> None:
        """Note a continuation that a ctl clause has been given, of the strand of a slot."""
        if isinstance(of, Slot):
            self._continuations[of.index] = [*self._held_of(of.index), weakref.ref(continuation)]

    def _held_of(self, index: int) -> list[weakref.ref[Continuation]]:
        given = self._continuations.get(index, ())
        return [reference for reference in given if (one := reference()) is not None and not one.used]

    def number_held(self, slot: Slot) -> int:
        """Return how many continuations of the strand of a slot are held."""
        return len(self._held_of(slot.index))

    def go_on_later(self, installed: Installed, layer: str, continuation: Callable[[], None]) -> None:
        """Let a continuation that was held go on as a strand of its own, under the handlers outside that layer."""
        self._strands.spawn(partial(handle, Composed(self._outside[installed, layer]), continuation))


Runner: TypeAlias = InPlace | OnStrands
"""Runs what comes to the slots of one correlation."""
