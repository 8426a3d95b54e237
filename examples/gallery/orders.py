"""Orders: those that were paid within 30 minutes and shipped within two days, and those that were not paid in time."""

from __future__ import annotations

from datetime import timedelta

from cartesius import Reactive, correlate
from examples.gallery.exhibits import Exhibit, on
from restrictions import in_event_time, in_sequence, key_by, within, without

soon, in_order = timedelta(minutes=30), in_event_time(timedelta(minutes=5))
orders, payments, shipments = Reactive("order"), Reactive("payment"), Reactive("shipment")
steps = in_sequence("order", "payment", "shipment") | within(timedelta(days=2), "order", "payment", "shipment")
paid = key_by(order="id", payment="order", shipment="order") | within(soon, "order", "payment")
not_paid = key_by(order="id", payment="order") | without("payment", after="order", within=soon)
ends, rest = paid | steps | in_order, not_paid | in_order
shipped = correlate(
    order=orders, payment=payments, shipment=shipments, yields=lambda order: order, restrict=ends, name="shipped"
)
unpaid = correlate(order=orders, payment=payments, yields=lambda order: order, restrict=rest, name="unpaid")

EXHIBIT = Exhibit(
    task="Tell of each order that was paid within 30 minutes and then shipped within two days of it, and of each order"
    " that was not paid within 30 minutes.",
    outputs=(shipped, unpaid),
    lateness=timedelta(minutes=5),
    arrivals=on(
        "2026-03-02",
        ("10:00", orders, {"id": 1, "buyer": "ann"}),
        ("10:05", orders, {"id": 2, "buyer": "bob"}),
        ("10:06", orders, {"id": 3, "buyer": "cid"}),
        ("10:08", payments, {"order": 3, "by": "card"}),
        ("10:04", payments, {"order": 1, "by": "card"}),  # four minutes late
        ("10:20", orders, {"id": 4, "buyer": "dee"}),
        ("10:36", payments, {"order": 2, "by": "transfer"}),  # a minute more than the half hour
        ("10:50", payments, {"order": 4, "by": "card"}),  # to the minute
        ("15:00", shipments, {"order": 1, "carrier": "post"}),
        ("15:30", shipments, {"order": 2, "carrier": "post"}),
        ("+1 09:00", shipments, {"order": 4, "carrier": "bike"}),
        ("+2 10:30", shipments, {"order": 3, "carrier": "post"}),  # more than two days
    ),
)
