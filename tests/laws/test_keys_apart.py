"""The law of keys: what is split by a key gives, at every push, what an engine for each key would give by then.

The engines of the other keys see no event, but the same clock. So nothing of one key waits for what is held under
another: in one bucket as in many, in one correlation and in those that follow it (SEMANTICS 1.13 and 3.12).
"""

from __future__ import annotations

import random
from collections import Counter
from functools import reduce
from operator import or_

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import restrictions as r
from cartesius import Engine, Restriction, Slot, arrive, correlate, handles, notify_at, state, tick
from cartesius.analysis.partition_choice import NoPartition, chosen_partition
from cartesius.errors import InvalidArgument
from restrictions.windows import on_close
from tests.laws.bridge_programs import INDEXES, drawn_from
from tests.laws.test_bridge import EXAMPLES, MODES, check, ran
from tests.laws.test_splitting import BY_TIME, UNIT, A, B, C
from tests.oracle.tier_programs import Case


class holding_two(Restriction):
    """Hold events until there are two, or for some time, as a user writes it."""

    slot: Slot
    held = state(())

    @handles(arrive, "slot")
    def hold(self, slot, event):
        self.held = (*self.held, event)
        notify_at(event.end + 5 * UNIT)
        if len(self.held) == 2:
            self.let_all()

    @handles(tick)
    def let_go(self, now):
        if self.held and self.held[0].end + 5 * UNIT < now:
            self.let_all()

    def let_all(self):
        held, self.held = self.held, ()
        for one in held:
            arrive(self.slot, one)


HOLDING = {
    "aligned": lambda a: r.aligning(a, "b"),
    "by twos": holding_two,
    "in order": lambda a: r.in_event_time(0),
    "sessions": lambda a: r.session(3 * UNIT, report=on_close),
    "open windows": lambda a: r.tumbling(4 * UNIT),
    "absent after": lambda a: r.without(C, after=a, within=3 * UNIT),
    "sequence": lambda a: r.in_sequence(a, "b", after_match="past_last"),
    "perhaps": lambda a: r.within(3 * UNIT, a, "b") | r.optionally("b"),
}
"""What may hold events back, or give results of what has long been there."""
DECIDING = {
    "sequence": lambda a: r.in_sequence(a, "b", after_match="past_last"),
    "backwards": lambda a: r.in_sequence("b", a, after_match="past_last"),
    "absent after": lambda a: r.without(C, after=a, within=3 * UNIT),
    "absent between": lambda a: r.without(C, between=(a, "b")),
    "perhaps": lambda a: r.within(3 * UNIT, a, "b") | r.optionally("b"),
    "perhaps the first": lambda a: r.within(3 * UNIT, a, "b") | r.optionally(a),
    "sessions": lambda a: r.session(3 * UNIT, report=on_close),
    "within": lambda a: r.within(3 * UNIT, a, "b"),
    "latest": lambda a: r.most_recently(a, "b"),
}
"""What waits until nothing can come any more, and some that do not."""


def of_both(a, b):
    return {"n": a.n, "m": b.n, "k": b.k}


def of_next(x, b):
    return {"x": x.n, "b": b.n}


def keyed(families, names, slot):
    """Key all slots, also those that must not come, left of what is drawn."""
    has_absent = any(name.startswith("absent") for name in names)
    keys = {slot: "k", "b": "k", **({"in2": "k"} if has_absent else {})}
    return reduce(or_, [families[name](slot) for name in names], r.key_by(**keys))


def alone(holding, deciding):
    """What holds and what waits in one correlation, in this order."""
    stack = keyed({**HOLDING, **DECIDING}, [*holding, *deciding], "a")
    return correlate(a=A, b=B, yields=of_both, restrict=stack, name="out")


def after(holding, deciding):
    """What waits in a correlation behind that which holds."""
    first = correlate(a=A, b=B, yields=of_both, restrict=keyed(HOLDING, holding, "a"), name="first")
    return correlate(x=first, b=B, yields=of_next, restrict=keyed(DECIDING, deciding, "x"), name="out")


@st.composite
def programs(draw):
    """A program that is split by k, or None."""
    holding = draw(st.lists(st.sampled_from(sorted(HOLDING)), min_size=1, max_size=2, unique=True))
    deciding = draw(st.lists(st.sampled_from(sorted(DECIDING)), min_size=1, max_size=2, unique=True))
    make = draw(st.sampled_from([alone, after]))
    try:
        output = make(holding, deciding)
        Engine(output)
        chosen_partition((output,), in_order=True)
    except InvalidArgument:
        return None
    return output, f"{make.__name__}: {' | '.join(holding)}, then {' | '.join(deciding)}"


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([0, 0, 1, 2, 5])), min_size=10, max_size=60
)
"""Of which input, of which key, how much later than the one before."""


def told(events):
    return Counter((repr(one.value), one.start, one.end) for one in events)


@given(drawn=programs(), rows=ROWS)
@settings(max_examples=max(100, ran))
def test_an_engine_of_all_keys_gives_at_each_push_what_those_of_each_would(drawn, rows):
    assume(drawn is not None)
    output, what = drawn
    whole, each = Engine(output, lateness=0), [Engine(output, lateness=0) for _ in range(3)]
    now = 0
    for n, (source, k, later) in enumerate(rows):
        now += later * UNIT
        row = {"n": n, "k": k}
        name = ("in0", "in1", "in2")[source]
        if name not in whole.inputs:
            continue
        given_by_all = told(whole.push(whole.inputs[name], row, at=now))
        given_by_each = Counter()
        for key, engine in enumerate(each):
            given_by_each += told(engine.push(engine.inputs[name], row, at=now) if key == k else engine.advance(now))
        assert given_by_all == given_by_each, n
        if given_by_all:
            event(what)
    assert told(whole.close()) == sum((told(engine.close()) for engine in each), Counter())


@pytest.mark.parametrize("mode", MODES)
@given(drawn=programs(), trace=st.binary(min_size=60, max_size=140), seed=st.integers(0, 2**32))
@EXAMPLES
def test_correlations_that_follow_what_holds_give_the_same_in_any_number_of_buckets(mode, drawn, trace, seed):
    assume(drawn is not None)
    output, _ = drawn
    draw = random.Random(seed)
    rows = drawn_from(Case("window", (A, B, C), (output,)), bytes([0, draw.choice(INDEXES), 1, *trace]))
    columns = {name: dict.fromkeys("jkn", "") for name in rows.inputs}
    try:
        chosen_partition((output,), columns, in_order=mode in BY_TIME)
    except InvalidArgument:
        assume(False)
    for buckets in (1, 7):
        check(rows, mode, random.Random(seed), is_derived=True, buckets=buckets)


def test_a_quiet_key_keeps_no_other_waiting():
    restrict = r.key_by(a="k", b="k") | r.within(3, "a", "b") | r.optionally("b") | r.aligning("a", "b")
    engine = Engine(correlate(a=A, b=B, yields=lambda a, b: (a.k, b), restrict=restrict), lateness=0)
    assert engine.push(A, {"k": "quiet"}, at=0) == []  # it is held for ever
    assert engine.push(A, {"k": "busy"}, at=1) == []
    (row,) = engine.push(B, {"k": "busy"}, at=6)  # too late for it, but it lets it in
    assert row.value == ("busy", None)


def test_what_a_closed_window_lets_go_is_held_no_longer_than_its_time():
    """The clock moves past both: the window gives the event to the gate, whose time is over then, too."""
    stack = r.within(3 * UNIT, "a", "b") | r.optionally("b") | holding_two("a") | r.session(3 * UNIT, report=on_close)
    engine = Engine(correlate(a=A, b=B, yields=lambda a, b: (a, b), restrict=stack), lateness=0)
    assert engine.push(A, 1, at=1 * UNIT) == []
    assert [event.value for event in engine.advance(9 * UNIT)] == [(1, None)]
    assert engine.next_deadline is None


def by_equality(a, b):
    return a.k == b.k


NEXT = r.key_by(x="k", b="k") | r.in_sequence("x", "b", after_match="past_last")
BEFORE = {
    "a gate": (r.key_by(a="k", b="k") | r.aligning("a", "b"), True),
    "windows": (r.key_by(a="k", b="k") | r.tumbling(4), True),
    "rows without a partner": (r.within(4, "a", "b") | r.optionally("b"), True),
    "what gives at once": (r.within(4, "a", "b") | r.most_recently("a"), False),
    "what is counted": (r.key_by(a="k", b="k") | r.take(3, "a"), False),
}


@pytest.mark.parametrize("name", BEFORE)
def test_what_decides_behind_a_correlation_that_waits_is_refused_by_name(name):
    restrict, waits = BEFORE[name]
    first = correlate(a=A, b=B, where=by_equality, yields=of_both, restrict=restrict, name="first")
    chosen_partition((first,))
    output = correlate(x=first, b=B, yields=of_next, restrict=NEXT, name="out")
    if not waits:
        assert set(chosen_partition((output,)).values()) == {"k"}
        return
    said = r"waits for what 'first' waits for under all keys, and a bucket has only some; say buckets=1"
    with pytest.raises(NoPartition, match=said):
        chosen_partition((output,))
    joined = correlate(x=first, b=B, yields=of_next, restrict=r.key_by(x="k", b="k") | r.most_recently("x", "b"))
    assert set(chosen_partition((joined,)).values()) == {"k"}  # it decides at once


def test_a_gate_under_more_keys_than_what_waits_is_refused_by_name():
    one, two = r.key_by(a="k", b="k"), r.key_by(a="j", b="j")
    waiting, gate = r.in_sequence("a", "b", after_match="past_last"), r.aligning("a", "b")
    for stack, is_split in ((one | waiting | two | gate, False), (one | two | waiting | gate, True)):
        output = correlate(a=A, b=B, yields=of_both, restrict=stack, name="out")
        if is_split:
            chosen_partition((output,))
            continue
        with pytest.raises(
            NoPartition, match=r"in_sequence\(.*\) waits for what aligning\(.*\) holds of a under all keys"
        ):
            chosen_partition((output,))


def test_a_gate_beside_what_waits_without_a_key_is_refused_by_name():
    stack = r.within(4, "a", "b") | r.optionally("b") | r.key_by(a="k", b="k") | r.aligning("a", "b")
    output = correlate(a=A, b=B, where=by_equality, yields=of_both, restrict=stack, name="out")
    said = r"within\(.*\) waits for what aligning\(.*\) holds of a under all keys, .*; put within\(.*\) and aligning\("
    with pytest.raises(NoPartition, match=said):
        chosen_partition((output,))


def test_what_takes_late_events_in_order_is_not_split():
    stack = r.key_by(a="k", b="k") | r.in_event_time(0) | r.versioned("a", "b", retention=8)
    output = correlate(a=A, b=B, yields=of_both, restrict=stack, name="out")
    with pytest.raises(NoPartition, match=r"in_event_time\(0\) chooses among the events of all keys"):
        chosen_partition((output,), in_order=True)
