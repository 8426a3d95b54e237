"""The law of the bridge for packs of rules: verdicts are those of one engine, however rows are cut and spread."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius.errors import InvalidArgument
from tests.laws.bridge_packs import drawn_pack, drawn_rows, fleets, windows
from tests.laws.spark_model import planned
from tests.laws.test_bridge import MODES, check

EXAMPLES = settings(max_examples=max(4, settings().max_examples // 20))
OPENING = t.StructType([t.StructField(name, t.LongType()) for name in ("opens", "closes")])
AMOUNTS, SEEDS = st.integers(1, 40), st.integers(0, 2**32)


def check_split(drawn, mode, draw):
    trial = check(drawn, mode, draw, is_derived=True)
    split = {source.input.name: source.partition for source in trial.plan.sources}
    assert trial.plan.count > 1
    assert split.pop("ship") == "mmsi"
    assert set(split.values()) <= {None}


@pytest.mark.parametrize("mode", MODES)
@given(amount=AMOUNTS, seed=SEEDS)
@EXAMPLES
def test_verdicts_are_those_of_one_engine(mode, amount, seed):
    draw = random.Random(seed)
    check_split(drawn_pack(draw, amount), mode, draw)


@given(amount=AMOUNTS, seed=SEEDS)
@EXAMPLES
def test_so_are_the_windows_of_each_subject(amount, seed):
    made, output = windows()
    draw = random.Random(seed)
    check_split(drawn_rows(draw, made, (output,), amount, {output.name: OPENING}), draw.choice(MODES), draw)


@given(amount=AMOUNTS, seed=SEEDS)
@EXAMPLES
def test_rules_about_several_subjects_need_one_bucket(amount, seed):
    made, output = fleets()
    draw = random.Random(seed)
    drawn = drawn_rows(draw, made, (output,), amount, {})
    with pytest.raises(InvalidArgument, match=r"expected a program whose rows can be spread over .* or say buckets=1"):
        planned(drawn.outputs, drawn.schemas, is_streaming=False, buckets=2, deleted="gone")
    assert check(drawn, draw.choice(MODES), draw, is_derived=True).plan.count == 1
