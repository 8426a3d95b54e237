"""The file of rules on disk: it is replaced in one step, and what somebody else wrote is lost by nobody."""

from __future__ import annotations

import os
from threading import Barrier, Thread
from time import perf_counter
from typing import TYPE_CHECKING

import pytest

from cartesius.errors import InvalidArgument
from dsl import InvalidRule
from dsl.editor import file_on_disk
from dsl.editor.file_on_disk import File, FileChanged
from tests.unit.dsl.test_edit_texts import RULES
from tests.unit.dsl.test_rules_as_text import HARBOUR

if TYPE_CHECKING:
    from pathlib import Path


def test_saving_replaces_the_file_and_keeps_the_last_one_beside_it(tmp_path: Path):
    path = tmp_path / "harbour.rules"
    path.write_text(RULES, encoding="utf-8")
    path.chmod(0o640)
    file = File(path)
    loaded = file.load()
    assert (loaded["text"], loaded["file"]) == (RULES, "harbour.rules")
    new = RULES.replace("20 m", "19 m")
    saved = file.save(new, loaded["version"])
    assert path.read_text(encoding="utf-8") == new
    assert (tmp_path / saved["backup"]).read_text(encoding="utf-8") == RULES
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in tmp_path.iterdir()) == ["harbour.rules", "harbour.rules.bak"]
    assert file.save(RULES, saved["version"])["version"] == loaded["version"]


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path):
    path = tmp_path / "harbour.rules"
    path.write_text(RULES, encoding="utf-8")
    version = File(path).load()["version"]
    path.write_text(RULES + "# mine\n", encoding="utf-8")
    with pytest.raises(FileChanged, match="expected the file as it was loaded but it changed"):
        File(path).save(RULES, version)
    assert path.read_text(encoding="utf-8").endswith("# mine\n")
    path.unlink()
    with pytest.raises(FileChanged):
        File(path).save(RULES, version)


def test_of_a_file_that_changed_it_is_shown_what_either_side_changed(tmp_path: Path):
    path = tmp_path / "harbour.rules"
    path.write_text(RULES, encoding="utf-8")
    file = File(path)
    version = file.load()["version"]
    assert file.compare(version, RULES, RULES) == {"changed": False}
    mine, theirs = RULES.replace("20 m   #", "19 m   #"), RULES.replace("0.5 m", "0.7 m")
    path.write_text(theirs, encoding="utf-8")
    found = file.compare(version, RULES, mine)
    assert (found["changed"], found["text"]) == (True, theirs)
    assert found["at"] == round(path.stat().st_mtime * 1000)
    sides = [[line for line in found[side] if line[0] in "+-"] for side in ("theirs", "mine")]
    before = "at berth A, when draught is at least 1500 centimetres: under-keel clearance must be at least 0.5 m"
    assert sides == [
        [("-", before), ("+", before.replace("0.5 m", "0.7 m"))],
        [("-", "draught must be at most 20 m   # for now"), ("+", "draught must be at most 19 m   # for now")],
    ]
    assert (" ", "    because: the lock") not in found["mine"]  # two lines around, and no more

    # Mine is written over theirs only by who has seen it, and theirs is kept.
    saved = file.save(mine, found["version"])
    assert path.read_text(encoding="utf-8") == mine
    assert (tmp_path / saved["backup"]).read_text(encoding="utf-8") == theirs


def test_changes_far_apart_leave_out_what_is_between(tmp_path: Path):
    path = tmp_path / "harbour.rules"
    path.write_text(RULES.replace("subject: vessel", "subject: ship").replace("below 40 kn", "below 41 kn"))
    found = File(path).compare("", RULES, RULES)
    assert [sign for sign, _ in found["theirs"] if sign != " "] == ["-", "+", "…", "-", "+"]
    assert found["mine"] == []


def test_a_file_that_is_gone_is_written_again_only_by_who_has_seen_that(tmp_path: Path):
    path = tmp_path / "harbour.rules"
    path.write_text(RULES, encoding="utf-8")
    file = File(path)
    version = file.load()["version"]
    path.unlink()
    found = file.compare(version, RULES, RULES)
    assert (found["changed"], found["version"], found["theirs"]) == (True, None, [])
    assert file.save(RULES, None)["backup"] is None
    assert path.read_text(encoding="utf-8") == RULES
    with pytest.raises(FileChanged):
        file.save(RULES, None)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_file_that_was_gone_is_as_open_as_any_new_one(tmp_path: Path, umask: int, mode: int):
    path, before = tmp_path / "harbour.rules", os.umask(umask)
    try:
        File(path).save(RULES, None)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode


def test_a_file_that_cannot_be_read_is_refused_in_words(tmp_path: Path):
    said = r"^harbour\.rules: expected a file that can be read but got "
    file = File(tmp_path / "harbour.rules")
    with pytest.raises(InvalidArgument, match=f"{said}No such file or directory: {tmp_path}; mend that"):
        file.load()
    file.path.mkdir()
    for asked in (file.load, lambda: file.compare("", RULES, RULES)):
        with pytest.raises(InvalidArgument, match=f"{said}Is a directory"):
            asked()


def test_a_text_that_does_not_read_is_not_saved(tmp_path: Path):
    path = tmp_path / "harbour.rules"
    path.write_text(RULES, encoding="utf-8")
    file = File(path)
    with pytest.raises(InvalidRule):
        file.save(RULES + "draught", file.load()["version"])
    assert [each.name for each in tmp_path.iterdir()] == ["harbour.rules"]


def test_a_link_to_a_file_stays_a_link(tmp_path: Path):
    (tmp_path / "target.rules").write_text(RULES, encoding="utf-8")
    link = tmp_path / "link.rules"
    link.symlink_to("target.rules")
    File(link).save(HARBOUR, File(link).load()["version"])
    assert link.is_symlink()
    assert (tmp_path / "target.rules").read_text(encoding="utf-8") == HARBOUR


def test_of_two_who_save_one_version_together_one_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, together, told = tmp_path / "harbour.rules", Barrier(2), []
    monkeypatch.setattr(file_on_disk, "Outline", lambda *given: given)  # which takes most of the time

    def save(text: str, version: str) -> None:
        together.wait()
        try:
            File(path).save(text, version)
        except FileChanged:
            told.append(text)

    for number in range(20):
        path.write_text(f"{number}", encoding="utf-8")
        version = File(path).load()["version"]
        threads = [Thread(target=save, args=(f"{number} {who}", version)) for who in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(told) == 20


def test_an_editor_that_writes_while_the_new_text_is_written_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "harbour.rules"
    path.write_text(RULES, encoding="utf-8")
    monkeypatch.setattr(os, "fsync", lambda _: path.write_text("theirs", encoding="utf-8"))
    with pytest.raises(FileChanged):
        File(path).save(HARBOUR, File(path).load()["version"])
    assert [(each.name, each.read_text(encoding="utf-8")) for each in tmp_path.iterdir()] == [(path.name, "theirs")]


def test_the_backup_is_replaced_in_one_step_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A full disk leaves the last one, and where it is a link, what that leads to is nobody's backup."""
    path, backup, other = (tmp_path / name for name in ("harbour.rules", "harbour.rules.bak", "other"))
    path.write_text(RULES, encoding="utf-8")
    other.write_text("other", encoding="utf-8")
    backup.symlink_to(other)
    version = File(path).load()["version"]

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    kept = r"^harbour\.rules: expected a file that can be replaced, and kept in harbour\.rules\.bak but got "
    with pytest.raises(InvalidArgument, match=f"{kept}No space left on device: {tmp_path}; mend that"):
        File(path).save(HARBOUR, version)
    assert (backup.is_symlink(), len([*tmp_path.iterdir()])) == (True, 3)
    monkeypatch.undo()
    File(path).save(HARBOUR, version)
    assert (backup.read_text(encoding="utf-8"), other.read_text(encoding="utf-8")) == (RULES, "other")

    # So does a folder that is called like it.
    backup.unlink()
    backup.mkdir()
    with pytest.raises(InvalidArgument, match=f"{kept}Is a directory: {backup}; mend that"):
        File(path).save(RULES, File(path).load()["version"])
    assert path.read_text(encoding="utf-8") == HARBOUR
    assert sorted(each.name for each in tmp_path.iterdir()) == ["harbour.rules", "harbour.rules.bak", "other"]


def test_a_read_only_file_is_not_replaced(tmp_path: Path):
    path = tmp_path / "harbour.rules"
    path.write_text(RULES, encoding="utf-8")
    path.chmod(0o444)
    with pytest.raises(
        InvalidArgument, match=r"^harbour\.rules: expected a file that may be written but it is read-only"
    ):
        File(path).save(HARBOUR, File(path).load()["version"])
    assert [each.name for each in tmp_path.iterdir()] == ["harbour.rules"]


def test_a_file_keeps_the_ends_of_its_lines(tmp_path: Path):
    path = tmp_path / "harbour.rules"
    path.write_bytes(RULES.replace("\n", "\r\n").encode())
    file = File(path)
    loaded = file.load()
    assert loaded["text"] == RULES
    file.save(HARBOUR, loaded["version"])
    assert path.read_bytes() == HARBOUR.replace("\n", "\r\n").encode()
    assert file.compare("", HARBOUR, HARBOUR)["text"] == HARBOUR

    # Where they are mixed, all have that of most.
    path.write_bytes(RULES.replace("\n", "\r\n", 3).encode())
    loaded = file.load()
    file.save(loaded["text"], loaded["version"])
    assert path.read_bytes() == RULES.encode()


def test_a_file_that_is_no_text_is_refused_in_words(tmp_path: Path):
    path = tmp_path / "harbour.rules"
    path.write_bytes(b"\xff")
    with pytest.raises(InvalidArgument, match="is no text in UTF-8"):
        File(path).load()


def test_what_changed_is_found_at_once_where_lines_repeat(tmp_path: Path):
    path = tmp_path / "harbour.rules"
    rules = [f"length must be at most {number} m\n    name: {number}\n    severity: minor\n" for number in range(1_500)]
    before = "\n".join(rules)
    path.write_text(before.replace("minor", "critical"), encoding="utf-8")
    started = perf_counter()
    found = File(path).compare("", before, before)["theirs"]
    assert perf_counter() - started < 10
    assert [sign for sign, _ in found].count("+") == 1_500
