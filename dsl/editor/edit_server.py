"""The page that edits a file of rules, served to this machine alone (`cartesius.pages`).

What it asks is answered by `drafts`; besides, it loads the file, saves it, compares it with what was changed here, and
with a history says what the draft would change, as plain data.

Source: issues 6 and 18.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from cartesius.errors import InvalidArgument
from cartesius.installation import needing
from cartesius.pages.local_pages import Page
from dsl.editor.drafts import ANSWERS
from dsl.editor.file_on_disk import FileChanged
from dsl.rule_packs import RulePack

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.pages.local_pages import Json
    from dsl.editor.file_on_disk import File

SHOWN: Final = 50
"""How many differences are shown, the longest first."""


def backtest(saved: str, draft: str, file: str, data: Path) -> Json:
    """Judge a history by the saved text and by a draft; return what the draft changes.

    Args:
        saved: The text of the file.
        draft: The text that may replace it.
        file: What the file is called.
        data: The folder with the history.

    Returns:
        ``isEmpty``; ``said``, a line on the history; ``subject``; ``before`` and ``after``, subject-hours restricted;
        ``begun``, a line on the differences that begin with the last rows, or empty; ``statuses``, ``rules`` and
        ``differences`` as rows; ``number``, of the differences; ``findings`` and ``mended``, flaws as texts;
        ``unread``, the rows that cannot be read, as texts, and ``numberUnread``.

    Raises:
        InvalidRule: Either text is no pack.
        InvalidArgument: The folder is no history for both.
        NotInstalled: There is no numpy or no pyarrow, the extra ``columns``.
    """
    with needing("Compare with the saved file", "cartesius-joins[columns]"):
        from dsl.comparison.comparing import compare  # noqa: PLC0415 - with numpy and Arrow, where they are wanted
        from dsl.comparison.comparison_words import begun, changed_rules, longest, spanned, why  # noqa: PLC0415 - as above

    found = compare(RulePack.from_text(saved, file), RulePack.from_text(draft, file), data)
    subject = next(iter(found.old.declarations))
    return {
        "isEmpty": found.is_empty,
        "said": f"{found.rows:,} rows, {found.subjects:,} subjects ({subject}), {spanned(found)}",
        "subject": subject,
        "before": found.hours("before"),
        "after": found.hours("after"),
        "begun": begun(found),
        "statuses": [attrs.asdict(each) for each in found.statuses],
        "rules": [
            {
                "rule": each.rule,
                "before": each.before,
                "after": each.after,
                "change": each.change,
                "subjects": f"{each.subjects_before} → {each.subjects_after}",
            }
            for each in changed_rules(found)
        ],
        "number": found.differences.num_rows,
        "differences": [
            {
                "subject": str(row["subject"]),
                "name": row["name"] or "",
                "start": f"{row['start']:%Y-%m-%d\u00a0%H:%M}",
                "end": "the end" if row["start"] == row["end"] else f"{row['end']:%Y-%m-%d\u00a0%H:%M}",
                "before": row["status_before"],
                "after": row["status_after"],
                "why": why(row),
            }
            for row in longest(found, SHOWN)
        ],
        "findings": [str(each) for each in found.findings],
        "mended": [str(each) for each in found.mended],
        "numberUnread": found.number_unread,
        "unread": [str(each) for each in found.unread[:SHOWN]],
    }


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
