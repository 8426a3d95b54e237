"""The command: ``python -m examples.port`` judges the ships of New York harbour, on Spark or in this process.

``python -m examples.port board`` shows them on a page while they are judged. With ``--nmea FILE`` it judges those of
Rotterdam instead, from raw AIS messages. The module is over 300 lines because the options are told in full.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cartesius.errors import CartesiusError, InvalidArgument
from dsl.command_lines import check_writable, run
from examples.port.arrivals import deep_calls
from examples.port.arrivals_report import arrival_notes, show_outlooks
from examples.port.bootstrap import NoBroker, check_broker
from examples.port.cells import moment
from examples.port.clearances import chosen, clearances_at_berth
from examples.port.dead_letters import write_dead_letters
from examples.port.history import history, year
from examples.port.input_options import data_option, wind_day_option
from examples.port.inputs import DAY, read_day
from examples.port.office.alerts_command import alerts
from examples.port.office.command import board
from examples.port.office.proposals import opened
from examples.port.office.store import Store
from examples.port.on_nmea import run_on_nmea, show_nmea
from examples.port.outside import PlainConsole
from examples.port.picture import draw
from examples.port.programs import PACKS, rule_pack
from examples.port.report import Timing, notes, show_ships, show_summary
from examples.port.results import end, results, warn
from examples.port.running import Telling, judged_here, judged_on_kafka, judged_on_spark, refuse
from examples.port.slices import number_of_slices
from examples.port.tables import UnusableFile
from examples.port.traffic import show_traffic, traffic_verdicts
from examples.port.verdict_changes import write_changes
from examples.port.windows import outlooks
from examples.port.windows_picture import draw_windows, telling_outlooks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

    from rich.console import Console

    from dsl import RulePack
    from dsl.versions import FollowedRules
    from examples.port.inputs import Day
    from examples.port.verdict_changes import ChangeLog
    from examples.port.windows import Outlook

SHIPS_DRAWN: Final = 6
_DAY_MINUTES: Final = 24 * 60


_WRITTEN: Final = ("verdicts.parquet", "dead_letters.csv", "clearance.png", "windows.png")
"""What a run leaves; with ``--nmea`` the first two."""


@click.group(invoke_without_command=True, context_settings={"show_default": True, "max_content_width": 110})
@click.option("--in-process", is_flag=True, help="Run in this process, without Spark. The verdicts are the same.")
@click.option(
    "--pack",
    type=click.Choice(PACKS),
    default="port",
    help="The rules: the harbour's, or one of the thesis's programs A to D.",
)
@click.option(
    "--rules",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    show_default="those of --pack",
    help="Judge by the rules of this file. On Spark it is followed: when it changes, the next micro-batch has the new"
    " rules. examples/rules/new_york.rules has those of --pack port, to begin from.",
)
@data_option
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("out/port"),
    help="Folder for verdicts.parquet, dead_letters.csv, two pictures and spark.log; made if it is not there.",
)
@wind_day_option
@click.option(
    "--slice",
    "slice_minutes",
    type=click.IntRange(1, _DAY_MINUTES),
    default=60,
    metavar="MINUTES",
    help="Length of a slice of event time: one micro-batch takes the same slice of every source.",
)
@click.option(
    "--buckets",
    type=click.IntRange(1, 1024),
    default=6,
    help="Engines on Spark, over which ships are spread by MMSI. The verdicts do not depend on it.",
)
@click.option(
    "--kafka",
    metavar="BOOTSTRAP",
    help="Send the day through this Kafka: a topic a source, and one of verdict changes. `make kafka` starts a broker.",
)
@click.option(
    "--jars",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    show_default="fetched from Maven Central",
    help="The jars of Spark's Kafka connector, for --kafka. Spark 4.3 has none yet: see `make run-kafka`.",
)
@click.option(
    "--store",
    metavar="FILE|URL",
    show_default="none",
    help="Write the verdict changes into a store as well, each once: `board --feed none --store …` shows it meanwhile.",
)
@click.option("--rows", type=click.IntRange(0), default=24, help="How many ships to print.")
@click.option("--verbose", is_flag=True, help="Print a line per micro-batch on Spark: rows, state, watermark, time.")
@click.option("--no-color", is_flag=True, help="Print without colours; so does the environment variable NO_COLOR.")
@click.option(
    "--nmea",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Judge the ships of Rotterdam by the AIS messages in this file, raw NMEA 0183, plain or gzipped.",
)
@click.option(
    "--date",
    "on",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    show_default="the day that they say",
    help="The day on which the messages of --nmea were received.",
)
@click.pass_context
def main(
    context: click.Context,
    /,
    *,
    in_process: bool,
    pack: str,
    file: Path | None,
    data: Path,
    out: Path,
    wind_day: datetime,
    slice_minutes: int,
    buckets: int,
    kafka: str | None,
    jars: Path | None,
    store: str | None,
    rows: int,
    verbose: bool,
    no_color: bool,
    nmea: Path | None,
    on: datetime | None,
) -> None:
    """Judge the ships of New York harbour on 30 June 2020: which may lie, move or come in, and which rule says no.

    Reads AIS reports, tides, tidal streams and winds, replays them in event time, prints ship by ship, and writes every
    change of a verdict.
    examples/port/RULES.md says what is read, derived and required. The last run's results stay until those of this one
    are there. Exit status: 0; 1 where the run failed, 2 where it was refused, 3 where a file was damaged and was judged
    as far as it is good: that is said at the top.
    """
    if context.invoked_subcommand is not None:
        return
    console = PlainConsole(no_color=no_color or None)
    _check_options(context)
    _check_kafka(kafka)
    try:
        check_writable("--out", out, *_WRITTEN)
        if nmea is not None:
            end(_judge_nmea(console, nmea, None if on is None else on.date(), out, rows))
            return
        started = perf_counter()
        day = read_day(data, wind_day=wind_day.date())
    except (InvalidArgument, UnusableFile, OSError) as error:
        refuse(error)
    reading = perf_counter() - started
    warn(console, day.damaged)
    rules = rule_pack(pack, day.berths, day.gauges, day.stations)
    follow = None if file is None else _followed(file, rules, store)
    rules = rules if follow is None else follow.pack
    console.print(
        f"Judging {_ships(day):,} ships by the pack {str(file or pack)!r}: {len(day.readings):,} events of"
        f" {day.day:%-d %B %Y},"
        f" {'in this process' if in_process else 'on Spark' if kafka is None else 'on Spark, through Kafka'}"
    )
    slices = number_of_slices(slice_minutes)
    with _progress(console) as bar:
        task = bar.add_task("replaying", total=slices, clock="00:00")

        def done(number: int) -> None:
            time = moment(day.start + (number + 1) * slice_minutes * 60_000_000)
            bar.update(task, completed=number + 1, clock="24:00" if number + 1 >= slices else f"{time:%H:%M}")

        def tell(line: str) -> None:
            console.print(line, style="dim", soft_wrap=True)

        told = Telling(done, tell, tell if verbose else lambda _: None)
        if in_process:
            log, dead, spark = judged_here(day, rules, slice_minutes, told)
        elif kafka is None:
            log, dead, spark = judged_on_spark(day, rules, out, slice_minutes, buckets, told, store, follow)
        else:
            log, dead, spark = judged_on_kafka(day, rules, out, buckets, kafka, jars, told)
        done(slices - 1)
    judging = perf_counter() - started - reading - (spark or 0.0)

    timing = Timing(reading, judging, spark)
    said = notes(DAY, wind_day.date())
    with results(console, out, _WRITTEN) as folder:
        write_changes(log.changes, folder / "verdicts.parquet")
        write_dead_letters(dead, folder / "dead_letters.csv")
        if pack == "port":  # the programs of the thesis have no limit to draw, and no windows
            _draw_clearances(day, log, said, folder)
        _show(console, day, log, rows, out, folder if pack == "port" else None)
        show_summary(console, log, dead, day.damaged, timing)
        for note in said:
            console.print(note, style="dim")
    end(day.damaged)


main.add_command(alerts)
main.add_command(board)
main.add_command(history)
main.add_command(year)


def _draw_clearances(day: Day, log: ChangeLog, said: Sequence[str], folder: Path) -> None:
    changes = Counter(change.mmsi for change in log.changes)
    changing = {mmsi for mmsi, number in changes.items() if number > 1}
    clearances = chosen(clearances_at_berth(day), changing, SHIPS_DRAWN)
    if clearances:
        draw(day, clearances, log.changes, said, folder / "clearance.png")


def _show(console: Console, day: Day, log: ChangeLog, rows: int, out: Path, folder: Path | None) -> None:
    """Print ship by ship; with a ``folder``, also windows and traffic, and draw the windows into it."""
    now, calls = deep_calls(day)
    ahead = [] if folder is None else [each for each in outlooks(day, now, calls) if each.points]
    show_ships(console, log, day, now, ahead, rows, str(out / "verdicts.parquet"))
    if folder is None:
        return
    if ahead:
        _show_ahead(console, day, now, ahead, folder)
    show_traffic(console, *traffic_verdicts(day))


def _show_ahead(console: Console, day: Day, now: int, ahead: Sequence[Outlook], out: Path) -> None:
    """Print and draw the arrivals and next windows of deep ships."""
    said = arrival_notes(now)
    show_outlooks(console, ahead, now)
    for note in said:
        console.print(note, style="dim")
    draw_windows(day, now, telling_outlooks(ahead), said, out / "windows.png")


def _judge_nmea(console: Console, file: Path, day: date | None, out: Path, rows: int) -> tuple[str, ...]:
    """Judge the ships of Rotterdam; return what is wrong with the file if it is damaged."""
    run = run_on_nmea(file, day)
    warn(console, run.nmea.damaged)
    console.print(f"Judging the ships of Rotterdam by {file.name}: {run.nmea.sentences:,} sentences of {run.nmea.day}")
    with results(console, out, _WRITTEN[:2]) as folder:
        write_changes(run.log.changes, folder / "verdicts.parquet")
        write_dead_letters(run.nmea.dead, folder / "dead_letters.csv")
        show_nmea(console, run, rows)
    return run.nmea.damaged


def _check_options(context: click.Context) -> None:
    """Refuse options that would be ignored beside the others."""
    given = [name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    useless = {"jars": "with --kafka"} if "kafka" not in given else {"slice_minutes": "without --kafka"}
    if "file" in given:
        useless |= dict.fromkeys(["pack", "kafka"], "without --rules")
    if "kafka" in given:
        useless["store"] = "without --kafka: `board --kafka` reads the topics"
    if "in_process" in given:
        useless |= dict.fromkeys(["buckets", "kafka", "jars", "store", "verbose"], "without --in-process")
    if "nmea" in given:
        useless |= {name: "without --nmea" for name in given if name not in {"nmea", "out", "on", "rows", "no_color"}}
    else:
        useless["on"] = "with --nmea"
    spelled = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name in given:
        if name in useless:
            message = f"{spelled[name]} is of use {useless[name]} only"
            raise click.UsageError(message)


def _followed(file: Path, harbour: RulePack, where: str | None) -> FollowedRules:
    """Read a file of rules; where a store has rules in force, it is looked at later."""
    try:
        if where is None:
            return opened(file, harbour)
        with closing(Store(where)) as store:
            return opened(file, harbour, store.packs())
    except (CartesiusError, UnicodeError, OSError) as error:
        refuse(error)


def _check_kafka(servers: str | None) -> None:
    """Refuse bootstrap servers that cannot be any, and those at which there is no broker."""
    if servers is None:
        return
    try:
        check_broker(servers)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--kafka") from error
    except NoBroker as error:
        refuse(error)


def _ships(day: Day) -> int:
    return len({reading.values["mmsi"] for reading in day.readings if reading.source == "vessel"})


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description} to {task.fields[clock]} UTC"),
        BarColumn(bar_width=40),
        MofNCompleteColumn(),
        TextColumn("slices"),
        TimeElapsedColumn(),
        console=console,
    )


if __name__ == "__main__":
    run(partial(main, prog_name="python -m examples.port"))
