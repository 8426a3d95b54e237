"""Partitioning: whether a program gives the same results when its rows are spread over buckets, and why not.

Every partitioned source is split by one column, or by the whole row; every other source goes to each bucket whole. That
is sound if all that meets has one value of that column, nothing meets that is split by the whole row, and nothing is
weighed against what may be in another bucket. The check is by the pattern, and strict: what it cannot see it refuses.
One bucket is always sound.

`explain` says what this finds, `partition_choice` derives by it, and the Spark bridge accepts by it.

Source: DESIGN.md, section 7; SEMANTICS 1.13 (what is left of a `key_by` is common to all keys).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

from cartesius.analysis.lineage import (
    Column,
    Composed,
    InPattern,
    OneOf,
    are_alone,
    clauses,
    derived,
    key_of,
    key_space,
    optional_slots,
    origin,
    slots_named,
)
from cartesius.analysis.waiting import held_of_all_keys
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Tuple
from cartesius.language.families import (
    admit,
    alone,
    arrive,
    completes,
    displace,
    first_is_oldest,
    optional,
    push,
    row_key,
    select,
    totals,
)
from cartesius.plan import facts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cartesius.analysis.lineage import Origin
    from cartesius.language.patterns import Pattern
    from cartesius.language.reactives import Reactive
    from cartesius.language.restriction_base import Restriction

ANYHOW: Final = "*"
"""In place of a column: the whole row decides, as no two rows of the source meet."""
_HARMLESS = (admit, alone, completes, first_is_oldest, optional, row_key)  # they concern one combination, or none


class Unsplittable(InvalidArgument):
    """A program would give other results in several buckets.

    Args:
        name: Of the correlation.
        reason: Why.
        fix: What to write instead, if there is something.
    """

    def __init__(self, name: str, reason: str, fix: str = "") -> None:
        self.name, self.reason, self.fix = name, reason, fix
        message = (
            "partition_by: expected a program whose results do not depend on the number of buckets but got"
            f" {name!r}: {reason}; {f'{fix}, or ' * bool(fix)}use buckets=1"
        )
        super().__init__(message)


class Partitioning:
    """What the partitioned sources mean for a program.

    Args:
        outputs: The program.
        columns: The column that each partitioned source is split by, or `ANYHOW`, by the source's name.
        in_order: Whether every bucket uses its rows in the order of their times, and its clock follows them or is that
            of all: then a gate that orders all events by time finds none late, and lets those of a key go as it would
            with the others.

    Raises:
        Unsplittable: The program would give other results in several buckets.
    """

    def __init__(self, outputs: tuple[Reactive, ...], columns: Mapping[str, str], *, in_order: bool = False) -> None:
        self.columns = columns
        self._in_order = in_order
        self._split: dict[Reactive, bool] = {}
        for reactive in derived(outputs):
            assert reactive.pattern is not None
            self._split[reactive] = self._check(reactive, reactive.pattern)

    def is_split(self, reactive: Reactive) -> bool:
        """Whether the events of ``reactive`` are spread over the buckets; otherwise each bucket has them all."""
        if reactive.pattern is None:
            return reactive.name in self.columns
        return self._split[reactive]

    def check_table(self, source: Reactive) -> None:
        """Refuse a table whose rows could move from one bucket to another."""
        column = self.columns.get(source.name)
        if source.table and column is not None and source.key != column:
            by = "itself" if column == ANYHOW else f"its {column!r}"
            reason = f"a row that changes {by} would stay in its old bucket, as the key is {source.key!r}"
            raise Unsplittable(source.name, reason, f"partition it by {source.key!r}")

    def _check(self, reactive: Reactive, pattern: Pattern) -> bool:
        split = [slot for slot, source in pattern.slots.items() if self.is_split(source)]
        if not split:
            return False
        whole = set(pattern.slots) - pattern.absent.names - set(split)
        if whole and set(split) <= optional_slots(pattern) | pattern.absent.names:
            reason = f"its partitioned part may be missing ({', '.join(split)}), and each bucket would yield that row"
            raise Unsplittable(reactive.name, reason, "make that slot mandatory")
        if not are_alone(pattern):
            self._check_meeting(reactive, pattern, split)
        elif len(split) < len(pattern.slots):
            reason = "its parts come alone, and each bucket would yield those that are not partitioned"
            raise Unsplittable(reactive.name, reason, "partition all of its inputs")
        self._check_restrictions(reactive, pattern, split)
        found = held_of_all_keys(pattern, split, self._is_partition)
        if found is not None:
            raise Unsplittable(reactive.name, *found)
        if reactive.table and not self._is_partition(key_of(reactive)):
            reason = "its key is not the column of the partition, so several buckets would have rows of one key"
            raise Unsplittable(reactive.name, reason, "key it by the partitioned slot")
        return True

    def _is_keyed(self, source: Reactive) -> bool:
        """Whether all that comes of one row of a table comes to one bucket."""
        return source.table and self._is_partition(key_of(source))

    def _is_partition(self, found: Origin | None) -> bool:
        if isinstance(found, OneOf):
            return all(map(self._is_partition, found.origins))
        if isinstance(found, Composed) and isinstance(found.expression, Tuple):  # of several, one is enough
            return any(self._is_partition(found.item(place)) for place in range(len(found.expression.items)))
        if not isinstance(found, Column):
            return False
        column = self.columns.get(found.reactive.name)
        return column != ANYHOW and found.path == (column,)

    def _check_meeting(self, reactive: Reactive, pattern: Pattern, split: list[str]) -> None:
        """Check that the parts from partitioned sources have one key."""
        equal = self._equal(pattern, split)
        linked = {slot for pair in equal for slot in pair}
        for restriction in pattern.restrictions:
            space = key_space(pattern, restriction)
            same = [slot for slot, found in space.items() if slot in split and self._is_partition(found)]
            equal |= {frozenset(pair) for pair in combinations(same, 2)}
            linked |= set(same)
        apart = set(split) - _meeting(split, equal, pattern.absent.names, optional_slots(pattern))
        apart |= {slot for slot in split if (pattern.lists.get(slot) or 0) > 1 and slot not in linked}
        if apart:
            reason = f"events of {' and '.join(split)} meet without being equal in the column of the partition"
            raise Unsplittable(reactive.name, reason, "key them by it: key_by(…)")

    def _equal(self, pattern: Pattern, split: Collection[str]) -> set[frozenset[str]]:
        """Return the pairs of slots that ``where`` equates in the column of the partition."""
        scope = InPattern(pattern, of_each=True)
        return {
            frozenset((left, right))
            for (left, left_side), (right, right_side) in pattern.equalities
            if left in split
            and right in split
            and self._is_partition(origin(left_side, scope))
            and self._is_partition(origin(right_side, scope))
        }

    def _check_restrictions(self, reactive: Reactive, pattern: Pattern, split: list[str]) -> None:
        """Check that no restriction weighs events of several buckets against each other."""
        keyed: set[str] = set()
        of_windows: set[str] | None = None  # keyed left of the windows: whose reports are compared with one another
        contents: list[Restriction] = []  # of windows that are those of one key
        for restriction in pattern.restrictions:
            keyed |= {slot for slot, found in key_space(pattern, restriction).items() if self._is_partition(found)}
            if facts.opens_windows(restriction):
                of_windows = set(keyed)
            if (
                facts.takes_back(restriction)
                or facts.looks_alone(restriction)
                or any(restriction is one for one in contents)
                or (self._in_order and facts.is_common(restriction) and _orders_inputs(pattern, restriction))
            ):
                continue
            if facts.opens_windows(restriction) or facts.versions(restriction) or facts.relates(restriction):
                mine = of_windows if facts.compares_reports(restriction) and of_windows is not None else keyed
                self._check_of_one_key(reactive, pattern, restriction, {slot for slot in mine if slot in split})
                contents += restriction.parts()[1:]
                continue
            found = [(family, slots) for family, slots in clauses(pattern, restriction) if family not in _HARMLESS]
            named = [slot for _, slots in found for slot in slots]
            fix = "put a key_by of the partition's column before it" if named and keyable(restriction) else ""
            also = "" if fix else ", be they keyed or not"
            if any(family is totals for family, _ in found):
                if not reactive.table:
                    reason = f"{restriction!r} totals over all keys"
                    raise Unsplittable(reactive.name, reason, "total by the partition's column")
                continue  # its key is looked at below
            if (found and not named) or (any(family is select for family, _ in found) and not fix):
                raise Unsplittable(reactive.name, f"{restriction!r} chooses among the events of all keys{also}", fix)
            by_row = {slot for slot in named if facts.is_by_row(restriction) and self._is_keyed(pattern.slots[slot])}
            named += self._weighed(pattern, restriction, split)
            loose = [slot for slot in named if slot in split and slot not in keyed | by_row]
            if loose:
                reason = f"{restriction!r} counts {loose[0]} over all keys, and a bucket has only some"
                raise Unsplittable(reactive.name, reason, fix)
            whole = [slot for slot in named if slot not in split]
            mixed = len(whole) < len(named) and any(family not in (push, displace) for family, _ in found)
            if whole and (facts.consumes(restriction) or mixed):
                reason = f"{restriction!r} would count {whole[0]}, of which each bucket has a copy, in each anew"
                raise Unsplittable(reactive.name, reason, fix)

    def _check_of_one_key(
        self, reactive: Reactive, pattern: Pattern, restriction: Restriction, keyed: set[str]
    ) -> None:
        """Check that windows that depend on several events, and histories, have what comes to one bucket alone."""
        if facts.opens_windows(restriction) or facts.relates(restriction):
            loose = [slot for slot, source in pattern.slots.items() if not source.table and slot not in keyed]
            made = "windows" if facts.opens_windows(restriction) else "reports"
        else:
            versions = facts.versions(restriction)
            named = () if versions is None else versions.slots
            slots = {slot for name in named for slot in slots_named(pattern, name)}
            loose = [
                slot
                for slot, source in pattern.slots.items()
                if slot in slots and self.is_split(source) and slot not in keyed and not self._is_keyed(source)
            ]
            made = "versions"
        fix = "put a key_by of the partition's column before it" if keyable(restriction) else ""
        if loose or not fix:
            also = "" if fix else ", be they keyed or not"
            reason = f"{restriction!r} makes {made} of the events of all keys{also}"
            raise Unsplittable(reactive.name, reason, fix)

    def _weighed(self, pattern: Pattern, restriction: Restriction, split: list[str]) -> list[str]:
        """Return the slots whose events a restriction of combinations weighs against others that are in memory.

        What it weighs by ``where`` alone it weighs against nothing of another bucket, where that equates each slot with
        one before it, or with one that has no place in the order.
        """
        if not facts.is_relative(restriction):
            return []
        order = [slot for name in facts.in_order(restriction) for slot in slots_named(pattern, name)]
        if not facts.weighs_by_where(restriction):
            return order
        equal = self._equal(pattern, split)
        missing = optional_slots(pattern) | pattern.absent.names  # what is not there equates nothing
        bound = [slot for slot in split if slot not in order]
        for place, slot in enumerate(order[1:], 1):
            known = {*bound, *order[:place]} - missing
            if slot in split and not any(frozenset((slot, one)) in equal for one in known):
                return order
        return []


def keyable(restriction: Restriction) -> bool:
    """Whether a restriction weighs, right of a `key_by`, only events of one key: it says of which slots it is."""
    if facts.opens_windows(restriction):
        return facts.reports_by_key(restriction)
    return facts.relates(restriction) or any(kind in ("slot", "slots") for kind in restriction._fields.values())


def _orders_inputs(pattern: Pattern, restriction: Restriction) -> bool:
    """Return whether a gate sees the events of inputs, as they come: what another gate or correlation held is late."""
    place = next(n for n, one in enumerate(pattern.restrictions) if one is restriction)
    before = [family for one in pattern.restrictions[place + 1 :] for family, _ in clauses(pattern, one)]
    is_exact = not any(facts.versions(one) or facts.late(one) for one in pattern.restrictions)  # else it waits longer
    return is_exact and arrive not in before and all(source.pattern is None for source in pattern.slots.values())


def _meeting(
    split: Collection[str], equal: Collection[frozenset[str]], absent: Collection[str], optional: Collection[str]
) -> set[str]:
    """Return the slots whose parts have one value of the column in every row, whatever else is missing in it.

    >>> sides = [frozenset("ac"), frozenset("cb")]
    >>> sorted(_meeting("abc", sides, (), ())), sorted(_meeting("abc", sides, ("c",), ()))
    (['a', 'b', 'c'], ['a', 'c'])
    """
    always = [slot for slot in split if slot not in absent and slot not in optional]
    others = [slot for slot in split if slot not in always]
    if not always:
        pairs = [frozenset(pair) for pair in combinations(others, 2) if not set(pair) <= set(absent)]
        return set(others) if set(pairs) <= set(equal) else set()
    found = {always[0]}
    for _ in always:
        found |= {slot for slot in always if any(frozenset((slot, one)) in equal for one in found)}
    return found | {slot for slot in others if any(frozenset((slot, one)) in equal for one in found)}
