"""Tools for tests, of users too: marble strings in and out of a pattern, and the equivalence of two streams.

`marbles` draws what a pattern does, a character a time unit. What is here of the equivalence of streams comes from
`equivalences`, `matching`, `dependences` and `equalities`; `monitoring` compares what runs.

Invariant: a diagram that comes out has as many units as the longest that went in, unless the output completes before.

Source: ReactiveX's marble diagrams; SEMANTICS 1.11 and 3.1.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from cartesius.data.events import Delete, Event, Update
from cartesius.data.records import Record
from cartesius.engines.engine import Engine
from cartesius.equivalence.dependences import (
    Dependence,
    all_depend,
    end_of_day,
    end_of_month,
    none_depend,
    punctuation,
    same_key,
)
from cartesius.equivalence.equalities import equal_by
from cartesius.equivalence.equivalences import assert_streams_equivalent, check_relations, reordered, streams_equivalent
from cartesius.equivalence.matching import Equivalence, Matcher
from cartesius.equivalence.monitoring import Monitor, Sample
from cartesius.errors import InvalidArgument
from cartesius.language.reactives import Reactive, check_reactive
from cartesius.language.restriction_base import Composition, Restriction, parts_of
from cartesius.programs.correlating import restricting

__all__ = [
    "Dependence",
    "Equivalence",
    "Matcher",
    "Monitor",
    "Sample",
    "all_depend",
    "assert_streams_equivalent",
    "check_relations",
    "end_of_day",
    "end_of_month",
    "equal_by",
    "marbles",
    "none_depend",
    "punctuation",
    "reordered",
    "same_key",
    "streams_equivalent",
]

_RESERVED = "-|() "
_UNIT = re.compile(r"\(.*?\)|.")  # a group, or a character
_END: Any = object()  # in a parsed diagram: the input ends here


def marbles(
    pattern: Reactive | Callable[..., Reactive],
    restrict: Composition | Restriction | None = None,
    values: Mapping[str, Any] | None = None,
    **inputs: str,
) -> str:
    """Run a pattern on marble strings; return the results as one. A character is a time unit, the first is time 0.

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
