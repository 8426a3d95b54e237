"""The threads of an office: each has one piece of work, and none ends unseen."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event


def at_work(name: str, work: Callable[[], object], stop: Event) -> Future[None]:
    """Do some work in a thread of its own, and return how it ends; if it fails, set ``stop``: all others end as well.

    Args:
        name: What the thread is called.
        work: The work, which ends when ``stop`` is set.
        stop: Ends it.
    """
    ended: Future[None] = Future()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # it is raised where it is asked for
            ended.set_exception(error)
            stop.set()
        else:
            ended.set_result(None)

    Thread(target=run, name=name, daemon=True).start()
    return ended
