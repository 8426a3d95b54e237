"""`run_frames` gives what pushing the rows one by one, by time, gives: for frames of each kind, in and out."""

from __future__ import annotations

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, Window, correlate, run_frames
from restrictions import (
    affinely,
    aligning,
    as_table,
    key_by,
    most_recently,
    optionally,
    retracting,
    tumbling,
    within,
    without,
)
from restrictions.streams import fork_join
from restrictions.tables import aggregate, sum_
from restrictions.windows import on_close

order, payment = Reactive("order"), Reactive("payment")
shop = Reactive("shop", table=True, key="id")


def joined(restrict, **more):
    return correlate(
        order=order,
        payment=payment,
        yields=lambda order, payment: {"id": order.id, "total": order.total, "amount": payment.total},
        restrict=restrict,
        name="joined",
        **more,
    )


keys = key_by(order="id", payment="id")
PROGRAMS = {
    "latest": joined(keys | most_recently("order", "payment")),
    "retracted": joined(keys | most_recently("order", "payment") | retracting()),
    "table": joined(keys | most_recently("order", "payment") | retracting() | as_table("order")),
    "band": joined(keys | within(3, "order", "payment")),
    "once": joined(keys | within(3, "order", "payment") | affinely("order", "payment")),
    "aligned": joined(aligning("order", "payment")),
    "window": joined(keys | tumbling(4)),
    "missing": joined(keys | within(2, "order", "payment") | optionally("payment")),
    "last": fork_join(order, payment),
    "total": aggregate(order, sum_.of("id"), by="id", restrict=tumbling(4, report=on_close)),
    "unpaid": correlate(
        order=order,
        payment=payment,
        where=lambda order, payment: payment.id == order.id,
        yields=lambda order: order.id,
        restrict=without("payment", after="order", within=3),
    ),
    "opaque": correlate(
        order=order, payment=payment, yields=lambda order, payment: (float(max(order.total or 0, 2)), payment.id)
    ),
    "shops": correlate(
        order=order,
        shop=shop,
        where=lambda order, shop: order.id == shop.id,
        yields=lambda order, shop: (order.total, shop.total),
        restrict=most_recently("order"),
    ),
}

SCHEMA = pa.schema([("total", pa.int64()), ("time", pa.int64()), ("id", pa.int64())])
CONNECTION = duckdb.connect()


def in_kind(table, kind):
    match kind:
        case "pandas":
            return table.to_pandas()
        case "polars":
            return pl.from_arrow(table)
        case "polars_lazy":
            return pl.LazyFrame(table)
        case "duckdb":
            return CONNECTION.from_arrow(table)
    return table


def rows_of(frame, kind):
    match kind:
        case "pandas":
            return pa.Table.from_pandas(frame, preserve_index=False).to_pylist()
        case "polars":
            return frame.to_dicts()
        case "polars_lazy":
            return frame.collect().to_dicts()
        case "duckdb":
            return pa.RecordBatchReader.from_stream(frame).read_all().to_pylist()
    return frame.to_pylist()


def by_hand(program, inputs, *, close=True):
    """The rows of the events that pushing one by one gives."""
    engine = Engine(program, lateness=0)
    pushes = [(row["time"], name, row) for name, rows in inputs.items() for row in rows]
    events = []
    for time, name, row in sorted(pushes, key=lambda push: push[0]):
        events += engine.push(engine.inputs[name], {"total": row["total"], "id": row["id"]}, at=time)
    events += engine.close() if close else []
    return [row_of(event) for event in events]


def row_of(event):
    value, row = event.value, dict[str, object](change="event" if event.weight > 0 else "retract")
    if isinstance(value, Update | Delete):
        row = {"change": "update" if isinstance(value, Update) else "delete", "key": value.key}
        value = value.value if isinstance(value, Update) else {"id": None, "total": None, "amount": None}
    row |= {"start": event.start, "end": event.end}
    if isinstance(value, tuple):
        return row | {f"_{place}": one for place, one in enumerate(value, start=1)}
    return row | (dict(value) if hasattr(value, "keys") else {"value": value})


def plain(value):
    """A value without the names of fields: frames have structs where Python has records, tuples and windows."""
    if isinstance(value, Window):
        return [value.start, value.end]
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return [plain(value[name]) for name in value.keys()] if hasattr(value, "keys") else value  # noqa: SIM118 - a record


@st.composite
def frames(draw):
    """Rows of two inputs, of any times; those of a table, which needs a key in each, have one."""
    row = st.fixed_dictionaries(
        {
            "total": st.none() | st.integers(0, 9),
            "time": st.integers(0, 12),
            "id": st.integers(1, 3) if draw(st.booleans()) else st.none() | st.integers(1, 3),
        }
    )
    return draw(st.lists(row, max_size=6)), draw(st.lists(row, max_size=6))


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "polars_lazy", "duckdb"])
@given(name=st.sampled_from(list(PROGRAMS)), rows=frames(), close=st.booleans())
def test_frames_give_what_pushing_their_rows_by_time_gives(kind, name, rows, close):
    program = PROGRAMS[name]
    if name == "shops":
        rows = rows[0], [row | {"id": row["id"] or 1} for row in rows[1]]
    inputs = dict(zip(Engine(program).inputs, rows, strict=False))  # some programs have one
    tables = {name: pa.Table.from_pylist(rows, SCHEMA) for name, rows in inputs.items()}
    found = run_frames(program, {name: in_kind(table, kind) for name, table in tables.items()}, at="time", close=close)
    assert plain(rows_of(found, kind)) == plain(by_hand(program, inputs, close=close))
