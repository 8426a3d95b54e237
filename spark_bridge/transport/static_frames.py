"""Static frames: frames without event times, and beside streams those that are none; rows that are before all time.

A table of berths beside a stream of ships is one. Spark gives a stateful operator the rows of streams alone, so the
rows of a static frame are read when the program is put together, and travel with it: a bucket that has no state yet
uses its rows before all others, and its state has them from then on. In a batch they are rows among others, of a time
before all other times.

Invariant: a bucket uses the rows of a static frame once, however often the query is restarted; a state that has used
other rows is refused (`column_drifts.moved`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import attrs

from spark_bridge.transport.arrivals import COLUMNS, SEQUENCE, TIME
from spark_bridge.transport.envelope import tagged
from spark_bridge.transport.packing import chunk_schema, unpacked
from spark_bridge.transport.row_order import ordered
from spark_bridge.transport.wire import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spark_bridge.transport.dead_letters import Plausible
    from spark_bridge.transport.source_frames import Source


@attrs.frozen
class StaticRows:
    """The rows of the static frames of a query, by the place of the source.

    Args:
        split: Of sources that are split, the chunks of each bucket.
        everywhere: Of all others, the chunks that each bucket has.
        digests: Of each source, by its name: the same digest, the same rows.
    """

    split: Mapping[int, Mapping[int, Sequence[bytes]]] = attrs.field(factory=dict)
    everywhere: Mapping[int, Sequence[bytes]] = attrs.field(factory=dict)
    digests: Mapping[str, str] = attrs.field(factory=dict)

    def of(self, bucket: int) -> dict[int, Sequence[bytes]]:
        """Return the chunks of a bucket, by the place of their source."""
        return {**self.everywhere, **{place: chunks.get(bucket, ()) for place, chunks in self.split.items()}}


def static_rows(sources: Iterable[Source], buckets: int, plausible: Plausible) -> StaticRows:
    """Return the rows of those sources that are static; Spark reads them now."""
    split, everywhere, digests = {}, {}, {}
    for source in sources:
        if source.event_time is not None:
            continue
        chunks = gathered(source, buckets if source.partition is not None else 1, plausible)
        if source.partition is not None:
            split[source.number] = chunks
        else:
            everywhere[source.number] = chunks.get(0, [])
        digests[source.input.name] = digest_of(source, chunks)
    return StaticRows(split, everywhere, digests)


def gathered(source: Source, buckets: int, plausible: Plausible) -> dict[int, list[bytes]]:
    """Return the chunks of a static source, by their buckets."""
    found: dict[int, list[bytes]] = {}
    for row in tagged(source, buckets, plausible).select("bucket", "chunk").collect():
        found.setdefault(row.bucket, []).append(bytes(row.chunk))
    return found


def digest_of(source: Source, chunks: Mapping[int, Sequence[bytes]]) -> str:
    """Return the same for the same rows, whatever chunks they are in and whatever order they came in."""
    digest = hashlib.blake2b(digest_size=16)
    for bucket in sorted(chunks):
        table = unpacked(chunks[bucket], chunk_schema(source.input.schema))
        helpers = [table.column(place).to_numpy() for place in (SEQUENCE, TIME)]
        order = ordered([helpers[0]], [helpers[1]], [table.select(range(COLUMNS, table.num_columns))])
        for batch in table.take(order).combine_chunks().to_batches():
            digest.update(written(batch))
    return digest.hexdigest()
