"""Direct codes: what a push into one slot of a known correlation does, as the text of one function.

What the clauses of the restrictions do to this slot, the enumeration from it, the body, and what is kept, in one piece:
no handler is looked for, and no candidate is made that another entry must complete. The function works on the memories
and entries that all else works on.

This module is over 300 lines because what a push computes, changes and counts is one text.

Invariant: what it computes is what the clauses, the enumeration and the body would have computed.

Source: DESIGN 4; SEMANTICS 1.2 to 1.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.direct.direct_bands import DirectBands, dues_of
from cartesius.direct.direct_clock import MEET
from cartesius.direct.direct_gates import DirectGate
from cartesius.direct.direct_loops import DirectLoops, table_name
from cartesius.direct.direct_places import DirectPlaces
from cartesius.direct.direct_texts import FAILING, STREAM_SCOPE, DirectText
from cartesius.plan.nodes import Newest, Oldest
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.direct.direct_shapes import Shape
    from cartesius.programs.steps import Steps


class DirectCode(DirectText):
    """The function of one slot, and its text."""

    def __init__(self, shape: Shape, steps: Steps, lateness: int | None, follower: DirectCode | None) -> None:
        super().__init__(shape.join, shape.slot, steps, lateness, STREAM_SCOPE, meets=bool(shape.bands))
        self._shape = shape
        self._follower = follower
        self._meets = bool(shape.bands) and lateness is not None
        join = shape.join
        self._own = shape.slot.index
        self._loops = DirectLoops(shape, self._lines, self._constants, self._texts)
        self._bands = DirectBands(shape, self._lines, self._constants, self._loops)
        self._places = {
            slot.index: DirectPlaces(slot, len(join.bindings.spaces), dues_of(shape, slot)) for slot in join.slots
        }
        self._dues: dict[int, str] = {}
        self._gate = DirectGate(shape, self._lines, self._loops)
        bound: dict[str, Any] = {"correlation": join.number}
        for slot in join.slots:
            entries, indexes = slot.memory.parts()
            bound |= {f"slot{slot.index}": slot.name, f"memory{slot.index}": slot.memory}
            bound |= {f"entries{slot.index}": entries}
            bound |= {table_name(slot.index, positions): table for positions, table in indexes.items()}
        if shape.bands or shape.orders or shape.sequence is not None:
            takes = {slot: places.taking() for slot, places in self._places.items()} if self._meets else {}
            bound |= {**self._bands.bound, "leaving": self._bands.leaving(takes)}
        if shape.gate is not None:
            spare = shape.gate.spare()
            bound |= {"gate": shape.gate, "spare": spare}
        self._write()
        if follower is not None:
            bound["go_on"] = follower.function
        self.function: Callable[..., Any] = self._define(bound)

    def shown(self) -> str:
        """Return the text, and that of what follows from its results."""
        text = super().shown()
        return text if self._follower is None else f"{text}\n{self._follower.shown()}"

    def _prepare(self) -> None:
        self._lines.add("""
            if type(value) not in plain:
                value = wrap(value)
        """)
        self._lines.add("met = None" if self._meets else "")

    def _fail(self) -> None:
        if not self._meets:
            super()._fail()
            return
        self._lines.add(f"""
            except BaseException as error:
                if met is not None:
                    met.undo()
                if isinstance(error, Exception):
                    {FAILING}
                raise
        """)

    def _leave_if(self, condition: str, also: str) -> None:
        """Write that an event has come, and nothing more happens."""
        with self._lines.under(f"if {condition}:"):
            self._lines.add(self._come)
            self._finish()
            self._lines.add(f"{also}\nreturn out")

    def _finish(self) -> None:
        if self._meets:
            self._lines.add("""
                if met is not None:
                    met.finish()
            """)

    def _pass_on(self) -> None:
        """Write what lets the one result go on to the slot that is bound to results."""
        if self._follower is not None:
            self._lines.add("""
                follower = None
                if len(out) > 1:
                    raise LeftToClauses("several results go on as one batch")
                if out:
                    (event,) = out
                    follower = go_on(event.value, event.start, event.end, event.identity)
                    out = next(follower)
            """)

    # -- finding out ---------------------------------------------------------------------------------------------------

    def _find_out(self) -> None:
        shape, own = self._shape, self._own
        if self._meets:
            self._lines.add(MEET)
        self._keys()
        ledger = self._slot.ledger
        delivered = ledger.text(Fate.DELIVERED)
        for gate, predicate in enumerate(shape.filters):
            dropped = ledger.text(None, gate=gate)
            self._leave_if(f"not {self._constants.name(predicate)}(value)", f"{delivered}\n{dropped}")
        self._entry(f"{{'uses': {shape.uses[own]}}}" if own in shape.uses else "None")
        self._lines.add("tuples = 0")
        if shape.gate is not None:
            self._gate.come()
            self._pass_on()
            return
        n_spaces = len(self._join.bindings.spaces)
        sources = [source for step in shape.steps for source in step.sources]
        probed = {position for bound, position, _ in sources if bound == own and position >= n_spaces}
        self._places[own].link(self._lines, probed, self._constants)
        self._dues = self._bands.due()
        self._find_predecessor()
        for index in shape.uses:
            self._lines.add(f"left{index} = {{}}")
        self._bands.write()
        for index in set(shape.uses) - {own}:
            self._lines.add(
                f"spent{index} = [(part, memory{index}.places_of(part)) for part, n in left{index}.items() if n < 1]"
            )
        self._pass_on()

    def _find_predecessor(self) -> None:
        """Find what the new entry displaces, or that it is dropped itself."""
        shape, own = self._shape, self._own
        if not shape.stores:
            return
        if not shape.is_simply_indexed and not self._places[own].is_known:
            self._lines.add(f"coming = memory{own}.places(part{own})")
        if shape.rule is None:
            return
        kind, n, prefix = shape.rule
        found = f"{table_name(own, prefix)}.get({_key(prefix)})"
        if not prefix:
            if not shape.is_simply_indexed:
                self._lines.add(f"old = next(iter(entries{own}.values())) if len(entries{own}) >= {n} else None")
        elif n == 1:
            self._lines.add(f"old = {found}")
        else:
            self._lines.add(f"""
                old = {found}
                old = next(iter(old.values())) if type(old) is dict and len(old) >= {n} else None
            """)
        if kind is Oldest:
            counts = [self._slot.ledger.text(fate) for fate in (Fate.DELIVERED, Fate.DISPLACED)]
            self._leave_if("old is not None", "\n".join(["world.number += 1", *counts]))
        elif not shape.is_simply_indexed:
            self._lines.add(f"going = None if old is None else memory{own}.places_of(old)")

    # -- changing ------------------------------------------------------------------------------------------------------

    def _change(self) -> None:
        """Write what changes the state, none of which can fail."""
        if self._shape.gate is None and not self._replaces:
            self._lines.add(self._slot.ledger.text(Fate.DELIVERED))
        if self._shape.gate is not None:
            self._gate.keep()
        else:
            self._keep()
        if self._follower is not None:
            self._lines.add("""
                if follower is not None:
                    next(follower, None)
            """)

    @property
    def _replaces(self) -> bool:
        """Whether an event may take the place of another one."""
        return self._shape.stores and self._shape.rule is not None and self._shape.rule[0] is Newest

    def _keep(self) -> None:
        self._lines.add(f"""
            world.number = part{self._own}.number = stored = world.number + 1
            world.candidates += tuples
        """)
        self._bands.count()
        ledger, is_used_up = self._slot.ledger, f"left{self._own}.get(part{self._own}, 1) < 1"
        if self._own in self._shape.uses:
            self._lines.add(f"if {is_used_up}:\n    {ledger.text(Fate.USED_UP)}")
        if self._shape.stores:
            self._store()
        elif self._own in self._shape.uses:
            self._lines.add(f"else:\n    {ledger.text(Fate.EXPIRED)}")
        else:
            self._lines.add(ledger.text(Fate.EXPIRED))
        self._bands.ask()
        self._finish()
        for index in self._shape.uses:
            self._lines.add(f"""
                for part, n in left{index}.items():
                    part.uses = n
            """)
            if index != self._own:
                self._lines.add(self._join.slots[index].ledger.text(Fate.USED_UP, f"len(spent{index})"))
                self._lines.add(f"""
                    for part, places in spent{index}:
                        memory{index}.take(part, places)
                """)

    def _store(self) -> None:
        shape, own = self._shape, self._own
        delivered, replaced = map(self._slot.ledger.text, (Fate.DELIVERED, Fate.REPLACED))
        if shape.is_simply_indexed:
            assert shape.rule is not None  # Invariant: what is simply indexed is alone under its key
            prefix = shape.rule[2]
            self._lines.add(
                f"""
                if old is not None:
                    {replaced}
                    del entries{own}[old.number]
                else:
                    {delivered}
                {table_name(own, prefix)}[{_key(prefix)}] = part{own}
                """
                if prefix
                else f"""
                if entries{own}:
                    {replaced}
                    entries{own}.clear()
                else:
                    {delivered}
                """
            )
            self._lines.add(f"entries{own}[stored] = part{own}")
            return
        if shape.rule is not None and shape.rule[0] is Newest:
            self._lines.add(f"""
                if going is not None:
                    {replaced}
                    memory{own}.take(old, going)
                else:
                    {delivered}
            """)
        with self._lines.under(f"if left{own}.get(part{own}, 1) > 0:" if own in shape.uses else ""):
            if self._places[own].is_known:
                self._places[own].put(self._lines, self._dues)
            else:
                self._lines.add(f"memory{own}.put(part{own}, coming)")


def _key(positions: tuple[int, ...]) -> str:
    """Return what the new entry is found by in an index on keys."""
    keys = [f"key{position}" for position in positions]
    return keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
