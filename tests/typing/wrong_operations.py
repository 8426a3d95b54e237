"""What mypy must refuse, line by line: payloads that do not fit, and what is done with results."""

from __future__ import annotations

from cartesius import Implicit, Operation
from cartesius.effects.strands import Future, await_

length: Operation[[str], int] = Operation("length")
move: Operation[[str, float], None] = Operation("move")
depth = Implicit("depth", default=0)
tide: Future[int] = Future("tide")


def performing() -> None:
    length(3)  # E: incompatible type "int"; expected "str"
    length()  # E: Too few arguments
    length("a", "b")  # E: Too many arguments
    length("a").upper()  # E: "int" has no attribute "upper"
    move("north", "far")  # E: incompatible type "str"; expected "float"

    with depth.bound_to("deep"):  # E: incompatible type "str"; expected "int"
        depth().upper()  # E: "int" has no attribute "upper"

    tide.resolve("high")  # E: incompatible type "str"; expected "int"
    Future(3)  # E: incompatible type "int"; expected "str | None"
    await_(3)  # E: incompatible type "int"; expected "Future[Any]"
