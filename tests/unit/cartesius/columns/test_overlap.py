"""Versions that overlap, against brute force: each pair, gap and successor looked for among all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius.columns.lifetimes.overlap import (
    FOREVER,
    NONE,
    TooMany,
    Versions,
    carried,
    earliest,
    gaps,
    overlapping,
    successors,
)

codes = st.lists(st.integers(0, 3), max_size=12)


@st.composite
def versions(draw: Any) -> Versions:
    """Draw versions in order of birth; some never live, some never die, some meet nothing."""
    born = sorted(draw(st.lists(st.integers(-1, 9), max_size=10)))
    died = [draw(st.integers(b, 12) | st.just(FOREVER)) for b in born]
    code = [draw(st.integers(-1, 2)) for _ in born]
    return Versions(*(np.array(column, np.int64) for column in (code, born, died)))


@given(codes, st.integers(1, 3))
def test_the_nth_successor_is_the_nth_later_row_of_the_code(given_codes: list[int], n: int) -> None:
    expected = []
    for place, code in enumerate(given_codes):
        later = [other for other in range(place + 1, len(given_codes)) if given_codes[other] == code]
        expected.append(later[n - 1] if len(later) >= n else NONE)
    assert successors(np.array(given_codes, np.int64), 4, n).tolist() == expected


@given(codes, st.integers(1, 3))
def test_the_earliest_have_fewer_than_n_before_them(given_codes: list[int], n: int) -> None:
    expected = [given_codes[:place].count(code) < n for place, code in enumerate(given_codes)]
    assert earliest(np.array(given_codes, np.int64), 4, n).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=14), st.sampled_from([1, 4, 300, 70_000]))
def test_what_is_carried_is_the_newest_row_of_each_slot_and_code(rows: list[tuple[int, int]], count: int) -> None:
    step = max(1, count // 4)
    coded = [(slot, min(code * step, count - 1)) for slot, code in rows]
    places = [[p for p, (slot, _) in enumerate(coded) if slot == index] for index in range(3)]
    found = carried(
        [np.array(mine, np.int64) for mine in places],
        [np.array([coded[p][1] for p in mine], np.int64) for mine in places],
        count,
    )
    for place, (_, code) in enumerate(coded):
        for slot in range(3):
            mine = [row for row, p in enumerate(places[slot]) if p <= place and coded[p][1] == code]
            assert found.parts[slot][place] == (mine[-1] if mine else NONE)
        before = [p for p in range(place) if coded[p][1] == code]
        assert found.previous is not None
        assert found.previous[place] == (before[-1] if before else NONE)


def _pairs(left: Versions, right: Versions) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i in range(len(left))
        for j in range(len(right))
        if left.code[i] == right.code[j] >= 0 and max(left.born[i], right.born[j]) < min(left.died[i], right.died[j])
    ]


@given(versions(), versions())
def test_pairs_overlap_and_have_one_code(left: Versions, right: Versions) -> None:
    found = overlapping(left, right)
    expected = _pairs(left, right)
    assert sorted(zip(*(side.tolist() for side in found), strict=True)) == expected
    if expected:
        with pytest.raises(TooMany):
            overlapping(left, right, most=len(expected) - 1)


@given(versions(), versions(), st.integers(-1, 5))
def test_pairs_of_which_both_were_there_before_are_left_out(left: Versions, right: Versions, fresh: int) -> None:
    found = overlapping(left, right, fresh=fresh)
    expected = [(i, j) for i, j in _pairs(left, right) if max(left.born[i], right.born[j]) >= fresh]
    assert sorted(zip(*(side.tolist() for side in found), strict=True)) == expected


@given(versions(), versions())
def test_gaps_are_the_steps_of_a_life_without_a_partner(left: Versions, right: Versions) -> None:
    died = np.minimum(left.died, 20)
    mine, its = overlapping(left, right)
    since = np.maximum(left.born[mine], right.born[its])
    until = np.minimum(died[mine], np.minimum(right.died[its], 20))
    owner, start, end = gaps(left.born, died, mine, since, until)
    found: dict[int, set[int]] = {}
    spans: dict[int, list[tuple[int, int]]] = {}
    for whose, first, last in zip(owner.tolist(), start.tolist(), end.tolist(), strict=True):
        assert first < last
        assert not found.setdefault(whose, set()) & set(range(first, last))
        found[whose] |= set(range(first, last))
        spans.setdefault(whose, []).append((first, last))
    pairs = _pairs(left, right)
    for i in range(len(left)):
        busy = {t for a, j in pairs if a == i for t in range(right.born[j], min(right.died[j], 20))}
        assert found.get(i, set()) == set(range(left.born[i], died[i])) - busy
        ends = {last for _, last in spans.get(i, [])}
        assert not ends & {first for first, _ in spans.get(i, [])}  # each is as long as can be
