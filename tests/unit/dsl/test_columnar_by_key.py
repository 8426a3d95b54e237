"""A small batch judges the rows of its keys and what is linked with them, and says what all rows would say."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

import dsl
from cartesius import Engine
from cartesius.columns.batches import keyed_state
from cartesius.columns.batches.keyed_state import KeyedState
from cartesius.columns.judgements.judging import Judging
from dsl import RulePack, require
from dsl.units import knots, metres
from tests.laws.catalogue_tiers import often_by_key
from tests.unit.dsl.rule_batches import check_batches
from tests.unit.dsl.rule_traces import SPOTS, TRACES, air, berth, gauge, ship

if TYPE_CHECKING:
    from typing import Any

GAUGES = {
    "named by the berth": lambda: gauge.id == berth.gauge,
    "nearest to the berth": lambda: gauge.id == dsl.nearest(SPOTS, berth.pos),
    "named by the ship": lambda: gauge.id == ship.flag,
}


@cache
def pack_of(which: str) -> RulePack:
    links = [berth.id == ship.berth, GAUGES[which]()]
    pack = RulePack("port", subject=ship, location=ship.berth, links=links)
    with pack:
        require(berth.depth + gauge.level - ship.draught >= 1 * metres, "clearance")
        require(dsl.known_or(air.gust, air.speed) <= 3 * knots, "wind")
        require(ship.pilot | (ship.kind == "box"), "pilot")
    return pack


@given(
    which=st.sampled_from(sorted(GAUGES)),
    trace=TRACES,
    cuts=st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["many"] * 6 + ["push"])), min_size=8),
)
def test_small_batches_say_what_the_reference_says(which: str, trace: list[Any], cuts: list[tuple[int, str]]):
    pack = pack_of(which)
    with often_by_key():
        check_batches(pack, (pack.table(),), trace, cuts)


def test_a_small_batch_looks_at_what_it_is_linked_with_alone():
    pack = pack_of("named by the berth")
    engine: Any = Engine(pack.table())
    n, few = 3_000, 10
    row: dict[str, Any] = {
        "draught": 5.0,
        "length": None,
        "kind": "box",
        "heading": 0.0,
        "pilot": True,
        "flag": "NL",
        "pumps": 1,
    }

    def ships(keys: range, berths: list[str], at: int, **more: Any) -> dict[str, list[Any]]:
        every = {name: [value] * len(keys) for name, value in (row | more).items()}
        every |= {"eta": [0] * len(keys), "pos": [(0.0, 0.0)] * len(keys)}
        return {"id": [*keys], "berth": berths, **every, "order": [*range(len(keys))], "at": [at] * len(keys)}

    def berths(names: list[str], gauges: list[str], depth: float, at: int) -> dict[str, list[Any]]:
        k = len(names)
        columns: dict[str, list[Any]] = {
            "id": names,
            "depth": [depth] * k,
            "gauge": gauges,
            "pos": [(0.0, 0.0)] * k,
            "number": [1] * k,
        }
        return {**columns, "order": [*range(-k, 0)], "at": [at] * k}

    names = [f"b{number}" for number in range(n // few)]  # ten ships each
    engine.push_many(
        {"ship": ships(range(n), [names[key // few] for key in range(n)], 1), "berth": berths(names, names, 9.0, 1)}
    )
    touched: list[int] = []
    run = Judging.run

    def running(stage: Any, state: Any, arriving: Any, moment: Any) -> Any:
        touched.append(state.n_retained)
        return run(stage, state, arriving, moment)

    with mock.patch.multiple(keyed_state, LEAST=1 << 9, SMALL=8), mock.patch.object(Judging, "run", running):
        for at in range(2, 6):
            engine.push_many({"ship": ships(range(few), names[:few], at, draught=4.0 + at)})
        engine.push_many({"berth": berths(names[3:4], names[3:4], 2.0, 7)})
    assert isinstance(engine._compiled.states[0], KeyedState)
    assert max(touched[1:-1]) <= 4 * few  # ships that come, and their berths
    assert few <= touched[-1] <= 4 * few  # a berth, and the ships that are bound for it
