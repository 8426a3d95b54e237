"""Five restrictions that a user could have written: each is a join semantics that stream processors lack.

Every one is a class of fewer than 15 lines that imports public names alone, works under `key_by` (with state for each
key) and survives a snapshot between any two pushes; `tests/unit/examples/test_restrictions.py` shows it.

    failover   `failing_over`   handles arrive      which of two sources to trust
    episode    `episodes`       handles push        a window that ends with an event, not with a time
    latches    `latching`       handles displace    an alarm stays until it is acknowledged
    spread     `spreading`      handles select      the partner with the most room takes the job
    expiry     `good_until`     handles tick        every event says itself how long it is good

`python -m examples.restrictions` shows each at work.
"""

from .episode import episodes as episodes
from .expiry import good_until as good_until
from .failover import failing_over as failing_over
from .latches import latching as latching
from .spread import spreading as spreading

__all__ = ["episodes", "failing_over", "good_until", "latching", "spreading"]
