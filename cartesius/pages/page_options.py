"""The options of a command that serves a page."""

from __future__ import annotations

import argparse


def add_page_options(command: argparse.ArgumentParser) -> None:
    """Add ``--port`` and ``--no-browser`` to a command.

    >>> import argparse
    >>> parser = argparse.ArgumentParser()
    >>> add_page_options(parser)
    >>> parser.parse_args(["--port", "8080"])
    Namespace(port=8080, no_browser=False)
    """
    command.add_argument("--port", type=_port, default=0, help="the port to listen on; default: any free one")
    command.add_argument("--no-browser", action="store_true", help="print the address only")


def _port(text: str) -> int:
    if not text.isdecimal() or not int(text) < 2**16:
        message = f"expected a port from 0 to 65535 but got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return int(text)
