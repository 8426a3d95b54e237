"""Running an exhibit: in this process or on Spark, with the same results.

Here events are pushed as they arrive, so what turns out to be wrong is taken back. In a batch of Spark they come in the
order of their times. What stands in the end is the same, and `standing` says what that is.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from cartesius import Delete, Engine, Update
from cartesius.data.records import Record
from examples.gallery.exhibits import moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from cartesius import Event, Reactive
    from cartesius.data.events import Time
    from examples.gallery.exhibits import Arrival, Exhibit

_TYPES = {str: "string", int: "long"}
_COLUMNS = ("output", "change", "key", "start", "end")


class Result(NamedTuple):
    """What an output gave: whether it came or was taken back, of a table for which key, when, and its fields.

    ``change`` is ``event`` or ``retract``; of a table ``update`` or ``delete``. Times are microseconds since 1970.
    """

    output: str
    change: str
    key: Any
    start: Time
    end: Time
    fields: Mapping[str, Any]


def steps(exhibit: Exhibit, arrivals: Iterable[Arrival] | None = None) -> Iterator[tuple[Arrival | None, list[Result]]]:
    """Run an exhibit in this process, on its own events or on others; iterate over each and what it gave.

    >>> from examples.gallery import GALLERY
    >>> [(arrival and arrival.value["user"], len(results)) for arrival, results in steps(GALLERY["advertising"])][-4:]
    [('cid', 0), ('bob', 2), ('ann', 0), (None, 1)]

    The last step has no event: the inputs end.
    """
    engine = Engine(*exhibit.outputs, lateness=exhibit.lateness)
    for arrival in exhibit.arrivals if arrivals is None else arrivals:
        yield arrival, [_of_event(event) for event in engine.push(arrival.source, arrival.value, at=arrival.at)]
    yield None, [_of_event(event) for event in engine.close()]


def run_here(exhibit: Exhibit, arrivals: Iterable[Arrival] | None = None) -> list[Result]:
    """Run an exhibit in this process, on its own events or on others; return its results, in the order they come.

    >>> from examples.gallery import GALLERY
    >>> [result.fields["ad"] for result in run_here(GALLERY["advertising"])]
    ['shoes', 'socks', 'boots']
    """
    return [result for _, results in steps(exhibit, arrivals) for result in results]


def run_on_spark(
    spark: SparkSession, exhibit: Exhibit, arrivals: Iterable[Arrival] | None = None, *, buckets: int = 4
) -> list[Result]:
    """Run an exhibit as a batch on Spark, in some buckets; return its results, of each key in the order they come.

    >>> run_on_spark(spark, GALLERY["advertising"])  # doctest: +SKIP
    """
    from pyspark.sql import functions as f  # noqa: PLC0415 - only where it is wanted

    from spark_bridge import correlate_frames  # noqa: PLC0415 - likewise

    chosen = list(exhibit.arrivals if arrivals is None else arrivals)
    frames = {source.name: _frame(spark, exhibit, source, chosen) for source in exhibit.sources}
    results = correlate_frames(exhibit.outputs, frames, event_time="at", buckets=buckets).results
    names = [name for name in results.columns if name not in _COLUMNS]
    times = {name: f.unix_micros(name) for name in ("start", "end")}
    return [_of_row(row, names) for row in results.withColumns(times).collect()]


def standing(results: Iterable[Result]) -> list[tuple[Any, ...]]:
    """Return what stands after results: events that were not taken back, and the rows of tables from when they hold.

    A table is one function of time whichever way it was found, so a change to what held before is none.

    >>> came = [
    ...     Result("out", change, None, 0, 0, {"n": n}) for change, n in [("event", 1), ("retract", 1), ("event", 2)]
    ... ]
    >>> [fields for _, _, _, _, fields in standing(came)]
    [(('n', 2),)]
    """
    events: Counter[tuple[Any, ...]] = Counter()
    rows: dict[tuple[str, Any, Time], Any] = {}
    for output, change, key, start, end, given in results:
        fields = tuple(given.items())
        if change in ("event", "retract"):
            events[output, None, start, end, fields] += 1 if change == "event" else -1
        else:
            rows[output, key, end] = fields if change == "update" else None
    found = list(events.elements())
    for (output, key), versions in groupby(sorted(rows.items(), key=lambda row: row[0]), lambda row: row[0][:2]):
        before = None
        for (_, _, end), value in versions:
            if value != before:
                found.append((output, key, end, end, value))
            before = value
    return sorted(found, key=repr)


def _of_event(event: Event) -> Result:
    value, key = event.value, None
    change = "event" if event.weight > 0 else "retract"
    if isinstance(value, Update | Delete):
        change, key = ("update" if isinstance(value, Update) else "delete"), value.key
        value = value.value if isinstance(value, Update) else {}
    fields = dict(value) if isinstance(value, dict | Record) else {"value": value}
    return Result(event.reactive, change, key, event.start, event.end, fields)


def _of_row(row: Row, names: Sequence[str]) -> Result:
    fields = {} if row.change == "delete" else {name: row[name] for name in names}
    return Result(row.output, row.change, row.key, row.start, row.end, fields)


def _frame(spark: SparkSession, exhibit: Exhibit, source: Reactive, arrivals: Iterable[Arrival]) -> DataFrame:
    """Return the events of a source as a DataFrame; its columns are those of the exhibit's own events."""
    own = next(arrival.value for arrival in exhibit.arrivals if arrival.source is source)
    columns = ", ".join(f"{name} {_TYPES[type(value)]}" for name, value in own.items())
    rows = [(moment(at), *value.values()) for at, one, value in arrivals if one is source]
    return spark.createDataFrame(rows, f"at timestamp, {columns}")
