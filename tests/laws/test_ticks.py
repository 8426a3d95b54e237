"""When windows see what comes is of no account to what is found in the end, where nothing relies on the order.

``tick=`` says in which batches events come into windows (SEMANTICS 3.4). What waits for its batch is held, so whatever
is inside must wait for it (SEMANTICS 3.12): no partner leaves before, nothing is missed that is still to come, and a
session does not end before what prolongs it.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import fixed, key_by, optionally, session, sliding, tumbling, within, without
from restrictions.tables import aggregate, count, sum_
from restrictions.windows import final, on_close, on_content_change

A, B = Reactive("a"), Reactive("b")


def a_program(draw: random.Random, tick: Any) -> Reactive:
    """One program, of windows with this ``tick``: the same draw gives the same one but for that."""
    options = {"tick": tick, "lateness": draw.choice([0, 0, 1, 3]), "report": draw.choice([on_close, final])}
    windows: Any
    if draw.random() < 0.3:
        windows = session(draw.choice([1, 2, 3]), **options)
    else:
        options["report"] = draw.choice([on_close, final, on_content_change, on_content_change])
        windows = draw.choice(
            [tumbling(draw.choice([3, 5, 10]), **options), sliding(4, 2, **options), fixed(2, 14, **options)]
        )
    if draw.random() < 0.3:
        by = draw.choice([None, "k"])
        return aggregate(A, draw.choice([count, sum_.of("n")]), by=by, restrict=windows)
    inside: Any = draw.choice(
        [
            None,
            within(draw.choice([1, 2]), "x", "y"),
            within(1, "x", "y"),
            optionally("y") | within(2, "x", "y"),
            optionally("x", "y") | within(1, "x", "y"),
            without("y", after="x", within=draw.choice([1, 2])),
            without("y", before="x", within=2),
        ]
    )
    stack = windows if inside is None else windows | inside
    if draw.random() < 0.5:
        stack = key_by(x="k", y="k") | stack
    is_of_one = inside is not None and "without" in repr(inside)
    yields: Any = (lambda x: x.n) if is_of_one else (lambda x, y: (x and x.n, y and y.n))
    made: Reactive = correlate(x=A, y=B, yields=yields, restrict=stack)
    return made


def found(draw: random.Random, seed: int, tick: Any, tier: Any) -> Counter[Any]:
    """What has come and was not taken back by the end of time; of a table its last rows."""
    output = a_program(random.Random(seed), tick)
    engine, now, net = Engine(output, tier=tier), 0, Counter[Any]()
    events: list[Any] = []
    for n in range(14):
        now += draw.choice([0, 1, 1, 2])
        source = draw.choice([A, B] if B in engine.inputs.values() else [A])
        events += engine.push(source, {"n": n, "k": draw.choice("pq")}, at=now)
        if draw.random() < 0.2:
            events += engine.advance(now)
    events += engine.close()
    assert not engine.late
    if output.table:
        return Counter({event.value.key: event.value for event in events}.values())
    for event in events:
        net[repr((event.value, event.start, event.end))] += event.weight
    return +net


@given(st.integers(0, 2**32), st.sampled_from(["time", 2, 3, 5]), st.sampled_from(["reference", "in_place"]))
def test_what_is_found_does_not_depend_on_the_batches(seed: int, tick: Any, tier: Any) -> None:
    one, other = random.Random(f"trace {seed}"), random.Random(f"trace {seed}")
    assert found(one, seed, tick, tier) == found(other, seed, "tuple", tier)


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize("tick", ["tuple", "time", 2, 3])
def test_a_partner_stays_and_nothing_is_missed_while_events_wait_for_their_batch(tick: Any, tier: Any) -> None:
    near, windows = within(1, "x", "y"), tumbling(10, tick=tick)
    pairs = correlate(x=A, y=B, yields=lambda x, y: (x, y), restrict=windows | near)
    missing = correlate(x=A, y=B, yields=lambda x: x, restrict=windows | without("y", after="x", within=1))
    outer = correlate(x=A, y=B, yields=lambda x, y: (x, y), restrict=windows | near | optionally("x", "y"))
    for output, expected in ((pairs, [("a", "b")]), (missing, []), (outer, [("a", "b")])):
        engine = Engine(output, tier=tier)
        events = engine.push(A, "a", at=7) + engine.push(B, "b", at=8) + engine.advance(9) + engine.close()
        assert [event.value for event in events] == expected
        assert not engine.late
