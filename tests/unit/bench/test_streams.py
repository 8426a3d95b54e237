"""The benchmark measures what it says: the same events on both sides, and the same number of results."""

from bench.streams import INPUTS, measure


def test_both_sides_give_the_same_number_of_results():
    combined, zipped = measure(n=30, repetitions=2, seed=7)
    assert (combined.name, combined.results) == ("combine_latest", 30 - (INPUTS - 1))
    assert (zipped.name, zipped.results) == ("zip_", 30 // INPUTS)
    assert all(len(rates) == 2 and min(rates) > 0 for row in (combined, zipped) for rates in (row.ours, row.theirs))
    assert combined.ratio > 0
