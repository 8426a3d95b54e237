"""Running the main job's pack: in this process, on Spark, or on Spark through Kafka.

All give the same: the verdicts, the dead letters, and how many seconds Spark took to start (None without Spark).
Spark is imported where it is wanted, as not everybody has a Java.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, NoReturn, TypeAlias
from uuid import uuid4

import attrs

from cartesius.errors import CartesiusError
from examples.port.in_process import run_in_process
from examples.port.outside import PlainConsole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dsl import RulePack
    from dsl.versions import FollowedRules
    from examples.port.dead_letters import DeadLetter
    from examples.port.inputs import Day
    from examples.port.verdict_changes import ChangeLog

    Judged: TypeAlias = tuple[ChangeLog, list[DeadLetter], float | None]


@attrs.frozen
class Telling:
    """Whom a run tells how far it is.

    Args:
        done: Gets the number of each slice.
        line: Gets a line about where things are.
        batch: Gets a line per micro-batch.
    """

    done: Callable[[int], None]
    line: Callable[[str], None]
    batch: Callable[[str], None]


def judged_here(day: Day, rules: RulePack, slice_minutes: int, telling: Telling) -> Judged:
    """Judge the ships in this process."""
    return run_in_process(day, rules, slice_minutes=slice_minutes, progress=telling.done), list(day.dead), None


def judged_on_spark(
    day: Day,
    rules: RulePack,
    out: Path,
    slice_minutes: int,
    buckets: int,
    telling: Telling,
    where: str | None = None,
    follow: FollowedRules | None = None,
) -> Judged:
    """Judge the ships on Spark, which logs into ``out``; refuse if it does not start.

    With ``where``, a store, the verdict changes are written there as well, for the board. With ``follow``, the file of
    the rules, these change when that does.
    """
    from examples.port.office.databases import UnusableStore  # noqa: PLC0415 - likewise
    from examples.port.office.spark_feed import SparkFeed  # noqa: PLC0415 - only where it is wanted
    from examples.port.office.store import Store  # noqa: PLC0415 - likewise
    from examples.port.on_spark import NoSpark, run_on_spark, spark_session  # noqa: PLC0415 - only where it is wanted

    started = perf_counter()
    try:
        store = None if where is None else Store(where)
        office = None if store is None else SparkFeed(store, day, rules, slice_minutes)
        if office is not None and follow is None and office.packs()[-1].version != rules.version:
            message = (
                f"{where}: expected the rules {office.packs()[-1].version}, which are in force there, but got"
                f" {rules.version}; give them with --rules, or name another store"
            )
            raise UnusableStore(message)
        with nullcontext() if store is None else store.feeding(), spark_session(out / "spark.log") as spark:
            start = perf_counter() - started
            run = run_on_spark(
                spark,
                day,
                rules,
                slice_minutes=slice_minutes,
                buckets=buckets,
                progress=telling.done,
                tell=telling.batch,
                say=telling.line,
                office=office,
                follow=follow,
            )
    except (NoSpark, CartesiusError) as error:
        refuse(error)
    return run.log, list(run.dead), start


def judged_on_kafka(
    day: Day, rules: RulePack, out: Path, buckets: int, servers: str, jars: Path | None, telling: Telling
) -> Judged:
    """Judge the ships on Spark, through topics of a new name at ``servers``; refuse if it does not start."""
    from examples.port.on_kafka import Broker, connector, run_on_kafka  # noqa: PLC0415 - only where it is wanted
    from examples.port.on_spark import NoSpark, spark_session  # noqa: PLC0415 - likewise

    broker = Broker(servers, f"port-{uuid4().hex[:8]}")
    started = perf_counter()
    try:
        with spark_session(out / "spark.log", connector(jars)) as spark:
            start = perf_counter() - started
            run = run_on_kafka(spark, day, rules, broker, buckets=buckets, tell=telling.line, batch=telling.batch)
    except NoSpark as error:
        refuse(error)
    return run.log, list(run.dead), start


def refuse(error: Exception) -> NoReturn:
    """Say in one line why there is nothing to judge, and stop."""
    PlainConsole(stderr=True, soft_wrap=True).print(f"port: {error}")
    sys.exit(2)
