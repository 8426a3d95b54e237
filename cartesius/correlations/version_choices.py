"""What a correlation with versions refuses, since it would have no meaning at a time.

Source: SEMANTICS 3.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.errors import InvalidArgument
from cartesius.plan import facts
from cartesius.results.outputs import Events, Rows
from cartesius.storage.version_memories import Kind, VersionMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.batching.batches import Batch
    from cartesius.correlations.installations import Installed


def refuse_versions(batch: Batch, installed: Sequence[Installed]) -> None:
    """Refuse versions of parts that never meet."""
    if batch.versions is not None:
        keeper = next(one.restriction for one in installed if facts.versions(one))
        message = f"{keeper!r}: expected parts that meet, at a time, but separately keeps them apart; leave one out"
        raise InvalidArgument(message)


def check_versions(batch: Batch, missing: Sequence[bool], installed: Sequence[Installed]) -> None:
    """Refuse rows that are not known by time, and partial rows that no event gives a time."""
    keeper = next(one.restriction for one in installed if facts.versions(one))
    if isinstance(batch.output, Rows):
        message = (
            f"{keeper!r}: expected as_table of a slot's key, beside retracting and nothing that expires, so that a row"
            " is known at each time, but the rows here are kept as they come; write as_table('slot') | retracting()"
        )
        raise InvalidArgument(message)
    kinds = [slot.memory.kind for slot in batch.slots if isinstance(slot.memory, VersionMemory)]
    mandatory = [kind for kind, may_miss in zip(kinds, missing, strict=True) if not may_miss]
    if any(missing) and isinstance(batch.output, Events) and Kind.POINTS not in mandatory:
        message = (
            f"{keeper!r}: expected a stream that may not be missing, or as_table, beside optionally, as a row with a"
            " missing part holds for some time only; write as_table(…)"
        )
        raise InvalidArgument(message)
