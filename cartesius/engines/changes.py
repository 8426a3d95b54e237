"""Changes: what an engine was called with since a mark, as bytes, and done again on an engine that stands there.

Invariant: changes begin at the moment that a mark had, and end at that of the next one; both have a name, so that those
of another engine are told from these, however alike they are.

Source: SEMANTICS 1.1 and 1.16.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from cartesius.core.marks import Position
from cartesius.data.codec import decode, encode
from cartesius.data.inflating import loading
from cartesius.errors import CartesiusError, InvalidArgument, NotStorable, SnapshotMismatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.core.marks import Mark
    from cartesius.engines.engine import Engine

_KINDS: Final = {"program": str, "follows": str, "name": str, "begin": list, "end": list, "calls": list}


def save_changes(engine: Engine, mark: Mark) -> bytes:
    """Return what an engine was called with since a mark.

    Raises:
        NotStorable: Something in it is not plain data.
    """
    stand = engine._stand()
    calls = [*mark.calls(stand)]
    said = {"program": engine._fingerprint(), "follows": mark.name, "name": mark.end(stand)}
    try:
        return encode({**said, "begin": [*mark.begin], "end": [*stand[0]], "calls": calls})
    except NotStorable as error:
        for call in calls:
            try:
                encode(call)
            except NotStorable:
                error.add_note(f"in changes_since: {_shown(call)}; take a snapshot(), if it is not held, and a mark()")
                break
        raise


def do_again(engine: Engine, blobs: object) -> None:
    """Do on an engine what `save_changes` has saved, several times one after the other.

    Raises:
        SnapshotMismatch: Some bytes are no changes, or damaged, or of another program or moment; or the calls do not do
            what they did.
        InvalidArgument: They are no bytes.
    """
    if not isinstance(blobs, Iterable) or isinstance(blobs, bytes | bytearray | memoryview | str):
        message = f"restore: expected what changes_since() has returned, in a list, but got changes={blobs!r}"
        raise InvalidArgument(message)
    for place, blob in enumerate(blobs):
        try:
            _do_again(engine, blob)
        except CartesiusError as error:
            error.add_note(f"in changes[{place}]")
            raise


def _do_again(engine: Engine, blob: Any) -> None:
    found = decode(blob)
    if type(found) is not dict or any(type(found.get(name)) is not kind for name, kind in _KINDS.items()):
        what = "a snapshot" if type(found) is dict and "joins" in found else "something else"
        message = f"restore: expected what changes_since() has returned in changes= but got {what}"
        raise SnapshotMismatch(message)
    if found["program"] != engine._fingerprint():
        message = "restore: expected changes of this program but they belong to another one; give those of its engine"
        raise SnapshotMismatch(message)
    begin, end = loading(lambda: (Position(*found["begin"]), Position(*found["end"])))
    (reached, name), here = engine._restored, engine._position()
    if here != begin or (reached is not None and name != found["follows"]):
        message = (
            f"restore: expected changes that go on where the state is ({here}) but they begin elsewhere ({begin}), or"
            " are of another engine; give all changes since the snapshot, in order"
        )
        raise SnapshotMismatch(message)
    for place, call in enumerate(found["calls"]):
        try:
            what, given, taken = call
            _CALLS[what](engine, taken, *given)
        except Exception as error:
            message = (
                f"restore: expected call {place + 1} of {len(found['calls'])}, {_shown(call)}, to succeed as it did"
                f" before, but {type(error).__name__}: {error}; give the options that the engine had"
            )
            raise SnapshotMismatch(message) from error
    if engine._position() != end:
        message = (
            f"restore: expected to come to where the changes end ({end}) but came elsewhere ({engine._position()}); a"
            " function of the program, or what an input has already, is not what it was"
        )
        raise SnapshotMismatch(message)
    engine._restored = (end, found["name"])


def _shown(call: Any) -> str:
    """Return a call in a few words."""
    what, given = (call[0], call[1]) if isinstance(call, list | tuple) and len(call) > 1 else (call, ())
    return f"{what} into {given[0]!r}" if what == "push" and given else str(what)


def _push_many(engine: Engine, taken: int, batch: dict[str, dict[str, list[Any]]]) -> None:
    """Push what was taken of a batch: the first rows in the order of arrival, in which each column is."""
    first = {name: bisect_left(columns["order"], taken) for name, columns in batch.items()}
    rows = {name: {one: column[: first[name]] for one, column in batch[name].items()} for name in batch if first[name]}
    events = engine._world.events + taken
    with suppress(NotStorable):  # what they give may be no columns, though they stand
        engine.push_many(rows)
    if engine._world.events != events:
        message = f"push_many: expected {taken} events to be taken but got {engine._world.events - events + taken}"
        raise SnapshotMismatch(message)


_CALLS: Final[dict[str, Callable[..., object]]] = {
    "push": lambda engine, _, name, value, at: engine.push(engine.inputs[name], value, at),
    "push_many": _push_many,
    "advance": lambda engine, _, time: engine.advance(time),
    "end": lambda engine, _, name: engine.end(engine.inputs[name]),
    "close": lambda engine, _: engine.close(),
    "pull": lambda engine, _: engine.pull(),
    "take_late": lambda engine, _: engine.take_late(),
}
