"""What is in the state of one bucket: rows by slot, the oldest, and the key that has most. No program is needed.

Source: DESIGN.md, section 7.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.columns.stages.rows import Rows
from cartesius.columns.vectors.vectors import Struct
from cartesius.engines.saving import Memory
from spark_bridge.state.state_columns import decoded
from spark_bridge.state.state_headers import split

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@attrs.frozen
class SlotContents:
    """What one slot of one bucket holds.

    Args:
        output: The correlation.
        slot: Its slot.
        rows: How many rows are in its memory.
        oldest: When the oldest of them ended, in time units; None if there is none.
    """

    output: str
    slot: str
    rows: int
    oldest: int | float | None


@attrs.frozen
class BucketContents:
    """What one bucket holds.

    Args:
        bucket: Its number.
        version: How many calls it has seen.
        size: How many bytes its state has.
        slots: What its slots hold, those that share a memory each.
        waiting: How many rows wait for the clock.
        keys: How many rows each partition key has.
    """

    bucket: int
    version: int
    size: int
    slots: tuple[SlotContents, ...]
    waiting: int
    keys: Counter[str] = attrs.field(repr=False)

    @property
    def rows(self) -> int:
        """How many rows are in memory or wait, those of a shared memory counted for each slot."""
        return self.waiting + sum(slot.rows for slot in self.slots)


def contents(blob: bytes) -> BucketContents:
    """Return what is in a blob.

    Raises:
        SnapshotMismatch: It is no state of a bucket, damaged, or has values of a type that is not registered here.
    """
    header, body = split(blob)
    about, state = json.loads(header.about), decoded(body)
    keys: Counter[str] = Counter()
    slots = []
    for output, slot, source, memory in _memories(about["program"], state["engine"]):
        ends, values = _ends(memory), _values(memory, about["keys"].get(source))
        slots.append(SlotContents(output, slot, len(ends), min(ends, default=None)))
        keys.update(map(str, values))
    return BucketContents(header.bucket, header.version, len(blob), tuple(slots), state["waiting"], keys)


def _memories(card: Mapping[str, Any], engine: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Any]]:
    """Iterate over (correlation, slot, source, memory)."""
    for place, (name, _) in enumerate(engine["layout"]["joins"]):
        slots = card["correlations"][name]["slots"]
        found = engine["columns"][place] if "columns" in engine else engine["joins"][place]["memories"]
        for (slot, source), memory in zip(slots.items(), found, strict=True):
            if isinstance(memory, tuple):  # it is shared, and is where this says
                other, index = memory
                yield name, slot, source.split(" ")[0], engine["joins"][other]["memories"][index]
            else:
                yield name, slot, source.split(" ")[0], memory.rows if isinstance(memory, Memory) else memory


def _ends(memory: Any) -> list[Any]:
    if memory is None:
        return []
    memory = memory.rows if isinstance(memory, Memory) else memory
    return memory.end.tolist() if isinstance(memory, Rows) else [entry.end for entry in memory]


def _values(memory: Any, column: str | None) -> list[Any]:
    """Return what the rows of a memory have in a column."""
    memory = memory.rows if isinstance(memory, Memory) else memory
    if memory is None or column is None:
        return []
    if isinstance(memory, Rows):
        vector = memory.payload.item(column) if isinstance(memory.payload, Struct) else None
        return [] if vector is None else vector.to_list()
    found = [entry.value for entry in memory]
    return [value[column] if hasattr(value, "keys") else getattr(value, column, None) for value in found]
