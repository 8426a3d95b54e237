"""The plain classes that pushes are measured against give what our programs give, event by event."""

from __future__ import annotations

import attrs
import pytest

from bench import pushes
from bench.by_hand import Latest
from bench.timing import Disagreement
from cartesius import Engine

BOTH = [(case, whole) for case in pushes.CASES for whole in (False, True) if not whole or case.name in pushes.WHOLE]


@pytest.mark.parametrize(("case", "whole"), BOTH, ids=[f"{case.name}{', whole' * whole}" for case, whole in BOTH])
def test_both_sides_make_the_same(case, whole):
    assert pushes.agree(case, 1_800, 7, whole=whole) > 10


def test_another_result_is_told_with_the_event_that_gave_it():
    wrong = attrs.evolve(pushes.CASES[0], other=lambda whole: Latest(pushes.B, pushes.A))
    with pytest.raises(Disagreement, match=r"keyed latest: event \d+ gives"):
        pushes.agree(wrong, 1_500, 7, whole=False)


def test_each_figure_has_a_row_with_what_is_wanted():
    figures = [*pushes.measure(60, 1, 7, lambda _: None), pushes.growth(3_000, 7, lambda _: None)]
    figures += pushes.measure_batches(600, 1, 7, lambda _: None)
    sheet = pushes.as_sheet(figures, 60, 1)
    assert len(sheet.rows) == len(BOTH) + 3
    assert all(float(row[3]) > 0 for row in sheet.rows)


def test_a_batch_that_gives_something_else_is_refused():
    case = next(one for one in pushes.CASES if one.batch is not None)
    wrong = attrs.evolve(case, other=lambda whole: Latest(pushes.B, pushes.A))
    trace = case.trace(1_500, 7)
    table = Engine(case.program(False), lateness=0).push_many(pushes.as_batch(case, trace))
    with pytest.raises(Disagreement, match="a batch gives"):
        pushes._agree_on(wrong, table, trace)
