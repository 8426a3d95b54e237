"""The handlers of one correlation, put together: those outside the strands, and those installed on every one.

Source: ICFP 2018, doi:10.1145/3236762, Figure 10, as `join_shape` draws it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.correlations.choices import choose
from cartesius.correlations.freed_windows import may_give
from cartesius.effects.evidence import STRAND_LAYERS, Layer
from cartesius.effects.handlers import Composed
from cartesius.effects.operations import forward
from cartesius.language.clauses import refuse_forwarding
from cartesius.language.families import (
    admit,
    alone,
    arrive,
    completes,
    ended,
    enter,
    first_is_oldest,
    push,
    relation,
    totals,
    withdraw,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.batching.batches import Batch
    from cartesius.batching.bindings import Bindings
    from cartesius.correlations.installations import Installed
    from cartesius.data.entries import Entry
    from cartesius.effects.handlers import Clauses, Handler
    from cartesius.language.families import Slot
    from cartesius.language.patterns import Pattern


def outer_handlers(
    pattern: Pattern,
    bindings: Bindings,
    batch: Batch,
    installed: Sequence[Installed],
    is_over: Callable[[frozenset[int]], bool],
) -> Handler:
    """Return the handlers outside the strands, after asking them, once, how the correlation enumerates."""
    operations = bindings.operations
    defaults: Clauses = {
        **batch.defaults(),
        operations[completes]: (False, is_over),
        operations[first_is_oldest]: (False, lambda: False),
        operations[alone]: (False, lambda: False),
        operations[totals]: (False, lambda: None),
        operations[relation]: (False, lambda: None),
    }
    outer = Composed((Layer("defaults", defaults), *_layers(installed, "outer")))
    choose(pattern, bindings, batch, installed, outer)
    nothing_more: Clauses = {slot.operations[push]: (False, lambda _, entry: None) for slot in bindings.slots}
    if batch.absences is not None:
        nothing_more[operations[completes]] = (False, batch.absences.may_complete)
    missing = []
    if batch.partial is not None:  # rows without a partner wait for the clock, though nothing can match any more

        def may_complete(arrived: frozenset[int]) -> bool:
            return not any(map(may_give, installed)) and bool(forward(arrived))

        missing.append(Layer("missing", {operations[completes]: (False, may_complete)}))
    admitting = Layer("admit", {operations[admit]: (False, lambda _: True)})
    triggering = Layer("trigger", {batch.trigger: (False, batch.body.evaluate)})
    before = (batch.collect(), admitting, *_layers(installed, "trigger"), triggering)
    return Composed((*before, *outer.parts(), *missing, Layer("product", nothing_more)))


def inner_handlers(
    bindings: Bindings, batch: Batch, installed: Sequence[Installed], let_in: Callable[[Slot, Entry], None]
) -> tuple[Handler, dict[tuple[Installed, str], tuple[Handler, ...]]]:
    """Return the handlers installed on every strand, and for each layer of a restriction those outside it."""
    remember: dict[Any, tuple[bool, Callable[..., Any]]] = {}
    for slot in bindings.slots:
        remember[slot.operations[arrive]] = (False, batch.store)
        remember[slot.operations[withdraw]] = (False, batch.withdraw)
        remember[slot.operations[ended]] = (False, lambda _: None)
    for one in installed:
        remember[one.ticking] = (False, refuse_forwarding)
    inner: list[Handler] = []
    outside: dict[tuple[Installed, str], tuple[Handler, ...]] = {}
    for name in STRAND_LAYERS:
        for one in installed:
            layer = one.layer(name)
            if layer is not None:
                outside[one, name] = tuple(inner)
                inner.append(layer)
        if name == "memory":
            inner.append(Layer("remember", remember))
        elif name == "gates":
            inner.append(Layer("let in", {slot.operations[enter]: (False, let_in) for slot in bindings.slots}))
    return Composed(tuple(inner)), outside


def _layers(installed: Sequence[Installed], name: str) -> list[Layer]:
    return [layer for one in installed if (layer := one.layer(name)) is not None]
