"""Direct tree codes: what a change of one table of a join does, as the text of one function.

It finds the rows of the root that are concerned, and what each finds from there.

Source: DESIGN 4; SEMANTICS 2.2, 2.5 and 2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.direct_tables.direct_changes import DirectChange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius.direct_tables.direct_trees import Branch, TreeShape
    from cartesius.programs.steps import Steps


class DirectTreeCode(DirectChange):
    """The function of one slot, and its text."""

    def __init__(self, shape: TreeShape, steps: Steps, lateness: int | None) -> None:
        self._shape = shape
        self._own = shape.slot.index
        super().__init__(shape.join, shape.slot, steps, lateness)

    def _bound(self) -> dict[str, Any]:
        bound: dict[str, Any] = {"yields": self._join.batch.body.yields}
        for slot in self._join.slots:
            bound |= {f"probe{slot.index}_{p}": probe for p, probe in enumerate(slot.memory.probes)}
            indexes = slot.memory.parts()[1]
            bound |= {_table(slot.index, positions): table for positions, table in indexes.items()}
        return bound

    def _find_rows(self) -> None:
        if self._own == self._shape.root:
            self._find_one()
        else:
            self._find_all()

    # -- the change ----------------------------------------------------------------------------------------------------

    def _find_places(self, row: str, places: str) -> None:
        """Write it, with all values by which the row is found, or finds others."""
        memory = self._slot.memory
        for position in range(len(memory.probes)):
            self._compute(row, self._own, position)
        indexes = memory.parts()[1]
        pairs = [f"({_table(self._own, by)}, {_joined([_value(row, p) for p in by])})" for by in indexes]
        self._lines.add(f"{places} = [{', '.join(pairs)}]")
        if row == "before" and indexes:
            self._lines.add("""
                for table, place in going:
                    found = table.get(place)
                    if found is not before and not (type(found) is dict and before.number in found):
                        return steps.given_up.leave("a row has been changed since it came")
            """)

    def _compute(self, row: str, slot: int, position: int) -> None:
        name = _value(row, position)
        self._lines.add(f"""
            {name} = probe{slot}_{position}({row})
            if type({name}) is not int and type({name}) is not str:
                {name} = hashable({name})
                if not is_exact({name}):
                    return steps.given_up.leave("a key is null, or no plain value")
        """)

    # -- what is found -------------------------------------------------------------------------------------------------

    def _find(self, branches: Iterable[Branch], names: dict[int, str], suffix: str, computed: set[str]) -> None:
        """Write what finds the rows behind others, of which ``names`` has the names, and add their names.

        Args:
            branches: How they are found, those of a slot after that of its source.
            names: The name of the row of each slot.
            suffix: What the names end in.
            computed: The names of the rows of which all values are computed.
        """
        for branch in branches:
            source, name = names[branch.source], f"row{branch.slot}{suffix}"
            names[branch.slot] = name
            self._lines.add(f"{name} = None")
            may_miss = branch.source in self._shape.missing
            with self._lines.under(f"if {source} is not None:" if may_miss else ""):
                if source not in computed:
                    self._compute(source, branch.source, branch.source_position)
                self._look_up(branch, name, _value(source, branch.source_position))

    def _look_up(self, branch: Branch, name: str, by: str) -> None:
        with self._lines.under(f"if {by} is not None:" if branch.skips_null else ""):
            self._lines.add(f"{name} = {self._get(branch.slot, branch.position, by)}")
            self._lines.add(f"""
                if type({name}) is dict:
                    return steps.given_up.leave("several rows of a table have one value")
                if {name} is not None:
                    visited{branch.slot} += 1
            """)

    def _get(self, slot: int, position: int, by: str) -> str:
        is_indexed = (position,) in self._join.slots[slot].memory.parts()[1]
        return f"{_table(slot, (position,))}.get({by})" if is_indexed else f"memory{slot}.row({by})"

    def _exists(self, names: dict[int, str], slots: Iterable[int]) -> str:
        """Return what holds where no row is missing of those slots that must not."""
        return " and ".join([f"{names[slot]} is not None" for slot in slots if slot not in self._shape.missing])

    def _body(self, names: dict[int, str]) -> str:
        return f"yields([{', '.join([names[slot.index] for slot in self._join.slots])}])[0]"

    # -- the row of the key --------------------------------------------------------------------------------------------

    def _find_one(self) -> None:
        """Write what finds the one row of the join that has the key of the change, as it was and as it is."""
        self._lines.add("old = now = nothing")
        slots = [branch.slot for branch in self._shape.branches]
        names: dict[int, str] = {}
        for row, value, suffix in (("before", "old", "_was"), ("part", "now", "")):
            with self._lines.under(f"if {row} is not None:"):
                names = {self._shape.root: row}
                self._find(self._shape.branches, names, suffix, {row})
                exists = self._exists(names, slots)
                with self._lines.under(f"if {exists}:" if exists else ""):
                    self._lines.add(f"{value} = {self._body(names)}")
                    self._lines.add("tuples += 1" if value == "now" else "")
        with self._lines.under("if old is not nothing or now is not nothing:"):
            self._lines.add("shown = before if old is not nothing else part")  # its key was mentioned first
            self._tell("shown.row_key", [names[slot] for slot in slots])

    # -- the rows that name it -----------------------------------------------------------------------------------------

    def _find_all(self) -> None:
        """Write what goes through the rows of the root that name the row that changes, the newest first."""
        shape, own = self._shape, self._own
        branch, *above = shape.above(own)
        by = _value("row", branch.position)
        was, now = _value("before", branch.position), _value("part", branch.position)
        self._lines.add(f"{by} = {was} if part is None else {now}")
        if (branch.position,) in shape.slot.memory.parts()[1]:
            found = _table(own, (branch.position,))
            self._lines.add(f"""
                if {found}.get({by}) is not before or (before is not None and {was} != {by}):
                    return steps.given_up.leave("several rows of a table have one value")
            """)
        if branch.skips_null:
            self._lines.add(f"if {by} is None:\n    return steps.given_up.leave('a link is null')")
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
        below = list(shape.below(own))
        behind: dict[str, dict[int, str]] = {}
        for row, suffix in (("before", "_was"), ("part", "")):
            behind[row] = {own: row}
            names = behind[row]
            for one in below:
                self._lines.add(f"row{one.slot}{suffix} = None")
            with self._lines.under(f"if {row} is not None:" if below else ""):
                self._find(below, names, suffix, {row})
        self._each(behind, below)

    def _each(self, behind: dict[str, dict[int, str]], below: list[Branch]) -> None:
        """Write what happens to each row of the root that is concerned."""
        shape, own = self._shape, self._own
        inside = {own, *[one.slot for one in below]}
        others = [branch for branch in shape.branches if branch.slot not in inside]
        with self._lines.under("for root in found:"):
            self._lines.add(f"visited{shape.root} += 1")
            common = {shape.root: "root"}
            self._find(others, common, "_now", set())
            exists = self._exists(common, [branch.slot for branch in others])
            if exists:
                self._lines.add(f"if not ({exists}):\n    continue")
            for row, value in (("before", "old"), ("part", "now")):
                names = common | behind[row]
                exists = self._exists(names, [own, *[one.slot for one in below]])
                with self._lines.under(f"if {exists}:" if exists else ""):
                    self._lines.add(f"{value} = {self._body(names)}")
                    self._lines.add("tuples += 1" if value == "now" else "")
                if exists:
                    self._lines.add(f"else:\n    {value} = nothing")
            names = common | behind["part"]
            with self._lines.under("if old is not nothing or now is not nothing:"):
                self._tell("root.row_key", [name for slot, name in names.items() if slot != own])

    def _all(self, slot: int, position: int, by: str) -> str:
        return f"listed({self._get(slot, position, by)})"


def _table(slot: int, positions: tuple[int, ...]) -> str:
    return f"table{slot}_" + "_".join(map(str, positions))


def _value(row: str, position: int) -> str:
    return f"{row}_{position}"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
