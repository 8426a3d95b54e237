"""Lineage: which column an expression comes from, through any number of traced correlations.

It answers two questions of the bridge: what type a result's field has (`schemas`), and whether a key is the column
that the rows are partitioned by (`partitioning`). Where a body does not trace the answer is None, never a guess.
"""

from __future__ import annotations

import dataclasses
import operator
from typing import TYPE_CHECKING, Any, TypeAlias, get_type_hints

import attrs

from cartesius.expressions.expressions import Apply, Constant, Expression, Field, Fields, KeyOf, Part, Tuple
from cartesius.expressions.tracing import parameters_of, trace
from cartesius.expressions.value_functions import as_written
from cartesius.language.families import alone, arrive, optional, totals
from cartesius.language.restriction_base import slot_families
from cartesius.plan import facts

if TYPE_CHECKING:
    from cartesius.language.patterns import Pattern
    from cartesius.language.reactives import Reactive
    from cartesius.language.restriction_base import Restriction


@attrs.frozen
class Column:
    """A column of an input's rows, or a field inside it; the whole row if ``path`` is empty."""

    reactive: Reactive
    path: tuple[str, ...] = ()


@attrs.frozen
class Typed:
    """A value of a declared Python type."""

    hint: Any


@attrs.frozen
class Composed:
    """A tuple or a dict whose items have their own origins."""

    expression: Tuple | Fields
    scope: Scope

    def item(self, name: Any) -> Origin | None:
        """Return the origin of the item at a place, or of a name."""
        items = self.expression.items
        if isinstance(self.expression, Fields):
            names = self.expression.names
            return origin(items[names.index(name)], self.scope) if name in names else None
        inside = isinstance(name, int) and not isinstance(name, bool) and -len(items) <= name < len(items)
        return origin(items[name], self.scope) if inside else None


@attrs.frozen
class Computed:
    """What is computed from other values, or constant."""

    expression: Expression
    scope: Scope


@attrs.frozen
class OneOf:
    """What is the value of one place or another, whichever is there."""

    origins: tuple[Origin | None, ...]


Origin: TypeAlias = "Column | Typed | Composed | Computed | OneOf"


@attrs.frozen
class InPattern:
    """The variables of a correlation's bodies; or, of its equalities, which say something of each event of a list."""

    pattern: Pattern = attrs.field(eq=False)
    of_each: bool = False
    at_door: bool = False  # where keys are computed, values are what came

    def part(self, slot: str) -> Origin | None:
        """Return the origin of a slot's payload; of a list it is not told."""
        is_list = slot in self.pattern.lists and not self.of_each
        is_replaced = not self.at_door and slot in replaced_slots(self.pattern)
        return None if is_list or is_replaced else value_of(self.pattern.slots[slot])

    def key(self, slot: str) -> Origin | None:
        """Return the origin of a slot's key: the table's own, or else the first that a `key_by` gives."""
        if self.pattern.slots[slot].table:
            return key_of(self.pattern.slots[slot])
        spaces = (space for restriction in self.pattern.restrictions if (space := key_space(self.pattern, restriction)))
        return next((space[slot] for space in spaces if slot in space), None)


@attrs.frozen
class OfValue:
    """One variable, whose origin is known."""

    value: Origin | None

    def part(self, slot: str) -> Origin | None:
        """Return it."""
        return self.value

    def key(self, slot: str) -> Origin | None:
        """Return nothing: a value alone has no key."""
        return None


Scope: TypeAlias = InPattern | OfValue
"""What the variables of an expression are."""


def origin(expression: Expression, scope: Scope) -> Origin | None:
    """Return where the value of ``expression`` comes from, or None if that cannot be told."""
    match expression:
        case Part(slot=slot):
            return scope.part(slot)
        case Apply(function=operator.getitem, arguments=(Part(slot=slot), Constant(value=int()))) if (
            isinstance(scope, InPattern) and slot in scope.pattern.lists
        ):
            return InPattern(scope.pattern, of_each=True).part(slot)
        case KeyOf(slot=slot):
            return scope.key(slot)
        case (
            Field(target=target, name=name) | Apply(function=operator.getitem, arguments=(target, Constant(value=name)))
        ):
            return _item(origin(target, scope), name) or Computed(expression, scope)
        case Tuple() | Fields():
            return Composed(expression, scope)
    return Computed(expression, scope)


def _item(target: Origin | None, name: Any) -> Origin | None:
    match target:
        case Column(reactive=reactive, path=path) if isinstance(name, str):
            return Column(reactive, (*path, name))
        case Composed():
            return target.item(name)
        case Typed(hint=hint) if isinstance(name, str):
            hints = hints_of(hint)
            return Typed(hints[name]) if hints and name in hints else None
    return None


def hints_of(hint: Any) -> dict[str, Any] | None:
    """Return the type of each field of an attrs class, a dataclass or a named tuple; None for any other type.

    Raises:
        NameError: An annotation names what is not there at run time.
    """
    if not isinstance(hint, type):
        return None
    if attrs.has(hint):
        names = [field.name for field in attrs.fields(hint)]
    elif dataclasses.is_dataclass(hint):
        names = [field.name for field in dataclasses.fields(hint)]
    elif issubclass(hint, tuple) and hasattr(hint, "_fields"):
        names = list(hint._fields)
    else:
        return None
    hints = get_type_hints(hint)
    return {name: hints.get(name, Any) for name in names}


def value_of(reactive: Reactive) -> Origin | None:
    """Return the origin of a reactive's payload."""
    if reactive.pattern is None:
        return Column(reactive)
    if reactive.type is not None:
        return Typed(reactive.type)
    return None if are_totalled(reactive.pattern) else yielded(reactive.pattern)


def yielded(pattern: Pattern) -> Origin | None:
    """Return the origin of what a body yields."""
    yields = pattern.yields
    return origin(yields, InPattern(pattern)) if isinstance(yields, Expression) else None


def key_of(reactive: Reactive) -> Origin | None:
    """Return the origin of a table's key."""
    if reactive.pattern is None:
        return Column(reactive, (reactive.key,)) if isinstance(reactive.key, str) else None
    key = table_key(reactive.pattern)
    if callable(key):
        return extracted(key, yielded(reactive.pattern) if are_totalled(reactive.pattern) else value_of(reactive))
    names = key if isinstance(key, tuple) else (key,)
    keys = [InPattern(reactive.pattern).key(slot) for name in names for slot in slots_named(reactive.pattern, name)]
    return OneOf(tuple(keys)) if len(keys) > 1 else next(iter(keys), None)


def table_key(pattern: Pattern) -> Any:
    """Return the key of the results as it was given: a slot's name or a function; None if they are no table."""
    return next((facts.table_key(one) for one in pattern.restrictions if facts.makes_table(one)), None)


def key_space(pattern: Pattern, restriction: Restriction) -> dict[str, Origin | None]:
    """Return the origin of each slot's key in the key space that ``restriction`` opens; empty for most."""
    return {
        slot: extracted(extract, InPattern(pattern, of_each=True, at_door=True).part(slot))
        for name, extract in facts.key_space(restriction).items()
        for slot in slots_named(pattern, name)
    }


def extracted(extract: Any, value: Origin | None) -> Origin | None:
    """Return the origin of what a function takes out of a value, if the function traces."""
    if isinstance(extract, operator.attrgetter | operator.itemgetter):
        names = extract.__reduce__()[1]
        if len(names) > 1:
            return None
        found = value
        for name in names[0].split(".") if isinstance(extract, operator.attrgetter) else names:
            found = _item(found, name)
        return found
    written = as_written(extract)
    parameters = parameters_of(written)
    if not parameters:
        return None
    traced = trace(written, [(parameters[0], Part("value"))]).expression
    return None if traced is None else origin(traced, OfValue(value))


def slots_named(pattern: Pattern, name: str | Reactive) -> list[str]:
    """Return the slots that a variable name, a reactive or its name means."""
    found = [slot for slot, reactive in pattern.slots.items() if name in (slot, reactive)]
    return found or [slot for slot, reactive in pattern.slots.items() if reactive.name == name]


def clauses(pattern: Pattern, restriction: Restriction) -> list[tuple[Any, list[str]]]:
    """Return (family, slots) for each clause of ``restriction``."""
    found = []
    for _, family, fields, _ in slot_families(restriction):
        named: list[Any] = []
        for field in fields:
            value = restriction.configuration[field]
            named += value if isinstance(value, tuple) else [value]
        found.append((family, [slot for name in named for slot in slots_named(pattern, name)]))
    return found


def optional_slots(pattern: Pattern) -> set[str]:
    """Return the slots whose part may be missing."""
    return {
        slot
        for restriction in pattern.restrictions
        for family, slots in clauses(pattern, restriction)
        if family is optional
        for slot in slots
    }


def replaced_slots(pattern: Pattern) -> set[str]:
    """Return the slots whose events have other values in memory than they came with."""
    return {
        slot
        for restriction in pattern.restrictions
        if facts.fields_kept(restriction) is not None
        for family, slots in clauses(pattern, restriction)
        if family is arrive
        for slot in (slots or pattern.slots)
    }


def are_totalled(pattern: Pattern) -> bool:
    """Whether what comes out are totals over what the body yields."""
    return any(family is totals for restriction in pattern.restrictions for family, _ in clauses(pattern, restriction))


def are_alone(pattern: Pattern) -> bool:
    """Whether no parts of a pattern meet."""
    return any(family is alone for restriction in pattern.restrictions for family, _ in clauses(pattern, restriction))


def derived(outputs: tuple[Reactive, ...]) -> list[Reactive]:
    """Return the derived reactives of a program, inputs of a correlation before it."""
    found: dict[Reactive, None] = {}

    def visit(reactive: Reactive) -> None:
        if reactive.pattern is None or reactive in found:
            return
        for source in reactive.pattern.slots.values():
            visit(source)
        found[reactive] = None

    for output in outputs:
        visit(output)
    return list(found)
