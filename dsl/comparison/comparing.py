"""Comparing two packs over one history: whom a change of the rules would have stopped, or let go.

Both judge the whole history, each for itself; what differs is what there is to say. So they need not have the same
sources, nor fields.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, final

import attrs
import pyarrow.compute as pc

from cartesius.errors import InvalidArgument
from cartesius.installation import needing
from dsl.comparison.comparison_words import begun
from dsl.comparison.verdict_differences import differences
from dsl.comparison.verdict_spans import NOT_JUDGED, common_end, judged_here
from dsl.histories.history_folders import NAMED, History

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from dsl.comparison.verdict_differences import RuleHours, StatusChange
    from dsl.comparison.verdict_spans import VerdictSpans
    from dsl.histories.history_folders import UnreadRow
    from dsl.proofs.findings import Finding
    from dsl.rule_packs import RulePack

Change: TypeAlias = Literal["restricted", "status", "reasons", "findings", "unread"]
CHANGES: Final[tuple[Change, ...]] = ("restricted", "status", "reasons", "findings", "unread")
"""What there may be to look at: a subject newly restricted, another status, the same for other reasons, flaws of the
rules that come or go, rows that cannot be read."""


@final
@attrs.frozen
class Comparison:
    """What a change of the rules changes over a history."""

    old: RulePack
    """The rules as they are."""
    new: RulePack
    """The rules as they would be."""
    start: int
    """The time of the first row, in microseconds since the epoch."""
    end: int
    """That of the last row of either pack; hours are counted up to there."""
    rows: int
    """How many rows were used."""
    subjects: int
    """How many subjects were judged, by either."""
    differences: pa.Table
    """An Arrow table, a row for each span in which they say different things of a subject: ``subject``, ``name`` (where
    its source has one), ``start``, ``end``, ``hours``; and of either pack, with ``_before`` and ``_after``, the
    ``status``, the names of the requirements that ``failed``, and what was ``missing``. By start. A span that begins
    with the last rows has 0 hours: it ends where it begins."""
    statuses: tuple[StatusChange, ...]
    """How long each pair of statuses held, also where they are the same."""
    rules: tuple[RuleHours, ...]
    """How long each requirement restricts, under either pack, by name."""
    findings: tuple[Finding, ...]
    """The flaws of the new rules that the old ones have not: contradictions, rules that never apply, …"""
    mended: tuple[Finding, ...]
    """The flaws of the old rules that the new ones have not."""
    number_unread: int
    """How many rows could not be read for one pack or the other; of more than a thousand, for one of them at least."""
    unread: tuple[UnreadRow, ...]
    """Those rows, and why; of very many the first thousand."""

    @property
    def changed(self) -> tuple[Change, ...]:
        """What there is to look at, of `restricted`, `status`, `reasons`, `findings` and `unread`; () if nothing."""
        pairs = {(each.before, each.after) for each in self.statuses if each.before != each.after}
        before = self.differences.column("status_before").to_pylist()
        after = self.differences.column("status_after").to_pylist()
        found = {
            "restricted": any(after == "restricted" for _, after in pairs),
            "status": bool(pairs),
            "reasons": any(one == other for one, other in zip(before, after, strict=True)),
            "findings": bool(self.findings or self.mended),
            "unread": bool(self.number_unread),
        }
        return tuple(each for each in CHANGES if found[each])

    @property
    def is_empty(self) -> bool:
        """Whether the change changes nothing: neither a verdict nor its reasons, nor the flaws of the rules."""
        return not set(self.changed) - {"unread"}

    @property
    def at_the_end(self) -> int:
        """How many of the differences begin at the end, and so have no hours."""
        return int(pc.sum(pc.equal(self.differences.column("start"), self.differences.column("end"))).as_py() or 0)

    def hours(self, side: Literal["before", "after"], status: str = "restricted") -> float:
        """Return for how many subject-hours a pack says a status."""
        return sum(each.hours for each in self.statuses if getattr(each, side) == status)

    def __str__(self) -> str:
        """Say it in a line."""
        if self.is_empty:
            return f"nothing changes for {self.subjects:,} subjects over {self.rows:,} rows"
        one, other = self.hours("before"), self.hours("after")
        said = f"restricted for {one:,.1f} subject-hours before, {other:,.1f} after, of {self.subjects:,} subjects"
        return "; ".join(filter(None, [said, begun(self)]))


def compare(
    old: RulePack,
    new: RulePack,
    data: str | Path,
    *,
    spark: SparkSession | None = None,
    progress: Callable[[int, int], object] = lambda _done, _rows: None,
) -> Comparison:
    r"""Judge a history by two packs, and say what they say differently.

    >>> import pathlib, tempfile
    >>> from dsl import RulePack
    >>> from dsl.comparison import compare
    >>> rules = '''
    ... pack: port
    ... subject: vessel
    ... source vessel by mmsi:
    ...     mmsi: number
    ...     draught: metres
    ... draught must be at most 15 m
    ...     name: draught
    ... '''
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = "2020-06-30T12:00Z,244,14.5", "2020-06-30T18:00Z,244,9.5"
    >>> _ = (folder / "vessel.csv").write_text("\n".join(["time,mmsi,draught", *rows]))
    >>> old, new = RulePack.from_text(rules), RulePack.from_text(rules.replace("15 m", "14 m"))
    >>> found = compare(old, new, folder)
    >>> found.differences.select(["subject", "hours", "status_after", "failed_after"]).to_pylist()
    [{'subject': 244, 'hours': 6.0, 'status_after': 'restricted', 'failed_after': ['draught']}]
    >>> compare(old, old, folder).is_empty
    True

    What differs at the last moment alone, such as in a snapshot of one moment, counts, though it lasts no time:

    >>> _ = (folder / "vessel.csv").write_text("\n".join(["time,mmsi,draught", rows[0]]))
    >>> snapshot = compare(old, new, folder)
    >>> snapshot.changed, snapshot.at_the_end, snapshot.hours("after")
    (('restricted', 'status'), 1, 0.0)

    Args:
        old: The rules as they are.
        new: The rules as they would be. The two may have different sources; the subject must be the same.
        data: The folder with the history (`dsl.histories.History`), which has the sources of both.
        spark: A Spark session, to judge there: on the same history it finds the same. Without, it is done in this
            process, in columns.
        progress: Called with how many rows are done, and of how many: each pack takes all rows. On Spark from another
            thread, and by the share of the tasks that are done.

    Raises:
        InvalidArgument: The packs judge different subjects, the folder is no history for both, or it has no rows; or
            rules about pairs, or about totals, are to be judged on Spark.
        NotInstalled: There is no numpy or no pyarrow, the extra ``columns``, or no Spark, for ``spark``.

    Law:
        Comparing a pack with itself is empty; the difference is that of two full runs: tested in ``tests/laws``.
    """
    subjects = [next(iter(pack.declarations.values())) for pack in (old, new)]
    if (subjects[0].name, subjects[0].key) != (subjects[1].name, subjects[1].key):
        shown = " and ".join(f"{each.name!r} by {each.key}" for each in subjects)
        message = f"compare: expected two packs of one subject but got {shown}; compare versions of one pack"
        raise InvalidArgument(message)
    histories = [History(data, pack) for pack in (old, new)]
    spans = _judged((old, new), histories, spark, progress)
    starts = [each.start for each in spans if each.start is not None]
    if not starts:
        message = f"compare: expected a history with rows but {data} has none that can be read"
        raise InvalidArgument(message)
    found = differences(*spans)
    flaws = [{(each.kind, each.rule, each.text): each for each in pack.lint()} for pack in (old, new)]
    unread = {(each.source, each.file, each.row): each for history in histories for each in history.unread}
    return Comparison(
        old=old,
        new=new,
        start=min(starts),
        end=common_end(spans),
        rows=max(each.rows for each in spans),
        subjects=len({key for each in spans for key in each.keys()}),  # noqa: SIM118 - it is no mapping
        differences=found.table,
        statuses=tuple(each for each in found.statuses if (each.before, each.after) != (NOT_JUDGED, NOT_JUDGED)),
        rules=found.rules,
        findings=tuple(each for what, each in flaws[1].items() if what not in flaws[0]),
        mended=tuple(each for what, each in flaws[0].items() if what not in flaws[1]),
        number_unread=max(len(unread), *(history.number_unread for history in histories)),
        unread=tuple(unread.values())[:NAMED],
    )


def _judged(
    packs: Sequence[RulePack],
    histories: Sequence[History],
    spark: SparkSession | None,
    progress: Callable[[int, int], object],
) -> list[VerdictSpans]:
    """Return what each pack says of its history, all of them up to the last row of any."""
    rows = [history.rows() for history in histories]

    def done(number: int) -> Callable[[int], object]:
        return lambda so_far: progress(sum(rows[:number]) + so_far, sum(rows))

    if spark is None:
        found, go_on = [], []
        for number, (pack, history) in enumerate(zip(packs, histories, strict=True)):
            spans, advance = judged_here(pack, history, done(number))
            found.append(spans)
            go_on.append(advance)
            done(number + 1)(0)
        for advance in go_on:
            advance(common_end(found))
        return found
    with needing("compare", "cartesius-joins[spark]"):
        from dsl.comparison.judging_on_spark import Prepared, check_spread, judged_on_spark  # noqa: PLC0415 - where it is wanted

    for pack in packs:
        check_spread(pack)
    found = []
    with TemporaryDirectory(prefix="compare-history-") as folder:
        prepared = [Prepared(each, Path(folder) / str(number)) for number, each in enumerate(histories)]
        end = common_end(each.seen for each in prepared)
        judges = [
            judged_on_spark(spark, pack, each, end, done(number))
            for number, (pack, each) in enumerate(zip(packs, prepared, strict=True))
        ]
        for number, judge in enumerate(judges):
            found.append(judge())
            done(number + 1)(0)
    return found
