"""What a correlation of which parts may be missing refuses, since it could not be decided which rows there are.

Source: SEMANTICS 2.6 and 3.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.errors import InvalidArgument
from cartesius.language.families import optional
from cartesius.rows.partial_rows import MAX_SLOTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.batching.batches import Batch
    from cartesius.correlations.installations import Installed


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
