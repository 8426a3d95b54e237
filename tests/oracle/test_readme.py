"""README's programs by plain code: each click to the ad seen last, each echo to the nearest report, be it later."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from cartesius import Engine
from cartesius.columns.results import events_of
from tests.documents import ROOT, of_language

PAGE = ROOT / "README.md"
NEAR = 5
GAPS = st.integers(0, 4)
ROWS = st.lists(st.tuples(GAPS, st.sampled_from(["echo", "report"]), st.integers(0, 1)), max_size=25)


def readme() -> dict[str, Any]:
    """What README's programs define, down to the one with a restriction of its own."""
    names: dict[str, Any] = {"__name__": "readme"}
    for block in of_language("python", PAGE):
        exec(compile(block.code, str(PAGE), "exec"), names)
        if "sightings" in names:
            break
    return names


README = readme()


def nearest(rows: list[tuple[int, str, int, int]]) -> list[tuple[int, int]]:
    """Pairs of numbers: an echo, as soon as all that is near has come, and the nearest report that is left.

    What the clock decides at one time comes cell by cell, that first which waited first.
    """
    found, used = [], set[int]()
    first: dict[tuple[int, int], int] = {}
    for at, kind, cell, number in rows:
        if kind == "echo":
            first.setdefault((at, cell), number)
    for at, kind, cell, number in rows:
        if kind != "echo":
            continue
        there = [
            (abs(at - other), -which, which)
            for other, of, where, which in rows
            if of == "report" and where == cell and abs(at - other) <= NEAR and which not in used
        ]
        if there:  # of two that are equally near, the one that came last
            used.add(min(there)[2])
            found.append((at, first[at, cell], number, min(there)[2]))
    return [(number, which) for _, _, number, which in sorted(found)]


@given(drawn=ROWS)
@example(drawn=[(0, "echo", 1), *[(0, "report", 1)] * 2, (0, "echo", 0), (0, "echo", 1), (0, "report", 0)])
def test_each_echo_has_the_report_nearest_in_time_in_every_tier(drawn):
    rows, now = [], 0
    for number, (gap, kind, cell) in enumerate(drawn):
        now += gap
        rows.append((now, kind, cell, number))
    for tier in ("reference", "in_place"):
        engine = Engine(README["sightings"], **README["options"], tier=tier)
        events = [
            event
            for at, kind, cell, number in rows
            for event in engine.push(README[kind], {"cell": cell, "ship": number, "size": number}, at=at)
        ]
        events += engine.close()
        assert [(event.value["size"], event.value["ship"]) for event in events] == nearest(rows)
        assert engine.stats.retained == engine.stats.waiting == 0
    engine = Engine(README["sightings"], **README["options"])
    columns: dict[Any, dict[str, list[int]]] = {}
    for at, kind, cell, number in rows:
        row = {"cell": cell, "ship": number, "size": number, "start": at, "end": at, "order": number}
        for name, value in row.items():
            columns.setdefault(README[kind], {}).setdefault(name, []).append(value)
    events = [*(events_of(engine.push_many(columns)) if columns else []), *engine.close()]
    assert [(event.value["size"], event.value["ship"]) for event in events] == nearest(rows)


def credited(rows: list[tuple[int, str, int, int]]) -> list[tuple[int, int]]:
    """Of each click its user and the ad that they saw last, if that was at most a day before."""
    last: dict[int, tuple[int, int]] = {}
    found = []
    for at, kind, user, number in rows:
        if kind == "ad":
            last[user] = (at, number)
        elif user in last and at - last[user][0] <= 24:
            found.append((user, last[user][1]))
    return found


@given(drawn=st.lists(st.tuples(st.integers(0, 13), st.sampled_from(["ad", "click"]), st.integers(0, 1)), max_size=25))
@example(drawn=[(0, "ad", 0), (0, "ad", 0), (24, "click", 0), (0, "click", 0), (1, "click", 0)])
def test_each_click_goes_to_the_ad_that_its_user_saw_last_at_most_a_day_before(drawn):
    rows, now = [], 0
    for number, (gap, kind, user) in enumerate(drawn):
        now += gap
        rows.append((now, kind, user, number))
    for tier in ("reference", "in_place"):
        engine = Engine(README["credited"], unit=timedelta(hours=1), lateness=0, tier=tier)
        events = [
            event
            for at, kind, user, number in rows
            for event in engine.push(README[kind], {"user": user, "id": number}, at=at)
        ]
        assert [event.value for event in events] == credited(rows)


def test_the_memory_of_both_programs_is_bounded():
    for program in (README["credited"], README["sightings"]):
        lines = [line for line in Engine(program).explain().splitlines() if "memory" in line]
        assert len(lines) == 2
        assert all("O(window)" in line for line in lines)
