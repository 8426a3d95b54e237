"""Pictures of programs and of what they did, as SVG: for notebooks, which draw them, for pages and for files.

``%load_ext cartesius.pictures`` lets a notebook show lists of events, rows of tables and Arrow tables; other values
know by themselves how they are shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cartesius.analysis.sequence_automata import automaton_of
from cartesius.core.engine_core import MICROSECOND
from cartesius.data.calendars import Calendar
from cartesius.data.event_tables import events_html, label_of, records_html, rows_html
from cartesius.data.events import Event
from cartesius.data.records import Record
from cartesius.drawing.html_tables import MOST_ROWS, drawing
from cartesius.drawing.marble_diagrams import Lane, Marble, marble_svg, plain_time
from cartesius.engines.engine import Engine
from cartesius.errors import InvalidArgument
from cartesius.language.reactives import check_reactive

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.language.reactives import Reactive

__all__ = ["automaton", "load_ipython_extension", "marble_diagram"]


def marble_diagram(
    source: Engine | Iterable[Event],
    *,
    title: str = "Marble diagram",
    show_time: Callable[[Any], str] = plain_time,
) -> str:
    """Draw events over time, a lane for each reactive, as the text of an SVG. A notebook shows the picture.

    Of an engine with ``trace=True`` all that has come and all that came of it is drawn, with lines from each result to
    the events that it is made of. Circles are inputs, squares results; a bar goes from an event's start to its end.

    >>> from cartesius import Engine, Reactive
    >>> from cartesius.pictures import marble_diagram
    >>> from restrictions import zip_
    >>> left, right = Reactive("left"), Reactive("right")
    >>> engine = Engine(zip_(left, right), trace=True)
    >>> _ = engine.push(left, "a", at=1), engine.push(right, "b", at=3)
    >>> picture = marble_diagram(engine)
    >>> picture.count("<circle"), picture.count("<rect")
    (2, 1)

    Args:
        source: An engine that records, or events.
        title: What it is called, for who cannot see it.
        show_time: Writes a time below the axis, which is a datetime if times came so; by default as a number, or that.

    Raises:
        InvalidArgument: An engine without ``trace=True``, or something else; no text as title, or of a time.
    """
    if not isinstance(title, str) or not callable(show_time):
        message = f"marble_diagram: expected a text and a function but got title={title!r} and show_time={show_time!r}"
        raise InvalidArgument(message)
    if isinstance(source, Engine):
        recorded = source._recorded("marble_diagram")
        lanes, calendar = recorded.lanes(names=source.inputs), recorded.calendar
    elif not isinstance(source, Iterable):
        message = f"marble_diagram: expected an engine, or events, but got {source!r} (type={type(source).__name__})"
        raise InvalidArgument(message)
    else:
        calendar = Calendar(MICROSECOND)
        lanes = _lanes(source, calendar)

    def time_text(time: float) -> str:
        text = show_time(calendar.time(time))
        if not isinstance(text, str):
            message = f"marble_diagram: expected a text of show_time but got {text!r}; write show_time=str"
            raise InvalidArgument(message)
        return text

    return drawing(marble_svg(lanes, title=title, time_text=time_text))


def _lanes(events: Iterable[Event], calendar: Calendar) -> list[Lane]:
    found: dict[str, list[Marble]] = {}
    for event in events:
        if not isinstance(event, Event):
            message = (
                f"marble_diagram: expected an engine, or events, but got {event!r} (type={type(event).__name__}); give"
                " what push and advance return"
            )
            raise InvalidArgument(message)
        (start, end), calendar.is_dated = calendar.units((event.start, event.end), "marble_diagram")
        marble = Marble(label_of(event.value), start, end, is_taken_back=event.weight < 0)
        found.setdefault(event.reactive or "events", []).append(marble)
    return [Lane(name, marbles) for name, marbles in found.items()]


def automaton(output: Reactive) -> str:
    """Draw what a correlation waits for, as the text of an SVG. A notebook shows the picture.

    A state is the variables that are bound, an arrow the event that is the next part, with the conditions on it. Dashed
    arrows are what must not come, or does not, and time.

    >>> from cartesius import Reactive, correlate
    >>> from cartesius.pictures import automaton
    >>> from restrictions import in_sequence, within
    >>> start, end = Reactive("start"), Reactive("end")
    >>> stay = correlate(
    ...     start=start,
    ...     end=end,
    ...     yields=lambda start, end: (start, end),
    ...     restrict=in_sequence("start", "end") | within(60, "start", "end"),
    ... )
    >>> "within 60" in automaton(stay)
    True

    Args:
        output: What `correlate` returned.

    Raises:
        InvalidArgument: No correlation, or one of which more than 16 sets of variables may be bound, or more than three
            of one size.

    Source:
        Agrawal et al., SIGMOD 2008 (SASE+).
    """
    if check_reactive(output, "automaton", "output").pattern is None:
        message = f"automaton: expected what correlate returns but got {output!r}, an input"
        raise InvalidArgument(message)
    engine = Engine(output)
    return drawing(automaton_of(engine._program.join_of[output]))


def load_ipython_extension(shell: Any) -> None:
    """Let a notebook show results as tables: ``%load_ext cartesius.pictures``.

    These are lists of events, what `Engine.query` returns, lists of records of the same fields, and Arrow tables, as
    `Engine.push_many` returns them. Other lists and dicts are shown as they were.

    Args:
        shell: The shell of IPython, which calls this.
    """
    formatter = shell.display_formatter.formatters["text/html"]
    formatter.for_type(list, _list_html)
    formatter.for_type(dict, _dict_html)
    formatter.for_type_by_name("pyarrow.lib", "Table", _arrow_html)


def _list_html(value: list[Any]) -> str | None:
    if value and all(isinstance(one, Event) for one in value):
        return events_html(value)
    names = _names(value[0]) if len(value) > 1 else None
    if not names or any(_names(one) != names for one in value):
        return None
    return records_html(names, ([one[name] for name in names] for one in value[:MOST_ROWS]), len(value))


def _names(value: Any) -> list[str] | None:
    """Return the names of the fields of a record, or of a dict whose keys are names."""
    are_names = isinstance(value, Record | dict) and all(isinstance(name, str) for name in value)
    return [*value] if are_names else None


def _dict_html(value: dict[Any, Any]) -> str | None:
    return rows_html(value) if value and all(isinstance(one, Record | dict) for one in value.values()) else None


def _arrow_html(value: Any) -> str:
    columns = [column.to_pylist() for column in value.slice(0, MOST_ROWS).columns]  # two may have one name
    return records_html(value.column_names, zip(*columns, strict=True), value.num_rows)
