"""Frame reads: what a program reads of its frames, each column and its type, checked before anything runs.

`where`, `yields`, keys, equalities and the functions that restrictions are given are looked through, in each
correlation, as far as they trace; each field is followed to the column that it comes from (`lineage`). A column that is
not there, and values of types that are never equal or cannot be compared, are refused by name. Else the first would
fail on the first row, and the second give no results and no word. Here is also what the fields of results are called
where they become columns of a frame, in process and on Spark.

This module is over 300 lines because expressions are looked through, and their values typed, in one walk.

Invariant: a column that the program does not read may be missing, and of any type.
"""

from __future__ import annotations

import operator
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.analysis.lineage import (
    Column,
    Composed,
    Computed,
    InPattern,
    OfValue,
    OneOf,
    Typed,
    clauses,
    derived,
    extracted,
    key_space,
    origin,
    replaced_slots,
    slots_named,
    table_key,
    yielded,
)
from cartesius.errors import InvalidArgument, near
from cartesius.expressions.expressions import (
    Apply,
    Constant,
    Every,
    Expression,
    Field,
    Fields,
    KeyOf,
    Part,
    Tuple,
    WindowOf,
    children,
    replace,
    show,
)
from cartesius.expressions.tracing import parameters_of, trace
from cartesius.expressions.value_functions import Chained, as_written
from cartesius.language.families import arrive, totals
from cartesius.plan import facts
from cartesius.storage.version_memories import ARRIVAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cartesius.analysis.lineage import Origin, Scope
    from cartesius.language.patterns import Pattern
    from cartesius.language.reactives import Reactive
    from cartesius.language.restriction_base import Restriction

_EQUAL: Final = (operator.eq, operator.ne)
_COMPARED: Final = (*_EQUAL, operator.lt, operator.le, operator.gt, operator.ge)
_CALCULATED: Final = (operator.sub, operator.truediv, operator.floordiv)
_ARITHMETIC: Final = (*_CALCULATED, operator.add, operator.mul)
_OTHER: Final = "what no array is"  # of tuples and lists
_DATES: Final = frozenset({"a date", "a time", "a local time"})
_SCALARS: Final[Mapping[str, tuple[type, ...]]] = {
    "a number": (int, float, Decimal),
    "a text": (str,),
    "bytes": (bytes,),
    "a date": (date,),
    "a time": (datetime,),
    "a local time": (datetime,),
}
"""What Python has for the values of a group, of which attributes can be read."""


@attrs.frozen
class ValueType:
    """What is known of values before there are any.

    >>> ValueType("a number", "bigint").fields is None
    True
    """

    group: str
    """The values that Python compares with each other: ``a number``, ``a text``, ``bytes``, ``a date``, ``a time``, ``a
    local time``, ``a record``, ``a list``. Those of two groups are never equal; "" if that is not told."""
    shown: str
    """How frames call it."""
    fields: Mapping[str, ValueType] | None = None
    """Those of a record; None if it is none, or that is not told."""
    has_records: bool = False
    """Whether it is a record or a map, or has such in it: that is no key, as it cannot be hashed."""


_TRUTH: Final = ValueType("a number", "boolean")
_NUMBER: Final = ValueType("a number", "double")
_DATE: Final = ValueType("a date", "date")
_TIME: Final = ValueType("a time", "timestamp")
_LOCAL_TIME: Final = ValueType("a local time", "timestamp_ntz")
_OF_PYTHON: Final = {
    str: ValueType("a text", "string"),
    int: ValueType("a number", "bigint"),
    float: _NUMBER,
    bool: _TRUTH,
    bytes: ValueType("bytes", "binary"),
}


@attrs.frozen
class _Side:
    """A value: how it is written, where it comes from, and its type if that is told."""

    text: str
    found: Origin | None
    kind: ValueType | None

    @property
    def group(self) -> str:
        """The group of its type; empty if that is not told."""
        return "" if self.kind is None else self.kind.group

    def mixes(self, other: _Side) -> bool:
        """Whether one is a decimal and the other one a float, with which Python calculates no decimal."""
        sides = {side.kind.shown for side in (self, other) if side.kind is not None and side.is_read}
        return any(shown.startswith("decimal") for shown in sides) and not sides.isdisjoint({"double", "float"})

    @property
    def is_read(self) -> bool:
        """Whether its very type is known: of a column, or a constant."""
        return isinstance(self.found, Column) or (
            isinstance(self.found, Computed) and isinstance(self.found.expression, Constant)
        )

    def __str__(self) -> str:
        shown = "" if self.kind is None else self.kind.shown
        if isinstance(self.found, Column):
            return f"the column {'.'.join(self.found.path)!r} of {self.found.reactive.name!r} ({shown})"
        return f"{self.text} ({shown})"


@attrs.frozen
class Frames:
    """What is known of the frames of a program.

    Args:
        call: Who is given them, for messages.
        values: The type of each source's payloads, by the source's name.
        columns: All columns of its frame; a table's key is among them.
        cast: What to do so that a column of a source is of another type, for messages.
        arrays: What Python has for an array: a tuple or a list, which never equal one another.
        are_typed: Whether payloads are instances of a declared type, which may have more than columns, else records.
    """

    call: str
    values: Mapping[str, ValueType]
    columns: Mapping[str, Mapping[str, ValueType]]
    cast: Callable[[str, str, str], str]
    arrays: type[tuple[Any, ...]] | type[list[Any]] = list
    are_typed: bool = False


def check_reads(outputs: tuple[Reactive, ...], frames: Frames) -> None:
    """Refuse frames that have not what a program reads.

    >>> from cartesius import Reactive
    >>> from restrictions.streams import map_
    >>> fields = {"draft": ValueType("a number", "double")}
    >>> frames = Frames("run_frames", {"ship": ValueType("", "", fields)}, {"ship": fields}, lambda *_: "")
    >>> check_reads((map_(Reactive("ship"), lambda ship: ship.draft),), frames)

    Raises:
        InvalidArgument: A column is not there, or of a type that does not fit the other one; both are named.
    """
    for reactive in derived(outputs):
        assert reactive.pattern is not None
        _Reads(reactive.name, reactive.pattern, frames).check()


@attrs.frozen
class _Reads:
    """What one correlation reads."""

    name: str
    pattern: Pattern
    frames: Frames

    def check(self) -> None:
        scope = InPattern(self.pattern)
        for source in self.pattern.slots.values():
            if source.pattern is None and isinstance(source.key, str):
                key = Column(source, (source.key,))
                self._check_key(_Side("", key, self._kind_of(key, is_key=True)), "key=")
        for body, where in ((self.pattern.where, "where="), (self.pattern.yields, "yields=")):
            if isinstance(body, Expression):
                self._look(body, scope, where)
        for restriction in self.pattern.restrictions:
            for value, function in self._functions(restriction):
                self._follow(function, value, repr(restriction))
            space = key_space(self.pattern, restriction)
            sides = [_Side(f"the key of {slot}", found, self._kind_of(found)) for slot, found in space.items()]
            for side in sides:
                self._check_key(side, repr(restriction))
            told = [side for side in sides if side.group]
            for other in told[1:]:
                if other.group != told[0].group:
                    raise self._unlike(told[0], other, "are never equal", repr(restriction))

    def _check_key(self, key: _Side, where: str) -> None:
        if key.kind is not None and key.kind.has_records:
            message = (
                f"{self.frames.call}: expected a key that can be hashed for {where} of {self.name!r} but {key} has"
                " records or maps in it; key it by a field of theirs"
            )
            raise InvalidArgument(message)

    def _functions(self, restriction: Restriction) -> Iterator[tuple[Origin | None, Any]]:
        """Iterate over the functions, and names of fields, that a restriction is given, and what they are asked of."""
        at_door = InPattern(self.pattern, of_each=True, at_door=True)
        for name, extract in facts.key_space(restriction).items():
            yield from ((at_door.part(slot), extract) for slot in slots_named(self.pattern, name))
        given = restriction.configuration
        for family, slots in clauses(self.pattern, restriction):
            if family is arrive and len(slots) == 1 and slots[0] not in replaced_slots(self.pattern):
                yield from ((at_door.part(slots[0]), given.get(name)) for name in ("predicate", "key"))
            if family is totals:
                result = yielded(self.pattern)
                yield result, given.get("by")
                yield result, getattr(given.get("group"), "lift", None)
        held = facts.versions(restriction)
        if held is not None and held.ties != ARRIVAL:
            yield from (
                (at_door.part(slot), held.ties) for name in held.slots for slot in slots_named(self.pattern, name)
            )
        if facts.makes_table(restriction) and callable(table_key(self.pattern)):
            yield yielded(self.pattern), table_key(self.pattern)

    def _follow(self, function: Any, value: Origin | None, where: str) -> Origin | None:
        """Look through what a function, or the name of a field, takes out of a value; return what it is."""
        if isinstance(function, Chained):
            return self._follow(function.outer, self._follow(function.inner, value, where), where)
        if isinstance(function, str):
            function = operator.attrgetter(function)
        if isinstance(function, operator.attrgetter | operator.itemgetter):
            for name in function.__reduce__()[1]:
                node: Expression = Part("value")
                if isinstance(function, operator.itemgetter):
                    node = Apply(operator.getitem, (node, Constant(name)), "getitem")
                else:
                    for step in name.split("."):
                        node = Field(node, step)
                self._look(node, OfValue(value), where)
            return extracted(function, value)
        function = as_written(function)
        parameters = parameters_of(function) if callable(function) else None
        if not parameters or len(parameters) != 1:
            return None
        traced = trace(function, [(parameters[0], Part("value"))]).expression
        if traced is None:
            return None
        self._look(traced, OfValue(value), where)
        return origin(traced, OfValue(value))

    def _look(self, expression: Expression, scope: Scope, where: str) -> None:
        """Check an expression and what is in it."""
        match expression:
            case Every(items=items, elements=elements, condition=condition):
                for element in elements:
                    condition = replace(condition, element, items)
                inside = InPattern(self.pattern, of_each=True) if isinstance(scope, InPattern) else scope
                self._look(items, scope, where)
                self._look(condition, inside, where)
                return
            case Field(target=target, name=name):
                self._check_field(origin(target, scope), name, where)
            case Apply(function=operator.getitem, arguments=(target, Constant(value=str() as name))):
                self._check_field(origin(target, scope), name, where, is_item=True)
            case Apply(function=function, arguments=(one, other)) if function in (*_COMPARED, *_ARITHMETIC):
                self._check_pair(function, self._side(one, scope), self._side(other, scope), where)
        for child in children(expression):
            self._look(child, scope, where)

    def _check_field(self, target: Origin | None, name: str, where: str, *, is_item: bool = False) -> None:
        is_method = not is_item and hasattr(dict, name)
        match target:
            case Column(reactive=reactive, path=path):
                kind = self._kind_of(target)
                fields = None if kind is None else kind.fields
                is_own = self.frames.are_typed and not path and hasattr(reactive.type, name)
                if fields is not None and name not in fields and not is_method and not is_own:
                    raise self._missing(reactive.name, path, name, fields, where)
                of_python = () if kind is None or fields is not None else _SCALARS.get(kind.group, ())
                if of_python and (is_item or not any(hasattr(one, name) for one in of_python)):
                    message = (
                        f"{self.frames.call}: expected a record of which {where} of {self.name!r} reads {name!r} but"
                        f" {_Side('', target, kind)} is {kind.group if kind else ''}"
                    )
                    raise InvalidArgument(message)
            case Composed(expression=Fields(names=names)) if name not in names and not is_method:
                known = list(map(str, names))
                message = (
                    f"{self.frames.call}: expected {name!r}, which {where} of {self.name!r} reads, to be yielded by the"
                    f" correlation before it but that gives {', '.join(known)}{near(name, known)}"
                )
                raise InvalidArgument(message)
            case OneOf(origins=origins):
                for one in origins:
                    self._check_field(one, name, where, is_item=is_item)

    def _missing(
        self, source: str, path: tuple[str, ...], name: str, fields: Mapping[str, ValueType], where: str
    ) -> InvalidArgument:
        shown = ".".join((*path, name))
        hint = near(name, fields)
        if not path and name in self.frames.columns[source]:
            hint = "; the frame has it, but as a helper column, or fields= of the Reactive leaves it out"
        message = (
            f"{self.frames.call}: expected the frame of {source!r} to have the column {shown!r}, which {where} of"
            f" {self.name!r} reads, but there is {', '.join(fields) or 'none'}{hint}"
        )
        return InvalidArgument(message)

    def _check_pair(self, function: Any, one: _Side, other: _Side, where: str) -> None:
        groups = {one.group, other.group}
        if "" in groups:
            return
        if function in _COMPARED and len(groups) > 1:
            raise self._unlike(one, other, "are never equal" if function in _EQUAL else "cannot be compared", where)
        if function in _COMPARED:
            return
        if function in _CALCULATED:
            is_odd = (
                len(groups) > 1 or groups & {"a text", "bytes"} or (function is not operator.sub and groups & _DATES)
            )
        else:  # a text may be added to a text, and multiplied by a number
            is_odd = groups & _DATES or (function is operator.add and len(groups) > 1)
        if is_odd or one.mixes(other):
            one, other = (other, one) if one.group == "a text" else (one, other)  # that is cast
            what = "added" if function is operator.add else "calculated with"
            raise self._unlike(one, other, f"cannot be {what}", where)

    def _unlike(self, one: _Side, other: _Side, what: str, where: str) -> InvalidArgument:
        line = ""
        can_be_cast = one.group != other.group and {one.group, other.group}.isdisjoint({"a record", "a list"})
        if one.kind is not None and other.kind is not None and can_be_cast:
            line = self._cast(other, one.kind) or self._cast(one, other.kind)
        if {one.group, other.group} == {"a list", _OTHER}:
            line = f"; an array is a {self.frames.arrays.__name__} here, so write one"
        message = (
            f"{self.frames.call}: expected columns of types that go together in {where} of {self.name!r} but {one} and"
            f" {other} {what}{line or '; cast one of them'}"
        )
        return InvalidArgument(message)

    def _cast(self, side: _Side, kind: ValueType) -> str:
        match side.found:
            case Column(reactive=reactive, path=(name,)):
                return f"; {self.frames.cast(reactive.name, name, kind.shown)}"
        return ""

    def _side(self, expression: Expression, scope: Scope) -> _Side:
        found = origin(expression, scope)
        kind = self._kind_of(found, is_key=isinstance(expression, KeyOf))
        return _Side(show(expression), found, kind)

    def _kind_of(self, found: Origin | None, *, is_key: bool = False) -> ValueType | None:
        """Return the type of a value; None if it is not told."""
        match found:
            case Column(reactive=reactive, path=path):
                columns = ValueType("", "", self.frames.columns[reactive.name])
                kind = columns if is_key else self.frames.values[reactive.name]
                for name in path:
                    if kind.fields is None or name not in kind.fields:
                        return None
                    kind = kind.fields[name]
                return kind
            case Typed(hint=hint) if hint in _OF_PYTHON:
                return _OF_PYTHON[hint]
            case Composed(expression=Tuple()):
                return self._sequence(tuple)
            case Computed(expression=Constant(value=list())):
                return self._sequence(list)
            case Computed(expression=Constant(value=datetime() as moment)):
                return _LOCAL_TIME if moment.tzinfo is None else _TIME
            case Computed(expression=Constant(value=date())):
                return _DATE
            case Computed(expression=Constant(value=value)) if type(value) in _OF_PYTHON:
                return _OF_PYTHON[type(value)]
            case Computed(expression=Apply(function=function)) if function in _COMPARED:
                return _TRUTH
            case Computed(expression=Apply(function=function, arguments=(one, other)), scope=scope) if function in (
                *_ARITHMETIC,
            ):
                groups = {self._side(one, scope).group, self._side(other, scope).group}
                return _NUMBER if groups == {"a number"} else None
        return None

    def _sequence(self, kind: type) -> ValueType:
        """Return the type of a tuple or a list that a body has written."""
        return ValueType("a list" if kind is self.frames.arrays else _OTHER, kind.__name__)


def column_names(expression: Any) -> list[str]:
    """Return what the items of a tuple or dict are called: their field, if no other has it, else ``_1``, ``_2``, …."""
    if not isinstance(expression, Tuple):
        return [str(name) for name in expression.names]
    own = [_name(item) for item in expression.items]
    count, places = Counter(own), [f"_{place}" for place in range(1, len(own) + 1)]
    names = [name if name and count[name] == 1 else place for name, place in zip(own, places, strict=True)]
    if len({*names}) == len(names):
        return names
    return [place if name in places else name for name, place in zip(names, places, strict=True)]  # a field called _2


def _name(item: Expression) -> str:
    match item:
        case Field(name=name):
            return name
        case KeyOf():
            return "key"
        case WindowOf():
            return "window"
    return ""
