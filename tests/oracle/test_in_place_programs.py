"""Programs of several correlations in place, against the reference tier: a push meets the deadlines of all of them.

What is drawn covers bands, also behind another correlation, rows that come without a partner, absences, windows that
are freed, totals that come as windows or sessions end, tables, and what is left to the clauses; bodies that fail as a
deadline is met; several outputs, in whatever order.
"""

from __future__ import annotations

import functools
import operator
import random
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.core import direct_pushes
from cartesius.direct.direct_texts import DirectText
from restrictions import (
    affinely,
    aligning,
    earliest,
    fifo,
    first_match,
    in_event_time,
    key_by,
    most_recently,
    only,
    retracting,
    session,
    sliding,
    take,
    tumbling,
    versioned,
    within,
    without,
)
from restrictions.gates.folding import accumulating, distinctly, skipping
from restrictions.streams import (
    buffer,
    combine_latest,
    distinct_until_changed,
    filter_,
    group_by,
    interval_join,
    map_,
    merge,
    rolling,
    sample,
    scan,
    skip_while,
    stream_table_join,
    with_latest_from,
    zip_,
)
from restrictions.tables import (
    aggregate,
    changelog,
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    outer_join,
    sum_,
    to_table,
)
from restrictions.windows import on_close
from tests.oracle.test_in_place import Both
from tests.oracle.test_in_place_clauses import newest

if TYPE_CHECKING:
    from collections.abc import Callable


LARGE = only("x", lambda x: x.n > 0)


class Sources:
    """Inputs to draw from: each anew, or sometimes one that is there, which comes to several correlations then."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._made: dict[bool, list[Reactive]] = {False: [], True: []}
        self._again = draw.choice([0, 0, 0.4])

    def one(self, *besides: Reactive, table: bool = False) -> Reactive:
        """An input that is none of some."""
        made = [one for one in self._made[table] if one not in besides]
        if made and self._draw.random() < self._again:
            return self._draw.choice(made)
        new = Reactive(f"{'t' if table else 's'}{len(self._made[table])}", table=table)
        self._made[table].append(new)
        return new


def of_pair(x: Any, y: Any) -> dict[str, Any]:
    """A row of two, either of which may be missing; it fails for some."""
    one, other = (x or y), (y or x)
    return {"n": one.n, "k": one.k, "j": 6 // (other.n + other.j + 1 if other.n < 4 else other.j)}


def a_part(draw: random.Random, sources: Sources) -> list[Reactive]:
    """One correlation, or some of which one is made from the other."""
    a = sources.one()
    b = sources.one(a)
    key = draw.choice([None, "k"])
    same: Any = key_by(x="k", y="k")

    def near(one: Reactive, how: str = "inner") -> Reactive:
        return interval_join(one, b, -draw.randrange(4), draw.randrange(4), key=key, how=how)

    def absent() -> list[Reactive]:
        window: Any = without(b, after="x", within=draw.randrange(1, 5))
        window = window if key is None else key_by(x="k", **{b.name: "k"}) | window
        return [correlate(x=a, yields=lambda x: of_pair(x, x), restrict=window)]

    def chain() -> list[Reactive]:
        c = sources.one(a, b)
        late = [near(a, "left"), near(a, "full"), *absent()]  # of which some comes at deadlines
        first = map_(draw.choice([near(a), merge(a, b), draw.choice(late)]), of_both)
        rest: list[Callable[[], Reactive]] = [
            lambda: interval_join(first, c, -2, 2, key=key),
            lambda: with_latest_from(first, c),
            lambda: filter_(first, lambda row: row["j"] > 1),
            lambda: to_table(first, key="k"),
            lambda: aggregate(first, count, by="k", restrict=draw.choice(totals)),
            lambda: correlate(x=first, yields=lambda x: x.n, restrict=without(c, after="x", within=2)),
            lambda: correlate(x=c, yields=lambda x: x.n, restrict=without(first, after="x", within=3)),
        ]
        made = [one() for one in draw.sample(rest, draw.choice([1, 1, 2, 3]))]
        return [*made, *draw.choice([[], [], [first]])]

    def of_tables() -> list[Reactive]:
        t = sources.one(table=True)
        u = sources.one(t, table=True)
        joins = [inner_join(t, u), left_join(t, u), foreign_join(t, u, on="k"), outer_join(t, u), t]
        if draw.random() < 0.4:
            return draw.sample(joins[:-1], 2)
        made = draw.choice(joins)
        more = [map_table(made, of_both), changelog(made), filter_table(made, bool)]
        return draw.sample(more, draw.choice([1, 1, 2]))

    def sharing() -> list[Reactive]:
        stack = draw.choice([same | most_recently("x", "y") | LARGE, most_recently("x", "y") | LARGE])
        return [correlate(x=a, y=other, yields=of_pair, restrict=stack) for other in (b, sources.one(a, b))]

    def linked() -> list[Reactive]:
        stack: Any = draw.choice([within(3, "x", "y"), most_recently("x", "y"), affinely("x", "y"), most_recently("x")])
        stack = draw.choice([stack, key_by(x="j", y="j") | stack])
        made = correlate(x=a, y=b, where=lambda x, y: x.k == y.k, yields=of_pair, restrict=stack)
        return draw.sample([made, map_(made, of_both), filter_(made, lambda row: row["j"] > 1)], draw.choice([1, 2]))

    def counted() -> list[Reactive]:
        made = aggregate(draw.choice([a, a, merge(a, b)]), count, by="k", restrict=draw.choice(totals))
        more = [filter_table(made, lambda n: n > 1), changelog(made), map_table(made, lambda n: 6 // (n % 3 + 1))]
        return [*draw.sample(more, draw.choice([1, 2])), *draw.choice([[], [made]])]

    def by_clauses() -> list[Reactive]:
        """Some that call clauses, with some beside and behind them that have functions."""
        stack: Any = draw.choice(
            [
                first_match() | within(3, "x", "y"),
                affinely("x", "y") | first_match(),
                first_match() | fifo() | most_recently("x"),
                retracting() | most_recently("x", "y"),
                most_recently("x", "y") | take(4),
                retracting() | versioned("x", retention=3),
                session(2) | most_recently("x", "y"),
                newest("x", "y"),
            ]
        )
        made = [
            scan(a, lambda total, x: {**of_pair(x, x), "n": total["n"] + x.n}, initial={"n": 0, "k": 0, "j": 0}),
            rolling(a, 2),
            sample(a, b),
            distinct_until_changed(map_(a, lambda x: x.k)),
            buffer(a, 2),
            correlate(x=a, y=b, yields=of_pair, restrict=draw.choice([stack, same | stack])),
            correlate(x=a, y=a, where=lambda x, y: x.n < y.n, yields=of_pair, restrict=within(3, "x", "y")),
            correlate(
                x=a, y=map_(a, of_both), where=lambda x, y: x.k == y.k, yields=of_pair, restrict=within(2, "x", "y")
            ),
            correlate(
                x=map_(a, of_both), y=a, yields=of_pair, restrict=tumbling(4, report=on_close) | affinely("x", "y")
            ),
            correlate(x=a, y=b, z=a, yields=lambda x, y, z: (x.n, y.n, z.n), restrict=most_recently("x", "y", "z")),
        ]
        some = draw.sample(made, draw.choice([1, 1, 2]))
        behind = [map_(one, lambda value: value) for one in some if draw.random() < 0.4]
        beside = [map_(a, lambda x: 6 // (x.n + 1)), near(a), aggregate(a, count, by="k", restrict=draw.choice(totals))]
        return [*some, *behind, *draw.sample(beside, draw.choice([0, 1, 1, 2]))]

    def of_kept_rows() -> list[Reactive]:
        """A table of which some that call clauses are made, and some that have functions."""
        t = sources.one(table=True)
        stack: Any = draw.choice(
            [retracting() | versioned("y", retention=3), first_match(), retracting() | newest("x")]
        )
        made = [
            correlate(x=a, y=t, where=lambda x, y: x.k == y.k, yields=of_pair, restrict=stack),
            stream_table_join(a, t, on="k"),
            map_table(t, of_both),
            changelog(t),
            left_join(t, sources.one(t, table=True)),
            foreign_join(t, t, on="k"),
        ]
        return draw.sample(made, draw.choice([2, 3]))

    def transduced() -> list[Reactive]:
        """Joins of what gates let on by what has come before."""
        gates = [
            distinctly("x", key=lambda x: x.n),
            skipping("x", lambda x: x.n < 2),
            accumulating("x", lambda total, x: {**of_pair(x, x), "n": (total["n"] + x.n) % 5}, initial=({"n": 0},)),
            LARGE,
            distinctly("y", key=lambda y: y.j),
            aligning("x", "y"),
        ]
        some = draw.sample(gates, draw.choice([1, 2, 3]))
        joins: list[Any] = [most_recently("x", "y"), within(3, "x", "y"), earliest("x"), affinely("x", "y"), take(6)]
        gated = functools.reduce(operator.or_, some, draw.choice(joins))
        made = correlate(x=draw.choice([a, map_(a, of_both)]), y=b, yields=of_pair, restrict=gated)
        keyed = correlate(x=a, y=b, yields=of_pair, restrict=same | gated)
        alone = [skip_while(a, lambda x: x.n < 2), scan(map_(a, lambda x: 6 // (x.n - 5)), max)]
        return draw.sample([made, keyed, map_(keyed, of_both), *alone], draw.choice([1, 2]))

    def taken_back() -> list[Reactive]:
        """Results that are taken back, and what is made of them."""
        kept: Any = draw.choice([most_recently("x", "y"), within(2, "x", "y") | most_recently("x")])
        stack: Any = retracting() | kept
        made = correlate(x=a, y=b, yields=of_pair, restrict=draw.choice([stack, same | stack]))
        mapped = map_(made, of_both)
        more = [mapped, map_(mapped, of_both), filter_(made, lambda row: row["j"] > 1), zip_(mapped, b), made]
        return [*draw.sample(more, draw.choice([1, 2])), *draw.choice([[], [map_(a, lambda x: x.n)]])]

    def completing() -> list[Reactive]:
        """What completes as the clock moves, or a gate lets go, or what is made of it; and what moves the clock."""
        c = sources.one(a, b)
        stacks: list[Any] = [
            take(1) | tumbling(2, report=on_close),
            take(1) | in_event_time(1),
            take(1) | without(c, after="x", within=2),
        ]
        once = correlate(x=b, yields=lambda x: x.n, restrict=draw.choice(stacks))
        made = draw.choice([once, zip_(once, c), sample(c, once), merge(once, c)])
        return [made, draw.choice([map_(a, lambda x: x.n), scan(a, lambda total, _: total), buffer(a, 2)])]

    totals: list[Any] = [
        session(3), tumbling(4), tumbling(4, report=on_close), sliding(4, 2, report=on_close), tumbling(4, lateness=2),
    ]  # fmt: skip
    wide = interval_join(a, b, -9, 9, key=key)  # of which results begin before a session is over, and come after
    windows: list[Any] = [tumbling(5), sliding(5, 2), tumbling(5, report=on_close), session(2)]
    parts: list[Callable[[], list[Reactive]]] = [
        lambda: [map_(near(a, draw.choice(["inner", "left", "full"])), of_both)],
        lambda: [filter_(absent()[0], lambda row: row["j"] > 1)],
        lambda: [correlate(x=a, y=b, yields=of_pair, restrict=within(3, "x", "y") | in_event_time(lateness=2))],
        lambda: [correlate(x=a, y=b, yields=of_pair, restrict=within(draw.randrange(1, 5), "x", "y"))],
        lambda: [near(a, draw.choice(["inner", "left", "full"]))],
        absent,
        absent,
        chain,
        chain,
        of_tables,
        of_tables,
        by_clauses,
        by_clauses,
        of_kept_rows,
        completing,
        taken_back,
        transduced,
        transduced,
        lambda: [aggregate(a, draw.choice([count, sum_.of("n")]), by="k", restrict=draw.choice(totals))],
        lambda: [aggregate(map_(wide, of_both), count, by="k", restrict=draw.choice(totals))],
        counted,
        lambda: [correlate(x=a, y=b, yields=of_pair, restrict=same | draw.choice(windows) | most_recently("x", "y"))],
        lambda: [correlate(x=a, y=b, yields=lambda x, y: x.n, restrict=same | most_recently("x", "y"))],
        linked,
        sharing,
        lambda: [stream_table_join(a, sources.one(table=True), on="k")],
        lambda: [zip_(a, b)],
        lambda: [combine_latest(a, b)],
        lambda: [combine_latest(b, a), correlate(x=a, y=b, yields=of_pair, restrict=most_recently("x", "y"))],
        lambda: [draw.choice([map_(a, lambda x: 6 // (x.n + 1)), filter_(a, lambda x: x.n > 1)])],
    ]
    return draw.choice(parts)()


def of_both(value: Any) -> Any:
    """A row of what has come, be it one or two."""
    return of_pair(*value) if isinstance(value, tuple) else of_pair(value, value)


def run(draw: random.Random) -> bool:
    """Run one program in both tiers; return whether most pushes have been done by functions."""
    with (
        mock.patch.object(direct_pushes, "PUSHES_BEFORE", draw.choice([0, direct_pushes.PUSHES_BEFORE])),
        mock.patch.object(direct_pushes, "LEFT_BEFORE", draw.choice([1, direct_pushes.LEFT_BEFORE])),
    ):
        return _run(draw)


def _run(draw: random.Random) -> bool:
    sources = Sources(draw)
    parts = [a_part(draw, sources) for _ in range(draw.choice([1, 2, 2, 3]))]
    outputs = list(dict.fromkeys([output for some in parts for output in some]))
    draw.shuffle(outputs)
    both = Both(*outputs, lateness=draw.choice([0, 0, 0, 2, None]))
    inputs = list(both.engines[0].inputs.values())
    now, is_tidy = 0, draw.random() < 0.5
    for place in range(30):
        now += draw.randrange(3)
        at = (
            now
            if is_tidy
            else draw.choice([now, now, now + draw.randrange(-2, 4), (now, now + draw.randrange(4)), None])
        )
        source = draw.choice(inputs)
        row = {"n": draw.randrange(6 if draw.random() < 0.05 else 4), "k": draw.randrange(2), "j": draw.randrange(3)}
        key = draw.randrange(3)
        change = Delete(key) if draw.random() < 0.2 else Update(key, row)
        both.call("push", source, change if source.table else row, at)
        if draw.random() < 0.08:
            both.call("advance", now + draw.randrange(3))
        if place == 15:
            both.swap()
    both.call("close")
    both.check()
    return sum(both.engines[1].stats.given_up.values()) < 7  # of the fifteen since the swap


@given(st.integers(0, 2**32))
def test_several_correlations_agree_whatever_comes(seed: int) -> None:
    run(random.Random(seed))


def test_many_programs_drawn_are_done_by_functions() -> None:
    assert sum(run(random.Random(f"{seed}")) for seed in range(40)) > 12


A, B, C, D = map(Reactive, "abcd")
NEAR = interval_join(A, B, -5, 5, key="k")


@pytest.mark.parametrize(
    "outputs",
    [
        [NEAR, interval_join(C, D, -5, 5, key="k")],
        [NEAR, interval_join(C, D, -5, 5, key="k", how="left")],
        [correlate(x=A, restrict=without(B, after="x", within=4), yields=lambda x: x.n), map_(C, lambda x: x.n)],
        [interval_join(map_(NEAR, lambda both: both[0]), C, -5, 5, key="k")],
        [
            aggregate(A, count, by="k", restrict=session(3)),
            aggregate(C, count, by="k", restrict=tumbling(5, report=on_close)),
        ],
        [NEAR, inner_join(Reactive("t", table=True), Reactive("u", table=True))],
        [
            correlate(x=A, y=B, yields=lambda x, y: x.n, restrict=key_by(x="k", y="k") | sliding(6, 3)),
            to_table(C, key="k"),
        ],
    ],
    ids=lambda outputs: " and ".join(one.name for one in outputs),
)
def test_no_deadline_is_left_to_the_clauses_whatever_it_is_due_in(outputs: list[Reactive]) -> None:
    engine, draw = Engine(*outputs, lateness=0), random.Random(3)
    inputs = list(engine.inputs.values())
    for time in range(300):
        source, row = draw.choice(inputs), {"k": draw.randrange(3), "n": draw.randrange(9)}
        engine.push(source, Update(draw.randrange(5), row) if source.table else row, time)
    assert sum(engine.stats.given_up.values()) == len(inputs)  # the first of each


def test_what_several_results_come_to_again_and_again_calls_its_clauses_and_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(direct_pushes, "PUSHES_BEFORE", 0)
    several = correlate(x=A, y=B, yields=lambda x, y: x.n + y.n, restrict=most_recently("x", "y", n=3))
    both = Both(scan(several, max), map_(several, lambda n: -n), lateness=0)
    for time in range(60):
        both.call("push", (A, B)[time % 2], {"n": time % 7}, time)
    left = both.engines[1].stats.given_up
    assert (
        0
        < sum(many for why, many in left.items() if why.startswith("several results"))
        <= 2 * direct_pushes.LEFT_BEFORE
    )
    both.check()


def test_what_is_only_pulled_may_call_clauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_pushes, "PUSHES_BEFORE", 0)
    table, told = group_by(filter_(A, lambda x: x.n > 2), "k"), map_(B, lambda x: x.n)
    engines = [Engine(told, pulled=[table], lateness=0, tier=tier) for tier in ("reference", None)]
    for n in range(8):
        first, second = [
            [event.value for event in engine.push((A, B)[n % 2], {"n": n, "k": 0}, n)] for engine in engines
        ]
        assert first == second
    rows, others = [engine.query(table) for engine in engines]
    assert rows == others
    assert rows


def test_who_is_interrupted_while_a_function_is_written_pushes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_pushes, "PUSHES_BEFORE", 0)
    engine = Engine(buffer(A, 2), map_(A, lambda x: x.n), lateness=0)
    with monkeypatch.context() as patch:
        patch.setattr(DirectText, "_pass_on", interrupt)
        with pytest.raises(KeyboardInterrupt):
            engine.push(A, {"n": 1}, 0)
    pushed = [engine.push(A, {"n": n}, n) for n in range(2, 5)]
    assert [event.value for out in pushed for event in out if type(event.value) is int] == [2, 3, 4]


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "windows", [tumbling(4), sliding(4, 2), key_by(x="k", y="k") | tumbling(4, lateness=2)], ids=repr
)
def test_what_a_gate_remembers_in_windows_goes_with_them(windows: Any):
    """Also by the pushes of another slot, and of the clock, that functions do."""
    x, y = Reactive("x", fields=("k",)), Reactive("y", fields=("k",))
    program = correlate(
        x=x,
        y=y,
        yields=lambda x, y: (x, y),
        restrict=windows | accumulating("x", lambda n, _: (n + 1) % 7, initial=(0,)),
    )
    engines = [Engine(program, tier=tier, lateness=0) for tier in ("reference", "in_place")]
    for n in range(60):
        for engine in engines:
            engine.push((x, x, y)[n % 3], {"k": n % 2}, n)
        assert engines[0].snapshot() == engines[1].snapshot()
