"""Instants as whole numbers: microseconds since the epoch, in UTC.

A row may give a timezone-aware datetime instead, which means the same instant; one without a zone means none. An engine
that runs on other whole time units has its instants in those.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from cartesius.data.events import EPOCH


def instant_of(moment: datetime) -> int | None:
    """Return the instant of a datetime; None without a zone, since nobody knows then which instant is meant.

    >>> from datetime import UTC
    >>> instant_of(datetime(1970, 1, 1, 1, tzinfo=UTC)), instant_of(datetime(1970, 1, 1))
    (3600000000, None)
    """
    return None if moment.utcoffset() is None else (moment - EPOCH) // timedelta(microseconds=1)


def moment_of(instant: int) -> datetime:
    """Return the datetime of an instant, in UTC.

    >>> moment_of(3_600_000_000).isoformat()
    '1970-01-01T01:00:00+00:00'
    """
    return EPOCH + timedelta(microseconds=instant)
