"""A card explains what differs between two programs, in words that somebody who changed one will know."""

from __future__ import annotations

import json

import pytest

from cartesius import Engine, Reactive, correlate
from cartesius.engines.program_cards import differences, fixed_parts, program_card, shown
from restrictions import most_recently, only

left, right, other = Reactive("left"), Reactive("right"), Reactive("other")


def made(where=0, restrict=None, yields=None, name="pairs", right=right, **slots):
    return correlate(
        left=left,
        right=right,
        where=lambda left, right: left.n + right.n > where,
        yields=yields or (lambda left, right: (left.n, right.n)),
        restrict=most_recently("left", "right") if restrict is None else restrict,
        name=name,
        **slots,
    )


def told(before, now):
    return differences(program_card([before])[1], program_card([now])[1])


def test_the_fingerprint_is_that_of_the_engine():
    assert program_card([made()])[0] == Engine(made())._fingerprint()


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (made(where=5), "in 'pairs' where= differs: - 0, + 5"),
        (made(yields=lambda left, right: (left.n, right.m)), "in 'pairs' yields= differs: - right.n, + right.m"),
        (made(restrict=most_recently("left")), "in 'pairs' the restriction most_recently('left', 'right') is gone"),
        (made(right=other), "in 'pairs' the slot 'right' was bound to right and is to other"),
        (made(third=other), "in 'pairs' the slot 'third' is new (other)"),
        (made(name="other"), "the outputs were 'pairs' and are 'other'"),
    ],
)
def test_what_changed_is_named(now, expected):
    assert expected in told(made(), now)


def test_a_slot_that_is_gone():
    assert "in 'pairs' the slot 'third' is gone (other)" in told(made(third=other), made())


def test_correlations_that_come_and_go():
    both = correlate(x=made(), yields=lambda x: x, name="both")
    assert told(made(), both) == ["the outputs were 'pairs' and are 'both'", "the correlation 'both' is new"]
    assert told(both, made())[1] == "the correlation 'both' is gone"


def test_functions_that_are_no_expressions():
    def body(n):
        @correlate(left=left, name="body")
        def inner(left):
            if left.n > n:
                yield left.n

        return inner

    (one,) = told(body(1), body(2))
    assert one.startswith("in 'body' the function of yields= (")
    first, second = (made(restrict=only("left", lambda left, n=n: left.n > n)) for n in (1, 2))
    (one,) = told(first, second)
    assert one.startswith("in 'pairs' the restriction only('left', ")


def test_the_order_of_restrictions():
    one, two = (most_recently(a) | most_recently(b) for a, b in (("left", "right"), ("right", "left")))
    assert told(made(restrict=one), made(restrict=two)) == ["in 'pairs' the restrictions are in another order"]


def test_another_python():
    card = program_card([made()])[1]
    older = json.dumps({**json.loads(card), "python": "3.10"})
    assert differences(older, card)[0].startswith("Python was 3.10 and is 3.")


def test_what_no_card_shows():
    card = program_card([made()])[1]
    assert differences(card, card)[0].startswith("something that the state does not describe")


def test_many_differences_are_counted():
    assert shown([str(n) for n in range(9)]) == "0; 1; 2; 3; 4; 5; and 3 more differences"


def test_fixed_parts_leave_the_rules_out():
    assert fixed_parts(program_card([made(1)])[1]) == fixed_parts(program_card([made(2)])[1])
    assert fixed_parts(program_card([made()])[1]) != fixed_parts(
        program_card([made(restrict=most_recently("left"))])[1]
    )
