"""Units of measure, as rules spell them: `15 * metres`, `metres / hours`.

The only module that knows pint. pint is asked once, on import, what each unit is worth, exactly (its registry
computes with fractions); from then on units are plain data (`dimensions`), and no event ever meets pint. A unit
that is not listed here is made with `unit`.

>>> from dsl.units import centimetres, knots, metres, nautical_miles, hours
>>> 50 * centimetres
50 cm
>>> (nautical_miles / hours).dimension == knots.dimension
True

Source: pint's default registry (SI brochure, NIST SP 811).
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, Final

from cartesius.installation import needing
from dsl.refusals.errors import InvalidRule, refusal
from dsl.terms.dimensions import Dimension, Measure, Part, formula
from dsl.writing.fluent import Unit

with needing("import dsl", "cartesius-joins[rules]"):
    import pint

_REGISTRY: Final[pint.UnitRegistry[Any]] = pint.UnitRegistry(non_int_type=Fraction)
_BASES: Final = {
    "meter": "length", "gram": "mass", "second": "time", "radian": "angle", "kelvin": "temperature",
    "ampere": "electric current", "mole": "amount of substance", "candela": "luminous intensity", "bit": "information",
}  # fmt: skip

_FACTOR: Final = r"[^\W\d_]\w{0,59}(?: ?(?:\*\*|\^) ?-?\d{1,2})?"
_PRODUCT: Final = re.compile(rf"(?:1 ?/ ?)?{_FACTOR}(?: ?[*/] ?{_FACTOR}){{0,19}}")
"""What pint is handed: it also computes numbers, and 9**9**9 for ever."""


def unit(name: str, *, spelling: str | None = None, symbol: str | None = None) -> Unit:
    """Return the unit that pint knows as ``name``: a product of names, such as ``"furlong"`` or ``"tonne / metre**3"``.

    >>> unit("furlong")
    <unit fur, a length>

    Args:
        name: pint's name for it, which begins with a letter; or a product of at most twenty such names, each with a
            power of at most two digits.
        spelling: How messages spell it in Python; default: ``units.unit("…")``.
        symbol: Its symbol; default: pint's.

    Raises:
        InvalidRule: It is no such product, pint does not know it, or it has a broken power.
    """
    if not isinstance(name, str) or not _PRODUCT.fullmatch(name):
        fix = [("fix", "write names of units and whole powers: furlong, or tonne / metre**3")]
        raise InvalidRule(refusal(f"unit: expected a unit that pint knows but got name={name!r}", fix))
    try:
        one = _REGISTRY.Quantity(Fraction(1), name)
        base, nothing = one.to_root_units(), _REGISTRY.Quantity(Fraction(0), name).to_root_units()
        powers, written = _powers(base), _powers(one)
        shown = formula([(str(_REGISTRY.get_symbol(each)), power) for each, power in written.items()])
    except Exception as error:  # pint's parser raises whatever it stumbles over
        raise InvalidRule(refusal(f"unit: expected a unit that pint knows but got name={name!r}: {error}")) from error
    dimension = Dimension.of(**{_BASES.get(each, each): power for each, power in powers.items()})
    offset = Fraction(str(nothing.magnitude))
    factor = Fraction(str(base.magnitude)) - offset
    if not dimension.exponents and factor == 1:
        return Unit(Measure((), dimension, factor))
    return Unit(Measure((Part(spelling or f"units.unit({name!r})", symbol or shown, 1),), dimension, factor, offset))


def _powers(quantity: Any) -> dict[str, int]:
    powers = {name: Fraction(str(power)) for name, power in quantity.unit_items()}
    if any(power.denominator != 1 for power in powers.values()):
        message = "its powers are not whole"
        raise ValueError(message)
    return {name: int(power) for name, power in powers.items()}


def _named(spelling: str, name: str, symbol: str) -> Unit:
    return unit(name, spelling=spelling, symbol=symbol)


dimensionless = unit("dimensionless")
percent = _named("percent", "percent", "%")

metres = _named("metres", "metre", "m")
centimetres = _named("centimetres", "centimetre", "cm")
millimetres = _named("millimetres", "millimetre", "mm")
kilometres = _named("kilometres", "kilometre", "km")
feet = _named("feet", "foot", "ft")
nautical_miles = _named("nautical_miles", "nautical_mile", "nmi")
miles = _named("miles", "mile", "mi")

seconds = _named("seconds", "second", "s")
minutes = _named("minutes", "minute", "min")
hours = _named("hours", "hour", "h")
days = _named("days", "day", "d")
microseconds = _named("microseconds", "microsecond", "µs")

knots = _named("knots", "knot", "kn")
metres_per_second = _named("metres_per_second", "metre / second", "m/s")
kilometres_per_hour = _named("kilometres_per_hour", "kilometre / hour", "km/h")
miles_per_hour = _named("miles_per_hour", "mile / hour", "mph")

degrees = _named("degrees", "degree", "°")
radians = _named("radians", "radian", "rad")

celsius = _named("celsius", "degree_Celsius", "°C")
kelvin = _named("kelvin", "kelvin", "K")

kilograms = _named("kilograms", "kilogram", "kg")
tonnes = _named("tonnes", "tonne", "t")

hectopascals = _named("hectopascals", "hectopascal", "hPa")
kilowatts = _named("kilowatts", "kilowatt", "kW")
newtons = _named("newtons", "newton", "N")
