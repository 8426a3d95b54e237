"""The workloads of the speed figures: what is joined, by which restrictions, and the batches, from a seed.

Table 3 of the paper has three inputs of random integers, pushed round robin; here they are also interleaved at random.
The keyed ones have ships as keys. Times ascend with the order of arrival, so that hand-written peers may rely on it.

Source: ICFP 2018, doi:10.1145/3236762, Table 3; SEMANTICS 1.17 (the counts of results).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa

from bench.arrow_rows import head, n_events
from cartesius import Engine, Reactive, correlate
from restrictions import affinely, cartesian, combine_latest, key_by, most_recently, tumbling, within, zip_
from restrictions.tables import aggregate, foreign_join, left_join, outer_join, sum_
from restrictions.windows import on_close

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bench.arrow_rows import Batch
    from cartesius.programs.doors import Tier

    Ints = NDArray[np.int64]

THREE: Final = ("a", "b", "c")
TWO: Final = ("left", "right")
SECOND: Final = 1_000_000
"""In time units: microseconds."""
BAND: Final = 10 * SECOND
TICK: Final = SECOND // 1_000
"""The band join has a thousand events a second."""
FAN_OUT: Final = 10
WINDOW: Final = 60_000
"""Of the windowed sum."""


@attrs.frozen
class Workload:
    """What is joined.

    Args:
        name: What ``--only`` calls it.
        label: What tables call it.
        output: Makes the output, over new inputs.
        batch: The events.
        before: What is there already, and not timed.
        lateness: That of the engine.
        is_timed: Whether a push says when; otherwise it is left to the engine, which gives the same times.
    """

    name: str
    label: str
    output: Callable[[], Reactive]
    batch: Batch = attrs.field(eq=False, repr=False)
    before: Batch | None = attrs.field(default=None, eq=False, repr=False)
    lateness: int | None = None
    is_timed: bool = True

    @property
    def n(self) -> int:
        """The number of events."""
        return n_events(self.batch)

    def shortened(self, n: int) -> Workload:
        """Return it with the first ``n`` events, or all."""
        return attrs.evolve(self, batch=head(self.batch, n)) if n < self.n else self

    def engine(self, tier: Tier | None = None) -> Engine:
        """Return an engine that has taken what is there already."""
        engine = Engine(self.output(), tier=tier, lateness=self.lateness)
        if self.before is not None:
            engine.push_many(self.before)
        return engine


def three_streams(n: int, seed: int, *, shuffled: bool) -> Batch:
    """Return ``n`` random integers over three inputs, round robin or interleaved at random."""
    draw = np.random.default_rng(seed)
    which = np.arange(n) % len(THREE)
    if shuffled:
        which = draw.permutation(which)
    return _split(THREE, which, np.arange(n) + 1, {"value": draw.integers(0, 1000, n)})


def _split(names: tuple[str, ...], which: Ints, at: Ints, payload: dict[str, Any]) -> Batch:
    found = {}
    for number, name in enumerate(names):
        mine = np.flatnonzero(which == number)
        found[name] = pa.table({"order": mine, "at": at[mine], **{key: each[mine] for key, each in payload.items()}})
    return found


def two_streams(n: int, keys: int, seed: int, *, tick: int = 1) -> Batch:
    """Return ``n`` reports of ships over two inputs, interleaved at random, one each ``tick``."""
    draw = np.random.default_rng(seed)
    which = draw.permutation(np.arange(n) % len(TWO))
    payload = {"ship": draw.integers(0, keys, n), "speed": draw.integers(0, 1 << 40, n)}
    return _split(TWO, which, (np.arange(n) + 1) * tick, payload)


def two_tables(n: int, keys: int, seed: int, *, deletions: float = 0.05) -> Batch:
    """Return ``n`` changes of two tables, of which some are deletions."""
    draw = np.random.default_rng(seed)
    which = draw.permutation(np.arange(n) % len(TWO))
    payload = {"key": draw.integers(0, keys, n), "value": draw.integers(0, 1 << 40, n)}
    return _split(TWO, which, np.arange(n) + 1, {**payload, "deleted": draw.random(n) < deletions})


def naming_tables(n: int, keys: int, seed: int) -> tuple[Batch, Batch]:
    """Return tables of which ten rows of the left name one of the right, and ``n`` updates, one in ten of the right.

    An update of the left moves the row to another berth. The left has ``keys`` rows, the right a tenth of them.
    """
    draw = np.random.default_rng(seed)
    berths = max(keys // FAN_OUT, 1)
    moored = draw.permutation(np.arange(keys) % berths)
    filling = {
        "right": _named(np.arange(berths), np.arange(berths), {"value": draw.integers(0, 1 << 40, berths)}),
        "left": _named(
            np.arange(keys) + berths, np.arange(keys), {"berth": moored, "speed": draw.integers(0, 1 << 40, keys)}
        ),
    }
    is_right = draw.permutation(np.arange(n) % FAN_OUT == 0)
    left, right = np.flatnonzero(~is_right), np.flatnonzero(is_right)
    first = berths + keys
    moved = {"berth": draw.integers(0, berths, len(left)), "speed": draw.integers(0, 1 << 40, len(left))}
    updates = {
        "left": _named(left, draw.integers(0, keys, len(left)), moved, first),
        "right": _named(
            right, draw.integers(0, berths, len(right)), {"value": draw.integers(0, 1 << 40, len(right))}, first
        ),
    }
    return filling, updates


def _named(order: Ints, key: Ints, payload: dict[str, Any], first: int = 0) -> pa.Table:
    return pa.table({"order": order, "at": order + first + 1, "key": key, **payload})


def _inputs(names: tuple[str, ...], *, table: bool = False) -> list[Reactive]:
    return [Reactive(name, table=table) for name in names]


def latest_of_three() -> Reactive:
    """Join by most_recently on all."""
    return combine_latest(*_inputs(THREE))


def affine_of_three() -> Reactive:
    """Join by affinely on all."""
    return cartesian(*_inputs(THREE), restrict=affinely(*THREE))


def zip_of_three() -> Reactive:
    """Join by zip."""
    return zip_(*_inputs(THREE))


def _ships(restrict: Any, name: str) -> Reactive:
    left, right = _inputs(TWO)
    joined: Reactive = correlate(
        left=left,
        right=right,
        yields=lambda left, right: (left.ship, left.speed, right.speed),
        restrict=key_by(left="ship", right="ship") | restrict,
        name=name,
    )
    return joined


def keyed_latest() -> Reactive:
    """Join the latest of both sides by key."""
    return _ships(most_recently(*TWO), "keyed latest")


def band() -> Reactive:
    """Join what is within ten seconds, by key."""
    return _ships(within(BAND, *TWO), "band")


def outer() -> Reactive:
    """Join two tables, with what either has alone."""
    return outer_join(*_inputs(TWO, table=True))


def left_outer() -> Reactive:
    """Join two tables, with what the left has alone."""
    return left_join(*_inputs(TWO, table=True))


def foreign() -> Reactive:
    """Join each row of the left with the row of the right that it names."""
    return foreign_join(*_inputs(TWO, table=True), on="berth")


def tumbling_sums() -> Reactive:
    """Sum by key in windows, told when they are over."""
    (reading,) = _inputs(("reading",))
    return aggregate(reading, sum_.of("v"), by="k", restrict=tumbling(WINDOW, report=on_close))


def readings(n: int, keys: int, seed: int, *, tick: int = 20) -> Batch:
    """Return readings of one input, one each ``tick``."""
    draw = np.random.default_rng(seed)
    payload = {"k": draw.integers(0, keys, n), "v": draw.integers(0, 1 << 30, n)}
    return {"reading": pa.table({"order": np.arange(n), "at": np.arange(n) * tick, **payload})}


THREE_WAY: Final = {"mostRecently": latest_of_three, "affinely": affine_of_three, "zip": zip_of_three}


def stream_workloads(n_three: int, n_two: int, keys: int, seed: int) -> dict[str, Callable[[], Workload]]:
    """Return what makes the workloads without a table, by label."""
    made: dict[str, Callable[[], Workload]] = {}
    for name, output in THREE_WAY.items():
        for shuffled, how in ((False, "round robin"), (True, "random")):
            label = f"{name}, {how}"
            made[label] = partial(_three, name, label, output, n_three, seed, shuffled=shuffled)
    made["keyed latest"] = lambda: Workload("keyed", "keyed latest", keyed_latest, two_streams(n_two, keys, seed))
    made["band"] = lambda: Workload("band", "band", band, two_streams(n_two, keys, seed, tick=TICK), lateness=0)
    sums = "tumbling sum"
    made[sums] = lambda: Workload(
        "tumbling", sums, tumbling_sums, readings(n_two, max(keys // 20, 1), seed), lateness=0
    )
    return made


def _three(name: str, label: str, output: Callable[[], Reactive], n: int, seed: int, *, shuffled: bool) -> Workload:
    return Workload(name, label, output, three_streams(n, seed, shuffled=shuffled), is_timed=False)


def table_workloads(n_two: int, n_foreign: int, keys: int, seed: int) -> dict[str, Callable[[], Workload]]:
    """Return what makes the workloads of tables, by label."""

    def naming() -> Workload:
        before, updates = naming_tables(n_foreign, keys, seed)
        return Workload("foreign", "foreign key", foreign, updates, before)

    return {
        "outer": lambda: Workload("outer", "outer", outer, two_tables(n_two, keys, seed)),
        "left": lambda: Workload("outer", "left", left_outer, two_tables(n_two, keys, seed)),
        "foreign key": naming,
    }
