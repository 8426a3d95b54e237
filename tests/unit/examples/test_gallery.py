"""The gallery: each program by plain code from the words of its task, with ties, late events and duplicates."""

from __future__ import annotations

import ast
import inspect
import random
import re
import sys
from datetime import timedelta
from functools import cache
from itertools import pairwise

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius import Engine
from examples.gallery import GALLERY, advertising, machines, orders, security, ships, trading
from examples.gallery.__main__ import main
from examples.gallery.exhibits import Arrival
from examples.gallery.running import Result, run_here, standing
from tests.documents import ROOT
from tests.laws.spark_model import MicroBatches, Row, planned

MICROSECOND = timedelta(microseconds=1)
START = GALLERY["orders"].arrivals[0].at
MINUTE, HOUR = 60_000_000, 3_600_000_000
DAY = 24 * HOUR
every = pytest.mark.parametrize("name", GALLERY)


# ------------------------------------------------------------------------------------------- the tasks, in plain code


def of(arrivals, source, **fields):
    """The events of a source with these fields, in the order of their times, and of arrival among those of one time."""
    found = [one for one in arrivals if one.source is source and fields.items() <= one.value.items()]
    return sorted(found, key=lambda one: one.at)


def credited(arrivals):
    for click in of(arrivals, advertising.clicks):
        seen = of(arrivals, advertising.impressions, user=click.value["user"])
        seen = [one for one in seen if click.at - DAY <= one.at <= click.at]
        if seen:
            fields = {"click": click.value["id"], "user": click.value["user"], "ad": seen[-1].value["ad"]}
            yield Result("attributed", "event", None, seen[-1].at, click.at, fields)


def shipped_or_unpaid(arrivals):
    for order in of(arrivals, orders.orders):
        paid = [one for one in of(arrivals, orders.payments, order=order.value["id"]) if one.at >= order.at]
        if not paid or paid[0].at > order.at + 30 * MINUTE:
            yield Result("unpaid", "event", None, order.at, order.at, order.value)
            continue
        sent = [one for one in of(arrivals, orders.shipments, order=order.value["id"]) if one.at >= paid[0].at]
        if sent and sent[0].at <= order.at + 2 * DAY:
            yield Result("shipped", "event", None, order.at, sent[0].at, order.value)


def above_the_quote(arrivals):
    for trade in of(arrivals, trading.trades):
        valid = [one for one in of(arrivals, trading.quotes, symbol=trade.value["symbol"]) if one.at <= trade.at]
        if valid:
            quote = max(valid, key=lambda one: (one.at, one.value["revision"], one.value["ask"]))
            cents = trade.value["cents"]
            fields = {"trade": trade.value["id"], "paid": cents, "above": cents - quote.value["ask"]}
            yield Result("slippage", "event", None, quote.at, trade.at, fields)


def four_that_rise(arrivals):
    for machine in {one.value["machine"] for one in arrivals}:
        since = []
        for reading in of(arrivals, machines.readings, machine=machine):
            since.append(reading)
            last = since[-4:]
            rise = all(earlier.value["heat"] < later.value["heat"] for earlier, later in pairwise(last))
            if len(last) == 4 and rise and last[3].at - last[0].at <= 10 * MINUTE:
                fields = {"machine": machine, "from": last[0].value["heat"], "to": last[3].value["heat"]}
                yield Result("rising", "event", None, last[0].at, last[3].at, fields)
                since = []


def after_three_failures(arrivals):
    for account in {one.value["account"] for one in arrivals}:
        alarm = -1
        for login in of(arrivals, security.logins, account=account):
            failed = [one for one in of(arrivals, security.failures, account=account) if alarm <= one.at < login.at]
            last = failed[-3:]
            resets = of(arrivals, security.resets, account=account)
            if len(last) < 3 or login.at - last[0].at > 10 * MINUTE:
                continue
            if not any(last[2].at <= one.at < login.at for one in resets):
                fields = {"account": account, "first": last[0].value["address"], "login": login.value["address"]}
                yield Result("guessed", "event", None, last[0].at, login.at, fields)
                alarm = login.at


def too_shallow(arrivals):
    for at in sorted({one.at for one in arrivals}):
        ship_of, berth_of, tide_of = (
            {
                one.value["name"]: one.value
                for one in sorted(arrivals, key=by_content)
                if one.source is source and one.at <= at
            }
            for source in (ships.ships, ships.berths, ships.tides)
        )
        for name, ship in ship_of.items():
            berth = berth_of.get(ship["berth"])
            tide = tide_of.get(berth["gauge"]) if berth else None
            water = berth["depth"] + tide["height"] - ship["draught"] if berth and tide else 100
            change = "update" if water < 100 else "delete"
            yield Result("shallow", change, name, at, at, {"value": water})


def by_content(arrival):
    """Of two versions of one time and key the one holds whose content comes last."""
    return arrival.at, tuple(arrival.value.values())


# ----------------------------------------------------------------------------------------------- what events are drawn


class Drawn:
    """How the events of an exhibit are drawn.

    Args:
        oracle: What its words say, of the events that are not too late.
        step: The unit of time: a few of them are what the program asks of times.
        gaps: How many units may pass from event to event.
        retention: How much later than the lateness an event may come and still count.
        fields: The fields of each source, as they are drawn; `count` is the number of the event.
    """

    def __init__(self, oracle, step, gaps, fields, retention=0):
        self.oracle, self.step, self.gaps, self.fields, self.retention = oracle, step, gaps, fields, retention


FEW, TWO = st.integers(0, 3), st.integers(0, 1)
COUNT = None
DRAWN = {
    "advertising": Drawn(
        credited,
        30 * MINUTE,
        [0, 0, 1, 1, 2, 20, 26],
        {
            advertising.impressions: {"user": "ab", "ad": "xyz"},
            advertising.clicks: {"user": "ab", "id": COUNT},
        },
    ),
    "orders": Drawn(
        shipped_or_unpaid,
        5 * MINUTE,
        [0, 0, 1, 2, 5, 6, 288, 576],
        {
            orders.orders: {"id": [1, 2], "buyer": "ab"},
            orders.payments: {"order": [1, 2], "by": "c"},
            orders.shipments: {"order": [1, 2], "carrier": "p"},
        },
    ),
    "trading": Drawn(
        above_the_quote,
        MINUTE // 2,
        [0, 0, 1, 1, 2, 60],
        {
            trading.trades: {"id": COUNT, "symbol": "AB", "cents": [98, 99]},
            trading.quotes: {"symbol": "AB", "ask": [97, 98, 99], "revision": [0, 1, 2]},
        },
        retention=HOUR,
    ),
    "machines": Drawn(
        four_that_rise,
        MINUTE // 2,
        [0, 0, 1, 1, 2, 6, 9],
        {machines.readings: {"machine": "ab", "heat": [1, 2, 3, 4, 5, 6]}},
    ),
    "security": Drawn(
        after_three_failures,
        MINUTE // 4,
        [0, 0, 1, 1, 2, 19, 39],
        {
            security.failures: {"account": "ab", "address": "xyz"},
            security.logins: {"account": "ab", "address": "xyz"},
            security.resets: {"account": "ab"},
        },
    ),
    "ships": Drawn(
        too_shallow,
        10 * MINUTE,
        [0, 0, 1, 1, 2, 3],
        {
            ships.ships: {"name": "EO", "berth": "AB", "draught": [900, 960]},
            ships.berths: {"name": "AB", "gauge": "NS", "depth": [1000, 1040]},
            ships.tides: {"name": "NS", "height": [0, 30, 60]},
        },
        retention=HOUR,
    ),
}


@st.composite
def arrivals_of(draw, name, *, longest=26):
    """Events of an exhibit: some of one time, some late, some too late, some twice."""
    drawn = DRAWN[name]
    draws = random.Random(draw(st.integers(0, 2**32)))
    now, found = START, []
    for number in range(draw(st.integers(0, longest))):
        now += draws.choice(drawn.gaps) * drawn.step
        source = draws.choice([*drawn.fields, *list(drawn.fields)[:1]])
        value = {field: number if of is COUNT else draws.choice(of) for field, of in drawn.fields[source].items()}
        at = now - draws.choice([0, 0, 0, 1, 2, 3]) * drawn.step
        found += [Arrival(at, source, value)] * draws.choice([1, 1, 1, 1, 2])
    return found


def in_time(name, arrivals):
    """Those that are not too late, behind the latest before them."""
    patience = GALLERY[name].lateness // MICROSECOND + DRAWN[name].retention
    latest, found = 0, []
    for one in arrivals:
        if one.at >= latest - patience:
            found.append(one)
            latest = max(latest, one.at)
    return found


# ----------------------------------------------------------------------------------------------------------- the tests


@every
@settings(max_examples=max(15, settings().max_examples // 3))
@given(data=st.data())
def test_a_program_does_what_its_task_says(name, data):
    arrivals = data.draw(arrivals_of(name))
    assert standing(run_here(GALLERY[name], arrivals)) == standing(DRAWN[name].oracle(in_time(name, arrivals)))


@every
def test_the_events_of_the_gallery_give_what_the_task_says_and_show_it(name):
    exhibit = GALLERY[name]
    found = standing(run_here(exhibit))
    assert found == standing(DRAWN[name].oracle(exhibit.arrivals))
    assert found
    times = [one.at for one in exhibit.arrivals]
    assert times != sorted(times)  # something is late


@cache
def plan_of(name):
    """What the bridge makes of a program as a stream in three buckets, with the lateness of the exhibit."""
    exhibit = GALLERY[name]
    kinds = {str: t.StringType(), int: t.LongType()}
    schemas = {}
    for source in exhibit.sources:
        own = next(one.value for one in exhibit.arrivals if one.source is source)
        fields = [t.StructField(field, kinds[type(value)]) for field, value in own.items()]
        schemas[source.name] = t.StructType([t.StructField("at", t.TimestampType()), *fields])
    patience = f"{exhibit.lateness // MICROSECOND // 1000} milliseconds"
    return planned(exhibit.outputs, schemas, is_streaming=True, buckets=3, watermark=patience)


@every
@settings(max_examples=max(4, settings().max_examples // 12))
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_as_a_stream_of_spark_it_does_the_same_wherever_micro_batches_are_cut(name, data, seed):
    exhibit, draw = GALLERY[name], random.Random(seed)
    places = {source: place for place, source in enumerate(exhibit.sources)}
    arrivals = data.draw(arrivals_of(name, longest=16))
    arrivals.sort(key=lambda one: (one.at, places[one.source], *one.value.values()))  # Spark's order in one time
    patience = exhibit.lateness // MICROSECOND
    model = MicroBatches(plan_of(name), draw, patience // 1000)
    coming = sorted(arrivals, key=lambda one: one.at + draw.randrange(patience))
    rows = [Row(one.source.name, one.at, {"at": one.at, **one.value}) for one in coming]
    cuts = sorted(draw.randint(0, len(rows)) for _ in range(draw.randint(0, 3)))
    for first, until in pairwise([0, *cuts, len(rows)]):
        model.run(rows[first:until])
    last = exhibit.arrivals[0]  # moves the watermark beyond all that is asked for
    end = max((one.at for one in arrivals), default=START) + 10 * DAY
    mark = {field: "-" if isinstance(value, str) else -1 for field, value in last.value.items()}
    model.run([Row(last.source.name, end, {"at": end, **mark})])
    model.settle()
    assert model.letters == []
    results = [
        Result(one["output"], one["change"], one["key"], one["start"], one["end"], one["value"] or {})
        for one in model.results
        if one["end"] < end
    ]
    assert standing(results) == standing(DRAWN[name].oracle(arrivals))


@every
def test_memory_is_bounded_and_rows_are_spread_by_a_key(name):
    said = Engine(*GALLERY[name].outputs).explain()
    assert "memory" in said
    assert "unbounded" not in said
    split = [line for line in said.splitlines() if line.startswith("  partitioning")]
    assert split
    assert all(line.split()[1] == "by" for line in split)


@every
def test_nothing_is_left_in_memory_when_time_has_passed(name):
    exhibit = GALLERY[name]
    engine = Engine(*exhibit.outputs, lateness=exhibit.lateness)
    for at, source, value in exhibit.arrivals:
        engine.push(source, value, at=at)
    engine.advance(START + 100 * DAY)
    rows = {(one.source, next(iter(one.value.values()))) for one in exhibit.arrivals if one.source.table}
    assert engine.stats.retained == len(rows)  # of a table the last row of each key
    assert engine.stats.waiting == 0


def logic(module):
    """The lines of a program: all between its imports and its exhibit that are no comment, docstring or blank."""
    source = inspect.getsource(module)
    lines = source.splitlines()
    found = []
    for node in ast.parse(source).body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_exhibit = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EXHIBIT"
        if isinstance(node, ast.Import | ast.ImportFrom) or is_text or is_exhibit:
            continue
        said = ast.get_docstring(node, clean=False) if isinstance(node, ast.FunctionDef) else None
        own = lines[node.lineno - 1 : node.end_lineno]
        found += [line for line in own if line.strip() and not (said and said in line) and line.strip()[0] != "#"]
    return found


@every
def test_a_program_is_at_most_ten_lines(name):
    assert 5 < len(logic(sys.modules[f"examples.gallery.{name}"])) <= 10


def test_lines_of_a_program_are_counted_as_they_stand():
    assert len(logic(orders)) == 10
    assert logic(ships)[2] == "def under_keel(ship: Any, berth: Any, tide: Any) -> Any:"


@every
def test_the_page_shows_a_program_whole_and_nothing_else(name):
    """As Sphinx includes it: from the first line with a text on, up to one with another."""
    module = sys.modules[f"examples.gallery.{name}"]
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = (
        rf"literalinclude}} ../examples/gallery/{name}.py\n:language: python\n:start-at: (.*)\n:end-before: EXHIBIT\n"
    )
    (begins,) = re.findall(shown, page)
    lines = inspect.getsource(module).splitlines()
    first = next(n for n, line in enumerate(lines) if begins in line)
    last = next(n for n, line in enumerate(lines) if n > first and "EXHIBIT" in line)
    included = [line for line in lines[first:last] if line.strip() and '"""' not in line]
    assert included == logic(module)


def test_the_command_shows_all_six():
    outcome = CliRunner().invoke(main, [], terminal_width=200)
    assert outcome.exit_code == 0, outcome.output
    for name, exhibit in GALLERY.items():
        assert f" {name} " in outcome.output
        for result in run_here(exhibit):
            assert set(map(str, result.fields.values())) <= set(outcome.output.replace(",", " ").split())


def test_the_command_shows_what_is_asked_for_and_what_bounds_it():
    outcome = CliRunner().invoke(main, ["ships", "--explain"])
    assert outcome.exit_code == 0
    assert "x 02 06:50:00 shallow:" in outcome.output
    assert "memory O(versions)" in outcome.output
    assert "advertising" not in outcome.output


@pytest.mark.parametrize(("wrong", "instead"), [("shipps", "did you mean 'ships'?"), ("zebra", "choose one of these")])
def test_the_command_refuses_a_name_that_there_is_not(wrong, instead):
    outcome = CliRunner().invoke(main, [wrong])
    assert outcome.exit_code == 2
    assert f"got {wrong!r}; {instead}" in " ".join(outcome.output.split())


def test_without_java_the_command_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    outcome = CliRunner().invoke(main, ["ships", "--spark"])
    assert outcome.exit_code == 1
    assert "Error: Spark needs Java 17 or newer" in outcome.output
