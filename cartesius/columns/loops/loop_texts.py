"""What generated loops are written of: for what, the lines, and how memories change.

Source: SEMANTICS 1.2, 1.5 and 1.6.
"""

from __future__ import annotations

import attrs


@attrs.frozen
class Plan:
    """What a loop is written for.

    Args:
        newest: Of each slot: how many of the newest stay; None: all.
        oldest: How many of the oldest stay; None: all.
        uses: How often each may be used; None: without limit.
        leaves: Whether each leaves with its batch.
        kinds: The slots that come together in one step, kind by kind: one, or those of a gate.
        is_keyed: Whether parts meet under equal keys alone, and memories are kept by key.
        is_guarded: Whether parts meet under equal guards alone, and memories are not kept by those.
        is_oldest_first: Whether memories are visited so.
        condition: The condition of a candidate, as text; empty: there is none.
    """

    newest: tuple[int | None, ...]
    oldest: tuple[int | None, ...]
    uses: tuple[int | None, ...]
    leaves: tuple[bool, ...]
    kinds: tuple[tuple[int, ...], ...]
    is_keyed: bool
    is_guarded: bool
    is_oldest_first: bool
    condition: str

    @property
    def slots(self) -> range:
        """The slots."""
        return range(len(self.uses))

    @property
    def has_gates(self) -> bool:
        """Whether some slots come together."""
        return any(len(kind) > 1 for kind in self.kinds)

    def keeps_one(self, slot: int) -> bool:
        """Whether what is kept of a slot is one row number, or -1."""
        return 1 in (self.newest[slot], self.oldest[slot]) and not self.has_gates

    def is_simple(self, slot: int) -> bool:
        """Whether what comes to ``slot`` has one candidate at most: of what is visited first."""
        if self.condition or self.is_guarded or self.has_gates:
            return False
        return self.uses[slot] == 1 or all(self.keeps_one(other) for other in self.slots if other != slot)


class Text:
    """Lines of code, indented."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def add(self, line: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.depth + line)

    def open(self, line: str) -> None:
        """Add a line that begins a block."""
        self.add(line)
        self.depth += 1

    def close(self, blocks: int = 1) -> None:
        """End blocks."""
        self.depth -= blocks

    def __str__(self) -> str:
        """The text."""
        return "\n".join(self.lines) + "\n"


def kept(plan: Plan, slot: int) -> str:
    """Return the text for what is kept of a slot, under the present key."""
    return f"m{slot}[k]" if plan.is_keyed else f"m{slot}"


def look(plan: Plan, text: Text, slot: int) -> None:
    """Let ``h`` be the one row that a slot keeps, or ``q`` the list."""
    name = "h" if plan.keeps_one(slot) else "q"
    if plan.is_keyed and not plan.keeps_one(slot):
        text.add(f"q{slot} = m{slot}.get(k, ())")
    else:
        text.add(f"{name}{slot} = {kept(plan, slot)}")


def drop_newer(plan: Plan, text: Text, slot: int) -> None:
    """Leave out what comes to a slot that keeps its oldest, and has them."""
    if plan.oldest[slot] is None:
        return
    if plan.keeps_one(slot):
        text.open(f"if {kept(plan, slot)} >= 0:")
    else:
        found = f"m{slot}.get(k, ())" if plan.is_keyed else f"m{slot}"
        text.open(f"if len({found}) >= {plan.oldest[slot]}:")
    text.add("continue")
    text.close()


def store(plan: Plan, text: Text, slot: int, *, spent: str = "") -> None:
    """Store ``r``, unless it is ``spent``; what it displaces goes either way."""
    if plan.leaves[slot]:
        text.add("pass  # it leaves")
        return
    newest = plan.newest[slot]
    if plan.keeps_one(slot):
        if newest == 1 and spent:
            text.add(f"{kept(plan, slot)} = -1 if {spent} else r")
            return
        if spent:
            text.open(f"if not ({spent}):")
        text.add(f"{kept(plan, slot)} = r")
        if spent:
            text.close()
        return
    if spent and newest is None:
        text.open(f"if not ({spent}):")
    mine = f"m{slot}"
    if plan.is_keyed:
        mine = f"q{slot}"
        text.add(f"{mine} = m{slot}.setdefault(k, [])")
    text.add(f"{mine}.append(r)")
    if newest is not None:
        text.open(f"if len({mine}) > {newest}:")
        text.add(f"del {mine}[0]")
        text.close()
        if spent:
            text.open(f"if {spent}:")
            text.add(f"{mine}.pop()")
            text.close()
    if spent and newest is None:
        text.close()


def spend(plan: Plan, text: Text, slot: int, row: str) -> None:
    """Count a use of a row, if they are limited."""
    if plan.uses[slot] is not None:
        text.add(f"u{slot}[{row}] -= 1")
