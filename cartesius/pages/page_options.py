"""The options of a command that serves a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    port = int(text)
    if not 0 <= port < 2**16:
        raise ValueError(text)
    return port
