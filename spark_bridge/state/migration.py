"""Migration: a changed program goes on with the state of the one before, where rules changed and memories did not.

What is in memory is a matter of inputs and restrictions; `where` and `yields` only look at it. So where those alone
differ, the memories are taken over. The rows of a table follow from them: what the new rules make of what is there is
told as changes, also to the correlations that take the table, such as the warnings of a rule pack. Results of a stream
that were given stay given: new rules hold from the next event on. What else a correlation keeps of what its old rules
gave cannot be told anew, and is refused.

Spark cannot write a state from outside, so a bucket is carried over when it is next called; one that is still idle when
the program changes again can be carried over from either.

Invariant: after a migration, tables have the rows that the new program would have, had it run from the beginning.

Source: DESIGN.md, section 7; SPARK_FACTS, what users ask for ("changing the rule without losing state").
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, final

import attrs

from cartesius import Delete, Engine, Event, Reactive, Update
from cartesius.batching.world import World
from cartesius.core.engine_core import MICROSECOND
from cartesius.data.events import EARLIEST, LATEST
from cartesius.engines.saving import load
from cartesius.engines.snapshots import load_engine, save_engine
from cartesius.errors import InvalidArgument
from cartesius.plan import facts
from cartesius.programs.programs import Program
from cartesius.results.outputs import Events, is_unchanged
from cartesius.results.views import View
from spark_bridge.state.program_cards import differences, memories, program_card, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Time
    from cartesius.language.lenience import OnError


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
    outputs = _outputs(program)
    if not before:
        message = "migrate: expected the program that wrote the state but got none; write migrate(new, old)"
        raise InvalidArgument(message)
    _, card = program_card(outputs)
    found = {}
    for one in before:
        older = _outputs(one)
        mark, old_card = program_card(older)
        _check(outputs, old_card, card)
        found[mark] = older
    return Migration(outputs, found)


def _outputs(program: Any) -> tuple[Reactive, ...]:
    outputs = (
        (program,) if isinstance(program, Reactive) else tuple(program) if isinstance(program, list | tuple) else ()
    )
    if not outputs or not all(isinstance(output, Reactive) for output in outputs):
        message = f"migrate: expected programs, each a Reactive or a list of them, but got {program!r}"
        raise InvalidArgument(message)
    return outputs


def _check(outputs: tuple[Reactive, ...], old_card: str, card: str) -> None:
    old, new = json.loads(old_card), json.loads(card)
    if old["outputs"] != new["outputs"] or memories(old_card) != memories(card):
        rules = {name: {"where": ["", ""], "yields": ["", ""]} for name in new["correlations"]}
        for one in (old, new):
            for name, correlation in one["correlations"].items():
                correlation.update(rules.get(name, {}))
        message = (
            "migrate: expected programs with the same outputs, inputs and restrictions, so that the same is in memory,"
            f" but {shown(differences(json.dumps(old), json.dumps(new)))}; begin a new checkpoint"
        )
        raise InvalidArgument(message)
    changed = {name for name, one in new["correlations"].items() if one != old["correlations"][name]}
    program = Program(outputs, World(MICROSECOND))
    try:
        for join in program.joins:
            if join.name in changed:
                reason = _objection(join, program, changed)
                if reason:
                    message = (
                        f"migrate: expected changed rules whose results are not part of the state but {join.name!r}"
                        f" {reason}; begin a new checkpoint"
                    )
                    raise InvalidArgument(message)
    finally:
        program.drop()


def _objection(join: Join, program: Program, changed: set[str]) -> str:
    """Return why the rules of a correlation cannot change while its memory stays; empty if they can."""
    further = _further(join, program)
    if _is_view(join):
        both = [other.name for other in further if other.name in changed]
        return f"gives rows to {both[0]!r}, whose rules change, too: change one after the other" if both else ""
    if further:
        return "gives results that another correlation keeps"
    if type(join.batch.output) is not Events:
        return "keeps what it has given"
    if any(facts.takes_back(one) for one in join.installed):
        return "takes results back, which the new rules may never have given"
    return ""


def _is_view(join: Join) -> bool:
    """Whether the results of a correlation are the rows of a table that follow from its memory."""
    return isinstance(join.batch.output, View) and join.batch.versions is None


def _further(join: Join, program: Program) -> list[Join]:
    """Return the correlations that take what this one gives, at once or through others."""
    found, waiting = [], [join]
    while waiting:
        taking = [other for reactive in waiting.pop().reactives for other, _ in program.bound.get(reactive, ())]
        found += taking
        waiting += taking
    return found


def carried_over(
    state: Mapping[str, Any],
    before: tuple[Reactive, ...],
    now: tuple[Reactive, ...],
    lateness: int | None,
    on_error: OnError = "fail",
) -> tuple[Engine, list[Event]]:
    """Return an engine for ``now`` with the state of one for ``before``, and the changes of the rows of its tables."""
    old = load(state, before, lateness, on_error)
    old._settle()
    saved = save_engine(old)
    new = Engine(*now, lateness=lateness, on_error=on_error, _layout=saved["layout"])
    load_engine(new, saved)
    clock = new.clock
    time = max(new._latest, EARLIEST if clock == LATEST else clock)
    changed: dict[Reactive, list[Event]] = {}
    for was, is_ in zip(old._program.joins, new._program.joins, strict=True):
        if _is_view(is_):
            changes = _changes(old.query(was.reactives[0]), new.query(is_.reactives[0]), is_.name, time)
            changed.update(dict.fromkeys(is_.reactives, changes) if changes else {})
    emitted = new._steps.atomically(lambda: new._steps.propagate(changed, set())) if changed else []
    new._journal.is_open = False  # the results are here
    return new, emitted


def _changes(old: Mapping[Any, Any], new: Mapping[Any, Any], name: str, time: Time) -> list[Event]:
    """Return what makes the new rows of a table of the old ones."""
    values: list[Update | Delete] = [
        Update(key, row) for key, row in new.items() if key not in old or not is_unchanged(old[key], row)
    ]
    values += [Delete(key) for key in old if key not in new]
    return [
        Event(value, time, time, 1, name, (name, value.key), before=(old[value.key],) if value.key in old else ())
        for value in values
    ]
