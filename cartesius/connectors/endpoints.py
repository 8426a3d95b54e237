"""Endpoints: what a source and a sink must do, so that a state and their positions can be kept together.

A position is plain data that says where a source goes on, or up to where a sink has been written. `run_stream` keeps
it with the snapshot of the engine.

Source: Carbone et al., "State management in Apache Flink", VLDB 2017, doi:10.14778/3137765.3137777 (sources that can be
read again; sinks that commit in two phases).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from cartesius.errors import InvalidArgument, shortened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from cartesius.data.events import Event


def checked_position(position: Any, source: str, *parts: str) -> dict[str, Any]:
    """Return a position with some parts, as ``source`` has it.

    Raises:
        InvalidArgument: It lacks one: it is another source's.
    """
    if not isinstance(position, dict) or not position.keys() >= {*parts}:
        message = (
            f"{source}: expected a position with {', '.join(parts)} but got {shortened(repr(position), 200)}, which is"
            " another source's; give the source that there was before, or begin anew, without the position"
        )
        raise InvalidArgument(message)
    return position


@runtime_checkable
class StreamSource(Protocol):
    """An async iterable of items that knows where it is: ``async for item in source``.

    An item is a payload, or an `Event` that brings its time.
    """

    @property
    def position(self) -> Any:
        """Where to go on behind the items that were given: plain data."""
        ...

    def seek(self, position: Any) -> None:
        """Go on at a position that was kept; before the iteration begins.

        Raises:
            InvalidArgument: It is none of this source.
        """
        ...

    def __aiter__(self) -> AsyncIterator[Any]:
        """Iterate over the items; the position moves before each of them is given."""
        ...


@runtime_checkable
class StreamSink(Protocol):
    """Takes results, and lets them stand in step with the checkpoints of who writes them.

    What may take long is awaited, so that whoever writes can be ended meanwhile: a call that blocks belongs into a
    thread there.
    """

    def committed(self) -> int | None:
        """Return the number of the last checkpoint whose results stand, 0 for none; None: it does not know.

        A sink that knows commits by itself, as a transaction; one that does not is cut back by `seek`.
        """
        ...

    def seek(self, position: Any) -> None:
        """Take back what was written behind a position that `prepare` returned."""
        ...

    def write(self, events: Sequence[Event]) -> None:
        """Write results; until the next checkpoint they may be taken back."""
        ...

    async def prepare(self, number: int) -> Any:
        """Make what was written durable, before checkpoint ``number`` is kept; return the position behind it."""
        ...

    async def commit(self, number: int) -> None:
        """Let what was prepared stand, now that checkpoint ``number`` is kept."""
        ...
