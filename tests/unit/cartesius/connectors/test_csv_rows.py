"""Rows of CSV: a quote is one at the beginning of a field only, and a quotation that nobody closes takes one line."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import CartesiusError
from cartesius.connectors import FileSource
from cartesius.connectors.csv_rows import texts_of, whole_rows
from tests.unit.cartesius.connectors.test_growing_files import append, read, steps

LINES = st.lists(st.text('",ab\r', max_size=8).map(lambda text: f"{text}\n".encode()), max_size=6)


def pieces(lines, *, is_last=True):
    return list(whole_rows(iter(lines), is_last=is_last))


def told_of(path, **options):
    """The rows of a file that does not grow, and the lines that are none, with the reasons."""
    told: list[tuple[str, str]] = []
    return read(FileSource(path, follow=False, unreadable=lambda *said: told.append(said), **options)), told


@given(st.lists(st.lists(st.text('",\nab\r', max_size=5), min_size=2, max_size=3), max_size=5))
def test_what_the_module_csv_writes_is_read_row_by_row(rows):
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    found = pieces([f"{line}\n".encode() for line in written.getvalue().split("\n")[:-1]])
    assert [texts_of(row, is_whole=is_whole) for row, is_whole in found] == rows


@given(LINES)
def test_no_byte_is_left_out_or_comes_twice(lines):
    assert b"".join(row for row, _ in pieces(lines)) == b"".join(lines)
    found = b"".join(row for row, _ in pieces(lines, is_last=False))
    assert b"".join(lines).startswith(found)


@given(LINES)
def test_what_waits_is_one_row_whose_quotation_is_open(lines):
    found = pieces(lines, is_last=False)
    assert pieces(lines)[: len(found)] == found
    rest = lines[sum(row.count(b"\n") for row, _ in found) :]
    assert rest == [] or pieces(rest)[0] == (rest[0], False)


@given(LINES)
def test_a_line_is_a_row_where_the_module_csv_reads_it_as_one(lines):
    """The reader is given an end mark as the next line: it is a row of its own unless a quotation is open."""
    for line in lines:
        text = line.decode()
        if "\r" in text.rstrip("\r\n"):
            continue  # which it refuses
        is_closed = ["end", "mark"] in csv.reader([text, "end,mark\n"])
        assert bool(pieces([line], is_last=False)) == is_closed


def test_a_quote_within_a_field_is_a_letter(tmp_path):
    path = tmp_path / "pipes.csv"
    append(path, 'id,what\n1,pipe\n2,5" pipe\n3,x\n4,6" y\n5,z\n')
    rows, told = told_of(path)
    assert [row["what"] for row in rows] == ["pipe", '5" pipe', "x", '6" y', "z"]
    assert told == []


def test_a_quotation_that_is_never_closed_takes_its_line_and_no_more(tmp_path):
    path = tmp_path / "pipes.csv"
    append(path, 'id,what\n1,"pipe\n2,q\n3,"x\ny"\n4,"z\n')
    rows, told = told_of(path)
    assert [row["what"] for row in rows] == ["q", "x\ny"]
    reason = "a field begins with a quote, and no other one ends it"
    assert told == [('1,"pipe\n', reason), ('4,"z\n', reason)]


def test_a_quotation_at_the_end_of_a_file_that_grows_waits(tmp_path):
    path = tmp_path / "pipes.csv"
    append(path, 'id,what\n1,"pi\n')
    idle = steps(lambda: append(path, "p"), lambda: append(path, 'e"\n'))
    assert read(FileSource(path, idle=idle)) == [{"id": "1", "what": "pi\npe"}]


def test_a_quotation_at_the_end_of_a_rotated_file_is_told(tmp_path):
    path = tmp_path / "pipes.csv"
    append(path, 'id,what\n1,"pipe\n2,q\n')

    def rotate():
        path.rename(tmp_path / "pipes.csv.1")
        append(path, "id,what\n3,x\n")

    told: list[str] = []
    source = FileSource(path, idle=steps(rotate), unreadable=lambda line, _: told.append(line))
    assert [row["id"] for row in read(source)] == ["2", "3"]
    assert told == ['1,"pipe\n']


def test_a_quotation_that_goes_on_for_too_long_is_told_while_the_file_grows(tmp_path):
    path = tmp_path / "pipes.csv"
    append(path, 'id,what\n1,"pipe\n' + f"2,{'q' * 1021}\n" * 512)  # half a MiB
    told: list[str] = []
    source = FileSource(path, idle=steps(), unreadable=lambda line, _: told.append(line))
    assert len(read(source)) == 512
    assert told == ['1,"pipe\n']


def test_a_field_that_is_too_long_is_told(tmp_path):
    path = tmp_path / "pipes.csv"
    append(path, f"id,what\n1,{'x' * (csv.field_size_limit() + 1)}\n2,q\n")
    rows, [(_, reason)] = told_of(path)
    assert rows == [{"id": "2", "what": "q"}]
    assert reason.startswith("field larger than field limit")


def test_a_byte_order_mark_before_a_quotation_is_none_of_it(tmp_path):
    path = tmp_path / "pipes.csv"
    append(path, '\ufeff"the\nid",what\n1,q\n')
    assert told_of(path) == ([{"the\nid": "1", "what": "q"}], [])


@pytest.mark.parametrize("header", [b"\xff\xfei\n", b'id,"what\n1,x\n'])
def test_a_header_that_cannot_be_read_is_refused(tmp_path, header):
    path = tmp_path / "pipes.csv"
    path.write_bytes(header)
    with pytest.raises(CartesiusError, match=r"pipes.csv' to begin with the names of columns but got"):
        told_of(path)


def test_two_columns_of_one_name_are_refused_unless_they_have_none(tmp_path):
    path = tmp_path / "pipes.csv"
    append(path, "id,what,id,,\n1,pipe,2,,\n")
    with pytest.raises(CartesiusError, match=r"names of columns, each another, but got 2 columns 'id'; rename them"):
        told_of(path)
    path.write_text("id,what,,\n1,pipe,,\n")
    assert told_of(path) == ([{"id": "1", "what": "pipe", "": ""}], [])
