"""Tools for tests, of users too: marble strings in and out of a pattern, and the equivalence of two streams.

`marbles` draws what a pattern does, a character a time unit. `streams_equivalent` compares outputs up to the order that
does not matter, online. Invariant: a `Matcher` holds no more than the items that have not met their equal.

Source: ReactiveX's marble diagrams; SEMANTICS 1.11, 3.1 and 4; DiffStream's matcher (SOURCES E4).
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, count, zip_longest
from typing import Any, TypeAlias

import attrs

from cartesius.engine import Engine
from cartesius.errors import InvalidArgument
from cartesius.events import Delete, Event, Update
from cartesius.outputs import is_unchanged
from cartesius.patterns import restricting
from cartesius.reactives import Reactive, check_reactive
from cartesius.records import Record
from cartesius.restriction_base import Composition, Restriction, parts_of

__all__ = ["assert_streams_equivalent", "marbles", "streams_equivalent"]

Relation: TypeAlias = Callable[[Any, Any], bool] | None  # None: the default
_RESERVED = "-|() "
_UNIT = re.compile(r"\(.*?\)|.")  # a group, or a character
_END: Any = object()  # in a parsed diagram: the input ends here


def marbles(
    pattern: Reactive | Callable[..., Reactive],
    restrict: Composition | Restriction | None = None,
    values: Mapping[str, Any] | None = None,
    **inputs: str,
) -> str:
    """Run a pattern on marble strings; return what comes out as one. A character is a time unit, the first is time 0.

    >>> from cartesius.testing import marbles
    >>> from restrictions import at_most, cartesian, zip_
    >>> marbles(cartesian, left="1--", right="-xy", restrict=at_most(1, "left"))
    '-(1x)-'
    >>> marbles(zip_, left="1 (23) |", right="- x -- y")
    '-(1x)--(2y)'

    In a diagram ``-`` is nothing, ``|`` the end, a letter or digit an event with that string as value, ``(ab)`` several
    in one unit, ``(a|)`` an event and the end; spaces are ignored. In a unit the clock is advanced to it first; then
    come the inputs, in the order of the keywords. In the output ``|``, the last sign, is where `Engine.done` became
    true. A result of one character stands bare, others in parentheses, several with commas. It is for reading (``1``
    and ``"1"`` look alike); `streams_equivalent` compares exactly. Shown are

    ======================= ==================================================
    None; str; other        ``∅``; as it is; by ``str``
    tuple, list             the parts joined: ``1x``; within another ``1[xy]``
    mapping                 ``{id:7 name:EVA}``
    `Update`; `Delete`      ``key:row`` (a row None: ``key:[∅]``); ``key:∅``
    retraction (weight -1)  ``!`` and what it takes back
    ======================= ==================================================

    Args:
        pattern: A reactive, whose inputs the keywords name; or a function, called with a fresh `Reactive` for each
            keyword, in that order: a table if its diagram has an `Update` or a `Delete`, by ``values``.
        restrict: For a function: its argument ``restrict``, or else injected by `restricting`.
        values: What characters stand for, {character: value}; others than letters and digits may be used too.
        **inputs: The diagrams, by input; an input that has none, or a shorter one, is silent.

    Returns:
        A diagram as long as the longest input, in units, unless the output completes before.

    Raises:
        InvalidArgument: A malformed diagram, an unknown or unused input, or ``restrict`` where it has no effect.

    Source:
        ReactiveX, marble diagrams; SEMANTICS 1.11 and 3.1.
    """
    if wrong := [sign for sign in values or () if len(sign) != 1 or sign in _RESERVED]:
        raise _refusal(got=f"values for {wrong}", expected="single characters but -|()", do="use a letter")
    diagrams = {name: _parsed(name, diagram, values or {}) for name, diagram in inputs.items()}
    if not diagrams:
        raise _refusal(got="none", expected="a diagram for each input", do="write marbles(pattern, left='1-|')")
    engine = Engine(_made(pattern, restrict, diagrams))
    for name in diagrams:
        if name not in engine.inputs:
            near = difflib.get_close_matches(name, engine.inputs, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "leave it out"
            raise _refusal(got=repr(name), expected=f"inputs of the pattern ({', '.join(engine.inputs)})", do=hint)
    drawn = ""
    for time in range(max(map(len, diagrams.values()))):
        out = engine.advance(time)
        for name, diagram in diagrams.items():
            reactive = engine.inputs[name]
            for value in diagram[time] if time < len(diagram) else ():
                out += engine.end(reactive) if value is _END else engine.push(reactive, value, at=time)
        shown = ",".join(map(_text, out))
        if engine.done:
            return drawn + (f"({shown}|)" if out else "|")
        drawn += "-" if not out else shown if len(shown) == 1 and shown not in _RESERVED else f"({shown})"
    return drawn


def _refusal(got: str, expected: str, do: str) -> InvalidArgument:
    return InvalidArgument(f"marbles: expected {expected} but got {got}; {do}")


def _parsed(name: str, diagram: object, values: Mapping[str, Any]) -> list[list[Any]]:
    """Return the values of each time unit, `_END` where the input ends."""
    text = diagram.replace(" ", "") if isinstance(diagram, str) else ""
    event = "|".join([r"[^\W_]", *map(re.escape, values)])
    good = re.match(rf"(-|{event}|\(({event})+\))*(\|-*|\(({event})*\|\)-*)?", text)
    wrong = text[good.end() :] if good else text
    if wrong or not text:
        got = f"{name}={diagram!r} (wrong from {wrong!r})" if wrong else f"{name}={diagram!r}"
        raise _refusal(got, "letters, digits, - for nothing, groups (ab), at last | or (a|)", "map others with values=")
    return [[_END if s == "|" else values.get(s, s) for s in unit.strip("()-")] for unit in _UNIT.findall(text)]


def _made(pattern: object, restrict: Any, diagrams: Mapping[str, list[list[Any]]]) -> Reactive:
    """Return the pattern; of a function, what it makes of a fresh reactive for each diagram."""
    if isinstance(pattern, Reactive) and restrict is None:
        return pattern
    got = f"{getattr(pattern, '__name__', repr(pattern))} with restrict={restrict!r}"
    if isinstance(pattern, Reactive) or not callable(pattern):
        raise _refusal(got, "a function, or a reactive without restrict", "restrict a reactive where it is made")
    tables = {n for n, diagram in diagrams.items() if any(isinstance(v, Update | Delete) for v in chain(*diagram))}
    inputs = [Reactive(name, table=name in tables) for name in diagrams]
    if restrict is None or "restrict" in inspect.signature(pattern).parameters:
        keywords = {} if restrict is None else {"restrict": restrict}
        return check_reactive(pattern(*inputs, **keywords), "marbles", "result of the function")
    with restricting(restrict):
        output = check_reactive(pattern(*inputs), "marbles", "result of the function")
    if not _is_restricted(output, parts_of(restrict)):
        raise _refusal(got, "a function that takes restrict or restricts nothing", "compose them inside of it")
    return output


def _is_restricted(output: Reactive, by: tuple[Restriction, ...]) -> bool:
    found = output.pattern
    return found is not None and (found.restrictions == by or any(_is_restricted(r, by) for r in found.slots.values()))


def _text(value: Any, *, nested: bool = False) -> str:
    if isinstance(value, Event):
        return "!" * (value.weight < 0) + _text(value.value)
    if isinstance(value, Update | Delete):
        row = "∅" if isinstance(value, Delete) else "[∅]" if value.value is None else _text(value.value)
        return f"{_text(value.key, nested=True)}:{row}"
    if isinstance(value, tuple | list):
        return "[" * nested + "".join(_text(part, nested=True) for part in value) + "]" * nested
    if isinstance(value, Mapping | Record):
        return "{" + " ".join(f"{field}:{_text(value[field], nested=True)}" for field in value) + "}"
    return "∅" if value is None else str(value)


@attrs.frozen
class Equivalence:
    """Whether two streams are equivalent: truthy if so; otherwise which item cannot be matched, and why.

    >>> from cartesius.testing import Equivalence
    >>> bool(Equivalence()), bool(Equivalence("it has no equal", 1, 0, "a"))
    (True, False)
    """

    reason: str = ""
    stream: int | None = None  # 1 or 2
    index: int | None = None
    item: Any = None

    def __bool__(self) -> bool:
        return self.stream is None


class Matcher:
    """DiffStream's matcher: is fed the items of streams 1 and 2 in any interleaving; keeps those without an equal.

    >>> from cartesius.testing import Matcher
    >>> matcher = Matcher(dependent=lambda a, b: "#" in (a, b))
    >>> [bool(matcher.feed(stream, item)) for stream, item in [(1, "a"), (1, "b"), (2, "b"), (2, "#")]]
    [True, True, True, False]
    """

    def __init__(self, dependent: Relation = None, equal: Relation = None) -> None:
        self._depends, self._equal = dependent or _is_same_row, equal or _is_equal
        self.unmatched: dict[int, list[tuple[int, Any]]] = {1: [], 2: []}  # (index, item), in order of arrival
        self._indexes = {1: count(), 2: count()}
        self._verdict = Equivalence()

    def feed(self, stream: int, item: Any) -> Equivalence:
        """Take the next item of a stream; a falsy answer is certain, and stays."""
        own, others, index = self.unmatched[stream], self.unmatched[3 - stream], next(self._indexes[stream])
        for place, (_, other) in enumerate(others):
            pair = (item, other) if stream == 1 else (other, item)
            if self._equal(*pair) and self._is_minimal(other, others[:place]) and self._is_minimal(item, own):
                del others[place]
                return self._verdict
        for place, other in others:
            if not self._is_minimal(item, [(place, other)]):
                why = f"and item {place} of stream {3 - stream} ({_shown(other)}) are out of order, or lack an equal"
                self._verdict = self._verdict and _failure(stream, index, item, why)  # the first one stays
                return self._verdict
        own.append((index, item))
        return self._verdict

    def finish(self) -> Equivalence:
        """Answer for the streams as fed so far; of the items that are left, name the earliest."""
        left = [(index, stream, item) for stream in (1, 2) for index, item in self.unmatched[stream]]
        if not self._verdict or not left:
            return self._verdict
        index, stream, item = min(left, key=lambda found: found[:2])
        return _failure(stream, index, item, f"has no equal left in stream {3 - stream}")

    def _is_minimal(self, item: Any, earlier: list[tuple[int, Any]]) -> bool:
        return not any(self._depends(item, other) or self._depends(other, item) for _, other in earlier)


def streams_equivalent(
    s1: Iterable[Any], s2: Iterable[Any], dependent: Relation = None, equal: Relation = None
) -> Equivalence:
    """Decide, online, whether two streams are the same up to swaps of adjacent independent items.

    >>> from cartesius.testing import streams_equivalent
    >>> bool(streams_equivalent("ab#c", "ba#c", dependent=lambda a, b: "#" in (a, b)))
    True
    >>> streams_equivalent("ab", "ba", dependent=lambda a, b: True).reason
    "item 0 of stream 2 ('b') and item 0 of stream 1 ('a') are out of order, or lack an equal"

    Args:
        s1: Items: events, or anything; a retraction is an item. They are read alternately, until the answer is certain.
        s2: The other items.
        dependent: Whether two items may not be swapped (in one order of arguments at least). By default the changes of
            a table's row may not, other items may: they are compared as multisets.
        equal: Whether an item of ``s1`` and one of ``s2`` are the same: an equivalence, under which equal items depend
            on the same items. By default events of equal value, times and weight, type-exactly; others by ``==``.

    Returns:
        An `Equivalence`: truthy, or with ``.reason``, ``.stream`` (1 or 2), ``.index`` and ``.item``.

    Source:
        DiffStream (SOURCES E4); SEMANTICS 4.
    """
    matcher, nothing = Matcher(dependent, equal), object()
    for pair in zip_longest(s1, s2, fillvalue=nothing):
        if not all(matcher.feed(stream, item) for stream, item in enumerate(pair, 1) if item is not nothing):
            break
    return matcher.finish()


def assert_streams_equivalent(
    s1: Iterable[Any], s2: Iterable[Any], dependent: Relation = None, equal: Relation = None
) -> None:
    """Assert that two finite streams are equivalent; arguments and source are those of `streams_equivalent`.

    >>> from cartesius.testing import assert_streams_equivalent
    >>> assert_streams_equivalent("ab", "a")
    Traceback (most recent call last):
    AssertionError: item 1 of stream 1 ('b') has no equal left in stream 2
    --- stream 1
    +++ stream 2
    @@ -1,2 +1 @@
       'a'
    -> 'b'

    Raises:
        AssertionError: They are not: the reason and a unified diff, in which ``>`` marks the item.
    """
    streams = (list(s1), list(s2))
    verdict = streams_equivalent(*streams, dependent, equal)
    if verdict:
        return
    one, other = (
        [("> " if (stream, index) == (verdict.stream, verdict.index) else "  ") + _shown(item) for index, item in found]
        for stream, found in enumerate(map(enumerate, streams), 1)
    )
    diff = difflib.unified_diff(one, other, "stream 1", "stream 2", lineterm="")
    raise AssertionError("\n".join([verdict.reason, *diff]))


def _is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, Event) and isinstance(other, Event):
        return is_unchanged(attrs.evolve(one, reactive=""), attrs.evolve(other, reactive=""))
    return bool(one == other)


def _is_same_row(one: Any, other: Any) -> bool:
    one, other = (item.value if isinstance(item, Event) else item for item in (one, other))
    return isinstance(one, Update | Delete) and isinstance(other, Update | Delete) and bool(one.key == other.key)


def _shown(item: Any) -> str:
    event = isinstance(item, Event)
    return f"{'!' * (item.weight < 0)}{item.value!r} at {item.start}..{item.end}" if event else repr(item)


def _failure(stream: int, index: int, item: Any, why: str) -> Equivalence:
    return Equivalence(f"item {index} of stream {stream} ({_shown(item)}) {why}", stream, index, item)
