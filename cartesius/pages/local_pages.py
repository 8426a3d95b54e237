"""Pages that are served to this machine alone.

Plain HTML, style and script from a folder, without build step or anything from elsewhere; a content security policy
lets nothing else run. The server listens on 127.0.0.1, answers only to that name (so no other site's name can be bent
to it), and whoever asks a question must carry a token. The token is in the address that `serve` prints, behind the #,
which no browser sends anywhere: whoever on this machine asks for the page gets a page, and nothing of what it shows.

Questions are answered in a thread of their own, one at a time, so that a long one keeps nobody from being answered.

The only module that knows starlette, uvicorn and anyio, on which both stand.

Source: OWASP on cross-site request forgery and DNS rebinding.
"""

from __future__ import annotations

import json
import secrets
import socket
import webbrowser
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeAlias

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
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

Json: TypeAlias = "dict[str, Any]"

HOSTS: Final = ["127.0.0.1", "localhost"]
LARGEST: Final = 4_000_000
"""Bytes that a request may have."""

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@attrs.frozen
class Page:
    """A page, and who answers it.

    Args:
        folder: Where ``page.html``, ``page.css`` and the scripts are.
        name: What it is called where somebody without a token is sent away.
        answers: The questions, by name: each a function from an object to an object, of plain data.
        statuses: With which HTTP status an error of a kind is answered; any other `CartesiusError` with 422.
        scripts: The names of its scripts.
    """

    folder: Path
    name: str
    answers: Mapping[str, Callable[[Json], Json]]
    statuses: Mapping[type[Exception], int] = {}
    scripts: tuple[str, ...] = ("page.js",)


def application(page: Page, secret: str) -> Starlette:
    """Return the application that serves a page.

    Args:
        page: The page.
        secret: What requests must carry.
    """
    one_at_a_time = CapacityLimiter(1)
    types = dict.fromkeys(("common.js", *page.scripts), "text/javascript")
    types |= {"page.html": "text/html", "page.css": "text/css", "common.css": "text/css"}

    def file(request: Request) -> Response:
        name = request.path_params.get("name", "page.html")
        if name not in types:
            return Response("not here", 404, _HEADERS)
        folder = Path(__file__).parent if name.startswith("common.") else page.folder
        return Response((folder / name).read_bytes(), headers=_HEADERS, media_type=types[name])

    async def answer(request: Request) -> Response:
        if not secrets.compare_digest(request.headers.get("x-token", "").encode(), secret.encode()):
            return _refused(f"open the address that {page.name} printed when it started", 403)
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

    return Starlette(
        routes=[
            Route("/", file),
            Route("/{name:str}", file),
            Route("/api/{question:str}", answer, methods=["POST"]),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False)],
    )


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


def listening(port: int) -> socket.socket:
    """Return a socket that listens on a TCP port of this machine; 0: on any free one."""
    return socket.create_server((HOSTS[0], port))


def address_of(server: socket.socket, secret: str) -> str:
    """Return the address of the page that is served there."""
    return f"http://{HOSTS[0]}:{server.getsockname()[1]}/#{secret}"


def serve(page: Page, port: int, browse: bool, said: str) -> None:
    """Serve a page until interrupted, and print where it is.

    Args:
        page: The page.
        port: The TCP port; 0: any free one.
        browse: Whether to open a browser.
        said: What is printed before the address.
    """
    with listening(port) as sockets:
        secret = secrets.token_urlsafe(32)
        address = address_of(sockets, secret)
        print(f"{said} at {address} (Ctrl-C ends it)", flush=True)
        if browse:
            webbrowser.open(address)
        server(page, secret).run(sockets=[sockets])


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


def server(page: Page, secret: str) -> uvicorn.Server:
    """Return the server of a page, which is not started yet: `run` takes the sockets that it listens on."""
    return uvicorn.Server(uvicorn.Config(application(page, secret), log_level="warning", lifespan="off"))
