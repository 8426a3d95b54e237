"""Texts of rules to syntax trees, by the grammar in `rules.lark`; what is no text of rules is refused in words.

The only module that knows lark. Trees are data: nothing in a text is ever run. A text of absurd size is refused before
it is parsed, one of absurd depth before anything walks its tree.

Source: the LALR(1) parser of lark; Python's tokenizer for indentation.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast, final

import attrs

from cartesius.installation import needing
from dsl.refusals.errors import InvalidRule, refusal
from dsl.refusals.excerpts import Span, in_bytes, reading
from dsl.text.syntax_errors import Unexpected, indentation_error, syntax_error
from dsl.text.unit_names import UNIT

with needing("import dsl", "cartesius-joins[rules]"):
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
    from lark.indenter import DedentError, Indenter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

Leaf: TypeAlias = Token
"""A token: its text, `type`, and place."""


class Node(Protocol):
    """A node of a syntax tree: a `Tree` of lark, whose children are nodes, tokens, or None for what was left out."""

    data: str
    """The name of the grammar's rule."""
    children: list[Any]

    meta: Any
    """Its place: lines and columns, from 1."""

    def scan_values(self, pred: Callable[[Any], bool], /) -> Iterator[Any]:
        """Yield the leaves that it is made of, in order."""


LONGEST: Final = 1_000_000
LONGEST_LINE: Final = 2_000
DEEPEST: Final = 60


class _Indentation(Indenter):
    """Turns the blanks at the beginning of lines into tokens; of a line's comment it sees nothing."""

    NL_type = "_NL"
    OPEN_PAREN_types: list[str] = []  # noqa: RUF012 - lark declares them so
    CLOSE_PAREN_types: list[str] = []  # noqa: RUF012 - likewise
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 8

    def handle_NL(self, token: Token) -> Iterator[Token]:
        """Ignore blank and comment lines, whatever their indentation."""
        bare = re.sub(r"#[^\n]*$", "", str(token))
        yield from super().handle_NL(Token.new_borrow_pos(token.type, bare, token))


_PARSING: Final = Lock()
"""Held while a text is parsed: the parser counts indentation in an object of its own."""
if hasattr(os, "register_at_fork"):  # a child that was forked meanwhile has no thread that would let go of it
    os.register_at_fork(before=_PARSING.acquire, after_in_parent=_PARSING.release, after_in_child=_PARSING.release)


@cache
def _parser() -> Lark:
    """The parser: made when the first text is read, since that takes longer than everything else at import."""
    grammar = Path(__file__).with_name("rules.lark").read_text(encoding="utf-8")
    return Lark(
        f"{grammar}\nUNIT.3: /{UNIT.replace('/', chr(92) + '/')}/\n",
        parser="lalr",
        postlex=_Indentation(),
        propagate_positions=True,
    )


def tokens(node: Node) -> list[Leaf]:
    """Return the tokens that ``node`` is made of, in order."""
    return list(node.scan_values(lambda leaf: isinstance(leaf, Token)))


def levels(node: Node) -> int:
    """Return how many levels deep what ``node`` means is, its children aside: each further condition is one more."""
    many = len(node.children) // 2
    return {"guarded": len(node.children), "conjunction": many, "disjunction": many}.get(node.data, 1)


@final
@attrs.frozen
class Page:
    """A text of rules with its syntax tree: what errors show the lines of.

    >>> print(Page.parsed("draught must be below 15 m", "example").tree.children[0].data)
    sentence
    """

    file: str
    """What messages call it."""
    lines: list[str]
    tree: Node

    @classmethod
    def parsed(cls, text: str, file: str) -> Page:
        """Parse ``text``.

        Raises:
            InvalidRule: It is no text of rules, or absurdly long or deep.
        """
        lone = re.search("[\ud800-\udfff]", text)
        if lone is not None:
            fix = [("fix", "save the text as UTF-8")]
            got = f"{lone[0]!r}, half a character, in line {text[: lone.start()].count(chr(10)) + 1}"
            raise InvalidRule(refusal(f"{file!r}: expected a text but got {got}", fix, place=""))
        lines = text.split("\n")
        longest = max(range(len(lines)), key=lambda number: len(lines[number]))
        if len(text) > LONGEST or len(lines[longest]) > LONGEST_LINE:
            got = f"{len(text)} characters, {len(lines[longest])} in line {longest + 1}"
            fix = [("fix", "split it")]
            expected = f"at most {LONGEST} characters, {LONGEST_LINE} in a line"
            raise InvalidRule(refusal(f"{file}: expected {expected} but got {got}", fix, place=""))
        try:
            with _PARSING:
                tree = _parser().parse(text + "\n")
        except UnexpectedInput as error:
            raise syntax_error(_unexpected(error), lines, file) from None
        except DedentError:
            raise indentation_error(lines, file) from None
        page = cls(file, lines, cast("Node", tree))
        _refuse_depth(page)
        return page

    def at(self, part: Node | Leaf) -> AbstractContextManager[None]:
        """Let errors raised inside show ``part``."""
        return reading(self.span(part), self.lines)

    def span(self, part: Node | Leaf) -> Span:
        """Return the place of a part, in bytes as `excerpts` counts."""
        place: Any = part if isinstance(part, Token) else cast("Tree[Token]", part).meta
        line, column = getattr(place, "line", None) or 1, getattr(place, "column", None) or 1
        end_line, end = getattr(place, "end_line", None) or line, getattr(place, "end_column", None) or column
        return in_bytes(Span(self.file, line, end_line, column - 1, end - 1), self.lines)


def _refuse_depth(page: Page) -> None:
    waiting: list[tuple[Any, int]] = [(page.tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, Tree):
            if depth > DEEPEST:
                fix = [("fix", "give a part of it a name: define <name>: <expression>")]
                with page.at(cast("Node", node)):
                    raise InvalidRule(refusal(f"{page.file}: expected at most {DEEPEST} parts in one another", fix))
            inner = depth + levels(cast("Node", node))
            waiting.extend((child, inner) for child in node.children if child is not None)


def _unexpected(error: UnexpectedInput) -> Unexpected:
    if isinstance(error, UnexpectedToken):
        allowed = error.accepts or error.expected
        return Unexpected(error.line, error.column, error.token.type, str(error.token), frozenset(allowed))
    assert isinstance(error, UnexpectedCharacters)
    return Unexpected(error.line, error.column, "", error.char, frozenset(error.allowed or ()))
