"""Direct gates: what alignment does to an event, as text: it holds it, or releases a row.

The state is that of the restriction's copy: queues that are replaced. The copy is there as long as something is held.

Source: DESIGN 4; SEMANTICS 1.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.correlations.placements import gates_of
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from cartesius.data.code_lines import Lines
    from cartesius.direct.direct_loops import DirectLoops
    from cartesius.direct.direct_shapes import Shape


class DirectGate:
    """Writes what the gate of all slots does."""

    def __init__(self, shape: Shape, lines: Lines, loops: DirectLoops) -> None:
        self._shape = shape
        self._lines = lines
        self._loops = loops

    def come(self) -> None:
        """Write what the gate does: hold the event, or release a row."""
        own = self._shape.slot.index
        others = [slot.index for slot in self._shape.join.slots if slot is not self._shape.slot]
        self._lines.add(f"""
            copy = gate.copies.get(())
            held = {{}} if copy is None else copy.held
            is_held = {" or ".join(f"slot{index} not in held" for index in others)}
            if is_held:
                part{own}.number = -1
                held = {{**held, slot{own}: (held.get(slot{own}) or Queue()).append(part{own})}}
        """)
        with self._lines.under("else:"):
            for index in others:
                self._lines.add(f"part{index} = held[slot{index}].head")
            self._loops.combine()
            self._lines.add("held = {name: rest for name, queue in held.items() if (rest := queue.rest())}")

    def keep(self) -> None:
        """Write what is kept of a released row, or of what is held."""
        assert self._shape.gate is not None  # Invariant: who keeps a row is aligned
        self._lines.add("""
            if copy is None:
                gate.copies[()] = copy = spare
            copy.__dict__["held"] = held
            if not held:
                del gate.copies[()]  # as a fresh one
        """)
        own, place = self._shape.slot, len(self._shape.filters)  # those see an event first
        with self._lines.under("if is_held:"):
            self._lines.add(own.ledger.text(Fate.DELIVERED))
            self._lines.add(own.ledger.text(None, gate=place))
        with self._lines.under("else:"):
            self._lines.add("stored = world.number")
            for slot in sorted(self._shape.gate.slots["slots"], key=lambda slot: slot.index):
                if slot is not own:
                    other = gates_of(self._shape.join.installed, slot).index(self._shape.gate)
                    self._lines.add(slot.ledger.text(None, "-1", gate=other))
                self._lines.add(f"""
                    part{slot.index}.number = stored = stored + 1
                    if entries{slot.index}:
                        {slot.ledger.text(Fate.REPLACED if slot is own else Fate.DISPLACED)}
                        entries{slot.index}.clear()
                """)
                if slot is own:
                    self._lines.add(f"else:\n    {slot.ledger.text(Fate.DELIVERED)}")
                self._lines.add(f"""
                    entries{slot.index}[stored] = part{slot.index}
                """)
            self._lines.add("""
                world.number = stored
                world.candidates += tuples
            """)
