"""The port's --kafka: whether there is a broker is found out before anything is started."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from examples.port.__main__ import main
from examples.port.bootstrap import NoBroker, addresses, check_broker

REQUEST = bytes.fromhex("0000000a001200007061727affff")  # ApiVersions, as the protocol guide has it
ANSWER = bytes.fromhex("000000167061727a00000000000200000000000c001200000004")


@contextmanager
def listener(*answers):
    """Somebody who answers a request with those bytes, one after the other, and hangs up; gives where, and what came.

    None: nothing is answered, and nobody hangs up.
    """
    got = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                got.append(connection.recv(100))
                for answer in answers:
                    connection.recv(1) if answer is None else connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}", got
        finally:
            thread.join()


@pytest.fixture
def nowhere():
    with socket.socket() as held:  # bound, so that nobody else gets it, but nobody listens
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


def command(*arguments):
    return CliRunner().invoke(main, arguments)


def test_a_broker_is_known_by_its_answer_also_in_parts_and_behind_servers_that_are_down(nowhere):
    for answers in ([ANSWER], [ANSWER[:3], ANSWER[3:6], ANSWER[6:]]):
        with listener(*answers) as (where, got):
            check_broker(f"{nowhere}, {where}")
        assert got == [REQUEST]


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n", b"\x15\x03\x03\x00\x02\x02P", b"", ANSWER[:7]])
def test_what_answers_otherwise_is_none(answer):
    with listener(answer) as (where, _), pytest.raises(NoBroker, match="not as a Kafka broker does"):
        check_broker(where)


def test_what_does_not_answer_is_none():
    with listener(None) as (where, _), pytest.raises(NoBroker, match=f"{where}: timed out"):
        check_broker(where, patience=0.05)


def test_without_a_broker_the_command_is_one_line_and_leaves_an_earlier_run_alone(nowhere, tmp_path):
    (tmp_path / "verdicts.parquet").write_text("of before")
    result = command("--kafka", nowhere, "--out", str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"port: expected a Kafka broker at {nowhere} but there is none")
    assert "refused" in result.stderr
    assert "make kafka" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["verdicts.parquet"]


def test_addresses_are_hosts_and_ports():
    assert addresses("a-1.example:9092,127.0.0.1:1 , [fe80::1%eth0]:65535") == [
        ("a-1.example", 9092),
        ("127.0.0.1", 1),
        ("fe80::1%eth0", 65535),
    ]


@pytest.mark.parametrize(
    "wrong", ["", "broker", "broker:", ":9092", "broker:0", "broker:65536", "a:1,", "a b:1", "a:x"]
)
def test_bootstrap_servers_that_are_none_are_a_matter_of_usage(wrong):
    result = command("--kafka", wrong)
    assert result.exit_code == 2
    assert "Invalid value for --kafka: expected Kafka's bootstrap servers as HOST:PORT" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--in-process", "--kafka", "a:1"], "--kafka is of use without --in-process only"),
        (["--in-process", "--buckets", "2"], "--buckets is of use without --in-process only"),
        (["--kafka", "a:1", "--slice", "30"], "--slice is of use without --kafka only"),
        (["--jars", "."], "--jars is of use with --kafka only"),
    ],
)
def test_options_that_would_be_ignored_are_refused(arguments, said):
    result = command(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
