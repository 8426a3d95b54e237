"""Bindings of lists against brute force, written from their meaning: `itertools.combinations` over what there is.

The oracle keeps plain lists of what was pushed; after each push it makes every choice of n, asks a condition in plain
Python, and spends uses. For runs it folds over all events of a key from the beginning.
"""

from __future__ import annotations

from functools import reduce
from itertools import combinations, count, pairwise, product
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate, each, one_or_more, repeated, run, successive
from restrictions import affinely, as_table, at_most, fifo, first_match, key_by, most_recently, retracting, sliding

if TYPE_CHECKING:
    from collections.abc import Callable

FEWER = settings(max_examples=settings().max_examples // 2)
UNLIMITED = 10**6
LEFT, RIGHT = Reactive("left"), Reactive("right")


class Value(NamedTuple):
    number: int
    k: Any
    v: int


# ----------------------------------------------------------------------------------------------------------- conditions


class Condition(NamedTuple):
    """A condition as a correlation has it, and as plain Python has it."""

    traced: Any
    plain: Callable[[Value, tuple[Value, ...]], bool]


CONDITIONS = {
    "none": Condition(None, lambda y, xs: True),
    "alone": Condition(lambda y, xs: each(xs, lambda x: x.v > 0), lambda y, xs: all(x.v > 0 for x in xs)),
    "equal": Condition(
        lambda y, xs: each(xs, lambda x: (x.k == y.k) & (x.v != 1)),
        lambda y, xs: all(x.k == y.k and x.v != 1 for x in xs),
    ),
    "other": Condition(lambda y, xs: each(xs, lambda x: x.v <= y.v), lambda y, xs: all(x.v <= y.v for x in xs)),
    "neighbours": Condition(
        lambda y, xs: successive(xs, lambda a, b: a.v <= b.v) & successive(xs, lambda a, b: a.v + b.v >= y.v),
        lambda y, xs: all(a.v <= b.v and a.v + b.v >= y.v for a, b in pairwise(xs)),
    ),
    "items": Condition(
        lambda y, xs: (xs[0].v > 0) & (xs[-1].k == y.k) & (xs[0].v <= xs[-1].v),
        lambda y, xs: xs[0].v > 0 and xs[-1].k == y.k and xs[0].v <= xs[-1].v,
    ),
    "all of it": Condition(
        lambda y, xs: (
            each(xs, lambda x: (x.k == y.k) & (x.v > 0)) & successive(xs, lambda a, b: a.v != b.v) & (y.v < 3)
        ),
        lambda y, xs: all(x.k == y.k and x.v > 0 for x in xs) and all(a.v != b.v for a, b in pairwise(xs)) and y.v < 3,
    ),
}


def untraced(condition: Condition) -> Any:
    return lambda y, xs: condition.plain(y, tuple(xs))


# --------------------------------------------------------------------------------------------- every choice of n events


class Plan(NamedTuple):
    """What a correlation is to do; `restrict` builds it, the oracle reads it."""

    n: int
    condition: str
    is_traced: bool
    list_first: bool
    keyed: str  # "", "both", "list": whose events have the key k
    uses_of_list: int
    uses_of_single: int
    newest: int | None
    first: bool
    oldest_first: bool


PLANS = st.builds(
    Plan,
    n=st.integers(1, 3),
    condition=st.sampled_from(sorted(CONDITIONS)),
    is_traced=st.booleans(),
    list_first=st.booleans(),
    keyed=st.sampled_from(["", "both", "list"]),
    uses_of_list=st.sampled_from([UNLIMITED, UNLIMITED, 1, 2]),
    uses_of_single=st.sampled_from([UNLIMITED, UNLIMITED, 1]),
    newest=st.sampled_from([None, None, 2, 4]),
    first=st.sampled_from([False, False, True]),
    oldest_first=st.booleans(),
)
PUSHES = st.lists(
    st.tuples(st.sampled_from("xxxy"), st.sampled_from([1, 2, 2, None]), st.integers(0, 3)), min_size=4, max_size=14
)


def program(plan: Plan, left: Reactive = LEFT, right: Reactive = RIGHT, *, windows: Any = None) -> Reactive:
    keys = {"": {}, "both": {"y": "k", "xs": "k"}, "list": {"xs": "k"}}[plan.keyed]
    layers: Any = windows
    for layer in (
        key_by(**keys) if keys else None,
        fifo() if plan.oldest_first else None,
        first_match() if plan.first else None,
        at_most(plan.uses_of_list, "xs") if plan.uses_of_list == 2 else None,
        affinely("xs") if plan.uses_of_list == 1 else None,
        affinely("y") if plan.uses_of_single == 1 else None,
        most_recently("xs", n=plan.newest) if plan.newest else None,
    ):
        if layer is not None:
            layers = layer if layers is None else layers | layer
    condition = CONDITIONS[plan.condition]
    bound: dict[str, Any] = {"y": left, "xs": repeated(right, plan.n)}
    return correlate(
        slots=dict(reversed(bound.items())) if plan.list_first else bound,
        where=condition.traced if plan.is_traced or condition.traced is None else untraced(condition),
        yields=lambda y, xs, time_xs, key_xs: (y, xs, time_xs.start, time_xs.end, key_xs),
        restrict=layers,
    )


def expected(plan: Plan, pushes: list[tuple[str, Any, int]]) -> list[list[Any]]:
    return expected_of_batches(plan, [[push] for push in pushes])


def expected_of_batches(plan: Plan, batches: list[list[tuple[str, Any, int]]]) -> list[list[Any]]:
    """Enumerate from scratch after each batch."""
    xs: list[list[Any]] = []  # [value, uses left], oldest first
    ys: list[list[Any]] = []
    out = []
    time = dict(enumerate(place for place, batch in enumerate(batches) for _ in batch))  # of each number
    number = 0
    for batch in batches:
        fresh = []
        for slot, k, v in batch:
            fresh.append([Value(number, k, v), plan.uses_of_list if slot == "x" else plan.uses_of_single])
            (xs if slot == "x" else ys).append(fresh[-1])
            number += 1
            if slot == "x" and plan.newest:
                under = [x for x in xs if not plan.keyed or x[0].k == k]
                xs = [x for x in xs if x not in under[: -plan.newest]]
        rows = [
            (y, chosen)
            for y, chosen in product(ys, combinations(xs, plan.n))
            if any(new is part for new in fresh for part in (y, *chosen))
        ]

        def order(row: Any) -> list[int]:
            y, chosen = row
            numbers = [x[0].number for x in chosen]
            all_of_them = [*numbers, y[0].number] if plan.list_first else [y[0].number, *numbers]
            return all_of_them if plan.oldest_first else [-one for one in all_of_them]

        found = []
        for y, chosen in sorted(rows, key=order):
            parts = [y, *chosen]
            keyed = {"": [], "both": parts, "list": chosen}[plan.keyed]
            if keyed and (len({part[0].k for part in keyed}) > 1 or keyed[0][0].k is None):  # null: set aside
                continue
            values = tuple(x[0] for x in chosen)
            asked = (y[0], values)
            if plan.is_traced:  # there null equals nothing; in Python None equals None
                asked = (_unequal(y[0]), tuple(map(_unequal, values)))
            if any(part[1] == 0 for part in parts) or not CONDITIONS[plan.condition].plain(*asked):
                continue
            if plan.first and found:
                break
            for part in parts:
                part[1] -= 1
            key = values[0].k if plan.keyed else None
            found.append((y[0], list(values), time[values[0].number], time[values[-1].number], key))
        out.append(found)
        xs, ys = [x for x in xs if x[1]], [y for y in ys if y[1]]
    return out


def _unequal(value: Value) -> Value:
    """A value whose ``k`` equals nothing, if it is null."""
    return value if value.k is not None else value._replace(k=object())


def outcome(engine: Engine, pushes: list[tuple[str, Any, int]], *, since: int = 0) -> list[list[Any]]:
    out = []
    for number, (slot, k, v) in enumerate(pushes):
        events = engine.push(RIGHT if slot == "x" else LEFT, Value(since + number, k, v), at=since + number)
        assert len({event.identity for event in events}) == len(events)
        out.append([event.value for event in events])
    return out


def push_all(output: Reactive, pushes: list[tuple[str, Any, int]], cut: int | None = None) -> list[list[Any]]:
    engine = Engine(output)
    if cut is None:
        return outcome(engine, pushes)
    before = outcome(engine, pushes[:cut])
    return before + outcome(Engine.restore(engine.snapshot(), output), pushes[cut:], since=cut)


@pytest.fixture(autouse=True)
def _storable():
    from cartesius import storable

    storable(Value)


@given(plan=PLANS, pushes=PUSHES)
def test_every_choice_of_n_events_is_a_candidate(plan, pushes):
    assert push_all(program(plan), pushes) == expected(plan, pushes)


STEPS = Reactive("steps")
BATCHES = st.lists(
    st.lists(st.tuples(st.sampled_from("xxy"), st.sampled_from([1, 2, 2, None]), st.integers(0, 3)), max_size=4),
    max_size=5,
)


@correlate(step=STEPS)
def lefts(step):
    yield from [value for slot, value in step if slot == "y"]


@correlate(step=STEPS)
def rights(step):
    yield from [value for slot, value in step if slot == "x"]


@given(plan=PLANS, batches=BATCHES)
def test_several_events_of_one_step_are_one_batch(plan, batches):
    engine, numbers, out = Engine(program(plan, lefts, rights)), count(), []
    for time, batch in enumerate(batches):
        step = [(slot, Value(next(numbers), k, v)) for slot, k, v in batch]
        out.append([event.value for event in engine.push(STEPS, step, at=time)])
    assert out == expected_of_batches(plan, batches)


@FEWER
@given(plan=PLANS, pushes=PUSHES, data=st.data())
def test_snapshot_and_restore_anywhere_agrees(plan, pushes, data):
    cut = data.draw(st.integers(0, len(pushes)))
    assert push_all(program(plan), pushes, cut) == expected(plan, pushes)


@given(pushes=st.lists(st.tuples(st.sampled_from("xxxy"), st.integers(1, 3), st.integers(0, 3)), max_size=10))
def test_two_lists_of_one_correlation_are_chosen_independently(pushes):
    both = correlate(
        xs=repeated(RIGHT, 2),
        ys=repeated(LEFT, 2),
        where=lambda xs, ys: each(xs, lambda x: each(ys, lambda y: x.k == y.k)) & each(ys, lambda y: y.v != 1),
        yields=lambda xs, ys: (xs, ys),
    )
    values: dict[str, list[Value]] = {"x": [], "y": []}
    out = push_all(both, pushes)
    for number, ((slot, k, v), found) in enumerate(zip(pushes, out, strict=True)):
        values[slot].append(Value(number, k, v))
        new = values[slot][-1]
        assert found == [
            (list(xs), list(ys))
            for xs in reversed_choices(values["x"])
            for ys in reversed_choices(values["y"])
            if new in xs + ys and len({one.k for one in xs + ys}) == 1 and all(y.v != 1 for y in ys)
        ]


@given(
    pushes=st.lists(st.tuples(st.sampled_from("xxab"), st.integers(1, 2), st.integers(1, 2)), max_size=12),
    order=st.permutations(["a", "xs", "b"]),
    is_affine=st.booleans(),
)
def test_a_list_is_found_by_way_of_another_slot(pushes, order, is_affine):
    sources = {"a": Reactive("a"), "xs": Reactive("xs"), "b": Reactive("b")}
    bound: dict[str, Any] = {**sources, "xs": repeated(sources["xs"], 2)}
    chain = correlate(
        slots={name: bound[name] for name in order},
        where=lambda a, xs, b: (a.k == b.k) & each(xs, lambda x: x.v == b.v),
        yields=lambda a, xs, b: (a, xs, b),
        restrict=affinely("b") if is_affine else None,
    )
    engine = Engine(chain)
    there: dict[str, list[Value]] = {"a": [], "x": [], "b": []}
    for number, (slot, k, v) in enumerate(pushes):
        new = Value(number, k, v)
        there[slot].append(new)
        wanted = [
            {"a": [a], "xs": list(xs), "b": [b]}
            for a, xs, b in product(there["a"], combinations(there["x"], 2), there["b"])
            if new in (a, *xs, b) and a.k == b.k and all(x.v == b.v for x in xs)
        ]
        wanted.sort(key=lambda parts: [-one.number for name in order for one in parts[name]])
        if is_affine:
            wanted = [parts for place, parts in enumerate(wanted) if parts["b"] not in [w["b"] for w in wanted[:place]]]
            there["b"] = [b for b in there["b"] if [b] not in [parts["b"] for parts in wanted]]
        found = engine.push(sources["xs" if slot == "x" else slot], new)
        assert [event.value for event in found] == [(w["a"][0], w["xs"], w["b"][0]) for w in wanted]


def reversed_choices(values: list[Value]) -> list[tuple[Value, ...]]:
    return sorted(combinations(values, 2), key=lambda chosen: [-one.number for one in chosen])


@FEWER
@given(
    pushes=PUSHES,
    uses=st.sampled_from([None, 1, 2]),
    newest=st.sampled_from([None, 3]),
    is_keyed=st.booleans(),
    is_oldest_first=st.booleans(),
    retracts=st.booleans(),
)
def test_a_list_of_three_is_as_three_slots_of_one_reactive(pushes, uses, newest, is_keyed, is_oldest_first, retracts):
    def restrict(*slots: str) -> Any:
        parts = [
            *([key_by(y="k", **dict.fromkeys(slots, "k"))] if is_keyed else []),
            *([fifo()] if is_oldest_first else []),
            *([most_recently(*slots, n=newest)] if newest else []),
            *([retracting()] if retracts else [at_most(uses, "y")] if uses else []),
        ]
        return reduce(or_, parts) if parts else None

    listed = correlate(
        y=LEFT,
        xs=repeated(RIGHT, 3),
        where=lambda y, xs: each(xs, lambda x: x.v <= y.v),
        yields=lambda y, xs: (y, xs),
        restrict=restrict("xs"),
    )
    slots = correlate(
        y=LEFT,
        a=RIGHT,
        b=RIGHT,
        c=RIGHT,
        where=lambda y, a, b, c: (
            (a.number < b.number) & (b.number < c.number) & (a.v <= y.v) & (b.v <= y.v) & (c.v <= y.v)
        ),
        yields=lambda y, a, b, c: (y, [a, b, c]),
        restrict=restrict("a", "b", "c"),
    )
    engines = Engine(listed), Engine(slots)
    for number, (slot, k, v) in enumerate(pushes):
        found = [
            [
                (event.value, event.weight, event.start, event.end)
                for event in engine.push(RIGHT if slot == "x" else LEFT, Value(number, k, v), at=20 - number)
            ]
            for engine in engines
        ]
        assert found[0] == found[1]


@given(
    changes=st.lists(
        st.tuples(st.sampled_from("ttx"), st.integers(0, 2), st.sampled_from([0, 1, 2, None])), max_size=14
    ),
    n=st.integers(1, 3),
)
def test_a_table_of_lists_is_what_a_full_enumeration_shows(changes, n):
    tables = {"t": Reactive("t", table=True), "x": Reactive("x", table=True)}
    rows = correlate(x=tables["x"], yields=lambda x: x, restrict=retracting())
    shown = correlate(
        t=tables["t"],
        xs=repeated(rows, n),
        where=lambda t, xs, key_t: each(xs, lambda x: (x.k == key_t) & (x.v <= t)),
        yields=lambda t, xs: (t, [x.number for x in xs]),
        restrict=as_table("t") | retracting(),
    )
    engine = Engine(shown)
    present: dict[str, dict[int, Any]] = {"t": {}, "x": {}}
    for number, (slot, key, v) in enumerate(changes):
        present[slot].pop(key, None)
        value = v if slot == "t" else Value(number, (v or 0) % 3, key)
        if v is not None:
            present[slot][key] = value  # a changed row comes anew
        engine.push(tables[slot], Delete(key) if v is None else Update(key, value))
        wanted = {}
        for row, most in present["t"].items():
            fitting = [x for x in present["x"].values() if x.k == row and x.v <= most]
            choices = sorted(combinations(fitting, n), key=lambda chosen: [-x.number for x in chosen])
            if choices:
                wanted[row] = (most, [x.number for x in choices[0]])
        assert engine.query(shown) == wanted


@given(changes=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=12), n=st.integers(1, 3))
def test_what_takes_one_event_back_takes_back_every_choice_with_it(changes, n):
    table = Reactive("table", table=True)
    rows = correlate(t=table, yields=lambda t: t, restrict=retracting())
    lists = correlate(
        xs=repeated(rows, n), where=lambda xs: each(xs, lambda x: x[1] > 0), yields=lambda xs: xs, restrict=retracting()
    )
    engine = Engine(lists)
    present: dict[int, tuple[int, int]] = {}
    live: list[Any] = []
    for number, (key, v) in enumerate(changes):
        present.pop(key, None)
        present[key] = (number, v)  # a changed row comes anew
        for event in engine.push(table, Update(key, (number, v))):
            if event.weight > 0:
                live.append(event.value)
            else:
                live.remove(event.value)
        assert sorted(live) == sorted(
            list(chosen) for chosen in combinations(present.values(), n) if all(v > 0 for _, v in chosen)
        )


# --------------------------------------------------------------------------------------------------------- maximal runs

RISING = {
    "anything": (None, lambda values: True),
    "rising": (
        lambda values: all(a.v < b.v for a, b in pairwise(values)),
        lambda values: all(a.v < b.v for a, b in pairwise(values)),
    ),
    "begins above 0": (
        lambda values: values[0].v > 0 and (len(values) == 1 or values[-1].v >= values[-2].v),
        lambda values: values[0].v > 0 and (len(values) == 1 or values[-1].v >= values[-2].v),
    ),
}


class Runs(NamedTuple):
    where: str
    contiguity: str
    within: int | None
    is_keyed: bool
    is_affine: bool


RUNS = st.builds(
    Runs,
    where=st.sampled_from(sorted(RISING)),
    contiguity=st.sampled_from(["relaxed", "strict"]),
    within=st.sampled_from([None, 0, 2, 5]),
    is_keyed=st.booleans(),
    is_affine=st.booleans(),
)
OF_RUNS = st.lists(st.tuples(st.sampled_from("xxxy"), st.integers(1, 2), st.integers(0, 4)), max_size=14)


def program_of_runs(plan: Runs, *, more: Any = None, windows: Any = None) -> Reactive:
    layers: Any = more
    for layer in (
        windows,
        key_by(y="k", xs="k") if plan.is_keyed else None,
        affinely("xs") if plan.is_affine else None,
    ):
        if layer is not None:
            layers = layer if layers is None else layers | layer
    return correlate(
        y=LEFT,
        xs=one_or_more(RIGHT, where=RISING[plan.where][0], contiguity=plan.contiguity, within=plan.within),
        yields=lambda y, xs, time_xs: (y, xs, time_xs.start, time_xs.end),
        restrict=layers,
    )


class Fold:
    """The runs of all keys, and of one key which are open, oldest first; made from the beginning."""

    def __init__(self, plan: Runs) -> None:
        self.plan = plan
        self.runs: list[list[Value]] = []
        self.is_open: dict[int, bool] = {}  # by the identity of a run

    def take(self, value: Value) -> list[list[Value]]:
        """Take an event, and return the runs that it made, newest first."""
        plan, valid = self.plan, RISING[self.plan.where][1]
        mine = [one for one in self.runs if not plan.is_keyed or one[0].k == value.k]
        grown, made = [], []
        for one in mine:
            longer = [*one, value]
            is_short = plan.within is None or longer[-1].number - longer[0].number <= plan.within
            if self.is_open[id(one)] and is_short and valid(longer):
                grown.append(one)
                made.append(longer)
            elif plan.contiguity == "strict":
                self.is_open[id(one)] = False
        if not made and valid([value]):
            made.append([value])
        self.runs = [one for one in self.runs if not any(one is other for other in grown)] + made
        self.is_open.update({id(one): True for one in made})
        self.kept = [*getattr(self, "kept", []), *made]  # so that no identity is used twice
        return list(reversed(made))


def expected_of_runs(plan: Runs, pushes: list[tuple[str, int, int]]) -> list[list[Any]]:
    fold, ys, out = Fold(plan), list[Value](), []
    for number, (slot, k, v) in enumerate(pushes):
        value = Value(number, k, v)
        if slot == "x":
            made = fold.take(value)
            candidates = [(y, one) for y in reversed(ys) for one in made]
        else:
            ys.append(value)
            candidates = [(value, one) for one in reversed(fold.runs)]
        found = []
        for y, one in candidates:
            is_used = plan.is_affine and not any(one is other for other in fold.runs)
            if is_used or (plan.is_keyed and one[0].k != y.k):
                continue
            found.append((y, one, one[0].number, one[-1].number))
            if plan.is_affine:
                fold.runs = [other for other in fold.runs if other is not one]
        out.append(found)
    return out


@given(plan=RUNS, pushes=OF_RUNS)
def test_runs_are_what_a_fold_over_all_events_makes(plan, pushes):
    assert push_all(program_of_runs(plan), pushes) == expected_of_runs(plan, pushes)


@FEWER
@given(plan=RUNS, pushes=OF_RUNS, data=st.data())
def test_runs_go_on_after_a_restore_anywhere(plan, pushes, data):
    cut = data.draw(st.integers(0, len(pushes)))
    assert push_all(program_of_runs(plan), pushes, cut) == expected_of_runs(plan, pushes)


@given(plan=RUNS.map(lambda plan: plan._replace(is_affine=False)), pushes=OF_RUNS)
def test_beside_retracting_the_results_are_those_of_the_maximal_runs(plan, pushes):
    engine, fold, ys = Engine(program_of_runs(plan, more=retracting())), Fold(plan), list[Value]()
    live: list[Any] = []
    for number, (slot, k, v) in enumerate(pushes):
        value = Value(number, k, v)
        if slot == "x":
            fold.take(value)
        else:
            ys.append(value)
        for event in engine.push(RIGHT if slot == "x" else LEFT, value, at=number):
            if event.weight > 0:
                live.append(event.value)
            else:
                live.remove(event.value)
        assert sorted(live) == sorted(
            (y, one, one[0].number, one[-1].number)
            for y in ys
            for one in fold.runs
            if not plan.is_keyed or one[0].k == y.k
        )


@FEWER
@given(pushes=OF_RUNS, within=st.sampled_from([None, 3]))
def test_where_no_event_extends_a_run_each_is_a_run_of_its_own(pushes, within):
    alone = [
        correlate(
            y=LEFT,
            xs=one_or_more(RIGHT, where=lambda run: len(run) == 1, contiguity=contiguity, within=within),
            yields=lambda y, xs: (y, xs),
        )
        for contiguity in ("relaxed", "strict")
    ]
    single = correlate(y=LEFT, x=RIGHT, yields=lambda y, x: (y, [x]))
    assert push_all(alone[0], pushes) == push_all(alone[1], pushes) == push_all(single, pushes)


@FEWER
@given(pushes=OF_RUNS)
def test_in_a_run_without_a_condition_are_all_events_so_far(pushes):
    whole = correlate(xs=one_or_more(RIGHT), yields=lambda xs: xs, restrict=retracting())
    values = [Value(number, k, v) for number, (_, k, v) in enumerate(pushes)]
    events = run(whole, [(RIGHT, value) for value in values])
    assert [event.value for event in events if event.weight > 0] == [values[: n + 1] for n in range(len(values))]
    assert [event.value for event in events if event.weight < 0] == [values[: n + 1] for n in range(len(values) - 1)]


# ---- windows


def in_windows(make: Callable[[Any], Reactive], pushes: list[tuple[str, Any, int]], size: int, period: int) -> None:
    """Compare a correlation in windows with one of its own for each window, of what is in it."""
    whole, alone = Engine(make(sliding(size, period))), make(None)
    engines = {start: Engine(alone) for start in range(-size, len(pushes), period) if start + size > 0}
    for time, (slot, k, v) in enumerate(pushes):
        push = RIGHT if slot == "x" else LEFT, Value(time, k, v)
        apart = [
            (event.value[:4], event.weight)  # without the key
            for start, engine in sorted(engines.items())
            if start <= time < start + size
            for event in engine.push(*push, at=time)
        ]
        apart.sort(key=lambda pair: pair[1])  # it is one batch, whose retractions come first
        assert [(event.value[:4], event.weight) for event in whole.push(*push, at=time)] == apart


@FEWER
@given(
    plan=PLANS.map(lambda plan: plan._replace(first=False)),  # one of a step, whichever windows that has
    pushes=PUSHES,
    size=st.integers(1, 6),
    period=st.integers(1, 3),
)
def test_the_lists_of_each_window_are_those_of_a_correlation_of_its_own(plan, pushes, size, period):
    in_windows(lambda windows: program(plan, windows=windows), pushes, size // period * period or period, period)


@FEWER
@given(plan=RUNS, pushes=OF_RUNS, size=st.integers(1, 6), period=st.integers(1, 3), retracts=st.booleans())
def test_the_runs_of_each_window_are_those_of_a_correlation_of_its_own(plan, pushes, size, period, retracts):
    more = retracting() if retracts and not plan.is_affine else None
    in_windows(
        lambda windows: program_of_runs(plan, more=more, windows=windows),
        pushes,
        size // period * period or period,
        period,
    )
