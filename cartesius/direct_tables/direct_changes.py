"""Direct changes: what a push into a table of a join does, as the text of one function.

How the rows of the join that it concerns are found is said by `direct_tree_codes` and `direct_outer_codes`.

What they were and what they are is computed, and said where it differs; then the row is put in the memory, in the place
of the one before. What can fail comes first; if something does, the function returns None, having changed nothing, and
the push is done as written.

Invariant: what it computes is what the clauses, the enumeration and `views.View` would have computed.

Source: DESIGN 4; SEMANTICS 1.10, 2.1, 2.2, 2.5 and 2.6.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

from cartesius.direct.direct_texts import DirectText, event_text
from cartesius.direct_tables.direct_table_scope import TABLE_SCOPE
from cartesius.programs.doors import checked_value
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Event
    from cartesius.language.families import Slot
    from cartesius.programs.steps import Steps

_BEGIN = """
    number = world.number
    tuples = 0
    part = coming = going = None
"""
_CHANGE = """
    if type(value) is not Update or (type(value.key) is not int and type(value.key) is not str):
        value = checked(value)
    key = value.key
    if type(key) is not int and type(key) is not str and (is_null(key) or not is_exact(key)):
        return steps.given_up.leave("a key is null, or no plain value")
    before = memory.row(key)
"""
"""It brings the change into form, and finds the row that it replaces."""
_ROW = """
    value = value.value
    if type(value) not in plain:
        value = wrap(value)
    number += 1
    part = new(Entry)
    part.value = value
    part.start = start
    part.end = end
    part._identity = source
    part.keys = ()
    part.row_key = key
    part.number = number
    part.slot = slot
    part.state = LIVE
    part.more = None
"""
"""It makes the new row of an update."""
_KEEP = """
    world.number = number
    world.candidates += tuples
    if part is not None:
        memory.put(part, coming)
    else:
        EXPIRED
    if before is not None:
        REPLACED
        memory.take(before, going)
    else:
        DELIVERED
"""


class DirectChange(DirectText):
    """The function of one slot of a join of tables, and its text."""

    def __init__(self, join: Join, slot: Slot, steps: Steps, lateness: int | None) -> None:
        super().__init__(join, slot, steps, lateness, TABLE_SCOPE)
        self._others = [one.index for one in join.slots if one is not slot]
        bound = {"slot": slot.name, "checked": partial(checked_value, slot.reactive), "memory": slot.memory}
        bound |= {f"memory{index}": join.slots[index].memory for index in self._others}
        self._write()
        self.function: Callable[[Any, Any], list[Event] | None] = self._define({**bound, **self._bound()})

    @abstractmethod
    def _bound(self) -> Mapping[str, Any]:
        """Return what the names mean that it writes besides."""

    @abstractmethod
    def _find_places(self, row: str, places: str) -> None:
        """Write what finds the places of a row in the indexes; the row ``before`` is there."""

    @abstractmethod
    def _find_rows(self) -> None:
        """Write what finds the rows of the join that the change concerns, and what becomes of each (`_tell`)."""

    def _prepare(self) -> None:
        self._lines.add(_BEGIN)
        for index in self._others:
            self._lines.add(f"visited{index} = 0")

    def _find_out(self) -> None:
        self._take_in()
        with self._lines.under("if part is not None or before is not None:"):
            self._find_rows()

    def _change(self) -> None:
        for index in self._others:
            self._lines.add(f"memory{index}.visited += visited{index}")
        keep = _KEEP
        for fate in (Fate.DELIVERED, Fate.EXPIRED, Fate.REPLACED):
            keep = keep.replace(fate.name, self._slot.ledger.text(fate))
        self._lines.add(keep)

    def _take_in(self) -> None:
        """Write what brings the change into form, and finds the row that it replaces."""
        self._lines.add(_CHANGE)
        with self._lines.under("if before is not None:"):
            self._find_places("before", "going")
        with self._lines.under("if type(value) is Update:"):
            self._lines.add(_ROW)
            for needed in self._join.bindings.needed[self._slot.index]:
                self._lines.add(f"""
                    if is_null({self._constants.name(needed.compute)}(value)):
                        return steps.given_up.leave("a row has no key, and is set aside")
                """)
            self._find_places("part", "coming")

    def _tell(self, key: str, others: Iterable[str]) -> None:
        """Write what says that a row of the join has changed, at the hull of its other parts and of the change."""
        with self._lines.under("if old is nothing or now is nothing or not is_unchanged(old, now):"):
            self._lines.add("since, until = start, end")
            with self._lines.under("if now is nothing:"):
                self._lines.add(f"change = Delete({key})")
            with self._lines.under("else:"):
                self._lines.add(f"change = Update({key}, now)")
                for other in others:
                    self._lines.add(f"""
                        if {other} is not None:
                            if {other}.start < since:
                                since = {other}.start
                            if {other}.end > until:
                                until = {other}.end
                    """)
            before = "() if old is nothing else (old,)"
            self._lines.add(event_text("change", ("since", "until"), f"(output, {key})", before))
