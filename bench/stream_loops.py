"""The stream joins as a good engineer would write them by hand, and on RxPY, from Arrow and to Arrow.

They know their join and nothing else. They rely on times that ascend with the order of arrival, so that a result ends
when its last part comes. What they give is compared with ours, row by row.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from reactivex import operators
from reactivex.subject import Subject

from bench.arrow_rows import column, columns, results, sides, struct
from bench.workloads import BAND

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.arrow_rows import Batch


def latest_of_three(batch: Batch) -> pa.Table:
    """Combine the latest of three: three variables."""
    a, b, c = (columns(each, "value", "at") for each in batch.values())
    first = second = third = None
    firsts, seconds, thirds = _lists(3)
    starts, ends = _lists(2)
    for side in sides(batch):
        if side == 0:
            first = now = next(a)
        elif side == 1:
            second = now = next(b)
        else:
            third = now = next(c)
        if first is None or second is None or third is None:
            continue
        firsts.append(first[0])
        seconds.append(second[0])
        thirds.append(third[0])
        starts.append(min(first[1], second[1], third[1]))
        ends.append(now[1])
    return results(struct(firsts, seconds, thirds), starts, ends)


def zip_of_three(batch: Batch) -> pa.Table:
    """Zip three: the n-th of each belong together, and a result ends with the last of them."""
    inputs = [columns(each, "value", "at") for each in batch.values()]
    firsts, seconds, thirds = _lists(3)
    starts, ends = _lists(2)
    arrived = [deque[Any](), deque[Any](), deque[Any]()]
    x, y, z = arrived
    for side in sides(batch):
        arrived[side].append(next(inputs[side]))
        if x and y and z:
            (first, one), (second, two), (third, three) = x.popleft(), y.popleft(), z.popleft()
            firsts.append(first)
            seconds.append(second)
            thirds.append(third)
            starts.append(min(one, two, three))
            ends.append(max(one, two, three))
    return results(struct(firsts, seconds, thirds), starts, ends)


def affine_of_three(batch: Batch) -> pa.Table:
    """Use each event once, the newest first: three stacks."""
    inputs = [columns(each, "value", "at") for each in batch.values()]
    firsts, seconds, thirds = _lists(3)
    starts, ends = _lists(2)
    stacks: list[list[Any]] = [[], [], []]
    x, y, z = stacks
    for side in sides(batch):
        now = next(inputs[side])
        stacks[side].append(now)
        if x and y and z:
            (first, one), (second, two), (third, three) = x.pop(), y.pop(), z.pop()
            firsts.append(first)
            seconds.append(second)
            thirds.append(third)
            starts.append(min(one, two, three))
            ends.append(now[1])
    return results(struct(firsts, seconds, thirds), starts, ends)


def keyed_latest(batch: Batch) -> pa.Table:
    """Join the latest of both sides by key: two dicts of row numbers; that Arrow gathers the rest is twice as fast."""
    both = pa.concat_tables(list(batch.values())).combine_chunks()
    n_left = batch["left"].num_rows
    arrival = np.argsort(both["order"].to_numpy(), kind="stable")
    keys = both["ship"].to_numpy()[arrival].tolist()
    latest_left: dict[int, int] = {}
    latest_right: dict[int, int] = {}
    lefts, rights = _lists(2)
    for row, key in zip(arrival.tolist(), keys, strict=True):
        if row < n_left:
            latest_left[key] = row
            other = latest_right.get(key)
            if other is not None:
                lefts.append(row)
                rights.append(other)
        else:
            latest_right[key] = row
            other = latest_left.get(key)
            if other is not None:
                lefts.append(other)
                rights.append(row)
    left, right = both.take(pa.array(lefts, pa.int64())), both.take(pa.array(rights, pa.int64()))
    value = struct(*(each.combine_chunks() for each in (left["ship"], left["speed"], right["speed"])))
    one, other_at = left["at"].to_numpy(), right["at"].to_numpy()
    return results(value, np.minimum(one, other_at), np.maximum(one, other_at))


def band(batch: Batch) -> pa.Table:
    """Join what is near in time, by key: a dict of deques a side, of which what is too old is dropped."""
    left, right = (columns(each, "ship", "speed", "at") for each in batch.values())
    lefts: defaultdict[int, deque[tuple[int, int]]] = defaultdict(deque)
    rights: defaultdict[int, deque[tuple[int, int]]] = defaultdict(deque)
    keys, ours, theirs = _lists(3)
    starts, ends = _lists(2)
    for side in sides(batch):
        if side:
            key, speed, at = next(right)
            rights[key].append((speed, at))
            others = lefts[key]
            while others and others[0][1] < at - BAND:
                others.popleft()
            for other, since in reversed(others):
                keys.append(key)
                ours.append(other)
                theirs.append(speed)
                starts.append(since)
                ends.append(at)
        else:
            key, speed, at = next(left)
            lefts[key].append((speed, at))
            others = rights[key]
            while others and others[0][1] < at - BAND:
                others.popleft()
            for other, since in reversed(others):
                keys.append(key)
                ours.append(speed)
                theirs.append(other)
                starts.append(since)
                ends.append(at)
    return results(struct(keys, ours, theirs), starts, ends)


def rx_latest_of_three(batch: Batch) -> pa.Table:
    """Combine the latest of three by RxPY."""
    return _by_rx(batch, operators.combine_latest)


def rx_zip_of_three(batch: Batch) -> pa.Table:
    """Zip three by RxPY."""
    return _by_rx(batch, operators.zip)


def _by_rx(batch: Batch, operator: Callable[..., Any]) -> pa.Table:
    inputs = [columns(each, "value", "at") for each in batch.values()]
    found: list[Any] = []
    subjects = _subjects(operator, len(inputs), found.append)
    for side in sides(batch):
        subjects[side].on_next(next(inputs[side]))
    parts = [[parts[number][0] for parts in found] for number in range(len(inputs))]
    starts = [min(first[1], second[1], third[1]) for first, second, third in found]
    ends = [max(first[1], second[1], third[1]) for first, second, third in found]
    return results(struct(*parts), starts, ends)


def rx_pushing(operator: Callable[..., Any], batch: Batch) -> Callable[[], int]:
    """Return what drives RxPY event by event, with plain values, and returns the number of results."""
    n = 0

    def count(_: object) -> None:
        nonlocal n
        n += 1

    subjects = _subjects(operator, len(batch), count)
    values = [iter(column(each, "value")) for each in batch.values()]
    pushed = [(subjects[side], next(values[side])) for side in sides(batch)]

    def run() -> int:
        for subject, value in pushed:
            subject.on_next(value)
        return n

    return run


def _subjects(operator: Callable[..., Any], n: int, observer: Callable[[Any], None]) -> list[Subject[Any]]:
    subjects: list[Subject[Any]] = [Subject() for _ in range(n)]
    subjects[0].pipe(operator(*subjects[1:])).subscribe(observer)
    return subjects


def _lists(n: int) -> list[list[int]]:
    return [[] for _ in range(n)]
