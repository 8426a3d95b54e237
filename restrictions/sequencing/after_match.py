"""After a match: where the next one may start.

A match takes part in ruling out others: those that start with the same event, before its last one, or before one of its
events. Matches are taken in the order of their starts, so one is withheld while a sequence that began earlier may still
end and rule it out. What may not start a match any more leaves memory.

Source: Flink CEP (after-match skip strategies), withholding no longer than the strategy needs.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from cartesius import displace, ended, expire, forward, handles, notify_at, push, select, state, tick
from cartesius.data.entries import is_spent
from cartesius.data.events import LATEST
from cartesius.errors import InvalidArgument, near
from cartesius.plan import facts
from cartesius.plan.nodes import InSequence
from cartesius.rows.combinations import beside, last_chance, match_of, missing, reconsider
from restrictions.sequencing.contiguity import _sequence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cartesius import Match, Restriction, Slot
    from cartesius.data.entries import Candidate, Entry
    from cartesius.plan.nodes import Node
    from restrictions.sequencing.contiguity import Place, Places

AFTER_MATCH = ("no_skip", "to_next", "past_last")
AFTER_MATCH_OF = ("to_first", "to_last")  # with a variable


class pruning(_sequence):
    """Let parts match only in sequence, and leave out matches that others rule out: `in_sequence` with ``after_match``.

    A start that is skipped leaves memory. State: the matches that are withheld, as their events. Relies on the order of
    arrival. Commutes with `within`, `most_recently`, `earliest`, `at_most`, `affinely` and `momentarily`.

    Law:
        Its results are the matches of `sequencing` without those that an earlier one rules out; tested in
        ``tests/oracle/test_sequences.py``.
    """

    after_match: str | tuple[str, str]
    withheld: tuple[tuple[Entry | None, ...], ...] = state(())

    def validate(self) -> None:
        """Check the strategy, too."""
        super().validate()
        given = self.after_match
        is_pair = isinstance(given, tuple) and len(given) == 2 and given[0] in AFTER_MATCH_OF
        if given not in AFTER_MATCH and not (is_pair and isinstance(given[1], str)):
            hint = near(given[0] if isinstance(given, tuple) and given else given, (*AFTER_MATCH, *AFTER_MATCH_OF))
            message = (
                "in_sequence: expected after_match 'no_skip', 'to_next' or 'past_last', or ('to_first', variable) or"
                f" ('to_last', variable), but got after_match={given!r}; a variable is one of the sequence{hint}"
            )
            raise InvalidArgument(message)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse a variable that no match binds, and what gives matches no order."""
        super().check(slots, others)
        for other in others:
            if facts.versions(other):
                message = (
                    f"{self!r}: expected matches that are taken one after another but {other!r} gives them the times"
                    " at which they hold; leave one out"
                )
                raise InvalidArgument(message)
        if repeated := [slot.name for slot in slots["slots"] if slot.n is not None]:
            message = (
                f"{self!r}: expected parts that are one event, or one run, as matches are told apart by where they"
                f" start, but {repeated[0]!r} is repeated, and many lists start with one event; bind one_or_more, or"
                " leave after_match out"
            )
            raise InvalidArgument(message)
        names = tuple(slot.name for slot in slots["slots"])
        if isinstance(self.after_match, tuple) and self.after_match[1] not in names:
            message = (
                f"{self!r}: expected a variable of the sequence, {', '.join(names)}, in after_match but got"
                f" {self.after_match[1]!r}{near(self.after_match[1], names)}; skip to one that a match binds"
            )
            raise InvalidArgument(message)

    # -- when to choose ------------------------------------------------------------------------------------------------

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (InSequence(self.slots, self.contiguity, self.after_match),)

    @handles(push, "slots")
    def look_again(self, slot: Slot, entry: Entry) -> None:
        """What comes may end a sequence that others wait for."""
        self._look_again()
        forward(slot, entry)

    @handles(tick)
    def look_again_in_time(self, now: int) -> None:
        """A sequence that others wait for is over."""
        self._look_again()

    @handles(ended, "slots")
    def look_again_at_the_end(self, slot: Slot) -> None:
        """What waits for an event of ``slot`` is over."""
        self._look_again()

    @handles(displace, "slots")
    def look_again_without(self, slot: Slot, entry: Entry) -> None:
        """A match of what is taken back, or replaced, while it is withheld is none."""
        self._look_again()
        self.withheld = tuple(row for row in self.withheld if not any(part is entry for part in row))
        forward(slot, entry)

    def _look_again(self) -> None:
        if self.withheld:
            reconsider()

    # -- choosing ------------------------------------------------------------------------------------------------------

    @handles(select)
    def choose(self, matches: Iterator[Match]) -> None:
        """Give the matches that nothing rules out; withhold those that an earlier start may still rule out."""
        chosen = self._chosen(matches)
        forward(chosen)
        for _ in chosen:  # what an outer selector leaves is left out, but the rest of the choice is made
            pass

    def _chosen(self, matches: Iterator[Match]) -> Iterator[Match]:
        first = self.slots[0]
        held = [match for row in self.withheld if not is_spent(row) and (match := match_of(list(row)))]
        found = [*held, *matches]
        given: list[Match] = []
        waiting: list[Match] = []
        if found:
            places = self.places(found[0].parts, *[match.parts for match in held])
            found[len(held) :] = sorted(found[len(held) :], key=lambda match: self._order(match, places))
            for match in sorted(found, key=lambda match: places(_part(match, first))):
                if any(self._skips(one, _part(match, first), places) for one in given):
                    continue
                if self._must_wait(match, given, waiting, places):
                    waiting.append(match)
                else:
                    given.append(match)
                    yield match
            for start in beside(first, found[0].parts):
                if any(self._skips(one, start, places) for one in given):
                    expire(first, start)
        self.withheld = tuple(tuple(match.parts) for match in waiting)

    def _order(self, match: Match, places: Places) -> list[Place]:
        """Return the order of matches that come together: by the sequence, then by the other parts."""
        others = [part for part in match.parts if part is not None]
        return [places(part) for part in (*(_part(match, slot) for slot in self.slots), *others)]

    def _skips(self, match: Match, start: Entry, places: Places) -> bool:
        """Whether nothing may start with ``start`` after ``match``."""
        first = _part(match, self.slots[0])
        if self.after_match == "to_next":
            return start is first
        return places(first) <= places(start) and self._reaches(match.parts, start, places)

    def _reaches(self, row: Candidate, start: Entry, places: Places) -> bool:
        """Whether a match that begins as ``row`` does may skip what starts with ``start``."""
        if isinstance(self.after_match, str):
            last = row[self.slots[-1].index]
            return last is None or places(start) <= places(last)
        target = next(row[slot.index] for slot in self.slots if slot.name == self.after_match[1])
        return target is None or places(start) < places(target)

    def _must_wait(self, match: Match, given: list[Match], waiting: list[Match], places: Places) -> bool:
        """Whether what started earlier, and may still end, or is withheld itself, may rule a match out."""
        if self.after_match == "to_next":
            return False
        start = _part(match, self.slots[0])
        if any(self._skips(one, start, places) for one in waiting):
            return True
        for other in beside(self.slots[0], match.parts):
            if places(other) >= places(start) or any(self._skips(one, other, places) for one in given):
                continue
            for row in self._begun(other, match.parts):
                chance = last_chance(row)
                if chance is not None and self._reaches(row, start, places):
                    if chance < LATEST:
                        notify_at(int(chance))
                    return True
        return False

    def _begun(self, start: Entry, parts: Candidate) -> Iterator[Candidate]:
        """Yield the parts of each match that may have begun with ``start``, and is not complete."""
        row: Candidate = [None] * len(parts)
        first = self.slots[0]
        if not self.fits_in(row, first, start):
            return
        row[first.index] = start
        others = [slot for slot in missing(row) if slot not in self.slots]  # of them, something may come at any time
        if self.contiguity == "any" or others:
            yield from self._branches(row, 0)
            return
        for before, slot in pairwise(self.slots):
            following = self.next_after(row, before, slot)
            if following is None:
                if self.contiguity == "relaxed" or self.first_after(row, before) is None:
                    yield row
                return
            row[slot.index] = following

    def _branches(self, row: Candidate, length: int) -> Iterator[Candidate]:
        if missing(row):
            yield row
        for before, slot in pairwise(self.slots[length : length + 2]):
            for entry in self.following(row, before, slot):
                if self.fits_in(row, slot, entry):
                    longer = row.copy()
                    longer[slot.index] = entry
                    yield from self._branches(longer, length + 1)


def _part(match: Match, slot: Slot) -> Entry:
    part = match.parts[slot.index]
    assert part is not None  # Invariant: no part of a sequence is missing where matches are left out
    return part
