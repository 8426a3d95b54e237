"""`tools/kafka.sh` without Java: the data of brokers that run stay. Brokers that do run are in `tests/brokers`."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "tools" / "kafka.sh"


@pytest.mark.parametrize("moved", ["same", "controller", "other"])
def test_the_data_of_a_broker_that_runs_are_not_removed(tmp_path, moved):
    """At the port, at that of its controller, or at another port, of which its folder tells."""
    folder = tmp_path / "kafka"
    folder.mkdir()
    (folder / "records").write_text("precious")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        taken = listening.getsockname()[1]
        (folder / ".made-by-kafka.sh").write_text(f"{taken}\n" if moved == "other" else "")
        port = {"same": taken, "controller": taken - 1, "other": 1}[moved]
        done = subprocess.run([SCRIPT, str(port), folder], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert f"kafka: something listens at 127.0.0.1:{taken}, perhaps a broker of {folder}; end it" in done.stderr
    assert (folder / "records").read_text() == "precious"


BROKER = """#!{python} -S
import os, signal, socket, sys
if "kafka.Kafka" in sys.argv:
    with open({go!r}) as go:  # a pipe: it waits for whoever opens that
        listening = socket.create_server(("127.0.0.1", int(go.read())))
    signal.pause()
"""


@pytest.fixture
def stand_in(tmp_path):
    """What starts `kafka.sh` with another program in the place of Java, which listens when the pipe tells it where."""
    for name, text in {
        "java/bin/java": BROKER.format(python=sys.executable, go=str(tmp_path / "go")),
        "tools/jars.sh": "#!/bin/sh\necho jars\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    script = shutil.copy(SCRIPT, tmp_path / "tools")
    os.mkfifo(tmp_path / "go")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    def start(port=port, **environment):
        command = [script, str(port), str(tmp_path / "kafka")]
        environment |= {"JAVA_HOME": str(tmp_path / "java"), "COLUMNS": "80"}  # `ps` must not cut there
        return subprocess.Popen(command, env=os.environ | environment, stderr=subprocess.PIPE, text=True)

    return start, port, tmp_path / "go"


def test_it_says_that_there_is_a_broker_when_it_listens_and_leaves_one_alone_that_will(stand_in):
    start, port, go = stand_in
    with start() as broker:
        with go.open("w") as told:  # opens when it is asked for: the broker begins
            with start(1) as other:
                assert f"begins to run, as process {broker.pid}; end it" in other.stderr.read()
            assert other.returncode == 1
            assert not select.select([broker.stderr], [], [], 0)[0]
            told.write(str(port))
        assert broker.stderr.readline() == f"kafka: a broker at 127.0.0.1:{port}; Ctrl-C stops it\n"
        broker.terminate()


def test_a_broker_that_does_not_listen_in_time_is_ended(stand_in):
    start, port, _ = stand_in
    with start(KAFKA_WAIT="0") as broker:
        said = f"kafka: expected a broker at 127.0.0.1:{port} within 0 s but nothing listens there; it is ended\n"
        assert broker.stderr.read() == said
    assert broker.returncode != 0
