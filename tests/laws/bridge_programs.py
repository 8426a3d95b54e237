"""Programs, frames and options for the bridge, decoded from bytes: those of tests/oracle, over columns that have types.

What they mean is what an engine in this process gives, fed row by row in the order that the bridge promises.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from itertools import cycle
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
from pyspark.sql import types as t

from cartesius import CartesiusError, Delete, Engine, Event, Reactive, Update, correlate
from cartesius.batching.world import World
from cartesius.core.engine_core import MICROSECOND
from cartesius.data.records import Record
from cartesius.errors import InvalidArgument
from cartesius.programs.failures import raised
from cartesius.programs.programs import Program
from restrictions import retracting
from restrictions.tables import changelog
from spark_bridge.columns.row_texts import value_text
from spark_bridge.columns.schemas import result_schema
from spark_bridge.reading.demands import check_reads
from spark_bridge.transport.dead_letters import kind_of_late
from spark_bridge.transport.emission import CHANGES, Emission
from spark_bridge.transport.packing import EARLIEST
from tests.laws.spark_model import Row, micros
from tests.oracle.tier_programs import FAMILIES, Case, Choices, case_of, fresh, used_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from spark_bridge.transport.emission import Layout

START = 1_700_000_000_000_000
FIELDS = ("n", "k", "j", "v")
NAN = float("nan")
LONG, DOUBLE, TEXT, TRUTH = t.LongType(), t.DoubleType(), t.StringType(), t.BooleanType()
NUMBERS: list[tuple[t.DataType, list[Any]]] = [
    (LONG, [0, 1, 2, 1]), (LONG, [0, 1, 2, 3]), (t.IntegerType(), [0, 1, 0, 1]), (LONG, [0, 1, None, 2]),
    (DOUBLE, [0.0, 1.0, -0.0, NAN]), (DOUBLE, [0.0, 1.0, 0.5, None]), (LONG, [0, 1, 2**53 + 1, 2**63 - 1]),
    (TRUTH, [True, False, True, None]), (t.ShortType(), [3, 1, 2, 0]),
]  # fmt: skip
VALUES: list[tuple[t.DataType, list[Any]]] = [
    (TEXT, ["x", "y", "ä", "z"]), (TEXT, ["x", None, "", "y"]), (LONG, [2, 3, 5, 7]), (DOUBLE, [0.5, 1.5, NAN, -0.0]),
    (t.ArrayType(LONG), [(1,), (1, 2), None, ()]), (t.BinaryType(), [b"\x00", b"", None, b"a"]),
]  # fmt: skip
INDEXES = [0, 1, 3, 6]
"""Where numbers are that rows may be spread by."""
TABLE = {"key": "id", "fields": FIELDS}
"""What a table declares here: the bridge wants to know its key."""


@attrs.frozen
class Drawn:
    """A program and the frames that it is run on."""

    case: Case
    outputs: tuple[Reactive, ...]
    given: Mapping[str, t.StructType]
    schemas: Mapping[str, t.StructType]
    rows: tuple[Row, ...]
    unit: int

    @property
    def inputs(self) -> dict[str, Reactive]:
        """The inputs that have frames."""
        return {one.name: one for one in used_inputs(self.case)}


def drawn_of(family: str, program: bytes, trace: bytes) -> Drawn | None:
    """The program and the rows that bytes stand for; None if restrictions refuse each other, or it can only raise."""
    case = case_of(family, program, unit=unit_of(trace), table=TABLE)
    drawn = None if case is None else drawn_from(case, trace)
    return None if drawn is None or _reads_nothing_yielded(drawn) else drawn


def _reads_nothing_yielded(drawn: Drawn) -> bool:
    """Whether a body reads a field that no correlation before it yields, or one of a number: the bridge refuses it."""
    try:
        check_reads(drawn.outputs, drawn.schemas, drawn.schemas)
    except InvalidArgument as refusal:
        if not re.search("to be yielded by the correlation before it|expected a record of which", str(refusal)):
            raise
        return True
    return False


def unit_of(trace: bytes) -> int:
    """How many microseconds a time unit of a trace has."""
    unit: int = Choices(trace).of([1_000, 1_000_000, 700])
    return unit


def drawn_from(case: Case, trace: bytes) -> Drawn:
    """The program with the rows that bytes stand for."""
    choices = Choices(trace)
    choices.byte()
    return _drawn(case, choices, unit_of(trace))


def together(seed: int, amount: int, fits: Callable[[Reactive], bool]) -> Drawn:
    """One program of several outputs, of all families and on the same inputs, each of which ``fits``."""
    draw, made, outputs = random.Random(seed), dict[str, Reactive](), list[Reactive]()
    families = cycle(FAMILIES)
    while len(outputs) < amount:
        case = case_of(next(families), draw.randbytes(24), unit=1_000_000, table=TABLE, made=made)
        outputs += [] if case is None else [output for output in case.outputs if fits(output)][-1:]
    case = Case("together", tuple(made.values()), tuple(outputs))
    places = [draw.randrange(len(INDEXES)), draw.randrange(256), 0]
    return _drawn(case, Choices(bytes([INDEXES[places[0]], *places[1:], *draw.randbytes(400)])), 1_000_000)


def _drawn(case: Case, choices: Choices, unit: int) -> Drawn:
    number, numbers = choices.of(NUMBERS)
    if case.kind == "window":  # a group of NaN is found by the identity of the object alone, which a snapshot ends
        numbers = [0.5 if one != one else one for one in numbers]  # noqa: PLR0124 - NaN
    value, values = choices.of(VALUES)
    columns = [("at", t.TimestampType()), ("n", LONG), ("k", number), ("j", number), ("v", value)]
    inputs = used_inputs(case)
    schemas = {one.name: _schema([*columns, *_of_table(one)]) for one in inputs}
    is_ordered = choices.often()
    rows, now, amount = [], 1, max(0, len(choices.data) - 4) // 4
    for n in range(amount):
        source, number_byte, time, more = choices.byte(), choices.byte(), choices.byte(), choices.byte()
        reactive = inputs[source % len(inputs)]
        now = now + time % 3 if is_ordered else 1 + time % 12
        row = {
            "n": n if time & 64 else n % 3,
            "k": numbers[number_byte % 4],
            "j": numbers[number_byte >> 2 & 3],
            "v": values[number_byte >> 4 & 3],
        }
        if reactive.table:
            row |= {"id": more % 3, "gone": more >> 4 & 3 == 3}
            if reactive.key == "k":  # one that is null is a dead letter
                row["k"] = next(one for one in (row["k"], *numbers) if one is not None)
        rows.append(Row(reactive.name, START + now * unit, row, n))
    fields = {one.name: _schema([field for field in columns if field[0] in FIELDS]) for one in inputs}
    is_one = len(case.outputs) == 1  # fields of one name have one type in all outputs
    outputs = tuple(telling(output, fields if is_one else {}, schemas, n) for n, output in enumerate(case.outputs))
    given = {name: _schema([("value", TEXT)]) for name in named(outputs) if name.startswith("told")}
    return Drawn(case, outputs, given, schemas, tuple(rows), unit)


def _schema(columns: Sequence[tuple[str, t.DataType]]) -> t.StructType:
    return t.StructType([t.StructField(name, kind) for name, kind in columns])


def _of_table(reactive: Reactive) -> list[tuple[str, t.DataType]]:
    """The columns that only the frame of a table has."""
    if not reactive.table:
        return []
    return [*([("id", LONG)] if reactive.key == "id" else []), ("gone", TRUTH)]


def named(outputs: Sequence[Reactive]) -> list[str]:
    """The names that outputs have in a program."""
    program = Program(outputs, World(MICROSECOND))
    program.drop()
    return [program.names[output] for output in outputs]


def telling(
    output: Reactive, fields: Mapping[str, t.StructType], schemas: Mapping[str, t.StructType], place: int
) -> Reactive:
    """The output itself if its columns can be told, else its values as text."""
    try:
        if not fields:
            raise InvalidArgument("no fields")
        result_schema(output, "out", fields, None, schemas)
    except InvalidArgument:
        stream = changelog(output) if output.table else output
        return correlate(slots={"value": stream}, yields=told, restrict=retracting(), name=f"told {place}")
    return output


def told(value: Any) -> str:
    """A value as text, type-exactly. Not traced."""
    if isinstance(value, Update | Delete):
        row = told(value.value) if isinstance(value, Update) else "gone"
        return f"{told(value.key)}: {row}"
    if isinstance(value, tuple):
        return f"({', '.join(map(told, value))},)"
    if isinstance(value, Record | dict):
        return f"{{{', '.join(f'{name}: {told(value[name])}' for name in value)}}}"
    return f"{type(value).__name__} {value!r}"


def pushed(reactive: Reactive, row: Row) -> Any:
    """What is pushed for a row."""
    value = {name: fresh(row.columns[name]) for name in reactive.fields or FIELDS}
    if not reactive.table:
        return Record(value)
    key = () if reactive.key is None else row.columns[str(reactive.key)]
    return Delete(key, Record(value)) if row.columns["gone"] else Update(key, Record(value))


def in_order(rows: Sequence[Row], inputs: Mapping[str, Reactive], *, by_place: bool) -> list[Row]:
    """Rows in the order of use that the bridge documents: sequence, event time, place of the source, values."""
    sources = list(inputs)

    def rank(row: Row) -> tuple[Any, ...]:
        carried = [*(inputs[row.source].fields or FIELDS), *(name for name, _ in _of_table(inputs[row.source]))]
        values = tuple(_rank(row.columns[name]) for name in carried)
        return (row.sequence if by_place else 0, row.at, sources.index(row.source), values)

    return sorted(rows, key=rank)


def _rank(value: Any) -> tuple[Any, ...]:
    """Null last; -0.0 before 0.0; NaN after all numbers; an array by its text."""
    if value is None:
        return (1,)
    if isinstance(value, float):
        is_nan = math.isnan(value)
        return (0, is_nan, 0.0 if is_nan else value, math.copysign(1, value))
    if isinstance(value, tuple):
        return (0, repr(list(value)))
    return (0, value)


Unused: TypeAlias = tuple[str, str, str, str, int | None]
"""What was not used: dead or late, why and at which slot, which rows or derived events, what these were, and when."""


def in_process(
    drawn: Drawn, rows: Sequence[Row], *, lateness: int | None, clock: int | None, close: bool
) -> tuple[list[Any], Counter[Unused]]:
    """What an engine in this process gives, and what it does not use."""
    engine = Engine(*drawn.outputs, lateness=lateness)
    found, unused = [], Counter[Unused]()
    for row in rows:
        reactive = drawn.inputs[row.source]
        try:
            found += engine.push(reactive, pushed(reactive, row), at=row.at)
        except Exception as error:  # a body of the program's: the push is undone
            if isinstance(error, CartesiusError) and not isinstance(error, InvalidArgument):
                raise
            unused["dead", raised(error, engine.take_failure()), row.source, "", _told(row.at)] += 1
    if clock is not None and clock > engine.clock:
        found += engine.advance(clock)
    found += engine.close() if close else []
    for event, slot, why in engine.late:
        reason = why if slot == event.reactive else f"{why} (at {slot})"
        text = "" if event.reactive in drawn.inputs else value_text(event.value)
        unused[kind_of_late(why), reason, event.reactive, text, _told(event.end)] += 1
    return found, unused


def _told(time: Any) -> int | None:
    """When, as letters say it: not where it is before all time, or has no end."""
    return time if isinstance(time, int) and time >= EARLIEST else None


def set_aside_of(letters: Sequence[Mapping[str, Any]], inputs: Collection[str]) -> Counter[Unused]:
    """What the bridge does not use, in the same words."""
    found = Counter[Unused]()
    for letter in letters:
        text = "" if letter["source"] in inputs else letter["payload"]
        at = None if letter["at"] is None else micros(letter["at"])
        found[letter["kind"], letter["reason"], letter["source"], text, at] += 1
    return found


def as_rows(events: Sequence[Any], layout: Layout) -> list[dict[str, Any]]:
    """Events as the rows that they are in a frame of results."""
    out = Emission(layout, frozenset())
    out.add(events)
    return [
        row | {"output": layout.names[place], "change": CHANGES[row["change"]]}
        for place, part in out.parts()
        for row in part.to_pylist()
    ]


def fitting(events: Sequence[Event], layout: Layout, unused: Counter[Unused]) -> list[Event]:
    """Results that fit their columns; the others, a sum that is too large, say, are added to what was not used."""
    try:
        as_rows(events, layout)
    except InvalidArgument:
        found = []
    else:
        return list(events)
    for event in events:
        try:
            as_rows([event], layout)
        except InvalidArgument as error:
            said = str(error).partition(", or say on_error=")[0]  # the rest is for who lets the query fail
            unused["dead", said, event.reactive, value_text(event.value), _told(event.end)] += 1
        else:
            found.append(event)
    return found


def by_output(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """What each output gave: change, key, start, end, value."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        times = [None if row[name] is None or row[name] < EARLIEST else row[name] for name in ("start", "end")]
        item = (row["change"], repr(row["key"]), *times, repr(row["value"]))
        found.setdefault(row["output"], []).append(item)
    return found
