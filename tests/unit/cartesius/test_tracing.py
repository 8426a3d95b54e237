"""Tracing is sound or not done (SEMANTICS 1.15): each function gives what Python gives, and explain says why not."""

from __future__ import annotations

import inspect
from itertools import product
from types import SimpleNamespace

import pytest

from cartesius import Engine, Reactive, correlate, run
from restrictions import most_recently

VALUES = [
    {"a": a, "b": b, "tags": tags, "name": name}
    for a, b, tags, name in [(0, 0, (), ""), (1, 0, (1, 2), "EVA"), (2, 3, (0,), "orca"), (None, 3, (0, 3), "eva")]
]


def close(one, other):
    return one is not None and other is not None and abs(one - other) <= 1


def both_known(x, y):
    return x.a is not None and y.a is not None


# Each of these runs as written: what makes it so is in its name.
AS_WRITTEN = {
    "and": lambda x, y: x.b == y.b and x.name != y.name,
    "or": lambda x, y: x.b == 3 or y.b == 3,
    "not": lambda x, y: not x.b == y.b,  # noqa: SIM201 - as a body may be written
    "not of a field": lambda x, y: not x.tags,
    "in": lambda x, y: y.b in x.tags,
    "not in": lambda x, y: y.b not in (0, x.a),
    "is": lambda x, y: x.a is None,
    "is not": lambda x, y: x.a is not None and y.a is None,
    "is a constant": lambda x, y: (x.b == y.b) is True,
    "chained comparison": lambda x, y: 0 <= x.b <= y.b < 4,
    "conditional expression": lambda x, y: x.b == (y.b if y.b else 3),
    "f-string": lambda x, y: f"{x.name}{y.b}" == "EVA3",
    "f-string with repr": lambda x, y: f"{x.name!r}" == "'EVA'",
    "percent formatting": lambda x, y: "%s" % (x.b,) == "3",  # noqa: UP031 - as a body may be written
    "str": lambda x, y: str(x.b) == "3",
    "len": lambda x, y: len(x.tags) == y.b,
    "isinstance": lambda x, y: isinstance(x.a, int),
    "min and max": lambda x, y: max(x.b, y.b) == 3,
    "bool": lambda x, y: bool(x.b) == bool(y.b),
    "a helper": lambda x, y: close(x.a, y.a),
    "a helper of symbols": lambda x, y: both_known(x, y) and x.b == 3,
    "a method": lambda x, y: x.name.lower() == y.name.lower(),
    "a comprehension": lambda x, y: sum(tag for tag in x.tags) == y.b,
    "any": lambda x, y: any(tag == y.b for tag in x.tags),
    "unpacking": lambda x, y: [*x.tags] == [*y.tags],
    "a dictionary": lambda x, y: {x.b: True}.get(y.b, False),
    "a set": lambda x, y: len({x.b, y.b}) == 1,
    "a nested lambda": lambda x, y: (lambda one: one == y.b)(x.b),  # noqa: PLC3002 - as a body may be written
    "a slice": lambda x, y: x.tags[:1] == y.tags[:1],
    "hash": lambda x, y: hash(x.b) == hash(y.b),
    "getattr": lambda x, y: getattr(x, "b") == y.b,  # noqa: B009 - as a body may be written
    "a walrus": lambda x, y: (b := x.b) == y.b and b == 3,
}

# These trace; Python's own meaning is asked for all the same.
TRACED = {
    "equality": lambda x, y: x.b == y.b,
    "a constant": lambda x, y: x.b == 3,
    "no equality": lambda x, y: x.b != y.b,
    "arithmetic": lambda x, y: x.b + y.b * 2 - 1 == 5,
    "division": lambda x, y: (x.b + 1) / 2 == (y.b + 1) / 2,
    "floor and modulo": lambda x, y: (x.b // 2 == 1) & (y.b % 2 == 1),
    "power": lambda x, y: x.b**2 == 9,
    "negation": lambda x, y: -x.b == y.b - 3,
    "abs": lambda x, y: abs(x.b - y.b) == 3,
    "reflected": lambda x, y: 3 - x.b == y.b,
    "and of two": lambda x, y: (x.b == y.b) & (x.name != y.name),
    "or of two": lambda x, y: (x.b == 3) | (y.b == 3),
    "inequalities": lambda x, y: (x.b < y.b) | (x.b >= 3),
    "fields of both": lambda x, y: (x.b == y.b) & (x.tags == y.tags) & (x.name == y.name),
    "an item": lambda x, y: x["b"] == y["b"],
    "a constant of its surroundings": lambda x, y: x.b == len(VALUES) - 1,
}


def plainly(function):
    rows = [SimpleNamespace(**value) for value in VALUES]
    return [(i, j) for i, j in product(range(4), range(4)) if function(rows[i], rows[j])]


def correlated(function):
    left, right = Reactive("left"), Reactive("right")
    output = correlate(
        x=left, y=right, where=function, yields=lambda x, y: (x.n, y.n), restrict=most_recently("x"), name="out"
    )
    engine = Engine(output)
    for number, value in enumerate(VALUES):
        engine.push(right, {**value, "n": number})
    got = []
    for number, value in enumerate(VALUES):
        got += [event.value for event in engine.push(left, {**value, "n": number})]
    return sorted(got), engine


@pytest.mark.parametrize("name", AS_WRITTEN)
def test_what_does_not_trace_runs_as_written(name):
    function = AS_WRITTEN[name]
    got, engine = correlated(function)
    assert got == plainly(function)
    line = inspect.getsourcelines(function)[1]
    text = engine.explain()
    assert "as written" in text
    assert f"line {line}" in text
    assert "test_tracing.py" in text


@pytest.mark.parametrize("name", TRACED)
def test_what_traces_gives_the_same_as_python(name):
    function = TRACED[name]
    if name == "an item":
        expected = [(i, j) for i, j in product(range(4), range(4)) if VALUES[i]["b"] == VALUES[j]["b"]]
    else:
        expected = plainly(function)
    got, _ = correlated(function)
    assert got == expected


def test_what_traces_is_not_explained_as_running_as_written():
    _, engine = correlated(TRACED["fields of both"])
    assert "as written: where" not in engine.explain()
    assert "x.b == y.b" in engine.explain()


def test_a_body_with_statements_runs_as_written():
    def where(x, y):
        total = 0
        for tag in x.tags:
            total += tag
        if total == y.b:
            return True
        try:
            return x.a > 1
        except TypeError:
            return False

    assert correlated(where)[0] == plainly(where)


def test_a_condition_that_depends_on_the_world_is_asked_each_time():
    limit = [0]
    left = Reactive("left")
    output = correlate(x=left, where=lambda x: x.a >= limit[0], yields=lambda x: x.a)
    engine = Engine(output)
    assert [e.value for e in engine.push(left, {"a": 1})] == [1]


def test_a_constant_condition_is_one():
    left = Reactive("left")
    assert [e.value for e in run(correlate(x=left, where=lambda x: True, yields=lambda x: x), [(left, 1)])] == [1]
    assert run(correlate(x=left, where=lambda x: False, yields=lambda x: x), [(left, 1)]) == []


def test_a_truthy_value_is_a_condition_that_holds():
    left = Reactive("left")
    output = correlate(x=left, where=lambda x: x.a, yields=lambda x: x.a)
    trace = [(left, {"a": value}) for value in (0, 2, "", "s", None, (), [0])]
    assert [event.value for event in run(output, trace)] == [2, "s", [0]]


@pytest.mark.parametrize(
    ("yields", "expected"),
    [
        (lambda x: x.a + 1, 3),
        (lambda x: (x.a, x.b), (2, 5)),
        (lambda x: {"sum": x.a + x.b, "constant": [1, (x.a,)]}, {"sum": 7, "constant": [1, (2,)]}),
        (lambda x: [x.a, x.b], [2, 5]),
        (lambda x: f"{x.a}-{x.b}", "2-5"),
        (lambda x: max(x.a, x.b), 5),
        (lambda x: x.a if x.a > 3 else x.b, 5),
        (lambda x: x.a == 2, True),
        (lambda x: "constant", "constant"),
        (lambda x: None, None),
        (lambda x: x.a < x.b < 6, True),
    ],
)
def test_yields_gives_what_python_gives(yields, expected):
    left = Reactive("left")
    (event,) = run(correlate(x=left, yields=yields), [(left, {"a": 2, "b": 5})])
    assert event.value == expected
    assert type(event.value) is type(expected) or isinstance(expected, dict)


def test_a_mutable_result_is_fresh_each_time():
    left = Reactive("left")
    one, two = run(correlate(x=left, yields=lambda x: [0, x]), [(left, 1), (left, 2)])
    assert (one.value, two.value) == ([0, 1], [0, 2])


def test_equality_is_pythons_across_types_and_nan_and_null_are_equal_to_nothing():
    left, right = Reactive("left"), Reactive("right")
    values = [1, 1.0, True, "1", float("nan"), (1,), None, 2**53 + 1, float(2**53)]
    traced = correlate(x=left, y=right, where=lambda x, y: x.k == y.k, yields=lambda x, y: (x.n, y.n))
    written = correlate(
        x=left, y=right, where=lambda x, y: bool(x.k is not None and x.k == y.k), yields=lambda x, y: (x.n, y.n)
    )
    trace = [(r, {"k": value, "n": n}) for r in (left, right) for n, value in enumerate(values)]
    assert run(traced, trace)
    assert [e.value for e in run(traced, trace)] == [e.value for e in run(written, trace)]


def test_an_equality_of_values_that_cannot_be_hashed_still_holds():
    left, right = Reactive("left"), Reactive("right")
    output = correlate(x=left, y=right, where=lambda x, y: x.k == y.k, yields=lambda x, y: (x.n, y.n))
    trace = [
        (left, {"k": [1], "n": 0}),
        (left, {"k": 1, "n": 1}),
        (right, {"k": [1], "n": 2}),
        (right, {"k": 1, "n": 3}),
    ]
    assert [event.value for event in run(output, trace)] == [(0, 2), (1, 3)]


def test_a_missing_field_is_an_error_that_names_it():
    left, right = Reactive("left"), Reactive("right")
    output = correlate(x=left, y=right, where=lambda x, y: x.speed == y.speed, yields=lambda x, y: x)
    with pytest.raises(AttributeError, match="speed"):
        run(output, [(left, {"a": 1}), (right, {"speed": 1})])
