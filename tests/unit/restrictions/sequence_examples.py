"""What tests of sequences share: programs over letters."""

from __future__ import annotations

from typing import Any, NamedTuple

from cartesius import Engine, Reactive, correlate
from restrictions import (
    in_sequence,
)


class Reading(NamedTuple):
    name: str
    size: int = 0
    key: int = 0

    def __str__(self) -> str:
        return self.name


def joined(**parts: Any) -> str:
    return " ".join(str(part) for part in parts.values())


BODIES: dict[int, Any] = {
    2: lambda a, b: joined(a=a, b=b),
    3: lambda a, b, c: joined(a=a, b=b, c=c),
}


class Program:
    """Slots a, b and perhaps c, each of a reactive of its own; an event's slot is the first letter of its name."""

    def __init__(self, restrict: Any, *, slots: str = "ab", where: Any = None, **options: Any) -> None:
        self.inputs = {name: Reactive(name, type=Reading) for name in slots}
        self.output = correlate(
            slots=self.inputs, where=where, yields=BODIES[len(slots)], restrict=restrict, name="out"
        )
        self.engine = Engine(self.output, **options)
        self.time = 0

    def push(self, name: str, at: Any = None, *, size: int = 0, key: int = 0) -> list[str]:
        self.time = self.time + 1 if at is None else at
        return texts(self.engine.push(self.inputs[name[0]], Reading(name, size, key), at=self.time))

    def pushes(self, names: str) -> list[str]:
        return [text for name in names.split() for text in self.push(name)]


def texts(events):
    return [event.value if event.weight == 1 else f"-{event.value}" for event in events]


def found(names: str, slots: str = "ab", **options: Any) -> list[str]:
    """What comes of a trace, one time unit apart."""
    return Program(in_sequence(*slots, **options), slots=slots).pushes(names)
