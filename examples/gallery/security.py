"""Security: a login after three failures, unless the password was reset in between."""

from __future__ import annotations

from datetime import timedelta

from cartesius import Reactive, correlate, repeated
from examples.gallery.exhibits import Exhibit, on
from restrictions import affinely, fifo, in_event_time, key_by, momentarily, most_recently, within, without

failures, logins, resets = Reactive("failure"), Reactive("login"), Reactive("reset")
keys, in_order = key_by(tries="account", login="account", reset="account"), in_event_time(timedelta(seconds=30))
last = most_recently("tries", n=3) | affinely("tries") | within(timedelta(minutes=10), "tries", "login")
guessed = correlate(
    login=logins,
    tries=repeated(failures, 3),
    yields=lambda login, tries: {"account": login.account, "first": tries[0].address, "login": login.address},
    restrict=keys | fifo() | without(resets, between=("tries", "login")) | last | momentarily("login") | in_order,
    name="guessed",
)

EXHIBIT = Exhibit(
    task="Give an alarm at a login whose account had three failures within ten minutes before it, since its last alarm;"
    " the last three count. If the password was reset after them, there is none.",
    outputs=(guessed,),
    lateness=timedelta(seconds=30),
    arrivals=on(
        "2026-03-02",
        ("03:00:00", failures, {"account": "root", "address": "10.0.0.7"}),
        ("03:00:10", failures, {"account": "root", "address": "10.0.0.8"}),
        ("03:00:30", failures, {"account": "ann", "address": "10.0.0.2"}),
        ("03:00:50", logins, {"account": "root", "address": "10.0.0.9"}),
        ("03:00:40", failures, {"account": "root", "address": "10.0.0.8"}),  # comes after the login that it preceded
        ("03:01:00", logins, {"account": "root", "address": "10.0.0.9"}),  # nothing has failed since
        ("03:01:10", failures, {"account": "ann", "address": "10.0.0.2"}),
        ("03:01:20", failures, {"account": "ann", "address": "10.0.0.2"}),
        ("03:05:00", resets, {"account": "ann"}),
        ("03:06:00", logins, {"account": "ann", "address": "10.0.0.2"}),  # she has a new password
        ("03:30:00", logins, {"account": "bob", "address": "10.0.0.4"}),
    ),
)
