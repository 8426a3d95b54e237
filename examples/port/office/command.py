"""The command ``python -m examples.port board``: the harbour office on a page, live."""

from __future__ import annotations

import sys
from contextlib import ExitStack, nullcontext, suppress
from datetime import time
from functools import partial
from math import isfinite
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from cartesius.errors import CartesiusError
from cartesius.installation import needing
from examples.port.input_options import data_option
from examples.port.inputs import read_day
from examples.port.programs import rule_pack
from examples.port.tables import UnusableFile

if TYPE_CHECKING:
    from concurrent.futures import Future
    from datetime import datetime

    from examples.port.inputs import Day


def _finite(_context: click.Context, _option: click.Parameter, value: float) -> float:
    if not isfinite(value):
        message = f"{value} is not finite."
        raise click.BadParameter(message)
    return value


@click.command(context_settings={"show_default": True, "max_content_width": 110})
@click.option(
    "--store",
    "where",
    default="out/port/office.db",
    metavar="FILE|URL",
    help="What is kept: a file of SQLite, or postgresql://… ; started again, the board shows what is there.",
)
@click.option(
    "--feed",
    type=click.Choice(["replay", "kafka", "none"]),
    default="replay",
    help="Replay the day in this process, read topics of Kafka, or show what others write into the store.",
)
@click.option("--kafka", metavar="BOOTSTRAP", help="The Kafka of --feed kafka.", default="127.0.0.1:9092")
@click.option("--topics", metavar="RUN", help="How the topics of --feed kafka begin: `make run-kafka` prints it.")
@click.option(
    "--rules",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    show_default="the built-in ones, which examples/rules/new_york.rules has as a text",
    help="The rules, which may change at any time: the board goes on with what the file says, and with all it knows.",
)
@click.option("--who", metavar="NAME", show_default="the owner of the file", help="Who changes the file of --rules.")
@click.option(
    "--rules-topic",
    metavar="TOPIC",
    help='With --feed kafka: whose records change the rules, {"who": …, "text": all of them}. Of one partition.',
)
@click.option(
    "--speed",
    type=click.FloatRange(0, min_open=True),
    callback=_finite,
    default=60.0,
    help="How many times real time.",
)
@click.option(
    "--start",
    type=click.DateTime(["%H:%M", "%H:%M:%S"]),
    default="00:00",
    help="The time of the day at which a new store begins; all before is judged at once.",
)
@data_option
@click.option("--host", default="127.0.0.1", help="Where to listen. Anywhere, only who has the token is answered.")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, show_default="any free one", help="The port.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option(
    "--alerts",
    type=click.Path(path_type=Path),
    metavar="SUBSCRIPTIONS",
    help="Also tell who wants to know, as `python -m examples.port alerts` does.",
)
def board(
    *,
    where: str,
    feed: str,
    kafka: str,
    topics: str | None,
    file: Path | None,
    who: str | None,
    rules_topic: str | None,
    speed: float,
    start: datetime,
    data: Path,
    host: str,
    port: int,
    no_browser: bool,
    alerts: Path | None,
) -> None:
    """Show the ships of New York harbour as they are judged: who may lie, move or come in, and why not.

    The page shows any moment of the day. Exit status: 0; 2 where there is nothing to show any more, and why.
    """
    if (feed == "kafka") != (topics is not None):
        message = "--feed kafka and --topics RUN are of use together only"
        raise click.UsageError(message)
    if (file is not None and feed != "replay") or (rules_topic is not None and feed != "kafka"):
        message = "--rules FILE is of use with --feed replay only, --rules-topic TOPIC with --feed kafka"
        raise click.UsageError(message)
    try:
        with needing("python -m examples.port board", "cartesius-joins[edit]"):
            from cartesius.pages.local_pages import listening, serve  # noqa: PLC0415 - who judges needs no server
            from examples.port.office.board import Board, page_of  # noqa: PLC0415 - as above
        from examples.port.office.alerts_command import beside, subscriptions_of  # noqa: PLC0415 - as above
        from examples.port.office.following import Following  # noqa: PLC0415 - as above
        from examples.port.office.foreseen import Foresight  # noqa: PLC0415 - as above
        from examples.port.office.proposals import file_proposals, opened, pack_proposal  # noqa: PLC0415 - as above
        from examples.port.office.replay import Replay, start_replay  # noqa: PLC0415 - as above
        from examples.port.office.store import Store  # noqa: PLC0415 - as above

        with listening(port, host) as sockets:  # a port that is taken leaves no store behind
            subscriptions = None if alerts is None else subscriptions_of(alerts)  # nor do these, if they are none
            day = read_day(data)
            rules = rule_pack("port", day.berths, day.gauges, day.stations)
            if ":" not in where and not Path(where).exists():
                if feed == "none":
                    message = f"there is no store {where!r} yet; begin the feed first, or name another"
                    raise UnusableFile(message)
                if file is not None:
                    opened(file, rules)  # what is wrong with them leaves no empty store behind
                Path(where).parent.mkdir(parents=True, exist_ok=True)
            store, stop = Store(where), Event()
            with nullcontext() if feed == "none" else store.feeding(), ExitStack() as ending:
                ending.callback(stop.set)
                proposals = pack_proposal(rules, "built in")
                if file is not None:
                    followed = opened(file, rules, store.packs())
                    rules, proposals = followed.pack, file_proposals(followed, who)
                if feed == "replay":
                    replay = partial(Replay, day, rules, store, speed=speed, proposals=proposals)
                    ending.callback(_raise_failure, start_replay(partial(replay, begin=_begin(day, start)), stop))
                elif topics is not None:
                    from examples.port.office.kafka_feed import start_kafka  # noqa: PLC0415 - as above

                    ending.callback(
                        _raise_failure, start_kafka(kafka, topics, store, day, rules, stop, rules=rules_topic)
                    )
                following, foresight = Following(store, day), Foresight(day)
                shown = Board(store, following, day, foresight)
                with beside(where, subscriptions, foresight, stop), suppress(KeyboardInterrupt):
                    ending.callback(_raise_failure, following.start(stop))
                    ending.callback(_raise_failure, shown.start(stop))
                    serve(
                        page_of(shown, following), sockets, not no_browser, "The harbour office is", host, stop.is_set
                    )
    except (CartesiusError, UnusableFile, OSError) as error:
        click.echo(f"board: {error}", err=True)
        sys.exit(2)


def _raise_failure(ended: Future[None]) -> None:
    """Raise what has ended a thread: a page without it would show what was, and not say so."""
    if ended.done():
        ended.result()


def _begin(day: Day, start: datetime) -> int:
    """Return when a new store begins; what is before is judged at once, which takes seconds."""
    if start.time() != time.min:
        click.echo(f"board: a new store has all before {start:%H:%M} judged first", err=True)
    return day.start + (start.hour * 3600 + start.minute * 60 + start.second) * 1_000_000
