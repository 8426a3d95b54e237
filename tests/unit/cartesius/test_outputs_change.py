"""Outputs that come and go while an engine runs, are pushed or only pulled, and share what they have in common."""

from __future__ import annotations

import gc
import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import (
    Delete,
    Engine,
    Reactive,
    Restriction,
    Slot,
    Update,
    correlate,
    forward,
    handles,
    notify_at,
    push,
    tick,
)
from cartesius.errors import InvalidArgument, SnapshotMismatch
from restrictions import (
    affinely,
    aligning,
    as_table,
    cartesian,
    combine_latest,
    most_recently,
    optionally,
    retracting,
    versioned,
    zip_,
)
from restrictions.streams import either, map_, merge, now, scan
from restrictions.tables import (
    changelog,
    combine_updates,
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    outer_join,
    reduce,
    sum_,
    to_table,
)

left, right, third = Reactive("left"), Reactive("right"), Reactive("third")
depth, height = Reactive("depth", table=True), Reactive("height", table=True)


def values(events):
    return [event.value for event in events]


def fold(events, rows=None):
    """What the changes of a table make of its rows."""
    rows = {} if rows is None else dict(rows)
    for event in events:
        if isinstance(event.value, Delete):
            del rows[event.value.key]
        else:
            rows[event.value.key] = event.value.value
    return rows


# ----------------------------------------------------------------------------------------------------------- adding


def test_an_output_of_streams_begins_empty():
    engine = Engine(combine_latest(left, right))
    engine.push(left, "before")
    pairs = zip_(left, right)
    assert engine.add(pairs) == []
    assert values(engine.push(right, 1)) == [("before", 1)]  # the older output alone
    assert values(engine.push(left, "after")) == [("after", 1), ("after", 1)]


def test_an_added_output_brings_its_own_inputs():
    engine = Engine(map_(left, lambda x: x))
    with pytest.raises(InvalidArgument, match="expected an input of this engine"):
        engine.push(right, 1)
    engine.add(map_(right, lambda x: -x))
    assert values(engine.push(right, 1)) == [-1]
    assert list(engine.inputs) == ["left", "right"]


def test_the_outputs_emit_in_the_order_in_which_they_came():
    first, second = map_(left, lambda x: x), map_(left, lambda x: -x)
    engine = Engine(first)
    engine.add(second)
    assert engine.outputs == (first, second)
    assert values(engine.push(left, 1)) == [1, -1]


def test_a_new_view_of_a_table_finds_its_rows():
    engine = Engine(filter_table(depth, lambda metres: metres > 10))
    for name, metres in (("A", 12), ("B", 9), ("A", 13)):
        engine.push(depth, Update(name, metres), at=metres)
    feet = map_table(depth, lambda metres: 3 * metres)
    added = engine.add(feet)
    assert fold(added) == engine.query(feet) == {"A": 39, "B": 27}
    assert {(event.start, event.end) for event in added} == {(13, 13)}  # the latest time seen
    assert {event.reactive for event in added} == {feet.name}
    assert values(engine.push(depth, Delete("B"))) == [Delete("B")]
    assert values(engine.push(depth, Update("B", 11))) == [Update("B", 11), Update("B", 33)]


def test_an_output_that_is_computed_already_shows_its_rows_and_goes_on():
    deep = filter_table(depth, lambda metres: metres > 10)
    engine = Engine(map_table(deep, lambda metres: -metres))
    engine.push(depth, Update("A", 12))
    assert values(engine.add(deep)) == [Update("A", 12)]
    assert values(engine.push(depth, Update("A", 14))) == [Update("A", -14), Update("A", 14)]


def test_what_a_new_stream_gives_of_the_rows_that_are_there_is_returned_and_not_told():
    engine = Engine(filter_table(depth, lambda metres: metres > 10))
    engine.push(depth, Update("A", 12))
    heard = []
    log = changelog(depth)
    assert values(engine.add(log)) == [Update("A", 12)]
    engine.subscribe(log, heard.append)
    assert heard == []
    engine.push(depth, Update("A", 9))
    assert values(heard[0]) == [Update("A", 9)]


def test_the_tables_of_other_inputs_are_empty():
    engine = Engine(map_(left, lambda x: x))
    engine.push(left, 1)
    rows = map_table(depth, lambda metres: metres)
    assert engine.add(rows) == []
    assert values(engine.push(depth, Update("A", 1))) == [Update("A", 1)]


def test_an_input_that_has_ended_has_ended_for_an_added_output():
    engine = Engine(combine_latest(left, right))
    engine.end(left)
    pairs = zip_(left, third)
    engine.add(pairs)
    engine.remove(engine.outputs[0])
    assert engine.done


def test_a_constant_that_is_added_comes_at_once():
    engine = Engine(map_(left, lambda x: x))
    constant = now(7)
    engine.push(left, 1)
    assert values(engine.add(constant)) == [7]
    assert engine.push(left, 2)[0].value == 2


def test_before_anything_was_done_an_added_output_is_as_one_from_the_start():
    engine = Engine(map_(left, lambda x: x))
    constant = now(7)
    assert engine.add(constant) == []
    assert values(engine.push(left, 1)) == [7, 1]


def test_what_an_added_input_has_already_is_eaten_at_the_next_call():
    engine = Engine(map_(left, lambda x: x))
    engine.push(left, 1)
    engine.add(map_(Reactive.of([5, 6]), lambda x: -x))
    assert values(engine.push(left, 2)) == [-5, -6, 2]
    assert values(engine.push(left, 3)) == [3]


def test_adding_is_atomic():
    engine = Engine(filter_table(depth, operator.truth), map_(left, lambda x: x))
    engine.push(depth, Update("A", 0))
    before = engine.snapshot()
    reciprocal = map_table(depth, lambda metres: 1 / metres)
    log = changelog(reciprocal)
    with pytest.raises(ZeroDivisionError):
        engine.add(log)
    assert engine.snapshot() == before
    assert engine.outputs == engine.outputs[:2]
    with pytest.raises(InvalidArgument, match="two are called 'left'"):
        engine.add(map_(Reactive("left"), lambda x: x))
    assert engine.snapshot() == before
    engine.push(depth, Update("A", 2))
    assert values(engine.add(log)) == [Update("A", 0.5)]


class reminding(Restriction):
    """Asks for a tick."""

    slot: Slot

    @handles(push, "slot")
    def remember(self, slot, entry):
        notify_at(int(entry.end) + 10)
        forward(slot, entry)

    @handles(tick)
    def remind(self, now):
        pass


def test_a_removed_output_leaves_no_memory_no_deadline_and_no_strand():
    kept, gone = combine_latest(left, right), cartesian(left, third, restrict=reminding("left"))
    engine = Engine(kept, gone)
    engine.push(left, 1, at=1)
    engine.push(third, 1, at=1)
    assert (engine.stats.retained, engine.next_deadline) == (3, 12)
    engine.remove(gone)
    gc.collect()
    assert (engine.stats.retained, engine.next_deadline) == (1, None)
    assert list(engine.inputs) == ["left", "right"]
    with pytest.raises(InvalidArgument, match="expected an input of this engine"):
        engine.push(third, 2)
    assert values(engine.push(right, 2)) == [(1, 2)]
    engine.advance(100)


def test_what_another_output_needs_stays():
    latest = combine_latest(left, right)
    doubled = map_(latest, lambda pair: pair * 2)
    engine = Engine(latest, doubled)
    engine.push(left, 1)
    engine.remove(latest)
    assert values(engine.push(right, 2)) == [(1, 2, 1, 2)]


def test_the_rows_of_an_input_outlive_the_output_that_kept_them():
    keeping = correlate(d=depth, x=left, yields=lambda d, x: (d, x))  # its memory is the table
    log = changelog(depth)
    engine = Engine(keeping, log)
    engine.push(depth, Update("A", 1))
    engine.remove(keeping)
    assert engine.query(depth) == {"A": 1}
    assert values(engine.add(map_table(depth, lambda metres: metres))) == [Update("A", 1)]


def test_an_output_removed_and_added_again_begins_anew():
    pairs, other = zip_(left, right), map_(left, lambda x: x)
    engine = Engine(other, pairs)
    engine.push(left, 1)
    engine.remove(pairs)
    engine.add(pairs)
    assert engine.push(right, 2) == []
    assert values(engine.push(left, 3)) == [3, (3, 2)]


def test_alternatives_come_and_go_together():
    p = correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=affinely("x", "y") | aligning("x", "y"))
    q = correlate(x=left, y=third, yields=lambda x, y: (x, y), restrict=affinely("x", "y"))
    both, other = either(p, q), map_(left, lambda x: x)
    engine = Engine(other)
    engine.add(both)
    engine.push(left, 1)
    assert values(engine.push(third, 3)) == [(1, 3)]
    assert engine.push(right, 2) == []
    engine.remove(both)
    assert len(engine._program.joins) == 1


# ------------------------------------------------------------------------------------------ the law of added tables


def programs():
    """Tables of all kinds over two input tables."""
    ratio = inner_join(depth, height)
    return {
        "map": map_table(depth, lambda metres: metres * 2),
        "filter": filter_table(depth, lambda metres: metres > 1),
        "inner": ratio,
        "left": left_join(depth, height),
        "outer": outer_join(depth, height),
        "foreign": foreign_join(depth, height, on=lambda metres: metres),
        "count": reduce(depth, count, by=lambda metres: metres),
        "sum": reduce(ratio, sum_.of(lambda pair: pair[0] + pair[1]), by=lambda pair: pair[0]),
        "view of a view": map_table(filter_table(ratio, lambda pair: pair[0] > pair[1]), lambda pair: pair[0]),
        "logged": to_table(changelog(map_table(height, lambda metres: -metres))),
        "values": correlate(d=depth, yields=lambda d: d, restrict=retracting() | as_table(lambda d: d)),
    }


TABLES, OTHERS = programs(), programs()  # equal, but not the same
NAMES = sorted(TABLES)
CHANGE = st.tuples(st.sampled_from([depth, height]), st.integers(0, 2), st.one_of(st.integers(0, 3), st.none()))
TRACES = st.lists(CHANGE, max_size=10)


def change(key, value):
    return Delete(key) if value is None else Update(key, value)


@given(TRACES, st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(0, 10), st.booleans(), st.integers(0, 10))
def test_a_table_added_at_any_time_is_as_one_from_the_start(trace, first, added, at, is_pulled, restored_at):
    there, late, other = TABLES[first], OTHERS[added], TABLES[added]
    whole = Engine(pulled=[depth, height, other])
    engine = Engine(there, pulled=[depth, height])
    rows = {}
    is_added = False
    for number, (table, key, value) in enumerate([*trace, (depth, 7, 7)]):
        if number == min(at, len(trace)):
            rows, is_added = fold(engine.add(late, pulled=is_pulled)), True
            assert engine.query(late) == whole.query(other)
        if number == restored_at:
            pulled = [depth, height, *([late] if is_added and is_pulled else [])]
            pushed = [there, *([late] if is_added and not is_pulled else [])]
            engine = Engine.restore(engine.snapshot(), *pushed, pulled=pulled)
        whole.push(table, change(key, value))
        events = engine.push(table, change(key, value))
        if not is_added:
            continue
        assert engine.query(late) == whole.query(other)
        name = engine._program.names[late]
        if not is_pulled:
            rows = fold([event for event in events if event.reactive == name], rows)
            assert rows == engine.query(late)
        engine._check_invariants()


@given(TRACES, st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(0, 10))
def test_a_removed_output_leaves_the_others_as_they_were(trace, kept, gone, at):
    staying, going = TABLES[kept], OTHERS[gone]
    engine, alone = Engine(going, staying, pulled=[depth, height]), Engine(staying, pulled=[depth, height])
    for number, (table, key, value) in enumerate(trace):
        if number == at:
            engine.remove(going)
        name = engine._program.names[staying]
        events = [event for event in engine.push(table, change(key, value)) if event.reactive == name]
        assert values(events) == values(alone.push(table, change(key, value)))
        assert engine.query(staying) == alone.query(staying)
        assert engine.query(depth) == alone.query(depth)
    if at < len(trace):
        assert engine.stats.retained == alone.stats.retained
        assert Engine.restore(engine.snapshot(), staying, pulled=[depth, height]).snapshot() == engine.snapshot()


# ---------------------------------------------------------------------------------------------------- pushed and pulled


def test_a_pulled_output_emits_nothing_and_answers():
    deep = filter_table(depth, lambda metres: metres > 10)
    engine = Engine(pulled=[deep])
    assert engine.push(depth, Update("A", 12)) == []
    assert engine.query(deep) == {"A": 12}
    assert engine.lookup(deep, "A") == 12
    assert (engine.outputs, engine.pulled) == ((), (deep,))


def test_a_pulled_view_is_computed_only_when_it_is_asked():
    asked = []

    def pair(d, h):
        asked.append((d, h))
        return d + h

    sums = correlate(
        d=depth,
        h=height,
        where=lambda key_d, key_h: key_d == key_h,
        yields=pair,
        restrict=retracting() | as_table("d"),
    )
    engine = Engine(map_(left, lambda x: x), pulled=[sums])
    engine.push(depth, Update("A", 1))
    engine.push(height, Update("A", 2))
    engine.push(height, Update("A", 3))
    assert (asked, engine.stats.tuples) == ([], 0)
    assert engine.query(sums) == {"A": 4}
    assert asked == [(1, 3)]
    engine.add(sums)  # from now on it is pushed
    assert values(engine.push(height, Update("A", 5))) == [Update("A", 6)]
    engine.add(sums, pulled=True)
    assert engine.push(height, Update("A", 6)) == []
    assert engine.query(sums) == {"A": 7}


@given(TRACES, st.lists(st.integers(0, 10), max_size=4), st.sampled_from(NAMES))
def test_a_pull_leaves_the_push_side_as_it_was(trace, asked_at, name):
    table = TABLES[name]
    view = map_table(table, lambda row: (row,))
    engine, quiet = Engine(table, pulled=[view]), Engine(table)
    for number, (source, key, value) in enumerate(trace):
        if source not in engine.inputs.values():
            continue
        if number in asked_at:
            before = engine.snapshot()
            assert engine.query(view) == {key: (row,) for key, row in engine.query(table).items()}
            engine.lookup(view, 1)
            assert engine.snapshot() == before
        assert engine.push(source, change(key, value)) == quiet.push(source, change(key, value))


def test_a_view_over_a_view():
    deep = filter_table(depth, lambda metres: metres > 10)
    feet = map_table(deep, lambda metres: 3 * metres)
    engine = Engine(pulled=[feet])
    for name, metres in (("A", 12), ("B", 9), ("C", 20), ("A", 8)):
        assert engine.push(depth, Update(name, metres)) == []
    assert engine.query(feet) == {"C": 60}
    engine.add(deep, pulled=True)
    assert engine.query(deep) == {"C": 20}


def test_a_pull_answers_at_any_time_inside_the_retention():
    deep = filter_table(depth, lambda metres: metres > 10, restrict=versioned("x", retention=10))
    engine = Engine(map_(left, lambda x: x), pulled=[deep])
    for metres, time in ((12, 5), (9, 8), (14, 20)):
        engine.push(depth, Update("A", metres), at=time)
    engine.advance(16)
    before = engine.snapshot()
    assert [engine.query(deep, at=time) for time in (6, 8, 19, 20)] == [{"A": 12}, {}, {}, {"A": 14}]
    assert engine.snapshot() == before
    assert values(engine.push(left, 1)) == [1]
    engine.advance(30)
    with pytest.raises(InvalidArgument, match="older versions are forgotten"):
        engine.query(deep, at=6)


def test_a_view_of_versions_that_is_added_knows_the_newest_rows_from_now_on():
    deep = filter_table(depth, lambda metres: metres > 10, restrict=versioned("x"))
    engine = Engine(deep)
    for name, metres, time in (("A", 12, 5), ("A", 14, 8), ("B", 11, 6)):
        engine.push(depth, Update(name, metres), at=time)
    feet = map_table(deep, lambda metres: 3 * metres, restrict=versioned("x"))
    assert fold(engine.add(feet)) == {"A": 42, "B": 33}
    assert engine.query(feet) == {"A": 42, "B": 33}
    engine.push(depth, Update("A", 20), at=12)
    assert engine.query(feet) == {"A": 60, "B": 33}
    assert engine.query(feet, at=9) == {"A": 42, "B": 33}


# -------------------------------------------------------------------------------------------------------- subscribers


def test_each_subscriber_hears_its_output():
    first, second = map_(left, lambda x: x), map_(right, lambda x: -x)
    engine = Engine(first, second)
    heard = []
    engine.subscribe(first, lambda events: heard.append(("first", values(events))))
    subscription = engine.subscribe(second, lambda events: heard.append(("second", values(events))))
    engine.push(left, 1)
    engine.push(right, 2)
    subscription.cancel()
    subscription.cancel()
    engine.push(right, 3)
    assert heard == [("first", [1]), ("second", [-2])]


def test_a_subscriber_hears_all_calls_that_emit():
    counted = scan(left, lambda total, x: total + x)
    engine = Engine(counted)
    heard = []
    engine.subscribe(counted, heard.extend)
    emitted = [*engine.push(left, 1), *engine.advance(7), *engine.end(left), *engine.close()]
    assert heard == emitted


def test_a_failing_subscriber_leaves_the_push_done_and_the_others_told():
    engine = Engine(map_(left, lambda x: x))
    heard = []

    def fail(events):
        raise RuntimeError("no disk")

    engine.subscribe(engine.outputs[0], fail)
    engine.subscribe(engine.outputs[0], lambda events: heard.extend(values(events)))
    with pytest.raises(RuntimeError, match="no disk") as caught:
        engine.push(left, 1)
    assert any("the call that it was told of is done and stands" in note for note in caught.value.__notes__)
    assert heard == [1]
    assert engine.stats.events == 1
    engine.subscribe(engine.outputs[0], fail)
    with pytest.raises(ExceptionGroup, match="several subscribers failed"):
        engine.push(left, 2)
    assert heard == [1, 2]


def test_a_subscriber_may_use_the_engine_and_what_follows_is_told_after():
    echo, all_ = map_(right, lambda x: x), merge(left, right)
    engine = Engine(all_, echo)
    heard = []
    engine.subscribe(all_, lambda events: [engine.push(right, -e.value) for e in events if e.value > 0])
    engine.subscribe(all_, lambda events: heard.extend(values(events)))
    engine.push(left, 1)
    assert heard == [1, -1]


def test_a_subscriber_may_cancel_another_and_remove_its_output():
    first, second = map_(left, lambda x: x), map_(left, lambda x: -x)
    engine = Engine(first, second)
    heard = []
    engine.subscribe(first, lambda events: engine.remove(second))
    engine.subscribe(second, heard.extend)
    engine.push(left, 1)
    assert heard == []
    assert engine.outputs == (first,)


def test_a_failed_push_tells_nobody():
    engine = Engine(map_(left, lambda x: 1 / x))
    heard = []
    engine.subscribe(engine.outputs[0], heard.extend)
    with pytest.raises(ZeroDivisionError):
        engine.push(left, 0)
    assert heard == []


# ------------------------------------------------------------------------------------------------------------- sharing


def matching(name=None):
    return correlate(
        x=left, y=right, where=lambda x, y: x == y, yields=lambda x, y: (x, y), restrict=most_recently("x"), name=name
    )


def test_two_outputs_of_one_pattern_share_their_memory():
    first, second = matching("first"), matching("second")
    engine, alone = Engine(first, second), Engine(first)
    for each in (engine, alone):
        for value in range(5):
            each.push(left, value)
            each.push(right, value)
    assert engine.stats.retained == alone.stats.retained == 6
    assert engine.stats.tuples == alone.stats.tuples
    events = engine.push(right, 4)
    assert [(event.reactive, event.value) for event in events] == [("first", (4, 4)), ("second", (4, 4))]


def test_patterns_that_restrict_their_slots_otherwise_keep_entries_of_their_own_but_one_payload():
    """What two correlations share that restrict a slot otherwise is the values; alike: see `test_shared_memory`."""
    outputs = [correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=most_recently("x", n=n)) for n in (1, 2)]
    engine = Engine(*outputs)
    engine.push(left, {"name": "EVA"})
    first, second = (join.slots[0].memory.all() for join in engine._program.joins)
    assert engine.stats.retained == 2
    assert next(iter(first)).value is next(iter(second)).value


def test_a_pattern_that_is_added_is_found_with_its_memory_if_it_is_the_same():
    engine = Engine(matching("first"))
    engine.push(left, 1)
    assert engine.add(matching("second")) == []
    assert [event.reactive for event in engine.push(right, 1)] == ["first", "second"]


def test_what_shares_stays_when_the_one_it_was_made_for_goes():
    first, second = matching("first"), matching("second")
    nested = [map_(one, lambda pair: pair[0]) for one in (first, second)]
    engine = Engine(*nested)
    engine.push(left, 1)
    engine.remove(nested[0])
    blob = engine.snapshot()
    assert values(engine.push(right, 1)) == [1]
    restored = Engine.restore(blob, nested[1])
    assert values(restored.push(right, 1)) == [1]
    assert restored.snapshot() == engine.snapshot()
    assert "first" in engine.explain()  # the name under which it began


def test_patterns_that_differ_do_not_share():
    def on(reactive):
        return lambda x: x

    function = on(left)
    same = [map_(left, function), map_(left, function)]
    assert len(Engine(*same)._program.joins) == 1
    untraced = [map_(left, lambda x: [x][0]), map_(left, lambda x: [x][0])]  # functions count by identity
    assert len(Engine(*untraced)._program.joins) == 2
    constants = [correlate(x=left, yields=lambda x: (x, 1)), correlate(x=left, yields=lambda x: (x, True))]
    assert len(Engine(*constants)._program.joins) == 2
    restricted = [cartesian(left, right), cartesian(left, right, restrict=most_recently("left"))]
    assert len(Engine(*restricted)._program.joins) == 2
    slots = [correlate(x=left, y=right, yields=lambda x: x), correlate(x=right, y=left, yields=lambda x: x)]
    assert len(Engine(*slots)._program.joins) == 2
    assert len(Engine(either(same[0], same[1]))._program.joins) == 3


def test_why_explains_an_event_of_each_output_that_shares():
    engine = Engine(matching("first"), matching("second"), trace=True)
    engine.push(left, 1)
    for event in engine.push(right, 1):
        assert "left = left 1 @ 1" in engine.why(event).replace("x =", "left =")


@given(st.lists(st.tuples(st.sampled_from([left, right]), st.integers(0, 2)), max_size=8))
def test_sharing_changes_nothing(trace):
    """A diamond over two equal patterns, against one over patterns kept apart by untraced functions."""
    shared = [combine_latest(left, right), combine_latest(left, right)]
    apart = [
        correlate(left=left, right=right, yields=yields, restrict=most_recently("left", "right"))
        for yields in (lambda left, right: tuple([left, right]), lambda left, right: tuple([left, right]))
    ]
    one, two = Engine(cartesian(*shared)), Engine(cartesian(*apart))
    assert (len(one._program.joins), len(two._program.joins)) == (2, 3)
    for step in trace:
        assert values(one.push(*step)) == values(two.push(*step))


# ------------------------------------------------------------------------------------------------------- snapshots


def test_a_snapshot_belongs_to_the_outputs_that_there_were():
    deep = filter_table(depth, lambda metres: metres > 10)
    pairs = zip_(left, right)
    engine = Engine(pairs)
    engine.add(deep, pulled=True)
    engine.push(depth, Update("A", 12))
    blob = engine.snapshot()
    restored = Engine.restore(blob, pairs, pulled=[deep])
    assert restored.query(deep) == {"A": 12}
    assert restored.snapshot() == blob
    for outputs, pulled in (((pairs,), ()), ((pairs, deep), ()), ((deep,), [pairs])):
        with pytest.raises((SnapshotMismatch, InvalidArgument)):
            Engine.restore(blob, *outputs, pulled=pulled)


def test_names_survive_what_has_gone_and_a_restore():
    first, second = (
        zip_(left, right),
        correlate(left=left, right=right, yields=lambda left: left, name="zip_(left, right)"),
    )
    engine = Engine(first, second)
    engine.remove(first)
    engine.push(left, 1)
    assert engine.push(right, 1)[0].reactive == "zip_(left, right)#2"
    restored = Engine.restore(engine.snapshot(), second)
    assert restored.push(right, 2)[0].reactive == "zip_(left, right)#2"
    engine.push(right, 2)
    assert restored.snapshot() == engine.snapshot()
    third_ = zip_(left, right)
    restored.add(third_)
    assert restored._program.names[third_] == "zip_(left, right)"


def test_an_engine_that_was_restored_finds_rows_for_what_is_added():
    deep = filter_table(depth, lambda metres: metres > 10)
    engine = Engine(deep)
    engine.push(depth, Update("A", 12))
    restored = Engine.restore(engine.snapshot(), deep)
    assert values(restored.add(map_table(depth, lambda metres: -metres))) == [Update("A", -12)]


# ---------------------------------------------------------------------------------------------------------- refusals


def refused(call):
    with pytest.raises(InvalidArgument) as caught:
        call()
    return str(caught.value)


def test_what_does_not_fit_is_refused():
    pairs, deep = zip_(left, right), filter_table(depth, lambda metres: metres > 10)
    engine = Engine(pairs, pulled=[deep])
    wrong: Any = "pairs"
    alone: Any = deep
    before = engine.snapshot()
    assert refused(lambda: engine.add(pairs)) == (
        "add: expected an output that is not pushed already but got Reactive('zip_(left, right)'); leave it out"
    )
    assert refused(lambda: engine.add(deep, pulled=True)).startswith(
        "add: expected an output that is not pulled already"
    )
    assert refused(lambda: engine.add(merge(left, right), pulled=True)) == (
        "add: expected a table to be pulled but Reactive('merge(left, right)') is a stream, of which nothing is there"
        " to ask for; push it, or put as_table between"
    )
    assert refused(lambda: Engine(pairs, pulled=[pairs])).startswith("Engine: expected a table to be pulled")
    assert refused(lambda: Engine(pairs, pulled=alone)) == (
        "Engine: expected tables in a list but got pulled=Reactive('filter_table(depth)') (type=Reactive)"
    )
    assert refused(lambda: Engine(deep, pulled=[deep])).startswith("Engine: expected outputs that are pushed or pulled")
    assert refused(Engine).startswith("Engine: expected one or more reactives")
    assert refused(lambda: engine.remove(left)) == (
        "remove: expected an output of this engine but got Reactive('left'); the outputs are zip_(left, right),"
        " filter_table(depth)"
    )
    assert refused(lambda: engine.add(wrong)).startswith("add: expected")
    assert refused(lambda: engine.subscribe(deep, print)) == (
        "subscribe: expected an output that is pushed but got Reactive('filter_table(depth)'); those are"
        " zip_(left, right); add it without pulled=True"
    )
    assert refused(lambda: engine.subscribe(left, print)).endswith("those are zip_(left, right)")
    assert refused(lambda: engine.subscribe(pairs, wrong)) == (
        "subscribe: expected a function but got function='pairs' (type=str)"
    )
    assert engine.snapshot() == before
    engine.remove(deep)
    assert refused(lambda: engine.remove(pairs)) == (
        "remove: expected an engine that keeps an output but Reactive('zip_(left, right)') is the last; add another one"
        " first"
    )


@pytest.mark.parametrize("call", ["add", "remove"])
def test_a_body_does_not_change_its_engine(call):
    engines = []

    def changing(x):
        (engine,) = engines
        getattr(engine, call)(engine.outputs[0])

    engines.append(Engine(map_(left, changing), map_(left, lambda x: x)))
    assert refused(lambda: engines[0].push(left, 1)).startswith(f"{call}: expected a body that is pure")


def test_a_missing_part_is_known_to_a_view_that_is_only_pulled():
    rows = correlate(
        d=depth,
        h=height,
        where=lambda key_d, key_h: key_d == key_h,
        yields=lambda d, h: (d, h),
        restrict=retracting() | optionally("h") | as_table("d"),
    )
    engine = Engine(pulled=[rows])
    engine.push(depth, Update("A", 1))
    assert engine.query(rows) == {"A": (1, None)}
    engine.push(height, Update("A", 2))
    assert engine.query(rows) == {"A": (1, 2)}
    engine.push(height, Delete("A"))
    engine.add(rows)
    assert engine.query(rows) == {"A": (1, None)}
    assert values(engine.push(height, Update("A", 3))) == [Update("A", (1, 3))]


def test_a_fold_over_updates_begins_with_the_rows_that_are_there():
    total = combine_updates(depth, 0, operator.add)
    engine = Engine(filter_table(depth, operator.truth))
    engine.push(depth, Update("A", 1))
    engine.push(depth, Update("A", 2))
    assert values(engine.add(total)) == [Update("A", 2)]
    assert values(engine.push(depth, Update("A", 3)))[-1] == Update("A", 5)


def test_a_view_whose_body_fails_as_it_is_added_as_an_output_changes_nothing():
    depth = Reactive("depth", table=True)
    kept, view = map_table(depth, lambda metres: metres), map_table(depth, lambda metres: 100 // metres)
    engine = Engine(kept, pulled=[view])
    engine.push(depth, Update("A", 0))
    before = engine.snapshot()
    with pytest.raises(ZeroDivisionError):
        engine.add(view)
    assert engine.snapshot() == before
    engine.push(depth, Update("A", 5))
    assert [event.value for event in engine.add(view)] == [Update("A", 20)]
