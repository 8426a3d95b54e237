"""The choice of a partitioning: by which column each source is split, from what a program says itself.

What meets by an equality, or under one key of a `key_by`, has one value of those columns; so do the rows of a table and
what names them by its key. Columns that are so linked are candidates together, and of those under which `Partitioning`
finds no fault, the one that splits most sources is taken; among equals the first, in the order of the program.
What other outputs are split by is added if it goes together. Where no column is of use, as in a program without memory,
sources are split by the whole row, if `Partitioning` allows that.

Invariant: what is chosen is sound, as `Partitioning` has checked it. It follows from the program, and the columns that
there are, so a restart chooses the same, and `explain` says what the Spark bridge does.

Source: DESIGN.md, section 7.
"""

from __future__ import annotations

from itertools import combinations, islice
from typing import TYPE_CHECKING, Final

from cartesius.analysis.lineage import Column, Composed, InPattern, OneOf, derived, key_of, key_space, origin
from cartesius.analysis.partitioning import ANYHOW, Partitioning, Unsplittable
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cartesius.analysis.lineage import Origin
    from cartesius.language.reactives import Reactive

_MOST: Final = 500
"""How many splits are looked at."""


def chosen_partition(
    outputs: tuple[Reactive, ...],
    columns: Mapping[str, Mapping[str, str]] | None = None,
    *,
    in_order: bool = False,
) -> dict[str, str]:
    """Return by which column each source is split; what is not named goes to every bucket.

    >>> from cartesius import Reactive
    >>> from restrictions import cartesian, key_by, most_recently
    >>> from cartesius.analysis.partition_choice import chosen_partition
    >>> ship, wind = Reactive("ship"), Reactive("wind")
    >>> both = cartesian(ship, wind, restrict=key_by(ship="mmsi") | most_recently("ship", "wind"))
    >>> chosen_partition((both,), {"ship": {"mmsi": "a whole number"}, "wind": {"at": "a whole number"}})
    {'ship': 'mmsi'}
    >>> from restrictions.streams import map_
    >>> chosen_partition((map_(wind, lambda wind: wind.speed),), {"wind": {"at": "a whole number"}})
    {'wind': '*'}

    Args:
        outputs: The program.
        columns: Of each source the columns that rows may be split by, and a word for the type of each: columns of
            different types are not split together. None: all that the program mentions, whatever their types are.
        in_order: As for `Partitioning`.

    Raises:
        InvalidArgument: No split is sound; the message says what is wrong with the best.
    """
    known = mentioned(outputs)
    columns = _in_order(known, columns)
    found: dict[str, str] = {}
    reason = ""
    fix = "key it by a column, give partition_by="
    splits = list(islice(_splits(outputs, columns), _MOST))
    for split in sorted(splits, key=len, reverse=True):
        more = {**split, **found}
        if len(more) == len(found) or len({columns[name][column] for name, column in more.items()}) > 1:
            continue
        try:
            checked = Partitioning(outputs, more, in_order=in_order)
        except Unsplittable as refusal:
            if split == splits[0]:
                reason, fix = f"{refusal.name!r}: {refusal.reason}", refusal.fix
            continue
        if any(checked.is_split(output) for output in outputs):
            found = more
    if not found:
        found = _anyhow(outputs, columns, in_order=in_order)
    if not found and not any(columns.values()) and any(known.values()):
        shown = ", ".join(f"{name}.{column}" for name, own in known.items() for column in own)
        reason, fix = f"it is keyed, or equated, by columns of types that rows are not spread by: {shown}", "cast them"
    if not found:
        raise NoPartition(reason or "nothing in it is keyed, or equated, by a column of a source", fix)
    return found


class NoPartition(InvalidArgument):
    """Nothing in a program says by which columns its rows may be spread.

    Args:
        reason: What is wrong with the best split.
        fix: What to write instead, if there is something.
    """

    def __init__(self, reason: str, fix: str) -> None:
        self.reason = reason
        message = (
            "partition_by: expected a program whose rows can be spread over buckets, as partition_by= is not given, but"
            f" {reason}; {f'{fix}, or ' * bool(fix)}say buckets=1"
        )
        super().__init__(message)


def explained(outputs: tuple[Reactive, ...]) -> Callable[[Reactive], str]:
    """Return what says, of a correlation of a program, by what its events can be spread, or why they cannot."""
    in_order, where = False, ""
    try:
        chosen = chosen_partition(outputs)
    except NoPartition as refusal:
        reason = refusal.reason
        try:
            chosen = chosen_partition(outputs, in_order=True)
        except NoPartition:
            return lambda reactive: f"none: {reason}"
        in_order, where = True, ", where rows are used in the order of their times"
    checked = Partitioning(outputs, chosen, in_order=in_order)

    def of(reactive: Reactive) -> str:
        if not checked.is_split(reactive):
            return "none: every part of the others has it whole"
        inputs = [one.name for one in inputs_of((reactive,))]
        by = [f"{name}.{chosen[name]}" for name in inputs if chosen.get(name, ANYHOW) != ANYHOW]
        rest = [name for name in inputs if name not in chosen]
        everywhere = f", with every {', '.join(rest)} in each part" if rest else ""
        return f"by {' == '.join(by) or 'anything, as no two events meet'}{everywhere}{where}"

    return of


def inputs_of(outputs: tuple[Reactive, ...]) -> list[Reactive]:
    """Return the inputs of a program, in the order in which it names them."""
    sources = [source for one in derived(outputs) if one.pattern for source in one.pattern.slots.values()]
    return list(dict.fromkeys(one for one in (*sources, *outputs) if one.pattern is None))


def mentioned(outputs: tuple[Reactive, ...]) -> dict[str, list[str]]:
    """Return the columns of each input that a program keys or equates by, in its order; of a table its key alone."""
    linked = [one for some in _links(outputs) for one in sorted(some)]
    return {
        one.name: [
            column
            for column in dict.fromkeys(column for name, column in linked if name == one.name)
            if not one.table or column == one.key
        ]
        for one in inputs_of(outputs)
    }


def _in_order(
    known: Mapping[str, list[str]], columns: Mapping[str, Mapping[str, str]] | None
) -> dict[str, dict[str, str]]:
    """Return the columns that there are, in the order of the program, with the word for the type of each."""
    if columns is None:
        return {name: dict.fromkeys(own, "") for name, own in known.items()}
    return {
        name: {column: columns[name][column] for column in own if column in columns[name]}
        for name, own in known.items()
        if name in columns
    }


def _anyhow(
    outputs: tuple[Reactive, ...], columns: Mapping[str, Mapping[str, str]], *, in_order: bool
) -> dict[str, str]:
    """Return the most sources that may be split by the whole row: no two rows meet, and none has to be everywhere."""
    slots = {one: list(one.pattern.slots.values()) for one in derived(outputs) if one.pattern}
    sources = [source for some in slots.values() for source in some]
    tables = {source.name for source in (*outputs, *sources) if source.table}
    streams = [name for name in columns if name not in tables]
    several = (names for size in range(len(streams), 0, -1) for names in combinations(streams, size))
    for names in islice(several, _MOST):
        found = dict.fromkeys(names, ANYHOW)
        try:
            checked = Partitioning(outputs, found, in_order=in_order)
        except Unsplittable:
            continue
        is_whole = all(all(map(checked.is_split, some)) for one, some in slots.items() if checked.is_split(one))
        if is_whole and any(checked.is_split(output) for output in outputs):
            return found
    return {}


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
    for table in (output for output in outputs if output.pattern is None and output.table):
        yield from map(_columns, _parts(key_of(table)))
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
    found: set[tuple[str, str]] = set()
    for one in origins:
        if isinstance(one, OneOf):
            found |= _columns(*one.origins)
        elif isinstance(one, Column) and len(one.path) == 1:
            found.add((one.reactive.name, one.path[0]))
    return found
