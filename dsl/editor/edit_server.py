"""The page that edits a file of rules, served to this machine alone.

Plain HTML, style and script from `dsl/editor`, without build step or anything from elsewhere; a content security policy
lets nothing else run. The server listens on 127.0.0.1, answers only to that name (so no other site's name can be bent
to it), and what asks or saves must carry a token. The token is in the address that `serve` prints, behind the #, which
no browser sends anywhere: whoever on this machine asks for the page gets a page, and nothing of the file.

Texts are read in a thread of their own, one at a time, so that a long one keeps nobody from being answered.

The only module that knows starlette, uvicorn and anyio, on which both stand.

Source: issues 6 and 18; OWASP on cross-site request forgery and DNS rebinding.
"""

from __future__ import annotations

import json
import secrets
import socket
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from cartesius.errors import CartesiusError
from dsl.editor.drafts import ANSWERS, FileChanged

if TYPE_CHECKING:
    from starlette.requests import Request

    from dsl.editor.drafts import File

HOSTS: Final = ["127.0.0.1", "localhost"]
LARGEST: Final = 4_000_000
"""Bytes that a request may have."""

_PAGE: Final = Path(__file__).parent
_TYPES: Final = {
    "page.html": "text/html",
    "page.css": "text/css",
    **dict.fromkeys(("elements.js", "page.js", "rule_form.js", "situation.js", "changed_file.js"), "text/javascript"),
}
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def application(file: File, secret: str) -> Starlette:
    """Return the application that edits ``file``.

    Args:
        file: The file of rules.
        secret: What requests must carry.
    """
    one_at_a_time = CapacityLimiter(1)

    def page(request: Request) -> Response:
        name = request.path_params.get("name", "page.html")
        if name not in _TYPES:
            return Response("not here", 404, _HEADERS)
        return Response((_PAGE / name).read_bytes(), headers=_HEADERS, media_type=_TYPES[name])

    async def answer(request: Request) -> Response:
        if not secrets.compare_digest(request.headers.get("x-token", "").encode(), secret.encode()):
            return _refused("open the address that the editor printed when it started", 403)
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
        return await to_thread.run_sync(_answered, file, request.path_params["question"], draft, limiter=one_at_a_time)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/{name:str}", page),
            Route("/api/{question:str}", answer, methods=["POST"]),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False)],
    )


def _answered(file: File, question: str, draft: dict[str, object]) -> Response:
    try:
        if question == "load":
            return JSONResponse(file.load(), headers=_HEADERS)
        if question == "save":
            version = draft.get("version")
            found = file.save(str(draft.get("text")), None if version is None else str(version))
            return JSONResponse(found, headers=_HEADERS)
        if question == "compare":
            version, base, text = (str(draft.get(name, "")) for name in ("version", "base", "text"))
            return JSONResponse(file.compare(version, base, text), headers=_HEADERS)
        if question not in ANSWERS:
            return _refused(f"there is no question {question!r}", 404)
        return JSONResponse(ANSWERS[question](draft, file.path.name), headers=_HEADERS)
    except FileChanged as error:
        return _refused(str(error), 409)
    except CartesiusError as error:
        return _refused(str(error), 422)
    except (OSError, UnicodeError, TypeError, ValueError, RecursionError) as error:
        return _refused(f"{type(error).__name__}: {error}", 500)


def _refused(message: str, status: int) -> Response:
    return JSONResponse({"error": message}, status, _HEADERS)


def serve(file: File, port: int, browse: bool) -> None:
    """Serve the page until interrupted, and print where it is.

    Args:
        file: The file of rules.
        port: The TCP port; 0: any free one.
        browse: Whether to open a browser.
    """
    with socket.create_server((HOSTS[0], port)) as listening:
        secret = secrets.token_urlsafe(32)
        address = f"http://{HOSTS[0]}:{listening.getsockname()[1]}/#{secret}"
        print(f"Editing {file.path} at {address} (Ctrl-C ends it)", flush=True)
        if browse:
            webbrowser.open(address)
        server(file, secret).run(sockets=[listening])


def server(file: File, secret: str) -> uvicorn.Server:
    """Return the server of the page, which is not started yet: `run` takes the sockets that it listens on."""
    return uvicorn.Server(uvicorn.Config(application(file, secret), log_level="warning", lifespan="off"))
