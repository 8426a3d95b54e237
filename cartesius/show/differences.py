"""Differences: what a changed program gives and the program as written does not, and the other way round, with reasons.

Here is also what is said of a step, in words.

Source: SEMANTICS 1.9 (results are equal by output, value, time and weight).
"""

from __future__ import annotations

from collections import defaultdict, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from cartesius.data.events import EARLIEST, LATEST
from cartesius.equivalence.equalities import form_of
from cartesius.errors import as_text, shortened
from cartesius.results.unchanged_values import is_equal

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from cartesius.data.calendars import Calendar
    from cartesius.data.events import Time
    from cartesius.results.recorded_calls import Call
    from cartesius.show.replays import Replay
    from cartesius.show.show_steps import Given, Place, Stay, Step

    # A result as it is looked for: values of one text are equal, and others may be.
    _Result: TypeAlias = tuple[int, Time, Time, int, str]
    _Places: TypeAlias = dict[_Result, dict[int, deque[int]]]


def call_text(call: Call | None, calendar: Calendar) -> str:
    """Say what was done, and when, as times came."""
    if call is None:
        return "Nothing has come yet."
    if call.event is not None:
        event = call.event
        time = calendar.text(event.start, event.end)
        return f"{event.reactive} {shortened(as_text(event.value))} comes, at {time}."
    if call.kind == "advance":
        return f"The clock is advanced to {calendar.text(call.time)}."
    return f"The input {call.ended} ends." if call.kind == "end" else "All inputs end."


def clock_text(time: Time, calendar: Calendar) -> str:
    """Show a time of the clock."""
    return {EARLIEST: "not set", LATEST: "past everything"}.get(time) or calendar.text(time)


def failure_text(written: Replay, changed: Replay | None, calls: int) -> str:
    """Say at which of its calls a program fails that is made again, so that no step after it is shown."""
    found = []
    for replay, made in ((changed, "Without what is left out"), (written, "Made again")):
        if replay is not None and replay.failure:
            n = len(replay.steps)
            found.append(f"{made}, call {n} of {calls} fails, so the steps end before it: {replay.failure}")
    return "\n".join(found)


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


@attrs.frozen
class Difference:
    """A result that one of two programs gives, or gives at another step.

    Args:
        kind: ``"new"``: only the changed program gives it; ``"gone"``: only the one as written; ``"moved"``: both do.
        step: In which step the changed program gives it; of what is gone, the other one.
        given: The result there.
        written: Of what has moved, in which step the program as written gives it.
        reasons: What had become, in the program that does not give it, of the events that it is made of.
    """

    kind: Literal["new", "gone", "moved"]
    step: int
    given: Given
    written: int | None = None
    reasons: tuple[str, ...] = ()


def compared(written: Replay, changed: Replay) -> list[Difference]:
    """Return the differences between two replays of one recording, by step; as far as both have come."""
    most = min(len(written.steps), len(changed.steps))
    values: dict[_Result, Any] = {}
    there, here = _given(written, most, values), _given(changed, most, values)
    _join_equals(there, here, values)
    found = []
    for same in {**there, **here}:
        old, new = there.get(same, {}), here.get(same, {})
        for step in old.keys() & new.keys():
            for _ in range(min(len(old[step]), len(new[step]))):
                old[step].popleft()
                new[step].popleft()
        was = deque(sorted((step, one) for step, given in old.items() for one in given))
        for step, place in sorted((step, one) for step, given in new.items() for one in given):
            given = changed.steps[step].given[place]
            if was:
                found.append(Difference("moved", step, given, written=was.popleft()[0]))
            else:
                found.append(Difference("new", step, given, reasons=_reasons(changed, given, written, step)))
        for step, place in was:
            given = written.steps[step].given[place]
            found.append(Difference("gone", step, given, reasons=_reasons(written, given, changed, step)))
    return sorted(found, key=lambda one: (one.step, one.given.output, one.kind))


def _given(replay: Replay, most: int, values: dict[_Result, Any]) -> _Places:
    """Return, of each result, in which steps it is given, and where there; and note its value."""
    found: _Places = {}
    for step in replay.steps[:most]:
        for place, given in enumerate(step.given):
            event = given.event
            same = given.output, event.start, event.end, event.weight, as_text(event.value)
            values.setdefault(same, event.value)
            found.setdefault(same, defaultdict(deque))[step.number].append(place)
    return found


def _join_equals(there: _Places, here: _Places, values: Mapping[_Result, Any]) -> None:
    """Let results of equal values be one, where their texts differ, as those of objects that have none."""
    known: defaultdict[Any, list[_Result]] = defaultdict(list)
    for found, other in (there, here), (here, there):
        for result in [one for one in found if one not in other]:
            with suppress(Exception):  # users' objects may raise whatever they are asked: they are taken by their text
                try:
                    form: Hashable = hash(values[result])  # it tells more of them apart
                except (TypeError, ValueError):
                    form = form_of(values[result])
                alike = known[*result[:-1], form]
                same = next((one for one in alike if is_equal(values[one], values[result])), None)
                if same is None:
                    alike.append(result)
                    continue
                for step, given in found.pop(result).items():
                    found.setdefault(same, defaultdict(deque))[step] += given


def _reasons(giving: Replay, given: Given, other: Replay, step: int) -> tuple[str, ...]:
    """Say what had become of the parts of a result where it is not given."""
    found = []
    for pushed in giving.origins(given.key).values():
        key = other.pushed(pushed)
        became = other.whereabouts(key, step) or ["is nowhere: no slot takes it"]
        found.append(f"{shortened(other.provenance.text(other.provenance.records[key]))} {', and '.join(became)}")
    if found and all(" is in the memory of " in one for one in found):
        found.append("all its parts are in memory: a condition, or a choice, did not take them together")
    return tuple(found)
