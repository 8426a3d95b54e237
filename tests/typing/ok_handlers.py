"""What must pass `mypy --strict`, and the types that it must find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_type

from cartesius import Handler, Implicit, Operation, Restriction, Slot, Slots, controls, forward, handle, handles, push
from cartesius.effects.handlers import Composed
from cartesius.effects.strands import Future, await_

if TYPE_CHECKING:
    from cartesius.effects.resumptions import Resumption

length: Operation[[str], int] = Operation("length")
move: Operation[[str, float], None] = Operation("move")
now: Operation[[], int] = Operation("now")
many: Operation[[int, int, int], int] = Operation("many")
unannotated = Operation("unannotated")
depth = Implicit("depth", default=0)


def performing() -> None:
    # Performing has the operation's own signature.
    assert_type(length("ahoy"), int)
    assert_type(now(), int)
    assert_type(depth(), int)
    assert_type(unannotated(1, "two"), Any)


class plain(Handler):
    """Nothing is said of the computation inside, nor of the answer."""

    @handles(length)
    def measure(self, words: str) -> int:
        return len(words)

    @handles(length)
    def measure_anything(self, words: object) -> bool:  # takes more, and returns less
        return bool(words)

    @handles(unannotated)
    def anything(self, n: int, words: str) -> str:
        return words * n

    @handles(now)
    @handles(depth)
    def zero(self) -> int:
        return 0


class passing_on(Handler):
    performs = (length, depth)

    @handles(move)
    def on(self, where: str, far: float) -> None:
        forward(where, far * length(where))


class stopping(Handler[int, str]):
    """From a computation that returns an int, an answer that is a str."""

    @controls(now)
    def stop(self, resume: Resumption[int, str]) -> str:
        return resume(3) + "!"

    @controls(length)
    def tail(self, words: str, resume: Resumption[int, str]) -> str:
        return resume.tail(len(words))

    @controls(move)
    def give_up(self, where: str, far: float, resume: Resumption[None, str]) -> str:
        return where if far > 1 else resume()

    @controls(many)
    def unchecked(self, a: int, b: int, c: int, resume: Resumption) -> str:
        return "stopped"

    @controls(unannotated)
    def plainly(self, resume: Resumption) -> str:
        return str(resume(1))

    def returns(self, result: int) -> str:
        return str(result)


class listing(Handler[str, list[str]]):
    def returns(self, result: str) -> list[str]:
        return [result]


def answers() -> None:
    # The answer of `handle` follows from the handler.
    assert_type(handle(stopping(), lambda: length("ahoy") + 1), str)
    assert_type(handle(listing(), lambda: "ahoy"), list[str])
    assert_type(handle(plain(), lambda: 1), Any)

    # In a composition the answer of the right one is the result inside the left one.
    assert_type(listing() | stopping(), Handler[int, list[str]])
    assert_type(handle(listing() | stopping(), lambda: 1), list[str])
    assert_type(handle(listing() | plain() | stopping(), lambda: 1), list[str])
    assert_type(handle(listing() | Handler(), lambda: "ahoy"), list[str])
    assert_type(handle(Composed((listing(), stopping())), lambda: 1), Any)

    # A clause is still a method.
    assert_type(plain().measure("ahoy"), int)


class newest(Restriction):
    """Families take the names of fields, and leave the clause as it is."""

    slots: Slots

    @handles(push, "slots")
    def replace(self, slot: Slot, entry: object) -> None:
        forward(slot, entry)

    @controls(push, "slots")
    def stop(self, slot: Slot, entry: object, resume: Resumption) -> None:
        resume(forward(slot, entry))


def waiting(tide: Future[int]) -> None:
    assert_type(tide.value, int)
    assert_type(await_(tide), Any)
    Future[str]("left").resolve("high")
