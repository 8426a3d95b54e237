"""The law of interruption: an exception of any kind at any line of a call, in any tier, and the engine is whole.

Afterwards it equals the one before, also in what it does next; or the one after, and the exception carries the results;
or it says that it is broken, at every later call (SEMANTICS 1.12).
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.laws import catalogue_operators, catalogue_restrictions, catalogue_windows  # noqa: F401 - they enter exports
from tests.laws.catalogue import EXPORTS, program_of
from tests.laws.catalogue_rows import fruitful_rows
from tests.laws.catalogue_tiers import _batch
from tests.laws.interruption import KINDS, Scene, check, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator


TIERS = ("reference", "in_place", None)
SCENES = min(12, max(4, settings().max_examples // 50))
LINES = max(5, settings().max_examples // 10)
"""How many of the calls are interrupted, and at how many lines of each; at all, if there are no more."""


def scenes(export: str, seed: str) -> Iterator[Scene]:
    """Calls into engines of a program that has an export."""
    for attempt in range(20):
        program = program_of([export], f"{seed}/{attempt}")
        rows = None if program is None else fruitful_rows(program, f"{seed}/{attempt}")
        if program is not None and rows:
            break
    else:
        return
    draw = random.Random(seed)
    rows = tuple(rows[:12])
    at = draw.randrange(len(rows))
    row, time = rows[at], max(row.at[1] for row in rows[: at + 1])
    calls: dict[str, Any] = {
        "push": lambda engine: engine.push(row.reactive, row.pushed, row.at),
        "advance": lambda engine: engine.advance(time),
        "close": lambda engine: engine.close(),
        "push_many": lambda engine: engine.push_many(_batch(rows[at:])),
    }
    for tier in TIERS:
        for name, call in calls.items():
            after = rows[at + 1 :] if name == "push" else rows[at:] if name == "advance" else ()
            yield Scene(program, tier, rows[:at], name, call, after, rows[at:])


@pytest.mark.parametrize("export", sorted(EXPORTS))
def test_a_call_is_done_or_undone_or_says_that_the_engine_is_broken(export, pytestconfig):
    seed = f"interruption/{pytestconfig.getoption('--hypothesis-seed') or 0}/{export}"
    draw, outcomes = random.Random(seed), Counter()
    there = list(scenes(export, seed))
    for scene in draw.sample(there, min(SCENES, len(there))):
        number = lines_of(scene)
        for at in draw.sample(range(number), min(LINES, number)):
            kind = draw.choice(KINDS)
            try:
                outcomes[check(scene, kind, at)] += 1
            except AssertionError as error:
                error.add_note(f"{scene.program.text}\n{scene.tier}, after {scene.before}")
                raise
    print(outcomes)
