"""Reading a text of rules: its syntax tree to a pack, by the same checks and calls that rules in Python go through.

Sentences are written with `require`, `when`, `otherwise` and `location` into an open pack; while a part of the text is
read, that part is the place of any error. The tree is walked by `headings`, `text_expressions` and this module,
which can only build declarations, terms and statements.

Source: issue 6, "Rules as text"; the grammar is `rules.lark`.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, TypeVar

from dsl.declarations.relating import against
from dsl.refusals.errors import InvalidRule, refusal
from dsl.text.text_expressions import free_text, place_of
from dsl.writing.blocks import location, otherwise, require, when
from dsl.writing.fluent import Expression

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from dsl.text.headings import Headings
    from dsl.text.parsing import Leaf, Node
    from dsl.text.text_expressions import TextExpressions

Pack = TypeVar("Pack", bound="AbstractContextManager[object]")
"""A pack of rules; what makes one is given by the caller, who stands above."""
_SEVERITIES: Final = ("minor", "major", "critical")


def written_pack(headings: Headings, make: Callable[..., Pack]) -> Pack:
    """Return the pack of a text whose headings are read.

    Raises:
        InvalidRule: Its links form no tree, a rule observes what is not linked, …
        DimensionMismatch: Operands do not fit each other.
        UnknownField: A name means nothing.
    """
    page, terms = headings.page, headings.terms
    heading, located = headings.one("pack", "pack: <a name>"), headings.optional("location")
    with page.at(heading):
        name = free_text(heading.children[0])
    nodes = [link.children[0] for node in headings.items("links") for link in node.children[1:]]
    links = [Expression(terms.term(node)) for node in nodes]
    limited = headings.optional("only")
    only = None if limited is None else Expression(terms.condition(limited.children[1], "only"))
    where = None if located is None else Expression(terms.term(located.children[1]))
    with page.at((headings.items("links") or [headings.subject_node])[-1]):
        pack = make(name, subject=headings.subject, location=where, links=links, only=only)
    with pack:
        _body([node for node in page.tree.children if node.data in {"guarded", "sentence"}], terms)
    return pack


def _body(nodes: list[Node], terms: TextExpressions) -> None:
    above: Node | None = None
    for node in nodes:
        if node.data == "guarded":
            _guarded(node.children[:-1], node.children[-1], above, terms)
        else:
            _sentence(node, terms)
        above = node


def _guarded(guards: list[Node], body: Node, above: Node | None, terms: TextExpressions) -> None:
    if not guards:
        if body.data != "nothing":
            _body(body.children if body.data == "block" else [body], terms)
        return
    with terms.page.at(guards[0]):
        clause = _clause(guards[0], above, terms)
    with clause:
        _guarded(guards[1:], body, None, terms)


def _clause(guard: Node, above: Node | None, terms: TextExpressions) -> AbstractContextManager[None]:
    if guard.data == "at":
        return location(place_of(guard.children[1]))
    if guard.data == "when":
        return when(Expression(terms.condition(guard.children[1], "when")))
    if guard.data == "every":
        where = None if guard.children[2] is None else Expression(terms.condition(guard.children[3], "for every"))
        return against(terms.source(guard.children[1]), where)
    conditions = above.children[:-1] if above is not None and above.data == "guarded" else []
    if [each.data for each in conditions] != ["when"]:
        fix = [("fix", "write it right below a line with one `when`, at the same indentation")]
        raise InvalidRule(refusal("otherwise: expected a line with one `when`, and no more, directly above", fix))
    return otherwise()


def _sentence(node: Node, terms: TextExpressions) -> None:
    requirement, *properties = node.children
    said: dict[str, str] = {}
    for leaf in properties:
        if leaf is not None:
            with terms.page.at(leaf):
                _say(said, leaf)
    with terms.page.at(requirement):
        condition = requirement.children[1] if requirement.data == "assertion" else requirement
        require(Expression(terms.condition(condition, "a rule")), **said)  # type: ignore[arg-type]  # properties of a requirement are texts


def _say(said: dict[str, str], leaf: Leaf) -> None:
    label = leaf.partition(":")[0]
    if label in said:
        raise InvalidRule(refusal(f"{label}: expected to be said once", [("fix", "leave one of them out")]))
    said[label] = free_text(leaf)
    if label == "severity" and said[label] not in _SEVERITIES:
        close = get_close_matches(said[label], _SEVERITIES, n=1, cutoff=0.4)
        fix = [("fix", f"write {close[0] if close else 'one of them'}")]
        raise InvalidRule(refusal(f"severity: expected minor, major or critical but got {said[label]!r}", fix))
