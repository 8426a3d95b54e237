"""Tiers: how each correlation of an engine runs, and why not faster; and the code that was generated for it.

Source: DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.data.generated import commented
from cartesius.errors import NotInstalled
from cartesius.installation import needing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius.core.engine_core import EngineCore
    from cartesius.correlations.join_shape import Join
    from cartesius.direct.direct_texts import DirectText
    from cartesius.language.reactives import Reactive


def tier_of(engine: EngineCore, join: Join) -> str:
    """Say how a push runs through a correlation, and the reason where that is not a function of its own."""
    if join.world.is_reference:
        return "reference: every clause runs as written, on coroutines, as the tier is pinned"
    if not join.is_in_place:
        return f"reference: on coroutines, as {join.suspending[0]!r} may suspend a strand"
    found = {slot.reactive: engine._pushes.of(slot.reactive) for slot in join.slots if slot.reactive.pattern is None}
    reasons = list(dict.fromkeys([code for code in found.values() if isinstance(code, str)]))
    if found and not reasons:
        codes = [code for code in found.values() if not isinstance(code, str)]
        return f"in place: a push is one function of its own{_calling(join, codes)}{_but(engine, *found)}"
    every = {name: engine._pushes.of(one) for name, one in engine.inputs.items()} if not found else {}
    around = {
        name: code
        for name, code in every.items()
        if not isinstance(code, str) and any(link.join is join for link in code.links)
    }
    if around:
        calling = _calling(join, around.values())
        return f"in place: within the function of a push into {', '.join(around)}{calling}"
    return f"in place: by direct calls of the clauses, as {reasons[0] if reasons else 'it has no input of its own'}"


def _calling(join: Join, codes: Iterable[DirectText]) -> str:
    """Say why functions call the clauses of a correlation, if they do."""
    reasons = dict.fromkeys([link.why for code in codes for link in code.links if link.join is join and link.why])
    return "".join(f", which calls clauses, as {why}" for why in reasons)


def _but(engine: EngineCore, *inputs: Reactive) -> str:
    """Say how many pushes were not, so far."""
    left = engine._steps.given_up.by_reason(*inputs)
    reasons = "; ".join(f"{many}: {reason}" for reason, many in left.items())
    return (
        f"; of {engine._world.events} so far {sum(left.values())} were left to the clauses as written ({reasons})"
        if left
        else ""
    )


def columns_of(engine: EngineCore, join: Join) -> str:
    """Say how a batch of columns runs through a correlation."""
    try:
        with needing("a batch of columns", "cartesius-joins[columns]"):
            from cartesius.columns.batches.plans import way_of  # noqa: PLC0415 - with numpy and Arrow, which nothing else needs
    except NotInstalled as error:
        return str(error)
    return way_of(engine, join)


def sources_of(engine: EngineCore) -> str:
    """Return the generated functions, each with the pattern it came from, and for the rest why there is none."""
    texts = []
    for name, reactive in engine.inputs.items():
        code = engine._pushes.of(reactive)
        if not isinstance(code, str):
            texts.append(code.shown())
            continue
        way = "on coroutines" if engine._world.is_reference else "by calls of the clauses as written"
        texts.append(f"# what comes to the input {commented(repr(name))} runs {way}: {commented(code)}\n")
    try:
        with needing("a batch of columns", "cartesius-joins[columns]"):
            from cartesius.columns.batches.running import compiled_of  # noqa: PLC0415 - as above
    except NotInstalled as error:
        return "\n".join([*texts, f"# {error}\n"])
    return "\n".join([*texts, compiled_of(engine).source()])
