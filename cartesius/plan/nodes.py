"""Nodes: what a restriction means, as data, for whoever does not run its clauses.

A restriction answers `plan()` with nodes, outermost first. A node promises that the clauses do what is written here;
the faster tiers, `explain`, bounds, the check of orders and the bridge read nothing else. What only clauses say is
`Opaque`. The slots of a node are as the restriction has them: names or reactives in one that is written, the slots
themselves in one at work in a correlation.

This module is over 300 lines because it is the list of all there is, and most of it is what each one promises.

Invariant: nodes are plain data, and functions of the user's as they were given.

Source: DESIGN 4; PLAN 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from cartesius.plan.reliance import Give, Reliance

if TYPE_CHECKING:
    from collections.abc import Callable

Slots: TypeAlias = tuple[Any, ...]


@attrs.frozen
class Node:
    """What all nodes are."""


# -- what comes --------------------------------------------------------------------------------------------------------


@attrs.frozen
class KeyBy(Node):
    """Opens a key space: by slot, a field's name or a function of the value."""

    keys: Any


@attrs.frozen
class Require(Node):
    """Sets aside, at the door, what has no key: by slot, a field's name or a function of the value."""

    keys: Any


@attrs.frozen
class Let(Node):
    """Lets an event of ``slot`` through if its value satisfies ``predicate``."""

    slot: Any
    predicate: Any


@attrs.frozen(kw_only=True)
class Deliver(Node):
    """Delivers events to windows, each of which is as a correlation of its own.

    Args:
        lateness: How long after its end a window still takes what is in it: time units.
        reports: The conditions on which its results are shown.
        ticks: By what they are looked for: "tuple", each event by itself, or something coarser.
        content: The restriction of what is kept in a window, or None.
        displaces: Whether what leaves a window takes its results with it.
    """

    lateness: Any = 0
    reports: frozenset[str] = frozenset({"on_content_change"})
    ticks: Any = "tuple"
    content: Any = None
    displaces: bool = False


@attrs.frozen
class Regular(Deliver):
    """Of ``size``, one every ``period``; an event is in all that contain it."""

    size: Any
    period: Any
    offset: Any
    t0: Any


@attrs.frozen
class Single(Deliver):
    """One, from ``start`` to ``end``, end excluded."""

    start: Any
    end: Any


@attrs.frozen
class Sessions(Deliver):
    """One for what is at most ``gap`` apart: an event may extend a window, or merge two."""

    gap: Any


@attrs.frozen
class Assigned(Deliver):
    """As the user's ``assigner`` says of each event, who may ask what has come before."""

    assigner: Any


@attrs.frozen
class Lockstep(Node):
    """Holds ``slots`` back until each has an event; then one of each goes on.

    Args:
        limit: How many may wait in a slot; None: any number.
        overflow: What becomes of one more: "fail", "drop_oldest" or "drop_newest".
    """

    slots: Slots
    limit: int | None
    overflow: str


@attrs.frozen
class InTime(Node):
    """Holds all slots back until the clock, less ``lateness``, is past an event; then they go on by time."""

    lateness: Any


@attrs.frozen
class Upsert(Node):
    """Makes the events of ``slot`` rows by ``key``; without one they are changes."""

    slot: Any
    key: Any


@attrs.frozen
class Fold(Node):
    """Makes each row of ``slot`` the fold of its updates, by ``combine``, from ``initial``."""

    slot: Any
    initial: Any
    combine: Any


@attrs.frozen
class Recall(Node):
    """Keeps no rows of ``slot``: what a change replaces comes with it, and what changes nothing does not come."""

    slot: Any


@attrs.frozen
class Announce(Node):
    """Makes the changes of the table of ``slot`` events, `Update` and `Delete`, but those that change nothing."""

    slot: Any


@attrs.frozen
class Age(Node):
    """Shows rows of ``slot`` as ``life`` does by the clock; columns know how if the life says its ``phases``."""

    slot: Any
    life: Any


@attrs.frozen
class Collate(Node):
    """Collate the events of ``slot`` in rows by ``life``; columns know how if the life says what it collects."""

    slot: Any
    life: Any


# -- what stays --------------------------------------------------------------------------------------------------------


@attrs.frozen
class Newest(Node):
    """Keeps the ``n`` newest entries of each of ``slots``, of each key, and displaces the others."""

    slots: Slots
    n: int


@attrs.frozen
class Oldest(Node):
    """Keeps the ``n`` oldest entries of each of ``slots``, of each key, and displaces the others."""

    slots: Slots
    n: int


@attrs.frozen
class Now(Node):
    """Keeps no entry of ``slots`` beyond its batch: it expires."""

    slots: Slots


@attrs.frozen
class Uses(Node):
    """Lets each entry of ``slots`` be used ``n`` times."""

    slots: Slots
    n: int


@attrs.frozen
class Versions(Node):
    """Keeps what the rows of ``slots`` were, for ``retention``; of one time, an update or a deletion, by ``ties``."""

    slots: Slots
    retention: Any
    ties: Any


@attrs.frozen
class Until(Node):
    """Lets parts meet that are near in time; they expire once the clock has passed what they can meet."""


@attrs.frozen
class Within(Until):
    """Parts of ``slots`` that lie within ``duration``, from the first start to the last end."""

    slots: Slots
    duration: Any


@attrs.frozen
class Lasting(Until):
    """A part of ``slot`` and what ends at most ``duration`` after it."""

    slot: Any
    duration: Any


@attrs.frozen
class Apart(Until):
    """Parts of ``left`` and ``right`` whose ends are ``lower`` to ``upper`` apart."""

    left: Any
    right: Any
    lower: Any
    upper: Any


@attrs.frozen
class AllowLate(Node):
    """Lets events of ``slots`` come up to ``lateness`` behind the clock."""

    slots: Slots
    lateness: Any


@attrs.frozen
class Freed(Node):
    """Forgets what is of windows that are over, with its results, once nobody can ask for it any more."""

    slots: Slots


@attrs.frozen
class Retain(Node):
    """Keeps the totals of a window that is over for ``retention``; then they are forgotten."""

    retention: Any


# -- what meets --------------------------------------------------------------------------------------------------------


@attrs.frozen
class InSequence(Node):
    """Lets parts of ``slots`` meet only one after another, by ``contiguity``.

    Args:
        after_match: Which matches a match rules out; None: none.
    """

    slots: Slots
    contiguity: str
    after_match: Any = None


@attrs.frozen
class Runs(Node):
    """Turns the events of ``slot`` into runs, by ``where``, ``contiguity`` and ``duration``."""

    slot: Any
    where: Any
    contiguity: str
    duration: Any


@attrs.frozen
class May(Node):
    """Lets the parts of ``slots`` be missing."""

    slots: Slots


@attrs.frozen
class Never(Node):
    """Lets a row pass, once the clock has decided, if no event of ``slot`` came at the wrong time.

    Args:
        when: "after" the part of ``anchor``, "before" it, or "between" it and that of ``last``.
        duration: How long after, or before.
    """

    slot: Any
    anchor: Any
    when: str
    duration: Any = None
    last: Any = None


@attrs.frozen
class Separate(Node):
    """Makes each event a candidate of its own."""


# -- what is shown -----------------------------------------------------------------------------------------------------


@attrs.frozen
class Visit(Node):
    """Has memories visited oldest first, or newest first."""

    oldest_first: bool


@attrs.frozen
class Choose(Node):
    """Chooses among the matches of a batch.

    Args:
        leaves_out: Whether some may be no results; otherwise it puts them in order.
        first: Whether it takes the first, in the order of enumeration, and does nothing else.
        counts: How many variables it keeps from one batch to the next.
        ends: Whether the output may complete by it, before any input has ended.
    """

    leaves_out: bool
    counts: int = 0
    ends: bool = False
    first: bool = False


@attrs.frozen
class TakeBack(Node):
    """Takes back the results of what is displaced."""


@attrs.frozen
class AsTable(Node):
    """Makes the results rows of a table by ``key``: the name of a slot, or a function of a result."""

    key: Any


@attrs.frozen
class Aggregate(Node):
    """Aggregate results over ``group``, by the key that ``by`` gives of each, if it has one."""

    group: Any
    by: Any = None


@attrs.frozen
class Relation(Node):
    """Shows what a batch adds to a window ("istream"), takes from it ("dstream"), or all there is ("rstream")."""

    kind: str


@attrs.frozen
class Complete(Node):
    """Changes no result: at most it says when the output completes, from the ends of ``slots``."""

    slots: Slots = ()


@attrs.frozen
class TakeOrder(Node):
    """Changes no result: the order in which events of ``slots`` arrive is taken for theirs."""

    slots: Slots


@attrs.frozen
class Opaque(Node):
    """What only clauses say. Each argument says a little of them; the default is what is safe of any clauses.

    Args:
        consumes: It spends uses, or leaves matches out: not together with retraction (SEMANTICS 1.14). None: it is
            taken to if it has a clause for `select`.
        relies: Of which events the order of arrival decides about its results.
        gives: In which order it lets events go on.
        fields: Of a gate: which fields of what it lets go on are those that came; None: all of them.
        held: How many events it holds back: "" for none, or such as "at most 3" or "O(window)"; None: it does not say.
        pointwise: Whether it looks at each event, or each candidate, by itself.
        shares: Whether it concerns each slot by itself, has no state, lets events go by `forward` alone, forwards what
            is displaced, and neither changes uses nor lets entries expire: memories may then be shared.
        expires: Whether it lets entries leave whose results stand.
        pauses: The slots that it may `pause`.
        swallows: The slots of which it lets nothing through.
        floors: The slots whose floors its deadlines wait for; ``()``: all; None: they wait for the clock alone.
        ends: Whether the output may complete by it, before any input has ended.
        bound: What bounds the memory of its slots: a class such as "O(1)"; None: nothing.
        entries: How many events of each of its slots stay, of a key; None: any number.
        variables: How many state variables a copy has, and how many an event of one slot changes at most. An event
            that is held is one, and so is any other value. None in place of the first: any number; None for both: it
            does not say.
    """

    consumes: bool | None = None
    relies: Reliance = Reliance.ALL
    gives: Give = Give.AS_THEY_COME
    fields: tuple[str, ...] | None = ()
    held: str | None = None
    pointwise: bool = False
    shares: bool = False
    expires: bool = False
    pauses: Slots = ()
    swallows: Slots = ()
    floors: Slots | None = None
    ends: bool = False
    bound: str | None = None
    entries: int | None = None
    variables: tuple[int | None, int] | None = None

    def of_clauses(self, *, chooses: bool) -> Opaque:
        """Return what is said of clauses, one of which ``chooses`` among matches, or none."""
        return self if self.consumes is not None else attrs.evolve(self, consumes=chooses)


@attrs.frozen(kw_only=True)
class Transduce(Opaque):
    """A gate whose clause for one event is one function: it lets the event on, maybe with another value, or drops it.

    It says all of that clause: the state of a copy is one variable, what goes on has the times of the event, and it
    is let go at once. What the function takes and gives is never changed, and the function is pure.

    Args:
        slot: The slot that it is a gate of.
        variable: The name of the `state`.
        step: Takes the state and the value of an event, and returns the next state, and in a tuple the value that goes
            on; an empty one drops the event.
    """

    slot: Any
    variable: str
    step: Callable[[Any, Any], tuple[Any, tuple[Any, ...]]]
    held: str | None = ""
    variables: tuple[int | None, int] | None = (1, 1)


OF_PRODUCTS: Final[frozenset[type[Node]]] = frozenset(
    {Newest, Oldest, Now, KeyBy, Uses, Lockstep, Let, Complete, TakeOrder, Visit}
)
"""What is said of products of streams, of whose times nothing is said."""
OF_JOINS: Final[frozenset[type[Node]]] = frozenset({May, TakeBack, AsTable})
"""What is said of joins of tables: which rows may be missing, and that the results are rows."""
BANDS: Final[frozenset[type[Node]]] = frozenset({Within, Lasting, Apart})
"""What is about the times of parts, and lets them leave."""
ONLY_CLAUSES: Final[frozenset[type[Node]]] = frozenset(
    {Opaque, Transduce, Choose, Relation, Versions, InTime, Never, AllowLate, Freed, Retain, Single, Sessions, Assigned}
)
"""What no kernel over columns runs, but two of one kind each (`columns.batches.plans.OF_THEIR_OWN`)."""


def slots_of_node(node: Node) -> Slots:
    """Return the slots that a node names."""
    single = [getattr(node, name, None) for name in ("slot", "anchor", "left", "right", "last")]
    return (*getattr(node, "slots", ()), *[slot for slot in single if slot is not None])
