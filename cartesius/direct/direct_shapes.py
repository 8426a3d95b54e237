"""Direct shapes: which pushes a function of their own can do, and what the restrictions mean for each.

This module is over 300 lines because what goes with what is one decision, and each refusal says why.

Invariant: a shape says of a slot all that its restrictions do to it.

Source: DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from cartesius.direct.direct_texts import filters_of
from cartesius.expressions.expressions import slots_of
from cartesius.plan.nodes import (
    BANDS,
    OF_PRODUCTS,
    Choose,
    InSequence,
    InTime,
    Let,
    Lockstep,
    May,
    Newest,
    Node,
    Now,
    Oldest,
    Regular,
    Separate,
    Sessions,
    TakeBack,
    Transduce,
    Until,
    Uses,
)
from cartesius.results.outputs import Events
from cartesius.rows.enumeration import Product
from cartesius.rows.lone_events import Alone
from cartesius.rows.partial_rows import MAX_SLOTS, PartialRows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius.batching.partial_batches import PartialBatch
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.direct.direct_texts import Filters
    from cartesius.language.families import Slot
    from cartesius.language.patterns import Pattern
    from cartesius.programs.programs import Program
    from cartesius.rows.enumeration import Step

Rule = tuple[type[Node], int, tuple[int, ...]]
"""Which entries stay: the newest or the oldest, how many, under which keys."""


@attrs.frozen(eq=False)
class Shape:
    """What a push into one slot of a correlation does."""

    join: Join
    slot: Slot
    steps: tuple[Step, ...]  # how the entries of the other slots are found
    rules: dict[int, Rule]  # by slot
    uses: dict[int, int]  # by slot that limits them
    momentary: frozenset[int]
    filters: Filters
    gate: Installed | None  # what aligns all slots
    bands: tuple[Installed, ...]  # in the order in which they see an event
    orders: tuple[tuple[int, ...], ...]  # slots whose parts follow each other, whatever lies between
    sequence: Installed | None  # whose parts are next to each other
    partial: PartialRows | None = None  # of which parts may be missing, known once their partners would have left
    windows: Installed | None = None  # what opens those in which events meet
    is_alone: bool = False  # whether each event is a candidate of its own, and all other parts are missing
    takes_first: bool = False  # whether the first combination is all that an event gives
    siblings: tuple[int, ...] = ()  # the other slots that the event comes to as well
    takes_back: bool = False  # whether the results of what leaves as another takes its place are taken back

    @property
    def rule(self) -> Rule | None:
        """Which entries of its own slot stay."""
        return self.rules.get(self.slot.index)

    @property
    def partners(self) -> list[int]:
        """The slots of which a candidate has a part beside the new event."""
        return [] if self.is_alone else [slot.index for slot in self.join.slots if slot is not self.slot]

    @property
    def stores(self) -> bool:
        """Whether an entry outlives its step."""
        return self.slot.index not in self.momentary

    @property
    def transduces(self) -> bool:
        """Whether a gate goes by what has come before."""
        return any(isinstance(one.node, Transduce) for _, one in self.filters)

    @property
    def probed(self) -> set[int]:
        """The values of the new event by which others are found, beside its keys."""
        own, spaces = self.slot.index, len(self.join.bindings.spaces)
        sources = [source for step in self.steps for source in step.sources]
        return {position for bound, position, _ in sources if bound == own and position >= spaces}

    @property
    def is_simply_indexed(self) -> bool:
        """Whether an entry takes the place of the one before, of the same key or at all, and there is no more to it."""
        slots = self.join.slots if self.gate is not None else [self.slot]
        return all(self._is_simple(slot) for slot in slots)

    def _is_simple(self, slot: Slot) -> bool:
        if self.takes_back:
            return False
        rule = self.rules.get(slot.index)
        _, indexes = slot.memory.parts()
        if rule is None or rule[:2] != (Newest, 1) or slot.index in self.uses or slot.memory.finds:
            return False
        return set(indexes) == ({rule[2]} if rule[2] else set())

    def is_single(self, step: Step) -> bool:
        """Whether a step finds one entry at most."""
        rule = self.rules.get(step.slot)
        is_limited = rule is not None and rule[1] == 1 and set(rule[2]) <= set(step.positions)
        return is_limited and step.slot not in self.siblings


def shape_of(program: Program, join: Join, slot: Slot, *, is_followed: bool, is_held: bool = False) -> Shape | str:
    """Return what an event of ``slot`` does, or why it needs all of the handlers; or what it does once it is let go."""
    shape = _objection(program, join, is_followed=is_followed, is_held=is_held) or _shape(join, slot, is_held=is_held)
    if is_followed and isinstance(shape, Shape) and shape.takes_back:
        return "something is made of results that are taken back"
    if is_followed and isinstance(shape, Shape) and shape.windows is not None:
        return f"something is made of what meets in the windows of {shape.windows.restriction!r}"
    return shape


def _objection(program: Program, join: Join, *, is_followed: bool, is_held: bool) -> str:
    batch = join.batch
    known = OF_PRODUCTS | BANDS | {InSequence, Regular, Separate, Transduce, Choose, TakeBack}
    if batch.partial is not None:
        known = OF_PRODUCTS | BANDS | {May}
        if reason := _objection_to_missing(join, batch.partial):
            return reason
    if strange := run_as_written(join, known | {InTime, Sessions} if is_held else known):
        return strange
    if not isinstance(batch.output, Events) or type(batch.product) not in (Product, Alone):
        return "its results are not single combinations of events"
    if any(slot.is_table or slot.reactive.table for slot in join.slots):
        return "not all slots are bound to streams"
    return standing(program, join, is_followed=is_followed, may_share=True)


def _objection_to_missing(join: Join, partial: PartialBatch) -> str:
    """Say why a row without a partner is not just what nothing has met until it leaves; "" if it is."""
    if join.batch.is_pure or join.batch.tells_steps:
        return "rows without a partner are taken back, or come again"
    if not isinstance(partial.rows, PartialRows) or len(partial.rows.trees) > 1:
        return "its body is asked which parts are missing, or nothing connects them"
    if len(join.slots) != MAX_SLOTS or any(len(slots_of(one)) < MAX_SLOTS for one in join.pattern.conditions):
        return "parts of other than two slots may be missing, or a condition is on one alone"
    return ""


def run_as_written(join: Join, known: frozenset[type[Node]]) -> str:
    """Say which restriction means something else; "" if none does."""
    strange = (one.restriction for one in join.installed if type(one.node) not in known)
    return next((f"{restriction!r} runs as written" for restriction in strange), "")


def standing(
    program: Program, join: Join, *, is_followed: bool = False, has_absent: bool = False, may_share: bool = False
) -> str:
    """Say why a correlation is not all that there is to a push: "" if nothing is made from it, or shares with it.

    Where it ``is_followed``, others may be made from it, and it need be no output; where it ``has_absent`` slots, who
    asks knows them; where it ``may_share``, who asks knows of slots that share a memory.
    """
    pattern = join.pattern
    if not may_share and any(slot.shared is not None for slot in join.slots):
        return "slots share a memory"
    if pattern.alternative is not None or (pattern.absent.names and not has_absent):
        return "its events concern other correlations, or none"
    if not is_followed and any(other in program.bound for other in join.reactives):
        return "other correlations are made from it"
    names = [program.names[output] for output in program.outputs if output in join.reactives]
    if names not in ([join.name], [] if is_followed else [join.name]):
        return "it is not one output"
    return ""


def sets_aside(join: Join) -> bool:
    """Whether an event may have no key of those that a condition looks it up by: it is set aside then."""
    return any(needed.space is None for of_slot in join.bindings.needed for needed in of_slot)


def _shape(join: Join, slot: Slot, *, is_held: bool) -> Shape | str:
    rules: dict[int, Rule] = {}
    uses: dict[int, int] = {}
    momentary: set[int] = set()
    gate: Installed | None = None
    bands: list[Installed] = []
    orders: list[tuple[int, ...]] = []
    sequences: list[Installed] = []
    windows: Installed | None = None
    takes_first = False
    for one in reversed(join.installed):  # the right-most sees an event first
        restriction, node = one.restriction, one.node
        indexes = [concerned.index for concerned in one.named]
        if isinstance(node, Newest | Oldest):
            if set(indexes) & set(rules):
                return f"{restriction!r} is not alone in saying what stays"
            rules |= {index: (type(node), node.n, one.prefixes[index]) for index in indexes}
        elif isinstance(node, Until):
            bands.append(one)
        elif isinstance(node, InSequence) and node.contiguity == "any" and node.after_match is None:
            orders.append(tuple(indexes))
        elif isinstance(node, InSequence):
            sequences.append(one)
        elif isinstance(node, Regular | Sessions):
            windows = one
        elif isinstance(node, Uses):
            uses |= {index: min(node.n, uses.get(index, node.n)) for index in indexes}
        elif isinstance(node, Now):
            momentary |= set(indexes)
        elif isinstance(node, Choose):
            if not node.first:
                return f"{restriction!r} runs as written"
            takes_first = True
        elif isinstance(node, Let | Transduce) and gate is not None:  # of whatever slot: the row has a part of each
            return f"{restriction!r} sees what {gate.restriction!r} lets through"
        elif isinstance(node, Lockstep):
            if gate is not None or len(indexes) != len(join.slots) or len({*one.prefixes.values()}) > 1:
                return f"{restriction!r} is not alone, or aligns not all slots by the same keys"
            gate = one
    if sets_aside(join):
        return "events without a key are looked for, and set aside"
    product = join.batch.product
    steps, walk = product.plans[slot.index] if isinstance(product, Product) else ((), ())
    if walk:
        return f"other slots are linked with {slot.name} by way of others"
    sequence = next(iter(sequences), None)
    if sequence is not None:
        reason = _of_sequence(join, sequence, steps)
        if reason or rules or uses or momentary or orders or len(sequences) > 1:
            return reason or f"something stands beside {sequence.restriction!r} that says what stays, or follows"
    if (orders or sequences) and any(slot.notes_door for slot in join.slots) and not _are_inputs(join):
        return "results that come in one step have numbers in several slots, which do not say what they follow"
    if gate is not None and join.batch.tells_steps:
        return f"{gate.restriction!r} numbers what it lets go, which tells results that come again"
    if gate is not None and (orders or sequences):
        return f"{gate.restriction!r} aligns what follows each other"
    missing = None if join.batch.partial is None else join.batch.partial.rows
    if missing is not None and (momentary or gate is not None):
        return "parts may be missing, and something says that none stays, or aligns them"
    shape = Shape(
        join, slot, tuple(steps), rules, uses, frozenset(momentary), filters_of(join, slot), gate, tuple(bands),
        tuple(orders), sequence, missing if isinstance(missing, PartialRows) else None, windows,
        isinstance(product, Alone), takes_first, takes_back=join.batch.is_pure,
    )  # fmt: skip
    return _objection_to_shape(shape, is_held=is_held) or shape


def _objection_to_shape(shape: Shape, *, is_held: bool) -> str:
    """Say what of a shape does not go with the rest of it; "" if all does."""
    join, gate, windows = shape.join, shape.gate, shape.windows
    follows = shape.orders or shape.sequence
    is_oldest = any(kind is Oldest for kind, _, _ in shape.rules.values())
    if shape.slot.shared is not None and (
        join.batch.tells_steps or shape.takes_back or (shape.rule is not None and shape.rule[0] is Oldest)
    ):
        return "slots share a memory, and its entries have a number, are taken back, or the earliest stay"
    if shape.is_alone and (shape.uses or gate or shape.bands or follows or shape.partial or windows):
        return "parts come alone, and something beside that says more than what is dropped, or stays"
    if shape.takes_first and (gate or windows or follows or shape.partial or shape.is_alone):
        return "the first match is taken, and something says what follows, is aligned, missing, alone, or in windows"
    if shape.takes_back and (gate or windows or follows or shape.is_alone or shape.takes_first):
        return "results are taken back, and something says what follows, is aligned, alone, first, or in windows"
    if shape.transduces and gate:
        return "a gate goes by what has come before, and another aligns events"
    if windows and any(isinstance(one.node, Transduce) for one in join.installed):  # of any slot: it goes with them
        return "a gate goes by what has come before, in windows"
    if windows is not None and (reason := _objection_to_windows(shape, windows, is_held=is_held)):
        return reason
    if shape.bands and is_oldest:
        return "what is near leaves some time, and earlier ones are kept"
    if gate is None:
        return ""
    are_of_gate = all(keys == gate.prefixes[slot] for slot, (_, _, keys) in shape.rules.items())
    if shape.momentary or not (are_of_gate and shape.is_simply_indexed):
        return f"{gate.restriction!r} aligns slots that keep more or less than their newest event of its keys"
    return ""


def _objection_to_windows(shape: Shape, opener: Installed, *, is_held: bool) -> str:
    """Say why windows are more than one more key, under which events meet until it is freed; "" if they are not."""
    node, join = opener.node, shape.join
    assert isinstance(node, Regular | Sessions)  # Invariant: it opens windows
    if node.content is not None or node.ticks != "tuple" or node.displaces or getattr(node, "t0", None) is not None:
        return f"{opener.restriction!r} says more than how long windows are"
    if node.reports != {"on_content_change"} and not is_held:
        return f"{opener.restriction!r} opens windows that wait"
    if len({*opener.prefixes.values()}) > 1:
        return f"{opener.restriction!r} opens windows of keys that not all slots have"
    space, rules = join.bindings.window_space, shape.rules.values()
    overlap = isinstance(node, Regular) and node.size > node.period
    if overlap and any(kind is Oldest or space not in keys for kind, _, keys in rules):
        return f"what stays is not said of each window of {opener.restriction!r}, or an event is dropped in some"
    if shape.bands or shape.orders or shape.sequence or shape.gate or shape.partial:
        return f"beside {opener.restriction!r} something aligns events, or says when they come"
    if not all(slot.has_windows and (is_held or slot.reactive.pattern is None) for slot in join.slots):
        return "a slot is bound to results, or in no windows"
    return ""


def _are_inputs(join: Join) -> bool:
    """Whether all that comes is pushed, one event a step."""
    return all(slot.reactive.pattern is None for slot in join.slots)


def _of_sequence(join: Join, sequence: Installed, steps: Iterable[Step]) -> str:
    """Say why what is next cannot be found by keys alone; "" if it can."""
    node, pattern = sequence.node, join.pattern
    assert isinstance(node, InSequence)  # Invariant: it is a sequence's
    if node.after_match is not None or [slot.index for slot in node.slots] != [slot.index for slot in join.slots]:
        return f"{sequence.restriction!r} chooses among matches, or does not name all slots in their order"
    is_asked = pattern.where is not None or pattern.is_generator
    if node.contiguity != "strict" and is_asked and not _are_of_slots(pattern):
        return f"a condition of which nothing is known says what {sequence.restriction!r} takes to be next"
    if any({*step.positions} != {*sequence.prefixes[step.slot]} for step in steps):
        return f"slots are linked by more than the keys to the left of {sequence.restriction!r}"
    return ""


def _are_of_slots(pattern: Pattern) -> bool:
    """Whether all conditions are known, and each reads a part."""
    return pattern.has_traced_where and not pattern.is_generator and all(map(slots_of, pattern.conditions))
