"""Advertising: each click is credited to the latest impression of its user, if that was at most a day before."""

from __future__ import annotations

from datetime import timedelta

from cartesius import Reactive, correlate
from examples.gallery.exhibits import Exhibit, on
from restrictions import in_event_time, key_by, momentarily, most_recently, within

day, late = timedelta(days=1), timedelta(hours=1)
impressions, clicks = Reactive("impression"), Reactive("click")
latest = most_recently("impression") | momentarily("click") | within(day, "impression", "click")
attributed = correlate(
    impression=impressions,
    click=clicks,
    yields=lambda impression, click: {"click": click.id, "user": click.user, "ad": impression.ad},
    restrict=key_by(impression="user", click="user") | latest | in_event_time(late),
    name="attributed",
)

EXHIBIT = Exhibit(
    task="Credit each click, once, to the latest impression of its user, if that was at most a day before it.",
    outputs=(attributed,),
    lateness=late,
    arrivals=on(
        "2026-03-02",
        ("09:00", impressions, {"user": "ann", "ad": "shoes"}),
        ("09:05", impressions, {"user": "bob", "ad": "boots"}),
        ("09:30", impressions, {"user": "ann", "ad": "socks"}),
        ("09:31", clicks, {"user": "ann", "id": 1}),
        ("09:20", clicks, {"user": "ann", "id": 2}),  # comes late: by then there were only shoes
        ("09:33", clicks, {"user": "cid", "id": 3}),  # saw no ad
        ("+1 09:05", clicks, {"user": "bob", "id": 4}),  # to the minute a day later
        ("+1 09:40", clicks, {"user": "ann", "id": 5}),  # ten minutes more than a day later
    ),
)
