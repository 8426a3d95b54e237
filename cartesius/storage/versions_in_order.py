"""Versions in order of time: what holds at a moment is found among them by bisection.

A version that comes begins at its own time, and keeps that: what comes later takes its end away, or all of it. So of
versions of one key, and of events that are there at their own time alone, those before one that is over are over too.

Invariant: what is in order is `is_in_order`; what is not is asked one by one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, final

from cartesius.data.entries import FRESH, GONE, LIVE
from cartesius.data.events import EARLIEST, LATEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cartesius.data.events import Time
    from cartesius.data.validity import Validity
    from cartesius.storage.version_memories import Version

LEAST: Final = 16
"""Fewer versions are asked one by one in no time."""
time_of: Final = attrgetter("end")
number_of: Final = attrgetter("number")
turn_of: Final = attrgetter("end", "number")


@final
class Moment:
    """The time at which the memories of one correlation are looked at, and when something in what is seen changes."""

    __slots__ = ("at", "next")

    def __init__(self) -> None:
        self.at: Time | None = None  # None: memories hold all that they have
        self.next: Time = LATEST

    def see(self, version: Version) -> bool:
        """Give a version the state that it has at the moment; return whether it is there, or was."""
        at = self.at
        if at is None:
            return True
        now = self._holds(version.validity, at)
        was = now if version.was is version.validity else self._holds(version.was, at)
        if was or now:
            version.state = LIVE if was and now else FRESH if now else GONE
        return was or now

    def _holds(self, validity: Validity, at: Time) -> bool:
        """Whether ``at`` is in ``validity``, noting when that changes next; a plain loop, as it is asked most often."""
        holds = False
        for since, until in validity:
            bound = since if at < since else until
            if at < bound < self.next:
                self.next = bound
            holds = holds or since <= at < until
        return holds


def is_in_order(version: Version) -> bool:
    """Whether a version holds from its time on, without a gap; or not at all any more."""
    if not version.validity:
        return True
    ((since, until), *others) = version.validity
    return not others and since == version.end and EARLIEST < since < LATEST and since < until


def latest_before(versions: Sequence[Version], time: Time) -> int:
    """Return how many versions are of that time, or before it."""
    return bisect_right(versions, time, key=time_of)


def is_there(versions: Sequence[Version], version: Version) -> bool:
    """Whether a version is one of them."""
    place = _place(versions, version)
    return place < len(versions) and versions[place] is version


def bring(versions: list[Version], version: Version) -> None:
    """Put a version where its time is, and its number, unless it is there: who undoes a call may find it so."""
    if not is_there(versions, version):
        versions.insert(_place(versions, version), version)


def drop(versions: list[Version], version: Version) -> None:
    """Take a version out, if it is there."""
    if is_there(versions, version):
        del versions[_place(versions, version)]


def _place(versions: Sequence[Version], version: Version) -> int:
    return bisect_left(versions, turn_of(version), key=turn_of)


def standing(versions: Sequence[Version], moment: Moment) -> list[Version]:
    """Return the versions of the moment, in order of arrival, noting when something changes next.

    Args:
        versions: All, in order of time; no two hold at one time, but for events of one time.
        moment: A moment that is looked at.
    """
    assert moment.at is not None  # Invariant: who asks looks at one
    first = latest_before(versions, moment.at)
    for place in range(first, len(versions)):
        if versions[place].validity or versions[place].was:
            moment.see(versions[place])
            break
    found = []
    for place in range(first - 1, -1, -1):
        version = versions[place]
        if moment.see(version):
            found.append(version)
        if version.was is version.validity and version.validity and version.validity[-1][1] <= moment.at:
            break  # those before it are over as well
    found.sort(key=number_of)
    return found


class Timeline:
    """The versions that an index finds by one key, in order of time; none, once it finds those of several keys by it.

    Args:
        versions: Those there are.
        key_of: Returns what no two versions of which hold at one time have in common.
    """

    __slots__ = ("_key", "_key_of", "is_mixed", "versions")

    def __init__(self, versions: Iterable[Version], key_of: Callable[[Version], Any]) -> None:
        self.versions = sorted(versions, key=turn_of)
        self._key_of = key_of
        self._key = key_of(self.versions[0])
        self.is_mixed = False
        if any(key_of(version) != self._key for version in self.versions):
            self._mix()

    def add(self, version: Version) -> None:
        """Add a version."""
        if not self.is_mixed and self._key_of(version) != self._key:
            self._mix()
        if not self.is_mixed:
            bring(self.versions, version)

    def _mix(self) -> None:
        self.is_mixed = True
        self.versions.clear()
