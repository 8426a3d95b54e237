"""A body that pushes into the engine that runs it."""

from cartesius import Engine, Reactive, correlate

level, alarm = Reactive("level"), Reactive("alarm")


def react(x):
    engine.push(alarm, x)
    return x


high = correlate(x=level, y=alarm, yields=lambda x, y: react(x))
engine = Engine(high)
engine.push(level, 7)
engine.push(alarm, "test")
