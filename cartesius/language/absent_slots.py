"""Absent slots: those of a correlation that never have a part, as a restriction says that nothing of them came.

A restriction annotates the fields that name such slots with ``Absent``. What it names there need not be bound
to a variable: a reactive that is not becomes a *hidden* slot, called after the reactive. It has a door, keys, gates and
a memory as others do, but no candidate ever contains an event of it; bodies do not see it.

Source: SEMANTICS 3.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import show, slots_of
from cartesius.language.reactives import Reactive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius.expressions.expressions import Expression
    from cartesius.language.restriction_base import Restriction


class AbsentSlots:
    """Those of one correlation."""

    def __init__(self, variables: Mapping[str, Reactive], restrictions: Sequence[Restriction]) -> None:
        self._variables = variables
        self.hidden: dict[str, Reactive] = {}
        names = [name for one in restrictions for field in one._absent for name in self.of(one, field)]
        self.names = frozenset(names)

    def of(self, restriction: Restriction, field: str) -> list[str]:
        """Return the names of the slots that a field says are absent; none if it names no slot, or says no such thing.

        A reactive means the variable bound to it, other than those that the restriction names as present.
        """
        if field not in restriction._absent:
            return []
        value = restriction.configuration[field]
        named = value if isinstance(value, tuple) else (value,)
        return [slot for one in named for slot in self._meant(one, restriction)]

    def _meant(self, named: str | Reactive, restriction: Restriction) -> list[str]:
        variables = self._variables.items()
        if not isinstance(named, Reactive):
            return [name for name, _ in variables if name == named] or [n for n, r in variables if r.name == named]
        present: list[str | Reactive] = []
        for field, kind in restriction._fields.items():
            value = restriction.configuration[field]
            if kind in ("slot", "slots") and field not in restriction._absent:
                present += value if isinstance(value, tuple) else (value,)
        found = [name for name, reactive in variables if reactive is named and name not in present]
        return found if found and named not in present else [self._hide(named)]

    def _hide(self, reactive: Reactive) -> str:
        name, number = reactive.name, 1
        while name in self._variables or self.hidden.get(name, reactive) is not reactive:
            number += 1
            name = f"{reactive.name}#{number}"
        self.hidden[name] = reactive
        return name

    def of_rows(self, conditions: Sequence[Expression]) -> list[Expression]:
        """Return the conditions on what a row has; the others say which of the absent events count.

        Raises:
            InvalidArgument: A condition mentions two absent slots, whose events never meet.
        """
        for condition in conditions:
            if len(absent := self.names & slots_of(condition)) > 1:
                message = (
                    f"correlate: expected conditions on one slot that is absent but got {show(condition)}, which"
                    f" mentions {' and '.join(sorted(absent))}; write one condition for each"
                )
                raise InvalidArgument(message)
        return [condition for condition in conditions if not self.names & slots_of(condition)]

    def check_untraced(self, parameters: Sequence[str], reasons: Sequence[str]) -> None:
        """Raise `InvalidArgument` if a condition that did not trace mentions an absent slot."""
        mentioned = [name for name in parameters if name.removeprefix("time_").removeprefix("key_") in self.names]
        if mentioned:
            message = (
                f"correlate: expected a where that traces, as {mentioned[0]!r} is absent from every row and its"
                f" conditions say which of its events count, but {reasons[0]}"
            )
            raise InvalidArgument(message)
