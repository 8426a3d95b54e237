"""Verdict spans: what a pack says of each subject, and from when to when.

Of several verdicts at one time the last counts: a verdict at a moment is that after all rows of the moment. So rows
that share a time may come in any order.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import numpy as np
import pyarrow as pa

from cartesius import Engine, Update
from cartesius.columns.results import events_of
from dsl.histories.field_columns import TIME, times_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dsl.histories.history_folders import History
    from dsl.rule_packs import RulePack

Key: TypeAlias = "str | int"
NOT_JUDGED: Final = "not judged"
"""Where a pack says nothing of a subject: it is not there yet, or the pack's ``only`` leaves it out."""
_NAME: Final = "name"


@attrs.frozen(cache_hash=True)
class Said:
    """What a verdict says: its status, the requirements that fail, and what is missing."""

    status: str
    failed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


NOTHING: Final = Said(NOT_JUDGED)


class VerdictSpans:
    """The verdicts of a pack over a history, by subject.

    Args:
        names: What subjects are called, where their source has a field ``name``: the last that came.
    """

    def __init__(self) -> None:
        """Begin without verdicts."""
        self.names: dict[Key, str] = {}
        self.start: int | None = None
        self.end = 0
        self.rows = 0
        self._changes: defaultdict[Key, list[tuple[int, Said]]] = defaultdict(list)
        self._known: dict[Said, Said] = {}

    def add(self, key: Key, time: int, said: Said) -> None:
        """Add a change, in the order of times for each subject."""
        said = self._known.setdefault(said, said)
        changes = self._changes[key]
        if changes and changes[-1][0] == time:
            changes.pop()
        if said != (changes[-1][1] if changes else NOTHING):
            changes.append((time, said))

    def saw(self, times: tuple[int, int], rows: int) -> None:
        """Widen the history by rows from one time to another."""
        is_first = self.start is None
        self.start = times[0] if self.start is None else min(self.start, times[0])
        self.end = times[1] if is_first else max(self.end, times[1])
        self.rows += rows

    def without_verdicts(self) -> VerdictSpans:
        """Return spans over the same history in which nothing is said yet."""
        fresh = VerdictSpans()
        fresh.names, fresh.start, fresh.end, fresh.rows = self.names, self.start, self.end, self.rows
        return fresh

    def keys(self) -> Iterable[Key]:
        """Return all subjects."""
        return self._changes.keys()

    def changes(self, key: Key) -> list[tuple[int, Said]]:
        """Return the changes of a subject, in the order of times."""
        return self._changes.get(key, [])


def common_end(seen: Iterable[VerdictSpans]) -> int:
    """Return the time of the last row of all; 0 without rows."""
    return max((each.end for each in seen if each.start is not None), default=0)


def judged_here(
    pack: RulePack, history: History, progress: Callable[[int], object]
) -> tuple[VerdictSpans, Callable[[int], None]]:
    """Judge a history in this process, in columns, a stretch of time after the other.

    Args:
        pack: The rules.
        history: What was observed.
        progress: Called with the number of rows after each stretch.

    Returns:
        What is said up to the last row, and what goes on with it to a time: without rows, rows go stale all the same.
    """
    spans = VerdictSpans()
    engine = Engine(pack.table(), lateness=0)
    subject = next(iter(pack.declarations.values()))
    before = 0
    for stretch in history.batches():
        times = {name: times_of(table) for name, table in stretch.items()}
        every = np.concatenate(list(times.values()))
        order = np.empty(len(every), np.int64)
        order[np.argsort(every, kind="stable")] = np.arange(len(every)) + before
        places = np.split(order, np.cumsum([len(each) for each in times.values()])[:-1])
        batch = {  # of whole rows, whose fields may be called order, deleted, or start and end
            name: pa.table({"value": table.drop_columns([TIME]).to_struct_array(), "at": times[name], "order": place})
            for (name, table), place in zip(stretch.items(), places, strict=True)
        }
        spans.saw((int(every.min()), int(every.max())), len(every))
        _add(spans, events_of(engine.push_many(batch)))
        if subject.name in stretch:
            add_name(spans, subject.key, stretch[subject.name])
        before += len(every)
        progress(before)
    return spans, lambda end: _add(spans, engine.advance(end))


def said(status: str, reasons: Iterable[tuple[str, Iterable[str]]]) -> Said:
    """Return what a verdict says.

    Args:
        status: Its status.
        reasons: For each requirement that does not hold its name, and what is missing to decide it.
    """
    every = [(name, tuple(missing)) for name, missing in reasons]
    failed = tuple(name for name, missing in every if not missing)
    return Said(status, failed, tuple(sorted({each for _, missing in every for each in missing})))


def _add(spans: VerdictSpans, events: Iterable[Any]) -> None:
    for event in events:
        change = event.value
        found = NOTHING
        if isinstance(change, Update):
            verdict = change.value
            found = said(verdict.status, ((reason.name, reason.missing) for reason in verdict.because))
        spans.add(change.key, int(event.end), found)


def add_name(spans: VerdictSpans, key: str | None, table: pa.Table) -> None:
    """Note what the subjects of a table are called."""
    if key in table.column_names and _NAME in table.column_names and pa.types.is_string(table.column(_NAME).type):
        last = table.group_by(key, use_threads=False).aggregate([(_NAME, "last")])
        pairs: Mapping[Key, str | None] = dict(
            zip(last.column(key).to_pylist(), last.column(f"{_NAME}_last").to_pylist(), strict=True)
        )
        spans.names.update({each: name for each, name in pairs.items() if name})


def spans_of(
    old: list[tuple[int, Said]], new: list[tuple[int, Said]], end: int
) -> Iterator[tuple[int, int, Said, Said]]:
    """Return from when to when two packs say what of one subject; the last verdicts hold to the end, and no longer.

    What is said at the end alone is a span without length.

    >>> allowed, restricted = Said("allowed"), Said("restricted", ("wind",))
    >>> [
    ...     (start, end, one.status, other.status)
    ...     for start, end, one, other in spans_of([(0, allowed)], [(0, allowed), (5, restricted)], 9)
    ... ]
    [(0, 5, 'allowed', 'allowed'), (5, 9, 'allowed', 'restricted')]
    """
    times = sorted({time for time, _ in (*old, *new) if time <= end})
    changes_old, changes_new = dict(old), dict(new)
    said_old = said_new = NOTHING
    for time, until in pairwise([*times, end]):
        said_old, said_new = changes_old.get(time, said_old), changes_new.get(time, said_new)
        yield time, until, said_old, said_new
