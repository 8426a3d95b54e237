"""Direct trees: what a push into one table of a join does whose rows are found one by one, as the text of one function.

The rows of the join have the key of one slot, the *root*, which is the first of three or more; every other slot is
linked by one equality with one that is nearer to the root, and of it at most one row matches. So rule packs are. A push
into the root concerns one row of the join, a push into another slot those whose roots name it, by way of what is
between them.

Invariant: a shape says of a slot all that a change of its table does.

Source: DESIGN 4; SEMANTICS 2.2, 2.5 and 2.6.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Unpack

import attrs

from cartesius.direct.direct_changes import JoinChange, optional_slots, why_as_written
from cartesius.direct.direct_places import hashed, joined, table_name
from cartesius.expressions.expression_texts import Texts
from cartesius.expressions.expressions import Expression, Field, Part
from cartesius.plan.nodes import AsTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.direct.direct_texts import Link, Make
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program
    from cartesius.rows.enumeration import Link as Equality

TWO: Final = 2


@attrs.frozen
class Branch:
    """How the one row of a slot is found from that of another."""

    slot: int
    position: int  # of the value that is equal
    source: int
    source_position: int
    skips_null: bool


@attrs.frozen(eq=False)
class TreeShape:
    """What a change of one table of a join of several does."""

    join: Join
    slot: Slot
    root: int
    branches: tuple[Branch, ...]  # those of a slot after that of its source
    missing: frozenset[int]  # the slots of which there may be no row

    def below(self, slot: int) -> Iterator[Branch]:
        """Iterate over the branches that lead away from the root behind a slot, in order."""
        reached = {slot}
        for branch in self.branches:
            if branch.source in reached:
                reached.add(branch.slot)
                yield branch

    def above(self, slot: int) -> Iterator[Branch]:
        """Iterate over the branches from a slot back to the root."""
        while slot != self.root:
            branch = next(branch for branch in self.branches if branch.slot == slot)
            yield branch
            slot = branch.source


def tree_of(program: Program, join: Join, slot: Slot, *, is_followed: bool) -> Make | str:
    """Return what makes the function of one table, or why it needs all of the handlers."""
    if reason := why_as_written(program, join, slot, is_followed=is_followed):
        return reason
    keys = [(one.restriction, one.node.key) for one in join.installed if isinstance(one.node, AsTable)]
    named = [join.bindings.find(key, one) for one, key in keys if isinstance(key, str)]
    if len(keys) != 1 or len(named) != 1:
        return "its rows do not have the keys of one slot"
    root, count, missing = named[0][0].index, len(join.slots), optional_slots(join)
    branches = _branches(join.bindings.links, count, root)
    if branches is None or root in missing or (root > 0 and count > TWO):
        return "not every row is found by its key, and what that names"
    return partial(TreeChange, TreeShape(join, slot, root, branches, missing))


def _branches(links: list[Equality], count: int, root: int) -> tuple[Branch, ...] | None:
    """Return the links as branches of a tree; None if they are none."""
    branches: list[Branch] = []
    reached, queue = {root}, [root]
    while queue:
        source = queue.pop(0)
        for link in links:
            seen = link.seen_from(source)
            if seen is None or any({b.slot, b.source} == {link.left, link.right} for b in branches):
                continue
            position, other, other_position = seen
            if other in reached:
                return None
            reached.add(other)
            queue.append(other)
            branches.append(Branch(other, other_position, source, position, link.skips_null))
    return tuple(branches) if len(branches) == len(links) == count - 1 else None


class TreeChange(JoinChange):
    """The function of one slot, and its text."""

    def __init__(self, shape: TreeShape, **link: Unpack[Link]) -> None:
        super().__init__(shape.join, shape.slot, **link)
        self._shape = shape
        for slot in shape.join.slots:
            self._scope |= {f"probe{slot.index}_{p}": probe for p, probe in enumerate(slot.memory.probes)}
        self._scope |= {"listed": listed, "number_of": attrgetter("number")}

    # -- the change ----------------------------------------------------------------------------------------------------

    def _find_places(self, row: str, places: str) -> None:
        """Write it, with all values by which the row is found, or finds others."""
        memory = self._slot.memory
        for position in range(len(memory.probes)):
            self._compute(row, self._own, position)
        indexes = memory.parts()[1]
        pairs = [f"({table_name(self._own, by)}, {joined([_value(row, p) for p in by])})" for by in indexes]
        self._lines.add(f"{places} = [{', '.join(pairs)}]")
        if row == "before" and indexes:
            self._lines.add("""
                for table, place in going:
                    found = table.get(place)
                    if found is not before and not (type(found) is dict and before.number in found):
                        raise LeftToClauses("a row has been changed since it came")
            """)

    def _compute(self, row: str, slot: int, position: int) -> None:
        name, linked = _value(row, position), self.join.bindings.linked.get((slot, position))
        is_field = isinstance(linked, Field) and isinstance(linked.target, Part)
        text = self._text(linked, {slot: row}) if is_field else f"probe{slot}_{position}({row})"
        self._lines.add(f"{name} = {text}")
        leave = 'raise LeftToClauses("a key is null, or no plain value")'
        self._lines.add(f"{hashed(name)}\n    if not is_exact({name}):\n        {leave}")

    # -- what is found -------------------------------------------------------------------------------------------------

    def _find(self, branches: Iterable[Branch], names: dict[int, str], suffix: str, computed: set[str]) -> None:
        """Write what finds the rows behind others, of which ``names`` has the names, and add their names.

        Args:
            branches: How they are found, those of a slot after that of its source.
            names: The name of the row of each slot.
            suffix: What the names end in.
            computed: The names of the rows of which all values are computed.
        """
        given = {*names.values()}
        for branch in branches:
            source, name = names[branch.source], f"row{branch.slot}{suffix}"
            names[branch.slot] = name
            self._lines.add(f"{name} = None")
            may_miss = branch.source in self._shape.missing or source not in given
            with self._lines.under(f"if {source} is not None:" if may_miss else ""):
                if source not in computed:
                    self._compute(source, branch.source, branch.source_position)
                self._look_up(branch, name, _value(source, branch.source_position))

    def _look_up(self, branch: Branch, name: str, by: str) -> None:
        with self._lines.under(f"if {by} is not None:" if branch.skips_null else ""):
            self._lines.add(f"{name} = {self._get(branch.slot, branch.position, by)}")
            self._lines.add(f"""
                if type({name}) is dict:
                    raise LeftToClauses("several rows of a table have one value")
                if {name} is not None:
                    visited{branch.slot} += 1
            """)

    def _get(self, slot: int, position: int, by: str) -> str:
        is_indexed = (position,) in self.join.slots[slot].memory.parts()[1]
        return f"{table_name(slot, (position,))}.get({by})" if is_indexed else f"memory{slot}.row({by})"

    def _exists(self, names: dict[int, str], slots: Iterable[int]) -> str:
        """Return what holds where no row is missing of those slots that must not."""
        return " and ".join([f"{names[slot]} is not None" for slot in slots if slot not in self._shape.missing])

    def _body(self, names: dict[int, str]) -> str:
        pattern = self.join.pattern
        if isinstance(pattern.yields, Expression) and not self._shape.missing and not pattern.is_generator:
            return self._text(pattern.yields, names)
        return f"yields([{', '.join([names[slot.index] for slot in self.join.slots])}])[0]"

    def _text(self, expression: Any, names: dict[int, str]) -> str:
        """Return the text of an expression over rows, of which it is given the names."""
        return Texts({slot.name: slot.index for slot in self.join.slots}, self._constants, names).of(expression)

    # -- the rows of the root ------------------------------------------------------------------------------------------

    def _find_rows(self) -> None:
        shape, own, part = self._shape, self._own, self._part
        is_root = own == shape.root
        if not is_root:
            self._find_roots()
        below = list(shape.below(own))
        inside = [own, *[one.slot for one in below]]
        behind = {row: {own: row} for row in ("before", part)}
        for (row, names), suffix in zip(behind.items(), ("_was", ""), strict=True):
            for one in below if own in shape.missing else ():
                self._lines.add(f"row{one.slot}{suffix} = None")
            with self._lines.under(f"if {row} is not None:" if below else ""):
                self._find(below, names, suffix, {row})
        with self._lines.under("" if is_root else "for root in found:"):
            common = {} if is_root else {shape.root: "root"}
            others = [branch for branch in shape.branches if branch.slot not in inside]
            self._lines.add("" if is_root else f"visited{shape.root} += 1")
            self._find(others, common, "_now", set())
            exists = self._exists(common, [branch.slot for branch in others])
            self._lines.add(f"if not ({exists}):\n    continue" if exists else "")
            for row, value in (("before", "old"), (part, "now")):
                names = common | behind[row]
                exists = self._exists(names, inside)
                with self._lines.under(f"if {exists}:" if exists else ""):
                    self._lines.add(f"{value} = {self._body(names)}")
                    self._lines.add("tuples += 1" if value == "now" else "")
                self._lines.add(f"else:\n    {value} = nothing" if exists else "")
            with self._lines.under("if old is not nothing or now is not nothing:"):
                self._lines.add(f"root = before if old is not nothing else {part}" if is_root else "")  # named first
                self._tell("root.row_key", [name for slot, name in names.items() if slot != own])

    def _find_roots(self) -> None:
        """Write what finds the rows of the root that name the row that changes, the newest first."""
        shape, own = self._shape, self._own
        branch, *above = shape.above(own)
        by = _value("row", branch.position)
        was, now = _value("before", branch.position), _value(self._part, branch.position)
        self._lines.add(f"{by} = {was} if {self._part} is None else {now}")
        if (branch.position,) in shape.slot.memory.parts()[1]:
            found = table_name(own, (branch.position,))
            self._lines.add(f"""
                if {found}.get({by}) is not before or (before is not None and {was} != {by}):
                    raise LeftToClauses("several rows of a table have one value")
            """)
        if branch.skips_null:
            self._lines.add(f"if {by} is None:\n    raise LeftToClauses('a link is null')")
        self._lines.add(f"found = {self._all(branch.source, branch.source_position, by)}")
        for further in above:
            self._lines.add("nearer = []")
            with self._lines.under("for row in found:"):
                self._compute("row", further.slot, further.position)
                by = _value("row", further.position)
                with self._lines.under(f"if {by} is not None:" if further.skips_null else ""):
                    self._lines.add(f"nearer += {self._all(further.source, further.source_position, by)}")
            self._lines.add("found = nearer")
        self._lines.add("found.sort(key=number_of, reverse=True)" if above else "found.reverse()")

    def _all(self, slot: int, position: int, by: str) -> str:
        return f"listed({self._get(slot, position, by)})"


def _value(row: str, position: int) -> str:
    return f"{row}_{position}"


def listed(found: Any) -> list[Entry]:
    """Return what an index has under a key as a list, the oldest first."""
    if found is None:
        return []
    return list(found.values()) if type(found) is dict else [found]
