"""Fingerprints: a canonical text of a program's declared structure, to find the program that saved state belongs to.

Functions are described by qualified name, byte code and constants without line numbers, captured values, and the
minor version of Python; plain data by its `repr`, type and all.

Source: SEMANTICS 1.16.
"""

from __future__ import annotations

import hashlib
import sys
import types
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from operator import attrgetter, itemgetter, methodcaller
from typing import Any

import attrs

from cartesius.codec import pack
from cartesius.expressions import Expression
from cartesius.reactives import Reactive


def fingerprint(text: str) -> str:
    """Return a short digest of a description."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def describe(value: Any, *, by_identity: bool = False) -> str:
    """Return a canonical text of ``value``, the same in every process.

    Args:
        value: Plain data, functions, expressions, or collections of them.
        by_identity: Tell functions, classes and reactives by identity instead; the text is then of one process.

    Raises:
        NotStorable: It holds, or a function of it captures, something that is not plain data.
    """
    inner = partial(describe, by_identity=by_identity)
    if by_identity and isinstance(value, types.FunctionType | type | Reactive):
        return f"{type(value).__qualname__} at {id(value)}"
    if isinstance(value, Reactive):
        return f"reactive {value.name}"
    if isinstance(value, types.FunctionType):
        return _describe_function(value)
    if isinstance(value, types.BuiltinMethodType) and not isinstance(value.__self__, types.ModuleType | type | None):
        return f"method of {inner(value.__self__)}: {value.__qualname__}"
    if isinstance(value, types.BuiltinFunctionType | type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, types.MethodType):
        return f"method of {inner(value.__self__)}: {inner(value.__func__)}"
    if isinstance(value, Expression) or attrs.has(type(value)):
        fields = ", ".join(f"{f.name}={inner(getattr(value, f.name))}" for f in attrs.fields(type(value)) if f.repr)
        return f"{type(value).__qualname__}({fields})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(sorted(f"{inner(k)}: {inner(v)}" for k, v in value.items())) + "}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(inner, value))})"
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__}({', '.join(sorted(map(inner, value)))})"
    if isinstance(value, partial):
        return f"partial of {inner(value.func)} {inner(value.args)} {inner(value.keywords)}"
    if isinstance(value, attrgetter | itemgetter | methodcaller | Fraction):
        return repr(value)
    pack(value)  # raises NotStorable for what may look different in another process
    return f"{type(value).__qualname__} {value!r}"


def _describe_function(function: types.FunctionType) -> str:
    captured = [
        (name, cell.cell_contents)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        if not _is_empty(cell)
    ]
    shown = ", ".join(f"{name}={_shallow(value, function)}" for name, value in captured)
    version = ".".join(map(str, sys.version_info[:2]))
    defaults = describe((function.__defaults__ or (), function.__kwdefaults__ or {}))
    return f"function {function.__qualname__} [{shown}] {defaults} {version} {_code(function.__code__)}"


def _shallow(value: Any, outer: types.FunctionType) -> str:
    return value.__qualname__ if value is outer else describe(value)


def _is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - reading it is the test
    except ValueError:
        return True
    return False


def _code(code: types.CodeType) -> str:
    constants = [_code(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    names = ",".join(code.co_names)
    return f"{code.co_code.hex()} {names} ({'; '.join(constants)})"
