"""What the docstring of each restriction says of its composition: with what it commutes, and its law.

`TABLE` has a line for each restriction of the library, so one that is added without a line fails. Programs have two
slots, x and y; what a restriction does with a signal (`sampling`, …) shows only beside `separately`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import reduce
from itertools import accumulate, dropwhile
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import restrictions
from cartesius import Engine, Reactive, Restriction, correlate, run
from cartesius.errors import InvalidArgument
from restrictions import (
    affinely,
    aligning,
    as_table,
    at_most,
    by_arrival,
    cartesian,
    earliest,
    every_nth,
    fifo,
    first_match,
    fixed,
    in_event_time,
    in_sequence,
    key_by,
    lifo,
    momentarily,
    most_recently,
    only,
    optionally,
    ordered_by,
    randomly,
    retracting,
    separately,
    session,
    sliding,
    take,
    tumbling,
    versioned,
    windowed,
    within,
    without,
    zip_,
)
from restrictions.basics.completion import at_end, completing_with, completing_without_value, never_completing
from restrictions.basics.keys import having_key
from restrictions.gates.folding import accumulating, buffering, distinctly, of_streams, skipping
from restrictions.gates.life_stages import Stage, ageing, collating
from restrictions.gates.row_gates import announcing, transiently, updating, upserting
from restrictions.gates.signals import after, sampling, until
from restrictions.sequencing.contexts import collecting
from restrictions.table_operators.aggregation import totalling, totalling_by
from restrictions.tables import count, sum_
from restrictions.time.duration import apart, lasting
from restrictions.time.event_time import allowing_lateness
from restrictions.time.gathering import grouping
from restrictions.typed_operators.template_base import template, template_of_key
from restrictions.typed_operators.templates import in_order_per_key, per_item, unordered_per_key
from restrictions.windowing.window_base import windowing
from restrictions.windows import accumulated, dstream, filtered, istream, keeping, rstream

if TYPE_CHECKING:
    from collections.abc import Callable

# ---------------------------------------------------------------------------------------------- programs and traces


class Value(NamedTuple):
    n: int
    k: int


PREDICATES: list[Callable[[Any], Any]] = [lambda v: v.k > 0, lambda v: v.n % 2 == 0, lambda v: v.k != 1]
WHERE: dict[str, Callable[..., Any] | None] = {
    "everything": None,
    "equal": lambda x, y: x.k == y.k,
    "ordered": lambda x, y: x.k <= y.k,
}


def _yields(x: Any, y: Any) -> Any:
    return x, y


def _numbers(value: Any) -> Any:
    return tuple(None if part is None else part.k for part in value)


NUMBER = st.integers(1, 3)
SLOT = st.sampled_from("xy")
SLOTS = st.sampled_from([("x",), ("y",), ("x", "y")])
DURATION = st.integers(0, 4)
STEP = st.one_of(
    *[st.tuples(st.sampled_from("xy"), st.integers(0, 2), st.integers(0, 3))] * 6,  # a push: of k, so much after
    st.tuples(st.sampled_from(["end x", "end y"])),
    st.tuples(st.just("advance"), st.integers(0, 3)),
)
TRACES = st.lists(STEP, max_size=12)


def outcome(restrict: Any, trace: Any, where: str = "everything") -> Any:
    """Return what each step emits, with memory and completion after it; the text of the refusal, if it is refused."""
    inputs = {"x": Reactive("left"), "y": Reactive("right")}
    try:
        output = correlate(slots=inputs, where=WHERE[where], yields=_yields, restrict=restrict, name="out")
        engine = Engine(output)
    except InvalidArgument:
        return None
    out, time, ended = [], 0, set()
    for number, (what, *how) in enumerate(trace):
        if what == "advance":
            time += how[0]
            events = engine.advance(time)
        elif what.startswith("end "):
            events = [] if what[4] in ended else engine.end(inputs[what[4]])
            ended.add(what[4])
        elif what in ended:
            continue
        else:
            events = engine.push(inputs[what], Value(number, how[0]), at=time + how[1])
        emitted = [(event.value, event.start, event.end, event.weight) for event in events]
        held = None if engine.done else list(engine.stats.slots.values())  # what is left then matters to nobody
        out.append((emitted, engine.done, held))
    return out


# -------------------------------------------------------------------------------------------------------- the table

STORED = ("most_recently", "earliest", "at_most", "affinely", "momentarily")
LASTING = (*STORED, "lasting", "apart")  # these handle what is stored, but say as well when the output completes
GATES = (  # not those that say themselves when the output completes: `sampling`, `after`, `until`, `grouping`
    "aligning", "only", "take_events", "every_nth_event", "accumulating", "buffering", "distinctly", "skipping",
    "at_end",
)  # fmt: skip
BESIDE_SEPARATELY = {"sampling", "after", "until", "grouping"}
ROWS = {
    "upserting",
    "collating",
}  # the key of a row is its own, outside the spaces of a `key_by` to the left (SEMANTICS 2.1)
OF_THREE = {"without_between"}  # its third slot has no key here, so it stands left of a `key_by`
WITHOUT_WHERE = {*BESIDE_SEPARATELY, "separately", "buffering", "collecting"}  # parts are missing, or lists
EVERYTHING = "everything"


class Line(NamedTuple):
    make: Any
    """A strategy of restrictions."""
    commutes: tuple[str, ...] = ()
    """What the docstring says it commutes with."""
    law: Any = None
    """A strategy of two compositions, of which the docstring says that they equal each other."""


def same(make: Any, *arguments: Any, **keywords: Any) -> Any:
    """A strategy of one restriction, and what is equal by idempotence."""
    return st.builds(make, *arguments, **keywords).map(lambda one: (one | one, one))


def lesser(make: Any) -> Any:
    """A strategy of two of which the lesser counts: ``make`` takes a number and slots."""
    twice = st.tuples(NUMBER, NUMBER, SLOTS)
    return twice.map(lambda t: (make(t[0], *t[2]) | make(t[1], *t[2]), make(min(t[:2]), *t[2])))


def longer(make: Any) -> Any:
    """A strategy of two of which the longer counts."""
    return st.tuples(DURATION, DURATION).map(lambda t: (make(t[0]) | make(t[1]), make(max(t))))


def on_slots(make: Any) -> Any:
    return st.builds(lambda n, slots: make(n, *slots), NUMBER, SLOTS)


def _rank(match: Any) -> Any:
    return [part.k for part in match.value if part is not None]


ALIGNING = st.sampled_from([
    aligning("x", "y"),
    aligning("x", "y", limit=2, overflow="drop_oldest"),
    aligning("x", "y", limit=2, overflow="drop_newest"),
])  # fmt: skip
PREDICATE = st.sampled_from(PREDICATES)
ORDERED = st.sampled_from([ordered_by(_rank), ordered_by(lambda match: -match.end)])
TOTALS = st.sampled_from([count, sum_.of(lambda value: value[0].n + value[1].k)])
KEY: Any = st.sampled_from(["k", lambda value: value.n % 2])
CONTIGUITY = st.sampled_from(["relaxed", "strict", "any"])
AFTER_MATCH: Any = st.sampled_from(["to_next", "past_last", ("to_first", "x"), ("to_last", "y")])
RETENTION = st.sampled_from([None, 0, 2])
BOUNDS = st.tuples(st.integers(-2, 2), st.integers(0, 3)).map(lambda t: (t[0], t[0] + t[1]))


def sequence(contiguity: str, after_match: Any = "no_skip") -> Restriction:
    return in_sequence("x", "y", contiguity=contiguity, after_match=after_match)


def recent(n: int, *slots: str) -> Restriction:
    return most_recently(*slots, n=n)


def oldest(n: int, *slots: str) -> Restriction:
    return earliest(*slots, n=n)


def conjunction(slot: str, p: Callable[[Any], Any], q: Callable[[Any], Any]) -> Any:
    return only(slot, p) | only(slot, q), only(slot, lambda value: p(value) and q(value))


def product_of(make: Any, slots: Any) -> Any:
    return st.tuples(NUMBER, NUMBER, slots).map(
        lambda t: (make(t[0], *t[2]) | make(t[1], *t[2]), make(t[0] * t[1], *t[2]))
    )


def _plus(total: Value, value: Value) -> Value:
    return Value(total.n + value.n, value.k)


def _two(events: Any) -> Any:
    return events[-2:]


def _by_five(event: Any) -> Any:
    start = event.start // 5 * 5
    return [(start, start + 5)] if event.end < start + 5 else []


class Everlasting:
    """The latest value of a key, for ever."""

    def key(self, value: Value) -> int:
        return value.k

    def objection(self, value: Value) -> None:
        return None

    def come(self, before: Any, value: Any, time: Any, now: Any) -> Stage:
        return Stage(value, None, None)

    def go_on(self, keeps: Any, time: Any, now: Any) -> None:
        raise AssertionError


TABLE: dict[str, Line] = {
    "accumulated": Line(st.just(tumbling(5, content=accumulated(Value(0, 0), _plus)))),
    "dstream": Line(st.just(sliding(4, 2) | dstream())),
    "filtered": Line(
        st.builds(lambda p: tumbling(5, content=filtered(p)), PREDICATE),
        (),
        PREDICATE.map(lambda p: (tumbling(5, content=filtered(p)), tumbling(5) | only("x", p) | only("y", p))),
    ),
    "fixed": Line(st.just(fixed(1, 6))),
    "having_key": Line(
        on_slots(lambda _, *slots: having_key(**dict.fromkeys(slots, lambda value: value.k or None))),
        (EVERYTHING,),
        on_slots(lambda _, *slots: (having_key(**dict.fromkeys(slots, "n")) | fifo(), fifo())),
    ),
    "in_event_time": Line(DURATION.map(in_event_time), STORED),
    "istream": Line(st.just(sliding(4, 2) | istream())),
    "keeping": Line(
        st.just(tumbling(5, content=keeping(_two))),
        (),
        st.just((tumbling(5) | keeping(_two) | keeping(_two), tumbling(5, content=keeping(_two)))),
    ),
    "rstream": Line(st.just(sliding(4, 2) | rstream())),
    "session": Line(st.integers(1, 4).map(session)),
    "sliding": Line(
        st.builds(sliding, st.integers(1, 6), st.integers(1, 4)),
        (),
        st.integers(1, 6).map(lambda size: (sliding(size, size), tumbling(size))),
    ),
    "tumbling": Line(
        st.builds(tumbling, st.integers(1, 6)),
        (),
        st.integers(1, 6).map(lambda size: (tumbling(size), sliding(size, size))),
    ),
    "windowed": Line(
        st.just(windowed(_by_five)),
        (),
        st.integers(0, 3).map(lambda late: (windowed(_by_five, lateness=late), tumbling(5, lateness=late))),
    ),
    "accumulating": Line(st.builds(accumulating, SLOT, st.just(lambda total, v: Value(total.n + v.n, v.k)))),
    "affinely": Line(
        SLOTS.map(lambda slots: affinely(*slots)),
        ("most_recently", "earliest", "momentarily", "aligning", "only"),
        SLOTS.map(lambda slots: (affinely(*slots), at_most(1, *slots))),
    ),
    "after": Line(st.sampled_from([after("x", "y"), after("y", "x")]), STORED),
    "ageing": Line(st.just(ageing("x", Everlasting()))),  # of tables
    "aligning": Line(ALIGNING, ("most_recently", "earliest", "at_most", "affinely", "momentarily")),
    "allowing_lateness": Line(
        on_slots(allowing_lateness),
        (EVERYTHING,),
        SLOTS.flatmap(lambda slots: longer(lambda lateness: allowing_lateness(lateness, *slots))),
    ),
    "announcing": Line(st.just(announcing("x"))),  # of tables
    "by_arrival": Line(
        SLOTS.map(lambda slots: by_arrival(*slots)),
        (EVERYTHING,),
        SLOTS.map(lambda slots: (by_arrival(*slots) | by_arrival("x"), by_arrival("x"))),
    ),
    "apart": Line(
        BOUNDS.map(lambda bounds: apart("x", "y", *bounds)),
        ("apart",),
        st.tuples(BOUNDS, BOUNDS)
        .filter(lambda t: max(t[0][0], t[1][0]) <= min(t[0][1], t[1][1]))
        .map(
            lambda t: (
                apart("x", "y", *t[0]) | apart("x", "y", *t[1]),
                apart("x", "y", max(t[0][0], t[1][0]), min(t[0][1], t[1][1])),
            )
        ),
    ),
    "as_table": Line(
        st.sampled_from([as_table(_numbers), retracting() | as_table(_numbers)]),
        ("most_recently", "earliest", "momentarily"),
    ),
    "at_end": Line(
        SLOTS.map(lambda slots: at_end(*slots)), LASTING, SLOTS.map(lambda s: (at_end(*s) | at_end(*s), at_end(*s)))
    ),
    "at_most": Line(
        on_slots(at_most), ("most_recently", "earliest", "momentarily", "aligning", "only"), lesser(at_most)
    ),
    "buffering": Line(SLOT.map(lambda slot: buffering(slot, 2))),
    "collating": Line(
        st.builds(lambda slot: collating(slot, Everlasting()), SLOT),
        (),
        SLOT.map(lambda slot: (collating(slot, Everlasting()), upserting(slot, key="k"))),
    ),
    "collecting": Line(st.sampled_from([collecting("x", "y"), collecting("y", "x")]), STORED),
    "completing_with": Line(
        SLOTS.map(lambda slots: completing_with(*slots)),
        GATES,
        SLOTS.map(lambda slots: (completing_with(*slots) | completing_with(*slots), completing_with(*slots))),
    ),
    "completing_without_value": Line(
        SLOTS.map(lambda slots: completing_without_value(*slots)),
        GATES,
        SLOTS.map(
            lambda slots: (
                completing_without_value(*slots) | completing_without_value(*slots),
                completing_without_value(*slots),
            )
        ),
    ),
    "distinctly": Line(
        SLOT.map(lambda slot: distinctly(slot, key=lambda value: value.k)),
        LASTING,
        same(distinctly, SLOT),
    ),
    "earliest": Line(on_slots(oldest), ("at_most", "affinely", "aligning"), lesser(oldest)),
    "every_nth_event": Line(on_slots(every_nth), (), product_of(every_nth, SLOTS)),
    "every_nth_result": Line(NUMBER.map(every_nth), (), product_of(every_nth, st.just(()))),
    "fifo": Line(st.just(fifo()), (EVERYTHING,), st.just((lifo() | fifo(), fifo()))),
    "first_match": Line(st.just(first_match()), (), same(first_match)),
    "grouping": Line(st.builds(grouping, st.just("x"), st.just("y"), DURATION, DURATION), STORED),
    "key_by": Line(
        st.sampled_from([key_by(x="k", y="k"), key_by(x="k"), key_by(y=lambda value: value.k % 2)]),
        (),
        on_slots(recent).map(lambda one: (key_by(x=lambda value: 7, y=lambda value: 7) | one, one)),
    ),
    "lasting": Line(
        st.builds(lasting, SLOT, DURATION),
        ("lasting", "most_recently"),
        st.tuples(SLOT, DURATION, DURATION).map(
            lambda t: (lasting(t[0], t[1]) | lasting(t[0], t[2]), lasting(t[0], min(t[1:])))
        ),
    ),
    "lifo": Line(st.just(lifo()), (EVERYTHING,), st.just((fifo() | lifo(), lifo()))),
    "momentarily": Line(
        SLOTS.map(lambda slots: momentarily(*slots)),
        ("most_recently", "at_most", "aligning"),
        SLOTS.map(lambda slots: (momentarily(*slots) | momentarily(*slots), momentarily(*slots))),
    ),
    "most_recently": Line(on_slots(recent), ("at_most", "affinely", "aligning", "momentarily", "only"), lesser(recent)),
    "never_completing": Line(st.just(never_completing()), (), same(never_completing)),
    "only": Line(
        st.builds(only, SLOT, PREDICATE), ("only", *LASTING), st.builds(conjunction, SLOT, PREDICATE, PREDICATE)
    ),
    "optionally": Line(SLOTS.map(lambda slots: retracting() | optionally(*slots)), ("optionally", "retracting")),
    "ordered_by": Line(ORDERED, (), ORDERED.map(lambda one: (one | one, one))),
    "pruning": Line(st.builds(sequence, CONTIGUITY, AFTER_MATCH), (*STORED, "within")),
    "randomly": Line(st.builds(randomly, st.integers(0, 3))),
    "retracting": Line(st.just(retracting()), ("most_recently", "earliest", "momentarily"), same(retracting)),
    "sampling": Line(st.sampled_from([sampling("x", "y"), sampling("y", "x")]), STORED),
    "separately": Line(st.just(separately()), (EVERYTHING,), same(separately)),
    "sequencing": Line(
        st.builds(sequence, CONTIGUITY),
        (*STORED, "within", "sequencing", "retracting"),
        same(sequence, CONTIGUITY),
    ),
    "skipping": Line(st.builds(skipping, SLOT, PREDICATE), LASTING, same(skipping, SLOT, PREDICATE)),
    "take_events": Line(on_slots(take), LASTING, lesser(take)),
    "take_results": Line(
        NUMBER.map(take), (), st.tuples(NUMBER, NUMBER).map(lambda t: (take(t[0]) | take(t[1]), take(min(t))))
    ),
    "totalling": Line(TOTALS.map(totalling), ("retracting",)),
    "totalling_by": Line(TOTALS.map(lambda group: totalling_by(group, _numbers)), ("retracting",)),
    "transiently": Line(st.just(transiently("x"))),  # of tables
    "until": Line(st.sampled_from([until("x", "y"), until("y", "x")]), STORED, same(until, st.just("x"), st.just("y"))),
    "updating": Line(st.just(updating("x", 0, max))),  # of tables
    "upserting": Line(
        st.builds(lambda slot, key: upserting(slot, key=key), SLOT, KEY),
        (),
        st.tuples(SLOT, KEY).map(lambda t: (upserting(t[0], key=t[1]), key_by(**{t[0]: t[1]}) | most_recently(t[0]))),
    ),
    "versioned": Line(
        st.builds(lambda slot, retention: versioned(slot, retention=retention), SLOT, RETENTION),
        ("retracting", "optionally"),  # and `as_table`: below
    ),
    "without_after": Line(
        DURATION.map(lambda duration: without("y", after="x", within=duration)),
        ("most_recently", "affinely", "at_most"),
        longer(lambda duration: without("y", after="x", within=duration)),
    ),
    "without_before": Line(
        DURATION.map(lambda duration: without("y", before="x", within=duration)),
        ("most_recently", "affinely", "at_most"),
        longer(lambda duration: without("y", before="x", within=duration)),
    ),
    "without_between": Line(  # of three slots: with events that forbid, tests/oracle/test_absence.py
        st.just(without(Reactive("third"), between=("x", "y"))),
        ("most_recently", "affinely", "at_most"),
        same(without, st.just(Reactive("third")), between=st.just(("x", "y"))),
    ),
    "within": Line(
        st.builds(lambda duration, slots: within(duration, *slots), DURATION, SLOTS),
        ("within", "most_recently"),
        st.tuples(DURATION, DURATION, SLOTS).map(
            lambda t: (within(t[0], *t[2]) | within(t[1], *t[2]), within(min(t[:2]), *t[2]))
        ),
    ),
}
BASES = {one.__name__ for one in (of_streams, windowing, template, template_of_key)}
TEMPLATES = {one.__name__ for one in (per_item, in_order_per_key, unordered_per_key)}
"""What users derive operators from: tests/unit/restrictions/test_templates.py."""
FEWER = settings(max_examples=settings().max_examples // 2)  # of each of some forty parameters
COMMUTING = [name for name, line in TABLE.items() if line.commutes]
LAWFUL = [name for name, line in TABLE.items() if line.law is not None]


def partners(name: str) -> list[str]:
    """Return the names with which ``name`` commutes, by what its docstring says."""
    claimed = TABLE[name].commutes
    if claimed == (EVERYTHING,):
        refused = {"optionally", "pruning", "sequencing"} if name == "separately" else set()
        return sorted(set(TABLE) - {name, "fifo", "lifo"} - refused)
    return list(claimed)


def around(layers: Any, *, is_keyed: bool, is_separate: bool) -> Any:
    """Put a layer's companions to its left."""
    if is_separate:
        layers = separately() | layers
    return key_by(x="k", y="k") | layers if is_keyed else layers


# --------------------------------------------------------------------------------------------------------- the tests


def test_the_table_has_a_line_for_each_restriction():
    functions = {
        "without": ("without_after", "without_before", "without_between"),
        "take": ("take_events", "take_results"),
        "every_nth": ("every_nth_event", "every_nth_result"),
        "in_sequence": ("sequencing", "pruning"),
    }
    for name in restrictions.__all__:
        value = getattr(restrictions, name)
        gives = value.__name__ if isinstance(value, type) else value.__annotations__["return"]
        if "Reactive" not in gives and gives != "Composition":  # else it makes a reactive, or is made of the others
            assert set(functions.get(name, (name,))) <= set(TABLE), name
    assert set(_classes()) - BASES - TEMPLATES == set(TABLE)


def test_what_a_line_claims_is_in_the_table():
    assert {name for line in TABLE.values() for name in line.commutes} <= {*TABLE, EVERYTHING}


def test_who_claims_something_in_a_docstring_has_a_line_that_says_so():
    elsewhere = {
        "accumulating", "buffering",  # below
        "lifo", "aligning",  # below, too
        "optionally",  # test_restrictions.py
        "randomly",  # test_selection.py
        "after", "sampling",  # below: a signal goes no further, so they are not idempotent
        "grouping",  # tests/oracle/test_streams.py
        "collecting",  # tests/unit/restrictions/test_contexts.py
        "as_table",  # tests/oracle/test_core_tables.py
        "versioned",  # tests/oracle/test_versions.py
        "pruning",  # tests/oracle/test_sequences.py
        "announcing", "transiently", "updating",  # of tables: tests/unit/restrictions/test_row_gates.py
        "ageing",  # tests/unit/restrictions/test_life_stages.py
        "accumulated", "fixed", "dstream", "istream", "rstream", "session",  # tests/unit/restrictions/test_window_*.py
        "in_event_time",  # tests/unit/restrictions/test_event_time.py
        "totalling", "totalling_by",  # tests/unit/restrictions/test_groups.py
    }  # fmt: skip
    commute_elsewhere = {"announcing", "transiently"}  # of tables: tests/unit/restrictions/test_row_gates.py
    for name, kind in _classes().items():
        if name not in TABLE:
            continue
        text = " ".join((kind.__doc__ or "").split())
        assert bool(re.search("ommutes (with|as) (?!no )", text)) <= (name in COMMUTING or name in commute_elsewhere), (
            name
        )
        assert ("Law:" in text) <= (name in LAWFUL or name in elsewhere), name


@pytest.mark.parametrize("said", ["State:", "elies on", "ommute", "Law:"])
def test_every_restriction_states_its_law_its_state_the_order_it_relies_on_and_with_what_it_commutes(said):
    assert [name for name, kind in _classes().items() if name not in BASES and said not in (kind.__doc__ or "")] == []


def _classes() -> dict[str, type[Restriction]]:
    found = pkgutil.walk_packages(restrictions.__path__, "restrictions.")
    return {
        name: value
        for module in (importlib.import_module(one.name) for one in found)
        for name, value in vars(module).items()
        if not name.startswith("_")  # a base
        and isinstance(value, type)
        and issubclass(value, Restriction)
        and value.__module__ == module.__name__
    }


@pytest.mark.parametrize("name", COMMUTING)
@FEWER
@given(data=st.data(), trace=TRACES, where=st.sampled_from(sorted(WHERE)), is_keyed=st.booleans())
def test_it_commutes_with_what_its_docstring_says(name, data, trace, where, is_keyed):
    other = data.draw(st.sampled_from(partners(name)), label="other")
    one, two = data.draw(TABLE[name].make), data.draw(TABLE[other].make)
    if name == other == "lasting":
        assume(one.slot != two.slot)
    drawn = {name, other}
    is_separate = bool(drawn & BESIDE_SEPARATELY)
    is_keyed = is_keyed and not is_separate and "separately" not in drawn
    where = "everything" if drawn & WITHOUT_WHERE else "equal" if "optionally" in drawn else where
    found = [
        outcome(around(layers, is_keyed=is_keyed, is_separate=is_separate), trace, where)
        for layers in (one | two, two | one)
    ]
    assert found[0] == found[1]
    assume(found[0] is not None)


@pytest.mark.parametrize("name", LAWFUL)
@FEWER
@given(data=st.data(), trace=TRACES, where=st.sampled_from(sorted(WHERE)), is_keyed=st.booleans())
def test_its_law_holds(name, data, trace, where, is_keyed):
    left, right = data.draw(TABLE[name].law)
    is_separate = name in BESIDE_SEPARATELY
    where = "everything" if name in WITHOUT_WHERE else where
    is_keyed = is_keyed and not is_separate and name not in {"separately", *ROWS, *OF_THREE}
    found = [
        outcome(around(layers, is_keyed=is_keyed, is_separate=is_separate), trace, where) for layers in (left, right)
    ]
    assert found[0] is not None
    if name in {"without_after", "without_before"}:  # of two the shorter drops a row sooner than the longer alone does
        for (_, is_done, held), (_, is_other_done, others) in zip(*found, strict=True):
            assert is_done >= is_other_done
            assert held is None or held <= others
        found = [[step[:1] for step in one] for one in found]
    assert found[0] == found[1]


@given(data=st.data(), trace=TRACES, where=st.sampled_from(sorted(WHERE)), is_keyed=st.booleans())
def test_lifo_is_the_identity_except_to_the_right_of_fifo(data, trace, where, is_keyed):
    name = data.draw(st.sampled_from(partners("lifo")))
    one = data.draw(TABLE[name].make)
    is_separate = name in BESIDE_SEPARATELY
    is_keyed = is_keyed and not is_separate and name != "separately"
    where = "everything" if name in WITHOUT_WHERE else "equal" if name == "optionally" else where
    alone, with_lifo, undone = (
        outcome(around(layers, is_keyed=is_keyed, is_separate=is_separate), trace, where)
        for layers in (one, one | lifo(), fifo() | one | lifo())
    )
    assert alone == with_lifo == undone
    assume(alone is not None)


@given(data=st.data(), trace=TRACES, where=st.sampled_from(sorted(WHERE)), is_keyed=st.booleans())
def test_without_consumption_an_order_changes_the_order_alone(data, trace, where, is_keyed):
    """The laws of `fifo` and `ordered_by`."""
    order = data.draw(st.sampled_from([fifo()]) | ORDERED)
    name = data.draw(st.sampled_from(["most_recently", "earliest", "momentarily", "aligning", "only", "lasting"]))
    other = data.draw(TABLE[name].make)
    layers = [other | order, other]
    found = [outcome(around(one, is_keyed=is_keyed, is_separate=False), trace, where) for one in layers]
    assert [(sorted(emitted), done, held) for emitted, done, held in found[0]] == [
        (sorted(emitted), done, held) for emitted, done, held in found[1]
    ]


@given(trace=TRACES, data=st.data())
def test_recency_and_alignment_are_zip_in_any_order(trace, data):
    layers = data.draw(st.permutations([most_recently("x"), most_recently("y"), aligning("x", "y")]))
    left, right = Reactive("left"), Reactive("right")
    pushes = [(left if step[0] == "x" else right, step[1]) for step in trace if step[0] in ("x", "y")]
    output = correlate(x=left, y=right, yields=_yields, restrict=layers[0] | layers[1] | layers[2])
    expected = run(zip_(left, right), pushes)
    assert [(e.value, e.start, e.end) for e in run(output, pushes)] == [(e.value, e.start, e.end) for e in expected]


@given(data=st.data(), trace=TRACES, where=st.sampled_from(sorted(WHERE)))
def test_versions_commute_with_rows_of_a_table(data, trace, where):
    """`versioned` commutes with `as_table`: of a slot's key, which a `key_by` gives it here."""
    among = [retracting(), versioned("x", retention=data.draw(RETENTION)), as_table("x")]
    if where == "equal":
        among += data.draw(st.sampled_from([[], [optionally("y")]]))
    one, two = data.draw(st.permutations(among)), data.draw(st.permutations(among))
    found = [outcome(key_by(x="k", y="k") | reduce(or_, layers), trace, where) for layers in (one, two)]
    assert found[0] is not None
    assert found[0] == found[1]


@given(values=st.lists(st.integers(-2, 3), max_size=12), n=NUMBER)
def test_folds_agree_with_those_of_python(values, n):
    """The laws of `accumulating`, `skipping` and `buffering`."""

    def through(gate, *, close=False):
        source = Reactive("level")
        found = run(cartesian(source, restrict=gate), [(source, value) for value in values], close=close)
        return [event.value[0] for event in found]

    assert through(accumulating("level", lambda total, value: total + value)) == list(accumulate(values))
    assert through(skipping("level", lambda value: value < 1)) == list(dropwhile(lambda value: value < 1, values))
    lists = through(buffering("level", n), close=True)
    assert [value for one in lists for value in one] == values
    assert all(len(one) == n for one in lists[:-1])


@pytest.mark.parametrize("gate", [after("x", "y"), sampling("x", "y")], ids=["after", "sampling"])
def test_a_gate_that_keeps_its_signal_is_not_idempotent(gate):
    """The outer one never sees the signal, so it stays shut."""
    trace = [("x", 0, 0), ("y", 0, 0), ("x", 1, 0), ("y", 0, 0)]
    once, twice = (outcome(separately() | layers, trace) for layers in (gate, gate | gate))
    assert any(emitted for emitted, _, _ in once)
    assert not any(emitted for emitted, _, _ in twice)
