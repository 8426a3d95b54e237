"""Direct loops: the enumeration from one new entry, and the body, as text.

Nested loops over the other slots, in slot order; where an index finds one entry at most there is no loop.

Invariant: the combinations are those of `enumeration.Product`, in its order.

Source: DESIGN 4; SEMANTICS 1.3 to 1.5.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from cartesius.direct.direct_places import hashed, joined, listed, table_name
from cartesius.direct.direct_texts import event_text, widen
from cartesius.expressions.expressions import Expression, Field, Part

if TYPE_CHECKING:
    from cartesius.data.generated import Constants, Lines
    from cartesius.direct.direct_shapes import Shape
    from cartesius.expressions.expression_texts import Texts
    from cartesius.rows.enumeration import Step


class DirectLoops:
    """Writes the loops of one slot."""

    def __init__(self, shape: Shape, lines: Lines, constants: Constants, texts: Texts) -> None:
        self._shape = shape
        self._lines = lines
        self._constants = constants
        self._texts = texts
        self.weight = 1  # -1 while what is written takes results back
        self.is_ranked = bool(shape.siblings)  # whether what it finds is put into order later

    def write(self, near: str = "") -> None:
        """Write the nested loops over the other slots, and what is done with a combination whose parts are near."""
        with ExitStack() as stack:
            for step in self._shape.steps:
                index = step.slot
                if self._shape.is_single(step) and (keys := self.look_up_keys(step)) is not None:
                    key, condition = keys
                    stack.enter_context(self._lines.under(condition))
                    self._lines.add(f"part{index} = {table_name(index, step.positions)}.get({key})")
                    stack.enter_context(self._lines.under(f"if part{index} is not None:"))
                    self._lines.add(f"visited{index} += 1")
                    continue
                self.look_up(step)
                self._lines.add(f"visited{index} += len(found{index})")
                stack.enter_context(self._lines.under(f"for part{index} in {self.every(index)}:"))
                if index in self._shape.siblings:
                    self._lines.add(f"if part{index} is gone{index}:\n    continue")
            self.combine(near)

    @property
    def later(self) -> list[int]:
        """The slots behind its own that the event comes to as well: they have it already, those before do not yet."""
        return [slot for slot in self._shape.siblings if slot > self._shape.slot.index]

    def sources(self, slot: int) -> list[str]:
        """Return the names of what has been looked up of a slot."""
        return [f"found{slot}", f"also{slot}"] if slot in self.later else [f"found{slot}"]

    def every(self, slot: int) -> str:
        """Return the text of what has been looked up of a slot, in the order of the product."""
        found, *also = self.sources(slot)
        if self._shape.join.batch.rank.is_oldest_first:
            return f"chain({found}, {also[0]})" if also else found
        return f"chain({also[0]}, reversed({found}))" if also else f"reversed({found})"

    def look_up(self, step: Step) -> None:
        """Write what looks up the entries of a slot, the oldest first, and the event itself, if that is one by now."""
        slot, keys = step.slot, self.look_up_keys(step)
        is_later = slot in self.later
        if keys is None:
            self._lines.add(f"found{slot} = entries{slot}.values()")
            self._lines.add(f"also{slot} = (come{slot},)" if is_later else "")
            return
        key, condition = keys
        with self._lines.under(condition):
            self._lines.add(listed(f"found{slot}", f"{table_name(slot, step.positions)}.get({key})"))
            own = joined([f"at{slot}_{position}" for position in step.positions])
            self._lines.add(f"also{slot} = (come{slot},) if {key} == {own} else ()" if is_later else "")
        if condition:
            self._lines.add(f"else:\n    {' = '.join(self.sources(slot))} = ()")

    def is_own(self, bound: int, position: int) -> bool:
        """Whether a value that a step looks up by is one of the new event: keys of one space are equal."""
        spaces = self._shape.join.bindings.spaces
        own = self._shape.slot.index
        return bound == own or (position < len(spaces) and own in spaces[position])

    def look_up_keys(self, step: Step) -> tuple[str, str] | None:
        """Write what computes the key by which a step looks up; return its text, and when there is one."""
        if not step.positions:
            return None
        names, conditions = [], []
        for place, (bound, position, skips_null) in enumerate(step.sources):
            name = f"by{step.slot}_{place}"
            is_key = position < len(self._shape.join.bindings.spaces)
            if is_key and self.is_own(bound, position):
                name = f"key{position}"
            elif bound == self._shape.slot.index:
                name = f"link{position}"
                conditions.append(f"{name} is not NOWHERE")
            elif is_key:
                self._lines.add(f"{name} = part{bound}.keys[{position}]")
            else:
                probe = self._constants.name(self._shape.join.slots[bound].memory.probes[position])
                self._lines.add(f"{name} = {probe}(part{bound})")
                self._lines.add(hashed(name))
                conditions.append(f"{name} is not NOWHERE")
            if skips_null:
                conditions.append(f"{name} is not None")
            names.append(name)
        return joined(names), f"if {' and '.join(conditions)}:" if conditions else ""

    def combine(self, near: str = "") -> None:
        """Write what is done with one combination: it is a candidate, and reaches the body if its parts are near."""
        uses = sorted(self._shape.uses)
        limits = " and ".join(f"left{i}.get(part{i}, part{i}.more['uses']) > 0" for i in uses)
        with self._lines.under(f"if {limits}:" if limits else ""):
            is_ordered = bool(self._shape.orders)  # of a sequence only what is complete is a candidate
            is_late = is_ordered or self._shape.partial
            self._lines.add("" if is_late else "tuples += 1")
            if self._shape.partial:
                self.give(near)
                return
            with self._lines.under(f"if {near}:" if near else ""):
                self._lines.add("tuples += 1" if is_ordered else "")
                self.give()

    def give(self, near: str = "") -> None:
        """Write what the body makes of a combination, if it is also ``near``."""
        parts = self._parts()
        row = f"[{', '.join(parts)}]"
        pattern, body = self._shape.join.pattern, self._shape.join.batch.body
        yields = pattern.yields
        condition = ""
        if pattern.has_traced_where and not self._shape.is_alone:
            condition = f"if {self._texts.of_all(pattern.conditions, self._known())}:"
        elif body.where is not None:
            condition = f"if {self._constants.name(body.where)}({row}):"
        with ExitStack() as stack:
            stack.enter_context(self._lines.under(condition))
            stack.enter_context(self._lines.under(f"if {near}:" if near else ""))
            self._lines.add("tuples += 1" if self._shape.partial else "")
            if not pattern.is_generator:
                known = None if self._shape.is_alone else yields  # of missing parts the text knows nothing
                text = self._texts.of(known) if isinstance(known, Expression) else ""
                self._lines.add(f"result = {text or f'{self._constants.name(body.yields)}({row})[0]'}")
                self._emit("0")
            else:
                self._lines.add(f"results = {self._constants.name(body.yields)}({row})")
                stack.enter_context(self._lines.under("if results:"))
                self._emit("place", "for place, result in enumerate(results):")
            for i in sorted(self._shape.uses):
                self._lines.add(f"left{i}[part{i}] = left{i}.get(part{i}, part{i}.more['uses']) - 1")
            self._lines.add("raise Taken" if self._shape.takes_first else "")

    def _known(self) -> dict[int, str]:
        """Return when a condition holds, as an index has found a part by it: of what nobody can have changed."""
        join, own = self._shape.join, self._shape.slot.index
        looked_up = {
            ((step.slot, position), source[:2])
            for step in self._shape.steps
            for position, source in zip(step.positions, step.sources, strict=True)
        }
        known = {}
        links = [link for link in join.bindings.links if not link.is_key]
        for place, (link, sides) in enumerate(zip(links, join.pattern.equalities, strict=False)):  # then those of lists
            left, right = (link.left, link.left_position), (link.right, link.right_position)
            mine, other = (left, right) if link.left == own else (right, left)
            are_fields = all(isinstance(side, Field) and isinstance(side.target, Part) for _, side in sides)
            if are_fields and mine[0] == own and (other, mine) in looked_up:
                known[place] = f"is_plain{mine[1]} and type(part{other[0]}.value) is Record"
        return known

    def _parts(self) -> list[str]:
        """Return the names of the parts of a combination."""
        there = {self._shape.slot.index, *self._shape.partners}
        return [f"part{slot.index}" if slot.index in there else "None" for slot in self._shape.join.slots]

    def _emit(self, place: str, loop: str = "") -> None:
        """Write what makes an event of each result, at the hull of the parts."""
        self._lines.add("since, until = start, end")
        widen(self._lines, [f"part{other}" for other in self._shape.partners])
        identities = "".join("None, " if part == "None" else f"{part}._identity, " for part in self._parts())
        steps = ""
        if self._shape.join.batch.tells_steps:
            own = f"part{self._shape.slot.index}"
            numbers = [
                part if part == "None" else "number" if part == own else f"{part}.number" for part in self._parts()
            ]
            steps = f"step, ({', '.join(numbers)}, ), "
        with self._lines.under(loop):
            identity = f"(correlation, ({identities}), {steps}{place})"
            self._lines.add(event_text("result", ("since", "until"), identity, weight=self.weight))
            if self.is_ranked:
                sign = "" if self._shape.join.batch.rank.is_oldest_first else "-"
                own = "" if self._shape.siblings else f"part{self._shape.slot.index}"
                numbers = ["number" if part == own else f"{part}.number" for part in self._parts()]
                self._lines.add(f"ranks.append(({', '.join(sign + number for number in numbers)}, ))")
