"""Conservation: after every call of every law, each delivery is in one place (issue 18, A3)."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from cartesius import Engine
from cartesius.plan.nodes import Opaque
from cartesius.programs.measures import unaccounted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pytest

    from cartesius.correlations.installations import Installed
    from cartesius.programs.measures import Fates

CALLS = ("push", "push_many", "pull", "advance", "end", "close")
is_at_work: list[bool] = []
"""Not empty while the sum is checked: what runs then is nothing that the library does."""
TOLD = ("used_up", "expired", "displaced", "withdrawn", "late", "set_aside")


def checking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the sum after every call of an engine, be it that it raises, as long as the objects own the state."""
    for name in CALLS:
        monkeypatch.setattr(Engine, name, _checked(getattr(Engine, name)))


def _checked(call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def checked(engine: Engine, *arguments: Any, **options: Any) -> Any:
        try:
            return call(engine, *arguments, **options)
        finally:
            check(engine)

    return checked


def check(engine: Engine) -> None:
    """Raise AssertionError if deliveries are nowhere, or in two places."""
    is_at_work.append(True)
    try:
        _check(engine)
    finally:
        is_at_work.pop()


def _check(engine: Engine) -> None:
    is_between = not engine._steps.is_running and not engine._world.journal.is_open and not engine._steps.broken_by
    owns = engine._compiled is None or engine._compiled.states is None
    if is_between and owns:
        lost = unaccounted(engine._program.joins)
        assert not lost, f"deliveries that are nowhere, or in two places: {lost}"
        holding = [one for join in engine._program.joins for one in join.installed if _holds(one)]
        assert not holding, f"they hold events: {holding}"
        heap = engine._world.deadlines.heap
        assert all(heap[(n - 1) // 2][:3] <= heap[n][:3] for n in range(1, len(heap))), "deadlines are in no order"


def _holds(one: Installed) -> bool:
    """Whether a restriction holds events that says it holds none."""
    node = one.node
    return isinstance(node, Opaque) and node.held == "" and any(True for _ in one.held())


def agree(one: Mapping[Any, Fates], other: Mapping[Any, Fates]) -> bool:
    """Whether two engines tell the same; the other one may not tell of all why they have left."""
    return one.keys() == other.keys() and all(_agree(fates, other[slot]) for slot, fates in one.items())


def _agree(one: Fates, other: Fates) -> bool:
    if not other.untold:
        return one == other
    present = [(fates.delivered, fates.retained, fates.waiting) for fates in (one, other)]
    names = one.dropped.keys() | other.dropped.keys()
    less = [getattr(one, name) - getattr(other, name) for name in TOLD]
    less += [one.dropped.get(name, 0) - other.dropped.get(name, 0) for name in names]
    return present[0] == present[1] and sum(less) == other.untold
