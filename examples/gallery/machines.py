"""Machines: four readings of a machine, one after the other, that rise."""

from __future__ import annotations

from datetime import timedelta

from cartesius import Reactive, correlate, repeated, successive
from examples.gallery.exhibits import Exhibit, on
from restrictions import affinely, in_event_time, key_by, most_recently, within

readings, minute = Reactive("reading"), timedelta(minutes=1)
last_four = most_recently("run", n=4) | affinely("run") | within(10 * minute, "run")
rising = correlate(
    run=repeated(readings, 4),
    where=lambda run: successive(run, lambda earlier, later: earlier.heat < later.heat),
    yields=lambda run: {"machine": run[0].machine, "from": run[0].heat, "to": run[-1].heat},
    restrict=key_by(run="machine") | last_four | in_event_time(minute),
    name="rising",
)

EXHIBIT = Exhibit(
    task="Give an alarm when the last four readings of a machine since its last alarm, taken within ten minutes, rise"
    " one by one.",
    outputs=(rising,),
    lateness=minute,
    arrivals=on(
        "2026-03-02",
        ("14:00:00", readings, {"machine": "press", "heat": 61}),
        ("14:01:00", readings, {"machine": "press", "heat": 64}),
        ("14:01:10", readings, {"machine": "lathe", "heat": 40}),
        ("14:03:00", readings, {"machine": "press", "heat": 70}),
        ("14:02:30", readings, {"machine": "press", "heat": 66}),  # half a minute late: the third of the rise
        ("14:04:00", readings, {"machine": "press", "heat": 72}),  # a fifth begins anew
        ("14:04:10", readings, {"machine": "lathe", "heat": 42}),
        ("14:05:00", readings, {"machine": "press", "heat": 71}),
        ("14:07:00", readings, {"machine": "lathe", "heat": 45}),
        ("14:11:20", readings, {"machine": "lathe", "heat": 47}),  # ten seconds more than ten minutes
        ("14:11:30", readings, {"machine": "lathe", "heat": 49}),
    ),
)
