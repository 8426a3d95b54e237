"""Engine(trace=True): why an event came out, or did not (DESIGN 1: an explanation of every match and non-match)."""

from __future__ import annotations

from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Event, Reactive, Update, correlate
from cartesius.columns.results import events_of
from cartesius.errors import InvalidArgument
from restrictions import (
    affinely,
    aligning,
    as_table,
    cartesian,
    combine_latest,
    in_event_time,
    key_by,
    most_recently,
    only,
    retracting,
    sliding,
    tumbling,
    versioned,
    within,
    zip_,
)
from restrictions.streams import buffer, map_, rolling, scan
from restrictions.tables import aggregate, combine_updates, sum_, to_table
from restrictions.windows import accumulated, dstream, istream, on_close, rstream


class Broken(Exception):
    """What a user's code raises."""


def test_a_result_names_its_parts_by_slot_with_value_and_time(a, b):
    engine = Engine(combine_latest(a, b), trace=True)
    engine.push(a, "old", at=1)
    engine.push(a, "new", at=(2, 4))
    (pair,) = engine.push(b, "B", at=7)
    text = engine.why(pair)
    assert text.splitlines()[0] == "combine_latest(a, b) ('new', 'B') @ 2..7"
    assert "a = a 'new' @ 2..4" in text
    assert "b = b 'B' @ 7" in text
    assert "old" not in text


def test_an_event_names_who_saw_it_and_what_it_became(a, b):
    engine = Engine(zip_(a, b), trace=True)
    engine.push(a, "A", at=1)
    engine.push(b, "B", at=2)
    first, second = engine.pushed
    for event in (first, second):
        text = engine.why(event)
        assert text.startswith(f"{event.reactive} {event.value!r} @ {event.start}")
        assert "aligning('a', 'b')" in text
        assert "most_recently('a', 'b')" in text
        assert "became: zip_(a, b) ('A', 'B') @ 1..2" in text


def test_a_nested_result_shows_the_whole_tree(a, b):
    inner = correlate(x=a, yields=lambda x: x + 1, name="inner")
    outer = correlate(p=inner, y=b, yields=lambda p, y: (p, y), name="outer")
    engine = Engine(outer, trace=True)
    engine.push(a, 10, at=1)
    (result,) = engine.push(b, "B", at=2)
    lines = engine.why(result).splitlines()
    assert lines[0] == "outer (11, 'B') @ 1..2"
    assert "  p = inner 11 @ 1" in lines
    assert "    x = a 10 @ 1" in lines
    assert "  y = b 'B' @ 2" in lines
    assert "became: inner 11 @ 1" in engine.why(engine.pushed[0])


def test_of_a_self_join_both_parts_are_shown(a):
    engine = Engine(correlate(x=a, y=a, yields=lambda x, y: (x, y), name="pairs"), trace=True)
    engine.push(a, 1, at=1)
    results = engine.push(a, 2, at=2)
    texts = {result.value: engine.why(result) for result in results}
    assert "x = a 2 @ 2" in texts[2, 1]
    assert "y = a 1 @ 1" in texts[2, 1]
    assert engine.why(engine.pushed[1]).count("became") == 3


def test_each_of_several_yields_is_an_event_of_its_own(a):
    @correlate(x=a)
    def twice(x):
        yield x, 1
        yield x, 2

    engine = Engine(twice, trace=True)
    results = engine.push(a, "A")
    assert [repr(result.value) in engine.why(result) for result in results] == [True, True]
    assert "('A', 1)" not in engine.why(results[1])
    assert engine.why(engine.pushed[0]).count("became") == 2


def test_two_equal_events_are_two_events(a, b):
    engine = Engine(cartesian(a, b, restrict=affinely("a", "b")), trace=True)
    engine.push(a, "A", at=1)
    engine.push(a, "A", at=1)
    engine.push(b, "B", at=2)
    older, newer, _ = engine.pushed
    assert older == newer
    assert "nothing" in engine.why(older)
    assert "('A', 'B')" in engine.why(newer)


def test_an_event_that_made_nothing_says_so_and_who_stopped_it(a):
    engine = Engine(correlate(x=a, yields=lambda x: x, restrict=only("x", lambda n: n > 0)), trace=True)
    engine.push(a, -1)
    text = engine.why(engine.pushed[0])
    assert "became: nothing so far" in text
    assert "seen by x: arrive only('x'" in text


def test_an_event_that_a_gate_holds_says_which(a, b):
    engine = Engine(zip_(a, b), trace=True)
    engine.push(a, 1)
    text = engine.why(engine.pushed[0])
    assert "seen by a: arrive aligning('a', 'b')" in text
    assert "most_recently" not in text
    assert "became: nothing so far" in text


def test_a_total_says_that_what_it_is_of_is_not_noted(a):
    engine = Engine(aggregate(a, sum_, restrict=tumbling(10)), trace=True)
    (total,) = engine.push(a, 3, at=1)
    assert engine.why(total).splitlines()[1:] == ["  of events that are not noted one by one, as those of a total"]


def test_a_row_made_of_an_event_names_it_and_the_event_what_it_became(a):
    engine = Engine(to_table(a, key="id"), trace=True)
    (row,) = engine.push(a, {"id": 7}, at=0)
    change = "a Update(key=7, value=Record({'id': 7})) @ 0"
    assert engine.why(row).splitlines()[1:] == [
        f"  x = {change}",
        "    x = a Record({'id': 7}) @ 0",
        "      seen by x: arrive upserting('x', key='id')",
    ]
    (event,) = engine.pushed
    assert engine.why(event).splitlines()[-2:] == ["  is in the memory of x", f"  became: {change}"]
    engine.push(a, {"id": 7}, at=3)
    assert engine.why(row).splitlines()[1] == f"  x = {change}"
    assert "is in the memory" not in engine.why(event)


def test_a_row_is_told_from_an_event_of_the_number_that_is_its_key(a):
    engine = Engine(to_table(a, key="id"), buffer(a, 3), trace=True)
    rows = [engine.push(a, {"id": key}, at=5)[0] for key in (3, 2, 1)]
    for row, key in zip(rows, (3, 2, 1), strict=True):
        assert f"a Record({{'id': {key}}}) @ 5" in engine.why(row).splitlines()[2]
    for event in engine.pushed:
        assert "became: a Update" in engine.why(event)


def test_a_push_that_fails_is_no_part_of_what_rows_were_made_of(a):
    def refused(x):
        if x.v == "refused":
            raise Broken
        return x.v

    rows = to_table(a, key="id")
    engine = Engine(correlate(x=rows, yields=refused, restrict=retracting() | as_table(lambda v: v)), rows, trace=True)
    given = engine.push(a, {"id": 7, "v": 1}, at=0)
    before = [engine.why(event) for event in [*given, *engine.pushed]]
    with pytest.raises(Broken):
        engine.push(a, {"id": 7, "v": "refused"}, at=0)
    assert [engine.why(event) for event in [*given, *engine.pushed]] == before
    (*_, row) = engine.push(a, {"id": 7, "v": 2}, at=0)
    assert "a Record({'id': 7, 'v': 2}) @ 0" in engine.why(row)
    assert "refused" not in engine.why(row)


def noted(engine):
    """All that is recorded, as values."""
    record = engine._world.provenance
    events = {key: (one.parts, [*one.seen], [*one.left], [*one.results]) for key, one in record.records.items()}
    return events, dict(record._first), dict(record._taken), [*record.calls]


@pytest.mark.parametrize("changes", [[Update(1, "b")], [Update(2, "a")], [Delete(1), Update(2, "a")]], ids=repr)
def test_a_push_that_fails_leaves_all_that_is_noted_as_it_was(changes):
    table, is_broken = Reactive("t", table=True), [False]

    def refused(x):
        if is_broken[0]:
            raise Broken
        return x

    values = correlate(x=table, yields=lambda x: x, restrict=retracting() | as_table(lambda x: x), name="values")
    rows = combine_updates(table, "", add)
    engine = Engine(values, rows, correlate(x=rows, y=values, yields=lambda x, y: refused((x, y))), trace=True)
    for change in [Update(1, "a"), *changes[:-1]]:
        engine.push(table, change, at=5)
    before = noted(engine)
    is_broken[0] = True
    with pytest.raises(Broken):
        engine.push(table, changes[-1], at=5)
    assert noted(engine) == before


def test_a_row_that_a_gate_has_changed_names_the_change_that_came():
    t = Reactive("t", table=True)
    engine = Engine(combine_updates(t, "", add), trace=True)
    engine.push(t, Update(1, "p"), at=2)
    (both,) = engine.push(t, Update(1, "ss"), at=5)
    told = [line for line in engine.why(both).splitlines() if " = " in line and "seen" not in line]
    assert told == ["  x = t Update(key=1, value='pss') @ 5", "    x = t Update(key=1, value='ss') @ 5"]


def test_equal_changes_of_one_time_name_what_each_was_made_of():
    t = Reactive("t", table=True)
    kinds = correlate(x=t, yields=lambda x: x.kind, restrict=retracting() | as_table(lambda kind: kind), name="kinds")
    engine = Engine(kinds, trace=True)
    (first,) = engine.push(t, Update(1, {"kind": "tanker"}), at=5)
    engine.push(t, Delete(1), at=5)
    engine.push(t, Update(2, {"kind": "tanker"}), at=5)
    rows = [line for line in engine.why(first).splitlines() if line.startswith("  x = ")]
    assert rows == [f"  x = t Update(key={key}, value=Record({{'kind': 'tanker'}})) @ 5" for key in (1, 2)]


def left(engine):
    """Return, of each event pushed, why it left which slot."""
    return [[line.strip() for line in engine.why(event).splitlines() if "left " in line] for event in engine.pushed]


def test_an_event_that_left_memory_says_why(a, b):
    restrict = most_recently("a") | affinely("b")
    engine = Engine(cartesian(a, b, restrict=restrict | within(5, "a", "b")), lateness=0, trace=True)
    engine.push(a, 1, at=1)
    engine.push(a, 2, at=2)
    engine.push(b, "B", at=3)
    engine.push(b, "C", at=20)
    displaced, expired, used, present = left(engine)
    assert displaced == ["left a: displaced by most_recently('a')"]
    assert expired == ["left a: expired by within(5, 'a', 'b')"]
    assert used == ["left b: used up"]
    assert present == []


def test_who_hears_of_a_displacement_is_not_who_displaces(a):
    engine = Engine(correlate(x=a, yields=lambda x: x, restrict=retracting() | most_recently("x")), trace=True)
    engine.push(a, 1)
    engine.push(a, 2)
    assert left(engine) == [["left x: displaced by most_recently('x')"], []]


def test_why_says_the_same_in_each_tier(a, b):
    """The reference, which runs clauses on strands, did not say who displaces."""

    def pairs(x, y, restrict, name="pairs"):
        return correlate(x=x, y=y, yields=lambda x, y: (x, y), restrict=restrict, name=name)

    near, both = pairs(a, b, within(9, "x", "y"), "near"), most_recently("x", "y")
    of_near = pairs(near, a, both)
    taken_back = pairs(near, b, retracting() | both | within(4, "x", "y"))
    once = pairs(a, b, affinely("x") | both)
    by_key = pairs(a, b, key_by(x=lambda x: x % 2, y=lambda y: y % 2) | both)
    for output in (near, of_near, taken_back, once, by_key):
        said = []
        for tier in ("reference", "in_place"):
            engine, found = Engine(output, trace=True, tier=tier), []
            for reactive, value in ((a, 1), (a, 3), (b, 2), (b, 5), (a, 2), (b, 4), (a, 7)):
                found += engine.push(reactive, value)
            said.append([str(engine.why(event)) for event in [*engine.pushed, *found]])
        assert said[0] == said[1]
        assert output is near or any("displaced by most_recently" in text for text in said[0])


def test_a_row_is_displaced_by_its_next_change_and_taken_back_by_its_source(a):
    table, output = rows()
    engine = Engine(output, trace=True)
    engine.push(table, Update("k", {"v": 1}))
    engine.push(table, Update("k", {"v": 2}))
    assert left(engine) == [["left x: displaced by the next change of its row"], []]
    inner = correlate(x=a, yields=lambda x: x, restrict=retracting() | most_recently("x"), name="inner")
    engine = Engine(correlate(p=inner, yields=lambda p: p, restrict=retracting()), trace=True)
    engine.push(a, 1)
    engine.push(a, 2)
    assert "left p: taken back by its source" in engine.why(engine.push(a, 3)[0])


def test_a_push_that_fails_has_noted_nothing(a):
    broken = []

    def latest(x):
        if broken:
            raise Broken
        return x

    engine = Engine(correlate(x=a, yields=latest, restrict=most_recently("x")), trace=True)
    engine.push(a, 1)
    before = engine.why(engine.pushed[0])
    broken.append(True)
    with pytest.raises(Broken):
        engine.push(a, 2)
    assert engine.why(engine.pushed[0]) == before
    assert len(engine.pushed) == 1


def test_an_event_that_was_late_says_so(a):
    """Engine.why: which events made it, which handlers saw them, and what became of it."""
    engine = Engine(correlate(x=a, yields=lambda x: x), trace=True)
    engine.advance(10)
    engine.push(a, "slow", at=3)
    ((late, _, _),) = engine.late
    assert engine.pushed == [late]
    assert "late" in engine.why(late) or "before the clock" in engine.why(late)


def test_an_event_that_a_full_gate_drops_says_so(a, b):
    restrict = aligning("a", "b", limit=1, overflow="drop_newest")
    engine = Engine(cartesian(a, b, restrict=restrict), trace=True)
    engine.push(a, 1)
    engine.push(a, 2)
    ((dropped, _, reason),) = engine.late
    assert "aligning" in engine.why(dropped)
    assert reason in engine.why(dropped)


# -------------------------------------------------------------------------------------------- tables and retractions


def rows(restrict=None):
    table = Reactive("t", table=True)
    output = correlate(
        x=table,
        yields=lambda x: x.v,
        restrict=retracting() if restrict is None else retracting() | restrict,
        name="out",
    )
    return table, output


@pytest.mark.parametrize(
    ("program", "made"),
    [
        (lambda a: cartesian(a, restrict=tumbling(9, content=accumulated(0, add))), "a 5 @ 1..2"),
        (lambda a: scan(a, add), "a 5 @ 2"),
        (lambda a: rolling(a, 2), "a (2, 3) @ 2"),
        (lambda a: buffer(a, 2), "a [2, 3] @ 1..2"),
    ],
)
def test_what_a_gate_makes_of_an_event_is_explained_by_the_event_that_came_last(a, program, made):
    engine = Engine(program(a), trace=True)
    engine.push(a, 2, at=1)
    (*_, result) = engine.push(a, 3, at=2)
    assert f"became: {made}" in engine.why(engine.pushed[1])
    assert [line.split(" = ")[-1] for line in engine.why(result).splitlines() if " = " in line] == [made, "a 3 @ 2"]


@pytest.mark.parametrize("relation", [istream, dstream, rstream])
def test_what_the_report_of_a_window_tells_is_explained_by_its_parts(a, relation):
    reports = correlate(x=a, yields=lambda x: x, restrict=sliding(8, 4, report=on_close) | relation(), name="out")
    engine = Engine(reports, trace=True)
    engine.push(a, 1, at=1)
    engine.push(a, 2, at=5)
    told = engine.advance(20)
    assert told
    assert all(f"x = a {event.value} @ {event.end}" in engine.why(event) for event in told)


def test_each_change_of_a_row_is_explained_by_its_own_value_and_time():
    table, output = rows()
    engine = Engine(output, trace=True)
    (first,) = engine.push(table, Update("k", {"v": 111}), at=1)
    taken, second = engine.push(table, Update("k", {"v": 222}), at=2)
    (deleted,) = engine.push(table, Delete("k"), at=3)
    assert (first.value, taken.value, second.value, deleted.value) == (111, 111, 222, 222)
    assert "111" in engine.why(first)
    assert "222" in engine.why(second)
    assert "111" not in engine.why(second)


def test_a_pushed_change_of_a_row_is_shown_as_it_was_pushed():
    table, output = rows()
    engine = Engine(output, trace=True)
    engine.push(table, Update("k", {"v": 111}), at=1)
    engine.push(table, Update("k", {"v": 222}), at=2)
    engine.push(table, Delete("k"), at=3)
    heads = [engine.why(event).splitlines()[0] for event in engine.pushed]
    assert ["111" in head for head in heads] == [True, False, False]
    assert ["222" in head for head in heads] == [False, True, False]
    assert "Delete" in heads[2]


def test_a_change_of_a_row_is_said_to_be_where_it_is_and_only_while_it_is_there():
    table, output = rows()
    engine = Engine(output, trace=True)
    engine.push(table, Update("k", {"v": 111}), at=1)
    engine.push(table, Update("j", {"v": 111}), at=1)
    engine.push(table, Update("k", {"v": 222}), at=2)
    assert ["in the memory of x" in engine.why(event) for event in engine.pushed] == [False, True, True]
    engine.push(table, Delete("k"), at=3)
    assert ["in the memory of x" in engine.why(event) for event in engine.pushed] == [False, True, False, False]


def test_a_change_of_a_row_that_a_gate_holds_is_not_taken_for_the_row_before():
    table = Reactive("t", table=True)
    restrict = retracting() | in_event_time(5)
    engine = Engine(correlate(x=table, yields=lambda x: x, restrict=restrict), trace=True)
    for value, at in ((1, 1), (2, 7), (3, 9)):
        engine.push(table, Update("k", value), at=at)
    is_held, is_kept = "is held by in_event_time", "in the memory of x"
    assert [(is_held in text, is_kept in text) for text in map(engine.why, engine.pushed)] == [
        (False, True),
        (True, False),
        (True, False),
    ]


def test_a_change_of_a_table_that_keeps_versions_is_told_what_became_of_it(b):
    table = Reactive("t", table=True)
    restrict = retracting() | versioned("x", retention=100)
    engine = Engine(correlate(x=table, y=b, yields=lambda x, y: (x, y), restrict=restrict, name="out"), trace=True)
    for source, value, at in ((table, Update("k", 1), 1), (b, "q", 5), (table, Update("k", 2), 3)):
        engine.push(source, value, at=at)
    old, _, new = map(engine.why, engine.pushed)
    assert "became: out (1, 'q') @ 1..5" in old
    assert "became: out (2, 'q') @ 3..5" in new
    assert ["in the memory of x" in text for text in (old, new)] == [True, True]


def test_a_change_of_a_derived_table_is_explained_by_the_row_it_shows(a):
    output = correlate(
        x=a, yields=lambda x: x.v, restrict=key_by(x="k") | most_recently("x") | as_table("x"), name="out"
    )
    engine = Engine(output, trace=True)
    engine.push(a, {"k": "p", "v": 111}, at=1)
    (change,) = engine.push(a, {"k": "p", "v": 222}, at=2)
    assert change.value == Update("p", 222)
    text = engine.why(change)
    assert "222" in text.splitlines()[0]
    assert "111" not in text
    assert "x = a" in text


def test_a_deletion_from_a_derived_table_is_explained_as_one(a):
    table, output = rows(as_table("x"))
    engine = Engine(output, trace=True)
    engine.push(table, Update("k", {"v": 111}), at=1)
    (change,) = engine.push(table, Delete("k"), at=2)
    assert change.value == Delete("k")
    assert "Delete" in engine.why(change)


def test_a_retraction_is_explained_by_the_result_that_it_takes_back(a, b):
    output = correlate(
        x=a, y=b, yields=lambda x, y: (x, y), restrict=retracting() | most_recently("x", "y"), name="out"
    )
    engine = Engine(output, trace=True)
    engine.push(a, 1, at=1)
    (made,) = engine.push(b, "B", at=2)
    taken, _ = engine.push(a, 2, at=3)
    assert taken.weight == -1
    assert "x = a 1 @ 1" in engine.why(taken)
    assert engine.why(made) == engine.why(taken)
    assert "displace" in engine.why(engine.pushed[0])


def test_what_a_batch_gives_is_explained_as_what_pushes_give(a, b):
    engine = Engine(zip_(a, b), trace=True)
    batch = {a: {"value": [1, 2], "order": [0, 2]}, b: {"value": ["p", "q"], "order": [1, 3]}}
    one, two = events_of(engine.push_many(batch))
    assert ["a = a 1 @ 1" in engine.why(one), "b = b 'p' @ 2" in engine.why(one)] == [True, True]
    assert ["a = a 2 @ 3" in engine.why(two), "b = b 'q' @ 4" in engine.why(two)] == [True, True]


# ------------------------------------------------------------------------------------------------- recorded, and not


def test_without_trace_a_clear_error_says_what_to_write(a):
    engine = Engine(correlate(x=a, yields=lambda x: x))
    (event,) = engine.push(a, 1)
    for ask in (lambda: engine.why(event), lambda: engine.pushed):
        with pytest.raises(InvalidArgument, match=r"trace=True"):
            ask()


@pytest.mark.parametrize(
    "unknown",
    [Event("x", 1, 1), Event(Update("k", 1), 1, 1, 1, "t"), Event(Delete([]), 1, 1), None, 3, "a", Reactive("a")],
)
def test_what_the_engine_does_not_know_is_refused(a, unknown):
    engine = Engine(correlate(x=a, yields=lambda x: x), trace=True)
    engine.push(a, 1)
    with pytest.raises(InvalidArgument, match="why: expected an event"):
        engine.why(unknown)


def test_an_event_of_another_engine_is_refused(a, b):
    one = Engine(correlate(x=a, yields=lambda x: x), trace=True)
    other = Engine(correlate(y=b, yields=lambda y: y), trace=True)
    other.push(b, 1)
    with pytest.raises(InvalidArgument):
        one.why(other.pushed[0])


def test_a_restored_engine_records_from_then_on(a, b):
    output = zip_(a, b)
    engine = Engine(output, trace=True)
    engine.push(a, "A", at=1)
    (before,) = engine.pushed
    restored = Engine.restore(engine.snapshot(), output, trace=True)
    assert restored.pushed == []
    with pytest.raises(InvalidArgument, match="before a snapshot"):
        restored.why(before)
    (pair,) = restored.push(b, "B", at=2)
    assert "a = a 'A' @ 1" in restored.why(pair)


def test_recording_changes_neither_results_nor_snapshots(a, b):
    output = zip_(a, b)
    recording, plain = Engine(output, trace=True), Engine(output)
    for engine in (recording, plain):
        for number in range(4):
            engine.push((a, b)[number % 2], number)
    assert recording.snapshot() == plain.snapshot()


def careful(source, broken):
    def where(x):
        if broken:
            raise Broken
        return True

    return correlate(x=source, where=where, yields=lambda x: x, name="out")


def test_a_failed_push_leaves_no_trace(a, b):
    broken = [True]
    engine = Engine(careful(map_(a, lambda n: n), broken), trace=True)
    with pytest.raises(Broken):
        engine.push(a, 1, at=1)
    assert engine.pushed == []
    broken.clear()
    (event,) = engine.push(a, 2, at=2)
    assert len(engine.pushed) == 1
    assert " 1 @ 1" not in engine.why(event) + engine.why(engine.pushed[0])


def test_a_failed_push_does_not_become_part_of_what_others_became(a, b):
    broken: list[bool] = []

    def where(x, y):
        if broken:
            raise Broken
        return True

    engine = Engine(correlate(x=a, y=b, where=where, yields=lambda x, y: (x, y), name="out"), trace=True)
    engine.push(a, 1, at=1)
    engine.push(b, 2, at=2)
    before = engine.why(engine.pushed[0])
    broken.append(True)
    with pytest.raises(Broken):
        engine.push(b, 3, at=3)
    assert engine.why(engine.pushed[0]) == before
    assert [event.value for event in engine.pushed] == [1, 2]


def test_of_two_equal_events_the_one_that_failed_leaves_no_trace(a):
    broken: list[bool] = []
    engine = Engine(careful(a, broken), trace=True)
    engine.push(a, 1, at=1)
    broken.append(True)
    with pytest.raises(Broken):
        engine.push(a, 1, at=1)
    (event,) = engine.pushed
    assert "became: out 1 @ 1" in engine.why(event)


def test_a_prefix_is_among_what_was_pushed():
    engine = Engine(correlate(x=Reactive.of([1, 2]), yields=lambda x: x, name="out"), trace=True)
    results = engine.pull()
    assert [event.value for event in engine.pushed] == [1, 2]
    assert "x = of 2" in engine.why(results[1])


def test_of_two_sources_without_a_name_it_is_clear_which_one_it_was():
    engine = Engine(cartesian(Reactive.of(["p"]), Reactive.of(["q"])), trace=True)
    (result,) = engine.pull()
    assert "= of 'p'" in engine.why(result)
    assert "= of#2 'q'" in engine.why(result)


@given(steps=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1)), max_size=10))
def test_every_event_pushed_and_emitted_can_be_explained(steps):
    inputs = {name: Reactive(name) for name in "ab"}
    newest = correlate(
        x=inputs["a"],
        yields=lambda x: x,
        restrict=retracting() | most_recently("x") | as_table(lambda n: n),
        name="newest",
    )
    output = correlate(
        row=newest,
        y=inputs["b"],
        yields=lambda row, y: (row, y),
        restrict=retracting() | most_recently("y"),
        name="out",
    )
    engine = Engine(output, newest, trace=True)
    for name, value in steps:
        emitted = engine.push(inputs[name], value)
        for event in [*engine.pushed, *emitted]:
            assert engine.why(event)
        for event in emitted:
            if event.weight > 0 and event.reactive == "out":
                assert repr(event.value) in engine.why(event).splitlines()[0]


def test_a_row_that_comes_to_show_what_was_made_before_the_snapshot_has_no_known_parts():
    ship = Reactive("ship", table=True)
    shown = correlate(s=ship, yields=lambda s: s, restrict=retracting() | as_table(lambda _: "all"))
    engine = Engine(shown, trace=True)
    for key, value in ((1, "a"), (2, "b")):
        engine.push(ship, Update(key, value))
    restored = Engine.restore(engine.snapshot(), shown, trace=True)
    (change,) = restored.push(ship, Delete(2))
    assert change.value == Update("all", "a")
    assert "all" in restored.why(change)
