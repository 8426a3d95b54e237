"""Reliance: of which events the order of arrival decides about results, and in which order events are let go on.

Source: SOURCES E1 (data-trace types: Kallas et al., doi:10.1145/3314221.3314580).
"""

from __future__ import annotations

import enum


class Reliance(enum.Flag):
    """Of which events the order decides about the results of a restriction.

    >>> from cartesius import Reliance
    >>> Reliance.NONE in Reliance.WITHIN, bool(Reliance.NONE), Reliance.ALL == ~Reliance.NONE
    (True, False, True)
    """

    NONE = 0
    """Of none."""
    WITHIN = enum.auto()
    """Of two events of a slot that it names; if it names none, of any slot."""
    AMONG = enum.auto()
    """Of an event of a slot that it names, and one of any other slot."""
    BESIDE = enum.auto()
    """Of two events of a slot that it does not name."""
    ALL = WITHIN | AMONG | BESIDE
    """Of every two."""


class Give(enum.Enum):
    """In which order a restriction lets events go on."""

    AS_THEY_COME = "as they come"
    BY_TIME = "by their times, those of one time as they come"
    IN_STEP = "one of each of its slots at a time"
    OF_ITS_OWN = "as it makes them, of each key, from what came between two moves of the clock"
