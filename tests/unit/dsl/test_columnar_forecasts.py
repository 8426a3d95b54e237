"""Packs that look forecasts up, over columns: as row by row in the reference tier."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

import dsl
from cartesius import Delete, Engine
from cartesius.columnar.results import events_of
from dsl import RulePack, Source, instant, not_, now, optional
from dsl.units import knots, metres, microseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius import Reactive

Step = tuple[str, Any, int]
FIELDS = {"ship": ["id", "quay", "eta", "draught"], "gauge": ["quay", "height"]}
KEYS = {"ship": "id", "gauge": "quay"}


@st.composite
def packs(draw: Any) -> RulePack:
    """Packs that look up what is predicted for an arrival, by a key or not, beside rows and the clock."""
    lasts = draw(st.sampled_from([2, 5, 1_000]))
    ship = Source("ship", key="id", id=int, quay=str, eta=optional(instant), draught=optional(metres))
    gauge = Source("gauge", key="quay", quay=str, height=optional(metres))
    wind = Source("wind", key=None, velocity=knots, forecast=True, retention=lasts * microseconds)
    tide = Source(
        "tide", key="quay", quay=str, height=metres, rising=bool, forecast=True, retention=lasts * microseconds
    )
    at, later = wind.at(ship.eta), tide.at(ship.eta + 2 * microseconds)
    predicted = [
        at.velocity <= 2 * knots, tide.at(ship.eta).height > 1 * metres, later.height - ship.draught >= 0.5 * metres,
        later.height < gauge.height, later.rising,
        dsl.between(at.velocity, 1 * knots, 3 * knots), later.height > tide.at(ship.eta).height,
    ]  # fmt: skip
    others = [ship.draught > 2 * metres, gauge.height > 1 * metres, ship.eta - now <= 4 * microseconds]

    def condition(some: Sequence[Any]) -> Any:
        first, second = draw(st.sampled_from(some)), draw(st.sampled_from([*some, *others]))
        return draw(st.sampled_from([first, not_(first), first & second, first | not_(second)]))

    only = condition(predicted) if draw(st.integers(0, 4)) == 0 else None
    links = [gauge.quay == ship.quay, tide.quay == ship.quay]
    pack = RulePack("harbour", subject=ship, links=links, only=only)
    with pack:
        for _ in range(draw(st.integers(1, 3))):
            if draw(st.booleans()):
                with dsl.when(condition(predicted)):
                    dsl.require(condition([*predicted, *others]))
            else:
                dsl.require(condition(predicted))
    return pack


def maybe(values: Any) -> Any:
    return st.one_of(values, values, values, st.none())


NUMBERS = maybe(st.sampled_from([0.0, 1.0, 2.5, 4.0, float("nan")]))
VALIDITY = {"issued": st.integers(0, 3), "start": st.integers(0, 10), "lasts": st.integers(1, 8)}
ROWS = {
    "ship": st.fixed_dictionaries(
        {"id": st.integers(1, 3), "quay": maybe(st.sampled_from("AB")), "eta": maybe(st.integers(0, 14)),
         "draught": NUMBERS}
    ),
    "gauge": st.fixed_dictionaries({"quay": st.sampled_from("AB"), "height": NUMBERS}),
    "wind": st.fixed_dictionaries({**VALIDITY, "velocity": NUMBERS}),
    "tide": st.fixed_dictionaries({"quay": st.sampled_from("AB"), **VALIDITY, "height": NUMBERS,
         "rising": maybe(st.booleans())}),
}  # fmt: skip


@st.composite
def steps(draw: Any) -> Step:
    name = draw(st.sampled_from(["ship", "ship", "ship", "gauge", "wind", "wind", "tide", "tide"]))
    row = dict(draw(ROWS[name]))
    if name in KEYS:
        row = {field: row[field] for field in FIELDS[name]}
        return name, Delete(row[KEYS[name]]) if draw(st.integers(0, 9)) == 0 else row, draw(st.integers(0, 12))
    if draw(st.integers(0, 9)) == 0:
        identity = row["issued"], row["start"]
        return name, Delete(identity if name == "wind" else (row["quay"], *identity)), draw(st.integers(0, 12))
    end = row["start"] + row.pop("lasts")
    return name, {**row, "end": end}, draw(st.integers(0, 12))


@st.composite
def traces(draw: Any) -> list[Step]:
    """Traces of which some go on in time, so that predictions are forgotten."""
    trace = draw(st.lists(steps(), min_size=8, max_size=20))
    if draw(st.booleans()):
        return trace
    waits = st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=len(trace), max_size=len(trace))
    return [(name, value, at) for (name, value, _), at in zip(trace, accumulate(draw(waits)), strict=True)]


def columns(part: Sequence[Step]) -> dict[str, dict[str, list[Any]]]:
    """Rows as columns; predictions have a `start` and an `end` of their own, so that they are one column."""
    found: dict[str, dict[str, list[Any]]] = {}
    for order, (name, value, at) in enumerate(part):
        if name not in KEYS:
            row: dict[str, Any] = {"value": value}
        elif isinstance(value, Delete):
            row = {**dict.fromkeys(FIELDS[name]), KEYS[name]: value.key, "deleted": True}
        else:
            row = {**value, "deleted": False}
        for field, one in {**row, "order": order, "at": at}.items():
            found.setdefault(name, {}).setdefault(field, []).append(one)
    return found


def pushed(engine: Engine, inputs: dict[str, Reactive], part: Sequence[Step]) -> list[Any]:
    return [event for name, value, at in part for event in engine.push(inputs[name], value, at=at)]


def pushed_at_once(engine: Engine, inputs: dict[str, Reactive], part: Sequence[Step]) -> list[Any]:
    return events_of(engine.push_many({inputs[name]: each for name, each in columns(part).items()}))


MAY_BE = ("", "what was collected is forgotten in the batch", "deadlines of two correlations are due at one time")
WAYS = st.sampled_from(["many", "many", "many", "many", "push", "snapshot", "in_place", "advance"])


@settings(max_examples=max(20, settings().max_examples // 4))  # each compiles a pack of its own
@given(
    packs(), traces(), st.lists(st.tuples(st.integers(1, 8), WAYS), min_size=1, max_size=3),
    st.sampled_from([None, None, 0, 3]), st.booleans(),
)  # fmt: skip
def test_batches_give_what_the_reference_gives(
    pack: RulePack, trace: list[Step], cuts: list[tuple[int, str]], lateness: int | None, with_warnings: bool
):
    outputs = (pack.table(), pack.warnings()) if with_warnings else (pack.table(),)
    inputs = pack.sources
    trace = [step for step in trace if step[0] in inputs]
    reference = Engine(*outputs, tier="reference", lateness=lateness)
    engine = Engine(*outputs, lateness=lateness)
    done = 0
    for size, way in [*cuts, (len(trace), "many")]:
        if way == "advance":
            clock = size * 3
            assert list(map(repr, engine.advance(clock))) == list(map(repr, reference.advance(clock)))
            assert engine.next_deadline == reference.next_deadline
            continue
        part, done = trace[done : done + size], done + size
        expected = pushed(reference, inputs, part)
        if way == "snapshot":
            engine = Engine.restore(engine.snapshot(), *outputs, lateness=lateness)
        elif way == "in_place":
            engine = Engine.restore(engine.snapshot(), *outputs, lateness=lateness, tier="in_place")
        push = pushed if way == "push" else pushed_at_once
        found = push(engine, inputs, part)
        assert list(map(repr, found)) == list(map(repr, expected))
        if way == "many" and part and engine._tier is None:
            assert engine._compiled is not None
            assert engine._compiled.reason == ""
            assert engine._why_row_by_row in MAY_BE
    assert list(map(repr, engine.late)) == list(map(repr, reference.late))
    assert engine.stats.events == reference.stats.events
    assert engine.stats.tuples == reference.stats.tuples
    assert engine.stats.retained == reference.stats.retained
    assert engine.next_deadline == reference.next_deadline
    for output in outputs:
        assert repr(engine.query(output)) == repr(reference.query(output))
    engine._check_invariants()
    assert list(map(repr, engine.advance(60))) == list(map(repr, reference.advance(60)))
