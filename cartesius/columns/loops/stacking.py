"""The kernel of `affinely` on all slots, if nothing else limits them: no loop is needed.

A result comes whenever the slot of which fewest have come gets another; so a slot always has as many events left as it
is ahead of that one. What is left of it is a stack (oldest first: a queue), and what comes and what is taken is matched
as brackets are: at each height they alternate.

Invariant: of one key, some slot has nothing left; what is retained has its one use left.

Source: ICFP 2018, doi:10.1145/3236762, section 4.4.1 and Table 3 (affinely on all); SEMANTICS 1.5 and 1.17.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columns.bodies.coding import codes_under
from cartesius.columns.bodies.computed import linking
from cartesius.columns.bodies.vectorising import ColumnarBody, heading
from cartesius.columns.stages.candidates import Parts
from cartesius.columns.stages.rows import all_of, arrival, by_key, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State
from cartesius.columns.stages.stored_rows import check_noted, rows_of
from cartesius.columns.streams.gate_columns import filtered
from cartesius.columns.streams.shapes import OF_LOCKSTEP, Shape, shape_of
from cartesius.columns.streams.zipping import flow_of
from cartesius.columns.vectors.ordering import by_code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.vectors.vectors import Ints, Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.plan.nodes import Node


class Stacking(Stage):
    """Each event is used once, the newest first, or the oldest."""

    is_in_memory = True
    costs = 1 / 8

    def __init__(self, join: Join, shape: Shape) -> None:
        super().__init__(join)
        self.shape = shape
        self.body = ColumnarBody(join, linking(join))
        self.keys = [shape.keys.own(slot.index) for slot in join.slots]

    def source(self) -> str:
        """Return the code of what is yielded, below the functions that find the candidates."""
        return heading(self.join, "stacks.used_once") + "".join(f"\n{code.text}" for code in self.body.codes[-1:])

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return the memories."""
        retained = []
        for slot in self.join.slots:
            entries = list(slot.memory.all())
            check_noted(entries, {"uses"})
            retained.append(rows_of(slot, entries, arriving.get(slot.index)))
        return State(tuple(retained))

    def store(self, state: State, stored: set[int]) -> None:
        """Store the memories, and that each event may be used."""
        super().store(state, stored)
        for slot in self.join.slots:
            for entry in slot.memory.all():
                entry.uses = 1

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return what is equal in parts that meet."""
        in_windows = self.join.bindings.window_space  # what comes may come to several
        keys = [one for one in self.shape.components if one.space is None or one.space != in_windows]
        return keys[0].columns[slot](rows) if keys else None

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Match what comes with what is left."""
        if not any(map(len, arriving.values())):
            return Outcome(nothing(), state, 0)
        rows: list[Rows | None] = []
        for slot, before in zip(self.join.slots, state.retained, strict=True):
            rows.append(all_of(before, filtered(self.shape, slot, arriving.get(slot.index))))
        codes, count = self._codes(rows)
        present = [one for one in rows if one is not None]
        if len(present) < len(rows):
            return Outcome(nothing(), State(tuple([None if one is None else one.as_retained() for one in rows])), 0)
        lengths = [len(one) for one in present]
        firsts, slots = np.cumsum([0, *lengths[:-1]]), np.repeat(np.arange(len(rows), dtype=np.int16), lengths)
        order, n = arrival(present, moment.steps), sum(lengths)
        code = np.concatenate(codes) if codes else np.zeros(n, np.int64)
        if codes:
            order = by_key(order, code, count)
            n = int((code != count - 1).sum())  # the rest meets nothing, and comes last
        key, rest = code[order[:n]], order[n:]
        used = used_once(slots[order[:n]], key, len(rows), is_oldest_first=self.shape.is_oldest_first)
        position = np.concatenate([one.position for one in present])
        step = np.full(moment.steps, -1, np.int64)
        step[position[order[used.by]]] = np.arange(len(used.by))
        by_step = step[step >= 0]
        kept, parts_ = [], []
        for number, (one, first) in enumerate(zip(present, firsts, strict=True)):
            stays = np.sort(np.concatenate([order[used.left[number]], rest[slots[rest] == number]])) - first
            kept.append(one.take(stays).as_retained())
            own = self.keys[number]
            found = order[used.parts[number][by_step]] - first
            parts_.append(Parts(one, found, key=None if own is None else own(one)))
        flow = flow_of(self.body, parts_, np.flatnonzero(step >= 0)) if len(by_step) else nothing()
        return Outcome(flow, State(tuple(kept)), len(by_step))

    def _codes(self, rows: list[Rows | None]) -> tuple[list[NDArray[np.int64]], int]:
        """Return the codes under which rows meet, and how many there are; none if all meet."""
        if not self.shape.components or all(one is None for one in rows):
            return [], 0
        return codes_under(self.shape.components, rows)  # whoever is there: an error in what is equated is one


def stacking_stage(join: Join, known: frozenset[type[Node]] = OF_LOCKSTEP) -> Stage | None:
    """Return the stage of a product of streams of which each event is used once, and that is all."""
    shape = shape_of(join, known)
    if not isinstance(shape, Shape) or shape.aligned or len(shape.slots) == 1 or join.pattern.is_generator:
        return None
    if {(one.uses, one.newest, one.leaves) for one in shape.slots} != {(1, None, False)}:
        return None
    stage = Stacking(join, shape)
    return None if stage.body.has_condition else stage


@attrs.frozen(eq=False)
class Used:
    """What is used of some rows.

    Args:
        by: Which rows make the results, one each.
        parts: Of each slot: the parts of the results.
        left: Of each slot: the rows that are not used.
    """

    by: Ints
    parts: list[Ints]
    left: list[Ints]


def used_once(slot: NDArray[Any], key: Ints, n: int, *, is_oldest_first: bool) -> Used:
    """Return what meets, and what is left.

    >>> import numpy as np
    >>> used = used_once(np.array([0, 0, 1, 1]), np.zeros(4, int), 2, is_oldest_first=False)  # L1 L2 R1 R2
    >>> used.by, used.parts
    (array([2, 3]), [array([1, 0]), array([2, 3])])

    Args:
        slot: The slot of each row, in the order of arrival, key by key.
        key: The code of its key, ascending.
        n: How many slots there are, at least two.
        is_oldest_first: Whether the oldest is used first.
    """
    begins, group = _groups(key)
    mine = [slot == number for number in range(n)]
    so_far = [np.cumsum(one, dtype=np.int32) for one in mine]
    before = [all_[begins] - one[begins] for all_, one in zip(so_far, mine, strict=True)]  # of earlier keys
    came = so_far
    if group is not None:
        came = [all_ - earlier[group] for all_, earlier in zip(so_far, before, strict=True)]
    least = came[0]
    for one in came[1:]:
        least = np.minimum(least, one)
    is_last = np.zeros(len(slot), np.bool_)
    np.greater(least[1:], least[:-1], out=is_last[1:])  # where a key begins it is 0
    by = np.flatnonzero(is_last)
    parts, left = [], []
    for number in range(n):
        if is_oldest_first:
            rows = np.flatnonzero(mine[number])
            parts.append(rows[(0 if group is None else before[number][group[by]]) + least[by] - 1])
            at_the_end = least[np.append(begins[1:], len(slot)) - 1] if len(slot) else least
            is_left = came[number] > (at_the_end if group is None else at_the_end[group])
            left.append(np.flatnonzero(mine[number] & is_left))
        else:
            taken, stays = _matched(mine[number], is_last, came[number] - least, group)
            parts.append(np.where(mine[number][by], by, taken[by]))
            left.append(stays)
    return Used(by, parts, left)


def _groups(key: Ints) -> tuple[Ints, Ints | None]:
    """Return where each key begins, and the number of the key of each row; None if there is one key."""
    if not len(key) or key[0] == key[-1]:
        return np.zeros(min(len(key), 1), np.int64), None
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    return begins, np.repeat(np.arange(len(begins)), np.diff(begins, append=len(key)))


def _matched(
    is_mine: NDArray[np.bool_], is_last: NDArray[np.bool_], height: NDArray[np.int32], group: Ints | None
) -> tuple[Ints, Ints]:
    """Return what is taken of a stack by each row that makes a result, and what stays, in order.

    Args:
        is_mine: Which rows come to it.
        is_last: Which rows make a result: one of its own is used at once, one of another slot takes the newest.
        height: Its height after each row.
        group: The key of each row.
    """
    changes = np.flatnonzero(is_mine != is_last)
    level = height[changes] - is_mine[changes]
    most = int(level.max(initial=0))
    if most:
        place = level if group is None else group[changes] * (most + 1) + level
        changes = changes[by_code(place, int(place.max()) + 1)]
    takes = is_last[changes]
    places = np.flatnonzero(takes)
    taken = np.zeros(len(is_mine), np.int64)
    taken[changes[places]] = changes[places - 1]
    is_taken = np.append(takes[1:], [False]) if len(takes) else takes
    return taken, np.sort(changes[~takes & ~is_taken])
