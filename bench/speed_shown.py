"""How the speed figures are shown: the bounds first, then the rates of every side, the programs, and the rest."""

from __future__ import annotations

import platform
from importlib.metadata import version
from os import cpu_count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from bench.figures import (
    BY_HAND,
    CODED,
    COMPILED,
    IN_PLACE,
    IN_PLACE_TOO,
    NUMPY,
    POLARS,
    REFERENCE,
    RX,
    RX_PUSHED,
    as_data,
    figures,
)
from bench.growth import BY_HAND_PUSHED
from bench.sheets import Sheet, rate, verdict

if TYPE_CHECKING:
    from bench.figures import Figure
    from bench.growth import Grown
    from bench.orientation import Fact
    from bench.profiles import Profile
    from bench.speed import Measured
    from bench.timing import Runs

_ORDER: Final = (COMPILED, RX, BY_HAND, NUMPY, CODED, POLARS, IN_PLACE, RX_PUSHED, IN_PLACE_TOO, REFERENCE)
_COLUMNS: Final = (COMPILED, BY_HAND, IN_PLACE, BY_HAND_PUSHED)


@attrs.define
class Report:
    """What was measured so far."""

    repetitions: int
    clock: str
    speed: list[Measured] = attrs.field(factory=list)
    programs: list[Grown] = attrs.field(factory=list)
    facts: list[Fact] = attrs.field(factory=list)
    profiles: list[Profile] = attrs.field(factory=list)

    @property
    def figures(self) -> list[Figure]:
        """All figures with a bound."""
        found = figures({one.workload: one.runs for one in self.speed})
        return found + [figure for grown in self.programs for figure in grown.figures]

    def sheets(self) -> list[Sheet]:
        """Return the tables that there is something for."""
        every = (
            self._of_figures(),
            self._of_rates(),
            self._of_reasons(),
            self._of_programs(),
            self._of_facts(),
            self._of_profiles(),
        )
        return [sheet for sheet in every if sheet.rows]

    def as_markdown(self) -> str:
        """Return all as a part of a page."""
        parts = [f"Measured on {machine()}.", *(sheet.as_markdown() for sheet in self.sheets())]
        return "\n\n".join(parts)

    def as_data(self) -> dict[str, Any]:
        """Return all as plain data."""
        return {
            "machine": machine(),
            "repetitions": self.repetitions,
            "clock": self.clock,
            "figures": [as_data(figure) for figure in self.figures],
            "speed": [attrs.asdict(one) for one in self.speed],
            "programs": [attrs.asdict(one) for one in self.programs],
            "profiles": [attrs.asdict(one) for one in self.profiles],
            "facts": [{**attrs.asdict(fact), "is_kept": fact.is_kept} for fact in self.facts],
        }

    def _of_figures(self) -> Sheet:
        rows, last = [], ""
        for each in self.figures:
            low, high = each.spread
            aim = "" if each.aim is None else f"; aim {each.aim:g}"
            shown = "" if each.figure == last else each.figure
            last = each.figure
            least, spread = f"{each.least:g}{aim}", f"{low:.2f} to {high:.2f}"
            rows.append((shown, each.workload, least, f"{each.ratio:.2f}", spread, verdict(each.is_kept)))
        header = ("figure", "on", "at least", "measured", "spread", "ok?")
        return Sheet(f"Ratios of events a second, medians of {self.repetitions}", header, tuple(rows), left=2)

    def _of_rates(self) -> Sheet:
        rows = []
        for one in self.speed:
            for place, name in enumerate(name for name in _ORDER if name in one.runs):
                runs = one.runs[name]
                note = ("compiled" if one.how == "compiled" else "row by row") if name == COMPILED else ""
                cells = (f"{runs.n:,}", f"{runs.results:,}", rate(runs.rates), note)
                rows.append(("" if place else one.workload, name, *cells))
        header = ("workload", "side", "events", "results", "events/s", "computed")
        return Sheet(f"Events a second, medians of {self.repetitions} ± half the range", header, tuple(rows), left=2)

    def _of_reasons(self) -> Sheet:
        every = (*((one.workload, one.how) for one in self.speed), *((one.program, one.how) for one in self.programs))
        rows = tuple((label, how) for label, how in every if how != "compiled")
        return Sheet("Why batches are pushed row by row", ("workload", "because"), rows, left=2)

    def _of_programs(self) -> Sheet:
        rows = []
        for one in self.programs:
            for n, runs in one.at.items():
                cells = [_cell(runs.get(name)) for name in _COLUMNS]
                rows.append((one.program, f"{n:,}", *cells))
        header = ("program", "rows a table", *_COLUMNS)
        return Sheet("The thesis's programs: updates a second ± half the range", header, tuple(rows))

    def _of_facts(self) -> Sheet:
        rows = tuple(
            (
                each.name,
                f"{each.value:,.0f} {each.unit}",
                "" if each.most is None else f"≤ {each.most:,.0f}",
                "" if each.most is None else verdict(each.is_kept),
                each.note,
            )
            for each in self.facts
        )
        return Sheet("Memory and start-up", ("", "measured", "bound", "ok?", "note"), rows)

    def _of_profiles(self) -> Sheet:
        rows = tuple(
            ("" if place else f"{one.workload}: {one.side}", f"{spent.own:.0%}", f"{spent.inside:.0%}", spent.function)
            for one in self.profiles
            for place, spent in enumerate(one.spent)
        )
        header = ("too slow", "own", "with calls", "function")
        return Sheet("Where the time goes, of the bounds that are not kept", header, rows)


def _cell(runs: Runs | None) -> str:
    return "" if runs is None else rate(runs.rates)


def machine() -> str:
    """Return what it was measured on."""
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.exists() else ""
    models = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pyarrow", "reactivex", "greenlet"))
    processor = models[0] if models else platform.machine()
    return f"{cpu_count()} cores ({processor}), {platform.system()}, Python {platform.python_version()}, {packages}"
