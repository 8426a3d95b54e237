"""Dimensions, units of measure and the other types of an expression, as plain data.

Every expression of the rule language has a `Kind`: a `Measure` (a unit of measure, which has a dimension) or a `Sort`
(text, choice, truth value, position, instant). A plain number is measured in `NUMBER`, whose dimension is empty. An
angle is a dimension of its own here, so that a direction is not compared with a count. Arithmetic on measures is exact,
on fractions; nothing in this module knows pint, which only supplies the figures (`dsl.units`).

An angle lies between two others if it is met on the way clockwise from the first to the second, both included. 360° is
0°, and so is -360°; bounds that are a whole turn apart span the circle, equal ones a single direction.

Invariant: the exponents of a dimension are sorted by name and never zero; so equal dimensions are equal data.

Source: thesis, section 2.2 (Length * Length is an Area, Length / Time a Velocity); J. C. Maxwell's dimensions.
"""

from __future__ import annotations

import json
from fractions import Fraction
from math import isclose, pi
from typing import ClassVar, NamedTuple, TypeAlias

import attrs

from cartesius.expressions.missing_values import ROUNDING

_NAMES: dict[tuple[tuple[str, int], ...], str] = {
    (): "plain number",
    (("length", 1),): "length",
    (("length", 2),): "area",
    (("length", 3),): "volume",
    (("time", 1),): "time",
    (("time", -1),): "frequency",
    (("length", 1), ("time", -1)): "speed",
    (("length", 1), ("time", -2)): "acceleration",
    (("length", 3), ("time", -1)): "rate of flow",
    (("mass", 1),): "mass",
    (("length", -3), ("mass", 1)): "density",
    (("length", 1), ("mass", 1), ("time", -2)): "force",
    (("length", -1), ("mass", 1), ("time", -2)): "pressure",
    (("length", 2), ("mass", 1), ("time", -2)): "energy",
    (("length", 2), ("mass", 1), ("time", -3)): "power",
    (("angle", 1),): "angle",
    (("angle", 1), ("time", -1)): "rate of turn",
    (("temperature", 1),): "temperature",
}


@attrs.frozen(cache_hash=True)
class Dimension:
    """A product of powers of base dimensions.

    >>> length, time = Dimension.of(length=1), Dimension.of(time=1)
    >>> print(length, length.times(length), length.times(time, -1), sep=", ")
    length, area, speed
    >>> print(length.times(time, 2))
    length·time²
    """

    exponents: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, **exponents: int) -> Dimension:
        """Return the dimension with these exponents.

        >>> print(Dimension.of(mass=1))
        mass
        """
        return cls(tuple(sorted((name, power) for name, power in exponents.items() if power)))

    def times(self, other: Dimension, power: int = 1) -> Dimension:
        """Return this dimension times ``other`` to the ``power``.

        >>> Dimension.of(length=1).times(Dimension.of(length=1), -1) == Dimension()
        True
        """
        exponents = dict(self.exponents)
        for name, exponent in other.exponents:
            exponents[name] = exponents.get(name, 0) + exponent * power
        return Dimension.of(**exponents)

    def __str__(self) -> str:
        """Name it as a mariner would, or as a formula."""
        return _NAMES.get(self.exponents) or formula([(name, power) for name, power in self.exponents])


class Part(NamedTuple):
    """One factor of a measure: how Python spells it, its symbol, and its exponent."""

    spelling: str
    symbol: str
    exponent: int


@attrs.frozen(repr=False, cache_hash=True)
class Measure:
    """A unit of measure: what it is called, its dimension, and how many base units make one of it, exactly.

    Degrees Celsius and the like have an offset too: zero of them is so many base units. They measure *points*, which
    have rules of their own (`points`).

    >>> metre = Measure((Part("metres", "m", 1),), Dimension.of(length=1), Fraction(1))
    >>> print(metre.times(metre), metre.times(metre).dimension)
    m² area
    """

    parts: tuple[Part, ...]
    dimension: Dimension
    factor: Fraction
    offset: Fraction = Fraction(0)

    def times(self, other: Measure, power: int = 1) -> Measure:
        """Return this measure times ``other`` to the ``power``.

        >>> NUMBER.times(NUMBER, -1) == NUMBER
        True
        """
        if self == NUMBER and power == 1:
            return other
        parts = {(part.spelling, part.symbol): part.exponent for part in self.parts}
        for spelling, symbol, exponent in other.parts:
            parts[spelling, symbol] = parts.get((spelling, symbol), 0) + exponent * power
        return Measure(
            tuple(Part(*names, exponent) for names, exponent in parts.items() if exponent),
            self.dimension.times(other.dimension, power),
            self.factor * other.factor**power,
        )

    def ratio(self, target: Measure) -> Fraction:
        """Return how many of ``target`` make one of this. Both have one dimension.

        >>> NUMBER.ratio(NUMBER)
        Fraction(1, 1)
        """
        return self.factor / target.factor

    def shift(self, target: Measure) -> Fraction:
        """Return what zero of this is in ``target``: zero, but for units with an offset.

        >>> NUMBER.shift(NUMBER)
        Fraction(0, 1)
        """
        return (self.offset - target.offset) / target.factor

    @property
    def symbol(self) -> str:
        """The symbol, such as m/s; "" for a plain number."""
        is_alone = len(self.parts) == 1 and self.parts[0].exponent == 1
        return formula(
            [
                (part.symbol if is_alone or "/" not in part.symbol else f"({part.symbol})", part.exponent)
                for part in self.parts
            ]
        )

    @property
    def spelling(self) -> str:
        """How a rule spells it, such as ``metres / seconds``."""
        above = [_power(part) for part in self.parts if part.exponent > 0]
        below = [_power(part) for part in self.parts if part.exponent < 0]
        return " / ".join([" * ".join(above) or "1", *below]) if self.parts else "dimensionless"

    def __str__(self) -> str:
        """Show the symbol."""
        return self.symbol

    def __repr__(self) -> str:
        """Show all that distinguishes it."""
        above = f" from {self.offset}" if self.offset else ""
        return f"<measure {self.symbol or '1'}: {self.factor} {self.dimension}{above}>"


@attrs.frozen
class Sort:
    """A type that is not measured: text, truth value, position, instant.

    >>> print(TEXT)
    text
    """

    name: str
    symbol: ClassVar = ""
    """It has no unit."""

    def __str__(self) -> str:
        """Show the name."""
        return self.name


@attrs.frozen
class Choice(Sort):
    """A text that is one of a few.

    >>> print(Choice("choice", ("tanker", "container")))
    choice of "tanker", "container"
    """

    members: tuple[str, ...]

    def __str__(self) -> str:
        """Show the members."""
        return f"{self.name} of {', '.join(json.dumps(member, ensure_ascii=False) for member in self.members)}"


Kind: TypeAlias = Measure | Sort

NUMBER = Measure((), Dimension(), Fraction(1))
TEXT = Sort("text")
TRUTH = Sort("truth value")
POSITION = Sort("position")
INSTANT = Sort("instant")
MICROSECONDS = Measure((Part("microseconds", "µs", 1),), Dimension.of(time=1), Fraction(1, 10**6))
"""What the difference of two instants is measured in."""
KELVIN = Measure((Part("kelvin", "K", 1),), Dimension.of(temperature=1), Fraction(1))
"""What the difference of two temperatures in degrees is measured in."""


def named(kind: Kind) -> str:
    """Name the kind with its article: what an operand *is*.

    >>> named(NUMBER), named(TEXT), named(NUMBER.times(Measure((), Dimension.of(angle=1), Fraction(1))))
    ('a plain number', 'a text', 'an angle')
    """
    name = str(kind.dimension if isinstance(kind, Measure) else kind)
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def described(kind: Kind) -> str:
    """Name the kind and, where there is one, the unit.

    >>> described(TRUTH)
    'a truth value'
    """
    return f"{named(kind)}, in {kind.symbol}" if kind.symbol else named(kind)


def alike(left: Kind, right: Kind) -> bool:
    """Whether values of the two kinds can be added and compared, after conversion.

    >>> alike(NUMBER, NUMBER), alike(NUMBER, TEXT)
    (True, False)
    """
    if isinstance(left, Measure) and isinstance(right, Measure):
        return left.dimension == right.dimension
    return left == right or (is_text(left) and is_text(right))


def is_text(kind: Kind) -> bool:
    """Whether values of the kind are texts: any, or one of a choice.

    >>> is_text(TEXT), is_text(Choice("choice", ("tanker",))), is_text(NUMBER)
    (True, True, False)
    """
    return kind == TEXT or isinstance(kind, Choice)


def formula(powers: list[tuple[str, int]]) -> str:
    """Write a product of powers.

    >>> formula([("kg", 1), ("m", -3)])
    'kg/m³'
    """
    above = "·".join(name + _superscript(power) for name, power in powers if power > 0)
    below = "·".join(name + _superscript(-power) for name, power in powers if power < 0)
    return f"{above or '1'}/{below}" if below else above


def _superscript(power: int) -> str:
    return "" if power == 1 else str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _power(part: Part) -> str:
    return part.spelling if abs(part.exponent) == 1 else f"{part.spelling} ** {abs(part.exponent)}"


def turn(kind: Kind) -> float | None:
    """Return a whole turn in the measure of an angle; None for what does not wrap around.

    >>> from dsl.units import degrees, metres
    >>> turn(degrees.measure), turn(metres.measure)
    (360, None)
    """
    if not isinstance(kind, Measure) or kind.dimension != Dimension.of(angle=1):
        return None
    whole = 2 * pi / float(kind.factor)
    return round(whole) if isclose(whole, round(whole)) else whole


def slack(operand: Kind, *bounds: Kind) -> float:
    """Return how far beyond a bound still counts as on it, in the operand's unit.

    What is converted from another unit is rounded, and so is a turn that is no whole number (2π).

    >>> from dsl.units import degrees, radians
    >>> slack(degrees.measure, degrees.measure), slack(degrees.measure, radians.measure)
    (0, 3.6e-10)
    """
    whole = turn(operand) or 0
    return 0 if whole == round(whole) and all(turn(each) == whole for each in bounds) else whole * ROUNDING
