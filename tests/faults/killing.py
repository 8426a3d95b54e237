"""Killing parts of a running query at random points, and starting it again until it is done.

A point is a micro-batch, by the offsets that Spark writes when it begins one, and a time after that, or after the job
has begun to go on with it, drawn between nothing and what two micro-batches take; but not after these are over, as the
machine may be less busy than when they were timed. What is killed gets SIGKILL, so it cannot tidy up.

Few of these points are between the sink's work and Spark's note of it, where alone a micro-batch is handed over again
that the sink has in full. So some kills of a driver wait for that.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 900  # seconds for each thing that is waited for, on a machine that has other work
AT_WORK = "at_work"
"""The file, beside the checkpoint, into which a job writes its number once its query has started."""
RETURNED = "returned"
"""The file, beside the checkpoint, in which a job's sink notes after its work: its process, and the micro-batch."""
AFTER_SINK = 3
"""One kill of a driver in so many is between the sink's work and Spark's note of it."""
_TICK = 0.02

Job: TypeAlias = "subprocess.Popen[bytes]"
Target = Literal["worker", "executor", "driver"]
MASTERS = {
    "worker": ("local[2]", "local[2,4]"),  # the query fails with its worker; the task is tried again
    "executor": ("local-cluster[2,1,700]",),
    "driver": ("local[2]",),
}


@attrs.frozen
class Process:
    """A process, as /proc shows it."""

    pid: int
    parent: int
    command: str


def processes() -> dict[int, Process]:
    """Return all processes by their numbers; one that ends meanwhile is left out."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if after_name[0] != "Z":
            found[int(folder.name)] = Process(int(folder.name), int(after_name[1]), command)
    return found


def below(ancestor: int) -> Iterator[Process]:
    """Yield the processes that ``ancestor`` has started, and those that they have."""
    everyone = processes()
    for process in everyone.values():
        parent = process.parent
        while parent in everyone and parent != ancestor:
            parent = everyone[parent].parent
        if parent == ancestor:
            yield process


def victims(job: int, target: Target) -> list[int]:
    """Return the numbers of the processes of a job that are of the kind to be killed."""
    tree = {process.pid: process for process in below(job)}
    if target == "driver":
        return sorted(pid for pid, process in tree.items() if "SparkSubmit" in process.command)
    if target == "executor":
        return sorted(pid for pid, process in tree.items() if "CoarseGrainedExecutorBackend" in process.command)
    daemons = {pid for pid, process in tree.items() if "pyspark.worker" in process.command}  # ours as Spark's own
    return sorted(pid for pid in daemons if tree[pid].parent in daemons)  # the daemon forks the workers


@attrs.define
class Killer:
    """Runs a job to its end, and kills parts of it on the way.

    Args:
        command: What starts it, without the master.
        checkpoint: The query's.
        target: What is killed.
        seed: Of the points and the victims.
        times: How often.
        batches: The number of micro-batches.
        seconds: What a micro-batch takes, about.
        notes: Whether its sink notes what it has done, so that a driver can be killed after that.
    """

    command: list[str]
    checkpoint: Path
    target: Target
    seed: int
    times: int
    batches: int
    seconds: float
    notes: bool
    killed: list[tuple[int, float]] = attrs.field(factory=list)
    starts: int = 0

    def run(self) -> None:
        """Run the job until it ends by itself after the last kill."""
        draw = random.Random(self.seed)
        # None in the last three, or the job might be done before the last kill.
        points = sorted((draw.randrange(self.batches - 3), draw.random() * 2 * self.seconds) for _ in range(self.times))
        job = self._start()
        try:
            for number, (batch, delay) in enumerate(points, 1):
                deadline = time.monotonic() + PATIENCE
                while not (is_at_work(job, self.checkpoint) and (self.checkpoint / "offsets" / str(batch)).exists()):
                    job = self._kept_going(job, deadline)
                if self.notes and self.target == "driver" and number % AFTER_SINK == 0:
                    while not is_between_sink_and_commit(job, self.checkpoint):
                        job = self._kept_going(job, deadline)
                else:
                    until = time.monotonic() + delay
                    overdue = self.checkpoint / "offsets" / str(batch + 2)
                    while time.monotonic() < until and not overdue.exists():
                        job = self._kept_going(job, deadline)
                while not self._has_killed(job, draw):
                    job = self._kept_going(job, deadline)
                if self.target == "driver":
                    job.kill()
                    job.wait()
                self.killed.append((batch, delay))
            while job.wait(PATIENCE) != 0:
                job = self._start()
        finally:
            job.kill()

    def _has_killed(self, job: Job, draw: random.Random) -> bool:
        """Kill a part of the job, if there is one; one that is seen may be gone a moment later."""
        found = victims(job.pid, self.target)
        try:
            os.kill(draw.choice(found), signal.SIGKILL)
        except (IndexError, ProcessLookupError):
            return False
        return True

    def _kept_going(self, job: Job, deadline: float) -> Job:
        """Return the job that runs after a moment: a new one, where the old one has failed."""
        assert time.monotonic() < deadline, f"nothing happens any more after the kills {self.killed}"
        time.sleep(_TICK)
        code = job.poll()
        assert code != 0, f"the job was done before kill {len(self.killed) + 1}, after {self.killed}"
        return job if code is None else self._start()

    def _start(self) -> Job:
        masters = MASTERS[self.target]
        master = masters[self.starts % len(masters)]
        self.starts += 1
        assert self.starts <= len(self.killed) + 1, f"the job fails without being killed; see {self.log}"
        with self.log.open("ab") as log:
            return start_job([*self.command, master], log.fileno())

    @property
    def log(self) -> Path:
        """What the job says."""
        return self.checkpoint.parent / "job.log"


def is_at_work(job: Job, checkpoint: Path) -> bool:
    """Return whether a job runs that has started its query; before, it has offsets only of the one that was killed."""
    note = checkpoint.parent / AT_WORK
    return job.poll() is None and note.exists() and note.read_text() == str(job.pid)


def returned(folder: Path) -> list[tuple[int, int]]:
    """Return what the sink has noted: (process, micro-batch), one for each time that it has returned."""
    note = folder / RETURNED
    lines = note.read_text().splitlines() if note.exists() else []
    return [(int(process), int(batch)) for process, batch in map(str.split, lines)]


def is_between_sink_and_commit(job: Job, checkpoint: Path) -> bool:
    """Return whether this job's sink has a micro-batch of which Spark has no note yet."""
    process, batch = (returned(checkpoint.parent) or [(0, 0)])[-1]
    return process == job.pid and not (checkpoint / "commits" / str(batch)).exists()


def start_job(command: list[str], log: int) -> Job:
    """Start a job with our Python and packages."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    return subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment, stdout=log, stderr=log)
