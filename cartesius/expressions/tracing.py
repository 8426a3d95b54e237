"""Tracing: run a pure function once on symbols, and get the expression tree of what it computes.

Tracing is sound or not done. A function is traced only if its byte code is closed under what expressions represent: no
jump, no identity or membership test, no call but of the few functions listed here. Everything else runs as written, and
`Traced.reason` says which line and why. On the way `bool`, `str`, `format`, `hash`, `len` and iteration of a symbol
refuse.

Source: SEMANTICS 1.15.
"""

from __future__ import annotations

import dis
import inspect
import operator
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import attrs

from cartesius.data.records import Record
from cartesius.expressions.expressions import (
    Apply,
    Constant,
    Element,
    Every,
    Expression,
    Field,
    Fields,
    KeyOf,
    Part,
    TimeOf,
    Tuple,
    WindowOf,
)
from cartesius.expressions.nulls import is_not_null, is_null

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


Function = TypeVar("Function", bound="Callable[..., Any]")


class Untraceable(Exception):  # a control signal that never leaves this module
    """Raised inside a function that does something expressions do not represent."""


def _binary(function: Callable[[Any, Any], Any], name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forwards(self: Symbol, other: object) -> Symbol:
        return Symbol(Apply(function, (node_of(self), node_of(other)), name))

    def backwards(self: Symbol, other: object) -> Symbol:
        return Symbol(Apply(function, (node_of(other), node_of(self)), name))

    return forwards, backwards


def _unary(function: Callable[[Any], Any], name: str) -> Callable[..., Any]:
    return lambda self: Symbol(Apply(function, (node_of(self),), name))


def _equality(function: Callable[[Any, Any], Any], name: str, of_null: Callable[[Any], bool]) -> Callable[..., Any]:
    """Return a comparison that, with a constant None, asks whether its operand is null."""

    def compare(self: Symbol, other: object) -> Symbol:
        if other is None:
            return Symbol(Apply(of_null, (node_of(self),), of_null.__name__))
        return Symbol(Apply(function, (node_of(self), node_of(other)), name))

    return compare


def _refusing(what: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise Untraceable(what)

    return refuse


class Symbol:
    """The fluent face of an expression: operators and fields build bigger ones; everything else refuses."""

    __slots__ = ("__expression__",)
    __array_ufunc__ = None  # numpy's arrays must leave the operator to us

    def __init__(self, expression: Expression) -> None:
        object.__setattr__(self, "__expression__", expression)

    def __getattr__(self, name: str) -> Symbol:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Symbol(Field(node_of(self), name))

    def __getitem__(self, item: object) -> Symbol:
        return Symbol(Apply(operator.getitem, (node_of(self), node_of(item)), "getitem"))

    __add__, __radd__ = _binary(operator.add, "+")
    __sub__, __rsub__ = _binary(operator.sub, "-")
    __mul__, __rmul__ = _binary(operator.mul, "*")
    __truediv__, __rtruediv__ = _binary(operator.truediv, "/")
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv, "//")
    __mod__, __rmod__ = _binary(operator.mod, "%")
    __pow__, __rpow__ = _binary(operator.pow, "**")
    __and__, __rand__ = _binary(operator.and_, "&")
    __or__, __ror__ = _binary(operator.or_, "|")
    __xor__, __rxor__ = _binary(operator.xor, "^")
    __eq__: Callable[..., Any] = _equality(operator.eq, "==", is_null)
    __ne__: Callable[..., Any] = _equality(operator.ne, "!=", is_not_null)
    __lt__, _ = _binary(operator.lt, "<")
    __le__, _ = _binary(operator.le, "<=")
    __gt__, _ = _binary(operator.gt, ">")
    __ge__, _ = _binary(operator.ge, ">=")
    __neg__ = _unary(operator.neg, "neg")
    __pos__ = _unary(operator.pos, "pos")
    __abs__ = _unary(operator.abs, "abs")
    __invert__ = _unary(operator.invert, "invert")
    __hash__ = _refusing("hash() of a symbol")
    __bool__ = _refusing("the truth value of a symbol")
    __iter__ = _refusing("iteration over a symbol")
    __len__ = _refusing("len() of a symbol")
    __str__ = _refusing("str() of a symbol")
    __repr__ = _refusing("repr() of a symbol")
    __format__ = _refusing("formatting of a symbol")
    __contains__ = _refusing("a membership test")
    __call__ = _refusing("a call of a symbol")
    __index__ = _refusing("a symbol as an index")
    __int__ = _refusing("int() of a symbol")
    __float__ = _refusing("float() of a symbol")
    __round__ = _refusing("round() of a symbol")
    __setattr__ = _refusing("an assignment to a field")
    del _


def node_of(value: object) -> Expression:
    """Return the expression that a value stands for, which may be a symbol or hold some."""
    if isinstance(value, Symbol):
        found: Expression = object.__getattribute__(value, "__expression__")
        return found
    if isinstance(value, FunctionType):
        reason = "a function as a value"  # it may hold symbols
        raise Untraceable(reason)
    if type(value) is tuple:
        return Tuple(tuple(map(node_of, value)))
    if type(value) is dict:
        return Fields(tuple(value), tuple(map(node_of, value.values())))
    return Constant(value)


_OPCODES = {
    "RESUME", "NOP", "CACHE", "LOAD_FAST", "LOAD_CONST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR", "COPY_FREE_VARS",
    "LOAD_CLOSURE", "PRECALL", "CALL", "RETURN_VALUE", "RETURN_CONST", "BINARY_OP", "BINARY_SUBSCR",
    "COMPARE_OP", "UNARY_NEGATIVE", "UNARY_INVERT", "UNARY_POSITIVE", "BUILD_TUPLE", "BUILD_MAP", "BUILD_CONST_KEY_MAP",
    "STORE_FAST", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_SMALL_INT",
    "STORE_FAST_LOAD_FAST", "EXTENDED_ARG", "NOT_TAKEN", "MAKE_CELL", "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE",
}  # fmt: skip
_CALLABLE: list[Any] = [abs]
_METHOD_BIT_SINCE = (3, 12)


@attrs.frozen
class Traced:
    """What tracing gave: an expression, or the reason why there is none."""

    expression: Expression | None
    reason: str | None


def trace(function: Callable[..., Any], parameters: Iterable[tuple[str, Expression]]) -> Traced:
    """Trace ``function``, called with a symbol for each of ``parameters``; never calls it if its code is not closed."""
    reason = _objection(function)
    if reason is None:
        try:
            result = function(**{name: Symbol(node) for name, node in parameters})
            return Traced(node_of(result), None)
        except Untraceable as refusal:
            reason = f"{_where(function)}: {refusal}"
        except Exception as error:  # what fails on symbols may well work on values: it runs as written
            reason = f"{_where(function)}: {type(error).__name__}: {error}"
    return Traced(None, reason)


def traceable(function: Function) -> Function:
    """Let ``function`` be called in functions that are traced: it takes symbols as well as values."""
    _CALLABLE.append(function)
    return function


def of_every(items: Symbol, condition: Callable[..., Any], width: int) -> Any:
    """Return the symbol of a condition on each ``width`` neighbours in a list; raise `Untraceable` if it has none."""
    reason = _objection(condition)
    names = list(condition.__code__.co_varnames[: condition.__code__.co_argcount]) if reason is None else []
    if reason is not None or len(names) != width:
        raise Untraceable(reason or f"a condition on {width} with the parameters {', '.join(names) or 'none'}")
    elements = tuple(map(Element, names))
    return Symbol(Every(node_of(items), elements, node_of(condition(*map(Symbol, elements)))))


def signature_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter] | None:
    """Return the parameters of ``function`` by name, or None if it has none that can be told."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None


def parameters_of(function: Callable[..., Any]) -> list[str] | None:
    """Return the parameter names of ``function``, or None if it has none that can be told."""
    found = signature_of(function)
    return None if found is None else list(found)


def symbol_for(parameter: str, slots: Iterable[str]) -> Expression | None:
    """Return what an implicit or explicit variable of a body stands for, or None if it names nothing."""
    slots = set(slots)
    if parameter in slots:
        return Part(parameter)
    if parameter == "window":
        return WindowOf()
    for prefix, node in (("time_", TimeOf), ("key_", KeyOf)):
        slot = parameter.removeprefix(prefix)
        if slot != parameter and slot in slots:
            return node(slot)
    return None


def _where(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    return f"line {code.co_firstlineno} of {code.co_filename}" if code else repr(function)


def _objection(function: Callable[..., Any]) -> str | None:
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return f"{_where(function)}: only plain functions are traced"
    line = code.co_firstlineno
    closure = dict(zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=True))
    own = set(code.co_cellvars) & set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    for instruction in dis.get_instructions(code):
        if instruction.starts_line is not None and not isinstance(instruction.starts_line, bool):
            line = instruction.starts_line
        problem = _problem(instruction, function, closure, own)
        if problem:
            return f"line {line} of {code.co_filename}: {problem}"
    return None


def _problem(
    instruction: dis.Instruction, function: Callable[..., Any], closure: dict[str, Any], own: set[str]
) -> str | None:
    name = instruction.opname
    if name == "LOAD_METHOD" or (
        name == "LOAD_ATTR" and sys.version_info >= _METHOD_BIT_SINCE and (instruction.arg or 0) & 1
    ):
        return f"a call of the method {instruction.argval!r}"
    if name == "PUSH_NULL":
        return "a call of something that is not a plain name"
    if name == "LOAD_ATTR" and str(instruction.argval).startswith("__"):
        return f"{instruction.argval!r}, which belongs to Python"
    if "JUMP" in name:
        return "a conditional (if, and, or, not, a chained comparison); write & and | between comparisons"
    if name not in _OPCODES:
        return f"{name} is not something expressions represent"
    if name == "LOAD_GLOBAL":
        scope = function.__globals__
        builtins = scope.get("__builtins__", {})
        builtins = builtins if isinstance(builtins, dict) else vars(builtins)
        value = scope.get(instruction.argval, builtins.get(instruction.argval))
    elif name == "LOAD_DEREF":
        if instruction.argval in own:
            return None  # a parameter that an inner function uses, too
        try:
            value = closure[instruction.argval].cell_contents
        except (KeyError, ValueError):
            return f"{instruction.argval!r} has no value yet"
    else:
        return None
    is_called = name == "LOAD_GLOBAL" and (instruction.arg or 0) & 1  # or what is taken from it is
    if isinstance(value, Symbol):
        return None  # of the function around it; to call it refuses
    if (is_called or callable(value)) and not any(value is allowed for allowed in _CALLABLE):
        return f"a call of {instruction.argval!r}, which may do anything"
    return None


def of_payload(function: str | Callable[[Any], Any], name: str) -> Expression | None:
    """Return a function of the payload of a slot, or a field of it, as an expression; None if it is none.

    >>> of_payload("k", "x")
    Field(target=Part(slot='x'), name='k')
    """
    if isinstance(function, str):
        return Field(Part(name), function) if "." not in function and not hasattr(Record, function) else None
    names = parameters_of(function) or []
    return trace(function, [(one, Part(name)) for one in names]).expression if len(names) == 1 else None
