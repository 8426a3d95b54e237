"""A pack's table is what judging each subject with its linked rows gives, after every change of any source."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update
from cartesius.errors import InvalidArgument
from dsl import RulePack, Source, nearest, position, require, when
from dsl.declarations.sources import declaration
from dsl.tables.lowering import reactive
from dsl.units import metres
from dsl.writing.places import great_circle

ship = Source("ship", key="id", id=int, quay=str, draught=metres)
quay = Source("quay", key="id", id=str, depth=metres, position=position)
gauge = Source("gauge", key="sensor", sensor=str, height=metres)
battery = Source("battery", key="sensor", sensor=str, level=metres)
wind = Source("wind", key=None, velocity=int)

SENSORS = {"east": (0.0, 1.0), "west": (0.0, -1.0)}


def harbour(name: str = "harbour") -> RulePack:
    links = [
        quay.id == ship.quay,
        gauge.sensor == nearest(SENSORS, quay.position),
        battery.sensor == "fixed",
    ]
    made = RulePack(name, subject=ship, links=links)
    with made:
        require(wind.velocity <= 2, "wind")
        with when(ship.draught >= 1 * metres):
            require(quay.depth + gauge.height >= ship.draught, "clearance")
        require(battery.level + ship.draught <= 3 * metres, "level")
    return made


small = st.one_of(st.none(), st.integers(-2, 2).map(float))
ids = st.integers(1, 3)
quays = st.sampled_from(["A", "B"])
sensors = st.sampled_from(["east", "west"])


def rows(key: str, **fields: Any) -> Any:
    return st.tuples(st.just(key), st.fixed_dictionaries(fields))


changes = st.one_of(
    rows("ship", id=ids, quay=st.one_of(st.none(), st.sampled_from(["A", "B", "nowhere"])), draught=small),
    rows("quay", id=quays, depth=small, position=st.one_of(st.none(), st.sampled_from([(0.0, 0.5), (0.0, -0.5)]))),
    rows("gauge", sensor=sensors, height=small),
    rows("battery", sensor=st.sampled_from(["fixed", "other"]), level=small),
    rows("wind", velocity=st.one_of(st.none(), st.integers(1, 3))),
    st.tuples(st.just("ship"), ids),
    st.tuples(st.just("quay"), quays),
    st.tuples(st.just("gauge"), sensors),
    st.tuples(st.just("battery"), st.just("fixed")),
)
KEYS = {"ship": "id", "quay": "id", "gauge": "sensor", "battery": "sensor"}


def from_scratch(pack: RulePack, tables: dict[str, dict[Any, Any]]) -> dict[Any, Any]:
    found = {}
    for id_, row in tables["ship"].items():
        berth = tables["quay"].get(row["quay"])
        where = berth and berth["position"]
        closest = where and min(SENSORS, key=lambda sensor: great_circle(where, SENSORS[sensor]))
        found[id_] = pack.check(
            {
                "ship": row,
                "quay": berth,
                "gauge": tables["gauge"].get(closest),
                "battery": tables["battery"].get("fixed"),
                "wind": tables["wind"].get(None),
            }
        )
    return found


@given(st.lists(changes, max_size=25), st.booleans())
def test_the_table_is_the_judgement_of_the_present_rows(events, restoring):
    pack = harbour()
    table, warnings = pack.table(), pack.warnings()
    engine = Engine(table, warnings)
    tables: dict[str, dict[Any, Any]] = {name: {} for name in pack.sources}
    shown: dict[Any, Any] = {}
    warned: dict[Any, str] = {}
    for source, row in events:
        if isinstance(row, dict):
            key = row[KEYS[source]] if source in KEYS else None
            tables[source][key] = row
            change: Any = row if source not in KEYS else Update(key, row)
        else:
            tables[source].pop(row, None)
            change = Delete(row)
        mentioned = set()
        for event in engine.push(pack.sources[source], change):
            where = shown if event.reactive == table.name else warned
            assert (event.reactive, event.value.key) not in mentioned
            mentioned.add((event.reactive, event.value.key))
            if isinstance(event.value, Delete):
                del where[event.value.key]
            elif where is shown:
                assert shown.get(event.value.key) != event.value.value, "no change without a change"
                shown[event.value.key] = event.value.value
            else:
                assert warned.get(event.value.key) != event.value.value.status
                assert event.value.value.because == ()
                warned[event.value.key] = event.value.value.status
        expected = from_scratch(pack, tables)
        assert shown == expected
        assert warned == {key: verdict.status for key, verdict in expected.items()}
        if restoring:
            engine = Engine.restore(engine.snapshot(), table, warnings)


def test_a_row_without_a_partner_is_unknown_not_absent():
    pack = harbour()
    engine = Engine(pack.table())
    [event] = engine.push(pack.sources["ship"], {"id": 1, "quay": "A", "draught": 2.0})
    assert event.value.value.status == "unknown"
    assert {name for reason in event.value.value.because for name in reason.missing} == {
        "wind",
        "quay",
        "gauge",
        "battery",
    }


def test_a_missing_link_value_matches_nothing():
    pack = harbour()
    engine = Engine(pack.table())
    engine.push(pack.sources["quay"], {"id": "A", "depth": 9.0, "position": None})
    engine.push(pack.sources["gauge"], {"sensor": "east", "height": 0.0})
    [event] = engine.push(pack.sources["ship"], {"id": 1, "quay": "A", "draught": 2.0})
    reasons = {reason.name: reason.missing for reason in event.value.value.because}
    assert reasons["clearance"] == ("gauge",)


def test_a_new_position_of_the_berth_links_another_sensor():
    pack = harbour()
    engine = Engine(pack.table())
    for source, row in (
        ("wind", {"velocity": 1}),
        ("battery", {"sensor": "fixed", "level": 0.0}),
        ("gauge", {"sensor": "east", "height": 0.0}),
        ("gauge", {"sensor": "west", "height": -9.0}),
        ("quay", {"id": "A", "depth": 5.0, "position": (0.0, 0.5)}),
        ("ship", {"id": 1, "quay": "A", "draught": 2.0}),
    ):
        out = engine.push(pack.sources[source], row)
    assert out[0].value.value.status == "allowed"
    [event] = engine.push(pack.sources["quay"], {"id": "A", "depth": 5.0, "position": (0.0, -0.5)})
    assert event.value.value.status == "restricted"


def test_an_event_is_judged_for_the_subjects_that_it_touches_only():
    pack = harbour()
    engine = Engine(pack.table())
    for number in range(20):
        engine.push(pack.sources["quay"], {"id": f"Q{number}", "depth": 5.0, "position": (0.0, 0.5)})
        engine.push(pack.sources["ship"], {"id": number, "quay": f"Q{number}", "draught": 2.0})
    before = engine.stats.tuples
    engine.push(pack.sources["quay"], {"id": "Q7", "depth": 6.0, "position": (0.0, 0.5)})
    assert engine.stats.tuples - before == 1


def test_a_row_that_lacks_a_declared_field_is_refused():
    pack = RulePack("p", subject=ship)
    with pack:
        require(ship.draught <= 3 * metres)
    engine = Engine(pack.table())
    with pytest.raises(InvalidArgument, match="no 'draught'"):
        engine.push(pack.sources["ship"], {"id": 1, "quay": "A"})


def test_only_what_is_linked_or_used_is_an_input():
    alone = RulePack("alone", subject=ship)
    with alone:
        require(ship.draught <= 3 * metres)
    assert list(alone.sources) == ["ship"]
    assert list(harbour().sources) == ["ship", "quay", "gauge", "battery", "wind"]


def test_packs_share_the_inputs_of_equal_sources():
    first, second = harbour("first"), harbour("second")
    assert first.sources["quay"] is second.sources["quay"]
    engine = Engine(first.table(), second.table())
    out = engine.push(first.sources["ship"], {"id": 1, "quay": "A", "draught": 2.0})
    assert [event.reactive for event in out] == ["first", "second"]


def test_the_inputs_are_tables_that_know_their_fields():
    made = reactive(declaration(quay))
    assert isinstance(made, Reactive)
    assert (made.name, made.table, made.key, made.fields) == ("quay", True, "id", ("id", "depth", "position"))
    assert reactive(declaration(wind)).key is None


def test_the_program_pickles_and_means_the_same():
    pack = harbour()
    yields = pack.table().pattern.yields  # type: ignore[union-attr]  # a table of a pack has a pattern
    assert pickle.loads(pickle.dumps(yields)) == yields
    assert repr(pickle.loads(pickle.dumps(yields))) == repr(yields)


def test_saved_state_of_other_rules_is_refused():
    pack = harbour()
    engine = Engine(pack.table())
    other = RulePack("harbour", subject=ship, links=[quay.id == ship.quay])
    with other:
        require(quay.depth >= ship.draught)
    with pytest.raises(ValueError, match="program"):
        Engine.restore(engine.snapshot(), other.table())


@pytest.mark.parametrize("unit_of_height", [metres, metres**1])
def test_the_description_of_a_pack_tells_units_apart(unit_of_height):
    from dsl.units import centimetres

    def described(unit: Any) -> str:
        source = Source("gauge", key=None, height=unit)
        made = RulePack("p", subject=ship)
        with made:
            require(source.height >= ship.draught)
        return repr(made._judgement())

    assert described(unit_of_height) == described(metres)
    assert described(centimetres) != described(metres)
