"""The kernel of `affinely` on all slots, if nothing else limits them: no loop is needed.

Source: SEMANTICS 1.5; `stack_pairs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cartesius.columns.bodies.code_headings import heading
from cartesius.columns.loops.consumption import Consuming, Rest
from cartesius.columns.loops.stack_pairs import used_once
from cartesius.columns.stages.arrival_order import arrival, by_key
from cartesius.columns.stages.rows import nothing
from cartesius.columns.stages.stages import Outcome, State

if TYPE_CHECKING:
    from cartesius.columns.loops.loop_texts import Plan
    from cartesius.columns.stages.rows import Rows
    from cartesius.language.families import Slot
    from cartesius.storage.conservation import Fate


class Stacking(Consuming):
    """Each event is used once, the newest first, or the oldest."""

    def source(self) -> str:
        """Return the code of what is yielded, below the functions that find the candidates."""
        return heading(self.join, "stacks.used_once") + "".join(f"\n{code.text}" for code in self.body.codes[-1:])

    def tells(self, slot: Slot) -> frozenset[Fate | None]:
        """Tell nothing, as nothing leaves but what is used."""
        return frozenset()

    def find(
        self, state: State, rows: list[Rows | None], held: tuple[dict[int, Rows | None], ...], steps: int
    ) -> Outcome:
        """Match what comes with what is left."""
        present = [one for one in rows if one is not None]
        if len(present) < len(rows):
            self.codes(self.under, rows)  # an error in what is equated is one, whoever is there
            retained = [None if one is None else one.as_retained() for one in rows]
            uses = [None if one is None else np.ones(len(one), np.int64) for one in rows]
            return Outcome(nothing(), State(tuple(retained), Rest(held, tuple(uses))), 0)
        codes, count = self.codes(self.under, rows)
        lengths = [len(one) for one in present]
        firsts, slot = np.cumsum([0, *lengths[:-1]]), np.repeat(np.arange(len(rows), dtype=np.int16), lengths)
        order, n = arrival(present, steps), sum(lengths)
        code = np.concatenate(codes) if self.under else np.zeros(n, np.int64)
        if self.under:
            order = by_key(order, code, count)
            n = int((code != count - 1).sum())  # the rest meets nothing, and comes last
        key, rest = code[order[:n]], order[n:]
        used = used_once(slot[order[:n]], key, len(rows), is_oldest_first=self.shape.is_oldest_first)
        position = np.concatenate([one.position for one in present])
        step = np.full(steps, -1, np.int64)
        step[position[order[used.by]]] = np.arange(len(used.by))
        by_step = step[step >= 0]
        found = np.stack([order[one[by_step]] - first for one, first in zip(used.parts, firsts, strict=True)], axis=1)
        kept: list[Rows] = []
        for number, (one, first) in enumerate(zip(present, firsts, strict=True)):
            stays = np.sort(np.concatenate([order[used.left[number]], rest[slot[rest] == number]])) - first
            kept.append(one.take(stays).as_retained())
        after = State(tuple(kept), Rest(held, tuple([np.ones(len(one), np.int64) for one in kept])))
        return Outcome(self.flow(rows, found, []) if len(found) else nothing(), after, len(found))


def uses_each_once(plan: Plan) -> bool:
    """Whether that is all that a loop would do."""
    is_free = not (plan.condition or plan.is_guarded or plan.has_gates or any(plan.leaves))
    limits = {*plan.newest, *plan.oldest}
    return is_free and limits == {None} and set(plan.uses) == {1} and len(plan.uses) > 1
