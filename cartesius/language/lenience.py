"""Lenience: what raises counts as unknown, in programs whose functions can say that they do not know.

A function that judges, as a pack of rules does, may have an answer beside yes and no. Such a function says how it is
where what raises is unknown (`Lenient`), and an engine with ``on_error="unknown"`` asks that one. Any other function
has no such answer, and raises as ever.

Invariant: where nothing raises, the lenient function gives what the other one gives; so an engine's state is the same.

Source: S. C. Kleene, Introduction to Metamathematics, 1952, § 64; issue 8 (a rule that raises).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Apply, Tuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius.language.reactives import Reactive

OnError: TypeAlias = Literal["fail", "unknown"]
"""What becomes of a rule that raises: the push fails, or the rule is undecided."""
RowPolicy: TypeAlias = Literal["fail", "dead_letter", "unknown"]
"""Likewise where rows of others are pushed; one on which the program raises may be set aside, too."""


@runtime_checkable
class Lenient(Protocol):
    """A function, or what a restriction is given, that can say that it does not know."""

    def leniently(self) -> Any:
        """Return the one for which what raises is unknown."""


def checked_on_error(on_error: Any, call: str) -> OnError:
    """Return what ``call`` is to do where a rule raises; raise `InvalidArgument` if it cannot.

    >>> checked_on_error("unknown", "Engine")
    'unknown'
    """
    if on_error in ("fail", "unknown"):
        found: OnError = on_error
        return found
    message = f'{call}: expected on_error="fail" or on_error="unknown" but got {on_error=!r}'
    raise InvalidArgument(message)


def checked_policy(on_error: Any, outputs: Iterable[Reactive], call: str) -> RowPolicy:
    """Return what becomes of a row on which the program raises; raise `InvalidArgument` if ``call`` cannot do it.

    >>> checked_policy("dead_letter", [], "run_stream")
    'dead_letter'
    """
    if on_error in get_args(RowPolicy):
        found: RowPolicy = on_error
        if found == "unknown":
            check_lenient(outputs, call)
        return found
    names = ", ".join(f'"{name}"' for name in get_args(RowPolicy))
    message = f"{call}: expected on_error= to be one of {names} but got {on_error=!r}"
    raise InvalidArgument(message)


def for_engines(policy: RowPolicy) -> OnError:
    """Return what an engine does where a rule raises; what it raises is set aside by who pushes."""
    return "unknown" if policy == "unknown" else "fail"


def lenient(value: Any) -> Any:
    """Return a body, or what configures a restriction, with its functions lenient, as far as they can be.

    >>> from cartesius.expressions.expressions import Constant
    >>> lenient(Constant(3))
    Constant(value=3)
    """
    match value:
        case Apply(function=function, arguments=arguments, name=name):
            return Apply(lenient(function), tuple(map(lenient, arguments)), name)
        case Tuple(items=items):
            return Tuple(tuple(map(lenient, items)))
    # What is asked for is the method of an object: a class that has one is a function like any other.
    return value.leniently() if isinstance(value, Lenient) and not isinstance(value, type) else value


def check_lenient(outputs: Iterable[Reactive], call: str) -> None:
    """Raise `InvalidArgument` if an output is made without a function that can say that it does not know."""
    for output in outputs:
        if not _is_lenient(output):
            message = (
                f'{call}: expected tables of packs of rules with on_error="unknown" but {output.name!r} is made of'
                " none: a pack can say that it does not know, any other body either yields something or nothing;"
                " choose another policy"
            )
            raise InvalidArgument(message)


def _is_lenient(reactive: Reactive) -> bool:
    pattern = reactive.pattern
    if pattern is None:
        return False
    own = isinstance(pattern.yields, Apply) and isinstance(pattern.yields.function, Lenient)
    return own or any(_is_lenient(source) for source in pattern.slots.values())
