"""A session of two streams, one of which has no key: of which key is what comes there?"""

from cartesius import Reactive
from restrictions import cartesian, key_by, session

click, weather = Reactive("click"), Reactive("weather")
cartesian(click, weather, restrict=key_by(click="user") | session(30))
