"""Migration: a changed program goes on with the state of the one before, where rules changed and memories did not.

What may change, and what comes of it, is said in `cartesius.engines.rule_changes`. Spark cannot write a state from
outside, so a bucket is carried over when it is next called; one that is still idle when the program changes again can
be carried over from either.

Source: DESIGN.md, section 7; SPARK_FACTS, what users ask for ("changing the rule without losing state").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import attrs

from cartesius import Reactive
from cartesius.engines.program_cards import differences, fixed_parts, program_card, shown
from cartesius.engines.rule_changes import objection
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@final
@attrs.frozen
class Migration:
    """A program, and those whose state it goes on with; made by `migrate`.

    >>> from cartesius import Reactive
    >>> from spark_bridge import migrate
    >>> migrate(Reactive("ship"), Reactive("ship")).outputs
    (Reactive('ship'),)

    Args:
        outputs: The program.
        before: The programs before it, by their fingerprints.
    """

    outputs: tuple[Reactive, ...]
    before: Mapping[str, tuple[Reactive, ...]]


def migrate(program: Reactive | Sequence[Reactive], *before: Reactive | Sequence[Reactive]) -> Migration:
    """Return ``program`` such that `correlate_frames` goes on with the state that another program has left.

    >>> from cartesius import Reactive, correlate
    >>> from restrictions import as_table, retracting
    >>> from spark_bridge import migrate
    >>> ship = Reactive("ship", table=True, key="mmsi")
    >>> def deep(least):
    ...     body = {"where": lambda ship: ship.draught > least, "yields": lambda ship: {"draught": ship.draught}}
    ...     return correlate(ship=ship, restrict=retracting() | as_table("ship"), name="deep", **body)
    >>> carried = migrate(deep(15), deep(12))  # correlate_frames(carried, …), on the checkpoint of deep(12)

    Args:
        program: The program, as for `correlate_frames`; a rule pack's table for instance.
        *before: The programs whose state may be in the checkpoint, one at least: the last one, and those before it if
            there may be buckets that have not been called since.

    Raises:
        InvalidArgument: The programs differ in more than their rules, or in rules whose past results are part of the
            state.
    """
    expected = "migrate: expected programs, each a Reactive or a list of them,"
    outputs = outputs_of(program, expected)
    if not before:
        message = "migrate: expected the program that wrote the state but got none; write migrate(new, old)"
        raise InvalidArgument(message)
    found = {}
    for one in before:
        older = outputs_of(one, expected)
        if reason := objection(older, outputs):
            message = f"migrate: {reason}; begin a new checkpoint"
            raise InvalidArgument(message)
        found[program_card(older)[0]] = older
    return Migration(outputs, found)


def ways_on(before: str, now: str) -> str:
    """Return how two programs differ, and what may be done with the state of the first: from their cards."""
    ways = (
        "carry it over with spark_bridge.migrate"
        if fixed_parts(before) == fixed_parts(now)
        else "write outputs, inputs and restrictions as they were (spark_bridge.migrate is for other rules alone)"
    )
    return f"{shown(differences(before, now))}; {ways}"


def outputs_of(program: Any, expected: str) -> tuple[Reactive, ...]:
    """Return the outputs of a program; raise `InvalidArgument`, with what was ``expected``, unless there is one."""
    outputs = (
        (program,) if isinstance(program, Reactive) else tuple(program) if isinstance(program, list | tuple) else ()
    )
    if not outputs or not all(isinstance(output, Reactive) for output in outputs):
        message = f"{expected} but got {program!r} (type={type(program).__name__})"
        raise InvalidArgument(message)
    return outputs
