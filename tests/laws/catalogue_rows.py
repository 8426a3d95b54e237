"""Rows for drawn programs: nulls, NaN, -0.0, ties of time, late events, intervals, deletions, numbers beyond 2**64,
keys that fall silent, and keys of which each is new.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

from pyspark.sql import types as t

from cartesius import Engine
from cartesius.batching.bodies import Body
from tests.laws.catalogue import START, Program
from tests.oracle.tier_programs import Row, fresh

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NAN = float("nan")
LONG, DOUBLE, TEXT, TRUTH = t.LongType(), t.DoubleType(), t.StringType(), t.BooleanType()
TYPED: list[tuple[t.DataType, list[Any]]] = [
    (LONG, [1, 1, 1, 0]),
    (LONG, [0, 1, 2, 1]),
    (LONG, [0, 1, None, 1]),
    (LONG, [0, 1, 2**53 + 1, 2**63 - 1]),
    (DOUBLE, [0.0, 1.0, -0.0, NAN]),
    (DOUBLE, [0.0, 1.0, 0.5, None]),
    (TRUTH, [True, False, True, None]),
]
FREE: list[list[Any]] = [
    [1, 1, 1, 0],
    [0, 1, 2, 1],
    [0, 1, 1.0, 0.5],
    [0.0, 1.0, -0.0, NAN],
    [0, 1, None, 1],
    [2**70, 1, -(2**70), 0],
    [True, False, 1, 0],
    [0, 1, 7, 1],
]
VALUES: list[tuple[t.DataType, list[Any]]] = [
    (TEXT, ["x", "y", "ä", "z"]),
    (TEXT, ["x", None, "", "y"]),
    (LONG, [2, 3, 5, 7]),
    (DOUBLE, [0.5, 1.5, NAN, -0.0]),
]
ODD_VALUES = [None, "x", 1.5, NAN, 2**70, (1, "y"), True, ""]
LEAST, MOST = 8, 32
ATTEMPTS = 2
"""How often a program gets other rows, as long as nothing comes of them."""
DEAREST = 3_000
"""How many combinations a program may ask its bodies of."""


def columns_of(program: Program) -> tuple[tuple[t.DataType, list[Any]], tuple[t.DataType, list[Any]]]:
    """Of typed rows, the types and the values of ``k`` and ``j``, and of ``v``."""
    draw = random.Random(f"columns {program.text}")
    return draw.choice(TYPED), draw.choice(VALUES)


def rows_of(program: Program, seed: str) -> list[Row]:
    """The rows that a program gets, in the order in which they come."""
    draw = random.Random(f"rows {seed}")
    (_, numbers), (_, values) = columns_of(program)
    if not program.is_typed:
        numbers, values = draw.choice(FREE), draw.choice([values, ODD_VALUES])
    key = draw.choice(["few", "few", "few", "ever new", "quiet"])
    is_ordered = draw.random() < 0.6
    has_intervals = not program.is_typed and draw.random() < 0.5
    base, now, found = START if program.is_typed else 0, 1, list[Row]()
    for n in range(draw.randint(LEAST, MOST)):
        reactive = draw.choice(program.inputs)
        now = now + draw.choice([0, 0, 0, 1, 1, 2]) if is_ordered else max(1, now + draw.randint(-3, 4))
        end = base + now * program.unit
        start = end - draw.choice([0, 0, 1, 3]) * program.unit if has_intervals else end
        value = {"n": n, "k": draw.choice(numbers), "j": draw.choice(numbers), "v": draw.choice(values)}
        if key == "ever new" and draw.random() < 0.7 and type(value["k"]) in (int, float):
            value["k"] = type(value["k"])(n // 2)
        elif key == "quiet" and n > 2:
            value["k"] = numbers[1]
        value = {name: fresh(one) for name, one in value.items()}
        if reactive.table:
            key_of_row = draw.choice([0, 0, 1, 2])
            row = {"id": key_of_row, **value}
            found.append(Row(reactive, row, (start, end), key_of_row, draw.random() < 0.25))
        else:
            found.append(Row(reactive, value, (start, end)))
    return found


class TooMany(BaseException):
    """A program makes so many combinations that nothing else would be tried."""


@contextmanager
def bounded() -> Iterator[None]:
    """Raise `TooMany` where a program asks its bodies too often."""
    evaluate, asked = Body.evaluate, Counter[str]()

    def counted(body: Body, parts: Any) -> Any:
        asked["bodies"] += 1
        if asked["bodies"] > DEAREST:
            raise TooMany
        return evaluate(body, parts)

    with mock.patch.object(Body, "evaluate", counted):  # before an engine binds it
        yield


def fruitful_rows(program: Program, seed: str) -> list[Row] | None:
    """Rows of which something comes; None if that takes more than a few tries, or if far too much does."""
    for attempt in range(ATTEMPTS):
        rows = rows_of(program, f"{seed}/{attempt}")
        try:
            with bounded():
                engine = Engine(*program.outputs, tier="in_place", **program.options)
                gives = [bool(engine.push(row.reactive, row.pushed, row.at)) for row in rows]
                if engine.close() or any(gives):
                    return rows
        except TooMany:
            return None
        except Exception:  # of any kind; who asked looks at what raises
            return rows
    return None


def text_of(rows: Sequence[Row]) -> str:
    """Rows as one can read them."""
    return "\n".join(f"push({row.reactive.name}, {row.pushed!r}, at={row.at})" for row in rows)
