"""Units of measure in a text of rules: by symbol (`kn`, `m/s²`), by name (`nautical miles`), or letter by letter.

A product that no symbol spells exactly stands in backticks, as Python spells it: `` `metres * seconds ** -2` ``; so
does a unit that only pint knows: `` `furlong` ``.

Invariant: what `unit_words` returns is read back by `unit` as the very measure, or it refuses.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import reduce
from typing import TYPE_CHECKING, Final

from dsl import units
from dsl.refusals.errors import InvalidRule, refusal
from dsl.refusals.quoting import unquoted
from dsl.writing.fluent import Unit

if TYPE_CHECKING:
    from dsl.terms.dimensions import Measure

_POWERS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_FACTOR: Final = re.compile(r"(\w{1,40})(?: \*\* (-?[1-9]))?", re.ASCII)


def _spellings() -> dict[str, Unit]:
    known = {name: value for name, value in vars(units).items() if isinstance(value, Unit) and value.symbol}
    found = {"foot": units.feet}
    for name, one in known.items():
        words = name.replace("_", " ")
        singular = re.sub(r"s( per|$)", r"\1", words) if words.endswith("s") or " per" in words else words
        found |= {one.symbol: one, words: one} | ({singular: one} if singular != "celsiu" else {})
    return found


UNITS: Final = _spellings()
"""The units of `dsl.units` by symbol, name, and name in the singular."""

_SYMBOL: Final = "|".join(re.escape(each) for each in sorted(UNITS, key=len, reverse=True))
_POWER: Final = "[²³⁴⁵⁶⁷⁸⁹]?"
UNIT: Final = rf"(?:{_SYMBOL}){_POWER}(?:[·/](?:{_SYMBOL}){_POWER})*(?!\w)"
"""A regular expression for the units of a text, `m/s` and `kg·m²/s³` included."""


def unit(words: str) -> Unit:
    """Return the unit that a text calls ``words``, in backticks or not.

    >>> unit("nautical miles"), unit("m³/h"), unit("`feet * minutes ** -1`")
    (<unit nmi, a length>, <unit m³/h, a rate of flow>, <unit ft/min, a speed>)

    Raises:
        InvalidRule: There is no such unit.
    """
    if words.startswith("`"):
        return _exact_unit(unquoted(words))
    words = " ".join(words.split())
    if words in UNITS:
        return UNITS[words]
    above, _, below = words.partition("/")
    factors = [(each, 1) for each in above.split("·")] + [(each, -1) for each in below.split("·") if each]
    return reduce(lambda product, factor: product * _power(*factor), factors, units.dimensionless)


def _power(symbol: str, sign: int) -> Unit:
    digits = "" if symbol in UNITS else symbol[-1].translate(_POWERS)
    name = symbol[:-1] if digits.isdigit() else symbol
    if name not in UNITS:
        close = get_close_matches(name, UNITS, n=1)
        fix = [("fix", f"write {close[0]}" if close else 'write a unit such as m, kn, °, min, or "nautical miles"')]
        raise InvalidRule(refusal(f"{symbol}: expected a unit of measure but there is none of this name", fix))
    return UNITS[name] ** (sign * int(digits) if digits.isdigit() else sign)


def _exact_unit(text: str) -> Unit:
    product = units.dimensionless
    for factor in text.split(" * "):
        found = _FACTOR.fullmatch(factor)
        if found is None:
            fix = [("fix", "write names of units: `metres`, `furlong`, `metres * seconds ** -2`")]
            raise InvalidRule(refusal(f"`{text}`: expected a product of units but got {factor!r}", fix))
        name, power = found.groups()
        ours = vars(units).get(name)
        one = ours if isinstance(ours, Unit) else units.unit(name)
        product = one if name == text else product * one ** int(power or 1)
    return product


def unit_words(measure: Measure) -> str:
    """Return what a text calls a unit, so that `unit` gives this very unit back; "" for a plain number.

    >>> unit_words(units.knots.measure), unit_words((units.metres / units.seconds).measure)
    ('kn', '`metres * seconds ** -1`')

    Raises:
        InvalidRule: It is made of a unit that nothing in a text can name.
    """
    if not measure.parts:
        return ""
    exact = "`" + " * ".join(f"{_bare(part.spelling)}{_exponent(part.exponent)}" for part in measure.parts) + "`"
    for words in (measure.symbol, exact):
        if re.fullmatch(UNIT, words) or words is exact:
            try:
                if unit(words).measure == measure:
                    return words
            except InvalidRule:
                continue
    fix = [("fix", "use a unit of dsl.units, or one that units.unit() makes without spelling= or symbol=")]
    raise InvalidRule(refusal(f"to_text: expected units that a text can name but got {measure.symbol}", fix))


def _exponent(power: int) -> str:
    return "" if power == 1 else f" ** {power}"


def _bare(spelling: str) -> str:
    return spelling.removeprefix("units.unit('").removesuffix("')")
