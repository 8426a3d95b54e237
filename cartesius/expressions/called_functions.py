"""Called functions: what a function that runs as written uses of its module, as that decides what it computes.

The functions, classes and plain data that its byte code names, in its own module or as attributes of another one; and
so on, for functions of the user's. What is installed (the standard library, packages, this library) is told by its name
alone: it has versions of its own. Other objects, such as connections, are not looked at.

Law: two functions of one text differ in what is found here if they call functions of different byte code.

Source: SEMANTICS 1.16.
"""

from __future__ import annotations

import sys
import sysconfig
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from types import CodeType, FunctionType, ModuleType, NoneType
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import attrs

from cartesius.data.codec import OURS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CONSTANTS: Final = (NoneType, bool, int, float, str, bytes, Decimal, date, time, timedelta, UUID)
_MADE: Final = ("<attrs generated", "<string>")  # the files of methods that attrs and dataclasses write


@cache
def _installed() -> tuple[str, ...]:
    return tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def is_installed(value: FunctionType | type) -> bool:
    """Whether a function or class is of an installed package, or of this library, so that its name tells it."""
    if str(value.__module__).partition(".")[0] in OURS:
        return True
    if isinstance(value, FunctionType):
        return value.__code__.co_filename.startswith(_installed())
    file = getattr(sys.modules.get(value.__module__), "__file__", None)
    return value.__module__ == "builtins" or (file is not None and file.startswith(_installed()))


def used_by(function: FunctionType) -> dict[str, Any]:
    """Return the functions, classes and data of modules that a function names, by name, in alphabetical order."""
    scope = function.__globals__
    names = sorted(_names(function.__code__))
    found = {name: scope[name] for name in names if name in scope}
    modules = [(name, value) for name, value in found.items() if isinstance(value, ModuleType)]
    for prefix, module in modules:
        inside = vars(module)
        found |= {f"{prefix}.{name}": inside[name] for name in names if name in inside}
    return {name: value for name, value in found.items() if _tells(value)}


def _tells(value: Any) -> bool:
    return isinstance(value, FunctionType | type) or is_plain(value)


def is_plain(value: Any, depth: int = 20) -> bool:
    """Whether a value is plain data, or a list, table or record of the user's that holds plain data alone."""
    if type(value) in _CONSTANTS or (isinstance(value, date) and type(value).__module__ == "datetime"):
        return True
    inside: Iterable[Any]
    if isinstance(value, dict):
        inside = (*value.keys(), *value.values())
    elif isinstance(value, tuple | frozenset | list | set):
        inside = value
    elif attrs.has(type(value)) and not is_installed(type(value)):
        inside = [getattr(value, field.name, None) for field in attrs.fields(type(value))]
    else:
        return False
    return depth > 0 and all(is_plain(one, depth - 1) for one in inside)  # one may hold itself


def data_of(kind: type) -> dict[str, Any]:
    """Return the plain data that is written in a class, but not in its installed bases; of an enumeration, its values.

    >>> class Limits:
    ...     draught = 12.5
    >>> data_of(Limits)
    {'draught': 12.5}
    """
    if issubclass(kind, Enum):
        return {name: one.value for name, one in kind.__members__.items() if is_plain(one.value)}
    found: dict[str, Any] = {}
    for one in reversed(kind.__mro__):
        if not is_installed(one):
            found |= {name: value for name, value in vars(one).items() if not name.startswith("__") and is_plain(value)}
    return found


def _names(code: CodeType) -> set[str]:
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


def methods_of(kind: type) -> list[FunctionType]:
    """Return the methods of a class that somebody has written, but not those of its installed bases."""
    written = (vars(one) for one in kind.__mro__ if not is_installed(one))
    values = (value for namespace in written for _, value in sorted(namespace.items()))
    return [function for value in values for function in _functions_in(value) if not _is_made(function)]


def _functions_in(value: Any) -> Iterator[FunctionType]:
    if isinstance(value, property):
        yield from (one for one in (value.fget, value.fset, value.fdel) if isinstance(one, FunctionType))
    found = getattr(value, "__func__", value)
    if isinstance(found, FunctionType):
        yield found


def _is_made(function: FunctionType) -> bool:
    return function.__name__.startswith("__") and function.__code__.co_filename.startswith(_MADE)


def called_by(function: FunctionType) -> list[FunctionType]:
    """Return the functions of the user's that a function may call, by name, those of each called one after it."""
    found: dict[FunctionType, None] = {}
    waiting = [function]
    while waiting:
        for value in used_by(waiting.pop(0)).values():
            for one in methods_of(value) if isinstance(value, type) else [value]:
                if isinstance(one, FunctionType) and one is not function and one not in found and not is_installed(one):
                    found[one] = None
                    waiting.append(one)
    return list(found)
