"""Rows that pass through stages by the clock, against a dict that is read at the time of the clock."""

from __future__ import annotations

from typing import Any, NamedTuple

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate, storable
from cartesius.errors import InvalidArgument
from restrictions import as_table, key_by, most_recently, retracting, versioned
from restrictions.gates.life_stages import Stage, ageing, collating
from restrictions.gates.row_gates import upserting

t, s = Reactive("t", table=True), Reactive("s")


@storable
class Event(NamedTuple):
    key: str
    length: int


@attrs.frozen
class Waning:
    """A row of n counts down, every n time units, from 2 to 0, and then is gone."""

    def come(self, before: Any, value: Any, time: Any, now: Any) -> Stage | None:
        return self.go_on(value, time, now)

    def go_on(self, keeps: Any, time: Any, now: Any) -> Stage | None:
        left = 2 - int(now - time) // keeps
        return None if left < 0 else Stage((keeps, left), keeps, time + (3 - left) * keeps)


@attrs.frozen
class Gathering(Waning):
    """A row of all lengths of a key; the least of them leaves as much after the last event."""

    def key(self, value: Event) -> str:
        return value.key

    def objection(self, value: Event) -> str | None:
        return "too long" if value.length > 9 else None

    def come(self, before: Any, value: Any, time: Any, now: Any) -> Stage | None:
        return self.go_on(tuple(sorted((*(before or ()), value.length))), time, now)

    def go_on(self, keeps: Any, time: Any, now: Any) -> Stage | None:
        left = tuple(length for length in keeps if now - time < length)
        return Stage(left, left, time + left[0]) if left else None


def table(gate: Any, reactive: Reactive) -> Reactive:
    made = correlate(x=reactive, yields=lambda x: x, restrict=retracting() | as_table("x") | gate)
    assert isinstance(made, Reactive)
    return made


changes = st.one_of(
    st.builds(Update, st.sampled_from("ab"), st.integers(1, 5)),
    st.builds(Delete, st.sampled_from("ab")),
    st.none(),
)


@settings(max_examples=settings().max_examples // 3)
@given(st.lists(st.tuples(changes, st.integers(0, 6)), max_size=15), st.booleans(), st.booleans())
def test_at_any_time_a_row_is_the_stage_that_its_last_change_and_the_clock_give(trace, restoring, following):
    output = table(ageing("x", Waning()), t)
    lateness = 0 if following else None
    engine = Engine(output, lateness=lateness)
    rows: dict[str, tuple[int, int]] = {}
    time, clock = 0, -1
    for change, later in trace:
        time += later
        if change is None:
            engine.advance(time)
        else:
            engine.push(t, change, at=time)
            if isinstance(change, Delete):
                rows.pop(change.key, None)
            else:
                rows[change.key] = (change.value, time)
        clock = max(clock, time) if following or change is None else clock
        passed = {key: max(clock - since, 0) // length for key, (length, since) in rows.items()}
        rows = {key: row for key, row in rows.items() if passed[key] < 3}
        assert engine.query(output) == {key: (row[0], 2 - passed[key]) for key, row in rows.items()}
        assert engine.stats.retained == len(rows)
        due = [since + (passed[key] + 1) * length for key, (length, since) in rows.items()]
        assert engine.next_deadline == min(due, default=None)
        engine._check_invariants()
        if restoring:
            engine = Engine.restore(engine.snapshot(), output, lateness=lateness)


@settings(max_examples=settings().max_examples // 3)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.one_of(st.none(), st.integers(1, 5)), st.integers(0, 4)), max_size=15)
)
def test_events_are_collected_in_one_row_a_key(trace):
    output = table(collating("x", Gathering()), s)
    engine = Engine(output)
    rows: dict[str, tuple[tuple[int, ...], int]] = {}
    time = clock = 0
    engine.advance(0)
    for key, length, later in trace:
        time += later
        if length is None:
            clock = time
            engine.advance(time)
        else:
            engine.push(s, Event(key, length), at=time)
            rows[key] = (tuple(sorted((*rows.get(key, ((), 0))[0], length))), time)
        rows = {
            key: (left, since)
            for key, (lengths, since) in rows.items()
            if (left := tuple(length for length in lengths if clock - since < length))
        }
        assert engine.query(output) == {key: lengths for key, (lengths, _) in rows.items()}
        engine = Engine.restore(engine.snapshot(), output)


def test_each_change_comes_at_its_own_time():
    output = table(ageing("x", Waning()), t)
    engine = Engine(output)
    engine.push(t, Update("a", 5), at=3)
    engine.push(t, Update("b", 4), at=3)
    assert [(event.end, event.value) for event in engine.advance(15)] == [
        (7, Update("b", (4, 1))),
        (8, Update("a", (5, 1))),
        (11, Update("b", (4, 0))),
        (13, Update("a", (5, 0))),
        (15, Delete("b")),
    ]


def test_what_fails_leaves_the_deadlines_as_they_were():
    class Failing(Waning):
        def come(self, before: Any, value: Any, time: Any, now: Any) -> Stage | None:
            if value == 4:
                message = "no"
                raise ValueError(message)
            return super().come(before, value, time, now)

    output = table(ageing("x", Failing()), t)
    engine = Engine(output)
    engine.push(t, Update("a", 5), at=0)
    with pytest.raises(ValueError, match="no"):
        engine.push(t, Update("a", 4), at=2)
    assert engine.next_deadline == 5
    engine.push(t, Update("a", 3), at=2)
    with pytest.raises(ValueError, match="no"):
        engine.push(t, Update("a", 4), at=4)
    assert engine.next_deadline == 5
    assert [event.value for event in engine.advance(5)] == [Update("a", (3, 1))]


def test_a_deadline_that_nobody_wants_any_more_is_soon_forgotten():
    output = table(ageing("x", Waning()), t)
    engine = Engine(output)
    for time in range(1000):
        engine.push(t, Update("a", 500), at=time)
    assert engine.next_deadline == 1499
    assert len(engine._world.deadlines.heap) < 5


def test_what_belongs_to_no_row_is_set_aside():
    engine = Engine(table(collating("x", Gathering()), s))
    assert engine.push(s, Event("a", 10)) == []
    assert [(event.value, reason) for event, _, reason in engine.late] == [(Event("a", 10), "too long")]


def test_tables_age_and_streams_are_collected():
    with pytest.raises(InvalidArgument, match="expected a table but 'x' is bound to a stream, 's'"):
        table(ageing("x", Waning()), s)
    with pytest.raises(InvalidArgument, match="expected streams but 'x' is bound to a table, 't'"):
        table(collating("x", Gathering()), t)


@pytest.mark.parametrize(("gate", "reactive"), [(ageing("x", Waning()), t), (collating("x", Gathering()), s)])
def test_versions_are_refused(gate, reactive):
    with pytest.raises(InvalidArgument, match="expected no versions, as it goes by order of arrival"):
        table(versioned("x") | gate, reactive)


@attrs.frozen
class Latest:
    """The latest event of a key, for ever."""

    def key(self, value: Event) -> str:
        return value.key

    def objection(self, value: Event) -> None:
        return None

    def come(self, before: Any, value: Any, time: Any, now: Any) -> Stage | None:
        return Stage(value, None, None)

    def go_on(self, keeps: Any, time: Any, now: Any) -> Stage | None:
        raise AssertionError


@settings(max_examples=settings().max_examples // 3)
@given(st.lists(st.builds(Event, st.sampled_from("ab"), st.integers(0, 3)), max_size=10))
def test_collecting_the_latest_is_what_a_table_is(events):
    def told(gate: Any) -> Any:
        output = table(gate, s)
        engine = Engine(output)
        return [[(e.value, e.start, e.end) for e in engine.push(s, event)] for event in events]

    assert told(collating("x", Latest())) == told(upserting("x", key="key"))
    assert told(collating("x", Latest())) == told(key_by(x="key") | most_recently("x"))[: len(events)]


def test_they_say_what_bounds_them():
    engine = Engine(table(ageing("x", Waning()), t))
    assert "O(keys)" in engine.explain()
