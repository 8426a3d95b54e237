"""Lines of generated code: blocks of text put under one another, each as deep as its place asks."""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from textwrap import dedent, indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


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
