"""The experiment ``strategies``: nine restrictions of one product on input that is late, bursty and skewed.

All pair readings with settings of the same key. Which pairs are true is known, as the input was made in order first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from examples.experiments.comparing import SCHEMA, compare, summary
from examples.experiments.efforts import Effort
from examples.experiments.figures import compared
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

SIZES: Final = {
    Effort.quick: (60, 120),
    Effort.normal: (500, 1_000, 2_000),
    Effort.full: (1_000, 2_000, 4_000, 8_000),
}
PREDICTED_EVERY: Final = 360  # seconds, at each gauge
EXACT: Final = ("reordered", "versioned")
"""Those that have to be right about everything, as nothing is later than they wait or keep versions for."""
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
## Strategies: one join, nine restrictions, late events

A reading needs the setting that was in force when it was taken: a ship's report needs the tide that was predicted for
that time, at the gauge nearest to it. All nine strategies pair readings with settings of the same key (the gauge). They
differ in the restriction alone:

{_listed()}

The events come up to {LATEST} seconds late, one in eight by more than half of that, and in bursts, as from a ship that
comes into range again; and a few keys have most of them. Which pairs are *true* is known all the same: the input was
made in order, and delayed afterwards. So a strategy can be marked.

| column | meaning |
| --- | --- |
| right, missed, wrong | true pairs that are there in the end; true ones that are not; pairs there that are not true |
| given, taken back | results given; results corrected later |
| candidates | pairs that were looked at |
| in memory, waiting | events remembered, and events held back at a gate |
| delay | seconds of event time that had passed beyond a result's own time when it was given |
""")
    sizes = SIZES[effort]
    sheet.plan(2 * len(sizes) * len(MEANT) * repetitions)
    found: dict[str, dict[str, dict[str, Any]]] = {}
    inexact: set[str] = set()
    for workload, what, span in (
        (late_settings, "made up: a setting for three readings, twelve keys, an event a second", LATEST),
        (
            ships_and_tides,
            "the ships of New York harbour, and predictions of the tide every six minutes",
            PREDICTED_EVERY,
        ),
    ):
        name = workload.name.replace(" ", "-")
        runs = sheet.rows(name)
        compare(
            strategies(span), [workload], sizes, repetitions=repetitions, seed=seed, told=sheet.told, found=runs,
            clock=sheet.clock,
        )  # fmt: skip
        lines = summary(pa.Table.from_pylist(runs, SCHEMA))
        rows = [line for line in lines if line["size"] == sizes[-1]]
        sheet.say(f"### {workload.name.capitalize()}")
        events = f"{rows[0]['events']:,.0f} events"
        sheet.say(f"{what[0].upper()}{what[1:]}; {events}. The band and the windows are {span} s wide."
                  " Of runs with a seed of their own each, means of counts and medians of other columns.")  # fmt: skip
        sheet.table(map(_line, rows), *_COLUMNS)
        found[workload.name] = {row["strategy"]: row for row in rows}
        wrong = {run["strategy"] for run in runs if run["missed"] or run["wrong"]}
        inexact |= wrong
        for strategy in EXACT:
            sheet.check(f"{strategy} is not right about everything on {workload.name}", holds=strategy not in wrong)
        sheet.picture(name, compared(rows, "s"), f"What each strategy gives, holds and delays on {workload.name}",
                      _seen(rows))  # fmt: skip
        sheet.say(f"How it grows, with {', '.join(f'{size:,}' for size in sizes)} events:")
        sheet.table(
            [
                [name, *_of(lines, name, "held_max"), *_of(lines, name, "events_per_second")]
                for name in MEANT
            ],
            "strategy", *(f"held of {size:,}" for size in sizes), *(f"events/s, {size:,}" for size in sizes),
        )  # fmt: skip
        sheet.data(name)
    sheet.say(_concluded(found, [name for name in MEANT if name not in inexact]))


def _concluded(found: Mapping[str, Mapping[str, Mapping[str, Any]]], exact: Sequence[str]) -> str:
    """Say what one sees.

    Args:
        found: By workload and strategy the numbers of the largest size.
        exact: The strategies that missed nothing, and gave nothing wrong, in any run.
    """

    def of(strategy: str, numbers: str) -> str:
        every = (f"{name}: {numbers.format_map(lines[strategy])}" for name, lines in found.items())
        return f"({'; '.join(every)})"

    missed, held = "{missed:,.0f} missed", "{held_max:,.0f} held"
    return f"""
### What to make of it

- Right about everything, in all runs: {", ".join(f"*{name}*" for name in exact) or "none"}. *Reordered* and *versioned*
  are, on any input that is no later than they are told. *Reordered* pays in delay, as each result waits until nothing
  can come before it any more {of("reordered", "{delay_mean:.3g} s on average")}; *versioned* in memory and in
  corrections, as it answers at once {of("versioned", held + ", {corrections:,.0f} taken back")}.
- A *lookup* keeps the newest setting of each key alone {of("lookup", held)}, and is wrong as often as a setting is
  overtaken by a reading {of("lookup", "{wrong:,.0f} of {results:,.0f} results")}.
- *Affine* {of("affine", missed)} and *zip* {of("zip", missed)} use each setting once, so they miss every further
  reading that needs it. They are for pairs, such as an order and its payment.
- *Band* {of("band", missed + ", {wrong:,.0f} wrong")} and *windowed* {of("windowed", missed + ", {wrong:,.0f} wrong")}
  pair what is close in time, which is not the same as being in force.
- What is held tells how a strategy ends that runs for years. *Cartesian* {of("cartesian", held)} forgets nothing,
  *affine* {of("affine", held)} and *zip* {of("zip", held)} nothing that has not been used: these three have no bound.
  The others forget what is old, or all but the newest of a key; in a short run that may be little.
"""


def _listed() -> str:
    return "\n".join(
        ["| strategy | pairs |", "| --- | --- |", *(f"| {name} | {meant} |" for name, meant in MEANT.items())]
    )


def _of(lines: Sequence[Mapping[str, Any]], strategy: str, column: str) -> list[Any]:
    """Return a column of a strategy, size by size."""
    return [line[column] for line in lines if line["strategy"] == strategy]


def _seen(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what the picture shows, of the numbers that it shows."""
    of = {row["strategy"]: row for row in rows}
    true = of["versioned"]["right"] + of["versioned"]["missed"]
    lookup = of["lookup"]
    return (
        "Left: a bar without orange and grey is a strategy that is right. Orange beyond “all” is results that are not"
        " true; where the bar is cut it says how many. Middle: how many events it"
        " held at most. Right: how long its results took. "
        f"Of {true:,.0f} true pairs, reordered gives {of['reordered']['right']:,.0f}, after"
        f" {of['reordered']['delay_mean']:.3g} s on average; versioned gives {of['versioned']['right']:,.0f}, after"
        f" {of['versioned']['delay_mean']:.3g} s, and takes {of['versioned']['corrections']:,.0f} results back; the"
        f" lookup gives {lookup['right']:,.0f}, and {lookup['wrong']:,.0f} that are wrong."
    )


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
