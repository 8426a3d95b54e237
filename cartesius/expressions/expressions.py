"""Expression trees: what a traced ``where`` or ``yields`` becomes. Frozen nodes; the fluent face is in `tracing`.

Every node can be compiled (`evaluator`) to a function of a *row*, the list of a candidate's entries by slot index. A
node means what the Python operation that it stands for means, exceptions included, but for null, which is SQL's
(`nulls`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import attrs

from cartesius.data.events import Interval
from cartesius.data.records import reader
from cartesius.data.value_texts import shown
from cartesius.data.window_spans import window_of
from cartesius.expressions.nulls import COMPARISONS, LOGICAL, application, first_there, is_not_null, is_null
from cartesius.expressions.nulls import truth as truth_of

Row: TypeAlias = Any  # a sequence of entries, None where a part is missing
Evaluate: TypeAlias = Callable[[Row], Any]


class Expression:
    """Base of the nodes."""

    __slots__ = ()


@attrs.frozen
class Constant(Expression):
    """A value that depends on no part."""

    value: Any


@attrs.frozen
class Part(Expression):
    """The payload bound to a slot; None where an optional part is missing."""

    slot: str


@attrs.frozen
class TimeOf(Expression):
    """The occurrence interval of a slot's event."""

    slot: str


@attrs.frozen
class KeyOf(Expression):
    """The key of a slot's row, or of its event under `key_by`."""

    slot: str


@attrs.frozen
class IsMissing(Expression):
    """Whether a slot has no part in a candidate."""

    slot: str


@attrs.frozen
class WindowOf(Expression):
    """The window of a candidate, where there are windows."""


@attrs.frozen
class Field(Expression):
    """A field of a payload: an attribute, or an item of a mapping."""

    target: Expression
    name: str


@attrs.frozen
class Apply(Expression):
    """A pure function of the arguments; ``name`` is how it is shown."""

    function: Callable[..., Any]
    arguments: tuple[Expression, ...]
    name: str


@attrs.frozen
class Tuple(Expression):
    """A tuple of values."""

    items: tuple[Expression, ...]


@attrs.frozen
class Fields(Expression):
    """A dict with constant keys."""

    names: tuple[Any, ...]
    items: tuple[Expression, ...]


@attrs.frozen(eq=False)
class Element(Expression):
    """An item of a list, where a condition is asked of each; told from others by identity."""

    name: str


@attrs.frozen
class Every(Expression):
    """Whether a condition holds of all items of a list, or of all neighbours: as many as there are ``elements``."""

    items: Expression
    elements: tuple[Element, ...]
    condition: Expression


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the nodes directly below ``expression``."""
    match expression:
        case Every(items=items, condition=condition):
            return (items, condition)
        case Field(target=target):
            return (target,)
        case Apply(arguments=arguments):
            return arguments
        case Tuple(items=items) | Fields(items=items):
            return items
    return ()


def slots_of(expression: Expression) -> frozenset[str]:
    """Return the slots that ``expression`` mentions."""
    if isinstance(expression, Part | TimeOf | KeyOf | IsMissing):
        return frozenset((expression.slot,))
    return frozenset().union(*map(slots_of, children(expression)))


def conjuncts(expression: Expression) -> list[Expression]:
    """Split ``a & b & …`` into its conditions, as far as they are Boolean by construction."""
    if isinstance(expression, Apply) and expression.function is operator.and_ and is_boolean(expression):
        return [c for argument in expression.arguments for c in conjuncts(argument)]
    if isinstance(expression, Every) and is_boolean(expression.condition):
        return [Every(expression.items, expression.elements, c) for c in conjuncts(expression.condition)]
    return [expression]


def is_boolean(expression: Expression) -> bool:
    """Whether an expression is true, false or unknown by construction."""
    if isinstance(expression, Apply):
        if expression.function in (*LOGICAL, operator.invert):
            return all(map(is_boolean, expression.arguments))
        return expression.function in (*COMPARISONS, is_null, is_not_null)
    if isinstance(expression, Every | IsMissing):
        return True
    return isinstance(expression, Constant) and isinstance(expression.value, bool)


def equality(expression: Expression) -> tuple[tuple[str, Expression], tuple[str, Expression]] | None:
    """Return both (slot, side) of an equality between computed values of two different slots; otherwise None."""
    if not isinstance(expression, Apply) or expression.function is not operator.eq:
        return None
    left, right = expression.arguments
    left_slots, right_slots = slots_of(left), slots_of(right)
    if len(left_slots) != 1 or len(right_slots) != 1 or left_slots == right_slots:
        return None
    return (min(left_slots), left), (min(right_slots), right)


def replace(expression: Expression, element: Element, by: Expression) -> Expression:
    """Return ``expression`` with ``by`` in the place of ``element``."""
    if expression is element:
        return by
    match expression:
        case Field(target=target, name=name):
            return Field(replace(target, element, by), name)
        case Apply(function=function, arguments=arguments, name=name):
            return Apply(function, tuple([replace(one, element, by) for one in arguments]), name)
        case Tuple(items=items):
            return Tuple(tuple([replace(item, element, by) for item in items]))
        case Fields(names=names, items=items):
            return Fields(names, tuple([replace(item, element, by) for item in items]))
        case Every(items=items, elements=elements, condition=condition):
            return Every(replace(items, element, by), elements, replace(condition, element, by))
    return expression


def evaluator(expression: Expression, slots: Mapping[Any, int]) -> Evaluate:
    """Compile ``expression`` to a function of a row. ``slots`` gives each slot's index, and that of each element."""
    match expression:
        case Element():
            i = slots[expression]
            return lambda row: row[i]
        case Every(items=listed, elements=elements, condition=condition):
            return _evaluator_of_every(evaluator(listed, slots), elements, condition, slots)
        case Constant(value=value):
            return lambda row: value
        case Part(slot=slot):
            i = slots[slot]
            return lambda row: None if row[i] is None else row[i].value
        case TimeOf(slot=slot):
            i = slots[slot]
            return lambda row: None if row[i] is None else Interval(row[i].start, row[i].end)
        case KeyOf(slot=slot):
            i = slots[slot]
            return lambda row: None if row[i] is None else row[i].own_key()
        case IsMissing(slot=slot):
            i = slots[slot]
            return lambda row: row[i] is None
        case WindowOf():
            return lambda row: next(w for part in row if part is not None and (w := window_of(part)) is not None)
        case Field(target=Part(slot=slot), name=name):
            i, read = slots[slot], reader(name)
            return lambda row: None if (part := row[i]) is None else read(part.value)
        case Field(target=TimeOf(slot=slot), name=("start" | "end") as name):
            i = slots[slot]
            return lambda row: None if row[i] is None else getattr(row[i], name)
        case Field(target=target, name=name):
            inner, read = evaluator(target, slots), reader(name)
            return lambda row: read(inner(row))
        case Apply(function=function, arguments=arguments):
            return application(function, [evaluator(argument, slots) for argument in arguments])
        case Tuple(items=items):
            inners = [evaluator(item, slots) for item in items]
            return lambda row: tuple([inner(row) for inner in inners])
        case Fields(names=names, items=items):
            inners = [evaluator(item, slots) for item in items]
            return lambda row: {name: inner(row) for name, inner in zip(names, inners, strict=True)}
    message = f"not an expression: {expression!r}"
    raise TypeError(message)


def _evaluator_of_every(
    items: Evaluate, elements: tuple[Element, ...], condition: Expression, slots: Mapping[Any, int]
) -> Evaluate:
    size, width = max(slots.values(), default=-1) + 1, len(elements)
    holds = evaluator(condition, {**slots, **{element: size + place for place, element in enumerate(elements)}})

    def every(row: Row) -> bool | None:
        values, before = items(row), list(row[:size])
        known: bool | None = True
        for place in range(len(values) - width + 1):
            found = truth_of(holds([*before, *values[place : place + width]]))
            if found is None:
                known = None
            elif not found:
                return False
        return known

    return every


def show(expression: Expression) -> str:
    """Write ``expression`` as a reader would."""
    match expression:
        case Constant(value=value):
            return repr(value)
        case Part(slot=slot):
            return slot
        case TimeOf(slot=slot):
            return f"time_{slot}"
        case KeyOf(slot=slot):
            return f"key_{slot}"
        case IsMissing(slot=slot):
            return f"is_missing({slot})"
        case WindowOf():
            return "window"
        case Apply(function=function, arguments=(one,)) if function in (is_null, is_not_null):
            return f"({show(one)} {'==' if function is is_null else '!='} None)"
        case Apply(function=function, arguments=arguments, name=name) if function is first_there:
            return f"{name}({', '.join(map(show, arguments))})"
        case Element(name=name):
            return name
        case Every(items=items, elements=elements, condition=condition):
            names = ", ".join(element.name for element in elements)
            return f"{'each' if len(elements) == 1 else 'successive'}({show(items)}, {names}: {show(condition)})"
        case Field(target=target, name=name):
            return f"{show(target)}.{name}"
        case Apply(arguments=(one, two), name=name) if not name.isidentifier():
            return f"({show(one)} {name} {show(two)})"
        case Apply(function=function, arguments=arguments, name=name):
            text, called = shown(function), name
            if name == "<lambda>" and text != name:
                called = f"({text})"
            elif not hasattr(function, "__qualname__"):  # an object that is called says what it is
                called = f"{name}[{text}]"
            return f"{called}({', '.join(map(show, arguments))})"
        case Tuple(items=items):
            return f"({', '.join(map(show, items))},)"
        case Fields(names=names, items=items):
            return "{" + ", ".join(f"{n!r}: {show(i)}" for n, i in zip(names, items, strict=True)) + "}"
    return repr(expression)
