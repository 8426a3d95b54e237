"""The law of nulls in totals (SEMANTICS 1.18): they are skipped, a total of none is null, and `count()` counts rows.

Rows with nulls come, change and go: rows of a table, results that are displaced, events in windows and sessions. The
reference tier, the tier in place and the kernels, with snapshots between, must give what DuckDB gives of the rows that
are there; a null group is none.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.columns.results import events_of
from restrictions import most_recently, retracting, session, sliding, tumbling
from restrictions.table_operators.aggregation import totalling, totalling_by
from restrictions.tables import aggregate, count, max_, mean, min_, reduce, sum_

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Event

T, A, NAN = Reactive("t", table=True), Reactive("a"), float("nan")
TYPES = {
    "n": pa.int64(),
    "m": pa.int64(),
    "f": pa.float64(),
    "d": pa.decimal128(9, 2),
    "s": pa.string(),
    "g": pa.string(),
    "x": pa.float64(),
}
SQL_TYPES = {"n": "bigint", "m": "bigint", "f": "double", "d": "decimal(9, 2)", "s": "text", "g": "text", "x": "double"}
TOTALS: dict[str, tuple[Any, str]] = {
    "count": (count, "count(*)"),
    "count n": (count.of("n"), "count(n)"),
    "count s": (count.of("s"), "count(s)"),
    "count n + m": (count.of(lambda row: row.n + row.m), "count(n + m)"),
    "sum n": (sum_.of("n"), "sum(n)"),
    "sum f": (sum_.of("f"), "sum(f)"),
    "sum d": (sum_.of("d"), "sum(d)"),
    "sum n + m": (sum_.of(lambda row: row.n + row.m), "sum(n + m)"),
    "mean n": (mean.of("n"), "avg(n)"),
    "mean f": (mean.of("f"), "avg(f)"),
    "min n": (min_.of("n"), "min(n)"),
    "min f": (min_.of("f"), "min(f)"),
    "max s": (max_.of("s"), "max(s)"),
    "min x": (min_.of("x"), "min(x)"),
    "max x": (max_.of("x"), "max(x)"),
    "sum x": (sum_.of("x"), "sum(x)"),
    "mean x": (mean.of("x"), "avg(x)"),
    "max n - m": (max_.of(lambda row: row.n - row.m), "max(n - m)"),
}
IN_KERNELS = {name for name in TOTALS if not name.endswith((" d", " s", " x"))}
"""What columns total: numbers, and counts of them; what is left, and NaN, is combined row by row."""
SMALL = st.none() | st.none() | st.integers(-3, 3)
ROWS = st.fixed_dictionaries(
    {
        "n": SMALL,
        "m": SMALL,
        "s": st.sampled_from([None, "a", "b"]),
        "f": SMALL.map(lambda n: None if n is None else n / 2),
        "x": st.none() | st.sampled_from([NAN, 0.5, 1.0, -2.0]),
        "d": SMALL.map(lambda n: None if n is None else Decimal(n) / 4),
        "g": st.sampled_from([None, "x", "y"]),
    }
).map(lambda row: {name: row[name] for name in TYPES})  # in the one order that the columns of a batch have
Row = dict[str, Any]
Step = tuple[Any, Row | None, int]
"""The key of a row, or what takes its place; the row, None if it is deleted; the time."""
seen: Counter[str] = Counter()


class Tiers:
    """One program in each tier, the kernels in the cuts that are drawn, and what stands of what each has given."""

    def __init__(self, output: Reactive, source: Reactive, *, in_kernels: bool) -> None:
        self.output, self.source, self.in_kernels = output, source, in_kernels
        self.reference, self.in_place = Engine(output, tier="reference"), Engine(output)
        self.kernels = Engine(output)
        self.stands: dict[Any, Any] = {}

    def push(self, steps: list[Step], *, is_restored: bool) -> None:
        """Push some steps, and check that all tiers give the same."""
        if is_restored:
            self.kernels = Engine.restore(self.kernels.snapshot(), self.output)
        given = [
            [event for key, row, at in steps for event in engine.push(self.source, self.pushed(key, row), at=at)]
            for engine in (self.reference, self.in_place)
        ]
        given.append(events_of(self.kernels.push_many({self.source: self.columns(steps)})))
        if self.in_kernels:
            assert self.kernels._why_row_by_row == ""
        self.compare(given)

    def close(self) -> None:
        """End all inputs, so that no session is open, and check that all tiers give the same."""
        self.compare([engine.close() for engine in (self.reference, self.in_place, self.kernels)])

    def compare(self, given: list[list[Event]]) -> None:
        """Check that tiers gave the same, and note what stands."""
        shown = [[(repr(event.value), event.start, event.end) for event in events] for events in given]
        assert shown[1] == shown[0]
        assert shown[2] == shown[0]
        for value in [event.value for event in given[0]]:
            if isinstance(value, Update):
                self.stands[value.key] = value.value
            elif isinstance(value, Delete):
                del self.stands[value.key]
            else:
                self.stands[None] = value

    def pushed(self, key: Any, row: Row | None) -> Any:
        if not self.source.table:
            return row
        return Delete(key) if row is None else Update(key, row)

    def columns(self, steps: list[Step]) -> pa.Table:
        columns = {name: [(row or {}).get(name) for _, row, _ in steps] for name in TYPES}
        found = {name: pa.array(columns[name], kind) for name, kind in TYPES.items()}
        found["at"] = pa.array([at for _, _, at in steps], pa.int64())
        if self.source.table:
            found["key"] = pa.array([key for key, _, _ in steps])
            found["deleted"] = pa.array([row is None for _, row, _ in steps])
        return pa.table(found)


DATABASE = duckdb.connect()


def duckdb_totals(members: list[tuple[int, Row]], sql: str, *, is_grouped: bool) -> dict[int, Any]:
    """Return what a database totals of rows, each in a group that has a number."""
    one = ", ".join(f"cast(? as {kind})" for kind in ("bigint", *SQL_TYPES.values()))
    rows = ", ".join([f"({one})"] * max(1, len(members)))
    values = [value for number, row in members for value in (number, *[row[name] for name in SQL_TYPES])]
    of = f"(values {rows}) as r(k, {', '.join(SQL_TYPES)})" + " where false" * (not members)
    query = f"select k, {sql} from {of} group by k" if is_grouped else f"select 0, {sql} from {of}"
    return dict(DATABASE.execute(query, values or [None] * (1 + len(SQL_TYPES))).fetchall())


def told(value: Any) -> Any:
    """Return what tells values apart: also of what type they are, and NaN equal to itself."""
    if isinstance(value, Decimal):
        return "Decimal", +value
    return type(value).__name__, "NaN" if value != value else value  # noqa: PLR0124 - NaN


def check(stands: dict[Any, Any], members: list[tuple[Any, Row]], sql: str, *, is_grouped: bool = True) -> None:
    """Compare totals with what a database gives of the rows that are there, each with its group."""
    groups = list(dict.fromkeys(group for group, _ in members))
    found = duckdb_totals([(groups.index(group), row) for group, row in members], sql, is_grouped=is_grouped)
    if is_grouped:
        expected = {group: told(found[number]) for number, group in enumerate(groups)}
        assert {key: told(value) for key, value in stands.items()} == expected
    elif stands:
        assert told(stands[None]) == told(found[0])
    seen["null"] += any(value is None for value in found.values())
    seen["not null"] += any(value is not None for value in found.values())


@st.composite
def cut(draw: st.DrawFn, steps: list[Step]) -> list[tuple[list[Step], bool]]:
    """Cut steps into batches, with a snapshot before some."""
    bounds = sorted(draw(st.sets(st.integers(1, max(1, len(steps) - 1)), max_size=3)))
    parts = [steps[first:last] for first, last in zip([0, *bounds], [*bounds, len(steps)], strict=True)]
    return [(part, draw(st.booleans())) for part in parts if part]


def grouped(rows: list[tuple[Any, Row]], by: bool) -> list[tuple[Any, Row]]:
    return [(row["g"] if by else None, row) for _, row in rows if not by or row["g"] is not None]


CHANGES = st.lists(st.tuples(st.integers(0, 3), st.none() | ROWS | ROWS | ROWS), min_size=1, max_size=12)
EVENTS = st.lists(st.tuples(ROWS, st.sampled_from([0, 0, 1, 2, 5])), min_size=1, max_size=12)
NAMES = st.sampled_from(sorted(TOTALS))


@given(data=st.data(), name=NAMES, by=st.booleans(), changes=CHANGES)
def test_totals_of_a_table_are_those_of_a_database(data: st.DataObject, name: str, by: bool, changes: Any) -> None:
    total, sql = TOTALS[name]
    tiers = Tiers(reduce(T, total, by="g" if by else None), T, in_kernels=name in IN_KERNELS)
    steps: list[Step] = [(key, row, at) for at, (key, row) in enumerate(changes)]
    rows: dict[Any, Row] = {}
    for part, is_restored in data.draw(cut(steps)):
        tiers.push(part, is_restored=is_restored)
        for key, row, _ in part:
            rows.pop(key, None)
            if row is not None:
                rows[key] = row
        check(tiers.stands, grouped(list(rows.items()), by), sql, is_grouped=by)


@pytest.mark.parametrize("name", ["sum f", "mean f"])
@pytest.mark.parametrize("is_restored", [False, True])
def test_a_total_of_which_nothing_is_left_is_of_any_kind(name: str, is_restored: bool) -> None:
    """So floats may follow ints, and what a snapshot has as 0, in kernels."""
    nothing: Row = dict.fromkeys("nmsfxdg")
    tiers = Tiers(reduce(T, TOTALS[name][0], by=None), T, in_kernels=True)
    tiers.push([(0, nothing, 0), (0, None, 1)], is_restored=False)
    tiers.push([(0, {**nothing, "f": 0.5}, 2), (1, nothing, 3)], is_restored=is_restored)
    tiers.push([(0, None, 4), (1, None, 5)], is_restored=is_restored)
    tiers.push([(2, {**nothing, "f": 1.5}, 6)], is_restored=is_restored)


def displacing(total: Any, by: bool) -> Reactive:
    """Return the total of the two newest events."""
    over = totalling_by(total, lambda row: row.g) if by else totalling(total)
    return correlate(x=A, yields=lambda x: x, restrict=retracting() | most_recently("x", n=2) | over)


@given(data=st.data(), name=NAMES, events=EVENTS)
def test_totals_of_what_is_displaced_are_those_of_a_database(data: st.DataObject, name: str, events: Any) -> None:
    total, sql = TOTALS[name]
    tiers = Tiers(displacing(total, by=False), A, in_kernels=False)
    steps: list[Step] = [(None, row, at) for at, (row, _) in enumerate(events)]
    for end in data.draw(cut(steps)):
        tiers.push(end[0], is_restored=end[1])
        done = steps[: end[0][-1][2] + 1]
        check(tiers.stands, [(None, row) for _, row, _ in done[-2:] if row is not None], sql, is_grouped=False)


Windows = dict[str, tuple[Any, "Callable[[int], list[tuple[int, int]]]"]]
WINDOWS: Windows = {
    "tumbling": (tumbling(5), lambda at: [(at // 5 * 5, at // 5 * 5 + 5)]),
    "sliding": (sliding(4, 2), lambda at: [(start, start + 4) for start in (at // 2 * 2 - 2, at // 2 * 2)]),
}


@given(data=st.data(), name=NAMES, windows=st.sampled_from(sorted(WINDOWS)), by=st.booleans(), events=EVENTS)
def test_totals_in_windows_are_those_of_a_database(
    data: st.DataObject, name: str, windows: str, by: bool, events: Any
) -> None:
    total, sql = TOTALS[name]
    restrict, of = WINDOWS[windows]
    tiers = Tiers(aggregate(A, total, by="g" if by else None, restrict=restrict), A, in_kernels=name in IN_KERNELS)
    at, steps = 10, []
    for row, wait in events:
        at += wait
        steps.append((None, row, at))
    members: list[tuple[Any, Row]] = []
    for part, is_restored in data.draw(cut(steps)):
        tiers.push(part, is_restored=is_restored)
        for _, row, time in part:
            assert row is not None
            for window in of(time):
                members += [((row["g"], window) if by else window, row)] if not by or row["g"] is not None else []
        check(plain_windows(tiers.stands), members, sql)


@given(data=st.data(), name=NAMES, events=EVENTS)
def test_totals_in_sessions_are_those_of_a_database(data: st.DataObject, name: str, events: Any) -> None:
    total, sql = TOTALS[name]
    tiers = Tiers(aggregate(A, total, by="g", restrict=session(3)), A, in_kernels=False)
    at, steps = 10, []
    for row, wait in events:
        at += wait
        steps.append((None, row, at))
    for part, is_restored in data.draw(cut(steps)):
        tiers.push(part, is_restored=is_restored)
    tiers.close()
    check(numbered_sessions(tiers.stands), sessions(steps, 3), sql)


def sessions(steps: list[Step], gap: int) -> list[tuple[Any, Row]]:
    """Return rows with the number of the session, of the key, in which they are."""
    found: list[tuple[Any, Row]] = []
    latest: dict[Any, tuple[int, int]] = {}
    for _, row, at in steps:
        assert row is not None
        if row["g"] is None:
            continue
        number, last = latest.get(row["g"], (-1, 0))
        number += number < 0 or at > last + gap
        latest[row["g"]] = number, at
        found.append(((row["g"], number), row))
    return found


def plain_windows(stands: dict[Any, Any]) -> dict[Any, Any]:
    """Return totals by window, as a pair, or by key and window."""
    return {
        (key[0], (key[1].start, key[1].end)) if type(key) is tuple else (key.start, key.end): value
        for key, value in stands.items()
    }


def numbered_sessions(stands: dict[Any, Any]) -> dict[Any, Any]:
    """Return totals by key and number of the session."""
    numbers: Counter[Any] = Counter()
    found = {}
    for (key, _), value in sorted(stands.items(), key=lambda item: (item[0][0], item[0][1].start)):
        found[key, numbers[key]] = value
        numbers[key] += 1
    return found


def test_the_law_has_seen_totals_of_nothing_and_of_something() -> None:
    seen.clear()
    test_totals_of_a_table_are_those_of_a_database()
    assert min(seen["null"], seen["not null"]) >= 5


ALIKE = [float("nan"), Decimal("NaN"), 1, 1.0, True, Decimal(1), Decimal("2.5"), 2.5, None]


@given(st.lists(st.sampled_from(ALIKE), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_the_least_and_the_greatest_depend_on_no_order(values, draw):
    """Of equal values of several types, and of several kinds of NaN, it is always the same one."""
    other = draw.sample(values, len(values))
    for total in (min_, max_):
        found = set()
        for given_ in (values, other):
            for tier in ("reference", None):
                engine, last = Engine(reduce(T, total), tier=tier), None
                for key, value in enumerate(given_):
                    for event in engine.push(T, Update(key, value)):
                        last = event.value
                found.add(repr(last))
            engine = Engine(reduce(T, total))
            events = events_of(engine.push_many({T: {"key": [*range(len(given_))], "value": list(given_)}}))
            found.add(repr(events[-1].value if events else None))
        assert len(found) == 1
