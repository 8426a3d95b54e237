"""Delivery: what is in the outbox is sent, in order, a thread a target, so that one that is down holds up no other.

What failed is tried again after 1, 2, 4, … seconds, at most `LONGEST_WAIT_S`, for as long as it takes: nothing is given
up. Where the target is to blame, all that waits for it waits; where it refuses one message, that one.
"""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from threading import Event, Thread
from time import time
from typing import TYPE_CHECKING, Final

from cartesius.errors import block
from dsl.alerts.outbox import Outbox
from dsl.alerts.targets import NotDelivered

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from pathlib import Path

    from dsl.alerts.messages import Message
    from dsl.alerts.targets import Target

FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 900.0
_LOOK_S: Final = 0.5
"""How often the outbox is looked at where nothing is due, in seconds."""


def pause(attempts: int) -> float:
    """Return how long to wait after so many attempts, in seconds.

    >>> [pause(1), pause(2), pause(5), pause(1_000)]
    [1.0, 2.0, 16.0, 900.0]
    """
    return float(min(FIRST_WAIT_S * 2 ** min(attempts - 1, 60), LONGEST_WAIT_S))


class Delivery:
    """Sends what waits for one target.

    Args:
        outbox: The outbox.
        name: What the target is called.
        target: The target.
        clock: The time, in seconds.
        tell: Gets a line where something failed, and where it works again.
    """

    def __init__(
        self,
        outbox: Outbox,
        name: str,
        target: Target,
        clock: Callable[[], float] = time,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.outbox, self.name, self.target, self._clock, self._tell = outbox, name, target, clock, tell
        self.failures = 0
        """How often the target failed since it last said yes."""
        self.until = 0.0
        """Before then nothing is sent to it."""

    def step(self) -> int:
        """Send what is due, until the target fails; return how many messages it said yes to."""
        sent = 0
        if self._clock() < self.until:
            return 0
        for each in self.outbox.due(self.name, now=self._clock()):
            try:
                self._send(each.message)
            except NotDelivered as error:
                self._failed(error, each.attempts + 1)
                if error.is_down:
                    return sent
                self.outbox.said_no(each.message, due=self._clock() + pause(each.attempts + 1))
                continue
            self.outbox.said_yes(each.message, now=self._clock())
            sent += 1
            if self.failures:
                self._tell(f"{self.name}: {self.target.where} works again")
            self.failures = 0
        return sent

    def _send(self, message: Message) -> None:
        try:
            self.target.send(message)
        except NotDelivered:
            raise
        except Exception as error:  # a fault in what sends, which must hold up no other message
            problem = f"{self.target.where}: {type(error).__name__}"
            raise NotDelivered(problem, is_down=False) from error

    def _failed(self, error: NotDelivered, attempts: int) -> None:
        if error.is_down:
            self.failures += 1
            attempts = self.failures
            self.until = self._clock() + pause(attempts)
        self._tell(f"{self.name}: {error}; tried again in {pause(attempts):g} s")


@block
def delivering(path: Path, targets: Mapping[str, Target], tell: Callable[[str], None]) -> Generator[None]:
    """Send what is in an outbox while the block runs; at its end what is due is tried once more.

    Args:
        path: The outbox.
        targets: The targets, by name.
        tell: Gets a line, from any thread, where something failed, and where it works again.

    Raises:
        OutboxInUse: Another process sends from it.
    """
    stop = Event()

    def run(name: str, target: Target) -> None:
        delivery: Delivery | None = None
        failures, is_last = 0, False
        with ExitStack() as opened:
            while not is_last:
                is_last = stop.is_set()
                try:
                    if delivery is None:
                        outbox = opened.enter_context(closing(Outbox(path)))
                        delivery = Delivery(outbox, name, target, tell=tell)
                    wait = 0.0 if delivery.step() else _LOOK_S
                    failures = 0
                except sqlite3.Error as error:  # a full disk, or another program that keeps the outbox to itself
                    failures += 1
                    wait = pause(failures)
                    tell(f"{name}: the outbox: {error}; tried again in {wait:g} s")
                stop.wait(wait)

    first = Outbox(path)
    threads = [Thread(target=run, args=each, name=f"alerts to {each[0]}", daemon=True) for each in targets.items()]
    with closing(first), first.alone():
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()
