"""Called functions: what a function that runs as written uses of its module, as that decides what it computes.

The functions, classes and constants that its byte code names, in its own module or as attributes of another one; and so
on, for functions of the user's. What is installed (the standard library, packages, this library) is told by its name
alone: it has versions of its own. A dict, a list or a set is a constant if its name is in capitals and the function
changes none; of a large one its size is told. What else there is, such as a cache or a connection, is not looked at.

Law: two functions of one text differ in what is found here if they call functions of different byte code.

Source: SEMANTICS 1.16; PEP 8 (constants).
"""

from __future__ import annotations

import sys
import sysconfig
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from dis import get_instructions
from enum import Enum
from functools import cache, lru_cache
from types import CodeType, FunctionType, MappingProxyType, ModuleType, NoneType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from cartesius.data.codec import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONSTANTS: Final = (NoneType, bool, int, float, str, bytes, Decimal, date, time, timedelta, UUID)
_TABLES: Final = (dict, list, set)
_MOST: Final = 1_000
"""How many values a table has at most that is described: it is, at each snapshot."""
_BITS: Final = 10_000  # of ints that Python shows in decimals
_CHANGING: Final = frozenset().union(
    *[
        {name for name in vars(kind) if not name.startswith("_") and name not in vars(other)}
        for kind, other in ((list, tuple), (set, frozenset), (dict, MappingProxyType))
    ]
)
"""The methods that change a table."""
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
    """Return the functions, classes and constants of modules that a function names, by name, in alphabetical order."""
    scope, names = function.__globals__, _names(function.__code__)
    found = {name: scope[name] for name in sorted(names.loaded) if name in scope}
    modules = [(name, value) for name, value in found.items() if isinstance(value, ModuleType)]
    for prefix, module in modules:
        inside = vars(module)
        told = {f"{prefix}.{name}": inside[name] for name in sorted(names.read) if name in inside}
        kinds = FunctionType | type
        is_known = _is_of_package(module)
        found |= {name: value for name, value in told.items() if not is_known or isinstance(value, kinds)}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, FunctionType | type) or _is_constant(name, value, changes=names.changes)
    }


def data_of(kind: type, changed_by: FunctionType | None = None) -> dict[str, Any]:
    """Return the constants that are written in a class, but not in its installed bases; of an enumeration, its values.

    >>> from enum import Enum
    >>> class Kind(Enum):
    ...     TUG = 1
    >>> data_of(Kind)
    {'TUG': 1}

    Args:
        kind: The class.
        changed_by: A function that uses it: what it, or a method, sets is no constant, but counts or remembers.
    """
    if issubclass(kind, Enum):
        return {name: one.value for name, one in kind.__members__.items() if _is_fixed(one.value)}
    functions = [*methods_of(kind), *([] if changed_by is None else [changed_by])]
    written = set().union(*[_names(function.__code__).written for function in functions])
    changes = any(_names(function.__code__).changes for function in functions)
    found: dict[str, Any] = {}
    for one in reversed(kind.__mro__):
        items = {} if is_installed(one) else vars(one)
        found |= {
            name: value
            for name, value in items.items()
            if not name.startswith("__") and name not in written and _is_constant(name, value, changes=changes)
        }
    return found


def shown_of(value: Any) -> Any:
    """Return a constant as it is described: a large table, or one of what is not plain, by its kind and size."""
    if type(value) not in _TABLES or _is_plain(value, [_MOST]):
        return value
    return f"{type(value).__name__} of {len(value)}"


def _is_constant(name: str, value: Any, *, changes: bool) -> bool:
    """Whether a value stays what it is, as far as can be seen."""
    return _is_fixed(value) or (type(value) in _TABLES and not changes and name.rpartition(".")[2].isupper())


def _is_fixed(value: Any) -> bool:
    if type(value) in (tuple, frozenset):
        return all(map(_is_fixed, value))
    return type(value) in _CONSTANTS or (isinstance(value, date) and type(value).__module__ == "datetime")


def _is_plain(value: Any, left: list[int]) -> bool:
    """Whether a table holds plain data alone, and at most so many."""
    left[0] -= 1
    if left[0] < 0:  # or one holds itself
        return False
    if type(value) is dict:
        return all(_is_plain(one, left) for item in value.items() for one in item)
    if type(value) in (tuple, frozenset, list, set):
        return all(_is_plain(one, left) for one in value)
    is_short = type(value) is not int or value.bit_length() <= _BITS
    return is_short and _is_fixed(value) and not isinstance(value, datetime | time)  # whose zone may be of any class


def _is_of_package(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    is_ours = module.__name__.partition(".")[0] in OURS
    return is_ours or file is None or file.startswith(_installed())


class _Names(NamedTuple):
    """What the byte code of a function names."""

    loaded: frozenset[str]  # of its module
    read: frozenset[str]  # attributes, of whatever it is
    written: frozenset[str]  # attributes that it sets
    changes: bool  # whether it changes some table


@lru_cache(maxsize=4_096)
def _names(code: CodeType) -> _Names:
    loaded: set[str] = set()
    read: set[str] = set()
    written: set[str] = set()
    changes = False
    for one in get_instructions(code):
        what, _, of = one.opname.partition("_")
        if "ATTR" in of or of == "METHOD":
            (read if what == "LOAD" else written).add(one.argval)
        elif what == "LOAD" and ("GLOBAL" in of or of == "NAME"):
            loaded.add(one.argval)
        changes = changes or (what in ("STORE", "DELETE") and of in ("SUBSCR", "SLICE"))
    changes = changes or not _CHANGING.isdisjoint(read)
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return _Names(
        frozenset(loaded.union(*[one.loaded for one in inner])),
        frozenset(read.union(*[one.read for one in inner])),
        frozenset(written.union(*[one.written for one in inner])),
        changes or any(one.changes for one in inner),
    )


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
