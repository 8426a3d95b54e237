"""What a clause of a restriction may ask of a combination of parts, complete or not.

Which events are stored beside it, whether it fits so far, until when it can be completed, what it gives; and that its
copy wants to choose at the end of the batch although no match may come. For restrictions that weigh combinations
against each other, such as sequences; like all that is in `clauses`, only in a clause of a restriction.

Source: SEMANTICS 1.13, 3.8 and 3.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from cartesius.data.events import LATEST
from cartesius.language.clauses import is_drained, of_clause
from cartesius.plan import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from cartesius.data.entries import Candidate, Entry
    from cartesius.data.events import Time
    from cartesius.language.families import Slot
    from cartesius.language.matches import Match

Answer = TypeVar("Answer")


def beside(slot: Slot, parts: Candidate) -> list[Entry]:
    """Return what ``slot`` has under the keys of ``parts``, oldest first, in the memory that is looked at.

    The keys are those of the key spaces to the left of this restriction. While results are taken back, the memory
    that is looked at is the old one.
    """
    installed, _ = of_clause("beside", slot)
    spaces = installed.prefixes[slot.index]
    key = tuple([_key_in(space, installed.prefixes, parts) for space in spaces])
    skip = installed.join.batch.body.skip
    return noted((beside, spaces, slot, key), lambda: [e for e in slot.memory.keyed(spaces, key) if e.state != skip])


def noted(question: Hashable, find: Callable[[], Answer]) -> Answer:
    """Return what ``find`` gives, found once for a question as long as the memory that is looked at stays as it is."""
    installed, _ = of_clause("noted")
    answers = installed.join.batch.body.noted
    if question not in answers:
        answers[question] = find()
    answer: Answer = answers[question]
    return answer


def _key_in(space: int, prefixes: dict[int, tuple[int, ...]], parts: Candidate) -> object:
    return next(part.keys[space] for index, part in enumerate(parts) if part is not None and space in prefixes[index])


def fits(parts: Candidate, slot: Slot) -> bool:
    """Whether ``parts``, some of which may be missing, can be of one match, as far as what concerns ``slot`` says.

    Where none is missing the whole body is asked, if nothing is known of it (it did not trace).
    """
    installed, _ = of_clause("fits", slot)
    return bool(installed.join.batch.body.fits(parts, slot.index))


def match_of(parts: Candidate) -> Match | None:
    """Return the match that ``parts`` are by the body, whatever restrictions say of them."""
    installed, _ = of_clause("match_of")
    match: Match | None = installed.join.batch.body.result(parts)
    return match


def missing(parts: Candidate) -> list[Slot]:
    """Return the slots of which ``parts`` have no event yet, though a match has one."""
    installed, _ = of_clause("missing")
    batch = installed.join.batch
    absent = [] if batch.absences is None else batch.absences.slots
    return [slot for slot in installed.join.slots if parts[slot.index] is None and slot not in absent]


def _end_of_window(join: Any, parts: Candidate) -> Time:
    """Return the last clock at which something may come into the window that parts are in."""
    windows = join.batch.windows
    inside = [part for part in parts if part is not None and windows is not None and windows.contains(part)]
    if not inside:
        return LATEST
    opener = next(one for one in join.installed if facts.opens_windows(one))
    until: Time = windows.key(inside)[-1].end + getattr(opener.stateless, "lateness", 0) - 1
    return until


def last_chance(parts: Candidate) -> Time | None:
    """Return the last end that what is missing may have, by bounds in time; None if nothing can complete ``parts``.

    That is so when an input that is missing has ended, what is there is too far apart, or the clock has passed the end,
    be it that of their window.
    """
    installed, key = of_clause("last_chance")
    join = installed.join
    absentees = missing(parts)
    if any(is_drained(slot) for slot in absentees):
        return None
    last: Time = _end_of_window(join, parts)
    for one in join.installed:
        alone = facts.settles_alone(one)
        if not facts.settles(one) or not (alone or any(slot in one.named for slot in absentees)):
            continue
        due = [one.stateless.due(slot, part) for slot in one.named if (part := parts[slot.index]) is not None]
        last = min([last, *due])
        met = [part for slot in (join.slots if alone else one.named) if (part := parts[slot.index]) is not None]
        if any(part.end > last for part in met):
            return None
    return None if join.floors.let_decide(installed, last, key) else last


def reconsider() -> None:
    """Let this copy choose among matches at the end of the batch, by its clause for `select`, even if none comes."""
    installed, key = of_clause("reconsider")
    installed.reconsider(key)
