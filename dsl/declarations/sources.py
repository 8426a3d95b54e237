"""Sources: what is observed, declared with its key and the unit or type of each field.

An attribute of a source is the observation of that field; *every* declared field wins attribute access, so a field
may be called anything, `name` and `key` included. What the source itself knows is reached with `declaration`.

Source: thesis, Table 2.1 (observations).
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from enum import Enum
from typing import ClassVar, Final, TypeAlias, final

import attrs

from dsl.declarations.forecasts import Predicted, moment
from dsl.meaning.schedules import VALIDITY
from dsl.refusals.errors import InvalidRule, UnknownField, refusal
from dsl.terms.dimensions import INSTANT, NUMBER, POSITION, TEXT, TRUTH, Choice, Kind, Sort, described, is_text
from dsl.terms.terms import Declaration, Observation
from dsl.writing.durations import duration
from dsl.writing.fluent import Expression, Unit

position = POSITION
"""The type of a field that holds a position: (latitude, longitude), two floats, degrees north and east."""

instant = INSTANT
"""The type of a field that holds an instant: whole microseconds since the epoch, or a datetime with a time zone."""


@final
@attrs.frozen
class Optional:
    """The type of a field that a row may lack: made by `optional`."""

    type: PlainType


PlainType: TypeAlias = Unit | Sort | type[str] | type[int] | type[float] | type[bool]
FieldType: TypeAlias = PlainType | Optional
"""What a field holds: a quantity in a unit, a text, a `choice`, a plain number, a truth value, a `position`, an
`instant`; or one of these where a row may lack it (`optional`)."""


def optional(type_: PlainType) -> Optional:
    """Declare a field that a row may lack; rules ask for it with `known` and `known_or`.

    Any field of a row may be None: missing, because nobody knows it at the moment. An optional one may not be there at
    all, and rules may ask whether it is. A comparison with what is missing is unknown in both cases.

    >>> from dsl import Source, instant, known, optional
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, eta=optional(instant))
    >>> known(vessel.eta)
    known(vessel.eta)

    Args:
        type_: What the field holds where it is there: a unit or a type.

    Raises:
        InvalidRule: ``type_`` is optional already.
    """
    if isinstance(type_, Optional):
        raise InvalidRule(
            refusal("optional: expected a unit or a type but got an optional field", [("fix", "say it once")])
        )
    return Optional(type_)


def choice(*members: str | type[Enum]) -> Choice:
    """Declare a field that holds one of a few texts; comparing it with another text is refused.

    A row's value that is no member is missing: it is not known to differ from any of them.

    >>> from dsl import Source, choice
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, vessel_type=choice("tanker", "container"))
    >>> vessel.vessel_type != "tanker"
    vessel.vessel_type != "tanker"

    Args:
        *members: The texts; or one Enum class, whose values are the texts.

    Raises:
        InvalidRule: There is none, one is no text, or one is given twice.
    """
    given: list[object] = list(members)
    if len(members) == 1 and isinstance(members[0], type) and issubclass(members[0], Enum):
        given = [member.value for member in members[0]]
    texts = tuple(str(each) for each in given if isinstance(each, str) and each)
    if not texts or len(texts) < len(given) or len(set(texts)) < len(texts):
        shown = ", ".join(repr(each) for each in given) or "none"
        fix = [("fix", 'name each once, as the rows have it: choice("tanker", "container")')]
        raise InvalidRule(refusal(f"choice: expected different texts, or one Enum of texts, but got {shown}", fix))
    return Choice("choice", texts)


RETENTION: Final = 86_400_000_000
"""How long a prediction is kept, in microseconds, unless its source says otherwise: a day."""

_TYPES: dict[object, Kind] = {str: TEXT, int: NUMBER, float: NUMBER, bool: TRUTH}


@final
class Source:
    """A table of rows that rules observe, one row a key, such as vessels by MMSI; or one row for the whole port.

    >>> from dsl.units import metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, fields={"name": str})
    >>> vessel.draught, vessel.name
    (vessel.draught, vessel.name)
    >>> tugs = Source("tugs", key=None, available=int)
    >>> tugs.available >= 2
    tugs.available >= 2

    Args:
        name: What rules, verdicts and inputs call it: a Python identifier.
        key: The field that identifies a row, a text or a whole number; None: there is one row for the port.
        fields: Fields whose names clash with these parameters.
        stale_after: A time: a row counts as missing from its event time and that much on, until the next one comes.
        forecast: Whether its rows are predictions, with three instants besides the fields declared: ``issued``, and the
            validity, from ``start`` until just before ``end``. They come as a stream; rules look them up with `at`.
        retention: How long after its end a prediction is kept; default: a day.
        **declared: The other fields: name and unit or type.

    Raises:
        InvalidRule: A name is no identifier, a type is none of those, or the key is not among the fields.
        DimensionMismatch: ``stale_after`` is no time.
    """

    __slots__ = ("__weakref__", "_declaration")
    __iter__: ClassVar[None] = None  # __getitem__ takes names, and would make Python try 0, 1, 2, …

    def __init__(
        self,
        name: str,
        /,
        *,
        key: str | None = None,
        fields: Mapping[str, FieldType] | None = None,
        stale_after: Expression | None = None,
        forecast: bool = False,
        retention: Expression | None = None,
        **declared: FieldType,
    ) -> None:
        """Declare a source."""
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidRule(refusal(f"Source: expected a name that is a Python identifier but got name={name!r}"))
        if not isinstance(fields or {}, Mapping):
            fix = [("fix", 'fields={"name": str}, each with its unit or type')]
            raise InvalidRule(refusal(f"Source {name!r}: expected fields by name but got fields={fields!r}", fix))
        given = {**declared, **(fields or {})}
        optional_fields = tuple(field for field, type_ in given.items() if isinstance(type_, Optional))
        plain = {field: type_.type if isinstance(type_, Optional) else type_ for field, type_ in given.items()}
        kinds = {field: _kind(name, field, type_) for field, type_ in plain.items()}
        if forecast:
            kinds |= dict.fromkeys(VALIDITY, INSTANT)
        both = sorted(set(declared) & set(fields or {}))
        if both:
            raise InvalidRule(refusal(f"Source {name!r}: expected each field once but {both[0]!r} is declared twice"))
        if key is not None and key in optional_fields:
            fix = [("fix", f"declare {key} without optional(…): every row has its key")]
            raise InvalidRule(
                refusal(f"Source {name!r}: expected a key that every row has but {key!r} is optional", fix)
            )
        if key is not None and (key not in kinds or (kinds[key] != NUMBER and not is_text(kinds[key]))):
            wrong = "which it does not declare" if key not in kinds else f"which is {described(kinds[key])}"
            fix = [("fix", f"key= names a field that is a text or a whole number; the fields are {', '.join(kinds)}")]
            raise InvalidRule(refusal(f"Source {name!r}: expected a key field but got key={key!r}, {wrong}", fix))
        age = None if stale_after is None else duration("stale_after", stale_after)
        kept = 0 if not forecast else RETENTION if retention is None else duration("retention", retention)
        _check_forecast(name, given, is_forecast=forecast, is_ageing=age is not None, is_kept=retention is not None)
        known = Declaration(name, key, tuple(kinds.items()), optional_fields, age, forecast, kept)
        object.__setattr__(self, "_declaration", known)

    def __getattribute__(self, name: str) -> Expression:
        """Return the observation of the field ``name``."""
        if name.startswith("__") or (name == "at" and declaration(self).forecast):
            return object.__getattribute__(self, name)  # type: ignore[no-any-return]  # what is no field is as it is
        return _observed(declaration(self), name)

    def at(self, instant: Expression) -> Predicted:
        """Return the predictions of a forecast for ``instant``, by field: ``wind.at(vessel.eta).velocity``.

        >>> from dsl import Source, instant
        >>> from dsl.units import knots
        >>> vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
        >>> wind = Source("wind", key=None, velocity=knots, forecast=True)
        >>> wind.at(vessel.eta).velocity <= 45 * knots
        wind.at(vessel.eta).velocity <= 45 kn

        Args:
            instant: The instant that the prediction must be valid at. Of several the newest issue counts, and of one
                issue the one that starts later; without one the value is missing.

        Raises:
            DimensionMismatch: ``instant`` is no instant.
            InvalidRule: It depends on the clock, or on a forecast that is not looked up.
        """
        return Predicted(declaration(self), moment("at", instant))

    def __getitem__(self, name: str) -> Expression:
        """Return the observation of the field ``name``; for names that are no attributes, such as ``class``."""
        return _observed(declaration(self), name)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a source is a declaration."""
        summary = f"{declaration(self).name}.{name} = {value!r}: expected nobody to assign to a field of a source"
        raise InvalidRule(refusal(summary, [("fix", "push a row to the source's input instead")]))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by declaration."""
        return restored, (declaration(self),)

    def __repr__(self) -> str:
        """Show name, key and fields."""
        known = declaration(self)
        return f"<source {known.name} by {known.key}: {', '.join(name for name, _ in known.fields)}>"


def declaration(source: Source) -> Declaration:
    """Return what ``source`` declares; a field can never hide it.

    >>> declaration(Source("tugs", key=None, available=int)).name
    'tugs'
    """
    found: Declaration = object.__getattribute__(source, "_declaration")
    return found


def restored(known: Declaration) -> Source:
    """Return the source that declares ``known``."""
    source = Source.__new__(Source)
    object.__setattr__(source, "_declaration", known)
    return source


def _kind(source: str, field: str, type_: PlainType) -> Kind:
    if not isinstance(field, str) or not field.isidentifier() or field.startswith("__"):
        raise InvalidRule(refusal(f"Source {source!r}: expected a field name that is an identifier but got {field!r}"))
    if isinstance(type_, Unit):
        return type_.measure
    if isinstance(type_, Sort):
        return type_
    kind = _TYPES.get(type_) if isinstance(type_, type) else None
    if kind is None:
        fix = [("fix", f"declare a unit, str, int, float, bool, position, instant or choice(…): {field}=metres")]
        if isinstance(type_, type) and issubclass(type_, Enum):
            fix = [("fix", f"{field}=choice({type_.__name__})")]
        raise InvalidRule(refusal(f"Source {source!r}: expected a unit or a type but got {field}={type_!r}", fix))
    return kind


def _check_forecast(
    name: str, given: Mapping[str, object], *, is_forecast: bool, is_ageing: bool, is_kept: bool
) -> None:
    if not is_forecast:
        if is_kept:
            fix = [("fix", "leave it out, or say forecast=True")]
            raise InvalidRule(refusal(f"Source {name!r}: expected retention= of a forecast only", fix))
        return
    taken = [field for field in (*VALIDITY, "at") if field in given]
    if taken:
        instead = "leave it out: each prediction has it" if taken[0] in VALIDITY else "call the field something else"
        summary = f"Source {name!r}: expected other fields of a forecast than {taken[0]!r}"
        raise InvalidRule(refusal(summary, [("fix", instead)]))
    if is_ageing:
        fix = [("fix", "leave stale_after out: a prediction says itself until when it is valid")]
        raise InvalidRule(refusal(f"Source {name!r}: expected a forecast without stale_after", fix))


def _observed(known: Declaration, name: str) -> Expression:
    names = [field for field, _ in known.fields]
    if name not in names:
        close = get_close_matches(name, names, n=1)
        hint = f"; did you mean {known.name}.{close[0]}?" if close else ""
        summary = f"{known.name}.{name}: expected a field of the source {known.name!r} ({', '.join(names)}){hint}"
        raise UnknownField(refusal(summary))
    return Expression(Observation(known, name))
