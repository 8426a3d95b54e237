"""The command `python -m dsl`: check, describe or edit a file of rules, compare two over a history, or ask why.

`check` reports what is wrong with the file, its line and a caret, or else the flaws that `RulePack.lint` proves, and
exits with 1; `edit` needs `cartesius-joins[edit]`, `compare` `cartesius-joins[compare]`, `why`
`cartesius-joins[columns]`.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from cartesius.errors import CartesiusError, NotInstalled
from cartesius.installation import needing
from cartesius.pages.page_options import add_page_options
from dsl.command_lines import printable, run
from dsl.editor.file_on_disk import File
from dsl.rule_packs import RulePack
from dsl.text.rule_files import rule_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 0, 1 for a file that is wrong; of `compare` and `why` see there.

    Args:
        arguments: What stands behind ``python -m dsl``; default: the program's own arguments.
    """
    chosen = _parser().parse_args(arguments)
    try:
        return int(chosen.command(chosen))
    except CartesiusError as error:
        return _fail(str(error))


def _count(text: str) -> int:
    if not text.isdecimal():
        message = f"expected a number ≥ 0 but got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _pack(file: Path) -> RulePack:
    return RulePack.from_text(rule_text(file), str(file))


def _check(chosen: argparse.Namespace) -> int:
    pack = _pack(chosen.file)
    findings = pack.lint()
    if findings:
        return _fail("\n".join(map(str, findings)))
    print(printable(f"{chosen.file}: {pack!r}"))
    return 0


def _describe(chosen: argparse.Namespace) -> int:
    print(printable(str(_pack(chosen.file).describe())))
    return 0


def _edit(chosen: argparse.Namespace) -> int:
    path, data = chosen.file, chosen.data
    rule_text(path)  # what cannot be read is refused before there is a page
    if data is not None and not data.is_dir():
        return _fail(f"edit: expected a folder with a history but there is none at {data}")
    with needing("python -m dsl edit", "cartesius-joins[edit]"):
        from cartesius.pages.local_pages import listening, serve  # noqa: PLC0415 - check and describe do without a server
        from dsl.editor.edit_server import page_of  # noqa: PLC0415 - as above

    try:
        with listening(chosen.port) as sockets:
            serve(page_of(File(path), data), sockets, not chosen.no_browser, printable(f"Editing {path}"))
    except OSError as error:
        return _fail(f"edit: cannot listen on port {chosen.port}: {error.strerror}; choose another with --port")
    except KeyboardInterrupt:
        pass
    return 0


def _of_room(name: str, extra: str, module: str, chosen: argparse.Namespace) -> int:
    """Run a command that needs an extra."""
    try:
        with needing(f"python -m dsl {name}", f"cartesius-joins[{extra}]"):
            command = import_module(module)
    except NotInstalled as error:
        print(error, file=sys.stderr)
        return 2
    return int(command.run(chosen))


def _fail(message: str) -> int:
    print(printable(message), file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dsl", description="Check, describe, edit or compare rules, or ask why."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(
        name: str, command: Callable[[argparse.Namespace], int], said: str, epilog: str | None = None
    ) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=said, description=said.capitalize() + ".", epilog=epilog)
        found.set_defaults(command=command)
        return found

    in_order = "report whether the file is in order and its rules agree; if not, say why and exit with 1"
    check, describe = add("check", _check, in_order), add("describe", _describe, "print its rules as sentences")
    edit = add("edit", _edit, "open a page in the browser that edits its rules and judges an example")
    for each in (check, describe, edit):
        each.add_argument("file", type=Path, metavar="FILE", help="a file of rules, see docs/how_to/rules_as_text.md")
    add_page_options(edit)
    edit.add_argument(
        "--data", type=Path, metavar="FOLDER", help="a history, over which the draft is compared with the file"
    )
    said = "judge a history by two files of rules, and show what changes"
    epilog = "Exit status: 0 nothing changes, 1 something does (see --fail-on), 2 refused."
    compare = partial(_of_room, "compare", "compare", "dsl.comparison.compare_command")  # with Arrow, rich, matplotlib
    _add_compare_options(add("compare", compare, said, epilog))
    said = "say why a subject, such as a ship, was judged as it was at any moment of a history"
    why = partial(_of_room, "why", "columns", "dsl.audit.why_command")  # with Arrow
    _add_why_options(add("why", why, said, "Exit status: 0 answered, 2 refused."))
    return parser


def _add_history(command: argparse.ArgumentParser) -> None:
    said = "the history: a file for each source, see docs/how_to/compare_rules.md"
    command.add_argument("--data", type=Path, required=True, metavar="FOLDER", help=said)


def _add_why_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--ship", "--subject", dest="subject", required=True, metavar="KEY|NAME", help="whose verdict: its key or name"
    )
    command.add_argument(
        "--at", required=True, metavar="TIME", help="when, as 2020-06-30T14:00Z; without a zone in UTC"
    )
    rules = command.add_mutually_exclusive_group(required=True)
    rules.add_argument("--rules", type=Path, metavar="FILE", help="the rules")
    rules.add_argument("--packs", type=Path, metavar="LOG", help="the log of packs: those count that were in force")
    _add_history(command)
    command.add_argument("--all", action="store_true", help="list also the requirements that did not apply")
    command.add_argument("--json", action="store_true", help="print the answer, all of it, as JSON")


def _add_compare_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("old", type=Path, metavar="OLD.rules", help="the rules as they are")
    command.add_argument("new", type=Path, metavar="NEW.rules", help="the rules as they would be")
    _add_history(command)
    command.add_argument("--out", type=Path, metavar="FOLDER", help="write a Parquet file and a picture there")
    command.add_argument("--spark", action="store_true", help="judge on a local Spark, which finds the same")
    command.add_argument(
        "--rows", type=_count, default=20, metavar="N", help="how many differences to print; default: 20"
    )
    command.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="CHANGE",
        help="exit with 1 on this alone: restricted, status, reasons, findings or unread; may be given several times",
    )


if __name__ == "__main__":
    run(main)
