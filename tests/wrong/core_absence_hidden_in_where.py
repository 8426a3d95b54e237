"""A condition on what must not come, which is no variable."""

from cartesius import Reactive, correlate
from restrictions import without

order, payment = Reactive("order"), Reactive("payment")
correlate(
    order=order,
    where=lambda order, payment: payment.order == order.id,
    yields=lambda order: order.id,
    restrict=without(payment, after="order", within=30),
)
