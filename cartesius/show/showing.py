"""Showing recordings on a page: until Ctrl-C; in a notebook, beside it, until its kernel ends."""

from __future__ import annotations

import sys
from asyncio import get_running_loop
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from cartesius.errors import InvalidArgument
from cartesius.installation import needing
from cartesius.show.recordings import recording_of
from cartesius.show.show_answers import Answers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from cartesius.core.engine_core import EngineCore
    from cartesius.pages.local_pages import Page
    from cartesius.show.recordings import Recording

P = ParamSpec("P")
T = TypeVar("T")
EXTRA = "cartesius-joins[edit]"
"""What serves a page."""


def page_of(
    recordings: Sequence[Recording],
    chosen: int,
    title: str,
    place: Callable[[], AbstractContextManager[None]] | None = None,
) -> Page:
    """Return the page that shows recordings, and one of them first; its questions are answered in a place, if given."""
    from cartesius.pages.local_pages import Page  # noqa: PLC0415 - who serves no page needs no server

    answers = Answers(recordings, chosen, title).questions
    if place is not None:
        answers = {name: _placed(place, answer) for name, answer in answers.items()}
    return Page(Path(__file__).parent, "the command", answers)


def show_recordings(
    recordings: Sequence[Recording],
    chosen: int,
    *,
    call: str,
    title: str,
    port: int,
    browse: bool,
    place: Callable[[], AbstractContextManager[None]] | None = None,
) -> None:
    """Show recordings on a page, until Ctrl-C.

    Args:
        recordings: What can be shown.
        chosen: Which one is shown first.
        call: In whose name a missing package is told.
        title: What the page is called.
        port: The TCP port; 0: any free one.
        browse: Whether to open a browser.
        place: Makes the context of each answer.

    Raises:
        InvalidArgument: An event loop is running in this thread, which the page would block.
        NotInstalled: There is no starlette or no uvicorn, the extra ``edit``.
        OSError: The port is taken.
    """
    with needing(call, EXTRA):
        from cartesius.pages.local_pages import listening, serve, serve_beside  # noqa: PLC0415 - as above
    page, said = page_of(recordings, chosen, title, place), f"Showing {title}"
    if _is_notebook():
        serve_beside(page, port, said)
        return
    with suppress(RuntimeError):
        get_running_loop()
        message = (
            f"{call}: expected no running event loop, as the page is served until Ctrl-C; call it when asyncio.run has"
            " returned"
        )
        raise InvalidArgument(message)
    with suppress(KeyboardInterrupt), listening(port) as sockets:
        serve(page, sockets, browse, said)


def show_engine(engine: EngineCore, *, port: int, browse: bool) -> None:
    """Show what a traced engine was told so far."""
    recording = recording_of(engine, "Engine.show")
    show_recordings([recording], 0, call="Engine.show", title=recording.title, port=port, browse=browse)


def _is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    interactive = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(interactive, "kernel", None) is not None


def _placed(place: Callable[[], AbstractContextManager[None]], answer: Callable[P, T]) -> Callable[P, T]:
    def answered(*arguments: P.args, **options: P.kwargs) -> T:
        with place():
            return answer(*arguments, **options)

    return answered
