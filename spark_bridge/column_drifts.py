"""Drift of columns: what differs between those that a state was written with and those that come now.

A column that is missing, or of another type, is refused by name: the values in memory have it, and new ones would not.
A new column was not there before, so nothing can depend on it: it is ignored, and reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Columns: TypeAlias = Mapping[str, Mapping[str, str]]
"""The type of each column of each source."""


def lost(before: Columns, now: Columns) -> str:
    """Say what is missing, or of another type; empty if nothing is.

    >>> from spark_bridge.column_drifts import lost
    >>> lost({"ship": {"mmsi": "bigint", "draught": "double"}}, {"ship": {"mmsi": "bigint"}})
    "'ship' has no column 'draught' (double) any more; bring it back, if need be as nulls"
    """
    for source, columns in before.items():
        here = now.get(source, {})
        for name, kind in columns.items():
            if name not in here:
                return f"{source!r} has no column {name!r} ({kind}) any more; bring it back, if need be as nulls"
            if here[name] != kind:
                return f"the column {name!r} of {source!r} was {kind} and is {here[name]}; cast it"
    return ""


def gained(before: Columns, now: Columns) -> dict[str, list[str]]:
    """Return the new columns of each source that has some.

    >>> from spark_bridge.column_drifts import gained
    >>> gained({"ship": {"mmsi": "bigint"}}, {"ship": {"mmsi": "bigint", "name": "string"}})
    {'ship': ['name']}
    """
    found = {source: [name for name in now[source] if name not in before.get(source, {})] for source in now}
    return {source: names for source, names in found.items() if names}


def drifted(before: Columns, now: Columns, where: object) -> str:
    """Return the message of the error that refuses the state of ``where``."""
    new = [f"{name!r} of {source!r}" for source, names in gained(before, now).items() for name in names]
    what = lost(before, now) or f"{', '.join(new)} is new; Frames.start ignores what is new, or select it away"
    return f"restore: expected the columns that the state of {where} was written with but {what}"
