"""Drafts: what the page that edits a file of rules may ask, as plain data in and out. No server, no state.

A draft is the whole text, which the page sends with every question; so nothing is kept here, and nothing can be lost.
What the rule language refuses is an answer too: the message, which shows the line with a caret.

Source: issue 6, "Rules as text".
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

import attrs

from cartesius.errors import InvalidArgument
from dsl.declarations.sources import declaration
from dsl.editor.editing import added, deleted, moved, number_after, replaced
from dsl.editor.outline import Outline
from dsl.editor.typed_values import row, value
from dsl.meaning.schedules import Forecasting
from dsl.terms.dimensions import INSTANT
from dsl.terms.texts import text as code
from dsl.text.phrasing import Phrasing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsl.editor.outline import Json
    from dsl.terms.terms import Declaration


def read(draft: Json, file: str) -> Json:
    """Return the outline of a draft."""
    return Outline(_text(draft), file).described()


def edit(draft: Json, file: str) -> Json:
    """Return the draft's new text and its outline after one edit, replace, add, delete or move, and its item's number.

    Of an item that is deleted the number is that of a neighbour; -1: there is none.

    Raises:
        InvalidArgument: It is none of these.
        InvalidRule: The new text does not read as a pack.
        DimensionMismatch: Likewise.
        UnknownField: Likewise.
    """
    outline = Outline(_text(draft), file)
    number, head = draft.get("number"), str(draft.get("head", ""))
    properties = {label: str(value) for label, value in _object("properties", draft.get("properties", {})).items()}
    match draft.get("edit"), number:
        case "replace", int():
            text = replaced(outline, number, head, properties)
        case "add", int() | None:
            text = added(outline, number, head, properties)
        case "delete", int():
            text = deleted(outline, number)
        case ("up" | "down") as way, int():
            text = moved(outline, number, way == "down")
        case other:
            message = f"edit: expected replace, add, delete, up or down of a numbered rule but got {other!r}"
            raise InvalidArgument(message)
    new = Outline(text, file)
    now = min(number_after(outline, str(draft["edit"]), number), len(new.items) - 1)
    return {"text": text, "outline": new.described(), "number": now}


def expression(draft: Json, file: str) -> Json:
    """Return the kind of an expression of a draft, and the units it may be compared in."""
    return Outline(_text(draft), file).expression(str(draft.get("expression", "")))


def judge(draft: Json, file: str) -> Json:
    """Return the verdict of a draft on one situation: lists of rows, of texts as people type them; "" is not known.

    What was observed and what is not known is called as the sentences call it: `draught`, not `vessel.draught`.
    A reason has the number of its item, as rules may be called alike; one without a name is called by its sentence.

    Raises:
        InvalidArgument: A value is none of its field's kind.
    """
    outline = Outline(_text(draft), file, by_number=True)
    rows: dict[str, Any] = {}
    given = _object("rows", draft.get("rows", {}))
    for source in outline.sources():
        declared = declaration(outline.headings.sources[source["name"]])
        name, kinds = declared.name, dict(declared.fields)
        listed = given.get(name, [])
        if not isinstance(listed, list):
            _refuse(f"a list of the rows of {name!r}", listed)
        found = [row(name, kinds, _object(f"a row of {name!r}", each)) for each in listed]
        known = [each for each in found if any(one is not None for one in each.values())]
        if declared.forecast:
            _refuse_no_predictions(declared, known)
        rows[name] = known if source["isTable"] else next(iter(known), None)
    subject = next(iter(outline.pack.sources))
    rows[subject] = rows[subject] or {}
    instant = value("the time now", INSTANT, str(draft.get("now", "")))
    verdict = outline.pack.check(rows, now=instant)
    said = _in_words(outline)
    return {
        "status": verdict.status,
        "because": [
            {
                "number": int(reason.name), "name": outline.titles[int(reason.name)],
                "location": reason.location, "because": reason.because,
                "missing": list(map(said, reason.missing)), "others": list(map(str, reason.others)),
                "severity": reason.severity, "reference": reason.reference,
                "margin": "" if reason.margin is None else " ".join((_shown(reason.margin[0]), reason.margin[1])),
                "values": [
                    [said(label), None if value is None else _shown(value), symbol]
                    for label, value, symbol in reason.values
                ],
            }
            for reason in verdict.because
        ],
    }  # fmt: skip


ANSWERS: Final[Mapping[str, Callable[[Json, str], Json]]] = {
    "read": read, "edit": edit, "expression": expression, "judge": judge,
}  # fmt: skip
"""The questions by name."""


def _in_words(outline: Outline) -> Callable[[str], str]:
    """What says in the words of the sentences what a verdict says as code."""
    vocabulary = outline.terms.vocabulary
    phrasing = Phrasing(vocabulary)
    sources = outline.headings.sources
    fields = [source[field].term for source in sources.values() for field, _ in declaration(source).fields]
    words = {code(field): phrasing.term(field) for field in fields}
    words |= {name: name.replace("_", " ") for name in sources}
    names = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})(?![\w.])")
    return partial(names.sub, lambda found: words[found[0]])


def _refuse_no_predictions(declared: Declaration, rows: list[Json]) -> None:
    forecasting = Forecasting(attrs.evolve(declared, key=None))
    for each in rows:
        objection = forecasting.objection(dict.fromkeys(dict(declared.fields)) | each)
        if objection is not None:
            message = (
                f"the example situation: {declared.name}: {objection}; a prediction has a time of issue, start and end"
            )
            raise InvalidArgument(message)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _object(what: str, given: Any) -> Json:
    if not isinstance(given, dict):
        _refuse(f"{what} as an object", given)
    found: Json = given
    return found


def _refuse(expected: str, given: Any) -> NoReturn:
    message = f"expected {expected} but got {given!r}"
    raise InvalidArgument(message)


def _text(draft: Json) -> str:
    return str(draft.get("text", ""))
