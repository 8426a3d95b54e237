"""A receiver of AIS on a websocket: where each ship is, by its name, as its messages come in.

A receiver sends NMEA sentences as text, one or more a message. The connection is made anew when it breaks; a ship's
position comes every few seconds and its name every few minutes, so both are joined, the latest with the latest.

    python -m examples.receiver ws://127.0.0.1:8765
    python -m examples.receiver --replay FILE

Source: ITU-R M.1371-5; `nmea` reads sentences, by pyais.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosedError, InvalidURI
from websockets.uri import parse_uri

from cartesius import Engine, Event, Reactive, correlate
from dsl.command_lines import run
from examples.port.nmea import SentenceReader
from examples.port.tables import UnusableFile, read_lines
from restrictions import as_table, key_by, most_recently, retracting
from restrictions.streams import filter_

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

    from websockets.asyncio.server import ServerConnection

_FIELDS: Final = ("position", "speed", "name", "draught", "bound_for")

message = Reactive("message")
ships_by_name = correlate(
    report=filter_(message, lambda message: message.position is not None),
    said=filter_(message, lambda message: message.name is not None),
    yields=lambda report, said: {"name": said.name, "position": report.position, "speed": report.speed},
    restrict=key_by(report="mmsi", said="mmsi") | most_recently("report", "said") | retracting() | as_table("report"),
    name="ships_by_name",
)


async def received(
    address: str,
    *,
    now: Callable[[], int] = lambda: time.time_ns() // 1000,
    buried: Callable[[str, str], object] = lambda text, reason: None,
) -> AsyncGenerator[Event, None]:
    """Iterate over the messages that a receiver sends, for ever: it connects again when the connection breaks.

    Args:
        address: The websocket, as ``ws://host:port``.
        now: The time of receipt, in microseconds since the epoch, where the sentences do not say it.
        buried: Called with each sentence that is no message, and why.
    """
    reader = SentenceReader(address, None)  # it keeps what has come of a message in several sentences
    async for connection in connect(address):
        try:
            async for text in connection:
                for place, line in enumerate(str(text).splitlines(), start=reader.sentences + 1):
                    if line.strip():
                        reader.read(place, line.strip())
                for letter in reader.dead:
                    buried(letter.row, letter.reason)
                reader.dead.clear()
                for found in reader.messages:
                    at = found.time if found.time >= 0 else now()
                    yield Event({"mmsi": found.mmsi, **{name: found.values.get(name) for name in _FIELDS}}, at, at)
                reader.messages.clear()
        except ConnectionClosedError:
            continue  # the next one, after a while if it cannot be had at once


@asynccontextmanager
async def replaying(lines: Sequence[str], *, breaks_after: int = 0) -> AsyncIterator[str]:
    """Send sentences to who connects, each once, as a receiver does; give the address.

    Args:
        lines: The sentences.
        breaks_after: After how many the connection breaks, again and again; 0: it does not.
    """
    rest = iter(lines)

    async def send(connection: ServerConnection) -> None:
        for sent, line in enumerate(rest, start=1):
            await connection.send(line)
            if sent == breaks_after:
                await connection.close(1011)  # as a server that fails
                return
        await connection.wait_closed()

    async with serve(send, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}"


async def follow(address: str, show: Callable[[Any], object]) -> None:
    """Show each change of a ship, for ever."""
    async for event in Engine(ships_by_name, lateness=0).events({message: received(address)}):
        show(event.value)


def _sentences(path: Path) -> Sequence[str]:
    """Return the lines of a file of sentences.

    Raises:
        UnusableFile: It cannot be read, or nothing in it is a message: who replays it would wait for ever.
    """
    reader, lines = SentenceReader(str(path), None), read_lines(path).lines
    for place, line in enumerate(lines, start=1):
        if line.strip():
            reader.read(place, line.strip())
        if reader.messages:
            return lines
    why = f", the first of which says {reader.dead[0].reason!r}" if reader.dead else ""
    message = f"{path}: expected sentences of NMEA 0183 but none of its {len(lines)} lines is a message{why}"
    raise UnusableFile(message)


ADDRESS: Final = "ws://127.0.0.1:8765"


@click.command()
@click.argument("address", default=ADDRESS)
@click.option("--replay", type=click.Path(path_type=Path, exists=True), help="Send a file of sentences to itself.")
def main(address: str, replay: Path | None) -> None:
    """Print where ships are, by their names, as the receiver at ADDRESS hears them; Ctrl-C ends it.

    ADDRESS is that of a WebSocket; by default ws://127.0.0.1:8765.
    """
    try:
        parse_uri(address)
    except InvalidURI as error:
        message = f"expected the address of a WebSocket, as {ADDRESS}, but got {address!r}"
        raise click.BadParameter(message, param_hint="ADDRESS") from error

    async def print_all() -> None:
        if replay is None:
            click.echo(f"waiting for sentences from {address}; Ctrl-C ends it", err=True)
            await follow(address, click.echo)
            return
        async with replaying(_sentences(replay)) as own:
            await follow(own, click.echo)

    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(print_all())
    except UnusableFile as error:
        raise click.BadParameter(str(error), param_hint="--replay") from error


if __name__ == "__main__":
    run(main)
