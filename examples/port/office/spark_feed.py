"""The feed from Spark: a sink of the query of ``make run``, which writes verdict changes into the store, each once.

Spark hands a micro-batch over again if the driver dies before it has noted that the batch is done. Its number is that
of the store's batch, written in the same transaction: so a batch that comes again changes nothing. The micro-batches of
a day are its slices of event time, the same in every run, so that a run that begins anew goes on where another was
killed.
"""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from dsl import RulePack
from examples.port.office.judging import Links, Used, seen_of
from examples.port.office.records import GONE, Batch, Change, Missing, failed_of, noted
from examples.port.office.replay import ONE_DAY
from examples.port.slices import number_of_slices, slice_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from examples.port.inputs import Day
    from examples.port.office.records import Failed, Pack
    from examples.port.office.store import Store

_MINUTE: Final = 60_000_000


class SparkFeed:
    """Writes what a run on Spark gives into a store.

    Args:
        store: Where it goes.
        day: The readings that the query replays.
        pack: The rules.
        slice_minutes: The length of a micro-batch, in minutes of event time.

    Raises:
        UnusableStore: Another feed writes into the store, or one with slices of another length.
    """

    def __init__(self, store: Store, day: Day, pack: RulePack, slice_minutes: int) -> None:
        self._store, self._day, self._minutes = store, day, slice_minutes
        self._feed = f"spark, slices of {slice_minutes} min"
        self._used = Used(Links(day))
        self._used.add(day.readings)
        before = store.begin(self._feed, pack, start=day.start, end=day.start + ONE_DAY)
        self._packs = {each.version: RulePack.from_text(each.text) for each in store.packs()}
        self._done = -1 if before is None else before.number
        self._last = number_of_slices(slice_minutes) - 1

    def write(self, rows: Iterable[Any], number: int) -> None:
        """Write the verdict changes of a micro-batch, and the readings up to its end.

        Args:
            rows: With the columns ``time`` (microseconds since the epoch), ``change``, ``key``, ``status``,
                ``because`` and ``pack`` of the results.
            number: That of the micro-batch: of its slice.
        """
        number = min(number, self._last)
        readings = [
            seen_of(each)
            for each in self._day.readings
            if self._done < slice_of(self._day, each, self._minutes) <= number
        ]
        until = self._day.start + min((number + 1) * self._minutes * _MINUTE, ONE_DAY)
        self._store.apply(Batch(self._feed, number, until, [self._change(row) for row in rows], readings))
        self._done = max(number, self._done)

    def finish(self) -> None:
        """Write what is left: the readings after the last change of a verdict, when all micro-batches are done."""
        self.write((), self._last)

    def packs(self) -> list[Pack]:
        """Return the rules that have been in force, with the number of the micro-batch from which each was."""
        return self._store.packs()

    def is_new(self, number: int) -> bool:
        """Whether a micro-batch is not in the store."""
        return number > self._done

    def change_rules(self, pack: RulePack, before: RulePack, who: str, number: int) -> None:
        """Write that a micro-batch begins with other rules."""
        at = self._day.start + min(number * self._minutes * _MINUTE, ONE_DAY)
        self._store.change_rules(noted(pack, at, time_ns() // 1000, who, number=number, before=before))
        self._packs[pack.version] = pack

    def refuse(self, why: str, who: str) -> None:
        """Write why other rules are not gone on with."""
        self._store.refuse(why, who)

    def _change(self, row: Any) -> Change:
        time, mmsi = row["time"], row["key"]
        name = self._used.name(mmsi, time)
        if row["change"] == "delete":
            return Change(time, mmsi, name, GONE, pack=row["pack"] or "")
        because = row["because"]
        return Change(
            time, mmsi, name, row["status"],
            tuple(_failed(each) for each in because if not each["missing"]),
            tuple(Missing(each["name"], tuple(each["missing"])) for each in because if each["missing"]),
            row["pack"], self._used.read(mmsi, time, self._packs[row["pack"]]),
        )  # fmt: skip


def _failed(reason: Any) -> Failed:
    """Return a reason as a requirement that fails; on Spark its values are texts, as they are of several types."""
    values = [(each["_1"], _value(each["_2"]), each["_3"]) for each in reason["values"]]
    margin = reason["margin"]
    return failed_of(
        reason["name"], reason["because"], reason["text"], values,
        None if margin is None else (margin["_1"], margin["_2"]),
    )  # fmt: skip


def _value(text: str | None) -> Any:
    try:
        return None if text is None else int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return text
