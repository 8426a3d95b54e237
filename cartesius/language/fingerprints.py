"""Fingerprints: a canonical text of a program's declared structure, to find the program that saved state belongs to.

Functions are described by qualified name, byte code and constants without line numbers, captured values, the functions
and constants of modules that they use (`called_functions`), and the minor version of Python; plain data by its `repr`,
type and all. Restrictions that are not the library's own are described by their methods as well: a clause is code.

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

from cartesius.data.codec import stored_module, text_of
from cartesius.expressions.called_functions import data_of, is_installed, methods_of, shown_of, used_by
from cartesius.language.reactives import Reactive
from cartesius.language.restriction_base import Restriction

_ATOMS = frozenset((int, str, bool, float, type(None)))


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
    return _Describing(by_identity).text(value)


def describe_clauses(kind: type) -> str:
    """Return a canonical text of what a class of restrictions does that is not the library's own; else nothing.

    Raises:
        NotStorable: A clause captures something that is not plain data.
    """
    return _Describing(by_identity=False).clauses(kind)


class _Describing:
    """One description. What it has seen is not described again: the rules of a pack share most of their terms."""

    def __init__(self, by_identity: bool) -> None:
        self._by_identity = by_identity
        self._texts: dict[int, tuple[Any, str]] = {}  # with the object, so that its id stays its own
        self._fields: dict[type, tuple[str, ...] | None] = {}
        self._numbers: dict[types.FunctionType | type, int] = {}

    def clauses(self, kind: type, user: types.FunctionType | None = None) -> str:
        methods = [self.text(function) for function in methods_of(kind)]
        data = {name: shown_of(value) for name, value in data_of(kind, user).items()}
        text = f"; methods {' | '.join(methods)}" if methods else ""
        return f"{text}; data {self.text(data)}" if data else text

    def text(self, value: Any) -> str:
        if type(value) in _ATOMS:  # most are
            return f"{type(value).__qualname__} {value!r}"
        fields = self._fields_of(type(value))
        if fields is None or (self._by_identity and isinstance(value, Reactive)):
            return self._text(value)
        if id(value) not in self._texts:
            shown = ", ".join([f"{name}={self.text(getattr(value, name))}" for name in fields])
            self._texts[id(value)] = value, f"{type(value).__qualname__}({shown})"
        return self._texts[id(value)][1]

    def _fields_of(self, kind: type) -> tuple[str, ...] | None:
        """Return the names of the fields that tell the values of a class of records; None: it is no such class."""
        if kind not in self._fields:
            is_record = not issubclass(kind, Reactive | type | types.FunctionType) and attrs.has(kind)
            self._fields[kind] = tuple([f.name for f in attrs.fields(kind) if f.repr]) if is_record else None
        return self._fields[kind]

    def _text(self, value: Any) -> str:
        if self._by_identity and isinstance(value, types.FunctionType | type | Reactive):
            return f"{type(value).__qualname__} at {id(value)}"
        if isinstance(value, Reactive):
            return f"reactive {value.name}"
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.BuiltinMethodType) and not isinstance(
            value.__self__, types.ModuleType | type | None
        ):
            return f"method of {self.text(value.__self__)}: {value.__qualname__}"
        if isinstance(value, types.BuiltinFunctionType | type):
            module = value.__module__ or getattr(value, "__self__", type).__module__  # `tuple.__new__` has none
            return f"{stored_module(module)}.{value.__qualname__}"
        if isinstance(value, types.MethodType):
            return f"method of {self.text(value.__self__)}: {self.text(value.__func__)}"
        if isinstance(value, Mapping):
            return "{" + ", ".join(sorted(f"{self.text(k)}: {self.text(v)}" for k, v in value.items())) + "}"
        if isinstance(value, tuple | list):
            return f"{type(value).__name__}({', '.join(map(self.text, value))})"
        if isinstance(value, set | frozenset):
            return f"{type(value).__name__}({', '.join(sorted(map(self.text, value)))})"
        if isinstance(value, partial):
            return f"partial of {self.text(value.func)} {self.text(value.args)} {self.text(value.keywords)}"
        if isinstance(value, attrgetter | itemgetter | methodcaller | Fraction):
            return repr(value)
        if isinstance(value, Restriction):
            kind = type(value)
            told = f" at {id(kind)}" if self._by_identity else self.clauses(kind)
            return f"{kind.__qualname__}({self.text(dict(value.configuration))}){told}"
        text_of(value)  # raises NotStorable for what may look different in another process
        return f"{type(value).__qualname__} {value!r}"

    def _function(self, function: types.FunctionType) -> str:
        """Describe a function with what it uses; each is described once, and then told by its number."""
        if function in self._numbers:
            return f"function {self._numbers[function]}"
        self._numbers[function] = len(self._numbers)
        captured = {
            name: cell.cell_contents
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            if not _is_empty(cell)
        }
        shown = ", ".join(f"{name}={self.text(value)}" for name, value in captured.items())
        version = ".".join(map(str, sys.version_info[:2]))
        defaults = self.text((function.__defaults__ or (), function.__kwdefaults__ or {}))
        used = ", ".join(f"{name}={self._used(value, function)}" for name, value in used_by(function).items())
        code = self._code(function.__code__)
        return f"function {function.__qualname__} [{shown}] {defaults} {version} {code} uses [{used}]"

    def _used(self, value: Any, user: types.FunctionType) -> str:
        if not isinstance(value, types.FunctionType | type):
            return self.text(shown_of(value))
        if is_installed(value) or value in self._numbers:
            return f"{stored_module(value.__module__)}.{value.__qualname__}"
        if isinstance(value, types.FunctionType):
            return self.text(value)
        self._numbers[value] = len(self._numbers)
        return f"{value.__qualname__}{self.clauses(value, user)}"

    def _code(self, code: types.CodeType) -> str:
        names = ",".join(code.co_names)
        constants = "; ".join(map(self._constant, code.co_consts))
        return f"{code.co_code.hex()} {code.co_exceptiontable.hex()} {names} ({constants})"

    def _constant(self, value: Any) -> str:
        if isinstance(value, types.CodeType):
            return self._code(value)
        return f"frozenset {sorted(map(repr, value))}" if isinstance(value, frozenset) else repr(value)


def _is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - reading it is the test
    except ValueError:
        return True
    return False
