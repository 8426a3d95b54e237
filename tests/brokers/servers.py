"""Real servers for tests, each in a folder of its own, started for the purpose and ended by number."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300  # seconds


def free_port() -> int:
    """Return a port that nobody listens to, and whose neighbour is free as well."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when somebody listens to the port; fail if the process ends before."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-3000:]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"nobody listens to port {port}; {log.read_text()[-3000:]}")


def jars(name: str, *coordinates: str) -> Path | None:
    """Return the folder of the jars, or None if they cannot be fetched."""
    made = subprocess.run(
        [ROOT / "tools" / "jars.sh", name, *coordinates], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    return Path(made.stdout.decode().strip().splitlines()[-1]) if made.returncode == 0 else None


def kafka_connector() -> Path:
    """Return the jars of Spark's Kafka connector: of this Spark's version, or of the first of its minor version."""
    first = ".".join([*pyspark.__version__.split(".")[:2], "0"])
    for version in dict.fromkeys([pyspark.__version__, first]):
        folder = jars(f"spark-kafka-{version}", f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version}")
        if folder is not None:
            return folder
    pytest.skip(f"Maven Central has no Kafka connector for Spark {pyspark.__version__} here; try `make test-kafka`")


@contextmanager
def kafka_broker(folder: Path, *properties: str) -> Iterator[str]:
    """Start a broker of one node with further properties, and stop it; give its bootstrap servers."""
    port, log = free_port(), folder / "kafka.log"
    if shutil.which("mvn") is None:
        pytest.skip("Kafka's jars come by Maven, which is not there: apt-get install maven")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [ROOT / "tools" / "kafka.sh", str(port), str(folder / "kafka"), *properties], stdout=output, stderr=output
        )
        try:
            wait_for_port(port, process, log)
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def postgresql_programs() -> Path:
    """Return the folder of PostgreSQL's programs."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), Path("/usr/bin")]
    for folder in folders:
        if (folder / "initdb").exists():
            return folder
    pytest.skip("PostgreSQL is not there: apt-get install postgresql")


@contextmanager
def postgresql_server() -> Iterator[str]:
    """Start a server that listens to a socket in a folder of its own, and stop it; give how libpq connects."""
    programs = postgresql_programs()
    who = "postgres" if os.getuid() == 0 else None  # the server refuses to run as root
    with tempfile.TemporaryDirectory(prefix="cartesius-postgresql-") as name:
        folder = Path(name)
        if who is not None:
            shutil.chown(folder, who)
        data = folder / "data"
        initdb: list[str | Path] = [
            programs / "initdb",
            "--pgdata",
            data,
            "--auth",
            "trust",
            "--username",
            "postgres",
            "--no-sync",
        ]
        subprocess.run(initdb, user=who, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        server: list[str | Path] = [
            programs / "postgres",
            "-D",
            data,
            "-k",
            folder,
            "-c",
            "listen_addresses=",
            "-c",
            "fsync=off",
        ]
        process = subprocess.Popen(server, user=who, stderr=subprocess.DEVNULL, cwd=folder)
        try:
            deadline = time.monotonic() + PATIENCE
            ready: list[str | Path] = [programs / "pg_isready", "--quiet", "--host", folder, "--username", "postgres"]
            while subprocess.run(ready, check=False).returncode != 0:
                assert process.poll() is None, "PostgreSQL does not start"
                assert time.monotonic() < deadline, "PostgreSQL is not ready"
                time.sleep(0.1)
            yield f"host={folder} user=postgres dbname=postgres"
        finally:
            process.terminate()
            process.wait()
