"""Direct pushes: for each input, where that is possible, one function that does all that a push does.

They are used as long as nothing stands in the way: nobody is told what is emitted, no input has ended, what was there
is eaten, and nothing must be recorded or checked besides. The engine asks after each call what is ready, and forgets it
before it does anything else; so a call made in the middle of another finds none.

Invariant: what a function does is what a push through all handlers would do.

Source: DESIGN 4.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from cartesius.core.direct_event_time import holdings_of
from cartesius.core.direct_ways import Way, way_of
from cartesius.data.events import EARLIEST
from cartesius.data.generated import TooDeep
from cartesius.direct.direct_texts import MORE, SEVERAL
from cartesius.direct.leaving import Leaving

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.core.direct_event_time import Holding
    from cartesius.correlations.installations import Installed
    from cartesius.data.events import Event, Time
    from cartesius.direct.direct_texts import DirectText
    from cartesius.direct.leaving import Due
    from cartesius.language.reactives import Reactive
    from cartesius.programs.programs import Program
    from cartesius.programs.steps import Steps

PUSHES_BEFORE: int = 100
"""After how many pushes a function is made that calls clauses: by then it has cost as much as they had to gain."""
LEFT_BEFORE: int = 8
"""After how many pushes that were left to the clauses for what one correlation gives, or gets, it calls them."""
Direct: TypeAlias = "dict[Reactive, Callable[[Any, Any], list[Event] | None]]"


class DirectPushes:
    """The functions of one program; each is made when its input is pushed into for the first time."""

    def __init__(self, program: Program, steps: Steps, objection: str, lateness: int | None) -> None:
        self._program = program
        self._steps = steps
        self._lateness = lateness  # that of the engine
        self._objection = objection  # why no input of the engine can have one
        self._leaving = Leaving(steps.world, self._due_of)
        self._functions: Direct = {}
        self._ways: dict[Reactive, Way | str] = {}
        self._known: dict[Reactive, DirectText | str] = {}
        self._left: Counter[str] = Counter()  # pushes that were left for what one correlation gives or gets, by reason
        self._pushed: Counter[Reactive] = Counter()  # into inputs whose function calls clauses, before there is one

    def of(self, reactive: Reactive) -> DirectText | str:
        """Return the code of an input, or why there is none."""
        if reactive not in self._known:
            way = self._way_of(reactive)
            self._known[reactive] = way if isinstance(way, str) else self._made(way)
        return self._known[reactive]

    def _way_of(self, reactive: Reactive) -> Way | str:
        if reactive not in self._ways:
            is_output = f"{reactive.name} is an output itself" if reactive in self._program.outputs else ""
            way = self._objection or is_output or self._held(reactive) or way_of(self._program, reactive, self._often())
            self._ways[reactive] = way
        return self._ways[reactive]

    def _held(self, reactive: Reactive) -> Way | None:
        """Return what makes the function of an input whose events a gate holds in event time; None: it is none."""
        makes = (holding.make(reactive) for holding in self._holdings)
        return next((Way(make, calls=False) for make in makes if make is not None), None)

    @cached_property
    def _holdings(self) -> list[Holding]:
        return holdings_of(self._steps, self._lateness)

    def _often(self) -> set[str]:
        """Return why pushes were left to the clauses again and again."""
        return {why for why, many in self._left.items() if many >= LEFT_BEFORE}

    def _made(self, way: Way) -> DirectText | str:
        code = way.make(steps=self._steps, lateness=self._lateness, leaving=self._leaving)
        return code if way.calls else self._written(code)

    def _written(self, code: DirectText) -> DirectText | str:
        try:
            assert code.function is not None  # Invariant: it is made, or that fails
        except (TooDeep, RecursionError):  # compiled, or written
            return "its text would be nested too deep for Python"
        return code

    def _due_of(self, installed: Installed) -> Due | None:
        """Return what the deadlines of a restriction do, as the function of some input of its correlation knows it.

        What is decided stays there until the push is done; so not if one calls clauses of it, which would still see it.
        """
        made = {*installed.join.reactives}
        codes = [self.of(reactive) for reactive in self._program.inputs.values() if self._leads_to(reactive, made)]
        every = [link for code in codes if not isinstance(code, str) for link in code.links]
        links = [link for link in every if link.join is installed.join]
        due = next((link.dues[installed] for link in links if installed in link.dues), None)
        if due is None or (due.deciding is not None and any(link.why for link in links)):
            return None
        return attrs.evolve(due, goes_on=any(one in self._program.bound for one in installed.join.reactives))

    def learn(self, reactive: Reactive, left_by: str = "") -> None:
        """Make the function of an input, if there can be one; or another, if it leaves too much to the clauses."""
        if left_by.startswith((SEVERAL, MORE)):
            self._left[left_by] += 1
            if self._left[left_by] >= LEFT_BEFORE:
                self._leaving.forget()
                for known in (self._ways, self._known, self._functions):
                    known.pop(reactive, None)
        way = self._way_of(reactive)
        if isinstance(way, Way) and way.calls:
            self._pushed[reactive] += 1
            if self._pushed[reactive] <= PUSHES_BEFORE:
                return
            made = self._known.pop(reactive, None) or self._made(way)  # who is interrupted writes it anew
            self._known[reactive] = made if isinstance(made, str) else self._written(made)
        code = self.of(reactive)
        if not isinstance(code, str):
            self._functions[reactive] = code.function

    def why_not(self, reactive: Reactive) -> str:
        """Say why an event is not done by the function of its input, if that has not said so itself."""
        way = self._way_of(reactive)
        if isinstance(way, str):
            return way
        if way.calls and reactive not in self._functions:
            return f"of those that call clauses the first {PUSHES_BEFORE} are done as written"
        return "it was the first, somebody is told of results, or an input has ended"

    def ready(self, is_watched: Callable[[], bool], latest: Time) -> Direct:
        """Return the functions, if nothing stands in the way of using them; none knows what is over."""
        if not self._functions or latest == EARLIEST or is_watched():
            return {}
        over = {reactive for join in self._program.joins if join.is_done for reactive in join.reactives}
        return {one: function for one, function in self._functions.items() if not over or not self._leads_to(one, over)}

    def _leads_to(self, reactive: Reactive, wanted: set[Reactive]) -> bool:
        """Whether what comes to an input comes to some correlation, by whatever way."""
        return any(
            made in wanted or self._leads_to(made, wanted)
            for join, _ in self._program.bound.get(reactive, ())
            for made in join.reactives
        )
