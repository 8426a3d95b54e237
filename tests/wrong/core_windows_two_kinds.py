"""Sessions inside tumbling windows, of one correlation."""

from cartesius import Reactive
from restrictions import cartesian, session, tumbling

bid, ask = Reactive("bid"), Reactive("ask")
cartesian(bid, ask, restrict=tumbling(60) | session(5))
