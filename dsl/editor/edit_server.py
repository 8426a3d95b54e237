"""The page that edits a file of rules, served to this machine alone (`cartesius.pages`).

What it asks is answered by `drafts`; besides, it loads the file, saves it, and compares it with what was changed here.

Source: issues 6 and 18.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from cartesius.pages.local_pages import Page
from dsl.editor.drafts import ANSWERS, FileChanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.pages.local_pages import Json
    from dsl.editor.drafts import File

_SCRIPTS: Final = ("elements.js", "page.js", "rule_form.js", "situation.js", "changed_file.js")


def page_of(file: File) -> Page:
    """Return the page that edits ``file``."""

    def asked(question: str) -> Callable[[Json], Json]:
        return lambda draft: ANSWERS[question](draft, file.path.name)

    def save(draft: Json) -> Json:
        version = draft.get("version")
        return file.save(str(draft.get("text")), None if version is None else str(version))

    def compare(draft: Json) -> Json:
        version, base, text = (str(draft.get(name, "")) for name in ("version", "base", "text"))
        return file.compare(version, base, text)

    own = {"load": lambda _: file.load(), "save": save, "compare": compare}
    answers = {**{question: asked(question) for question in ANSWERS}, **own}
    return Page(Path(__file__).parent, "the editor", answers, {FileChanged: 409}, _SCRIPTS)
