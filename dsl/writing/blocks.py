"""Writing rules: `require`, `when`, `otherwise`, `location`, inside `with <pack>:`.

While a pack is open, its innermost open block collects statements; a block that closes becomes one frozen node of its
parent. What is open lives in a context variable, so packs of two threads do not meet. A block left by an exception
leaves nothing behind.

Invariant: a block is entered at once after it was made; `_Block.unentered` is the one that was not yet.

Source: thesis, chapter 2, Listings 1 to 11.
"""

from __future__ import annotations

from contextvars import ContextVar
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, final, get_args

from dsl.refusals.errors import DimensionMismatch, InvalidRule, refusal
from dsl.refusals.excerpts import current_line, current_span, excerpt
from dsl.terms.dimensions import alike, described, named
from dsl.terms.statements import Conditional, Located, Requirement, Severity
from dsl.terms.terms import Constant
from dsl.terms.texts import text
from dsl.writing.checking import comparison, condition, opposite
from dsl.writing.fluent import Expression, lift

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from dsl.terms.statements import Statement, Written
    from dsl.terms.terms import Declaration, Term

    Admit: TypeAlias = Callable[[Term, Declaration | None], None]
    Node: TypeAlias = Callable[[tuple[Statement, ...], Written | None], Statement]


class Block:
    """The statements of one open `with`: that of a pack, or that of a clause."""

    def __init__(
        self, pack: str, place: Term | None, admit: Admit, parent: Block | None = None, other: Declaration | None = None
    ) -> None:
        """Open a block of the pack ``pack``, about pairs with ``other``; ``admit`` refuses what it may not observe."""
        self.pack, self.place, self.admit, self.parent, self.other = pack, place, admit, parent, other
        self.statements: list[Statement] = []
        self.last_when: Term | None = None
        self.unentered: Clause | None = None

    def add(self, statement: Statement) -> None:
        """Append a statement; an `otherwise` may follow only a `when`."""
        self.statements.append(statement)
        self.last_when = None

    def settle(self) -> None:
        """Refuse to go on after a clause that was made but not entered."""
        clause, self.unentered = self.unentered, None
        if clause is not None:
            fix = [("fix", "write `with` in front of it, and what it applies to in the block below")]
            raise InvalidRule(
                refusal(f"{clause.call}: expected to be entered with `with`", fix, place=excerpt(clause.written))
            )


_open: ContextVar[Block | None] = ContextVar("open block", default=None)


@final
class Clause:
    """What `when`, `otherwise`, `location` and `against` return: enter it with `with`, at once and once."""

    def __init__(
        self, block: Block, call: str, node: Node, *, when: Term | None = None, other: Declaration | None = None
    ) -> None:
        """Prepare a block inside ``block``, which becomes a ``node`` of its statements."""
        self.parent, self.call, self.node, self.when, self.other = block, call, node, when, other
        self.written, self.line = current_span(), current_line()
        block.unentered = self

    def __enter__(self) -> None:
        """Open the block."""
        if self.parent.unentered is not self or _open.get() is not self.parent:
            raise InvalidRule(refusal(f"{self.call}: expected to be entered where it is written, once"))
        self.parent.unentered = None
        other = self.other or self.parent.other
        _open.set(Block(self.parent.pack, self.parent.place, self.parent.admit, self.parent, other))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the block, and add it as one statement; after an exception add nothing."""
        block = _open.get()
        _open.set(self.parent)
        if kind is not None or block is None:
            return
        block.settle()
        self.parent.add(self.node(tuple(block.statements), self.line))
        self.parent.last_when = self.when


def require(
    condition: Expression,
    name: str | None = None,
    because: str | None = None,
    *,
    severity: Severity = "major",
    reference: str | None = None,
) -> None:
    """State that ``condition`` must hold for every subject that the surrounding blocks apply to.

    >>> from dsl import RulePack, Source
    >>> from dsl.units import metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, length=metres)
    >>> port = RulePack("port", subject=vessel)
    >>> with port:
    ...     require(vessel.length <= 100 * metres, because="the lock is 110 m long")
    >>> port.check({"vessel": {"mmsi": 1, "length": 120.0}}).status
    'restricted'

    Args:
        condition: A condition over observations.
        name: What verdicts call the requirement; default: the condition's text.
        because: Why it is required, for the people who read the verdict.
        severity: How grave it is that it fails: ``"minor"``, ``"major"`` or ``"critical"``. Any of them restricts.
        reference: Where the regulation says so, such as ``"Port Regulations 4.2"``.

    Raises:
        InvalidRule: Outside a pack, a constant condition, a source that has no link to the subject, or no severity.
        DimensionMismatch: ``condition`` is no condition.
    """
    block = current("require")
    term = admitted("require", condition, block, block.other)
    _check_text("name", name)
    _check_text("because", because)
    _check_text("reference", reference)
    if severity not in get_args(Severity):
        close = get_close_matches(str(severity), get_args(Severity), n=1) or ["major"]
        shown = ", ".join(repr(each) for each in get_args(Severity))
        summary = f"require: expected a severity ({shown}) but got severity={severity!r}"
        raise InvalidRule(refusal(summary, [("fix", f'severity="{close[0]}"')]))
    block.add(Requirement(term, text(term) if name is None else name, because, severity, reference, current_line()))


def when(condition: Expression) -> Clause:
    """Apply the statements of the `with` block where ``condition`` holds.

    >>> from dsl import RulePack, Source
    >>> from dsl.units import knots, metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, length=metres)
    >>> wind = Source("wind", key=None, velocity=knots)
    >>> port = RulePack("port", subject=vessel)
    >>> with port, when(vessel.length >= 200 * metres):
    ...     require(wind.velocity <= 35 * knots)
    >>> port.check({"vessel": {"mmsi": 1, "length": 100.0}, "wind": {"velocity": 50.0}}).status
    'allowed'

    Raises:
        InvalidRule: Outside a pack, a constant condition, or a source that has no link to the subject.
        DimensionMismatch: ``condition`` is no condition.
    """
    block = current("when")
    term = admitted("when", condition, block, block.other)
    return Clause(block, f"when({text(term)})", partial(Conditional, term), when=term)


def otherwise() -> Clause:
    """Apply the statements of the `with` block where the condition of the `when` just before does not hold.

    Where that condition is unknown, so is its opposite.

    >>> from dsl import RulePack, Source
    >>> from dsl.units import metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, length=metres, draught=metres)
    >>> port = RulePack("port", subject=vessel)
    >>> with port:
    ...     with when(vessel.length >= 200 * metres):
    ...         require(vessel.draught <= 15 * metres)
    ...     with otherwise():
    ...         require(vessel.draught <= 10 * metres)
    >>> port.check({"vessel": {"mmsi": 1, "length": 100.0, "draught": 12.0}}).status
    'restricted'

    Raises:
        InvalidRule: Not directly after a `when` in the same block.
    """
    block = current("otherwise")
    if block.last_when is None:
        fix = [("fix", "write it right below the `with when(…):` block that it belongs to, in the same block")]
        summary = "otherwise: expected a `when` directly before it in this block but there is none"
        raise InvalidRule(refusal(summary, fix))
    return Clause(block, "otherwise()", partial(Conditional, opposite(block.last_when)))


def location(place: str | int) -> Clause:
    """Apply the statements of the `with` block to subjects whose location is ``place``.

    >>> from dsl import RulePack, Source
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, vessel_type=str, destination=str)
    >>> port = RulePack("port", subject=vessel, location=vessel.destination)
    >>> with port, location("wilhelminakade"):
    ...     require(vessel.vessel_type != "chemical")
    >>> port.check({"vessel": {"mmsi": 1, "vessel_type": "chemical", "destination": "elsewhere"}}).status
    'allowed'

    Args:
        place: The id of the location, of the type of the pack's ``location``.

    Raises:
        InvalidRule: Outside a pack, or the pack has no ``location``.
        DimensionMismatch: ``place`` is of another type than the pack's ``location``.
    """
    block = current("location")
    call = f"location({place!r})"
    if block.place is None:
        fix = [("fix", f"say what a subject's location is: RulePack({block.pack!r}, location=vessel.destination, …)")]
        raise InvalidRule(refusal(f"{call}: expected a pack with a location but {block.pack!r} has none", fix))
    id_ = lift(place)
    if not isinstance(id_, Constant) or not alike(id_.kind, block.place.kind):
        notes = [
            ("location", f"{text(block.place)} is {described(block.place.kind)}"),
            ("fix", "write the id as the rows have it"),
        ]
        raise DimensionMismatch(
            refusal(f"{call}: expected an id of {text(block.place)} but got {named(id_.kind)}", notes)
        )
    one: Any = id_.value  # as rules have it: a number of numpy is one of Python then
    return Clause(block, call, partial(Located, one, comparison("==", block.place, id_)))


def begin(pack: str, place: Term | None, admit: Admit) -> None:
    """Open the outermost block of a pack.

    Raises:
        InvalidRule: A pack is open already.
    """
    outer = _open.get()
    if outer is not None:
        fix = [("fix", "close one `with <pack>:` before the next; rules of two packs do not nest")]
        raise InvalidRule(refusal(f"with {pack}: expected no open pack but {outer.pack!r} is open", fix))
    _open.set(Block(pack, place, admit))


def end(failed: bool) -> tuple[Statement, ...]:
    """Close the outermost block, and return its statements; after an exception none.

    Raises:
        InvalidRule: Its last clause was made but not entered.
    """
    block = _open.get()
    _open.set(None)
    if failed or block is None:
        return ()
    block.settle()
    return tuple(block.statements)


def current(call: str) -> Block:
    """Return the innermost open block, in which ``call`` is written.

    Raises:
        InvalidRule: No pack is open.
    """
    block = _open.get()
    if block is None:
        fix = [("fix", f"with port: {call}(…)   # where port = RulePack(…)")]
        raise InvalidRule(refusal(f"{call}: expected to be called inside `with <pack>:` but no rule pack is open", fix))
    block.settle()
    return block


def _check_text(argument: str, given: object) -> None:
    if given is not None and not isinstance(given, str):
        got = f"{argument}={given!r} (type={type(given).__name__})"
        raise InvalidRule(refusal(f"require: expected a text but got {got}"))


def admitted(call: str, given: object, block: Block, other: Declaration | None) -> Term:
    """Return the condition that is the argument of ``call``, in a rule that compares the subject with ``other``.

    Raises:
        InvalidRule: It is none, or observes what its block may not.
        DimensionMismatch: It is a quantity, a text or a position.
    """
    if not isinstance(given, Expression):
        fix = [("fix", "compare an observation with a constant or another observation")]
        got = f"{given!r} (type={type(given).__name__})"
        raise InvalidRule(refusal(f"{call}: expected a condition over observations but got {got}", fix))
    term = condition(call, given.term)
    block.admit(term, other)
    return term
