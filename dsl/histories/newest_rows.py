"""The newest row of each key at a moment: all that a judgement at that moment may depend on.

Of a forecast all predictions are kept, since several of them count at once.

Invariant: rows come in the order in which they are used, so that a program that is given them is in the state that it
would be in after the whole history until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa

from dsl.histories.field_columns import TIME, joined, timed_rows, times_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from dsl.histories.history_folders import History
    from dsl.terms.terms import Declaration

    Kept: TypeAlias = Mapping[str, pa.Table]

_MANY = 200_000


@attrs.frozen
class Newest:
    """The rows at a moment.

    Args:
        tables: By source, the rows, with their ``time``.
        first: The time of the first row of the whole history, in microseconds since the epoch; None: it has no rows.
    """

    tables: Kept
    first: int | None

    def rows(self, source: str) -> list[tuple[dict[str, Any], int]]:
        """Return the rows of a source, as an engine takes them, each with its time."""
        return timed_rows(self.tables[source])


def newest(history: History, until: int) -> Newest:
    """Return the newest rows at a moment, its own included; what is later is not read.

    Args:
        history: The history.
        until: The moment, in microseconds since the epoch.

    Raises:
        InvalidArgument: As for `History.columns`.
    """
    declared = {name: files.source for name, files in history.files.items()}
    parts: dict[str, list[pa.Table]] = {name: [] for name in declared}
    held = dict.fromkeys(declared, 0)
    first: int | None = None
    for batch in history.batches():
        start = min(int(times_of(table)[0]) for table in batch.values())
        first = start if first is None else first
        for name, table in batch.items():
            part = table.slice(0, int(np.searchsorted(times_of(table), until, side="right")))
            parts[name].append(part)
            held[name] += part.num_rows
            if held[name] > _MANY:
                parts[name] = [_newest_of(declared[name], parts[name])]
                held[name] = 0
        if start > until:
            break
    tables = {name: _newest_of(declared[name], each) for name, each in parts.items()}
    return Newest(tables, first)


def _newest_of(source: Declaration, parts: list[pa.Table]) -> pa.Table:
    if not parts:
        return pa.table({TIME: pa.array([], pa.int64())})
    table = joined(source.name, parts)
    if source.forecast or not table.num_rows:
        return table
    if source.key is None:
        return table.slice(table.num_rows - 1)
    keys = table.column(source.key).combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    # np.unique gives the first place of each value: of the rows turned round, that is the last.
    _, places = np.unique(keys[::-1], return_index=True)
    return table.take(pa.array(np.sort(len(keys) - 1 - places)))
