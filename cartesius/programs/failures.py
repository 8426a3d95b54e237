"""Failures: where in a program something raised, whether a deadline was due, and if it is for an event that was pushed.

What a body raises leaves the engine as it is, with notes for a reader. What a program has to know about it is here: who
runs an engine for others must not blame an event for a deadline that fell due before it.

Invariant: it says what the error is about, not what it is; the error, and what it holds alive, is not kept.

Source: SEMANTICS 1.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cartesius.batching.world import Failure
from cartesius.errors import (
    CartesiusError,
    InvalidArgument,
    NotStorable,
    add_note,
    as_text,
    block,
    places_of,
    shortened,
)
from cartesius.expressions.expressions import Apply, Expression, show

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from cartesius.batching.deadlines import Deadline
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.language.lenience import RowPolicy
    from cartesius.language.patterns import Body, Pattern
    from cartesius.programs.programs import Program

_LONGEST: Final = 300
"""Characters of a condition, or of what is yielded."""


def failure_in(program: Program, join: Join, deadline: int | None) -> Failure:
    """Return that a correlation has raised."""
    return Failure(join.name, pattern_text(join.pattern), tuple(_outputs_of(program, join)), deadline)


def pattern_text(pattern: Pattern) -> str:
    """Return the body of a pattern as a line, what is long shortened.

    >>> from cartesius import Reactive, correlate
    >>> pairs = correlate(x=Reactive("x"), where=lambda x: x.n > 0, yields=lambda x: 1 / x.n)
    >>> pattern_text(pairs.pattern)
    'where (x.n > 0) yields (1 / x.n)'
    """
    where = "" if pattern.where is None else f"where {_text(pattern.where)} "
    return f"{where}yields {_text(pattern.yields)}"


def _text(body: Body) -> str:
    if isinstance(body, Apply) and hasattr(body.function, "in_columns"):  # its repr is a pack of rules
        found = f"{body.name}({', '.join(map(show, body.arguments))})"
    elif isinstance(body, Expression):
        found = show(body)
    else:
        found = str(getattr(body, "__qualname__", body))
    return shortened(found, _LONGEST)


def _outputs_of(program: Program, join: Join) -> Iterable[str]:
    """Yield the outputs that are made from a correlation, in their order."""
    made = set(join.reactives)
    for other in program.joins:  # in topological order
        if any(slot.reactive in made for slot in other.slots):
            made.update(other.reactives)
    return (program.names[output] for output in program.outputs if output in made)


def is_broken(error: Exception) -> bool:
    """Whether the program or the engine is broken, whatever comes."""
    return isinstance(error, CartesiusError) and not isinstance(error, InvalidArgument | NotStorable)


def can_be_set_aside(error: Exception, failure: Failure | None, policy: RowPolicy) -> bool:
    """Whether who pushes the rows of others may go on without the one on which a push has raised.

    Not if a deadline raised, which fell due before the row was looked at. What is refused is set aside by each policy.

    >>> can_be_set_aside(ValueError("no"), None, "fail")
    True
    """
    if is_broken(error) or (failure is not None and failure.deadline is not None):
        return False
    return failure is None or isinstance(error, CartesiusError) or policy == "dead_letter"


def raised(error: Exception, failure: Failure | None) -> str:
    """Return the reason of a row on which the program raised, or which it refused: the error, and the rule.

    >>> raised(ValueError("no"), None)
    'the program raised ValueError: no'
    """
    return f"the program raised {told(error)}{place_of(error, failure)}"


def told(error: Exception) -> str:
    """Return the type and the words of an error, which may be long."""
    return f"{type(error).__name__}: {shortened(as_text(error, str))}"


def place_of(error: Exception, failure: Failure | None) -> str:
    """Return, in parentheses, where in a program an error was raised; nothing if it was refused before it began."""
    if failure is None:
        return ""
    own = f"in the body of {failure.correlation}"
    places = [place for place in places_of(error) if place != own]
    return f" ({', '.join([*places, f'in {failure.correlation!r}: {failure.pattern}'])})"


@block
def noted(due: Deadline[Installed]) -> Generator[None]:
    """Note of what is raised that it was for a deadline."""
    deadline, _, _, installed, key = due
    try:
        yield
    except Exception as error:
        under = f" under the key {key}" if key else ""
        add_note(error, f"while a deadline of {installed.restriction!r}{under} was due, at {deadline}")
        raise
