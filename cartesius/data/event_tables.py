"""How values, events and rows are shown to people: in a few words as labels, and as tables of HTML in notebooks."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from cartesius.data.events import Delete, Event, Update
from cartesius.data.records import Record, fields_of
from cartesius.drawing.html_tables import panel, table
from cartesius.drawing.marble_diagrams import plain_time
from cartesius.errors import as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


_MOST_FIELDS = 24
_LONGEST, _DEEPEST = 200, 20  # of a label: characters, and how deep it looks into a value
_DELETED = "(deleted)"


def label_of(value: Any) -> str:
    """Return a value in a few words, as below a marble: of a record the values of its fields.

    >>> label_of(Record({"ship": "EVA", "cell": 7})), label_of((1, "x")), label_of(Update("EVA", 9.5)), label_of("tide")
    ('EVA, 7', '1, x', 'EVA: 9.5', 'tide')
    """
    label = "".join(islice(_pieces(value, _DEEPEST), 2 * _LONGEST + 2))  # of two, one is not empty
    return label if len(label) <= _LONGEST else f"{label[:_LONGEST]}…"


def _pieces(value: Any, depth: int) -> Iterator[str]:
    """Iterate over the pieces of a label."""
    fields = _fields(value)
    if not depth:
        yield "…"
    elif fields is not None or isinstance(value, tuple | list):
        for number, part in enumerate(value if fields is None else fields.values()):
            yield from [", "] * (number > 0)
            yield from _pieces(part, depth - 1)
    elif isinstance(value, Update):
        yield from _pieces(value.key, depth - 1)
        yield ": "
        yield from _pieces(value.value, depth - 1)
    elif isinstance(value, Delete):
        yield from _pieces(value.key, depth - 1)
        yield f" {_DELETED}"
    else:
        yield as_text(value, str)


def events_html(events: Sequence[Event]) -> str:
    """Return the HTML of a table of events, in order: where all have the same fields, a column for each."""
    names = {event.reactive for event in events}
    headings = ["reactive", "time"] if len(names) > 1 or names != {""} else ["time"]
    columns, cells = _in_columns([event.value for event in events])
    rows = [
        [
            *([event.reactive] if len(headings) == 2 else []),
            plain_time(event.start) + (f" to {plain_time(event.end)}" if event.end != event.start else ""),
            *found,
            *(["taken back"] if event.weight < 0 else []),
        ]
        for event, found in zip(events, cells, strict=True)
    ]
    return panel(table([*headings, *columns, *([""] * any(event.weight < 0 for event in events))], rows))


def record_html(record: Record) -> str:
    """Return the HTML of a table of the fields of a record."""
    return panel(table((), [(str(name), _plain(value)) for name, value in fields_of(record).items()]))


def rows_html(rows: Mapping[Any, Any]) -> str:
    """Return the HTML of the rows of a table, by key."""
    columns, cells = _in_columns(list(rows.values()))
    return panel(table(["key", *columns], [[_plain(key), *found] for key, found in zip(rows, cells, strict=True)]))


def records_html(names: Sequence[str], rows: Iterable[Iterable[Any]], total: int) -> str:
    """Return the HTML of a table of rows with these headings, of which the first of ``total`` are given."""
    return panel(table(names, [list(map(_plain, row)) for row in rows], total=total))


def _in_columns(values: Sequence[Any]) -> tuple[list[str], list[list[Any]]]:
    """Return the headings and the cells of values: a column for each field, if all have the same few fields."""
    changes = all(isinstance(value, Update | Delete) for value in values) and bool(values)
    rows = [value.value if isinstance(value, Update) else value for value in values]
    kept = [row for row in rows if not isinstance(row, Delete)]
    fields = [_fields(row) for row in kept]
    names = list(fields[0]) if fields and fields[0] is not None else []
    are_alike = 0 < len(names) <= _MOST_FIELDS and all(one is not None and list(one) == names for one in fields)
    if not are_alike:
        names = ["value"]
    found = []
    for value, row in zip(values, rows, strict=True):
        if changes and isinstance(row, Delete):
            cells = [_DELETED, *[None] * (len(names) - 1)]
        elif are_alike:
            cells = [_plain(one) for one in (_fields(row) or {}).values()]
        else:
            cells = [_plain(row)]
        found.append([*([_plain(value.key)] if changes else []), *cells])
    return [*(["key"] if changes else []), *map(str, names)], found


def _fields(value: Any) -> dict[str, Any] | None:
    """Return the fields of a record, or of a mapping whose keys are names."""
    if isinstance(value, Record):
        return fields_of(value)
    return value if type(value) is dict and value and all(isinstance(key, str) for key in value) else None


def _plain(value: Any) -> Any:
    """Return a value for a cell: texts as they are, records without the name of their class, and null as such."""
    if isinstance(value, Record):
        return as_text(fields_of(value))
    return "null" if value is None else value
