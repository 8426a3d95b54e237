"""Bodies on columns give what they give row by row, and nothing of the user's becomes code."""

from __future__ import annotations

import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from cartesius.data.generated import Constants, commented, define
from restrictions import most_recently

A = Reactive("a")
BODIES = [
    lambda a: a, lambda a: a.x, lambda a: (a.x, a.y, 1, "s", None), lambda a: {"x": a.x, "rest": (a, a.y)},
    lambda a: a.x + a.y, lambda a: a.x - 1, lambda a: 2 * a.x, lambda a: a.x / a.y,
    lambda a: a.x // 2, lambda a: a.x % 3,
    lambda a: -a.x, lambda a: a.x == a.y, lambda a: (a.x < a.y) & (a.y != 0), lambda a: (a.x <= 1) | (a.y > 1),
    lambda a: (a.x * 1, a.x * 1.0, a.x * True, (a.y, 1), (a.y, 1.0), (a.y, True)),
    lambda a, time_a: (time_a.start, time_a.end, time_a), lambda a: [a.x], lambda a: a.x if a.y else None,
]  # fmt: skip
NUMBERS = st.sampled_from([0, 1, -7, 2**62, 0.0, -0.0, 1.5, float("nan"), True, None, "t", 2**70])


@pytest.mark.parametrize("number", range(len(BODIES)))
@settings(max_examples=max(20, settings().max_examples // 4))
@given(rows=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=4))
def test_a_body_gives_what_it_gives_row_by_row(number, rows):
    output = correlate(a=A, yields=BODIES[number], restrict=most_recently("a"))
    engine, other = Engine(output), Engine(output, tier="reference")
    expected, wrong = [], None
    try:
        for x, y in rows:
            expected += other.push(A, {"x": x, "y": y})
    except Exception as error:  # of any kind: the batch must raise the same
        wrong = error
    raised = None
    try:
        found = events_of(engine.push_many({A: {"x": [x for x, _ in rows], "y": [y for _, y in rows]}}))
    except Exception as error:
        raised, found = error, events_of(vars(error)["emitted"])
    assert (type(raised), str(raised)) == (type(wrong), str(wrong))
    assert list(map(repr, found)) == list(map(repr, expected))


HOSTILE = ["a b", "x'); raise SystemExit(); ('", "x\nraise SystemExit()", "ü", "import", '"""', "\\", "c0", "{0}"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_constants_of_the_users_are_no_code(name):
    output = correlate(a=A, yields=lambda a: (getattr(a, name), name), restrict=most_recently("a"), name=name)
    traced = correlate(a=A, yields=eval("lambda a: (a.x == c, c)", {"c": name}), restrict=most_recently("a"))
    for one, row in ((output, {name: 1}), (traced, {"x": name})):
        engine = Engine(one)
        columns = {field: [value] for field, value in row.items()}
        (event,) = events_of(engine.push_many({A: columns}))
        assert event.value == (1 if one is output else True, name)
        compile(engine.source(), "source", "exec")  # what is shown is Python, comments and all


def test_generated_code_is_shown_in_tracebacks():
    function = define("divided", "def divided(x):\n    return x / c0\n", {"c0": 0})
    with pytest.raises(ZeroDivisionError) as caught:
        function(1)
    assert "return x / c0" in "".join(traceback.format_exception(caught.value))


def test_constants_are_bound_in_order_and_comments_are_one_line():
    constants = Constants()
    assert [constants.name(one) for one in ("x", [1], "x")] == ["c0", "c1", "c2"]
    assert constants.bound == {"c0": "x", "c1": [1], "c2": "x"}
    assert commented("a\nb\u2028ü") == "a\\nb\\u2028\\xfc"


class Odd(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "exit()"


def test_only_names_that_are_plain_identifiers_are_quoted_in_code():
    constants = Constants()
    assert [constants.quoted(one) for one in ("x", "_x1", "x y", "ü", "'", "", Odd("x"), 1)] == [
        "'x'", "'_x1'", "c0", "c1", "c2", "c3", "c4", "c5"
    ]  # fmt: skip
