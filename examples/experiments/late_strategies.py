"""The experiment ``strategies``: nine restrictions of one product on input that is late, bursty and skewed.

All pair readings with settings of the same key. Which pairs are true is known, as the input was made in order first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from matplotlib.figure import Figure

from examples.experiments.comparing import compare, summary
from examples.experiments.efforts import Effort
from examples.experiments.settings_workloads import LATEST, late_settings, pairing, ships_and_tides
from restrictions import (
    affinely,
    aligning,
    fifo,
    in_event_time,
    key_by,
    momentarily,
    most_recently,
    retracting,
    tumbling,
    versioned,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from examples.experiments.comparing import Strategy
    from examples.experiments.sheets import Sheet

SIZES: Final = {Effort.quick: (120,), Effort.normal: (2_000, 4_000), Effort.full: (8_000, 8_000)}
PREDICTED_EVERY: Final = 360  # seconds, at each gauge
MEANT: Final = {
    "cartesian": "every reading with every setting of its key",
    "latest": "the newest of each, whenever either comes",
    "lookup": "a reading, when it comes, with the newest setting that has come",
    "affine": "each reading and each setting once, newest first",
    "zip": "each once, first come, first served",
    "band": "those whose times are at most one span apart",
    "windowed": "those that fall into the same span",
    "reordered": "the lookup, behind a gate that waits until all have come and lets go in order of time",
    "versioned": "at once, with the setting in force at the reading's time; corrected when a late one changes that",
}


def strategies(span: int) -> dict[str, Strategy]:
    """Return the strategies; ``span`` is that of the band and of the windows, in time units."""
    by_key = key_by(reading="key", setting="key")
    lookup = momentarily("reading") | most_recently("setting")
    once = affinely("reading", "setting")
    return {
        "cartesian": pairing(None),
        "latest": pairing(by_key | most_recently("reading", "setting")),
        "lookup": pairing(by_key | lookup),
        "affine": pairing(by_key | once),
        "zip": pairing(by_key | once | aligning("reading", "setting") | fifo()),
        "band": pairing(within(span, "reading", "setting")),
        "windowed": pairing(tumbling(span)),
        "reordered": pairing(by_key | lookup | in_event_time(LATEST)),
        "versioned": pairing(retracting() | by_key | versioned("setting", retention=0)),
    }


def run(sheet: Sheet, effort: Effort, seed: int, repetitions: int) -> None:
    """Measure, and write the page."""
    sheet.say(f"""
## Strategies: one join, nine restrictions

Readings need the setting that was in force when they were taken: a ship's report the prediction of the tide at the
nearest gauge. The events come up to {LATEST} seconds late, one in eight by more than half of that, and in bursts, as
from a ship that comes into range again. Which pairs are *true* is known: the input was made in order, and delayed
afterwards.
""")
    sheet.table(MEANT.items(), "strategy", "pairs")
    small, large = (*SIZES[effort], *SIZES[effort])[:2]
    for workload, size, span in ((late_settings, small, LATEST), (ships_and_tides, large, PREDICTED_EVERY)):
        table = compare(strategies(span), [workload], [size], repetitions=repetitions, seed=seed, told=sheet.told)
        rows = summary(table)
        sheet.say(f"### {workload.name.capitalize()}: {size:,} events, the band and the windows {span} s wide")
        sheet.table(map(_line, rows), *_COLUMNS)
        sheet.picture(workload.name.replace(" ", "-"), _figure(rows), f"What each strategy gives on {workload.name}")
        sheet.data(workload.name.replace(" ", "-"), table)
    sheet.say("""
How to read it. *Missed* are true pairs that are not there in the end, *wrong* are pairs that are there and not true,
*taken back* are results corrected later. *Delay* is how far the clock had gone beyond a result's own time when it was
given: what is late cannot be used earlier, and a gate adds its waiting to it. Two of the nine are right about
everything, and they pay in different coin: the gate in delay, versions in memory and corrections. A lookup is the
cheapest, and wrong as often as a setting overtakes a reading. Where settings are few and long in force, as tides are,
that is seldom.
""")


_COLUMNS: Final = (
    "strategy", "right", "missed", "wrong", "given", "taken back", "candidates", "in memory, mean", "most",
    "waiting, most", "delay, mean (s)", "most", "events/s",
)  # fmt: skip


def _line(row: Mapping[str, Any]) -> list[Any]:
    names = (
        "right", "missed", "wrong", "results", "corrections", "candidates", "retained_mean", "retained_max",
        "waiting_max", "delay_mean", "delay_max", "events_per_second",
    )  # fmt: skip
    return [row["strategy"], *(row[name] for name in names)]


def _figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Return what is right and wrong, what is held, and how late answers are, a line a strategy."""
    figure = Figure(figsize=(11, 4.2), dpi=110, layout="constrained")
    names = [row["strategy"] for row in rows]
    answers, held, late = figure.subplots(1, 3, sharey=True)
    true = max(row["right"] + row["missed"] for row in rows)
    right, missed, wrong = ([row[name] / true for row in rows] for name in ("right", "missed", "wrong"))
    answers.barh(names, right, color="#5aa469", label="right")
    answers.barh(names, missed, left=right, color="#d9d9d9", label="missed")
    answers.barh(names, [min(one, 1.5) for one in wrong], left=1, color="#c8453b", label="wrong (cut at 1.5)")
    answers.set_title("answers, as shares of the true ones", fontsize=10)
    answers.legend(fontsize=8, loc="lower right")
    answers.invert_yaxis()
    memory = [row["retained_max"] + row["waiting_max"] for row in rows]
    held.barh(names, memory, color="#1f3b57")
    held.set_xscale("log")
    held.set_title("most events held (log)", fontsize=10)
    late.barh(names, [row["delay_mean"] or 0 for row in rows], color="#8a6d3b")
    late.set_title("delay of results, mean (s)", fontsize=10)
    return figure
