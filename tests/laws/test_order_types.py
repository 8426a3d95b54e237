"""The law of order types: a program without a report gives one output for all sequences that are one input."""

from __future__ import annotations

from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st

from tests.laws.order_programs import is_same, outputs, programs, shuffled, traces


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large])
@given(st.data())
def test_an_accepted_program_gives_the_same_however_its_inputs_are_shuffled_within_their_types(data):
    output, inputs, _ = data.draw(programs())
    if output.order is None:
        return
    items = data.draw(traces(inputs))
    others = data.draw(shuffled(items))
    note(f"{inputs=}, orders {[str(one.order) for one in inputs]}, gives {output.order}")
    try:
        one, other = outputs(output, items), outputs(output, others)
    except (AttributeError, TypeError):
        reject()  # a body is drawn for values, and met a missing part, a total or a pair
    note(f"{one}\n{other}")
    assert is_same(output, one, other)
