"""Totals over any group, by group: what comes is combined with the total, and what goes with its inverse, one by one.

Invariant: elements are combined in the order in which they are when rows are pushed, so that a group may tell orders
apart.

Source: SEMANTICS 2.7; thesis, L23.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cartesius.columns.lifetimes.table_results import flow_of
from cartesius.columns.tables.cells import entries_of
from cartesius.columns.vectors.objects import Objects
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.results.outputs import hull
from cartesius.results.totals import Totals
from cartesius.results.unchanged_values import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cartesius.columns.stages.rows import Flow
    from cartesius.columns.tables.timelines import Found
    from cartesius.correlations.join_shape import Join
    from cartesius.results.outputs import Span

    Held: TypeAlias = dict[Any, tuple[Any, int]]  # totals by key, and of how many results they are
    Entry: TypeAlias = tuple[int, bool, int, Span]  # the step, whether it is given, which value, when


class ToGroups:
    """Results that are totalled over a group, one by one.

    Args:
        group: What they are totalled over.
        by: The function of a result that is the key of its group.
    """

    how = "combine what comes with the total of its group, and what goes with its inverse, one by one"
    reads_rows = False

    def __init__(self, group: Any, by: Callable[[Any], Any]) -> None:
        self.group = group
        self.by = by

    def load(self, join: Join) -> Held:
        """Return the totals that the objects hold."""
        assert isinstance(join.batch.output, Totals)  # Invariant: that is how this one was chosen
        return dict(join.batch.output.totals)

    def store(self, join: Join, more: Held | None) -> None:
        """Let the objects hold the totals."""
        assert isinstance(join.batch.output, Totals)  # Invariant: that is how this one was chosen
        join.batch.output.totals.clear()
        join.batch.output.totals.update(more or {})

    def given(self, found: Found, more: Held | None, steps: int) -> tuple[Flow, Held]:
        """Return the totals that change, step by step, and those after the batch."""
        entries = entries_of(found, steps)
        used, places = np.unique(entries.value, return_inverse=True)
        spans = zip(entries.start.tolist(), entries.end.tolist(), strict=True)
        columns = (entries.position.tolist(), (entries.sign > 0).tolist(), places.tolist(), spans)
        return self.folded(zip(*columns, strict=True), found.shown.value.take(used).to_list(), more)

    def folded(self, entries: Iterable[Entry], values: list[Any], more: Held | None) -> tuple[Flow, Held]:
        """Return the changes that entries, in order, make to totals, and these after it.

        Raises:
            NotColumnar: Something that is asked raises.
        """
        try:
            return self._folded(entries, values, dict(more or {}))
        except Exception as error:
            raise NotColumnar(f"a group raises {type(error).__name__}") from error

    def _folded(self, entries: Iterable[Entry], values: list[Any], totals: Held) -> tuple[Flow, Held]:
        combine, inverse, empty = self.group.combine, self.group.inverse, self.group.empty
        keys, elements = [self.by(value) for value in values], [self.group.lift(value) for value in values]
        changes: list[tuple[int, Any, Any, Span, bool]] = []
        mentioned: dict[Any, tuple[Span, tuple[Any, int] | None]] = {}
        now = -1
        for step, is_given, place, span in entries:
            if step != now:
                self._settle(now, mentioned, totals, changes)
                mentioned, now = {}, step
            key, element = keys[place], elements[place]
            before = totals.get(key)
            if key in mentioned:
                since, first = mentioned[key]
                mentioned[key] = hull((since, span)), first
            else:
                mentioned[key] = span, before
            total, number = before or (empty, 0)
            totals[key] = (
                (combine(total, element), number + 1) if is_given else (combine(total, inverse(element)), number - 1)
            )
        self._settle(now, mentioned, totals, changes)
        return flow_of(changes, Objects), totals

    def _settle(
        self,
        step: int,
        mentioned: dict[Any, tuple[Span, tuple[Any, int] | None]],
        totals: Held,
        changes: list[tuple[int, Any, Any, Span, bool]],
    ) -> None:
        """Add the change of each key that was mentioned in a step."""
        finish = self.group.finish
        for key, (span, before) in mentioned.items():
            total, number = totals[key]
            if number == 0:
                del totals[key]
                if before is not None:
                    changes.append((step, key, None, span, True))
                continue
            value = finish(total)
            if before is None or not is_unchanged(finish(before[0]), value):
                changes.append((step, key, value, span, False))
