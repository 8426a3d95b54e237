"""Patterns: `correlate` binds one variable to each of n reactives and yields results for combinations of their events.

Two spellings, one meaning: ``where`` and ``yields`` as functions (traced once, so that equalities become indexes), or a
generator function in direct style. Variables bind payloads, or lists of them; ``time_x`` and ``key_x``, by parameter
name, are the time and the key of slot ``x``. A body must be pure: it may run for a combination more than once.

This module is over 300 lines because `correlate` carries its examples.

Source: ICFP 2018, doi:10.1145/3236762, Figures 1, 2 and 11.
"""

from __future__ import annotations

import difflib
import inspect
from copy import copy
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.absent_slots import AbsentSlots
from cartesius.errors import InvalidArgument, NotStorable
from cartesius.expressions import Expression, WindowOf, conjuncts, evaluator
from cartesius.fingerprints import describe, describe_clauses
from cartesius.join_shape import Join
from cartesius.lenience import lenient
from cartesius.lists import OneOrMore, Repeated, equality_of, unbound
from cartesius.nulls import all_hold
from cartesius.operations import Implicit
from cartesius.order_edges import check_order
from cartesius.order_outputs import given_order
from cartesius.reactives import Reactive
from cartesius.restriction_base import parts_of
from cartesius.runs import with_runs
from cartesius.tracing import parameters_of, symbol_for, trace
from cartesius.windowed_rows import RowWindows, row_windows, with_leaving
from cartesius.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from cartesius.alternatives import Alternative
    from cartesius.restriction_base import Composition, Restriction

Body: TypeAlias = "Callable[..., Any] | Expression"
Binding: TypeAlias = "Reactive | Repeated | OneOrMore"

_restriction: Implicit[Any] = Implicit("restriction", default=None)


def restricting(restriction: Composition | Restriction) -> AbstractContextManager[None]:
    """Inject a restriction into the correlations made inside a ``with`` block.

    This is the paper's ``let implicit ?restriction``.

    >>> from cartesius import Reactive, restricting, run
    >>> from restrictions import cartesian, most_recently
    >>> left, right = Reactive("left"), Reactive("right")
    >>> with restricting(most_recently("left", "right")):
    ...     latest = cartesian(left, right)
    >>> [event.value for event in run(latest, [(left, 1), (left, 2), (right, "a")])]
    [(2, 'a')]
    """
    parts_of(restriction)
    return _restriction.bound_to(restriction)


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
        self._where = self._prepare(where, "where") if where is not None else None
        self._yields = self._prepare(yields, "yields", traced=not is_generator)
        self.equalities = self._equalities()
        self.restrictions = with_leaving(self)
        self._as_written = self

    def _equalities(self) -> list[tuple[tuple[str, Expression], tuple[str, Expression]]]:
        return [pair for condition in self.conditions() if (pair := equality_of(condition, self.lists))]

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
        return found.expression

    def _parameters(self, body: Callable[..., Any], call: str) -> list[tuple[str, Expression]]:
        names = parameters_of(body)
        if names is None:
            names = list(self.variables)
        parameters = []
        for name in names:
            node = symbol_for(name, self.variables)
            if isinstance(node, WindowOf) and not any(r.opens_windows for r in self.restrictions):
                message = (
                    f"correlate: the parameter of {call}: expected windows, of which {name!r} is one, but there are"
                    " none; restrict it by tumbling(…), or name a slot so"
                )
                raise InvalidArgument(message)
            if node is None:
                raise InvalidArgument(self.unknown_slot(name, f"correlate: the parameter of {call}", self.variables))
            parameters.append((name, node))
        return parameters

    def unknown_slot(self, name: object, call: str, among: Mapping[str, Reactive] | None = None) -> str:
        """Return the message for a slot that does not exist, with the near names."""
        slots = self.slots if among is None else among
        implicit = [f"{kind}_{slot}" for kind in ("time", "key") for slot in slots]
        known = [*slots, *(implicit if str(name).startswith(("time", "key")) else ())]
        near = difflib.get_close_matches(str(name), known, n=2)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        if name in self.slots and name not in slots:
            hint = f"; it is absent from every row: bind it, {name}=…, to have conditions on it"
        shown = ", ".join(f"{slot} ({reactive.name})" for slot, reactive in slots.items())
        return f"{call}: expected a slot of this correlation but got {name!r}; the slots are {shown}{hint}"

    def conditions(self) -> list[Expression]:
        """Return the conditions of a traced ``where`` in the order in which they are asked: those of an index first."""
        if not isinstance(self._where, Expression):
            return []
        return sorted(conjuncts(self._where), key=lambda one: equality_of(one, self.lists) is None)

    @cached_property
    def row_windows(self) -> RowWindows | None:
        """When the rows of its table change no more, if their keys name windows."""
        return row_windows(self)

    @property
    def is_where_traced(self) -> bool:
        """Whether ``where`` is known as an expression (or absent)."""
        return not self.is_generator and (self._where is None or isinstance(self._where, Expression))

    @property
    def has_traced_where(self) -> bool:
        """Whether there is a ``where`` that is known as an expression, also beside a body in direct style."""
        return isinstance(self._where, Expression)

    @property
    def is_direct(self) -> bool:
        """Whether the body is a generator function alone."""
        return self.is_generator and self._where is None

    @property
    def where(self) -> Body | None:
        """The condition, as an expression if it traced."""
        return self._where

    @property
    def yields(self) -> Body:
        """What is yielded, as an expression if it traced."""
        return self._yields

    def leniently(self) -> Pattern:
        """Return the pattern as an engine runs it in which what raises is unknown; what it is called stays the same."""
        found = copy(self)
        found._as_written = self
        found._where, found._yields = lenient(self._where), lenient(self._yields)
        found.restrictions = tuple(restriction.leniently() for restriction in self.restrictions)
        found.equalities = found._equalities()
        return found

    def body(self, slots: Mapping[str, int]) -> tuple[Callable[[Any], Any] | None, Callable[[Any], list[Any]]]:
        """Return ``where`` and ``yields`` as functions of a row; the latter returns the list of what is yielded."""
        where = None if self._where is None else self._condition(self._where, slots)
        produce = self._compile(self._yields, slots)
        if self.is_generator:
            return where, lambda row: list(produce(row))
        return where, lambda row: [produce(row)]

    def _condition(self, where: Body, slots: Mapping[str, int]) -> Callable[[Any], Any] | None:
        """Return ``where`` as a function of a row, without the conditions on what is absent from it."""
        if not isinstance(where, Expression):
            if self.absent.names:
                self.absent.check_untraced([name for name, _ in self._parameters(where, "where")], self.untraced)
            return self._compile(where, slots)
        checks = [evaluator(one, dict(slots)) for one in self.absent.of_rows(self.conditions())]
        return checks[0] if len(checks) == 1 else partial(all_hold, checks)

    def _compile(self, body: Body, slots: Mapping[str, int]) -> Callable[[Any], Any]:
        if isinstance(body, Expression):
            return evaluator(body, dict(slots))
        names, readers = [], []
        for name, node in self._parameters(body, "body"):
            names.append(name)
            readers.append(evaluator(node, dict(slots)))
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
        bodies = [describe(body) for body in (written._where, written._yields)]
        place = "" if self.alternative is None else f"alternative {self.alternative}: "
        return f"{place}correlate({slots}; where {bodies[0]}; yields {bodies[1]}; restrict {restrictions})"

    def sameness(self, sources: Mapping[Reactive, str]) -> str | None:
        """Return a text that patterns which do the same in one program share, given the names of their inputs.

        Functions that did not trace count by identity. None: the pattern is like no other.
        """
        if self.alternative is not None:  # it is one of a group
            return None
        slots = [(slot, sources[reactive]) for slot, reactive in self.slots.items()]
        return None if self._own is None else f"{describe(slots)} {self._own}"

    @cached_property
    def _own(self) -> str | None:
        """What it does with its slots, as text; once for all programs, as a pack of rules says much."""
        restrictions = [(type(one), dict(one.configuration)) for one in self.restrictions]
        try:
            return describe((restrictions, self._where, self._yields), by_identity=True)
        except NotStorable:
            return None


def correlate(
    *,
    where: Body | None = None,
    yields: Body | None = None,
    restrict: Composition | Restriction | None = None,
    slots: Mapping[str, Binding] | None = None,
    name: str | None = None,
    type: type | None = None,
    **variables: Binding,
) -> Any:
    """Correlate reactives: a result for each combination of their events that satisfies the body, as restricted.

    >>> from cartesius import Reactive, correlate, run
    >>> from restrictions import most_recently
    >>> left, right = Reactive("left"), Reactive("right")
    >>> pairs = correlate(
    ...     x=left,
    ...     y=right,
    ...     where=lambda x, y: x.id == y.id,
    ...     yields=lambda x, y: (x.id, y.speed),
    ...     restrict=most_recently("x"),
    ... )
    >>> [event.value for event in run(pairs, [(left, {"id": 7}), (right, {"id": 7, "speed": 3})])]
    [(7, 3)]

    Direct style, where not yielding is failing, and implicit variables come by parameter name:

    >>> @correlate(x=left, y=right)
    ... def soon(x, y, *, time_x, time_y):
    ...     if x == y and time_y.start - time_x.end <= 2:
    ...         yield x
    >>> [event.value for event in run(soon, [(left, "a", 1), (left, "b", 5), (right, "a", 4), (right, "b", 6)])]
    ['b']

    Args:
        where: The condition, a function of the variables; use ``&`` between comparisons, so that it can be traced. It
            must be pure: what it captures must not change later, as tracing reads it once.
        yields: The result, a function of the variables. Without it `correlate` decorates a generator function.
        restrict: Restrictions, composed by ``|``; by default what `restricting` injects.
        slots: More variables, for names that clash with these arguments.
        name: The name of the output; by default made from the inputs.
        type: The type of the results, if it is an attrs class, a dataclass or a named tuple.
        **variables: The reactive that each variable is bound to, in slot order; or `repeated`, or `one_or_more` of one,
            which bind lists.

    Returns:
        The output, a `Reactive`, so that correlations nest; or a decorator, if ``yields`` is missing.

    Raises:
        InvalidArgument: No variable, something else than a reactive, an unknown slot, or restrictions that do not fit.
        OrderMismatch: The declared order of the inputs does not imply the one that the results depend on.
    """
    bindings = {**(slots or {}), **variables}
    bound = unbound(bindings)
    if not bound and slots is None:
        message = (
            "correlate: expected at least one variable bound to a Reactive but got none; write correlate(x=reactive, …)"
        )
        raise InvalidArgument(message)
    restrictions = with_runs(parts_of(restrict if restrict is not None else _restriction()), bindings)
    lists = {
        variable: binding.n if isinstance(binding, Repeated) else None
        for variable, binding in bindings.items()
        if not isinstance(binding, Reactive)
    }

    def build(body: Body, *, is_generator: bool) -> Reactive:
        own = name or (getattr(body, "__name__", "") if is_generator else "")
        own = own or f"correlate({', '.join(reactive.name for reactive in bound.values())})"
        pattern = Pattern(own, bound, where, body, restrictions, is_generator=is_generator, lists=lists)
        trial = Join(pattern, own, 0, World(timedelta(microseconds=1)))  # what does not fit is refused here
        trial.drop()
        check_order(trial)
        return Reactive(own, table=_is_table(restrictions), type=type, order=given_order(trial), pattern=pattern)

    if yields is None:
        return lambda body: build(body, is_generator=True)
    return build(yields, is_generator=False)


def _is_table(restrictions: tuple[Restriction, ...]) -> bool:
    return any(restriction.makes_table for restriction in restrictions)
