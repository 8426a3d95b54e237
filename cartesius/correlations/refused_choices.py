"""What correlations refuse: with versions, what has no meaning at a time; with missing parts, rows that nobody decides.

Source: SEMANTICS 2.6, 3.6 and 3.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.errors import InvalidArgument
from cartesius.language.families import optional
from cartesius.plan import facts
from cartesius.plan.nodes import Now
from cartesius.results.outputs import Events, Rows
from cartesius.rows.partial_rows import MAX_SLOTS
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
    """Refuse rows that are not known by time, partial rows that no event dates, and versions that do not stay."""
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
    kept = [one.name for one, kind in zip(batch.slots, kinds, strict=True) if kind is Kind.VERSIONS]
    leaving = [slot.name for one in installed if isinstance(one.node, Now) for slot in one.named if slot.name in kept]
    if leaving and batch.is_pure:
        message = (
            f"{keeper!r}: expected versions of {leaving[0]!r} that stay for corrections, beside retracting, but"
            " momentarily lets each go with its step, so that results would be taken back that never were; leave out"
            " one of the three"
        )
        raise InvalidArgument(message)


def check_missing(batch: Batch, settling: Sequence[Installed], installed: Sequence[Installed]) -> None:
    """Refuse partial rows that are never final, and bounds in time on more than two parts."""
    asking = next(one.restriction for one in installed if any(family is optional for _, family, _, _ in one.marks))
    if settling and len(batch.slots) > MAX_SLOTS:
        message = (
            f"{settling[0].restriction!r}: expected a correlation of two slots, where parts may be missing by"
            f" {asking!r}, but it has {len(batch.slots)}; correlate two, and the result with the third"
        )
        raise InvalidArgument(message)
    settled = {slot for one in settling for slot in one.named}
    if not batch.is_pure and settled != set(batch.slots):
        message = (
            f"{asking!r}: expected retracting() beside it, as a row with a missing part is taken back when a partner"
            " comes, or a bound in time on all slots, such as within, after which the row is final; write"
            " optionally(…) | retracting()"
        )
        raise InvalidArgument(message)
