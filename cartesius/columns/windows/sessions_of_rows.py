"""Sessions of rows: which of them are at most a gap apart, by key.

A session begins where more than a gap lies before an event. Of events that come in time it is the same in whatever
order they do. One that is behind the clock, or lasts, may touch a session that is over already, or be too late for all:
the sessions of its key are found one event after the other.

Source: SEMANTICS 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.stages.rows import BEFORE
from cartesius.columns.stages.spans import BEGINNING
from cartesius.columns.vectors.ordering import ascends, by_code
from cartesius.columns.vectors.vectors import Leaf, Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Ints

LATE: Final = -1
"""The session of what is too late for all of them."""


@attrs.frozen(eq=False)
class SessionsOfRows:
    """The sessions of some rows.

    Args:
        of: The session of each row; `LATE` of what is too late for all.
        first: When each begins.
        due: The clock after which it is over.
        asked: The number of the first row that has asked for that deadline.
        reach: Of each row that is too late the session that it would have been in.
    """

    of: Ints
    first: Ints
    due: Ints
    asked: Ints
    reach: Mapping[int, tuple[int, int]]

    def windows(self, chosen: Ints) -> Struct:
        """Return some of them as values."""
        items = [Leaf(pa.array(self.first[chosen])), Leaf(pa.array(self.due[chosen]))]
        return Struct("window", ("start", "end"), items, len(chosen))


def sessions_of(rows: Rows, codes: Ints, count: int, gap: int, clock: Ints | None = None) -> SessionsOfRows:
    """Return the sessions of rows, given codes of their keys, and the clock of each step in which some come."""
    now = np.full(len(rows), BEGINNING)
    if clock is not None:
        comes = rows.position != BEFORE
        now[comes] = clock[rows.position[comes]]
    is_odd = (rows.start != rows.end) | (rows.end < now)
    if not is_odd.any():
        return _by_time(rows, np.arange(len(rows)), codes, count, gap)
    is_odd_key = np.zeros(count, np.bool_)
    is_odd_key[codes[is_odd]] = True
    is_odd = is_odd_key[codes]
    others = _by_time(rows, np.flatnonzero(~is_odd), codes, count, gap)
    return _one_by_one(rows, np.flatnonzero(is_odd), (codes, now), gap, others)


def _by_time(rows: Rows, some: Ints, codes: Ints, count: int, gap: int) -> SessionsOfRows:
    """Return the sessions of some rows that come in time, and do not last."""
    time, code, of = rows.start[some], codes[some], np.full(len(rows), LATE)
    if not len(some):
        return SessionsOfRows(of, time, time, time, {})
    order = by_code(code, count) if ascends(time) else np.lexsort((time, code))
    time, code, some = time[order], code[order], some[order]
    is_head = np.ones(len(some), np.bool_)
    is_head[1:] = (code[1:] != code[:-1]) | (np.diff(time) > gap)
    heads = np.flatnonzero(is_head)
    of[some] = np.cumsum(is_head) - 1
    tails = np.append(heads[1:], len(some)) - 1
    is_head[1:] |= np.diff(time) > 0  # of several at one time the first asks
    asks = np.flatnonzero(is_head)[np.cumsum(is_head)[tails] - 1]
    return SessionsOfRows(of, time[heads], time[tails] + gap, rows.number[some[asks]], {})


@attrs.define(eq=False)
class _Session:
    """One session, as it grows."""

    first: int
    due: int
    asked: int
    rows: list[int]


def _one_by_one(rows: Rows, some: Ints, told: tuple[Ints, Ints], gap: int, others: SessionsOfRows) -> SessionsOfRows:
    """Return the sessions of some rows, given codes and clocks, found one row after the other, behind ``others``."""
    by_key: dict[int, list[_Session]] = {}
    made: list[_Session] = []
    reach: dict[int, tuple[int, int]] = {}
    columns = [column[some].tolist() for column in (rows.start, rows.end + gap, rows.number, *told)]
    for row, start, end, number, code, now in zip(some.tolist(), *columns, strict=True):
        there = [one for one in by_key.get(code, ()) if one.due >= now]
        touched = [one for one in there if one.first <= end and start <= one.due]
        first, due = min([start, *[one.first for one in touched]]), max([end, *[one.due for one in touched]])
        if due < now:
            reach[row] = first, due
            continue
        asked = next((one.asked for one in touched if one.due == due), number)
        merged = _Session(first, due, asked, [row])
        for one in touched:
            merged.rows += one.rows
            one.rows = []  # it is none any more
        made.append(merged)
        by_key[code] = [*[one for one in there if one.rows], merged]
    made = [one for one in made if one.rows]
    of = others.of.copy()
    for place, session in enumerate(made, len(others.due)):
        of[session.rows] = place
    firsts, dues, asks = (
        np.array([getattr(one, name) for one in made], np.int64) for name in ("first", "due", "asked")
    )
    first, due = np.concatenate([others.first, firsts]), np.concatenate([others.due, dues])
    return SessionsOfRows(of, first, due, np.concatenate([others.asked, asks]), reach)
