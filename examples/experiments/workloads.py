"""What an experiment runs on: inputs, what arrives for a size and a seed, in order; and what is true, if that is known.

Invariant: a trace depends on its size and seed alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cartesius import Reactive


class Arrival(NamedTuple):
    """One event.

    Args:
        reactive: The input that it comes by.
        value: What is pushed.
        at: Its time, in units of the engine.
    """

    reactive: Reactive
    value: Any
    at: int


@attrs.frozen
class Workload:
    """Events to compare strategies on.

    Args:
        name: Its name in tables.
        inputs: The inputs, in the order in which a strategy gets them.
        trace: The arrivals for a size, in events, and a seed.
        truth: The values that should be given for arrivals, each once; None where nobody can say.
        options: Options of the engine.
    """

    name: str
    inputs: tuple[Reactive, ...]
    trace: Callable[[int, int], Sequence[Arrival]]
    truth: Callable[[Sequence[Arrival]], Iterable[Any]] | None = None
    options: Mapping[str, Any] = attrs.field(factory=dict)
