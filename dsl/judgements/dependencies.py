"""Leaves: the terms that read a row or the clock themselves, and what changed of them between two situations.

All that a condition depends on are its leaves. Each leaf of a pack has a bit, so what a condition depends on, and what
changed, are integers. The leaves of rows are compared field by field, and only where the row is another one; any other
leaf (the clock, …) is a *reading*: computed for each situation, and compared with its last value.

Invariant: a leaf is unchanged only if nothing that is computed or shown from it can differ: 1, 1.0 and True differ.

Source: U. A. Acar, Self-Adjusting Computation, 2005 (read sets; here they are known before anything runs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from cartesius.data.records import Record
from cartesius.results.unchanged_values import is_unchanged
from dsl.meaning.foreseen import reading
from dsl.terms.terms import Constant, Now, Observation, Prediction, Throughout, Total, observations, operands

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dsl.meaning.evaluation import Row, Situation
    from dsl.terms.terms import Term

_ABSENT: Any = object()  # a field that a row lacks


def leaves(term: Term) -> tuple[Term, ...]:
    """Return the leaves of ``term``, each once, in the order of their first mention.

    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres)
    >>> leaves(((vessel.draught <= 15 * metres) | (vessel.draught < vessel.length)).term)
    (Observation(source='vessel', field='draught'), Observation(source='vessel', field='length'))
    """
    match term:
        case Observation() | Now():
            return (term,)
        case Constant():
            return ()
        case Prediction():
            return (term, *leaves(term.at))
        case Throughout():
            return tuple(dict.fromkeys((term, *observations(term), *leaves(term.first), *leaves(term.last))))
        case Total():
            return (term, *(leaf for operand in operands(term) for leaf in leaves(operand)))
        case _:
            return tuple(dict.fromkeys(leaf for operand in operands(term) for leaf in leaves(operand)))


@final
class Leaves:
    """The leaves of the conditions of a pack, numbered.

    >>> from dsl import Source
    >>> wind = Source("wind", key=None, velocity=int, gust=int)
    >>> of = Leaves([(wind.gust > 3).term, (wind.gust > wind.velocity).term], {"wind": 0})
    >>> of.mask((wind.velocity > 3).term), of.changed([{"gust": 3, "velocity": 4}], [{"gust": 3, "velocity": 5}])
    (2, 2)

    Args:
        conditions: The conditions.
        slots: The position of each source's row, and of what relations come to.
        pairs: The positions of what requirements about pairs come to, each a leaf of its own.
    """

    def __init__(self, conditions: Iterable[Term], slots: Mapping[str, int], pairs: Iterable[int] = ()) -> None:
        self._bits = {
            leaf: 1 << number
            for number, leaf in enumerate(dict.fromkeys(leaf for each in conditions for leaf in leaves(each)))
        }
        fields: dict[int, list[tuple[str, int]]] = {}
        presence: dict[int, int] = {}
        readings = []
        for leaf, bit in self._bits.items():
            if isinstance(leaf, Observation):
                fields.setdefault(slots[leaf.source.name], []).append((leaf.field, bit))
            elif isinstance(leaf, Total):
                fields[slots[repr(leaf)]] = [("value", bit), ("missing", bit)]
                if (slot := slots.get(leaf.source.name)) is not None:
                    presence[slot] = presence.get(slot, 0) | bit  # a reason says whether what is missing is too old
            else:
                readings.append((reading(leaf, slots), bit))
        self._pairs = {slot: 1 << number for number, slot in enumerate(pairs, len(self._bits))}
        fields.update({slot: [("findings", bit)] for slot, bit in self._pairs.items()})
        self._fields = tuple(
            (slot, tuple(named), sum({bit for _, bit in named}) | presence.get(slot, 0))
            for slot, named in (dict.fromkeys(presence, ()) | fields).items()
        )
        self._readings = tuple(readings)

    def mask(self, term: Term) -> int:
        """Return the bits of the leaves of ``term``, one of the conditions or a part of one."""
        return sum(self._bits[leaf] for leaf in leaves(term))

    def mask_of(self, slot: int) -> int:
        """Return the bit of a requirement about pairs."""
        return self._pairs[slot]

    def read(self, situation: Situation) -> tuple[Any, ...]:
        """Compute the leaves that are no fields of rows."""
        return tuple([evaluate(situation) for evaluate, _ in self._readings])

    def changed(self, before: Sequence[Row], now: Sequence[Row]) -> int:
        """Return the bits of the fields that differ between two combinations of rows."""
        found = 0
        for slot, fields, all_of_them in self._fields:
            old, new = _bare(before[slot]), _bare(now[slot])
            if old is new:
                continue
            if not old or not new:  # one that is too old has no fields, and is no row that came without any
                found |= all_of_them
                continue
            for field, bit in fields:
                value, other = old.get(field, _ABSENT), new.get(field, _ABSENT)
                if value is other or (value.__class__ is other.__class__ is float and value == other and value):
                    continue  # as most often
                if not _is_same(value, other):
                    found |= bit
        return found

    def changed_readings(self, before: tuple[Any, ...], now: tuple[Any, ...]) -> int:
        """Return the bits of the readings that differ."""
        found = 0
        for (_, bit), old, new in zip(self._readings, before, now, strict=True):
            if not _is_same(old, new):
                found |= bit
        return found


def _bare(row: Any) -> Row:
    """Return the fields of a record themselves: a judgement compares all that its rules read."""
    fields: Row = row._fields if type(row) is Record else row
    return fields


def _is_same(old: Any, new: Any) -> bool:
    # Findings about pairs, which come in tuples, show more than they are compared by.
    return is_unchanged(old, new) and (not isinstance(old, tuple) or repr(old) == repr(new))
