"""Families of operations: what restrictions handle, and perform.

Each slot of a correlation owns one operation of each slot family, and each correlation one of each common family
(generativity): two joins never see each other's. A restriction's clause names a family; calling a family with a
slot performs that slot's operation.

    enter     an event comes in, before it has a window
    arrive    an event comes to the gates                  push       an entry was stored
    withdraw  an event is taken back by its source         ended      an input has ended
    tick      a deadline of this copy is due               start      a copy for a key was made
    displace  an entry leaves because it has a successor   retract    take back the results of an entry
    select    choose among the matches of a batch          admit      may this candidate reach the body?

and, asked once, when a correlation is built, or at the end of a step:

    optional  may the part of this slot be missing?        row_key    which row of the output table is a result?
    alone     is each event a candidate of its own?        first_is_oldest  are memories visited oldest first?
    totals    are results totalled, over which group?      completes has the output completed?
    relation  which results does a report of a window give?

This module is over 300 lines because each public family carries its example.

Source: ICFP 2018, doi:10.1145/3236762, Figures 10 to 14 and section 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar, final

import attrs

from cartesius.errors import InvalidArgument
from cartesius.language.clauses import release
from cartesius.storage.version_memories import Kind, VersionMemory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.data.events import Time
    from cartesius.effects.operations import Operation
    from cartesius.language.reactives import Reactive
    from cartesius.storage.conservation import Ledger
    from cartesius.storage.kept_rows import Standing
    from cartesius.storage.memories import Memory
    from cartesius.storage.pauses import Door
    from cartesius.storage.shared_memories import SharedMemory


@final
class Family:
    """A family of operations. ``family(slot, …)`` performs the slot's operation, ``family(…)`` the correlation's."""

    def __init__(self, name: str, *, layer: str, of_slot: bool, doc: str = "") -> None:
        self.name = name
        self.layer = layer
        self.of_slot = of_slot
        self.__doc__ = doc

    def __call__(self, slot: Slot, *arguments: object) -> Any:
        """Perform the operation of ``slot``."""
        if slot.__class__ is not Slot:
            message = (
                f"{self.name}: expected the slot first, as a clause receives it, but got {slot!r}"
                f" (type={type(slot).__name__})"
            )
            raise InvalidArgument(message)
        if self is arrive:
            release(slot)
        return slot.operations[self](slot, *arguments)

    def __reduce__(self) -> str:
        """Travel by name: there is one of each in a process, also where Spark sends a restriction of one's own."""
        return self.name

    def __repr__(self) -> str:
        """Show the name."""
        return f"<family {self.name}>"


arrive = Family(
    "arrive",
    layer="gates",
    of_slot=True,
    doc="""``arrive(slot, event)``: an event comes to the gates. A clause holds it, or lets it go on by `forward`.

    >>> from cartesius import Reactive, Restriction, Slot, arrive, forward, handles, run
    >>> from restrictions import cartesian
    >>> class positive(Restriction):
    ...     slot: Slot
    ...
    ...     @handles(arrive, "slot")
    ...     def let_through(self, slot, event):
    ...         if event.value > 0:
    ...             forward(slot, event)
    >>> level = Reactive("level")
    >>> [event.value for event in run(cartesian(level, restrict=positive("level")), [(level, 3), (level, -1)])]
    [(3,)]
    """,
)
enter = Family(
    "enter",
    layer="door",
    of_slot=True,
    doc="""``enter(slot, event)``: an event comes in, or is taken back (its weight is -1), before it has a window.

    A clause delivers it to windows, by `window_clauses.deliver`, in a class whose plan is a `Deliver`.

    >>> from cartesius import Reactive, Restriction, Window, handles, run
    >>> from cartesius.plan import Deliver
    >>> from cartesius.rows.window_clauses import deliver
    >>> from cartesius.language.families import enter
    >>> from restrictions import cartesian
    >>> class by_hundred(Restriction):
    ...     def plan(self):
    ...         return (Deliver(),)
    ...
    ...     @handles(enter)
    ...     def assign(self, slot, event):
    ...         hundred = event.start // 100 * 100
    ...         deliver(event, Window(hundred, hundred + 100))
    >>> left, right = Reactive("left"), Reactive("right")
    >>> pairs = cartesian(left, right, restrict=by_hundred())
    >>> [event.value for event in run(pairs, [(left, 1, 50), (right, "x", 99), (right, "y", 120)])]
    [(1, 'x')]
    """,
)
withdraw = Family(
    "withdraw",
    layer="gates",
    of_slot=True,
    doc="""``withdraw(slot, event)``: an event is taken back by its source. A clause may note that; it must `forward`.

    What a gate holds of it need not be looked for: it does not come any more.

    >>> from cartesius import Reactive, Restriction, Slot, Update, correlate, forward, handles, run, withdraw
    >>> from restrictions import retracting
    >>> class noting(Restriction):
    ...     slot: Slot
    ...
    ...     @handles(withdraw, "slot")
    ...     def note(self, slot, event):
    ...         print("taken back:", event.value)
    ...         forward(slot, event)
    >>> table = Reactive("table", table=True)
    >>> rows = correlate(t=table, yields=lambda t: t, restrict=retracting())
    >>> seen = correlate(x=rows, yields=lambda x: x, restrict=noting("x"))
    >>> [event.value for event in run(seen, [(table, Update("k", 1)), (table, Update("k", 2))])]
    taken back: 1
    [1, 2]
    """,
)
ended = Family(
    "ended",
    layer="gates",
    of_slot=True,
    doc="""``ended(slot)``: an input has ended. Every copy and every handler outside is told, without `forward`.

    >>> from cartesius import Reactive, Restriction, Slot, arrive, ended, handles, run, state
    >>> from restrictions import cartesian
    >>> class last(Restriction):
    ...     slot: Slot
    ...     latest = state(None)
    ...
    ...     @handles(arrive, "slot")
    ...     def keep(self, slot, event):
    ...         self.latest = event
    ...
    ...     @handles(ended, "slot")
    ...     def let_go(self, slot):
    ...         if self.latest:
    ...             arrive(slot, self.latest)
    >>> level = Reactive("level")
    >>> [event.value for event in run(cartesian(level, restrict=last("level")), [(level, 1), (level, 2)], close=True)]
    [(2,)]
    """,
)
tick = Family(
    "tick",
    layer="gates",
    of_slot=False,
    doc="""``tick(now)``: a deadline that this copy asked for by `notify_at` is due; ``now`` is one past it.

    >>> from cartesius import Engine, Reactive, Restriction, Slot, arrive, handles, notify_at, state, tick
    >>> from restrictions import cartesian
    >>> class later(Restriction):
    ...     slot: Slot
    ...     held = state(None)
    ...
    ...     @handles(arrive, "slot")
    ...     def hold(self, slot, event):
    ...         self.held = event
    ...         notify_at(event.end + 10)
    ...
    ...     @handles(tick)
    ...     def let_through(self, now):
    ...         event, self.held = self.held, None
    ...         arrive(self.slot, event)
    >>> level = Reactive("level")
    >>> engine = Engine(cartesian(level, restrict=later("level")))
    >>> engine.push(level, "high", at=5), [event.value for event in engine.advance(16)]
    ([], [('high',)])
    """,
)
start = Family(
    "start",
    layer="gates",
    of_slot=False,
    doc="""``start()``: the copy of the restriction for a key has been made; without keys, when the engine is built.

    >>> from cartesius import Engine, Reactive, Restriction, Slot, handles, pause, start
    >>> from restrictions import cartesian
    >>> from cartesius.plan import Opaque
    >>> class closed(Restriction):
    ...     slot: Slot
    ...     def plan(self):
    ...         return (Opaque(pauses=(self.slot,)),)
    ...
    ...     @handles(start)
    ...     def close(self):
    ...         pause(self.slot)
    >>> level = Reactive("level")
    >>> engine = Engine(cartesian(level, restrict=closed("level")))
    >>> engine.push(level, 3), engine.stats.waiting
    ([], 1)
    """,
)
push = Family(
    "push",
    layer="memory",
    of_slot=True,
    doc="""``push(slot, entry)``: an entry was stored. A clause restricts the memory, and goes on by `forward`.

    >>> from cartesius import Reactive, Restriction, Slots, displace, forward, handles, memory, push, run
    >>> from restrictions import cartesian
    >>> class newest(Restriction):
    ...     slots: Slots
    ...
    ...     @handles(push, "slots")
    ...     def replace(self, slot, entry):
    ...         for older in memory(slot)[1:]:
    ...             displace(slot, older)
    ...         forward(slot, entry)
    >>> left, right = Reactive("left"), Reactive("right")
    >>> pairs = cartesian(left, right, restrict=newest("left"))
    >>> [event.value for event in run(pairs, [(left, 1), (left, 2), (right, "x")])]
    [(2, 'x')]
    """,
)
displace = Family(
    "displace",
    layer="outer",
    of_slot=True,
    doc="""``displace(slot, entry)``: an entry leaves for its successor. What that means is a handler's choice.

    >>> from cartesius import Reactive, Restriction, displace, forward, handles, run
    >>> from restrictions import combine_latest, most_recently, cartesian
    >>> class announcing(Restriction):
    ...     @handles(displace)
    ...     def say(self, slot, entry):
    ...         print(slot.name, "loses", entry.value)
    ...         forward(slot, entry)
    >>> left = Reactive("left")
    >>> latest = cartesian(left, restrict=most_recently("left") | announcing())
    >>> [event.value for event in run(latest, [(left, 1), (left, 2)])]
    left loses 1
    [(1,), (2,)]
    """,
)
retract = Family("retract", layer="outer", of_slot=True)
select = Family(
    "select",
    layer="outer",
    of_slot=False,
    doc="""``select(matches)``: choose among a batch's matches (a lazy iterator), and `forward` those. Spends nothing.

    >>> from cartesius import Reactive, Restriction, forward, handles, run, select
    >>> from restrictions import cartesian
    >>> class largest(Restriction):
    ...     @handles(select)
    ...     def choose(self, matches):
    ...         best = max(matches, key=lambda match: match.value, default=None)
    ...         forward([best] if best else [])
    >>> left, right = Reactive("left"), Reactive("right")
    >>> best = cartesian(left, right, restrict=largest())
    >>> [event.value for event in run(best, [(left, 3), (left, 1), (right, "x")])]
    [(3, 'x')]
    """,
)
admit = Family("admit", layer="trigger", of_slot=False)
optional = Family("optional", layer="outer", of_slot=True)
alone = Family("alone", layer="outer", of_slot=False)
first_is_oldest = Family("first_is_oldest", layer="outer", of_slot=False)
row_key = Family("row_key", layer="outer", of_slot=False)
totals = Family("totals", layer="outer", of_slot=False)
relation = Family("relation", layer="outer", of_slot=False)
completes = Family("completes", layer="outer", of_slot=False)
FAMILIES = (
    enter, arrive, withdraw, ended, tick, start, push, displace, retract, select, admit, optional, alone,
    first_is_oldest, row_key, totals, relation, completes,
)  # fmt: skip
__test__ = {family.name: family.__doc__ for family in FAMILIES}


@final
@attrs.define(eq=False, slots=True)
class Slot:
    """One input of one correlation, as clauses receive it. As an annotation of a restriction: a field names a slot.

    >>> from cartesius import Restriction, Slot
    >>> class gate(Restriction):
    ...     slot: Slot
    >>> gate("level")
    gate('level')
    """

    name: str
    index: int
    reactive: Reactive
    memory: Memory
    door: Door
    operations: dict[Family, Operation[..., Any]]
    source: str  # the name of its reactive in the program
    ledger: Ledger  # what has become of its deliveries; that of other slots, too, where they share a memory
    is_table: bool = False  # whether it has rows: it is bound to a table, or a restriction makes rows of its events
    kept: Standing | None = None  # where the rows are, if the memory does not keep them
    shared: SharedMemory | None = None  # where its memory is that of other slots, too
    has_windows: bool = False  # whether its events are delivered to windows, which decide what is late
    lateness: int = 0  # how far behind the clock an event still counts, in time units, without windows and versions
    ended: bool = False
    notes_door: bool = False  # whether its events are told by where they came in, as another slot has them, too
    n: int | None = None  # how many events of it a candidate has, as a list; None: one, as it is
    forgotten: Mapping[tuple[Any, ...], Time] = {}  # if it never has a part: the last end of what left, by window

    @property
    def keeps_versions(self) -> bool:
        """Whether its memory is a history by event time."""
        return isinstance(self.memory, VersionMemory) and self.memory.kind is Kind.VERSIONS

    def takes_late(self, end: Time, clock: Time) -> bool:
        """Whether an event with an end before the clock still counts."""
        return self.keeps_late and (self.retention is None or end >= clock - self.retention)

    @property
    def retention(self) -> int | None:
        """How far behind the clock an event still counts, in time units; None if all do that are taken at all."""
        return self.memory.retention if isinstance(self.memory, VersionMemory) else self.lateness or None

    @property
    def keeps_late(self) -> bool:
        """Whether late events count for some time."""
        keeps = isinstance(self.memory, VersionMemory) and self.memory.kind is not Kind.ALWAYS
        return self.has_windows or keeps or self.lateness > 0

    @property
    def unaccounted(self) -> int:
        """How many deliveries are nowhere: none, outside a call."""
        return self.ledger.unaccounted(len(self.memory) + len(self.door.queue))

    @property
    def as_durable(self) -> str:
        """Where its memory is, in what is said of a value that no snapshot can hold."""
        return f"in the memory of slot {self.name!r} ({self.source}), in a durable engine; nothing was changed"

    def __repr__(self) -> str:
        """Show the name."""
        return f"<slot {self.name}>"


Slots: TypeAlias = tuple[Slot, ...]
"""As an annotation of a restriction: the field takes the positional arguments, each naming a slot."""
__test__["Slots"] = """
    >>> from cartesius import Restriction, Slots
    >>> class gate(Restriction):
    ...     slots: Slots
    >>> gate("level", "tide")
    gate('level', 'tide')
"""
ABSENT: Final = "absent"
_S = TypeVar("_S")
Absent: TypeAlias = Annotated[_S, ABSENT]
"""As an annotation of a restriction, ``Absent[Slot]`` or ``Absent[Slots]``: slots of which no result has a part."""
__test__["Absent"] = """
    >>> from cartesius import Absent, Restriction, Slot
    >>> class unless(Restriction):
    ...     never: Absent[Slot]
    >>> unless("alarm")
    unless('alarm')
"""
if TYPE_CHECKING:
    Duration: TypeAlias = int
else:

    class Duration:
        """As an annotation of a restriction: the field takes time units or a `timedelta`; clauses read time units.

        >>> from datetime import timedelta
        >>> from cartesius import Duration, Restriction
        >>> class quiet(Restriction):
        ...     after: Duration
        >>> quiet(timedelta(seconds=1))
        quiet(timedelta(seconds=1))
        """


if TYPE_CHECKING:
    Instant: TypeAlias = int
else:

    class Instant:
        """As an annotation of a restriction: the field takes a time, an int of time units or an aware `datetime`."""


Durations: TypeAlias = tuple[Duration, ...]
"""As an annotation of a restriction: the field holds durations, in time units or as timedeltas."""
