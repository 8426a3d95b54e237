"""What the rows of windows come to: their keys, and the totals of their groups, by columns or one by one.

Source: SEMANTICS 2.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cartesius.columns.bodies.column_texts import Code
from cartesius.columns.bodies.compositions import applied
from cartesius.columns.groups.extremes import Greatest, Least
from cartesius.columns.groups.sums import Counts, Means, Presences, Sums
from cartesius.columns.groups.totalling import combined, widened
from cartesius.columns.stages.candidates import whole
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.plan.known_totals import Total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.groups.totalling import Totalled, Totalling
    from cartesius.columns.groups.totalling import Totals as Columns
    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.ordering import Segments
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.expressions.expressions import Expression
    from cartesius.results.totals import Totals

_KINDS: dict[Total, Callable[[Any], Totalling]] = {
    Total.COUNT: Counts, Total.PRESENT: Presences, Total.SUM: Sums, Total.MEAN: Means, Total.LEAST: Least,
    Total.GREATEST: Greatest,
}  # fmt: skip


class TotalledRows:
    """The rows of one slot, totalled by key.

    Args:
        join: The correlation, which yields pairs of a value and its key.
        key: The key beside the window; None: there is none.
        output: Where its totals are.
    """

    def __init__(self, join: Join, key: Expression | None, output: Totals) -> None:
        self.group = output.group
        self.known: tuple[Total, tuple[Callable[[Any], Any], ...]] | None = getattr(self.group, "known", None)
        self._totalling = None if self.known is None else _KINDS[self.known[0]](self.group.empty)
        slots = {slot.name: slot.index for slot in join.slots}
        self._key = None if key is None else Code("key", key, slots)
        self._lift: Code | None = None
        if self.known is not None:
            lifted: Any = join.pattern.yields
            for get in self.known[1]:
                lifted = applied(get, lifted)
            self._lift = Code("lifted", lifted, slots)

    def __str__(self) -> str:
        return "combined, one by one" if self.known is None else f"running {self.known[0].name.lower()}"

    def source(self) -> str:
        """Return the generated code."""
        return "".join(code.text for code in (self._key, self._lift) if code is not None)

    def keys_of(self, rows: Rows) -> Vector | None:
        """Return the keys of rows; None if there are none beside windows."""
        return None if self._key is None else widened(self._key.values(len(rows), whole(rows)))

    def run(
        self,
        segments: Segments,
        rows: Rows,
        place: Indices | None,
        keys: Callable[[], Sequence[Any]],
        before: Columns | None = None,
        counts: NDArray[np.int64] | None = None,
    ) -> Totalled:
        """Total rows by segment.

        Args:
            segments: The groups: those before, and then the rows.
            rows: The rows.
            place: Which of them each is that is totalled; None: each, in order.
            keys: Gives the keys of what is totalled, with their windows.
            before: What the groups came to before; None: there were none.
            counts: Of how many rows.
        """
        before, counts = [] if before is None else before, np.zeros(0, np.int64) if counts is None else counts
        if self._totalling is not None and self._lift is not None:
            try:
                values = self._lift.values(len(rows), whole(rows))
                values = values if place is None else values.take(place)
                return self._totalling.run(segments, before, counts, values)
            except NotColumnar:
                pass  # one by one, then
        payloads = rows.payload.to_list()
        places = range(len(rows)) if place is None else place.tolist()
        pairs = list(zip([payloads[place] for place in places], keys(), strict=True))
        return combined(self.group, segments, self.objects(before, counts), pairs)

    def objects(self, totals: Columns, counts: NDArray[np.int64]) -> list[Any]:
        """Return totals as the group has them."""
        if isinstance(totals, list):
            return totals
        assert self._totalling is not None  # Invariant: only that makes columns of totals
        return self._totalling.objects(totals, counts)


def by_unknown_groups(output: Totals) -> str:
    """Say why totals cannot be columns: they are saved with the engine, and are of a user's own kind; or nothing."""
    is_unknown = output.is_durable and getattr(output.group, "known", None) is None
    return "its totals may be what no snapshot can hold" if is_unknown else ""
