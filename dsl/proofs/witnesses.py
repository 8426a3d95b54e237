"""Witnesses: a situation in which conditions hold, found by trying, and shown by evaluating it.

Each open branch of a tableau says in which set the value of each thing lies; one value of each is tried for the fields
that are such a thing, and a few plain ones for the others.

Invariant: what is returned was evaluated, and every condition was true.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from dsl.judgements.dependencies import leaves
from dsl.meaning.evaluation import Situation, compiled
from dsl.proofs.formulas import formula
from dsl.proofs.linear_forms import base_units
from dsl.proofs.proving import branches
from dsl.terms.dimensions import INSTANT, POSITION, TRUTH, Choice, Measure
from dsl.terms.terms import Observation
from dsl.terms.texts import constant, label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsl.terms.dimensions import Kind
    from dsl.terms.terms import Term

_TRIED = (0, 1, 10, 100, 1000)
_BRANCHES = 20


def witness(conditions: Sequence[Term]) -> str | None:
    """Return a situation in which all conditions hold, as text; "" if there are none, None if none was found.

    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, vessel_type=str)
    >>> witness([(vessel.draught > 15 * metres).term, (vessel.vessel_type != "tanker").term])
    'vessel.draught = 16 m, vessel.vessel_type = "other"'
    """
    observed = tuple(dict.fromkeys(leaf for condition in conditions for leaf in leaves(condition)))
    fields = [leaf for leaf in observed if isinstance(leaf, Observation)]
    if len(fields) < len(observed):
        return None  # of clocks, forecasts and totals no situation is made up
    for branch in islice(branches([formula(condition) for condition in conditions]), _BRANCHES):
        for plain in _TRIED:
            values = {field: _plain(field.kind, plain) for field in fields}
            for wanted, variables in branch.values():
                if len(variables) == 1 and isinstance(variables[0], Observation):
                    values[variables[0]] = _example(wanted.example(), variables[0].kind)
            if _hold(conditions, values):
                return ", ".join(f"{label(field)} = {_shown(values[field], field.kind)}" for field in fields)
    return None


def _hold(conditions: Sequence[Term], values: Mapping[Observation, Any]) -> bool:
    rows: dict[str, dict[str, Any]] = {}
    for field, value in values.items():
        rows.setdefault(field.source.name, {})[field.field] = value
    slots = {name: number for number, name in enumerate(rows)}
    situation = Situation(list(rows.values()))
    return all(compiled(condition, slots)(situation) for condition in conditions)


def _plain(kind: Kind, number: int) -> Any:
    if kind == TRUTH:
        return number % 2 == 0
    if kind == POSITION:
        return (0.0, 0.0)
    if isinstance(kind, Choice):
        return kind.members[0]
    return number if isinstance(kind, Measure) or kind == INSTANT else "other"


def _example(value: Any, kind: Kind) -> Any:
    """Bring an example from base units to the unit of the field."""
    if not (isinstance(kind, Measure) or kind == INSTANT) or isinstance(value, str | bool):
        return value
    factor, offset = base_units(kind)
    exact = (value - offset) / factor
    return int(exact) if exact.denominator == 1 else float(exact)


def _shown(value: Any, kind: Kind) -> str:
    return f"{value}" if isinstance(value, tuple) else constant(value, kind)
