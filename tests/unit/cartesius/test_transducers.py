from __future__ import annotations

import re
from typing import Any

import pytest

from cartesius.errors import InvalidArgument
from cartesius.transducers import CONFLICT, INITIAL, UNDEFINED, New, Steps, Transducer, Transition, union


def same(value):
    return value


def test_the_sum_of_the_as_since_the_last_b():  # SOURCES E6
    since = Transducer(
        ["s"],
        [
            Transition(INITIAL, (), "s", lambda: 0),
            Transition("a", ("s",), "s", lambda s, cur: s + cur),
            Transition("b", (), "s", lambda cur: 0),
        ],
    )
    assert [out["s"] for out in since.run([("a", 3), ("a", 4), ("b", 0), ("a", 1)])] == [0, 3, 7, 0, 1]


def test_two_contributions_are_a_conflict_although_they_are_equal():  # SOURCES E6
    twice = Transducer(["s"], [Transition("a", (), "s", lambda cur: 1), Transition("a", (), "s", lambda cur: 2 - 1)])
    assert twice.run([("a", 0)]) == [{"s": UNDEFINED}, {"s": CONFLICT}]


def test_union_counts():
    assert union(7) == 7
    assert union(UNDEFINED, UNDEFINED) is UNDEFINED
    assert union(7, 7) is CONFLICT
    assert union(7, CONFLICT) is CONFLICT


def test_a_state_without_a_transition_of_the_tag_becomes_undefined():
    kept = Transducer(["s", "t"], [Transition("a", (), "s", same), Transition("b", ("s",), "t", lambda s, cur: s)])
    assert kept.run([("a", 3), ("b", 0), ("b", 0)]) == [
        {"s": UNDEFINED, "t": UNDEFINED},
        {"s": 3, "t": UNDEFINED},
        {"s": UNDEFINED, "t": 3},
        {"s": UNDEFINED, "t": UNDEFINED},
    ]


def cycle():
    """p' = cur, and p' = q', and q' = p'."""
    return Transducer(
        ["p", "q", "old"],
        [
            Transition("a", ("old",), "old", lambda old, cur: old),
            Transition("a", (), "p", same),
            Transition("a", (New("q"),), "p", lambda q, cur: q),
            Transition("a", (New("p"), "old"), "q", lambda p, old, cur: p),
        ],
        initial=["old"],
    )


def test_on_a_cycle_what_is_read_again_is_put_back_not_what_writes():
    """The printed algorithm puts back what leads *into* a risen state: then q would never hear of p."""
    running = cycle().start({"old": 0})
    assert running.take("a", 5) == {"p": CONFLICT, "q": CONFLICT, "old": 0}
    assert running.counts.latest == Steps(6, 5, 2) == cycle().steps("a")


def test_what_is_in_conflict_is_not_evaluated_again_however_many_of_its_sources_rise():
    late = Transducer(
        ["p", "q", "r", "s"],
        [
            Transition("a", (), "p", same),
            Transition("a", (New("r"),), "p", max),
            Transition("a", (), "q", same),
            Transition("a", (New("s"),), "q", max),
            Transition("a", (New("p"), New("q")), "r", max),
            Transition("a", (New("r"),), "s", max),
        ],
    )
    running = late.start()
    assert set(running.take("a", 5).values()) == {CONFLICT}
    assert (running.counts.evaluations, running.counts.terms) == (10, 6)


def test_an_old_value_that_is_undefined_holds_a_transition_back():
    """The printed algorithm counts undefined new values alone."""
    assert cycle().start().take("a", 5) == {"p": 5, "q": UNDEFINED, "old": UNDEFINED}


def test_a_cycle_that_nothing_enters_stays_undefined():
    idle = Transducer(["p", "q"], [Transition("a", (New("q"),), "p", max), Transition("a", (New("p"),), "q", max)])
    assert idle.run([("a", 5)])[-1] == {"p": UNDEFINED, "q": UNDEFINED}


def test_a_conflict_of_the_beginning_stays_as_long_as_it_is_read():
    held = Transducer(["s"], [Transition("a", ("s",), "s", max), Transition("b", (), "s", same)], initial=["s"])
    assert held.run([("a", 1), ("b", 2), ("a", 3)], {"s": CONFLICT}) == [
        {"s": CONFLICT}, {"s": CONFLICT}, {"s": 2}, {"s": 3},
    ]  # fmt: skip


def test_what_is_given_is_joined_with_what_initial_transitions_say():
    begun = Transducer(["s"], [Transition(INITIAL, (), "s", lambda: 1)], initial=["s"])
    assert begun.run([]) == [{"s": 1}]
    assert begun.run([], {"s": 1}) == [{"s": CONFLICT}]


def test_levels_are_what_must_wait_for_what():
    chain = Transducer(
        ["a", "b", "c", "d"],
        [
            Transition("x", (), "a", same),
            Transition("x", (), "b", same),
            Transition("x", (New("a"), New("b")), "c", lambda a, b, cur: a + b),
            Transition("x", (New("c"),), "d", max),
        ],
        final=["d"],
    )
    running = chain.start()
    assert running.take("x", 2) == {"d": 4}
    assert chain.steps("x") == running.counts.latest == Steps(total=4, levels=3, parallel=2)


def test_a_term_that_raises_changes_nothing():
    inverse = Transducer(
        ["n", "s"],
        [Transition("a", ("n",), "n", max), Transition("a", ("s",), "s", lambda s, x: s / x)],
        initial=["n", "s"],
    )
    running = inverse.start({"n": 0, "s": 8})
    running.take("a", 2)
    with pytest.raises(ZeroDivisionError):
        running.take("a", 0)
    assert running.outputs == {"n": 2, "s": 4}
    assert running.counts.items == 1
    assert running.take("a", 4) == {"n": 4, "s": 1}


TEXT: Any = "cur + 1"
WRONG = [
    (lambda: Transducer([], []), "expected at least one state"),
    (lambda: Transducer("ab", []), "write ['ab']"),
    (lambda: Transducer(["a", "a"], []), "expected names, each once, in states but got 'a'"),
    (lambda: Transducer(["a"], [Transition("x", (), "b", same)]), "expected a state but got 'b'; the states are a"),
    (lambda: Transducer(["a"], [Transition("x", ("b",), "a", max)]), "expected a state but got 'b'"),
    (lambda: Transducer(["a"], [Transition("x", (New("b"),), "a", max)]), "expected a state but got 'b'"),
    (lambda: Transducer(["a"], [Transition("x", (), "a", same)], tags=["y"]), "a tag but got 'x'; the tags are y"),
    (lambda: Transducer(["a"], [Transition("x", ("a", "a"), "a", max)]), "expected each source once"),
    (lambda: Transducer(["a"], [Transition(INITIAL, ("a",), "a", same)]), "write New('a'), or name it in initial="),
    (lambda: Transducer(["a"], [Transition("x", (), "a", lambda: 0)]), "of its 0 sources, and of the item's value"),
    (lambda: Transducer(["a"], [Transition(INITIAL, (), "a", same)]), "of its 0 sources but got"),
    (lambda: Transducer(["a"], [Transition("x", (), "a", TEXT)]), "but got 'cur + 1' (type=str)"),
    (lambda: Transducer(["a"], [], final=["b"]), "expected states in final but got 'b'; the states are a"),
    (lambda: Transducer(["a"], [], initial=["b"]), "expected states in initial but got 'b'"),
    (lambda: Transducer(["a"], []).start({"a": 1}), "the initial states are none"),
    (lambda: Transducer(["a"], []).start().take("x", 1), "expected a tag but got 'x'; the tags are none"),
    (lambda: Transducer(["a"], [], tags=["x"]).start().take("x", UNDEFINED), "expected an item with a value"),
    (lambda: Transducer(["a"], []).steps("x"), "steps: expected a tag"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_is_no_transducer_is_refused_where_it_is_made(make, said):
    with pytest.raises(InvalidArgument, match=re.escape(said)):
        make()


def test_states_in_a_set_and_transitions_that_are_none_are_refused():
    with pytest.raises(InvalidArgument, match=re.escape("states={'s'}; write ['s']")):
        Transducer({"s"}, [])  # type: ignore[arg-type]  # what is tried
    with pytest.raises(InvalidArgument, match="expected transitions but got 'x'"):
        Transducer(["s"], ["x"])  # type: ignore[list-item]  # what is tried
