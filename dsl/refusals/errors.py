"""What the rule language refuses, and how it says so: the rule's own line with a caret, what is wrong, and the fix.

Every error here is raised at the line that wrote the rule, not at the first event. `refusal` composes the message in
one form: a summary, the user's line with a caret under the expression concerned, and labelled notes, of which `fix`
is the last. Leaves inherit the builtin that a stranger would catch.

Source: STYLE.md, section 2.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.errors import CartesiusError
from dsl.refusals.excerpts import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable


class InvalidRule(CartesiusError, ValueError):
    """A rule, source or pack is not well formed: its author's fault, raised at the line that wrote it.

    For operands whose dimensions or types do not fit see `DimensionMismatch`.

    >>> from dsl import require
    >>> from dsl.refusals.errors import InvalidRule
    >>> try:
    ...     require(True)
    ... except InvalidRule as error:
    ...     print(str(error).splitlines()[0])
    require: expected to be called inside `with <pack>:` but no rule pack is open
    """


class DimensionMismatch(CartesiusError, TypeError):
    """Operands do not fit each other: a length and a speed, a text and a number. The rule author's fault.

    >>> from dsl import Source
    >>> from dsl.refusals.errors import DimensionMismatch
    >>> from dsl.units import knots, metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
    >>> try:
    ...     vessel.draught >= 15 * knots
    ... except DimensionMismatch as error:
    ...     print(str(error).splitlines()[0])
    vessel.draught >= 15 kn: expected two operands of one dimension but got a length and a speed
    """


class NoTruthValue(InvalidRule, TypeError):
    """A rule was used where Python wants a truth value, a number or a collection now; it has one when events come.

    `and`, `or`, `not`, chained comparisons, `in`, `if` and loops do that, and functions such as `max` and `float`; the
    message shows the right spelling.

    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
    >>> try:
    ...     vessel.draught > 5 * metres and vessel.draught < 15 * metres
    ... except NoTruthValue as error:
    ...     print(str(error).splitlines()[-1])
      fix: (vessel.draught > 5 * metres) & (vessel.draught < 15 * metres)
    """


class UnknownField(CartesiusError, AttributeError):
    """A source has no such field: a slip in the rule, or a field that its declaration forgot.

    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> try:
    ...     Source("berth", key="id", id=str, depth=metres).deph
    ... except UnknownField as error:
    ...     print(str(error).splitlines()[0])
    berth.deph: expected a field of the source 'berth' (id, depth); did you mean berth.depth?
    """


def refusal(summary: str, notes: Iterable[tuple[str, str]] = (), place: str | None = None) -> str:
    """Compose a message: the summary, the user's line with a caret, and the notes.

    >>> print(refusal("no", [("fix", "yes")], place="  here"))
    no
      here
      fix: yes

    Args:
        summary: One line: what was called, what was expected, what came instead.
        notes: Pairs of a label and a text, the fix last.
        place: The lines that show where; by default those of the user's frame.
    """
    where = excerpt() if place is None else place
    notes = list(notes)
    width = max((len(label) for label, _ in notes), default=0) + 1
    lines = [summary, *([where] if where else []), *(f"  {label + ':':<{width}} {text}" for label, text in notes)]
    return "\n".join(lines)
