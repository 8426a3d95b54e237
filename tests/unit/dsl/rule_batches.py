"""What is pushed into packs of rules, as batches of columns; and the law that these say what the reference says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Delete, Engine
from cartesius.columns.results import events_of
from tests.conservation import agree

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cartesius import Reactive
    from dsl import RulePack

Step = tuple[str, Any, int]
"""The name of a source, a row of it or a `Delete`, and when it comes."""


def columns(pack: RulePack, part: Sequence[Step]) -> dict[str, dict[str, list[Any]]]:
    """The batch of a part of a trace. Predictions, which have a start and an end of their own, are one column."""
    known = {source.name: source for source in (*pack._used, *pack._counted.values())}
    found: dict[str, dict[str, list[Any]]] = {}
    for order, (name, value, at) in enumerate(part):
        source, is_deletion = known[name], isinstance(value, Delete)
        row: dict[str, Any] = dict.fromkeys(field for field, _ in source.fields)
        if is_deletion and source.key is not None:
            row[source.key] = value.key
        elif not is_deletion:
            row = value
        row = {"value": value} if source.forecast else {**row, "deleted": is_deletion}
        for field, one in {**row, "order": order, "at": at}.items():
            found.setdefault(name, {}).setdefault(field, []).append(one)
    return found


def pushed(engine: Engine, inputs: dict[str, Reactive], part: Sequence[Step]) -> list[Any]:
    """What comes of pushing a part of a trace row by row."""
    return [event for name, value, at in part for event in engine.push(inputs[name], value, at=at)]


def pushed_at_once(engine: Engine, pack: RulePack, part: Sequence[Step]) -> list[Any]:
    """What comes of pushing it as one batch."""
    inputs = pack.sources
    return events_of(engine.push_many({inputs[name]: each for name, each in columns(pack, part).items()}))


def check_batches(
    pack: RulePack,
    outputs: tuple[Reactive, ...],
    trace: Sequence[Step],
    cuts: Sequence[tuple[int, str]],
    *,
    lateness: int | None = None,
    reasons: Collection[str] = ("",),
) -> None:
    """Check that batches give what the reference tier gives.

    Args:
        pack: The pack.
        outputs: What is asked of it.
        trace: What comes.
        cuts: How many steps come next, and how: one by one (``"push"``), at once (``"many"``), at once after a
            snapshot, in the same tier or ``"in_place"``; or, ``"advance"``, that nothing comes and the clock moves.
            What is left of the trace comes at once.
        lateness: That of the engines.
        reasons: Why a batch may have been taken row by row.
    """
    inputs = pack.sources
    trace = [step for step in trace if step[0] in inputs]
    reference = Engine(*outputs, tier="reference", lateness=lateness)
    engine = Engine(*outputs, lateness=lateness)
    done = 0
    for size, way in [*cuts, (len(trace), "many")]:
        if size % 2:  # who reads between batches changes nothing
            _check_told(engine, reference, outputs)
        if way == "advance":
            clock = size * 3
            assert list(map(repr, engine.advance(clock))) == list(map(repr, reference.advance(clock)))
            assert engine.next_deadline == reference.next_deadline
            continue
        part, done = trace[done : done + size], done + size
        expected = pushed(reference, inputs, part)
        if way == "snapshot":
            engine = Engine.restore(engine.snapshot(), *outputs, lateness=lateness)
        elif way == "in_place":
            engine = Engine.restore(engine.snapshot(), *outputs, lateness=lateness, tier="in_place")
        found = pushed(engine, inputs, part) if way == "push" else pushed_at_once(engine, pack, part)
        assert list(map(repr, found)) == list(map(repr, expected))
        if way != "push" and part and engine._tier is None:
            assert engine._compiled is not None
            assert engine._compiled.reason == ""
            assert engine._why_row_by_row in reasons
    assert list(map(repr, engine.late)) == list(map(repr, reference.late))
    assert engine.next_deadline == reference.next_deadline
    _check_told(engine, reference, outputs)
    engine._check_invariants()
    assert list(map(repr, engine.advance(60))) == list(map(repr, reference.advance(60)))


def _check_told(engine: Engine, reference: Engine, outputs: Sequence[Reactive]) -> None:
    """Check that an engine tells of what it holds, and of what has left, what the reference does."""
    assert engine.stats == reference.stats
    told = engine.stats.fates
    assert agree(reference.stats.fates, told)
    assert not any(fates.untold for (name, _), fates in told.items() if "pairs-" not in name)
    for output in outputs:
        assert repr(engine.query(output)) == repr(reference.query(output))
