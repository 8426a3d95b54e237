"""Packs that look forecasts up, over columns: as row by row in the reference tier."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dsl
from cartesius import Delete, Engine
from dsl import RulePack, Source, instant, not_, now, optional
from dsl.units import knots, metres, microseconds
from tests.unit.dsl.rule_batches import check_batches, pushed_at_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.dsl.rule_batches import Step

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
    check_batches(pack, outputs, trace, cuts, lateness=lateness, reasons=MAY_BE)


@pytest.mark.parametrize(("waits", "why"), [(1, ""), (4, "what was collected is forgotten in the batch")])
def test_what_is_forgotten_in_the_midst_of_a_batch_is_not_looked_up_after_it(waits: int, why: str):
    ship = Source("ship", key="id", id=int, eta=instant)
    wind = Source("wind", key=None, velocity=knots, forecast=True, retention=2 * microseconds)
    pack = RulePack("harbour", subject=ship)
    with pack:
        dsl.require(wind.at(ship.eta).velocity <= 2 * knots)
    breeze = {"issued": 0, "start": 0, "end": 8, "velocity": 1.0}
    gale = {"issued": 1, "start": 8, "end": 30, "velocity": 9.0}
    trace: list[Step] = [("wind", breeze, 0), ("wind", gale, 1)]
    trace += [("ship", {"id": n, "eta": 4}, 2 + n * waits) for n in range(4)] + [("wind", {**gale, "issued": 2}, 15)]
    trace = trace if why else trace[:-1]
    check_batches(pack, (pack.table(),), trace, [(2, "many"), (2, "many")], lateness=0, reasons=(why, ""))
    engine = Engine(pack.table(), lateness=0)
    pushed_at_once(engine, pack, trace)
    assert engine._why_row_by_row == why
