"""Running a data transducer: one register a state, and for each item the least vector that its transitions ask for.

What does not depend on itself is evaluated once, in the order of its levels. On a cycle of new values there is a work
list: a transition is put on it when a state that it *reads* rises. A register rises twice at most, from undefined to a
value and from there to a conflict; so a transition is evaluated twice at most, and its term is asked once.
All of it takes as many operations as the transitions of the tag are long, together.

Invariant: between items there is one register a state, and nothing else; an item whose term raises changes nothing.

Source: SOURCES E6, whose printed algorithm puts back the transitions *into* what has risen; that misses conflicts.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, final

import attrs

from cartesius.automata.extended_values import CONFLICT, UNDEFINED, Extreme, applied
from cartesius.automata.transitions import INITIAL, New, Steps
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.automata.machines import Transducer
    from cartesius.automata.transitions import Schedule, Source, Stage, Tag, Transition


@final
@attrs.define
class Counts:
    """What a run of a transducer has done.

    Args:
        items: How many items it has taken, the beginning not counted.
        evaluations: How often a transition was evaluated.
        terms: How often a term was asked.
        rises: How often a register of a new value rose.
        latest: What the latest item has cost.
    """

    items: int = 0
    evaluations: int = 0
    terms: int = 0
    rises: int = 0
    latest: Steps = attrs.Factory(lambda: Steps(0, 0, 0))


@final
class Running:
    """A transducer at work: what `Transducer.start` returns.

    >>> from cartesius.transducers import INITIAL, Transducer, Transition
    >>> last = Transducer(["s"], [Transition("a", (), "s", lambda cur: cur)])
    >>> running = last.start()
    >>> running.outputs, running.take("a", 3), running.counts.evaluations
    ({'s': UNDEFINED}, {'s': 3}, 1)

    Args:
        transducer: What runs.
        given: Values of its initial states, by name; those that are missing are undefined.

    Raises:
        InvalidArgument: A value for a state that is not initial; from `take`, an unknown tag, or no value.
    """

    def __init__(self, transducer: Transducer, given: Mapping[str, Any]) -> None:
        strange = next((state for state in given if state not in transducer.initial), None)
        if strange is not None:
            message = (
                f"Transducer: expected values of initial states but got one for {strange!r}; the initial states are"
                f" {', '.join(transducer.initial) or 'none'}"
            )
            raise InvalidArgument(message)
        self.transducer = transducer
        self.counts = Counts()
        nothing = dict.fromkeys(transducer.states, UNDEFINED)
        self.registers: Mapping[str, Any] = self._least(INITIAL, nothing, (), given)

    def __repr__(self) -> str:
        """Show the registers."""
        return f"<running transducer: {', '.join(f'{name} {value!r}' for name, value in self.registers.items())}>"

    @property
    def outputs(self) -> dict[str, Any]:
        """The registers of the final states, as they are now."""
        return {state: self.registers[state] for state in self.transducer.final}

    def take(self, tag: str, value: Any) -> dict[str, Any]:
        """Take one item; return the outputs after it."""
        if tag not in self.transducer.tags:
            message = (
                f"Transducer: expected a tag but got {tag!r}; the tags are {', '.join(self.transducer.tags) or 'none'}"
            )
            raise InvalidArgument(message)
        if isinstance(value, Extreme):
            message = f"Transducer: expected an item with a value but got {value!r} for {tag!r}; leave the item out"
            raise InvalidArgument(message)
        self.registers = self._least(tag, self.registers, (value,), {})
        self.counts.items += 1
        return self.outputs

    def _least(
        self, tag: Tag, old: Mapping[str, Any], cur: tuple[Any, ...], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        item = _Item(self.transducer, self.transducer.schedules[tag], old, cur, given)
        item.evaluate()
        counts = self.counts
        counts.evaluations += item.evaluations
        counts.terms += item.terms
        counts.rises += item.rises
        counts.latest = Steps(item.evaluations, len(item.widths), max(item.widths.values(), default=0))
        return item.new


class _Item:
    """The evaluation of one item."""

    def __init__(
        self,
        transducer: Transducer,
        schedule: Schedule,
        old: Mapping[str, Any],
        cur: tuple[Any, ...],
        given: Mapping[str, Any],
    ) -> None:
        self._schedule = schedule
        self._old = old
        self._cur = cur
        self.new: dict[str, Any] = {**dict.fromkeys(transducer.states, UNDEFINED), **given}
        self._gives: list[Any] = [UNDEFINED] * len(schedule.transitions)  # what each transition contributes so far
        self.evaluations = self.terms = self.rises = 0
        self.widths: dict[int, int] = {}  # how many evaluations there were on each level

    def evaluate(self) -> None:
        """Find the least vector of new values."""
        for stage in self._schedule.stages:
            if stage.is_cycle:
                self._evaluate_cycle(stage)
            elif (values := self._values(self._schedule.transitions[stage.transitions[0]])) is not None:
                self._step(stage.transitions[0], values, stage.level)

    def _evaluate_cycle(self, stage: Stage) -> None:
        transitions = self._schedule.transitions
        missing = {number: self._missing(transitions[number]) for number in stage.transitions}
        waiting = deque(number for number, count in missing.items() if count == 0)
        listed = set(waiting)
        done = 0
        while waiting:
            number = waiting.popleft()
            listed.discard(number)
            values = self._values(transitions[number])
            assert values is not None  # Invariant: what waits has all its sources
            target = transitions[number].target
            was_undefined = self.new[target] is UNDEFINED
            has_risen = self._step(number, values, stage.level + done)
            done += 1
            for reader in self._schedule.readers.get(target, ()) if has_risen else ():
                if reader not in missing:
                    continue  # it is evaluated later
                missing[reader] -= was_undefined
                if missing[reader] == 0 and self._gives[reader] is not CONFLICT and reader not in listed:
                    waiting.append(reader)
                    listed.add(reader)

    def _missing(self, transition: Transition) -> int:
        """Return how many sources are undefined."""
        return sum(self._value(source) is UNDEFINED for source in transition.sources)

    def _value(self, source: Source) -> Any:
        return self.new[source.state] if isinstance(source, New) else self._old[source]

    def _values(self, transition: Transition) -> list[Any] | None:
        """Return the values of the sources; None while one is undefined."""
        values = [self._value(source) for source in transition.sources]
        return None if any(value is UNDEFINED for value in values) else values

    def _step(self, number: int, values: list[Any], level: int) -> bool:
        """Evaluate a transition whose sources are defined; return whether its target has risen."""
        transition = self._schedule.transitions[number]
        self.evaluations += 1
        self.terms += not any(value is CONFLICT for value in values)
        self.widths[level] = self.widths.get(level, 0) + 1
        given = applied(transition.term, [*values, *self._cur])
        self._gives[number] = given
        known = self.new[transition.target]
        if given is UNDEFINED or known is CONFLICT:
            return False
        self.new[transition.target] = given if known is UNDEFINED else CONFLICT
        self.rises += 1
        return True
