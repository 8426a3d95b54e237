"""An absence of a slot that there is not."""

from cartesius import Reactive, correlate
from restrictions import without

order, payment = Reactive("order"), Reactive("payment")
correlate(
    order=order,
    payment=payment,
    yields=lambda order: order.id,
    restrict=without("pament", after="order", within=30),
)
