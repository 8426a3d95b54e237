"""The law itself: one program, run in all ways, and what is told where they differ."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

from cartesius.core import direct_pushes
from tests.laws.catalogue_bridge import run_on_bridge
from tests.laws.catalogue_rows import ATTEMPTS, TooMany, bounded, rows_of, text_of
from tests.laws.catalogue_tiers import (
    Advance,
    Difference,
    Restore,
    Rows,
    Step,
    compare,
    reference_of,
    steps_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from tests.laws.catalogue import Program
    from tests.oracle.tier_programs import Row


class Checked(NamedTuple):
    """What came of a program."""

    gave_results: bool
    buckets: int | None
    """In how many buckets it ran; 0: the bridge declines it; None: it was not asked."""


TRIES = 400
"""How often less is tried where something differs."""


def check(program: Program, seed: str, *, on_bridge: bool = False, is_lessened: bool = True) -> Checked:
    """Run a program in all ways; return what came of it, raise `Difference` where two ways differ.

    It gets other rows, up to a few times, as long as nothing comes of them; one of which too much comes is left out.
    """
    for attempt in range(ATTEMPTS):
        rows = rows_of(program, f"{seed}/{attempt}")
        steps = steps_of(rows, seed)
        try:
            with bounded():
                reference = reference_of(program, steps)
            if not reference.gave_results and not reference.has_raised:
                continue
            with often_through_clauses(seed):
                compare(program, steps, reference, seed)
        except TooMany:
            break
        except Exception as error:  # of any kind: it is told with the program
            fewer, told = (
                lessened(steps, error, lambda some: _run(program, some, seed)) if is_lessened else (steps, error)
            )
            message = f"{seed}\n{program.text}\n{shown(fewer)}\n{type(told).__name__}: {told}"
            raise Difference(message) from told
        return Checked(reference.gave_results, check_on_bridge(program, rows, seed) if on_bridge else None)
    return Checked(gave_results=False, buckets=None)


def _run(program: Program, steps: Sequence[Step], seed: str) -> None:
    with often_through_clauses(seed):
        compare(program, steps, reference_of(program, steps), seed)


def often_through_clauses(seed: str) -> AbstractContextManager[object]:
    """Let functions that call clauses be made for the first push, of every fourth program: to make them takes long."""
    before = random.Random(f"clauses {seed}").choice(
        [0, direct_pushes.PUSHES_BEFORE, *[direct_pushes.PUSHES_BEFORE] * 2]
    )
    left = direct_pushes.LEFT_BEFORE if before else 1
    return mock.patch.multiple(direct_pushes, PUSHES_BEFORE=before, LEFT_BEFORE=left)


def check_on_bridge(
    program: Program, rows: Sequence[Row], seed: str, among: Sequence[int] = (1, 2, 7, 2, 7)
) -> int | None:
    """Run a program on the bridge, if its rows are such as Spark has; return in how many buckets."""
    if not program.is_typed:
        return None
    try:
        return run_on_bridge(program, rows, seed, among)
    except Exception as error:  # of any kind, likewise
        message = f"{seed}, on the bridge\n{program.text}\n{text_of(rows)}\n{type(error).__name__}: {error}"
        raise Difference(message) from error


def check_split(program: Program, seed: str) -> int | None:
    """Run a program in several buckets, if it can be split."""
    return check_on_bridge(program, rows_of(program, seed), seed, among=(2, 7))


def lessened(
    steps: Sequence[Step], error: Exception, run: Callable[[Sequence[Step]], object]
) -> tuple[list[Step], Exception]:
    """Fewer steps and rows that make the same kind of error, as few as some tries bring."""
    found, tries = list(steps), 0
    changed = True
    while changed:
        changed = False
        for fewer in _fewer(found):
            tries += 1
            if tries > TRIES:
                return found, error
            try:
                run(fewer)
            except Exception as other:  # of any kind, as above
                if type(other) is type(error):
                    found, error, changed = fewer, other, True
                    break
    return found, error


def _fewer(steps: list[Step]) -> list[list[Step]]:
    halves = [steps[: len(steps) // 2], steps[len(steps) // 2 :]] if len(steps) > 3 else []
    without_a_step = [steps[:place] + steps[place + 1 :] for place in range(len(steps))]
    without_rows = [
        [*steps[:place], Rows(step.rows[:row] + step.rows[row + 1 :]), *steps[place + 1 :]]
        for place, step in enumerate(steps)
        if isinstance(step, Rows) and len(step.rows) > 1
        for row in range(len(step.rows))
    ]
    return [*halves, *without_a_step, *without_rows]


def shown(steps: Sequence[Step]) -> str:
    """Steps as one can read them."""
    texts = []
    for step in steps:
        if isinstance(step, Rows):
            texts.append(f"# {len(step.rows)} at once\n{text_of(step.rows)}")
        elif isinstance(step, Advance):
            texts.append(f"advance({step.time})")
        elif isinstance(step, Restore):
            what = "changes_since(mark)" if step.by_changes else "snapshot()"
            texts.append(f"restore({what})" + " crosswise" * step.crosswise)
    return "\n".join(texts)
