"""Expressions as text over columns: generated functions of the parts of many candidates, one line a step.

Each expression is computed once. What is asked, or made, of some candidates only has a function of its own, which runs
over those where they are few (`guards`, `only_if`). The text is in the tokens of this module; what comes from the
user is a bound name in it, apart from the names of fields that are plain identifiers.

Source: DESIGN 4; SEMANTICS 1.15 and 1.18; `missing_values`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from cartesius.columns.bodies.column_functions import FUNCTIONS, MAKERS, scope
from cartesius.columns.vectors import making
from cartesius.columns.vectors.lanes import vector_of
from cartesius.columns.vectors.vectors import DICT, TUPLE, NotColumnar
from cartesius.data.generated import Constants, commented, define
from cartesius.expressions import made_values as mk
from cartesius.expressions import missing_values as mv
from cartesius.expressions.expressions import (
    Apply,
    Constant,
    Expression,
    Field,
    Fields,
    IsMissing,
    KeyOf,
    Part,
    TimeOf,
    Tuple,
    WindowOf,
    children,
    show,
)
from cartesius.expressions.nulls import LOGICAL, first_there

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.columns.vectors.lanes import Given
    from cartesius.columns.vectors.vectors import Vector
    from cartesius.expressions.missing_values import Form

_PLAIN: Final = (bool, int, float, str, bytes, type(None))
_BY_VALUE: Final = (*MAKERS, mv.Lifted, mv.Observed, mv.Unmarked, mv.Valid)
"""What is the same if it is equal."""


class _Texts:
    """The text of functions of parts, and what its names mean.

    Args:
        slots: The index of the part of each slot.
    """

    def __init__(self, slots: Mapping[str, int]) -> None:
        self.slots = slots
        self.parameters = ", ".join(f"p{index}" for index in sorted(set(slots.values())))
        self.named = ", ".join(f"p{index}: {commented(slot)}" for slot, index in slots.items() if slot != mv.SUBJECT)
        self.constants = Constants()
        self.identities = _Identities()
        self._bound: dict[Any, str] = {}
        self._texts: list[str] = []
        self._helpers = 0

    def define(self, name: str, expressions: Sequence[Expression], comment: str, *, is_list: bool = False) -> None:
        """Define a function of ``n`` and the parts that returns what expressions give."""
        lines = _Lines(self)
        found = ", ".join([lines.code(one) for one in expressions])
        self._write(
            f"{name}(n, {self.parameters}):  # {self.named}", comment, lines, f"[{found}]" if is_list else found
        )

    def helper(self, kind: str, expression: Expression, comment: str = "") -> str:
        """Define a function that computes an expression where it is asked to; return its name."""
        name = f"{kind}_{self._helpers}"
        self._helpers += 1
        lines = _Lines(self)
        self._write(f"{name}(n, {self.parameters}):", comment, lines, lines.code(expression))
        return name

    def _write(self, head: str, comment: str, lines: _Lines, result: str) -> None:
        shown = f"    # {comment}\n" if comment else ""
        self._texts.append(f"def {head}\n{shown}{''.join(lines.lines)}    return {result}\n")

    def bound(self, value: Any) -> str:
        """Return the name that stands for a value."""
        key = self.identities.of_value(value)
        if key not in self._bound:
            self._bound[key] = self.constants.name(value)
        return self._bound[key]

    def part(self, slot: str) -> str:
        """Return the name of the parts of a slot."""
        return f"p{self.slots[slot]}"

    @property
    def text(self) -> str:
        """The functions, each after those that it calls."""
        return "\n\n".join(self._texts)

    @property
    def shown(self) -> str:
        """The same, with what its names stand for."""
        constants = [f"# {name} = {commented(_shown(one))}\n" for name, one in self.constants.bound.items()]
        return "".join([*constants, self.text])

    @property
    def scope(self) -> dict[str, Any]:
        """What its names stand for."""
        return {**scope(), **self.constants.bound}


class Code:
    """The text of an expression as a function ``name(n, p0, p1, …)`` of parts, and the function."""

    def __init__(self, name: str, expression: Expression, slots: Mapping[str, int]) -> None:
        texts = _Texts(slots)
        texts.define(name, [expression], commented(show(expression)))
        self.text = texts.shown
        self.function: Callable[..., Given] = define(name, texts.text, texts.scope)

    def values(self, n: int, *parts: Any) -> Vector:
        """Return what it gives as a vector."""
        return vector_of(self.function(n, *parts), n)


class FormCode:
    """The code of a form, over the slots of ``names``: the functions ``meaning``, which gives a list, and ``value``."""

    def __init__(self, form: Form, names: Sequence[str]) -> None:
        texts = _Texts({name: place for place, name in enumerate(names)} | {mv.SUBJECT: 0})
        texts.define("meaning", form.meaning, "what makes two values differ", is_list=True)
        texts.define("value", [form.value], "the values")
        self.text = texts.shown
        functions = define(
            "both_functions", f"{texts.text}\n\ndef both_functions():\n    return meaning, value\n", texts.scope
        )
        self.meaning: Callable[..., list[Given]]
        self.value: Callable[..., Given]
        self.meaning, self.value = functions()


@lru_cache(maxsize=256)
def code_of(form: Form, names: tuple[str, ...]) -> FormCode:
    """Return the code of a form over the slots of ``names``; for the same form, the same.

    Raises:
        NotColumnar: Its expressions are nested so deep that Python cannot read the text.
    """
    try:
        return FormCode(form, names)
    except (RecursionError, MemoryError) as error:  # of Python's parser, too
        raise NotColumnar("what it computes is nested too deep") from error


class _Identities:
    """What is the same, and so is computed, or bound, once: 1 and 1.0 are equal, but not the same."""

    def __init__(self) -> None:
        self._by_identity: dict[int, int] = {}
        self._by_key: dict[Any, int] = {}

    def of(self, expression: Expression) -> int:
        """Return the number of an expression."""
        if id(expression) not in self._by_identity:  # who asks keeps them all, so that identities are not used again
            key: Any
            match expression:
                case Constant(value=value):
                    key = self.of_value(value)
                case Apply(function=one) | Field(name=one) | Fields(names=one):
                    key = one if isinstance(one, _BY_VALUE) else self.of_value(one)
                case _:
                    key = expression if not children(expression) else None
            key = (type(expression), key, *map(self.of, children(expression)))
            self._by_identity[id(expression)] = self._by_key.setdefault(key, len(self._by_key))
        return self._by_identity[id(expression)]

    @staticmethod
    def of_value(value: Any) -> Any:
        """Return what tells a value from others."""
        return (type(value), repr(value)) if type(value) in _PLAIN else id(value)


class _Lines:
    """The lines of one function: each expression once."""

    def __init__(self, texts: _Texts) -> None:
        self.lines: list[str] = []
        self._texts = texts
        self._named: dict[int, str] = {}

    def code(self, expression: Expression) -> str:
        """Return the text of what an expression gives: a name if it takes a step, and is not just read."""
        match expression:
            case Constant(value=value):
                return f"Lane({self._texts.bound(value)})"
            case Part(slot=slot):
                return f"{self._texts.part(slot)}.value"
            case TimeOf(slot=slot):
                return f"{self._texts.part(slot)}.time"
            case KeyOf(slot=slot):
                return f"{self._texts.part(slot)}.key"
            case IsMissing(slot=slot):
                return f"{self._texts.part(slot)}.is_missing"
            case Field(target=Part(slot=slot), name=name):
                return f"{self._texts.part(slot)}.field({self._texts.constants.quoted(name)})"
            case Field(target=TimeOf(slot=slot), name="start" | "end" as name):
                return f"{self._texts.part(slot)}.instants({name!r})"
        number = self._texts.identities.of(expression)
        if number not in self._named:
            text = self._step(expression)
            name = self._named[number] = f"v{len(self._named)}"
            self.lines.append(f"    {name} = {text}{_comment(expression)}\n")
        return self._named[number]

    def _step(self, expression: Expression) -> str:
        match expression:
            case WindowOf():
                return f"window({self._texts.parameters})"
            case Field(target=target, name=name):
                return f"field({self.code(target)}, {self._texts.constants.quoted(name)})"
            case Apply(function=function, arguments=arguments):
                return self._application(function, arguments)
            case Tuple(items=items):
                names = tuple(map(str, range(len(items))))
                return f"several({TUPLE!r}, {names!r}, n, {self._several(items)})"
            case Fields(names=names, items=items) if all(isinstance(name, str) for name in names):
                return f"several({DICT!r}, {self._texts.bound(names)}, n, {self._several(items)})"
        raise NotColumnar(type(expression).__name__)

    def _application(self, function: Any, arguments: tuple[Expression, ...]) -> str:
        bound = self._texts.bound
        match function, arguments:
            case mv.Unmarked(mark=mark), (row,):
                return f"{self._row(row)}.unmarked({bound(mark)})"
            case mv.Valid(field=field), (row, at):
                return f"valid_at({self._row(row)}, {bound(field)}, {self.code(at)})"
            case mv.Observed(), (row,):
                return f"{self._row(row)}.observe({bound(function)})"
            case mv.is_missing, (row,) if _is_row(row):
                return f"{self._row(row)}.is_missing"
            case mv.where_there, (row, value):
                return f"where_there({self._row(row)}.is_missing, {self.code(value)})"
            case mk.only_if, (condition, value):
                comment = commented(value.name) if isinstance(value, Apply) else ""
                made = self._texts.helper("make", value, comment)
                return f"only_if({self.code(condition)}, {made}, n, {self._texts.parameters})"
            case mv.Lifted(function=inner, keeps_nan=keeps_nan), _:
                return f"lifted({bound(inner)}, {keeps_nan}, {self._several(arguments)})"
        if type(function) in MAKERS:
            return f"{type(function).__name__}({bound(function)}, n, {', '.join(map(self._item, arguments))})"
        if function in LOGICAL or function is first_there:
            asked = ", ".join([self._texts.helper("ask", one) for one in arguments])
            return f"lazily({bound(function)}, n, ({self._texts.parameters},), {asked})"
        if function in FUNCTIONS:
            return f"{function.__name__}({self._several(arguments)})"
        return f"call({bound(function)}, {self._several(arguments)})"

    def _several(self, arguments: Sequence[Expression]) -> str:
        return ", ".join(map(self.code, arguments))

    def _item(self, expression: Expression) -> str:
        """Return the text of an item of what is made; of a constant, a column that takes no room."""
        if isinstance(expression, Constant):
            return f"constant({self._texts.bound(making.constant_kind(expression.value))}, n)"
        return self.code(expression)

    def _row(self, expression: Expression) -> str:
        return self._texts.part(expression.slot) if isinstance(expression, Part) else self.code(expression)


def _is_row(expression: Expression) -> bool:
    return isinstance(expression, Part) or (
        isinstance(expression, Apply) and isinstance(expression.function, mv.Unmarked)
    )


def _comment(expression: Expression) -> str:
    """Return what a step is called, where the text does not say it."""
    if not isinstance(expression, Apply) or expression.name.isidentifier() or expression.function in FUNCTIONS:
        return ""
    return f"  # {commented(expression.name)}"


def _shown(value: Any) -> str:
    return getattr(value, "__qualname__", None) or repr(value)
