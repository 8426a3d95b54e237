"""Drafts: what the page that edits a file of rules may ask, as plain data in and out. No server, no state.

A draft is the whole text, which the page sends with every question; so nothing is kept here, and nothing can be lost.
What the rule language refuses is an answer too: the message, which shows the line with a caret. `File` is the file on
disk: it is replaced in one step, its last content is kept beside it, and a file that changed meanwhile is not touched;
what two people changed can be compared.

Source: issue 6, "Rules as text".
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, final

import attrs

from cartesius.errors import CartesiusError, InvalidArgument
from dsl.declarations.sources import declaration
from dsl.editor.editing import added, deleted, moved, replaced
from dsl.editor.outline import Outline
from dsl.editor.typed_values import row, value
from dsl.refusals.errors import refusal
from dsl.terms.dimensions import INSTANT
from dsl.terms.texts import text as code
from dsl.text.phrasing import Phrasing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsl.editor.outline import Json
    from dsl.terms.dimensions import Kind

BACKUP: Final = ".bak"
"""What is added to a file's name for its last content."""
AROUND: Final = 2
"""How many unchanged lines are shown beside one that changed."""


class FileChanged(CartesiusError, RuntimeError):
    """The file is not what was loaded: somebody else saved it meanwhile. Nobody's fault; `File.compare` shows what.

    >>> from dsl.editor.drafts import FileChanged
    >>> issubclass(FileChanged, RuntimeError)
    True
    """


@final
@attrs.frozen
class File:
    """A file of rules."""

    path: Path

    def load(self) -> Json:
        """Return the text, and a version by which `save` knows whether the file is still this one."""
        content = self.path.read_bytes()
        return {"text": content.decode("utf-8"), "version": _version(content), "file": self.path.name}

    def compare(self, version: str, base: str, text: str) -> Json:
        """Return what two people changed: somebody else in the file, and you in the draft.

        Args:
            version: That of the text that was loaded.
            base: The text that was loaded.
            text: The draft.

        Returns:
            ``changed``: whether the file is no longer as it was loaded. If so, also ``version``, its own, None where it
            is gone; ``text``; ``at``, when it was last written, in milliseconds since the epoch; ``theirs`` and
            ``mine``: lines as pairs of a sign and a text. ``-`` is gone, ``+`` is new, a blank is unchanged, ``…`` are
            left out.
        """
        try:
            content, at = self.path.read_bytes(), round(self.path.stat().st_mtime * 1000)
        except FileNotFoundError:
            content, at = None, None
        found = None if content is None else _version(content)
        if found == version:
            return {"changed": False}
        now = "" if content is None else content.decode("utf-8", "replace")
        theirs = [] if content is None else _difference(base, now)
        mine = _difference(base, text)
        return {"changed": True, "version": found, "at": at, "text": now, "theirs": theirs, "mine": mine}

    def save(self, text: str, version: str | None) -> Json:
        """Replace the file by ``text``, in one step, and keep what it held in a file beside it.

        Args:
            text: The new text.
            version: What the file must still be: that of a `load` or `compare`; None: not there.

        Raises:
            FileChanged: The file is no longer the one that was loaded as ``version``.
            InvalidRule: The text does not read as a pack; nor would it when it is opened again.
            DimensionMismatch: Likewise.
            UnknownField: Likewise.
        """
        Outline(text, self.path.name)
        found = _version(self.path.read_bytes()) if self.path.exists() else None
        if found != version:
            fix = [("fix", "compare the two texts, and choose one")]
            raise FileChanged(refusal(f"{self.path.name}: expected the file as it was loaded but it changed", fix, ""))
        target = self.path.resolve()
        if found is not None:
            shutil.copy2(target, target.with_name(target.name + BACKUP))
        content = text.encode("utf-8")
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as written:
                written.write(content)
                written.flush()
                os.fsync(written.fileno())
            if found is not None:
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return {"version": _version(content), "backup": None if found is None else target.name + BACKUP}


def read(draft: Json, file: str) -> Json:
    """Return the outline of a draft."""
    return Outline(_text(draft), file).described()


def edit(draft: Json, file: str) -> Json:
    """Return the draft's new text and its outline after one edit: replace, add, delete or move.

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
    return {"text": text, "outline": Outline(text, file).described()}


def expression(draft: Json, file: str) -> Json:
    """Return the kind of an expression of a draft, and the units it may be compared in."""
    return Outline(_text(draft), file).expression(str(draft.get("expression", "")))


def judge(draft: Json, file: str) -> Json:
    """Return the verdict of a draft on one situation: lists of rows, of texts as people type them; "" is not known.

    What was observed and what is not known is called as the sentences call it: `draught`, not `vessel.draught`.

    Raises:
        InvalidArgument: A value is none of its field's kind.
    """
    outline = Outline(_text(draft), file)
    rows: dict[str, Any] = {}
    given = _object("rows", draft.get("rows", {}))
    for source in outline.described()["sources"]:
        name, kinds = source["name"], _kinds(outline, source["name"])
        listed = given.get(name, [])
        if not isinstance(listed, list):
            _refuse(f"a list of the rows of {name!r}", listed)
        found = [row(name, kinds, _object(f"a row of {name!r}", each)) for each in listed]
        known = [each for each in found if any(one is not None for one in each.values())]
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
                "name": reason.name, "location": reason.location, "because": reason.because,
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


def _difference(before: str, after: str) -> list[tuple[str, str]]:
    """The lines that changed, with those around them."""
    old, new = before.splitlines(), after.splitlines()
    found: list[tuple[str, str]] = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(AROUND):
        found += [("…", "")] if found else []
        for kind, first, last, start, end in group:
            if kind == "equal":
                found += [(" ", line) for line in old[first:last]]
            else:
                found += [("-", line) for line in old[first:last]] + [("+", line) for line in new[start:end]]
    return found


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


def _kinds(outline: Outline, name: str) -> dict[str, Kind]:
    vocabulary = outline.terms.vocabulary
    return dict(next(source.fields for source in vocabulary.sources if source.name == name))


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


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
