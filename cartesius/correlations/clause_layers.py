"""Clauses of restrictions as clauses of a layer: each runs on the copy of its restriction that it concerns.

Source: SEMANTICS 1.13.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from cartesius.correlations.continuations import controlled
from cartesius.correlations.gates import taking
from cartesius.effects.evidence import STRAND_LAYERS
from cartesius.effects.operations import Operation, forward
from cartesius.effects.resumptions import running
from cartesius.errors import InvalidArgument, add_place
from cartesius.language.clauses import kept
from cartesius.language.families import arrive, completes, ended, select, start, tick
from cartesius.language.matches import by_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cartesius.correlations.installations import Installed
    from cartesius.effects.handlers import Clauses
    from cartesius.language.families import Family, Slot
    from cartesius.language.matches import Match


def clauses_of_layers(installed: Installed) -> Mapping[str, Clauses]:
    """Return the clauses of a restriction, by the layer that they belong to."""
    restriction, operations = installed.restriction, installed.join.bindings.operations
    found: defaultdict[str, Clauses] = defaultdict(dict)
    for method, family, fields, is_ctl in installed.marks:
        name = installed.layer_of(family)
        clauses = found[name]
        if is_ctl and name not in STRAND_LAYERS:
            message = (
                f"{restriction!r}: expected handles({family.name}) but got controls: only a strand can be suspended, by"
                " arrive, withdraw, ended, tick or push"
            )
            raise InvalidArgument(message)
        function = getattr(type(restriction), method)
        if family is start:
            continue
        if family is tick:
            clauses[installed.ticking] = (is_ctl, of_copy(installed, function))
        elif family is ended:
            for slot in installed.slots_of(fields):
                clauses[slot.operations[family]] = (is_ctl, of_all(installed, function))
        elif not isinstance(family, Operation) and family.of_slot:
            for slot in installed.slots_of(fields):
                operation = slot.operations[family]
                if operation in clauses:
                    message = (
                        f"{operation.name}: expected one clause for it but {method!r} of {restriction!r} is a second"
                        " one; put both into one clause, or into two restrictions"
                    )
                    raise InvalidArgument(message)
                clauses[operation] = (is_ctl, of_slot(installed, function, slot, family))
        elif family is select:
            clauses[operations[family]] = (is_ctl, of_matches(installed, function))
        else:
            operation = family if isinstance(family, Operation) else operations[family]
            clauses[operation] = (is_ctl, of_none(installed, function, family))
    for name, clauses in found.items():
        for operation, (is_ctl, clause) in clauses.items():
            if is_ctl:
                clauses[operation] = (True, controlled(clause, installed, name))
    return found


def of_slot(installed: Installed, function: Callable[..., Any], slot: Slot, family: Family) -> Callable[..., Any]:
    """Return the clause that runs on the copy for the key of the event that it is given."""
    prefix = installed.prefixes[slot.index]
    provenance = installed.join.world.provenance
    takes = taking(installed, slot) if family is arrive else None
    has_copies = installed.has_copies
    only = prefix[0] if len(prefix) == 1 else None

    def clause(slot_: Slot, *arguments: Any) -> Any:
        if not arguments:  # asked when the correlation is built, for no event
            return function(installed.stateless, slot_)
        entry = arguments[0]
        if takes is not None:
            takes(entry)
        key = (entry.keys[only],) if only is not None else tuple([entry.keys[p] for p in prefix])
        at_work = installed.copy(key) if has_copies else installed.stateless
        here = running().__dict__  # as `Installed.run_on` does, which the clauses that run most often need not call
        before, here["copy"] = here.get("copy"), (installed, key)
        try:
            return function(at_work, slot_, *arguments)
        except Exception as error:
            add_place(error, in_clause(function, installed.restriction))
            raise
        finally:
            here["copy"] = before

    def recorded(slot_: Slot, *arguments: Any) -> Any:
        assert provenance is not None  # Invariant: it is used where events are recorded
        if not arguments:
            return clause(slot_)
        handler = repr(installed.restriction)
        provenance.saw(arguments[0], slot_, handler, family)
        with provenance.departures.acting(handler, family):
            return clause(slot_, *arguments)

    return clause if provenance is None else recorded


def in_clause(function: Callable[..., Any], restriction: object) -> str:
    """Say where an error has come up."""
    return f"in the clause {function.__name__!r} of {restriction!r}"


def of_copy(installed: Installed, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the clause that runs on the copy for the key that it is given."""
    return lambda key, *arguments: installed.run(function, key, arguments)


def of_none(installed: Installed, function: Callable[..., Any], family: object) -> Callable[..., Any]:
    """Return the clause that concerns no key."""
    if family is completes and installed.is_inside:
        return forward  # that a window is complete says nothing of the others
    if not installed.prefix:
        return lambda *arguments: installed.run(function, (), arguments)
    return lambda *arguments: installed.run_on(installed.stateless, function, (), arguments)  # it concerns no key


def of_all(installed: Installed, function: Callable[..., Any]) -> Callable[..., Any]:
    """An input has ended: that concerns every copy, and then the handlers outside, without being forwarded."""

    def clause(slot: Slot) -> None:
        for key in list(installed.copies) if installed.prefix else [()]:
            installed.run(function, key, (slot,))
        forward(slot)

    return clause


def of_matches(installed: Installed, function: Callable[..., Any]) -> Callable[..., Any]:
    """Choose among the matches of each key apart, if the restriction is keyed; also of those that asked to choose."""

    def clause(matches: Iterable[Match]) -> None:
        matches = kept(matches)
        asking, installed.reconsidered = installed.reconsidered, {}
        if not installed.prefix:
            installed.run(function, (), (matches,))
            return
        key = _the_key(installed)
        if key is not None and asking.keys() <= {key}:
            installed.run(function, key, (matches,))
            return
        groups: dict[tuple[Any, ...] | None, list[Match]] = {key: [] for key in asking}
        groups |= by_key(matches, installed.weighed, installed.prefix)
        if not groups:  # somebody further out may have asked to choose
            forward(iter(()))
        for one, found in groups.items():
            if one is None:  # no keyed part is there to choose by
                forward(iter(found))
            else:
                installed.run(function, one, (iter(found),))

    return clause


def _the_key(installed: Installed) -> tuple[Any, ...] | None:
    """Return the one key, in the restriction's key spaces, of all matches of the batch; None if it is not known.

    It is known if all that is fresh is in the slots that it names, which have these spaces, and has one key.
    """
    batch, slots, positions = installed.join.batch, installed.weighed, installed.prefix
    keys = {tuple([e.keys[p] for p in positions]) for slot in slots for e in batch.portion[slot.index]}
    others = set(range(len(batch.slots))) - {slot.index for slot in slots}
    return None if len(keys) != 1 or any(batch.portion[index] for index in others) else keys.pop()
