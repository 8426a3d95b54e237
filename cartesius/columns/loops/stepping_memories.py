"""The text of what a step does to memories: what comes is stored, and displaces what restrictions say.

Invariant: lists are in order of arrival; what is stored is in all indexes of its slot, and in no other.

Source: SEMANTICS 1.2, 1.6 and 1.13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.data.generated import Lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.columns.loops.stepping_plans import Atoms, Needs, Plan


class MemoryWriter:
    """Writes what a step does to memories.

    Args:
        plan: What it is written for.
        needs: What it needs; what turns out to be needed is added.
    """

    def __init__(self, plan: Plan, needs: Needs) -> None:
        self.plan = plan
        self.needs = needs
        self.indexes = needs.indexes
        self.text = Lines()

    def index(self, slot: int, atoms: Atoms) -> str:
        """Return the name of an index, which is needed from now on."""
        mine = self.indexes[slot]
        if atoms not in mine:
            mine.append(atoms)
        return f"m{slot}_{mine.index(atoms)}"

    def code(self, slot: int, atom: str, row: str) -> str:
        """Return the text of a code of a row."""
        self.needs.codes[slot, atom] = None
        return f"k{slot}_{atom}[{row}]"

    def key(self, slot: int, atoms: Atoms, row: str) -> str:
        """Return the text of the key of a row in an index."""
        codes = [self.code(slot, atom, row) for atom in atoms]
        return codes[0] if len(codes) == 1 else f"({', '.join(codes)})"

    def found(self, slot: int, bound: Mapping[int, str]) -> str:
        """Return the text of the list of what a slot has for what is bound."""
        atoms = self.plan.lookup(slot, list(bound))
        index = self.index(slot, atoms)
        if not atoms:
            return index
        codes = []
        for atom in atoms:
            slots = self.plan.bundles[int(atom[1:])]
            other = next(one for one in bound if one in slots)
            codes.append(self.code(other, atom, bound[other]))
        return f"{index}.get({codes[0] if len(codes) == 1 else '(' + ', '.join(codes) + ')'}, ())"

    def remove(self, slot: int, row: str, then: str = "") -> None:
        """Remove a row, if it is there; ``then`` is done if it was."""
        for number, atoms in enumerate(self.indexes[slot]):
            index = self.index(slot, atoms)
            call = f"drop({f'{index}.get({self.key(slot, atoms, row)}, ())' if atoms else index}, {row})"
            if not then or number:
                self.text.add(call)
                continue
            self.text.add(f"if {call}:\n    {then}")

    def lists(self, slot: int, row: str) -> None:
        """Let ``q`` be the lists in which a row is to be."""
        for number, atoms in enumerate(self.indexes[slot]):
            index = self.index(slot, atoms)
            if not atoms:
                self.text.add(f"q{slot}_{number} = {index}")
                continue
            self.text.add(f"k = {self.key(slot, atoms, row)}\nq{slot}_{number} = {index}.get(k)")
            self.text.add(f"if q{slot}_{number} is None:\n    q{slot}_{number} = {index}[k] = []")

    def decide(self, slot: int, row: str) -> None:
        """Let ``d`` be what an arrival displaces, which may be itself; -1 if nothing."""
        for place, rule in enumerate(self.plan.rules[slot]):
            self.index(slot, rule.atoms)
            mine = f"q{slot}_{self.indexes[slot].index(rule.atoms)}"
            gone = f"{mine}[0]" if rule.is_newest else row
            is_full = f"len({mine}) >= {rule.n}"
            if place == 0:
                self.text.add(f"d{slot} = {gone} if {is_full} else -1")
            else:
                self.text.add(f"if d{slot} < 0 and {is_full}:\n    d{slot} = {gone}")

    def displaces(self, slot: int) -> bool:
        """Whether an arrival may displace what was there before."""
        return any(rule.is_newest for rule in self.plan.rules[slot])

    def may_fail(self, slot: int) -> bool:
        """Whether an arrival may be displaced at once."""
        return any(not rule.is_newest for rule in self.plan.rules[slot])

    def store(self, slot: int, row: str) -> None:
        """Store a row, unless it is displaced itself; what it displaces leaves."""
        text, rules = self.text, self.plan.rules[slot]
        if self.displaces(slot):
            with text.under(f"if {self.gone(slot, row)}:"):
                for number, atoms in enumerate(self.indexes[slot]):
                    if len(rules) == 1 and atoms == rules[0].atoms:
                        text.add(f"del q{slot}_{number}[0]")
                        continue
                    index = self.index(slot, atoms)
                    key = self.key(slot, atoms, f"d{slot}") if atoms else ""
                    text.add(f"drop({index}[{key}], d{slot})" if atoms else f"drop({index}, d{slot})")
        with text.under(f"if d{slot} != {row}:" if self.may_fail(slot) else ""):
            for number in range(len(self.indexes[slot])):
                text.add(f"q{slot}_{number}.append({row})")

    def gone(self, slot: int, row: str) -> str:
        """Return the text for whether an arrival displaces what was there before."""
        return f"d{slot} >= 0 and d{slot} != {row}" if self.may_fail(slot) else f"d{slot} >= 0"
