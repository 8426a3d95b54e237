"""Windows of a user's own: a function says to which an event belongs.

Source: SEMANTICS 3.2 and 3.4.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from cartesius import Window
from cartesius.errors import InvalidArgument
from cartesius.plan.nodes import Assigned
from restrictions.basics.checks import check_function
from restrictions.windowing.window_base import windowing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius.data.entries import Entry
    from cartesius.data.queues import Queue
    from cartesius.plan.nodes import Node


class windowed(windowing):
    """Let events meet in the windows that a function assigns them to. Never suspends.

    >>> from cartesius import Reactive, Window, run
    >>> from restrictions import cartesian, windowed
    >>> def while_logged_in(event, present):
    ...     if event.value == "in":
    ...         return [Window(event.start)]
    ...     if event.value == "out":
    ...         return [Window(window.start, event.end + 1) for window in present]
    ...     return present
    >>> action = Reactive("action")
    >>> visits = cartesian(action, restrict=windowed(while_logged_in))
    >>> trace = [(action, "in", 3), (action, "buy", 5), (action, "out", 8), (action, "buy", 9)]
    >>> [e.value for e in run(visits, trace)]
    [('in',), ('buy',), ('out',)]

    The function gets the event (value, start, end) and, if it takes two arguments, the windows that contain it and are
    not freed, under the same keys to the left. A `Window` without an end is open; the one of the same start that has an
    end closes it. What is in an open window is held: nothing is visible before it is known when it ends.

    Args:
        assigner: A pure function that returns windows, each of which contains the event: `Window`, or (start, end).
        lateness: As for `tumbling`, and so are report, content, tick and on_leave.

    State: as `tumbling`. Relies on arrival order, if the function looks at the present windows. Does not commute:
    each window has a copy of the restrictions to its right.

    Raises:
        InvalidArgument: No function; when an event comes: what it returns are no windows that contain the event.

    Law:
        With the windows of `tumbling` it is `tumbling`.

    Source:
        SEMANTICS 3.2 and 3.4.
    """

    assigner: Callable[..., Iterable[Any]]

    def validate(self) -> None:
        """Check the function."""
        super().validate()
        check_function(self, self.assigner, "assigner")
        if _required(self.assigner) > 2:
            message = (
                f"windowed: expected a function of the event, or of the event and the windows there, but"
                f" {self.assigner!r} takes {_required(self.assigner)} arguments"
            )
            raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Assigned(self.configuration["assigner"], **self.delivery()),)

    def windows(self, event: Entry, present: Mapping[Window, Queue]) -> Iterable[Window]:
        """Ask the function."""
        there = tuple(window for window in sorted(present) if window.holds(event.start, event.end))
        given: Any = self.assigner(event, there) if _required(self.assigner) == 2 else self.assigner(event)
        if (isinstance(given, tuple) and type(given) is not tuple) or not isinstance(given, Iterable):
            _refuse(self, given, event)
        return sorted(dict.fromkeys([_checked(self, window, event) for window in given]))


def _required(function: Callable[..., Any]) -> int:
    """Return how many arguments a function needs."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a builtin nothing is known
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty]
    return max(len(required), 2 * any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters))


def _checked(restriction: windowed, given: Any, event: Entry) -> Window:
    if isinstance(given, tuple) and len(given) == 2 and all(map(_is_bound, given)):
        start, end = given
        if start <= event.start and event.end < end:
            return Window(start, end)
    return _refuse(restriction, given, event)


def _is_bound(time: Any) -> bool:
    is_time = isinstance(time, int) and not isinstance(time, bool)
    return is_time or (isinstance(time, float) and math.isinf(time))


def _refuse(restriction: windowed, given: Any, event: Entry) -> NoReturn:
    message = (
        f"{restriction!r}: expected windows that contain the event at {event.start}..{event.end}, Window(start, end)"
        f" with start ≤ {event.start} and {event.end} < end, both in time units, but the assigner gave {given!r}"
    )
    if isinstance(given, Window):
        message += "; return a list of windows"
    raise InvalidArgument(message)
