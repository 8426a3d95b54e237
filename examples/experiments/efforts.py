"""How much an experiment measures: a look, what a report needs, or all that the paper measured."""

from __future__ import annotations

from enum import Enum


class Effort(Enum):
    """How long an experiment may take on two cores: ``quick`` seconds, ``normal`` a minute or two, ``full`` longer."""

    quick = 0
    normal = 1
    full = 2
