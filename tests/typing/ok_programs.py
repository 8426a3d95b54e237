"""The types of programs: of the variables of `correlate`, of results and events, and of what may be pushed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_type

from cartesius import Delete, Engine, Event, Reactive, Update, correlate, repeated, run
from restrictions import as_table, key_by, most_recently, optionally, retracting

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Order:
    id: int
    amount: float


@dataclass(frozen=True)
class Payment:
    order: int


@dataclass(frozen=True)
class Shipment:
    order: int
    place: str


orders = Reactive("order", type=Order)
payments = Reactive("payment", type=Payment)
shipments = Reactive("shipment", type=Shipment)
places = Reactive("place", table=True, type=Shipment)
tide = Reactive("tide")


def sources() -> None:
    assert_type(orders, Reactive[Order])
    assert_type(places, Reactive[Shipment, Update[Shipment] | Delete])
    assert_type(tide, Reactive[Any])
    plain: Reactive = tide
    assert_type(plain, Reactive[Any])


def results() -> None:
    # The result of a body of x, y, z and w is the payload of the output.
    pairs = correlate(x=orders, y=payments, yields=lambda x, y: (x, y))
    assert_type(pairs, Reactive[tuple[Order, Payment]])
    assert_type(correlate(x=orders, yields=lambda x: x.amount), Reactive[float])
    paid = correlate(
        x=orders,
        y=payments,
        where=lambda x, y: x.id == y.order,
        yields=lambda x, y: (x, y),
        restrict=key_by(x="id", y="order") | most_recently("x", "y"),
        name="paid",
    )
    assert_type(paid, Reactive[tuple[Order, Payment]])
    three = correlate(x=orders, y=payments, z=shipments, yields=lambda x, y, z: (x.id, y.order, z.place))
    assert_type(three, Reactive[tuple[int, int, str]])
    four = correlate(x=orders, y=payments, z=shipments, w=paid, yields=lambda x, y, z, w: (z.place, w[0]))
    assert_type(four, Reactive[tuple[str, Order]])

    # Correlations nest; of a table a variable is bound to the rows; `repeated` binds a list.
    assert_type(correlate(x=paid, yields=lambda x: x[0].id), Reactive[int])
    assert_type(correlate(x=orders, y=places, yields=lambda x, y: (x.id, y.place)), Reactive[tuple[int, str]])
    assert_type(correlate(x=repeated(orders, 2), yields=lambda x: x[0]), Reactive[Order])

    # A generator function in direct style says what it yields.
    @correlate(x=orders, y=payments)
    def soon(x: Order, y: Payment) -> Iterator[tuple[Order, Payment]]:
        if x.id == y.order:
            yield x, y

    assert_type(soon, Reactive[tuple[Order, Payment]])


def tables() -> None:
    # `as_table`, wherever it stands, makes a table.
    paid = correlate(x=orders, y=payments, yields=lambda x, y: (x, y), restrict=retracting() | as_table("x"))
    assert_type(paid, Reactive[tuple[Order, Payment], Update[tuple[Order, Payment]] | Delete])
    first = correlate(x=orders, yields=lambda x: x, restrict=as_table("x") | retracting() | key_by(x="id"))
    assert_type(first, Reactive[Order, Update[Order] | Delete])
    middle = correlate(x=orders, yields=lambda x: x, restrict=key_by(x="id") | as_table("x") | retracting())
    assert_type(middle, Reactive[Order, Update[Order] | Delete])
    alone = correlate(x=orders, yields=lambda x: x, restrict=as_table(lambda order: order))
    assert_type(alone, Reactive[Order, Update[Order] | Delete])

    engine = Engine(paid)
    assert_type(engine.push(orders, Order(1, 2.5)), list[Event[Update[tuple[Order, Payment]] | Delete]])
    assert_type(engine.query(paid), dict[Any, tuple[Order, Payment]])
    for event in engine.close():
        if isinstance(event.value, Update):
            assert_type(event.value.value, tuple[Order, Payment])


def engines() -> None:
    pairs = correlate(x=orders, y=payments, yields=lambda x, y: (x, y))
    engine = Engine(pairs)
    (event,) = engine.push(orders, Order(1, 2.5))
    assert_type(event, Event[tuple[Order, Payment]])
    assert_type(event.value[1], Payment)
    assert_type(engine.advance(3), list[Event[tuple[Order, Payment]]])
    assert_type(run(pairs, [(orders, Order(1, 2.5))]), list[Event[tuple[Order, Payment]]])
    assert_type(Engine.restore(engine.snapshot(), pairs), Engine[tuple[Order, Payment]])
    engine.subscribe(pairs, lambda events: [event.value[0].amount for event in events])

    # Several outputs: each event carries what one of them does.
    assert_type(Engine(pairs, orders), Engine[tuple[Order, Payment] | Order])

    # Rows of a table are pushed as changes, or bare if it declares its key.
    ships = Engine(places)
    ships.push(places, Update("A", Shipment(1, "A")))
    ships.push(places, Delete("A"))
    ships.push(places, Shipment(1, "A"))


def without_types() -> None:
    # What has no type is anything, and what has a name of its own works as ever.
    assert_type(correlate(x=tide, y=orders, yields=lambda x, y: (x.height, y)), Reactive[tuple[Any, Order]])
    Engine(tide).push(tide, {"height": 3})
    correlate(left=tide, right=orders, yields=lambda left, right: left.height + right.amount)
    correlate(x=orders, tide=tide, yields=lambda x, tide: x.amount + tide.height)
    correlate(slots={"where": tide}, yields=lambda where: where.height)

    # A body of a few of the variables, or with the times, is not looked into; nor is one of other names, ...
    assert_type(correlate(x=orders, y=payments, yields=lambda y: y.order), Reactive)
    assert_type(correlate(x=orders, y=payments, yields=lambda x, y, time_x: (x, time_x.start)), Reactive)
    correlate(x=orders, y=payments, where=lambda x: x.amount > 3, yields=lambda x, y: x)
    correlate(order=orders, payment=payments, yields=lambda order, payment: order.id, restrict=optionally("payment"))

    # ... unless it is annotated.
    def pair(order: Order, payment: Payment) -> tuple[Order, Payment]:
        return order, payment

    assert_type(correlate(order=orders, payment=payments, yields=pair), Reactive[tuple[Order, Payment]])
