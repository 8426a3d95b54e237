"""Which window a row of a table is of, found once: by what makes its key, and by links, of what it can meet.

Source: SEMANTICS 3.2.
"""

from __future__ import annotations

import operator
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import attrs

from cartesius.correlations.freed_windows import leaving
from cartesius.data.events import Window
from cartesius.expressions.expressions import Apply, Constant, Expression, KeyOf, Part, Tuple, WindowOf
from cartesius.expressions.tracing import of_payload, parameters_of, trace
from cartesius.plan import facts
from cartesius.plan.nodes import Aggregate, KeyBy, Now, Recall
from cartesius.results.outputs import Rows
from cartesius.results.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Duration
    from cartesius.language.patterns import Pattern
    from cartesius.language.restriction_base import Restriction


_known: WeakKeyDictionary[Pattern, RowWindows | None] = WeakKeyDictionary()


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


def with_leaving(pattern: Pattern) -> tuple[Restriction, ...]:
    """Return the restrictions of a pattern, and before them who lets the rows of freed windows leave."""
    return (*map(_leaving, _groups(pattern)), *pattern.restrictions)


def row_windows(pattern: Pattern) -> RowWindows | None:
    """Return what is known of the windows of a table's rows; None if their keys name none, or it is not known where."""
    if pattern not in _known:
        _known[pattern] = _found(pattern)
    return _known[pattern]


def _found(pattern: Pattern) -> RowWindows | None:
    opener = next((one for one in pattern.restrictions if facts.opens_windows(one)), None)
    opened = None if opener is None else facts.windows(opener)
    if opener is None or opened is None:
        return _passed_on(pattern)
    place = _place(_key_of_rows(pattern))
    if place is _NOWHERE or place is _UNKNOWN:
        return None
    said = _retention(pattern)
    delays = (opened.lateness, *([] if said is None else [said]))
    is_session = opener.closed_at(Window(0, 1)) > 1
    return RowWindows(place, () if is_session else delays, delays if is_session else (), said is not None)


def stays(pattern: Pattern, name: str) -> str:
    """Say why the rows of windows in a slot never leave; nothing, if they do, or are of no window."""
    source = pattern.slots[name].pattern
    if source is None or any(name in facts.freed(one) for one in pattern.restrictions):
        return ""
    if row_windows(source) is not None:
        others = [other for other in pattern.slots if other != name]
        met = f", as it may meet {' and '.join(others)}" if others else ""
        return f"a row a window stays when that is freed{met}; retention= bounds it, of aggregate or of the join"
    if any(facts.opens_windows(one) for one in source.restrictions) and _place(_key_of_rows(source)) is _UNKNOWN:
        return "its rows are of windows, and a function makes their keys that does not trace; make it itemgetter(n)"
    return ""


_NOWHERE: Any = object()
_UNKNOWN: Any = object()


def _key_of_rows(pattern: Pattern) -> Expression | str | tuple[str, ...] | None:
    """Return what makes the keys of a table's rows: an expression, the slots whose keys they are, or None."""
    table = next((one for one in pattern.restrictions if facts.makes_table(one)), None)
    if table is None:
        return ""
    key = facts.table_key(table)
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


def totalled_by(pattern: Pattern) -> Expression | None:
    """Return by what (value, key) of its one slot is totalled in windows: by the window, or a key beside it.

    None, if totals are written otherwise than `aggregate` writes them.
    """
    (slot,), yields, key = pattern.slots, pattern.yields, _key_of_rows(pattern)
    if not isinstance(yields, Tuple) or len(yields.items) != 2 or yields.items[0] != Part(slot):
        return None
    if isinstance(key, Tuple) and len(key.items) == 2 and isinstance(key.items[1], WindowOf):
        return key.items[0]
    return key if isinstance(key, WindowOf) else None


def are_by_keys(join: Join, key: Expression) -> bool:
    """Whether windows are under no keys, or all of them under that by which `aggregate` totals beside them."""
    spaces = [node.keys for one in join.installed for node in one.nodes if isinstance(node, KeyBy)]
    if isinstance(key, WindowOf) or len(spaces) != 1 or join.bindings.window_space != 1:
        return isinstance(key, WindowOf) and not spaces
    (function,) = spaces[0].values()
    expression = of_payload(function, join.slots[0].name)
    return key == expression if expression is not None else isinstance(key, Apply) and key.function is function


def may_share_rows(join: Join) -> bool:
    """Whether windows under several keys may add to one row: rows are not known to be by the keys of their windows."""
    if not join.bindings.window_space or not isinstance(join.batch.output, Rows | Totals):
        return False
    key = totalled_by(join.pattern) if len(join.slots) == 1 else None
    return key is None or not are_by_keys(join, key)


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
    return next((said for one in pattern.restrictions if (said := facts.retention(one)) is not None), None)


def _tables(pattern: Pattern) -> dict[str, RowWindows]:
    """Return the slots of tables whose rows are of windows."""
    return {
        name: windows
        for name, reactive in pattern.slots.items()
        if reactive.table and reactive.pattern is not None and (windows := row_windows(reactive.pattern)) is not None
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
    nodes = [node for one in pattern.restrictions for node in one.nodes]
    passes = any(isinstance(node, Recall | Now) for node in nodes)
    groups = [node.group for node in nodes if isinstance(node, Aggregate)]
    return passes and len(pattern.slots) == 1 and all(group.inverse is not None for group in groups)


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
