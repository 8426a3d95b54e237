"""The transducer itself: its states, tags and transitions, checked when it is built.

Invariant: every transition names states and a tag that there are, and has a term that takes what it reads.

Source: SOURCES E6 and E7.
"""

from __future__ import annotations

import inspect
from collections.abc import Set
from typing import TYPE_CHECKING, Any, final

import attrs

from cartesius.automata.transducing import Running
from cartesius.automata.transitions import INITIAL, New, Schedule, Transition
from cartesius.drawing.automaton_diagrams import Arrow, State, automaton_svg
from cartesius.drawing.html_tables import drawing, panel, table
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cartesius.automata.transitions import Steps, Tag


@final
class Transducer:
    """A data transducer.

    The sum of the ``a``s since the last ``b``:

    >>> from cartesius.transducers import INITIAL, Transducer, Transition
    >>> since = Transducer(
    ...     ["s"],
    ...     [
    ...         Transition(INITIAL, (), "s", lambda: 0),
    ...         Transition("a", ("s",), "s", lambda s, cur: s + cur),
    ...         Transition("b", (), "s", lambda cur: 0),
    ...     ],
    ... )
    >>> [output["s"] for output in since.run([("a", 3), ("a", 4), ("b", 0), ("a", 1)])]
    [0, 3, 7, 0, 1]
    >>> since.steps("a")
    Steps(total=1, levels=1, parallel=1)

    Args:
        states: Their names. A state into which no transition of an item's tag leads is undefined after it.
        transitions: In any order; it changes nothing.
        tags: The tags of items; by default those of the transitions.
        initial: The states that may be given a value before the first item, beside what initial transitions give.
        final: The states whose registers are the output; by default all.

    State of a run: one register a state.

    Raises:
        InvalidArgument: No state, or names that are none, or twice there; a transition with an unknown tag, source or
            target, or a source twice; an initial one that reads a value from before the beginning; a term that does not
            take one argument a source, and the item's value.

    Law:
        A run's registers are those of the least fixed point, computed naively; tested in
        ``tests/laws/test_transducers.py``.

    Source:
        SOURCES E6.
    """

    def __init__(
        self,
        states: Sequence[str],
        transitions: Iterable[Transition],
        *,
        tags: Sequence[str] | None = None,
        initial: Sequence[str] = (),
        final: Sequence[str] | None = None,
    ) -> None:
        self.states = _names("states", states)
        self.transitions = tuple(transitions)
        for one in self.transitions:
            if not isinstance(one, Transition):
                message = f"Transducer: expected transitions but got {one!r} (type={type(one).__name__})"
                raise InvalidArgument(message)
        known = dict.fromkeys(one.tag for one in self.transitions if isinstance(one.tag, str))
        self.tags = _names("tags", list(known) if tags is None else tags)
        self.initial = _names("initial", initial, self.states)
        self.final = _names("final", states if final is None else final, self.states)
        if not self.states:
            message = (
                "Transducer: expected at least one state but got none; a transducer without registers says nothing"
            )
            raise InvalidArgument(message)
        for transition in self.transitions:
            self._check(transition)
        by_tag: dict[Tag, list[Transition]] = {INITIAL: [], **{tag: [] for tag in self.tags}}
        for transition in self.transitions:
            by_tag[transition.tag].append(transition)
        self.schedules: Mapping[Tag, Schedule] = {tag: Schedule(found) for tag, found in by_tag.items()}

    def __repr__(self) -> str:
        """Show states and tags."""
        return f"<transducer of {', '.join(self.states)}; tags {', '.join(self.tags)}>"

    def _repr_html_(self) -> str:
        """Draw a register as a state, and an arrow to it from each that it is made of, with the tag of the item."""
        states = [State(name, is_final=name in self.final) for name in self.states]
        arrows = [
            Arrow(source.state if isinstance(source, New) else source, one.target, _read(one.tag, source))
            for one in self.transitions
            for source in (one.sources or ("",))
        ]
        steps = [(tag, *attrs.astuple(self.steps(tag))) for tag in self.tags]
        costs = table(("an item of", "steps", "levels", "at once"), steps)
        return drawing(automaton_svg(states, arrows, title="A transducer"))._repr_html_() + panel(costs)

    def _check(self, transition: Transition) -> None:
        place = f"Transducer: in the transition of {transition.tag!r} into {transition.target!r}: expected"
        if transition.tag is not INITIAL and transition.tag not in self.tags:
            message = f"{place} a tag but got {transition.tag!r}; the tags are {', '.join(self.tags) or 'none'}"
            raise InvalidArgument(message)
        named = [*[one.state if isinstance(one, New) else one for one in transition.sources], transition.target]
        for name in named:
            if name not in self.states:
                message = f"{place} a state but got {name!r}; the states are {', '.join(self.states)}"
                raise InvalidArgument(message)
        if len(set(transition.sources)) < len(transition.sources):
            message = f"{place} each source once but got {transition.sources!r}; a term may use a value twice"
            raise InvalidArgument(message)
        old = next((one for one in transition.sources if not isinstance(one, New)), None)
        if transition.tag is INITIAL and old is not None:
            message = (
                f"{place} new values, as there are none before the beginning, but got {old!r}; write New({old!r}), or"
                " name it in initial="
            )
            raise InvalidArgument(message)
        count = len(transition.sources) + (transition.tag is not INITIAL)
        if not callable(transition.term) or not _takes(transition.term, count):
            also = "" if transition.tag is INITIAL else ", and of the item's value"
            message = (
                f"{place} a function of the values of its {len(transition.sources)} sources{also} but got"
                f" {transition.term!r} (type={type(transition.term).__name__})"
            )
            raise InvalidArgument(message)

    def start(self, given: Mapping[str, Any] | None = None) -> Running:
        """Begin a run; ``given`` are values of the initial states, by name."""
        return Running(self, given or {})

    def run(self, items: Iterable[tuple[str, Any]], given: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Return the outputs before the first item, and after each: the values of the final states, by name."""
        running = self.start(given)
        return [running.outputs, *[running.take(tag, value) for tag, value in items]]

    def steps(self, tag: str) -> Steps:
        """Return what an item of a tag costs at most.

        A transition that depends on itself, through new values, may be evaluated twice; the others are once.

        Raises:
            InvalidArgument: No such tag.
        """
        if tag not in self.tags:
            message = f"steps: expected a tag but got {tag!r}; the tags are {', '.join(self.tags) or 'none'}"
            raise InvalidArgument(message)
        return self.schedules[tag].steps


def _names(what: str, given: Sequence[str], among: Sequence[str] | None = None) -> tuple[str, ...]:
    if isinstance(given, str | Set):  # a set has no order, in which states are shown and values told
        names = [given] if isinstance(given, str) else sorted(map(str, given))
        message = f"Transducer: expected a sequence of names but got {what}={given!r}; write {names!r}"
        raise InvalidArgument(message)
    for place, name in enumerate(given):
        if not isinstance(name, str) or name in given[:place]:
            message = f"Transducer: expected names, each once, in {what} but got {name!r} (type={type(name).__name__})"
            raise InvalidArgument(message)
        if among is not None and name not in among:
            message = f"Transducer: expected states in {what} but got {name!r}; the states are {', '.join(among)}"
            raise InvalidArgument(message)
    return tuple(given)


def _read(tag: Tag, source: str | New) -> str:
    """Say which item takes a transition, and whether it reads the value after that."""
    item = "at the beginning" if tag is INITIAL else str(tag)
    return f"{item}, its new value" if isinstance(source, New) else item


def _takes(term: Any, count: int) -> bool:
    """Whether a function may be called with ``count`` arguments, as far as is known."""
    try:
        inspect.signature(term).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # a function of C that does not say
        return True
    return True
