"""Sources: what is observed, declared with its key and the unit or type of each field.

An attribute of a source is the observation of that field; *every* declared field wins attribute access, so a field
may be called anything, `name` and `key` included. What the source itself knows is reached with `declaration`.

Source: thesis, Table 2.1 (observations).
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar, TypeAlias, final

from dsl.dimensions import NUMBER, POSITION, TEXT, TRUTH, Kind, Sort, described
from dsl.errors import InvalidRule, UnknownField, refusal
from dsl.fluent import Expression, Unit
from dsl.terms import Declaration, Observation

if TYPE_CHECKING:
    from collections.abc import Mapping

FieldType: TypeAlias = Unit | Sort | type[str] | type[int] | type[float] | type[bool]
"""What a field holds: a quantity in a unit, a text, a plain number, a truth value, or a `position`."""

position = POSITION
"""The type of a field that holds a position: (latitude, longitude), two floats, degrees north and east."""

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
        **declared: The other fields: name and unit or type.

    Raises:
        InvalidRule: A name is no identifier, a type is none of those, or the key is not among the fields.
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
        **declared: FieldType,
    ) -> None:
        """Declare a source."""
        if not _is_identifier(name):
            raise InvalidRule(refusal(f"Source: expected a name that is a Python identifier but got name={name!r}"))
        kinds = {field: _kind(name, field, type_) for field, type_ in {**declared, **(fields or {})}.items()}
        both = sorted(set(declared) & set(fields or {}))
        if both:
            raise InvalidRule(refusal(f"Source {name!r}: expected each field once but {both[0]!r} is declared twice"))
        if key is not None and (key not in kinds or kinds[key] not in {TEXT, NUMBER}):
            wrong = "which it does not declare" if key not in kinds else f"which is {described(kinds[key])}"
            fix = [("fix", f"key= names a field that is a text or a whole number; the fields are {', '.join(kinds)}")]
            raise InvalidRule(refusal(f"Source {name!r}: expected a key field but got key={key!r}, {wrong}", fix))
        object.__setattr__(self, "_declaration", Declaration(name, key, tuple(kinds.items())))

    def __getattribute__(self, name: str) -> Expression:
        """Return the observation of the field ``name``."""
        if name.startswith("__"):
            return object.__getattribute__(self, name)  # type: ignore[no-any-return]
        return _observed(declaration(self), name)

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
    return object.__getattribute__(source, "_declaration")  # type: ignore[no-any-return]


def restored(known: Declaration) -> Source:
    """Return the source of a declaration that was checked when it was made."""
    source = Source.__new__(Source)
    object.__setattr__(source, "_declaration", known)
    return source


def _kind(source: str, field: str, type_: FieldType) -> Kind:
    if not _is_identifier(field) or field.startswith("__"):
        raise InvalidRule(refusal(f"Source {source!r}: expected a field name that is an identifier but got {field!r}"))
    if isinstance(type_, Unit):
        return type_.measure
    if isinstance(type_, Sort):
        return type_
    kind = _TYPES.get(type_) if _is_type(type_) else None
    if kind is None:
        fix = [("fix", f"declare a unit or one of str, int, float, bool, position: {field}=metres")]
        raise InvalidRule(refusal(f"Source {source!r}: expected a unit or a type but got {field}={type_!r}", fix))
    return kind


def _is_type(value: object) -> bool:
    return isinstance(value, type)


def _is_identifier(value: object) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _observed(known: Declaration, name: str) -> Expression:
    names = [field for field, _ in known.fields]
    if name not in names:
        close = get_close_matches(name, names, n=1)
        hint = f"; did you mean {known.name}.{close[0]}?" if close else ""
        summary = f"{known.name}.{name}: expected a field of the source {known.name!r} ({', '.join(names)}){hint}"
        raise UnknownField(refusal(summary))
    return Expression(Observation(known, name))
