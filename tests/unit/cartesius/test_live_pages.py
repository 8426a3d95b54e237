"""The stream of a page: who may read it, what a reader is given, and what a slow or stuck one costs."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from starlette.testclient import TestClient

from cartesius.pages import local_pages
from cartesius.pages.local_pages import Page, Told, application, listening, names_of, server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SECRET = "secret"
TOKEN = {"X-Token": SECRET}


class Numbers:
    """A `Live` of numbers, each as long as a test wants it; counts who reads, and how often somebody looked."""

    def __init__(self, size: int = 1, at_once: int = 4) -> None:
        self.newest, self.size, self.at_once = 0, size, at_once
        self.readers = 0
        self.sent = 0
        self._wakes: list[Callable[[], object]] = []
        self.left = threading.Semaphore(0)

    def after(self, last: str | None) -> Sequence[Told]:
        first = int(last or 0) + 1
        found = range(first, min(self.newest, first + self.at_once - 1) + 1)
        self.sent += len(found)
        return [Told(str(each), "number", json.dumps("x" * self.size)) for each in found]

    @contextmanager
    def waking(self, wake: Callable[[], object]) -> Iterator[None]:
        self.readers += 1
        self._wakes.append(wake)
        try:
            yield
        finally:
            self.readers -= 1
            self._wakes.remove(wake)
            self.left.release()

    def tell(self, number: int) -> None:
        self.newest = number
        for wake in list(self._wakes):
            wake()


@contextmanager
def served(numbers: Numbers, hosts: list[str] = local_pages.HOSTS, host: str = local_pages.HOSTS[0]) -> Iterator[int]:
    running = server(Page(Path(), "the test", {}, live=numbers), SECRET, hosts)
    with listening(0, host) as sockets:
        thread = threading.Thread(target=running.run, kwargs={"sockets": [sockets]})
        thread.start()
        try:
            yield sockets.getsockname()[1]
        finally:
            running.should_exit = True
            thread.join()


@contextmanager
def reader(port: int, last: str | None = None, buffer: int = 0) -> Iterator[Any]:
    """A connection that has asked for the stream, as a file; ``buffer``: how much of it the machine takes for it."""
    with socket.socket() as raw:
        if buffer:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        raw.settimeout(30)
        raw.connect(("127.0.0.1", port))
        seen = f"Last-Event-ID: {last}\r\n" if last else ""
        raw.sendall(f"GET /live HTTP/1.1\r\nHost: localhost\r\nX-Token: {SECRET}\r\n{seen}\r\n".encode())
        with raw.makefile("rb") as lines:
            yield lines


def ids(lines: Any, until: int) -> list[int]:
    found: list[int] = []
    while not found or found[-1] < until:
        line = lines.readline()
        assert line, "the stream ended"
        if line.startswith(b"id: "):
            found.append(int(line[4:]))
    return found


@pytest.mark.parametrize("headers", [{}, {"X-Token": "guess"}, {"Cookie": "X-Token=secret"}])
def test_who_was_not_given_the_token_reads_no_stream(headers: dict[str, str]):
    numbers = Numbers()
    client = TestClient(application(Page(Path(), "the test", {}, live=numbers), SECRET), base_url="http://127.0.0.1")
    assert client.get("/live", headers=headers).status_code == 403
    assert client.get(f"/live?x-token={SECRET}").status_code == 403
    assert client.post("/live", headers=TOKEN).status_code == 405
    assert numbers.sent == 0


def test_another_site_may_ask_for_nothing_be_it_allowed_by_the_browser():
    """Its page cannot set our header without asking first, and is told no: nothing allows another origin."""
    changed: list[object] = []
    page = Page(Path(), "the test", {"change": lambda draft: {"n": len(changed), **draft}})
    client = TestClient(application(page, SECRET), base_url="http://127.0.0.1")
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = client.options("/api/change", headers={**asked, "Access-Control-Request-Headers": "x-token"})
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]
    form = client.post("/api/change", data={"x-token": SECRET}, headers={"Origin": "https://evil.example"})
    assert form.status_code == 403
    assert changed == []


def test_a_page_without_a_stream_says_so():
    client = TestClient(application(Page(Path(), "the test", {}), SECRET), base_url="http://127.0.0.1")
    assert client.get("/live", headers=TOKEN).status_code == 404


def test_a_reader_is_given_what_comes_and_when_it_comes_back_what_it_has_not_seen():
    numbers = Numbers()
    with served(numbers) as port:
        numbers.tell(3)
        with reader(port) as lines:
            assert ids(lines, 3) == [1, 2, 3]
            numbers.tell(5)
            assert ids(lines, 5) == [4, 5]
        assert numbers.left.acquire(timeout=30), "a reader that is gone is forgotten"
        numbers.tell(9)
        with reader(port, last="5") as lines:
            assert ids(lines, 9) == [6, 7, 8, 9]


def test_a_stream_may_be_shown_nowhere_else_and_is_kept_by_nobody():
    numbers = Numbers()
    with served(numbers) as port, reader(port) as lines:
        numbers.tell(1)
        head = {}
        while (line := lines.readline().strip()) != b"":
            name, _, value = line.decode().partition(": ")
            head[name.lower()] = value
        assert head["content-type"].startswith("text/event-stream")
        assert head["cache-control"] == "no-store"
        assert "default-src 'none'" in head["content-security-policy"]
        assert "unsafe" not in head["content-security-policy"]


def test_each_reader_has_its_own_turn_in_a_step(monkeypatch: pytest.MonkeyPatch):
    """After what it was sent, a reader waits to the next moment that is its own, whenever that was."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        assert 0 < seconds <= 1.0
        waited.append(round((anyio.current_time() + seconds) % 1.0, 2) % 1.0)
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(local_pages, "STEP_S", 1.0)
    monkeypatch.setattr(anyio, "sleep", sleep)
    numbers = Numbers(at_once=1)
    with served(numbers) as port, reader(port) as first, reader(port) as second, reader(port) as third:
        numbers.tell(10)
        for each in (first, second, third):
            assert ids(each, 10) == list(range(1, 11))
    turns = sorted(turn for turn, _ in Counter(waited).most_common(3))  # one may be off where the machine stood still
    assert turns == [0.0, 0.24, 0.62]


def test_no_more_streams_are_open_than_are_allowed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local_pages, "STREAMS", 2)
    numbers = Numbers()
    with served(numbers) as port:
        numbers.tell(1)
        with reader(port) as first, reader(port) as second:
            assert [ids(each, 1) for each in (first, second)] == [[1], [1]]
            with reader(port) as third:
                assert b"503" in third.readline()
        assert numbers.left.acquire(timeout=30)
        with reader(port) as again:
            assert ids(again, 1) == [1]


def test_who_takes_nothing_is_sent_no_more_and_is_cut_off(monkeypatch: pytest.MonkeyPatch):
    """A megabyte a number: what is on its way is what the machine's buffers hold and one answer, not all hundred."""
    monkeypatch.setattr(local_pages, "STUCK_S", 0.5)
    monkeypatch.setattr(local_pages, "STEP_S", 0.001)
    numbers = Numbers(size=1_000_000, at_once=1)
    with served(numbers) as port, reader(port, buffer=4096) as stuck, reader(port) as other:
        numbers.tell(1)
        assert ids(other, 1) == [1]
        numbers.tell(100)
        assert ids(other, 100) == list(range(2, 101))
        assert numbers.left.acquire(timeout=30), "the stuck reader is given up"
        assert numbers.readers == 1
        assert numbers.sent - 100 < 30
        del stuck


def test_it_listens_to_this_machine_alone_unless_it_is_told(monkeypatch: pytest.MonkeyPatch):
    with listening(0) as sockets:
        assert sockets.getsockname()[0] == "127.0.0.1"
    with listening(0, "0.0.0.0") as sockets:
        assert sockets.getsockname()[0] == "0.0.0.0"
        assert local_pages.address_of(sockets, SECRET).startswith(f"http://{socket.gethostname()}:")
    monkeypatch.setattr(socket, "gethostname", lambda: "office-7")
    monkeypatch.setattr(socket, "getfqdn", lambda: "office-7.port.example")
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [(0, 0, 0, "", ("10.1.2.3", 0))])
    assert names_of("127.0.0.1") == ["127.0.0.1", "localhost"]
    assert names_of("0.0.0.0") == ["127.0.0.1", "localhost", "10.1.2.3", "office-7", "office-7.port.example"]
    assert "10.9.9.9" in names_of("10.9.9.9")


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_address_of_ipv6_is_listened_at_and_answered():
    with listening(0, "::1") as sockets:
        assert local_pages.address_of(sockets, SECRET).startswith("http://[::1]:")
    assert names_of("fe80::1")[2:] == sorted({"[fe80::1]", socket.gethostname(), socket.getfqdn()} - {"localhost"})
    with served(Numbers(), names_of("::1"), "::1") as port:
        connection = http.client.HTTPConnection("::1", port, timeout=30)
        connection.request("POST", "/api/nothing", "{}", {**TOKEN, "Host": f"[::1]:{port}"})
        assert connection.getresponse().status == 404
        connection.close()


def test_where_it_is_told_to_listen_only_its_own_names_and_the_token_are_answered():
    page = Page(Path(local_pages.__file__).parent, "the test", {"ask": lambda draft: draft})
    client = TestClient(application(page, SECRET, names_of("10.9.9.9")), base_url="http://10.9.9.9:80")
    assert client.post("/api/ask", json={}, headers=TOKEN).status_code == 200
    assert client.post("/api/ask", json={}).status_code == 403
    assert client.post("/api/ask", json={}, headers={**TOKEN, "Host": "evil.example"}).status_code == 400
