"""Ready-made sinks for `Frames.start`, each of which may get a micro-batch again without saying anything twice.

Spark hands a micro-batch over once more, under the same number, if the driver dies between the sink's work and Spark's
own note of it. What comes then is what came before: the same rows, and those of one key in the same order. So a sink is
exactly-once if it replaces what it has of that number (`to_parquet`), if the last row of a key wins (see `upserts`), or
if a reader can tell repeats (`to_kafka`, `Repeats`).

Invariant: a sink holds no state between micro-batches.
Source: Spark's Structured Streaming guide, on `foreachBatch`; docs/how_to/sinks.md is the how-to.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final, final

import attrs
from pyspark.sql import Window
from pyspark.sql import functions as f

from cartesius.errors import InvalidArgument
from spark_bridge.columns.written_texts import as_object
from spark_bridge.running.queries import SHARE
from spark_bridge.state.checkpoints import HadoopFile
from spark_bridge.transport.envelope import column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from spark_bridge.running.queries import Sink

_IS_OF_A_ROW: Final = "cartesius_is_of_a_row"
_POSITION: Final = "cartesius_position"  # helper columns; a value's field may have any other name
_FOLDER: Final = "batch"
_QUERY_ID: Final = "sql.streaming.queryId"
"""What Spark tells all that a query does of it: a checkpoint that is made anew has another."""
_EXPECTED: Final = "to_parquet: expected a folder for path="
_OWNER: Final = "_cartesius_query"  # readers of folders leave out what begins with _


def checked_text(call: str, argument: str, given: Any) -> str:
    """Return a text; raise `InvalidArgument` if it is none, or empty."""
    if not isinstance(given, str) or not given.strip():
        message = f"{call}: expected a text for {argument}= but got {given!r}"
        raise InvalidArgument(message)
    return given


def checked_path(call: str, given: Any) -> str:
    """Return a path as text; raise `InvalidArgument` if it is none, or empty."""
    return checked_text(call, "path", os.fspath(given) if isinstance(given, os.PathLike) else given)


def to_parquet(path: str | os.PathLike[str]) -> Sink:
    """Return a sink that writes micro-batch n into the folder ``path/batch=n``, in place of its former content.

    >>> from spark_bridge.sinks import to_parquet
    >>> frames.start(  # doctest: +SKIP
    ...     results=to_parquet("out/verdicts"), dead=to_parquet("out/dead"), checkpoint="out/checkpoint"
    ... )

    ``spark.read.parquet(path)`` then has ``batch`` as its last column. A reader sees the newest micro-batch in part
    while it is written; those before it are whole.

    The folder belongs to one sink of one query, which a file in it says, with the fields: another query, or this one
    with another checkpoint, begins at number 0 and would replace what it has.

    Args:
        path: The folder; any that Spark can write to.

    Raises:
        InvalidArgument: It is no path. Or of the sink, not of this: the folder is another query's, or another sink's
            of this query, or nobody knows whose; or it has other fields, and a reader would find one of them in all
            files, or none; or a field of the results is called ``batch``, in capitals or not. Spark's readers would
            give the folder's number in its place.
    """
    return _ParquetFolder(checked_path("to_parquet", path).rstrip("/"))


@attrs.frozen
class _ParquetFolder:
    """The sink of a folder; two of one folder are equal."""

    path: str

    def __call__(self, batch: DataFrame, number: int) -> None:
        hidden = [name for name in batch.columns if name.lower() == _FOLDER]
        if hidden:
            message = (
                f"to_parquet: expected results without a field {_FOLDER!r}, as readers find the micro-batch's number"
                f" under that name, but there is {hidden[0]!r}; yield it under another name"
            )
            raise InvalidArgument(message)
        self._claim(batch, number)
        batch.write.mode("overwrite").parquet(f"{self.path}/{_FOLDER}={number}")

    def _claim(self, batch: DataFrame, number: int) -> None:
        """Note whose the folder is, and of which fields, before anything is in it; raise if it is otherwise."""
        query = _query_of(batch)
        if not query:
            return
        spark = batch.sparkSession
        share = spark.sparkContext.getLocalProperty(SHARE) or "result"
        fields = {field.name: field.dataType.simpleString() for field in batch.schema}
        note = HadoopFile(spark, self.path, _OWNER, _EXPECTED)
        found = _noted(note.read()) if note.exists() else {}
        if not found and HadoopFile(spark, self.path, f"{_FOLDER}={number}", _EXPECTED).exists():
            reason = f"has micro-batch {number} already, and no note of whose it is ({_OWNER})"
        elif not found or found == {"query": query}:
            note.write(json.dumps({"query": query, "share": share, "fields": fields}))
            return
        elif (found["query"], found.get("share")) != (query, share):
            reason = (
                f"has the {found.get('share', 'result')} rows of another one ({found['query']}), or of this one with"
                f" another checkpoint or from another sink, whose numbers are the same ({_OWNER} says whose it is)"
            )
        elif found["fields"] != fields:
            kinds = {name: (found["fields"].get(name), fields.get(name)) for name in {**found["fields"], **fields}}
            shown = ", ".join(f"{name!r} was {was} and is {now}" for name, (was, now) in kinds.items() if was != now)
            reason = f"was made of other fields ({shown}), and readers take those of one file for all"
        else:
            return
        message = (
            f"to_parquet: expected a folder for the {share} rows of this query ({query}) but {self.path} {reason};"
            " write into another folder, or empty it"
        )
        raise InvalidArgument(message)


def _noted(text: str) -> dict[str, Any]:
    """Return what a note says; nothing, if the driver died while it wrote it. Once it was the query's id alone."""
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError:
        return {"query": text} if text and not text.startswith("{") else {}
    return found


def placed(sink: Any, spark: SparkSession) -> Any:
    """Return a sink; that of a folder with the folder's full name, which is one however it is written."""
    if isinstance(sink, _ParquetFolder):
        return _ParquetFolder(HadoopFile(spark, sink.path, _OWNER, _EXPECTED).path.getParent().toString())
    return sink


def to_kafka(servers: str, topic: str, options: Mapping[str, str] | None = None) -> Sink:
    """Return a sink that sends each change to a topic, as a record that can be told from its repeats.

    >>> from spark_bridge.sinks import to_kafka
    >>> frames.start(results=to_kafka("localhost:9092", "verdicts"), checkpoint="out/checkpoint")  # doctest: +SKIP

    The record's key is ``{"output": …, "key": …}``, so that all changes of one row of a table are in one partition, in
    order; that of a dead letter or a late row is ``{"source": …}``. Its value is the rest of the row as JSON. The
    header ``query`` is Spark's id of the query, which goes with its checkpoint, ``batch`` the number of the
    micro-batch, and ``id`` is unique to the record among those of one key: after a failure it may come again, with the
    same headers, and a reader drops it with `Repeats`. It needs Spark's Kafka connector on the class path.

    Args:
        servers: The bootstrap servers, as Kafka writes them.
        topic: The topic.
        options: Further options of Spark's Kafka sink, such as ``kafka.security.protocol``.

    Raises:
        InvalidArgument: The servers or the topic are no text.
    """
    checked_text("to_kafka", "servers", servers)
    checked_text("to_kafka", "topic", topic)

    def write(batch: DataFrame, number: int) -> None:
        writer = kafka_records(batch, number).write.format("kafka").options(**(options or {}))
        writer.option("kafka.bootstrap.servers", servers).option("topic", topic).save()

    return write


def kafka_records(batch: DataFrame, number: int) -> DataFrame:
    """Return the records of a micro-batch: ``key``, ``value``, ``headers``; those of one row of a table in order."""
    are_results = "change" in batch.columns
    names = ["output", "key"] if are_results else ["source"]
    records = batch.select(
        _json(batch, names).alias("key"),
        _json(batch, [name for name in batch.columns if name not in names]).alias("value"),
        (column("change").isin("update", "delete") if are_results else f.lit(False)).alias(_IS_OF_A_ROW),
        f.monotonically_increasing_id().alias(_POSITION),
    )
    # Which bucket comes first may differ when a micro-batch comes again; the changes of one row do not, whose key may
    # be null. What is of no row of a table has no order either: those records are told apart by what they say.
    alike = Window.partitionBy("key", f.when(~f.col(_IS_OF_A_ROW), f.col("value"))).orderBy(_POSITION)
    place = f.row_number().over(alike).cast("string")
    record_id = f.concat_ws("-", f.lit(str(number)), place, f.when(~f.col(_IS_OF_A_ROW), f.sha2("value", 256)))
    said = {"query": f.lit(_query_of(batch)), "batch": f.lit(str(number)), "id": record_id}
    headers = f.array(*(_header(name, value) for name, value in said.items()))
    return records.select("key", "value", headers.alias("headers"))


def _json(batch: DataFrame, names: Iterable[str]) -> Column:
    """Return some columns of a frame as one JSON object."""
    return as_object([(name, column(name), batch.schema[name].dataType) for name in names])


def _query_of(batch: DataFrame) -> str:
    """Return the id of the query that hands a micro-batch over.

    Empty: it is a frame by itself; or Python's threads have no Java threads of their own (``PYSPARK_PIN_THREAD``).
    """
    return batch.sparkSession.sparkContext.getLocalProperty(_QUERY_ID) or ""


def _header(name: str, value: Column) -> Column:
    return f.struct(f.lit(name).alias("key"), value.cast("binary").alias("value"))


@final
class Repeats:
    """Tells which records of a topic that `to_kafka` writes have come before.

    >>> repeats = Repeats()
    >>> headers = [("query", b"b7e1"), ("batch", b"7"), ("id", b"7-1")]
    >>> repeats.is_repeat(0, b'{"output": "port", "key": 1}', headers)
    False
    >>> repeats.is_repeat(0, b'{"output": "port", "key": 1}', headers)
    True

    Only the newest micro-batch of a query can come again, so what is kept is the ids of one micro-batch for each
    partition and query. Other queries, and one with a new checkpoint, count for themselves. A reader that goes on from
    stored offsets keeps this object with them, or begins a micro-batch earlier.
    """

    def __init__(self) -> None:
        self._newest: dict[tuple[int, bytes], tuple[int, set[tuple[bytes, bytes]]]] = {}

    def is_repeat(self, partition: int, key: bytes, headers: Iterable[tuple[str, bytes]]) -> bool:
        """Take note of a record, and return whether it has come before.

        Args:
            partition: The partition that it was read from, in the order of that partition.
            key: Its key.
            headers: Its headers.

        Raises:
            InvalidArgument: It has no headers of `to_kafka`.
        """
        known = dict(headers)
        if not known.keys() >= {"query", "batch", "id"}:
            message = (
                f"is_repeat: expected the headers query, batch and id but got {sorted(known)}; `to_kafka` writes them"
            )
            raise InvalidArgument(message)
        batch, record = int(known["batch"]), (key, known["id"])
        place = partition, known["query"]
        newest, seen = self._newest.get(place, (-1, set()))
        if batch > newest:
            self._newest[place] = batch, {record}
            return False
        if batch < newest or record in seen:
            return True
        seen.add(record)
        return False
