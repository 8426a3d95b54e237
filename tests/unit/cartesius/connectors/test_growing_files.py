"""Files that grow: whole lines, rotation, going on at a position, and lines that are none."""

from __future__ import annotations

import asyncio
import filecmp
import hashlib
import json
import os
from decimal import Decimal

import pytest

from cartesius import CartesiusError, Event
from cartesius.connectors import FileSource
from cartesius.connectors.growing_files import with_rotated


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def read(source):
    async def items():
        return [item async for item in source]

    return asyncio.run(items())


def steps(*works):
    """An `idle` that does these works, one each time that nothing more is there, and then stops."""
    rest = list(works)

    async def idle():
        if rest:
            rest.pop(0)()
            return True
        return False

    return idle


def test_half_a_line_waits_for_its_end(tmp_path):
    path = tmp_path / "orders.jsonl"
    append(path, '{"id": 1}\n{"id"')
    idle = steps(lambda: append(path, ": 2"), lambda: append(path, "}\n"))
    assert read(FileSource(path, idle=idle)) == [{"id": 1}, {"id": 2}]


def test_a_file_may_come_later(tmp_path):
    path = tmp_path / "orders.jsonl"
    assert read(FileSource(path, idle=steps(lambda: None, lambda: append(path, '{"id": 1}\n')))) == [{"id": 1}]


def test_a_rotated_file_is_read_to_its_end_and_then_the_new_one(tmp_path):
    path = tmp_path / "orders.jsonl"
    append(path, '{"id": 1}\n')

    def rotate():
        append(path, '{"id": 2}\n')
        path.rename(tmp_path / "orders.jsonl.1")
        append(tmp_path / "orders.jsonl.1", '{"id": 3}')  # whole, without an end of line
        append(path, '{"id": 4}\n')

    assert [row["id"] for row in read(FileSource(path, idle=steps(rotate)))] == [1, 2, 3, 4]


def test_a_file_that_is_rotated_twice_between_two_looks_is_read_with_the_one_in_the_middle(tmp_path):
    path = tmp_path / "orders.jsonl"
    append(path, '{"id": 1}\n{"id": 2}\n')

    def rotate():
        path.rename(tmp_path / "orders.jsonl.1")
        append(path, '{"id": 3}\n')
        (tmp_path / "orders.jsonl.1").rename(tmp_path / "orders.jsonl.2")
        path.rename(tmp_path / "orders.jsonl.1")
        append(path, '{"id": 4}\n')

    assert [row["id"] for row in read(FileSource(path, idle=steps(rotate)))] == [1, 2, 3, 4]


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_copy_of_a_file_that_is_rotated_is_not_read_again(tmp_path, is_gone):
    path, old = tmp_path / "orders.jsonl", tmp_path / "orders.jsonl.1"
    append(path, '{"id": 1}\n')

    def rotate():
        path.rename(old)
        append(path, '{"id": 2}\n')
        path.rename(tmp_path / "orders.jsonl.2")
        append(path, '{"id": 3}\n')
        os.utime(old, (1000, 1000))
        if is_gone:
            old.unlink()
        else:
            append(tmp_path / "orders.jsonl-20260301", '{"id": 1}\n')
        os.utime(tmp_path / "orders.jsonl.2", (3000, 3000))

    os.utime(path, (1000, 1000))
    assert [row["id"] for row in read(FileSource(path, idle=steps(rotate)))] == [1, 2, 3]


@pytest.mark.parametrize(("look", "ids"), [(1, [1, 3, 2, 4]), (2, [1, 2, 4, 3])])
def test_a_file_that_is_renamed_between_a_look_and_its_opening_is_read_by_its_new_name(
    tmp_path, monkeypatch, look, ids
):
    path, looks = tmp_path / "orders.jsonl", []
    append(path, '{"id": 1}\n')

    def then_renamed(path):
        found = with_rotated(path)
        looks.append(found)
        if len(looks) == look:
            path.rename(tmp_path / "orders.jsonl.1")
            append(path, '{"id": 3}\n')
        return found

    def rotate():
        append(path, '{"id": 2}\n')
        path.rename(tmp_path / "orders.jsonl.2")
        append(path, '{"id": 4}\n')

    monkeypatch.setattr("cartesius.connectors.growing_files.with_rotated", then_renamed)
    assert [row["id"] for row in read(FileSource(path, idle=steps(rotate)))] == ids


def test_where_a_file_is_renamed_while_files_are_compared_they_are_looked_for_anew(tmp_path, monkeypatch):
    path, compared, cmp = tmp_path / "orders.jsonl", [], filecmp.cmp
    for number in 3, 2, 1:
        append(tmp_path / f"orders.jsonl.{number}", f'{{"id": {4 - number}}}\n')
    append(path, '{"id": 4}\n')
    source = FileSource(path, follow=False)
    source.seek({"offset": 0, "head": "", "file": 0, "before": []})

    def then_renamed(one, other, shallow):
        compared.append(one)
        if len(compared) == 2:
            (tmp_path / "orders.jsonl.3").rename(tmp_path / "orders.jsonl.4")
        return cmp(one, other, shallow=shallow)

    monkeypatch.setattr("filecmp.cmp", then_renamed)
    assert [row["id"] for row in read(source)] == [1, 2, 3, 4]


def test_a_file_that_is_removed_before_it_was_read_is_told(tmp_path, monkeypatch):
    path, old = tmp_path / "orders.jsonl", tmp_path / "orders.jsonl.1"
    append(path, '{"id": 1}\n')

    def then_removed(path):
        found = with_rotated(path)
        if old in found:
            path.unlink(missing_ok=True)
        return found

    def rotate():
        path.rename(old)
        append(path, '{"id": 2}\n')

    monkeypatch.setattr("cartesius.connectors.growing_files.with_rotated", then_removed)
    with pytest.raises(CartesiusError, match="was removed before it was read"):
        read(FileSource(path, idle=steps(rotate)))


def test_a_folder_is_no_file_that_may_come(tmp_path):
    (tmp_path / "orders.jsonl").mkdir()
    with pytest.raises(CartesiusError, match="expected a file at"):
        read(FileSource(tmp_path / "orders.jsonl"))


def test_who_renames_a_file_may_write_into_it_for_a_while(tmp_path):
    """As logrotate has it: it renames the file and makes a new one, and then tells the writer."""
    path, old = tmp_path / "orders.csv", tmp_path / "orders.csv.1"
    append(path, "id,n\n1,10\n2,2")

    def rotate():
        path.rename(old)
        append(path, "id,n\n4,40\n")

    idle = steps(rotate, lambda: append(old, "00\n3,30\n"))
    assert [(row["id"], row["n"]) for row in read(FileSource(path, idle=idle))] == [
        ("1", "10"), ("2", "200"), ("3", "30"), ("4", "40")
    ]  # fmt: skip


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_file_that_is_rotated_before_it_was_seen_is_read_and_older_ones_are_not(tmp_path, is_restarted):
    path = tmp_path / "orders.jsonl"
    append(tmp_path / "orders.jsonl.7", '{"id": 0}\n')

    def rotate():
        append(path, '{"id": 1}\n')
        path.rename(tmp_path / "orders.jsonl.1")
        append(path, '{"id": 2}\n')

    source = FileSource(path, idle=steps(lambda: None) if is_restarted else steps(lambda: None, rotate))
    found, position = read(source), source.position
    if is_restarted:
        rotate()
        source = FileSource(path, idle=steps())
        source.seek(json.loads(json.dumps(position)))
        found += read(source)
    assert [row["id"] for row in found] == [1, 2]


def test_rotated_files_of_one_time_are_read_by_their_numbers(tmp_path):
    path = tmp_path / "orders.jsonl"
    for number, name in enumerate(["orders.jsonl.10", "orders.jsonl.2", "orders.jsonl.1", "orders.jsonl"]):
        append(tmp_path / name, f'{{"id": {number}}}\n')
        os.utime(tmp_path / name, (1_700_000_000, 1_700_000_000))
    assert [other.name for other in with_rotated(path)] == [
        "orders.jsonl.10", "orders.jsonl.2", "orders.jsonl.1", "orders.jsonl"
    ]  # fmt: skip
    dated = [tmp_path / f"day.csv-{date}" for date in ("20260228", "20260301")]
    for other in (*dated, tmp_path / "day.csv"):
        append(other, "id\n")
        os.utime(other, (1_700_000_000, 1_700_000_000))
    assert [*with_rotated(tmp_path / "day.csv")] == [*dated, tmp_path / "day.csv"]


def test_a_row_of_several_lines_waits_for_its_end_where_a_file_is_read_once(tmp_path):
    path, told = tmp_path / "notes.csv", []
    append(path, 'id,text\n1,a\n2,"two\nlines"')
    source = FileSource(path, follow=False, unreadable=lambda line, _: told.append(line))
    assert [row["id"] for row in read(source)] == ["1"]
    append(path, "\n3,c\n")
    again = FileSource(path, follow=False, unreadable=lambda line, _: told.append(line))
    again.seek(source.position)
    assert [(row["id"], row["text"]) for row in read(again)] == [("2", "two\nlines"), ("3", "c")]
    assert told == []


def test_a_file_that_was_cut_is_read_from_its_start(tmp_path):
    path = tmp_path / "orders.jsonl"
    append(path, '{"id": 1}\n{"id": 2}\n')
    assert read(FileSource(path, idle=steps(lambda: path.write_text('{"id": 3}\n')))) == [{"id": n} for n in (1, 2, 3)]


def test_every_position_goes_on_behind_the_item_that_it_came_with(tmp_path):
    path = tmp_path / "orders.csv"
    append(path, 'id,note,draught\n1,"two\nlines",9.5\n2,,\n3,"a ""b""",7\n')

    def source():
        return FileSource(path, types={"id": int, "draught": float}, follow=False)

    async def all_of():
        first = source()
        return [(item, first.position) async for item in first]

    found = asyncio.run(all_of())
    rows = [item for item, _ in found]
    assert rows == [
        {"id": 1, "note": "two\nlines", "draught": 9.5},
        {"id": 2, "note": "", "draught": None},
        {"id": 3, "note": 'a "b"', "draught": 7.0},
    ]
    for place, (_, position) in enumerate(found, start=1):
        again = source()
        again.seek(position)
        assert again.position == position
        assert read(again) == rows[place:]


def test_a_position_finds_its_file_after_two_rotations(tmp_path):
    path = tmp_path / "orders.jsonl"
    append(path, '{"id": 1}\n{"id": 2}\n')
    first = FileSource(path, follow=False)

    async def one():
        async for _ in first:
            return first.position
        return None

    position = asyncio.run(one())
    path.rename(tmp_path / "orders.jsonl.2")
    append(tmp_path / "orders.jsonl.1", '{"id": 3}\n')
    append(path, '{"id": 4}\n')
    for age, name in enumerate(["orders.jsonl", "orders.jsonl.1", "orders.jsonl.2"]):
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    second = FileSource(path, follow=False)
    second.seek(position)
    assert [row["id"] for row in read(second)] == [2, 3, 4]
    (tmp_path / "orders.jsonl.2").unlink()
    third = FileSource(path, follow=False)
    third.seek(position)
    with pytest.raises(CartesiusError, match="of which 10 bytes were read, but none begins like it"):
        read(third)


def kept(source):
    """The position of a source that is at the end of its file."""
    read(source)
    return source.position


def ids_from(position, path):
    source = FileSource(path, follow=False)
    source.seek(position)
    return [row["id"] for row in read(source)]


def age(path, *names):
    """Let files have been written one after another."""
    for when, name in enumerate(names, start=1000):
        os.utime(path.with_name(name), (when, when))


@pytest.mark.parametrize("is_read", [False, True])
def test_a_file_that_was_empty_is_found_after_rotations(tmp_path, is_read):
    path = tmp_path / "orders.jsonl"
    append(tmp_path / "orders.jsonl.1", '{"id": 0}\n')  # rotated before: it is nobody's
    append(path, "")
    source = FileSource(path, follow=False)
    position = kept(source) if is_read else source.position
    append(path, '{"id": 1}\n')
    path.rename(f"{path}.3")
    append(tmp_path / "orders.jsonl.2", '{"id": 2}\n')
    append(path, '{"id": 3}\n')
    age(path, "orders.jsonl.1", "orders.jsonl.3", "orders.jsonl.2", "orders.jsonl")
    assert ids_from(position, path) == [1, 2, 3]
    if not is_read:
        assert [row["id"] for row in read(source)] == [1, 2, 3]


def test_if_a_file_of_which_nothing_was_read_is_gone_another_is_read_and_that_is_told(tmp_path, caplog):
    path = tmp_path / "orders.jsonl"
    append(path, "")
    position = FileSource(path).position
    append(tmp_path / "new", '{"id": 1}\n')
    (tmp_path / "new").replace(path)
    assert ids_from(position, path) == [1]
    assert "the file of which nothing was read yet is gone" in caplog.text


def test_a_position_before_there_is_a_file_begins_with_the_first(tmp_path):
    path = tmp_path / "orders.jsonl"
    position = FileSource(path).position
    append(path, '{"id": 1}\n')
    assert ids_from(position, path) == [1]


@pytest.mark.parametrize(
    "name", [".1", ".2", "-20260301", "-2026030112", "-20260301-12", ".2026-03-01", ".2026-03-01_12-30-00"]
)
def test_a_rotated_file_has_a_number_or_a_date_behind_its_name(tmp_path, name):
    path = tmp_path / "orders.jsonl"
    append(path, '{"id": 1}\n')
    position = kept(FileSource(path, follow=False))
    append(path, '{"id": 2}\n')
    path.rename(f"{path}{name}")
    append(path, '{"id": 3}\n')
    assert ids_from(position, path) == [2, 3]


@pytest.mark.parametrize("name", [".bak", ".1.bak", "~", ".1~", ".gz", ".1.gz", ".old", "2", ".", "-", "-1-", "-copy"])
def test_any_other_file_beside_it_is_somebody_elses(tmp_path, name):
    path = tmp_path / "orders.jsonl"
    append(path, '{"id": 1}\n')
    position = kept(FileSource(path, follow=False))
    append(path, '{"id": 2}\n')
    path.rename(f"{path}.1")
    append(tmp_path / f"orders.jsonl{name}", '{"id": 1}\n{"id": 9}\n')
    append(path, '{"id": 3}\n')
    age(path, "orders.jsonl.1", f"orders.jsonl{name}", "orders.jsonl")
    assert ids_from(position, path) == [2, 3]


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_copy_of_a_rotated_file_is_not_read_again(tmp_path, is_begun):
    path = tmp_path / "orders.jsonl"
    append(path, '{"id": 1}\n')
    position = kept(FileSource(path, follow=False))
    append(path, '{"id": 2}\n')
    path.rename(f"{path}.1")
    names = ["orders.jsonl.1", "orders.jsonl-20260301", "orders.jsonl.2", "orders.jsonl-20260302"]
    for name, text in zip(names[1:], ['{"id": 1}\n{"id": 2}\n', '{"id": 3}\n', '{"id": 3}\n'], strict=True):
        append(tmp_path / name, text)
    if is_begun:  # by chance as another began: it grows, so that it is no copy
        append(path, '{"id": 3}\n')
        names.append("orders.jsonl")
    age(path, *names)
    assert ids_from(position, path) == [2, 3] + [3] * is_begun


def test_times_are_ints_or_texts_with_a_zone(tmp_path):
    path = tmp_path / "orders.jsonl"
    append(path, '{"at": 3}\n{"at": "1970-01-01T01:00:01+01:00"}\n')
    assert read(FileSource(path, at="at", follow=False)) == [Event({}, 3, 3), Event({}, 10**6, 10**6)]


def test_lines_that_are_no_rows_are_told_and_passed_over(tmp_path, caplog):
    path = tmp_path / "orders.jsonl"
    path.write_bytes(b'nothing\n\n[1]\n{"a": 1}\n{"at": "now"}\n{"at": "2026-03-01"}\n{"at": 1.5}\n\xff\n{"at": 9}\n')
    told: list[tuple[str, str]] = []
    source = FileSource(path, at="at", follow=False, unreadable=lambda line, why: told.append((line, why)))
    assert read(source) == [Event({}, 9, 9)]
    said = [
        "no JSON",
        "of type list",
        "there is no field 'at'",
        "of ISO 8601 was",
        "with its zone",
        "1.5",
        "can't decode",
    ]
    assert [part in why for part, (_, why) in zip(said, told, strict=True)] == [True] * len(said)
    read(FileSource(path, at="at", follow=False))
    assert "a line is passed over: no JSON" in caplog.text


@pytest.mark.parametrize(
    ("opening", "closing", "why"),
    [
        ('{"a": ' + "[" * 100_000, "]" * 100_000 + "}", "no JSON: maximum recursion depth"),
        ('{"a": ' + "[" * 200, "]" * 200 + "}", "a JSON object of at most 200 levels"),
        ('{"a": ' * 201, "}" * 201, "a JSON object of at most 200 levels"),
    ],
)
def test_a_row_that_is_nested_too_deep_is_told_and_passed_over(tmp_path, opening, closing, why):
    path = tmp_path / "orders.jsonl"
    append(path, f'{opening}0{closing}\n{{"a": 1}}\n')
    told: list[str] = []
    assert read(FileSource(path, follow=False, unreadable=lambda _, why: told.append(why))) == [{"a": 1}]
    assert [said[: len(why)] for said in told] == [why]


def test_a_row_of_many_lists_is_one(tmp_path):
    path = tmp_path / "orders.jsonl"
    row = {"a": [[n] for n in range(300)]}
    append(path, json.dumps(row) + "\n")
    assert read(FileSource(path, follow=False)) == [row]


def test_rows_of_csv_have_the_fields_of_the_header(tmp_path):
    path = tmp_path / "tide.csv"
    append(path, "\ufefftime,metres\n5,1.5\n6\n7,much\n8,2\n")
    told: list[str] = []
    source = FileSource(
        path, at="time", types={"metres": float}, follow=False, unreadable=lambda _, why: told.append(why)
    )
    assert read(source) == [Event({"metres": 1.5}, 5, 5), Event({"metres": 2.0}, 8, 8)]
    assert [why[:20] for why in told] == ["2 fields were expect", "metres: ValueError: "]


@pytest.mark.parametrize(
    ("make", "why"), [(Decimal, "what: InvalidOperation: "), ({"yes": True}.__getitem__, "what: KeyError: 'abc'")]
)
def test_whatever_making_a_value_raises_the_line_is_no_row(tmp_path, make, why):
    path = tmp_path / "pipes.csv"
    append(path, "id,what\n1,abc\n2,\n")
    told: list[str] = []
    source = FileSource(path, types={"what": make}, follow=False, unreadable=lambda _, why: told.append(why))
    assert read(source) == [{"id": "2", "what": None}]
    assert [said[: len(why)] for said in told] == [why]


def test_a_name_without_a_kind_is_refused():
    with pytest.raises(CartesiusError, match=r"expected a name in .jsonl or .csv but got 'orders.txt', kind=None"):
        FileSource("orders.txt")


def test_a_file_that_is_not_there_and_not_followed_is_refused(tmp_path):
    with pytest.raises(CartesiusError, match=r"expected a file at '.*rows.jsonl' but there is none; see its name, or"):
        read(FileSource(tmp_path / "rows.jsonl", follow=False))


@pytest.mark.parametrize("types", [int, {"id": "int"}])
def test_types_that_make_no_values_are_refused(types):
    with pytest.raises(CartesiusError, match="expected what makes values by field"):
        FileSource("rows.csv", types=types)


def test_a_type_of_a_column_that_is_not_there_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("id,n\n1,2\n")
    with pytest.raises(CartesiusError, match="types= has but there is no 'idd'; did you mean 'id'"):
        read(FileSource(path, types={"idd": int}, follow=False))


def test_a_file_that_is_renamed_again_while_the_folder_is_looked_at_is_no_removed_one(tmp_path, monkeypatch):
    path, looks = tmp_path / "orders.jsonl", []
    append(path, '{"id": 1}\n')

    def renamed_again(path):
        found = with_rotated(path)
        looks.append(found)
        if len(looks) == 1:
            path.rename(tmp_path / "orders.jsonl.1")
            append(path, '{"id": 2}\n')
        return {one: number for one, number in found.items() if len(looks) != 2 or one == path}

    monkeypatch.setattr("cartesius.connectors.growing_files.with_rotated", renamed_again)
    assert [row["id"] for row in read(FileSource(path, idle=steps(lambda: None)))] == [1, 2]


def test_of_many_rotated_files_of_one_size_only_those_that_begin_alike_are_compared(tmp_path, monkeypatch):
    path = tmp_path / "orders.jsonl"
    for age in range(60, 0, -1):
        append(tmp_path / f"orders.jsonl.{age}", f'{{"id": {100 - age}}}\n')
    append(path, '{"id": 100}\n')
    source = FileSource(path, idle=steps())
    first = tmp_path / "orders.jsonl.60"
    head = hashlib.blake2b(b"", digest_size=16).hexdigest()
    source.seek({"offset": 0, "head": head, "file": first.stat().st_ino})
    compared = []
    compare = filecmp.cmp
    monkeypatch.setattr(filecmp, "cmp", lambda *files, **how: compared.append(files) or compare(*files, **how))
    assert [row["id"] for row in read(source)] == [*range(40, 101)]
    assert not compared
