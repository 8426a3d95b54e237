"""One event more than a bounded alignment may hold."""

from cartesius import Engine, Reactive
from restrictions import aligning, cartesian

left, right = Reactive("left"), Reactive("right")
engine = Engine(cartesian(left, right, restrict=aligning("left", "right", limit=2)))
for value in (1, 2, 3):
    engine.push(left, value)
