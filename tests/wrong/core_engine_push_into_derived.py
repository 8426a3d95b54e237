"""A push into the result of a correlation."""

from cartesius import Engine, Reactive
from restrictions import combine_latest

left, right = Reactive("left"), Reactive("right")
pairs = combine_latest(left, right)
Engine(pairs).push(pairs, (1, 2))
