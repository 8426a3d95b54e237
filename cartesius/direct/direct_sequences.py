"""Direct sequences: which parts follow each other, as text: in any order of lying between, or each next to the other.

Of parts that are next to each other each decides the one after it. So from a new event its successors are found one by
one, and then, going back, those parts that it, or one of them, is next to. What follows a part is looked for from the
newest on; where times ascend (`leaving.Ascent`) a search ends as soon as all that is older comes before the part.

Where conditions say which part is next, by what is bound before it, rows are followed from each first part on. They are
asked at least where the clauses ask them: so a condition that raises is left to those.

Invariant: the combinations are those that `in_sequence` admits, in the order of the product.

Source: DESIGN 4; SEMANTICS 1.17 and 3.11.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from cartesius.direct.direct_places import listed, of_keys
from cartesius.expressions.expression_texts import Texts
from cartesius.expressions.expressions import slots_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from collections.abc import Set as AbstractSet

    from cartesius.data.generated import Constants, Lines
    from cartesius.direct.direct_shapes import Shape

    Near = Sequence[tuple[AbstractSet[int], str]]

FEW: Final = 8
"""Among so many it is not worth while to ask whether times ascend."""


class DirectOrder:
    """Texts about what follows what, for an event of one slot, which is the last of all to come.

    Args:
        own: The slot.
        has_doors: Whether an event may be a part of several slots, with a number in each: it never follows itself.
    """

    def __init__(self, own: int, *, has_doors: bool = False) -> None:
        self._own = f"part{own}"
        self._has_doors = has_doors

    def precedes(self, one: str, other: str) -> str:
        """Return the text that asks whether one part precedes another.

        >>> DirectOrder(0).precedes("part0", "part1")
        'end < part1.start'
        """
        ends = "end" if one == self._own else f"{one}.end"
        starts = "start" if other == self._own else f"{other}.start"
        if one == self._own:
            return f"{ends} < {starts}"
        later = "end == start" if other == self._own else f"{other}.end == {starts} and {one}.number < {other}.number"
        later += self._is_other(one, other)
        return f"({ends} < {starts} or {ends} == {starts} and {one}.start == {ends} and {later})"

    def _is_other(self, one: str, other: str) -> str:
        return f" and {one}._identity != {other}._identity" if self._has_doors else ""

    def is_earlier(self, part: str) -> str:
        """Return the text that asks whether ``other``, which is stored, comes before a part in the order of events."""
        if part == self._own:
            return "other.end <= end"
        is_other = self._is_other("other", part)
        return f"(other.end < {part}.end or other.end == {part}.end and other.number < {part}.number{is_other})"

    def in_order(self, order: Sequence[int], slot: int, known: Collection[int]) -> list[str]:
        """Return what says that the part of a slot is in order with the nearest, on both sides, that are known."""
        if slot not in order:
            return []
        place = list(order).index(slot)
        before = [one for one in order[:place] if one in known][-1:]
        after = [one for one in order[place + 1 :] if one in known][:1]
        part = f"part{slot}"
        return [self.precedes(f"part{one}", part) for one in before] + [
            self.precedes(part, f"part{one}") for one in after
        ]


def order_of(shape: Shape) -> DirectOrder:
    """Return the texts about what follows what for the event of a shape."""
    return DirectOrder(shape.slot.index, has_doors=any(slot.notes_door for slot in shape.join.slots))


class DirectSequence:
    """Writes the search for parts that are next to each other, among what has been ``found`` of each slot."""

    def __init__(self, shape: Shape, lines: Lines, constants: Constants) -> None:
        self._shape = shape
        self._lines = lines
        self._constants = constants
        self._own = shape.slot.index
        self._slots = range(len(shape.join.slots))
        self._order = order_of(shape)
        self._is_strict = shape.sequence is not None and shape.sequence.node.contiguity == "strict"  # type: ignore[attr-defined]  # it is a sequence's

    def write(self, near: Near) -> None:
        """Write what lists the rows whose parts are near: each bound is on some slots."""
        self._look_up_own()
        self._lines.add("rows = []")
        others = [f"found{slot}" for slot in self._slots if slot != self._own]
        with self._lines.under(f"if {' and '.join(others)}:"), ExitStack() as nested:
            for slot in self._slots:
                self._look(slot)
            known = {self._own}
            for slot in self._slots[self._own + 1 :]:
                self._successor(slot)
                known.add(slot)
                bounds = [text for slots, text in near if slot in slots and slots <= known]
                head = " and ".join([f"part{slot} is not None", *bounds])
                nested.enter_context(self._lines.under(f"if {head}:"))
            for slot in reversed(self._slots[: self._own]):
                nested.enter_context(self._lines.under(f"for part{slot} in reversed(found{slot}):"))
                self._lines.add(f"visited{slot} += 1")
                self._predecessor(slot)
                known.add(slot)
                bounds = [text for slots, text in near if slot in slots and slots <= known]
                self._lines.add(f"if not ({' and '.join(bounds)}):\n    continue" if bounds else "")
            mine = " and ".join(text for slots, text in near if slots == {self._own})
            with self._lines.under(f"if {mine}:" if mine else ""):
                self._lines.add(f"rows.append({self._row})")
        if self._own:  # going back, the newest of the second last come first, and not those of the first
            is_reversed = not self._shape.join.batch.rank.is_oldest_first
            self._lines.add(f"if len(rows) > 1:\n    rows.sort(key=number_of_first, reverse={is_reversed})")
        self._lines.add("tuples = len(rows)")

    @property
    def has_conditions(self) -> bool:
        """Whether ``where`` says which part is next."""
        return not self._is_strict and self._shape.join.pattern.where is not None

    def write_chains(self, near: Near, limits: Sequence[str]) -> None:
        """Write what follows each first part that the ``limits`` do not leave out, to a row that has the new event."""
        first, *others = self._slots
        self._look_up_own()
        self._lines.add("rows = []")
        known = [f"found{slot}" for slot in self._slots if slot != self._own]
        with self._lines.under("try:"), self._lines.under(f"if {' and '.join(known)}:"), ExitStack() as nested:
            for slot in others:
                self._look(slot)
            if first != self._own:
                is_oldest_first = self._shape.join.batch.rank.is_oldest_first
                found = f"found{first}" if is_oldest_first else f"reversed(found{first})"
                nested.enter_context(self._lines.under(f"for part{first} in {found}:"))
                self._lines.add(f"visited{first} += 1")
                for skip in limits:
                    self._lines.add(skip)
            for slot in others:
                self._next(slot)
                is_found = "is_next" if slot == self._own else f"part{slot} is not None"
                nested.enter_context(self._lines.under(f"if {is_found}:"))
            bounds = " and ".join(text for _, text in near)
            with self._lines.under(f"if {bounds}:" if bounds else ""):
                self._lines.add(f"rows.append({self._row})")
        self._lines.add("""
            except NameError:  # a mistake of this text
                raise
            except Exception as error:
                raise LeftToClauses("a condition raises, which the clauses may not ask") from error
            tuples = len(rows)
        """)

    def _next(self, slot: int) -> None:
        """Write what finds the first part after that of the slot before that fits; of its own, whether it is that."""
        part, before, is_own = f"part{slot}", f"part{slot - 1}", slot == self._own
        end = "end" if slot - 1 == self._own else f"{before}.end"
        is_first = f"{part} is None or {self._order.is_earlier(part)}"
        if is_own:
            self._lines.add(f"is_next = {self._order.precedes(before, part)}{self._fits(slot, part)}")
            is_first = f"not is_next or {self._order.is_earlier(part)}"
        else:
            self._lines.add(f"{part} = None")
        self._lines.add(f"""
            for other in reversed(found{slot}):
                {"" if is_own else f"visited{slot} += 1"}
                if other.start + rise{slot} < {end}:
                    break
                if {self._order.precedes(before, "other")} and ({is_first}){self._fits(slot, "other")}:
                    {"is_next = False" if is_own else f"{part} = other"}
        """)

    def _fits(self, slot: int, part: str) -> str:
        """Return the text that asks all conditions on a slot, and on those before it, of a part of that slot."""
        pattern, indexes = self._shape.join.pattern, {one.name: one.index for one in self._shape.join.slots}
        if not self.has_conditions:
            return ""
        asked = [one for one in pattern.conditions if max(indexes[name] for name in slots_of(one)) == slot]
        called = {index: part if index == slot else "None" for index in self._slots if index >= slot}
        return f" and {Texts(indexes, self._constants, called).of_all(asked)}" if asked else ""

    @property
    def head(self) -> str:
        """What goes through the rows."""
        return f"for {self._row} in rows:"

    @property
    def _row(self) -> str:
        return f"({', '.join(f'part{slot}' for slot in self._slots)})"

    def _look_up_own(self) -> None:
        own, sequence = self._own, self._shape.sequence
        assert sequence is not None  # Invariant: it is written for a sequence
        prefix = sequence.prefixes[own]
        name = f"found{own}"
        self._lines.add(listed(name, of_keys(own, prefix)) if prefix else f"{name} = entries{own}.values()")

    def _look(self, slot: int) -> None:
        """Write how much later an older part may start, and end, than a newer one."""
        self._lines.add(f"""
            rise{slot} = drop{slot} = EVER
            if len(found{slot}) > {FEW}:
                ascent{slot}.look()
                rise{slot}, drop{slot} = ascent{slot}.start, ascent{slot}.end
        """)

    def _successor(self, slot: int) -> None:
        """Write what finds the part that is next to that of the slot before, or None."""
        self._next(slot)
        part, before = f"part{slot}", f"part{slot - 1}"
        end = "end" if slot - 1 == self._own else f"{before}.end"
        for between in self._slots if self._is_strict else ():
            if between != slot:
                self._lines.add(f"""
                    if {part} is not None:
                        for other in reversed(found{between}):
                            if other.start + rise{between} < {end}:
                                break
                            if {self._order.precedes(before, "other")} and {self._order.is_earlier(part)}:
                                {part} = None
                                break
                """)

    def _predecessor(self, slot: int) -> None:
        """Write what leaves out a part that is not next to that of the slot after."""
        part, after = f"part{slot}", f"part{slot + 1}"
        self._lines.add(f"""
            if not {self._order.precedes(part, after)}:
                continue
            between = None
        """)
        for others in self._slots if self._is_strict else (slot + 1,):
            self._lines.add(f"""
                for other in reversed(found{others}):
                    if other.start + rise{others} < {part}.end:
                        break
                    if {self._order.precedes(part, "other")} and {self._order.is_earlier(after)}:
                        between = other
                        break
            """)
        self._lines.add(f"""
            if between is not None:
                if between.start - {part}.end > drop{slot}:
                    break  # it lies behind all that is older as well
                continue
        """)
