"""Forms of one row, computed for many at once: what a link by a computed value leads to.

Source: `missing_values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cartesius.columns.bodies.column_texts import code_of
from cartesius.columns.bodies.linked import Linked
from cartesius.columns.stages.rows import Rows
from cartesius.columns.vectors.lanes import vector_of
from cartesius.columns.vectors.vectors import RECORD, NotColumnar, Struct
from cartesius.expressions.expressions import slots_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.vectors.vectors import Vector
    from cartesius.expressions.missing_values import Form


def column_of(form: Form, fields: Sequence[str], columns: Sequence[Vector]) -> Vector | None:
    """Return the values of a form of rows that have these fields, None if columns cannot compute them.

    Args:
        form: What is computed, of the rows of one slot; the same object for the same form.
        fields: The names of the fields.
        columns: Their values, at least one.
    """
    n = len(columns[0])
    never = np.zeros(n, np.int64)
    rows = Rows(Struct(RECORD, fields, columns, n), never, never, never, never, never)
    try:
        return vector_of(code_of(form, tuple(slots_of(form.value))).value(n, Linked(rows)), n)
    except NotColumnar:
        return None
