"""in_sequence against a listing of every combination of all events, judged by the definitions alone.

Events come in the order of time, with ties, and with intervals; some tests let them come in any order, where results
are facts, or take them back.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given as for_all
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import in_sequence, key_by, within
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
        "neighbours": tuple(Condition((one, other), rising) for one, other in zip(names, names[1:], strict=False)),
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


class Case:
    """A program as the engine runs it, and as the oracle does."""

    def __init__(self, program: Program, which: str) -> None:
        self.program = program
        self.inputs = [Reactive(f"source{number}", type=Item) for number in range(max(program.sources.values()) + 1)]
        slots = {name: self.inputs[source] for name, source in program.sources.items()}
        restrict: Any = in_sequence(*program.order, contiguity=program.contiguity, after_match=program.after)
        if program.is_keyed:
            restrict = key_by(**dict.fromkeys(slots, "key")) | restrict
        if program.within is not None:
            restrict |= within(program.within, *slots)
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


AFTER_TWO = ["to_next", "past_last", ("to_first", "a"), ("to_first", "b"), ("to_last", "b")]


@st.composite
def cases(draw, *, after=("no_skip",), has_free=True):
    names = NAMES[: draw(st.sampled_from([2, 3, 3]))]
    sources = {name: draw(st.integers(0, place)) for place, name in enumerate(names)}
    order = tuple(draw(st.permutations(names)))
    if has_free and len(names) == 3 and draw(st.integers(0, 2)) == 0:
        order = order[:2]
    which = draw(st.sampled_from(["none", "neighbours", "ends", "first", "opaque", "direct"]))
    strategy = draw(st.sampled_from([one for one in after if isinstance(one, str) or one[1] in order]))
    program = Program(
        sources,
        order,
        draw(st.sampled_from(["relaxed", "strict", "any"])),
        strategy,
        draw(st.booleans()),
        draw(st.sampled_from([None, None, 0, 2, 4])),
        conditions_of(which, names),
    )
    return Case(program, which)


@st.composite
def traces(draw, *, is_ordered=True, most=9):
    """Events, and moves of the clock; in the order of their ends, or in any that the clock lets through."""
    out: list[Any] = []
    clock = latest = 0
    for arrival in range(draw(st.integers(0, most))):
        if draw(st.integers(0, 4)) == 0:
            clock = max(clock, latest) + draw(st.integers(0, 3))
            latest = clock
            out.append(clock)
        latest = latest + draw(st.integers(0, 2)) if is_ordered else clock + draw(st.integers(0, 5))
        length = draw(st.sampled_from([0, 0, 0, 1, 3]))
        key, size = draw(st.integers(0, 1)), draw(st.integers(0, 2))
        out.append(Item(arrival, draw(st.integers(0, 2)), latest - length, latest, key, size))
    return out


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
            if step.source not in case.program.sources.values():
                continue
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


RESTORED = st.sets(st.integers(0, 10), max_size=2)


@for_all(case=cases(), trace=traces(), restored=RESTORED)
def test_every_contiguity_gives_what_the_definition_says(case, trace, restored):
    for step, seen, _, emitted in steps(case, trace, restored):
        found = [row for row in matches(case.program, seen) if step in row.values()]
        assert values(emitted) == sorted(map(key, found))


@for_all(case=cases(), trace=traces(is_ordered=False), restored=RESTORED)
def test_a_late_event_finds_results_that_stand(case, trace, restored):
    for step, seen, _, emitted in steps(case, trace, restored):
        found = [row for row in matches(case.program, seen) if step in row.values()]
        assert values(emitted) == sorted(map(key, found))


def by_key(program, items):
    """Split what belongs to each key, if there are keys."""
    if not program.is_keyed:
        return [items]
    return [[item for item in items if item.key == one] for one in (0, 1)]


AFTER = ["to_next", "past_last", *[(how, name) for how in ("to_first", "to_last") for name in NAMES]]


@for_all(case=cases(after=AFTER, has_free=False), trace=traces(), restored=RESTORED)
def test_after_a_match_the_table_says_what_is_left_and_nothing_waits_longer_than_it_must(case, trace, restored):
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
