"""The joins of tables as a good engineer would write them by hand, with times, from Arrow and to Arrow.

Where `bench.dict_joins` takes one change at a time and knows of no time, these take batches. A row's time is that of
its parts and of what caused it; that of a deletion is its cause's. Times ascend with the order of arrival.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bench.arrow_rows import columns, results, sides

if TYPE_CHECKING:
    from bench.arrow_rows import Batch

    Stored = tuple[int, int]  # a value, and since when


class _Changes:
    """The columns of what comes out, a list each."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self.deleted: list[bool] = []
        self.lefts: list[Any] = []
        self.rights: list[Any] = []
        self.starts: list[int] = []
        self.ends: list[int] = []

    def update(self, key: Any, left: Any, right: Any, start: int, end: int) -> None:
        self.keys.append(key)
        self.deleted.append(False)
        self.lefts.append(left)
        self.rights.append(right)
        self.starts.append(start)
        self.ends.append(end)

    def delete(self, key: Any, at: int) -> None:
        self.keys.append(key)
        self.deleted.append(True)
        self.lefts.append(None)
        self.rights.append(None)
        self.starts.append(at)
        self.ends.append(at)


def outer(batch: Batch) -> pa.Table:
    """Join two tables, with what either has alone."""
    return _outer(batch, right_alone=True)


def left_outer(batch: Batch) -> pa.Table:
    """Join two tables, with what the left has alone."""
    return _outer(batch, right_alone=False)


def _outer(batch: Batch, *, right_alone: bool) -> pa.Table:
    left, right = (columns(each, "key", "value", "deleted", "at") for each in batch.values())
    lefts: dict[int, Stored] = {}
    rights: dict[int, Stored] = {}
    out = _Changes()
    update, delete = out.update, out.delete
    for side in sides(batch):
        if side:
            key, value, is_gone, at = next(right)
            other, before = lefts.get(key), rights.get(key)
            if is_gone:
                if before is None:
                    continue
                del rights[key]
                if other is not None:
                    update(key, other[0], None, other[1], at)
                elif right_alone:
                    delete(key, at)
            else:
                rights[key] = (value, at)
                if before is not None and before[0] == value:
                    continue
                if other is not None:
                    update(key, other[0], value, other[1], at)
                elif right_alone:
                    update(key, None, value, at, at)
        else:
            key, value, is_gone, at = next(left)
            other, before = rights.get(key), lefts.get(key)
            if is_gone:
                if before is None:
                    continue
                del lefts[key]
                if other is not None and right_alone:
                    update(key, None, other[0], other[1], at)
                else:
                    delete(key, at)
            else:
                lefts[key] = (value, at)
                if before is not None and before[0] == value:
                    continue
                if other is not None:
                    update(key, value, other[0], other[1], at)
                else:
                    update(key, value, None, at, at)
    value = _pairs(out.deleted, pa.array(out.lefts, pa.int64()), pa.array(out.rights, pa.int64()))
    return results(value, out.starts, out.ends, key=out.keys, deleted=out.deleted)


def _pairs(deleted: list[bool], left: pa.Array, right: pa.Array) -> pa.StructArray:
    return pa.StructArray.from_arrays([left, right], names=["0", "1"], mask=pa.array(deleted, pa.bool_()))


class ForeignLoop:
    """Join each row of the left with the row of the right that it names; rows by the row that they name are indexed.

    The rows of a berth are in a dict by the order of their last change, as the newest come first.
    """

    def __init__(self, before: Batch) -> None:
        self.lefts: dict[int, tuple[int, int, int]] = {}
        self.rights: dict[int, Stored] = {}
        self.naming: dict[int, dict[int, None]] = {}
        self.take(before)

    def take(self, batch: Batch) -> pa.Table:
        """Take the changes of both tables, which delete nothing."""
        lefts, rights, naming = self.lefts, self.rights, self.naming
        names = list(batch)
        left = columns(batch["left"], "key", "berth", "speed", "at")
        right = columns(batch["right"], "key", "value", "at")
        out = _Changes()
        update = out.update
        left_number = names.index("left")
        for side in sides(batch):
            if side == left_number:
                key, berth, speed, at = next(left)
                before = lefts.get(key)
                if before is not None:
                    del naming[before[0]][key]
                row = lefts[key] = (berth, speed, at)
                naming.setdefault(berth, {})[key] = None
                other = rights.get(berth)
                if other is None:
                    if before is not None and before[0] in rights:
                        out.delete(key, at)
                elif before is None or before[:2] != row[:2]:
                    update(key, row, other[0], other[1], at)
            else:
                key, value, at = next(right)
                old = rights.get(key)
                rights[key] = (value, at)
                if old is not None and old[0] == value:
                    continue
                for mine in reversed(naming.get(key, {})):
                    row = lefts[mine]
                    update(mine, row, value, row[2], at)
        berths = pa.array([row and row[0] for row in out.lefts], pa.int64())
        speeds = pa.array([row and row[1] for row in out.lefts], pa.int64())
        left_rows = pa.StructArray.from_arrays([berths, speeds], names=["berth", "speed"])
        value_column = _pairs(out.deleted, left_rows, pa.array(out.rights, pa.int64()))
        return results(value_column, out.starts, out.ends, key=out.keys, deleted=out.deleted)


class ProgramB:
    """Program B, a join of ships with the tide at their berths, and what it requires of each ship.

    It takes rows one by one, or in batches, and returns the changes of statuses: (key, status, start, end).
    """

    def __init__(self) -> None:
        self.ships: dict[int, tuple[str, float, int]] = {}
        self.tides: dict[str, tuple[float, int]] = {}
        self.naming: dict[str, dict[int, None]] = {}
        self.shown: dict[int, str] = {}

    def vessel(self, mmsi: int, destination: str, draught: float, at: int) -> list[tuple[int, str, int, int]]:
        """Take a row of a ship."""
        before = self.ships.get(mmsi)
        if before is not None:
            del self.naming[before[0]][mmsi]
        self.ships[mmsi] = (destination, draught, at)
        self.naming.setdefault(destination, {})[mmsi] = None
        tide = self.tides.get(destination)
        if tide is None:
            status, start = "unknown", at
        else:
            status, start = "allowed" if draught - tide[0] <= 10 else "restricted", tide[1]
        if self.shown.get(mmsi) == status:
            return []
        self.shown[mmsi] = status
        return [(mmsi, status, start, at)]

    def tide(self, sensor: str, height: float, at: int) -> list[tuple[int, str, int, int]]:
        """Take a row of a tide."""
        self.tides[sensor] = (height, at)
        found = []
        for mmsi in reversed(self.naming.get(sensor, {})):
            _, draught, since = self.ships[mmsi]
            status = "allowed" if draught - height <= 10 else "restricted"
            if self.shown.get(mmsi) != status:
                self.shown[mmsi] = status
                found.append((mmsi, status, since, at))
        return found

    def take(self, batch: Batch) -> pa.Table:
        """Take a batch; the value of a result is the status."""
        names = list(batch)
        vessels = columns(batch["vessel"], "mmsi", "destination", "draught", "at")
        tides = columns(batch["tide"], "sensor", "height", "at")
        tide_number = names.index("tide")
        found: list[tuple[int, str, int, int]] = []
        for side in sides(batch):
            found += self.tide(*next(tides)) if side == tide_number else self.vessel(*next(vessels))
        keys, statuses, starts, ends = zip(*found, strict=True) if found else ((), (), (), ())
        return results(pa.array(statuses, pa.string()), starts, ends, key=pa.array(keys, pa.int64()))
