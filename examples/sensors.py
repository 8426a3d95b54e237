"""Sensors of a building, with what is missing filled in: a pipeline whose types say which order matters, and where.

    HUB ─unordered→ JFM ─unordered→ SORT ─ordered per sensor→ LI ─ordered per sensor→ SINK

The hub sends the measurements of all sensors as they happen to come, and every ten seconds a marker: what is older has
been sent. JFM joins each with where its sensor is, keeps those near a window and forgets the rest; SORT puts what came
between two markers into the order of its times, sensor by sensor; LI fills in the seconds between two measurements of a
sensor, by linear interpolation. LI behind JFM would interpolate between whatever came one after the other: the types
refuse it.

    python -m examples.sensors

Source: SOURCES E3 (Mamouras et al., PLDI 2019, doi:10.1145/3314221.3314580, sensor interpolation).
"""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from cartesius import Engine, Reactive, unordered
from cartesius.errors import OrderMismatch
from dsl.command_lines import run
from restrictions.operators import BAG, Keyed, in_order_per_key, operate, per_item, unordered_per_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PERIOD = 10  # seconds between two markers
NEAR_WINDOW = {"a": True, "b": False, "c": True}


class join_filter_map(per_item):
    """JFM: of sensors near a window, (time, value) under the name of the sensor."""

    def on_item(self, key: None, value: dict[str, Any]) -> Iterator[Keyed]:
        """Look the sensor up."""
        if NEAR_WINDOW.get(value["id"], False):
            yield Keyed(value["id"], (value["ts"], value["value"]))


class sort(unordered_per_key):
    """SORT: what came of a sensor between two markers, by time."""

    monoid = BAG

    def on_marker(self, state: tuple[Any, ...], key: str, marker: int) -> Iterable[Any]:
        """Give the bag, which is sorted."""
        return state


class linear_interpolation(in_order_per_key):
    """LI: a value for each second since the measurement before."""

    def on_item(self, state: Any, key: str, value: tuple[int, float]) -> tuple[Any, Iterable[Any]]:
        """Fill in what is missing since the last one."""
        if state is None:
            return value, [value]
        (before, first), (now, last) = state, value
        steps = range(before + 1, now + 1)
        return value, [(second, first + (last - first) * (second - before) / (now - before)) for second in steps]


HUB = Reactive("hub", order=unordered())
NEAR = operate(HUB, join_filter_map("x"), name="jfm")
SORTED = operate(NEAR, sort("x", every=PERIOD), name="sort")
SINK = operate(SORTED, linear_interpolation("x"), name="li")


def measurements(seed: int, seconds: int = 40) -> list[list[dict[str, Any]]]:
    """Return measurements of all sensors, marker by marker, in the order in which a hub may send them."""
    chosen = random.Random(seed)
    sent = []
    for start in range(0, seconds, PERIOD):
        times = [(name, second) for second in range(start, start + PERIOD) for name in NEAR_WINDOW]
        span = [
            {"id": name, "ts": second, "value": float(20 + (second * len(name) + ord(name)) % 7)}
            for name, second in times
            if (second + ord(name)) % 3 == 0  # two of three are missing
        ]
        chosen.shuffle(span)
        sent.append(span)
    return sent


def filled_in(sent: list[list[dict[str, Any]]]) -> dict[str, list[tuple[int, float]]]:
    """Run the pipeline; return what the sink has of each sensor, in order."""
    engine = Engine(SINK)
    found: dict[str, list[tuple[int, float]]] = {}
    for number, span in enumerate(sent, 1):
        events = [event for one in span for event in engine.push(HUB, Keyed(None, one), at=one["ts"])]
        for event in [*events, *engine.advance(number * PERIOD)]:
            found.setdefault(event.value.key, []).append(event.value.value)
    return found


@click.command()
def main() -> None:
    """Show the types, what they refuse, and that the order of the hub does not matter."""
    for reactive in (HUB, NEAR, SORTED, SINK):
        print(f"{reactive.name:<5} {reactive.order}")
    try:
        operate(NEAR, linear_interpolation("x"), name="li behind jfm")
    except OrderMismatch as error:
        print(f"\n{error}\n")
    runs = [filled_in(measurements(seed)) for seed in range(20)]
    same = all(run == runs[0] for run in runs)
    print(
        f"20 orders of the hub: {'one output' if same else 'different outputs'};"
        f" sensor a: {[(second, round(value, 1)) for second, value in runs[0]['a'][:5]]} …"
    )


if __name__ == "__main__":
    run(partial(main, prog_name="python -m examples.sensors"))
