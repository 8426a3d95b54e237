"""The catalogue law: programs of everything that is exported give the same in whatever way they are run.

Programs are drawn (tests/laws/catalogue.py) until each export has been in enough programs that gave results, and each
two families of exports together; both counts are printed. What is compared: results in their order, with their times
and with values type-exactly; errors; what is late, and why; what the engine says of itself.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from hypothesis import settings

import cartesius
import restrictions
from restrictions import operators, streams, tables, windows
from tests.laws.catalogue import EXPORTS, program_of
from tests.laws.catalogue_counts import Counts
from tests.laws.catalogue_law import check, check_split
from tests.laws.catalogue_lines import REGISTRIES
from tests.laws.catalogue_naive import check_plain
from tests.laws.catalogue_scope import exports_of

SHARDS = 5
"""Into how many tests the law is cut, so that `make test` can run some at a time."""
EACH, PAIR = 50, 5
BRIDGED = 2 if settings().max_examples <= EACH else 1
"""Of how many programs one is run on the bridge, too: that takes five times as long as the tiers."""
MODULES = {
    "restrictions": restrictions,
    "streams": streams,
    "tables": tables,
    "windows": windows,
    "operators": operators,
}
IN_EVERY_PROGRAM = {"Engine", "Reactive", "Event", "Update", "Delete", "Window", "CartesiusError"}
"""The engine, its inputs, and what goes in and comes out."""
TO_WRITE_RESTRICTIONS = {
    "Duration", "Entry", "Handler", "Implicit", "Match", "Operation", "Reliance", "Restriction", "Slot", "Slots",
    "arrive", "controls", "displace", "ended", "expire", "forward", "handle", "handles", "memory", "notify_at",
    "pause", "play", "push", "select", "set_aside", "start", "state", "tick", "withdraw",
}  # fmt: skip
"""What restrictions are written with: the exports that are drawn consist of these."""
NOT_ABOUT_RESULTS = {
    "run": "an engine and a loop over `push`",
    "storable": "a declaration for payloads of one's own",
    "run_frames": "an engine and `push_many`: tests/laws/test_frames.py",
}


def test_every_export_is_in_a_family_of_the_generator():
    assert REGISTRIES
    missing = {name: [one for one in exports_of(module) if one not in EXPORTS] for name, module in MODULES.items()}
    assert not any(missing.values()), f"enter how these are drawn, beside the others of their kind: {missing}"
    shaping = set(cartesius.__all__) - IN_EVERY_PROGRAM - TO_WRITE_RESTRICTIONS - NOT_ABOUT_RESULTS.keys()
    assert shaping <= EXPORTS.keys(), shaping - EXPORTS.keys()
    every = {name for module in MODULES.values() for name in exports_of(module)} | shaping
    assert EXPORTS.keys() <= every, "these are drawn, but no longer exported"


@pytest.mark.parametrize("part", range(8))
def test_plain_programs_give_what_they_mean(part, pytestconfig):
    start = pytestconfig.getoption("--hypothesis-seed") or 0
    for number in range(settings().max_examples):
        check_plain(f"{start}/{part}/{number}")


@pytest.mark.parametrize("shard", range(SHARDS))
def test_all_ways_of_running_a_program_agree(shard, pytestconfig):
    programs = settings().max_examples / SHARDS
    counts = Counts(math.ceil(EACH / SHARDS), math.ceil(PAIR / SHARDS))
    start = f"{pytestconfig.getoption('--hypothesis-seed') or 0}/{shard}"
    draw, number = random.Random(start), 0
    while not counts.is_enough or counts.programs < programs:
        number += 1
        seed = f"{start}/{number}"
        program = program_of(counts.focus(draw), seed)
        found = program and check(program, seed, on_bridge=number % BRIDGED == 0)
        if program and found and found.gave_results:
            counts.add(program, found.buckets)
        assert number < 20 * (counts.programs + 50), f"hardly anything gives results\n{counts.table()}"
    print(counts.table())


@pytest.mark.parametrize("name", EXPORTS)
def test_what_the_bridge_splits_gives_what_one_engine_gives(name, pytestconfig):
    """Programs of one line that are likely to be split; in how many buckets they ran is printed."""
    start = f"split {pytestconfig.getoption('--hypothesis-seed') or 0}/{name}"
    buckets: Counter[int | None] = Counter()
    for number in range(max(4, settings().max_examples // 10)):
        seed = f"{start}/{number}"
        program = program_of([name], seed, is_keyed=True)
        if program is not None:
            buckets[check_split(program, seed)] += 1
    print(buckets)
