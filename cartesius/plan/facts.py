"""Facts: what follows from the nodes of a restriction, one function each. Whoever asks, asks here.

Each takes one restriction, for its nodes; slots are as in these. A fact of several nodes is never better than
that of its parts, and of `Opaque` it is what its class says, or what is safe of any clauses.

This module is over 300 lines because a fact has one place, and whoever looks for one finds it beside the others.

Source: DESIGN 4; PLAN 2; SEMANTICS 1.14, 3.11 and 3.12.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import attrs

from cartesius.expressions.value_functions import of_value
from cartesius.plan.nodes import (
    Age,
    Aggregate,
    AllowLate,
    Announce,
    Apart,
    Assigned,
    AsTable,
    Choose,
    Collate,
    Complete,
    Deliver,
    Fold,
    Freed,
    InSequence,
    InTime,
    KeyBy,
    Lasting,
    Let,
    Lockstep,
    May,
    Never,
    Newest,
    Node,
    Now,
    Oldest,
    Opaque,
    Recall,
    Regular,
    Relation,
    Require,
    Retain,
    Runs,
    Separate,
    Sessions,
    Single,
    TakeBack,
    TakeOrder,
    Until,
    Upsert,
    Uses,
    Versions,
    Visit,
    Within,
)
from cartesius.plan.reliance import Give, Reliance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius.plan.nodes import Slots


class Planned(Protocol):
    """Who has nodes: a restriction as it is written, or one at work in a correlation."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """What it means, outermost first."""


_UNORDERED: Final = (
    *(
        KeyBy,
        Require,
        Retain,
        Let,
        Regular,
        Single,
        Sessions,
        InTime,
        Upsert,
        Recall,
        Announce,
        Versions,
        Until,
        AllowLate,
        Freed,
        Retain,
        May,
        Separate,
    ),
    *(Visit, TakeBack, Aggregate, Relation, Complete, TakeOrder),
)
_POINTWISE: Final = (
    *(Require, Let, Recall, Announce, Now, Until, AllowLate, Freed, Retain, Never, Separate, Visit, TakeOrder),
)
_SHARED: Final = (KeyBy, Require, Let, Newest, Oldest, May, TakeBack, AsTable, Visit, TakeOrder)
"""What concerns each slot by itself, and neither changes uses nor lets entries expire."""


Kind = TypeVar("Kind", bound=Node)


def _first(of: Planned, kind: type[Kind]) -> Kind | None:
    """Return the first node of a kind: engines ask for it a hundred times while they are built."""
    for one in of.nodes:
        if isinstance(one, kind):
            return one
    return None


# -- what it does to results -------------------------------------------------------------------------------------------


def consumes(of: Planned) -> bool:
    """Whether it spends uses, or leaves matches out: not together with retraction (SEMANTICS 1.14)."""
    return any(
        isinstance(one, Uses | Never)
        or (isinstance(one, Choose) and one.leaves_out)
        or (isinstance(one, InSequence) and one.after_match is not None)
        or (isinstance(one, Opaque) and bool(one.consumes))
        for one in of.nodes
    )


def takes_back(of: Planned) -> bool:
    """Whether it takes back the results of what is displaced."""
    return any([isinstance(one, TakeBack) for one in of.nodes])


def makes_table(of: Planned) -> bool:
    """Whether results become rows of a table."""
    return any(isinstance(one, AsTable) or (isinstance(one, Aggregate) and one.by is not None) for one in of.nodes)


def table_key(of: Planned) -> Any:
    """Return the key of the table that results become rows of: the name of a slot, or a function; None: of none."""
    return next(
        (one.key if isinstance(one, AsTable) else one.by for one in of.nodes if isinstance(one, AsTable | Aggregate)),
        None,
    )


def ends_early(of: Planned) -> bool:
    """Whether the output may complete before any input has ended."""
    return any([isinstance(one, Choose | Opaque) and one.ends for one in of.nodes])


# -- what stays in memory ----------------------------------------------------------------------------------------------


def settles(of: Planned) -> bool:
    """Whether it says, by `Restriction.due`, when nothing can meet an event any more."""
    return any([isinstance(one, Until | Age | Collate) for one in of.nodes])


def changes_last(of: Planned) -> bool:
    """Whether its rows change after those of others that change at the same time, which its results are made of too."""
    return any([isinstance(one, Age) and getattr(one.life, "is_last", False) for one in of.nodes])


def settles_alone(of: Planned) -> bool:
    """Whether, for that, it need not name all slots."""
    return any([isinstance(one, Lasting | Age | Collate) for one in of.nodes])


def expires(of: Planned) -> bool:
    """Whether it lets entries leave whose results stand."""
    return any(
        isinstance(one, Until | Deliver | Now | Never)
        or (isinstance(one, InSequence) and one.after_match is not None)
        or (isinstance(one, Opaque) and one.expires)
        for one in of.nodes
    )


def forgets(of: Planned) -> bool:
    """Whether it lets entries leave, and their results with them: nobody knows them any more."""
    return bool(freed(of))


def freed(of: Planned) -> Slots:
    """Return the slots whose entries leave so."""
    return tuple([slot for one in of.nodes if isinstance(one, Freed) for slot in one.slots])


def retention(of: Planned) -> Any:
    """Return how long what is of a closed window is kept; None: it does not say."""
    return next((one.retention for one in of.nodes if isinstance(one, Retain)), None)


def bound(of: Planned) -> str | None:
    """Return the class of what bounds the memory of its slots, such as "O(1)"; None: nothing, or it is not known."""
    found = [_bound(one) for one in of.nodes]
    is_known = not any(isinstance(one, Opaque) and one.bound is None for one in of.nodes)
    return next((one for one in found if one is not None), None) if is_known else None


def _bound(node: Node) -> str | None:
    match node:
        case Newest() | Oldest():
            return "O(1)"
        case Now() | Recall() | Announce():
            return "O(0)"
        case Assigned():
            return _OF_ASSIGNED
        case Until() | Deliver() | Freed() | Never():
            return "O(window)"
        case Age() | Collate() | Upsert():
            return "O(keys)"
        case Versions():
            return None if node.retention is None else "O(versions)"
        case Opaque():
            return node.bound
    return None


_OF_ASSIGNED: Final = "O(window) if each window is given an end"
"""What a function says may stay open, and then it is never freed."""


def entries_kept(of: Planned) -> int | None:
    """Return how many events of each of its slots stay, of a key; None: any number, or it is not known."""
    found = [_entries(one) for one in of.nodes]
    is_known = not any(isinstance(one, Opaque) and one.entries is None for one in of.nodes)
    return min((one for one in found if one is not None), default=None) if is_known else None


def _entries(node: Node) -> int | None:
    match node:
        case Newest() | Oldest():
            return node.n
        case Now():
            return 0
        case Opaque():
            return node.entries
    return None


def state_variables(of: Planned) -> tuple[int | None, int] | None:
    """Return how many state variables a copy has, and how many an event of one slot changes at most.

    An event that is held is one, and so is a count or any other value; None, if there may be any number. Nothing but
    None: it is not known.
    """
    found = [_variables(one) for one in of.nodes]
    if any(one is None for one in found):
        return None
    known = [one for one in found if one is not None]
    holds = None if any(one[0] is None for one in known) else sum(one[0] or 0 for one in known)
    return holds, sum(one[1] for one in known)


def _variables(node: Node) -> tuple[int | None, int] | None:
    match node:
        case Opaque():
            return node.variables
        case Choose():
            return node.counts, node.counts
        case Lockstep():
            others = len(node.slots) - 1
            is_full = node.limit is not None and node.overflow == "drop_oldest"
            return None if node.limit is None else others * node.limit, max(others, 2 if is_full else 1)
        case Runs():
            return (1, 1) if node.contiguity == "strict" else (0, 0)
        case Deliver() | InTime() | Never() | Versions() | Freed() | Retain():
            return None
        case InSequence() if node.after_match is not None:
            return None
    return 0, 0


@attrs.frozen
class Bound:
    """The end of the part of slot ``of`` is at most ``most`` after the end, or start, of that of slot ``since``."""

    of: int
    since: int
    most: Any
    from_start: bool = False

    @property
    def side(self) -> str:
        """Which time of the part of ``since`` it counts from."""
        return "start" if self.from_start else "end"

    @property
    def slots(self) -> frozenset[int]:
        """The slots that it is about."""
        return frozenset((self.of, self.since))


def bounds_on_times(of: Planned, count: int) -> list[Bound]:
    """Return what it says, of a correlation of so many slots, of the times of parts that meet; slots are numbers."""
    found: list[Bound] = []
    for one in of.nodes:
        match one:
            case Within(slots, duration):
                named = [slot.index for slot in slots]
                found += [Bound(late, since, duration, from_start=True) for late in named for since in named]
            case Lasting(slot, duration):
                found += [Bound(late, slot.index, duration) for late in range(count)]
            case Apart(left, right, lower, upper):
                found += [Bound(right.index, left.index, upper), Bound(left.index, right.index, -lower)]
    return found


# -- what is held back -------------------------------------------------------------------------------------------------


def held(of: Planned) -> str | None:
    """Return what bounds the events that it holds back, such as "at most 3"; None: it holds none, or does not say."""
    found = [one for one in map(_held, of.nodes) if one]
    return found[0] if found else None


def may_hold(of: Planned) -> bool:
    """Whether it may hold events back, of which it does not say how many."""
    return any([isinstance(one, Opaque) and one.held is None for one in of.nodes])


def remembers(of: Planned) -> bool:
    """Whether a copy remembers more than the events that it holds, and so may never be as a fresh one again."""
    return any(
        (isinstance(one, Choose) and one.counts > 0)
        or (isinstance(one, Opaque) and one.held == "" and one.variables != (0, 0))
        for one in of.nodes
    )


def _held(node: Node) -> str | None:
    match node:
        case Lockstep():
            return "unbounded" if node.limit is None else f"at most {node.limit}"
        case InTime() | Never():
            return "O(window)"
        case Assigned():
            return _OF_ASSIGNED
        case Deliver():
            return "O(window)" if node.reports & _WAITING or node.ticks != "tuple" else None
        case Opaque():
            return node.held
    return None


_WAITING: Final = frozenset({"on_close", "final", "periodic"})
"""The conditions of a report that are fulfilled later."""


# -- orders ------------------------------------------------------------------------------------------------------------


def reliance(of: Planned) -> Reliance:
    """Return of which events the order of arrival decides about results."""
    found = Reliance.NONE
    for one in of.nodes:
        found |= _reliance(one)
    return found


def _reliance(node: Node) -> Reliance:
    match node:
        case Opaque():
            return node.relies
        case Newest():
            return Reliance.WITHIN | Reliance.AMONG
        case Oldest() | Lockstep():
            return Reliance.WITHIN
        case Now() | Never():
            return Reliance.AMONG
        case Choose(leaves_out=False):
            return Reliance.NONE
        case Deliver(ticks=int()):  # a window is looked at after so many events, whichever they are
            return Reliance.ALL
    return Reliance.NONE if isinstance(node, _UNORDERED) else Reliance.ALL


def gives(of: Planned) -> Give:
    """Return in which order it lets events go on."""
    for one in of.nodes:
        match one:
            case Lockstep():
                return Give.IN_STEP
            case InTime():
                return Give.BY_TIME
            case Opaque() if one.gives is not Give.AS_THEY_COME:
                return one.gives
    return Give.AS_THEY_COME


def fields_kept(of: Planned) -> tuple[str, ...] | None:
    """Return, of a gate, which fields of what it lets go on are those that came; None: all of them."""
    kept: tuple[str, ...] | None = None
    for one in of.nodes:
        own = one.fields if isinstance(one, Opaque) else None if isinstance(one, _UNCHANGED) else ()
        if own is not None:
            kept = own if kept is None else tuple(name for name in kept if name in own)
    return kept


_UNCHANGED: Final = (Let, Lockstep, InTime, Upsert, Recall, Age, Collate, Never)
"""The gates that let events go on as they came."""


def order_taken(of: Planned) -> Slots:
    """Return the slots whose order of arrival is taken for theirs."""
    return tuple([slot for one in of.nodes if isinstance(one, TakeOrder) for slot in one.slots])


def is_pointwise(of: Planned) -> bool:
    """Whether it looks at each event, or each candidate, by itself."""
    return all([_is_pointwise(one) for one in of.nodes])


def _is_pointwise(node: Node) -> bool:
    return isinstance(node, _POINTWISE) or (isinstance(node, Opaque) and node.pointwise)


def looks_alone(of: Planned) -> bool:
    """Whether, as it is configured, what is in another bucket is nothing to it."""
    return all([_looks_alone(one) for one in of.nodes])


def _looks_alone(node: Node) -> bool:
    match node:
        case InSequence():
            return node.contiguity == "any" and node.after_match is None
        case Regular() | Single():
            return node.content is None and _goes_by_key(node)
    return _is_pointwise(node)


# -- meeting, windows and tables ---------------------------------------------------------------------------------------


def is_by_row(of: Planned) -> bool:
    """Whether, of a table, it looks at each row by itself, and at what was under its key."""
    return all([isinstance(one, Age | Fold) for one in of.nodes])


def in_order(of: Planned) -> Slots:
    """Return the slots whose events match only one after another, by time."""
    return tuple([slot for one in of.nodes if isinstance(one, InSequence) for slot in one.slots])


def is_relative(of: Planned) -> bool:
    """Whether what it says of a candidate depends on what else is in memory."""
    return any([isinstance(one, InSequence) for one in of.nodes])


def weighs_by_where(of: Planned) -> bool:
    """Whether it weighs a combination only against what would satisfy ``where`` in place of one of its parts."""
    matches = [one for one in of.nodes if isinstance(one, InSequence)]
    return bool(matches) and all(one.contiguity == "relaxed" and one.after_match is None for one in matches)


def opens_windows(of: Planned) -> bool:
    """Whether it delivers events to windows."""
    return windows(of) is not None


def relates(of: Planned) -> bool:
    """Whether it makes a stream of the reports of windows."""
    return _first(of, Relation) is not None


def compares_reports(of: Planned) -> bool:
    """Whether it compares what a window reports with the report before, under the same keys to the left of windows."""
    found = _first(of, Relation)
    return found is not None and found.kind != "rstream"


def windows(of: Planned) -> Deliver | None:
    """Return what it says of the windows to which it delivers events."""
    return _first(of, Deliver)


def reports_by_key(of: Planned) -> bool:
    """Whether its windows, right of a `key_by` of all slots, go by their own events and the clock alone."""
    found = windows(of)
    return found is not None and _goes_by_key(found)


def _goes_by_key(window: Deliver) -> bool:
    return window.ticks == "tuple" and window.reports <= {"on_content_change", "on_close", "final"}


def row_slots(of: Planned) -> Slots:
    """Return the slots that it turns into tables."""
    return tuple([one.slot for one in of.nodes if isinstance(one, Upsert | Collate)])


def row_key(of: Planned, unknown: Any) -> Any:
    """Return the key of those tables' rows: a name, or a function; ``unknown``: a life has one of its own."""
    return next((one.key for one in of.nodes if isinstance(one, Upsert)), unknown)


def lives(several: Iterable[Planned]) -> list[Any]:
    """Return the lives by which restrictions show, or collect, rows."""
    return [node.life for of in several for node in of.nodes if isinstance(node, Age | Collate)]


def recalled(of: Planned) -> Slots:
    """Return the slots whose changes must come with the rows that they replace."""
    return tuple([one.slot for one in of.nodes if isinstance(one, Recall | Announce)])


def versions(of: Planned) -> Versions | None:
    """Return what it says of slots that keep versions."""
    return _first(of, Versions)


def late(of: Planned) -> AllowLate | None:
    """Return what it says of slots that take late events."""
    return _first(of, AllowLate)


def swallowed(of: Planned) -> Slots:
    """Return the slots of which it lets nothing through."""
    return tuple([slot for one in of.nodes if isinstance(one, Opaque) for slot in one.swallows])


def paused(of: Planned) -> Slots:
    """Return the slots that it may `pause`."""
    return tuple([slot for one in of.nodes if isinstance(one, Opaque) for slot in one.pauses])


def anchors(of: Planned) -> Slots:
    """Return the slots whose events say which absent ones they need."""
    return tuple([one.anchor for one in of.nodes if isinstance(one, Never)])


def decides_by_due(of: Planned) -> bool:
    """Whether, once `Restriction.due` is over, no row that it holds needs what is absent, either."""
    return any([isinstance(one, Never) and one.duration is not None for one in of.nodes])


def floors(of: Planned) -> Slots | None:
    """Return the slots whose floors its deadlines wait for (SEMANTICS 3.12); ``()``: all; None: for the clock alone."""
    for one in of.nodes:
        match one:
            case Until() | InTime():
                return ()
            case InSequence() if one.after_match is not None:
                return ()
            case Never():
                return (one.slot, one.anchor)
            case Opaque() if one.floors is not None:
                return one.floors
    return None


def comes_in_batches(of: Planned) -> bool:
    """Whether what comes waits until its batch is complete, before it is in windows."""
    return any([isinstance(one, Deliver) and one.ticks != "tuple" for one in of.nodes])


def shares(of: Planned) -> bool:
    """Whether its slots may share memories with slots restricted alike."""
    return all(
        isinstance(one, _SHARED)
        or (isinstance(one, Complete) and bool(one.slots))
        or (isinstance(one, Choose) and not one.counts)
        or (isinstance(one, Opaque) and one.shares)
        for one in of.nodes
    )


def is_common(of: Planned) -> bool:
    """Whether it has one copy for all keys, wherever it stands."""
    return any([isinstance(one, InTime) for one in of.nodes])


def is_of_the_door(of: Planned) -> bool:
    """Whether it says what comes in, and no more."""
    return all([isinstance(one, Require) for one in of.nodes])


def key_space(of: Planned) -> Mapping[Any, Any]:
    """Return the keys that it opens a space of: by slot, a function of the value."""
    found = _first(of, KeyBy)
    if found is None:
        return {}
    return {slot: attrgetter(key) if isinstance(key, str) else of_value(key) for slot, key in found.keys.items()}


def needed_keys(of: Planned) -> Mapping[Any, Any]:
    """Return by slot the key without which an event is set aside: a field's name or a function of the value."""
    return next((one.keys for one in of.nodes if isinstance(one, KeyBy | Require)), {})
