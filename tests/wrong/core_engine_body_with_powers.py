"""A body that does what only a clause of a restriction may."""

from cartesius import Engine, Reactive, correlate, notify_at
from restrictions import first_match


def remind(x):
    notify_at(x.until)
    return x


level = Reactive("level")
engine = Engine(correlate(x=level, yields=lambda x: remind(x), restrict=first_match()))
engine.push(level, {"until": 7})
