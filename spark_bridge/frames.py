"""Frames in, frames out: a program over DataFrames, streaming or batch alike.

All inputs become one tagged frame, grouped by bucket: one engine a bucket, not one group a key, because a group has a
fixed cost of its own. See `envelope`, `buckets` and `stateful`; what is refused, in `source_frames`, `schemas` and
`partitioning`.

This module is over 300 lines because it is what a caller reads as a whole; the work is done elsewhere.

Source: DESIGN.md, section 7.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, final
from uuid import uuid4

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from cartesius.analysis.partition_choice import chosen_partition
from cartesius.errors import InvalidArgument
from cartesius.language.lenience import checked_policy, for_engines
from cartesius.programs.live_programs import LiveProgram
from spark_bridge.columns.values import nullable
from spark_bridge.reading.demands import Demands, check_reads, described
from spark_bridge.reading.options import (
    by_source,
    check_live,
    check_options,
    check_partition_types,
    check_sequences,
    check_watermark,
    given_schemas,
    holds_back,
    own_watermarks,
    splittable,
    timed_frames,
)
from spark_bridge.reading.prefixes import checked_until, clock_rows, delay_of, marked
from spark_bridge.running.buckets import Buckets
from spark_bridge.running.queries import Share, check_start, log_warnings, start_query
from spark_bridge.running.stateful import run_batch, run_streaming
from spark_bridge.sinks import placed
from spark_bridge.state.bucket_states import BucketStates
from spark_bridge.state.checkpoints import CheckpointNote, settled
from spark_bridge.state.memory_limits import check_bounded, checked_limit
from spark_bridge.state.migration import Migration, outputs_of
from spark_bridge.transport.dead_letters import Plausible
from spark_bridge.transport.emission import Layout
from spark_bridge.transport.envelope import letters_of, opened, results_of, tagged, united
from spark_bridge.transport.shuffles import bucket_numbers, partitioned
from spark_bridge.transport.source_frames import (
    CHANGES,
    change_source,
    check_told_apart,
    make_source,
    value_schema,
)
from spark_bridge.transport.static_frames import StaticRows, static_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql.streaming.query import StreamingQuery

    from cartesius import Reactive
    from cartesius.language.lenience import RowPolicy
    from spark_bridge.columns.schemas import ResultSchema
    from spark_bridge.running.queries import Sink
    from spark_bridge.transport.source_frames import Source

    Columns: TypeAlias = str | Mapping[str, str]
    Schema: TypeAlias = str | t.StructType
    Times: TypeAlias = tuple[datetime | None, datetime | None]


@final
@attrs.frozen(eq=False, repr=False)
class Frames:
    """What a program gives over frames: results, and the rows that it could not use.

    >>> from cartesius import Reactive
    >>> from spark_bridge import Frames, correlate_frames
    >>> def both(frames: Frames):
    ...     return frames.results, frames.dead  # neither has run anything yet

    The parts of `all`, which a streaming query computes once. To write several of them, use `start`: two queries would
    each run the program, on a checkpoint of its own.
    """

    _parts: DataFrame
    _layout: Layout
    _key: t.DataType
    _buckets: int
    _partition: Mapping[str, str]
    _states: BucketStates
    _waits: bool
    _has_watermark: bool
    _again: Callable[[Mapping[str, list[str]], str | None], Frames]

    def __repr__(self) -> str:
        """Show the outputs."""
        return f"<frames of {', '.join(self._layout.names)}>"

    @property
    def all(self) -> DataFrame:
        """The one frame: ``kind`` is ``result``, ``dead`` or ``late``; the other columns as in those three.

        Of a kind of its own, ``warning``, is what a bucket has to say of itself, such as that its state grows large.
        """
        return opened(self._parts, self._layout, self._key)

    @property
    def partition_by(self) -> dict[str, str]:
        """The column by which each source is spread over the buckets; a source that has none goes to each of them.

        A source that is spread by the whole row, as no two of its rows meet, has ``"*"``.
        """
        return dict(self._partition)

    @property
    def results(self) -> DataFrame:
        """What the program emits: output, change, key, start, end, and the value's fields.

        ``change`` is ``event``, ``retract`` (an event taken back), ``update`` or ``delete`` (of a table's row, by
        ``key``; a deleted row's fields are null). The key is null for an output that is no table, and a text if outputs
        have keys of several types: what is nested as JSON, times in UTC, bytes in base 64. A field of several types
        (``str | int``) is a text: a string as it is, else JSON.
        """
        return self._results(self._parts)

    @property
    def dead(self) -> DataFrame:
        """The rows that could not be used: source, reason, at, payload (JSON), bucket."""
        return self._letters(("dead",), self._parts)

    @property
    def late(self) -> DataFrame:
        """The rows that came after the clock had passed them: source, reason, at, payload (JSON), bucket."""
        return self._letters(("late",), self._parts)

    def start(
        self,
        *,
        results: Sink,
        dead: Sink | None = None,
        late: Sink | None = None,
        checkpoint: str,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> StreamingQuery:
        """Start one streaming query that hands each micro-batch over, split.

        Unless the session sets ``spark.sql.shuffle.partitions``, the query has as many partitions as there are buckets,
        but at most twice the cores: Spark's default of 200 would be mostly empty. What was chosen is logged; it is
        fixed for the life of the checkpoint. Buckets that warn, for want of room, are logged as well.

        With frames of streams (`examples/port/on_spark.py` does this)::

            frames.start(
                results=lambda batch, batch_id: batch.write.mode("append").parquet("out/verdicts"),
                dead=lambda batch, batch_id: batch.write.mode("append").json("out/dead"),
                checkpoint="out/checkpoint",
                trigger={"availableNow": True},
            ).awaitTermination()

        Args:
            results: Gets the results of each micro-batch, and its number. A micro-batch may come again after a failure,
                under the same number.
            dead: Likewise the dead letters; None: their number and reasons are logged as a warning.
            late: Likewise the late rows; None: they go where the dead letters go.
            checkpoint: The folder of the query's progress and state. It belongs to this program: a changed one is
                refused (see `migrate`), and so are a missing column, another number of buckets, another order of the
                frames, and a watermark where there was none, or the reverse; columns that are new since it began are
                ignored, and logged once.
            trigger: What `DataStreamWriter.trigger` takes.
            name: The query's name.
            **options: What `DataStreamWriter.option` takes.

        Raises:
            InvalidArgument: The frames are no streams, or an argument is none of those, or Spark has no way to the
                folder of the checkpoint, or of a sink, or may not write there.
            SnapshotMismatch: The checkpoint is another query's; the message says what differs.
        """
        if not self._parts.isStreaming:
            message = "start: expected streaming frames but all are batch; use results, dead and late directly"
            raise InvalidArgument(message)
        spark = self._parts.sparkSession
        sinks = {"results": results, "dead": dead, "late": late}
        check_start({name: placed(sink, spark) for name, sink in sinks.items()}, checkpoint, trigger)
        note = self._states.note(waits=self._waits, has_watermark=self._has_watermark)
        new, text = settled(CheckpointNote(spark, checkpoint), note, self._states.before)
        if new or text is not None:
            again = self._again(new, text)
            start = partial(again.start, results=results, dead=dead, late=late, checkpoint=checkpoint)
            return start(trigger=trigger, name=name, **options)
        shares = [Share(results, ("result",), self._results)]
        for sink, kinds in [(dead, ("dead", "late"))] if late is None else [(dead, ("dead",)), (late, ("late",))]:
            shares.append(Share(sink, kinds, partial(self._letters, kinds)))
        shares.append(Share(log_warnings, ("warning",), partial(self._letters, ("warning",))))
        with partitioned(spark, self._buckets):
            return start_query(self._parts, shares, checkpoint=checkpoint, trigger=trigger, name=name, options=options)

    def _results(self, parts: DataFrame) -> DataFrame:
        return results_of(parts, self._layout, self._key)

    def _letters(self, kinds: tuple[str, ...], parts: DataFrame) -> DataFrame:
        return letters_of(parts, self._layout, kinds)


def correlate_frames(
    program: Reactive | Sequence[Reactive] | Migration | LiveProgram,
    frames: Mapping[str, DataFrame],
    *,
    event_time: str,
    partition_by: Columns | None = None,
    buckets: int = 32,
    order: str = "event_time",
    sequence: Columns | None = None,
    watermark: Columns | None = None,
    deleted: Columns | None = None,
    schema: Schema | Mapping[str, Schema] | None = None,
    plausible: Times | None = None,
    close: bool = True,
    until: datetime | None = None,
    unbounded: bool = False,
    soft_limit: int | None = 64 * 2**20,
    on_error: RowPolicy = "fail",
    changes: DataFrame | None = None,
) -> Frames:
    """Run a program over DataFrames, with the results that an engine in this process would give.

    >>> from cartesius import Reactive, correlate
    >>> ship = Reactive("ship", table=True, key="mmsi")
    >>> berth = Reactive("berth", table=True, key="id")
    >>> frames = correlate_frames(  # doctest: +SKIP
    ...     moored, {"ship": ships, "berth": berths}, event_time="at", partition_by="mmsi", watermark="10 seconds"
    ... )

    Rows are used in (event time, place of the source, values) order, or, with ``sequence``, in (sequence, event time,
    place of the source, values) order, one order over all sources; the values are those of the columns that travel, one
    after the other. By default a stream's rows wait for the watermark,
    so where micro-batches are cut does not matter. With ``sequence``, or ``order="arrival"``, results come at once,
    and cuts do not matter as long as they are in that order. A bucket to which no row comes is called all the same
    when a row or a deadline of its engine is due.

    Args:
        program: One output reactive, or several; a column of the results names the output. Or what `migrate` returns,
            or a `LiveProgram`, such as that of a pack of rules (`RulePack.live`).
        frames: The DataFrame of each input, by the input's name. On a table each row is an update of the row with its
            key. The value is a mapping of the frame's columns without the helper columns named here, or of the
            reactive's ``fields`` if it declares them; or an instance of its ``type``, whose enums a column has by name
            and whose UUIDs as text. Beside streams, a frame that is none is static: its rows are there before all time,
            and are read now. In a batch, a frame without a column of event times is static.
        event_time: The column that says when, in every frame that is not static: a timestamp.
        partition_by: The column by whose value rows are spread over the buckets, in every frame that has it; or a
            mapping from source to column, or to ``"*"``, where its rows may go anywhere. All other frames are broadcast
            to every bucket. None: what the program's keys and equalities allow, see `Frames.partition_by`.
        buckets: How many engines; an int ≥ 1, dimensionless. A program whose rows cannot be spread soundly is refused,
            unless there is one. It is fixed for the life of a checkpoint.
        order: ``"event_time"`` holds the rows of a stream until the watermark has passed them, and uses them in
            event-time order, however micro-batches are cut; ``"arrival"`` uses them at once. A batch is whole, and
            always in event-time order; the clock follows its rows, if they are all there are (``close``).
        sequence: A column, or a mapping from source to column, that gives the order of arrival: a whole number.
        watermark: How late a row may come, as Spark writes a duration; needed for streams in event-time order. For the
            union of the sources, whose fastest then moves the clock; or a mapping from source to duration. None: the
            clock stands still, no row is late; or, where frames have ``withWatermark`` on their event times, those
            watermarks count, with Spark's minimum. Such a one is moved by rows of absurd times, too. Spark's watermarks
            begin in 1970: rows of earlier times wait until one of a later time has come.
        deleted: A Boolean column, in the tables that have it, or a mapping from source to column: true deletes the row.
        schema: The value's fields, as DDL or StructType, where they cannot be derived; with several outputs a mapping
            from output.
        plausible: The earliest and latest event time that is believed, or None for either. By default nothing later
            than tomorrow is, by the session's calendar. Other rows are dead letters, and do not move the watermark.
        close: Whether the sources of a batch end with it; False gives what a stream of the same rows has given by the
            time that its watermark is that of them all. Without ``watermark`` that is the time of the latest row.
        until: With ``close=False`` and without ``watermark`` the least time of that latest row, a datetime with a zone:
            the clock goes on as if another row came then. None: the rows alone move it.
        unbounded: Whether a stream may have a program whose memory grows for ever.
        soft_limit: From how many bytes on the state of one bucket of a stream warns, and again when it has doubled;
            None: never.
        on_error: What becomes of a row on which the program raises: ``"fail"``, the query fails, and says on which row
            and in which rule; ``"dead_letter"``, the row is set aside; ``"unknown"``, a rule of a pack is undecided
            where it raises, for programs made of packs. A query may go on from its checkpoint with another one. What
            raises when a deadline is due has no row, and always fails.
        changes: With a `LiveProgram` a stream of the texts that follow its first, in a column ``text``, beside the
            column of event times, which says when each was made. A text holds from the micro-batch with which it comes
            on, before its rows, in every bucket; what was said by the text before, and is otherwise now, is told with
            the results. One that cannot be gone on with is a dead letter of ``changes``, with the reason. A restart
            goes on with the text that was in force.

    Raises:
        InvalidArgument: Whatever can be seen to be wrong before anything runs.
    """
    options = {name: given for name, given in locals().items() if name not in ("program", "frames")}  # to begin again
    live = program if isinstance(program, LiveProgram) else None
    outputs = _outputs(program)
    shape = described(outputs)
    inputs, output_names = shape.inputs, [shape.names[output] for output in outputs]
    check_options(frames, list(inputs), event_time, buckets, order)
    is_streaming = any(frame.isStreaming for frame in frames.values())
    check_live(live, changes, event_time, is_streaming=is_streaming)
    checked_limit(soft_limit)
    schemas_in: dict[str, t.StructType] = {name: nullable(frame.schema) for name, frame in frames.items()}
    timed = timed_frames(frames, event_time)
    if is_streaming and not unbounded:
        check_bounded(shape, set(frames) - set(timed))
    own = own_watermarks(frames, event_time) if is_streaming else []
    check_watermark(own, watermark, timed)
    has_watermark = bool(own) or watermark is not None
    at_least = checked_until(until, close=close, is_streaming=is_streaming, has_watermark=has_watermark)
    holds = holds_back(order, sequence, has_watermark=has_watermark, is_streaming=is_streaming)
    by_sequence = by_source("sequence", sequence, dict.fromkeys(timed) if isinstance(sequence, str) else schemas_in)
    by_deleted = by_source("deleted", deleted, {name: schemas_in[name] for name in schemas_in if inputs[name].table})
    check_sequences(sequence, by_sequence, timed)
    values_in = {
        name: value_schema(kind, name, inputs[name], (event_time, by_sequence.get(name), by_deleted.get(name)))
        for name, kind in schemas_in.items()
    }
    check_reads(outputs, values_in, schemas_in)
    follows = not is_streaming and sequence is None and (close or order == "event_time")
    in_order = holds or follows
    if partition_by is None and buckets > 1:
        by_partition = chosen_partition(outputs, splittable(inputs, schemas_in), in_order=in_order)
    else:
        by_partition = by_source("partition_by", partition_by, schemas_in)
    count = buckets if by_partition else 1
    sources = [
        make_source(
            number,
            name,
            frame,
            inputs[name],
            event_time=event_time,
            is_static=name not in timed,
            sequence=by_sequence.get(name),
            partition=by_partition.get(name) if count > 1 else None,
            deleted=by_deleted.get(name),
        )
        for number, (name, frame) in enumerate(frames.items())
    ]
    check_partition_types(by_partition if count > 1 else {}, schemas_in)
    demands = Demands(
        values_in, schemas_in, given_schemas(schema, output_names), by_partition if count > 1 else {}, in_order
    )
    schemas, everywhere = demands.met(shape)
    layout, key = _common(schemas, [name for name, output in zip(output_names, outputs, strict=True) if output.table])
    check_told_apart(layout.value.names, next(iter(frames.values())), "fields of results")
    sources_in = tuple(source.input for source in sources)
    believed = Plausible(plausible)
    static = static_rows(sources, count, believed) if is_streaming else StaticRows()
    states = BucketStates(
        outputs,
        sources_in,
        uuid4().hex,
        soft_limit,
        by_partition,
        program.before if isinstance(program, Migration) else {},
        for_engines(checked_policy(on_error, outputs, "correlate_frames")),
        count,
        static.digests,
        live,
        demands,
    )
    runner = Buckets(outputs, sources_in, layout, everywhere, on_error, states, static)
    if changes is not None:
        sources.append(change_source(changes, len(sources), event_time))
    if is_streaming:
        done = _streamed(runner, sources, count, believed, watermark, has_watermark=has_watermark, holds=holds)
    else:
        done = _batched(runner, sources, count, believed, watermark, at_least, follows=follows, close=close)

    def again(columns: Mapping[str, list[str]], text: str | None) -> Frames:
        rest = {name: frame.drop(*columns.get(name, ())) for name, frame in frames.items()}
        return correlate_frames(
            program if live is None or text is None else attrs.evolve(live, text=text), rest, **options
        )

    return Frames(done, layout, key, count, by_partition, states, holds, has_watermark, again)


def _outputs(program: Any) -> tuple[Reactive, ...]:
    """Return the outputs with which a query begins."""
    if isinstance(program, Migration):
        return program.outputs
    found = program.outputs() if isinstance(program, LiveProgram) else program
    return outputs_of(found, "correlate_frames: expected a Reactive, or a list of them, to compute")


def _streamed(
    runner: Buckets,
    sources: Sequence[Source],
    count: int,
    believed: Plausible,
    watermark: Any,
    *,
    has_watermark: bool,
    holds: bool,
) -> DataFrame:
    """Return the parts that streams give."""
    called = count if runner.static.split else 1
    travels = [one for one in sources if one.event_time is not None or one.input is CHANGES]
    parts = {one.input.name: tagged(one, count, believed, called) for one in travels}
    marked = _watermarked(parts, watermark)
    return run_streaming(marked, runner, bucket_numbers(count), has_watermark=has_watermark, holds=holds)


def _batched(
    runner: Buckets,
    sources: Sequence[Source],
    count: int,
    believed: Plausible,
    watermark: Any,
    until: int | None,
    *,
    follows: bool,
    close: bool,
) -> DataFrame:
    """Return the parts that a batch gives."""
    parts = [tagged(one, count, believed) for one in sources]
    for duration in [watermark] if isinstance(watermark, str) else (watermark or {}).values():
        delay_of(sources[0].frame.sparkSession, duration)
    if not close and (follows or watermark is not None):
        parts.append(clock_rows(sources, count, believed, watermark, until))
    return run_batch(united(parts), runner, follows=follows, close=close)


def _watermarked(parts: Mapping[str, DataFrame], watermark: Any) -> DataFrame:
    if watermark is None:
        return united(parts.values())
    if isinstance(watermark, str):
        return marked(united(parts.values()), watermark)
    # In the order of the frames, whichever have one: by that alone Spark knows its sources again.
    return united(marked(part, watermark[name]) if name in watermark else part for name, part in parts.items())


def _common(schemas: Mapping[str, ResultSchema], tables: Iterable[str]) -> tuple[Layout, t.DataType]:
    """Return the columns of all results, and the type of the key column."""
    keys = {schema.key.simpleString(): schema.key for schema in schemas.values()}
    keys_of_tables = {schemas[name].key.simpleString(): schemas[name].key for name in tables}
    fields: dict[str, tuple[t.StructField, str]] = {}
    for name, schema in schemas.items():
        for field in schema.value:
            if field.name == schema.key_field:
                continue
            before, other = fields.setdefault(field.name, (field, name))
            if before.dataType != field.dataType:
                message = (
                    f"correlate_frames: expected outputs whose fields of one name have one type but {field.name!r} is"
                    f" {before.dataType.simpleString()} in {other!r} and {field.dataType.simpleString()} in {name!r};"
                    " rename one"
                )
                raise InvalidArgument(message)
    key: t.DataType = next(iter(keys.values())) if len(keys) == 1 else t.StringType()
    value = t.StructType([t.StructField(field.name, field.dataType) for field, _ in fields.values()])
    return Layout(schemas, tuple(keys_of_tables.values()), value), key
