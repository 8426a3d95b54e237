"""Direct places: how an entry is put into the indexes of its memory, and taken out, as text.

Most indexes are on keys, which are known when an event has come; and on the times at which bands let entries leave.
Where there is another one the memory is asked.

Invariant: what it writes does to a memory what `Memory.put` and `Memory.take` do.

Source: DESIGN 4.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cartesius.data.code_lines import Lines
from cartesius.data.generated import define
from cartesius.direct.direct_loops import table_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius.data.entries import Entry
    from cartesius.language.families import Slot
    from cartesius.storage.memories import Memory


class DirectPlaces:
    """The indexes of one slot.

    Args:
        slot: The slot.
        spaces: How many key spaces there are; what comes behind them is computed.
        dues: The probes that say when an entry is due to leave.
    """

    def __init__(self, slot: Slot, spaces: int, dues: frozenset[int]) -> None:
        self._slot = slot
        self._spaces = spaces
        entries, self._indexes = slot.memory.parts()
        known = all(position < spaces or position in dues for index in self._indexes for position in index)
        self.is_known = known and not slot.memory.finds
        self._bound: dict[str, Any] = {f"entries{slot.index}": entries}
        self._bound |= {table_name(slot.index, index): table for index, table in self._indexes.items()}
        self._bound |= {f"probe{due}": slot.memory.probes[due] for due in dues}

    def put(self, lines: Lines, dues: Mapping[int, str]) -> None:
        """Write what puts the new entry in."""
        slot = self._slot.index
        lines.add(f"entries{slot}[stored] = part{slot}")
        for index in self._indexes:
            key = _tuple([dues.get(p, f"key{p}") for p in index])
            table = table_name(slot, index)
            lines.add(f"""
                found = {table}.setdefault({key}, part{slot})
                if found is not part{slot}:
                    if type(found) is dict:
                        found[stored] = part{slot}
                    else:
                        {table}[{key}] = {{found.number: found, stored: part{slot}}}
            """)

    def taking(self) -> Callable[[Entry], None]:
        """Return what takes an entry out."""
        if not self.is_known:
            return partial(_take, self._slot.memory)
        lines, slot = Lines(), self._slot.index
        with lines.under("def take(entry):"):
            lines.add(f"""
                number = entry.number
                del entries{slot}[number]
            """)
            for index in self._indexes:
                key = _tuple([f"entry.keys[{p}]" if p < self._spaces else f"probe{p}(entry)" for p in index])
                table = table_name(slot, index)
                lines.add(f"""
                    key = {key}
                    found = {table}[key]
                    if found is entry:
                        del {table}[key]
                    else:
                        del found[number]
                        if len(found) == 1:
                            ({table}[key],) = found.values()
                """)
        return define("take", lines.text, self._bound)


def _take(memory: Memory, entry: Entry) -> None:
    memory.take(entry, memory.places_of(entry))


def _tuple(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
