"""Looking whether there is a Kafka broker, before anything is started that would wait a minute for it.

A broker is asked which requests it knows (Kafka's ApiVersions), which every one answers, in whatever version it speaks
otherwise. There are options neither for TLS nor for passwords, so what does not answer that would be of no use.

Source: Kafka's protocol guide, "ApiVersions"; the lists of addresses, its `bootstrap.servers`.
"""

from __future__ import annotations

import re
import socket
import struct
from typing import Final

_ADDRESS: Final = re.compile(r"\[?(?P<host>[0-9A-Za-z\-%._:]+?)\]?:(?P<port>[0-9]{1,5})")
_LAST_PORT: Final = 65535
_API_VERSIONS: Final = 18
_NUMBER: Final = 0x7061727A
"""Of our request: the answer repeats it."""


class NoBroker(Exception):
    """No Kafka broker is where one should be. The message says what was tried."""


def addresses(servers: str) -> list[tuple[str, int]]:
    """Return the hosts and ports of bootstrap servers.

    >>> addresses("broker:9092, [::1]:9093")
    [('broker', 9092), ('::1', 9093)]

    Args:
        servers: As Kafka writes them, ``host:port`` with commas between.

    Raises:
        ValueError: They are written otherwise.
    """
    found = []
    for server in servers.split(","):
        match = _ADDRESS.fullmatch(server.strip())
        if match is None or not 0 < int(match["port"]) <= _LAST_PORT:
            message = (
                f"expected Kafka's bootstrap servers as HOST:PORT, with commas between, but got {server!r} in"
                f" {servers!r}; write for example 127.0.0.1:9092"
            )
            raise ValueError(message)
        found.append((match["host"], int(match["port"])))
    return found


def check_broker(servers: str, patience: float = 10.0) -> None:
    """Return if one of the bootstrap servers is a Kafka broker.

    Args:
        servers: As `addresses` takes them.
        patience: How long each of them may take to answer, in seconds.

    Raises:
        NoBroker: None of them is.
        ValueError: They are not written as Kafka writes them.
    """
    reasons = []
    for host, port in addresses(servers):
        try:
            _ask(host, port, patience)
        except (OSError, UnicodeError) as error:  # UnicodeError: a label of the host is empty or too long
            reasons.append(f"{host}:{port}: {error}")
        else:
            return
    message = (
        f"expected a Kafka broker at {servers} but there is none ({'; '.join(reasons)}); `make kafka` starts one at"
        " 127.0.0.1:9092"
    )
    raise NoBroker(message)


def _ask(host: str, port: int, patience: float) -> None:
    """Send a request; raise `OSError` unless the answer is a broker's."""
    with socket.create_connection((host, port), patience) as connection:
        request = struct.pack(">hhih", _API_VERSIONS, 0, _NUMBER, -1)
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = b""
        while len(answer) < 8:
            part = connection.recv(8 - len(answer))
            if not part:
                break
            answer += part
    if answer[4:] != struct.pack(">i", _NUMBER):
        message = "it answers, but not as a Kafka broker does without TLS"
        raise ConnectionError(message)
