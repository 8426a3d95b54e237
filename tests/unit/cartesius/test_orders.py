from __future__ import annotations

from typing import Any

import pytest

from cartesius import Reactive, Reliance, ordered, unordered
from cartesius.errors import InvalidArgument

WRONG: Any = 3


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (unordered(), "unordered"),
        (unordered(marked=False), "unordered, without markers"),
        (unordered(distinct=()), "unordered, at distinct times"),
        (unordered(distinct=("mmsi", "kind")), "unordered, at distinct times per mmsi and kind"),
        (ordered(), "ordered"),
        (ordered("mmsi"), "ordered per mmsi"),
        (ordered(per_row=True), "ordered per its row"),
        (ordered("mmsi", among="ais"), "ordered per mmsi among ais"),
    ],
)
def test_an_order_says_what_it_is(order, said):
    assert str(order) == said


def test_without_a_declaration_nothing_is_declared():
    assert Reactive("x").order is None


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ordered(WRONG), "ordered: expected names of fields, in a tuple if there are several, but got 3"),
        (lambda: ordered("id", among=""), "ordered: expected names of fields"),
        (lambda: unordered(distinct=(WRONG,)), "unordered: expected names of fields"),
        (lambda: unordered(distinct=WRONG), "unordered: expected a tuple of names of fields but got 3"),
        (lambda: Reactive("x", order=WRONG), "expected ordered(…) or unordered(…) but got order=3"),
    ],
)  # fmt: skip
def test_what_is_no_order_is_refused(make, said):
    with pytest.raises(InvalidArgument) as caught:
        make()
    assert said in str(caught.value)


def test_who_relies_on_no_order_relies_on_nothing():
    assert not Reliance.NONE
    assert Reliance.ALL == Reliance.WITHIN | Reliance.AMONG | Reliance.BESIDE
