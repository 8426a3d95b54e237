"""What tests of the stream operators share."""

from __future__ import annotations

import re

import pytest

from cartesius.errors import InvalidArgument
from restrictions import streams


def values(events):
    return [event.value for event in events]


def double(x):
    return 2 * x


def both(x):
    return [x, -x]


def is_even(x):
    return x % 2 == 0


def total(s, x):
    return s + x


def ones(reactive, *payloads):
    """A trace of one input, a unit of time apart."""
    return [(reactive, payload, time) for time, payload in enumerate(payloads)]


def fails(call, build):
    with pytest.raises(InvalidArgument, match=rf"^{re.escape(call)}: expected "):
        build()


ARGUMENTS = {  # what follows the reactives, and how many these are
    "with_latest_from": (2, ()),
    "merge": (2, ()),
    "map_": (1, (double,)),
    "filter_": (1, (is_even,)),
    "map_concat": (1, (both,)),
    "scan": (1, (total,)),
    "skip_while": (1, (is_even,)),
    "skip_until": (2, ()),
    "take_until": (2, ()),
    "distinct_until_changed": (1, ()),
    "rolling": (1, (2,)),
    "buffer": (1, (2,)),
    "sample": (2, ()),
    "fork_join": (2, ()),
    "join": (2, (1, 2)),
    "group_join": (2, (1, 2)),
    "interval_join": (2, (-1, 2)),
}
PLACES = [(call, place) for call, (count, _) in ARGUMENTS.items() for place in range(count)]


def of(call):
    """The operator with the arguments of the table, on as many of two streams as it takes."""
    count, rest = ARGUMENTS[call]
    return lambda a, b: getattr(streams, call)(*(a, b)[:count], *rest)


OPERATORS = {call: of(call) for call in ARGUMENTS} | {
    "scan from an initial value": lambda a, b: streams.scan(a, total, initial=3),
    "distinct_until_changed by key": lambda a, b: streams.distinct_until_changed(a, key=is_even),
    "merge with now and never": lambda a, b: streams.merge(streams.now(0), a, streams.never(), b),
    "combine_latest": lambda a, b: streams.combine_latest(a, b, streams.now("k")),
    "a nested one": lambda a, b: streams.scan(
        streams.map_concat(streams.merge(streams.map_(a, double), streams.sample(a, b)), both), total
    ),
}
