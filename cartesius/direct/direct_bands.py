"""Direct bands: what `within` and its kin do to an event, as text: which parts are near, and when entries leave.

All that they say of times are bounds on differences: the end of one part is at most so long after the start, or the
end, of another. So of each slot only those are visited that are near what is bound already; where the newest come
first, a search ends as soon as all that is older is too old, as far as times ascend (`leaving.Ascent`).

Invariant: what is left out on the way would not have been admitted, and counts as a candidate all the same.

Source: DESIGN 4; SEMANTICS 1.17, 3.8 and 3.10.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from cartesius.batching.partial_batches import news
from cartesius.data.generated import Constants, Lines, define
from cartesius.direct.direct_loops import DirectLoops
from cartesius.direct.direct_places import joined, listed, names_of, table_name
from cartesius.direct.direct_sequences import FEW, DirectSequence, order_of
from cartesius.direct.leaving import Ascent, Due, found_by, given
from cartesius.plan import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Candidate, Entry
    from cartesius.data.events import Event
    from cartesius.direct.direct_places import DirectPlaces
    from cartesius.direct.direct_shapes import Shape
    from cartesius.direct.leaving import Left
    from cartesius.expressions.expression_texts import Texts
    from cartesius.language.families import Slot
    from cartesius.plan.facts import Bound
    from cartesius.rows.partial_rows import PartialRows


class DirectBands(DirectLoops):
    """Writes the loops of one slot where bands, and sequences, limit them, and when its events leave."""

    def __init__(self, shape: Shape, lines: Lines, constants: Constants, texts: Texts) -> None:
        super().__init__(shape, lines, constants, texts)
        self._own = shape.slot.index
        self._order = order_of(shape)
        self._said = {one: facts.bounds_on_times(one, len(shape.join.slots)) for one in shape.bands}
        every = [bound for said in self._said.values() for bound in said]
        self._bounds = [bound for bound in every if bound.from_start or bound.of != bound.since]

    @property
    def bound(self) -> dict[str, Any]:
        """What the names mean that it writes."""
        ascents = {f"ascent{slot.index}": Ascent(slot) for slot in self._shape.join.slots}
        return {**ascents, "number_of_first": lambda row: row[0].number}

    def leaving(self, places: Mapping[int, DirectPlaces]) -> dict[Installed, Due]:
        """Return what the deadlines do, given where entries are in each slot."""
        join, rows = self._shape.join, self._shape.partial
        unmatched = (
            None if rows is None else Unmatched(join, rows, [self._partners(one.index, rows) for one in join.slots])
        )
        return {one: Due(found_by(one, places), unmatched) for one in self._shape.bands}

    def _partners(self, slot: int, rows: PartialRows) -> Callable[[Entry], Collection[Entry]]:
        """Return what finds the partners of an entry of a slot: as text, if they are found by keys."""
        lines, constants, join, steps = Lines(), Constants(), self._shape.join, rows.neighbours[slot]
        near = " and ".join(
            f"part{one.of}.end - part{one.since}.{one.side} <= {constants.name(one.most)}" for one in self._bounds
        )
        n_keys, sources = len(join.bindings.spaces), [source for step in steps for source in step.sources]
        are_keys = bool(sources) and all(position < n_keys for _, position, _ in sources)
        if len(steps) != 1 or not are_keys or rows.alone or rows.pairs:
            with lines.under("def are_near(row):"):
                lines.add(f"part0, part1 = row\nreturn {near}")
            return partial(rows.admitting(define("are_near", lines.text, constants.bound)).partners, slot)
        (step,) = steps
        keys = [f"part{slot}.keys[{position}]" for _, position, _ in sources]
        with lines.under(f"def partners(part{slot}):"):
            for key, (_, _, skips_null) in zip(keys, sources, strict=True):
                lines.add(f"if {key} is None:\n    return ()" if skips_null else "")
            lines.add(listed("found", f"{table_name(step.slot, step.positions)}.get({joined(keys)})"))
            lines.add(f"memory{step.slot}.visited += len(found)")
            lines.add(f"return [part{step.slot} for part{step.slot} in found if {near}]")
        return define("partners", lines.text, names_of(join.slots) | constants.bound)

    # -- leaving -------------------------------------------------------------------------------------------------------

    def due(self) -> dict[int, str]:
        """Write what computes when the event is due to leave; return its name, by the probe that computes it."""
        names: dict[int, str] = {}
        for one in self._shape.bands:
            if self._shape.slot not in one.named:
                continue
            bound = next(bound for bound in self._said[one] if bound.since == self._own)
            probe = one.dues[self._shape.slot][-1]
            names[probe] = f"due{probe}"
            self._lines.add(f"{names[probe]} = int({bound.side} + {self._constants.name(bound.most)})")
        return names

    def asking(self) -> list[tuple[Installed, str]]:
        """Return what asks for a time when the event may leave, and the name of that."""
        slot, bands = self._shape.slot, self._shape.bands
        return [(one, f"due{one.dues[slot][-1]}") for one in bands if slot in one.named and one.is_settled]

    # -- what is near --------------------------------------------------------------------------------------------------

    def search(self) -> None:
        """Write what finds all combinations, and what is done with each."""
        if self._shape.sequence is not None:
            self._follow()
        elif self._is_searched:
            self._search()
        else:
            near = [self._near(bound) for bound in self._bounds]
            slots = [slot.index for slot in self._shape.join.slots]
            near += [text for place, slot in enumerate(slots) for text in self._in_order(slot, slots[:place])]
            self.write(" and ".join(near))

    @property
    def _is_searched(self) -> bool:
        """Whether how many candidates there are is known before they are made: no uses, all found from the event."""
        return (
            bool(self._shape.bands or self._shape.orders)
            and not (self._shape.partial and self._shape.join.pattern.conditions)  # they are asked first
            and not (self._shape.uses or self._shape.takes_first)
            and all(self.is_own(bound, position) for step in self._shape.steps for bound, position, _ in step.sources)
        )

    def _search(self) -> None:
        steps = self._shape.steps
        for step in steps:
            self.look_up(step)
        mine = [self._near(bound) for bound in self._bounds if bound.slots == {self._own}]
        if self._shape.orders or self._shape.partial:
            some = [either(self.sources(step.slot), "or") for step in steps]
        else:
            counts = [either([f"len({one})" for one in self.sources(step.slot)], "+") for step in steps]
            self._lines.add(f"tuples = {' * '.join(counts) or '1'}")
            some = ["tuples"]
        with self._lines.under(f"if {' and '.join([*some, *mine]) or 'True'}:"), ExitStack() as loops:
            limits = {step.slot: self._limits(step.slot) for step in steps}
            bound = {self._own}
            for step in steps:
                self._visit(step.slot, limits[step.slot], bound, loops)
                bound.add(step.slot)
            self._lines.add("tuples += 1" if self._shape.orders else "")
            self.give()

    def _follow(self) -> None:
        """Write the search for what is next to each other, and what is done with it."""
        for step in self._shape.steps:
            self.look_up(step)
        sequence = DirectSequence(self._shape, self._lines, self._constants)
        near = [(bound.slots, self._near(bound)) for bound in self._bounds]
        if sequence.has_conditions:
            sequence.write_chains(near, self._limits(0) if self._own else [])
        else:
            sequence.write(near)
        with self._lines.under(sequence.head):
            self.give()

    def _in_order(self, slot: int, known: Collection[int]) -> list[str]:
        return [text for order in self._shape.orders for text in self._order.in_order(order, slot, known)]

    def _limits(self, slot: int) -> list[str]:
        """Write what the new event says of the times in a slot; return what leaves out what is not near."""
        skips = []
        is_stored = f" and part{slot} is not come{slot}" if slot in self.later else ""  # of others times ascend
        for number, bound in enumerate(self._bounds):
            most = self._constants.name(bound.most)
            name = f"limit{slot}_{number}"
            if (bound.of, bound.since) == (slot, self._own):
                self._lines.add(f"{name} = {bound.side} + {most}")
                skips.append(f"if part{slot}.end > {name}:\n    continue")
            elif (bound.of, bound.since) == (self._own, slot):
                self._lines.add(f"{name} = end - {most}")
                if self._shape.join.batch.rank.is_oldest_first:
                    skips.append(f"if part{slot}.{bound.side} < {name}:\n    continue")
                    continue
                self._lines.add(f"""
                    last{slot}_{number} = NEVER
                    if len(found{slot}) > {FEW}:
                        ascent{slot}.look()
                        last{slot}_{number} = {name} - ascent{slot}.{bound.side}
                """)
                skips.append(f"""
                    if part{slot}.{bound.side} < {name}:
                        if part{slot}.{bound.side} < last{slot}_{number}{is_stored}:
                            break
                        continue
                """)
        is_behind = any(slot in order[order.index(self._own) :] for order in self._shape.orders if self._own in order)
        if is_behind and not self._shape.join.batch.rank.is_oldest_first:
            self._lines.add(f"""
                first{slot} = NEVER
                if len(found{slot}) > {FEW}:
                    ascent{slot}.look()
                    first{slot} = end - ascent{slot}.start
            """)
            skips.append(f"if part{slot}.start < first{slot}{is_stored}:\n    break")
        return skips

    def _visit(self, slot: int, limits: list[str], known: set[int], loops: ExitStack) -> None:
        loops.enter_context(self._lines.under(f"for part{slot} in {self.every(slot)}:"))
        self._lines.add(f"visited{slot} += 1")
        for skip in limits:
            self._lines.add(skip)
        others = known - {self._own}
        now = [b for b in self._bounds if slot in b.slots and self._own not in b.slots and b.slots <= {slot, *others}]
        for bound in now:
            self._lines.add(f"if not {self._near(bound)}:\n    continue")
        for text in self._in_order(slot, known):
            self._lines.add(f"if not {text}:\n    continue")

    def _near(self, bound: Bound) -> str:
        """Return the text of a bound."""
        late = "end" if bound.of == self._own else f"part{bound.of}.end"
        early = bound.side if bound.since == self._own else f"part{bound.since}.{bound.side}"
        return f"{late} - {early} <= {self._constants.name(bound.most)}"


class Unmatched:
    """The rows without a partner, which come as their events leave."""

    def __init__(self, join: Join, rows: PartialRows, partners: Sequence[Callable[[Entry], Collection[Entry]]]) -> None:
        self.join = join
        self._optional = rows.optional
        self._partners = partners  # of an entry of each slot
        self._noted: list[tuple[Entry, dict[str, Any] | None]] = []
        self._n_given = 0

    def decide(self, time: int, key: tuple[Any, ...], leaving: Sequence[Left], out: list[Event]) -> None:
        """Let out the rows of what leaves, and let their partners know that they have met it."""
        optional, partners, batch = self._optional, self._partners, self.join.batch
        alone: list[Candidate] = []
        for entry, (slot, _, _) in leaving:
            other = 1 - slot.index
            if optional[other] and other not in entry.noted("met", ()) and not partners[slot.index](entry):
                alone.append([entry if one is slot else None for one in self.join.slots])
        if alone:
            self._n_given += len(alone)
            for parts in sorted(alone, key=batch.rank):
                (part,) = [part for part in parts if part is not None]
                out += given(self.join, parts, part, batch.body.yields(parts))
        for entry, (slot, _, _) in leaving:
            for partner, met in news(slot.index, partners[slot.index](entry)) if optional[slot.index] else ():
                self._noted.append((partner, partner.more))
                partner.note(met=met)

    def done(self, time: int, key: tuple[Any, ...], leaving: Sequence[Left]) -> bool:
        """Count the rows that have come."""
        self.join.world.candidates += self._n_given
        self._n_given = 0
        self._noted.clear()
        return False

    def undo(self) -> None:
        """Let the partners not have met it."""
        for entry, more in reversed(self._noted):
            entry.more = more
        self._n_given = 0
        self._noted.clear()


def either(texts: Sequence[str], operator: str) -> str:
    """Return one text, or several with an operator between them as one operand."""
    return texts[0] if len(texts) == 1 else f"({f' {operator} '.join(texts)})"


def dues_of(shape: Shape, slot: Slot) -> frozenset[int]:
    """Return the probes that say when the entries of a slot are due to leave."""
    return frozenset(one.dues[slot][-1] for one in shape.bands if slot in one.named)
