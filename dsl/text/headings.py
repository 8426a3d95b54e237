"""The headings of a text of rules: its sources, tables of places, and named expressions.

They may stand anywhere in the text; a named expression may use those above it.

Invariant: a definition names only definitions above it, so no expression contains itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn, final

import attrs

from dsl.declarations.admission import check_extent
from dsl.declarations.functions import named
from dsl.declarations.relating import another
from dsl.declarations.sources import FieldType, PlainType, Source, choice, declaration, instant, optional, position
from dsl.refusals.errors import InvalidRule, refusal
from dsl.refusals.quoting import unescaped
from dsl.text.parsing import Leaf, levels
from dsl.text.text_expressions import TextExpressions, literal, name_of, quantity, title_of
from dsl.text.unit_names import unit
from dsl.text.vocabulary import Vocabulary
from dsl.writing.fluent import Expression

if TYPE_CHECKING:
    from dsl.text.parsing import Node, Page

_OPTIONS: Final = {"STALE_AFTER": "stale_after", "FORECAST": "forecast", "KEPT_FOR": "retention"}

_TYPES: Final[dict[str, PlainType]] = {
    "number_type": float, "text_type": str, "truth_type": bool, "position_type": position, "instant_type": instant,
}  # fmt: skip


@final
class Headings:
    """What the declarations of a text say."""

    def __init__(self, page: Page) -> None:
        """Read the declarations, then the definitions.

        Raises:
            InvalidRule: A declaration is none, or says twice what is said once.
            DimensionMismatch: Operands of a definition do not fit each other.
            UnknownField: A definition uses a name that means nothing.
        """
        self.page = page
        self.sources: dict[str, Source] = {}
        self.places: dict[str, dict[Any, tuple[float, float]]] = {}
        self.naming = TextExpressions(page, Vocabulary(None, ()), self.places, self.sources)
        for node in self.items("source"):
            self._declare(node)
        for node in self.items("another"):
            self._name_others(node)
        for node in self.items("places"):
            self._locate(node)
        self.subject_node = self.one("subject", "subject: <the source that is judged>")
        with page.at(self.subject_node):
            self.subject = self.naming.source(self.subject_node.children[1])
        vocabulary = Vocabulary(declaration(self.subject), tuple(map(declaration, self.sources.values())))
        self.terms = attrs.evolve(self.naming, vocabulary=vocabulary)
        self.extents: dict[str, tuple[int, int]] = {}
        for node in self.items("definition"):
            self.extents[title_of(node.children[1])] = self._extent(node)
            self._define(node)
        for node in page.tree.children:
            self._extent(node)

    def items(self, kind: str) -> list[Node]:
        """Return the items of a kind, in the order of the text."""
        return [node for node in self.page.tree.children if node.data == kind]

    def optional(self, kind: str) -> Node | None:
        """Return the one item of a kind, if there is one.

        Raises:
            InvalidRule: There are two.
        """
        found = self.items(kind)
        if len(found) > 1:
            with self.page.at(found[1]):
                _refuse_twice(f"{kind}: expected to be said once")
        return found[0] if found else None

    def one(self, kind: str, form: str) -> Node:
        """Return the one item of a kind.

        Raises:
            InvalidRule: There is none, or there are two.
        """
        found = self.optional(kind)
        if found is None:
            with self.page.at((self.page.tree.children or [self.page.tree])[0]):
                summary = f"{self.page.file}: expected a line `{form}` but there is none"
                raise InvalidRule(refusal(summary, [("fix", "add it at the top")]))
        return found

    def _declare(self, node: Node) -> None:
        _, name_node, _, key_node, *others = node.children
        options = self._options([each for each in others if each is not None and each.data == "option"])
        name, fields = name_of(name_node), dict[str, FieldType]()
        for field in (each for each in others if each is not None and each.data == "field"):
            with self.page.at(field):
                called = name_of(field.children[0])
                if called in fields:
                    _refuse_twice(f"source {name}: expected each field once but got {called!r}")
                type_ = _field_type(field.children[1])
                fields[called] = optional(type_) if field.children[2] else type_
        with self.page.at(name_node):
            self._refuse_second(name)
            key = None if key_node is None else name_of(key_node)
            self.sources[name] = Source(name, key=key, fields=fields, **options)

    def _refuse_second(self, name: str) -> None:
        if name in self.sources:
            _refuse_twice(f"source {name}: expected each source once", "give two sources two names")

    def _options(self, nodes: list[Node]) -> dict[str, Any]:
        """What the line of a source says behind its key, as arguments of `Source`."""
        said: dict[str, Any] = {}
        for node in nodes:
            label = _OPTIONS[node.children[0].type]
            with self.page.at(node):
                if label in said:
                    _refuse_twice(f"{node.children[0]}: expected to be said once")
                said[label] = label == "forecast" or Expression(quantity(*node.children[1:]))
        return said

    def _name_others(self, node: Node) -> None:
        name = name_of(node.children[1])
        with self.page.at(node):
            source = self.naming.source(node.children[3])
            self._refuse_second(name)
            self.sources[name] = another(source, name)

    def _locate(self, node: Node) -> None:
        table: dict[Any, tuple[float, float]] = {}
        for spot in node.children[2:]:
            with self.page.at(spot):
                id_, latitude, longitude = (literal(leaf) for leaf in spot.children)
                if id_ in table:
                    _refuse_twice(f"places: expected each place once but got {id_!r} twice")
                table[id_] = (latitude, longitude)
        with self.page.at(node.children[1]):
            name = title_of(node.children[1])
            if name in self.places:
                _refuse_twice(f"places {name}: expected to be declared once", "rename one of them")
            self.places[name] = table

    def _extent(self, item: Node) -> tuple[int, int]:
        """The parts of an item and their depth, named expressions counted wherever they are used."""
        size, deepest = 0, 0
        waiting: list[tuple[Any, int]] = [(item, 0)]
        while waiting:
            node, depth = waiting.pop()
            if isinstance(node, Leaf | None):
                continue
            inner = self.extents.get(title_of(node), (1, 1)) if node.data == "name" else (1, 1)
            size, deepest = size + inner[0], max(deepest, depth + inner[1])
            waiting.extend((child, depth + levels(node)) for child in node.children)
        with self.page.at(item):
            check_extent(self.page.file, size, deepest)
        return size, deepest

    def _define(self, node: Node) -> None:
        name = title_of(node.children[1])
        with self.page.at(node.children[1]):
            if name in [each.name for each in self.terms.vocabulary.definitions]:
                _refuse_twice(f"define {name}: expected to be defined once", "rename one of them")
        expression = Expression(self.terms.term(node.children[2]))
        with self.page.at(node.children[1]):
            vocabulary = self.terms.vocabulary.defining(named(name, expression).term)
        self.terms = attrs.evolve(self.terms, vocabulary=vocabulary)


def _refuse_twice(said: str, fix: str = "leave one of them out") -> NoReturn:
    raise InvalidRule(refusal(said, [("fix", fix)]))


def _field_type(node: Node) -> PlainType:
    if node.data == "choice_type":
        return choice(*(unescaped(member) for member in node.children[1:]))
    if node.data in {"unit", "exact_unit"}:
        return unit(str(node.children[0]))
    return _TYPES[node.data]
