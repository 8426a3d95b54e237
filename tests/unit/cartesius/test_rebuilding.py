"""A program built again without some of its restrictions gives what it would if it had been written so."""

from __future__ import annotations

import pytest

from cartesius import Engine, Reactive, correlate, one_or_more
from cartesius.errors import InvalidArgument
from cartesius.show.rebuilding import Rebuilding
from restrictions import affinely, as_table, cartesian, key_by, most_recently, retracting
from restrictions.windows import tumbling
from tests.unit.cartesius.show_programs import PROGRAMS

TRACE = [(n * 7 % 3 > 0, {"k": n % 2, "n": n * 5 % 7}, n * 3 // 2) for n in range(14)]


def given(output, inputs):
    """Push the trace; return all that comes out, in order."""
    engine = Engine(output, lateness=0)
    found = [engine.push(inputs[is_second], value, at=at) for is_second, value, at in TRACE]
    found.append(engine.close())
    return [[(event.value, event.start, event.end, event.weight) for event in step] for step in found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_with_nothing_left_out_it_is_the_program(name):
    plain = Reactive("a"), Reactive("b")
    expected = given(PROGRAMS[name](*plain), plain)
    filled = Reactive.of([], name="a"), Reactive.of([], name="b")  # they are replaced, and so all is built again
    (output,) = Rebuilding({}, frozenset(), [PROGRAMS[name](*filled)]).outputs
    inputs = Engine(output).inputs
    assert filled[0] not in inputs.values()
    assert given(output, (inputs["a"], inputs["b"])) == expected
    assert any(expected)


def test_what_is_not_changed_is_the_same_reactive(a, b):
    inner = cartesian(a, b, restrict=affinely("a"))
    outer = correlate(p=inner, yields=lambda p: p, restrict=most_recently("p"))
    built = Rebuilding({}, frozenset({1}), [outer]).outputs[0]
    assert built is not outer
    assert built.pattern is not None
    assert list(built.pattern.slots.values()) == [inner]
    assert Rebuilding({}, frozenset(), [outer]).outputs == (outer,)


def test_a_restriction_is_a_switch_once_and_what_a_correlation_adds_is_none(a, b):
    inner = correlate(run=one_or_more(a), yields=lambda run: run[-1], restrict=affinely("run"), name="inner")
    outer = correlate(p=inner, q=inner, r=b, yields=lambda p, q: (p, q), restrict=most_recently("r"), name="outer")
    assert [
        (one.number, one.correlation, repr(one.restriction)) for one in Rebuilding({}, frozenset(), [outer]).switches
    ] == [
        (0, "inner", "affinely('run')"),
        (1, "outer", "most_recently('r')"),
    ]


def test_without_one_it_is_the_program_written_without_it():
    a, b = Reactive("a"), Reactive("b")

    def pairs(restrict):
        return correlate(x=a, y=b, yields=lambda x, y: (x.n, y.n), restrict=restrict)

    keys, newest, once = key_by(x="k", y="k"), most_recently("x"), affinely("y")
    program = pairs(keys | newest | once)
    for off, rest in [({0}, newest | once), ({1}, keys | once), ({2}, keys | newest), ({0, 1}, once)]:
        built = Rebuilding({}, frozenset(off), [program]).outputs
        assert given(built[0], (a, b)) == given(pairs(rest), (a, b))


def test_without_what_makes_it_a_table_it_is_a_stream_and_who_needs_one_says_so(a):
    table = correlate(x=a, yields=lambda x: x.n, restrict=key_by(x="k") | most_recently("x") | as_table("x"), name="t")
    assert not Rebuilding({}, frozenset({2}), [table]).outputs[0].table
    reader = correlate(row=table, yields=lambda row: row, restrict=retracting() | as_table("row"))
    with pytest.raises(InvalidArgument, match="expected a slot with a key"):
        Rebuilding({}, frozenset({2}), [reader])


def test_what_does_not_fit_without_it_is_refused_in_the_words_of_correlate(a, b):
    table = correlate(x=a, yields=lambda x: x.n, restrict=key_by(x="k") | most_recently("x") | as_table("x"))
    with pytest.raises(InvalidArgument, match=r"as_table\('x'\): expected a slot with a key"):
        Rebuilding({}, frozenset({0}), [table])
    windows = correlate(x=a, yields=lambda x, window: (x, window), restrict=tumbling(5))
    with pytest.raises(InvalidArgument, match="expected windows, as its body or its key asks"):
        Rebuilding({}, frozenset({0}), [windows])
