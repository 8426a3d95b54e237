"""Three-input stream operators, ours against RxPY's, on the same events in the same process.

Both get the same events round robin over three inputs, one push at a time, and count what comes out; the counts must
agree. Runs alternate, so that a busy machine slows both.
"""

from __future__ import annotations

import random
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import attrs
import reactivex
from reactivex import operators
from reactivex.subject import Subject

from cartesius import Engine, Reactive
from restrictions import combine_latest, zip_

if TYPE_CHECKING:
    from collections.abc import Callable

INPUTS = 3


@attrs.frozen
class Measured:
    """Events a second of both sides, one value a repetition."""

    name: str
    results: int
    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """Ours through theirs, by medians."""
        return median(self.ours) / median(self.theirs)


def ours(operator: Callable[..., Reactive], events: list[tuple[int, int]]) -> tuple[float, int]:
    """Return seconds and results of our operator."""
    inputs = [Reactive(f"input {number}") for number in range(INPUTS)]
    engine = Engine(operator(*inputs))
    results = 0
    begin = time.perf_counter()
    for number, value in events:
        results += len(engine.push(inputs[number], value))
    return time.perf_counter() - begin, results


def theirs(operator: Callable[..., Any], events: list[tuple[int, int]]) -> tuple[float, int]:
    """Return seconds and results of RxPY's operator."""
    inputs: list[Subject[int]] = [Subject() for _ in range(INPUTS)]
    results = 0

    def count(_: object) -> None:
        nonlocal results
        results += 1

    inputs[0].pipe(operator(*inputs[1:])).subscribe(count)
    begin = time.perf_counter()
    for number, value in events:
        inputs[number].on_next(value)
    return time.perf_counter() - begin, results


def measure(n: int, repetitions: int, seed: int) -> list[Measured]:
    """Measure both operators, alternating, and check that they agree on the number of results."""
    draw = random.Random(seed)
    events = [(index % INPUTS, draw.randrange(1000)) for index in range(n)]
    measured = []
    for name, mine, other in (
        ("combine_latest", combine_latest, operators.combine_latest),
        ("zip_", zip_, operators.zip),
    ):
        found = Measured(name, 0, [], [])
        for _ in range(repetitions):
            my_seconds, my_results = ours(mine, events)
            other_seconds, other_results = theirs(other, events)
            if my_results != other_results:
                message = f"{name}: {my_results} results of ours, {other_results} of RxPY's"
                raise RuntimeError(message)
            found = attrs.evolve(found, results=my_results)
            found.ours.append(n / my_seconds)
            found.theirs.append(n / other_seconds)
        measured.append(found)
    return measured


def version() -> str:
    """Return RxPY's version."""
    return str(getattr(reactivex, "__version__", "unknown"))
