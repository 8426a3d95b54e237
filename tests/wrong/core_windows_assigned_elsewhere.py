"""A function that assigns an event to a window that does not contain it."""

from cartesius import Engine, Reactive
from restrictions import cartesian, windowed

level = Reactive("level")
engine = Engine(cartesian(level, restrict=windowed(lambda event: [(event.start + 1, event.end + 10)])))
engine.push(level, "a", at=3)
