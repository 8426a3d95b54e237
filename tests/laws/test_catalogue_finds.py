"""That the catalogue law finds what is wrong: mistakes are planted, and programs drawn until one shows."""

from __future__ import annotations

import pytest

from cartesius.errors import CartesiusError
from tests.laws import catalogue_lines
from tests.laws.catalogue import program_of
from tests.laws.catalogue_law import check, check_split
from tests.laws.catalogue_mistakes import MISTAKES, Mistake
from tests.laws.catalogue_naive import Wrong, check_plain
from tests.laws.catalogue_tiers import Difference

assert catalogue_lines.REGISTRIES

PROGRAMS = 250
"""Among how many programs a mistake has to show; most show among the first dozen."""
FIRST = {
    "a session is closed when its end is reached, not passed": 126,
    "a snapshot forgets deletions": 122,
    "strict sequences are split by a key": 108,
    "push_many lets a null meet a null": 57,
    "in_event_time has a clock for each key": 57,
    "in a batch that does not close the clock stands still": 47,
    "what a window made leaves before what it could meet": 29,
    "a session ends one instant early": 21,
    "rows of static frames are left out": 16,
}
"""In which program a mistake showed last: that is tried first. Where others are drawn by now, this costs one more."""


def tried(mistake: Mistake, seed: str) -> None:
    """Run a program in which a mistake may show."""
    if not mistake.shows_in:
        check_plain(seed)
        return
    program = program_of(mistake.shows_in, seed, is_keyed=mistake.is_of_bridge)
    if program is None:
        return
    if mistake.is_of_bridge:
        check_split(program, seed)
    else:
        check(program, seed, is_lessened=False)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_planted_mistake_is_found(name, monkeypatch):
    MISTAKES[name].plant(monkeypatch)
    for number in (FIRST.get(name, 0), *range(PROGRAMS)):
        try:
            tried(MISTAKES[name], f"planted {number}")
        except (Wrong, Difference, AssertionError, CartesiusError) as found:  # the law fails by any of them
            print(f"{name}: {type(found).__name__} in program {number}")
            return
    pytest.fail(f"{name}: not found in {PROGRAMS} programs")
