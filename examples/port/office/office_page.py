"""The page of the office, served to this machine alone, or to those who have its token (`cartesius.pages`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from cartesius.pages.local_pages import Page
from examples.port.office.board import NotUnderstood

if TYPE_CHECKING:
    from examples.port.office.board import Board
    from examples.port.office.following import Following

FOLDER: Final = Path(__file__).resolve().parent / "page"


def page_of(board: Board, following: Following) -> Page:
    """Return the page that shows an office."""
    scripts = tuple(sorted(path.name for path in FOLDER.glob("*.js")))
    answers = {"board": board.board, "ship": board.ship}
    return Page(FOLDER, "the board", answers, {NotUnderstood: 400}, scripts, following)
