"""The right spelling of what Python's own `and`, `or`, `not`, `in`, chained comparison, `if` and loops cannot say.

These ask a rule for a truth value while it is written, when there is none yet. `spelling` looks at the user's own
line through its syntax tree, finds what asked, and rewrites it with `&`, `|`, `not_` and `when`. The text of the
user's program is parsed, never run.

Source: STYLE.md, section 2.4 (for a likely slip show the wrong line and the right one).
"""

from __future__ import annotations

import ast
from functools import reduce
from typing import TypeAlias

from dsl.excerpts import Span, current_span, syntax_tree

Asking: TypeAlias = (
    "ast.BoolOp | ast.UnaryOp | ast.Compare | ast.IfExp | ast.Call | ast.If | ast.While | ast.Assert | ast.For"
)

_GENERAL = "combine conditions with &, | and not_(…), and use `with when(…):` for if"
_DISPLAYS = (ast.List, ast.Tuple, ast.Set)
_NUMERIC = "name the observation itself; a rule sees one row of each source, so there is nothing to loop over"


def spelling(collection: bool = False) -> tuple[Span | None, str, str]:
    """Say where the user's line asks for a truth value (or a collection), what asks, and how to write it.

    Args:
        collection: Whether a collection was asked for: iteration, length or membership *in* the term.

    Returns:
        The span for the caret (None where the source is unknown), the name of the construct, and the right spelling.
    """
    span = current_span()
    node = None if span is None else _asking(span)
    if node is None or span is None:
        return span, "a loop" if collection else "here", _NUMERIC if collection else _GENERAL
    match node:
        case ast.If() | ast.While() | ast.Assert():
            return Span.of(span.file, node.test), f"`{type(node).__name__.lower()}`", _statement(node)
        case ast.IfExp():
            fix = f"with when({ast.unparse(rewritten(node.test))}): … with otherwise(): …"
            return Span.of(span.file, node), "`… if … else …`", fix
        case ast.For():
            return Span.of(span.file, node.iter), "`for`", _NUMERIC
        case ast.Call():
            return span, f"`{ast.unparse(node.func)}`", _NUMERIC if collection else _GENERAL
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]) if not isinstance(right, _DISPLAYS):
            one = f"({ast.unparse(node.left)} == …)"
            return Span.of(span.file, node), "`in`", f"spell the choices out: {one} | {one}"
        case _:
            return Span.of(span.file, node), _construct(node), ast.unparse(rewritten(node))


def rewritten(node: ast.expr) -> ast.expr:
    """Return ``node`` with and, or, not, chained comparisons and membership in a display spelled for rules.

    >>> ast.unparse(rewritten(ast.parse("a < b < c and not d", mode="eval").body))
    '(a < b) & (b < c) & not_(d)'
    >>> ast.unparse(rewritten(ast.parse("x not in ('oil', 'gas')", mode="eval").body))
    "not_((x == 'oil') | (x == 'gas'))"
    """
    return ast.fix_missing_locations(_Rewriting().visit(node))  # type: ignore[no-any-return]


class _Rewriting(ast.NodeTransformer):
    """Spells Python's own logic with the operators of the rule language."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Turn and/or into & and |."""
        values = [self.visit(value) for value in node.values]
        return _joined(ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr(), values)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Turn not into not_()."""
        operand = self.visit(node.operand)
        return _negated(operand) if isinstance(node.op, ast.Not) else ast.UnaryOp(node.op, operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Split a chain into its links, and membership in a display into equalities."""
        left, links = self.visit(node.left), []
        for operator, right in zip(node.ops, map(self.visit, node.comparators), strict=True):
            links.append(_link(left, operator, right))
            left = right
        return _joined(ast.BitAnd(), links)


def _link(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> ast.expr:
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(right, _DISPLAYS) and right.elts:
        choices = _joined(ast.BitOr(), [ast.Compare(left, [ast.Eq()], [choice]) for choice in right.elts])
        return choices if isinstance(operator, ast.In) else _negated(choices)
    return ast.Compare(left, [operator], [right])


def _joined(operator: ast.operator, values: list[ast.expr]) -> ast.expr:
    return reduce(lambda left, right: ast.BinOp(left, operator, right), values)


def _negated(operand: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("not_"), [operand], [])


def _construct(node: ast.BoolOp | ast.UnaryOp | ast.Compare) -> str:
    if isinstance(node, ast.BoolOp):
        return "`and`" if isinstance(node.op, ast.And) else "`or`"
    if isinstance(node, ast.UnaryOp):
        return "`not`"
    return "`in`" if isinstance(node.ops[0], ast.In | ast.NotIn) else "a chained comparison"


def _statement(node: ast.If | ast.While | ast.Assert) -> str:
    test = ast.unparse(rewritten(node.test))
    return f"require({test})" if isinstance(node, ast.Assert) else f"with when({test}):"


def _asked(node: ast.AST) -> list[ast.AST]:
    """The parts of ``node`` whose truth value Python asks for when it evaluates ``node``; [] if none."""
    match node:
        case ast.BoolOp(values=values):
            return [*values]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [operand]
        case ast.If(test=test) | ast.While(test=test) | ast.Assert(test=test) | ast.IfExp(test=test):
            return [test]
        case ast.Compare(ops=operators) if len(operators) > 1 or isinstance(operators[0], ast.In | ast.NotIn):
            return [node]
        case ast.For(iter=source):
            return [source]
        case ast.Call():
            return [node]
    return []


def _asking(span: Span) -> Asking | None:
    """Find the construct that asks for what ``span`` marks, or for the whole condition that it is part of."""
    tree = syntax_tree(span.file)
    found: ast.AST | None = None
    for node in ast.walk(tree):  # breadth first, so that the innermost comes last
        if any(Span.of(span.file, part) == span for part in (node, *_asked(node))) and _asked(node):
            found = node
    asked_by = {id(part): node for node in ast.walk(tree) for part in _asked(node) if part is not node}
    while found is not None and id(found) in asked_by:
        found = asked_by[id(found)]
    return found  # type: ignore[return-value]
