"""Dependence relations: which two items of a stream may not be swapped, as predicates on pairs of items.

Equivalence of streams is relative to one of these (`streams_equivalent`). The ready ones look at the value of an
`Event`, and know the row of an `Update` or `Delete` by its key; a predicate of one's own gets the items as they are.

Invariant: a `Dependence` is symmetric. Items that `apart` tells apart are independent, which saves comparing them.

Source: DiffStream (SOURCES E4); data-trace types (SOURCES E1); SEMANTICS 4.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeAlias, final

import attrs

from cartesius.data.events import Delete, Event, Update
from cartesius.equivalence.equalities import form_of
from cartesius.errors import InvalidArgument
from cartesius.results.unchanged_values import is_same

Predicate: TypeAlias = Callable[[Any, Any], bool]
Key: TypeAlias = str | Callable[[Any], Any]

FREE: Final = object()
"""What `Dependence.apart` says of an item that depends on nothing at all."""


@final
@attrs.frozen
class Dependence:
    """Whether two items may not be swapped: a predicate, which may be joined to others by ``|``.

    >>> from cartesius.testing import Dependence, same_key
    >>> near = Dependence(lambda a, b: abs(a["x"] - b["x"]) < 1)
    >>> near({"x": 0.5}, {"x": 1.2}), near({"x": 0.5}, {"x": 2})
    (True, False)
    >>> either = near | same_key("taxi")
    >>> either({"x": 0, "taxi": 7}, {"x": 9, "taxi": 7})
    True

    Args:
        predicate: A pure function of two items; it need not be symmetric, one order of the arguments is enough.
        apart: What tells independent items apart: items for which it differs do not depend on each other. It makes
            matching faster, nothing else. None: nothing is known.
    """

    predicate: Predicate
    apart: Callable[[Any], Hashable] | None = None

    def __call__(self, one: Any, other: Any) -> bool:
        """Ask of two items, in either order."""
        return bool(self.predicate(one, other) or self.predicate(other, one))

    def __or__(self, other: Predicate) -> Dependence:
        return Dependence(_either(self, other))

    def __ror__(self, other: Predicate) -> Dependence:
        return Dependence(_either(other, self))


def all_depend() -> Dependence:
    """Make every two items depend on each other: equivalent streams are equal, item by item.

    >>> from cartesius.testing import all_depend, streams_equivalent
    >>> bool(streams_equivalent("ab", "ba", all_depend()))
    False
    """
    return Dependence(lambda one, other: True)


def none_depend() -> Dependence:
    """Make no two items depend on each other: equivalent streams are equal as multisets.

    >>> from cartesius.testing import none_depend, streams_equivalent
    >>> bool(streams_equivalent("aba", "baa", none_depend())), bool(streams_equivalent("ab", "aab", none_depend()))
    (True, False)
    """
    return Dependence(lambda one, other: False, lambda item: FREE)


def same_key(key: Key | None = None) -> Dependence:
    """Make items of one key depend on each other; a retraction has the key of what it takes back.

    >>> from cartesius import Event
    >>> from cartesius.testing import same_key, streams_equivalent
    >>> rides = [{"taxi": 1, "fare": 9}, {"taxi": 2, "fare": 5}, {"taxi": 1, "fare": 4}]
    >>> bool(streams_equivalent(rides, [rides[1], rides[0], rides[2]], same_key("taxi")))
    True
    >>> bool(streams_equivalent(rides, rides[::-1], same_key("taxi")))
    False
    >>> given, taken_back = Event("a", 1, 1), Event("a", 1, 1, -1)
    >>> bool(streams_equivalent([given, taken_back], [taken_back, given], same_key(lambda value: value)))
    False

    Args:
        key: A field of an item, or a function of it; of an event, of its value. An item whose key is None depends on
            nothing. None: only changes of rows have keys. The key of an `Update` or a `Delete` is always its row's.

    Raises:
        InvalidArgument: ``key`` is neither.
    """
    read = _reader(key, "same_key")

    def key_of(item: Any) -> Any:
        value = _value(item)
        return value.key if isinstance(value, Update | Delete) else read(value)

    return _alike_in(key_of)


def _same_row() -> Dependence:
    """Make the changes of one row of one table depend on each other."""

    def row_of(item: Any) -> tuple[Any, ...] | None:
        value, table = (item.value, item.reactive) if isinstance(item, Event) else (item, None)
        return (table, value.key) if isinstance(value, Update | Delete) else None

    return _alike_in(row_of)


def _alike_in(read: Callable[[Any], Any]) -> Dependence:
    """Make items depend on each other of which the same is read; one of which that is None depends on nothing."""

    def are_alike(one: Any, other: Any) -> bool:
        found = read(one)
        return found is not None and is_same(found, read(other))

    def apart(item: Any) -> Hashable:
        found = read(item)
        return FREE if found is None else form_of(found)

    return Dependence(are_alike, apart)


def punctuation(is_punctuation: Callable[[Any], bool], time: Key | None = None) -> Dependence:
    """Keep what is older than a punctuation from being moved across it; what is younger may be.

    >>> from cartesius.testing import punctuation, streams_equivalent
    >>> by_time = punctuation(lambda item: item[0] == "mark", time=lambda item: item[1])
    >>> old, mark, young = ("item", 4), ("mark", 5), ("item", 6)
    >>> bool(streams_equivalent([old, mark, young], [old, young, mark], by_time))
    True
    >>> bool(streams_equivalent([old, mark], [mark, old], by_time))
    False

    Args:
        is_punctuation: Whether an item is one; of an event, asked of its value.
        time: The time of an item: a field, or a function of it; of an event, of its value. None: the end of the event.

    Raises:
        InvalidArgument: ``is_punctuation`` is no function, or ``time`` is neither a field nor a function.
    """
    ask = _asked(is_punctuation, "punctuation")
    read = None if time is None else _reader(time, "punctuation")

    def time_of(item: Any) -> Any:
        return item.end if read is None else read(_value(item))

    return Dependence(lambda one, other: ask(one) and bool(time_of(other) < time_of(one)))


def end_of_day(is_end: Callable[[Any], bool]) -> Dependence:
    """Make the items that end a day, or anything else, depend on every item: nothing is moved across them.

    >>> from cartesius.testing import end_of_day, streams_equivalent
    >>> by_day = end_of_day(lambda item: item == "#")
    >>> bool(streams_equivalent("ab#c", "ba#c", by_day)), bool(streams_equivalent("ab#c", "abc#", by_day))
    (True, False)

    Args:
        is_end: Whether an item is such an end; of an event, asked of its value.

    Raises:
        InvalidArgument: It is no function.
    """
    ask = _asked(is_end, "end_of_day")
    return Dependence(lambda one, other: ask(one))


def end_of_month(is_end: Callable[[Any], bool]) -> Dependence:
    """Make the items that end a month, or anything else, depend on each other, and on nothing else.

    >>> from cartesius.testing import end_of_day, end_of_month, same_key, streams_equivalent
    >>> def kind(name):
    ...     return lambda item: item["kind"] == name
    >>> taxis = end_of_day(kind("day")) | end_of_month(kind("month")) | same_key("taxi")
    >>> ride = {"kind": "ride", "taxi": 7}
    >>> month, day = {"kind": "month", "taxi": None}, {"kind": "day", "taxi": None}
    >>> bool(streams_equivalent([ride, month, day], [month, ride, day], taxis))
    True
    >>> bool(streams_equivalent([ride, day], [day, ride], taxis))
    False

    Args:
        is_end: Whether an item is such an end; of an event, asked of its value.

    Raises:
        InvalidArgument: It is no function.
    """
    ask = _asked(is_end, "end_of_month")
    return Dependence(lambda one, other: ask(one) and ask(other), lambda item: 0 if ask(item) else FREE)


def as_dependence(dependent: Predicate | None) -> Dependence:
    """Return a predicate as a `Dependence`; without one, that of the changes of a row.

    Raises:
        InvalidArgument: It is no function.
    """
    if dependent is None:
        return _same_row()
    if not callable(dependent):
        message = (
            f"dependent: expected a function of two items but got {dependent!r} (type={type(dependent).__name__}); of"
            f" items of one key write same_key({dependent!r})"
        )
        raise InvalidArgument(message)
    return dependent if isinstance(dependent, Dependence) else Dependence(dependent)


def _either(one: Predicate, other: Predicate) -> Predicate:
    return lambda a, b: bool(one(a, b) or other(a, b))


def _value(item: Any) -> Any:
    return item.value if isinstance(item, Event) else item


def _asked(predicate: Callable[[Any], bool], where: str) -> Callable[[Any], bool]:
    if not callable(predicate):
        message = f"{where}: expected a function of an item but got {predicate!r} (type={type(predicate).__name__})"
        raise InvalidArgument(message)
    return lambda item: bool(predicate(_value(item)))


def _reader(key: Key | None, where: str) -> Callable[[Any], Any]:
    if key is None:
        return lambda item: None
    if callable(key):
        return key
    if isinstance(key, str):
        return lambda item: _field(item, key)
    message = f"{where}: expected a field's name or a function but got {key!r} (type={type(key).__name__})"
    raise InvalidArgument(message)


def _field(item: Any, name: str) -> Any:
    """Return a field of an item: of what has items by name, else an attribute."""
    try:
        return item[name]
    except (KeyError, TypeError, IndexError, ValueError):  # no such item, or no items by name
        pass
    try:
        return getattr(item, name)
    except AttributeError as error:
        message = f"expected a field {name!r} but got {item!r}; give a function that returns None for what has no key"
        raise InvalidArgument(message) from error
