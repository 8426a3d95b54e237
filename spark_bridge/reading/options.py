"""Options of `spark_bridge.correlate_frames`: what a caller may have got wrong is said at once, with what to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import types as t

from cartesius.analysis.partitioning import ANYHOW
from cartesius.errors import InvalidArgument, near
from spark_bridge.columns.values import nullable
from spark_bridge.transport.source_frames import KEY_TYPES, table_key

if TYPE_CHECKING:
    from cartesius import Reactive
    from cartesius.programs.live_programs import LiveProgram

MARK: Final = "spark.watermarkDelayMs"  # what withWatermark leaves in the metadata of a column
_WATERMARK: Final = "EventTimeWatermark"  # and in the plan


def check_live(live: LiveProgram | None, changes: Any, event_time: str, *, is_streaming: bool) -> None:
    """Raise `InvalidArgument` if there is a program that can change and nothing that changes it, or the reverse.

    Or if the sources are no streams; or if the changes have a watermark, which would hold all rows back.
    """
    if changes is not None and not is_streaming:
        message = "correlate_frames: expected streams beside changes= but all frames are batch; a batch has one program"
        raise InvalidArgument(message)
    if hasattr(type(changes), "schema") and event_time in watermarked(changes):
        message = (
            "correlate_frames: expected changes= without a watermark, as they come seldom and would hold back all rows,"
            " but got one of withWatermark; leave it out"
        )
        raise InvalidArgument(message)
    if (live is None) == (changes is None):
        return
    got = "a LiveProgram without changes=" if live else "changes= for a program that cannot change"
    message = f"correlate_frames: expected changes= with a LiveProgram, and with nothing else, but got {got}"
    raise InvalidArgument(message)


def check_options(frames: Any, known: list[str], event_time: Any, buckets: Any, order: Any) -> None:
    """Raise `InvalidArgument` unless there is one frame a source, and the names and numbers make sense."""
    if not isinstance(event_time, str):
        message = f'correlate_frames: expected the name of a column but got {event_time=!r}; write event_time="column"'
        raise InvalidArgument(message)
    if not isinstance(frames, Mapping) or not all(hasattr(type(frame), "schema") for frame in frames.values()):
        message = f"correlate_frames: expected a mapping from source to DataFrame but got frames={frames!r}"
        raise InvalidArgument(message)
    for name, frame in frames.items():
        if type(frame).__module__.startswith("pyspark.sql.connect."):
            message = (
                f"correlate_frames: expected frames of a classic Spark session but {name!r} is one of Spark Connect,"
                " which the bridge does not run on: its watermarks, and sinks that run here, need the driver; start the"
                ' session with master(…), or spark.api.mode="classic", in place of remote(…)'
            )
            raise InvalidArgument(message)
        if name not in known:
            message = (
                f"correlate_frames: expected frames for the program's sources but got one for {name!r}; the sources are"
                f" {', '.join(known)}{near(str(name), known)}"
            )
            raise InvalidArgument(message)
    missing = [name for name in known if name not in frames]
    if missing:
        message = (
            f"correlate_frames: expected a frame for each of the program's sources ({', '.join(known)}) but there is"
            f" none for {', '.join(missing)}; add it to the mapping"
        )
        raise InvalidArgument(message)
    if isinstance(buckets, bool) or not isinstance(buckets, int) or buckets < 1:
        message = f"correlate_frames: expected at least one bucket but got {buckets=!r} (type={type(buckets).__name__})"
        raise InvalidArgument(message)
    if order not in ("event_time", "arrival"):
        message = (
            f'correlate_frames: expected order="event_time" or order="arrival" but got {order=!r}; for an order of your'
            " own give sequence="
        )
        raise InvalidArgument(message)


def timed_frames(frames: Mapping[str, Any], event_time: str) -> list[str]:
    """Return the sources whose rows have event times; the others are static. Beside a stream, all that are no streams.

    Raises:
        InvalidArgument: No frame of a batch has the column, or one has another of a name like it.
    """
    if any(frame.isStreaming for frame in frames.values()):
        return [name for name, frame in frames.items() if frame.isStreaming]
    found = [name for name, frame in frames.items() if event_time in frame.schema.names]
    for name, frame in frames.items():
        of_times = [field.name for field in frame.schema if isinstance(field.dataType, t.TimestampType)]
        hint = near(event_time, of_times if found else frame.schema.names)
        if name not in found and (hint or not found):
            message = (
                f"correlate_frames: expected the frame of {name!r} to have the column {event_time!r} (event_time) but"
                f" it has {', '.join(frame.schema.names)}{hint}"
            )
            raise InvalidArgument(message)
    return found


def watermarked(frame: Any) -> list[str]:
    """Return the columns of a frame that have a watermark of Spark's ``withWatermark``.

    Spark writes the mark of one into files, and reads it from there into frames that make none.
    """
    found = [field.name for field in frame.schema if MARK in (field.metadata or {})]
    nodes = [frame._jdf.queryExecution().analyzed()] if found else []
    while nodes:
        node = nodes.pop()
        if node.nodeName() == _WATERMARK:
            return found
        below = node.children()
        nodes += [below.apply(place) for place in range(below.size())]
    return []


def own_watermarks(frames: Mapping[str, Any], event_time: str) -> list[str]:
    """Return the sources whose frames have a watermark of their own on their event times.

    Raises:
        InvalidArgument: One has a watermark on another column, which would move the clock of all.
    """
    columns = {name: watermarked(frame) for name, frame in frames.items()}
    for name, mine in columns.items():
        for column in mine:
            if column != event_time:
                message = (
                    f"correlate_frames: expected frames with watermarks on {event_time!r} (event_time) alone but that"
                    f" of {name!r} has one on {column!r}, and a query has one clock; leave it out"
                )
                raise InvalidArgument(message)
    return [name for name, mine in columns.items() if mine]


def check_watermark(own: list[str], watermark: Any, timed: list[str]) -> None:
    """Raise `InvalidArgument` if frames have watermarks beside one that is given, or it is for no source with times."""
    durations = watermark.values() if isinstance(watermark, Mapping) else [] if watermark is None else [watermark]
    for duration in durations:
        if not isinstance(duration, str) or not duration.strip():
            message = (
                'correlate_frames: expected a duration as Spark writes it, such as "10 seconds", or a mapping from'
                f" source to one, but got {watermark=!r}"
            )
            raise InvalidArgument(message)
    if not isinstance(watermark, str):
        by_source("watermark", watermark, dict.fromkeys(timed))
    if own and watermark is not None:
        message = (
            f"correlate_frames: expected one watermark but got {watermark=!r} beside that of withWatermark of"
            f" {', '.join(map(repr, own))}; leave one of them out"
        )
        raise InvalidArgument(message)


def holds_back(order: str, sequence: Any, *, has_watermark: bool, is_streaming: bool) -> bool:
    """Return whether rows wait for the watermark; raise `InvalidArgument` if there is none to wait for."""
    if not is_streaming or sequence is not None or order == "arrival":
        return False
    if not has_watermark:
        message = (
            'correlate_frames: expected watermark=, such as "10 seconds", as order="event_time" holds rows until it has'
            ' passed them, but got None; give it, or withWatermark on a frame, or order="arrival", or sequence='
        )
        raise InvalidArgument(message)
    return True


def by_source(argument: str, given: Any, frames: Mapping[str, t.StructType | None]) -> dict[str, str]:
    """Return source → column, from one column for all the frames that have it, or from a mapping."""
    if given is None:
        return {}
    if isinstance(given, str):
        found = {name: given for name, kind in frames.items() if kind is None or given in kind.names}
        if not found:
            columns = sorted({column for kind in frames.values() if kind is not None for column in kind.names})
            message = (
                f"correlate_frames: expected {argument}={given!r} to be a column of a frame but no frame has it"
                f"{near(given, columns)}"
            )
            raise InvalidArgument(message)
        return found
    if not isinstance(given, Mapping):
        message = (
            f"correlate_frames: expected a column, or a mapping from source to column, but got {argument}={given!r}"
        )
        raise InvalidArgument(message)
    for name in given:
        if name not in frames:
            message = (
                f"correlate_frames: expected {argument} for the sources {', '.join(frames)} but got it for {name!r}"
                f"{near(str(name), list(frames))}"
            )
            raise InvalidArgument(message)
    return dict(given)


def check_sequences(sequence: Any, by_sequence: Mapping[str, str], names: list[str]) -> None:
    """Raise `InvalidArgument` if some sources have a column that gives the order of arrival, and some have none."""
    missing = [name for name in names if name not in by_sequence]
    if sequence is not None and missing:
        message = f"correlate_frames: expected sequence= for every source but {missing[0]!r} has none"
        raise InvalidArgument(message)


def key_kind(kind: t.DataType) -> str:
    """Return a word for a type of keys; keys of different words are never equal."""
    return "a whole number" if isinstance(kind, t.IntegralType) else kind.simpleString()


def splittable(inputs: Mapping[str, Reactive], frames: Mapping[str, t.StructType]) -> dict[str, dict[str, str]]:
    """Return what `chosen_partition` takes: columns of keys' types; of a table only its key, so that no row moves."""
    found = {}
    for name, columns in frames.items():
        own = [table_key(name, inputs[name])] if inputs[name].table else columns.names
        kinds = {field.name: field.dataType for field in columns if field.name in own}
        found[name] = {column: key_kind(kind) for column, kind in kinds.items() if isinstance(kind, KEY_TYPES)}
    return found


def check_partition_types(columns: Mapping[str, str], frames: Mapping[str, t.StructType]) -> None:
    """Raise `InvalidArgument` if equal keys could be of different types, and so go to different buckets."""
    by_column = {name: column for name, column in columns.items() if column != ANYHOW}
    shown = {name: key_kind(frames[name][column].dataType) for name, column in by_column.items()}
    if len(set(shown.values())) > 1:
        listed = ", ".join(f"{name} by {kind}" for name, kind in shown.items())
        message = f"correlate_frames: expected sources that are partitioned by one type but got {listed}; cast them"
        raise InvalidArgument(message)


def given_schemas(schema: Any, outputs: list[str]) -> dict[str, t.StructType]:
    """Return the caller's schema of each output's values."""
    if schema is None:
        return {}
    if not isinstance(schema, Mapping):
        schema = dict.fromkeys(outputs, schema)
    for name in schema:
        if name not in outputs:
            message = f"correlate_frames: expected schema= for {', '.join(outputs)} but got it for {name!r}"
            raise InvalidArgument(message)
    return {
        name: nullable(kind if isinstance(kind, t.StructType) else _from_ddl(kind)) for name, kind in schema.items()
    }


def _from_ddl(text: Any) -> t.StructType:
    kind, reason = None, ""
    if isinstance(text, str):
        try:
            kind = t.DataType.fromDDL(text)
        except PySparkException as error:
            reason = f" ({error.getCondition()})"
    if not isinstance(kind, t.StructType):
        message = (
            f'correlate_frames: expected the fields of the value as "field type, …" but got schema={text!r}{reason}'
        )
        raise InvalidArgument(message)
    return kind
