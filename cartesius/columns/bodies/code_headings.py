"""Headings: the pattern that generated code came from, as a comment above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.data.generated import commented
from cartesius.expressions.expressions import Expression, show

if TYPE_CHECKING:
    from cartesius.correlations.join_shape import Join


def heading(join: Join, functions: str) -> str:
    """Return the pattern of a correlation as a comment.

    Args:
        join: The correlation.
        functions: The functions that its kernel runs, in their order.
    """
    pattern = join.pattern
    slots = ", ".join(f"{slot.name}={slot.reactive.name}" for slot in join.slots)
    restrictions = " | ".join(repr(one.restriction) for one in join.installed)
    lines = [f"{join.name}: {slots}", f"restrict {restrictions}" if restrictions else "unrestricted"]
    lines += [f"where {show(condition)}" for condition in pattern.conditions()]
    if not pattern.is_where_traced and not pattern.has_traced_where:
        lines.append("the body is asked candidate by candidate")
    elif isinstance(pattern.yields, Expression):
        lines.append(f"yields {show(pattern.yields)}")
    lines.append(f"kernel {functions}")
    return "".join(f"# {commented(line)}\n" for line in lines)
