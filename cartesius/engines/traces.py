"""Running a whole trace, for tests and examples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from cartesius.data.value_texts import shown
from cartesius.engines.engine import Engine
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from cartesius.data.events import Event
    from cartesius.language.reactives import Reactive

Carried = TypeVar("Carried")


def run(
    output: Reactive[Any, Carried], trace: Iterable[tuple[Any, ...]] = (), *, close: bool = False, **options: Any
) -> list[Event[Carried]]:
    """Run a trace of (reactive, value) or (reactive, value, at) through a fresh engine; return all that it emits.

    >>> from cartesius import Reactive, run
    >>> from restrictions import zip_
    >>> left, right = Reactive("left"), Reactive("right")
    >>> [event.value for event in run(zip_(left, right), [(left, 1), (left, 2), (right, "a", 7)])]
    [(1, 'a')]

    Args:
        output: The reactive whose events are wanted.
        trace: What to push, in order; what the inputs have already (`Reactive.of`) comes before it.
        close: Whether to end the inputs, and to move the clock past everything, after it.
        **options: As for `Engine`.
    """
    if not isinstance(trace, Iterable):
        message = f"run: expected a trace, a list of what to push, but got trace={shown(trace)}"
        raise InvalidArgument(message)
    engine = Engine(output, **options)
    events = engine.pull()
    for number, step in enumerate(trace):
        if not isinstance(step, tuple | list) or len(step) not in (2, 3):
            message = (
                "run: expected a trace of (reactive, value) or (reactive, value, at) but got"
                f" {shown(step)} as its item {number}"
            )
            raise InvalidArgument(message)
        events += engine.push(*step)
    return events + engine.close() if close else events
