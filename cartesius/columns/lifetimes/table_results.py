"""Results as rows of a table, one by one: which are live and which are shown, where that does not follow from memory.

Each result is put to its key, or taken from it, in order, and at the end of a step each key that was mentioned shows
the first of its live results: what `outputs.Rows` does, on values of Python. A batch begins with a copy of the tables,
and copies what is live of a key when that changes.

Source: SEMANTICS 1.10 and 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columns.stages.rows import Flow, nothing
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import MISSING, NotColumnar
from cartesius.data.events import LATEST
from cartesius.data.window_spans import INSIDE
from cartesius.results.outputs import Rows as Table
from cartesius.results.outputs import hull
from cartesius.results.unchanged_values import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.columns.bodies.computed import Keys
    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Ints, Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.results.outputs import Result, Span


@attrs.frozen(eq=False)
class Shown:
    """What a table holds.

    Args:
        live: The live results, by key and identity.
        values: What is shown, by key.
        windows: Which keys come from which window, where there are windows.
    """

    live: dict[Any, dict[Any, Result]]
    values: dict[Any, Any]
    windows: dict[Any, dict[Any, None]] = attrs.Factory(dict)


@attrs.frozen(eq=False)
class Found:
    """What a batch gives and takes back, in order.

    Args:
        parts: The row of each slot, one list a slot; `MISSING` where there is none.
        steps: The steps.
        is_given: Which are given.
        values: The values of each.
        times: Their first and last instants.
        causes: The times of what caused each.
    """

    parts: Sequence[Sequence[int]]
    steps: Sequence[int]
    is_given: Sequence[bool]
    values: Sequence[Sequence[Any]]
    times: Sequence[Span]
    causes: Sequence[Span]


class TableResults:
    """The table that the results of a correlation make.

    Args:
        join: The correlation, whose output is an `outputs.Rows`, by a function of the value.
        keys: Its key spaces.
        lateness: How long after its end a window is freed; with it goes a row that comes from no other.
    """

    def __init__(self, join: Join, keys: Keys, lateness: int) -> None:
        assert isinstance(join.batch.output, Table)  # Invariant: who asks has seen that
        self.join, self.keys, self.lateness, self.output = join, keys, lateness, join.batch.output
        self.is_oldest_first = join.batch.rank.is_oldest_first

    def load(self) -> Shown:
        """Return what the objects hold."""
        windows = self.join.batch.windows
        of = {} if windows is None else {window: dict(keys) for window, keys in windows.rows.of.items()}
        return Shown(dict(self.output.live), dict(self.output.shown), of)

    def store(self, shown: Shown) -> None:
        """Let the objects hold it."""
        self.output.live, self.output.shown = dict(shown.live), dict(shown.values)
        if self.join.batch.windows is not None:
            self.join.batch.windows.rows.of = {window: dict(keys) for window, keys in shown.windows.items()}

    def at_end(self, shown: Shown, clock: Ints | None) -> Shown:
        """Return what the table holds at the end of a batch, once its windows are freed."""
        if clock is None or self._first_end(shown) > clock[-1]:
            return shown
        after = Shown(dict(shown.live), dict(shown.values), dict(shown.windows))
        self._free(after, int(clock[-1]))
        return after

    def _first_end(self, shown: Shown) -> float:
        """Return the clock at which the first window is freed."""
        return min([window.end for *_, window in shown.windows], default=LATEST) + self.lateness

    def _free(self, shown: Shown, clock: int) -> None:
        """Forget the rows that come from no other window than those that are freed by now."""
        freed = [key for key in shown.windows if key[-1].end + self.lateness <= clock]
        rows = {row for key in freed for row in shown.windows.pop(key)}
        for row in rows.difference(*shown.windows.values()):
            shown.live.pop(row, None)
            shown.values.pop(row, None)

    def run(self, before: Shown, rows: Sequence[Rows | None], found: Found, clock: Ints | None) -> tuple[Flow, Shown]:
        """Return the changes that results make, and what the table holds after them.

        Raises:
            NotColumnar: The key of a result cannot be computed.
        """
        after = Shown(dict(before.live), dict(before.values), {k: dict(mine) for k, mine in before.windows.items()})
        windows = self._windows(rows, found)
        described = self._descriptions(rows, found, windows)
        own: set[Any] = set()  # the keys whose live results are a copy
        changes: list[tuple[int, Any, Any, Span, bool]] = []
        mentioned: dict[Any, Span] = {}
        yielded: set[Any] = set()
        first_end = self._first_end(after)
        for number, step in enumerate(found.steps):
            if not number or step != found.steps[number - 1]:
                if number:
                    changes += self._settled(found.steps[number - 1], mentioned, after)
                    mentioned, yielded = {}, set()
                if clock is not None and first_end <= clock[step]:
                    self._free(after, int(clock[step]))
                    first_end = self._first_end(after)
            is_given, cause = found.is_given[number], found.causes[number]
            for place, value in enumerate(found.values[number]):
                key = self._key_of(value)
                identity, rank = described(number, place)
                if not is_given and identity not in after.live.get(key, ()):
                    continue  # a combination that failed counts for nothing
                mentioned[key] = hull((mentioned[key], cause)) if key in mentioned else cause
                if key not in own or key not in after.live:
                    own.add(key)
                    after.live[key] = dict(after.live.get(key, ()))
                results = after.live[key]
                if not is_given:
                    del results[identity]
                    continue
                if windows:
                    after.windows.setdefault(windows[number], {})[key] = None
                    first_end = min(first_end, windows[number][-1].end + self.lateness)
                if not self.output.keeps_all:
                    if key in yielded:
                        continue
                    yielded.add(key)
                    results.clear()
                results[identity] = (rank, value, *found.times[number])
        if mentioned:
            changes += self._settled(found.steps[-1], mentioned, after)
        return flow_of(changes, of_values), after

    def _settled(
        self, step: int, mentioned: Mapping[Any, Span], after: Shown
    ) -> list[tuple[int, Any, Any, Span, bool]]:
        """Return the change of each key that was mentioned in a step."""
        changes: list[tuple[int, Any, Any, Span, bool]] = []
        for key, (since, until) in mentioned.items():
            results = after.live[key]
            if not results:
                del after.live[key]
                if key in after.values:
                    del after.values[key]
                    changes.append((step, key, None, (since, until), True))
                continue
            _, value, start, end = min(results.values(), key=lambda result: result[0])
            if key in after.values and is_unchanged(after.values[key], value):
                continue
            after.values[key] = value
            changes.append((step, key, value, (min(start, since), max(end, until)), False))
        return changes

    def _key_of(self, value: Any) -> Any:
        try:
            return self.join.batch.row_key([], value)
        except Exception as error:
            raise NotColumnar(f"the key of a result raises {type(error).__name__}") from error

    def _windows(self, rows: Sequence[Rows | None], found: Found) -> list[tuple[Any, ...]]:
        """Return the window of each result, behind the keys to its left; nothing if there are no windows."""
        space = self.join.bindings.window_space
        if space is None:
            return []
        columns = []
        for slot, mine in enumerate(rows):
            spaces = range(space) if mine is not None else ()
            keys = [self.keys.in_space(one, slot, mine).to_list() for one in spaces if mine is not None]
            inside = [] if mine is None or mine.window is None else mine.window.to_list()
            columns.append(list(zip(*keys, inside, strict=True)))
        candidates = zip(*found.parts, strict=True)
        return [next(columns[s][p] for s, p in enumerate(parts) if p != MISSING) for parts in candidates]

    def _descriptions(
        self, rows: Sequence[Rows | None], found: Found, windows: Sequence[tuple[Any, ...]]
    ) -> Callable[[int, int], tuple[Any, Any]]:
        """Return what gives the identity and the rank of a result, given its number and place."""
        sign = 1 if self.is_oldest_first else -1
        slots = []
        for slot, mine, parts in zip(self.join.slots, rows, found.parts, strict=True):
            ordinals = [] if mine is None else mine.ordinal.tolist()
            ranks = [] if mine is None else (sign * mine.number).tolist()
            inside = None if mine is None or mine.window is None else mine.window.to_list()
            identities: list[Any] = [None if part == MISSING else (slot.source, ordinals[part]) for part in parts]
            if inside is not None:
                pairs = zip(parts, identities, strict=True)
                identities = [None if one is None else (INSIDE, inside[part], one) for part, one in pairs]
            slots.append((identities, [float("inf") if part == MISSING else ranks[part] for part in parts]))

        def described(number: int, place: int) -> tuple[Any, Any]:
            parts = tuple([identities[number] for identities, _ in slots])
            window = (windows[number][-1].start, windows[number][-1].end) if windows else ()
            return (self.join.number, parts, place), (*window, *[ranks[number] for _, ranks in slots], place)

        return described


def flow_of(changes: Sequence[tuple[int, Any, Any, Span, bool]], vector: Callable[[Sequence[Any]], Vector]) -> Flow:
    """Return changes of a table, each with its step, key, value and times, and whether it is a deletion, as a flow."""
    if not changes:
        return nothing()
    steps, keys, values, spans, gone = zip(*changes, strict=True)
    start, end = (np.array(times, np.int64) for times in zip(*spans, strict=True))
    deletes = np.array(gone, np.bool_)
    value = vector([value for value, is_gone in zip(values, gone, strict=True) if not is_gone] or [None])
    if deletes.any():
        value = value.take(np.where(deletes, MISSING, np.cumsum(~deletes) - 1), may_miss=True)
    return Flow(np.array(steps, np.int64), value, start, end, None, vector(keys), deletes if deletes.any() else None)


def grouped(values: list[Any], counts: Ints | None) -> list[list[Any]]:
    """Return values by the candidate that yields them; each yields one if there are no counts."""
    if counts is None:
        return [[value] for value in values]
    ends = np.cumsum(counts).tolist()
    return [values[end - count : end] for end, count in zip(ends, counts.tolist(), strict=True)]


def in_steps(
    found: Ints,
    event: Ints | None,
    values: Sequence[Sequence[Any]],
    times: Sequence[Span],
    causes: Sequence[Span],
) -> Found:
    """Return candidates step by step; deliveries of one ``event`` are one step: first what they take back."""
    at = found[:, -1]
    step, order = np.where(at < 0, ~at, at), np.arange(len(found))
    if event is not None:
        step = np.searchsorted(event, event[step])
        order = np.argsort(step * 2 + (at >= 0), kind="stable")
    places = order.tolist()
    return Found(
        found[order, :-1].T.tolist(),
        step[order].tolist(),
        (at[order] >= 0).tolist(),
        [values[place] for place in places],
        [times[place] for place in places],
        [causes[place] for place in places],
    )


def causes_of(rows: Sequence[Rows | None], found: Ints, arriving: Mapping[int, Rows], *, has_gates: bool) -> list[Span]:
    """Return the times of what caused each candidate: of the parts that came with it, or of the event of the step."""
    is_given = found[:, -1] >= 0
    step = np.where(is_given, found[:, -1], ~found[:, -1])
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    since, until = np.full(len(found), most), np.full(len(found), least)
    for one in arriving.values():
        place = np.minimum(np.searchsorted(one.position, step), len(one) - 1)
        came = one.position[place] == step if len(one) else np.zeros(len(step), np.bool_)
        since[came], until[came] = one.start[place[came]], one.end[place[came]]
    if has_gates:  # of a release several parts came
        since[is_given], until[is_given] = most, least
        for slot, mine in enumerate(rows):
            if mine is not None:
                part = found[:, slot]
                came = is_given & (mine.position[part] == step)
                since = np.where(came, np.minimum(since, mine.start[part]), since)
                until = np.where(came, np.maximum(until, mine.end[part]), until)
    return list(zip(since.tolist(), until.tolist(), strict=True))
