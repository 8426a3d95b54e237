"""README's first program runs on Spark by the very line that README shows."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from spark_bridge import correlate_frames
from tests.documents import ROOT, of_language

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_readmes_first_program_on_spark(spark):
    page = ROOT / "README.md"
    program = next(each.code for each in of_language("python", page) if "sightings = correlate(" in each.code)
    (line,) = re.findall(r"^`(correlate_frames\(sightings.*)`", page.read_text(encoding="utf-8"), re.MULTILINE)
    namespace = {"__name__": "readme", "correlate_frames": correlate_frames}
    exec(compile(program, str(page), "exec"), namespace)

    def rows(*some):
        return [(START + timedelta(seconds=at), *values) for at, *values in some]

    reports = rows((10, 7, "EVA"), (15, 7, "ORCA"), (40, 7, "ANNA"), (41, 8, "BERTA"), (47, 7, "CLARA"))
    echoes = rows((14, 7, 3), (41, 7, 5), (42, 7, 6), (60, 8, 9))
    namespace["reports"] = spark.createDataFrame(reports, "at timestamp, cell long, ship string")
    namespace["echoes"] = spark.createDataFrame(echoes, "at timestamp, cell long, size long")
    frames = eval(line, namespace)
    assert not frames.dead.count()
    got = sorted((row.ship, row.size, row.start.second, row.end.second) for row in frames.results.collect())
    # ORCA's report came after the echo, and is nearer than EVA's; CLARA's is exactly five seconds after its echo.
    assert got == [("ANNA", 5, 40, 41), ("CLARA", 6, 42, 47), ("ORCA", 3, 14, 15)]
