"""Rule changes: an engine for a changed program goes on with the state of one for the program before.

What is in memory is a matter of inputs and restrictions; `where` and `yields` only look at it. So where those alone
differ, the memories are taken over. The rows of a table follow from them: what the new rules make of what is there is
told as changes, also to the correlations that take the table, such as the warnings of a rule pack. Results of a stream
that were given stay given: new rules hold from the next event on. What else a correlation keeps of what its old rules
gave cannot be told anew, and is refused.

Invariant: after a change, tables have the rows that the new program would have, had it run from the beginning, and from
then on each step changes them as it would. In which order one step tells of rows of different keys may differ
where a table is made of a table: there it goes by when a row changed last, under rules that were not there then.

Source: DESIGN.md, section 7; SPARK_FACTS, what users ask for ("changing the rule without losing state").
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cartesius.batching.world import World
from cartesius.core.engine_core import MICROSECOND
from cartesius.data.events import EARLIEST, LATEST, Delete, Event, Update
from cartesius.engines.engine import Engine
from cartesius.engines.program_cards import differences, fixed_parts, program_card, shown
from cartesius.engines.snapshots import load_engine, save_engine
from cartesius.plan import facts
from cartesius.programs.programs import Program
from cartesius.results.outputs import Events
from cartesius.results.unchanged_values import is_unchanged
from cartesius.results.views import View

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Time
    from cartesius.language.lenience import OnError
    from cartesius.language.reactives import Reactive


def objection(before: Sequence[Reactive], now: Sequence[Reactive]) -> str:
    """Return why a program cannot go on with the state of another, as the end of "expected … but"; empty if it can.

    >>> from cartesius import Reactive
    >>> objection([Reactive("ship")], [Reactive("ship")])
    ''

    Raises:
        NotStorable: A body captures something that is not plain data.
    """
    (_, old_card), (_, card) = program_card(before), program_card(now)
    old, new = json.loads(old_card), json.loads(card)
    if fixed_parts(old_card) != fixed_parts(card):
        rules = {name: {"where": ["", ""], "yields": ["", ""]} for name in new["correlations"]}
        for one in (old, new):
            for name, correlation in one["correlations"].items():
                correlation.update(rules.get(name, {}))
        return (
            "expected programs with the same outputs, inputs and restrictions, so that the same is in memory,"
            f" but {shown(differences(json.dumps(old), json.dumps(new)))}"
        )
    changed = {name for name, one in new["correlations"].items() if one != old["correlations"][name]}
    program = Program(now, World(MICROSECOND))
    try:
        for join in program.joins:
            if join.name in changed and (reason := _objection(join, program, changed)):
                return f"expected changed rules whose results are not part of the state but {join.name!r} {reason}"
    finally:
        program.drop()
    return ""


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


def gone_on(
    old: Engine, now: Sequence[Reactive], lateness: int | None, on_error: OnError = "fail"
) -> tuple[Engine, list[Event]]:
    """Return an engine for ``now`` with the state of another, which stays as it is, and the changes of its tables.

    Args:
        old: The engine before, whose objects are up to date.
        now: The program that goes on, to which there is no `objection`.
        lateness: That of both engines.
        on_error: That of the new one.
    """
    saved = save_engine(old)
    new = Engine(*now, lateness=lateness, on_error=on_error, _layout=saved["layout"])
    load_engine(new, saved)
    clock = new._world.clock
    time = max(new._world.latest, EARLIEST if clock == LATEST else clock)
    changed: dict[Reactive, list[Event]] = {}
    for was, is_ in zip(old._program.joins, new._program.joins, strict=True):
        if _is_view(is_):
            changes = _changes(_told(old, was.reactives[0], saved), new.query(is_.reactives[0]), is_.name, time)
            changed.update(dict.fromkeys(is_.reactives, changes) if changes else {})
    emitted = new._steps.atomically(lambda: new._steps.propagate(changed, set())) if changed else []
    new._journal.is_open = False  # the results are here
    return new, new._world.calendar.shown(emitted)


def _told(old: Engine, table: Reactive, saved: Mapping[str, Any]) -> Mapping[Any, Any]:
    """Return the rows of a table that were told; where an old rule raises on what is there, it was undecided then."""
    try:
        return old.query(table)
    except Exception:  # it raises by now, as the engine was a lenient one before
        lenient = Engine(*old.outputs, on_error="unknown", _layout=saved["layout"])
        load_engine(lenient, saved)
        return lenient.query(table)


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
