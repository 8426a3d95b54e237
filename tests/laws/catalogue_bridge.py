"""Drawn programs on the bridge, with its model of Spark: what one engine gives, wherever it accepts the program."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t

from cartesius.errors import InvalidArgument, OrderMismatch
from tests.laws.bridge_programs import Drawn, named, telling
from tests.laws.catalogue_rows import LONG, TEXT, TRUTH, columns_of
from tests.laws.spark_model import Row as FrameRow
from tests.laws.test_bridge import MODES, Trial, checked
from tests.oracle.tier_programs import Case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius import Reactive
    from tests.laws.catalogue import Program
    from tests.oracle.tier_programs import Row


def run_on_bridge(program: Program, rows: Sequence[Row], seed: str, among: Sequence[int]) -> int:
    """Run a program in micro-batches or in one batch; return in how many buckets, 0 where the bridge declines it.

    Most programs can only be run in one, whatever ``among`` says.
    """
    draw = random.Random(f"bridge {seed}")
    mode, buckets = draw.choice(MODES), draw.choice(among)
    try:
        drawn = _drawn(program, rows)
        trial = Trial(drawn, mode, draw, is_derived=True, buckets=buckets)
    except (InvalidArgument, OrderMismatch):  # also where changes of what comes in any order would be told as text
        return 0
    try:
        checked(trial)
    except AssertionError:
        raise
    except Exception:
        if _is_raised_in_process(trial):
            return int(trial.plan.count)
        raise
    return int(trial.plan.count)


def _is_raised_in_process(trial: Any) -> bool:
    """Whether an engine in this process fails as well, where no row can be set aside for it."""
    try:
        trial.expected(2**62)
    except Exception:
        return True
    return False


def _drawn(program: Program, rows: Sequence[Row]) -> Drawn:
    (number, _), (value, _) = columns_of(program)
    fields = [("n", LONG), ("k", number), ("j", number), ("v", value)]
    columns = {one: _columns(one, fields) for one in program.inputs}
    schemas = {one.name: _schema([("at", t.TimestampType()), *columns[one]]) for one in program.inputs}
    own = {one.name: _schema([field for field in columns[one] if field[0] != "gone"]) for one in program.inputs}
    outputs = tuple(telling(output, own, schemas, place) for place, output in enumerate(program.outputs))
    given = {name: _schema([("value", TEXT)]) for name in named(outputs) if name.startswith("told")}
    frame_rows = tuple(
        FrameRow(row.reactive.name, row.at[1], row.value | ({"gone": row.is_deletion} if row.reactive.table else {}), n)
        for n, row in enumerate(rows)
    )
    return Drawn(Case("catalogue", program.inputs, program.outputs), outputs, given, schemas, frame_rows, program.unit)


def _columns(reactive: Reactive, fields: list[tuple[str, t.DataType]]) -> list[tuple[str, t.DataType]]:
    return [("id", LONG), *fields, ("gone", TRUTH)] if reactive.table else fields


def _schema(fields: Sequence[tuple[str, t.DataType]]) -> t.StructType:
    return t.StructType([t.StructField(name, kind) for name, kind in fields])
