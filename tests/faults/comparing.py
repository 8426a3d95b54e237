"""The same job, undisturbed and with kills: what its sink has in the end."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING

from tests.faults.job import SLICES, write_rows
from tests.faults.killing import PATIENCE, Killer, returned, start_job

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.killing import Target

KILLS = 10
SEED = 20240630


def undisturbed(root: Path, sink: str) -> tuple[dict[str, list[str]], float]:
    """Run the job; return what the sink has, and the seconds that a micro-batch took."""
    write_rows(root, SEED)
    with (root / "job.log").open("wb") as log:
        job = start_job(["-m", "tests.faults.job", str(root), sink, "local[2]"], log.fileno())
        try:
            assert job.wait(PATIENCE) == 0, (root / "job.log").read_text()[-3000:]
        finally:
            job.kill()
    commits = sorted(path.stat().st_mtime for path in (root / "checkpoint" / "commits").glob("[0-9]*"))
    return json.loads((root / "found.json").read_text()), (commits[-1] - commits[0]) / (len(commits) - 1)


def disturbed(root: Path, sink: str, target: Target, seconds: float, seed: int = SEED) -> dict[str, list[str]]:
    """Run the job with kills; return what the sink has in the end.

    After the kills of a driver, a sink of `Frames.start` was handed one micro-batch at least that it had in full.
    """
    write_rows(root, SEED)
    command, notes = ["-m", "tests.faults.job", str(root), sink], sink != "files"
    killer = Killer(command, root / "checkpoint", target, seed, KILLS, SLICES, seconds, notes)
    began = time.monotonic()
    killer.run()
    assert len(killer.killed) == KILLS
    times = Counter(batch for _, batch in returned(root))
    again = [batch for batch in times if times[batch] > 1]
    print(f"{target}, {sink}: {killer.starts} starts, {time.monotonic() - began:.0f} s, killed {killer.killed},")
    print(f"the sink had the micro-batches {again} already when they came again")
    assert again or not notes or target != "driver", "no micro-batch came again after its sink"
    return json.loads((root / "found.json").read_text())
