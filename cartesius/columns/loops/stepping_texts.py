"""The text of a loop over steps: memories as lists of row numbers, and what each restriction does to them.

A step decides what each arrival displaces, takes back the candidates that contain it, changes the memories, and meets
the candidates that contain what has come; then it removes what is used up. All is numbers: ``m0_1`` is the second index
of slot 0, ``k0_b0`` the code of each of its rows in bundle 0, ``u0`` the uses left, ``f0`` what has come to it, ``d0``
what that displaces, ``p0`` its part in a candidate.

Source: ICFP 2018, doi:10.1145/3236762, Figure 10; SEMANTICS 1.2 to 1.7.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from cartesius.columns.loops.stepping_memories import MemoryWriter
from cartesius.columns.loops.stepping_plans import Needs
from cartesius.data.generated import Lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius.columns.loops.stepping_plans import Plan


class Writer(MemoryWriter):
    """Writes a loop."""

    def write(self, name: str, columns: Sequence[str]) -> str:
        """Return the text of the function ``name``; it returns the candidates found and how many there were."""
        plan, text = self.plan, self.text
        text.add("out = []\ntuples = 0")
        for slot in plan.slots:
            if plan.uses[slot] is not None:
                text.add(f"z{slot} = []")
        if plan.is_partial:
            self._partial_functions()
        with text.under("for kind, t, r in zip(kinds, steps, rows):"):
            leaving = [slot for slot in plan.slots if plan.expires[slot]]
            for number, kind in enumerate(plan.kinds):
                is_last = number == len(plan.kinds) - 1 and not leaving
                with text.under("else:" if is_last and number else f"{'elif' if number else 'if'} kind == {number}:"):
                    self._arrive(kind)
            for number, slot in enumerate(leaving, len(plan.kinds)):
                with text.under("else:" if slot == leaving[-1] else f"elif kind == {number}:"):
                    if plan.is_final and plan.may_miss[1 - slot]:
                        pair = "MISSING, r" if slot else "r, MISSING"
                        text.add(f"if missing.misses({slot}, r):\n    tuples += 1\n    out += ({pair}, t)")
                    self.remove(slot, "r", then=f"missing.finalise({slot}, r)" if plan.is_partial else "")
        text.add("return tuples, out")
        indexes = [f"m{slot}_{number}" for slot in plan.slots for number in range(len(self.indexes[slot]))]
        codes = [f"k{slot}_{atom}" for slot, atom in self.needs.codes]
        whole = Lines()
        with whole.under(f"def {name}(kinds, steps, rows, {', '.join((*columns, *codes, *indexes))}):"):
            whole.add(text.text)
        return whole.text

    def _arrive(self, kind: Sequence[int]) -> None:
        plan, text = self.plan, self.text
        come = {slot: "r" if len(kind) == 1 else f"f{slot}" for slot in kind}
        if len(kind) > 1:
            for slot in kind:
                text.add(f"f{slot} = a{slot}[r]")
        stored = [slot for slot in kind if len(kind) > 1 or not plan.leaves[slot] or plan.is_partial]
        for slot in stored:
            self.lists(slot, come[slot])
            self.decide(slot, come[slot])
        gone = {slot: f"d{slot}" for slot in stored if self.displaces(slot)}
        if plan.is_partial and not plan.is_final:
            self._arrive_partially(come, gone)
            return
        if plan.takes_back and gone:
            self._take_back(come, gone)
        for slot in stored:
            self.store(slot, come[slot])
        self._give(come)
        for slot in plan.slots:
            if plan.uses[slot] is not None:
                with text.under(f"if z{slot}:"):
                    with text.under(f"for p{slot} in z{slot}:"):
                        self.remove(slot, f"p{slot}")
                    text.add(f"z{slot}.clear()")
        if len(kind) > 1:
            for slot in kind:
                if plan.leaves[slot]:
                    self.remove(slot, come[slot])

    def _take_back(self, come: Mapping[int, str], gone: Mapping[int, str]) -> None:
        there = {slot: self.gone(slot, come[slot]) for slot in gone}
        self._meet(gone, there, is_given=False)

    def _give(self, come: Mapping[int, str]) -> None:
        there = {slot: f"d{slot} != {row}" if self.may_fail(slot) else "" for slot, row in come.items()}
        if len(come) == 1 and self.plan.leaves[next(iter(come))]:
            there = dict.fromkeys(come, "")
        self._meet(come, there, is_given=True)

    # -- candidates ----------------------------------------------------------------------------------------------------

    def _meet(self, fixed: Mapping[int, str], there: Mapping[int, str], *, is_given: bool) -> None:
        """Write what is done with all candidates that contain one of the ``fixed`` rows that are ``there``."""
        plan = self.plan
        if len(fixed) > 1:
            self._collect(list(fixed.items()), there, is_given=is_given)
            return
        ((slot, row),) = fixed.items()
        with self.text.under(there[slot] and f"if {there[slot]}:"):
            if plan.is_direct(slot):
                limited = [(slot, row)] if is_given and plan.uses[slot] is not None else []
                order = [other for other in plan.slots if other != slot]
                self._nest(order, {slot: row}, limited, is_given=is_given)
            else:
                self._collect([(slot, row)], {slot: ""}, is_given=is_given)

    def _nest(
        self, order: Sequence[int], bound: dict[int, str], limited: list[tuple[int, str]], *, is_given: bool
    ) -> None:
        plan, text = self.plan, self.text
        if not order:
            self._take(bound, limited, is_given=is_given, stops=True)
            return
        slot, *inner = order
        row = f"p{slot}"
        found = self.found(slot, bound)
        with text.under(f"for {row} in {found if plan.is_oldest_first else f'reversed({found})'}:"):
            mine = [(slot, row)] if is_given and plan.uses[slot] is not None else []
            if mine:
                text.add(f"if not u{slot}[{row}]:\n    continue")
            self._nest(inner, {**bound, slot: row}, [*limited, *mine], is_given=is_given)
            if inner and limited:
                self._leave(limited, "break")

    def _leave(self, limited: Sequence[tuple[int, str]], how: str) -> None:
        """Write that a loop goes on, or ends, once one of some rows is used up."""
        self.text.add(f"if not ({' and '.join(f'u{slot}[{row}]' for slot, row in limited)}):\n    {how}")

    def _take(
        self, bound: Mapping[int, str], limited: Sequence[tuple[int, str]], *, is_given: bool, stops: bool
    ) -> None:
        """Write what is done with a candidate; if it ``stops``, a loop ends once what is bound outside is used up."""
        plan, text = self.plan, self.text
        rows = [bound[slot] for slot in plan.slots]
        if is_given and not plan.is_final:
            text.add("tuples += 1")
        conditions = [*[plan.alone[slot] for slot in plan.slots if plan.is_final], plan.condition]
        near = " and ".join([one.format(*rows) for one in conditions if one])
        with text.under(near and f"if {near}:"):
            text.add("tuples += 1" if is_given and plan.is_final else "")
            text.add(f"out += ({', '.join(rows)}, {'t' if is_given else '~t'})")
            for slot, row in limited:
                is_last = "" if plan.uses[slot] == 1 else f"if not u{slot}[{row}]: "
                text.add(f"u{slot}[{row}] -= 1\n{is_last}z{slot}.append({row})")
            innermost = next((slot for slot in reversed(list(bound)) if bound[slot] == f"p{slot}"), None)
            outside = [one for one in limited if one[0] != innermost]
            if stops and innermost is not None and outside:
                self._leave(outside, "break")

    def _collect(self, fixed: Sequence[tuple[int, str]], there: Mapping[int, str], *, is_given: bool) -> None:
        """Write that candidates are found by indexes, and brought into order before anything is done with them."""
        plan, text = self.plan, self.text
        text.add("found = []")
        for place, (slot, row) in enumerate(fixed):
            bound = {slot: row}
            before = dict(fixed[:place])  # a candidate with several of them belongs to the first
            with ExitStack() as nested:
                nested.enter_context(text.under(there[slot] and f"if {there[slot]}:"))
                for other in plan.walk(slot):
                    nested.enter_context(text.under(f"for p{other} in {self.found(other, bound)}:"))
                    if other in before:
                        text.add(f"if p{other} == {before[other]}:\n    continue")
                    bound[other] = f"p{other}"
                text.add(f"found.append(({', '.join(bound[one] for one in plan.slots)},))")
        text.add("found.sort()" if plan.is_oldest_first else "found.sort(reverse=True)")
        parts = {slot: f"p{slot}" for slot in plan.slots}
        with text.under(f"for {', '.join(parts.values())}, in found:"):
            limited = [(slot, row) for slot, row in parts.items() if is_given and plan.uses[slot] is not None]
            if limited:
                self._leave(limited, "continue")
            self._take(parts, limited, is_given=is_given, stops=False)

    # -- missing parts -------------------------------------------------------------------------------------------------

    def _partial_functions(self) -> None:
        """Write what `missing_parts.Missing` needs to know."""
        plan, text = self.plan, self.text
        for slot in plan.slots:
            other = 1 - slot
            text.add(f"def near{slot}(p):\n    return {self.found(slot, {other: 'p'})}")
            is_alone = plan.alone[slot].format(*["p"] * len(plan.slots)) or "True"
            text.add(f"def alone{slot}(p):\n    return {is_alone}")
        text.add(f"def fits(p0, p1):\n    return {plan.condition.format('p0', 'p1') or 'True'}")
        text.add("missing = Missing((near0, near1), (alone0, alone1), fits, met=met)")

    def _arrive_partially(self, come: Mapping[int, str], gone: Mapping[int, str]) -> None:
        """Write that the rows with what comes, or without what goes, are compared before and after."""
        plan, text = self.plan, self.text
        fresh = ", ".join(self._fresh(slot, come) for slot in plan.slots)
        left = ", ".join(
            f"(d{slot} if {self.gone(slot, come[slot])} else -1)" if slot in gone else "-1" for slot in plan.slots
        )
        text.add(f"fresh, gone = ({fresh}), ({left})")
        text.add("before = missing.around(gone, fresh)")
        for slot in come:
            self.store(slot, come[slot])
        text.add("tuples += missing.changed(before, missing.around(fresh, gone), t, out)")

    def _fresh(self, slot: int, come: Mapping[int, str]) -> str:
        if slot not in come:
            return "-1"
        return f"(-1 if d{slot} == {come[slot]} else {come[slot]})" if self.may_fail(slot) else come[slot]


def written(plan: Plan, name: str, columns: Sequence[str]) -> tuple[str, Needs]:
    """Return the text of a loop, the function ``name``, and what it needs beside the ``columns``.

    The function takes the kind, the step and the row of what comes and goes, the columns, the codes and the indexes.
    """
    needs = Needs(tuple([[] for _ in plan.slots]))
    for _ in range(2):  # the first time finds out what is needed
        text = Writer(plan, needs).write(name, columns)
        for mine in needs.indexes:
            if not mine:
                mine.append(())
    return text, needs
