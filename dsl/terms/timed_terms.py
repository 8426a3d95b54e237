"""Terms about predictions: a value predicted for an instant, and a condition that holds throughout a span.

A prediction is a leaf: it reads the schedule of a forecast by itself, so that it is compared by its value. The
condition of `Throughout` is read at instants of its own, where the fields of forecasts are bare; it is no part of the
situation around it, and so no operand.

Source: DESIGN.md, section 6; C. Baier and J.-P. Katoen, Principles of Model Checking, 2008, section 5.1 (globally).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from dsl.terms.dimensions import TRUTH

if TYPE_CHECKING:
    from dsl.terms.dimensions import Kind
    from dsl.terms.terms import Declaration, Term


def _name(declaration: Declaration) -> str:
    return repr(declaration.name)


@attrs.frozen
class Prediction:
    """The value of a field of a forecast, as it is predicted for an instant."""

    source: Declaration = attrs.field(repr=_name)
    field: str
    at: Term

    @property
    def kind(self) -> Kind:
        """The declared kind of the field."""
        return self.source.kind(self.field)


@attrs.frozen
class Throughout:
    """Whether a condition holds at every instant from the first to the last, both included."""

    first: Term
    last: Term
    condition: Term

    @property
    def kind(self) -> Kind:
        """A truth value."""
        return TRUTH
