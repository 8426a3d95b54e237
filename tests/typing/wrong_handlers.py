"""What mypy must refuse, line by line: clauses that do not fit their operation, and handlers that do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius import Handler, Operation, controls, handle, handles

if TYPE_CHECKING:
    from cartesius.effects.resumptions import Resumption

length: Operation[[str], int] = Operation("length")
move: Operation[[str, float], None] = Operation("move")
now: Operation[[], int] = Operation("now")


class fun(Handler):
    @handles(length)  # E: expected "Callable[[fun, str], int]"
    def wrong_payload(self, words: int) -> int:
        return words

    @handles(length)  # E: expected "Callable[[fun, str], int]"
    def wrong_result(self, words: str) -> str:
        return words

    @handles(length)  # E: expected "Callable[[fun, str], int]"
    def too_few(self) -> int:
        return 0

    @handles(length)  # E: expected "Callable[[fun, str], int]"
    def too_many(self, words: str, more: str) -> int:
        return 0

    @handles(length, "slots")  # E: No overload variant of "handles"
    def fields_of_no_family(self, words: str) -> int:
        return 0


if TYPE_CHECKING:  # where it runs it is refused at once

    class of_nothing(Handler):
        @handles(3)  # E: No overload variant of "handles"
        def no_operation(self) -> int:
            return 0


class ctl(Handler):
    @controls(length)  # E: expected "Callable[[ctl, str, Resumption[int, str]], str]"
    def wrong_payload(self, words: int, resume: Resumption[int, str]) -> str:
        return ""

    @controls(length)  # E: expected "Callable[[ctl, str, Resumption[int, str]], str]"
    def no_resume(self, words: str) -> str:
        return words

    @controls(length)  # E: expected "Callable[[ctl, str, Resumption[int, str]], str]"
    def resume_of_another(self, words: str, resume: Resumption[str, str]) -> str:
        return resume(words)

    @controls(length)  # E: Cannot infer function type argument
    def answer_of_another(self, words: str, resume: Resumption[int, int]) -> str:
        return words

    @controls(move)  # E: expected "Callable[[ctl, str, float, Resumption[None, str]], str]"
    def too_few(self, where: str, resume: Resumption[None, str]) -> str:
        return resume()

    @controls(now)
    def wrong_value(self, resume: Resumption[int, str]) -> str:
        return resume("now")  # E: incompatible type "str"; expected "int"

    @controls(now)
    def no_value(self, resume: Resumption[int, str]) -> str:
        return resume.tail()  # E: Missing positional argument "value"


class listing(Handler[int, list[int]]):
    def returns(self, result: int) -> list[int]:
        return [result]


class showing(Handler[list[int], str]):
    def returns(self, result: str) -> str:  # E: incompatible with supertype
        return result


def answers() -> None:
    handle(listing(), lambda: "ahoy")  # E: expected "int"
    handle(listing(), lambda: 1).upper()  # E: "list[int]" has no attribute "upper"
    listing() | showing()  # E: Unsupported operand types for |
    handle(listing, lambda: 1)  # E: incompatible type "type[listing]"
