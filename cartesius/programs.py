"""A program: the correlations behind the outputs, in topological order, at work in one world.

Names are unique: no two inputs may share one; that of a derived reactive, or of `Reactive.of`, is numbered if taken.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cartesius.codec import storable
from cartesius.errors import InvalidArgument
from cartesius.families import arrive, push
from cartesius.join_shape import Join
from cartesius.kept_rows import KeptRows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius.alternatives import Group
    from cartesius.families import Slot
    from cartesius.reactives import Reactive
    from cartesius.world import World


class Program:
    """The correlations that compute ``outputs``.

    Raises:
        InvalidArgument: Two inputs have one name.
    """

    def __init__(self, outputs: Iterable[Reactive], world: World) -> None:
        self.outputs = tuple(outputs)
        self.world = world
        self.inputs: dict[str, Reactive] = {}
        self.names: dict[Reactive, str] = {}
        self.joins: list[Join] = []
        self.join_of: dict[Reactive, Join] = {}
        self.bound: dict[Reactive, list[tuple[Join, int]]] = {}
        self.kept: dict[Reactive, KeptRows] = {}
        self.groups: dict[Group, list[Join]] = {}  # the alternatives that share what they consume, as written
        for output in self.outputs:
            self._add(output)
        for table, bound in self.bound.items():
            if table.table and table.pattern is None and not any(keeps_rows(join, join.slots[i]) for join, i in bound):
                self.keeper(table)  # so that it can be read

    def _add(self, reactive: Reactive) -> None:
        if reactive in self.names:
            return
        if reactive.type is not None:
            storable(reactive.type)
        pattern = reactive.pattern
        if pattern is None:
            name = reactive.name if reactive.items is None else self._free(reactive.name)
            if name in self.inputs:
                message = f"Engine: expected inputs of different names but two are called {name!r}; rename one"
                raise InvalidArgument(message)
            self.names[reactive] = name
            self.inputs[name] = reactive
            return
        for source in pattern.slots.values():
            self._add(source)
        self.names[reactive] = name = self._free(reactive.name)
        join = Join(pattern, name, len(self.joins), self.world)
        self.joins.append(join)
        self.join_of[reactive] = join
        if pattern.alternative is not None:
            self.groups.setdefault(pattern.alternative.group, []).append(join)
        for slot in join.slots:
            slot.source = self.names[slot.reactive]
            if recalls(join, slot):
                slot.kept = self.join_of.get(slot.reactive) or self.keeper(slot.reactive)
            self.bound.setdefault(slot.reactive, []).append((join, slot.index))

    def keeper(self, table: Reactive) -> KeptRows:
        """Return what keeps the rows of an input, made if need be."""
        return self.kept.setdefault(table, KeptRows(self.world.journal))

    def take_over(self, join: Join) -> None:
        """Keep the rows of the inputs of a correlation that has completed: its memories take nothing any more."""
        for slot in join.slots:
            table = slot.reactive
            is_read = table.table and table.pattern is None and table not in self.kept and keeps_rows(join, slot)
            if is_read and not slot.keeps_versions:
                self.keeper(table).present.update({entry.row_key: entry.value for entry in slot.memory.all()})
                self.world.journal.append(partial(self.kept.__delitem__, table))

    def _free(self, wanted: str) -> str:
        taken = set(self.names.values())
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}#{number}"
        return name

    def drop(self) -> None:
        """Unwind the strands of all correlations."""
        for join in self.joins:
            join.drop()

    def describe(self, **options: Any) -> str:
        """Return a canonical text of the program, the same in every process; its fingerprint goes with saved state."""
        joins = [join.pattern.describe(self.names) for join in self.joins]
        outputs = ", ".join(self.names[output] for output in self.outputs)
        return "\n".join([*joins, f"outputs {outputs}", *(f"{name} {value}" for name, value in options.items())])


def keeps_rows(join: Join, slot: Slot) -> bool:
    """Whether the memory of a slot of a table is its rows: no restriction changes or drops what comes."""
    return not any(
        slot in one.slots_of(fields)
        for one in join.installed
        for _, family, fields, _ in one.marks
        if family in (arrive, push)
    )


def recalls(join: Join, slot: Slot) -> bool:
    """Whether the changes of a slot must come with the rows that they replace."""
    return any(slot in one.slots[field] for one in join.installed for field in one.restriction.recalls)
