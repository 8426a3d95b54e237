"""Planted mistakes: what could go wrong, put into the library by a test, so that the law can be seen to find it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from cartesius.batching.null_keys import NullKeys
from cartesius.columns.batches.keyed_state import KeyedState
from cartesius.columns.batches.shelves import Shelf
from cartesius.columns.bodies.scalars import Scalars
from cartesius.columns.groups.key_numbers import KeyNumbers
from cartesius.columns.vectors import key_codes as keys
from cartesius.correlations import freed_windows
from cartesius.engines import snapshots
from cartesius.expressions import expressions, nulls
from cartesius.plan import facts
from cartesius.results import outputs
from cartesius.rows.following import precedes
from cartesius.storage import stored
from cartesius.storage.conservation import Fate, Ledger
from cartesius.storage.version_memories import Version
from restrictions.table_operators import aggregating
from restrictions.time.duration import within
from restrictions.time.event_time import in_event_time
from restrictions.windowing import sessions
from restrictions.windowing.sessions import session
from spark_bridge.running.buckets import Buckets, _Call
from spark_bridge.transport.static_frames import StaticRows

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


class Mistake(NamedTuple):
    """Something that could go wrong.

    Args:
        plant: Puts it into the library.
        shows_in: The exports that programs have in which it shows; none: programs that are judged from scratch.
        is_of_bridge: Whether it is one of the bridge alone.
    """

    plant: Callable[[pytest.MonkeyPatch], None]
    shows_in: tuple[str, ...] = ()
    is_of_bridge: bool = False


MISTAKES: dict[str, Mistake] = {}


def mistake(name: str, *shows_in: str, is_of_bridge: bool = False) -> Any:
    """Enter a mistake."""

    def entered(plant: Callable[[pytest.MonkeyPatch], None]) -> None:
        MISTAKES[name] = Mistake(plant, shows_in, is_of_bridge)

    return entered


def everywhere(patch: pytest.MonkeyPatch, function: Any, other: Any) -> None:
    """Put another function in the place of one, in whichever module it was imported."""
    for module in [one for name, one in sys.modules.items() if name.split(".")[0] in ("cartesius", "restrictions")]:
        for name, value in list(vars(module).items()):
            if value is function:
                patch.setattr(module, name, other)


@mistake("the reference compares nulls as Python does", "most_recently", "coalesce")
def _(patch: pytest.MonkeyPatch) -> None:
    def plain(function: Any, arguments: Any) -> Any:
        return lambda row: function(*[argument(row) for argument in arguments])

    patch.setattr(expressions, "application", plain)


@mistake("push_many lets a null meet a null", "most_recently")
def _(patch: pytest.MonkeyPatch) -> None:
    component = keys._component
    patch.setattr(keys, "_component", lambda vectors, *, skips_null: component(vectors, skips_null=False))


@mistake("what is unknown holds")
def _(patch: pytest.MonkeyPatch) -> None:
    everywhere(patch, nulls.all_hold, lambda checks, row: all(check(row) is not False for check in checks))


@mistake("push_many alone stops at what is unknown")
def _(patch: pytest.MonkeyPatch) -> None:
    def text(self: Scalars, chosen: Any = None) -> str:
        return " and ".join(self._texts if chosen is None else [self._texts[place] for place in chosen])

    patch.setattr(Scalars, "text", text)


@mistake("an event without a key goes on")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(NullKeys, "let_in", lambda self, slot, entry: True)


@mistake("a session ends one instant early")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sessions, "_touch", lambda one, other: one.start < other.end and other.start < one.end)


@mistake("a session is closed when its end is reached, not passed")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(session, "closed_at", lambda self, window: window.end)


@mistake("the sessions of all keys are one")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(aggregating, "session", type("no_session", (), {}))


@mistake("what a window made leaves before what it could meet")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(freed_windows.leaving, "due", lambda self, slot, entry: entry.end)


@mistake("events of one time do not follow each other")
def _(patch: pytest.MonkeyPatch) -> None:
    everywhere(patch, precedes, lambda one, other: one.end < other.start)


@mistake("events of one time follow each other in any order")
def _(patch: pytest.MonkeyPatch) -> None:
    everywhere(patch, precedes, lambda one, other: one.end <= other.start and one is not other)


@mistake("within frees what something at its very end could still meet")
def _(patch: pytest.MonkeyPatch) -> None:
    due = within.due
    patch.setattr(within, "due", lambda self, slot, entry: due(self, slot, entry) - 1)


@mistake("in_event_time has a clock for each key")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(facts, "is_common", lambda of: False)


@mistake("a gate forgets its lateness")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(in_event_time, "own_floor", lambda self: self.seen)


@mistake("strict sequences are split by a key", "in_sequence", "within", is_of_bridge=True)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(facts, "is_relative", lambda of: False)


@mistake("a snapshot forgets deletions", "versioned")
def _(patch: pytest.MonkeyPatch) -> None:
    others = snapshots._not_in_memory
    patch.setattr(snapshots, "_not_in_memory", lambda slot: [one for one in others(slot) if not one.deletes])


@mistake("a snapshot forgets versions that are used up", "versioned", "affinely")
def _(patch: pytest.MonkeyPatch) -> None:
    others = snapshots._not_in_memory
    patch.setattr(snapshots, "_not_in_memory", lambda slot: [one for one in others(slot) if one.deletes])


@mistake("of an update and a deletion of one time the update holds")
def _(patch: pytest.MonkeyPatch) -> None:
    order = Version.order
    patch.setattr(Version, "order", lambda self, ties: order(self, None))


@mistake("a change has the time of its first cause alone")
def _(patch: pytest.MonkeyPatch) -> None:
    everywhere(patch, outputs.hull, lambda spans: next(iter(spans)))


@mistake("a snapshot forgets uses", "at_most")
def _(patch: pytest.MonkeyPatch) -> None:
    load = stored.load_entry

    def forgetful(one: Any) -> Any:
        entry = load(one)
        entry.uses = float("inf")
        return entry

    patch.setattr(snapshots, "load_entry", forgetful)


@mistake("a small batch leaves what its keys had beside what they have", "most_recently", "key_by")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Shelf, "forget", lambda self, codes: None)


@mistake("a small batch forgets which keys are equal", "most_recently", "key_by")
def _(patch: pytest.MonkeyPatch) -> None:
    coded = KeyedState._coded

    def other(self: KeyedState, retained: Any) -> Any:
        self._codes = KeyNumbers()
        return coded(self, retained)

    patch.setattr(KeyedState, "_coded", other)


@mistake("what expires is counted nowhere", "within")
def _(patch: pytest.MonkeyPatch) -> None:
    count = Ledger.count

    def forgetful(self: Ledger, fate: Fate, n: int = 1) -> None:
        if fate is not Fate.EXPIRED:
            count(self, fate, n)

    patch.setattr(Ledger, "count", forgetful)


@mistake("in a batch that does not close the clock stands still", "without", is_of_bridge=True)
def _(patch: pytest.MonkeyPatch) -> None:
    run = Buckets.run
    patch.setattr(Buckets, "run", lambda *known, **options: run(*known, **options | {"end": None}))


@mistake("rows of static frames are left out", "most_recently", is_of_bridge=True)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(StaticRows, "of", lambda self, bucket: {})


@mistake("the bridge gives another reason", "key_by", "most_recently", is_of_bridge=True)
def _(patch: pytest.MonkeyPatch) -> None:
    late = _Call._late
    patch.setattr(_Call, "_late", lambda self, told: late(self, [(*one[:3], f"{one[3]}!") for one in told]))
