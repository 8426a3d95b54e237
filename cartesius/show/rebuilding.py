"""Building a program again, without some of its restrictions.

Every restriction of every correlation is a *switch*, numbered in the order in which a walk from the outputs meets them.
What is built again goes through `correlate`, so whatever does not fit without a restriction is refused in its words.

Law: with nothing left out, what is built gives what the program gives.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.correlations.freed_windows import leaving
from cartesius.correlations.runs import extending
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Expression, WindowOf, children
from cartesius.language.lists import OneOrMore, Repeated
from cartesius.language.patterns import Alternative, Group
from cartesius.language.reactives import Reactive
from cartesius.language.restriction_base import Composition
from cartesius.plan import facts
from cartesius.programs.correlating import correlate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius.language.patterns import Pattern
    from cartesius.language.restriction_base import Restriction
    from cartesius.programs.correlating import Binding


@attrs.frozen
class Switch:
    """A restriction that can be left out.

    Args:
        number: Its number in the program, from 0.
        correlation: The name of the correlation that it restricts.
        restriction: The restriction.
    """

    number: int
    correlation: str
    restriction: Restriction


class Rebuilding:
    """A program built again.

    Args:
        names: The names that the inputs have in the program, where these differ from their own.
        off: The numbers of the restrictions that are left out.
        outputs: What the program computes.

    Raises:
        InvalidArgument: What is left does not fit together.
        OrderMismatch: The order of the inputs does not imply the one that results depend on now.
    """

    def __init__(self, names: Mapping[Reactive, str], off: frozenset[int], outputs: Iterable[Reactive]) -> None:
        self._names = names
        self._off = off
        self._made: dict[Reactive, Reactive] = {}
        self._groups: dict[Group, Group] = {}
        self.switches: list[Switch] = []
        self.outputs = tuple(map(self.of, outputs))

    def of(self, reactive: Reactive) -> Reactive:
        """Return what stands for a reactive: itself, if nothing about it has changed."""
        if reactive not in self._made:
            pattern = reactive.pattern
            self._made[reactive] = self._input(reactive) if pattern is None else self._derived(reactive, pattern)
        return self._made[reactive]

    def _input(self, reactive: Reactive) -> Reactive:
        """Return an input; what it has already is pushed again, so it begins empty."""
        if reactive.items is None:
            return reactive
        name = self._names.get(reactive, reactive.name)
        return Reactive(
            name,
            table=reactive.table,
            key=reactive.key,
            type=reactive.type,
            fields=reactive.fields,
            order=reactive.order,
        )

    def _derived(self, reactive: Reactive, pattern: Pattern) -> Reactive:
        sources = {slot: self.of(source) for slot, source in pattern.slots.items()}
        written = [one for one in pattern.restrictions if not isinstance(one, leaving | extending)]
        kept = []
        for restriction in written:
            switch = Switch(len(self.switches), pattern.name, restriction)
            self.switches.append(switch)
            if switch.number not in self._off:
                kept.append(self._moved(restriction))
        is_same = all(sources[slot] is source for slot, source in pattern.slots.items()) and kept == written
        if is_same and pattern.alternative is None:
            return reactive
        if not any(map(facts.opens_windows, kept)):
            _check_needs_none(pattern)
        made: Any = correlate(  # a reactive, or a decorator
            slots={slot: self._bound(pattern, slot, sources[slot]) for slot in pattern.variables},
            where=pattern.where,
            yields=None if pattern.is_generator else pattern.yields,
            restrict=Composition(tuple(kept)),
            name=pattern.name,
            type=reactive.type,
        )
        made = made(pattern.yields) if pattern.is_generator else made
        made.fields, made.key = reactive.fields, reactive.key
        if kept == written:
            made.order = reactive.order
        if pattern.alternative is not None:
            group = self._groups.setdefault(pattern.alternative.group, Group(pattern.alternative.group.size))
            made.pattern.alternative = Alternative(group, pattern.alternative.place)
        return made  # type: ignore[no-any-return]  # it is a reactive by now

    def _bound(self, pattern: Pattern, slot: str, source: Reactive) -> Binding:
        """Return what a variable is bound to."""
        if slot not in pattern.lists:
            return source
        n = pattern.lists[slot]
        if n is not None:
            return Repeated(source, n)
        run = next(r for r in pattern.restrictions if isinstance(r, extending) and r.configuration["slot"] == slot)
        said = run.configuration
        return OneOrMore(source, said["where"], said["contiguity"], said["within"])

    def _moved(self, restriction: Restriction) -> Restriction:
        """Return a restriction that names reactives by what stands for them."""
        configuration = {name: self._meant(value) for name, value in restriction.configuration.items()}
        if all(configuration[name] is value for name, value in restriction.configuration.items()):
            return restriction
        found = copy(restriction)
        vars(found).update(restriction._values_of(configuration), configuration=configuration)
        vars(found).pop("nodes", None)
        return found

    def _meant(self, value: Any) -> Any:
        if isinstance(value, Reactive):
            return self.of(value)
        if type(value) is tuple and any(isinstance(one, Reactive) and self.of(one) is not one for one in value):
            return tuple([self.of(one) if isinstance(one, Reactive) else one for one in value])
        return value


def _check_needs_none(pattern: Pattern) -> None:
    """Refuse bodies that ask for their window where there are none; `correlate` looks at what it traces alone."""
    pending, seen = [body for body in (pattern.where, pattern.yields) if isinstance(body, Expression)], set[int]()
    while pending:
        node = pending.pop()
        if isinstance(node, WindowOf):
            message = (
                f"{pattern.name}: expected windows, as its body or its key asks for its window, but there are none;"
                " leave the windows in"
            )
            raise InvalidArgument(message)
        if id(node) not in seen:  # rules share what they have in common
            seen.add(id(node))
            pending += children(node)
