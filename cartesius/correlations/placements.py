"""Where a restriction stands in a correlation: which slots it names, and under which keys it has copies.

Source: SEMANTICS 1.13 and 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.errors import InvalidArgument
from cartesius.language.families import admit, arrive, select, start, tick
from cartesius.language.restriction_base import slot_families
from cartesius.plan import facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.language.restriction_base import Restriction


def suspends(restriction: Restriction) -> bool:
    """Whether a clause of a restriction may keep the continuation of what it handles."""
    return any(is_ctl for _, _, _, is_ctl in slot_families(restriction))


def holds_back(restriction: Restriction) -> bool:
    """Whether a restriction that sees events come may hold them: it has where to put them, and does not say no."""
    says = facts.may_hold(restriction) or facts.held(restriction) is not None
    return suspends(restriction) or bool(restriction._states and says)


class Place:
    """The place of one restriction."""

    def __init__(self, restriction: Restriction, join: Join, spaces: Mapping[int, tuple[int, ...]]) -> None:
        self.restriction = restriction
        self.join = join
        self.opens_windows = facts.opens_windows(restriction)
        # By slot index: the key spaces to the left that name the slot.
        self.prefixes = dict.fromkeys(spaces, ()) if facts.is_common(restriction) else spaces
        self.slots = {
            name: self._bound(name, kind) for name, kind in restriction._fields.items() if kind in _SLOT_KINDS
        }
        self.marks = slot_families(restriction)
        families = {family for _, family, _, _ in self.marks}
        self.starts = start in families
        self.admits = admit in families
        self.suspends = suspends(restriction)
        ticks = tick in families and not facts.versions(restriction)  # those are forgotten for all keys at once
        self.has_copies = bool(restriction._states) or self.starts or ticks
        named = [slot for slots in self.slots.values() for slot in slots]
        if self.opens_windows:
            named = [slot for slot in join.slots if slot.has_windows]
        self.named = tuple(dict.fromkeys(named))
        # The slots at which it is a gate.
        self.gated = {slot for _, family, fields, _ in self.marks if family is arrive for slot in self.slots_of(fields)}
        prefixes = {self.prefixes[slot.index] for slot in named}
        if self.opens_windows:
            self._check_holding(prefixes)
        else:
            self._check_spaces(prefixes)
        self.prefix: tuple[int, ...] = prefixes.pop() if len(prefixes) == 1 else ()  # shared by all slots named
        self.absent: tuple[Slot, ...] = tuple(slot for field in restriction._absent for slot in self.slots[field])
        # The slots whose parts tell a match's copy: those named, unless there is no part of them.
        self.weighed = tuple([slot for slot in self.named if slot not in self.absent]) or tuple(
            [slot for slot in join.slots if self.named and self.prefixes[slot.index] == self.prefix]
        )
        self.is_inside = False  # of windows
        self._enclose()
        # Of deadlines at one time: first those of gates: by them events may still come; last what is forgotten.
        decides = 2 if self.absent else 0 if arrive in families else 1
        self.turn = 4 if facts.forgets(restriction) else 3 if self.opens_windows else decides

    def _bound(self, field: str, kind: str) -> tuple[Slot, ...]:
        value = self.restriction.configuration[field]
        named = (value,) if kind == "slot" else value
        absent = self.join.pattern.absent.of(self.restriction, field)
        found = [slot for slot in self.join.slots if slot.name in absent]
        found = found or [slot for name in named for slot in self.join.bindings.find(name, self.restriction)]
        if kind == "slot" and len(found) > 1:
            message = (
                f"{self.restriction!r}: expected one slot in {field} but {named[0]!r} is bound to"
                f" {', '.join(slot.name for slot in found)}; use the variable's name"
            )
            raise InvalidArgument(message)
        return tuple(dict.fromkeys(found))

    def slots_of(self, fields: tuple[str, ...]) -> tuple[Slot, ...]:
        """Return the slots that the fields of a clause name; all, if it names none."""
        if not fields:
            return tuple(self.join.slots)
        unknown = [field for field in fields if field not in self.slots]
        if unknown:
            message = (
                f"{type(self.restriction).__name__}: expected the name of a field of slots in handles(…) but got"
                f" {unknown[0]!r}; the fields of slots are {', '.join(self.slots) or 'none'}"
            )
            raise InvalidArgument(message)
        return tuple(slot for field in fields for slot in self.slots[field])

    def _check_spaces(self, prefixes: set[tuple[int, ...]]) -> None:
        chooses = any(family is select for _, family, _, _ in self.marks)
        if (self.has_copies or chooses) and len(prefixes) > 1:
            message = (
                f"{self.restriction!r}: expected slots keyed in the same key_by to its left, as it has one copy a key,"
                " but they are keyed differently; write it left of the key_by, or key all its slots in one key_by"
            )
            raise InvalidArgument(message)

    def _check_holding(self, prefixes: set[tuple[int, ...]]) -> None:
        if facts.held(self.restriction) is not None and len(prefixes) > 1:
            message = (
                f"{self.restriction!r}: expected streams keyed in the same key_by to its left, as it holds events back,"
                " key by key, but they are keyed differently; write the key_by to its right"
            )
            raise InvalidArgument(message)

    def _enclose(self) -> None:
        """Right of windows, what names no slots has a copy a window, under the keys that are left of that."""
        space = self.join.bindings.window_space
        inside = [slot for slot in self.join.slots if space in self.prefixes[slot.index]]
        self.is_inside = bool(inside)
        if self.named or not inside or facts.is_common(self.restriction):
            return
        outer = {tuple([p for p in self.prefixes[slot.index] if p <= space]) for slot in inside}  # type: ignore[operator]  # there is one
        self.prefix = outer.pop() if len(outer) == 1 else (space,)  # type: ignore[assignment]  # likewise
        self.weighed = tuple(inside)


_SLOT_KINDS = ("slot", "slots")


def gates_of(installed: Sequence[Installed], slot: Slot) -> list[Installed]:
    """Return the gates of a slot, in the order in which an event comes to them."""
    return [one for one in reversed(installed) if slot in one.gated]
