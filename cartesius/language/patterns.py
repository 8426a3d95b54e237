"""Patterns: what a correlation is, before it runs: its slots, conditions, results and restrictions.

``where`` and ``yields`` are traced once, so that equalities become indexes; what does not trace runs as written. A body
must be pure: it may run for a combination more than once.

This module is over 300 lines because what is refused of a pattern, and how it is shown, stand where its parts do.

Source: ICFP 2018, doi:10.1145/3236762, Figures 1, 2 and 11.
"""

from __future__ import annotations

import inspect
from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from cartesius.data.codec import field_names
from cartesius.data.value_texts import shown
from cartesius.drawing.html_tables import panel, table
from cartesius.errors import InvalidArgument, NotStorable, near
from cartesius.expressions.expressions import (
    Expression,
    Field,
    Part,
    WindowOf,
    children,
    conjuncts,
    evaluator,
    show,
)
from cartesius.expressions.nulls import all_hold
from cartesius.expressions.tracing import signature_of, symbol_for, trace
from cartesius.language.absent_slots import AbsentSlots
from cartesius.language.fingerprints import describe, describe_clauses
from cartesius.language.lenience import lenient
from cartesius.language.lists import equality_of
from cartesius.plan import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.language.reactives import Reactive
    from cartesius.language.restriction_base import Restriction

Body: TypeAlias = "Callable[..., Any] | Expression"


@attrs.frozen(eq=False)
class Group:
    """Patterns that share what they consume."""

    size: int


@attrs.frozen
class Alternative:
    """The place of a pattern in its group, from 0."""

    group: Group
    place: int

    def __str__(self) -> str:
        """Show the place, counted from 1."""
        return f"{self.place + 1} of {self.group.size}"


_MADE_ONCE = frozenset({"conditions", "_lenient", "_own", "body"})


class Pattern:
    """What a correlation is, before it runs."""

    def __init__(
        self,
        name: str,
        slots: Mapping[str, Reactive],
        where: Body | None,
        yields: Body,
        restrictions: tuple[Restriction, ...],
        *,
        is_generator: bool,
        lists: Mapping[str, int | None] | None = None,
    ) -> None:
        self.name = name
        self.variables = dict(slots)
        self.lists = dict(lists or {})  # the variables that are lists: of so many events, or None: a run of them
        self.restrictions = restrictions
        self.absent = AbsentSlots(self.variables, restrictions)
        self.slots = {**self.variables, **self.absent.hidden}
        self.is_generator = is_generator
        self.alternative: Alternative | None = None
        self.untraced: list[str] = []
        self.where = self._prepare(where, "where") if where is not None else None
        self.yields = self._prepare(yields, "yields", traced=not is_generator)
        self.equalities = self._equalities()
        self._as_written = self

    def _equalities(self) -> list[tuple[tuple[str, Expression], tuple[str, Expression]]]:
        return [pair for condition in self.conditions if (pair := equality_of(condition, self.lists))]

    def _prepare(self, body: Body, call: str, *, traced: bool = True) -> Body:
        if isinstance(body, Expression):
            return body
        if not callable(body):
            message = f"correlate: expected a function but got {call}={body!r} (type={type(body).__name__})"
            raise InvalidArgument(message)
        if inspect.isgeneratorfunction(body) == traced:
            message = (
                f"correlate: expected {call} to return its value but it is a generator; use return, or decorate it"
                if traced
                else f"correlate: expected a generator function below the decorator but {body!r} does not yield;"
                " yield the results, or give yields="
            )
            raise InvalidArgument(message)
        parameters = self._parameters(body, call)
        if not traced:
            self.untraced.append(f"the body {getattr(body, '__qualname__', body)!r} is in direct style")
            return body
        found = trace(body, parameters)
        if found.expression is None:
            self.untraced.append(f"{call} runs as written: {found.reason}")
            return body
        self._check_fields(found.expression, call)
        return found.expression

    def _check_fields(self, expression: Expression, call: str) -> None:
        """Refuse a field that the declared type of a payload does not have, before any event comes."""
        for part in children(expression):
            self._check_fields(part, call)
        if not (isinstance(expression, Field) and isinstance(expression.target, Part)):
            return
        slot, name = expression.target.slot, expression.name
        kind = None if slot in self.lists else self.slots[slot].type
        known = () if kind is None or hasattr(kind, "__getattr__") else field_names(kind)
        if not known or name in known or hasattr(kind, name):
            return
        message = (
            f"correlate: expected {call} to ask {slot!r} for a field of {getattr(kind, '__name__', kind)}"
            f" ({', '.join(known)}) but it asks for {name!r}"
            + (near(name, known) or "; declare it there, or give the reactive another type=")
        )
        raise InvalidArgument(message)

    def _parameters(self, body: Callable[..., Any], call: str) -> list[tuple[str, Expression]]:
        signature = signature_of(body)
        if signature is None or any(one.kind is inspect.Parameter.POSITIONAL_ONLY for one in signature.values()):
            how = "does not tell its parameters" if signature is None else "takes them by place alone"
            message = (
                f"correlate: expected {call} to have parameters that are named as slots but {body!r} {how};"
                " write lambda x: …"
            )
            raise InvalidArgument(message)
        parameters = []
        for name, parameter in signature.items():
            node = symbol_for(name, self.variables)
            if isinstance(node, WindowOf) and not any(facts.opens_windows(r) for r in self.restrictions):
                message = (
                    f"correlate: the parameter of {call}: expected windows, of which {name!r} is one, but there are"
                    " none; restrict it by tumbling(…), or name a slot so"
                )
                raise InvalidArgument(message)
            if node is None:
                message = self.unknown_slot(name, f"correlate: the parameter of {call}", self.variables)
                has_default = parameter.default is not inspect.Parameter.empty
                hint = "; no default is used: bind it by a closure" if has_default else ""
                raise InvalidArgument(message + hint)
            parameters.append((name, node))
        return parameters

    def unknown_slot(self, name: object, call: str, among: Mapping[str, Reactive] | None = None) -> str:
        """Return the message for a slot that does not exist, with the near names."""
        slots = self.slots if among is None else among
        implicit = [f"{kind}_{slot}" for kind in ("time", "key") for slot in slots]
        known = [*slots, *(implicit if str(name).startswith(("time", "key")) else ())]
        hint = near(name, known)
        if name in self.slots and name not in slots:
            hint = f"; it is absent from every row: bind it, {name}=…, to have conditions on it"
        shown = ", ".join(f"{slot} ({reactive.name})" for slot, reactive in slots.items())
        return f"{call}: expected a slot of this correlation but got {name!r}; the slots are {shown}{hint}"

    def __repr__(self) -> str:
        """Show the variables and the restrictions."""
        slots = ", ".join(f"{slot}={reactive.name}" for slot, reactive in self.variables.items())
        return f"<pattern {self.name} of {slots}; {' | '.join(map(repr, self.restrictions)) or 'not restricted'}>"

    def _repr_html_(self) -> str:
        slots = ", ".join(f"{slot} = {one.name}{self.shown_count(slot)}" for slot, one in self.variables.items())
        rows = [
            ("variables", slots),
            ("where", _body_text(self.where) if self.where is not None else "every combination"),
            ("yields", _body_text(self.yields)),
            ("restrictions", " | ".join(map(repr, self.restrictions)) or "none: the whole product"),
        ]
        return panel(table((), rows, caption=self.name))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out, for a copy or another process, what is made once for all engines: it follows from the rest."""
        return {name: value for name, value in vars(self).items() if name not in _MADE_ONCE}

    @cached_property
    def conditions(self) -> Sequence[Expression]:
        """The conditions of a traced ``where`` in the order in which they are asked: those of an index first."""
        if not isinstance(self.where, Expression):
            return []
        return sorted(conjuncts(self.where), key=lambda one: equality_of(one, self.lists) is None)

    @property
    def is_where_traced(self) -> bool:
        """Whether ``where`` is known as an expression (or absent)."""
        return not self.is_generator and (self.where is None or isinstance(self.where, Expression))

    @property
    def has_traced_where(self) -> bool:
        """Whether there is a ``where`` that is known as an expression, also beside a body in direct style."""
        return isinstance(self.where, Expression)

    @property
    def is_direct(self) -> bool:
        """Whether the body is a generator function alone."""
        return self.is_generator and self.where is None

    def leniently(self) -> Pattern:
        """Return the pattern as an engine runs it in which what raises is unknown; what it is called stays the same."""
        return self._lenient

    @cached_property
    def _lenient(self) -> Pattern:
        found = copy(self)
        found._as_written = self
        found.where, found.yields = lenient(self.where), lenient(self.yields)
        found.restrictions = tuple(restriction.leniently() for restriction in self.restrictions)
        found.equalities = found._equalities()
        return found

    @cached_property
    def body(self) -> tuple[Callable[[Any], Any] | None, Callable[[Any], list[Any]]]:
        """``where`` and ``yields`` as functions of a row; the latter returns the list of what is yielded."""
        slots = {name: index for index, name in enumerate(self.slots)}
        where = None if self.where is None else self._condition(self.where, slots)
        produce = self._compile(self.yields, slots)
        if self.is_generator:
            return where, lambda row: list(produce(row))
        return where, lambda row: [produce(row)]

    def _condition(self, where: Body, slots: Mapping[str, int]) -> Callable[[Any], Any] | None:
        """Return ``where`` as a function of a row, without the conditions on what is absent from it."""
        if not isinstance(where, Expression):
            if self.absent.names:
                self.absent.check_untraced([name for name, _ in self._parameters(where, "where")], self.untraced)
            return self._compile(where, slots)
        checks = [evaluator(one, slots) for one in self.absent.of_rows(self.conditions)]
        return checks[0] if len(checks) == 1 else partial(all_hold, checks)

    def _compile(self, body: Body, slots: Mapping[str, int]) -> Callable[[Any], Any]:
        if isinstance(body, Expression):
            return evaluator(body, slots)
        names, readers = [], []
        for name, node in self._parameters(body, "body"):
            names.append(name)
            readers.append(evaluator(node, slots))
        arguments = list(zip(names, readers, strict=True))
        return lambda row: body(**{name: read(row) for name, read in arguments})

    def shown_count(self, slot: str) -> str:
        """Say how many events a candidate has of a slot, if they are a list."""
        if slot not in self.lists:
            return ""
        n = self.lists[slot]
        return " one or more times" if n is None else f" {n} times"

    def describe(self, names: Mapping[Reactive, str]) -> str:
        """Return a canonical text of the pattern, given the names of the program's reactives."""
        written = self._as_written
        slots = ", ".join(
            f"{slot}: {names[reactive]}{' (table)' * reactive.table}{self.shown_count(slot)}"
            for slot, reactive in self.slots.items()
        )
        restrictions = " | ".join(
            f"{type(r).__qualname__}({describe(dict(r.configuration))}; states {describe(dict(r._states))}"
            f"{describe_clauses(type(r))})"
            for r in written.restrictions
        )
        bodies = [describe(body) for body in (written.where, written.yields)]
        place = "" if self.alternative is None else f"alternative {self.alternative}: "
        return f"{place}correlate({slots}; where {bodies[0]}; yields {bodies[1]}; restrict {restrictions})"

    def sameness(self, sources: Mapping[Reactive, str]) -> str | None:
        """Return a text that patterns which do the same in one program share, given the names of their inputs.

        Functions that did not trace count by identity. None: the pattern is like no other.
        """
        if self.alternative is not None:  # it is one of a group
            return None
        slots = {slot: sources[reactive] for slot, reactive in self.slots.items()}
        return None if self._own is None else f"{slots} {self._own}"

    @cached_property
    def _own(self) -> str | None:
        """What it does with its slots, as text; once for all programs, as a pack of rules says much."""
        restrictions = [(type(one), dict(one.configuration)) for one in self.restrictions]
        try:
            return describe((restrictions, self.where, self.yields), by_identity=True)
        except NotStorable:
            return None


def _body_text(body: Body) -> str:
    return show(body) if isinstance(body, Expression) else f"{shown(body)}, as written"


def check_has_versions(restriction: Restriction, slot: str, reactive: Reactive) -> None:
    """Refuse versions of a table that is derived without them."""
    if not reactive.table or reactive.pattern is None:
        return
    if not any(facts.versions(other) for other in reactive.pattern.restrictions):
        message = (
            f"{restriction!r}: expected versions of {slot!r} but {reactive.name!r}, which it is bound to, keeps none:"
            " it knows its rows by order of arrival; restrict it by versioned, too"
        )
        raise InvalidArgument(message)


def may_come_again(reactive: Reactive) -> bool:
    """Whether what has come may be taken back and come again under one identity: a row of a table, or a result."""
    restrictions = () if reactive.pattern is None else reactive.pattern.restrictions
    return reactive.table or any(map(facts.takes_back, restrictions))
