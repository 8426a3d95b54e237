"""Runs: the gate that `correlate` adds for a variable that `one_or_more` binds.

The open runs are the entries in memory, so what spends, expires or keys entries does so with runs. A run takes the
place of its shorter self, which is displaced.

Invariant: the identity of a run names its events, in order.

Source: SEMANTICS 1.2; Gyllstrom et al., On supporting Kleene closure over event streams, ICDE 2008 (SASE+).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.effects.handlers import handles
from cartesius.effects.operations import forward
from cartesius.errors import InvalidArgument
from cartesius.language.clauses import memory
from cartesius.language.families import Duration, Slot, arrive, displace, withdraw
from cartesius.language.lists import OneOrMore
from cartesius.language.restriction_base import Restriction, state
from cartesius.plan import facts
from cartesius.plan.nodes import Runs
from cartesius.rows.following import note_places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius.data.entries import Entry
    from cartesius.language.lists import Repeated
    from cartesius.language.reactives import Reactive
    from cartesius.plan.nodes import Node


class extending(Restriction):
    """Turn the events of ``slot`` into runs: what `one_or_more` adds to a correlation. Never suspends.

    Args:
        slot: The slot.
        where: Whether a run may be so: a function of its payloads so far.
        contiguity: ``"relaxed"`` or ``"strict"``.
        within: How far the end of a run may be from its start, in time units or as a `timedelta`; None: any time.

    State: where contiguity is strict, the identity of the latest event. Relies on arrival order. Commutes with what
    handles stored entries; what lets single events through must stand to its right, which is where users write it.

    Law:
        Where no event extends a run, each event is a run of its own: relaxed or strict, within any duration.
    """

    slot: Slot
    where: Callable[[list[Any]], Any] | None = None
    contiguity: str = "relaxed"
    within: Duration | None = None
    latest: Any = state(None)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse rows and versions."""
        (slot,) = slots["slot"]
        if slot.is_table:
            message = f"one_or_more: expected a stream but a restriction makes rows of the events of {slot.name!r}"
            raise InvalidArgument(message)
        if any(facts.versions(other) for other in others):
            message = (
                f"one_or_more: expected no versions beside {slot.name!r}: a run grows in order of arrival; leave"
                " versioned out"
            )
            raise InvalidArgument(message)

        keeper = next((other for other in others if type(other).shows is not Restriction.shows), None)
        if keeper is not None:
            message = (
                f"one_or_more: expected events as they are beside {slot.name!r} but {keeper!r} keeps one value of all;"
                " leave one out"
            )
            raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Runs(self.slot, self.configuration["where"], self.contiguity, self.within),)

    @handles(arrive, "slot")
    def extend(self, slot: Slot, event: Entry) -> None:
        """Let each run that the event extends follow in its place, or else one that it begins."""
        open_runs = [run for run in memory(slot) if self.contiguity == "relaxed" or run.identity[-1] == self.latest]
        longer = [(run, longer_run(run, event)) for run in reversed(open_runs)]
        longer = [(run, after) for run, after in longer if self.may_be(after)]
        if self.contiguity == "strict":
            self.latest = event.identity
        for run, after in longer:
            displace(slot, run)
            forward(slot, after)
        alone = run_of(event)
        if not longer and self.may_be(alone):
            forward(slot, alone)

    @handles(withdraw, "slot")
    def lose(self, slot: Slot, event: Entry) -> None:
        """Let the runs go that have an event which its source takes back."""
        for run in memory(slot):
            if event.identity in run.identity:
                displace(slot, run)
        forward(slot, event)

    def may_be(self, run: Entry) -> bool:
        """Whether a run may be so."""
        is_short = self.within is None or run.end - run.start <= self.within
        return is_short and (self.where is None or bool(self.where(list(run.value))))


def run_of(event: Entry) -> Entry:
    """Return the run of one event."""
    alone = event.with_value([event.value])
    alone._identity = (event.identity,)
    return alone


def longer_run(run: Entry, event: Entry) -> Entry:
    """Return a run, with the uses that it has left, and ``event`` at its end."""
    longer = run.with_value([*run.value, event.value], min(run.start, event.start), max(run.end, event.end))
    longer._identity = (*run.identity, event.identity)
    note_places(longer, run, event)
    return longer


def with_runs(
    restrictions: tuple[Restriction, ...], bindings: Mapping[str, Reactive | Repeated | OneOrMore]
) -> tuple[Restriction, ...]:
    """Add the gate of each variable that is bound to runs: right of all keys, so that runs are kept a key."""
    runs = [
        extending(variable, where=binding.where, contiguity=binding.contiguity, within=binding.within)
        for variable, binding in bindings.items()
        if isinstance(binding, OneOrMore)
    ]
    keyed = [place for place, one in enumerate(restrictions) if facts.key_space(one) or facts.opens_windows(one)]
    place = keyed[-1] + 1 if keyed else 0
    return (*restrictions[:place], *runs, *restrictions[place:])
