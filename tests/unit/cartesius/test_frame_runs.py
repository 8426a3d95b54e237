"""`run_frames`: whose frames, which columns, which times; and what is refused before anything runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cartesius import CartesiusError, Engine, Reactive, Window, coalesce, correlate, run_frames
from cartesius.errors import InvalidArgument, NotStorable
from restrictions import as_table, key_by, most_recently, optionally, retracting, tumbling, within, without
from restrictions.streams import filter_, interval_join, map_
from restrictions.tables import aggregate, count, max_, sum_
from restrictions.windows import on_close, session

order, payment = Reactive("order"), Reactive("payment")
paid = correlate(
    order=order,
    payment=payment,
    yields=lambda order, payment: {"id": order.id, "open": order.total - payment.amount},
    restrict=key_by(order="id", payment="order") | within(timedelta(minutes=30), "order", "payment"),
    name="paid",
)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def orders(time=NOON):
    return pa.table({"id": [7, 8], "total": [20, 5], "time": [time, time + timedelta(minutes=1)]})


def payments(time=NOON):
    return pa.table({"order": [8, 7], "amount": [5, 15], "time": [time + timedelta(minutes=m) for m in (90, 2)]})


def test_times_come_out_as_they_came_in_the_zone_of_the_first_frame():
    berlin = NOON.astimezone(ZoneInfo("Europe/Berlin"))
    (row,) = run_frames(paid, {"order": orders(berlin), "payment": payments()}, at="time").to_pylist()
    assert row["start"] == NOON
    assert row["start"].tzinfo is not None
    assert str(row["start"].tzinfo) == "Europe/Berlin"
    assert row["end"] - row["start"] == timedelta(minutes=2)


def test_times_without_a_zone_come_out_without_one():
    naive = NOON.replace(tzinfo=None)
    (row,) = run_frames(paid, {"order": orders(naive), "payment": payments(naive)}, at="time").to_pylist()
    assert row == {"change": "event", "start": naive, "end": naive + timedelta(minutes=2), "id": 7, "open": 5}


def test_seconds_as_ints_need_their_unit_for_durations():
    frames = {
        "order": pa.table({"id": [7], "total": [20], "time": [0]}),
        "payment": pa.table({"order": [7], "amount": [20], "time": [1800]}),
    }
    assert run_frames(paid, frames, at="time", unit=timedelta(seconds=1)).num_rows == 1
    late = frames | {"payment": pa.table({"order": [7], "amount": [20], "time": [1801]})}
    assert run_frames(paid, late, at="time", unit=timedelta(seconds=1)).num_rows == 0


def test_nanoseconds_that_are_whole_microseconds_are_read():
    frames = {"order": orders().to_pandas(), "payment": payments().to_pandas()}
    frames["order"]["time"] = frames["order"]["time"].astype("datetime64[ns, UTC]")
    assert len(run_frames(paid, frames, at="time")) == 1


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars_lazy", "arrow", "duckdb"])
def test_an_empty_frame_gives_an_empty_frame_of_its_kind(kind):
    connection = duckdb.connect()
    make = {
        "pandas": pa.Table.to_pandas,
        "polars": pl.from_arrow,
        "polars_lazy": pl.LazyFrame,
        "arrow": lambda table: table,
        "duckdb": connection.from_arrow,
    }[kind]
    frames = {"order": make(orders().slice(0, 0)), "payment": make(payments())}
    found = run_frames(paid, frames, at="time")
    assert type(found) is type(frames["order"])
    assert run_frames(paid, frames, at="time", to="arrow").num_rows == 0


def test_record_batches_and_readers_come_out_as_tables():
    [batch] = orders().to_batches()
    reader = pa.RecordBatchReader.from_batches(payments().schema, payments().to_batches())
    found = run_frames(paid, {"order": batch, "payment": reader}, at="time")
    assert isinstance(found, pa.Table)
    assert found.column("open").to_pylist() == [5]


def test_frames_of_several_kinds_need_to_and_may_be_asked_for_in_any():
    frames = {"order": pl.from_arrow(orders()), "payment": payments().to_pandas()}
    with pytest.raises(
        CartesiusError, match="order of polars, payment of pandas; say what comes out, as in to='arrow'"
    ):
        run_frames(paid, frames, at="time")
    assert isinstance(run_frames(paid, frames, at="time", to="polars"), pl.DataFrame)
    assert isinstance(run_frames(paid, frames, at="time", to="polars_lazy"), pl.LazyFrame)
    assert isinstance(run_frames(paid, frames, at="time", to="pandas"), pd.DataFrame)
    assert run_frames(paid, frames, at="time", to="duckdb").fetchall()[0][3:] == (7, 5)


def test_a_relation_stays_on_its_connection():
    connection = duckdb.connect()
    connection.sql("CREATE TABLE bought AS SELECT 7 AS id, 20 AS total, 0::BIGINT AS time")
    frames = {
        "order": connection.table("bought"),
        "payment": connection.sql("SELECT 7 AS order, 5 AS amount, 3 AS time"),
    }
    run_frames(paid, frames, at="time").create_view("found")
    assert connection.sql("SELECT open, total FROM found JOIN bought USING (id)").fetchall() == [(15, 20)]


def test_a_named_index_of_pandas_is_a_column_and_another_is_none():
    bought = orders().to_pandas().set_index("time")
    sums = payments().to_pandas()
    sums.index = [5, 6]
    found = run_frames(paid, {"order": bought, "payment": sums}, at="time")
    assert found.to_dict("list")["open"] == [5]
    assert list(found.columns) == ["change", "start", "end", "id", "open"]


def test_integers_among_nulls_stay_exact_in_pandas():
    left = correlate(
        order=order,
        payment=payment,
        yields=lambda order, payment: (order.id, payment.amount),
        restrict=key_by(order="id", payment="order") | within(1, "order", "payment") | optionally("payment"),
    )
    big = 2**53 + 1
    frames = {
        "order": pd.DataFrame({"id": [1, 2], "time": [0, 0]}),
        "payment": pd.DataFrame({"order": [1], "amount": [big], "time": [1]}),
    }
    found = run_frames(left, frames, at="time").sort_values("id")
    assert found["amount"].tolist() == [big, pd.NA]


def test_nested_and_dictionary_columns_are_values_of_python():
    ship = Reactive("ship")
    told = map_(ship, lambda ship: {"flag": ship.flag, "lon": ship.place.lon, "holds": ship.holds})
    table = pa.table({
        "flag": pa.array(["NL", None, "NL"]).dictionary_encode(),
        "place": [{"lon": 4.5}, {"lon": None}, {"lon": 1.0}],
        "holds": [[1, 2], [], None],
        "time": [1, 2, 3],
    })  # fmt: skip
    expected = [("NL", 4.5, [1, 2]), (None, None, []), ("NL", 1.0, None)]
    for frame in (table, pl.from_arrow(table), pl.DataFrame(table).with_columns(pl.col("flag").cast(pl.Categorical))):
        found = run_frames(told, {"ship": frame}, at="time", to="arrow")
        assert [(row["flag"], row["lon"], row["holds"]) for row in found.to_pylist()] == expected


def test_a_static_frame_is_there_before_all_time_and_has_none():
    ship, berth = Reactive("ship"), Reactive("berth", table=True, key="id")
    depth = correlate(
        ship=ship,
        berth=berth,
        where=lambda ship, berth: ship.berth == berth.id,
        yields=lambda ship, berth: berth.depth - ship.draught,
        restrict=most_recently("ship"),
    )
    ships = pl.DataFrame({"berth": ["A"], "draught": [9.5], "time": [-5]})
    berths = pl.DataFrame({"id": ["A", "B"], "depth": [12.0, 9.0]})
    found = run_frames(depth, {"ship": ships, "berth": berths}, at={"ship": "time", "berth": None})
    assert found.to_dicts() == [{"change": "event", "start": None, "end": -5, "value": 2.5}]


def test_of_several_outputs_each_has_its_frame_and_a_table_its_keys():
    latest = correlate(
        order=order,
        yields=lambda order: order.total,
        restrict=key_by(order="id") | most_recently("order") | retracting() | as_table("order"),
        name="latest",
    )
    found = run_frames([paid, latest], {"payment": payments(), "order": orders()}, at="time")
    assert list(found) == ["paid", "latest"]
    assert found["paid"].column("open").to_pylist() == [5]
    assert found["latest"].select(["change", "key", "value"]).to_pylist() == [
        {"change": "update", "key": 7, "value": 20},
        {"change": "update", "key": 8, "value": 5},
    ]


def test_rows_of_a_table_that_are_gone_delete():
    berth = Reactive("berth", table=True, key="id")
    frame = pa.table({"id": ["A", "A"], "depth": [9, None], "gone": [False, True], "time": [1, 2]})
    found = run_frames(berth, {"berth": frame}, at="time", deleted="gone").to_pylist()
    assert [(row["change"], row["key"]) for row in found] == [("update", "A"), ("delete", "A")]


def test_at_the_end_absence_is_certain_and_open_windows_are_closed():
    unpaid = correlate(
        order=order,
        payment=payment,
        where=lambda order, payment: order.id == payment.order,
        yields=lambda order: order.id,
        restrict=without("payment", after="order", within=30),
        name="unpaid",
    )
    sums = aggregate(order, sum_.of("total"), by="id", restrict=tumbling(10, report=on_close))
    frames = {
        "order": pa.table({"id": [7, 8], "total": [20, 5], "time": [0, 1]}),
        "payment": pa.table({"order": [7], "amount": [20], "time": [3]}),
    }
    ids, totals = run_frames([unpaid, sums], frames, at="time").values()
    assert (ids.column("value").to_pylist(), totals.column("value").to_pylist()) == ([8], [20, 5])
    for program, used in ((unpaid, frames), (sums, {"order": frames["order"]})):
        assert run_frames(program, used, at="time").num_rows > 0
        assert run_frames(program, used, at="time", close=False).num_rows == 0


def test_an_error_of_a_body_says_on_which_row():
    inverse = map_(order, lambda order: 1 / order.total)
    with pytest.raises(ZeroDivisionError) as caught:
        run_frames(inverse, {"order": pa.table({"total": [0, 1], "time": [9, 3]})}, at="time")
    assert any("at row 1 of 2 by time, of 'order': Record({'total': 0})" in note for note in caught.value.__notes__)


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no frame": ({"payment": [1]}, {}, "a frame of pandas, polars, Arrow or DuckDB for 'payment' but got one of type=list"),
    "another input": ({"orders": orders()}, {}, "but got one for 'orders'; did you mean 'order'?"),
    "no such column of times": ({}, {"at": "tme"}, "the column 'tme' (at=) but got id, total, time; did you mean 'time'?"),
    "some times only": ({}, {"at": {"order": "time"}}, "there is none for payment; say None if the rows are there before all time"),
    "times of another input": ({}, {"at": {"order": "time", "pay": "time"}}, "got one for 'pay'"),
    "no times": ({}, {"at": 3}, "expected the column of event times"),
    "a column that is read": (
        {"order": orders().rename_columns(["id", "totl", "time"])},
        {},
        "the column 'total', which yields= of 'paid' reads, but there is id, totl; did you mean 'totl'?",
    ),
    "a key that is read": (
        {"payment": payments().rename_columns(["ordr", "amount", "time"])},
        {},
        "the column 'order', which key_by(",
    ),
    "keys that are never equal": (
        {"order": orders().set_column(0, "id", pa.array([*map(str, orders()["id"].to_pylist())]))},
        {},
        "the column 'id' of 'order' (string) and the column 'order' of 'payment' (int64) are never equal; cast the column",
    ),
    "a text that is calculated with": (
        {"order": orders().set_column(1, "total", pa.array(["3"] * len(orders())))},
        {},
        "of 'order' (string) cannot be calculated with; cast the column 'total' of 'order' to int64",
    ),
    "zones here and none there": (
        {"order": orders(NOON.replace(tzinfo=None))},
        {},
        "timestamps without a zone for 'order', timestamps with a zone for 'payment'",
    ),
    "nulls among times": (
        {"order": pa.table({"id": [1, 2], "total": [1, 2], "time": [NOON, None]})},
        {},
        "a time in each row but got 1 nulls in 'time', the first in row 1; drop those rows, or fill them",
    ),
    "texts as times": ({"order": pa.table({"id": [1], "total": [1], "time": ["noon"]})}, {}, "timestamps or ints but got string"),
    "parts of a microsecond": (
        {"order": pa.table({"id": [1], "total": [1], "time": pa.array([1], pa.timestamp("ns", "UTC"))})},
        {},
        "times of whole microseconds",
    ),
    "a unit beside timestamps": ({}, {"unit": timedelta(seconds=1)}, "beside timestamps, which are microseconds"),
    "deletions of no table": ({}, {"deleted": {"order": "gone"}}, "expected deleted= for tables (none) but got 'order'"),
    "no such kind": ({}, {"to": "panda"}, "to= to be one of 'pandas', 'polars'"),
    "columns of one name": (
        {"order": pa.table([[1], [1], [NOON], [2]], names=["id", "total", "time", "id"])},
        {},
        "columns of different names but got 'id' twice",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_said_before_anything_runs(case):
    frames, options, said = REFUSED[case]
    given = ({"order": orders(), "payment": payments()} if "orders" not in frames else {"payment": payments()}) | frames
    with pytest.raises(CartesiusError) as caught:
        run_frames(paid, given, **{"at": "time", **options})
    assert str(caught.value).startswith("run_frames: ")
    assert said in str(caught.value)


def test_a_missing_frame_and_no_program_are_refused():
    with pytest.raises(CartesiusError, match="there is none for payment; add it"):
        run_frames(paid, {"order": orders()}, at="time")
    with pytest.raises(CartesiusError, match="expected a Reactive, or a list"):
        run_frames("paid", {}, at="time")  # type: ignore[arg-type]  # it is refused
    with pytest.raises(CartesiusError, match="expected a mapping from input to frame"):
        run_frames(paid, orders(), at="time")


def test_a_field_called_as_a_column_beside_it_is_refused():
    whole = map_(order, lambda order: {"start": order.id})
    with pytest.raises(CartesiusError, match="one is called 'start'; yield it under another name"):
        run_frames(whole, {"order": orders()}, at="time")


def test_a_table_needs_a_key_in_its_declaration_and_in_each_row():
    with pytest.raises(CartesiusError, match="write Reactive\\('t', table=True, key=\"column\"\\)"):
        run_frames(Reactive("t", table=True), {"t": pa.table({"id": [1], "time": [1]})}, at="time")
    with pytest.raises(CartesiusError, match="a value for the key 'id' in each row but got a null"):
        run_frames(Reactive("t", table=True, key="id"), {"t": pa.table({"id": [1, None], "time": [1, 2]})}, at="time")


def shown(*values, **options):
    """Return the frame of a program that gives these values, one after the other."""
    numbered = pa.table({"id": list(range(len(values))), "time": list(range(len(values)))})
    return run_frames(map_(order, lambda order: {"it": values[order.id]}), {"order": numbered}, at="time", **options)


@pytest.mark.parametrize("depths", [[1.5, None, -0.0], [Decimal("1.50"), None, Decimal("-2.25")]])
def test_numbers_of_several_types_come_as_the_one_that_holds_all(depths):
    """What stands in for a null is an int beside floats or decimals, and no reason to give texts."""
    frame = pa.table({"depth": depths, "time": [1, 2, 3]})
    filled = correlate(
        x=order,
        yields=lambda x: {
            "of": coalesce(x.depth, 0),
            "each": [coalesce(x.depth, 0)],
            "in": {"it": coalesce(x.depth, 0)},
        },
    )
    found = run_frames(filled, {"order": frame}, at="time")
    wanted = [0 if depth is None else depth for depth in depths]
    assert found["of"].to_pylist() == wanted
    assert found["each"].to_pylist() == [[depth] for depth in wanted]
    assert found["in"].to_pylist() == [{"it": depth} for depth in wanted]
    assert {*map(type, found["of"].to_pylist())} == {type(depths[0])}
    assert pa.types.is_string(shown(2**53 + 1, 1.5)["it"].type)  # no float holds the first


def test_lists_come_as_lists_whatever_they_are_of():
    window, zoned = Window(0, 10), {"order": pa.table({"id": [1], "time": pa.array([NOON], pa.timestamp("us", "UTC"))})}
    for lists in (
        [[1], [], None, [2, None]],
        [[[1], None], [[]]],
        [[{"name": "EVA", "at": [1]}], [{"name": None, "at": []}]],
        [[Decimal("1.5")], [Decimal("2.5"), None]],
        [[2**63], []],
        [["a"], ["\N{LATIN SMALL LETTER E WITH ACUTE}"]],
        [[], []],
    ):
        assert shown(*lists)["it"].to_pylist() == lists
        assert shown(*lists, to="polars")["it"].to_list() == lists
        assert [row[-1] for row in shown(*lists, to="duckdb").fetchall()] == lists
    assert shown([(1, "a")])["it"].to_pylist() == [[{"0": 1, "1": "a"}]]
    assert shown([window])["it"].to_pylist() == [[{"start": 0, "end": 10}]]
    held = correlate(x=order, yields=lambda x, window: {"it": [window]}, restrict=tumbling(10))
    assert run_frames(held, zoned, at="time")["it"].to_pylist()[0][0]["start"] == NOON
    joined = interval_join(order, payment, 0, 1, how="left")  # row by row, or in columns: a list in a row is the same
    tagged = {"order": pa.table({"tags": [[1, 2]], "time": [1]}), "payment": pa.table({"id": [1], "time": [9]})}
    assert run_frames(joined, tagged, at="time")["_1"].to_pylist() == [{"tags": [1, 2]}]
    assert pa.types.is_string(shown([1, "a"])["it"].type)  # what has no one type


def test_a_result_that_no_frame_holds_is_told_of_the_output_that_gave_it():
    with pytest.raises(NotStorable, match="object") as told:
        shown(1, object())
    assert told.value.__notes__ == [
        "in run_frames: what 'map_(order)' gives is nothing a frame holds; yield plain data, or use run"
    ]


def test_results_of_several_types_are_read_again_whatever_they_meet():
    """They come as texts that are marked: their type is not told, so nothing of it is refused."""
    mixed = map_(order, lambda order: {"id": order.id if order.id > 1 else str(order.id)})
    frame = run_frames(mixed, {"order": pa.table({"id": [1, 2], "time": [1, 2]})}, at="time")
    again = frame.drop_columns(["change", "end"]).rename_columns({"start": "time"})
    other = Reactive("other")
    both = correlate(x=order, y=other, yields=lambda x, y: {"id": x.id}, restrict=key_by(x="id", y="id"))
    found = run_frames(both, {"order": again, "other": pa.table({"id": [2], "time": [5]})}, at="time")
    assert found["id"].to_pylist() == [2]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2, 3]], columns=["time", "id", "id"]),
        pd.DataFrame({"time": [1, 2], "id": [1, "a"]}),
        pd.DataFrame({"time": [1], "id": pd.arrays.SparseArray(np.array([1]))}),
        pd.DataFrame({"time": [1], "id": [1j]}),
        pl.DataFrame({"time": [1], "id": pl.Series([2**100], dtype=pl.Int128)}),
        pl.DataFrame({"time": [1], "id": pl.Series([{1}], dtype=pl.Object)}),
        pl.LazyFrame({"time": [1], "id": pl.Series([{1}], dtype=pl.Object)}),
    ],
)
def test_a_frame_that_arrow_cannot_hold_is_refused_by_the_name_of_its_input(frame):
    with pytest.raises(InvalidArgument, match="expected the frame of 'order' to be one that Arrow can hold but got"):
        run_frames(map_(order, lambda order: order.id), {"order": frame}, at="time")


@pytest.mark.parametrize("kind", ["pandas", "polars", "duckdb", "arrow"])
def test_decimals_that_are_computed_come_out_as_decimals(kind):
    """Of no other library's frames a column could say that its texts stand for some."""
    prices = pa.table({"price": [Decimal("1.50"), Decimal("20")], "fee": [Decimal("0.25"), None], "time": [1, 2]})
    total = correlate(order=order, yields=lambda order: {"total": order.price + order.price, "fee": order.fee})
    found = run_frames(total, {"order": prices}, at="time", to=kind)
    table = found if kind == "arrow" else found.to_arrow_table() if kind == "duckdb" else pa.table(found)
    assert pa.types.is_decimal(table.schema.field("total").type)
    assert table.column("total").to_pylist() == [Decimal("3.00"), Decimal("40.00")]
    again = map_(Reactive("found"), lambda found: found.total * 2)
    assert run_frames(again, {"found": found}, at="start", to="arrow").column("value").to_pylist() == [6, 80]


@pytest.mark.parametrize("kind", ["pandas", "polars", "duckdb", "arrow"])
def test_numbers_for_which_a_batch_has_texts_are_numbers_in_frames(kind):
    """Ints beyond 64 bits with a sign, and decimals inside of tuples and of keys."""
    large = 2**63
    orders = pa.table(
        {"id": pa.array([large, 7, None], pa.uint64()), "price": [Decimal("1.50")] * 3, "time": [1, 2, 3]}
    )
    pairs = map_(order, lambda order: (order.id, (order.price * 2, order.id)))
    programs = {
        "most": (aggregate(order, max_.of("id"), restrict=tumbling(10)), "value", [large]),
        "sum": (aggregate(order, sum_.of("id"), restrict=tumbling(10)), "value", [large, large + 7]),
        "far": (map_(order, lambda order: order.id * -2), "value", [-2 * large, -14, None]),
        "keys": (aggregate(order, count, by="id", restrict=tumbling(10)), "key", [large, 7]),
        "pairs": (pairs, "_2", [Decimal("3.00")] * 3),
    }
    for program, column, expected in programs.values():
        found = run_frames(program, {"order": orders}, at="time", to=kind)
        told = list(found[column]) if kind == "pandas" else pa.table(found).column(column).to_pylist()
        assert [each["0"] if isinstance(each, dict) else each for each in told] == expected


@pytest.mark.parametrize("yields", ["as a dict", "as a tuple", "as it came"])
def test_a_result_without_rows_has_the_fields_that_others_have(yields):
    body = {
        "as a dict": lambda order, payment: {"id": order.id, "amount": payment.amount + 1},
        "as a tuple": lambda order, payment: (order.id, payment.amount),
        "as it came": lambda order, payment: payment,
    }[yields]
    joined = correlate(
        order=order, payment=payment, where=lambda order, payment: order.id == payment.order, yields=body
    )
    some = run_frames(joined, {"order": orders(), "payment": payments()}, at="time")
    none = run_frames(joined, {"order": orders()[:0], "payment": payments()}, at="time")
    assert (some.num_rows, none.num_rows) == (2, 0)
    assert none.column_names == some.column_names


def test_a_field_that_is_called_as_the_place_of_another_has_the_name_of_its_own():
    pairs = map_(Reactive("x"), lambda x: (x._2, x.n + 1))
    (row,) = run_frames(pairs, {"x": pa.table({"_2": ["b"], "n": [1], "time": [NOON]})}, at="time").to_pylist()
    assert (row["_1"], row["_2"]) == ("b", 2)


def test_of_a_column_an_array_is_a_list_and_a_map_a_record():
    frame = pa.table(
        {"tags": [["p"]], "depths": pa.array([[("bow", 9)]], pa.map_(pa.string(), pa.int64())), "time": [NOON]}
    )
    words = ["p"]
    found = map_(filter_(Reactive("x"), lambda x: (x.tags == words) & (x.depths == {"bow": 9})), lambda x: x.depths.bow)
    (row,) = run_frames(found, {"x": frame}, at="time").to_pylist()
    assert row["value"] == 9
    with pytest.raises(InvalidArgument, match=r"\(list<.*>\) and .* \(tuple\) .*an array is a list here"):
        run_frames(filter_(Reactive("x"), lambda x: x.tags == ("p",)), {"x": frame}, at="time")


FAR = 1 << 60


@pytest.mark.parametrize(
    "output",
    [
        correlate(x=order, yields=lambda x: x.id, restrict=without(payment, after="x", within=FAR)),
        aggregate(order, count, by="id", restrict=session(FAR, report=on_close)),
        aggregate(order, count, by="id", restrict=tumbling(FAR, report=on_close)),
    ],
)
def test_the_end_decides_what_is_due_however_far_that_is(output):
    frames = {"order": pa.table({"id": [7], "at": [5]}), "payment": pa.table({"id": [1], "at": [1]})}
    mine = {name: frame for name, frame in frames.items() if name in Engine(output).inputs}
    assert run_frames(output, mine, at="at").num_rows == 1
