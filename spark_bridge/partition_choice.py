"""The choice of a partitioning: by which column each source is split, from what a program says itself.

What meets by an equality, or under one key of a `key_by`, has one value of those columns; so do the rows of a table and
what names them by its key. Columns that are so linked are candidates together, and of those under which `Partitioning`
finds no fault, the one that splits most sources is taken; among equals the first, in the order of the caller's frames.

Invariant: what is chosen is sound, as `Partitioning` has checked it. It follows from the program, the columns and the
order of the frames, so a restart chooses the same.

Source: DESIGN.md, section 7.
"""

from __future__ import annotations

from itertools import combinations, islice
from typing import TYPE_CHECKING, Final

from cartesius.errors import InvalidArgument
from cartesius.expressions import Tuple
from spark_bridge.lineage import Column, Composed, InPattern, derived, key_of, key_space, origin
from spark_bridge.options import key_kind
from spark_bridge.partitioning import Partitioning
from spark_bridge.sources import KEY_TYPES, table_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import types as t

    from cartesius.reactives import Reactive
    from spark_bridge.lineage import Origin

_MOST: Final = 500
"""How many splits are looked at."""


def chosen_partition(outputs: tuple[Reactive, ...], columns: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return by which column each source is split; what is not named goes to every bucket.

    >>> from cartesius import Reactive
    >>> from restrictions import cartesian, key_by, most_recently
    >>> from spark_bridge.partition_choice import chosen_partition
    >>> ship, wind = Reactive("ship"), Reactive("wind")
    >>> both = cartesian(ship, wind, restrict=key_by(ship="mmsi") | most_recently("ship", "wind"))
    >>> chosen_partition((both,), {"ship": {"mmsi": "a whole number"}, "wind": {"at": "a whole number"}})
    {'ship': 'mmsi'}

    Args:
        outputs: The program.
        columns: Of each source, in the order of the caller, the columns that rows may be split by, and a word for the
            type of each: columns of different types are not split together.

    Raises:
        InvalidArgument: No split is sound; the message says what is wrong with the best.
    """
    found: dict[str, str] = {}
    reason = "nothing in it is keyed, or equated, by a column of a frame"
    for place, split in enumerate(islice(_splits(outputs, columns), _MOST)):
        if len(split) <= len(found):
            continue
        try:
            checked = Partitioning(outputs, split)
        except InvalidArgument as refusal:
            if place == 0:
                reason = str(refusal).partition(" but got ")[2].partition("; ")[0]
            continue
        if any(checked.is_split(output) for output in outputs):
            found = split
    if not found:
        message = (
            "correlate_frames: expected a program whose rows can be spread over buckets, as partition_by= is not given,"
            f" but {reason}; key it by a column, give partition_by=, or say buckets=1"
        )
        raise InvalidArgument(message)
    return found


def splittable(inputs: Mapping[str, Reactive], frames: Mapping[str, t.StructType]) -> dict[str, dict[str, str]]:
    """Return what `chosen_partition` takes: columns of keys' types; of a table only its key, so that no row moves."""
    found = {}
    for name, columns in frames.items():
        own = [table_key(name, inputs[name])] if inputs[name].table else columns.names
        kinds = {field.name: field.dataType for field in columns if field.name in own}
        found[name] = {column: key_kind(kind) for column, kind in kinds.items() if isinstance(kind, KEY_TYPES)}
    return found


def _splits(outputs: tuple[Reactive, ...], columns: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, str]]:
    """Iterate over candidates, and over parts of them, the larger ones first."""
    for candidate in _candidates(outputs, columns):
        for size in range(len(candidate), 0, -1):
            for names in combinations(candidate, size):
                yield {name: candidate[name] for name in names}


def _candidates(outputs: tuple[Reactive, ...], columns: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, str]]:
    """Iterate over columns of sources that are linked, a column a source, in the order of the sources."""
    groups: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for linked in _links(outputs):
        merged = {one for one in linked if one[1] in columns.get(one[0], ())}
        merged = merged.union(*(groups.get(one, set()) for one in merged))
        groups.update(dict.fromkeys(merged, merged))
    seen: list[dict[str, str]] = []
    for source, own in columns.items():
        for column, kind in own.items():
            group = groups.get((source, column), ())
            split = {
                other: source_column
                for other, others in columns.items()
                for source_column in [column if other == source else _first(other, others, kind, group)]
                if source_column is not None
            }
            if group and split not in seen:
                seen.append(split)
                yield split


def _first(source: str, columns: Mapping[str, str], kind: str, group: Iterable[tuple[str, str]]) -> str | None:
    return next((name for name, own in columns.items() if own == kind and (source, name) in group), None)


def _links(outputs: tuple[Reactive, ...]) -> Iterator[set[tuple[str, str]]]:
    """Iterate over columns that have one value in what meets."""
    for reactive in derived(outputs):
        pattern = reactive.pattern
        assert pattern is not None
        scope = InPattern(pattern, of_each=True)
        for (_, left), (_, right) in pattern.equalities:
            yield _columns(origin(left, scope), origin(right, scope))
        for restriction in pattern.restrictions:
            yield _columns(*key_space(pattern, restriction).values())
        for table in (one for one in (reactive, *pattern.slots.values()) if one.table):
            yield from map(_columns, _parts(key_of(table)))


def _parts(key: Origin | None) -> list[Origin | None]:
    """Return what a key is made of."""
    if isinstance(key, Composed) and isinstance(key.expression, Tuple):
        return [key.item(place) for place in range(len(key.expression.items))]
    return [key]


def _columns(*origins: Origin | None) -> set[tuple[str, str]]:
    return {
        (found.reactive.name, found.path[0]) for found in origins if isinstance(found, Column) and len(found.path) == 1
    }
