"""The version of a pack, what changed between two, and the log of who changed them."""

from __future__ import annotations

import json
import os
import warnings
from datetime import UTC, datetime
from fcntl import LOCK_EX, LOCK_NB, flock

import pytest

from cartesius.errors import InvalidArgument
from dsl import InvalidRule, RulePack, Source, named, require
from dsl.units import metres
from dsl.versions import FollowedRules, PackLog, RuleChange, changes
from dsl.versions.followed_rules import SETTLED_S
from tests.unit.dsl.harbour import save

HEAD = """pack: port
subject: vessel
source vessel by mmsi:
    mmsi: number
    draught: metres
    length: metres
    destination: text
source berth by id:
    id: text
    depth: metres
links:
    berth id is destination
"""
DEEP = "draught must be at most 15 m\n    name: deep\n"
LONG = "when draught is above 9 m: length must be at most 300 m\n    name: long\n    severity: critical\n"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def pack(*rules, head=HEAD):
    return RulePack.from_text(head + "".join(rules))


def test_layout_comments_and_what_is_not_used_are_no_part_of_the_version():
    written = HEAD.replace("\n", "\n\n") + "# how deep\n" + DEEP.replace("must be at most", "must  be at most")
    other = pack(DEEP, head=HEAD + "source tide:\n    height: metres\n")
    assert RulePack.from_text(written).version == other.version == pack(DEEP).version
    assert len(pack().version) == 12
    assert RulePack.from_text(pack(DEEP, LONG).to_text()).version == pack(DEEP, LONG).version


@pytest.mark.parametrize(
    "other",
    [
        DEEP.replace("15", "14"),
        DEEP.replace("15 m", "1500 cm"),  # as long, but read otherwise, and shown so in reasons
        DEEP.replace("deep", "depth"),
        DEEP + "    severity: minor\n",
        DEEP + "    because: the lock\n",
        DEEP.replace("at most", "below"),
        "",
    ],
)
def test_whatever_an_officer_reads_is_part_of_the_version(other):
    assert pack(other).version != pack(DEEP).version


@pytest.mark.parametrize(
    ("was", "now"), [("length: metres", "length: feet"), ("by mmsi:", "by mmsi, stale after 5 min:"), ("port", "quay")]
)
def test_what_is_declared_is_part_of_the_version(was, now):
    assert pack(DEEP, head=HEAD.replace(was, now, 1)).version != pack(DEEP).version


def test_a_pack_without_a_text_has_a_version_too():
    vessel = Source("vessel", key="mmsi", mmsi=int, length=metres)

    def made(most):
        port = RulePack("port", subject=vessel)
        with port:
            require(named("size", vessel.length) <= most * metres)
            require(named("size", vessel.length * 2) <= most * metres)
        return port

    with pytest.raises(InvalidRule, match="one expression named 'size'"):
        made(3).to_text()
    assert made(3).version == made(3).version != made(4).version


def test_verdicts_and_warnings_carry_the_version_and_are_told_apart_by_what_they_mean():
    before, after = (pack(rule).check({"vessel": {"mmsi": 1, "draught": 16}}) for rule in (DEEP, DEEP + LONG))
    assert before.pack == pack(DEEP).version != after.pack
    assert before.status == after.status == "restricted"
    assert before != after  # one more is not decided
    assert pack(DEEP).check({"vessel": {"draught": 9}}) == pack().check({"vessel": {"draught": 9}})


def test_rules_are_added_removed_and_changed():
    found = changes(pack(DEEP, LONG), pack(DEEP.replace("15", "14"), "length must be below 400 m\n"))
    assert found.rules_changed == (RuleChange("deep", "draught must be at most 15 m", "draught must be at most 14 m"),)
    assert [(each.name, each.before) for each in found.rules_added] == [("vessel.length < 400 m", None)]
    (removed,) = found.rules_removed
    assert removed == RuleChange(
        "long", "when draught is above 9 m: length must be at most 300 m\n    severity: critical", None
    )
    assert changes(pack(DEEP), pack(DEEP)) == changes(pack(), pack())
    assert [each.name for each in changes(None, pack(DEEP, LONG)).rules_added] == ["deep", "long"]


def test_what_is_declared_otherwise_is_told_as_lines():
    found = changes(pack(DEEP), pack(DEEP, head=HEAD.replace("length: metres", "length: feet")))
    assert found.declarations == ("-     length: metres", "+     length: foot")
    assert not (found.rules_added)
    assert not (found.rules_removed)
    assert not (found.rules_changed)


def test_the_log_says_which_pack_was_in_force_and_who_changed_what(tmp_path):
    log = PackLog(tmp_path / "office" / "packs.jsonl")
    assert log.packs() == ()
    assert log.in_force(NOON) is None
    first = log.add(pack(DEEP), at=NOON, who="eva", changed=NOON)
    second = log.add(HEAD + "# deeper\n" + DEEP.replace("15", "14"), at=NOON.replace(hour=14), who="bo")
    again = PackLog(log.path)
    assert again.packs() == (first, second)
    assert again.in_force(NOON.replace(hour=11)) is None
    assert again.in_force(NOON.replace(hour=13)) == first
    assert again.in_force(NOON.replace(hour=14)) == second
    assert second.pack().version == second.version == pack(DEEP.replace("15", "14")).version
    assert "# deeper" in second.text  # as it was written
    (_, all_), (logged, difference) = again.changes()
    assert (logged.who, [each.name for each in difference.rules_changed]) == ("bo", ["deep"])
    assert [each.name for each in all_.rules_added] == ["deep"]


def test_what_is_said_later_counts_from_its_time_on(tmp_path):
    log = PackLog(tmp_path / "packs.jsonl")
    log.add(pack(DEEP), at=NOON.replace(hour=14), who="eva")
    last = log.add(pack(LONG), at=NOON, who="eva")
    assert log.in_force(NOON.replace(hour=15)) == last


def test_a_line_that_was_cut_off_never_was(tmp_path):
    log = PackLog(tmp_path / "packs.jsonl")
    first = log.add(pack(DEEP), at=NOON, who="eva")
    whole = log.path.read_bytes()
    log.path.write_bytes(whole + whole[: len(whole) // 2])
    cut_off = r"packs.jsonl: expected a whole last line but got b'\{\"version\".*cut off; it never counted"
    with pytest.warns(RuntimeWarning, match=cut_off):
        assert log.packs() == (first,)
    with pytest.warns(RuntimeWarning, match=cut_off):
        second = log.add(pack(LONG), at=NOON, who="eva")
    assert log.path.read_bytes().startswith(whole)
    assert log.packs() == (first, second)


def test_who_adds_lets_others_wait_and_takes_no_line_of_theirs_away(tmp_path, monkeypatch):
    """All behind the lines that had been read was cut off: of 300 that two processes added ten were lost."""
    log, read = PackLog(tmp_path / "packs.jsonl"), PackLog._logged
    log.add(pack(DEEP), at=NOON, who="eva")

    def meanwhile(self, number, line):
        with log.path.open("ab") as other:
            with pytest.raises(BlockingIOError):
                flock(other, LOCK_EX | LOCK_NB)
            other.write(line + b"\n")  # by a program of before
        return read(self, number, line)

    with monkeypatch.context() as patched:
        patched.setattr(PackLog, "_logged", meanwhile)
        log.add(pack(LONG), at=NOON, who="bo")
    assert [each.who for each in log.packs()] == ["eva", "eva", "bo"]


def test_a_last_line_that_only_lacks_its_end_counts_and_stays(tmp_path):
    log = PackLog(tmp_path / "packs.jsonl")
    first, second = (log.add(pack(rule), at=NOON, who="eva") for rule in (DEEP, LONG))
    whole = log.path.read_bytes()
    log.path.write_bytes(whole.removesuffix(b"\n"))
    assert log.packs() == (first, second)
    third = log.add(pack(DEEP), at=NOON, who="eva")
    assert log.path.read_bytes().startswith(whole)
    assert log.packs() == (first, second, third)


@pytest.mark.parametrize(
    "changed",
    [{"at": "2026-03-01T12:00:00"}, {"at": "0001-01-01T00:00:00+10:00"}, {"who": None}, {"text": 5}, {"changed": 7}],
)
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_with_a_wrong_value_is_refused_by_its_number(changed, end, tmp_path):
    log = PackLog(tmp_path / "packs.jsonl")
    log.add(pack(DEEP), at=NOON, who="eva")
    line = json.dumps({**json.loads(log.path.read_text()), **changed})
    log.path.write_text(log.path.read_text() + line + end)
    with pytest.raises(
        InvalidArgument, match=r"packs.jsonl:2: expected a JSON object with version, .* leave this line"
    ):
        log.in_force(NOON)


def test_a_line_that_is_too_deep_is_refused(tmp_path):
    log = PackLog(tmp_path / "packs.jsonl")
    log.path.write_text("[" * 100_000 + "\n")
    with pytest.raises(InvalidArgument, match=r"packs.jsonl:1: expected a JSON object"):
        log.packs()


def test_what_is_no_log_is_refused(tmp_path):
    log = PackLog(tmp_path / "packs.jsonl")
    with pytest.raises(InvalidArgument, match=r"a datetime with a time zone but got at=datetime"):
        log.add(pack(DEEP), at=NOON.replace(tzinfo=None))
    with pytest.raises(InvalidRule):
        log.add("deep", at=NOON)
    assert not log.path.exists()
    log.path.write_text('{"version": 1}\n')
    with pytest.raises(InvalidArgument, match=r"packs.jsonl:1: expected a JSON object with version, at"):
        log.packs()
    log.path.write_text("# The rules of a harbour.\n")
    with pytest.raises(InvalidArgument, match="a file of rules is given with --rules"):
        log.packs()


def test_who_is_the_user_unless_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGNAME", "officer")
    assert PackLog(tmp_path / "packs.jsonl").add(pack(DEEP), at=NOON).who == "officer"


def test_a_file_is_followed_by_its_content(tmp_path):
    file = tmp_path / "port.rules"
    save(file, HEAD + DEEP)
    rules = FollowedRules(file)
    assert rules.changed() is None
    save(file, HEAD + "# a comment\n" + DEEP)
    assert rules.changed() is None
    save(file, HEAD + DEEP + LONG)
    now = rules.changed()
    assert now is rules.pack
    assert now.version == pack(DEEP, LONG).version
    assert rules.changed() is None


def test_half_a_file_that_is_written_in_place_is_not_followed(tmp_path):
    file, now = tmp_path / "port.rules", [1000.0]
    save(file, HEAD + DEEP)
    rules = FollowedRules(file, clock=lambda: now[0])
    for text in (HEAD, HEAD + LONG):
        file.write_text(text)
        os.utime(file, (now[0], now[0]))
        now[0] += SETTLED_S / 2
        assert (rules.changed(), rules.refused) == (None, "")
    now[0] += SETTLED_S / 2
    changed = rules.changed()
    assert changed is not None
    assert changed.version == pack(LONG).version


def test_a_file_that_replaces_another_is_followed_at_once(tmp_path):
    file, new = tmp_path / "port.rules", tmp_path / "new.rules"
    save(file, HEAD + DEEP)
    new.write_text(HEAD + LONG)
    now = new.stat().st_mtime
    rules = FollowedRules(file, clock=lambda: now)
    new.replace(file)
    assert rules.changed() is not None


def test_a_file_that_is_wrong_leaves_the_rules_as_they_were(tmp_path):
    file = tmp_path / "port.rules"
    save(file, HEAD + DEEP)
    rules = FollowedRules(file)
    before = rules.pack
    save(file, HEAD + "draught must be at most 15 knots\n")
    assert rules.changed() is None
    assert "port.rules" in rules.refused
    assert "knots" in rules.refused
    file.write_bytes(b"\xff")
    os.utime(file, (0, 0))
    assert rules.changed() is None
    assert "port.rules: is no text in UTF-8" in rules.refused
    with pytest.raises(InvalidArgument, match=r"port\.rules: is no text in UTF-8; save it"):
        FollowedRules(file)
    file.unlink()
    assert rules.changed() is None
    assert "No such file" in rules.refused
    assert rules.pack is before
    save(file, HEAD + LONG)
    assert rules.changed() is rules.pack is not before
    assert rules.refused == ""


@pytest.mark.parametrize("content", [HEAD + DEEP.rstrip(), "12\n", "[1]\n", "pack: port", '{"name": "eva', "\0"])
def test_nothing_is_added_to_what_is_no_log(content, tmp_path):
    """Such as a file of rules, whose last line has no end."""
    path = tmp_path / "port.rules"
    path.write_text(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # its last line is none either
        for wrong in (lambda: PackLog(path).add(HEAD + DEEP, at=NOON, who="eva"), PackLog(path).packs):
            with pytest.raises(InvalidArgument, match="expected a JSON object with"):
                wrong()
    assert path.read_text() == content


@pytest.mark.parametrize("length", [1, 5, 12, 40])
def test_a_log_whose_only_line_was_cut_off_is_an_empty_one(length, tmp_path):
    log = PackLog(tmp_path / "packs.jsonl")
    whole = log.add(HEAD + DEEP, at=NOON, who="eva")
    log.path.write_bytes(log.path.read_bytes()[:length])
    with pytest.warns(RuntimeWarning, match="which was cut off"):
        assert log.packs() == ()
    with pytest.warns(RuntimeWarning, match="which was cut off"):
        log.add(HEAD + LONG, at=NOON, who="bo")
    assert [each.who for each in log.packs()] == ["bo"] != [whole.who]
