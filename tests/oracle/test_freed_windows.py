"""Joins of windowed totals against an oracle that never forgets: the same results, in the memory of the open windows.

Written from SEMANTICS 3.2 and 2.8. The oracle joins the totals of all windows from scratch after each step. Whichever
side comes first, and however the clock is cut, the changes that come out give that; and what is kept, and answers a
query, is what is of windows that some side has not freed.
"""

from __future__ import annotations

import math
from collections import Counter
from operator import itemgetter
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, Update, Window, correlate
from cartesius.columns.results import events_of
from restrictions import as_table, retracting, session, sliding, tumbling
from restrictions.tables import (
    aggregate,
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    max_,
    outer_join,
    reduce,
    sum_,
)
from restrictions.windows import final, on_close, on_content_change

INPUTS = [Reactive(name) for name in "abc"]
NAMES = Reactive("names", table=True)


class Kind(NamedTuple):
    """The windows of one input."""

    name: str
    lateness: int
    report: str
    retention: int | None = None

    def restriction(self):
        report = {"change": on_content_change, "close": on_close, "final": final}[self.report]
        match self.name:
            case "tumbling":
                return tumbling(5, lateness=self.lateness, report=report)
            case "sliding":
                return sliding(6, 3, lateness=self.lateness, report=report)
        return session(3, lateness=self.lateness, report=final if self.report == "final" else on_close)

    def closed_at(self, window):
        return window.end + (self.name == "session")

    def freed_at(self, window):
        return self.closed_at(window) + max(self.lateness, self.retention or 0)


KINDS = st.builds(
    Kind,
    st.sampled_from(["tumbling", "tumbling", "sliding", "session"]),
    st.sampled_from([0, 0, 2, 7]),
    st.sampled_from(["change", "close", "final"]),
    st.sampled_from([None, None, 0, 4, 12]),
)


def in_each_window(a, b):
    return correlate(
        a=a,
        b=b,
        where=lambda key_a, key_b: key_a[1] == key_b[1],
        yields=lambda a, b, key_a, key_b: ((key_a, key_b), a, b),
        restrict=retracting() | as_table(itemgetter(0)),
    )


def by_hand(a, b):
    return correlate(
        a=a,
        b=b,
        where=lambda key_a, key_b: key_a == key_b,
        yields=lambda a, b, key_a: (key_a, a, b),
        restrict=retracting() | as_table(lambda row: row[0]),
    )


def both(a, b):
    return {key: (a[key], b[key]) for key in a.keys() & b.keys()}


PROGRAMS = {  # how two tables are joined, and what comes out of their rows
    "inner": (inner_join, both),
    "left": (left_join, lambda a, b: {key: (a[key], b.get(key)) for key in a}),
    "outer": (outer_join, lambda a, b: {key: (a.get(key), b.get(key)) for key in a.keys() | b.keys()}),
    "mapped": (
        lambda a, b: inner_join(map_table(a, lambda n: -n), filter_table(b, lambda n: n % 2 == 1)),
        lambda a, b: {key: (-a[key], b[key]) for key in a.keys() & b.keys() if b[key] % 2 == 1},
    ),
    "by hand": (by_hand, lambda a, b: {key: (key, *row) for key, row in both(a, b).items()}),
    "in each window": (
        in_each_window,
        lambda a, b: {(k, j): ((k, j), a[k], b[j]) for k in a for j in b if k[1] == j[1]},
    ),
    "twice": (
        lambda a, b: outer_join(inner_join(a, b), map_table(a, lambda n: -n)),
        lambda a, b: {key: (both(a, b).get(key), -a[key]) for key in a},
    ),
    "totals": (
        lambda a, b: reduce(inner_join(a, b), count, by=lambda row: row[0] % 2),
        lambda a, b: dict(Counter(row[0] % 2 for row in both(a, b).values())),
    ),
    "greatest": (
        lambda a, b: reduce(inner_join(a, b), max_.of(lambda row: row[1]), by=lambda row: row[0] % 2),
        lambda a, b: {
            k: max(row[1] for row in both(a, b).values() if row[0] % 2 == k)
            for k in {row[0] % 2 for row in both(a, b).values()}
        },
    ),
}

STEPS = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 1), st.sampled_from("xy"), st.sampled_from([0, 1, 1, 2, 4, -3])), st.integers(0, 6)
    ),
    max_size=16,
)


def moves(drawn):
    """Return what was drawn as pushes (input, key, n, at) and clocks."""
    now, steps = 0, []
    for place, step in enumerate(drawn):
        now += step if isinstance(step, int) else max(step[2], 0)
        steps.append(now if isinstance(step, int) else (step[0], step[1], place + 1, now + min(step[2], 0)))
    return steps


def feed(engine, steps, *, in_batches=False):
    out = []
    for step in steps:
        if isinstance(step, int):
            out += engine.advance(step)
        elif in_batches:
            at, key, n, time = step
            out += events_of(engine.push_many({INPUTS[at]: {"key": [key], "n": [n], "at": [time]}}))
        else:
            at, key, n, time = step
            out += engine.push(INPUTS[at], {"key": key, "n": n}, at=time)
    return out


def apply(tables, events):
    for event in events:
        table = tables[event.reactive]
        if isinstance(event.value, Update):
            assert table.get(event.value.key, math.nan) != event.value.value  # no change without a change
            table[event.value.key] = event.value.value
        else:
            del table[event.value.key]


def totals(kinds):
    return [
        aggregate(source, sum_.of("n"), by="key", restrict=kind.restriction(), retention=kind.retention)
        for source, kind in zip(INPUTS, kinds, strict=False)
    ]


def joined(kinds, program):
    a, b = totals(kinds)
    return a, b, PROGRAMS[program][0](a, b)


def alive(kinds, key, clock):
    return any(clock < kind.freed_at(key[1]) for kind in kinds)


@given(
    kinds=st.tuples(KINDS, KINDS),
    program=st.sampled_from(sorted(PROGRAMS)),
    drawn=STEPS,
    behind=st.sampled_from([None, 0, 3]),
    cut=st.integers(0, 15),
)
def test_a_join_of_windowed_totals_gives_what_one_does_that_never_forgets(kinds, program, drawn, behind, cut):
    outputs = joined(kinds, program)
    tiers: list[Any] = ["reference", None, None]
    engines = [Engine(*outputs, lateness=behind, tier=tier) for tier in tiers]
    names = [output.name for output in outputs]
    tables = {name: {} for name in names}
    for place, step in enumerate([*moves(drawn), None]):
        if place == cut:
            blobs = [engine.snapshot() for engine in engines]
            engines = [
                Engine.restore(blob, *outputs, lateness=behind, tier=tier)
                for blob, tier in zip(blobs, tiers, strict=True)
            ]
        if step is None:
            found = [engine.close() for engine in engines]
        else:
            found = [feed(engine, [step], in_batches=engine is engines[2]) for engine in engines]
        assert found[0] == found[1]
        assert [(e.value, e.start, e.end, e.reactive) for e in found[2]] == [
            (e.value, e.start, e.end, e.reactive) for e in found[1]
        ]
        apply(tables, found[0])
        expected = PROGRAMS[program][1](tables[names[0]], tables[names[1]])
        assert tables[names[2]] == expected
        check_kept(engines, outputs, kinds, program, tables, names)


def check_kept(engines, outputs, kinds, program, tables, names):
    """What is kept is of windows that one side or the other has not freed."""
    clock = engines[0].clock
    for engine in engines[:2]:
        assert engine.stats == engines[0].stats
        for output, kind in zip(outputs[:2], kinds, strict=True):
            rows = {key: row for key, row in tables[output.name].items() if clock < kind.freed_at(key[1])}
            assert engine.query(output) == rows
        if program in ("inner", "left", "outer", "by hand", "in each window"):
            inside = [len([key for key in tables[name] if alive(kinds, key, clock)]) for name in names[:2]]
            kept = engine.stats.slots
            assert [kept[names[2], slot.name][0] for slot in slots_of(engine, names[2])] == inside
            rows = {
                key: row
                for key, row in tables[names[2]].items()
                if alive(kinds, key if isinstance(key[1], Window) else key[0], clock)
            }
            assert engine.query(outputs[2]) == rows


def slots_of(engine, name):
    return next(join.slots for join in engine._program.joins if join.name == name)


# ----------------------------------------------------------------------------------- beside what is in no window


@given(kind=KINDS, said=st.sampled_from([None, 0, 3, 9]), drawn=STEPS, is_outer=st.booleans(), cut=st.integers(0, 15))
def test_beside_rows_of_no_window_they_stay_for_as_long_as_it_is_said(kind, said, drawn, is_outer, cut):
    (totalled,) = totals([kind])
    names = foreign_join(
        totalled, NAMES, on=lambda n: n % 3, how="left" if is_outer else "inner", retention=said, restrict=None
    )
    outputs = (totalled, names)
    tiers: tuple[Any, ...] = ("reference", None)
    engines = [Engine(*outputs, tier=tier) for tier in tiers]
    tables = {output.name: {} for output in outputs}
    known, there = {}, {}
    for place, step in enumerate(moves(drawn)):
        if place == cut:
            engines = [
                Engine.restore(engine.snapshot(), *outputs, tier=tier)
                for engine, tier in zip(engines, tiers, strict=True)
            ]
        if isinstance(step, int) or step[0] == 0:
            found = [feed(engine, [step]) for engine in engines]
        else:
            if step[3] >= engines[0].clock:  # SEMANTICS 3.9: what is late is not used
                known[step[2] % 3] = step[1]
            found = [engine.push(NAMES, Update(step[2] % 3, step[1]), at=step[3]) for engine in engines]
        assert found[0] == found[1]
        for event in found[0]:
            if isinstance(event.value, Update):
                tables[event.reactive][event.value.key] = event.value.value
            else:
                del tables[event.reactive][event.value.key]
        clock = engines[0].clock
        there = {
            key: n
            for key, n in tables[totalled.name].items()
            if is_kept_for_ever(kind, said) or clock < max(kind.freed_at(key[1]), kind.closed_at(key[1]) + (said or 0))
        }
        rows = {key: (n, known.get(n % 3)) for key, n in there.items() if is_outer or n % 3 in known}
        for engine in engines:
            assert engine.query(names) == rows
            assert engine.stats.slots[names.name, "left"][0] == len(there)
        assert rows.items() <= tables[names.name].items()


def is_kept_for_ever(kind, said):
    return said is None and kind.retention is None


# ----------------------------------------------------------------------------------------------------------- soaks


@pytest.mark.parametrize("program", ["by hand", "greatest", "in each window", "twice"])
@pytest.mark.parametrize("name", ["tumbling", "session"])
def test_memory_stays_that_of_the_open_windows_with_ever_new_keys_and_a_moving_clock(name, program):
    kinds = (Kind(name, 0, "close"), Kind(name, 4, "change"))
    engine, held, blobs = Engine(*joined(kinds, program), lateness=3), [], []
    for at in range(400):
        feed(engine, [(side, f"{at // 3}", at, at) for side in (0, 1)])
        held.append(engine.stats.retained + engine.stats.waiting)
        if at in (200, 395):
            blobs.append(len(engine.snapshot()))
    assert max(held[100:]) <= max(held[:100]) <= 60
    assert blobs[1] <= 1.1 * blobs[0]  # rows and totals that nobody can change are not kept, either


# ------------------------------------------------------------------------------------------------------- completion


@given(kinds=st.tuples(KINDS, KINDS), drawn=STEPS, program=st.sampled_from(["inner", "outer", "greatest"]))
def test_it_completes_as_soon_as_nothing_can_come_any_more(kinds, drawn, program):
    """With what comes last it is done; what is merely to be freed is freed after that, and gives nothing."""
    outputs = joined(kinds, program)
    for tier in ("reference", None):
        engine = Engine(*outputs, tier=tier)
        feed(engine, moves(drawn))
        for source in INPUTS[:2]:
            engine.end(source)
        last = True
        while not engine.done:
            assert engine.next_deadline is not None
            last = engine.advance(engine.next_deadline) != []
        assert last
        while engine.next_deadline is not None:
            assert engine.advance(engine.next_deadline) == []
            assert engine.done
        assert all(engine.query(output) == {} for output in outputs if program != "greatest")
        assert engine.close() == []
