"""A restriction that performs an operation for which there is no handler."""

from cartesius import Operation, Reactive, Restriction, Slot, arrive, forward, handles
from restrictions import cartesian, most_recently

log = Operation("log")


class logging(Restriction):
    slot: Slot
    performs = (log,)

    @handles(arrive, "slot")
    def write(self, slot, event):
        log(event.value)
        forward(slot, event)


level = Reactive("level")
cartesian(level, restrict=most_recently("level") | logging("level"))
