"""The state of a bucket between calls: opened before a call, sealed after it. Nothing else writes or reads blobs.

A blob has a header (`state_headers`) and a body (`state_columns`): the engine's state (`saving`) and waiting rows. It
belongs to one program and to one set of columns; the header tells which, and what differs is said when it is
refused. Of a program that can change while it runs the header tells the first, and the body the text that is in force.

Invariant: an engine opened from a blob goes on as the one that was sealed into it, whether it was kept or is decoded.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, NoReturn

import attrs

from cartesius import Engine
from cartesius.data.inflating import loading
from cartesius.engines.program_cards import program_card
from cartesius.engines.rule_changes import gone_on, objection
from cartesius.engines.saving import load, save
from cartesius.errors import InvalidArgument, SnapshotMismatch
from cartesius.language.lenience import check_lenient
from spark_bridge.columns.column_drifts import drifted, moved
from spark_bridge.state.engine_cache import ENGINES, Kept
from spark_bridge.state.memory_limits import warning
from spark_bridge.state.migration import ways_on
from spark_bridge.state.state_columns import decoded, encoded
from spark_bridge.state.state_headers import Header, joined, split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius import Event, Reactive
    from cartesius.language.lenience import OnError
    from cartesius.programs.live_programs import LiveProgram
    from spark_bridge.reading.demands import Demands
    from spark_bridge.transport.arrivals import Input

_TEXTS: Final = 8
"""So many programs that have followed the first are kept as they were read."""


@attrs.define(eq=False)
class Opened:
    """A bucket at work.

    Args:
        bucket: Its number.
        version: How many calls its state has seen.
        engine: Its engine.
        held: The rows that wait, a chunk of each source that has some, by its name; None if rows do not wait.
        waiting: How many they are.
        size: How many bytes its state had before the call.
        changes: What comes of carrying its state over from another program.
        warning: What its state's size gives reason to say, once it is sealed; empty for nothing.
        text: The text of its program; None: the one that the query began with.
    """

    bucket: int
    version: int
    engine: Engine
    held: Any
    waiting: int = 0
    size: int = 0
    changes: list[Event] = attrs.field(factory=list)
    warning: str = ""
    text: str | None = None


@attrs.frozen(eq=False)
class BucketStates:
    """Opens and seals the states of the buckets of one program.

    Args:
        outputs: The program.
        inputs: Its sources, with the columns of their values.
        query: What tells it from all other queries of a worker; empty: no engine is kept.
        soft_limit: From how many bytes on a state warns; None: never.
        keys: The column by which each source is partitioned, for `state_report`.
        before: Programs whose state is carried over, by their fingerprints.
        on_error: What becomes of a rule that raises. It is no part of a state.
        buckets: How many buckets there are.
        static: The digests of the rows of static frames, by source.
        live: The program as one that can change; ``outputs`` are those of its first text. None: it cannot.
        demands: What the programs that follow it must fit.
        card: The fingerprint and the `program_card` of the outputs.
    """

    outputs: tuple[Reactive, ...]
    inputs: tuple[Input, ...]
    query: str = ""
    soft_limit: int | None = None
    keys: Mapping[str, str] = attrs.field(factory=dict)
    before: Mapping[str, tuple[Reactive, ...]] = attrs.field(factory=dict)
    on_error: OnError = "fail"
    buckets: int = 1
    static: Mapping[str, str] = attrs.field(factory=dict)
    live: LiveProgram | None = None
    demands: Demands | None = None
    card: tuple[str, str] = attrs.field(repr=False)  # it travels: a worker need not make it for each task

    @card.default
    def _card_of_outputs(self) -> tuple[str, str]:
        return program_card(self.outputs)

    @cached_property
    def _columns(self) -> Mapping[str, Mapping[str, str]]:
        return {
            one.name: {field.name: field.dataType.simpleString() for field in one.value_schema} for one in self.inputs
        }

    @cached_property
    def _header(self) -> Header:
        program, card = self.card
        columns = json.dumps(self._columns, sort_keys=True)
        inputs = hashlib.blake2b(columns.encode(), digest_size=16).hexdigest()
        spread = {"buckets": self.buckets, "keys": dict(self.keys), "static": dict(self.static)}
        spread["deleted"] = {one.name: one.deleted for one in self.inputs if one.deleted is not None}
        spread |= {} if self.live is None else {"live": True}
        about = json.dumps({"program": json.loads(card), "inputs": self._columns, **spread})
        return Header(0, 0, program, inputs, about)

    def note(self, *, waits: bool, has_watermark: bool) -> dict[str, Any]:
        """Return what is noted in a checkpoint (`checkpoints`)."""
        about = json.loads(self._header.about)
        text = {} if self.live is None else {"text": self.live.text}
        clock = {"waits": waits, "has_watermark": has_watermark}
        return {"program": self._header.program, "about": about, **clock, **text}

    def open(self, bucket: int, blob: bytes | None, *, holds: bool = False) -> Opened:
        """Return the bucket as its last call left it, or as new.

        Args:
            bucket: Its number.
            blob: What `seal` returned at the end of the last call; None: there was none.
            holds: Whether each row is used at its own time, so that the clock follows the rows.

        Raises:
            SnapshotMismatch: The blob is damaged, or of another bucket, program, order or set of columns, or its rows
                were spread otherwise.
        """
        lateness = 0 if holds else None
        if blob is None:
            engine = Engine(*self.outputs, lateness=lateness, on_error=self.on_error)
            return Opened(bucket, 0, engine, {} if holds else None)
        header, body = split(blob, bucket)
        self._check(header)
        changes: list[Event] = []
        kept = ENGINES.take(self.query, bucket, header.digest)
        if kept is not None:
            engine, held, waiting, text = kept.engine, kept.held, kept.waiting, kept.text
        else:
            found = decoded(body)
            held, waiting, text = found["held"], found["waiting"], found.get("text")
            if header.program in self.before:
                old = load(found["engine"], self.before[header.program], lateness, self.on_error)
                old._settle()
                engine, changes = gone_on(old, self.outputs, lateness, self.on_error)
            else:
                outputs = self.outputs if text is None else self._outputs_of(text)
                engine = loading(lambda: load(found["engine"], outputs, lateness, self.on_error))
        if (held is not None) != holds:
            message = (
                f"restore: expected the state of {header} {'with' if holds else 'without'} rows that wait but it was"
                " written with another order; keep order= and sequence= as they were"
            )
            raise SnapshotMismatch(message)
        return Opened(bucket, header.version, engine, held, waiting, len(blob), changes, text=text)

    def following(self, opened: Opened, text: str) -> tuple[Reactive, ...] | None:
        """Return the program of another text, with which a bucket can go on; None if it is the one that it has.

        Whether it can does not depend on what is in the bucket: all decide alike.

        Raises:
            Exception: It cannot, as the text is none of a program, or its program needs other things in memory.
        """
        assert self.live is not None
        assert text is not None  # Invariant: a change without one is set aside before
        if text == (self.live.text if opened.text is None else opened.text):
            return None
        outputs = self._outputs_of(text)
        if (opened.text, text) not in self._fitting:
            self._check_follows(outputs, self.outputs if opened.text is None else self._outputs_of(opened.text))
            self._fitting.add((opened.text, text))
        return outputs

    def _check_follows(self, outputs: tuple[Reactive, ...], before: tuple[Reactive, ...]) -> None:
        if reason := objection(before, outputs):
            message = f"changes: {reason}; begin a new checkpoint"
            raise InvalidArgument(message)
        if self.on_error == "unknown":
            check_lenient(outputs, "changes")
        if self.demands is not None:
            self.demands.check_follows(outputs, self.outputs)

    def go_on(self, opened: Opened, text: str, outputs: tuple[Reactive, ...]) -> None:
        """Let a bucket go on as what is `following`; what is given by that is added to ``opened.changes``.

        Raises:
            Exception: What the new program raises on what is in the bucket.
        """
        opened.engine._settle()
        lateness = None if opened.held is None else 0
        opened.engine, changes = gone_on(opened.engine, outputs, lateness, self.on_error)
        opened.changes += changes
        opened.text = text

    @cached_property
    def _fitting(self) -> set[tuple[str | None, str]]:
        """Which text can follow which, as far as it was asked."""
        return set()

    @cached_property
    def _outputs_of(self) -> Callable[[str], tuple[Reactive, ...]]:
        """What returns the outputs of a text that has followed the first, the same for the same text."""
        assert self.live is not None
        return lru_cache(maxsize=_TEXTS)(self.live.outputs)

    def seal(self, opened: Opened) -> bytes:
        """Return the blob of a bucket after a call, and keep its engine for the next one.

        Raises:
            NotStorable: Its state holds something that is not plain data.
        """
        text = {} if opened.text is None else {"text": opened.text}
        body = encoded({"engine": save(opened.engine), "held": opened.held, "waiting": opened.waiting, **text})
        header = attrs.evolve(self._header, bucket=opened.bucket, version=opened.version + 1)
        blob, digest = joined(header, body)
        kept = Kept(digest, opened.engine, opened.held, opened.waiting, len(blob), opened.text)
        ENGINES.put(self.query, opened.bucket, kept)
        opened.warning = warning(opened.size, len(blob), self.soft_limit)
        return blob

    def refuse(self, blob: bytes) -> NoReturn:
        """Raise for the state of a bucket that there is not, as there are fewer of them now.

        Raises:
            SnapshotMismatch: Always.
        """
        header, _ = split(blob)
        self._check(header)
        message = (
            f"restore: expected one of {self.buckets} buckets but got the state of {header}; keep buckets= as it was"
        )
        raise SnapshotMismatch(message)

    def _check(self, header: Header) -> None:
        mine = self._header
        is_known = header.program == mine.program or header.program in self.before
        if is_known and header.inputs == mine.inputs and header.about == mine.about:
            return
        before, now = json.loads(header.about), json.loads(mine.about)
        if reason := moved(before, now):
            message = (
                f"restore: expected the state of {header} to be of this query but {reason}, or begin a new checkpoint"
            )
            raise SnapshotMismatch(message)
        if is_known and header.inputs == mine.inputs:
            return
        if not is_known:
            found = ways_on(json.dumps(before["program"]), self.card[1])
            message = (
                f"restore: expected the state of this program but that of {header} belongs to another one: {found}, run"
                " the program that wrote it, or begin a new checkpoint"
            )
            raise SnapshotMismatch(message)
        raise SnapshotMismatch(drifted(before["inputs"], now["inputs"], header))
