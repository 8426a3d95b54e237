"""Transitions of a data transducer, and the order in which those of one tag are evaluated.

A transition reads registers, as they were before the item or as they become, and contributes to one. Those that read
what others give depend on them. Where that is a cycle, nothing can say which comes first; the rest has an order, by
*levels*: what is on one level depends on what is on those below alone.

Invariant: of the transitions of a schedule each is in one stage, behind the stages that it depends on.

Source: SOURCES E6 and E7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@final
class _Initial:
    """The tag of what happens before the first item."""

    def __repr__(self) -> str:
        return "INITIAL"


INITIAL: Final = _Initial()
"""The tag of transitions that make the registers before the first item comes."""
Tag: TypeAlias = "str | _Initial"


@final
@attrs.frozen
class New:
    """As a source of a transition: the value that a state gets by this item, not the one that it had.

    >>> from cartesius.transducers import INITIAL, New, Transducer, Transition
    >>> running = Transducer(
    ...     ["total", "average"],
    ...     [
    ...         Transition(INITIAL, (), "total", lambda: (0, 0)),
    ...         Transition("x", ("total",), "total", lambda total, x: (total[0] + x, total[1] + 1)),
    ...         Transition("x", (New("total"),), "average", lambda total, x: total[0] / total[1]),
    ...     ],
    ...     final=["average"],
    ... )
    >>> [output["average"] for output in running.run([("x", 4), ("x", 8)])]
    [UNDEFINED, 4.0, 6.0]

    Args:
        state: The name of the state.
    """

    state: str


Source: TypeAlias = "str | New"


@final
@attrs.frozen
class Transition:
    """One way in which an item changes a register.

    >>> from cartesius.transducers import Transition
    >>> Transition("a", ("s",), "s", lambda s, cur: s + cur).target
    's'

    Args:
        tag: The tag of the items that take it, or `INITIAL`.
        sources: What it reads: the names of states for their values before the item, `New` for those after it.
        target: The state that it contributes to.
        term: A pure function of the values of the sources, in order, and of the item's value (an initial one: of the
            sources alone). It is asked where all are values. It may say `UNDEFINED`, as a condition that fails does.
    """

    tag: Tag
    sources: tuple[Source, ...]
    target: str
    term: Callable[..., Any]

    @property
    def reads_new(self) -> list[str]:
        """The states whose new values it reads."""
        return [source.state for source in self.sources if isinstance(source, New)]


@final
@attrs.frozen
class Steps:
    """What one item costs, counted in transitions that are evaluated: each is the update of a register.

    Args:
        total: How many steps there are at most: the latency of an item, in steps.
        levels: How many of them must follow one another: the latency if there are enough processors.
        parallel: How many may be done at once, on the widest level.
    """

    total: int
    levels: int
    parallel: int


@final
@attrs.frozen
class Stage:
    """Transitions that are evaluated together: those into one state, or those into a cycle of states.

    Args:
        transitions: Their numbers.
        is_cycle: Whether they depend on each other. Then what reads a state of the cycle is evaluated twice at most,
            and all of it one after the other.
        level: The first level that they are on.
        steps: How many evaluations there are at most.
    """

    transitions: tuple[int, ...]
    is_cycle: bool
    level: int
    steps: int = 1


@final
class Schedule:
    """The transitions of one tag in the order in which they are evaluated.

    Args:
        transitions: The transitions of the tag.
    """

    def __init__(self, transitions: Sequence[Transition]) -> None:
        self.transitions = tuple(transitions)
        self.readers: dict[str, list[int]] = {}  # by state: the transitions that read its new value
        self.into: dict[str, list[int]] = {}  # by state: those that contribute to it
        for number, transition in enumerate(self.transitions):
            self.into.setdefault(transition.target, []).append(number)
            for state in transition.reads_new:
                self.readers.setdefault(state, []).append(number)
        self.stages = self._stages()

    def _needed(self, state: str) -> set[str]:
        """Return the states whose new values decide about that of ``state``, itself among them only on a cycle."""
        found: set[str] = set()
        pending = [state]
        while pending:
            for number in self.into.get(pending.pop(), ()):
                fresh = [read for read in self.transitions[number].reads_new if read not in found]
                found.update(fresh)
                pending += fresh
        return found

    def _stages(self) -> tuple[Stage, ...]:
        needed = {state: self._needed(state) for state in self.into}
        groups: dict[frozenset[str], list[str]] = {}
        for state, before in needed.items():
            alike = frozenset(other for other in before & set(needed) if state in needed[other]) | {state}
            groups.setdefault(alike, []).append(state)
        ready: dict[str, int] = {}  # the level behind which the new value of a state is known
        stages = []
        for group in sorted(groups, key=lambda group: len(set().union(*[needed[state] for state in group]) | group)):
            is_cycle = any(state in needed[state] for state in group)
            numbers = tuple([number for state in groups[group] for number in self.into[state]])
            if not is_cycle:
                stages += [self._alone(number, ready) for number in numbers]
                (state,) = group
                ready[state] = max(stage.level for stage in stages[-len(numbers) :])
                continue
            outside = [ready.get(read, 0) for n in numbers for read in self.transitions[n].reads_new]
            twice = sum(any(read in group for read in self.transitions[n].reads_new) for n in numbers)
            stage = Stage(numbers, is_cycle, 1 + max(outside), len(numbers) + twice)
            stages.append(stage)
            ready |= dict.fromkeys(group, stage.level + stage.steps - 1)
        return tuple(stages)

    def _alone(self, number: int, ready: dict[str, int]) -> Stage:
        reads = self.transitions[number].reads_new
        return Stage((number,), is_cycle=False, level=1 + max([ready.get(read, 0) for read in reads], default=0))

    @property
    def steps(self) -> Steps:
        """What an item costs at most."""
        widths: dict[int, int] = {}
        for stage in self.stages:
            for level in range(stage.level, stage.level + stage.steps):
                widths[level] = widths.get(level, 0) + 1
        return Steps(sum(widths.values()), max(widths, default=0), max(widths.values(), default=0))
