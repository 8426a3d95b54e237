"""Changes: what an engine was called with since a mark, as bytes, and done again on an engine that stands there.

Source: SEMANTICS 1.1 and 1.16.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final

from cartesius.core.marks import Position
from cartesius.data.codec import decode, encode
from cartesius.data.inflating import loading
from cartesius.errors import SnapshotMismatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.core.marks import Mark
    from cartesius.engines.engine import Engine

_KINDS: Final = {"program": str, "begin": list, "end": list, "calls": list}


def save_changes(engine: Engine, mark: Mark) -> bytes:
    """Return what an engine was called with since a mark.

    Raises:
        NotStorable: Something in it is not plain data.
    """
    end = engine._position()
    calls = [*mark.calls(end)]
    return encode({"program": engine._fingerprint(), "begin": list(mark.begin), "end": list(end), "calls": calls})


def do_again(engine: Engine, blob: bytes) -> None:
    """Do on an engine what `save_changes` has saved.

    Raises:
        SnapshotMismatch: The bytes are no changes, or damaged, or of another program or moment; or the calls do not do
            what they did.
        InvalidArgument: They are no bytes.
    """
    found = decode(blob)
    if type(found) is not dict or any(type(found.get(name)) is not kind for name, kind in _KINDS.items()):
        what = "a snapshot" if type(found) is dict and "joins" in found else "something else"
        message = f"restore: expected what changes_since() has returned in changes= but got {what}"
        raise SnapshotMismatch(message)
    if found["program"] != engine._fingerprint():
        message = "restore: expected changes of this program but they belong to another one; give those of its engine"
        raise SnapshotMismatch(message)
    begin, end = loading(lambda: (Position(*found["begin"]), Position(*found["end"])))
    if engine._position() != begin:
        message = (
            f"restore: expected changes that go on where the state is ({_shown(engine._position())}) but they begin"
            f" elsewhere ({_shown(begin)}); give all changes since the snapshot, in order"
        )
        raise SnapshotMismatch(message)
    try:
        for call, given, taken in found["calls"]:
            _CALLS[call](engine, taken, *given)
        reached = engine._position()
    except Exception as error:
        message = f"restore: expected calls that succeed, as they did before, but {type(error).__name__}: {error}"
        raise SnapshotMismatch(message) from error
    if reached != end:
        message = (
            f"restore: expected to come to where the changes end ({_shown(end)}) but came elsewhere"
            f" ({_shown(reached)}); a function of the program, or what an input has already, is not what it was"
        )
        raise SnapshotMismatch(message)


def _shown(one: Position) -> str:
    return f"event {one.events}, time {one.latest}, clock {one.clock}"


def _push_many(engine: Engine, taken: int, batch: dict[str, dict[str, list[Any]]]) -> None:
    """Push what was taken of a batch: the first rows in the order of arrival, in which each column is."""
    first = {name: bisect_left(columns["order"], taken) for name, columns in batch.items()}
    engine.push_many(
        {name: {one: column[: first[name]] for one, column in columns.items()} for name, columns in batch.items()}
    )


_CALLS: Final[dict[str, Callable[..., object]]] = {
    "push": lambda engine, _, name, value, at: engine.push(engine.inputs[name], value, at),
    "push_many": _push_many,
    "advance": lambda engine, _, time: engine.advance(time),
    "end": lambda engine, _, name: engine.end(engine.inputs[name]),
    "close": lambda engine, _: engine.close(),
    "pull": lambda engine, _: engine.pull(),
    "take_late": lambda engine, _: engine.take_late(),
}
