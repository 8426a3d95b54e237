"""Recordings: what a traced engine was made of, and the calls that it took, so that they can be made again.

Invariant: a recording is complete: made again on a fresh engine, its calls give what they gave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius.core.engine_core import EngineCore
    from cartesius.language.reactives import Reactive
    from cartesius.results.recorded_calls import Call

MOST_CALLS = 10_000
"""How many calls of a recording are shown: the first ones."""


@attrs.frozen
class Recording:
    """What an engine was made of, and what it was told.

    Args:
        title: What it is called, for people.
        make: Makes an engine of outputs and options.
        outputs: What it emits.
        options: With what it was made, as `Engine` takes it.
        names: The names of its reactives.
        calls: What it was told, in order, at times in time units.
        is_dated: Whether it was told them as datetimes.
    """

    title: str
    make: Callable[..., Any]
    outputs: tuple[Reactive, ...]
    options: Mapping[str, Any]
    names: Mapping[Reactive, str]
    calls: tuple[Call, ...]
    is_dated: bool


def recording_of(engine: EngineCore, call: str, title: str = "") -> Recording:
    """Return the recording of a traced engine.

    Args:
        engine: The engine.
        call: In whose name it is refused.
        title: What it is called; by default by its outputs.

    Raises:
        InvalidArgument: It was made without ``trace=True``, or restored from a snapshot.
    """
    provenance = engine._world.provenance
    if provenance is None:
        message = f"{call}: expected an engine that records events but this one does not; write Engine(…, trace=True)"
        raise InvalidArgument(message)
    if len(provenance.events) != engine._world.events:
        message = (
            f"{call}: expected an engine that has recorded all of its events but this one was restored from a snapshot,"
            " which holds no record; show the engine that took the events"
        )
        raise InvalidArgument(message)
    names = dict(engine._program.names)
    return Recording(
        title or ", ".join(names[output] for output in (*engine.outputs, *engine.pulled)),
        type(engine),
        engine.outputs,
        options_of(engine),
        names,
        tuple(provenance.calls),
        bool(engine._world.calendar.is_dated),
    )


def options_of(engine: EngineCore) -> dict[str, Any]:
    """Return with what an engine was made, as `Engine` takes it."""
    return {
        "pulled": engine.pulled,
        "unit": engine._world.unit,
        "lateness": engine._lateness,
        "tier": engine._tier,
        "on_error": "unknown" if engine._world.is_lenient else "fail",
    }
