"""One step is one batch: what is new, gone, yielded, taken back, spent and chosen (SEMANTICS 1.1 to 1.5, 1.9, 1.13)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import (
    Engine,
    Match,
    Reactive,
    Restriction,
    Slot,
    Slots,
    correlate,
    forward,
    handles,
    push,
    run,
    select,
    state,
)
from cartesius.plan import Opaque
from restrictions import (
    affinely,
    aligning,
    as_table,
    at_most,
    cartesian,
    combine_latest,
    fifo,
    key_by,
    most_recently,
    only,
    ordered_by,
    retracting,
    tumbling,
)
from restrictions.streams import map_, map_concat


class Broken(Exception):
    """What a user's code raises."""


class nearest(Restriction):
    """Of the matches of one push, keep the one whose parts are closest in time."""

    slots: Slots

    @handles(select)
    def closest(self, matches):
        best = min(matches, key=lambda match: match.end - match.start, default=None)
        return forward([best] if best else [])


def values(events):
    return [event.value for event in events]


def weighted(events):
    return [(event.value, event.weight) for event in events]


# ------------------------------------------------------------------------------------------------------ order and uses


def two_and_two(a, b):
    return [(a, "L1"), (a, "L2"), (b, "R1"), (b, "R2")]


def test_the_order_of_the_product(a, b):
    expected = [("L2", "R1"), ("L1", "R1"), ("L2", "R2"), ("L1", "R2")]
    assert values(run(cartesian(a, b), two_and_two(a, b))) == expected


def test_the_order_of_the_product_oldest_first(a, b):
    expected = [("L1", "R1"), ("L2", "R1"), ("L1", "R2"), ("L2", "R2")]
    assert values(run(cartesian(a, b, restrict=fifo()), two_and_two(a, b))) == expected


def test_the_order_of_the_product_in_each_window(a, b):
    trace = [(a, "L1", 1), (a, "L2", 2), (b, "R1", 3), (b, "R2", 4)]
    expected = {False: ["L2R1", "L1R1", "L2R2", "L1R2"], True: ["L1R1", "L2R1", "L1R2", "L2R2"]}
    for is_oldest_first, found in expected.items():
        restrict = tumbling(10) | fifo() if is_oldest_first else tumbling(10)
        assert ["".join(value) for value in values(run(cartesian(a, b, restrict=restrict), trace))] == found


def test_uses_are_spent_by_what_yields_alone(a, b):
    both = affinely("x", "y")
    free = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=both)
    assert values(run(free, two_and_two(a, b))) == [("L2", "R1"), ("L1", "R2")]
    same = correlate(x=a, y=b, where=lambda x, y: x[1] == y[1], yields=lambda x, y: (x, y), restrict=both)
    assert values(run(same, two_and_two(a, b))) == [("L1", "R1"), ("L2", "R2")]


def test_several_yields_spend_one_use(a, b):
    @correlate(x=a, y=b, restrict=at_most(2, "x"))
    def thrice(x, y):
        for number in range(3):
            yield x, y, number

    engine = Engine(thrice)
    engine.push(a, 1)
    assert len(engine.push(b, "p")) == len(engine.push(b, "q")) == 3
    assert engine.push(b, "r") == []
    assert engine.stats.slots[engine._program.joins[0].name, "x"] == (0, 0)


def test_a_candidate_that_was_made_spends_nothing_if_it_is_not_chosen(a, b):
    engine = Engine(cartesian(a, b, restrict=nearest("a", "b") | affinely("a", "b")))
    for at in (1, 5, 9):
        engine.push(a, at, at=at)
    assert values(engine.push(b, "p", at=6)) == [(5, "p")]
    assert values(engine.push(b, "q", at=6)) == [(9, "q")]
    assert values(engine.push(b, "r", at=6)) == [(1, "r")]
    assert values(engine.push(b, "s", at=6)) == []


# -------------------------------------------------------------------------------------------------- one step, one batch


def test_a_diamond_is_one_batch(a):
    both = combine_latest(map_(a, lambda n: n + 1), map_(a, lambda n: n * 10))
    engine = Engine(both)
    assert values(engine.push(a, 1)) == [(2, 10)]
    assert values(engine.push(a, 2)) == [(3, 20)]


def test_all_retractions_of_a_batch_precede_all_its_yields(a, b):
    pairs = correlate(
        x=map_concat(a, list), y=b, yields=lambda x, y: (x, y), restrict=retracting() | most_recently("x")
    )
    engine = Engine(pairs)
    engine.push(b, 1)
    engine.push(b, 2)
    assert weighted(engine.push(a, "p")) == [(("p", 2), 1), (("p", 1), 1)]
    assert weighted(engine.push(a, "qr")) == [(("p", 2), -1), (("p", 1), -1), (("r", 2), 1), (("r", 1), 1)]


def test_what_comes_and_goes_in_one_batch_is_neither_new_nor_gone(a):
    engine = Engine(
        correlate(x=map_concat(a, list), yields=lambda x: x, restrict=retracting() | most_recently("x") | as_table(len))
    )
    assert values(engine.push(a, "")) == []
    (change,) = engine.push(a, "pqr")
    assert change.value.value == "r"


def test_each_tuple_with_several_new_parts_comes_once(a):
    engine = Engine(correlate(x=map_concat(a, list), y=map_concat(a, list), yields=lambda x, y: x + y))
    assert sorted(values(engine.push(a, "pq"))) == ["pp", "pq", "qp", "qq"]
    assert sorted(values(engine.push(a, "r"))) == ["pr", "qr", "rp", "rq", "rr"]


@given(steps=st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=4), n=st.integers(1, 2))
def test_folding_the_changes_gives_the_product_of_what_is_left(steps, n):
    a = Reactive("a")
    items = map_concat(a, list)
    pairs = correlate(
        x=items, y=items, yields=lambda x, y: (x, y), restrict=retracting() | most_recently("x", n=n), name="pairs"
    )
    engine, left, seen = Engine(pairs), [], []
    for step in steps:
        for value, weight in weighted(engine.push(a, step)):
            if weight > 0:
                left.append(value)
            else:
                left.remove(value)
        seen += step
        assert sorted(left) == sorted((x, y) for x in seen[-n:] for y in seen)
        engine._check_invariants()


# ------------------------------------------------------------------------------------------------------------ failures


def test_a_push_that_failed_in_a_clause_is_the_same_when_it_is_repeated(a, b):
    """1.12: that a row had been half released must not cut the next batch in two (1.1: a self-join is one batch)."""

    class failing(Restriction):
        slot: Slot

        @handles(push, "slot")
        def fail(self, slot, entry):
            if broken:
                raise Broken
            forward(slot, entry)

    broken: list[bool] = []
    output = correlate(
        free=a,
        x=a,
        y=b,
        yields=lambda free, x, y: (free, x, y),
        restrict=most_recently("x", "y") | failing("y") | aligning("x", "y"),
        name="out",
    )
    straight, repeated = Engine(output), Engine(output)
    for engine in (straight, repeated):
        engine.push(b, "p")
        assert values(engine.push(a, 1)) == [(1, 1, "p")]
        engine.push(b, "q")
    broken.append(True)
    with pytest.raises(Broken):
        repeated.push(a, 2)
    broken.clear()
    expected = [(2, 2, "q"), (1, 2, "q")]
    assert values(straight.push(a, 2)) == expected
    assert values(repeated.push(a, 2)) == expected


def test_a_failing_choice_spends_nothing(a, b):
    class failing(Restriction):
        chosen: int = state(0)

        @handles(select)
        def choose(self, matches):
            forward(self._each(matches))

        def _each(self, matches):
            for match in matches:
                self.chosen += 1
                yield match
                if broken:
                    raise Broken

    broken = [True]
    engine = Engine(cartesian(a, b, restrict=affinely("a") | failing()))
    engine.push(a, 1)
    engine.push(a, 2)
    blob = engine.snapshot()
    for _ in range(2):
        with pytest.raises(Broken):
            engine.push(b, "p")
        engine._check_invariants()
        assert engine.snapshot() == blob
    broken.clear()
    assert values(engine.push(b, "p")) == [(2, "p"), (1, "p")]
    assert engine.stats.retained == 1


# ------------------------------------------------------------------------------------------------------- what is chosen


def test_a_match_shows_parts_values_and_times(a, b):
    seen: list[Match] = []

    class looking(Restriction):
        @handles(select)
        def look(self, matches):
            found = list(matches)
            seen.extend(found)
            forward(iter(found))

    @correlate(x=a, y=b, restrict=looking())
    def twice(x, y):
        yield x
        yield y

    run(twice, [(a, 1, (2, 7)), (b, "p", 5)])
    (match,) = seen
    assert (match.value, match.values, match.start, match.end) == (1, [1, "p"], 2, 7)
    assert [part.value for part in match.parts if part] == [1, "p"]


def rows_of(*rows):
    return [{"k": k, "n": n} for k, n in rows]


def test_a_keyed_choice_is_made_for_each_key_of_a_step_apart(a, b):
    items = map_concat(a, lambda step: step)
    chosen = correlate(
        x=items, y=b, yields=lambda x, y: (x.k, x.n, y), restrict=key_by(x="k") | latest_number("x"), name="out"
    )
    engine = Engine(chosen)
    engine.push(b, "y")
    got = values(engine.push(a, rows_of(("p", 3), ("q", 1), ("p", 5), ("q", 2), ("p", 4))))
    assert sorted(got) == [("p", 5, "y"), ("q", 2, "y")]
    assert values(engine.push(a, rows_of(("q", 0)))) == [("q", 0, "y")]


class latest_number(Restriction):
    """Of the matches, keep the one whose x has the largest number; count how often one was chosen."""

    slots: Slots
    count: int = state(0)

    @handles(select)
    def choose(self, matches):
        best = max(matches, key=lambda match: match.parts[0].value.n, default=None)
        self.count += 1
        forward(iter([best] if best else []))


def test_a_keyed_choice_is_made_for_each_key_also_of_an_event_without_a_key(a, b):
    """`selection`: right of a `key_by` that names its slots, a selector sees the matches of one key."""
    for kind in (latest_number, nearest):
        chosen = correlate(x=a, y=b, yields=lambda x, y: (x.k, x.n, y), restrict=key_by(x="k") | kind("x"), name="out")
        engine = Engine(chosen)
        for row in rows_of(("p", 1), ("q", 2), ("p", 3), ("q", 4)):
            engine.push(a, row, at=row["n"])
        assert sorted(values(engine.push(b, "y", at=9))) == [("p", 3, "y"), ("q", 4, "y")]


def test_a_keyed_choice_keeps_a_state_for_each_key(a, b):
    class first_ever(Restriction):
        """Only one match, ever."""

        slots: Slots
        is_over: bool = state(False)

        @handles(select)
        def choose(self, matches):
            found = [] if self.is_over else list(matches)[:1]
            self.is_over = self.is_over or bool(found)
            forward(iter(found))

    items = map_concat(a, lambda step: step)
    chosen = correlate(
        x=items,
        y=b,
        yields=lambda x, y: (x.k, x.n, y.n),
        restrict=key_by(x="k", y="k") | first_ever("x", "y"),
        name="out",
    )
    engine = Engine(chosen)
    for row in rows_of(("p", 1), ("q", 2), ("r", 3)):
        engine.push(b, row)
    assert sorted(values(engine.push(a, rows_of(("p", 0), ("q", 0), ("p", 0))))) == [("p", 0, 1), ("q", 0, 2)]
    engine = Engine.restore(engine.snapshot(), chosen)
    assert values(engine.push(a, rows_of(("p", 9), ("q", 9), ("r", 9)))) == [("r", 9, 3)]


def test_what_a_choice_of_one_key_spends_is_spent_for_the_next(a, b):
    items = map_concat(a, lambda step: step)
    chosen = correlate(
        x=items,
        y=b,
        yields=lambda x, y: (x.k, y),
        restrict=affinely("y") | key_by(x="k") | latest_number("x"),
        name="out",
    )
    engine = Engine(chosen)
    engine.push(b, "y")
    assert len(engine.push(a, rows_of(("p", 1), ("q", 1)))) == 1
    assert engine.stats.slots["out", "y"] == (0, 0)


def test_a_keyed_choice_that_leaves_nothing_out_stands_beside_missing_parts(a, b):
    from restrictions import optionally

    class as_they_come(Restriction):
        slots: Slots

        def plan(self):
            return (Opaque(consumes=False),)

        @handles(select)
        def choose(self, matches):
            forward(matches)

    output: Any = correlate(
        x=a,
        y=map_concat(b, lambda step: step),
        where=lambda x, y: x.n == y.n,
        yields=lambda x, y: (None if x is None else x.k, y.n),
        restrict=optionally("x") | retracting() | key_by(x="k") | as_they_come("x"),
    )
    engine = Engine(output)
    got = weighted(engine.push(b, rows_of(("-", 1), ("-", 2), ("-", 1))))
    assert sorted(got) == [((None, 1), 1), ((None, 1), 1), ((None, 2), 1)]
    got = weighted(engine.push(a, {"k": "p", "n": 1}))
    assert sorted(got, key=repr) == sorted([((None, 1), -1)] * 2 + [(("p", 1), 1)] * 2, key=repr)


def test_a_choice_is_lazy_up_to_the_body(a, b):
    asked = []

    class one(Restriction):
        @handles(select)
        def choose(self, matches):
            first = next(matches, None)
            forward(iter([] if first is None else [first]))

    def where(x, y):
        asked.append(x)
        return True

    run(correlate(x=a, y=b, where=where, yields=lambda x, y: x, restrict=one()), [(a, 1), (a, 2), (b, "p")])
    assert asked == [2]


def test_a_match_whose_part_is_spent_before_its_turn_is_not_yielded(a, b):
    output = cartesian(a, b, restrict=affinely("a", "b") | ordered_by(lambda match: match.value[0]))
    engine = Engine(output)
    for number in (3, 1, 2):
        engine.push(a, number)
    assert values(engine.push(b, "p")) == [(1, "p")]
    assert values(engine.push(b, "q")) == [(2, "q")]


def test_candidates_are_counted_after_keys_and_indexes(a, b):
    output = correlate(
        x=a,
        y=b,
        where=lambda x, y: (x.n == y.n) & (x.m < y.m),
        yields=lambda x, y: x.m,
        restrict=key_by(x="k", y="k") | only("x", lambda x: x.m >= 0),
    )
    engine = Engine(output)
    for k, n, m in [("p", 1, 1), ("p", 1, 5), ("p", 2, 1), ("q", 1, 1), ("p", 1, -1)]:
        engine.push(a, {"k": k, "n": n, "m": m})
    assert values(engine.push(b, {"k": "p", "n": 1, "m": 3})) == [1]
    assert engine.stats.tuples == 2
