"""Fields that a body asks for are checked against `type=` when it is written, not when an event comes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import attrs
import pytest

from cartesius import Engine, Reactive, correlate, repeated
from cartesius.errors import InvalidArgument


@attrs.frozen
class Made:
    ident: int
    amount: int = 0

    @property
    def double(self) -> int:
        return 2 * self.amount


@dataclass
class Plain:
    ident: int
    amount: int = field(default=0)

    @property
    def double(self) -> int:
        return 2 * self.amount


class Named(NamedTuple):
    ident: int
    amount: int = 0

    @property
    def double(self) -> int:
        return 2 * self.amount


@pytest.mark.parametrize("kind", [Made, Plain, Named])
@pytest.mark.parametrize("table", [False, True])
def test_a_field_that_is_not_there_is_refused_where_it_is_written(kind, table):
    orders: Reactive = Reactive("order", type=kind, table=table)
    with pytest.raises(InvalidArgument) as refused:
        correlate(x=orders, where=lambda x: x.amout > 3, yields=lambda x: x)
    assert str(refused.value) == (
        f"correlate: expected where to ask 'x' for a field of {kind.__name__} (ident, amount) but it asks for 'amout';"
        " did you mean 'amount'?"
    )
    with pytest.raises(InvalidArgument, match=r"expected yields to ask .* asks for 'nope'; declare it there"):
        correlate(x=orders, yields=lambda x: (1, x.nope + 1))


@pytest.mark.parametrize("kind", [Made, Plain, Named])
def test_fields_and_properties_pass(kind):
    orders: Reactive = Reactive("order", type=kind)
    engine = Engine(correlate(x=orders, yields=lambda x: (x.ident, x.amount, x.double)))
    assert [event.value for event in engine.push(orders, kind(1, 2))] == [(1, 2, 4)]


def test_what_correlate_says_its_results_are_is_checked_downstream():
    orders: Reactive = Reactive("order")
    made: Reactive[Any] = correlate(x=orders, yields=lambda x: Made(x.id), type=Made)
    with pytest.raises(InvalidArgument, match="'ident'"):
        correlate(order=made, yields=lambda order: order.idend)


def test_without_a_type_of_fields_and_of_a_list_nothing_is_said():
    for kind in (None, int):
        assert correlate(x=Reactive("x", type=kind), yields=lambda x: x.anything).pattern is not None
    runs = correlate(x=repeated(Reactive("x", type=Made), 2), yields=lambda x: x[0].anything)
    assert runs.pattern is not None
