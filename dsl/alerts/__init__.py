"""Alerts: who wants to be told of which verdict changes, told at least once, and never again once they said yes.

In reading order: `messages`, what may be told, as text and as JSON; `targets`, the web hook,
the mail server and the file that it goes to; `file_tables` and `subscriptions`, the file that says who wants what;
`outbox`, what is still to be sent, in SQLite; `alert_delivery`, sending it, again where that failed.

Invariant: an alert has one id, made of what it says and whom it is for; the outbox has that id before anything is sent,
and forgets it never.
"""

from .alert_delivery import Delivery as Delivery
from .alert_delivery import delivering as delivering
from .file_tables import InvalidSubscriptions as InvalidSubscriptions
from .messages import Message as Message
from .messages import Occasion as Occasion
from .outbox import Outbox as Outbox
from .subscriptions import Subscription as Subscription
from .subscriptions import Subscriptions as Subscriptions
from .targets import Email as Email
from .targets import JsonLines as JsonLines
from .targets import NotDelivered as NotDelivered
from .targets import Webhook as Webhook

__all__ = [
    "Delivery",
    "Email",
    "InvalidSubscriptions",
    "JsonLines",
    "Message",
    "NotDelivered",
    "Occasion",
    "Outbox",
    "Subscription",
    "Subscriptions",
    "Webhook",
    "delivering",
]
