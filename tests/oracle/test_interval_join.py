"""interval_join, inner to full, once or eagerly, against the pairs of all events (SEMANTICS 2.6 and 3.8)."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive
from cartesius.errors import InvalidArgument
from restrictions import cartesian, retracting, tumbling, versioned
from restrictions.streams import interval_join
from restrictions.time.event_time import allowing_lateness

SIDES = ("left", "right")


class Band(NamedTuple):
    """The arguments of a join."""

    lower: int
    upper: int
    how: str
    is_eager: bool
    is_keyed: bool


BANDS = st.builds(
    lambda lower, width, *rest: Band(lower, lower + width, *rest),
    st.integers(-3, 2),
    st.integers(0, 4),
    st.sampled_from(["inner", "left", "right", "full"]),
    st.booleans(),
    st.booleans(),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(SIDES), st.integers(0, 4), st.integers(0, 1)),
        st.tuples(st.just("advance"), st.integers(0, 3), st.just(0)),
    ),
    max_size=14,
)


def joined(band: Band, lateness: int | None = None) -> tuple[dict[str, Reactive], Reactive]:
    inputs = {side: Reactive(side) for side in SIDES}
    key = (lambda value: value[0]) if band.is_keyed else None
    left, right = inputs.values()
    output = interval_join(
        left, right, band.lower, band.upper, key=key, how=band.how, eager=band.is_eager, lateness=lateness
    )
    return inputs, output


def expected(band: Band, events: dict[str, list[tuple[int, Any]]]) -> Counter[Any]:
    """What stands in the end: all pairs in the band, and the events of the outer sides that are in none."""
    pairs = [
        (left, right)
        for start, left in events["left"]
        for end, right in events["right"]
        if band.lower <= end - start <= band.upper and (not band.is_keyed or left[0] == right[0])
    ]
    rows: list[Any] = list(pairs)
    if band.how in ("left", "full"):
        rows += [(left, None) for _, left in events["left"] if left not in [pair[0] for pair in pairs]]
    if band.how in ("right", "full"):
        rows += [(None, right) for _, right in events["right"] if right not in [pair[1] for pair in pairs]]
    return Counter(rows)


@given(band=BANDS, steps=STEPS, data=st.data())
def test_in_the_end_what_stands_are_the_pairs_and_who_has_none(band, steps, data):
    inputs, output = joined(band)
    engine = Engine(output)
    clock, events = 0, {side: [] for side in SIDES}
    standing: Counter[Any] = Counter()
    restores = data.draw(st.sets(st.integers(0, len(steps))), label="restored after")
    for number, (what, by, key) in enumerate(steps):
        if what == "advance":
            clock += by
            out = engine.advance(clock)
        else:
            events[what].append((clock + by, (key, number)))
            out = engine.push(inputs[what], (key, number), at=clock + by)
        if number in restores:
            engine = Engine.restore(engine.snapshot(), output)
        for event in out:
            standing[event.value] += event.weight
        assert min(standing.values(), default=0) >= 0
        assert band.is_eager or all(event.weight > 0 for event in out)  # each row once, and for good
    for event in engine.close():
        standing[event.value] += event.weight
    assert +standing == expected(band, events)
    assert engine.stats.retained == 0
    assert engine.done


def test_the_row_of_an_event_without_a_partner_waits_for_the_clock():
    inputs, output = joined(Band(-1, 3, "full", is_eager=False, is_keyed=False))
    engine = Engine(output)
    assert engine.push(inputs["left"], "a", at=10) == []
    assert engine.advance(13) == []  # one may still come at 13
    assert [(event.value, event.end) for event in engine.advance(14)] == [(("a", None), 10)]
    assert engine.stats.retained == 0


def test_ending_the_inputs_leaves_what_waits_for_the_clock():
    inputs, output = joined(Band(0, 5, "left", is_eager=False, is_keyed=False))
    engine = Engine(output)
    engine.push(inputs["left"], "a", at=1)
    for reactive in inputs.values():
        engine.end(reactive)
    assert not engine.done
    assert [event.value for event in engine.advance(7)] == [("a", None)]
    assert engine.done


def test_an_unknown_way_to_join_is_refused_by_name():
    with pytest.raises(InvalidArgument, match="expected how to be one of 'inner', 'left', 'right', 'full' but got"):
        interval_join(Reactive("left"), Reactive("right"), 0, 1, how="outer")


@given(
    band=BANDS,
    steps=st.lists(st.tuples(st.sampled_from(SIDES), st.integers(0, 14), st.integers(0, 1)), max_size=14),
    of_engine=st.one_of(st.none(), st.integers(0, 2)),
    lateness=st.integers(0, 5),
    cut=st.integers(0, 14),
    tier=st.sampled_from([None, "reference"]),
)
def test_a_lateness_of_its_own_says_what_counts_and_when_a_row_alone_is_final(
    band, steps, of_engine, lateness, cut, tier
):
    inputs, output = joined(band, lateness)
    engine = Engine(output, lateness=of_engine, tier=tier)
    counted: dict[str, list[tuple[int, Any]]] = {side: [] for side in SIDES}
    standing: Counter[Any] = Counter()
    refused, latest = [], None
    for number, (side, end, key) in enumerate(steps):
        latest = end if latest is None else max(latest, end)
        clock = None if of_engine is None else latest - of_engine
        value = (key, number)
        if clock is None or end >= clock - lateness:
            counted[side].append((end, value))
        else:
            refused.append((value, side))
        for event in engine.push(inputs[side], value, at=end):
            standing[event.value] += event.weight
        if number == cut:
            engine = Engine.restore(engine.snapshot(), output, lateness=of_engine, tier=tier)
        final = (
            {}
            if clock is None
            else {
                # What can have no partner any more when it comes is decided with the next call where the engine's
                # clock alone says so, and at once where the join has a lateness of its own.
                side: [
                    given
                    for time, given in counted[side]
                    if time + reach + lateness < clock and (given != value or lateness)
                ]
                for side, reach in (("left", band.upper), ("right", -band.lower))
            }
        )
        alone = [row for row in expected(band, counted) if None in row and is_final(row, final)]
        if not band.is_eager:  # no later and no earlier than it is final
            assert Counter(row for row in +standing if None in row) == Counter(alone)
    for event in engine.close():
        standing[event.value] += event.weight
    assert +standing == expected(band, counted)
    assert [(event.value, slot) for event, slot, _ in engine.late] == refused
    assert engine.stats.retained == 0


def is_final(row: tuple[Any, Any], final: dict[str, list[Any]]) -> bool:
    left, right = row
    return left in final.get("left", ()) if right is None else right in final.get("right", ())


@pytest.mark.parametrize(
    ("lateness", "message"),
    [(-1, "expected a duration ≥ 0 but got lateness=-1"), ("5", "lateness='5'")],
)
def test_a_lateness_that_is_no_duration_is_refused(lateness, message):
    with pytest.raises(InvalidArgument, match=message):
        interval_join(Reactive("left"), Reactive("right"), 0, 1, lateness=lateness)


@pytest.mark.parametrize("beside", [tumbling(10), retracting() | versioned("left", retention=5)])
def test_a_lateness_beside_another_one_is_refused(beside):
    sides = {side: Reactive(side) for side in SIDES}
    with pytest.raises(InvalidArgument, match="which says itself what counts late"):
        Engine(cartesian(*sides.values(), restrict=allowing_lateness(3, "left") | beside))
    table = Reactive("left", table=True)
    with pytest.raises(InvalidArgument, match="expected streams but 'left' is a table"):
        Engine(cartesian(table, sides["right"], restrict=allowing_lateness(3, "left")))
