"""What both checkers must refuse, line by line: fields that are not there, and payloads that do not fit."""

from __future__ import annotations

from dataclasses import dataclass

from cartesius import Delete, Engine, Reactive, Update, correlate
from restrictions import as_table


@dataclass(frozen=True)
class Order:
    id: int


@dataclass(frozen=True)
class Payment:
    order: int


orders = Reactive("order", type=Order)
payments = Reactive("payment", type=Payment)
places = Reactive("place", table=True, type=Order)


def bodies() -> None:
    correlate(x=orders, yields=lambda x: x.nope)  # E: "Order" has no attribute "nope"
    correlate(x=orders, y=payments, yields=lambda x, y: (x, y.nope))  # E: "Payment" has no attribute "nope"
    correlate(x=orders, where=lambda x: x.nope == 1, yields=lambda x: x)  # E: no attribute "nope"
    correlate(x=orders, yields=lambda x: x.nope, restrict=as_table("x"))  # E: no attribute "nope"
    correlate(x=places, yields=lambda x: x.nope)  # E: no attribute "nope"
    pairs = correlate(x=orders, y=payments, yields=lambda x, y: (x, y))
    correlate(x=pairs, yields=lambda x: x[0].nope)  # E: no attribute "nope"
    correlate(x=3, yields=lambda x: x)  # E: No overload variant of "correlate"


def pushes() -> None:
    pairs = correlate(x=orders, y=payments, yields=lambda x, y: (x, y))
    engine = Engine(pairs)
    engine.push(orders, "wrong")  # E: of "push"
    engine.push(orders, Payment(1))  # E: of "push"
    engine.push(payments, {"order": 1})  # E: of "push"
    engine.push(places, Update("A", Payment(1)))  # E: of "push"
    engine.push(orders, Delete("A"))  # E: of "push"
    for event in engine.close():
        print(event.value[0].nope)  # E: "Order" has no attribute "nope"
        print(event.value[2])  # E: index out of range
