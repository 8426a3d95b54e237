"""Targets to test against: a web hook and a mail server on this machine, which say what they are told to say."""

from __future__ import annotations

import socketserver
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable


class Hook:
    """A web hook that notes what it gets, as (headers, body), and answers what `answers` gives; maybe by TLS."""

    def __init__(
        self, answers: Callable[[dict[str, str]], int] = lambda _: 204, tls: ssl.SSLContext | None = None
    ) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                headers = dict(self.headers.items())
                hook.got.append((headers, self.rfile.read(int(headers["Content-Length"]))))
                status = answers(headers)
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", hook.elsewhere)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        self.elsewhere = ""

        class Server(ThreadingHTTPServer):
            def handle_error(self, *arguments: Any) -> None:
                """Say nothing of clients that trust no certificate of its."""

        self._scheme = "http" if tls is None else "https"
        self._server = Server(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}/alerts"

    def __enter__(self) -> Hook:
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Mail:
    """A mail server that speaks as much of RFC 5321 as a client needs, notes each mail, and answers it as told.

    With a ``tls``, it is encrypted from the start, or, `is_asked`, once a client says STARTTLS. `said`: what else came.
    """

    def __init__(
        self,
        answers: Callable[[str], str] = lambda _: "250 kept",
        tls: ssl.SSLContext | None = None,
        *,
        is_asked: bool = False,
    ) -> None:
        self.got: list[str] = []
        self.said: list[bytes] = []
        mail = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.say("220 test")
                while line := self.rfile.readline():
                    verb = line.strip().upper().partition(b" ")[0]
                    if verb == b"DATA":
                        self.say("354 go on")
                        lines = iter(self.rfile.readline, b".\r\n")
                        mail.got.append(b"".join(lines).decode())
                        self.say(answers(mail.got[-1]))
                        continue
                    mail.said.append(line.strip())
                    if verb == b"EHLO":
                        self.say("250-test\r\n" + "250-STARTTLS\r\n" * is_asked + "250 AUTH PLAIN")
                    elif verb == b"STARTTLS" and tls is not None:
                        self.say("220 begin")
                        self.connection = tls.wrap_socket(self.connection, server_side=True)
                        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
                    elif verb == b"AUTH":
                        self.say("235 ok")
                    else:
                        self.say("221 bye" if verb == b"QUIT" else "250 ok")

            def finish(self) -> None:
                super().finish()
                self.connection.close()  # the one within TLS

            def say(self, text: str) -> None:
                self.wfile.write(f"{text}\r\n".encode())

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *arguments: Any) -> None:
                """Say nothing of clients that were killed."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls is not None and not is_asked:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def port(self) -> int:
        port: int = self._server.server_address[1]
        return port

    def __enter__(self) -> Mail:
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
