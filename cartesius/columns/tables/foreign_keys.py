"""The kernel of foreign keys: each part but the first is named, by the key of its row, by one that is bound before it.

The versions of the slot that gives a row its key are its first states. They are split, slot by slot, where the row that
they name changes while they hold: the versions of that row, found by bisection, overlap them in steps. So what a batch
costs is proportional to the rows that change, on whichever side.

Source: DESIGN 4 (the overlap join of versions); SEMANTICS 2.5 and 2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columns.bodies.column_texts import Code
from cartesius.columns.stages.candidates import Parts
from cartesius.columns.stages.rows import BEFORE, nothing
from cartesius.columns.stages.stages import Outcome, State
from cartesius.columns.tables.causes import OfParts, OfSteps
from cartesius.columns.tables.table_rows import NOTHING, ByKey, by_key, followed, hot_codes
from cartesius.columns.tables.table_stages import TableStage
from cartesius.columns.tables.timelines import Found, Timeline, shown
from cartesius.columns.vectors.key_codes import NEVER, encoded
from cartesius.columns.vectors.ordering import bisected
from cartesius.columns.vectors.vectors import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.tables.causes import Causes
    from cartesius.columns.tables.table_rows import Versions
    from cartesius.columns.tables.table_stages import Output
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.expressions.expressions import Expression


@attrs.frozen
class Naming:
    """The value ``by`` of a row of slot ``of`` is the key of the row of ``slot`` that goes with it."""

    slot: int
    of: int
    by: Expression


@attrs.frozen(eq=False)
class Lookup:
    """The versions of a slot by key, as they are looked up by those that name them."""

    ordered: ByKey
    keys: NDArray[np.int64]  # the codes of all versions
    count: int  # they are in its range
    codes: NDArray[np.int64]  # of each version of the slot that names: what it names, or `NEVER`
    retained: Rows | None


class ForeignKeys(TableStage):
    """Rows that name others by their keys.

    Args:
        join: The correlation.
        output: What becomes of the results.
        missing: Of each slot whether its part may be missing.
        root: The slot that gives a row its key.
        names: Who names whom, in an order in which who names is there before.
    """

    how = "sort by key, split each row's versions where the row that it names changes"

    def __init__(self, join: Join, output: Output, missing: Sequence[bool], root: int, names: Sequence[Naming]) -> None:
        super().__init__(join, output, missing)
        self.root, self.roots = root, (root,)
        self.names = names
        self.links = [(one.of, one.slot) for one in names]
        self.probes = [Code(f"key_{one.slot}_by_{one.of}", one.by, {join.slots[one.of].name: one.of}) for one in names]

    def source(self) -> str:
        """Return the generated code."""
        return "\n".join([super().source(), *(code.text for code in self.probes)])

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return the keys of the rows."""
        return None if self.folds else self.keyed(slot, rows)

    def named(self, link: int, rows: Rows) -> Vector:
        """Return what rows name; of a deletion, and what a filter stops, nothing."""
        rows = self._let_in(self.names[link].of, rows)
        there = np.arange(len(rows)) if rows.deletes is None else np.flatnonzero(~rows.deletes)
        found: Vector = self.probes[link].values(len(there), Parts(rows, there))
        return found

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Split the versions of the first slot by those of the others."""
        them = self.versions(state, arriving)
        retained: list[Rows | None] = [None] * len(them)
        ordered: dict[int, ByKey] = {}
        lookups = {}
        for naming, probe in zip(self.names, self.probes, strict=True):
            if len(them[naming.slot]):
                found = _lookup(them[naming.slot], them[naming.of], probe)
                retained[naming.slot], ordered[naming.slot] = found.retained, found.ordered
                lookups[naming] = found
        root = them[self.root]
        if len(root):
            (codes,), count = encoded([[root.key]], skips_null=False)
            retained[self.root] = root.live(codes, count)
            hot = hot_codes(codes, self._changing(them, lookups), count)
            ordered[self.root] = by_key(root, codes, count, hot)
        if self.is_read_only or not len(ordered.get(self.root, NOTHING).rows):
            return Outcome(nothing(), State(tuple(retained), state.more), 0)
        timeline = self._split(them, ordered[self.root], lookups, moment.steps)
        what = Found(shown(timeline, them, self.body), them, self._causes(them, ordered, moment.steps), None)
        flow, more = self.output.given(what, state.more, moment.steps)
        return Outcome(flow, State(tuple(retained), more), timeline.tuples)

    def _changing(self, them: Sequence[Versions], lookups: Mapping[Naming, Lookup]) -> NDArray[np.bool_]:
        """Return which versions of the first slot come in the batch, or name, by whatever way, what does."""
        changing: list[NDArray[np.bool_]] = [one.position != BEFORE for one in them]
        for naming in reversed(self.names):
            if naming in lookups and len(them[naming.of]):
                found = lookups[naming]
                hot = hot_codes(found.keys, changing[naming.slot], found.count)
                changing[naming.of] |= (found.codes != NEVER) & hot[found.codes]
        return changing[self.root]

    def _split(self, them: Sequence[Versions], roots: ByKey, lookups: Mapping[Naming, Lookup], steps: int) -> Timeline:
        position, first = them[self.root].position[roots.rows], roots.first
        nowhere = np.full(len(roots.rows), MISSING, np.int64)
        parts = [nowhere] * len(them)
        parts[self.root] = them[self.root].target[roots.rows]
        for naming in self.names:
            if naming not in lookups or not len(lookups[naming].ordered.rows):
                continue
            found, one = lookups[naming], them[naming.slot]
            named = parts[naming.of]
            codes = np.where(named == MISSING, NEVER, found.codes[named])
            until = np.append(position[1:], steps)
            until[:-1][first[1:]] = steps
            rows, here = found.ordered.rows, codes != NEVER
            begin, end = _bounds(found.ordered, one, codes, (position, until - 1), steps)
            holds = here & (begin > 0)
            holds &= found.ordered.codes[begin - 1] == codes
            part = np.where(holds, one.target[rows[begin - 1]], MISSING)
            n = np.where(here, end - begin, 0)
            more = int(n.sum())
            if more:
                before = np.cumsum(n) - n
                is_split = np.ones(len(n) + more, np.bool_)
                is_split[np.arange(len(n)) + before] = False
                at = rows[np.repeat(begin - before, n) + np.arange(more)]
                parts = [np.repeat(other, n + 1) for other in parts]
                part, position, first = np.repeat(part, n + 1), np.repeat(position, n + 1), np.repeat(first, n + 1)
                part[is_split], position[is_split] = one.target[at], one.position[at]
                first &= ~is_split
            parts[naming.slot] = part
        needed = [part != MISSING for part, may_miss in zip(parts, self.missing, strict=True) if not may_miss]
        return Timeline(position, first, parts, np.logical_and.reduce(needed), position != BEFORE)

    def _causes(self, them: Sequence[Versions], ordered: Mapping[int, ByKey], steps: int) -> Causes:
        coming = np.concatenate([one.position[one.position != BEFORE] for one in them])
        if not len(coming) or np.bincount(coming).max() == 1:
            return OfSteps(them, steps)
        after = [followed(one, ordered.get(slot, NOTHING)) for slot, one in enumerate(them)]
        return OfParts(them, after, may_miss=any(self.missing), steps=steps)


def _lookup(one: Versions, namer: Versions, probe: Code) -> Lookup:
    """Return the versions of a slot as they are named by the versions of another one."""
    names = np.full(max(1, len(namer)), NEVER, np.int64)
    rows = namer.target[namer.target != MISSING]
    sides = [[one.key]]
    if len(rows):
        sides.append([probe.values(len(rows), Parts(namer.rows, rows))])
    (keys, *named), count = encoded(sides, skips_null=True)
    if named:
        names[rows] = named[0]
    keys = np.where(keys == NEVER, count, keys)  # the row of the key None is one that nobody names
    return Lookup(by_key(one, keys, count + 1), keys, count + 1, names, one.live(keys, count + 1))


def _bounds(
    ordered: ByKey, one: Versions, codes: NDArray[np.int64], positions: Sequence[NDArray[np.int64]], steps: int
) -> list[Indices]:
    """Return for each list of steps how many versions, by key, come before (code, step) or in it."""
    width = steps + 2
    packed = ordered.codes * width + one.position[ordered.rows]
    return [bisected(packed, codes * width + position) for position in positions]
