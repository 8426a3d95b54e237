"""The law of the bridge for packs of rules: verdicts are those of one engine, and of `check` at the end."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.bridge_packs import drawn_pack
from tests.laws.test_bridge import MODES, check

EXAMPLES = settings(max_examples=max(4, settings().max_examples // 20))


@pytest.mark.parametrize("mode", MODES)
@given(amount=st.integers(1, 40), seed=st.integers(0, 2**32))
@EXAMPLES
def test_verdicts_are_those_of_one_engine(mode, amount, seed):
    draw = random.Random(seed)
    trial = check(drawn_pack(draw, amount), mode, draw, is_derived=True)
    split = {source.input.name: source.partition for source in trial.plan.sources}
    assert trial.plan.count > 1
    assert split.pop("ship") == "mmsi"
    assert set(split.values()) <= {None}
