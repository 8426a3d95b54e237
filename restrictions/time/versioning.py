"""Versions: a slot whose memory is a history by event time.

What comes late takes its place in the history, and corrects the results that it should have touched.

Source: Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155; SEMANTICS 3.6 to 3.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Duration, Restriction, Slots, handles, tick
from cartesius.errors import InvalidArgument
from cartesius.language.clauses import forget_versions
from cartesius.plan.nodes import Versions
from cartesius.plan.reliance import Reliance
from cartesius.storage.version_memories import ARRIVAL
from restrictions.time.duration import check_duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.plan.nodes import Node


class versioned(Restriction):
    """Keep the versions of each row of ``slots`` by event time: parts meet only if they hold at the same time.

    A version holds from its time until the next of its key, in whatever order they come. A late one narrows the one
    before it: results that hold no longer are taken back, and new ones given. Beside it, an event of another stream is
    there at its own time only, and is kept as long; so a late row corrects what it looked up. It never waits.

    >>> from cartesius import Reactive, Update, correlate, run
    >>> from restrictions import retracting, versioned
    >>> report, ship = Reactive("report"), Reactive("ship", table=True)
    >>> named = correlate(
    ...     report=report,
    ...     ship=ship,
    ...     where=lambda report, *, key_ship: report == key_ship,
    ...     yields=lambda report, ship: ship,
    ...     restrict=retracting() | versioned("ship", retention=10),
    ... )
    >>> trace = [(ship, Update(7, "EVA"), 2), (report, 7, 6), (ship, Update(7, "EVA II"), 5)]
    >>> [(event.value, event.end, event.weight) for event in run(named, trace)]
    [('EVA', 6, 1), ('EVA', 6, -1), ('EVA II', 6, 1)]

    Args:
        *slots: The slots concerned: of tables, or of streams, which have one row a key of `key_by`.
        retention: How far behind the clock an event still counts: time units or a `timedelta`, ≥ 0; None for all,
            which bounds nothing. What is later comes out of ``engine.late``.
        ties: Which of several versions of a key at one time holds: the one that is greatest in a field of the value,
            given by its name, or by a function of the value, such as an offset or a sequence number; of a deletion, of
            the row that it came with (`Delete.row`; on Spark, the row). Null, or nothing, is least. Or ``"arrival"``:
            the one that came last, which gives up the law. None, and between equals: the content, see below.

    State: none of its own; the histories are in memory. Relies on no order, but with ``ties="arrival"``. Commutes with
    `retracting`, `as_table` and `optionally`.

    Of several versions of a key at one time one holds, whatever came first: the one that ``ties`` says. Without it, and
    between equals, the content decides: an update rather than a deletion, otherwise the one whose content comes last,
    of values that a snapshot can hold. So a deletion at the time of an update is lost, unless ``ties`` says more. A
    table that is derived from versions says itself what holds. Of two `versioned` for one slot the right-most decides.
    A table that is not named is there at all times, as its rows come; what is over is kept for the longest retention of
    all slots.

    Raises:
        InvalidArgument: A negative retention, or ties that are neither a name nor a function; when a correlation is
            built: a slot bound to a derived table that keeps no versions, or rows that are not known by time.

    Law:
        For inputs with the same multiset of (time, key, storable value), the results end the same, whatever the order
        of arrival; at each time a table is what the correlation without versions gives for what holds then. Tested in
        ``tests/oracle/test_versions.py``.

    Source:
        Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155.
    """

    slots: Slots
    retention: Duration | None = None
    ties: str | Callable[[Any], Any] | None = None

    def validate(self) -> None:
        """Check the retention, and what decides between versions of one time."""
        if self.retention is not None:
            check_duration(self, "retention", self.retention)
        if not (self.ties is None or callable(self.ties) or (isinstance(self.ties, str) and self.ties)):
            message = (
                "versioned: expected a field's name, a function of the value, or 'arrival' to decide between versions"
                f" of one time but got ties={self.ties!r} (type={type(self.ties).__name__}); write ties='offset'"
            )
            raise InvalidArgument(message)
        if self.ties == ARRIVAL:
            vars(self)["relies_on_order"] = Reliance.WITHIN  # of its own, as it is configured

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Versions(self.slots, self.retention, self.configuration["ties"]),)

    @handles(tick)
    def forget(self, now: int) -> None:
        """Let go what nothing that may come can need any more."""
        forget_versions(now)
