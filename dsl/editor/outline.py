"""A text of rules as a list of its sentences, for the page that edits them: where each stands, and what it is made of.

The text is the document: an edit replaces the lines of one sentence, and everything else, comments included, stays as
it is. A condition that compares something with one or two constants is shown in parts, to be chosen from; any other is
shown as text.

Invariant: items are in the order of the text, numbered from 0; those of a block follow it, one level deeper.

Source: issue 6, "Rules as text"; thesis, chapter 9 (rules that people edit who do not program).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import attrs

from dsl.declarations.sources import declaration
from dsl.refusals.quoting import unescaped
from dsl.rule_packs import RulePack
from dsl.terms.dimensions import Choice, Measure
from dsl.terms.related_rows import pairings, tallyings
from dsl.text.headings import Headings
from dsl.text.parsing import Leaf, Page, tokens
from dsl.text.phrasing import Phrasing
from dsl.text.reading import written_pack
from dsl.text.text_expressions import free_text
from dsl.text.unit_names import UNITS, unit, unit_words

if TYPE_CHECKING:
    from dsl.terms.dimensions import Kind
    from dsl.text.parsing import Node

Json: TypeAlias = dict[str, Any]
"""What a page is sent: plain data."""

_RELATIONS: Final = {"AT_LEAST": "at least", "AT_MOST": "at most", "ABOVE": "above", "BELOW": "below"}


@final
@attrs.frozen
class Item:
    """A statement of the text: a sentence with the conditions on its line, or the head of a block."""

    number: int
    depth: int
    first: int
    """The index of its first line."""
    end: int
    """The index of the line after its last, those of its block included."""
    parent: int | None
    node: Node


@final
class Outline:
    """A text that reads as a pack, and the items of its rules.

    >>> text = "pack: p" + chr(10) + "subject: a" + chr(10) + "source a by id:" + chr(10) + "    id: number" + chr(10)
    >>> outline = Outline(text + "id must be above 3")
    >>> [item.first for item in outline.items], outline.pack.statements[0].name
    ([4], 'a.id > 3')
    """

    def __init__(self, text: str, file: str = "rules", *, by_number: bool = False) -> None:
        """Read the text.

        Args:
            text: The text.
            file: What messages call it.
            by_number: Whether a requirement of the pack, and of the tree, is named by the number of its item; what it
                is called is then in ``titles``.

        Raises:
            InvalidRule: It is no text of rules, or says what no pack may say.
            DimensionMismatch: Operands do not fit each other.
            UnknownField: A name means nothing.
        """
        self.headings = Headings(Page.parsed(text, file))
        self.page, self.terms = self.headings.page, self.headings.terms
        self.items: list[Item] = []
        for node in self.page.tree.children:
            if node.data in {"guarded", "sentence"}:
                self._add(node, 0, None)
        self.titles = self._named_by_number() if by_number else {}
        self.pack = written_pack(self.headings, RulePack)

    def _add(self, node: Node, depth: int, parent: int | None) -> None:
        lines = [token.line or 0 for token in tokens(node)]
        number = len(self.items)
        self.items.append(Item(number, depth, min(lines) - 1, max(lines), parent, node))
        if node.data == "guarded" and node.children[-1].data == "block":
            for child in node.children[-1].children:
                self._add(child, depth + 1, number)

    def _named_by_number(self) -> dict[int, str]:
        titles: dict[int, str] = {}
        for item in self.items:
            sentence = item.node.children[-1] if item.node.data == "guarded" else item.node
            if sentence.data == "sentence":
                requirement, *said = sentence.children
                names = [leaf for leaf in said if leaf is not None and leaf.startswith("name:")]
                titles[item.number] = free_text(names[0]) if names else self._text(requirement)
                others = [leaf for leaf in said if leaf not in names]
                sentence.children = [requirement, *others, Leaf("PROPERTY", f"name: {item.number}")]
        return titles

    def described(self) -> Json:
        """Return all that the page shows: items, names, and the fields of an example situation."""
        place = self.headings.optional("location")
        return {
            "name": self.pack.name,
            "items": [self._item(item) for item in self.items],
            "names": self._names(),
            "sources": self.sources(),
            "location": None if place is None else self._kind(place.children[1]),
        }

    def expression(self, written: str) -> Json:
        """Return what the page must know of an expression: its kind, and the units it may be compared in.

        Raises:
            InvalidRule: It is no expression.
            DimensionMismatch: Operands do not fit each other.
            UnknownField: A name means nothing.
        """
        page = Page.parsed(f"it must hold that ({written})", "the expression")
        terms = attrs.evolve(self.terms, page=page)
        return kind_of(terms.term(page.tree.children[0].children[0].children[1]).kind)

    def _item(self, item: Item) -> Json:
        node = item.node
        guards = node.children[:-1] if node.data == "guarded" else []
        body = node.children[-1] if node.data == "guarded" else node
        shown: Json = {
            "number": item.number, "depth": item.depth, "parent": item.parent, "line": item.first + 1,
            "kind": "sentence" if body.data == "sentence" else "nothing" if body.data == "nothing" else "block",
            "guards": [self._guard(guard) for guard in guards], "requirement": None, "properties": {},
        }  # fmt: skip
        if body.data == "sentence":
            requirement, *properties = body.children
            shown["requirement"] = {"text": self._text(requirement), "parts": self._parts(requirement)}
            said = (leaf for leaf in properties if leaf is not None)
            shown["properties"] = {leaf.partition(":")[0]: free_text(leaf) for leaf in said}
        return shown

    def _guard(self, guard: Node) -> Json:
        if guard.data == "otherwise":
            return {"kind": "otherwise", "text": "", "parts": None}
        if guard.data == "every":
            line = self.page.lines[guard.meta.line - 1]
            said = line[guard.children[1].meta.column - 1 : guard.meta.end_column - 1]
            return {"kind": "every", "text": said, "parts": None}
        said = guard.children[1]
        parts = self._parts(said) if guard.data == "when" else None
        return {"kind": guard.data, "text": self._text(said), "parts": parts}

    def _parts(self, node: Node) -> Json | None:
        """A comparison with constants in parts; None for any other condition."""
        if node.data == "name":
            return {"left": self._text(node), "relation": "holds", "values": [], **self._kind(node)}
        if node.data not in {"comparison", "difference"}:
            return None
        types = [child.type for child in node.children if isinstance(child, Leaf)]
        left, *others = [child for child in node.children if not isinstance(child, Leaf)]
        relation = next((_RELATIONS[each] for each in types if each in _RELATIONS), "is")
        relation = "not" if node.data == "difference" else relation
        relation = next((each.lower() for each in types if each in {"BETWEEN", "KNOWN"}), relation)
        if any(other.data not in {"quantity", "string", "truth", "instant"} for other in others):
            return None
        values = [self._value(other) for other in others]
        return {"left": self._text(left), "relation": relation, "values": values, **self._kind(left)}

    def _value(self, node: Node) -> Json:
        written = str(node.children[0])
        measure = node.children[1] if node.data == "quantity" else None
        name = "" if measure is None else unit_words(unit(str(measure)).measure)
        return {"value": unescaped(written) if node.data == "string" else written, "unit": name}

    def _kind(self, node: Node) -> Json:
        return kind_of(self.terms.term(node).kind)

    def _text(self, node: Node) -> str:
        place = node.meta
        line: str = self.page.lines[place.line - 1]
        return line[place.column - 1 : place.end_column - 1]

    def _names(self) -> list[Json]:
        vocabulary = self.terms.vocabulary
        phrasing = Phrasing(vocabulary)
        found = [
            {"group": "named expressions", "words": phrasing.term(each), **kind_of(each.kind)}
            for each in vocabulary.definitions
        ]
        for source in self.headings.sources.values():
            known = declaration(source)
            for field, kind in known.fields:
                words = phrasing.term(source[field].term)
                is_optional = field in known.optional
                found.append({"group": known.name, "words": words, "optional": is_optional, **kind_of(kind)})
        return found

    def sources(self) -> list[Json]:
        """Return the fields of an example situation, by source."""
        related = {tallying.source.name for tallying in tallyings(self.pack.statements)}
        others = {pairing.other.name for pairing in pairings(self.pack.statements)}
        others |= {name for name in related if declaration(self.headings.sources[name]).another_of is not None}
        observed = {*self.pack.sources, *others}
        return [
            {
                "name": name,
                "isTable": name in related | others,
                "fields": [{"name": field, **kind_of(kind)} for field, kind in declaration(source).fields],
            }
            for name, source in self.headings.sources.items()
            if name in observed
        ]


def kind_of(kind: Kind) -> Json:
    """Return what the page must know of a kind: its sort, its unit and those of its dimension, its members.

    >>> from dsl.units import knots
    >>> kind_of(knots.measure)["units"]
    ['kn', 'm/s', 'km/h', 'mph']
    """
    if isinstance(kind, Choice):
        return {"sort": "choice", "members": list(kind.members)}
    if not isinstance(kind, Measure):
        return {"sort": kind.name}
    own = unit_words(kind)
    others = {one.symbol: None for one in UNITS.values() if one.measure.dimension == kind.dimension}
    offsets = {one.symbol for one in UNITS.values() if bool(one.measure.offset) != bool(kind.offset)}
    names = [own, *(symbol for symbol in others if symbol != own and symbol not in offsets)]
    return {"sort": "quantity", "unit": own, "units": names if own else [""]}
