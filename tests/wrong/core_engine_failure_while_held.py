"""A push into an engine whose last push failed while a restriction held a continuation."""

from cartesius import Engine, Reactive, Restriction, Slot, arrive, controls, correlate, forward, state


class stalling(Restriction):
    slot: Slot
    held = state(None)

    @controls(arrive, "slot")
    def hold(self, slot, event, resume):
        forward(slot, event)
        self.held = resume


left, right = Reactive("left"), Reactive("right")
ratio = correlate(x=left, y=right, yields=lambda x, y: x / y, restrict=stalling("x"))
engine = Engine(ratio)
engine.push(left, 1)
try:
    engine.push(right, 0)
except ZeroDivisionError:
    engine.push(right, 2)
