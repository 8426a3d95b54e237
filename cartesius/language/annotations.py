"""Annotations of a restriction's fields: which hold slots, durations or functions. Read as text or as objects."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable

from cartesius.language.families import ABSENT, Duration, Durations, Instant, Slot, Slots

_NAMES = {"Slot": "slot", "Slots": "slots", "Duration": "duration", "Durations": "durations", "Instant": "instant"}
_KINDS: dict[object, str] = {
    Slot: "slot",
    Slots: "slots",
    Duration: "duration",
    Durations: "durations",
    Instant: "instant",
}


def is_absent(annotation: object) -> bool:
    """Whether a field of that annotation names slots that never have a part: ``Absent[Slot]``, ``Absent[Slots]``."""
    if isinstance(annotation, str):
        return re.match(r"(\w+\.)*Absent\[", annotation) is not None
    return ABSENT in getattr(annotation, "__metadata__", ())


def kind_of(annotation: object) -> str:
    """Return what a field of that annotation holds: slot, slots, duration, durations, instant, function, or plain."""
    if isinstance(annotation, str):
        text = annotation.removeprefix("typing.").removeprefix("collections.abc.")
        text = text.partition("[")[2].removesuffix("]") if is_absent(text) else text
        if text.startswith("Callable") and not text.endswith("None"):
            return "function"
        text = text.removesuffix(" | None")
        return _NAMES.get(text.rsplit(".", 1)[-1], "plain")
    if is_absent(annotation):
        return kind_of(annotation.__origin__)  # type: ignore[attr-defined]  # it is annotated
    if isinstance(annotation, types.UnionType):
        return next((_KINDS[kind] for kind in (Duration, Instant) if kind in annotation.__args__), "plain")
    if annotation in (Callable, typing.Callable) or typing.get_origin(annotation) is Callable:
        return "function"
    try:
        return _KINDS.get(annotation, "plain")
    except TypeError:
        return "plain"
