"""An engine used by a second thread."""

from concurrent.futures import ThreadPoolExecutor

from cartesius import Engine, Reactive
from restrictions import combine_latest

left, right = Reactive("left"), Reactive("right")
engine = Engine(combine_latest(left, right))
with ThreadPoolExecutor(thread_name_prefix="worker") as pool:
    pool.submit(engine.push, left, 1).result()
