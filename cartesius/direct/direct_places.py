"""Direct places: how an entry is put into the indexes of its memory, and taken out, as text; and names of the indexes.

Indexes are on keys, which are known when an event has come; on the times at which bands let entries leave; and on
values that link slots, which are computed from the payload: a payload that was changed since is not found by them.
Where entries are found by identity, too, the memory is asked.

Invariant: what it writes does to a memory what `Memory.put` and `Memory.take` do.

Source: DESIGN 4.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cartesius.data.events import Interval
from cartesius.data.generated import Constants, Lines, define
from cartesius.data.records import Record
from cartesius.expressions.expression_texts import Texts
from cartesius.storage.memories import NOWHERE, hashable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from cartesius.batching.bindings import Bindings
    from cartesius.data.entries import Entry
    from cartesius.language.families import Slot
    from cartesius.storage.memories import Memory


def table_name(slot: int, positions: tuple[int, ...]) -> str:
    """Return the name of an index."""
    return f"table{slot}_" + "_".join(map(str, positions))


def names_of(slots: Iterable[Slot]) -> dict[str, Any]:
    """Return what the names of slots, of their memories and of the indexes of these mean."""
    bound: dict[str, Any] = {}
    for slot in slots:
        n, (entries, indexes) = slot.index, slot.memory.parts()
        bound |= {f"slot{n}": slot.name, f"memory{n}": slot.memory, f"entries{n}": entries}
        bound |= {table_name(n, positions): table for positions, table in indexes.items()}
    return bound


def joined(parts: Sequence[str]) -> str:
    """Return the text of what an index has for a key: of one value that itself, of several a tuple."""
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def of_keys(slot: int, positions: tuple[int, ...]) -> str:
    """Return the text of what an index has under the keys of the new event."""
    return f"{table_name(slot, positions)}.get({joined([f'key{position}' for position in positions])})"


def listed(found: str, key: str) -> str:
    """Return the text that finds all entries under a key of an index, the oldest first."""
    return f"""
        found = {key}
        {found} = () if found is None else found.values() if type(found) is dict else (found,)
    """


def hashed(name: str) -> str:
    """Return the text that makes a value one that an index can have."""
    return f"if type({name}) is not int and type({name}) is not str:\n    {name} = hashable({name})"


class DirectPlaces:
    """The indexes of one slot.

    Args:
        slot: The slot.
        bindings: Those of its correlation: what comes behind the keys is computed.
        dues: The probes that say when an entry is due to leave.
    """

    def __init__(self, slot: Slot, bindings: Bindings, dues: Collection[int] = ()) -> None:
        self._slot = slot
        self._linked = bindings.linked
        self._spaces = spaces = len(bindings.spaces)
        self._dues = dues
        _, self._indexes = slot.memory.parts()
        self._is_known = not slot.memory.finds
        self._links = sorted({p for index in self._indexes for p in index if p >= spaces and p not in dues})

    @property
    def is_of_keys(self) -> bool:
        """Whether entries are found by their keys alone, whatever becomes of payloads."""
        return self._is_known and not self._links

    def names(self, *, is_put: bool) -> list[str]:
        """The names of what is found out of the new entry: the values that link it, and where it comes if it stays."""
        return [f"link{p}" for p in self._links] + (["places"] if is_put and not self._is_known else [])

    def linked(self, positions: Collection[int]) -> list[int]:
        """The positions of all values that link the new entry: of those that it is found by, and others."""
        return sorted({*self._links, *positions})

    def link(self, lines: Lines, positions: Collection[int], constants: Constants) -> None:
        """Write what computes the values that link the new entry: those that it is found by, and others."""
        for p in self.linked(positions):
            self._compute(p, f"part{self._slot.index}", lines, constants)
            lines.add(f"""
                is_plain{p} = type(link{p}) is int or type(link{p}) is str
                if not is_plain{p}:
                    link{p} = hashable(link{p})
            """)

    def _compute(self, p: int, part: str, lines: Lines, constants: Constants) -> None:
        """Write what computes a value that links a part."""
        slot, expression = self._slot, self._linked.get((self._slot.index, p))
        if expression is None:  # that of a memory that others share
            text = f"{constants.name(slot.memory.probes[p])}({part})"
        else:
            text = Texts({slot.name: slot.index}, constants, {slot.index: part}).of(expression)
        lines.add(f"link{p} = {text}")

    def find(self, lines: Lines) -> None:
        """Write what finds out where the new entry comes, if the memory must be asked, and that it can be compared."""
        slot = self._slot.index
        if not self._is_known:
            lines.add(f"places = memory{slot}.places(part{slot})")
            return
        for index in self._indexes:
            if any(p in self._dues for p in index):
                continue  # what is alike has been found out without the time
            names = [f"link{p}" if p in self._links else f"key{p}" for p in index]
            are_odd = [
                f"not is_plain{p}" if p in self._links else f"(type({name}) is not int and type({name}) is not str)"
                for p, name in zip(index, names, strict=True)
            ]
            with lines.under(f"if {' or '.join(are_odd)}:"):
                lines.add(f"{table_name(slot, index)}.get({joined(names)})  # raises what it would raise later")

    def put(self, lines: Lines, dues: Mapping[int, str]) -> None:
        """Write what puts the new entry in."""
        slot = self._slot.index
        if not self._is_known:
            lines.add(f"memory{slot}.put(part{slot}, places)")
            return
        lines.add(f"entries{slot}[stored] = part{slot}")
        for index in self._indexes:
            links = [p for p in index if p in self._links]
            key = joined([f"link{p}" if p in links else dues.get(p, f"key{p}") for p in index])
            table = table_name(slot, index)
            with lines.under(_is_somewhere([f"link{p}" for p in links])):
                lines.add(f"""
                    found = {table}.setdefault({key}, part{slot})
                    if found is not part{slot}:
                        if type(found) is dict:
                            found[stored] = part{slot}
                        else:
                            {table}[{key}] = {{found.number: found, stored: part{slot}}}
                """)

    def put_alone(self, lines: Lines) -> None:
        """Write what puts the new entry in the place of the one before, which it is alone under its key with."""
        slot = self._slot.index
        for index in self._indexes:
            key = joined([f"key{p}" for p in index])
            lines.add(f"{table_name(slot, index)}[{key}] = part{slot}")
        lines.add(f"entries{slot}[stored] = part{slot}")

    def taking(self, due: tuple[int, ...] = ()) -> Callable[..., None]:
        """Return what takes an entry out, or raises a LookupError, as its payload has changed, and has done nothing.

        It is given the entry, and what the index ``due`` has it under, if it is found by that.
        """
        if not self._is_known:
            return partial(take_from, self._slot.memory)
        lines, constants, slot = Lines(), Constants(), self._slot.index
        with lines.under("def take(entry, under=None):"):
            lines.add("number = entry.number")
            for p in self._links:
                self._compute(p, "entry", lines, constants)
                lines.add(hashed(f"link{p}"))
            keys = {index: ("under", "") if index == due else self._key_of(index) for index in self._indexes}
            for index, (key, condition) in keys.items():
                if condition:
                    with lines.under(condition):
                        lines.add(f"""
                            found = {table_name(slot, index)}[{key}]
                            if found is not entry:
                                found[number]
                        """)
            lines.add(f"del entries{slot}[number]")
            for index, (key, condition) in keys.items():
                table = table_name(slot, index)
                with lines.under(condition):
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
        bound = constants.bound | {f"probe{p}": self._slot.memory.probes[p] for p in self._dues}
        known = {"hashable": hashable, "NOWHERE": NOWHERE, "Record": Record, "Interval": Interval}
        return define("take", lines.text, names_of([self._slot]) | bound | known)

    def _key_of(self, index: tuple[int, ...]) -> tuple[str, str]:
        """Return the key of an entry in an index, and on which condition it is there."""
        key = [f"entry.keys[{p}]" if p < self._spaces else f"probe{p}(entry)" for p in index]
        key = [f"link{p}" if p in self._links else text for p, text in zip(index, key, strict=True)]
        return joined(key), _is_somewhere([f"link{p}" for p in index if p in self._links])


def _is_somewhere(names: list[str]) -> str:
    conditions = [f"{name} is not NOWHERE" for name in names]
    return f"if {' and '.join(conditions)}:" if conditions else ""


def take_from(memory: Memory, entry: Entry, _: Any = None) -> None:
    """Take an entry out, by asking the memory where it is."""
    memory.take(entry, memory.places_of(entry))
