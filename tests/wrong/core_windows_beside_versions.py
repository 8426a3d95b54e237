"""Windows beside versions: both say when events may meet."""

from cartesius import Reactive
from restrictions import cartesian, tumbling, versioned

price, trade = Reactive("price"), Reactive("trade")
cartesian(price, trade, restrict=tumbling(60) | versioned("price"))
