"""Stages over tables: what their kernels have in common, which is how rows come to them and go back to the objects.

A slot that keeps no rows (`transiently`) has them here nevertheless, to know what a change replaces; they are taken
from where they are kept, and are not given back. A stream of which a restriction makes rows has its keys computed here.

Source: SEMANTICS 2.1 to 2.3.
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.bodies.computed import linking, of_predicates, once
from cartesius.columns.bodies.vectorising import ColumnarBody
from cartesius.columns.lifetimes.lifetimes import predicates_of
from cartesius.columns.stages.rows import BEFORE, Rows
from cartesius.columns.stages.stages import Stage, State
from cartesius.columns.stages.stored_rows import checked_keys, load_rows
from cartesius.columns.tables.table_rows import versions
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.key_codes import nulls
from cartesius.columns.vectors.vectors import MISSING, Leaf, NotColumnar, Struct
from cartesius.data.generated import commented
from cartesius.data.null_values import is_null
from cartesius.data.records import wrap
from cartesius.expressions.value_functions import of_value
from cartesius.language.reactives import Undeclared
from cartesius.plan.nodes import Announce, Fold, Let, Recall, Upsert
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Flow
    from cartesius.columns.tables.table_rows import Versions
    from cartesius.columns.tables.timelines import Found
    from cartesius.columns.vectors.vectors import Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot

    Fates: TypeAlias = Mapping[int, Mapping[Fate | None, int]]


_FOUND: Final = frozenset({int, str, NoneType})
"""The types of keys that are found by what equals them, whatever columns hold them as."""
DROPPING: Final = frozenset({Let, Recall, Announce})
"""What drops changes: of a table those that change nothing."""


class Output(Protocol):
    """What becomes of the results of a table's timeline."""

    how: str
    reads_rows: bool
    """Whether the rows of the table follow from those in memory."""

    def load(self, join: Join) -> Any:
        """Return what the objects hold of it."""

    def store(self, join: Join, more: Any) -> None:
        """Let the objects hold it."""

    def given(self, found: Found, more: Any, steps: int) -> tuple[Flow, Any]:
        """Return what a batch gives, and what is held after it."""


class TableStage(Stage):
    """A correlation whose slots have rows; kernels subclass it.

    Args:
        join: The correlation.
        output: What becomes of the results.
        missing: Of each slot whether its part may be missing.
    """

    is_in_memory = True
    how = ""
    tells_gates = False  # whether it tells what a gate of one slot has dropped
    roots: Sequence[int] = ()  # the slots whose rows have the keys of the table's; none: it does not know

    def __init__(self, join: Join, output: Output, missing: Sequence[bool]) -> None:
        super().__init__(join)
        self.output = output
        self.missing = missing
        self.body = ColumnarBody(join, linking(join))
        self.is_transient = any(isinstance(one.node, Recall) for one in join.installed)
        self.is_read_only = join.batch.is_read_only
        self.keys: dict[int, Any] = {
            one.node.slot.index: of_value(one.node.key) if callable(one.node.key) else one.node.key
            for one in join.installed
            if isinstance(one.node, Upsert)
        }
        self.folds = {
            one.node.slot.index: (one.node.initial, one.node.combine)
            for one in join.installed
            if isinstance(one.node, Fold)
        }
        self.predicates = {slot.index: predicates_of(join, slot) for slot in join.slots}

    def source(self) -> str:
        """Return the generated code."""
        shown = " | ".join(repr(one.restriction) for one in self.join.installed)
        slots = ", ".join(f"{slot.name}: {slot.reactive.name}" for slot in self.join.slots)
        head = f"# {commented(self.join.name)}: {commented(slots)}\n# {commented(shown)}\n"
        head += f"# {self.how}; evaluate; {self.output.how}\n"
        return head + "\n".join(code.text for code in self.body.codes)

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return the rows that the objects hold."""
        arriving = self.with_keys(arriving)
        kept = [self._load(slot, arriving.get(slot.index)) for slot in self.join.slots]
        return State(tuple(kept), self.output.load(self.join))

    def _load(self, slot: Slot, like: Rows | None) -> Rows | None:
        if like is not None and not _says_types(like):
            like = None
        if like is not None and slot.index in self.folds:  # of what comes, only the key is kept as it is
            like = attrs.evolve(like, payload=Leaf(pa.nulls(len(like))))
        if slot.kept is None:
            return load_rows(slot, like)
        needed = self.join.bindings.needed[slot.index]
        rows = {
            key: value
            for key, value in slot.kept.rows().items()
            if not needed or not any(is_null(one.compute(wrap(value))) for one in needed)
        }
        if not rows:
            return None
        payload = of_values([wrap(value) for value in rows.values()], None if like is None else like.payload)
        keys = checked_keys(of_values(list(rows), None if like is None else like.key))
        none = np.zeros(len(rows), np.int64)
        return Rows(payload, none, none, none, none, np.full(len(rows), BEFORE, np.int64), keys)

    def about(self, state: State, key: Any) -> State | None:
        """Return the rows that the row of a key is made of: its own, and what these name; of totals none but those."""
        n = len(self.join.slots)
        if not self.output.reads_rows:
            return State((None,) * n, state.more)
        is_shared = len({id(slot.memory) for slot in self.join.slots}) < n  # then one slot's rows alone are stored
        if not self.roots or (is_shared and self.links):
            return None
        keys: list[set[Any]] = [{key} if slot in self.roots else set() for slot in range(n)]
        rows = list(state.retained)
        for slot in self.roots:
            rows[slot] = self.under(slot, rows[slot], keys[slot])
        for link, (of, slot) in enumerate(self.links):
            naming = rows[of]
            keys[slot] |= set() if naming is None else set(self.named(link, naming).to_list())
            rows[slot] = self.under(slot, rows[slot], keys[slot])
        return State(tuple(rows), state.more) if all(type(one) in _FOUND for some in keys for one in some) else None

    def under(self, slot: int, rows: Rows | None, keys: Collection[Any]) -> Rows | None:
        """Return the rows of a slot under some keys, ints or strings."""
        there = None if rows is None else self.keyed(slot, rows)
        if rows is None or there is None:
            return rows
        return rows.take(np.flatnonzero([key in keys for key in there.to_list()]))

    def store(self, state: State, stored: set[int]) -> None:
        """Let the objects hold the rows."""
        super().store(state, stored)
        self.output.store(self.join, state.more)

    def tells(self, slot: Slot) -> frozenset[Fate | None]:
        """Tell what a gate drops, if there is one; what it lets through of deletions expires.

        Once rows without a key have been set aside, that is not told: to delete such a row is not in vain.
        """
        gates = [type(gate.node) for gate in self.join.gates[slot.index] if type(gate.node) in DROPPING]
        is_known = self.tells_gates and len(gates) == 1 and not slot.ledger.of(Fate.SET_ASIDE)
        return frozenset({None, Fate.EXPIRED}) if is_known else frozenset()

    def told(self, them: Sequence[Versions]) -> Fates:
        """Return what `tells` promises of tables that keep rows: a row that a filter stops goes on as a deletion."""
        return {
            slot.index: {Fate.EXPIRED: int(np.count_nonzero(one.target == MISSING))}
            for slot, one in zip(self.join.slots, them, strict=True)
            if self.tells(slot) and len(one)
        }

    def passed_on(self, one: Versions, changed: NDArray[np.bool_]) -> Fates:
        """Return likewise of a table that keeps none: those of its versions that change something go on."""
        n, changes = int(np.count_nonzero(one.position != BEFORE)), int(np.count_nonzero(changed))
        return {0: {None: n - changes, Fate.EXPIRED: changes}} if self.tells(self.join.slots[0]) else {}

    def with_keys(self, arriving: Mapping[int, Rows]) -> Mapping[int, Rows]:
        """Return what arrives, with the keys of the rows that a stream becomes."""
        if not self.keys:
            return arriving
        return {
            index: attrs.evolve(rows, key=_key(rows.payload, self.keys[index])) if index in self.keys else rows
            for index, rows in arriving.items()
        }

    def keyed(self, slot: int, rows: Rows) -> Vector | None:
        """Return the keys of rows of a slot."""
        return self.with_keys({slot: rows})[slot].key if rows.key is None else rows.key

    def versions(self, state: State, arriving: Mapping[int, Rows]) -> list[Versions]:
        """Return the versions of each slot."""
        arriving = {index: self._let_in(index, rows) for index, rows in self.with_keys(arriving).items()}
        for index, (initial, combine) in self.folds.items():
            if index in arriving:
                rows = arriving[index]
                arriving[index] = attrs.evolve(rows, payload=_folded(state.retained[index], rows, initial, combine))
        return [versions(rows, arriving.get(index)) for index, rows in enumerate(state.retained)]

    def _let_in(self, slot: int, rows: Rows) -> Rows:
        """Return what comes to a slot; a row that a filter stops is a deletion."""
        if not self.predicates[slot]:
            return rows
        fails = np.zeros(len(rows), np.bool_)
        asked = np.arange(len(rows)) if rows.deletes is None else np.flatnonzero(~rows.deletes)
        holds = of_predicates(self.predicates[slot], rows.take(asked))
        fails[asked] = False if holds is None else ~holds
        return attrs.evolve(rows, deletes=fails if rows.deletes is None else fails | rows.deletes)


def _folded(before: Rows | None, rows: Rows, initial: Any, combine: Callable[[Any, Any], Any]) -> Vector:
    """Return the folds that updates come to, one by one."""
    folds: dict[Any, Any] = {}
    if before is not None and before.key is not None:
        folds = dict(zip(before.key.to_list(), before.payload.to_list(), strict=True))
    assert rows.key is not None  # Invariant: rows of a table have keys
    deletes = [False] * len(rows) if rows.deletes is None else rows.deletes.tolist()
    found: list[Any] = []
    try:
        for key, value, gone in zip(rows.key.to_list(), rows.payload.to_list(), deletes, strict=True):
            if gone:
                folds.pop(key, None)
            else:
                folds[key] = combine(folds.get(key, initial), value)
            found.append(folds.get(key))
    except Exception as error:
        raise NotColumnar(f"a fold raises {type(error).__name__}") from error
    return of_values(found, None if before is None else before.payload)


def _says_types(rows: Rows) -> bool:
    """Whether the types of rows can be those of others: not so if they are deletions, or all None."""
    if not len(rows) or (rows.deletes is not None and rows.deletes.all()):
        return False
    return not any(isinstance(one, Leaf) and one.type == pa.null() for one in (rows.payload, rows.key))


def _key(payload: Vector, key: str | Callable[[Any], Any]) -> Vector:
    if isinstance(key, str):
        item = payload.item(key) if isinstance(payload, Struct) and payload.kind == "record" else None
        if item is None or (isinstance(payload, Struct) and payload.valid is not None):
            raise NotColumnar(f"not every value has a field {key!r}")
        found = item
    else:
        found = once(key, payload)
    if nulls(found) is not None:
        raise NotColumnar("a key is null")
    return found


def has_known_keys(join: Join) -> bool:
    """Whether the keys of rows that are made of streams are computed."""
    return not any(isinstance(one.node, Upsert) and isinstance(one.node.key, Undeclared) for one in join.installed)
