"""Alerts reach their targets at least once, and none again that said yes, also where the sender is killed between."""

from __future__ import annotations

import email
import json
import os
import shutil
import signal
import smtplib
import sqlite3
import ssl
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.policy import default
from pathlib import Path
from threading import Event as ThreadEvent
from typing import TYPE_CHECKING

import pytest

from dsl.alerts import (
    Delivery,
    Email,
    JsonLines,
    Message,
    NotDelivered,
    Occasion,
    Outbox,
    Subscriptions,
    Webhook,
    alert_delivery,
    targets,
)
from dsl.alerts.alert_delivery import delivering
from dsl.alerts.outbox import OutboxInUse, exclusive
from dsl.alerts.targets import address_of
from tests.unit.dsl.listening import Hook, Mail

if TYPE_CHECKING:
    from collections.abc import Iterator

NOON = datetime(2020, 6, 30, 12, tzinfo=UTC)
WINDY = Occasion(
    7, "EVA", NOON, "restricted", ("wind",), why=("wind 50 kn, at most 45 kn, -5 kn",), pack="0123456789ab"
)
HOSTILE = "EVA\u2028\u2029\r\nBcc: all@port.example\r\n\r\n<script>alert(1)</script>\x1b[2J\u202e" + "x" * 1000


def hook_at(url: str, bearer: str | None = None) -> Webhook:
    return Webhook(address_of(url, with_query=True), bearer)


def message(name: str = "EVA") -> Message:
    return Message.about(Occasion(7, name, NOON, "restricted", ("wind",)), "all", "it")


LOGGED = '[target.it]\nfile = "log.jsonl"\n[[subscription]]\nname = "all"\nto = ["it"]'


def outbox_with(path: Path | str, *occasions: Occasion, to: str = "it") -> Outbox:
    text = LOGGED.replace("it", to)
    outbox = Outbox(path)
    outbox.notice(Subscriptions.from_text(text, Path("alerts.toml"), {}), occasions, "feed", (1,), now=0)
    return outbox


class Clock:
    """A clock that is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Told:
    """A target that notes what it is sent, and fails as often as it is told to."""

    where = "here"

    def __init__(self, *failures: Exception | None) -> None:
        self.tried: list[Message] = []
        self.kept: list[Message] = []
        self._failures = list(failures)

    def send(self, message: Message) -> None:
        self.tried.append(message)
        failure = self._failures.pop(0) if self._failures else None
        if failure is not None:
            raise failure
        self.kept.append(message)


# ---------------------------------------------------------------------------------------------------- what is sent


def test_a_web_hook_gets_the_id_in_a_header_and_the_token_in_another() -> None:
    with Hook() as hook:
        hook_at(hook.url, "s3cret").send(message())

    ((headers, body),) = hook.got
    assert (headers["Idempotency-Key"], headers["Authorization"]) == (message().id, "Bearer s3cret")
    told = json.loads(body)
    assert (told["id"], told["subject"], told["status"], told["failed"]) == (message().id, 7, "restricted", ["wind"])


def test_no_redirect_is_followed() -> None:
    with Hook(lambda _: 302) as hook, Hook() as other:
        hook.elsewhere = other.url
        with pytest.raises(NotDelivered, match="302, a redirect, which is not followed"):
            hook_at(hook.url, "s3cret").send(message())

    assert other.got == []


@pytest.mark.parametrize(("status", "is_down"), [(500, True), (429, True), (404, True), (400, False), (413, False)])
def test_a_refusal_is_that_of_the_message_or_of_the_target(status: int, is_down: bool) -> None:
    with Hook(lambda _: status) as hook, pytest.raises(NotDelivered, match=str(status)) as refused:
        hook_at(hook.url + "?key=s3cret", "s3cret").send(message())

    assert refused.value.is_down == is_down
    assert "s3cret" not in str(refused.value)


def test_a_mail_has_the_id_as_its_message_id() -> None:
    with Mail() as server:
        Email("duty@port.example", "harbour@port.example", "127.0.0.1", server.port, is_plain=True).send(message())

    mail = email.message_from_string(server.got[0], policy=default)
    assert mail["Message-ID"] == f"<{message().id}@port.example>"
    assert mail["Subject"] == "EVA (7) is restricted since 2020-06-30 12:00 UTC: wind"
    assert mail.get_content_type() == "text/plain"


@pytest.mark.parametrize(("answer", "is_down"), [("451 later", True), ("554 no", False), ("250 yes", None)])
def test_a_mail_server_says_yes_or_no(answer: str, is_down: bool | None) -> None:
    with Mail(lambda _: answer) as server:
        target = Email("duty@port.example", "harbour@port.example", "127.0.0.1", server.port, is_plain=True)
        if is_down is None:
            target.send(message())
        else:
            with pytest.raises(NotDelivered, match=answer[:3]) as refused:
                target.send(message())
            assert refused.value.is_down == is_down


@pytest.mark.parametrize("leave", ["quit", "close"])
def test_how_a_mail_server_takes_leave_is_no_matter(leave: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has said yes: the message is not sent again."""
    before = getattr(smtplib.SMTP, leave)

    def broken(server: smtplib.SMTP) -> None:
        before(server)
        raise ConnectionResetError

    with Mail(lambda _: "250 yes") as server:
        monkeypatch.setattr(smtplib.SMTP, leave, broken)
        Email("duty@port.example", "harbour@port.example", "127.0.0.1", server.port, is_plain=True).send(message())


def test_no_mail_is_sent_without_encryption_unless_that_was_said() -> None:
    with Mail() as server, pytest.raises(NotDelivered, match="SMTPNotSupportedError"):
        Email("duty@port.example", "harbour@port.example", "127.0.0.1", server.port).send(message())

    assert server.got == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1, with its key in the file beside."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    named = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    made = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        "key",
        "-out",
        "certificate",
    ]
    subprocess.run([openssl, "req", "-x509", *named, *made], cwd=folder, check=True, capture_output=True)
    return folder / "certificate"


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key"))
    return context


@pytest.mark.parametrize("is_asked", [True, False])
@pytest.mark.parametrize("is_trusted", [True, False])
def test_mail_and_password_go_encrypted_to_a_server_that_is_who_it_should_be(
    is_asked: bool, is_trusted: bool, certificate: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Mail(tls=tls, is_asked=is_asked) as server:
        if not is_asked:
            monkeypatch.setattr(targets, "_SMTPS", server.port)
        target = Email("a@port.example", "b@port.example", "127.0.0.1", server.port, user="duty", password="s3cret")
        if is_trusted:
            target.send(message())
        else:
            with pytest.raises(NotDelivered, match="SSLCertVerificationError"):
                target.send(message())

    assert len(server.got) == is_trusted
    assert any(said.startswith(b"AUTH") for said in server.said) == is_trusted
    assert any(said == b"STARTTLS" for said in server.said) == is_asked


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_token_goes_encrypted_to_a_web_hook_that_is_who_it_should_be(
    is_trusted: bool, certificate: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Hook(tls=tls) as hook:
        if is_trusted:
            hook_at(hook.url, "s3cret").send(message())
        else:
            with pytest.raises(NotDelivered, match="SSLCertVerificationError"):
                hook_at(hook.url, "s3cret").send(message())

    assert len(hook.got) == is_trusted


def test_a_name_from_outside_is_neither_a_header_nor_markup_nor_longer_than_200() -> None:
    with Mail() as server:
        target = Email("duty@port.example", "harbour@port.example", "127.0.0.1", server.port, is_plain=True)
        target.send(message(HOSTILE))

    mail = email.message_from_string(server.got[0], policy=default)
    assert set(mail.keys()) == {
        *("From", "To", "Subject", "Message-ID", "Auto-Submitted", "MIME-Version"),
        *("Content-Type", "Content-Transfer-Encoding"),
    }
    assert mail["Subject"].startswith(
        r"EVA\u2028\u2029\r\nBcc: all@port.example\r\n\r\n<script>alert(1)</script>\x1b[2J\u202exxx"
    )
    assert mail.get_content_type() == "text/plain"
    assert len(json.loads(message(HOSTILE).body)["name"]) <= 200


def test_a_file_gets_each_alert_once_and_a_torn_line_is_written_anew(tmp_path: Path) -> None:
    target = JsonLines(tmp_path / "log.jsonl")
    target.send(message())
    target.send(message())
    target.path.write_bytes(target.path.read_bytes() + b'{"id": "torn')

    target.send(message("ANNA"))

    assert [json.loads(line)["name"] for line in target.path.read_text().splitlines()] == ["EVA", "ANNA"]


# -------------------------------------------------------------------------------------------- how often it is tried


def test_a_target_that_is_down_is_tried_again_after_ever_longer_pauses() -> None:
    clock, target, said = Clock(), Told(*[NotDelivered("down")] * 3), list[str]()
    with closing(outbox_with(":memory:", WINDY)) as outbox:
        delivery = Delivery(outbox, "it", target, clock, said.append)
        tried = []
        for clock.now in range(16):
            delivery.step()
            tried.append(len(target.tried))

        assert tried == [1, 2, 2, 3, 3, 3, 3, *[4] * 9]
        assert outbox.waiting() == {}
    assert len({each.id for each in target.tried}) == 1
    assert said[-1] == "it: here works again"


def test_a_message_that_is_refused_holds_up_no_other() -> None:
    clock, target = Clock(), Told(NotDelivered("no", is_down=False))
    with closing(outbox_with(":memory:", WINDY, Occasion(8, "ANNA", NOON, "restricted"))) as outbox:
        delivery = Delivery(outbox, "it", target, clock)

        assert delivery.step() == 1
        assert [json.loads(each.body)["subject"] for each in target.kept] == [8]
        clock.now = 1
        assert delivery.step() == 1
    assert [json.loads(each.body)["subject"] for each in target.kept] == [8, 7]


def test_a_target_that_is_down_holds_up_no_other(tmp_path: Path) -> None:
    text = (
        '[target.down]\nwebhook = "http://127.0.0.1:1/"\n[target.log]\nfile = "log.jsonl"\n'
        '[[subscription]]\nname = "all"\nto = ["down", "log"]'
    )
    wanted = Subscriptions.from_text(text, tmp_path / "alerts.toml", {})
    said = list[str]()
    with closing(Outbox(tmp_path / "outbox.db")) as outbox:
        outbox.notice(wanted, [WINDY], "feed", (1,), now=0)
        with delivering(tmp_path / "outbox.db", wanted.targets, said.append):
            pass

        assert outbox.waiting() == {"down": 1}
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 1
    assert said[0].startswith("down: 127.0.0.1:1: ConnectionRefusedError; tried again in 1 s")


def test_two_do_not_send_from_one_outbox(tmp_path: Path) -> None:
    with (
        delivering(tmp_path / "outbox.db", {}, print),
        pytest.raises(OutboxInUse, match="another process"),
        delivering(tmp_path / "outbox.db", {}, print),
    ):
        pass


@dataclass(frozen=True)
class Frozen(Exception):
    """Of a user's: it refuses attributes, a traceback too."""

    size: int


def test_what_users_raise_meanwhile_comes_out_as_it_is(tmp_path: Path) -> None:
    path, error = tmp_path / "outbox.db", Frozen(7)

    def occasions() -> Iterator[Occasion]:
        yield WINDY
        raise error

    with closing(outbox_with(path)) as outbox:
        for block in (delivering(path, {}, print), outbox.alone(), exclusive(path), outbox.alone()):
            with pytest.raises(Frozen) as caught, block:
                raise error
            assert caught.value is error
        wanted = Subscriptions.from_text(LOGGED, tmp_path / "alerts.toml", {})
        with pytest.raises(Frozen):
            outbox.notice(wanted, occasions(), "feed", (2,), now=0)
        assert (outbox.position("feed"), outbox.waiting()) == ((1,), {})


def test_a_fault_in_sending_one_message_holds_up_no_other() -> None:
    """It ended the thread of its target, again after each start."""
    target, said = Told(ValueError("s3cret")), list[str]()
    with closing(outbox_with(":memory:", WINDY, Occasion(8, "ANNA", NOON, "restricted"))) as outbox:
        assert Delivery(outbox, "it", target, Clock(), said.append).step() == 1

    assert [json.loads(each.body)["subject"] for each in target.kept] == [8]
    assert said == ["it: here: ValueError; tried again in 1 s"]


@pytest.mark.parametrize("fails", ["open", "note"])
def test_an_outbox_that_fails_for_a_while_is_told_and_tried_again(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread of the target ended."""
    path, said, calls, done = tmp_path / "outbox.db", list[str](), list[str](), ThreadEvent()

    def fail(call: str, nth: int) -> None:
        calls.append(call)
        if call == fails and calls.count(call) == nth:
            raise sqlite3.OperationalError("database is locked")

    class Failing(Outbox):
        def __init__(self, path: Path | str) -> None:
            fail("open", 2)  # in the thread: the first one is that of who starts it
            super().__init__(path)

        def said_yes(self, message: Message, *, now: float) -> None:
            fail("note", 1)
            super().said_yes(message, now=now)
            done.set()

    monkeypatch.setattr(alert_delivery, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(alert_delivery, "Outbox", Failing)
    with closing(outbox_with(path, WINDY)) as outbox:
        with delivering(path, {"it": JsonLines(tmp_path / "log.jsonl")}, said.append):
            assert done.wait(20)

        assert outbox.waiting() == {}
    assert said == ["it: the outbox: database is locked; tried again in 0.01 s"]
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 1


# ---------------------------------------------------------------------------------------------------------- kills

_SENDER = """
import sys
from pathlib import Path
from dsl.alerts import Delivery, Email, Outbox, Webhook
from dsl.alerts.targets import address_of
path, kind, where = sys.argv[1:]
if kind == "hook":
    target = Webhook(address_of(where, with_query=False))
else:
    target = Email("duty@port.example", "harbour@port.example", "127.0.0.1", int(where), is_plain=True)
print("ready", flush=True)
Delivery(Outbox(Path(path)), "it", target).step()
"""


@pytest.mark.parametrize("kind", ["hook", pytest.param("mail", marks=pytest.mark.slow)])
def test_who_is_killed_before_a_yes_is_noted_sends_the_same_id_again_and_then_never(tmp_path: Path, kind: str) -> None:
    path, senders = tmp_path / "outbox.db", list[subprocess.Popen[str]]()
    outbox_with(path, WINDY).close()

    def kill() -> None:
        for sender in senders:
            os.kill(sender.pid, signal.SIGKILL)
            sender.wait()

    def answered(_: object) -> int:
        kill()
        return 204

    def kept(_: str) -> str:
        kill()
        return "250 kept"

    with Hook(answered) as hook, Mail(kept) as mail:
        where = hook.url if kind == "hook" else str(mail.port)
        sender = subprocess.Popen(
            [sys.executable, "-c", _SENDER, str(path), kind, where], stdout=subprocess.PIPE, text=True
        )
        senders.append(sender)
        assert sender.communicate(timeout=60)[0] == "ready\n"
        assert sender.returncode == -signal.SIGKILL
        senders.clear()

        target = (
            hook_at(hook.url)
            if kind == "hook"
            else Email("duty@port.example", "harbour@port.example", "127.0.0.1", mail.port, is_plain=True)
        )
        with closing(Outbox(path)) as outbox:
            assert outbox.waiting() == {"it": 1}
            assert Delivery(outbox, "it", target).step() == 1
        with closing(Outbox(path)) as outbox:
            assert Delivery(outbox, "it", target).step() == 0

    ids = (
        [headers["Idempotency-Key"] for headers, _ in hook.got]
        if kind == "hook"
        else [email.message_from_string(each)["Message-ID"] for each in mail.got]
    )
    assert len(ids) == 2
    assert len(set(ids)) == 1
