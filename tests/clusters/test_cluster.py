"""A real standalone cluster: a master and two workers as processes, a job with its dependencies packed.

As Spark documents it: the Python of the workers is a virtual environment packed by venv-pack and given to
``--archives``; a rule pack's module is in it or goes by ``--py-files``. One worker is killed under way.
`make cluster` runs these tests; they are slow.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from cartesius import Engine, Update
from tests.brokers.servers import PATIENCE, free_port, wait_for_port
from tests.faults.killing import processes

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SPARK = Path(pyspark.__file__).parent
PACKAGES = ("cartesius", "restrictions", "dsl", "spark_bridge")
NEEDED = ("attrs", "greenlet", "lark", "numpy", "pandas", "pint", "pyarrow")
START = datetime(2024, 6, 30, tzinfo=UTC)
SLICES = 6
# Without our PYTHONPATH: the workers have to have all from the archive.
SPARK_IS = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYSPARK_PYTHON")}
SPARK_IS |= {"SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1"}
OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "800m",
    "spark.executor.memory": "600m",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.codegen.wholeStage": "false",
}


@contextmanager
def daemon(log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a class of Spark's as a process, and end it."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [SPARK / "bin" / "spark-class", *command], env=SPARK_IS, stdout=output, stderr=output
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    """A master and two workers of one core; gives the master's address and the workers."""
    port, web = free_port(), free_port()
    master = "org.apache.spark.deploy.master.Master"
    worker = "org.apache.spark.deploy.worker.Worker"
    url, log = f"spark://127.0.0.1:{port}", tmp_path / "master.log"
    with daemon(log, master, "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(web)) as first:
        wait_for_port(port, first, log)
        options = ["--cores", "1", "--memory", "700m", "--webui-port", "0", "--host", "127.0.0.1"]
        with (
            daemon(tmp_path / "1.log", worker, *options, "--work-dir", str(tmp_path / "1"), url) as one,
            daemon(tmp_path / "2.log", worker, *options, "--work-dir", str(tmp_path / "2"), url) as two,
        ):
            yield url, (one, two)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The environment of the workers as an archive, with all that they import but our packages and Spark's."""
    if importlib.util.find_spec("venv_pack") is None:
        pytest.skip("venv-pack is not there; `make cluster` brings it")
    folder = tmp_path_factory.mktemp("packed")
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    pip = [folder / "env" / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *(f"{name}=={importlib.metadata.version(name)}" for name in NEEDED)], check=True)
    (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, packages / name, ignore=shutil.ignore_patterns("__pycache__"))
    pack = [sys.executable, "-m", "venv_pack", "--prefix", folder / "env", "--output", folder / "env.tar.gz"]
    subprocess.run([*pack, "--compress-level", "1", "--quiet"], check=True)
    return folder / "env.tar.gz"


def zipped(folder: Path) -> Path:
    """Return a zip file of the module of rules, for ``--py-files``."""
    with zipfile.ZipFile(folder / "rules.zip", "w") as archive:
        archive.write(HERE / "harbour_rules.py", "harbour_rules.py")
    return folder / "rules.zip"


def rows():
    """Yield (slice, source, time, columns): ships that come deeper and deeper, berths that are dredged."""
    for n in range(SLICES * 20):
        at = START + timedelta(seconds=n)
        if n % 7 == 0:
            yield n // 20, "berth", at, {"id": "AB"[n % 2], "depth": 10.0 + n % 5}
        else:
            yield n // 20, "vessel", at, {"mmsi": n % 11, "draught": 9.0 + n % 6 / 2, "destination": "AB"[n % 3 % 2]}


KINDS = {
    "vessel": [("mmsi", pa.int64()), ("draught", pa.float64()), ("destination", pa.string())],
    "berth": [("id", pa.string()), ("depth", pa.float64())],
}


def write_rows(root: Path) -> None:
    for source, kinds in KINDS.items():
        (root / "in" / source).mkdir(parents=True)
        for number in range(SLICES):
            mine = [{"at": at, **columns} for n, name, at, columns in rows() if (n, name) == (number, source)]
            table = pa.Table.from_pylist(mine, pa.schema([("at", pa.timestamp("us", "UTC")), *kinds]))
            pq.write_table(table, root / "in" / source / f"{number}.parquet")
            os.utime(root / "in" / source / f"{number}.parquet", (1_600_000_000 + number,) * 2)


def in_process(monkeypatch):
    """The verdicts that an engine of this process gives."""
    monkeypatch.syspath_prepend(HERE)
    spec = importlib.util.spec_from_file_location("submitted_job", HERE / "job.py")
    assert spec is not None
    assert spec.loader is not None
    job = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(job)
    engine, found = Engine(job.in_main.table(), job.shipped.table()), []
    for _, source, at, columns in sorted(rows(), key=lambda row: (row[0], row[2])):
        key = columns["mmsi" if source == "vessel" else "id"]
        time_ = int(at.timestamp() * 1_000_000)
        for event in engine.push(engine.inputs[source], Update(key, columns), at=time_):
            found.append([event.reactive, event.value.key, event.end / 1_000_000, event.value.value.status])
    return sorted(found)


def submitted(root: Path, url: str, *options: str) -> subprocess.Popen[bytes]:
    configured = [part for name, value in OPTIONS.items() for part in ("--conf", f"{name}={value}")]
    command = [str(SPARK / "bin" / "spark-submit"), "--master", url, *configured, *options, str(HERE / "job.py")]
    environment = {
        **SPARK_IS,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_PYTHON": "./environment/bin/python",  # in the archive
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE)]),  # of the driver
    }
    with (root / "job.log").open("wb") as log:
        return subprocess.Popen([*command, str(root)], env=environment, cwd=root, stdout=log, stderr=log)


def test_packs_of_main_and_of_a_module_run_on_packed_workers_and_one_may_die(cluster, packed, tmp_path, monkeypatch):
    url, workers = cluster
    write_rows(tmp_path)
    rules = zipped(tmp_path)
    job = submitted(tmp_path, url, "--archives", f"{packed}#environment", "--py-files", str(rules))
    deadline = time.monotonic() + PATIENCE
    try:
        while not (tmp_path / "checkpoint" / "offsets" / "2").exists():
            assert job.poll() is None, (tmp_path / "job.log").read_text()[-4000:]
            assert time.monotonic() < deadline, (tmp_path / "job.log").read_text()[-4000:]
            time.sleep(0.02)
        executors = {p.pid for p in processes().values() if p.parent == workers[0].pid and "Executor" in p.command}
        for pid in [workers[0].pid, *executors]:
            os.kill(pid, signal.SIGKILL)
        assert job.wait(PATIENCE) == 0, (tmp_path / "job.log").read_text()[-4000:]
    finally:
        job.kill()
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["verdicts"] == in_process(monkeypatch)
    assert {verdict[3] for verdict in found["verdicts"]} >= {"allowed", "restricted", "unknown"}
    homes = (
        str(tmp_path / "2"),
        "./rules.zip/",
    )  # those of the other worker's executor, and nothing of this repository
    assert [origin for origin in found["origins"] if not origin.startswith(homes)] == []
