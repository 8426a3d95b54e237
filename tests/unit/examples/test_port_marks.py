"""How a verdict is shown: who sees no red, or no green, tells the colours apart; signs and words need no colour."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest

from examples.port.marks import COLOURS, SIGNS, because, marked, unknown_by_reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

# What protanopes and deuteranopes see of linear red, green and blue: Machado, Oliveira and Fernandes 2009, severity 1.
SEEN: dict[str, ArrayLike] = {
    "all": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, seen: ArrayLike) -> NDArray[np.float64]:
    """A colour in CIE L*a*b*, in which equal distances look about equally far apart."""
    values = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(np.array(seen) @ linear, 0, 1) / (TO_XYZ @ np.ones(3))
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def nearest(colours: Iterable[str], eyes: str) -> float:
    found = [lab(colour, SEEN[eyes]) for colour in colours]
    return min(float(np.linalg.norm(one - other)) for one, other in combinations(found, 2))


@pytest.mark.parametrize("eyes", SEEN)
def test_the_colours_of_verdicts_are_told_apart_by_everybody(eyes):
    assert nearest(COLOURS.values(), eyes) > 30


def test_a_green_and_a_red_would_not_be():
    """So that the test above can fail: the colours that these replaced."""
    assert nearest(["#5aa469", "#c8453b"], "all") > 60
    assert nearest(["#5aa469", "#c8453b"], "no green") < 30


def test_each_verdict_has_a_sign_and_a_word_besides_its_colour():
    assert {*SIGNS} == {*COLOURS} == {"allowed", "restricted", "unknown"}
    assert len({*SIGNS.values()}) == 3
    for status in COLOURS:
        assert marked(status).plain == f"{SIGNS[status]} {status}"


def test_what_fails_and_what_is_not_known_is_said_in_words():
    assert because([], []) == ""
    assert because(["wind limit"], []) == "wind limit"
    assert because([], ["other.vessel_type", "vessel.beam"]) == "not known: beam, vessel type of another ship"


def test_unknown_verdicts_are_counted_once_each():
    missing = [["vessel.draught"], ["tide", "vessel.draught", "tide"], ["vessel.draught"], ["vessel.draught", "tide"]]
    assert unknown_by_reason(missing) == "4 unknown: no draught (2), no draught or tide (2)"
