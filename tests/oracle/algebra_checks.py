"""What tests of the algebra of tables share."""

from __future__ import annotations

from cartesius import Engine, Reactive, Update
from restrictions.streams import map_
from restrictions.tables import (
    to_table,
)
from tests.oracle.algebra_oracle import (
    exact,
)


def as_mapping(changes):
    """The changes of a step, in no order."""
    return {change.key: (type(change), exact(getattr(change, "value", None))) for change in changes}


def values(events):
    assert all(event.weight == 1 for event in events)
    return [event.value for event in events]


def emitted(output, *trace):
    """What an output emits, push by push; the pushes are (reactive, value)."""
    engine = Engine(output)
    steps = [values(engine.push(*push)) for push in trace]
    engine._check_invariants()
    return steps


t, u = Reactive("s0", table=True), Reactive("s1", table=True)


def key_by(stream, key):
    return to_table(map_(stream, lambda x: Update(key(x), x)))
