"""Rules about pairs and totals: engine, `check` and a brute-force oracle agree after every change of any table."""

from __future__ import annotations

import operator
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Update
from dsl import (
    RulePack,
    Source,
    against,
    another,
    distance,
    greatest_of,
    least_of,
    location,
    mean_of,
    not_,
    number_of,
    position,
    require,
    sum_of,
    when,
)  # fmt: skip
from dsl.units import centimetres, knots, metres, tonnes
from tests.oracle.relations_oracle import (
    Finding,
    Known,
    Truth,
    all_of,
    apart,
    compare,
    implied,
    look,
    opposite,
    pairs,
    single,
    total,
)  # fmt: skip

vessel = Source(
    "vessel", key="mmsi", mmsi=int, basin=str, kind=str, at=position, draught=metres, air=centimetres, berth=str
)
other = another(vessel, "other")
berth = Source("berth", key="id", id=str, basin=str, depth=metres)
tug = Source("tug", key="id", id=int, available=bool, pull=tonnes, zone=str)
wind = Source("wind", key=None, speed=knots)

LE, GE, EQ, NE = operator.le, operator.ge, operator.eq, operator.ne


class Port:
    """The present rows, as one ship sees them."""

    def __init__(self, tables: dict[str, dict[Any, Any]], mmsi: int) -> None:
        self.tables = tables
        self.ship = tables["vessel"][mmsi]
        self.others = {key: row for key, row in tables["vessel"].items() if key != mmsi}
        self.quay = tables["berth"].get(self.ship["berth"])
        self.wind = tables["wind"].get(None)

    def mine(self, field: str) -> Known:
        return look("vessel", self.ship, field)

    def quays(self, field: str) -> Known:
        return look("berth", self.quay, field)

    def each(self, judge: Any) -> Finding | None:
        return pairs({key: judge(lambda field, row=row: look("other", row, field)) for key, row in self.others.items()})

    def tugs(self, counts: Any, of: str, value: str = "id") -> Known:
        rows = self.tables["tug"].values()
        return total([(counts(lambda f, row=row: look("tug", row, f)), look("tug", row, value)) for row in rows], of)

    def ships(self, name: str, rows: Any, counts: Any, of: str, value: str = "mmsi") -> Known:
        return total([(counts(lambda f, row=row: look(name, row, f)), look(name, row, value)) for row in rows], of)


# ------------------------------------------------------------------------------- each rule: as written, and its meaning


def tankers() -> None:
    with against(other, where=other.basin == vessel.basin):
        require(not_((vessel.kind == "tanker") & (other.kind == "tanker")), name="tankers")


def tankers_mean(port: Port) -> Finding | None:
    def judge(their: Any) -> Truth:
        both = all_of(compare(port.mine("kind"), "tanker", EQ), compare(their("kind"), "tanker", EQ))
        return implied([compare(their("basin"), port.mine("basin"), EQ)], opposite(both))

    return port.each(judge)


def passing() -> None:
    with against(other):
        require(distance(vessel["at"], other["at"]) >= 500 * metres, name="passing")


def passing_means(port: Port) -> Finding | None:
    return port.each(lambda their: compare(apart(port.mine("at"), their("at")), 500, GE))


def windy() -> None:
    with (
        when(wind.speed > 5 * knots),
        against(other, where=(vessel.basin == other.basin) & (other.kind == "tanker")),
        when(other.draught > vessel.draught),
    ):
        require(wind.speed <= 7 * knots, name="windy")


def windy_means(port: Port) -> Finding | None:
    speed = look("wind", port.wind, "speed")

    def judge(their: Any) -> Truth:
        where = all_of(compare(port.mine("basin"), their("basin"), EQ), compare(their("kind"), "tanker", EQ))
        deeper = compare(their("draught"), port.mine("draught"), operator.gt)
        return implied([compare(speed, 5, operator.gt), where, deeper], compare(speed, 7, LE))

    return port.each(judge)


def deep() -> None:
    with against(other, where=other.berth == berth.id):
        require(other.draught <= berth.depth, name="deep")


def deep_means(port: Port) -> Finding | None:
    def judge(their: Any) -> Truth:
        return implied(
            [compare(their("berth"), port.quays("id"), EQ)], compare(their("draught"), port.quays("depth"), LE)
        )

    return port.each(judge)


def small() -> None:
    with location("A"), against(other, where=other.draught >= vessel.draught):
        require(other.kind != "tanker", name="small")


def small_means(port: Port) -> Finding | None:
    here = compare(port.mine("berth"), "A", EQ)

    def judge(their: Any) -> Truth:
        return implied(
            [here, compare(their("draught"), port.mine("draught"), GE)], compare(their("kind"), "tanker", NE)
        )

    return port.each(judge)


def alike() -> None:
    with against(other, where=other.draught == vessel.air):
        require(other.basin != vessel.basin, name="alike")
        with when(other.kind == "tanker"):
            require(vessel.kind == "tanker", name="alike in kind")


def alike_means(port: Port) -> Finding | None:
    def judge(their: Any) -> Truth:
        same = compare(their("draught"), port.mine("air"), lambda metres_, cm: metres_ * 100 == cm)
        return implied([same], compare(their("basin"), port.mine("basin"), NE))

    return port.each(judge)


def alike_in_kind_means(port: Port) -> Finding | None:
    def judge(their: Any) -> Truth:
        same = compare(their("draught"), port.mine("air"), lambda metres_, cm: metres_ * 100 == cm)
        guards = [same, compare(their("kind"), "tanker", EQ)]
        return implied(guards, compare(port.mine("kind"), "tanker", EQ))

    return port.each(judge)


def tugs() -> None:
    require(number_of(tug, where=tug.available) >= 2, name="tugs")


def tugs_mean(port: Port) -> Finding | None:
    return single(compare(port.tugs(lambda its: compare(its("available"), True, EQ), "count"), 2, GE))


def pull() -> None:
    require(sum_of(tug.pull, where=(tug.zone == berth.basin) & tug.available) >= 25 * tonnes, name="pull")


def pull_means(port: Port) -> Finding | None:
    basin = port.quays("basin")
    if basin.value is None:
        return single(Truth(compare(basin, 0, EQ).value, basin.missing))

    def counts(its: Any) -> Truth:
        return all_of(compare(its("zone"), basin, EQ), compare(its("available"), True, EQ))

    return single(compare(port.tugs(counts, "sum", "pull"), 25, GE))


def weak() -> None:
    require(least_of(tug.pull) >= 15 * tonnes, name="weak")


def weak_means(port: Port) -> Finding | None:
    least = port.tugs(lambda _: Truth(Fraction(1)), "min", "pull")
    return single(compare(_named(least, "min(tug.pull) >= 15 t"), 15, GE))


def average() -> None:
    require(mean_of(tug.pull, where=vessel.basin == tug.zone) >= 15 * tonnes, name="average")


def average_means(port: Port) -> Finding | None:
    basin = port.mine("basin")
    if basin.value is None:
        return single(Truth(compare(basin, 0, EQ).value, basin.missing))
    level = port.tugs(lambda its: compare(its("zone"), basin, EQ), "mean", "pull")
    return single(compare(_named(level, "mean(tug.pull where tug.zone == vessel.basin) >= 15 t"), 15, GE))


def crowd() -> None:
    require(number_of(other, where=other.basin == vessel.basin) <= 1, name="crowd")


def crowd_means(port: Port) -> Finding | None:
    basin = port.mine("basin")
    if basin.value is None:
        return single(Truth(compare(basin, 0, EQ).value, basin.missing))
    here = port.ships("other", port.others.values(), lambda its: compare(its("basin"), basin, EQ), "count")
    return single(compare(here, 1, LE))


def deepest() -> None:
    deepest_other = greatest_of(other.draught, where=(other.basin == vessel.basin) & (other.kind == "tanker"))
    with when(vessel.kind != "tanker"):
        require(deepest_other <= 2 * metres, name="deepest")


def deepest_means(port: Port) -> Finding | None:
    guard, basin = compare(port.mine("kind"), "tanker", NE), port.mine("basin")
    if basin.value is None:
        return single(implied([guard], compare(basin, 0, EQ)))

    def counts(its: Any) -> Truth:
        return all_of(compare(its("basin"), basin, EQ), compare(its("kind"), "tanker", EQ))

    level = port.ships("other", port.others.values(), counts, "max", "draught")
    text = 'max(other.draught where other.basin == vessel.basin and other.kind == "tanker") <= 2 m'
    return single(implied([guard], compare(_named(level, text), 2, LE)))


def alone() -> None:
    require(number_of(other) <= 1, name="alone")


def alone_means(port: Port) -> Finding | None:
    return single(compare(port.ships("other", port.others.values(), lambda _: Truth(Fraction(1)), "count"), 1, LE))


def moored() -> None:
    require(sum_of(other.draught, where=other.basin == berth.basin) <= 3 * metres, name="moored")


def moored_means(port: Port) -> Finding | None:
    basin = port.quays("basin")
    if basin.value is None:
        return single(Truth(compare(basin, 0, EQ).value, basin.missing))
    here = port.ships("other", port.others.values(), lambda its: compare(its("basin"), basin, EQ), "sum", "draught")
    return single(compare(here, 3, LE))


def queue() -> None:
    require(number_of(vessel, where=vessel.berth == berth.id) <= 1, name="queue")


def queue_means(port: Port) -> Finding | None:
    quay = port.quays("id")
    if quay.value is None:
        return single(Truth(compare(quay, 0, EQ).value, quay.missing))
    rows = port.tables["vessel"].values()
    return single(compare(port.ships("vessel", rows, lambda its: compare(its("berth"), quay, EQ), "count"), 1, LE))


def _named(value: Known, text: str) -> Known:
    """What cannot be computed, as the least of nothing, is missing under the text of the condition."""
    return Known(None, frozenset({text})) if value.value is None and not value.missing else value


RULES: dict[Any, list[tuple[str, Any]]] = {
    tankers: [("tankers", tankers_mean)],
    passing: [("passing", passing_means)],
    windy: [("windy", windy_means)],
    deep: [("deep", deep_means)],
    small: [("small", small_means)],
    alike: [("alike", alike_means), ("alike in kind", alike_in_kind_means)],
    tugs: [("tugs", tugs_mean)],
    pull: [("pull", pull_means)],
    weak: [("weak", weak_means)],
    average: [("average", average_means)],
    crowd: [("crowd", crowd_means)],
    deepest: [("deepest", deepest_means)],
    alone: [("alone", alone_means)],
    moored: [("moored", moored_means)],
    queue: [("queue", queue_means)],
}


def written(rules: list[Any]) -> RulePack:
    pack = RulePack("port", subject=vessel, location=vessel.berth, links=[berth.id == vessel.berth])
    with pack:
        for rule in rules:
            rule()
    return pack


Shown = tuple[str, list[tuple[str, frozenset[str], tuple[int, ...]]]]


def expected(rules: list[Any], tables: dict[str, dict[Any, Any]], mmsi: int) -> Shown:
    port = Port(tables, mmsi)
    found = [(name, finding) for rule in rules for name, means in RULES[rule] if (finding := means(port))]
    failed = [(name, *each[1:]) for name, each in found if each.value == 0]
    undecided = [(name, *each[1:]) for name, each in found if each.value != 0]
    return ("restricted" if failed else "unknown" if undecided else "allowed"), failed + undecided


def shown(verdict: Any) -> Shown:
    return verdict.status, [(each.name, frozenset(each.missing), each.others) for each in verdict.because]


def checked(pack: RulePack, tables: dict[str, dict[Any, Any]], mmsi: int) -> Shown:
    port = Port(tables, mmsi)
    others = {"other": list(port.others.values())} if "other" in _names(pack) else {}
    rows: dict[str, Any] = {"vessel": port.ship, "berth": port.quay, **others}
    if "wind" in pack.sources:
        rows["wind"] = port.wind
    if "tug" in pack.sources:
        rows["tug"] = list(tables["tug"].values())
    if not others and "vessel" in _names(pack):
        rows["vessel"] = [port.ship, *port.others.values()]
    return shown(pack.check(rows))


def _names(pack: RulePack) -> set[str]:
    related = pack._judgement().related
    return set() if related is None else {source.name for source in related.tables}


# ------------------------------------------------------------------------------------------------------------- traces

PLACES = [None, (51.9, 4.1), (51.9, 4.101), (51.95, 4.1)]
basins = st.sampled_from([None, "E", "E", "W"])
ships = st.fixed_dictionaries(
    {
        "mmsi": st.integers(1, 4),
        "basin": basins,
        "kind": st.sampled_from([None, "tanker", "tanker", "ferry"]),
        "at": st.sampled_from(PLACES),
        "draught": st.sampled_from([None, 1.0, 3.0]),
        "air": st.sampled_from([None, 100, 300]),
        "berth": st.sampled_from([None, "A", "A", "B"]),
    }
)
berths = st.fixed_dictionaries(
    {"id": st.sampled_from("AB"), "basin": basins, "depth": st.sampled_from([None, 2.0, 4.0])}
)
boats = st.fixed_dictionaries(
    {
        "id": st.integers(1, 3),
        "available": st.sampled_from([None, True, True, False]),
        "pull": st.sampled_from([None, 10, 20, 0.1]),
        "zone": basins,
    }
)
winds = st.fixed_dictionaries({"speed": st.sampled_from([None, 4.0, 6.0, 9.0])})
KEYS = {"vessel": "mmsi", "berth": "id", "tug": "id", "wind": None}
changes = st.one_of(
    st.tuples(st.just("vessel"), ships),
    st.tuples(st.just("vessel"), ships),
    st.tuples(st.just("berth"), berths),
    st.tuples(st.just("tug"), boats),
    st.tuples(st.just("wind"), winds),
    st.tuples(st.just("vessel"), st.integers(1, 4)),
    st.tuples(st.just("berth"), st.sampled_from("AB")),
    st.tuples(st.just("tug"), st.integers(1, 3)),
)
packs = st.lists(st.sampled_from(list(RULES)), min_size=1, max_size=3, unique=True)


@given(packs, st.lists(changes, max_size=8), st.integers(0, 9))
def test_engine_check_and_oracle_agree_after_every_change(rules, events, restored_after):
    pack = written(rules)
    table = pack.table()
    engine = Engine(table)
    tables: dict[str, dict[Any, Any]] = {name: {} for name in KEYS}
    seen: dict[int, Any] = {}
    for number, (source, row) in enumerate(events):
        key = row if not isinstance(row, dict) else None if KEYS[source] is None else row[KEYS[source]]
        if isinstance(row, dict):
            tables[source][key] = row
        else:
            tables[source].pop(row, None)
        if source not in pack.sources:
            continue
        change: Any = Delete(key) if not isinstance(row, dict) else row if source == "wind" else Update(key, row)
        for event in engine.push(pack.sources[source], change):
            if isinstance(event.value, Delete):
                del seen[event.value.key]
            else:
                assert seen.get(event.value.key) != event.value.value, "no change without a change"
                seen[event.value.key] = event.value.value
        wanted = {mmsi: expected(rules, tables, mmsi) for mmsi in tables["vessel"]}
        assert {mmsi: shown(verdict) for mmsi, verdict in engine.query(table).items()} == wanted
        assert {mmsi: checked(pack, tables, mmsi) for mmsi in tables["vessel"]} == wanted
        assert seen == engine.query(table)
        if number == restored_after:
            engine = Engine.restore(engine.snapshot(), table)


def situations(number: int) -> list[dict[str, dict[Any, Any]]]:
    """Ports drawn at random, always the same ones: full enough that rare combinations occur."""
    draw = random.Random(6)
    kinds: dict[str, dict[str, list[Any]]] = {
        "vessel": {
            "basin": [None, "E", "E", "W"],
            "kind": [None, "tanker", "ferry"],
            "at": PLACES,
            "draught": [None, 1.0, 3.0],
            "air": [None, 100, 300],
            "berth": [None, "A", "A", "B"],
        },
        "berth": {"basin": ["E", "W"], "depth": [2.0, 4.0]},
        "tug": {"available": [None, True, True, False], "pull": [10, 20], "zone": ["E", "W"]},
        "wind": {"speed": [4.0, 6.0, 9.0]},
    }
    keys: dict[str, list[Any]] = {"vessel": [1, 2, 3], "berth": ["A", "B"], "tug": [1, 2, 3], "wind": [None]}

    def table(name: str) -> dict[Any, Any]:
        present = [key for key in keys[name] if draw.random() < 0.8]
        named = {key: {} if KEYS[name] is None else {KEYS[name]: key} for key in present}
        return {
            key: {**row, **{field: draw.choice(values) for field, values in kinds[name].items()}}
            for key, row in named.items()
        }

    return [{name: table(name) for name in KEYS} for _ in range(number)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_each_rule_restricts_allows_and_is_unknown_somewhere(rule):
    """So that none of the rules is idle; and `check` agrees there, too."""
    found, pack = set(), written([rule])
    for number, tables in enumerate(situations(300)):
        for mmsi in tables["vessel"]:
            wanted = expected([rule], tables, mmsi)
            found.add(wanted[0])
            if number < 40:
                assert checked(pack, tables, mmsi) == wanted
    is_ever_unknown = {"unknown"} if rule is not alone else set()  # it is always known who is there
    assert found == {"restricted", "allowed"} | is_ever_unknown
