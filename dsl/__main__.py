"""The command `python -m dsl`: check, describe or edit a file of rules.

`check` reports what is wrong with the file, its line and a caret, or else the flaws that `RulePack.lint` proves, and
exits with 1; `edit` needs `cartesius-joins[edit]`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cartesius.errors import CartesiusError, NotInstalled
from cartesius.installation import needing
from cartesius.pages.page_options import add_page_options
from dsl.editor.drafts import File
from dsl.rule_packs import RulePack

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 0, or 1 for a file that is wrong or not there.

    Args:
        arguments: What stands behind ``python -m dsl``; default: the program's own arguments.
    """
    chosen = _parser().parse_args(arguments)
    path: Path = chosen.file
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        return _fail(f"{path}: {error.strerror}; name a file of rules, such as examples/rules/harbour.rules")
    except UnicodeError:
        return _fail(f"{path}: is no text in UTF-8; save it as plain text, with the encoding UTF-8")
    if chosen.command == "edit":
        return _edit(path, chosen.port, not chosen.no_browser)
    try:
        pack = RulePack.from_text(text, str(path))
    except CartesiusError as error:
        return _fail(str(error))
    if chosen.command == "describe":
        print(pack.describe())
        return 0
    findings = pack.lint()
    if findings:
        return _fail("\n".join(map(str, findings)))
    print(f"{path}: {pack!r}")
    return 0


def _edit(path: Path, port: int, browse: bool) -> int:
    try:
        with needing("python -m dsl edit", "cartesius-joins[edit]"):
            from cartesius.pages.local_pages import serve  # noqa: PLC0415 - check and describe do without a server
            from dsl.editor.edit_server import page_of  # noqa: PLC0415 - as above
    except NotInstalled as error:
        return _fail(str(error))

    try:
        serve(page_of(File(path)), port, browse, f"Editing {path}")
    except OSError as error:
        return _fail(f"edit: cannot listen on port {port}: {error.strerror}; choose another with --port")
    except KeyboardInterrupt:
        pass
    return 0


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dsl", description="Check, describe or edit a file of rules.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, said in (
        (
            "check",
            "report whether the file is in order and its rules agree; if not, say why and exit with 1",
        ),
        ("describe", "print its rules as sentences"),
        ("edit", "open a page in the browser that edits its rules and judges an example"),
    ):
        command = commands.add_parser(name, help=said, description=said.capitalize() + ".")
        command.add_argument(
            "file", type=Path, metavar="FILE", help="a file of rules, see docs/how_to/rules_as_text.md"
        )
        if name == "edit":
            add_page_options(command)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
