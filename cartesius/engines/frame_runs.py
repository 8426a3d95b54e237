"""Running a program over frames, for who has all rows already; `spark_bridge.correlate_frames` does it on Spark.

Source: SEMANTICS 1.18 and 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cartesius.core.engine_core import MICROSECOND
from cartesius.engines.engine import Engine
from cartesius.errors import InvalidArgument, near
from cartesius.language.reactives import Reactive

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import timedelta

    from cartesius.columns.exchange.frame_kinds import Kind


def run_frames(
    program: Reactive | Sequence[Reactive],
    frames: Mapping[str, Any],
    *,
    at: str | Mapping[str, str | None],
    deleted: str | Mapping[str, str] | None = None,
    to: Kind | None = None,
    unit: timedelta = MICROSECOND,
    close: bool = True,
) -> Any:
    """Run a program over frames of pandas, polars, Arrow or DuckDB; return what it gives as such a frame.

    The rows are pushed by event time, those of one time in the order of ``frames`` and then as they stand; the clock
    follows them. It is done in columns, as by `Engine.push_many`, and gives what pushing the rows one by one gives.

    >>> import pyarrow as pa
    >>> from cartesius import Reactive, correlate, run_frames
    >>> from restrictions import key_by, within
    >>> order, payment = Reactive("order"), Reactive("payment")
    >>> paid = correlate(
    ...     order=order,
    ...     payment=payment,
    ...     yields=lambda order, payment: {"id": order.id, "open": order.total - payment.amount},
    ...     restrict=key_by(order="id", payment="order") | within(30, "order", "payment"),
    ... )
    >>> orders = pa.table({"id": [7, 8], "total": [20, 5], "time": [100, 110]})
    >>> payments = pa.table({"order": [8, 7], "amount": [5, 15], "time": [170, 120]})
    >>> run_frames(paid, {"order": orders, "payment": payments}, at="time").to_pylist()
    [{'change': 'event', 'start': 100, 'end': 120, 'id': 7, 'open': 5}]

    Args:
        program: The output reactive, or a list of several.
        frames: A frame for each input, by its name: a `pandas.DataFrame`, `polars.DataFrame` or `polars.LazyFrame`, a
            `pyarrow.Table`, `pyarrow.RecordBatch` or `pyarrow.RecordBatchReader`, a relation of DuckDB, or whatever
            else has ``__arrow_c_stream__``. A row is an event whose payload is a record of its columns, without those
            named by ``at`` and ``deleted``, or of the ``fields`` (or those of the ``type``) that the reactive declares;
            of the one column ``value`` it is that. On a table, which declares its key, a row is an update.
        at: The column of event times in every frame, or a mapping from input to column; None in it: the frame is
            static, its rows are there before all time. Times are ints, in time units, or timestamps, all with time
            zones or all without; they mean microseconds.
        deleted: Of tables, the column of truth values that says which rows are gone, in the frames of tables that have
            it, or a mapping from input to column.
        to: The kind of frame to return: ``"pandas"``, ``"polars"``, ``"polars_lazy"``, ``"arrow"`` or ``"duckdb"``; by
            default that of the inputs, if it is one. DuckDB's results are on the connection of the first relation.
        unit: What one unit of time means, if times are ints, for durations given as `timedelta`.
        close: Whether the inputs end with their rows: absence is certain then, and open windows are closed; False
            gives what a stream has given by then.

    Returns:
        A frame with the columns ``change`` (``event`` or ``retract``, of a table ``update`` or ``delete``), of a table
        ``key``, ``start`` and ``end`` (as the times came; null: before all time), and the fields of the results. What
        has none is the column ``value``; the items of a tuple are called as their fields, or ``_1``, ``_2``, …. Of
        several outputs, a dict from their names to frames.

    Raises:
        InvalidArgument: What can be seen to be wrong before anything runs, as a column that the program reads and a
            frame has not; or a field of the results is called as one of the columns beside it.
        NotStorable: A result is no plain data, and so nothing that a frame holds.
        Exception: What a body raises, with a note that says on which row.

    Law:
        The rows are the events that ``run`` gives, pushed in that order, with ``lateness=0``.
    """
    from cartesius.columns.exchange.frame_feeds import Given, check_reads, timeline  # noqa: PLC0415 - with numpy and Arrow, which nothing else needs
    from cartesius.columns.exchange.frame_kinds import checked_kind, kind_of, maker, to_arrow  # noqa: PLC0415 - likewise
    from cartesius.columns.exchange.frame_results import results  # noqa: PLC0415 - likewise

    outputs = _outputs(program)
    engine = Engine(*outputs, unit=unit, lateness=0)
    inputs = _bound(engine, frames)
    times = _times(at, inputs)
    kinds = {name: kind_of(frame, name) for name, frame in frames.items()}
    relation = next((frames[name] for name, kind in kinds.items() if kind == "duckdb"), None)
    make = maker(checked_kind(to, kinds), relation)
    tables = {name: to_arrow(frames[name], kind, name) for name, kind in kinds.items()}
    gone = _deleted(deleted, {name: tables[name].column_names for name in tables if inputs[name].table})
    given = [Given(name, inputs[name], table, times[name], gone.get(name)) for name, table in tables.items()]
    for one in given:
        one.check()
    check_reads(outputs, given)
    line = timeline(given)
    if line.kind is not None and unit != MICROSECOND:
        message = (
            f"run_frames: expected unit= beside times that are ints but got {unit=!r} beside timestamps, which are"
            " microseconds; leave it out"
        )
        raise InvalidArgument(message)
    made = {name: make(table) for name, table in results(engine, line, engine.close if close else None).items()}
    return next(iter(made.values())) if isinstance(program, Reactive) else made


def _outputs(program: Any) -> tuple[Reactive, ...]:
    outputs = (program,) if isinstance(program, Reactive) else program
    if not isinstance(outputs, list | tuple) or not all(isinstance(output, Reactive) for output in outputs):
        message = (
            f"run_frames: expected a Reactive, or a list of them, to compute but got {program!r}"
            f" (type={type(program).__name__})"
        )
        raise InvalidArgument(message)
    return tuple(outputs)


def _bound(engine: Engine, frames: Any) -> dict[str, Reactive]:
    """Return the input of each frame; raise `InvalidArgument` unless there is one frame for each input."""
    known = list(engine.inputs)
    if not isinstance(frames, Mapping):
        message = (
            f"run_frames: expected a mapping from input to frame but got type={type(frames).__name__}; the inputs are"
            f" {', '.join(known)}"
        )
        raise InvalidArgument(message)
    _check_inputs("a frame", frames, known, "add it to the mapping")
    return {name: engine.inputs[name] for name in frames}


def _times(at: Any, inputs: Mapping[str, Reactive]) -> dict[str, str | None]:
    """Return the column of event times of each input; None: it is static."""
    if isinstance(at, str):
        return dict.fromkeys(inputs, at)
    if not isinstance(at, Mapping):
        message = (
            "run_frames: expected the column of event times, or a mapping from input to column, but got"
            f" {at=!r} (type={type(at).__name__})"
        )
        raise InvalidArgument(message)
    _check_inputs("a column in at=", at, inputs, "say None if the rows are there before all time")
    return dict(at)


def _check_inputs(what: str, given: Mapping[Any, Any], inputs: Collection[str], fix: str) -> None:
    """Refuse a mapping from inputs that knows others, or not all."""
    wanted = f"run_frames: expected {what} for each of the inputs {', '.join(inputs)} but"
    for name in given:
        if name not in inputs:
            message = f"{wanted} got one for {name!r}{near(name, inputs)}"
            raise InvalidArgument(message)
    if missing := [name for name in inputs if name not in given]:
        message = f"{wanted} there is none for {', '.join(missing)}; {fix}"
        raise InvalidArgument(message)


def _deleted(deleted: Any, tables: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the column that says which rows are gone, of the tables that have one, by their names and columns."""
    if isinstance(deleted, str):
        found = {name: deleted for name, columns in tables.items() if deleted in columns}
        if not found:
            known = sorted({column for columns in tables.values() for column in columns})
            message = f"run_frames: expected {deleted=!r} to be a column of a table's frame but none has it"
            raise InvalidArgument(message + near(deleted, known))
        return found
    for name in deleted or ():
        if name not in tables:
            message = f"run_frames: expected deleted= for tables ({', '.join(tables) or 'none'}) but got {name!r}"
            raise InvalidArgument(message + near(name, tables))
    return dict(deleted or {})
