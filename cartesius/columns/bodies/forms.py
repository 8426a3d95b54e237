"""Forms as code: what a function of rows says that it computes, as text over lanes, one line a step.

Each expression is computed once. What is made where a condition holds has a function of its own, which runs over those
rows only where they are few, and not at all where there are none.

Source: DESIGN 4; `missing_values`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from cartesius.columns.bodies import lanes
from cartesius.columns.bodies.lane_functions import first_known, lifted
from cartesius.columns.bodies.lanes import Lane, Truth
from cartesius.columns.bodies.predicted import valid_at
from cartesius.columns.vectors import making
from cartesius.columns.vectors.absent import Absent
from cartesius.columns.vectors.vectors import MISSING, Leaf, NotColumnar, Struct
from cartesius.data.generated import Constants, commented, define
from cartesius.expressions import made_values as mk
from cartesius.expressions import missing_values as mv
from cartesius.expressions.expressions import Apply, Constant, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.bodies.linked import Linked
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.expressions.expressions import Expression
    from cartesius.expressions.missing_values import Form

_FEW: Final = 8
"""What is made in less than one row of this many is made for those alone."""


class _OnlyIf:
    """Makes values where a condition holds; remembers how they look, for where it never does."""

    def __init__(self) -> None:
        self._seen: dict[Callable[..., Vector], Struct] = {}

    def __call__(self, condition: Truth, make: Callable[..., Vector], n: int, *parts: Linked) -> Vector:
        """Return what ``make`` gives for ``n`` rows of ``parts``, None where the condition does not hold."""
        mask = lanes.spread(condition.true, n)
        count = int(np.count_nonzero(mask))
        if not count and make in self._seen:
            return Absent(self._seen[make], n)
        if not n or count * _FEW > n:
            vector = self._made(make, n, parts)
            return Struct(vector.kind, vector.names, vector.items, n, None if count == n else mask)
        there = np.flatnonzero(mask) if count else np.zeros(1, np.int64)
        vector = self._made(make, len(there), [part.chosen(there) for part in parts])
        if not count:
            return Absent(vector, n)
        indices = np.full(n, MISSING, np.int64)
        indices[there] = np.arange(count)
        return vector.take(indices, may_miss=True)

    def _made(self, make: Callable[..., Vector], n: int, parts: Sequence[Linked]) -> Struct:
        vector = make(n, *parts)
        assert isinstance(vector, Struct)  # Invariant: what is made has fields
        if make not in self._seen:
            self._seen[make] = vector.slice(0, 0)
        return vector


def vector_of(given: Lane | Truth | Vector, n: int) -> Vector:
    """Return ``n`` values as a vector, whatever a form gives."""
    return given if isinstance(given, Leaf | Struct) else lanes.lane(given).vector(n)


_FUNCTIONS: Final[dict[Any, str]] = {
    mv.both: "both", mv.either: "either", mv.opposite: "opposite", mv.is_missing: "is_missing",
    mv.is_true: "is_true",
}  # fmt: skip
_SCOPE: Final[dict[str, Any]] = {
    **{name: getattr(lanes, name) for name in _FUNCTIONS.values()},
    "first_known": first_known,
    "Lane": Lane,
    "unmarked": lambda part, mark: part.unmarked(mark),
    "valid_at": lambda part, field, at: valid_at(part, field, lanes.lane(at)),
    "absent": lambda part: part.absence,
    "observe": lambda part, function: part.observe(function),
    "where_there": lambda part, value: lanes.where_there(part.absence, value),
    "lifted": lifted,
    "truth": lanes.truth,
    "first_case": lambda function, n, *conditions: lanes.first_case(function.values, conditions, n),
    "constant": making.constant,
    "made": lambda function, n, *items: making.made(function, n, [vector_of(item, n) for item in items]),
    "present": lambda function, n, *items: making.present(function, n, items),
    "chained": lambda function, n, *items: making.chained(function, n, items),
    "named": lambda function, n, *masks: making.named(
        function, n, [lanes.spread(lanes.truth(mask).true, n) for mask in masks]
    ),
    "labelled": lambda function, n, *items: making.labelled(function, n, [vector_of(item, n) for item in items]),
    "noted": lambda function, n, item: making.noted(function, _leaf(item, n)),
}
_MAKERS: Final = {
    mk.Made: "made", mk.Present: "present", mk.Chained: "chained", mk.Labelled: "labelled", mk.Noted: "noted",
}  # fmt: skip


def _leaf(item: Lane | Truth, n: int) -> Leaf:
    leaf = vector_of(item, n)
    assert isinstance(leaf, Leaf)  # Invariant: notes are of numbers
    return leaf


class FormCode:
    """The code of a form, over the slots of ``names``, and the functions that it defines."""

    def __init__(self, form: Form, names: Sequence[str]) -> None:
        self.form = form
        self._slots = {name: place for place, name in enumerate(names)} | {mv.SUBJECT: 0}
        self._parameters = ", ".join(f"p{place}" for place in range(len(names)))
        self._constants = Constants()
        self._bound: dict[Any, str] = {}
        self._texts: list[str] = []
        self._made = 0
        self.numbers = _Numbers()
        bound = ", ".join(f"p{place}: {commented(name)}" for place, name in enumerate(names))
        meaning = _Lines(self)
        found = ", ".join([meaning.code(one) for one in form.meaning])
        self._define("meaning", meaning, f"[{found}]", f"what makes two values differ; {bound}")
        value = _Lines(self)
        self._define("value", value, value.code(form.value, is_item=True), f"the values; {bound}")
        constants = "".join(f"# {name} = {commented(_shown(one))}\n" for name, one in self._constants.bound.items())
        code = "\n\n".join(self._texts)
        self.text = f"{constants}\n{code}"
        text = code + "\n\ndef both_functions():\n    return meaning, value\n"
        functions = define("both_functions", text, {**_SCOPE, "only_if": _OnlyIf(), **self._constants.bound})
        self.meaning: Callable[..., list[Lane | Truth]]
        self.value: Callable[..., Vector]
        self.meaning, self.value = functions()

    def bound(self, value: Any) -> str:
        """Return the name that stands for a value."""
        key = (type(value), value if callable(value) else repr(value))
        if key not in self._bound:
            self._bound[key] = self._constants.name(value)
        return self._bound[key]

    def part(self, slot: str) -> str:
        """Return the name of the rows of a slot."""
        return f"p{self._slots[slot]}"

    def function_of(self, expression: Expression, comment: str) -> str:
        """Define a function that makes the values of ``expression``; return its name and arguments."""
        name = f"make_{self._made}"
        self._made += 1
        lines = _Lines(self)
        self._define(name, lines, lines.code(expression, is_item=True), comment)
        return f"{name}, n, {self._parameters}"

    def _define(self, name: str, lines: _Lines, result: str, comment: str) -> None:
        head = f"def {name}(n, {self._parameters}):\n    # {comment}\n"
        self._texts.append(head + "".join(lines.lines) + f"    return {result}\n")


@lru_cache(maxsize=256)
def code_of(form: Form, names: tuple[str, ...]) -> FormCode:
    """Return the code of a form over the slots of ``names``; for the same form, the same."""
    return FormCode(form, names)


class _Numbers:
    """Numbers of expressions, the same for equal ones: 1 and 1.0 are not equal."""

    def __init__(self) -> None:
        self.by_identity: dict[int, int] = {}
        self.by_key: dict[Any, int] = {}

    def of(self, expression: Expression) -> int:
        """Return the number of an expression."""
        if id(expression) not in self.by_identity:  # the form keeps them all, so that identities are not used again
            match expression:
                case Constant(value=value):
                    key: Any = ("constant", type(value), repr(value))
                case Apply(function=function, arguments=arguments):
                    key = (function, *[self.of(one) for one in arguments])
                case _:
                    key = expression
            self.by_identity[id(expression)] = self.by_key.setdefault(key, len(self.by_key))
        return self.by_identity[id(expression)]


class _Lines:
    """The lines of one function: each expression once."""

    def __init__(self, code: FormCode) -> None:
        self.lines: list[str] = []
        self._code = code
        self._named: dict[Any, str] = {}

    def code(self, expression: Expression, *, is_item: bool = False) -> str:
        """Return the name of the result of an expression; of an item of what is made, a vector."""
        key = (self._code.numbers.of(expression), is_item and isinstance(expression, Constant))
        if key not in self._named:
            text = self._text(expression, is_item=is_item)
            name = f"v{len(self._named)}"
            self.lines.append(f"    {name} = {text}{_comment(expression)}\n")
            self._named[key] = name
        return self._named[key]

    def _text(self, expression: Expression, *, is_item: bool) -> str:
        match expression:
            case Constant(value=value) if is_item:
                return f"constant({self._code.bound(making.constant_kind(value))}, n)"
            case Constant(value=value):
                return f"Lane({self._code.bound(value)})"
            case Apply(function=function, arguments=arguments):
                return self._application(function, arguments)
        raise NotColumnar(type(expression).__name__)

    def _application(self, function: Any, arguments: tuple[Expression, ...]) -> str:
        bound = self._code.bound
        match function, arguments:
            case mv.Unmarked(mark=mark), (row,):
                return f"unmarked({self._row(row)}, {bound(mark)})"
            case mv.Valid(field=field), (row, at):
                return f"valid_at({self._row(row)}, {bound(field)}, {self.code(at)})"
            case mv.Observed(), (row,):
                return f"observe({self._row(row)}, {bound(function)})"
            case mv.is_missing, (row,) if _is_row(row):
                return f"absent({self._row(row)})"
            case mv.where_there, (row, value):
                return f"where_there({self._row(row)}, {self.code(value)})"
            case mk.only_if, (condition, value):
                comment = commented(value.name) if isinstance(value, Apply) else ""
                return f"only_if(truth({self.code(condition)}), {self._code.function_of(value, comment)})"
            case mv.Lifted(function=inner, keeps_nan=keeps_nan), _:
                return f"lifted({bound(inner)}, {keeps_nan}, n, {self._several(arguments)})"
            case mk.FirstCase(), _:
                conditions = ", ".join(f"truth({self.code(one)})" for one in arguments)
                return f"first_case({bound(function)}, n, {conditions})"
            case mk.Names(), _:
                return f"named({bound(function)}, n, {self._several(arguments)})"
            case mv.first_known, _:
                return f"first_known({self._several(arguments)})"
        if type(function) in _MAKERS:
            items = ", ".join([self.code(one, is_item=True) for one in arguments])
            return f"{_MAKERS[type(function)]}({bound(function)}, n, {items})"
        if function in _FUNCTIONS:
            return f"{_FUNCTIONS[function]}({self._several(arguments)})"
        raise NotColumnar(repr(function))

    def _row(self, expression: Expression) -> str:
        return self._code.part(expression.slot) if isinstance(expression, Part) else self.code(expression)

    def _several(self, arguments: tuple[Expression, ...]) -> str:
        return ", ".join(map(self.code, arguments))


def _is_row(expression: Expression) -> bool:
    return isinstance(expression, Part) or (
        isinstance(expression, Apply) and isinstance(expression.function, mv.Unmarked)
    )


def _comment(expression: Expression) -> str:
    if not isinstance(expression, Apply) or expression.name.isidentifier():
        return ""
    return f"  # {commented(expression.name)}"


def _shown(value: Any) -> str:
    return getattr(value, "__qualname__", None) or repr(value)


def differs(found: Lane | Truth, n: int, before: Indices) -> NDArray[np.bool_]:
    """Return which rows differ in one respect from those ``before`` them, which are there."""
    if isinstance(found, Truth):
        if found.true.shape != (n,):
            return np.zeros(n, np.bool_)
        different: NDArray[np.bool_] = found.true != found.true[before]
        return different
    vector = found.vector(n)
    if not n:
        return np.zeros(0, np.bool_)
    if not isinstance(vector, Leaf) or vector.valid is not None:
        reason = "what makes values differ is no plain column"
        raise NotColumnar(reason)
    return lanes.texts_differ(vector, vector.take(before))
