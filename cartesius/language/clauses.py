"""What a clause of a restriction may do besides forwarding: look at memory, pause, play, set aside.

Each concerns the copy of the restriction, and so the key, that the clause runs for. Outside a clause they refuse.

Source: DESIGN 3; SEMANTICS 1.8, 1.13 and 3.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.data.entries import is_spent
from cartesius.effects.resumptions import running
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cartesius.data.entries import Entry
    from cartesius.language.families import Slot
    from cartesius.language.matches import Match


def memory(slot: Slot) -> list[Entry]:
    """Return what is stored in ``slot`` now, newest first. Never suspends.

    Right of a `key_by` only what has the copy's key. Only in a clause of a restriction.

    >>> from cartesius import Reactive, Restriction, Slot, forward, handles, memory, push, run
    >>> from restrictions import cartesian
    >>> class counting(Restriction):
    ...     slot: Slot
    ...
    ...     @handles(push, "slot")
    ...     def count(self, slot, entry):
    ...         print(len(memory(slot)), "retained")
    ...         forward(slot, entry)
    >>> level = Reactive("level")
    >>> [event.value for event in run(cartesian(level, restrict=counting("level")), [(level, 3), (level, 4)])]
    1 retained
    2 retained
    [(3,), (4,)]
    """
    copy = running().__dict__.get("copy")
    if copy is None or not hasattr(slot, "door"):
        copy = of_clause("memory", slot)
    installed, key = copy
    return slot.memory.under(installed.prefixes[slot.index], key)


def finalise(slot: Slot, entry: Entry) -> None:
    """Say that nothing that comes can match ``entry``: its rows that miss parts come now, if none are taken back.

    Only in a clause of a restriction, for each entry once.
    """
    installed, _ = of_clause("finalise", slot)
    partial = installed.join.batch.partial
    if partial is not None:
        partial.finalise(slot, entry)


def may_miss() -> bool:
    """Whether parts may be missing in this correlation. Only in a clause of a restriction."""
    installed, _ = of_clause("may_miss")
    return installed.join.batch.partial is not None


def is_settled() -> bool:
    """Whether the slots that this restriction names are all of the correlation, or it needs no others to be final."""
    installed, _ = of_clause("is_settled")
    return bool(installed.is_settled)


def slot_of(event: Entry) -> Slot:
    """Return the slot that an event has come to. Only in a clause of a restriction."""
    installed, _ = of_clause("slot_of")
    slot: Slot = next(slot for slot in installed.join.slots if slot.name == event.slot)
    return slot


def pause(slot: Slot) -> None:
    """Hold back the next events of ``slot`` under this copy's key: they queue at the door. In a restriction's clause.

    >>> from cartesius import Engine, Reactive, Restriction, Slot, arrive, forward, handles, pause
    >>> from restrictions import cartesian
    >>> from cartesius.plan import Opaque
    >>> class only_first(Restriction):
    ...     slot: Slot
    ...
    ...     def plan(self):
    ...         return (Opaque(pauses=(self.slot,)),)
    ...
    ...     @handles(arrive, "slot")
    ...     def close_behind(self, slot, event):
    ...         pause(slot)
    ...         forward(slot, event)
    >>> level = Reactive("level")
    >>> engine = Engine(cartesian(level, restrict=only_first("level")))
    >>> [event.value for event in engine.push(level, 3)], engine.push(level, 4), engine.stats.waiting
    ([(3,)], [], 1)

    A restriction says in its plan, by ``Opaque(pauses=…)``, which slots it may pause: others go by that before anything
    runs.

    Raises:
        InvalidArgument: It does not say so of this one.
    """
    installed, key = of_clause("pause", slot)
    if slot not in installed.pausing:
        kind = type(installed.restriction).__name__
        message = (
            f"pause: expected a slot that {installed.restriction!r} says it may pause but got {slot.name!r}; say it in"
            f" the plan of {kind}, as in return (Opaque(pauses=(self.slot,)),)"
        )
        raise InvalidArgument(message)
    slot.door.pause(installed.prefixes[slot.index], key)


def play(slot: Slot) -> None:
    """Let the events of ``slot`` through that `pause` holds back, once the present step is over, one a step.

    On a slot that is not paused under this copy's key it does nothing. In a restriction's clause.

    >>> from cartesius import Engine, Reactive, Restriction, Slot, arrive, handles, pause, play, start
    >>> from restrictions import cartesian
    >>> from cartesius.plan import Opaque
    >>> class waiting(Restriction):
    ...     slot: Slot
    ...     signal: Slot
    ...
    ...     def plan(self):
    ...         return (Opaque(pauses=(self.slot,)),)
    ...
    ...     @handles(start)
    ...     def close(self):
    ...         pause(self.slot)
    ...
    ...     @handles(arrive, "signal")
    ...     def open(self, slot, event):
    ...         play(self.slot)
    >>> level, go = Reactive("level"), Reactive("go")
    >>> from cartesius import correlate
    >>> from restrictions.basics.separation import separately
    >>> let = correlate(x=level, go=go, yields=lambda x: x, restrict=separately() | waiting("x", "go"))
    >>> engine = Engine(let)
    >>> engine.push(level, 3), engine.push(level, 4), [event.value for event in engine.push(go, None)]
    ([], [], [3, 4])
    """
    installed, key = of_clause("play", slot)
    installed.play(slot, key)


def expire(slot: Slot, entry: Entry) -> None:
    """Let ``entry`` leave memory at the end of the batch; its results stand. Only in a clause of a restriction.

    >>> from cartesius import Reactive, Restriction, Slot, expire, forward, handles, push, run
    >>> from restrictions import cartesian
    >>> class passing(Restriction):
    ...     slot: Slot
    ...
    ...     @handles(push, "slot")
    ...     def leave(self, slot, entry):
    ...         expire(slot, entry)
    ...         forward(slot, entry)
    >>> left, right = Reactive("left"), Reactive("right")
    >>> pairs = cartesian(left, right, restrict=passing("left"))
    >>> [event.value for event in run(pairs, [(left, 1), (right, "x"), (left, 2), (right, "y")])]
    [(2, 'x')]
    """
    installed, _ = of_clause("expire", slot)
    installed.expire(slot, entry)


def forget_versions(now: int) -> None:
    """Let the versions expire that nothing can need any more at ``now``. Only in a clause of a restriction."""
    installed, _ = of_clause("forget_versions")
    installed.join.batch.versions.forget(now)


def recall(slot: Slot, event: Entry) -> None:
    """Bring the row that ``event`` replaces back into memory, for this batch. Only in a clause of a restriction.

    The restriction must say, by ``recalls``, that changes of the slot come with the rows that they replace.
    """
    installed, _ = of_clause("recall", slot)
    installed.join.batch.recall(slot, event)


def set_aside(slot: Slot, event: Entry, reason: str) -> None:
    """Put an event that will not be used into ``engine.late``, with the reason. Only in a clause of a restriction.

    >>> from cartesius import Engine, Reactive, Restriction, Slot, arrive, forward, handles, set_aside
    >>> from restrictions import cartesian
    >>> class positive(Restriction):
    ...     slot: Slot
    ...
    ...     @handles(arrive, "slot")
    ...     def let_through(self, slot, event):
    ...         if event.value > 0:
    ...             forward(slot, event)
    ...         else:
    ...             set_aside(slot, event, "not positive")
    >>> level = Reactive("level")
    >>> engine = Engine(cartesian(level, restrict=positive("level")))
    >>> engine.push(level, -3)
    []
    >>> [(event.value, slot, reason) for event, slot, reason in engine.late]
    [(-3, 'level', 'not positive')]
    """
    installed, _ = of_clause("set_aside", slot)
    installed.set_aside(slot, event, reason)


def copies() -> list[Any]:
    """Return all copies of this restriction, one a key. Only in a clause of a restriction."""
    installed, _ = of_clause("copies")
    return list(installed.copies.values())


def release(slot: Slot) -> None:
    """Note that a clause lets an event go by ``arrive``: of one slot, each is a batch of its own (SEMANTICS 1.1)."""
    copy = running().__dict__.get("copy")
    if copy is not None:
        installed, key = copy
        installed.release(slot, key)


def kept(matches: Iterable[Match]) -> Iterator[Match]:
    """Return the matches that a clause for `select` forwards, as the next one gets them.

    Each is made for the copy that is at work now, whoever asks for it: a lazy choice is its own. And one whose parts
    have been spent meanwhile, since a selector has listed them, is left out.
    """
    return _kept(iter(matches), running().__dict__.get("copy"))


def _kept(items: Iterator[Match], copy: object) -> Iterator[Match]:
    while True:
        here = running()
        before, here.copy = here.__dict__.get("copy"), copy
        try:
            match = next(items)
        except StopIteration:
            return
        finally:
            here.copy = before
            del here  # a suspended frame must not hold its own coroutine
        if not is_spent(match.parts):
            yield match


def refuse_forwarding(*_: object) -> None:
    """Refuse what nobody outside handles: a tick is for one copy alone."""
    message = (
        "forward: expected arrive(slot, event) in a clause for tick: nobody outside waits for this copy's deadline"
    )
    raise InvalidArgument(message)


def is_drained(slot: Slot) -> bool:
    """Whether ``slot`` has ended, and nothing of it waits at its door or in a gate: nothing can come of it any more."""
    installed, _ = of_clause("is_drained", slot)
    return slot.ended and not slot.door.queue and not any(entry.number < 0 for entry in installed.join.held(slot))


def of_clause(call: str, slot: object = None) -> tuple[Any, Any]:
    """Return the restriction at work, and the key of its copy; refuse ``call`` outside a clause."""
    copy = running().__dict__.get("copy")
    if copy is None:
        message = (
            f"{call}: expected to be called in a clause of a restriction but none runs here; where and yields must be"
            " pure: write a Restriction that does it"
        )
        raise InvalidArgument(message)
    if slot is not None and not hasattr(slot, "door"):
        message = (
            f"{call}: expected a slot, as a clause receives it or a field holds it, but got {slot!r}"
            f" (type={type(slot).__name__})"
        )
        raise InvalidArgument(message)
    return copy  # type: ignore[no-any-return]  # an attribute of a greenlet has no type
