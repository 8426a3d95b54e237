"""Occasions: what an alert may be about. A subject's verdict has changed, or is foreseen to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from datetime import datetime


@attrs.frozen
class Occasion:
    """A verdict that has changed, or that forecasts say will.

    >>> from datetime import UTC, datetime
    >>> Occasion(244660000, "ANNA", datetime(2020, 6, 30, 14, tzinfo=UTC), "restricted", ("clearance",)).status
    'restricted'
    """

    subject: str | int
    """The subject's key."""
    name: str
    """What it is called, by whoever transmitted that."""
    time: datetime
    """When the verdict changed, or at which instant the forecasts were looked at."""
    status: str
    """What it is then: allowed, restricted, unknown, or what else the feed says, such as gone."""
    failed: tuple[str, ...] = ()
    """What fails: the names of requirements, in the order of the rules."""
    missing: tuple[str, ...] = ()
    """What was missing to decide others."""
    why: tuple[str, ...] = ()
    """For people: of each requirement that fails, its reason with value, limit and margin."""
    place: str | None = None
    """Where the subject is, or is bound for."""
    pack: str = ""
    """The version of the rules that say so."""
    foreseen: datetime | None = None
    """For when it is foreseen; None: it is so."""
    before: str | None = None
    """Of what is foreseen: the status until then."""
    nothing_ahead: bool = False
    """The forecasts were looked at, and foresee no change: what was told of before is over."""
