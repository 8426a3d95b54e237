"""Which subject is meant: by its key, or by its name, where the source has a field that is called so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.drawing.markup import visible
from cartesius.errors import InvalidArgument, near

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsl.terms.terms import Declaration

_SHOWN = 8


def named(source: Declaration, rows: Sequence[Mapping[str, Any]], asked: str, when: str) -> Any:
    """Return the key of the subject that is asked for.

    >>> from dsl import Source
    >>> from dsl.declarations.sources import declaration
    >>> vessel = declaration(Source("vessel", key="mmsi", mmsi=int, name=str))
    >>> named(vessel, [{"mmsi": 244660000, "name": "ANNA"}], "anna", "at noon")
    244660000

    Args:
        source: The subject's declaration.
        rows: The newest row of each subject.
        asked: A key or a name, as somebody has typed it.
        when: The moment, for messages.

    Raises:
        InvalidArgument: There is none of that key or name, or several have that name.
    """
    key = source.key or ""
    keys = {str(row[key]): row[key] for row in rows}
    if asked in keys:
        return keys[asked]
    names: dict[str, list[Any]] = {}
    for row in rows:
        if isinstance(name := row.get("name"), str) and name.strip():
            names.setdefault(name.strip().casefold(), []).append(row[key])
    found = names.get(asked.strip().casefold(), [])
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(map(str, sorted(found)[:_SHOWN]))
        message = (
            f"why: expected one {source.name} but {len(found)} are called {asked!r} {when}: {shown}; ask by {key},"
            " which each has of its own"
        )
        raise InvalidArgument(visible(message))
    known = {str(row["name"]).strip(): row[key] for row in rows if isinstance(row.get("name"), str)}
    close = near(asked.strip().upper(), [*keys, *known])
    message = f"why: expected a {source.name} that was known {when} but got {asked!r}{close}"
    raise InvalidArgument(visible(message if close else f"{message}; there are {len(keys)}, ask by {key} or by name"))
