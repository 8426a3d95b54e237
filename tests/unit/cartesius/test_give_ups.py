"""What `Engine.stats` and `explain` count of the pushes that no function of their own has done."""

from __future__ import annotations

import pytest

from cartesius import Engine, Reactive, correlate
from cartesius.direct import direct_texts
from cartesius.errors import InternalError
from cartesius.programs.give_ups import STRICT
from restrictions import key_by, most_recently, within

left, right = Reactive("left"), Reactive("right")
THE_FIRST = "it was the first, somebody is told of results, or an input has ended"


def engine_of(restrict, **options):
    near = correlate(
        a=left,
        b=right,
        yields=lambda a, b: (a.n, b.n),
        restrict=key_by(a="k", b="k") | restrict,
    )
    return Engine(near, **options)


def test_each_push_that_the_clauses_have_done_is_counted_with_the_reason():
    engine = engine_of(most_recently("a", "b"), lateness=2)
    for number, (key, time) in enumerate([(1, 10), (1, 11), (None, 12), (1, 5), (1, 13)]):
        engine.push(left, {"k": key, "n": number}, at=time)
    assert engine.stats.given_up == {THE_FIRST: 1, "a key is null": 1, "the event is late": 1}


def test_explain_says_what_has_been_counted_and_nothing_before():
    engine = engine_of(most_recently("a", "b"))
    (before,) = [line.strip() for line in engine.explain().splitlines() if "tier " in line]
    assert before.endswith("in place: a push is one function of its own")
    for key in (1, 1, None, None):
        engine.push(left, {"k": key, "n": 0})
    (after,) = [line.strip() for line in engine.explain().splitlines() if "tier " in line]
    assert after.endswith(f"of 4 so far 3 were left to the clauses as written (2: a key is null; 1: {THE_FIRST})")


def test_where_there_is_no_such_function_the_reason_is_that():
    engine = engine_of(most_recently("a", "b"), tier="reference")
    engine.push(left, {"k": 1, "n": 0})
    assert list(engine.stats.given_up.values()) == [1]
    (reason,) = engine.stats.given_up
    assert "reference" in reason or "pinned" in reason


def test_rows_of_a_batch_that_go_one_by_one_are_counted():
    engine = engine_of(most_recently("a", "b"))
    engine.subscribe(engine._program.outputs[0], print)
    engine.push_many({left: {"k": [1, 2, 3], "n": [0, 1, 2]}})
    assert sum(many for reason, many in engine.stats.given_up.items() if reason.startswith("push_many: ")) == 3


@pytest.mark.parametrize("how", ["late", "by clauses", "in a batch"])
def test_what_was_noted_of_an_interrupted_push_is_said_of_no_other(monkeypatch, how):
    """Its function raises, and the push is interrupted before that is told: where strict, the next one would raise."""
    body = correlate(a=left, b=right, yields=lambda a, b: 1 // a.n, restrict=key_by(a="k", b="k"))
    engine = Engine(body, lateness=2)
    for time in (1, 2, 3):
        engine.push(right, {"k": 1, "n": 1}, at=time)
        engine.push(left, {"k": 1, "n": 1}, at=time)
    notes = type(engine._steps.given_up)

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(notes, "taken", interrupted)
        with pytest.raises(KeyboardInterrupt):
            engine.push(left, {"k": 1, "n": 0}, at=4)
    if how == "by clauses":
        engine.subscribe(body, lambda event: None)
        assert len(engine.push(left, {"k": 1, "n": 1}, at=4)) == 3
    elif how == "late":
        assert engine.push(left, {"k": 1, "n": 1}, at=0) == []
    else:
        assert engine.push_many({left: {"k": [1], "n": [1], "at": [4]}}).num_rows == 3
    assert not any("raised" in reason for reason in engine.stats.given_up)


def planted(monkeypatch):
    """A generated function that fails alone."""

    def entry(*_):
        message = "planted"
        raise AssertionError(message)

    engine = engine_of(within(5, "a", "b"))
    engine.push(left, {"k": "1", "n": 0}, at=1)
    monkeypatch.setitem(direct_texts.SCOPE, "there", entry)
    engine = engine_of(within(5, "a", "b"))
    engine.push(left, {"k": (1, 2), "n": 0}, at=1)
    return engine


def test_a_function_that_fails_where_the_clauses_do_not_is_counted(monkeypatch):
    monkeypatch.delenv(STRICT, raising=False)
    engine = planted(monkeypatch)
    assert engine.push(right, {"k": (1, 2), "n": 1}, at=2) != []  # the first of its input
    assert engine.push(right, {"k": (1, 2), "n": 2}, at=2) != []
    assert engine.stats.given_up["its function raised AssertionError, and the clauses as written did not"] == 1


def test_and_raises_where_one_is_strict(monkeypatch):
    monkeypatch.setenv(STRICT, "1")
    engine = planted(monkeypatch)
    engine.push(right, {"k": (1, 2), "n": 1}, at=2)
    with pytest.raises(InternalError, match="its function raised AssertionError"):
        engine.push(right, {"k": (1, 2), "n": 2}, at=2)


def test_what_a_body_raises_is_no_give_up():
    broken = correlate(a=left, b=right, yields=lambda a, b: a.n / b.n, restrict=most_recently("a", "b"))
    engine = Engine(broken)
    engine.push(left, {"n": 1})
    engine.push(right, {"n": 1})
    with pytest.raises(ZeroDivisionError):
        engine.push(right, {"n": 0})
    assert engine.stats.given_up == {THE_FIRST: 2}
