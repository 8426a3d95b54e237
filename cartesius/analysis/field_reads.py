"""Reads: which fields of its inputs a program reads, as far as its functions trace; said before anything runs.

`where`, `yields` and the keys of each correlation are looked through, and each field is followed to the input that it
comes from (`lineage`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.analysis.lineage import Column, InPattern, OneOf, derived, key_space, origin
from cartesius.expressions.expressions import Every, Expression, Field, children, replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cartesius.analysis.lineage import Origin
    from cartesius.language.reactives import Reactive


def fields_read(outputs: tuple[Reactive, ...]) -> Iterator[tuple[Column, str]]:
    """Iterate over the fields of inputs that a program reads, and where: ``where= of 'clearance'``, for messages.

    >>> from cartesius import Reactive, correlate
    >>> a, b = Reactive("a"), Reactive("b")
    >>> both = correlate(a=a, b=b, where=lambda a, b: a.id == b.no, yields=lambda a, b: a.x, name="both")
    >>> [(column.path, where) for column, where in fields_read((both,))]
    [(('id',), "where= of 'both'"), (('no',), "where= of 'both'"), (('x',), "yields= of 'both'")]
    """
    for reactive in derived(outputs):
        pattern = reactive.pattern
        assert pattern is not None  # Invariant: `derived` returns such
        for body, where in ((pattern.where, "where="), (pattern.yields, "yields=")):
            if isinstance(body, Expression):
                for found in _within(body, InPattern(pattern)):
                    yield from ((column, f"{where} of {reactive.name!r}") for column in _columns(found))
        for restriction in pattern.restrictions:
            for found in key_space(pattern, restriction).values():
                yield from ((column, f"{restriction!r} of {reactive.name!r}") for column in _columns(found))


def _within(expression: Expression, scope: InPattern) -> Iterator[Origin | None]:
    match expression:
        case Every(items=items, elements=elements, condition=condition):
            for element in elements:
                condition = replace(condition, element, items)
            yield from _within(items, scope)
            yield from _within(condition, InPattern(scope.pattern, of_each=True))
            return
        case Field():
            yield origin(expression, scope)
    for child in children(expression):
        yield from _within(child, scope)


def _columns(found: Origin | None) -> Iterator[Column]:
    match found:
        case Column(path=path) if path:
            yield found
        case OneOf(origins=origins):
            for one in origins:
                yield from _columns(one)
