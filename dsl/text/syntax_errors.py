"""What is no sentence, in words: the line with a caret, what could stand there, and the likeliest fix.

Near misses are looked for among the phrases of the grammar (`is atleast`), and symbols of programming languages are
answered with the word for them (`>=`).

Source: STYLE.md, section 2.4.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NamedTuple

from dsl.refusals.errors import InvalidRule, refusal
from dsl.refusals.excerpts import Span, in_bytes, reading
from dsl.text.phrasing import literal
from dsl.text.unit_names import UNITS
from dsl.text.vocabulary import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPOKEN: Final = {
    "WORD": "a name", "BACKTICKED": "a name in backticks", "NUMBER": "a number", "STRING": 'a text in quotes ("…")',
    "UNIT": "a unit", "_NL": "the end of the line", "_INDENT": "indented lines below", "_DEDENT": "less indentation",
    "LPAR": "an opening parenthesis", "RPAR": "a closing parenthesis", "COMMA": "a comma", "COLON": "a colon",
    "PLUS": "+", "MINUS": "-", "TIMES": "*", "OVER": "/", "PACK": "pack: <name>", "SUBJECT": "subject:",
    "LOCATION": "location:", "ONLY": "only:", "LINKS": "links:", "PROPERTY": "name:, because:, severity: or reference:",
    "OPTIONAL": "optional", "NUMERIC": '"number"', "TEXTUAL": '"text"', "POSITIONAL": '"position"',
    "INSTANTANEOUS": '"instant"', "INSTANT": "an instant", "$END": "the end of the text",
}  # fmt: skip
_PHRASES: Final = (
    "is", "is at least", "is at most", "is above", "is below", "is between", "is known", "is not", "must be",
    "must be at least", "must be at most", "must be above", "must be below", "must be between", "must be known",
    "must not be", "it must hold that", "if known else", "absolute value of", "distance from", "predicted for",
    "throughout", "when", "otherwise", "nothing", "yes or no", "and", "or", "not", "nearest", "define", "source",
    "places", "at", "for every", "where", "number of", "sum of", "mean of", "least of", "greatest of", "is another",
)  # fmt: skip
_SYMBOLS: Final = {
    ">": "is above (or: is at least)", "<": "is below (or: is at most)", "=": "is", "!": "is not", "&": "and",
    "|": "or", "'": 'double quotes: "…"', "“": 'straight quotes: "…"', "”": 'straight quotes: "…"', "≥": "is at least",
    "≤": "is at most", "≠": "is not", "\u00d7": "*", "÷": "/", "\u2212": "-", "\u2013": "-", "[": "(", "]": ")",
    ";": "a new line",
}  # fmt: skip
_OTHER_UNITS: Final = {
    **dict.fromkeys(["kt", "kts"], "kn"),
    **dict.fromkeys(["nm", "NM", "nmi"], "nautical miles"),
}
"""Units as they are written elsewhere, and here."""
_SYNONYMS: Final = {
    "should be": "must be", "shall be": "must be", "has to be": "must be", "must hold": "it must hold that …",
    "must be not": "must not be", "less than": "below", "smaller than": "below", "more than": "above",
    "greater than": "above", "larger than": "above", "higher than": "above", "no more than": "at most",
    "no less than": "at least", "up to": "at most", "equal to": "is", "equals": "is", "unless": "when not",
    "else": "otherwise", "while": "when",
}  # fmt: skip
_RARE: Final = frozenset({"BACKTICKED", "BY", "IF_KNOWN_ELSE", "IS_ANOTHER", "PREDICTED_FOR", "THROUGHOUT", "WHERE"})
"""Left unsaid where something else may stand too."""
_BLANK: Final = re.compile(r"[^\S \t\r\n]|[\xad\u200b-\u200f\u2060]")
"""A character that looks like a space or like nothing, as a word processor writes it, and is none here."""
_QUOTES: Final = str.maketrans("", "", '"`“”„«»')
"""Leaves out what somebody who writes a place may have put around it."""
_OPERATORS: Final = frozenset({"PLUS", "MINUS", "TIMES", "OVER"})


class Unexpected(NamedTuple):
    """What a parser stumbled over: where (1-based), the token's type ("": a character) and text; what may be there."""

    line: int
    column: int
    type: str
    text: str
    allowed: frozenset[str]


def syntax_error(found: Unexpected, lines: list[str], file: str) -> InvalidRule:
    """Return the error for a text whose ``lines`` do not parse."""
    line, column = found.line, found.column - 1
    if not 0 < line <= len(lines) or found.type in {"$END", "_DEDENT"}:
        line = max((number for number, _ in _indentations(lines[: found.line])), default=1)
        column = len(lines[line - 1].rstrip())
    if found.type == "_NL":
        column = len(lines[line - 1].partition("#")[0].rstrip())
    before, after = lines[line - 1][:column], lines[line - 1][column:]
    notes = [("fix", _hint(before, after, found.allowed))]
    width = max(1, len(found.text.split("\n")[0]))
    with reading(in_bytes(Span(file, line, line, column, column + width), lines), lines):
        return InvalidRule(refusal(f"{file}: expected {_spoken(set(found.allowed))} but got {_got(found)}", notes))


def indentation_error(lines: list[str], file: str) -> InvalidRule:
    """Return the error for a text with a line that is indented less than the one above, like none before."""
    levels = [0]
    number = 1
    for number, own in _indentations(lines):  # noqa: B007 - it is used below
        if own > levels[-1]:
            levels.append(own)
        while own < levels[-1]:
            levels.pop()
        if own != levels[-1]:
            break
    tabbed = [at for at, line in enumerate(lines, 1) if "\t" in line[: len(line) - len(line.lstrip())]]
    tabs = f"; in line {tabbed[0]} a tab counts up to the next multiple of 8 spaces" if tabbed else ""
    fix = [("fix", f"indent it like the line that it belongs with{tabs}")]
    with reading(in_bytes(Span(file, number, number, 0, len(lines[number - 1])), lines), lines):
        return InvalidRule(refusal(f"{file}: expected an indentation that a line above has", fix))


def _indentations(lines: list[str]) -> Iterator[tuple[int, int]]:
    for number, line in enumerate(lines, 1):
        wide = line.expandtabs(8)
        if wide.strip() and not wide.lstrip().startswith("#"):
            yield number, len(wide) - len(wide.lstrip())


def _got(found: Unexpected) -> str:
    named = {"_NL": "the end of the line", "$END": "the end of the text", "_INDENT": "more indentation"}
    named["_DEDENT"] = "less indentation"
    if _BLANK.match(found.text):
        return unicodedata.name(found.text[0], repr(found.text[0])).lower()
    return named.get(found.type) or f'"{found.text.strip()}"'


_OPERANDS: Final = frozenset({"WORD", "NUMBER", "STRING", "LPAR"})


def _spoken(allowed: set[str]) -> str:
    """Say what may stand somewhere: the kinds of token first, groups by one name."""
    names: list[str] = []
    if allowed >= _OPERANDS:
        names.append("a name, a number, a text in quotes, an opening parenthesis")
        allowed -= _OPERANDS | {
            "BACKTICKED", "MINUS", "ABSOLUTE_VALUE_OF", "DISTANCE_FROM", "NEAREST", "TRUE", "FALSE", "NOW", "INSTANT",
            "NUMBER_OF", "TOTAL_OF",
        }  # fmt: skip
    if allowed & _OPERATORS:
        names.append("an operator (+ - * /)")
        allowed -= _OPERATORS
    allowed = allowed - _RARE or allowed
    names += sorted(_SPOKEN.get(each) or f'"{each.lower().replace("_", " ")}"' for each in allowed)
    most = 9
    names = names[:most]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}" if names else "something else"


def _hint(before: str, after: str, allowed: frozenset[str]) -> str:
    if _BLANK.match(after):
        return "write a plain space, or nothing, for this character, which cannot be seen"
    place = re.search(r"(?:^|,)\s*at +(?!least|most)([^,:]*)$", before)
    if place and after and re.split(r"[\s,:#]", after)[0] not in {*RESERVED, ""}:
        name = (place[1] + re.split("[,:#]", after)[0]).translate(_QUOTES).strip(" '")
        return f"write a place that is no plain words in quotes: at {literal(name)}"
    if unicodedata.category(after[:1] or " ").startswith("M"):
        return "write a name with this sign in backticks"
    if re.search(r"\d{4}-\d\d-\d\d *$", before) and re.match(r"T?\d\d", after):
        return "write an instant as 2026-05-01 14:30Z, in UTC"
    if re.fullmatch(r"\.\s*(#.*)?", after):
        return "leave out the full stop: the end of the line ends a sentence"
    if after[:1] in _SYMBOLS and after[:1]:
        return f"write {_SYMBOLS[after[0]]} for {re.match(r'[<>=!&|]+|.', after)[0]}"  # type: ignore[index]  # the dot matches
    if re.search(r"\d$", before) and re.match(r",\d", after):
        return "write a decimal point: 0.5, not 0,5"
    if re.match(r"(and|or)\b", after) and re.search(r"\b(and|or)\b", before):
        return "put parentheses around what belongs together: a and (b or c)"
    if "UNIT" in allowed and re.match(r"[^\W\d]", after):
        word = re.findall(r"[^\W\d]+", after)[0]
        close = [_OTHER_UNITS[word]] if word in _OTHER_UNITS else get_close_matches(word, UNITS, n=1)
        return f"did you mean: {close[0]}?" if close else "write a unit such as m, kn, °, min, or nautical miles"
    said = next((phrase for phrase in _SYNONYMS if re.search(rf"\b{phrase}\b", before + after)), None)
    if said is not None:
        return f"write {_SYNONYMS[said]} for {said}"
    close_phrase = _near_phrase(before, after)
    if close_phrase:
        return close_phrase
    if {"IS", "MUST_BE"} & allowed:
        return "say what must hold, such as: draught must be at most 15 m"
    if "_INDENT" in allowed:
        return "indent the lines that belong to this one by four spaces; or write: nothing"
    if allowed == {"COLON", "COMMA"}:
        return "write a colon, and what must hold then; or a comma, and another condition"
    return "compare the line with those around it; docs/how_to/rules_as_text.md shows every form"


def _near_phrase(before: str, after: str) -> str:
    """A phrase of the grammar that the words around the error resemble."""
    old, new = re.findall(r"[\w-]+", before), re.findall(r"[\w-]+", after)
    for taken in range(4):
        for coming in range(4):
            around = " ".join([*(old[-taken:] if taken else []), *new[:coming]])
            if around and not any(around in phrase for phrase in _PHRASES):
                found = get_close_matches(around, _PHRASES, n=1, cutoff=0.8)
                if found and found[0] not in f"{before}{after}":
                    return f"did you mean: {found[0]}?"
    return ""
