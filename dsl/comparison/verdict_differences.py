"""Differences: where two packs say different things of a subject, from when to when, and how long all is restricted.

A difference that begins with the last rows lasts no time, as nobody knows what follows; it is one all the same.

Law: the differences are those of two full runs; of a pack and itself there is none.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import attrs
import pyarrow as pa

from dsl.comparison.verdict_spans import common_end, spans_of
from dsl.histories.field_columns import MOMENT

if TYPE_CHECKING:
    from dsl.comparison.verdict_spans import Key, Said, VerdictSpans

_HOUR: Final = 3_600_000_000
_TEXTS: Final = pa.list_(pa.string())


@attrs.frozen
class StatusChange:
    """How long, and of how many subjects, one pack says one thing and the other another.

    >>> StatusChange("allowed", "restricted", 12.5, 3).hours
    12.5
    """

    before: str
    """The old pack's status: allowed, restricted, unknown, or not judged."""
    after: str
    """The new pack's."""
    hours: float
    """Subject-hours: those of all subjects together; 0 of what begins with the last rows."""
    subjects: int
    """How many subjects."""


@attrs.frozen
class RuleHours:
    """How long, and how many subjects, a requirement restricts under either pack.

    >>> RuleHours("wind limit", 3.5, 0.0, 2, 0).change
    -3.5
    """

    rule: str
    """The requirement's name."""
    before: float
    """Subject-hours in which it fails, under the old pack."""
    after: float
    """Under the new one."""
    subjects_before: int
    """How many subjects it restricts, under the old pack."""
    subjects_after: int
    """Under the new one."""

    @property
    def change(self) -> float:
        """By how many subject-hours it restricts more."""
        return self.after - self.before


@attrs.frozen
class Differences:
    """What two packs say differently.

    Args:
        table: The differences, a row each, by time.
        statuses: How long each pair of statuses held.
        rules: How long each requirement restricts.
    """

    table: pa.Table
    statuses: tuple[StatusChange, ...]
    rules: tuple[RuleHours, ...]


def schema(key: pa.DataType) -> pa.Schema:
    """Return the columns of the differences."""
    said = [("status", pa.string()), ("failed", _TEXTS), ("missing", _TEXTS)]
    pairs = [(f"{name}_{side}", kind) for side in ("before", "after") for name, kind in said]
    ends = [("start", MOMENT), ("end", MOMENT), ("hours", pa.float64())]
    return pa.schema([("subject", key), ("name", pa.string()), *ends, *pairs])


def differences(old: VerdictSpans, new: VerdictSpans) -> Differences:
    """Compare what two packs said of the same history."""
    end = common_end((old, new))
    rows: list[tuple[Any, ...]] = []
    statuses: defaultdict[tuple[str, str], _Tally] = defaultdict(_Tally)
    rules: defaultdict[str, tuple[_Tally, _Tally]] = defaultdict(lambda: (_Tally(), _Tally()))
    for key in sorted({*old.keys(), *new.keys()}, key=lambda each: (str(type(each)), each)):
        held: tuple[int, int, Said, Said] | None = None
        for span in spans_of(old.changes(key), new.changes(key), end):
            start, until, one, other = span
            statuses[one.status, other.status].add(key, until - start)
            for side, verdict in enumerate((one, other)):
                for rule in dict.fromkeys(verdict.failed):  # two rules may have one name
                    rules[rule][side].add(key, until - start)
            if held is not None and held[1] == start and held[2:] == (one, other):
                held = (held[0], until, one, other)
                continue
            rows += _row(key, held)
            held = span
        rows += _row(key, held)
    names = new.names | old.names
    key_type = pa.string() if any(isinstance(row[0], str) for row in rows) else pa.int64()
    rows.sort(key=lambda row: (row[1], str(row[0])))
    columns = schema(key_type)
    named = ((key, names.get(key), *others) for key, *others in rows)
    table = pa.Table.from_pylist([dict(zip(columns.names, row, strict=True)) for row in named], columns)
    return Differences(
        table,
        tuple(
            StatusChange(*pair, tally.hours, len(tally.keys))
            for pair, tally in sorted(statuses.items(), key=lambda each: -each[1].time)
        ),
        tuple(
            RuleHours(rule, one.hours, other.hours, len(one.keys), len(other.keys))
            for rule, (one, other) in sorted(rules.items())
        ),
    )


@attrs.define
class _Tally:
    time: int = 0
    keys: set[Key] = attrs.field(factory=set)

    def add(self, key: Key, time: int) -> None:
        self.time += time
        self.keys.add(key)

    @property
    def hours(self) -> float:
        return self.time / _HOUR


def _row(key: Key, span: tuple[int, int, Said, Said] | None) -> list[tuple[Any, ...]]:
    """Return the row of a span, if the two say different things."""
    if span is None:
        return []
    start, end, one, other = span
    if (one.status, set(one.failed), one.missing) == (other.status, set(other.failed), other.missing):
        return []
    sides = (one.status, list(one.failed), list(one.missing), other.status, list(other.failed), list(other.missing))
    return [(key, start, end, (end - start) / _HOUR, *sides)]
