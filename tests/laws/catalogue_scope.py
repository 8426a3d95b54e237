"""What the texts of drawn programs may name: all exports, and a few functions, traced and not."""

from __future__ import annotations

from typing import Any

import cartesius
import restrictions
from cartesius import Delete, Update
from restrictions import operators, streams, tables, windows
from restrictions.operators import Keyed, in_order_per_key, per_item, unordered_per_key
from restrictions.tables import count

FIELDS = ("n", "k", "j", "v")


def size(value: Any) -> int:
    """An int, whatever the value is. Not traced."""
    if value is None:
        return -1
    if isinstance(value, tuple | list):
        return sum(map(size, value)) + len(value)
    if isinstance(value, Update):
        return size(value.value)
    if isinstance(value, Delete):
        return 1
    if isinstance(value, int | float):
        return int(value) % 97 if abs(value) < 2**80 else 99  # NaN is not less
    return int(value["n"]) if _is_record(value) else len(str(value))


def _is_record(value: Any) -> bool:
    return not isinstance(value, str | bytes) and hasattr(value, "keys") and "n" in value


def record(value: Any) -> Any:
    """A record of any value: that itself, if it is one. Not traced."""
    if isinstance(value, Update):
        return record(value.value)
    if _is_record(value) and "k" in value and "j" in value:
        return {"n": value["n"], "k": value["k"], "j": value["j"], "v": value["n"]}
    number = size(value)
    first = next((record(one) for one in value if one is not None), None) if isinstance(value, tuple | list) else None
    return {
        "n": number,
        "k": first["k"] if first else number % 2,
        "j": first["j"] if first else number % 3,
        "v": number,
    }


def keyed(value: Any) -> Keyed:
    """An item. Not traced."""
    made = record(value)
    return Keyed(size(made["k"]) % 2, size(made["n"]))


def touchy(value: Any) -> bool:
    """True; an exception for one value. Not traced."""
    if value.k == 7:
        message = f"touched {value.k!r}"
        raise RuntimeError(message)
    return True


def two_lowest(events: Any) -> Any:
    """Of what a window has of a slot, the two events of the lowest sizes."""
    return sorted(events, key=lambda event: size(event.value))[:2]


def around(unit: int) -> Any:
    """Windows around events, whose lengths depend on them."""
    return lambda event: [(event.start, event.end + unit * (2 + size(event.value) % 5))]


def opened(unit: int) -> Any:
    """Windows that events open and close."""

    def assigned(event: Any, present: Any) -> Any:
        number = size(event.value) % 4
        if number == 0:
            return [cartesius.Window(event.start)]
        if number == 1 and present:
            return [cartesius.Window(window.start, event.end + unit) for window in present]
        return present or [(event.start, event.end + unit)]

    return assigned


class passed(per_item):
    """Each item, once or twice."""

    def on_item(self, key: Any, value: Any) -> Any:
        yield Keyed(key, value)
        if value % 2:
            yield Keyed(key, value + 1)


class differences(in_order_per_key):
    """How an item differs from the one before."""

    def initial(self) -> Any:
        return None

    def on_item(self, state: Any, key: Any, value: Any) -> Any:
        return value, [value if state is None else value - state]


class counted(unordered_per_key):
    """How many items there are at each marker."""

    monoid = count

    def update(self, state: Any, total: Any) -> Any:
        return state + total

    def on_marker(self, state: Any, key: Any, marker: Any) -> Any:
        yield state

    def initial(self) -> Any:
        return 0


class bagged(unordered_per_key):
    """The items between two markers, in the order of their sizes."""

    monoid = operators.BAG

    def update(self, state: Any, total: Any) -> Any:
        return tuple(sorted(total))

    def on_marker(self, state: Any, key: Any, marker: Any) -> Any:
        yield state

    def initial(self) -> Any:
        return ()


def exports_of(module: Any) -> list[str]:
    """The public names of a module that re-exports."""
    listed = getattr(module, "__all__", None)
    return list(listed) if listed is not None else [name for name in vars(module) if not name.startswith("_")]


def scope() -> dict[str, Any]:
    """All that the text of a program may name."""
    found: dict[str, Any] = {}
    for module in (cartesius, restrictions, streams, tables, windows, operators):
        found |= {name: getattr(module, name) for name in exports_of(module)}
    mine = (size, record, keyed, touchy, two_lowest, around, opened, passed, differences, counted, bagged)
    return found | {one.__name__: one for one in mine}
