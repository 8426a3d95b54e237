"""`tools/kafka.sh` where a broker runs already: its data stay. Brokers that do run are in `tests/brokers`."""

from __future__ import annotations

import socket
import subprocess
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
