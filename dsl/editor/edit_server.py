"""The page that edits a file of rules, served to this machine alone (`cartesius.pages`).

What it asks is answered by `drafts`; besides, it loads the file and saves it.

Source: issues 6 and 18.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cartesius.pages.local_pages import Page
from dsl.editor.drafts import ANSWERS, FileChanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.pages.local_pages import Json
    from dsl.editor.drafts import File


def page_of(file: File) -> Page:
    """Return the page that edits ``file``."""

    def asked(question: str) -> Callable[[Json], Json]:
        return lambda draft: ANSWERS[question](draft, file.path.name)

    answers: dict[str, Callable[[Json], Json]] = {question: asked(question) for question in ANSWERS}
    answers["load"] = lambda _: file.load()
    answers["save"] = lambda draft: file.save(str(draft.get("text")), str(draft.get("version")))
    return Page(Path(__file__).parent, "the editor", answers, {FileChanged: 409})
