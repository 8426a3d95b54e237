"""`correlate` binds one variable to each of n reactives and yields results for combinations of their events.

Two spellings, one meaning: ``where`` and ``yields`` as functions (traced once, so that equalities become indexes), or a
generator function in direct style. Variables bind payloads, or lists of them; ``time_x`` and ``key_x``, by parameter
name, are the time and the key of slot ``x``. A body must be pure: it may run for a combination more than once.

This module is over 300 lines because the types of `correlate` for one to four variables stand beside it.

Source: ICFP 2018, doi:10.1145/3236762, Figures 1, 2 and 11.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from cartesius.analysis.windowed_rows import with_leaving
from cartesius.batching.world import World
from cartesius.correlations.join_shape import Join
from cartesius.correlations.runs import with_runs
from cartesius.effects.operations import Implicit
from cartesius.errors import InvalidArgument
from cartesius.language.lists import OneOrMore, Repeated, unbound
from cartesius.language.patterns import Pattern
from cartesius.language.reactives import Reactive
from cartesius.language.restriction_base import parts_of
from cartesius.order.order_edges import check_order
from cartesius.order.order_outputs import given_order
from cartesius.plan import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Concatenate, Never

    from cartesius.data.events import Delete, Update
    from cartesius.language.patterns import Body
    from cartesius.language.reactives import ListBinding
    from cartesius.language.restriction_base import Composition, Restriction, Tabling

    A = TypeVar("A")
    B = TypeVar("B")
    C = TypeVar("C")
    D = TypeVar("D")
    R = TypeVar("R")
    Bound: TypeAlias = Reactive[A, Any] | ListBinding[A]
    Untyped: TypeAlias = Reactive["_Nothing", Any] | ListBinding[list["_Nothing"]]
    Restricted: TypeAlias = Composition | Restriction | None
    # Bodies of other numbers of parameters than there are variables. A function of any parameters would do as well, but
    # take in also the bodies in which mypy has found a mistake.
    NotOne: TypeAlias = Callable[[], Any] | Callable[Concatenate[Any, Any, ...], Any]
    NotTwo: TypeAlias = Callable[[], Any] | Callable[[Any], Any] | Callable[Concatenate[Any, Any, Any, ...], Any]
    NotThree: TypeAlias = (
        Callable[[], Any]
        | Callable[[Any], Any]
        | Callable[[Any, Any], Any]
        | Callable[Concatenate[Any, Any, Any, Any, ...], Any]
    )
    NotFour: TypeAlias = (
        Callable[[], Any]
        | Callable[[Any], Any]
        | Callable[[Any, Any], Any]
        | Callable[[Any, Any, Any], Any]
        | Callable[Concatenate[Any, Any, Any, Any, Any, ...], Any]
    )

    class _Nothing:
        """What no payload is: a reactive of anything fits one of this, and no other does."""


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


# Type checkers: a keyword has no place among type variables, so that the variables must have names to be typed: x, y, z
# and w, in this order. A body of all of them is checked, and its result is that of `correlate`. A body of some, or of
# implicit variables too, is not checked; nor is one of variables of other names, of which the result is known if it is
# annotated.


# fmt: off
@overload
def correlate(
    *, x: Bound[A], y: Bound[B], z: Bound[C], w: Bound[D], where: Callable[[A, B, C, D], Any] | None = None,
    yields: Callable[[A, B, C, D], R], restrict: Tabling, name: str | None = None, type: type[R] | None = None,
    **variables: Binding
) -> Reactive[R, Update[R] | Delete]: ...
@overload
def correlate(
    *, x: Bound[A], y: Bound[B], z: Bound[C], w: Bound[D], where: Callable[[A, B, C, D], Any] | None = None,
    yields: Callable[[A, B, C, D], R], restrict: Restricted = None, name: str | None = None,
    type: type[R] | None = None, **variables: Binding
) -> Reactive[R]: ...
@overload
def correlate(
    *, x: Binding, y: Binding, z: Binding, w: Binding, where: Body | None = None, yields: NotFour,
    restrict: Restricted = None, name: str | None = None, type: type[Any] | None = None, **variables: Binding
) -> Reactive: ...
@overload
def correlate(
    *, x: Binding, y: Binding, z: Binding, w: Binding, where: NotFour, yields: Callable[..., Any],
    restrict: Restricted = None, name: str | None = None, type: type[Any] | None = None, **variables: Binding
) -> Reactive: ...
@overload
def correlate(
    *, x: Bound[A], y: Bound[B], z: Bound[C], w: Never = ..., where: Callable[[A, B, C], Any] | None = None,
    yields: Callable[[A, B, C], R], restrict: Tabling, name: str | None = None, type: type[R] | None = None,
    **variables: Binding
) -> Reactive[R, Update[R] | Delete]: ...
@overload
def correlate(
    *, x: Bound[A], y: Bound[B], z: Bound[C], w: Never = ..., where: Callable[[A, B, C], Any] | None = None,
    yields: Callable[[A, B, C], R], restrict: Restricted = None, name: str | None = None, type: type[R] | None = None,
    **variables: Binding
) -> Reactive[R]: ...
@overload
def correlate(
    *, x: Binding, y: Binding, z: Binding, w: Never = ..., where: Body | None = None, yields: NotThree,
    restrict: Restricted = None, name: str | None = None, type: type[Any] | None = None, **variables: Binding
) -> Reactive: ...
@overload
def correlate(
    *, x: Binding, y: Binding, z: Binding, w: Never = ..., where: NotThree, yields: Callable[..., Any],
    restrict: Restricted = None, name: str | None = None, type: type[Any] | None = None, **variables: Binding
) -> Reactive: ...
@overload
def correlate(
    *, x: Bound[A], y: Bound[B], z: Never = ..., w: Never = ..., where: Callable[[A, B], Any] | None = None,
    yields: Callable[[A, B], R], restrict: Tabling, name: str | None = None, type: type[R] | None = None,
    **variables: Binding
) -> Reactive[R, Update[R] | Delete]: ...
@overload
def correlate(
    *, x: Bound[A], y: Bound[B], z: Never = ..., w: Never = ..., where: Callable[[A, B], Any] | None = None,
    yields: Callable[[A, B], R], restrict: Restricted = None, name: str | None = None, type: type[R] | None = None,
    **variables: Binding
) -> Reactive[R]: ...
@overload
def correlate(
    *, x: Binding, y: Binding, z: Never = ..., w: Never = ..., where: Body | None = None, yields: NotTwo,
    restrict: Restricted = None, name: str | None = None, type: type[Any] | None = None, **variables: Binding
) -> Reactive: ...
@overload
def correlate(
    *, x: Binding, y: Binding, z: Never = ..., w: Never = ..., where: NotTwo, yields: Callable[..., Any],
    restrict: Restricted = None, name: str | None = None, type: type[Any] | None = None, **variables: Binding
) -> Reactive: ...
@overload
def correlate(
    *, x: Bound[A], y: Never = ..., z: Never = ..., w: Never = ..., where: Callable[[A], Any] | None = None,
    yields: Callable[[A], R], restrict: Tabling, name: str | None = None, type: type[R] | None = None,
    **variables: Binding
) -> Reactive[R, Update[R] | Delete]: ...
@overload
def correlate(
    *, x: Bound[A], y: Never = ..., z: Never = ..., w: Never = ..., where: Callable[[A], Any] | None = None,
    yields: Callable[[A], R], restrict: Restricted = None, name: str | None = None, type: type[R] | None = None,
    **variables: Binding
) -> Reactive[R]: ...
@overload
def correlate(
    *, x: Binding, y: Never = ..., z: Never = ..., w: Never = ..., where: Body | None = None, yields: NotOne,
    restrict: Restricted = None, name: str | None = None, type: type[Any] | None = None, **variables: Binding
) -> Reactive: ...
@overload
def correlate(
    *, x: Never = ..., where: Callable[..., Any] | None = None, yields: Callable[..., R], restrict: Tabling,
    name: str | None = None, type: type[R] | None = None, **variables: Binding
) -> Reactive[R, Update[R] | Delete]: ...
@overload
def correlate(
    *, x: Never = ..., where: Callable[..., Any] | None = None, yields: Callable[..., R], restrict: Restricted = None,
    name: str | None = None, type: type[R] | None = None, **variables: Binding
) -> Reactive[R]: ...
@overload
def correlate(
    *, x: Binding, z: Binding, y: Never = ..., where: Body | None = None, yields: Body, restrict: Restricted = None,
    name: str | None = None, type: type[Any] | None = None, **variables: Binding
) -> Reactive: ...
@overload
def correlate(
    *, x: Binding, w: Binding, y: Never = ..., z: Never = ..., where: Body | None = None, yields: Body,
    restrict: Restricted = None, name: str | None = None, type: type[Any] | None = None, **variables: Binding
) -> Reactive: ...
@overload
def correlate(
    *, x: Binding, y: Binding, w: Binding, z: Never = ..., where: Body | None = None, yields: Body,
    restrict: Restricted = None, name: str | None = None, type: type[Any] | None = None, **variables: Binding
) -> Reactive: ...
@overload
def correlate(
    *, where: Body | None = None, yields: None = None, restrict: Tabling, slots: Mapping[str, Binding] | None = None,
    name: str | None = None, type: type[Any] | None = None, **variables: Binding
) -> Callable[[Callable[..., Iterator[R]]], Reactive[R, Update[R] | Delete]]: ...
@overload
def correlate(
    *, where: Body | None = None, yields: None = None, restrict: Restricted = None,
    slots: Mapping[str, Binding] | None = None, name: str | None = None, type: type[Any] | None = None,
    **variables: Binding
) -> Callable[[Callable[..., Iterator[R]]], Reactive[R]]: ...
@overload
def correlate(
    *, where: Body | None = None, yields: Body, slots: Mapping[str, Binding], restrict: Restricted = None,
    name: str | None = None, type: type[Any] | None = None, **variables: Binding
) -> Reactive: ...
@overload
def correlate(
    *, where: Body | None = None, yields: Body, restrict: Restricted = None, name: str | None = None,
    type: type[Any] | None = None, **variables: Untyped
) -> Reactive: ...
# fmt: on


def correlate(
    *,
    where: Body | None = None,
    yields: Body | None = None,
    restrict: Any = None,
    slots: Any = None,
    name: str | None = None,
    type: type | None = None,
    **variables: Any,
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
        pattern.restrictions = with_leaving(pattern)
        trial = Join(pattern, own, 0, World(timedelta(microseconds=1), is_trial=True))  # what does not fit is refused
        trial.drop()
        check_order(trial)
        is_table = any(facts.makes_table(restriction) for restriction in restrictions)
        return Reactive(own, table=is_table, type=type, order=given_order(trial), pattern=pattern)

    if yields is None:
        return lambda body: build(body, is_generator=True)
    return build(yields, is_generator=False)
