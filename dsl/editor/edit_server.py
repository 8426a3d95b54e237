"""The page that edits a file of rules, served to this machine alone (`cartesius.pages`).

What it asks is answered by `drafts`; besides, it loads the file, saves it, compares it with what was changed here, and
with a history says what the draft would change.

Source: issues 6 and 18.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from cartesius.errors import InvalidArgument
from cartesius.pages.local_pages import Page
from dsl.editor.backtesting import backtest
from dsl.editor.drafts import ANSWERS, FileChanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.pages.local_pages import Json
    from dsl.editor.drafts import File

_SCRIPTS: Final = ("elements.js", "page.js", "rule_form.js", "situation.js", "changed_file.js", "backtest.js")


def page_of(file: File, data: Path | None = None) -> Page:
    """Return the page that edits ``file``, and compares the draft with it over the history in ``data``."""

    def asked(question: str) -> Callable[[Json], Json]:
        return lambda draft: ANSWERS[question](draft, file.path.name)

    def save(draft: Json) -> Json:
        version = draft.get("version")
        return file.save(str(draft.get("text")), None if version is None else str(version))

    def compare(draft: Json) -> Json:
        version, base, text = (str(draft.get(name, "")) for name in ("version", "base", "text"))
        return file.compare(version, base, text)

    def load(_: Json) -> Json:
        return {**file.load(), "hasHistory": data is not None}

    def what_changes(draft: Json) -> Json:
        if data is None:
            message = "expected a history to compare over but there is none; start the editor with --data FOLDER"
            raise InvalidArgument(message)
        return backtest(str(file.load()["text"]), str(draft.get("text")), file.path.name, data)

    own = {"load": load, "save": save, "compare": compare, "backtest": what_changes}
    answers = {**{question: asked(question) for question in ANSWERS}, **own}
    return Page(Path(__file__).parent, "the editor", answers, {FileChanged: 409}, _SCRIPTS)
