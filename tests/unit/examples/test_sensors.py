"""The sensor pipeline: whatever the order of the hub, one output, which an oracle computes from the measurements."""

from __future__ import annotations

from itertools import pairwise

import pytest

from cartesius.errors import OrderMismatch
from examples import sensors
from restrictions.operators import operate


def oracle(sent):
    """For each sensor near a window the value of each second since its first, by the line between its neighbours."""
    found = {}
    for name in (name for name, is_near in sensors.NEAR_WINDOW.items() if is_near):
        points = sorted((one["ts"], one["value"]) for span in sent for one in span if one["id"] == name)
        filled = points[:1]
        for (before, first), (now, last) in pairwise(points):
            filled += [(s, first + (last - first) * (s - before) / (now - before)) for s in range(before + 1, now + 1)]
        found[name] = filled
    return found


@pytest.mark.parametrize("seed", range(10))
def test_what_is_missing_is_filled_in_whatever_the_order_of_the_hub(seed):
    sent = sensors.measurements(seed)
    assert sensors.filled_in(sent) == oracle(sensors.measurements(0))


def test_the_types_of_the_edges_are_those_of_the_paper():
    orders = [str(reactive.order) for reactive in (sensors.HUB, sensors.NEAR, sensors.SORTED, sensors.SINK)]
    assert orders == ["unordered", "unordered", "ordered per key", "ordered per key"]


def test_interpolation_directly_behind_the_join_is_refused():
    with pytest.raises(OrderMismatch, match="not implied is an order of x per key, relied on by linear_interpolation"):
        operate(sensors.NEAR, sensors.linear_interpolation("x"))


def test_it_shows_itself(capsys):
    sensors.main([], standalone_mode=False)
    shown = capsys.readouterr().out
    assert "20 orders of the hub: one output" in shown
    assert "- version it:" in shown
