"""Fields called like what a record has itself: `key_by` reads the attribute, and a column of that name is not it."""

import pytest

from cartesius import CartesiusError, Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import key_by, most_recently

LEFT, RIGHT = Reactive("left"), Reactive("right")


def outcome(call):
    try:
        return call()
    except CartesiusError as error:
        return str(error)


@pytest.mark.parametrize("name", ["__class__", "_fields", "_x"])
def test_an_attribute_of_records_is_what_push_takes(name):
    restrict = key_by(x=name, y=name) | most_recently("x", "y")
    output = correlate(x=LEFT, y=RIGHT, yields=lambda x, y: (x.k, y.k), restrict=restrict)
    rows = [(LEFT, {name: 1, "k": 1}), (RIGHT, {name: 2, "k": 2}), (RIGHT, {name: 1, "k": 3})]
    batch = {LEFT: {name: [1], "k": [1], "order": [0]}, RIGHT: {name: [2, 1], "k": [2, 3], "order": [1, 2]}}
    reference, engine = Engine(output, tier="reference"), Engine(output)
    pushed = outcome(lambda: [event for row in rows for event in reference.push(*row)])
    assert outcome(lambda: events_of(engine.push_many(batch))) == pushed
    assert engine.stats == reference.stats
