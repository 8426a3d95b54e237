"""Reports: when what is in a window becomes visible, and relations: what is given of it then.

Source: Dindar et al., VLDB Journal 2013 (SECRET: report); Arasu, Babu, Widom, VLDB Journal 2006 (CQL); SEMANTICS 3.4.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

import attrs

from cartesius import Restriction, handles, storable
from cartesius.errors import InvalidArgument
from cartesius.language.families import relation
from cartesius.language.restriction_base import of_subclasses_too
from cartesius.plan.nodes import Relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius import Slot
    from cartesius.plan.nodes import Node


@storable
@attrs.frozen(repr=False)
class Report:
    """When the content of a window becomes visible: conditions, all of which must hold; ``&`` adds more of them.

    >>> from restrictions.windows import non_empty, on_close
    >>> on_close & non_empty
    on_close & non_empty

    Args:
        conditions: Their names.
        period: Of `periodic`: in time units, or a `timedelta`.
    """

    conditions: tuple[str, ...]
    period: Any = None

    def __and__(self, other: Report) -> Report:
        """Require both."""
        if not isinstance(other, Report):
            message = f"Report: expected another report but got {other!r} (type={type(other).__name__})"
            raise InvalidArgument(message)
        if None not in (self.period, other.period) and self.period != other.period:
            message = f"Report: expected one period but got {self!r} and {other!r}; leave one out"
            raise InvalidArgument(message)
        period = other.period if self.period is None else self.period
        return Report(tuple(dict.fromkeys((*self.conditions, *other.conditions))), period)

    def __bool__(self) -> NoReturn:
        """Refuse `and` and `or`, which would leave one of two conditions out."""
        message = f"Report: expected conditions joined by & but {self!r} was asked whether it is true; write a & b"
        raise InvalidArgument(message)

    def __contains__(self, condition: Report) -> bool:
        """Whether it requires what another does."""
        return set(condition.conditions) <= set(self.conditions)

    @property
    def waits(self) -> bool:
        """Whether nothing is visible before a certain time."""
        return any(name in ("on_close", "final", "periodic") for name in self.conditions)

    @property
    def has_period(self) -> bool:
        """Whether it is made at the multiples of a period only."""
        return "periodic" in self.conditions

    @property
    def is_periodic(self) -> bool:
        """Whether a window is reported from time to time, until it ends."""
        return self.has_period and not {"on_close", "final"} & set(self.conditions)

    def __repr__(self) -> str:
        """Show the conditions as written."""
        return " & ".join(f"periodic({self.period!r})" if name == "periodic" else name for name in self.conditions)


on_content_change: Final = Report(("on_content_change",))
"""Report a window whenever something comes into it, or is taken back: results come at once."""
on_close: Final = Report(("on_close",))
"""Report a window when the clock reaches its end; what is late changes it then, as long as the lateness allows."""
final: Final = Report(("final",))
"""Report a window when nothing can change it any more: when the clock reaches its end plus the lateness."""
non_empty: Final = Report(("non_empty",))
"""Report a window only if something is in it, even where all that was has been taken back."""


def periodic(period: int | timedelta) -> Report:
    """Report a window at the multiples of ``period`` after its start, up to its end: what ended before that time.

    >>> from cartesius import Engine, Reactive
    >>> from restrictions import cartesian, tumbling
    >>> from restrictions.windows import periodic
    >>> level = Reactive("level")
    >>> engine = Engine(cartesian(level, restrict=tumbling(10, report=periodic(5))))
    >>> engine.push(level, "a", at=1), engine.push(level, "b", at=6)
    ([], [])
    >>> [event.value for event in engine.advance(5)], [event.value for event in engine.advance(10)]
    ([('a',)], [('b',)])

    Events after the last multiple are not reported: let the period divide the ends of the windows.

    Args:
        period: Time units or a `timedelta`, > 0.

    Raises:
        InvalidArgument: A period that is none.
    """
    is_positive = period > timedelta(0) if isinstance(period, timedelta) else isinstance(period, int) and period > 0
    if isinstance(period, bool) or not is_positive:
        message = f"periodic: expected a duration > 0, an int of time units or a timedelta, but got period={period!r}"
        raise InvalidArgument(message)
    return Report(("periodic",), period)


class _relating(Restriction):
    """Base: results become the relation of their window, of which reports make a stream."""

    kind: ClassVar[str] = ""

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse a second one."""
        if any(isinstance(other, _relating) for other in others):
            message = f"{self!r}: expected one of istream, dstream and rstream but there is another; leave one out"
            raise InvalidArgument(message)

    @of_subclasses_too
    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Relation(self.kind),)

    @handles(relation)
    def which(self) -> str:
        """Answer the kind."""
        return self.kind


class istream(_relating):
    """Give, at each report of a window, the results that the evaluation before had not. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, sliding
    >>> from restrictions.windows import istream, on_close
    >>> level = Reactive("level")
    >>> new = cartesian(level, restrict=sliding(10, 5, report=on_close) | istream())
    >>> [(e.value, e.end) for e in run(new, [(level, "a", 6), (level, "b", 12)], close=True)]
    [(('a',), 6), (('b',), 12)]

    The evaluation before is that of the window reported last, under the same keys to the left of the windows. Results
    are compared as bags, by value. What is displaced in a window stays in its relation, unless `retracting` takes it
    back.

    State: the results of the windows that are not closed, and those of the last evaluation. Relies on no order.
    Does not commute with others of its kind.

    Raises:
        InvalidArgument: When a correlation is built: without windows, beside a table, or beside another of its kind.

    Law:
        What it has given, without what `dstream` has, is the last evaluation.

    Source:
        CQL; SEMANTICS 3.4.
    """

    kind: ClassVar[str] = "istream"


class dstream(_relating):
    """Give, at each report of a window, the results that the evaluation before had, and this one has not.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, sliding
    >>> from restrictions.windows import dstream, on_close
    >>> level = Reactive("level")
    >>> gone = cartesian(level, restrict=sliding(10, 5, report=on_close) | dstream())
    >>> [e.value for e in run(gone, [(level, "a", 6), (level, "b", 12)], close=True)]
    [('a',)]

    State: as `istream`. Relies on no order. Does not commute with others of its kind. Never suspends.

    Raises:
        InvalidArgument: As `istream`.

    Law:
        As `istream`.

    Source:
        CQL; SEMANTICS 3.4.
    """

    kind: ClassVar[str] = "dstream"


class rstream(_relating):
    """Give, at each report of a window, all results of it that stand. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, tumbling
    >>> from restrictions.windows import rstream
    >>> level = Reactive("level")
    >>> every = cartesian(level, restrict=tumbling(10) | rstream())
    >>> [e.value for e in run(every, [(level, "a", 1), (level, "b", 2)])]
    [('a',), ('b',), ('a',)]

    State: as `istream`. Relies on no order. Does not commute with others of its kind.

    Raises:
        InvalidArgument: As `istream`.

    Law:
        With ``report=on_close`` it gives what the correlation without it gives, if nothing is late.

    Source:
        CQL; SEMANTICS 3.4.
    """

    kind: ClassVar[str] = "rstream"
