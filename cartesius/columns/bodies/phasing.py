"""Phases of rows as columns: which are seen, until when, and how records with and without marks are one vector.

Source: `phases`; SEMANTICS 3.10.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.bodies.column_texts import FormCode
from cartesius.columns.bodies.linked import Linked
from cartesius.columns.stages.held import collected, load_held
from cartesius.columns.stages.rows import FAR, Rows
from cartesius.columns.stages.stored_rows import load_bare, load_rows
from cartesius.columns.vectors.arithmetic import lifted
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.lanes import Lane, lane, spread, truth
from cartesius.columns.vectors.vectors import MISSING, RECORD, Leaf, NotColumnar, Struct
from cartesius.data.records import fields_of
from cartesius.expressions.expressions import Constant
from cartesius.expressions.missing_values import Form
from cartesius.expressions.phases import MARK, phases_of
from cartesius.plan import facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.expressions.phases import Phases
    from cartesius.language.families import Slot

NEVER: Final = int(np.iinfo(np.int64).max)
"""Until when a row stays as it is that the clock changes no more."""
_NEARBY: Final = 3  # what floats may have rounded of a crossing


@attrs.frozen(eq=False)
class Phase:
    """The present phase of each of some rows.

    Args:
        time: When the row came.
        now: When the phase began.
        until: When the next one begins, or `NEVER`.
        seen: Whether others see it.
        stale: Whether it is too old.
    """

    time: NDArray[np.int64]
    now: NDArray[np.int64]
    until: NDArray[np.int64]
    seen: NDArray[np.bool_]
    stale: NDArray[np.bool_]

    @property
    def stays(self) -> NDArray[np.bool_]:
        """Whether it is kept at all."""
        found: NDArray[np.bool_] = self.seen | (self.until != NEVER)
        return found

    def take(self, indices: Indices) -> Phase:
        """Return those of some of the rows."""
        return Phase(*[column[indices] for column in attrs.astuple(self, recurse=False)])


def together(phases: Sequence[Phase]) -> Phase:
    """Return phases one after the other."""
    columns = zip(*[attrs.astuple(one, recurse=False) for one in phases], strict=True)
    return Phase(*[np.concatenate(column) for column in columns])


class PhaseCode:
    """The code of phases, as a function of rows and of the time."""

    def __init__(self, phases: Phases) -> None:
        self.phases = phases
        sides = [side for one in phases.crossings for side in (one.left, one.right)]
        self._sides = FormCode(Form((*phases.only, *sides), Constant(None)), [phases.slot])
        holds = tuple(one.holds for one in phases.crossings)
        self._holds = FormCode(Form(holds, Constant(None)), [phases.slot])
        self.text = self._sides.text + (self._holds.text if holds else "")

    def at(self, payload: Vector, time: NDArray[np.int64], now: NDArray[np.int64]) -> Phase:
        """Return the phases of rows that came at ``time``, as they begin ``now``."""
        n, lasts = len(time), self.phases.lasts
        stale = np.zeros(n, np.bool_) if lasts is None else now - time >= lasts
        hidden, until = np.zeros(n, np.bool_), np.full(n, NEVER)
        found = self._sides.meaning(n, _at(payload, time, self.phases.now, now))
        for one in found[: len(self.phases.only)]:
            hidden |= spread(truth(one).negative, n)
        sides = [lane(one) for one in found[len(self.phases.only) :]]
        for place in range(len(self.phases.crossings)):
            crossed = self._crossed(payload, now, place, sides[2 * place], sides[2 * place + 1])
            until = np.minimum(until, crossed)
        if lasts is not None:
            until = np.minimum(until, time + lasts)
        return Phase(time, now, np.where(stale, NEVER, until), stale | ~hidden, stale)

    def _crossed(
        self, payload: Vector, now: NDArray[np.int64], place: int, left: Lane, right: Lane
    ) -> NDArray[np.int64]:
        """Return the first instant after ``now`` at which a comparison changes, or `NEVER`."""
        n = len(now)
        apart = lane(lifted(operator.sub, True, left, right))
        until = np.full(n, NEVER)
        if apart.values is None:
            return until
        if apart.whole is not None or apart.kind not in "if":
            raise NotColumnar("times are no numbers, or ints in some rows and floats in others")
        is_there = np.ones(n, np.bool_) if apart.valid is None else spread(apart.valid, n)
        near, is_finite = _near(np.broadcast_to(apart.values, (n,)), now, self.phases.crossings[place].slope)
        is_there &= is_finite
        before = np.full(n, MISSING)
        for step in range(-_NEARBY, _NEARBY):
            instant = np.where(is_there, near + step, now)  # what stands elsewhere is not looked at
            holds = truth(self._holds.meaning(n, _at(payload, now, self.phases.now, instant))[place])
            answer = np.where(spread(holds.true, n), 1, np.where(spread(holds.negative, n), 0, MISSING))
            looked = is_there & (instant >= now)
            hit = looked & (instant > now) & (before != MISSING) & (answer != before) & (until == NEVER)
            until[hit] = instant[hit]
            before = np.where(looked, answer, before)
        return until


def _near(apart: Any, now: NDArray[np.int64], slope: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where a comparison changes, but for rounding, and where that is a time."""
    if apart.dtype.kind == "f":
        finite = np.isfinite(apart)
        found = np.floor(now - np.where(finite, apart, 0.0) * slope)
    else:
        finite = np.ones(len(now), np.bool_)
        found = now - apart.astype(np.int64) * slope
    if len(found) and np.abs(found).max() > FAR:
        raise NotColumnar("a comparison with the clock changes far from 0")
    return found.astype(np.int64), finite


def _at(payload: Vector, time: NDArray[np.int64], name: str, now: NDArray[np.int64]) -> Linked:
    """Return rows as they are at a time."""
    assert isinstance(payload, Struct)  # Invariant: rows have fields
    items = (*payload.items, Leaf(pa.array(now)))
    shown = Struct(RECORD, (*payload.names, name), items, payload.length) if name else payload
    rows = Rows(shown, time, time, time, time, time)
    return Linked(rows)


def marked(phases: Phases, payload: Struct, phase: Phase) -> Struct:
    """Return rows as others see them: with marks, and without fields if they are too old."""
    names, items = list(payload.names), list(payload.items)
    n = len(payload)
    if phases.lasts is not None:
        if phase.stale.any():
            there = np.where(phase.stale, MISSING, np.arange(n))
            items = [
                item if name == phases.key else item.take(there, may_miss=True)
                for name, item in zip(names, items, strict=True)
            ]
        names.append(phases.stale)
        items.append(Leaf(pa.array(np.ones(n, np.bool_), mask=~phase.stale)))
    if phases.crossings:
        names.append(phases.now)
        items.append(Leaf(pa.array(phase.now)))
    return Struct("marked", names, items, n, payload.valid) if len(names) > len(payload.names) else payload


def seen_phases(slot: Slot) -> Phases | None:
    """Return the phases of the rows that come to a slot from another correlation; None if there are none."""
    pattern = slot.reactive.pattern
    lives = [] if pattern is None else facts.lives(pattern.restrictions)
    found = [phases for life in lives if (phases := phases_of(life)) is not None]
    return found[0] if len(found) == 1 else None


def load_seen(slot: Slot, like: Rows | None) -> Rows | None:
    """Return the rows in the memory of a slot, as `stages.load_rows`, where the clock may have marked some."""
    phases = seen_phases(slot)
    if phases is None:
        return load_rows(slot, like) if collected(slot) is None else load_held(slot)
    rows, values = load_bare(slot, None if like is None else attrs.evolve(like, payload=Leaf(pa.nulls(len(like)))))
    if rows is None:
        return None
    payload = _of_marked(phases, values, None if like is None else like.payload)
    return attrs.evolve(rows, payload=payload)


def _of_marked(phases: Phases, values: Sequence[Any], like: Vector | None) -> Vector:
    """Return the vector of rows as others see them; those that come to the same slot are ``like`` them."""
    fields = [fields_of(value) for value in values]
    own = [{name: one for name, one in each.items() if not name.startswith(MARK)} for each in fields]
    names = list(dict.fromkeys(name for each in own for name in each))
    if any(list(each) != names for each in own):
        raise NotColumnar("retained rows have different fields")
    marks = [phases.stale] * (phases.lasts is not None) + [phases.now] * bool(phases.crossings)
    known = like if isinstance(like, Struct) else None
    if known is not None and known.names != (*names, *marks):
        raise NotColumnar("retained values have other fields than those that come")
    items = [
        of_values([each.get(name) for each in fields], None if known is None else known.item(name))
        for name in (*names, *marks)
    ]
    return Struct("marked" if marks else RECORD, (*names, *marks), items, len(values))
