"""Tables in columns: what is pushed in batches is what is pushed change by change into the reference tier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.cartesius.columnar.stream_traces import cuts
from tests.unit.cartesius.columnar.table_traces import BINARY, LEFT, RIGHT, TERNARY, built, check, programs, traces


@given(programs(), traces(), cuts())
def test_programs_of_tables_give_in_batches_what_they_give_in_the_reference(tree, trace, cut):
    check([built(tree)], trace, cut)


@given(programs(), programs(), traces(), cuts())
def test_correlations_of_one_program_share_what_they_keep(one, other, trace, cut):
    outputs = [built(one), built(other)]
    check(outputs if outputs[0] is not outputs[1] else outputs[:1], trace, cut)


@pytest.mark.parametrize("name", sorted(BINARY))
@given(traces(most=60, keys=2), cuts())
def test_joins_of_two_inputs_are_exact(name, trace, cut):
    check([BINARY[name](LEFT, RIGHT)], trace, cut)
    check([BINARY[name](LEFT, LEFT)], trace, cut)


@pytest.mark.parametrize("name", sorted(TERNARY))
@given(traces(most=60), cuts(), st.permutations(["left", "right", "stream"]))
def test_joins_of_three_inputs_are_exact(name, trace, cut, tables):
    check([built((name, *tables))], trace, cut)


@given(programs(), traces(), cuts())
def test_an_input_may_be_an_output_as_well(tree, trace, cut):
    check([LEFT, built(tree)], trace, cut)
