"""Fates: what becomes of the deliveries of a batch, as far as columns tell.

What comes, what is late, set aside, or a deletion, is counted batch by batch. What has left meanwhile is known when the
objects own the state again, as nothing is lost: of a slot of which a stage tells all ways but one (`Stage.tells`), by
that one; of others it is not told why (`Fate.UNTOLD`).

Invariant: once the objects own the state, all deliveries are accounted for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cartesius.columns.tables.table_stages import DROPPING, TableStage
from cartesius.correlations.gates import count_late, number_held
from cartesius.plan import facts
from cartesius.plan.nodes import (
    BANDS,
    Aggregate,
    AsTable,
    Complete,
    Fold,
    KeyBy,
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
    TakeOrder,
    Upsert,
    Uses,
    Visit,
)
from cartesius.storage.conservation import Fate
from cartesius.storage.version_memories import VersionMemory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Counts, Late, Outcome, Stage
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program
    from cartesius.storage.conservation import Ledger

_BY: Final[Mapping[type[Node], Fate]] = {
    Newest: Fate.DISPLACED,
    Oldest: Fate.DISPLACED,
    Uses: Fate.USED_UP,
    Now: Fate.EXPIRED,
    Regular: Fate.EXPIRED,
    Sessions: Fate.EXPIRED,
    **dict.fromkeys(BANDS, Fate.EXPIRED),
}
"""How what a restriction is about leaves by it."""
_KEEP: Final = frozenset(
    {
        KeyBy, Lockstep, May, TakeBack, AsTable, Complete, TakeOrder,
        Visit, Separate, Aggregate, Fold, Upsert,
    }
)  # fmt: skip
"""What lets nothing leave, outside of windows."""


class Counting:
    """What a batch brings to the slots of a program; counted once it stands."""

    def __init__(self) -> None:
        self._found: list[tuple[Ledger, Fate, int]] = []
        self._late: list[Iterable[tuple[Join, int]]] = []  # of each late event the slots
        self._dropped: list[tuple[Ledger, int]] = []
        self._known: set[int] = set()  # of memories that slots share, those that have been counted

    def come_late(self, program: Program, late: Sequence[tuple[int, Late]]) -> None:
        """Note what the clock has set aside of the inputs."""
        for _, (_, name, _) in late:
            self._late += [program.bound.get(program.inputs[name], ())]

    def come(self, stage: Stage, arriving: Mapping[int, Rows], aside: Mapping[int, int], outcome: Outcome) -> None:
        """Note what has come to a correlation, and how many of each slot were set aside before it."""
        for slot in stage.join.slots:
            if id(slot.ledger) in self._known:
                continue
            self._known.add(id(slot.ledger))
            self._note(slot.ledger, Fate.SET_ASIDE, aside.get(slot.index, 0))
            self._note(slot.ledger, Fate.SET_ASIDE, sum(name == slot.name for _, (_, name, _) in outcome.late))
            rows, told = arriving.get(slot.index), outcome.fates.get(slot.index, {})
            if aside.get(slot.index) and isinstance(stage, TableStage):
                told = {}  # as `TableStage.tells` has it: a row that is set aside is there to be deleted
            if outcome.delivered is not None and slot.has_windows:
                self._found.append((slot.ledger, Fate.DELIVERED, outcome.delivered.get(slot.index, 0)))
            elif rows is not None:
                self._found.append((slot.ledger, Fate.DELIVERED, len(rows)))
                if rows.deletes is not None and Fate.EXPIRED not in told:
                    may_drop = any(type(gate.node) in DROPPING for gate in stage.join.gates[slot.index])
                    fate = Fate.UNTOLD if may_drop else Fate.EXPIRED
                    self._found.append((slot.ledger, fate, int(rows.deletes.sum())))
            self._dropped += [(slot.ledger, n) for fate, n in told.items() if fate is None]
            self._found += [(slot.ledger, fate, n) for fate, n in told.items() if fate is not None]

    def _note(self, ledger: Ledger, fate: Fate, n: int) -> None:
        self._found += [(ledger, Fate.DELIVERED, n), (ledger, fate, n)]

    def count(self) -> None:
        """Count it, as the batch stands."""
        for ledger, fate, n in self._found:
            ledger.count(fate, n)
        for ledger, n in self._dropped:
            ledger.give(0, -n)
        for bound in self._late:
            count_late(bound)


def held_of(joins: Sequence[Join]) -> dict[tuple[int, int], tuple[Slot, list[int]]]:
    """Return how many events of each slot its gates hold, by the numbers of the correlation and the slot."""
    return {(join.number, slot.index): (slot, number_held(join, slot)) for join in joins for slot in join.slots}


def balance(
    stages: Sequence[Stage], held: Mapping[tuple[int, int], tuple[Slot, list[int]]], counts: Mapping[int, Counts] | None
) -> None:
    """Account for what has left while columns owned the state.

    Args:
        stages: The stages.
        held: What gates held before that.
        counts: What `Stage.counts` returned, by the numbers of the correlations; None: the objects own the state.
    """
    ways = {stage.join.number: stage for stage in stages}
    for place, (slot, now) in held_of([stage.join for stage in stages]).items():
        for gate, (after, before) in enumerate(zip(now, held[place][1], strict=True)):
            slot.ledger.give(gate, before - after)
        present = None if counts is None else counts[place[0]][slot.index][0]
        lost = slot.unaccounted if present is None else slot.ledger.unaccounted(present)
        if lost:
            fate, gate = _way_out(ways[place[0]], slot)
            if fate is not None:
                slot.ledger.count(fate, lost)
            else:
                slot.ledger.give(gate, -lost)


def _way_out(stage: Stage, slot: Slot) -> tuple[Fate | None, int]:
    """Return the only fate, of which it is not told, that what leaves a slot has, or None and the only gate."""
    join, told = stage.join, stage.tells(slot)
    fates = {Fate.DISPLACED} if slot.is_table else set()
    gates = []
    for one in join.installed:
        node = type(one.node)
        if one.named and slot not in one.named:
            continue
        if node is Lockstep and slot.has_windows:  # what it holds of a window that is freed it drops
            gates.append(join.gates[slot.index].index(one))
        if node in _KEEP:
            continue
        if node in DROPPING and None in told:
            continue
        if node is Let and not slot.is_table:
            gates.append(join.gates[slot.index].index(one))
        elif facts.forgets(one):
            fates.add(Fate.EXPIRED)
        else:
            fates.add(_BY.get(node, Fate.UNTOLD))
    fates -= told
    if isinstance(slot.memory, VersionMemory) or len(fates) + len(gates) != 1:
        return Fate.UNTOLD, 0
    return (None, gates[0]) if gates else (fates.pop(), 0)
