"""What numbers the commands of this folder take: such as can be measured, and no others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from click import Context, Parameter

MANY: Final = 1_000_000_000
COUNT: Final = click.IntRange(1, MANY)
"""How many of something."""
REPETITIONS: Final = click.IntRange(1, 1_000)
PROCESSES: Final = click.IntRange(1, 256)
"""How many processes, cores or pages at once."""
SEED: Final = click.IntRange(0, 2**32 - 1)


class Above0(click.FloatRange):
    """A number above 0, and at most another one; click lets through what is not a number."""

    def __init__(self, most: float = MANY) -> None:
        super().__init__(0, most, min_open=True)

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number
