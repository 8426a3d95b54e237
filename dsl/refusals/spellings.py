"""The right spelling of what Python's own `and`, `or`, `not`, `in`, chained comparison, `if` and loops cannot say.

These ask a rule for a truth value while it is written, when there is none yet, and so do comprehensions with a
condition and functions such as `any`, `max` and `sorted`. `spelling` looks at the user's own
line through its syntax tree, finds what asked, and rewrites it with `&`, `|`, `not_` and `when`. The text of the
user's program is parsed, never run.

Source: STYLE.md, section 2.4 (for a likely slip show the wrong line and the right one).
"""

from __future__ import annotations

import ast
import sys
from functools import reduce
from typing import TypeAlias

from dsl.refusals.excerpts import Span, current_span, syntax_tree

Comprehension: TypeAlias = "ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp"
Asking: TypeAlias = (
    "ast.BoolOp | ast.UnaryOp | ast.Compare | ast.IfExp | ast.Call | ast.If | ast.While | ast.Assert | ast.For | "
    "ast.Match | Comprehension"
)

_GENERAL = "combine conditions with &, | and not_(…), and use `with when(…):` for if"
_DISPLAYS = (ast.List, ast.Tuple, ast.Set)
_NUMBER = "name the observation itself: it is compared, in its unit, when events come"
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
        case ast.Match():
            return span, "`match`", _case(node, span)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return span, "the `if` of a comprehension", _filtering(node, span)
        case ast.Call():
            return span, f"`{ast.unparse(node.func)}`", _NUMERIC if collection else _called(node)
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]) if not isinstance(right, _DISPLAYS):
            one = f"({ast.unparse(node.left)} == …)"
            return Span.of(span.file, node), "`in`", f"spell the choices out: {one} | {one}"
        case _:
            return Span.of(span.file, node), _construct(node), ast.unparse(rewritten(node))


def number_asked() -> tuple[Span | None, str, str]:
    """Say where the user's line asks for a number, what asks, and what to do instead: see `spelling`."""
    span = current_span()
    calls = [] if span is None else [node for node in ast.walk(syntax_tree(span.file)) if isinstance(node, ast.Call)]
    asking = [f"`{ast.unparse(call.func)}`" for call in calls if span is not None and Span.of(span.file, call) == span]
    return span, asking[0] if asking else "a format", _NUMBER


def summed() -> str | None:
    """Return the sum with + where the user's line is a call of `sum` over a display; None elsewhere."""
    span = current_span()
    node = None if span is None else _asking(span)
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "sum" and (terms := _elements(node)):
        return " + ".join(ast.unparse(term) for term in terms)
    return None


def rewritten(node: ast.expr) -> ast.expr:
    """Return ``node`` with and, or, not, chained comparisons and membership in a display spelled for rules.

    >>> ast.unparse(rewritten(ast.parse("a < b < c and not d", mode="eval").body))
    '(a < b) & (b < c) & not_(d)'
    >>> ast.unparse(rewritten(ast.parse("x not in ('oil', 'gas')", mode="eval").body))
    "not_((x == 'oil') | (x == 'gas'))"
    """
    return ast.fix_missing_locations(_Rewriting().visit(node))  # type: ignore[no-any-return]  # an expression becomes an expression


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


def _case(node: ast.Match, span: Span) -> str:
    """The `when` for the case of a `match` that asks."""
    for case in node.cases:
        # Of a guard with and/or, Python 3.11 reports the pattern.
        guarded = case.pattern if isinstance(case.guard, ast.BoolOp) and sys.version_info < (3, 12) else case.guard
        if case.guard is not None and guarded is not None and _covers(Span.of(span.file, guarded), span):
            return f"with when({ast.unparse(rewritten(case.guard))}): …"
        if _covers(Span.of(span.file, case.pattern), span):
            values = [part.value for part in ast.walk(case.pattern) if isinstance(part, ast.MatchValue)]
            choices = [ast.Compare(node.subject, [ast.Eq()], [value]) for value in values]
            return f"with when({ast.unparse(_joined(ast.BitOr(), [*choices]))}): …"
    return _GENERAL


def _filtering(node: Comprehension, span: Span) -> str:
    """The loop with a `when` for a comprehension whose condition asks."""
    tests = [(generator, test) for generator in node.generators for test in generator.ifs]
    # Of a condition with and/or, Python reports the whole comprehension.
    asking = [each for each in tests if _covers(Span.of(span.file, each[1]), span)] or tests
    generator, test = asking[-1]
    loop = f"for {ast.unparse(generator.target)} in {ast.unparse(generator.iter)}:"
    return f"{loop} … with when({ast.unparse(rewritten(test))}): …"


def _called(node: ast.Call) -> str:
    """What to write instead of a function that asks for truth values."""
    function, elements = ast.unparse(node.func), [rewritten(each) for each in _elements(node)]
    if function in {"any", "all"}:
        operator, name = (ast.BitOr(), "or_") if function == "any" else (ast.BitAnd(), "and_")
        if elements:
            return ast.unparse(_joined(operator, elements))
        made = node.args[0] if node.args else ast.Name("…")
        listed = ast.ListComp(made.elt, made.generators) if isinstance(made, ast.GeneratorExp) else made
        return f"functools.reduce(operator.{name}, {ast.unparse(listed)})"
    if function in {"max", "min", "sorted"}:
        return "say it of each: " + " & ".join(f"({ast.unparse(each)} <= …)" for each in elements or [ast.Name("…")])
    return _GENERAL


def _elements(node: ast.Call) -> list[ast.expr]:
    """The arguments of a call, or the elements of a display that is its first; [] for anything else."""
    if len(node.args) > 1 and not isinstance(node.args[0], _DISPLAYS):
        return node.args
    return node.args[0].elts if node.args and isinstance(node.args[0], _DISPLAYS) else []


def _covers(outer: Span, inner: Span) -> bool:
    start, end = (outer.line, outer.column), (outer.end_line, outer.end_column)
    return start <= (inner.line, inner.column) and (inner.end_line, inner.end_column) <= end


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
        case ast.Match(cases=cases):
            parts = [part for case in cases for part in ast.walk(case.pattern)]
            return [*parts, *(case.guard for case in cases if case.guard is not None)]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return [test for generator in node.generators for test in generator.ifs]
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
    return found  # type: ignore[return-value]  # what asks is a statement or an expression
