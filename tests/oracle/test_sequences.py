"""in_sequence against a listing of every combination of all events, judged by the definitions alone.

Events come in the order of time, with ties, and with intervals; some tests let them come in any order, where results
are facts, or take them back.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate, one_or_more, repeated, run
from restrictions import as_table, in_event_time, in_sequence, key_by, most_recently, retracting, within
from tests.oracle.sequence_oracle import Condition, Found, Item, Program, given, given_so_far, matches

NAMES = "abc"


def rising(one, other):
    return one.size <= other.size


def unlike(one, other):
    return one.size != other.size


def small(one):
    return one.size <= 1


def odd(*items):
    return sum(item.size for item in items) % 2 == 1


def conditions_of(which: str, names: str) -> tuple[Condition, ...]:
    """The conditions of a kind of ``where``, for variables a, b and perhaps c."""
    last = names[-1]
    return {
        "none": (),
        "neighbours": tuple(Condition((one, other), rising) for one, other in pairwise(names)),
        "ends": (Condition(("a", last), unlike),),
        "first": (Condition(("a",), small), Condition(("a", "b"), unlike)),
        "opaque": (Condition(tuple(names), odd),),
        "direct": (Condition(tuple(names), odd),),
    }[which]


WHERE: dict[tuple[str, int], Any] = {
    ("none", 2): None,
    ("none", 3): None,
    ("neighbours", 2): lambda a, b: a.size <= b.size,
    ("neighbours", 3): lambda a, b, c: (a.size <= b.size) & (b.size <= c.size),
    ("ends", 2): lambda a, b: a.size != b.size,
    ("ends", 3): lambda a, c: a.size != c.size,
    ("first", 2): lambda a, b: (a.size <= 1) & (a.size != b.size),
    ("first", 3): lambda a, b: (a.size <= 1) & (a.size != b.size),
    ("opaque", 2): lambda a, b: sum([a.size, b.size]) % 2 == 1,
    ("opaque", 3): lambda a, b, c: sum([a.size, b.size, c.size]) % 2 == 1,
}


def yields_two(a, b):
    return {"a": a, "b": b}


def yields_three(a, b, c):
    return {"a": a, "b": b, "c": c}


def directly_two(a, b):
    if (a.size + b.size) % 2 == 1:
        yield {"a": a, "b": b}


def directly_three(a, b, c):
    if (a.size + b.size + c.size) % 2 == 1:
        yield {"a": a, "b": b, "c": c}


WHICH = ["none", "neighbours", "ends", "first", "opaque", "direct"]


def latest_rows(source):
    """The events of a source; one takes back the one before that has the same row."""
    newest = key_by(x=lambda item: item.arrival % 4) | most_recently("x") | retracting()
    return correlate(x=source, yields=lambda x: x, restrict=newest, name=f"latest of {source.name}", type=Item)


class Case:
    """A program as the engine runs it, and as the oracle does."""

    def __init__(self, program: Program, which: str, *, is_retracting: bool = False, table: Any = None) -> None:
        self.program = program
        self.which = which
        self.inputs = [Reactive(f"source{number}", type=Item) for number in range(max(program.sources.values()) + 1)]
        bound = [latest_rows(source) for source in self.inputs] if is_retracting else self.inputs
        slots = {name: bound[source] for name, source in program.sources.items()}
        restrict: Any = in_sequence(*program.order, contiguity=program.contiguity, after_match=program.after)
        if program.is_keyed:
            restrict = key_by(**dict.fromkeys(slots, "key")) | restrict
        if program.within is not None:
            restrict |= within(program.within, *slots)
        if is_retracting:
            restrict |= retracting()
        if table is not None:
            restrict |= as_table(table)
        if which == "direct":
            body = directly_two if len(slots) == 2 else directly_three
            self.output = correlate(slots=slots, restrict=restrict)(body)
        else:
            self.output = correlate(
                slots=slots,
                where=WHERE[which, len(slots)],
                yields=yields_two if len(slots) == 2 else yields_three,
                restrict=restrict,
            )

    def __repr__(self) -> str:
        return repr(self.program)


@st.composite
def cases(draw, *, after=("no_skip",), has_free=True):
    names = NAMES[: draw(st.sampled_from([2, 3, 3]))]
    sources = {name: draw(st.integers(0, place)) for place, name in enumerate(names)}
    order = tuple(draw(st.permutations(names)))
    if has_free and len(names) == 3 and draw(st.integers(0, 2)) == 0:
        order = order[:2]
    strategy = draw(st.sampled_from([one for one in after if isinstance(one, str) or one[1] in order]))
    which = draw(st.sampled_from(WHICH))
    contiguity = draw(st.sampled_from(["relaxed", "strict", "any"]))
    duration = draw(st.sampled_from([None, None, 3, 5]))
    conditions = conditions_of(which, names)
    return Case(Program(sources, order, contiguity, strategy, draw(st.booleans()), duration, conditions), which)


@st.composite
def waiting_cases(draw):
    """Programs in which a later start is often complete before an earlier one."""
    names = NAMES[: draw(st.sampled_from([2, 3]))]
    is_alike = draw(st.integers(0, 2)) == 0  # each event may be any part, then
    sources = {name: 0 if is_alike else place for place, name in enumerate(names)}
    strategy = draw(st.sampled_from(["past_last", "past_last", ("to_first", "b"), ("to_last", names[-1])]))
    which = draw(st.sampled_from(["neighbours", "ends", "first", "opaque", "direct"]))
    contiguity = draw(st.sampled_from(["relaxed", "relaxed", "any", "strict"]))
    duration = draw(st.sampled_from([None, 2, 3, 5]))
    conditions = conditions_of(which, names)
    is_keyed = draw(st.integers(0, 3)) == 0
    return Case(Program(sources, tuple(names), contiguity, strategy, is_keyed, duration, conditions), which)


STEP = st.tuples(
    st.sampled_from([*range(5)] * 2 + [9]),  # the source, or a move of the clock
    st.sampled_from([0, 1, 1, 1, 2]),  # how much later
    st.sampled_from([0, 0, 0, 0, 1, 3]),  # how long
    st.sampled_from([0, 0, 1]),  # the key
    st.integers(0, 2),  # the size
)


@st.composite
def runs(draw, programs, *, is_ordered=True, begins=0):
    """A program, and its trace: events, and moves of the clock; in the order of ends, or in any that the clock lets.

    The first ones, as many as ``begins``, are starts.
    """
    case = draw(programs)
    sources = sorted(set(case.program.sources.values()))
    out: list[Any] = []
    clock = latest = 0
    for source, later, length, key, size in draw(st.lists(STEP, min_size=5, max_size=10)):
        if source == 9 and len(out) >= begins:
            clock = latest = max(clock, latest) + later
            out.append(clock)
            continue
        latest = latest + later if is_ordered else clock + 2 * later + size
        place = source % len(sources) if len(out) >= begins else 0
        out.append(Item(len(out), sources[place], latest - length, latest, key, size))
    return case, out


def key(row):
    return tuple(sorted((name, item.arrival) for name, item in row.items()))


def values(events):
    assert all(event.weight == 1 for event in events)
    return sorted(key(event.value) for event in events)


def steps(case, trace, restored=frozenset()):
    """Run a trace; for each step what came, what has been seen, the clock, and the engine's output."""
    engine = Engine(case.output)
    seen: list[Item] = []
    clock = float("-inf")
    for place, step in enumerate(trace):
        if place in restored:
            blob = engine.snapshot()
            engine = Engine.restore(blob, case.output)
            assert engine.snapshot() == blob
        if isinstance(step, Item):
            seen.append(step)
            emitted = engine.push(case.inputs[step.source], step, at=(step.start, step.end))
        else:
            clock = step
            emitted = engine.advance(step)
        engine._check_invariants()
        assert not engine.late
        yield step, list(seen), clock, emitted
    yield None, seen, float("inf"), engine.close()
    if case.program.within is not None:
        assert engine.stats.retained == 0


FEWER = settings(max_examples=settings().max_examples // 2)
RESTORED = st.sets(st.integers(0, 10), max_size=2)


@for_all(run=runs(cases()), restored=RESTORED)
def test_every_contiguity_gives_what_the_definition_says(run, restored):
    case, trace = run
    for step, seen, _, emitted in steps(case, trace, restored):
        found = [row for row in matches(case.program, seen) if step in row.values()]
        assert values(emitted) == sorted(map(key, found))


@for_all(run=runs(cases(), is_ordered=False), restored=RESTORED)
def test_a_late_event_finds_results_that_stand(run, restored):
    case, trace = run
    for step, seen, _, emitted in steps(case, trace, restored):
        found = [row for row in matches(case.program, seen) if step in row.values()]
        assert values(emitted) == sorted(map(key, found))


@pytest.mark.parametrize("after", [("to_first", "b"), ("to_last", "b")])
def test_an_event_is_one_place_also_where_its_part_of_a_match_that_waited_has_left(after):
    """To begin with the event that another match has as its second is not to begin before it."""
    restrict = in_sequence("a", "b", contiguity="any", after_match=after) | within(4, "a", "b")
    source = Reactive("source")
    pairs = correlate(a=source, b=source, where=lambda a, b: b >= a, yields=lambda a, b: (a, b), restrict=restrict)
    for before in ([], [(source, 9, 3)], [(source, 9, 4)]):  # which never meets anything, but might have
        trace = [*before, (source, 1, 4), (source, 2, 4), (source, 3, 5)]
        assert [event.value for event in run(pairs, trace, close=True)] == [(1, 2), (2, 3)]


def by_key(program, items):
    """Split what belongs to each key, if there are keys."""
    if not program.is_keyed:
        return [items]
    return [[item for item in items if item.key == one] for one in (0, 1)]


AFTER = ["to_next", "past_last", *[(how, name) for how in ("to_first", "to_last") for name in NAMES]]


@for_all(run=st.one_of(runs(cases(after=AFTER, has_free=False)), runs(waiting_cases(), begins=2)), restored=RESTORED)
def test_after_a_match_the_table_says_what_is_left_and_nothing_waits_longer_than_it_must(run, restored):
    case, trace = run
    program = case.program
    found: list[list[Found]] = [[] for _ in range(2)]
    before: list[Any] = []
    for number, (step, seen, clock, emitted) in enumerate(steps(case, trace, restored)):
        now = []
        for raw, items in zip(found, by_key(program, seen), strict=False):
            raw += [Found(row, number) for row in matches(program, items) if step in row.values()]
            over = clock == float("inf")
            now += given(program, raw) if over else given_so_far(program, raw, items, clock)
        rows = sorted(key(one.row) for one in now)
        new = rows.copy()
        for row in before:
            new.remove(row)  # what has been given is not taken back
        assert values(emitted) == new
        before = rows


# ------------------------------------------------------------------------------------------------------------- laws


def outcome(restrict, trace):
    """What comes of a trace on three sources."""
    inputs = {name: Reactive(name, type=Item) for name in NAMES}
    output = correlate(slots=inputs, yields=yields_three, restrict=restrict)
    pushes = [(list(inputs.values())[item.source], item, (item.start, item.end)) for item in trace]
    return [key(event.value) for event in run(output, pushes, close=True)]


@st.composite
def points(draw):
    """Events of three sources, in any order of time."""
    steps = draw(st.lists(STEP, min_size=4, max_size=12))
    return [
        Item(number, source % 3, 3 * later + size - length, 3 * later + size, key, size)
        for number, (source, later, length, key, size) in enumerate(steps)
    ]


@FEWER
@for_all(trace=points())
def test_sequences_compose_to_a_longer_one(trace):
    parts = in_sequence("a", "b", contiguity="any") | in_sequence("b", "c", contiguity="any")
    assert outcome(parts, trace) == outcome(in_sequence("a", "b", "c", contiguity="any"), trace)


@FEWER
@for_all(trace=points())
def test_each_contiguity_gives_less_than_the_next(trace):
    strict, relaxed, every = (
        set(outcome(in_sequence(*NAMES, contiguity=contiguity), trace)) for contiguity in ("strict", "relaxed", "any")
    )
    assert strict <= relaxed <= every


# --------------------------------------------------------------------------------------------- as regular expressions


YIELDS: dict[int, Any] = {
    2: lambda a, b: (a, b),
    3: lambda a, b, c: (a, b, c),
    4: lambda a, b, c, d: (a, b, c, d),
}


def spans(text: str, order: str, alike: int = 1, **options: Any) -> list[tuple[int, ...]]:
    """The places of the matches in a text whose letters are events, each of the slot of that name, in every tier.

    So many letters as are ``alike`` are of one time.
    """
    inputs = {letter: Reactive(letter) for letter in order}
    output = correlate(slots=inputs, yields=YIELDS[len(order)], restrict=in_sequence(*order, **options))
    trace = [(inputs[letter], place, place // alike) for place, letter in enumerate(text) if letter in order]
    found = [event.value for event in run(output, trace, close=True)]
    assert found == [event.value for event in run(output, trace, close=True, tier="reference")]
    engine = Engine(output)
    columns = {
        source: {"value": [v for s, v, _ in trace if s is source], "at": [t for s, _, t in trace if s is source]}
        for source in inputs.values()
    }
    many = engine.push_many({source: {**batch, "order": batch["value"]} for source, batch in columns.items()})
    given = [tuple(value.values()) for value in many.column("value").to_pylist()]
    assert found == [*given, *[event.value for event in engine.close()]]
    return found


def groups(pattern: str, text: str) -> list[tuple[int, ...]]:
    return [tuple(map(found.start, range(1, len(found.groups()) + 1))) for found in re.finditer(pattern, text)]


def yielding(name, count):
    """A body that yields so many values for an event."""

    def body_of_x(x):
        yield from [f"{name} {place}" for place in range(count)]

    def body_of_y(y):
        yield from [f"{name} {place}" for place in range(count)]

    return body_of_x if name == "item" else body_of_y


TEXTS = st.text("abcdx", max_size=24)
ALIKE = st.sampled_from([1, 2, 3, 100])


@FEWER
@for_all(text=TEXTS, order=st.sampled_from(["abc", "abcd"]), alike=ALIKE)
def test_a_sequence_is_a_regular_expression_over_the_letters(text, order, alike):
    first, *rest = order
    gaps = "".join(f"[^{letter}]*({letter})" for letter in rest)
    between = f"[^{order}]*"  # what is no letter of the sequence may lie between, be it strict
    strict = f"({first})" + "".join(f"{between}({letter})" for letter in rest)
    assert sorted(spans(text, order, alike)) == groups(f"(?=({first}){gaps})", text)
    assert sorted(spans(text, order, alike, contiguity="strict")) == groups(f"(?={strict})", text)
    assert spans(text, order, alike, after_match="past_last") == groups(f"({first}){gaps}", text)
    assert spans(text, order, alike, contiguity="strict", after_match="past_last") == groups(strict, text)


@FEWER
@for_all(text=TEXTS, alike=ALIKE)
def test_any_is_every_subsequence(text, alike):
    places = [place for place, letter in enumerate(text) if letter in "abc"]
    expected = [c for c in combinations(places, 3) if "".join(text[place] for place in c) == "abc"]
    assert sorted(spans(text, "abc", alike, contiguity="any")) == expected
    firsts = {start: min(c[::-1] for c in expected if c[0] == start)[::-1] for start, *_ in expected}
    assert sorted(spans(text, "abc", alike, contiguity="any", after_match="to_next")) == sorted(firsts.values())


# Flink's patterns, of events that are all of one time: what its tests of ties have as the matches, by hand.
FLINK = [
    # begin("a").next("b") …
    ("strict", "ab", "ab", [(0, 1)]),
    ("strict", "ab", "ba", []),
    ("strict", "ab", "aab", [(1, 2)]),
    ("strict", "ab", "abb", [(0, 1)]),
    ("strict", "abc", "abc", [(0, 1, 2)]),
    ("strict", "abc", "acb", []),
    ("strict", "abc", "abbc", []),
    # … .followedBy("b")
    ("relaxed", "ab", "ab", [(0, 1)]),
    ("relaxed", "ab", "aab", [(0, 2), (1, 2)]),
    ("relaxed", "ab", "abb", [(0, 1)]),
    ("relaxed", "abc", "abbc", [(0, 1, 3)]),
    ("relaxed", "abc", "acbc", [(0, 2, 3)]),
    ("relaxed", "abc", "cba", []),
    # … .followedByAny("b")
    ("any", "ab", "abb", [(0, 1), (0, 2)]),
    ("any", "ab", "aabb", [(0, 2), (0, 3), (1, 2), (1, 3)]),
    ("any", "ab", "bab", [(1, 2)]),
    ("any", "abc", "abbc", [(0, 1, 3), (0, 2, 3)]),
    ("any", "abc", "abcc", [(0, 1, 2), (0, 1, 3)]),
]


@pytest.mark.parametrize(("contiguity", "order", "text", "expected"), FLINK)
def test_events_of_one_time_follow_each_other_as_they_came(contiguity, order, text, expected):
    assert sorted(spans(text, order, 100, contiguity=contiguity)) == expected
    assert sorted(spans(text, order, contiguity=contiguity)) == expected  # as if each had a time of its own


def test_what_comes_in_one_step_is_ordered_by_slot_and_then_by_arrival():
    source = Reactive("source")
    items = correlate(x=source)(yielding("item", 2))
    others = correlate(y=source)(yielding("other", 2))
    pairs = correlate(
        a=items, b=others, yields=lambda a, b: (a, b), restrict=in_sequence("a", "b", contiguity="any"), name="pairs"
    )
    assert sorted(event.value for event in run(pairs, [(source, 1, 5)])) == [
        ("item 0", "other 0"),
        ("item 0", "other 1"),
        ("item 1", "other 0"),
        ("item 1", "other 1"),
    ]
    backwards = correlate(a=items, b=others, yields=lambda a, b: (a, b), restrict=in_sequence("b", "a"))
    assert run(backwards, [(source, 1, 5)]) == []


@pytest.mark.parametrize("tier", [None, "in_place", "reference"])
@pytest.mark.parametrize("gate", [None, in_event_time(0)])
def test_of_one_reactive_in_two_slots_an_event_follows_those_that_came_before_it(tier, gate):
    source = Reactive("source")
    items = correlate(x=source)(yielding("item", 3))
    ordered = in_sequence("a", "b", contiguity="any")
    pairs = correlate(
        a=items, b=items, yields=lambda a, b: (a, b), restrict=ordered if gate is None else ordered | gate
    )
    given = run(pairs, [(source, 1, 5)], close=True, tier=tier)
    assert sorted(event.value for event in given) == [("item 0", "item 1"), ("item 0", "item 2"), ("item 1", "item 2")]


@pytest.mark.parametrize("tier", [None, "in_place", "reference"])
def test_a_list_or_a_run_follows_what_came_before_all_of_it_and_precedes_what_came_after(tier):
    one, many = Reactive("one"), Reactive("many")
    trace = [(many, 1, 5), (one, 2, 5), (many, 3, 5), (many, 4, 5), (one, 5, 5)]

    def matches_of(binding, order):
        pairs = correlate(x=one, r=binding, yields=lambda x, r: (x, r), restrict=in_sequence(*order, contiguity="any"))
        return sorted(event.value for event in run(pairs, trace, close=True, tier=tier))

    assert matches_of(repeated(many, 2), "xr") == [(2, [3, 4])]
    assert matches_of(repeated(many, 2), "rx") == [(5, [1, 3]), (5, [1, 4]), (5, [3, 4])]
    assert matches_of(one_or_more(many), "rx") == [(2, [1]), (5, [1, 3, 4])]
    assert matches_of(one_or_more(many, where=lambda run: run[0] > 1), "xr") == [(2, [3]), (2, [3, 4])]


# ------------------------------------------------------------------------------------------------------- taken back


TABLES = {"none": None, "kept": lambda value: value["a"].arrival, "looked up": "a"}


@st.composite
def retracting_runs(draw):
    """A program over events that are taken back, and its trace: in any order, without moves of the clock."""
    case, trace = draw(runs(cases(), is_ordered=draw(st.booleans())))
    program = case.program._replace(within=None)
    table = draw(st.sampled_from(["none", "kept", *["looked up"] * program.is_keyed]))
    items = [step for step in trace if isinstance(step, Item)]
    return Case(program, case.which, is_retracting=True, table=TABLES[table]), table, items


def shown(table, found):
    """The rows of a table: of each key the match that an enumeration reaches first, newest first by variable."""
    rows: dict[int, Any] = {}
    for row in sorted(found, key=lambda row: [-row[name].arrival for name in sorted(row)]):
        rows.setdefault(row["a"].arrival if table == "kept" else row["a"].key, row)
    return rows


@for_all(run=retracting_runs(), restored=RESTORED)
def test_under_retracting_results_follow_what_is_there(run, restored):
    case, table, trace = run
    engine = Engine(case.output)
    present: dict[tuple[int, int], Item] = {}
    standing: Counter[Any] = Counter()
    for place, item in enumerate(trace):
        if place in restored:
            engine = Engine.restore(engine.snapshot(), case.output)
        emitted = engine.push(case.inputs[item.source], item, at=(item.start, item.end))
        engine._check_invariants()
        present[item.source, item.arrival % 4] = item
        found = matches(case.program, sorted(present.values()))
        if table == "none":
            for event in emitted:
                standing[key(event.value)] += event.weight
                assert standing[key(event.value)] in {0, 1}
            assert +standing == Counter(map(key, found))
        else:
            assert {k: key(row) for k, row in engine.query(case.output).items()} == {
                k: key(row) for k, row in shown(table, found).items()
            }
            assert len({event.value.key for event in emitted}) == len(emitted)
