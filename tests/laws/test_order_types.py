"""The law of order types: a program without a report gives one output for all sequences that are one input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from cartesius import Reliance, Restriction
from cartesius.correlations.installations import Installed
from cartesius.order import order_edges, order_needs
from cartesius.plan import facts
from restrictions import affinely, aligning, first_match, most_recently
from restrictions.gates.folding import accumulating
from tests.laws.order_programs import is_same, outputs, programs, shuffled, traces, turned

if TYPE_CHECKING:
    from collections.abc import Callable

Mutation: TypeAlias = tuple[Any, str, Any]
TRACES = 2
"""Of each set of programs."""
MANY = 300
"""Examples in which the law finds each planted mistake: six times those of a run of CI, less than those of a part of
`make test-long`."""


def check(data: st.DataObject) -> None:
    """Draw accepted programs, traces and shuffles of these; what comes out has to be the same."""
    accepted, inputs, _ = data.draw(programs())
    for _ in range(TRACES if accepted else 0):
        items = data.draw(traces(inputs))
        others = [other for other in (turned(items), data.draw(shuffled(items))) if other != items]
        for output in accepted:
            try:
                one, *rest = (outputs(output, each) for each in (items, *others))
            except (AttributeError, TypeError):
                continue  # a body is drawn for values, and met a missing part, a total or a pair
            for sequence, other in zip(others, rest, strict=True):
                note(f"inputs {[f'{one.name}: {one.order}' for one in inputs]}; {output.name} gives {output.order}")
                note(f"{items}\ngives {one}\n{sequence}\ngives {other}")
                assert is_same(output, one, other)


test_an_accepted_program_gives_the_same_however_its_inputs_are_shuffled_within_their_types = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
)(given(st.data())(check))


def relying_on(reliance: Reliance, restriction: type[Restriction]) -> Mutation:
    """What a restriction means is taken to rely on less."""
    relies = facts.reliance

    def of(one: Any) -> Reliance:
        written = one.restriction if isinstance(one, Installed) else one
        return reliance if isinstance(written, restriction) else relies(one)

    return facts, "reliance", of


def without_needs(said: str) -> Mutation:
    """Nobody states what is said in these words."""
    needs_of = order_needs.needs_of
    return order_edges, "needs_of", lambda join: [need for need in needs_of(join) if said not in need.by]


MUTATIONS: dict[str, Callable[[], Mutation]] = {
    "most_recently needs no order among its events": lambda: relying_on(Reliance.AMONG, most_recently),
    "most_recently needs no order with others": lambda: relying_on(Reliance.WITHIN, most_recently),
    "affinely needs no order": lambda: relying_on(Reliance.NONE, affinely),
    "first_match needs no order": lambda: relying_on(Reliance.NONE, first_match),
    "accumulating needs no order": lambda: relying_on(Reliance.NONE, accumulating),
    "aligning needs no order": lambda: relying_on(Reliance.NONE, aligning),
    "rows that replace each other need no order": lambda: without_needs("the rows of"),
    "lists need no order": lambda: without_needs("the lists of"),
    "as_table needs no order": lambda: without_needs("as_table"),
    "any order implies any other": lambda: (order_edges, "_implies", lambda slot, keys, agreeing: keys is not None),
    "all inputs are one log": lambda: (order_edges, "_are_in_one", lambda left, right, mine, other: True),
}
"""What the check of orders could forget: who, what of it, and what it would be then."""


@pytest.mark.slow
@pytest.mark.parametrize("forgotten", MUTATIONS)
def test_the_law_finds_what_the_check_forgets(forgotten, monkeypatch):
    monkeypatch.setattr(*MUTATIONS[forgotten]())
    examples = settings(
        settings.get_profile("ci"),
        max_examples=MANY,
        phases=[Phase.generate],
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    with pytest.raises(AssertionError):
        examples(given(st.data())(check))()
