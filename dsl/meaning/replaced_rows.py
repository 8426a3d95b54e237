"""Rows with other values in some fields, whatever the fields are called.

Source: ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.data.records import Record


def extended(row: Mapping[str, Any] | Record, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``row``, with those given beside or instead of them.

    >>> extended({"keys": 3, "eta": 5}, {"eta": 6})
    {'keys': 3, 'eta': 6}
    """
    found = {name: row[name] for name in row}  # not `**row`, as a record may have a field called keys
    found.update(fields)
    return found
