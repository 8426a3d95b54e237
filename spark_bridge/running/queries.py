"""One streaming query for all that a program gives: each micro-batch is computed once, and split.

Invariant: every sink of the caller's is called once a micro-batch, with rows or without.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from cartesius.errors import InvalidArgument
from spark_bridge.progress import counted
from spark_bridge.transport.emission import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from pyspark.sql.streaming.query import StreamingQuery

Sink: TypeAlias = Callable[[DataFrame, int], object]
"""What is given a micro-batch and its number."""

TRIGGERS: Final = frozenset({"availableNow", "once", "processingTime"})
"""What starts micro-batches, of what Spark knows; a continuous query has none."""

SHARE: Final = "cartesius.share"
"""The property of Spark's thread that tells a sink which share it is given: the first of the kinds of its rows."""

_LOG = logging.getLogger("spark_bridge")
_DAEMON = "spark.python.daemon.module"
_SHOWN = 5  # reasons in one warning


@attrs.frozen
class KeyedSink:
    """A sink that keeps the newest row of each key; letters have none.

    Args:
        call: What made it.
        write: What it does with a micro-batch.
    """

    call: str
    write: Sink

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Write a micro-batch."""
        self.write(batch, number)


@attrs.frozen
class Share:
    """What one sink is given of a micro-batch.

    Args:
        sink: The sink; None: the number of rows and their reasons are logged.
        kinds: Of which kinds its rows are: ``result``, or some of `LETTERS`.
        view: Makes its rows of parts (see `emission`).
    """

    sink: Sink | None
    kinds: tuple[str, ...]
    view: Callable[[DataFrame], DataFrame]

    def hand_over(self, parts: DataFrame, there: Set[str], number: int) -> None:
        """Hand a micro-batch over, in which there are rows of the kinds ``there``."""
        if not there.isdisjoint(self.kinds):
            (self.sink or _warn)(self.view(parts), number)
        elif self.sink not in (None, log_warnings):
            self.sink(self.view(parts.limit(0)), number)  # no parts, no task of Python's for each partition


def check_start(sinks: Mapping[str, Any], checkpoint: Any, trigger: Any) -> None:
    """Raise `InvalidArgument` unless a query can be started with these: results have a sink, the others may have.

    A sink goes by the number of a micro-batch, so none may get two frames under one number.
    """
    for name, sink in sinks.items():
        if not callable(sink) and (sink is not None or name == "results"):
            message = f"start: expected a function of a DataFrame and its number for {name}= but got {sink!r}"
            raise InvalidArgument(message)
        if isinstance(sink, KeyedSink) and name != "results":
            message = (
                f"start: expected a sink that takes rows without a key for {name}= but got one of {sink.call}, which"
                " keeps rows by their keys; use to_parquet or to_kafka, or a function of your own"
            )
            raise InvalidArgument(message)
    given = [(name, sink) for name, sink in sinks.items() if sink is not None]
    for (name, sink), (other, same) in combinations(given, 2):
        if sink == same:
            message = (
                f"start: expected a sink of its own for {name}= and for {other}= but got {sink!r} for both, which would"
                " then get two frames under the number of each micro-batch; make another one, of another place"
            )
            raise InvalidArgument(message)
    if not isinstance(checkpoint, str) or not checkpoint.strip():
        message = f"start: expected the name of a folder for checkpoint= but got {checkpoint!r}"
        raise InvalidArgument(message)
    is_trigger = trigger is None or (isinstance(trigger, Mapping) and len(trigger) == 1 and set(trigger) <= TRIGGERS)
    if not is_trigger:
        message = (
            'start: expected {"availableNow": True}, or {"processingTime": "10 seconds"}, for trigger= but got'
            f" {trigger!r}"
        )
        raise InvalidArgument(message)


def start_query(
    parts: DataFrame,
    shares: Sequence[Share],
    *,
    checkpoint: str,
    trigger: Mapping[str, Any] | None,
    name: str | None,
    options: Mapping[str, Any],
) -> StreamingQuery:
    """Start one query that gives each sink its share of every micro-batch; what has no sink is logged.

    The parts of a micro-batch are kept meanwhile, not the rows that they hold, which take Spark longer to keep than
    it takes to make them again.
    """

    def hand_over(batch: DataFrame, number: int) -> None:
        batch.persist()
        try:
            there = {kind_of(row.output) for row in batch.select("output").distinct().collect()}
            for share in shares:
                parts.sparkSession.sparkContext.setLocalProperty(SHARE, share.kinds[0])
                share.hand_over(batch, there, number)
        finally:
            batch.unpersist()

    tell_of_daemon(parts.sparkSession.conf.get(_DAEMON, None))
    stream = counted(parts).writeStream.outputMode("append")
    writer = stream.option("checkpointLocation", checkpoint).foreachBatch(hand_over)
    for option, value in options.items():
        writer = writer.option(option, value)
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    return writer.start()


def tell_of_daemon(daemon: str | None) -> None:
    """Log one line if workers import everything for themselves, as ``daemon``, Spark's setting, is not there."""
    if daemon is None:
        _LOG.warning("%s is not set: with spark_bridge.daemon each micro-batch takes less time", _DAEMON)


def _warn(letters: DataFrame, number: int) -> None:
    counted = letters.groupBy("source", "reason").count().orderBy(f.desc("count")).limit(_SHOWN).collect()
    for row in counted:
        _LOG.warning("micro-batch %d: %d rows of %r were not used: %s", number, row["count"], row.source, row.reason)


def log_warnings(warnings: DataFrame, number: int) -> None:
    """Log what buckets have to say of themselves."""
    for row in warnings.select("bucket", "reason").limit(_SHOWN).collect():
        _LOG.warning("micro-batch %d: bucket %d: %s", number, row.bucket, row.reason)
