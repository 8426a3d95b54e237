"""What is checked of a restriction's fields when it is made: functions and durations."""

from __future__ import annotations

import collections.abc
import typing
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cartesius import (
    Duration,
    Engine,
    Restriction,
    Slot,
    arrive,
    forward,
    handles,
    run,
    state,
)
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable
from tests.unit.cartesius.clause_examples import through, values

# -------------------------------------------------------------------------------------- what is checked when it is made


class by_function(Restriction):
    slot: Slot
    by: Callable[[Any], Any]


class by_typing(Restriction):
    slot: Slot
    by: typing.Callable[[Any], Any]


class by_optional(Restriction):
    slot: Slot
    by: Callable[[Any], Any] | None = None


class lasting_for(Restriction):
    slot: Slot
    duration: Duration
    step: Duration = 0


def without_strings(**annotations):
    """A class whose annotations are objects: as without ``from __future__ import annotations``."""
    return type("made", (Restriction,), {"__annotations__": {"slot": Slot, **annotations}})


FUNCTIONS = [
    by_function,
    by_typing,
    without_strings(by=typing.Callable),
    without_strings(by=typing.Callable[[Any], Any]),
    without_strings(by=collections.abc.Callable),
    without_strings(by=collections.abc.Callable[[Any], Any]),
]


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("wrong", [3, None, "length", ()])
def test_a_function_is_checked_when_the_restriction_is_made(kind, wrong):
    with pytest.raises(InvalidArgument, match=r"expected a function but got by="):
        kind("x", wrong)
    kind("x", len)
    kind("x", partial(max, 3))


def test_a_function_that_may_be_missing_may_be_none():
    by_optional("x")
    by_optional("x", by=None)
    by_optional("x", by=len)


@pytest.mark.parametrize("kind", [lasting_for, without_strings(duration=Duration)])
@pytest.mark.parametrize("wrong", [1.5, 1.0, True, "5", None, (1,), len])
def test_a_duration_is_checked_when_the_restriction_is_made(kind, wrong):
    with pytest.raises(InvalidArgument, match=r"duration="):
        kind("x", wrong)
    kind("x", 5)
    kind("x", timedelta(seconds=5))


def test_a_duration_with_a_default_is_checked_too():
    with pytest.raises(InvalidArgument, match="step="):
        lasting_for("x", 5, step=1.5)
    with pytest.raises(InvalidArgument, match="step="):
        lasting_for("x", 5, step=None)


def test_a_duration_with_a_rest_is_refused_when_the_engine_knows_the_unit(a):
    output = through(a, lasting_for("x", timedelta(milliseconds=1500)))
    Engine(output)
    with pytest.raises(InvalidArgument, match="whole time units"):
        Engine(output, unit=timedelta(seconds=1))


def test_a_clause_reads_time_units(a):
    class showing(Restriction):
        slot: Slot
        duration: Duration
        seen: Any = state(())

        @handles(arrive, "slot")
        def show(self, slot, event):
            forward(slot, event.with_value(self.duration))

    output = through(a, showing("x", timedelta(seconds=90)))
    assert values(run(output, [(a, None)])) == [90_000_000]
    assert values(run(output, [(a, None)], unit=timedelta(seconds=30))) == [3]
