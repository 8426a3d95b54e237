"""Direct chains: a push whose result comes to a slot of another correlation, and so on, as one function calling others.

Each computes what follows from one result, and changes the state once all have; where there are several results, which
are one batch for who follows, the push is done as written.

Invariant: nothing has changed before all has been computed.

Source: DESIGN 4; SEMANTICS 1.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from cartesius.direct.direct_codes import DirectCode

if TYPE_CHECKING:
    from cartesius.direct.direct_shapes import Shape
    from cartesius.programs.steps import Steps


def code_of(shape: Shape, steps: Steps, lateness: int | None) -> DirectCode:
    """Return the code of a push, and of what follows from it."""
    return DirectCode(shape, steps, lateness, _following(shape.then, steps))


def _following(shape: Shape | None, steps: Steps) -> FollowingCode | None:
    return None if shape is None else FollowingCode(shape, steps, None, _following(shape.then, steps))


class FollowingCode(DirectCode):
    """The function of a slot that is bound to the results of another correlation, of which one has come.

    It is a generator: it gives what comes out of it, and changes the state when it is asked to go on.
    """

    name: ClassVar[str] = "follow"
    identity: ClassVar[str] = "identity"

    def _write(self) -> None:
        with self._lines.under("def follow(value, start, end, identity):"):
            self._lines.add("""
                if type(value) not in plain:
                    value = wrap(value)
                out = []
            """)
            self._find_out()
            self._lines.add("yield out")
            self._change()

    def _leave_if(self, condition: str, also: str) -> None:
        with self._lines.under(f"if {condition}:"):
            self._lines.add(f"yield out\n{also}\nreturn")
