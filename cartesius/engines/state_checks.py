"""Checks of what a snapshot holds, before an engine is made of it: the numbers that are merely taken over.

What is looked up or called raises by itself if it is wrong; a clock that is a text would raise at some later push.

Source: SEMANTICS 1.16.
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any, Final

from cartesius.errors import SnapshotMismatch
from cartesius.storage.stored import Stored

if TYPE_CHECKING:
    from collections.abc import Mapping


def checked_state(state: Any) -> Any:
    """Return what was decoded, if it looks like the state of an engine; who has changed it by hand is told so.

    Raises:
        SnapshotMismatch: It does not.
    """
    if type(state) is dict and "calls" in state:
        message = "restore: expected a snapshot but got changes; give the snapshot before them, and these as changes="
        raise SnapshotMismatch(message)
    part = _damaged_part(state)
    if part:
        message = f"restore: expected the state of an engine but its {part} is none; it is damaged, use an earlier one"
        raise SnapshotMismatch(message)
    return state


def _damaged_part(state: Any) -> str:
    if not _has(state, _ENGINE):
        return "table"
    layout = state["layout"]
    if not _has(layout, _LAYOUT) or not all(type(name) is str for name in layout["names"]):
        return "layout"
    if not all(_has(join, _JOIN) and all(map(_are_entries, join["memories"])) for join in state["joins"]):
        return "memory"
    if not all(_are_counts(fates) for join in state["joins"] for fates in join["fates"]):
        return "count of fates"
    return "" if _has(state["world"], _WORLD) else "clock"


def _has(table: Any, kinds: Mapping[str, tuple[type, ...]]) -> bool:
    return type(table) is dict and all(type(table.get(name)) in kinds[name] for name in kinds)


def _are_counts(fates: Any) -> bool:
    return type(fates) is list and all(type(n) is int for n in fates)


def _are_entries(memory: Any) -> bool:
    if type(memory) is tuple:  # where another one is
        return len(memory) == 2 and all(type(place) is int for place in memory)
    return type(memory) is list and all(map(_is_entry, memory))


def _is_entry(one: Any) -> bool:
    return (
        type(one) is Stored
        and type(one.number) is int
        and type(one.place) is int
        and type(one.slot) is str
        and type(one.start) in _TIME
        and type(one.end) in _TIME
        and type(one.more) in (dict, NoneType)
    )


_TIME: Final = (int, float)  # a float is infinite
_ENGINE: Final = {
    "program": (str,), "events": (int,), "latest": _TIME, "touched": (bool,), "ended": (list,), "eaten": (dict,),
    "kept": (dict,), "layout": (dict,), "world": (dict,), "joins": (list,),
}  # fmt: skip
_WORLD: Final = {
    "clock": _TIME, "dated": (bool,), "number": (int,), "steps": (int,), "candidates": (int,),
    "deadlines": (list,), "deadline_number": (int,), "late": (list,),
}  # fmt: skip
_LAYOUT: Final = {"shared": (list,), "names": (list,), "joins": (list,), "next": (int,)}
_JOIN: Final = {
    "memories": (list,),
    "fates": (list,),
    "ended": (list,),
    "copies": (list,),
    "doors": (list,),
    "begun": (bool,),
    "done": (bool,),
}
