"""Rows that grow too old, and fields that are left out: the table says what `check` says of the rows that count."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import dsl
from cartesius import Engine
from dsl import RulePack, Source, optional
from dsl.terms.texts import text
from dsl.units import knots, metres, microseconds

AGES = {"boat": 9, "berth": 4, "station": 3}
KEYS = {"boat": "id", "berth": "id", "station": None}


@st.composite
def packs(draw: Any) -> RulePack:
    ages: dict[str, Any] = {name: {} for name in AGES}
    for name in draw(st.sampled_from([("station",), ("berth", "station"), tuple(AGES)])):
        ages[name] = {"stale_after": AGES[name] * microseconds}
    boat = Source("boat", key="id", id=int, berth=str, gust=optional(knots), **ages["boat"])
    berth = Source("berth", key="id", id=str, depth=optional(metres), open=optional(bool), **ages["berth"])
    station = Source("station", key=None, gust=optional(knots), **ages["station"])
    atoms = [
        dsl.known_or(station.gust, 0 * knots) <= 2 * knots, station.gust <= 2 * knots, dsl.known(station.gust),
        dsl.known(boat.gust), dsl.known_or(boat.gust, 3 * knots) > station.gust, dsl.known(berth.depth),
        dsl.known_or(berth.depth, 1 * metres) >= 1 * metres, berth.open, dsl.known_or(berth.open, False),
        dsl.known_or(berth.open, True) & dsl.known(station.gust), dsl.not_(dsl.known(berth.open)),
    ]  # fmt: skip
    pack = RulePack("stale", subject=boat, links=[berth.id == boat.berth])
    with pack:
        for condition in draw(st.lists(st.sampled_from(range(len(atoms))), min_size=1, max_size=3)):
            dsl.require(atoms[condition])
    return pack


def some(**fields: Any) -> Any:
    return st.fixed_dictionaries({}, optional={name: st.none() | values for name, values in fields.items()})


ROWS = {
    "boat": st.builds(
        lambda key, berth, rest: {"id": key, "berth": berth, **rest},
        st.integers(1, 2), st.sampled_from("AB"), some(gust=st.sampled_from([1.0, 4.0])),
    ),
    "berth": st.builds(
        lambda key, rest: {"id": key, **rest},
        st.sampled_from("AB"), some(depth=st.sampled_from([0.5, 2.0]), open=st.booleans()),
    ),
    "station": some(gust=st.sampled_from([1.0, 4.0])),
}  # fmt: skip
steps = st.sampled_from(["boat", "boat", "berth", "station", "station", "wait"]).flatmap(
    lambda name: st.tuples(st.just(name), ROWS.get(name, st.none()), st.sampled_from([0, 1, 3, 5]))
)
ways = st.sampled_from(["push", "push", "batch", "restored"])


def _is_of_others(said: str) -> bool:
    return "boat." not in said


def told(pack: RulePack, rows: dict[tuple[str, Any], tuple[dict[str, Any], int]], clock: int) -> dict[int, Any]:
    """Return what `check` says of each boat, of the rows that are young enough."""

    def counts(name: str, key: Any) -> dict[str, Any] | None:
        if (name, key) not in rows:
            return None
        row, since = rows[name, key]
        lasts = pack.declarations[name].stale_after
        return None if lasts is not None and clock - since >= lasts else row

    found: dict[int, Any] = {}
    required = [text(statement.condition) for statement in pack.statements]
    for (name, key), (row, _) in rows.items():
        if name == "boat":
            boat = counts(name, key)
            berth = None if boat is None else counts("berth", row["berth"])
            all_rows = {"boat": boat or {"id": key, "berth": None}, "berth": berth, "station": counts("station", None)}
            verdict = pack.check({name: row for name, row in all_rows.items() if name in pack.sources})
            texts = {reason.text for reason in verdict.because}
            if boat is None:  # what is said of its fields is unknown, be they there or not
                texts = {*filter(_is_of_others, texts), *itertools.filterfalse(_is_of_others, required)}
            found[key] = None if boat is None else verdict.status, texts
    return found


@given(packs(), st.lists(st.tuples(steps, ways), min_size=6, max_size=16))
def test_the_table_says_what_check_says_of_the_rows_that_are_young_enough(pack, trace):
    table = pack.table()
    engine = Engine(table)
    rows: dict[tuple[str, Any], tuple[dict[str, Any], int]] = {}
    clock = 0
    for (name, row, later), way in trace:
        clock += later
        engine.advance(clock)
        if name in pack.sources:
            rows[name, row.get(KEYS[name])] = (row, clock)
            if way == "batch" and row:
                engine.push_many(
                    {pack.sources[name]: {**{field: [value] for field, value in row.items()}, "at": [clock]}}
                )
            else:
                engine.push(pack.sources[name], row, at=clock)
        if way == "restored":
            engine = Engine.restore(engine.snapshot(), table)
        wanted = told(pack, rows, clock)
        found = engine.query(table)
        assert found.keys() == wanted.keys()
        for key, (status, texts) in wanted.items():
            assert {reason.text for reason in found[key].because} == texts
            assert status in (None, found[key].status)
