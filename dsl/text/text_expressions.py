"""The wording of expressions in a text of rules: syntax trees to terms, by the checks that Python rules go through.

While a part of the text is read, it is the place that an error shows.

Invariant: a term is built by `checking` and its like alone; nothing in a text is run.
"""

from __future__ import annotations

from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Literal, final

import attrs

from dsl.declarations.counted_rows import greatest_of, least_of, mean_of, number_of, sum_of
from dsl.declarations.forecasts import Predicted, moment, throughout
from dsl.declarations.functions import between, distance, known, known_or, now
from dsl.refusals.errors import DimensionMismatch, InvalidRule, refusal
from dsl.refusals.quoting import unescaped, unquoted
from dsl.terms.dimensions import NUMBER, TRUTH, named
from dsl.terms.terms import Constant, Observation
from dsl.terms.texts import text
from dsl.text.parsing import Leaf, tokens
from dsl.text.unit_names import unit
from dsl.text.vocabulary import LARGEST
from dsl.writing import checking
from dsl.writing.fluent import Expression, lift
from dsl.writing.places import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsl.declarations.sources import Source
    from dsl.terms.terms import Term
    from dsl.text.parsing import Node, Page
    from dsl.text.vocabulary import Vocabulary

_RELATIONS: Final = {"AT_LEAST": ">=", "AT_MOST": "<=", "ABOVE": ">", "BELOW": "<"}


@final
@attrs.frozen
class TextExpressions:
    """What the expressions of one text mean: its names, and its tables of places."""

    page: Page
    vocabulary: Vocabulary
    places: Mapping[str, dict[Any, tuple[float, float]]]
    sources: Mapping[str, Source]

    def condition(self, node: Node, call: str) -> Term:
        """Return what an expression means that must be a condition, as ``call`` needs it.

        Raises:
            DimensionMismatch: It is a quantity, a text, …
        """
        term = self.term(node)
        if term.kind != TRUTH:
            with self.page.at(node):
                shown = " ".join(tokens(node))
                fix = [("fix", f"say what must hold of it, such as: {shown} is at least …, or {shown} is …")]
                raise DimensionMismatch(refusal(f"{call}: expected a condition but got {named(term.kind)}", fix))
        return term

    def term(self, node: Node) -> Term:
        """Return what an expression of the text means.

        Raises:
            InvalidRule: A constant is none, or a name has two meanings.
            DimensionMismatch: Operands do not fit each other.
            UnknownField: A name means nothing.
        """
        with self.page.at(node):
            match node.data:
                case "name":
                    return self.vocabulary.resolved(words_of(node))
                case "quantity":
                    return quantity(*node.children)
                case "total":
                    return self._total(node.children)
                case "prediction":
                    return self._prediction(node)
                case "throughout":
                    first, last = self._expression(node.children[2]), self._expression(node.children[4])
                    return throughout(first, last)(self._expression(node.children[0])).term
                case "string":
                    return lift(unescaped(node.children[0]))
                case "instant":
                    return _instant(node.children[0])
                case "truth":
                    return lift(node.children[0] == "true")
                case "now":
                    return now.term
                case "parenthesised":
                    return self.term(node.children[0])
                case "arithmetic":
                    left, operator, right = node.children
                    return checking.arithmetic(operator.value, self.term(left), self.term(right))
                case "negative":
                    return checking.sign("-", self.term(node.children[1]))
                case "absolute":
                    return checking.sign("abs", self.term(node.children[1]))
                case "conjunction" | "disjunction":
                    return self._junction(node)
                case "opposite":
                    return checking.opposite(self.condition(node.children[1], "not"))
                case "comparison":
                    return self._comparison(
                        [each for each in node.children if _kind(each) not in {"IS", "MUST_BE", "AND"}]
                    )
                case "difference":
                    return checking.comparison("!=", self.term(node.children[0]), self.term(node.children[-1]))
                case "coalesce":
                    return known_or(self._optional_field(node.children[0]), self._expression(node.children[2])).term
                case "distance":
                    return distance(self._expression(node.children[1]), self._expression(node.children[3])).term
                case _:
                    return self._nearest(node)

    def _junction(self, node: Node) -> Term:
        first, *others = [each for each in node.children if not isinstance(each, Leaf)]
        operator: Literal["and", "or"] = "and" if node.data == "conjunction" else "or"
        term = self.condition(first, operator)
        for each in others:
            term = checking.junction(operator, term, self.condition(each, operator))
        return term

    def _comparison(self, parts: list[Any]) -> Term:
        left, relation, *others = parts
        match _kind(relation):
            case "":
                return checking.comparison("==", self.term(left), self.term(relation))
            case "KNOWN":
                return known(self._optional_field(left)).term
            case "BETWEEN":
                return between(*map(self._expression, (left, *others))).term
            case phrase:
                operator: Any = _RELATIONS[phrase]
                return checking.comparison(operator, self.term(left), self.term(others[0]))

    def _expression(self, node: Node) -> Expression:
        return Expression(self.term(node))

    def _optional_field(self, node: Node) -> Expression:
        """A field that may lack a value; of others it is refused to ask."""
        term = self.term(node)
        if not (isinstance(term, Observation) and term.field in term.source.optional):
            with self.page.at(node):
                got = f"{text(term)} is in every row" if isinstance(term, Observation) else text(term)
                fix = [("fix", "declare it so: <field>: <type>, optional")]
                raise InvalidRule(refusal(f"known: expected an optional field but {got}", fix))
        return Expression(term)

    def _prediction(self, node: Node) -> Term:
        named, _, at = node.children
        observed = self.term(named)
        if not (isinstance(observed, Observation) and observed.source.forecast):
            with self.page.at(named):
                fix = [("fix", "declare its source as a forecast: source <name> by <key>, forecast:")]
                raise InvalidRule(refusal(f"predicted for: expected a forecast but got {text(observed)}", fix))
        return Predicted(observed.source, moment("predicted for", self._expression(at)))[observed.field].term

    def _total(self, parts: list[Any]) -> Term:
        """What a count, a sum, … says: its kind, of what, and which rows count."""
        kind, of, *limit = parts
        where = self._expression(limit[1]) if limit else None
        if kind.type == "NUMBER_OF":
            return number_of(self.source(of), where).term
        total = {"sum": sum_of, "mean": mean_of, "least": least_of, "greatest": greatest_of}[kind.split()[0]]
        return total(self._expression(of), where).term

    def source(self, node: Node) -> Source:
        """Return the source that a `name` node names.

        Raises:
            InvalidRule: There is none.
        """
        name = name_of(node)
        if name not in self.sources:
            with self.page.at(node):
                close = get_close_matches(name, self.sources, n=1)
                fix = [("fix", f"did you mean {close[0]}?" if close else f"declare it: source {name} by <key field>:")]
                known = ", ".join(self.sources) or "none is declared yet"
                raise InvalidRule(refusal(f"{name}: expected a source ({known})", fix))
        return self.sources[name]

    def _nearest(self, node: Node) -> Term:
        _, name_node, _, position = node.children
        name = title_of(name_node)
        if name not in self.places:
            close = get_close_matches(name, self.places, n=1)
            fix = [
                ("fix", f"write {close[0]}" if close else f'declare them: places {name}: and "<id>": 51.9, 4.1 below')
            ]
            raise InvalidRule(refusal(f"nearest {name}: expected a table of places", fix))
        return nearest(self.places[name], self._expression(position)).term


def _kind(part: Node | Leaf) -> str:
    return part.type if isinstance(part, Leaf) else ""


def words_of(node: Node) -> str:
    """Return what stands in a `name` node: words with single spaces, or a name in backticks as it is."""
    first = node.children[0]
    return str(first) if first.type == "BACKTICKED" else " ".join(node.children).replace("_", " ")


def title_of(node: Node) -> str:
    """Return the name of an expression or of places."""
    words = words_of(node)
    return unquoted(words) if words.startswith("`") else words


def name_of(node: Node) -> str:
    """Return the identifier that a source's or field's name stands for."""
    words = words_of(node)
    return unquoted(words) if words.startswith("`") else words.replace(" ", "_")


def free_text(leaf: Leaf) -> str:
    """Return what a line says after its colon, which may stand in quotes."""
    written = leaf.partition(":")[2].strip()
    return unescaped(written) if written.startswith('"') else written


def literal(leaf: Leaf) -> Any:
    """Return the text or number that a token writes.

    Raises:
        InvalidRule: A number of an absurd size, or a text with a wrong escape.
    """
    if leaf.type == "STRING":
        return unescaped(leaf)
    value = int(leaf) if leaf.lstrip("-").isdigit() else float(leaf)
    if not abs(value) < LARGEST:
        fix = [("fix", "write the number that is meant")]
        raise InvalidRule(refusal(f"{leaf[:20]}…: expected a number of a reasonable size", fix))
    return value


def quantity(number: Leaf, measure: Leaf | None) -> Term:
    """Return a constant in a unit, or a plain number."""
    kind = NUMBER if measure is None else unit(str(measure)).measure
    return Constant(literal(number), kind)


def _instant(leaf: Leaf) -> Term:
    try:
        return lift(datetime.fromisoformat(leaf))
    except ValueError:
        fix = [("fix", "write it as 2026-05-01 14:30Z, in UTC")]
        raise InvalidRule(refusal(f"{leaf}: expected an instant but there is no such day or time", fix)) from None


def place_of(node: Node) -> Any:
    """Return the id of a location, written as words, in quotes or as a number."""
    first = node.children[0]
    return " ".join(node.children) if first.type == "WORD" else literal(first)
