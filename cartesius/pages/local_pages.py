"""Pages that are served to this machine alone.

Plain HTML, style and script from a folder, without build step or anything from elsewhere; a content security policy
lets nothing else run. The server listens on 127.0.0.1 unless it is told another host, answers only to the names of that
(so no other site's name can be bent to it), and whoever asks a question must carry a token, wherever it listens. The
token is in the address that `serve` prints, behind the #, which no browser sends anywhere: whoever asks for the page
gets a page, and nothing of what it shows. It travels in a header, which no other site's page can set.

Questions are answered in a thread of their own, one at a time, so that a long one keeps nobody from being answered.

A page may have a stream, ``GET /live``: server-sent events, which a page reads with ``fetch``, so that the token
goes in the same header. A reader that comes back names the last event that it saw in ``Last-Event-ID``. Whoever reads
slowly is given less: what a `Live` has after an event is asked when the reader has taken what came before, and nothing
waits for it in memory; whoever takes nothing for `STUCK_S` is cut off.

The only module that knows starlette, uvicorn and anyio, on which both stand; it is over 300 lines because it is.

Source: OWASP on cross-site request forgery and DNS rebinding; the HTML standard, "Server-sent events".
"""

from __future__ import annotations

import json
import secrets
import socket
import webbrowser
from asyncio import Event, get_running_loop
from itertools import count
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import anyio
import attrs
import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from cartesius.errors import CartesiusError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

Json: TypeAlias = "dict[str, Any]"

HOSTS: Final = ["127.0.0.1", "localhost"]
_ANYWHERE: Final = ("0.0.0.0", "::")
LARGEST: Final = 4_000_000
"""Bytes that a request may have."""
STREAMS: Final = 64
"""How many streams of a page may be open at a time."""
CONNECTIONS: Final = 256
"""How many connections a server has at a time; whoever comes beyond is told to come again."""
STEP_S: Final = 0.08
"""In what steps a reader is sent what is new, so that it is woken once for all that came meanwhile."""
STUCK_S: Final = 30.0
"""For how many seconds the reader of a stream may take nothing."""

_GOLDEN: Final = 0.618034
"""Of a step, from the turn of one reader to that of the next: however many there are, no two have theirs together, and
the pages of a machine are not all drawn at one moment."""

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@attrs.frozen
class Told:
    """An event of a stream.

    Args:
        id: What a reader that comes back names; in one line.
        event: Its kind; in one line.
        data: JSON in one line.
    """

    id: str
    event: str
    data: str

    def as_bytes(self) -> bytes:
        r"""Return it as server-sent events are written.

        >>> Told("7", "clock", "{}").as_bytes()
        b'id: 7\nevent: clock\ndata: {}\n\n'
        """
        return f"id: {self.id}\nevent: {self.event}\ndata: {self.data}\n\n".encode()


class Live(Protocol):
    """What a stream tells: a state of which each part has the number of its last change, not a list that grows."""

    def after(self, last: str | None) -> Sequence[Told]:
        """Return what has come after an event, in order, and at most as much as is sent at once; None: all there is.

        Called in the loop of the server: it must not wait.
        """
        ...

    def waking(self, wake: Callable[[], object]) -> AbstractContextManager[object]:
        """Have ``wake`` called, from any thread, when there is more; until the context ends."""
        ...


@attrs.frozen
class Page:
    """A page, and who answers it.

    Args:
        folder: Where ``page.html``, ``page.css`` and the scripts are.
        name: What it is called where somebody without a token is sent away.
        answers: The questions, by name: each a function from an object to an object, of plain data.
        statuses: With which HTTP status an error of a kind is answered; any other `CartesiusError` with 422.
        scripts: The names of its scripts.
        live: What its stream tells; None: it has none.
    """

    folder: Path
    name: str
    answers: Mapping[str, Callable[[Json], Json]]
    statuses: Mapping[type[Exception], int] = {}
    scripts: tuple[str, ...] = ("page.js",)
    live: Live | None = None


def application(page: Page, secret: str, hosts: Sequence[str] = HOSTS) -> Starlette:
    """Return the application that serves a page.

    Args:
        page: The page.
        secret: What requests must carry.
        hosts: The names to which it answers.
    """
    one_at_a_time = CapacityLimiter(1)
    streams, closing, turns = CapacityLimiter(STREAMS), Event(), count()
    types = dict.fromkeys(("common.js", *page.scripts), "text/javascript")
    types |= {"page.html": "text/html", "page.css": "text/css", "common.css": "text/css"}

    def file(request: Request) -> Response:
        name = request.path_params.get("name", "page.html")
        if name not in types:
            return Response("not here", 404, _HEADERS)
        folder = Path(__file__).parent if name.startswith("common.") else page.folder
        return Response((folder / name).read_bytes(), headers=_HEADERS, media_type=types[name])

    def is_stranger(request: Request) -> bool:
        return not secrets.compare_digest(request.headers.get("x-token", "").encode(), secret.encode())

    stranger = f"open the address that {page.name} printed when it started"

    async def live(request: Request) -> Response:
        if is_stranger(request):
            return _refused(stranger, 403)
        if page.live is None:
            return _refused("this page has no stream", 404)
        if not streams.available_tokens:
            return _refused(f"at most {STREAMS} streams are open at a time; close a page", 503)
        turn = next(turns) * _GOLDEN % 1 * STEP_S
        return _Stream(page.live, request.headers.get("last-event-id"), turn, streams, closing)

    async def answer(request: Request) -> Response:
        if is_stranger(request):
            return _refused(stranger, 403)
        body = bytearray()
        async for chunk in request.stream():  # what a request says of its length need not be so
            body += chunk
            if len(body) > LARGEST:
                return _refused(f"a request has at most {LARGEST} bytes", 413)
        try:
            draft = json.loads(body)
        except (ValueError, RecursionError):
            draft = None
        if not isinstance(draft, dict):
            return _refused("a request is an object in JSON", 400)
        return await to_thread.run_sync(_answered, page, request.path_params["question"], draft, limiter=one_at_a_time)

    made = Starlette(
        routes=[
            Route("/", file),
            Route("/live", live, methods=["GET"]),
            Route("/{name:str}", file),
            Route("/api/{question:str}", answer, methods=["POST"]),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)],
    )
    made.state.closing = closing
    return made


class _Stream(Response):
    """Sends what a `Live` tells, until the reader goes or takes nothing for too long."""

    media_type = "text/event-stream"

    def __init__(self, live: Live, last: str | None, turn: float, streams: CapacityLimiter, closing: Event) -> None:
        super().__init__(None, headers=_HEADERS)
        del self.headers["content-length"]
        self._live, self._last, self._turn, self._streams, self._closing = live, last, turn, streams, closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        del scope

        async def until_gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        async with self._streams:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._tell, send, tasks.cancel_scope)
                tasks.start_soon(until_gone)
                await self._closing.wait()  # it never ends by itself
                tasks.cancel_scope.cancel()
            with anyio.move_on_after(1.0):
                await send({"type": "http.response.body", "body": b""})

    async def _tell(self, send: Send, whole: anyio.CancelScope) -> None:
        more, loop = Event(), get_running_loop()
        with self._live.waking(lambda: loop.call_soon_threadsafe(more.set)), anyio.move_on_after(STUCK_S) as patience:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while True:
                more.clear()  # before it is looked, so that nothing that comes meanwhile is missed
                told = self._live.after(self._last)
                if told:
                    self._last = told[-1].id
                    body = b"".join(each.as_bytes() for each in told)
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                    await anyio.sleep(STEP_S - (anyio.current_time() - self._turn) % STEP_S)
                else:
                    patience.deadline = float("inf")  # nobody is stuck while there is nothing to take
                    await more.wait()
                patience.deadline = anyio.current_time() + STUCK_S
        whole.cancel()


def _answered(page: Page, question: str, draft: Json) -> Response:
    if question not in page.answers:
        return _refused(f"there is no question {question!r}", 404)
    try:
        return JSONResponse(page.answers[question](draft), headers=_HEADERS)
    except CartesiusError as error:
        return _refused(str(error), page.statuses.get(type(error), 422))
    except (OSError, UnicodeError, TypeError, ValueError, RecursionError) as error:
        return _refused(f"{type(error).__name__}: {error}", 500)


def _refused(message: str, status: int) -> Response:
    return JSONResponse({"error": message}, status, _HEADERS)


def listening(port: int, host: str = HOSTS[0]) -> socket.socket:
    """Return a socket that listens on a TCP port; 0: on any free one.

    Args:
        port: The port.
        host: The name or address of this machine at which it listens; an IPv6 address without brackets.
    """
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def names_of(host: str) -> list[str]:
    """Return the names to which a server answers that listens at ``host``: this machine's, where that is said.

    >>> names_of("127.0.0.1")
    ['127.0.0.1', 'localhost']
    """
    if host in HOSTS:
        return HOSTS
    name = socket.gethostname()
    known = {each[4][0] for each in socket.getaddrinfo(name, None)} if host in _ANYWHERE else {host}
    return [*HOSTS, *sorted({name, socket.getfqdn(), *(_bracketed(str(one)) for one in known)} - {*HOSTS})]


def _bracketed(host: str) -> str:
    """Return a host as it stands in an address."""
    return f"[{host}]" if ":" in host else host


def address_of(server: socket.socket, secret: str) -> str:
    """Return the address of the page that is served there."""
    host, port = server.getsockname()[:2]
    name = socket.gethostname() if host in _ANYWHERE else _bracketed(host)
    return f"http://{name}:{port}/#{secret}"


def serve(
    page: Page,
    sockets: socket.socket,
    browse: bool,
    said: str,
    host: str = HOSTS[0],
    is_over: Callable[[], bool] = bool,
) -> None:
    """Serve a page until interrupted, and print where it is.

    Args:
        page: The page.
        sockets: What `listening` has given for the host.
        browse: Whether to open a browser.
        said: What is printed before the address.
        host: Where it listens.
        is_over: Whether it is to end without that.
    """
    secret = secrets.token_urlsafe(32)
    address = address_of(sockets, secret)
    print(f"{said} at {address} (Ctrl-C ends it)", flush=True)
    if browse:
        webbrowser.open(address)
    running = server(page, secret, names_of(host))
    running.is_over = is_over
    running.run(sockets=[sockets])


def serve_beside(page: Page, port: int, said: str) -> str:
    """Serve a page in a thread that ends with the process; print where it is, and return that.

    Args:
        page: The page.
        port: The TCP port; 0: any free one.
        said: What is printed before the address.
    """
    sockets, secret = listening(port), secrets.token_urlsafe(32)
    address = address_of(sockets, secret)
    print(f"{said} at {address} (until this process ends)", flush=True)
    Thread(target=server(page, secret).run, kwargs={"sockets": [sockets]}, daemon=True).start()
    return address


def server(page: Page, secret: str, hosts: Sequence[str] = HOSTS) -> _Server:
    """Return the server of a page, which is not started yet: `run` takes the sockets that it listens on."""
    config = uvicorn.Config(
        application(page, secret, hosts),
        log_level="warning",
        lifespan="off",
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=1,  # a stream never ends by itself
    )
    return _Server(config)


class _Server(uvicorn.Server):
    """Ends the streams when it is ended."""

    is_over: Callable[[], bool] = staticmethod(bool)  # which says no

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self.is_over()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state.closing.set()  # type: ignore[union-attr]  # it is what `application` gives
        await super().shutdown(sockets)
