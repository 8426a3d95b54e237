"""A restriction that keeps something without declaring it."""

from cartesius import Engine, Reactive, Restriction, Slot, arrive, forward, handles
from restrictions import cartesian


class counting(Restriction):
    slot: Slot

    @handles(arrive, "slot")
    def count(self, slot, event):
        self.seen = 1
        forward(slot, event)


level = Reactive("level")
Engine(cartesian(level, restrict=counting("level"))).push(level, 7)
