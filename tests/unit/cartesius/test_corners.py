"""Corners where layers meet: nested retractions, keys beside missing parts, unusual values, state that comes back."""

import numpy as np
import pytest

from cartesius import (
    Delete,
    Engine,
    Reactive,
    Restriction,
    Slots,
    Update,
    correlate,
    displace,
    forward,
    handles,
    memory,
    push,
    run,
    state,
)
from cartesius.errors import InvalidArgument, NotStorable, SnapshotMismatch
from restrictions import affinely, aligning, as_table, cartesian, key_by, most_recently, optionally, retracting


@pytest.fixture
def t():
    return Reactive("t", table=True)


def changes(events):
    return [(event.value, event.weight) for event in events]


@pytest.mark.parametrize("restoring", [False, True])
def test_a_row_that_changes_is_replaced_through_two_retracting_correlations(t, a, b, restoring):
    """The identity of a row's results is the same for every version of the row."""
    inner = correlate(x=t, y=a, yields=lambda x, y: (x, y), restrict=retracting(), name="inner")
    outer = correlate(p=inner, q=b, yields=lambda p, q: (p[0], q), restrict=retracting())
    engine, live = Engine(outer), {}
    trace = [(a, "s"), (t, Update("k", 1)), (t, Update("k", 2)), (b, "u"), (t, Update("k", 3)), (t, Delete("k"))]
    shown = []
    for source, value in trace:
        if restoring:
            engine = Engine.restore(engine.snapshot(), outer)
        for event in engine.push(source, value):
            live[event.value] = live.get(event.value, 0) + event.weight
        engine._check_invariants()
        shown.append(sorted(value for value, count in live.items() if count))
    assert shown == [[], [], [], [(2, "u")], [(3, "u")], []]
    assert set(live.values()) == {0}


@pytest.mark.parametrize("missing", [("y",), ("y", "z"), ("z",)])
@pytest.mark.parametrize("keys_first", [True, False])
def test_three_slots_of_one_key_space_may_miss_what_is_not_there(missing, keys_first):
    x, y, z = (Reactive(name) for name in "xyz")
    keys = key_by(x="k", y="k", z="k")
    restrict = keys | optionally(*missing) if keys_first else optionally(*missing) | keys
    rows = correlate(
        x=x,
        y=y,
        z=z,
        yields=lambda x, y, z: tuple(None if part is None else part.n for part in (x, y, z)),
        restrict=restrict | retracting(),
    )
    engine, live = Engine(rows), []
    present: dict[str, str | None] = {"x": None, "y": None, "z": None}
    for slot, source in (("x", x), ("z", z), ("y", y)):
        present[slot] = slot
        for event in engine.push(source, {"k": 1, "n": slot}):
            live.append(event.value) if event.weight > 0 else live.remove(event.value)
        row = tuple(present[name] for name in "xyz")
        is_there = all(present[name] is not None or name in missing for name in "xyz")
        assert live == ([row] if is_there else [])
        assert engine.push(source, {"k": 2, "n": "other"}) == [] or missing  # another key meets nobody
        live[:] = [row for row in live if "other" not in row]


def test_three_slots_of_one_key_space_that_may_all_be_missing_are_refused(a, b):
    with pytest.raises(InvalidArgument, match="may not be missing"):
        Engine(
            correlate(
                x=a,
                y=b,
                z=a,
                yields=lambda x, y, z: (x, y, z),
                restrict=key_by(x="k", y="k", z="k") | optionally("x", "y", "z") | retracting(),
            )
        )


def test_a_condition_on_no_slot_counts_for_partial_rows_too(a, b):
    never = False
    rows = correlate(
        x=a,
        y=b,
        where=lambda x, y: (x == y) & never,
        yields=lambda x, y: (x, y),
        restrict=optionally("y") | retracting(),
    )
    assert run(rows, [(a, 1), (b, 1)]) == []


RULES = {"same": lambda x, y: x.id == y.id if isinstance(x.id, int) else False}


def test_what_cannot_be_seen_to_be_called_is_not_traced(a, b):
    pairs = correlate(x=a, y=b, where=lambda x, y: RULES["same"](x, y) | False, yields=lambda x, y: x.id)
    assert [event.value for event in run(pairs, [(a, {"id": 7}), (b, {"id": 7})])] == [7]
    assert "as written" in Engine(pairs).explain()

    def named(x):
        kind = x.__class__.__name__
        return kind == "int"

    kinds = correlate(x=a, yields=named)
    assert [event.value for event in run(kinds, [(a, 7)])] == [True]


def test_a_captured_array_and_a_captured_named_tuple_keep_their_kind(a):
    offsets = np.array([1, 2])
    (event,) = run(correlate(x=a, yields=lambda x: offsets + x), [(a, 10)])
    assert event.value.tolist() == [11, 12]


def test_a_field_may_have_any_name(a):
    names = ("_expression", "items", "value", "start")
    for name in names:
        (event,) = run(cartesian(a), [(a, {name: 3})])
        assert getattr(event.value[0], name) == 3
        where = {"_expression": lambda x: x._expression == 3, "items": lambda x: x.items == 3}.get(name)
        if where:
            assert len(run(correlate(x=a, where=where, yields=lambda x: 1), [(a, {name: 3})])) == 1


@pytest.mark.parametrize(("left", "right"), [({1}, frozenset({1})), (bytearray(b"x"), b"x"), ([1], [1])])
def test_equal_values_meet_though_one_cannot_be_hashed(a, b, left, right):
    pairs = correlate(x=a, y=b, where=lambda x, y: x.k == y.k, yields=lambda x, y: 1)
    assert len(run(pairs, [(a, {"k": left}), (b, {"k": right})])) == 1
    assert len(run(pairs, [(a, {"k": left}), (b, {"k": [2]})])) == 0


def test_a_key_that_cannot_be_hashed_is_refused(a, b):
    engine = Engine(cartesian(a, b, restrict=key_by(a="k", b="k")))
    with pytest.raises(InvalidArgument, match="can be hashed for slot 'a'"):
        engine.push(a, {"k": [1]})
    assert engine.stats.events == 0


def test_lateness_counts_from_what_was_seen_also_before_the_epoch(a):
    engine = Engine(cartesian(a), lateness=5)
    assert changes(engine.push(a, 1, at=-100)) == [((1,), 1)]
    assert engine.clock == -105
    assert engine.push(a, 2, at=-106) == []
    assert [event.value for event, _, _ in engine.late] == [2]


def test_tables_are_not_aligned(t, a):
    with pytest.raises(InvalidArgument, match="bound to a table"):
        Engine(cartesian(t, a, restrict=aligning("t", "a")))


def test_rows_of_a_table_come_in_the_order_of_what_really_was_there(t, a):
    best = correlate(
        x=t,
        y=a,
        where=lambda x, y: x < y,
        yields=lambda x, y: (x, y),
        restrict=most_recently("y") | retracting() | as_table("x"),
    )
    engine = Engine(best)
    engine.push(t, Update("k1", 1))
    engine.push(t, Update("k2", 5))
    assert [event.value.key for event in engine.push(a, 3)] == ["k1"]
    assert [(event.value.key, event.start) for event in engine.push(a, 9)] == [("k1", 1), ("k2", 2)]


class keeping_longest(Restriction):
    """Keep the longest entry only; the entry itself is the state."""

    slots: Slots
    best = state(None)

    @handles(push, "slots")
    def compare(self, slot, entry):
        if self.best is None or len(entry.value.text) >= len(self.best.value.text):
            if self.best is not None:
                displace(slot, self.best)
            self.best = entry
        else:
            displace(slot, entry)
        assert len(memory(slot)) == 1
        forward(slot, entry)


def test_an_entry_kept_in_state_is_the_one_in_memory_after_a_restore(a, b):
    pairs = correlate(
        x=a,
        y=b,
        where=lambda x, y: x.k == y.k,
        yields=lambda x, y: x.text,
        restrict=keeping_longest("x") | retracting(),
    )
    engine = Engine(pairs)
    engine.push(b, {"k": 1})
    seen = []
    for text in ("aa", "b", "cccc"):
        engine = Engine.restore(engine.snapshot(), pairs)
        seen += changes(engine.push(a, {"k": 1, "text": text}))
        engine._check_invariants()
    assert seen == [("aa", 1), ("aa", -1), ("cccc", 1)]


def test_defaults_and_captured_values_are_part_of_a_program(a):
    def program(modulus):
        def rest(value, by=modulus):
            return value % by

        return cartesian(a, restrict=key_by(a=rest) | most_recently("a"))

    blob = Engine(program(10)).snapshot()
    Engine.restore(blob, program(10))
    with pytest.raises(SnapshotMismatch):
        Engine.restore(blob, program(7))
    thing = object()
    with pytest.raises(NotStorable):
        Engine(correlate(x=a, yields=lambda x: thing)).snapshot()


def test_a_failed_push_gives_held_events_their_uses_back(a, b):
    pairs = correlate(
        x=a, y=b, yields=lambda x, y: x // y, restrict=affinely("x", "y") | aligning("x", "y"), name="pairs"
    )
    engine = Engine(pairs)
    engine.push(a, 6)
    before = engine.snapshot()
    with pytest.raises(ZeroDivisionError):
        engine.push(b, 0)
    assert engine.snapshot() == before


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda a: correlate(x=a)(lambda x: x), "generator function"),
        (lambda a: correlate(x=a, yields=_yielding), "generator"),
        (lambda a: Engine(correlate(x=a, where=lambda x: x)), "did you forget yields="),  # type: ignore[call-overload]  # wrong on purpose
    ],
)
def test_likely_slips_are_named(a, build, message):
    with pytest.raises(InvalidArgument, match=message):
        build(a)


def _yielding(x):
    yield x
