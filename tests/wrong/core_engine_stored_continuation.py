"""A snapshot while a restriction holds the continuation of a strand."""

from cartesius import Engine, Reactive, Restriction, Slot, arrive, controls, forward, handles, state
from restrictions import cartesian


class stalling(Restriction):
    slot: Slot
    signal: Slot
    held = state(None)

    @controls(arrive, "slot")
    def hold(self, slot, event, resume):
        forward(slot, event)
        self.held = resume

    @handles(arrive, "signal")
    def go_on(self, slot, event):
        held, self.held = self.held, None
        held()


left, right = Reactive("left"), Reactive("right")
engine = Engine(cartesian(left, right, restrict=stalling("left", "right")))
engine.push(left, 1)
engine.snapshot()
