"""Lists: variables of `correlate` that are bound to several events, and conditions on what they hold.

`repeated` binds n events, `one_or_more` a run that grows (Kleene plus). Only `correlate` understands them; everything
else is told so. `each` and `successive` are conditions on a list: where they are traced, events that fail are not
enumerated; elsewhere they look at a plain list.

Source: ICFP 2018, doi:10.1145/3236762, sections 2.6 and 5.1; Gyllstrom et al., On supporting Kleene closure over event
streams, ICDE 2008 (SASE+).
"""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import attrs

from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Every, Expression, KeyOf, Part, equality, replace, slots_of
from cartesius.expressions.tracing import Symbol, of_every, traceable
from cartesius.language.reactives import ListBinding, Payload, Reactive, check_reactive
from cartesius.language.restriction_base import Composable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

CONTIGUITIES = ("relaxed", "strict")


@final
@attrs.frozen
class Repeated(ListBinding[Payload]):
    """A binding of lists of ``n`` events; see `repeated`."""

    source: Reactive
    n: int


@final
@attrs.frozen
class OneOrMore(ListBinding[Payload]):
    """A binding of runs; see `one_or_more`."""

    source: Reactive
    where: Callable[[list[Any]], Any] | None
    contiguity: str
    within: int | timedelta | None


def repeated(source: Reactive[Payload], n: int) -> Repeated[list[Payload]]:
    """Bind a variable of `correlate` to lists of ``n`` different events of ``source``, in order of arrival.

    Every choice of n events is a candidate, as if the variable were n, bound to one memory: restrictions that name it
    concern its single events, which meet under equal keys. In ``where`` and ``yields`` it is a list of n payloads,
    ``time_…`` the hull of their times and ``key_…`` their key. `each` and `successive` are conditions on the list. Bind
    it last: what other variables say of its events is then known before lists are made.

    >>> from cartesius import Reactive, correlate, each, repeated, run
    >>> release, review = Reactive("release"), Reactive("review")
    >>> liked = correlate(
    ...     release=release,
    ...     reviews=repeated(review, 2),
    ...     where=lambda release, reviews: each(reviews, lambda r: (r.rating >= 4) & (r.model == release)),
    ...     yields=lambda release, reviews: (release, reviews[0].rating, reviews[1].rating),
    ... )
    >>> ratings = [(review, {"model": "M", "rating": rating}) for rating in (4, 2, 5)]
    >>> [event.value for event in run(liked, [(release, "M"), *ratings])]
    [('M', 4, 5)]

    Args:
        source: The source, a stream.
        n: How many: an int ≥ 1, dimensionless.

    Raises:
        InvalidArgument: ``source`` is no reactive, or a table; ``n`` is not an int ≥ 1; when a correlation is built:
            beside `optionally`, `versioned` or `separately`, or where `as_table` is keyed by the variable.

    Source:
        ICFP 2018, doi:10.1145/3236762, section 2.6 (``reviews(5)``); Flink CEP's ``times``.
    """
    _check_stream("repeated", source)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        message = f"repeated: expected a count, an int ≥ 1, but got n={n!r} (type={type(n).__name__})"
        raise InvalidArgument(message)
    return Repeated(source, n)


def one_or_more(
    source: Reactive[Payload],
    *,
    where: Callable[[list[Payload]], Any] | None = None,
    contiguity: str = "relaxed",
    within: int | timedelta | None = None,
) -> OneOrMore[list[Payload]]:
    """Bind a variable of `correlate` to maximal runs of events of ``source``: Kleene plus.

    An event extends every open run that it extends validly, and takes the place of the shorter run: beside
    `retracting` the results of that are taken back. If it extends none, and is valid alone, it begins a run. A run is
    one event to all restrictions left of what was added for it, ``extending``, which stands right of the last
    `key_by`: it is used up, expires and is keyed as a whole. Restrictions that let single events through, such as
    `only`, see them before they extend a run. Its time is the hull of its events; its value is the list of payloads.

    What a run skipped is forgotten: if the source takes an event of a run back, the whole run goes.

    >>> from cartesius import Reactive, correlate, one_or_more, run
    >>> from restrictions import affinely
    >>> price, bell = Reactive("price"), Reactive("bell")
    >>> rises = correlate(
    ...     rise=one_or_more(price, where=lambda run: len(run) == 1 or run[-1] > run[-2]),
    ...     bell=bell,
    ...     yields=lambda rise: rise,
    ...     restrict=affinely("rise", "bell"),
    ... )
    >>> trace = [(price, 3), (price, 5), (bell, 1), (price, 4), (price, 6), (bell, 2)]
    >>> [event.value for event in run(rises, trace)]
    [[3, 5], [4, 6]]

    Args:
        source: The source, a stream.
        where: Whether a run may be so: a pure function of the payloads of a run so far, the newest last.
        contiguity: ``"relaxed"``: an event that does not extend a run is skipped by it; ``"strict"``: it ends it.
        within: How far the end of a run may be from its start, in time units or as a `timedelta`; None: any time.

    State: none if relaxed, as the runs are in memory; if strict, which event came last (of each key). Relies on
    arrival order.

    Raises:
        InvalidArgument: ``source`` is no reactive, or a table; an argument that is none of these; when a correlation
            is built: beside `versioned`.

    Source:
        ICFP 2018, doi:10.1145/3236762, section 5.1 (SASE+); Flink CEP's ``oneOrMore``, greedy.
    """
    _check_stream("one_or_more", source)
    if where is not None and not callable(where):
        message = f"one_or_more: expected a function of the run so far but got where={where!r} (type={_kind(where)})"
        raise InvalidArgument(message)
    if contiguity not in CONTIGUITIES:
        message = f"one_or_more: expected 'relaxed' or 'strict' but got contiguity={contiguity!r}"
        raise InvalidArgument(message)
    if within is not None and not _is_duration(within):
        message = (
            "one_or_more: expected a duration ≥ 0, an int of time units or a timedelta, but got"
            f" within={within!r} (type={_kind(within)})"
        )
        raise InvalidArgument(message)
    return OneOrMore(source, where, contiguity, within)


@traceable
def each(items: Sequence[Payload], condition: Callable[[Payload], Any]) -> bool:
    """Whether ``condition`` holds of each item of a list. Where it is traced, what fails is not enumerated.

    In ``where``, beside `repeated`, what the condition says of an item alone, and what it says to equal another part,
    become indexes: so write ``&`` between comparisons.

    >>> from cartesius import each
    >>> each([4, 5], lambda rating: rating > 3)
    True

    Args:
        items: A list, as `repeated` and `one_or_more` bind it.
        condition: A pure function of an item.

    Raises:
        InvalidArgument: ``condition`` is not a function.

    Law:
        ``each(xs, p) & each(xs, q)`` says what ``each(xs, lambda x: p(x) & q(x))`` says.

    Source:
        ICFP 2018, doi:10.1145/3236762, section 2.6 ("all rating >= 3.5").
    """
    _check_condition("each", condition)
    if isinstance(items, Symbol):
        return of_every(items, condition, 1)  # a symbol stands for the truth value
    return all(condition(item) for item in items)


@traceable
def successive(items: Sequence[Payload], condition: Callable[[Payload, Payload], Any]) -> bool:
    """Whether ``condition`` holds of all neighbours in a list, the earlier one first. It holds of a list of one.

    Where it is traced, beside `repeated`, a list is not gone on with once two neighbours fail.

    >>> from cartesius import successive
    >>> successive([3, 5, 4], lambda earlier, later: later > earlier)
    False

    Args:
        items: A list, as `repeated` and `one_or_more` bind it.
        condition: A pure function of two items.

    Raises:
        InvalidArgument: ``condition`` is not a function.

    Law:
        ``successive(xs, p) & successive(xs, q)`` says what ``successive(xs, lambda a, b: p(a, b) & q(a, b))`` says.

    Source:
        Gyllstrom et al., ICDE 2008 (SASE+: ``a[i]`` and ``a[i-1]``).
    """
    _check_condition("successive", condition)
    if isinstance(items, Symbol):
        return of_every(items, condition, 2)  # a symbol stands for the truth value
    return all(condition(earlier, later) for earlier, later in pairwise(items))


def unbound(bound: Mapping[str, Reactive | Repeated | OneOrMore]) -> dict[str, Reactive]:
    """Return the reactive of each variable; raise `InvalidArgument` for what is none."""
    for variable, binding in bound.items():
        if isinstance(binding, Composable):
            message = f"correlate: expected a Reactive but got {variable}={binding!r}; give restrictions by restrict="
            raise InvalidArgument(message)
    return {
        variable: check_reactive(binding.source if isinstance(binding, ListBinding) else binding, "correlate", variable)
        for variable, binding in bound.items()
    }


def equality_of(
    condition: Expression, lists: Mapping[str, int | None]
) -> tuple[tuple[str, Expression], tuple[str, Expression]] | None:
    """Return both (slot, side) of an equality between events of two slots, be it of each event of a list."""
    single = None
    match condition:
        case Every(items=Part(slot=slot), elements=(element,), condition=inner) if lists.get(
            slot
        ) and slot not in slots_of(inner):
            single, condition = slot, replace(inner, element, Part(slot))
    pair = equality(condition)
    if pair is None or any(lists.get(slot) and slot != single and side != KeyOf(slot) for slot, side in pair):
        return None  # it says something of a whole list, or of one position
    return pair


def _check_stream(call: str, source: object) -> None:
    if check_reactive(source, call, "source").table:
        message = (
            f"{call}: expected a stream but {source!r} is a table, whose rows replace each other; bind a stream of its"
            " changes"
        )
        raise InvalidArgument(message)


def _check_condition(call: str, condition: object) -> None:
    if not callable(condition):
        message = f"{call}: expected a function but got condition={condition!r} (type={_kind(condition)})"
        raise InvalidArgument(message)


def _is_duration(value: object) -> bool:
    if isinstance(value, timedelta):
        return value >= timedelta(0)
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _kind(value: object) -> str:
    return type(value).__name__
