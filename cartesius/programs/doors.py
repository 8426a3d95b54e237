"""The door of an engine: what a user pushes is checked and brought into form before anything changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from cartesius.data.codec import text_of
from cartesius.data.events import EARLIEST, Delete, Update
from cartesius.data.null_values import is_null
from cartesius.data.records import wrap
from cartesius.errors import EngineBroken, InvalidArgument, NotStorable
from cartesius.language.reactives import UNDECLARED, Reactive
from cartesius.storage.memories import checked_row_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from cartesius.batching.world import World
    from cartesius.data.events import Time

At: TypeAlias = "int | datetime | tuple[Time | datetime, Time | datetime] | None"
Tier: TypeAlias = Literal["reference", "in_place"]


def checked_times(at: Any, latest: Time, clock: Time, given: Any = None) -> tuple[Time, Time]:
    """Return start and end; without ``at``, one after the ``latest`` time seen, but not before the ``clock``.

    What was ``given``, where that were datetimes, is what a message shows.
    """
    if at is None:
        time = max(1 if latest == EARLIEST else latest + 1, clock)
        return time, time
    given = at if given is None else given
    if isinstance(at, tuple) and len(at) != 2:
        message = f"push: expected an interval (start, end) but got at={given!r}"
        raise InvalidArgument(message)
    start, end = at if isinstance(at, tuple) else (at, at)
    for time in (start, end):
        if isinstance(time, bool) or not isinstance(time, int):
            message = (
                "push: expected a time, an int of time units or a datetime with a zone, but got"
                f" at={at!r} (type={type(time).__name__})"
            )
            raise InvalidArgument(message)
    if start > end:
        message = f"push: expected an interval with start ≤ end but got at={given!r}; swap them"
        raise InvalidArgument(message)
    return start, end


def checked_tier(tier: Any) -> Tier | None:
    """Return the tier that is asked for, None as it is."""
    if tier is None or tier in get_args(Tier):
        found: Tier | None = tier
        return found
    names = " or ".join(map(repr, get_args(Tier)))
    message = f"Engine: expected tier to be {names} but got tier={tier!r}; without it the fastest is taken"
    raise InvalidArgument(message)


def checked_lateness(lateness: Any, world: World) -> int | None:
    """Return the lateness of an engine in time units, None as it is."""
    if lateness is None:
        return None
    units: int = world.units(lateness, "Engine", "lateness")
    if units < 0:
        message = f"Engine: expected a lateness ≥ 0 but got lateness={lateness!r}; None means that only advance() moves"
        raise InvalidArgument(message)
    return units


def checked_value(reactive: Reactive, value: Any) -> Any:
    """Return the payload with mappings as records; for a table, as an `Update` or a `Delete`."""
    if not reactive.table:
        return wrap(value)
    if isinstance(value, Update):
        return Update(_checked_key(reactive, value.key), wrap(value.value))
    if isinstance(value, Delete):
        return Delete(_checked_key(reactive, value.key), value.row)
    if reactive.key is UNDECLARED:
        message = (
            f"push: expected an Update or a Delete for the table {reactive.name!r} but got {value!r}"
            f" (type={type(value).__name__}); write Update(key, value)"
        )
        raise InvalidArgument(message)
    row = wrap(value)
    if reactive.key is None:
        return Update((), row)
    try:
        key = getattr(row, reactive.key)
    except AttributeError as error:
        message = f"push: expected a row with the key {reactive.key!r} for the table {reactive.name!r}; {error}"
        raise InvalidArgument(message) from None
    return Update(_checked_key(reactive, key), row)


def _checked_key(reactive: Reactive, key: Any) -> Any:
    if reactive.key is None:  # a table of one row
        return ()
    found = checked_row_key(key, "push", f" of a row of {reactive.name!r}")
    if reactive.key is not UNDECLARED and is_null(key):
        message = (
            f"push: expected a row of {reactive.name!r} with a value for its key {reactive.key!r} but got {key!r};"
            " a null key matches nothing"
        )
        raise InvalidArgument(message)
    return found


def check_input(names: Mapping[Reactive, str], reactive: object, call: str) -> str:
    """Return the name of an input; raise `InvalidArgument` in the name of ``call`` if it is none of the program's."""
    if isinstance(reactive, Reactive) and reactive.pattern is None and reactive in names:
        return names[reactive]
    inputs = ", ".join(name for known, name in names.items() if known.pattern is None)
    message = f"{call}: expected an input of this engine but got {reactive!r}; the inputs are {inputs or 'none'}"
    if isinstance(reactive, Reactive) and reactive.pattern is not None:
        message = (
            f"{call}: expected an input of this engine but {reactive!r} is derived by a correlation; the inputs are"
            f" {inputs or 'none'}"
        )
    elif reactive in inputs.split(", "):
        message += "; give the reactive itself, not its name"
    elif isinstance(reactive, Reactive) and reactive.name in inputs.split(", "):
        message += "; that of the same name is another object: use the one that the pattern was made with"
    raise InvalidArgument(message)


def check_storable(reactive: Reactive, value: Any) -> None:
    """Raise `NotStorable`, naming ``reactive``, if no snapshot can hold ``value``."""
    try:
        text_of(value)
    except NotStorable as error:
        error.add_note(f"while pushing into {reactive.name!r} of a durable engine; nothing was changed")
        raise


def check_usable(call: str, *, is_running: bool, is_torn: bool, broken_by: str) -> None:
    """Raise `InvalidArgument` inside a body, and `EngineBroken` if nobody knows what the state is."""
    if is_running:
        message = f"{call}: expected a body that is pure but it uses its own engine; nest correlations instead"
        raise InvalidArgument(message)
    remedy = "build a new engine, or restore a snapshot"
    if broken_by:
        message = (
            f"Engine: expected an engine whose last push succeeded, or was undone, but {broken_by} held a continuation"
            f" while a push failed, which cannot be undone; {remedy}"
        )
        raise EngineBroken(message)
    if is_torn:
        message = (
            f"{call}: expected an engine whose last call came to its end, or was undone, but it was interrupted while"
            f" it changed the state, of which nobody knows what it is now; {remedy}"
        )
        raise EngineBroken(message)
