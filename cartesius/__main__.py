"""The command `python -m cartesius`: show a program at work, step by step, on a page.

It needs the extra ``edit``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cartesius.engines.engine import Engine
from cartesius.errors import InvalidArgument, NotInstalled
from cartesius.pages.page_options import add_page_options
from cartesius.show.program_files import ProgramFailed, fed, ran, recordings_of
from cartesius.show.showing import show_recordings

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 0, or 1 for a program that is not there, raises or shows nothing.

    Args:
        arguments: What stands behind ``python -m cartesius``; default: the program's own arguments.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    until = given.index("--") if "--" in given else len(given)  # argparse takes it behind the program alone
    chosen = _parser().parse_args(given[:until])
    try:
        program, name = ran(chosen.program, chosen.arguments + given[until + 1 :])
        call, browse = "python -m cartesius show", not chosen.no_browser
        if chosen.events is None:
            recordings, first = recordings_of(program, name)
        else:
            with program.in_place():
                recordings, first = [fed(program, name, chosen.events, Engine)], 0
        # Answers run its bodies again; the server must not find its modules.
        place, title, port = program.in_place, program.title, chosen.port
        show_recordings(recordings, first, call=call, title=title, port=port, browse=browse, place=place)
    except ProgramFailed as error:
        return _fail(str(error))
    except (InvalidArgument, NotInstalled) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"show: cannot listen on port {chosen.port}: {error.strerror}; choose another with --port")
    return 0


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cartesius", description="Look at a program at work.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    said = "run a program, and open a page in the browser that steps through what its engines did"
    show = commands.add_parser("show", help=said, description=said.capitalize() + ".")
    show.add_argument(
        "program", metavar="PROGRAM", help="FILE.py or a module; with :NAME, the engine or reactive NAME of it"
    )
    show.add_argument("arguments", metavar="ARGUMENT", nargs="*", help="the program's own arguments, after --")
    fed_with = "JSON lines to feed to an engine like the one named, or to a reactive, with times in microseconds"
    show.add_argument("--events", type=Path, metavar="FILE", help=fed_with)
    add_page_options(show)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
