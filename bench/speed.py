"""The speed figures: every workload, ours on its tiers against its peers, in one run.

The compiled tier and the peers that take Arrow get all events; event by event fewer, and the reference tier fewer
still, as they take longer: rates are compared. Numbers of results must agree, and tables be equal.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import attrs
from reactivex import operators

from bench import numpy_floor, ours, polars_frames, stream_loops, table_loops
from bench.figures import BY_HAND, CODED, COMPILED, IN_PLACE, IN_PLACE_TOO, NUMPY, POLARS, REFERENCE, RX, RX_PUSHED
from bench.profiles import profiled
from bench.program_cases import RULES, pack_workload
from bench.timing import Side, race
from bench.workloads import stream_workloads, table_workloads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from bench.arrow_rows import Batch
    from bench.figures import Figure
    from bench.profiles import Profile
    from bench.timing import Runs
    from bench.workloads import Workload

    Peer = Callable[[Batch], pa.Table]

NAMES: Final = ("mostRecently", "affinely", "zip", "keyed", "band", "tumbling", "outer", "foreign", "pack")
"""What ``--only`` may name, besides the programs."""
_RX: Final = {"mostRecently": operators.combine_latest, "zip": operators.zip}


@attrs.frozen
class Sizes:
    """How many events; `QUICK` has fewer.

    Args:
        three: Events over the three inputs of Table 3.
        two: Events of the keyed joins of two inputs.
        keys: Their keys.
        foreign: Events of the join by foreign keys.
        pack: Events of the rule pack.
        pushed: Events at most, event by event in place.
        referenced: Events at most, in the reference tier.
        pack_pushed: Events of the rule pack at most, event by event in place.
        rows: Rows a table of the programs.
        program_batch: Updates a repetition of the programs, as a batch.
        program_pushed: The same event by event.
        patience: Seconds that a run may take event by event; it gets fewer events if it would take longer.
    """

    three: int = 3_000_000
    two: int = 1_000_000
    keys: int = 20_000
    foreign: int = 500_000
    pack: int = 1_000_000
    pushed: int = 300_000
    referenced: int = 30_000
    pack_pushed: int = 10_000
    rows: tuple[int, ...] = (10, 100, 1_000, 10_000, 100_000)
    program_batch: int = 1_000_000
    program_pushed: int = 10_000
    patience: float = 10.0


QUICK: Final = Sizes(90_000, 60_000, 2_000, 30_000, 10_000, 4_000, 1_000, 500, (10, 1_000), 10_000, 300, 0.5)
"""For a look, in about a minute."""


@attrs.frozen
class Measured:
    """What was measured of one workload."""

    workload: str
    how: str  # the batch was computed
    runs: dict[str, Runs]


def measure(
    sizes: Sizes,
    repetitions: int,
    seed: int,
    *,
    only: frozenset[str] = frozenset(NAMES),
    clock: str = "wall",
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Measured]:
    """Measure the workloads one by one.

    Args:
        sizes: How many events.
        repetitions: How often each side is timed.
        seed: Seed of the values.
        only: Names of workloads; all by default.
        clock: ``"wall"``, or ``"cpu"``: the time of the processor, where others are at work.
        tell: What is told of the progress.
    """
    for label, make in _made(sizes, seed).items():
        if NAME_OF[label] not in only:
            continue
        tell(f"{label}: making the events")
        workload = make()
        batched, how = ours.fitting(workload, sizes.patience)
        contestants = sides_of(workload, batched, sizes)
        those = ", ".join(f"{one.name} ({one.n:,})" for one in contestants)
        tell(f"{label}: {how}; {repetitions} repetitions of {those}")
        yield Measured(label, how, race(contestants, repetitions, clock))


def profiles(
    missed: Iterable[Figure], sizes: Sizes, seed: int, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Profile]:
    """Profile the side that is too slow, once for each workload and side.

    Args:
        missed: Figures of workloads that do not keep their bounds.
        sizes: How many events.
        seed: Seed of the values.
        tell: What is told of the progress.
    """
    made = _made(sizes, seed)
    for label, name in dict.fromkeys((figure.workload, figure.ours) for figure in missed):
        tell(f"{label}: profile of {name}")
        workload = made[label]()
        batched, _ = ours.fitting(workload, sizes.patience)
        (side,) = (side for side in sides_of(workload, batched, sizes) if side.name == name)
        yield profiled(label, name, side.prepare())


def _made(sizes: Sizes, seed: int) -> dict[str, Callable[[], Workload]]:
    return {
        **stream_workloads(sizes.three, sizes.two, sizes.keys, seed),
        **table_workloads(sizes.two, sizes.foreign, sizes.keys, seed),
        f"pack of {RULES} rules": partial(_pack, sizes.pack, seed),
    }


NAME_OF: Final = {
    **{f"{name}, {way}": name for name in ("mostRecently", "affinely", "zip") for way in ("round robin", "random")},
    **{
        "keyed latest": "keyed",
        "band": "band",
        "tumbling sum": "tumbling",
        "outer": "outer",
        "left": "outer",
        "foreign key": "foreign",
    },
    f"pack of {RULES} rules": "pack",
}


def _pack(n: int, seed: int) -> Workload:
    return pack_workload(RULES, n, seed)[1]


def peers(workload: Workload) -> dict[str, Peer]:
    """Return those that take the whole batch as Arrow, by name."""
    match workload.label.partition(",")[0]:
        case "mostRecently":
            loops: dict[str, Peer] = {RX: stream_loops.rx_latest_of_three, BY_HAND: stream_loops.latest_of_three}
            return {**loops, POLARS: polars_frames.latest_of_three}
        case "zip":
            return {RX: stream_loops.rx_zip_of_three, BY_HAND: stream_loops.zip_of_three}
        case "affinely":
            return {BY_HAND: stream_loops.affine_of_three}
        case "keyed latest":
            loops = {BY_HAND: stream_loops.keyed_latest, NUMPY: numpy_floor.keyed_latest}
            return {**loops, CODED: numpy_floor.coded_latest}
        case "band":
            return {BY_HAND: stream_loops.band}
        case "tumbling sum":
            return {POLARS: polars_frames.tumbling_sums}
        case "outer":
            return {BY_HAND: table_loops.outer}
        case "left":
            return {BY_HAND: table_loops.left_outer}
    return {}


def sides_of(workload: Workload, batched: Workload, sizes: Sizes) -> list[Side]:
    """Return the sides that are timed on one workload; ``batched`` is what is pushed as one batch."""
    is_pack = workload.name == "pack"
    pushed = ours.fitting_pushes(workload, "in_place", sizes.pack_pushed if is_pack else sizes.pushed, sizes.patience)
    found = [_side(COMPILED, batched, lambda: ours.by_batch(batched))]
    found += [_side(name, workload, partial(partial, peer, workload.batch)) for name, peer in peers(workload).items()]
    if workload.name == "foreign":
        before = workload.before or {}
        found.append(_side(BY_HAND, workload, lambda: partial(table_loops.ForeignLoop(before).take, workload.batch)))
    found.append(_side(IN_PLACE, pushed, lambda: ours.by_push(pushed, "in_place")))
    if workload.name in _RX:
        found.append(_side(RX_PUSHED, pushed, lambda: stream_loops.rx_pushing(_RX[workload.name], pushed.batch)))
    if not is_pack:
        # A rate may depend on how many events there were, so both tiers get the same.
        fewer = ours.fitting_pushes(workload, "reference", sizes.referenced, sizes.patience)
        found.append(_side(IN_PLACE_TOO, fewer, lambda: ours.by_push(fewer, "in_place")))
        found.append(_side(REFERENCE, fewer, lambda: ours.by_push(fewer, "reference")))
    return found


def _side(name: str, workload: Workload, prepare: Callable[[], Callable[[], object]]) -> Side:
    return Side(name, workload.n, prepare, feed=f"{workload.n} events")
