"""A history is read in the order of its times, in columns as one by one; what is wrong with it is said."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius.errors import InvalidArgument
from dsl import RulePack, Source, choice, instant, optional, position, require
from dsl.histories import History
from dsl.units import knots, metres

START = datetime(2020, 6, 30, tzinfo=UTC)
vessel = Source(
    "vessel", key="mmsi", mmsi=int, draught=metres, kind=optional(choice("tanker", "cargo")), position=position,
    eta=optional(instant), pilot=optional(bool), destination=str,
)  # fmt: skip
wind = Source("wind", key=None, velocity=knots)
port = RulePack("port", subject=vessel)
with port:
    require(wind.velocity <= 45 * knots)
    require(vessel.draught <= 15 * metres)
HEADER = "time,mmsi,draught,kind,position,eta,pilot,destination"
SHIP = {"mmsi": 244, "draught": 9.5, "position": [40.7, -74.0], "destination": "A"}


def at(minutes):
    return START + timedelta(minutes=minutes)


def micros(moment):
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def ships(folder, *rows, name="vessel.csv"):
    (folder / name).write_text("\n".join([HEADER, *rows]) + "\n")


def winds(folder, *rows):
    table = {"time": [at(minute) for minute, _ in rows], "velocity": [velocity for _, velocity in rows]}
    pq.write_table(pa.table(table, pa.schema([("time", pa.timestamp("us", "UTC")), ("velocity", pa.float64())])),
                   folder / "wind.parquet")  # fmt: skip


def test_rows_of_all_sources_come_by_time_and_then_in_the_order_of_the_pack(tmp_path):
    ships(tmp_path, "2020-06-30T00:01Z,1,9,tanker,40.7 -74,2020-06-30T01:00Z,yes,A", "2020-06-30T00:02Z,2,8,,,,,B")
    winds(tmp_path, (0, 10), (2, 20), (3, None))
    found = [(each.name, row, time) for each, row, time in History(tmp_path, port).pushes()]
    lacking = {"kind": None, "position": None, "eta": None, "pilot": None}
    first = {"kind": "tanker", "position": (40.7, -74.0), "eta": micros(at(60)), "pilot": True}
    assert found == [
        ("wind", {"velocity": 10.0}, micros(at(0))),
        ("vessel", {"mmsi": 1, "draught": 9.0, **first, "destination": "A"}, micros(at(1))),
        ("vessel", {"mmsi": 2, "draught": 8.0, **lacking, "destination": "B"}, micros(at(2))),
        ("wind", {"velocity": 20.0}, micros(at(2))),
        ("wind", {"velocity": None}, micros(at(3))),
    ]


def test_json_lines_and_parquet_and_csv_say_the_same(tmp_path):
    folders = [tmp_path / name for name in ("csv", "jsonl", "parquet")]
    for folder in folders:
        folder.mkdir()
        winds(folder, (0, 10))
    ships(folders[0], "2020-06-30T00:01:00Z,244,9.5,,40.7;-74.0,,,A")
    row = {"time": "2020-06-30T00:01:00+00:00", **SHIP}
    (folders[1] / "vessel.jsonl").write_text(json.dumps(row) + "\n")
    pq.write_table(pa.Table.from_pylist([{**SHIP, "time": micros(at(1))}]), folders[2] / "vessel.parquet")
    every = [History(folder, port).columns() for folder in folders]
    assert every[0] == every[1] == every[2]
    assert every[0]["vessel"].column("time").to_pylist() == [at(1)]


def test_a_source_may_be_a_folder_of_files_read_in_the_order_of_their_names(tmp_path):
    winds(tmp_path, (0, 10))
    (tmp_path / "vessel.csv").mkdir()
    ships(tmp_path / "vessel.csv", "2020-06-30T00:05Z,2,8,,,,,B", name="day-2.csv")
    ships(tmp_path / "vessel.csv", "2020-06-30T00:01Z,1,8,,,,,B", name="day-1.csv")
    assert [row["mmsi"] for each, row, _ in History(tmp_path, port).pushes() if each.name == "vessel"] == [1, 2]


def test_rows_that_cannot_be_read_are_counted_and_named(tmp_path):
    good = "2020-06-30T00:01Z,1,9,,,,,A"
    bad = [
        ("noon,1,9,,,,,A", "time: expected a time such as 2020-06-30T12:00:00Z but got 'noon'"),
        (",1,9,,,,,A", "expected a time but got none"),
        ("2020-06-30T00:01Z,,9,,,,,A", "mmsi: expected a key but got none"),
        ("2020-06-30T00:01Z,1,deep,,,,,A", "draught: expected numbers but got 'deep'"),
        ("2020-06-30T00:01Z,1,9,,7.5,,,A", "position: expected pairs of numbers, latitude and longitude but got [7.5]"),
        ("2020-06-30T00:01Z,1,9,,,,maybe,A", "pilot: expected truth values but got 'maybe'"),
        ("2020-06-30T00:01Z,1,9", "expected 8 cells but got 3"),
    ]  # fmt: skip
    ships(tmp_path, good, *(row for row, _ in bad), good)
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    assert history.columns()["vessel"].num_rows == 2
    assert history.number_unread == len(bad)
    assert sorted(map(str, history.unread)) == sorted(
        f"vessel.csv, row {place}: {why}" for place, (_, why) in enumerate(bad, 3)
    )
    assert history.rows() == len(bad) + 3
    assert len(list(history.pushes())) == 3
    assert history.number_unread == len(bad)  # of this reading, not of both


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\n\n", "\n  \n", "\n\ufeff\n", "\n\x85\n", "\n\x0c\n"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_rows_that_are_counted_are_those_that_are_read(tmp_path, kind, end):
    """Whatever ends a line or is none, be it within quotes of CSV, where a line may end."""
    if kind == "csv":
        header, row = "time,mmsi,draught,length,position,stay,pilot,destination", '2020-06-30T00:01Z,1,9,,,,,"A{}B"'
        lines = [header, *(row.format(inner) for inner in ("", end, end + end)), "too,few"]
    else:
        lines = [json.dumps({"time": micros(at(1)), **SHIP})] * 3 + ["{half"]
    (tmp_path / f"vessel.{kind}").write_text(end.join(lines) + end, encoding="utf-8", newline="")
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    assert len(list(history.pushes())) == 4
    assert history.number_unread >= 1
    assert history.rows() == 4 + history.number_unread


def test_a_row_of_json_that_is_none_is_counted_and_named(tmp_path):
    row = {"time": micros(at(1)), **SHIP}
    lines = [json.dumps(row), "{half", json.dumps({**row, "draught": True}), json.dumps({**row, "position": [1, "x"]})]
    (tmp_path / "vessel.jsonl").write_text("\n".join(lines) + "\n")
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    assert history.columns()["vessel"].num_rows == 1
    assert [(each.row, each.why.partition(" but ")[0]) for each in history.unread] == [
        (2, "expected an object of JSON"),
        (3, "draught: expected numbers"),
        (4, "position: expected pairs of numbers, latitude and longitude"),
    ]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_time_in_nanoseconds_is_that_of_no_year_and_cannot_be_read(suffix, tmp_path):
    late = micros(datetime.max.replace(tzinfo=UTC))
    times = (-(2**62), micros(datetime.min.replace(tzinfo=UTC)), late, late + 1, 1_593_518_400_000_000_000)
    if suffix == "csv":
        ships(tmp_path, *(f"{time},1,9,,,,,A" for time in times))
    else:
        pq.write_table(pa.Table.from_pylist([{**SHIP, "time": time} for time in times]), tmp_path / "vessel.parquet")
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    assert [time.year for time in history.columns()["vessel"].column("time").to_pylist()] == [1, 9999]
    shown = "expected microseconds since the epoch, of the years 1 to 9999, but got"
    assert [each.why for each in history.unread] == [f"{shown} {times[place]}" for place in (0, 3, 4)]


LATIN = "2020-06-30T00:02Z,2,9,,,,,Ä".encode("latin-1")


@pytest.mark.parametrize("before", [0, 1000])
def test_a_row_that_is_not_utf_8_is_counted_and_named_wherever_it_stands(before, tmp_path):
    row = b"2020-06-30T00:01Z,1,9,,,,,A"
    (tmp_path / "vessel.csv").write_bytes(b"\n".join([HEADER.encode(), *[row] * before, LATIN, row]))
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    assert history.columns()["vessel"].num_rows == before + 1
    assert list(map(str, history.unread)) == [
        f"vessel.csv, row {before + 2}: "
        r"expected UTF-8 but got b'2020-06-30T00:02Z,2,9,,,,,\xc4'; save the file as UTF-8"
    ]


def test_json_that_is_not_utf_8_or_has_half_a_character_is_counted_and_named(tmp_path):
    row = json.dumps({"time": micros(at(1)), **SHIP, "destination": "Ä"}, ensure_ascii=False)
    lines = [row.encode(), row.encode("latin-1"), row.replace("Ä", r"\ud800").encode()]
    (tmp_path / "vessel.jsonl").write_bytes(b"\n".join(lines))
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    assert history.columns()["vessel"].column("destination").to_pylist() == ["Ä"]
    assert [(each.row, each.why.partition(" but ")[0]) for each in history.unread] == [
        (2, "expected UTF-8"),
        (3, "destination: expected texts"),
    ]


def test_a_header_that_is_not_utf_8_is_refused(tmp_path):
    (tmp_path / "vessel.csv").write_bytes(f"{HEADER},größe\n".encode("latin-1"))
    winds(tmp_path, (0, 10))
    with pytest.raises(InvalidArgument, match="a file that can be read but got a header that is not UTF-8; write it"):
        History(tmp_path, port)


@pytest.mark.parametrize(
    ("cell", "is_read"),
    [(cell, True) for cell in ("15", "+15", "15.", ".5", "-1.5e3", "1E-2", " 15 ")]
    + [
        (cell, False)
        for cell in ("1_5", "inf", "-Infinity", "nan", "1e400", "0x10", "1,5", "1 5", "9" * 5000, "\u0661")
    ],
)
def test_a_number_is_written_in_decimals_or_with_an_exponent(cell, is_read, tmp_path):
    ships(tmp_path, f'2020-06-30T00:01Z,1,"{cell}",,,,,A', f'2020-06-30T00:01Z,1,9,,"{cell} 7",,,A')
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    found = history.columns()["vessel"].column("draught").to_pylist()
    assert found == ([float(cell), 9] if is_read else [])
    assert history.number_unread == (0 if is_read else 2)


@pytest.mark.parametrize(
    "wrong",
    [{"draught": float("inf")}, {"position": [True, 1]}, {"position": [float("nan"), 1]}, {"position": [10**400, 1]}],
)
def test_a_value_of_json_that_is_no_number_is_none(wrong, tmp_path):
    row = {"time": micros(at(1)), **SHIP}
    (tmp_path / "vessel.jsonl").write_text("\n".join(map(json.dumps, (row, {**row, **wrong}))))
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    assert history.columns()["vessel"].num_rows == 1
    assert [each.row for each in history.unread] == [2]


def test_a_name_twice_in_a_row_of_json_is_no_row(tmp_path):
    row = json.dumps({"time": micros(at(1)), **SHIP})
    (tmp_path / "vessel.jsonl").write_text(f'{row}\n{row[:-1]}, "draught": 1}}\n')
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    assert history.columns()["vessel"].column("draught").to_pylist() == [9.5]
    assert list(map(str, history.unread)) == ["vessel.jsonl, row 2: expected each name once but got 'draught' 2 times"]


@pytest.mark.parametrize("number", [3, 6000])
@pytest.mark.parametrize("row", ['2020-06-30T00:01Z,"1,9,,,,,A', '2020-06-30T00:01Z,1,9,,,,,"A'])
def test_each_line_that_a_quote_swallows_is_counted(row, number, tmp_path):
    ships(tmp_path, row, *["2020-06-30T00:01Z,1,9,,,,,A"] * number)
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    read = history.columns()["vessel"].num_rows
    assert history.number_unread == number + 1 - read
    assert str(history.unread[0]).startswith("vessel.csv, row 2: expected cells of CSV from line 2 on but got: ")
    assert read == 0 or number == 6000  # of a cell that long the reader lets go


def test_lines_within_quotes_are_one_row(tmp_path):
    ships(tmp_path, '2020-06-30T00:01Z,1,9,,,,,"A\nB"', '2020-06-30T00:01Z,1,"9\n",,,,"A\nB"')
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    assert history.columns()["vessel"].column("destination").to_pylist() == ["A\nB"]
    assert [each.row for each in history.unread] == [4, 5, 6]


def test_half_a_position_and_no_number_in_parquet_are_no_values(tmp_path):
    rows = [{**SHIP, "time": micros(at(1))}, {**SHIP, "time": micros(at(2)), "position": [40.7]}]
    rows.append({**SHIP, "time": micros(at(3)), "draught": float("nan")})
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "vessel.parquet")
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    assert history.columns()["vessel"].column("draught").to_pylist() == [9.5, None]
    assert list(map(str, history.unread)) == [
        "vessel.parquet, row 2: position: expected latitude and longitude but got [40.7]"
    ]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"vesel.csv": HEADER}, r"expected one file of the source 'vessel'.*did you mean 'vesel.csv'\?"),
        ({"vessel.csv": HEADER, "vessel.jsonl": ""}, r"got both vessel.csv and vessel.jsonl; keep one"),
        (
            {"vessel.csv": "time,mmsi,draft,position,destination"},
            r"expected the column 'draught', a field of the source 'vessel', but got time, .*; did you mean 'draft'\?",
        ),
        ({"vessel.csv": HEADER.removeprefix("time,")}, r"expected the column 'time', the time of each row, but got"),
        (
            {"vessel.csv": f"{HEADER}\n2020-06-30T00:02Z,1,9,,,,,A\n2020-06-30T00:01Z,1,9,,,,,A"},
            r"expected times in ascending order but got 2020-06-30T00:01:00\+00:00 after 2020-06-30T00:02:00\+00:00",
        ),
        ({"vessel.parquet": "no parquet"}, "expected a file that can be read but got"),
        ({"vessel.csv": f"{HEADER},draught"}, r"vessel.csv: expected one column 'draught' but got 2; keep one"),
        ({"vessel.csv": '"time,mmsi'}, "vessel.csv: expected a file that can be read but got a header that is wrong"),
        (
            {"vessel.csv": f"{HEADER}\n2020-06-30T00:01Z,1.5,9,,,,,A\n2020-06-30T00:02Z,{2**53 + 1},9,,,,,A"},
            r"vessel.csv, column mmsi: expected whole numbers of at most 2\*\*53 .* but got .*9007199254740993",
        ),
    ],
)
def test_a_folder_that_is_no_history_is_refused(files, said, tmp_path):
    winds(tmp_path, (0, 10))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InvalidArgument, match=said):
        History(tmp_path, port).columns()


def test_a_column_twice_in_parquet_is_refused(tmp_path):
    table = pa.Table.from_pylist([{**SHIP, "time": 0}])
    pq.write_table(table.append_column("draught", pa.array([1.0])), tmp_path / "vessel.parquet")
    winds(tmp_path, (0, 10))
    with pytest.raises(InvalidArgument, match=r"vessel\.parquet: expected one column 'draught' but got 2; keep one"):
        History(tmp_path, port)


def test_a_page_of_parquet_that_is_damaged_is_refused_with_its_file(tmp_path):
    rows = [{**SHIP, "time": minute, "draught": minute / 7} for minute in range(3000)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "vessel.parquet", compression="snappy")
    damaged = bytearray((tmp_path / "vessel.parquet").read_bytes())
    damaged[200:2500] = bytes(each ^ 0x55 for each in damaged[200:2500])
    (tmp_path / "vessel.parquet").write_bytes(damaged)
    winds(tmp_path, (0, 10))
    history = History(tmp_path, port)
    with pytest.raises(InvalidArgument, match=r"vessel\.parquet: expected a file that can be read but got .*; write"):
        history.columns()


def test_a_whole_number_that_no_decimal_is_beside_decimals_in_another_file_is_refused(tmp_path):
    winds(tmp_path, (0, 10))
    (tmp_path / "vessel.csv").mkdir()
    for day, mmsi in (("1", 2**53 + 1), ("2", 1.5)):
        ships(tmp_path / "vessel.csv", f"2020-06-30T00:01Z,{mmsi},9,,,,,A", name=f"{day}.csv")
    history = History(tmp_path, port)
    for read in (history.columns, lambda: list(history.batches(1)), lambda: list(history.pushes())):
        with pytest.raises(InvalidArgument, match=r"vessel: expected whole numbers of at most 2\*\*53"):
            read()


def test_a_column_of_a_wrong_type_is_refused_before_anything_is_read(tmp_path):
    pq.write_table(pa.Table.from_pylist([{**SHIP, "time": 0, "draught": "deep"}]), tmp_path / "vessel.parquet")
    winds(tmp_path, (0, 10))
    with pytest.raises(InvalidArgument, match="expected numbers in the column 'draught' but got string; cast the col"):
        History(tmp_path, port)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidArgument, match="expected a folder with a file for each source but there is none"):
        History(tmp_path / "nowhere", port)


@settings(max_examples=25, deadline=None)
@given(
    reports=st.lists(st.integers(0, 12), max_size=15),
    blows=st.lists(st.integers(0, 12), max_size=15),
    size=st.integers(1, 4),
)
def test_stretches_of_time_are_the_whole_in_order_and_part_no_moment(tmp_path_factory, reports, blows, size):
    folder = tmp_path_factory.mktemp("history")
    ships(folder, *(f"{at(minute).isoformat()},{place},9,,,,,A" for place, minute in enumerate(sorted(reports))))
    winds(folder, *((minute, float(place)) for place, minute in enumerate(sorted(blows))))
    history = History(folder, port)
    whole, stretches = history.columns(), list(history.batches(size))
    for name, table in whole.items():
        parts = [stretch[name] for stretch in stretches if name in stretch]
        assert [row for part in parts for row in part.to_pylist()] == table.to_pylist()
    spans = [[time for part in stretch.values() for time in part.column("time").to_pylist()] for stretch in stretches]
    assert all(max(one) < min(other) for one, other in pairwise(spans))
