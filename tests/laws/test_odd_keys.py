"""Keys of every kind that Python has are equal, or null, alike in every tier, and in whatever is restored.

Each value is made anew wherever it comes, so that nothing is found by its identity.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.columns.results import events_of
from restrictions import as_table, key_by, most_recently, optionally, retracting, tumbling
from restrictions.tables import (
    aggregate,
    changelog,
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    outer_join,
    reduce,
    to_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable

A, B = Reactive("A"), Reactive("B")
T, U = Reactive("T", table=True), Reactive("U", table=True)
AMSTERDAM = ZoneInfo("Europe/Amsterdam")
TWICE = datetime(2024, 10, 27, 2, 30, tzinfo=AMSTERDAM)  # the hour that comes twice
KINDS: dict[str, Callable[[], list[Any]]] = {
    "pairs": lambda: [(1, None), (1, math.nan), (1.0, 2.0), (1, 2), (None, None), (-0.0, 1), (0.0, True)],
    "nested": lambda: [(1, (None,)), (1, (2,)), (1, (math.nan,)), (1, (2.0,)), ()],
    "times": lambda: [TWICE, TWICE.replace(fold=1), TWICE + timedelta(hours=3)],
    "zones": lambda: [
        TWICE.replace(fold=1),
        TWICE.astimezone(UTC),
        TWICE.astimezone(timezone(timedelta(hours=1))),
        TWICE.replace(fold=1).astimezone(UTC),
    ],
    "numbers": lambda: [1, True, 1.0, Decimal(1), Decimal("NaN"), math.nan, -0.0, 0, 2**70, None],
    "others": lambda: ["x", b"x", (1, "x"), None, frozenset({1}), 1],
}
STREAMS = {
    "where": lambda: correlate(a=A, b=B, where=lambda a, b: a.k == b.k, yields=lambda a, b: (a.n, b.n)),
    "latest": lambda: correlate(
        a=A, b=B, yields=lambda a, b: (a.n, b.n), restrict=key_by(a="k", b="k") | most_recently("a", "b")
    ),
    "rows": lambda: changelog(inner_join(to_table(A, key="k"), to_table(B, key="k"))),
    "pairs of fields": lambda: inner_join(
        to_table(A, key=lambda row: (row.k, row.n % 2)), to_table(B, key=lambda row: (row.k, row.n % 2))
    ),
    "totals": lambda: inner_join(*(aggregate(one, count, by="k", restrict=tumbling(1_000)) for one in (A, B))),
}
TABLES = {
    "inner": lambda: inner_join(T, U),
    "left": lambda: left_join(T, U),
    "outer": lambda: outer_join(T, U),
    "totals": lambda: inner_join(reduce(T, count, by="k"), reduce(U, count, by="k")),
    "foreign": lambda: foreign_join(T, U, on="k", how="left"),
}


def ways(program, rows, cut):
    """What comes of rows in the reference, restored at the cut, in place, by pushes, and in two batches."""
    tiers: dict[str, Any] = {"reference": "reference", "restored": "reference", "in_place": "in_place"}
    for tier, chosen in {**tiers, "push": None, "push_many": None}.items():
        engine = Engine(program(), tier=chosen)
        told = []
        for place, part in enumerate((rows[:cut], rows[cut:])):
            if place and tier == "restored":
                engine = Engine.restore(engine.snapshot(), program(), tier=chosen)
            if tier != "push_many":
                for source, values in part:
                    told += engine.push(source, pushed(source, values))
            elif part:
                told += events_of(engine.push_many(columns(part)))
        yield tier, [repr(event.value) for event in told], len(engine.late)


def pushed(source, values):
    if not source.table:
        return values
    row = {name: values[name] for name in ("n", "k")}
    return Delete(values["key"]) if values["deleted"] else Update(values["key"], row)


def columns(part):
    found = {}
    for order, (source, values) in enumerate(part):
        for name, value in ({"order": order} | values).items():
            found.setdefault(source, {}).setdefault(name, []).append(value)
    return found


def agree(program, rows, cut):
    (_, expected, late), *others = ways(program, rows, cut)
    for tier, told, aside in others:
        assert (tier, told, aside) == (tier, expected, late)


NUMBERS = st.lists(st.integers(0, 99), min_size=1, max_size=12)


@pytest.mark.parametrize("name", STREAMS)
@given(st.sampled_from(sorted(KINDS)), NUMBERS, st.integers(0, 12))
def test_events_are_alike_in_every_tier(name, kind, numbers, cut):
    made = KINDS[kind]
    rows = [((A, B)[n % 2], {"n": place, "k": made()[n % len(made())]}) for place, n in enumerate(numbers)]
    agree(STREAMS[name], rows, cut)


@pytest.mark.parametrize("name", TABLES)
@given(st.sampled_from(sorted(KINDS)), NUMBERS, st.integers(0, 12))
def test_rows_are_alike_in_every_tier(name, kind, numbers, cut):
    made = KINDS[kind]
    rows = []
    for place, n in enumerate(numbers):
        values = {"key": made()[n % len(made())], "n": place, "k": made()[n // 7 % len(made())], "deleted": n > 80}
        rows.append(((T, U)[n % 2], values))
    agree(TABLES[name], rows, cut)


FORMS = {
    "filter": ((T,), lambda: filter_table(T, lambda row: row.n >= 0)),
    "outer": ((T, U), lambda: outer_join(T, U)),
    "latest": (
        (A, B),
        lambda: correlate(
            a=A,
            b=B,
            yields=lambda a, b: (a, b),
            restrict=retracting()
            | as_table(("a", "b"))
            | optionally("b")
            | key_by(a="k", b="k")
            | most_recently("a", "b"),
        ),
    ),
}


@pytest.mark.parametrize(("one", "other"), [(1, True), (0.0, -0.0), ((0.0, "x"), (-0.0, "x"))], ids=repr)
@pytest.mark.parametrize("name", FORMS)
def test_of_equal_keys_a_change_has_that_which_its_step_mentions_first(name, one, other):
    sources, program = FORMS[name]
    for drawn in product(product(sources, (one, other)), repeat=3):
        agree(
            program, [(source, {"key": k, "n": n, "k": k, "deleted": False}) for n, (source, k) in enumerate(drawn)], 1
        )


def test_the_row_that_is_replaced_gives_its_key():
    rows = [(U, {"key": True, "n": 0, "k": 0, "deleted": False}), (T, {"key": 1, "n": 1, "k": 0, "deleted": False})]
    for tier, (_, told), _ in ways(TABLES["outer"], rows, 1):
        assert told.startswith("Update(key=True, value=(Record({'n': 1"), tier


def test_windows_are_at_datetimes_in_every_output_of_a_batch():
    """Also where values of several types lie beside each other."""
    start, second = datetime(2024, 3, 1, tzinfo=UTC), timedelta(seconds=1)
    windowed = correlate(a=A, yields=lambda a, window: (a.k, window), restrict=tumbling(8))
    total = aggregate(A, count, by="k", restrict=tumbling(8))
    for outputs in (
        (windowed,),
        (windowed, correlate(a=A, yields=lambda a: a.k)),
        (total, changelog(total)),
        (changelog(total),),
    ):
        one, other = (Engine(*outputs, unit=second) for _ in range(2))
        pushed = [event.value for k in range(3) for event in one.push(A, {"k": k}, start + 5 * k * second)]
        batch = {A: {"k": [0, 1, 2], "at": [start + 5 * k * second for k in range(3)]}}
        assert [event.value for event in events_of(other.push_many(batch))] == pushed


@pytest.mark.parametrize("one", [math.nan, Decimal("NaN")], ids=["float", "decimal"])
@pytest.mark.parametrize(
    "within",
    [lambda nan: {"a": nan}, lambda nan: [1, nan], lambda nan: (1, nan), lambda nan: [({"a": (nan,)},)]],
    ids=["a record", "a list", "a tuple", "deep"],
)
def test_what_has_a_number_that_is_none_equals_nothing_be_it_the_same_object(within, one):
    rows = [(A, {"n": 0, "k": within(one)}), (B, {"n": 1, "k": within(one)}), (B, {"n": 2, "k": within(3)})]
    for tier, told, aside in ways(STREAMS["where"], rows, 1):
        assert (tier, told, aside) == (tier, [], 0)
    rows[0][1]["k"] = within(3)
    for tier, told, aside in ways(STREAMS["where"], rows, 1):
        assert (tier, told, aside) == (tier, ["(0, 2)"], 0)


GETTERS = {
    "two fields": (attrgetter("k", "n"), lambda one: (one.k, one.n)),
    "one field": (attrgetter("k"), lambda one: one.k),
    "a field of a field": (attrgetter("berth.k"), lambda one: one.berth.k),
}
KEYED = {
    "key_by": lambda get: correlate(
        a=A, b=B, yields=lambda a, b: (a.v, b.v), restrict=key_by(a=get, b=get) | most_recently("a", "b")
    ),
    "aggregate": lambda get: aggregate(A, count, by=get, restrict=tumbling(1_000)),
    "to_table": lambda get: to_table(A, key=get),
    "reduce": lambda get: reduce(to_table(A, key="v"), count, by=get),
    "union of tables": lambda get: inner_join(to_table(A, key=get), to_table(B, key=get)),
}


@pytest.mark.parametrize("getter", GETTERS)
@pytest.mark.parametrize("name", KEYED)
@settings(max_examples=settings().max_examples // 2)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=9), st.integers(0, 9)
)
def test_a_getter_of_several_fields_is_the_function_that_reads_them(name, getter, drawn, cut):
    rows = [(B if of_b else A, {"k": k, "n": n, "v": v, "berth": {"k": n}}) for v, (of_b, k, n) in enumerate(drawn)]
    rows = [one for one in rows if name not in ("aggregate", "to_table", "reduce") or one[0] is A]
    get, written = GETTERS[getter]
    (_, expected, _), *_ = ways(lambda: KEYED[name](written), rows, cut)
    for tier, told, _ in ways(lambda: KEYED[name](get), rows, cut):
        assert (tier, told) == (tier, expected)
