"""A program: the correlations behind the outputs, in topological order, at work in one world.

Names are unique: no two inputs may share one; that of a derived reactive, or of `Reactive.of`, is numbered if taken.
Correlations that are the same pattern are one: same inputs, equal bodies and restrictions, functions by identity.

While an engine runs, its outputs change by a new program made from the one ``before``: it takes over the correlations
that are still wanted, with their state, names and numbers, and makes those that are missing.

Invariant: `joins` is in the order in which a walk from the outputs meets them, so it follows from the outputs alone.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.analysis.windowed_rows import may_share_rows
from cartesius.correlations.join_shape import Join
from cartesius.data.codec import storable
from cartesius.data.entries import GONE
from cartesius.data.events import Event
from cartesius.effects.evidence import put_back
from cartesius.errors import InvalidArgument
from cartesius.language.families import arrive, push
from cartesius.language.lenience import check_lenient
from cartesius.plan import facts
from cartesius.programs.sharing import SharedMemories, settled, shared_by
from cartesius.results.views import View
from cartesius.storage.kept_rows import KeptRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius.batching.world import World
    from cartesius.language.families import Slot
    from cartesius.language.patterns import Group, Pattern
    from cartesius.language.reactives import Reactive


class Program:
    """The correlations that compute ``outputs``, and keep what can be asked of ``pulled``.

    Args:
        outputs: What is emitted.
        world: What the correlations share.
        pulled: Tables that can only be read.
        before: The program that this one follows, in the same world.
        saved: The names and numbers that a saved program had (`layout`), if this one is to be the same.

    Raises:
        InvalidArgument: Two inputs have one name, or in a lenient world an output is made of no pack of rules.
    """

    def __init__(
        self,
        outputs: Iterable[Reactive],
        world: World,
        *,
        pulled: Iterable[Reactive] = (),
        before: Program | None = None,
        saved: Mapping[str, Any] | None = None,
    ) -> None:
        self.outputs = tuple(outputs)
        self.pulled = tuple(pulled)
        self.world = world
        self.before = before
        self.inputs: dict[str, Reactive] = {}
        self.names: dict[Reactive, str] = {}
        self.joins: list[Join] = []
        self.join_of: dict[Reactive, Join] = {}
        self.bound: dict[Reactive, list[tuple[Join, int]]] = {}
        self.kept: dict[Reactive, KeptRows] = {} if before is None else dict(before.kept)
        self.groups: dict[Group, list[Join]] = {}  # the alternatives that share what they consume, as written
        self.next_number: int = 0 if before is None else before.next_number
        if world.is_lenient:
            check_lenient((*self.outputs, *self.pulled), "Engine")
        self._alike: dict[str, Join] = {} if before is None else dict(before._alike)
        self._names = [] if saved is None else list(saved["names"])
        self._joins = [] if saved is None else list(saved["joins"])
        self._shares: SharedMemories | None = None
        if before is None and world.provenance is None:  # what saw an event is recorded slot by slot
            self._shares = SharedMemories(None if saved is None else saved["shared"])
        restore_handlers = put_back()
        try:
            for output in (*self.outputs, *self.pulled):
                self._add(output)
        except BaseException:
            restore_handlers()
            self.discard(self.new_joins)
            raise
        self.before = None
        if saved is not None:
            self.next_number = max(self.next_number, saved["next"])
        self._alike = {text: join for text, join in self._alike.items() if join in self.joins}
        self.shared = settled(self.joins)
        self._keep_rows()
        self.mark_read()

    def _add(self, reactive: Reactive) -> None:
        if reactive in self.names:
            return
        if reactive.type is not None:
            storable(reactive.type)
        pattern = reactive.pattern
        if pattern is None:
            self.names[reactive] = name = reactive.name if reactive.items is None else self._name(reactive)
            if name in self.inputs:
                message = f"Engine: expected inputs of different names but two are called {name!r}; rename one"
                raise InvalidArgument(message)
            self.inputs[name] = reactive
            return
        for source in pattern.slots.values():
            self._add(source)
        self.names[reactive] = name = self._name(reactive)
        join = self._join(reactive, pattern, name)
        self.join_of[reactive] = join
        if reactive not in join.reactives:
            join.reactives.append(reactive)
        if join in self.joins:
            return
        self.joins.append(join)
        if pattern.alternative is not None:
            self.groups.setdefault(pattern.alternative.group, []).append(join)
        for slot in join.slots:
            self.bound.setdefault(slot.reactive, []).append((join, slot.index))

    def _join(self, reactive: Reactive, pattern: Pattern, name: str) -> Join:
        """Return the correlation of a pattern: the one that is there, or is the same, or a new one."""
        if self.before is not None and reactive in self.before.join_of:
            return self.before.join_of[reactive]
        sources = {source: self._source(source) for source in pattern.slots.values()}
        same = pattern.sameness(sources)
        if same in self._alike:
            return self._alike[same]
        place = len(self.joins)
        name, number = self._joins[place] if place < len(self._joins) else (name, self.next_number)
        self.next_number = max(self.next_number, number + 1)
        share = None if self._shares is None else partial(self._shares.share, sources, place)
        run = pattern.leniently() if self.world.is_lenient else pattern
        join = Join(run, name, number, self.world, share)
        for slot in join.slots:
            slot.source = sources[slot.reactive]
            if recalls(join, slot):
                slot.kept = self.join_of.get(slot.reactive) or self.keeper(slot.reactive)
        if join.batch.windows is not None:
            join.batch.windows.are_rows_shared = may_share_rows(join)
        above = [self.join_of.get(slot.reactive) for slot in join.slots]
        join.floors.begin(above)
        join.wave = max((one.wave for one in above if one is not None), default=0)
        join.wave += any(map(facts.changes_last, join.installed))
        if same is not None:
            self._alike[same] = join
        return join

    def _source(self, reactive: Reactive) -> str:
        return self.names[reactive] if reactive.pattern is None else self.join_of[reactive].name

    def _name(self, reactive: Reactive) -> str:
        """Return the name that a reactive has already, or a free one."""
        if self.before is not None and reactive in self.before.names:
            return self.before.names[reactive]
        taken = self._taken() if self.before is None else self._taken() | self.before._taken()
        place = len(self.names)
        wanted = name = self._names[place] if place < len(self._names) else reactive.name
        number = 1
        while name in taken:
            number += 1
            name = f"{wanted}#{number}"
        return name

    def _taken(self) -> set[str]:
        """Return the names of reactives, and of correlations, whose first output may have gone."""
        return {*self.names.values(), *(join.name for join in self.joins)}

    @property
    def new_joins(self) -> list[Join]:
        """The correlations that the program before did not have; while this one is made."""
        known = () if self.before is None else self.before.joins
        return [join for join in self.joins if join not in known]

    def _keep_rows(self) -> None:
        """Keep the rows of the input tables that no memory keeps, so that they can be read, and of no others."""
        wanted = {slot.kept for join in self.joins for slot in join.slots}
        kept, self.kept = self.kept, {}
        for table in self.inputs.values():
            bound = self.bound.get(table, ())
            is_in_memory = any(keeps_rows(join, join.slots[index]) and not join.is_done for join, index in bound)
            if table.table and ((table in kept and kept[table] in wanted) or not is_in_memory):
                self.kept[table] = kept.get(table) or KeptRows(self.world.journal)

    def keeper(self, table: Reactive) -> KeptRows:
        """Return what keeps the rows of an input, made if need be."""
        return self.kept.setdefault(table, KeptRows(self.world.journal))

    def take_over(self, join: Join) -> None:
        """Keep the rows of the inputs of a correlation that has completed: its memories take nothing any more."""
        for slot in join.slots:
            table = slot.reactive
            is_read = table.table and table.pattern is None and table not in self.kept and keeps_rows(join, slot)
            if is_read and not slot.keeps_versions:
                present = [entry for entry in slot.memory.all() if entry.state != GONE]  # others may still need it
                self.world.journal.append(partial(self.kept.pop, table, None))
                self.keeper(table).present.update({entry.row_key: entry.value for entry in present})

    def mark_read(self) -> None:
        """Say which tables are looked up in memory when they are asked, and never before: nobody else wants them."""
        pushed = {self.join_of[output] for output in self.outputs if output in self.join_of}
        for join in self.joins:
            is_input = any(reactive in self.bound for reactive in join.reactives)
            is_looked_up = isinstance(join.batch.output, View) and join.batch.versions is None
            join.batch.is_read_only = is_looked_up and join not in pushed and not is_input

    def as_recorded(self, event: Any) -> Any:
        """Return an event under the name of the correlation that gave it, which may stand for several outputs."""
        for reactive, join in self.join_of.items():
            if isinstance(event, Event) and event.reactive == self.names[reactive] != join.name:
                return attrs.evolve(event, reactive=join.name)
        return event

    @property
    def may_hold_strands(self) -> bool:
        """Whether a restriction may hold the rest of a strand, which is lost where a push is undone."""
        return any(not join.is_in_place for join in self.joins)

    def drop(self) -> None:
        """Unwind the strands of all correlations."""
        for join in self.joins:
            join.drop()

    def discard(self, joins: Iterable[Join]) -> None:
        """Unwind the strands of correlations that are at work no longer, and forget what they asked for."""
        for join in joins:
            join.drop()
            self.world.deadlines.forget_all(join.installed)

    def layout(self) -> dict[str, Any]:
        """Return the names and numbers that were given, in the order of the walk: a saved state refers to them."""
        groups = {shared: number for number, shared in enumerate(shared_by(self.joins))}
        return {
            "shared": [[slot.shared and groups[slot.shared] for slot in join.slots] for join in self.joins],
            "names": list(self.names.values()),
            "joins": [(join.name, join.number) for join in self.joins],
            "next": self.next_number,
        }

    def describe(self, **options: Any) -> str:
        """Return a canonical text of the program, the same in every process; its fingerprint goes with saved state."""
        joins = [join.pattern.describe({slot.reactive: slot.source for slot in join.slots}) for join in self.joins]
        named = [", ".join(self.names[output] for output in some) for some in (self.outputs, self.pulled)]
        outputs = [f"outputs {named[0]}", *([f"pulled {named[1]}"] if self.pulled else [])]
        return "\n".join([*joins, *outputs, *(f"{name} {value}" for name, value in options.items())])


def keeps_rows(join: Join, slot: Slot) -> bool:
    """Whether the memory of a slot of a table is its rows: none is dropped or changed, but those that are set aside."""
    return not any(
        slot in one.slots_of(fields)
        for one in join.installed
        for _, family, fields, _ in one.marks
        if family in (arrive, push)
    )


def recalls(join: Join, slot: Slot) -> bool:
    """Whether the changes of a slot must come with the rows that they replace."""
    return any(slot in facts.recalled(one) for one in join.installed)
