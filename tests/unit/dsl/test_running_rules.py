"""Rules change at any moment as if the new ones had been there over the same history; or nothing changes at all."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine
from cartesius.errors import InvalidArgument, SnapshotMismatch
from dsl import InvalidRule, RulePack
from dsl.versions import FollowedRules, PackLog, RunningRules
from tests.unit.dsl.harbour import save

HEAD = """pack: port
subject: vessel
location: destination
source vessel by mmsi, stale after 9 s:
    mmsi: number
    draught: metres
    length: metres
    destination: text
    eta: instant
source berth by id:
    id: text
    depth: metres
source tide, stale after 7 s:
    height: metres
source wind, forecast:
    speed: knots
links:
    berth id is destination
"""
RULES = (
    "berth depth - draught must be at least 1 m\n    name: clearance\n",
    "length must be at most 100 m\n    name: length\n",
    "berth depth + tide height - draught must be at least 2 m\n    name: clearance\n",
    "when draught is above 5 m: tide height must be at least 1 m\n",
    "at A: length must be below 60 m\n    severity: minor\n",
    "wind speed predicted for eta must be at most 20 kn\n    name: wind\n",
)
SOURCES = ("vessel", "berth", "tide", "wind")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
S = 1_000_000

rules_of = st.sets(st.integers(0, len(RULES) - 1)).map(lambda chosen: "".join(RULES[n] for n in sorted(chosen)))
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["vessel", "vessel", *SOURCES]), st.integers(1, 4), st.integers(1, 12)),
        st.tuples(st.just("change"), rules_of),
        st.tuples(st.just("advance")),
        st.tuples(st.just("saved")),
    ),
    max_size=20,
)


def pack(*rules, head=HEAD):
    return RulePack.from_text(head + "".join(rules))


def row(source, key, value, at):
    return {
        "vessel": {"mmsi": key, "draught": float(value % 9), "length": 20.0 * value, "destination": "AB"[value % 2],
                   "eta": (value * 3) * S},
        "berth": {"id": "AB"[key % 2], "depth": float(value)},
        "tide": {"height": value / 4},
        "wind": {"issued": at, "start": value * S, "end": (value + 2 * key) * S, "speed": 4.0 * value},
    }[source]  # fmt: skip


def meaning(verdict):
    failed = sorted((one.name, one.text, str(one.location)) for one in verdict.failed)
    missing = sorted({name for one in verdict.undecided for name in (*one.missing, *one.stale)})
    return verdict.subject, verdict.status, failed, missing


def told(events):
    """What changed, when, and by which version; the order of different keys is not looked at."""
    return sorted(
        (event.value.key, event.end, "" if isinstance(event.value, Delete) else str(meaning(event.value.value)),
         "" if isinstance(event.value, Delete) else event.value.value.pack)
        for event in events
    )  # fmt: skip


def all_of(verdicts):
    return {key: (meaning(one), one.pack) for key, one in verdicts.items()}


def afresh(now, history):
    engine = Engine(now.table())
    for source, value, at in history:
        if source == "advance":
            engine.advance(at)
        elif source in engine.inputs:
            engine.push(engine.inputs[source], value, at=at)
    return engine


@settings(max_examples=25, deadline=None)
@given(rules_of, steps)
def test_changing_at_any_moment_is_starting_afresh_over_the_same_history(first, steps):
    rules, history, now = RunningRules(pack(first)), [], pack(first)
    fresh = afresh(now.over(now.kept), [])
    for number, (what, *given_) in enumerate(steps):
        at = number * S
        if what == "change":
            known = {key: one for key, (one, _) in all_of(rules.verdicts()).items()}
            events, now = rules.change(pack(*given_)), pack(*given_)
            fresh = afresh(now.over(rules.pack.kept), history)
            for event in events:
                one = None if isinstance(event.value, Delete) else meaning(event.value.value)
                assert known.get(event.value.key) != one  # nothing is told that was known
                known[event.value.key] = one
            assert known == {key: one for key, (one, _) in all_of(rules.verdicts()).items()}
        elif what == "advance":
            history.append((what, None, at))
            assert told(rules.advance(at)) == told(fresh.advance(at))
        elif what == "saved":
            rules = RunningRules.restore(rules.snapshot())
        else:
            key, value = given_
            history.append((what, row(what, key, value, at), at))
            mine = rules.push(what, history[-1][1], at)
            assert told(mine) == told(fresh.push(fresh.inputs[what], history[-1][1], at=at))
        assert all_of(rules.verdicts()) == all_of(fresh.query(fresh.outputs[0]))
    plain = afresh(now, history)  # the pack alone, which keeps nothing that it does not read
    plain.advance(max([at for _, _, at in history], default=0))
    rules.advance(max([at for _, _, at in history], default=0))
    assert all_of(rules.verdicts()) == all_of(plain.query(now.table()))


def running(*rules):
    made = RunningRules(pack(*rules))
    for number, (source, key, value) in enumerate([("vessel", 1, 6), ("berth", 2, 8), ("vessel", 2, 8)]):
        made.push(source, row(source, key, value, number * S), number * S)
    return made


CURRENT = HEAD + "source current:\n    rate: knots\n"


@pytest.mark.parametrize(
    ("head", "rule", "why"),
    [
        (CURRENT, "current rate must be below 2 kn\n", "of which no rows were kept"),
        (HEAD.replace("draught: metres", "draught: feet"), RULES[1], "declares 'vessel' otherwise"),
        (HEAD.replace("stale after 7 s", "stale after 8 s"), RULES[3], "declares 'tide' otherwise"),
        (HEAD.replace("pack: port", "pack: quay"), RULES[1], "the outputs were 'port' and are 'quay'"),
        (HEAD, "number of berth must be at least 1\n", "counts rows"),
        (HEAD, "eta - now must be at most 5 s\n", "compares with now"),
    ],
)
def test_what_cannot_be_carried_over_is_refused_and_nothing_changes(head, rule, why):
    rules = running(RULES[0])
    before, version = rules.snapshot(), rules.pack.version
    with pytest.raises(InvalidRule, match=why):
        rules.change(pack(rule, head=head))
    assert rules.snapshot() == before
    assert rules.pack.version == version
    assert rules.change(pack(RULES[1])) != []


ONLY = [
    "", "draught is above 3 m", "tide height is above 3 m", "tide height is above 4 m",
    "draught is above 3 m and tide height is above 3 m", "draught is above 3 m and tide height is above 4 m",
]  # fmt: skip


def test_another_only_goes_on_where_the_page_says_so_and_else_is_refused_with_that_reason():
    """The page said that any did, and the refusal spoke of pairs and counts."""

    def considered(only):
        return pack(RULES[1], head=HEAD.replace("source vessel", f"only: {only}\nsource vessel") if only else HEAD)

    alike = [{2, 3}, {4, 5}]
    for (one, before), (other, now) in permutations(enumerate(ONLY), 2):
        rules = RunningRules(considered(before))
        rules.push("vessel", row("vessel", 1, 6, 0), 0)
        if {one, other} in alike:
            rules.change(considered(now))
        else:
            with pytest.raises(InvalidRule, match="as what only asks, or a rule that"):
                rules.change(considered(now))


def test_a_new_rule_that_raises_on_what_is_there_is_refused():
    rules = RunningRules(pack(RULES[1]))
    rules.push("vessel", row("vessel", 1, 3, 0) | {"draught": "deep"}, 0)
    before = rules.snapshot()
    with pytest.raises(InvalidRule, match="a rule raises on what is there: TypeError"):
        rules.change(pack("draught must be below 5 m\n"))
    assert rules.snapshot() == before


def test_a_rule_that_raises_on_what_came_when_it_could_be_undecided_is_mended():
    lenient = RunningRules(pack("draught must be below 5 m\n"), on_error="unknown")
    lenient.push("vessel", row("vessel", 1, 3, 0) | {"draught": "deep"}, 0)
    rules = RunningRules.restore(lenient.snapshot())
    with pytest.raises(InvalidRule, match="a rule raises on what is there: TypeError"):
        rules.change(pack("draught must be below 6 m\n"))
    mended = pack("length must be below 5 m\n")
    assert [event.value.value.status for event in rules.change(mended)] == ["restricted"]
    assert rules.verdicts()[1].pack == mended.version


def test_a_file_is_followed_and_who_changed_it_is_logged(tmp_path):
    file, log = tmp_path / "port.rules", PackLog(tmp_path / "packs.jsonl")
    save(file, HEAD + RULES[0])
    followed, rules = FollowedRules(file), running(RULES[0])
    assert rules.follow(followed, log, at=NOON) == []
    save(file, HEAD + RULES[0] + RULES[1])
    events = rules.follow(followed, log, at=NOON, who="eva")
    assert {event.value.value.pack for event in events} == {pack(*RULES[:2]).version}
    assert [(one.version, one.at, one.who) for one in log.packs()] == [(pack(*RULES[:2]).version, NOON, "eva")]
    for wrong in (HEAD + "draught must\n", HEAD.replace("port", "quay", 1) + RULES[1]):
        before = rules.snapshot()
        save(file, wrong)
        assert rules.follow(followed, log, at=NOON) == []
        assert followed.refused
        assert rules.snapshot() == before
    assert len(log.packs()) == 1


def test_a_source_that_is_not_kept_is_refused_with_those_that_are():
    rules = RunningRules(pack())
    known = r"push: expected the name of a source \(vessel, berth, tide, wind\) but got"
    with pytest.raises(InvalidArgument, match=rf"{known} 'vessle'; did you mean 'vessel'\?"):
        rules.push("vessle", {"mmsi": 1}, at=1)
    assert rules.push("berth", {"id": "A", "depth": 9}, at=1) == []


@pytest.mark.parametrize("head", [CURRENT, CURRENT + "source swell:\n    height: metres\n"], ids=["one", "two"])
def test_sources_that_later_rules_declare_and_do_not_read_are_not_kept_and_stop_nothing(head):
    """What was kept was not what was said to be, so no snapshot could be restored from then on."""
    rules = RunningRules(RulePack.from_text(HEAD + RULES[1]))
    rules.push("vessel", {"mmsi": 1, "draught": 9, "length": 120, "destination": "A", "eta": 0}, at=0)
    rules.change(RulePack.from_text(head + RULES[1].replace("100", "90")))
    assert [source.name for source in rules.pack.kept] == [*rules.sources]
    with pytest.raises(InvalidRule, match="it reads 'current', of which no rows were kept"):
        rules.change(RulePack.from_text(head + "current rate must be at most 3 kn\n"))
    restored = RunningRules.restore(rules.snapshot())
    assert (restored.sources, restored.verdicts()) == (rules.sources, rules.verdicts())
    again = RulePack.from_text(HEAD + RULES[1])
    assert restored.change(again) == rules.change(again) != []


def test_damaged_snapshots_are_refused():
    for blob in (b"", b"{}\n", running(RULES[0]).snapshot()[:-9]):
        with pytest.raises(SnapshotMismatch):
            RunningRules.restore(blob)


def test_a_file_that_is_put_back_is_followed_again_and_one_that_was_gone_is_no_change(tmp_path):
    file, log = tmp_path / "port.rules", PackLog(tmp_path / "packs.jsonl")
    followed, rules = FollowedRules(file, before=pack(RULES[0])), running(RULES[0])
    assert rules.follow(followed, log, at=NOON) == []
    assert "No such file" in followed.refused
    for text, is_refused in ((RULES[0], False), ("number of berth must be at least 1\n", True), (RULES[0], False)):
        save(file, HEAD + text)
        assert rules.follow(followed, log, at=NOON) == []
        assert bool(followed.refused) is is_refused
    assert log.packs() == ()


def test_beside_a_rule_that_compares_with_now_and_stays_others_change():
    timed = "eta - now must be at most 5 s\n"
    rules = running(timed, RULES[1])
    assert rules.change(pack(timed, RULES[4])) != []
    fresh = afresh(rules.pack, [("vessel", row("vessel", 1, 6, 0), 0), ("berth", row("berth", 2, 8, S), S),
                                ("vessel", row("vessel", 2, 8, 2 * S), 2 * S)])  # fmt: skip
    assert all_of(rules.verdicts()) == all_of(fresh.query(fresh.outputs[0]))


def test_where_the_log_cannot_be_written_the_rules_before_go_on_and_the_next_look_tries_again(tmp_path):
    file, log = tmp_path / "port.rules", PackLog(tmp_path / "packs.jsonl")
    save(file, HEAD + RULES[0])
    followed, rules = FollowedRules(file), running(RULES[0])
    save(file, HEAD + RULES[0] + RULES[1])
    (tmp_path / "file").write_text("")
    before = rules.snapshot()
    for wrong, options in ((PackLog(tmp_path / "file" / "packs.jsonl"), {"at": NOON}), (log, {})):
        with pytest.raises((OSError, InvalidArgument)):
            rules.follow(followed, wrong, **options)
        assert (rules.snapshot(), log.packs()) == (before, ())
    events = rules.follow(followed, log, at=NOON)
    assert {event.value.value.pack for event in events} == {pack(*RULES[:2]).version}
    assert [one.version for one in log.packs()] == [pack(*RULES[:2]).version]
