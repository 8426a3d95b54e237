"""Targets: where alerts go. Each is asked once for each message, and says yes, or raises `NotDelivered`.

No redirect is followed: a secret goes to the host that the operator named, and to no other. Nothing that a target
says is shown but its status, and of an address nothing but its host, as the rest of it may be a secret.

This module is over 300 lines because what is a yes, and what is told of a no, is to be read for all targets in one
place.

Invariant: once a target has said yes, nothing that happens later makes `send` raise.

Source: RFC 9110 (status codes), RFC 5321 (mail), RFC 5322 (its message ids), RFC 3834 (mail that nobody typed),
RFC 8314 (mail that is encrypted from the start).
"""

from __future__ import annotations

import http.client
import json
import os
import smtplib
import ssl
from contextlib import suppress
from email.message import EmailMessage
from email.policy import SMTP
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

import attrs

from cartesius.errors import CartesiusError

if TYPE_CHECKING:
    from pathlib import Path

    from dsl.alerts.messages import Message

PATIENCE_S: Final = 10.0
"""How long a target may take for each answer, in seconds."""
_OK, _FOUND, _WRONG, _BROKEN = 200, 300, 400, 500
_COME_BACK: Final = (401, 403, 404, 407, 408, 425, 429)
"""What is wrong with the address or the moment, and not with the message."""
_SMTPS: Final = 465
"""The port of mail servers at which all is encrypted from the first byte on."""
_TAIL: Final = 100_000
"""Bytes within which the last line of a file begins: a message is far shorter."""


class NotDelivered(CartesiusError, OSError):
    """A target did not say yes; the message is sent again later.

    Args:
        message: What happened.
        is_down: Whether that is due to the target, so that others for it would fare no better; else to the message.
    """

    def __init__(self, message: str, is_down: bool = True) -> None:
        super().__init__(message)
        self.is_down = is_down


class Target(Protocol):
    """Where alerts go."""

    @property
    def where(self) -> str:
        """What it is called in what people are told: nothing secret."""
        ...

    def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            NotDelivered: The target did not say yes.
        """
        ...


@attrs.frozen
class Address:
    """The parts of the address of a web hook."""

    is_encrypted: bool
    host: str
    port: int
    path: str = attrs.field(repr=False)


def address_of(url: str, *, with_query: bool) -> Address:
    """Return the parts of an address.

    >>> address_of("https://office.example/alerts", with_query=False).port
    443

    Args:
        url: The address.
        with_query: Whether it may have a query, in which secrets stand.

    Raises:
        ValueError: It is none of a web hook; the message does not repeat it.
    """
    if not url.isascii() or not url.isprintable() or " " in url:
        problem = "expected an address of plain characters; percent-encode the others"
        raise ValueError(problem)
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")  # as sockets do, whose errors there are none of the network's
    except ValueError:
        problem = "expected an address such as https://office.example/alerts but it is none"
        raise ValueError(problem) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        problem = f"expected https:// or http:// and a host but got the scheme {parts.scheme[:20]!r}"
        raise ValueError(problem)
    if parts.username is not None or parts.password is not None:
        problem = "expected no user or password in an address; name an environment variable: bearer_from"
        raise ValueError(problem)
    if parts.query and not with_query:
        problem = "expected no query, where secrets stand; put the address into the environment: webhook_from"
        raise ValueError(problem)
    is_encrypted = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Address(is_encrypted, parts.hostname, port or (443 if is_encrypted else 80), path)


def server_of(text: str) -> tuple[str, int]:
    """Return host and port of a mail server.

    >>> server_of("localhost:1025")
    ('localhost', 1025)

    Raises:
        ValueError: It has no host or no port.
    """
    host, _, port = text.rpartition(":")
    try:
        is_host = bool(host.strip("[]").encode("idna"))
    except UnicodeError:
        is_host = False
    if not is_host or not port.isdecimal() or not 0 < int(port) < 2**16:
        problem = f'expected a host and a port but got {text[:80]!r}; write it as "mail.port.example:587"'
        raise ValueError(problem)
    return host.strip("[]"), int(port)


def is_local(host: str) -> bool:
    """Return whether a host is this machine.

    >>> is_local("localhost"), is_local("office.example")
    (True, False)
    """
    return host in ("localhost", "127.0.0.1", "::1")


@attrs.frozen
class Webhook:
    """Posts a message as JSON, with its id in the header ``Idempotency-Key``; any answer of 200 to 299 is a yes.

    Args:
        address: Where to.
        bearer: What stands in the header ``Authorization``, behind ``Bearer``.
    """

    address: Address
    bearer: str | None = attrs.field(default=None, repr=False)

    @property
    def where(self) -> str:
        """The host: the path may be a secret."""
        return f"{self.address.host}:{self.address.port}"

    def send(self, message: Message) -> None:
        """Post it."""
        kind = http.client.HTTPSConnection if self.address.is_encrypted else http.client.HTTPConnection
        connection = kind(self.address.host, self.address.port, timeout=PATIENCE_S)
        headers = {"Content-Type": "application/json", "Idempotency-Key": message.id, "User-Agent": "cartesius-alerts"}
        if self.bearer is not None:
            headers["Authorization"] = f"Bearer {self.bearer}"
        try:
            connection.request("POST", self.address.path, message.body.encode(), headers)
            status = connection.getresponse().status  # what else it says is not read
        except (OSError, http.client.HTTPException) as error:
            problem = f"{self.where}: {type(error).__name__}"
            raise NotDelivered(problem) from None
        finally:
            connection.close()
        if _OK <= status < _FOUND:
            return
        said = ", a redirect, which is not followed" if _FOUND <= status < _WRONG else ""
        is_down = not _WRONG <= status < _BROKEN or status in _COME_BACK
        problem = f"{self.where}: answered {status}{said}"
        raise NotDelivered(problem, is_down)


@attrs.frozen
class Email:
    """Sends a message as plain text; its id stands in ``Message-ID``. Encrypted unless `is_plain`.

    At port 465 it is encrypted from the start, elsewhere by STARTTLS.

    Args:
        to: To whom.
        sender: From whom.
        host: The mail server.
        port: Its port.
        is_plain: Whether nothing is encrypted: for a server on this machine.
        user: Who logs in; None: nobody does.
        password: With what.
    """

    to: str
    sender: str
    host: str
    port: int
    is_plain: bool = False
    user: str | None = None
    password: str | None = attrs.field(default=None, repr=False)

    @property
    def where(self) -> str:
        """To whom, and by which server."""
        return f"{self.to} by {self.host}:{self.port}"

    def send(self, message: Message) -> None:
        """Give it to the server."""
        try:
            server = self._connected()
            try:
                if not self.is_plain and self.port != _SMTPS:
                    server.starttls(context=ssl.create_default_context())
                if self.user is not None and self.password is not None:
                    server.login(self.user, self.password)
                server.send_message(self.mail(message))
            finally:
                for leave in (server.quit, server.close):  # it has said yes or no; how it takes leave is no matter
                    with suppress(OSError, smtplib.SMTPException):
                        leave()
        except (OSError, smtplib.SMTPException) as error:
            is_refused = isinstance(error, smtplib.SMTPDataError) and error.smtp_code >= _BROKEN
            is_refused = is_refused or isinstance(error, smtplib.SMTPRecipientsRefused)
            problem = f"{self.where}: {_named(error)}"
            raise NotDelivered(problem, is_down=not is_refused) from None

    def _connected(self) -> smtplib.SMTP:
        domain = self.sender.rpartition("@")[2]
        if self.is_plain or self.port != _SMTPS:
            return smtplib.SMTP(self.host, self.port, domain, PATIENCE_S)
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(self.host, self.port, domain, timeout=PATIENCE_S, context=context)

    def mail(self, message: Message) -> EmailMessage:
        """Return a message as mail. It has no HTML, and `EmailMessage` lets no header have a second line."""
        mail = EmailMessage(policy=SMTP)
        mail["From"], mail["To"], mail["Subject"] = self.sender, self.to, message.line
        mail["Message-ID"] = f"<{message.id}@{self.sender.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(message.text)
        return mail


def _named(error: Exception) -> str:
    """Return what happened, without what the server said: it may repeat what it was told."""
    code = getattr(error, "smtp_code", None)
    return type(error).__name__ if code is None else f"{type(error).__name__} {code}"


@attrs.frozen
class JsonLines:
    """Appends a message to a file, as a line of JSON, each once.

    Only the last line can be there unknown to the outbox, or be torn: a message is noted before the next is written.

    Args:
        path: The file, made if it is not there.
    """

    path: Path

    @property
    def where(self) -> str:
        """The file."""
        return str(self.path)

    def send(self, message: Message) -> None:
        """Append it, unless it is the last line already."""
        try:
            with self.path.open("ab+") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(0, end - _TAIL))
                *whole, torn = file.read().split(b"\n")
                if torn:
                    file.truncate(end - len(torn))
                if not whole or _id_of(whole[-1]) != message.id:
                    file.write(f"{message.body}\n".encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            problem = f"{self.where}: {error.strerror}"
            raise NotDelivered(problem) from None


def _id_of(line: bytes) -> object:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found.get("id") if isinstance(found, dict) else None
