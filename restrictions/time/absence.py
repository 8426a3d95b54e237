"""Absence: rows of which something did not come. It is the clock that decides, so a row waits until it has.

Source: ICFP 2018, doi:10.1145/3236762, Table 2 (non-occurrence: "a then b with no c between"); SEMANTICS 3.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Reactive
from cartesius.errors import InvalidArgument
from restrictions.time.non_occurrence import without_after, without_before, without_between

if TYPE_CHECKING:
    from datetime import timedelta

    from cartesius import Restriction


def without(
    c: str | Reactive,
    *,
    after: str | Reactive | None = None,
    before: str | Reactive | None = None,
    between: tuple[str | Reactive, str | Reactive] | None = None,
    within: int | timedelta | None = None,
) -> Restriction:
    """Give a row only if an event of ``c`` did *not* come: not after a part, not before one, not between two.

    A row waits until the clock has passed the last time at which such an event may end; then it comes, or never. Its
    time is that of its parts, not that of the decision.

    >>> from cartesius import Engine, Reactive, correlate
    >>> from restrictions import without
    >>> order, payment = Reactive("order"), Reactive("payment")
    >>> unpaid = correlate(
    ...     order=order,
    ...     payment=payment,
    ...     where=lambda order, payment: payment.order == order.id,
    ...     yields=lambda order: order.id,
    ...     restrict=without("payment", after="order", within=30),
    ... )
    >>> engine = Engine(unpaid)
    >>> _ = engine.push(order, {"id": 1}, at=0), engine.push(order, {"id": 2}, at=5)
    >>> _ = engine.push(payment, {"order": 1}, at=30)
    >>> (
    ...     engine.next_deadline,
    ...     [event.value for event in engine.advance(35)],
    ...     [event.value for event in engine.advance(36)],
    ... )
    (31, [], [2])

    What does not come need not be a variable: a reactive that no variable is bound to has events that are compared by
    key alone, and `key_by` knows it by its name.

    >>> from restrictions import key_by, most_recently
    >>> start, alarm = Reactive("start"), Reactive("alarm")
    >>> calm = correlate(
    ...     start=start,
    ...     yields=lambda start: start.ship,
    ...     restrict=key_by(start="ship", alarm="ship") | without(alarm, before="start", within=60),
    ... )
    >>> engine = Engine(calm)
    >>> _ = engine.push(alarm, {"ship": "EVA"}, at=10)
    >>> _ = engine.push(start, {"ship": "EVA"}, at=70), engine.push(start, {"ship": "BO"}, at=70)
    >>> [event.value for event in engine.advance(70)]
    ['BO']

    Which events of ``c`` count: those of equal key, where a `key_by` names it beside a part; if it is a variable, those
    that satisfy the conditions on it in a ``where`` that traces (others are not asked of the row); in direct style,
    all. The body gets None for it. What other restrictions keep of ``c`` out of memory does not count.

    Args:
        c: What must not come: a variable, or a reactive. A reactive that only the anchor is bound to means a second
            event of it.
        after: A slot: no ``c`` with an end in (end, end + ``within``] of its part. Decided by the first clock after
            end + ``within``.
        before: A slot: no ``c`` with an end in [start - ``within``, start) of its part. Decided by the first clock that
            has reached the start.
        between: Two slots: no ``c`` that starts after the end of the first's part and ends before the start of the
            second's. Decided by the first clock after the end of the second's. It does not say that the second follows
            the first: where it does not, nothing is between.
            Of points of one time the one that was used first comes before the other, as in `in_sequence`: so a ``c`` of
            the time of a part forbids if it was used after that of ``after``, or before that of ``before``.
        within: For ``after`` and ``before``, time units or a `timedelta`, ≥ 0. To bound what ``between`` keeps,
            restrict the two slots by `within` or `most_recently`.

    State: the rows that are not decided, which count as waiting where their parts have left memory; they come even so,
    but not if the source of a part takes it back.
    Relies on the order of arrival of events of one time alone: between two moves of the clock, the same events of
    different times in any order give the same results. Rows that are decided at one time come in the order of
    candidates; those of different keys, in the order in which these have asked for that time.

    Commutes with `most_recently`, `affinely` and `at_most`: a use is spent when a row comes, not while it waits, and a
    row that is forbidden spends nothing; of several rows of one event, the one that is decided first has it. It does
    not commute with selectors: one to the left sees the rows when they are decided, one to the right when they are
    complete; so ``take(1) | without(…)`` lets one row come, ``without(…) | take(1)`` asks one row whether it may.
    Several compose: a row must pass all.

    Memory: an event of ``c`` is kept until the clock has passed its end (by ``within``), and as long as a part in
    memory, or in a row that waits, may need it. A part that comes so late that what it needs may be forgotten (through
    a gate or a correlation that waits; or an interval that began long ago, for ``before``) is set aside, in
    `Engine.late`.

    Completes when all parts have ended and no row waits, whether or not ``c`` has ended.

    Raises:
        InvalidArgument: None of the three, or several; no duration, a negative one, or one beside ``between``; when a
            correlation is built: an unknown slot, a table as ``c``, a slot that is absent and a part, or a ``where``
            with a condition on ``c`` that does not trace; and beside `retracting`, `optionally` or `versioned`, as a
            row that never came could not be told from one that did.

    Law:
        ``without(c, after=a, within=d) | without(c, after=a, within=e) == without(c, after=a, within=max(d, e))``;
        likewise ``before``. Tested against brute force in ``tests/oracle/test_absence.py``.

    Source:
        SEMANTICS 3.3; ICFP 2018, doi:10.1145/3236762, Table 2.
    """
    given = {"after": after, "before": before, "between": between}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        message = (
            f"without: expected one of after=, before= and between= but got {' and '.join(named) or 'none'}; compose"
            " several: without(c, after='a', within=10) | without(c, before='b', within=10)"
        )
        raise InvalidArgument(message)
    if between is not None:
        return _between(c, between, within)
    anchor = before if after is None else after
    assert anchor is not None
    if within is None:
        message = (
            f"without: expected a duration beside {named[0]}={_text(anchor)} but got within=None; without a bound it"
            f" would never be decided, or nothing forgotten: write without({_text(c)}, {named[0]}={_text(anchor)},"
            " within=10)"
        )
        raise InvalidArgument(message)
    return (without_before if after is None else without_after)(c, anchor, within)


def _between(c: str | Reactive, between: Any, within: Any) -> Restriction:
    if not isinstance(between, tuple) or len(between) != 2:
        message = f"without: expected two slots but got between={between!r}; write between=('a', 'b')"
        raise InvalidArgument(message)
    if within is not None:
        message = (
            f"without: expected no duration beside between={between!r}, which is decided at the end of the second, but"
            f" got within={within!r}; restrict the two: within({within!r}, {', '.join(map(_text, between))})"
        )
        raise InvalidArgument(message)
    return without_between(c, *between)


def _text(slot: str | Reactive) -> str:
    return slot.name if isinstance(slot, Reactive) else repr(slot)
