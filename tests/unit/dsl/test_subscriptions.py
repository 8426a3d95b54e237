"""A file of subscriptions: what it may say, what each refusal says, and that no secret ever shows."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dsl.alerts import Email, InvalidSubscriptions, JsonLines, Occasion, Subscriptions, Webhook

NOON = datetime(2020, 6, 30, 12, tzinfo=UTC)
WHOLE = """
[target.office]
webhook = "https://office.example/alerts"
bearer_from = "OFFICE_TOKEN"
[target.chat]
webhook_from = "CHAT_URL"
[target.duty]
email = "duty@port.example"
sender = "harbour@port.example"
server = "mail.port.example:587"
user = "harbour"
password_from = "MAIL_PASSWORD"
[target.log]
file = "alerts.jsonl"

[[subscription]]
name = "anna"
ship = 244660000
to = ["office", "log"]

[[subscription]]
name = "deep ships"
berth = "newark-south"
rule = "clearance"
within = "2 h"
becomes = ["restricted", "unknown"]
to = ["duty", "chat"]
"""
ENVIRONMENT = {
    "OFFICE_TOKEN": "t0ken-of-the-office",
    "CHAT_URL": "https://chat.example/hook?key=s3cret",
    "MAIL_PASSWORD": "hunter2-of-the-mail",
}
WORDS = {"subject": "ship", "place": "berth"}


def read(text: str, environment: dict[str, str] | None = None) -> Subscriptions:
    return Subscriptions.from_text(text, Path("/etc/port/alerts.toml"), environment or ENVIRONMENT, WORDS)


def test_a_file_says_who_is_told_of_what_and_where() -> None:
    found = read(WHOLE)

    assert [type(each) for each in found.targets.values()] == [Webhook, Webhook, Email, JsonLines]
    assert found.targets["log"].where == "/etc/port/alerts.jsonl"
    anna, deep = found.wanted
    assert (anna.subject, anna.to, anna.becomes, anna.within) == (244660000, ("office", "log"), ("restricted",), None)
    assert (deep.place, deep.rule, deep.within) == ("newark-south", "clearance", timedelta(hours=2))


def test_a_subscription_is_about_what_all_that_it_names_allow() -> None:
    anna, deep = read(WHOLE).wanted
    occasion = Occasion(244660000, "ANNA", NOON, "restricted", ("clearance",), place="newark-south")
    later = Occasion(7, "EVA", NOON, "restricted", ("clearance",), place="newark-south", foreseen=NOON)

    assert anna.wants(occasion)
    assert deep.wants(occasion)
    assert not anna.wants(later)
    assert deep.wants(later)
    for far in (timedelta(hours=2), timedelta(hours=2, seconds=1)):
        ahead = Occasion(7, "", NOON, "restricted", ("clearance",), place="newark-south", foreseen=NOON + far)
        assert deep.wants(ahead) == (far == timedelta(hours=2))
    assert not deep.wants(Occasion(7, "EVA", NOON, "restricted", ("wind",), place="newark-south"))
    assert not deep.wants(Occasion(7, "EVA", NOON, "restricted", ("clearance",), place="bayonne"))


def test_a_ship_may_be_named_instead_of_numbered() -> None:
    (eva,) = read('[target.log]\nfile = "a"\n[[subscription]]\nname = "eva"\nship = "Eva Maersk"\nto = ["log"]').wanted

    assert eva.wants(Occasion(7, "EVA MAERSK ", NOON, "restricted"))
    assert not eva.wants(Occasion(8, "EVA", NOON, "restricted"))


@pytest.mark.parametrize(
    ("replaced", "by", "said"),
    [
        ('file = "alerts.jsonl"', 'fil = "alerts.jsonl"', "target.log: expected one of webhook, webhook_from"),
        ('rule = "clearance"', 'rul = "clearance"', "subscription 2: expected name, to, ship.*did you mean 'rule'"),
        ('within = "2 h"', 'within = "soon"', "within to be a time.*write it as"),
        ('to = ["office", "log"]', 'to = ["offise"]', "names of targets.*did you mean 'office'"),
        ('becomes = ["restricted", "unknown"]', 'becomes = ["stopped"]', "allowed, restricted, unknown, gone"),
        ('name = "anna"', 'name = "deep ships"', "names that differ"),
        ('"https://office.example/alerts"', '"file:///etc/passwd"', "https:// or http://"),
        ('"https://office.example/alerts"', '"https://office.example/?key=1"', "no query"),
        ('"https://office.example/alerts"', '"https://me:word@office.example/"', "no user or password"),
        ('"https://office.example/alerts"', '"http://office.example/"', "https where there is a secret"),
        ('"https://office.example/alerts"', '"https://office.example/\\r\\nX: y"', "text in one line"),
        ('"https://office.example/alerts"', '"https://office..example/"', "an address such as"),
        ('user = "harbour"', "", "user and password_from together"),
        ('user = "harbour"', 'user = "harbour"\nplain = true', "TLS where there is a password"),
        ('"duty@port.example"', '"duty@port.example\\nBcc: all@port.example"', "text in one line"),
        ('"duty@port.example"', '"duty, all@port.example"', "an address"),
        ('"duty@port.example"', '"duty@[port"', "an address"),
        ('"mail.port.example:587"', '"mail.port.example"', "a host and a port"),
        ('"mail.port.example:587"', '"mail..example:587"', "a host and a port"),
        ('user = "harbour"', 'user = "hafenmeister-köln"', "user to be of ASCII"),
        ("ship = 244660000", "ship = 2.5", "a number or a name"),
        ("[target.office]", "[target.office", "expected TOML"),
    ],
)
def test_what_means_nothing_is_refused_with_the_place_and_what_to_do(replaced: str, by: str, said: str) -> None:
    assert replaced in WHOLE

    with pytest.raises(InvalidSubscriptions, match=rf"(?s)^/etc/port/alerts\.toml: .*{said}"):
        read(WHOLE.replace(replaced, by))


@pytest.mark.parametrize("becomes", [["allowed"], ["gone"], ["unknown"], ["unknown", "gone", "allowed"]])
def test_a_subscription_that_would_never_tell_anything_is_refused(becomes: list[str]) -> None:
    """Nobody was told when the rule held again, and nobody was told that."""
    text = WHOLE.replace('["restricted", "unknown"]', str(becomes))
    with pytest.raises(
        InvalidSubscriptions, match=r"subscription 2: expected becomes to have restricted beside rule.*leave out"
    ):
        read(text)
    assert read(text.replace('rule = "clearance"', "")).wanted[1].becomes == tuple(becomes)


@pytest.mark.parametrize("secret", ["token", "password", "bearer", "secret", "authorization", "api_key"])
def test_a_secret_in_the_file_is_refused_and_not_repeated(secret: str) -> None:
    text = WHOLE.replace('bearer_from = "OFFICE_TOKEN"', f'{secret} = "t0ken"')

    with pytest.raises(InvalidSubscriptions, match="no secret in the file") as refused:
        read(text)

    assert "t0ken" not in str(refused.value)


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(InvalidSubscriptions, match="environment to have OFFICE_TOKEN"):
        read(WHOLE, {"CHAT_URL": "x"})


@pytest.mark.parametrize("url", ["not a url s3cret", "http://chat.example/s3cret", "ftp://chat.example/s3cret"])
def test_an_address_from_the_environment_is_never_repeated(url: str) -> None:
    with pytest.raises(InvalidSubscriptions) as refused:
        read(WHOLE, {**ENVIRONMENT, "CHAT_URL": url})

    assert "s3cret" not in str(refused.value)


def test_no_representation_has_a_secret() -> None:
    found = read(WHOLE)

    shown = repr(found) + "".join(each.where for each in found.targets.values())

    assert not re.search("t0ken|s3cret|hunter2", shown)


def test_a_file_that_is_too_large_or_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "alerts.toml"

    with pytest.raises(InvalidSubscriptions, match="No such file"):
        Subscriptions.from_file(path, {})
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(InvalidSubscriptions, match="at most 1000000 bytes"):
        Subscriptions.from_file(path, {})
    path.write_bytes(b"\xff")
    with pytest.raises(InvalidSubscriptions, match="UTF-8"):
        Subscriptions.from_file(path, {})
