"""The command ``python -m examples.port alerts``: who wants to be told of ships is told, beside the board."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

import click

from cartesius.errors import CartesiusError, near
from dsl.alerts import Outbox, Subscriptions, delivering
from dsl.alerts.alert_delivery import pause
from dsl.alerts.messages import plain
from examples.port.input_options import data_option
from examples.port.inputs import read_day
from examples.port.office.alerting import WORDS, Alerting
from examples.port.office.databases import StoreLost, UnusableStore, is_url
from examples.port.office.figures import in_force
from examples.port.office.foreseen import Foresight
from examples.port.office.store import Store
from examples.port.office.threads import at_work
from examples.port.tables import UnusableFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from examples.port.office.alerting import NextChange
    from examples.port.office.foreseen import Next, Unforeseen
    from examples.port.office.records import Seen

_LOOK_S: Final = 0.5
_LONGEST_S: Final = 60.0
"""Between two tries to read the store, or to write the outbox, in seconds."""


def subscriptions_of(path: Path) -> Subscriptions:
    """Return the subscriptions in a file, in the words of the port; secrets are in the environment."""
    return Subscriptions.from_file(path, os.environ, WORDS)


def outbox_of(where: str) -> Path:
    """Return where the outbox of a store is: beside its file; of a URL, by a hash of it, which may have a password.

    >>> str(outbox_of("out/port/office.db")), str(outbox_of("postgresql://me@there/port"))
    ('out/port/office.alerts.db', 'out/port/alerts-7669ff20.db')
    """
    if is_url(where):
        return Path(f"out/port/alerts-{sha256(where.encode()).hexdigest()[:8]}.db")
    return Path(where).with_suffix(".alerts.db")


def _tell(line: str) -> None:
    click.echo(f"alerts: {plain(line)}", err=True)


@contextmanager
def alerting_beside(
    where: str, subscriptions: Subscriptions, outbox: Path, next_change: NextChange, stop: Event
) -> Iterator[Future[None]]:
    """Queue and send alerts while the block runs, which gets how the thread ends that queues them.

    Args:
        where: The store.
        subscriptions: Who wants what.
        outbox: The outbox's file.
        next_change: As of `Alerting`.
        stop: Is set where that thread fails, and at the end of the block, which raises what it failed by.

    Raises:
        UnusableStore: The store or the outbox cannot be opened.
    """
    outbox.parent.mkdir(parents=True, exist_ok=True)

    def run() -> None:
        with closing(Store(where)) as store, closing(_opened(outbox)) as queue:
            alerting, failures, is_last = None, 0, False
            while not is_last:
                is_last = stop.is_set()  # what is there at the end is queued, too
                try:
                    alerting = alerting or Alerting(store, subscriptions, queue, next_change, tell=_tell)
                    if number := alerting.step():
                        click.echo(f"alerts: {number} queued", err=True)
                    failures = 0
                except (sqlite3.Error, StoreLost) as error:  # of the outbox, and of the store
                    alerting = None  # begun anew, as after a kill, it misses nothing
                    failures += 1
                    wait = min(pause(failures), _LONGEST_S)
                    _tell(f"{error}; tried again in {wait:g} s")
                    stop.wait(wait)
                if not is_last:
                    with suppress(StoreLost):  # it is asked again at once, and then waited for
                        store.wait(_LOOK_S)

    with closing(_opened(outbox)), delivering(outbox, subscriptions.targets, _tell):
        ended = at_work("alerts", run, stop)
        try:
            yield ended
        finally:
            stop.set()
            ended.result()


def _opened(outbox: Path) -> Outbox:
    try:
        return Outbox(outbox)
    except sqlite3.Error as error:
        message = f"outbox: expected a database, or a place for a new one, but got {str(outbox)!r}: {error}"
        raise UnusableStore(message) from error


@contextmanager
def by_rules_in_force(where: str, foresight: Foresight) -> Iterator[NextChange]:
    """Give the block what looks ahead by the rules that a store says are in force at a time."""
    with closing(Store(where)) as store:
        seen, packs = 0, store.packs()

        def next_change(report: Seen, now: int) -> Next | Unforeseen | None:
            nonlocal seen, packs
            if (newest := store.newest_pack()) != seen:
                seen, packs = newest, store.packs()
            pack = in_force(packs, now)
            return None if pack is None else foresight.next_change(report, now, pack)

        yield next_change


@contextmanager
def beside(where: str, subscriptions: Subscriptions | None, foresight: Foresight, stop: Event) -> Iterator[None]:
    """Queue and send alerts beside a board of that store, as `alerting_beside`; nothing where nobody wants any."""
    if subscriptions is None:
        yield
        return
    with (
        by_rules_in_force(where, foresight) as next_change,
        alerting_beside(where, subscriptions, outbox_of(where), next_change, stop),
    ):
        yield


def dry_run(where: str, subscriptions: Subscriptions, next_change: NextChange) -> list[str]:
    """Return what would have been sent of all that is in a store, a line each; nothing is sent or noted."""
    with closing(Store(where)) as store, closing(Outbox(":memory:")) as queue:
        alerting = Alerting(
            store, subscriptions, queue, next_change, from_start=True, patience=float("inf"), tell=_tell
        )
        alerting.step()
        found = {
            name: queue.due(name, now=float("inf"), most=sum(queue.waiting().values()))
            for name in subscriptions.targets
        }
    return [f"to {name}: {each.message.line}" for name, waiting in found.items() for each in waiting]


def unknown(subscriptions: Subscriptions, rules: Sequence[str], berths: Sequence[str]) -> Iterator[str]:
    """Say what subscriptions name that there is not, a line each: of that nothing is ever told.

    Args:
        subscriptions: Who wants what.
        rules: The names of the rules in force, which may be others later.
        berths: The names of the berths.
    """
    for one in subscriptions.wanted:
        for what, name, known in (("rule", one.rule, rules), ("berth", one.place, berths)):
            if name is not None and name not in known:
                yield f"subscription {one.name!r}: there is no {what} {name!r}{near(name, list(known))}"


@click.command(context_settings={"show_default": True, "max_content_width": 110})
@click.argument("file", metavar="SUBSCRIPTIONS", type=click.Path(path_type=Path))
@click.option(
    "--store",
    "where",
    default="out/port/office.db",
    metavar="FILE|URL",
    help="The store of the board: a file of SQLite, or postgresql://…",
)
@click.option(
    "--outbox",
    type=click.Path(dir_okay=False, path_type=Path),
    show_default="beside the store",
    help="What is still to be sent, and the ids of all that ever was.",
)
@data_option
@click.option(
    "--dry-run", "is_dry", is_flag=True, help="Print what would have been sent so far, send nothing, and end."
)
def alerts(file: Path, *, where: str, outbox: Path | None, data: Path, is_dry: bool) -> None:
    """Tell who wants to know, as SUBSCRIPTIONS says, of ships whose verdicts change, or are foreseen to.

    docs/how_to/be_told.md says what is in the file. It runs until Ctrl-C. Exit status: 0; 2 where it was
    refused, or cannot go on, and why.
    """
    try:
        subscriptions = subscriptions_of(file)
        if is_dry and not is_url(where) and not Path(where).is_file():
            message = f"there is no store {where}; start the board first, or name its store with --store"
            raise click.UsageError(message)
        day = read_day(data)
        with closing(Store(where)) as store:
            in_force = [name for each in store.packs()[-1:] for name, _ in each.rules]
        for line in unknown(subscriptions, in_force, day.berths) if in_force else ():
            _tell(line)
        with by_rules_in_force(where, Foresight(day)) as next_change:
            if is_dry:
                lines = dry_run(where, subscriptions, next_change)
                click.echo("\n".join(lines) if lines else "nothing so far that anybody wants to know")
                return
            with alerting_beside(where, subscriptions, outbox or outbox_of(where), next_change, Event()) as ended:
                click.echo(f"alerts: {len(subscriptions.wanted)} subscriptions of {file}; Ctrl-C ends it", err=True)
                ended.result()  # it ends by itself only where it failed
    except KeyboardInterrupt:
        return
    except (CartesiusError, UnusableFile, OSError) as error:
        click.echo(f"alerts: {plain(str(error), 2000)}", err=True)
        sys.exit(2)
