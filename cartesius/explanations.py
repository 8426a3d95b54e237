"""Explaining a program before it runs: handlers, memory bounds, indexes, and what runs as written and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.expressions import Expression, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius.families import Slot
    from cartesius.join_shape import Join
    from cartesius.reactives import Reactive


def explain(joins: Iterable[Join], names: Mapping[Reactive, str]) -> str:
    """Return a text with one paragraph a correlation, in the order in which they run."""
    return "\n\n".join("\n".join(_paragraph(join, names)) for join in joins)


def _paragraph(join: Join, names: Mapping[Reactive, str]) -> list[str]:
    lines = [f"{join.name}{' (table)' if join.is_table else ''}"]
    lines.append(f"  restrictions  {' | '.join(map(repr, join.pattern.restrictions)) or 'none: the whole product'}")
    for slot in join.slots:
        bound, by = memory_bound(join, slot)
        lines.append(f"  slot {slot.name:<9} {names[slot.reactive]}: memory {bound}, {by}")
    for (left_slot, left), (right_slot, right) in join.pattern.equalities:
        lines.append(f"  index         {left_slot} and {right_slot} by {show(left)} == {show(right)}")
    lines += [f"  as written    {reason}" for reason in join.pattern.untraced]
    if isinstance(join.pattern.yields, Expression):
        lines.append(f"  yields        {show(join.pattern.yields)}")
    lines.append("  tier          reference: every clause runs as written, on coroutines")
    return lines


def memory_bound(join: Join, slot: Slot) -> tuple[str, str]:
    """Return the bound on a slot's memory and what gives it."""
    keyed = any(slot.index in space for space in join.bindings.spaces)
    for installed in join.installed:
        bound = installed.restriction.bound()
        concerned = [s for slots in installed.slots.values() for s in slots]
        if bound is not None and slot in concerned:
            bound = bound if not installed.prefixes[slot.index] else bound.replace("O(1)", "O(keys)")
            return bound, f"by {installed.restriction!r}" + (" per key" if installed.prefixes[slot.index] else "")
    if slot.reactive.table:
        return "O(keys)", "one row a key of the table"
    return "unbounded", "no restriction bounds it" + (" (key_by alone does not)" if keyed else "")
