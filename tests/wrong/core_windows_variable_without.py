"""The variable `window` where there are no windows."""

from cartesius import Reactive, correlate

level = Reactive("level")
correlate(x=level, yields=lambda x, window: (x, window.start))
