"""A row on which the program raises: the query fails and says where, or the row is set aside as if it never came."""

from __future__ import annotations

from decimal import Decimal

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius import Engine, Reactive, correlate
from cartesius.errors import InvalidArgument, RuleRaised
from cartesius.language.lenience import checked_policy
from dsl import RulePack, Source, distance, position, require
from dsl.units import metres
from restrictions import as_table, key_by, most_recently, retracting, within, without
from spark_bridge.columns.schemas import result_schema
from spark_bridge.running.buckets import _MANY, Buckets
from spark_bridge.transport.arrivals import Input
from tests.unit.spark_bridge.bucket_rows import Row, buckets_of, layout_of, letters, results, run, shown

SHIP = t.StructType([t.StructField("mmsi", t.LongType()), t.StructField("berth", t.StringType())])
BERTH = t.StructType([t.StructField("id", t.StringType()), t.StructField("depth", t.DoubleType())])
INPUTS = (
    Input("ship", SHIP, ("mmsi", "berth"), True, "mmsi", is_split=True),
    Input("berth", BERTH, ("id", "depth"), True, "id"),
)
ship = Reactive("ship", table=True, key="mmsi")
berth = Reactive("berth", table=True, key="id")
moored = correlate(
    ship=ship,
    berth=berth,
    where=lambda ship, berth: (ship.berth == berth.id) & (1 / berth.depth < 1.0),
    yields=lambda ship, berth: (ship.mmsi, berth.depth),
    restrict=retracting() | as_table("ship"),
    name="moored",
)
call, answer = Reactive("call"), Reactive("answer")
NUMBER = t.StructType([t.StructField("k", t.LongType()), t.StructField("n", t.LongType())])
STREAMS = tuple(Input(name, NUMBER, ("k", "n"), is_split=True) for name in ("call", "answer"))
shares = correlate(
    call=call,
    answer=answer,
    yields=lambda call, answer: {"k": call.k, "share": call.n / answer.n},
    restrict=key_by(call="k", answer="k") | most_recently("call", "answer"),
    name="shares",
)
near = correlate(
    call=call,
    answer=answer,
    yields=lambda call, answer: {"k": call.k, "share": call.n / answer.n},
    restrict=key_by(call="k", answer="k") | within(9, "call", "answer"),
    name="near",
)


def inverse_of(call):
    if call.n == 0:
        message = "nothing to divide by"
        raise ArithmeticError(message)
    return {"k": call.k, "inverse": 12 // call.n}


def inverses(**options):
    """A body that does not trace."""
    schema = t.StructType([t.StructField("k", t.LongType()), t.StructField("inverse", t.LongType())])
    found = correlate(call=call, yields=inverse_of, restrict=key_by(call="k") | most_recently("call"), name="inverses")
    layout = layout_of({"inverses": result_schema(found, "inverses", {"call": NUMBER}, schema)})
    return Buckets((found,), STREAMS[:1], layout, frozenset(), **options)


def at_ship(time, mmsi, berth):
    return Row(0, time, 0, {"mmsi": mmsi, "berth": berth})


def at_berth(time, name, depth):
    return Row(0, time, 1, {"id": name, "depth": depth})


def at(time, source, k, n):
    return Row(0, time, source, {"k": k, "n": n})


def many(rows, after):
    """Rows, and so many more that they make a batch of columns."""
    return [*rows, *(after(100 + n) for n in range(_MANY))]


BAD = [at_ship(1, 7, "A"), at_berth(2, "A", 0.0), at_berth(3, "A", 2.0)]
WHERE = "in 'moored': where ((ship.berth == berth.id) & ((1 / berth.depth) < 1.0)) yields (ship.mmsi, berth.depth,)"


@pytest.mark.parametrize("is_batch", [False, True])
def test_by_default_the_query_fails_and_names_output_bucket_row_time_and_rule(is_batch):
    rows = many(BAD, lambda time: at_ship(time, 8, "B")) if is_batch else BAD
    with pytest.raises(RuleRaised) as caught:
        run(buckets_of(moored, inputs=INPUTS), 3, None, rows)
    assert str(caught.value) == (
        "the query of 'moored': expected rules that can be computed but ZeroDivisionError: float division by zero"
        f" ({WHERE}); on the row of 'berth' at 1970-01-01T00:00:00.000002+00:00 in bucket 3:"
        ' {"id":"A","depth":0.0}; mend the row, or the rule (spark_bridge.migrate goes on with the state), and start'
        ' again; or say on_error="dead_letter", which sets such rows aside, or, of packs of rules, on_error="unknown"'
    )
    assert type(caught.value.__cause__) is ZeroDivisionError
    assert str(caught.value.__cause__) == "float division by zero"


@pytest.mark.parametrize("is_batch", [False, True])
def test_as_a_dead_letter_the_row_comes_with_the_rule_and_the_others_are_used(is_batch):
    rows = many(BAD, lambda time: at_ship(time, 8, "B")) if is_batch else BAD
    outcome = run(buckets_of(moored, inputs=INPUTS, on_error="dead_letter"), 3, None, rows)
    (letter,) = letters(outcome)
    assert (letter["kind"], letter["source"], letter["at"]) == ("dead", "berth", 2)
    assert letter["payload"] == '{"id":"A","depth":0.0}'
    assert letter["reason"] == f"the program raised ZeroDivisionError: float division by zero ({WHERE})"
    assert [value for _, _, value, _ in shown(outcome)] == [{"mmsi": 7, "depth": 2.0}]


def test_what_is_long_is_shortened_in_a_message_and_whole_in_a_letter():
    long = "x" * 2000
    rows = [at_ship(1, 7, long), at_berth(2, long, 0.0)]
    with pytest.raises(RuleRaised, match=r'"xxx.*… \(\d+ characters more\); mend') as caught:
        run(buckets_of(moored, inputs=INPUTS), 0, None, rows)
    assert len(str(caught.value)) < 1500
    (letter,) = letters(run(buckets_of(moored, inputs=INPUTS, on_error="dead_letter"), 0, None, rows))
    assert long in letter["payload"]


def test_the_outputs_that_a_correlation_is_part_of_are_named():
    deep = correlate(m=moored, yields=lambda m: m[1], restrict=retracting() | as_table("m"), name="deep")
    other = correlate(ship=ship, yields=lambda ship: {"at": ship.berth}, restrict=as_table("ship"), name="other")
    with pytest.raises(RuleRaised, match=r"^the query of 'moored', 'deep': .* \(in 'moored': where"):
        run(buckets_of(other, moored, deep, inputs=INPUTS), 0, None, BAD)


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_body_that_is_not_traced_is_named_by_its_function(is_batch):
    rows = [at(1, 0, 1, 0)]
    rows = many(rows, lambda time: at(time, 0, 2, 3)) if is_batch else rows
    with pytest.raises(RuleRaised, match=r"ArithmeticError: nothing to divide by \(in 'inverses': yields inverse_of\)"):
        run(inverses(), 0, None, rows)
    outcome = run(inverses(on_error="dead_letter"), 0, None, rows)
    assert [letter["payload"] for letter in letters(outcome)] == ['{"k":1,"n":0}']
    assert len(results(outcome)) == len(rows) - 1


def test_what_the_program_refuses_is_a_dead_letter_under_every_policy():
    for policy in ("fail", "dead_letter"):
        program = buckets_of(moored, inputs=INPUTS, on_error=policy)
        state = run(program, 0, None, BAD[:1], close=True).state
        (letter,) = letters(run(program, 0, state, [at_ship(9, 1, "A")]))
        assert "InvalidArgument: push: expected an input that goes on but 'ship' has ended" in letter["reason"]


unanswered = correlate(
    call=call,
    yields=lambda call: {"k": call.k, "n": call.n},
    restrict=key_by(call="k", answer="k") | without(answer, after="call", within=5),
    name="unanswered",
)
missed = correlate(
    m=unanswered, yields=lambda m: {"k": m.k, "share": 1 / m.n}, restrict=most_recently("m"), name="missed"
)


@pytest.mark.parametrize("policy", ["fail", "dead_letter"])
def test_what_a_deadline_raises_fails_as_there_is_no_row_to_set_aside(policy):
    program = buckets_of(missed, inputs=STREAMS, on_error=policy)
    state = run(program, 2, None, [at(1, 0, 1, 0)], 1).state
    for clock, close in ((9, False), (None, True)):
        with pytest.raises(RuleRaised) as caught:
            run(program, 2, state, [], clock, close=close)
        assert str(caught.value) == (
            "the query of 'missed': expected rules that can be computed but ZeroDivisionError: division by zero (in"
            " 'missed': yields {'k': m.k, 'share': (1 / m.n)}); on what was due at"
            " 1970-01-01T00:00:00.000006+00:00 in bucket 2, so that no row can be set aside; mend the rule, and go on"
            " with the state by spark_bridge.migrate"
        )
        assert type(caught.value.__cause__) is ZeroDivisionError


def test_a_row_is_not_blamed_for_a_deadline_that_falls_due_before_it():
    """Rows that waited are each used at its own time, which moves the clock."""
    program = buckets_of(missed, inputs=STREAMS, on_error="dead_letter")
    state = run(program, 0, None, [at(1, 0, 1, 0), at(20, 0, 2, 1)], 0, holds=True).state
    with pytest.raises(RuleRaised, match=r"what was due at 1970-01-01T00:00:00\.000006"):
        run(program, 0, state, [], 30, holds=True)


def test_another_policy_goes_on_from_the_same_state():
    state = run(buckets_of(moored, inputs=INPUTS), 0, None, BAD[:1]).state
    with pytest.raises(RuleRaised):
        run(buckets_of(moored, inputs=INPUTS), 0, state, BAD[1:])
    outcome = run(buckets_of(moored, inputs=INPUTS, on_error="dead_letter"), 0, state, BAD[1:])
    assert [value for _, _, value, _ in shown(outcome)] == [{"mmsi": 7, "depth": 2.0}]


def test_a_wrong_policy_is_refused_with_those_there_are():
    with pytest.raises(InvalidArgument, match='one of "fail", "dead_letter", "unknown" but got on_error=\'ignore\''):
        checked_policy("ignore", [moored], "correlate_frames")


# ------------------------------------------------------------------------------------------------------------- the law

STREAM_ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 2)), max_size=60)
TABLE_ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.sampled_from("AB"), st.sampled_from([0.0, 2.0])))


def told(program, rows, since, *, holds):
    """What is given, and which letters, if the rows come in two calls, those from a time on in the second one."""
    clocks = (0, since, 10_000) if holds else (None, None, None)
    calls, state = [], None
    slices = [row for row in rows if row.time < since], [row for row in rows if row.time >= since], []
    for some, clock in zip(slices, clocks, strict=True):
        calls.append(run(program, 0, state, some, clock, holds=holds, close=len(calls) == 2))
        state = calls[-1].state
    return [row for one in calls for row in results(one)], [letter for one in calls for letter in letters(one)]


def check(output, inputs, rows, since, *, holds=False):
    found, dead = told(buckets_of(output, inputs=inputs, on_error="dead_letter"), rows, since, holds=holds)
    assert all("the program raised ZeroDivisionError" in letter["reason"] for letter in dead)
    bad = {letter["at"] for letter in dead}  # no two rows come at one time
    assert len(bad) == len(dead)
    strict = buckets_of(output, inputs=inputs)  # on which nothing may raise now
    assert told(strict, [row for row in rows if row.time not in bad], since, holds=holds) == (found, [])


@given(STREAM_ROWS, st.integers(0, 60), st.booleans())
@settings(max_examples=15)
@pytest.mark.parametrize("output", [shares, near], ids=lambda one: one.name)
def test_the_others_are_judged_as_if_the_bad_rows_had_never_come(output, drawn, since, holds):
    """Pushed one by one and, with so many of good ones between them, as a batch of columns, as far as that goes."""
    rows = [at(time, source, k, n) for time, (source, k, n) in enumerate(drawn)]
    check(output, STREAMS, rows, since, holds=holds)
    good = [at(time, time % 2, 0, 1) for time in range(100, 100 + _MANY)]
    late = [attrs.evolve(row, time=row.time + 200) for row in rows]
    check(output, STREAMS, [*good, *late], since + 100, holds=holds)


@given(TABLE_ROWS, st.integers(0, 60))
@settings(max_examples=15)
def test_likewise_of_tables(drawn, since):
    rows = [
        at_ship(time, mmsi, name) if is_ship else at_berth(time, name, depth)
        for time, (is_ship, mmsi, name, depth) in enumerate(drawn * 8)
    ]
    check(moored, INPUTS, rows, since)


# ------------------------------------------------------------------------------------------------------ packs of rules

VESSEL = t.StructType([t.StructField("mmsi", t.LongType()), t.StructField("place", t.ArrayType(t.DoubleType()))])
HARBOUR = t.StructType([t.StructField("place", t.ArrayType(t.DoubleType()))])
PACK_INPUTS = (
    Input("vessel", VESSEL, ("mmsi", "place"), True, "mmsi", is_split=True),
    Input("harbour", HARBOUR, ("place",), True),
)
AT_HARBOUR = [40.0, -74.0]


def harbour_pack():
    vessel, harbour = (
        Source("vessel", key="mmsi", mmsi=int, place=position),
        Source("harbour", key=None, place=position),
    )
    pack = RulePack("port", subject=vessel)
    with pack:
        require(vessel.mmsi > 0, name="known")
        require(distance(vessel.place, harbour.place) <= 1000 * metres, name="near")
    return pack


PORT = harbour_pack()
HALF = -1.0
RAISED = "ValueError: not enough values to unpack (expected 2, got 1)"
NEAR = "distance(vessel.place, harbour.place) <= 1000 m"


def pack_rows(latitudes):
    """Ships at latitudes; a position of one number makes the rule about the distance raise."""
    places = [[x] if x == HALF else [x, -74.0] for x in latitudes]
    ships = [Row(0, 2 + n, 0, {"mmsi": n + 1, "place": place}) for n, place in enumerate(places)]
    return [Row(0, 1, 1, {"place": AT_HARBOUR}), *ships]


def statuses(outcome):
    return {key: (value["status"], [r["missing"] for r in value["because"]]) for _, key, value, _ in shown(outcome)}


@pytest.mark.parametrize("more", [0, _MANY])
def test_a_rule_of_a_pack_is_named_where_it_raises(more):
    rows = pack_rows([40.0, HALF, *[40.0] * more])
    place = f"(in the requirement 'near': {NEAR}, in 'port': yields judge(vessel, harbour))"
    with pytest.raises(RuleRaised) as caught:
        run(buckets_of(PORT.table(), inputs=PACK_INPUTS), 1, None, rows)
    assert f"the query of 'port': expected rules that can be computed but {RAISED} {place}" in str(caught.value)
    outcome = run(buckets_of(PORT.table(), inputs=PACK_INPUTS, on_error="dead_letter"), 1, None, rows)
    assert [row["reason"] for row in letters(outcome)] == [f"the program raised {RAISED} {place}"]
    assert 2 not in statuses(outcome)


@pytest.mark.parametrize("more", [0, _MANY])
def test_a_rule_of_a_pack_that_raises_is_unknown_if_that_is_chosen(more):
    program = buckets_of(PORT.table(), inputs=PACK_INPUTS, on_error="unknown")
    outcome = run(program, 1, None, pack_rows([40.0, HALF, *[40.0] * more]))
    assert letters(outcome) == []
    assert statuses(outcome)[2] == ("unknown", [[f"{NEAR} raised {RAISED}"]])
    assert {status for key, (status, _) in statuses(outcome).items() if key != 2} == {"allowed"}
    last = run(program, 1, outcome.state, [Row(0, 90, 0, {"mmsi": 2, "place": AT_HARBOUR})])
    assert statuses(last) == {2: ("allowed", [])}


@given(st.lists(st.sampled_from([40.0, 41.0, HALF, float("inf"), None]), max_size=50), st.integers(0, 60))
@settings(max_examples=10)
def test_what_is_unknown_in_a_bucket_is_so_in_this_process(latitudes, since):
    rows = pack_rows(latitudes)
    found, dead = told(buckets_of(PORT.table(), inputs=PACK_INPUTS, on_error="unknown"), rows, since, holds=False)
    engine, expected = Engine(PORT.table(), on_error="unknown"), []
    for row in rows:
        source = ("vessel", "harbour")[row.source]
        value = {name: None if one is None else tuple(one) for name, one in row.columns.items() if name == "place"}
        expected += engine.push(PORT.sources[source], {**row.columns, **value}, at=row.time)
    assert dead == []
    assert [(key, value["status"], missing_of(value["because"])) for _, _, key, value, _, _ in found] == [
        (change.key, change.value.status, [list(reason.missing) for reason in change.value.because])
        for change in (event.value for event in expected)
    ]


def missing_of(because):
    return [reason["missing"] for reason in because]


def test_a_value_of_a_wrong_type_is_shown_as_far_as_verdicts_can():
    vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
    pack = RulePack("port", subject=vessel)
    with pack:
        require(vessel.draught + 1.5 * metres <= 10 * metres, name="draught")
    schema = t.StructType([t.StructField("mmsi", t.LongType()), t.StructField("draught", t.DecimalType(5, 2))])
    inputs = [Input("vessel", schema, ("mmsi", "draught"), True, "mmsi", is_split=True)]
    program = buckets_of(pack.table(), inputs=inputs, on_error="unknown")
    outcome = run(program, 0, None, [Row(0, 1, 0, {"mmsi": 1, "draught": Decimal("9.50")})])
    [(_, _, value, _)] = shown(outcome)
    assert value["status"] == "unknown"
    assert [(one["_1"], one["_2"]) for one in value["because"][0]["values"]][:2] == [
        ("vessel.draught", "9.50"),
        ("vessel.draught + 1.5 m", None),
    ]


def test_only_packs_of_rules_can_be_unknown():
    with pytest.raises(InvalidArgument, match=r"^correlate_frames: expected tables .* but 'moored' is made of none"):
        checked_policy("unknown", [PORT.table(), moored], "correlate_frames")
    assert checked_policy("unknown", [PORT.table(), PORT.warnings()], "correlate_frames") == "unknown"


def test_what_raises_beside_the_rules_fails_also_where_rules_are_unknown():
    passed = correlate(
        verdict=PORT.table(),
        yields=lambda verdict: {"k": 1 // (verdict.subject - 1)},
        restrict=retracting() | as_table("verdict"),
        name="passed",
    )
    schema = t.StructType([t.StructField("k", t.LongType())])
    layout = layout_of({"passed": result_schema(passed, "passed", {"vessel": VESSEL, "harbour": HARBOUR}, schema)})
    with pytest.raises(RuleRaised, match="in 'passed': yields"):
        run(Buckets((passed,), PACK_INPUTS, layout, frozenset(), on_error="unknown"), 0, None, pack_rows([40.0]))


def products(**options):
    """Of two whole numbers, whose product may be none of 64 bits."""
    found = correlate(
        call=call,
        yields=lambda call: {"k": call.k, "product": call.n * call.n},
        restrict=key_by(call="k") | most_recently("call"),
        name="products",
    )
    return buckets_of(found, inputs=STREAMS[:1], **options)


@pytest.mark.parametrize("rows", [5, 2 * _MANY], ids=["one by one", "as columns"])
def test_a_result_that_fits_no_column_is_a_letter_of_its_output(rows):
    """The row was used: what is in memory is what it is in this process."""
    numbers = [2**40 if n == 3 else n for n in range(rows)]
    outcome = run(products(on_error="dead_letter"), 0, None, [at(n, 0, n, one) for n, one in enumerate(numbers)])
    (letter,) = letters(outcome)
    assert letter["reason"].startswith(
        "result: expected products.product to be of type bigint but got 1208925819614629"
    )
    assert letter | {"reason": ""} == {
        "kind": "dead", "source": "products", "reason": "", "at": 3, "payload": f'{{"k":3,"product":{2**80}}}'
    }  # fmt: skip
    assert [value["product"] for _, _, value, _ in shown(outcome)] == [n * n for n in range(rows) if n != 3]
    assert results(run(products(on_error="dead_letter"), 0, outcome.state, [at(900, 0, 3, 9)]))
    with pytest.raises(InvalidArgument) as caught:
        run(products(), 0, None, [at(n, 0, n, one) for n, one in enumerate(numbers)])
    assert str(caught.value).endswith(
        'or give schema=, or say on_error="dead_letter", which sets such results aside; got the result of'
        f' \'products\' at 1970-01-01T00:00:00.000003+00:00: {{"k":3,"product":{2**80}}}'
    )


def test_a_call_of_which_no_result_fits_gives_letters_alone():
    outcome = run(products(on_error="dead_letter"), 0, None, [at(n, 0, n, 2**40 + n) for n in range(3)])
    assert [letter["at"] for letter in letters(outcome)] == [0, 1, 2]
    assert shown(outcome) == []


def halves(on_error):
    """Of doubles, as floats, which cannot be as large."""
    found = correlate(call=call, yields=lambda call: {"k": call.k, "n": call.n}, name="halves")
    fields = t.StructType([t.StructField("k", t.LongType()), t.StructField("n", t.FloatType())])
    source = t.StructType([t.StructField("k", t.LongType()), t.StructField("n", t.DoubleType())])
    layout = layout_of({"halves": result_schema(found, "halves", {"call": source}, fields)})
    inputs = (Input("call", source, ("k", "n"), is_split=True),)
    return Buckets((found,), inputs, layout, frozenset(), on_error=on_error)


@pytest.mark.parametrize("rows", [5, 2 * _MANY], ids=["one by one", "as columns"])
def test_a_double_that_fits_no_float_is_a_letter_of_its_output(rows):
    calls = [at(n, 0, n, 1e308 if n == 3 else 1.5) for n in range(rows)]
    outcome = run(halves("dead_letter"), 0, None, calls)
    assert [value["k"] for _, _, value, _ in shown(outcome)] == [n for n in range(rows) if n != 3]
    (letter,) = letters(outcome)
    assert (letter["source"], letter["at"], letter["payload"]) == ("halves", 3, '{"k":3,"n":1e+308}')
    with pytest.raises(InvalidArgument, match=r'halves\.n to be of type float .* say on_error="dead_letter".*,"n":1e'):
        run(halves("fail"), 0, None, calls)
