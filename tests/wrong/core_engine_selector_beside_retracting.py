"""A selector beside retraction, which could not take back what it left out."""

from cartesius import Reactive
from restrictions import cartesian, first_match, most_recently, retracting

left, right = Reactive("left"), Reactive("right")
cartesian(left, right, restrict=most_recently("left") | retracting() | first_match())
