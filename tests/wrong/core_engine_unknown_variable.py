"""A condition on a variable that there is not."""

from cartesius import Reactive, correlate

correlate(
    ship=Reactive("vessels"),
    berth=Reactive("berths"),
    where=lambda shipp, berth: shipp.berth == berth.id,
    yields=lambda ship, berth: (ship, berth),
)
