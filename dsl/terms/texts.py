"""Terms as people read them: the text of a condition in verdicts, messages and explanations.

Close to what was written, with `and`, `or`, `not` for `&`, `|`, `not_` and constants as quantities: `15 m`, `50 cm`,
`180°`. Parentheses appear where precedence needs them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dsl.terms.dimensions import INSTANT, Measure
from dsl.terms.instants import moment_of
from dsl.terms.terms import (
    Arithmetic,
    Between,
    Coalesce,
    Comparison,
    Constant,
    Distance,
    Junction,
    Known,
    Named,
    Nearest,
    Not,
    Now,
    Observation,
    Prediction,
    Sign,
    Throughout,
    Total,
)

if TYPE_CHECKING:
    from dsl.terms.terms import Term

_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _ATOM = range(8)


def text(term: Term) -> str:
    """Return the text of ``term``.

    >>> from dsl import Source, not_
    >>> from dsl.units import centimetres, metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, vessel_type=str)
    >>> text((not_(vessel.vessel_type == "oil") | (2 * (vessel.draught + 20 * centimetres) <= 30 * metres)).term)
    'not vessel.vessel_type == "oil" or 2 * (vessel.draught + 20 cm) <= 30 m'
    """
    return _rendered(term)[0]


def label(observation: Observation) -> str:
    """Return the name of an observation, ``source.field``."""
    return f"{observation.source.name}.{observation.field}"


def constant(value: str | int | float | bool, kind: object) -> str:
    """Return a constant as a quantity, a plain number or a quoted text.

    >>> constant("oil", None), constant(2, None)
    ('"oil"', '2')
    """
    if kind == INSTANT and isinstance(value, int):
        moment = moment_of(value).replace(tzinfo=None)
        return f"{moment.isoformat(' ', 'seconds')}Z".replace(":00Z", "Z")  # %Y has no zeros before it
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    symbol = kind.symbol if isinstance(kind, Measure) else ""
    return f"{value}{'' if symbol in {'', '°', '%'} else ' '}{symbol}"


def _rendered(term: Term) -> tuple[str, int]:
    match term:
        case Observation():
            return label(term), _ATOM
        case Constant(value, kind):
            negative = isinstance(kind, Measure) and not isinstance(value, str) and value < 0
            return constant(value, kind), _SIGN if negative else _ATOM
        case Arithmetic(operator, left, right):
            level = _SUM if operator in "+-" else _PRODUCT
            return f"{_within(left, level)} {operator} {_within(right, level + 1)}", level
        case Sign("abs", operand):
            return f"abs({text(operand)})", _ATOM
        case Sign(_, operand):
            return f"-{_within(operand, _SIGN + 1)}", _SIGN
        case Comparison(operator, left, right):
            return f"{_within(left, _COMPARISON + 1)} {operator} {_within(right, _COMPARISON + 1)}", _COMPARISON
        case Junction(operator, left, right):
            level = _AND if operator == "and" else _OR
            return f"{_within(left, level)} {operator} {_within(right, level)}", level
        case Not(operand):
            return f"not {_within(operand, _NOT)}", _NOT
        case Between(operand, low, high):
            return f"between({text(operand)}, {text(low)}, {text(high)})", _ATOM
        case Known(operand):
            return f"known({text(operand)})", _ATOM
        case Coalesce(operand, default):
            return f"coalesce({text(operand)}, {text(default)})", _ATOM
        case Named(name, _):
            return name, _ATOM
        case Distance(left, right):
            return f"distance({text(left)}, {text(right)})", _ATOM
        case Now():
            return "now", _ATOM
        case Nearest(places, position, _):
            return f"nearest({len(places)} places, {text(position)})", _ATOM
        case Prediction(source, field, at):
            return f"{source.name}.at({text(at)}).{field}", _ATOM
        case Throughout(first, last, condition):
            return f"throughout({text(first)}, {text(last)})({text(condition)})", _ATOM
        case Total(operation, source, value, key, group, condition):
            links = [] if key is None or group is None else [text(Comparison("==", key, group))]
            conditions = links if condition is None else [*links, _within(condition, _AND if links else _OR)]
            where = f" where {' and '.join(conditions)}" if conditions else ""
            return f"{operation}({source.name if value is None else text(value)}{where})", _ATOM


def _within(term: Term, level: int) -> str:
    rendered, own = _rendered(term)
    return rendered if own >= level else f"({rendered})"
