"""Generated code: the one place where text becomes functions.

The text is composed by our own generators of their own tokens. What comes from a user, be it a constant or a function,
is a *bound* name in it and never part of it, so that no input can become code. The name of a field may be quoted, where
it is a plain identifier: that is letters, digits and underscores.

Source: DESIGN 4.
"""

from __future__ import annotations

import linecache
import weakref
from contextlib import contextmanager
from functools import lru_cache
from textwrap import dedent, indent
from types import CodeType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Lines:
    r"""A text in the making.

    >>> lines = Lines()
    >>> with lines.under("if ready:"):
    ...     lines.add("go()")
    >>> lines.text
    'if ready:\n    go()\n'
    """

    def __init__(self) -> None:
        self.text = ""
        self._depth = 0

    def add(self, block: str) -> None:
        """Add a block of lines, however deep it is written."""
        self.text += _at_depth(block, self._depth)

    @contextmanager
    def under(self, head: str) -> Iterator[None]:
        """Put what is added in a ``with`` block under ``head``, one deeper; nothing, if that is empty."""
        if not head:
            yield
            return
        self.add(head)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1


@lru_cache(maxsize=10_000)  # generators write the same lines for most programs, and this was a third of their time
def _at_depth(block: str, depth: int) -> str:
    text = dedent(block.strip("\n")).rstrip()
    return indent(text + "\n", "    " * depth) if text else ""


class TooDeep(Exception):
    """A text is nested deeper than Python takes it: 20 loops, or 200 parentheses."""


def define(name: str, source: str, bound: Mapping[str, Any]) -> Callable[..., Any]:
    r"""Return the function called ``name`` that ``source`` defines; tracebacks show its lines.

    >>> define("twice", "def twice(x):\n    return x * c0\n", {"c0": 2})(21)
    42

    Args:
        name: The name of the function, an identifier.
        source: Its text, as a generator composed it.
        bound: What the names in it mean that it does not define itself.

    Raises:
        TooDeep: Python does not compile it, as it is nested too deep.
    """
    scope: dict[str, Any] = dict(bound)
    exec(_compiled(name, source), scope)
    function: Callable[..., Any] = scope[name]
    return function


@lru_cache(maxsize=1000)  # patterns of one shape have one text, as what differs is bound
def _compiled(name: str, source: str) -> CodeType:
    place = f"<generated {name} {next(_numbers)}>"
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
    try:
        code = compile(source, place, "exec")
    except (SyntaxError, RecursionError, MemoryError) as error:
        del linecache.cache[place]
        if isinstance(error, SyntaxError) and "nested" not in error.msg:
            raise
        raise TooDeep from error
    inside = next(one for one in code.co_consts if isinstance(one, CodeType))  # that of the function, which keeps it
    weakref.finalize(inside, linecache.cache.pop, place, None).atexit = False
    return code


class Constants:
    """The bound names of one text: ``c0``, ``c1``, … for the values that it uses.

    >>> constants = Constants()
    >>> constants.name(3.5), constants.name("x"), constants.bound
    ('c0', 'c1', {'c0': 3.5, 'c1': 'x'})
    """

    def __init__(self) -> None:
        self.bound: dict[str, Any] = {}

    def name(self, value: Any) -> str:
        """Return the name that stands for ``value``, from now on."""
        name = f"c{len(self.bound)}"
        self.bound[name] = value
        return name

    def quoted(self, name: Any) -> str:
        """Return the text of the name of a field: in quotes if it is a plain identifier, otherwise bound.

        >>> constants = Constants()
        >>> constants.quoted("depth"), constants.quoted("max. depth")
        ("'depth'", 'c0')
        """
        is_plain = type(name) is str and name.isidentifier() and name.isascii()  # a subclass has a repr of its own
        return repr(name) if is_plain else self.name(name)


def commented(text: str) -> str:
    """Return a text of the user's as a comment may show it: in one line of ASCII."""
    return ascii(text)[1:-1]


_numbers = iter(range(1 << 62))
