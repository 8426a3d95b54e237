"""What is said of a step, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.data.events import EARLIEST, LATEST
from cartesius.errors import shortened

if TYPE_CHECKING:
    from cartesius.data.calendars import Calendar
    from cartesius.data.events import Time
    from cartesius.results.recorded_calls import Call
    from cartesius.show.replays import Replay
    from cartesius.show.show_steps import Place, Stay, Step


def call_text(call: Call | None, calendar: Calendar) -> str:
    """Say what was done, and when, as times came."""
    if call is None:
        return "Nothing has come yet."
    if call.event is not None:
        event = call.event
        time = calendar.text(event.start, event.end)
        return f"{event.reactive} {shortened(repr(event.value))} comes, at {time}."
    if call.kind == "advance":
        return f"The clock is advanced to {calendar.text(call.time)}."
    return f"The input {call.ended} ends." if call.kind == "end" else "All inputs end."


def clock_text(time: Time, calendar: Calendar) -> str:
    """Show a time of the clock."""
    return {EARLIEST: "not set", LATEST: "past everything"}.get(time) or calendar.text(time)


def place_name(place: Place) -> str:
    """Say what a place of a slot is."""
    return {"memory": "memory", "door": "queue at the door"}.get(place.kind) or f"held by {place.gate}"


def departures(replay: Replay, number: int) -> list[tuple[Stay, str]]:
    """Return what left memories and queues in a step, and why."""
    found = []
    for stay in replay.went[number]:
        notes = replay.provenance.records[stay.key].left
        said = [note for note, call in notes.items() if call == number and note.startswith(f"{stay.place.slot}: ")]
        is_on = any(other.since == number and other is not stay for other in replay.stays_of[stay.key])
        why = said[-1].partition(": ")[2] if said else "it went on" if is_on else ""
        found.append((stay, why))
    return found


def why_nothing(replay: Replay, step: Step) -> list[str]:
    """Say why an event that was pushed has given no result: what became of it, and what it could have met."""
    key = replay.pushed(step.number)
    event = replay.provenance.calls[step.number - 1].event
    found = replay.whereabouts(key, step.number) or ["is nowhere: no slot takes it, or what it changed is as before"]
    for join, slot in replay.bound.get("" if event is None else event.reactive, ()):
        for other in join.slots:
            place = next(p for p in replay.stays if p[:3] == (join.name, other.name, "memory"))
            present = len(replay.present(place, step.number))
            if other is not slot and not present:
                found.append(f"in {join.name} there is nothing in the memory of {other.name} to meet")
            elif other is not slot and any(" is in the memory" in f" {one}" for one in found):
                found.append(f"in {join.name} none of the {present} in the memory of {other.name} goes with it")
    return list(dict.fromkeys(found))
