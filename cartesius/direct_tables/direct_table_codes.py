"""Direct table codes: what a change of one table of a join does, as the text of one function.

It finds the one row of the join that has the key of the change, or those rows that name it.

Source: DESIGN 4; SEMANTICS 2.2, 2.5 and 2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.direct_tables.direct_changes import DirectChange
from cartesius.expressions.expressions import Constant, Part, Tuple

if TYPE_CHECKING:
    from cartesius.direct_tables.joined_tables import TableShape
    from cartesius.expressions.expressions import Expression
    from cartesius.programs.steps import Steps


class DirectTableCode(DirectChange):
    """The function of one slot, and its text."""

    def __init__(self, shape: TableShape, steps: Steps, lateness: int | None) -> None:
        self._shape = shape
        self._partners, self._visited = f"memory{shape.other.index}", f"visited{shape.other.index}"
        self._by_value = shape.positions[shape.slot.index] is not None
        self._finds_by_value = shape.positions[shape.other.index] is not None
        super().__init__(shape.join, shape.slot, steps, lateness)

    def _bound(self) -> dict[str, Any]:
        bound: dict[str, Any] = {}
        for name, one in (("own", self._shape.slot), ("other", self._shape.other)):
            position = self._shape.positions[one.index]
            if position is not None:
                bound |= {f"{name}_value": one.memory.probes[position]}
                bound |= {f"{name}_index": one.memory.parts()[1][position,]}
        return bound

    def _find_places(self, row: str, places: str) -> None:
        self._lines.add(f"{places} = memory.{'places_of' if row == 'before' else 'places'}({row})")

    def _find_rows(self) -> None:
        if self._shape.is_keyed:
            self._find_one()
        else:
            self._find_all()

    # -- the row of the key --------------------------------------------------------------------------------------------

    def _find_one(self) -> None:
        """Write what finds the one row of the join that has the key of the change, as it was and as it is."""
        if not self._by_value:
            self._find("key", "other")
            self._lines.add("partner = other")
        self._lines.add("old = now = nothing")
        for row, value, partner in (("before", "old", "partner"), ("part", "now", "other")):
            with self._lines.under(f"if {row} is not None:"):
                if self._by_value:
                    self._value_of(row)
                    self._find("by", partner)
                self._make(value, row, partner)
            if len(self._shape.missing) > 1:
                self._lines.add(f"elif {partner} is not None:\n    {value} = {self._text(None, partner)}")
        self._lines.add("""
            if now is not nothing:
                tuples += 1
        """)
        first = "partner" if self._shape.keyed[0] != self._shape.slot.index else "before"
        with self._lines.under("if old is not nothing or now is not nothing:"):
            if len(self._shape.missing) > 1:
                self._lines.add(f"""
                    there = before if old is not nothing else part
                    shown = {"there or other" if first == "before" else "other or there"}
                """)
            else:
                self._lines.add("shown = before if old is not nothing else part")
            self._tell("shown.row_key", ["other"])

    def _value_of(self, row: str) -> None:
        """Write what computes the value by which a row is linked with the other slot."""
        self._lines.add(f"""
            by = own_value({row})
            if type(by) is not int and type(by) is not str:
                by = hashable(by)
                if not is_exact(by):
                    return steps.given_up.leave("a key is null, or no plain value")
        """)

    def _find(self, key: str, partner: str) -> None:
        """Write what finds the one partner, or none."""
        found = f"other_index.get({key})" if self._finds_by_value else f"{self._partners}.row({key})"
        may_be_null = self._shape.skips_null and key == "by"
        self._lines.add(f"{partner} = {f'None if by is None else {found}' if may_be_null else found}")
        if self._finds_by_value:
            self._lines.add(f"""
                if type({partner}) is dict:
                    return steps.given_up.leave("several rows of a table have one value")
            """)
        self._lines.add(f"""
            if {partner} is not None:
                {self._visited} += 1
        """)

    def _make(self, value: str, row: str, partner: str) -> None:
        """Write what makes the value of a row of the join, if there is one."""
        other = self._shape.other.index
        self._lines.add(f"if {partner} is not None:\n    {value} = {self._text(row, partner)}")
        if other in self._shape.missing:
            self._lines.add(f"else:\n    {value} = {self._text(row, None)}")

    # -- the rows that name it -----------------------------------------------------------------------------------------

    def _find_all(self) -> None:
        """Write what goes through the rows that name the row that changes, the newest first."""
        if self._by_value:
            self._check_alone()
        key = "by" if self._by_value else "key"
        if self._finds_by_value:
            self._lines.add(f"""
                found = other_index.get({key})
                if found is None:
                    found = ()
                elif type(found) is dict:
                    found = reversed(found.values())
                else:
                    found = (found,)
            """)
        else:
            self._lines.add(f"""
                other = {self._partners}.row({key})
                found = () if other is None else (other,)
            """)
        may_miss = self._shape.slot.index in self._shape.missing
        with self._lines.under("for other in found:"):
            self._lines.add(f"{self._visited} += 1")
            for row, value in (("before", "old"), ("part", "now")):
                self._lines.add(f"""
                    if {row} is not None:
                        {value} = {self._text(row, "other")}
                    else:
                        {value} = {self._text(None, "other") if may_miss else "nothing"}
                """)
            self._lines.add("tuples += 1" if may_miss else "tuples += part is not None")
            self._tell("other.row_key", ["other"])

    def _check_alone(self) -> None:
        """Write what sees to it that no other row has the value by which this one is found, now and before."""
        for row, then in (("before", "was = by"), ("part", "")):
            with self._lines.under(f"if {row} is not None:"):
                self._value_of(row)
                self._lines.add(then)
        null = "by is None or " if self._shape.skips_null else ""
        self._lines.add(f"""
            if {null}own_index.get(by) is not before or (before is not None and was != by):
                return steps.given_up.leave("several rows of a table have one value")
        """)

    def _text(self, row: str | None, partner: str | None) -> str:
        """Return the text of what the body yields for a row of the slot and its partner, None where it is missing."""
        own, pattern = self._shape.slot, self._join.pattern
        parts = [row, partner] if own.index == 0 else [partner, row]
        names = {slot.name: part for slot, part in zip(self._join.slots, parts, strict=True)}
        simple = _simple(pattern.yields)
        if simple is None:
            return f"{self._constants.name(self._join.batch.body.yields)}([{', '.join(map(str, parts))}])[0]"
        items = [self._constants.name(i.value) if isinstance(i, Constant) else _value(names[i.slot]) for i in simple]
        return f"({''.join(f'{item}, ' for item in items)})" if isinstance(pattern.yields, Tuple) else items[0]


def _simple(yields: Any) -> list[Part | Constant] | None:
    """Return what a body yields, if that is made of its parts alone."""
    items: tuple[Expression, ...] = yields.items if isinstance(yields, Tuple) else (yields,)
    found = [item for item in items if isinstance(item, Part | Constant)]
    return found if len(found) == len(items) else None


def _value(part: str | None) -> str:
    return "None" if part is None else f"{part}.value"
