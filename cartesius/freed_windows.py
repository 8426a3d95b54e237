"""Rows that windows made, beyond the correlation that has the windows: they leave with them.

A row of a table that is totalled in windows names its window in its key. Once the window is freed, the row changes no
more. So where all that it can still meet is of the same window, which links show, it leaves when the last of them is
freed: as expiry does, and after all that is due at that time, so that what is final still meets. What it may meet in
no window stays, unless somebody says for how long (`retaining`).

Invariant: of a window that is freed for all slots that meet in it no row is in memory after that time.

Source: SEMANTICS 3.2, 2.8 and 1.14.
"""

from __future__ import annotations

import operator
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from cartesius.clauses import of_clause
from cartesius.clock_clauses import due_at, notify_at_time
from cartesius.errors import InvalidArgument
from cartesius.events import LATEST, Window
from cartesius.expressions import Apply, Constant, Expression, KeyOf, Tuple, WindowOf
from cartesius.families import Duration, Durations, Slots, push, tick
from cartesius.handlers import handles
from cartesius.meanings import Meaning
from cartesius.operations import forward
from cartesius.orders import Reliance
from cartesius.restriction_base import Restriction
from cartesius.tracing import parameters_of, trace
from cartesius.windows import WindowRows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius.entries import Entry
    from cartesius.enumeration import Candidate
    from cartesius.events import Time
    from cartesius.families import Slot
    from cartesius.installations import Installed
    from cartesius.outputs import Rows
    from cartesius.patterns import Pattern
    from cartesius.totals import Totals


@attrs.frozen
class RowWindows:
    """When the rows of a table whose keys name windows change no more.

    Args:
        place: Where in the key of a row its window is: None, if it is the key.
        lateness: For how long after their end the windows are known: the longest of these.
        of_sessions: Likewise, of those that are closed one instant after their end.
        is_said: Whether somebody has said for how long rows are kept.
    """

    place: int | None
    lateness: tuple[Duration, ...]
    of_sessions: tuple[Duration, ...]
    is_said: bool


class leaving(Restriction):
    """Let the rows of freed windows leave: what a correlation of tables that are totalled in windows adds to itself.

    Args:
        *slots: Slots of such tables whose rows meet rows of the same window alone, or are kept no longer.
        places: Where in the keys of each slot the window is.
        lateness: How long after their end windows are known.
        of_sessions: Likewise, of sessions.

    State: none. Relies on no order. Commutes with all that does not look at memory.

    Law:
        What is given is what is given without it, as long as no row changes whose window is freed.
    """

    forgets: ClassVar[bool] = True
    relies_on_order: ClassVar[Reliance] = Reliance.NONE
    is_pointwise: ClassVar[bool] = True

    slots: Slots
    places: tuple[int | None, ...]
    lateness: Durations
    of_sessions: Durations

    def due(self, slot: Slot, entry: Entry) -> Time:
        """Return the last time before its window is freed for all slots."""
        place = self.places[self.slots.index(slot)]
        window: Window = entry.row_key if place is None else entry.row_key[place]
        return window.end + max([*self.lateness, *(after + 1 for after in self.of_sessions)]) - 1

    @handles(push, "slots")
    def note(self, slot: Slot, entry: Entry) -> None:
        """Ask for the time when it leaves."""
        notify_at_time(self.due(slot, entry))
        forward(slot, entry)

    @handles(tick)
    def let_go(self, now: int) -> None:
        """Let the rows of the windows go that are freed now, and what came of them."""
        installed, _ = of_clause("leaving")
        for slot in self.slots:
            for entry in due_at(slot, now - 1):
                installed.expire(slot, entry)
        if installed.join.batch.freed is not None:
            installed.join.batch.freed.forget(now - 1)

    def may_give(self, *, is_shown: bool) -> bool:
        """Nothing: it forgets."""
        return False

    def bound(self) -> str:
        """What the windows have that are not freed."""
        return "O(window)"

    def __repr__(self) -> str:
        """Show how long after its end a window is known."""
        of_sessions = f", of_sessions={list(self.of_sessions)}" if self.of_sessions else ""
        lateness = f", lateness={list(self.lateness)}" if self.lateness else ""
        return f"leaving({', '.join(map(str, self.configuration['slots']))}{lateness}{of_sessions})"


class retaining(Restriction):
    """Keep closed windows for some time: their totals, and their rows where those meet what is in no window.

    Args:
        retention: How long after it is closed a window is known: time units or a `timedelta`, ≥ 0. If windows are
            freed later than that, they are known until then.

    State: none. Relies on no order. Commutes with everything.

    Raises:
        InvalidArgument: A negative duration; when a correlation is built: no windows.

    Law:
        It changes no result.
    """

    relies_on_order: ClassVar[Reliance] = Reliance.NONE
    is_pointwise: ClassVar[bool] = True

    retention: Duration

    def validate(self) -> None:
        """Check the duration."""
        if self.retention < self.retention * 0:
            message = f"retention: expected a duration ≥ 0 but got retention={self.retention!r}"
            raise InvalidArgument(message)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse it where there are no windows that could be closed."""
        if not any(other.opens_windows or other.forgets for other in others):
            message = (
                f"retention: expected a table of windows, such as aggregate gives, but got none beside"
                f" retention={self.retention!r}; leave it out"
            )
            raise InvalidArgument(message)

    @handles(tick)
    def release(self, now: int) -> None:
        """Forget the totals of the windows that are kept no longer."""
        installed, _ = of_clause("retaining")
        installed.join.batch.windows.release(now - self.retention)

    def may_give(self, *, is_shown: bool) -> bool:
        """Nothing: it forgets."""
        return False


def keep_closed(installed: Installed, closed_at: Time) -> bool:
    """Whether the totals of a window stay, as `retaining` says; then it is asked to forget them in time."""
    time = closed_at + installed.stateless.retention - 1
    if time == LATEST or installed.join.world.is_past(time):
        return False
    installed.notify_at(int(time), ())
    return True


class FreedResults:
    """The results that leave with their parts: by the time when those do."""

    def __init__(self, output: Rows | Totals, keepers: list[Installed], journal: list[Callable[[], None]]) -> None:
        self.output = output
        self.keepers = keepers
        self.rows = WindowRows(journal)

    def note(self, parts: Candidate, key: Any, identity: Any) -> None:
        """Note a result."""
        times = [
            keeper.stateless.due(slot, entry)
            for keeper in self.keepers
            for slot in keeper.named
            if (entry := parts[slot.index]) is not None
        ]
        if times and min(times) < LATEST:
            self.rows.note((min(times),), (key, identity))

    def forget(self, time: Time) -> None:
        """Forget the results whose parts leave."""
        for key, identity in self.rows.pop((time,)):
            self.output.let_go(key, identity)


def with_leaving(pattern: Pattern) -> tuple[Restriction, ...]:
    """Return the restrictions of a pattern, and before them who lets the rows of freed windows leave."""
    leave = [one for group in _groups(pattern) for one in [_leaving(group)]]
    return (*leave, *pattern.restrictions)


def row_windows(pattern: Pattern) -> RowWindows | None:
    """Return what is known of the windows of a table's rows; None if their keys name none, or it is not known where."""
    opener = next((one for one in pattern.restrictions if one.opens_windows), None)
    if opener is None:
        return _passed_on(pattern)
    place = _place(_key_of_rows(pattern))
    if place is _NOWHERE:
        return None
    said = _retention(pattern)
    delays = (opener.configuration["lateness"], *([] if said is None else [said]))
    is_session = opener.closed_at(Window(0, 1)) > 1
    return RowWindows(place, () if is_session else delays, delays if is_session else (), said is not None)


def stays(pattern: Pattern, name: str) -> str:
    """Say why the rows of windows in a slot never leave; nothing, if they do, or are of no window."""
    source = pattern.slots[name].pattern
    if source is None or any(one.forgets and name in one.configuration["slots"] for one in pattern.restrictions):
        return ""
    if source.row_windows is not None:
        others = [other for other in pattern.slots if other != name]
        met = f", as it may meet {' and '.join(others)}" if others else ""
        return f"a row a window stays when that is freed{met}; retention= bounds it, of aggregate or of the join"
    if any(one.opens_windows for one in source.restrictions) and _place(_key_of_rows(source)) is _UNKNOWN:
        return "its rows are of windows, and a function makes their keys that does not trace; make it itemgetter(n)"
    return ""


_NOWHERE: Any = object()
_UNKNOWN: Any = object()


def _key_of_rows(pattern: Pattern) -> Expression | str | tuple[str, ...] | None:
    """Return what makes the keys of a table's rows: an expression, the slots whose keys they are, or None."""
    table = next((one for one in pattern.restrictions if one.makes_table), None)
    if table is None:
        return ""
    key = table.configuration.get("key", table.configuration.get("by"))
    if isinstance(key, str | tuple):
        return key
    yields = pattern.yields
    if not isinstance(yields, Expression) or not callable(key):
        return None
    if isinstance(key, itemgetter):
        chosen = key.__reduce__()[1]
        return None if len(chosen) > 1 else _item(Apply(operator.getitem, (yields, Constant(chosen[0])), "getitem"))
    parameters = parameters_of(key)
    found = trace(key, [(parameters[0], yields)]).expression if parameters and len(parameters) == 1 else None
    return None if found is None else _item(found)


def _item(expression: Expression) -> Expression:
    """Return an item of a tuple where it is known, or several."""
    if isinstance(expression, Tuple):
        return Tuple(tuple(map(_item, expression.items)))
    if not isinstance(expression, Apply) or expression.function is not operator.getitem:
        return expression
    target, item = _item(expression.arguments[0]), expression.arguments[1]
    if not isinstance(target, Tuple) or not isinstance(item, Constant):
        return expression
    if isinstance(item.value, slice):
        return Tuple(target.items[item.value])
    is_place = isinstance(item.value, int) and -len(target.items) <= item.value < len(target.items)
    return target.items[item.value] if is_place else expression


def _place(key: Any) -> Any:
    """Return where the window is in a key: its place, None if it is the key, nowhere, or it is not known."""
    if key is None:
        return _UNKNOWN
    if isinstance(key, WindowOf):
        return None
    if isinstance(key, Tuple):
        return next((place for place, item in enumerate(key.items) if isinstance(item, WindowOf)), _NOWHERE)
    return _NOWHERE


def _retention(pattern: Pattern) -> Duration | None:
    return next((one.configuration["retention"] for one in pattern.restrictions if isinstance(one, retaining)), None)


def _tables(pattern: Pattern) -> dict[str, RowWindows]:
    """Return the slots of tables whose rows are of windows."""
    return {
        name: windows
        for name, reactive in pattern.slots.items()
        if reactive.table and reactive.pattern is not None and (windows := reactive.pattern.row_windows) is not None
    }


def _passed_on(pattern: Pattern) -> RowWindows | None:
    """Return what is known of the rows of a correlation without windows: the keys of its slots are theirs."""
    key = _key_of_rows(pattern)
    tables = _tables(pattern)
    if isinstance(key, KeyOf):
        key = key.slot
    names = (key,) if isinstance(key, str) else key
    if not isinstance(names, tuple) or not names or any(name not in tables for name in names):
        return None
    if len({tables[name].place for name in names}) > 1:
        return None
    if _keeps_nothing(pattern):
        return tables[names[0]]
    group = next((group for group in _groups(pattern) if set(names) <= group.keys()), None)
    if group is None:
        return None
    return attrs.evolve(_together(group), place=tables[names[0]].place)


def _together(group: Mapping[str, RowWindows]) -> RowWindows:
    lateness = tuple(dict.fromkeys(one for windows in group.values() for one in windows.lateness))
    of_sessions = tuple(dict.fromkeys(one for windows in group.values() for one in windows.of_sessions))
    return RowWindows(None, lateness, of_sessions, any(windows.is_said for windows in group.values()))


def _leaving(group: Mapping[str, RowWindows]) -> leaving:
    windows = _together(group)
    places = tuple(one.place for one in group.values())
    return leaving(*group, places=places, lateness=windows.lateness, of_sessions=windows.of_sessions)


def _keeps_nothing(pattern: Pattern) -> bool:
    """Whether no row stays in memory beyond its step, nor what came of it."""
    recalls = any(one.meaning in (Meaning.RECALLS, Meaning.MOMENTARY) for one in pattern.restrictions)
    groups = (one.configuration["group"] for one in pattern.restrictions if one.meaning is Meaning.TOTALS)
    return recalls and len(pattern.slots) == 1 and all(group.inverse is not None for group in groups)


def _groups(pattern: Pattern) -> list[dict[str, RowWindows]]:
    """Return the slots whose rows leave, together where they may meet."""
    tables = _tables(pattern)
    if not tables or _keeps_nothing(pattern):
        return []
    said = _retention(pattern)
    if said is not None:
        first, *rest = tables
        plain = not tables[first].of_sessions
        kept = attrs.evolve(
            tables[first],
            lateness=(*tables[first].lateness, *((said,) if plain else ())),
            of_sessions=(*tables[first].of_sessions, *(() if plain else (said,))),
            is_said=True,
        )
        return [{first: kept, **{name: tables[name] for name in rest}}]
    if len(tables) == len(pattern.slots) and _are_linked(pattern, tables):
        return [tables]
    return [{name: windows} for name, windows in tables.items() if windows.is_said]


def _are_linked(pattern: Pattern, tables: Mapping[str, RowWindows]) -> bool:
    """Whether rows meet only if they are of one window."""
    near = {next(iter(tables))}
    for _ in tables:
        for (left, left_side), (right, right_side) in pattern.equalities:
            if _names_window(left_side, left, tables[left], right_side, right, tables[right]) and near & {left, right}:
                near |= {left, right}
    return near == set(tables)


def _names_window(
    left: Expression,
    left_slot: str,
    left_windows: RowWindows,
    right: Expression,
    right_slot: str,
    right_windows: RowWindows,
) -> bool:
    """Whether two rows are of one window if both sides are equal."""
    if isinstance(left, KeyOf) and isinstance(right, KeyOf):
        return left_windows.place == right_windows.place
    return _is_window(left, left_slot, left_windows) and _is_window(right, right_slot, right_windows)


def _is_window(side: Expression, slot: str, windows: RowWindows) -> bool:
    key = KeyOf(slot)
    if windows.place is None:
        return side == key
    item = Apply(operator.getitem, (key, Constant(windows.place)), "getitem")
    return side == item
