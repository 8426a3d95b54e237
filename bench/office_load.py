"""How soon changes are in the pages of many: ``python -m bench.office_load``, or ``make bench-office``.

A store of many ships, a server of its own process that shows it, some pages in headless Chromium, and a feed that
commits changes at an even rate. The feed notes when each was committed, a page when it first read it from the stream,
and when it had first drawn it: her row in the list, her mark on the map, the counts; the clocks are those of one
machine. Printed are the share of (change, page) pairs that were drawn at most so long after the commit, the same of
what was read, and the largest memory of the server. A change that a later one of the same ship overtakes before it is
sent counts as seen when that is. The panels below the ships are drawn in turn, and are not measured.

Chromium is told that each page is in front, as on ten officers' screens.

The exit status is 1 where less than 95 % take at most 100 ms, or the server takes 200 MB or more.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from bench.options import COUNT, PROCESSES, Above0
from dsl.command_lines import INTERRUPTED, run
from examples.port.input_options import DATA
from examples.port.inputs import DAY, read_day
from examples.port.office.records import Batch, Change, Failed, Seen
from examples.port.office.store import Store
from examples.port.programs import rule_pack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ROOT: Final = Path(__file__).resolve().parents[1]
SOON_MS: Final = 100.0
WANTED: Final = 0.95
MOST_MB: Final = 200.0
PATIENCE_S: Final = 120.0
FEED: Final = "load"
CHROMIUM: Final = "/usr/bin/chromium-headless-shell"
_FIRST: Final = 200_000_000
_FRONT: Final = (
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
)
_SEEN: Final = """
window.seen = [];
const waiting = [];
const parse = JSON.parse;
const now = () => performance.timeOrigin + performance.now();
JSON.parse = (text) => {
  const made = parse(text);
  if (made && made.heads_for !== undefined) waiting.push([made.mmsi, Date.parse(made.seen), now()]);
  return made;
};
addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
  const drawn = now();
  for (const each of waiting.splice(0)) seen.push([...each, drawn]);
}).observe(document.body, { attributes: true, attributeFilter: ["data-event"] }));
"""
"""Runs before the page's own scripts: notes of which report of a ship the page reads, when, and when that is drawn. The
page says in ``data-event``, as the last thing when it draws, up to which event all that it read is drawn."""


class Load:
    """The feed: reports and verdicts of made-up ships, at an even rate; of each change, when it was committed."""

    def __init__(self, where: str, ships: int, rate: float) -> None:
        self._store, self._ships, self._rate = Store(where), ships, rate
        day = read_day(DATA)
        self._start = day.start
        pack = rule_pack("port", day.berths, day.gauges, day.stations)
        self._store.begin(FEED, pack, start=day.start, end=day.start + 24 * 3_600_000_000, speed=1.0)
        self._rules = [name for name, _ in self._store.packs()[0].rules]
        self.committed: list[float] = []
        """Of each change, when it was committed, in milliseconds since the epoch."""
        every = [self._made(number, number) for number in range(ships)]
        berths = [
            Seen("berth", each.values["id"], day.start, each.values) for each in day.readings if each.source == "berth"
        ]
        self._store.apply(Batch(FEED, 0, day.start, [c for c, _ in every], [*berths, *(seen for _, seen in every)]))

    def _made(self, ship: int, number: int) -> tuple[Change, Seen]:
        at, mmsi = self._start + number * 1_000, _FIRST + ship
        rule = self._rules[number % len(self._rules)]
        failed = (Failed(rule, "made up", "43 cm", "50 cm", "-7 cm"),) if number % 3 == 0 else ()
        status = "restricted" if failed else "allowed"
        row = {
            "mmsi": mmsi, "name": f"SHIP {ship}", "vessel_type": "cargo", "hazard": None, "length": 200.0, "beam": 30.0,
            "draught": 10.0, "speed": number % 20 / 2, "course": float(number % 360), "destination": "elsewhere",
            "position": (40.5 + ship % 50 * 0.006, -74.25 + ship // 50 * 0.01), "direction": "outbound",
        }  # fmt: skip
        return Change(at, mmsi, str(row["name"]), status, failed), Seen("vessel", str(mmsi), at, row)

    def delays(self, seen: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
        """Return after how many milliseconds a page had read each change, and after how many it had drawn it.

        Args:
            seen: (ship, time of her report in milliseconds since the epoch, when it was read, when it was drawn).
        """
        first = self._start // 1_000 + self._ships  # the report of the first change; those before are no changes
        there = [(round(report) - first, read, drawn) for _, report, read, drawn in reversed(seen) if report >= first]
        read, drawn = {n: at for n, at, _ in there}, {n: at for n, _, at in there}
        return delays(self.committed, read, self._ships), delays(self.committed, drawn, self._ships)

    def wait(self, stop: Event) -> None:
        """Say that the feed is at work, until ``stop`` is set: before, there is nothing to change."""
        while not stop.wait(1.0):
            self._store.apply(Batch(FEED, 0, self._start))

    def run(self, seconds: float) -> None:
        """Commit changes for so long."""
        begun, number = time.monotonic(), 0
        while number < seconds * self._rate:
            time.sleep(max(0.0, begun + number / self._rate - time.monotonic()))
            change, seen = self._made(number * 7 % self._ships, self._ships + number)
            self._store.apply(Batch(FEED, number + 1, seen.time, [change], [seen]))
            self.committed.append(time.time() * 1000)
            number += 1


@contextmanager
def board(where: str) -> Iterator[tuple[str, int]]:
    """Start the server; yield its address and the id of its process."""
    command = [sys.executable, "-m", "examples.port", "board", "--feed", "none", "--store", where, "--no-browser"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = re.search(r"http://\S+", said)
        if address is None:
            message = f"office_load: the board does not start: {said!r}"
            raise RuntimeError(message)
        yield address[0], process.pid
    finally:
        process.terminate()
        process.wait()


def resident_mb(process: int) -> float:
    """Return the memory of a process that is in RAM, in MB."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def delays(committed: Sequence[float], there: Mapping[int, float], ships: int) -> list[float]:
    """Return after how many milliseconds each change was there; infinity for what never was.

    >>> delays([1.0, 2.0, 9.0], {0: 4.0, 2: 12.0}, 1)
    [3.0, 10.0, 3.0]

    Args:
        committed: When each change was committed, by its number.
        there: When it was there first, by its number.
        ships: How many ships there are.
    """
    found = [float("inf")] * len(committed)
    last: dict[int, float] = {}
    for number in range(len(committed) - 1, -1, -1):
        ship = number * 7 % ships
        last[ship] = there.get(number, last.get(ship, float("inf")))
        found[number] = max(0.0, last[ship] - committed[number])
    return found


@attrs.frozen
class Measured:
    """What was measured: of all (change, page) pairs the milliseconds until it was read, and drawn; the server's MB."""

    read: list[float]
    drawn: list[float]
    server_mb: float


@contextmanager
def meanwhile(work: Callable[[Event], object]) -> Iterator[None]:
    """Let a thread work until the block is left, by Ctrl-C or by an error, too; it is given what is set then."""
    stop = Event()
    thread = Thread(target=work, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def measure(pages: int, ships: int, rate: float, seconds: float) -> Measured:
    """Open the pages, commit changes for so many seconds, and return how soon they were there."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - others of this folder need no browser

    with tempfile.TemporaryDirectory(prefix="office-load-") as folder:
        where = f"{folder}/office.db"
        load = Load(where, ships, rate)
        with board(where) as (address, server), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", *_FRONT])
            opened: list[Any] = []
            with meanwhile(load.wait):
                for _ in range(pages):
                    page = browser.new_context().new_page()
                    page.add_init_script(_SEEN)
                    page.goto(address)
                    page.locator("#mode", has_text="live").wait_for(timeout=PATIENCE_S * 1000)
                    opened.append(page)
            largest = 0.0

            def watch(stop: Event) -> None:
                nonlocal largest
                while not stop.wait(0.5):
                    largest = max(largest, resident_mb(server))

            with meanwhile(watch):
                load.run(seconds)
                time.sleep(2.0)
            found = [load.delays(page.evaluate("seen")) for page in opened]
            browser.close()
            return Measured(
                sorted(each for read, _ in found for each in read),
                sorted(each for _, drawn in found for each in drawn),
                largest,
            )


def _said(found: Sequence[float]) -> str:
    """Say how soon, in a line; ``found`` in order."""
    parts = ", ".join(f"{share:g} % {found[int((len(found) - 1) * share / 100)]:.0f} ms" for share in (50, 95, 99))
    return f"{_soon(found):.1%} within {SOON_MS:g} ms of the commit; {parts}, longest {found[-1]:.0f} ms"


def _soon(found: Sequence[float]) -> float:
    return sum(each <= SOON_MS for each in found) / len(found)


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.option("--pages", type=PROCESSES, default=10, show_default=True, help="How many pages.")
@click.option("--ships", type=COUNT, default=2_000, show_default=True, help="How many ships.")
@click.option("--rate", type=Above0(), default=50.0, show_default=True, help="Changes a second.")
@click.option("--seconds", type=Above0(), default=600.0, show_default=True, help="How long changes are made.")
def main(pages: int, ships: int, rate: float, seconds: float) -> None:
    """Run the command."""
    try:
        found = measure(pages, ships, rate, seconds)
    except KeyboardInterrupt:
        click.echo("interrupted; what was measured until then is lost with the pages", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    click.echo(
        f"{pages} pages, {ships:,} ships, {rate:g} changes a second for {seconds:g} s,"
        f" {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; day of {DAY}\n"
        f"read by a page:  {_said(found.read)}\n"
        f"drawn by a page: {_said(found.drawn)} (at least {WANTED:.0%} within {SOON_MS:g} ms wanted)\n"
        f"memory of the server: {found.server_mb:.0f} MB (less than {MOST_MB:g} MB wanted)"
    )
    if _soon(found.drawn) < WANTED or found.server_mb >= MOST_MB:
        raise click.exceptions.Exit(1)


if __name__ == "__main__":
    run(main)
