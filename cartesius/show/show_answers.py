"""What the page asks, as plain data in and out: a trace step by step, with all restrictions or without some.

A replay is made when it is first asked for, and the last few are kept; the page gets what one step needs, never a whole
trace. So a trace of `MOST_CALLS` steps is as quick to step through as a short one.
"""

from __future__ import annotations

import inspect
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.drawing.markup import all_visible
from cartesius.errors import CartesiusError, InvalidArgument, shortened
from cartesius.show.differences import (
    call_text,
    clock_text,
    compared,
    departures,
    failure_text,
    place_name,
    why_nothing,
)
from cartesius.show.marble_lanes import drawn
from cartesius.show.rebuilding import Rebuilding
from cartesius.show.recordings import MOST_CALLS
from cartesius.show.replays import Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.show.differences import Difference
    from cartesius.show.rebuilding import Switch
    from cartesius.show.recordings import Recording
    from cartesius.show.show_steps import Given

Json = dict[str, Any]
MOST_ENTRIES: Final = 50
"""How many events of one place are listed (the newest), and results of one step (the first); others are counted."""
MOST_DIFFERENCES: Final = 100
MOST_KEPT: Final = 6
"""How many replays are kept."""
MOST_PARTS: Final = 20
_PLAIN: Final = " Never suspends."
"""What the first sentences of our own restrictions end with, which is for who writes one."""


@attrs.frozen
class Shown:
    """A recording made again, without some of its restrictions.

    Args:
        switches: All its restrictions.
        written: With all of them.
        changed: Without some, if there are such, and what is left fits together.
        refusal: Why it does not.
        found: What the one gives and the other does not.
    """

    switches: list[Switch]
    written: Replay
    changed: Replay | None
    refusal: str
    found: list[Difference]

    @property
    def main(self) -> Replay:
        """The one that the page steps through."""
        return self.changed or self.written


class Answers:
    """Answers the questions of one page.

    Args:
        recordings: What can be shown.
        chosen: Which one is shown first.
        title: What the page is called.
    """

    def __init__(self, recordings: Sequence[Recording], chosen: int, title: str) -> None:
        self._recordings = recordings
        self._chosen = chosen
        self._title = title
        self._replayed = lru_cache(maxsize=MOST_KEPT)(self._made)

    @property
    def questions(self) -> Mapping[str, Callable[[Json], Json]]:
        """The questions, by name."""
        known = {"runs": self.runs, "open": self.open, "step": self.step, "why": self.why}
        return {name: partial(_told, ask) for name, ask in known.items()}

    def runs(self, _: Json) -> Json:
        """Return what can be shown."""
        runs = [{"title": one.title, "calls": len(one.calls)} for one in self._recordings]
        return {"title": self._title, "runs": runs, "chosen": self._chosen}

    def open(self, draft: Json) -> Json:
        """Return what is said of a whole trace: its restrictions, how long it is, and what differs."""
        shown = self._shown(draft)
        recording = self._recordings[draft["run"]]
        off = set(_numbers(draft))
        main = shown.main
        ids = _Ids(shown)
        kinds = {kind: sum(one.kind == kind for one in shown.found) for kind in ("new", "gone", "moved")}
        return {
            "title": recording.title,
            "steps": len(main.steps) - 1,
            "calls": len(recording.calls),
            "most": MOST_CALLS,
            "refusal": shown.refusal,
            "failure": failure_text(shown.written, shown.changed, len(recording.calls)),
            "switches": [
                {
                    "number": one.number,
                    "correlation": one.correlation,
                    "text": repr(one.restriction),
                    "said": (inspect.getdoc(type(one.restriction)) or "").partition("\n")[0].removesuffix(_PLAIN),
                    "on": one.number not in off,
                }
                for one in shown.switches
            ],
            "counts": kinds if shown.changed else None,
            "differences": [
                {
                    "kind": one.kind,
                    "step": one.step,
                    "written": one.written,
                    "reasons": list(one.reasons),
                    **ids.given(one.given, one.kind == "gone"),
                }
                for one in shown.found[:MOST_DIFFERENCES]
            ],
        }

    def step(self, draft: Json) -> Json:
        """Return what there is to see after one step."""
        shown = self._shown(draft)
        main, ids = shown.main, _Ids(shown)
        number = max(0, min(int(draft.get("step", 0)), len(main.steps) - 1))
        step = main.steps[number]
        kinds = {id(one.given): one.kind for one in shown.found if one.step == number}
        gone = [one.given for one in shown.found if one.step == number and one.kind == "gone"]
        pushed = main.pushed(number)
        picture = drawn(shown.written, shown.changed, number)
        return {
            "step": number,
            "call": call_text(step.call, main.calendar),
            "pushed": None if pushed is None else ids.of(pushed, shown.changed is None),
            "given": [{**ids.given(one, False), "kind": kinds.get(id(one), "")} for one in step.given[:MOST_ENTRIES]],
            "results": len(step.given),
            "gone": [ids.given(one, True) for one in gone[:MOST_ENTRIES]],
            "nothing": why_nothing(main, step) if pushed is not None and not step.given else [],
            "left": [
                {"event": ids.of(stay.key, shown.changed is None), "place": str(stay.place), "why": why}
                for stay, why in islice(departures(main, number), MOST_ENTRIES)
            ],
            "aside": [
                {"event": ids.of(key, shown.changed is None), "place": where, "why": why}
                for key, where, why in step.late
            ],
            "dropped": [{"slot": place.slot, "gate": place.gate} for place in step.dropped],
            "clock": clock_text(step.clock, main.calendar),
            "deadline": None if step.deadline is None else clock_text(step.deadline, main.calendar),
            "correlations": self._correlations(shown, number, ids),
            "svg": picture.svg,
            "marbles": [{**ids.of(key, is_written), "step": at} for is_written, key, at in picture.marbles],
        }

    def why(self, draft: Json) -> Json:
        """Return what is known of an event after a step."""
        shown = self._shown(draft)
        key, is_written = _Ids(shown).key(str(draft.get("id")))
        replay = shown.written if is_written else shown.main
        step = max(0, min(int(draft.get("step", 0)), len(replay.steps) - 1))
        return {"text": replay.why(key, step), "step": step}

    def _correlations(self, shown: Shown, number: int, ids: _Ids) -> list[Json]:
        main = shown.main
        found = []
        for join in main.joins:
            slots = []
            for slot in join.slots:
                places = [place for place in main.stays if place[:2] == (join.name, slot.name)]
                there = [(place, main.present(place, number)) for place in places]
                slots.append(
                    {
                        "name": slot.name,
                        "source": slot.source,
                        "places": [
                            {
                                "kind": place.kind,
                                "name": place_name(place),
                                "count": len(present),
                                "events": [
                                    {
                                        **ids.of(stay.key, shown.changed is None),
                                        "keys": stay.keys,
                                        "new": stay.since == number > 0,
                                    }
                                    for stay in present[:MOST_ENTRIES]
                                ],
                            }
                            for place, present in there
                            if present or place.kind == "memory"
                        ],
                    }
                )
            found.append({"name": join.name, "slots": slots})
        return found

    # -- replays -------------------------------------------------------------------------------------------------------

    def _shown(self, draft: Json) -> Shown:
        run, off = draft.get("run"), _numbers(draft)
        if not isinstance(run, int) or not 0 <= run < len(self._recordings):
            message = f"show: expected the number of a run, below {len(self._recordings)}, but got {run!r}"
            raise InvalidArgument(message)
        return self._replayed(run, off)

    def _made(self, run: int, off: frozenset[int]) -> Shown:
        recording = self._recordings[run]
        outputs = (*recording.outputs, *recording.options["pulled"])
        if not off:
            whole = Rebuilding(recording.names, off, outputs)
            written = Replay(recording, whole.outputs, MOST_CALLS)
            return Shown(whole.switches, written, None, "", [])
        plain = self._shown({"run": run, "off": []})
        try:
            changed = Replay(recording, Rebuilding(recording.names, off, outputs).outputs, MOST_CALLS)
        except CartesiusError as error:
            return Shown(plain.switches, plain.written, None, str(error), [])
        return Shown(plain.switches, plain.written, changed, "", compared(plain.written, changed))


def _told(ask: Callable[[Json], Json], draft: Json) -> Json:
    answer: Json = all_visible(ask(draft))
    return answer


class _Ids:
    """Names for events that a page can send back: of the program as written (w), or of the one that is shown (c)."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown

    def of(self, key: Any, is_written: bool) -> Json:
        """Return an event as its id and text."""
        replay = self._shown.written if is_written else self._shown.main
        number = replay.numbers.setdefault(key, len(replay.numbers))
        text = shortened(replay.provenance.text(replay.provenance.records[key]))
        return {"id": f"{'w' if is_written else 'c'}{number}", "text": text}

    def given(self, given: Given, is_written: bool) -> Json:
        """Return a result, with its parts."""
        replay = self._shown.written if is_written or self._shown.changed is None else self._shown.changed
        is_written = replay is self._shown.written
        return {
            **self.of(given.key, is_written),
            "back": given.event.weight < 0,
            "parts": self._parts(replay, given.key, is_written),
        }

    def _parts(self, replay: Replay, key: Any, is_written: bool, depth: int = 6) -> list[Json]:
        parts = replay.provenance.records[key].parts if depth else ()
        return [
            {"slot": slot, **self.of(part, is_written), "parts": self._parts(replay, part, is_written, depth - 1)}
            for slot, part in parts[:MOST_PARTS]
        ]

    def key(self, name: str) -> tuple[Any, bool]:
        """Return the key of an event by its id, and whether it is of the program as written."""
        is_written = name[:1] == "w"
        replay = self._shown.written if is_written else self._shown.main
        found = [key for key, number in replay.numbers.items() if f"{name[:1]}{number}" == name]
        if name[:1] not in ("w", "c") or not found:
            message = f"show: expected the id of an event that was shown but got {name!r}; load the page again"
            raise InvalidArgument(message)
        return found[0], is_written


def _numbers(draft: Json) -> frozenset[int]:
    off = draft.get("off", [])
    if not isinstance(off, list) or not all(type(one) is int for one in off):
        message = f"show: expected the numbers of restrictions to leave out but got {shortened(repr(off))}"
        raise InvalidArgument(message)
    return frozenset(off)
