"""Contiguity: parts that follow each other, and what may lie between them.

A sequence is a restriction like any other: of the combinations of a correlation it admits those whose parts follow each
other, and asks of each part whether it is the next one by what is in memory. So late events find results that stand,
while under `retracting` results follow the memory.

Source: Snoop (SEQ on intervals); SASE+ (selection strategies); Flink CEP (contiguity).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius import Restriction, Slots, forward, handles
from cartesius.errors import InvalidArgument, near
from cartesius.language.families import admit, alone, optional
from cartesius.language.restriction_base import slot_families
from cartesius.plan import facts
from cartesius.plan.nodes import InSequence
from cartesius.rows.combinations import beside, fits, noted
from cartesius.rows.following import precedes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius import Slot
    from cartesius.data.entries import Candidate, Entry
    from cartesius.data.events import Time
    from cartesius.plan.nodes import Node

Place: TypeAlias = "tuple[Time, int]"
"""Where an event stands in the order of events: its end, and its arrival."""
Places: TypeAlias = "Callable[[Entry], Place]"
CONTIGUITIES = ("relaxed", "strict", "any")


class _sequence(Restriction):
    """Base: parts follow each other."""

    slots: Slots
    contiguity: str = "relaxed"

    def validate(self) -> None:
        """Check the contiguity."""
        if self.contiguity not in CONTIGUITIES:
            message = (
                f"in_sequence: expected contiguity 'relaxed', 'strict' or 'any' but got contiguity={self.contiguity!r};"
                " 'relaxed' skips what does not fit, 'strict' lets nothing lie between, 'any' gives all that are in"
                f" order{near(self.contiguity, CONTIGUITIES)}"
            )
            raise InvalidArgument(message)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse one slot alone, and what has no next event."""
        if len(slots["slots"]) < 2:
            message = (
                f"{self!r}: expected at least two slots, in their order, but got {slots['slots'][0].name!r} alone; name"
                " the one that comes after it, too"
            )
            raise InvalidArgument(message)
        listed = next((slot for slot in slots["slots"][1:] if slot.n is not None), None)
        if listed is not None and self.contiguity != "any":
            message = (
                f"{self!r}: expected contiguity='any' where {listed.name!r}, a list of several events, follows another"
                f" slot, as no list is the next one, but got contiguity={self.contiguity!r}; bind single events"
            )
            raise InvalidArgument(message)
        for other in others:
            if any(family in (alone, optional) for _, family, _, _ in slot_families(other)):
                message = f"{self!r}: expected parts that meet but {other!r} lets them be missing; leave one out"
                raise InvalidArgument(message)
            if self.contiguity != "any" and facts.versions(other):
                message = (
                    f"{self!r}: expected contiguity='any' beside {other!r}, as what is valid for a while has no next"
                    f" one, but got contiguity={self.contiguity!r}; leave one out"
                )
                raise InvalidArgument(message)
            if (
                self.contiguity != "any"
                and facts.expires(other)
                and not facts.settles(other)
                and any(facts.takes_back(o) for o in others)
            ):
                message = (
                    f"{self!r}: expected nothing that leaves by itself beside retracting but got {other!r}: what lay"
                    " between would be forgotten, and what was never given be taken back; leave one out"
                )
                raise InvalidArgument(message)

    @handles(admit)
    def are_next(self, parts: Candidate) -> bool:
        """Compare parts, which are in order already, with what is stored beside them."""
        return bool(forward(parts)) and (self.contiguity == "any" or self._are_contiguous(parts))

    def _are_contiguous(self, parts: Candidate) -> bool:
        row = parts.copy()
        for slot in self.slots[1:]:
            row[slot.index] = None
        for before, slot in pairwise(self.slots):
            part = parts[slot.index]
            if self.contiguity == "strict":
                first = self.first_after(row, before, parts)
                is_next = first is not None and part is not None and first.identity == part.identity
            else:
                is_next = self.next_after(row, before, slot, parts) is part
            if not is_next:
                return False
            row[slot.index] = part
        return True

    def next_after(self, row: Candidate, before: Slot, slot: Slot, under: Candidate | None = None) -> Entry | None:
        """Return the event of ``slot`` that comes next, by contiguity, after the part of ``before``; None if none.

        It is looked for under the keys of the parts of ``under``, or of those that are there already.
        """

        def find() -> Entry | None:
            following = self.following(row, before, slot, under=under)
            if self.contiguity == "strict":
                first = self.first_after(row, before, under)
                following = [entry for entry in following if first is not None and entry.identity == first.identity]
            return next((entry for entry in following if self.fits_in(row, slot, entry)), None)

        return noted((id(self), slot, *[part and part.number for part in row], *_keys(under or row)), find)

    def first_after(self, row: Candidate, before: Slot, under: Candidate | None = None) -> Entry | None:
        """Return the event of any slot of the sequence that comes first after the part of ``before``."""

        def find() -> Entry | None:
            return next(iter(self.following(row, before, *self.slots, under=under)), None)

        return noted((id(self), row[before.index], *_keys(under or row)), find)

    def fits_in(self, row: Candidate, slot: Slot, entry: Entry) -> bool:
        """Whether ``row`` may go on with ``entry``, by what ``where`` says of what is bound then."""
        return fits([entry if index == slot.index else part for index, part in enumerate(row)], slot)

    def following(self, row: Candidate, before: Slot, *slots: Slot, under: Candidate | None = None) -> list[Entry]:
        """Return what ``slots`` have after the part of ``before``, in the order of events."""
        previous = row[before.index]
        assert previous is not None  # Invariant: a sequence is extended at its end
        found = [entry for slot in slots for entry in beside(slot, under or row) if precedes(previous, entry)]
        return sorted(found, key=self.places(under or row))

    def places(self, row: Candidate, *others: Candidate) -> Places:
        """Return where events stand; the event of several slots stands where the first of its entries does.

        Args:
            row: A row, beside which they are looked for.
            others: Rows of which parts may have left memory.
        """
        reactives = [slot.reactive for slot in self.slots]
        shared = [slot for slot in self.slots if reactives.count(slot.reactive) > 1]
        entries = [entry for slot in shared for entry in beside(slot, row)]
        entries += [part for other in others for slot in shared if (part := other[slot.index]) is not None]
        arrivals: dict[Any, int] = {}
        for entry in entries:
            arrivals[entry.identity] = min(entry.number, arrivals.get(entry.identity, entry.number))
        return lambda entry: (entry.end, arrivals.get(entry.identity, entry.number))


class sequencing(_sequence):
    """Let parts match only in sequence: what `in_sequence` is where matches may overlap.

    State: none; it looks at memory. Relies on the order of arrival of events of one time, and of late ones.
    Commutes with `within`, `sequencing`, `retracting`, `most_recently`, `earliest`, `at_most`, `affinely` and
    `momentarily`.

    Law:
        Idempotent. With contiguity ``any``, ``in_sequence(a, b) | in_sequence(b, c) == in_sequence(a, b, c)``.
    """

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (InSequence(self.slots, self.contiguity),)


def _keys(parts: Candidate) -> list[Any]:
    return [part and part.keys for part in parts]
