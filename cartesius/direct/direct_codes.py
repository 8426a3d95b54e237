"""Direct codes: what a push into a known product does, as the text of one function.

What the clauses of the restrictions do to this slot, the enumeration from it, the body, and what is kept, in one piece:
no handler is looked for, and no candidate is made that another entry must complete. The function works on the memories
and entries that all else works on.

Where an event comes to several slots of one product, it is one part after the other, each as if it were the only one.

This module is over 300 lines because an event that is several parts does all that one does that is one.

Invariant: what it computes is what the clauses, the enumeration and the body would have computed.

Source: DESIGN 4; SEMANTICS 1.1 to 1.7.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, Unpack

import attrs

from cartesius.correlations.placements import gates_of
from cartesius.direct.direct_bands import DirectBands, dues_of
from cartesius.direct.direct_places import DirectPlaces, of_keys
from cartesius.direct.direct_shapes import shape_of
from cartesius.direct.direct_texts import DirectText
from cartesius.direct.direct_windows import IN_WINDOWS, freeing, in_windows
from cartesius.plan.nodes import InTime, Lockstep, Newest, Oldest
from cartesius.rows.enumeration import Product
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.direct.direct_shapes import Shape
    from cartesius.direct.direct_texts import Link, Make
    from cartesius.direct.leaving import Due
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program


_BY_RANK: Final = """
    if len(ranks) > 1:
        out[FIRST:] = [out[FIRST + place] for place in sorted(range(len(ranks)), key=ranks.__getitem__)]
"""


def self_join_of(program: Program, join: Join, slots: Sequence[Slot], *, is_followed: bool) -> Make | str:
    """Return what makes the function of several slots, to all of which an event comes, or why it needs the handlers."""
    shapes = []
    for slot in slots:
        shape = shape_of(program, join, slot, is_followed=is_followed)
        if isinstance(shape, str):
            return shape
        shapes.append(attrs.evolve(shape, siblings=tuple([one.index for one in slots if one is not slot])))
    if join.batch.tells_steps or any(map(_says_more, shapes)):
        return "an event is several parts, and something says more than what stays, is near, or follows"
    return partial(DirectSelfJoin, shapes)


def _says_more(shape: Shape) -> bool:
    """Whether something concerns an event that is several parts of which nothing is known here."""
    if shape.filters or shape.uses or shape.partial or shape.is_alone or shape.takes_first:
        return True
    is_limited = bool(shape.bands or shape.orders or shape.sequence or shape.takes_back)
    is_oldest = any(kind is Oldest for kind, _, _ in shape.rules.values())
    return shape.gate is not None or shape.windows is not None or is_oldest or (bool(shape.rules) and is_limited)


def product_of(program: Program, join: Join, slot: Slot, *, is_followed: bool) -> Make | str:
    """Return what makes the function of a slot of a product of streams, or why it needs all of the handlers."""
    shape = shape_of(program, join, slot, is_followed=is_followed)
    return shape if isinstance(shape, str) else partial(DirectCode, shape)


def let_go_of(program: Program, join: Join, slot: Slot, *, is_followed: bool) -> Make | str:
    """Return likewise what makes that of what a gate lets go; it notes how to take back what it does."""
    shape = shape_of(program, join, slot, is_followed=is_followed, is_held=True)
    if isinstance(shape, str):
        return shape
    if join.batch.tells_steps or slot.shared is not None or any(one.notes_door for one in join.slots):
        return "what is let go shares a memory, or is told by its step, or by the event that it is several parts of"
    if shape.gate is not None or shape.windows is not None or shape.transduces:
        return "what is let go comes into windows, or to gates that remember"
    gates = gates_of(join.installed, slot)
    passed = max([place for place, one in enumerate(gates) if isinstance(one.node, InTime)], default=-1)
    behind = tuple([(place, one) for place, one in shape.filters if place > passed])
    return partial(DirectCode, attrs.evolve(shape, filters=behind))


class DirectCode(DirectText):
    """The function of one slot, and its text."""

    def __init__(self, shape: Shape, **link: Unpack[Link]) -> None:
        super().__init__(shape.join, shape.slot, **link)
        self._shape = shape
        self._others = shape.partners
        join = shape.join
        self._loops = DirectBands(shape, self._lines, self._constants, self._texts)
        places = partial(DirectPlaces, bindings=join.bindings)
        self._all_places = {slot.index: places(slot, dues=dues_of(shape, slot)) for slot in join.slots}
        self._places = self._all_places[self._own]
        self._dues: dict[int, str] = {}
        self._windows = shape.windows
        if shape.bands or shape.orders or shape.sequence is not None:
            self._scope |= self._loops.bound
        if shape.windows is not None:
            self._scope |= in_windows(shape.windows)
            self.identity = f"(INSIDE, window, {self.identity})"
        if shape.gate is not None:
            self._scope["gate"] = shape.gate

    @property
    def _is_numbered(self) -> bool:
        return bool(self._shape.siblings) or super()._is_numbered

    @cached_property
    def dues(self) -> Mapping[Installed, Due]:
        """What the deadlines of its restrictions do."""
        if self._windows is not None:
            return {self._windows: freeing(self.join, self._windows, self._all_places)}
        return self._loops.leaving(self._all_places)

    # -- finding out ---------------------------------------------------------------------------------------------------

    def _find_out(self) -> None:
        shape = self._shape
        self._keys(but=None if shape.windows is None else self.join.bindings.window_space)
        if shape.windows is None:
            self._filter(shape.filters)
            self._meet()
            return
        self._lines.add(IN_WINDOWS)
        self._leave_windowless()
        self._filter(shape.filters, "len(windows)")
        known = ", ".join(self._known())
        self._lines.add("in_windows = []")
        with self._lines.under("for window in windows:"):
            self._lines.add(f"key{self.join.bindings.window_space} = window")
            self._meet()
            self._lines.add(f"in_windows.append((window, {known}))")

    def _found_out(self) -> list[str]:
        return self._known() if self._shape.windows is None else ["windows", "in_windows"]

    def _known(self) -> list[str]:
        """Return the names of what is found out of an event, or of one in one window."""
        shape, own = self._shape, self._own
        if shape.gate is not None:
            others = [f"part{other}" for other in self._others]
            return [self._part, "tuples", "under", "copy", "held", "is_held", *self._known_keys, *others]
        is_put = shape.stores and not self._reads and not shape.is_simply_indexed
        names = [self._part, "tuples", *self._known_keys, *self._places.names(is_put=is_put)]
        names += [f"visited{other}" for other in self._others]
        names += [f"left{index}" for index in shape.uses] + [f"spent{index}" for index in {*shape.uses} - {own}]
        names += [f"due{probe}" for probe in dues_of(shape, shape.slot)]
        names += ["old"] if self._replaces and (not shape.is_simply_indexed or (shape.rule and shape.rule[2])) else []
        names += ["going"] if self._replaces and not shape.is_simply_indexed else []
        return names

    def _before_all(self) -> None:
        shape = self._shape
        stays = shape.rule or shape.uses or shape.gate or shape.orders or shape.sequence or shape.partial
        is_in_order = self.join.batch.rank.is_oldest_first and (self._own == 0 or not shape.partners)
        if stays or shape.takes_first or shape.transduces or shape.is_alone:
            super()._before_all()
        elif not is_in_order:
            self._loops.is_ranked = True
            self._lines.add("ranks = []")

    def _after_all(self) -> None:
        self._lines.add(_BY_RANK.replace("FIRST", "0") if self._loops.is_ranked else "")

    def _meet(self) -> None:
        """Write what makes an entry, and finds what it meets."""
        self._make_entry()
        if self._shape.gate is not None:
            self._align(self._shape.gate)
            self._lines.add(f"if not is_held:\n    number += {len(self.join.slots)}" if self._is_numbered else "")
            return
        self._place()
        self._search()

    def _make_entry(self) -> None:
        """Write what makes an entry."""
        shape, own = self._shape, self._own
        more = f"{{'uses': {shape.uses[own]}}}" if own in shape.uses else "None"
        self._entry("{'door': (source, step, 0)}" if self._slot.notes_door else more)
        self._lines.add("tuples = 0")

    def _place(self) -> None:
        """Write what finds out where the entry comes."""
        self._lines.add("number += 1" if self._is_numbered and not self._reads else "")
        self._places.link(self._lines, self._shape.probed, self._constants)
        self._dues = self._loops.due()
        self._find_predecessor()

    def _search(self) -> None:
        """Write what finds what the entry meets."""
        shape, own = self._shape, self._own
        for index in shape.uses:
            self._lines.add(f"left{index} = {{}}")
        self._begin()
        if shape.takes_back and self._replaces:
            self._take_back()
        with self._lines.under("try:" if shape.takes_first else ""):
            self._loops.search()
        self._lines.add("except Taken:\n    pass  # the first match, out of all the loops" if shape.takes_first else "")
        for index in set(shape.uses) - {own}:
            left = f"[(part, memory{index}.places_of(part)) for part, n in left{index}.items() if n < 1]"
            self._lines.add(f"spent{index} = {left}")

    def _take_back(self) -> None:
        """Write what takes back the results of what is displaced: it meets once more what it has met."""
        part, positions = self._part, self._places.linked(self._shape.probed)
        links = [f"{name}{position}" for position in positions for name in ("link", "is_plain")]
        names = ", ".join([part, "start", "end", *self._known_keys, *links])
        with self._lines.under("if old is not None:"):
            self._lines.add(f"come = ({names},)\n{part}, start, end = old, old.start, old.end")
            for key in self._known_keys:
                self._lines.add(f"{key} = old.keys[{key.removeprefix('key')}]")
            self._places.link(self._lines, self._shape.probed, self._constants)
            self._loops.weight = -1
            self._loops.search()
            self._loops.weight = 1
            self._lines.add(f"({names},) = come\ntuples = 0")

    def _find_predecessor(self) -> None:
        """Find what the new entry displaces, or that it is dropped itself."""
        shape, own = self._shape, self._own
        if not shape.stores or self._reads:
            return
        if not shape.is_simply_indexed:
            self._places.find(self._lines)
        if shape.rule is None:
            return
        kind, n, prefix = shape.rule
        if not prefix:
            if not shape.is_simply_indexed:
                self._lines.add(f"old = next(iter(entries{own}.values())) if len(entries{own}) >= {n} else None")
        else:
            self._lines.add(f"old = {of_keys(own, prefix)}")
            if n > 1:
                self._lines.add(f"old = next(iter(old.values())) if type(old) is dict and len(old) >= {n} else None")
        if kind is Oldest:
            counts = map(self._count, (Fate.DELIVERED, Fate.DISPLACED))
            self._leave_if("old is not None", "world.number += 1", *counts)
        elif not shape.is_simply_indexed:
            self._lines.add(f"going = None if old is None else memory{own}.places_of(old)")

    # -- changing ------------------------------------------------------------------------------------------------------

    def _change(self) -> None:
        self._keep_states()
        if self._shape.gate is not None:
            self._keep_aligned(self._shape.gate)
        else:
            known = ", ".join(["window", *self._known()])
            with self._lines.under("" if self._shape.windows is None else f"for {known} in in_windows:"):
                self._keep()
            self._touch_windows()

    @property
    def _replaces(self) -> bool:
        """Whether an event may take the place of another one."""
        stores = self._shape.stores and not self._reads
        return stores and self._shape.rule is not None and self._shape.rule[0] is Newest

    def _keep(self) -> None:
        own, uses = self._own, self._shape.uses
        if self._reads:
            self._lines.add("world.candidates += tuples")
            self._count_visits()
            return
        self._lines.add("" if self._replaces else self._count(Fate.DELIVERED))
        self._lines.add(f"""
            world.number = {self._part}.number = stored = world.number + 1
            world.candidates += tuples
        """)
        self._count_visits()
        if own in uses:
            self._lines.add(f"if left{own}.get({self._part}, 1) < 1:\n    {self._count(Fate.USED_UP)}")
        if self._shape.stores:
            self._store()
        else:
            expired = self._count(Fate.EXPIRED)
            self._lines.add(f"else:\n    {expired}" if own in uses else expired)
        for one, due in self._loops.asking():
            self._ask(one, due)
        for index in uses:
            with self._lines.under(f"for part, n in left{index}.items():"):
                self._note("setattr", "part", '"uses"', "part.uses")
                self._lines.add("part.uses = n")
            if index != own:
                self._lines.add(self.join.slots[index].ledger.text(Fate.USED_UP, f"len(spent{index})"))
                with self._lines.under(f"for part, places in spent{index}:"):
                    self._note(f"memory{index}.put_back", "part")
                    self._lines.add(f"memory{index}.take(part, places)")

    def _store(self) -> None:
        shape, own = self._shape, self._own
        delivered, replaced = map(self._count, (Fate.DELIVERED, Fate.REPLACED))
        if shape.is_simply_indexed:
            assert shape.rule is not None  # Invariant: what is simply indexed is alone under its key
            prefix = shape.rule[2]
            with self._lines.under(f"if {'old is not None' if prefix else f'entries{own}'}:"):
                self._note(f"memory{own}.put_back", "old" if prefix else f"*entries{own}.values()")
                self._lines.add(replaced)
                self._lines.add(f"del entries{own}[old.number]" if prefix else f"entries{own}.clear()")
            self._lines.add(f"else:\n    {delivered}")
            self._places.put_alone(self._lines)
            self._note("take_from", f"memory{own}", self._part)
            return
        if self._replaces:
            with self._lines.under("if going is not None:"):
                self._note(f"memory{own}.put_back", "old")
                self._lines.add(f"{replaced}\nmemory{own}.take(old, going)")
            self._lines.add(f"else:\n    {delivered}")
        with self._lines.under(f"if left{own}.get({self._part}, 1) > 0:" if own in shape.uses else ""):
            self._places.put(self._lines, self._dues)
            self._note("take_from", f"memory{own}", self._part)

    def write_released(self) -> None:
        """Write what becomes of a held event, as it comes into a window: nothing is found out before it is kept."""
        for space, by in enumerate(self.join.bindings.spaces):
            if self._own in by:
                of_window = space == self.join.bindings.window_space
                self._lines.add(f"key{space} = {'window' if of_window else f'come.keys[{space}]'}")
        self._is_released = True
        self._filter(self._shape.filters)
        self._meet()
        self._keep()

    # -- one of several parts: what is found out of one is kept while that of the next is -----------------------------

    def write_coming(self, first: int) -> None:
        """Write what makes its entry, or takes that of the ``first`` slot of its memory, and where that comes."""
        own, add = self._own, self._lines.add
        self._keys()
        if first == own:
            self._make_entry()
        else:
            add(f"{self._part} = come{first}")
        self._place()
        add("" if self._reads else f"{self._part}.number = number")
        rule = self._shape.rule
        is_here = self._replaces and rule is not None and (rule[2] or not self._shape.is_simply_indexed)
        newest = f"next(iter(entries{own}.values()), None)" if self._replaces else "None"
        add(f"come{own}, gone{own} = {self._part}, {f'gone{first}' if first != own else 'old' if is_here else newest}")
        for position in self._asked_for():
            is_key = position < len(self.join.bindings.spaces)
            add(f"at{own}_{position} = {'key' if is_key else 'link'}{position}")
        add(f"coming{own} = ({', '.join(self._names())},)")

    def _asked_for(self) -> set[int]:
        """Return by which of its values it is found from the slots that the event comes to as well."""
        product = self.join.batch.product
        assert isinstance(product, Product)  # Invariant: the shape has seen that
        steps = [step for other in self._shape.siblings for step in product.plans[other][0]]
        return {position for step in steps if step.slot == self._own for position in step.positions}

    def _names(self) -> list[str]:
        """Return the names of what is found out of it before it is known what it meets."""
        known = [self._part, *self._known_keys, *self._places.names(is_put=False)]
        links = self._places.linked(self._shape.probed)
        also = [f"{name}{p}" for p in links for name in ("link", "is_plain")]
        return [*dict.fromkeys([*known, *also, *[name for name in self._known() if name not in self._sought()]])]

    def _sought(self) -> list[str]:
        return ["tuples", *[f"visited{other}" for other in self._others]]

    def write_search(self) -> None:
        """Write what finds what it meets."""
        self._lines.add(f"({', '.join(self._names())},) = coming{self._own}")
        self._lines.add("tuples = 0")
        self._search()
        self._lines.add(f"sought{self._own} = ({', '.join(self._known())},)")

    def write_change(self) -> None:
        """Write what keeps it."""
        self._lines.add(f"({', '.join(self._known())},) = sought{self._own}")
        self._keep()

    # -- alignment: the state is that of the restriction's copy, which is there as long as something is held -----------

    def _align(self, gate: Installed) -> None:
        """Write what holds the event, or releases a row."""
        own = self._own
        node, keys = gate.node, "".join(f"key{space}, " for space in gate.prefixes[own])
        assert isinstance(node, Lockstep)  # Invariant: it is that of what aligns
        for other in self._others:
            self._lines.add(f"part{other} = None")
        self._lines.add(f"""
            under = ({keys})
            copy = gate.copies.get(under)
            held = {{}} if copy is None else copy.held
        """)
        if node.limit is not None:
            with self._lines.under(f"if len(held.get(slot{own}, ())) == {node.limit}:"):
                self._lines.add('raise LeftToClauses("a queue is full")')
        self._lines.add(f"""
            is_held = {" or ".join(f"slot{index} not in held" for index in self._others)}
            if is_held:
                part{own}.number = -1
                held = {{**held, slot{own}: (held.get(slot{own}) or Queue()).append(part{own})}}
        """)
        with self._lines.under("else:"):
            for index in self._others:
                self._lines.add(f"part{index} = held[slot{index}].head")
            self._loops.combine()
            self._lines.add("held = {name: rest for name, queue in held.items() if (rest := queue.rest())}")

    def _keep_aligned(self, gate: Installed) -> None:
        """Write what is kept of a released row, or of what is held."""
        self._lines.add("""
            if copy is None:
                copy = gate.make(under)
            copy.__dict__["held"] = held
            if not held:
                del gate.copies[under]  # as a fresh one
        """)
        with self._lines.under("if is_held:"):
            self._lines.add(self._count(Fate.DELIVERED))
            self._lines.add(self._count(None, gate=_place(gate, self._slot)))
        with self._lines.under("else:"):
            self._lines.add("stored = world.number")
            for slot in self.join.slots:
                entries, is_own = f"entries{slot.index}", slot is self._slot
                keys = self._shape.rules[slot.index][2]
                self._lines.add("" if is_own else slot.ledger.text(None, "-1", gate=_place(gate, slot)))
                self._lines.add(f"part{slot.index}.number = stored = stored + 1")
                self._lines.add(f"old = {of_keys(slot.index, keys)}" if keys else "")
                self._lines.add(f"""
                    if {"old is not None" if keys else entries}:
                        {slot.ledger.text(Fate.REPLACED if is_own else Fate.DISPLACED)}
                        {f"del {entries}[old.number]" if keys else f"{entries}.clear()"}
                """)
                self._lines.add(f"else:\n    {self._count(Fate.DELIVERED)}" if is_own else "")
                self._all_places[slot.index].put_alone(self._lines)
            self._lines.add("""
                world.number = stored
                world.candidates += tuples
            """)


class DirectSelfJoin(DirectText):
    """The function of an input that comes to several slots of one product, and its text.

    All of its entries are made first. Then it is one part after the other, beside what is there: the slots before that
    part have not got it yet, those behind have it, so each combination comes once.
    """

    def __init__(self, shapes: Sequence[Shape], **link: Unpack[Link]) -> None:
        super().__init__(shapes[0].join, shapes[0].slot, **link)
        self._codes: dict[int, DirectCode] = {}
        self._first: dict[int, int] = {}  # of slots that share a memory, the one that stores
        self._has_doors = any(shape.slot.notes_door for shape in shapes)
        within: Link = {**link, "after": (), "part_of": self}
        for shape in shapes:
            slot = shape.slot
            alike = [one.slot.index for one in shapes if one.slot is slot or one.slot.shared is slot.shared is not None]
            self._first[slot.index] = alike[0]
            within["reads"] = alike[0] != slot.index
            self._codes[slot.index] = DirectCode(shape, **within)

    @cached_property
    def dues(self) -> Mapping[Installed, Due]:
        """What the deadlines of its restrictions do."""
        return self._codes[self._own].dues

    @property
    def _is_numbered(self) -> bool:
        return True

    def _find_out(self) -> None:
        add = self._lines.add
        add(f"step = world.steps + {self._n_steps}" if self._has_doors and not self._follows else "")
        add("ranks, first = [], len(out)")
        for slot, code in self._codes.items():
            code.write_coming(self._first[slot])
        for code in self._codes.values():
            code.write_search()
        add(_BY_RANK.replace("FIRST", "first"))

    def _found_out(self) -> list[str]:
        return [f"sought{slot}" for slot in self._codes]

    def _change(self) -> None:
        for code in self._codes.values():
            code.write_change()


def _place(gate: Installed, slot: Slot) -> int:
    return gates_of(gate.join.installed, slot).index(gate)
